/* SPDX-License-Identifier: MIT */
/* rectify: rigs by what must hold of them, points of space among it; places against lenses of the test's own, in long double with libm;
 * the stage and the masks to the bit against a second form of the rule, on any places; and through the public interface a world that is
 * far away, of which both cameras must show the same. */
#include "tests/fixture/stage.h"

#include "port/host/host.h"
#include "math/rotation.h"

#if VFRONT_RECTIFY

static vfront_t vf;
static struct vf_state *state_of(void) { return (struct vf_state *)(((uintptr_t)&vf + 63) & ~(uintptr_t)63); }

static double uniform(double least, double most)
{
    return least + (most - least) * (double)(roll64() >> 11) / 9007199254740992.0;
}

/* ---- lenses and rigs of the test's own --------------------------------------------------------------------------- */

static long double radial(const vfront_camera_t *c, long double u)
{
    const double *k = c->distortion;
    const long double s = u * u;
    if (c->lens == VFRONT_LENS_EQUIDISTANT)
        return u * (1 + k[0] * s + k[1] * s * s + k[2] * powl(s, 3) + k[3] * powl(s, 4));
    const long double over = 1 + k[0] * s + k[1] * s * s + k[4] * powl(s, 3),
                      under = 1 + k[5] * s + k[6] * s * s + k[7] * powl(s, 3);
    return u * over / under;
}

/** Up to where the radial function rises, found by going along it. */
#define STRIDE 1e-3L
static long double rises_to(const vfront_camera_t *c)
{
    const long double most = c->lens == VFRONT_LENS_EQUIDISTANT ? acosl(-1.0L) : 30.0L;
    long double u = 0, last = 0;
    if (radial(c, 0.5L) == 0.5L && radial(c, 2.0L) == 2.0L) return 1e4L; /* a pinhole */
    for (;;) {
        const long double next = radial(c, u + STRIDE);
        if (next <= last || u + STRIDE > most) return u;
        last = next;
        u += STRIDE;
    }
}

/** Where a ray's argument of the radial function lies. */
static long double argument(const vfront_camera_t *c, const long double ray[3])
{
    const long double across = hypotl(ray[0], ray[1]);
    if (c->lens == VFRONT_LENS_EQUIDISTANT) return atan2l(across, ray[2]);
    return ray[2] > 0 ? across / ray[2] : HUGE_VALL;
}

static void project(const vfront_camera_t *c, const long double ray[3], long double px[2])
{
    const long double across = hypotl(ray[0], ray[1]), u = argument(c, ray),
                      grown = across > 0 ? radial(c, u) / across : 0;
    long double m[2] = {ray[0] * grown, ray[1] * grown};
    if (c->lens != VFRONT_LENS_EQUIDISTANT) {
        const long double x = ray[0] / ray[2], y = ray[1] / ray[2], p1 = c->distortion[2], p2 = c->distortion[3];
        m[0] += 2 * p1 * x * y + p2 * (3 * x * x + y * y);
        m[1] += p1 * (x * x + 3 * y * y) + 2 * p2 * x * y;
    }
    px[0] = c->fx_px * m[0] + c->cx_px;
    px[1] = c->fy_px * m[1] + c->cy_px;
}

enum kind { PINHOLE, EUROC, STRONG, RATIONAL, FISHEYE, KINDS };

static vfront_camera_t random_camera(enum kind kind, int32_t width, int32_t height)
{
    static const double focal[KINDS] = {0.8, 0.61, 0.4, 0.6, 0.3};
    static const double numbers[KINDS][8] = {{0},
                                             {-0.28, 0.074, 2e-4, 2e-5},
                                             {-0.3},
                                             {0.4, 0.1, 1e-3, -1e-3, 0.01, 0.7, 0.2, 0.03},
                                             {-0.01, 0.008, -0.004, 0.0006}};
    vfront_camera_t c;
    memset(&c, 0, sizeof c);
    c.width_px = width;
    c.height_px = height;
    c.lens = kind == FISHEYE ? VFRONT_LENS_EQUIDISTANT : kind == RATIONAL ? VFRONT_LENS_RATIONAL : VFRONT_LENS_RADTAN;
    c.fx_px = focal[kind] * width * uniform(0.95, 1.05);
    c.fy_px = c.fx_px * uniform(0.98, 1.02);
    c.cx_px = width * uniform(0.47, 0.53);
    c.cy_px = height * uniform(0.47, 0.53);
    for (int k = 0; k < 8; k++) c.distortion[k] = numbers[kind][k] * uniform(0.9, 1.1);
    return c;
}

/** A rotation by an angle about a random axis. */
static void random_rotation(double R[9], double angle)
{
    double v[3], length;
    do {
        for (int k = 0; k < 3; k++) v[k] = uniform(-1, 1);
        length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    } while (length < 0.1 || length > 1);
    for (int k = 0; k < 3; k++) v[k] /= length;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            const double cross = r == c ? 0.0 : (c == (r + 1) % 3 ? -1 : 1) * v[3 - r - c];
            R[3 * r + c] = v[r] * v[c] * (1 - cos(angle)) + cross * sin(angle) + (r == c ? cos(angle) : 0);
        }
}

static void times(double out[9], const double a[9], const double b[9])
{
    for (int i = 0; i < 9; i++)
        out[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] + a[i / 3 * 3 + 2] * b[6 + i % 3];
}

static void apply(double out[3], const double R[9], const double v[3])
{
    for (int i = 0; i < 3; i++) out[i] = R[3 * i] * v[0] + R[3 * i + 1] * v[1] + R[3 * i + 2] * v[2];
}

static void apply_back(double out[3], const double R[9], const double v[3])
{
    for (int i = 0; i < 3; i++) out[i] = R[i] * v[0] + R[3 + i] * v[1] + R[6 + i] * v[2];
}

/** Puts two cameras somewhere: the second at `at` in axes of the first and turned by an angle about any axis. */
static void place(vfront_rig_t *rig, const double at[3], double angle)
{
    vfront_camera_t *a = &rig->camera[0], *b = &rig->camera[1];
    double turn[9], off[3];
    random_rotation(a->R_cam_imu, uniform(0, 3));
    random_rotation(turn, angle);
    times(b->R_cam_imu, turn, a->R_cam_imu);
    for (int k = 0; k < 3; k++) {
        a->t_cam_imu_m[k] = uniform(-0.3, 0.3);
        off[k] = a->t_cam_imu_m[k] - at[k];
    }
    apply(b->t_cam_imu_m, turn, off);
}

