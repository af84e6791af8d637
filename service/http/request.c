/* A request before its answer: what it says, and whether it may be asked. The checks run in the order of a table, from
 * the cheapest that says most: target and route, token, scope, site; the body's limit and kind come when it is there.
 */
#include "http/internal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "codec/json.h"
#include "domain/limits.h"
#include "http/site.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* Open routes of a service with tokens, asked without one. */
static const struct credential nobody = {.name = "anonymous", .scopes = 0};

static const struct {
    const char *name;
    size_t len;
} known_headers[KNOWN_COUNT] = {
#define KNOWN(index, name) [index] = {name, sizeof name - 1}
    KNOWN(KNOWN_AUTHORIZATION, "Authorization"),
    KNOWN(KNOWN_CONTENT_ENCODING, "Content-Encoding"),
    KNOWN(KNOWN_CONTENT_LENGTH, "Content-Length"),
    KNOWN(KNOWN_CONTENT_TYPE, "Content-Type"),
    KNOWN(KNOWN_COOKIE, "Cookie"),
    KNOWN(KNOWN_EXPECT, "Expect"),
    KNOWN(KNOWN_HOST, "Host"),
    KNOWN(KNOWN_ORIGIN, "Origin"),
    KNOWN(KNOWN_REQUEST_ID, "X-Request-Id"),
    KNOWN(KNOWN_FETCH_SITE, "Sec-Fetch-Site"),
    KNOWN(KNOWN_TRANSFER_ENCODING, "Transfer-Encoding"),
#undef KNOWN
};

/* -- life */

struct request *request_new(struct client *client, struct MHD_Connection *connection, const char *raw_target) {
    size_t size = strlen(raw_target) + 1;
    struct request *request = mem_new(sizeof *request + size);
    request->http = client->listener->http;
    request->client = client;
    request->connection = connection;
    request->received_us = clock_mono_us();
    request->body = text_new(BODY_MAX);
    request->credential = &nobody;
    request->match.label = "unmatched";
    list_init(&request->node);
    memcpy(request->raw_target, raw_target, size);
    request->http->active++;
    return request;
}

struct request *request_free(struct request *request) {
    request->http->active--;
    loop_watch_free(request->watch);
    list_remove(&request->node);
    text_done(&request->body);
    request->stream = stream_free(request->stream);
    if (request->reply != NULL) reply_done(request->reply);
    free(request->reply);
    free(request);
    return NULL;
}

/* -- headers */

/* A NUL in a header ends it for us and not for others: what cannot be read in one way only is refused. */
static enum MHD_Result header_note(void *cls, enum MHD_ValueKind kind, const char *name, size_t len, const char *value,
                                   size_t value_len) {
    struct request *request = cls;
    request->records++;
    if (strlen(name) != len || (value != NULL && strlen(value) != value_len)) request->ambiguous = true;
    if (kind != MHD_HEADER_KIND) return MHD_YES;
    for (int i = 0; i < KNOWN_COUNT; i++) {
        if (len != known_headers[i].len || strcasecmp(name, known_headers[i].name) != 0) continue;
        if (request->known_count[i] == 0) request->known[i] = value ? value : "";
        if (request->known_count[i] < UINT8_MAX) request->known_count[i]++;
    }
    return MHD_YES;
}

static enum http_method method_parse(const char *name) {
    for (int method = HTTP_GET; method < HTTP_OTHER; method++)
        if (strcmp(name, http_method_name(method)) == 0) return method;
    return HTTP_OTHER;
}

static bool is_sane_id(const char *id) {
    size_t len = strlen(id);
    return len >= 1 && len < REQUEST_ID_SIZE &&
           strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == len;
}

static void id_take(struct request *request) {
    const char *sent = request->known[KNOWN_REQUEST_ID];
    if (sent && is_sane_id(sent))
        memcpy(request->id, sent, strlen(sent) + 1);
    else
        text_uuid(request->id);
}

/* Two lengths, or a length and chunks, can be read in two ways by two servers; and a coding we do not know has no end
 * that we could find (RFC 9112 §6.3). */
static bool headers_are_clear(const struct request *request) {
    const char *coding = request->known[KNOWN_TRANSFER_ENCODING];
    unsigned lengths = request->known_count[KNOWN_CONTENT_LENGTH];
    if (lengths > 1 || request->known_count[KNOWN_HOST] > 1 || request->ambiguous) return false;
    if (!coding) return true;
    return lengths == 0 && request->known_count[KNOWN_TRANSFER_ENCODING] == 1 && strcasecmp(coding, "chunked") == 0;
}

/* MHD keeps the headers, a record for each of them and the reply's headers in one pool. A request that left no room
 * for its reply would be executed, and then its connection closed without a word. */
