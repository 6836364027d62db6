/* SPDX-License-Identifier: MIT */
#include "dataset_internal.h"

#include <stdio.h>
#include <string.h>

#include "calibration.h"

static const char *pair_by_name(const struct picture_list *left, const struct picture_list *right)
{
    const uint32_t most = left->count > right->count ? left->count : right->count;
    for (uint32_t i = 0; i < most; i++) {
        if (i >= left->count) return dataset_fail("%s has no picture in image_0", right->file[i].path);
        if (i >= right->count)
            return dataset_fail("%s has no picture in image_1; --mono takes image_0 alone", left->file[i].path);
        if (strcmp(dataset_base_name(left->file[i].path), dataset_base_name(right->file[i].path)) != 0)
            return dataset_fail("%s and %s differ in name; --mono takes image_0 alone", left->file[i].path,
                                right->file[i].path);
    }
    return NULL;
}

static const char *calibrate_kitti(struct dataset *d)
{
    char path[PATH_BYTES];
    if (!dataset_holds(d->folder, "calib.txt")) return NULL;
    const char *error = dataset_join(path, d->folder, "calib.txt");
    return error ? error : calibration_kitti(&d->rig, path);
}

/** Names of the ground truth files of a data set in one folder. */
static void set_folder(struct dataset *d, const char *where)
{
    d->truth_name[0] = "poses.txt";
    d->truth_name[1] = "groundtruth.txt";
    snprintf(d->folder, sizeof d->folder, "%s", where);
}

const char *dataset_open_kitti(struct dataset *d, const char *where)
{
    d->kind = "KITTI";
    d->calibrate = calibrate_kitti;
    set_folder(d, where);
    const char *error = NULL;
    if (d->rig.cameras > 1 && !dataset_holds(where, "image_1")) d->rig.cameras = 1;
    for (int32_t i = 0; i < d->rig.cameras && !error; i++) {
        char folder[PATH_BYTES];
        error = dataset_join(folder, where, i ? "image_1" : "image_0");
        if (!error) error = dataset_add_folder(&d->picture_list[i], folder);
    }
    if (!error && d->rig.cameras > 1) error = pair_by_name(&d->picture_list[0], &d->picture_list[1]);
    return error ? error : dataset_add_times(&d->picture_list[0], where, 100000000u);
}

const char *dataset_open_folder(struct dataset *d, const char *where)
{
    d->kind = "folder of pictures";
    d->rig.cameras = 1;
    set_folder(d, where);
    const char *error = dataset_add_folder(&d->picture_list[0], where);
    return error ? error : dataset_add_times(&d->picture_list[0], where, 33333333u);
}
