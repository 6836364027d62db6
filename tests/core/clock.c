/* SPDX-License-Identifier: MIT */
/* Time and continuity through the public interface: rejected timestamps and clock changes, gyro samples that cover both
 * frames or not, motion chains that end or continue, initial values of counters and ids. */
#include "tests/fixture/pair.h"

#include <math.h>
#include <stdio.h>

#define MS 1000000ull
#define HOUR (3600000 * MS)
#define JUMP (10000 * MS) /* standard frame_jump_ms */
#define END UINT64_MAX

static const vfront_result_t *result;
static uint64_t number; /* number of the next image */

/* ---- timestamps -------------------------------------------------------------------------------------------------- */

enum outcome { TAKEN, REFUSED, CLOCK_SET, BAD_PICTURE, BAD_GYRO, BAD_SKEW, RESET };
static const char *const outcome_name[] = {"taken",    "refused",  "clock set", "bad picture",
                                           "bad gyro", "bad skew", "reset"};

/** A timestamp offered to a front end, and the expected outcome. Frames with BAD_... have another fault too, and are
 *  refused for it. */
struct offer {
    uint64_t t_ns;
    enum outcome outcome;
};

/** Offers a frame to pair_vf. Its twin sees only accepted frames, and is reset when a clock was set. */
static void offer(const struct offer *o, const char *script, size_t line)
{
    static const vfront_gyro_t wrong[2] = {{7, {0, 0, 0}}, {7, {0, 0, 0}}};
    static const vfront_status_t want[] = {VFRONT_OK,     VFRONT_E_TIME, VFRONT_OK, VFRONT_E_NULL,
                                           VFRONT_E_GYRO, VFRONT_E_TIME, VFRONT_OK};
    const vfront_result_t *other, *got;
    vfront_frame_t f = pair_frame(number++);
    f.t_ns = o->t_ns;
    if (o->outcome == RESET) {
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
        assert_int_equal(vfront_reset(&pair_twin), VFRONT_OK);
        return;
    }
    if (o->outcome == BAD_PICTURE) f.picture[VFRONT_CAMERAS - 1].data = NULL;
    if (o->outcome == BAD_GYRO) f.gyro = wrong, f.gyro_count = 2;
    if (o->outcome == BAD_SKEW) f.picture[0].t_ns = f.t_ns ^ 1ull << 40;
    const vfront_status_t status = vfront_step(&pair_vf, &f, &got);
    if (status != want[o->outcome] || (o->outcome == REFUSED && !strstr(vfront_detail(&pair_vf), "frame.t_ns")) ||
        (o->outcome == BAD_SKEW && !strstr(vfront_detail(&pair_vf), "frame_skew_us")))
        fail_msg("%s, line %d, %s: %s: %s", script, (int)line, outcome_name[o->outcome], vfront_status_name(status),
                 vfront_detail(&pair_vf));
    if (status) return;
    result = got;
    if (o->outcome == CLOCK_SET) assert_int_equal(vfront_reset(&pair_twin), VFRONT_OK);
    assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
    if (vfront_digest(result) != vfront_digest(other) || result->health.reset_counter != other->health.reset_counter)
        fail_msg("%s, line %d: not as after a reset", script, (int)line);
    assert_true(result->t_ns == o->t_ns);
    if (o->outcome == CLOCK_SET) {
        assert_true(result->frame == 0 && result->health.dt_ns == 0 && result->health.gap == 0);
        assert_int_equal(result->health.state, VFRONT_STARTING);
        assert_true(result->tracks_count > 0 && result->tracks[0].id == 1);
    }
}

