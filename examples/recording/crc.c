/* SPDX-License-Identifier: MIT */
#include "crc.h"

#include <pthread.h>

/** table[k][b]: what byte b, k bytes before the end of a group of eight, adds to the CRC. */
static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        table[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t b = 0; b < 256; b++) table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

uint32_t crc32_of(uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    pthread_once(&once, fill);
    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        const uint32_t low = crc ^ (at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
              table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
    }
    for (; bytes; bytes--) crc = crc >> 8 ^ table[0][(crc ^ *at++) & 255];
    return ~crc;
}
