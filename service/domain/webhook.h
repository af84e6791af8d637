/* Webhooks and their deliveries as values; what an attempt to deliver to a webhook means, and when the next one is due.
 * Pure. */
#pragma once

#include "domain/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBHOOK_ATTEMPTS_MAX 10 /* the first and nine more, over 75 hours: the schedule of Standard Webhooks */
#define WEBHOOK_URL_MAX 2048    /* bytes */
#define WEBHOOKS_MAX 100        /* of a database: each event becomes that many rows at most */
#define WEBHOOKS_READ_MAX (2 * WEBHOOKS_MAX) /* requests that come together can pass the limit: all are served */
#define WEBHOOK_ID_SIZE 37                   /* a UUID */

enum webhook_verdict {
    WEBHOOK_TAKEN,    /* 2xx */
    WEBHOOK_GONE,     /* 410: the receiver wants nothing any more */
    WEBHOOK_NOT_NOW,  /* no answer, 429, 5xx: the receiver is in trouble, others will meet the same */
    WEBHOOK_NOT_THIS, /* anything else: it has something against this event */
};
/* status 0 = no answer. */
enum webhook_verdict webhook_judge(int status);

/* Milliseconds from the attempt with this number (1 = the first) to the next; -1 = there is none. The receiver's
   Retry-After (-1 = none) is honoured up to a day. `dice` is any number: up to a tenth is added by it, so that what
   failed together does not come together. */
int64_t webhook_retry_in_ms(int attempt, int64_t retry_after_ms, uint32_t dice);

/* How long a receiver in trouble is left alone by all its deliveries, after this many failures in a row. */
int64_t webhook_pause_ms(int failures);

/* The event types there are, in the order of the documents. */
size_t event_type_count(void);
const char *event_type_name(size_t index);
/* A set of them as bits; 0 = all there are, also those of later versions. */
typedef uint32_t event_type_set;
#define EVENT_TYPES_SIZE 256 /* all of them with commas */
/* Adds it; false when there is no such type. */
bool event_types_add(event_type_set *set, const char *name);
bool event_types_have(event_type_set set, const char *name);
/* "a,b", as the database keeps it; "" = all. */
void event_types_write(event_type_set set, char out[EVENT_TYPES_SIZE]);
/* Names that are not known are left out. */
event_type_set event_types_read(const char *text);

struct webhook {
    char id[WEBHOOK_ID_SIZE];
    char url[WEBHOOK_URL_MAX + 1];
    event_type_set event_types;
    char status[21];           /* ACTIVE | DISABLED */
    char disabled_reason[201]; /* "" = null */
    char secret[101];
    char credential[CREDENTIAL_NAME_MAX + 1];
    int64_t created_at_ms, disabled_at_ms; /* 0 = null */
};
struct delivery {
    int64_t id;
    char webhook_id[WEBHOOK_ID_SIZE];
    char event_id[37], event_type[51], aggregate_id[65];
    char status[21]; /* HELD | PENDING | DELIVERED | FAILED */
    int64_t attempts;
    int64_t last_status; /* 0 = null */
    char last_error[301];
    int64_t created_at_ms, attempted_at_ms, next_attempt_at_ms, done_at_ms; /* 0 = null */
};
