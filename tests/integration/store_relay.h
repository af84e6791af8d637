/* A TCP relay in front of the test's server that can be away, so that a server "goes down" and "comes back" without one
   being stopped. One thread; connections are cut when it stops. */
#pragma once

#include "store/db.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define RELAY_PAIRS_MAX 16

struct relay {
    struct db_options server;
    uint16_t port;
    pthread_t thread;
    atomic_bool stop;
    int listener;
    int ends[RELAY_PAIRS_MAX * 2]; /* [2i] the client's, [2i + 1] the server's */
    int count;
};

__attribute__((unused)) static int relay_dial(const struct db_options *o) {
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_port = htons(o->port)};
    if (o->socket[0] != '\0') {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        memcpy(path.sun_path, o->socket, strlen(o->socket) + 1);
        return connect(fd, (struct sockaddr *)&path, sizeof path) == 0 ? fd : -1;
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (inet_pton(AF_INET, strcmp(o->host, "localhost") == 0 ? "127.0.0.1" : o->host, &tcp.sin_addr) != 1) return -1;
    return connect(fd, (struct sockaddr *)&tcp, sizeof tcp) == 0 ? fd : -1;
}

__attribute__((unused)) static int relay_listen(uint16_t *port) {
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 16) != 0) return -1;
    getsockname(fd, (struct sockaddr *)&at, &len);
    *port = ntohs(at.sin_port);
    return fd;
}

__attribute__((unused)) static void relay_accept(struct relay *relay) {
    int client = accept(relay->listener, NULL, NULL);
    int server = relay->count < RELAY_PAIRS_MAX ? relay_dial(&relay->server) : -1;
    if (server < 0) {
        close(client);
        return;
    }
    relay->ends[relay->count * 2] = client;
    relay->ends[relay->count * 2 + 1] = server;
    relay->count++;
}

/* Passes on what is there; an end of file is passed on by closing both ways. */
__attribute__((unused)) static void relay_pass(const struct relay *relay, int end) {
    char buffer[65536];
    ssize_t n = recv(relay->ends[end], buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0 && send(relay->ends[end ^ 1], buffer, (size_t)n, MSG_NOSIGNAL) == n) return;
    shutdown(relay->ends[end], SHUT_RDWR);
    shutdown(relay->ends[end ^ 1], SHUT_RDWR);
}

__attribute__((unused)) static void *relay_main(void *arg) {
    struct relay *relay = arg;
    struct pollfd fds[1 + RELAY_PAIRS_MAX * 2];
    bool dead[RELAY_PAIRS_MAX * 2] = {false};
    while (!atomic_load(&relay->stop)) {
        int ends = relay->count * 2;
        fds[0] = (struct pollfd){.fd = relay->listener, .events = POLLIN};
        for (int i = 0; i < ends; i++)
            fds[1 + i] = (struct pollfd){.fd = dead[i] ? -1 : relay->ends[i], .events = POLLIN};
        if (poll(fds, (nfds_t)ends + 1, 5) <= 0) continue;
        for (int i = 0; i < ends; i++) {
            if (fds[1 + i].revents != 0) relay_pass(relay, i);
            dead[i] |= (fds[1 + i].revents & POLLHUP) != 0;
        }
        if (fds[0].revents != 0) relay_accept(relay);
    }
    return NULL;
}

/* port 0 = any; false when it cannot listen. */
__attribute__((unused)) static bool relay_start(struct relay *relay, const struct db_options *server, uint16_t port) {
    relay->server = *server;
    relay->port = port;
    relay->count = 0;
    atomic_init(&relay->stop, false);
    relay->listener = relay_listen(&relay->port);
    return relay->listener >= 0 && pthread_create(&relay->thread, NULL, relay_main, relay) == 0;
}

__attribute__((unused)) static void relay_stop(struct relay *relay) {
    atomic_store(&relay->stop, true);
    pthread_join(relay->thread, NULL);
    close(relay->listener);
    for (int i = 0; i < relay->count * 2; i++) close(relay->ends[i]);
}
