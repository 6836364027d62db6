/* SPDX-License-Identifier: MIT */
#include "export.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibration.h"
#include "export_schema.h"
#include "picture.h"
#include "results.h"
#include "state.h"
#include "examples/recording/frame.h"
#include "examples/recording/mcap.h"

#define TRAJECTORY_POSES_MAX 1000u
#define TRAJECTORY_EVERY 10u
#define IMU_FRAME "imu"

static const char *const camera_frame[] = {"camera0", "camera1"};

struct exported {
    mcap_t *mcap;
    vfront_rig_t rig;
    int is_raw; /* 1: pictures as they are, in a build without libpng */
    int image[VFRONT_CAMERAS], info[VFRONT_CAMERAS], imu, tracks, points, tf_static, tf, odometry, path, state, health;
    int obstacles, log;
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

static const char state_schema[] = OBJECT(
    "\"timestamp\":" TIME ",\"state\":" TEXT ",\"quality\":" INTEGER ",\"reset_counter\":" INTEGER
    ",\"landmarks\":" INTEGER ",\"position_m\":" NUMBERS ",\"velocity_mps\":" NUMBERS ",\"q_wxyz\":" NUMBERS
    ",\"gyro_bias_rad_s\":" NUMBERS ",\"accel_bias_m_s2\":" NUMBERS ",\"sigma\":" NUMBERS);
static const char health_schema[] = OBJECT(
    "\"timestamp\":" TIME ",\"state\":" TEXT ",\"quality\":" INTEGER ",\"tracks\":" INTEGER ",\"keypoints\":" INTEGER
    ",\"depths\":" INTEGER ",\"matches\":" INTEGER ",\"reset_counter\":" INTEGER ",\"motion_breaks\":" INTEGER
    ",\"step_us\":" NUMBER ",\"failed_over\":" INTEGER);
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

static void put_header(mcap_t *m, uint64_t t_ns, const char *frame)
{
    mcap_put_time(m, t_ns);
    mcap_put_string(m, frame);
}

static void put_pose(mcap_t *m, const pose_t *pose)
{
    double q[4];
    pose_quaternion(pose->R, q);
    mcap_put_doubles(m, pose->t, 3);
    mcap_put_doubles(m, q, 4);
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
    const size_t width = (size_t)p->width_px;
    size_t bytes = width * (size_t)p->height_px;
    if (p->format == VFRONT_NO_PICTURE || !p->data) return;
    for (int32_t y = 0; y < p->height_px; y++) make_grey(e->grey + (size_t)y * width, p, y);
    uint8_t *png = e->is_raw ? NULL : picture_encode(e->grey, p->width_px, p->height_px, &bytes);
    if (!png && !e->is_raw) return;
    mcap_begin(m, e->image[camera], t_ns);
    put_header(m, t_ns, camera_frame[camera]);
    if (png) {
        mcap_put_string(m, "mono8; png compressed ");
    } else {
        mcap_put(m, (uint32_t)p->height_px, 4);
        mcap_put(m, width, 4);
        mcap_put_string(m, "mono8");
        mcap_put(m, 0, 1);
        mcap_put(m, width, 4);
    }
    mcap_put_bytes(m, png ? png : e->grey, bytes);
    mcap_end(m);
    free(png);
}

/** Lens of a calibrated camera. Poses are in /tf_static: R is the identity, and P that of this camera alone. */
static void put_info(exported_t *e, int32_t camera, uint64_t t_ns)
{
    static const int coefficients[] = {5, 8, 4, 2, 2, 5};
    mcap_t *m = e->mcap;
    const vfront_camera_t *c = &e->rig.camera[camera];
    const double K[9] = {c->fx_px, 0, c->cx_px, 0, c->fy_px, c->cy_px, 0, 0, 1};
    if (c->fx_px == 0.0) return;
    mcap_begin(m, e->info[camera], t_ns);
    put_header(m, t_ns, camera_frame[camera]);
    mcap_put(m, (uint32_t)c->height_px, 4);
    mcap_put(m, (uint32_t)c->width_px, 4);
    mcap_put_string(m, calibration_ros_model(c->lens));
    mcap_put(m, (uint64_t)coefficients[c->lens], 4);
    mcap_put_doubles(m, c->distortion, coefficients[c->lens]);
    mcap_put_doubles(m, K, 9);
    mcap_put_doubles(m, pose_identity.R, 9);
    for (int row = 0; row < 3; row++) {
        mcap_put_doubles(m, K + 3 * row, 3);
        mcap_put_double(m, 0.0);
    }
    for (int i = 0; i < 6; i++) mcap_put(m, 0, 4); /* binning, region */
    mcap_put(m, 0, 1);
    mcap_end(m);
}

static void put_samples(exported_t *e, const vfront_frame_t *frame)
{
    static const double none[9], unknown[9] = {-1};
    mcap_t *m = e->mcap;
    for (uint32_t i = 0; i < frame->imu_count; i++) {
        const vfront_imu_t *s = &frame->imu[i];
        mcap_begin(m, e->imu, s->t_ns);
        put_header(m, s->t_ns, IMU_FRAME);
        mcap_put_doubles(m, none, 3); /* no orientation: */
        mcap_put_double(m, 1.0);
        mcap_put_doubles(m, unknown, 9);
        mcap_put_doubles(m, s->gyro_rad_s, 3);
        mcap_put_doubles(m, none, 9);
        mcap_put_doubles(m, s->accel_m_s2, 3);
        mcap_put_doubles(m, none, 9);
        mcap_end(m);
    }
}

static void put_color(mcap_t *m, double red, double green, double blue, double alpha)
{
    const double color[4] = {red, green, blue, alpha};
    mcap_put_doubles(m, color, 4);
}

static void put_tracks(exported_t *e, const vfront_result_t *r)
{
    mcap_t *m = e->mcap;
    mcap_begin(m, e->tracks, r->t_ns);
    mcap_put(m, 0, 4); /* circles */
    mcap_put(m, 1, 4);
    mcap_put_time(m, r->t_ns);
    mcap_put(m, 1, 1); /* single points */
    mcap_put(m, r->tracks_count, 4);
    for (uint32_t i = 0; i < r->tracks_count; i++) { /* Foxglove's pixels have their corner at whole numbers */
        mcap_put_double(m, (double)r->tracks[i].x_px + 0.5);
        mcap_put_double(m, (double)r->tracks[i].y_px + 0.5);
    }
    put_color(m, 0, 1, 0, 1);
    mcap_put(m, r->tracks_count, 4);
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const double old = r->tracks[i].age < 60 ? r->tracks[i].age / 60.0 : 1.0;
        put_color(m, old, 1.0 - old, 0, 1);
    }
    put_color(m, 0, 0, 0, 0);
    mcap_put_double(m, 4.0);
    mcap_put(m, 0, 4); /* texts */
    mcap_end(m);
}

