/* SPDX-License-Identifier: MIT */
#include "trajectory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS_A_SECOND 1000000000u

static double length_of(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

static trajectory_frame_t *append(trajectory_t *tr)
{
    if (tr->count == tr->capacity) {
        const uint32_t capacity = tr->capacity ? 2 * tr->capacity : 1024;
        trajectory_frame_t *more = realloc(tr->frame, capacity * sizeof *more);
        if (!more) return NULL;
        tr->frame = more;
        tr->capacity = capacity;
    }
    return &tr->frame[tr->count++];
}

/** T_before_now of a motion. Without metric scale t gets the length of the last known step. */
static pose_t step_of(const trajectory_t *tr, const float R[9], const float t[3])
{
    pose_t now_before = pose_identity;
    for (int i = 0; i < 9; i++) now_before.R[i] = (double)R[i];
    for (int i = 0; i < 3 && t; i++) now_before.t[i] = (double)t[i];
    pose_orthonormalise(now_before.R);
    const double length = length_of(now_before.t);
    for (int i = 0; i < 3 && !tr->metric && length > 0.0; i++) now_before.t[i] *= tr->step_m / length;
    return pose_inverse(&now_before);
}

/** Set the ground truth of a frame, in the world of the trajectory. */
static void set_truth(trajectory_t *tr, trajectory_frame_t *now, const pose_t *truth)
{
    now->has_truth = truth != NULL;
    now->truth = pose_identity;
    if (!truth) return;
    if (tr->aligned) {
        now->truth = pose_compose(&tr->T_world_truth, truth);
    } else {
        const pose_t back = pose_inverse(truth);
        tr->T_world_truth = pose_compose(&now->pose, &back);
        tr->aligned = 1;
        now->truth = now->pose;
    }
}

/** Set step_m: length of the step of ground truth since the previous frame. */
static void measure_step(trajectory_t *tr, const trajectory_frame_t *before, const pose_t *truth)
{
    if (!truth || !before || !before->has_truth) return;
    const pose_t now = pose_compose(&tr->T_world_truth, truth);
    const double displacement[3] = {now.t[0] - before->truth.t[0], now.t[1] - before->truth.t[1],
                                    now.t[2] - before->truth.t[2]};
    tr->step_m = length_of(displacement);
}

int trajectory_add(trajectory_t *tr, uint64_t t_ns, const float R[9], const float t[3], const pose_t *truth)
{
    trajectory_frame_t *now = append(tr);
    if (!now) return 0;
    const trajectory_frame_t *before = tr->count > 1 ? now - 1 : NULL;
    now->t_ns = t_ns;
    now->pose = before ? before->pose : pose_identity;
    measure_step(tr, before, truth);
    if (before && R) {
        const pose_t step = step_of(tr, R, t);
        now->pose = pose_compose(&before->pose, &step);
        pose_orthonormalise(now->pose.R);
        tr->length_m += length_of(step.t);
    }
    now->step = !before || (R && t) ? TRAJECTORY_FULL : R ? TRAJECTORY_ROTATION_ONLY : TRAJECTORY_UNKNOWN;
    if (before) tr->steps[now->step]++;
    set_truth(tr, now, truth);
    return 1;
}

void trajectory_free(trajectory_t *tr)
{
    free(tr->frame);
    memset(tr, 0, sizeof *tr);
}

void trajectory_write_tum(FILE *file, uint64_t t_ns, const pose_t *pose)
{
    double q[4];
    pose_quaternion(pose->R, q);
    fprintf(file, "%" PRIu64 ".%09u", t_ns / NS_A_SECOND, (unsigned)(t_ns % NS_A_SECOND));
    for (int i = 0; i < 3; i++) fprintf(file, " %.12g", pose->t[i]);
    for (int i = 0; i < 4; i++) fprintf(file, " %.12g", q[i]);
    fputc('\n', file);
}

void trajectory_write_kitti(FILE *file, const pose_t *pose)
{
    for (int i = 0; i < 12; i++)
        fprintf(file, "%s%.12g", i ? " " : "", i % 4 == 3 ? pose->t[i / 4] : pose->R[i / 4 * 3 + i % 4]);
    fputc('\n', file);
}
