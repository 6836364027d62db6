/* SPDX-License-Identifier: MIT */
/* relpose: correspondences against an exhaustive comparison of all pairs of points; relative poses against the true
 * ones, with one camera and with two; and 10^4 candidates of other places, none of which may be valid: random
 * descriptors, similar points at other places, a poster that hangs at two places. */
#include "tests/fixture/stage.h"

#if VFRONT_MAP

#include "map_flight.h"

static struct map_flight flight;
static struct vf_views v;

/** Nearest descriptor by brute force, and the second best farther than 4 px away along an axis. */
static int nearest(const vfront_descriptor_t *d, int32_t *distance, int32_t *second)
{
    const struct vf_point *p = memory.bearing.point[step.parity][0];
    int best = -1;
    *distance = 257, *second = 256;
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < (int)memory.bearing.count[step.parity][0]; i++) {
            int32_t bits = 0;
            for (int k = 0; k < 256; k++)
                bits += (d->word[k / 32] >> k % 32 & 1) !=
                        (memory.describe.descriptor[step.parity][0][i].word[k / 32] >> k % 32 & 1);
            if (!turn && bits < *distance) *distance = bits, best = i;
            if (turn && bits < *second) {
                const double near_px = 4.0 * fmax((double)p[i].step, (double)p[best].step);
                if (fabs((double)p[i].x_q16 - p[best].x_q16) / 65536.0 > near_px ||
                    fabs((double)p[i].y_q16 - p[best].y_q16) / 65536.0 > near_px)
                    *second = bits;
            }
        }
    return best;
}

/** Correspondences of candidate c by brute force are those of the stage. */
static void same_pairs(int c)
{
    const struct vf_keyframe_points *set = &memory.keyframe.ring[memory.recall.candidate[c]].set;
    uint32_t count = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        int32_t distance, second, better = 0;
        const int j = nearest(&set->point[i].descriptor, &distance, &second);
        if (j < 0 || distance > 64 || distance * 100 > 90 * second) continue;
        if ((step.geometry.active & VF_BIT(stereo)) && !(set->point[i].range_m > 0)) continue;
        for (uint32_t k = 0; k < set->count; k++) { /* another keyframe point is nearer to that key point */
            int32_t bits = 0;
            for (int n = 0; n < 8; n++)
                bits += __builtin_popcount(set->point[k].descriptor.word[n] ^
                                           memory.describe.descriptor[step.parity][0][j].word[n]);
            better |= bits < distance || (bits == distance && k < i);
        }
        if (better) continue;
        count++;
        int listed = 0;
        for (uint32_t n = 0; n < memory.relpose.work[c].count; n++)
            listed |= memory.relpose.work[c].output[n].keypoint == j &&
                      memory.relpose.work[c].output[n].before == set->point[i].keypoint;
        assert_true(listed);
    }
    assert_int_equal(memory.relpose.work[c].count, count);
}

/** Errors of a relative pose: rotation [rad]; translation [m], or its direction [rad]. */
static void errors(const struct vf_relpose_estimate *f, const double R0[9], const double p0[3], double *turn,
                   double *move)
{
    double R[9], t[3], trace = 0.0, sum = 0.0, length = 0.0, dot = 0.0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            R[3 * i + k] = flight.R[i] * R0[k] + flight.R[3 + i] * R0[3 + k] + flight.R[6 + i] * R0[6 + k];
    for (int k = 0; k < 3; k++)
        t[k] = flight.R[k] * (p0[0] - flight.p[0]) + flight.R[3 + k] * (p0[1] - flight.p[1]) +
               flight.R[6 + k] * (p0[2] - flight.p[2]);
    for (int k = 0; k < 9; k++) trace += R[k] * (double)f->pose.R[k];
    for (int k = 0; k < 3; k++) {
        sum += (t[k] - (double)f->pose.t[k]) * (t[k] - (double)f->pose.t[k]);
        length += t[k] * t[k];
        dot += t[k] * (double)f->pose.t[k];
    }
    *turn = sqrt(fmax(0.0, 3.0 - trace));
    *move = f->kind == VF_METRIC ? sqrt(sum) : f->kind == VF_RELATIVE ? acos(fmin(1.0, dot / sqrt(length))) : 0.0;
}

