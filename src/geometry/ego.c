/* SPDX-License-Identifier: MIT */
#include "essential.h"
#include "perspective.h"
#include "core/stages.h"

#if VFRONT_EGO

/* ---- the lists --------------------------------------------------------------------------------------------------- */

static uint32_t key_of(const struct vf_step *s, int32_t candidate)
{
    const struct vf_track_memory *t = &s->memory->track;
    if (candidate < VFRONT_TRACKS)
        return candidate < (int32_t)t->census[s->parity].count
                   ? vf_ego_key(&s->tuning, &t->feature[s->parity][candidate], NULL, candidate)
                   : VF_NONE;
#if VFRONT_MATCHES
    const int32_t i = candidate - VFRONT_TRACKS;
    if (i < (int32_t)vf_matches(s)) return vf_ego_key(&s->tuning, NULL, &s->memory->match.match[i], candidate);
#endif
    return VF_NONE;
}

static struct vf_sight sight_of(const struct vf_step *s, int32_t candidate)
{
    const struct vf_bearing_memory *b = &s->memory->bearing;
#if VFRONT_MATCHES
    if (candidate >= VFRONT_TRACKS) {
        const vfront_match_t *m = &s->memory->match.match[candidate - VFRONT_TRACKS];
        const int metric = vf_ego_metric_on(s);
        return vf_ego_sight_of_match(s, m, &b->point[s->parity ^ 1][0][m->before], &b->point[s->parity][0][m->keypoint],
                                     metric ? vf_range(s, s->parity ^ 1, m->before) : vf_range_none(),
                                     metric ? vf_range(s, s->parity, m->keypoint) : vf_range_none());
    }
#endif
    return vf_ego_sight_of_track(s, b->node[0], &s->memory->track.feature[s->parity][candidate]);
}

/** Lists candidates by rank, and of one rank by number. */
static void list(const struct vf_step *s)
{
    struct vf_ego_memory *m = &s->memory->ego;
    uint32_t start[VF_EGO_RANKS + 1] = {0};
    const int32_t last = VFRONT_SIGHTS;
    memset(m->agrees, 0, sizeof m->agrees);
    for (int32_t c = 0; c < last; c++) {
        const uint32_t key = key_of(s, c);
        if (key != VF_NONE) start[(key >> 16) + 1]++;
    }
    for (int r = 0; r < VF_EGO_RANKS; r++) start[r + 1] += start[r];
    m->count[0] = start[VF_EGO_RANKS];
    m->count[1] = 0;
    for (int32_t c = 0; c < last; c++) {
        const uint32_t key = key_of(s, c);
        if (key == VF_NONE) continue;
        const struct vf_sight sight = sight_of(s, c);
        vf_ego_put_sight(&m->sights[0], (int32_t)start[key >> 16]++, &sight, c);
    }
    for (uint32_t i = 0; i < m->count[0]; i++) {
        const struct vf_sight sight = vf_ego_ranged(s, vf_ego_sight(&m->sights[0], (int32_t)i));
        if (sight.range_m > 0.0f) vf_ego_put_sight(&m->sights[1], (int32_t)m->count[1]++, &sight, m->sights[0].from[i]);
    }
}

/* ---- loops over many sights, which become vector code ------------------------------------------------------------ */

/** Some sights next to one another. */
#define SOME VF_EGO_SUBSET
struct some {
    float before[3][SOME], now[3][SOME], weight[SOME], range_m[SOME], range_sigma_m[SOME], near_1pm[SOME],
        near_sigma_1pm[SOME];
};

static void put_some(struct some *some, int32_t i, const struct vf_sights *all, int32_t from)
{
    for (int k = 0; k < 3; k++) {
        some->before[k][i] = all->before[k][from];
        some->now[k][i] = all->now[k][from];
    }
    some->weight[i] = all->weight[from];
    some->range_m[i] = all->range_m[from];
    some->range_sigma_m[i] = all->range_sigma_m[from];
    some->near_1pm[i] = all->near_1pm[from];
    some->near_sigma_1pm[i] = all->near_sigma_1pm[from];
}

static inline struct vf_sight some_sight(const struct some *some, int32_t i)
{
    struct vf_sight s;
    VF_PEEL
    for (int k = 0; k < 3; k++) {
        s.before[k] = some->before[k][i];
        s.now[k] = some->now[k][i];
    }
    s.weight = some->weight[i];
    s.range_m = some->range_m[i];
    s.range_sigma_m = some->range_sigma_m[i];
    s.near_1pm = some->near_1pm[i];
    s.near_sigma_1pm = some->near_sigma_1pm[i];
    return s;
}

