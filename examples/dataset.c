/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* opendir, stat */
#include "dataset.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibration.h"
#include "picture.h"
#include "synthetic.h"
#include "text.h"
#include "truth.h"

#define PATH_BYTES TEXT_PATH_BYTES
#define CAMERAS_MOST 2
#define SAME_TIME_NS 1000000u /* cameras that differ by less were exposed together */

/** A picture of one camera. */
struct shot {
    uint64_t t_ns;
    char *path;
};

/** Pictures of one camera, in the order of time. */
struct shots {
    struct shot *shot;
    uint32_t count, room;
};

struct dataset {
    const char *kind;
    const char *(*calibrate)(
        struct dataset *d);    /* reads the calibration that comes with it; NULL: it has none, or has it already */
    const char *truth_name[2]; /* of the files that may hold its ground truth */
    char folder[PATH_BYTES];   /* where both lie */
    uint32_t frames;
    vfront_rig_t rig;
    struct shots shots[CAMERAS_MOST]; /* frame i is shot i of each camera */
    picture_t picture[CAMERAS_MOST];
    vfront_gyro_t *gyro;
    uint32_t gyro_count;
    synthetic_t *flight;
    vfront_gyro_t drawn_gyro[VFRONT_GYRO_SAMPLES];
    truth_t truth;
    pose_t T_sensor_cam; /* camera 0 in the sensor of which there is ground truth */
    int has_truth;
    int said_coloured, said_gyro;
};

static char message[2 * PATH_BYTES];

/** The line that a failed function returns. */
__attribute__((format(printf, 1, 2))) static const char *fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return message;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("note: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
}

/* ---- paths and text ---------------------------------------------------------------------------------------------- */

static const char *join(char path[PATH_BYTES], const char *folder, const char *name)
{
    const int length = snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return length < PATH_BYTES ? NULL : fail("%s/%s: name too long", folder, name);
}

static int is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/** Whether a folder holds this; a name too long for a path is not there. */
static int holds(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    return !join(path, folder, name) && access(path, F_OK) == 0;
}

static const char *open_text(text_t *t, const char *folder, const char *name)
{
    char path[PATH_BYTES];
    t->content = NULL; /* so that it may be closed */
    const char *wrong = join(path, folder, name);
    return wrong ? wrong : text_open(t, path);
}

/** A time at the start of a line [ns]. Returns what follows its comma, or NULL. */
static char *read_time_ns(char *line, uint64_t *t_ns)
{
    char *end;
    if (!isdigit((unsigned char)*line)) return NULL;
    errno = 0;
    *t_ns = strtoull(line, &end, 10);
    end += strspn(end, " \t");
    return errno || *end != ',' ? NULL : end + 1 + strspn(end + 1, " \t");
}

/* ---- lists of pictures ------------------------------------------------------------------------------------------- */

static const char *add_shot(struct shots *s, uint64_t t_ns, const char *path)
{
    if (s->count == s->room) {
        const uint32_t room = s->room ? 2 * s->room : 256;
        struct shot *more = realloc(s->shot, room * sizeof *more);
        if (!more) return fail("%s: no memory", path);
        s->shot = more;
        s->room = room;
    }
    char *copy = malloc(strlen(path) + 1);
    if (!copy) return fail("%s: no memory", path);
    strcpy(copy, path);
    s->shot[s->count].t_ns = t_ns;
    s->shot[s->count++].path = copy;
    return NULL;
}

/** Order of names in which 2 comes before 10. */
static int compare_names(const void *one, const void *other)
{
    const char *whole_a = ((const struct shot *)one)->path, *whole_b = ((const struct shot *)other)->path;
    const char *a = whole_a, *b = whole_b;
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            const size_t digits_a = strspn(a, "0123456789"), digits_b = strspn(b, "0123456789");
            if (digits_a != digits_b) return digits_a < digits_b ? -1 : 1;
            const int order = strncmp(a, b, digits_a);
            if (order) return order;
            a += digits_a;
            b += digits_b;
        } else {
            if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
        }
    }
    return *a || *b ? (*a ? 1 : -1) : strcmp(whole_a, whole_b);
}

