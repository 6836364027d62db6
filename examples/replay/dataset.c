/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* stat, access */
#include "dataset_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibration.h"

/* ---- rendered flight --------------------------------------------------------------------------------------------- */

static const char *open_flight(struct dataset *d, const char *size)
{
    int width = SYNTHETIC_WIDTH_PX < VFRONT_WIDTH ? SYNTHETIC_WIDTH_PX : VFRONT_WIDTH;
    int height = SYNTHETIC_HEIGHT_PX < VFRONT_HEIGHT ? SYNTHETIC_HEIGHT_PX : VFRONT_HEIGHT, used = 0;
    d->kind = "synthetic";
    if (*size == ':' && sscanf(size, ":%dx%d%n", &width, &height, &used) != 2) used = 0;
    const int has_start = size[used] == '@' && isdigit((unsigned char)size[used + 1]);
    char *end = (char *)size + used;
    if (has_start) d->flight_start = (uint32_t)(strtoul(size + used + 1, &end, 10) % SYNTHETIC_PERIOD_FRAMES);
    if (*end) return dataset_fail("synthetic%s: a size is given as synthetic:640x400, a first frame as @470", size);
    d->flight = synthetic_open(width, height);
    if (!d->flight) return dataset_fail("synthetic: no pictures of %dx%d", width, height);
    const int32_t cameras = d->rig.cameras;
    synthetic_rig(d->flight, &d->rig);
    d->rig.cameras = cameras;
    for (int32_t i = 0; i < cameras; i++) {
        d->picture[i].width_px = width;
        d->picture[i].height_px = height;
        d->picture[i].bytes = 1;
        d->picture[i].pixels = malloc((size_t)width * (size_t)height);
        if (!d->picture[i].pixels) return dataset_fail("synthetic: no memory");
    }
    d->has_gyro = 1;
    return NULL;
}

/* ---- flight along a trajectory ----------------------------------------------------------------------------------- */

/** 1 if the name ends in one of these, separated by spaces. */
static int ends_in(const char *where, const char *extensions)
{
    const char *dot = strrchr(where, '.');
    const size_t length = dot ? strlen(dot) : 0;
    for (const char *e = extensions; length && *e; e += strcspn(e, " "), e += *e == ' ')
        if (strcspn(e, " ") == length && strncasecmp(dot, e, length) == 0) return 1;
    return 0;
}

/** 1 for the name of a video. */
static int is_video(const char *where) { return ends_in(where, ".mp4 .avi .mkv .mov .webm"); }

const dataset_live_t *dataset_live;

/** Cameras or a video, with the calibration that is given, or none. */
static const char *open_live(struct dataset *d, const char *where, const char *calibration)
{
    const int32_t cameras = d->rig.cameras;
    d->kind = is_video(where) ? "video" : "live";
    if (calibration && strcmp(calibration, "none") == 0) calibration = NULL;
    const char *error = dataset_live->open(&d->live, where, calibration);
    if (error) return dataset_fail("%s: %s", where, error);
    d->rig = *dataset_live->rig(d->live);
    if (cameras < d->rig.cameras) d->rig.cameras = cameras;
    return NULL;
}

static const char *read_live(struct dataset *d, vfront_frame_t *frame)
{
    const char *error = dataset_live->next(d->live, frame, &d->has_ended);
    return error ? dataset_fail("%s", error) : NULL;
}