/** Begins a flight of a kind with `lap` frames per lap. */
static void begin(uint64_t seed, enum map_kind kind, uint32_t lap)
{
    shake(seed);
    memset(&memory, 0, sizeof memory);
    map_begin(&flight, kind);
    flight.lap = lap;
    map_geometry(&step, kind, &memory);
}

static void poses(void **state)
{
    (void)state;
    for (int kind = MAP_ONE_CAMERA; kind <= MAP_STEREO; kind++) {
        static double R[400][9], p[400][3];
        int found = 0, checked = 0;
        double nees = 0.0;
        begin(81 + (uint64_t)kind, (enum map_kind)kind, 80);
        for (int frame = 0; frame < 170; frame++) {
            map_frame(&flight, &step);
            memcpy(R[frame], flight.R, sizeof R[frame]);
            memcpy(p[frame], flight.p, sizeof p[frame]);
            map_stages(&step);
            for (int c = 0; c < VF_RECALL_CANDIDATES; c++) {
                const struct vf_relpose_estimate *f = &memory.relpose.found[c];
                double turn, move;
                if (!memory.relpose.head[c].used) continue;
                if (frame % 40 == 39 && memory.recall.candidate[c] != memory.keyframe.now[step.parity].slot)
                    same_pairs(c), checked++;
                if (!f->valid) continue;
                const uint64_t of = memory.relpose.head[c].frame;
                errors(f, R[of], p[of], &turn, &move);
                found++;
                if (turn > 0.03 || move > 0.1) fail_msg("kind %d, frame %d: %g rad, %g", kind, frame, turn, move);
                if (f->kind == VF_METRIC)
                    nees += move * move / (double)(f->covariance[0] + f->covariance[6] + f->covariance[11]);
            }
            map_next(&flight);
        }
        print_message("kind %d: %d overlaps, %d compared with all pairs, squared error over variance %.2f\n", kind,
                      found, checked, nees / found);
        assert_true(found > 100 && checked > 3);
        if (kind == MAP_STEREO) assert_true(nees / found > 0.02 && nees / found < 1.5);
    }
}

enum wrong { RANDOM, ALIKE, POSTER, WRONG };

/** Replaces the points of keyframe 0 by those of another place. */
static void elsewhere(enum wrong wrong)
{
    struct vf_keyframe_entry *e = &memory.keyframe.ring[0];
    const uint32_t now = memory.bearing.count[step.parity][0];
    memset(&e->head, 0, sizeof e->head);
    e->head.used = 1;
    e->set.count = VF_KEYFRAME_POINTS;
    for (int i = 0; i < VF_KEYFRAME_POINTS; i++) {
        struct vf_keyframe_point *p = &e->set.point[i];
        const uint32_t j = (uint32_t)roll((int32_t)now);
        const struct vf_point *from = &memory.bearing.point[step.parity][0][j];
        const int poster = wrong == POSTER && from->x_q16 >> 16 > 300 && from->x_q16 >> 16 < 340;
        float b[3] = {(float)map_real(-0.7, 0.7), (float)map_real(-0.5, 0.5), 1.0f};
        map_descriptor(&p->descriptor);
        if (poster) memcpy(b, from->bearing, sizeof b);
        if (poster || (wrong == ALIKE && i % 2)) p->descriptor = memory.describe.descriptor[step.parity][0][j];
        vf_unit(b);
        for (int k = 0; k < 3; k++) p->bearing_q15[k] = (int16_t)(b[k] * 32767.0f);
        p->keypoint = (uint16_t)j;
        p->level = 0;
        p->range_m = poster ? vf_stereo_range(&memory.stereo, step.parity, j).m : (float)map_real(2.0, 12.0);
        p->sigma_q16 = 655;
    }
}

