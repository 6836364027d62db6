/* SPDX-License-Identifier: MIT */
/* Random calls of every public function with random arguments, most of them valid. A model tracks which front end is
 * initialised and has a frame under way. A twin sees only accepted calls, and its digests must be equal: refused calls
 * change nothing.
 *
 * fuzz [--seconds N] [--runs N] [--seed N]   random inputs; prints the seed of a failing run
 * fuzz FILE...                               inputs in libFuzzer's format
 * With -DLIBFUZZER there is no main(), and libFuzzer drives. */
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fixture/pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static const uint8_t *dice, *dice_end;

static uint32_t roll(uint32_t below) /* 0 .. below - 1; 0 when the input is used up */
{
    uint32_t v = 0;
    for (uint32_t most = below - 1; most && dice < dice_end; most >>= 8) v = v << 8 | *dice++;
    return v % below;
}
static int one_in(uint32_t n) { return dice < dice_end && roll(n) == n - 1; }

static int32_t wild_int(void)
{
    static const int32_t odd[] = {0,   1,    -1,    2,     15,     16,        63,        64,
                                  100, 4096, 65535, 65536, -32768, INT32_MAX, INT32_MIN, INT32_MAX - 1};
    return one_in(3) ? (int32_t)(roll(65536) << 16 | roll(65536)) : odd[roll(16)];
}

static double wild_double(void)
{
    static const double odd[] = {0,     -0.0,   1,    -1,     NAN,  INFINITY, -INFINITY, 1e-310,
                                 1e300, -1e300, 1e-3, 99.999, -100, 100.001,  1e9,       0.5};
    return odd[roll(16)];
}

/** Number in least .. most, occasionally any number. */
static int32_t number(int32_t least, int32_t most)
{
    return one_in(40) ? wild_int() : least + (int32_t)roll((uint32_t)(most - least) + 1);
}
static double real(double least, double most)
{
    return one_in(40) ? wild_double() : least + (most - least) * roll(65536) / 65535.0;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

#define ROOM (4 * VFRONT_WIDTH * VFRONT_HEIGHT)
static uint8_t pixels[6][ROOM + 32]; /* blobs, shifted blobs, noise, black, white, checkerboard */
static uint8_t masks[3][ROOM];       /* ones, holes, zeros */

static void draw(void)
{
    static int drawn;
    if (drawn++) return;
    for (uint32_t i = 0; i < ROOM + 32; i++) {
        pixels[2][i] = (uint8_t)scene_hash(1, i, 0);
        pixels[4][i] = 255;
        pixels[5][i] = (i / 7 + i / 1345) % 2 ? 250 : 5;
    }
    for (int k = 0; k < 2; k++) {
        const struct scene wide = {4 * VFRONT_WIDTH, VFRONT_HEIGHT, 3, 40, -24};
        scene_draw(&wide, k, pixels[k], 4 * VFRONT_WIDTH);
    }
    for (uint32_t i = 0; i < ROOM; i++) {
        masks[0][i] = 1;
        masks[1][i] = i / 50 % 3 > 0;
    }
}

/** Rotation by up to a radian about each axis, or random numbers. */
static void rotation(double R[9])
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const int axis = (int)roll(3), a = (axis + 1) % 3, b = (axis + 2) % 3;
    const double angle = one_in(3) ? real(-3, 3) : real(-0.05, 0.05);
    memcpy(R, identity, sizeof identity);
    R[4 * a] = R[4 * b] = cos(angle);
    R[3 * a + b] = -sin(angle);
    R[3 * b + a] = sin(angle);
    if (one_in(20)) R[roll(9)] = wild_double();
}

/** Random lens, mostly with small coefficients; sometimes an unknown model, or coefficients that the model lacks. */
static void some_lens(vfront_camera_t *c)
{
    const int numbers[] = {5, 8, 4, 8};
    c->lens = (vfront_lens_t)roll(one_in(20) ? 4 : 3);
    for (int k = 0; k < numbers[c->lens] && !one_in(4); k++)
        c->distortion[k] = one_in(4) ? real(-2, 2) : real(-0.01, 0.01);
    if (one_in(20)) c->distortion[roll(8)] = wild_double();
}