static const char *open_course(struct dataset *d, const char *where, const course_settings_t *render)
{
    const int32_t cameras = d->rig.cameras;
    const char *error = course_open(&d->course, where, render ? render : &course_standard);
    d->kind = "trajectory";
    if (error && ends_in(where, ".png .jpg .jpeg .bmp .pgm .ppm"))
        return dataset_fail("%s: a picture; give the folder of a sequence", where);
    if (error)
        return dataset_fail(
            "%s: not a folder, and no recording (.vfr); as a trajectory, lines `t [s] px py pz qx qy qz qw`: %s%s",
            where, error, is_video(where) ? ". Of a video give a folder of its pictures" : "");
    course_rig(d->course, &d->rig);
    d->rig.cameras = cameras < d->rig.cameras ? cameras : d->rig.cameras;
    for (int32_t i = 0; i < d->rig.cameras; i++) {
        picture_t *p = &d->picture[i];
        p->width_px = d->rig.camera[i].width_px;
        p->height_px = d->rig.camera[i].height_px;
        p->bytes = 1;
        p->pixels = malloc((size_t)p->width_px * (size_t)p->height_px);
        if (!p->pixels) return dataset_fail("%s: no memory", where);
    }
    const vfront_imu_t *imu = course_imu(d->course, &d->imu_count);
    d->imu = malloc(d->imu_count * sizeof *d->imu);
    if (!d->imu) return dataset_fail("%s: no memory", where);
    memcpy(d->imu, imu, d->imu_count * sizeof *d->imu);
    d->frames = course_frames(d->course);
    return NULL;
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

static int is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static const char *open_by_content(struct dataset *d, const char *where, const char *calibration,
                                   const course_settings_t *render)
{
    char mav[PATH_BYTES], mcap[PATH_BYTES];
    if (dataset_live && dataset_live->recognises(where)) return open_live(d, where, calibration);
    if (strncmp(where, "synthetic", 9) == 0 && strchr(":@", where[9])) return open_flight(d, where + 9);
    if (dataset_names_mcap(mcap, where)) return dataset_open_mcap(d, where);
    if (access(where, F_OK)) return dataset_fail("%s: %s", where, strerror(errno));
    if (reader_recognises(where)) return dataset_open_recording(d, where);
    if (!is_folder(where)) return open_course(d, where, render);
    const char *error = dataset_join(mav, where, "mav0");
    if (error) return error;
    if (is_folder(mav)) return dataset_open_euroc(d, mav);
    if (dataset_holds(where, "cam0")) return dataset_open_euroc(d, where);
    if (dataset_holds(where, "image_0")) return dataset_open_kitti(d, where);
    if (dataset_holds(where, "rgb.txt")) return dataset_open_tum(d, where);
    if (dataset_holds(where, "left") && dataset_holds(where, "right")) return dataset_open_sides(d, where);
    return dataset_open_folder(d, where);
}

static const char *read_pictures(struct dataset *d, uint32_t index)
{
    if (d->recording || d->live) return NULL; /* their frames are read as a whole */
    for (int32_t i = 0; i < d->rig.cameras; i++) {
        if (d->flight) {
            synthetic_render(d->flight, d->flight_start + index, i, d->picture[i].pixels,
                             (size_t)d->picture[i].width_px);
            continue;
        }
        if (d->course) {
            course_render(d->course, index, i, d->picture[i].pixels, (size_t)d->picture[i].width_px);
            continue;
        }
        const char *path = d->picture_list[i].file[index].path;
        const char *error = d->mcap ? dataset_read_mcap(d, i, index) : picture_read(&d->picture[i], path);
        if (error) return error;
        if (d->picture[i].coloured && !d->noted_coloured) dataset_note("%s: in colour, becomes grey (Rec. 601)", path);
        d->noted_coloured |= d->picture[i].coloured;
    }
    return NULL;
}

/** Set the picture sizes of the rig from the first pictures. */
static const char *set_sizes(struct dataset *d)
{
    if (d->recording) return NULL; /* its header has the rig */
    for (int32_t i = 0; i < d->rig.cameras; i++) {
        vfront_camera_t *c = &d->rig.camera[i];
        const int32_t width = d->live ? c->width_px : d->picture[i].width_px,
                      height = d->live ? c->height_px : d->picture[i].height_px;
        const char *path = d->flight || d->course || d->live ? d->kind : d->picture_list[i].file[0].path;
        if (width > VFRONT_WIDTH || height > VFRONT_HEIGHT)
            return dataset_fail(
                "%s: %dx%d is larger than this build takes, %dx%d: define VFRONT_WIDTH and VFRONT_HEIGHT in a "
                "header and build with `make CFG=header.h` (see vfront_cfg.h)",
                path, (int)width, (int)height, VFRONT_WIDTH, VFRONT_HEIGHT);
        if (width < 16 || height < 16)
            return dataset_fail("%s: %dx%d is smaller than 16x16", path, (int)width, (int)height);
        c->width_px = width;
        c->height_px = height;
    }
    return NULL;
}

/** Leave the samples out if the calibration lacks the lens or the camera-IMU rotation. */
static void drop_unusable_gyro(struct dataset *d, const char *calibration)
{
    static const double none[9];
    const vfront_camera_t *c = &d->rig.camera[0];
    const int mounted = memcmp(c->R_cam_imu, none, sizeof none) != 0;
    d->has_gyro |= d->imu_count > 0;
    if (d->has_gyro && c->fx_px != 0.0 && !mounted)
        dataset_note("%s: has no pose of camera 0 on the IMU: no gyro", calibration);
    if (c->fx_px == 0.0 || !mounted) d->has_gyro = 0; /* a rotation cannot be applied to pixels without a lens */
}

/** Calibration from a file given by the user. */
static const char *recalibrate(struct dataset *d, const char *calibration)
{
    const vfront_camera_t *c = d->rig.camera;
    const char *error = calibration_read(&d->rig, calibration);
    for (int32_t i = 1; i < d->rig.cameras && !error; i++)
        if (c[0].fx_px != 0.0 && c[i].fx_px == 0.0)
            dataset_note("%s: nothing about camera %d, which counts as uncalibrated", calibration, (int)i);
    if (!error) drop_unusable_gyro(d, calibration);
    return error;
}

/** Calibration of the data set itself; `noise` is a file with that of the IMU in its place, or NULL. */
static const char *calibrate(struct dataset *d, const char *noise)
{
    const char *error = d->calibrate ? d->calibrate(d) : NULL;
    if (!error && noise) error = calibration_imu(&d->rig.imu, noise);
    if (!error) drop_unusable_gyro(d, d->folder);
    return error;
}

const char *dataset_open(dataset_t **dataset, const char *where, int32_t cameras_max, const char *calibration,
                         const char *truth, const course_settings_t *render)
{
    *dataset = NULL;
    struct dataset *d = calloc(1, sizeof *d);
    if (!d) return dataset_fail("%s: no memory", where);
    d->rig.cameras = cameras_max < CAMERAS_MAX ? cameras_max : CAMERAS_MAX;
    if (d->rig.cameras > VFRONT_CAMERAS) d->rig.cameras = VFRONT_CAMERAS;
    const char *error = open_by_content(d, where, calibration, render);
    if (!d->course) d->frames = d->picture_list[0].count;
    if (!error) error = read_pictures(d, 0);
    if (!error) error = set_sizes(d);
    const char *noise = calibration && calibration_is_noise(calibration) ? calibration : NULL;
    if (!error && !d->live) error = calibration && !noise ? recalibrate(d, calibration) : calibrate(d, noise);
    if (!error) error = dataset_find_truth(d, truth);
    if (!error) dataset_find_up(d);
    if (error)
        dataset_close(d);
    else
        *dataset = d;
    return error;
}

void dataset_close(dataset_t *d)
{
    if (!d) return;
    for (int i = 0; i < CAMERAS_MAX; i++) {
        for (uint32_t k = 0; k < d->picture_list[i].count; k++) free(d->picture_list[i].file[k].path);
        free(d->picture_list[i].file);
        picture_free(&d->picture[i]);
    }
    free(d->imu);
    truth_free(&d->truth);
    synthetic_close(d->flight);
    course_close(d->course);
    reader_close(d->recording);
    dataset_close_mcap(d->mcap);
    if (d->live) dataset_live->close(d->live);
    free(d);
}

const char *dataset_kind(const dataset_t *d) { return d->kind; }

int dataset_is_course(const dataset_t *d) { return d->course != NULL; }

int dataset_is_live(const dataset_t *d) { return d->live != NULL; }

int dataset_has_ended(const dataset_t *d) { return d->has_ended; }

uint32_t dataset_frames(const dataset_t *d) { return d->frames; }

int dataset_has_gyro(const dataset_t *d) { return d->has_gyro; }

int dataset_has_imu(const dataset_t *d)
{
    return d->has_gyro && (d->recording ? d->has_imu : !d->flight || d->renders_imu);
}

reader_t *dataset_recording(const dataset_t *d) { return d->recording; }

int dataset_after_reset(const dataset_t *d) { return d->recording && d->after_reset; }

void dataset_use_imu(dataset_t *d)
{
    if (!d->flight || !d->has_gyro) return;
    d->renders_imu = 1;
    synthetic_imu_noise(&d->rig.imu);
}

const vfront_rig_t *dataset_rig(const dataset_t *d) { return &d->rig; }

/* ---- frames ------------------------------------------------------------------------------------------------------ */

uint64_t dataset_time_ns(const struct dataset *d, uint32_t index)
{
    if (d->course) return course_time_ns(d->course, index);
    return d->flight ? synthetic_time_ns(d->flight_start + index) : d->picture_list[0].file[index].t_ns;
}

uint64_t dataset_middle_ns(const struct dataset *d, uint32_t index)
{
    return dataset_time_ns(d, index) + (d->course ? course_exposure_ns(d->course) / 2 : 0);
}

int32_t dataset_interval_us(const dataset_t *d)
{
    const uint64_t of_one = 33333;
    uint64_t us = of_one;
    if (!d->recording && !d->live && d->frames != 1) us = (dataset_time_ns(d, 1) - dataset_time_ns(d, 0)) / 1000;
    return (int32_t)(us < 1 ? 1 : us > 10000000 ? 10000000 : us);
}

/** Samples of the flight's IMU: those after the first one at or behind the frame before, up to that of this frame. */
static void render_imu(struct dataset *d, uint32_t index, vfront_frame_t *frame)
{
    const uint64_t before_ns = dataset_time_ns(d, 0) - SYNTHETIC_FRAME_NS;
    const uint64_t from_ns = index ? dataset_time_ns(d, index - 1) + SYNTHETIC_GYRO_NS - 1 : before_ns;
    frame->imu = d->rendered_imu;
    frame->imu_count = synthetic_imu(from_ns, frame->t_ns + SYNTHETIC_GYRO_NS - 1, d->rendered_imu, VFRONT_IMU_SAMPLES);
}

static void set_time_and_gyro(struct dataset *d, uint32_t index, vfront_frame_t *frame)
{
    if (!d->flight) {
        frame->t_ns = dataset_time_ns(d, index);
        if (d->course) frame->exposure_ns = course_exposure_ns(d->course);
        if (d->has_gyro) dataset_set_imu(d, index, frame);
        return;
    }
    frame->t_ns = dataset_time_ns(d, index);
    if (d->renders_imu) {
        render_imu(d, index, frame);
    } else if (index && d->has_gyro) {
        frame->gyro = d->rendered_gyro;
        frame->gyro_count = synthetic_gyro(dataset_time_ns(d, index - 1), frame->t_ns, d->rendered_gyro,
                                           VFRONT_GYRO_SAMPLES);
    }
}

const char *dataset_read(dataset_t *d, uint32_t index, vfront_frame_t *frame)
{
    memset(frame, 0, sizeof *frame);
    if (d->recording) return dataset_read_recording(d, index, frame);
    if (d->live) return read_live(d, frame);
    const char *error = read_pictures(d, index);
    if (error) return error;
    for (int32_t i = 0; i < d->rig.cameras; i++) {
        const picture_t *p = &d->picture[i];
        if (p->width_px != d->rig.camera[i].width_px || p->height_px != d->rig.camera[i].height_px)
            return dataset_fail("%s: %dx%d, but the sequence began with %dx%d", d->picture_list[i].file[index].path,
                                (int)p->width_px, (int)p->height_px, (int)d->rig.camera[i].width_px,
                                (int)d->rig.camera[i].height_px);
        vfront_picture_t *to = &frame->picture[i];
        to->data = p->pixels;
        to->width_px = p->width_px;
        to->height_px = p->height_px;
        to->pitch_bytes = (uint32_t)(p->width_px * p->bytes);
        to->format = p->bytes == 2 ? VFRONT_GREY16 : VFRONT_GREY8;
        to->memory = VFRONT_HOST_MEMORY;
    }
    set_time_and_gyro(d, index, frame);
    return NULL;
}
