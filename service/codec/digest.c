/* SHA-256 by libcrypto. The algorithm is looked up once: each look-up takes a lock that all threads share. A libcrypto
   that has no SHA-256 or no memory is a fault of the deployment and ends the process. */
#include "codec/digest.h"

#include "base/log.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>

static EVP_MD *sha256; /* kept for the process's life */
static pthread_once_t sha256_once = PTHREAD_ONCE_INIT;

static void sha256_fetch(void) { sha256 = EVP_MD_fetch(NULL, "SHA256", NULL); }

static void require(bool done) {
    if (done) return;
    LOG(LOG_ERROR, "digest-failed", LOGS("algorithm", "SHA-256"));
    abort();
}

void digest_parts(const struct digest_part *parts, size_t count, unsigned char out[DIGEST_SIZE]) {
    require(pthread_once(&sha256_once, sha256_fetch) == 0 && sha256 != NULL);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    require(context != NULL && EVP_DigestInit_ex2(context, sha256, NULL) == 1);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) require(EVP_DigestUpdate(context, "", 1) == 1);
        require(EVP_DigestUpdate(context, parts[i].data, parts[i].len) == 1);
    }
    require(EVP_DigestFinal_ex(context, out, NULL) == 1);
    EVP_MD_CTX_free(context);
}

void digest_bytes(const void *data, size_t len, unsigned char out[DIGEST_SIZE]) {
    const struct digest_part part = {data, len};
    digest_parts(&part, 1, out);
}