static const char *add_folder(struct shots *s, const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) return fail("%s: %s", folder, strerror(errno));
    const char *wrong = NULL;
    for (struct dirent *entry = readdir(dir); entry && !wrong; entry = readdir(dir)) {
        char path[PATH_BYTES];
        if (!picture_named(entry->d_name)) continue;
        wrong = join(path, folder, entry->d_name);
        if (!wrong) wrong = add_shot(s, 0, path);
    }
    closedir(dir);
    if (!wrong && !s->count) wrong = fail("%s: no PNG, PGM or PPM picture in this folder", folder);
    if (!wrong) qsort(s->shot, s->count, sizeof *s->shot, compare_names);
    return wrong;
}

/** Times from times.txt [s] where it is there, else at a steady rate. */
static const char *add_times(struct shots *s, const char *folder, uint64_t interval_ns)
{
    for (uint32_t i = 0; i < s->count; i++) s->shot[i].t_ns = i * interval_ns;
    if (!holds(folder, "times.txt")) return NULL;
    text_t t;
    const char *wrong = open_text(&t, folder, "times.txt");
    for (uint32_t i = 0; i < s->count && !wrong; i++) {
        const char *line = text_line(&t);
        double seconds;
        if (!line)
            wrong = fail("%s: %u times for %u pictures", t.path, (unsigned)i, (unsigned)s->count);
        else if (text_numbers(line, &seconds, 1) != 1 || !(seconds >= 0.0 && seconds < 1e10))
            wrong = fail("%s:%d: not a time in seconds", t.path, t.line);
        else
            s->shot[i].t_ns = (uint64_t)(seconds * 1e9 + 0.5);
        if (!wrong && i && s->shot[i].t_ns <= s->shot[i - 1].t_ns)
            wrong = fail("%s:%d: not after the time before", t.path, t.line);
    }
    text_close(&t);
    return wrong;
}

/* ---- EuRoC ------------------------------------------------------------------------------------------------------- */

static const char *read_csv(struct shots *s, const char *folder)
{
    text_t t;
    const char *wrong = open_text(&t, folder, "data.csv");
    for (char *line; !wrong && (line = text_line(&t)) != NULL;) {
        char path[PATH_BYTES], data[PATH_BYTES];
        uint64_t t_ns;
        const char *name = read_time_ns(line, &t_ns);
        if (!name || !*name)
            wrong = fail("%s:%d: not a line `time [ns],file name`", t.path, t.line);
        else if (s->count && t_ns <= s->shot[s->count - 1].t_ns)
            wrong = fail("%s:%d: not after the time of the line before", t.path, t.line);
        if (!wrong) wrong = join(data, folder, "data");
        if (!wrong) wrong = join(path, data, name);
        if (!wrong && access(path, R_OK)) wrong = fail("%s:%d names %s: %s", t.path, t.line, path, strerror(errno));
        if (!wrong) wrong = add_shot(s, t_ns, path);
    }
    if (!wrong && !s->count) wrong = fail("%s: names no picture", t.path);
    text_close(&t);
    return wrong;
}

/** Keeps what both cameras took at the same time. */
static const char *pair_by_time(struct shots *left, struct shots *right, const char *where)
{
    const uint32_t all = left->count;
    uint32_t kept = 0, l = 0, r = 0;
    while (l < left->count && r < right->count) {
        const uint64_t a = left->shot[l].t_ns, b = right->shot[r].t_ns;
        if (a + SAME_TIME_NS < b) {
            free(left->shot[l++].path);
        } else if (b + SAME_TIME_NS < a) {
            free(right->shot[r++].path);
        } else {
            left->shot[kept] = left->shot[l++];
            right->shot[kept++] = right->shot[r++];
        }
    }
    while (l < left->count) free(left->shot[l++].path);
    while (r < right->count) free(right->shot[r++].path);
    left->count = right->count = kept;
    if (!kept) return fail("%s: cam0 and cam1 have no time in common; --mono takes cam0 alone", where);
    if (kept < all) note("%s: %u of %u frames of cam0 have none of cam1 and are left out", where, all - kept, all);
    return NULL;
}

