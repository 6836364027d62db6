/* SPDX-License-Identifier: MIT
 *
 * Parts of data sets (dataset.h), shared by its files: dataset_list.c has lists of picture files, dataset_euroc.c,
 * dataset_kitti.c, dataset_tum.c, dataset_mcap.c and dataset_recording.c the formats, dataset_imu.c samples,
 * dataset_truth.c ground truth of cameras, dataset_state.c that of the IMU, dataset.c the rest.
 *
 * A function that can fail returns NULL, or a one-line message, valid until the next call.
 */
#ifndef DATASET_INTERNAL_H
#define DATASET_INTERNAL_H

#include "dataset.h"
#include "examples/synthetic/course.h"
#include "picture.h"
#include "examples/recording/reader.h"
#include "examples/synthetic/synthetic.h"
#include "examples/common/text.h"
#include "truth.h"

#define PATH_BYTES TEXT_PATH_BYTES
#define CAMERAS_MAX 2
#define SAME_TIME_NS 1000000u /* pictures of two cameras up to so far apart belong to one frame */

/** Picture of one camera. */
struct picture_file {
    uint64_t t_ns;
    char *path;      /* or the topic of a message */
    uint32_t number; /* of the message among those of its topic */
};

/** Pictures of one camera, in the order of time. */
struct picture_list {
    struct picture_file *file;
    uint32_t count, capacity;
};

struct dataset {
    const char *kind;
    const char *(*calibrate)(
        struct dataset *d);    /* reads the calibration of the data set; NULL: it has none, or it is read already */
    const char *truth_name[2]; /* file names of its ground truth */
    char folder[PATH_BYTES];   /* of calibration and ground truth */
    uint32_t frames;
    vfront_rig_t rig;
    struct picture_list picture_list[CAMERAS_MAX]; /* frame i is picture i of each camera */
    picture_t picture[CAMERAS_MAX];
    vfront_imu_t *imu; /* samples, by rising time */
    uint32_t imu_count;
    int has_gyro;          /* 1: IMU samples, or the flight's gyro, and a calibration with which they are of use */
    synthetic_t *flight;   /* the rendered flight, or NULL */
    uint32_t flight_start; /* the frame that it begins with */
    course_t *course;      /* the flight along a trajectory, or NULL */
    reader_t *recording;   /* the recording, or NULL */
    struct mcap_set *mcap; /* the MCAP file, or NULL */
    void *live;            /* cameras or a video, or NULL */
    int has_ended;         /* 1: they gave no frame */
    int has_imu;           /* 1: its frames have samples of an IMU, not of a gyro alone */
    int after_reset;       /* 1: vfront_reset() was called before the frame read last */
    vfront_gyro_t rendered_gyro[VFRONT_GYRO_SAMPLES];
    int renders_imu; /* 1: the flight gives rendered_imu in place of rendered_gyro */
    vfront_imu_t rendered_imu[VFRONT_IMU_SAMPLES];
    truth_t truth;
    pose_t T_sensor_cam; /* camera 0 in the sensor of the ground truth */
    int has_truth;
    double R_up_truth[9];          /* from the world of ground truth to one whose z is up */
    int has_up;                    /* 1: it is known */
    int noted_coloured, noted_imu; /* notes are printed once */
};

/** Stamp of a frame, and the middle of its exposure [ns]. */
uint64_t dataset_time_ns(const struct dataset *d, uint32_t index);
uint64_t dataset_middle_ns(const struct dataset *d, uint32_t index);

/** Format the message of a failed function. */
__attribute__((format(printf, 1, 2))) const char *dataset_fail(const char *format, ...);

/** Print "note: " and a line to stderr. */
__attribute__((format(printf, 1, 2))) void dataset_note(const char *format, ...);

/** path = folder/name. */
const char *dataset_join(char path[PATH_BYTES], const char *folder, const char *name);

/** 1 if a folder contains an entry of this name; 0 also for a path that is too long. */
int dataset_holds(const char *folder, const char *name);

/** File name of a path. */
const char *dataset_base_name(const char *path);

/** Open a text file of a folder. On failure it may be closed too. */
const char *dataset_open_text(text_t *t, const char *folder, const char *name);

/** Time at the start of a line [ns]. Returns the rest of the line after the comma, or NULL. */
char *dataset_read_time_ns(char *line, uint64_t *t_ns);

/** Append a picture. */
const char *dataset_add_picture(struct picture_list *s, uint64_t t_ns, const char *path);

/** Append the picture that a line of a list names: a file `name` of `folder`, NULL or "" where the line has no time or
 *  no name. Times must rise; `form` is what a line should look like. */
const char *dataset_add_named(struct picture_list *s, const text_t *list, const char *folder, uint64_t t_ns,
                              const char *name, const char *form);

/** Append all pictures of a folder in the natural order of their names, without times. */
const char *dataset_add_folder(struct picture_list *s, const char *folder);

/** Set the times: from times.txt [s] if present, else at a fixed interval. */
const char *dataset_add_times(struct picture_list *s, const char *folder, uint64_t interval_ns);

/** Keep the pictures of both cameras that were taken at the same time, within SAME_TIME_NS. */
const char *dataset_pair_by_time(struct picture_list *left, struct picture_list *right, const char *where);

/** Read a file of IMU samples: lines `time,wx,wy,wz,ax,ay,az` [rad/s, m/s^2] by rising time. in_seconds: the time is
 *  in s, and samples before 0 are left out; else it is in ns. */
const char *dataset_read_imu(struct dataset *d, const char *folder, const char *name, int in_seconds);

/** Append a sample. Times must rise: 0, and nothing is done, where it is not after the one before; -1: no memory. */
int dataset_add_sample(struct dataset *d, uint32_t *capacity, const vfront_imu_t *sample);

/** Give a frame the samples that no frame before it had, up to the first one at or after its time; the first frame
 *  also the last one before it. */
void dataset_set_imu(struct dataset *d, uint32_t index, vfront_frame_t *frame);

/* Open a data set of one kind: set kind, pictures, times, IMU samples. */
const char *dataset_open_euroc(struct dataset *d, const char *where);
const char *dataset_open_kitti(struct dataset *d, const char *where);
const char *dataset_open_tum(struct dataset *d, const char *where);
const char *dataset_open_sides(struct dataset *d, const char *where);
const char *dataset_open_folder(struct dataset *d, const char *where);
const char *dataset_open_recording(struct dataset *d, const char *where);
const char *dataset_open_mcap(struct dataset *d, const char *where);

/** File of an MCAP data set: a file, FILE@TOPIC,TOPIC..., or one in a folder of ROS 2. Returns 0 for anything else. */
int dataset_names_mcap(char path[PATH_BYTES], const char *where);

/** Read picture `index` of a camera into d->picture. */
const char *dataset_read_mcap(struct dataset *d, int32_t camera, uint32_t index);
void dataset_close_mcap(struct mcap_set *set);

/** Read a frame of a recording. */
const char *dataset_read_recording(struct dataset *d, uint32_t index, vfront_frame_t *frame);

/** Open the ground truth. `path` is a file, "none", or NULL for that of the data set. */
const char *dataset_find_truth(struct dataset *d, const char *path);

/** Find up in the world of the ground truth, which is open. */
void dataset_find_up(struct dataset *d);

#endif
