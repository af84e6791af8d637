#include "codec/payment_status.h"

#include "base/text.h"
#include "codec/scan.h"

#include <jansson.h>
#include <string.h>

static bool is_key(const char *key) {
    size_t len = key != NULL ? strlen(key) : 0;
    if (len < 1 || len > PAYMENT_KEY_MAX || !text_is_printable_utf8(key, len)) return false;
    return key[0] != ' ' && key[len - 1] != ' ';
}

static void read_paid(const json_t *root, struct payment_status_said *ret) {
    const char *key = json_string_value(json_object_get(root, "paymentKey"));
    const json_t *amount = json_object_get(root, "amount");
    if (!is_key(key) || !json_is_integer(amount)) return;
    if (json_integer_value(amount) < 0 || json_integer_value(amount) > MONEY_MAX) return;
    (void)text_copy(ret->payment_key, sizeof ret->payment_key, key);
    ret->amount = json_integer_value(amount);
    ret->word = PAYMENT_SAYS_PAID;
}

void payment_status_read(const char *body, size_t len, struct payment_status_said *ret) {
    *ret = (struct payment_status_said){.word = PAYMENT_SAYS_NOTHING};
    if (scan_json(body, len).depth > JSON_DEPTH_MAX) return; /* the parser recurses */
    json_t *root = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
    const char *status = json_string_value(json_object_get(root, "status"));
    if (status != NULL && strcmp(status, "PAID") == 0) read_paid(root, ret);
    if (status != NULL && strcmp(status, "NOT_PAID") == 0) ret->word = PAYMENT_SAYS_NOT_PAID;
    json_decref(root);
}
