/* What the two files of /v1/schedules share. */
#pragma once

#include "codec/bodies_schedule.h"
#include "codec/schedule_documents.h"
#include "endpoints/common.h"
#include "schedule/job.h"
#include "store/shedlock.h"

/* The path's name, admitted; NULL: answered. */
const char *schedule_read_name(struct request *request);
/* Puts into words why the table gave no answer; the result itself. */
struct result schedule_explain(struct read *read, struct result result);
