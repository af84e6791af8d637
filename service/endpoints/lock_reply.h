/* What the lock endpoints share: names and tokens read strictly, answers of locks/ as replies. Loop thread. */
#pragma once

#include "codec/lock_documents.h"
#include "endpoints/common.h"
#include "locks/locks.h"

/* The caller may use this name at all: 400 (with this pointer) and 403 answered. */
bool lock_name_admit(struct request *request, const char *pointer, const char *name);
/* The path's name, admitted; NULL: answered. Unknown query parameters (allowed: NULL-terminated) are refused. */
const char *lock_read_name(struct request *request, const char *const *allowed);
/* Lock-Token; NULL: answered 400. */
const char *lock_read_token(struct request *request);
/* ?fence=; 0 without one. */
bool lock_read_fence(struct request *request, int64_t *ret);
/* The problem of an answer that is an error. of_set: LCK-001 names the name that was held. */
void lock_reply_problem(struct request *request, const struct lock_answer *answer, bool of_set);
/* DELETE with ?force=: lock_force.c. kind: semaphore, or lock for all others. */
void lock_force(struct request *request, enum lock_kind kind);
/* As an item of the list (with its store), or by itself. */
void lock_write_status(struct text *out, const struct lock_status *status, bool is_item);
void semaphore_write_status(struct text *out, const struct semaphore_status *status, bool is_item);
/* The member "degraded": the store that could not be asked; nothing for NULL. */
void lock_write_away(struct text *out, const char *away);
/* Borrows from holder. */
struct lock_holder_view lock_holder_view_of(const struct lock_holder *holder);
