/* SPDX-License-Identifier: MIT
 *
 * MCAP files with messages of ROS 2, as `ros2 bag record -s mcap` and replay --export write them: sensor_msgs Image,
 * CompressedImage, CameraInfo and Imu, and tf2_msgs TFMessage of /tf_static, where cameras and IMU are.
 */
#define _POSIX_C_SOURCE 200809L /* opendir */
#include "dataset_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibration.h"
#include "examples/recording/cdr.h"
#include "examples/recording/mcap_reader.h"

#define TOPIC_BYTES 256
#define FRAMES_MAX 64 /* of /tf_static */
#define NAME_BYTES 128

enum kind { OTHER, IMAGE, COMPRESSED, CAMERA_INFO, SAMPLES, TRANSFORMS };

/** Messages of a picture or samples topic. */
struct found {
    uint64_t t_ns;
    mcap_place_t place;
};
struct topic {
    enum kind kind;
    char name[TOPIC_BYTES], frame[NAME_BYTES];
    struct found *message;
    uint32_t messages, capacity, samples, out_of_order;
    vfront_imu_t *sample;
    uint32_t sample_capacity;
    /* CameraInfo */
    int has_info;
    int32_t width, height;
    char model[32];
    double K[9], D[CALIBRATION_COEFFICIENTS], R[9], P[12];
    int coefficients;
};

/** T_parent_child. */
struct transform {
    char parent[NAME_BYTES], child[NAME_BYTES];
    pose_t pose;
};

struct mcap_set {
    mcap_reader_t *reader;
    char path[PATH_BYTES];
    struct topic *topic;
    uint32_t topics;
    struct transform transform[FRAMES_MAX];
    int transforms;
    uint32_t ros1, others; /* messages of pictures that are not in CDR; of all else */
    const struct topic *camera[CAMERAS_MAX], *imu;
};

/* ---- names ------------------------------------------------------------------------------------------------------- */

/** Topics behind FILE@, or NULL. */
static const char *topics_of(const char *where)
{
    const char *at = strstr(where, "@/");
    return at ? at + 1 : NULL;
}

/** FILE alone of FILE@TOPICS. Returns its length, which may be more than fits. */
static int without_topics(char path[PATH_BYTES], const char *where)
{
    const char *topics = topics_of(where);
    return snprintf(path, PATH_BYTES, "%.*s", topics ? (int)(topics - 1 - where) : (int)strlen(where), where);
}

/** A file of a kind in a folder. Returns how many there are. */
static int find_files(char path[PATH_BYTES], const char *folder, const char *ending)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        const size_t length = strlen(e->d_name), end = strlen(ending);
        if (length <= end || strcmp(e->d_name + length - end, ending) != 0) continue;
        if (!dataset_join(path, folder, e->d_name)) count++;
    }
    if (dir) closedir(dir);
    return count;
}

int dataset_names_mcap(char path[PATH_BYTES], const char *where)
{
    if (without_topics(path, where) >= PATH_BYTES) return 0;
    if (dataset_holds(path, "metadata.yaml")) {
        char folder[PATH_BYTES];
        memcpy(folder, path, sizeof folder);
        return find_files(path, folder, ".mcap") > 0 || find_files(path, folder, ".db3") > 0;
    }
    FILE *file = fopen(path, "rb");
    char start[16] = {0};
    const size_t count = file ? fread(start, 1, sizeof start, file) : 0;
    if (file) fclose(file);
    return mcap_recognises(path) ||
           (count == sizeof start && (!memcmp(start, "#ROSBAG V", 9) || !memcmp(start, "SQLite format 3", 16)));
}

