/* SPDX-License-Identifier: MIT */
/* ego, host form: hypotheses from minimal samples, and refinement of the best. */
#include "geometry/essential_batch.h"
#include "geometry/essential_five.h"
#include "geometry/essential_linear.h"
#include "geometry/perspective.h"
#include "ego_host.h"

#if VFRONT_EGO

int vf_ego_minimal(const struct vf_ego_view *s, int kind, int32_t size,
                   const struct vf_correspondence sample[VF_EGO_SAMPLE_MAX], struct vf_pose pose[10])
{
    const struct vf_params *params = &s->ingest->params;
    float before[VF_EGO_SAMPLE_MAX][3], now[VF_EGO_SAMPLE_MAX][3];
    struct vf_essential_scratch w;
    struct vf_perspective_scratch p;
    int matrices = 1, poses = 0;
    for (int32_t i = 0; i < size; i++)
        for (int k = 0; k < 3; k++) {
            before[i][k] = sample[i].before[k] * (kind == VF_METRIC ? sample[i].range_m : 1.0f);
            now[i][k] = sample[i].now[k];
        }
    if (kind == VF_METRIC) return vf_perspective_three(&p, (const float(*)[3])before, (const float(*)[3])now, pose);
    if (kind == VF_ROTATION_ONLY)
        vf_ego_rotation_from_two((const float(*)[3])before, (const float(*)[3])now, pose);
    else if (size == 2)
        vf_ego_translation_from_two(params->R, (const float(*)[3])before, (const float(*)[3])now, pose);
    if (size == 2) return 1;
    if (size == 5) matrices = vf_essential_five(&w, (const float(*)[3])before, (const float(*)[3])now);
    if (size == 7) matrices = vf_essential_seven(&w, (const float(*)[3])before, (const float(*)[3])now);
    if (size == 8) matrices = vf_essential_eight(&w, (const float(*)[3])before, (const float(*)[3])now);
    for (int k = 0; k < matrices; k++)
        poses += vf_essential_pose(w.E[k], (const float(*)[3])before, (const float(*)[3])now, size, &pose[poses]);
    return poses;
}

/** Stores a motion as hypothesis h of a search if its score exceeds that of the motion stored there. */
static void keep_best(struct vf_ego_memory *m, int search, int32_t h, const struct vf_pose *pose, int32_t score)
{
    if (score <= m->score[search][h]) return;
    m->score[search][h] = score;
    m->pose[search][h] = *pose;
}

/** Scores the motions from the sample of hypothesis h, and keeps the best. */
static void score_motions(const struct vf_ego_view *s, int kind, int32_t h, const struct vf_ego_subset *subset,
                          const struct vf_pose *pose, int motions)
{
    struct vf_ego_memory *m = s->ego;
    for (int k = 0; k < motions; k++) {
        const struct vf_ego_scores score = vf_ego_score(kind, subset, &pose[k]);
        keep_best(m, kind, h, &pose[k], score.own);
        if (kind == VF_METRIC) keep_best(m, VF_WIDE, h, &pose[k], score.wide);
    }
}

/** Makes hypothesis h: the motion with the highest score among those from its sample. */
static void make_hypothesis(const struct vf_ego_view *s, int kind, int32_t h, int32_t size,
                            const struct vf_ego_subset *subset)
{
    struct vf_ego_memory *m = s->ego;
    const struct vf_params *params = &s->ingest->params;
    int32_t index[VF_EGO_SAMPLE_MAX];
    struct vf_correspondence sample[VF_EGO_SAMPLE_MAX];
    struct vf_pose pose[10];
    vf_ego_sample(s, params->frame, kind, h, size, (int32_t)m->count[vf_ego_list(kind)], index);
    for (int32_t i = 0; i < size; i++) sample[i] = vf_ego_load(&m->list[vf_ego_list(kind)], index[i]);
    const int motions = vf_ego_minimal(s, kind, size, sample, pose);
    if (kind == VF_ROTATION_ONLY && h == 0) vf_ego_given_rotation(params, pose);
    score_motions(s, kind, h, subset, pose, motions);
}

/** Batch of five-point samples that are solved together, and the index of the hypothesis of each. */
struct batch {
    struct vf_essential_batch samples;
    int32_t hypothesis[VF_BATCH], count;
};

