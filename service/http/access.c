/* 1 A token is never kept: only its SHA-256, as the file has it.
 * 2 Tables are immutable and live until access_free: a request keeps its credential over a reload. Reloads are rare
 *   (an operator's signal), so the old tables are the price of having no reference counts.
 * 3 A table is sorted by hash, and no hash stands in it twice. */
#include "http/access.h"

#include "base/memory.h"
#include "base/text.h"
#include "codec/bodies.h"
#include "codec/digest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOKENS_FILE_MAX ((size_t)4 << 20) /* bytes of a token file */

struct entry {
    unsigned char sha256[DIGEST_SIZE];
    struct credential credential;
};

struct table {
    struct entry *entries;
    size_t count, room;
    struct table *older;
};

struct access {
    char *path; /* NULL = anonymous */
    struct table *table;
};

static const struct credential anonymous = {.name = "anonymous", .scopes = SCOPE_ALL};

static const struct {
    const char *name;
    enum scope scope;
} scope_names[] = {
    {"locks", SCOPE_LOCKS},   {"schedules", SCOPE_SCHEDULES}, {"inventory", SCOPE_INVENTORY}, {"orders", SCOPE_ORDERS},
    {"events", SCOPE_EVENTS}, {"jobs", SCOPE_JOBS},           {"admin", SCOPE_ADMIN},         {"read", SCOPE_READ},
};

static struct table *table_free(struct table *table) {
    while (table) {
        struct table *older = table->older;
        free(table->entries);
        free(table);
        table = older;
    }
    return NULL;
}

/* What body_tokens hands its rows to. problem is "" while all is well. */
struct filling {
    struct table *table;
    char problem[256];
};

static uint32_t scopes_of(struct filling *filling, const struct token_entry *from) {
    uint32_t scopes = 0;
    for (size_t i = 0; i < from->scope_count; i++) {
        uint32_t found = 0;
        for (size_t k = 0; k < sizeof scope_names / sizeof *scope_names; k++)
            if (strcmp(scope_names[k].name, from->scopes[i]) == 0) found = scope_names[k].scope;
        if (!found)
            text_format(filling->problem, sizeof filling->problem, "token %s: unknown scope '%.40s'", from->name,
                        from->scopes[i]);
        scopes |= found;
    }
    return scopes;
}

static void prefixes_copy(struct filling *filling, const struct token_entry *from, struct credential *to) {
    for (size_t i = 0; i < from->prefix_count && i < PREFIXES_MAX; i++)
        if (!text_copy(to->prefixes[to->prefix_count++], sizeof to->prefixes[0], from->prefixes[i]))
            text_format(filling->problem, sizeof filling->problem, "token %s: a prefix has more than 200 bytes",
                        from->name);
}

static void table_add(void *arg, const struct token_entry *from) {
    struct filling *filling = arg;
    struct table *table = filling->table;
    if (table->count == table->room) {
        table->room = table->room ? table->room * 2 : 8;
        table->entries = mem_grow(table->entries, table->room, sizeof *table->entries);
    }
    struct entry *entry = &table->entries[table->count++];
    *entry = (struct entry){.credential = {.scopes = scopes_of(filling, from)}};
    memcpy(entry->sha256, from->sha256, DIGEST_SIZE);
    text_copy(entry->credential.name, sizeof entry->credential.name, from->name);
    prefixes_copy(filling, from, &entry->credential);
}

static int entry_compare(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    return memcmp(a->sha256, b->sha256, DIGEST_SIZE);
}

static void table_sort(struct filling *filling) {
    struct table *table = filling->table;
    if (table->count > 1) qsort(table->entries, table->count, sizeof *table->entries, entry_compare);
    for (size_t i = 1; i < table->count; i++)
        if (entry_compare(&table->entries[i - 1], &table->entries[i]) == 0)
            text_format(filling->problem, sizeof filling->problem, "tokens %s and %s have one sha256",
                        table->entries[i - 1].credential.name, table->entries[i].credential.name);
}

static void describe(const struct field_errors *errors, char *out, size_t size) {
    if (errors->count == 0)
        text_format(out, size, "malformed");
    else
        text_format(out, size, "%s: %s", errors->list[0].pointer, errors->list[0].detail);
}

static RESULT table_decode(const struct text *body, char *error_text, size_t error_size, struct table **ret) {
    AUTO_FREE struct field_errors *errors = mem_new(sizeof *errors);
    struct filling filling = {.table = mem_new(sizeof *filling.table)};
    struct result result = body_tokens(text_str(body), body->len, errors, table_add, &filling);
    if (failed(result))
        describe(errors, filling.problem, sizeof filling.problem);
    else
        table_sort(&filling);
    if (!failed(result) && !filling.problem[0]) {
        *ret = filling.table;
        return OK;
    }
    text_copy(error_text, error_size, filling.problem);
    table_free(filling.table);
    FAIL(INVALID_REQUEST, 0);
}

