/* SPDX-License-Identifier: MIT */
#include "calibration.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_YAML
#include <yaml.h>
#endif

#include "picture.h"
#include "text.h"

/** The line that a failed function returns. */
__attribute__((format(printf, 1, 2))) static const char *fail(const char *format, ...)
{
    static char message[3 * TEXT_PATH_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return message;
}

/** Forgets what a camera is, but not the size of its pictures and its mask. */
static void forget(vfront_camera_t *c)
{
    const vfront_camera_t kept = *c;
    memset(c, 0, sizeof *c);
    c->width_px = kept.width_px;
    c->height_px = kept.height_px;
    c->mask = kept.mask;
    c->mask_pitch_bytes = kept.mask_pitch_bytes;
}

/** Whether it is a lens: focal lengths of 0 would say that the camera is not calibrated. */
static int set_lens(vfront_camera_t *c, const double fx_fy_cx_cy[4])
{
    c->fx_px = fx_fy_cx_cy[0];
    c->fy_px = fx_fy_cx_cy[1];
    c->cx_px = fx_fy_cx_cy[2];
    c->cy_px = fx_fy_cx_cy[3];
    return c->fx_px > 0.0 && c->fy_px > 0.0;
}

pose_t calibration_place(const vfront_camera_t *c)
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
        T_cam_imu[i] = calibration_place(c);
    }
    const pose_t T_imu_cam1 = pose_inverse(&T_cam_imu[1]), T_cam0_cam1 = pose_chain(&T_cam_imu[0], &T_imu_cam1);
    const double *t = T_cam0_cam1.t;
    return sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
}

/* ---- YAML -------------------------------------------------------------------------------------------------------- */

enum kind { KITTI, KALIBR, EUROC_CAMERA, EUROC_IMU };

#ifdef HAVE_YAML
#define APART_MOST 1e-2 /* between two transforms that should be the same, each number */

int calibration_reads_yaml(void) { return 1; }

/** An open YAML file. */
struct yaml {
    text_t text;
    yaml_document_t document;
};

/** A mapping in it: all of the file, or one camera. */
struct part {
    yaml_document_t *document;
    const yaml_node_t *map;
    const char *path, *camera; /* camera: its key, or NULL */
};

/** fail() with the file's name, and the camera's, before it. */
__attribute__((format(printf, 2, 3))) static const char *refuse(const struct part *p, const char *format, ...)
{
    char what[512];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return fail("%s: %s%s%s", p->path, p->camera ? p->camera : "", p->camera ? ": " : "", what);
}

/** The text from its first line that is no directive: "%YAML:1.0", as OpenCV writes it, is none that libyaml knows. */
static const char *after_directives(const char *content)
{
    while (*content == '%') {
        content += strcspn(content, "\n");
        content += *content == '\n';
    }
    return content;
}

/** Parses y->text. */
static const char *parse(struct yaml *y)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) return fail("%s: libyaml cannot be started", y->text.path);
    const char *content = after_directives(y->text.content), *wrong = NULL;
    yaml_parser_set_input_string(&parser, (const unsigned char *)content, strlen(content));
    if (!yaml_parser_load(&parser, &y->document)) {
        int line = 1 + (int)parser.problem_mark.line;
        for (const char *c = y->text.content; c < content; c++) line += *c == '\n';
        wrong = fail("%s:%d: not YAML: %s", y->text.path, line, parser.problem ? parser.problem : "no memory");
    }
    yaml_parser_delete(&parser);
    return wrong;
}

