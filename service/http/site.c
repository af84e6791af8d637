#include "http/site.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* "" or ":8080" */
static bool is_port(const char *s) { return !*s || (*s == ':' && strspn(s + 1, "0123456789") == strlen(s + 1)); }

/* Whether the first len bytes of host are an address of 127.0.0.0/8. */
static bool is_loopback_v4(const char *host, size_t len) {
    char text[INET_ADDRSTRLEN];
    struct in_addr address;
    if (len >= sizeof text) return false;
    memcpy(text, host, len);
    text[len] = '\0';
    return inet_pton(AF_INET, text, &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

bool site_is_loopback(const char *host) {
    if (!host) return false;
    if (strncmp(host, "[::1]", 5) == 0) return is_port(host + 5);
    size_t len = strcspn(host, ":");
    if (!is_port(host + len)) return false;
    return (len == 9 && strncasecmp(host, "localhost", 9) == 0) || is_loopback_v4(host, len);
}

bool site_is_own(const char *origin, const char *fetch_site) {
    if (fetch_site && strcasecmp(fetch_site, "cross-site") == 0) return false;
    if (!origin) return true;
    const char *authority = strstr(origin, "://"); /* "null" has none */
    return authority && site_is_loopback(authority + 3);
}
