/* One line, one buffer on the stack, one write(2). Invariants: no heap (the line that tells of exhausted memory passes
   here too); the line stays within LOG_LINE_MAX = PIPE_BUF, so that lines of several threads never mix in a pipe; what
   does not fit is left out whole, or shortened between characters, and the line says "cut":true. */
#include "base/log.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum {
    LOG_LINE_MAX = PIPE_BUF,
    LOG_VALUE_MAX = 1024, /* bytes of one printed value: a long one must not push out `err` and `where` */
    LOG_INSTANCE_MAX = 64,
    LOG_FIELDS_MAX = 32,
};

static const char *const level_names[] = {"debug", "info", "warn", "error"};

static enum log_level least_level = LOG_INFO;
static char instance_name[LOG_INSTANCE_MAX + 1];

static const char line_end[] = "}\n";
static const char cut_mark[] = ",\"cut\":true";

struct line {
    char data[LOG_LINE_MAX];
    size_t len;
    size_t max; /* leaves room for the mark and the end */
    bool cut;
};

void log_start(enum log_level level, const char *instance) {
    least_level = level;
    text_copy(instance_name, sizeof instance_name, instance);
}

bool log_level_parse(const char *name, enum log_level *ret) {
    for (int i = LOG_DEBUG; i <= LOG_ERROR; i++) {
        if (strcmp(name, level_names[i]) != 0) continue;
        *ret = (enum log_level)i;
        return true;
    }
    return false;
}

bool log_is_on(enum log_level level) { return level >= least_level; }

/* All of it or nothing. */
static bool put(struct line *l, const char *data, size_t len) {
    if (len > l->max - l->len) {
        l->cut = true;
        return false;
    }
    memcpy(l->data + l->len, data, len);
    l->len += len;
    return true;
}

static bool put_str(struct line *l, const char *s) { return put(l, s, strlen(s)); }

/* The JSON spelling of the character at s (len bytes left); returns how many bytes of s it used. A byte that is not
   UTF-8 becomes U+FFFD: a log line has to stay readable whatever a client sent. */
static size_t spell(const char *s, size_t len, char out[8]) {
    uint32_t point;
    size_t size = text_utf8_next(s, len, &point);
    if (size == 0) {
        text_format(out, 8, "\\ufffd");
        return 1;
    }
    if (text_is_control(point))
        text_format(out, 8, "\\u%04x", (unsigned)point & 0xFF);
    else if (point == '"' || point == '\\')
        text_format(out, 8, "\\%c", (char)point);
    else
        text_format(out, 8, "%.*s", (int)size, s);
    return size;
}

/* Printable ASCII without a quote or a backslash needs no spelling: the common case goes in one piece. */
static size_t plain_run(const char *s, size_t len) {
    size_t n = 0;
    while (n < len && s[n] >= 0x20 && s[n] < 0x7F && s[n] != '"' && s[n] != '\\') n++;
    return n;
}

static bool put_piece(struct line *l, const char *data, size_t len, size_t value_end) {
    bool fits = l->len + len <= value_end && put(l, data, len);
    if (!fits) l->cut = true;
    return fits;
}

/* The characters of s until value_end; a run of plain ones is shortened, an escape is not. */
static void put_characters(struct line *l, const char *s, size_t value_end) {
    for (size_t left = strlen(s); left > 0;) {
        char spelled[8];
        size_t used = plain_run(s, left);
        bool fits;
        if (used > 0) {
            size_t room = value_end - l->len;
            fits = used <= room;
            put_piece(l, s, fits ? used : room, value_end);
        } else {
            used = spell(s, left, spelled);
            fits = put_piece(l, spelled, strlen(spelled), value_end);
        }
        if (!fits) {
            l->cut = true;
            return;
        }
        s += used;
        left -= used;
    }
}

static bool put_string(struct line *l, const char *s) {
    if (!s) return put_str(l, "null");
    if (!put(l, "\"", 1)) return false;
    size_t value_end = l->len + LOG_VALUE_MAX;
    if (value_end > l->max - 1) value_end = l->max - 1; /* the closing quote */
    if (l->len > value_end) return false;
    put_characters(l, s, value_end);
    return put(l, "\"", 1);
}

static bool put_number(struct line *l, int64_t value) {
    char digits[24];
    text_format(digits, sizeof digits, "%lld", (long long)value);
    return put_str(l, digits);
}

/* A field that does not fit leaves no trace but the mark. */
static void put_field(struct line *l, const struct log_field *field) {
    size_t before = l->len;
    bool fits = put_str(l, l->len > 1 ? ",\"" : "\"") && put_str(l, field->name) && put_str(l, "\":") &&
                (field->kind == LOG_INT ? put_number(l, field->num) : put_string(l, field->str));
    if (fits) return;
    l->len = before;
    l->cut = true;
}

static void put_head(struct line *l, enum log_level level, const char *event) {
    char now[TEXT_TIME_SIZE];
    text_time(clock_wall_ms(), now);
    put(l, "{", 1);
    put_field(l, &LOGS("ts", now));
    put_field(l, &LOGS("level", level_names[level]));
    put_field(l, &LOGS("event", event));
    put_field(l, &LOGS("instance", instance_name));
}

static void put_end(struct line *l) {
    l->max = LOG_LINE_MAX;
    if (l->cut) put_str(l, cut_mark);
    put_str(l, line_end);
}

void log_write(enum log_level level, const char *event, const struct log_field *fields) {
    struct line line;
    line.len = 0;
    line.max = LOG_LINE_MAX - (sizeof cut_mark - 1) - (sizeof line_end - 1);
    line.cut = false;
    put_head(&line, level, event);
    size_t count = 0;
    for (; count < LOG_FIELDS_MAX && fields[count].kind != LOG_END; count++) put_field(&line, &fields[count]);
    if (fields[count].kind != LOG_END) line.cut = true;
    put_end(&line);
    /* Whoever reads stdout decides whether lines are kept; a service does not stop because no one reads. */
    while (write(STDOUT_FILENO, line.data, line.len) < 0 && errno == EINTR) continue;
}
