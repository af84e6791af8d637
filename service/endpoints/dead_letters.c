/* /v1/dead-letters: what could not have its effect, and what somebody does about it.

   A replay: the letter is read, its event rides a train like any other, then the outcome is written down. When the
   process ends in between, the letter is still OPEN and the next replay finds the event processed. */
#include "store/dead_letters.h"
#include "base/memory.h"
#include "codec/bodies.h"
#include "codec/dead_letter_documents.h"
#include "endpoints/inbound.h"
#include "endpoints/routes.h"

#include <stdlib.h>
#include <string.h>

#define CURSOR_LETTERS 'l'
#define LIST_PAYLOAD_MAX 4096 /* bytes of a payload in a list; the letter itself has all of it */

/* -- looking */

static const char *const words[] = {"", "OPEN", "REPLAYED", "DISCARDED", NULL};
static const struct states states = {words, "must be OPEN, REPLAYED or DISCARDED"};

static void write_letter(void *arg, const struct dead_letter *row) {
    struct read *read = arg;
    if (list_item_begins(read, row->id)) document_dead_letter(&read->body, row);
}

static struct result list(struct read *read, struct db *db) {
    const struct dead_letters_page page = {words[read->status], read->after, read->limit + 1, LIST_PAYLOAD_MAX};
    list_begin(read);
    TRY(dead_letters_list(db, &page, write_letter, read));
    list_end(read, CURSOR_LETTERS);
    return OK;
}

void dead_letters_list_all(struct request *request) {
    struct read *read = read_by_state(request, CURSOR_LETTERS, &states, list);
    if (read != NULL) read_start(read);
}

static void write_whole(void *arg, const struct dead_letter *row) {
    struct read *read = arg;
    document_dead_letter(&read->body, row);
}

static struct result get(struct read *read, struct db *db) {
    return dead_letters_read(db, read->id, write_whole, read);
}

void dead_letters_get_one(struct request *request) {
    int64_t id;
    if (!read_id(request, 0, "id", &id)) return;
    struct read *read = read_new(request, get);
    read->id = id;
    read_start(read);
}

/* -- acting */

static bool read_act(struct request *request, int64_t *ret_id) {
    struct field_errors errors = {0};
    size_t len;
    const char *body = request_body(request, &len);
    if (!read_id(request, 0, "id", ret_id)) return false;
    if (!failed(body_empty(body, len, &errors))) return true;
    reply_invalid(request, &errors);
    return false;
}

/* read->text: the credential's name, a NUL, the request's id. */
static struct result discard(struct read *read, struct db *db) {
    const struct dead_letter_act act = {.id = read->id,
                                        .action = "DISCARD",
                                        .to = "DISCARDED",
                                        .outcome = "discarded",
                                        .credential = read->text,
                                        .request_id = read->text + strlen(read->text) + 1};
    TRY(dead_letters_read(db, read->id, write_whole, read)); /* NOT_FOUND before anything is written */
    TRY(dead_letters_settle(db, &act));
    text_clear(&read->body);
    return dead_letters_read(db, read->id, write_whole, read);
}

void dead_letters_discard_one(struct request *request) {
    int64_t id;
    if (!read_act(request, &id)) return;
    const char *name = request_credential(request)->name;
    struct read *read = read_new(request, discard);
    read->id = id;
    (void)text_copy(read->text, sizeof read->text, name);
    (void)text_copy(read->text + strlen(name) + 1, sizeof read->text - strlen(name) - 1, request_id(request));
    read_start(read);
}

/* -- replaying: three steps */

struct replay {
    struct db_job job; /* first; one after the other */
    struct service *service;
    struct request *request; /* NULL: the client hung up; it is done all the same */
    int64_t id;
    char credential[CREDENTIAL_NAME_MAX + 1], request_id[REQUEST_ID_SIZE];
    struct result result;
    char group[CONSUMER_GROUP_MAX + 1], traceparent[65];
    struct field_errors errors;
    struct event_body event;
    struct answer answer;
    char outcome[40];
    struct text document;
};

static void replay_free(struct replay *replay) {
    text_done(&replay->answer.body);
    text_done(&replay->document);
    free(replay);
}

static bool submit(struct replay *replay, void (*run)(struct db_job *, struct db *), void (*done)(struct db_job *)) {
    replay->job = (struct db_job){.run = run, .done = done};
    return pool_submit_read(replay->service->pool, &replay->job);
}

static void fail_with(struct replay *replay, enum error error, const char *detail) {
    if (replay->request != NULL) request_problem(replay->request, error, detail, NULL);
    replay_free(replay);
}

static struct result outcome_of(const struct replay *replay) {
    return failed(replay->job.connection) ? replay->job.connection : replay->result;
}

/* 3. The outcome is written. */

static void write_document(void *arg, const struct dead_letter *row) {
    struct replay *replay = arg;
    text_clear(&replay->document);
    document_dead_letter(&replay->document, row);
}

