/* SPDX-License-Identifier: MIT */
/* Independent form of ego for its test: the list by a plain sort, sums of normal equations in the specified order,
 * refined hypotheses, assessment. Error and terms of a correspondence and the Gauss-Newton step are the library's;
 * tests/geometry/motion.c tests those. */
#ifndef TEST_EGO_ORACLE_H
#define TEST_EGO_ORACLE_H

#include "ego_scene.h"

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/** Expected entry of the list. */

struct listed {
    int rank, number;
    double before[3], now[3], bound_px, m, sigma_m, near, near_sigma;
};
static struct listed should[VFRONT_CORRESPONDENCES];

static int by_rank(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    return x->rank != y->rank ? x->rank - y->rank : x->number - y->number;
}

static void same_value(double is, double want, double part, const char *what, int i)
{
    REQUIRE(fabs(is - want) <= part * fabs(want) + 1e-12, "%s of %d is %.9g, should be %.9g", what, i, is, want);
}

static void compare_list(int list, const struct listed *want, int count)
{
    const struct vf_correspondences *s = &ego->list[list];
    REQUIRE((int)ego->count[list] == count, "list %d has %u, should have %d", list, ego->count[list], count);
    for (int i = 0; i < count; i++) {
        const struct listed *w = &want[i];
        REQUIRE(s->candidate[i] == w->number, "place %d of list %d has %d, should have %d", i, list, s->candidate[i],
                w->number);
        for (int k = 0; k < 3; k++) /* bearings of tracks are interpolated in a grid */
            REQUIRE(fabs((double)s->before[k][i] - w->before[k]) < 1e-6 &&
                        fabs((double)s->now[k][i] - w->now[k]) < 1e-6,
                    "bearings of %d", i);
        /* in the metric list the weight depends on the displacement, also for interpolated bearings */
        same_value((double)s->weight[i], 1.0 / sin(atan(w->bound_px / FOCAL_PX)), list ? 2e-5 : 1e-6, "weight", i);
        same_value((double)s->range_m[i], w->m, 1e-6, "distance", i);
        same_value((double)s->range_sigma_m[i], w->sigma_m, 1e-6, "deviation", i);
        same_value((double)s->inverse_depth_1pm[i], w->near, 1e-6, "distance now", i);
        same_value((double)s->inverse_depth_sigma_1pm[i], w->near_sigma, 1e-6, "deviation now", i);
    }
}

/** Gives track i a random inverse range in the previous frame, some unknown or uncertain. Adds the distance, if its
 *  inverse exceeds three standard deviations, to its expected entry. */
static void random_range(int i, struct listed *w)
{
#if VFRONT_STEREO
    const int on = step.tuning.ego_metric_hypotheses > 0 && step.tuning.track_target > 0 && step.tuning.track_stereo;
    struct vf_partner_range *r =
        &memory.partner.range[step.parity ^ 1][memory.refill.feature[step.parity][i].template_index];
    memset(r, 0, sizeof *r);
    if (!roll(3)) return;
    r->inverse_1pm = (float)real(0.02, 1);
    r->sigma_1pm = r->inverse_1pm * (float)real(0.01, 0.5);
    if (!on || (double)r->inverse_1pm <= 3.0 * (double)r->sigma_1pm) return;
    w->m = 1.0 / (double)r->inverse_1pm;
    w->sigma_m = (double)r->sigma_1pm * w->m * w->m;
#else
    (void)i, (void)w;
#endif
}

