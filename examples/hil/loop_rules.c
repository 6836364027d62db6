/* SPDX-License-Identifier: MIT */
#include "loop_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Name, fault, frames on, of, cannot be survived, wall, restart. What cannot be survived is so by what is left of the
 * sensors: without pictures of camera 0 for 20 s the position is not observed. */
static const loop_rule_t row[] = {
    {"clean", NULL, 0, 0, 0, 0, {0}},
    {"wall ahead", NULL, 0, 0, 0, 1, {0}},
    {"drop one frame in ten", "both drop", 1, 10, 0, 0, {0}},
    {"drop every other frame", "both drop", 1, 2, 0, 0, {0}},
    {"drop ten frames in 60", "both drop", 10, 60, 0, 0, {0}},
    {"duplicate", "both duplicate", 0, 0, 0, 0, {0}},
    {"freeze both, 10 in 60", "both freeze", 10, 60, 0, 0, {0}},
    {"freeze both", "both freeze", 0, 0, 1, 0, {0}},
    {"freeze camera 0", "camera0 freeze", 0, 0, 1, 0, {0}},
    {"freeze camera 1", "camera1 freeze", 0, 0, 0, 0, {0}},
    {"freeze rows of both", "both freeze-rows 30 70", 0, 0, 1, 0, {0}},
    {"freeze rows of camera 1", "camera1 freeze-rows 30 70", 0, 0, 0, 0, {0}},
    {"stop both, 10 in 60", "both stop", 10, 60, 0, 0, {0}},
    {"stop both", "both stop", 0, 0, 1, 0, {0}},
    {"stop camera 0", "camera0 stop", 0, 0, 1, 0, {0}},
    {"stop camera 1", "camera1 stop", 0, 0, 0, 0, {0}},
    {"black both, 30 in 90", "both black", 30, 90, 0, 0, {0}},
    {"black both", "both black", 0, 0, 1, 0, {0}},
    {"black camera 0", "camera0 black", 0, 0, 1, 0, {0}},
    {"black camera 1", "camera1 black", 0, 0, 0, 0, {0}},
    {"white both, 30 in 90", "both white", 30, 90, 0, 0, {0}},
    {"white both", "both white", 0, 0, 1, 0, {0}},
    {"white camera 1", "camera1 white", 0, 0, 0, 0, {0}},
    {"noise of 20", "both noise 20", 0, 0, 0, 0, {0}},
    {"noise of 255", "both noise 255", 0, 0, 1, 0, {0}},
    {"noise of camera 1", "camera1 noise 60", 0, 0, 0, 0, {0}},
    {"blur of 2 px", "both blur 2", 0, 0, 0, 0, {0}},
    {"blur of 6 px, 10 in 60", "both blur 6", 10, 60, 0, 0, {0}},
    {"blur of camera 1", "camera1 blur 6", 0, 0, 0, 0, {0}},
    {"dim to 40 %", "both dim 40", 0, 0, 0, 0, {0}},
    {"brighten to 200 %", "both brighten 200", 0, 0, 0, 0, {0}},
    {"light that comes and goes", "both dim 40", 15, 30, 0, 0, {0}},
    {"flip both", "both flip", 0, 0, 1, 0, {0}},
    {"flip camera 1", "camera1 flip", 0, 0, 0, 0, {0}},
    {"swap cameras", "both swap", 0, 0, 1, 0, {0}},
    {"camera 1 late by 1", "camera1 late 1", 0, 0, 0, 0, {0}},
    {"camera 1 late by 5", "camera1 late 5", 0, 0, 0, 0, {0}},
    {"both late by 3", "both late 3", 0, 0, 1, 0, {0}},
    {"stamps 1 h ahead, 1 in 60", "clock jump 3600", 1, 60, 0, 0, {0}},
    {"stamps 0.5 s back, 1 in 60", "clock back 0.5", 1, 60, 0, 0, {0}},
    {"jitter of 5 ms", "clock jitter 0.005", 0, 0, 0, 0, {0}},
    {"clock fast by 100 ppm", "clock drift 100", 0, 0, 0, 0, {0}},
    {"clock slow by 100 ppm", "clock drift -100", 0, 0, 0, 0, {0}},
    {"samples missing", "gyro gap", 0, 0, 0, 0, {0}},
    {"half of the samples missing", "gyro gap 50", 0, 0, 0, 0, {0}},
    {"gyro stuck, 30 in 90", "gyro stuck", 30, 90, 0, 0, {0}},
    {"gyro stuck", "gyro stuck", 0, 0, 1, 0, {0}},
    {"gyro saturated", "gyro saturated 0.3", 0, 0, 1, 0, {0}},
    {"gyro with a bias of 0.3 rad/s", "gyro bias 0.3 -0.3 0.3", 0, 0, 1, 0, {0}},
    {"gyro axes swapped", "gyro swapped xz", 0, 0, 1, 0, {0}},
    {"link loses 30 %", "link loss 30", 0, 0, 0, 0, {0}},
    {"link loses all", "link loss 100", 0, 0, 1, 0, {0}},
    {"link flips bits, 10 in 60", "link corrupt 3", 10, 60, 0, 0, {0}},
};

