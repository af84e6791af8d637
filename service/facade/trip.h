/* What a worker gets for one train: values and its riders, nothing of the loop. Between pool_submit_train and done() it
 * belongs to the worker. */
#pragma once

#include "domain/world.h"
#include "facade/rider.h"
#include "store/pool.h"
#include "store/tables.h"

#define KEY_LIFE_MS INT64_C(86400000) /* stored answers older than 24 h count as absent */

/* What the workers need to know, the same for every trip. Immutable after start. */
struct trip_rules {
    int64_t reservation_ttl_ms;
    struct pool *pool; /* for a fresh connection when one is lost */
};

struct trip {
    struct db_job job; /* first: a job is its trip */
    const struct trip_rules *rules;
    struct rider **riders; /* arrival order; owned by the train */
    size_t count;
    enum row_lock row_lock;  /* how the first attempt takes the stock rows */
    int64_t id_next, id_end; /* order ids to give out; what is left goes back */

    /* -- what came of it */
    bool committed;                    /* at least one transaction was committed */
    bool failed;                       /* at least one group ended in an error of the database */
    bool unknown;                      /* at least one commit's outcome was never learnt */
    int64_t began_us, committed_us;    /* monotonic; committed_us: when the last COMMIT (or ROLLBACK of a train without
                                          writes) was answered */
    int64_t transaction_us, commit_us; /* time in statements; time in COMMIT */
    int64_t *blocked;                  /* products whose rows were locked by a foreign session; owned */
    size_t blocked_count;
};

/* db_job.run: from BEGIN to COMMIT, with everything that can go wrong between. Sets fate and answer of every rider. */
void trip_run(struct db_job *job, struct db *db);
/* Frees what the trip owns (not itself). */
void trip_done(struct trip *trip);

/* -- between the files of the transaction (worker thread) */

/* A connection, and whether it is ours to close. */
struct session {
    struct trip *trip;
    struct db *db;  /* usable, or NULL */
    struct db *own; /* opened by us after the pool's was lost */
};

/* One attempt on a group of riders. */
struct attempt {
    struct trip *trip;
    struct db *db;
    struct rider **riders;
    size_t count;
    enum row_lock row_lock;
    struct world world;
    int64_t *product_ids, *order_ids; /* sorted, unique */
    size_t product_count, order_count;
    struct reservation_ref *refs; /* sorted, unique */
    size_t ref_count;
    int64_t *skipped; /* lane keys of rows that exist and were skipped */
    size_t skipped_count;
    struct event *events;
    size_t *payload_ends; /* of each event in payloads */
    size_t event_count, event_max;
    struct text payloads;
    int64_t next_id;
    char first_event_id[TEXT_UUID_SIZE]; /* "" = the attempt writes no event */
};

/* load.c: reads everything the riders need, stock rows first. Riders on skipped rows get FATE_BLOCKED and are settled.
 */
RESULT attempt_load(struct attempt *attempt);
/* How the rows of this attempt are read. */
enum row_lock attempt_row_lock(const struct attempt *attempt);
/* load_reservations.c */
RESULT attempt_load_reservations(struct attempt *attempt);
/* A release that was looked up before its reservation came to be has locked no stock: it gets FATE_LOOKUP. */
void attempt_send_back_blind(struct attempt *attempt);
/* processed.c: riders whose event was processed before are answered so and settled; the others know who in this attempt
 * carries the same one before them. */
RESULT attempt_load_processed(struct attempt *attempt);
/* Writes down the events that were processed in this attempt. */
RESULT attempt_write_processed(struct attempt *attempt, size_t *ret_count);
/* settle.c: replays, decisions and answers, in arrival order. */
void attempt_settle(struct attempt *attempt);
/* write.c: everything that changed, outbox last. *ret_wrote false when nothing did. */
RESULT attempt_write(struct attempt *attempt, bool *ret_wrote);
void attempt_done(struct attempt *attempt);
/* recover.c: after COMMIT_UNKNOWN. *ret_done tells what the database says; OUTCOME_UNKNOWN when it will not tell in
 * time. The session has a fresh connection after success. */
RESULT attempt_recover(struct attempt *attempt, struct session *session, uint64_t old_connection,
                       const char *old_server, bool *ret_done);
