#include "unit.h"

#include "base/memory.h"
#include "locks/queue.h"

#include <stdlib.h>
#include <string.h>

static struct place *add(struct queues *queues, const char *holder, const char *first, const char *second) {
    char *names[] = {(char *)first, (char *)second};
    return place_new(queues, holder, names, second != NULL ? 2 : 1);
}

static void end(struct queues *queues, struct place *place) {
    struct queue *queue = place->queue;
    place_leave(queues, place);
    place_free(place);
    if (queue->count == 0) queue_remove(queues, queue);
}

static bool is_any(const struct place *place) { return true; }
static bool is_late(const struct place *place) { return place->lates > 0; }

static void queue__when_places_come__then_first_come_first_served(void **state) {
    struct queues *queues = queues_new();
    struct place *a = add(queues, "a", "n", NULL), *b = add(queues, "b", "n", NULL), *c = add(queues, "c", "n", NULL);
    struct queue *queue = queue_find(queues, "n");
    assert_non_null(queue);
    assert_int_equal(queues_count(queues), 1);
    assert_int_equal(queue->count, 3);
    assert_ptr_equal(queue_first(queue, is_any), a);
    assert_null(queue_first(queue, is_late));
    b->lates = 1;
    assert_ptr_equal(queue_first(queue, is_late), b);
    assert_int_equal(queue_position(queue, c), 3);
    end(queues, a);
    assert_ptr_equal(queue_first(queue, is_any), b);
    assert_int_equal(queue_position(queue, c), 2);
    end(queues, c);
    end(queues, b);
    assert_null(queue_find(queues, "n"));
    assert_null(queues_free(queues));
}

static void queue_position__when_far_behind__then_the_length(void **state) {
    struct queues *queues = queues_new();
    struct place *places[POSITION_MAX + 10];
    char holder[16];
    for (int i = 0; i < POSITION_MAX + 10; i++) {
        (void)text_format(holder, sizeof holder, "%d", i);
        places[i] = add(queues, holder, "n", NULL);
    }
    struct queue *queue = places[0]->queue;
    assert_int_equal(queue_position(queue, places[POSITION_MAX - 1]), POSITION_MAX);
    assert_int_equal(queue_position(queue, places[POSITION_MAX]), POSITION_MAX + 10);
    for (int i = 0; i < POSITION_MAX + 10; i++) end(queues, places[i]);
    queues_free(queues);
}

static void place_find__when_holder_or_names_differ__then_not_found(void **state) {
    struct queues *queues = queues_new();
    struct place *one = add(queues, "a", "m", NULL), *set = add(queues, "a", "m", "n");
    char *names[] = {"m", "n"}, *others[] = {"m", "o"};
    assert_ptr_equal(place_find(queues, "a", names, 1), one);
    assert_ptr_equal(place_find(queues, "a", names, 2), set);
    assert_null(place_find(queues, "a", others, 2));
    assert_null(place_find(queues, "b", names, 1));
    end(queues, one);
    assert_null(place_find(queues, "a", names, 1));
    end(queues, set);
    queues_free(queues);
}

static void place_move__when_others_wait_there__then_it_stands_by_its_age(void **state) {
    struct queues *queues = queues_new();
    struct place *before = add(queues, "a", "n", NULL), *set = add(queues, "s", "m", "n");
    struct place *after = add(queues, "b", "n", NULL);
    struct queue *left = set->queue;
    place_move(queues, set, "n");
    assert_int_equal(left->count, 0);
    queue_remove(queues, left);
    assert_string_equal(set->queue->name, "n");
    assert_int_equal(queue_position(set->queue, before), 1);
    assert_int_equal(queue_position(set->queue, set), 2);
    assert_int_equal(queue_position(set->queue, after), 3);
    char *names[] = {"m", "n"};
    assert_ptr_equal(place_find(queues, "s", names, 2), set);
    end(queues, set);
    end(queues, before);
    end(queues, after);
    queues_free(queues);
}

static void asks__when_added_and_dropped__then_counted(void **state) {
    struct queues *queues = queues_new();
    struct place *place = add(queues, "a", "n", NULL);
    struct ask asks[2] = {0};
    for (int i = 0; i < 2; i++) {
        list_init(&asks[i].node);
        place_add_ask(place, &asks[i]);
    }
    assert_int_equal(place->ask_count, 2);
    place_drop_ask(place, &asks[0]);
    assert_int_equal(place->ask_count, 1);
    assert_null(asks[0].place);
    assert_ptr_equal(asks[1].place, place);
    place_drop_ask(place, &asks[1]);
    end(queues, place);
    queues_free(queues);
}

static void count_one(void *arg, struct queue *queue) { (*(size_t *)arg)++; }

static void drop_one(void *arg, struct queue *queue) {
    while (!list_empty(&queue->places)) {
        struct place *place = CONTAINER_OF(queue->places.next, struct place, node);
        place_leave(arg, place);
        place_free(place);
    }
    queue_remove(arg, queue);
}

static void queues__when_many__then_each_visited_once_and_may_be_removed(void **state) {
    struct queues *queues = queues_new();
    char name[16];
    size_t seen = 0;
    for (int i = 0; i < 20000; i++) {
        (void)text_format(name, sizeof name, "n%d", i % 10000);
        (void)add(queues, "h", name, NULL);
    }
    assert_int_equal(queues_count(queues), 10000);
    queues_for_each(queues, count_one, &seen);
    assert_int_equal(seen, 10000);
    queues_for_each(queues, drop_one, queues);
    assert_int_equal(queues_count(queues), 0);
    queues_free(queues);
}

static void count_names(void *arg, struct place *place) { *(size_t *)arg += place->count; }

static void places_of_holder__when_some_have_left__then_those_that_stand_whatever_they_wait_for(void **state) {
    char *names[] = {"a", "b", "c"};
    struct queues *queues = queues_new();
    struct place *one = place_new(queues, "h1", names, 1), *set = place_new(queues, "h1", names + 1, 2);
    struct place *other = place_new(queues, "h2", names, 1);
    size_t count = 0;
    places_of_holder(queues, "h1", count_names, &count);
    assert_int_equal(count, 3);
    place_move(queues, set, "c");
    place_leave(queues, one);
    place_free(one);
    count = 0;
    places_of_holder(queues, "h1", count_names, &count);
    assert_int_equal(count, 2);
    places_of_holder(queues, "h3", count_names, &count);
    assert_int_equal(count, 2);
    place_leave(queues, set);
    place_free(set);
    place_leave(queues, other);
    place_free(other);
    for (size_t i = 0; i < 3; i++) {
        struct queue *queue = queue_find(queues, names[i]);
        if (queue != NULL) queue_remove(queues, queue);
    }
    queues_free(queues);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue__when_places_come__then_first_come_first_served),
        cmocka_unit_test(queue_position__when_far_behind__then_the_length),
        cmocka_unit_test(place_find__when_holder_or_names_differ__then_not_found),
        cmocka_unit_test(place_move__when_others_wait_there__then_it_stands_by_its_age),
        cmocka_unit_test(asks__when_added_and_dropped__then_counted),
        cmocka_unit_test(queues__when_many__then_each_visited_once_and_may_be_removed),
        cmocka_unit_test(places_of_holder__when_some_have_left__then_those_that_stand_whatever_they_wait_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
