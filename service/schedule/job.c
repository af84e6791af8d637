#include "schedule/job.h"

#include <string.h>

static const struct job jobs[JOB_COUNT] = {
#define JOB(name_, period, at_ms_, at_most_ms_, at_least_ms_)                                                          \
    [JOB_##name_] = {.name = #name_, .at_ms = at_ms_, .at_most_ms = at_most_ms_, .at_least_ms = at_least_ms_},
#include "schedule/jobs.def"
#undef JOB
};

const struct job *job_of(enum job_id id) { return &jobs[id]; }

int64_t job_every_ms(enum job_id id, const struct config *config) {
    const int64_t every_ms[JOB_COUNT] = {
#define JOB(name, period, at_ms, at_most_ms, at_least_ms) [JOB_##name] = config->period,
#include "schedule/jobs.def"
#undef JOB
    };
    return config->jobs ? every_ms[id] : 0;
}

enum job_id job_by_name(const char *name) {
    int id = 0;
    while (id < JOB_COUNT && strcmp(jobs[id].name, name) != 0) id++;
    return (enum job_id)id;
}
