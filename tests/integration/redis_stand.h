/* What the tests of redis/ stand on: a private redis-server on a free port, the loop, the struct redis under test, and
   a second, blocking connection that looks at the server from outside. One stand a test; stand_end leaves nothing. */
#pragma once

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/loop.h"
#include "redis/call.h"
#include "redis/redis.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

enum { DEADLINE_MS = 15000, CALL_TIMEOUT_MS = 100, SERVER_WORDS_MAX = 24, REPLY_SLOTS = 8 };

/* What a call was answered. */
struct answer {
    int count; /* times fn was called */
    bool null, sent, up;
    enum redis_type type;
    int64_t numbers[REPLY_SLOTS];
    size_t len;
    char text[256];
    int64_t at_ms;
};

struct stand {
    int port;
    pid_t server;
    char folder[64];
    const char *const *extra; /* more words for the server's command line */
    struct loop *loop;
    struct redis *redis;
    struct redis_options options;
    char url[128];
    redisContext *outside;
    int ups, downs;
    int cleanings;
    bool up_while_cleaning;
    void (*on_clean)(struct stand *); /* NULL = nothing to clean; must end with redis_cleaned */
};

/* The answers look at the stand. */
static struct stand *current_stand;

/* ---- the server ---- */

static inline int free_port(void) {
    static int next;
    /* A server in cluster mode also listens 10000 higher: that too stays below the ephemeral ports. */
    if (next == 0) next = 12000 + (int)(getpid() % 8000);
    for (int tries = 0; tries < 1000; tries++) {
        int port = next++;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int one = 1;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        int bound = bind(fd, (struct sockaddr *)&address, sizeof address);
        close(fd);
        if (bound == 0) return port;
    }
    fail_msg("no free port");
    return 0;
}

