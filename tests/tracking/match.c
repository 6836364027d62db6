/* SPDX-License-Identifier: MIT */
/* match: pairs against the oracle of match_oracle.h; positions of refined matches in drawn images; the stage through
 * the public interface. A case is discarded, and counted, if a key point lies so close to the border of a window that
 * single precision may decide either way. */
#include "tests/fixture/stage.h"

#if VFRONT_MATCHES
#include "match_oracle.h"

/* ---- the stage against the oracle -------------------------------------------------------------------------------- */

/** Checks that an unrefined match has the position of its key point. */
static void check_unrefined(const vfront_match_t *is, const char *what)
{
    const struct keypoint *p = &now->point[is->keypoint];
    if (is->refined) return;
    REQUIRE((double)is->x_px == (float)(p->x_q16 / 65536.0) && (double)is->y_px == (float)(p->y_q16 / 65536.0),
            "%s: place", what);
    for (int c = 0; c < 3; c++) REQUIRE((double)is->bearing[c] == p->bearing[c], "%s: bearing", what);
}

/** Distance of two positions [px]. */
static double apart(double x, double y, const struct keypoint *p)
{
    return hypot(x - p->x_q16 / 65536.0, y - p->y_q16 / 65536.0);
}

/** Checks track and origin of a match, and the link of its key point. A track continues unless it would be more than 3
 *  px of the coarser level from its key point, or outside the image. */
static void check_chain(const vfront_match_t *is, const char *what)
{
    const struct keypoint *was = &before->point[is->before], *p = &now->point[is->keypoint];
    const struct vf_match_link *l = &was->link, *own = &memory.match.link[step.parity][is->keypoint];
    const double size = fmax(size_of(was->level), size_of(p->level)), x = (double)is->x_px, y = (double)is->y_px;
    const int on = l->age && is->age > 1;
    const uint32_t id = on ? l->id : (uint32_t)(params->frame * VFRONT_KEYPOINTS + is->keypoint);
    REQUIRE(is->id == id && is->age == (on ? l->age + 1 : 1), "%s: chain %u of age %u, should be %u", what, is->id,
            is->age, id);
    REQUIRE(is->x_before_px == (float)((on ? l->x_q16 : was->x_q16) / 65536.0) &&
                is->y_before_px == (float)((on ? l->y_q16 : was->y_q16) / 65536.0),
            "%s: place in the frame before", what);
    REQUIRE(own->id == is->id && own->age == is->age && is->x_px == (float)(own->x_q16 / 65536.0) &&
                is->y_px == (float)(own->y_q16 / 65536.0),
            "%s: link", what);
    REQUIRE(apart(x, y, p) <= (on ? 3.001 : 1.501) * size, "%s: %g px from the key point", what, apart(x, y, p));
    if (!l->age || on) return;
    const double there_x = l->x_q16 / 65536.0 + x - was->x_q16 / 65536.0,
                 there_y = l->y_q16 / 65536.0 + y - was->y_q16 / 65536.0;
    const struct vf_level *o = &step.geometry.level[0][0];
    REQUIRE(apart(there_x, there_y, p) > 2.999 * size || there_x < 0.0 || there_y < 0.0 || there_x > o->width - 1 ||
                there_y > o->height - 1,
            "%s: a chain ended %g px from its key point", what, apart(there_x, there_y, p));
}

/** Checks that key points without a match have no link. */
static void check_unlinked(const char *what)
{
    uint32_t linked = 0;
    for (int i = 0; i < now->count; i++) linked += memory.match.link[step.parity][i].age != 0;
    REQUIRE(linked == memory.match.count, "%s: %u links, %u matches", what, linked, memory.match.count);
}

/** Runs the stage on both frames and compares. Returns the number of pairs; -1: case discarded. */
static int check(const char *what)
{
    const struct vf_match_memory *m = &memory.match;
    put_frame(now, step.parity);
    put_frame(before, step.parity ^ 1);
    put_links();
    vf_match_clear(&memory.match, step.parity, 0, 1);
    RUN(match);
    ambiguous = 0;
    const int count = params->frame ? drop_by_roll(find_pairs()) : 0;
    predict_next(count);
    cases_discarded += (uint64_t)ambiguous;
    if (ambiguous) return -1;
    cases_run++;
    pairs_listed += (uint64_t)count;
    REQUIRE((int)m->count == count, "%s: %u pairs, should be %d", what, m->count, count);
    for (int k = 0; k < count; k++) {
        const vfront_match_t *is = &m->match[k];
        const struct pair *p = &should[k];
        REQUIRE(is->keypoint == p->i && is->before == p->j && is->distance == p->distance && is->second == p->second,
                "%s: pair %d is %d %d %d %d, should be %d %d %d %d", what, k, is->keypoint, is->before, is->distance,
                is->second, p->i, p->j, p->distance, p->second);
        check_unrefined(is, what);
        check_chain(is, what);
    }
    check_unlinked(what);
    for (int i = 0; i < now->count; i++)
        for (int c = 0; c < 3; c++)
            REQUIRE((double)m->before[step.parity][i][c] == now->point[i].before[c], "%s: origin of point %d", what, i);
    return count;
}

/** Empty pair of frames, with window and levels such that all are candidates. */
static void start(void)
{
    set_up(1, VFRONT_WIDTH < 320 ? VFRONT_WIDTH : 320, VFRONT_HEIGHT < 240 ? VFRONT_HEIGHT : 240, 0);
    params = &memory.ingest.params;
    memset(params, 0, sizeof *params);
    params->frame = 5;
    for (int k = 0; k < 9; k++) params->R[k] = k % 4 == 0 ? 1.0f : 0.0f;
    now = &frames[0];
    before = &frames[1];
    now->count = before->count = 0;
    step.geometry.focal_px[0] = 300.0f;
    step.tuning.match_radius_px = 4096;
    step.tuning.match_levels = 7;
}

