/* Options stand before or after the name; everything behind "--" belongs to the command and is not looked at. */
#include "run/options.h"

#include "base/duration.h"
#include "base/text.h"

#include <string.h>

enum { ERROR_SIZE = 256 };

const char run_help[] =
    "usage: lockstock run NAME [OPTIONS] -- COMMAND [ARGUMENTS]\n\n"
    "Takes the lock NAME, runs COMMAND, keeps the lock while it runs and lets go of it at the end. The command ends\n"
    "before the lock can pass to somebody else, even when the service cannot be reached.\n\n"
    "  --ttl TIME         lease of the lock; renewed at a third of it (30s; 1s to 24h)\n"
    "  --wait TIME        how long to wait for the lock (0: try once; up to 24h)\n"
    "  --grace TIME       from TERM to KILL when the lock is lost (5s, at most a quarter of the ttl; up to half of "
    "it)\n"
    "  --url URL          the service ($LOCKSTOCK_URL, or http://127.0.0.1:8080)\n"
    "  --token-file FILE  the bearer token; read again for each call ($LOCKSTOCK_TOKEN_FILE)\n"
    "  --cacert FILE      certificates to trust for https\n"
    "  --kind KIND        lock, fair, rw or semaphore (lock)\n"
    "  --mode MODE        with rw: exclusive or shared (exclusive)\n"
    "  --limit N          with semaphore: how many permits it has (as many as before; needed the first time)\n"
    "  --weight N         with semaphore: how many permits the command takes (1)\n"
    "  --owner TEXT       shown to others while the lock is held (host:pid)\n"
    "  TIME is 500, 500ms, 30s, 10m, 2h or PT30S; a bare number is milliseconds.\n\n"
    "The command finds LOCKSTOCK_NAME, LOCKSTOCK_FENCE and LOCKSTOCK_TOKEN in its environment. It runs in a process\n"
    "group of its own. TERM, INT, QUIT, HUP, WINCH, TSTP and CONT are forwarded to the group, USR1 and USR2 to the\n"
    "command. Processes that are left when the command has ended are ended too, then the lock is released; only those\n"
    "that made a session of their own (setsid) have left its care. While the job is stopped (Ctrl-Z) nothing renews: "
    "it\n"
    "is ended when its lease is.\n\n"
    "Exit status: the command's; 128+n when signal n ended it, or ended the wait for the lock; and\n"
    "  64   wrong usage, or the service refuses the request as it stands\n"
    "  69   the lock was not had in time; the command did not run\n"
    "  70   the lock was lost; the command, if it still ran, was ended\n"
    "  71   the system refused a process, a timer or a thread\n"
    "  77   the service asks for another bearer token\n"
    "  126  the command cannot be run\n"
    "  127  the command was not found\n";

/* -- durations */

static const struct unit {
    const char *name;
    int64_t ms;
} units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};

bool run_duration_parse(const char *text, int64_t *ret_ms) {
    size_t digits = strspn(text, "0123456789");
    int64_t count;
    if (text[0] == 'P') return duration_parse(text, strlen(text), ret_ms);
    if (!text_parse_i64(text, digits, &count)) return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(text + digits, units[i].name) == 0) return !__builtin_mul_overflow(count, units[i].ms, ret_ms);
    return false;
}

/* -- one option */

struct reading {
    struct run_options *options;
    char *error;
};

static bool complain(struct reading *r, const char *about, const char *what) {
    (void)text_format(r->error, ERROR_SIZE, "%.100s %s", about, what);
    return false;
}

static bool take_text(struct reading *r, const char *option, const char *value, void *field) {
    if (value[0] == '\0') return complain(r, option, "wants a value");
    *(const char **)field = value;
    return true;
}

static bool take_time(struct reading *r, const char *option, const char *value, void *field) {
    if (run_duration_parse(value, field)) return true;
    return complain(r, option, "wants a time such as 500ms, 30s or 10m");
}

static bool take_count(struct reading *r, const char *option, const char *value, void *field) {
    int64_t *count = field;
    if (text_parse_i64(value, strlen(value), count) && *count >= 1 && *count <= RUN_PERMITS_MAX) return true;
    return complain(r, option, "wants a number from 1 to 10000");
}

static const struct option {
    const char *name;
    bool (*take)(struct reading *r, const char *option, const char *value, void *field);
    size_t offset;
} options_known[] = {
    {"--ttl", take_time, offsetof(struct run_options, ttl_ms)},
    {"--wait", take_time, offsetof(struct run_options, wait_ms)},
    {"--grace", take_time, offsetof(struct run_options, grace_ms)},
    {"--url", take_text, offsetof(struct run_options, url)},
    {"--token-file", take_text, offsetof(struct run_options, token_file)},
    {"--cacert", take_text, offsetof(struct run_options, ca_file)},
    {"--kind", take_text, offsetof(struct run_options, kind)},
    {"--mode", take_text, offsetof(struct run_options, mode)},
    {"--weight", take_count, offsetof(struct run_options, weight)},
    {"--limit", take_count, offsetof(struct run_options, limit)},
    {"--owner", take_text, offsetof(struct run_options, owner)},
};

