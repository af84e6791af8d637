/* Bodies of plain fields: payment, cancel, status, and none at all. Defaults stand in the value before it is read. */
#include "codec/bodies.h"

#include "codec/fields.h"

static const char *payment_result(int64_t index) { return index == 0 ? "COMPLETED" : "FAILED"; }

struct payment_values {
    int64_t result;
    struct payment_body body;
};

static const struct field payment_list[] = {
    {.name = "result",
     .kind = FIELD_WORD,
     .offset = offsetof(struct payment_values, result),
     .word = payment_result,
     .max = 2},
    {.name = "paymentKey",
     .kind = FIELD_TEXT,
     .trimmed = true,
     .offset = offsetof(struct payment_values, body.payment_key),
     .min = 1,
     .max = PAYMENT_KEY_MAX},
    {.name = "amount", .kind = FIELD_INTEGER, .offset = offsetof(struct payment_values, body.amount), .max = MONEY_MAX},
};
static const struct fields payment_fields = {payment_list, 3};

RESULT body_payment(const char *body, size_t len, struct field_errors *errors, struct payment_body *ret) {
    struct payment_values values = {0};
    TRY(fields_decode(&payment_fields, body, len, errors, &values));
    values.body.completed = values.result == 0;
    *ret = values.body;
    return OK;
}

static const struct field cancel_list[] = {
    {.name = "reason",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct cancel_body, reason),
     .max = REASON_MAX,
     .optional = true},
};
static const struct fields cancel_fields = {cancel_list, 1};

RESULT body_cancel(const char *body, size_t len, struct field_errors *errors, struct cancel_body *ret) {
    struct cancel_body values = {.reason = "USER_REQUESTED"};
    TRY(fields_decode(&cancel_fields, body, len, errors, &values));
    *ret = values;
    return OK;
}

static const char *status_word(int64_t index) { return order_status_name((enum order_status)index); }

static const struct field status_list[] = {
    {.name = "status", .kind = FIELD_WORD, .word = status_word, .max = ORDER_STATUS_COUNT},
};
static const struct fields status_fields = {status_list, 1};

RESULT body_status(const char *body, size_t len, struct field_errors *errors, struct status_body *ret) {
    int64_t index = 0;
    TRY(fields_decode(&status_fields, body, len, errors, &index));
    ret->status = (enum order_status)index;
    return OK;
}

RESULT body_empty(const char *body, size_t len, struct field_errors *errors) {
    static const struct fields none = {NULL, 0};
    char nothing = 0;
    return fields_decode(&none, body, len, errors, &nothing);
}
