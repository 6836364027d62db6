/* SPDX-License-Identifier: MIT */
#include "export.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"
#include "state.h"
#include "examples/recording/frame.h"
#include "examples/recording/mcap.h"

#define TRAJECTORY_POSES_MAX 1000u
#define TRAJECTORY_EVERY 10u

struct exported {
    mcap_t *mcap;
    int32_t cameras;
    int image[VFRONT_CAMERAS], tracks, tf, path, state, health, obstacles, log;
    uint8_t *grey; /* a row */
    struct {
        uint64_t t_ns;
        pose_t pose;
    } pose[TRAJECTORY_POSES_MAX];
    uint32_t poses, every, frames; /* every how many frames a pose is kept */
};

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define OBJECT(members) "{\"type\":\"object\",\"properties\":{" members "}}"
#define LIST(of) "{\"type\":\"array\",\"items\":" of "}"
#define NUMBER "{\"type\":\"number\"}"
#define INTEGER "{\"type\":\"integer\"}"
#define TEXT "{\"type\":\"string\"}"
#define NUMBERS LIST(NUMBER)
#define TIME OBJECT("\"sec\":" INTEGER ",\"nsec\":" INTEGER)
#define POINT2 OBJECT("\"x\":" NUMBER ",\"y\":" NUMBER)
#define VECTOR OBJECT("\"x\":" NUMBER ",\"y\":" NUMBER ",\"z\":" NUMBER)
#define QUATERNION OBJECT("\"x\":" NUMBER ",\"y\":" NUMBER ",\"z\":" NUMBER ",\"w\":" NUMBER)
#define POSE OBJECT("\"position\":" VECTOR ",\"orientation\":" QUATERNION)
#define COLOR OBJECT("\"r\":" NUMBER ",\"g\":" NUMBER ",\"b\":" NUMBER ",\"a\":" NUMBER)

static const char image_schema[] = OBJECT("\"timestamp\":" TIME ",\"frame_id\":" TEXT ",\"width\":" INTEGER
                                          ",\"height\":" INTEGER ",\"encoding\":" TEXT ",\"step\":" INTEGER
                                          ",\"data\":{\"type\":\"string\",\"contentEncoding\":\"base64\"}");
static const char tracks_schema[] = OBJECT("\"points\":" LIST(OBJECT(
    "\"timestamp\":" TIME ",\"type\":" INTEGER
    ",\"points\":" LIST(POINT2) ",\"outline_color\":" COLOR
                                ",\"outline_colors\":" LIST(COLOR) ",\"fill_color\":" COLOR ",\"thickness\":" NUMBER)));
static const char tf_schema[] = OBJECT("\"timestamp\":" TIME ",\"parent_frame_id\":" TEXT ",\"child_frame_id\":" TEXT
                                       ",\"translation\":" VECTOR ",\"rotation\":" QUATERNION);
static const char path_schema[] = OBJECT("\"timestamp\":" TIME ",\"frame_id\":" TEXT ",\"poses\":" LIST(POSE));
static const char state_schema[] = OBJECT(
    "\"timestamp\":" TIME ",\"state\":" TEXT ",\"quality\":" INTEGER ",\"reset_counter\":" INTEGER
    ",\"landmarks\":" INTEGER ",\"position_m\":" NUMBERS ",\"velocity_mps\":" NUMBERS ",\"q_wxyz\":" NUMBERS
    ",\"gyro_bias_rad_s\":" NUMBERS ",\"accel_bias_m_s2\":" NUMBERS ",\"sigma\":" NUMBERS);
static const char health_schema[] = OBJECT(
    "\"timestamp\":" TIME ",\"state\":" TEXT ",\"quality\":" INTEGER ",\"tracks\":" INTEGER ",\"keypoints\":" INTEGER
    ",\"depths\":" INTEGER ",\"matches\":" INTEGER ",\"reset_counter\":" INTEGER ",\"motion_breaks\":" INTEGER
    ",\"step_us\":" NUMBER ",\"failed_over\":" INTEGER);
static const char scan_schema[] = OBJECT("\"timestamp\":" TIME ",\"frame_id\":" TEXT ",\"pose\":" POSE
                                         ",\"start_angle\":" NUMBER ",\"end_angle\":" NUMBER ",\"ranges\":" NUMBERS
                                         ",\"intensities\":" NUMBERS);
static const char log_schema[] = OBJECT("\"timestamp\":" TIME ",\"level\":" INTEGER ",\"message\":" TEXT
                                        ",\"name\":" TEXT ",\"file\":" TEXT ",\"line\":" INTEGER);

