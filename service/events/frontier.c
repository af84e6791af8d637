#include "events/frontier.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void frontier_done(struct frontier *frontier) {
    free(frontier->holes);
    *frontier = (struct frontier){0};
}

struct frontier frontier_copy(const struct frontier *frontier) {
    struct frontier copy = *frontier;
    copy.hole_room = frontier->hole_count + 1;
    copy.holes = mem_array(copy.hole_room, sizeof copy.holes[0]);
    if (frontier->hole_count > 0) memcpy(copy.holes, frontier->holes, frontier->hole_count * sizeof copy.holes[0]);
    return copy;
}

static void insert(struct frontier *frontier, size_t at, struct outbox_span span, unsigned looks) {
    if (frontier->hole_count == frontier->hole_room) {
        frontier->hole_room = frontier->hole_room * 2 + 4;
        frontier->holes = mem_grow(frontier->holes, frontier->hole_room, sizeof frontier->holes[0]);
    }
    memmove(frontier->holes + at + 1, frontier->holes + at, (frontier->hole_count - at) * sizeof frontier->holes[0]);
    frontier->holes[at] = (struct hole){span, looks};
    frontier->hole_count++;
}

void frontier_close(struct frontier *frontier, size_t index) {
    frontier->hole_count--;
    memmove(frontier->holes + index, frontier->holes + index + 1,
            (frontier->hole_count - index) * sizeof frontier->holes[0]);
}

bool frontier_pass_empty(struct frontier *frontier, int64_t upto) {
    if (upto <= frontier->last) return true;
    if (frontier->hole_count >= FRONTIER_HOLES_MAX) return false;
    insert(frontier, frontier->hole_count, (struct outbox_span){frontier->last + 1, upto}, 0);
    frontier->last = upto;
    return true;
}

bool frontier_pass(struct frontier *frontier, int64_t id) {
    if (!frontier_pass_empty(frontier, id - 1)) return false;
    frontier->last = id;
    return true;
}

void frontier_fill(struct frontier *frontier, int64_t id) {
    for (size_t i = 0; i < frontier->hole_count; i++) {
        struct outbox_span *span = &frontier->holes[i].span;
        if (id < span->from || id > span->to) continue;
        struct outbox_span rest = {id + 1, span->to};
        unsigned looks = frontier->holes[i].looks;
        span->to = id - 1;
        if (rest.from <= rest.to) insert(frontier, i + 1, rest, looks);
        if (frontier->holes[i].span.from > frontier->holes[i].span.to) frontier_close(frontier, i);
        return;
    }
}

int64_t frontier_low(const struct frontier *frontier) {
    return frontier->hole_count > 0 ? frontier->holes[0].span.from - 1 : frontier->last;
}

bool frontier_write_holes(const struct frontier *frontier, char *out, size_t size) {
    AUTO_TEXT text = text_new(0);
    for (size_t i = 0; i < frontier->hole_count; i++) {
        const struct outbox_span *span = &frontier->holes[i].span;
        if (i > 0) text_add_char(&text, ',');
        text_add_i64(&text, span->from);
        if (span->to == span->from) continue;
        text_add_char(&text, '-');
        text_add_i64(&text, span->to);
    }
    return text_copy(out, size, text_str(&text));
}

static bool read_span(const char *item, size_t len, struct outbox_span *ret) {
    const char *dash = memchr(item, '-', len);
    size_t head = dash != NULL ? (size_t)(dash - item) : len;
    if (!text_parse_i64(item, head, &ret->from)) return false;
    ret->to = ret->from;
    return dash == NULL || text_parse_i64(dash + 1, len - head - 1, &ret->to);
}

bool frontier_read_holes(struct frontier *frontier, const char *text) {
    int64_t after = 0;
    frontier->hole_count = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        struct outbox_span span;
        if (!read_span(text, len, &span) || span.from <= after || span.to < span.from || span.to > frontier->last)
            return false;
        insert(frontier, frontier->hole_count, span, 0);
        after = span.to;
        text += len;
        if (*text == ',') text++;
    }
    return true;
}

bool frontier_is_level(const struct frontier *a, const struct frontier *b) {
    if (a->last != b->last || a->hole_count != b->hole_count) return false;
    for (size_t i = 0; i < a->hole_count; i++)
        if (a->holes[i].span.from != b->holes[i].span.from || a->holes[i].span.to != b->holes[i].span.to) return false;
    return true;
}