/** Solves the samples of a batch, scores their motions, and empties the batch. */
static void make_batch(const struct vf_ego_view *s, const struct vf_ego_subset *subset, struct batch *b)
{
    vf_essential_batch_solve(&b->samples, b->count);
    for (int32_t i = 0; i < b->count; i++)
        score_motions(s, VF_RELATIVE, b->hypothesis[i], subset, b->samples.pose[i], b->samples.poses[i]);
    b->count = 0;
}

/** Adds the sample of hypothesis h to a batch. */
static void add_sample(const struct vf_ego_view *s, int32_t h, struct batch *b)
{
    const struct vf_correspondences *list = &s->ego->list[0];
    int32_t index[VF_EGO_SAMPLE_MAX];
    vf_ego_sample(s, s->ingest->params.frame, VF_RELATIVE, h, 5, (int32_t)s->ego->count[0], index);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++) {
            b->samples.before[i][k][b->count] = list->before[k][index[i]];
            b->samples.now[i][k][b->count] = list->now[k][index[i]];
        }
    b->hypothesis[b->count++] = h;
}

/** Makes the hypotheses of a kind of motion. Samples of five correspondences are solved in batches. */
static void make_all(const struct vf_ego_view *s, int kind, const struct vf_ego_subset *subset)
{
    struct vf_ego_memory *m = s->ego;
    struct batch five;
    five.count = 0;
    for (int32_t h = 0; h < vf_ego_hypotheses(s, kind); h++) {
        const int32_t size = vf_ego_sample_size(s, &s->ingest->params, kind, h);
        m->score[kind][h] = 0;
        if (kind == VF_METRIC) m->score[VF_WIDE][h] = 0;
        if ((int32_t)m->count[vf_ego_list(kind)] < size) continue;
        if (size == 5)
            add_sample(s, h, &five);
        else
            make_hypothesis(s, kind, h, size, subset);
        if (five.count == VF_BATCH) make_batch(s, subset, &five);
    }
    if (five.count) make_batch(s, subset, &five);
}

/** Refines a motion by Gauss-Newton steps: first on a subset, then on all correspondences while the score rises. f:
 *  result, cleared by the caller; unchanged if the steps on the subset lose all inliers. */
static void refine(const struct vf_ego_view *s, int search, const struct vf_ego_subset *subset, struct vf_pose pose,
                   struct vf_refined *f)
{
    for (int step = 0; step <= VF_EGO_COARSE_STEPS + VF_EGO_FULL_STEPS; step++) {
        const int coarse = step < VF_EGO_COARSE_STEPS;
        const struct vf_normal_equations sum = coarse ? vf_ego_sum_subset(search, subset, &pose)
                                                      : vf_ego_sum_motion(s, search, &pose);
        if (!coarse && sum.score <= f->sum.score) return;
        if (!coarse) {
            f->sum = sum;
            f->pose = pose;
        }
        if (!vf_motion_step(vf_ego_kind(search), &pose, sum.terms) && !coarse) return;
    }
}

/** Refines the best hypotheses of a search, in the order of their scores. */
static void refine_best(const struct vf_ego_view *s, int search)
{
    struct vf_ego_memory *m = s->ego;
    struct vf_ego_subset subset;
    uint32_t last = VF_NONE;
    vf_ego_choose_subset(s, search, VF_EGO_LANES, &subset);
    for (int rank = 0; rank < VF_EGO_REFINED; rank++) {
        uint32_t best = 0;
        for (int32_t h = 0; h < vf_ego_hypotheses(s, search); h++) {
            const uint32_t key = vf_ego_rank_key(m->score[search][h], h);
            if (key < last && key > best) best = key;
        }
        struct vf_refined *f = &m->refined[search][rank];
        memset(f, 0, sizeof *f);
        last = best;
        if (best && rank < vf_ego_refined(search))
            refine(s, search, &subset, m->pose[search][vf_ego_rank_hypothesis(best)], f);
    }
}

void vf_ego_make_hypotheses(const struct vf_ego_view *s, int kind)
{
    struct vf_ego_subset subset;
    vf_ego_choose_subset(s, kind, VF_EGO_SCORING_SUBSET, &subset);
    make_all(s, kind, &subset);
    refine_best(s, kind);
    if (kind == VF_METRIC) refine_best(s, VF_WIDE);
}
#endif
