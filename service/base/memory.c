/* Heap that never answers NULL. The log line on exhaustion is built on the stack (log.c), so it can still be written.
 */
#include "base/memory.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

static void exhausted(size_t size) __attribute__((noreturn));

static void exhausted(size_t size) {
    LOG(LOG_ERROR, "out-of-memory", LOGI("bytes", size));
    abort();
}

/* A size that cannot be counted is as unobtainable as one that is not there. */
static size_t product(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) exhausted(SIZE_MAX);
    return bytes ? bytes : 1;
}

void *mem_new(size_t size) { return mem_array(1, size); }

void *mem_array(size_t count, size_t size) {
    size_t bytes = product(count, size);
    void *p = calloc(1, bytes);
    if (!p) exhausted(bytes);
    return p;
}

void *mem_grow(void *old, size_t count, size_t size) {
    size_t bytes = product(count, size);
    void *p = realloc(old, bytes);
    if (!p) exhausted(bytes);
    return p;
}

char *mem_copy(const char *data, size_t len) {
    size_t size;
    if (__builtin_add_overflow(len, 1, &size)) exhausted(SIZE_MAX);
    char *copy = mem_new(size);
    if (len) memcpy(copy, data, len);
    return copy;
}

void mem_free_p(void *pointer_to_pointer) {
    void **p = pointer_to_pointer;
    free(*p);
    *p = NULL;
}
