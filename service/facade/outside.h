/* Commands of threads beside the loop: jobs, consumers of events. They ride the same trains as those of clients.

   A command that comes from an event carries it (rider_set_event). Then the answer says what became of the event:
     answer.duplicate                 it was processed before; nothing was done now
     answer.processed, error NONE     done now
     answer.processed, another error  refused for good (PRD-002, ORD-002, ORD-003, RSV-002, RSV-003, PAY-001), and
                                      written down as processed
     none of these                    not processed: not found, busy, overloaded, away or unknown. Deliver it again. */
#pragma once

#include "facade/facade.h"

#define FACADE_CALL_MAX 256 /* riders of one call: a quarter of a train, so that clients find room beside them */

/* Sends `count` riders (1..FACADE_CALL_MAX), in this order, and waits until each is answered; answers[i] belongs to
   riders[i], its body to the caller (answers_done). Takes the riders, whose done and arg are not used. Every wait ends:
   a rider has the deadline of any other (LOCKSTOCK_REQUEST_DEADLINE_MS from rider_new), its transaction the retries of
   any other; should the loop stand still beyond that, what is not answered is answered OUTCOME_UNKNOWN. When the
   service stops, what is on its way is finished. Any thread but the loop's; not after facade_free. */
void facade_call(struct facade *facade, struct rider *const *riders, size_t count, struct answer *answers);
/* Frees the bodies. */
void answers_done(struct answer *answers, size_t count);