#if VFRONT_STEREO
/** Key points of camera 0 with a depth: x, y, z, deviation of z [m]. */
static void put_points(exported_t *e, const vfront_result_t *r)
{
    static const char *const name[] = {"x", "y", "z", "sigma"};
    mcap_t *m = e->mcap;
    if (!r->depths_count) return;
    mcap_begin(m, e->points, r->t_ns);
    put_header(m, r->t_ns, camera_frame[0]);
    mcap_put(m, 1, 4);
    mcap_put(m, r->depths_count, 4);
    mcap_put(m, 4, 4);
    for (uint32_t i = 0; i < 4; i++) {
        mcap_put_string(m, name[i]);
        mcap_put(m, 4 * i, 4);
        mcap_put(m, 7, 1); /* float32 */
        mcap_put(m, 1, 4);
    }
    mcap_put(m, 0, 1);
    mcap_put(m, 16, 4);
    mcap_put(m, 16 * (uint64_t)r->depths_count, 4);
    mcap_put(m, 16 * (uint64_t)r->depths_count, 4);
    for (uint32_t i = 0; i < r->depths_count; i++) {
        const float *ray = r->keypoints[0][r->depths[i].keypoint].bearing, depth = r->depths[i].depth_m;
        mcap_put_float(m, ray[0] / ray[2] * depth);
        mcap_put_float(m, ray[1] / ray[2] * depth);
        mcap_put_float(m, depth);
        mcap_put_float(m, r->depths[i].sigma_m);
    }
    mcap_put(m, 1, 1);
    mcap_end(m);
}
#endif

static void put_transform(mcap_t *m, uint64_t t_ns, const char *parent, const char *child, const pose_t *T_parent_child)
{
    put_header(m, t_ns, parent);
    mcap_put_string(m, child);
    put_pose(m, T_parent_child);
}

