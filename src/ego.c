/* SPDX-License-Identifier: MIT */
#include "essential.h"
#include "perspective.h"
#include "stages.h"

#if VFRONT_EGO

/* ---- the lists ------------------------------------------------------------------------------------------------------------- */

static uint32_t key_of(const struct vf_step *s, int32_t candidate)
{
    const struct vf_track_memory *t = &s->memory->track;
    if (candidate < VFRONT_TRACKS)
        return candidate < (int32_t)t->census[s->parity].count ? vf_ego_key(&s->tuning, &t->feature[s->parity][candidate], NULL, candidate) : VF_NONE;
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
        return vf_ego_sight_of_match(s, &b->point[s->parity ^ 1][0][m->before], &b->point[s->parity][0][m->keypoint],
                                     metric ? vf_range(s, s->parity ^ 1, m->before) : vf_range_none(), metric ? vf_range(s, s->parity, m->keypoint) : vf_range_none());
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
        const struct vf_sight sight = vf_ego_sight(&m->sights[0], (int32_t)i);
        if (sight.range_m > 0.0f) vf_ego_put_sight(&m->sights[1], (int32_t)m->count[1]++, &sight, m->sights[0].from[i]);
    }
}

/* ---- hypotheses ------------------------------------------------------------------------------------------------------------ */

/** What a motion is worth to some of the sights of its kind. */
static int32_t score_some(const struct vf_step *s, int kind, const struct vf_pose *pose)
{
    const struct vf_sights *all = &s->memory->ego.sights[vf_ego_list(kind)];
    const int32_t count = (int32_t)s->memory->ego.count[vf_ego_list(kind)], some = vf_ego_subset(count, VF_EGO_SUBSET);
    int32_t score = 0;
    for (int32_t k = 0; k < some; k++) {
        const struct vf_sight sight = vf_ego_sight(all, vf_ego_spread(count, VF_EGO_SUBSET, k));
        score += vf_motion_worth(vf_motion_error(kind, pose, &sight));
    }
    return score;
}

/** Motions of a kind that a sample means, up to 10. */
static int motions_of(const struct vf_step *s, int kind, int32_t size, const struct vf_sight sight[VF_EGO_MOST_SAMPLES], struct vf_pose pose[10])
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
static void try_one(const struct vf_step *s, int kind, int32_t h)
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
        const int32_t score = score_some(s, kind, &pose[k]);
        if (score <= m->score[kind][h]) continue;
        m->score[kind][h] = score;
        m->pose[kind][h] = pose[k];
    }
}

/* ---- the best go on -------------------------------------------------------------------------------------------------------- */

#define WARP 32
VF_STATIC_ASSERT(VF_EGO_LANES % WARP == 0 && (VF_EGO_LANES / WARP & (VF_EGO_LANES / WARP - 1)) == 0, "lanes are added by halves");

/** Adds lanes by halves, into the first. */
static void add_lanes(struct vf_tally *lane, int lanes)
{
    for (int step = lanes / 2; step; step /= 2)
        for (int l = 0; l < step; l++) {
            for (int k = 0; k < VF_TERMS; k++) lane[l].terms[k] += lane[l + step].terms[k];
            lane[l].score += lane[l + step].score;
            lane[l].inliers += lane[l + step].inliers;
            lane[l].rows += lane[l + step].rows;
        }
}

/** What is added: a sight for a motion, or for the plane of the points. */
struct question {
    int kind, plane, any; /* plane: 1, it is about that */
    struct vf_pose pose;
    float n[3];
};
static void add(const struct question *q, const struct vf_sight *sight, struct vf_tally *sum)
{
    if (!q->plane)
        vf_ego_add(q->kind, &q->pose, sight, sum);
    else if (vf_motion_worth(vf_motion_error(q->kind, &q->pose, sight)))
        sum->inliers += (uint32_t)vf_ego_plane(&q->pose, q->n, sight, q->any, sum->terms);
}

static struct vf_tally sum_of(const struct vf_step *s, const struct question *q)
{
    const struct vf_sights *all = &s->memory->ego.sights[vf_ego_list(q->kind)];
    const int32_t count = (int32_t)s->memory->ego.count[vf_ego_list(q->kind)];
    struct vf_tally warp[VF_EGO_LANES / WARP], lane[WARP];
    for (int w = 0; w < VF_EGO_LANES / WARP; w++) {
        memset(lane, 0, sizeof lane);
        for (int32_t l = 0; l < WARP; l++)
            for (int32_t i = WARP * w + l; i < count; i += VF_EGO_LANES) {
                const struct vf_sight sight = vf_ego_sight(all, i);
                add(q, &sight, &lane[l]);
            }
        add_lanes(lane, WARP);
        warp[w] = lane[0];
    }
    add_lanes(warp, VF_EGO_LANES / WARP);
    return warp[0];
}

