/* SPDX-License-Identifier: MIT */
/* match: pairs against a reading of the rule in plain sets: of each point all candidates, in double precision, over points that
 * lie where a test wants them. Expectations are taken from the frames that the test itself made. A case in which a point lies
 * so close to the rim of a window that single precision may see it on either side is thrown away, and counted. */
#include "tests/fixture/stage.h"

#if VFRONT_MATCHES

/* ---- frames, kept apart from the arena --------------------------------------------------------------------------- */

struct seen {
    double bearing[3], going[3];       /* as stored, and where it is expected in the next frame */
    int32_t x_q16, y_q16, level, turn; /* turn: 1/65536 of a whole one */
    vfront_descriptor_t bits;
};
struct frame {
    int32_t count;
    struct seen point[VFRONT_KEYPOINTS];
};
static struct frame frames[2], *now, *before;

static double size_of(int32_t level) { return step.geometry.step_q16[level] / 65536.0; }

static void set_bearing(struct seen *p, double x, double y, double z)
{
    const double v[3] = {x, y, z};
    for (int k = 0; k < 3; k++) p->bearing[k] = p->going[k] = (double)(float)v[k];
}

static void set_unit(struct seen *p, double x, double y, double z)
{
    const double length = sqrt(x * x + y * y + z * z);
    set_bearing(p, x / length, y / length, z / length);
}

static void set_noise(vfront_descriptor_t *d) { scribble(d, sizeof *d); }

/** Flips `count` different bits, from bit `first` on. */
static void flip(vfront_descriptor_t *d, int32_t first, int32_t count)
{
    for (int32_t k = first; k < first + count; k++) d->word[k % 256 / 32] ^= 1u << k % 32;
}

/** A point anywhere in front of the camera. */
static struct seen anywhere(void)
{
    struct seen p;
    memset(&p, 0, sizeof p);
    set_unit(&p, between(-9999, 9999) * 1e-4, between(-9999, 9999) * 1e-4, 1.0);
    p.x_q16 = between(0, 63 << 16);
    p.y_q16 = between(0, 63 << 16);
    p.level = roll(step.geometry.scales);
    p.turn = between(-32768, 32767);
    set_noise(&p.bits);
    return p;
}

/** A frame in which all that is known of the one before is at hand. */
static void next_frame(int32_t count)
{
    struct frame *was = now;
    now = before;
    before = was;
    now->count = count;
    step.parity ^= 1;
}

static void put_side(const struct frame *f, int32_t parity)
{
    memory.bearing.count[parity][0] = (uint32_t)f->count;
    for (int32_t i = 0; i < f->count; i++) {
        const struct seen *p = &f->point[i];
        struct vf_point *to = &memory.bearing.point[parity][0][i];
        for (int k = 0; k < 3; k++) to->bearing[k] = (float)p->bearing[k];
        to->x_q16 = p->x_q16;
        to->y_q16 = p->y_q16;
        to->level = p->level;
        to->step = (float)size_of(p->level);
        memory.describe.angle[parity][0][i] = (float)(p->turn * 6.283185307179586 / 65536.0);
        memory.describe.descriptor[parity][0][i] = p->bits;
    }
}

/** Says where the points of the frame before are expected, as if the stage had found it out. */
static void settle(void)
{
    for (int32_t i = 0; i < before->count; i++)
        for (int k = 0; k < 3; k++) memory.match.expected[step.parity ^ 1][i][k] = (float)before->point[i].going[k];
}

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

static struct vf_params *params;
static uint64_t pairs_listed, pairs_dropped, cases_thrown, cases_run;

static int distance_of(const struct seen *a, const struct seen *b)
{
    int bits = 0;
    for (int k = 0; k < 8; k++) bits += __builtin_popcount(a->bits.word[k] ^ b->bits.word[k]);
    return bits;
}

