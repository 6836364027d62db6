/* SPDX-License-Identifier: MIT */
/* The supervisor's memory and view in tests without the rest of the library. */
#ifndef SUPERVISED_H
#define SUPERVISED_H

#include "nav/nav.h"

static struct vf_nav nav;
static struct vf_samples samples;
static struct vf_params params;
static struct vf_vio_request request;
static struct vf_vio_report report;
static vfront_camera_t camera[VFRONT_CAMERAS];
static vfront_imu_noise_t noise;

/** Clears this memory. Returns a view of it, with the stage vio alone. */
static struct vf_nav_view supervised_view(void)
{
    memset(&nav, 0, sizeof nav);
    memset(&samples, 0, sizeof samples);
    memset(&params, 0, sizeof params);
    memset(&request, 0, sizeof request);
    memset(&report, 0, sizeof report);
    memset(&noise, 0, sizeof noise);
    return (struct vf_nav_view){.geometry.active = VF_BIT(vio),
                                .camera = camera,
                                .imu = &noise,
                                .params = &params,
                                .samples = &samples,
                                .vio = &report,
                                .nav = &nav,
                                .request = &request,
                                .state_motion = &params.state_motion};
}

#endif