static void wrong_candidates(void **state)
{
    int wrong = 0, pairs = 0;
    (void)state;
    for (int run = 0; run < 10000; run++) {
        if (run % 100 == 0) {
            shake(90 + (uint64_t)run);
            memset(&memory.keyframe, 0, sizeof memory.keyframe);
            map_begin(&flight, run / 100 % 2 ? MAP_STEREO : MAP_ONE_CAMERA);
            flight.frame = 12 + (uint64_t)run;
            map_geometry(&step, flight.kind, &memory);
            map_frame(&flight, &step);
        }
        elsewhere((enum wrong)(run % WRONG));
        memory.ingest.params.frame++;
        memory.recall.candidate[0] = 0;
        for (int c = 1; c < VF_RECALL_CANDIDATES; c++) memory.recall.candidate[c] = VF_NONE;
        vf_relpose_make_view(&v.relpose, &step);
        vf_relpose_host(&v.relpose);
        pairs += memory.relpose.found[0].pairs >= 25;
        wrong += (int)memory.relpose.found[0].valid;
    }
    print_message("10000 candidates from other places, %d with 25 correspondences, %d overlaps\n", pairs, wrong);
    assert_true(pairs > 2000);
    assert_int_equal(wrong, 0);
}

/** Landmarks so far away that distances are uncertain: no valid pose with a position error above 40 mm. */
static void unsure(void **state)
{
    int refused = 0;
    (void)state;
    begin(85, MAP_STEREO, 80);
    for (int i = 0; i < MAP_LANDMARKS; i++)
        for (int k = 0; k < 3; k++) flight.landmark[i].at[k] *= 2.0;
    for (int frame = 0; frame < 110; frame++) {
        map_frame(&flight, &step);
        map_stages(&step);
        for (int c = 0; c < VF_RECALL_CANDIDATES; c++) {
            const struct vf_relpose_estimate *f = &memory.relpose.found[c];
            const double sigma_m = sqrt((double)(f->covariance[0] + f->covariance[6] + f->covariance[11]));
            if (!memory.relpose.head[c].used || f->inliers < VF_RELPOSE_MIN_INLIERS) continue;
            if (f->valid && sigma_m > 0.0401) fail_msg("frame %d: an overlap by %g m", frame, sigma_m);
            refused += !f->valid && sigma_m > 0.04;
        }
        map_next(&flight);
    }
    print_message("far away: %d overlaps refused\n", refused);
    assert_true(refused > 20);
}

/** Rotations only, of one camera, where samples of five points have found nothing: valid with three fifths of the
 *  correspondences, and not with fewer. */
static void rotations(void **state)
{
    int seen = 0;
    (void)state;
    begin(86, MAP_ONE_CAMERA, 1000);
    for (int frame = 0; frame < 200; frame++) {
        map_frame(&flight, &step);
        map_stages(&step);
        for (int c = 0; c < VF_RECALL_CANDIDATES; c++) {
            static struct vf_relpose_work work;
            struct vf_relpose_estimate f;
            if (!memory.relpose.head[c].used) continue;
            work = memory.relpose.work[c];
            work.refined_sum[VF_RELPOSE_MOTION].inliers = 0;
            const uint32_t inliers = work.refined_sum[VF_RELPOSE_ROTATION].inliers, most = inliers * 5 / 3;
            vf_relpose_inlier_sums(&work, VF_ROTATION_ONLY, &work.refined[VF_RELPOSE_ROTATION]);
            work.count = inliers;
            vf_relpose_result(&work, VF_RELATIVE, &f);
            if (!f.valid) continue;
            for (uint32_t over = 0; over < 2; over++) {
                work.count = most + over;
                vf_relpose_result(&work, VF_RELATIVE, &f);
                REQUIRE(f.valid == !over, "frame %d: %u of %u\n", frame, inliers, work.count);
            }
            seen++;
        }
        map_next(&flight);
    }
    print_message("%d rotations of one camera\n", seen);
    assert_true(seen > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(poses), cmocka_unit_test(wrong_candidates),
                                       cmocka_unit_test(unsure), cmocka_unit_test(rotations)};
    return cmocka_run_group_tests_name("overlap", tests, NULL, NULL);
}

#else

int main(void) { return 77; }

#endif