/** How far a point is from where one of the frame before is expected, in pixels, less the window on their coarser level. */
static double beyond(const struct seen *a, const struct seen *b)
{
    const double step_px = fmax(size_of(a->level), size_of(b->level));
    double square = 0.0;
    for (int k = 0; k < 3; k++) {
        double at = b->going[k];
        if (params->rotation_given) {
            at = 0.0;
            for (int c = 0; c < 3; c++) at += (double)params->R[3 * k + c] * b->bearing[c];
        }
        square += (a->bearing[k] - at) * (a->bearing[k] - at);
    }
    return sqrt(square) * (double)step.geometry.focal_px[0] - step.tuning.match_window_px * step_px;
}

static int unsure; /* whether a decision of the case is too close */

static int is_candidate(const struct seen *a, const struct seen *b)
{
    if (abs(a->level - b->level) > step.tuning.match_levels) return 0;
    if (!step.tuning.match_guided) return 1;
    const double off = beyond(a, b);
    unsure |= fabs(off) < 1e-6 * (double)step.geometry.focal_px[0];
    return off <= 0.0;
}

static int is_elsewhere(const struct seen *best, const struct seen *other)
{
    const double near = 4.0 * fmax(size_of(best->level), size_of(other->level));
    return fmax(abs(best->x_q16 - other->x_q16), abs(best->y_q16 - other->y_q16)) / 65536.0 > near;
}

/** The best of a list for a point of the other, -1: none. Which of the two frames is looked at from which does not matter. */
static int best_for(const struct frame *list, const struct seen *p, int p_is_now)
{
    int best = -1, least = step.tuning.match_distance + 1;
    for (int k = 0; k < list->count; k++) {
        const struct seen *q = &list->point[k];
        const int distance = distance_of(p, q);
        if (distance >= least || !(p_is_now ? is_candidate(p, q) : is_candidate(q, p))) continue;
        best = k;
        least = distance;
    }
    return best;
}

static int second_for(const struct seen *p, const struct seen *best)
{
    int least = 256;
    for (int j = 0; j < before->count; j++)
        if (is_candidate(p, &before->point[j]) && is_elsewhere(best, &before->point[j]))
            least = vf_min(least, distance_of(p, &before->point[j]));
    return least;
}

struct pair {
    int i, j, distance, second, turned;
};
static struct pair should[VFRONT_KEYPOINTS];

/** Pairs of points that are each other's best and stand out. */
static int find_pairs(void)
{
    static int back[VFRONT_KEYPOINTS];
    int count = 0;
    for (int j = 0; j < before->count; j++) back[j] = best_for(now, &before->point[j], 0);
    for (int i = 0; i < now->count; i++) {
        const struct seen *p = &now->point[i];
        const int j = best_for(before, p, 1);
        if (j < 0 || back[j] != i) continue;
        const int distance = distance_of(p, &before->point[j]), second = second_for(p, &before->point[j]);
        if (step.tuning.match_ratio_percent < 100 &&
            distance / 1.0 > second * step.tuning.match_ratio_percent / 100.0 + 1e-9)
            continue;
        should[count++] = (struct pair){i, j, distance, second, (p->turn - before->point[j].turn) & 65535};
    }
    return count;
}

static double apart(double a, double b, double whole)
{
    const double d = fmod(fabs(a - b), whole);
    return fmin(d, whole - d);
}

/** The 256th of a turn about which most pairs turned, each counted less the farther it is from it, up to 21 of them. */
static int turn_of(int count)
{
    int best = 0;
    double most = 0.0;
    for (int top = 0; top < 256; top++) {
        double sum = 0.0;
        for (int k = 0; k < count; k++)
            sum += fmax(0.0, 21.0 - apart(floor(should[k].turned / 256.0 + 0.5), top, 256.0));
        if (sum > most) {
            most = sum;
            best = top;
        }
    }
    return best;
}

static int drop_turned(int count)
{
    const int top = turn_of(count);
    int kept = 0;
    for (int k = 0; k < count; k++)
        if (apart(should[k].turned, 256.0 * top, 65536.0) * 360.0 / 65536.0 <= step.tuning.match_turn_deg)
            should[kept++] = should[k];
    pairs_dropped += (uint64_t)(count - kept);
    return kept;
}

