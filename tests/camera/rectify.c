/* SPDX-License-Identifier: MIT */
/* rectify: rigs by their defining properties, projected points in space among them; remap tables against lens models
 * in long double with libm; the stage and the masks to the bit against a second form of the rule, on any remap
 * table; and through the public interface a scene at infinity, which both cameras must show alike. The oracle is
 * rectify_oracle.h. */
#include "tests/camera/rectify_oracle.h"

#include "core/context.h"
#include "camera/rectification.h"
#include "math/rotation.h"

#if VFRONT_RECTIFY

static vfront_t vf;
static struct vf_context *state_of(void) { return (struct vf_context *)(((uintptr_t)&vf + 63) & ~(uintptr_t)63); }

/* ---- rigs -------------------------------------------------------------------------------------------------------- */

/** Random mounting of two cameras: the second at `at` in axes of the first and rotated by an angle about a random
 *  axis. */
static void place(vfront_rig_t *rig, const double at[3], double angle)
{
    vfront_camera_t *a = &rig->camera[0], *b = &rig->camera[1];
    double R[9], off[3];
    random_rotation(a->R_cam_imu, uniform(0, 3));
    random_rotation(R, angle);
    times(b->R_cam_imu, R, a->R_cam_imu);
    for (int k = 0; k < 3; k++) {
        a->t_cam_imu_m[k] = uniform(-0.3, 0.3);
        off[k] = a->t_cam_imu_m[k] - at[k];
    }
    apply(b->t_cam_imu_m, R, off);
}

/** Rig of cameras of a kind. least_x: least cosine between the baseline and camera 0's x axis; angle: largest
 *  rotation [rad]. */
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

/** Mean of both focal lengths at the optical axis: pixels a radian, from rays beside it. */
static double axis_focal(const vfront_camera_t *c)
{
    return (c->fx_px + c->fy_px) / 2 * (double)(radial(c, 1e-9L) * 1e9L);
}

/** Rectified cameras: pinholes with the sizes and focal lengths that rectification.h states. */
static void check_pinholes(const vfront_rig_t *rig, const vfront_rig_t *seen, int32_t percent)
{
    static const double none[8] = {0};
    const vfront_camera_t *a = &rig->camera[0], *b = &rig->camera[1];
    const double f = (axis_focal(a) + axis_focal(b)) / 2 * percent / 100;
    for (int i = 0; i < 2; i++) {
        const vfront_camera_t *c = &seen->camera[i];
        assert_true(c->width_px == a->width_px && c->height_px == a->height_px);
        assert_true(c->lens == VFRONT_LENS_RADTAN && !memcmp(c->distortion, none, sizeof none) && !c->mask);
        assert_true(c->fx_px == c->fy_px && fabs(c->fx_px / f - 1) < 1e-14);
        assert_true(c->cx_px == seen->camera[0].cx_px && c->cy_px == seen->camera[0].cy_px);
    }
}

/** Mounting of the rectified cameras: rotations, the same place as before, the same orientation for both. */
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

/** Projection of the sum of both optical axes on the rectified z axis, rotated about the baseline by `turn` [rad]. */
static double agreement(const vfront_rig_t *rig, const vfront_rig_t *seen, double turn)
{
    const double z[3] = {0, sin(turn), cos(turn)};
    double z_imu[3], sum = 0;
    apply_back(z_imu, seen->camera[0].R_cam_imu, z);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) sum += rig->camera[i].R_cam_imu[6 + k] * z_imu[k];
    return sum;
}

/** Points in space are seen in the same row, with a disparity of focal length * baseline / depth. */
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

/** Centres of both raw images, rectified, lie on average at the centre of the rectified image. */
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
        const char *why = vf_rectification_rig(&seen, R_rig_seen, percent);
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

