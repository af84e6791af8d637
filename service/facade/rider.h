/* A command on its way: from its endpoint through queue and train to its answer. Made on the loop; a worker touches it
   only while its train is in the transaction. The facade owns it from facade_submit on and frees it after done(). */
#pragma once

#include "base/list.h"
#include "codec/digest.h"
#include "domain/command.h"

#define RIDER_REQUEST_ID_SIZE 65

/* What goes back to the client. */
struct answer {
    enum error error; /* ERROR_NONE: success */
    int status;       /* HTTP status, also of stored answers */
    struct text body;
    char location[ANSWER_LOCATION_SIZE], etag[32]; /* "" = none */
    bool replayed;                                 /* a stored answer given again */
    bool duplicate;                                /* the event was processed before: nothing was done now */
    bool processed; /* the event is written down as processed with this answer, a refusal too */
    bool degraded;  /* Redis was away: behind the row lock alone */
};

enum rider_fate {
    FATE_ANSWERED, /* answer is filled in */
    FATE_LOOKUP,   /* its lines came to be after they were looked up: it looks again */
    FATE_BLOCKED,  /* a foreign session holds a row it needs: back into the queue */
};

struct lane;

struct rider {
    struct command command;
    struct line *lines; /* owned; command.lines points here */
    bool has_key;
    unsigned char key_hash[DIGEST_SIZE], fingerprint[DIGEST_SIZE];
    struct processed_event *event; /* what the command comes from; owned; NULL = no event */
    char request_id[RIDER_REQUEST_ID_SIZE];
    void (*done)(void *arg,
                 struct answer *answer); /* loop; once; may take answer->body. NULL = nobody waits any more */
    void *arg;

    /* -- the facade's */
    struct list node;  /* in the lookup list, the queue, a train, or a twin's followers */
    uint64_t sequence; /* arrival order */
    int64_t arrived_us, deadline_ms;
    int64_t lock_wait_since_ms; /* 0 = has met no foreign lock */
    struct lane **lanes;
    size_t lane_count;
    bool in_queue;    /* waits for its lookup, its leader or a train: may still be dropped */
    bool row_waiting; /* left a train because of a foreign row lock */
    bool leads;       /* stands in the twins' table */
    struct rider *twin_next;
    struct list followers; /* twins that wait for this one */

    /* -- the transaction's */
    enum rider_fate fate;
    struct answer answer;
    bool settled;             /* decided or replayed in this attempt */
    bool stale_key;           /* an expired stored answer must go first */
    bool stores;              /* the answer goes into idempotency_keys */
    struct rider *same_event; /* the one before it in this attempt with the same event; NULL = none */
    int64_t stock_product;    /* answered with this product's stock as the train leaves it; 0 = no */
};

/* Empty rider with room for `lines` lines and a fresh event id. */
struct rider *rider_new(enum command_kind kind, size_t lines);
/* Cancels the order if it still is in this status and its time was over more than overdue_ms ago, by the database. */
struct rider *rider_for_timeout(int64_t order_id, enum order_status status, int64_t overdue_ms);
/* On the reservation of this order; its lines (of a reserve) and ttl_ms are the caller's to fill in. The texts fit:
 * CREDENTIAL_NAME_MAX, USER_ID_MAX. */
struct rider *rider_for_reservation(enum command_kind kind, const char *credential, const char *order_id, size_t lines);
/* Takes NULL, returns NULL. It is in no list. */
struct rider *rider_free(struct rider *rider);
/* Idempotency scope and fingerprint (api/openapi.yaml): credential and route scope the key, the fingerprint covers the
 * canonical command. key NULL = none. */
void rider_set_key(struct rider *rider, const char *credential, const char *route, const char *key);
/* The command comes from an event: its effect and the fact that it was processed stand in one transaction, and a repeat
   is answered `duplicate` and does nothing. A rider with an event has no Idempotency-Key. False: an id or group that is
   empty, too long or not printable ASCII without blanks; the rider is as before. */
bool rider_set_event(struct rider *rider, const char *event_id, const char *consumer_group)
    __attribute__((warn_unused_result));
