/* SPDX-License-Identifier: MIT */
#include "calibration_section.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- YAML -------------------------------------------------------------------------------------------------------- */

#ifdef HAVE_YAML
#define POSE_TOLERANCE 1e-2 /* between two transforms that should agree, each number */

int calibration_reads_yaml(void) { return 1; }

/* ---- common to Kalibr and EuRoC ---------------------------------------------------------------------------------- */

/** Errors of an IMU; all 0 if none of the keys is there. */
static const char *read_noise(const struct section *p, vfront_imu_noise_t *noise)
{
    const char *rate = section_has(p, "update_rate") ? "update_rate" : "rate_hz"; /* Kalibr's, EuRoC's */
    memset(noise, 0, sizeof *noise);
    if (!section_has(p, "gyroscope_noise_density") && !section_has(p, "accelerometer_noise_density") &&
        !section_has(p, "gyroscope_random_walk") && !section_has(p, "accelerometer_random_walk"))
        return NULL;
    const char *error = section_number(p, "gyroscope_noise_density", &noise->gyro_density, 0.0, 1.0);
    if (!error) error = section_number(p, "accelerometer_noise_density", &noise->accel_density, 0.0, 10.0);
    if (!error) error = section_number(p, "gyroscope_random_walk", &noise->gyro_walk, 0.0, 1.0);
    if (!error) error = section_number(p, "accelerometer_random_walk", &noise->accel_walk, 0.0, 10.0);
    if (!error) error = section_number(p, rate, &noise->rate_hz, 10.0, 20000.0);
    noise->gyro_limit_rad_s = VFRONT_GYRO_MOST_RAD_S;
    noise->accel_limit_m_s2 = VFRONT_ACCEL_MOST_M_S2;
    noise->gravity_m_s2 = 9.81;
    return error;
}

static const char *read_size(const struct section *p, vfront_camera_t *c)
{
    double size[2];
    const char *error = section_list(p, "resolution", size, 2, 2, NULL);
    if (error) return error;
    for (int i = 0; i < 2; i++)
        if (!(size[i] >= 1.0 && size[i] <= PICTURE_SIDE_MAX_PX) || size[i] != (double)(int32_t)size[i])
            return section_fail(p, "resolution is not two whole numbers in 1..%d", PICTURE_SIDE_MAX_PX);
    const int32_t width = (int32_t)size[0], height = (int32_t)size[1];
    if (c->width_px && (c->width_px != width || c->height_px != height))
        return section_fail(p, "resolution %dx%d, but the pictures are %dx%d", (int)width, (int)height,
                            (int)c->width_px, (int)c->height_px);
    c->width_px = width;
    c->height_px = height;
    return NULL;
}

/** Kalibr's models that see through a sphere: `count` numbers in front of the focal lengths. */
static const struct sphere {
    const char *name;
    vfront_lens_t lens;
    int count;
} spheres[] = {{"omni", VFRONT_LENS_OMNI, 1}, {"eucm", VFRONT_LENS_EUCM, 2}, {"ds", VFRONT_LENS_DS, 2}};

/** Model of that name, or NULL. */
static const struct sphere *sphere_of(const char *model)
{
    for (size_t i = 0; model && i < sizeof spheres / sizeof *spheres; i++)
        if (strcmp(model, spheres[i].name) == 0) return &spheres[i];
    return NULL;
}

/** Lens of such a model; omni may have radtan's k1 k2 p1 p2. */
static const char *read_sphere(const struct section *p, const char *distortion_key, const struct sphere *sphere,
                               vfront_camera_t *c)
{
    const char *distortion = section_word(section_find(p, p->map, "distortion_model"));
    const int omni = sphere->lens == VFRONT_LENS_OMNI, count = sphere->count;
    double number[6];
    const char *error = section_list(p, "intrinsics", number, 4 + count, 4 + count, NULL);
    if (error) return error;
    c->lens = sphere->lens;
    memcpy(c->distortion, number, (size_t)count * sizeof *number);
    if (!calibration_set_lens(c, &number[count]))
        return section_fail(p, "intrinsics: a focal length that is not above 0");
    if (!distortion || strcmp(distortion, "none") == 0) return NULL;
    if (omni && strcmp(distortion, "radtan") == 0)
        return section_list(p, distortion_key, &c->distortion[1], 4, 4, NULL);
    return section_fail(p, "distortion_model %.40s: with this camera_model %snone is known here", distortion,
                        omni ? "radtan and " : "");
}