#define PLAY(script)                                                                                                   \
    do {                                                                                                               \
        number = 0;                                                                                                    \
        for (size_t i_ = 0; i_ < sizeof script / sizeof *script; i_++) offer(&script[i_], #script, i_);                \
    } while (0)

/** A single corrupt timestamp, or several that do not agree: exactly their frames are rejected. */
static void corrupt_stamps(void **state)
{
    (void)state;
    static const uint64_t t = 5 * HOUR;
    static const struct offer one[] = {{t, TAKEN},
                                       {t + 33 * MS, TAKEN},
                                       {END, REFUSED}, /* one bit, all bits, no bits changed */
                                       {t + 66 * MS, TAKEN},
                                       {0, REFUSED},
                                       {t + 99 * MS, TAKEN},
                                       {t + HOUR, REFUSED},
                                       {t + 132 * MS, TAKEN},
                                       {(t + 165 * MS) ^ 1ull << 63, REFUSED},
                                       {t + 198 * MS, TAKEN},
                                       {t + 198 * MS + JUMP, TAKEN}, /* the longest gap */
                                       {t + 198 * MS + 2 * JUMP + 1, REFUSED},
                                       {t + 199 * MS + JUMP, TAKEN},
                                       {t + 199 * MS + JUMP, REFUSED}, /* the same timestamp twice */
                                       {t + 199 * MS + JUMP - 1, REFUSED},
                                       {t + 199 * MS + JUMP + 1, TAKEN}};
    static const struct offer many[] = {{t, TAKEN},
                                        {END, REFUSED},
                                        {END, REFUSED},
                                        {END, REFUSED}, /* a stopped clock is not a clock that was set */
                                        {END, REFUSED},
                                        {END - 1, REFUSED},
                                        {END - 2, REFUSED},
                                        {END - 3, REFUSED}, /* nor is one that goes back */
                                        {END - 4, REFUSED},
                                        {0, REFUSED},
                                        {JUMP + 1, REFUSED}, /* nor one that jumps ahead repeatedly */
                                        {2 * JUMP + 2, REFUSED},
                                        {3 * JUMP + 3, REFUSED},
                                        {t, REFUSED},
                                        {t, REFUSED},
                                        {t, REFUSED},
                                        {t + 1, TAKEN}};
    PLAY(one);
    assert_int_equal(vfront_reset(&pair_vf) | vfront_reset(&pair_twin), VFRONT_OK);
    PLAY(many);
    assert_int_equal(result->health.reset_counter, 1);
}

/** Every second timestamp is corrupt, also if the corrupt ones agree with each other. */
static void corrupt_by_turns(void **state)
{
    (void)state;
    const uint64_t t = 7 * HOUR;
    number = 0;
    for (uint64_t i = 0; i < 24; i++) {
        const struct offer good = {t + i * 33 * MS, TAKEN};
        const struct offer bad = {i < 8 ? t + HOUR + i * 33 * MS : i < 16 ? i * 33 * MS : END - 20 + i, REFUSED};
        offer(&good, "by turns", i);
        offer(&bad, "by turns", i);
    }
    assert_true(result->frame == 23);
    assert_int_equal(result->health.reset_counter, 0);
}

/** Clocks set forwards and backwards, at both ends of time, and in succession. */
static void clocks_set(void **state)
{
    (void)state;
    static const uint64_t t = 3 * HOUR;
    static const struct offer forward[] = {{t, TAKEN},
                                           {t + HOUR, REFUSED},
                                           {t + HOUR + 33 * MS, REFUSED},
                                           {t + HOUR + 66 * MS, CLOCK_SET},
                                           {t + HOUR + 99 * MS, TAKEN},
                                           {t + 200 * MS, REFUSED}, /* and back again */
                                           {t + 200 * MS + JUMP, REFUSED},
                                           {t + 200 * MS + 2 * JUMP, CLOCK_SET},
                                           {t + 201 * MS + 2 * JUMP, TAKEN},
                                           {0, REFUSED}, /* and to the start */
                                           {1, REFUSED},
                                           {2, CLOCK_SET},
                                           {3, TAKEN},
                                           {END - 66 * MS, REFUSED}, /* and to the end of time */
                                           {END - 33 * MS, REFUSED},
                                           {END, CLOCK_SET},
                                           {END, REFUSED},
                                           {t, REFUSED}, /* after the end of time no timestamp follows */
                                           {t + 33 * MS, REFUSED},
                                           {t + 66 * MS, CLOCK_SET},
                                           {t + 99 * MS, TAKEN}};
    static const struct offer little[] = {{t, TAKEN}, /* back by less than a frame: the third timestamp fits without a
                                                         reset */
                                          {t - 40 * MS, REFUSED},
                                          {t - 7 * MS, REFUSED},
                                          {t + 26 * MS, TAKEN},
                                          {t + 59 * MS, TAKEN}};
    static const struct offer broken[] = {{t, TAKEN}, /* a corrupt timestamp starts a new run */
                                          {2 * t, REFUSED},
                                          {2 * t + 33 * MS, REFUSED},
                                          {END, REFUSED},
                                          {2 * t + 99 * MS, REFUSED},
                                          {2 * t + 132 * MS, REFUSED},
                                          {2 * t + 165 * MS, CLOCK_SET},
                                          {t, REFUSED}, /* a frame of the old clock */
                                          {2 * t + 198 * MS, TAKEN}};
    static const struct offer first[] = {{END - 5, TAKEN}, /* the very first timestamp is corrupt */
                                         {t, REFUSED},
                                         {t + 33 * MS, REFUSED},
                                         {t + 66 * MS, CLOCK_SET}};
    PLAY(forward);
    assert_int_equal(result->health.reset_counter, 5);
    assert_int_equal(vfront_reset(&pair_vf) | vfront_reset(&pair_twin), VFRONT_OK);
    PLAY(little);
    assert_true(result->frame == 2);
    assert_int_equal(vfront_reset(&pair_vf) | vfront_reset(&pair_twin), VFRONT_OK);
    PLAY(broken);
    assert_int_equal(vfront_reset(&pair_vf) | vfront_reset(&pair_twin), VFRONT_OK);
    PLAY(first);
}

/** Frames refused for another reason neither extend nor end a run of rejected timestamps; a reset ends it. */
static void other_refusals(void **state)
{
    (void)state;
    static const uint64_t t = 3 * HOUR;
    static const struct offer between[] = {{t, TAKEN},
                                           {2 * t, REFUSED},
                                           {t + 33 * MS, BAD_PICTURE},
                                           {t + 34 * MS, BAD_GYRO},
                                           {t + 35 * MS, BAD_SKEW},
                                           {2 * t + 33 * MS, REFUSED},
                                           {t + 36 * MS, BAD_PICTURE},
                                           {2 * t + 66 * MS, BAD_PICTURE}, /* the third of the run, refused for another
                                                                              reason */
                                           {2 * t + 66 * MS, BAD_GYRO},
                                           {2 * t + 66 * MS, BAD_SKEW},
                                           {2 * t + 99 * MS, CLOCK_SET},
                                           {2 * t + 132 * MS, TAKEN}};
    static const struct offer unharmed[] = {
        {t, TAKEN}, /* after that the old clock is still accepted */
        {t + 33 * MS, TAKEN}, {2 * t, REFUSED},          {2 * t + 33 * MS, REFUSED}, {2 * t + 66 * MS, BAD_PICTURE},
        {t + 66 * MS, TAKEN}, {2 * t + 99 * MS, REFUSED}};
    static const struct offer reset[] = {{t, TAKEN},
                                         {2 * t, REFUSED},
                                         {2 * t + 33 * MS, REFUSED},
                                         {0, RESET},
                                         {t - HOUR, TAKEN},
                                         {2 * t + 66 * MS, REFUSED}, /* the two before the reset are forgotten */
                                         {2 * t + 99 * MS, REFUSED},
                                         {2 * t + 132 * MS, CLOCK_SET}};
    PLAY(between);
    assert_int_equal(result->health.reset_counter, 1);
    assert_int_equal(vfront_reset(&pair_vf) | vfront_reset(&pair_twin), VFRONT_OK);
    PLAY(unharmed);
    assert_int_equal(vfront_reset(&pair_vf) | vfront_reset(&pair_twin), VFRONT_OK);
    PLAY(reset);
}

/** The bound is that of the tuning, at both ends of its range. */
static void bounds(void **state)
{
    (void)state;
    static const int32_t jump_ms[] = {100, 3600000};
    const vfront_rig_t rig = pair_cameras();
    for (size_t i = 0; i < sizeof jump_ms / sizeof *jump_ms; i++) {
        const uint64_t jump = (uint64_t)jump_ms[i] * MS, t = 10 * HOUR;
        const struct offer script[] = {{t, TAKEN},
                                       {t + jump, TAKEN},
                                       {t + 2 * jump + 1, REFUSED},
                                       {t + 3 * jump + 2, REFUSED}, /* beyond the bound from the previous one */
                                       {t + 4 * jump + 2, REFUSED},
                                       {t + 5 * jump + 2, CLOCK_SET},
                                       {t + 6 * jump + 2, TAKEN}};
        vfront_tuning_t tuning;
        vfront_tuning_default(&tuning);
        tuning.frame_jump_ms = jump_ms[i];
        pair_start_with(&rig, &tuning);
        PLAY(script);
        pair_end(NULL);
    }
}

/** Random timestamps against a form of the rule that searches the whole history. */
static void any_stamps(void **state)
{
    (void)state;
    enum { STEPS = 300 };
    static uint64_t stamp[STEPS];
    static enum outcome outcome[STEPS];
    int seen[3] = {0};
    uint64_t clock = HOUR;
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.select_points = t.ego = 0; /* tracks only, which is faster */
    pair_start_with(&rig, &t);
    number = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        const uint32_t dice = scene_hash(9, i, 1) % 16, some = scene_hash(9, i, 2);
        if (dice == 0) clock += HOUR + some;
        if (dice == 1) clock = clock > 2 * HOUR ? clock - HOUR - some : some;
        clock += 1 + some % (40 * MS);
        stamp[i] = dice == 2 ? (uint64_t)some << 32 : dice == 3 ? clock ^ 1ull << some % 64 : clock;
        uint32_t last = i; /* last accepted one; i: none */
        for (uint32_t k = 0; k < i; k++)
            if (outcome[k] != REFUSED) last = k;
        const uint64_t after = last < i ? stamp[last] : 0;
        outcome[i] = last == i || (stamp[i] > after && stamp[i] - after <= JUMP) ? TAKEN : REFUSED;
        if (outcome[i] == REFUSED && i >= last + 3 && stamp[i] > stamp[i - 1] && stamp[i] - stamp[i - 1] <= JUMP &&
            stamp[i - 1] > stamp[i - 2] && stamp[i - 1] - stamp[i - 2] <= JUMP)
            outcome[i] = CLOCK_SET;
        const struct offer o = {stamp[i], outcome[i]};
        offer(&o, "any stamps", i);
        seen[outcome[i]]++;
    }
    assert_true(seen[TAKEN] > 100 && seen[REFUSED] > 50 && seen[CLOCK_SET] > 10);
}

