/* Signatures of Standard Webhooks 1.0.0 (https://www.standardwebhooks.com): HMAC-SHA256 over "id.timestamp.body" with
   the bytes a secret stands for. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNATURE_SECRET_SIZE 51 /* "whsec_", 44 characters, NUL */
#define SIGNATURE_SIZE 48        /* "v1,", 44 characters, NUL */

/* "whsec_" and the base64 of 32 random bytes. */
void signature_new_secret(char out[SIGNATURE_SECRET_SIZE]);

struct signed_message {
    const char *id;    /* the same at each attempt; has no '.' */
    int64_t sent_at_s; /* Unix seconds of this attempt: receivers refuse what is five minutes old */
    const char *body;  /* exactly what is sent */
    size_t body_len;
};
/* "v1,<base64>" into out. False: the secret is not "whsec_" and base64 of 24 to 64 bytes; out is then "". */
bool signature_make(const char *secret, const struct signed_message *message, char out[SIGNATURE_SIZE]);