static const struct option *find_option(const char *word, size_t len) {
    for (size_t i = 0; i < sizeof options_known / sizeof options_known[0]; i++) {
        const char *name = options_known[i].name;
        if (strlen(name) == len && memcmp(name, word, len) == 0) return &options_known[i];
    }
    return NULL;
}

/* "--ttl=30s", or "--ttl" with the value in the next word. The words it took; 0 after a complaint. */
static int read_option(struct reading *r, char *const *word) {
    const char *equals = strchr(word[0], '=');
    size_t len = equals != NULL ? (size_t)(equals - word[0]) : strlen(word[0]);
    const struct option *option = find_option(word[0], len);
    const char *value = equals != NULL ? equals + 1 : word[1];
    if (option == NULL) {
        complain(r, word[0], "is no option of run");
        return 0;
    }
    if (value == NULL || (equals == NULL && strcmp(value, "--") == 0)) {
        complain(r, option->name, "wants a value");
        return 0;
    }
    if (!option->take(r, option->name, value, (char *)r->options + option->offset)) return 0;
    return equals != NULL ? 1 : 2;
}

static int read_word(struct reading *r, char *const *word) {
    if (word[0][0] == '-') return read_option(r, word);
    if (r->options->name != NULL) {
        complain(r, word[0], "is a second lock name; the command comes behind --");
        return 0;
    }
    r->options->name = word[0];
    return 1;
}

static bool read_words(struct reading *r, int argc, char **argv) {
    for (int i = 0; i < argc;) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            r->options->help = true;
            return true;
        }
        if (strcmp(argv[i], "--") == 0) {
            r->options->command = argv + i + 1;
            return true;
        }
        int took = read_word(r, argv + i);
        if (took == 0) return false;
        i += took;
    }
    return complain(r, "-- COMMAND", "is missing");
}

/* -- the whole */

/* A URL with a password in it would stand in the list of processes. */
static bool is_url(const char *url) {
    size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
    return scheme > 0 && url[scheme] != '\0' && strpbrk(url, "@?# ") == NULL;
}

/* What belongs to one kind alone. Other words for kind and mode are the service's to judge. */
static bool check_kind(struct reading *r) {
    struct run_options *o = r->options;
    bool is_semaphore = strcmp(o->kind, "semaphore") == 0;
    if (!is_semaphore && o->limit > 0) return complain(r, "--limit", "is for --kind semaphore");
    if (!is_semaphore && o->weight > 0) return complain(r, "--weight", "is for --kind semaphore");
    if (is_semaphore && o->mode != NULL) return complain(r, "--mode", "is for --kind rw");
    if (is_semaphore && o->weight == 0) o->weight = 1;
    if (o->limit > 0 && o->weight > o->limit) return complain(r, "--weight", "is at most the limit");
    return true;
}

static bool check(struct reading *r) {
    struct run_options *o = r->options;
    if (o->name == NULL) return complain(r, "the name of the lock", "is missing");
    if (o->command[0] == NULL) return complain(r, "the command behind --", "is missing");
    if (!is_url(o->url)) return complain(r, "--url", "is http://host[:port] or https://…, without a password");
    if (o->ttl_ms < RUN_TTL_MS_MIN || o->ttl_ms > RUN_TTL_MS_MAX) return complain(r, "--ttl", "is 1s to 24h");
    if (o->wait_ms > RUN_WAIT_MS_MAX) return complain(r, "--wait", "is at most 24h");
    if (o->grace_ms < 0) o->grace_ms = o->ttl_ms / 4 < RUN_GRACE_MS_DEFAULT ? o->ttl_ms / 4 : RUN_GRACE_MS_DEFAULT;
    if (o->grace_ms > o->ttl_ms / 2) return complain(r, "--grace", "is at most half of the ttl");
    return check_kind(r);
}

bool run_options_read(int argc, char **argv, const char *url, const char *token_file, struct run_options *ret,
                      char error[256]) {
    struct reading reading = {ret, error};
    *ret = (struct run_options){.kind = "lock",
                                .url = url != NULL ? url : "http://127.0.0.1:8080",
                                .token_file = token_file,
                                .ttl_ms = RUN_TTL_MS_DEFAULT,
                                .grace_ms = -1};
    if (!read_words(&reading, argc, argv)) return false;
    return ret->help || check(&reading);
}
