#include "facade/ids.h"

struct id_range ids_take(struct ids *ids, int64_t wanted) {
    struct id_range *best = NULL;
    for (size_t i = 0; i < ids->count; i++) {
        struct id_range *range = &ids->list[i];
        if (range->end - range->next < wanted) continue;
        if (best == NULL || range->next < best->next) best = range;
    }
    if (best == NULL || wanted == 0) return (struct id_range){0, 0};
    struct id_range taken = {best->next, best->next + wanted};
    best->next = taken.end;
    if (best->next == best->end) *best = ids->list[--ids->count];
    return taken;
}

/* Joins the range to one it touches. */
static int join(struct ids *ids, struct id_range range) {
    for (size_t i = 0; i < ids->count; i++) {
        struct id_range *known = &ids->list[i];
        if (known->next != range.end && known->end != range.next) continue;
        if (known->next == range.end) known->next = range.next;
        if (known->end == range.next) known->end = range.end;
        return 1;
    }
    return 0;
}

static struct id_range *smallest(struct ids *ids) {
    struct id_range *found = &ids->list[0];
    for (size_t i = 1; i < ids->count; i++)
        if (ids->list[i].end - ids->list[i].next < found->end - found->next) found = &ids->list[i];
    return found;
}

void ids_give(struct ids *ids, struct id_range range) {
    if (range.next >= range.end || join(ids, range)) return;
    if (ids->count < ID_RANGES_MAX) {
        ids->list[ids->count++] = range;
        return;
    }
    struct id_range *least = smallest(ids);
    if (least->end - least->next < range.end - range.next) *least = range;
}