/** The kind of a schema of ROS 2. */
static enum kind kind_of(const char *schema)
{
    static const struct {
        const char *schema;
        enum kind kind;
    } known[] = {{"sensor_msgs/msg/Image", IMAGE},
                 {"sensor_msgs/msg/CompressedImage", COMPRESSED},
                 {"sensor_msgs/msg/CameraInfo", CAMERA_INFO},
                 {"sensor_msgs/msg/Imu", SAMPLES},
                 {"tf2_msgs/msg/TFMessage", TRANSFORMS}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(schema, known[i].schema) == 0) return known[i].kind;
    return OTHER;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void read_info(struct topic *t, bytes_t *b)
{
    t->height = (int32_t)cdr_get(b, 4);
    t->width = (int32_t)cdr_get(b, 4);
    cdr_text(b, t->model, sizeof t->model);
    const uint64_t count = cdr_get(b, 4);
    t->coefficients = count <= CALIBRATION_COEFFICIENTS ? (int)count : 0;
    if (count > CALIBRATION_COEFFICIENTS) b->short_of = 1;
    cdr_doubles(b, t->D, t->coefficients);
    cdr_doubles(b, t->K, 9);
    cdr_doubles(b, t->R, 9);
    cdr_doubles(b, t->P, 12);
    t->has_info = !b->short_of;
}

static const char *read_samples(struct topic *t, bytes_t *b, uint64_t t_ns)
{
    vfront_imu_t s = {.t_ns = t_ns};
    double unused[9];
    cdr_doubles(b, unused, 4); /* orientation */
    cdr_doubles(b, unused, 9);
    cdr_doubles(b, s.gyro_rad_s, 3);
    cdr_doubles(b, unused, 9);
    cdr_doubles(b, s.accel_m_s2, 3);
    if (b->short_of) return NULL;
    if (t->samples && t_ns <= t->sample[t->samples - 1].t_ns) {
        t->out_of_order++;
        return NULL;
    }
    if (t->samples == t->sample_capacity) {
        t->sample_capacity = t->sample_capacity ? 2 * t->sample_capacity : 4096;
        vfront_imu_t *more = realloc(t->sample, t->sample_capacity * sizeof *more);
        if (!more) return "no memory";
        t->sample = more;
    }
    t->sample[t->samples++] = s;
    return NULL;
}

/** Transform of a frame: in place of an earlier one, since a bag repeats them; beyond FRAMES_MAX frames none. */
static void keep_transform(struct mcap_set *set, const struct transform *t)
{
    int at = 0;
    while (at < set->transforms && strcmp(set->transform[at].child, t->child) != 0) at++;
    if (at == FRAMES_MAX) return;
    set->transform[at] = *t;
    set->transforms += at == set->transforms;
}

static void read_transforms(struct mcap_set *set, bytes_t *b)
{
    for (uint64_t left = cdr_get(b, 4); left && !b->short_of; left--) {
        struct transform t;
        double q[4];
        cdr_time_ns(b);
        cdr_text(b, t.parent, sizeof t.parent);
        cdr_text(b, t.child, sizeof t.child);
        cdr_doubles(b, t.pose.t, 3);
        cdr_doubles(b, q, 4);
        const double norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
        if (b->short_of || !(norm > 0.5 && norm < 2.0)) continue;
        pose_rotation(t.pose.R, q);
        keep_transform(set, &t);
    }
}

static struct topic *topic_of(struct mcap_set *set, const mcap_source_t *source)
{
    while (set->topics <= source->number) {
        struct topic *more = realloc(set->topic, (set->topics + 1) * sizeof *more);
        if (!more) return NULL;
        set->topic = more;
        memset(&more[set->topics++], 0, sizeof *more);
    }
    struct topic *t = &set->topic[source->number];
    if (!*t->name) {
        memcpy(t->name, source->topic, sizeof t->name);
        t->kind = kind_of(source->schema);
    }
    return t;
}

static const char *keep_place(struct topic *t, uint64_t t_ns, const mcap_place_t *place)
{
    if (t->messages == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 256;
        struct found *more = realloc(t->message, t->capacity * sizeof *more);
        if (!more) return "no memory";
        t->message = more;
    }
    t->message[t->messages++] = (struct found){t_ns, *place};
    return NULL;
}

static const char *take(void *user, const mcap_source_t *source, const mcap_message_t *m)
{
    struct mcap_set *set = user;
    struct topic *t = topic_of(set, source);
    bytes_t b;
    char frame[NAME_BYTES];
    if (!t) return dataset_fail("%s: no memory", set->path);
    if (strcmp(source->encoding, "ros1") == 0) set->ros1++;
    if (t->kind == OTHER || strcmp(source->encoding, "cdr") != 0) return NULL;
    if (t->kind == TRANSFORMS && strcmp(t->name, "/tf_static") != 0) return NULL;
    const char *error = NULL;
    if (!cdr_begin(&b, m->data, m->place.bytes)) {
        error = "is not little-endian CDR";
    } else if (t->kind == TRANSFORMS) {
        read_transforms(set, &b);
    } else {
        uint64_t t_ns = cdr_time_ns(&b);
        if (!t_ns) t_ns = m->log_ns;
        cdr_text(&b, frame, sizeof frame);
        if (!*t->frame) memcpy(t->frame, frame, sizeof frame);
        if (t->kind == CAMERA_INFO && !t->has_info) read_info(t, &b);
        if (t->kind == SAMPLES) error = read_samples(t, &b, t_ns);
        if (t->kind == IMAGE || t->kind == COMPRESSED) error = keep_place(t, t_ns, &m->place);
    }
    if (!error && b.short_of) error = "is not whole";
    return error ? dataset_fail("%s: a message of %s %s", set->path, t->name, error) : NULL;
}

/* ---- choice of topics -------------------------------------------------------------------------------------------- */

/** 1 for a topic of pictures that is taken without being named: no depth, no compressed form of another one. */
static int is_of_use(const struct mcap_set *set, const struct topic *t)
{
    if ((t->kind != IMAGE && t->kind != COMPRESSED) || !t->messages || strstr(t->name, "depth")) return 0;
    for (uint32_t i = 0; i < set->topics; i++) {
        const size_t length = strlen(set->topic[i].name);
        if (set->topic[i].kind == IMAGE && set->topic[i].messages && length < strlen(t->name) &&
            strncmp(set->topic[i].name, t->name, length) == 0 && t->name[length] == '/')
            return 0; /* the same pictures, compressed */
    }
    return 1;
}

/** What there is, for messages. */
static const char *list_topics(const struct mcap_set *set)
{
    static char text[1024];
    size_t used = 0;
    *text = 0;
    for (uint32_t i = 0; i < mcap_reader_sources(set->reader) && used + 400 < sizeof text; i++) {
        const mcap_source_t *s = mcap_reader_source(set->reader, i);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s (%s)", i ? ", " : "", s->topic,
                                 *s->schema ? s->schema : s->encoding);
    }
    return *text ? text : "none";
}

