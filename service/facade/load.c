/* What a transaction reads, in the lock order of the whole service: stock rows by product, then (plain) prices, orders
   by id, reservations, payments, compensations, stored answers, processed events. The last two come after the row
   locks: equal commands lock equal rows, so a twin's answer is there by then. */
#include "base/fault.h"
#include "base/memory.h"
#include "facade/answer.h"
#include "facade/trip.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static size_t sort_unique(int64_t *ids, size_t count) {
    qsort(ids, count, sizeof ids[0], by_value);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || ids[kept - 1] != ids[i]) ids[kept++] = ids[i];
    return kept;
}

static void collect_ids(struct attempt *attempt) {
    size_t lines = 0;
    for (size_t i = 0; i < attempt->count; i++) lines += attempt->riders[i]->command.line_count;
    attempt->product_ids = mem_array(lines + 1, sizeof(int64_t));
    attempt->order_ids = mem_array(attempt->count + 1, sizeof(int64_t));
    for (size_t i = 0; i < attempt->count; i++) {
        const struct command *command = &attempt->riders[i]->command;
        for (size_t k = 0; command_moves_stock(command) && k < command->line_count; k++)
            attempt->product_ids[attempt->product_count++] = command->lines[k].product_id;
        if (command->order_id != 0) attempt->order_ids[attempt->order_count++] = command->order_id;
    }
    attempt->product_count = sort_unique(attempt->product_ids, attempt->product_count);
    attempt->order_count = sort_unique(attempt->order_ids, attempt->order_count);
}

/* Ids that were asked for and are not among the rows that came; both ascending. */
static size_t find_missing(const int64_t *asked, size_t count, int64_t (*row_id)(const void *rows, size_t index),
                           const void *rows, size_t row_count, int64_t *missing) {
    size_t found = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        if (at < row_count && row_id(rows, at) == asked[i])
            at++;
        else
            missing[found++] = asked[i];
    }
    return found;
}

static void add_skipped(struct attempt *attempt, const int64_t *ids, const bool *exists, size_t count, int64_t sign) {
    attempt->skipped = mem_grow(attempt->skipped, attempt->skipped_count + count + 1, sizeof(int64_t));
    for (size_t i = 0; i < count; i++)
        if (exists[i]) attempt->skipped[attempt->skipped_count++] = sign * ids[i];
}

static int64_t stock_row_id(const void *rows, size_t index) {
    return ((const struct stock_row *)rows)[index].product_id;
}

static int64_t order_row_id(const void *rows, size_t index) { return ((const struct order *)rows)[index].id; }

/* Rows that exist and did not come back are locked by somebody else. */
static RESULT find_skipped_stock(struct attempt *attempt, const struct stock_row *rows, size_t row_count) {
    AUTO_FREE int64_t *missing = mem_array(attempt->product_count, sizeof(int64_t));
    size_t count = find_missing(attempt->product_ids, attempt->product_count, stock_row_id, rows, row_count, missing);
    AUTO_FREE bool *exists = mem_array(count + 1, sizeof(bool));
    TRY(inventories_exist(attempt->db, missing, count, exists));
    add_skipped(attempt, missing, exists, count, 1);
    return OK;
}

static RESULT find_skipped_orders(struct attempt *attempt, const struct order *rows, size_t row_count) {
    AUTO_FREE int64_t *missing = mem_array(attempt->order_count, sizeof(int64_t));
    size_t count = find_missing(attempt->order_ids, attempt->order_count, order_row_id, rows, row_count, missing);
    AUTO_FREE bool *exists = mem_array(count + 1, sizeof(bool));
    TRY(orders_exist(attempt->db, missing, count, exists));
    add_skipped(attempt, missing, exists, count, -1);
    return OK;
}

enum row_lock attempt_row_lock(const struct attempt *attempt) {
    return fault_on(FAULT_NO_ROW_LOCK) ? ROW_LOCK_NONE : attempt->row_lock;
}

