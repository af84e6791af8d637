/* Orders made, cancelled and moved on. Stock is checked for every line before any of it moves. */
#include "domain/decide.h"

struct order_cell *decide_find_order(struct world *world, const struct command *command, struct decision *ret) {
    struct order_cell *cell = world_order(world, command->order_id);
    if (cell == NULL)
        decide_refuse(ret, ERROR_ORDER_NOT_FOUND, NULL);
    else
        ret->order = &cell->order;
    return cell;
}

void decide_set_status(struct order_cell *cell, enum order_status status) {
    cell->order.status = status;
    cell->order.version++;
    cell->changed = true;
}

bool decide_can_sell(const struct stock_cell *cell, const struct line *line, struct decision *ret) {
    ret->product_id = line->product_id;
    if (cell == NULL || !cell->row.has_product) {
        decide_refuse(ret, ERROR_PRODUCT_NOT_FOUND, NULL);
        return false;
    }
    if (cell->row.stock >= line->quantity) return true;
    ret->requested = line->quantity;
    ret->available = cell->row.stock;
    ret->version = cell->row.version;
    decide_refuse(ret, ERROR_INSUFFICIENT_STOCK, NULL);
    return false;
}

/* The order's items priced from the world; they stand in world->items but are counted only when the order is made. */
static bool price_items(struct world *world, const struct command *command, struct decision *ret) {
    struct order_item *items = &world->items[world->item_count];
    for (size_t i = 0; i < command->line_count; i++) {
        const struct line *line = &command->lines[i];
        const struct stock_cell *cell = world_stock(world, line->product_id);
        if (!decide_can_sell(cell, line, ret)) return false;
        items[i] = (struct order_item){line->product_id, line->quantity, cell->row.price};
    }
    ret->product_id = 0;
    return true;
}

static void take_stock(struct world *world, const struct order *order) {
    struct movement movement = {.kind = MOVEMENT_ORDER};
    (void)text_format(movement.order_ref, sizeof movement.order_ref, "o:%lld", (long long)order->id);
    for (size_t i = 0; i < order->item_count; i++) {
        movement.line_no = (int32_t)i;
        world_move(world, world_stock(world, order->items[i].product_id), -order->items[i].quantity, movement);
    }
}

void decide_create(struct world *world, const struct command *command, int64_t new_order_id, struct decision *ret) {
    if (!price_items(world, command, ret)) return;
    struct order *order = &world->created[world->created_count];
    *order = (struct order){.id = new_order_id,
                            .status = ORDER_PENDING,
                            .ordered_at_ms = world->now_ms,
                            .expires_at_ms = world->now_ms + world->reservation_ttl_ms,
                            .items = &world->items[world->item_count],
                            .item_count = command->line_count};
    if (!order_total(order->items, order->item_count, &order->total_amount)) {
        ret->pointer = "/items";
        decide_refuse(ret, ERROR_INVALID_REQUEST, "the total would pass 2^53-1");
        return;
    }
    order_number(order->id, order->ordered_at_ms, order->number);
    (void)text_copy(order->user_id, sizeof order->user_id, command->create.user_id);
    world->created_count++;
    world->item_count += command->line_count;
    take_stock(world, order);
    ret->order = order;
    ret->created = true;
    decide_add_event(ret, EVENT_ORDER_CREATED);
}

bool decide_can_take_back(struct world *world, struct line line, struct decision *ret) {
    const struct stock_cell *cell = world_stock(world, line.product_id);
    if (cell != NULL && cell->row.stock <= STOCK_MAX - line.quantity) return true;
    ret->product_id = line.product_id;
    if (cell == NULL)
        decide_refuse(ret, ERROR_PRODUCT_NOT_FOUND, "the stock row of this product is gone");
    else
        decide_refuse(ret, ERROR_INVALID_REQUEST, "the stock would pass 2^53-1");
    return false;
}

static bool can_give_back(struct world *world, const struct order *order, struct decision *ret) {
    for (size_t i = 0; i < order->item_count; i++) {
        struct line line = {order->items[i].product_id, order->items[i].quantity};
        if (!decide_can_take_back(world, line, ret)) return false;
    }
    return true;
}

bool decide_give_back(struct world *world, struct order_cell *cell, const char *reason, struct decision *ret) {
    const struct order *order = &cell->order;
    if (!can_give_back(world, order, ret)) return false;
    struct movement movement = {.kind = MOVEMENT_RESTORE};
    (void)text_format(movement.order_ref, sizeof movement.order_ref, "o:%lld", (long long)order->id);
    (void)text_copy(movement.reason, sizeof movement.reason, reason);
    for (size_t i = 0; i < order->item_count; i++) {
        movement.line_no = (int32_t)i;
        world_move(world, world_stock(world, order->items[i].product_id), order->items[i].quantity, movement);
    }
    decide_set_status(cell, ORDER_CANCELLED);
    ret->cancel_reason = reason;
    decide_add_event(ret, EVENT_ORDER_CANCELLED);
    return true;
}

void decide_cancel(struct world *world, const struct command *command, struct decision *ret) {
    struct order_cell *cell = decide_find_order(world, command, ret);
    if (cell == NULL) return;
    if (cell->order.status == ORDER_CANCELLED)
        decide_refuse(ret, ERROR_ORDER_CANCELLED, NULL);
    else if (!order_may_follow(cell->order.status, ORDER_CANCELLED))
        decide_refuse(ret, ERROR_ORDER_STATE, NULL);
    else
        (void)decide_give_back(world, cell, command->cancel.reason, ret);
}

/* What a job saw is no reason: the order is looked at again, under its row lock and by the database clock. A payment
 * that came first has moved the status, and wins. */
void decide_timeout(struct world *world, const struct command *command, struct decision *ret) {
    struct order_cell *cell = decide_find_order(world, command, ret);
    if (cell == NULL) return;
    bool due = command->timeout.blind ||
               order_is_overdue(&cell->order, command->timeout.status, command->timeout.overdue_ms, world->now_ms);
    if (cell->order.status == ORDER_CANCELLED)
        decide_refuse(ret, ERROR_ORDER_CANCELLED, NULL);
    else if (!due)
        decide_refuse(ret, ERROR_ORDER_STATE, NULL);
    else
        (void)decide_give_back(world, cell, "TIMEOUT", ret);
}

/* The shipping states alone: payment and cancellation have commands of their own, which move stock. */
static bool is_shipping(enum order_status status) {
    return status == ORDER_PREPARING || status == ORDER_SHIPPED || status == ORDER_DELIVERED;
}

void decide_status(struct world *world, const struct command *command, struct decision *ret) {
    struct order_cell *cell = decide_find_order(world, command, ret);
    if (cell == NULL) return;
    enum order_status to = command->status.status;
    if (!is_shipping(to) || !order_may_follow(cell->order.status, to)) {
        decide_refuse(ret, ERROR_ORDER_STATE, NULL);
        return;
    }
    decide_set_status(cell, to);
    decide_add_event(ret, EVENT_STATUS_CHANGED);
}