static const char *open_yaml(struct yaml *y, struct part *root, const char *path)
{
    const char *wrong = text_open(&y->text, path);
    if (!wrong) wrong = parse(y);
    if (wrong) {
        text_close(&y->text);
        return wrong;
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

/** The text of a node, or NULL where it is a list or a mapping. */
static const char *word_of(const yaml_node_t *n)
{
    return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

static const yaml_node_t *find(const struct part *p, const yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE) return NULL;
    for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
        const char *word = word_of(yaml_document_get_node(p->document, pair->key));
        if (word && strcmp(word, key) == 0) return yaml_document_get_node(p->document, pair->value);
    }
    return NULL;
}

static int has(const struct part *p, const char *key) { return find(p, p->map, key) != NULL; }

/** Number of items in a list; -1: not a list. */
static int length_of(const yaml_node_t *n)
{
    return n && n->type == YAML_SEQUENCE_NODE ? (int)(n->data.sequence.items.top - n->data.sequence.items.start) : -1;
}

static const yaml_node_t *item_of(const struct part *p, const yaml_node_t *list, int index)
{
    return yaml_document_get_node(p->document, list->data.sequence.items.start[index]);
}

/** A list of least..most numbers. `count` may be NULL. */
static const char *take_list(const struct part *p, const char *key, const yaml_node_t *list, double *number, int least,
                             int most, int *count)
{
    const int length = length_of(list);
    if (length < 0) return refuse(p, "%s is no list of numbers", key);
    if (length < least || length > most)
        return refuse(p, "%s has %d numbers instead of %d", key, length, length < least ? least : most);
    for (int i = 0; i < length; i++) {
        const char *word = word_of(item_of(p, list, i));
        char *end = NULL;
        number[i] = word ? strtod(word, &end) : 0.0;
        if (!word || end == word || *end || !isfinite(number[i]))
            return refuse(p, "%s: \"%.40s\" is not a finite number", key, word ? word : "a list");
    }
    if (count) *count = length;
    return NULL;
}

static const char *read_list(const struct part *p, const char *key, double *number, int least, int most, int *count)
{
    const yaml_node_t *list = find(p, p->map, key);
    return list ? take_list(p, key, list, number, least, most, count) : refuse(p, "no %s", key);
}

/** A 4x4 matrix: 16 numbers, four lists of four, or either as `data` of a mapping, as OpenCV writes it. */
static const char *read_matrix(const struct part *p, const char *key, double T[16])
{
    const yaml_node_t *n = find(p, p->map, key);
    if (!n) return refuse(p, "no %s", key);
    if (n->type == YAML_MAPPING_NODE) n = find(p, n, "data");
    if (length_of(n) < 1 || length_of(item_of(p, n, 0)) < 0) return take_list(p, key, n, T, 16, 16, NULL);
    if (length_of(n) != 4) return refuse(p, "%s has %d rows instead of 4", key, length_of(n));
    const char *wrong = NULL;
    for (int r = 0; r < 4 && !wrong; r++) wrong = take_list(p, key, item_of(p, n, r), &T[4 * r], 4, 4, NULL);
    return wrong;
}

static const char *read_pose(const struct part *p, const char *key, pose_t *pose)
{
    double T[16];
    const char *wrong = read_matrix(p, key, T);
    if (wrong) return wrong;
    for (int i = 0; i < 9; i++) pose->R[i] = T[i / 3 * 4 + i % 3];
    for (int r = 0; r < 3; r++) pose->t[r] = T[4 * r + 3];
    if (T[12] != 0.0 || T[13] != 0.0 || T[14] != 0.0 || T[15] != 1.0)
        return refuse(p, "the last row of %s is not 0 0 0 1", key);
    return pose_is_rotation(pose->R) ? NULL : refuse(p, "%s: its 3x3 part is not a rotation", key);
}

/* ---- what Kalibr and EuRoC have in common ------------------------------------------------------------------------ */

static const char *read_size(const struct part *p, vfront_camera_t *c)
{
    double size[2];
    const char *wrong = read_list(p, "resolution", size, 2, 2, NULL);
    if (wrong) return wrong;
    for (int i = 0; i < 2; i++)
        if (!(size[i] >= 1.0 && size[i] <= PICTURE_SIDE_MOST_PX) || size[i] != (double)(int32_t)size[i])
            return refuse(p, "resolution is not two whole numbers in 1..%d", PICTURE_SIDE_MOST_PX);
    const int32_t width = (int32_t)size[0], height = (int32_t)size[1];
    if (c->width_px && (c->width_px != width || c->height_px != height))
        return refuse(p, "resolution %dx%d, but the pictures are %dx%d", (int)width, (int)height, (int)c->width_px,
                      (int)c->height_px);
    c->width_px = width;
    c->height_px = height;
    return NULL;
}

static const char *read_intrinsics(const struct part *p, vfront_camera_t *c)
{
    double lens[4];
    if (!has(p, "camera_model")) return refuse(p, "no camera_model");
    const char *model = word_of(find(p, p->map, "camera_model"));
    if (!model || strcmp(model, "pinhole") != 0)
        return refuse(p, "camera_model %.40s: pinhole is the only one known here", model ? model : "is no word");
    const char *wrong = read_list(p, "intrinsics", lens, 4, 4, NULL);
    if (wrong) return wrong;
    return set_lens(c, lens) ? NULL : refuse(p, "intrinsics: a focal length that is not above 0");
}

/** @param[in] key  Of the list of numbers, which Kalibr and EuRoC call differently. */
static const char *read_distortion(const struct part *p, const char *key, vfront_camera_t *c)
{
    static const struct {
        const char *name;
        vfront_lens_t lens;
        int least, most;
    } known[] = {
        {"radtan", VFRONT_LENS_RADTAN, 4, 5},
        {"radial-tangential", VFRONT_LENS_RADTAN, 4, 5}, /* k1 k2 p1 p2, and k3 where there is one */
        {"equidistant", VFRONT_LENS_EQUIDISTANT, 4, 4},
        {"none", VFRONT_LENS_RADTAN, 0, 0},
    };
    if (!has(p, "distortion_model")) return refuse(p, "no distortion_model");
    const char *model = word_of(find(p, p->map, "distortion_model"));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!model || strcmp(model, known[i].name) != 0) continue;
        c->lens = known[i].lens;
        return known[i].most || has(p, key) ? read_list(p, key, c->distortion, known[i].least, known[i].most, NULL)
                                            : NULL;
    }
    return refuse(p, "distortion_model %.40s: radtan, radial-tangential, equidistant and none are known here",
                  model ? model : "is no word");
}

