/* SPDX-License-Identifier: MIT */
/* P3P solver against all solutions by brute force in long double. The first distance is sampled over its whole range.
 * The other two follow from two sides of the triangle with either sign of their roots. Sign changes of the error of the
 * third side bracket the solutions. The oracle solves the same rounded input. Prints the share of problems with every
 * solution found. Usage: perspective [--problems N] */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "geometry/perspective.h"
#include "tests/fixture/random.h"

typedef long double real;

static int problems = 1500;
static double between(double least, double most) { return least + (most - least) * (double)(roll64() >> 11) * 0x1p-53; }

static struct {
    float point[3][3], bearing[3][3];
    real R[9], t[3];
} given;

/** Kind of problem: tangent of half the field of view, rotation up to turn_rad about each axis, translation up to
 *  `way`; points at depths 2 to 10. */
struct kind {
    const char *name;
    double half_view, turn_rad, baseline;
};
static const struct kind kinds[] = {
    {"wide view", 1.0, 0.5, 1.0}, {"in flight", 1.0, 0.1, 0.1}, {"narrow view", 0.1, 0.2, 0.5}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/** Rotation matrix of a rotation vector (Rodrigues). */
static void rotation_of(const real w[3], real R[9])
{
    const real angle = sqrtl(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) + 1e-30L, s = sinl(angle) / angle,
               v = (1 - cosl(angle)) / (angle * angle);
    const real K[9] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            real kk = 0;
            for (int k = 0; k < 3; k++) kk += K[3 * r + k] * K[3 * k + c];
            R[3 * r + c] = (r == c) + s * K[3 * r + c] + v * kk;
        }
}

static void give(const struct kind *kind)
{
    const real w[3] = {between(-1, 1) * kind->turn_rad, between(-1, 1) * kind->turn_rad,
                       between(-1, 1) * kind->turn_rad};
    rotation_of(w, given.R);
    for (int k = 0; k < 3; k++) given.t[k] = between(-1, 1) * kind->baseline;
    for (int i = 0; i < 3; i++) {
        const double depth = between(2, 10);
        real now[3], square = 0;
        given.point[i][0] = (float)(between(-1, 1) * kind->half_view * depth);
        given.point[i][1] = (float)(between(-1, 1) * kind->half_view * depth);
        given.point[i][2] = (float)depth;
        for (int k = 0; k < 3; k++) {
            now[k] = given.R[3 * k] * given.point[i][0] + given.R[3 * k + 1] * given.point[i][1] +
                     given.R[3 * k + 2] * given.point[i][2] + given.t[k];
            square += now[k] * now[k];
        }
        for (int k = 0; k < 3; k++) given.bearing[i][k] = (float)(now[k] / sqrtl(square));
    }
}

/* ---- the oracle -------------------------------------------------------------------------------------------------- */

struct solutions {
    int count;
    real s[16][3];
};

static real unit[3][3], side[3], cosine[3], sine[3]; /* element k belongs to the side opposite of point k */

static void measure(void)
{
    for (int i = 0; i < 3; i++) {
        real square = 0;
        for (int k = 0; k < 3; k++) square += (real)given.bearing[i][k] * given.bearing[i][k];
        for (int k = 0; k < 3; k++) unit[i][k] = given.bearing[i][k] / sqrtl(square);
    }
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        real square = 0, apart = 0, cross = 0;
        for (int c = 0; c < 3; c++) {
            const real d = (real)given.point[i][c] - given.point[j][c],
                       e = unit[i][(c + 1) % 3] * unit[j][(c + 2) % 3] - unit[i][(c + 2) % 3] * unit[j][(c + 1) % 3];
            square += d * d;
            apart += unit[i][c] * unit[j][c];
            cross += e * e;
        }
        side[k] = sqrtl(square);
        cosine[k] = apart;
        sine[k] = sqrtl(cross);
    }
}

/** Distances 1 and 2 for distance 0 = most sin(angle), on one of four branches. Returns the error of the squared third
 *  side. */