static int add(struct frame *f, struct keypoint p)
{
    f->point[f->count] = p;
    return f->count++;
}

static void set_rotation(float R[9], int axis, double angle)
{
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    for (int k = 0; k < 9; k++) R[k] = k % 4 == 0 ? 1.0f : 0.0f;
    R[4 * a] = R[4 * b] = (float)cos(angle);
    R[3 * b + a] = (float)sin(angle);
    R[3 * a + b] = -R[3 * b + a];
}

/* ---- random cases ------------------------------------------------------------------------------------------------ */

static void random_tuning(void)
{
    vfront_tuning_t *t = &step.tuning;
    t->match = roll(4) ? VFRONT_MATCH_GUIDED : VFRONT_MATCH_WHOLE;
    t->match_radius_px = roll(8) ? between(5, 150) : between(1, 4096);
    t->match_distance = roll(3) ? between(50, 120) : between(0, 256);
    t->match_ratio_percent = roll(3) ? between(75, 100) : between(1, 100);
    t->match_turn_deg = roll(3) ? between(5, 60) : between(1, 180);
    t->match_levels = roll(8);
    step.geometry.focal_px[0] = (float)between(100, 900);
}

/** Key point near the predicted position of b, with a similar descriptor, level and orientation. */
static struct keypoint similar_to(const struct keypoint *b, int picture_roll)
{
    struct keypoint p = random_keypoint();
    const double rms = between(0, 40) * 1e-3;
    set_unit(&p, b->predicted[0] + rms * between(-99, 99) * 1e-2, b->predicted[1] + rms * between(-99, 99) * 1e-2,
             b->predicted[2]);
    p.bits = b->bits;
    flip(&p.bits, roll(256), roll(70));
    p.level = vf_clamp(b->level + between(-1, 1), 0, step.geometry.scales - 1);
    p.x_q16 = b->x_q16 + between(-400000, 400000);
    p.y_q16 = b->y_q16 + between(-400000, 400000);
    p.orientation = (int16_t)(b->orientation + picture_roll + between(-5600, 5600));
    return p;
}

static void random_frame(int32_t count)
{
    const int picture_roll = between(-32768, 32767);
    next_frame(0);
    while (now->count < count) {
        const int of = before->count ? roll(before->count) : -1;
        const int kind = roll(10);
        if (of >= 0 && kind < 7)
            add(now, similar_to(&before->point[of], picture_roll));
        else if (of >= 0 && kind < 8)
            add(now, before->point[of]);
        else if (now->count && kind < 9)
            add(now, now->point[roll(now->count)]);
        else
            add(now, random_keypoint());
    }
}

static void random_cases(void **state)
{
    (void)state;
    uint64_t before_discarded = cases_discarded;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        shake(seed);
        start();
        random_tuning();
        params->frame = 0;
        for (int k = 0; k < 4; k++, params->frame++) {
            char what[64];
            random_frame(roll(10) ? between(0, vf_min(50, VFRONT_KEYPOINTS)) : roll(3));
            snprintf(what, sizeof what, "seed %d, frame %d", (int)seed, k);
            check(what);
        }
    }
    print_message("%d cases, %d discarded, %d pairs, %d dropped by their orientation\n", (int)cases_run,
                  (int)(cases_discarded - before_discarded), (int)pairs_listed, (int)pairs_dropped);
    REQUIRE(cases_run > 7900 && pairs_listed > 15000 && pairs_dropped > 1000, "too little was tested");
}

/** Random predicted motion, distances and parallaxes. */
static void set_prediction(void)
{
    vfront_prediction_t *p = &memory.predict.now;
    memset(p, 0, sizeof *p);
    step.geometry.calibrated[0] = 1;
    p->source = roll(2)   ? (uint32_t[]){VFRONT_PREDICT_MOTION, VFRONT_PREDICT_STATE}[roll(2)]
                : roll(2) ? VFRONT_PREDICT_TURN
                          : VFRONT_PREDICT_ROTATION;
    set_rotation(p->R, roll(3), between(-200, 200) * 1e-3);
    set_rotation(memory.predict.parallax.R, roll(3), between(-200, 200) * 1e-3);
    memory.predict.parallax.ratio = roll(4) ? (float)(between(200, 3000) * 1e-3) : 0.0f;
    memory.predict.parallax.rms = (float)(between(0, 50) * 1e-3);
    memory.predict.parallax.stale = roll(4) == 0;
    if (memory.predict.parallax.stale) memory.predict.parallax.ratio = 0.0f;
    for (int k = 0; k < 3; k++) p->t[k] = (float)(between(-500, 500) * 1e-3);
    for (int k = 0; k < 21; k++) p->covariance[k] = (float)(between(0, 1000) * 1e-6);
    memory.predict.prior.mean_1pm = roll(4) ? (float)(between(0, 1000) * 1e-3) : 0.0f;
    memory.predict.prior.sigma_1pm = (float)(between(0, 300) * 1e-3);
#if VFRONT_STEREO
    for (int i = 0; i < VFRONT_KEYPOINTS; i++) {
        memory.stereo.range_m[step.parity ^ 1][i] = roll(2) ? (float)(between(1, 20000) * 1e-3) : 0.0f;
        memory.stereo.range_sigma_m[step.parity ^ 1][i] = (float)(between(0, 1000) * 1e-3);
    }
#endif
}

/** The predicted motion sets positions and windows. */
static void motion_given(void **state)
{
    (void)state;
    const uint64_t listed = pairs_listed, run = cases_run;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        shake(10000 + seed);
        start();
        random_tuning();
        step.tuning.match = VFRONT_MATCH_GUIDED;
        params->frame = 0;
        for (int k = 0; k < 4; k++, params->frame++) {
            char what[64];
            random_frame(between(0, vf_min(50, VFRONT_KEYPOINTS)));
            set_prediction();
            snprintf(what, sizeof what, "motion, seed %d, frame %d", (int)seed, k);
            check(what);
        }
    }
    print_message("%d cases, %d pairs\n", (int)(cases_run - run), (int)(pairs_listed - listed));
    REQUIRE(cases_run - run > 1900 && pairs_listed - listed > 500, "too little was tested");
}

