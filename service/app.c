/* The process: settings → instances → threads beside them → run until told to stop, then everything in the reverse. */
#include "app.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "codec/json.h"
#include "events/relays.h"
#include "events/source.h"
#include "instance.h"
#include "store/reads.h"
#include "store/shedlock.h"
#include "timeouts/payments.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORE_TIMEOUT_S                                                                                                \
    6 /* of one statement's answer: above innodb_lock_wait_timeout and the request deadline's default */
#define STORE_CONNECT_TIMEOUT_S 2

static bool is_loopback(const char *listen) {
    return strncmp(listen, "127.", 4) == 0 || strncmp(listen, "[::1]:", 6) == 0 ||
           strncmp(listen, "localhost:", 10) == 0;
}

static RESULT check_listen(const char *listen) {
    if (strrchr(listen, ':') != NULL && strrchr(listen, ':')[1] != '\0') return OK;
    fprintf(stderr, "lockstock: LOCKSTOCK_LISTEN=%s must be ADDRESS:PORT, like 127.0.0.1:8080\n", listen);
    FAIL(INVALID_REQUEST, 0);
}

static RESULT check_sinks(const struct config *config) {
    char text[256] = "";
    struct result result = relays_check(config, text, sizeof text);
    if (!failed(result)) result = sources_check(config, text, sizeof text);
    if (failed(result)) fprintf(stderr, "lockstock: %s\n", text);
    return result;
}

static RESULT check_payments(const struct config *config) {
    const char *problem = payments_url_problem(config->payment_status_url);
    if (problem == NULL) return OK;
    fprintf(stderr, "lockstock: LOCKSTOCK_PAYMENT_STATUS_URL: %s\n", problem);
    FAIL(INVALID_REQUEST, 0);
}

static RESULT check_access(const struct config *config) {
    TRY(check_listen(config->listen));
    bool open = config->tokens_file[0] == '\0' && !config->allow_anonymous;
    if (!open || is_loopback(config->listen)) return OK;
    fprintf(stderr,
            "lockstock: LOCKSTOCK_LISTEN=%s is not a loopback address: give LOCKSTOCK_TOKENS_FILE, or set "
            "LOCKSTOCK_ALLOW_ANONYMOUS=1 if everybody may do everything\n",
            config->listen);
    FAIL(INVALID_REQUEST, 0);
}

static RESULT prepare(struct instance *instance, const struct config *config, const struct db_options *db) {
    char text[512] = "";
    instance->service.config = config;
    struct result result = access_new(config->tokens_file, text, sizeof text, &instance->access);
    if (failed(result)) {
        fprintf(stderr, "lockstock: LOCKSTOCK_TOKENS_FILE: %s\n", text);
        return result;
    }
    result = instance_start(instance, db);
    if (!failed(result)) return OK;
    if (instance->service.redis == NULL)
        fprintf(stderr, "lockstock: LOCKSTOCK_REDIS_URL is not a URL this version can use\n");
    else
        fprintf(stderr, "lockstock: cannot listen on %s: %s\n", config->listen, strerrordesc_np(result.native));
    return result;
}

static void *run_instance(void *arg) {
    instance_run(arg);
    return NULL;
}

static int run_all(struct instance *instances, size_t count, const struct db_options *db) {
    const struct service *first = &instances[0].service;
    struct background_options options = {.config = first->config, .db = *db, .facade = first->facade};
    instances[0].background = background_new(&options);
    for (size_t i = 1; i < count; i++)
        if (pthread_create(&instances[i].thread, NULL, run_instance, &instances[i]) != 0) abort();
    (void)run_instance(&instances[0]);
    for (size_t i = 1; i < count; i++) (void)pthread_join(instances[i].thread, NULL);
    instances[0].background = background_free(instances[0].background);
    return 0;
}

static RESULT parse_store(const struct config *config, struct db_options *ret) {
    struct result result = db_options_parse(config->mysql_url, ret);
    if (failed(result)) {
        fprintf(
            stderr,
            "lockstock: LOCKSTOCK_MYSQL_URL must look like "
            "mysql://user:pass@host:port/database[?socket=/path][&tls=off|preferred|required|verified&tls-ca=/path]\n");
        return result;
    }
    ret->connect_timeout_s = STORE_CONNECT_TIMEOUT_S;
    ret->io_timeout_s = STORE_TIMEOUT_S;
    return OK;
}

static void start_process(const struct config *config) {
    enum log_level level = LOG_INFO;
    (void)log_level_parse(config->log_level, &level);
    log_start(level, config->instance_id);
    (void)signal(SIGPIPE, SIG_IGN);
    fault_start();
    json_start();
    db_library_start();
    shedlock_guard_start(config->schedules_guard);
}

int app_serve(const struct config *config) {
    struct db_options db;
    if (failed(parse_store(config, &db)) || failed(check_access(config)) || failed(check_sinks(config)) ||
        failed(check_payments(config)))
        return 2;
    start_process(config);
    size_t count = (size_t)config->loops;
    struct instance *instances = mem_array(count, sizeof instances[0]);
    int status = 2;
    struct result result = OK;
    for (size_t i = 0; i < count && !failed(result); i++) {
        instances[i].all = instances;
        instances[i].count = count;
        instances[i].index = i;
        result = prepare(&instances[i], config, &db);
    }
    if (!failed(result)) status = run_all(instances, count, &db);
    for (size_t i = count; i-- > 0;)
        if (instances[i].all != NULL) instance_stop(&instances[i]);
    free(instances);
    db_library_end();
    LOG(LOG_INFO, "service.stopped", LOGI("status", status));
    return status;
}

int app_migrate(const struct config *config) {
    struct db_options options;
    if (failed(parse_store(config, &options))) return 2;
    start_process(config);
    struct db *db = NULL;
    int applied = 0;
    struct result result = db_open(&options, &db);
    if (!failed(result)) result = schema_migrate(db, &applied);
    if (failed(result))
        LOG(LOG_ERROR, "migrate.failed", LOGR(result));
    else
        LOG(LOG_INFO, "migrate.done", LOGI("applied", applied));
    db = db_close(db);
    db_library_end();
    return failed(result) ? 1 : 0;
}
