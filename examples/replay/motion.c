/* SPDX-License-Identifier: MIT */
#include "motion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *motion_state_name(uint32_t state)
{
    static const char *const name[MOTION_STATES] = {"none", "good", "rotation", "few", "unsure", "frozen"};
    return state < MOTION_STATES ? name[state] : "?";
}

const char *motion_flag_name(uint32_t flag)
{
    switch (flag) {
    case VFRONT_MOTION_STILL: return "still";
    case VFRONT_MOTION_PLANE: return "plane";
    case VFRONT_MOTION_PARALLAX: return "parallax";
    case VFRONT_MOTION_TWO: return "two";
    case VFRONT_MOTION_ONE_GPU: return "one-gpu";
    case VFRONT_MOTION_STEREO: return "stereo";
    case VFRONT_MOTION_CONTRADICTS: return "contradicts";
    case VFRONT_MOTION_PRIOR: return "prior";
    case VFRONT_MOTION_OUTLIERS: return "outliers";
    case VFRONT_MOTION_WIDE: return "wide";
    case VFRONT_MOTION_LATE: return "late";
    case VFRONT_MOTION_JUMP: return "jump";
    default: return "?";
    }
}

/* ---- trajectory -------------------------------------------------------------------------------------------------- */

/** Known parts of a step; NULL: unknown. */
struct step {
    const float *R, *t;
};

static struct step step_of(const motion_t *m, const vfront_result_t *r)
{
    static const float at_rest[3] = {0.0f, 0.0f, 0.0f};
    const vfront_motion_t *relative = &r->relative, *main = m->trajectory.metric ? &r->metric : relative;
    const int still = relative->flags & VFRONT_MOTION_STILL;
    if (main->state == VFRONT_MOTION_GOOD) return (struct step){main->R, main == relative && still ? at_rest : main->t};
    if (relative->state == VFRONT_MOTION_GOOD || relative->state == VFRONT_MOTION_ROTATION)
        return (struct step){relative->R, still ? at_rest : NULL};
    return (struct step){NULL, NULL};
}

void motion_start(motion_t *m, int metric, int has_truth)
{
    m->trajectory.metric = metric;
    m->trajectory.step_m = has_truth ? 0.0 : 1.0;
}

static void count_state(motion_t *m, int kind, const vfront_motion_t *motion)
{
    if (motion->state < MOTION_STATES) m->state[kind][motion->state]++;
    if (motion->state == VFRONT_MOTION_GOOD && motion->inliers <= VFRONT_CORRESPONDENCES)
        m->inliers[kind][motion->inliers]++;
}

/** Compare a metric motion with that of ground truth, where both frames have it. The frame is added already. */
static void compare_motion(motion_t *m, const vfront_motion_t *metric)
{
    const trajectory_t *tr = &m->trajectory;
    const trajectory_frame_t *now = &tr->frame[tr->count - 1], *before = now - 1;
    if (tr->count < 2 || !now->has_truth || !before->has_truth) return;
    const pose_t back = pose_inverse(&now->truth), truth = pose_compose(&back, &before->truth);
    motion_nees_add(&m->nees, metric, &truth);
}

int motion_add(motion_t *m, const vfront_result_t *r, const pose_t *truth)
{
    const struct step step = step_of(m, r);
    count_state(m, MOTION_RELATIVE, &r->relative);
    count_state(m, MOTION_METRIC, &r->metric);
    if (!trajectory_add(&m->trajectory, r->t_ns, step.R, step.t, truth)) return 0;
    compare_motion(m, &r->metric);
    return 1;
}

const trajectory_frame_t *motion_last(const motion_t *m) { return &m->trajectory.frame[m->trajectory.count - 1]; }

void motion_finish(motion_t *m) { m->compared = accuracy_of(&m->trajectory, &m->accuracy); }

/* ---- summary ----------------------------------------------------------------------------------------------------- */

/** Median number of inliers of good motions. */
static uint32_t median_inliers(const motion_t *m, int kind)
{
    const uint32_t good = m->state[kind][VFRONT_MOTION_GOOD];
    uint32_t sum = 0, inliers = 0;
    while (inliers < VFRONT_CORRESPONDENCES && (sum += m->inliers[kind][inliers]) * 2 < good) inliers++;
    return inliers;
}