static bool leaves_room(const struct request *request) {
    const size_t record_size = 72; /* the larger of MHD's versions */
    const char *cookie = request->known[KNOWN_COOKIE];
    size_t used = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
    used += request->records * record_size + (cookie ? strlen(cookie) : 0);
    return used + REPLY_ROOM <= CONNECTION_MEMORY;
}

/* -- checks: each finds nothing, or sets the refusal */

static void refuse(struct request *request, enum error error, const char *detail) {
    request->refusal = error;
    request->refusal_detail = detail;
}

static void answer_refusal(struct request *request) {
    if (request->refusal != ERROR_INVALID_REQUEST) {
        request_problem(request, request->refusal, request->refusal_detail, NULL);
        return;
    }
    AUTO_TEXT extras = text_new(0);
    struct field_errors errors = {0};
    field_errors_add(&errors, request->refusal_pointer, "%s", request->refusal_detail);
    field_errors_write(&extras, &errors);
    request_problem(request, request->refusal, request->refusal_detail, text_str(&extras));
}

static void check_route(struct request *request) {
    if (failed(target_decode(request->raw_target, &request->target))) {
        refuse(request, ERROR_INVALID_REQUEST, "the request target is malformed");
        return;
    }
    struct result found =
        router_find(request->client->listener->router, request->method, &request->target, &request->match);
    if (!request->match.label) request->match.label = "unmatched";
    if (failed(found)) refuse(request, (enum error)found.code, NULL);
}

static bool is_open(const struct request *request) { return request->match.route->flags & ROUTE_OPEN; }

static void check_token(struct request *request) {
    const struct credential *found = NULL;
    if (request->known_count[KNOWN_AUTHORIZATION] <= 1)
        found = access_find(request->http->options.access, request->known[KNOWN_AUTHORIZATION]);
    if (found)
        request->credential = found;
    else if (!is_open(request))
        refuse(request, ERROR_UNAUTHENTICATED, NULL);
}

static void check_scope(struct request *request) {
    const struct route *route = request->match.route;
    uint32_t wanted = route->scopes | (route->method == HTTP_GET ? SCOPE_READ : 0);
    if (is_open(request) || route->scopes == 0 || credential_may(request->credential, wanted)) return;
    refuse(request, ERROR_FORBIDDEN, "the credential lacks the scope");
}

static void check_site(struct request *request) {
    if (is_open(request) || !access_is_anonymous(request->http->options.access)) return;
    if (!site_is_loopback(request->known[KNOWN_HOST]))
        refuse(request, ERROR_FORBIDDEN, "without a token, Host must be a loopback name");
    else if (!site_is_own(request->known[KNOWN_ORIGIN], request->known[KNOWN_FETCH_SITE]))
        refuse(request, ERROR_FORBIDDEN, "without a token, no requests from other sites");
}

/* A parameter that would be ignored may be one that the caller counts on. */
static void check_query(struct request *request) {
    const char *name = request_query_name(request, 0);
    if (name == NULL || (request->match.route->flags & (ROUTE_QUERY | ROUTE_OPEN)) != 0) return;
    (void)text_format(request->refusal_pointer, sizeof request->refusal_pointer, "?%s", name);
    refuse(request, ERROR_INVALID_REQUEST, "unknown query parameter");
}

/* What Content-Length says; 0 when there is none, INT64_MAX when it is no number we can hold. */
static int64_t declared_length(const struct request *request) {
    int64_t length;
    const char *sent = request->known[KNOWN_CONTENT_LENGTH];
    if (!sent) return 0;
    return text_parse_i64(sent, strlen(sent), &length) ? length : INT64_MAX;
}

static void check_length(struct request *request) {
    if (declared_length(request) > BODY_MAX) refuse(request, ERROR_BODY_TOO_LARGE, NULL);
}

/* A refused body is read off, so that the connection lives; not when it is huge, or the client waits for our word. */
static bool is_worth_reading_off(const struct request *request) {
    return !request->known[KNOWN_EXPECT] && declared_length(request) <= (int64_t)DRAIN_MAX;
}

static void run_checks(struct request *request) {
    static void (*const checks[])(struct request *) = {check_route, check_token, check_scope,
                                                       check_site,  check_query, check_length};
    for (size_t i = 0; i < sizeof checks / sizeof *checks && !request->refusal; i++) checks[i](request);
    if (request->refusal && !is_worth_reading_off(request)) answer_refusal(request);
}

bool request_admit(struct request *request, const char *method) {
    const int all = MHD_HEADER_KIND | MHD_COOKIE_KIND;
    request->stage = STAGE_BODY;
    request->method = method_parse(method);
    MHD_get_connection_values_n(request->connection, (enum MHD_ValueKind)all, header_note, request);
    id_take(request);
    if (!leaves_room(request))
        request_reply(request, reply_new(MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE)); /* as MHD itself does */
    else if (!headers_are_clear(request))
        request_problem(request, ERROR_INVALID_REQUEST, "the headers can be read in more than one way", NULL);
    else
        run_checks(request);
    return request->stage != STAGE_REPLIED;
}

