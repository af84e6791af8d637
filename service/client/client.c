/* The multi interface is there for curl_multi_poll, which waits for the network and for the caller's descriptor at the
   same time: a transfer can so be broken off at once. */
#include "client/client.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLL_MS_MAX 1000 /* the library's own timers wake it earlier; nothing depends on it */

struct client {
    struct client_options options;
    CURLM *multi;
    CURL *easy;
    bool fresh;   /* the last request had no answer: its connection is not to be trusted */
    bool refused; /* an address was outside the reach */
};

/* Not thread-safe in every build of the library, and never undone: other clients may live. */
static void start_library(void) { (void)curl_global_init(CURL_GLOBAL_DEFAULT); }

struct client *client_free(struct client *client) {
    if (client == NULL) return NULL;
    if (client->easy != NULL) curl_easy_cleanup(client->easy);
    if (client->multi != NULL) (void)curl_multi_cleanup(client->multi);
    free(client);
    return NULL;
}

RESULT client_new(const struct client_options *options, struct client **ret) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, start_library);
    struct client *client = mem_new(sizeof *client);
    client->options = *options;
    client->multi = curl_multi_init();
    client->easy = curl_easy_init();
    if (client->multi == NULL || client->easy == NULL) {
        client_free(client);
        FAIL(INTERNAL, 0);
    }
    *ret = client;
    return OK;
}

void client_answer_done(struct client_answer *answer) { text_done(&answer->body); }

/* -- what the library calls */

static size_t on_body(char *data, size_t size, size_t count, void *arg) {
    struct client_answer *answer = arg;
    size_t room = answer->body.limit - 1 - answer->body.len, len = size * count;
    text_add(&answer->body, data, len < room ? len : room);
    if (len > room) answer->end = CLIENT_CUT;
    return len > room ? 0 : len;
}

static curl_socket_t on_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to) {
    struct client *client = arg;
    if (!address_is_allowed(&to->addr, client->options.reach)) {
        client->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* -- one request */

static void set_request(CURL *easy, const struct client_request *request) {
    if (request->body != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)request->body_len);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
    }
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    (void)curl_easy_setopt(easy, CURLOPT_URL, request->url);
    (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* ".." is a name like any other */
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
}

static void set_limits(CURL *easy, const struct client_request *request) {
    int64_t connect_ms = request->connect_ms < request->total_ms ? request->connect_ms : request->total_ms;
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->total_ms);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* a look-up that hangs holds nobody up */
}

static void set_client(struct client *client) {
    (void)curl_easy_setopt(client->easy, CURLOPT_USERAGENT, client->options.agent);
    (void)curl_easy_setopt(client->easy, CURLOPT_FRESH_CONNECT, client->fresh ? 1L : 0L);
    if (client->options.ca_file != NULL) (void)curl_easy_setopt(client->easy, CURLOPT_CAINFO, client->options.ca_file);
    if (client->options.reach == REACH_ANY) return;
    (void)curl_easy_setopt(client->easy, CURLOPT_PROXY, ""); /* it would look up the name itself, out of our sight */
    (void)curl_easy_setopt(client->easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
    (void)curl_easy_setopt(client->easy, CURLOPT_OPENSOCKETDATA, client);
}

static void set_answer(CURL *easy, struct client_answer *answer) {
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, answer->trouble); /* CURL_ERROR_SIZE is 256 */
}
_Static_assert(sizeof((struct client_answer *)0)->trouble >= CURL_ERROR_SIZE, "curl writes that much");

/* Until the transfer is over or broken off; its code. */
static CURLcode drive(struct client *client, int wake_fd, struct client_answer *answer) {
    struct curl_waitfd wake = {.fd = wake_fd, .events = CURL_WAIT_POLLIN};
    unsigned int extra = wake_fd >= 0 ? 1 : 0;
    for (;;) {
        int running, left;
        if (curl_multi_perform(client->multi, &running) != CURLM_OK) return CURLE_FAILED_INIT;
        const CURLMsg *message = curl_multi_info_read(client->multi, &left);
        if (message != NULL && message->msg == CURLMSG_DONE) return message->data.result;
        wake.revents = 0;
        (void)curl_multi_poll(client->multi, &wake, extra, POLL_MS_MAX, NULL);
        if (wake.revents == 0) continue;
        answer->end = CLIENT_BROKEN_OFF;
        return CURLE_ABORTED_BY_CALLBACK;
    }
}

