#include "codec/event_stream.h"

void event_stream_retry(struct text *out, int64_t retry_ms) { text_addf(out, "retry: %lld\n\n", (long long)retry_ms); }

void event_stream_add(struct text *out, const char *event, int64_t id, const char *data) {
    if (id > 0) text_addf(out, "id: %lld\n", (long long)id);
    text_addf(out, "event: %s\n", event);
    text_add_str(out, "data: ");
    text_add_str(out, data);
    text_add_str(out, "\n\n");
}
