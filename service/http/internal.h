/* What the files of http/ share. Private to http/; loop thread.

   A connection waits for a request line, receives a request, has it handled, takes the reply, and waits again. Each of
   these but the handling has a time limit; the connection stands in the list of its phase, oldest first.

   A request goes through its stages in this order:

     HEADERS → BODY → RUNNING ─────────────→ REPLIED ─────────→ SENT
                         └──→ PARKED ──────────↑ └─→ STREAMING ──↑
                                └──→ GONE ←───────────┘       the client hung up, or the server stops

   1 Nothing is answered in HEADERS (MHD would close the connection after it), except what must close it.
   2 MHD has the connection suspended exactly while the request stands in http.parked, http.watched or http.ready. A
     stream stands there while it has nothing to send.
   3 request.watch is set only in http.watched. It is freed before the connection is resumed, hence before MHD can close
     the descriptor and the kernel can give its number to another. */
#pragma once

#include "base/list.h"
#include "base/text.h"
#include "http/request.h"
#include "http/router.h"
#include "http/server.h"
#include "http/target.h"
#include "loop/loop.h"

#include <microhttpd.h>

#define LISTENERS_MAX 2
#define HANGUP_WATCH_AFTER_MS 50         /* a request parked longer has its socket watched; most are answered before */
#define PATROL_PERIOD_MS 250             /* how late a time limit may strike */
#define DRAIN_MAX ((size_t)16 << 20)     /* bytes of a refused body that are read off before we hang up */
#define CONNECTION_MEMORY ((size_t)8192) /* headers of a request and of its reply; MHD clears it for every request */
#define REPLY_ROOM ((size_t)1536)        /* of it, kept for the reply's headers and the start of a next request */
#define RESUMES_MAX 16 /* parked requests answered in one turn: then the loop looks at Redis and the workers again */
#define RUNS_MAX 8     /* MHD_run calls in a row before other parts of the loop get their turn */

enum phase { PHASE_WAITING, PHASE_RECEIVING, PHASE_SENDING, PHASE_COUNT, PHASE_HANDLING = PHASE_COUNT };

struct listener {
    struct http *http;
    struct MHD_Daemon *daemon;
    struct loop_watch *watch;
    struct router *router;
    bool again;  /* MHD has work that is not waiting for a descriptor */
    bool closed; /* a connection has closed in this run */
};

struct client {
    struct list node; /* in http.phases[…]; in none while its request is handled */
    struct listener *listener;
    int fd;
    int64_t since_ms; /* of the phase */
};

struct http {
    struct loop *loop;
    struct http_options options;
    struct listener listeners[LISTENERS_MAX];
    size_t listener_count;
    struct list phases[PHASE_COUNT]; /* struct client, oldest first */
    int64_t phase_max_ms[PHASE_COUNT];
    struct list parked, watched, ready;  /* struct request; parked: oldest first */
    struct list streams;                 /* struct stream */
    struct loop_timer *patrol, *parking; /* time limits; watches for parked requests */
    uint16_t port;
    bool quiescing;
    bool stopping; /* no stream is suspended any more */
    size_t active;
    uint64_t begun; /* endpoints called, ever */
    unsigned batch; /* parked since the last batch */
};

enum stage {
    STAGE_HEADERS,
    STAGE_BODY,
    STAGE_RUNNING,
    STAGE_PARKED,
    STAGE_REPLIED,
    STAGE_STREAMING,
    STAGE_SENT,
    STAGE_GONE
};

/* Headers we look at ourselves, found in one pass. */
enum known_header {
    KNOWN_AUTHORIZATION,
    KNOWN_CONTENT_ENCODING,
    KNOWN_CONTENT_LENGTH,
    KNOWN_CONTENT_TYPE,
    KNOWN_COOKIE,
    KNOWN_EXPECT,
    KNOWN_HOST,
    KNOWN_ORIGIN,
    KNOWN_REQUEST_ID,
    KNOWN_FETCH_SITE,
    KNOWN_TRANSFER_ENCODING,
    KNOWN_COUNT
};

struct request {
    struct http *http;
    struct client *client;
    struct MHD_Connection *connection;
    struct list node; /* in http.parked, http.watched or http.ready */
    enum stage stage;
    enum http_method method;
    int64_t received_us, parked_ms;
    const char *known[KNOWN_COUNT];
    uint8_t known_count[KNOWN_COUNT];
    size_t records; /* MHD's: headers and cookies */
    struct router_match match;
    const struct credential *credential;
    bool ambiguous;     /* a header holds a NUL */
    enum error refusal; /* found before the endpoint; answered when the body is read off */
    const char *refusal_detail;
    char refusal_pointer[80]; /* what INVALID_REQUEST names; "" = the request as a whole */
    enum error error;         /* of the problem it was answered with, for the log */
    size_t drained;           /* bytes of a refused body */
    struct text body;
    struct reply *reply;   /* from REPLIED on: a parked request does without its room */
    struct stream *stream; /* its reply goes on */
    int64_t streamed_us;   /* when the headers of such a reply went out */
    struct loop_watch *watch;
    void (*on_gone)(void *arg);
    void *gone_arg;
    void (*on_sent)(void *arg, bool whole);
    void *sent_arg;
    char id[REQUEST_ID_SIZE];
    struct target target;
    char raw_target[]; /* what target points into */
};

/* -- request.c */
/* Called with the raw target, before anything else of a request is known. */
struct request *request_new(struct client *client, struct MHD_Connection *connection, const char *raw_target);
struct request *request_free(struct request *request);
/* The headers are there: finds id, route and credential, or the reason to refuse. False when it has answered already:
 * the message is such that the connection must end with the answer. */
bool request_admit(struct request *request, const char *method);
/* The body is there too: its kind is checked, the endpoint or the refusal answers. */
void request_run(struct request *request);

/* -- response.c */
/* Queues request.reply with MHD. False when MHD would not have it. */
bool response_send(struct request *request);
void reply_done(struct reply *reply);

/* -- stream.c */
struct stream *stream_free(struct stream *stream);
/* Begun, and neither ended by its writer nor gone. */
bool stream_is_open(const struct request *request);
struct MHD_Response *stream_response(struct request *request);
/* Cuts off who takes nothing, and shows the others that their streams live. */
void streams_patrol(struct http *http, int64_t now_ms);

/* -- patrol.c */
void patrol_start(struct http *http);
void patrol_stop(struct http *http);
void client_enter(struct client *client, enum phase phase);
/* The connection of a request that stays unanswered is suspended. */
void parking_begin(struct request *request);
/* It has its answer, or is gone: to be resumed at the end of the turn. */
void parking_end(struct request *request);
/* The client hung up or the server stops: tells the endpoint. */
void request_gone(struct request *request);
/* Gives what is ready back to MHD, at most max. True when there were any. */
bool parking_resume(struct http *http, size_t max);

/* -- handler.c: what MHD calls */
void *handler_on_target(void *cls, const char *raw_target, struct MHD_Connection *connection);
enum MHD_Result handler_on_access(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *data_len, void **request);
void handler_on_completed(void *cls, struct MHD_Connection *connection, void **request,
                          enum MHD_RequestTerminationCode why);
void handler_on_connection(void *cls, struct MHD_Connection *connection, void **client,
                           enum MHD_ConnectionNotificationCode what);
size_t handler_on_unescape(void *cls, struct MHD_Connection *connection, char *text);
