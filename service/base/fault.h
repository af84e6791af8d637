/* Mechanisms that a removal test switches off. The shipped binary links fault_none.c, where every answer is "no"; the
   test binary lockstock-faults links fault_env.c, which reads LOCKSTOCK_FAULTS=name[,name=value]. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum fault {
    FAULT_NO_REDIS_LOCK,        /* no-redis-lock: trains go without the Redis lock */
    FAULT_NO_ROW_LOCK,          /* no-row-lock: rows are read without FOR UPDATE */
    FAULT_NO_VERSION_CHECK,     /* no-version-check: UPDATEs do not compare the version */
    FAULT_NO_RENEWAL,           /* no-renewal: train leases are never renewed */
    FAULT_UNLOCK_BEFORE_COMMIT, /* unlock-before-commit: locks go before the commit was sent */
    FAULT_HOLD_BEFORE_COMMIT,   /* hold-before-commit=MS: the transaction stays open MS longer */
    FAULT_NO_YIELD,             /* no-yield: an instance never lets another have its turn */
    FAULT_NO_NOT_AFTER,         /* no-not-after: acquires have no last moment, nothing is cleaned up */
    FAULT_NO_IDEMPOTENCY,       /* no-idempotency: stored answers are not looked up */
    FAULT_NO_PROCESSED_EVENTS,  /* no-processed-events: events are neither looked up nor written down */
    FAULT_STALE_TIMEOUT,        /* stale-timeout: what a job saw is not looked at again in the transaction */
    FAULT_NO_TOMBSTONE,         /* no-tombstone: a release before its reserve leaves nothing behind */
    FAULT_NO_RUN_DEADLINE,      /* no-run-deadline: `lockstock run` forgets when its lease ends */
    FAULT_NO_HANDOVER,          /* no-handover: a release never hands the lock to the next waiter */
    FAULT_NO_CYCLE_SEARCH,      /* no-cycle-search: nobody looks whether a wait closes a cycle */
    FAULT_NO_CYCLE_CONFIRM,     /* no-cycle-confirm: a cycle is refused by what is written down, be it old */
    FAULT_NO_REPLICA_WAIT,      /* no-replica-wait: grants are told of before any replica has them */
    FAULT_NO_NEW_EPOCH,         /* no-new-epoch: fences of a Redis that forgot them begin again at epoch 1 */
    FAULT_NO_GIVE_BACK,         /* no-give-back: a grant whose reply could not be written stays */
    FAULT_BLIND_GIVE_BACK,      /* blind-give-back: such a grant goes back even when a repeat confirmed it */
    FAULT_NO_REPEAT,            /* no-repeat: the same token asking again is somebody else */
    FAULT_NO_HOLDER_CHECK,      /* no-holder-check: tokens of one credential are not told apart */
    FAULT_NO_FENCE_CHECK,       /* no-fence-check: a renewal or release does not compare the fence */
    FAULT_NO_LEASE_CHECK,       /* no-lease-check: a lease in the database is taken though another has it */
    FAULT_NO_RUN_ID,            /* no-run-id: a marker is trusted whichever Redis process set it */
    FAULT_NO_HANGUP_WATCH,      /* no-hangup-watch: nobody looks whether a parked client is still there */
    FAULT_NO_CLAIM_UPDATE,      /* no-claim-update: candidates are selected and nothing is written */
    FAULT_NO_CLAIM_TOKEN,       /* no-claim-token: a settle does not compare the token */
    FAULT_NO_CLAIM_FENCE,       /* no-claim-fence: a settle does not compare the fence */
    FAULT_BLIND_PAYMENTS,       /* blind-payments: what a payment service said is acted upon though the claim is lost */
    FAULT_NO_CLAIM_LEASE,       /* no-claim-lease: a settle does not ask whether the lease is over */
    FAULT_NO_SCHEDULE_LOCK,     /* no-schedule-lock: a schedule is taken though another holds it */
    FAULT_NO_ROUND_CHECK,       /* no-round-check: a job does not look whether its round has been run */
    FAULT_WALL_CLOCK_ROUNDS,    /* wall-clock-rounds: a job takes the time from its own machine */
    FAULT_NO_MIN_HOLD,          /* no-min-hold: a release forgets lockAtLeastFor */
    FAULT_NO_JOB_RENEWAL,       /* no-job-renewal: a job never renews its lock */
    FAULT_NO_ZONE_CHECK,        /* no-zone-check: TIMESTAMP columns are trusted in any time zone */
    FAULT_NO_SCHEDULE_GUARD,    /* no-schedule-guard: another server is trusted at once */
    FAULT_JOB_PHASE,            /* job-phase=MS: timers of jobs are late by so much */
    FAULT_JOB_WORK,             /* job-work=MS: each run of a job takes so much longer, asking every few ms */
    FAULT_JOB_BATCH,            /* job-batch=MS: … asking every MS only */
    FAULT_JOB_AT_MOST,          /* job-at-most=MS: lockAtMostFor of all jobs */
    FAULT_JOB_AT_LEAST,         /* job-at-least=MS: lockAtLeastFor of all jobs */
    FAULT_NO_WATCH_POLL,        /* no-watch-poll: a watched lock is looked at only when something happens here */
    FAULT_NO_DELIVERY_ORDER,    /* no-delivery-order: events of one aggregate go to a webhook all at once */
    FAULT_STALE_SIGNATURE,      /* stale-signature: a retry is signed with the time of its first attempt */
    FAULT_NO_ADDRESS_GUARD,     /* no-address-guard: webhooks may name any address */
    FAULT_NO_HOLES,             /* no-holes: a relay forgets the ids that were missing when it passed them */
    FAULT_NO_RELAY_MARK,        /* no-relay-mark: a relay never writes down how far it has come */
    FAULT_NO_PART_CLAIM,        /* no-part-claim: every relay sends every part, whoever owns it */
    FAULT_NO_PARKING,           /* no-parking: events overtake an earlier one of their aggregate that was refused */
    FAULT_NO_LOOK_AHEAD,        /* no-look-ahead: no new epoch is drawn for names that leave the database */
    FAULT_ACK_FIRST,            /* ack-first: the inbox acknowledges messages before their effect */
    FAULT_NO_RECEIVER_LIMIT,    /* no-receiver-limit: a receiver gets as many requests at once as there are threads */
    FAULT_COUNT
};

/* Reads the environment (fault_env.c) or nothing (fault_none.c). Before the first thread. */
void fault_start(void);
bool fault_on(enum fault fault);
/* The number after '='; 0 when absent. */
int64_t fault_value(enum fault fault);