/** Largest number of points, on a lattice, none near the border of a window. */
static void many(void **state)
{
    (void)state;
    for (int guided = 0; guided < 2; guided++) {
        shake(77 + (uint64_t)guided);
        start();
        step.tuning.match = guided ? VFRONT_MATCH_GUIDED : VFRONT_MATCH_WHOLE;
        step.tuning.match_radius_px = 10;
        step.geometry.focal_px[0] = (float)(10.0 * 64.0 / sqrt(40.5));
        const int32_t most = vf_min(VFRONT_KEYPOINTS, 2048);
        for (int k = 0; k < 2; k++) {
            next_frame(0);
            while (now->count < most - k) {
                const int known = k && roll(5);
                struct keypoint p = known ? before->point[roll(before->count)] : random_keypoint();
                if (guided) p.level = 0;
                if (known)
                    set_bearing(&p, p.bearing[0] + between(-5, 5) / 64.0, p.bearing[1] + between(-5, 5) / 64.0, 1.0);
                else
                    set_bearing(&p, between(-60, 60) / 64.0, between(-60, 60) / 64.0, 1.0);
                flip(&p.bits, roll(256), roll(50));
                add(now, p);
            }
        }
        put_matches();
        REQUIRE(check(guided ? "many, guided" : "many") > most / 20, "few pairs");
    }
}

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

static void few_points(void **state)
{
    (void)state;
    shake(3);
    for (int guided = 0; guided < 2; guided++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                start();
                step.tuning.match = guided ? VFRONT_MATCH_GUIDED : VFRONT_MATCH_WHOLE;
                for (int k = 0; k < a && k < VFRONT_KEYPOINTS; k++) add(now, random_keypoint());
                for (int k = 0; k < b && k < VFRONT_KEYPOINTS; k++)
                    add(before, k < a ? now->point[k] : random_keypoint());
                REQUIRE(check("few") == vf_min(a, b), "%d and %d points", a, b);
                if (a == 1 && b == 1) assert_int_equal(memory.match.match[0].second, 256);
            }
}

/** All key points equal: the first of each frame match. */
static void all_equal(void **state)
{
    (void)state;
    const int32_t count = vf_min(150, VFRONT_KEYPOINTS);
    shake(4);
    for (int apart_px = 0; apart_px < 10; apart_px += 9) {
        start();
        const struct keypoint one = random_keypoint();
        for (int k = 0; k < count; k++) {
            add(now, one);
            add(before, one);
            before->point[k].x_q16 = k * apart_px << 16;
        }
        assert_int_equal(check("all equal"), 1);
        assert_int_equal(memory.match.match[0].keypoint, 0);
        assert_int_equal(memory.match.match[0].before, 0);
        assert_int_equal(memory.match.match[0].distance, 0);
        assert_int_equal(memory.match.match[0].second, apart_px ? 0 : 256);
    }
}

/** One key point, its match with `distance` different bits, and another candidate with `second`, at an offset of
 *  (away_x, away_y) [px, Q16]. */
static int pair_beside(int distance, int second, int32_t away_x, int32_t away_y)
{
    start();
    const struct keypoint p = random_keypoint();
    add(now, p);
    add(before, p);
    add(before, p);
    for (int k = 0; k < 2; k++) before->point[k].level = now->point[0].level = 0;
    flip(&before->point[0].bits, 10, distance);
    flip(&before->point[1].bits, 100, second);
    before->point[1].x_q16 += away_x;
    before->point[1].y_q16 += away_y;
    return 0;
}

static void ratio(void **state)
{
    (void)state;
    static const struct {
        int distance, second, percent, kept;
    } c[] = {{9, 10, 90, 1}, {9, 10, 89, 0},   {10, 10, 100, 1}, {10, 10, 99, 0}, {0, 0, 1, 1},   {1, 100, 1, 1},
             {2, 100, 1, 0}, {60, 100, 60, 1}, {61, 100, 60, 0}, {45, 51, 90, 1}, {46, 51, 90, 0}};
    shake(5);
    for (size_t k = 0; k < sizeof c / sizeof *c && VFRONT_KEYPOINTS > 1; k++) {
        pair_beside(c[k].distance, c[k].second, 30 << 16, 0);
        step.tuning.match_ratio_percent = c[k].percent;
        REQUIRE(check("ratio") == c[k].kept, "%d of %d at %d %%", c[k].distance, c[k].second, c[k].percent);
    }
}

/** Second best: neither within 4 px of the best along both axes, nor a key point that is no candidate. */
static void second_best(void **state)
{
    (void)state;
    shake(6);
    if (VFRONT_KEYPOINTS < 2) skip();
    static const int32_t far[][3] = {{0, 0, 0},
                                     {4 << 16, 0, 0},
                                     {(4 << 16) + 1, 0, 1},
                                     {0, 4 << 16, 0},
                                     {0, (4 << 16) + 1, 1},
                                     {-(4 << 16), 0, 0},
                                     {-(4 << 16) - 1, 0, 1},
                                     {0, -(4 << 16) - 1, 1},
                                     {4 << 16, -(4 << 16), 0}};
    for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
        pair_beside(10, 11, far[k][0], far[k][1]);
        REQUIRE(check("second") == !far[k][2], "case %d", (int)k);
        if (!far[k][2]) assert_int_equal(memory.match.match[0].second, 256);
    }
    pair_beside(10, 11, 30 << 16, 0);
    step.tuning.match_levels = 0;
    before->point[1].level = step.geometry.scales > 1;
    assert_int_equal(check("second on another level"), step.geometry.scales > 1);
    pair_beside(10, 11, 30 << 16, 0);
    step.tuning.match_radius_px = 30;
    set_bearing(&before->point[1], now->point[0].bearing[0] + 0.2, now->point[0].bearing[1], now->point[0].bearing[2]);
    put_matches();
    assert_int_equal(check("second outside the window"), 1);
    step.tuning.match_radius_px = 90;
    assert_int_equal(check("second inside the window"), 0);
    pair_beside(60, 80, 30 << 16, 0); /* beyond the bound of a match, but still a second best */
    step.tuning.match_ratio_percent = 80;
    assert_int_equal(check("second over the bound"), 1);
    assert_int_equal(memory.match.match[0].second, 80);
    step.tuning.match_ratio_percent = 74;
    assert_int_equal(check("second over the bound"), 0);
}