/* ---- values ------------------------------------------------------------------------------------------------------ */

/** JSON has no NaN and no infinity. */
static void put_number(mcap_t *m, double value)
{
    if (isfinite(value))
        mcap_text(m, "%.17g", value);
    else
        mcap_text(m, "null");
}

static void put_time(mcap_t *m, uint64_t t_ns)
{
    mcap_text(m, "\"timestamp\":{\"sec\":%" PRIu64 ",\"nsec\":%" PRIu64 "}", t_ns / 1000000000u, t_ns % 1000000000u);
}

static void put_list(mcap_t *m, const char *name, const double *value, int count)
{
    mcap_text(m, ",\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        if (i) mcap_text(m, ",");
        put_number(m, value[i]);
    }
    mcap_text(m, "]");
}

static void put_members(mcap_t *m, const char *names, const double *value)
{
    for (int i = 0; names[i]; i++) {
        mcap_text(m, "%s\"%c\":", i ? "," : "{", names[i]);
        put_number(m, value[i]);
    }
    mcap_text(m, "}");
}

static void put_pose(mcap_t *m, const pose_t *pose, const char *position, const char *orientation)
{
    double q[4];
    pose_quaternion(pose->R, q);
    mcap_text(m, "\"%s\":", position);
    put_members(m, "xyz", pose->t);
    mcap_text(m, ",\"%s\":", orientation);
    put_members(m, "xyzw", q);
}

/** Text within quotes. */
static void put_text(mcap_t *m, const char *text)
{
    mcap_text(m, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            mcap_text(m, "\\%c", *text);
        else if (*text >= ' ' && *text <= '~')
            mcap_text(m, "%c", *text);
    }
    mcap_text(m, "\"");
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/** A row in 8-bit grey, as vfront makes it: low bits are dropped, values over a format's range become white. */
static void make_grey(uint8_t *to, const vfront_picture_t *p, int32_t y)
{
    static const int shift[] = {0, 2, 4, 8, 0, 0};
    const uint8_t *row = (const uint8_t *)p->data + (size_t)y * p->pitch_bytes;
    const int is_wide = p->format >= VFRONT_GREY10 && p->format <= VFRONT_GREY16;
    for (int32_t x = 0; x < p->width_px; x++) {
        uint16_t value = row[p->format == VFRONT_YUYV ? 2 * x : is_wide ? 0 : x];
        if (is_wide) memcpy(&value, row + 2 * x, sizeof value);
        value = (uint16_t)(value >> shift[p->format]);
        to[x] = (uint8_t)(value > 255 ? 255 : value);
    }
}

static void put_image(exported_t *e, int32_t camera, const vfront_picture_t *p, uint64_t t_ns)
{
    mcap_t *m = e->mcap;
    const size_t width = (size_t)p->width_px, bytes = width * (size_t)p->height_px;
    if (p->format == VFRONT_NO_PICTURE || !p->data) return;
    for (int32_t y = 0; y < p->height_px; y++) make_grey(e->grey + (size_t)y * width, p, y);
    mcap_begin(m, e->image[camera], t_ns);
    mcap_text(m, "{");
    put_time(m, t_ns);
    mcap_text(m, ",\"frame_id\":\"camera%d\",\"width\":%d,\"height\":%d,\"encoding\":\"mono8\",\"step\":%d,\"data\":\"",
              (int)camera, (int)p->width_px, (int)p->height_px, (int)p->width_px);
    mcap_base64(m, e->grey, bytes);
    mcap_text(m, "\"}");
    mcap_end(m);
}

static void put_tracks(exported_t *e, const vfront_result_t *r)
{
    mcap_t *m = e->mcap;
    mcap_begin(m, e->tracks, r->t_ns);
    mcap_text(m, "{\"points\":[{");
    put_time(m, r->t_ns);
    mcap_text(m, ",\"type\":1,\"thickness\":4,\"outline_color\":{\"r\":0,\"g\":1,\"b\":0,\"a\":1},"
                 "\"fill_color\":{\"r\":0,\"g\":0,\"b\":0,\"a\":0},\"points\":[");
    for (uint32_t i = 0; i < r->tracks_count; i++)
        mcap_text(m, "%s{\"x\":%.4f,\"y\":%.4f}", i ? "," : "", (double)r->tracks[i].x_px + 0.5,
                  (double)r->tracks[i].y_px + 0.5); /* Foxglove's pixels have their corner at whole numbers */
    mcap_text(m, "],\"outline_colors\":[");
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const double old = r->tracks[i].age < 60 ? r->tracks[i].age / 60.0 : 1.0;
        mcap_text(m, "%s{\"r\":%.2f,\"g\":%.2f,\"b\":0,\"a\":1}", i ? "," : "", old, 1.0 - old);
    }
    mcap_text(m, "]}]}");
    mcap_end(m);
}