/** Projection and its inverse agree; outside the lens model the output is unchanged. */
static void some_rays(const vfront_camera_t *c)
{
    for (int i = 0; i < 20; i++) {
        double px[2] = {real(-1, 2) * c->width_px, real(-1, 2) * c->height_px}, ray[3] = {7, 7, 7}, back[2] = {7, 7};
        if (one_in(20)) px[roll(2)] = wild_double();
        if (!vfront_lens_bearing(c, px, ray)) {
            CHECK(ray[0] == 7 && ray[1] == 7 && ray[2] == 7);
            continue;
        }
        CHECK(fabs(ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2] - 1) < 1e-14);
        if (!vfront_lens_project(c, ray, back)) continue; /* at the very border of the lens model */
        const double far = fabs(px[0]) / c->fx_px +
                           fabs(px[1]) / c->fy_px; /* a distant point is less accurate across as well */
        CHECK(fabs(back[0] - px[0]) <=
              1e-10 * (1e4 + far * c->fx_px + fabs(c->cx_px) + c->fx_px)); /* any camera, even of 10^300 px */
        CHECK(fabs(back[1] - px[1]) <= 1e-10 * (1e4 + far * c->fy_px + fabs(c->cy_px) + c->fy_px));
    }
    for (int i = 0; i < 20; i++) {
        const double ray[3] = {wild_double(), wild_double(), wild_double()};
        double px[2] = {7, 7};
        CHECK(vfront_lens_project(c, ray, px) || (px[0] == 7 && px[1] == 7));
    }
}

static vfront_rig_t some_rig(void)
{
    vfront_rig_t rig;
    memset(&rig, 0, sizeof rig);
    rig.cameras = number(1, VFRONT_CAMERAS);
    for (int i = 0; i < VFRONT_CAMERAS; i++) {
        vfront_camera_t *c = &rig.camera[i];
        c->width_px = one_in(2) ? VFRONT_WIDTH : number(16, VFRONT_WIDTH); /* small images have few key points */
        c->height_px = one_in(2) ? VFRONT_HEIGHT : number(16, VFRONT_HEIGHT);
        if (!one_in(3)) {
            c->fx_px = real(0.06, one_in(5) ? 90 : 50) *
                       c->width_px; /* over 57 widths the image is less than a degree wide */
            c->fy_px = real(0.06, 90) * c->width_px;
            c->cx_px = real(-0.9, 1.9) * c->width_px;
            c->cy_px = real(-0.9, 1.9) * c->height_px;
        }
        some_lens(c);
        if (one_in(3)) rotation(c->R_cam_imu);
        for (int k = 0; k < 3 && one_in(2); k++) c->t_cam_imu_m[k] = one_in(30) ? wild_double() : real(-1, 1);
        if (one_in(3)) c->row_us = one_in(30) ? wild_double() : real(-1e5, 1e5) / c->height_px;
        if (one_in(3)) {
            c->mask = masks[roll(3)];
            c->mask_pitch_bytes = (uint32_t)number(VFRONT_WIDTH, 3 * VFRONT_WIDTH);
            if (c->mask_pitch_bytes > ROOM / VFRONT_HEIGHT)
                c->mask_pitch_bytes %= VFRONT_WIDTH; /* so that it fits the buffer */
        }
    }
    if (one_in(3)) {
        rig.imu = (vfront_imu_noise_t){real(0, 1),     real(0, 10),   real(0, 1),      real(0, 10),
                                       real(0.1, 100), real(1, 1000), real(10, 20000), real(0, 30)};
        rig.imu_offset_ns = one_in(20) ? (int64_t)((uint64_t)wild_int() << roll(33)) : number(-1000000000, 1000000000);
    }
    return rig;
}

