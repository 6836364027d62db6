/* SPDX-License-Identifier: MIT */
/* Rotations given with a frame, as a matrix or as gyro samples: tracks follow a rotation that they cannot follow
 * without a prior. */
#include "tests/fixture/pair.h"

#include <math.h>

static void must(vfront_status_t status)
{
    if (status) fail_msg("%s: %s", vfront_status_name(status), vfront_detail(&pair_vf));
}

/* The camera turns to the right (about y, which points down): the image moves left by 30 px per frame, more than the
 * pyramid of this small image can track without a prior. Focal length 1600 px. */
#define TURN_PX 30
static const struct scene turning = {160, 120, 77, -16 * TURN_PX, 0};

static uint8_t turned[4][160 * 120];

/** exp of the rotation about a unit axis, by Rodrigues' formula. */
static void rotation(double R[9], const double axis[3], double angle)
{
    const double s = sin(angle), c = cos(angle), x = axis[0], y = axis[1], z = axis[2];
    const double out[9] = {c + x * x * (1 - c),     x * y * (1 - c) - z * s, x * z * (1 - c) + y * s,
                           y * x * (1 - c) + z * s, c + y * y * (1 - c),     y * z * (1 - c) - x * s,
                           z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c)};
    memcpy(R, out, sizeof out);
}

static void multiply(double out[9], const double a[9], const double b[9])
{
    double p[9];
    for (int i = 0; i < 9; i++)
        p[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] + a[i / 3 * 3 + 2] * b[6 + i % 3];
    memcpy(out, p, sizeof p);
}

struct kept {
    uint32_t right, had; /* tracks found at their true position; tracks that stayed inside the image */
    vfront_track_t track[4][VFRONT_TRACKS];
    uint32_t count[4];
};

static void note(struct kept *k, int frame, const vfront_result_t *r)
{
    for (uint32_t i = 0; i < r->health.followed; i++)
        k->right += fabsf(r->tracks[i].dx_px + TURN_PX) < 0.3f && fabsf(r->tracks[i].dy_px) < 0.3f;
    for (uint32_t i = 0; frame && i < k->count[frame - 1]; i++) k->had += k->track[frame - 1][i].x_px - TURN_PX > 10;
    k->count[frame] = r->tracks_count;
    memcpy(k->track[frame], r->tracks, sizeof r->tracks);
}

/** Runs four frames of the turning camera; `fill` sets the prior of each. */
static void turn(const vfront_rig_t *rig, int32_t prior, void (*fill)(vfront_frame_t *, double angle), double angle,
                 struct kept *k)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.track_prior = prior;
    t.track_retry = 0;
    vfront_shutdown(&pair_vf);
    must(vfront_init(&pair_vf, rig, &t, pair_port));
    memset(k, 0, sizeof *k);
    for (int i = 0; i < 4; i++) {
        const vfront_result_t *r;
        vfront_frame_t f = pair_frame((uint64_t)i);
        for (int c = 0; c < VFRONT_CAMERAS; c++) f.picture[c] = scene_picture(&turning, turned[i]);
        if (fill) fill(&f, angle);
        must(vfront_step(&pair_vf, &f, &r));
        note(k, i, r);
    }
}

static double R_cur_prev[9];
static void give_rotation(vfront_frame_t *f, double angle)
{
    const double down[3] = {0, 1, 0};
    rotation(R_cur_prev, down, -angle);
    f->R_cur_prev = R_cur_prev;
}

static vfront_gyro_t sample[8];
static double gyro_axis[3];
static void give_gyro(vfront_frame_t *f, double angle) /* uneven samples before, between and after */
{
    static const int64_t at_us[8] = {-40000, -31000, -30000, -17000, -9000, -8999, -1000, 3000};
    for (int i = 0; i < 8; i++) {
        sample[i].t_ns = f->t_ns + (uint64_t)(at_us[i] * 1000);
        const double noise = i % 2 ? 1e-9 : -1e-9; /* equal samples would be those of a stuck gyro */
        for (int k = 0; k < 3; k++) sample[i].rate_rad_s[k] = gyro_axis[k] * angle / (FRAME_NS * 1e-9) * (1 + noise);
    }
    f->gyro = sample;
    f->gyro_count = 8;
}