static void put_transform(exported_t *e, uint64_t t_ns, const pose_t *pose, int is_state)
{
    mcap_t *m = e->mcap;
    mcap_begin(m, e->tf, t_ns);
    mcap_text(m, "{");
    put_time(m, t_ns);
    mcap_text(m, ",\"parent_frame_id\":\"%s\",\"child_frame_id\":\"%s\",", is_state ? "odom" : "world",
              is_state ? "body" : "camera0");
    put_pose(m, pose, "translation", "rotation");
    mcap_text(m, "}");
    mcap_end(m);
}

/** Keep a pose; when there are too many, every second one goes. */
static void keep_pose(exported_t *e, uint64_t t_ns, const pose_t *pose)
{
    if (e->frames % e->every) return;
    if (e->poses == TRAJECTORY_POSES_MAX) {
        for (uint32_t i = 0; i < TRAJECTORY_POSES_MAX / 2; i++) e->pose[i] = e->pose[2 * i];
        e->poses = TRAJECTORY_POSES_MAX / 2;
        e->every *= 2;
    }
    e->pose[e->poses].t_ns = t_ns;
    e->pose[e->poses++].pose = *pose;
}

static void put_path(exported_t *e, uint64_t t_ns, int is_state)
{
    mcap_t *m = e->mcap;
    mcap_begin(m, e->path, t_ns);
    mcap_text(m, "{");
    put_time(m, t_ns);
    mcap_text(m, ",\"frame_id\":\"%s\",\"poses\":[", is_state ? "odom" : "world");
    for (uint32_t i = 0; i < e->poses; i++) {
        mcap_text(m, i ? ",{" : "{");
        put_pose(m, &e->pose[i].pose, "position", "orientation");
        mcap_text(m, "}");
    }
    mcap_text(m, "]}");
    mcap_end(m);
}

static void put_state(exported_t *e, const vfront_result_t *r)
{
    mcap_t *m = e->mcap;
    const vfront_nav_t *n = &r->nav;
    double sigma[15];
    for (int i = 0; i < 15; i++) sigma[i] = sqrt(state_variance(n, i));
    mcap_begin(m, e->state, r->t_ns);
    mcap_text(m, "{");
    put_time(m, r->t_ns);
    mcap_text(m, ",\"state\":\"%s\",\"quality\":%" PRIu32 ",\"reset_counter\":%" PRIu32 ",\"landmarks\":%" PRIu32,
              state_name(n->state), n->quality, n->reset_counter, n->landmarks);
    put_list(m, "position_m", n->position_m, 3);
    put_list(m, "velocity_mps", n->velocity_mps, 3);
    put_list(m, "q_wxyz", n->q_odom_imu, 4);
    put_list(m, "gyro_bias_rad_s", n->gyro_bias_rad_s, 3);
    put_list(m, "accel_bias_m_s2", n->accel_bias_m_s2, 3);
    put_list(m, "sigma", sigma, 15);
    mcap_text(m, "}");
    mcap_end(m);
}

static void put_health(exported_t *e, const vfront_result_t *r)
{
    mcap_t *m = e->mcap;
    const vfront_health_t *h = &r->health;
    mcap_begin(m, e->health, r->t_ns);
    mcap_text(m, "{");
    put_time(m, r->t_ns);
    mcap_text(m, ",\"state\":\"%s\",\"quality\":%" PRIu32 ",\"tracks\":%" PRIu32 ",\"keypoints\":%" PRIu32,
              results_state_name(h->state), h->quality, r->tracks_count, r->keypoints_count[0]);
    mcap_text(m, ",\"depths\":%" PRIu32 ",\"matches\":%" PRIu32 ",\"reset_counter\":%" PRIu32, r->depths_count,
              r->matches_count, h->reset_counter);
    mcap_text(m, ",\"motion_breaks\":%" PRIu32 ",\"step_us\":%.1f,\"failed_over\":%" PRIu32 "}", h->motion_breaks,
              (double)r->timing.step_us, r->timing.failed_over);
    mcap_end(m);
}