/** A topic by name, of those of messages. */
static const struct topic *find_topic(const struct mcap_set *set, const char *name, size_t length)
{
    for (uint32_t i = 0; i < set->topics; i++)
        if (strlen(set->topic[i].name) == length && strncmp(set->topic[i].name, name, length) == 0)
            return &set->topic[i];
    return NULL;
}

static const char *choose_given(struct mcap_set *set, const char *topics, int32_t *cameras)
{
    int32_t count = 0;
    for (const char *at = topics; *at;) {
        const size_t length = strcspn(at, ",");
        const struct topic *t = find_topic(set, at, length);
        const int is_picture = t && t->messages; /* those in CDR are counted */
        if (!is_picture && !(t && t->samples))
            return dataset_fail("%s: no pictures or IMU samples of %.*s; its topics: %s", set->path, (int)length, at,
                                list_topics(set));
        if (!is_picture) set->imu = t;
        if (is_picture && count < *cameras) set->camera[count++] = t;
        at += length + (at[length] == ',');
    }
    *cameras = count;
    return NULL;
}

static void choose(struct mcap_set *set, int32_t *cameras)
{
    int32_t count = 0;
    for (; count < *cameras; count++) {
        const struct topic *best = NULL;
        for (uint32_t i = 0; i < set->topics; i++) {
            const struct topic *t = &set->topic[i];
            const int is_later = !count || strcmp(t->name, set->camera[count - 1]->name) > 0;
            if (is_of_use(set, t) && is_later && (!best || strcmp(t->name, best->name) < 0)) best = t;
        }
        if (!best) break;
        set->camera[count] = best;
    }
    for (uint32_t i = 0; i < set->topics; i++) {
        const struct topic *t = &set->topic[i];
        if (t->kind == SAMPLES && t->samples && (!set->imu || t->samples > set->imu->samples)) set->imu = t;
    }
    *cameras = count;
}

/* ---- calibration ------------------------------------------------------------------------------------------------- */

/** camera_info beside a topic of pictures: in its folder, or one above. */
static const struct topic *info_of(const struct mcap_set *set, const struct topic *camera)
{
    for (size_t length = strlen(camera->name); length; length--) {
        char name[TOPIC_BYTES + 16];
        if (camera->name[length - 1] != '/') continue;
        snprintf(name, sizeof name, "%.*scamera_info", (int)length, camera->name);
        const struct topic *t = find_topic(set, name, strlen(name));
        if (t && t->has_info) return t;
    }
    return NULL;
}

