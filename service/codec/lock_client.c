#include "codec/lock_client.h"

#include "codec/members.h"

#include <jansson.h>

void document_lock_request(struct text *out, const struct lock_request *request) {
    text_add_char(out, '{');
    member_integer(out, "ttlMs", request->ttl_ms);
    member_integer(out, "waitMs", request->wait_ms);
    member_string(out, "token", request->token);
    member_string(out, "owner", request->owner);
    if (request->permits > 0) {
        member_integer(out, "permits", request->permits);
        if (request->limit > 0) member_integer(out, "limit", request->limit);
    } else {
        member_string(out, "kind", request->kind);
        member_string(out, "mode", request->mode);
    }
    member_string(out, "onRedisDown", "closed");
    text_add_char(out, '}');
}

void document_lock_renewal(struct text *out, int64_t ttl_ms) {
    text_add_char(out, '{');
    member_integer(out, "ttlMs", ttl_ms);
    text_add_char(out, '}');
}

static int64_t integer_of(const json_t *object, const char *name, int64_t absent) {
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? json_integer_value(value) : absent;
}

static void text_of(const json_t *object, const char *name, char *out, size_t size) {
    const char *value = json_string_value(json_object_get(object, name));
    (void)text_format(out, size, "%s", value != NULL ? value : ""); /* cut is fine: it is shown or compared to words */
}

bool lock_reply_read(const char *body, size_t len, struct lock_reply *ret) {
    json_t *root = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
    bool is_object = json_is_object(root);
    if (is_object) {
        ret->fence = integer_of(root, "fence", 0);
        ret->safe_for_ms = integer_of(root, "safeForMs", -1);
        ret->retry_after_ms = integer_of(root, "retryAfterMs", -1);
        text_of(root, "safety", ret->safety, sizeof ret->safety);
        text_of(root, "code", ret->code, sizeof ret->code);
        text_of(root, "detail", ret->detail, sizeof ret->detail);
        text_of(root, "reason", ret->reason, sizeof ret->reason);
        text_of(json_object_get(root, "holder"), "owner", ret->holder, sizeof ret->holder);
    }
    json_decref(root);
    return is_object;
}