/** Cameras of a kind, up to `least_x` off each other's x axis (its cosine), and turned up to `angle`. */
static vfront_rig_t random_rig(enum kind kind, int32_t width, int32_t height, double least_x, double angle)
{
    vfront_rig_t rig = {.cameras = 2};
    double at[3], length;
    for (int i = 0; i < 2; i++) rig.camera[i] = random_camera(kind, width, height);
    do {
        at[0] = 1;
        at[1] = uniform(-1, 1);
        at[2] = uniform(-1, 1);
        length = sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]);
    } while (1 / length < least_x);
    const double baseline = uniform(0.05, 1);
    for (int k = 0; k < 3; k++) at[k] *= baseline / length;
    place(&rig, at, uniform(0, angle));
    return rig;
}

/* ---- rigs -------------------------------------------------------------------------------------------------------- */

static void check_rotation(const double R[9])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            const double is = R[3 * i] * R[3 * k] + R[3 * i + 1] * R[3 * k + 1] + R[3 * i + 2] * R[3 * k + 2];
            REQUIRE(fabs(is - (i == k)) < 1e-14, "rows %d and %d: %g", i, k, is);
        }
    REQUIRE(R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) +
                    R[2] * (R[3] * R[7] - R[4] * R[6]) >
                0,
            "mirrored");
}

/** What is said of the cameras themselves. */
static void check_pinholes(const vfront_rig_t *rig, const vfront_rig_t *seen, int32_t percent)
{
    static const double none[8] = {0};
    const vfront_camera_t *a = &rig->camera[0], *b = &rig->camera[1];
    const double f = (a->fx_px + a->fy_px + b->fx_px + b->fy_px) / 4 * percent / 100;
    for (int i = 0; i < 2; i++) {
        const vfront_camera_t *c = &seen->camera[i];
        assert_true(c->width_px == a->width_px && c->height_px == a->height_px);
        assert_true(c->lens == VFRONT_LENS_RADTAN && !memcmp(c->distortion, none, sizeof none) && !c->mask);
        assert_true(c->fx_px == c->fy_px && fabs(c->fx_px / f - 1) < 1e-14);
        assert_true(c->cx_px == seen->camera[0].cx_px && c->cy_px == seen->camera[0].cy_px);
    }
}

/** What is said of where they are and how they look. */
static void check_mounting(const vfront_rig_t *rig, const vfront_rig_t *seen, double R_rig_seen[2][9])
{
    for (int i = 0; i < 2; i++) {
        const vfront_camera_t *c = &rig->camera[i], *n = &seen->camera[i];
        double R[9], t[3];
        check_rotation(n->R_cam_imu);
        check_rotation(R_rig_seen[i]);
        times(R, R_rig_seen[i], n->R_cam_imu);
        apply(t, R_rig_seen[i], n->t_cam_imu_m);
        for (int k = 0; k < 9; k++) REQUIRE(fabs(R[k] - c->R_cam_imu[k]) < 1e-12, "R of camera %d", i);
        for (int k = 0; k < 3; k++) REQUIRE(fabs(t[k] - c->t_cam_imu_m[k]) < 1e-12, "t of camera %d", i);
    }
    assert_memory_equal(seen->camera[0].R_cam_imu, seen->camera[1].R_cam_imu, sizeof seen->camera[0].R_cam_imu);
}

/** How much of the sum of both optical axes lies along the rectified z axis when that is turned about the baseline. */
static double agreement(const vfront_rig_t *rig, const vfront_rig_t *seen, double turn)
{
    const double z[3] = {0, sin(turn), cos(turn)};
    double z_imu[3], sum = 0;
    apply_back(z_imu, seen->camera[0].R_cam_imu, z);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) sum += rig->camera[i].R_cam_imu[6 + k] * z_imu[k];
    return sum;
}

/** Points of space lie in one row, and their disparity says how far they are. */
static void check_points(const vfront_rig_t *rig, const vfront_rig_t *seen)
{
    const vfront_camera_t *n = seen->camera;
    double apart = 0;
    for (int k = 0; k < 3; k++) apart += pow(n[0].t_cam_imu_m[k] - n[1].t_cam_imu_m[k], 2);
    for (int i = 0; i < 50; i++) {
        const double at[3] = {uniform(-3, 3), uniform(-3, 3), uniform(1, 20)};
        double px[2][2], p_imu[3],
            back[3] = {at[0] - n[0].t_cam_imu_m[0], at[1] - n[0].t_cam_imu_m[1], at[2] - n[0].t_cam_imu_m[2]};
        apply_back(p_imu, n[0].R_cam_imu, back);
        for (int c = 0; c < 2; c++) {
            double p[3];
            apply(p, n[c].R_cam_imu, p_imu);
            for (int k = 0; k < 3; k++) p[k] += n[c].t_cam_imu_m[k];
            for (int k = 0; k < 2; k++) px[c][k] = n[c].fx_px * p[k] / p[2] + (k ? n[c].cy_px : n[c].cx_px);
        }
        const double disparity = px[0][0] - px[1][0], should = n[0].fx_px * sqrt(apart) / at[2];
        REQUIRE(fabs(px[0][1] - px[1][1]) < 1e-9, "rows %g and %g", px[0][1], px[1][1]);
        REQUIRE(fabs(disparity - should) < 1e-9, "disparity %g, should be %g", disparity, should);
    }
    (void)rig;
}

