/* Compiled by tests/unit/schedule.cmake alone: the table of jobs makes one enum, and with JOBS_TWICE one of its names
   stands there twice. Two jobs under one lock would keep each other from running, in silence. */
#define JOB(name, period, at_ms, at_most_ms, at_least_ms) JOB_##name,
enum job_id {
#include "schedule/jobs.def"
#ifdef JOBS_TWICE
    JOB(retentionJob, job_retention_every, 0, 600000, 0)
#endif
        JOB_COUNT
};
