/* SPDX-License-Identifier: MIT */
#include "state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mahalanobis.h"

#define ERRORS 15

const char *state_name(uint32_t state)
{
    static const char *const name[STATE_KINDS] = {"none", "initialising", "good", "coasting", "lost", "stereo"};
    return state < STATE_KINDS ? name[state] : "?";
}

int state_is_valid(uint32_t state)
{
    return state == VFRONT_NAV_GOOD || state == VFRONT_NAV_COASTING || state == VFRONT_NAV_STEREO_ONLY;
}

double state_covariance(const vfront_nav_t *nav, int i, int j)
{
    const int row = i < j ? i : j, column = i < j ? j : i;
    return nav->covariance[row * ERRORS - row * (row - 1) / 2 + column - row];
}

int state_has_up(const vfront_nav_t *nav) { return !(nav->flags & VFRONT_NAV_NO_GRAVITY); }

double state_variance(const vfront_nav_t *nav, int i) { return state_covariance(nav, i, i); }

double state_bound_m(const vfront_nav_t *nav)
{
    return 3.0 * sqrt(fmax(state_variance(nav, 0) + state_variance(nav, 1) + state_variance(nav, 2), 0.0));
}

double state_mahalanobis(const vfront_nav_t *nav, const double *e, int at)
{
    double S[9];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) S[3 * i + k] = state_covariance(nav, at + i, at + k);
    return mahalanobis(S, &e[at], 3);
}

static state_frame_t *append(states_t *s)
{
    if (s->count == s->capacity) {
        const uint32_t capacity = s->capacity ? 2 * s->capacity : 256;
        state_frame_t *more = realloc(s->frame, capacity * sizeof *more);
        if (!more) return NULL;
        s->frame = more;
        s->capacity = capacity;
    }
    return memset(&s->frame[s->count++], 0, sizeof *s->frame);
}

pose_t state_alignment(const pose_t *from, const pose_t *to, int about_z)
{
    const pose_t back = pose_inverse(from), whole = pose_compose(to, &back);
    const double cosine = whole.R[0] + whole.R[4], sine = whole.R[3] - whole.R[1];
    const double length = sqrt(cosine * cosine + sine * sine);
    pose_t turn = pose_identity;
    if (!about_z) return whole;
    if (length > 0.0) {
        turn.R[0] = turn.R[4] = cosine / length;
        turn.R[3] = sine / length;
        turn.R[1] = -turn.R[3];
    }
    for (int r = 0; r < 3; r++) {
        turn.t[r] = to->t[r];
        for (int k = 0; k < 3; k++) turn.t[r] -= turn.R[3 * r + k] * from->t[k];
    }
    return turn;
}

static void set_pose(state_frame_t *f)
{
    const double *q = f->nav.q_odom_imu, xyzw[4] = {q[1], q[2], q[3], q[0]};
    pose_rotation(f->pose.R, xyzw);
    memcpy(f->pose.t, f->nav.position_m, sizeof f->pose.t);
}

static void set_truth(states_t *s, state_frame_t *f, const dataset_state_t *truth, int has_up)
{
    if (!s->aligned && f->has_state) {
        s->T_odom_truth = state_alignment(&truth->T_world_imu, &f->pose, has_up);
        s->has_up = has_up;
        s->aligned = 1;
    }
    if (!s->aligned) return;
    f->has_truth = 1;
    f->has_velocity = truth->has_velocity;
    f->truth = pose_compose(&s->T_odom_truth, &truth->T_world_imu);
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) f->true_velocity_mps[r] += s->T_odom_truth.R[3 * r + k] * truth->velocity_mps[k];
}

int state_add(states_t *s, uint64_t t_ns, const vfront_nav_t *nav, const dataset_state_t *truth, int has_up)
{
    state_frame_t *f = append(s);
    if (!f) return 0;
    f->t_ns = t_ns;
    f->nav = *nav;
    f->has_state = state_is_valid(nav->state);
    f->pose = f->truth = pose_identity;
    if (f->has_state) {
        set_pose(f);
        if (!s->with_state++) s->first = s->count - 1;
    }
    if (nav->state < STATE_KINDS) s->of_kind[nav->state]++;
    if (truth) set_truth(s, f, truth, has_up);
    return 1;
}

void state_put_on_path(const states_t *s, const vfront_camera_t *camera, trajectory_t *path)
{
    pose_t T_cam_imu;
    memcpy(T_cam_imu.R, camera->R_cam_imu, sizeof T_cam_imu.R);
    memcpy(T_cam_imu.t, camera->t_cam_imu_m, sizeof T_cam_imu.t);
    if (!s->with_state || s->count != path->count) return;
    const pose_t T_imu_cam = pose_inverse(&T_cam_imu);
    const pose_t first = pose_compose(&s->frame[s->first].pose, &T_imu_cam), back = pose_inverse(&first);
    const pose_t T_world_odom = pose_compose(&path->frame[s->first].pose, &back);
    for (uint32_t i = s->first; i < s->count; i++) {
        const state_frame_t *f = &s->frame[i];
        if (!f->has_state) continue;
        const pose_t T_odom_cam = pose_compose(&f->pose, &T_imu_cam);
        path->frame[i].state = pose_compose(&T_world_odom, &T_odom_cam);
        path->frame[i].bound_m = state_bound_m(&f->nav);
    }
}

const state_frame_t *state_last(const states_t *s) { return &s->frame[s->count - 1]; }

void state_free(states_t *s)
{
    free(s->frame);
    memset(s, 0, sizeof *s);
}
