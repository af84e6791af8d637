/* A server of one canned answer on loopback, and a client that asks it. */
#include "unit.h"

#include "client/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_MS 10000

struct canned {
    int fd, port, times;
    const char *answer; /* "" = none: the connection stays open until the client ends it */
    pthread_t thread;
    char heard[4096];
};

static void serve_one(struct canned *server, int fd) {
    size_t len = 0;
    ssize_t got = 0;
    char *heard = server->heard;
    memset(heard, 0, sizeof server->heard);
    while (strstr(heard, "\r\n\r\n") == NULL && (got = read(fd, heard + len, sizeof server->heard - 1 - len)) > 0)
        len += (size_t)got;
    (void)!write(fd, server->answer, strlen(server->answer));
    if (server->answer[0] == '\0') (void)!read(fd, heard, 1);
    (void)close(fd);
}

static void *serve(void *arg) {
    struct canned *server = arg;
    for (int i = 0; i < server->times; i++) {
        int fd = accept(server->fd, NULL, NULL);
        if (fd < 0) break;
        serve_one(server, fd);
    }
    return NULL;
}

static struct canned *canned_new(const char *answer, int times) {
    struct canned *server = calloc(1, sizeof *server);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    server->answer = answer;
    server->times = times;
    server->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(server->fd, 5), 0);
    assert_int_equal(getsockname(server->fd, (struct sockaddr *)&at, &len), 0);
    server->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
    return server;
}

static void canned_free(struct canned *server) {
    (void)shutdown(server->fd, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->fd);
    free(server);
}

static struct client_answer ask(enum reach reach, const char *url, struct client_request request) {
    const struct client_options options = {.reach = reach, .agent = "test"};
    struct client *client;
    struct client_answer answer;
    assert_false(failed(client_new(&options, &client)));
    if (request.method == NULL) request.method = "GET";
    if (request.total_ms == 0) request.total_ms = LONG_MS;
    if (request.answer_max == 0) request.answer_max = 100;
    request.connect_ms = LONG_MS;
    request.url = url;
    client_send(client, &request, &answer);
    client_free(client);
    return answer;
}

static const char *url_of(const struct canned *server) {
    static char url[64];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d/a/../b", server->port);
    return url;
}

static void send__when_answered__then_status_body_and_retry_after(void **state) {
    struct canned *server = canned_new("HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nhi", 1);
    static const char *const headers[] = {"X-One: 1", "X-Two: 2"};
    struct client_answer answer =
        ask(REACH_PRIVATE, url_of(server),
            (struct client_request){
                .method = "POST", .headers = headers, .header_count = 2, .body = "{}", .body_len = 2, .wake_fd = -1});
    assert_int_equal(answer.end, CLIENT_ANSWERED);
    assert_int_equal(answer.status, 503);
    assert_int_equal(answer.retry_after_ms, 7000);
    assert_string_equal(text_str(&answer.body), "hi");
    assert_string_equal(answer.trouble, "");
    assert_non_null(strstr(server->heard, "POST /a/../b HTTP/1.1\r\n"));
    assert_non_null(strstr(server->heard, "X-One: 1\r\nX-Two: 2\r\n"));
    client_answer_done(&answer);
    canned_free(server);
}

static void send__when_the_answer_is_too_large__then_cut_with_its_status(void **state) {
    struct canned *server = canned_new("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789", 1);
    struct client_answer answer =
        ask(REACH_ANY, url_of(server), (struct client_request){.answer_max = 4, .wake_fd = -1});
    assert_int_equal(answer.end, CLIENT_CUT);
    assert_int_equal(answer.status, 200);
    assert_string_equal(text_str(&answer.body), "1234");
    client_answer_done(&answer);
    canned_free(server);
}

static void send__when_exactly_the_limit__then_whole(void **state) {
    struct canned *server = canned_new("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1234", 1);
    struct client_answer answer =
        ask(REACH_ANY, url_of(server), (struct client_request){.answer_max = 4, .wake_fd = -1});
    assert_int_equal(answer.end, CLIENT_ANSWERED);
    assert_string_equal(text_str(&answer.body), "1234");
    client_answer_done(&answer);
    canned_free(server);
}