static real differs(real angle, real most, int branch, real s[3])
{
    const real first = most * sinl(angle), h1 = side[2] * side[2] - first * first * sine[2] * sine[2],
               h2 = side[1] * side[1] - first * first * sine[1] * sine[1];
    s[0] = first;
    s[1] = first * cosine[2] + (branch & 1 ? -1 : 1) * sqrtl(h1 > 0 ? h1 : 0);
    s[2] = first * cosine[1] + (branch & 2 ? -1 : 1) * sqrtl(h2 > 0 ? h2 : 0);
    return s[1] * s[1] + s[2] * s[2] - 2 * s[1] * s[2] * cosine[0] - side[0] * side[0];
}

static void solve_all(struct solutions *found)
{
    enum { PLACES = 1000 };
    measure();
    const real most = fminl(side[2] / sine[2], side[1] / sine[1]), quarter = 1.57079632679489661923L;
    found->count = 0;
    for (int branch = 0; branch < 4; branch++) {
        real s[3], before = differs(0, most, branch, s);
        for (int i = 1; i <= PLACES; i++) {
            real least = quarter * (i - 1) / PLACES, greatest = quarter * i / PLACES;
            const real now = differs(greatest, most, branch, s);
            if ((before < 0) != (now < 0)) {
                for (int step = 0; step < 70; step++) {
                    const real middle = (least + greatest) / 2;
                    if ((differs(middle, most, branch, s) < 0) == (before < 0))
                        least = middle;
                    else
                        greatest = middle;
                }
                differs(least, most, branch, s);
                if (s[0] > 1e-9L && s[1] > 1e-9L && s[2] > 1e-9L && found->count < 16)
                    memcpy(found->s[found->count++], s, sizeof s);
            }
            before = now;
        }
    }
}

/* ---- success rates ----------------------------------------------------------------------------------------------- */

static struct vf_perspective_scratch work;

static int solve(struct vf_pose pose[4])
{
    return vf_perspective_three(&work, (const float(*)[3])given.point, (const float(*)[3])given.bearing, pose);
}

/** Largest error of the transformed points, relative to the largest distance. */
static real off_by(const struct vf_pose *pose, const real s[3])
{
    real off = 0, size = fmaxl(s[0], fmaxl(s[1], s[2]));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            const real at = (real)pose->R[3 * k] * given.point[i][0] + (real)pose->R[3 * k + 1] * given.point[i][1] +
                            (real)pose->R[3 * k + 2] * given.point[i][2] + pose->t[k];
            off = fmaxl(off, fabsl(at - s[i] * unit[i][k]) / size);
        }
    return off;
}

static void is_rotation(const float R[9])
{
    for (int r = 0; r < 3; r++) {
        const int u = (r + 1) % 3, v = (r + 2) % 3;
        for (int c = 0; c < 3; c++) {
            const double dot = (double)R[3 * r] * R[3 * c] + (double)R[3 * r + 1] * R[3 * c + 1] +
                               (double)R[3 * r + 2] * R[3 * c + 2];
            const int a = (c + 1) % 3, b = (c + 2) % 3;
            REQUIRE(fabs(dot - (r == c)) < 3e-6, "not orthonormal");
            REQUIRE(fabs((double)R[3 * u + a] * R[3 * v + b] - (double)R[3 * u + b] * R[3 * v + a] - R[3 * r + c]) <
                        3e-6,
                    "mirrored");
        }
    }
}

static double share(int part, int whole) { return 100.0 * part / whole; }

static void three(void **state)
{
    (void)state;
    static const double least_percent[KINDS] = {99.8, 99.8, 99.0};
    for (int k = 0; k < KINDS; k++) {
        int within[3] = {0}, true_found = 0;
        long should = 0, is = 0;
        shake(30 + (uint64_t)k);
        for (int i = 0; i < problems; i++) {
            struct solutions all;
            struct vf_pose pose[4];
            real worst = 0, truth = 9;
            give(&kinds[k]);
            solve_all(&all);
            const int count = solve(pose);
            for (int a = 0; a < all.count; a++) {
                real best = 9;
                for (int p = 0; p < count; p++) best = fminl(best, off_by(&pose[p], all.s[a]));
                worst = fmaxl(worst, best);
            }
            for (int p = 0; p < count; p++) {
                real off = 0;
                is_rotation(pose[p].R);
                for (int e = 0; e < 9; e++) off = fmaxl(off, fabsl(pose[p].R[e] - given.R[e]));
                for (int e = 0; e < 3; e++) off = fmaxl(off, fabsl(pose[p].t[e] - given.t[e]) / 5);
                truth = fminl(truth, off);
            }
            for (int e = 0; e < 3; e++) within[e] += worst <= powl(10, e - 5);
            true_found += truth < 1e-2L;
            should += all.count;
            is += count;
        }
        print_message("three points, %-11s: %d problems, %.3f solutions, %.3f found; all to 1e-5 in %.3f %%, 1e-4 %.3f "
                      "%%, 1e-3 %.3f %%; true pose %.2f %%\n",
                      kinds[k].name, problems, (double)should / problems, (double)is / problems,
                      share(within[0], problems), share(within[1], problems), share(within[2], problems),
                      share(true_found, problems));
        REQUIRE(problems < 1000 || share(within[0], problems) >= least_percent[k], "%s", kinds[k].name);
    }
}