static const char *read_camera(const struct part *p, const char *distortion_key, vfront_camera_t *c)
{
    const char *wrong = read_intrinsics(p, c);
    if (!wrong) wrong = read_distortion(p, distortion_key, c);
    return wrong ? wrong : read_size(p, c);
}

static void set_place(vfront_camera_t *c, const pose_t *T_cam_imu)
{
    memcpy(c->R_cam_imu, T_cam_imu->R, sizeof c->R_cam_imu);
    memcpy(c->t_cam_imu_m, T_cam_imu->t, sizeof c->t_cam_imu_m);
}

/* ---- Kalibr ------------------------------------------------------------------------------------------------------ */

/** T_cam_imu, as it stands or inverted. */
static const char *read_mount(const struct part *p, pose_t *T_cam_imu)
{
    if (has(p, "T_cam_imu")) return read_pose(p, "T_cam_imu", T_cam_imu);
    const char *wrong = read_pose(p, "T_imu_cam", T_cam_imu);
    *T_cam_imu = pose_inverse(T_cam_imu);
    return wrong;
}

static int alike(const pose_t *a, const pose_t *b)
{
    for (int i = 0; i < 9; i++)
        if (fabs(a->R[i] - b->R[i]) > APART_MOST) return 0;
    for (int i = 0; i < 3; i++)
        if (fabs(a->t[i] - b->t[i]) > APART_MOST) return 0;
    return 1;
}