/** Where the points of this frame go on to, from the pairs. */
static void go_on(int count)
{
    for (int i = 0; i < now->count; i++) memcpy(now->point[i].going, now->point[i].bearing, sizeof now->point[i].going);
    for (int k = 0; k < count; k++) {
        struct seen *p = &now->point[should[k].i];
        const double *was = before->point[should[k].j].bearing;
        double length = 0.0;
        for (int c = 0; c < 3; c++) length += (2 * p->bearing[c] - was[c]) * (2 * p->bearing[c] - was[c]);
        for (int c = 0; c < 3; c++) p->going[c] = (2 * p->bearing[c] - was[c]) / sqrt(length);
    }
}

/** A match that has not settled lies where its key point does. */
static void check_unsettled(const vfront_match_t *is, const char *what)
{
    const struct seen *p = &now->point[is->keypoint];
    if (is->settled) return;
    REQUIRE((double)is->x_px == (float)(p->x_q16 / 65536.0) && (double)is->y_px == (float)(p->y_q16 / 65536.0),
            "%s: place", what);
    for (int c = 0; c < 3; c++) REQUIRE((double)is->bearing[c] == p->bearing[c], "%s: bearing", what);
}

/** Runs the stage on both frames and compares. Returns how many pairs there are, -1: the case was thrown away. */
static int check(const char *what)
{
    const struct vf_match_memory *m = &memory.match;
    put_side(now, step.parity);
    put_side(before, step.parity ^ 1);
    vf_bearing_forget(&step, 0, 1);
    vf_match_host(&step);
    unsure = 0;
    const int count = params->frame ? drop_turned(find_pairs()) : 0;
    go_on(count);
    cases_thrown += (uint64_t)unsure;
    if (unsure) return -1;
    cases_run++;
    pairs_listed += (uint64_t)count;
    REQUIRE((int)m->count == count, "%s: %u pairs, should be %d", what, m->count, count);
    for (int k = 0; k < count; k++) {
        const vfront_match_t *is = &m->match[k];
        const struct pair *p = &should[k];
        REQUIRE(is->keypoint == p->i && is->before == p->j && is->distance == p->distance && is->second == p->second,
                "%s: pair %d is %d %d %d %d, should be %d %d %d %d", what, k, is->keypoint, is->before, is->distance,
                is->second, p->i, p->j, p->distance, p->second);
        check_unsettled(is, what);
    }
    for (int i = 0; i < now->count; i++)
        for (int c = 0; c < 3; c++)
            REQUIRE(fabs((double)m->expected[step.parity][i][c] - now->point[i].going[c]) < 5e-7,
                    "%s: expectation of point %d", what, i);
    return count;
}

/** An empty pair of frames; window and levels such that all are candidates. */
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
    step.tuning.match_window_px = 4096;
    step.tuning.match_levels = 7;
}

static int add(struct frame *f, struct seen p)
{
    f->point[f->count] = p;
    return f->count++;
}

static void set_rotation(int axis, double angle)
{
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    for (int k = 0; k < 9; k++) params->R[k] = k % 4 == 0 ? 1.0f : 0.0f;
    params->R[4 * a] = params->R[4 * b] = (float)cos(angle);
    params->R[3 * b + a] = (float)sin(angle);
    params->R[3 * a + b] = -params->R[3 * b + a];
    params->rotation_given = 1;
}

/* ---- random cases ------------------------------------------------------------------------------------------------ */

static void random_tuning(void)
{
    vfront_tuning_t *t = &step.tuning;
    t->match_guided = roll(4) > 0;
    t->match_window_px = roll(8) ? between(5, 150) : between(1, 4096);
    t->match_distance = roll(3) ? between(50, 120) : between(0, 256);
    t->match_ratio_percent = roll(3) ? between(75, 100) : between(1, 100);
    t->match_turn_deg = roll(3) ? between(5, 60) : between(1, 180);
    t->match_levels = roll(8);
    step.geometry.focal_px[0] = (float)between(100, 900);
}

