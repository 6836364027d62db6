/* SPDX-License-Identifier: MIT */
/* Frames without images of some or all cameras: the same bits as with the previous image repeated; rotations accumulate
 * until the next image; refusals. */
#include "tests/fixture/pair.h"

#include <math.h>

#define FRAMES 12
#define LAST (VFRONT_CAMERAS - 1)

static void must(vfront_status_t status)
{
    if (status) fail_msg("%s: %s", vfront_status_name(status), vfront_detail(&pair_vf));
}

/** Image with only a format. */
static vfront_picture_t no_picture(void)
{
    vfront_picture_t p;
    memset(&p, 0xa5, sizeof p);
    p.format = VFRONT_NO_PICTURE;
    return p;
}

/** Cameras without an image in a frame, as bits. */
static uint32_t missing_in(uint64_t i)
{
    static const uint32_t set[FRAMES] = {0, 0, 1, 0, 2, 3, 3, 0, 3, 1, 2, 0};
    return set[i] & ((1u << VFRONT_CAMERAS) - 1);
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

static void turn_z(double R[9], double angle)
{
    const double turned[9] = {cos(angle), -sin(angle), 0, sin(angle), cos(angle), 0, 0, 0, 1};
    memcpy(R, turned, sizeof turned);
}

static void multiply(double out[9], const double a[9], const double b[9])
{
    double p[9];
    for (int i = 0; i < 9; i++)
        p[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] + a[i / 3 * 3 + 2] * b[6 + i % 3];
    memcpy(out, p, sizeof p);
}

/** The twin gets the last image of each camera again, with rotations between the images of camera 0. priors: 1: every
 *  frame gives a rotation, except number `without`, and there are no motions, from which errors of the rotations would
 *  be learned. The covariance of a rotation grows with its duration. So it differs, and with it the search for
 *  matches. */
static void beside_the_last_picture(int priors, uint64_t without)
{
    const vfront_rig_t rig = pair_cameras();
    const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double turn[9], sum[9];
    vfront_picture_t last[VFRONT_CAMERAS];
    int known = 1;
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    if (priors) t.ego = 0;
    pair_start_with(&rig, &t);
    memcpy(sum, still, sizeof sum);
    for (uint64_t i = 0; i < FRAMES; i++) {
        const vfront_result_t *a, *b;
        vfront_frame_t f = pair_frame(i), g = f;
        const uint32_t missing = missing_in(i);
        turn_z(turn, 0.001 * (double)(i + 1));
        if (priors && i != without) f.R_cur_prev = turn;
        known = known && f.R_cur_prev != NULL;
        if (priors) multiply(sum, turn, sum);
        for (int c = 0; c < VFRONT_CAMERAS; c++)
            if (missing >> c & 1) {
                f.picture[c] = no_picture();
                g.picture[c] = last[c];
                g.picture[c].t_ns = 0;
            } else {
                last[c] = g.picture[c];
            }
        g.R_cur_prev = missing & 1 ? still : known && i > 0 ? sum : NULL;
        must(vfront_step(&pair_vf, &f, &a));
        must(vfront_step(&pair_twin, &g, &b));
        if (!(missing & 1)) {
            memcpy(sum, still, sizeof sum);
            known = 1;
        }
        static vfront_result_t copy;
        memcpy(&copy, a, sizeof copy);
        assert_int_equal(copy.health.missing, missing);
        assert_int_equal(b->health.missing, 0);
        for (int c = 0; c < VFRONT_CAMERAS; c++) assert_true(!(missing >> c & 1) || copy.health.frozen[c] > 0);
        if (missing & 1 && !priors) assert_int_equal(copy.relative.state, VFRONT_MOTION_FROZEN);
        copy.health.missing = 0;
        if (priors || missing & 1) {
            memcpy(copy.predicted.covariance, b->predicted.covariance, sizeof copy.predicted.covariance);
            memcpy(&copy.matches, &b->matches, sizeof copy.matches);
        }
        assert_true(vfront_digest(&copy) == vfront_digest(b));
    }
    pair_end(NULL);
}

static void as_the_last_picture(void **state)
{
    (void)state;
    beside_the_last_picture(0, FRAMES);
    beside_the_last_picture(1, FRAMES);
    for (uint64_t without = 1; without < FRAMES; without++) beside_the_last_picture(1, without);
}

/** Masks of a frame without an image are not read; those of the frames before and after it are. */
static void masks(void **state)
{
    static uint8_t mask[VFRONT_WIDTH * VFRONT_HEIGHT];
    const vfront_rig_t rig = pair_cameras();
    (void)state;
    for (size_t k = 0; k < sizeof mask; k++) mask[k] = k % 160 < 80;
    pair_start_with(&rig, NULL);
    for (uint64_t i = 0; i < 6; i++) {
        const vfront_result_t *r;
        vfront_frame_t f = pair_frame(i);
        vfront_picture_t *p = &f.picture[0];
        if (i == 1 || i == 3) *p = no_picture();
        if (i == 2) p->mask = mask, p->mask_width_px = 160, p->mask_height_px = 120, p->mask_pitch_bytes = 160;
        must(vfront_step(&pair_vf, &f, &r));
        for (uint32_t k = r->health.followed; k < r->tracks_count; k++) /* new tracks */
            assert_true(i != 2 || r->tracks[k].x_px < 80.0f);
    }
    pair_end(NULL);
}

/* ---- accumulated rotations --------------------------------------------------------------------------------------- */

/* The camera turns to the right by 30 px per frame, more than the pyramid of this small image can track without a
 * prior. */
#define TURN_PX 30
static const struct scene turning = {160, 120, 77, -16 * TURN_PX, 0};
static uint8_t turned[4][160 * 120];

/** Share of tracks [%] that are found again in the frame after one without an image. imu: 1: IMU samples, 0: gyro
 *  samples. */
static uint32_t found_again(int samples, int imu)
{
    static const int64_t at_us[8] = {-40000, -31000, -30000, -17000, -9000, -8999, -1000, 3000};
    const double rate = atan(TURN_PX / 1600.0) / (FRAME_NS * 1e-9);
    const vfront_rig_t rig = scene_rig(&turning, VFRONT_CAMERAS);
    const vfront_result_t *r;
    static vfront_track_t was[VFRONT_TRACKS];
    uint32_t count = 0, inside = 0, right = 0;
    uint64_t last_ns = 0;
    vfront_shutdown(&pair_vf);
    must(vfront_init(&pair_vf, &rig, NULL, pair_port));
    for (int i = 0; i < 4; i++) {
        vfront_frame_t f = pair_frame((uint64_t)i);
        vfront_gyro_t gyro[8];
        vfront_imu_t force[8];
        uint32_t own = 0;
        for (int c = 0; c < VFRONT_CAMERAS; c++)
            f.picture[c] = i == 2 ? no_picture() : scene_picture(&turning, turned[i]);
        for (int k = 0; k < 8; k++) {
            gyro[k] = (vfront_gyro_t){f.t_ns + (uint64_t)(at_us[k] * 1000),
                                      {0, rate * (1 + (k % 2 ? 1e-9 : -1e-9)), 0}};
            if (gyro[k].t_ns <= last_ns) continue;
            memset(&force[own], 0, sizeof force[own]);
            force[own].t_ns = gyro[k].t_ns;
            force[own++].gyro_rad_s[1] = gyro[k].rate_rad_s[1];
        }
        last_ns = gyro[7].t_ns;
        if (samples && imu) f.imu = force, f.imu_count = own;
        if (samples && !imu) f.gyro = gyro, f.gyro_count = 8;
        must(vfront_step(&pair_vf, &f, &r));
        if (i == 2) { /* nothing moves in a repeated image */
            assert_true(r->health.followed > 20);
            for (uint32_t k = 0; k < r->health.followed; k++)
                assert_true(fabsf(r->tracks[k].dx_px) < 0.3f && fabsf(r->tracks[k].dy_px) < 0.3f);
            count = r->tracks_count;
            memcpy(was, r->tracks, sizeof was);
        }
    }
    for (uint32_t k = 0; k < count; k++) inside += was[k].x_px - 2 * TURN_PX > 10;
    for (uint32_t k = 0; k < r->health.followed; k++)
        right += fabsf(r->tracks[k].dx_px + 2 * TURN_PX) < 0.3f && fabsf(r->tracks[k].dy_px) < 0.3f;
    vfront_shutdown(&pair_vf);
    if (inside < 10) fail_msg("only %u tracks", inside);
    return 100 * right / inside;
}

static void rotations_add_up(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) scene_draw(&turning, i, turned[i], 160);
    assert_true(found_again(0, 0) < 10); /* the samples are necessary */
    assert_true(found_again(1, 0) > 85);
    assert_true(found_again(1, 1) > 85);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static vfront_status_t step_without(uint64_t i, int32_t camera)
{
    const vfront_result_t *r;
    vfront_frame_t f = pair_frame(i);
    f.picture[camera] = no_picture();
    return vfront_step(&pair_vf, &f, &r);
}

/** In a first frame: after vfront_init(), after vfront_reset(), after a clock change. */
static void first_frames(void **state)
{
    const vfront_result_t *r;
    const vfront_frame_t first = pair_frame(1);
    (void)state;
    for (int32_t c = 0; c <= LAST; c++) {
        pair_start(NULL);
        pair_refused(step_without(0, c), VFRONT_E_FORMAT, c ? "frame.picture[1]" : "missing in a first frame");
        must(vfront_step(&pair_vf, &first, &r));
        must(step_without(2, c));
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
        pair_refused(step_without(3, c), VFRONT_E_FORMAT, "missing in a first frame");
        pair_end(NULL);
        pair_start(NULL);
        const vfront_frame_t late = pair_frame(900);
        must(vfront_step(&pair_vf, &late, &r));
        for (uint64_t i = 0; i < 2; i++) {
            const vfront_frame_t f = pair_frame(i);
            pair_refused(vfront_step(&pair_vf, &f, &r), VFRONT_E_TIME, "not after");
        }
        pair_refused(step_without(2, c), VFRONT_E_FORMAT, "missing in a first frame");
        pair_end(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(as_the_last_picture, pair_end),
        cmocka_unit_test_teardown(masks, pair_end),
        cmocka_unit_test_teardown(rotations_add_up, pair_end),
        cmocka_unit_test_teardown(first_frames, pair_end),
    };
    return pair_run("missing", tests, sizeof tests / sizeof *tests);
}