/** Cameras on the IMU, and the axes of the obstacles: x of the scan is z of the camera, y of the scan its -x. */
static void put_mount(exported_t *e, uint64_t t_ns)
{
    static const pose_t level = {{0, -1, 0, 0, 0, -1, 1, 0, 0}, {0, 0, 0}};
    mcap_t *m = e->mcap;
    mcap_begin(m, e->tf_static, t_ns);
    mcap_put(m, (uint64_t)e->rig.cameras + 1, 4);
    for (int32_t i = 0; i < e->rig.cameras; i++) {
        const pose_t T_cam_imu = calibration_extrinsics(&e->rig.camera[i]), T_imu_cam = pose_inverse(&T_cam_imu);
        put_transform(m, t_ns, IMU_FRAME, camera_frame[i], &T_imu_cam);
    }
    put_transform(m, t_ns, camera_frame[0], "obstacles", &level);
    mcap_end(m);
}

/** Pose of the IMU; of a motion of camera 0 by way of its place on the IMU. */
static void put_motion(exported_t *e, uint64_t t_ns, const pose_t *pose, int is_state)
{
    const pose_t T_cam_imu = calibration_extrinsics(&e->rig.camera[0]), moved = pose_compose(pose, &T_cam_imu);
    mcap_begin(e->mcap, e->tf, t_ns);
    mcap_put(e->mcap, 1, 4);
    put_transform(e->mcap, t_ns, is_state ? "odom" : "world", IMU_FRAME, is_state ? pose : &moved);
    mcap_end(e->mcap);
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
    const char *frame = is_state ? "odom" : "world";
    mcap_begin(m, e->path, t_ns);
    put_header(m, t_ns, frame);
    mcap_put(m, e->poses, 4);
    for (uint32_t i = 0; i < e->poses; i++) {
        put_header(m, e->pose[i].t_ns, frame);
        put_pose(m, &e->pose[i].pose);
    }
    mcap_end(m);
}

/** Covariance of the velocity in axes of the IMU: R_true = exp([w]) R, so that its error is R^T (dv + v x w). */
static void velocity_covariance(const vfront_nav_t *n, const double R[9], double C[36])
{
    const double *v = n->velocity_mps, cross[9] = {0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0};
    double J[18];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            J[6 * i + k] = R[i] * cross[k] + R[3 + i] * cross[3 + k] + R[6 + i] * cross[6 + k];
            J[6 * i + 3 + k] = R[3 * k + i];
        }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            for (int a = 0; a < 6; a++)
                for (int b = 0; b < 6; b++)
                    C[6 * i + k] += J[6 * i + a] * state_covariance(n, 3 + a, 3 + b) * J[6 * k + b];
}

