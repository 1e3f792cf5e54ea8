/* sha256.h: SHA-256 (FIPS 180-4), by which a page names the only script that it may run. */
#ifndef CHECKER_REPORT_SHA256_H
#define CHECKER_REPORT_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

void sha256(const void *bytes, size_t count, uint8_t digest[SHA256_BYTES]);

#endif