/** Where a camera but the first sits. `before`: T_cam_imu of the camera before; with_imu: whether the chain has an IMU. */
static const char *follow_chain(const struct part *p, const pose_t *before, int with_imu, pose_t *T_cam_imu)
{
    pose_t step, chained, own;
    const int linked = has(p, "T_cn_cnm1"), mounted = has(p, "T_cam_imu") || has(p, "T_imu_cam");
    if (mounted && !with_imu) return refuse(p, "has T_cam_imu, but cam0 has none");
    if (!mounted && !linked) return refuse(p, "no T_cn_cnm1%s", with_imu ? " and no T_cam_imu" : "");
    const char *wrong = linked ? read_pose(p, "T_cn_cnm1", &step) : NULL;
    if (!wrong && mounted) wrong = read_mount(p, &own);
    if (wrong) return wrong;
    if (linked) chained = pose_chain(&step, before);
    if (linked && mounted && !alike(&chained, &own)) return refuse(p, "T_cn_cnm1 and T_cam_imu contradict each other");
    *T_cam_imu = mounted ? own : chained;
    return NULL;
}

static const char *take_chain(vfront_rig_t *rig, const struct part *root)
{
    pose_t T_cam_imu = pose_identity;
    int with_imu = 0;
    const char *wrong = NULL;
    for (int32_t i = 0; i < rig->cameras && !wrong; i++) {
        char key[16];
        snprintf(key, sizeof key, "cam%d", (int)i);
        const struct part p = {root->document, find(root, root->map, key), root->path, key};
        if (!p.map) return refuse(root, "no %s%s", key, i ? "; --mono takes cam0 alone" : "");
        wrong = read_camera(&p, "distortion_coeffs", &rig->camera[i]);
        if (wrong) break;
        if (i) {
            wrong = follow_chain(&p, &T_cam_imu, with_imu, &T_cam_imu);
        } else {
            with_imu = has(&p, "T_cam_imu") || has(&p, "T_imu_cam");
            if (with_imu) wrong = read_mount(&p, &T_cam_imu);
        }
        if (i || with_imu) set_place(&rig->camera[i], &T_cam_imu);
    }
    return wrong;
}

static const char *read_chain(vfront_rig_t *rig, const char *path)
{
    struct yaml y;
    struct part root;
    const char *wrong = open_yaml(&y, &root, path);
    if (wrong) return wrong;
    wrong = take_chain(rig, &root);
    close_yaml(&y);
    return wrong;
}

/* ---- EuRoC ------------------------------------------------------------------------------------------------------- */

/** @param[out] camera  NULL: the sensor is no camera, only its place is read. */
static const char *read_sensor(const char *path, vfront_camera_t *camera, pose_t *T_body_sensor)
{
    struct yaml y;
    struct part root;
    const char *wrong = open_yaml(&y, &root, path);
    if (wrong) return wrong;
    if (camera) wrong = read_camera(&root, "distortion_coefficients", camera);
    if (!wrong) wrong = read_pose(&root, "T_BS", T_body_sensor);
    close_yaml(&y);
    return wrong;
}

static const char *read_sensors(vfront_rig_t *rig, const char *const *camera, const char *imu)
{
    pose_t T_body_imu = pose_identity;
    const char *wrong = imu ? read_sensor(imu, NULL, &T_body_imu) : NULL;
    for (int32_t i = 0; i < rig->cameras && !wrong; i++) {
        pose_t T_body_cam;
        if (!camera[i]) continue;
        wrong = read_sensor(camera[i], &rig->camera[i], &T_body_cam);
        if (wrong) break;
        const pose_t T_cam_body = pose_inverse(&T_body_cam), T_cam_imu = pose_chain(&T_cam_body, &T_body_imu);
        set_place(&rig->camera[i], &T_cam_imu);
    }
    return wrong;
}

const char *calibration_sensor(pose_t *T_body_sensor, const char *path)
{
    return read_sensor(path, NULL, T_body_sensor);
}

