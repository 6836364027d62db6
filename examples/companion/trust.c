/* SPDX-License-Identifier: MIT */
#include "trust.h"

#include <string.h>

#include "examples/replay/state.h"
#include "odometry.h"

/** Since when a thing is so; 0: it is not. */
static void note(uint64_t *since_ns, int is_so, uint64_t t_ns)
{
    if (!is_so || t_ns < *since_ns) *since_ns = 0;
    if (is_so && !*since_ns) *since_ns = t_ns;
}

/** 1 if a thing has been so for so long. */
static int lasts(uint64_t since_ns, uint64_t t_ns, uint64_t long_ns) { return since_ns && t_ns - since_ns >= long_ns; }

const char *trust_check(trust_t *t, const vfront_result_t *r, vfront_nav_t *nav)
{
    static const char no_tracks[] = "a state without tracks", contrary[] = "two cameras that contradict one another";
    const char *why = NULL;
    *nav = r->nav;
    const int is_lost = r->health.state == VFRONT_LOST, is_both = is_lost && nav->state == VFRONT_NAV_GOOD,
              is_suspect = r->health.stereo == VFRONT_STEREO_SUSPECT;
    if (is_both) t->good_without_tracks_ns = r->t_ns;
    note(&t->lost_ns, is_both || (t->lost_ns && is_lost && r->t_ns - t->good_without_tracks_ns < TRUST_GAP_NS),
         r->t_ns);
    note(&t->suspect_ns, is_suspect && nav->state == VFRONT_NAV_STEREO_ONLY, r->t_ns);
    if (lasts(t->lost_ns, r->t_ns, TRUST_LOST_NS)) why = no_tracks;
    if (lasts(t->suspect_ns, r->t_ns, TRUST_SUSPECT_NS)) why = contrary;
    if (lasts(t->lost_ns, r->t_ns, TRUST_EXPIRY_NS)) t->expired = no_tracks;
    if (lasts(t->suspect_ns, r->t_ns, TRUST_EXPIRY_NS)) t->expired = contrary;
    if (!state_is_valid(nav->state)) t->expired = NULL;
    t->reset_is_due = t->expired && !is_lost && !is_suspect;
    if (t->expired) why = t->expired;
    if (state_is_valid(nav->state) && !odometry_has_up(nav)) why = "up is not known";
    if (why) nav->state = VFRONT_NAV_LOST;
    return why;
}

int trust_reset(trust_t *t, vfront_t *vf)
{
    if (!t->reset_is_due || vfront_reset(vf)) return 0;
    memset(t, 0, sizeof *t);
    return 1;
}