/** Rotations rounded to few digits become rotations; points are still seen in the same row. */
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
        assert_null(vf_rectification_rig(&seen, R_rig_seen, 100));
        check_points(&rig, &seen);
        for (int c = 0; c < 2; c++) {
            check_rotation(seen.camera[c].R_cam_imu);
            check_rotation(R_rig_seen[c]);
            for (int k = 0; k < 9; k++) assert_true(seen.camera[c].R_cam_imu[k] == seen.camera[0].R_cam_imu[k]);
        }
    }
}

/** Largest angle between the baseline and camera 0's x axis, in every direction around it. The mounting in the IMU does
 *  not matter. */
static void baselines_are_level(void **state)
{
    (void)state;
    shake(3);
    for (int i = 0; i < 200; i++) {
        const double heading = uniform(0, 6.2831853), angle = uniform(0, 2),
                     at[3] = {cos(angle), sin(angle) * cos(heading), sin(angle) * sin(heading)};
        vfront_rig_t rig = random_rig(EUROC, 640, 480, 0.9, 0.0);
        double R_rig_seen[2][9];
        if (fabs(angle - 0.78539816) < 1e-3) continue;
        place(&rig, at, 0.0);
        const char *why = vf_rectification_rig(&rig, R_rig_seen, 100);
        assert_true((why == NULL) == (angle < 0.78539816));
        assert_true(!why || strstr(why, "over 45 degrees off its x axis: rig.camera[1].t_cam_imu_m"));
    }
}

/* ---- remap table ------------------------------------------------------------------------------------------------- */

static struct vf_remap_entry table[VF_REMAP_ENTRIES(800) * VF_REMAP_ENTRIES(800)];

/** Compares all entries of a camera with the truth. Returns the number of valid ones. */
static int check_table(const struct vf_rectification *r, const vfront_camera_t *c, const vfront_camera_t *n,
                       const double R_rig_seen[9])
{
    const long double limit = rises_to(c);
    const int32_t across = VF_REMAP_ENTRIES(n->width_px);
    int held = 0;
    for (int32_t j = 0; j < VF_REMAP_ENTRIES(n->height_px); j++) {
        vf_remap_row(table + j * across, r, j);
        for (int32_t i = 0; i < across; i++) {
            const struct vf_remap_entry is = table[j * across + i];
            long double px[2];
            const long double u = truth(c, n, R_rig_seen, 4 * i, 4 * j, px);
            if (fabsl(u - limit) < 2 * STRIDE) continue; /* rises_to() is no more exact than this */
            const int holds = u < limit && fabsl(px[0]) < 8190 && fabsl(px[1]) < 8190;
            REQUIRE(holds == (is.x != VF_REMAP_INVALID), "entry %d,%d: argument %Lg of %Lg", i, j, u, limit);
            held += holds;
            for (int k = 0; k < 2 && holds; k++)
                REQUIRE(fabsl((k ? is.y : is.x) - px[k] * 4096) < 0.51L, "entry %d,%d is %g, should be %Lg", i, j,
                        (k ? is.y : is.x) / 4096.0, px[k]);
        }
    }
    return held;
}

static void table_against_lens_models(void **state)
{
    int invalid = 0, held = 0;
    (void)state;
    shake(4);
    for (int i = 0; i < 60; i++) {
        vfront_rig_t rig = random_rig((enum kind)(i % KINDS), between(64, 320), between(64, 240), 0.9,
                                      i % 2 ? 0.1 : 0.4);
        double R_rig_seen[2][9];
        vfront_rig_t seen = rig;
        assert_null(vf_rectification_rig(&seen, R_rig_seen, i % 3 ? 100 : 60));
        for (int c = 0; c < 2; c++) {
            struct vf_rectification r;
            vf_rectification_make(&r, &rig.camera[c], &seen.camera[c], R_rig_seen[c]);
            const int holds = check_table(&r, &rig.camera[c], &seen.camera[c], R_rig_seen[c]);
            held += holds;
            invalid += VF_REMAP_ENTRIES(r.width) * VF_REMAP_ENTRIES(r.height) - holds;
        }
    }
    assert_true(held > 50000 && invalid > 1000);
}