/** The middle of an exposure does not overflow at the end of time. */
static void middle_at_the_end(void **state)
{
    (void)state;
    vfront_frame_t f = pair_frame(0);
    f.t_ns = END - MS;
    f.exposure_ns = 2 * MS;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_true(result->t_mid_ns == END);
    f.t_ns = END;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_true(result->t_mid_ns == END);
}

/** A short exposure after a long one may have the earlier middle: no interval for IMU samples. */
static void middle_goes_back(void **state)
{
    (void)state;
    vfront_gyro_t gyro[8];
    uint64_t digest[2];
    for (int given = 0; given < 2; given++) {
        vfront_frame_t f = pair_frame(0);
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
        f.exposure_ns = 20 * MS;
        const uint64_t before = f.t_ns;
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        f = pair_frame(1);
        f.t_ns = before + 2 * MS;
        f.exposure_ns = 0;
        for (uint64_t i = 0; i < 8; i++)
            gyro[i] = (vfront_gyro_t){before + 2 * i * MS, {0.9 + 1e-3 * (double)i, 0.4, -0.2}};
        f.gyro = given ? gyro : NULL;
        f.gyro_count = given ? 8 : 0;
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        assert_int_equal(result->health.gyro_short, 0);
        digest[given] = vfront_digest(result);
    }
    assert_true(digest[0] == digest[1]);
}