/* Restarts: in hover; on the first leg of the square; in its first turn, of 60 degrees/s. */
#define RESTART(where, at, hover, away, text)                                                                          \
    {.name = "restart " where ", " text, .restart = {.away_ms = away, .at_ms = at, .hovers = hover}},                  \
    {                                                                                                                  \
        .name = "restart " where ", " text ", file", .restart = {                                                      \
            .away_ms = away,                                                                                           \
            .at_ms = at,                                                                                               \
            .hovers = hover,                                                                                           \
            .has_file = 1                                                                                              \
        }                                                                                                              \
    }
#define RESTARTS(where, at, hover)                                                                                     \
    RESTART(where, at, hover, 500, "0.5 s"), RESTART(where, at, hover, 1000, "1 s"),                                   \
        RESTART(where, at, hover, 2000, "2 s"), RESTART(where, at, hover, 5000, "5 s")

static const loop_rule_t restart[] = {
    RESTARTS("in hover", 0, 1),
    RESTARTS("on a leg", 2200, 0),
    RESTARTS("in a turn", 4600, 0),
    /* without a pose of the autopilot the yaw is not known */
    {.name = "restart in a turn, 1 s, file alone",
     .cannot_survive = 1,
     .restart = {.away_ms = 1000, .at_ms = 4600, .has_file = 1, .has_no_pose = 1}},
};

const loop_rule_t *loop_row(size_t index)
{
    const size_t rows = sizeof row / sizeof *row, restarts = sizeof restart / sizeof *restart;
    return index < rows ? &row[index] : index < rows + restarts ? &restart[index - rows] : NULL;
}

static uint32_t frames_of(uint32_t seconds) { return seconds * 30u; }

uint32_t loop_frames(const loop_rule_t *rule, uint32_t seconds)
{
    if (rule->restart.away_ms)
        return LOOP_FAULT_FRAME + frames_of(rule->restart.at_ms + rule->restart.away_ms) / 1000u +
               frames_of(rule->cannot_survive ? LOOP_LOST_AFTER_S : LOOP_RESUMED_S);
    return LOOP_FAULT_FRAME + frames_of(seconds) + frames_of(rule->cannot_survive ? LOOP_LOST_AFTER_S : LOOP_AFTER_S);
}

int loop_script(const loop_rule_t *rule, uint32_t seconds, char *to, size_t max)
{
    const uint32_t end = LOOP_FAULT_FRAME + frames_of(seconds);
    size_t used = 0;
    *to = 0;
    for (uint32_t at = LOOP_FAULT_FRAME; rule->fault && at < end && used < max; at += rule->of ? rule->of : end) {
        const uint32_t last = rule->of ? at + rule->on - 1 : end - 1;
        used += (size_t)snprintf(to + used, max - used, "%" PRIu32 "-%" PRIu32 " %s\n", at, last, rule->fault);
    }
    return used < max;
}

static double seconds_between(const loop_frame_t *a, const loop_frame_t *b)
{
    return ((double)b->t_ns - (double)a->t_ns) * 1e-9;
}

