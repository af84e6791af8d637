#include "domain/world.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct world world_new(size_t created_max, size_t item_max) {
    struct world world = {0};
    world.created_max = created_max;
    world.item_max = item_max;
    if (created_max > 0) world.created = mem_array(created_max, sizeof world.created[0]);
    if (item_max > 0) world.items = mem_array(item_max, sizeof world.items[0]);
    return world;
}

void world_done(struct world *world) {
    for (size_t i = 0; i < world->order_count; i++) free(world->orders[i].order.items);
    for (size_t i = 0; i < world->reservation_count; i++) free(world->reservations[i].row.items);
    free(world->reservations);
    free(world->stocks);
    free(world->orders);
    free(world->created);
    free(world->items);
    free(world->movements);
    free(world->payments);
    free(world->compensations);
    *world = (struct world){0};
}

static int stock_compare(const void *key, const void *element) {
    int64_t a = *(const int64_t *)key, b = ((const struct stock_cell *)element)->row.product_id;
    return (a > b) - (a < b);
}

static int order_compare(const void *key, const void *element) {
    int64_t a = *(const int64_t *)key, b = ((const struct order_cell *)element)->order.id;
    return (a > b) - (a < b);
}

struct stock_cell *world_stock(const struct world *world, int64_t product_id) {
    if (world->stock_count == 0) return NULL;
    return bsearch(&product_id, world->stocks, world->stock_count, sizeof world->stocks[0], stock_compare);
}

struct order_cell *world_order(const struct world *world, int64_t order_id) {
    if (world->order_count == 0) return NULL;
    return bsearch(&order_id, world->orders, world->order_count, sizeof world->orders[0], order_compare);
}

static int reservation_by_ref(const void *key, const void *element) {
    return reservation_compare(key, &((const struct reservation_cell *)element)->row.ref);
}

struct reservation_cell *world_reservation(const struct world *world, const struct reservation_ref *ref) {
    if (world->reservation_count == 0) return NULL;
    return bsearch(ref, world->reservations, world->reservation_count, sizeof world->reservations[0],
                   reservation_by_ref);
}

/* Without the blanks at its end, which the column's unique key does not see. */
static size_t key_length(const char *key) {
    size_t len = strlen(key);
    while (len > 0 && key[len - 1] == ' ') len--;
    return len;
}

struct payment *world_payment(const struct world *world, const char *payment_key) {
    size_t len = key_length(payment_key);
    for (size_t i = 0; i < world->payment_count; i++) {
        const char *known = world->payments[i].payment_key;
        if (strncmp(known, payment_key, len) == 0 && key_length(known) == len) return &world->payments[i];
    }
    return NULL;
}

bool world_has_compensation(const struct world *world, const struct compensation *row) {
    for (size_t i = 0; i < world->compensation_count; i++) {
        const struct compensation *known = &world->compensations[i];
        if (known->order_id == row->order_id && strcmp(known->reason, row->reason) == 0 &&
            strcmp(known->payment_key, row->payment_key) == 0)
            return true;
    }
    return false;
}

/* Room for one more element; capacity doubles. */
static void *grow(void *array, size_t count, size_t *max, size_t size) {
    if (count < *max) return array;
    *max = *max == 0 ? 16 : *max * 2;
    return mem_grow(array, *max, size);
}

void world_add_payment(struct world *world, const struct payment *payment) {
    world->payments = grow(world->payments, world->payment_count, &world->payment_max, sizeof world->payments[0]);
    world->payments[world->payment_count++] = *payment;
}

void world_add_compensation(struct world *world, const struct compensation *row) {
    world->compensations =
        grow(world->compensations, world->compensation_count, &world->compensation_max, sizeof world->compensations[0]);
    world->compensations[world->compensation_count++] = *row;
}

static void add_movement(struct world *world, const struct movement *movement) {
    world->movements = grow(world->movements, world->movement_count, &world->movement_max, sizeof world->movements[0]);
    world->movements[world->movement_count++] = *movement;
}

/* The ledger must explain the stock we are about to build on. */
static void note_foreign(struct world *world, const struct stock_cell *cell) {
    const struct stock_row *row = &cell->row;
    struct movement movement = {.product_id = row->product_id, .stock_after = row->stock, .version = row->version};
    if (row->ledger_version < 0) {
        movement.kind = MOVEMENT_OPENING;
        movement.delta = row->stock;
    } else if (row->ledger_version != row->version || row->ledger_stock != row->stock) {
        movement.kind = MOVEMENT_FOREIGN;
        movement.delta = row->stock - row->ledger_stock;
    } else {
        return;
    }
    add_movement(world, &movement);
}

void world_move(struct world *world, struct stock_cell *cell, int64_t delta, struct movement movement) {
    struct stock_row *row = &cell->row;
    if (!cell->changed) {
        note_foreign(world, cell);
        cell->changed = true;
        row->version = cell->version_read + 1;
    }
    row->stock += delta;
    row->ledger_stock = row->stock;
    row->ledger_version = row->version;
    row->updated_at_ms = world->now_ms;
    movement.product_id = row->product_id;
    movement.delta = delta;
    movement.stock_after = row->stock;
    movement.version = row->version;
    add_movement(world, &movement);
}