static void largest_distance(void **state)
{
    (void)state;
    shake(7);
    for (int most = 0; most <= 256; most += 16)
        for (int distance = most; distance <= most + 1 && distance <= 256; distance++) {
            start();
            step.tuning.match_distance = most;
            step.tuning.match_ratio_percent = 100;
            add(now, random_keypoint());
            add(before, now->point[0]);
            flip(&before->point[0].bits, 0, distance);
            REQUIRE(check("distance") == (distance <= most), "%d of %d bits", distance, most);
        }
}

/** Exactly on the border of the window, in numbers without rounding. */
static void radius_rim(void **state)
{
    (void)state;
    shake(8);
    for (int axis = 0; axis < 3; axis++)
        for (int sign = -1; sign < 2; sign += 2)
            for (int out = 0; out < 2; out++) {
                start();
                step.geometry.focal_px[0] = 64.0f;
                step.tuning.match_radius_px = 16;
                step.tuning.match = VFRONT_MATCH_GUIDED;
                struct keypoint p = random_keypoint();
                p.level = 0;
                set_bearing(&p, 0.0, 0.0, 0.0);
                add(before, p);
                p.bearing[axis] = sign * (0.25 + out * ldexp(1.0, -22));
                add(now, p);
                put_frame(now, step.parity);
                put_frame(before, step.parity ^ 1);
                memset(memory.match.before, 0, sizeof memory.match.before);
                vf_match_clear(&memory.match, step.parity, 0, 1);
                RUN(match);
                REQUIRE((int)memory.match.count == !out, "axis %d", axis);
            }
}

/** The window is that of the coarser level, in either frame. */
static void radius_of_levels(void **state)
{
    (void)state;
    shake(9);
    const int32_t last = vf_min(step.geometry.scales, VFRONT_SCALES) - 1;
    for (int32_t a = 0; a <= last; a++)
        for (int32_t b = 0; b <= last; b++)
            for (int out = 0; out < 2; out++) {
                start();
                step.tuning.match = VFRONT_MATCH_GUIDED;
                step.tuning.match_radius_px = 10;
                struct keypoint p = random_keypoint();
                set_bearing(&p, 0.1, -0.2, 0.97);
                p.level = a;
                add(before, p);
                put_matches();
                const double px = 10.0 * size_of(a > b ? a : b) + (out ? 0.01 : -0.01);
                set_bearing(&p, 0.1, -0.2 + px / 300.0, 0.97);
                p.level = b;
                add(now, p);
                REQUIRE(check("window") == !out, "levels %d and %d", a, b);
            }
}

static void levels(void **state)
{
    (void)state;
    shake(10);
    for (int guided = 0; guided < 2; guided++)
        for (int32_t most = 0; most < 8; most++)
            for (int32_t a = 0; a < step.geometry.scales; a++)
                for (int32_t b = 0; b < step.geometry.scales; b++) {
                    start();
                    step.tuning.match = guided ? VFRONT_MATCH_GUIDED : VFRONT_MATCH_WHOLE;
                    step.tuning.match_levels = most;
                    struct keypoint p = random_keypoint();
                    p.level = a;
                    add(now, p);
                    p.level = b;
                    add(before, p);
                    REQUIRE(check("levels") == (abs(a - b) <= most), "levels %d and %d", a, b);
                }
}

/** Pairs whose orientations differ by `turn`; the last one's by `more` in addition. Returns the number of matches. */
static int rolled(int32_t count, int32_t turn, int32_t more)
{
    start();
    for (int k = 0; k < count; k++) {
        struct keypoint p = random_keypoint();
        add(before, p);
        p.orientation = (int16_t)(p.orientation + turn + (k == count - 1 ? more : 0));
        add(now, p);
    }
    return check("rolled");
}

static void camera_rolls(void **state)
{
    (void)state;
    shake(11);
    if (VFRONT_KEYPOINTS < 20) skip();
    for (int32_t turn = -32768; turn < 32768; turn += 4096) {
        start();
        assert_int_equal(rolled(20, turn, 0), 20);
        assert_int_equal(rolled(20, turn, 5461), 20); /* 30 degrees, the standard, are 5461 and a third */
        assert_int_equal(rolled(20, turn, 5462), 19);
        assert_int_equal(rolled(20, turn, -5461), 20);
        assert_int_equal(rolled(20, turn, -5462), 19);
        assert_int_equal(rolled(20, turn, 32768), 19);
        assert_int_equal(memory.match.match[18].keypoint, 18);
    }
    assert_int_equal(rolled(1, 12345, 0), 1); /* a single match defines the roll of the image */
    for (int32_t scattered = 0; scattered < 2; scattered++) {
        start();
        step.tuning.match_turn_deg = 180;
        for (int k = 0; k < 20; k++) {
            struct keypoint p = random_keypoint();
            add(before, p);
            p.orientation = (int16_t)between(-32768, 32767);
            add(now, p);
        }
        assert_int_equal(check("any turn"), 20);
    }
}

