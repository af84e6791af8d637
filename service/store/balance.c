/* Sums and their judgement. A foreign writer is one that moved the version past ours: what it did is explained by the
   next movement of kind FOREIGN. One that changed the stock and left the version is a violation. */
#include "store/balance.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64

void balances_done(struct balances *balances) { free(balances->rows); }

/* First index whose product is not below. Most calls ask for ascending products, so the end is tried first. */
static size_t lower_bound(const struct balances *b, int64_t product_id) {
    size_t low = 0, high = b->count;
    if (b->count == 0 || b->rows[b->count - 1].product_id < product_id) return b->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->rows[middle].product_id < product_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct balance *balances_of(struct balances *b, int64_t product_id) {
    size_t at = lower_bound(b, product_id);
    if (at < b->count && b->rows[at].product_id == product_id) return &b->rows[at];
    if (b->count == b->room) {
        b->room = b->room == 0 ? ROOM_FIRST : b->room * 2;
        b->rows = mem_grow(b->rows, b->room, sizeof *b->rows);
    }
    memmove(&b->rows[at + 1], &b->rows[at], (b->count - at) * sizeof *b->rows);
    b->count++;
    b->rows[at] = (struct balance){.product_id = product_id, .ledger_stock = -1, .ledger_version = -1};
    return &b->rows[at];
}

static struct audit_finding finding(const struct balance *b, const char *kind, int64_t ledger, int64_t expected) {
    return (struct audit_finding){
        .kind = kind, .product_id = b->product_id, .stock = b->stock, .ledger = ledger, .expected = expected};
}

static bool was_moved_by_us(const struct balance *b) { return b->ledger_version >= 0; }

static bool is_foreign(const struct balance *b) { return was_moved_by_us(b) && b->version > b->ledger_version; }

/* The stock differs, or the version went back, and no writer that keeps the version explains it. */
static bool is_unexplained(const struct balance *b) {
    if (!was_moved_by_us(b) || is_foreign(b)) return false;
    return b->version < b->ledger_version || b->stock != b->ledger_stock;
}

size_t balance_judge(const struct balance *b, struct audit_finding *findings) {
    size_t n = 0;
    int64_t ledger = was_moved_by_us(b) ? b->ledger_stock : 0;
    if (b->stock < 0) findings[n++] = finding(b, "negative-stock", b->moved, 0);
    if (b->moved != ledger || is_unexplained(b)) findings[n++] = finding(b, "ledger-differs", b->moved, ledger);
    if (b->held != -b->moved_by_orders) findings[n++] = finding(b, "orders-differ", -b->moved_by_orders, b->held);
    if (b->reserved != -b->moved_by_reservations)
        findings[n++] = finding(b, "reservations-differ", -b->moved_by_reservations, b->reserved);
    if (is_foreign(b)) findings[n++] = finding(b, "foreign", b->moved, ledger);
    return n;
}
