/* tests/bench/reply.c: replies out of any pieces. */
#include "bench/reply.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static const char two[] = "HTTP/1.1 201 Created\r\ncontent-length: 5\r\nX-A: b\r\n\r\nhello"
                          "HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/* Feeds the text in pieces of this size; the statuses of its replies as "201 503 ", or "bad". */
static void read_in_pieces(const char *text, size_t piece, char *out, size_t size) {
    struct reply reply = {0};
    size_t len = strlen(text), used = 0;
    out[0] = '\0';
    for (size_t at = 0; at < len; at += used) {
        size_t n = len - at < piece ? len - at : piece;
        enum reply_state state = reply_feed(&reply, text + at, n, &used);
        if (state == REPLY_MORE) assert_int_equal(used, n);
        if (state == REPLY_BAD) {
            snprintf(out, size, "bad");
            return;
        }
        if (state != REPLY_DONE) continue;
        snprintf(out + strlen(out), size - strlen(out), "%d%s ", reply.status, reply.closes ? "c" : "");
        reply_reset(&reply);
    }
}

static void reply_feed__any_pieces__the_same_replies(void **state) {
    char found[64];
    for (size_t piece = 1; piece <= sizeof two; piece++) {
        read_in_pieces(two, piece, found, sizeof found);
        assert_string_equal(found, "201 503c ");
    }
}

static void reply_feed__no_content__has_no_body(void **state) {
    char found[64];
    read_in_pieces("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 7, found,
                   sizeof found);
    assert_string_equal(found, "204 200 ");
}

static void reply_feed__what_it_cannot_read__is_bad(void **state) {
    static const char *const texts[] = {
        "HTTP/1.1 200 OK\r\n\r\n", "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 999 OK\r\nContent-Length: 0\r\n\r\n"};
    char found[64];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        read_in_pieces(texts[i], 1000, found, sizeof found);
        assert_string_equal(found, "bad");
    }
}

static void reply_feed__head_without_end__is_bad(void **state) {
    static char text[REPLY_HEAD_MAX + 2];
    char found[64];
    memset(text, 'a', sizeof text - 1);
    read_in_pieces(text, 500, found, sizeof found);
    assert_string_equal(found, "bad");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reply_feed__any_pieces__the_same_replies),
        cmocka_unit_test(reply_feed__no_content__has_no_body),
        cmocka_unit_test(reply_feed__what_it_cannot_read__is_bad),
        cmocka_unit_test(reply_feed__head_without_end__is_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
