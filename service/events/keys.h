/* A set of texts with a number each: aggregate ids. Pure; not shared between threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key {
    char *text; /* owned; NULL = free */
    int64_t value;
};

struct keys {
    struct key *slots;
    size_t count, room; /* room: 0 or a power of two, at least twice the count */
};

void keys_done(struct keys *keys);
/* Forgets all of them, keeps the room. */
void keys_clear(struct keys *keys);
/* The number of the key; NULL when it is not there. Valid until the next keys_add. */
int64_t *keys_find(const struct keys *keys, const char *text);
/* The same, 0 for one that was not there. */
int64_t *keys_add(struct keys *keys, const char *text);
