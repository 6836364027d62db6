/* SPDX-License-Identifier: MIT */
/* Settings of VINS-Mono and VINS-Fusion, and Basalt's calibration.json. */
#include "calibration_section.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef HAVE_YAML

/** Numbers of the keys of a section, in the order of the names. */
static const char *read_keys(const struct section *p, const char *const *key, int count, double *number)
{
    const char *error = NULL;
    for (int i = 0; i < count && !error; i++) error = section_number(p, key[i], &number[i], -1e9, 1e9);
    return error;
}

static struct section part_of(const struct section *p, const char *key)
{
    const struct section part = {p->document, section_find(p, p->map, key), p->path, key};
    return part;
}

/** Take the size of the pictures, or compare with it. */
static const char *take_size(const struct section *p, vfront_camera_t *c, double width, double height)
{
    if (!(width >= 1.0 && height >= 1.0 && width <= PICTURE_SIDE_MAX_PX && height <= PICTURE_SIDE_MAX_PX))
        return section_fail(p, "a picture's size is not in 1..%d", PICTURE_SIDE_MAX_PX);
    if (c->width_px && (c->width_px != (int32_t)width || c->height_px != (int32_t)height))
        return section_fail(p, "%dx%d, but the pictures are %dx%d", (int)width, (int)height, (int)c->width_px,
                            (int)c->height_px);
    c->width_px = (int32_t)width;
    c->height_px = (int32_t)height;
    return NULL;
}

/* ---- VINS -------------------------------------------------------------------------------------------------------- */

static const char *read_vins_pinhole(const struct section *p, vfront_camera_t *c)
{
    static const char *const focal[] = {"fx", "fy", "cx", "cy"}, *const bend[] = {"k1", "k2", "p1", "p2"};
    const struct section projection = part_of(p, "projection_parameters"),
                         distortion = part_of(p, "distortion_parameters");
    double lens[4];
    const char *error = read_keys(&projection, focal, 4, lens);
    if (!error) error = read_keys(&distortion, bend, 4, c->distortion);
    c->lens = VFRONT_LENS_RADTAN;
    if (error || calibration_set_lens(c, lens)) return error;
    return section_fail(p, "a focal length that is not above 0");
}

static const char *read_vins_equidistant(const struct section *p, vfront_camera_t *c)
{
    static const char *const key[] = {"mu", "mv", "u0", "v0", "k2", "k3", "k4", "k5"};
    const struct section projection = part_of(p, "projection_parameters");
    double number[8];
    const char *error = read_keys(&projection, key, 8, number);
    if (error) return error;
    c->lens = VFRONT_LENS_EQUIDISTANT;
    memcpy(c->distortion, &number[4], 4 * sizeof *number);
    return calibration_set_lens(c, number) ? NULL : section_fail(p, "a focal length that is not above 0");
}

static const char *read_vins_omni(const struct section *p, vfront_camera_t *c)
{
    static const char *const focal[] = {"gamma1", "gamma2", "u0", "v0"}, *const bend[] = {"k1", "k2", "p1", "p2"};
    const struct section projection = part_of(p, "projection_parameters"),
                         distortion = part_of(p, "distortion_parameters"), mirror = part_of(p, "mirror_parameters");
    double number[4];
    const char *error = read_keys(&projection, focal, 4, number);
    if (!error) error = read_keys(&distortion, bend, 4, &c->distortion[1]);
    if (!error) error = section_number(&mirror, "xi", &c->distortion[0], -0.99, 99.0);
    if (error) return error;
    c->lens = VFRONT_LENS_OMNI;
    return calibration_set_lens(c, number) ? NULL : section_fail(p, "a focal length that is not above 0");
}

/** A camera's file of VINS-Fusion, or the settings of VINS-Mono, which have the camera in them. */
static const char *read_vins_camera(const struct section *p, vfront_camera_t *c)
{
    const char *model = section_word(section_find(p, p->map, "model_type"));
    double size[2];
    static const char *const side[] = {"image_width", "image_height"};
    const char *error = read_keys(p, side, 2, size);
    if (!error) error = take_size(p, c, size[0], size[1]);
    if (error) return error;
    if (model && strcmp(model, "PINHOLE") == 0) return read_vins_pinhole(p, c);
    if (model && strcmp(model, "KANNALA_BRANDT") == 0) return read_vins_equidistant(p, c);
    if (model && strcmp(model, "MEI") == 0) return read_vins_omni(p, c);
    return section_fail(p, "model_type %.40s: PINHOLE, KANNALA_BRANDT and MEI are known here",
                        model ? model : "is no word");
}

