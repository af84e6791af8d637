/* settings.def as a table of rows, and one reader a kind. A row's value is read from the environment into its field, or
   its fallback is; the error sentence names the variable and what it takes. The value of a secret appears in no
   sentence. */
#include "config/config.h"

#include "base/duration.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { KIND_TEXT, KIND_SECRET, KIND_INT, KIND_BOOL, KIND_DURATION, KIND_PERIOD, KIND_CHOICE, KIND_COUNT };

struct setting {
    enum kind kind;
    const char *env;
    size_t offset, size;       /* of the field */
    int64_t min, max;          /* INT, DURATION, PERIOD (milliseconds; a period may be 0, too) */
    int64_t fallback;          /* INT, BOOL, DURATION, PERIOD */
    const char *fallback_text; /* TEXT, SECRET, CHOICE */
    const char *choices;       /* CHOICE: "a|b|c" */
    const char *help;
};

#define PLACE(field) .offset = offsetof(struct config, field), .size = sizeof((struct config *)0)->field
static const struct setting settings[] = {
#define SETTING_TEXT(field, env_, size_, fallback_, help_)                                                             \
    {.kind = KIND_TEXT, .env = env_, PLACE(field), .fallback_text = fallback_, .help = help_},
#define SETTING_SECRET(field, env_, size_, fallback_, help_)                                                           \
    {.kind = KIND_SECRET, .env = env_, PLACE(field), .fallback_text = fallback_, .help = help_},
#define SETTING_INT(field, env_, min_, max_, fallback_, help_)                                                         \
    {.kind = KIND_INT, .env = env_, PLACE(field), .min = min_, .max = max_, .fallback = fallback_, .help = help_},
#define SETTING_BOOL(field, env_, fallback_, help_)                                                                    \
    {.kind = KIND_BOOL, .env = env_, PLACE(field), .fallback = fallback_, .help = help_},
#define SETTING_DURATION(field, env_, min_, max_, fallback_, help_)                                                    \
    {.kind = KIND_DURATION, .env = env_, PLACE(field), .min = min_, .max = max_, .fallback = fallback_, .help = help_},
#define SETTING_PERIOD(field, env_, min_, max_, fallback_, help_)                                                      \
    {.kind = KIND_PERIOD, .env = env_, PLACE(field), .min = min_, .max = max_, .fallback = fallback_, .help = help_},
#define SETTING_CHOICE(field, env_, choices_, fallback_, help_)                                                        \
    {.kind = KIND_CHOICE, .env = env_, PLACE(field), .fallback_text = fallback_, .choices = choices_, .help = help_},
#include "config/settings.def"
#undef SETTING_TEXT
#undef SETTING_SECRET
#undef SETTING_INT
#undef SETTING_BOOL
#undef SETTING_DURATION
#undef SETTING_PERIOD
#undef SETTING_CHOICE
};
enum { SETTING_COUNT = sizeof settings / sizeof *settings };

static const char prefix[] = "LOCKSTOCK_";
static const char file_suffix[] = "_FILE";
enum {
    ENV_NAME_MAX = 64,
    SECRET_FILE_MAX = 4096, /* bytes read of a file; more than any secret has */
};

/* Where the sentence goes. */
struct complaint {
    char *text;
    size_t size;
};

static void *field_of(struct config *config, const struct setting *s) { return (char *)config + s->offset; }

/* "LOCKSTOCK_MYSQL_URL_FILE" */
static void file_env(const struct setting *s, char out[ENV_NAME_MAX]) {
    text_format(out, ENV_NAME_MAX, "%s%s", s->env, file_suffix);
}

/* Readers: false after a complaint. */

static bool store_text(const struct setting *s, const char *value, void *field, const struct complaint *c) {
    size_t len = strlen(value);
    if (len >= s->size) {
        text_format(c->text, c->size, "%s must have at most %zu bytes", s->env, s->size - 1);
        return false;
    }
    if (!text_is_printable_utf8(value, len)) {
        text_format(c->text, c->size, "%s must be printable UTF-8", s->env);
        return false;
    }
    memcpy(field, value, len + 1);
    return true;
}

static bool store_int(const struct setting *s, const char *value, void *field, const struct complaint *c) {
    int64_t number;
    if (text_parse_i64(value, strlen(value), &number) && number >= s->min && number <= s->max) {
        memcpy(field, &number, sizeof number);
        return true;
    }
    text_format(c->text, c->size, "%s must be an integer from %lld to %lld, not \"%s\"", s->env, (long long)s->min,
                (long long)s->max, value);
    return false;
}