/** Largest and mean error of raw coordinates between entries [px], for a kind of lens. */
static double worst_pixel(enum kind kind, double *mean)
{
    vfront_rig_t rig = random_rig(kind, 752, 480, 0.99, 0.03), seen = rig;
    double R_rig_seen[2][9], worst = 0, sum = 0;
    const struct vf_level raw = {0, 0, 752, 480};
    struct vf_rectification r;
    int count = 0;
    assert_null(vf_rectification_rig(&seen, R_rig_seen, 100));
    vf_rectification_make(&r, &rig.camera[0], &seen.camera[0], R_rig_seen[0]);
    for (int32_t j = 0; j < VF_REMAP_ENTRIES(480); j++) vf_remap_row(table + j * VF_REMAP_ENTRIES(752), &r, j);
    for (int32_t y = 0; y < 480; y++)
        for (int32_t x = 0; x < 752; x++) {
            const struct vf_remap_entry *p = table + y / 4 * VF_REMAP_ENTRIES(752) + x / 4;
            const struct vf_remap_entry left = vf_remap_between(p[0], p[VF_REMAP_ENTRIES(752)], y % 4);
            const struct vf_remap_entry right = vf_remap_between(p[1], p[VF_REMAP_ENTRIES(752) + 1], y % 4),
                                        from = vf_remap_pixel(left, right, x % 4, &raw);
            long double px[2];
            if (from.x == VF_REMAP_INVALID) continue;
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

static void pixels_between_entries(void **state)
{
    static const double most[KINDS] = {0.01, 0.02, 0.05, 0.02, 0.02, 0.02, 0.02, 0.02};
    static const char *const name[KINDS] = {"pinhole", "as EuRoC's", "strong", "rational",
                                            "fisheye", "ds",         "eucm",   "omni"};
    (void)state;
    shake(5);
    for (int kind = 0; kind < KINDS; kind++) {
        double mean, worst = worst_pixel((enum kind)kind, &mean);
        printf("%s: raw coordinates of pixels are at most %.4f px off, %.4f in the mean\n", name[kind], worst, mean);
        REQUIRE(worst <= most[kind], "%s: %.4f px", name[kind], worst);
    }
}

/* ---- the stage to the bit ---------------------------------------------------------------------------------------- */

/** Random remap table: as of a lens, or arbitrary; some entries exactly at the border of the raw image, some
 *  invalid. */
static void draw_table(int32_t camera, int wild)
{
    const struct vf_level *l = &step.geometry.level[camera][0], *raw = &step.geometry.raw[camera];
    const int32_t across = (l->width + 3) / 4 + 1, count = across * ((l->height + 3) / 4 + 1);
    const int32_t shift_x = between(-2, 2) * 4096 + roll(3) * 16, shift_y = between(-2, 2) * 4096 + roll(3) * 16;
    for (int32_t i = 0; i < count; i++) {
        struct vf_remap_entry *entry = &memory.rectify.remap[camera][i];
        entry->x = wild ? between(-8189 * 4096, 8189 * 4096) >> roll(8)
                        : i % across * 4 * 4096 + shift_x + (roll(5) ? 0 : between(-4096, 4096));
        entry->y = wild ? between(-8189 * 4096, 8189 * 4096) >> roll(8)
                        : i / across * 4 * 4096 + shift_y + (roll(5) ? 0 : between(-4096, 4096));
        if (roll(6) == 0) entry->x = roll(2) ? (raw->width - 1) * 4096 : 0;
        if (roll(6) == 0) entry->y = roll(2) ? (raw->height - 1) * 4096 : 0;
        if (roll(40) == 0) entry->x = entry->y = INT32_MIN;
    }
    memcpy(expected.rectify.remap[camera], memory.rectify.remap[camera],
           sizeof *memory.rectify.remap[0] * (size_t)count);
}

/** Two rectified cameras of one size; the raw image of the second one has any size. */
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
            draw_table(c, i / 11 % 3 == 2);
            memory.ingest.params.source[c].mask = roll(2) ? memory.ingest.mask_frame[c] : NULL;
            expected.ingest.params.source[c].mask = memory.ingest.params.source[c].mask;
            for (int k = 0; i % 4 == 3 && k < VFRONT_PICTURE_BYTES; k++)
                memory.ingest.picture[step.parity][c][k] = expected.ingest.picture[step.parity][c][k] = 255;
        }
        for (int32_t c = 0; c < 2; c++) expect_camera(c);
        RUN(rectify);
        same_arena(what);
    }
}

