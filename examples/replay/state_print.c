/* SPDX-License-Identifier: MIT */
#include "state_print.h"

#include <math.h>
#include <stdio.h>

#define DEG 57.29577951308232

static double since_s(uint64_t from_ns, uint64_t to_ns) { return ((double)to_ns - (double)from_ns) * 1e-9; }

static void print_kinds(const states_t *s)
{
    static const uint32_t order[STATE_KINDS] = {VFRONT_NAV_GOOD, VFRONT_NAV_COASTING,     VFRONT_NAV_STEREO_ONLY,
                                                VFRONT_NAV_LOST, VFRONT_NAV_INITIALISING, VFRONT_NAV_NONE};
    printf("%-12s", "state");
    for (int i = 0; i < STATE_KINDS; i++)
        printf("%s %s %.1f %%", i ? "," : "", state_name(order[i]), 100.0 * s->of_kind[order[i]] / s->count);
    printf(" of %u frames\n", (unsigned)s->count);
}

/** Why no frame has a state. */
static void print_none(const states_t *s)
{
    const uint32_t waiting = s->of_kind[VFRONT_NAV_INITIALISING];
    if (waiting)
        printf("%-12s no state: initialising in %u of %u frames. A first one takes the metric motions of 4 to 12 "
               "frames in a row, and their samples; without an IMU two good ones\n",
               "", (unsigned)waiting, (unsigned)s->count);
    else
        printf("%-12s no state: no frame had samples of an IMU, and one camera alone has no scale\n", "");
}

static uint32_t resets_of(const states_t *s)
{
    return state_last(s)->nav.reset_counter - s->frame[s->first].nav.reset_counter;
}

/** Last frame with a state. */
static const state_frame_t *last_state(const states_t *s)
{
    const state_frame_t *f = state_last(s);
    while (!f->has_state) f--;
    return f;
}

static double sigma(const vfront_nav_t *nav, int i) { return sqrt(fmax(state_variance(nav, i), 0.0)); }

/** Deviations of the last state. */
static void print_end(const states_t *s)
{
    const vfront_nav_t *n = &last_state(s)->nav;
    printf("%-12s at the end deviations of %.3g m, %.3g deg of tilt, %.3g deg of yaw, %.3g m/s; time offset %+.2f +- "
           "%.2f ms\n",
           "", sqrt(fmax(state_variance(n, 0) + state_variance(n, 1) + state_variance(n, 2), 0.0)),
           DEG * sqrt(fmax(state_variance(n, 3) + state_variance(n, 4), 0.0)), DEG * sigma(n, 5),
           sqrt(fmax(state_variance(n, 6) + state_variance(n, 7) + state_variance(n, 8), 0.0)), 1e3 * n->offset_s,
           1e3 * n->offset_sigma_s);
}

static void print_trajectory(const state_accuracy_t *a)
{
    const accuracy_t *p = &a->trajectory;
    printf("%-12s ATE %.4g m RMSE, aligned by SE(3)", "", p->ate_m);
    if (a->tilts == p->frames) printf(", %.4g m by shift and yaw", a->ate_yaw_m);
    printf("; %u frames with ground truth, %.4g m\n", (unsigned)p->frames, p->length_m);
    if (a->seconds)
        printf("%-12s RPE %.4g m and %.4g deg over 1 s, RMSE of %u\n", "", a->second_m, a->second_deg,
               (unsigned)a->seconds);
    else
        printf("%-12s no RPE over 1 s: no two states are so far apart\n", "");
    if (!accuracy_has_distance(p)) {
        printf("%-12s no drift: the IMU stays within %.2g m; %.3g m and %.3g deg off at the end\n", "", p->reach_m,
               p->end_m, p->end_deg);
        return;
    }
    printf("%-12s drift %.4g %% and %.4g deg/m", "", p->drift_percent, p->drift_deg_m);
    if (p->segments)
        printf(" over %u segments of 100 m to 800 m\n", (unsigned)p->segments);
    else
        puts(" over the whole distance, which is too short for segments of 100 m");
    if (p->fit_scale > 0.0)
        printf("%-12s scale %+.2f %%: lengths by the state against ground truth\n", "", 100.0 / p->fit_scale - 100.0);
}

static void print_nees(const char *name, const state_nees_t *n)
{
    printf(" %s %.3g, %u of %u beyond 99.9 %%;", name, n->mean, (unsigned)n->beyond, (unsigned)n->count);
}

static void print_accuracy(const states_t *s, const state_accuracy_t *a, int file_velocity)
{
    print_trajectory(a);
    if (a->tilts) printf("%-12s tilt off by %.4g deg, RMSE\n", "", a->tilt_deg);
    if (a->velocities)
        printf("%-12s velocity off by %.4g m/s, RMSE of %u; that of ground truth is %s\n", "", a->velocity_mps,
               (unsigned)a->velocities,
               file_velocity ? "its own" : "the slope of a parabola through five of its positions");
    if (!a->tilts && !state_has_up(&last_state(s)->nav))
        printf("%-12s no tilt: two cameras alone do not observe up\n", "");
    else if (!a->tilts)
        printf("%-12s no tilt and no NEES: ground truth has no known up\n", "");
    if (!a->position.count) return;
    printf("%-12s NEES", "");
    print_nees("position", &a->position);
    print_nees("attitude", &a->attitude);
    puts(" 3 is right");
}

/** Corrections by pictures: how large, and how many are jumps. */
static void print_corrections(const corrections_t *c)
{
    if (!c->count) return;
    printf(
        "%-12s corrections by pictures at most %.3g m, %.3g deg, and %.3g deviations of a state on any axis, in frame "
        "%llu; %u jumps, beyond %g, in %u frames\n",
        "", c->max_m, DEG * c->max_rad, c->max, (unsigned long long)c->max_frame, (unsigned)c->jumps, CORRECTION_JUMP,
        (unsigned)c->count);
}

void state_print(const states_t *s, const state_accuracy_t *a, int file_velocity)
{
    print_kinds(s);
    if (!s->with_state) {
        print_none(s);
        return;
    }
    printf("%-12s first one after %.2f s; began anew %u times\n", "",
           since_s(s->frame[0].t_ns, s->frame[s->first].t_ns), (unsigned)resets_of(s));
    if (a)
        print_accuracy(s, a, file_velocity);
    else
        printf("%-12s no ground truth\n", "");
    print_corrections(&s->corrections);
    print_end(s);
}
