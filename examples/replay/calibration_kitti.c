/* SPDX-License-Identifier: MIT */
#include "calibration_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int32_t calibration_projection_of(const char *line)
{
    return line[0] == 'P' && line[1] >= '0' && line[1] <= '9' && line[2] == ':' ? line[1] - '0' : -1;
}

/** Set lens and position of a camera from its projection matrix. Returns 0 if P is not K [I | t] of a rectified
 *  camera. */
static int set_projection(vfront_camera_t *c, const double P[12])
{
    const double lens[4] = {P[0], P[5], P[2], P[6]};
    if (P[1] != 0.0 || P[4] != 0.0 || P[8] != 0.0 || P[9] != 0.0 || P[10] != 1.0 || !calibration_set_lens(c, lens))
        return 0;
    c->t_cam_imu_m[2] = P[11];
    c->t_cam_imu_m[0] = (P[3] - c->cx_px * P[11]) / c->fx_px;
    c->t_cam_imu_m[1] = (P[7] - c->cy_px * P[11]) / c->fy_px;
    return 1;
}

static const char *read_projection(vfront_camera_t *c, int32_t camera, const char *numbers, const text_t *t)
{
    double P[13];
    const int count = text_numbers(numbers + strspn(numbers, " \t"), P, 13);
    if (count > 12) return calibration_fail("%s:%d: P%d has more than 12 numbers", t->path, t->line, (int)camera);
    if (count < 12)
        return calibration_fail("%s:%d: P%d has %d numbers instead of 12", t->path, t->line, (int)camera, count);
    for (int i = 0; i < 12; i++)
        if (!isfinite(P[i]))
            return calibration_fail("%s:%d: P%d: a number that is not finite", t->path, t->line, (int)camera);
    if (!set_projection(c, P))
        return calibration_fail("%s:%d: P%d is not K [I | t] of a rectified camera", t->path, t->line, (int)camera);
    if (!camera && (P[3] != 0.0 || P[7] != 0.0 || P[11] != 0.0))
        return calibration_fail("%s:%d: P0: camera 0 is not at the origin", t->path, t->line);
    return NULL;
}

static const char *read_lines(vfront_rig_t *rig, text_t *t)
{
    int found[VFRONT_CAMERAS] = {0};
    const char *error = NULL;
    for (char *line; !error && (line = text_line(t)) != NULL;) {
        const int32_t i = calibration_projection_of(line);
        if (i < 0 || i >= rig->cameras) continue;
        error = found[i]++ ? calibration_fail("%s:%d: P%d for a second time", t->path, t->line, (int)i)
                           : read_projection(&rig->camera[i], i, line + 3, t);
        if (i) memcpy(rig->camera[i].R_cam_imu, pose_identity.R, sizeof pose_identity.R);
    }
    for (int32_t i = 0; i < rig->cameras && !error; i++)
        if (!found[i])
            error = calibration_fail("%s: no line P%d%s", t->path, (int)i, i ? "; --mono takes camera 0 alone" : "");
    return error;
}

const char *calibration_read_projections(vfront_rig_t *rig, const char *path)
{
    text_t t;
    const char *error = text_open(&t, path);
    if (!error) error = read_lines(rig, &t);
    text_close(&t);
    return error;
}

/* ---- IMU --------------------------------------------------------------------------------------------------------- */

/** Row of four numbers, and nothing else. */
static const char *read_row(const text_t *t, const char *from, double row[4])
{
    int count = 0;
    for (char *end; *from; from = end + strspn(end, " \t,"), count++) {
        const double number = strtod(from, &end);
        if (end == from) return calibration_fail("%s:%d: \"%.20s\" is not a number", t->path, t->line, from);
        if (!isfinite(number)) return calibration_fail("%s:%d: a number that is not finite", t->path, t->line);
        if (count < 4) row[count] = number;
    }
    return count == 4 ? NULL : calibration_fail("%s:%d: %d numbers instead of a row of 4", t->path, t->line, count);
}

static const char *read_rows(pose_t *T_cam_imu, text_t *t)
{
    static const double last[4] = {0, 0, 0, 1};
    double row[4];
    const char *error = NULL;
    int rows = 0;
    for (char *line; !error && (line = text_line(t)) != NULL; rows++) {
        error = rows < 4 ? read_row(t, line, row) : calibration_fail("%s:%d: a fifth row", t->path, t->line);
        if (error) break;
        if (rows < 3) {
            memcpy(&T_cam_imu->R[3 * rows], row, 3 * sizeof *row);
            T_cam_imu->t[rows] = row[3];
        } else if (memcmp(row, last, sizeof row) != 0) {
            error = calibration_fail("%s:%d: the last row is not 0 0 0 1", t->path, t->line);
        }
    }
    if (!error && rows < 4) error = calibration_fail("%s: %d rows instead of 4", t->path, rows);
    if (!error && !pose_is_rotation(T_cam_imu->R))
        error = calibration_fail("%s: its 3x3 part is not a rotation", t->path);
    return error;
}

const char *calibration_kitti_imu(vfront_rig_t *rig, const char *path)
{
    text_t t;
    pose_t T_cam0_imu = pose_identity;
    const char *error = text_open(&t, path);
    if (!error) error = read_rows(&T_cam0_imu, &t);
    text_close(&t);
    for (int32_t i = 0; i < rig->cameras && !error; i++) {
        vfront_camera_t *c = &rig->camera[i];
        const pose_t T_cam_cam0 = calibration_extrinsics(c), T_cam_imu = pose_compose(&T_cam_cam0, &T_cam0_imu);
        memcpy(c->R_cam_imu, T_cam_imu.R, sizeof c->R_cam_imu);
        memcpy(c->t_cam_imu_m, T_cam_imu.t, sizeof c->t_cam_imu_m);
    }
    return error;
}
