/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* access */
#include "dataset_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibration.h"

/** T_BS of a sensor.yaml, or identity if the file is absent. */
static const char *sensor_pose(pose_t *T_body_sensor, const char *path)
{
    *T_body_sensor = pose_identity;
    return access(path, F_OK) || !calibration_reads_yaml() ? NULL : calibration_sensor(T_body_sensor, path);
}

/** Extrinsics of camera 0 in the ground truth sensor S: T_S_cam = T_S_body T_body_imu T_imu_cam. T_BS of S lies
 *  beside its poses, that of the IMU in the data set. */
static const char *set_truth_extrinsics(struct dataset *d, const char *path)
{
    char sensor[PATH_BYTES + 16], imu[PATH_BYTES];
    pose_t T_body_sensor, T_body_imu = pose_identity;
    const pose_t T_cam_imu = calibration_extrinsics(&d->rig.camera[0]), T_imu_cam = pose_inverse(&T_cam_imu);
    snprintf(sensor, sizeof sensor, "%.*ssensor.yaml", (int)(dataset_base_name(path) - path), path);
    const char *error = sensor_pose(&T_body_sensor, sensor);
    if (!error) error = dataset_join(imu, d->folder, "imu0/sensor.yaml");
    if (!error && *d->folder) error = sensor_pose(&T_body_imu, imu);
    if (error) return error;
    const pose_t T_sensor_body = pose_inverse(&T_body_sensor), T_sensor_imu = pose_compose(&T_sensor_body, &T_body_imu);
    d->T_sensor_cam = pose_compose(&T_sensor_imu, &T_imu_cam);
    return NULL;
}

static const char *open_truth(struct dataset *d, const char *path)
{
    static const double none[9];
    const char *error = truth_read(&d->truth, path);
    if (error) return error;
    d->has_truth = 1;
    if (d->truth.kind == TRUTH_KITTI && d->truth.count < d->frames)
        return dataset_fail("%s: %u poses for %u pictures", path, (unsigned)d->truth.count, (unsigned)d->frames);
    if (d->truth.kind != TRUTH_EUROC) return NULL;
    if (memcmp(d->rig.camera[0].R_cam_imu, none, sizeof none)) return set_truth_extrinsics(d, path);
    if (d->rig.camera[0].fx_px != 0.0)
        dataset_note("%s: poses of the body, but the calibration has no pose of camera 0 on it: no ground truth", path);
    d->has_truth = 0;
    return NULL;
}

const char *dataset_find_truth(struct dataset *d, const char *path)
{
    char own[PATH_BYTES];
    d->T_sensor_cam = pose_identity;
    if (path) return strcmp(path, "none") ? open_truth(d, path) : NULL;
    d->has_truth = d->flight || d->course;
    for (int i = 0; i < 2; i++) {
        const char *name = d->truth_name[i];
        if (!name || !dataset_holds(d->folder, name)) continue;
        const char *error = dataset_join(own, d->folder, name);
        return error ? error : open_truth(d, own);
    }
    return NULL;
}

int dataset_has_truth(const dataset_t *d) { return d->has_truth; }

int dataset_truth(const dataset_t *d, uint32_t index, const vfront_camera_t *seen, pose_t *T_world_cam)
{
    pose_t T_world_sensor;
    if (!d->has_truth) return 0;
    if (d->truth.count) {
        if (!truth_at(&d->truth, index, dataset_time_ns(d, index), &T_world_sensor)) return 0;
    } else if (d->course) {
        course_pose(d->course, dataset_middle_ns(d, index), T_world_sensor.R, T_world_sensor.t);
    } else {
        synthetic_pose(d->flight_start + index, T_world_sensor.R, T_world_sensor.t);
    }
    const pose_t T_cam_imu = calibration_extrinsics(&d->rig.camera[0]), T_seen_imu = calibration_extrinsics(seen);
    const pose_t T_imu_seen = pose_inverse(&T_seen_imu), T_cam_seen = pose_compose(&T_cam_imu, &T_imu_seen);
    const pose_t T_sensor_seen = pose_compose(&d->T_sensor_cam, &T_cam_seen);
    *T_world_cam = pose_compose(&T_world_sensor, &T_sensor_seen);
    return 1;
}