/** A point where one of the frame before is expected, more or less, that looks like it, more or less. */
static struct seen like(const struct seen *b, int roll_of_all)
{
    struct seen p = anywhere();
    const double spread = between(0, 40) * 1e-3;
    set_unit(&p, b->going[0] + spread * between(-99, 99) * 1e-2, b->going[1] + spread * between(-99, 99) * 1e-2,
             b->going[2]);
    p.bits = b->bits;
    flip(&p.bits, roll(256), roll(70));
    p.level = vf_clamp(b->level + between(-1, 1), 0, step.geometry.scales - 1);
    p.x_q16 = b->x_q16 + between(-400000, 400000);
    p.y_q16 = b->y_q16 + between(-400000, 400000);
    p.turn = (int16_t)(b->turn + roll_of_all + between(-5600, 5600));
    return p;
}

static void random_frame(int32_t count)
{
    const int roll_of_all = between(-32768, 32767);
    next_frame(0);
    while (now->count < count) {
        const int of = before->count ? roll(before->count) : -1;
        const int kind = roll(10);
        if (of >= 0 && kind < 7)
            add(now, like(&before->point[of], roll_of_all));
        else if (of >= 0 && kind < 8)
            add(now, before->point[of]);
        else if (now->count && kind < 9)
            add(now, now->point[roll(now->count)]);
        else
            add(now, anywhere());
    }
}

static void random_cases(void **state)
{
    (void)state;
    uint64_t before_thrown = cases_thrown;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        shake(seed);
        start();
        random_tuning();
        params->frame = 0;
        for (int k = 0; k < 4; k++, params->frame++) {
            char what[64];
            random_frame(roll(10) ? between(0, vf_min(50, VFRONT_KEYPOINTS)) : roll(3));
            params->rotation_given = 0;
            if (roll(3) == 0) set_rotation(roll(3), between(-500, 500) * 1e-3);
            snprintf(what, sizeof what, "seed %d, frame %d", (int)seed, k);
            check(what);
        }
    }
    print_message("%d cases, %d thrown away, %d pairs, %d dropped by their turn\n", (int)cases_run,
                  (int)(cases_thrown - before_thrown), (int)pairs_listed, (int)pairs_dropped);
    REQUIRE(cases_run > 7900 && pairs_listed > 15000 && pairs_dropped > 1000, "too little was tested");
}

/** As many points as there can be: on a lattice, none of which lies near the rim of a window. */
static void many(void **state)
{
    (void)state;
    for (int guided = 0; guided < 2; guided++) {
        shake(77 + (uint64_t)guided);
        start();
        step.tuning.match_guided = guided;
        step.tuning.match_window_px = 10;
        step.geometry.focal_px[0] = (float)(10.0 * 64.0 / sqrt(40.5));
        const int32_t most = vf_min(VFRONT_KEYPOINTS, 2048);
        for (int k = 0; k < 2; k++) {
            next_frame(0);
            while (now->count < most - k) {
                const int known = k && roll(5);
                struct seen p = known ? before->point[roll(before->count)] : anywhere();
                if (guided) p.level = 0;
                if (known)
                    set_bearing(&p, p.bearing[0] + between(-5, 5) / 64.0, p.bearing[1] + between(-5, 5) / 64.0, 1.0);
                else
                    set_bearing(&p, between(-60, 60) / 64.0, between(-60, 60) / 64.0, 1.0);
                flip(&p.bits, roll(256), roll(50));
                add(now, p);
            }
        }
        settle();
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
                step.tuning.match_guided = guided;
                for (int k = 0; k < a && k < VFRONT_KEYPOINTS; k++) add(now, anywhere());
                for (int k = 0; k < b && k < VFRONT_KEYPOINTS; k++) add(before, k < a ? now->point[k] : anywhere());
                REQUIRE(check("few") == vf_min(a, b), "%d and %d points", a, b);
                if (a == 1 && b == 1) assert_int_equal(memory.match.match[0].second, 256);
            }
}

