/* Schedules as values: names, bounds, rounds and when a job may run. Moments are Unix milliseconds of the database's
   clock, never of ours. Pure; any thread.

   A round begins at each moment that is `at` more than a multiple of `every`. A job runs once a round at most: when
   locked_at of its lock stands in the round already, somebody has run it. A round that nobody ran is not made up for
   when the next has begun. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SCHEDULE_NAME_MAX 64             /* bytes; the column's width */
#define SCHEDULE_BY_MAX 128              /* bytes a caller may say of itself */
#define SCHEDULE_AT_MOST_MS_MAX 86400000 /* 24 h */
#define SCHEDULE_EVERY_MS_MIN 100        /* of our own jobs: each round asks the database */

/* 1..64 of [A-Za-z0-9_.:-]: the same bytes in every character set, and no space for a collation to overlook. */
bool schedule_name_is_good(const char *name);
/* 1..128 printable ASCII characters, none of them a space at an end. */
bool schedule_by_is_good(const char *by);

/* A token of a grant: random digits and the milliseconds of lockAtLeastFor, so that any instance can release it. Who
   holds is known by a digest of it all, so a token that was changed holds nothing. */
#define SCHEDULE_TOKEN_HEX 32
#define SCHEDULE_TOKEN_SIZE (SCHEDULE_TOKEN_HEX + 1 + 8 + 1)
void schedule_token_write(const char hex[SCHEDULE_TOKEN_HEX + 1], int64_t at_least_ms, char out[SCHEDULE_TOKEN_SIZE]);
/* False: it is none of ours. */
bool schedule_token_read(const char *token, int64_t *ret_at_least_ms);

/* Begin of the round that now_ms stands in. every_ms > 0. */
int64_t schedule_round_of(int64_t now_ms, int64_t every_ms, int64_t at_ms);
/* A short period leaves no room for the minimum meant for the usual one: four fifths of the period at most, as
   ShedLock's users take it (PT4S of five seconds). */
int64_t schedule_at_least_ms(int64_t at_least_ms, int64_t every_ms);

/* What stands in the table. */
struct schedule_row {
    bool exists;
    int64_t locked_at_ms, lock_until_ms;
};
/* What to do now: *ret_wait_ms 0 = ask for the lock, for the round that begins at *ret_round_ms; else look again after
   so long: when the lock ends if it was taken for an earlier round (its holder may be dead), or when the next round
   begins. */
void schedule_decide(int64_t now_ms, int64_t every_ms, int64_t at_ms, const struct schedule_row *row,
                     int64_t *ret_round_ms, int64_t *ret_wait_ms);