#if VFRONT_STIXELS
/** Bins are clockwise from straight ahead; a scan counts against the clock, from behind. Free and unknown: null. */
static void put_obstacles(exported_t *e, const vfront_result_t *r)
{
    mcap_t *m = e->mcap;
    const double turn = 6.283185307179586, bin = turn / VFRONT_OBSTACLE_BINS;
    if (!r->columns_count) return;
    mcap_begin(m, e->obstacles, r->t_ns);
    mcap_text(m, "{");
    put_time(m, r->t_ns);
    mcap_text(m, ",\"frame_id\":\"camera0\",\"pose\":{");
    /* x of the scan is z of the camera, y of the scan its -x */
    static const pose_t level = {{0, -1, 0, 0, 0, -1, 1, 0, 0}, {0, 0, 0}};
    put_pose(m, &level, "position", "orientation");
    mcap_text(m, "},\"start_angle\":%.9g,\"end_angle\":%.9g,\"ranges\":[", -0.5 * turn + bin, 0.5 * turn);
    for (int i = 0; i < VFRONT_OBSTACLE_BINS; i++) {
        const int of = (2 * VFRONT_OBSTACLE_BINS - (i + 1 - VFRONT_OBSTACLE_BINS / 2)) % VFRONT_OBSTACLE_BINS;
        const uint16_t cm = r->obstacles_cm[of];
        mcap_text(m, cm == VFRONT_OBSTACLE_UNKNOWN ? "%snull" : "%s%.2f", i ? "," : "", cm * 0.01);
    }
    mcap_text(m, "],\"intensities\":[]}");
    mcap_end(m);
}
#endif

void export_frame(exported_t *e, const vfront_frame_t *frame, const vfront_result_t *r, const pose_t *pose,
                  int is_state)
{
    for (int32_t i = 0; i < e->cameras; i++) put_image(e, i, &frame->picture[i], r->t_ns);
    put_tracks(e, r);
    if (pose) {
        keep_pose(e, r->t_ns, pose);
        put_transform(e, r->t_ns, pose, is_state);
        if (e->frames % TRAJECTORY_EVERY == 0) put_path(e, r->t_ns, is_state);
    }
    if (is_state) put_state(e, r);
    put_health(e, r);
#if VFRONT_STIXELS
    put_obstacles(e, r);
#endif
    e->frames++;
}

void export_log(exported_t *e, uint64_t t_ns, int is_error, const char *text)
{
    if (!e) return;
    mcap_begin(e->mcap, e->log, t_ns);
    mcap_text(e->mcap, "{");
    put_time(e->mcap, t_ns);
    mcap_text(e->mcap, ",\"level\":%d,\"message\":", is_error ? 4 : 3);
    put_text(e->mcap, text);
    mcap_text(e->mcap, ",\"name\":\"vfront\",\"file\":\"\",\"line\":0}");
    mcap_end(e->mcap);
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

const char *export_open(exported_t **out, const char *path, const vfront_rig_t *rig)
{
    static const char *const topic[] = {"/camera0/image", "/camera1/image"};
    size_t pixels = 1;
    *out = NULL;
    exported_t *e = calloc(1, sizeof *e);
    if (!e) return "no memory for the export";
    const char *error = mcap_open(&e->mcap, path, "vfront " VFRONT_VERSION);
    e->cameras = rig->cameras;
    e->every = 1;
    for (int32_t i = 0; i < e->cameras; i++) {
        const size_t count = (size_t)rig->camera[i].width_px * (size_t)rig->camera[i].height_px;
        if (count > pixels) pixels = count;
    }
    e->grey = malloc(pixels);
    if (!error && !e->grey) error = "no memory for the export";
    if (error) {
        mcap_close(e->mcap);
        free(e->grey);
        free(e);
        return error;
    }
    for (int32_t i = 0; i < e->cameras; i++)
        e->image[i] = mcap_channel(e->mcap, topic[i], "foxglove.RawImage", image_schema);
    e->tracks = mcap_channel(e->mcap, "/camera0/tracks", "foxglove.ImageAnnotations", tracks_schema);
    e->tf = mcap_channel(e->mcap, "/tf", "foxglove.FrameTransform", tf_schema);
    e->path = mcap_channel(e->mcap, "/path", "foxglove.PosesInFrame", path_schema);
    e->state = mcap_channel(e->mcap, "/state", "vfront.State", state_schema);
    e->health = mcap_channel(e->mcap, "/health", "vfront.Health", health_schema);
    e->obstacles = mcap_channel(e->mcap, "/obstacles", "foxglove.LaserScan", scan_schema);
    e->log = mcap_channel(e->mcap, "/log", "foxglove.Log", log_schema);
    *out = e;
    return NULL;
}

const char *export_close(exported_t *e)
{
    if (!e) return NULL;
    const char *error = mcap_close(e->mcap);
    free(e->grey);
    free(e);
    return error;
}