/** All alike: the first of each. */
static void all_equal(void **state)
{
    (void)state;
    const int32_t count = vf_min(150, VFRONT_KEYPOINTS);
    shake(4);
    for (int apart_px = 0; apart_px < 10; apart_px += 9) {
        start();
        const struct seen one = anywhere();
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

/** One point, its partner with `distance` bits of difference, and another with `second`, so many Q16 px away. */
static int pair_beside(int distance, int second, int32_t away_x, int32_t away_y)
{
    start();
    const struct seen p = anywhere();
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

/** What lies within 4 px of the partner is no second best, along either axis; what is not a candidate is none, either. */
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
    step.tuning.match_window_px = 30;
    set_bearing(&before->point[1], now->point[0].bearing[0] + 0.2, now->point[0].bearing[1], now->point[0].bearing[2]);
    settle();
    assert_int_equal(check("second outside the window"), 1);
    step.tuning.match_window_px = 90;
    assert_int_equal(check("second inside the window"), 0);
    pair_beside(60, 80, 30 << 16, 0); /* over the bound of a partner, and still a second */
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
            add(now, anywhere());
            add(before, now->point[0]);
            flip(&before->point[0].bits, 0, distance);
            REQUIRE(check("distance") == (distance <= most), "%d of %d bits", distance, most);
        }
}

/** Exactly on the rim of the window, in numbers without rounding. */
static void window_rim(void **state)
{
    (void)state;
    shake(8);
    for (int axis = 0; axis < 3; axis++)
        for (int sign = -1; sign < 2; sign += 2)
            for (int out = 0; out < 2; out++) {
                start();
                step.geometry.focal_px[0] = 64.0f;
                step.tuning.match_window_px = 16;
                step.tuning.match_guided = 1;
                struct seen p = anywhere();
                p.level = 0;
                set_bearing(&p, 0.0, 0.0, 0.0);
                add(before, p);
                p.bearing[axis] = sign * (0.25 + out * ldexp(1.0, -22));
                add(now, p);
                put_side(now, step.parity);
                put_side(before, step.parity ^ 1);
                memset(memory.match.expected, 0, sizeof memory.match.expected);
                vf_bearing_forget(&step, 0, 1);
                vf_match_host(&step);
                REQUIRE((int)memory.match.count == !out, "axis %d", axis);
            }
}

/** The window is that of the coarser level, whichever frame has it. */
static void window_of_levels(void **state)
{
    (void)state;
    shake(9);
    const int32_t last = vf_min(step.geometry.scales, VFRONT_SCALES) - 1;
    for (int32_t a = 0; a <= last; a++)
        for (int32_t b = 0; b <= last; b++)
            for (int out = 0; out < 2; out++) {
                start();
                step.tuning.match_guided = 1;
                step.tuning.match_window_px = 10;
                struct seen p = anywhere();
                set_bearing(&p, 0.1, -0.2, 0.97);
                p.level = a;
                add(before, p);
                settle();
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
                    step.tuning.match_guided = guided;
                    step.tuning.match_levels = most;
                    struct seen p = anywhere();
                    p.level = a;
                    add(now, p);
                    p.level = b;
                    add(before, p);
                    REQUIRE(check("levels") == (abs(a - b) <= most), "levels %d and %d", a, b);
                }
}

/** Pairs, all of whose orientations turned by `turn`; the last by `more` besides. Returns how many pairs there are. */
static int rolled(int32_t count, int32_t turn, int32_t more)
{
    start();
    for (int k = 0; k < count; k++) {
        struct seen p = anywhere();
        add(before, p);
        p.turn = (int16_t)(p.turn + turn + (k == count - 1 ? more : 0));
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
    assert_int_equal(rolled(1, 12345, 0), 1); /* alone it is the turn of the picture */
    for (int32_t scattered = 0; scattered < 2; scattered++) {
        start();
        step.tuning.match_turn_deg = 180;
        for (int k = 0; k < 20; k++) {
            struct seen p = anywhere();
            add(before, p);
            p.turn = (int16_t)between(-32768, 32767);
            add(now, p);
        }
        assert_int_equal(check("any turn"), 20);
    }
}

/** With a rotation, partners lie where it takes them, also those that moved otherwise before. */
static void rotation_given(void **state)
{
    (void)state;
    shake(12);
    if (VFRONT_KEYPOINTS < 10) skip();
    for (int axis = 0; axis < 3; axis++)
        for (int given = 0; given < 2; given++) {
            start();
            step.tuning.match_guided = 1;
            step.tuning.match_window_px = 4;
            set_rotation(axis, 0.35);
            for (int k = 0; k < 10; k++) {
                struct seen p = anywhere();
                set_unit(&p, 0.4 + 0.01 * k, 0.3 - 0.02 * k, 1.0);
                add(before, p);
                double to[3] = {0, 0, 0};
                for (int c = 0; c < 9; c++) to[c / 3] += (double)params->R[c] * p.bearing[c % 3];
                set_unit(&p, to[0], to[1], to[2]);
                add(now, p);
            }
            params->rotation_given = given;
            for (int k = 0; k < 10; k++) {
                const double there[3] = {0.0, (double)0.6f, (double)0.8f};
                memcpy(before->point[k].going, there, sizeof there);
            }
            settle();
            assert_int_equal(check("rotation"), given ? 10 : 0);
        }
}

/** A point that goes on as before is found in a small window from the third frame on; one that was not seen before is not. */
static void constant_velocity(void **state)
{
    (void)state;
    shake(13);
    if (VFRONT_KEYPOINTS < 10) skip();
    start();
    struct seen p[10];
    step.tuning.match_guided = 1;
    for (int k = 0; k < 10; k++) p[k] = anywhere();
    for (int frame = 0; frame < 6; frame++) {
        params->frame = (uint64_t)frame;
        next_frame(0);
        for (int k = 0; k < 10; k++) {
            set_unit(&p[k], 0.05 * k - 0.2 + 0.06 * frame, 0.03 * k - 0.05 * frame, 1.0);
            if (frame != 3 || k % 2) add(now, p[k]);
        }
        /* moves of 0.08 are up to 24 px; second differences are below 1.5 px */
        step.tuning.match_window_px = frame == 1 || frame == 4 ? 30 : 4;
        const int seen = check("velocity");
        const int expected_pairs[6] = {0, 10, 10, 5, 5, 5};
        REQUIRE(seen == expected_pairs[frame], "frame %d: %d pairs", frame, seen);
    }
    params->frame = 9; /* those without a partner in the frame before stay where they were */
    next_frame(0);
    for (int k = 0; k < 10; k++) add(now, anywhere());
    step.tuning.match_window_px = 1;
    check("strangers");
    next_frame(0);
    for (int k = 0; k < 10; k++) add(now, before->point[k]);
    assert_int_equal(check("at rest"), 10);
}

/** Nothing in the first frame after a start or a reset, whatever lies in the arena; and no motion from before it. */
static void first_frame(void **state)
{
    (void)state;
    shake(14);
    if (VFRONT_KEYPOINTS < 10) skip();
    start();
    for (int k = 0; k < 10; k++) add(before, anywhere());
    for (int k = 0; k < 10; k++) add(now, before->point[k]);
    assert_int_equal(check("before the reset"), 10);
    params->frame = 0;
    next_frame(0);
    for (int k = 0; k < 10; k++) add(now, before->point[k]);
    assert_int_equal(check("reset"), 0);
    params->frame = 1;
    next_frame(0);
    for (int k = 0; k < 10; k++) add(now, before->point[k]);
    step.tuning.match_window_px = 1;
    assert_int_equal(check("after the reset"), 10);
}

/** The stage writes what it owns and nothing else; switched off, not even that. */
static void all_else_stays(void **state)
{
    (void)state;
    for (int off = 0; off < 3; off++) {
        shake(15);
        scribble_arena();
        start();
        random_frame(vf_min(40, VFRONT_KEYPOINTS));
        random_frame(vf_min(40, VFRONT_KEYPOINTS));
        put_side(now, step.parity);
        put_side(before, step.parity ^ 1);
        vf_bearing_forget(&step, 0, 1);
        for (int i = 0; i < VFRONT_KEYPOINTS; i++) {
            assert_int_equal(memory.match.back[i], 0xffffffffu);
            assert_int_equal(memory.match.found[i], 0xffffffffu);
            assert_int_equal(memory.match.second[i], 256);
        }
        step.tuning.match = off != 1;
        step.tuning.describe = off != 2;
        memcpy(&expected, &memory, sizeof memory);
        vf_match_host(&step);
        if (!off) {
            struct vf_match_memory *m = &expected.match;
            memcpy(m->back, memory.match.back, sizeof *m->back * (size_t)before->count);
            memcpy(m->found, memory.match.found, sizeof *m->found * (size_t)now->count);
            memcpy(m->second, memory.match.second, sizeof *m->second * (size_t)now->count);
            memcpy(m->expected[step.parity], memory.match.expected[step.parity],
                   sizeof m->expected[0][0] * (size_t)now->count);
            m->count = memory.match.count;
            memcpy(m->match, memory.match.match, sizeof *m->match * m->count);
        }
        same_arena("match");
    }
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/** Two pictures of the same waves, one of which has moved and has other light: where a match should settle is known to any digit. */
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
    uint8_t *pixels = vf_level_pixels(&step, parity, 0, 0);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++)
            pixels[y * l->pitch + x] = (uint8_t)vf_clamp((int32_t)floor(gain * grey_at(x - dx, y - dy) + offset + 0.5),
                                                         0, 255);
    step.parity ^= parity != step.parity;
    vf_pyramid_host(&step);
}

/** Changes the pixels of this frame by as much, up and down in turns, four by four. */
static void speckle(int32_t grey)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    uint8_t *pixels = vf_level_pixels(&step, step.parity, 0, 0);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++)
            pixels[y * l->pitch + x] = (uint8_t)vf_clamp(
                pixels[y * l->pitch + x] + ((x / 4 + y / 4) % 2 ? grey : -grey), 0, 255);
}