static const char *read_intrinsics(const struct section *p, vfront_camera_t *c)
{
    double lens[4];
    const char *model = section_word(section_find(p, p->map, "camera_model"));
    if (!model || strcmp(model, "pinhole") != 0)
        return section_fail(p, "camera_model %.40s: pinhole, omni, eucm and ds are known here",
                            model ? model : "is no word");
    const char *error = section_list(p, "intrinsics", lens, 4, 4, NULL);
    if (error) return error;
    return calibration_set_lens(c, lens) ? NULL : section_fail(p, "intrinsics: a focal length that is not above 0");
}

/** Lens model and coefficients. `key` is the name of the list of coefficients, which differs between Kalibr and
 *  EuRoC. */
static const char *read_distortion(const struct section *p, const char *key, vfront_camera_t *c)
{
    static const struct {
        const char *name;
        vfront_lens_t lens;
        int min, max;
    } known[] = {
        {"radtan", VFRONT_LENS_RADTAN, 4, 5},
        {"radial-tangential", VFRONT_LENS_RADTAN, 4, 5}, /* k1 k2 p1 p2, and k3 where there is one */
        {"equidistant", VFRONT_LENS_EQUIDISTANT, 4, 4},
        {"none", VFRONT_LENS_RADTAN, 0, 0},
    };
    if (!section_has(p, "distortion_model")) return section_fail(p, "no distortion_model");
    const char *model = section_word(section_find(p, p->map, "distortion_model"));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!model || strcmp(model, known[i].name) != 0) continue;
        c->lens = known[i].lens;
        return known[i].max || section_has(p, key)
                   ? section_list(p, key, c->distortion, known[i].min, known[i].max, NULL)
                   : NULL;
    }
    return section_fail(p, "distortion_model %.40s: radtan, radial-tangential, equidistant and none are known here",
                        model ? model : "is no word");
}

static const char *read_camera(const struct section *p, const char *distortion_key, vfront_camera_t *c)
{
    if (!section_has(p, "camera_model")) return section_fail(p, "no camera_model");
    const struct sphere *sphere = sphere_of(section_word(section_find(p, p->map, "camera_model")));
    const char *error = sphere ? read_sphere(p, distortion_key, sphere, c) : read_intrinsics(p, c);
    if (!error && !sphere) error = read_distortion(p, distortion_key, c);
    return error ? error : read_size(p, c);
}

/* ---- Kalibr ------------------------------------------------------------------------------------------------------ */

/** T_cam_imu, from T_cam_imu or the inverse of T_imu_cam. */
static const char *read_mount(const struct section *p, pose_t *T_cam_imu)
{
    if (section_has(p, "T_cam_imu")) return section_pose(p, "T_cam_imu", T_cam_imu);
    const char *error = section_pose(p, "T_imu_cam", T_cam_imu);
    *T_cam_imu = pose_inverse(T_cam_imu);
    return error;
}

static int nearly_equal(const pose_t *a, const pose_t *b)
{
    for (int i = 0; i < 9; i++)
        if (fabs(a->R[i] - b->R[i]) > POSE_TOLERANCE) return 0;
    for (int i = 0; i < 3; i++)
        if (fabs(a->t[i] - b->t[i]) > POSE_TOLERANCE) return 0;
    return 1;
}

/** Extrinsics of camera 1. `before` is T_cam_imu of the camera before; with_imu is 1 if the chain has an IMU. */
static const char *chained_extrinsics(const struct section *p, const pose_t *before, int with_imu, pose_t *T_cam_imu)
{
    pose_t step, chained, own;
    const int linked = section_has(p, "T_cn_cnm1"),
              mounted = section_has(p, "T_cam_imu") || section_has(p, "T_imu_cam");
    if (mounted && !with_imu) return section_fail(p, "has T_cam_imu, but cam0 has none");
    if (!mounted && !linked) return section_fail(p, "no T_cn_cnm1%s", with_imu ? " and no T_cam_imu" : "");
    const char *error = linked ? section_pose(p, "T_cn_cnm1", &step) : NULL;
    if (!error && mounted) error = read_mount(p, &own);
    if (error) return error;
    if (linked) chained = pose_compose(&step, before);
    if (linked && mounted && !nearly_equal(&chained, &own))
        return section_fail(p, "T_cn_cnm1 and T_cam_imu contradict each other");
    *T_cam_imu = mounted ? own : chained;
    return NULL;
}