/** Two cameras side by side, as in flight, so that key points get depths. */
static void some_pair(vfront_rig_t *rig)
{
    const struct scene size = {VFRONT_WIDTH, VFRONT_HEIGHT, 0, 0, 0};
    *rig = scene_pair(&size, &size);
    for (int k = 0; k < 3; k++) rig->camera[VFRONT_CAMERAS - 1].t_cam_imu_m[k] += one_in(3) ? real(-0.01, 0.01) : 0;
    if (one_in(3)) rotation(rig->camera[VFRONT_CAMERAS - 1].R_cam_imu);
    if (one_in(4)) rig->camera[roll(VFRONT_CAMERAS)].width_px = number(64, VFRONT_WIDTH);
}

static vfront_tuning_t some_tuning(void)
{
    vfront_tuning_t t;
    const vfront_tuning_entry_t *e;
    vfront_tuning_default(&t);
    for (size_t i = 0; (e = vfront_tuning_entry(i)) != NULL; i++) {
        const int32_t value = number(e->least, e->most < 300 ? e->most : 300);
        if (!one_in(4)) continue;
        if (one_in(10)) {
            memcpy((int32_t *)&t + i, &value, sizeof value); /* bypasses the check of vfront_tuning_set() */
            continue;
        }
        const vfront_status_t s = vfront_tuning_set(&t, e->name, value);
        CHECK(s == (value < e->least || value > e->most ? VFRONT_E_TUNING : VFRONT_OK));
    }
    t.device = t.priority = 0; /* machine dependent; tests/core/hang.c tests them */
    vfront_tuning_set(&t, "abandon_us", 1000000);
    vfront_tuning_set(&t, "abandon_init_ms", 60000);
    if (one_in(2)) { /* every step is late, and the host port soon takes over */
        t.failover = t.deadline_us = 1;
        t.failover_overruns = 1 + (int32_t)roll(4);
    }
    if (one_in(2)) { /* room for key points, and enough cells to fill the list */
        t.detect_border_px = t.describe_margin_px = 3;
        t.cell_width_px = VFRONT_WIDTH / 8;
        t.cell_height_px = VFRONT_HEIGHT / 8;
        if (!one_in(4)) t.describe = 1;
    }
    if (!one_in(10)) {
        t.dense_disparities = 64;
        if (t.dense_p2 < t.dense_p1) t.dense_p2 = 39;
        if (t.stixel) t.dense = 1;
        if (t.stixel) t.dense_least_px = 0;
    }
    CHECK(vfront_tuning_set(&t, "no such value", 1) == VFRONT_E_TUNING);
    return t;
}

static vfront_gyro_t gyro[VFRONT_GYRO_SAMPLES + 1];
static vfront_imu_t imu[VFRONT_IMU_SAMPLES + 1];
static double R_cur_prev[9];
static uint64_t now_ns, imu_ns;

/** IMU samples that mostly continue the last ones; sometimes too many, out of order, far ahead, or random. */
static void some_imu(vfront_frame_t *f)
{
    if (imu_ns > f->t_ns + 20000000 || imu_ns + 200000000 < f->t_ns || one_in(40)) imu_ns = f->t_ns - roll(60000000);
    f->imu = imu;
    f->imu_count = one_in(60) ? (uint32_t)wild_int() : roll(one_in(20) ? VFRONT_IMU_SAMPLES + 2 : 10);
    const uint32_t count = f->imu_count < VFRONT_IMU_SAMPLES + 1 ? f->imu_count : VFRONT_IMU_SAMPLES + 1;
    const double rate = real(0, 2), force = real(0, 20), change = one_in(4) ? 0 : 1e-3;
    for (uint32_t i = 0; i < count; i++) {
        imu[i].t_ns = imu_ns += 1 + roll(8000000);
        for (int k = 0; k < 3; k++) imu[i].gyro_rad_s[k] = rate + change * i, imu[i].accel_m_s2[k] = force - change * i;
        if (!one_in(60)) continue;
        if (one_in(2)) imu_ns += one_in(2) ? roll(300000000) : (uint64_t)wild_int() << roll(33);
        if (one_in(2)) imu[i].t_ns -= roll(8000000);
        if (one_in(4)) imu[i].gyro_rad_s[roll(3)] = wild_double();
        if (one_in(4)) imu[i].accel_m_s2[roll(3)] = wild_double();
    }
}