/** A rotation whose predecessor is unknown predicts all key points, also those that moved differently before. */
static void rotation_given(void **state)
{
    (void)state;
    shake(12);
    if (VFRONT_KEYPOINTS < 10) skip();
    for (int axis = 0; axis < 3; axis++)
        for (int given = 0; given < 2; given++) {
            start();
            step.tuning.match = VFRONT_MATCH_GUIDED;
            step.tuning.match_radius_px = 4;
            step.geometry.calibrated[0] = 1;
            memset(&memory.predict, 0, sizeof memory.predict);
            set_rotation(memory.predict.now.R, axis, 0.35);
            for (int k = 0; k < 10; k++) {
                struct keypoint p = random_keypoint();
                set_unit(&p, 0.4 + 0.01 * k, 0.3 - 0.02 * k, 1.0);
                add(before, p);
                double to[3] = {0, 0, 0};
                for (int c = 0; c < 9; c++) to[c / 3] += (double)memory.predict.now.R[c] * p.bearing[c % 3];
                set_unit(&p, to[0], to[1], to[2]);
                add(now, p);
            }
            if (!given) set_rotation(memory.predict.now.R, axis, 0.0);
            for (int k = 0; k < 10; k++) {
                const double there[3] = {0.0, (double)0.6f, (double)0.8f};
                memcpy(before->point[k].before, there, sizeof there);
            }
            put_matches();
            assert_int_equal(check("rotation"), given ? 10 : 0);
        }
}

/** Constant velocity: a key point is found in a small window from the third frame on; without a previous match it is
 *  not. */
static void constant_velocity(void **state)
{
    (void)state;
    shake(13);
    if (VFRONT_KEYPOINTS < 10) skip();
    start();
    struct keypoint p[10];
    step.tuning.match = VFRONT_MATCH_GUIDED;
    for (int k = 0; k < 10; k++) p[k] = random_keypoint();
    for (int frame = 0; frame < 6; frame++) {
        params->frame = (uint64_t)frame;
        next_frame(0);
        for (int k = 0; k < 10; k++) {
            set_unit(&p[k], 0.05 * k - 0.2 + 0.06 * frame, 0.03 * k - 0.05 * frame, 1.0);
            if (frame != 3 || k % 2) add(now, p[k]);
        }
        /* moves of 0.08 are up to 24 px; second differences are below 1.5 px */
        step.tuning.match_radius_px = frame == 1 || frame == 4 ? 30 : 4;
        const int seen = check("velocity");
        const int expected_pairs[6] = {0, 10, 10, 5, 5, 5};
        REQUIRE(seen == expected_pairs[frame], "frame %d: %d pairs", frame, seen);
    }
    params->frame = 9; /* without a match in the previous frame the prediction is the same position */
    next_frame(0);
    for (int k = 0; k < 10; k++) add(now, random_keypoint());
    step.tuning.match_radius_px = 1;
    check("strangers");
    next_frame(0);
    for (int k = 0; k < 10; k++) add(now, before->point[k]);
    assert_int_equal(check("at rest"), 10);
}

/** First frame after a start or reset: no matches, whatever the arena contains, and no velocity from before. */
static void first_frame(void **state)
{
    (void)state;
    shake(14);
    if (VFRONT_KEYPOINTS < 10) skip();
    start();
    for (int k = 0; k < 10; k++) add(before, random_keypoint());
    for (int k = 0; k < 10; k++) add(now, before->point[k]);
    assert_int_equal(check("before the reset"), 10);
    params->frame = 0;
    next_frame(0);
    for (int k = 0; k < 10; k++) add(now, before->point[k]);
    assert_int_equal(check("reset"), 0);
    params->frame = 1;
    next_frame(0);
    for (int k = 0; k < 10; k++) add(now, before->point[k]);
    step.tuning.match_radius_px = 1;
    assert_int_equal(check("after the reset"), 10);
}

/** The stage writes only its own memory, and clears the other set of candidates for the next frame. Switched off, it
 *  writes nothing. */
static void all_else_stays(void **state)
{
    (void)state;
    for (int off = 0; off < 3; off++) {
        shake(15);
        scribble_arena();
        start();
        random_frame(vf_min(40, VFRONT_KEYPOINTS));
        random_frame(vf_min(40, VFRONT_KEYPOINTS));
        put_frame(now, step.parity);
        put_frame(before, step.parity ^ 1);
        vf_match_clear(&memory.match, step.parity, 0, 1);
        for (int i = 0; i < VFRONT_KEYPOINTS; i++) {
            assert_int_equal(memory.match.back[step.parity][i], 0xffffffffu);
            assert_int_equal(memory.match.found[step.parity][i], 0xffffffffu);
            assert_int_equal(memory.match.second[step.parity][i], 256);
        }
        step.tuning.match = off != 1;
        step.tuning.describe = off != 2;
        memcpy(&expected, &memory, sizeof memory);
        RUN(match);
        if (!off) {
            const int32_t set = step.parity;
            struct vf_match_memory *m = &expected.match;
            memcpy(m->back[set], memory.match.back[set], sizeof m->back[0][0] * (size_t)before->count);
            memcpy(m->found[set], memory.match.found[set], sizeof m->found[0][0] * (size_t)now->count);
            memcpy(m->second[set], memory.match.second[set], sizeof m->second[0][0] * (size_t)now->count);
            for (int j = 0; j < before->count; j++) {
                m->expected.x[j] = memory.match.expected.x[j];
                m->expected.y[j] = memory.match.expected.y[j];
                m->expected.z[j] = memory.match.expected.z[j];
                m->expected.reach[j] = memory.match.expected.reach[j];
                m->expected.step[j] = memory.bearing.point[set ^ 1][0][j].step;
            }
            for (int i = 0; i < VFRONT_KEYPOINTS; i++) { /* cleared for the next frame */
                m->back[set ^ 1][i] = m->found[set ^ 1][i] = 0xffffffffu;
                m->second[set ^ 1][i] = 256;
            }
            memcpy(m->before[set], memory.match.before[set], sizeof m->before[0][0] * (size_t)now->count);
            memcpy(m->link[set], memory.match.link[set], sizeof m->link[0][0] * (size_t)now->count);
            m->count = memory.match.count;
            memcpy(m->match, memory.match.match, sizeof *m->match * m->count);
        }
        same_arena("match");
    }
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/** Two images of the same waves, one shifted and with another illumination: the true position of a match is known. */
#define WAVES 12
#define FOCAL_PX 300.0
static double wave[WAVES][3];

static double uniform(double least, double most) { return least + (most - least) * roll(1 << 24) / (1 << 24); }

static void random_waves(void)
{
    for (int k = 0; k < WAVES; k++) {
        const double length_px = uniform(7.0, 40.0), angle = uniform(0.0, 6.283185307179586);
        wave[k][0] = 6.283185307179586 / length_px * cos(angle);
        wave[k][1] = 6.283185307179586 / length_px * sin(angle);
        wave[k][2] = uniform(0.0, 6.283185307179586);
    }
}

static double grey_at(double x, double y)
{
    double sum = 0.0;
    for (int k = 0; k < WAVES; k++) sum += sin(wave[k][0] * x + wave[k][1] * y + wave[k][2]);
    return 110.0 + 16.0 * sum;
}

static void paint(int32_t parity, double dx, double dy, double gain, double offset)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    uint8_t *pixels = memory.ingest.picture[parity][0];
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++)
            pixels[y * l->pitch + x] = (uint8_t)vf_clamp((int32_t)floor(gain * grey_at(x - dx, y - dy) + offset + 0.5),
                                                         0, 255);
    step.parity ^= parity != step.parity;
    RUN(pyramid);
}

