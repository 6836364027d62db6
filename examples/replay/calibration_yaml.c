/* SPDX-License-Identifier: MIT */
#include "calibration_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_YAML
#include <yaml.h>
#endif

/* ---- YAML -------------------------------------------------------------------------------------------------------- */

#ifdef HAVE_YAML
#define POSE_TOLERANCE 1e-2 /* between two transforms that should agree, each number */

int calibration_reads_yaml(void) { return 1; }

/** An open YAML file. */
struct yaml {
    text_t text;
    yaml_document_t document;
};

/** Mapping in it: the whole file, or one camera. */
struct section {
    yaml_document_t *document;
    const yaml_node_t *map;
    const char *path, *camera; /* camera: its key, or NULL */
};

/** Message with the names of file and camera before it. */
__attribute__((format(printf, 2, 3))) static const char *fail_in(const struct section *p, const char *format, ...)
{
    char what[512];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return calibration_fail("%s: %s%s%s", p->path, p->camera ? p->camera : "", p->camera ? ": " : "", what);
}

/** Text without its leading directives: libyaml rejects "%YAML:1.0", which OpenCV writes. */
static const char *after_directives(const char *content)
{
    while (*content == '%') {
        content += strcspn(content, "\n");
        content += *content == '\n';
    }
    return content;
}

/** Parse y->text into y->document. */
static const char *parse(struct yaml *y)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) return calibration_fail("%s: libyaml cannot be started", y->text.path);
    const char *content = after_directives(y->text.content), *error = NULL;
    yaml_parser_set_input_string(&parser, (const unsigned char *)content, strlen(content));
    if (!yaml_parser_load(&parser, &y->document)) {
        int line = 1 + (int)parser.problem_mark.line;
        for (const char *c = y->text.content; c < content; c++) line += *c == '\n';
        error = calibration_fail("%s:%d: not YAML: %s", y->text.path, line,
                                 parser.problem ? parser.problem : "no memory");
    }
    yaml_parser_delete(&parser);
    return error;
}

static const char *open_yaml(struct yaml *y, struct section *root, const char *path)
{
    const char *error = text_open(&y->text, path);
    if (!error) error = parse(y);
    if (error) {
        text_close(&y->text);
        return error;
    }
    root->document = &y->document;
    root->map = yaml_document_get_root_node(&y->document);
    root->path = path;
    root->camera = NULL;
    return NULL;
}

static void close_yaml(struct yaml *y)
{
    yaml_document_delete(&y->document);
    text_close(&y->text);
}

/** Text of a scalar node; NULL for a list or a mapping. */
static const char *word_of(const yaml_node_t *n)
{
    return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

/** Value of a key, or NULL. */
static const yaml_node_t *find(const struct section *p, const yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE) return NULL;
    for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
        const char *word = word_of(yaml_document_get_node(p->document, pair->key));
        if (word && strcmp(word, key) == 0) return yaml_document_get_node(p->document, pair->value);
    }
    return NULL;
}

static int has(const struct section *p, const char *key) { return find(p, p->map, key) != NULL; }

/** Number of items in a list; -1: not a list. */
static int length_of(const yaml_node_t *n)
{
    return n && n->type == YAML_SEQUENCE_NODE ? (int)(n->data.sequence.items.top - n->data.sequence.items.start) : -1;
}

static const yaml_node_t *item_of(const struct section *p, const yaml_node_t *list, int index)
{
    return yaml_document_get_node(p->document, list->data.sequence.items.start[index]);
}

/** Numbers of a list node, least..most of them. `count` may be NULL. */
static const char *list_numbers(const struct section *p, const char *key, const yaml_node_t *list, double *number,
                                int min, int max, int *count)
{
    const int length = length_of(list);
    if (length < 0) return fail_in(p, "%s is no list of numbers", key);
    if (length < min || length > max)
        return fail_in(p, "%s has %d numbers instead of %d", key, length, length < min ? min : max);
    for (int i = 0; i < length; i++) {
        const char *word = word_of(item_of(p, list, i));
        char *end = NULL;
        number[i] = word ? strtod(word, &end) : 0.0;
        if (!word || end == word || *end || !isfinite(number[i]))
            return fail_in(p, "%s: \"%.40s\" is not a finite number", key, word ? word : "a list");
    }
    if (count) *count = length;
    return NULL;
}

static const char *read_list(const struct section *p, const char *key, double *number, int min, int max, int *count)
{
    const yaml_node_t *list = find(p, p->map, key);
    return list ? list_numbers(p, key, list, number, min, max, count) : fail_in(p, "no %s", key);
}