/** Makes random tracks, some new, some without bearings. Adds those that are correspondences to the expected list. */
static int random_tracks(int count, int blind_column)
{
    int n = 0;
    step.tuning.track_stereo = VFRONT_STEREO && roll(4) > 0;
    for (int i = 0; i < count; i++) {
        struct vf_feature *f = &memory.refill.feature[step.parity][i];
        scribble(f, sizeof *f);
        f->x_q16 = between(20 << 16, (WIDTH - 20) << 16);
        f->y_q16 = between(20 << 16, (HEIGHT - 20) << 16);
        f->dx_q16 = between(-655360, 655360);
        f->dy_q16 = between(-655360, 655360);
        f->age = roll(4) ? (uint32_t)between(1, 50) : 0;
        f->residual_q3 = (uint32_t)(roll(3) ? roll(40) : roll(400));
        f->template_index = (uint16_t)(VFRONT_TRACKS - 1 - i);
        if (!f->age) continue;
        const double x = f->x_q16 / 65536.0, y = f->y_q16 / 65536.0, dx = f->dx_q16 / 65536.0, dy = f->dy_q16 / 65536.0;
        struct listed *w = &should[n++];
        memset(w, 0, sizeof *w);
        w->rank = (int)fmin(floor(f->residual_q3 / 8.0 * 2.0), 31.0);
        w->number = i;
        w->bound_px = 0.15 * step.tuning.ego_error_mpx / 1000.0;
        random_range(i, w);
        bearing_of(x - dx, y - dy, w->before);
        bearing_of(x, y, w->now);
        const int column = (int)floor(fmax(x, x - dx) / 8.0) + 2 + 2; /* last column read by the interpolation */
        if (column >= blind_column) {
            memcpy(w->before, (double[3]){0, 0, 1}, sizeof w->before);
            memcpy(w->now, (double[3]){0, 0, -1}, sizeof w->now);
        }
    }
    *tracks = (uint32_t)count;
    return n;
}

/** Makes the match part of a chain whose positions are off its key points. The chain moves in the image, and the key
 *  point must move by the same displacement. */
static void put_links_of_chain(int i, int blind_column, double is[3])
{
    const double most = fmin(WIDTH - 20, 8.0 * (blind_column - 5));
    struct vf_point *p = &memory.bearing.point[step.parity ^ 1][0][i];
    struct vf_match_link *from = &memory.match.link[step.parity ^ 1][i], *to = &memory.match.link[step.parity][i];
    const int32_t x_q16 = between(20 << 16, (int32_t)(most * 65536.0)), y_q16 = between(20 << 16, (HEIGHT - 20) << 16);
    p->x_q16 = between(20 << 16, (WIDTH - 20) << 16);
    p->y_q16 = between(20 << 16, (HEIGHT - 20) << 16);
    memory.match.match[i].age = (uint32_t)between(2, 9);
    *from = (struct vf_match_link){between(-65536, 65536), between(-65536, 65536), 0, memory.match.match[i].age - 1};
    *to = (struct vf_match_link){from->x_q16 + x_q16 - p->x_q16, from->y_q16 + y_q16 - p->y_q16, 0, from->age + 1};
    bearing_of(x_q16 / 65536.0, y_q16 / 65536.0, is);
}

static int random_matches(int count, int n, int blind_column)
{
    const int metric_on = VFRONT_STEREO && step.tuning.stereo && step.tuning.ego_metric_hypotheses > 0;
    for (int i = 0; i < count; i++) {
        struct listed w;
        memset(&w, 0, sizeof w);
        any_ahead(0.5, w.before);
        any_ahead(0.5, w.now);
        const double size[2] = {pow(1.2, roll(8)), pow(1.2, roll(8))};
        w.rank = 1000 + (roll(3) ? roll(40) : roll(257));
        w.number = VFRONT_TRACKS + i;
        w.bound_px = step.tuning.ego_error_mpx / 1000.0 * fmax(size[0], size[1]);
        put_match(w.before, w.now, w.rank - 1000, size[0]);
        memory.bearing.point[step.parity][0][i].step = (float)size[1];
        if (roll(2)) { /* refined to a position other than its key point */
            any_ahead(0.5, w.now);
            put_refined_position((uint32_t)i, w.now);
            w.bound_px = 0.15 * step.tuning.ego_error_mpx / 1000.0;
            if (roll(2)) put_links_of_chain(i, blind_column, w.now);
        }
        const double m = roll(3) ? real(1, 50) : 0.0, sigma = m * real(0.01, 0.1), now_m = roll(3) ? real(1, 50) : 0.0,
                     now_sigma = now_m * real(0.01, 0.1);
        put_range((uint32_t)i, m, sigma, now_m, now_sigma);
        if (metric_on) w.m = m, w.sigma_m = sigma;
        if (metric_on && now_m > 0) w.near = 1.0 / now_m, w.near_sigma = now_sigma / (now_m * now_m);
        if (roll(20) == 0) { /* a position outside the lens model */
            memset(memory.match.match[i].age < 2 && roll(2) ? memory.match.match[i].bearing
                                                            : memory.bearing.point[step.parity ^ 1][0][i].bearing,
                   0, 3 * sizeof(float));
            memcpy(w.before, (double[3]){0, 0, 1}, sizeof w.before);
            memcpy(w.now, (double[3]){0, 0, -1}, sizeof w.now);
        }
        if (step.tuning.ego != VFRONT_EGO_TRACKS) should[n++] = w;
    }
    return n;
}

