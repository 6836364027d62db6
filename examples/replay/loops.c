/* SPDX-License-Identifier: MIT */
#include "loops.h"

#include <inttypes.h>
#include <math.h>

const char *loops_state_name(uint32_t state)
{
    static const char *const name[] = {"?", "accepted", "few", "far", "two", "alone"};
    return state < sizeof name / sizeof *name ? name[state] : "?";
}

const char *loops_kind_name(uint32_t kind)
{
    static const char *const name[] = {"?", "metric", "relative", "rotation"};
    return kind < sizeof name / sizeof *name ? name[kind] : "?";
}

void loops_header(FILE *f)
{
    fputs("frame,candidate_frame,correspondences,inliers,agreeing,accepted,state,kind,loaded,"
          "r00,r01,r02,r10,r11,r12,r20,r21,r22,tx,ty,tz,t_sigma,r_sigma_rad,parallax_rad\n",
          f);
}

#if VFRONT_MAP
static void write_loop(FILE *f, uint64_t frame, const vfront_loop_t *l)
{
    const float *P = l->covariance;
    fprintf(f, "%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%d,%s,%s,%" PRIu32, frame, l->frame,
            l->pairs, l->inliers, l->agreeing, l->state == VFRONT_LOOP_ACCEPTED, loops_state_name(l->state),
            loops_kind_name(l->kind), l->loaded);
    for (int k = 0; k < 9; k++) fprintf(f, ",%.9g", (double)l->R[k]);
    for (int k = 0; k < 3; k++) fprintf(f, ",%.9g", (double)l->t[k]);
    fprintf(f, ",%.3g,%.3g,%.3g\n", sqrt((double)P[0] + (double)P[6] + (double)P[11]),
            sqrt((double)P[15] + (double)P[18] + (double)P[20]), (double)l->parallax_rad);
}
#endif

void loops_rows(FILE *f, const vfront_result_t *r)
{
#if VFRONT_MAP
    for (uint32_t i = 0; i < r->loops_count; i++) write_loop(f, r->frame, &r->loops[i]);
#endif
    (void)f, (void)r;
}
