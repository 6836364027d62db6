/* SPDX-License-Identifier: MIT */
#include "nav_bank.h"
#include "nav_interval.h"

#include "math/quaternion.h"
#include "vio/imu_interval.h"

#if VFRONT_VIO

void vf_nav_doubt_turn(struct vf_nav *n, double variance)
{
    n->doubt.unknown |= variance > 0.0 ? 0u : 1u;
    n->doubt.sigma += sqrt(variance);
}

/** 1 if samples are left out of the reported state because pictures contradict them, or by their clock. */
static int left_out(const struct vf_nav_view *s)
{
    const struct vf_nav *n = s->nav;
    return n->bank.accepted || n->imu_rejected > 1 || (s->imu_fault & VFRONT_IMU_CLOCK) != 0;
}

/** 1 if pictures contradict samples in this frame. */
static int contradicts(const struct vf_nav_view *s)
{
    return left_out(s) || s->nav->bank.disputed || s->nav->prediction_off;
}

/** 1 if pictures may be wrong, or of another time than their stamps. */
static int is_open(const struct vf_nav_view *s) { return s->nav->doubt.open_s > 0.0 || contradicts(s); }

void vf_nav_doubt_reset(struct vf_nav *n)
{
    if (n->doubt.open_s > 0.0 || n->bank.disputed || n->prediction_off || n->imu_rejected) n->time_lost = 1;
    memset(&n->doubt, 0, sizeof n->doubt);
}

/* ---- propagation by samples alone -------------------------------------------------------------------------------- */

/** 1 if the samples of this frame can propagate a state. */
static int has_samples(const struct vf_nav_view *s)
{
    const uint32_t wrong = VFRONT_IMU_STUCK | VFRONT_IMU_ZERO | VFRONT_IMU_IN_G | VFRONT_IMU_NO_GRAVITY;
    return s->nav->samples && s->samples->count && !vf_samples_gap(s->samples, VFRONT_IMU_GAP_NS) &&
           !(s->params->imu & wrong) && !(s->imu_fault & (VFRONT_IMU_AXES | VFRONT_IMU_IN_DEGREES));
}

/** Propagates a state by the samples of this frame; without them, and after VF_DOUBT_ALONE_S, it ends. */
static void propagate(const struct vf_nav_view *s, struct vf_nav_alone *alone)
{
    const struct vf_nav *n = s->nav;
    const vfront_imu_noise_t noise = vf_nav_noise(s);
    struct vf_vio_imu_interval motion;
    const double dt_s = n->t_ns > alone->carried.t_ns ? 1e-9 * (double)(n->t_ns - alone->carried.t_ns) : 0.0;
    const int goes_on = dt_s > 0.0 && has_samples(s) && alone->age_s + dt_s <= VF_DOUBT_ALONE_S;
    alone->age_s = goes_on ? alone->age_s + dt_s : 0.0;
    if (!goes_on) return;
    vf_vio_imu_interval_of(&motion, &alone->carried, &noise, s->scale, n->imu, n->samples, n->t_ns);
    alone->carried.t_ns = n->t_ns;
    alone->carried.own_offset_s = alone->carried.offset_s;
    if (!vf_nav_propagate(&alone->now, &noise, &motion.motion) || !vf_nav_is_finite(&alone->now)) alone->age_s = 0.0;
}

void vf_nav_doubt_propagate(const struct vf_nav_view *s)
{
    struct vf_nav_doubt *c = &s->nav->doubt;
    for (int i = 0; i < 2; i++) /* not again if this is called again before the step */
        if (c->alone[i].age_s > 0.0 && s->nav->t_ns != c->alone[i].carried.t_ns) propagate(s, &c->alone[i]);
}

/** Raises the levels to what bounds the errors if pictures are wrong since the propagated state. */
static void raise_by_samples(const struct vf_nav_alone *alone, const vfront_nav_t *nav, double k_square,
                             double level[VF_BANK_ERRORS])
{
    double d[VF_BANK_ERRORS];
    vf_nav_separation(nav, &alone->now, d);
    for (int k = 0; k < VF_BANK_ERRORS; k++) {
        const double bound = fabs(d[k]) + sqrt(k_square * alone->now.covariance[vf_nav_index(k, k)]);
        if (bound > level[k]) level[k] = bound;
    }
}

/** Lets the reported state of this frame go on by samples alone, beside the one of up to VF_DOUBT_S ago. */
static void alone_anew(struct vf_nav *n, const vfront_nav_t *nav, double dt_s)
{
    struct vf_nav_alone *alone = n->doubt.alone;
    alone[1] = alone[0];
    alone[0].now = *nav;
    alone[0].carried = n->own.carried;
    alone[0].age_s = dt_s;
}

/* ---- pictures of another time ------------------------------------------------------------------------------------ */

/** 1 if a rotation, and the one `shift_ns` before it, differ by so much that gyro and pictures would have contradicted
 *  each other if stamps were wrong by this shift. */