/** The middles of both pictures lie about the middle, on the whole. */
static void check_middles(const vfront_rig_t *rig, const vfront_rig_t *seen, double R_rig_seen[2][9])
{
    double sum[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const vfront_camera_t *c = &rig->camera[i], *n = &seen->camera[i];
        const double middle[2] = {(c->width_px - 1) / 2.0, (c->height_px - 1) / 2.0};
        double bearing[3], ray[3];
        long double bearing_long[3], px[2];
        assert_true(vfront_lens_bearing(c, middle, bearing));
        for (int k = 0; k < 3; k++) bearing_long[k] = (long double)bearing[k];
        project(c, bearing_long, px);
        assert_true(fabsl(px[0] - middle[0]) < 1e-6L && fabsl(px[1] - middle[1]) < 1e-6L);
        apply_back(ray, R_rig_seen[i], bearing);
        sum[0] += n->fx_px * ray[0] / ray[2] + n->cx_px - (n->width_px - 1) / 2.0;
        sum[1] += n->fy_px * ray[1] / ray[2] + n->cy_px - (n->height_px - 1) / 2.0;
    }
    REQUIRE(fabs(sum[0]) < 1e-6 && fabs(sum[1]) < 1e-6, "middles are %g, %g off", sum[0] / 2, sum[1] / 2);
}

static void rigs_stand_side_by_side(void **state)
{
    (void)state;
    shake(1);
    for (int i = 0; i < 400; i++) {
        const vfront_rig_t rig = random_rig((enum kind)(i % KINDS), between(64, 800), between(64, 800), 0.7072,
                                            i % 3 ? 0.1 : 0.7);
        const int32_t percent = i % 4 ? 100 : between(10, 400);
        vfront_rig_t seen = rig;
        double R_rig_seen[2][9];
        const char *why = vf_rectify_rig(&seen, R_rig_seen, percent);
        REQUIRE(!why, "rig %d: %s", i, why);
        check_pinholes(&rig, &seen, percent);
        check_mounting(&rig, &seen, R_rig_seen);
        for (int k = 1; k < 60; k++)
            assert_true(agreement(&rig, &seen, 0) > agreement(&rig, &seen, 0.1 * k) &&
                        agreement(&rig, &seen, 0) > agreement(&rig, &seen, 1e-4));
        assert_true(agreement(&rig, &seen, 0) > agreement(&rig, &seen, -1e-4));
        check_points(&rig, &seen);
        check_middles(&rig, &seen, R_rig_seen);
    }
}

/** Rotations with few digits, as people type them, become rotations; points still lie in one row. */
static void rough_rotations(void **state)
{
    (void)state;
    shake(2);
    for (int i = 0; i < 100; i++) {
        vfront_rig_t rig = random_rig(EUROC, 752, 480, 0.9, 0.05);
        double R_rig_seen[2][9];
        for (int c = 0; c < 2; c++)
            for (int k = 0; k < 9; k++) rig.camera[c].R_cam_imu[k] = round(rig.camera[c].R_cam_imu[k] * 3000) / 3000;
        vfront_rig_t seen = rig;
        assert_null(vf_rectify_rig(&seen, R_rig_seen, 100));
        check_points(&rig, &seen);
        for (int c = 0; c < 2; c++) {
            check_rotation(seen.camera[c].R_cam_imu);
            check_rotation(R_rig_seen[c]);
            for (int k = 0; k < 9; k++) assert_true(seen.camera[c].R_cam_imu[k] == seen.camera[0].R_cam_imu[k]);
        }
    }
}