static RESULT load_stock(struct attempt *attempt) {
    size_t count = attempt->product_count, row_count = 0;
    if (count == 0) return OK;
    AUTO_FREE struct stock_row *rows = mem_array(count, sizeof rows[0]);
    enum row_lock lock = attempt_row_lock(attempt);
    TRY(inventories_lock(attempt->db, attempt->product_ids, count, lock, rows, &row_count, &attempt->world.now_ms));
    if (lock == ROW_LOCK_SKIP && row_count < count) TRY(find_skipped_stock(attempt, rows, row_count));
    TRY(products_price(attempt->db, rows, row_count));
    attempt->world.stocks = mem_array(row_count + 1, sizeof attempt->world.stocks[0]);
    attempt->world.stock_count = row_count;
    for (size_t i = 0; i < row_count; i++)
        attempt->world.stocks[i] = (struct stock_cell){rows[i], rows[i].version, false};
    return OK;
}

static bool is_skipped(const struct attempt *attempt, int64_t lane_key) {
    for (size_t i = 0; i < attempt->skipped_count; i++) /* few: rows that foreign sessions hold just now */
        if (attempt->skipped[i] == lane_key) return true;
    return false;
}

static bool is_blocked(const struct attempt *attempt, const struct command *command) {
    for (size_t i = 0; command_moves_stock(command) && i < command->line_count; i++)
        if (is_skipped(attempt, command->lines[i].product_id)) return true;
    int64_t subject = command_subject(command);
    return subject != 0 && is_skipped(attempt, subject);
}

static void mark_blocked(struct attempt *attempt) {
    for (size_t i = 0; attempt->skipped_count > 0 && i < attempt->count; i++) {
        struct rider *rider = attempt->riders[i];
        if (!is_blocked(attempt, &rider->command)) continue;
        rider->fate = FATE_BLOCKED;
        rider->settled = true;
    }
}

/* An order that came to be after its lines were looked up: the command was first, for it there is no such order. Its
 * stock rows are not locked. */
static void refuse_early(struct attempt *attempt) {
    for (size_t i = 0; i < attempt->count; i++) {
        struct rider *rider = attempt->riders[i];
        const struct command *command = &rider->command;
        if (rider->settled || command->order_id == 0 || command->line_count > 0 || !command_moves_stock(command))
            continue;
        const struct order_cell *cell = world_order(&attempt->world, command->order_id);
        if (cell == NULL || cell->order.item_count == 0) continue;
        answer_problem(rider, ERROR_ORDER_NOT_FOUND, NULL, NULL);
        rider->settled = true;
    }
}

static RESULT load_orders(struct attempt *attempt) {
    size_t count = attempt->order_count, row_count = 0;
    if (count == 0) return OK;
    AUTO_FREE struct order *rows = mem_array(count, sizeof rows[0]);
    TRY(orders_lock(attempt->db, attempt->order_ids, count, attempt_row_lock(attempt), rows, &row_count,
                    &attempt->world.now_ms));
    attempt->world.orders = mem_array(row_count + 1, sizeof attempt->world.orders[0]);
    attempt->world.order_count = row_count;
    for (size_t i = 0; i < row_count; i++)
        attempt->world.orders[i] = (struct order_cell){rows[i], rows[i].version, false};
    if (attempt->row_lock == ROW_LOCK_SKIP && row_count < count) TRY(find_skipped_orders(attempt, rows, row_count));
    return OK;
}

static void add_payment(void *arg, const struct payment *payment) { world_add_payment(arg, payment); }
static void add_compensation(void *arg, const struct compensation *row) { world_add_compensation(arg, row); }

