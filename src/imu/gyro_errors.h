/* SPDX-License-Identifier: MIT */
/* imu, gyro_errors: errors of a gyro against the camera, estimated from the rotations that the images show: bias, time
 * offset, scale and axes; and the covariance of a rotation by gyro samples.
 *
 * In      per frame: rotation vector `turn` by the samples at the estimated offset, change of the rate between its
 *         ends; rotation vector `w` from the rotation prior to the motion of the images, axes at the end, with the
 *         covariance of that motion
 * Out     correction and covariance of the rotation prior; scale and axes of the gyro
 * Rule    - Kalman filter. State: bias b [rad/s], time offset o [s], matrix M of scale and axes, about 0, in axes of
 *           camera 0. Measurement: w = J (b dt + M turn) + do change + noise; do: error of the estimated offset;
 *           J: left Jacobian of SO(3) at `turn`, since both errors turn with the camera. Prior deviations and random
 *           walks: VF_GYRO_BIAS_RADPS and following
 *         - o and M are updated only while the camera turns by VF_GYRO_TURNING_RADPS (Schmidt-Kalman filter
 *           otherwise). In a camera at rest the samples' turn is the bias alone, so M = -1 would explain any bias that
 *           changes
 *         - Noise: a variance about each axis, and by the stamps of both ends, along the rates there. Each is the mean
 *           square of the innovations, there their part along the turn, less what all else explains. Each frame has
 *           the weight of the squared inverse of its variance, over VF_GYRO_MEAN_FRAMES frames: in a camera at rest
 *           the stamps have none. The noise is that of the last frames if their innovations are larger by far:
 *           tones come and go
 *         - A motion that contradicts the prior is not used. After VF_GYRO_CONTRADICTIONS such frames without an
 *           agreement between them the errors are unknown again, because no true motion contradicts true errors for
 *           so long
 * Exact   double precision in one order, on the host
 */
#ifndef VF_GYRO_ERRORS_H
#define VF_GYRO_ERRORS_H

#include "base/vf.h"
#include "imu_prior.h"
#include "math/quaternion.h"
#include "math/rotation.h"

/** First element of each error in the state: bias, time offset, matrix, row-major. VF_GYRO_STATES: their number. */
enum { VF_GYRO_BIAS = 0, VF_GYRO_OFFSET = 3, VF_GYRO_MATRIX = 4, VF_GYRO_STATES = VF_GYRO_MATRIX + 9 };

/** Standard deviations of unknown errors: bias [rad/s]; time offset between the clocks of gyro and camera [s]; elements
 *  of the matrix. Their random walks in 1 s. */
#define VF_GYRO_BIAS_RADPS VF_IMU_GYRO_BIAS_RAD_S
#define VF_GYRO_BIAS_WALK (VF_IMU_WALK * VF_GYRO_BIAS_RADPS)
#define VF_GYRO_OFFSET_S VF_IMU_OFFSET_S
#define VF_GYRO_OFFSET_WALK (VF_IMU_WALK * VF_GYRO_OFFSET_S)
#define VF_GYRO_SCALE VF_IMU_SCALE
#define VF_GYRO_SCALE_WALK (VF_IMU_WALK * VF_GYRO_SCALE)

/** Least rate of the camera in frames that update offset and matrix [rad/s]: that of an unknown bias. */
#define VF_GYRO_TURNING_RADPS VF_GYRO_BIAS_RADPS

/** Noise of a rotation about each axis, at first VF_IMU_TURN_RAD: number of frames whose weight this value has; longest
 *  mean [frames]; least standard deviation [rad]. */
#define VF_GYRO_NOISE_FRAMES 4
#define VF_GYRO_MEAN_FRAMES VF_IMU_MEAN_FRAMES
#define VF_GYRO_LEAST_RAD 1e-4
/** Frames of the mean by which the noise rises: tones of rotors, aliased by the frames, come and go in a second. */
#define VF_GYRO_RECENT_FRAMES (2.0 * VF_GYRO_NOISE_FRAMES)