/** How far the second camera may be off the first one's x axis, in every direction; the mounting plays no part. */
static void baselines_are_level(void **state)
{
    (void)state;
    shake(3);
    for (int i = 0; i < 200; i++) {
        const double way = uniform(0, 6.2831853), angle = uniform(0, 2),
                     at[3] = {cos(angle), sin(angle) * cos(way), sin(angle) * sin(way)};
        vfront_rig_t rig = random_rig(EUROC, 640, 480, 0.9, 0.0);
        double R_rig_seen[2][9];
        if (fabs(angle - 0.78539816) < 1e-3) continue;
        place(&rig, at, 0.0);
        const char *why = vf_rectify_rig(&rig, R_rig_seen, 100);
        assert_true((why == NULL) == (angle < 0.78539816));
        assert_true(!why || strstr(why, "over 45 degrees off its x axis: rig.camera[1].t_cam_imu_m"));
    }
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/** Where a rectified pixel comes from, in long double; its argument of the radial function. */
static long double truth(const vfront_camera_t *c, const vfront_camera_t *n, const double R_rig_seen[9], int32_t x,
                         int32_t y, long double px[2])
{
    const long double at[3] = {(x - n->cx_px) / (long double)n->fx_px, (y - n->cy_px) / (long double)n->fy_px, 1};
    long double ray[3];
    for (int k = 0; k < 3; k++)
        ray[k] = R_rig_seen[3 * k] * at[0] + R_rig_seen[3 * k + 1] * at[1] + R_rig_seen[3 * k + 2] * at[2];
    project(c, ray, px);
    return argument(c, ray);
}

static struct vf_spot places[VF_SPOTS(800) * VF_SPOTS(800)];

/** All places of a camera against the truth; returns how many hold. */
static int check_places(const struct vf_rectifier *r, const vfront_camera_t *c, const vfront_camera_t *n,
                        const double R_rig_seen[9])
{
    const long double limit = rises_to(c);
    const int32_t across = VF_SPOTS(n->width_px);
    int held = 0;
    for (int32_t j = 0; j < VF_SPOTS(n->height_px); j++) {
        vf_rectify_row(places + j * across, r, j);
        for (int32_t i = 0; i < across; i++) {
            const struct vf_spot is = places[j * across + i];
            long double px[2];
            const long double u = truth(c, n, R_rig_seen, 4 * i, 4 * j, px);
            if (fabsl(u - limit) < 2 * STRIDE) continue; /* who knows */
            const int holds = u < limit && fabsl(px[0]) < 8190 && fabsl(px[1]) < 8190;
            REQUIRE(holds == (is.x != VF_NOWHERE), "place %d,%d: argument %Lg of %Lg", i, j, u, limit);
            held += holds;
            for (int k = 0; k < 2 && holds; k++)
                REQUIRE(fabsl((k ? is.y : is.x) - px[k] * 4096) < 0.51L, "place %d,%d is %g, should be %Lg", i, j,
                        (k ? is.y : is.x) / 4096.0, px[k]);
        }
    }
    return held;
}

static void places_are_where_lenses_see(void **state)
{
    int nowhere = 0, held = 0;
    (void)state;
    shake(4);
    for (int i = 0; i < 60; i++) {
        vfront_rig_t rig = random_rig((enum kind)(i % KINDS), between(64, 320), between(64, 240), 0.9,
                                      i % 2 ? 0.1 : 0.4);
        double R_rig_seen[2][9];
        vfront_rig_t seen = rig;
        assert_null(vf_rectify_rig(&seen, R_rig_seen, i % 3 ? 100 : 60));
        for (int c = 0; c < 2; c++) {
            struct vf_rectifier r;
            vf_rectify_make(&r, &rig.camera[c], &seen.camera[c], R_rig_seen[c]);
            const int holds = check_places(&r, &rig.camera[c], &seen.camera[c], R_rig_seen[c]);
            held += holds;
            nowhere += VF_SPOTS(r.width) * VF_SPOTS(r.height) - holds;
        }
    }
    assert_true(held > 50000 && nowhere > 1000);
}

/** What pixels between places are off, with lenses as of EuRoC's MAV and with stronger ones. */
static double worst_pixel(enum kind kind, double *mean)
{
    vfront_rig_t rig = random_rig(kind, 752, 480, 0.99, 0.03), seen = rig;
    double R_rig_seen[2][9], worst = 0, sum = 0;
    const struct vf_level raw = {0, 0, 752, 480};
    struct vf_rectifier r;
    int count = 0;
    assert_null(vf_rectify_rig(&seen, R_rig_seen, 100));
    vf_rectify_make(&r, &rig.camera[0], &seen.camera[0], R_rig_seen[0]);
    for (int32_t j = 0; j < VF_SPOTS(480); j++) vf_rectify_row(places + j * VF_SPOTS(752), &r, j);
    for (int32_t y = 0; y < 480; y++)
        for (int32_t x = 0; x < 752; x++) {
            const struct vf_spot *p = places + y / 4 * VF_SPOTS(752) + x / 4;
            const struct vf_spot left = vf_rectify_between(p[0], p[VF_SPOTS(752)], y % 4);
            const struct vf_spot right = vf_rectify_between(p[1], p[VF_SPOTS(752) + 1], y % 4),
                                 from = vf_rectify_from(left, right, x % 4, &raw);
            long double px[2];
            if (from.x == VF_NOWHERE) continue;
            truth(&rig.camera[0], &seen.camera[0], R_rig_seen[0], x, y, px);
            const double off = (double)hypotl(from.x / 256.0L - px[0], from.y / 256.0L - px[1]);
            worst = off > worst ? off : worst;
            sum += off;
            count++;
        }
    assert_true(count > 200000);
    *mean = sum / count;
    return worst;
}

static void pixels_between_places(void **state)
{
    static const double most[KINDS] = {0.01, 0.02, 0.05, 0.02, 0.02};
    static const char *const name[KINDS] = {"pinhole", "as EuRoC's", "strong", "rational", "fisheye"};
    (void)state;
    shake(5);
    for (int kind = 0; kind < KINDS; kind++) {
        double mean, worst = worst_pixel((enum kind)kind, &mean);
        printf("%s: places of pixels are at most %.4f px off, %.4f in the mean\n", name[kind], worst, mean);
        REQUIRE(worst <= most[kind], "%s: %.4f px", name[kind], worst);
    }
}

/* ---- the stage to the bit ---------------------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/** Where a pixel comes from, in 1/256 px. Returns 0 when from outside. */
static int comes_from(const struct vf_memory *m, int32_t camera, int32_t x, int32_t y, int64_t from[2])
{
    const struct vf_level *l = &step.geometry.level[camera][0], *raw = &step.geometry.raw[camera];
    const int32_t across = (l->width + 3) / 4 + 1;
    int64_t sum[2] = {0, 0};
    for (int32_t i = 0; i < 4; i++) {
        const struct vf_spot *spot = &m->rectify.spot[camera][(y / 4 + i / 2) * across + x / 4 + i % 2];
        const int64_t weight = (i % 2 ? x % 4 : 4 - x % 4) * (i / 2 ? y % 4 : 4 - y % 4);
        if (spot->x == INT32_MIN) return 0;
        sum[0] += weight * spot->x;
        sum[1] += weight * spot->y;
    }
    for (int k = 0; k < 2; k++) from[k] = floor_div(sum[k] + 128, 256); /* of 1/65536 px */
    return from[0] >= 0 && from[1] >= 0 && from[0] <= 256 * (raw->width - 1) && from[1] <= 256 * (raw->height - 1);
}

static uint8_t grey_from(const uint8_t *pixels, const struct vf_level *raw, const int64_t from[2])
{
    int64_t sum = 0;
    for (int32_t i = 0; i < 4; i++) {
        const int64_t x = from[0] / 256 + i % 2, y = from[1] / 256 + i / 2;
        const int64_t weight = (i % 2 ? from[0] % 256 : 256 - from[0] % 256) *
                               (i / 2 ? from[1] % 256 : 256 - from[1] % 256);
        if (weight) sum += weight * pixels[y * raw->pitch + x];
    }
    return (uint8_t)((sum + 32768) / 65536);
}

static void expect_camera(int32_t camera)
{
    const struct vf_level *l = &step.geometry.level[camera][0], *raw = &step.geometry.raw[camera];
    const int framed = memory.ingest.params.source[camera].mask != NULL;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            int64_t from[2];
            const int seen = comes_from(&memory, camera, x, y, from);
            const int64_t nearest = seen ? (from[1] + 128) / 256 * raw->pitch + (from[0] + 128) / 256 : 0;
            expected.pyramid.pixels[step.parity][camera][y * l->pitch + x] =
                seen ? grey_from(memory.rectify.raw[camera], raw, from) : 0;
            if (framed)
                expected.rectify.mask[camera][y * l->pitch + x] = seen ? memory.ingest.mask_frame[camera][nearest] : 0;
        }
}

