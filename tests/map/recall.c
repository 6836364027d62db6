/* SPDX-License-Identifier: MIT */
/* recall: points of a frame, words, scores and candidates against a plain form of the rules: lists instead of bitmaps,
 * logarithms of libm instead of integer ones, a sort. On drawn flights, with one camera and with distances. */
#include "tests/fixture/stage.h"

#if VFRONT_MAP

#include "map_flight.h"

static struct map_flight flight;

static void begin(enum map_kind kind)
{
    memset(&memory, 0, sizeof memory);
    map_begin(&flight, kind);
    flight.lap = 60;
    map_geometry(&step, kind, &memory);
}

/** The best key point of each cell, by rising cell: those with a distance before those without. */
static uint32_t plain_points(uint32_t chosen[VF_KEYFRAME_POINTS])
{
    const int32_t parity = step.parity;
    uint32_t count = 0;
    for (int y = 0; y < 15; y++)
        for (int x = 0; x < 20; x++) {
            int best = -1;
            for (int i = 0; i < (int)memory.bearing.count[parity][0]; i++) {
                const struct vf_point *p = &memory.bearing.point[parity][0][i];
                const int px = (int)floor(p->x_q16 / 65536.0 + 0.5), py = (int)floor(p->y_q16 / 65536.0 + 0.5);
                if (px * 20 / MAP_WIDTH != x || py * 15 / MAP_HEIGHT != y) continue;
                const int has = (step.geometry.active & VF_BIT(stereo)) &&
                                vf_stereo_range(&memory.stereo, parity, (uint32_t)i).m > 0,
                          had = best >= 0 && (step.geometry.active & VF_BIT(stereo)) &&
                                vf_stereo_range(&memory.stereo, parity, (uint32_t)best).m > 0;
                if (best < 0 || has > had || (has == had && memory.select.key[0][i] > memory.select.key[0][best]))
                    best = i;
            }
            if (best >= 0) chosen[count++] = (uint32_t)best;
        }
    return count;
}

/** Word of a descriptor, bit by bit from its bytes, in OpenCV's order. */
static unsigned plain_word(const vfront_descriptor_t *d, int table)
{
    static const int bits[2][16] = {{155, 174, 230, 163, 235, 142, 192, 15, 78, 141, 103, 234, 185, 45, 86, 223},
                                    {128, 102, 69, 70, 91, 250, 197, 168, 248, 193, 25, 165, 188, 67, 249, 31}};
    unsigned word = 0;
    for (int i = 15; i >= 0; i--)
        word = 2 * word + (((const uint8_t *)d)[bits[table][i] / 8] >> bits[table][i] % 8 & 1);
    return word;
}

static int has_word(const struct vf_keyframe_points *set, int table, unsigned word)
{
    for (uint32_t i = 0; i < set->count && word != 0xffff; i++)
        if (plain_word(&set->point[i].descriptor, table) == word) return 1;
    return 0;
}

/** Score of a keyframe by the logarithm of libm, each word once. */
static double plain_score(const struct vf_keyframe_points *now, int slot)
{
    const struct vf_keyframe_entry *ring = memory.keyframe.ring;
    double sum = 0.0;
    for (int t = 0; t < 2; t++)
        for (uint32_t i = 0; i < now->count; i++) {
            const unsigned word = plain_word(&now->point[i].descriptor, t);
            int first = 1, known = 0;
            for (uint32_t k = 0; k < i; k++) first &= plain_word(&now->point[k].descriptor, t) != word;
            if (!first || !has_word(&ring[slot].set, t, word)) continue;
            for (int k = 0; k < VFRONT_KEYFRAMES; k++) known += ring[k].head.used && has_word(&ring[k].set, t, word);
            sum += 16.0 * log2(2.0 * VFRONT_KEYFRAMES / known) + 1.0;
        }
    return sum;
}

static void points_and_words(void **state)
{
    (void)state;
    for (int kind = MAP_ONE_CAMERA; kind <= MAP_STEREO; kind++) {
        shake(71 + (uint64_t)kind);
        begin((enum map_kind)kind);
        for (int frame = 0; frame < 6; frame++) {
            uint32_t chosen[VF_KEYFRAME_POINTS];
            map_frame(&flight, &step);
            map_stages(&step);
            const struct vf_keyframe_points *set = &memory.recall.set[step.parity];
            const uint32_t count = plain_points(chosen);
            assert_int_equal(set->count, count);
            assert_true(count > 100);
            for (uint32_t i = 0; i < count; i++) {
                const struct vf_keyframe_point *p = &set->point[i];
                const struct vf_point *from = &memory.bearing.point[step.parity][0][chosen[i]];
                float bearing[3];
                assert_int_equal(p->keypoint, chosen[i]);
                assert_int_equal(p->level, from->level);
                assert_memory_equal(&p->descriptor, &memory.describe.descriptor[step.parity][0][chosen[i]], 32);
                vf_keyframe_bearing(p, bearing);
                for (int k = 0; k < 3; k++) assert_true(fabs((double)bearing[k] - (double)from->bearing[k]) < 4e-5);
                for (int t = 0; t < 2; t++) {
                    const unsigned word = plain_word(&p->descriptor, t);
                    int first = 1;
                    for (uint32_t k = 0; k < i; k++) first &= plain_word(&set->point[k].descriptor, t) != word;
                    assert_int_equal(set->word[t][i], first ? word : 0xffff);
                }
            }
            map_next(&flight);
        }
    }
}

