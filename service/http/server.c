/* MHD inside the loop: listeners, when MHD runs, start and stop.
 *
 * MHD runs when its epoll descriptor is readable, and once more at the end of a turn for all that was answered in it:
 * resumed connections are nowhere in its epoll set, so without that run they would wait for a stranger's packet. As
 * long as MHD says it has more to do without waiting (MHD_get_timeout 0) it runs again, RUNS_MAX times before the rest
 * of the loop gets its turn. It also runs again when a connection has closed: MHD listens again after its limit only at
 * the start of a run, and closes at the end of one. MHD's own time limits are off (patrol.c has ours, which dripping
 * does not restart), so MHD never asks for a timer. */
#include "http/internal.h"

#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN_BACKLOG 1024
#define STOP_RUNS_MAX 100 /* MHD_run calls that http_free gives the last answers */

/* -- running MHD */

static bool has_work(const struct listener *listener) {
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    return MHD_get_timeout(listener->daemon, &timeout_ms) == MHD_YES && timeout_ms == 0;
}

static void listener_run(struct listener *listener) {
    listener->again = true;
    for (int i = 0; i < RUNS_MAX && listener->again; i++) {
        listener->closed = false;
        MHD_run(listener->daemon);
        listener->again = listener->closed || has_work(listener);
    }
}

static void on_readable(void *arg, int events) { listener_run(arg); }

static void on_turn(void *arg) {
    struct http *http = arg;
    uint64_t begun = http->begun;
    bool resumed = parking_resume(http, RESUMES_MAX);
    bool again = false;
    for (size_t i = 0; i < http->listener_count; i++) {
        struct listener *listener = &http->listeners[i];
        if (resumed || listener->again) listener_run(listener);
        again = again || listener->again;
    }
    /* Endpoints called just now may have left work to turn callbacks that had theirs before us. */
    if (again || !list_empty(&http->ready) || http->begun != begun) loop_spin(http->loop);
}

/* -- sockets */

/* "host:port", "[v6]:port" → host and port; false when there is no port. */
static bool address_split(const char *listen, char *host, size_t host_size, const char **ret_port) {
    const char *colon = strrchr(listen, ':');
    if (!colon) return false;
    size_t len = (size_t)(colon - listen);
    bool bracketed = len >= 2 && listen[0] == '[' && listen[len - 1] == ']';
    *ret_port = colon + 1;
    return text_format(host, host_size, "%.*s", (int)(bracketed ? len - 2 : len), listen + bracketed);
}

static RESULT address_find(const char *listen, struct addrinfo **ret) {
    char host[128];
    const char *port;
    struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    int64_t number;
    if (!address_split(listen, host, sizeof host, &port)) FAIL(UNAVAILABLE, EINVAL);
    /* getaddrinfo takes a larger number modulo 65536. */
    if (!text_parse_i64(port, strlen(port), &number) || number < 0 || number > UINT16_MAX) FAIL(UNAVAILABLE, EINVAL);
    if (getaddrinfo(*host ? host : NULL, port, &hints, ret) != 0) FAIL(UNAVAILABLE, EADDRNOTAVAIL);
    return OK;
}

static bool socket_prepare(int fd, const struct addrinfo *address, bool reuse_port) {
    const int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
           (!reuse_port || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0) &&
           setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
           bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, LISTEN_BACKLOG) == 0;
}

static RESULT socket_listen(const char *listen, bool reuse_port, int *ret) {
    struct addrinfo *address;
    TRY(address_find(listen, &address));
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool ready = fd >= 0 && socket_prepare(fd, address, reuse_port);
    int native = errno;
    freeaddrinfo(address);
    if (ready) {
        *ret = fd;
        return OK;
    }
    if (fd >= 0) close(fd);
    FAIL(UNAVAILABLE, native);
}