/** Places like those of a lens, or any; some at the very ends of the picture, some nowhere. */
static void draw_places(int32_t camera, int wild)
{
    const struct vf_level *l = &step.geometry.level[camera][0], *raw = &step.geometry.raw[camera];
    const int32_t across = (l->width + 3) / 4 + 1, count = across * ((l->height + 3) / 4 + 1);
    const int32_t shift_x = between(-2, 2) * 4096 + roll(3) * 16, shift_y = between(-2, 2) * 4096 + roll(3) * 16;
    for (int32_t i = 0; i < count; i++) {
        struct vf_spot *spot = &memory.rectify.spot[camera][i];
        spot->x = wild ? between(-8189 * 4096, 8189 * 4096) >> roll(8)
                       : i % across * 4 * 4096 + shift_x + (roll(5) ? 0 : between(-4096, 4096));
        spot->y = wild ? between(-8189 * 4096, 8189 * 4096) >> roll(8)
                       : i / across * 4 * 4096 + shift_y + (roll(5) ? 0 : between(-4096, 4096));
        if (roll(6) == 0) spot->x = roll(2) ? (raw->width - 1) * 4096 : 0;
        if (roll(6) == 0) spot->y = roll(2) ? (raw->height - 1) * 4096 : 0;
        if (roll(40) == 0) spot->x = spot->y = INT32_MIN;
    }
    memcpy(expected.rectify.spot[camera], memory.rectify.spot[camera], sizeof *memory.rectify.spot[0] * (size_t)count);
}

/** Both cameras are as large as the first when rectified, and may be of any size before. */
static void set_up_pair(int32_t width, int32_t height, int32_t slack)
{
    set_up(2, width, height, slack);
    step.geometry.rectified = 1;
    for (int32_t c = 0; c < 2; c++)
        set_level(&step.geometry.raw[c], c ? between(16, 300) : width, c ? between(16, 200) : height, roll(2),
                  VFRONT_WIDTH);
}

static void stage_to_the_bit(void **state)
{
    static const int32_t size[][2] = {{16, 16}, {17, 19}, {18, 33},   {19, 64},  {20, 21},  {63, 50},
                                      {64, 64}, {65, 37}, {127, 130}, {130, 90}, {752, 480}};
    (void)state;
    if (!fits(752, 480, 0)) skip();
    shake(6);
    scribble_arena();
    for (int i = 0; i < 66; i++) {
        char what[64];
        const int32_t *z = size[i % 11];
        snprintf(what, sizeof what, "rectify %dx%d", z[0], z[1]);
        if (z[0] == 752 && i > 22) continue;
        set_up_pair(z[0], z[1], roll(2));
        for (int32_t c = 0; c < 2; c++) {
            draw_places(c, i / 11 % 3 == 2);
            memory.ingest.params.source[c].mask = roll(2) ? memory.ingest.mask_frame[c] : NULL;
            expected.ingest.params.source[c].mask = memory.ingest.params.source[c].mask;
            for (int k = 0; i % 4 == 3 && k < VFRONT_PICTURE_BYTES; k++)
                memory.rectify.raw[c][k] = expected.rectify.raw[c][k] = 255;
        }
        for (int32_t c = 0; c < 2; c++) expect_camera(c);
        vf_rectify_host(&step);
        same_arena(what);
    }
}

static void nothing_to_do(void **state)
{
    (void)state;
    shake(7);
    scribble_arena();
    set_up(2, 64, 48, 0);
    vf_rectify_host(&step);
    same_arena("not rectified");
}

/** Pictures and masks come where the stage looks for them, and later stages look at the frame's mask that goes with level 0. */
static void planes(void **state)
{
    static uint8_t picture[2][40 * 30], mask[2][40 * 30];
    (void)state;
    shake(8);
    scribble_arena();
    set_up_pair(40, 30, 0);
    set_cells_about(32, 32);
    set_level(&step.geometry.raw[0], 40, 30, 0, VFRONT_WIDTH);
    set_level(&step.geometry.raw[1], 33, 21, 0, VFRONT_WIDTH);
    memset(&pinned.params, 0, sizeof pinned.params);
    scribble(picture, sizeof picture);
    for (int c = 0; c < 2; c++) {
        for (size_t i = 0; i < sizeof mask[0]; i++) mask[c][i] = (uint8_t)roll(2);
        pinned.params.source[c].data = picture[c];
        pinned.params.source[c].mask = mask[c];
        pinned.params.source[c].pitch = pinned.params.source[c].mask_pitch = 40;
        for (int32_t y = 0; y < step.geometry.raw[c].height; y++)
            for (int32_t x = 0; x < step.geometry.raw[c].width; x++) {
                expected.rectify.raw[c][64 * y + x] = picture[c][40 * y + x];
                expected.ingest.mask_frame[c][64 * y + x] = mask[c][40 * y + x];
            }
        const int levels = step.geometry.scales < step.tuning.detect_levels ? step.geometry.scales
                                                                            : step.tuning.detect_levels;
        memset(expected.detect.best[c], 0, sizeof *expected.detect.best[c] * (size_t)(culls_of(c) * levels));
        memset(expected.detect.corner[c], 0, sizeof *expected.detect.corner[c] * (size_t)cells_of(c));
    }
    expected.ingest.params = pinned.params;
    vf_ingest_host(&step);
    same_arena("ingest for rectify");
    for (int c = 0; c < 2; c++) {
        step.geometry.masked[c] = c;
        for (int32_t i = 0; i < 64 * 30; i++)
            memory.ingest.mask_static[c][i] = (uint8_t)roll(2), memory.rectify.mask[c][i] = (uint8_t)roll(2);
        for (int32_t y = 0; y < 30; y++)
            for (int32_t x = 0; x < 40; x++) {
                const int shown = memory.rectify.mask[c][64 * y + x] &&
                                  (!c || memory.ingest.mask_static[c][64 * y + x]);
                assert_int_equal(vf_usable(&step, c, vf_framed(&step, c), x, y) != 0, shown);
            }
    }
}

/* ---- masks and the rectangle ------------------------------------------------------------------------------------- */

static vfront_status_t start(const vfront_rig_t *rig, vfront_tuning_t *t)
{
    t->rectify = 1;
    return vfront_init(&vf, rig, t, VFRONT_PORT_HOST);
}

/** Makes the stand's step that of the front end, and its places. */
static void take_over(void)
{
    step = state_of()->step[state_of()->parity];
    memcpy(memory.rectify.spot, state_of()->memory->rectify.spot, sizeof memory.rectify.spot);
}

