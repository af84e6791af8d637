/* INFO is lines "name:value" with CR LF. Cluster mode shows in one of three names, by server and version: redis_mode
   (Redis, and Valkey when it plays Redis), server_mode (Valkey), cluster_enabled. */
#include "redis/server_info.h"

#include <stdio.h>
#include <string.h>

/* Scripts and commands used here exist since 6.2. */
enum { VERSION_MAJOR_MIN = 6, VERSION_MINOR_MIN = 2 };

/* One line: its name and value, borrowed. */
struct line {
    const char *name, *value;
    size_t name_len, value_len;
};

static bool name_is(const struct line *line, const char *name) {
    return line->name_len == strlen(name) && memcmp(line->name, name, line->name_len) == 0;
}

static bool value_is(const struct line *line, const char *value) {
    return line->value_len == strlen(value) && memcmp(line->value, value, line->value_len) == 0;
}

static void keep(char *out, size_t size, const struct line *line) {
    size_t len = line->value_len < size ? line->value_len : size - 1;
    memcpy(out, line->value, len);
    out[len] = '\0';
}

static void take_line(struct server_info *info, const struct line *line) {
    if (name_is(line, "role")) info->is_master = value_is(line, "master");
    if (name_is(line, "redis_mode") || name_is(line, "server_mode")) info->is_cluster |= value_is(line, "cluster");
    if (name_is(line, "cluster_enabled")) info->is_cluster |= value_is(line, "1");
    if (name_is(line, "redis_version")) keep(info->version, sizeof info->version, line);
    if (name_is(line, "run_id")) keep(info->run_id, sizeof info->run_id, line);
    if (name_is(line, "maxmemory_policy")) keep(info->eviction, sizeof info->eviction, line);
}

/* False for headings, empty lines and the like. */
static bool split(const char *text, size_t len, struct line *ret) {
    if (len > 0 && text[len - 1] == '\r') len--;
    const char *colon = memchr(text, ':', len);
    if (colon == NULL) return false;
    size_t name_len = (size_t)(colon - text);
    *ret = (struct line){.name = text, .name_len = name_len, .value = colon + 1, .value_len = len - name_len - 1};
    return true;
}

struct server_info server_info_parse(const char *text, size_t len) {
    struct server_info info = {0};
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t line_len = end == NULL ? len : (size_t)(end - text);
        struct line line;
        if (split(text, line_len, &line)) take_line(&info, &line);
        size_t used = end == NULL ? len : line_len + 1;
        text += used;
        len -= used;
    }
    if (sscanf(info.version, "%4d.%4d", &info.major, &info.minor) != 2) info.major = info.minor = 0;
    return info;
}

const char *server_info_refusal(const struct server_info *info) {
    if (info->is_cluster) return "cluster mode is not supported: scripts span slots";
    if (!info->is_master) return "the server is a replica";
    bool is_new =
        info->major > VERSION_MAJOR_MIN || (info->major == VERSION_MAJOR_MIN && info->minor >= VERSION_MINOR_MIN);
    return is_new ? NULL : "the server is older than 6.2";
}

bool server_info_may_evict(const struct server_info *info) {
    return info->eviction[0] != '\0' && strcmp(info->eviction, "noeviction") != 0;
}
