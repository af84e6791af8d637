/* What this process knows of the receivers of webhooks: how many requests are on their way to each, and who is in
   trouble. So that one slow or dead receiver does not take all threads, and is not asked by each delivery it has
   waiting. Any thread; the mutex guards a small table, nothing blocks under it. */
#pragma once

#include "domain/webhook.h"

struct receivers;

/* `side_by_side`: requests to one receiver at once, while it is well; one while it is not. */
struct receivers *receivers_new(int side_by_side);
/* Takes NULL, returns NULL. */
struct receivers *receivers_free(struct receivers *receivers);
/* True: the caller may ask it, and calls receivers_leave afterwards. now_ms is monotonic. */
bool receivers_enter(struct receivers *receivers, const char *webhook_id, int64_t now_ms);
/* The caller has ended. well: the receiver answered as one that works. known false: nothing was learned. */
void receivers_leave(struct receivers *receivers, const char *webhook_id, bool known, bool well, int64_t now_ms);
