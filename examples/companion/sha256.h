/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (FIPS 180-4) of a message in one piece.
 */
#ifndef COMPANION_SHA256_H
#define COMPANION_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

void sha256(uint8_t digest[SHA256_BYTES], const uint8_t *bytes, size_t count);

#endif
