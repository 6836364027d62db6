/* SPDX-License-Identifier: MIT */
#include "dataset_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibration.h"

/** Pictures of both cameras belong together by their names, behind as many letters as the names of `side` have, if the
 *  camera is in the name. */
static const char *pair_by_name(const struct picture_list *left, const struct picture_list *right,
                                const char *const side[2], int in_name)
{
    const uint32_t max = left->count > right->count ? left->count : right->count;
    const size_t skip[2] = {in_name ? strlen(side[0]) : 0, in_name ? strlen(side[1]) : 0};
    for (uint32_t i = 0; i < max; i++) {
        if (i >= left->count) return dataset_fail("%s has none of %s beside it", right->file[i].path, side[0]);
        if (i >= right->count)
            return dataset_fail("%s has none of %s beside it; --mono takes %s alone", left->file[i].path, side[1],
                                side[0]);
        if (strcmp(dataset_base_name(left->file[i].path) + skip[0], dataset_base_name(right->file[i].path) + skip[1]))
            return dataset_fail("%s and %s differ in name; --mono takes %s alone", left->file[i].path,
                                right->file[i].path, side[0]);
    }
    return NULL;
}

/** Place and errors of the IMU. */
static const char *calibrate_imu(struct dataset *d)
{
    char path[PATH_BYTES];
    const char *error = NULL;
    if (dataset_holds(d->folder, "T_cam0_imu.txt")) {
        error = dataset_join(path, d->folder, "T_cam0_imu.txt");
        if (!error) error = calibration_kitti_imu(&d->rig, path);
    }
    if (error || !dataset_holds(d->folder, "imu.yaml")) return error;
    error = dataset_join(path, d->folder, "imu.yaml");
    return error ? error : calibration_imu(&d->rig.imu, path);
}

static const char *calibrate_kitti(struct dataset *d)
{
    char path[PATH_BYTES];
    if (!dataset_holds(d->folder, "calib.txt")) return NULL;
    const char *error = dataset_join(path, d->folder, "calib.txt");
    if (!error) error = calibration_kitti(&d->rig, path);
    return error || !d->imu_count ? error : calibrate_imu(d);
}

/** Names of the ground truth files of a data set in one folder. */
static void set_folder(struct dataset *d, const char *where)
{
    d->truth_name[0] = "poses.txt";
    d->truth_name[1] = "groundtruth.txt";
    snprintf(d->folder, sizeof d->folder, "%s", where);
}

/** Pictures of each camera in a folder of its own, in pairs of one name; times in the folder around them. */
static const char *open_folders(struct dataset *d, const char *where, const char *const name[CAMERAS_MAX],
                                uint64_t interval_ns)
{
    const char *error = NULL;
    set_folder(d, where);
    if (d->rig.cameras > 1 && !dataset_holds(where, name[1])) d->rig.cameras = 1;
    for (int32_t i = 0; i < d->rig.cameras && !error; i++) {
        char folder[PATH_BYTES];
        error = dataset_join(folder, where, name[i]);
        if (!error) error = dataset_add_folder(&d->picture_list[i], folder);
    }
    if (!error && d->rig.cameras > 1) error = pair_by_name(&d->picture_list[0], &d->picture_list[1], name, 0);
    return error ? error : dataset_add_times(&d->picture_list[0], where, interval_ns);
}

const char *dataset_open_kitti(struct dataset *d, const char *where)
{
    static const char *const folder_of[] = {"image_0", "image_1"};
    d->kind = "KITTI";
    d->calibrate = calibrate_kitti;
    const char *error = open_folders(d, where, folder_of, 100000000u);
    return error || !dataset_holds(where, "imu.csv") ? error : dataset_read_imu(d, where, "imu.csv", 1);
}

static const char *const side[] = {"left", "right"};

const char *dataset_open_sides(struct dataset *d, const char *where)
{
    d->kind = "folders left and right";
    return open_folders(d, where, side, 33333333u);
}

static int begins_with(const struct picture_file *f, const char *word)
{
    return strncmp(dataset_base_name(f->path), word, strlen(word)) == 0;
}

/** Pictures left... of a folder are those of camera 0, right... those of camera 1; others beside them are left out. */
static const char *split_sides(struct dataset *d, const char *where)
{
    struct picture_list all = d->picture_list[0];
    const char *error = NULL;
    uint32_t others = 0;
    memset(&d->picture_list[0], 0, sizeof d->picture_list[0]);
    for (uint32_t i = 0; i < all.count; i++) {
        const int is[] = {begins_with(&all.file[i], side[0]), begins_with(&all.file[i], side[1])};
        others += !is[0] && !is[1];
        for (int32_t k = 0; k < d->rig.cameras && !error; k++)
            if (is[k]) error = dataset_add_picture(&d->picture_list[k], 0, all.file[i].path);
        free(all.file[i].path);
    }
    free(all.file);
    if (others && !error)
        dataset_note("%s: %u pictures begin with neither left nor right and are left out", where, others);
    return error || d->rig.cameras < 2 ? error : pair_by_name(&d->picture_list[0], &d->picture_list[1], side, 1);
}

const char *dataset_open_folder(struct dataset *d, const char *where)
{
    set_folder(d, where);
    const char *error = dataset_add_folder(&d->picture_list[0], where);
    int has[] = {0, 0};
    for (uint32_t i = 0; i < d->picture_list[0].count; i++)
        for (int k = 0; k < 2; k++) has[k] |= begins_with(&d->picture_list[0].file[i], side[k]);
    d->kind = has[0] && has[1] ? "folder of left and right pictures" : "folder of pictures";
    if (!has[0] || !has[1]) d->rig.cameras = 1;
    if (!error && has[0] && has[1]) error = split_sides(d, where);
    return error ? error : dataset_add_times(&d->picture_list[0], where, 33333333u);
}