/* ---- gyro samples ------------------------------------------------------------------------------------------------ */

#define US 1000
#define BETWEEN_US 33000 /* from the middle of one frame's exposure to that of the next [us] */
enum { MOST = 8 };

/** Times of samples since the middle of exposure of the previous frame [us], and whether they cover too little. */
static const struct {
    int32_t count, at_us[MOST];
    uint32_t is_short;
} sample_sets[] = {
    {2, {0, 33000}, 0},                  /* at both frames */
    {2, {-20000, 40000}, 0},             /* beyond both frames */
    {4, {0, 10000, 20000, 30000}, 0},    /* before the second frame by less than an interval */
    {4, {5000, 15000, 25000, 35000}, 0}, /* after the first */
    {4, {-5000, 5000, 15000, 25000}, 0}, /* one before the first */
    {2, {15000, 25000}, 0},              /* first sample late by one and a half intervals of 10 ms */
    {2, {15001, 25001}, 1},              /* more */
    {2, {8000, 18000}, 0},               /* last sample early by one and a half intervals */
    {2, {7999, 17999}, 1},               /* more */
    {2, {0, 10000}, 1},                  /* first half of the time only */
    {2, {20000, 33000}, 1},              /* second half of the time only */
    {3, {-30000, -20000, -10000}, 1},    /* at the first frame, but not the second */
    {1, {16000}, 1},                     /* a single sample */
    {1, {0}, 1},
    {1, {33000}, 1},
    {0, {0}, 1},                                           /* a gyro without samples */
    {5, {-40000, -30000, -20000, -10000, 0}, 1},           /* all before */
    {5, {33000, 43000, 53000, 63000, 73000}, 1},           /* all after */
    {8, {0, 1000, 2000, 3000, 4000, 5000, 6000, 7000}, 1}, /* 1 kHz, a quarter of the time */
    {8, {0, 1, 2, 3, 4, 5, 6, 33000}, 0},                  /* uneven intervals; their mean counts */
    {3, {12000, 12001, 33000}, 0},                         /* mean 10.5 ms */
    {3, {15751, 15752, 36750}, 1},                         /* mean 10.4995 ms: 15.749 ms at most */
};