static inline int32_t score_of(int kind, const struct some *some, int32_t count, struct vf_pose pose)
{
    int32_t score = 0;
    for (int32_t i = 0; i < count; i++) {
        const struct vf_sight sight = some_sight(some, i);
        score += vf_motion_worth(vf_motion_error(kind, &pose, &sight));
    }
    return score;
}
VF_LOOP static int32_t score_relative(const struct some *some, int32_t count, const struct vf_pose *p)
{
    return score_of(VF_RELATIVE, some, count, *p);
}
VF_LOOP static int32_t score_turn(const struct some *some, int32_t count, const struct vf_pose *p)
{
    return score_of(VF_TURN, some, count, *p);
}
VF_LOOP static int32_t score_metric(const struct some *some, int32_t count, const struct vf_pose *p)
{
    return score_of(VF_METRIC, some, count, *p);
}

#define WARP 32
VF_STATIC_ASSERT(VF_EGO_LANES % WARP == 0 && (VF_EGO_LANES / WARP & (VF_EGO_LANES / WARP - 1)) == 0,
                 "lanes are added by halves");
VF_STATIC_ASSERT(WARP <= SOME, "as many sights as lanes fit");

/** Lanes that follow one another, value by value. */
struct lanes {
    float terms[VF_TERMS][WARP];
    int32_t score[WARP];
    uint32_t inliers[WARP], rows[WARP];
};

/** a where all bits of the mask are 1, b where all are 0. */
static inline float pick(uint32_t mask, float a, float b)
{
    uint32_t bits_a, bits_b;
    memcpy(&bits_a, &a, sizeof a);
    memcpy(&bits_b, &b, sizeof b);
    bits_a = (bits_a & mask) | (bits_b & ~mask);
    memcpy(&a, &bits_a, sizeof a);
    return a;
}

/** What vf_ego_add() does, for lanes that have a sight, without a branch. */
static inline void add_some(int kind, const struct some *some, int32_t count, struct vf_pose pose, struct lanes *sum)
{
    for (int32_t l = 0; l < WARP; l++) {
        const struct vf_sight sight = some_sight(some, l);
        const int32_t worth = vf_motion_worth(vf_motion_error(kind, &pose, &sight)) & -(l < count);
        const uint32_t is = -(uint32_t)(worth > 0);
        float terms[VF_TERMS];
        VF_PEEL
        for (int k = 0; k < VF_TERMS; k++) terms[k] = sum->terms[k][l];
        vf_motion_terms(kind, &pose, &sight, terms);
        VF_PEEL
        for (int k = 0; k < VF_TERMS; k++) sum->terms[k][l] = pick(is, terms[k], sum->terms[k][l]);
        sum->score[l] += worth;
        sum->inliers[l] += is & 1;
        sum->rows[l] += is & vf_ego_rows(kind, &sight);
    }
}

/** Adds lanes by halves, into the first. */
static inline void add_lanes(struct lanes *sum, struct vf_tally *first)
{
    for (int step = WARP / 2; step; step /= 2)
        for (int l = 0; l < step; l++) {
            for (int k = 0; k < VF_TERMS; k++) sum->terms[k][l] += sum->terms[k][l + step];
            sum->score[l] += sum->score[l + step];
            sum->inliers[l] += sum->inliers[l + step];
            sum->rows[l] += sum->rows[l + step];
        }
    for (int k = 0; k < VF_TERMS; k++) first->terms[k] = sum->terms[k][0];
    first->score = sum->score[0];
    first->inliers = sum->inliers[0];
    first->rows = sum->rows[0];
}

VF_LOOP static void add_relative(const struct some *restrict some, int32_t count, const struct vf_pose *p,
                                 struct lanes *restrict sum)
{
    add_some(VF_RELATIVE, some, count, *p, sum);
}
VF_LOOP static void add_turn(const struct some *restrict some, int32_t count, const struct vf_pose *p,
                             struct lanes *restrict sum)
{
    add_some(VF_TURN, some, count, *p, sum);
}
VF_LOOP static void add_metric(const struct some *restrict some, int32_t count, const struct vf_pose *p,
                               struct lanes *restrict sum)
{
    add_some(VF_METRIC, some, count, *p, sum);
}