static uint8_t sees[2][VFRONT_PICTURE_BYTES];
static void find_seen(void);
static void check_valid(int32_t c, const int32_t is[4]);

static void find_seen(void)
{
    for (int32_t c = 0; c < 2; c++)
        for (int32_t y = 0; y < step.geometry.level[c][0].height; y++)
            for (int32_t x = 0; x < step.geometry.level[c][0].width; x++) {
                int64_t from[2];
                sees[c][y * step.geometry.level[c][0].width + x] = (uint8_t)comes_from(&memory, c, x, y, from);
            }
}

/** Greatest area of all rectangles around the middle. */
static void check_valid(int32_t c, const int32_t is[4])
{
    static int32_t sum[300][300];
    const int32_t width = step.geometry.level[c][0].width, height = step.geometry.level[c][0].height;
    int32_t best[4] = {0, 0, 0, 0};
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            sum[y + 1][x + 1] = sees[c][y * width + x] + sum[y][x + 1] + sum[y + 1][x] - sum[y][x];
    for (int32_t y = 0; y <= height / 2; y++)
        for (int32_t h = height / 2 - y + 1; y + h <= height; h++)
            for (int32_t x = 0; x <= width / 2; x++)
                for (int32_t w = width / 2 - x + 1; x + w <= width; w++) {
                    if (w * h <= best[2] * best[3]) continue;
                    if (sum[y + h][x + w] - sum[y][x + w] - sum[y + h][x] + sum[y][x] != w * h) break;
                    best[0] = x, best[1] = y, best[2] = w, best[3] = h;
                }
    REQUIRE(is[2] * is[3] == best[2] * best[3] && is[1] == best[1] && is[3] == best[3],
            "valid %d %d %d %d, should be %d %d %d %d", is[0], is[1], is[2], is[3], best[0], best[1], best[2], best[3]);
    REQUIRE(sum[is[1] + is[3]][is[0] + is[2]] - sum[is[1]][is[0] + is[2]] - sum[is[1] + is[3]][is[0]] +
                    sum[is[1]][is[0]] ==
                is[2] * is[3],
            "holes");
    assert_true(is[0] <= width / 2 && is[0] + is[2] > width / 2 && is[1] <= height / 2 && is[1] + is[3] > height / 2);
}

static int sees_all_around(int32_t c, int32_t x, int32_t y, int32_t margin)
{
    const int32_t width = step.geometry.level[c][0].width, height = step.geometry.level[c][0].height;
    for (int32_t v = y - margin; v <= y + margin; v++)
        for (int32_t u = x - margin; u <= x + margin; u++)
            if (u >= 0 && v >= 0 && u < width && v < height && !sees[c][v * width + u]) return 0;
    return 1;
}

/** The static mask of camera c, whose rig's mask has rows `pitch` bytes apart. Returns how many pixels it leaves. */
static int check_static_mask(int32_t c, const uint8_t *mask, int32_t pitch, int32_t margin)
{
    const struct vf_level *l = &step.geometry.level[c][0];
    int left = 0;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            int64_t from[2];
            const int seen = comes_from(&memory, c, x, y, from),
                      is = state_of()->memory->ingest.mask_static[c][y * l->pitch + x];
            const int shown = seen && (!mask || mask[(from[1] + 128) / 256 * pitch + (from[0] + 128) / 256]) &&
                              sees_all_around(c, x, y, margin);
            REQUIRE(is == (shown ? 255 : 0), "static mask of camera %d at %d,%d: is %d, should be %d", c, x, y, is,
                    shown);
            left += shown;
        }
    return left;
}

static void masks_and_rectangles(void **state)
{
    static uint8_t mask[2][300 * 300];
    int both[2] = {0, 0};
    (void)state;
    shake(9);
    for (int i = 0; i < 25; i++) {
        vfront_rig_t rig = random_rig((enum kind)(i % KINDS), between(40, 130), between(40, 100), 0.97,
                                      i % 2 ? 0.05 : 0.25);
        vfront_tuning_t t;
        vfront_info_t info;
        vfront_tuning_default(&t);
        t.rectify_focal_percent = i % 3 ? 100 : 60;
        t.detect_border_px = i % 4 ? between(3, 12) : 3;
        rig.camera[1] = random_camera((enum kind)(i % KINDS), between(40, 200), between(40, 150));
        const double at[3] = {0.1, uniform(-0.02, 0.02), uniform(-0.02, 0.02)};
        place(&rig, at, i % 2 ? 0.03 : 0.2);
        for (int c = 0; c < 2; c++) {
            for (int32_t k = 0; k < 300 * 300; k++) mask[c][k] = k / 300 / 9 % 5 != 1 || k % 300 / 13 % 4;
            rig.camera[c].mask = i % 2 == c ? mask[c] : NULL;
            rig.camera[c].mask_pitch_bytes = 300;
        }
        const vfront_status_t status = start(&rig, &t);
        REQUIRE(!status, "rig %d: %s", i, vfront_detail(&vf));
        take_over();
        find_seen();
        assert_int_equal(vfront_info(&vf, &info), VFRONT_OK);
        assert_int_equal(info.rectified, 1);
        for (int32_t c = 0; c < 2; c++) {
            const int left = check_static_mask(c, rig.camera[c].mask, 300, t.detect_border_px);
            check_valid(c, info.valid_px[c]);
            assert_true(info.seen[c].width_px == rig.camera[0].width_px &&
                        info.seen[c].height_px == rig.camera[0].height_px);
            both[left == 0]++;
        }
        vfront_shutdown(&vf);
    }
    assert_true(both[0] > 40);
}

/** Pictures turned about their axis and shifted, so that what is seen is a slanted rectangle somewhere around the middle: often two rectangles
 *  in it are as great. */
