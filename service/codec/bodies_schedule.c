#include "codec/bodies_schedule.h"

#include "base/duration.h"
#include "codec/fields.h"

#include <string.h>

struct schedule_values {
    char at_most[DURATION_SIZE], at_least[DURATION_SIZE];
    char by[SCHEDULE_BY_MAX + 1];
};

#define DURATION_FIELD(name_, member_, optional_)                                                                      \
    {                                                                                                                  \
        .name = (name_), .kind = FIELD_TEXT, .offset = offsetof(struct schedule_values, member_), .min = 1,            \
        .max = DURATION_SIZE - 1, .optional = (optional_)                                                              \
    }
static const struct field schedule_list[] = {
    DURATION_FIELD("lockAtMostFor", at_most, false),
    DURATION_FIELD("lockAtLeastFor", at_least, true),
    {.name = "lockedBy",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct schedule_values, by),
     .min = 1,
     .max = SCHEDULE_BY_MAX,
     .optional = true},
};
static const struct fields schedule_fields = {schedule_list, sizeof schedule_list / sizeof schedule_list[0]};

/* A value that was not read has its finding already. */
static void read_duration(struct reader *reader, const char *name, const char *text, int64_t min_ms, int64_t *ret_ms) {
    bool fits = duration_parse(text, strlen(text), ret_ms) && *ret_ms >= min_ms && *ret_ms <= SCHEDULE_AT_MOST_MS_MAX;
    if (text[0] == '\0' || fits) return;
    char min[DURATION_SIZE];
    duration_format(min_ms, min);
    reader_find(reader, &(struct place){.name = name}, "must be an ISO-8601 duration from %s to PT24H", min);
}

RESULT body_schedule(const char *body, size_t len, struct field_errors *errors, struct schedule_body *ret) {
    struct schedule_values values = {.at_least = "PT0S"};
    struct schedule_body read = {0};
    AUTO_READER reader = {0};
    TRY(reader_open(&reader, body, len, errors));
    reader_object(&reader, &schedule_fields, reader.root, NULL, &values);
    read_duration(&reader, "lockAtMostFor", values.at_most, 1, &read.at_most_ms);
    read_duration(&reader, "lockAtLeastFor", values.at_least, 0, &read.at_least_ms);
    if (errors->count == 0 && read.at_least_ms > read.at_most_ms)
        reader_find(&reader, &(struct place){.name = "lockAtLeastFor"}, "must not be longer than lockAtMostFor");
    if (values.by[0] != '\0' && !schedule_by_is_good(values.by))
        reader_find(&reader, &(struct place){.name = "lockedBy"}, "must be printable ASCII without a space at an end");
    TRY(reader_verdict(&reader));
    *ret = read;
    memcpy(ret->by, values.by, sizeof ret->by);
    return OK;
}