static void some_motion(vfront_frame_t *f)
{
    if (one_in(5)) {
        rotation(R_cur_prev);
        f->R_cur_prev = R_cur_prev;
    }
    if (one_in(3)) some_imu(f);
    if (!one_in(f->imu ? 50 : 4)) return;
    uint64_t t = f->t_ns - roll(50000000);
    f->gyro = gyro;
    f->gyro_count = (uint32_t)number(0, VFRONT_GYRO_SAMPLES);
    for (uint32_t i = 0; i <= VFRONT_GYRO_SAMPLES; i++) {
        gyro[i].t_ns = t;
        t += 1 + (one_in(60) ? (uint64_t)wild_int() << roll(33) : roll(5000000));
        for (int k = 0; k < 3; k++) gyro[i].rate_rad_s[k] = real(-3, 3);
    }
}

/** A time near the frame's, within the standard tuning's bound or slightly beyond. */
static uint64_t some_time(uint64_t t_ns)
{
    if (one_in(20)) return (uint64_t)wild_int() << roll(33);
    return t_ns + (one_in(10) ? 1 : 0) - 2000000u + 2 * roll(2000001);
}

/** Images of the blobs in both cameras, slightly shifted. */
static void some_view(vfront_frame_t *f)
{
    const uint8_t *blobs = pixels[roll(2)] + 16;
    for (int i = 0; i < VFRONT_CAMERAS; i++) {
        vfront_picture_t *p = &f->picture[i];
        p->format = VFRONT_GREY8;
        p->pitch_bytes = 4 * VFRONT_WIDTH;
        p->data = blobs + (i ? roll(12) : 0);
        p->mask = NULL;
    }
}

static void some_picture(vfront_picture_t *p, const vfront_camera_t *camera, uint64_t t_ns)
{
    if (one_in(4)) p->t_ns = some_time(t_ns);
    p->width_px = one_in(60) ? wild_int() : camera->width_px;
    p->height_px = one_in(60) ? wild_int() : camera->height_px;
    p->format = (vfront_format_t)number(VFRONT_GREY8, VFRONT_YUYV);
    p->memory = one_in(60) ? (vfront_memory_t)wild_int() : VFRONT_HOST_MEMORY;
    const uint32_t bytes = scene_pixel_bytes(p->format), row = bytes * (uint32_t)camera->width_px;
    p->pitch_bytes = one_in(60) ? (uint32_t)wild_int() : row + roll(100) * (one_in(30) ? 1 : bytes);
    if (p->pitch_bytes > ROOM / VFRONT_HEIGHT) p->pitch_bytes |= 0x80000000u; /* absurd, or within the buffer */
    p->data = one_in(100) ? NULL : pixels[roll(6)] + (one_in(30) ? 1 : 2 * roll(4));
    if (one_in(12)) p->format = VFRONT_NO_PICTURE;
    if (!one_in(4)) return;
    p->mask = masks[roll(3)];
    p->mask_width_px = one_in(40) ? wild_int() : p->width_px;
    p->mask_height_px = one_in(40) ? wild_int() : p->height_px;
    p->mask_pitch_bytes = (uint32_t)camera->width_px + roll(50) - (one_in(40) ? 1 : 0);
}

/* ---- the front ends and their model ------------------------------------------------------------------------------ */

static vfront_t vf, twin;
static struct {
    int used, under_way;
    vfront_rig_t rig, seen;
    vfront_tuning_t tuning;
    uint64_t digest;  /* of the twin, for the frame under way */
    uint64_t rest;    /* without disparities and stixels */
    int spared;       /* 1: a host port that took over left these out (failover 2) */
    int flying;       /* 1: a frame was accepted since init or reset */
    uint64_t last_ns; /* timestamp of the last accepted frame */
    int row;          /* length of the current run of rejected timestamps */
    uint64_t row_ns;  /* the last of them */
} is;
static long returns; /* vfront_return() calls that returned to the GPU */

/** 1 if a timestamp may follow another one. */
static int follows(uint64_t t_ns, uint64_t before_ns)
{
    return t_ns > before_ns && t_ns - before_ns <= (uint64_t)is.tuning.frame_jump_ms * 1000000u;
}