/** Standard deviation of an unknown error of the camera's stamps [s]: 1 ms of a USB driver. It has the weight of
 *  VF_GYRO_NOISE_FRAMES frames. */
#define VF_GYRO_STAMP_S 1e-3

/** Number of contradictions, without an agreement between them, after which the errors are unknown [frames]. */
#define VF_GYRO_CONTRADICTIONS VF_GYRO_MEAN_FRAMES

struct vf_gyro_errors {
    double x[VF_GYRO_STATES];                 /* state: b, o, M */
    double P[VF_GYRO_STATES][VF_GYRO_STATES]; /* its covariance */
    double noise, weight; /* variance of the noise about each axis [rad^2]; sum of the weights in it */
    /* over VF_GYRO_RECENT_FRAMES frames, about each axis: mean squared innovation; its variance by all [rad^2] */
    double recent, recent_expected;
    double stamp, stamp_weight; /* variance of a stamp [s^2]; sum of the weights in it */
    double square;              /* mean squared length of the innovation [rad^2] */
    uint64_t t_ns;              /* time of the last frame with a rotation prior; 0: none */
    uint32_t frames;            /* number of frames in `square` */
    uint32_t contradictions;    /* frames in which the images contradict the prior, since a motion agreed with it */
};

/** Rotation of a frame by gyro samples, axes of camera 0. */
struct vf_gyro_turn {
    double w[3];            /* rotation vector, by samples at the estimated offset, else uncorrected [rad] */
    double change_radps[3]; /* rate at its end - rate at its start, both in axes at its end [rad/s] */
    double dt_s;            /* duration [s] */
};

static inline void vf_gyro_errors_begin(struct vf_gyro_errors *e)
{
    memset(e, 0, sizeof *e);
    for (int i = 0; i < VF_GYRO_STATES; i++) {
        const double sigma = i < VF_GYRO_OFFSET    ? VF_GYRO_BIAS_RADPS
                             : i == VF_GYRO_OFFSET ? VF_GYRO_OFFSET_S
                                                   : VF_GYRO_SCALE;
        e->P[i][i] = sigma * sigma;
    }
    e->noise = VF_IMU_TURN_RAD * VF_IMU_TURN_RAD;
    e->weight = VF_GYRO_NOISE_FRAMES / (e->noise * e->noise);
    e->stamp = VF_GYRO_STAMP_S * VF_GYRO_STAMP_S;
    e->stamp_weight = VF_GYRO_NOISE_FRAMES / (e->stamp * e->stamp);
}

/** Adds the random walk of the state up to a time. */
static inline void vf_gyro_errors_walk(struct vf_gyro_errors *e, uint64_t t_ns)
{
    const double s = e->t_ns && t_ns > e->t_ns ? (double)(t_ns - e->t_ns) * 1e-9 : 0.0;
    for (int i = 0; i < VF_GYRO_STATES; i++) {
        const double walk = i < VF_GYRO_OFFSET    ? VF_GYRO_BIAS_WALK
                            : i == VF_GYRO_OFFSET ? VF_GYRO_OFFSET_WALK
                                                  : VF_GYRO_SCALE_WALK;
        e->P[i][i] += walk * walk * s;
    }
    e->t_ns = t_ns;
}

/** Jacobian of the measurement by the state. */
static inline void vf_gyro_errors_rows(const struct vf_gyro_turn *turn, double H[3][VF_GYRO_STATES])
{
    double J[9];
    vf_quaternion_left_jacobian(turn->w, J);
    for (int k = 0; k < VF_GYRO_OFFSET; k++) {
        const double *row = &J[VF_GYRO_OFFSET * k];
        for (int i = VF_GYRO_BIAS; i < VF_GYRO_OFFSET; i++) H[k][i] = row[i] * turn->dt_s;
        H[k][VF_GYRO_OFFSET] = turn->change_radps[k];
        for (int i = VF_GYRO_MATRIX; i < VF_GYRO_STATES; i++) {
            const int at = i - VF_GYRO_MATRIX;
            H[k][i] = row[at / VF_GYRO_OFFSET] * turn->w[at % VF_GYRO_OFFSET];
        }
    }
}

