/* SPDX-License-Identifier: MIT */
/* vfcheck: the rendered flight with an IMU. Some of its frames repeat, with a gap in time between two rounds, so that
 * the estimator starts anew in known surroundings. */
#include <stdlib.h>

#include "examples/synthetic/synthetic.h"
#include "vfcheck.h"

#ifdef EMULATED
enum { FRAMES = 4 };
#else
enum { FRAMES = 64 };
#endif
#define GAP_NS 2000000000u /* gap between two rounds: longer than IMU samples may be missing */
#define AHEAD_NS 7000000u  /* time by which the IMU samples of a frame extend beyond it */

static uint8_t *grey; /* pinned: [FRAMES][VFRONT_CAMERAS][height][width] */
static int width_px, height_px;
static vfront_rig_t rig;

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

vfront_frame_t flown_frame(long step, int cameras, int imu)
{
    static vfront_imu_t reading[VFRONT_IMU_SAMPLES];
    const uint32_t at = (uint32_t)(step % FRAMES);
    const uint64_t later_ns = (uint64_t)(step / FRAMES) * (synthetic_time_ns(FRAMES) - synthetic_time_ns(0) + GAP_NS);
    vfront_frame_t f;
    memset(&f, 0, sizeof f);
    f.t_ns = synthetic_time_ns(at) + later_ns;
    for (int c = 0; c < vf_min(cameras, rig.cameras); c++) {
        f.picture[c].data = grey_of((int)at, c);
        f.picture[c].width_px = width_px;
        f.picture[c].height_px = height_px;
        f.picture[c].pitch_bytes = (uint32_t)width_px;
        f.picture[c].memory = VFRONT_PINNED_MEMORY;
    }
    if (!imu) return f;
    const uint64_t from_ns = at ? synthetic_time_ns(at - 1) + AHEAD_NS : synthetic_time_ns(0) - SYNTHETIC_FRAME_NS;
    f.imu = reading;
    f.imu_count = synthetic_imu(from_ns, synthetic_time_ns(at) + AHEAD_NS, reading, VFRONT_IMU_SAMPLES);
    for (uint32_t k = 0; k < f.imu_count; k++) reading[k].t_ns += later_ns;
    return f;
}
