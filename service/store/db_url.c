/* mysql://user:pass@host:port/database?socket=/path — parsed strictly: what is not understood is refused, so that a
   typo is heard at start. Grammar: scheme, optional user[:password]@, optional host[:port] (IPv6 in brackets),
   /database, options. */
#include "base/text.h"
#include "store/db.h"

#include <string.h>

#define SCHEME "mysql://"
#define PORT_DEFAULT 3306
#define CONNECT_TIMEOUT_DEFAULT_S 2
#define IO_TIMEOUT_DEFAULT_S 10

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Percent-decodes [p, end) into out; false when malformed, NUL, or too long. */
static bool decode(const char *p, const char *end, char *out, size_t size) {
    size_t n = 0;
    for (; p < end; p++) {
        char c = *p;
        if (c == '%') {
            if (end - p < 3 || hex_value(p[1]) < 0 || hex_value(p[2]) < 0) return false;
            c = (char)(hex_value(p[1]) << 4 | hex_value(p[2]));
            p += 2;
        }
        if (c == '\0' || n + 1 >= size) return false;
        out[n++] = c;
    }
    out[n] = '\0';
    return true;
}

static const char *find(const char *p, const char *end, char c) {
    const char *at = memchr(p, c, (size_t)(end - p));
    return at != NULL ? at : end;
}

static bool parse_port(const char *p, const char *end, uint16_t *ret) {
    int64_t port;
    if (!text_parse_i64(p, (size_t)(end - p), &port) || port < 1 || port > 65535) return false;
    *ret = (uint16_t)port;
    return true;
}

static bool parse_user(const char *p, const char *end, struct db_options *o) {
    const char *colon = find(p, end, ':');
    if (!decode(p, colon, o->user, sizeof o->user)) return false;
    return colon == end || decode(colon + 1, end, o->password, sizeof o->password);
}

static bool parse_host(const char *p, const char *end, struct db_options *o) {
    const char *host_end = find(p, end, ':');
    if (p < end && *p == '[') {
        const char *close = find(p, end, ']');
        if (close == end) return false;
        if (!decode(p + 1, close, o->host, sizeof o->host)) return false;
        host_end = close + 1;
        if (host_end < end && *host_end != ':') return false;
    } else if (!decode(p, host_end, o->host, sizeof o->host)) {
        return false;
    }
    return host_end == end || parse_port(host_end + 1, end, &o->port);
}

static bool is_local(const struct db_options *o) {
    return o->socket[0] != '\0' || strcmp(o->host, "localhost") == 0 || strncmp(o->host, "127.", 4) == 0 ||
           strcmp(o->host, "::1") == 0;
}

/* What the options gave, until all of them are read: tls has a default that depends on the others. */
struct given {
    char tls[16];
};

static bool settle_tls(const struct given *given, struct db_options *o) {
    static const char *const names[] = {[DB_TLS_OFF] = "off",
                                        [DB_TLS_PREFERRED] = "preferred",
                                        [DB_TLS_REQUIRED] = "required",
                                        [DB_TLS_VERIFIED] = "verified"};
    o->tls = is_local(o) ? DB_TLS_OFF : DB_TLS_PREFERRED;
    bool known = given->tls[0] == '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(given->tls, names[i]) != 0) continue;
        o->tls = (enum db_tls)i;
        known = true;
    }
    return known && (o->tls == DB_TLS_VERIFIED) == (o->tls_ca[0] != '\0');
}

static bool parse_option(const char *p, const char *end, struct db_options *o, struct given *given) {
    const char *equals = find(p, end, '=');
    char name[8];
    if (equals == end || equals + 1 == end || !decode(p, equals, name, sizeof name)) return false;
    if (strcmp(name, "socket") == 0) return decode(equals + 1, end, o->socket, sizeof o->socket);
    if (strcmp(name, "tls") == 0) return decode(equals + 1, end, given->tls, sizeof given->tls);
    if (strcmp(name, "tls-ca") == 0) return decode(equals + 1, end, o->tls_ca, sizeof o->tls_ca);
    return false;
}

static bool parse_options(const char *p, const char *end, struct db_options *o) {
    struct given given = {0};
    while (p < end) {
        const char *next = find(p, end, '&');
        if (!parse_option(p, next, o, &given)) return false;
        p = next < end ? next + 1 : end;
    }
    return settle_tls(&given, o);
}

/* host and user part: the last '@' divides them, because clients often forget to encode one in a password. */
static bool parse_authority(const char *p, const char *end, struct db_options *o) {
    const char *at = memrchr(p, '@', (size_t)(end - p));
    if (at != NULL && !parse_user(p, at, o)) return false;
    return parse_host(at != NULL ? at + 1 : p, end, o);
}

RESULT db_options_parse(const char *url, struct db_options *ret) {
    struct db_options o = {
        .port = PORT_DEFAULT, .connect_timeout_s = CONNECT_TIMEOUT_DEFAULT_S, .io_timeout_s = IO_TIMEOUT_DEFAULT_S};
    if (strncmp(url, SCHEME, sizeof SCHEME - 1) != 0) FAIL(INVALID_REQUEST, 0);
    const char *p = url + sizeof SCHEME - 1, *end = url + strlen(url);
    const char *query = find(p, end, '?');
    const char *slash = find(p, query, '/');
    if (slash == query) FAIL(INVALID_REQUEST, 0);
    if (!parse_authority(p, slash, &o)) FAIL(INVALID_REQUEST, 0);
    if (!decode(slash + 1, query, o.database, sizeof o.database) || o.database[0] == '\0') FAIL(INVALID_REQUEST, 0);
    if (!parse_options(query < end ? query + 1 : end, end, &o)) FAIL(INVALID_REQUEST, 0);
    if (o.host[0] == '\0' && o.socket[0] == '\0') FAIL(INVALID_REQUEST, 0);
    *ret = o;
    return OK;
}
