/* SPDX-License-Identifier: MIT */
#include "rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BAD_STEREO (SIGN_STEREO | SIGN_PHOTOMETRIC)
#define MOTION (SIGN_BREAK | SIGN_STATE | SIGN_QUALITY)

static const rule_t row[] = {
    {"clean", "4294967295 both black", 0, 0, 0},
    {"drop one frame", "40 both drop", SIGN_STAMP, 2, 0},
    {"drop ten frames", "40-49 both drop", SIGN_STAMP, 1, 0},
    {"duplicate", "40-49 both duplicate", SIGN_STAMP | SIGN_FROZEN, 2, 0},
    {"freeze both", "40-49 both freeze", SIGN_FROZEN, 2, 0},
    {"freeze camera 0", "40-49 camera0 freeze", SIGN_FROZEN, 2, 0},
    {"freeze camera 1", "40-49 camera1 freeze", SIGN_FROZEN | SIGN_STEREO, 2, 0},
    {"freeze rows of both", "40-49 both freeze-rows 30 70", SIGN_FROZEN, 2, 0},
    {"freeze rows of camera 1", "40-49 camera1 freeze-rows 30 70", SIGN_FROZEN | SIGN_STEREO, 2, 0},
    {"stop both", "40-49 both stop", SIGN_MISSING, 1, 0},
    {"stop camera 0", "40-49 camera0 stop", SIGN_MISSING, 1, 0},
    {"stop camera 1", "40-49 camera1 stop", SIGN_MISSING, 1, 0},
    {"black both", "40-49 both black", SIGN_DARK, 1, 0},
    {"black camera 0", "40-49 camera0 black", SIGN_DARK, 1, 0},
    {"black camera 1", "40-49 camera1 black", SIGN_DARK | SIGN_STEREO, 1, 0},
    {"white both", "40-49 both white", SIGN_BRIGHT, 1, 0},
    {"white camera 1", "40-49 camera1 white", SIGN_BRIGHT | SIGN_STEREO, 1, 0},
    {"noise of 20", "40-49 both noise 20", SIGN_PHOTOMETRIC | MOTION, 2, 0},
    {"noise of 255", "40-49 both noise 255", SIGN_PHOTOMETRIC | MOTION, 2, 0},
    {"noise of camera 1", "40-49 camera1 noise 60", BAD_STEREO, 2, 0},
    {"blur of 6 px", "40-49 both blur 6", SIGN_PHOTOMETRIC | MOTION, 2, 0},
    {"blur of camera 1", "40-49 camera1 blur 6", BAD_STEREO, 2, 0},
    {"dim to 15 %", "40-49 both dim 15", SIGN_DARK | SIGN_PHOTOMETRIC | MOTION, 2, 0},
    {"brighten to 400 %", "40-49 both brighten 400", SIGN_BRIGHT | SIGN_PHOTOMETRIC | MOTION, 2, 0},
    {"light that comes and goes", "40 both dim 40\n42 both dim 40\n44 both dim 40\n46 both dim 40", SIGN_PHOTOMETRIC, 2,
     0},
    {"flip both", "40-49 both flip", MOTION | SIGN_STEREO, 2, 0},
    {"flip camera 1", "40-49 camera1 flip", SIGN_STEREO, 2, 0},
    {"swap cameras", "40-49 both swap", SIGN_STEREO, 2, 0},
    {"camera 1 late by 1", "40-49 camera1 late 1", SIGN_STEREO | SIGN_LATE, 2, 0},
    {"camera 1 late by 5", "40-49 camera1 late 5", SIGN_STEREO | SIGN_LATE, 2, 0},
    {"both late by 3", "40-49 both late 3", SIGN_LATE | MOTION | SIGN_GYRO, 2, 0},
    {"stamp 1 h ahead, once", "40 clock jump 3600", SIGN_STAMP, 1, 0},
    {"stamp near 2^64, once", "40 clock jump 2e10", SIGN_STAMP, 1, 0},
    {"stamp 0.5 s back, once", "40 clock back 0.5", SIGN_STAMP, 1, 0},
    {"jitter of 5 ms", "40-49 clock jitter 0.005", SIGN_STAMP | SIGN_GYRO, 2, 0},
    {"jitter of 80 ms", "40-49 clock jitter 0.08", SIGN_STAMP | SIGN_GYRO, 2, 0},
    {"clock fast by 100 ppm", "40- clock drift 100", 0, 0, 1},
    {"clock slow by 100 ppm", "40- clock drift -100", 0, 0, 1},
    {"clock fast by 1 %", "40- clock drift 10000", SIGN_STAMP | SIGN_GYRO, 2, 1},
    {"samples missing", "40-49 gyro gap", SIGN_GYRO, 2, 0},
    {"half of the samples missing", "40-49 gyro gap 50", SIGN_GYRO, 2, 0},
    {"gyro stuck", "40-49 gyro stuck", SIGN_GYRO, 2, 0},
    {"gyro saturated", "40-49 gyro saturated 0.1", SIGN_GYRO | MOTION, 2, 0},
    {"gyro with a bias of 0.3 rad/s", "40-49 gyro bias 0.3 -0.3 0.3", SIGN_GYRO | MOTION, 2, 0},
    {"gyro axes swapped", "40-49 gyro swapped xz", SIGN_GYRO | MOTION, 2, 0},
    {"link loses 30 %", "40-49 link loss 30", SIGN_STAMP, 5, 0},
    {"link loses all", "40-49 link loss 100", SIGN_STAMP, 1, 0},
    {"link reorders 50 %", "40-49 link reorder 50", SIGN_STAMP, 4, 0},
    {"link flips bits", "40-49 link corrupt 3", SIGN_DAMAGED, 1, 0},
    {"processors busy", "40-49 cpu burn 4", 0, 0, 0},
    {"GPU fails at call 1", "40 gpu fail 1", SIGN_PORT, 1, 0},
    {"GPU fails at call 2", "40 gpu fail 2", SIGN_PORT, 2, 0},
    {"GPU fails at call 10", "40 gpu fail 10", SIGN_PORT, 10, 0},
};