/** 4x4 matrix: 16 numbers, four lists of four, or either as `data` of a mapping (OpenCV). */
static const char *read_matrix(const struct section *p, const char *key, double T[16])
{
    const yaml_node_t *n = find(p, p->map, key);
    if (!n) return fail_in(p, "no %s", key);
    if (n->type == YAML_MAPPING_NODE) n = find(p, n, "data");
    if (length_of(n) < 1 || length_of(item_of(p, n, 0)) < 0) return list_numbers(p, key, n, T, 16, 16, NULL);
    if (length_of(n) != 4) return fail_in(p, "%s has %d rows instead of 4", key, length_of(n));
    const char *error = NULL;
    for (int r = 0; r < 4 && !error; r++) error = list_numbers(p, key, item_of(p, n, r), &T[4 * r], 4, 4, NULL);
    return error;
}

static const char *read_pose(const struct section *p, const char *key, pose_t *pose)
{
    double T[16];
    const char *error = read_matrix(p, key, T);
    if (error) return error;
    for (int i = 0; i < 9; i++) pose->R[i] = T[i / 3 * 4 + i % 3];
    for (int r = 0; r < 3; r++) pose->t[r] = T[4 * r + 3];
    if (T[12] != 0.0 || T[13] != 0.0 || T[14] != 0.0 || T[15] != 1.0)
        return fail_in(p, "the last row of %s is not 0 0 0 1", key);
    return pose_is_rotation(pose->R) ? NULL : fail_in(p, "%s: its 3x3 part is not a rotation", key);
}

/** Number least..most. */
static const char *read_number(const struct section *p, const char *key, double *number, double min, double max)
{
    const char *word = word_of(find(p, p->map, key));
    char *end = NULL;
    if (!has(p, key)) return fail_in(p, "no %s", key);
    *number = word ? strtod(word, &end) : 0.0;
    if (!word || end == word || *end) return fail_in(p, "%s: \"%.40s\" is not a number", key, word ? word : "a list");
    return *number >= min && *number <= max ? NULL : fail_in(p, "%s is not in %g..%g", key, min, max);
}

/* ---- common to Kalibr and EuRoC ---------------------------------------------------------------------------------- */

/** Errors of an IMU; all 0 if none of the keys is there. */
static const char *read_noise(const struct section *p, vfront_imu_noise_t *noise)
{
    const char *rate = has(p, "update_rate") ? "update_rate" : "rate_hz"; /* Kalibr's, EuRoC's */
    memset(noise, 0, sizeof *noise);
    if (!has(p, "gyroscope_noise_density") && !has(p, "accelerometer_noise_density") &&
        !has(p, "gyroscope_random_walk") && !has(p, "accelerometer_random_walk"))
        return NULL;
    const char *error = read_number(p, "gyroscope_noise_density", &noise->gyro_density, 0.0, 1.0);
    if (!error) error = read_number(p, "accelerometer_noise_density", &noise->accel_density, 0.0, 10.0);
    if (!error) error = read_number(p, "gyroscope_random_walk", &noise->gyro_walk, 0.0, 1.0);
    if (!error) error = read_number(p, "accelerometer_random_walk", &noise->accel_walk, 0.0, 10.0);
    if (!error) error = read_number(p, rate, &noise->rate_hz, 10.0, 20000.0);
    noise->gyro_limit_rad_s = VFRONT_GYRO_MOST_RAD_S;
    noise->accel_limit_m_s2 = VFRONT_ACCEL_MOST_M_S2;
    noise->gravity_m_s2 = 9.81;
    return error;
}

static const char *read_size(const struct section *p, vfront_camera_t *c)
{
    double size[2];
    const char *error = read_list(p, "resolution", size, 2, 2, NULL);
    if (error) return error;
    for (int i = 0; i < 2; i++)
        if (!(size[i] >= 1.0 && size[i] <= PICTURE_SIDE_MAX_PX) || size[i] != (double)(int32_t)size[i])
            return fail_in(p, "resolution is not two whole numbers in 1..%d", PICTURE_SIDE_MAX_PX);
    const int32_t width = (int32_t)size[0], height = (int32_t)size[1];
    if (c->width_px && (c->width_px != width || c->height_px != height))
        return fail_in(p, "resolution %dx%d, but the pictures are %dx%d", (int)width, (int)height, (int)c->width_px,
                       (int)c->height_px);
    c->width_px = width;
    c->height_px = height;
    return NULL;
}

