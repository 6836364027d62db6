/* SPDX-License-Identifier: MIT */
/* Every status documented in vfront.h except those of vfront_init() (tests/core/init.c), from every call that documents
 * it. A refused call changes nothing. */
#include "tests/fixture/pair.h"

#include <math.h>
#include <stdio.h>

static const vfront_result_t *result;

/* ---- order of calls ---------------------------------------------------------------------------------------------- */

static void refuses_all(vfront_t *vf)
{
    const vfront_frame_t f = pair_frame(0);
    vfront_info_t info;
    void *data, *both[VFRONT_INPUTS];
    assert_int_equal(vfront_submit(vf, &f), VFRONT_E_STATE);
    result = (const vfront_result_t *)&f;
    assert_int_equal(vfront_wait(vf, 0, &result), VFRONT_E_STATE);
    assert_null(result);
    result = (const vfront_result_t *)&f;
    assert_int_equal(vfront_step(vf, &f, &result), VFRONT_E_STATE);
    assert_null(result);
    assert_int_equal(vfront_reset(vf), VFRONT_E_STATE);
    assert_int_equal(vfront_input(vf, 0, &data), VFRONT_E_STATE);
    assert_int_equal(vfront_inputs(vf, 0, both), VFRONT_E_STATE);
    assert_int_equal(vfront_info(vf, &info), VFRONT_E_STATE);
    vfront_shutdown(vf);
    assert_string_equal(vfront_detail(vf), "");
}

static void out_of_order(void **state)
{
    (void)state;
    static vfront_t fresh;
    refuses_all(&fresh);
    pair_still_starts();
    refuses_all(&pair_vf); /* after shutdown */
    pair_still_starts();
    vfront_shutdown(NULL);
}

static void init_twice(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_unplaced();
    pair_step();
    pair_refused(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_E_STATE, "in use already");
    pair_step();
    pair_refused(vfront_init(&pair_vf, NULL, NULL, pair_port), VFRONT_E_STATE, "in use already");
    pair_step();
}

static struct {
    uint64_t gap[8]; /* the copy begins at any multiple of 8 in a cache line */
    vfront_t vf;
} elsewhere;

/** Every call on a copy of an initialised vfront_t is refused, except vfront_init(), which initialises the copy. */
static void refuses_a_copy(vfront_t *copy)
{
    const vfront_frame_t f = pair_frame(3);
    vfront_info_t info;
    uint8_t map[64];
    size_t used;
    void *data, *both[VFRONT_INPUTS];
    memcpy(copy, &pair_vf, sizeof *copy);
    result = (const vfront_result_t *)&f;
    assert_int_equal(vfront_submit(copy, &f), VFRONT_E_STATE);
    assert_int_equal(vfront_wait(copy, 0, &result), VFRONT_E_STATE);
    assert_null(result);
    assert_int_equal(vfront_step(copy, &f, &result), VFRONT_E_STATE);
    assert_int_equal(vfront_reset(copy), VFRONT_E_STATE);
    assert_int_equal(vfront_return(copy), VFRONT_E_STATE);
    assert_int_equal(vfront_input(copy, 0, &data), VFRONT_E_STATE);
    assert_int_equal(vfront_inputs(copy, 0, both), VFRONT_E_STATE);
    assert_int_equal(vfront_info(copy, &info), VFRONT_E_STATE);
    assert_int_equal(vfront_map_save(copy, map, sizeof map, &used), VFRONT_E_STATE);
    assert_int_equal(vfront_map_load(copy, map, sizeof map), VFRONT_E_STATE);
    assert_int_equal(vfront_submit(copy, NULL), VFRONT_E_NULL);
    assert_int_equal(vfront_shutdown(copy), VFRONT_E_STATE);
    assert_string_equal(vfront_detail(copy), "copied or moved after vfront_init(): vfront_t");
}

static void copied(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_unplaced();
    const vfront_frame_t f = pair_frame(0);
    for (size_t offset = 0; offset <= 56; offset += 8) {
        vfront_t *copy = (vfront_t *)(void *)((char *)&elsewhere + offset);
        pair_step();
        refuses_a_copy(copy);
        assert_int_equal(vfront_init(copy, &rig, NULL, VFRONT_PORT_HOST), VFRONT_OK);
        assert_int_equal(vfront_step(copy, &f, &result), VFRONT_OK);
        assert_int_equal(vfront_shutdown(copy), VFRONT_OK);
        assert_string_equal(vfront_detail(copy), "");
        pair_step(); /* the original still works */
    }
}

