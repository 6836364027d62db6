/* SPDX-License-Identifier: MIT */
#include "nav_bank.h"
#include "nav_interval.h"

#if VFRONT_VIO

int vf_nav_is_finite(const vfront_nav_t *nav)
{
    int finite = vf_all_within(nav->position_m, VF_AXES, VF_NAV_MAX_M) &&
                 vf_all_within(nav->velocity_mps, VF_AXES, VF_NAV_MAX_MPS);
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        finite = finite && vf_within(nav->covariance[vf_nav_index(i, i)], 0.0, VF_NAV_MAX_M * VF_NAV_MAX_M);
    return finite;
}

void vf_nav_carry(struct vf_nav_member *m, const vfront_nav_t *nav, uint64_t t_ns)
{
    m->next.t_ns = t_ns;
    m->next.own_offset_s = m->next.offset_s;
    m->next.offset_s = nav->offset_s;
    memcpy(m->next.bias, nav->gyro_bias_rad_s, sizeof nav->gyro_bias_rad_s);
    memcpy(m->next.bias + VF_AXES, nav->accel_bias_m_s2, sizeof nav->accel_bias_m_s2);
    m->carried = m->next;
}

/** 1 if members without some measurements can run beside the accepted one in this frame: two cameras, and an estimate
 *  with gravity that goes on. */
static int runs(const struct vf_nav_view *s)
{
    const struct vf_nav *n = s->nav;
    return s->geometry.pair.placed && !n->no_gravity && s->request->member[n->bank.accepted].command == VF_VIO_CONTINUE;
}

void vf_nav_bank_end(struct vf_nav *n)
{
    struct vf_nav_bank *b = &n->bank;
    for (uint32_t i = 1; i < VF_BANK; i++)
        if (i > b->accepted && b->goes_on[i]) vf_nav_level_keep(&n->separated[i], &n->own.last, &b->member[i].last);
    memset(b->goes_on, 0, sizeof b->goes_on);
}

void vf_nav_bank_yield(struct vf_nav *n)
{
    if (!n->bank.accepted) return;
    vf_nav_bank_end(n);
    n->bank.accepted = VF_BANK_ALL;
}

/** Begins member i anew from the accepted one. Changes nothing if it is called again before the step. */
static void begin_anew(struct vf_nav *n, uint32_t i)
{
    struct vf_nav_bank *b = &n->bank;
    b->member[i] = n->own;
    b->age_s[i] = b->agrees_s[i] = b->explained[i] = b->own_explained[i] = 0.0;
    b->against[i] = b->worse[i] = 0;
    b->shared_s[i] = 0.0;
}

void vf_nav_bank_request(const struct vf_nav_view *s)
{
    struct vf_nav *n = s->nav;
    struct vf_nav_bank *b = &n->bank;
    if (!runs(s)) vf_nav_bank_end(n);
    for (uint32_t i = 0; i < VF_BANK; i++) {
        struct vf_nav_member *m = &b->member[i];
        struct vf_vio_member_request *g = &s->request->member[i];
        if (i == b->accepted) continue;
        g->command = VF_VIO_NONE;
        if (!runs(s)) continue;
        const int anew = !b->goes_on[i];
        if (anew) begin_anew(n, i);
        m->next = m->carried;
        g->command = VF_VIO_CONTINUE;
        g->from = anew ? b->kept : i;
        vf_nav_interval(s, i, m, &g->motion);
        if (anew && i < b->accepted) vf_nav_forget_biases(&g->motion, b->accepted == VF_BANK_NO_IMU);
    }
}

/** Larger variance of error k in two states. */
static double larger_variance(const vfront_nav_t *x, const vfront_nav_t *y, int k)
{
    const double a = x->covariance[vf_nav_index(k, k)], b = y->covariance[vf_nav_index(k, k)];
    return a > b ? a : b;
}

/** Largest square of a separation from row `first` to `end` [variances]. The separation of nested solutions has the
 *  difference of their variances: at most the larger of them. */
static double largest(const double d[VF_BANK_ERRORS], const vfront_nav_t *x, const vfront_nav_t *y, int first, int end)
{
    double most = 0.0;
    for (int k = first; k < end; k++) {
        const double square = d[k] * d[k] / larger_variance(x, y, k);
        if (square > most) most = square;
    }
    return most;
}