/* ---- scores and sums, in the order given in ego.h
 * ----------------------------------------------------------------- */

/** Correspondence with the bound of a search. */
static struct vf_correspondence bounded(int wide, struct vf_correspondence s)
{
    if (wide) s.weight *= 1.0f / 3.0f; /* bearings may be wrong by three times as much */
    return s;
}
/** Normal equations of a motion over the list, or an even subset of 256 of it. Entry i goes to lane i % 256. Within 32
 *  lanes the upper half is added to the lower, then a quarter, and so on; then the eight sums in the same way. */
static struct vf_normal_equations oracle_sum(int search, const struct vf_pose *p, int coarse)
{
    static struct vf_normal_equations lane[256];
    memset(lane, 0, sizeof lane);
    const int wide = search == VF_WIDE, kind = wide ? VF_METRIC : search, list = kind == VF_METRIC;
    const int count = (int)ego->count[list], some = coarse && count > 256 ? 256 : count;
    for (int i = 0; i < some; i++) {
        const struct vf_correspondence s = bounded(
            wide, vf_ego_load(&ego->list[list], (int32_t)floor(i * (double)count / some)));
        const float error = vf_motion_error(kind, p, &s);
        struct vf_normal_equations *l = &lane[i % 256];
        if (!(error < 1.0f)) continue;
        l->score += 1 + (int32_t)((1.0f - error) * 254.0f);
        l->inliers++;
        l->residuals += kind == VF_RELATIVE ? 1 : kind == VF_METRIC && s.inverse_depth_sigma_1pm > 0.0f ? 3 : 2;
        vf_motion_terms(kind, p, &s, l->terms);
    }
    static const int order[][2] = {
        {1, 16}, {1, 8},  {1, 4},  {1, 2},
        {1, 1},  {32, 4}, {32, 2}, {32, 1}}; /* distance of the lanes that are added, and their number */
    for (int n = 0; n < 8; n++)
        for (int group = 0; group < (order[n][0] == 1 ? 8 : 1); group++)
            for (int k = 0; k < order[n][1]; k++) {
                struct vf_normal_equations *to = &lane[32 * group + order[n][0] * k],
                                           *from = to + order[n][0] * order[n][1];
                for (int t = 0; t < VF_TERMS; t++) to->terms[t] += from->terms[t];
                to->score += from->score;
                to->inliers += from->inliers;
                to->residuals += from->residuals;
            }
    return lane[0];
}

struct ranked {
    int32_t score, number;
};
static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score ? 1 : -1) : x->number - y->number;
}

/** Compares the score of every hypothesis with that of its motion on an even subset of 128 of the list. */
static void compare_scores(int search, int hypotheses)
{
    const int wide = search == VF_WIDE, kind = wide ? VF_METRIC : search, list = kind == VF_METRIC,
              count = (int)ego->count[list], some = count < 128 ? count : 128;
    for (int h = 0; h < hypotheses; h++) {
        int32_t sum = 0;
        for (int k = 0; k < some; k++) {
            const struct vf_correspondence s = bounded(
                wide, vf_ego_load(&ego->list[list], count > 128 ? (int32_t)floor(k * (double)count / 128.0) : k));
            const float error = vf_motion_error(kind, &ego->pose[search][h], &s);
            if (error < 1.0f) sum += 1 + (int32_t)((1.0f - error) * 254.0f);
        }
        if (ego->score[search][h])
            REQUIRE(ego->score[search][h] == sum, "search %d, hypothesis %d: %d, should be %d", search, h,
                    ego->score[search][h], sum);
    }
}