static void wait_without_submit(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        pair_refused(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_E_STATE, "nothing was submitted");
        assert_null(result);
        pair_step();
    }
}

/** Every call refused while a frame is under way, none of which affects that frame. */
static void busy(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_unplaced();
    pair_step();
    for (uint64_t i = 1; i < 4; i++) {
        const vfront_frame_t f = pair_frame(i), later = pair_frame(i + 1);
        const vfront_result_t *other;
        vfront_info_t info;
        void *before, *during;
        assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
        assert_int_equal(vfront_input(&pair_vf, 0, &before), VFRONT_OK);
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
        pair_refused(vfront_submit(&pair_vf, &later), VFRONT_E_BUSY, "under way");
        pair_refused(vfront_step(&pair_vf, &later, &result), VFRONT_E_BUSY, "under way");
        pair_refused(vfront_reset(&pair_vf), VFRONT_E_BUSY, "under way");
        pair_refused(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_E_STATE, "in use already");
        assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
        assert_int_equal(vfront_input(&pair_vf, 0, &during), VFRONT_OK);
        assert_ptr_not_equal(before, during);
        assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
        assert_true(vfront_digest(result) == vfront_digest(other));
        assert_int_equal(vfront_wait(&pair_vf, 0, &result), VFRONT_E_STATE);
    }
    const vfront_frame_t last = pair_frame(9);
    assert_int_equal(vfront_submit(&pair_vf, &last), VFRONT_OK); /* teardown shuts down with a frame under way */
}

/** Only the CUDA port can time out: on the host port the work is complete when vfront_submit() returns. */
static void no_time(void **state)
{
    (void)state;
    const vfront_frame_t f = pair_frame(0);
    vfront_status_t status;
    assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
    do status = vfront_wait(&pair_vf, 0, &result);
    while (pair_port == VFRONT_PORT_CUDA && status == VFRONT_E_TIMEOUT);
    assert_int_equal(status, VFRONT_OK);
    assert_non_null(result);
}

