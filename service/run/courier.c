/* One thread, one call. A call is broken off as soon as there is something in the thread's pipe: the next letter, or
   its end.

   The bearer token is read from its file for each call: files that are rotated need no restart, and a file system that
   hangs holds up this thread alone. */
#include "run/courier.h"

#include "base/clock.h"
#include "base/memory.h"
#include "client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPLY_MAX ((size_t)65536)
#define BEARER_MAX 8192
#define CONNECT_MS_MAX 5000
#define END_MS 300

struct courier {
    pthread_t thread;
    int to_thread[2], from_thread[2]; /* pipes of struct letter *: [0] read, [1] write */
    char *url, *token_header, *token_file, *ca_file;
    struct client *client; /* the thread's, once it runs */
};

struct letter *letter_new(enum letter_method method, int64_t fence, int64_t timeout_ms) {
    struct letter *letter = mem_new(sizeof *letter);
    *letter = (struct letter){.method = method, .fence = fence, .timeout_ms = timeout_ms, .retry_after_ms = -1};
    letter->body = text_new(0);
    letter->reply = text_new(REPLY_MAX);
    return letter;
}

struct letter *letter_free(struct letter *letter) {
    if (letter == NULL) return NULL;
    text_done(&letter->body);
    text_done(&letter->reply);
    free(letter);
    return NULL;
}

/* -- the thread: one call */