/** T_root_frame, up to the frame that has no parent, whose name is returned. */
static const char *pose_in_root(const struct mcap_set *set, const char *frame, pose_t *T_root_frame)
{
    *T_root_frame = pose_identity;
    for (int step = 0; step < set->transforms; step++) {
        const struct transform *up = NULL;
        for (int i = 0; i < set->transforms && !up; i++)
            if (strcmp(set->transform[i].child, frame) == 0) up = &set->transform[i];
        if (!up) break;
        *T_root_frame = pose_compose(&up->pose, T_root_frame);
        frame = up->parent;
    }
    return frame;
}

/** T_to_from by /tf_static. Returns 0 if it has no way between them. */
static int transform_between(const struct mcap_set *set, const char *to, const char *from, pose_t *T_to_from)
{
    pose_t T_root_to, T_root_from;
    const char *root = pose_in_root(set, to, &T_root_to);
    if (!set->transforms || !*to || !*from || strcmp(root, pose_in_root(set, from, &T_root_from)) != 0) return 0;
    const pose_t T_to_root = pose_inverse(&T_root_to);
    *T_to_from = pose_compose(&T_to_root, &T_root_from);
    return 1;
}

/** Poses: by /tf_static, else of camera 1 by R and P of both. */
static void set_poses(struct dataset *d, const struct topic *const *info)
{
    const struct mcap_set *set = d->mcap;
    vfront_camera_t *c = d->rig.camera;
    pose_t T_cam0_imu = pose_identity, T_cam1_cam0, T_rect_cam[2];
    if (set->imu && transform_between(set, set->camera[0]->frame, set->imu->frame, &T_cam0_imu))
        calibration_set_extrinsics(&c[0], &T_cam0_imu);
    if (d->rig.cameras < 2 || !info[1]) return;
    int is_known = transform_between(set, set->camera[1]->frame, set->camera[0]->frame, &T_cam1_cam0);
    if (!is_known && info[0]) {
        for (int i = 0; i < 2; i++) memcpy(T_rect_cam[i].R, info[i]->R, sizeof info[i]->R);
        is_known = !calibration_set_rectified(&T_rect_cam[0], info[0]->P) &&
                   !calibration_set_rectified(&T_rect_cam[1], info[1]->P);
        if (is_known) T_cam1_cam0 = calibration_step(T_rect_cam);
    }
    if (!is_known) return;
    const pose_t T_cam1_imu = pose_compose(&T_cam1_cam0, &T_cam0_imu);
    calibration_set_extrinsics(&c[1 % VFRONT_CAMERAS], &T_cam1_imu);
}