/** Adds and subtracts a grey level in a checkerboard of 4x4 px fields, in this frame. */
static void speckle(int32_t grey)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    uint8_t *pixels = memory.ingest.picture[step.parity][0];
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++)
            pixels[y * l->pitch + x] = (uint8_t)vf_clamp(
                pixels[y * l->pitch + x] + ((x / 4 + y / 4) % 2 ? grey : -grey), 0, 255);
}

/** Bearing of a pinhole camera whose principal point is the image's first pixel. */
static void set_pinhole_bearing(struct keypoint *p)
{
    set_unit(p, p->x_q16 / 65536.0 / FOCAL_PX, p->y_q16 / 65536.0 / FOCAL_PX, 1.0);
}

static void make_grid(void)
{
    const int32_t across = step.geometry.nodes_x[0], down = (int32_t)ceil(step.geometry.level[0][0].height / 8.0) + 5;
    for (int32_t j = 0; j < down; j++)
        for (int32_t i = 0; i < across; i++) {
            struct keypoint p;
            p.x_q16 = 8 * (i - 2) * 65536;
            p.y_q16 = 8 * (j - 2) * 65536;
            set_pinhole_bearing(&p);
            memory.bearing.node[0][j * across + i] = (struct vf_node){(float)p.bearing[0], (float)p.bearing[1],
                                                                      (float)p.bearing[2], 1};
        }
}

/** Key point of a level on the pixel that contains a position of level 0. */
static struct keypoint nearest(double x, double y, int32_t level)
{
    struct keypoint p = random_keypoint();
    const double size = size_of(level);
    p.level = level;
    p.orientation = 0;
    p.x_q16 = (int32_t)floor(((floor((x + 0.5) / size) + 0.5) * size - 0.5) * 65536.0 + 0.5);
    p.y_q16 = (int32_t)floor(((floor((y + 0.5) / size) + 0.5) * size - 0.5) * 65536.0 + 0.5);
    set_pinhole_bearing(&p);
    return p;
}

/** Random key points of a level in the previous frame, and this frame's nearest to their true positions, `astray` px
 *  off in x. */
static void put_points(int32_t level, int count, double dx, double dy, double astray)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    now->count = before->count = 0;
    for (int k = 0; k < count; k++) {
        const double margin = 24.0 + fabs(astray);
        struct keypoint was = nearest(uniform(margin, l->width - margin), uniform(margin, l->height - margin), level);
        struct keypoint is = nearest(was.x_q16 / 65536.0 + dx + astray, was.y_q16 / 65536.0 + dy, level);
        is.bits = was.bits;
        if (k % 3 == 0) /* a track that is 4 px away ends */
            was.link = (struct vf_match_link){was.x_q16 + (int32_t)(4.0 * size_of(level) * 65536.0), was.y_q16, 77, 5};
        add(before, was);
        add(now, is);
    }
}

/** Runs the stage on the frames. All pairs must be listed. */
static const vfront_match_t *run(void)
{
    step.tuning.match_ratio_percent = 100;
    params->frame = 5;
    put_frame(now, step.parity);
    put_frame(before, step.parity ^ 1);
    put_matches();
    put_links();
    vf_match_clear(&memory.match, step.parity, 0, 1);
    RUN(match);
    REQUIRE((int)memory.match.count == now->count, "%u of %d pairs", memory.match.count, now->count);
    for (int k = 0; k < now->count; k++) {
        check_unrefined(&memory.match.match[k], "places");
        check_chain(&memory.match.match[k], "places");
        now->point[k].link = memory.match.link[step.parity][k];
    }
    return memory.match.match;
}

static int count_refined(void)
{
    const vfront_match_t *m = run();
    int refined = 0;
    for (int k = 0; k < now->count; k++) refined += m[k].refined;
    return refined;
}

/** Waves that move by (dx, dy), with a change of illumination. */
static void start_places(double dx, double dy, double gain, double offset)
{
    start();
    memset(&memory.match, 0, sizeof memory.match);
    make_grid();
    random_waves();
    paint(step.parity ^ 1, 0.0, 0.0, 1.0, 0.0);
    paint(step.parity ^ 1, dx, dy, gain, offset);
}