/** Compares the refined hypotheses: the best by score, each after three steps on 256 of the list and up to two on all
 *  while the score rises; four of them at the wide bound. Returns the best one. */
static int compare_refined(int search, int hypotheses)
{
    static struct ranked ranked[VFRONT_HYPOTHESES];
    const int kind = search == VF_WIDE ? VF_METRIC : search, tried = search == VF_WIDE ? 4 : 16;
    int best = 0;
    for (int h = 0; h < hypotheses; h++) ranked[h] = (struct ranked){ego->score[search][h], h};
    qsort(ranked, (size_t)hypotheses, sizeof *ranked, by_score);
    for (int rank = 0; rank < 16; rank++) {
        struct vf_refined want;
        memset(&want, 0, sizeof want);
        if (rank < tried && rank < hypotheses && ranked[rank].score > 0) {
            struct vf_pose p = want.pose = ego->pose[search][ranked[rank].number];
            for (int n = 0; n < VF_EGO_COARSE_STEPS; n++) {
                const struct vf_normal_equations sum = oracle_sum(search, &p, 1);
                vf_motion_step(kind, &p, sum.terms);
            }
            for (int n = 0; n <= VF_EGO_FULL_STEPS; n++) {
                const struct vf_normal_equations sum = oracle_sum(search, &p, 0);
                if (sum.score <= want.sum.score) break;
                want.sum = sum;
                want.pose = p;
                if (!vf_motion_step(kind, &p, sum.terms)) break;
            }
        }
        REQUIRE(memcmp(&want, &ego->refined[search][rank], sizeof want) == 0,
                "search %d, finalist %d: hypothesis %d, score %d, should be %d", search, rank, ranked[rank].number,
                ego->refined[search][rank].sum.score, want.sum.score);
        if (want.sum.score > ego->refined[search][best].sum.score) best = rank;
    }
    return best;
}

/** Compares the assessed motion of a kind with the best refined one of a search. */
static void compare_best(int kind, int search, int best)
{
    const struct vf_normal_equations sum = oracle_sum(search, &ego->refined[search][best].pose, 0);
    assert_memory_equal(&ego->assessment.pose[kind], &ego->refined[search][best].pose, sizeof(struct vf_pose));
    assert_memory_equal(&ego->assessment.sum[kind], &sum, sizeof sum);
}

/** Compares the search that gives the metric motion. It is the wide one if the other has fewer inliers than ego_least
 *  and ego_least_percent require, and the wide one has enough. The wide one also needs three quarters of the list. own,
 *  wide: best refined motion of each. Returns 1 if it is the wide one. */
static int compare_metric_search(int own, int wide)
{
    const double all = ego->count[1], few = step.tuning.ego_least + all * step.tuning.ego_least_percent / 100.0,
                 has[2] = {ego->refined[VF_METRIC][own].sum.inliers, ego->refined[VF_WIDE][wide].sum.inliers};
    const int is_wide = has[0] < few && has[1] >= few && 4.0 * has[1] >= 3.0 * all;
    assert_int_equal(ego->assessment.wide, is_wide);
    compare_best(VF_METRIC, is_wide ? VF_WIDE : VF_METRIC, is_wide ? wide : own);
    return is_wide;
}