static const char *calibrate(struct dataset *d)
{
    const struct mcap_set *set = d->mcap;
    const struct topic *info[CAMERAS_MAX] = {NULL};
    for (int32_t i = 0; i < d->rig.cameras; i++) {
        vfront_camera_t *c = &d->rig.camera[i];
        const struct topic *t = info[i] = info_of(set, set->camera[i]);
        if (!t || t->K[0] == 0.0) {
            dataset_note("%s: no camera_info beside %s: the camera counts as uncalibrated", set->path,
                         set->camera[i]->name);
            info[i] = NULL;
            continue;
        }
        if (t->width != c->width_px || t->height != c->height_px)
            return dataset_fail("%s: %s has %dx%d, but the pictures are %dx%d", set->path, t->name, (int)t->width,
                                (int)t->height, (int)c->width_px, (int)c->height_px);
        const char *error = calibration_set_opencv(c, *t->model ? t->model : NULL, t->K, t->D, t->coefficients);
        if (error) return dataset_fail("%s: %s: %s", set->path, t->name, error);
    }
    set_poses(d, info);
    return NULL;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/** Pixels of an encoding of sensor_msgs: bytes from pixel to pixel, and where red, green, blue are; all 0: grey. */
struct encoding {
    const char *name;
    uint8_t bytes, red, green, blue, is_wide;
};
static const struct encoding encodings[] = {
    {"mono8", 1, 0, 0, 0, 0}, {"8UC1", 1, 0, 0, 0, 0},       {"mono16", 2, 0, 0, 0, 1}, {"16UC1", 2, 0, 0, 0, 1},
    {"rgb8", 3, 0, 1, 2, 0},  {"bgr8", 3, 2, 1, 0, 0},       {"rgba8", 4, 0, 1, 2, 0},  {"bgra8", 4, 2, 1, 0, 0},
    {"yuyv", 2, 0, 0, 0, 0},  {"yuv422_yuy2", 2, 0, 0, 0, 0}};

static void set_pixels(picture_t *p, const struct encoding *e, const uint8_t *data, size_t step, int is_big)
{
    const size_t width = (size_t)p->width_px;
    uint8_t *to = p->pixels;
    uint16_t *wide = p->pixels;
    for (size_t y = 0; y < (size_t)p->height_px; y++) {
        const uint8_t *from = data + y * step;
        for (size_t x = 0; x < width; x++, from += e->bytes) {
            if (e->is_wide)
                *wide++ = (uint16_t)(from[is_big ? 0 : 1] << 8 | from[is_big ? 1 : 0]);
            else
                *to++ = e->green ? (uint8_t)picture_luma(from[e->red], from[e->green], from[e->blue]) : *from;
        }
    }
}

static const char *read_image(picture_t *p, bytes_t *b, const char *topic)
{
    char name[32];
    size_t bytes;
    const uint32_t height = (uint32_t)cdr_get(b, 4), width = (uint32_t)cdr_get(b, 4);
    cdr_text(b, name, sizeof name);
    const int is_big = (int)cdr_get(b, 1);
    const size_t step = (size_t)cdr_get(b, 4);
    const uint8_t *data = cdr_sequence(b, &bytes);
    const struct encoding *e = NULL;
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++)
        if (strcmp(name, encodings[i].name) == 0) e = &encodings[i];
    if (!data) return dataset_fail("%s: a picture that is not whole", topic);
    if (!e)
        return dataset_fail("%s: encoding %s; known are mono8, mono16, rgb8, bgr8, rgba8, bgra8, yuv422_yuy2", topic,
                            *name ? name : "of no name");
    if (width > PICTURE_SIDE_MAX_PX || height > PICTURE_SIDE_MAX_PX || step < (size_t)width * e->bytes ||
        bytes / (step ? step : 1) < height)
        return dataset_fail("%s: %u bytes for %ux%u pixels in rows of %u", topic, (unsigned)bytes, (unsigned)width,
                            (unsigned)height, (unsigned)step);
    const char *error = picture_resize(p, topic, width, height, e->is_wide ? 2 : 1);
    if (error) return error;
    p->coloured = e->green > 0;
    set_pixels(p, e, data, step, is_big);
    return NULL;
}

const char *dataset_read_mcap(struct dataset *d, int32_t camera, uint32_t index)
{
    const struct topic *t = d->mcap->camera[camera];
    const struct found *m = &t->message[d->picture_list[camera].file[index].number];
    uint8_t *data;
    bytes_t b;
    char text[NAME_BYTES], name[TOPIC_BYTES + 32];
    const char *error = mcap_reader_message(d->mcap->reader, &m->place, &data);
    if (error) return error;
    cdr_begin(&b, data, m->place.bytes); /* looked at before: take() */
    cdr_time_ns(&b);
    cdr_text(&b, text, sizeof text);
    snprintf(name, sizeof name, "%s at %.6f s", t->name, (double)m->t_ns * 1e-9);
    if (t->kind == IMAGE) return read_image(&d->picture[camera], &b, name);
    size_t bytes;
    cdr_text(&b, text, sizeof text); /* format */
    uint8_t *file = cdr_sequence(&b, &bytes);
    if (!file) return dataset_fail("%s: a picture that is not whole", name);
    return picture_read_memory(&d->picture[camera], file, bytes, name);
}

static int compare_times(const void *one, const void *other)
{
    const struct picture_file *a = one, *b = other;
    return a->t_ns != b->t_ns ? (a->t_ns < b->t_ns ? -1 : 1) : a->number < b->number ? -1 : 1;
}