static void rectangles_in_turned_pictures(void **state)
{
    int middles[2] = {0, 0};
    (void)state;
    shake(12);
    for (int i = 0; i < 400; i++) {
        const double angle = i % 3 ? uniform(0, 3.2) : 0.78539816339744831 * roll(5), shift = i % 4 ? 12 : 0;
        const double turn[9] = {cos(angle), -sin(angle), 0, sin(angle), cos(angle), 0, 0, 0, 1};
        vfront_camera_t c = {.width_px = between(16, 40), .height_px = between(16, 40), .fx_px = 100, .fy_px = 100};
        vfront_camera_t n = {.width_px = between(16, 44), .height_px = between(16, 44), .fx_px = 100, .fy_px = 100};
        struct vf_rectifier r;
        int32_t valid[4];
        c.cx_px = (c.width_px - 1) / 2.0 + uniform(-shift, shift);
        c.cy_px = (c.height_px - 1) / 2.0 + uniform(-shift, shift);
        n.cx_px = (n.width_px - 1) / 2.0;
        n.cy_px = (n.height_px - 1) / 2.0;
        vf_rectify_make(&r, &c, &n, turn);
        set_up(2, n.width_px, n.height_px, 0);
        set_level(&step.geometry.raw[0], c.width_px, c.height_px, 0, VFRONT_WIDTH);
        for (int32_t j = 0; j < VF_SPOTS(n.height_px); j++)
            vf_rectify_row(memory.rectify.spot[0] + j * VF_SPOTS(n.width_px), &r, j);
        find_seen();
        const int seen = vf_rectify_valid(valid, &r), should = sees[0][n.height_px / 2 * n.width_px + n.width_px / 2];
        assert_int_equal(seen != 0, should);
        if (seen) check_valid(0, valid);
        middles[seen != 0]++;
    }
    assert_true(middles[0] > 3 && middles[1] > 200);
}

