/* Reservations: made, confirmed, released, and released when their time is over. What was told stays: FAILED, RELEASED,
   CONFIRMED and a tombstone are ends.

     (none) ──▶ RESERVED ──▶ CONFIRMED
        │           └──────▶ RELEASED        by its owner, or by the sweep while it is still RESERVED and overdue
        ├──▶ FAILED                          not enough stock
        └──▶ CANCEL_REQUESTED                released first: whatever comes later is refused */
#include "base/memory.h"
#include "domain/decide.h"

#include <string.h>

static void set_status(struct world *world, struct reservation_cell *cell, enum reservation_status status,
                       const char *reason) {
    struct reservation *row = &cell->row;
    if (!cell->exists) row->created_at_ms = world->now_ms;
    cell->exists = cell->changed = true;
    row->status = status;
    row->version++;
    (void)text_copy(row->reason, sizeof row->reason, reason);
}

static void answer(struct reservation_cell *cell, struct decision *ret) { ret->reservation = cell; }

static void refuse_state(struct reservation_cell *cell, struct decision *ret) {
    answer(cell, ret);
    decide_refuse(ret, ERROR_RESERVATION_STATE, NULL);
}

/* The event tells the state the command left behind. */
static void tell(struct reservation_cell *cell, struct decision *ret) {
    answer(cell, ret);
    decide_add_event(ret, EVENT_RESERVATION_RESULT);
}

static void keep_items(struct reservation *row, const struct command *command) {
    row->items = mem_array(command->line_count, sizeof row->items[0]);
    row->item_count = command->line_count;
    memcpy(row->items, command->lines, command->line_count * sizeof row->items[0]);
}

static bool can_sell_all(struct world *world, const struct command *command, struct decision *ret) {
    for (size_t i = 0; i < command->line_count; i++)
        if (!decide_can_sell(world_stock(world, command->lines[i].product_id), &command->lines[i], ret)) return false;
    ret->product_id = 0;
    return true;
}

static void move_items(struct world *world, const struct reservation *row, enum movement_kind kind, int64_t sign) {
    struct movement movement = {.kind = kind};
    reservation_stock_ref(&row->ref, movement.order_ref);
    if (kind == MOVEMENT_RESTORE) (void)text_copy(movement.reason, sizeof movement.reason, row->reason);
    for (size_t i = 0; i < row->item_count; i++) {
        movement.line_no = (int32_t)i;
        world_move(world, world_stock(world, row->items[i].product_id), sign * row->items[i].quantity, movement);
    }
}

/* What stands already decides: the same items are the same reservation, as long as it holds them. */
static void reserve_again(struct reservation_cell *cell, const struct command *command, struct decision *ret) {
    const struct reservation *row = &cell->row;
    answer(cell, ret);
    bool has_items = row->status != RESERVATION_CANCEL_REQUESTED; /* a tombstone knows of none */
    if (has_items && !reservation_has_items(row, command->lines, command->line_count))
        decide_refuse(ret, ERROR_RESERVATION_DIFFERS, NULL);
    else if (!reservation_holds_stock(row->status))
        refuse_state(cell, ret);
}

void decide_reserve(struct world *world, const struct command *command, struct decision *ret) {
    struct reservation_cell *cell = world_reservation(world, &command->reservation.ref);
    struct reservation *row = &cell->row;
    if (cell->exists) {
        reserve_again(cell, command, ret);
        return;
    }
    bool enough = can_sell_all(world, command, ret);
    if (!enough && ret->error != ERROR_INSUFFICIENT_STOCK) return; /* an unknown product: it may come to be */
    if (!enough) ret->detail = "The reservation is FAILED for good; to try again, take another orderId.";
    keep_items(row, command);
    set_status(world, cell, enough ? RESERVATION_RESERVED : RESERVATION_FAILED, enough ? "" : "OUT_OF_STOCK");
    tell(cell, ret);
    if (!enough) return;
    row->reserved_at_ms = world->now_ms;
    row->expires_at_ms = world->now_ms + command->reservation.ttl_ms;
    move_items(world, row, MOVEMENT_ORDER, -1);
    ret->created = true;
}

/* The reservation as it stands, or RESERVATION_NOT_FOUND. */
static struct reservation_cell *find(struct world *world, const struct command *command, struct decision *ret) {
    struct reservation_cell *cell = world_reservation(world, &command->reservation.ref);
    if (cell->exists) return cell;
    decide_refuse(ret, ERROR_RESERVATION_NOT_FOUND, NULL);
    return NULL;
}

/* Its time may be over: as long as the sweep was not here, the stock is there and the confirmation wins. */
void decide_confirm(struct world *world, const struct command *command, struct decision *ret) {
    struct reservation_cell *cell = find(world, command, ret);
    if (cell == NULL) return;
    answer(cell, ret);
    if (cell->row.status == RESERVATION_CONFIRMED) return;
    if (cell->row.status != RESERVATION_RESERVED) {
        refuse_state(cell, ret);
        return;
    }
    set_status(world, cell, RESERVATION_CONFIRMED, "");
    cell->row.confirmed_at_ms = world->now_ms;
    tell(cell, ret);
}

static void give_back(struct world *world, struct reservation_cell *cell, const char *reason, struct decision *ret) {
    struct reservation *row = &cell->row;
    for (size_t i = 0; i < row->item_count; i++)
        if (!decide_can_take_back(world, row->items[i], ret)) return;
    set_status(world, cell, RESERVATION_RELEASED, reason);
    row->released_at_ms = world->now_ms;
    move_items(world, row, MOVEMENT_RESTORE, 1);
    tell(cell, ret);
}

void decide_release(struct world *world, const struct command *command, struct decision *ret) {
    struct reservation_cell *cell = world_reservation(world, &command->reservation.ref);
    answer(cell, ret);
    if (!cell->exists) {
        set_status(world, cell, RESERVATION_CANCEL_REQUESTED, "CANCELLED");
        tell(cell, ret);
    } else if (cell->row.status == RESERVATION_RESERVED) {
        give_back(world, cell, "CANCELLED", ret);
    } else if (cell->row.status == RESERVATION_CONFIRMED) {
        refuse_state(cell, ret);
    } /* else: nothing is held, as asked */
}

void decide_sweep(struct world *world, const struct command *command, struct decision *ret) {
    struct reservation_cell *cell = find(world, command, ret);
    if (cell == NULL) return;
    bool due = reservation_is_overdue(&cell->row, command->reservation.overdue_ms, world->now_ms);
    if (command->reservation.blind) due = reservation_holds_stock(cell->row.status);
    if (!due)
        refuse_state(cell, ret);
    else
        give_back(world, cell, "EXPIRED", ret);
}
