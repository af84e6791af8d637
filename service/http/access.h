/* Who may do what: bearer tokens known by their SHA-256, scopes, name prefixes (docs/operations.md). Loop thread;
 * reload swaps the table whole. */
#pragma once

#include "base/result.h"
#include "domain/limits.h"

#include <stddef.h>

enum scope {
    SCOPE_LOCKS = 1,
    SCOPE_SCHEDULES = 2,
    SCOPE_INVENTORY = 4,
    SCOPE_ORDERS = 8,
    SCOPE_EVENTS = 16,
    SCOPE_JOBS = 32,
    SCOPE_ADMIN = 64,
    SCOPE_READ = 128,
    SCOPE_ALL = 255
};

#define PREFIXES_MAX 16
#define CREDENTIAL_SEEK_SIZE (200 + 1) /* as cursors of names */
struct credential {
    char name[CREDENTIAL_NAME_MAX + 1]; /* "anonymous" without a token file */
    uint32_t scopes;
    size_t prefix_count;
    char prefixes[PREFIXES_MAX][201];
};

struct access;

/* path NULL or "" = anonymous: every caller has every scope. INVALID_REQUEST, with the reason in error_text, when the
 * file is missing or malformed. */
RESULT access_new(const char *path, char *error_text, size_t error_size, struct access **ret);
/* Reads the file again; on failure the old table stays. */
RESULT access_reload(struct access *access, char *error_text, size_t error_size);
struct access *access_free(struct access *access);
bool access_is_anonymous(const struct access *access);
/* Credential of an Authorization header value (NULL = none sent); NULL = not authenticated. Valid until the next reload
 * has no more users (kept for the process's life). */
const struct credential *access_find(const struct access *access, const char *authorization);
/* Any of the wanted scopes, or admin. */
bool credential_may(const struct credential *credential, uint32_t scopes);
/* True without prefixes, or when one of them begins name. */
bool credential_may_name(const struct credential *credential, const char *name);
/* Where a list in the order of bytes goes on that has come to name `after`, shown or not: `after` itself, or, when the
 * prefixes do not cover it, a text behind it and before every name they cover, which tells nothing of names they hide.
 * False: no name behind `after` is covered. */
bool credential_seek(const struct credential *credential, const char *after, char ret[CREDENTIAL_SEEK_SIZE]);