/** Makes member i the accepted one. */
static void accept(struct vf_nav *n, uint32_t i)
{
    struct vf_nav_bank *b = &n->bank;
    const struct vf_nav_member was = n->own;
    n->own = b->member[i];
    b->member[b->accepted] = was;
    if (i > b->accepted)
        for (uint32_t k = 0; k < i; k++) b->ends[k] = 1; /* begin anew from it */
    b->accepted = b->kept = i;
    b->replaced = 1;
    memset(b->against, 0, sizeof b->against);
    memset(b->shared_s, 0, sizeof b->shared_s);
    memset(b->worse, 0, sizeof b->worse);
    memset(b->agrees_s, 0, sizeof b->agrees_s);
    memset(b->explained, 0, sizeof b->explained);
    memset(b->own_explained, 0, sizeof b->own_explained);
}

/** 1 if a member with more measurements than i explains enough of this frame's picture. */
static int others_explain(const struct vf_nav_view *s, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (k != s->nav->bank.accepted && s->request->member[k].command != VF_VIO_NONE &&
            s->vio->summary[k].accepted > VF_BANK_LEFT * s->vio->summary[i].accepted)
            return 1;
    return 0;
}

/** Compares member i with the accepted one in this frame. Returns 1 if it is to be accepted. */
static int compare(const struct vf_nav_view *s, uint32_t i, double dt_s)
{
    struct vf_nav_bank *b = &s->nav->bank;
    const vfront_nav_t *own = &s->vio->nav[b->accepted], *other = &s->vio->nav[i];
    const double accepted = s->vio->summary[i].accepted, own_accepted = s->vio->summary[b->accepted].accepted,
                 decay = VF_BANK_EVIDENCE_S / (VF_BANK_EVIDENCE_S + dt_s);
    double d[VF_BANK_ERRORS];
    vf_nav_separation(own, other, d);
    const int contradicts = largest(d, own, other, 0, VF_BANK_ERRORS) > VF_BANK_CHI2,
              tilted = i == VF_BANK_NO_ACCEL && largest(d, own, other, VF_NAV_W, VF_NAV_W + 2) > VF_BANK_CHI2 &&
                       other->residual_mean_square <= own->residual_mean_square;
    b->age_s[i] += dt_s;
    b->against[i] = contradicts ? b->against[i] + 1 : 0;
    const double before = b->explained[i] * decay;
    b->explained[i] = contradicts ? before + accepted : 0.0;
    b->own_explained[i] = contradicts ? b->own_explained[i] * decay + own_accepted : 0.0;
    if (i < b->accepted) { /* on trial: it uses samples that were left out */
        b->agrees_s[i] = contradicts || 2.0 * accepted < own_accepted || s->nav->vision_only ? 0.0
                                                                                             : b->agrees_s[i] + dt_s;
        if (contradicts && 2.0 * accepted < own_accepted) b->ends[i] = 1;
        return b->agrees_s[i] >= VF_BANK_TRIAL_S;
    }
    if (contradicts && 2.0 * own_accepted < accepted) b->disputed = 1;
    b->worse[i] = contradicts && 2.0 * own_accepted >= accepted &&
                          other->residual_mean_square > own->residual_mean_square
                      ? b->worse[i] + 1
                      : 0;
    const int evident = b->against[i] >= VF_BANK_FRAMES && before >= VF_BANK_LEAST * decay;
    const int shares = evident && 2.0 * own_accepted < accepted && own_accepted >= VF_BANK_LEFT * accepted &&
                       b->own_explained[i] >= VF_BANK_LEAST;
    b->shared_s[i] = shares ? b->shared_s[i] + dt_s : 0.0;
    if (b->shared_s[i] >= VF_BANK_TRIAL_S) b->object_s = VF_BANK_HORIZON_S;
    if (!evident || others_explain(s, i)) return 0;
    return (!(b->object_s > 0.0) && b->own_explained[i] < VF_BANK_LEFT * b->explained[i]) || tilted;
}

/** Has a member begin anew from the accepted one: one with fewer measurements if it has gone astray, or is old and
 *  agrees; one on trial if it is old and contradicts; any if it is twice as old, but in a dispute. */