/** Scores equal the plain form up to the integer logarithm, and candidates follow from them. */
static void candidates(void **state)
{
    int with = 0;
    (void)state;
    shake(73);
    begin(MAP_ONE_CAMERA);
    for (int frame = 0; frame < 100; frame++) {
        map_frame(&flight, &step);
        static struct vf_views v;
        vf_recall_make_view(&v.recall, &step);
        vf_recall_host(&v.recall);
        if (frame % 11 == 0)
            for (int i = 0; i < 24; i++) {
                const double plain = memory.keyframe.ring[i].head.used ? plain_score(&memory.recall.set[step.parity], i)
                                                                       : 0.0;
                if (fabs(plain - memory.recall.score[i]) > 0.02 * plain + 1.0)
                    fail_msg("frame %d, keyframe %d: %u, not %g", frame, i, memory.recall.score[i], plain);
            }
        uint32_t best = 0, second = 0;
        for (int i = 0; i < VFRONT_KEYFRAMES; i++) {
            const struct vf_keyframe *k = &memory.keyframe.ring[i].head;
            uint32_t old = 0;
            for (uint32_t n = 0; n < memory.refill.counts[step.parity ^ 1].count; n++)
                old += memory.refill.feature[step.parity ^ 1][n].id <= k->last_id;
            if (!frame || !k->used || k->frame + 10 > (uint64_t)frame) continue;
            if (old > 3 && k->frame + 100 > (uint64_t)frame) continue;
            const uint32_t score = memory.recall.score[i];
            if (score > best)
                second = best, best = score;
            else if (score > second)
                second = score;
        }
        const uint32_t *c = memory.recall.candidate;
        assert_int_equal(c[0] == VF_NONE ? 0 : memory.recall.score[c[0]], best);
        assert_int_equal(c[1] == VF_NONE ? 0 : memory.recall.score[c[1]], second);
        assert_true(c[0] == VF_NONE || (c[0] != c[1] && c[0] != c[2]));
        with += c[0] != VF_NONE;
        vf_relpose_make_view(&v.relpose, &step);
        vf_keyframe_make_view(&v.keyframe, &step);
        vf_relpose_host(&v.relpose);
        vf_keyframe_host(&v.keyframe);
        map_next(&flight);
    }
    assert_true(with > 50);
}

/** A keyframe that tracks connect with the frame is no candidate until it is 100 frames old. */
static void lasting_tracks(void **state)
{
    int before = 0, later = 0;
    (void)state;
    shake(75);
    begin(MAP_ONE_CAMERA);
    flight.lap = 100000; /* does not move */
    for (int frame = 0; frame < 120; frame++) {
        struct vf_refill_memory *r = &memory.refill;
        map_frame(&flight, &step);
        for (uint32_t n = 0; n < 50; n++) r->feature[step.parity][n].id = n + 1;
        r->counts[step.parity].count = 50;
        r->counts[step.parity].last_id = 50;
        map_stages(&step);
        for (int k = 0; k < VF_RECALL_CANDIDATES; k++) {
            const uint32_t slot = memory.recall.candidate[k];
            if (slot == VF_NONE) continue;
            const int is_old = memory.keyframe.ring[slot].head.frame + 100 <= (uint64_t)frame;
            before += !is_old;
            later += is_old;
        }
        map_next(&flight);
    }
    assert_int_equal(before, 0);
    assert_true(later >= 15);
}

/** A frozen image has no points and no candidates. */
static void frozen(void **state)
{
    (void)state;
    shake(74);
    begin(MAP_ONE_CAMERA);
    for (int frame = 0; frame < 75; frame++) {
        map_frame(&flight, &step);
        memory.freeze.frames[step.parity][0] = frame == 74;
        map_stages(&step);
        if (frame == 73) assert_true(memory.loop.count > 0);
        map_next(&flight);
    }
    assert_int_equal(memory.recall.set[step.parity].count, 0);
    assert_int_equal(memory.loop.count, 0);
    assert_int_equal(memory.keyframe.now[step.parity].due, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(points_and_words), cmocka_unit_test(candidates),
                                       cmocka_unit_test(lasting_tracks), cmocka_unit_test(frozen)};
    return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}

#else

int main(void) { return 77; }

#endif