static const char *read_vins_camera_file(const char *path, vfront_camera_t *c)
{
    struct yaml y;
    struct section root;
    const char *error = section_open(&y, &root, path);
    if (error) return error;
    error = read_vins_camera(&root, c);
    section_close(&y);
    return error;
}

/** Path of a file named in another one, in whose folder it lies. */
static void beside(char *to, size_t bytes, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    snprintf(to, bytes, "%.*s%s", *name != '/' && slash ? (int)(slash - path) + 1 : 0, path, name);
}

/** Pose of a camera on the IMU: body_T_cam0, or extrinsicRotation and extrinsicTranslation of VINS-Mono. */
static const char *read_vins_pose(const struct section *p, int32_t camera, pose_t *T_imu_cam)
{
    char key[32];
    snprintf(key, sizeof key, "body_T_cam%d", (int)camera);
    if (section_has(p, key) || camera) return section_pose(p, key, T_imu_cam);
    if (!section_has(p, "extrinsicRotation")) return section_fail(p, "no %s and no extrinsicRotation", key);
    const struct section R = part_of(p, "extrinsicRotation"), t = part_of(p, "extrinsicTranslation");
    const char *error = section_list(&R, "data", T_imu_cam->R, 9, 9, NULL);
    if (!error) error = section_list(&t, "data", T_imu_cam->t, 3, 3, NULL);
    if (error || pose_is_rotation(T_imu_cam->R)) return error;
    return section_fail(p, "extrinsicRotation is not a rotation");
}

static const char *read_vins_settings(const struct section *p, vfront_rig_t *rig)
{
    const char *error = NULL;
    double shift_s = 0.0;
    for (int32_t i = 0; i < rig->cameras && !error; i++) {
        char key[24], path[TEXT_PATH_BYTES];
        pose_t T_imu_cam;
        snprintf(key, sizeof key, "cam%d_calib", (int)i);
        const char *name = section_word(section_find(p, p->map, key));
        if (name) beside(path, sizeof path, p->path, name);
        if (!name && (i || !section_has(p, "model_type")))
            return section_fail(p, "no %s%s", key, i ? "; --mono takes camera 0 alone" : "");
        error = name ? read_vins_camera_file(path, &rig->camera[i]) : read_vins_camera(p, &rig->camera[i]);
        if (!error) error = read_vins_pose(p, i, &T_imu_cam);
        if (error) break;
        const pose_t T_cam_imu = pose_inverse(&T_imu_cam);
        calibration_set_extrinsics(&rig->camera[i], &T_cam_imu);
    }
    if (!error && section_has(p, "td")) error = section_number(p, "td", &shift_s, -1.0, 1.0);
    rig->imu_offset_ns = llround(shift_s * 1e9);
    return error;
}

/* ---- Basalt ------------------------------------------------------------------------------------------------------ */

/** Lens of a camera: its type, and its numbers by name. */
static const char *read_basalt_lens(const struct section *p, const char *type, vfront_camera_t *c)
{
    static const char *const key[] = {"fx", "fy", "cx", "cy"}, *const fisheye[] = {"k1", "k2", "k3", "k4"},
                             *const rational[] = {"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6"};
    double focal[4];
    const char *error = read_keys(p, key, 4, focal);
    if (!error && !calibration_set_lens(c, focal)) error = section_fail(p, "a focal length that is not above 0");
    if (error) return error;
    c->lens = VFRONT_LENS_RADTAN;
    if (strcmp(type, "pinhole") == 0) return NULL;
    if (strcmp(type, "kb4") == 0) {
        c->lens = VFRONT_LENS_EQUIDISTANT;
        return read_keys(p, fisheye, 4, c->distortion);
    }
    if (strcmp(type, "pinhole-radtan8") == 0) {
        c->lens = VFRONT_LENS_RATIONAL;
        return read_keys(p, rational, 8, c->distortion);
    }
    const int ucm = strcmp(type, "ucm") == 0, ds = strcmp(type, "ds") == 0;
    if (ucm || ds || strcmp(type, "eucm") == 0) {
        c->lens = ds ? VFRONT_LENS_DS : VFRONT_LENS_EUCM;
        c->distortion[1] = 1.0; /* beta of ucm */
        error = section_number(p, "alpha", &c->distortion[ds], 0.0, 1.0);
        if (!error && ds) error = section_number(p, "xi", &c->distortion[0], -0.99, 0.99);
        if (!error && !ds && !ucm) error = section_number(p, "beta", &c->distortion[1], 0.01, 100.0);
        return error;
    }
    return section_fail(p, "camera_type %.40s: pinhole, pinhole-radtan8, kb4, ucm, eucm and ds are known here", type);
}

