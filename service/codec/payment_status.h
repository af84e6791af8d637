/* What a payment service says of an order: the answer to a question of ours. Others' JSON: fields we do not know are
   passed over, and what does not say one of the two things says nothing. Pure; any thread. */
#pragma once

#include "domain/limits.h"

#include <stddef.h>

enum payment_word { PAYMENT_SAYS_NOTHING, PAYMENT_SAYS_PAID, PAYMENT_SAYS_NOT_PAID };

struct payment_status_said {
    enum payment_word word;
    char payment_key[PAYMENT_KEY_MAX + 1]; /* PAID */
    int64_t amount;                        /* PAID */
};
/* {"status":"PAID","paymentKey":"…","amount":500} or {"status":"NOT_PAID"}. PAID without a key and an amount that could
 * be a payment's says nothing. */
void payment_status_read(const char *body, size_t len, struct payment_status_said *ret);
