/* SPDX-License-Identifier: MIT
 *
 * CRC-32 as in zlib, PNG and MCAP: polynomial 0x04c11db7 reflected, begun with and ended by all bits inverted.
 */
#ifndef RECORDING_CRC_H
#define RECORDING_CRC_H

#include <stddef.h>
#include <stdint.h>

/** CRC of `bytes` bytes behind those of which `crc` is the CRC; 0 to begin with. */
uint32_t crc32_of(uint32_t crc, const void *data, size_t bytes);

#endif