/** Of a file that is not KITTI's. */
static const char *find_yaml_kind(enum kind *kind, const char *path)
{
    struct yaml y;
    struct part root;
    const char *wrong = open_yaml(&y, &root, path);
    if (wrong) return wrong;
    const char *sensor = word_of(find(&root, root.map, "sensor_type"));
    if (has(&root, "cam0") || has(&root, "cam1"))
        *kind = KALIBR;
    else if (has(&root, "sensor_type") || has(&root, "T_BS"))
        *kind = sensor && strcmp(sensor, "imu") == 0 ? EUROC_IMU : EUROC_CAMERA;
    else
        wrong = fail("%s: neither a Kalibr camchain nor a EuRoC sensor.yaml nor a KITTI calib.txt", path);
    close_yaml(&y);
    return wrong;
}
#else
int calibration_reads_yaml(void) { return 0; }

static const char *no_yaml(const char *path) { return fail("%s: this build has no libyaml to read it", path); }

static const char *read_chain(vfront_rig_t *rig, const char *path)
{
    (void)rig;
    return no_yaml(path);
}

static const char *read_sensors(vfront_rig_t *rig, const char *const *camera, const char *imu)
{
    for (int32_t i = 0; i < rig->cameras; i++)
        if (camera[i]) return no_yaml(camera[i]);
    return imu ? no_yaml(imu) : NULL;
}

const char *calibration_sensor(pose_t *T_body_sensor, const char *path)
{
    (void)T_body_sensor;
    return no_yaml(path);
}

static const char *find_yaml_kind(enum kind *kind, const char *path)
{
    (void)kind;
    return no_yaml(path);
}
#endif

/* ---- KITTI ------------------------------------------------------------------------------------------------------- */

/** Number of the camera whose projection matrix a line holds; -1: another line. */
static int32_t projection_of(const char *line)
{
    return line[0] == 'P' && line[1] >= '0' && line[1] <= '9' && line[2] == ':' ? line[1] - '0' : -1;
}

/** Whether a matrix is K [I | t] of a rectified camera; and if so, its lens and place. */
static int take_projection(vfront_camera_t *c, const double P[12])
{
    const double lens[4] = {P[0], P[5], P[2], P[6]};
    if (P[1] != 0.0 || P[4] != 0.0 || P[8] != 0.0 || P[9] != 0.0 || P[10] != 1.0 || !set_lens(c, lens)) return 0;
    c->t_cam_imu_m[2] = P[11];
    c->t_cam_imu_m[0] = (P[3] - c->cx_px * P[11]) / c->fx_px;
    c->t_cam_imu_m[1] = (P[7] - c->cy_px * P[11]) / c->fy_px;
    return 1;
}

static const char *read_projection(vfront_camera_t *c, int32_t camera, const char *numbers, const text_t *t)
{
    double P[13];
    const int count = text_numbers(numbers + strspn(numbers, " \t"), P, 13);
    if (count > 12) return fail("%s:%d: P%d has more than 12 numbers", t->path, t->line, (int)camera);
    if (count < 12) return fail("%s:%d: P%d has %d numbers instead of 12", t->path, t->line, (int)camera, count);
    for (int i = 0; i < 12; i++)
        if (!isfinite(P[i])) return fail("%s:%d: P%d: a number that is not finite", t->path, t->line, (int)camera);
    if (!take_projection(c, P))
        return fail("%s:%d: P%d is not K [I | t] of a rectified camera", t->path, t->line, (int)camera);
    if (!camera && (P[3] != 0.0 || P[7] != 0.0 || P[11] != 0.0))
        return fail("%s:%d: P0: camera 0 is not at the origin", t->path, t->line);
    return NULL;
}

static const char *read_projections(vfront_rig_t *rig, text_t *t)
{
    int found[VFRONT_CAMERAS] = {0};
    const char *wrong = NULL;
    for (char *line; !wrong && (line = text_line(t)) != NULL;) {
        const int32_t i = projection_of(line);
        if (i < 0 || i >= rig->cameras) continue;
        wrong = found[i]++ ? fail("%s:%d: P%d for a second time", t->path, t->line, (int)i)
                           : read_projection(&rig->camera[i], i, line + 3, t);
        if (i) memcpy(rig->camera[i].R_cam_imu, pose_identity.R, sizeof pose_identity.R);
    }
    for (int32_t i = 0; i < rig->cameras && !wrong; i++)
        if (!found[i]) wrong = fail("%s: no line P%d%s", t->path, (int)i, i ? "; --mono takes camera 0 alone" : "");
    return wrong;
}

