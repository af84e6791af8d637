/* Commands on an existing order that may move stock need its lines before they can board. Items never change, so they
   are read ahead, for all waiting riders in one query; one query at a time. */
#include "base/memory.h"
#include "facade/answer.h"
#include "facade/internal.h"

#include <stdlib.h>

struct lookup {
    struct db_job job; /* first */
    struct facade *facade;
    int64_t *order_ids;
    size_t count;
    struct found_line {
        int64_t order_id;
        struct line line;
    } * found;
    size_t found_count, found_max;
    struct result result;
};

bool lookup_is_needed(const struct rider *rider) {
    return rider->command.order_id != 0 && command_moves_stock(&rider->command);
}

static void on_line(void *arg, int64_t order_id, struct line line) {
    struct lookup *lookup = arg;
    if (lookup->found_count == lookup->found_max) {
        lookup->found_max = lookup->found_max == 0 ? 64 : lookup->found_max * 2;
        lookup->found = mem_grow(lookup->found, lookup->found_max, sizeof lookup->found[0]);
    }
    lookup->found[lookup->found_count++] = (struct found_line){order_id, line};
}

static void run(struct db_job *job, struct db *db) {
    struct lookup *lookup = CONTAINER_OF(job, struct lookup, job);
    lookup->result = order_lines_read(db, lookup->order_ids, lookup->count, on_line, lookup);
}

/* Where the order's lines begin; they came in order of their orders. */
static size_t find_first(const struct lookup *lookup, int64_t order_id) {
    size_t low = 0, high = lookup->found_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lookup->found[middle].order_id < order_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void give_lines(struct rider *rider, const struct lookup *lookup) {
    const size_t first = find_first(lookup, rider->command.order_id);
    size_t end = first;
    while (end < lookup->found_count && lookup->found[end].order_id == rider->command.order_id) end++;
    rider->lines = mem_array(end - first + 1, sizeof rider->lines[0]);
    rider->command.lines = rider->lines;
    for (size_t i = first; i < end; i++) rider->lines[rider->command.line_count++] = lookup->found[i].line;
}

static void lookup_depart(struct facade *facade);

static void done(struct db_job *job) {
    struct lookup *lookup = CONTAINER_OF(job, struct lookup, job);
    struct facade *facade = lookup->facade;
    struct result result = failed(job->connection) ? job->connection : lookup->result;
    struct list riders;
    list_init(&riders);
    list_move_all(&riders, &facade->lookups);
    struct list *node;
    while ((node = list_pop(&riders)) != NULL) {
        struct rider *rider = CONTAINER_OF(node, struct rider, node);
        if (failed(result)) {
            facade->queued--;
            facade_refuse(facade, rider, (enum error)result.code, NULL, NULL);
            continue;
        }
        give_lines(rider, lookup); /* an unknown order has none: the train will say so */
        facade_enqueue(facade, rider);
    }
    facade->lookup = NULL;
    free(lookup->order_ids);
    free(lookup->found);
    free(lookup);
    lookup_depart(facade);
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void collect_orders(struct lookup *lookup) {
    struct facade *facade = lookup->facade;
    size_t count = 0;
    LIST_FOR(node, &facade->lookups) count++;
    lookup->order_ids = mem_array(count + 1, sizeof lookup->order_ids[0]);
    count = 0;
    LIST_FOR(node, &facade->lookups)
    lookup->order_ids[count++] = CONTAINER_OF(node, struct rider, node)->command.order_id;
    qsort(lookup->order_ids, count, sizeof lookup->order_ids[0], by_value);
    for (size_t i = 0; i < count; i++)
        if (lookup->count == 0 || lookup->order_ids[lookup->count - 1] != lookup->order_ids[i])
            lookup->order_ids[lookup->count++] = lookup->order_ids[i];
}

static void lookup_depart(struct facade *facade) {
    if (facade->lookup != NULL || list_empty(&facade->lookup_queue)) return;
    list_move_all(&facade->lookups, &facade->lookup_queue);
    struct lookup *lookup = facade->lookup = mem_new(sizeof *lookup);
    lookup->facade = facade;
    lookup->job.run = run;
    lookup->job.done = done;
    collect_orders(lookup);
    pool_submit_train(facade->pool, &lookup->job);
}

void lookup_add(struct facade *facade, struct rider *rider) {
    list_push(&facade->lookup_queue, &rider->node);
    lookup_depart(facade);
}