static inline void exec_server(const struct stand *stand) {
    char port[16];
    (void)text_format(port, sizeof port, "%d", stand->port);
    const char *words[SERVER_WORDS_MAX] = {"redis-server", "--port",     port,      "--save",    "",
                                           "--appendonly", "no",         "--bind",  "127.0.0.1", "--dir",
                                           stand->folder,  "--loglevel", "warning", "--logfile", "/dev/null"};
    int n = 15;
    for (const char *const *word = stand->extra; word != NULL && *word != NULL; word++) words[n++] = *word;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no server */
    execvp(words[0], (char *const *)(uintptr_t)words);
    words[0] = "valkey-server"; /* where there is no Redis */
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

/* Answers PONG, or an error that shows it is there (a password is wanted). */
static inline bool server_answers(struct stand *stand) {
    redisContext *probe = redisConnect("127.0.0.1", stand->port);
    bool answers = probe != NULL && probe->err == 0;
    redisReply *reply = answers ? redisCommand(probe, "PING") : NULL;
    answers = reply != NULL;
    freeReplyObject(reply);
    redisFree(probe);
    return answers;
}

static inline void pause_ms(int ms) {
    struct timespec wait = {.tv_nsec = ms * 1000000L};
    nanosleep(&wait, NULL);
}

static inline void server_start(struct stand *stand) {
    stand->server = fork();
    assert_true(stand->server >= 0);
    if (stand->server == 0) exec_server(stand);
    int64_t deadline_ms = clock_mono_ms() + DEADLINE_MS;
    while (!server_answers(stand)) {
        assert_true(clock_mono_ms() < deadline_ms);
        pause_ms(5);
    }
    stand->outside = redisConnect("127.0.0.1", stand->port);
    assert_int_equal(stand->outside->err, 0);
}

static inline void server_kill(struct stand *stand) {
    if (stand->server <= 0) return;
    redisFree(stand->outside);
    stand->outside = NULL;
    kill(stand->server, SIGKILL);
    waitpid(stand->server, NULL, 0);
    stand->server = 0;
}

/* ---- from outside ---- */

static inline redisReply *ask(struct stand *stand, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline redisReply *ask(struct stand *stand, const char *format, ...) {
    va_list args;
    va_start(args, format);
    redisReply *reply = redisvCommand(stand->outside, format, args);
    va_end(args);
    assert_non_null(reply);
    return reply;
}

/* For commands that answer a number. */
#define ASK_INT(stand, ...)                                                                                            \
    ({                                                                                                                 \
        redisReply *ask_reply_ = ask((stand), __VA_ARGS__);                                                            \
        assert_int_equal(ask_reply_->type, REDIS_REPLY_INTEGER);                                                       \
        int64_t ask_number_ = ask_reply_->integer;                                                                     \
        freeReplyObject(ask_reply_);                                                                                   \
        ask_number_;                                                                                                   \
    })
#define ASK(stand, ...) freeReplyObject(ask((stand), __VA_ARGS__))

/* The key is a hash of exactly this field and value. */
static inline void assert_lock(struct stand *stand, const char *key, const char *field, const char *value) {
    redisReply *reply = ask(stand, "HGETALL %s", key);
    assert_int_equal(reply->elements, 2);
    assert_string_equal(reply->element[0]->str, field);
    assert_string_equal(reply->element[1]->str, value);
    freeReplyObject(reply);
}

static inline void assert_ttl(struct stand *stand, const char *key, int64_t min_ms, int64_t max_ms) {
    int64_t ttl_ms = ASK_INT(stand, "PTTL %s", key);
    assert_in_range(ttl_ms, min_ms, max_ms);
}

static inline int64_t times_called(struct stand *stand, const char *command) {
    redisReply *reply = ask(stand, "INFO commandstats");
    char name[64];
    (void)text_format(name, sizeof name, "cmdstat_%s:calls=", command);
    const char *at = strstr(reply->str, name);
    int64_t calls = at == NULL ? 0 : strtoll(at + strlen(name), NULL, 10);
    freeReplyObject(reply);
    return calls;
}

/* ---- the loop ---- */

struct wait {
    struct stand *stand;
    bool (*done)(void *arg);
    void *arg;
    int64_t deadline_ms;
};

static inline void on_wait(void *arg) {
    struct wait *wait = arg;
    if (wait->done(wait->arg) || clock_mono_ms() >= wait->deadline_ms) loop_stop(wait->stand->loop);
}

/* Runs the loop until done, for `ms` at most; what done says then. */
static inline bool run_for(struct stand *stand, int64_t ms, bool (*done)(void *arg), void *arg) {
    struct wait wait = {stand, done, arg, clock_mono_ms() + ms};
    struct loop_timer *timer = loop_timer_new(stand->loop, on_wait, &wait);
    loop_timer_start(timer, 0, 1);
    loop_run(stand->loop);
    loop_timer_free(timer);
    return done(arg);
}

static inline bool never(void *arg) { return arg == NULL && false; }
static inline bool is_answered(void *arg) { return ((struct answer *)arg)->count > 0; }
static inline bool is_up(void *arg) { return redis_is_up(((struct stand *)arg)->redis); }
static inline bool is_down(void *arg) { return !is_up(arg); }

static inline void run_until(struct stand *stand, bool (*done)(void *arg), void *arg) {
    assert_true(run_for(stand, DEADLINE_MS, done, arg));
}

static inline void run_until_up(struct stand *stand) { run_until(stand, is_up, stand); }

/* ---- calls ---- */

static inline void on_answer(void *arg, const struct redis_value *value, bool sent) {
    struct answer *answer = arg;
    answer->count++;
    answer->null = value == NULL;
    answer->sent = sent;
    answer->up = redis_is_up(current_stand->redis);
    answer->type = redis_type_of(value);
    answer->len = redis_len(value);
    for (size_t i = 0; i < answer->len && i < REPLY_SLOTS; i++) answer->numbers[i] = redis_int(redis_at(value, i));
    (void)text_format(answer->text, sizeof answer->text, "%s", redis_str(value, NULL));
    answer->at_ms = clock_mono_ms();
}

/* keys and args end with NULL. */
static inline void eval(struct stand *stand, enum redis_script script, const char *const *keys, const char *const *args,
                        struct answer *answer) {
    AUTO_CALL call = call_new(script);
    while (*keys != NULL) call_add_key(&call, *keys++);
    while (*args != NULL) call_add_str(&call, *args++);
    call_send(&call, stand->redis, on_answer, answer);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline struct answer call(struct stand *stand, enum redis_script script, const char *const *keys,
                                 const char *const *args) {
    struct answer answer = {0};
    eval(stand, script, keys, args, &answer);
    run_until(stand, is_answered, &answer);
    assert_int_equal(answer.count, 1);
    return answer;
}

/* ---- the stand ---- */

static inline void on_changed(void *arg, bool up) {
    struct stand *stand = arg;
    assert_int_equal(redis_is_up(stand->redis), up);
    *(up ? &stand->ups : &stand->downs) += 1;
}

static inline void on_clean_up(void *arg) {
    struct stand *stand = arg;
    stand->cleanings++;
    stand->up_while_cleaning |= redis_is_up(stand->redis);
    if (stand->on_clean != NULL)
        stand->on_clean(stand);
    else
        redis_cleaned(stand->redis);
}

static inline void redis_begin_as(struct stand *stand, const char *prefix, const char *suffix, int64_t timeout_ms) {
    (void)text_format(stand->url, sizeof stand->url, "%s%d%s", prefix, stand->port, suffix);
    stand->options = (struct redis_options){.url = stand->url, .call_timeout_ms = timeout_ms, .arg = stand};
    stand->options.clean_up = on_clean_up;
    stand->options.changed = on_changed;
    struct result made = redis_new(stand->loop, &stand->options, &stand->redis);
    assert_false(failed(made));
}

static inline void redis_begin(struct stand *stand, int64_t timeout_ms) {
    redis_begin_as(stand, "redis://127.0.0.1:", "", timeout_ms);
}

/* A server with these words more on its command line; not connected yet. */
static inline struct stand *stand_new(const char *const *extra) {
    struct stand *stand = mem_new(sizeof *stand);
    current_stand = stand;
    stand->extra = extra;
    stand->port = free_port();
    (void)text_format(stand->folder, sizeof stand->folder, "/tmp/lockstock-redis-XXXXXX");
    assert_non_null(mkdtemp(stand->folder));
    stand->loop = loop_new();
    return stand;
}

/* Server started, breaker closed. */
static inline struct stand *stand_begin(int64_t timeout_ms) {
    struct stand *stand = stand_new(NULL);
    server_start(stand);
    redis_begin(stand, timeout_ms);
    run_until_up(stand);
    return stand;
}

static inline void stand_end(struct stand *stand) {
    stand->redis = redis_free(stand->redis);
    stand->loop = loop_free(stand->loop);
    server_kill(stand);
    char cluster_file[128];
    (void)text_format(cluster_file, sizeof cluster_file, "%s/nodes.conf", stand->folder);
    (void)unlink(cluster_file);
    assert_int_equal(rmdir(stand->folder), 0);
    free(stand);
}