/** Time offset of the IMU, [s] in the file. */
static const char *read_shift(const struct section *p, int64_t *offset_ns)
{
    double shift_s = 0.0;
    const char *error = section_number(p, "timeshift_cam_imu", &shift_s, -1.0, 1.0);
    *offset_ns = llround(shift_s * 1e9);
    return error;
}

/** Time from a row of a rolling shutter to the next one, [s] in the file. */
static const char *read_line_delay(const struct section *p, double *row_us)
{
    double delay_s = 0.0;
    const char *error = section_number(p, "line_delay", &delay_s, -1e-3, 1e-3);
    *row_us = 1e6 * delay_s;
    return error;
}

static const char *read_cameras(vfront_rig_t *rig, const struct section *root)
{
    pose_t T_cam_imu = pose_identity;
    int with_imu = 0;
    const char *error = NULL;
    for (int32_t i = 0; i < rig->cameras && !error; i++) {
        char key[16];
        snprintf(key, sizeof key, "cam%d", (int)i);
        const struct section p = {root->document, section_find(root, root->map, key), root->path, key};
        if (!p.map) return section_fail(root, "no %s%s", key, i ? "; --mono takes cam0 alone" : "");
        error = read_camera(&p, "distortion_coeffs", &rig->camera[i]);
        if (error) break;
        if (i) {
            error = chained_extrinsics(&p, &T_cam_imu, with_imu, &T_cam_imu);
        } else {
            with_imu = section_has(&p, "T_cam_imu") || section_has(&p, "T_imu_cam");
            if (with_imu) error = read_mount(&p, &T_cam_imu);
        }
        if (i || with_imu) calibration_set_extrinsics(&rig->camera[i], &T_cam_imu);
        if (!error && section_has(&p, "line_delay")) error = read_line_delay(&p, &rig->camera[i].row_us);
        if (!i && !error && section_has(&p, "timeshift_cam_imu")) error = read_shift(&p, &rig->imu_offset_ns);
    }
    return error;
}

const char *calibration_read_chain(vfront_rig_t *rig, const char *path)
{
    struct yaml y;
    struct section root;
    const char *error = section_open(&y, &root, path);
    if (error) return error;
    error = read_cameras(rig, &root);
    section_close(&y);
    return error;
}

/* ---- EuRoC ------------------------------------------------------------------------------------------------------- */

/** One sensor.yaml: T_BS, and what there is of a camera or an IMU, where they are not NULL. */
static const char *read_sensor(const char *path, vfront_camera_t *camera, vfront_imu_noise_t *imu,
                               pose_t *T_body_sensor)
{
    struct yaml y;
    struct section root;
    const char *error = section_open(&y, &root, path);
    if (error) return error;
    if (camera) error = read_camera(&root, "distortion_coefficients", camera);
    if (!error) error = section_pose(&root, "T_BS", T_body_sensor);
    if (!error && imu) error = read_noise(&root, imu);
    section_close(&y);
    return error;
}

const char *calibration_read_sensors(vfront_rig_t *rig, const char *const *camera, const char *imu)
{
    pose_t T_body_imu = pose_identity;
    const char *error = imu ? read_sensor(imu, NULL, &rig->imu, &T_body_imu) : NULL;
    for (int32_t i = 0; i < rig->cameras && !error; i++) {
        pose_t T_body_cam;
        if (!camera[i]) continue;
        error = read_sensor(camera[i], &rig->camera[i], NULL, &T_body_cam);
        if (error) break;
        const pose_t T_cam_body = pose_inverse(&T_body_cam), T_cam_imu = pose_compose(&T_cam_body, &T_body_imu);
        calibration_set_extrinsics(&rig->camera[i], &T_cam_imu);
    }
    return error;
}

/* ---- ROS camera_info, OpenCV ------------------------------------------------------------------------------------- */

/** Numbers of a matrix: `data` of a mapping, or a list. */
static const char *read_data(const struct section *p, const char *key, double *number, int min, int max, int *count)
{
    const yaml_node_t *n = section_find(p, p->map, key);
    if (!n) return section_fail(p, "no %s", key);
    if (n->type == YAML_MAPPING_NODE) n = section_find(p, n, "data");
    return section_numbers(p, key, n, number, min, max, count);
}