static void renew(struct vf_nav *n, uint32_t i)
{
    struct vf_nav_bank *b = &n->bank;
    const int old = b->age_s[i] > VF_BANK_HORIZON_S, very_old = b->age_s[i] > 2.0 * VF_BANK_HORIZON_S;
    if (i < b->accepted ? old && b->against[i] : b->worse[i] > VF_BANK_FRAMES || (old && !b->against[i]))
        b->goes_on[i] = 0;
    if (very_old && !b->disputed) b->goes_on[i] = 0;
}

int vf_nav_bank_decide(const struct vf_nav_view *s)
{
    struct vf_nav *n = s->nav;
    struct vf_nav_bank *b = &n->bank;
    const double dt_s = (double)s->params->dt_ns * 1e-9;
    b->disputed = 0;
    b->object_s -= b->object_s > 0.0 ? dt_s : 0.0;
    memset(b->ends, 0, sizeof b->ends);
    if (!runs(s) || n->excluded) {
        memset(b->shared_s, 0, sizeof b->shared_s);
        return 0;
    }
    for (uint32_t i = 0; i < VF_BANK; i++) {
        if (i == b->accepted || !vf_nav_has_state(s, i)) continue;
        if (vf_nav_has_state(s, b->accepted) && !compare(s, i, dt_s)) continue;
        accept(n, i);
        return 1;
    }
    return 0;
}

VF_STATIC_ASSERT(VFRONT_TEST_ALL + VF_BANK <= VFRONT_TESTS, "vfront: a test for each member");
void vf_nav_bank_test(const struct vf_nav_view *s, vfront_innovation_t *test)
{
    const struct vf_nav_bank *b = &s->nav->bank;
    const vfront_nav_t *own = &s->vio->nav[b->accepted];
    if (!runs(s) || !vf_nav_has_state(s, b->accepted)) return;
    for (uint32_t i = 0; i < VF_BANK; i++) {
        const vfront_nav_t *other = &s->vio->nav[i];
        if (i == b->accepted || !vf_nav_has_state(s, i)) continue;
        vf_nav_separation(own, other, test[i].value);
        for (int k = 0; k < VF_BANK_ERRORS; k++) test[i].variance[k] = larger_variance(own, other, k);
        test[i].test_ratio = largest(test[i].value, own, other, 0, VF_BANK_ERRORS) / VF_BANK_CHI2;
    }
}

void vf_nav_bank_widen(const struct vf_nav_view *s, vfront_nav_t *nav)
{
    const struct vf_nav_bank *b = &s->nav->bank;
    const vfront_nav_t *own = &s->vio->nav[b->accepted];
    double most = VF_BANK_WIDEN_CHI2, d[VF_BANK_ERRORS], of_most[VF_BANK_ERRORS] = {0.0};
    if (!runs(s)) return;
    for (uint32_t i = 1; i < VF_BANK; i++) {
        if (i <= b->accepted || !vf_nav_has_state(s, i) || b->worse[i]) continue;
        vf_nav_separation(own, &s->vio->nav[i], d);
        const double square = largest(d, own, &s->vio->nav[i], 0, VF_BANK_ERRORS);
        if (square < most) continue;
        most = square;
        memcpy(of_most, d, sizeof d);
    }
    for (int r = 0; r < VF_BANK_ERRORS; r++)
        for (int c = r; c < VF_BANK_ERRORS; c++) nav->covariance[vf_nav_index(r, c)] += of_most[r] * of_most[c];
}

void vf_nav_bank_keep(const struct vf_nav_view *s, int lost)
{
    struct vf_nav *n = s->nav;
    struct vf_nav_bank *b = &n->bank;
    b->kept = b->accepted;
    for (uint32_t i = 0; i < VF_BANK; i++) {
        const vfront_nav_t *nav = &s->vio->nav[i];
        struct vf_nav_member *m = &b->member[i];
        const int ended = b->goes_on[i] && i > b->accepted && !vf_nav_has_state(s, i);
        if (ended) vf_nav_level_keep(&n->separated[i], &n->own.before, &m->last); /* both of the frame before */
        b->goes_on[i] = i != b->accepted && vf_nav_has_state(s, i) && !b->ends[i];
        if (!b->goes_on[i]) continue;
        m->before = m->last;
        m->last = *nav;
        vf_nav_carry(m, nav, n->t_ns);
        renew(n, i);
        if ((lost || !b->goes_on[i]) && i > b->accepted && vf_nav_has_state(s, b->accepted))
            vf_nav_level_keep(&n->separated[i], &s->vio->nav[b->accepted], nav);
    }
}

#endif