static void nothing_to_do(void **state)
{
    (void)state;
    shake(7);
    scribble_arena();
    set_up(2, 64, 48, 0);
    RUN(rectify);
    same_arena("not rectified");
}

/** ingest writes images and masks to where rectify reads them; vf_usable() reads the rectified mask of the frame. */
static void planes(void **state)
{
    static uint8_t picture[2][40 * 30], mask[2][40 * 30];
    (void)state;
    shake(8);
    scribble_arena();
    set_up_pair(40, 30, 0);
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
                expected.ingest.picture[step.parity][c][64 * y + x] = picture[c][40 * y + x];
                expected.ingest.mask_frame[c][64 * y + x] = mask[c][40 * y + x];
            }
    }
    expected.ingest.params = pinned.params;
    RUN(ingest);
    same_arena("ingest for rectify");
    for (int c = 0; c < 2; c++) {
        step.geometry.masked[c] = c;
        const struct vf_masks *masks = &VIEW(detect)->masks;
        const int framed = vf_framed(&memory.ingest.params, c);
        for (int32_t i = 0; i < 64 * 30; i++)
            memory.ingest.mask_static[c][i] = (uint8_t)roll(2), memory.rectify.mask[c][i] = (uint8_t)roll(2);
        for (int32_t y = 0; y < 30; y++)
            for (int32_t x = 0; x < 40; x++) {
                const int shown = memory.rectify.mask[c][64 * y + x] &&
                                  (!c || memory.ingest.mask_static[c][64 * y + x]);
                assert_int_equal(vf_usable(masks, c, framed, 64 * y + x) != 0, shown);
            }
    }
}

/* ---- masks and the rectangle ------------------------------------------------------------------------------------- */

static vfront_status_t start(const vfront_rig_t *rig, vfront_tuning_t *t)
{
    t->rectify = 1;
    return vfront_init(&vf, rig, t, VFRONT_PORT_HOST);
}

/** Uses the context and remap tables of the front end `vf`. */
static void take_over(void)
{
    step = state_of()->step[state_of()->parity];
    memcpy(memory.rectify.remap, state_of()->memory->rectify.remap, sizeof memory.rectify.remap);
}

/** Compares the static mask of camera c. mask: of the rig, rows `pitch` bytes apart. Returns the number of usable
 *  pixels. */
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
            assert_true(info.camera[c].width_px == rig.camera[0].width_px &&
                        info.camera[c].height_px == rig.camera[0].height_px);
            both[left == 0]++;
        }
        vfront_shutdown(&vf);
    }
    assert_true(both[0] > 40);
}

/** Images rotated about their axis and shifted, so that the valid area is a slanted rectangle somewhere around the
 *  centre: often two rectangles in it are equally large. */
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
        struct vf_rectification r;
        int32_t valid[4];
        c.cx_px = (c.width_px - 1) / 2.0 + uniform(-shift, shift);
        c.cy_px = (c.height_px - 1) / 2.0 + uniform(-shift, shift);
        n.cx_px = (n.width_px - 1) / 2.0;
        n.cy_px = (n.height_px - 1) / 2.0;
        vf_rectification_make(&r, &c, &n, turn);
        set_up(2, n.width_px, n.height_px, 0);
        set_level(&step.geometry.raw[0], c.width_px, c.height_px, 0, VFRONT_WIDTH);
        for (int32_t j = 0; j < VF_REMAP_ENTRIES(n.height_px); j++)
            vf_remap_row(memory.rectify.remap[0] + j * VF_REMAP_ENTRIES(n.width_px), &r, j);
        find_seen();
        const int seen = vf_rectification_valid(valid, &r),
                  should = sees[0][n.height_px / 2 * n.width_px + n.width_px / 2];
        assert_int_equal(seen != 0, should);
        if (seen) check_valid(0, valid);
        middles[seen != 0]++;
    }
    assert_true(middles[0] > 3 && middles[1] > 200);
}

