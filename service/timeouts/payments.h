/* Before an order is cancelled because its payment did not come, the payment service is asked
   (LOCKSTOCK_PAYMENT_STATUS_URL): paid → the payment is entered; not paid → the order is cancelled; no answer → it is
   asked again, until orderTimeoutCancelJob gives up. A thread of its own asks; several instances share the work by
   claims.

   Invariants
   1. Nothing is done to an order but by commands that ride the trains, whose own rules decide: a payment that came
      meanwhile, or a cancel, is not undone by what was heard before it.
   2. A check is acted upon only while its claim stands; it is renewed after the answer and before the command.
   3. Only an answer that says so counts as one: 200 and a document as codec/payment_status.h reads it. */
#pragma once

#include "config/config.h"
#include "facade/facade.h"
#include "schedule/job.h"
#include "store/db.h"

struct payments;

struct payments_options {
    const struct config *config;
    struct db_options db;
    struct facade *facade;
};

/* NULL when no URL is set: then a timeout cancels without asking, and that is another job's. Starts the thread; works
 * without MySQL and without the payment service. */
struct payments *payments_new(const struct payments_options *options);
/* Asks; does not wait. Takes NULL. Any thread. */
void payments_stop(struct payments *payments);
/* The thread has ended. True for NULL. */
bool payments_is_over(const struct payments *payments);
/* Joins. Takes NULL, returns NULL. */
struct payments *payments_free(struct payments *payments);

/* The body of paymentReconcileJob: finds orders that are to be asked for. arg: struct payments *. */
struct result payments_feed(struct job_run *run, void *arg);

/* NULL, or a sentence that says why the URL cannot be asked. "" is no URL, and fine. */
const char *payments_url_problem(const char *url);