static RESULT load_payments(struct attempt *attempt) {
    AUTO_FREE const char **keys = mem_array(attempt->count + 1, sizeof(char *));
    size_t key_count = 0;
    for (size_t i = 0; i < attempt->count; i++)
        if (attempt->riders[i]->command.kind == COMMAND_PAYMENT)
            keys[key_count++] = attempt->riders[i]->command.payment.payment_key;
    if (key_count == 0) return OK;
    struct world *world = &attempt->world;
    TRY(payments_find(attempt->db, attempt->order_ids, attempt->order_count, keys, key_count, add_payment, world));
    TRY(compensations_find(attempt->db, attempt->order_ids, attempt->order_count, add_compensation, world));
    world->payment_known = world->payment_count;
    world->compensation_known = world->compensation_count;
    return OK;
}

static void replay(struct rider *rider, const struct idempotent *row) {
    struct answer *answer = &rider->answer;
    text_done(&answer->body);
    *answer = (struct answer){.status = row->status, .replayed = true, .body = text_new(0)};
    text_add(&answer->body, row->body, row->body_len);
    (void)text_copy(answer->location, sizeof answer->location, row->location);
    (void)text_copy(answer->etag, sizeof answer->etag, row->etag);
}

/* One stored answer was found: it is the rider's with that key. */
static void on_stored(void *arg, const struct idempotent *row) {
    struct attempt *attempt = arg;
    for (size_t i = 0; i < attempt->count; i++) {
        struct rider *rider = attempt->riders[i];
        if (!rider->has_key || memcmp(rider->key_hash, row->key_hash, sizeof row->key_hash) != 0) continue;
        if (row->age_ms > KEY_LIFE_MS) {
            rider->stale_key = true;
        } else {
            if (memcmp(rider->fingerprint, row->fingerprint, sizeof row->fingerprint) == 0)
                replay(rider, row);
            else
                answer_problem(rider, ERROR_IDEMPOTENCY_REUSED, NULL, NULL);
            rider->fate = FATE_ANSWERED;
            rider->settled = true;
        }
        return;
    }
}

static RESULT load_stored_answers(struct attempt *attempt) {
    AUTO_FREE unsigned char(*hashes)[DIGEST_SIZE] = mem_array(attempt->count + 1, DIGEST_SIZE);
    size_t count = 0;
    for (size_t i = 0; i < attempt->count; i++)
        if (attempt->riders[i]->has_key) memcpy(hashes[count++], attempt->riders[i]->key_hash, DIGEST_SIZE);
    if (count == 0 || fault_on(FAULT_NO_IDEMPOTENCY)) return OK;
    return idempotency_find(attempt->db, (const unsigned char(*)[DIGEST_SIZE])hashes, count, on_stored, attempt);
}

static struct world make_world(const struct attempt *attempt) {
    size_t orders = 0, items = 0;
    for (size_t i = 0; i < attempt->count; i++) {
        if (attempt->riders[i]->command.kind != COMMAND_ORDER_CREATE) continue;
        orders++;
        items += attempt->riders[i]->command.line_count;
    }
    struct world world = world_new(orders, items);
    world.reservation_ttl_ms = attempt->trip->rules->reservation_ttl_ms;
    return world;
}

RESULT attempt_load(struct attempt *attempt) {
    for (size_t i = 0; i < attempt->count; i++) {
        struct rider *rider = attempt->riders[i];
        rider->settled = rider->stale_key = rider->stores = false;
        rider->stock_product = 0;
        rider->same_event = NULL;
        rider->answer.duplicate = rider->answer.processed = false;
        rider->fate = FATE_ANSWERED;
    }
    attempt->world = make_world(attempt);
    collect_ids(attempt);
    TRY(load_stock(attempt));
    TRY(load_orders(attempt));
    TRY(attempt_load_reservations(attempt));
    mark_blocked(attempt);
    refuse_early(attempt);
    attempt_send_back_blind(attempt);
    if (attempt->world.now_ms == 0) TRY(db_now(attempt->db, &attempt->world.now_ms));
    TRY(load_payments(attempt));
    TRY(load_stored_answers(attempt));
    return attempt_load_processed(attempt);
}