/** Runs the second frame of a flight, with or without samples of a fast rotation, or a matrix. */
static void second_frame(vfront_t *vf, const vfront_gyro_t *gyro, uint32_t count, const double *R, vfront_result_t *out)
{
    vfront_frame_t f = pair_frame(0);
    const vfront_result_t *r;
    assert_int_equal(vfront_reset(vf), VFRONT_OK);
    f.gyro = gyro; /* the first frame ignores them, without a flag */
    f.gyro_count = gyro ? 1 : 0;
    assert_int_equal(vfront_step(vf, &f, &r), VFRONT_OK);
    assert_int_equal(r->health.gyro_short, 0);
    f = pair_frame(1);
    f.gyro = gyro;
    f.gyro_count = count;
    f.R_cur_prev = R;
    assert_int_equal(vfront_step(vf, &f, &r), VFRONT_OK);
    *out = *r;
}

/** Digest of a result without its flag. */
static uint64_t digest_without_flag(vfront_result_t *r)
{
    r->health.gyro_short = 0;
    return vfront_digest(r);
}

/** Samples that cover too little are reported and ignored; others are a prior. */
static void gyro_reaches(void **state)
{
    (void)state;
    static const double turn[9] = {1, 0, 0.02, 0, 1, 0, -0.02, 0, 1};
    static vfront_result_t none, given, matrix, both;
    second_frame(&pair_vf, NULL, 0, NULL, &none);
    second_frame(&pair_vf, NULL, 0, turn, &matrix);
    assert_int_equal(none.health.gyro_short | matrix.health.gyro_short, 0);
    assert_true(none.tracks_count > 10 && vfront_digest(&none) != vfront_digest(&matrix));
    for (size_t i = 0; i < sizeof sample_sets / sizeof *sample_sets; i++) {
        vfront_gyro_t gyro[MOST];
        const vfront_frame_t before = pair_frame(0);
        const uint32_t count = (uint32_t)sample_sets[i].count, is_short = sample_sets[i].is_short;
        for (uint32_t k = 0; k < MOST; k++) {
            const int64_t at_ns = (int64_t)sample_sets[i].at_us[k < count ? k : 0] * US;
            gyro[k] = (vfront_gyro_t){before.t_ns + before.exposure_ns / 2 + (uint64_t)at_ns,
                                      {0.3, 0.4, -0.2 + 1e-9 * k}};
        }
        second_frame(&pair_vf, gyro, count, NULL, &given);
        if (given.health.gyro_short != is_short) fail_msg("line %d: %u", (int)i, given.health.gyro_short);
        if ((digest_without_flag(&given) == vfront_digest(&none)) != is_short) fail_msg("line %d: prior", (int)i);
        second_frame(&pair_vf, gyro, count, turn, &both); /* the matrix takes precedence; the flag is still set */
        assert_int_equal(both.health.gyro_short, is_short);
        assert_true(digest_without_flag(&both) == vfront_digest(&matrix));
    }
}

