/* SPDX-License-Identifier: MIT */
/* Two front ends that see the same frames: one is disturbed by the test, its twin is not. Whatever was refused in between, their
 * digests stay equal. Tests of the public interface run on every port that there is. */
#ifndef PAIR_H
#define PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

#define PICTURES 8
#define FRAME_NS 33000000u
#define DISPARITY_PX 6 /* of everything in the pictures, lenses apart */

extern vfront_port_t pair_port; /* the port under test */
extern vfront_t pair_vf, pair_twin;
extern const struct scene pair_scene;
extern uint8_t pair_grey[PICTURES][VFRONT_WIDTH * VFRONT_HEIGHT];  /* of camera 0 */
extern uint8_t pair_right[PICTURES][VFRONT_WIDTH * VFRONT_HEIGHT]; /* of camera 1 */

/** Draws the pictures. */
void pair_draw(void);

/** Calibrated cameras in one place, as many as there can be: any pictures go with them, and no depth. */
vfront_rig_t pair_unplaced(void);

/** Two calibrated cameras side by side, for which these are the pictures. */
vfront_rig_t pair_cameras(void);

/** A whole frame for every camera of a rig: picture `number`, at its time. */
vfront_frame_t pair_frame(uint64_t number);

/** Starts both front ends with these cameras and standard tuning; `pair_end` shuts both down. cmocka's setup and teardown. */
int pair_start(void **state);
int pair_end(void **state);
void pair_start_with(const vfront_rig_t *rig, const vfront_tuning_t *tuning);

/** After all that was refused, the memory is as good as new: starts both, steps, and ends. */
void pair_still_starts(void);

/** pair_step() goes on with this frame. */
void pair_at(uint64_t frame);

/** Steps both with the next frame; their digests must be equal. Returns the disturbed one's result. */
const vfront_result_t *pair_step(void);

/** The rig as the results of a front end see it: rectified, it is another one. */
vfront_rig_t pair_seen(const vfront_t *vf, const vfront_rig_t *rig);

/** What a result breaks of vfront.h, whatever the pictures show; or NULL. rig: as it is seen. */
const char *pair_broken(const vfront_rig_t *rig, const vfront_tuning_t *tuning, const vfront_result_t *result);

/** One step of pair_vf with a picture for each camera, in rows without gaps, and a copy of the result, of which pair_broken() must
 *  find nothing. With a rig the front end starts anew, without one the next step follows. No tuning: the standard one. */
void pair_shot(const vfront_rig_t *rig, const vfront_tuning_t *tuning, const uint8_t *const grey[], vfront_result_t *result);

/** Key points and descriptors of a camera, and how many, are the same bits in two results. */
void pair_same_points(const vfront_result_t *a, int camera_of_a, const vfront_result_t *b, int camera_of_b);

/** Depths and matches, and how many, are the same bits in two results. */
void pair_same_partners(const vfront_result_t *a, const vfront_result_t *b);

/** A call on pair_vf that must be refused, with a detail that contains `detail`. */
void pair_refused(vfront_status_t got, vfront_status_t want, const char *detail);

/** Whether pair_vf is on tests/fake_cudart.c: the host port once more, step by step. */
int pair_fake(void);

/** Runs a group on the host port, and on the CUDA port where the build has it; without a device that is one skipped test. With a fake one
 *  the group does not run on the host port: it does so in the program without the fake. */
int pair_run(const char *name, const struct CMUnitTest tests[], size_t count);

#endif
