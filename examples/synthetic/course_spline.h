/* SPDX-License-Identifier: MIT
 *
 * Recorded trajectory as a smooth curve: pose, velocity, acceleration and angular rate at any time.
 *
 * The curve is a uniform B-spline of degree 5: of positions, and of quaternions, which are brought to length 1 where
 * the curve is asked for. Its control points, SPLINE_STEP_S apart, are read off parabolas through the lines of the
 * file that lie within a reach. So jitter and uneven stamps of a recording are smoothed, the fourth derivative is
 * continuous, and with a reach of 0.12 s motions of more than about 5 Hz are lost: what is flown is the curve, not
 * the file. Basic arithmetic and sqrt only: equal bits on every machine.
 */
#ifndef COURSE_SPLINE_H
#define COURSE_SPLINE_H

#include <stdint.h>

#define SPLINE_STEP_S 0.05

/** Curve. Zero it before spline_read(). */
typedef struct spline {
    uint32_t points;
    double seconds;     /**< Length: times 0..seconds. */
    double (*point)[7]; /**< Control points: position [m], quaternion x y z w. Number i belongs to (i - 2) steps. */
} spline_t;

/** State of the body on the curve, world axes: z up. */
typedef struct spline_state {
    double p_m[3], v_mps[3], a_mps2[3]; /**< In the world. */
    double R_world_body[9];
    double rate_rad_s[3]; /**< In body axes. */
} spline_state_t;

/**
 * Read a trajectory: lines `t [s] px py pz qx qy qz qw`, body to world, by rising time; # begins a comment.
 * Lines less than 4 ms after the one before are left out, as are those that go back by less than 0.1 s.
 * @param[in] reach_s  Lines up to so long before and after a control point give it, by tricube weights.
 * @return NULL, or a one-line message that names the file, valid until the next call.
 */
const char *spline_read(spline_t *spline, const char *path, double reach_s);
void spline_free(spline_t *spline);

/** State at a time, held within 0..seconds. */
void spline_at(const spline_t *spline, double t_s, spline_state_t *state);

#endif
