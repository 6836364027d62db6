/* SPDX-License-Identifier: MIT
 *
 * Parts of the flight along a trajectory (course.h), shared by its files: course_spline.c has the curve, course_imu.c
 * the samples, course.c the rest.
 */
#ifndef COURSE_INTERNAL_H
#define COURSE_INTERNAL_H

#include "course.h"
#include "renderer.h"

#define START_NS 1000000000u /* of the first frame */
#define BEFORE_NS 100000000u /* samples begin so long before it, and end so long after the last one */
#define SAMPLE_NS 5000000u
#define SPARE_S 0.2 /* of the curve, before the first frame and after the last one */

struct course {
    course_settings_t set;
    spline_t spline;
    synthetic_t *scene;
    uint32_t frames;
    double R_cam_imu[9], lever_m[3]; /* lever: camera 0 in IMU axes */
    uint32_t *irradiance;            /* [height][width], of the picture being exposed */
    vfront_imu_t *imu;
    uint32_t imu_count;
};

/** Time on the curve [s]. */
static inline double course_curve_s(const struct course *c, uint64_t t_ns)
{
    return SPARE_S + 1e-3 * c->set.from_ms + ((double)t_ns - (double)START_NS) * 1e-9;
}

/** Noise of the samples, as the rig has it. */
void course_imu_noise(vfront_imu_noise_t *noise);

/** Draw all samples. Returns 0 without memory. */
int course_draw_imu(struct course *c);

#endif