/** What the sights of so many lanes from `first` on add up to: of all, or of `most` that are spread over them. */
static void sum_of_warp(int kind, const struct vf_sights *all, int32_t count, int32_t most, int32_t first,
                        const struct vf_pose *pose, struct vf_tally *out)
{
    const int32_t some_of = vf_ego_subset(count, most);
    struct lanes sum;
    struct some some;
    memset(&sum, 0, sizeof sum);
    memset(&some, 0, sizeof some);
    for (; first < some_of; first += VF_EGO_LANES) {
        const int32_t here = vf_min(some_of - first, WARP);
        for (int32_t l = 0; l < here; l++) put_some(&some, l, all, vf_ego_spread(count, most, first + l));
        if (kind == VF_RELATIVE) add_relative(&some, here, pose, &sum);
        if (kind == VF_TURN) add_turn(&some, here, pose, &sum);
        if (kind == VF_METRIC) add_metric(&some, here, pose, &sum);
    }
    add_lanes(&sum, out);
}

/* ---- hypotheses -------------------------------------------------------------------------------------------------- */

/** The sights that score the hypotheses of a kind. */
struct jury {
    int32_t count;
    struct some some;
};
static void choose_jury(const struct vf_step *s, int kind, struct jury *jury)
{
    const int32_t count = (int32_t)s->memory->ego.count[vf_ego_list(kind)];
    jury->count = vf_ego_subset(count, VF_EGO_SUBSET);
    for (int32_t k = 0; k < jury->count; k++)
        put_some(&jury->some, k, &s->memory->ego.sights[vf_ego_list(kind)], vf_ego_spread(count, VF_EGO_SUBSET, k));
}

/** What a motion is worth to them. */
static int32_t score(int kind, const struct jury *jury, const struct vf_pose *pose)
{
    if (kind == VF_TURN) return score_turn(&jury->some, jury->count, pose);
    return kind == VF_METRIC ? score_metric(&jury->some, jury->count, pose)
                             : score_relative(&jury->some, jury->count, pose);
}

/** Motions of a kind that a sample means, up to 10. */
static int motions_of(const struct vf_step *s, int kind, int32_t size, const struct vf_sight sight[VF_EGO_MOST_SAMPLES],
                      struct vf_pose pose[10])
{
    const struct vf_params *params = &s->memory->ingest.params;
    float before[VF_EGO_MOST_SAMPLES][3], now[VF_EGO_MOST_SAMPLES][3];
    struct vf_essential_work w;
    struct vf_perspective_work p;
    int count = 1, there = 0;
    for (int32_t i = 0; i < size; i++)
        for (int k = 0; k < 3; k++) {
            before[i][k] = sight[i].before[k] * (kind == VF_METRIC ? sight[i].range_m : 1.0f);
            now[i][k] = sight[i].now[k];
        }
    if (kind == VF_METRIC) return vf_perspective_three(&p, (const float(*)[3])before, (const float(*)[3])now, pose);
    if (kind == VF_TURN)
        vf_ego_turn((const float(*)[3])before, (const float(*)[3])now, pose);
    else if (size == 2)
        vf_ego_translate(params->R, (const float(*)[3])before, (const float(*)[3])now, pose);
    if (size == 2) return 1;
    if (size == 5) count = vf_essential_five(&w, (const float(*)[3])before, (const float(*)[3])now);
    if (size == 7) count = vf_essential_seven(&w, (const float(*)[3])before, (const float(*)[3])now);
    if (size == 8) count = vf_essential_eight(&w, (const float(*)[3])before, (const float(*)[3])now);
    for (int k = 0; k < count; k++)
        there += vf_essential_pose(w.E[k], (const float(*)[3])before, (const float(*)[3])now, size, &pose[there]);
    return there;
}

/** Tries a hypothesis: keeps the best of the motions that its sample means. */
static void try_one(const struct vf_step *s, int kind, int32_t h, const struct jury *jury)
{
    struct vf_ego_memory *m = &s->memory->ego;
    const struct vf_params *params = &s->memory->ingest.params;
    const int32_t size = vf_ego_size(s, params, kind, h), count = (int32_t)m->count[vf_ego_list(kind)];
    int32_t sample[VF_EGO_MOST_SAMPLES];
    struct vf_sight sight[VF_EGO_MOST_SAMPLES];
    struct vf_pose pose[10];
    m->score[kind][h] = 0;
    if (count < size) return;
    vf_ego_sample(s, params->frame, kind, h, size, count, sample);
    for (int32_t i = 0; i < size; i++) sight[i] = vf_ego_sight(&m->sights[vf_ego_list(kind)], sample[i]);
    int motions = motions_of(s, kind, size, sight, pose);
    if (kind == VF_TURN && h == 0) vf_ego_given(params, pose); /* what the frame gives, else none */
    for (int k = 0; k < motions; k++) {
        const int32_t worth = score(kind, jury, &pose[k]);
        if (worth <= m->score[kind][h]) continue;
        m->score[kind][h] = worth;
        m->pose[kind][h] = pose[k];
    }
}