static void put_odometry(exported_t *e, const vfront_frame_t *frame, const vfront_result_t *r)
{
    mcap_t *m = e->mcap;
    const vfront_nav_t *n = &r->nav;
    double R[9], speed[3], rate[3] = {0}, C[36] = {0};
    const double xyzw[4] = {n->q_odom_imu[1], n->q_odom_imu[2], n->q_odom_imu[3], n->q_odom_imu[0]};
    pose_rotation(R, xyzw);
    for (int i = 0; i < 3; i++)
        speed[i] = R[i] * n->velocity_mps[0] + R[3 + i] * n->velocity_mps[1] + R[6 + i] * n->velocity_mps[2];
    for (int i = 0; i < 3 && frame->imu_count; i++)
        rate[i] = frame->imu[frame->imu_count - 1].gyro_rad_s[i] - n->gyro_bias_rad_s[i];
    mcap_begin(m, e->odometry, r->t_ns);
    put_header(m, r->t_ns, "odom");
    mcap_put_string(m, IMU_FRAME);
    mcap_put_doubles(m, n->position_m, 3);
    mcap_put_doubles(m, xyzw, 4);
    for (int i = 0; i < 36; i++) mcap_put_double(m, state_covariance(n, i / 6, i % 6));
    mcap_put_doubles(m, speed, 3);
    mcap_put_doubles(m, rate, 3);
    velocity_covariance(n, R, C);
    for (int i = 0; i < 9; i++) C[6 * (3 + i / 3) + 3 + i % 3] = state_covariance(n, 9 + i / 3, 9 + i % 3);
    mcap_put_doubles(m, C, 36);
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
/** Bins are clockwise from straight ahead; a scan counts against the clock, from behind. Unknown: not a number. */
static void put_obstacles(exported_t *e, const vfront_result_t *r)
{
    mcap_t *m = e->mcap;
    const double turn = 6.283185307179586, bin = turn / VFRONT_OBSTACLE_BINS;
    if (!r->columns_count) return;
    mcap_begin(m, e->obstacles, r->t_ns);
    put_header(m, r->t_ns, "obstacles");
    mcap_put_float(m, (float)(-0.5 * turn + bin));
    mcap_put_float(m, (float)(0.5 * turn));
    mcap_put_float(m, (float)bin);
    mcap_put_float(m, 0.0f);
    mcap_put_float(m, 0.0f);
    mcap_put_float(m, 0.0f);
    mcap_put_float(m, 0.01f * (VFRONT_OBSTACLE_UNKNOWN - 1));
    mcap_put(m, VFRONT_OBSTACLE_BINS, 4);
    for (int i = 0; i < VFRONT_OBSTACLE_BINS; i++) {
        const int of = (2 * VFRONT_OBSTACLE_BINS - (i + 1 - VFRONT_OBSTACLE_BINS / 2)) % VFRONT_OBSTACLE_BINS;
        const uint16_t cm = r->obstacles_cm[of];
        mcap_put_float(m, cm == VFRONT_OBSTACLE_UNKNOWN ? NAN : (float)cm * 0.01f);
    }
    mcap_put(m, 0, 4); /* intensities */
    mcap_end(m);
}
#endif

void export_frame(exported_t *e, const vfront_frame_t *frame, const vfront_result_t *r, const pose_t *pose,
                  int is_state)
{
    if (!e->frames) put_mount(e, r->t_ns);
    put_samples(e, frame);
    for (int32_t i = 0; i < e->rig.cameras; i++) {
        put_info(e, i, r->t_ns);
        put_image(e, i, &frame->picture[i], r->t_ns);
    }
    put_tracks(e, r);
#if VFRONT_STEREO
    put_points(e, r);
#endif
    if (pose) {
        keep_pose(e, r->t_ns, pose);
        put_motion(e, r->t_ns, pose, is_state);
        if (e->frames % TRAJECTORY_EVERY == 0) put_path(e, r->t_ns, is_state);
    }
    if (is_state) put_odometry(e, frame, r);
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
    mcap_put_time(e->mcap, t_ns);
    mcap_put(e->mcap, is_error ? 40 : 30, 1);
    mcap_put_string(e->mcap, "vfront");
    mcap_put_string(e->mcap, text);
    mcap_put_string(e->mcap, "");
    mcap_put_string(e->mcap, "");
    mcap_put(e->mcap, 0, 4);
    mcap_end(e->mcap);
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

const char *export_open(exported_t **out, const char *path, const vfront_rig_t *rig)
{
    static const char *const topic[] = {"/camera0/image", "/camera1/image"};
    static const char *const info[] = {"/camera0/camera_info", "/camera1/camera_info"};
    size_t pixels = 1;
    *out = NULL;
    exported_t *e = calloc(1, sizeof *e);
    if (!e) return "no memory for the export";
    const char *error = mcap_open(&e->mcap, path, "vfront " VFRONT_VERSION);
    e->rig = *rig;
    e->every = 1;
    uint8_t *png = picture_encode((const uint8_t[256]){0}, 16, 16, &pixels);
    e->is_raw = !png;
    free(png);
    pixels = 1;
    for (int32_t i = 0; i < e->rig.cameras; i++) {
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
    for (int32_t i = 0; i < e->rig.cameras; i++) {
        e->info[i] = mcap_channel(e->mcap, info[i], "sensor_msgs/msg/CameraInfo", info_schema);
        e->image[i] = e->is_raw ? mcap_channel(e->mcap, topic[i], "sensor_msgs/msg/Image", raw_image_schema)
                                : mcap_channel(e->mcap, topic[i], "sensor_msgs/msg/CompressedImage", image_schema);
    }
    e->imu = mcap_channel(e->mcap, "/imu", "sensor_msgs/msg/Imu", imu_schema);
    e->tracks = mcap_channel(e->mcap, "/camera0/tracks", "foxglove_msgs/msg/ImageAnnotations", tracks_schema);
    e->points = mcap_channel(e->mcap, "/points", "sensor_msgs/msg/PointCloud2", points_schema);
    e->tf_static = mcap_channel(e->mcap, "/tf_static", "tf2_msgs/msg/TFMessage", tf_schema);
    e->tf = mcap_channel(e->mcap, "/tf", "tf2_msgs/msg/TFMessage", tf_schema);
    e->odometry = mcap_channel(e->mcap, "/odometry", "nav_msgs/msg/Odometry", odometry_schema);
    e->path = mcap_channel(e->mcap, "/path", "nav_msgs/msg/Path", path_schema);
    e->state = mcap_channel(e->mcap, "/state", "vfront.State", state_schema);
    e->health = mcap_channel(e->mcap, "/health", "vfront.Health", health_schema);
    e->obstacles = mcap_channel(e->mcap, "/obstacles", "sensor_msgs/msg/LaserScan", scan_schema);
    e->log = mcap_channel(e->mcap, "/log", "rcl_interfaces/msg/Log", log_schema);
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