/* A cut body ends the transfer with an error of its own: the status came before it. */
static enum client_end end_of(const struct client *client, CURLcode code, enum client_end so_far) {
    if (code == CURLE_OK) return CLIENT_ANSWERED;
    if (so_far != CLIENT_NO_ANSWER) return so_far;
    bool refused = client->refused && code == CURLE_COULDNT_CONNECT;
    refused = refused || code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT;
    return refused ? CLIENT_REFUSED : CLIENT_NO_ANSWER;
}

static void fill_in(struct client *client, CURLcode code, struct client_answer *answer) {
    long status = 0;
    curl_off_t retry_after_s = 0;
    client->fresh = code != CURLE_OK;
    answer->end = end_of(client, code, answer->end);
    if (answer->end == CLIENT_ANSWERED || answer->end == CLIENT_CUT) {
        (void)curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
        (void)curl_easy_getinfo(client->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
        answer->status = (int)status;
        if (retry_after_s > 0) answer->retry_after_ms = retry_after_s * 1000;
        answer->trouble[0] = '\0';
    } else if (client->refused && answer->end == CLIENT_REFUSED) {
        (void)text_copy(answer->trouble, sizeof answer->trouble, "the address may not be asked from here");
    } else if (answer->trouble[0] == '\0') {
        (void)text_copy(answer->trouble, sizeof answer->trouble, curl_easy_strerror(code));
    }
}

void client_send(struct client *client, const struct client_request *request, struct client_answer *ret) {
    struct curl_slist *headers = NULL;
    *ret = (struct client_answer){.end = CLIENT_NO_ANSWER, .retry_after_ms = -1};
    ret->body = text_new(request->answer_max + 1);
    for (size_t i = 0; i < request->header_count; i++) headers = curl_slist_append(headers, request->headers[i]);
    client->refused = false;
    curl_easy_reset(client->easy);
    set_request(client->easy, request);
    set_limits(client->easy, request);
    set_client(client);
    set_answer(client->easy, ret);
    (void)curl_easy_setopt(client->easy, CURLOPT_HTTPHEADER, headers);
    (void)curl_multi_add_handle(client->multi, client->easy);
    CURLcode code = drive(client, request->wake_fd, ret);
    fill_in(client, code, ret);
    (void)curl_multi_remove_handle(client->multi, client->easy);
    curl_slist_free_all(headers);
}

/* -- URLs */

void client_add_segment(struct text *url, const char *segment) {
    char *escaped = curl_easy_escape(NULL, segment, 0);
    text_add_str(url, escaped);
    curl_free(escaped);
}

static bool ends_with(const char *text, const char *end) {
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcasecmp(text + len - end_len, end) == 0;
}

/* A literal address, as the library has normalised it: IPv4 in any of its spellings, IPv6 in brackets. */
static const char *host_problem(const char *host, enum reach reach) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    char inner[INET6_ADDRSTRLEN] = "";
    const struct sockaddr *literal = NULL;
    if (host[0] == '[') (void)text_format(inner, sizeof inner, "%.*s", (int)strcspn(host + 1, "]%"), host + 1);
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) literal = (const struct sockaddr *)&v4;
    if (inet_pton(AF_INET6, inner, &v6.sin6_addr) == 1) literal = (const struct sockaddr *)&v6;
    if (literal != NULL) return address_is_allowed(literal, reach) ? NULL : "must not name an address of this network";
    bool here = strcasecmp(host, "localhost") == 0 || ends_with(host, ".localhost") || ends_with(host, "localhost.");
    return here && reach == REACH_PUBLIC ? "must not name this machine" : NULL;
}

static const char *parts_problem(CURLU *parts, enum reach reach) {
    char *scheme = NULL, *host = NULL, *user = NULL;
    const char *problem = "must be an http or https URL";
    bool whole = curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                 curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    if (whole && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0)) problem = host_problem(host, reach);
    if (curl_url_get(parts, CURLUPART_USER, &user, 0) == CURLUE_OK) problem = "must not carry a user or password";
    curl_free(scheme);
    curl_free(host);
    curl_free(user);
    return problem;
}

const char *client_url_problem(const char *url, enum reach reach) {
    CURLU *parts = curl_url();
    const char *problem = "must be an http or https URL";
    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK) problem = parts_problem(parts, reach);
    curl_url_cleanup(parts);
    return problem;
}
