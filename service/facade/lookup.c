/* Commands on an existing order or reservation that may move stock need its lines before they can board. Lines never
   change, so they are read ahead, for all waiting riders in one query; one query at a time. */
#include "base/log.h"
#include "base/memory.h"
#include "facade/answer.h"
#include "facade/internal.h"
#include "store/reservations.h"

#include <stdlib.h>

struct lookup {
    struct db_job job; /* first */
    struct facade *facade;
    int64_t *order_ids; /* sorted, unique, as the refs are */
    struct reservation_ref *refs;
    size_t count, ref_count;
    struct found_line {
        int64_t subject; /* command_subject of whose line it is */
        struct line line;
    } * found;
    size_t found_count, found_max;
    struct result result;
};

/* A reserve brings its lines along; a confirmation moves nothing. */
bool lookup_is_needed(const struct rider *rider) {
    const struct command *command = &rider->command;
    return command_subject(command) != 0 && command->kind != COMMAND_RESERVE && command_moves_stock(command);
}

static void add_line(struct lookup *lookup, int64_t subject, struct line line) {
    if (lookup->found_count == lookup->found_max) {
        lookup->found_max = lookup->found_max == 0 ? 64 : lookup->found_max * 2;
        lookup->found = mem_grow(lookup->found, lookup->found_max, sizeof lookup->found[0]);
    }
    lookup->found[lookup->found_count++] = (struct found_line){subject, line};
}

static void on_order_line(void *arg, int64_t order_id, struct line line) { add_line(arg, -order_id, line); }

static void on_reservation_line(void *arg, const struct reservation_ref *ref, struct line line) {
    add_line(arg, reservation_key(ref), line);
}

static int by_subject(const void *a, const void *b) {
    const struct found_line *x = a, *y = b;
    if (x->subject != y->subject) return x->subject > y->subject ? 1 : -1;
    return (x->line.product_id > y->line.product_id) - (x->line.product_id < y->line.product_id);
}

static RESULT read_lines(struct lookup *lookup, struct db *db) {
    TRY(order_lines_read(db, lookup->order_ids, lookup->count, on_order_line, lookup));
    TRY(reservation_lines_read(db, lookup->refs, lookup->ref_count, on_reservation_line, lookup));
    if (lookup->found_count > 0) qsort(lookup->found, lookup->found_count, sizeof lookup->found[0], by_subject);
    return OK;
}

/* A connection that broke since its last use costs a new one, not its riders their answer: as of trips and reads. */
static void run(struct db_job *job, struct db *db) {
    struct lookup *lookup = CONTAINER_OF(job, struct lookup, job);
    struct db *fresh = NULL;
    lookup->result = read_lines(lookup, db);
    if (lookup->result.code != ERROR_STORE_LOST || failed(pool_connect(lookup->facade->pool, &fresh))) return;
    lookup->found_count = 0;
    lookup->result = read_lines(lookup, fresh);
    fresh = db_close(fresh);
}

/* Where the lines of a subject begin. */
static size_t find_first(const struct lookup *lookup, int64_t subject) {
    size_t low = 0, high = lookup->found_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lookup->found[middle].subject < subject)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void give_lines(struct rider *rider, const struct lookup *lookup) {
    int64_t subject = command_subject(&rider->command);
    const size_t first = find_first(lookup, subject);
    size_t end = first;
    while (end < lookup->found_count && lookup->found[end].subject == subject) end++;
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
    if (failed(result)) LOG(LOG_WARN, "lookup.failed", LOGI("orders", lookup->count + lookup->ref_count), LOGR(result));
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
    free(lookup->refs);
    free(lookup->found);
    free(lookup);
    lookup_depart(facade);
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int by_ref(const void *a, const void *b) { return reservation_compare(a, b); }

static void collect_orders(struct lookup *lookup, size_t riders) {
    lookup->order_ids = mem_array(riders + 1, sizeof lookup->order_ids[0]);
    size_t count = 0;
    LIST_FOR(node, &lookup->facade->lookups) {
        const struct command *command = &CONTAINER_OF(node, struct rider, node)->command;
        if (command->order_id != 0) lookup->order_ids[count++] = command->order_id;
    }
    qsort(lookup->order_ids, count, sizeof lookup->order_ids[0], by_value);
    for (size_t i = 0; i < count; i++)
        if (lookup->count == 0 || lookup->order_ids[lookup->count - 1] != lookup->order_ids[i])
            lookup->order_ids[lookup->count++] = lookup->order_ids[i];
}

static void collect_reservations(struct lookup *lookup, size_t riders) {
    lookup->refs = mem_array(riders + 1, sizeof lookup->refs[0]);
    size_t count = 0;
    LIST_FOR(node, &lookup->facade->lookups) {
        const struct reservation_ref *ref = command_reservation(&CONTAINER_OF(node, struct rider, node)->command);
        if (ref != NULL) lookup->refs[count++] = *ref;
    }
    qsort(lookup->refs, count, sizeof lookup->refs[0], by_ref);
    for (size_t i = 0; i < count; i++)
        if (lookup->ref_count == 0 || reservation_compare(&lookup->refs[lookup->ref_count - 1], &lookup->refs[i]) != 0)
            lookup->refs[lookup->ref_count++] = lookup->refs[i];
}

static void lookup_depart(struct facade *facade) {
    if (facade->lookup != NULL || list_empty(&facade->lookup_queue)) return;
    list_move_all(&facade->lookups, &facade->lookup_queue);
    struct lookup *lookup = facade->lookup = mem_new(sizeof *lookup);
    lookup->facade = facade;
    lookup->job.run = run;
    lookup->job.done = done;
    size_t riders = 0;
    LIST_FOR(node, &facade->lookups) riders++;
    collect_orders(lookup, riders);
    collect_reservations(lookup, riders);
    pool_submit_train(facade->pool, &lookup->job);
}

void lookup_add(struct facade *facade, struct rider *rider) {
    list_push(&facade->lookup_queue, &rider->node);
    lookup_depart(facade);
}

void lookup_again(struct facade *facade, struct rider *rider) {
    lanes_detach(facade->lanes, rider);
    free(TAKE(rider->lines));
    rider->command.lines = NULL;
    rider->command.line_count = 0;
    rider->in_queue = true;
    facade->queued++;
    lookup_add(facade, rider);
}