/* The file's first line as a header; false: it says why. */
static bool add_bearer(const struct courier *c, struct letter *letter, struct text *header) {
    char line[BEARER_MAX + 1];
    int fd = open(c->token_file, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
    if (fd >= 0) (void)close(fd);
    size_t len = got > 0 ? strcspn((line[got] = '\0', line), "\r\n") : 0;
    line[len] = '\0';
    if (len == 0 || !text_is_printable_utf8(line, len)) {
        (void)text_format(letter->trouble, sizeof letter->trouble, "no token can be read from %s", c->token_file);
        return false;
    }
    text_addf(header, "Authorization: Bearer %s", line);
    return true;
}

static void take_over(struct letter *letter, struct client_answer *answer) {
    letter->dropped = answer->end == CLIENT_BROKEN_OFF;
    letter->status = answer->end == CLIENT_CUT ? 0 : answer->status;
    if (letter->status != 0) letter->retry_after_ms = answer->retry_after_ms;
    const char *trouble = answer->end == CLIENT_CUT ? "the answer is too long" : answer->trouble;
    (void)text_copy(letter->trouble, sizeof letter->trouble, trouble);
    text_add(&letter->reply, text_str(&answer->body), answer->body.len);
}

static void carry(struct courier *c, struct letter *letter) {
    static const char *const methods[] = {"PUT", "PATCH", "DELETE"};
    AUTO_TEXT url = text_new(0);
    AUTO_TEXT bearer = text_new(0);
    if (c->token_file != NULL && !add_bearer(c, letter, &bearer)) return;
    text_add_str(&url, c->url);
    if (letter->fence > 0) text_addf(&url, "?fence=%lld", (long long)letter->fence);
    const char *headers[] = {c->token_header, "Content-Type: application/json", text_str(&bearer)};
    struct client_request request = {.method = methods[letter->method],
                                     .url = text_str(&url),
                                     .headers = headers,
                                     .header_count = c->token_file != NULL ? 3 : 2,
                                     .connect_ms = CONNECT_MS_MAX,
                                     .total_ms = letter->timeout_ms,
                                     .answer_max = REPLY_MAX,
                                     .wake_fd = c->to_thread[0]};
    if (letter->method != LETTER_DELETE) {
        request.body = text_str(&letter->body);
        request.body_len = letter->body.len;
    }
    struct client_answer answer;
    client_send(c->client, &request, &answer);
    take_over(letter, &answer);
    client_answer_done(&answer);
}

/* -- the thread: its loop */

static void *courier_main(void *arg) {
    struct courier *c = arg;
    struct letter *letter;
    (void)pthread_setname_np(pthread_self(), "courier");
    while (read(c->to_thread[0], &letter, sizeof letter) == (ssize_t)sizeof letter) {
        carry(c, letter);
        (void)!write(c->from_thread[1], &letter, sizeof letter);
    }
    const struct letter *last_word = NULL;
    (void)!write(c->from_thread[1], &last_word, sizeof last_word);
    return NULL;
}

/* -- the other side */

static char *copy_or_null(const char *text) { return text != NULL ? mem_copy(text, strlen(text)) : NULL; }

static char *url_of(const struct courier_terms *terms) {
    AUTO_TEXT url = text_new(0);
    size_t len = strlen(terms->url);
    while (len > 0 && terms->url[len - 1] == '/') len--;
    text_add(&url, terms->url, len);
    text_add_str(&url, terms->semaphore ? "/v1/semaphores/" : "/v1/locks/");
    client_add_segment(&url, terms->name);
    return TAKE(url.data);
}

static char *token_header_of(const char *token) {
    AUTO_TEXT header = text_new(0);
    text_addf(&header, "Lock-Token: %s", token);
    return TAKE(header.data);
}

static void courier_free(struct courier *c) {
    for (int i = 0; i < 2; i++) {
        if (c->to_thread[i] >= 0) (void)close(c->to_thread[i]);
        if (c->from_thread[i] >= 0) (void)close(c->from_thread[i]);
    }
    client_free(c->client);
    free(c->url);
    free(c->token_header);
    free(c->token_file);
    free(c->ca_file);
    free(c);
}

static RESULT courier_open(struct courier *c, const struct courier_terms *terms) {
    if (pipe2(c->to_thread, O_CLOEXEC) != 0) FAIL(INTERNAL, errno);
    if (pipe2(c->from_thread, O_CLOEXEC | O_NONBLOCK) != 0) FAIL(INTERNAL, errno);
    c->url = url_of(terms);
    c->token_header = token_header_of(terms->token);
    c->token_file = copy_or_null(terms->token_file);
    c->ca_file = copy_or_null(terms->ca_file);
    const struct client_options options = {.reach = REACH_ANY, .agent = "lockstock-run", .ca_file = c->ca_file};
    TRY(client_new(&options, &c->client));
    int error = pthread_create(&c->thread, NULL, courier_main, c);
    if (error != 0) FAIL(INTERNAL, error);
    return OK;
}

RESULT courier_new(const struct courier_terms *terms, struct courier **ret) {
    struct courier *c = mem_new(sizeof *c);
    *c = (struct courier){.to_thread = {-1, -1}, .from_thread = {-1, -1}};
    struct result opened = courier_open(c, terms);
    if (failed(opened))
        courier_free(c);
    else
        *ret = c;
    return opened;
}

void courier_send(struct courier *courier, struct letter *letter) {
    /* 8 bytes into a pipe that holds thousands: at most two calls are ever under way. */
    (void)!write(courier->to_thread[1], &letter, sizeof letter);
}

int courier_fd(const struct courier *courier) { return courier->from_thread[0]; }

struct letter *courier_take(struct courier *courier) {
    struct letter *letter;
    return read(courier->from_thread[0], &letter, sizeof letter) == (ssize_t)sizeof letter ? letter : NULL;
}

/* Frees what has come; true once the thread has said its last word. */
static bool has_gone(struct courier *c) {
    struct letter *letter;
    while (read(c->from_thread[0], &letter, sizeof letter) == (ssize_t)sizeof letter) {
        if (letter == NULL) return true;
        letter_free(letter);
    }
    return false;
}

bool courier_end(struct courier *courier) {
    int64_t until_ms = clock_mono_ms() + END_MS, left_ms = END_MS;
    struct pollfd news = {.fd = courier->from_thread[0], .events = POLLIN};
    (void)close(courier->to_thread[1]);
    courier->to_thread[1] = -1;
    bool gone = has_gone(courier);
    for (; !gone && left_ms > 0; left_ms = until_ms - clock_mono_ms()) {
        (void)poll(&news, 1, (int)left_ms);
        gone = has_gone(courier);
    }
    if (!gone) return false;
    (void)pthread_join(courier->thread, NULL);
    courier_free(courier);
    return true;
}
