/* SPDX-License-Identifier: MIT */
/* Covariance of the newest state. Launches: launch.h. */
#ifndef VF_VIO_COVARIANCE_H
#define VF_VIO_COVARIANCE_H

#include "solve.h"
#include "variables.h"

/** System column at position i of an order in which the reported columns, those of the newest state, are last. */
VF_FN int vf_vio_reported_column(const struct vf_vio_window *w, int i)
{
    enum { LAST = VF_VIO_COLUMNS - VF_VIO_REPORTED };
    const int slot = w->newest, velocity_column = VF_VIO_VELOCITY + 9 * w->slot[slot].state;
    if (i >= LAST + VF_NAV_ERRORS)
        return i == LAST + VF_VIO_REPORTED_TIME_OFFSET ? VF_VIO_TIME_OFFSET : VF_VIO_DISPARITY;
    if (i >= LAST) return vf_vio_error_column(&w->slot[slot], slot, i - LAST);
    const int gap[4] = {6 * slot, velocity_column, VF_VIO_TIME_OFFSET, VF_VIO_DISPARITY}, wide[4] = {6, 9, 1, 1};
    for (int k = 0; k < 4; k++)
        if (i >= gap[k]) i += wide[k];
    return i;
}

/** Computes the covariance of newest state, time offset and VF_STEREO_OFFSET. S = L^-T D^-1 L^-1, from the last corner
 *  of the system's LDL' factor. Runs in one block. */
VF_FN void vf_vio_covariance_corner(struct vf_vio_window *w, struct vf_vio_work *k)
{
    enum { M = VF_VIO_REPORTED };
    VF_PARTS(c, M)
    {
        double back[M];
        VF_UNROLL
        for (int r = 0; r < M; r++) {
            double sum = r == c ? 1.0 : 0.0;
            VF_UNROLL
            for (int j = VF_GROUP_ALONE ? c : 0; j < r; j++) {
                const double part = k->corner[r][j] * back[j];
                sum = j >= c ? sum - part : sum;
            }
            back[r] = sum;
        }
        VF_UNROLL
        for (int r = 0; r < M; r++) k->back[c][r] = back[r];
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, M * M)
    {
        double sum = 0.0;
        for (int j = 0; j < M; j++) sum += k->back[i / M][j] * k->back[i % M][j] * k->corner_inverse[j];
        w->covariance[i] = sum;
    }
    VF_ITEM_SYNC();
}

/** Computes the covariance of the newest state on the host, including the factorization of the system. */
VF_FN void vf_vio_covariance(struct vf_vio_window *w, struct vf_vio_work *k)
{
    enum { N = VF_VIO_COLUMNS, M = VF_VIO_REPORTED };
    const struct vf_vio_system *s = &k->system[k->at];
    for (int r = 0; r < N; r++)
        for (int c = 0; c <= r; c++)
            k->matrix[r * N + c] = s->H[vf_vio_reported_column(w, r) * N + vf_vio_reported_column(w, c)];
    vf_solve_ldl(k->matrix, &k->workspace, N, N, N, 0.0);
    for (int r = 0; r < M; r++) {
        for (int c = 0; c < r; c++) k->corner[r][c] = k->matrix[(N - M + r) * N + N - M + c];
        k->corner_inverse[r] = k->workspace.inverse[N - M + r];
    }
    vf_vio_covariance_corner(w, k);
}

#endif