static void print_states(const motion_t *m, int kind, const char *head)
{
    uint32_t steps = 0;
    for (int i = VFRONT_MOTION_GOOD; i < MOTION_STATES; i++) steps += m->state[kind][i];
    printf("%-12s %s:", head, kind == MOTION_METRIC ? "metric" : "relative");
    for (uint32_t i = VFRONT_MOTION_GOOD; i < MOTION_STATES; i++) /* metric motions have no state rotation */
        if (kind == MOTION_RELATIVE || i != VFRONT_MOTION_ROTATION)
            printf("%s %s %.1f %%", i > 1 ? "," : "", motion_state_name(i),
                   steps ? 100.0 * m->state[kind][i] / steps : 0.0);
    printf(" of %u steps", (unsigned)steps);
    if (m->state[kind][VFRONT_MOTION_GOOD])
        printf("; %u inliers in the median of the good", (unsigned)median_inliers(m, kind));
    putchar('\n');
}

static void print_trajectory(const trajectory_t *tr)
{
    const uint32_t rotation_only = tr->steps[TRAJECTORY_ROTATION_ONLY], unknown = tr->steps[TRAJECTORY_UNKNOWN];
    if (tr->metric)
        printf("%-12s %.4g m", "path", tr->length_m);
    else if (tr->aligned)
        printf("%-12s %.4g m, lengths of steps from ground truth", "path", tr->length_m);
    else
        printf("%-12s %.4g steps, their lengths are not known", "path", tr->length_m);
    if (rotation_only + unknown)
        printf("; no place in %u steps: %u turned only, nothing known in %u", (unsigned)(rotation_only + unknown),
               (unsigned)rotation_only, (unsigned)unknown);
    putchar('\n');
}

/** Drift, and how much too long or too short a metric path is; neither of a camera that stays in its place. */
static void print_drift(const motion_t *m)
{
    const accuracy_t *a = &m->accuracy;
    if (!accuracy_has_distance(a)) {
        printf("%-12s no drift: the camera stays within %.2g m; %.3g m and %.3g deg off at the end\n", "", a->reach_m,
               a->end_m, a->end_deg);
        return;
    }
    printf("%-12s drift %.4g %% and %.4g deg/m", "", a->drift_percent, a->drift_deg_m);
    if (a->segments)
        printf(" over %u segments of 100 m to 800 m\n", (unsigned)a->segments);
    else
        puts(" over the whole distance, which is too short for segments of 100 m");
    if (m->trajectory.metric && a->fit_scale > 0.0)
        printf("%-12s scale %+.2f %%: lengths by the path against ground truth\n", "", 100.0 / a->fit_scale - 100.0);
}

static void print_motion_nees(const motion_nees_t *c)
{
    if (!c->count) return;
    printf("%-12s NEES %.3g a degree of freedom, %u of %u motions beyond 99.9 %%; honest covariances have 1 if ground "
           "truth "
           "is exact from frame to frame\n",
           "", c->sum / c->count, (unsigned)c->beyond, (unsigned)c->count);
}

static void print_accuracy(const motion_t *m)
{
    const accuracy_t *a = &m->accuracy;
    if (!m->compared) {
        printf("%-12s no ground truth\n", "accuracy");
        return;
    }
    printf("%-12s ATE %.4g m RMSE, aligned by %s; %u frames with ground truth, %.4g m\n", "accuracy", a->ate_m,
           m->trajectory.metric ? "SE(3)" : "Sim(3)", (unsigned)a->frames, a->length_m);
    if (m->trajectory.metric)
        printf("%-12s RPE %.4g m and %.4g deg a frame, RMSE\n", "", a->step_m.rmse, a->step_deg.rmse);
    else if (a->direction_deg.count)
        printf("%-12s direction off by %.4g deg, rotation by %.4g deg a frame, RMSE\n", "", a->direction_deg.rmse,
               a->step_deg.rmse);
    else
        printf("%-12s rotation off by %.4g deg a frame, RMSE; no step has a direction\n", "", a->step_deg.rmse);
    print_drift(m);
    print_motion_nees(&m->nees);
}

void motion_print(const motion_t *m)
{
    if (m->trajectory.metric) print_states(m, MOTION_METRIC, "motion");
    print_states(m, MOTION_RELATIVE, m->trajectory.metric ? "" : "motion");
    print_trajectory(&m->trajectory);
    print_accuracy(m);
}
