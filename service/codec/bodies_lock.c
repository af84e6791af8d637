/* Defaults stand in the value before it is read. Whether a name is one the service takes, its endpoint decides. */
#include "codec/bodies_lock.h"

#include "base/memory.h"
#include "codec/fields.h"
#include "domain/limits.h"

#include <stdlib.h>
#include <string.h>

static const char *kind_word(int64_t index) { return lock_kind_name((enum lock_kind)index); }
static const char *mode_word(int64_t index) { return lock_mode_name((enum lock_mode)index); }
static const char *store_word(int64_t index) { return index == 0 ? "redis" : "database"; }
static const char *down_word(int64_t index) { return index == 0 ? "closed" : "open"; }

struct lock_values {
    int64_t ttl_ms, wait_ms, kind, mode, store, down, permits, limit;
    char token[LOCK_TOKEN_MAX + 1];
    char owner[LOCK_OWNER_MAX + 1];
    const json_t *metadata;
    const json_t *names;
};

#define TTL_FIELD(struct_, member_)                                                                                    \
    {                                                                                                                  \
        .name = "ttlMs", .kind = FIELD_INTEGER, .offset = offsetof(struct_, member_), .min = LOCK_TTL_MS_MIN,          \
        .max = LOCK_TTL_MS_MAX, .optional = true                                                                       \
    }
#define WORD_FIELD(name_, member_, word_, count_)                                                                      \
    {                                                                                                                  \
        .name = (name_), .kind = FIELD_WORD, .offset = offsetof(struct lock_values, member_), .word = (word_),         \
        .max = (count_), .optional = true                                                                              \
    }

/* In such an order that each body is a part of it: a set all but the last two, a lock the same without names, a
   semaphore the last eight. */
static const struct field lock_list[] = {
    {.name = "names",
     .kind = FIELD_ARRAY,
     .offset = offsetof(struct lock_values, names),
     .min = 1,
     .max = LOCK_SET_MAX},
    WORD_FIELD("kind", kind, kind_word, LOCK_KIND_COUNT),
    WORD_FIELD("mode", mode, mode_word, LOCK_MODE_COUNT),
    WORD_FIELD("store", store, store_word, 2),
    TTL_FIELD(struct lock_values, ttl_ms),
    {.name = "waitMs",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct lock_values, wait_ms),
     .max = LOCK_WAIT_MS_MAX,
     .optional = true},
    {.name = "token",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct lock_values, token),
     .min = LOCK_TOKEN_MIN,
     .max = LOCK_TOKEN_MAX,
     .optional = true},
    {.name = "owner",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct lock_values, owner),
     .min = 1,
     .max = LOCK_OWNER_MAX,
     .optional = true},
    WORD_FIELD("onRedisDown", down, down_word, 2),
    {.name = "metadata",
     .kind = FIELD_OBJECT,
     .offset = offsetof(struct lock_values, metadata),
     .max = LOCK_METADATA_MAX,
     .optional = true},
    {.name = "permits",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct lock_values, permits),
     .min = 1,
     .max = SEMAPHORE_PERMITS_MAX,
     .optional = true},
    {.name = "limit",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct lock_values, limit),
     .min = 1,
     .max = SEMAPHORE_LIMIT_MAX,
     .optional = true},
};
#define LIST_FIELDS (sizeof lock_list / sizeof lock_list[0])
#define SEMAPHORE_FIELDS 8
static const struct fields set_fields = {lock_list, LIST_FIELDS - 2};
static const struct fields lock_fields = {lock_list + 1, LIST_FIELDS - 3};
static const struct fields semaphore_fields = {lock_list + LIST_FIELDS - SEMAPHORE_FIELDS, SEMAPHORE_FIELDS};

void lock_body_done(struct lock_body *body) { text_done(&body->metadata); }

static void check_token(struct reader *reader, const char *token) {
    if (token[0] == '\0' || lock_token_is_good(token)) return;
    reader_find(reader, &(struct place){.name = "token"}, "must be 16 to 64 of A-Z a-z 0-9 _ -");
}

/* In the database there are locks of kind lock only, one by one. */
static void check_store(struct reader *reader, const struct lock_values *values) {
    if (values->store == 0) return;
    if (values->kind != LOCK_KIND_LOCK)
        reader_find(reader, &(struct place){.name = "kind"}, "must be lock in the database store");
    if (values->names != NULL) reader_find(reader, &(struct place){.name = "store"}, "a set is kept in redis");
}

static void check_mode(struct reader *reader, const struct lock_values *values) {
    if (values->mode == LOCK_MODE_SHARED && values->kind != LOCK_KIND_RW)
        reader_find(reader, &(struct place){.name = "mode"}, "must be exclusive with every kind but rw");
}

static RESULT read_lock(struct reader *reader, const struct fields *fields, struct lock_values *values) {
    reader_object(reader, fields, reader->root, NULL, values);
    check_token(reader, values->token);
    check_store(reader, values);
    check_mode(reader, values);
    return reader_verdict(reader);
}

static void take(struct lock_values *values, struct lock_body *ret) {
    *ret = (struct lock_body){.ttl_ms = values->ttl_ms, .wait_ms = values->wait_ms, .metadata = text_new(0)};
    if (values->metadata != NULL) json_compact(&ret->metadata, values->metadata);
    ret->kind = values->store == 0 ? (enum lock_kind)values->kind : LOCK_KIND_DATABASE;
    ret->mode = (enum lock_mode)values->mode;
    ret->when_down = values->down < 0 ? LOCK_DOWN_DEFAULT : values->down == 0 ? LOCK_DOWN_CLOSED : LOCK_DOWN_OPEN;
    memcpy(ret->token, values->token, sizeof ret->token);
    memcpy(ret->owner, values->owner, sizeof ret->owner);
}