/* -- the body's kind */

static bool is_type(const char *content_type, const char *type) {
    size_t len = strlen(type);
    if (strncasecmp(content_type, type, len) != 0) return false;
    const char *rest = content_type + len + strspn(content_type + len, " \t");
    return *rest == '\0' || *rest == ';';
}

/* What `curl -d` sends: begins like an object; the decoder decides whether it is one, and says where it is not. */
static bool looks_like_object(const struct text *body) { return body->data[strspn(body->data, " \t\r\n")] == '{'; }

static void check_media_type(struct request *request) {
    const char *type = request->known[KNOWN_CONTENT_TYPE];
    const char *coding = request->known[KNOWN_CONTENT_ENCODING];
    if (request->body.len == 0) return;
    bool plain = !coding || strcasecmp(coding, "identity") == 0;
    if (plain && type && is_type(type, "application/json")) return;
    if (plain && type && is_type(type, "application/x-www-form-urlencoded") && looks_like_object(&request->body))
        return;
    refuse(request, ERROR_UNSUPPORTED_MEDIA, NULL);
}

/* -- the endpoint */

void request_run(struct request *request) {
    request->stage = STAGE_RUNNING;
    if (!request->refusal) check_media_type(request);
    if (request->refusal) {
        answer_refusal(request);
        return;
    }
    request->http->begun++;
    request->match.route->fn(request);
    if (request->stage != STAGE_RUNNING) return;
    LOG(LOG_ERROR, "http.no-reply", LOGS("requestId", request->id), LOGS("route", request->match.label));
    request_problem(request, ERROR_INTERNAL, NULL, NULL);
}

/* -- what endpoints ask */

enum http_method request_method(const struct request *request) { return request->method; }

void *request_app(const struct request *request) { return request->http->options.app; }

const char *request_param(const struct request *request, unsigned index) {
    return index < request->match.param_count ? request->match.params[index] : "";
}

const char *request_query_name(const struct request *request, unsigned index) {
    return index < request->target.param_count ? request->target.params[index].name : NULL;
}

const char *request_query(const struct request *request, const char *name) {
    return target_param(&request->target, name);
}

const char *request_header(const struct request *request, const char *name) {
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

struct header_count {
    const char *name;
    unsigned count;
};

static enum MHD_Result header_count(void *cls, enum MHD_ValueKind kind, const char *name, const char *value) {
    struct header_count *counter = cls;
    if (strcasecmp(name, counter->name) == 0) counter->count++;
    return MHD_YES;
}

unsigned request_header_count(const struct request *request, const char *name) {
    struct header_count counter = {.name = name};
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, header_count, &counter);
    return counter.count;
}

const char *request_body(const struct request *request, size_t *ret_len) {
    *ret_len = request->body.len;
    return text_str(&request->body);
}

const struct credential *request_credential(const struct request *request) { return request->credential; }

const char *request_id(const struct request *request) { return request->id; }

/* W3C Trace Context §3.2.2, version 00: 00-<32 hex>-<16 hex>-<2 hex>, ids not all zero. */
static bool is_traceparent(const char *s) {
    static const char shape[] = "00-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
    if (strlen(s) != sizeof shape - 1) return false;
    for (size_t i = 0; shape[i]; i++)
        if (shape[i] == 'x' ? !strchr("0123456789abcdef", s[i]) : s[i] != shape[i]) return false;
    return strspn(s + 3, "0") < 32 && strspn(s + 36, "0") < 16;
}

const char *request_traceparent(const struct request *request) {
    const char *sent = request_header(request, "traceparent");
    return sent && is_traceparent(sent) ? sent : "";
}

const char *request_route(const struct request *request) { return request->match.label; }

void request_peer(const struct request *request, char out[REQUEST_PEER_SIZE]) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    out[0] = '\0';
    if (info == NULL || info->client_addr == NULL) return;
    socklen_t size =
        info->client_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (getnameinfo(info->client_addr, size, out, REQUEST_PEER_SIZE, NULL, 0, NI_NUMERICHOST) != 0) out[0] = '\0';
}

/* Bytes of a next request may lie there; an end of the stream or an error is what a hang-up leaves. */
bool request_is_here(const struct request *request) {
    if (fault_on(FAULT_NO_HANGUP_WATCH)) return true;
    if (request->parked_ms == 0) return true; /* its endpoint still runs: its bytes were read just now */
    char byte;
    ssize_t got = recv(request->client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

int64_t request_received_ms(const struct request *request) { return request->received_us / 1000; }