/** Samples all equal to the bit, at least as many as the tuning sets: reported and ignored. */
static void gyro_stuck(void **state)
{
    (void)state;
    static vfront_result_t none, given;
    for (uint32_t least = 0; least <= 5; least += 5)
        for (uint32_t count = 3; count <= 6; count++)
            for (uint32_t other = 0; other <= count; other++) { /* index of the differing sample; count: none */
                const vfront_frame_t before = pair_frame(0);
                const int stuck = least && count >= least && other == count;
                vfront_gyro_t gyro[MOST];
                vfront_tuning_t tuning;
                vfront_tuning_default(&tuning);
                tuning.gyro_stuck_samples = (int32_t)least;
                for (uint32_t k = 0; k < count; k++) {
                    const uint64_t t_ns = before.t_ns + before.exposure_ns / 2 + k * 33 * MS / (count - 1);
                    gyro[k] = (vfront_gyro_t){t_ns, {0.3, 0.4, k == other ? 0.2 + 1e-15 : 0.2}};
                }
                if (other && count > 3 && other < count) continue;
                vfront_shutdown(&pair_vf);
                const vfront_rig_t rig = pair_cameras();
                assert_int_equal(vfront_init(&pair_vf, &rig, &tuning, pair_port), VFRONT_OK);
                second_frame(&pair_vf, NULL, 0, NULL, &none);
                second_frame(&pair_vf, gyro, count, NULL, &given);
                if (given.health.gyro_stuck != (uint32_t)stuck || given.health.gyro_short)
                    fail_msg("%u of %u readings, %u differs: %u", count, least, other, given.health.gyro_stuck);
                given.health.gyro_stuck = 0;
                assert_int_equal(vfront_digest(&given) == vfront_digest(&none), stuck);
            }
}

/** The flag describes the samples, with or without a calibration. */
static void gyro_uncalibrated(void **state)
{
    (void)state;
    static vfront_result_t none, given;
    vfront_rig_t rig = pair_cameras();
    rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
    const vfront_frame_t f = pair_frame(0);
    const vfront_gyro_t gyro[2] = {{f.t_ns, {1, 2, 3}}, {f.t_ns + 10 * MS, {1, 2, 3}}};
    second_frame(&pair_vf, NULL, 0, NULL, &none);
    second_frame(&pair_vf, gyro, 2, NULL, &given);
    assert_int_equal(given.health.gyro_short, 1);
    assert_true(digest_without_flag(&given) == vfront_digest(&none));
}

/** Differences do not overflow at the end of time. */
static void gyro_at_the_end(void **state)
{
    (void)state;
    const vfront_gyro_t all[2] = {{0, {0, 0, 1}}, {END, {0, 0, 1}}}, far[2] = {{0, {0, 0, 1}}, {9, {0, 0, 1}}},
                        near[2] = {{END - 40 * MS, {0, 0, 1}}, {END, {0, 0, 1}}};
    static const struct {
        int which;
        uint32_t is_short;
    } line[] = {{0, 0}, {1, 1}, {2, 0}};
    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        vfront_frame_t f = pair_frame(0);
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
        f.t_ns = END - 33 * MS;
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        f = pair_frame(1);
        f.t_ns = END;
        f.gyro = line[i].which == 0 ? all : line[i].which == 1 ? far : near;
        f.gyro_count = 2;
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        assert_int_equal(result->health.gyro_short, line[i].is_short);
    }
}

/* ---- motion chains ----------------------------------------------------------------------------------------------- */

static uint8_t dark[VFRONT_CAMERAS][VFRONT_WIDTH * VFRONT_HEIGHT];

/** A frame whose images have a percentage of their brightness. */
static vfront_frame_t dimmed(uint64_t i, int percent)
{
    vfront_frame_t f = pair_frame(i);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        const uint8_t *from = f.picture[c].data;
        for (int k = 0; k < 160 * 120; k++) dark[c][k] = (uint8_t)(from[k] * percent / 100);
        f.picture[c].data = dark[c];
    }
    return f;
}

static int is_known(const vfront_result_t *r)
{
    if (r->metric.state != VFRONT_MOTION_NONE) return r->metric.state == VFRONT_MOTION_GOOD;
    return r->relative.state == VFRONT_MOTION_GOOD || r->relative.state == VFRONT_MOTION_ROTATION;
}

