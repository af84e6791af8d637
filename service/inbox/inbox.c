#include "inbox/inbox.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "facade/outside.h"
#include "inbox/intake.h"
#include "metrics/metrics.h"
#include "store/dead_letters.h"
#include "store/reads.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define READ_WAIT_MS 500 /* a stop waits for it */
#define RETRY_MS 1000    /* while the source or the database is away */
#define CARE_MS 15000

static_assert(SOURCE_BATCH <= FACADE_CALL_MAX, "a batch is one call");

struct reader {
    struct inbox *inbox;
    struct result (*make)(const struct config *config, struct source *ret);
    struct thread *thread, *self;
    struct source source;
    struct db *db;
    bool schema_fits, is_told;
    int64_t care_at_ms;
    struct intake intake;
};

/* One row for each kind of source. */
static struct result (*const kinds[])(const struct config *config, struct source *ret) = {source_redis_new,
                                                                                          source_kafka_new};
#define KINDS (sizeof kinds / sizeof kinds[0])

struct inbox {
    struct inbox_options options;
    struct reader readers[KINDS];
};

/* -- the database */

static RESULT prepare(struct reader *reader) {
    TRY(db_renew(&reader->inbox->options.db, &reader->db));
    if (!reader->schema_fits) TRY(schema_fits(reader->db, &reader->schema_fits));
    if (!reader->schema_fits) FAIL(STORE_SCHEMA, 0);
    return OK;
}

static RESULT take_care(struct reader *reader) {
    int64_t open;
    if (clock_mono_ms() < reader->care_at_ms) return OK;
    reader->care_at_ms = clock_mono_ms() + CARE_MS;
    TRY(dead_letters_count(reader->db, &open));
    metric_set(METRIC_INBOX_OPEN, 0, open);
    return OK;
}

/* -- dead letters */

static RESULT bury(struct reader *reader, struct intake_item *item) {
    const struct source_message *message = &item->message;
    struct dead_letter letter = {.payload = message->body, .payload_len = message->body_len};
    (void)text_copy(letter.topic, sizeof letter.topic, message->topic);
    (void)text_copy(letter.consumer_group, sizeof letter.consumer_group, reader->inbox->options.config->inbox_group);
    (void)text_copy(letter.position, sizeof letter.position, message->position);
    (void)text_copy(letter.event_id, sizeof letter.event_id, item->event.event_id);
    (void)text_copy(letter.error, sizeof letter.error, item->error);
    (void)text_copy(letter.traceparent, sizeof letter.traceparent, message->traceparent);
    TRY(prepare(reader));
    TRY(dead_letters_insert(reader->db, &letter));
    item->state = INTAKE_DONE;
    reader->care_at_ms = 0;
    LOG(LOG_WARN, "inbox.dead_letter", LOGS("topic", letter.topic), LOGS("position", letter.position),
        LOGS("eventId", letter.event_id), LOGI("attempts", item->attempts));
    return OK;
}

static RESULT bury_dead(struct reader *reader) {
    for (size_t i = 0; i < reader->intake.count; i++)
        if (reader->intake.items[i].state == INTAKE_DEAD) TRY(bury(reader, &reader->intake.items[i]));
    return OK;
}

/* -- effects */

static struct rider *make_rider(const struct reader *reader, const struct intake_item *item) {
    const struct config *config = reader->inbox->options.config;
    const struct event_terms terms = {.credential = config->inbox_credential,
                                      .group = config->inbox_group,
                                      .traceparent = item->message.traceparent,
                                      .ttl_ms = config->reservation_ttl};
    struct rider *rider = rider_for_event(&item->event, &terms);
    assert(rider != NULL); /* sources_check has seen the group */
    return rider;
}

static void apply(struct reader *reader, const size_t *picked, size_t count) {
    struct rider *riders[SOURCE_BATCH];
    struct answer answers[SOURCE_BATCH];
    for (size_t i = 0; i < count; i++) riders[i] = make_rider(reader, &reader->intake.items[picked[i]]);
    facade_call(reader->inbox->options.facade, riders, count, answers);
    int64_t now_ms = clock_mono_ms();
    for (size_t i = 0; i < count; i++) {
        const char *code = answers[i].error == ERROR_NONE ? "" : error_info(answers[i].error)->code;
        intake_settle(&reader->intake.items[picked[i]], event_fate_of(&answers[i]), code, now_ms);
    }
    answers_done(answers, count);
}

