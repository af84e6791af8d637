/* The thread that asks. A check goes: claimed → the order still waits? → asked → claim renewed → command → settled. */
#include "timeouts/payments.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "client/client.h"
#include "codec/payment_status.h"
#include "facade/outside.h"
#include "metrics/metrics.h"
#include "store/payment_checks.h"
#include "store/tables.h"
#include "timeouts/question.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_MS 1000     /* between two looks for work: one statement on an index */
#define PAUSE_MS 2000    /* after a failure of the database */
#define LEASE_MS 30000   /* of a check: above the whole of its question, command and settle; renewed for each */
#define CONNECT_MS 1000  /* of a question */
#define ANSWER_MS 3000   /* of a question, all of it */
#define ANSWER_MAX 16384 /* bytes of an answer */
#define RESULT_MAX 200   /* bytes of what is written down of a check */
#define STATUS_OK 200

/* Labels of METRIC_PAYMENT_CHECKS. */
enum outcome { OUTCOME_PAID, OUTCOME_NOT_PAID, OUTCOME_NO_ANSWER, OUTCOME_DECIDED };

struct payments {
    struct payments_options options;
    struct thread *thread;
    /* -- of the thread alone */
    struct thread *self;
    struct db *db;
    struct client *client;
};

/* -- asking */

static void ask(struct payments *payments, const struct order *order, struct payment_status_said *ret, char *trouble) {
    AUTO_TEXT url = text_new(0);
    struct client_answer answer;
    question_write_url(&url, payments->options.config->payment_status_url, order->id, order->number);
    const struct client_request request = {.method = "GET",
                                           .url = text_str(&url),
                                           .connect_ms = CONNECT_MS,
                                           .total_ms = ANSWER_MS,
                                           .answer_max = ANSWER_MAX,
                                           .wake_fd = -1};
    *ret = (struct payment_status_said){.word = PAYMENT_SAYS_NOTHING};
    client_send(payments->client, &request, &answer);
    if (answer.end != CLIENT_ANSWERED)
        (void)text_format(trouble, RESULT_MAX, "no answer: %s", answer.trouble);
    else if (answer.status != STATUS_OK)
        (void)text_format(trouble, RESULT_MAX, "no answer: status %d", answer.status);
    else
        payment_status_read(text_str(&answer.body), answer.body.len, ret);
    if (ret->word == PAYMENT_SAYS_NOTHING && trouble[0] == '\0')
        (void)text_format(trouble, RESULT_MAX, "no answer: neither PAID nor NOT_PAID");
    client_answer_done(&answer);
}

/* -- acting */

static enum error command(struct payments *payments, struct rider *rider) {
    struct answer answer = {0};
    facade_call(payments->options.facade, &rider, 1, &answer);
    enum error error = answer.error;
    answers_done(&answer, 1);
    return error;
}

static enum error enter_payment(struct payments *payments, int64_t order_id, const struct payment_status_said *said) {
    struct rider *rider = rider_new(COMMAND_PAYMENT, 0);
    rider->command.order_id = order_id;
    rider->command.payment.completed = true;
    rider->command.payment.amount = said->amount;
    (void)text_copy(rider->command.payment.payment_key, sizeof rider->command.payment.payment_key, said->payment_key);
    return command(payments, rider);
}

/* Only while it still waits for its payment, and long enough. */
static enum error cancel(struct payments *payments, int64_t order_id) {
    int64_t overdue_ms = payments->options.config->payment_timeout;
    return command(payments, rider_for_timeout(order_id, ORDER_PAYMENT_REQUESTED, overdue_ms));
}

/* The order is decided, by us or by somebody else before us. */
static bool is_decided(enum error error) {
    return error == ERROR_NONE || error == ERROR_ORDER_CANCELLED || error == ERROR_ORDER_STATE ||
           error == ERROR_ORDER_NOT_FOUND;
}

/* -- one check */

static RESULT settle(struct payments *payments, const struct payment_check *check, enum outcome outcome, bool decided,
                     const char *result) {
    bool ours;
    if (decided) {
        TRY(payment_checks_done(payments->db, check, result, &ours));
        if (ours) metric_add(METRIC_PAYMENT_CHECKS, outcome, 1);
        return OK;
    }
    return payment_checks_again(payments->db, check, question_delay_ms(check->attempts), result, &ours);
}

static RESULT act_paid(struct payments *payments, const struct payment_check *check,
                       const struct payment_status_said *said) {
    enum error error = enter_payment(payments, check->order_id, said);
    if (error == ERROR_PAYMENT_MISMATCH) {
        LOG(LOG_WARN, "payments.mismatch", LOGI("orderId", check->order_id));
        return settle(payments, check, OUTCOME_NO_ANSWER, false,
                      "says PAID, but another amount, or the key of another order");
    }
    return settle(payments, check, OUTCOME_PAID, is_decided(error), "PAID");
}

