#include "codec/lock_documents.h"

#include "codec/members.h"

static void member_null(struct text *out, const char *name) {
    member_name(out, name);
    text_add_str(out, "null");
}

static void member_json(struct text *out, const char *name, const char *json) {
    member_name(out, name);
    text_add_str(out, json[0] != '\0' ? json : "null");
}

static void member_or_null(struct text *out, const char *name, int64_t value, bool known) {
    if (known)
        member_integer(out, name, value);
    else
        member_null(out, name);
}

static void write_holder(struct text *out, const struct lock_holder_view *view) {
    bool ours = view->owner != NULL;
    member_string_or_null(out, "owner", ours ? view->owner : "");
    member_or_null(out, "fence", view->fence, ours && view->fence > 0);
    member_or_null(out, "heldForMs", view->held_for_ms, ours && view->held_for_ms >= 0);
    member_or_null(out, "expiresInMs", view->expires_in_ms, view->expires_in_ms >= 0);
    member_json(out, "metadata", view->metadata);
}

void document_lock_holder(struct text *out, const struct lock_holder_view *view) {
    text_add_char(out, '{');
    write_holder(out, view);
    text_add_char(out, '}');
}

static void write_fence(struct text *out, const int64_t *fence) {
    member_or_null(out, "fence", fence != NULL ? *fence : 0, fence != NULL);
}