static const char *read_gyro(struct dataset *d, const char *folder)
{
    text_t t;
    uint32_t room = 0;
    const char *wrong = open_text(&t, folder, "data.csv");
    for (char *line; !wrong && (line = text_line(&t)) != NULL; d->gyro_count++) {
        if (d->gyro_count == room) {
            room = room ? 2 * room : 4096;
            vfront_gyro_t *more = realloc(d->gyro, room * sizeof *more);
            if (!more) {
                wrong = fail("%s: no memory", t.path);
                break;
            }
            d->gyro = more;
        }
        vfront_gyro_t *g = &d->gyro[d->gyro_count];
        const char *rates = read_time_ns(line, &g->t_ns);
        if (!rates || text_numbers(rates, g->rate_rad_s, 3) != 3)
            wrong = fail("%s:%d: not a line `time [ns],x,y,z,...` of angular rates", t.path, t.line);
        else if (d->gyro_count && g->t_ns <= g[-1].t_ns)
            wrong = fail("%s:%d: not after the time of the line before", t.path, t.line);
    }
    text_close(&t);
    return wrong;
}

/** The sensor.yaml of a sensor; NULL: there is none. */
static const char *sensor_of(char path[PATH_BYTES], const char *where, const char *sensor)
{
    char name[32];
    snprintf(name, sizeof name, "%s/sensor.yaml", sensor);
    return holds(where, name) && !join(path, where, name) ? path : NULL;
}

static const char *calibrate_euroc(struct dataset *d)
{
    char path[CAMERAS_MOST + 1][PATH_BYTES];
    const char *camera[CAMERAS_MOST], *imu = sensor_of(path[CAMERAS_MOST], d->folder, "imu0");
    for (int32_t i = 0; i < d->rig.cameras; i++) {
        camera[i] = sensor_of(path[i], d->folder, i ? "cam1" : "cam0");
        if (!camera[i] || !calibration_reads_yaml())
            note("%s/cam%d/sensor.yaml: %s: the camera counts as uncalibrated", d->folder, (int)i,
                 camera[i] ? "this build has no libyaml to read it" : "missing");
    }
    return calibration_reads_yaml() ? calibration_euroc(&d->rig, camera, imu) : NULL;
}

static const char *open_euroc(struct dataset *d, const char *where)
{
    d->kind = "EuRoC";
    d->calibrate = calibrate_euroc;
    d->truth_name[0] = "state_groundtruth_estimate0/data.csv";
    snprintf(d->folder, sizeof d->folder, "%s", where);
    char folder[PATH_BYTES];
    const char *wrong = NULL;
    if (d->rig.cameras > 1 && !holds(where, "cam1")) d->rig.cameras = 1;
    for (int32_t i = 0; i < d->rig.cameras && !wrong; i++) {
        wrong = join(folder, where, i ? "cam1" : "cam0");
        if (!wrong) wrong = read_csv(&d->shots[i], folder);
    }
    if (!wrong && d->rig.cameras > 1) wrong = pair_by_time(&d->shots[0], &d->shots[1], where);
    if (!wrong) wrong = join(folder, where, "imu0");
    if (!wrong && holds(folder, "data.csv")) wrong = read_gyro(d, folder);
    return wrong;
}