static int differs(const struct vf_nav_past *now, const struct vf_nav_past *then, uint64_t shift_ns)
{
    const uint64_t apart_ns = now->t_ns - then->t_ns,
                   off_ns = apart_ns > shift_ns ? apart_ns - shift_ns : shift_ns - apart_ns;
    double square = 0.0;
    if (!(now->sigma > 0.0) || !(then->sigma > 0.0) || 2e-9 * (double)off_ns > now->dt_s) return 0;
    const double before = then->sigma * now->dt_s / then->dt_s,
                 variance = now->sigma > before ? now->sigma * now->sigma : before * before;
    for (int k = 0; k < VF_AXES; k++) {
        const double turn = (now->rate[k] - then->rate[k]) * now->dt_s;
        square += turn * turn;
    }
    return square > VF_DOUBT_CHI2 * variance;
}

/** 1 if the gyro rules out stamps that are wrong by the age of state j. */
static int ruled_out(const struct vf_nav_doubt *c, uint32_t j)
{
    const uint64_t shift_ns = c->past[0].t_ns - c->past[j].t_ns;
    for (uint32_t i = 0; i < c->count; i++)
        for (uint32_t k = i + 1; k < c->count; k++)
            if (differs(&c->past[i], &c->past[k], shift_ns)) return 1;
    return 0;
}

/** Adds to the levels the largest change of the state since a time that is not ruled out. */
static void add_changes(const struct vf_nav_view *s, const vfront_nav_t *nav, double level[VF_BANK_ERRORS])
{
    const struct vf_nav *n = s->nav;
    const struct vf_nav_doubt *c = &n->doubt;
    const int has_gyro = !n->vision_only && !n->imu_rejected && n->bank.accepted != VF_BANK_NO_IMU;
    double most[VF_BANK_ERRORS] = {0.0}, d[VF_BANK_ERRORS];
    vfront_nav_t then = *nav;
    for (uint32_t j = 0; j < c->count; j++) {
        const struct vf_nav_past *past = &c->past[j];
        if (nav->t_ns > past->t_ns + (uint64_t)(VF_DOUBT_S * 1e9) || (j && has_gyro && ruled_out(c, j))) continue;
        memcpy(then.position_m, past->p, sizeof past->p);
        memcpy(then.q_odom_imu, past->q, sizeof past->q);
        memcpy(then.velocity_mps, past->v, sizeof past->v);
        vf_nav_separation(&then, nav, d);
        for (int k = 0; k < VF_BANK_ERRORS; k++)
            if (fabs(d[k]) > most[k]) most[k] = fabs(d[k]);
    }
    for (int k = 0; k < VF_BANK_ERRORS; k++) level[k] += most[k];
}

/** Keeps a state, the newest first, with the mean rate since the one before. */
static void keep(struct vf_nav_doubt *c, const vfront_nav_t *nav)
{
    struct vf_nav_past *now = &c->past[0], *then = &c->past[1];
    double back[VF_QUATERNION], turn[VF_QUATERNION];
    memmove(then, now, (VF_DOUBT_STATES - 1) * sizeof *now);
    c->count += c->count < VF_DOUBT_STATES;
    memset(now, 0, sizeof *now);
    now->t_ns = nav->t_ns;
    memcpy(now->p, nav->position_m, sizeof now->p);
    memcpy(now->q, nav->q_odom_imu, sizeof now->q);
    memcpy(now->v, nav->velocity_mps, sizeof now->v);
    if (c->count > 1 && nav->t_ns > then->t_ns) {
        now->dt_s = (double)(nav->t_ns - then->t_ns) * 1e-9;
        for (int k = 0; k < VF_QUATERNION; k++) back[k] = k ? -then->q[k] : then->q[k];
        vf_quaternion_multiply(back, now->q, turn);
        vf_quaternion_logarithm(turn, now->rate);
        for (int k = 0; k < VF_AXES; k++) now->rate[k] /= now->dt_s;
        now->sigma = c->unknown ? 0.0 : c->sigma;
    }
    c->sigma = 0.0;
    c->unknown = 0;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

void vf_nav_doubt_raise(const struct vf_nav_view *s, const vfront_nav_t *nav, double k_square,
                        double level[VF_BANK_ERRORS])
{
    const struct vf_nav_alone *alone = s->nav->doubt.alone;
    if (!is_open(s)) return;
    add_changes(s, nav, level);
    if (alone[alone[1].age_s > 0.0].age_s > 0.0) raise_by_samples(&alone[alone[1].age_s > 0.0], nav, k_square, level);
}

void vf_nav_doubt_keep(const struct vf_nav_view *s, const vfront_nav_t *nav)
{
    struct vf_nav_doubt *c = &s->nav->doubt;
    const double dt_s = (double)s->params->dt_ns * 1e-9;
    const double least_s = left_out(s)      ? VF_DOUBT_HOLD_S
                           : contradicts(s) ? VF_DOUBT_S
                                            : 0.0,
                 left_s = c->open_s > dt_s ? c->open_s - dt_s : 0.0;
    c->open_s = left_s > least_s ? left_s : least_s;
    c->unknown |= s->nav->bank.replaced; /* the attitude may have jumped */
    if (!is_open(s) && !s->nav->no_gravity && (!(c->alone[0].age_s > 0.0) || c->alone[0].age_s > VF_DOUBT_S))
        alone_anew(s->nav, nav, dt_s);
    if (!c->count || nav->t_ns >= c->past[0].t_ns + (uint64_t)(VF_DOUBT_S / (VF_DOUBT_STATES - 2) * 1e9)) keep(c, nav);
}

#endif
