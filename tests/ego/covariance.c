/* SPDX-License-Identifier: MIT */
/* Covariance of a motion from its correspondences, against double precision: gradients by numerical differentiation,
 * calibration effects by moving pixels and depths, disparity offset by dense least squares with seven unknowns. */
#include "tests/geometry/motion_oracle.h"

#if VFRONT_EGO
#include "ego/ego_assess.c"
#include "ego/ego_list.h"

#define FOCAL_PX 700.0
#define BASELINE_M 0.3

/** Calibration parameters in the oracle's order, and a step of each: centre [px], focal length [relative], disparity
 *  [px]. */
enum value { RIGHT, DOWN, FOCAL, DISPARITY, VALUES };

static struct vf_ego_view view;

/** Correspondence under another calibration. */
static struct vf_correspondence recalibrated(const struct vf_correspondence *s, const double by[VALUES])
{
    struct vf_correspondence out = *s;
    double z[2];
    for (int k = 0; k < 2; k++) {
        const float *was = k ? s->now : s->before;
        float *is = k ? out.now : out.before;
        double v[3] = {(double)was[0] / (double)was[2] * (1.0 + by[FOCAL]) + by[RIGHT] / FOCAL_PX,
                       (double)was[1] / (double)was[2] * (1.0 + by[FOCAL]) + by[DOWN] / FOCAL_PX, 1.0};
        unit(v);
        for (int i = 0; i < 3; i++) is[i] = (float)v[i];
        z[k] = v[2];
    }
    /* the same image size with a shorter focal length: depth of the same disparity falls */
    const double inverse = by[DISPARITY] / (FOCAL_PX * BASELINE_M),
                 depth = 1.0 / (1.0 / ((double)s->range_m * (double)s->before[2]) * (1.0 + by[FOCAL]) + inverse);
    out.range_m = (float)(depth / z[0]);
    if (s->inverse_depth_sigma_1pm > 0.0f) /* noise makes some of them negative */
        out.inverse_depth_1pm =
            (float)(z[1] * ((double)s->inverse_depth_1pm / (double)s->now[2] * (1.0 + by[FOCAL]) + inverse));
    return out;
}

/** Derivatives of the residuals by the motion, and change of the residuals by a step of each calibration parameter. */
struct derivatives {
    struct row here;
    double J[4][6], by[4][VALUES];
};
static struct derivatives derive(int kind, const struct rigid *m, const struct vf_correspondence *s,
                                 const double size[VALUES])
{
    struct derivatives d;
    d.here = row_of(kind, m, m, s);
    for (int i = 0; i < 6; i++) {
        double step[6] = {0};
        step[i] = kind == VF_ROTATION_ONLY && i < 3 ? 0.0 : 1e-6;
        const struct rigid more = perturbed(m, step);
        step[i] = -step[i];
        const struct rigid less = perturbed(m, step);
        const struct row a = row_of(kind, &more, m, s), b = row_of(kind, &less, m, s);
        for (int k = 0; k < 4; k++) d.J[k][i] = k < d.here.n ? (a.r[k] - b.r[k]) / 2e-6 : 0.0;
    }
    for (int n = 0; n < VALUES; n++) {
        const double h = n == FOCAL ? 2e-3 : n == DISPARITY ? 0.05 : 1.0; /* bearings have single precision */
        double by[VALUES] = {0};
        by[n] = h;
        const struct vf_correspondence more = recalibrated(s, by);
        by[n] = -h;
        const struct vf_correspondence less = recalibrated(s, by);
        const struct row a = row_of(kind, m, m, &more), b = row_of(kind, m, m, &less);
        for (int k = 0; k < 4; k++) d.by[k][n] = k < d.here.n ? (a.r[k] - b.r[k]) / (2 * h) * size[n] : 0.0;
    }
    return d;
}

/** Sums over the inliers: normal equations of motion and disparity offset, calibration effects, gradients by
 *  cluster. */
