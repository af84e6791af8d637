/* Heap with one rule: every queue and buffer is bounded, so running out is a fault of the deployment, and the process
   ends with one log line instead of limping. What these return is never NULL. */
#pragma once

#include <stddef.h>

/* size zeroed bytes; the caller owns them (free). Any thread. Does not return on exhaustion. */
void *mem_new(size_t size) __attribute__((malloc, alloc_size(1), returns_nonnull, warn_unused_result));
/* count*size zeroed bytes, overflow checked. */
void *mem_array(size_t count, size_t size)
    __attribute__((malloc, alloc_size(1, 2), returns_nonnull, warn_unused_result));
/* realloc of count*size, overflow checked; added bytes are not zeroed. */
void *mem_grow(void *old, size_t count, size_t size)
    __attribute__((alloc_size(2, 3), returns_nonnull, warn_unused_result));
/* Copy of len bytes plus a NUL. */
char *mem_copy(const char *data, size_t len) __attribute__((malloc, returns_nonnull, warn_unused_result));

/* Owner on the stack: AUTO_FREE char *p = mem_new(8); */
void mem_free_p(void *pointer_to_pointer);
#define AUTO_FREE __attribute__((cleanup(mem_free_p)))
/* Hands an owned pointer over and forgets it. */
#define TAKE(p)                                                                                                        \
    ({                                                                                                                 \
        __typeof__(p) take_ = (p);                                                                                     \
        (p) = NULL;                                                                                                    \
        take_;                                                                                                         \
    })
