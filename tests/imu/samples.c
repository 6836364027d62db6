/* SPDX-License-Identifier: MIT */
/* Samples kept over frames, beside a list of all samples ever given: those around each step are the same ones, with
 * at most VF_SAMPLES_EARLIER before the step. Drawn rates, frame times, gaps, restarts, and times that go back. */
#include "tests/fixture/random.h"

#include <string.h>

#include "imu/samples.h"

enum { ROUNDS = 400, FRAMES = 40, MOST = FRAMES * 40 };

static struct vf_samples samples;
static vfront_imu_t given[MOST]; /* all samples of a round */
static uint32_t total;           /* number of these */

/** Whole number in 0..n - 1. */
static uint64_t draw(uint64_t n) { return roll64() % n; }

/** Index of the last sample at or before a time, at least `first`. */
static uint32_t last_until(uint32_t first, uint64_t t_ns)
{
    uint32_t i = first;
    while (i + 1 < total && given[i + 1].t_ns <= t_ns) i++;
    return i;
}

/** Gives samples from the last one on up to a time; often at most two, now and then none. */
static void give(uint64_t until_ns)
{
    const uint32_t most = total + (uint32_t)draw(draw(3) ? 33 : 3);
    uint64_t t_ns = total ? given[total - 1].t_ns : 1;
    while (total < most && (t_ns += 200000 + draw(9000000)) <= until_ns) {
        given[total].t_ns = t_ns;
        given[total].gyro_rad_s[0] = 0.001 * total;
        given[total++].accel_m_s2[2] = 9.81;
    }
}

static void round_of_frames(int number)
{
    const vfront_imu_noise_t noise = {.gravity_m_s2 = 9.81, .rate_hz = 200.0};
    uint64_t from_ns = 0, to_ns = 100000000;
    uint32_t forgotten = 0, kept = 0; /* index of the first sample not forgotten; of the first one kept */
    memset(&samples, 0, sizeof samples);
    for (int frame = 0; frame < FRAMES; frame++) {
        const int restart = !frame || !draw(12);
        const uint32_t before = total;
        to_ns += draw(20) ? 1000000u + draw(60000000) : 0;
        to_ns -= draw(20) ? 0 : 3000000u;
        give(to_ns + draw(20000000));
        if (restart) forgotten = kept = before;
        if (restart) from_ns = to_ns;
        vf_samples_append(&samples, &noise, total > before ? &given[before] : NULL, total - before, UINT64_MAX, 1,
                          restart);
        vf_samples_select(&samples, from_ns, to_ns);
        uint32_t count;
        const vfront_imu_t *around = vf_samples_around(&samples, &count);
        const uint32_t step = last_until(kept, from_ns), own = to_ns > from_ns && total > kept;
        const uint32_t first = step - forgotten > VF_SAMPLES_EARLIER ? step - VF_SAMPLES_EARLIER : forgotten;
        REQUIRE(count == (own ? total - first : 0), "round %d, frame %d: %u samples\n", number, frame, count);
        REQUIRE(!count || !memcmp(around, &given[first], count * sizeof *around), "round %d, frame %d\n", number,
                frame);
        vf_samples_keep(&samples);
        if (total > kept) kept = last_until(kept, to_ns);
        if (restart) forgotten = kept;
        from_ns = to_ns;
    }
}

static void around_steps(void **unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        shake((uint64_t)i + 1);
        total = 0;
        round_of_frames(i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(around_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