/* ---- the best go on ---------------------------------------------------------------------------------------------- */

/** Adds what warps have by halves. */
static struct vf_tally sum_of_warps(struct vf_tally warp[VF_EGO_LANES / WARP])
{
    for (int step = VF_EGO_LANES / WARP / 2; step; step /= 2)
        for (int w = 0; w < step; w++) {
            for (int k = 0; k < VF_TERMS; k++) warp[w].terms[k] += warp[w + step].terms[k];
            warp[w].score += warp[w + step].score;
            warp[w].inliers += warp[w + step].inliers;
            warp[w].rows += warp[w + step].rows;
        }
    return warp[0];
}

/** What sights of its kind, all or `most` of them, have to say of a motion. */
static struct vf_tally sum_of_motion(const struct vf_step *s, int kind, int32_t most, const struct vf_pose *pose)
{
    const struct vf_sights *all = &s->memory->ego.sights[vf_ego_list(kind)];
    const int32_t count = (int32_t)s->memory->ego.count[vf_ego_list(kind)];
    struct vf_tally warp[VF_EGO_LANES / WARP];
    for (int w = 0; w < VF_EGO_LANES / WARP; w++) sum_of_warp(kind, all, count, most, WARP * w, pose, &warp[w]);
    return sum_of_warps(warp);
}

/** What inliers of a relative motion, of all or `most` sights, have to say of a plane; any: 1, wherever they lie. */
static struct vf_tally sum_of_plane(const struct vf_step *s, const struct vf_pose *pose, const float n[3], int32_t most,
                                    int any)
{
    const struct vf_sights *all = &s->memory->ego.sights[0];
    const int32_t count = (int32_t)s->memory->ego.count[0], some = vf_ego_subset(count, most);
    struct vf_tally warp[VF_EGO_LANES / WARP];
    for (int w = 0; w < VF_EGO_LANES / WARP; w++) {
        struct lanes sum;
        memset(&sum, 0, sizeof sum);
        for (int32_t i = WARP * w; i < some; i += i % WARP < WARP - 1 ? 1 : VF_EGO_LANES - WARP + 1) {
            const struct vf_sight sight = vf_ego_sight(all, vf_ego_spread(count, most, i));
            float terms[VF_TERMS];
            if (!vf_motion_worth(vf_motion_error(VF_RELATIVE, pose, &sight))) continue;
            for (int k = 0; k < VF_TERMS; k++) terms[k] = sum.terms[k][i % WARP];
            sum.inliers[i % WARP] += (uint32_t)vf_ego_plane(pose, n, &sight, any, terms);
            for (int k = 0; k < VF_TERMS; k++) sum.terms[k][i % WARP] = terms[k];
        }
        add_lanes(&sum, &warp[w]);
    }
    return sum_of_warps(warp);
}

/** Takes a motion on by steps: some that are quick, then others as long as they make it better. */
static void refine(const struct vf_step *s, int kind, struct vf_finalist *f)
{
    struct vf_pose pose = f->pose;
    for (int step = 0; step <= VF_EGO_ROUGH + VF_EGO_STEPS; step++) {
        const int rough = step < VF_EGO_ROUGH;
        const struct vf_tally sum = sum_of_motion(s, kind, rough ? VF_EGO_LANES : VFRONT_SIGHTS, &pose);
        if (!rough && sum.score <= f->sum.score) return;
        if (!rough) {
            f->sum = sum;
            f->pose = pose;
        }
        if (!vf_motion_step(kind, &pose, sum.terms) && !rough) return;
    }
}

/** The best hypotheses of a kind go on. */
static void choose(const struct vf_step *s, int kind)
{
    struct vf_ego_memory *m = &s->memory->ego;
    uint32_t last = VF_NONE;
    for (int rank = 0; rank < VF_EGO_FINALISTS; rank++) {
        uint32_t best = 0;
        for (int32_t h = 0; h < vf_ego_hypotheses(s, kind); h++) {
            const uint32_t order = vf_ego_order(m->score[kind][h], h);
            if (order < last && order > best) best = order;
        }
        struct vf_finalist *f = &m->finalist[kind][rank];
        memset(f, 0, sizeof *f);
        last = best;
        if (!best) continue;
        f->pose = m->pose[kind][vf_ego_ordered(best)];
        refine(s, kind, f);
    }
}