static RESULT file_read(const char *path, struct text *ret) {
    char piece[4096];
    FILE *file = fopen(path, "re");
    if (!file) FAIL(INVALID_REQUEST, errno);
    size_t got;
    errno = 0;
    while ((got = fread(piece, 1, sizeof piece, file)) > 0) text_add(ret, piece, got);
    bool bad = ferror(file);
    int native = errno;
    fclose(file);
    if (bad) FAIL(INVALID_REQUEST, native);
    if (ret->overflow) FAIL(INVALID_REQUEST, EFBIG);
    return OK;
}

static RESULT table_load(const char *path, char *error_text, size_t error_size, struct table **ret) {
    char why[128];
    AUTO_TEXT body = text_new(TOKENS_FILE_MAX);
    struct result result = file_read(path, &body);
    if (!failed(result)) return table_decode(&body, error_text, error_size, ret);
    text_format(error_text, error_size, "%s: %s", path, strerror_r(result.native, why, sizeof why));
    return result;
}

RESULT access_new(const char *path, char *error_text, size_t error_size, struct access **ret) {
    struct table *table = NULL;
    bool has_file = path && *path;
    if (has_file) TRY(table_load(path, error_text, error_size, &table));
    struct access *access = mem_new(sizeof *access);
    access->path = has_file ? mem_copy(path, strlen(path)) : NULL;
    access->table = table;
    *ret = access;
    return OK;
}

RESULT access_reload(struct access *access, char *error_text, size_t error_size) {
    struct table *table;
    if (!access->path) return OK;
    TRY(table_load(access->path, error_text, error_size, &table));
    table->older = access->table;
    access->table = table;
    return OK;
}

struct access *access_free(struct access *access) {
    if (!access) return NULL;
    table_free(access->table);
    free(access->path);
    free(access);
    return NULL;
}

bool access_is_anonymous(const struct access *access) { return !access->path; }

/* The token of "Bearer <token>", without the blanks around it; NULL for anything else. */
static const char *bearer_token(const char *authorization, size_t *ret_len) {
    if (strncasecmp(authorization, "Bearer ", 7) != 0) return NULL;
    const char *token = authorization + 7;
    token += strspn(token, " \t");
    size_t len = strlen(token);
    while (len && (token[len - 1] == ' ' || token[len - 1] == '\t')) len--;
    *ret_len = len;
    return len ? token : NULL;
}

static int hash_compare(const void *sha256, const void *entry) {
    return memcmp(sha256, ((const struct entry *)entry)->sha256, DIGEST_SIZE);
}

const struct credential *access_find(const struct access *access, const char *authorization) {
    if (access_is_anonymous(access)) return &anonymous;
    const struct table *table = access->table;
    size_t len;
    const char *token = authorization ? bearer_token(authorization, &len) : NULL;
    if (!token || table->count == 0) return NULL;
    unsigned char sha256[DIGEST_SIZE];
    digest_bytes(token, len, sha256);
    const struct entry *found = bsearch(sha256, table->entries, table->count, sizeof *table->entries, hash_compare);
    return found ? &found->credential : NULL;
}

bool credential_may(const struct credential *credential, uint32_t scopes) {
    return (credential->scopes & (scopes | SCOPE_ADMIN)) != 0;
}

bool credential_may_name(const struct credential *credential, const char *name) {
    if (credential->prefix_count == 0) return true;
    for (size_t i = 0; i < credential->prefix_count; i++)
        if (strncmp(name, credential->prefixes[i], strlen(credential->prefixes[i])) == 0) return true;
    return false;
}

/* The last byte one lower, then the greatest character: before all that begins with the prefix, behind what is before
 * it. */
static bool write_before(const char *prefix, char ret[CREDENTIAL_SEEK_SIZE]) {
    static const char greatest[] = "\xf4\x8f\xbf\xbf";
    const size_t len = strlen(prefix);
    const unsigned char last = (unsigned char)prefix[len - 1];
    if (last == 0x80 || len + sizeof greatest > CREDENTIAL_SEEK_SIZE) return false;
    memcpy(ret, prefix, len - 1);
    ret[len - 1] = (char)(last - 1);
    memcpy(ret + len, greatest, sizeof greatest);
    return true;
}

/* A name that is not covered lies before or behind all names of each prefix: so the least prefix behind it is next. */
bool credential_seek(const struct credential *credential, const char *after, char ret[CREDENTIAL_SEEK_SIZE]) {
    const char *next = NULL;
    for (size_t i = 0; i < credential->prefix_count; i++) {
        const char *prefix = credential->prefixes[i];
        if (strcmp(prefix, after) > 0 && (next == NULL || strcmp(prefix, next) < 0)) next = prefix;
    }
    const bool is_covered = credential_may_name(credential, after);
    if (!is_covered && next == NULL) return false;
    if (is_covered || !write_before(next, ret) || strcmp(ret, after) <= 0)
        (void)text_copy(ret, CREDENTIAL_SEEK_SIZE, after);
    return true;
}
