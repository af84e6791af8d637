/* Intrusive doubly linked list. A node is in one list at a time; a node that is in none points at itself.
   Zeroed nodes must be initialised before use. Not shared between threads unless a lock says so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define LIST_FOR(node, head) for (struct list *node = (head)->next; node != (head); node = node->next)
/* The body may remove `node`. */
#define LIST_FOR_SAFE(node, head)                                                                                      \
    for (struct list *node = (head)->next, *next_##node = node->next; node != (head);                                  \
         node = next_##node, next_##node = node->next)

static inline void list_init(struct list *l) { l->next = l->prev = l; }
static inline bool list_empty(const struct list *l) { return l->next == l; }
static inline void list_push(struct list *head, struct list *node) {
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}
static inline void list_push_front(struct list *head, struct list *node) { list_push(head->next, node); }
/* Harmless on a node that is in no list. */
static inline void list_remove(struct list *node) {
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}
/* First node, removed; NULL when empty. */
static inline struct list *list_pop(struct list *head) {
    if (list_empty(head)) return NULL;
    struct list *node = head->next;
    list_remove(node);
    return node;
}
/* Appends all of `from` to `to`; `from` is empty after. */
static inline void list_move_all(struct list *to, struct list *from) {
    if (list_empty(from)) return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}