static const struct vf_finalist *best_of(const struct vf_step *s, int kind)
{
    const struct vf_finalist *f = s->memory->ego.finalist[kind];
    int best = 0;
    for (int rank = 1; rank < VF_EGO_FINALISTS; rank++)
        if (f[rank].sum.score > f[best].sum.score) best = rank;
    return &f[best];
}

/* ---- another motion ---------------------------------------------------------------------------------------------- */

/** Counts, for every relative hypothesis, the outliers of the best relative motion that agree with it. */
static void look_for_another(const struct vf_step *s, struct vf_facts *f)
{
    struct vf_ego_memory *m = &s->memory->ego;
    const int32_t count = (int32_t)m->count[0], some = vf_ego_subset(count, VF_EGO_OTHERS);
    struct vf_sight outlier[VF_EGO_OTHERS];
    for (int32_t k = 0; k < some && vf_ego_hypotheses(s, VF_RELATIVE); k++) {
        const struct vf_sight sight = vf_ego_sight(&m->sights[0], vf_ego_spread(count, VF_EGO_OTHERS, k));
        if (vf_ego_astray(vf_motion_error(VF_RELATIVE, &f->pose[VF_RELATIVE], &sight))) outlier[f->looked++] = sight;
    }
    for (int32_t h = 0; h < vf_ego_hypotheses(s, VF_RELATIVE); h++) {
        m->second[h] = 0;
        for (uint32_t k = 0; k < f->looked && m->score[VF_RELATIVE][h]; k++)
            m->second[h] += vf_motion_error(VF_RELATIVE, &m->pose[VF_RELATIVE][h], &outlier[k]) < 1.0f;
        if (m->second[h] > f->others) f->others = m->second[h];
    }
}

/* ---- what it is worth -------------------------------------------------------------------------------------------- */

/** Finds out who agrees with the best motion of a kind. */
static void take_sides(const struct vf_step *s, int kind, const struct vf_pose *pose)
{
    struct vf_ego_memory *m = &s->memory->ego;
    for (uint32_t i = 0; i < m->count[vf_ego_list(kind)]; i++) {
        const struct vf_sight sight = vf_ego_sight(&m->sights[vf_ego_list(kind)], (int32_t)i);
        m->sides[kind][i] = vf_motion_worth(vf_motion_error(kind, pose, &sight)) > 0;
    }
}

