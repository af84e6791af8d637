/* The reservations of an attempt: a cell for each that a command names. Those that stand are locked; one that does not
   is nobody's yet, and two who make it at once meet at the unique key. */
#include "base/memory.h"
#include "facade/trip.h"
#include "store/reservations.h"

#include <stdlib.h>
#include <string.h>

static int by_ref(const void *a, const void *b) { return reservation_compare(a, b); }

static void collect_refs(struct attempt *attempt) {
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < attempt->count; i++) count += command_reservation(&attempt->riders[i]->command) != NULL;
    attempt->refs = mem_array(count + 1, sizeof attempt->refs[0]);
    count = 0;
    for (size_t i = 0; i < attempt->count; i++) {
        const struct reservation_ref *ref = command_reservation(&attempt->riders[i]->command);
        if (ref != NULL) attempt->refs[count++] = *ref;
    }
    qsort(attempt->refs, count, sizeof attempt->refs[0], by_ref);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || reservation_compare(&attempt->refs[kept - 1], &attempt->refs[i]) != 0)
            attempt->refs[kept++] = attempt->refs[i];
    attempt->ref_count = kept;
}

static void make_cells(struct attempt *attempt) {
    struct world *world = &attempt->world;
    world->reservations = mem_array(attempt->ref_count + 1, sizeof world->reservations[0]);
    world->reservation_count = attempt->ref_count;
    for (size_t i = 0; i < attempt->ref_count; i++) world->reservations[i].row.ref = attempt->refs[i];
}

static void fill_cells(struct attempt *attempt, const struct reservation *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct reservation_cell *cell = world_reservation(&attempt->world, &rows[i].ref);
        *cell = (struct reservation_cell){.row = rows[i], .version_read = rows[i].version, .exists = true};
    }
}

/* Rows that exist and did not come back are locked by somebody else. */
static RESULT find_skipped(struct attempt *attempt) {
    size_t count = 0;
    int64_t now_ms;
    AUTO_FREE struct reservation *rows = mem_array(attempt->ref_count + 1, sizeof rows[0]);
    TRY(reservations_lock(attempt->db, attempt->refs, attempt->ref_count, ROW_LOCK_NONE, rows, &count, &now_ms));
    attempt->skipped = mem_grow(attempt->skipped, attempt->skipped_count + count + 1, sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        if (!world_reservation(&attempt->world, &rows[i].ref)->exists)
            attempt->skipped[attempt->skipped_count++] = reservation_key(&rows[i].ref);
        free(rows[i].items);
    }
    return OK;
}

RESULT attempt_load_reservations(struct attempt *attempt) {
    collect_refs(attempt);
    if (attempt->ref_count == 0) return OK;
    make_cells(attempt);
    size_t count = 0;
    AUTO_FREE struct reservation *rows = mem_array(attempt->ref_count + 1, sizeof rows[0]);
    TRY(reservations_lock(attempt->db, attempt->refs, attempt->ref_count, attempt_row_lock(attempt), rows, &count,
                          &attempt->world.now_ms));
    fill_cells(attempt, rows, count);
    if (attempt->row_lock == ROW_LOCK_SKIP && count < attempt->ref_count) TRY(find_skipped(attempt));
    return OK;
}

void attempt_send_back_blind(struct attempt *attempt) {
    for (size_t i = 0; i < attempt->count; i++) {
        struct rider *rider = attempt->riders[i];
        const struct reservation_ref *ref = command_reservation(&rider->command);
        if (rider->settled || ref == NULL || rider->command.line_count > 0 || !command_moves_stock(&rider->command))
            continue;
        const struct reservation_cell *cell = world_reservation(&attempt->world, ref);
        if (!cell->exists || cell->row.status != RESERVATION_RESERVED || cell->row.item_count == 0) continue;
        rider->fate = FATE_LOOKUP;
        rider->settled = true;
    }
}