struct sums {
    double A[49], g[7], e, effect[VALUES][6], cluster[VF_EGO_CLUSTERS][6];
    int inliers, residuals, edge, clusters, filled[VF_EGO_CLUSTERS];
};
static struct sums sums;

static void add(int kind, const struct rigid *m, const struct vf_correspondence *s, const double size[VALUES])
{
    const struct derivatives d = derive(kind, m, s, size);
    const int x = (int)lround(FOCAL_PX / 32.0 * (double)s->now[0]),
              y = (int)lround(FOCAL_PX / 32.0 * (double)s->now[1]), at = (y & 15) * 32 + (x & 31), n = d.here.n;
    for (int k = 0; k < n; k++)
        for (int l = 0; l < n; l++) {
            const double w = d.here.weight[k * n + l];
            double a[7], b[7];
            for (int i = 0; i < 7; i++) {
                a[i] = i < 6 ? d.J[k][i] : d.by[k][DISPARITY];
                b[i] = i < 6 ? d.J[l][i] : d.by[l][DISPARITY];
            }
            for (int i = 0; i < 7; i++) {
                for (int j = 0; j < 7; j++) sums.A[7 * i + j] += a[i] * w * b[j];
                sums.g[i] += a[i] * w * d.here.r[l];
                if (i == 6) continue;
                sums.cluster[at][i] += a[i] * w * d.here.r[l];
                for (int v = 0; v < VALUES; v++) sums.effect[v][i] += a[i] * w * d.by[l][v];
            }
            sums.e += d.here.r[k] * w * d.here.r[l];
        }
    sums.clusters += sums.filled[at]++ == 0;
    sums.inliers++;
    sums.residuals += kind == VF_RELATIVE ? 1 : kind == VF_METRIC && n == 4 ? 3 : 2;
}

/** Variance of the disparity offset [px^2]: that of the tuning, plus the square estimated with seven unknowns beyond
 *  two standard deviations. */
static double disparity_variance(double variance, double sigma_px)
{
    double inverse[49], found = 0.0;
    invert(sums.A, 7, inverse);
    for (int i = 0; i < 7; i++) found -= inverse[7 * 6 + i] * sums.g[i];
    return sigma_px * sigma_px + fmin(1.0, fmax(0.0, found * found - 4.0 * variance * inverse[48]));
}

/** Covariance of a motion, and the share of its variance due to disparities. */
static void oracle(int kind, const struct rigid *m, const double deviation[VALUES], double out[36], double *predicted)
{
    const int n = unknowns_of(kind);
    double A[36], B[36] = {0}, basis[6][6], N[36], inverse[36], G[36], change[6] = {0};
    const double variance = sums.e / (sums.residuals - n), slope = fmax(0.25, 1.0 - 2.0 * sums.edge / sums.residuals);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            A[6 * i + j] = sums.A[7 * i + j];
            for (int c = 0; c < VF_EGO_CLUSTERS; c++) B[6 * i + j] += sums.cluster[c][i] * sums.cluster[c][j];
            B[6 * i + j] = (B[6 * i + j] + variance * A[6 * i + j] * n / sums.clusters) / pow(slope, 4) *
                           (1.0 + 20.0 / sums.clusters);
            for (int v = 0; v < DISPARITY; v++)
                B[6 * i + j] += pow(deviation[v], 2) * sums.effect[v][i] * sums.effect[v][j];
        }
    const double common = kind == VF_METRIC ? disparity_variance(variance, deviation[DISPARITY]) : 0.0;
    *predicted = common;
    basis_of(kind, m, basis);
    restrict_to(A, basis, n, N);
    invert(N, n, inverse);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            G[6 * i + j] = 0.0;
            for (int k = 0; k < n; k++)
                for (int l = 0; l < n; l++) G[6 * i + j] += basis[k][i] * inverse[k * n + l] * basis[l][j];
        }
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) change[i] += G[6 * i + k] * sums.effect[DISPARITY][k];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            out[6 * i + j] = common * change[i] * change[j];
            for (int k = 0; k < 6; k++)
                for (int l = 0; l < 6; l++) out[6 * i + j] += G[6 * i + k] * B[6 * k + l] * G[6 * l + j];
        }
}