/** Median movement of the pairs that agree with a motion, less its turn; of all, as it is, without a motion. */
static int32_t median_movement(const struct vf_step *s, int kind, const struct vf_pose *pose)
{
    static const float none[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const struct vf_ego_memory *m = &s->memory->ego;
    const int list = vf_ego_list(kind);
    int32_t bin[VF_EGO_BINS] = {0}, all = 0, upto = 0;
    for (uint32_t i = 0; i < m->count[list]; i++) {
        const struct vf_sight sight = vf_ego_sight(&m->sights[list], (int32_t)i);
        if (pose && !m->sides[kind][i]) continue;
        bin[vf_ego_moved(s, pose ? pose->R : none, &sight)]++;
        all++;
    }
    for (int32_t b = 0; b < VF_EGO_BINS; b++) {
        upto += bin[b];
        if (vf_ego_median(upto - bin[b], upto, all)) return b;
    }
    return 0;
}

/** Inliers of a relative motion that lie in a plane. */
static uint32_t count_in_plane(const struct vf_step *s, const struct vf_pose *pose)
{
    float n[3] = {0.0f, 0.0f, 0.0f};
    for (int fit = 0; fit < VF_EGO_PLANES; fit++) {
        const struct vf_tally sum = sum_of_plane(s, pose, n, VF_EGO_LANES, fit == 0);
        if (!vf_ego_fit_plane(sum.terms, n)) return 0;
    }
    return sum_of_plane(s, pose, n, VFRONT_SIGHTS, 0).inliers;
}

/** Adds the right sides of the inliers' normal equations up in lumps. */
static void fill_lumps(const struct vf_step *s, int kind, const struct vf_pose *pose, const float scale[6],
                       struct vf_lump lump[VF_EGO_LUMPS])
{
    const struct vf_ego_memory *m = &s->memory->ego;
    memset(lump, 0, sizeof *lump * VF_EGO_LUMPS);
    for (uint32_t i = 0; i < m->count[vf_ego_list(kind)]; i++) {
        const struct vf_sight sight = vf_ego_sight(&m->sights[vf_ego_list(kind)], (int32_t)i);
        int32_t part[6];
        if (!vf_ego_part(kind, pose, &sight, scale, part)) continue;
        struct vf_lump *l = &lump[vf_ego_lump(s, &sight)];
        for (int k = 0; k < 6; k++) l->sum[k] += part[k];
        l->pairs++;
    }
}

/** The covariance of the best motion of a kind; 0 where there is none, and then it returns 0. */
static int find_covariance(const struct vf_step *s, int kind, const struct vf_pose *pose, const struct vf_tally *sum,
                           float covariance[21])
{
    struct vf_lump lump[VF_EGO_LUMPS];
    float scale[6], B[21];
    int32_t lumps = 0;
    vf_ego_scales(sum->terms, scale);
    fill_lumps(s, kind, pose, scale, lump);
    for (int n = 0; n < VF_EGO_LUMPS; n++) lumps += lump[n].pairs > 0;
    for (int i = 0; i < 6; i++)
        for (int j = i; j < 6; j++) {
            int64_t product = 0;
            for (int n = 0; n < VF_EGO_LUMPS; n++) product += (int64_t)lump[n].sum[i] * lump[n].sum[j];
            B[vf_motion_at(i, j)] = vf_ego_spread_of(kind, sum, scale, lumps, i, j, product);
        }
    memset(covariance, 0, 21 * sizeof *covariance);
    return vf_motion_covariance(kind, pose, sum->terms, B, covariance);
}

/** Finds out all about the best motions. */
static void gather(const struct vf_step *s, struct vf_facts *f)
{
    memset(f, 0, sizeof *f);
    for (int kind = 0; kind < VF_KINDS; kind++) {
        f->pose[kind] = best_of(s, kind)->pose;
        f->sum[kind] = best_of(s, kind)->sum;
        f->solved[kind] = find_covariance(s, kind, &f->pose[kind], &f->sum[kind], f->covariance[kind]);
        take_sides(s, kind, &f->pose[kind]);
        f->parallax[kind] = median_movement(s, kind, &f->pose[kind]);
    }
    f->moved = median_movement(s, VF_RELATIVE, NULL);
    f->in_plane = count_in_plane(s, &f->pose[VF_RELATIVE]);
    look_for_another(s, f);
}

/** Notes who agrees with the motions that are reported. */
static void note(struct vf_ego_memory *m)
{
    const int kinds[2] = {vf_ego_agreed_relative(&m->relative), vf_ego_agreed_metric(&m->metric)};
    for (int list = 0; list < 2; list++) {
        const int kind = kinds[list], bit = list ? VFRONT_AGREES_METRIC : VFRONT_AGREES_RELATIVE;
        for (uint32_t i = 0; i < m->count[list] && kind != VF_KINDS; i++)
            if (m->sides[kind][i]) m->agrees[m->sights[list].from[i]] |= (uint8_t)bit;
    }
}

/** The verdict. */
static void judge(const struct vf_step *s)
{
    struct vf_ego_memory *m = &s->memory->ego;
    const struct vf_params *params = &s->memory->ingest.params;
    vf_ego_judge_relative(s, params, m->count[0], &m->facts, &m->relative);
    vf_ego_judge_metric(s, params, m->count[1], &m->facts, &m->metric);
    const vfront_motion_t *good = vf_ego_good(params, &m->relative, &m->metric, &m->good[s->parity ^ 1]);
    if (good)
        m->good[s->parity] = *good;
    else
        vf_ego_blank(&m->good[s->parity], VFRONT_MOTION_NONE);
    note(m);
}

/** The motions, from the lists. */
static void solve(const struct vf_step *s)
{
    struct jury jury;
    for (int kind = 0; kind < VF_KINDS; kind++) {
        choose_jury(s, kind, &jury);
        for (int32_t h = 0; h < vf_ego_hypotheses(s, kind); h++) try_one(s, kind, h, &jury);
        choose(s, kind);
    }
    gather(s, &s->memory->ego.facts);
    judge(s);
}
#endif

void vf_ego_host(const struct vf_step *s)
{
#if VFRONT_EGO
    if (!vf_ego_on(s)) return;
    list(s);
    solve(s);
#else
    (void)s;
#endif
}