#define PLACES (VFRONT_KEYPOINTS < 40 ? VFRONT_KEYPOINTS : 40)

/** Matches of key points of any level are refined to the true position, with its bearing. */
static void places(void **state)
{
    (void)state;
    double square = 0.0, most = 0.0;
    int refined = 0, all = 0;
    shake(30);
    for (int i = 0; i < 40; i++) {
        const double dx = uniform(-6.0, 6.0), dy = uniform(-6.0, 6.0);
        start_places(dx, dy, i % 2 ? 0.85 : 1.0, i % 4 < 2 ? 12.0 : 0.0);
        put_points(i % step.geometry.scales, PLACES, dx, dy, 0.0);
        const vfront_match_t *m = run();
        for (int k = 0; k < now->count; k++) {
            const struct keypoint *was = &before->point[m[k].before];
            const double x = was->x_q16 / 65536.0 + dx, y = was->y_q16 / 65536.0 + dy,
                         off = hypot((double)m[k].x_px - x, (double)m[k].y_px - y);
            struct keypoint there;
            all++;
            if (!m[k].refined) continue;
            refined++;
            square += off * off;
            most = fmax(most, off);
            set_unit(&there, (double)m[k].x_px / FOCAL_PX, (double)m[k].y_px / FOCAL_PX, 1.0);
            for (int c = 0; c < 3; c++)
                REQUIRE(fabs((double)m[k].bearing[c] - there.bearing[c]) < 1e-6, "bearing of pair %d", k);
        }
    }
    print_message("places: %d of %d settled, RMSE %.4f px, %.4f px at most\n", refined, all, sqrt(square / refined),
                  most);
    assert_true(refined * 100 >= all * 97);
    assert_true(sqrt(square / refined) < 0.05 && most < 1.0);
}

/** Key points of this frame nearest to the present positions of the first ones, dx and dy px away. */
static void follow_points(const struct keypoint first[], int count, double dx, double dy)
{
    for (int k = 0; k < count; k++) {
        struct keypoint is = nearest(first[k].x_q16 / 65536.0 + dx, first[k].y_q16 / 65536.0 + dy, first[k].level);
        is.bits = first[k].bits;
        add(now, is);
    }
}

/** A track of matches follows one point: after five frames, in each of which the key points lie differently within
 *  their pixels, it is where the point of the first frame is. */
static void chains(void **state)
{
    (void)state;
    static struct keypoint first[PLACES];
    double square = 0.0;
    int ended = 0, all = 0;
    shake(32);
    for (int i = 0; i < 20; i++) {
        double dx = 0.0, dy = 0.0;
        start_places(0.0, 0.0, 1.0, 0.0);
        put_points(i % step.geometry.scales, PLACES, 0.0, 0.0, 0.0);
        memcpy(first, before->point, sizeof first);
        const vfront_match_t *m = NULL;
        for (uint32_t f = 1; f <= 5; f++) {
            if (f > 1) next_frame(0);
            now->count = 0;
            dx += uniform(-3.0, 3.0), dy += uniform(-3.0, 3.0);
            paint(step.parity, dx, dy, 1.0, 0.0);
            follow_points(first, PLACES, dx, dy);
            m = run();
            for (int k = 0; k < now->count; k++) assert_int_equal(m[k].age, f);
        }
        for (int k = 0; k < now->count; k++) {
            all++;
            if (!m[k].refined) continue;
            ended++;
            const double off_x = (double)m[k].x_px - first[m[k].keypoint].x_q16 / 65536.0 - dx,
                         off_y = (double)m[k].y_px - first[m[k].keypoint].y_q16 / 65536.0 - dy;
            square += off_x * off_x + off_y * off_y;
        }
    }
    print_message("chains: %d of %d settled, RMSE %.4f px after 5 frames\n", ended, all, sqrt(square / ended));
    assert_true(ended * 100 >= all * 90);
    assert_true(sqrt(square / ended) < 0.2);
}

/** Matches whose alignment fails, ends too far away or has too large a residual keep the position of the key point. */
static void stays_unrefined(void **state)
{
    (void)state;
    shake(31);
    start_places(0.3, -0.4, 1.0, 0.0);
    put_points(0, PLACES, 0.3, -0.4, 0.0);
    assert_true(count_refined() * 100 >= now->count * 95);
    put_points(0, PLACES, 0.3, -0.4, 3.0); /* a pixel and more beyond what a key point may be off by */
    assert_true(count_refined() * 10 <= now->count);
    put_points(0, PLACES, 0.3, -0.4, 0.0);
    speckle(12);
    assert_true(count_refined() * 100 >= now->count * 80);
    speckle(60); /* residuals over 20 grey levels */
    assert_true(count_refined() * 20 <= now->count);
    paint(step.parity ^ 1, 0.0, 0.0, 1.0, 0.0);
    random_waves();
    paint(step.parity ^ 1, 0.0, 0.0, 1.0, 0.0); /* another scene */
    assert_true(count_refined() * 20 <= now->count);
    paint(step.parity ^ 1, 0.0, 0.0, 0.0, 90.0);
    paint(step.parity ^ 1, 0.0, 0.0, 0.0, 90.0); /* uniform grey */
    assert_int_equal(count_refined(), 0);
    for (int k = 0; k < now->count; k++) before->point[k].x_q16 = k % 2 ? -65536 * 400 : 65536 * 4000;
    assert_int_equal(count_refined(), 0);
}

/* ---- through the public interface -------------------------------------------------------------------------------- */

enum { WIDE = VFRONT_WIDTH < 320 ? VFRONT_WIDTH : 320, HIGH = VFRONT_HEIGHT < 240 ? VFRONT_HEIGHT : 240 };
static uint8_t world[2 * HIGH][2 * WIDE], picture[HIGH][WIDE];
static vfront_t vf;

