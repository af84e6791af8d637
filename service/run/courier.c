/* One thread, one transfer. The multi interface is there for curl_multi_poll, which waits for the network and for our
   pipe at the same time; a transfer can so be broken off at once.

   The bearer token is read from its file for each call: files that are rotated need no restart, and a file system that
   hangs holds up this thread alone. */
#include "run/courier.h"

#include "base/clock.h"
#include "base/memory.h"

#include <curl/curl.h>
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
#define IDLE_MS 60000 /* nothing depends on it: new calls and sockets wake the poll */
#define END_MS 300

struct courier {
    pthread_t thread;
    int to_thread[2], from_thread[2]; /* pipes of struct letter *: [0] read, [1] write */
    char *url, *token_header, *token_file, *ca_file;
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers; /* of the call on its way */
    struct letter *current;
    bool fresh; /* the last call failed: its connection is not to be trusted */
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

static size_t on_body(char *data, size_t size, size_t count, void *arg) {
    struct text *reply = arg;
    text_add(reply, data, size * count);
    return reply->overflow ? 0 : size * count;
}

/* The file's first line as a header; false: it says why. */
static bool add_bearer(struct courier *c, struct letter *letter) {
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
    AUTO_TEXT header = text_new(0);
    text_addf(&header, "Authorization: Bearer %s", line);
    c->headers = curl_slist_append(c->headers, text_str(&header));
    return true;
}

static bool make_headers(struct courier *c, struct letter *letter) {
    c->headers = curl_slist_append(NULL, c->token_header);
    c->headers = curl_slist_append(c->headers, "Content-Type: application/json");
    return c->token_file == NULL || add_bearer(c, letter);
}

static void set_method(struct courier *c, const struct letter *letter) {
    static const char *const methods[] = {"PUT", "PATCH", "DELETE"};
    if (letter->method != LETTER_DELETE) {
        (void)curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE, (long)letter->body.len);
        (void)curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, text_str(&letter->body));
    }
    (void)curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, methods[letter->method]);
}

static void set_url(struct courier *c, const struct letter *letter) {
    AUTO_TEXT url = text_new(0);
    text_add_str(&url, c->url);
    if (letter->fence > 0) text_addf(&url, "?fence=%lld", (long long)letter->fence);
    (void)curl_easy_setopt(c->easy, CURLOPT_URL, text_str(&url));
    (void)curl_easy_setopt(c->easy, CURLOPT_PATH_AS_IS, 1L); /* ".." is a name like any other */
    (void)curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (c->ca_file != NULL) (void)curl_easy_setopt(c->easy, CURLOPT_CAINFO, c->ca_file);
}

static void set_limits(struct courier *c, struct letter *letter) {
    long timeout_ms = (long)letter->timeout_ms;
    (void)curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, timeout_ms);
    (void)curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS,
                           timeout_ms < CONNECT_MS_MAX ? timeout_ms : (long)CONNECT_MS_MAX);
    (void)curl_easy_setopt(c->easy, CURLOPT_FRESH_CONNECT, c->fresh ? 1L : 0L);
    (void)curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, &letter->reply);
    (void)curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, letter->trouble); /* CURL_ERROR_SIZE is 256 */
    (void)curl_easy_setopt(c->easy, CURLOPT_USERAGENT, "lockstock-run");
}
_Static_assert(sizeof((struct letter *)0)->trouble >= CURL_ERROR_SIZE, "curl writes that much");

static void hand_back(struct courier *c) {
    struct letter *letter = TAKE(c->current);
    curl_slist_free_all(TAKE(c->headers));
    c->fresh = letter->status == 0;
    (void)!write(c->from_thread[1], &letter, sizeof letter);
}

static void begin(struct courier *c, struct letter *letter) {
    c->current = letter;
    if (!make_headers(c, letter)) {
        hand_back(c);
        return;
    }
    curl_easy_reset(c->easy);
    set_method(c, letter);
    set_url(c, letter);
    set_limits(c, letter);
    (void)curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
    (void)curl_multi_add_handle(c->multi, c->easy);
}

static void end(struct courier *c, CURLcode code) {
    struct letter *letter = c->current;
    long status = 0;
    curl_off_t retry_after_s = 0;
    (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    letter->status = code == CURLE_OK ? (int)status : 0;
    if (code == CURLE_OK && retry_after_s > 0) letter->retry_after_ms = retry_after_s * 1000;
    if (code != CURLE_OK && letter->trouble[0] == '\0')
        (void)text_format(letter->trouble, sizeof letter->trouble, "%s", curl_easy_strerror(code));
    (void)curl_multi_remove_handle(c->multi, c->easy);
    hand_back(c);
}

static void drop(struct courier *c) {
    if (c->current == NULL) return;
    c->current->dropped = true;
    end(c, CURLE_ABORTED_BY_CALLBACK);
}

/* -- the thread: its loop */

/* False: the other side has closed its end. */
static bool take_next(struct courier *c) {
    struct letter *letter;
    if (read(c->to_thread[0], &letter, sizeof letter) != (ssize_t)sizeof letter) return false;
    drop(c);
    begin(c, letter);
    return true;
}

static void drive(struct courier *c) {
    int running, left;
    (void)curl_multi_perform(c->multi, &running);
    const CURLMsg *message = curl_multi_info_read(c->multi, &left);
    if (message != NULL && message->msg == CURLMSG_DONE) end(c, message->data.result);
}

static void *courier_main(void *arg) {
    struct courier *c = arg;
    struct curl_waitfd wake = {.fd = c->to_thread[0], .events = CURL_WAIT_POLLIN};
    (void)pthread_setname_np(pthread_self(), "courier");
    do {
        drive(c);
        wake.revents = 0;
        (void)curl_multi_poll(c->multi, &wake, 1, IDLE_MS, NULL);
    } while (wake.revents == 0 || take_next(c));
    drop(c);
    const struct letter *last_word = NULL;
    (void)!write(c->from_thread[1], &last_word, sizeof last_word);
    return NULL;
}

/* -- the other side */

static char *copy_or_null(const char *text) { return text != NULL ? mem_copy(text, strlen(text)) : NULL; }

static char *url_of(CURL *easy, const struct courier_terms *terms) {
    AUTO_TEXT url = text_new(0);
    size_t len = strlen(terms->url);
    while (len > 0 && terms->url[len - 1] == '/') len--;
    char *segment = curl_easy_escape(easy, terms->name, 0);
    text_add(&url, terms->url, len);
    text_addf(&url, "/v1/locks/%s", segment);
    curl_free(segment);
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
    if (c->easy != NULL) curl_easy_cleanup(c->easy);
    if (c->multi != NULL) (void)curl_multi_cleanup(c->multi);
    free(c->url);
    free(c->token_header);
    free(c->token_file);
    free(c->ca_file);
    free(c);
    curl_global_cleanup();
}

static RESULT courier_open(struct courier *c, const struct courier_terms *terms) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) FAIL(INTERNAL, 0);
    c->multi = curl_multi_init();
    c->easy = curl_easy_init();
    if (c->multi == NULL || c->easy == NULL) FAIL(INTERNAL, 0);
    if (pipe2(c->to_thread, O_CLOEXEC) != 0) FAIL(INTERNAL, errno);
    if (pipe2(c->from_thread, O_CLOEXEC | O_NONBLOCK) != 0) FAIL(INTERNAL, errno);
    c->url = url_of(c->easy, terms);
    c->token_header = token_header_of(terms->token);
    c->token_file = copy_or_null(terms->token_file);
    c->ca_file = copy_or_null(terms->ca_file);
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
