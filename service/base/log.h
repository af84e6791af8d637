/* JSON lines on stdout: ts level event instance requestId … err where ms. One failure, one line. `event` is a constant.
   No secrets, tokens or bodies. Any thread; a line is one write(2). */
#pragma once

#include "base/result.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Before the first thread. instance is copied. */
void log_start(enum log_level level, const char *instance);
/* "debug" | "info" | "warn" | "error" */
bool log_level_parse(const char *name, enum log_level *ret);
bool log_is_on(enum log_level level);

/* One field of a line. */
enum log_kind { LOG_END, LOG_STR, LOG_INT };
struct log_field {
    enum log_kind kind;
    const char *name;
    const char *str; /* NULL prints null */
    int64_t num;
};
#define LOGS(name_, value_) ((struct log_field){LOG_STR, (name_), (value_), 0})
#define LOGI(name_, value_) ((struct log_field){LOG_INT, (name_), 0, (int64_t)(value_)})
/* The two fields of a failed result: err and where (and native when set). */
#define LOGR(result_)                                                                                                  \
    LOGS("err", error_info((enum error)(result_).code)->name), LOGI("native", (result_).native),                       \
        LOGS("where", (result_).where)

void log_write(enum log_level level, const char *event, const struct log_field *fields);
#define LOG(level_, event_, ...)                                                                                       \
    do {                                                                                                               \
        if (log_is_on(level_))                                                                                         \
            log_write((level_), (event_), (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){LOG_END, 0, 0, 0}});   \
    } while (0)
