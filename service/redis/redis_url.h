/* redis://[user:password@]host[:port][/database] */
#pragma once

#include "base/result.h"

#define REDIS_HOST_SIZE 256
#define REDIS_CREDENTIAL_SIZE 512
#define REDIS_PORT_DEFAULT 6379
#define REDIS_DATABASE_MAX 65535

struct redis_url {
    char host[REDIS_HOST_SIZE]; /* name or numeric address, IPv6 without brackets */
    int port;
    char user[REDIS_CREDENTIAL_SIZE];     /* "" = the default user */
    char password[REDIS_CREDENTIAL_SIZE]; /* "" = no AUTH */
    int database;
};

/* User and password are percent-decoded. INVALID_REQUEST: then *ret_problem says what is wrong (static text, without
   any part of the url, which holds a secret). */
RESULT redis_url_parse(const char *url, struct redis_url *ret, const char **ret_problem);