/** Median displacement by sorting [px]. */
static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/** 1 for an inlier of the assessed motion. */
static int agrees_with(int kind, const struct vf_pose *p, const struct vf_correspondence *s)
{
    const struct vf_correspondence c = bounded(kind == VF_METRIC && ego->assessment.wide, *s);
    return vf_motion_error(kind, p, &c) < 1.0f;
}
static double median_displacement(int kind, const struct vf_pose *p, int all)
{
    static double displaced[VFRONT_CORRESPONDENCES];
    const int list = kind == VF_METRIC;
    int n = 0;
    for (uint32_t i = 0; i < ego->count[list]; i++) {
        const struct vf_correspondence s = vf_ego_load(&ego->list[list], (int32_t)i);
        double R[9], a[3] = {(double)s.before[0], (double)s.before[1], (double)s.before[2]};
        for (int k = 0; k < 9; k++) R[k] = all ? identity[k] : (double)p->R[k];
        if (!all && !agrees_with(kind, p, &s)) continue;
        rotate(R, a, a);
        for (int k = 0; k < 3; k++) a[k] -= (double)s.now[k];
        displaced[n++] = fmin(length(a) * FOCAL_PX, 1023.0 / 16.0);
    }
    qsort(displaced, (size_t)n, sizeof *displaced, by_value);
    return n ? displaced[(n - 1) / 2] : 0.0;
}

/** Compares the assessment of the best motions. */
static void compare_assessment(int hypotheses)
{
    const struct vf_assessment *f = &ego->assessment;
    uint32_t outliers = 0, most = 0;
    static struct vf_correspondence outlier[VFRONT_CORRESPONDENCES];
    for (int kind = 0; kind < VF_KINDS; kind++)
        REQUIRE(fabs(f->parallax[kind] / 16.0 - median_displacement(kind, &f->pose[kind], 0)) <= 1 / 31.9,
                "kind %d: %g px, should be %g", kind, f->parallax[kind] / 16.0,
                median_displacement(kind, &f->pose[kind], 0));
    assert_true(fabs(f->displacement / 16.0 - median_displacement(VF_RELATIVE, NULL, 1)) <= 1 / 31.9);
    const int count = (int)ego->count[0], some = count < 512 ? count : 512;
    for (int k = 0; k < some; k++) {
        const struct vf_correspondence s = vf_ego_load(&ego->list[0],
                                                       count > 512 ? (int32_t)floor(k * (double)count / 512.0) : k);
        if (vf_motion_error(VF_RELATIVE, &f->pose[VF_RELATIVE], &s) > 4.0f) outlier[outliers++] = s;
    }
    for (int h = 0; h < hypotheses; h++) {
        uint32_t agree = 0;
        for (uint32_t k = 0; k < outliers; k++)
            agree += vf_motion_error(VF_RELATIVE, &ego->pose[VF_RELATIVE][h], &outlier[k]) < 1.0f;
        if (ego->score[VF_RELATIVE][h]) most = agree > most ? agree : most;
    }
    assert_int_equal(f->outliers, outliers);
    assert_int_equal(f->alternative_inliers, most);
}

/** Compares the inlier masks with the errors under the reported motions. */
static void compare_inlier_masks(void)
{
    static uint8_t want[VFRONT_CORRESPONDENCES];
    memset(want, 0, sizeof want);
    for (int list = 0; list < 2; list++) {
        const vfront_motion_t *m = list ? &metric : &relative;
        const int kind = list ? VF_METRIC : m->state == VFRONT_MOTION_ROTATION ? VF_ROTATION_ONLY : VF_RELATIVE;
        uint32_t inliers = 0;
        if (m->state != VFRONT_MOTION_GOOD && m->state != VFRONT_MOTION_ROTATION) continue;
        for (uint32_t i = 0; i < ego->count[list]; i++) {
            const struct vf_correspondence s = vf_ego_load(&ego->list[list], (int32_t)i);
            if (!agrees_with(kind, &ego->assessment.pose[kind], &s)) continue;
            want[ego->list[list].candidate[i]] |= list ? VFRONT_AGREES_METRIC : VFRONT_AGREES_RELATIVE;
            inliers++;
        }
        assert_int_equal(inliers, m->inliers);
        for (int k = 0; k < 9; k++) assert_true(m->R[k] == ego->assessment.pose[kind].R[k]);
        for (int k = 0; k < 3; k++)
            assert_true(m->t[k] == (kind == VF_ROTATION_ONLY ? 0.0f : ego->assessment.pose[kind].t[k]));
    }
    assert_memory_equal(ego->inlier_mask, want, sizeof want);
}

#endif
