#include "domain/queued_job.h"

#include <string.h>

#define OWN_PREFIX "lockstock:"

static const char *const status_names[JOB_STATUS_COUNT] = {"READY", "CLAIMED", "DONE", "DEAD"};

const char *job_status_name(enum job_status status) { return status_names[status]; }

bool job_status_parse(const char *name, enum job_status *ret) {
    for (int i = 0; i < JOB_STATUS_COUNT; i++) {
        if (strcmp(name, status_names[i]) != 0) continue;
        *ret = (enum job_status)i;
        return true;
    }
    return false;
}

const char *queue_name_fault(const char *name) {
    size_t len = strlen(name);
    if (len == 0 || len > QUEUE_NAME_MAX) return "a queue's name has 1 to 200 bytes";
    if (!text_is_printable_utf8(name, len)) return "a queue's name is printable UTF-8";
    if (name[0] == ' ' || name[len - 1] == ' ') return "a queue's name has no space at its ends";
    bool is_own = strncmp(name, OWN_PREFIX, strlen(OWN_PREFIX)) == 0;
    return is_own ? "names that begin with lockstock: are the service's own" : NULL;
}

void job_token_write(int64_t fence, const char *secret, char out[JOB_TOKEN_SIZE]) {
    (void)text_format(out, JOB_TOKEN_SIZE, "%lld.%s", (long long)fence, secret);
}

bool job_token_read(const char *token, int64_t *ret_fence, char ret_secret[JOB_SECRET_SIZE]) {
    const char *dot = strchr(token, '.');
    if (dot == NULL || !text_parse_i64(token, (size_t)(dot - token), ret_fence) || *ret_fence < 1) return false;
    return text_copy(ret_secret, JOB_SECRET_SIZE, dot + 1) && strlen(ret_secret) == JOB_SECRET_SIZE - 1;
}
