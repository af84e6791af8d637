/* The question for one order: its URL. Pure. Private to timeouts/. */
#pragma once

#include "base/text.h"

#include <stdint.h>

/* {orderId} and {orderNumber} of the template are replaced; without {orderId}, orderId=… is added to its query. */
void question_write_url(struct text *out, const char *template, int64_t order_id, const char *order_number);
/* How long to wait before the question is asked again: 2 s, doubled with each attempt, a minute at most. */
int64_t question_delay_ms(int64_t attempts);