static void write_locks(struct text *out, const struct lock_grant_view *view) {
    member_name(out, "locks");
    text_add_char(out, '[');
    for (size_t i = 0; i < view->count; i++) {
        text_add_str(out, i == 0 ? "{" : ",{");
        member_string(out, "name", view->names[i]);
        write_fence(out, view->fences != NULL ? &view->fences[i] : NULL);
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
}

void document_lock_grant(struct text *out, const struct lock_grant_view *view) {
    text_add_char(out, '{');
    if (!view->is_set) member_string(out, "name", view->names[0]);
    member_string(out, "status", "held");
    member_string(out, "token", view->token);
    member_string(out, "owner", view->owner);
    member_string(out, "kind", view->kind);
    if (view->permits > 0)
        member_integer(out, "permits", view->permits);
    else
        member_string(out, "mode", lock_mode_name(view->mode));
    if (view->is_set)
        write_locks(out, view);
    else
        write_fence(out, view->fences);
    member_integer(out, "ttlMs", view->ttl_ms);
    member_integer(out, "safeForMs", view->safe_for_ms);
    member_string(out, "safety", lock_safety_name(view->safety));
    member_name(out, "degraded");
    text_add_str(out, view->safety == LOCK_SAFETY_NONE ? "true" : "false");
    member_integer(out, "waitedMs", view->waited_ms);
    text_add_char(out, '}');
}

void members_lock_held(struct text *out, const struct lock_held_view *view) {
    if (view->name != NULL) {
        text_add_str(out, "\"name\":");
        json_write_string(out, view->name);
        text_add_char(out, ',');
    }
    text_add_str(out, "\"holder\":");
    if (view->holder != NULL)
        document_lock_holder(out, view->holder);
    else
        text_add_str(out, "null");
    member_integer(out, "waiters", (int64_t)view->waiters);
    member_integer(out, "retryAfterMs", view->retry_after_ms);
}

void members_lease_lost(struct text *out, const char *reason, int64_t other_since_ms) {
    text_addf(out, "\"reason\":\"%s\"", reason);
    member_time(out, "heldByOtherSince", other_since_ms);
}

void members_lock_kind(struct text *out, const char *kind) {
    text_add_str(out, "\"kind\":");
    json_write_string(out, kind);
}

static void write_link(struct text *out, const struct lock_link_view *link) {
    text_add_char(out, '{');
    member_string_or_null(out, "name", link->name != NULL ? link->name : "");
    member_string_or_null(out, "owner", link->owner != NULL ? link->owner : "");
    member_or_null(out, "fence", link->fence, link->fence > 0);
    member_string_or_null(out, "waitsFor", link->waits_for != NULL ? link->waits_for : "");
    member_integer(out, "waitedMs", link->waited_ms);
    text_add_char(out, '}');
}

void members_lock_cycle(struct text *out, const struct lock_link_view *links, size_t count) {
    text_add_str(out, "\"cycle\":[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) text_add_char(out, ',');
        write_link(out, &links[i]);
    }
    text_add_char(out, ']');
}

void document_lock_status(struct text *out, const struct lock_status_view *view) {
    text_add_char(out, '{');
    member_string(out, "name", view->name);
    member_string_or_null(out, "kind", view->kind);
    if (view->store != NULL) member_string(out, "store", view->store);
    member_name(out, "held");
    text_add_str(out, view->held ? "true" : "false");
    member_string_or_null(out, "mode", view->held ? lock_mode_name(view->mode) : "");
    member_name(out, "holders");
    text_add_char(out, '[');
    for (size_t i = 0; i < view->holder_count; i++) {
        if (i > 0) text_add_char(out, ',');
        document_lock_holder(out, &view->holders[i]);
    }
    text_add_char(out, ']');
    member_or_null(out, "fence", view->fence, view->fence > 0);
    member_integer(out, "waiters", (int64_t)view->waiters);
    text_add_char(out, '}');
}

void document_lock_event(struct text *out, const struct lock_event_view *view) {
    text_add_char(out, '{');
    member_string(out, "name", view->name);
    member_string_or_null(out, "kind", view->kind);
    member_name(out, "held");
    text_add_str(out, view->held ? "true" : "false");
    member_name(out, "holder");
    if (view->holder != NULL)
        document_lock_holder(out, view->holder);
    else
        text_add_str(out, "null");
    member_integer(out, "waiters", (int64_t)view->waiters);
    text_add_char(out, '}');
}

void document_lock_unknown(struct text *out, const char *name) {
    text_add_char(out, '{');
    member_string(out, "name", name);
    text_add_char(out, '}');
}

static void write_permits(struct text *out, const struct semaphore_status_view *view) {
    member_name(out, "holders");
    text_add_char(out, '[');
    for (size_t i = 0; i < view->holder_count; i++) {
        text_add_str(out, i == 0 ? "{" : ",{");
        write_holder(out, &view->holders[i].lock);
        member_integer(out, "permits", view->holders[i].permits);
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
}

void document_semaphore_status(struct text *out, const struct semaphore_status_view *view) {
    text_add_char(out, '{');
    member_string(out, "name", view->name);
    member_string_or_null(out, "kind", view->kind);
    if (view->store != NULL) {
        member_string(out, "store", view->store);
        member_name(out, "held");
        text_add_str(out, "true");
        member_null(out, "mode");
    }
    member_or_null(out, "limit", view->limit, view->exists);
    member_or_null(out, "available", view->available, view->exists);
    write_permits(out, view);
    member_or_null(out, "fence", view->fence, view->fence > 0);
    member_integer(out, "waiters", (int64_t)view->waiters);
    text_add_char(out, '}');
}

void document_lock_queued(struct text *out, const char *token, size_t position, int64_t retry_within_ms) {
    text_add_char(out, '{');
    member_string(out, "status", "queued");
    member_string(out, "token", token);
    member_integer(out, "position", (int64_t)position);
    member_integer(out, "retryWithinMs", retry_within_ms);
    text_add_char(out, '}');
}

void document_lock_renewed(struct text *out, const char *name, int64_t fence) {
    text_add_char(out, '{');
    member_string(out, "name", name);
    write_fence(out, &fence);
    text_add_char(out, '}');
}

void document_lock_lost(struct text *out, const char *name, const char *reason) {
    text_add_char(out, '{');
    member_string(out, "name", name);
    member_string(out, "reason", reason);
    text_add_char(out, '}');
}

void document_fence(struct text *out, int64_t highest) {
    text_add_char(out, '{');
    member_integer(out, "highest", highest);
    text_add_char(out, '}');
}
