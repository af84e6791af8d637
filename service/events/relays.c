#include "events/relays.h"

#include "base/log.h"
#include "base/memory.h"
#include "events/relay.h"
#include "events/sinks.h"

#include <stdlib.h>

#define REASON_SIZE 256

struct relays {
    const char *names[SINKS_MAX];
    struct relay *items[SINKS_MAX];
    size_t count;
};

RESULT relays_check(const struct config *config, char *error_text, size_t error_size) {
    const char *names[SINKS_MAX];
    size_t count;
    return sinks_read(config, names, &count, error_text, error_size);
}

struct relays *relays_new(const struct config *config, const struct db_options *db) {
    struct relays *relays = mem_new(sizeof *relays);
    char reason[REASON_SIZE] = "";
    struct result result = sinks_read(config, relays->names, &relays->count, reason, sizeof reason);
    if (failed(result)) {
        LOG(LOG_ERROR, "relay.no_sinks", LOGS("detail", reason), LOGR(result));
        return relays;
    }
    for (size_t i = 0; i < relays->count; i++) {
        struct relay_options options = {
            .config = config, .sink = relays->names[i], .sinks = relays->names, .sink_count = relays->count, .db = *db};
        relays->items[i] = relay_new(&options);
    }
    return relays;
}

void relays_stop(struct relays *relays) {
    for (size_t i = 0; relays != NULL && i < relays->count; i++) relay_stop(relays->items[i]);
}

bool relays_are_over(const struct relays *relays) {
    for (size_t i = 0; relays != NULL && i < relays->count; i++)
        if (!relay_is_stopped(relays->items[i])) return false;
    return true;
}

void relays_wake(struct relays *relays) {
    for (size_t i = 0; relays != NULL && i < relays->count; i++) relay_wake(relays->items[i]);
}

struct relays *relays_free(struct relays *relays) {
    if (relays == NULL) return NULL;
    relays_stop(relays);
    for (size_t i = 0; i < relays->count; i++) relays->items[i] = relay_free(relays->items[i]);
    free(relays);
    return NULL;
}