/** Bearing of a pinhole in whose middle the picture's first pixel lies. */
static void see(struct seen *p) { set_unit(p, p->x_q16 / 65536.0 / FOCAL_PX, p->y_q16 / 65536.0 / FOCAL_PX, 1.0); }

static void make_grid(void)
{
    const int32_t across = step.geometry.nodes_x[0], down = (int32_t)ceil(step.geometry.level[0][0].height / 8.0) + 5;
    for (int32_t j = 0; j < down; j++)
        for (int32_t i = 0; i < across; i++) {
            struct seen p;
            p.x_q16 = 8 * (i - 2) * 65536;
            p.y_q16 = 8 * (j - 2) * 65536;
            see(&p);
            memory.bearing.node[0][j * across + i] = (struct vf_node){(float)p.bearing[0], (float)p.bearing[1],
                                                                      (float)p.bearing[2], 1};
        }
}

/** The point of a level whose pixel a place of level 0 lies in. */
static struct seen nearest(double x, double y, int32_t level)
{
    struct seen p = anywhere();
    const double size = size_of(level);
    p.level = level;
    p.turn = 0;
    p.x_q16 = (int32_t)floor(((floor((x + 0.5) / size) + 0.5) * size - 0.5) * 65536.0 + 0.5);
    p.y_q16 = (int32_t)floor(((floor((y + 0.5) / size) + 0.5) * size - 0.5) * 65536.0 + 0.5);
    see(&p);
    return p;
}

