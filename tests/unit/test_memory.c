/* Memory is zeroed, sizes are checked, and exhaustion ends the process with one line. */
#include "base/memory.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void mem_new__when_asked__then_zeroed(void **state) {
    AUTO_FREE char *p = mem_new(4096);
    for (size_t i = 0; i < 4096; i++) assert_int_equal(p[i], 0);
    AUTO_FREE void *nothing = mem_new(0);
    assert_non_null(nothing);
}

static void mem_array__when_asked__then_zeroed_and_as_long(void **state) {
    AUTO_FREE int64_t *p = mem_array(100, sizeof *p);
    for (size_t i = 0; i < 100; i++) assert_int_equal(p[i], 0);
}

static void mem_grow__when_grown__then_content_stays(void **state) {
    char *p = mem_copy("abc", 3);
    p = mem_grow(p, 100, 10);
    assert_string_equal(p, "abc");
    memset(p, 'x', 1000);
    free(p);
}

static void mem_copy__when_copied__then_ends_with_nul(void **state) {
    AUTO_FREE char *p = mem_copy("abcdef", 3);
    assert_string_equal(p, "abc");
    AUTO_FREE char *empty = mem_copy(NULL, 0);
    assert_string_equal(empty, "");
}

static void take__when_taken__then_the_owner_forgets(void **state) {
    AUTO_FREE char *owner = mem_copy("abc", 3);
    char *taken = TAKE(owner);
    assert_null(owner);
    assert_string_equal(taken, "abc");
    free(taken);
}

static void mem_free_p__when_called__then_pointer_is_null(void **state) {
    void *p = mem_new(8);
    mem_free_p(&p);
    assert_null(p);
    mem_free_p(&p);
}

/* Runs in a child: what it wrote, and whether it ended by abort. */
static bool aborts(void (*fn)(void), char *output, size_t size) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        signal(SIGABRT, SIG_DFL);
        fn();
        _exit(0);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], output, size - 1);
    output[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static volatile size_t half = SIZE_MAX / 2;
static void overflowing_array(void) { free(mem_array(half, 3)); }
static void overflowing_grow(void) { free(mem_grow(NULL, half, 3)); }

static void mem_array__when_size_overflows__then_process_ends_with_a_line(void **state) {
    char output[512];
    assert_true(aborts(overflowing_array, output, sizeof output));
    assert_non_null(strstr(output, "\"event\":\"out-of-memory\""));
    assert_true(aborts(overflowing_grow, output, sizeof output));
    assert_non_null(strstr(output, "\"event\":\"out-of-memory\""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mem_new__when_asked__then_zeroed),
        cmocka_unit_test(mem_array__when_asked__then_zeroed_and_as_long),
        cmocka_unit_test(mem_grow__when_grown__then_content_stays),
        cmocka_unit_test(mem_copy__when_copied__then_ends_with_nul),
        cmocka_unit_test(take__when_taken__then_the_owner_forgets),
        cmocka_unit_test(mem_free_p__when_called__then_pointer_is_null),
        cmocka_unit_test(mem_array__when_size_overflows__then_process_ends_with_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