/** Where a lens sees farther than places can say, along either axis, there is no place. */
static void far_places(void **state)
{
    static const double straight[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    (void)state;
    shake(13);
    for (int along = 0; along < 3; along++) {
        vfront_camera_t c = random_camera(PINHOLE, 300, 300), n = c;
        struct vf_rectifier r;
        n.fx_px = n.fy_px = 1;
        c.fx_px = along == 1 ? 1 : 300;
        c.fy_px = along == 2 ? 1 : 300;
        vf_rectify_make(&r, &c, &n, straight);
        const int held = check_places(&r, &c, &n, straight);
        assert_true(held > 10 && held < VF_SPOTS(300) * VF_SPOTS(300));
    }
}

/* ---- through the public interface -------------------------------------------------------------------------------- */

/** A smooth world at infinity: grey by direction in IMU axes. */
static double world(const long double d[3])
{
    const long double length = sqrtl(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), x = d[0] / length, y = d[1] / length,
                      z = d[2] / length;
    return (double)(128 + 50 * sinl(23 * x + 3) * cosl(19 * y) + 40 * sinl(17 * z + 21 * x) +
                    25 * cosl(29 * y - 13 * z));
}

/** A step of Newton's towards the ray that goes to a pixel, with derivatives taken from the projection itself. */
static void step_to(const vfront_camera_t *c, long double ray[3], int32_t x, int32_t y)
{
    const long double h = 1e-7L, aside[3] = {ray[0] + h, ray[1], 1}, below[3] = {ray[0], ray[1] + h, 1};
    long double px[2], by_x[2], by_y[2];
    project(c, ray, px);
    project(c, aside, by_x);
    project(c, below, by_y);
    for (int k = 0; k < 2; k++) by_x[k] = (by_x[k] - px[k]) / h, by_y[k] = (by_y[k] - px[k]) / h;
    const long double determinant = by_x[0] * by_y[1] - by_x[1] * by_y[0];
    ray[0] -= (by_y[1] * (px[0] - x) - by_y[0] * (px[1] - y)) / determinant;
    ray[1] -= (by_x[0] * (px[1] - y) - by_x[1] * (px[0] - x)) / determinant;
}

/** The direction in IMU axes that a camera sees at a pixel, found from its own projection. Returns 0 when it is not found. */
static int look(const vfront_camera_t *c, int32_t x, int32_t y, long double d_imu[3])
{
    long double ray[3] = {(x - c->cx_px) / c->fx_px, (y - c->cy_px) / c->fy_px, 1}, px[2];
    project(c, ray, px);
    for (int i = 0; i < 12 && hypotl(px[0] - x, px[1] - y) > 1e-7L; i++) {
        step_to(c, ray, x, y);
        project(c, ray, px);
    }
    for (int k = 0; k < 3; k++)
        d_imu[k] = c->R_cam_imu[k] * ray[0] + c->R_cam_imu[3 + k] * ray[1] + c->R_cam_imu[6 + k] * ray[2];
    return fabsl(px[0] - x) < 1e-6L && fabsl(px[1] - y) < 1e-6L;
}

static uint8_t photo[2][320 * 240], hole[2][320 * 240];

/** A frame of the world; all but the first have masks. Only the first is drawn. */
static vfront_frame_t shoot(const vfront_rig_t *rig, uint64_t number)
{
    vfront_frame_t f;
    memset(&f, 0, sizeof f);
    f.t_ns = 1 + number * 50000000;
    for (int c = 0; c < 2; c++) {
        const vfront_camera_t *camera = &rig->camera[c];
        vfront_picture_t *p = &f.picture[c];
        for (int32_t i = 0; number == 0 && i < camera->width_px * camera->height_px; i++) {
            long double d[3];
            hole[c][i] = (uint8_t)((i % camera->width_px / 16 + i / camera->width_px / 16) % 3 > 0);
            photo[c][i] = (uint8_t)(look(camera, i % camera->width_px, i / camera->width_px, d) ? lround(world(d)) : 0);
        }
        p->data = photo[c];
        p->mask = number ? hole[c] : NULL;
        p->width_px = p->mask_width_px = camera->width_px;
        p->height_px = p->mask_height_px = camera->height_px;
        p->pitch_bytes = p->mask_pitch_bytes = (uint32_t)camera->width_px;
    }
    return f;
}

/** Level 0 is what the cameras of vfront_info() see of the world; so both show the same. Returns the largest difference. */
static double compare_with_world(const vfront_info_t *info, int32_t parity)
{
    double worst = 0;
    for (int32_t c = 0; c < 2; c++) {
        const int32_t *v = info->valid_px[c], pitch = step.geometry.level[c][0].pitch;
        for (int32_t y = v[1]; y < v[1] + v[3]; y++)
            for (int32_t x = v[0]; x < v[0] + v[2]; x++) {
                long double d[3];
                assert_true(look(&info->seen[c], x, y, d));
                const double off = fabs(state_of()->memory->pyramid.pixels[parity][c][y * pitch + x] - world(d));
                worst = off > worst ? off : worst;
            }
    }
    return worst;
}

static void check_framed(void)
{
    for (int32_t c = 0; c < 2; c++) {
        const struct vf_level *l = &step.geometry.level[c][0];
        for (int32_t y = 0; y < l->height; y++)
            for (int32_t x = 0; x < l->width; x++) {
                int64_t from[2];
                const int seen = comes_from(&memory, c, x, y, from),
                          is = state_of()->memory->rectify.mask[c][y * l->pitch + x];
                const int64_t nearest = seen
                                            ? (from[1] + 128) / 256 * step.geometry.raw[c].width + (from[0] + 128) / 256
                                            : 0;
                assert_int_equal(is, seen ? hole[c][nearest] : 0);
            }
    }
}

static void a_world_far_away(void **state)
{
    double worst = 0;
    (void)state;
    if (!fits(320, 240, 0)) skip();
    shake(10);
    for (int i = 0; i < 4; i++) {
        vfront_rig_t rig = random_rig(i % 2 ? FISHEYE : EUROC, 200, 151, 0.95, 0.1);
        const vfront_result_t *result;
        vfront_tuning_t t;
        vfront_info_t info;
        rig.camera[1] = random_camera(i % 2 ? FISHEYE : EUROC, i < 2 ? 200 : 211, i < 2 ? 151 : 133);
        const double at[3] = {0.1, 0.01, -0.01};
        place(&rig, at, 0.06);
        vfront_tuning_default(&t);
        assert_int_equal(start(&rig, &t), VFRONT_OK);
        assert_int_equal(vfront_info(&vf, &info), VFRONT_OK);
        for (uint64_t frame = 0; frame < 2; frame++) {
            const int32_t parity = state_of()->parity;
            const vfront_frame_t f = shoot(&rig, frame);
            REQUIRE(!vfront_step(&vf, &f, &result), "%s", vfront_detail(&vf));
            take_over();
            const double off = compare_with_world(&info, parity);
            worst = off > worst ? off : worst;
        }
        check_framed();
        for (int c = 0; c < 2; c++) assert_true(info.valid_px[c][2] * info.valid_px[c][3] > 200 * 151 / 3);
        vfront_shutdown(&vf);
    }
    printf("a world far away: at most %.2f grey levels off\n", worst);
    REQUIRE(worst < 4.0, "%.2f grey levels", worst);
}

/** A rotation prior in axes of the rig's camera 0 is the homography of the rectified one. */
static void priors_turn_the_rectified_camera(void **state)
{
    (void)state;
    shake(11);
    for (int i = 0; i < 10; i++) {
        const vfront_rig_t rig = random_rig(EUROC, 200, 151, 0.95, 0.1);
        const vfront_result_t *result;
        vfront_tuning_t t;
        vfront_info_t info;
        double R[9], R_imu[9], back[9], seen[9];
        vfront_tuning_default(&t);
        assert_int_equal(start(&rig, &t), VFRONT_OK);
        assert_int_equal(vfront_info(&vf, &info), VFRONT_OK);
        random_rotation(R_imu, 0.05);
        const double *R0 = rig.camera[0].R_cam_imu, *N0 = info.seen[0].R_cam_imu;
        for (int k = 0; k < 9; k++) back[k] = R0[k % 3 * 3 + k / 3];
        times(R, R0, R_imu);
        times(R, (double[9]){R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8]}, back);
        for (int k = 0; k < 9; k++) back[k] = N0[k % 3 * 3 + k / 3];
        times(seen, N0, R_imu);
        times(seen, (double[9]){seen[0], seen[1], seen[2], seen[3], seen[4], seen[5], seen[6], seen[7], seen[8]}, back);
        for (uint64_t frame = 1; frame < 3; frame++) {
            vfront_frame_t f = shoot(&rig, frame);
            f.R_cur_prev = R;
            assert_int_equal(vfront_step(&vf, &f, &result), VFRONT_OK);
        }
        const struct vf_params *p = &state_of()->pinned->params;
        const double from[3] = {(30 - info.seen[0].cx_px) / info.seen[0].fx_px,
                                (40 - info.seen[0].cy_px) / info.seen[0].fy_px, 1};
        double to[3], h[3];
        apply(to, seen, from);
        for (int k = 0; k < 3; k++)
            h[k] = 30.0 * (double)p->H[3 * k] + 40.0 * (double)p->H[3 * k + 1] + (double)p->H[3 * k + 2];
        assert_int_equal(p->rotation_given, 1);
        REQUIRE(fabs(h[0] / h[2] - (info.seen[0].fx_px * to[0] / to[2] + info.seen[0].cx_px)) < 1e-3, "x");
        REQUIRE(fabs(h[1] / h[2] - (info.seen[0].fy_px * to[1] / to[2] + info.seen[0].cy_px)) < 1e-3, "y");
        vfront_shutdown(&vf);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(rigs_stand_side_by_side),
        cmocka_unit_test(rough_rotations),
        cmocka_unit_test(baselines_are_level),
        cmocka_unit_test(places_are_where_lenses_see),
        cmocka_unit_test(pixels_between_places),
        cmocka_unit_test(stage_to_the_bit),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(planes),
        cmocka_unit_test(masks_and_rectangles),
        cmocka_unit_test(rectangles_in_turned_pictures),
        cmocka_unit_test(far_places),
        cmocka_unit_test(a_world_far_away),
        cmocka_unit_test(priors_turn_the_rectified_camera),
    };
    return cmocka_run_group_tests_name("rectify", test, NULL, NULL);
}

#else

static void no_rectified_pictures(void **state)
{
    (void)state;
    skip();
}

int main(void)
{
    const struct CMUnitTest test[] = {cmocka_unit_test(no_rectified_pictures)};
    return cmocka_run_group_tests_name("rectify", test, NULL, NULL);
}

#endif