static const char *read_intrinsics(const struct section *p, vfront_camera_t *c)
{
    double lens[4];
    if (!has(p, "camera_model")) return fail_in(p, "no camera_model");
    const char *model = word_of(find(p, p->map, "camera_model"));
    if (!model || strcmp(model, "pinhole") != 0)
        return fail_in(p, "camera_model %.40s: pinhole is the only one known here", model ? model : "is no word");
    const char *error = read_list(p, "intrinsics", lens, 4, 4, NULL);
    if (error) return error;
    return calibration_set_lens(c, lens) ? NULL : fail_in(p, "intrinsics: a focal length that is not above 0");
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
    if (!has(p, "distortion_model")) return fail_in(p, "no distortion_model");
    const char *model = word_of(find(p, p->map, "distortion_model"));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!model || strcmp(model, known[i].name) != 0) continue;
        c->lens = known[i].lens;
        return known[i].max || has(p, key) ? read_list(p, key, c->distortion, known[i].min, known[i].max, NULL) : NULL;
    }
    return fail_in(p, "distortion_model %.40s: radtan, radial-tangential, equidistant and none are known here",
                   model ? model : "is no word");
}

static const char *read_camera(const struct section *p, const char *distortion_key, vfront_camera_t *c)
{
    const char *error = read_intrinsics(p, c);
    if (!error) error = read_distortion(p, distortion_key, c);
    return error ? error : read_size(p, c);
}

/** Set the extrinsics of a camera. */
/* ---- Kalibr ------------------------------------------------------------------------------------------------------ */

/** T_cam_imu, from T_cam_imu or the inverse of T_imu_cam. */
static const char *read_mount(const struct section *p, pose_t *T_cam_imu)
{
    if (has(p, "T_cam_imu")) return read_pose(p, "T_cam_imu", T_cam_imu);
    const char *error = read_pose(p, "T_imu_cam", T_cam_imu);
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
    const int linked = has(p, "T_cn_cnm1"), mounted = has(p, "T_cam_imu") || has(p, "T_imu_cam");
    if (mounted && !with_imu) return fail_in(p, "has T_cam_imu, but cam0 has none");
    if (!mounted && !linked) return fail_in(p, "no T_cn_cnm1%s", with_imu ? " and no T_cam_imu" : "");
    const char *error = linked ? read_pose(p, "T_cn_cnm1", &step) : NULL;
    if (!error && mounted) error = read_mount(p, &own);
    if (error) return error;
    if (linked) chained = pose_compose(&step, before);
    if (linked && mounted && !nearly_equal(&chained, &own))
        return fail_in(p, "T_cn_cnm1 and T_cam_imu contradict each other");
    *T_cam_imu = mounted ? own : chained;
    return NULL;
}

/** Time offset of the IMU, [s] in the file. */
static const char *read_shift(const struct section *p, int64_t *offset_ns)
{
    double shift_s = 0.0;
    const char *error = read_number(p, "timeshift_cam_imu", &shift_s, -1.0, 1.0);
    *offset_ns = llround(shift_s * 1e9);
    return error;
}

/** Time from a row of a rolling shutter to the next one, [s] in the file. */
static const char *read_line_delay(const struct section *p, double *row_us)
{
    double delay_s = 0.0;
    const char *error = read_number(p, "line_delay", &delay_s, -1e-3, 1e-3);
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
        const struct section p = {root->document, find(root, root->map, key), root->path, key};
        if (!p.map) return fail_in(root, "no %s%s", key, i ? "; --mono takes cam0 alone" : "");
        error = read_camera(&p, "distortion_coeffs", &rig->camera[i]);
        if (error) break;
        if (i) {
            error = chained_extrinsics(&p, &T_cam_imu, with_imu, &T_cam_imu);
        } else {
            with_imu = has(&p, "T_cam_imu") || has(&p, "T_imu_cam");
            if (with_imu) error = read_mount(&p, &T_cam_imu);
        }
        if (i || with_imu) calibration_set_extrinsics(&rig->camera[i], &T_cam_imu);
        if (!error && has(&p, "line_delay")) error = read_line_delay(&p, &rig->camera[i].row_us);
        if (!i && !error && has(&p, "timeshift_cam_imu")) error = read_shift(&p, &rig->imu_offset_ns);
    }
    return error;
}

const char *calibration_read_chain(vfront_rig_t *rig, const char *path)
{
    struct yaml y;
    struct section root;
    const char *error = open_yaml(&y, &root, path);
    if (error) return error;
    error = read_cameras(rig, &root);
    close_yaml(&y);
    return error;
}

/* ---- EuRoC ------------------------------------------------------------------------------------------------------- */

/** One sensor.yaml: T_BS, and what there is of a camera or an IMU, where they are not NULL. */
static const char *read_sensor(const char *path, vfront_camera_t *camera, vfront_imu_noise_t *imu,
                               pose_t *T_body_sensor)
{
    struct yaml y;
    struct section root;
    const char *error = open_yaml(&y, &root, path);
    if (error) return error;
    if (camera) error = read_camera(&root, "distortion_coefficients", camera);
    if (!error) error = read_pose(&root, "T_BS", T_body_sensor);
    if (!error && imu) error = read_noise(&root, imu);
    close_yaml(&y);
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
    const yaml_node_t *n = find(p, p->map, key);
    if (!n) return fail_in(p, "no %s", key);
    if (n->type == YAML_MAPPING_NODE) n = find(p, n, "data");
    return list_numbers(p, key, n, number, min, max, count);
}