/* ---- KITTI and plain folders ------------------------------------------------------------------------------------- */

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *pair_by_name(const struct shots *left, const struct shots *right)
{
    const uint32_t most = left->count > right->count ? left->count : right->count;
    for (uint32_t i = 0; i < most; i++) {
        if (i >= left->count) return fail("%s has no picture in image_0", right->shot[i].path);
        if (i >= right->count)
            return fail("%s has no picture in image_1; --mono takes image_0 alone", left->shot[i].path);
        if (strcmp(name_in(left->shot[i].path), name_in(right->shot[i].path)) != 0)
            return fail("%s and %s differ in name; --mono takes image_0 alone", left->shot[i].path,
                        right->shot[i].path);
    }
    return NULL;
}

static const char *calibrate_kitti(struct dataset *d)
{
    char path[PATH_BYTES];
    if (!holds(d->folder, "calib.txt")) return NULL;
    const char *wrong = join(path, d->folder, "calib.txt");
    return wrong ? wrong : calibration_kitti(&d->rig, path);
}

/** A data set that is one folder. */
static void settle_in(struct dataset *d, const char *where)
{
    d->truth_name[0] = "poses.txt";
    d->truth_name[1] = "groundtruth.txt";
    snprintf(d->folder, sizeof d->folder, "%s", where);
}

static const char *open_kitti(struct dataset *d, const char *where)
{
    d->kind = "KITTI";
    d->calibrate = calibrate_kitti;
    settle_in(d, where);
    const char *wrong = NULL;
    if (d->rig.cameras > 1 && !holds(where, "image_1")) d->rig.cameras = 1;
    for (int32_t i = 0; i < d->rig.cameras && !wrong; i++) {
        char folder[PATH_BYTES];
        wrong = join(folder, where, i ? "image_1" : "image_0");
        if (!wrong) wrong = add_folder(&d->shots[i], folder);
    }
    if (!wrong && d->rig.cameras > 1) wrong = pair_by_name(&d->shots[0], &d->shots[1]);
    return wrong ? wrong : add_times(&d->shots[0], where, 100000000u);
}

static const char *open_folder(struct dataset *d, const char *where)
{
    d->kind = "folder of pictures";
    d->rig.cameras = 1;
    settle_in(d, where);
    const char *wrong = add_folder(&d->shots[0], where);
    return wrong ? wrong : add_times(&d->shots[0], where, 33333333u);
}

/* ---- the drawn flight -------------------------------------------------------------------------------------------- */

static const char *open_flight(struct dataset *d, const char *size)
{
    int width = SYNTHETIC_WIDTH_PX, height = SYNTHETIC_HEIGHT_PX, used = 0;
    d->kind = "synthetic";
    if (*size && (sscanf(size, ":%dx%d%n", &width, &height, &used) != 2 || size[used]))
        return fail("synthetic%s: a size is given as synthetic:640x400", size);
    d->flight = synthetic_open(width, height);
    if (!d->flight) return fail("synthetic: no pictures of %dx%d", width, height);
    const int32_t cameras = d->rig.cameras;
    synthetic_rig(d->flight, &d->rig);
    d->rig.cameras = cameras;
    for (int32_t i = 0; i < cameras; i++) {
        d->picture[i].width_px = width;
        d->picture[i].height_px = height;
        d->picture[i].bytes = 1;
        d->picture[i].pixels = malloc((size_t)width * (size_t)height);
        if (!d->picture[i].pixels) return fail("synthetic: no memory");
    }
    d->gyro_count = 1;
    return NULL;
}

/* ---- ground truth ------------------------------------------------------------------------------------------------ */

/** The T_BS of a file, or identity where it is not there. */
static const char *place_of_sensor(pose_t *T_body_sensor, const char *path)
{
    *T_body_sensor = pose_identity;
    return access(path, F_OK) || !calibration_reads_yaml() ? NULL : calibration_sensor(T_body_sensor, path);
}

