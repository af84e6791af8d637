#include "client/address.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct range {
    unsigned char prefix[16];
    int bits;
    enum reach needs; /* the reach that may go there; REACH_ANY = nobody else */
};

static const struct range ranges_v4[] = {
    {{0}, 8, REACH_ANY},                   /* this host */
    {{10}, 8, REACH_PRIVATE},              /* private */
    {{100, 64}, 10, REACH_PRIVATE},        /* carriers' own; clusters use it too */
    {{100, 100, 100, 200}, 32, REACH_ANY}, /* metadata of Alibaba Cloud */
    {{127}, 8, REACH_PRIVATE},             /* loopback */
    {{168, 63, 129, 16}, 32, REACH_ANY},   /* metadata of Azure */
    {{169, 254}, 16, REACH_ANY},           /* link-local, with most clouds' metadata */
    {{172, 16}, 12, REACH_PRIVATE},        /* private */
    {{192, 0, 0}, 24, REACH_ANY},          /* protocol assignments, with metadata of Oracle Cloud */
    {{192, 0, 2}, 24, REACH_ANY},          /* documentation */
    {{192, 88, 99}, 24, REACH_ANY},        /* 6to4 relays, of old */
    {{192, 168}, 16, REACH_PRIVATE},       /* private */
    {{198, 18}, 15, REACH_PRIVATE},        /* benchmarks */
    {{198, 51, 100}, 24, REACH_ANY},       /* documentation */
    {{203, 0, 113}, 24, REACH_ANY},        /* documentation */
    {{224}, 3, REACH_ANY},                 /* multicast, reserved, broadcast */
};

/* Outside 2000::/3 nothing is public; these are the exceptions on both sides. */
static const struct range ranges_v6[] = {
    {{[15] = 1}, 128, REACH_PRIVATE},                           /* loopback */
    {{0xfd, 0, 0x0e, 0xc2, [14] = 0x02, 0x54}, 128, REACH_ANY}, /* metadata of AWS */
    {{0xfd, 0x20, 0, 0xce, [14] = 0x02, 0x54}, 128, REACH_ANY}, /* metadata of Google Cloud */
    {{0xfc}, 7, REACH_PRIVATE},                                 /* private */
    {{0x20, 0x01, 0}, 23, REACH_ANY},                           /* protocol assignments, with Teredo */
    {{0x20, 0x01, 0x0d, 0xb8}, 32, REACH_ANY},                  /* documentation */
    {{0x20, 0x02}, 16, REACH_ANY},                              /* 6to4: ends at an IPv4 address of its choice */
    {{0x3f, 0xff}, 20, REACH_ANY},                              /* documentation */
    {{0x20}, 3, REACH_PUBLIC},
};

static const unsigned char mapped[12] = {[10] = 0xff, 0xff};
static const unsigned char nat64[12] = {0, 0x64, 0xff, 0x9b};

static bool starts_with(const unsigned char *bytes, const struct range *range) {
    int whole = range->bits / 8, rest = range->bits % 8;
    if (memcmp(bytes, range->prefix, (size_t)whole) != 0) return false;
    return rest == 0 || ((bytes[whole] ^ range->prefix[whole]) >> (8 - rest)) == 0;
}

/* The narrowest range that holds the address decides. */
static enum reach needed(const unsigned char *bytes, const struct range *ranges, size_t count, enum reach otherwise) {
    int bits = -1;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].bits <= bits || !starts_with(bytes, &ranges[i])) continue;
        bits = ranges[i].bits;
        otherwise = ranges[i].needs;
    }
    return otherwise;
}

static enum reach needed_v4(const unsigned char *bytes) {
    return needed(bytes, ranges_v4, sizeof ranges_v4 / sizeof ranges_v4[0], REACH_PUBLIC);
}

static enum reach needed_v6(const unsigned char *bytes) {
    if (memcmp(bytes, mapped, sizeof mapped) == 0 || memcmp(bytes, nat64, sizeof nat64) == 0)
        return needed_v4(bytes + sizeof mapped);
    return needed(bytes, ranges_v6, sizeof ranges_v6 / sizeof ranges_v6[0], REACH_ANY);
}

bool address_is_allowed(const struct sockaddr *address, enum reach reach) {
    enum reach needs = REACH_ANY;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (reach == REACH_ANY) return true;
    if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        needs = needed_v4((const unsigned char *)&v4.sin_addr);
    } else if (address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof v6);
        needs = needed_v6(v6.sin6_addr.s6_addr);
    }
    return needs == REACH_PUBLIC || needs == reach;
}
