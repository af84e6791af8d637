/* bench_seed_way: what Lockstock is compared with. THREADS buyers of one product; each order takes a Redis lock of its
   own (Redisson's layout and way to wait), runs one MySQL transaction behind the version check, and gives the lock back
   after the commit. No HTTP, no queue. One JSON line on stdout. */
#include "base/clock.h"
#include "base/memory.h"
#include "bench/batch.h"
#include "bench/latency.h"
#include "bench/options.h"
#include "bench/seed_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define THREADS_MAX 1024

struct options {
    const char *mysql_url, *redis_host, *key;
    int64_t redis_port, threads, clients, product, seconds, warmup_s, poll_ms, wait_ms, lease_ms;
};

/* What all buyers share. */
struct shop {
    const struct options *options;
    struct db_options db;
    struct seed_redis redis;
    struct seed_client *clients;
    int64_t open_us, close_us;
    atomic_bool stopping;
};

struct buyer {
    pthread_t thread;
    struct shop *shop;
    struct seed_lock lock;
    struct latency latency;
    uint64_t conflicts, busy;
};

static void check(struct result r, const char *what) {
    if (!failed(r)) return;
    fprintf(stderr, "seed way: %s failed: %s (%d) at %s\n", what, error_info((enum error)r.code)->name, (int)r.native,
            r.where);
    exit(1);
}

/* One order under the lock; a conflict is tried again, as the seed does. False when the lock was not had in time. */
static bool buy(struct buyer *buyer, struct db *db, struct batch *batch, struct batch_ids *ids) {
    for (;;) {
        check(batch_prepare(batch, db, ids), "preparing an order");
        if (!seed_lock_take(&buyer->lock, buyer->shop->options->wait_ms)) return false;
        struct result done = batch_run(batch, db, ROW_LOCK_NONE);
        seed_lock_give(&buyer->lock);
        if (!failed(done)) return true;
        if (done.code != ERROR_VERSION_CONFLICT) check(done, "an order");
        buyer->conflicts++;
    }
}

static void buy_until_stopped(struct buyer *buyer, struct db *db) {
    const struct options *options = buyer->shop->options;
    struct batch batch = batch_new(1, options->product, 1);
    struct batch_ids ids = {0};
    while (!atomic_load(&buyer->shop->stopping)) {
        int64_t start_us = clock_mono_us();
        bool bought = buy(buyer, db, &batch, &ids);
        int64_t now_us = clock_mono_us();
        if (now_us < buyer->shop->open_us || now_us >= buyer->shop->close_us) continue;
        if (bought)
            latency_add(&buyer->latency, now_us - start_us);
        else
            buyer->busy++;
    }
    batch_done(&batch);
}

static void *buyer_main(void *arg) {
    struct buyer *buyer = arg;
    struct db *db = NULL;
    db_thread_start();
    check(db_open(&buyer->shop->db, &db), "connecting to MySQL");
    buy_until_stopped(buyer, db);
    db_close(db);
    db_thread_end();
    return NULL;
}

static void buyer_start(struct shop *shop, struct buyer *buyer, int number) {
    const struct options *options = shop->options;
    buyer->shop = shop;
    buyer->lock = (struct seed_lock){
        .key = options->key, .lease_ms = options->lease_ms, .poll_ms = options->poll_ms, .stopping = &shop->stopping};
    if (options->poll_ms == 0) buyer->lock.client = &shop->clients[number % options->clients];
    if (!seed_lock_open(&buyer->lock, &shop->redis, number) ||
        pthread_create(&buyer->thread, NULL, buyer_main, buyer) != 0)
        exit(1);
}

static void wait_until(int64_t mono_us) {
    struct timespec until = {.tv_sec = mono_us / 1000000, .tv_nsec = (mono_us % 1000000) * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) continue;
}