/** Correction of a rotation: rotation vector that leads from the samples' rotation to the camera's [rad]. */
static inline void vf_gyro_errors_correction(const struct vf_gyro_errors *e, const struct vf_gyro_turn *turn,
                                             double w[3])
{
    double H[3][VF_GYRO_STATES];
    vf_gyro_errors_rows(turn, H);
    for (int k = 0; k < 3; k++) {
        w[k] = 0.0;
        for (int i = 0; i < VF_GYRO_STATES; i++) w[k] += i == VF_GYRO_OFFSET ? 0.0 : H[k][i] * e->x[i];
    }
}

/** Rotation vector of the camera: by the samples and the known bias [rad]. Returns its squared length. */
static inline double vf_gyro_errors_camera_turn(const struct vf_gyro_errors *e, const struct vf_gyro_turn *turn,
                                                double w[3])
{
    double square = 0.0;
    for (int k = 0; k < 3; k++) {
        w[k] = turn->w[k] + e->x[VF_GYRO_BIAS + k] * turn->dt_s;
        square += w[k] * w[k];
    }
    return square;
}

/** Number of states that a frame updates: the bias alone, while the camera hardly turns. */
static inline int vf_gyro_errors_updated(const struct vf_gyro_errors *e, const struct vf_gyro_turn *turn)
{
    const double least = VF_GYRO_TURNING_RADPS * turn->dt_s;
    double w[3];
    return vf_gyro_errors_camera_turn(e, turn, w) > least * least ? VF_GYRO_STATES : VF_GYRO_OFFSET;
}

/** Products of the covariance: PH = P H', S = H P H'. */
static inline void vf_gyro_errors_products(const struct vf_gyro_errors *e, const struct vf_gyro_turn *turn,
                                           double PH[VF_GYRO_STATES][3], double S[3][3])
{
    double H[3][VF_GYRO_STATES];
    vf_gyro_errors_rows(turn, H);
    for (int i = 0; i < VF_GYRO_STATES; i++)
        for (int k = 0; k < 3; k++) {
            PH[i][k] = 0.0;
            for (int j = 0; j < VF_GYRO_STATES; j++) PH[i][k] += e->P[i][j] * H[k][j];
        }
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            S[r][c] = 0.0;
            for (int i = 0; i < VF_GYRO_STATES; i++) S[r][c] += H[r][i] * PH[i][c];
        }
}

/** Mean variance of the noise of a rotation about each axis [rad^2]. */
static inline double vf_gyro_errors_mean_noise(const struct vf_gyro_errors *e)
{
    const double least = VF_GYRO_LEAST_RAD * VF_GYRO_LEAST_RAD;
    return e->noise > least ? e->noise : least;
}

/** Variance of the noise of a rotation about each axis [rad^2]: the mean, or what the last innovations show if their
 *  square is twice the expected one, which in 24 squares has a probability of 0.2 %. */
static inline double vf_gyro_errors_noise(const struct vf_gyro_errors *e)
{
    const double mean = vf_gyro_errors_mean_noise(e);
    return e->recent > 2.0 * e->recent_expected ? mean + (e->recent - e->recent_expected) : mean;
}

/** Covariance of a rotation by the stamps of both its ends, for a variance of 1 s^2: r1 r1' + r0 r0' with the rates r1,
 *  r0 at its ends, whose mean is that of the turn. The same picture again has no duration, no rotation and no such
 *  noise. */
static inline void vf_gyro_errors_by_stamps(const struct vf_gyro_errors *e, const struct vf_gyro_turn *turn,
                                            double S[3][3])
{
    const double *change = turn->change_radps, over = turn->dt_s > 0.0 ? 1.0 / (turn->dt_s * turn->dt_s) : 0.0;
    double w[3];
    vf_gyro_errors_camera_turn(e, turn, w);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) S[r][c] = 2.0 * over * w[r] * w[c] + 0.5 * change[r] * change[c];
}