static bool store_bool(const struct setting *s, const char *value, void *field, const struct complaint *c) {
    static const struct {
        const char *word;
        bool means;
    } words[] = {{"1", true}, {"true", true}, {"on", true}, {"0", false}, {"false", false}, {"off", false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(value, words[i].word) != 0) continue;
        memcpy(field, &words[i].means, sizeof(bool));
        return true;
    }
    text_format(c->text, c->size, "%s must be 1, true, on, 0, false or off, not \"%s\"", s->env, value);
    return false;
}

static bool store_duration(const struct setting *s, const char *value, void *field, const struct complaint *c) {
    int64_t ms;
    bool may_be_off = s->kind == KIND_PERIOD;
    if (duration_parse(value, strlen(value), &ms) && ((ms >= s->min && ms <= s->max) || (may_be_off && ms == 0))) {
        memcpy(field, &ms, sizeof ms);
        return true;
    }
    char min[DURATION_SIZE], max[DURATION_SIZE];
    duration_format(s->min, min);
    duration_format(s->max, max);
    text_format(c->text, c->size, "%s must be an ISO-8601 duration from %s to %s%s, not \"%s\"", s->env, min, max,
                may_be_off ? ", or PT0S for off" : "", value);
    return false;
}

/* "a|b|c" has the word b. */
static bool has_choice(const char *choices, const char *word) {
    size_t len = strlen(word);
    for (const char *at = choices;; at++) {
        size_t here = strcspn(at, "|");
        if (here == len && memcmp(at, word, len) == 0) return true;
        at += here;
        if (!*at) return false;
    }
}

static bool store_choice(const struct setting *s, const char *value, void *field, const struct complaint *c) {
    if (strlen(value) < s->size && has_choice(s->choices, value)) {
        memcpy(field, value, strlen(value) + 1);
        return true;
    }
    text_format(c->text, c->size, "%s must be one of %s, not \"%s\"", s->env, s->choices, value);
    return false;
}

/* The first size bytes at most; how many there were, or -1. */
static ssize_t read_file(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    size_t len = 0;
    ssize_t got = 1;
    while (len < size && (got = read(fd, out + len, size - len)) > 0) len += (size_t)got;
    close(fd);
    return got < 0 ? -1 : (ssize_t)len;
}

/* One newline at the end belongs to the editor, not to the secret. */
static size_t without_newline(const char *data, size_t len) {
    if (len > 0 && data[len - 1] == '\n') len--;
    if (len > 0 && data[len - 1] == '\r') len--;
    return len;
}

static bool store_secret_file(const struct setting *s, const char *path, void *field, const struct complaint *c) {
    char data[SECRET_FILE_MAX];
    ssize_t got = read_file(path, data, sizeof data);
    if (got < 0) {
        text_format(c->text, c->size, "%s%s names a file that cannot be read: %s", s->env, file_suffix, path);
        return false;
    }
    size_t len = without_newline(data, (size_t)got);
    if (len == sizeof data || len >= s->size || memchr(data, '\0', len)) {
        text_format(c->text, c->size, "%s%s must name a text file of at most %zu bytes", s->env, file_suffix,
                    s->size - 1);
        return false;
    }
    data[len] = '\0';
    return store_text(s, data, field, c);
}

typedef bool store_fn(const struct setting *s, const char *value, void *field, const struct complaint *c);
static store_fn *const stores[KIND_COUNT] = {
    [KIND_TEXT] = store_text,     [KIND_SECRET] = store_text,       [KIND_INT] = store_int,
    [KIND_BOOL] = store_bool,     [KIND_DURATION] = store_duration, [KIND_PERIOD] = store_duration,
    [KIND_CHOICE] = store_choice,
};

static void store_fallback(const struct setting *s, void *field) {
    bool yes = s->fallback != 0;
    if (s->fallback_text)
        text_copy(field, s->size, s->fallback_text);
    else if (s->kind == KIND_BOOL)
        memcpy(field, &yes, sizeof yes);
    else
        memcpy(field, &s->fallback, sizeof s->fallback);
}

static bool read_setting(const struct setting *s, void *field, const struct complaint *c) {
    const char *value = getenv(s->env);
    const char *path = NULL;
    if (s->kind == KIND_SECRET) {
        char name[ENV_NAME_MAX];
        file_env(s, name);
        path = getenv(name);
    }
    if (value && path) {
        text_format(c->text, c->size, "%s and %s%s are both set; one of them must go", s->env, s->env, file_suffix);
        return false;
    }
    store_fallback(s, field);
    if (path) return store_secret_file(s, path, field, c);
    return !value || stores[s->kind](s, value, field, c);
}

static bool is_named(const struct setting *s, const char *name, size_t len) {
    char file[ENV_NAME_MAX];
    if (strlen(s->env) == len && memcmp(s->env, name, len) == 0) return true;
    if (s->kind != KIND_SECRET) return false;
    file_env(s, file);
    return strlen(file) == len && memcmp(file, name, len) == 0;
}

