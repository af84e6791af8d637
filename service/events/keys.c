/* Open addressing, linear probing, no removal. */
#include "events/keys.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define HASH_START UINT64_C(14695981039346656037)
#define HASH_PRIME UINT64_C(1099511628211)
#define ROOM_MIN 64

static size_t hash_of(const char *text) {
    uint64_t hash = HASH_START;
    for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * HASH_PRIME;
    return (size_t)(hash ^ hash >> 32);
}

void keys_clear(struct keys *keys) {
    for (size_t i = 0; i < keys->room; i++) {
        free(keys->slots[i].text);
        keys->slots[i] = (struct key){0};
    }
    keys->count = 0;
}

void keys_done(struct keys *keys) {
    keys_clear(keys);
    free(keys->slots);
    *keys = (struct keys){0};
}

/* The slot of the key, or the free one where it would go. */
static struct key *slot_of(const struct keys *keys, const char *text) {
    size_t at = hash_of(text) & (keys->room - 1);
    while (keys->slots[at].text != NULL && strcmp(keys->slots[at].text, text) != 0) at = (at + 1) & (keys->room - 1);
    return &keys->slots[at];
}

int64_t *keys_find(const struct keys *keys, const char *text) {
    if (keys->room == 0) return NULL;
    struct key *slot = slot_of(keys, text);
    return slot->text != NULL ? &slot->value : NULL;
}

static void grow(struct keys *keys) {
    struct keys larger = {.count = keys->count, .room = keys->room > 0 ? keys->room * 2 : ROOM_MIN};
    larger.slots = mem_array(larger.room, sizeof larger.slots[0]);
    for (size_t i = 0; i < keys->room; i++)
        if (keys->slots[i].text != NULL) *slot_of(&larger, keys->slots[i].text) = keys->slots[i];
    free(keys->slots);
    *keys = larger;
}

int64_t *keys_add(struct keys *keys, const char *text) {
    if (2 * (keys->count + 1) > keys->room) grow(keys);
    struct key *slot = slot_of(keys, text);
    if (slot->text == NULL) {
        slot->text = mem_copy(text, strlen(text));
        keys->count++;
    }
    return &slot->value;
}
