#include "facade/lanes.h"

#include "base/memory.h"

#include <stdlib.h>

#define BUCKETS 8192u /* power of two; a queue of 4096 commands on different products keeps chains short */

struct lanes {
    void (*drop)(struct lane *lane);
    struct lane *buckets[BUCKETS];
    size_t count;
};

static unsigned bucket_of(int64_t key) { return (unsigned)(((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> 51); }

struct lanes *lanes_new(void (*drop)(struct lane *lane)) {
    struct lanes *lanes = mem_new(sizeof *lanes);
    lanes->drop = drop;
    return lanes;
}

struct lanes *lanes_free(struct lanes *lanes) {
    if (lanes == NULL) return NULL;
    lanes_sweep(lanes, INT64_MAX);
    free(lanes);
    return NULL;
}

size_t lanes_count(const struct lanes *lanes) { return lanes->count; }

struct lane *lanes_find(struct lanes *lanes, int64_t key) {
    struct lane *lane = lanes->buckets[bucket_of(key)];
    while (lane != NULL && lane->key != key) lane = lane->next;
    return lane;
}

static struct lane *find_or_make(struct lanes *lanes, int64_t key) {
    struct lane *lane = lanes_find(lanes, key);
    if (lane != NULL) return lane;
    lane = mem_new(sizeof *lane);
    lane->key = key;
    lane->next = lanes->buckets[bucket_of(key)];
    lanes->buckets[bucket_of(key)] = lane;
    lanes->count++;
    return lane;
}

static bool is_idle(const struct lane *lane, int64_t now_ms) {
    return lane->references == 0 && lane->train == NULL && lane->not_before_ms <= now_ms;
}

static void drop_lane(struct lanes *lanes, struct lane **link) {
    struct lane *lane = *link;
    *link = lane->next;
    lanes->drop(lane);
    free(lane);
    lanes->count--;
}

void lanes_attach(struct lanes *lanes, struct rider *rider) {
    const struct command *command = &rider->command;
    size_t products = command_moves_stock(command) ? command->line_count : 0;
    int64_t subject = command_subject(command);
    size_t count = products + (subject != 0);
    rider->lanes = mem_array(count == 0 ? 1 : count, sizeof(struct lane *));
    rider->lane_count = count;
    for (size_t i = 0; i < products; i++) rider->lanes[i] = find_or_make(lanes, command->lines[i].product_id);
    if (subject != 0) rider->lanes[products] = find_or_make(lanes, subject);
    for (size_t i = 0; i < count; i++) rider->lanes[i]->references++;
}

void lanes_unhold(struct lanes *lanes, struct lane *lane) {
    if (--lane->references > 0 || !is_idle(lane, 0)) return; /* one that must wait is swept later */
    struct lane **link = &lanes->buckets[bucket_of(lane->key)];
    while (*link != lane) link = &(*link)->next;
    drop_lane(lanes, link);
}

void lanes_detach(struct lanes *lanes, struct rider *rider) {
    for (size_t i = 0; i < rider->lane_count; i++) lanes_unhold(lanes, rider->lanes[i]);
    free(TAKE(rider->lanes));
    rider->lane_count = 0;
}

void lanes_sweep(struct lanes *lanes, int64_t now_ms) {
    if (lanes->count == 0) return;
    for (unsigned i = 0; i < BUCKETS; i++) {
        struct lane **link = &lanes->buckets[i];
        while (*link != NULL) {
            if (is_idle(*link, now_ms))
                drop_lane(lanes, link);
            else
                link = &(*link)->next;
        }
    }
}

void lanes_forget_foreign(struct lanes *lanes) {
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct lane *lane = lanes->buckets[i]; lane != NULL; lane = lane->next) {
            if (!lane->foreign) continue;
            lane->foreign = false;
            lane->not_before_ms = 0;
        }
}

void lanes_let_go(struct lanes *lanes) {
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct lane *lane = lanes->buckets[i]; lane != NULL; lane = lane->next) lanes->drop(lane);
}