static void same_tracks(const struct kept *a, const struct kept *b)
{
    assert_int_equal(a->right, b->right);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(a->count[i], b->count[i]);
        for (uint32_t k = 0; k < a->count[i]; k++) {
            assert_true(a->track[i][k].id == b->track[i][k].id);
            assert_true(fabsf(a->track[i][k].x_px - b->track[i][k].x_px) < 0.02f);
            assert_true(fabsf(a->track[i][k].y_px - b->track[i][k].y_px) < 0.02f);
        }
    }
}

static void rotation_priors(void **state)
{
    (void)state;
    static struct kept none, matrix, gyro, mounted, wrong, unused;
    const double angle = atan(TURN_PX / 1600.0);
    vfront_rig_t rig = scene_rig(&turning, VFRONT_CAMERAS);
    for (int i = 0; i < 4; i++) scene_draw(&turning, i, turned[i], 160);

    turn(&rig, VFRONT_PRIOR_ROTATION, NULL, 0, &none);
    assert_true(none.had > 20 && none.right * 10 < none.had); /* the prior is necessary */
    turn(&rig, VFRONT_PRIOR_ROTATION, give_rotation, angle, &matrix);
    assert_true(matrix.had > 20 && matrix.right * 10 > matrix.had * 9);
    turn(&rig, VFRONT_PRIOR_ROTATION, give_rotation, -angle, &wrong);
    assert_true(wrong.right * 10 < wrong.had);
    turn(&rig, VFRONT_PRIOR_NONE, give_rotation, angle, &unused);
    same_tracks(&unused, &none);

    gyro_axis[0] = 0, gyro_axis[1] = 1, gyro_axis[2] = 0;
    turn(&rig, VFRONT_PRIOR_ROTATION, give_gyro, angle, &gyro);
    same_tracks(&gyro, &matrix);

    /* an IMU mounted at an odd angle gives the same in its own axes: w_imu = R_cam_imu^T w_cam */
    const double a[3] = {0.6, 0, 0.8}, b[3] = {0, 0, 1};
    double first[9], second[9];
    rotation(first, a, 1.1);
    rotation(second, b, -2.3);
    multiply(rig.camera[0].R_cam_imu, first, second);
    for (int k = 0; k < 3; k++) gyro_axis[k] = rig.camera[0].R_cam_imu[3 + k];
    turn(&rig, VFRONT_PRIOR_ROTATION, give_gyro, angle, &mounted);
    same_tracks(&mounted, &matrix);
}

/** Without a calibration gyro samples are ignored without effect. With a matrix they are not read. */
static void gyro_aside(void **state)
{
    (void)state;
    static struct kept none, ignored, matrix, both;
    vfront_rig_t rig = scene_rig(&turning, VFRONT_CAMERAS);
    gyro_axis[0] = 0, gyro_axis[1] = 1, gyro_axis[2] = 0;
    turn(&rig, VFRONT_PRIOR_ROTATION, NULL, 0, &none);
    turn(&rig, VFRONT_PRIOR_ROTATION, give_rotation, 0.01, &matrix);
    rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
    turn(&rig, VFRONT_PRIOR_ROTATION, give_gyro, 0.01, &ignored);
    same_tracks(&ignored, &none);
    rig = scene_rig(&turning, VFRONT_CAMERAS);
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.track_prior = VFRONT_PRIOR_ROTATION;
    t.track_retry = 0;
    vfront_shutdown(&pair_vf);
    must(vfront_init(&pair_vf, &rig, &t, pair_port));
    memset(&both, 0, sizeof both);
    for (int i = 0; i < 4; i++) {
        const vfront_result_t *r;
        vfront_frame_t f = pair_frame((uint64_t)i);
        for (int c = 0; c < VFRONT_CAMERAS; c++) f.picture[c] = scene_picture(&turning, turned[i]);
        give_gyro(&f, -0.5);
        give_rotation(&f, 0.01);
        must(vfront_step(&pair_vf, &f, &r));
        note(&both, i, r);
    }
    same_tracks(&both, &matrix);
}

#define LONE(test) cmocka_unit_test_teardown(test, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {LONE(rotation_priors), LONE(gyro_aside)};
    return pair_run("prior", tests, sizeof tests / sizeof *tests);
}