static void paint_world(void)
{
    for (int k = 0; k < 2500; k++) {
        const int x0 = roll(2 * WIDE), y0 = roll(2 * HIGH), wide = between(3, 25), high = between(3, 25),
                  grey = roll(256);
        for (int y = y0; y < vf_min(y0 + high, 2 * HIGH); y++)
            for (int x = x0; x < vf_min(x0 + wide, 2 * WIDE); x++) world[y][x] = (uint8_t)grey;
    }
}

/** Frame with the image of a camera at a position of the world; turned: upside down. */
static const vfront_result_t *look(int left, int top, int turned, uint64_t t_ns, const double *R)
{
    const vfront_result_t *result;
    vfront_frame_t f = {.t_ns = t_ns, .R_cur_prev = R};
    for (int y = 0; y < HIGH; y++)
        for (int x = 0; x < WIDE; x++)
            picture[y][x] = world[top + (turned ? HIGH - 1 - y : y)][left + (turned ? WIDE - 1 - x : x)];
    f.picture[0] = (vfront_picture_t){.data = picture, .width_px = WIDE, .height_px = HIGH, .pitch_bytes = WIDE};
    REQUIRE(vfront_step(&vf, &f, &result) == VFRONT_OK, "%s", vfront_detail(&vf));
    return result;
}

static void open_front_end(double focal_px, const char *name, int value)
{
    vfront_rig_t rig = {.cameras = 1};
    vfront_tuning_t t;
    rig.camera[0] = (vfront_camera_t){.width_px = WIDE, .height_px = HIGH, .fx_px = focal_px, .fy_px = focal_px};
    rig.camera[0].cx_px = focal_px > 0.0 ? 0.5 * (WIDE - 1) : 0.0;
    rig.camera[0].cy_px = focal_px > 0.0 ? 0.5 * (HIGH - 1) : 0.0;
    vfront_tuning_default(&t);
    t.track_target = 0;
    if (name) assert_int_equal(vfront_tuning_set(&t, name, value), VFRONT_OK);
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
}

/** Share of the matches [percent] that moved by (dx, dy); turned: to the point-symmetric position. */
static int share_right(const vfront_keypoint_t *was, const vfront_result_t *r, float dx, float dy, int turned)
{
    int right = 0;
    for (uint32_t k = 0; k < r->matches_count; k++) {
        const vfront_keypoint_t *a = &was[r->matches[k].before], *b = &r->keypoints[0][r->matches[k].keypoint];
        const float x = turned ? (float)(WIDE - 1) - a->x_px : a->x_px + dx,
                    y = turned ? (float)(HIGH - 1) - a->y_px : a->y_px + dy;
        const float near_px = 2.0f * (float)scale_ratio(vf_max(a->level, b->level));
        right += fabsf(b->x_px - x) <= near_px && fabsf(b->y_px - y) <= near_px;
    }
    return r->matches_count ? 100 * right / (int)r->matches_count : 0;
}

static void through_front_end(void **state)
{
    (void)state;
    static vfront_keypoint_t was[VFRONT_KEYPOINTS];
    const double upside_down[9] = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
    shake(16);
    paint_world();
    for (int k = 0; k < 6; k++) {
        open_front_end(k % 2 ? 250.0 : 0.0, "match", k < 2 ? VFRONT_MATCH_GUIDED : k < 4 ? VFRONT_MATCH_WHOLE : 0);
        const vfront_result_t *r = look(20, 20, 0, 1, NULL);
        const int points = (int)r->keypoints_count[0];
        assert_int_equal(r->matches_count, 0);
        REQUIRE(points > vf_min(100, VFRONT_KEYPOINTS / 2), "%d points", points);
        memcpy(was, r->keypoints[0], sizeof was);
        r = look(29, 14, 0, 2, NULL);
        if (k >= 4)
            assert_int_equal(r->matches_count, 0);
        else
            REQUIRE((int)r->matches_count > points / 3 && share_right(was, r, -9, 6, 0) >= 90, "case %d: %u pairs", k,
                    r->matches_count);
        assert_int_equal(vfront_reset(&vf), VFRONT_OK);
        assert_int_equal(look(29, 14, 0, 3, NULL)->matches_count, 0);
        vfront_shutdown(&vf);
    }
    for (int given = 0; given < 2; given++) {
        open_front_end(250.0, "match_radius_px", 6);
        const vfront_result_t *r = look(20, 20, 0, 1, NULL);
        const int points = (int)r->keypoints_count[0];
        memcpy(was, r->keypoints[0], sizeof was);
        r = look(20, 20, 1, 2, given ? upside_down : NULL);
        if (given)
            REQUIRE((int)r->matches_count > points / 3 && share_right(was, r, 0, 0, 1) >= 90, "%u pairs",
                    r->matches_count);
        else
            REQUIRE((int)r->matches_count < points / 20, "%u pairs", r->matches_count);
        vfront_shutdown(&vf);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(random_cases),
        cmocka_unit_test(many),
        cmocka_unit_test(few_points),
        cmocka_unit_test(all_equal),
        cmocka_unit_test(ratio),
        cmocka_unit_test(second_best),
        cmocka_unit_test(largest_distance),
        cmocka_unit_test(motion_given),
        cmocka_unit_test(radius_rim),
        cmocka_unit_test(radius_of_levels),
        cmocka_unit_test(levels),
        cmocka_unit_test(camera_rolls),
        cmocka_unit_test(rotation_given),
        cmocka_unit_test(constant_velocity),
        cmocka_unit_test(first_frame),
        cmocka_unit_test(places),
        cmocka_unit_test(chains),
        cmocka_unit_test(stays_unrefined),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(through_front_end),
    };
    return cmocka_run_group_tests_name("match", test, NULL, NULL);
}

#else

int main(void)
{
    print_message("no matches in this config\n");
    return 77;
}

#endif