/** Lens by its matrix and coefficients: a model by name (ROS), or by their number (OpenCV). */
static const char *read_opencv_lens(const struct section *p, const char *matrix, const char *distortion,
                                    vfront_camera_t *c)
{
    double K[9], k[CALIBRATION_COEFFICIENTS] = {0};
    int count = 0;
    const char *model = section_word(section_find(p, p->map, "distortion_model"));
    const char *error = read_data(p, matrix, K, 9, 9, NULL);
    if (!error) error = read_data(p, distortion, k, 0, CALIBRATION_COEFFICIENTS, &count);
    if (error) return error;
    error = calibration_set_opencv(c, model, K, k, count);
    return error ? section_fail(p, "%s", error) : NULL;
}

/** Size of the pictures, where the file has one: it must be that of the rig, or the rig has none and takes it. */
static const char *read_opencv_size(const struct section *p, vfront_camera_t *c)
{
    double width = 0.0, height = 0.0;
    if (!section_has(p, "image_width")) return NULL;
    const char *error = section_number(p, "image_width", &width, 1.0, PICTURE_SIDE_MAX_PX);
    if (!error) error = section_number(p, "image_height", &height, 1.0, PICTURE_SIDE_MAX_PX);
    if (!error && !c->width_px) {
        c->width_px = (int32_t)width;
        c->height_px = (int32_t)height;
    }
    if (error || (c->width_px == (int32_t)width && c->height_px == (int32_t)height)) return error;
    return section_fail(p, "%dx%d, but the pictures are %dx%d", (int)width, (int)height, (int)c->width_px,
                        (int)c->height_px);
}

/** From camera axes to rectified ones, and where the rectified camera is on the line of both: ROS's R and P. */
static const char *read_rectified(const struct section *p, pose_t *T_rect_cam)
{
    double P[12];
    const char *error = read_data(p, "rectification_matrix", T_rect_cam->R, 9, 9, NULL);
    if (!error) error = read_data(p, "projection_matrix", P, 12, 12, NULL);
    if (error) return error;
    error = calibration_set_rectified(T_rect_cam, P);
    return error ? section_fail(p, "%s", error) : NULL;
}

/** What the files of a pair say. */
struct opencv_pair {
    int32_t cameras;         /* read so far */
    int rectified, has_step; /* cameras with T_rect_cam; 1: T_cam1_cam0 is known */
    pose_t T_rect_cam[2];    /* ROS */
    pose_t T_cam1_cam0;      /* OpenCV */
};

static const char *read_opencv_section(const struct section *p, vfront_rig_t *rig, struct opencv_pair *pair)
{
    const char *error = NULL;
    if (section_has(p, "M1")) {
        error = read_opencv_lens(p, "M1", "D1", &rig->camera[0]);
        if (!error && rig->cameras > 1) error = read_opencv_lens(p, "M2", "D2", &rig->camera[1 % VFRONT_CAMERAS]);
        pair->cameras = 2;
    }
    if (!error && section_has(p, "R") && section_has(p, "T")) {
        error = read_data(p, "R", pair->T_cam1_cam0.R, 9, 9, NULL);
        if (!error) error = read_data(p, "T", pair->T_cam1_cam0.t, 3, 3, NULL);
        if (!error && !pose_is_rotation(pair->T_cam1_cam0.R)) error = section_fail(p, "R is not a rotation");
        pair->has_step = 1;
    }
    if (error || !section_has(p, "camera_matrix") || pair->cameras == rig->cameras) return error;
    vfront_camera_t *c = &rig->camera[pair->cameras];
    error = read_opencv_lens(p, "camera_matrix",
                             section_has(p, "distortion_coefficients") ? "distortion_coefficients" : "dist_coeffs", c);
    if (!error) error = read_opencv_size(p, c);
    if (!error && section_has(p, "projection_matrix")) {
        error = read_rectified(p, &pair->T_rect_cam[pair->cameras]);
        pair->rectified++;
    }
    pair->cameras++;
    return error;
}