static uint16_t socket_port(int fd) {
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof address;
    getsockname(fd, (struct sockaddr *)&address, &size);
    if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

/* -- listeners */

static void on_library_log(void *arg, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
static void on_library_log(void *arg, const char *format, va_list args) {
    char line[256];
    if (!log_is_on(LOG_DEBUG)) return;
    vsnprintf(line, sizeof line, format, args);
    line[strcspn(line, "\n")] = '\0';
    LOG(LOG_DEBUG, "http.library", LOGS("text", line));
}

static struct MHD_Daemon *daemon_start(struct listener *listener, int fd) {
    const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    const struct http_options *options = &listener->http->options;
    return MHD_start_daemon(flags, 0, NULL, NULL, handler_on_access, NULL,                 /* */
                            MHD_OPTION_EXTERNAL_LOGGER, on_library_log, NULL,              /* */
                            MHD_OPTION_LISTEN_SOCKET, fd,                                  /* */
                            MHD_OPTION_CONNECTION_LIMIT, options->connections_max,         /* */
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,         /* */
                            MHD_OPTION_URI_LOG_CALLBACK, handler_on_target, NULL,          /* */
                            MHD_OPTION_UNESCAPE_CALLBACK, handler_on_unescape, NULL,       /* */
                            MHD_OPTION_NOTIFY_CONNECTION, handler_on_connection, listener, /* */
                            MHD_OPTION_NOTIFY_COMPLETED, handler_on_completed, NULL,       /* */
                            MHD_OPTION_END);
}

/* MHD takes fd, also when it fails. */
static RESULT listener_start(struct listener *listener, int fd) {
    listener->daemon = daemon_start(listener, fd);
    if (!listener->daemon) FAIL(UNAVAILABLE, ENOMEM);
    int epoll_fd = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    listener->watch = loop_watch_new(listener->http->loop, epoll_fd, on_readable, listener);
    loop_watch_set(listener->watch, LOOP_READ);
    listener->again = true; /* the first run puts the listening socket into MHD's epoll set */
    return OK;
}

static RESULT listener_open(struct http *http, const char *listen, enum router_side side) {
    int fd;
    TRY(socket_listen(listen, http->options.reuse_port, &fd));
    struct listener *listener = &http->listeners[http->listener_count++];
    listener->http = http;
    listener->router = router_new(http->options.routes, http->options.route_count, side);
    if (http->port == 0) http->port = socket_port(fd);
    return listener_start(listener, fd);
}

static void listener_quiesce(struct listener *listener) {
    if (!listener->daemon) return;
    int fd = MHD_quiesce_daemon(listener->daemon);
    if (fd >= 0) close(fd);
}

static void listener_close(struct listener *listener) {
    listener->watch = loop_watch_free(listener->watch);
    if (listener->daemon) MHD_stop_daemon(listener->daemon);
    listener->router = router_free(listener->router);
}

/* -- the server */

static RESULT listeners_open(struct http *http) {
    const char *admin = http->options.admin_listen;
    bool has_admin = admin && *admin;
    TRY(listener_open(http, http->options.listen, has_admin ? ROUTER_PUBLIC : ROUTER_ALL));
    return has_admin ? listener_open(http, admin, ROUTER_ADMIN) : OK;
}

RESULT http_new(struct loop *loop, const struct http_options *options, struct http **ret) {
    struct http *http = mem_new(sizeof *http);
    http->loop = loop;
    http->options = *options;
    patrol_start(http);
    loop_on_turn(loop, on_turn, http);
    struct result result = listeners_open(http);
    if (failed(result))
        http_free(http);
    else
        *ret = http;
    return result;
}

void http_quiesce(struct http *http) {
    if (http->quiescing) return;
    http->quiescing = true;
    for (size_t i = 0; i < http->listener_count; i++) listener_quiesce(&http->listeners[i]);
}

size_t http_active(const struct http *http) { return http->active; }

/* MHD refuses to stop while a connection is suspended. */
static void listeners_finish(struct http *http) {
    for (int i = 0; i < STOP_RUNS_MAX && parking_resume(http, SIZE_MAX); i++)
        for (size_t k = 0; k < http->listener_count; k++) listener_run(&http->listeners[k]);
}

struct http *http_free(struct http *http) {
    if (!http) return NULL;
    http_quiesce(http);
    patrol_stop(http);
    listeners_finish(http);
    for (size_t i = 0; i < http->listener_count; i++) listener_close(&http->listeners[i]);
    loop_off_turn(http->loop, on_turn, http);
    free(http);
    return NULL;
}

uint16_t http_port(const struct http *http) { return http->port; }