/** Adds the covariance by the stamps to S [rad^2]. */
static inline void vf_gyro_errors_add_stamps(const struct vf_gyro_errors *e, const struct vf_gyro_turn *turn,
                                             double S[3][3])
{
    double unit[3][3];
    if (!(e->stamp > 0.0)) return;
    vf_gyro_errors_by_stamps(e, turn, unit);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) S[r][c] += e->stamp * unit[r][c];
}

/** Covariance of a corrected rotation [rad^2], upper triangle by rows. t_ns: time of the frame. */
static inline void vf_gyro_errors_covariance(const struct vf_gyro_errors *e, const struct vf_gyro_turn *turn,
                                             uint64_t t_ns, float covariance[6])
{
    struct vf_gyro_errors now = *e;
    double PH[VF_GYRO_STATES][3], S[3][3];
    vf_gyro_errors_walk(&now, t_ns);
    vf_gyro_errors_products(&now, turn, PH, S);
    vf_gyro_errors_add_stamps(e, turn, S);
    for (int r = 0, i = 0; r < 3; r++)
        for (int c = r; c < 3; c++, i++) covariance[i] = (float)(S[r][c] + (r == c ? vf_gyro_errors_noise(e) : 0.0));
}

/** Inverse of a symmetric positive definite 3x3 matrix, in place. */
static inline void vf_gyro_errors_invert(double S[3][3])
{
    const double a = S[1][1] * S[2][2] - S[1][2] * S[1][2], b = S[0][2] * S[1][2] - S[0][1] * S[2][2],
                 c = S[0][1] * S[1][2] - S[0][2] * S[1][1], over = 1.0 / (S[0][0] * a + S[0][1] * b + S[0][2] * c);
    const double d = S[0][0] * S[2][2] - S[0][2] * S[0][2], f = S[0][1] * S[0][2] - S[0][0] * S[1][2],
                 g = S[0][0] * S[1][1] - S[0][1] * S[0][1];
    const double out[3][3] = {
        {a * over, b * over, c * over}, {b * over, d * over, f * over}, {c * over, f * over, g * over}};
    memcpy(S, out, sizeof out);
}

/** Adds an innovation to the mean squares. square: its squared length; expected: that by the covariances of state and
 *  motion [rad^2]. */
static inline void vf_gyro_errors_measure(struct vf_gyro_errors *e, double square, double expected)
{
    const double variance = expected / 3.0 + vf_gyro_errors_noise(e), weight = 1.0 / (variance * variance);
    e->recent += (square / 3.0 - e->recent) / VF_GYRO_RECENT_FRAMES;
    e->recent_expected += (expected / 3.0 + vf_gyro_errors_mean_noise(e) - e->recent_expected) / VF_GYRO_RECENT_FRAMES;
    e->weight = (1.0 - 1.0 / VF_GYRO_MEAN_FRAMES) * e->weight + weight;
    e->noise += ((square - expected) / 3.0 - e->noise) * weight / e->weight;
    e->frames += e->frames < VF_GYRO_MEAN_FRAMES;
    e->square += (square - e->square) / e->frames;
}

/** Adds an innovation to the variance of the stamps. S: covariance of the innovation w [rad^2]. */
static inline void vf_gyro_errors_measure_stamps(struct vf_gyro_errors *e, const struct vf_gyro_turn *turn,
                                                 const double w[3], double S[3][3])
{
    double axis[3], unit[3][3], along = 0.0, variance = 0.0, scale = 0.0;
    const double own = e->stamp > 0.0 ? e->stamp : 0.0;
    vf_gyro_errors_camera_turn(e, turn, axis);
    vf_gyro_errors_by_stamps(e, turn, unit);
    for (int r = 0; r < 3; r++) {
        along += axis[r] * w[r];
        for (int c = 0; c < 3; c++) {
            variance += axis[r] * S[r][c] * axis[c];
            scale += axis[r] * unit[r][c] * axis[c];
        }
    }
    if (!(scale > 0.0)) return;
    const double all = variance / scale, weight = 1.0 / (all * all);
    e->stamp_weight = (1.0 - 1.0 / VF_GYRO_MEAN_FRAMES) * e->stamp_weight + weight;
    e->stamp += (along * along / scale - all + own - e->stamp) * weight / e->stamp_weight;
}