/** Lists random correspondences of a motion with noise, in units of their standard deviations, and a disparity
 *  offset. */
static void list_correspondences(int kind, const struct rigid *m, int count, double noise, double offset_px)
{
    const double by[VALUES] = {0, 0, 0, offset_px};
    memory.ego.count[0] = memory.ego.count[1] = 0;
    for (int k = 0; k < count; k++) {
        const struct vf_correspondence s = any_correspondence(kind, m, noise), off = recalibrated(&s, by);
        const int list = vf_ego_list(kind);
        vf_ego_store(&memory.ego.list[list], (int32_t)memory.ego.count[list]++, kind == VF_METRIC ? &off : &s, k);
    }
}

/** Sets three refined motions beside the best one m: of equal score, and behind it by 0.3 and 1.1 times the lead that
 *  leaves no doubt, 127 times the root of the number of correspondences. Writes what they add to the covariance. */
static void put_rivals(int search, const struct rigid *m, int32_t score, uint32_t count, double out[36])
{
    static const double lead[3] = {0.0, 0.3, 1.1};
    memset(out, 0, 36 * sizeof *out);
    for (int k = 0; k < 3; k++) {
        struct vf_refined *f = &memory.ego.refined[search][5 * k];
        double change[6];
        for (int i = 0; i < 6; i++) change[i] = real(-0.03, 0.03);
        const struct rigid other = perturbed(m, change);
        f->pose = pose_of(&other);
        f->sum.score = score - (int32_t)lround(lead[k] * 127.0 * sqrt((double)count));
        for (int i = 0; i < 36; i++) out[i] += fmax(0.0, 1.0 - lead[k]) * change[i / 6] * change[i % 6];
    }
}

/** Solves by steps from the truth, and compares the library's covariance of the result with the oracle's. Returns the
 *  largest difference relative to the variances. */
static double compare(int search, const struct rigid *truth, const double deviation[VALUES], int rivals,
                      double *predicted)
{
    static const double one[VALUES] = {1, 1, 1, 1};
    const int kind = search == VF_WIDE ? VF_METRIC : search;
    const uint32_t count = memory.ego.count[vf_ego_list(kind)];
    struct vf_pose p = pose_of(truth);
    struct vf_normal_equations sum = vf_ego_sum_motion(&view, search, &p);
    for (int k = 0; k < 6 && vf_motion_step(kind, &p, sum.terms); k++) sum = vf_ego_sum_motion(&view, search, &p);
    const struct rigid m = rigid_of(&p);
    struct vf_assessment a;
    double is[36], should[36], more[36] = {0}, worst = 0.0;
    memset(&sums, 0, sizeof sums);
    for (uint32_t i = 0; i < count; i++) {
        struct vf_correspondence s = vf_ego_load(&memory.ego.list[vf_ego_list(kind)], (int32_t)i);
        if (search == VF_WIDE) s.weight *= 1.0f / 3.0f;
        const double error = (double)vf_motion_error(kind, &p, &s); /* tested against an oracle of its own */
        sums.edge += sqrt(error) >= 0.75 && sqrt(error) < 1.25;
        if (error < 1.0) add(kind, &m, &s, one);
    }
    assert_int_equal(sums.inliers, sum.inliers);
    memset(memory.ego.refined, 0, sizeof memory.ego.refined);
    if (rivals) put_rivals(search, &m, sum.score, count, more);
    assert_true(find_covariance(&view, search, &p, &sum, &a));
    unfold(a.covariance[kind], is);
    oracle(kind, &m, deviation, should, predicted);
    for (int i = 0; i < 36; i++) should[i] += more[i];
    for (int i = 0; i < 36; i++)
        worst = fmax(worst, fabs(is[i] - should[i]) / fmax(sqrt(should[i / 6 * 7] * should[i % 6 * 7]), 1e-14));
    return worst;
}

