/* SPDX-License-Identifier: MIT */
#include "pose.h"

#include <math.h>
#include <string.h>

#define ROTATION_OFF_MAX 1e-3 /* deviation of R^T R from identity, as accepted by the library */

const pose_t pose_identity = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};

pose_t pose_compose(const pose_t *ab, const pose_t *bc)
{
    pose_t ac;
    for (int r = 0; r < 3; r++) {
        ac.t[r] = ab->t[r];
        for (int k = 0; k < 3; k++) ac.t[r] += ab->R[3 * r + k] * bc->t[k];
        for (int c = 0; c < 3; c++) {
            ac.R[3 * r + c] = 0.0;
            for (int k = 0; k < 3; k++) ac.R[3 * r + c] += ab->R[3 * r + k] * bc->R[3 * k + c];
        }
    }
    return ac;
}

pose_t pose_inverse(const pose_t *ab)
{
    pose_t ba;
    for (int r = 0; r < 3; r++) {
        ba.t[r] = 0.0;
        for (int k = 0; k < 3; k++) {
            ba.R[3 * r + k] = ab->R[3 * k + r];
            ba.t[r] -= ab->R[3 * k + r] * ab->t[k];
        }
    }
    return ba;
}

/** R^T R. */
static void gram(const double R[9], double G[9])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) G[3 * r + c] = R[r] * R[c] + R[3 + r] * R[3 + c] + R[6 + r] * R[6 + c];
}

/** Newton iteration R (3 I - R^T R) / 2 for the orthogonal polar factor of R (Higham 1986), with quadratic
 *  convergence. Three steps take the 10^-3 that pose_is_rotation() accepts below the rounding of a double. */
void pose_orthonormalise(double R[9])
{
    for (int step = 0; step < 3; step++) {
        double G[9], was[9];
        memcpy(was, R, sizeof was);
        gram(was, G);
        for (int i = 0; i < 9; i++) G[i] = (i % 4 ? 0.0 : 1.5) - 0.5 * G[i];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                R[3 * r + c] = was[3 * r] * G[c] + was[3 * r + 1] * G[3 + c] + was[3 * r + 2] * G[6 + c];
    }
}

int pose_is_rotation(const double R[9])
{
    double G[9];
    gram(R, G);
    for (int i = 0; i < 9; i++)
        if (!(fabs(G[i] - (i % 4 ? 0.0 : 1.0)) <= ROTATION_OFF_MAX)) return 0;
    return R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) +
               R[2] * (R[3] * R[7] - R[4] * R[6]) >
           0.0;
}

/** Shepperd's method (1978): starts from the largest of the four components, so that no divisor is small. */
void pose_quaternion(const double R[9], double q[4])
{
    const double trace = R[0] + R[4] + R[8], size[4] = {R[0], R[4], R[8], trace};
    int max = 3;
    for (int i = 0; i < 3; i++)
        if (size[i] > size[max]) max = i;
    if (max == 3) {
        q[3] = 0.5 * sqrt(1.0 + trace);
        for (int i = 0; i < 3; i++)
            q[i] = (R[3 * ((i + 2) % 3) + (i + 1) % 3] - R[3 * ((i + 1) % 3) + (i + 2) % 3]) / (4.0 * q[3]);
    } else {
        const int i = max, j = (i + 1) % 3, k = (i + 2) % 3;
        q[i] = 0.5 * sqrt(1.0 + R[4 * i] - R[4 * j] - R[4 * k]);
        q[j] = (R[3 * i + j] + R[3 * j + i]) / (4.0 * q[i]);
        q[k] = (R[3 * i + k] + R[3 * k + i]) / (4.0 * q[i]);
        q[3] = (R[3 * k + j] - R[3 * j + k]) / (4.0 * q[i]);
    }
    for (int i = 0; q[3] < 0.0 && i < 4; i++) q[i] = -q[i];
}

void pose_rotation(double R[9], const double q[4])
{
    const double s = 2.0 / (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        R[4 * i] = 1.0 - s * (q[j] * q[j] + q[k] * q[k]);
        R[3 * i + j] = s * (q[i] * q[j] - q[3] * q[k]);
        R[3 * j + i] = s * (q[i] * q[j] + q[3] * q[k]);
    }
}

pose_t pose_interpolate(const pose_t *a, const pose_t *b, double share)
{
    pose_t between;
    double qa[4], qb[4], q[4], cosine = 0.0;
    pose_quaternion(a->R, qa);
    pose_quaternion(b->R, qb);
    for (int i = 0; i < 4; i++) cosine += qa[i] * qb[i];
    for (int i = 0; i < 4; i++)
        q[i] = (1.0 - share) * qa[i] + (cosine < 0.0 ? -share : share) * qb[i]; /* -q is the same rotation */
    for (int i = 0; i < 3; i++) between.t[i] = (1.0 - share) * a->t[i] + share * b->t[i];
    pose_rotation(between.R, q);
    return between;
}
