#include "codec/signature.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "whsec_"
#define KEY_NEW 32
#define KEY_MIN 24
#define KEY_MAX 64
#define MAC_SIZE 32

static void require(bool done) {
    if (done) return;
    LOG(LOG_ERROR, "digest-failed", LOGS("algorithm", "HMAC-SHA256"));
    abort();
}

void signature_new_secret(char out[SIGNATURE_SECRET_SIZE]) {
    unsigned char key[KEY_NEW];
    require(RAND_bytes(key, sizeof key) == 1);
    memcpy(out, PREFIX, sizeof PREFIX);
    (void)EVP_EncodeBlock((unsigned char *)out + strlen(PREFIX), key, sizeof key);
    OPENSSL_cleanse(key, sizeof key);
}

/* The decoder counts padding as zero bytes. */
static bool decode_key(const char *secret, unsigned char key[KEY_MAX + 3], size_t *ret_len) {
    if (strncmp(secret, PREFIX, strlen(PREFIX)) != 0) return false;
    const char *text = secret + strlen(PREFIX);
    size_t len = strlen(text);
    if (len == 0 || len % 4 != 0 || len > (KEY_MAX + 2) / 3 * 4) return false;
    int got = EVP_DecodeBlock(key, (const unsigned char *)text, (int)len);
    if (got < 0) return false;
    if (text[len - 1] == '=') got--;
    if (text[len - 2] == '=') got--;
    *ret_len = (size_t)got;
    return got >= KEY_MIN && got <= KEY_MAX;
}

bool signature_make(const char *secret, const struct signed_message *message, char out[SIGNATURE_SIZE]) {
    unsigned char key[KEY_MAX + 3], mac[MAC_SIZE];
    size_t key_len;
    unsigned mac_len = sizeof mac;
    out[0] = '\0';
    if (!decode_key(secret, key, &key_len)) return false;
    AUTO_TEXT content = text_new(0);
    text_addf(&content, "%s.%lld.", message->id, (long long)message->sent_at_s);
    text_add(&content, message->body, message->body_len);
    require(!content.overflow && HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)content.data, content.len,
                                      mac, &mac_len) != NULL);
    OPENSSL_cleanse(key, sizeof key);
    memcpy(out, "v1,", 3);
    (void)EVP_EncodeBlock((unsigned char *)out + 3, mac, MAC_SIZE);
    return true;
}
