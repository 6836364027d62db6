/* SPDX-License-Identifier: MIT */
#include "trust.h"

#include <string.h>

#include "examples/state.h"
#include "odometry.h"

/** Since when a thing is so; 0: it is not. */
static void note(uint64_t *since_ns, int is_so, uint64_t t_ns)
{
    if (!is_so || t_ns < *since_ns) *since_ns = 0;
    if (is_so && !*since_ns) *since_ns = t_ns;
}

const char *trust_judge(trust_t *t, const vfront_result_t *r, vfront_nav_t *nav)
{
    const char *why = NULL;
    *nav = r->nav;
    const int is_lost = r->health.state == VFRONT_LOST, is_both = is_lost && nav->state == VFRONT_NAV_GOOD;
    if (is_both) t->both_ns = r->t_ns;
    note(&t->lost_ns, is_both || (t->lost_ns && is_lost && r->t_ns - t->both_ns < TRUST_AGO_NS), r->t_ns);
    note(&t->suspect_ns, r->health.stereo == VFRONT_STEREO_SUSPECT && nav->state == VFRONT_NAV_STEREO_ONLY, r->t_ns);
    if (t->lost_ns && r->t_ns - t->lost_ns >= TRUST_LOST_NS) why = "a state without tracks";
    if (t->lost_ns && r->t_ns - t->lost_ns >= TRUST_PAST_NS) t->is_past = 1;
    if (!state_is_one(nav->state)) t->is_past = 0;
    if (t->is_past) why = "a state without tracks";
    t->is_due = t->is_past && !is_lost;
    if (t->suspect_ns && r->t_ns - t->suspect_ns >= TRUST_SUSPECT_NS) why = "two cameras that contradict one another";
    if (state_is_one(nav->state) && !odometry_has_up(nav)) why = "which way is up is not known";
    if (why) nav->state = VFRONT_NAV_LOST;
    return why;
}

int trust_begin_anew(trust_t *t, vfront_t *vf)
{
    if (!t->is_due || vfront_reset(vf)) return 0;
    memset(t, 0, sizeof *t);
    return 1;
}
