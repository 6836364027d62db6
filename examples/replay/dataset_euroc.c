/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* access */
#include "dataset_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibration.h"

static const char *read_csv(struct picture_list *s, const char *folder)
{
    text_t t;
    char data[PATH_BYTES];
    const char *error = dataset_join(data, folder, "data");
    t.content = NULL; /* allows text_close() */
    if (!error) error = dataset_open_text(&t, folder, "data.csv");
    for (char *line; !error && (line = text_line(&t)) != NULL;) {
        uint64_t t_ns = 0;
        const char *name = dataset_read_time_ns(line, &t_ns);
        error = dataset_add_named(s, &t, data, t_ns, name, "time [ns],file name");
    }
    if (!error && !s->count) error = dataset_fail("%s: names no picture", t.path);
    text_close(&t);
    return error;
}

/** Path of the sensor.yaml of a sensor, or NULL if absent. */
static const char *sensor_file(char path[PATH_BYTES], const char *where, const char *sensor)
{
    char name[32];
    snprintf(name, sizeof name, "%s/sensor.yaml", sensor);
    return dataset_holds(where, name) && !dataset_join(path, where, name) ? path : NULL;
}

/** TUM-VI: Kalibr's files beside mav0, in dso. Returns 0 if they are not there, or cannot be read. */
static int calibrate_tum_vi(struct dataset *d, const char **error)
{
    char mav[PATH_BYTES + 4], path[PATH_BYTES];
    snprintf(mav, sizeof mav, "%s/..", d->folder);
    if (sensor_file(path, d->folder, "cam0") || dataset_join(path, mav, "dso/camchain.yaml") || access(path, F_OK) ||
        !calibration_reads_yaml())
        return 0;
    d->kind = "TUM-VI";
    *error = calibration_kalibr(&d->rig, path);
    if (!*error && !dataset_join(path, mav, "dso/imu_config.yaml") && access(path, F_OK) == 0)
        *error = calibration_imu(&d->rig.imu, path);
    return 1;
}

static const char *calibrate_euroc(struct dataset *d)
{
    const char *error = NULL;
    if (calibrate_tum_vi(d, &error)) return error;
    char path[CAMERAS_MAX + 1][PATH_BYTES];
    const char *camera[CAMERAS_MAX], *imu = sensor_file(path[CAMERAS_MAX], d->folder, "imu0");
    for (int32_t i = 0; i < d->rig.cameras; i++) {
        camera[i] = sensor_file(path[i], d->folder, i ? "cam1" : "cam0");
        if (!camera[i] || !calibration_reads_yaml())
            dataset_note("%s/cam%d/sensor.yaml: %s: the camera counts as uncalibrated", d->folder, (int)i,
                         camera[i] ? "this build has no libyaml to read it" : "missing");
    }
    return calibration_reads_yaml() ? calibration_euroc(&d->rig, camera, imu) : NULL;
}

const char *dataset_open_euroc(struct dataset *d, const char *where)
{
    d->kind = "EuRoC";
    d->calibrate = calibrate_euroc;
    d->truth_name[0] = "state_groundtruth_estimate0/data.csv";
    d->truth_name[1] = "mocap0/data.csv";
    snprintf(d->folder, sizeof d->folder, "%s", where);
    char folder[PATH_BYTES];
    const char *error = NULL;
    if (d->rig.cameras > 1 && !dataset_holds(where, "cam1")) d->rig.cameras = 1;
    for (int32_t i = 0; i < d->rig.cameras && !error; i++) {
        error = dataset_join(folder, where, i ? "cam1" : "cam0");
        if (!error) error = read_csv(&d->picture_list[i], folder);
    }
    if (!error && d->rig.cameras > 1) error = dataset_pair_by_time(&d->picture_list[0], &d->picture_list[1], where);
    if (!error) error = dataset_join(folder, where, "imu0");
    return error || !dataset_holds(folder, "data.csv") ? error : dataset_read_imu(d, folder, "data.csv", 0);
}
