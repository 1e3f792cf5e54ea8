/*
 * seal.h: a shared secret, and what proves that somebody knows it: HMAC-SHA256, by libcrypto.
 *
 *     seal_read_secret("/run/secrets/picklock", &secret, why);
 *     seal_make(&secret, parts, 2, mac);      over the parts, one after the other
 *     seal_equal(mac, other)                  in a time that tells nothing
 *
 * The only file that knows OpenSSL. A secret never appears in a message, a log or a sentence.
 */
#ifndef HARNESS_REAL_SEAL_H
#define HARNESS_REAL_SEAL_H

#include "base/result.h"
#include "base/text.h"
#include "harness/cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEAL_BYTES = 32, SEAL_PARTS_MAX = 4 };

struct seal_part {
    const void *data;
    size_t bytes;
};

/* The MAC of `count` parts; their lengths are of the caller's format and must not be ambiguous. */
void seal_make(const struct cluster_secret *secret, const struct seal_part *parts, size_t count,
               uint8_t mac[SEAL_BYTES]);
bool seal_equal(const uint8_t a[SEAL_BYTES], const uint8_t b[SEAL_BYTES]);

/* Bytes that nobody can guess. */
void seal_random(uint8_t *bytes, size_t count);

/*
 * The file's bytes without a last line end. ERROR_USAGE where it cannot be read, or holds fewer
 * than CLUSTER_SECRET_BYTES_MIN bytes or too many.
 */
MUST_USE struct result seal_read_secret(const char *path, struct cluster_secret *secret,
                                        struct text *why);

/*
 * Make the file, of bytes that nobody can guess, for its owner only; one that is there stays. Of
 * several who do so at once one wins, and all read the same.
 */
MUST_USE struct result seal_make_secret(const char *path, struct text *why);

#endif
