/* Events of others and the bodies of webhooks, on any bytes. The first byte chooses the decoder. What must hold:
   1. A decoder succeeds when, and only when, it found nothing.
   2. An event that was accepted names what it acts on, and its lines are merged and sorted.
   3. The URL of a webhook is judged without a look-up, whatever it is; with a reach of PUBLIC nothing of this machine
   passes. */
#include "base/memory.h"
#include "client/client.h"
#include "codec/bodies_event.h"
#include "codec/bodies_webhook.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held) {
    if (!held) abort();
}

static void check_event(const struct event_body *event) {
    require(event->event_id[0] != '\0' && strlen(event->event_id) <= EVENT_ID_MAX);
    if (event->effect == INBOX_NOTHING) return;
    require((event->effect == INBOX_PAYMENT) == (event->order_number > 0));
    require((event->effect == INBOX_PAYMENT) == (event->order_id[0] == '\0'));
    require((event->effect == INBOX_RESERVE) == (event->line_count > 0));
    for (size_t i = 1; i < event->line_count; i++) require(event->lines[i - 1].product_id < event->lines[i].product_id);
}

static struct result decode_event(const char *body, size_t len, struct field_errors *errors) {
    struct event_body event;
    const struct result result = body_event(body, len, errors, &event);
    if (!failed(result)) check_event(&event);
    return result;
}

static struct result decode_webhook(const char *body, size_t len, struct field_errors *errors) {
    struct webhook_body webhook;
    const struct result result = body_webhook(body, len, errors, &webhook);
    if (failed(result) || client_url_problem(webhook.url, REACH_PUBLIC) != NULL) return result;
    require(strstr(webhook.url, "://127.0.0.1") == NULL && strstr(webhook.url, "://[::1]") == NULL);
    return result;
}

static struct result (*const decoders[])(const char *, size_t, struct field_errors *) = {decode_event, decode_webhook};
#define DECODERS (sizeof decoders / sizeof *decoders)

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    json_start();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const size_t len = size - 1;
    /* A copy of exactly the body's size, so that a read beyond it is seen. */
    AUTO_FREE char *body = len == 0 ? NULL : malloc(len);
    if (len > 0) memcpy(body, data + 1, len);
    struct field_errors errors;
    const struct result result = decoders[data[0] % DECODERS](body, len, &errors);
    require(failed(result) == (errors.count > 0));
    return 0;
}
