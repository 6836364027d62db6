/* SPDX-License-Identifier: MIT */
#include "calibration_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *calibration_fail(const char *format, ...)
{
    static char message[3 * TEXT_PATH_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return message;
}

/** Clear the calibration of a camera, except picture size and mask. */
static void clear_calibration(vfront_camera_t *c)
{
    const vfront_camera_t kept = *c;
    memset(c, 0, sizeof *c);
    c->width_px = kept.width_px;
    c->height_px = kept.height_px;
    c->mask = kept.mask;
    c->mask_pitch_bytes = kept.mask_pitch_bytes;
}

int calibration_set_lens(vfront_camera_t *c, const double fx_fy_cx_cy[4])
{
    c->fx_px = fx_fy_cx_cy[0];
    c->fy_px = fx_fy_cx_cy[1];
    c->cx_px = fx_fy_cx_cy[2];
    c->cy_px = fx_fy_cx_cy[3];
    return c->fx_px > 0.0 && c->fy_px > 0.0;
}

void calibration_set_extrinsics(vfront_camera_t *c, const pose_t *T_cam_imu)
{
    memcpy(c->R_cam_imu, T_cam_imu->R, sizeof c->R_cam_imu);
    memcpy(c->t_cam_imu_m, T_cam_imu->t, sizeof c->t_cam_imu_m);
}

/* ---- OpenCV and ROS ---------------------------------------------------------------------------------------------- */

/** Names of distortion_model: ROS's own three, and those that drivers use for lenses that it does not name. Numbers are
 *  in the order of the library, which is Kalibr's: xi alpha; alpha beta; xi k1 k2 p1 p2. */
static const struct named_model {
    const char *name;
    vfront_lens_t lens;
    int min, max; /* numbers */
} named_models[] = {{"plumb_bob", VFRONT_LENS_RADTAN, 0, 8},
                    {"rational_polynomial", VFRONT_LENS_RATIONAL, 0, 8},
                    {"equidistant", VFRONT_LENS_EQUIDISTANT, 0, 4},
                    {"double_sphere", VFRONT_LENS_DS, 2, 2},
                    {"eucm", VFRONT_LENS_EUCM, 2, 2},
                    {"omni", VFRONT_LENS_OMNI, 1, 5},
                    {"fisheye", VFRONT_LENS_EQUIDISTANT, 0, 4},
                    {"ds", VFRONT_LENS_DS, 2, 2}};

const char *calibration_ros_model(vfront_lens_t lens) { return named_models[lens].name; }

const char *calibration_set_opencv(vfront_camera_t *c, const char *model, const double K[9], const double *k, int count)
{
    const double intrinsics[4] = {K[0], K[4], K[2], K[5]};
    const struct named_model *m = named_models, *end = m + sizeof named_models / sizeof *m;
    while (model && m < end && strcmp(model, m->name) != 0) m++;
    if (m == end)
        return calibration_fail("distortion_model %.40s: plumb_bob, rational_polynomial, equidistant, double_sphere, "
                                "eucm and omni are known here",
                                model);
    if (!calibration_set_lens(c, intrinsics)) return "a focal length that is not above 0";
    if (count < m->min) return calibration_fail("distortion: %d numbers, but %s has %d", count, m->name, m->max);
    const int is_radial = m->lens <= VFRONT_LENS_RATIONAL;
    c->lens = !is_radial ? m->lens : count > 5 ? VFRONT_LENS_RATIONAL : VFRONT_LENS_RADTAN;
    for (int i = m->max; i < count; i++)
        if (k[i] != 0.0)
            return calibration_fail(is_radial ? "distortion: number %d is not 0: thin prisms and tilts are not known"
                                              : "distortion: number %d is not 0",
                                    i + 1);
    memset(c->distortion, 0, sizeof c->distortion);
    memcpy(c->distortion, k, (size_t)(count < 8 ? count : 8) * sizeof *k);
    return NULL;
}

const char *calibration_set_rectified(pose_t *T_rect_cam, const double P[12])
{
    if (!(P[0] > 0.0) || !(P[5] > 0.0)) return "projection_matrix: a focal length that is not above 0";
    if (!pose_is_rotation(T_rect_cam->R)) return "rectification_matrix is not a rotation";
    T_rect_cam->t[0] = -P[3] / P[0];
    T_rect_cam->t[1] = -P[7] / P[5];
    T_rect_cam->t[2] = 0.0;
    return NULL;
}

pose_t calibration_step(const pose_t T_rect_cam[2])
{
    const pose_t T_cam1_rect = pose_inverse(&T_rect_cam[1]);
    return pose_compose(&T_cam1_rect, &T_rect_cam[0]);
}

pose_t calibration_extrinsics(const vfront_camera_t *c)
{
    static const double none[9];
    pose_t T_cam_imu;
    memcpy(T_cam_imu.R, memcmp(c->R_cam_imu, none, sizeof none) ? c->R_cam_imu : pose_identity.R, sizeof none);
    memcpy(T_cam_imu.t, c->t_cam_imu_m, sizeof c->t_cam_imu_m);
    return T_cam_imu;
}

double calibration_baseline_m(const vfront_rig_t *rig)
{
    pose_t T_cam_imu[2];
    if (rig->cameras < 2) return 0.0;
    for (int i = 0; i < 2; i++) {
        const vfront_camera_t *c = &rig->camera[i < VFRONT_CAMERAS ? i : 0];
        if (c->fx_px == 0.0) return 0.0;
        T_cam_imu[i] = calibration_extrinsics(c);
    }
    const pose_t T_imu_cam1 = pose_inverse(&T_cam_imu[1]), T_cam0_cam1 = pose_compose(&T_cam_imu[0], &T_imu_cam1);
    const double *t = T_cam0_cam1.t;
    return sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
}

/* ---- files of any kind ------------------------------------------------------------------------------------------- */

/** Copy of a rig without calibration: of cameras and IMU only sizes and masks. */
static vfront_rig_t without_calibration(const vfront_rig_t *rig)
{
    vfront_rig_t copy = *rig;
    for (int32_t i = 0; i < copy.cameras; i++) clear_calibration(&copy.camera[i]);
    memset(&copy.imu, 0, sizeof copy.imu);
    copy.imu_offset_ns = 0;
    return copy;
}

/** Commit the copy to the rig if it was read without error. */
static const char *commit(vfront_rig_t *rig, const vfront_rig_t *copy, const char *error)
{
    if (!error) *rig = *copy;
    return error;
}

const char *calibration_kalibr(vfront_rig_t *rig, const char *path)
{
    vfront_rig_t copy = without_calibration(rig);
    const char *error = calibration_read_chain(&copy, path);
    return commit(rig, &copy, error);
}

const char *calibration_euroc(vfront_rig_t *rig, const char *const *camera, const char *imu)
{
    vfront_rig_t copy = without_calibration(rig);
    const char *error = calibration_read_sensors(&copy, camera, imu);
    return commit(rig, &copy, error);
}

const char *calibration_kitti(vfront_rig_t *rig, const char *path)
{
    vfront_rig_t copy = without_calibration(rig);
    const char *error = calibration_read_projections(&copy, path);
    return commit(rig, &copy, error);
}

static const char *calibration_kind(enum calibration_kind *kind, const char *path)
{
    text_t t;
    int projections = 0;
    const char *error = text_open(&t, path);
    if (error) return error;
    for (const char *line; (line = text_line(&t)) != NULL;) projections += calibration_projection_of(line) >= 0;
    text_close(&t);
    *kind = KITTI;
    return projections ? NULL : calibration_yaml_kind(kind, path);
}

static const char *read_other(vfront_rig_t *rig, const char *path)
{
    vfront_rig_t copy = without_calibration(rig);
    const char *error = calibration_read_other(&copy, path);
    return commit(rig, &copy, error);
}

/** One file of a list: read at once, or collected if it is a sensor.yaml, which are read together. */
static const char *read_or_collect(vfront_rig_t *rig, char *path, int lone, char **camera, int32_t *cameras, char **imu)
{
    enum calibration_kind kind;
    const char *error = calibration_kind(&kind, path);
    if (error) return error;
    if (kind == KITTI || kind == KALIBR || kind == OTHER) {
        if (!lone) return calibration_fail("%s: only files sensor.yaml are given together", path);
        if (kind == OTHER) return read_other(rig, path);
        return kind == KITTI ? calibration_kitti(rig, path) : calibration_kalibr(rig, path);
    }
    if (kind == EUROC_IMU) {
        if (*imu) return calibration_fail("%s: a second sensor.yaml of an IMU", path);
        *imu = path;
    } else if (*cameras < VFRONT_CAMERAS) {
        camera[(*cameras)++] = path;
    }
    return NULL;
}

/** Take Kalibr's imu.yaml out of a list of files, and read it. */
static const char *take_noise(vfront_imu_noise_t *noise, char *list, int *taken)
{
    char *to = list;
    int kept = 0;
    const char *error = NULL;
    for (char *path = list, *next; path && !error; path = next) {
        enum calibration_kind kind = KITTI;
        next = strchr(path, ',');
        if (next) *next++ = 0;
        if (*path) error = calibration_kind(&kind, path);
        if (!error && kind == KALIBR_IMU) {
            error = (*taken)++ ? calibration_fail("%s: a second imu.yaml", path) : calibration_imu(noise, path);
            continue;
        }
        if (kept++) *to++ = ',';
        const size_t length = strlen(path);
        memmove(to, path, length + 1);
        to += length;
    }
    if (!kept) *list = 0;
    return error;
}

/** ROS's and OpenCV's files: those of a list, all of this kind. */
static const char *read_opencv(vfront_rig_t *rig, char *list)
{
    char *path[4];
    int count = 0;
    for (char *at = list, *next; at; at = next) {
        next = strchr(at, ',');
        if (next) *next++ = 0;
        enum calibration_kind kind = OPENCV;
        const char *error = calibration_kind(&kind, at);
        if (error) return error;
        if (kind != OPENCV || count == 4)
            return calibration_fail("%s: beside a file of ROS or OpenCV at most three others of these kinds", at);
        path[count++] = at;
    }
    vfront_rig_t copy = without_calibration(rig);
    const char *error = calibration_read_opencv(&copy, path, count);
    return commit(rig, &copy, error);
}

/** 1 if the first file of a list is ROS's or OpenCV's. */
static int begins_with_opencv(char *list)
{
    enum calibration_kind kind = KITTI;
    char *comma = strchr(list, ',');
    if (comma) *comma = 0;
    const char *error = calibration_kind(&kind, list);
    if (comma) *comma = ',';
    return !error && kind == OPENCV;
}

/** Files of cameras, and sensor.yaml of an IMU. */
static const char *read_files(vfront_rig_t *rig, char *list, const char *files)
{
    char *camera[VFRONT_CAMERAS] = {0}, *imu = NULL;
    int32_t cameras = 0;
    const char *error = NULL;
    const int lone = !strchr(list, ',');
    if (begins_with_opencv(list)) return read_opencv(rig, list);
    for (char *path = list, *next; path && !error; path = next) {
        next = strchr(path, ',');
        if (next) *next++ = 0;
        if (!*path) return calibration_fail("%s: an empty name", files);
        error = read_or_collect(rig, path, lone, camera, &cameras, &imu);
    }
    if (error || (!cameras && !imu)) return error;
    if (!cameras) return calibration_fail("%s: no sensor.yaml of a camera", files);
    return calibration_euroc(rig, (const char *const *)camera, imu);
}

int calibration_is_noise(const char *files)
{
    enum calibration_kind kind;
    return *files && !strchr(files, ',') && strcmp(files, "none") != 0 && !calibration_kind(&kind, files) &&
           kind == KALIBR_IMU;
}

const char *calibration_read(vfront_rig_t *rig, const char *files)
{
    char list[2 * TEXT_PATH_BYTES];
    vfront_imu_noise_t noise;
    int taken = 0;
    if (strcmp(files, "none") == 0) {
        *rig = without_calibration(rig);
        return NULL;
    }
    if (snprintf(list, sizeof list, "%s", files) >= (int)sizeof list)
        return calibration_fail("%.80s...: names too long", files);
    const char *error = *files ? take_noise(&noise, list, &taken) : NULL;
    if (!error && taken && !*list) error = calibration_fail("%s: no file of a camera", files);
    if (!error) error = read_files(rig, list, files);
    if (!error && taken) rig->imu = noise;
    return error;
}
