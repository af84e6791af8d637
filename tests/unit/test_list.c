/* Order, removal while walking, and moving of the intrusive list. */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    int number;
    struct list node;
};

static int number_of(struct list *node) { return CONTAINER_OF(node, struct item, node)->number; }

static void list_push__when_popped__then_first_in_first_out(void **state) {
    struct list head;
    struct item items[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    list_init(&head);
    assert_true(list_empty(&head));
    assert_null(list_pop(&head));
    list_push(&head, &items[1].node);
    list_push(&head, &items[2].node);
    list_push_front(&head, &items[0].node);
    for (int i = 1; i <= 3; i++) assert_int_equal(number_of(list_pop(&head)), i);
    assert_true(list_empty(&head));
}

static void list_remove__when_in_no_list__then_harmless(void **state) {
    struct list head, node;
    list_init(&head);
    list_init(&node);
    list_remove(&node);
    list_push(&head, &node);
    list_remove(&node);
    list_remove(&node);
    assert_true(list_empty(&head));
    assert_true(list_empty(&node));
}

static void list_for_safe__when_body_removes__then_visits_all(void **state) {
    struct list head;
    struct item items[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    int seen = 0, left = 0;
    list_init(&head);
    for (int i = 0; i < 4; i++) list_push(&head, &items[i].node);
    LIST_FOR_SAFE(node, &head) {
        assert_int_equal(number_of(node), seen);
        seen++;
        if (number_of(node) % 2 == 0) list_remove(node);
    }
    LIST_FOR(node, &head) left += number_of(node);
    assert_int_equal(seen, 4);
    assert_int_equal(left, 1 + 3);
}

static void list_move_all__when_moved__then_appended_and_source_empty(void **state) {
    struct list to, from;
    struct item items[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    list_init(&to);
    list_init(&from);
    list_move_all(&to, &from);
    assert_true(list_empty(&to));
    for (int i = 0; i < 4; i++) list_push(i < 2 ? &to : &from, &items[i].node);
    list_move_all(&to, &from);
    assert_true(list_empty(&from));
    for (int i = 0; i < 4; i++) assert_int_equal(number_of(list_pop(&to)), i);
    assert_true(list_empty(&to));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_push__when_popped__then_first_in_first_out),
        cmocka_unit_test(list_remove__when_in_no_list__then_harmless),
        cmocka_unit_test(list_for_safe__when_body_removes__then_visits_all),
        cmocka_unit_test(list_move_all__when_moved__then_appended_and_source_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
