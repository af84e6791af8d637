#include "events/receivers.h"

#include "base/fault.h"
#include "base/memory.h"
#include "base/text.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A row is in use while there is something to remember of it. Webhooks come and go: more rows than there may be. */
#define ROWS (2 * WEBHOOKS_MAX)

struct receiver {
    char webhook_id[WEBHOOK_ID_SIZE];
    int on_their_way, failures;
    int64_t paused_until_ms;
};

struct receivers {
    pthread_mutex_t mutex;
    int side_by_side;
    struct receiver rows[ROWS];
};

struct receivers *receivers_new(int side_by_side) {
    struct receivers *receivers = mem_new(sizeof *receivers);
    (void)pthread_mutex_init(&receivers->mutex, NULL);
    receivers->side_by_side = side_by_side > 0 ? side_by_side : 1;
    return receivers;
}

struct receivers *receivers_free(struct receivers *receivers) {
    if (receivers == NULL) return NULL;
    (void)pthread_mutex_destroy(&receivers->mutex);
    free(receivers);
    return NULL;
}

/* Its row, or the one that says least: a free one, or of who is idle and was in trouble the longest ago. NULL: all are
 * busy. */
static struct receiver *row_of(struct receivers *receivers, const char *webhook_id) {
    struct receiver *spare = NULL;
    for (size_t i = 0; i < ROWS; i++) {
        struct receiver *row = &receivers->rows[i];
        if (strcmp(row->webhook_id, webhook_id) == 0) return row;
        if (row->on_their_way > 0) continue;
        if (spare == NULL || row->paused_until_ms < spare->paused_until_ms) spare = row;
    }
    if (spare == NULL) return NULL;
    *spare = (struct receiver){0};
    (void)text_copy(spare->webhook_id, sizeof spare->webhook_id, webhook_id);
    return spare;
}

bool receivers_enter(struct receivers *receivers, const char *webhook_id, int64_t now_ms) {
    (void)pthread_mutex_lock(&receivers->mutex);
    struct receiver *row = row_of(receivers, webhook_id);
    int limit = row != NULL && row->failures > 0 ? 1 : receivers->side_by_side;
    bool may = row != NULL && row->on_their_way < limit && row->paused_until_ms <= now_ms;
    if (fault_on(FAULT_NO_RECEIVER_LIMIT)) may = row != NULL;
    if (may) row->on_their_way++;
    (void)pthread_mutex_unlock(&receivers->mutex);
    return may;
}

void receivers_leave(struct receivers *receivers, const char *webhook_id, bool known, bool well, int64_t now_ms) {
    (void)pthread_mutex_lock(&receivers->mutex);
    struct receiver *row = row_of(receivers, webhook_id);
    assert(row != NULL); /* somebody is on the way */
    row->on_their_way--;
    if (known) {
        row->failures = well ? 0 : row->failures + 1;
        row->paused_until_ms = well ? 0 : now_ms + webhook_pause_ms(row->failures);
    }
    (void)pthread_mutex_unlock(&receivers->mutex);
}
