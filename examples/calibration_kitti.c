/* SPDX-License-Identifier: MIT */
#include "calibration_internal.h"

#include <math.h>
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