/** Collinear and equal points, bearings that are not finite: results are finite, and at most four. */
static void bad_input(void **state)
{
    (void)state;
    static const float odd[] = {0.0f, -0.0f, 1.0f, NAN, INFINITY, -INFINITY, 1e-30f, 1e30f, 3e38f};
    shake(40);
    for (int i = 0; i < 30000; i++) {
        struct vf_pose pose[4];
        give(&kinds[i % KINDS]);
        for (int p = 0; p < 3; p++)
            for (int k = 0; k < 3; k++) {
                if (i % 6 == 0) given.point[p][k] = given.point[0][k];
                if (i % 6 == 1) given.bearing[p][k] = given.bearing[0][k];
                if (i % 6 == 2) given.point[p][k] = (float)(p + 1) * given.point[0][k];
                if (i % 6 == 3) given.bearing[p][k] = given.point[p][k] = 0.0f;
                if (i % 6 == 4 && between(0, 1) < 0.2) given.point[p][k] = odd[(int)between(0, 9)];
                if (i % 6 == 5 && between(0, 1) < 0.2) given.bearing[p][k] = odd[(int)between(0, 9)];
            }
        memset(&work, i & 64 ? 0xff : 0, sizeof work);
        const int count = solve(pose);
        REQUIRE(count >= 0 && count <= 4, "%d poses", count);
        for (int p = 0; p < count; p++) {
            for (int e = 0; e < 9; e++) REQUIRE(isfinite(pose[p].R[e]) && fabsf(pose[p].R[e]) < 1.001f, "case %d", i);
            for (int e = 0; e < 3; e++) REQUIRE(isfinite(pose[p].t[e]), "case %d", i);
        }
    }
}

/** Cubics made from known roots. */
static void cubics(void **state)
{
    (void)state;
    shake(50);
    for (int i = 0; i < 50000; i++) {
        const double a = between(-3, 3), b = i % 3 ? between(-3, 3) : a + between(0.1, 1), c = between(-3, 3),
                     lead = between(-2, 2), im = between(0.3, 2);
        const int pair = i & 1; /* complex pair b +- im i */
        const double sum = pair ? 2 * b : b + c, product = pair ? b * b + im * im : b * c;
        const double p[4] = {-a * product * lead, (product + a * sum) * lead, -(a + sum) * lead, lead};
        const float f[4] = {(float)p[0], (float)p[1], (float)p[2], (float)p[3]};
        const double gap = fmin(fabs(a - b), fmin(fabs(a - c), fabs(b - c)));
        float root[3][2];
        if (!pair && gap < 0.05) continue;
        const int count = vf_cubic_roots(f, root);
        REQUIRE(count == (pair ? 1 : 3), "case %d: %d roots of %g %g %g", i, count, a, b, c);
        for (int w = 0; w < count; w++) {
            const double should = w == 0 ? a : w == 1 ? b : c;
            double best = 9;
            for (int k = 0; k < count; k++)
                best = fmin(best, fabs((double)root[k][0] - should * (double)root[k][1]) / hypot(should, 1));
            REQUIRE(best < 2e-4, "case %d: root %g off by %g", i, should, best);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(three), cmocka_unit_test(bad_input), cmocka_unit_test(cubics)};
    if (argc == 3 && strcmp(argv[1], "--problems") == 0) problems = atoi(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