/** Timestamp rule: 1 if the timestamp must be rejected, which is recorded. set: 1 if it is the third of a clock that
 *  was set. */
static int stamp_refused(uint64_t t_ns, int *set)
{
    *set = 0;
    if (!is.flying || follows(t_ns, is.last_ns)) return 0;
    const int row = is.row && follows(t_ns, is.row_ns) ? is.row + 1 : 1;
    *set = row == 3;
    if (*set) return 0;
    is.row = row;
    is.row_ns = t_ns;
    return 1;
}

static vfront_frame_t some_frame(void)
{
    vfront_frame_t f;
    memset(&f, 0, sizeof f);
    if (one_in(40)) now_ns += (uint64_t)wild_int() << roll(33); /* the clock is set */
    f.t_ns = now_ns += 1 + roll(60000000);
    if (one_in(30)) f.t_ns = (uint64_t)wild_int() << roll(33); /* a corrupt timestamp */
    f.exposure_ns = roll(20000000);
    for (int i = 0; i < VFRONT_CAMERAS; i++) some_picture(&f.picture[i], &is.rig.camera[i], f.t_ns);
    if (one_in(3)) some_view(&f);
    some_motion(&f);
    return f;
}

static void check_result(const vfront_result_t *r)
{
    vfront_tuning_t tuning = is.tuning;
    if (r->timing.failed_over && tuning.failover == VFRONT_FAILOVER_LIGHT) {
        tuning.dense = tuning.stixel = 0;
        is.spared = 1;
    }
    const char *broken = pair_broken(&is.seen, &tuning, r);
    if (!broken) return;
    fprintf(stderr, "a result for which this does not hold: %s\n", broken);
    abort();
}

static void refused(vfront_status_t status)
{
    CHECK(status < 0 && status >= VFRONT_E_IMU && strcmp(vfront_status_name(status), "unknown status") != 0);
    CHECK(memchr(vfront_detail(&vf), 0, 128));
}

static void do_init(void)
{
    vfront_rig_t rig = some_rig();
    if (one_in(3)) some_pair(&rig);
    some_rays(&rig.camera[roll(VFRONT_CAMERAS)]);
    const vfront_tuning_t tuning = some_tuning();
    const vfront_port_t port = one_in(30) ? (vfront_port_t)wild_int() : (vfront_port_t)roll(3);
    const int given = !one_in(4);
    const vfront_status_t status = vfront_init(&vf, one_in(100) ? NULL : &rig, given ? &tuning : NULL, port);
    CHECK(!is.used || status == VFRONT_E_STATE);
    if (status) {
        refused(status);
        return;
    }
    is.used = 1;
    is.rig = rig;
    is.seen = pair_seen(&vf, &rig);
    is.tuning = tuning;
    if (!given) vfront_tuning_default(&is.tuning);
    CHECK(vfront_init(&twin, &rig, &is.tuning, VFRONT_PORT_HOST) == VFRONT_OK);
    now_ns = roll(2) ? 0 : UINT64_MAX / 2;
}

static void do_submit(void)
{
    vfront_frame_t f = some_frame();
    const vfront_frame_t plain = f;
    if (is.used && one_in(4)) { /* camera 0 in the library's own buffer */
        void *data;
        CHECK(vfront_input(&vf, 0, &data) == VFRONT_OK);
        if ((uintptr_t)f.picture[0].data % 2 == 0 && f.picture[0].data &&
            f.picture[0].pitch_bytes <= VFRONT_INPUT_BYTES / (uint32_t)is.rig.camera[0].height_px) {
            memcpy(data, f.picture[0].data, VFRONT_INPUT_BYTES);
            f.picture[0].data = data;
            if (f.picture[0].memory == VFRONT_HOST_MEMORY) f.picture[0].memory = VFRONT_PINNED_MEMORY;
        }
    }
    const int given = !one_in(100), looked_at = given && is.used && !is.under_way;
    int set = 0;
    const int refuse = looked_at && stamp_refused(f.t_ns, &set);
    const vfront_status_t status = vfront_submit(&vf, given ? &f : NULL);
    CHECK(!refuse || status == VFRONT_E_TIME);
    if (status) {
        CHECK(is.used || status == VFRONT_E_STATE || status == VFRONT_E_NULL);
        refused(status);
        return;
    }
    CHECK(is.used && !is.under_way);
    is.under_way = 1;
    is.flying = 1;
    is.last_ns = f.t_ns;
    is.row = 0;
    const vfront_result_t *r;
    if (set) CHECK(vfront_reset(&twin) == VFRONT_OK);
    CHECK(vfront_step(&twin, &plain, &r) == VFRONT_OK);
    CHECK(!set || r->frame == 0);
    is.digest = vfront_digest(r);
    is.rest = vfront_digest_parts(r, VFRONT_PART_REST);
}

