/* `lockstock healthcheck`: GET /healthz over a plain socket, for images without curl. */
#include "app.h"

#include "base/text.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define TIMEOUT_S 3

/* "[::1]:8080" → "::1", "8080"; wildcard addresses are asked on loopback. */
static bool split_address(const char *address, char *host, size_t host_size, char *port, size_t port_size) {
    const char *colon = strrchr(address, ':');
    if (colon == NULL) return false;
    size_t len = (size_t)(colon - address);
    if (len >= 2 && address[0] == '[') address++, len -= 2;
    bool wild = len == 0 || strncmp(address, "0.0.0.0", len) == 0 || strncmp(address, "::", len) == 0;
    bool fits =
        wild ? text_format(host, host_size, "127.0.0.1") : text_format(host, host_size, "%.*s", (int)len, address);
    return fits && text_copy(port, port_size, colon + 1);
}

static int connect_to(const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0) return -1;
    int fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol);
    struct timeval timeout = {TIMEOUT_S, 0};
    if (fd >= 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
        if (connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
            (void)close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

static bool answers_200(int fd) {
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    char head[13] = "";
    if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) != (ssize_t)(sizeof request - 1)) return false;
    return recv(fd, head, sizeof head - 1, MSG_WAITALL) == (ssize_t)(sizeof head - 1) && strcmp(head + 8, " 200") == 0;
}

int app_healthcheck(const struct config *config) {
    char host[256], port[16];
    const char *address = config->admin_listen[0] != '\0' ? config->admin_listen : config->listen;
    if (!split_address(address, host, sizeof host, port, sizeof port)) return 1;
    int fd = connect_to(host, port);
    if (fd < 0) return 1;
    bool alive = answers_200(fd);
    (void)close(fd);
    return alive ? 0 : 1;
}
