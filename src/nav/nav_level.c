/* SPDX-License-Identifier: MIT */
#include "nav_bank.h"

#include "math/quaternion.h"

#if VFRONT_VIO

int vf_nav_has_state(const struct vf_nav_view *s, uint32_t i)
{
    return s->request->member[i].command != VF_VIO_NONE && vf_nav_is_finite(&s->vio->nav[i]);
}

void vf_nav_separation(const vfront_nav_t *x, const vfront_nav_t *y, double d[VF_BANK_ERRORS])
{
    double back[VF_QUATERNION], turn[VF_QUATERNION];
    for (int k = 0; k < VF_QUATERNION; k++) back[k] = k ? -x->q_odom_imu[k] : x->q_odom_imu[k];
    vf_quaternion_multiply(y->q_odom_imu, back, turn);
    vf_quaternion_logarithm(turn, d + VF_NAV_W);
    for (int k = 0; k < VF_AXES; k++) {
        d[VF_NAV_P + k] = y->position_m[k] - x->position_m[k];
        d[VF_NAV_V + k] = y->velocity_mps[k] - x->velocity_mps[k];
    }
}

/** Adds the cross product w x v. */
static void add_cross(const double w[VF_AXES], const double v[VF_AXES], double sum[VF_AXES])
{
    for (int k = 0; k < VF_AXES; k++) {
        const int a = (k + 1) % VF_AXES, b = (k + 2) % VF_AXES;
        sum[k] += w[a] * v[b] - w[b] * v[a];
    }
}

/** Adds what is kept of a member to its separation from the accepted one, whose state is `own`. more: covariance of
 *  what is kept, at that state. */
static void add_kept(const struct vf_nav_separated *kept, const vfront_nav_t *own, double d[VF_BANK_ERRORS],
                     vfront_nav_t *more)
{
    double step[VF_AXES];
    *more = *own;
    memset(more->covariance, 0, sizeof more->covariance);
    vf_nav_origin_add(&kept->origin, more);
    for (int k = 0; k < VF_NAV_V; k++) d[k] += kept->d[k];
    for (int k = 0; k < VF_AXES; k++) step[k] = own->position_m[k] - kept->origin.p[k];
    add_cross(kept->d + VF_NAV_W, step, d + VF_NAV_P);
    add_cross(kept->d + VF_NAV_W, own->velocity_mps, d + VF_NAV_V);
}

/** 1 if error k is more uncertain in state x than in y. */
static int is_larger(const vfront_nav_t *x, const vfront_nav_t *y, int k)
{
    return x->covariance[vf_nav_index(k, k)] > y->covariance[vf_nav_index(k, k)];
}

void vf_nav_level_keep(struct vf_nav_separated *kept, const vfront_nav_t *own, const vfront_nav_t *other)
{
    vfront_nav_t more;
    double d[VF_BANK_ERRORS];
    vf_nav_separation(own, other, d);
    add_kept(kept, own, d, &more);
    for (int r = 0; r < VF_NAV_V; r++)
        for (int c = r; c < VF_NAV_V; c++)
            if (is_larger(other, own, r) && is_larger(other, own, c))
                more.covariance[vf_nav_index(r, c)] += other->covariance[vf_nav_index(r, c)] -
                                                       own->covariance[vf_nav_index(r, c)];
    memcpy(kept->d, d, sizeof kept->d);
    vf_nav_origin_set(&kept->origin, own, &more, 1);
}

double vf_nav_logarithm(double x)
{
    double power, sum = 0.0;
    int halvings = 0;
    while (x > 0.0 && x < 1.0) x *= 2.0, halvings++;
    /* ln x = 2 atanh(y), y = (x - 1) / (x + 1) <= 1/3; ln 2 is the same of y = 1/3 */
    for (int of_two = 0; of_two < 2; of_two++) {
        const double y = of_two ? 1.0 / (2.0 + 1.0) : (x - 1.0) / (x + 1.0), weight = of_two ? -2.0 * halvings : 2.0;
        power = y;
        for (int i = 1; i < 2 * VF_SERIES; i += 2) {
            sum += weight * power / i;
            power *= y * y;
        }
    }
    return sum;
}

/** Square of k for this frame. */
static double factor_square(const struct vf_nav_view *s)
{
    const double an_hour = 1e-6 * s->tuning.protection_risk_ppm,
                 frames_an_hour = VF_HOUR_S / (1e-9 * (double)s->params->dt_ns);
    return an_hour < frames_an_hour ? -2.0 * vf_nav_logarithm(an_hour / frames_an_hour) : 0.0;
}

/** Raises the levels to what bounds the errors if all measurements that member i does not use are wrong. */
static void raise(const struct vf_nav_view *s, uint32_t i, const double more[VF_BANK_ERRORS], double k_square,
                  double level[VF_BANK_ERRORS])
{
    const vfront_nav_t *own = &s->vio->nav[s->nav->bank.accepted], *other = &s->vio->nav[i];
    vfront_nav_t kept;
    double d[VF_BANK_ERRORS];
    vf_nav_separation(own, other, d);
    add_kept(&s->nav->separated[i], own, d, &kept);
    for (int k = 0; k < VF_BANK_ERRORS; k++) {
        const int at = vf_nav_index(k, k);
        const double before = kept.covariance[at] > 0.0 ? kept.covariance[at] : 0.0,
                     bound = fabs(d[k]) + sqrt(k_square * (other->covariance[at] + before + more[k]));
        if (bound > level[k]) level[k] = bound;
    }
}

/** Whether a state has levels: vfront_protection_t. */
static uint32_t given(const struct vf_nav_view *s, const vfront_nav_t *nav)
{
    const struct vf_nav *n = s->nav;
    if (nav->state < VFRONT_NAV_GOOD || nav->state == VFRONT_NAV_LOST) return VFRONT_PROTECTION_NO_STATE;
    const int has_samples = n->bank.accepted != VF_BANK_NO_IMU && (!n->vision_only || n->excluded);
    if (n->time_lost) return VFRONT_PROTECTION_NO_ORIGIN;
    if (VF_BANK <= VF_BANK_NO_IMU || n->no_gravity || !has_samples || !s->geometry.pair.placed)
        return VFRONT_PROTECTION_NO_BANK;
    return vf_nav_has_state(s, VF_BANK - 1) ? VFRONT_PROTECTION_GIVEN : VFRONT_PROTECTION_NO_MEMBER;
}

void vf_nav_level_set(const struct vf_nav_view *s, const double more[VF_BANK_ERRORS], vfront_nav_t *nav)
{
    double level[VF_BANK_ERRORS] = {0.0};
    nav->protection = given(s, nav);
    if (nav->protection != VFRONT_PROTECTION_GIVEN) return;
    const double k_square = factor_square(s);
    for (uint32_t i = s->nav->bank.accepted; i < VF_BANK; i++)
        if (vf_nav_has_state(s, i)) raise(s, i, more, k_square, level);
    vf_nav_doubt_raise(s, nav, k_square, level);
    memcpy(nav->protection_level_m, level + VF_NAV_P, sizeof nav->protection_level_m);
    memcpy(nav->protection_level_rad, level + VF_NAV_W, sizeof nav->protection_level_rad);
    memcpy(nav->protection_level_mps, level + VF_NAV_V, sizeof nav->protection_level_mps);
}

#endif