/** T_S_cam = T_S_body T_body_imu T_imu_cam: the sensor's T_BS lies beside its poses, the IMU's in the data set. */
static const char *mount_truth(struct dataset *d, const char *path)
{
    char sensor[PATH_BYTES + 16], imu[PATH_BYTES];
    pose_t T_body_sensor, T_body_imu = pose_identity;
    const pose_t T_cam_imu = calibration_place(&d->rig.camera[0]), T_imu_cam = pose_inverse(&T_cam_imu);
    snprintf(sensor, sizeof sensor, "%.*ssensor.yaml", (int)(name_in(path) - path), path);
    const char *wrong = place_of_sensor(&T_body_sensor, sensor);
    if (!wrong) wrong = join(imu, d->folder, "imu0/sensor.yaml");
    if (!wrong && *d->folder) wrong = place_of_sensor(&T_body_imu, imu);
    if (wrong) return wrong;
    const pose_t T_sensor_body = pose_inverse(&T_body_sensor), T_sensor_imu = pose_chain(&T_sensor_body, &T_body_imu);
    d->T_sensor_cam = pose_chain(&T_sensor_imu, &T_imu_cam);
    return NULL;
}

static const char *open_truth(struct dataset *d, const char *path)
{
    static const double none[9];
    const char *wrong = truth_read(&d->truth, path);
    if (wrong) return wrong;
    d->has_truth = 1;
    if (d->truth.kind == TRUTH_KITTI && d->truth.count < d->frames)
        return fail("%s: %u poses for %u pictures", path, (unsigned)d->truth.count, (unsigned)d->frames);
    if (d->truth.kind != TRUTH_EUROC) return NULL;
    if (memcmp(d->rig.camera[0].R_cam_imu, none, sizeof none)) return mount_truth(d, path);
    if (d->rig.camera[0].fx_px != 0.0)
        note("%s: poses of the body, but the calibration does not say how camera 0 sits on it: no ground truth", path);
    d->has_truth = 0;
    return NULL;
}

/** @param[in] path  A file, "none", or NULL: what comes with the data set. */
static const char *find_truth(struct dataset *d, const char *path)
{
    char own[PATH_BYTES];
    d->T_sensor_cam = pose_identity;
    if (path) return strcmp(path, "none") ? open_truth(d, path) : NULL;
    d->has_truth = d->flight != NULL;
    for (int i = 0; i < 2; i++) {
        const char *name = d->truth_name[i];
        if (!name || !holds(d->folder, name)) continue;
        const char *wrong = join(own, d->folder, name);
        return wrong ? wrong : open_truth(d, own);
    }
    return NULL;
}

int dataset_has_truth(const dataset_t *d) { return d->has_truth; }

