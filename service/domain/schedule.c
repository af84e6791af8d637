#include "domain/schedule.h"

#include "base/text.h"

#include <stddef.h>
#include <string.h>

#define SHORT_PERIOD_PARTS 5 /* of which the minimum may take all but one */

bool schedule_name_is_good(const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";
    size_t len = strlen(name);
    return len >= 1 && len <= SCHEDULE_NAME_MAX && strspn(name, letters) == len;
}

bool schedule_by_is_good(const char *by) {
    size_t len = strlen(by);
    if (len == 0 || len > SCHEDULE_BY_MAX || by[0] == ' ' || by[len - 1] == ' ') return false;
    for (size_t i = 0; i < len; i++)
        if (by[i] < 0x20 || by[i] > 0x7e) return false;
    return true;
}

void schedule_token_write(const char hex[SCHEDULE_TOKEN_HEX + 1], int64_t at_least_ms, char out[SCHEDULE_TOKEN_SIZE]) {
    (void)text_format(out, SCHEDULE_TOKEN_SIZE, "%s-%lld", hex, (long long)at_least_ms);
}

bool schedule_token_read(const char *token, int64_t *ret_at_least_ms) {
    if (strspn(token, "0123456789abcdef") != SCHEDULE_TOKEN_HEX || token[SCHEDULE_TOKEN_HEX] != '-') return false;
    const char *number = token + SCHEDULE_TOKEN_HEX + 1;
    return text_parse_i64(number, strlen(number), ret_at_least_ms) && *ret_at_least_ms >= 0 &&
           *ret_at_least_ms <= SCHEDULE_AT_MOST_MS_MAX;
}

int64_t schedule_round_of(int64_t now_ms, int64_t every_ms, int64_t at_ms) {
    int64_t into = (now_ms - at_ms) % every_ms;
    return now_ms - (into < 0 ? into + every_ms : into);
}

int64_t schedule_at_least_ms(int64_t at_least_ms, int64_t every_ms) {
    int64_t most = every_ms - every_ms / SHORT_PERIOD_PARTS;
    return at_least_ms < most ? at_least_ms : most;
}

void schedule_decide(int64_t now_ms, int64_t every_ms, int64_t at_ms, const struct schedule_row *row,
                     int64_t *ret_round_ms, int64_t *ret_wait_ms) {
    int64_t round_ms = schedule_round_of(now_ms, every_ms, at_ms);
    bool is_run = row->exists && row->locked_at_ms >= round_ms;
    bool is_held = row->exists && row->lock_until_ms > now_ms;
    int64_t wait_ms = round_ms + every_ms - now_ms;
    *ret_round_ms = round_ms;
    *ret_wait_ms = 0;
    if (!is_run && !is_held) return;
    if (!is_run && row->lock_until_ms - now_ms < wait_ms) wait_ms = row->lock_until_ms - now_ms;
    *ret_wait_ms = wait_ms;
}