const rule_t *rules_row(size_t index) { return index < sizeof row / sizeof *row ? &row[index] : NULL; }

static int is_good(const trial_frame_t *f)
{
    return f->is_delivered && !f->status && f->state == VFRONT_NAV_GOOD && f->quality >= 50;
}

/** First and last frame that the fault touches; 0 if there is none. */
static int fault_span(const trial_t *t, uint32_t *first, uint32_t *last)
{
    int found = 0;
    for (uint32_t i = 0; i < t->frames; i++) {
        if (!t->frame[i].has_fault) continue;
        if (!found) *first = i;
        *last = i;
        found = 1;
    }
    return found;
}

/** Frames that were delivered, or damaged on the link, up to the first that names it: one that never comes cannot. */
static void evaluate_detection(evaluation_t *v, const rule_t *rule, const trial_t *t, uint32_t first)
{
    int32_t count = 0;
    v->detected_after = -1;
    for (uint32_t i = first; i < t->frames && v->detected_after < 0; i++) {
        const trial_frame_t *f = &t->frame[i];
        if (!f->is_delivered && !(f->signs & SIGN_DAMAGED)) continue;
        count++;
        if (f->signs & rule->signs) v->detected_after = count;
    }
    v->detected = !rule->signs || (v->detected_after > 0 && (uint32_t)v->detected_after <= rule->within);
}

/** A clean run must show none of the signs, from the first state on. */
static int is_quiet(const trial_t *t)
{
    for (uint32_t i = 15; i < t->frames; i++)
        if (t->frame[i].signs & ~(unsigned)(SIGN_LATENCY | SIGN_QUALITY)) return 0;
    return 1;
}

static void evaluate_recovery(evaluation_t *v, const rule_t *rule, const trial_t *t, uint32_t last)
{
    v->recovered_after = -1;
    for (uint32_t i = last + 1; i < t->frames && v->recovered_after < 0; i++)
        if (is_good(&t->frame[i])) v->recovered_after = (int32_t)(i - last);
    v->recovered = rule->is_lasting || (v->recovered_after > 0 && v->recovered_after <= (int32_t)RULES_RECOVERY);
}

static void evaluate_frames(evaluation_t *v, const trial_t *t)
{
    for (uint32_t i = 0; i < t->frames; i++) {
        const trial_frame_t *f = &t->frame[i];
        if (!f->is_finite) v->finite = 0;
        if (f->has_error && is_good(f)) {
            if (f->sigmas > v->worst_sigmas) v->worst_sigmas = f->sigmas;
            if (f->sigmas > RULES_SIGMAS) v->consistent = 0;
        }
        if (f->has_error && f->error_m > v->worst_m) v->worst_m = f->error_m;
        if (f->jump_m > v->worst_jump_m) v->worst_jump_m = f->jump_m;
        if (f->jump_m > RULES_JUMP_M && f->jump_sigmas > 3.0) v->continuous = 0;
    }
}

void rules_evaluate(evaluation_t *v, const rule_t *rule, const trial_t *t)
{
    uint32_t first = 0, last = 0;
    memset(v, 0, sizeof *v);
    v->detected_after = v->recovered_after = -1;
    v->finite = v->consistent = v->continuous = v->recovered = v->detected = 1;
    v->same = t->compared > 0 && !t->differ;
    evaluate_frames(v, t);
    if (fault_span(t, &first, &last)) {
        evaluate_detection(v, rule, t, first);
        evaluate_recovery(v, rule, t, last);
    } else {
        v->detected = is_quiet(t);
    }
    snprintf(v->why, sizeof v->why, "%s%s%s%s%s%s", v->same ? "" : "other digests; ", v->finite ? "" : "not finite; ",
             v->detected ? "" : "not named in time; ", v->consistent ? "" : "good beyond its deviations; ",
             v->continuous ? "" : "jumps; ", v->recovered ? "" : "not good again; ");
}

int rules_passed(const evaluation_t *v)
{
    return v->same && v->finite && v->detected && v->consistent && v->continuous && v->recovered;
}