static void set_up_view(const double deviation[VALUES])
{
    memset(&step, 0, sizeof step);
    vfront_tuning_default(&step.tuning);
    step.memory = &memory;
    step.geometry.cameras = VFRONT_CAMERAS;
    for (int k = 0; k < VFRONT_CAMERAS; k++) {
        step.geometry.calibrated[k] = 1;
        step.geometry.focal_px[k] = (float)FOCAL_PX;
    }
    step.geometry.pair.placed = 1;
    step.geometry.pair.baseline_m = (float)BASELINE_M;
    step.tuning.rig_centre_mpx = (int32_t)lround(1000.0 * deviation[RIGHT]);
    step.tuning.rig_focal_ppm = (int32_t)lround(1e6 * deviation[FOCAL]);
    step.tuning.rig_disparity_mpx = (int32_t)lround(1000.0 * deviation[DISPARITY]);
    vf_geometry_derive(&step.geometry, &step.tuning);
    vf_ego_make_view(&view, &step);
}

/** Covariances with and without calibration errors, little and much noise, and a disparity offset. */
static void covariances(void **state)
{
    static const double deviation[][VALUES] = {{0, 0, 0, 0}, {0.4, 0.4, 0, 0}, {0, 0, 0.01, 0}, {0.2, 0.2, 0.004, 0.2}};
    (void)state;
    if (VFRONT_CORRESPONDENCES < 400) skip();
    for (int search = 0; search < VF_SEARCHES; search++)
        for (int variant = 0; variant < 4; variant++) {
            const int wide = search == VF_WIDE, kind = wide ? VF_METRIC : search;
            const double noise = wide ? 3.0 : 1.0;
            double worst = 0.0, most = 0.0;
            shake(60 + (uint64_t)(4 * search + variant));
            set_up_view(deviation[variant]);
            for (int tries = 0; tries < 20; tries++) {
                const struct rigid truth = any_of(kind);
                double predicted;
                list_correspondences(kind, &truth, 400, noise * (tries % 2 ? 0.5 : 1.2), tries % 3 ? 0.0 : 0.7);
                worst = fmax(worst, compare(search, &truth, deviation[variant], tries % 4 == 3, &predicted));
                most = fmax(most, predicted);
            }
            print_message("%s%s, %d: off by %.2g of the variances at most; disparities %.2g px\n", kind_name[kind],
                          wide ? ", wide" : "", variant, worst, sqrt(most));
            REQUIRE(worst < 0.03, "%d, %d: %g", search, variant, worst);
            if (VFRONT_STEREO && search == VF_METRIC) assert_true(sqrt(most) > 0.3);
        }
}

/** Distance of a track by its partner: none without a deviation, or of infinity. */
static void distance_of_a_track(void **state)
{
    (void)state;
#if VFRONT_STEREO
    static const struct {
        float inverse_1pm, sigma_1pm;
        int known;
    } one[] = {{0.5f, 0.01f, 1},    {0.5f, 0.4f, 0},  {0.5f, 0.0f, 0}, {1e-39f, 0.0f, 0}, {1e-39f, 1e-44f, 0},
               {1e-30f, 1e-35f, 1}, {0.5f, -1.0f, 0}, {0.0f, 0.0f, 0}, {0.5f, NAN, 0},    {INFINITY, 1.0f, 0}};
    static struct vf_partner_memory partner;
    static struct vf_feature f;
    struct vf_ego_view s = view;
    s.partner = &partner;
    s.geometry.active = VF_BIT(partner);
    s.tuning.ego_metric_hypotheses = 1;
    f.age = 1;
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        partner.range[1][0] = (struct vf_partner_range){one[i].inverse_1pm, one[i].sigma_1pm};
        const struct vf_range_estimate range = vf_ego_track_range(&s, &f);
        REQUIRE((range.m > 0.0f) == one[i].known && (range.sigma_m > 0.0f) == one[i].known, "%d: %g, %g", (int)i,
                (double)range.m, (double)range.sigma_m);
    }
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(covariances), cmocka_unit_test(distance_of_a_track)};
    return cmocka_run_group_tests_name("covariance", tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("no motion in this config\n");
    return 77;
}

#endif
