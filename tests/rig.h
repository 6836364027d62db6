/* SPDX-License-Identifier: MIT */
/* What bridges that take a rig share: cameras as rows of numbers. */
#ifndef RIG_H
#define RIG_H

#include <string.h>

#include "vfront.h"

/* Numbers of a camera, in this order: width, height, fx, fy, cx, cy, lens, distortion[8], R_cam_imu[9], t_cam_imu_m[3]. */
enum { CAMERA = 27, LENS = 6, DISTORTION = 7, ROTATION = 15, PLACE = 24 };

static void set_camera(vfront_camera_t *c, const double *n)
{
    c->width_px = (int32_t)n[0];
    c->height_px = (int32_t)n[1];
    c->fx_px = n[2];
    c->fy_px = n[3];
    c->cx_px = n[4];
    c->cy_px = n[5];
    c->lens = (vfront_lens_t)n[LENS];
    memcpy(c->distortion, n + DISTORTION, sizeof c->distortion);
    memcpy(c->R_cam_imu, n + ROTATION, sizeof c->R_cam_imu);
    memcpy(c->t_cam_imu_m, n + PLACE, sizeof c->t_cam_imu_m);
}

/** Size of a level's pixels [px]. */
static float level_scale(int level)
{
    double scale = 1.0;
    while (level-- > 0) scale *= (double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN;
    return (float)scale;
}

#endif
