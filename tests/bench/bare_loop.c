/* bench_bare_loop: the ceiling. Batches of BATCH orders of one product, made before the clock runs, go to MariaDB with
   the service's own statements, one after the other. No HTTP, no queue, no Redis. Rate = orders per second of
   transaction time and thread. With --lone: batches of one, and around each the two Redis round trips of a train (its
   scripts over a blocking client): what a lone buyer cannot go below. One JSON line on stdout. */
#include "base/clock.h"
#include "base/memory.h"
#include "bench/batch.h"
#include "bench/latency.h"
#include "bench/options.h"
#include "redis/scripts.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 16
#define BATCH_MAX 4096

struct options {
    const char *mysql_url, *redis_host;
    int64_t redis_port, batch, threads, product, seconds, warmup_s;
    bool lone;
};

struct worker {
    pthread_t thread;
    const struct options *options;
    struct db_options db;
    int64_t open_us, close_us;
    uint64_t orders;
    int64_t busy_us;             /* inside transactions */
    int64_t step_us[STEP_COUNT]; /* warm-up included */
    uint64_t transactions;       /* likewise */
    struct latency transaction, redis, whole;
};

static void check(struct result r, const char *what) {
    if (!failed(r)) return;
    fprintf(stderr, "bare loop: %s failed: %s (%d) at %s\n", what, error_info((enum error)r.code)->name, (int)r.native,
            r.where);
    exit(1);
}

struct lock {
    redisContext *redis; /* NULL: no Redis in this run */
    const char *acquire_sha, *release_sha, *key;
};

static const char *load_script(redisContext *redis, enum redis_script script) {
    redisReply *reply = redisCommand(redis, "SCRIPT LOAD %s", script_text(script));
    if (!reply || reply->type != REDIS_REPLY_STRING) {
        fprintf(stderr, "bare loop: Redis takes no script: %s\n", reply ? reply->str : redis->errstr);
        exit(1);
    }
    const char *sha = mem_copy(reply->str, (size_t)reply->len);
    freeReplyObject(reply);
    return sha;
}

static struct lock lock_open(const struct options *options) {
    struct lock lock = {.key = "bench-lone:1"};
    lock.redis = redisConnect(options->redis_host, (int)options->redis_port);
    if (!lock.redis || lock.redis->err) {
        fprintf(stderr, "bare loop: no Redis at %s:%d\n", options->redis_host, (int)options->redis_port);
        exit(1);
    }
    lock.acquire_sha = load_script(lock.redis, SCRIPT_TRAIN_ACQUIRE);
    lock.release_sha = load_script(lock.redis, SCRIPT_TRAIN_RELEASE);
    return lock;
}

static void lock_close(struct lock *lock) {
    if (!lock->redis) return;
    redisFree(lock->redis);
    free((void *)lock->acquire_sha);
    free((void *)lock->release_sha);
}

/* One script call; the time it took. */
static int64_t call(const struct lock *lock, const char *sha, bool acquire) {
    int64_t start_us = clock_mono_us();
    if (!lock->redis) return 0;
    redisReply *reply = acquire ? redisCommand(lock->redis, "EVALSHA %s 1 %s bench:1 2000 0", sha, lock->key)
                                : redisCommand(lock->redis, "EVALSHA %s 1 %s bench:1", sha, lock->key);
    if (!reply || reply->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "bare loop: script: %s\n", reply ? reply->str : lock->redis->errstr);
        exit(1);
    }
    freeReplyObject(reply);
    return clock_mono_us() - start_us;
}

static void step(struct worker *worker, struct db *db, struct batch *batch, const struct lock *lock) {
    int64_t start_us = clock_mono_us();
    int64_t redis_us = call(lock, lock->acquire_sha, true);
    int64_t begin_us = clock_mono_us();
    check(batch_run(batch, db, ROW_LOCK_WAIT), "a transaction");
    int64_t end_us = clock_mono_us();
    redis_us += call(lock, lock->release_sha, false);
    if (start_us < worker->open_us || end_us >= worker->close_us) return;
    latency_add(&worker->transaction, end_us - begin_us);
    latency_add(&worker->redis, redis_us);
    latency_add(&worker->whole, clock_mono_us() - start_us);
    worker->busy_us += end_us - begin_us;
    worker->orders += batch->count;
}