/** Points of a level anywhere in the frame before, and those of this one next to where they have gone, `astray` px off that. */
static void put_points(int32_t level, int count, double dx, double dy, double astray)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    now->count = before->count = 0;
    for (int k = 0; k < count; k++) {
        const double margin = 24.0 + fabs(astray);
        struct seen was = nearest(uniform(margin, l->width - margin), uniform(margin, l->height - margin), level);
        struct seen is = nearest(was.x_q16 / 65536.0 + dx + astray, was.y_q16 / 65536.0 + dy, level);
        is.bits = was.bits;
        add(before, was);
        add(now, is);
    }
}

/** Runs the stage on what is there, all pairs of which it must list. */
static const vfront_match_t *run(void)
{
    step.tuning.match_ratio_percent = 100;
    params->frame = 5;
    put_side(now, step.parity);
    put_side(before, step.parity ^ 1);
    settle();
    vf_bearing_forget(&step, 0, 1);
    vf_match_host(&step);
    REQUIRE((int)memory.match.count == now->count, "%u of %d pairs", memory.match.count, now->count);
    for (int k = 0; k < now->count; k++) check_unsettled(&memory.match.match[k], "places");
    return memory.match.match;
}

static int count_settled(void)
{
    const vfront_match_t *m = run();
    int settled = 0;
    for (int k = 0; k < now->count; k++) settled += m[k].settled;
    return settled;
}

