/* The jobs that give stock back when a time is over. What a job sees in its scan is a hint: each order and reservation
   is looked at again in the transaction of a train, under its row lock and by the database's clock, so a payment or a
   confirmation that came first wins, and two instances that work at once do nothing twice.

   Each is a job_fn (schedule/job.h) whose argument is the facade. They run on the job's thread; run->done counts what
   was cancelled or released. What could not be done (busy, overloaded) is left for the next round; when nothing at all
   of a batch could be done the run ends with UNAVAILABLE. */
#pragma once

#include "facade/facade.h"
#include "schedule/job.h"

/* orderTimeoutCancelJob: PAYMENT_REQUESTED for more than LOCKSTOCK_PAYMENT_TIMEOUT → CANCELLED (TIMEOUT). With
   LOCKSTOCK_PAYMENT_STATUS_URL set the payment service is asked first, by paymentReconcileJob; then this job cancels
   only what nobody could tell about for TIMEOUT_UNANSWERED_MS. */
#define TIMEOUT_UNANSWERED_MS 1800000
RESULT timeouts_cancel_unpaid(struct job_run *run, void *facade);
/* orderReservationExpiryJob: PENDING past expiresAt → CANCELLED (TIMEOUT). */
RESULT timeouts_cancel_expired(struct job_run *run, void *facade);
/* stockReservationSweepJob: RESERVED more than LOCKSTOCK_RESERVATION_GRACE past expiresAt → RELEASED (EXPIRED). */
RESULT timeouts_release_overdue(struct job_run *run, void *facade);