/** Pictures of a topic by time; of equal times the first one. */
static const char *list_pictures(struct picture_list *s, const struct topic *t, const char *path)
{
    const char *error = NULL;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->messages && !error; i++) {
        error = dataset_add_picture(s, t->message[i].t_ns, t->name);
        if (!error) s->file[i].number = i;
    }
    if (error) return error;
    qsort(s->file, s->count, sizeof *s->file, compare_times);
    for (uint32_t i = 0; i < s->count; i++) {
        if (kept && s->file[i].t_ns == s->file[kept - 1].t_ns)
            free(s->file[i].path);
        else
            s->file[kept++] = s->file[i];
    }
    if (kept < s->count)
        dataset_note("%s: %u pictures of %s have the stamp of another one and are left out", path, s->count - kept,
                     t->name);
    s->count = kept;
    return NULL;
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

/** A file, or a folder of ROS 2 with one. */
static const char *find_file(struct mcap_set *set, const char *where)
{
    static const char convert[] = "replay reads it as MCAP: pip install rosbags, then rosbags-convert --src";
    char given[PATH_BYTES], other[PATH_BYTES];
    const char *path = set->path;
    dataset_names_mcap(set->path, where);
    without_topics(given, where);
    if (dataset_holds(given, "metadata.yaml") && find_files(other, given, ".mcap") > 1)
        return dataset_fail("%s: %d .mcap files: give one of them", given, find_files(other, given, ".mcap"));
    if (mcap_recognises(path)) return NULL;
    FILE *file = fopen(path, "rb");
    const int first = file ? fgetc(file) : EOF;
    if (file) fclose(file);
    return dataset_fail("%s: %s; %s %s --dst NEW --dst-storage mcap", path,
                        first == '#' ? "a bag of ROS 1" : "a bag of ROS 2 in SQLite", convert, given);
}

static const char *open_set(struct dataset *d, struct mcap_set *set, const char *where)
{
    const char *topics = topics_of(where);
    int32_t cameras = d->rig.cameras;
    const char *error = find_file(set, where);
    if (!error) error = mcap_reader_open(&set->reader, set->path, take, set);
    if (error) return error;
    const char *trouble = mcap_reader_trouble(set->reader);
    if (trouble) dataset_note("%s: %s; what is before is read", set->path, trouble);
    if (topics)
        error = choose_given(set, topics, &cameras);
    else
        choose(set, &cameras);
    if (error) return error;
    if (!cameras)
        return dataset_fail(
            "%s: no pictures of sensor_msgs/msg/Image or CompressedImage in CDR%s; its topics: %s", set->path,
            set->ros1 ? ", but messages of ROS 1, which rosbags-convert (PyPI) makes them of" : "", list_topics(set));
    d->rig.cameras = cameras;
    dataset_note("%s: pictures of %s%s%s%s%s; others by FILE@TOPIC,TOPIC,TOPIC", set->path, set->camera[0]->name,
                 cameras > 1 ? " and " : "", cameras > 1 ? set->camera[1]->name : "", set->imu ? ", samples of " : "",
                 set->imu ? set->imu->name : "");
    return NULL;
}

const char *dataset_open_mcap(struct dataset *d, const char *where)
{
    struct mcap_set *set = d->mcap = calloc(1, sizeof *set);
    uint32_t capacity = 0;
    d->kind = "MCAP";
    d->calibrate = calibrate;
    if (!set) return dataset_fail("%s: no memory", where);
    const char *error = open_set(d, set, where);
    snprintf(d->folder, sizeof d->folder, "%s", set->path);
    for (int32_t i = 0; i < d->rig.cameras && !error; i++)
        error = list_pictures(&d->picture_list[i], set->camera[i], set->path);
    if (!error && d->rig.cameras > 1) error = dataset_pair_by_time(&d->picture_list[0], &d->picture_list[1], set->path);
    if (error || !set->imu) return error;
    if (set->imu->out_of_order)
        dataset_note("%s: %u samples of %s are not after the one before and are left out", set->path,
                     set->imu->out_of_order, set->imu->name);
    for (uint32_t i = 0; i < set->imu->samples; i++)
        if (dataset_add_sample(d, &capacity, &set->imu->sample[i]) < 0) return dataset_fail("%s: no memory", set->path);
    return NULL;
}

void dataset_close_mcap(struct mcap_set *set)
{
    if (!set) return;
    for (uint32_t i = 0; i < set->topics; i++) {
        free(set->topic[i].message);
        free(set->topic[i].sample);
    }
    free(set->topic);
    mcap_reader_close(set->reader);
    free(set);
}
