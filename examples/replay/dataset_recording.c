/* SPDX-License-Identifier: MIT */
#include "dataset_internal.h"

#include <string.h>

/** Times of the frames, as lists of pictures have them. */
static const char *list_times(struct dataset *d)
{
    for (uint32_t i = 0; i < reader_frames(d->recording); i++) {
        const char *error = dataset_add_picture(&d->picture_list[0], reader_time_ns(d->recording, i), "");
        if (error) return error;
    }
    return NULL;
}

/** What samples the frames have, by the first ones: a recording may begin without. */
static const char *look_for_samples(struct dataset *d)
{
    const recorded_frame_t *r;
    const uint32_t frames = reader_frames(d->recording);
    for (uint32_t i = 0; i < frames && i < 10 && !d->has_gyro; i++) {
        const char *error = reader_frame(d->recording, i, &r);
        if (error) return error;
        d->has_gyro = r->frame.gyro || r->frame.imu;
        d->has_imu = r->frame.imu != NULL;
    }
    return NULL;
}

const char *dataset_open_recording(struct dataset *d, const char *where)
{
    const int32_t cameras = d->rig.cameras;
    int is_cut;
    d->kind = "recording";
    const char *error = reader_open(&d->recording, where);
    if (error) return error;
    const char *trouble = reader_trouble(d->recording, &is_cut);
    if (trouble) dataset_note("%s: %s; %u frames are whole", where, trouble, (unsigned)reader_frames(d->recording));
    if (!reader_frames(d->recording)) return dataset_fail("%s: no frame in it", where);
    d->rig = reader_header(d->recording)->rig;
    if (cameras < d->rig.cameras) d->rig.cameras = cameras;
    error = look_for_samples(d);
    return error ? error : list_times(d);
}

const char *dataset_read_recording(struct dataset *d, uint32_t index, vfront_frame_t *frame)
{
    const recorded_frame_t *r;
    const char *error = reader_frame(d->recording, index, &r);
    if (error) return error;
    *frame = r->frame;
    d->after_reset = r->after_reset;
    return NULL;
}
