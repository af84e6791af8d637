#include "domain/decide.h"

void decide_refuse(struct decision *decision, enum error error, const char *detail) {
    decision->error = error;
    decision->detail = detail;
}

void decide_add_event(struct decision *decision, enum event_kind kind) {
    decision->events[decision->event_count++] = kind;
}

bool decision_is_stored(enum error error) {
    switch (error) {
    case ERROR_NONE:
    case ERROR_INSUFFICIENT_STOCK:
    case ERROR_ORDER_CANCELLED:
    case ERROR_ORDER_STATE:
    case ERROR_RESERVATION_STATE:
    case ERROR_RESERVATION_DIFFERS:
    case ERROR_PAYMENT_MISMATCH:
        return true;
    default:
        return false;
    }
}

/* The one stock row of a stock command, or PRODUCT_NOT_FOUND. */
static struct stock_cell *find_stock(struct world *world, const struct command *command, struct decision *ret) {
    int64_t product_id = command->lines[0].product_id;
    struct stock_cell *cell = world_stock(world, product_id);
    ret->product_id = product_id;
    if (cell == NULL) decide_refuse(ret, ERROR_PRODUCT_NOT_FOUND, NULL);
    return cell;
}

static void decide_adjust(struct world *world, const struct command *command, struct decision *ret) {
    struct stock_cell *cell = find_stock(world, command, ret);
    if (cell == NULL) return;
    int64_t delta = command->adjust.delta;
    if (cell->row.stock < -delta) {
        ret->requested = -delta;
        ret->available = cell->row.stock;
        ret->version = cell->row.version;
        decide_refuse(ret, ERROR_INSUFFICIENT_STOCK, NULL);
        return;
    }
    if (cell->row.stock > STOCK_MAX - delta) { /* a foreign writer's stock may be anything */
        ret->pointer = "/delta";
        decide_refuse(ret, ERROR_INVALID_REQUEST, "the stock would pass 2^53-1");
        return;
    }
    struct movement movement = {.kind = MOVEMENT_ADJUST};
    (void)text_copy(movement.reason, sizeof movement.reason, command->adjust.reason);
    world_move(world, cell, delta, movement);
    ret->stock = cell;
}

static bool version_matches(const struct command *command, int64_t version) {
    if (command->set.any_version) return true;
    for (size_t i = 0; i < command->set.version_count; i++)
        if (command->set.versions[i] == version) return true;
    return false;
}

static void decide_set(struct world *world, const struct command *command, struct decision *ret) {
    struct stock_cell *cell = find_stock(world, command, ret);
    if (cell == NULL) return;
    if (!version_matches(command, cell->row.version)) {
        ret->version = cell->row.version;
        decide_refuse(ret, ERROR_VERSION_MISMATCH, NULL);
        return;
    }
    world_move(world, cell, command->set.stock - cell->row.stock, (struct movement){.kind = MOVEMENT_SET});
    ret->stock = cell;
}

void decide(struct world *world, const struct command *command, int64_t new_order_id, struct decision *ret) {
    *ret = (struct decision){.now_ms = world->now_ms};
    switch (command->kind) {
    case COMMAND_ORDER_CREATE:
        decide_create(world, command, new_order_id, ret);
        return;
    case COMMAND_ORDER_CANCEL:
        decide_cancel(world, command, ret);
        return;
    case COMMAND_ORDER_STATUS:
        decide_status(world, command, ret);
        return;
    case COMMAND_PAYMENT_REQUEST:
        decide_payment_request(world, command, ret);
        return;
    case COMMAND_PAYMENT:
        decide_payment(world, command, ret);
        return;
    case COMMAND_STOCK_ADJUST:
        decide_adjust(world, command, ret);
        return;
    case COMMAND_STOCK_SET:
        decide_set(world, command, ret);
        return;
    case COMMAND_ORDER_TIMEOUT:
        decide_timeout(world, command, ret);
        return;
    case COMMAND_RESERVE:
        decide_reserve(world, command, ret);
        return;
    case COMMAND_RESERVATION_CONFIRM:
        decide_confirm(world, command, ret);
        return;
    case COMMAND_RESERVATION_RELEASE:
        decide_release(world, command, ret);
        return;
    case COMMAND_RESERVATION_SWEEP:
        decide_sweep(world, command, ret);
        return;
    }
}
