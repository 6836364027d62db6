/* SPDX-License-Identifier: MIT */
#include "health.h"

#include <stdio.h>

#define OVER_NS 1000000000u
#define EXTREME_PERMILLE 900 /* of the pixels, that make a picture dark or bright */

enum { IMU = 11 }; /* words before those of the IMU, which has a bit for each but VFRONT_IMU_GAP */

static const char *const word[HEALTH_WORDS] = {
    "camera 0 frozen",     "camera 1 frozen",     "camera 0 dark",         "camera 1 dark",   "camera 0 bright",
    "camera 1 bright",     "pictures late",       "stamps irregular",      "tracks are lost", "few tracks",
    "cameras disagree",    "no IMU samples",      "IMU saturated",         "IMU stuck",       "IMU all zero",
    "IMU in g, not m/s^2", "IMU without gravity", "IMU samples too early", "IMU axes wrong",  "IMU in degrees, not rad",
    "IMU clock off"};

/** Faults of the IMU as bits of words from IMU on. */
static uint32_t imu_bits(uint32_t imu)
{
    return ((imu & VFRONT_IMU_MISSING) | (imu & ~(uint32_t)(VFRONT_IMU_MISSING | VFRONT_IMU_GAP)) >> 1) &
           ((1u << (HEALTH_WORDS - IMU)) - 1u);
}

const char *health_imu_words(uint32_t imu, char text[HEALTH_IMU_TEXT])
{
    const uint32_t bits = imu_bits(imu);
    size_t used = 0;
    *text = '\0';
    for (uint32_t i = 0; i < HEALTH_WORDS - IMU; i++)
        if (bits >> i & 1u && used < HEALTH_IMU_TEXT)
            used += (size_t)snprintf(text + used, HEALTH_IMU_TEXT - used, "%s%s", used ? ", " : "", word[IMU + i]);
    return text;
}

/** Words that are so now, a bit each. */
static uint32_t words_of(const vfront_result_t *r)
{
    const vfront_health_t *h = &r->health;
    uint32_t bits = 0;
    for (uint32_t c = 0; c < VFRONT_CAMERAS && c < 2; c++) {
        bits |= (h->frozen[c] != 0) * 1u << c;
        bits |= (h->dark_permille[c] >= EXTREME_PERMILLE) * 4u << c;
        bits |= (h->bright_permille[c] >= EXTREME_PERMILLE) * 16u << c;
    }
    bits |= (h->late != 0) * 64u | (h->irregular != 0) * 128u;
    bits |= (h->state == VFRONT_LOST) * 256u | (h->state == VFRONT_DEGRADED) * 512u;
    bits |= imu_bits(h->imu) << IMU;
    return bits | (h->stereo == VFRONT_STEREO_SUSPECT || r->nav.flags & VFRONT_NAV_ONE_CAMERA) * 1024u;
}

int health_next(health_t *h, const vfront_result_t *r, char text[HEALTH_TEXT], int *is_bad)
{
    const uint32_t now = words_of(r);
    for (uint32_t i = 0; i < HEALTH_WORDS; i++) {
        const uint32_t bit = 1u << i;
        if (now & bit) h->seen[i] = r->t_ns;
        const int is_over = !(now & bit) && (r->t_ns < h->seen[i] || r->t_ns - h->seen[i] >= OVER_NS);
        *is_bad = (now & bit) != 0;
        if (*is_bad == ((h->reported & bit) != 0) || !(*is_bad || is_over)) continue;
        h->reported ^= bit;
        snprintf(text, HEALTH_TEXT, "vision: %s%s", word[i], *is_bad ? "" : ": over");
        return (int)i + 1;
    }
    return 0;
}