static void send__when_redirected__then_not_followed(void **state) {
    struct canned *server =
        canned_new("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 1);
    struct client_answer answer = ask(REACH_ANY, url_of(server), (struct client_request){.wake_fd = -1});
    assert_int_equal(answer.status, 302);
    client_answer_done(&answer);
    canned_free(server);
}

static void send__when_the_address_is_outside_the_reach__then_refused_and_nothing_sent(void **state) {
    struct canned *server = canned_new("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1);
    char by_name[64], by_number[64];
    (void)snprintf(by_name, sizeof by_name, "http://localhost:%d/", server->port);
    (void)snprintf(by_number, sizeof by_number, "http://2130706433:%d/", server->port);
    const char *const urls[] = {url_of(server), by_name, by_number};
    for (size_t i = 0; i < 3; i++) {
        struct client_answer answer = ask(REACH_PUBLIC, urls[i], (struct client_request){.wake_fd = -1});
        assert_int_equal(answer.end, CLIENT_REFUSED);
        assert_int_equal(answer.status, 0);
        assert_string_equal(answer.trouble, "the address may not be asked from here");
        client_answer_done(&answer);
    }
    assert_string_equal(server->heard, "");
    canned_free(server);
}

static void send__when_another_scheme__then_refused(void **state) {
    struct client_answer answer = ask(REACH_ANY, "file:///etc/hostname", (struct client_request){.wake_fd = -1});
    assert_int_equal(answer.end, CLIENT_REFUSED);
    assert_string_not_equal(answer.trouble, "");
    client_answer_done(&answer);
}

static void send__when_no_answer_in_time__then_none(void **state) {
    struct canned *server = canned_new("", 1);
    struct client_answer answer =
        ask(REACH_ANY, url_of(server), (struct client_request){.total_ms = 50, .wake_fd = -1});
    assert_int_equal(answer.end, CLIENT_NO_ANSWER);
    assert_string_not_equal(answer.trouble, "");
    client_answer_done(&answer);
    canned_free(server);
}

static void send__when_woken__then_broken_off(void **state) {
    struct canned *server = canned_new("", 1);
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    struct client_answer answer = ask(REACH_ANY, url_of(server), (struct client_request){.wake_fd = pipe_fds[0]});
    assert_int_equal(answer.end, CLIENT_BROKEN_OFF);
    assert_int_equal(answer.status, 0);
    client_answer_done(&answer);
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
    canned_free(server);
}

static void add_segment__when_odd_bytes__then_percent_encoded(void **state) {
    AUTO_TEXT url = text_new(0);
    client_add_segment(&url, "a/b c\xc3\xbc.-_~");
    assert_string_equal(text_str(&url), "a%2Fb%20c%C3%BC.-_~");
}

static void url_problem__when_it_may_be_asked__then_none(void **state) {
    static const char *const urls[] = {"https://example.com/hooks?a=b", "http://example.com:8080", "HTTPS://1.1.1.1/",
                                       "https://[2606:4700::1111]/"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) assert_null(client_url_problem(urls[i], REACH_PUBLIC));
    assert_null(client_url_problem("http://localhost:1/", REACH_PRIVATE));
    assert_null(client_url_problem("http://10.0.0.1/", REACH_PRIVATE));
}

static void url_problem__when_it_may_not__then_a_sentence(void **state) {
    static const char *const urls[] = {
        "",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_x",
        "http://",
        "http://user:pass@example.com/",
        "http://169.254.169.254/latest",
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[fe80::1%25eth0]/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://api.localhost/",
        "http://0/",
        "http://exa mple.com/",
    };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++)
        if (client_url_problem(urls[i], REACH_PUBLIC) == NULL) fail_msg("%s", urls[i]);
    assert_non_null(client_url_problem("http://169.254.169.254/", REACH_PRIVATE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(send__when_answered__then_status_body_and_retry_after),
        cmocka_unit_test(send__when_the_answer_is_too_large__then_cut_with_its_status),
        cmocka_unit_test(send__when_exactly_the_limit__then_whole),
        cmocka_unit_test(send__when_redirected__then_not_followed),
        cmocka_unit_test(send__when_the_address_is_outside_the_reach__then_refused_and_nothing_sent),
        cmocka_unit_test(send__when_another_scheme__then_refused),
        cmocka_unit_test(send__when_no_answer_in_time__then_none),
        cmocka_unit_test(send__when_woken__then_broken_off),
        cmocka_unit_test(add_segment__when_odd_bytes__then_percent_encoded),
        cmocka_unit_test(url_problem__when_it_may_be_asked__then_none),
        cmocka_unit_test(url_problem__when_it_may_not__then_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