static void *worker_main(void *arg) {
    struct worker *worker = arg;
    struct batch batch = batch_new((size_t)worker->options->batch, worker->options->product, 1);
    struct batch_ids ids = {0};
    struct lock lock = {0};
    struct db *db = NULL;
    db_thread_start();
    check(db_open(&worker->db, &db), "connecting to MySQL");
    if (worker->options->lone) lock = lock_open(worker->options);
    while (clock_mono_us() < worker->close_us) {
        check(batch_prepare(&batch, db, &ids), "preparing a batch");
        step(worker, db, &batch, &lock);
        worker->transactions++;
    }
    memcpy(worker->step_us, batch.step_us, sizeof worker->step_us);
    lock_close(&lock);
    db_close(db);
    batch_done(&batch);
    db_thread_end();
    return NULL;
}

/* Mean microseconds of each statement. */
static void print_steps(const struct options *options, const struct worker *workers) {
    printf(",\"stepsUs\":{");
    for (int step = 0; step < STEP_COUNT; step++) {
        int64_t us = 0;
        uint64_t transactions = 0;
        for (int i = 0; i < options->threads; i++) {
            us += workers[i].step_us[step];
            transactions += workers[i].transactions;
        }
        printf("%s\"%s\":%.1f", step ? "," : "", batch_step_names[step],
               (double)us / (double)(transactions + !transactions));
    }
    printf("}");
}

static void print(const struct options *options, const struct worker *workers) {
    static struct latency transaction, redis, whole;
    double rate = 0;
    uint64_t orders = 0;
    for (int i = 0; i < options->threads; i++) {
        latency_merge(&transaction, &workers[i].transaction);
        latency_merge(&redis, &workers[i].redis);
        latency_merge(&whole, &workers[i].whole);
        orders += workers[i].orders;
        if (workers[i].busy_us > 0) rate += (double)workers[i].orders * 1e6 / (double)workers[i].busy_us;
    }
    printf("{\"batch\":%lld,\"threads\":%lld,\"orders\":%llu,\"rate\":%.1f,\"transactionUs\":",
           (long long)options->batch, (long long)options->threads, (unsigned long long)orders, rate);
    latency_print(&transaction, stdout);
    print_steps(options, workers);
    if (options->lone) {
        printf(",\"redisUs\":");
        latency_print(&redis, stdout);
        printf(",\"wholeUs\":");
        latency_print(&whole, stdout);
    }
    printf("}\n");
}

static void run(const struct options *options, const struct db_options *db, struct worker *workers) {
    int64_t open_us = clock_mono_us() + options->warmup_s * 1000000;
    for (int i = 0; i < options->threads; i++) {
        workers[i].options = options;
        workers[i].db = *db;
        workers[i].open_us = open_us;
        workers[i].close_us = open_us + options->seconds * 1000000;
        if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0) exit(1);
    }
    for (int i = 0; i < options->threads; i++) pthread_join(workers[i].thread, NULL);
}

int main(int argc, char **argv) {
    struct options options = {.mysql_url = "",
                              .redis_host = "127.0.0.1",
                              .redis_port = 6379,
                              .batch = 256,
                              .threads = 1,
                              .product = 1,
                              .seconds = 5,
                              .warmup_s = 1};
    const struct option_row rows[] = {
        {"mysql", "mysql://user:pass@host:port/database", .text = &options.mysql_url},
        {"redis-host", "address of Redis (--lone)", .text = &options.redis_host},
        {"redis-port", "port of Redis (--lone)", .number = &options.redis_port},
        {"batch", "orders of a transaction", .number = &options.batch},
        {"threads", "connections that send batches", .number = &options.threads},
        {"product", "what is bought", .number = &options.product},
        {"seconds", "length of the window", .number = &options.seconds},
        {"warmup", "seconds before it", .number = &options.warmup_s},
        {"lone", "batches of one, with the two Redis round trips of a train around each", .flag = &options.lone},
        {0},
    };
    struct db_options db;
    if (!options_parse(argc, argv, rows)) return 2;
    if (options.lone) options.batch = 1;
    bool sane = options.batch >= 1 && options.batch <= BATCH_MAX && options.threads >= 1 &&
                options.threads <= THREADS_MAX && options.seconds >= 1;
    if (!sane || failed(db_options_parse(options.mysql_url, &db))) return options_usage(argv[0], rows);
    struct worker *workers = mem_array((size_t)options.threads, sizeof *workers);
    db_library_start();
    run(&options, &db, workers);
    print(&options, workers);
    db_library_end();
    free(workers);
    return 0;
}
