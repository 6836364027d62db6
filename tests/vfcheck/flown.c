/* SPDX-License-Identifier: MIT */
/* vfcheck: the rendered flight with an IMU, shown there and back without an end; on the way back its readings are
 * turned around in time. */
#include <stdlib.h>

#include "examples/synthetic.h"
#include "vfcheck.h"

#ifdef EMULATED
enum { FRAMES = 4 };
#else
enum { FRAMES = 48 };
#endif
enum { READINGS = 16 };   /* most of an interval between two frames */
#define AHEAD_NS 7000000u /* readings that come with a frame go on behind it for so long */

static uint8_t *grey; /* pinned: [FRAMES][VFRONT_CAMERAS][height][width] */
static int width_px, height_px;
static vfront_rig_t rig;

/** Readings between frame i and the next one, their times counted from frame i. */
static struct {
    vfront_imu_t imu[READINGS];
    uint32_t count;
} between[FRAMES - 1];

static uint8_t *grey_of(int frame, int camera)
{
    return grey + (size_t)(frame * VFRONT_CAMERAS + camera) * (size_t)width_px * (size_t)height_px;
}

void flown_draw(int width, int height)
{
    if (grey && width == width_px && height == height_px) return;
    synthetic_t *flight = synthetic_open(width, height);
    if (!flight) exit(1);
    width_px = width;
    height_px = height;
    if (grey) CUDA(cudaFreeHost(grey));
    CUDA(cudaHostAlloc((void **)&grey, (size_t)FRAMES * VFRONT_CAMERAS * (size_t)width * (size_t)height,
                       cudaHostAllocMapped));
    synthetic_rig(flight, &rig);
    synthetic_imu_noise(&rig.imu);
    for (int i = 0; i < FRAMES; i++)
        for (int c = 0; c < rig.cameras; c++) synthetic_render(flight, (uint32_t)i, c, grey_of(i, c), (size_t)width);
    synthetic_close(flight);
    for (int i = 0; i < FRAMES - 1; i++) {
        const uint64_t t_ns = synthetic_time_ns((uint32_t)i);
        between[i].count = synthetic_imu(t_ns, synthetic_time_ns((uint32_t)i + 1), between[i].imu, READINGS);
        for (uint32_t k = 0; k < between[i].count; k++) between[i].imu[k].t_ns -= t_ns;
    }
}

vfront_rig_t flown_rig(int cameras, int calibrated)
{
    vfront_rig_t r = rig;
    r.cameras = vf_min(cameras, rig.cameras);
    if (cameras < VFRONT_CAMERAS) memset(&r.camera[cameras], 0, sizeof r.camera - (size_t)cameras * sizeof *r.camera);
    if (calibrated) return r;
    memset(&r, 0, sizeof r);
    r.cameras = vf_min(cameras, rig.cameras);
    for (int c = 0; c < r.cameras; c++) {
        r.camera[c].width_px = width_px;
        r.camera[c].height_px = height_px;
    }
    return r;
}

/** Reading number k of those between a step of the flight and the next one. */
static vfront_imu_t reading(long step, uint32_t k)
{
    const long turn = 2 * (FRAMES - 1), at = step % turn;
    const int back = at >= FRAMES - 1;
    const long i = back ? turn - 1 - at : at;
    vfront_imu_t r = between[i].imu[back ? between[i].count - 1 - k : k];
    if (back) r.t_ns = SYNTHETIC_FRAME_NS - r.t_ns;
    for (int axis = 0; axis < 3 && back; axis++) r.gyro_rad_s[axis] = -r.gyro_rad_s[axis];
    r.t_ns += synthetic_time_ns((uint32_t)step);
    return r;
}

static uint32_t readings(long step)
{
    const long turn = 2 * (FRAMES - 1), at = step % turn;
    return between[at >= FRAMES - 1 ? turn - 1 - at : at].count;
}

vfront_frame_t flown_frame(long step, int cameras, int imu)
{
    static vfront_imu_t given[2 * READINGS];
    static uint64_t last_ns; /* of the readings given */
    const long turn = 2 * (FRAMES - 1), at = step % turn;
    vfront_frame_t f;
    memset(&f, 0, sizeof f);
    f.t_ns = synthetic_time_ns((uint32_t)step);
    for (int c = 0; c < vf_min(cameras, rig.cameras); c++) {
        f.picture[c].data = grey_of((int)(at < FRAMES ? at : turn - at), c);
        f.picture[c].width_px = width_px;
        f.picture[c].height_px = height_px;
        f.picture[c].pitch_bytes = (uint32_t)width_px;
        f.picture[c].memory = VFRONT_PINNED_MEMORY;
    }
    if (!imu) return f;
    if (!step) last_ns = 0;
    for (long s = step ? step - 1 : 0; s <= step; s++)
        for (uint32_t k = 0; k < readings(s); k++) {
            const vfront_imu_t r = reading(s, k);
            if (r.t_ns <= last_ns || r.t_ns > f.t_ns + AHEAD_NS) continue;
            last_ns = r.t_ns;
            given[f.imu_count++] = r;
        }
    f.imu = given;
    return f;
}