static const char *read_kitti(vfront_rig_t *rig, const char *path)
{
    text_t t;
    const char *wrong = text_open(&t, path);
    if (!wrong) wrong = read_projections(rig, &t);
    text_close(&t);
    return wrong;
}

/* ---- any of them ------------------------------------------------------------------------------------------------- */

/** A rig of which nothing but sizes and masks is known. */
static vfront_rig_t blank(const vfront_rig_t *rig)
{
    vfront_rig_t copy = *rig;
    for (int32_t i = 0; i < copy.cameras; i++) forget(&copy.camera[i]);
    return copy;
}

/** Hands the copy over if it was read without a fault. */
static const char *settle(vfront_rig_t *rig, const vfront_rig_t *copy, const char *wrong)
{
    if (!wrong) *rig = *copy;
    return wrong;
}

const char *calibration_kalibr(vfront_rig_t *rig, const char *path)
{
    vfront_rig_t copy = blank(rig);
    const char *wrong = read_chain(&copy, path);
    return settle(rig, &copy, wrong);
}

const char *calibration_euroc(vfront_rig_t *rig, const char *const *camera, const char *imu)
{
    vfront_rig_t copy = blank(rig);
    const char *wrong = read_sensors(&copy, camera, imu);
    return settle(rig, &copy, wrong);
}

const char *calibration_kitti(vfront_rig_t *rig, const char *path)
{
    vfront_rig_t copy = blank(rig);
    const char *wrong = read_kitti(&copy, path);
    return settle(rig, &copy, wrong);
}

static const char *find_kind(enum kind *kind, const char *path)
{
    text_t t;
    int projections = 0;
    const char *wrong = text_open(&t, path);
    if (wrong) return wrong;
    for (const char *line; (line = text_line(&t)) != NULL;) projections += projection_of(line) >= 0;
    text_close(&t);
    *kind = KITTI;
    return projections ? NULL : find_yaml_kind(kind, path);
}

/** One file of a list: read at once, or kept, for all sensor.yaml are read together. */
static const char *sort_file(vfront_rig_t *rig, char *path, int lone, char **camera, int32_t *cameras, char **imu)
{
    enum kind kind;
    const char *wrong = find_kind(&kind, path);
    if (wrong) return wrong;
    if (kind == KITTI || kind == KALIBR) {
        if (!lone) return fail("%s: only files sensor.yaml are given together", path);
        return kind == KITTI ? calibration_kitti(rig, path) : calibration_kalibr(rig, path);
    }
    if (kind == EUROC_IMU) {
        if (*imu) return fail("%s: a second sensor.yaml of an IMU", path);
        *imu = path;
    } else if (*cameras < VFRONT_CAMERAS) {
        camera[(*cameras)++] = path;
    }
    return NULL;
}

const char *calibration_read(vfront_rig_t *rig, const char *files)
{
    char list[2 * TEXT_PATH_BYTES], *camera[VFRONT_CAMERAS] = {0}, *imu = NULL;
    int32_t cameras = 0;
    const char *wrong = NULL;
    if (strcmp(files, "none") == 0) {
        *rig = blank(rig);
        return NULL;
    }
    if (snprintf(list, sizeof list, "%s", files) >= (int)sizeof list) return fail("%.80s...: names too long", files);
    const int lone = !strchr(list, ',');
    for (char *path = list, *next; path && !wrong; path = next) {
        next = strchr(path, ',');
        if (next) *next++ = 0;
        if (!*path) return fail("%s: an empty name", files);
        wrong = sort_file(rig, path, lone, camera, &cameras, &imu);
    }
    if (wrong || (!cameras && !imu)) return wrong;
    if (!cameras) return fail("%s: no sensor.yaml of a camera", files);
    return calibration_euroc(rig, (const char *const *)camera, imu);
}