/* Not ours to read, and no typo: what `lockstock run` gives to its command, which may be a service or a migration.
   LOCKSTOCK_TOKEN_FILE is not among them: it looks too much like LOCKSTOCK_TOKENS_FILE. */
static const char *const foreign_names[] = {"LOCKSTOCK_FAULTS", "LOCKSTOCK_NAME", "LOCKSTOCK_FENCE", "LOCKSTOCK_TOKEN",
                                            "LOCKSTOCK_URL"};

static bool is_known(const char *name, size_t len) {
    for (size_t i = 0; i < sizeof foreign_names / sizeof foreign_names[0]; i++)
        if (strlen(foreign_names[i]) == len && memcmp(foreign_names[i], name, len) == 0) return true;
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (is_named(&settings[i], name, len)) return true;
    return false;
}

static bool check_names(const struct complaint *c) {
    for (char **entry = environ; *entry; entry++) {
        size_t len = strcspn(*entry, "=");
        if (strncmp(*entry, prefix, sizeof prefix - 1) != 0 || is_known(*entry, len)) continue;
        text_format(c->text, c->size, "%.*s is not a setting", (int)len, *entry);
        return false;
    }
    return true;
}

/* Trains and the short reads beside them need workers of their own. */
static bool check_relations(const struct config *config, const struct complaint *c) {
    if (config->db_workers >= config->train_slots + 2) return true;
    text_format(c->text, c->size, "LOCKSTOCK_DB_WORKERS must be at least LOCKSTOCK_TRAIN_SLOTS + 2, that is %lld",
                (long long)config->train_slots + 2);
    return false;
}

static void name_instance(struct config *config) {
    if (*config->instance_id) return;
    if (gethostname(config->instance_id, sizeof config->instance_id) != 0)
        text_format(config->instance_id, sizeof config->instance_id, "lockstock");
    config->instance_id[sizeof config->instance_id - 1] = '\0';
}

struct result config_read(struct config *ret, char *error_text, size_t error_size) {
    const struct complaint c = {error_text, error_size};
    struct config config;
    memset(&config, 0, sizeof config);
    if (!check_names(&c)) FAIL(INVALID_REQUEST, 0);
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (!read_setting(&settings[i], field_of(&config, &settings[i]), &c)) FAIL(INVALID_REQUEST, 0);
    if (!check_relations(&config, &c)) FAIL(INVALID_REQUEST, 0);
    name_instance(&config);
    *ret = config;
    return OK;
}

/* What a value may be, for people. */
static void describe(const struct setting *s, struct text *out) {
    char min[DURATION_SIZE], max[DURATION_SIZE];
    switch (s->kind) {
    case KIND_INT:
        text_addf(out, "%lld to %lld", (long long)s->min, (long long)s->max);
        break;
    case KIND_BOOL:
        text_add_str(out, "on or off");
        break;
    case KIND_DURATION:
    case KIND_PERIOD:
        duration_format(s->min, min);
        duration_format(s->max, max);
        text_addf(out, s->kind == KIND_PERIOD ? "%s to %s, or PT0S for off" : "%s to %s", min, max);
        break;
    case KIND_CHOICE:
        for (const char *at = s->choices; *at; at++) text_add_str(out, *at == '|' ? ", " : (char[]){*at, '\0'});
        break;
    case KIND_SECRET:
        text_addf(out, "secret text up to %zu bytes, or its file in %s%s", s->size - 1, s->env, file_suffix);
        break;
    default:
        text_addf(out, "text up to %zu bytes", s->size - 1);
    }
}

static void describe_fallback(const struct setting *s, struct text *out) {
    char duration[DURATION_SIZE];
    if (s->fallback_text)
        text_add_str(out, s->fallback_text);
    else if (s->kind == KIND_BOOL)
        text_add_str(out, s->fallback ? "on" : "off");
    else if (s->kind == KIND_INT)
        text_add_i64(out, s->fallback);
    else {
        duration_format(s->fallback, duration);
        text_add_str(out, duration);
    }
}

static void print_setting(const struct setting *s, bool markdown) {
    AUTO_TEXT takes = text_new(0), fallback = text_new(0);
    describe(s, &takes);
    describe_fallback(s, &fallback);
    if (!markdown)
        printf("  %-32s %s (%s; %s%s)\n", s->env, s->help, text_str(&takes), fallback.len ? "default " : "no default",
               text_str(&fallback));
    else if (fallback.len)
        printf("| `%s` | %s | `%s` | %s |\n", s->env, text_str(&takes), text_str(&fallback), s->help);
    else
        printf("| `%s` | %s | | %s |\n", s->env, text_str(&takes), s->help);
}

void config_print(bool markdown) {
    if (markdown) printf("| variable | takes | default | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < SETTING_COUNT; i++) print_setting(&settings[i], markdown);
}