const char *calibration_read_opencv(vfront_rig_t *rig, char *const *path, int count)
{
    struct opencv_pair pair = {0};
    const char *error = NULL;
    for (int i = 0; i < count && !error; i++) {
        struct yaml y;
        struct section root;
        error = section_open(&y, &root, path[i]);
        if (error) return error;
        error = read_opencv_section(&root, rig, &pair);
        section_close(&y);
    }
    if (error || rig->cameras < 2) return error;
    if (pair.rectified == 2) {
        pair.T_cam1_cam0 = calibration_step(pair.T_rect_cam);
        pair.has_step = 1;
    }
    if (pair.has_step) calibration_set_extrinsics(&rig->camera[1 % VFRONT_CAMERAS], &pair.T_cam1_cam0);
    return NULL;
}

const char *calibration_sensor(pose_t *T_body_sensor, const char *path)
{
    return read_sensor(path, NULL, NULL, T_body_sensor);
}

const char *calibration_mount(pose_t *T_body_imu, const char *path)
{
    struct yaml y;
    struct section root;
    const char *error = section_open(&y, &root, path);
    if (error) return error;
    const struct section body = {root.document, section_find(&root, root.map, "body"), path, "body"};
    error = body.map ? section_pose(&body, "T_body_imu", T_body_imu) : calibration_fail("%s: no body", path);
    section_close(&y);
    return error;
}

const char *calibration_imu(vfront_imu_noise_t *noise, const char *path)
{
    struct yaml y;
    struct section root;
    const char *error = section_open(&y, &root, path);
    if (error) return error;
    const struct section imu = {root.document, section_find(&root, root.map, "imu0"), path, "imu0"};
    error = read_noise(imu.map ? &imu : &root, noise);
    section_close(&y);
    return error;
}

const char *calibration_yaml_kind(enum calibration_kind *kind, const char *path)
{
    struct yaml y;
    struct section root;
    const char *error = section_open(&y, &root, path);
    if (error) return error;
    const char *sensor = section_word(section_find(&root, root.map, "sensor_type"));
    if (section_has(&root, "cam0") || section_has(&root, "cam1"))
        *kind = KALIBR;
    else if (section_has(&root, "sensor_type") || section_has(&root, "T_BS"))
        *kind = sensor && strcmp(sensor, "imu") == 0 ? EUROC_IMU : EUROC_CAMERA;
    else if (section_has(&root, "imu0") || section_has(&root, "gyroscope_noise_density"))
        *kind = KALIBR_IMU;
    else if (section_has(&root, "camera_matrix") || section_has(&root, "M1") ||
             (section_has(&root, "R") && section_has(&root, "T")))
        *kind = OPENCV;
    else if (section_has(&root, "value0") || section_has(&root, "cam0_calib") ||
             section_has(&root, "projection_parameters"))
        *kind = OTHER;
    else
        error = calibration_fail("%s: neither a Kalibr camchain nor a EuRoC sensor.yaml, ROS camera_info, OpenCV file, "
                                 "VINS settings, Basalt calibration or KITTI calib.txt",
                                 path);
    section_close(&y);
    return error;
}
#else
int calibration_reads_yaml(void) { return 0; }

static const char *no_yaml(const char *path)
{
    return calibration_fail("%s: this build has no libyaml to read it", path);
}

const char *calibration_read_chain(vfront_rig_t *rig, const char *path)
{
    (void)rig;
    return no_yaml(path);
}

const char *calibration_read_sensors(vfront_rig_t *rig, const char *const *camera, const char *imu)
{
    for (int32_t i = 0; i < rig->cameras; i++)
        if (camera[i]) return no_yaml(camera[i]);
    return imu ? no_yaml(imu) : NULL;
}

const char *calibration_read_opencv(vfront_rig_t *rig, char *const *path, int count)
{
    (void)rig;
    (void)count;
    return no_yaml(path[0]);
}

const char *calibration_sensor(pose_t *T_body_sensor, const char *path)
{
    (void)T_body_sensor;
    return no_yaml(path);
}

const char *calibration_mount(pose_t *T_body_imu, const char *path)
{
    (void)T_body_imu;
    return no_yaml(path);
}

const char *calibration_imu(vfront_imu_noise_t *noise, const char *path)
{
    (void)noise;
    return no_yaml(path);
}

const char *calibration_yaml_kind(enum calibration_kind *kind, const char *path)
{
    (void)kind;
    return no_yaml(path);
}
#endif