/** Updates state and noise by a motion that does not contradict the prior. w: rotation vector from the corrected prior
 *  to the motion [rad]; own: covariance of the motion's rotation, upper triangle by rows [rad^2]. */
static inline void vf_gyro_errors_add(struct vf_gyro_errors *e, const struct vf_gyro_turn *turn, const double w[3],
                                      const float own[6])
{
    double PH[VF_GYRO_STATES][3], S[3][3], K[VF_GYRO_STATES][3], expected = 0.0, square = 0.0;
    const double noise = vf_gyro_errors_noise(e);
    const int updated = vf_gyro_errors_updated(e, turn);
    vf_gyro_errors_products(e, turn, PH, S);
    vf_gyro_errors_add_stamps(e, turn, S);
    for (int r = 0, i = 0; r < 3; r++) {
        for (int c = r; c < 3; c++, i++) S[r][c] = S[c][r] = S[r][c] + (double)own[i];
        expected += S[r][r];
        square += w[r] * w[r];
        S[r][r] += noise;
    }
    vf_gyro_errors_measure(e, square, expected);
    vf_gyro_errors_measure_stamps(e, turn, w, S);
    vf_gyro_errors_invert(S);
    for (int i = 0; i < updated; i++)
        for (int k = 0; k < 3; k++) K[i][k] = PH[i][0] * S[0][k] + PH[i][1] * S[1][k] + PH[i][2] * S[2][k];
    for (int i = 0; i < updated; i++) {
        e->x[i] += K[i][0] * w[0] + K[i][1] * w[1] + K[i][2] * w[2];
        for (int j = i; j < VF_GYRO_STATES; j++) {
            e->P[i][j] -= K[i][0] * PH[j][0] + K[i][1] * PH[j][1] + K[i][2] * PH[j][2];
            e->P[j][i] = e->P[i][j];
        }
    }
}

/** Errors of scale and axes, in axes of the IMU, and of stamps: the symmetric part of M, whose other part is a turn of
 *  the mounting. R_cam_imu: mounting. */
static inline struct vf_imu_scale vf_gyro_errors_scale(const struct vf_gyro_errors *e, const double R_cam_imu[9])
{
    enum { N = 3 };
    struct vf_imu_scale scale;
    double back[N * N], S[N * N];
    memset(&scale, 0, sizeof scale);
    scale.stamp_s2 = e->stamp > 0.0 ? e->stamp : 0.0;
    for (int r = 0; r < N; r++)
        for (int c = 0; c < N; c++) {
            const int a = VF_GYRO_MATRIX + N * r + c, b = VF_GYRO_MATRIX + N * c + r;
            S[N * r + c] = 0.5 * (e->x[a] + e->x[b]);
            scale.variance += 0.5 * (e->P[a][a] + e->P[a][b]) / (N * N); /* mean over the elements */
        }
    vf_rotation_transpose(back, R_cam_imu);
    vf_rotation_multiply(S, back, S);
    vf_rotation_multiply(scale.S, S, R_cam_imu);
    return scale;
}

/** Ends a frame that has a rotation prior. agrees: 1: a motion of the images agrees with it; contradicts: 1: a motion
 *  contradicts it, and none agrees. Both 0: no motion; the number of contradictions does not change. */
static inline void vf_gyro_errors_end(struct vf_gyro_errors *e, int agrees, int contradicts)
{
    e->contradictions = agrees ? 0 : e->contradictions + (contradicts != 0);
    if (e->contradictions >= VF_GYRO_CONTRADICTIONS) vf_gyro_errors_begin(e);
}

#endif