/** Entries beyond VF_REMAP_MAX_PX along either axis are invalid. */
static void far_entries(void **state)
{
    static const double straight[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    (void)state;
    shake(13);
    for (int along = 0; along < 3; along++) {
        vfront_camera_t c = random_camera(PINHOLE, 300, 300), n = c;
        struct vf_rectification r;
        n.fx_px = n.fy_px = 1;
        c.fx_px = along == 1 ? 1 : 300;
        c.fy_px = along == 2 ? 1 : 300;
        vf_rectification_make(&r, &c, &n, straight);
        const int held = check_table(&r, &c, &n, straight);
        assert_true(held > 10 && held < VF_REMAP_ENTRIES(300) * VF_REMAP_ENTRIES(300));
    }
}

/* ---- through the public interface -------------------------------------------------------------------------------- */

static uint8_t photo[2][320 * 240], hole[2][320 * 240];

/** Frame of the scene. All but the first have masks; images are drawn for the first one and kept. */
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

/** Compares level 0 with the scene as the cameras of vfront_info() see it. Returns the largest difference [grey
 *  levels]. */
static double compare_with_world(const vfront_info_t *info, int32_t parity)
{
    double worst = 0;
    for (int32_t c = 0; c < 2; c++) {
        const int32_t *v = info->valid_px[c], pitch = step.geometry.level[c][0].pitch;
        for (int32_t y = v[1]; y < v[1] + v[3]; y++)
            for (int32_t x = v[0]; x < v[0] + v[2]; x++) {
                long double d[3];
                assert_true(look(&info->camera[c], x, y, d));
                const double off = fabs(state_of()->memory->rectify.picture[parity][c][y * pitch + x] - world(d));
                worst = off > worst ? off : worst;
            }
    }
    return worst;
}

/** Compares the rectified masks of the frame. */
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

/** A rotation prior in axes of the rig's camera 0 becomes the homography of the rectified camera 0. */
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
        const double *R0 = rig.camera[0].R_cam_imu, *N0 = info.camera[0].R_cam_imu;
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
        const double from[3] = {(30 - info.camera[0].cx_px) / info.camera[0].fx_px,
                                (40 - info.camera[0].cy_px) / info.camera[0].fy_px, 1};
        double to[3], h[3];
        apply(to, seen, from);
        for (int k = 0; k < 3; k++)
            h[k] = 30.0 * (double)p->H[3 * k] + 40.0 * (double)p->H[3 * k + 1] + (double)p->H[3 * k + 2];
        assert_int_equal(p->rotation_given, 1);
        REQUIRE(fabs(h[0] / h[2] - (info.camera[0].fx_px * to[0] / to[2] + info.camera[0].cx_px)) < 1e-3, "x");
        REQUIRE(fabs(h[1] / h[2] - (info.camera[0].fy_px * to[1] / to[2] + info.camera[0].cy_px)) < 1e-3, "y");
        vfront_shutdown(&vf);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(rigs_stand_side_by_side),
        cmocka_unit_test(rough_rotations),
        cmocka_unit_test(baselines_are_level),
        cmocka_unit_test(table_against_lens_models),
        cmocka_unit_test(pixels_between_entries),
        cmocka_unit_test(stage_to_the_bit),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(planes),
        cmocka_unit_test(masks_and_rectangles),
        cmocka_unit_test(rectangles_in_turned_pictures),
        cmocka_unit_test(far_entries),
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
