/* One question after the other, each with what to send and what its answer must be:

   AUTH? → SELECT? → INFO (refuse cluster, replica, old) → TIME → SCRIPT LOAD × SCRIPT_COUNT → done

   A question that has nothing to ask is skipped. The first bad answer ends the probe. */
#include "redis/probe.h"

#include "base/clock.h"
#include "redis/command.h"
#include "redis/scripts.h"

#include <string.h>

enum step { STEP_AUTH, STEP_SELECT, STEP_INFO, STEP_TIME, STEP_LOAD, STEP_END = STEP_LOAD + SCRIPT_COUNT };

bool probe_write_auth(const struct redis_url *url, struct text *out) {
    if (url->password[0] == '\0') return false;
    command_begin(out, url->user[0] == '\0' ? 2 : 3);
    command_add_str(out, "AUTH");
    if (url->user[0] != '\0') command_add_str(out, url->user);
    command_add_str(out, url->password);
    return true;
}

static bool write_select(const struct redis_url *url, struct text *out) {
    if (url->database == 0) return false;
    command_begin(out, 2);
    command_add_str(out, "SELECT");
    command_add_i64(out, url->database);
    return true;
}

static bool write_word(const char *word, struct text *out) {
    command_begin(out, 1);
    command_add_str(out, word);
    return true;
}

static bool write_load(enum redis_script script, struct text *out) {
    command_begin(out, 3);
    command_add_str(out, "SCRIPT");
    command_add_str(out, "LOAD");
    command_add_str(out, script_text(script));
    return true;
}

/* The command of the current step; false when it has none. */
static bool write_step(const struct probe *probe, struct text *out) {
    switch (probe->step) {
    case STEP_AUTH:
        return probe_write_auth(probe->url, out);
    case STEP_SELECT:
        return write_select(probe->url, out);
    case STEP_INFO:
        return write_word("INFO", out);
    case STEP_TIME:
        return write_word("TIME", out);
    default:
        return write_load((enum redis_script)(probe->step - STEP_LOAD), out);
    }
}

static const char *read_info(struct probe *probe, const struct redis_value *value) {
    size_t len = 0;
    const char *text = redis_str(value, &len);
    probe->findings.info = server_info_parse(text, len);
    const char *refusal = server_info_refusal(&probe->findings.info);
    probe->refused = refusal != NULL;
    return refusal;
}

static const char *read_time(struct probe *probe, const struct redis_value *value) {
    if (redis_len(value) != 2) return "TIME: unexpected answer";
    probe->findings.redis_ms = redis_int(redis_at(value, 0)) * 1000 + redis_int(redis_at(value, 1)) / 1000;
    probe->findings.time_sent_ms = probe->sent_ms;
    return NULL;
}

static const char *read_load(struct probe *probe, const struct redis_value *value) {
    size_t len = 0;
    const char *sha = redis_str(value, &len);
    if (len != SCRIPT_SHA_SIZE - 1) return "SCRIPT LOAD: unexpected answer";
    memcpy(probe->findings.sha[probe->step - STEP_LOAD], sha, len);
    return NULL;
}

static const char *read_answer(struct probe *probe, const struct redis_value *value) {
    if (redis_type_of(value) == REDIS_ERROR) return redis_str(value, NULL);
    switch (probe->step) {
    case STEP_AUTH:
    case STEP_SELECT:
        return NULL;
    case STEP_INFO:
        return read_info(probe, value);
    case STEP_TIME:
        return read_time(probe, value);
    default:
        return read_load(probe, value);
    }
}

static void ask(struct probe *probe);

static void on_answer(void *arg, const struct redis_value *value, bool sent) {
    (void)sent;
    struct probe *probe = arg;
    if (value == NULL) return;
    const char *problem = read_answer(probe, value);
    if (problem != NULL) {
        (void)text_copy(probe->problem, sizeof probe->problem, problem);
        probe->done(probe->arg, probe->problem);
        return;
    }
    probe->step++;
    ask(probe);
}

static void ask(struct probe *probe) {
    for (; probe->step < STEP_END; probe->step++) {
        AUTO_TEXT command = text_new(0);
        if (!write_step(probe, &command)) continue;
        probe->sent_ms = clock_mono_ms();
        connection_send(probe->connection, &command, on_answer, probe);
        return;
    }
    probe->done(probe->arg, NULL);
}

void probe_start(struct probe *probe, struct connection *connection, const struct redis_url *url,
                 void (*done)(void *arg, const char *problem), void *arg) {
    *probe = (struct probe){.connection = connection, .url = url, .done = done, .arg = arg};
    ask(probe);
}