static void do_wait(void)
{
    const vfront_result_t *r = (const vfront_result_t *)&vf;
    const vfront_status_t status = vfront_wait(&vf, one_in(2) ? UINT32_MAX : roll(100), &r);
    if (status) {
        CHECK(!is.under_way || status == VFRONT_E_TIMEOUT);
        CHECK(r == NULL);
        refused(status);
        return;
    }
    CHECK(is.under_way);
    is.under_way = 0;
    check_result(r);
    CHECK(is.spared ? vfront_digest_parts(r, VFRONT_PART_REST) == is.rest : vfront_digest(r) == is.digest);
}

static void do_reset(void)
{
    const vfront_status_t status = vfront_reset(&vf);
    CHECK(status == (!is.used ? VFRONT_E_STATE : is.under_way ? VFRONT_E_BUSY : VFRONT_OK));
    if (status) return;
    CHECK(vfront_reset(&twin) == VFRONT_OK);
    is.flying = is.row = 0;
    now_ns = 0;
}

/** Returns to the GPU; a front end that never failed over is refused. */
static void do_return(void)
{
    vfront_info_t info;
    const int over = vfront_info(&vf, &info) == VFRONT_OK && info.failover[0];
    const int given = !one_in(20);
    const vfront_status_t status = vfront_return(given ? &vf : NULL);
    CHECK(given || status == VFRONT_E_NULL);
    if (status) refused(status);
    if (!given) return;
    if (over && !is.under_way)
        CHECK(status == VFRONT_OK);
    else
        CHECK(status == (is.under_way ? VFRONT_E_BUSY : VFRONT_E_STATE));
    returns += !status;
}

static size_t image_bytes; /* size of the last saved map */

/** Saves a map, which changes nothing; or loads one, mostly saved in another run, sometimes damaged. */
static void do_map(void)
{
    static uint8_t image[VFRONT_MAP_BYTES], same[VFRONT_MAP_BYTES];
    size_t bytes = image_bytes;
    const vfront_status_t want = !is.used                        ? VFRONT_E_STATE
                                 : is.under_way                  ? VFRONT_E_BUSY
                                 : !VFRONT_MAP || !is.tuning.map ? VFRONT_E_STATE
                                                                 : VFRONT_OK;
    size_t used = 0, other = 0;
    if (one_in(2)) {
        const vfront_status_t status = vfront_map_save(&vf, same, sizeof same, &used);
        CHECK(status == want);
        if (status) return;
        image_bytes = used;
        memcpy(image, same, used);
        CHECK(vfront_map_save(&twin, same, sizeof same, &other) == VFRONT_OK && used == other);
        CHECK(memcmp(image, same, used) == 0);
        return;
    }
    size_t n = bytes;
    memcpy(same, image, bytes);
    if (bytes && one_in(4)) same[roll((uint32_t)bytes)] ^= (uint8_t)(1 + roll(255));
    if (one_in(10)) n = roll((uint32_t)bytes + 1);
    const vfront_status_t status = vfront_map_load(&vf, same, n);
    if (want) CHECK(status == want);
    if (!want) CHECK(vfront_map_load(&twin, same, n) == status);
}

static void do_shutdown(void)
{
    vfront_shutdown(&vf);
    vfront_shutdown(&twin);
    is.used = is.under_way = is.flying = is.row = is.spared = 0;
}