static RESULT act_not_paid(struct payments *payments, const struct payment_check *check) {
    return settle(payments, check, OUTCOME_NOT_PAID, is_decided(cancel(payments, check->order_id)), "NOT_PAID");
}

static RESULT act_no_answer(struct payments *payments, const struct payment_check *check, const char *trouble) {
    metric_add(METRIC_PAYMENT_CHECKS, OUTCOME_NO_ANSWER, 1);
    return settle(payments, check, OUTCOME_NO_ANSWER, false, trouble);
}

static RESULT act(struct payments *payments, const struct payment_check *check, const struct payment_status_said *said,
                  const char *trouble) {
    bool ours;
    TRY(claims_renew(payments->db, &payment_checks_table, &check->claim, LEASE_MS, &ours));
    if (!ours && !fault_on(FAULT_BLIND_PAYMENTS)) return OK;
    if (said->word == PAYMENT_SAYS_PAID) return act_paid(payments, check, said);
    if (said->word == PAYMENT_SAYS_NOT_PAID) return act_not_paid(payments, check);
    return act_no_answer(payments, check, trouble);
}

static RESULT read_order(struct payments *payments, int64_t id, struct order *ret, bool *ret_waits) {
    struct result result = orders_read(payments->db, id, ret);
    *ret_waits = !failed(result) && ret->status == ORDER_PAYMENT_REQUESTED;
    return result.code == ERROR_ORDER_NOT_FOUND ? OK : result;
}

static RESULT check_one(struct payments *payments, const struct payment_check *check) {
    struct payment_status_said said;
    struct order order = {0};
    char trouble[RESULT_MAX] = "";
    bool waits, ours;
    TRY(claims_renew(payments->db, &payment_checks_table, &check->claim, LEASE_MS, &ours));
    if (!ours) return OK;
    TRY(read_order(payments, check->order_id, &order, &waits));
    free(order.items);
    if (!waits) return settle(payments, check, OUTCOME_DECIDED, true, "the order waits no more");
    ask(payments, &order, &said, trouble);
    return act(payments, check, &said, trouble);
}

/* -- the thread */

static RESULT connect_store(struct payments *payments) { return db_renew(&payments->options.db, &payments->db); }

/* What a stop leaves of a batch is claimed again when its lease is over. */
static RESULT look(struct payments *payments, size_t *ret_count) {
    struct payment_check checks[PAYMENT_CHECKS_TAKE_MAX];
    *ret_count = 0;
    TRY(connect_store(payments));
    TRY(payment_checks_take(payments->db, payments->options.config->instance_id, LEASE_MS, checks, ret_count));
    for (size_t i = 0; i < *ret_count && !thread_is_stopping(payments->self); i++) TRY(check_one(payments, &checks[i]));
    return OK;
}

static void run(struct thread *self, void *arg) {
    struct payments *payments = arg;
    const struct client_options client = {.reach = REACH_ANY, .agent = "lockstock"};
    int64_t wait_ms = 0;
    payments->self = self;
    db_thread_start();
    if (failed(client_new(&client, &payments->client))) abort();
    while (thread_sleep(self, wait_ms)) {
        size_t count;
        struct result result = look(payments, &count);
        wait_ms = failed(result) ? PAUSE_MS : count > 0 ? 0 : LOOK_MS;
        if (failed(result) && result.code != ERROR_STORE_DOWN && result.code != ERROR_STORE_SCHEMA)
            LOG(LOG_WARN, "payments.failed", LOGR(result));
    }
    payments->client = client_free(payments->client);
    payments->db = db_close(payments->db);
    db_thread_end();
}

struct payments *payments_new(const struct payments_options *options) {
    if (options->config->payment_status_url[0] == '\0') return NULL;
    struct payments *payments = mem_new(sizeof *payments);
    payments->options = *options;
    const struct thread_options thread = {.name = "payments", .run = run, .arg = payments};
    payments->thread = thread_new(&thread);
    return payments;
}

void payments_stop(struct payments *payments) {
    if (payments != NULL) thread_stop(payments->thread);
}

bool payments_is_over(const struct payments *payments) { return payments == NULL || thread_is_over(payments->thread); }

struct payments *payments_free(struct payments *payments) {
    if (payments == NULL) return NULL;
    payments->thread = thread_free(payments->thread);
    free(payments);
    return NULL;
}

/* -- the job */

struct result payments_feed(struct job_run *run, void *arg) {
    struct payments *payments = arg;
    uint64_t added = PAYMENT_CHECKS_FEED_MAX;
    while (added == PAYMENT_CHECKS_FEED_MAX && job_run_still_ours(run)) {
        TRY(payment_checks_feed(run->db, run->config->payment_timeout, &added));
        run->done += (int64_t)added;
    }
    thread_wake(payments->thread);
    return OK;
}

const char *payments_url_problem(const char *url) {
    AUTO_TEXT whole = text_new(0);
    if (url[0] == '\0') return NULL;
    question_write_url(&whole, url, 1, "ORD-1");
    return client_url_problem(text_str(&whole), REACH_ANY);
}