static void null_arguments(void **state)
{
    (void)state;
    const vfront_frame_t f = pair_frame(5);
    vfront_info_t info;
    void *data, *both[VFRONT_INPUTS];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(vfront_submit(NULL, &f), VFRONT_E_NULL);
        assert_int_equal(vfront_submit(&pair_vf, NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_step(NULL, &f, &result), VFRONT_E_NULL);
        assert_int_equal(vfront_step(&pair_vf, NULL, &result), VFRONT_E_NULL);
        assert_int_equal(vfront_step(&pair_vf, &f, NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_wait(NULL, 0, &result), VFRONT_E_NULL);
        assert_int_equal(vfront_wait(&pair_vf, 0, NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_reset(NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_input(NULL, 0, &data), VFRONT_E_NULL);
        assert_int_equal(vfront_input(&pair_vf, 0, NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_inputs(NULL, 0, both), VFRONT_E_NULL);
        assert_int_equal(vfront_inputs(&pair_vf, 0, NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_info(NULL, &info), VFRONT_E_NULL);
        assert_int_equal(vfront_info(&pair_vf, NULL), VFRONT_E_NULL);
        pair_step();
    }
    assert_true(vfront_digest(NULL) == 0);
}

static void no_such_camera(void **state)
{
    (void)state;
    static const int32_t camera[] = {-1, VFRONT_CAMERAS, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof camera / sizeof *camera; i++) {
        void *data = NULL, *both[VFRONT_INPUTS] = {NULL};
        pair_refused(vfront_input(&pair_vf, camera[i], &data), VFRONT_E_SIZE, "no camera");
        pair_refused(vfront_inputs(&pair_vf, camera[i], both), VFRONT_E_SIZE, "no camera");
        assert_true(!data && !both[0] && !both[1]);
        pair_step();
    }
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static uint64_t last_t_ns; /* time of the previous frame */
static vfront_gyro_t gyro[VFRONT_GYRO_SAMPLES + 1];
static double R[9];

/* Each makes a good frame invalid. `p` is the image of one camera. */
#define SPOIL(name) static void name(vfront_frame_t *f, vfront_picture_t *p)
#define UNUSED (void)f, (void)p
SPOIL(no_data)
{
    UNUSED;
    p->data = NULL;
}
SPOIL(wide)
{
    UNUSED;
    p->width_px++;
}
SPOIL(narrow)
{
    UNUSED;
    p->width_px--;
}
SPOIL(high)
{
    UNUSED;
    p->height_px++;
}
SPOIL(low)
{
    UNUSED;
    p->height_px--;
}
SPOIL(no_width)
{
    UNUSED;
    p->width_px = 0;
}
SPOIL(no_height)
{
    UNUSED;
    p->height_px = 0;
}
SPOIL(negative)
{
    UNUSED;
    p->width_px = -p->width_px;
}
SPOIL(no_pitch)
{
    UNUSED;
    p->pitch_bytes = 0;
}
SPOIL(short_pitch)
{
    UNUSED;
    p->pitch_bytes--;
}
SPOIL(huge_pitch)
{
    UNUSED;
    p->pitch_bytes = UINT32_MAX - 1;
}
SPOIL(short_pitch10)
{
    UNUSED;
    p->format = VFRONT_GREY10;
}
SPOIL(short_pitch12)
{
    UNUSED;
    p->format = VFRONT_GREY12, p->pitch_bytes = 2 * 160 - 2;
}
SPOIL(short_pitch16)
{
    UNUSED;
    p->format = VFRONT_GREY16, p->pitch_bytes = 2 * 160 - 1;
}
SPOIL(short_pitch_yuyv)
{
    UNUSED;
    p->format = VFRONT_YUYV;
}
SPOIL(odd_pitch10)
{
    UNUSED;
    p->format = VFRONT_GREY10, p->pitch_bytes = 2 * 160 + 1;
}
SPOIL(odd_pitch12)
{
    UNUSED;
    p->format = VFRONT_GREY12, p->pitch_bytes = 2 * 160 + 1;
}
SPOIL(odd_pitch16)
{
    UNUSED;
    p->format = VFRONT_GREY16, p->pitch_bytes = 2 * 160 + 1;
}
SPOIL(odd_pitch_yuyv)
{
    UNUSED;
    p->format = VFRONT_YUYV, p->pitch_bytes = 2 * 160 + 1;
}
static void odd_address(vfront_picture_t *p, vfront_format_t format)
{
    p->format = format;
    p->pitch_bytes = 2 * 160;
    p->data = (const uint8_t *)((uintptr_t)p->data | 1);
}
SPOIL(odd10)
{
    UNUSED;
    odd_address(p, VFRONT_GREY10);
}
SPOIL(odd12)
{
    UNUSED;
    odd_address(p, VFRONT_GREY12);
}
SPOIL(odd16)
{
    UNUSED;
    odd_address(p, VFRONT_GREY16);
}
SPOIL(odd_yuyv)
{
    UNUSED;
    odd_address(p, VFRONT_YUYV);
}
SPOIL(format6)
{
    UNUSED;
    p->format = (vfront_format_t)7;
}
SPOIL(format_negative)
{
    UNUSED;
    p->format = (vfront_format_t)-1;
}
SPOIL(memory3)
{
    UNUSED;
    p->memory = (vfront_memory_t)3;
}
SPOIL(memory_negative)
{
    UNUSED;
    p->memory = (vfront_memory_t)-1;
}
SPOIL(device_memory)
{
    UNUSED;
    p->memory = VFRONT_DEVICE_MEMORY;
}
static void mask(vfront_picture_t *p, int32_t width, int32_t height, uint32_t pitch)
{
    p->mask = pair_grey[0];
    p->mask_width_px = width;
    p->mask_height_px = height;
    p->mask_pitch_bytes = pitch;
}
SPOIL(mask_wide)
{
    UNUSED;
    mask(p, 161, 120, 161);
}
SPOIL(mask_narrow)
{
    UNUSED;
    mask(p, 159, 120, 160);
}
SPOIL(mask_high)
{
    UNUSED;
    mask(p, 160, 121, 160);
}
SPOIL(mask_low)
{
    UNUSED;
    mask(p, 160, 119, 160);
}
SPOIL(mask_no_size)
{
    UNUSED;
    mask(p, 0, 0, 160);
}
SPOIL(mask_no_pitch)
{
    UNUSED;
    mask(p, 160, 120, 0);
}
SPOIL(mask_short_pitch)
{
    UNUSED;
    mask(p, 160, 120, 159);
}
SPOIL(same_time)
{
    UNUSED;
    f->t_ns = last_t_ns;
}
SPOIL(time_back)
{
    UNUSED;
    f->t_ns = last_t_ns - 1;
}
SPOIL(time_zero)
{
    UNUSED;
    f->t_ns = 0;
}
SPOIL(time_jump)
{
    UNUSED;
    f->t_ns = last_t_ns + 10100000000u; /* too far ahead, also for the frame after the next one */
}
SPOIL(time_end)
{
    UNUSED;
    f->t_ns = UINT64_MAX;
}

static void turn(vfront_frame_t *f, int index, double value)
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(R, identity, sizeof R);
    R[index] = value;
    f->R_cur_prev = R;
}
SPOIL(turn_mirrored)
{
    UNUSED;
    turn(f, 4, -1);
}
SPOIL(turn_stretched)
{
    UNUSED;
    turn(f, 8, 1.001);
}
SPOIL(turn_sheared)
{
    UNUSED;
    turn(f, 1, 0.002);
}
SPOIL(turn_nan)
{
    UNUSED;
    turn(f, 3, NAN);
}
SPOIL(turn_infinite)
{
    UNUSED;
    turn(f, 0, INFINITY);
}
SPOIL(turn_zero)
{
    UNUSED;
    turn(f, 0, 0), R[4] = R[8] = 0;
}

static void samples(vfront_frame_t *f, uint32_t count)
{
    memset(gyro, 0, sizeof gyro);
    for (uint32_t i = 0; i <= VFRONT_GYRO_SAMPLES; i++) gyro[i].t_ns = f->t_ns - 20000000 + i * 1000000;
    f->gyro = gyro;
    f->gyro_count = count;
}
SPOIL(gyro_null)
{
    UNUSED;
    f->gyro = NULL, f->gyro_count = 1;
}
SPOIL(imu_null)
{
    UNUSED;
    f->imu = NULL, f->imu_count = 5;
}
SPOIL(imu_null_far_too_many)
{
    UNUSED;
    f->imu = NULL, f->imu_count = UINT32_MAX;
}
SPOIL(gyro_many)
{
    UNUSED;
    samples(f, VFRONT_GYRO_SAMPLES + 1);
}
SPOIL(gyro_far_too_many)
{
    UNUSED;
    samples(f, UINT32_MAX);
}
SPOIL(gyro_same_time)
{
    UNUSED;
    samples(f, 4), gyro[3].t_ns = gyro[2].t_ns;
}
SPOIL(gyro_back)
{
    UNUSED;
    samples(f, 4), gyro[1].t_ns = gyro[0].t_ns - 1;
}
SPOIL(gyro_nan_x)
{
    UNUSED;
    samples(f, 4), gyro[3].rate_rad_s[0] = NAN;
}
SPOIL(gyro_nan_y)
{
    UNUSED;
    samples(f, 4), gyro[0].rate_rad_s[1] = NAN;
}
SPOIL(gyro_infinite_z)
{
    UNUSED;
    samples(f, 4), gyro[0].rate_rad_s[2] = -INFINITY;
}
SPOIL(gyro_fast)
{
    UNUSED;
    samples(f, 4), gyro[2].rate_rad_s[1] = 100.1;
}
SPOIL(gyro_fast_back)
{
    UNUSED;
    samples(f, 4), gyro[2].rate_rad_s[2] = -100.1;
}
#undef SPOIL

static const struct {
    void (*spoil)(vfront_frame_t *f, vfront_picture_t *p);
    vfront_status_t status;
    const char *detail;
    int cameras; /* 0: not specific to a camera; 1: for each camera */
} bad_frame[] = {
    {no_data, VFRONT_E_NULL, "].data", 1},
    {wide, VFRONT_E_SIZE, "frame.picture[", 1},
    {narrow, VFRONT_E_SIZE, "frame.picture[", 1},
    {high, VFRONT_E_SIZE, "frame.picture[", 1},
    {low, VFRONT_E_SIZE, "frame.picture[", 1},
    {no_width, VFRONT_E_SIZE, "frame.picture[", 1},
    {no_height, VFRONT_E_SIZE, "frame.picture[", 1},
    {negative, VFRONT_E_SIZE, "frame.picture[", 1},
    {no_pitch, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {short_pitch, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {huge_pitch, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {short_pitch10, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {short_pitch12, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {short_pitch16, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {short_pitch_yuyv, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {odd_pitch10, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {odd_pitch12, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {odd_pitch16, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {odd_pitch_yuyv, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {odd10, VFRONT_E_ALIGN, "].data", 1},
    {odd12, VFRONT_E_ALIGN, "].data", 1},
    {odd16, VFRONT_E_ALIGN, "].data", 1},
    {odd_yuyv, VFRONT_E_ALIGN, "].data", 1},
    {format6, VFRONT_E_FORMAT, "].format", 1},
    {format_negative, VFRONT_E_FORMAT, "].format", 1},
    {memory3, VFRONT_E_MEMORY_KIND, "].memory", 1},
    {memory_negative, VFRONT_E_MEMORY_KIND, "].memory", 1},
    {device_memory, VFRONT_E_MEMORY_KIND, "frame", 1}, /* on the CUDA port: a host address */
    {mask_wide, VFRONT_E_MASK, "frame.picture[", 1},
    {mask_narrow, VFRONT_E_MASK, "frame.picture[", 1},
    {mask_high, VFRONT_E_MASK, "frame.picture[", 1},
    {mask_low, VFRONT_E_MASK, "frame.picture[", 1},
    {mask_no_size, VFRONT_E_MASK, "frame.picture[", 1},
    {mask_no_pitch, VFRONT_E_MASK, "].mask_pitch_bytes", 1},
    {mask_short_pitch, VFRONT_E_MASK, "].mask_pitch_bytes", 1},
    {same_time, VFRONT_E_TIME, "frame.t_ns", 0},
    {time_back, VFRONT_E_TIME, "frame.t_ns", 0},
    {time_zero, VFRONT_E_TIME, "frame.t_ns is not after", 0},
    {time_jump, VFRONT_E_TIME, "frame.t_ns is more than frame_jump_ms", 0},
    {time_end, VFRONT_E_TIME, "frame.t_ns is more than frame_jump_ms", 0},
    {turn_mirrored, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {turn_stretched, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {turn_sheared, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {turn_nan, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {turn_infinite, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {turn_zero, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {gyro_null, VFRONT_E_NULL, "frame.gyro_count = 1: frame.gyro", 0},
    {imu_null, VFRONT_E_NULL, "frame.imu_count = 5: frame.imu", 0},
    {imu_null_far_too_many, VFRONT_E_NULL, "frame.imu", 0},
    {gyro_many, VFRONT_E_GYRO, "frame.gyro_count", 0},
    {gyro_far_too_many, VFRONT_E_GYRO, "frame.gyro_count", 0},
    {gyro_same_time, VFRONT_E_GYRO, "frame.gyro[3].t_ns", 0},
    {gyro_back, VFRONT_E_GYRO, "frame.gyro[1].t_ns", 0},
    {gyro_nan_x, VFRONT_E_GYRO, "frame.gyro[3].rate_rad_s", 0},
    {gyro_nan_y, VFRONT_E_GYRO, "frame.gyro[0].rate_rad_s", 0},
    {gyro_infinite_z, VFRONT_E_GYRO, "frame.gyro[0].rate_rad_s", 0},
    {gyro_fast, VFRONT_E_GYRO, "frame.gyro[2].rate_rad_s", 0},
    {gyro_fast_back, VFRONT_E_GYRO, "frame.gyro[2].rate_rad_s", 0},
};

/** Every invalid frame, passed to submit and to step, each followed by two good ones; the previous result is unchanged.
 *  The image of an invalid frame is from another time, so that any trace of it would show. */
static void bad_frames(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_frame / sizeof *bad_frame; i++) {
        for (int camera = 0; camera < (bad_frame[i].cameras ? VFRONT_CAMERAS : 1); camera++) {
            const vfront_result_t *before = pair_step();
            const uint64_t want = vfront_digest(before);
            last_t_ns = before->t_ns;
            vfront_frame_t f = pair_frame(i + 3);
            f.t_ns = last_t_ns + FRAME_NS / 2;
            bad_frame[i].spoil(&f, &f.picture[camera]);
            pair_refused(vfront_submit(&pair_vf, &f), bad_frame[i].status, bad_frame[i].detail);
            if (bad_frame[i].cameras && camera && strstr(bad_frame[i].detail, "picture["))
                assert_non_null(strstr(vfront_detail(&pair_vf), "picture[1"));
            for (int k = 0; k < 3; k++) assert_int_equal(vfront_submit(&pair_vf, &f), bad_frame[i].status);
            assert_true(before->keypoints_count[camera] > 0 && vfront_digest(before) == want);
            pair_step();
            f.t_ns += bad_frame[i].status == VFRONT_E_TIME ? 0 : 2 * FRAME_NS;
            result = (const vfront_result_t *)&f;
            pair_refused(vfront_step(&pair_vf, &f, &result), bad_frame[i].status, bad_frame[i].detail);
            assert_null(result);
        }
    }
    pair_step();
}

/** The first frame may have any time, and refused frames before it change nothing. */
static void bad_first_frame(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_frame / sizeof *bad_frame; i++) {
        if (bad_frame[i].status == VFRONT_E_TIME) continue;
        vfront_frame_t f = pair_frame(2);
        bad_frame[i].spoil(&f, &f.picture[0]);
        pair_refused(vfront_submit(&pair_vf, &f), bad_frame[i].status, bad_frame[i].detail);
    }
    for (int i = 0; i < 3; i++) pair_step();
}

static void prior_uncalibrated(void **state)
{
    (void)state;
    vfront_rig_t rig = pair_unplaced();
    rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
    pair_start_with(&rig, NULL);
    for (int i = 0; i < 3; i++) {
        vfront_frame_t f = pair_frame((uint64_t)i);
        turn(&f, 0, 1);
        pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_PRIOR, "calibrated");
        pair_step();
    }
}

/** The detail names the last refused call. */
static void detail_is_of_the_last_call(void **state)
{
    (void)state;
    pair_refused(vfront_input(&pair_vf, -5, (void **)&result), VFRONT_E_SIZE, "-5");
    assert_int_equal(vfront_submit(&pair_vf, NULL), VFRONT_E_NULL);
    assert_null(strstr(vfront_detail(&pair_vf), "-5"));
}

static void gap(void **state)
{
    (void)state;
    static const struct {
        uint64_t dt_ns;
        uint32_t gap;
    } step[] = {{33000000, 0}, {200000000, 0}, {200000001, 1}, {33000000, 0}, {5000000000u, 1}};
    vfront_frame_t f = pair_frame(0);
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_int_equal(result->health.gap, 0);
    assert_true(result->health.dt_ns == 0);
    for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
        f.t_ns += step[i].dt_ns;
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        assert_int_equal(result->health.gap, step[i].gap);
        assert_true(result->health.dt_ns == step[i].dt_ns);
        if (step[i].gap) assert_int_equal(result->health.state, VFRONT_DEGRADED);
    }
}

/** After a reset time may go back, and frames at both ends of the range of time are accepted. */
static void any_time_after_reset(void **state)
{
    (void)state;
    vfront_frame_t f = pair_frame(3);
    f.t_ns = UINT64_MAX;
    f.exposure_ns = UINT32_MAX;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_TIME, "frame.t_ns");
    assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    f.t_ns = 0;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_int_equal(result->health.reset_counter, 1);
    f.t_ns = UINT64_MAX;
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_TIME, "frame.t_ns is more than frame_jump_ms after");
    f.t_ns = 10000000000u;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_true(result->health.dt_ns == 10000000000u && result->health.gap == 1);
}

/* ---- times of images --------------------------------------------------------------------------------------------- */

/** A frame with an image off_ns from its time is refused if that exceeds most_ns, and then has no effect. */
static void picture_at(int camera, int64_t off_ns, int64_t most_ns)
{
    const vfront_result_t *other;
    static uint64_t number; /* rises, so that times do */
    vfront_frame_t f = pair_frame(++number);
    char detail[80];
    assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK); /* without a time of the image */
    f.picture[camera].t_ns = f.t_ns + (uint64_t)off_ns;
    if (off_ns < -most_ns || off_ns > most_ns) {
        snprintf(detail, sizeof detail, "%s than the frame by over frame_skew_us: frame.picture[%d]",
                 off_ns < 0 ? "older" : "newer", camera);
        pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_TIME, detail);
        result = other;
        pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_TIME, detail);
        assert_null(result);
        f.picture[camera].t_ns = 0;
    }
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_true(vfront_digest(result) == vfront_digest(other));
}

/** An image time may differ from the frame's by frame_skew_us exactly. */
static void picture_times(void **state)
{
    (void)state;
    static const int32_t skew_us[] = {2000, 0, 1, 1000000}; /* standard value first */
    const vfront_rig_t rig = pair_cameras();
    for (size_t i = 0; i < sizeof skew_us / sizeof *skew_us; i++) {
        const int64_t most_ns = (int64_t)skew_us[i] * 1000;
        const int64_t off_ns[] = {0,  most_ns,   -most_ns,   most_ns + 1, -most_ns - 1, 1,
                                  -1, 999000000, -999000000, 1000000001,  -1000000001};
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        t.frame_skew_us = skew_us[i];
        pair_start_with(&rig, i ? &t : NULL);
        for (int c = 0; c < VFRONT_CAMERAS; c++)
            for (size_t k = 0; k < sizeof off_ns / sizeof *off_ns; k++) picture_at(c, off_ns[k], most_ns);
        assert_true(result->frame ==
                    VFRONT_CAMERAS * (sizeof off_ns / sizeof *off_ns) - 1); /* refused frames are not counted */
        pair_end(NULL);
    }
}

/** The step for a state: nine values, all others as they were. Tracks without key points. */
static void step_for_state(void **state)
{
    (void)state;
    vfront_rig_t rig = pair_cameras();
    vfront_tuning_t t, before;
    vfront_tuning_state(NULL);
    vfront_tuning_default(&before);
    before.track_target = 17;
    before.map = VFRONT_MAP;
    before.ego_hypotheses = 5;
    t = before;
    vfront_tuning_state(&t);
    assert_int_equal(t.vio, VFRONT_VIO);
    assert_true(t.select_points == 0 && t.describe == 0 && t.match == 0 && t.stereo == 0 && t.detect_levels == 1);
    assert_true(t.map == 0 && t.ego_hypotheses == 5 && t.ego_metric_hypotheses <= before.ego_metric_hypotheses);
    before.vio = t.vio;
    before.select_points = before.describe = before.match = before.stereo = before.map = 0;
    before.detect_levels = 1;
    before.ego_metric_hypotheses = t.ego_metric_hypotheses;
    assert_memory_equal(&t, &before, sizeof t);
    t.vio = 0; /* this rig has no IMU */
    pair_start_with(&rig, &t);
    for (int i = 0; i < 3; i++) {
        const vfront_frame_t f = pair_frame(i);
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        assert_true(result->tracks_count > 0 && result->keypoints_count[0] == 0);
    }
    pair_end(NULL);
}

/** Differences do not overflow at both ends of time; a camera without an image has no time. */
static void picture_times_far_off(void **state)
{
    (void)state;
    vfront_frame_t f = pair_frame(0);
    f.t_ns = 5;
    f.picture[0].t_ns = UINT64_MAX;
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_TIME,
                 "newer than the frame by over frame_skew_us: frame.picture[0]");
    f.picture[0].t_ns = 1;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_true(result->frame == 0);
    assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    f.t_ns = UINT64_MAX;
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_TIME,
                 "older than the frame by over frame_skew_us: frame.picture[0]");
    f.picture[0].t_ns = UINT64_MAX - 2000000;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    vfront_rig_t rig = pair_cameras();
    rig.cameras = 1;
    vfront_shutdown(&pair_vf);
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
    f = pair_frame(1);
    f.picture[VFRONT_CAMERAS - 1].t_ns = 1;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
}
#define PAIR(test) cmocka_unit_test_setup_teardown(test, pair_start, pair_end)
#define LONE(test) cmocka_unit_test_teardown(test, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LONE(out_of_order),
        PAIR(init_twice),
        PAIR(copied),
        PAIR(wait_without_submit),
        PAIR(busy),
        PAIR(no_time),
        PAIR(null_arguments),
        PAIR(no_such_camera),
        PAIR(bad_frames),
        PAIR(bad_first_frame),
        LONE(prior_uncalibrated),
        PAIR(detail_is_of_the_last_call),
        PAIR(gap),
        PAIR(any_time_after_reset),
        LONE(picture_times),
        LONE(step_for_state),
        PAIR(picture_times_far_off),
    };
    return pair_run("api", tests, sizeof tests / sizeof *tests);
}