/** First frame in which it is blind, or the number of frames. */
static uint32_t blind_at(const loop_t *l)
{
    uint32_t i = 0;
    while (i < l->frames && l->frame[i].phase != PILOT_BLIND) i++;
    return i;
}

/** Verdict on the end of a flight. */
static void evaluate_end(loop_evaluation_t *v, const loop_rule_t *rule, const loop_t *l)
{
    const loop_frame_t *end = &l->frame[l->frames - 1];
    const char *wrong = "";
    for (uint32_t i = l->frames; i-- && seconds_between(&l->frame[i], end) < LOOP_RECOVERY_S;) {
        const loop_frame_t *f = &l->frame[i];
        if (f->phase != PILOT_FLIES) wrong = "does not fly at the end; ";
        if (f->error_m > v->last_m) v->last_m = f->error_m;
        if (rule->has_wall && f->speed_mps > 0.3) wrong = "is not at rest; ";
    }
    if (v->last_m > LOOP_MAX_M) wrong = "is not there at the end; ";
    if (rule->has_wall) {
        v->last_m = end->ahead_m;
        if (end->ahead_m < LOOP_NEAR_M || end->ahead_m > LOOP_FAR_M) wrong = "does not stop before the wall; ";
    }
    strncat(v->why, wrong, sizeof v->why - strlen(v->why) - 1);
}

static void evaluate_times(loop_evaluation_t *v, const loop_t *l, uint32_t blind)
{
    uint32_t first = 0, last = 0, takeoff = 0;
    for (uint32_t i = l->frames; i--;)
        if (l->frame[i].has_fault) first = i;
    for (uint32_t i = 0; i < l->frames; i++)
        if (l->frame[i].has_fault) last = i;
    for (uint32_t i = 1; i < l->frames; i++)
        if (l->frame[i].phase == PILOT_FLIES && l->frame[i - 1].phase == PILOT_WAITS) takeoff = i;
    if (!v->was_lost) return;
    v->lost_after_s = seconds_between(&l->frame[first], &l->frame[blind]);
    if (takeoff > blind) v->recovery_s = seconds_between(&l->frame[last], &l->frame[takeoff]);
}

static void evaluate_restart(loop_evaluation_t *v, const loop_t *l)
{
    const char *wrong = "";
    if (l->after.worst_sigmas > LOOP_RESUMED_SIGMAS) wrong = "off by more than it reports; ";
    const double own_m = l->own_m + LOOP_RESUMED_OWN_M, max_m = own_m > LOOP_RESUMED_M ? own_m : LOOP_RESUMED_M;
    if (l->after.worst_m > max_m || l->after.worst_rad > LOOP_RESUMED_RAD) wrong = "goes on from a wrong pose; ";
    if (l->has_same_counter) wrong = "reset_counter as before; ";
    if (!l->after.messages) wrong = "no message after the restart; ";
    strncat(v->why, wrong, sizeof v->why - strlen(v->why) - 1);
}

void loop_evaluate(loop_evaluation_t *v, const loop_rule_t *rule, const loop_t *l)
{
    memset(v, 0, sizeof *v);
    const uint32_t blind = blind_at(l);
    int finite = 1;
    v->was_lost = blind < l->frames;
    for (uint32_t i = 0; i < l->frames; i++) {
        finite &= l->frame[i].is_finite;
        if (i < blind && l->frame[i].error_m > v->worst_m) v->worst_m = l->frame[i].error_m;
    }
    snprintf(v->why, sizeof v->why, "%s%s%s%s%s%s", finite ? "" : "not finite; ", l->has_crashed ? "crashes; " : "",
             l->frames < l->room && !l->has_crashed ? "ends early; " : "",
             v->was_lost && !rule->cannot_survive ? "is lost; " : "",
             v->worst_m > LOOP_MAX_M ? "beyond 1 m, and not reported; " : "",
             l->touch_mps > LOOP_TOUCH_MPS ? "hard landing; " : "");
    if (!l->frames) return;
    evaluate_times(v, l, blind);
    evaluate_end(v, rule, l);
    if (rule->restart.away_ms && !rule->restart.has_no_pose) evaluate_restart(v, l);
    v->passed = !*v->why;
}
