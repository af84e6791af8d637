#include "background.h"

#include "base/memory.h"
#include "events/deliverer.h"
#include "events/relays.h"
#include "events/retention.h"
#include "events/sinks.h"
#include "inbox/inbox.h"
#include "schedule/runner.h"
#include "timeouts/payments.h"
#include "timeouts/queues.h"
#include "timeouts/timeouts.h"

#include <stdlib.h>

/* One member for each part, in the order of their start. */
struct background {
    struct background_options options;
    struct runner *jobs;
    struct deliverer *deliverer;
    struct relays *relays;
    struct payments *payments; /* NULL: nobody is asked */
    struct inbox *inbox;       /* NULL: no topics */
};

/* -- jobs */

static struct result look_at_claims(struct job_run *run, void *arg) {
    TRY(queues_look(run, arg));
    return relays_free_expired(run, arg);
}

/* What each job does: {function, its argument}. A job without a row here is not run. */
static void bind_jobs(const struct background *background, struct job_body bodies[JOB_COUNT]) {
    struct facade *facade = background->options.facade;
    bodies[JOB_orderTimeoutCancelJob] = (struct job_body){timeouts_cancel_unpaid, facade};
    bodies[JOB_orderReservationExpiryJob] = (struct job_body){timeouts_cancel_expired, facade};
    bodies[JOB_stockReservationSweepJob] = (struct job_body){timeouts_release_overdue, facade};
    bodies[JOB_outboxPollingJob] = (struct job_body){look_at_claims, NULL};
    bodies[JOB_retentionJob] = (struct job_body){retention_run, NULL};
    if (background->payments != NULL)
        bodies[JOB_paymentReconcileJob] = (struct job_body){payments_feed, background->payments};
}

static struct runner *start_jobs(const struct background *background) {
    struct runner_options options = {.config = background->options.config, .db = background->options.db};
    bind_jobs(background, options.bodies);
    return runner_new(&options);
}

/* -- deliveries to webhooks */

static struct deliverer *start_deliverer(const struct background *background) {
    if (!sinks_have(background->options.config, "webhook")) return NULL;
    const struct deliverer_options options = {background->options.config, background->options.db};
    return deliverer_new(&options);
}

/* -- questions to the payment service */

static struct payments *start_payments(const struct background *background) {
    const struct background_options *options = &background->options;
    const struct payments_options payments = {options->config, options->db, options->facade};
    return options->config->jobs ? payments_new(&payments) : NULL;
}

/* -- events of others */

static struct inbox *start_inbox(const struct background *background) {
    const struct background_options *options = &background->options;
    const struct inbox_options inbox = {options->config, options->db, options->facade};
    return inbox_new(&inbox);
}

/* -- all of them */

struct background *background_new(const struct background_options *options) {
    struct background *background = mem_new(sizeof *background);
    background->options = *options;
    background->payments = start_payments(background); /* before the job that wakes it */
    background->jobs = start_jobs(background);
    background->deliverer = start_deliverer(background);
    background->relays = relays_new(options->config, &options->db);
    background->inbox = start_inbox(background);
    return background;
}

void background_stop(struct background *background) {
    if (background == NULL) return;
    runner_stop(background->jobs);
    deliverer_stop(background->deliverer);
    relays_stop(background->relays);
    payments_stop(background->payments);
    inbox_stop(background->inbox);
}

bool background_is_over(const struct background *background) {
    if (background == NULL) return true;
    return runner_is_over(background->jobs) && deliverer_is_over(background->deliverer) &&
           relays_are_over(background->relays) && payments_is_over(background->payments) &&
           inbox_is_over(background->inbox);
}

void background_committed(struct background *background) {
    if (background != NULL) relays_wake(background->relays);
}

struct background *background_free(struct background *background) {
    if (background == NULL) return NULL;
    background_stop(background);
    background->inbox = inbox_free(background->inbox);
    background->deliverer = deliverer_free(background->deliverer);
    background->jobs = runner_free(background->jobs);
    background->relays = relays_free(background->relays);
    background->payments = payments_free(background->payments); /* after the job that wakes it */
    free(background);
    return NULL;
}
