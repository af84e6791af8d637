/* One attempt, between the deliverer's threads and the network. Nobody else includes it. */
#pragma once

#include "client/client.h"
#include "store/webhooks.h"

struct attempt_terms {
    const struct webhook *webhook;
    const struct delivery_claim *claim;
    int64_t timeout_ms;
    int stop_fd;
};
struct attempt_report {
    struct delivery_end end; /* what to write down; its error points to `error` */
    bool known, well;        /* of the receiver: anything was learned; it works */
    bool is_gone;            /* 410: the webhook is to be disabled */
    char error[300];
};
/* Signs, sends, judges, counts and logs. */
void attempt_make(struct client *client, const struct attempt_terms *terms, struct attempt_report *ret);