/** Waves that move by (dx, dy), with a change of light. */
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

/** From key points of any level, matches settle where the waves have gone; their bearings are those of that place. */
static void places(void **state)
{
    (void)state;
    double square = 0.0, most = 0.0;
    int settled = 0, all = 0;
    shake(30);
    for (int i = 0; i < 40; i++) {
        const double dx = uniform(-6.0, 6.0), dy = uniform(-6.0, 6.0);
        start_places(dx, dy, i % 2 ? 0.85 : 1.0, i % 4 < 2 ? 12.0 : 0.0);
        put_points(i % step.geometry.scales, PLACES, dx, dy, 0.0);
        const vfront_match_t *m = run();
        for (int k = 0; k < now->count; k++) {
            const struct seen *was = &before->point[m[k].before];
            const double x = was->x_q16 / 65536.0 + dx, y = was->y_q16 / 65536.0 + dy,
                         off = hypot((double)m[k].x_px - x, (double)m[k].y_px - y);
            struct seen seen;
            all++;
            if (!m[k].settled) continue;
            settled++;
            square += off * off;
            most = fmax(most, off);
            set_unit(&seen, (double)m[k].x_px / FOCAL_PX, (double)m[k].y_px / FOCAL_PX, 1.0);
            for (int c = 0; c < 3; c++)
                REQUIRE(fabs((double)m[k].bearing[c] - seen.bearing[c]) < 1e-6, "bearing of pair %d", k);
        }
    }
    print_message("places: %d of %d settled, RMSE %.4f px, %.4f px at most\n", settled, all, sqrt(square / settled),
                  most);
    assert_true(settled * 100 >= all * 97);
    assert_true(sqrt(square / settled) < 0.05 && most < 1.0);
}

/** What cannot be found, or only too far away, or need not, stays where the key point is. */
static void stays_unsettled(void **state)
{
    (void)state;
    shake(31);
    start_places(0.3, -0.4, 1.0, 0.0);
    put_points(0, PLACES, 0.3, -0.4, 0.0);
    assert_true(count_settled() * 100 >= now->count * 95);
    step.tuning.match_settle = 0;
    assert_int_equal(count_settled(), 0);
    step.tuning.match_settle = 1;
    put_points(0, PLACES, 0.3, -0.4, 3.0); /* a pixel and more beyond what a key point may be off by */
    assert_true(count_settled() * 10 <= now->count);
    put_points(0, PLACES, 0.3, -0.4, 0.0);
    speckle(12);
    step.tuning.track_residual_grey = 40;
    assert_true(count_settled() * 100 >= now->count * 80);
    step.tuning.track_residual_grey = 4;
    assert_int_equal(count_settled(), 0);
    paint(step.parity ^ 1, 0.0, 0.0, 1.0, 0.0);
    random_waves();
    paint(step.parity ^ 1, 0.0, 0.0, 1.0, 0.0); /* something else */
    assert_int_equal(count_settled(), 0);
    paint(step.parity ^ 1, 0.0, 0.0, 0.0, 90.0);
    paint(step.parity ^ 1, 0.0, 0.0, 0.0, 90.0); /* nothing to be seen */
    assert_int_equal(count_settled(), 0);
    for (int k = 0; k < now->count; k++) before->point[k].x_q16 = k % 2 ? -65536 * 400 : 65536 * 4000;
    assert_int_equal(count_settled(), 0);
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

/** What a camera sees at a place of the world; turned: upside down. */
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

/** Share of the pairs, in percent, that moved by so much; turned: to the opposite place. */
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
        open_front_end(k % 2 ? 250.0 : 0.0, k < 4 ? "match_guided" : "match", k < 2 ? 1 : 0);
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
        open_front_end(250.0, "match_window_px", 6);
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
        cmocka_unit_test(window_rim),
        cmocka_unit_test(window_of_levels),
        cmocka_unit_test(levels),
        cmocka_unit_test(camera_rolls),
        cmocka_unit_test(rotation_given),
        cmocka_unit_test(constant_velocity),
        cmocka_unit_test(first_frame),
        cmocka_unit_test(places),
        cmocka_unit_test(stays_unsettled),
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
