/* SPDX-License-Identifier: MIT */
/* IMU motion of a frame as a member of the bank of estimators uses it. */
#ifndef VF_NAV_INTERVAL_H
#define VF_NAV_INTERVAL_H

#include "nav.h"

/** IMU noise for the estimators: that of the rig, with densities scaled by tuning value vio_imu_percent. */
vfront_imu_noise_t vf_nav_noise(const struct vf_nav_view *s);

/** Replaces the forces of a preintegral by a constant velocity, with the errors of that. q: attitude at its start;
 *  gravity_m_s2: that of the estimate; 0: none. */
void vf_nav_drop_forces(struct vf_preintegral *d, const double q[VF_QUATERNION], double gravity_m_s2);

/** Makes the biases of the accelerometer unknown again, by their walk over an interval; gyro: 1: those of the gyro,
 *  too. */
void vf_nav_forget_biases(struct vf_vio_imu_interval *motion, int gyro);

/** Fills in the motion from the last frame of member `which` to this one: without IMU samples from its last two states,
 *  else by the samples, or by their rates alone. m->next: in: as m->carried; out: with this frame's noise means. */
void vf_nav_interval(const struct vf_nav_view *s, uint32_t which, struct vf_nav_member *m,
                     struct vf_vio_imu_interval *motion);

#endif
