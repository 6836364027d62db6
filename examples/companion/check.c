/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PI 3.14159265358979323846
#define DEGREE (PI / 180.0)
#define STILL_NS 3000000000u /* time at rest */
#define STEP_NS 60000000000u /* longest time of a step */
#define LIFT_M 0.3
#define LEVEL_RAD (5.0 * DEGREE) /* largest difference of roll and pitch at rest */

/** A step of motion. */
struct motion {
    const char *name, *order, *axis;
    int index;     /* of the angle; -1: height */
    double enough; /* motion that is judged [rad, m] */
    double sign;   /* of the motion that was asked for */
};

static const struct motion motions[] = {
    [CHECK_LIFT] = {"lift", "lift it by half a metre, level, and hold it there", "z, down,", -1, LIFT_M, -1.0},
    [CHECK_NOD] = {"nod", "raise the nose by 20 degrees, and hold it", "pitch", 1, 15.0 * DEGREE, 1.0},
    [CHECK_LEAN] = {"lean", "level again; then lean it to the right by 20 degrees, and hold it", "roll", 0,
                    15.0 * DEGREE, 1.0},
    [CHECK_TURN] = {"turn", "level again; then turn it to the right, by a quarter", "yaw", 2, 60.0 * DEGREE, 1.0}};

static double wrapped(double angle) { return angle - 2.0 * PI * floor(angle / (2.0 * PI) + 0.5); }

static double change(const struct motion *m, const check_pose_t *from, const check_pose_t *to)
{
    return m->index < 0 ? to->position_m[2] - from->position_m[2]
                        : wrapped(to->euler_rad[m->index] - from->euler_rad[m->index]);
}

/** Begins the next step. */
static void next_step(check_t *c, const check_pose_t *ours, const check_pose_t *theirs, uint64_t now_ns, char *text)
{
    c->step++;
    c->since_ns = now_ns;
    c->ours = *ours;
    c->theirs = *theirs;
    const size_t used = strlen(text);
    if (c->step == CHECK_DONE)
        snprintf(text + used, CHECK_TEXT - used, "%s", c->failures ? "check: FAILED" : "check: all good");
    else
        snprintf(text + used, CHECK_TEXT - used, "%s: %s", motions[c->step].name, motions[c->step].order);
}

static int is_known(const struct motion *m, const check_pose_t *p)
{
    return m->index < 0 ? p->has_position : p->has_attitude;
}

/** Which other angle moved instead. */
static const char *instead(const struct motion *m, const check_t *c, const check_pose_t *ours)
{
    static const char *const name[] = {"roll", "pitch", "yaw"};
    int max = -1;
    double size = m->enough / 2.0;
    for (int i = 0; i < 3; i++) {
        const double by = fabs(wrapped(ours->euler_rad[i] - c->ours.euler_rad[i]));
        if (i == m->index || by < size) continue;
        max = i;
        size = by;
    }
    return m->index >= 0 && max >= 0 ? name[max] : NULL;
}

/** A motion is judged: sign and size of ours beside theirs, or where they have none beside what was asked for. */
static void evaluate(check_t *c, const check_pose_t *ours, const check_pose_t *theirs, char *text)
{
    const struct motion *m = &motions[c->step];
    const double unit = m->index < 0 ? 1.0 : DEGREE, ourchange = change(m, &c->ours, ours);
    const int has_theirs = is_known(m, theirs) && is_known(m, &c->theirs);
    const double want = has_theirs ? change(m, &c->theirs, theirs) : copysign(fabs(ourchange), m->sign);
    const double slack = m->index < 0 ? 0.5 * fabs(want) + 0.1 : 0.25 * fabs(want) + 3.0 * DEGREE;
    const int good = fabs(ourchange - want) <= slack;
    const char *other = instead(m, c, ours), *why = "";
    char moved[64] = "";
    if (!good && other && fabs(ourchange) < fabs(want) / 2.0)
        snprintf(moved, sizeof moved, "; %s moved instead: axes of T_body_imu are swapped", other);
    else if (!good && ourchange * want < 0.0)
        why = "; the sign is wrong: an axis of T_body_imu is turned around";
    else if (!good)
        why = "; the size is wrong";
    char there[48] = "not sent by the autopilot";
    if (has_theirs)
        snprintf(there, sizeof there, "%+.*f %s", m->index < 0 ? 2 : 0, want / unit, m->index < 0 ? "m" : "degrees");
    snprintf(text, CHECK_TEXT, "%s: %s %+.*f %s here, %s there: %s%s%s\n", m->name, m->axis, m->index < 0 ? 2 : 0,
             ourchange / unit, m->index < 0 ? "m" : "degrees", there, good ? "good" : "WRONG", why, moved);
    c->failures += !good;
}

/** At rest, level: roll and pitch as the autopilot has them. */
static int rest(check_t *c, const check_pose_t *ours, const check_pose_t *theirs, uint64_t now_ns, char *text)
{
    if (!c->since_ns) {
        c->since_ns = now_ns;
        snprintf(text, CHECK_TEXT, "rest: put it down, level, nose away from you");
        return 1;
    }
    if (now_ns - c->since_ns < STILL_NS || !ours->has_attitude) return 0;
    if (theirs->has_attitude) {
        const double roll = wrapped(ours->euler_rad[0] - theirs->euler_rad[0]);
        const double pitch = wrapped(ours->euler_rad[1] - theirs->euler_rad[1]);
        const int good = fabs(roll) <= LEVEL_RAD && fabs(pitch) <= LEVEL_RAD;
        snprintf(text, CHECK_TEXT, "rest: roll and pitch differ by %+.1f and %+.1f degrees: %s\n", roll / DEGREE,
                 pitch / DEGREE, good ? "good" : "WRONG; T_body_imu");
        c->failures += !good;
    } else {
        snprintf(text, CHECK_TEXT, "rest: the autopilot does not send ATTITUDE: signs are judged by what you do\n");
    }
    next_step(c, ours, theirs, now_ns, text);
    return 1;
}

int check_add(check_t *c, const check_pose_t *ours, const check_pose_t *theirs, uint64_t now_ns, char text[CHECK_TEXT])
{
    *text = 0;
    if (c->step == CHECK_DONE) return 0;
    if (c->step == CHECK_STILL) return rest(c, ours, theirs, now_ns, text);
    const struct motion *m = &motions[c->step];
    const int has_theirs = is_known(m, theirs) && is_known(m, &c->theirs);
    const double by = has_theirs && m->index >= 0 ? change(m, &c->theirs, theirs) : change(m, &c->ours, ours);
    if (ours->has_attitude && fabs(by) >= m->enough) {
        evaluate(c, ours, theirs, text);
    } else if (now_ns - c->since_ns > STEP_NS) {
        snprintf(text, CHECK_TEXT, "%s: no motion within a minute: WRONG\n", m->name);
        c->failures++;
    } else {
        return 0;
    }
    next_step(c, ours, theirs, now_ns, text);
    return 1;
}