static void do_ask(void)
{
    vfront_info_t info;
    void *data, *both[VFRONT_INPUTS];
    const int32_t camera = number(0, VFRONT_CAMERAS - 1);
    CHECK(vfront_info(&vf, &info) == (is.used ? VFRONT_OK : VFRONT_E_STATE));
    CHECK(vfront_info(&vf, NULL) == VFRONT_E_NULL);
    const vfront_status_t status = vfront_input(&vf, camera, &data);
    CHECK(vfront_inputs(&vf, camera, both) == status);
    if (!status) CHECK((data == both[0]) != (data == both[1]));
    CHECK(status == (!is.used ? VFRONT_E_STATE : camera < 0 || camera >= is.rig.cameras ? VFRONT_E_SIZE : VFRONT_OK));
    CHECK(vfront_status_name((vfront_status_t)wild_int()) && vfront_tuning_entry(1000) == NULL);
    CHECK(vfront_stage_name(VFRONT_STAGES + (size_t)roll(100)) == NULL);
    CHECK(vfront_wait(&vf, 0, NULL) == VFRONT_E_NULL && vfront_step(&vf, NULL, NULL) == VFRONT_E_NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dice = data;
    dice_end = data + size;
    image_bytes = 0;
    draw();
    for (int i = 0; i < 60 && dice < dice_end; i++) {
        switch (is.used ? roll(18) : one_in(10) ? 5 : 0) {
        case 0: do_init(); break;
        case 1: do_reset(); break;
        case 2: do_ask(); break;
        case 3:
            if (one_in(4)) do_shutdown();
            break;
        case 4: do_wait(); break;
        case 5: do_return(); break;
        case 6: do_map(); break;
        default:
            do_submit();
            if (!one_in(8)) do_wait();
        }
    }
    do_shutdown();
    do_ask();
    return 0;
}

/* ---- without libFuzzer ------------------------------------------------------------------------------------------- */

#ifndef LIBFUZZER

static uint64_t seed;

static void print_seed(void)
{
    fprintf(stderr, "fuzz: the run with --seed %llu --runs 1 fails\n", (unsigned long long)seed);
}
static void on_signal(int number)
{
    print_seed();
    signal(number, SIG_DFL);
    raise(number);
}
/* Provided by the sanitizers' runtime; NULL without it. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void run_seed(void)
{
    static uint8_t input[6000];
    const uint32_t size = 200 + scene_hash((uint32_t)seed, (uint32_t)(seed >> 32), 1) % 5800;
    for (uint32_t i = 0; i < size; i++)
        input[i] = (uint8_t)(scene_hash((uint32_t)seed, (uint32_t)(seed >> 32), 2 + i / 4) >> (i % 4 * 8));
    LLVMFuzzerTestOneInput(input, size);
}

static int run_file(const char *path)
{
    static uint8_t input[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f) return 1;
    const size_t size = fread(input, 1, sizeof input, f);
    fclose(f);
    LLVMFuzzerTestOneInput(input, size);
    return 0;
}

int main(int argc, char **argv)
{
    double seconds = 1e9;
    long runs = 0, most = 1000;
    for (int i = 1; i < argc; i++) {
        const int value = i + 1 < argc;
        if (value && strcmp(argv[i], "--seconds") == 0)
            seconds = atof(argv[++i]), most = -1;
        else if (value && strcmp(argv[i], "--runs") == 0)
            most = atol(argv[++i]);
        else if (value && strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[++i], NULL, 10);
        else if (run_file(argv[i]))
            return fprintf(stderr, "fuzz: %s: no such file\n", argv[i]), 1;
        else
            most = 0;
    }
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(print_seed);
    signal(SIGABRT, on_signal);
    signal(SIGSEGV, on_signal);
    const time_t start = time(NULL);
    for (; runs != most && difftime(time(NULL), start) < seconds; runs++, seed++) run_seed();
    printf("fuzz: %ld runs, %ld returns to the GPU\n", runs, returns);
    return 0;
}

#endif