int dataset_truth(const dataset_t *d, uint32_t index, const vfront_camera_t *seen, pose_t *T_world_cam)
{
    pose_t T_world_sensor;
    if (!d->has_truth) return 0;
    if (d->truth.count) {
        if (!truth_at(&d->truth, index, d->flight ? synthetic_time_ns(index) : d->shots[0].shot[index].t_ns,
                      &T_world_sensor))
            return 0;
    } else {
        synthetic_pose(index, T_world_sensor.R, T_world_sensor.t);
    }
    const pose_t T_cam_imu = calibration_place(&d->rig.camera[0]), T_seen_imu = calibration_place(seen);
    const pose_t T_imu_seen = pose_inverse(&T_seen_imu), T_cam_seen = pose_chain(&T_cam_imu, &T_imu_seen);
    const pose_t T_sensor_seen = pose_chain(&d->T_sensor_cam, &T_cam_seen);
    *T_world_cam = pose_chain(&T_world_sensor, &T_sensor_seen);
    return 1;
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

static const char *open_by_look(struct dataset *d, const char *where)
{
    char mav[PATH_BYTES];
    if (strncmp(where, "synthetic", 9) == 0 && (!where[9] || where[9] == ':')) return open_flight(d, where + 9);
    if (access(where, F_OK)) return fail("%s: %s", where, strerror(errno));
    if (!is_folder(where)) return fail("%s: not a folder", where);
    const char *wrong = join(mav, where, "mav0");
    if (wrong) return wrong;
    if (is_folder(mav)) return open_euroc(d, mav);
    if (holds(where, "cam0")) return open_euroc(d, where);
    if (holds(where, "image_0")) return open_kitti(d, where);
    return open_folder(d, where);
}

static const char *read_pictures(struct dataset *d, uint32_t index)
{
    for (int32_t i = 0; i < d->rig.cameras; i++) {
        if (d->flight) {
            synthetic_render(d->flight, index, i, d->picture[i].pixels, (size_t)d->picture[i].width_px);
            continue;
        }
        const char *path = d->shots[i].shot[index].path, *wrong = picture_read(&d->picture[i], path);
        if (wrong) return wrong;
        if (d->picture[i].coloured && !d->said_coloured) note("%s: in colour, becomes grey (Rec. 601)", path);
        d->said_coloured |= d->picture[i].coloured;
    }
    return NULL;
}

/** Sizes of the rig are those of the first pictures. */
static const char *measure(struct dataset *d)
{
    for (int32_t i = 0; i < d->rig.cameras; i++) {
        vfront_camera_t *c = &d->rig.camera[i];
        const int32_t width = d->picture[i].width_px, height = d->picture[i].height_px;
        const char *path = d->flight ? d->kind : d->shots[i].shot[0].path;
        if (width > VFRONT_WIDTH || height > VFRONT_HEIGHT)
            return fail("%s: %dx%d is larger than this build takes, %dx%d: define VFRONT_WIDTH and VFRONT_HEIGHT in a "
                        "header and build with `make CFG=header.h` (see vfront_cfg.h)",
                        path, (int)width, (int)height, VFRONT_WIDTH, VFRONT_HEIGHT);
        if (width < 16 || height < 16) return fail("%s: %dx%d is smaller than 16x16", path, (int)width, (int)height);
        c->width_px = width;
        c->height_px = height;
    }
    return NULL;
}

/** Forgets the gyro where it is of no use. */
static void settle_gyro(struct dataset *d, const char *calibration)
{
    static const double none[9];
    const vfront_camera_t *c = &d->rig.camera[0];
    const int mounted = memcmp(c->R_cam_imu, none, sizeof none) != 0;
    if (d->gyro_count && c->fx_px != 0.0 && !mounted)
        note("%s: does not say how camera 0 sits on the IMU: no gyro", calibration);
    if (c->fx_px == 0.0 || !mounted) d->gyro_count = 0; /* without a lens a rotation says nothing about pixels */
}

/** Replaces the calibration that comes with the data set by another. */
static const char *recalibrate(struct dataset *d, const char *calibration)
{
    const vfront_camera_t *c = d->rig.camera;
    const char *wrong = calibration_read(&d->rig, calibration);
    for (int32_t i = 1; i < d->rig.cameras && !wrong; i++)
        if (c[0].fx_px != 0.0 && c[i].fx_px == 0.0)
            note("%s: nothing about camera %d, which counts as uncalibrated", calibration, (int)i);
    if (!wrong) settle_gyro(d, calibration);
    return wrong;
}

static const char *calibrate(struct dataset *d)
{
    const char *wrong = d->calibrate ? d->calibrate(d) : NULL;
    if (!wrong) settle_gyro(d, d->folder);
    return wrong;
}

const char *dataset_open(dataset_t **dataset, const char *where, int32_t cameras_most, const char *calibration,
                         const char *truth)
{
    *dataset = NULL;
    struct dataset *d = calloc(1, sizeof *d);
    if (!d) return fail("%s: no memory", where);
    d->rig.cameras = cameras_most < CAMERAS_MOST ? cameras_most : CAMERAS_MOST;
    if (d->rig.cameras > VFRONT_CAMERAS) d->rig.cameras = VFRONT_CAMERAS;
    const char *wrong = open_by_look(d, where);
    d->frames = d->shots[0].count;
    if (!wrong) wrong = read_pictures(d, 0);
    if (!wrong) wrong = measure(d);
    if (!wrong) wrong = calibration ? recalibrate(d, calibration) : calibrate(d);
    if (!wrong) wrong = find_truth(d, truth);
    if (wrong)
        dataset_close(d);
    else
        *dataset = d;
    return wrong;
}

void dataset_close(dataset_t *d)
{
    if (!d) return;
    for (int i = 0; i < CAMERAS_MOST; i++) {
        for (uint32_t k = 0; k < d->shots[i].count; k++) free(d->shots[i].shot[k].path);
        free(d->shots[i].shot);
        picture_free(&d->picture[i]);
    }
    free(d->gyro);
    truth_free(&d->truth);
    synthetic_close(d->flight);
    free(d);
}

const char *dataset_kind(const dataset_t *d) { return d->kind; }

uint32_t dataset_frames(const dataset_t *d) { return d->frames; }

int dataset_has_gyro(const dataset_t *d) { return d->gyro_count > 0; }

const vfront_rig_t *dataset_rig(const dataset_t *d) { return &d->rig; }

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/** The first reading at or after a time. */
static uint32_t reading_at(const struct dataset *d, uint64_t t_ns)
{
    uint32_t low = 0, high = d->gyro_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (d->gyro[middle].t_ns < t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** The readings that cover the time between two frames: one beyond each end, where there is one. */
static void give_gyro(struct dataset *d, uint64_t from_ns, uint64_t to_ns, vfront_frame_t *frame)
{
    uint32_t first = reading_at(d, from_ns), last = reading_at(d, to_ns);
    if (first < d->gyro_count && last > first) {
        if (first && d->gyro[first].t_ns > from_ns) first--;
        if (last == d->gyro_count) last--;
    } else if (first == 0 || last == d->gyro_count) {
        return; /* all of it before or after */
    } else {
        first--; /* both frames lie between two readings */
    }
    const uint32_t count = last - first + 1;
    if (count > VFRONT_GYRO_SAMPLES) {
        if (!d->said_gyro) note("%u gyro readings between two frames, over VFRONT_GYRO_SAMPLES: not used there", count);
        d->said_gyro = 1;
        return;
    }
    frame->gyro = &d->gyro[first];
    frame->gyro_count = count;
}

static void give_motion(struct dataset *d, uint32_t index, vfront_frame_t *frame)
{
    if (d->flight) {
        frame->t_ns = synthetic_time_ns(index);
        if (!index || !d->gyro_count) return;
        frame->gyro = d->drawn_gyro;
        frame->gyro_count = synthetic_gyro(synthetic_time_ns(index - 1), frame->t_ns, d->drawn_gyro,
                                           VFRONT_GYRO_SAMPLES);
        return;
    }
    frame->t_ns = d->shots[0].shot[index].t_ns;
    if (index && d->gyro_count) give_gyro(d, d->shots[0].shot[index - 1].t_ns, frame->t_ns, frame);
}

const char *dataset_read(dataset_t *d, uint32_t index, vfront_frame_t *frame)
{
    memset(frame, 0, sizeof *frame);
    const char *wrong = read_pictures(d, index);
    if (wrong) return wrong;
    for (int32_t i = 0; i < d->rig.cameras; i++) {
        const picture_t *p = &d->picture[i];
        if (p->width_px != d->rig.camera[i].width_px || p->height_px != d->rig.camera[i].height_px)
            return fail("%s: %dx%d, but the sequence began with %dx%d", d->shots[i].shot[index].path, (int)p->width_px,
                        (int)p->height_px, (int)d->rig.camera[i].width_px, (int)d->rig.camera[i].height_px);
        vfront_picture_t *to = &frame->picture[i];
        to->data = p->pixels;
        to->width_px = p->width_px;
        to->height_px = p->height_px;
        to->pitch_bytes = (uint32_t)(p->width_px * p->bytes);
        to->format = p->bytes == 2 ? VFRONT_GREY16 : VFRONT_GREY8;
        to->memory = VFRONT_HOST_MEMORY;
    }
    give_motion(d, index, frame);
    return NULL;
}