/** Lens by its matrix and coefficients: a model by name (ROS), or by their number (OpenCV). */
static const char *read_opencv_lens(const struct section *p, const char *matrix, const char *distortion,
                                    vfront_camera_t *c)
{
    double K[9], k[CALIBRATION_COEFFICIENTS] = {0};
    int count = 0;
    const char *model = word_of(find(p, p->map, "distortion_model"));
    const char *error = read_data(p, matrix, K, 9, 9, NULL);
    if (!error) error = read_data(p, distortion, k, 0, CALIBRATION_COEFFICIENTS, &count);
    if (error) return error;
    error = calibration_set_opencv(c, model, K, k, count);
    return error ? fail_in(p, "%s", error) : NULL;
}

/** Size of the pictures, where the file has one. */
static const char *read_opencv_size(const struct section *p, vfront_camera_t *c)
{
    double width = 0.0, height = 0.0;
    if (!has(p, "image_width")) return NULL;
    const char *error = read_number(p, "image_width", &width, 1.0, PICTURE_SIDE_MAX_PX);
    if (!error) error = read_number(p, "image_height", &height, 1.0, PICTURE_SIDE_MAX_PX);
    if (error || !c->width_px || (c->width_px == (int32_t)width && c->height_px == (int32_t)height)) return error;
    return fail_in(p, "%dx%d, but the pictures are %dx%d", (int)width, (int)height, (int)c->width_px,
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
    return error ? fail_in(p, "%s", error) : NULL;
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
    if (has(p, "M1")) {
        error = read_opencv_lens(p, "M1", "D1", &rig->camera[0]);
        if (!error && rig->cameras > 1) error = read_opencv_lens(p, "M2", "D2", &rig->camera[1 % VFRONT_CAMERAS]);
        pair->cameras = 2;
    }
    if (!error && has(p, "R") && has(p, "T")) {
        error = read_data(p, "R", pair->T_cam1_cam0.R, 9, 9, NULL);
        if (!error) error = read_data(p, "T", pair->T_cam1_cam0.t, 3, 3, NULL);
        if (!error && !pose_is_rotation(pair->T_cam1_cam0.R)) error = fail_in(p, "R is not a rotation");
        pair->has_step = 1;
    }
    if (error || !has(p, "camera_matrix") || pair->cameras == rig->cameras) return error;
    vfront_camera_t *c = &rig->camera[pair->cameras];
    error = read_opencv_lens(p, "camera_matrix",
                             has(p, "distortion_coefficients") ? "distortion_coefficients" : "dist_coeffs", c);
    if (!error) error = read_opencv_size(p, c);
    if (!error && has(p, "projection_matrix")) {
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
        error = open_yaml(&y, &root, path[i]);
        if (error) return error;
        error = read_opencv_section(&root, rig, &pair);
        close_yaml(&y);
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
    const char *error = open_yaml(&y, &root, path);
    if (error) return error;
    const struct section body = {root.document, find(&root, root.map, "body"), path, "body"};
    error = body.map ? read_pose(&body, "T_body_imu", T_body_imu) : calibration_fail("%s: no body", path);
    close_yaml(&y);
    return error;
}

const char *calibration_imu(vfront_imu_noise_t *noise, const char *path)
{
    struct yaml y;
    struct section root;
    const char *error = open_yaml(&y, &root, path);
    if (error) return error;
    const struct section imu = {root.document, find(&root, root.map, "imu0"), path, "imu0"};
    error = read_noise(imu.map ? &imu : &root, noise);
    close_yaml(&y);
    return error;
}

const char *calibration_yaml_kind(enum calibration_kind *kind, const char *path)
{
    struct yaml y;
    struct section root;
    const char *error = open_yaml(&y, &root, path);
    if (error) return error;
    const char *sensor = word_of(find(&root, root.map, "sensor_type"));
    if (has(&root, "cam0") || has(&root, "cam1"))
        *kind = KALIBR;
    else if (has(&root, "sensor_type") || has(&root, "T_BS"))
        *kind = sensor && strcmp(sensor, "imu") == 0 ? EUROC_IMU : EUROC_CAMERA;
    else if (has(&root, "imu0") || has(&root, "gyroscope_noise_density"))
        *kind = KALIBR_IMU;
    else if (has(&root, "camera_matrix") || has(&root, "M1") || (has(&root, "R") && has(&root, "T")))
        *kind = OPENCV;
    else
        error = calibration_fail(
            "%s: neither a Kalibr camchain nor a EuRoC sensor.yaml, ROS camera_info, OpenCV file or KITTI calib.txt",
            path);
    close_yaml(&y);
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
