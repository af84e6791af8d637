/* What the INFO reply of a server says about whether we may use it. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SERVER_VERSION_SIZE 32
#define SERVER_POLICY_SIZE 32
#define SERVER_RUN_ID_SIZE 48

struct server_info {
    bool is_master;
    bool is_cluster;
    char version[SERVER_VERSION_SIZE]; /* redis_version; Valkey sends one too */
    int major, minor;
    char run_id[SERVER_RUN_ID_SIZE];   /* of the process; new at each start */
    char eviction[SERVER_POLICY_SIZE]; /* maxmemory_policy; "" when the server does not say */
};

/* The lines of INFO; what is missing stays false, 0 or "". */
struct server_info server_info_parse(const char *text, size_t len);
/* Why this server is refused; NULL when it may be used. */
const char *server_info_refusal(const struct server_info *info);
/* True when the server may throw locks away to free memory. */
bool server_info_may_evict(const struct server_info *info);