static struct vf_tally sum_of_motion(const struct vf_step *s, int kind, const struct vf_pose *pose)
{
    struct question q;
    memset(&q, 0, sizeof q);
    q.kind = kind;
    q.pose = *pose;
    return sum_of(s, &q);
}

/** Takes a motion on by steps, as long as they make it better. */
static void refine(const struct vf_step *s, int kind, struct vf_finalist *f)
{
    struct vf_pose pose = f->pose;
    f->score = 0;
    for (int step = 0; step <= VF_EGO_STEPS; step++) {
        const struct vf_tally sum = sum_of_motion(s, kind, &pose);
        if (sum.score <= f->score) return;
        f->score = sum.score;
        f->pose = pose;
        if (step == VF_EGO_STEPS || !vf_motion_step(kind, &pose, sum.terms)) return;
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
        if (f[rank].score > f[best].score) best = rank;
    return &f[best];
}

/* ---- another motion -------------------------------------------------------------------------------------------------------- */

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

/* ---- what it is worth ------------------------------------------------------------------------------------------------------ */

/** Median movement of the pairs that agree with a motion, less its turn; of all, as it is, without a motion. */
static int32_t median_movement(const struct vf_step *s, int kind, const struct vf_pose *pose)
{
    static const float none[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const struct vf_ego_memory *m = &s->memory->ego;
    const int list = vf_ego_list(kind);
    int32_t bin[VF_EGO_BINS] = {0}, all = 0, upto = 0;
    for (uint32_t i = 0; i < m->count[list]; i++) {
        const struct vf_sight sight = vf_ego_sight(&m->sights[list], (int32_t)i);
        if (pose && !vf_motion_worth(vf_motion_error(kind, pose, &sight))) continue;
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
    struct question q;
    memset(&q, 0, sizeof q);
    q.kind = VF_RELATIVE;
    q.plane = 1;
    q.pose = *pose;
    for (int fit = 0; fit < VF_EGO_PLANES; fit++) {
        q.any = fit == 0;
        const struct vf_tally sum = sum_of(s, &q);
        if (!vf_ego_fit_plane(sum.terms, q.n)) return 0;
    }
    q.any = 0;
    return sum_of(s, &q).inliers;
}

/** Finds out all about the best motions. */
static void gather(const struct vf_step *s, struct vf_facts *f)
{
    memset(f, 0, sizeof *f);
    for (int kind = 0; kind < VF_KINDS; kind++) {
        f->pose[kind] = best_of(s, kind)->pose;
        f->sum[kind] = sum_of_motion(s, kind, &f->pose[kind]);
        f->parallax[kind] = median_movement(s, kind, &f->pose[kind]);
    }
    f->moved = median_movement(s, VF_RELATIVE, NULL);
    f->in_plane = count_in_plane(s, &f->pose[VF_RELATIVE]);
    look_for_another(s, f);
}

/** Notes who agrees with the motions. */
static void note(const struct vf_step *s)
{
    struct vf_ego_memory *m = &s->memory->ego;
    for (int list = 0; list < 2; list++) {
        const int kind = vf_ego_agreed(m, list);
        for (uint32_t i = 0; i < m->count[list] && kind != VF_KINDS; i++) {
            const struct vf_sight sight = vf_ego_sight(&m->sights[list], (int32_t)i);
            if (vf_motion_worth(vf_motion_error(kind, &m->facts.pose[kind], &sight)))
                m->agrees[m->sights[list].from[i]] |= (uint8_t)(list ? VFRONT_AGREES_METRIC : VFRONT_AGREES_RELATIVE);
        }
    }
}

/** The motions, from the lists. */
static void solve(const struct vf_step *s)
{
    for (int kind = 0; kind < VF_KINDS; kind++) {
        for (int32_t h = 0; h < vf_ego_hypotheses(s, kind); h++) try_one(s, kind, h);
        choose(s, kind);
    }
    gather(s, &s->memory->ego.facts);
    vf_ego_judge(s, &s->memory->ingest.params, &s->memory->ego);
    note(s);
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