/** Item of a list of a section, as a section. */
static struct section item_section(const struct section *p, const char *key, int index, const char *name)
{
    const yaml_node_t *list = section_find(p, p->map, key);
    struct section item = {p->document, NULL, p->path, name};
    if (section_length(list) > index) item.map = section_item(p, list, index);
    return item;
}

static const char *read_basalt_camera(const struct section *p, int32_t index, vfront_camera_t *c)
{
    static const char *const key[] = {"px", "py", "pz", "qx", "qy", "qz", "qw"};
    char name[32];
    double size[2], number[7];
    snprintf(name, sizeof name, "camera %d", (int)index);
    const struct section lens = item_section(p, "intrinsics", index, name),
                         pose = item_section(p, "T_imu_cam", index, name);
    const struct section numbers = {p->document, section_find(&lens, lens.map, "intrinsics"), p->path, name};
    const yaml_node_t *sizes = section_find(p, p->map, "resolution");
    const char *type = lens.map ? section_word(section_find(&lens, lens.map, "camera_type")) : NULL;
    if (!type)
        return section_fail(p, "no camera_type of camera %d%s", (int)index,
                            index ? "; --mono takes camera 0 alone" : "");
    const char *error = section_length(sizes) > index
                            ? section_numbers(p, "resolution", section_item(p, sizes, index), size, 2, 2, NULL)
                            : section_fail(p, "no resolution of camera %d", (int)index);
    if (!error) error = take_size(&lens, c, size[0], size[1]);
    if (!error) error = read_basalt_lens(&numbers, type, c);
    if (!error) error = read_keys(&pose, key, 7, number);
    if (error) return error;
    const double *q = &number[3], square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    pose_t T_imu_cam;
    if (fabs(square - 1.0) > 1e-3) return section_fail(&pose, "qx qy qz qw is no unit quaternion");
    pose_rotation(T_imu_cam.R, q);
    memcpy(T_imu_cam.t, number, sizeof T_imu_cam.t);
    const pose_t T_cam_imu = pose_inverse(&T_imu_cam);
    calibration_set_extrinsics(c, &T_cam_imu);
    return NULL;
}

/** One number of a list of three, the largest: vfront has one for all axes. */
static const char *read_largest(const struct section *p, const char *key, double most, double *number)
{
    double axis[3];
    const char *error = section_list(p, key, axis, 3, 3, NULL);
    *number = error ? 0.0 : fmax(axis[0], fmax(axis[1], axis[2]));
    return error || (*number >= 0.0 && *number <= most) ? error : section_fail(p, "%s is not in 0..%g", key, most);
}

static const char *read_basalt(const struct section *root, vfront_rig_t *rig)
{
    const struct section p = part_of(root, "value0");
    double offset_ns = 0.0;
    const char *error = NULL;
    vfront_imu_noise_t *n = &rig->imu;
    for (int32_t i = 0; i < rig->cameras && !error; i++) error = read_basalt_camera(&p, i, &rig->camera[i]);
    if (!error && section_has(&p, "cam_time_offset_ns"))
        error = section_number(&p, "cam_time_offset_ns", &offset_ns, -1e9, 1e9);
    rig->imu_offset_ns = llround(offset_ns);
    if (error || !section_has(&p, "imu_update_rate")) return error;
    error = section_number(&p, "imu_update_rate", &n->rate_hz, 10.0, 20000.0);
    if (!error) error = read_largest(&p, "gyro_noise_std", 1.0, &n->gyro_density);
    if (!error) error = read_largest(&p, "accel_noise_std", 10.0, &n->accel_density);
    if (!error) error = read_largest(&p, "gyro_bias_std", 1.0, &n->gyro_walk);
    if (!error) error = read_largest(&p, "accel_bias_std", 10.0, &n->accel_walk);
    n->gyro_limit_rad_s = VFRONT_GYRO_MOST_RAD_S;
    n->accel_limit_m_s2 = VFRONT_ACCEL_MOST_M_S2;
    n->gravity_m_s2 = 9.81;
    return error;
}

const char *calibration_read_other(vfront_rig_t *rig, const char *path)
{
    struct yaml y;
    struct section root;
    const char *error = section_open(&y, &root, path);
    if (error) return error;
    error = section_has(&root, "value0") ? read_basalt(&root, rig) : read_vins_settings(&root, rig);
    section_close(&y);
    return error;
}

#else

const char *calibration_read_other(vfront_rig_t *rig, const char *path)
{
    (void)rig;
    return calibration_fail("%s: this build has no libyaml to read it", path);
}

#endif
