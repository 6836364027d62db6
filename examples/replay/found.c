/* SPDX-License-Identifier: MIT */
#include "found.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "state_accuracy.h"

static double distance_m(const double a[3], const double b[3])
{
    double sum = 0.0;
    for (int i = 0; i < 3; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/** Positions of states: ground truth begins at the first one (state.h). */
static void take_states(found_t *found, const states_t *s)
{
    const state_frame_t *before = NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        const state_frame_t *f = &s->frame[i];
        if (!f->has_state) continue;
        found->bound_m = fmax(found->bound_m, state_bound_m(&f->nav));
        if (f->has_truth) found->error_m = fmax(found->error_m, distance_m(f->pose.t, f->truth.t));
        found->has_error |= f->has_truth;
        if (before) found->length_m += distance_m(f->pose.t, before->pose.t);
        before = f;
    }
    found->with_position = s->with_state;
    found->has_bound = 1;
}

/** Positions of the camera's path, whose ground truth begins where it does. */
static void take_path(found_t *found, const trajectory_t *tr)
{
    for (uint32_t i = 0; i < tr->count && tr->metric; i++) {
        const trajectory_frame_t *f = &tr->frame[i];
        found->with_position += f->step == TRAJECTORY_FULL;
        if (f->has_truth) found->error_m = fmax(found->error_m, distance_m(f->pose.t, f->truth.t));
        found->has_error |= f->has_truth;
    }
    if (tr->metric) found->length_m = tr->length_m;
}

void found_of(found_t *found, const struct summary *summary, const motion_t *motion, const states_t *states,
              const char *no_motion, const char *no_state, int cameras)
{
    *found = (found_t){.frames = (uint32_t)summary->frames, .nearest_m = 0.01 * summary->nearest_cm};
    found->step_ms = 1e-3 * summary_median_step_us(summary);
    if (found->frames) found->tracks = (double)summary->alive / (double)found->frames;
    found->no_position = no_motion                                ? no_motion
                         : !no_state || motion->trajectory.metric ? NULL
                         : cameras == 1                           ? "one camera alone has no scale"
                                                                  : no_state;
    if (states->with_state > 1)
        take_states(found, states);
    else
        take_path(found, &motion->trajectory);
}

static void print_length(double m)
{
    if (m < 0.01)
        printf("%.1f mm", 1e3 * m);
    else if (m < 1.0)
        printf("%.*f cm", m < 0.1, 1e2 * m);
    else
        printf("%.*f m", m < 100.0, m);
}

static void print_position(const found_t *found)
{
    printf("position");
    if (found->has_error) {
        printf(" within ");
        print_length(found->error_m);
    }
    printf(" over ");
    print_length(found->length_m);
    if (found->has_bound) {
        printf(", bound ");
        print_length(found->bound_m);
    }
}

void found_print(const found_t *found, const char *device)
{
    const int has_position = found->with_position >= 2;
    printf("%-12s ", "found");
    if (has_position) print_position(found);
    if (!has_position && found->tracks > 0.0) printf("%.0f tracks a frame; ", found->tracks);
    if (!has_position) printf("no position");
    if (!has_position && found->no_position)
        printf(": %s", found->no_position);
    else
        printf(", %" PRIu32 " of %" PRIu32 " frames", found->with_position, found->frames);
    if (found->nearest_m > 0.0) printf("; nearest obstacle %.1f m", found->nearest_m);
    printf("; %.*f ms a frame on %s\n", found->step_ms < 10.0, found->step_ms, device ? device : "this processor");
}
