/* A duration is read as parts (digits, then a unit letter) in falling units, of which only the first comes before 'T'.
 */
#include "base/duration.h"

#include "base/text.h"

static const struct unit {
    char letter;
    int64_t ms;
} units[] = {{'D', 86400000}, {'H', 3600000}, {'M', 60000}, {'S', 1000}};
enum { UNIT_HOUR = 1, UNIT_SECOND = 3, UNIT_COUNT = 4 };

enum { FRACTION_DIGITS_MAX = 9 };

struct scan {
    const char *at, *end;
    size_t next_unit; /* units before this one are used up */
    bool in_time;     /* 'T' has been seen */
    int64_t total_ms;
};

static bool at_digit(const struct scan *s) { return s->at < s->end && *s->at >= '0' && *s->at <= '9'; }

static bool scan_whole(struct scan *s, int64_t *ret) {
    if (!at_digit(s)) return false;
    for (*ret = 0; at_digit(s); s->at++)
        if (__builtin_mul_overflow(*ret, 10, ret) || __builtin_add_overflow(*ret, *s->at - '0', ret)) return false;
    return true;
}

/* ".5" as 500. Digits after the third must be zeros: nothing is rounded. */
static bool scan_fraction(struct scan *s, int64_t *ret_ms) {
    *ret_ms = 0;
    if (s->at == s->end || *s->at != '.') return true;
    s->at++;
    int64_t weight = 100;
    size_t count = 0;
    for (; at_digit(s); s->at++, count++, weight /= 10) {
        if (weight == 0 && *s->at != '0') return false;
        *ret_ms += weight * (*s->at - '0');
    }
    return count > 0 && count <= FRACTION_DIGITS_MAX;
}

/* The unit at the cursor, if it may stand there; UNIT_COUNT otherwise. */
static size_t scan_unit(struct scan *s) {
    if (s->at == s->end) return UNIT_COUNT;
    size_t last = s->in_time ? UNIT_COUNT : UNIT_HOUR;
    for (size_t i = s->next_unit; i < last; i++) {
        if (units[i].letter != *s->at) continue;
        s->at++;
        return i;
    }
    return UNIT_COUNT;
}

static bool scan_part(struct scan *s) {
    int64_t whole, fraction_ms, ms;
    if (!scan_whole(s, &whole)) return false;
    const char *after_whole = s->at;
    if (!scan_fraction(s, &fraction_ms)) return false;
    bool has_fraction = s->at != after_whole;
    size_t unit = scan_unit(s);
    if (unit == UNIT_COUNT || (has_fraction && unit != UNIT_SECOND)) return false;
    s->next_unit = unit + 1;
    return !__builtin_mul_overflow(whole, units[unit].ms, &ms) && !__builtin_add_overflow(ms, fraction_ms, &ms) &&
           !__builtin_add_overflow(s->total_ms, ms, &s->total_ms);
}

static bool scan_time_mark(struct scan *s) {
    if (s->at == s->end || *s->at != 'T') return false;
    s->at++;
    s->in_time = true;
    s->next_unit = UNIT_HOUR;
    return true;
}

bool duration_parse(const char *data, size_t len, int64_t *ret_ms) {
    if (len < 2 || data[0] != 'P') return false;
    struct scan s = {.at = data + 1, .end = data + len};
    if (*s.at != 'T' && !scan_part(&s)) return false;
    if (scan_time_mark(&s)) {
        do
            if (!scan_part(&s)) return false;
        while (s.at < s.end);
    }
    if (s.at != s.end) return false;
    *ret_ms = s.total_ms;
    return true;
}

/* "1.5S" without trailing zeros; nothing for 0. */
static void add_seconds(struct text *t, int64_t ms) {
    if (ms == 0) return;
    text_add_i64(t, ms / 1000);
    int64_t part = ms % 1000;
    if (part) text_add_char(t, '.');
    for (int64_t weight = 100; part; part %= weight, weight /= 10) text_add_i64(t, part / weight);
    text_add_char(t, 'S');
}

static void add_part(struct text *t, int64_t *ms, size_t unit) {
    int64_t count = *ms / units[unit].ms;
    *ms %= units[unit].ms;
    if (count == 0) return;
    text_add_i64(t, count);
    text_add_char(t, units[unit].letter);
}

void duration_format(int64_t ms, char *out) {
    AUTO_TEXT t = text_new(DURATION_SIZE - 1);
    text_add_char(&t, 'P');
    add_part(&t, &ms, 0);
    if (ms || t.len == 1) text_add_char(&t, 'T');
    bool zero = ms == 0 && t.len == 2;
    for (size_t unit = UNIT_HOUR; unit < UNIT_SECOND; unit++) add_part(&t, &ms, unit);
    add_seconds(&t, ms);
    if (zero) text_add_str(&t, "0S");
    text_copy(out, DURATION_SIZE, text_str(&t));
}