/** Brightness lost partly or fully: the motion chain continues while the motion is known, and ends otherwise. */
static void brightness_fails(void **state)
{
    (void)state;
    static const int brightness_percent[] = {100, 100, 70, 70, 0, 100, 100, 0, 0, 100, 70, 0, 100, 100};
    uint32_t resets = 0, breaks = 0, alive = 0, known_without_tracks = 0;
    int known = 0, metric = 0;
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    /* so that tracks end when brightness changes; descriptors are robust to it */
    t.track_photometric = VFRONT_PHOTOMETRIC_NONE;
    t.track_residual_grey = 6;
    t.track_residual_percent = 0;
    pair_start_with(&rig, &t);
    for (uint64_t i = 0; i < sizeof brightness_percent / sizeof *brightness_percent; i++) {
        const vfront_frame_t f = dimmed(i, brightness_percent[i]);
        const vfront_result_t *other;
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
        const vfront_health_t *h = &result->health;
        const int lost = i && !h->followed && !is_known(result) && (alive || known);
        resets += (uint32_t)lost;
        breaks += metric && result->metric.state != VFRONT_MOTION_GOOD;
        known_without_tracks += i && alive && !h->followed && is_known(result);
        assert_int_equal(h->state == VFRONT_LOST, lost);
        assert_int_equal(h->reset_counter, resets);
        assert_int_equal(h->motion_breaks, breaks);
        assert_true(vfront_digest(result) == vfront_digest(other));
        known = is_known(result);
        metric = result->metric.state == VFRONT_MOTION_GOOD;
        alive = result->tracks_count;
    }
    assert_true(resets >= 2 && breaks >= 2 && known_without_tracks >= 1);
}

/* ---- initial values ---------------------------------------------------------------------------------------------- */

/** A restarted front end continues the counters; everything else starts at 0. */
static void takes_over(void **state)
{
    (void)state;
    static const struct {
        int32_t id, count;
    } first[] = {{1, 0}, {5001, 7}, {INT32_MAX, INT32_MAX}};
    const vfront_rig_t rig = pair_cameras();
    uint64_t digest[3][6];
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        static vfront_result_t copy;
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        assert_int_equal(vfront_tuning_set(&t, "first_track_id", first[i].id), VFRONT_OK);
        assert_int_equal(vfront_tuning_set(&t, "first_counter", first[i].count), VFRONT_OK);
        assert_int_equal(vfront_init(&pair_vf, &rig, &t, pair_port), VFRONT_OK);
        for (uint32_t round = 0; round < 2; round++) { /* after a reset ids and chain counts restart there */
            uint32_t resets = (uint32_t)first[i].count + round * 2;
            for (uint64_t k = 0; k < 6; k++) {
                const vfront_frame_t f = k == 3 ? dimmed(k, 0) : pair_frame(k);
                assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
                copy = *result;
                if (k == 0) assert_true(copy.tracks[0].id == (uint64_t)first[i].id);
                resets += k == 3;
                assert_int_equal(copy.health.reset_counter, resets);
                copy.health.motion_breaks -= (uint32_t)first[i].count;
                for (uint32_t n = 0; n < copy.tracks_count; n++) copy.tracks[n].id -= (uint64_t)first[i].id - 1;
                for (uint32_t n = 0; n < copy.lost_count; n++) copy.lost[n].id -= (uint64_t)first[i].id - 1;
                const uint64_t got = vfront_digest(&copy);
                if (i == 0 && round == 0) digest[0][k] = got;
                assert_true(got == digest[0][k]);
            }
            assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
        }
        vfront_shutdown(&pair_vf);
    }
}

#define PAIR(test) cmocka_unit_test_setup_teardown(test, pair_start, pair_end)
#define LONE(test) cmocka_unit_test_teardown(test, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAIR(corrupt_stamps),   PAIR(corrupt_by_turns), PAIR(clocks_set),        PAIR(other_refusals),
        LONE(bounds),           LONE(any_stamps),       PAIR(middle_at_the_end), PAIR(gyro_reaches),
        PAIR(middle_goes_back), PAIR(gyro_stuck),       LONE(gyro_uncalibrated), PAIR(gyro_at_the_end),
        LONE(brightness_fails), LONE(takes_over),
    };
    return pair_run("clock", tests, sizeof tests / sizeof *tests);
}
