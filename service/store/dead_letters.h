/* The ledger of events that could not have their effect. On a worker or a background thread, each call in its own
   statement(s) unless said otherwise. */
#pragma once

#include "domain/dead_letter.h"
#include "store/db.h"

/* Written once for each position: a repeat changes nothing. */
RESULT dead_letters_insert(struct db *db, const struct dead_letter *letter);
/* Newest first: id < before_id; status "" = any. Of each payload the first `payload_max` bytes. A row is valid during
 * the call. */
struct dead_letters_page {
    const char *status;
    int64_t before_id;
    size_t limit, payload_max;
};
RESULT dead_letters_list(struct db *db, const struct dead_letters_page *page,
                         void (*fn)(void *arg, const struct dead_letter *row), void *arg);
/* Calls fn once, with the whole payload. NOT_FOUND. */
RESULT dead_letters_read(struct db *db, int64_t id, void (*fn)(void *arg, const struct dead_letter *row), void *arg);

/* What somebody did with a letter, for the audit. `to` NULL: it stays OPEN. In one transaction: an OPEN letter becomes
   `to`, one that is settled stays as it is, and the audit row is written. */
struct dead_letter_act {
    int64_t id;
    const char *action; /* REPLAY | DISCARD */
    const char *to;
    const char *outcome; /* a word or code of ours */
    const char *credential, *request_id;
};
RESULT dead_letters_settle(struct db *db, const struct dead_letter_act *act);
/* How many are OPEN. */
RESULT dead_letters_count(struct db *db, int64_t *ret);
