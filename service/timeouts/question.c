#include "timeouts/question.h"

#include <string.h>

#define DELAY_FIRST_MS 2000
#define DELAY_MAX_MS 60000
#define ORDER_ID "{orderId}"
#define ORDER_NUMBER "{orderNumber}"

static bool begins_with(const char *at, const char *word) { return strncmp(at, word, strlen(word)) == 0; }

/* The number of an order is letters, digits and dashes: it needs no encoding. */
void question_write_url(struct text *out, const char *template, int64_t order_id, const char *order_number) {
    for (const char *at = template; *at != '\0';) {
        if (begins_with(at, ORDER_ID)) {
            text_add_i64(out, order_id);
            at += strlen(ORDER_ID);
        } else if (begins_with(at, ORDER_NUMBER)) {
            text_add_str(out, order_number);
            at += strlen(ORDER_NUMBER);
        } else {
            text_add_char(out, *at++);
        }
    }
    if (strstr(template, ORDER_ID) != NULL) return;
    text_add_str(out, strchr(template, '?') != NULL ? "&orderId=" : "?orderId=");
    text_add_i64(out, order_id);
}

int64_t question_delay_ms(int64_t attempts) {
    int64_t delay_ms = DELAY_FIRST_MS;
    for (int64_t i = 0; i < attempts && delay_ms < DELAY_MAX_MS; i++) delay_ms *= 2;
    return delay_ms < DELAY_MAX_MS ? delay_ms : DELAY_MAX_MS;
}
