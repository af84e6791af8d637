/* Orders whose payment is to be asked for: jobs of a queue of our own, which no client can name. One for each order, as
   long as it has not been decided. On a background thread. Claims: store/claims.h. */
#pragma once

#include "store/claims.h"

#define PAYMENT_CHECKS_QUEUE "lockstock:payments"
#define PAYMENT_CHECKS_FEED_MAX 500 /* orders of one statement */

extern const struct claim_table payment_checks_table;

struct payment_check {
    struct claim claim;
    int64_t order_id;
    int64_t attempts; /* before this one */
};

/* Adds a check for each order that has been in PAYMENT_REQUESTED for overdue_ms or longer and has none. *ret_added ≤
 * PAYMENT_CHECKS_FEED_MAX: full = call again. Two at once may find the same order: then one of them
 * adds nothing.
 */
RESULT payment_checks_feed(struct db *db, int64_t overdue_ms, uint64_t *ret_added);

#define PAYMENT_CHECKS_TAKE_MAX 16
/* checks has room for PAYMENT_CHECKS_TAKE_MAX. */
RESULT payment_checks_take(struct db *db, const char *owner, int64_t lease_ms, struct payment_check *checks,
                           size_t *ret_count);
/* The order is decided: its check is done, and the order could have another one. */
RESULT payment_checks_done(struct db *db, const struct payment_check *check, const char *result, bool *ret_ours);
/* To be asked again after delay_ms. */
RESULT payment_checks_again(struct db *db, const struct payment_check *check, int64_t delay_ms, const char *result,
                            bool *ret_ours);
