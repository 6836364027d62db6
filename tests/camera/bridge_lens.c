/* SPDX-License-Identifier: MIT */
/* The lenses as a shared library for tests/camera/opencv_lens.py: many rays or pixels of one camera at a time. */
#include "camera/lens.h"

int bridge_project(const double camera[13], int count, const double *rays, double *px, int32_t *held);
int bridge_bearing(const double camera[13], int count, const double *px, double *rays, int32_t *held);

/** Lens model of a camera: lens, fx, fy, cx, cy, and 8 coefficients. */
static void take(struct vf_lens *lens, const double camera[13])
{
    vfront_camera_t c;
    memset(&c, 0, sizeof c);
    c.lens = (vfront_lens_t)camera[0];
    c.fx_px = camera[1];
    c.fy_px = camera[2];
    c.cx_px = camera[3];
    c.cy_px = camera[4];
    memcpy(c.distortion, camera + 5, sizeof c.distortion);
    vf_lens_make(lens, &c);
}

/** Projects rays [count][3] to px [count][2]. held: 1 for each ray in the range of the lens. Returns their number. */
int bridge_project(const double camera[13], int count, const double *rays, double *px, int32_t *held)
{
    struct vf_lens lens;
    int n = 0;
    take(&lens, camera);
    for (int i = 0; i < count; i++) n += held[i] = vf_lens_project(&lens, rays + 3 * i, px + 2 * i);
    return n;
}

/** Bearings, rays [count][3], of px [count][2]. held: 1 for each pixel with a bearing. Returns their number. */
int bridge_bearing(const double camera[13], int count, const double *px, double *rays, int32_t *held)
{
    struct vf_lens lens;
    int n = 0;
    take(&lens, camera);
    for (int i = 0; i < count; i++) n += held[i] = vf_lens_bearing(&lens, px + 2 * i, rays + 3 * i);
    return n;
}
