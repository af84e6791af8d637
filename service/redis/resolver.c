/* getaddrinfo blocks for as long as the system's resolver likes, so it runs on a detached thread of its own. Thread
   and loop share nothing but a socket pair: the thread owns a copy of the question and one end, writes the address or
   nothing, and closes. A resolver that is freed early closes the other end, and the thread's write fails unheard. */
#include "redis/resolver.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdlib.h>

enum { ADDRESS_SIZE = 64 };

struct resolver {
    struct loop_watch *watch;
    int fd;
    void (*fn)(void *arg, const char *address);
    void *arg;
};

/* Owned by the thread. */
struct question {
    int fd;
    unsigned attempt;
    char host[];
};

bool resolver_is_numeric(const char *host) {
    struct in6_addr address;
    return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

static const struct addrinfo *pick(const struct addrinfo *found, unsigned attempt) {
    unsigned count = 0;
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next) count++;
    for (unsigned skip = attempt % count; skip > 0; skip--) found = found->ai_next;
    return found;
}

static void ask(const struct question *question) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    if (getaddrinfo(question->host, NULL, &hints, &found) != 0) return;
    const struct addrinfo *chosen = pick(found, question->attempt);
    char address[ADDRESS_SIZE];
    if (getnameinfo(chosen->ai_addr, chosen->ai_addrlen, address, sizeof address, NULL, 0, NI_NUMERICHOST) == 0)
        (void)!send(question->fd, address, strlen(address), MSG_NOSIGNAL);
    freeaddrinfo(found);
}

static void *run(void *arg) {
    struct question *question = arg;
    (void)pthread_setname_np(pthread_self(), "resolver");
    ask(question);
    close(question->fd);
    free(question);
    return NULL;
}

/* Without a thread the closed end tells "no address". */
static void start_thread(const char *host, unsigned attempt, int fd) {
    size_t len = strlen(host);
    struct question *question = mem_new(sizeof *question + len + 1);
    question->fd = fd;
    question->attempt = attempt;
    memcpy(question->host, host, len);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, question) == 0) {
        pthread_detach(thread);
        return;
    }
    close(fd);
    free(question);
}

static void on_answer(void *arg, int events) {
    (void)events;
    struct resolver *resolver = arg;
    char address[ADDRESS_SIZE];
    ssize_t got = recv(resolver->fd, address, sizeof address - 1, MSG_DONTWAIT);
    if (got > 0) address[got] = '\0';
    loop_watch_set(resolver->watch, 0);
    resolver->fn(resolver->arg, got > 0 ? address : NULL);
}

struct resolver *resolver_start(struct loop *loop, const char *host, unsigned attempt,
                                void (*fn)(void *arg, const char *address), void *arg) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return NULL;
    struct resolver *resolver = mem_new(sizeof *resolver);
    *resolver = (struct resolver){.fd = pair[0], .fn = fn, .arg = arg};
    resolver->watch = loop_watch_new(loop, resolver->fd, on_answer, resolver);
    loop_watch_set(resolver->watch, LOOP_READ);
    start_thread(host, attempt, pair[1]);
    return resolver;
}

struct resolver *resolver_free(struct resolver *resolver) {
    if (resolver == NULL) return NULL;
    resolver->watch = loop_watch_free(resolver->watch);
    close(resolver->fd);
    free(resolver);
    return NULL;
}