RESULT body_lock(const char *body, size_t len, struct field_errors *errors, struct lock_body *ret) {
    struct lock_values values = {.ttl_ms = LOCK_TTL_MS_DEFAULT, .down = -1};
    AUTO_READER reader = {0};
    errors->count = 0;
    if (len > 0) {
        TRY(reader_open(&reader, body, len, errors));
        TRY(read_lock(&reader, &lock_fields, &values));
    }
    take(&values, ret);
    return OK;
}

void lock_set_body_done(struct lock_set_body *body) {
    for (size_t i = 0; i < body->count; i++) free(body->names[i]);
    lock_body_done(&body->terms);
}

/* Strings, each once. What a name may look like is judged where its path would be. */
static void check_names(struct reader *reader, const json_t *names) {
    const struct place up = {.name = "names"};
    for (size_t i = 0; i < json_array_size(names); i++) {
        const struct place at = {.up = &up, .index = i};
        const char *name = json_string_value(json_array_get(names, i));
        if (name == NULL) reader_find(reader, &at, "must be a string");
        for (size_t k = 0; name != NULL && k < i; k++) {
            const char *other = json_string_value(json_array_get(names, k));
            if (other != NULL && strcmp(name, other) == 0) reader_find(reader, &at, "stands there twice");
        }
    }
}

/* It would have to stand in many queues at once, and be overtaken in all but one. */
static void check_set(struct reader *reader, const struct lock_values *values) {
    if (values->kind == LOCK_KIND_FAIR) reader_find(reader, &(struct place){.name = "kind"}, "a set is not fair");
    if (values->names != NULL) check_names(reader, values->names);
}

RESULT body_lock_set(const char *body, size_t len, struct field_errors *errors, struct lock_set_body *ret) {
    struct lock_values values = {.ttl_ms = LOCK_TTL_MS_DEFAULT, .down = -1};
    AUTO_READER reader = {0};
    TRY(reader_open(&reader, body, len, errors));
    reader_object(&reader, &set_fields, reader.root, NULL, &values);
    check_token(&reader, values.token);
    check_store(&reader, &values);
    check_mode(&reader, &values);
    check_set(&reader, &values);
    TRY(reader_verdict(&reader));
    take(&values, &ret->terms);
    ret->count = json_array_size(values.names);
    for (size_t i = 0; i < ret->count; i++) {
        const json_t *name = json_array_get(values.names, i);
        ret->names[i] = mem_copy(json_string_value(name), json_string_length(name));
    }
    return OK;
}

RESULT body_semaphore(const char *body, size_t len, struct field_errors *errors, struct lock_body *ret) {
    struct lock_values values = {.ttl_ms = LOCK_TTL_MS_DEFAULT, .down = -1, .kind = LOCK_KIND_SEMAPHORE, .permits = 1};
    AUTO_READER reader = {0};
    errors->count = 0;
    TRY(reader_open(&reader, len > 0 ? body : "{}", len > 0 ? len : 2, errors));
    reader_object(&reader, &semaphore_fields, reader.root, NULL, &values);
    check_token(&reader, values.token);
    if (values.limit > 0 && values.permits > values.limit)
        reader_find(&reader, &(struct place){.name = "permits"}, "must be at most the limit");
    TRY(reader_verdict(&reader));
    take(&values, ret);
    ret->permits = values.permits;
    ret->limit = values.limit;
    return OK;
}

struct change_values {
    int64_t ttl_ms, limit;
};
static const struct field change_list[] = {
    TTL_FIELD(struct change_values, ttl_ms),
    {.name = "limit",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct change_values, limit),
     .min = 1,
     .max = SEMAPHORE_LIMIT_MAX,
     .optional = true},
};
static const struct fields change_fields = {change_list, 2};

RESULT body_semaphore_change(const char *body, size_t len, struct field_errors *errors, int64_t *ret_ttl_ms,
                             int64_t *ret_limit) {
    struct change_values values = {0};
    TRY(fields_decode(&change_fields, body, len, errors, &values));
    if (values.ttl_ms > 0 && values.limit > 0) {
        field_errors_add(errors, "/limit", "is changed by itself, without ttlMs");
        FAIL(INVALID_REQUEST, 0);
    }
    *ret_ttl_ms = values.ttl_ms > 0 ? values.ttl_ms : LOCK_TTL_MS_DEFAULT;
    *ret_limit = values.limit;
    return OK;
}

static const struct field renewal_list[] = {
    {.name = "ttlMs", .kind = FIELD_INTEGER, .min = LOCK_TTL_MS_MIN, .max = LOCK_TTL_MS_MAX, .optional = true}};
static const struct fields renewal_fields = {renewal_list, 1};

RESULT body_lock_renewal(const char *body, size_t len, struct field_errors *errors, int64_t *ret_ttl_ms) {
    int64_t ttl_ms = LOCK_TTL_MS_DEFAULT;
    TRY(fields_decode(&renewal_fields, body, len, errors, &ttl_ms));
    *ret_ttl_ms = ttl_ms;
    return OK;
}

static const struct field fence_list[] = {{.name = "fence", .kind = FIELD_INTEGER, .min = 1, .max = SAFE_INTEGER_MAX}};
static const struct fields fence_fields = {fence_list, 1};

RESULT body_fence(const char *body, size_t len, struct field_errors *errors, int64_t *ret_fence) {
    int64_t fence = 0;
    TRY(fields_decode(&fence_fields, body, len, errors, &fence));
    *ret_fence = fence;
    return OK;
}