/* -- a batch */

static void tell(struct reader *reader, const char *event, struct result result, const char *detail) {
    bool is_told =
        result.code == ERROR_STORE_DOWN || result.code == ERROR_STORE_LOST || result.code == ERROR_STORE_SCHEMA;
    if (!reader->is_told && !is_told)
        LOG(LOG_WARN, event, LOGS("source", reader->source.name), LOGS("detail", detail), LOGR(result));
    reader->is_told = true;
}

/* Until all is done, or the thread shall stop. */
static void work_off(struct reader *reader) {
    struct intake *intake = &reader->intake;
    size_t picked[SOURCE_BATCH];
    while (!intake_is_done(intake) && !thread_is_stopping(reader->self)) {
        size_t count = intake_pick(intake, clock_mono_ms(), picked);
        if (count > 0) apply(reader, picked, count);
        struct result buried = bury_dead(reader);
        if (failed(buried)) tell(reader, "inbox.ledger_failed", buried, "");
        if (reader->source.idle != NULL) reader->source.idle(&reader->source);
        int64_t wait_ms = intake_is_done(intake) ? 0 : intake_wait_ms(intake, clock_mono_ms());
        if (wait_ms > 0 && !thread_sleep(reader->self, wait_ms)) return;
    }
}

static RESULT acknowledge(struct reader *reader, bool all) {
    bool done[SOURCE_BATCH];
    for (size_t i = 0; i < reader->intake.count; i++) done[i] = all || reader->intake.items[i].state == INTAKE_DONE;
    return reader->source.ack(&reader->source, done);
}

static RESULT handle(struct reader *reader) {
    bool early = fault_on(FAULT_ACK_FIRST);
    if (early) TRY(acknowledge(reader, true));
    intake_open(&reader->intake);
    work_off(reader);
    return early ? OK : acknowledge(reader, false);
}

static RESULT turn(struct reader *reader) {
    struct source_message messages[SOURCE_BATCH];
    struct intake *intake = &reader->intake;
    TRY(prepare(reader));
    TRY(take_care(reader));
    TRY(reader->source.read(&reader->source, messages, &intake->count, READ_WAIT_MS));
    for (size_t i = 0; i < intake->count; i++) intake->items[i].message = messages[i];
    if (intake->count == 0) return OK;
    struct result result = handle(reader);
    intake_close(intake);
    return result;
}

static void serve(struct thread *self, void *arg) {
    struct reader *reader = arg;
    int64_t wait_ms = 0;
    reader->self = self;
    db_thread_start();
    struct result made = reader->make(reader->inbox->options.config, &reader->source);
    if (failed(made)) tell(reader, "inbox.source_failed", made, reader->source.trouble);
    while (reader->source.self != NULL && thread_sleep(self, wait_ms)) {
        struct result result = turn(reader);
        if (failed(result))
            tell(reader, "inbox.read_failed", result, reader->source.trouble);
        else
            reader->is_told = false;
        wait_ms = failed(result) ? RETRY_MS : 0;
    }
    if (reader->source.self != NULL) reader->source.free(&reader->source);
    reader->db = db_close(reader->db);
    db_thread_end();
}

/* -- all of them */

struct inbox *inbox_new(const struct inbox_options *options) {
    if (options->config->inbox_topics[0] == '\0') return NULL;
    struct inbox *inbox = mem_new(sizeof *inbox);
    inbox->options = *options;
    for (size_t i = 0; i < KINDS; i++) {
        struct reader *reader = &inbox->readers[i];
        reader->inbox = inbox;
        reader->make = kinds[i];
        const struct thread_options thread = {.name = "inbox", .run = serve, .arg = reader};
        reader->thread = thread_new(&thread);
    }
    return inbox;
}

void inbox_stop(struct inbox *inbox) {
    for (size_t i = 0; inbox != NULL && i < KINDS; i++) thread_stop(inbox->readers[i].thread);
}

bool inbox_is_over(const struct inbox *inbox) {
    for (size_t i = 0; inbox != NULL && i < KINDS; i++)
        if (!thread_is_over(inbox->readers[i].thread)) return false;
    return true;
}

struct inbox *inbox_free(struct inbox *inbox) {
    inbox_stop(inbox);
    for (size_t i = 0; inbox != NULL && i < KINDS; i++) thread_free(inbox->readers[i].thread);
    free(inbox);
    return NULL;
}