static void run(struct shop *shop, struct buyer *buyers) {
    const struct options *options = shop->options;
    bool listens = options->poll_ms == 0;
    for (int i = 0; listens && i < options->clients; i++)
        if (!seed_client_start(&shop->clients[i], &shop->redis, options->key)) exit(1);
    shop->open_us = clock_mono_us() + options->warmup_s * 1000000;
    shop->close_us = shop->open_us + options->seconds * 1000000;
    for (int i = 0; i < options->threads; i++) buyer_start(shop, &buyers[i], i);
    wait_until(shop->close_us);
    atomic_store(&shop->stopping, true);
    for (int i = 0; listens && i < options->clients; i++) seed_client_stop(&shop->clients[i]);
    for (int i = 0; i < options->threads; i++) {
        pthread_join(buyers[i].thread, NULL);
        seed_lock_close(&buyers[i].lock);
    }
}

static void print(const struct options *options, const struct buyer *buyers) {
    static struct latency all;
    uint64_t conflicts = 0, busy = 0, tries = 0;
    struct rusage use;
    for (int i = 0; i < options->threads; i++) {
        latency_merge(&all, &buyers[i].latency);
        conflicts += buyers[i].conflicts;
        busy += buyers[i].busy;
        tries += buyers[i].lock.tries;
    }
    getrusage(RUSAGE_SELF, &use);
    printf("{\"seconds\":%lld,\"orders\":%llu,\"rate\":%.1f,\"latencyUs\":", (long long)options->seconds,
           (unsigned long long)all.count, (double)all.count / (double)options->seconds);
    latency_print(&all, stdout);
    printf(",\"conflicts\":%llu,\"busy\":%llu,\"tries\":%llu,\"cpuSeconds\":%.3f}\n", (unsigned long long)conflicts,
           (unsigned long long)busy, (unsigned long long)tries,
           (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
               (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
}

int main(int argc, char **argv) {
    struct options options = {.mysql_url = "",
                              .redis_host = "127.0.0.1",
                              .key = "bench-lock:1",
                              .redis_port = 6379,
                              .threads = 64,
                              .clients = 1,
                              .product = 1,
                              .seconds = 5,
                              .warmup_s = 1,
                              .wait_ms = 3000,
                              .lease_ms = 5000};
    const struct option_row rows[] = {
        {"mysql", "mysql://user:pass@host:port/database", .text = &options.mysql_url},
        {"redis-host", "address of Redis", .text = &options.redis_host},
        {"redis-port", "port of Redis", .number = &options.redis_port},
        {"key", "name of the lock", .text = &options.key},
        {"threads", "buyers", .number = &options.threads},
        {"clients", "Redisson clients (JVMs) the buyers are spread over", .number = &options.clients},
        {"product", "what they buy", .number = &options.product},
        {"seconds", "length of the window", .number = &options.seconds},
        {"warmup", "seconds before it", .number = &options.warmup_s},
        {"poll-ms", "ask again after so long instead of waiting for the message; 0 = wait", .number = &options.poll_ms},
        {"wait-ms", "patience of a buyer", .number = &options.wait_ms},
        {"lease-ms", "lease of the lock", .number = &options.lease_ms},
        {0},
    };
    static struct shop shop;
    if (!options_parse(argc, argv, rows)) return 2;
    bool sane = options.threads >= 1 && options.threads <= THREADS_MAX && options.clients >= 1 &&
                options.clients <= options.threads && options.seconds >= 1 && options.poll_ms >= 0;
    if (!sane || failed(db_options_parse(options.mysql_url, &shop.db))) return options_usage(argv[0], rows);
    shop.options = &options;
    shop.redis = (struct seed_redis){options.redis_host, (int)options.redis_port};
    shop.clients = mem_array((size_t)options.clients, sizeof *shop.clients);
    struct buyer *buyers = mem_array((size_t)options.threads, sizeof *buyers);
    db_library_start();
    run(&shop, buyers);
    print(&options, buyers);
    db_library_end();
    free(buyers);
    free(shop.clients);
    return 0;
}
