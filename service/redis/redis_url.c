/* Takes a url apart from left to right: scheme, credentials, host, port, database. Nothing is guessed: what is left
   over is an error. */
#include "redis/redis_url.h"

#include "base/text.h"

#include <stddef.h>
#include <string.h>

#define SCHEME "redis://"
#define SCHEME_TLS "rediss://"
#define SCHEME_SENTINEL "redis+sentinel://"
enum { PORT_MAX = 65535 };

/* A part of the url: bytes that it borrows. */
struct span {
    const char *data;
    size_t len;
};

/* The bytes before the first `stop` (all when there is none); *rest is moved behind it. */
static struct span cut(struct span *rest, char stop, bool *ret_found) {
    const char *at = memchr(rest->data, stop, rest->len);
    *ret_found = at != NULL;
    if (at == NULL) {
        struct span all = *rest;
        *rest = (struct span){rest->data + rest->len, 0};
        return all;
    }
    struct span head = {rest->data, (size_t)(at - rest->data)};
    *rest = (struct span){at + 1, rest->len - head.len - 1};
    return head;
}

static bool starts_with(const char *url, const char *scheme) { return strncmp(url, scheme, strlen(scheme)) == 0; }

/* Percent-decodes into out; false on a bad escape, a NUL, or a text that does not fit. */
static bool decode(struct span part, char *out, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < part.len; i++) {
        unsigned char c = (unsigned char)part.data[i];
        if (c == '%') {
            if (part.len - i < 3 || !text_unhex(part.data + i + 1, 2, &c, 1)) return false;
            i += 2;
        }
        if (c == '\0' || n + 1 >= size) return false;
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return true;
}

static bool parse_number(struct span digits, int64_t min, int64_t max, int *ret) {
    int64_t number = 0;
    if (!text_parse_i64(digits.data, digits.len, &number) || number < min || number > max) return false;
    *ret = (int)number;
    return true;
}

/* "user:password", ":password" */
static const char *parse_credentials(struct span part, struct redis_url *url) {
    bool has_password = false;
    struct span user = cut(&part, ':', &has_password);
    if (!has_password || part.len == 0) return "a user needs a password: user:password@ or :password@";
    if (!decode(user, url->user, sizeof url->user) || !decode(part, url->password, sizeof url->password))
        return "user or password is too long or badly percent-encoded";
    return NULL;
}

static bool is_host_text(struct span host) {
    for (size_t i = 0; i < host.len; i++)
        if (host.data[i] <= ' ' || host.data[i] == '%' || host.data[i] == '?' || host.data[i] == '#') return false;
    return host.len > 0 && host.len < REDIS_HOST_SIZE;
}

/* "host", "host:port", "[v6]:port" */
static const char *parse_place(struct span part, struct redis_url *url) {
    bool found = false;
    struct span host;
    if (part.len > 0 && part.data[0] == '[') {
        part = (struct span){part.data + 1, part.len - 1};
        host = cut(&part, ']', &found);
        if (!found || (part.len > 0 && part.data[0] != ':')) return "an IPv6 address stands in [brackets]";
        found = part.len > 0;
        if (found) part = (struct span){part.data + 1, part.len - 1};
    } else {
        host = cut(&part, ':', &found);
    }
    if (!is_host_text(host)) return "the host is missing or malformed";
    memcpy(url->host, host.data, host.len);
    if (found && !parse_number(part, 1, PORT_MAX, &url->port)) return "the port must be 1 to 65535";
    return NULL;
}

static const char *parse_rest(struct span rest, struct redis_url *url) {
    bool has_database = false;
    bool has_credentials = false;
    struct span authority = cut(&rest, '/', &has_database);
    if (memchr(authority.data, '@', authority.len) != NULL) {
        const char *problem = parse_credentials(cut(&authority, '@', &has_credentials), url);
        if (problem != NULL) return problem;
    }
    const char *problem = parse_place(authority, url);
    if (problem != NULL) return problem;
    if (rest.len > 0 && !parse_number(rest, 0, REDIS_DATABASE_MAX, &url->database))
        return "the database is a number after the '/'";
    return NULL;
}

static const char *parse(const char *url, struct redis_url *ret) {
    if (starts_with(url, SCHEME_TLS)) return "rediss:// needs TLS, which this build does not have: use redis://";
    if (starts_with(url, SCHEME_SENTINEL)) return "redis+sentinel:// is not supported by this build: use redis://";
    if (!starts_with(url, SCHEME)) return "the url must start with redis://";
    const char *rest = url + strlen(SCHEME);
    return parse_rest((struct span){rest, strlen(rest)}, ret);
}

RESULT redis_url_parse(const char *url, struct redis_url *ret, const char **ret_problem) {
    struct redis_url parsed = {.port = REDIS_PORT_DEFAULT};
    *ret_problem = parse(url, &parsed);
    if (*ret_problem != NULL) FAIL(INVALID_REQUEST, 0);
    *ret = parsed;
    return OK;
}