static bool had_effect(const struct replay *replay) {
    enum event_fate fate = event_fate_of(&replay->answer);
    return fate == EVENT_FATE_APPLIED || fate == EVENT_FATE_DUPLICATE || fate == EVENT_FATE_REFUSED;
}

static void write_outcome(struct db_job *job, struct db *db) {
    struct replay *replay = CONTAINER_OF(job, struct replay, job);
    const struct dead_letter_act act = {.id = replay->id,
                                        .action = "REPLAY",
                                        .to = had_effect(replay) ? "REPLAYED" : NULL,
                                        .outcome = replay->outcome,
                                        .credential = replay->credential,
                                        .request_id = replay->request_id};
    replay->result = dead_letters_settle(db, &act);
    if (!failed(replay->result)) replay->result = dead_letters_read(db, replay->id, write_document, replay);
}

static void on_outcome_written(struct db_job *job) {
    struct replay *replay = CONTAINER_OF(job, struct replay, job);
    struct result result = outcome_of(replay);
    if (failed(result)) {
        fail_with(replay, (enum error)result.code, "the event was replayed, but the ledger does not say so yet");
        return;
    }
    if (replay->request != NULL && !had_effect(replay)) {
        inbound_reply_problem(replay->request, &replay->answer);
    } else if (replay->request != NULL) {
        struct reply reply = reply_new(200);
        reply.body = TAKE_TEXT(replay->document);
        request_reply(replay->request, reply);
    }
    replay_free(replay);
}

/* 2. The event rides. */

static void on_answer(void *arg, struct answer *answer) {
    struct replay *replay = arg;
    replay->answer = *answer;
    replay->answer.body = TAKE_TEXT(answer->body);
    const char *outcome = answer->duplicate             ? "duplicate"
                          : answer->error == ERROR_NONE ? "applied"
                                                        : inbound_code(answer);
    (void)text_copy(replay->outcome, sizeof replay->outcome, outcome);
    if (!submit(replay, write_outcome, on_outcome_written))
        fail_with(replay, ERROR_UNAVAILABLE, "the event was replayed, but the ledger does not say so yet");
}

static void reply_errors(struct replay *replay) {
    if (replay->request != NULL) reply_invalid(replay->request, &replay->errors);
    replay_free(replay);
}

static void ride(struct replay *replay) {
    struct event_terms terms =
        inbound_terms(replay->service, replay->service->config->inbox_credential, replay->traceparent);
    terms.group = replay->group;
    struct rider *rider = rider_for_event(&replay->event, &terms);
    if (rider == NULL) {
        fail_with(replay, ERROR_INTERNAL, NULL);
        return;
    }
    rider->done = on_answer;
    rider->arg = replay;
    (void)text_copy(rider->request_id, sizeof rider->request_id, replay->request_id);
    facade_submit(replay->service->facade, rider);
}

static void on_letter_read(struct db_job *job) {
    struct replay *replay = CONTAINER_OF(job, struct replay, job);
    struct result result = outcome_of(replay);
    if (result.code == ERROR_INVALID_REQUEST) {
        reply_errors(replay);
    } else if (failed(result)) {
        fail_with(replay, (enum error)result.code, NULL);
    } else if (replay->event.effect == INBOX_NOTHING) {
        struct answer nothing = {.duplicate = true};
        on_answer(replay, &nothing);
    } else {
        ride(replay);
    }
}

/* 1. The letter is read. */

static void take_letter(void *arg, const struct dead_letter *row) {
    struct replay *replay = arg;
    (void)text_copy(replay->group, sizeof replay->group, row->consumer_group);
    (void)text_copy(replay->traceparent, sizeof replay->traceparent, row->traceparent);
    replay->result = body_event(row->payload, row->payload_len, &replay->errors, &replay->event);
}

static void read_letter(struct db_job *job, struct db *db) {
    struct replay *replay = CONTAINER_OF(job, struct replay, job);
    struct result read = dead_letters_read(db, replay->id, take_letter, replay);
    if (failed(read)) replay->result = read;
}

static void on_gone(void *arg) {
    struct replay *replay = arg;
    replay->request = NULL;
}

void dead_letters_replay_one(struct request *request) {
    int64_t id;
    if (!read_act(request, &id)) return;
    struct replay *replay = mem_new(sizeof *replay);
    replay->service = service_of(request);
    replay->request = request;
    replay->id = id;
    replay->document = text_new(0);
    (void)text_copy(replay->credential, sizeof replay->credential, request_credential(request)->name);
    (void)text_copy(replay->request_id, sizeof replay->request_id, request_id(request));
    if (!submit(replay, read_letter, on_letter_read)) {
        fail_with(replay, ERROR_UNAVAILABLE, "too many reads are waiting");
        return;
    }
    request_park(request, on_gone, replay);
}
