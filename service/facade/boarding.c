#include "facade/boarding.h"

bool rider_is_ready(const struct rider *rider, int64_t now_ms) {
    for (size_t i = 0; i < rider->lane_count; i++)
        if (!lane_is_free(rider->lanes[i], now_ms)) return false;
    return true;
}

bool rider_is_blocked(const struct rider *rider) {
    for (size_t i = 0; i < rider->lane_count; i++)
        if (rider->lanes[i]->row_blocked) return true;
    return false;
}

struct load {
    size_t commands, lines, products;
};

/* A lane the train already uses counts as free for its own riders. */
static bool may_board(const struct rider *rider, const struct train *train, uint64_t round, int64_t now_ms) {
    for (size_t i = 0; i < rider->lane_count; i++) {
        const struct lane *lane = rider->lanes[i];
        if (lane->reserved_round == round) return false;
        if (lane->train != train && !lane_is_free(lane, now_ms)) return false;
    }
    return true;
}

static size_t new_products(const struct rider *rider, const struct train *train) {
    size_t count = 0;
    for (size_t i = 0; i < rider->lane_count; i++) count += rider->lanes[i]->key > 0 && rider->lanes[i]->train != train;
    return count;
}

static bool brings_a_lane(const struct rider *rider, const struct train *train) {
    for (size_t i = 0; i < rider->lane_count; i++)
        if (rider->lanes[i]->train != train) return true;
    return false;
}

static bool fits(const struct rider *rider, const struct load *load, const struct boarding_limits *limits,
                 const struct train *train) {
    if (load->commands == 0) return true; /* whatever its size, one alone always fits */
    if (load->commands >= limits->share && brings_a_lane(rider, train)) return false;
    return load->lines + rider->command.line_count <= limits->lines_max &&
           load->products + new_products(rider, train) <= limits->products_max;
}

static void take(struct rider *rider, struct list *boarded, struct train *train, struct load *load) {
    load->commands++;
    load->lines += rider->command.line_count;
    load->products += new_products(rider, train);
    for (size_t i = 0; i < rider->lane_count; i++) rider->lanes[i]->train = train;
    list_remove(&rider->node);
    rider->in_queue = false;
    list_push(boarded, &rider->node);
}

/* Waits for a row or a lock that a stranger holds, perhaps for longer than it may: it must not hold others up. */
static bool waits_for_a_stranger(const struct rider *rider, int64_t now_ms) {
    if (rider->row_waiting || rider_is_blocked(rider)) return true;
    for (size_t i = 0; i < rider->lane_count; i++)
        if (rider->lanes[i]->foreign && rider->lanes[i]->not_before_ms > now_ms) return true;
    return false;
}

static void reserve(struct rider *rider, uint64_t round, int64_t now_ms) {
    if (waits_for_a_stranger(rider, now_ms)) return;
    for (size_t i = 0; i < rider->lane_count; i++) rider->lanes[i]->reserved_round = round;
}

size_t board(struct list *queue, struct list *boarded, struct train *train, const struct boarding_limits *limits,
             uint64_t round, int64_t now_ms) {
    struct load load = {0};
    size_t commands_max = limits->probe ? 1 : limits->commands_max;
    LIST_FOR_SAFE(node, queue) {
        if (load.commands >= commands_max) break;
        struct rider *rider = CONTAINER_OF(node, struct rider, node);
        if (rider_is_blocked(rider) == limits->probe && may_board(rider, train, round, now_ms) &&
            fits(rider, &load, limits, train))
            take(rider, boarded, train, &load);
        else
            reserve(rider, round, now_ms);
    }
    return load.commands;
}

void queue_insert(struct list *queue, struct rider *rider) {
    struct list *after = queue->prev;
    while (after != queue && CONTAINER_OF(after, struct rider, node)->sequence > rider->sequence) after = after->prev;
    list_push_front(after, &rider->node);
    rider->in_queue = true;
}
