/* What endpoints share: parameters and headers read strictly, short reads on a worker, commands on their way. Loop
   thread. Each reader answers the request itself when it says false. */
#pragma once

#include "codec/json.h"
#include "endpoints/service.h"
#include "facade/rider.h"

struct read;

/* -- reading */
/* SYS-003 with the findings. */
void reply_invalid(struct request *request, const struct field_errors *errors);
/* SYS-003 with one finding; pointer as in "?limit" or "/productId". */
void reply_invalid_field(struct request *request, const char *pointer, const char *detail);
/* Path segment as an id in 1..2^53-1. */
bool read_id(struct request *request, unsigned index, const char *name, int64_t *ret);
/* Query parameters: each allowed (NULL-terminated names; of a list also limit and cursor), none twice. */
bool read_query(struct request *request, const char *const *allowed, bool is_list);
/* ?limit= and ?cursor= of a list of this kind. *ret_after is `start` without a cursor. Unknown query parameters
 * (allowed: NULL-terminated names) are refused. */
bool read_list(struct request *request, char kind, int64_t start, const char *const *allowed, size_t *ret_limit,
               int64_t *ret_after);
/* A list that ?status= narrows to one of some words. */
struct states {
    const char *const *words; /* NULL-terminated; the first is "": all of them */
    const char *detail;       /* of another word: "must be …" */
};
/* A list of this kind, newest first, with no other parameter than status: limit, after, and status as an index of the
 * words are set. NULL: answered. */
struct read *read_by_state(struct request *request, char kind, const struct states *states,
                           struct result (*work)(struct read *read, struct db *db));
/* ?limit= alone. */
bool read_limit(struct request *request, size_t *ret);
/* Idempotency-Key, unquoted; *ret is "" when absent. out has IDEMPOTENCY_KEY_MAX + 1 bytes. IDM-001. */
bool read_idempotency_key(struct request *request, char *out);
/* If-Match into a STOCK_SET command: PRD-006 when absent. */
bool read_if_match(struct request *request, struct command *command);

/* -- short reads: `work` runs on a worker and fills in result and answer; the reply follows by itself. It must bear
 * being run twice, or say `once`. */
#define LIST_NAME_SIZE 65
struct read {
    struct db_job job;       /* first */
    struct request *request; /* NULL: the client hung up */
    struct pool *pool;
    struct result (*work)(struct read *read, struct db *db);
    void (*lost)(struct read *read); /* may be NULL: the work was done, and its answer was not written whole */

    bool once; /* not again after a COMMIT that was not answered: what it does must not be done twice */

    /* parameters, as the endpoint likes */
    void *own; /* more of them; freed by own_free (NULL = plain memory) */
    void (*own_free)(void *own);
    int64_t id, after;
    size_t limit;
    int status;
    char text[PRODUCT_NAME_MAX * 4 + 1];
    int64_t price, stock;

    /* the answer */
    struct result result;
    int http_status;
    struct text body;
    char etag[40], location[REPLY_LOCATION_SIZE], extras[1024];
    char lock_token[65]; /* Lock-Token; "" = none */
    const char *detail;
    size_t listed;                  /* items written by list_item_* */
    int64_t last_id;                /* of the last item written */
    char last_name[LIST_NAME_SIZE]; /* of the last item written, for lists in the order of names; set by the endpoint */
    bool more;                      /* there was one beyond the limit */
};
struct read *read_new(struct request *request, struct result (*work)(struct read *read, struct db *db));
/* Parks the request and sends the read; SYS-011 when the queue of reads is full. */
void read_start(struct read *read);
/* Frees a read that was not started. */
void read_drop(struct read *read);
void read_set_etag(struct read *read, int64_t version);

/* Lists: {"items":[…],"nextCursor":…}. A work function asks for limit+1 rows and calls list_item_begins for each: false
 * = beyond the limit, do not write it. */
void list_begin(struct read *read);
bool list_item_begins(struct read *read, int64_t id);
void list_end(struct read *read, char kind);
/* The same for lists in the order of names. */
void list_end_name(struct read *read, char kind);

/* -- commands */
/* Reads Idempotency-Key, gives the rider the request's identity, parks the request and submits. Owns the rider in any
 * case. */
void command_start(struct request *request, struct rider *rider);
