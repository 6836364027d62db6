/* SPDX-License-Identifier: MIT */
/* track: accuracy on the scenes of track_oracle.h, with known true positions, and against its textbook tracker; every
 * reason for the end of a track; priors; templates that are kept and renewed. */
#include "track_oracle.h"

#include "tracking/patch.h"
#include "tracking/lucas_kanade.h"

/* ---- features ---------------------------------------------------------------------------------------------------- */

static struct vf_track_memory *const track = &memory.track;
static struct vf_refill_memory *const refill = &memory.refill;
static double start_x[VFRONT_TRACKS], start_y[VFRONT_TRACKS];

/** Sets up one camera without masks, in its second frame, without a prior. Returns 0 if the size exceeds the config. */
static int set_up_frame(int32_t width, int32_t height)
{
    if (!fits(width, height, width)) return 0;
    set_up(1, width, height, roll(2));
    memset(&memory.ingest.params, 0, sizeof memory.ingest.params);
    memory.ingest.params.frame = 1;
    refill->counts[step.parity ^ 1].count = 0;
    return 1;
}

/** Adds a new feature to the previous frame. Template indices do not follow the order of the features. */
static struct vf_feature *plant(double x, double y)
{
    const uint32_t i = refill->counts[step.parity ^ 1].count++;
    struct vf_feature *f = &refill->feature[step.parity ^ 1][i];
    memset(f, 0, sizeof *f);
    f->id = i + 1;
    f->template_index = (uint16_t)(VFRONT_TRACKS - 1 - i);
    f->template_due = 1;
    f->x_q16 = (int32_t)floor(x * 65536.0 + 0.5);
    f->y_q16 = (int32_t)floor(y * 65536.0 + 0.5);
    start_x[i] = f->x_q16 / 65536.0;
    start_y[i] = f->y_q16 / 65536.0;
    return f;
}

/** Adds as many features as fit, at random positions at least `margin` from every border. */
static void plant_many(int32_t most, double margin)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    refill->counts[step.parity ^ 1].count = 0;
    for (int32_t i = 0; i < most && i < VFRONT_TRACKS; i++) {
        const double x = margin + uniform() * (l->width - 1 - 2 * margin);
        plant(x, margin + uniform() * (l->height - 1 - 2 * margin));
    }
}

/** Features at corners of the chess board, at least `margin` from every border in both frames. */
static void plant_corners(double margin)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    refill->counts[step.parity ^ 1].count = 0;
    for (int i = 0; i < EDGES * EDGES && refill->counts[step.parity ^ 1].count < VFRONT_TRACKS; i++) {
        const double x = scene.edge[0][i % EDGES] + uniform() - 0.5;
        const double y = scene.edge[1][i / EDGES] + uniform() - 0.5;
        if (x >= margin && y >= margin && x <= l->width - 1 - margin && y <= l->height - 1 - margin) plant(x, y);
    }
}

static uint32_t planted(void) { return refill->counts[step.parity ^ 1].count; }

/** Result of a frame, against the true shift of all features. */
struct outcome {
    int all, kept, right; /* right: within 1 px */
    double rmse;          /* of the kept, of both axes [px] */
    double worst;         /* of the kept, in one axis [px] */
};

static struct outcome measure(double dx, double dy)
{
    struct outcome o = {(int)planted(), 0, 0, 0, 0};
    for (uint32_t i = 0; i < planted(); i++) {
        const struct vf_feature *f = &track->moved[i];
        if (f->end) continue;
        const double ex = f->x_q16 / 65536.0 - start_x[i] - dx, ey = f->y_q16 / 65536.0 - start_y[i] - dy;
        o.kept++;
        o.right += hypot(ex, ey) < 1.0;
        o.rmse += (ex * ex + ey * ey) / 2.0;
        o.worst = fmax(o.worst, fmax(fabs(ex), fabs(ey)));
    }
    o.rmse = o.kept ? sqrt(o.rmse / o.kept) : 0.0;
    return o;
}

static struct outcome run(double dx, double dy)
{
    RUN(track);
    return measure(dx, dy);
}

static int ended(uint32_t end)
{
    int count = 0;
    for (uint32_t i = 0; i < planted(); i++) count += track->moved[i].end == end;
    return count;
}

/** Begins a frame of a sequence: live features become those of the previous frame, and the pyramids are exchanged. */
static void next_frame(void)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < planted(); i++) {
        if (track->moved[i].end) continue;
        start_x[live] = start_x[i];
        start_y[live] = start_y[i];
        refill->feature[step.parity][live++] = track->moved[i];
    }
    step.parity ^= 1;
    refill->counts[step.parity ^ 1].count = live;
    memory.ingest.params.frame++;
}

/* ---- accuracy: known shift, gain and offset ---------------------------------------------------------------------- */

/** Requirements of standard tuning on the config. */
static int standard_config(void) { return VFRONT_ITERATIONS >= 8 && VFRONT_LEVELS >= 5 && VFRONT_TRACKS >= 128; }

enum subject { ON_WAVES, ON_CORNERS };

static struct outcome rendered(enum subject subject, int32_t photometric, double shift, double sigma)
{
    const double margin = 24.0 + shift, angle = 2.0 * PI * uniform();
    struct exposure v = {shift * cos(angle), shift * sin(angle), 1, 0, sigma}, before = still;
    if (photometric & VFRONT_PHOTOMETRIC_GAIN) v.gain = roll(2) ? 0.7 + 0.2 * uniform() : 1.1 + 0.3 * uniform();
    if (photometric & VFRONT_PHOTOMETRIC_OFFSET) v.offset = copysign(10.0 + 20.0 * uniform(), v.dx);
    before.sigma = sigma;
    step.tuning.track_photometric = photometric;
    clear(100.0);
    if (subject == ON_CORNERS) {
        add_chess(35.0, 1.5 + uniform());
        add_waves(8.0, 40.0, 300.0);
    } else {
        add_waves(20.0, 7.0, 240.0);
    }
    draw(0, before);
    draw(1, v);
    if (subject == ON_CORNERS)
        plant_corners(margin);
    else
        plant_many(200, margin);
    const struct outcome o = run(v.dx, v.dy);
    for (uint32_t i = 0; i < planted(); i++) {
        const struct vf_feature *f = &track->moved[i];
        if (f->end) continue;
        const double gain = 1.0 + f->alpha_q14 / 16384.0, at_mean = gain * 100.0 + f->offset_q5 / 32.0;
        REQUIRE(photometric & VFRONT_PHOTOMETRIC_GAIN || f->alpha_q14 == 0, "a gain without a model of it");
        REQUIRE(photometric & VFRONT_PHOTOMETRIC_OFFSET || f->offset_q5 == 0, "an offset without a model of it");
        if (sigma > 0.0) continue;
        REQUIRE(fabs(gain - v.gain) < 0.1, "gain %.3f is %.3f", v.gain, gain);
        REQUIRE(fabs(at_mean - (v.gain * 100.0 + v.offset)) < 3.0, "grey level 100 becomes %.2f, not %.2f", at_mean,
                v.gain * 100.0 + v.offset);
        REQUIRE(f->residual_q3 <= 32, "residual %.2f without noise", f->residual_q3 / 8.0);
    }
    return o;
}

/** Checks the root mean square error of all kept features over all shifts, for one subject, photometric model and
 *  noise. */
static void require_exact(enum subject subject, int32_t photometric, double sigma, double limit)
{
    static const double shift[] = {0.0, 0.3, 0.5, 0.7, 1.0, 3.3, 8.1, 17.6, 31.2};
    double sum = 0.0;
    int all = 0, kept = 0;
    for (size_t i = 0; i < sizeof shift / sizeof *shift; i++) {
        if (subject == ON_CORNERS && shift[i] > 10.0)
            continue; /* beyond a third of a field any tracker may take the next corner */
        const struct outcome o = rendered(subject, photometric, shift[i], sigma);
        sum += o.rmse * o.rmse * o.kept;
        all += o.all;
        kept += o.kept;
    }
    const double rmse = sqrt(sum / kept);
    print_message("    %s, light %d, noise %g: RMSE %.4f px, %d of %d kept\n",
                  subject == ON_WAVES ? "waves" : "corners", photometric, sigma, rmse, kept, all);
    REQUIRE(rmse <= limit, "RMSE %.4f px over %g", rmse, limit);
    REQUIRE(kept * 100 >= all * 99, "only %d of %d kept", kept, all);
}

static void exact_without_noise(void **state)
{
    (void)state;
    shake(1);
    if (!standard_config() || !set_up_frame(384, 320)) skip();
    for (int32_t photometric = 0; photometric <= 3; photometric++) {
        require_exact(ON_WAVES, photometric, 0.0, 0.03);
        require_exact(ON_CORNERS, photometric, 0.0, 0.03);
    }
}

static void exact_with_noise(void **state)
{
    (void)state;
    shake(2);
    if (!standard_config() || !set_up_frame(384, 320)) skip();
    for (int32_t photometric = 0; photometric <= 3; photometric++) {
        require_exact(ON_WAVES, photometric, 4.0, 0.1);
        require_exact(ON_CORNERS, photometric, 4.0, 0.1);
    }
}

/** Patches of 8x8 px on all levels have a quarter of the pixels, so twice the error. */
static void small_patches(void **state)
{
    (void)state;
    shake(3);
    if (!standard_config() || !set_up_frame(384, 320)) skip();
    step.tuning.track_patch8_level = 0;
    for (int i = 0; i < 4; i++) {
        struct outcome o = rendered(ON_CORNERS, i, 0.4 + 0.3 * i, 0.0);
        REQUIRE(o.kept == o.all && o.rmse <= 0.03, "light %d: RMSE %.4f px, %d of %d kept", i, o.rmse, o.kept, o.all);
        o = rendered(ON_CORNERS, VFRONT_PHOTOMETRIC_NONE, 0.4 + 0.3 * i, 4.0);
        REQUIRE(o.kept == o.all && o.rmse <= 0.2, "noise 4: RMSE %.4f px, %d of %d kept", o.rmse, o.kept, o.all);
    }
}

/** Odd and smallest sizes, rows with padding, and patches that cross the border on every level. */
static void sizes_and_borders(void **state)
{
    (void)state;
    static const int32_t size[][2] = {{131, 77},  {97, 255}, {64, 64}, {191, 143},
                                      {641, 479}, {33, 17},  {17, 33}, {16, 16}};
    shake(4);
    int done = 0;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        if (VFRONT_ITERATIONS < 8 || !set_up_frame(size[i][0], size[i][1])) continue;
        const double least = fmin(size[i][0], size[i][1]), margin = least < 64 ? 6.0 : 4.0;
        const struct exposure v = {0.6, -0.4, 1, 0, 0};
        step.tuning.detect_border_px = 3;
        clear(110.0);
        add_waves(25.0, 9.0, 60.0);
        draw(0, still);
        draw(1, v);
        plant_many(120, margin);
        const struct outcome o = run(v.dx, v.dy);
        REQUIRE(o.kept == o.all && o.rmse <= 0.08 && o.worst <= 0.5, "%dx%d: %d of %d kept, RMSE %.4f px, worst %.4f",
                size[i][0], size[i][1], o.kept, o.all, o.rmse, o.worst);
        done++;
    }
    if (!done) skip();
}

/* ---- a textbook tracker in double precision ---------------------------------------------------------------------- */

static void agrees_with_the_textbook(void **state)
{
    (void)state;
    shake(5);
    if (!standard_config() || !set_up_frame(384, 320)) skip();
    for (int i = 0; i < 4; i++) {
        const struct exposure v = {2.3 * i + 0.37, -1.7 * i + 0.81, 1.0 + 0.08 * i, -5.0 * i, 0.5 * i};
        clear(100.0);
        add_chess(35.0, 1.8);
        add_waves(10.0, 12.0, 200.0);
        draw(0, still);
        draw(1, v);
        plant_corners(40.0);
        RUN(track);
        for (uint32_t k = 0; k < planted(); k++) {
            const struct vf_feature *f = &track->moved[k];
            double x = start_x[k] + v.dx, y = start_y[k] + v.dy;
            textbook(start_x[k], start_y[k], &x, &y);
            REQUIRE(!f->end && fabs(f->x_q16 / 65536.0 - x) <= 0.02 && fabs(f->y_q16 / 65536.0 - y) <= 0.02,
                    "case %d, feature %u, end %d: (%.4f, %.4f), the textbook says (%.4f, %.4f)", i, k, f->end,
                    f->x_q16 / 65536.0, f->y_q16 / 65536.0, x, y);
        }
    }
}

/* ---- reasons for which tracks end -------------------------------------------------------------------------------- */

static int easy_scene(void)
{
    if (VFRONT_ITERATIONS < 8 || VFRONT_TRACKS < 32 || !set_up_frame(190, 140)) return 0;
    clear(110.0);
    add_waves(25.0, 9.0, 90.0);
    draw(0, still);
    return 1;
}

static void ends_at_the_border(void **state)
{
    (void)state;
    shake(6);
    if (!easy_scene()) skip();
    static const struct {
        double x, y, dx, dy;
    } variant[] = {{11, 70, -2, 0}, {178, 70, 2, 0}, {90, 11, 0, -2}, {90, 128, 0, 2}};
    for (int i = 0; i < 4; i++) {
        const struct exposure v = {variant[i].dx, variant[i].dy, 1, 0, 0};
        draw(1, v);
        refill->counts[step.parity ^ 1].count = 0;
        plant(variant[i].x, variant[i].y);
        plant(variant[i].x - 2 * variant[i].dx,
              variant[i].y - 2 * variant[i].dy); /* moves equally, but stays well inside */
        step.tuning.detect_border_px = 8;
        REQUIRE(run(v.dx, v.dy).kept == 2, "border %d: 9 px from the border is inside", i);
        step.tuning.detect_border_px = 10;
        RUN(track);
        REQUIRE(track->moved[0].end == VFRONT_END_BORDER && !track->moved[1].end, "border %d, margin 10: ends %d %d", i,
                track->moved[0].end, track->moved[1].end);
        REQUIRE(track->moved[0].x_q16 == (int32_t)(start_x[0] * 65536.0) && track->moved[0].age == 0,
                "what ends stays where it was");
    }
}

static void ends_under_a_mask(void **state)
{
    (void)state;
    static const uint8_t there = 1;
    shake(7);
    if (!easy_scene()) skip();
    const struct exposure v = {3, 2, 1, 0, 0};
    draw(1, v);
    plant(60.2, 60.2);
    plant(120.0, 80.0);
    for (int frame_mask = 0; frame_mask < 2; frame_mask++) {
        uint8_t *mask = frame_mask ? memory.ingest.mask_frame[0] : memory.ingest.mask_static[0];
        memset(mask, 1, sizeof memory.ingest.mask_frame[0]);
        mask[62 * step.geometry.level[0][0].pitch + 63] = 0; /* one pixel, the first feature's next position */
        step.geometry.masked[0] = !frame_mask;
        memory.ingest.params.source[0].mask = frame_mask ? &there : NULL;
        RUN(track);
        REQUIRE(track->moved[0].end == VFRONT_END_MASK && !track->moved[1].end, "ends %d %d", track->moved[0].end,
                track->moved[1].end);
        step.geometry.masked[0] = 0;
        memory.ingest.params.source[0].mask = NULL;
        assert_int_equal(run(v.dx, v.dy).kept, 2);
    }
}

/** Without a photometric model an offset is all residual. */
static void ends_by_residual(void **state)
{
    (void)state;
    shake(8);
    if (!easy_scene()) skip();
    const struct exposure v = {0, 0, 1, 15, 0};
    draw(1, v);
    plant_many(30, 30.0);
    step.tuning.track_photometric = VFRONT_PHOTOMETRIC_NONE;
    step.tuning.track_iterations = 1; /* before it compensates the offset */
    step.tuning.track_levels = 1;
    step.tuning.track_residual_grey = 16;
    step.tuning.track_residual_percent = 0;
    step.tuning.track_back_mpx = 0;
    RUN(track);
    assert_int_equal(ended(0), planted());
    step.tuning.track_residual_grey = 14;
    RUN(track);
    assert_int_equal(ended(VFRONT_END_RESIDUAL), planted());
    step.tuning.track_photometric = VFRONT_PHOTOMETRIC_OFFSET;
    step.tuning.track_iterations = 2;
    RUN(track);
    assert_int_equal(ended(0), planted());
}

/** The residual bound grows with the contrast of the patch, which excludes the noise of the image. */
static void contrast_allows_a_residual(void **state)
{
    (void)state;
    shake(21);
    if (VFRONT_ITERATIONS < 8 || VFRONT_TRACKS < 32 || !set_up_frame(190, 140)) skip();
    int faint = 0;
    for (int loud = 0; loud < 2; loud++) {
        const double deviation = loud ? 40.0 : 10.0;
        clear(120.0);
        add_waves(deviation, 9.0, 14.0);                 /* short waves, all within a patch */
        const struct exposure noisy = {0, 0, 1, 0, 6.0}; /* 4.8 on average, half of it between pixels */
        draw(0, still);
        draw(1, noisy);
        refill->counts[step.parity ^ 1].count = 0;
        plant_many(30, 30.0);
        step.tuning.track_back_mpx = 0;
        step.tuning.track_residual_grey = 1;
        step.tuning.track_residual_percent = 10; /* 2 and 5 grey levels */
        RUN(track);
        const int out = ended(VFRONT_END_RESIDUAL);
        for (uint32_t i = 0; i < planted(); i++) {
            const double is = track->template_normal[track->moved[i].template_index].contrast;
            double sum = 0, square = 0;
            for (int k = 0; k < 256; k++) {
                const double g = sample(0, start_x[i] + k % 16 - 7.5, start_y[i] + k / 16 - 7.5);
                sum += g;
                square += g * g;
            }
            const double should = sqrt(square / 256 - sum * sum / 65536);
            REQUIRE(fabs(is - should) < 0.1, "contrast %.3f, not %.3f", is, should);
        }
        if (loud)
            REQUIRE(out * 10 <= (int)planted(), "high contrast: %d of %u ended", out, planted());
        else
            faint = out;
    }
    REQUIRE(faint * 10 >= (int)planted() * 9, "low contrast: only %d of %u ended", faint, planted());
}

/** 1 if the normal equations of a patch of 16x16 px with this structure tensor are valid (mean over the pixels) [grey
 *  level^2/px^2]. */
static int has_texture(double xx, double xy, double yy)
{
    struct vf_template_moments m;
    struct vf_align_tuning tuning;
    memset(&m, 0, sizeof m);
    memset(&tuning, 0, sizeof tuning);
    m.xx = (int32_t)(256.0 * 256.0 * xx);
    m.xy = (int32_t)(256.0 * 256.0 * xy);
    m.yy = (int32_t)(256.0 * 256.0 * yy);
    return vf_track_template_normal(&m, 256, 0, 0, &tuning).valid;
}

/** Texture in all directions, in all but one, in none: the smaller eigenvalue must be 0.1. A plain wall ends it. */
static void ends_without_texture(void **state)
{
    (void)state;
    shake(9);
    assert_true(has_texture(0.101, 0, 0.101) && has_texture(20.0, 0, 0.101) && has_texture(0.101, 0, 20.0));
    assert_false(has_texture(0.099, 0, 0.099) || has_texture(20.0, 0, 0.099) || has_texture(0.099, 0, 20.0));
    assert_true(has_texture(10.0, 9.89, 10.0) && has_texture(10.0, -9.89, 10.0));
    assert_false(has_texture(10.0, 9.91, 10.0) || has_texture(10.0, -9.91, 10.0));
    if (!set_up_frame(190, 140)) skip();
    clear(77.0);
    draw(0, still);
    draw(1, still);
    plant_many(30, 30.0);
    RUN(track);
    assert_int_equal(ended(VFRONT_END_TEXTURE), planted());
}

/** A low-contrast template against a high-contrast image: the first step already diverges. */
static void ends_when_it_runs_away(void **state)
{
    (void)state;
    shake(10);
    if (!easy_scene()) skip();
    const struct exposure faint = {0, 0, 0.08, 100, 0}, strong = {2.0, 2.0, 3.0, -200, 0};
    draw(0, faint);
    draw(1, strong);
    plant_many(30, 30.0);
    step.tuning.track_photometric = VFRONT_PHOTOMETRIC_NONE;
    step.tuning.track_levels = 1;
    step.tuning.track_residual_grey = 255;
    RUN(track);
    REQUIRE(ended(VFRONT_END_DIVERGED) * 10 >= (int)planted() * 8, "only %d of %d", ended(VFRONT_END_DIVERGED),
            (int)planted());
    REQUIRE(ended(VFRONT_END_DIVERGED) + ended(0) == (int)planted(), "something else");
}

/** Forward-backward check: an occluder is tracked instead of the feature, and does not lead back. */
static void ends_by_the_check_backwards(void **state)
{
    (void)state;
    shake(11);
    if (!easy_scene()) skip();
    const struct exposure noisy = {1.3, -0.7, 1, 0, 5};
    draw(1, noisy);
    plant_many(30, 30.0);
    step.tuning.track_back_mpx = 1000;
    const struct outcome o = run(noisy.dx, noisy.dy);
    REQUIRE(o.kept == o.all && o.right == o.all, "noise alone: %d of %d kept", o.kept, o.all);
    step.tuning.track_back_mpx = 1;
    RUN(track);
    REQUIRE(ended(VFRONT_END_BACK) * 10 >= (int)planted() * 9, "1/1000 px: only %d ended", ended(VFRONT_END_BACK));

    scene.wave[3].phase += 2.0; /* half of the waves move differently */
    for (int i = 0; i < WAVES; i += 2) scene.wave[i].phase += 2.5;
    draw(1, still);
    step.tuning.track_residual_grey = 255;
    step.tuning.track_back_mpx = 0;
    RUN(track);
    const int without = ended(0);
    step.tuning.track_back_mpx = 300;
    RUN(track);
    REQUIRE(without >= 20 && ended(VFRONT_END_BACK) >= without / 4, "%d kept without the check, %d ended by it",
            without, ended(VFRONT_END_BACK));
}

/* ---- priors ------------------------------------------------------------------------------------------------------ */

#define FAR_PX 150.0

/** Scene with a shift far beyond the tracker's reach. */
static int far_scene(void)
{
    if (!standard_config() || !set_up_frame(512, 320)) return 0;
    const struct exposure v = {FAR_PX, 20, 1, 0, 0};
    clear(110.0);
    add_waves(25.0, 9.0, 60.0);
    draw(0, still);
    draw(1, v);
    refill->counts[step.parity ^ 1].count = 0;
    for (int i = 0; i < 40; i++) {
        const double x = 40.0 + uniform() * 250.0;
        plant(x, 40.0 + uniform() * 220.0);
    }
    return 1;
}

static void move_by(double dx, double dy)
{
    const float H[9] = {1, 0, (float)dx, 0, 1, (float)dy, 0, 0, 1};
    memory.ingest.params.rotation_given = 1;
    memcpy(memory.ingest.params.H, H, sizeof H);
}

static void remember_speed(double dx, double dy)
{
    for (uint32_t i = 0; i < planted(); i++) {
        refill->feature[step.parity ^ 1][i].dx_q16 = (int32_t)(dx * 65536.0);
        refill->feature[step.parity ^ 1][i].dy_q16 = (int32_t)(dy * 65536.0);
        refill->feature[step.parity ^ 1][i].age = 1;
    }
}

static void priors_lead_far(void **state)
{
    (void)state;
    shake(12);
    if (!far_scene()) skip();
    RUN(track);
    REQUIRE(measure(FAR_PX, 20).right < 10, "the shift is within reach: this test is blunt");

    move_by(FAR_PX + 4.0, 17.0);
    struct outcome o = run(FAR_PX, 20);
    REQUIRE(o.right == o.all && o.rmse <= 0.03, "rotation: %d of %d, RMSE %.4f", o.right, o.all, o.rmse);
    step.tuning.track_prior = VFRONT_PRIOR_VELOCITY; /* the rotation is not used */
    REQUIRE(run(FAR_PX, 20).right < 10, "a rotation was used unasked");

    remember_speed(FAR_PX - 4.0, 23.0);
    o = run(FAR_PX, 20);
    REQUIRE(o.right == o.all && o.rmse <= 0.03, "velocity: %d of %d, RMSE %.4f", o.right, o.all, o.rmse);
    step.tuning.track_prior = VFRONT_PRIOR_ROTATION;
    memory.ingest.params.rotation_given = 0;
    REQUIRE(run(FAR_PX, 20).right < 10, "a velocity was used unasked");

    step.tuning.track_prior = VFRONT_PRIOR_BOTH; /* the rotation comes first */
    assert_int_equal(run(FAR_PX, 20).right, planted());
    move_by(-60.0, 0.0);
    REQUIRE(run(FAR_PX, 20).right < 10, "the velocity went before the rotation");
}

/** Predicted motion that moves points of mean depth by (dx, dy): a translation across the optical axis. */
static void expect_shift(double dx, double dy)
{
    vfront_prediction_t *p = &memory.predict.now;
    step.geometry.calibrated[0] = 1;
    step.geometry.focal_px[0] = 400.0f;
    step.geometry.centre_px[0] = 250.0f;
    step.geometry.centre_px[1] = 150.0f;
    memset(&memory.predict, 0, sizeof memory.predict);
    for (int k = 0; k < 9; k++) p->R[k] = k % 4 ? 0.0f : 1.0f;
    memory.predict.prior.mean_1pm = 0.25f;
    p->t[0] = (float)(dx / 400.0 / 0.25);
    p->t[1] = (float)(dy / 400.0 / 0.25);
    p->source = VFRONT_PREDICT_MOTION;
}

/** New features start where the predicted motion moves a point of mean depth; older ones by their velocity. */
static void new_features_follow_the_prediction(void **state)
{
    (void)state;
    shake(14);
    if (!far_scene()) skip();
    memset(&memory.predict, 0, sizeof memory.predict);
    for (uint32_t i = 0; i < planted(); i++) refill->feature[step.parity ^ 1][i].age = 0;
    REQUIRE(run(FAR_PX, 20).right < 10, "the shift is within reach: this test is blunt");
    expect_shift(FAR_PX - 4.0, 23.0);
    struct outcome o = run(FAR_PX, 20);
    REQUIRE(o.right == o.all && o.rmse <= 0.03, "%d of %d, RMSE %.4f", o.right, o.all, o.rmse);
    memory.predict.now.source = 0;
    REQUIRE(run(FAR_PX, 20).right < 10, "a motion that is not predicted was used");
    expect_shift(FAR_PX, 20.0);
    step.tuning.track_prior = VFRONT_PRIOR_ROTATION;
    REQUIRE(run(FAR_PX, 20).right < 10, "a prediction was used unasked");
    step.tuning.track_prior = VFRONT_PRIOR_VELOCITY;
    for (uint32_t i = 0; i < planted(); i++) refill->feature[step.parity ^ 1][i].age = 3;
    REQUIRE(run(FAR_PX, 20).right < 10, "a feature with a velocity did not keep it");

    /* a rotation of 0.2 rad about the y axis moves points by x' = (x c + s) / (c - x s); points behind the camera
     * stay */
    expect_shift(0.0, 0.0);
    for (uint32_t i = 0; i < planted(); i++) refill->feature[step.parity ^ 1][i].age = 0;
    float *R = memory.predict.now.R;
    R[0] = R[8] = (float)cos(0.2);
    R[2] = (float)sin(0.2);
    R[6] = -R[2];
    const struct vf_track_view *view = VIEW(track);
    for (int i = 0; i < 100; i++) {
        const double x = 500.0 * uniform(), y = 300.0 * uniform(), u = (x - 250.0) / 400.0, v = (y - 150.0) / 400.0,
                     z = cos(0.2) - u * sin(0.2);
        struct vf_feature f = {0};
        f.x_q16 = (int32_t)(x * 65536.0);
        f.y_q16 = (int32_t)(y * 65536.0);
        const struct vf_track_estimate e = vf_track_predict(view, &f, &memory.ingest.params);
        REQUIRE(fabs(e.x_q16 / 65536.0 - (400.0 * (u * cos(0.2) + sin(0.2)) / z + 250.0)) < 1e-3, "x of a turn");
        REQUIRE(fabs(e.y_q16 / 65536.0 - (400.0 * v / z + 150.0)) < 1e-3, "y of a turn");
    }
    R[0] = R[8] = -1.0f; /* behind the camera: not used */
    R[2] = R[6] = 0.0f;
    const struct vf_feature f = {.x_q16 = 1 << 20, .y_q16 = 1 << 21};
    const struct vf_track_estimate e = vf_track_predict(view, &f, &memory.ingest.params);
    assert_true(e.x_q16 == f.x_q16 && e.y_q16 == f.y_q16);
}

/** A tracked feature keeps its parallax: its displacement without the previous rotation, rotated by the expected
 *  rotation and scaled by the ratio of the intervals. */
static void parallax_continues_under_a_rotation(void **state)
{
    (void)state;
    shake(22);
    if (!far_scene()) skip();
    expect_shift(0.0, 0.0);
    const double turn[2] = {0.03, -0.11}; /* about the y axis: before, now */
    struct vf_parallax_prior *p = &memory.predict.parallax;
    p->ratio = 1.5f;
    for (int now = 0; now < 2; now++) {
        float *R = now ? memory.predict.now.R : p->R;
        const double c = cos(turn[now]), s = sin(turn[now]);
        const double given[9] = {c, 0, s, 0, 1, 0, -s, 0, c};
        for (int k = 0; k < 9; k++) R[k] = (float)given[k];
    }
    memory.predict.now.source = VFRONT_PREDICT_ROTATION;
    memory.ingest.params.rotation_given = 1;
    step.tuning.track_prior = VFRONT_PRIOR_BOTH;
    const struct vf_track_view *view = VIEW(track);
    for (int i = 0; i < 200; i++) {
        struct vf_feature f = {.age = 1};
        f.x_q16 = (int32_t)(500.0 * uniform() * 65536.0);
        f.y_q16 = (int32_t)(300.0 * uniform() * 65536.0);
        f.dx_q16 = (int32_t)((uniform() - 0.5) * 60.0 * 65536.0);
        f.dy_q16 = (int32_t)((uniform() - 0.5) * 60.0 * 65536.0);
        double b[2][3], there[3]; /* bearings: before, last; predicted */
        for (int last = 0; last < 2; last++) {
            b[last][0] = ((f.x_q16 - (last ? 0 : f.dx_q16)) / 65536.0 - 250.0) / 400.0;
            b[last][1] = ((f.y_q16 - (last ? 0 : f.dy_q16)) / 65536.0 - 150.0) / 400.0;
            const double length = sqrt(b[last][0] * b[last][0] + b[last][1] * b[last][1] + 1.0);
            b[last][0] /= length;
            b[last][1] /= length;
            b[last][2] = 1.0 / length;
        }
        const double c = cos(turn[0]), s = sin(turn[0]);
        const double turned[3] = {c * b[0][0] + s * b[0][2], b[0][1], -s * b[0][0] + c * b[0][2]};
        double w[3];
        for (int k = 0; k < 3; k++) w[k] = b[1][k] + 1.5 * (b[1][k] - turned[k]);
        there[0] = cos(turn[1]) * w[0] + sin(turn[1]) * w[2];
        there[1] = w[1];
        there[2] = -sin(turn[1]) * w[0] + cos(turn[1]) * w[2];
        const struct vf_track_estimate e = vf_track_predict(view, &f, &memory.ingest.params);
        REQUIRE(fabs(e.x_q16 / 65536.0 - (400.0 * there[0] / there[2] + 250.0)) < 2e-3, "x %.4f, not %.4f",
                e.x_q16 / 65536.0, 400.0 * there[0] / there[2] + 250.0);
        REQUIRE(fabs(e.y_q16 / 65536.0 - (400.0 * there[1] / there[2] + 150.0)) < 2e-3, "y %.4f, not %.4f",
                e.y_q16 / 65536.0, 400.0 * there[1] / there[2] + 150.0);
    }
}

/** A wrong prior loses no tracks if failed ones are retried from their previous position. */
static void misled_by_a_prior(void **state)
{
    (void)state;
    shake(13);
    if (!far_scene()) skip();
    const struct exposure v = {1.5, -2.5, 1, 0, 0};
    draw(1, v);
    move_by(FAR_PX, 20.0);
    step.tuning.track_residual_grey = 6;
    step.tuning.track_retry = 0;
    const struct outcome once = run(v.dx, v.dy);
    step.tuning.track_retry = 1;
    const struct outcome twice = run(v.dx, v.dy);
    REQUIRE(once.right * 2 < once.all, "%d of %d found from a false guess: this test is blunt", once.right, once.all);
    REQUIRE(twice.right * 10 >= twice.all * 9, "only %d of %d found when tried again", twice.right, twice.all);

    const float behind[9] = {1, 0, 0, 0, 1, 0, 0, 0, -1}; /* predicts positions behind the camera: not used */
    memcpy(memory.ingest.params.H, behind, sizeof behind);
    step.tuning.track_retry = 0;
    assert_int_equal(run(v.dx, v.dy).right, planted());
    move_by(1e30, 0.0); /* a prediction far outside is not used either */
    assert_int_equal(run(v.dx, v.dy).right, planted());
}

/* ---- several frames ---------------------------------------------------------------------------------------------- */

static int16_t template_before[VFRONT_TRACKS][3][VF_PATCH_PIXELS];

/** Number of features whose template changed. */
static int templates_taken(void)
{
    int taken = 0;
    for (uint32_t i = 0; i < planted(); i++) {
        const uint16_t index = refill->feature[step.parity ^ 1][i].template_index;
        taken += memcmp(template_before[index], track->templates[index], sizeof track->templates[index]) != 0;
    }
    memcpy(template_before, track->templates, sizeof template_before);
    return taken;
}

/** Random walk of 12 frames with noise and changing illumination. Returns the error at its end. */
static struct outcome walk(int32_t template_frames, double sigma, int *taken)
{
    struct exposure v = {0, 0, 1, 0, sigma};
    step.tuning.track_template_frames = template_frames;
    memory.ingest.params.frame = 1;
    clear(110.0);
    add_chess(30.0, 1.8);
    add_waves(12.0, 12.0, 200.0);
    draw(0, v);
    plant_corners(70.0);
    const uint32_t all = planted();
    *taken = 0;
    for (int i = 1; i <= 12; i++) {
        v.dx += 3.0 * random_normal();
        v.dy += 3.0 * random_normal();
        v.gain = 1.0 + 0.02 * i;
        v.offset = -1.5 * i;
        draw(1, v);
        memcpy(template_before, track->templates, sizeof template_before);
        RUN(track);
        *taken += templates_taken();
        for (uint32_t k = 0; k < planted(); k++) {
            const struct vf_feature *f = &track->moved[k];
            REQUIRE(f->end || f->age == (uint32_t)i, "age %u in frame %d", f->age, i);
            const int due = template_frames && i / template_frames * template_frames == i;
            REQUIRE(f->end || f->template_due == due, "template_due %d in frame %d", f->template_due, i);
        }
        if (i < 12) next_frame();
    }
    REQUIRE((int)planted() == (int)all, "lost on the way: %u of %u left", planted(), all);
    return measure(v.dx, v.dy);
}

/** A kept template does not drift; one extracted from every frame accumulates all errors. */
static void templates_are_kept(void **state)
{
    (void)state;
    int taken;
    shake(14);
    if (!standard_config() || !set_up_frame(384, 320)) skip();
    const struct outcome quiet = walk(0, 0.0, &taken);
    REQUIRE(quiet.kept == quiet.all && quiet.rmse <= 0.03, "%d of %d kept, RMSE %.4f px", quiet.kept, quiet.all,
            quiet.rmse);
    assert_int_equal(taken, planted()); /* in the first frame */
    const struct outcome kept = walk(0, 2.0, &taken);
    REQUIRE(kept.kept == kept.all && kept.rmse <= 0.1, "%d of %d kept, RMSE %.4f px", kept.kept, kept.all, kept.rmse);
    const struct outcome always = walk(1, 2.0, &taken);
    assert_int_equal(taken, 12 * planted());
    REQUIRE(always.rmse > 1.15 * kept.rmse, "kept %.4f px, always anew %.4f px", kept.rmse, always.rmse);
    walk(5, 2.0, &taken);
    assert_int_equal(taken, 3 * planted());
}

/** A template with a large residual is renewed, and gain and offset restart from its own image. */
static void template_of_a_large_residual(void **state)
{
    (void)state;
    shake(15);
    if (!easy_scene()) skip();
    const struct exposure clean = {1.2, 0.4, 1.1, 4, 2}, noisy = {1.2, 0.4, 1.1, 4, 14};
    draw(1, clean);
    plant_many(30, 30.0);
    assert_int_equal(run(clean.dx, clean.dy).kept, planted());
    for (uint32_t i = 0; i < planted(); i++) assert_false(track->moved[i].template_due);
    draw(1, noisy);
    assert_int_equal(run(noisy.dx, noisy.dy).kept, planted());
    for (uint32_t i = 0; i < planted(); i++) {
        const struct vf_feature *f = &track->moved[i];
        REQUIRE(f->template_due && f->alpha_q14 == 0 && f->offset_q5 == 0, "residual %.2f, template_due %d",
                f->residual_q3 / 8.0, f->template_due);
    }
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

/** One step on one level is the solution of the normal equations in double precision: no more steps than allowed. */
static void takes_the_steps_it_may(void **state)
{
    (void)state;
    shake(16);
    if (!easy_scene()) skip();
    const struct exposure v = {1.1, -0.8, 1, 0, 0};
    const struct vf_level *l = &step.geometry.level[0][0];
    draw(1, v);
    plant_many(24, 30.0);
    for (int i = 0; i < 4; i++) { /* some patches cross the border, where gradients do not count */
        plant(i % 2 ? 5.3 : l->width - 6.2, 60.0 + 3.4 * i);
        plant(70.0 + 3.4 * i, i % 2 ? 5.3 : l->height - 6.2);
    }
    step.tuning.detect_border_px = 3;
    step.tuning.track_levels = 1;
    step.tuning.track_photometric = VFRONT_PHOTOMETRIC_NONE;
    step.tuning.track_iterations = 1;
    RUN(track);
    for (uint32_t i = 0; i < planted(); i++) {
        double xx = 0, xy = 0, yy = 0, bx = 0, by = 0;
        for (int k = 0; k < 256; k++) {
            const double x = start_x[i] + k % 16 - 7.5, y = start_y[i] + k / 16 - 7.5;
            if (x < 0 || y < 0 || x >= l->width - 1 || y >= l->height - 1) continue;
            const double gx = (sample(0, x + 1, y) - sample(0, x - 1, y)) / 2;
            const double gy = (sample(0, x, y + 1) - sample(0, x, y - 1)) / 2;
            const double r = sample(1, x, y) - sample(0, x, y);
            xx += gx * gx, xy += gx * gy, yy += gy * gy, bx += gx * r, by += gy * r;
        }
        const double damping = (xx + yy) / 32.0, det = (xx + damping) * (yy + damping) - xy * xy;
        const double x = start_x[i] - ((yy + damping) * bx - xy * by) / det,
                     y = start_y[i] - ((xx + damping) * by - xy * bx) / det;
        const struct vf_feature *f = &track->moved[i];
        REQUIRE(fabs(f->x_q16 / 65536.0 - x) < 0.01 && fabs(f->y_q16 / 65536.0 - y) < 0.01,
                "one step leads to (%.4f, %.4f), not (%.4f, %.4f)", f->x_q16 / 65536.0, f->y_q16 / 65536.0, x, y);
    }
    plant_many(24, 30.0);
    const double one = run(v.dx, v.dy).rmse;
    step.tuning.track_iterations = 8;
    const double eight = run(v.dx, v.dy).rmse;
    REQUIRE(eight < 0.03 && one > 3.0 * eight, "RMSE %.4f px after one step, %.4f px after up to eight", one, eight);
}

/** On one level a track moves by at most 16 px, over all steps. */
static void reaches_so_far(void **state)
{
    (void)state;
    shake(19);
    if (!easy_scene()) skip();
    clear(110.0);
    scene.wave[0] = (struct wave){2.0 * PI / 120.0, 0, 0, 50.0}; /* a long slope across */
    scene.wave[1] = (struct wave){0, 2.0 * PI / 20.0, 0, 15.0};
    draw(0, still);
    for (int i = 0; i < 24; i++) plant(30.0 + 60.0 * (i % 3), 50.0 + 1.7 * i);
    step.tuning.track_levels = 1;
    step.tuning.track_photometric = VFRONT_PHOTOMETRIC_NONE;
    step.tuning.track_iterations = 8;
    step.tuning.track_residual_grey = 255;
    const struct exposure near = {14.0, 0, 1, 0, 0}, far = {19.0, 0, 1, 0, 0};
    draw(1, near);
    const struct outcome o = run(14.0, 0.0);
    REQUIRE(o.right == o.all, "14 px: only %d of %d found", o.right, o.all);
    draw(1, far);
    RUN(track);
    REQUIRE(ended(VFRONT_END_DIVERGED) == o.all, "19 px: only %d of %d ended", ended(VFRONT_END_DIVERGED), o.all);
}

/** The finest level starts from the illumination of the previous frame: no step is needed to compensate it. */
static void illumination_keeps_changing(void **state)
{
    (void)state;
    shake(20);
    if (!easy_scene()) skip();
    plant_many(30, 30.0);
    const struct exposure dim = {0, 0, 0.8, 25, 0}, dimmer = {0, 0, 0.8, 5, 0};
    draw(1, dim);
    assert_int_equal(run(0, 0).kept, planted());
    next_frame();
    draw(1, dim);
    step.tuning.track_iterations = 1;
    RUN(track);
    for (uint32_t i = 0; i < planted(); i++)
        REQUIRE(track->moved[i].residual_q3 <= 12, "same light: residual %.2f", track->moved[i].residual_q3 / 8.0);
    draw(1, dimmer); /* the coarse levels estimate the offset and pass it on */
    RUN(track);
    for (uint32_t i = 0; i < planted(); i++)
        REQUIRE(track->moved[i].residual_q3 <= 12, "less light: residual %.2f", track->moved[i].residual_q3 / 8.0);
}

/** Black, white and noise of all contrasts, any photometric model, any feature: sums fit 32 bits (checked by the
 *  sanitizer), and kept features stay in the image. */
static void any_picture(void **state)
{
    (void)state;
    shake(17);
    if (!set_up_frame(190, 140)) skip();
    const struct vf_level *l = &step.geometry.level[0][0];
    for (int round = 0; round < 60; round++) {
        for (int now = 0; now < 2; now++) {
            const int kind = roll(4), block = 1 << roll(5);
            step.parity ^= 1;
            uint8_t *p = memory.ingest.picture[step.parity][0];
            for (int32_t y = 0; y < l->height; y++)
                for (int32_t x = 0; x < l->width; x++)
                    p[y * l->pitch + x] = (uint8_t)(kind == 0   ? roll(256)
                                                    : kind == 1 ? 255 * ((x / block + y / block) % 2)
                                                    : kind == 2 ? 255 * roll(2)
                                                                : 255 * (x / block % 2));
            RUN(pyramid);
        }
        plant_many(VFRONT_TRACKS, 3.0);
        for (uint32_t i = 0; i < planted(); i++) {
            struct vf_feature *f = &refill->feature[step.parity ^ 1][i];
            f->alpha_q14 = between(-12288, 49152);
            f->offset_q5 = between(-32640, 32640);
            f->dx_q16 = between(-300, 300) * 65536;
            f->dy_q16 = between(-300, 300) * 65536;
        }
        step.tuning.track_photometric = roll(4);
        step.tuning.track_patch8_level = roll(7);
        step.tuning.track_iterations = between(1, VFRONT_ITERATIONS);
        step.tuning.track_residual_grey = 255;
        step.tuning.track_back_mpx = roll(2) * 10000;
        RUN(track);
        for (uint32_t i = 0; i < planted(); i++) {
            const struct vf_feature *f = &track->moved[i];
            REQUIRE(f->end < VFRONT_ENDS, "end %d", f->end);
            REQUIRE(f->end || (f->x_q16 >= 8 << 16 && f->x_q16 <= (l->width - 9) << 16 && f->y_q16 >= 8 << 16 &&
                               f->y_q16 <= (l->height - 9) << 16 && f->residual_q3 <= 2047),
                    "kept at (%.2f, %.2f), residual %.2f", f->x_q16 / 65536.0, f->y_q16 / 65536.0,
                    f->residual_q3 / 8.0);
        }
    }
}

/** Only the features' new state and the templates that were due change in the arena; in a first frame nothing does. */
static void all_else_stays(void **state)
{
    (void)state;
    shake(18);
    if (!easy_scene()) skip();
    const struct exposure v = {2.0, 1.0, 1, 0, 0};
    draw(1, v);
    plant_many(20, 30.0);
    for (uint32_t i = 0; i < planted(); i += 2) refill->feature[step.parity ^ 1][i].template_due = 0;
    memcpy(&expected, &memory, sizeof memory);
    RUN(track);
    for (uint32_t i = 0; i < planted(); i++) {
        const struct vf_feature *f = &refill->feature[step.parity ^ 1][i];
        expected.track.moved[i] = track->moved[i];
        REQUIRE(track->moved[i].id == f->id && track->moved[i].template_index == f->template_index,
                "feature %u has another id or template", i);
        if (!f->template_due) continue;
        REQUIRE(memcmp(expected.track.templates[f->template_index], track->templates[f->template_index],
                       sizeof track->templates[0]) != 0,
                "no template taken");
        memcpy(expected.track.templates[f->template_index], track->templates[f->template_index],
               sizeof track->templates[0]);
        expected.track.template_normal[f->template_index] = track->template_normal[f->template_index];
    }
    same_arena("track");
    memory.ingest.params.frame = expected.ingest.params.frame = 0;
    memset(track->moved, 0x55, sizeof track->moved);
    memset(expected.track.moved, 0x55, sizeof track->moved);
    RUN(track);
    same_arena("track in a first frame");
}

/** Sums of a patch by the arithmetic of a pixel. */
static struct vf_residual_sums sums_by_pixels(const struct vf_patch *p, const struct vf_level_picture *picture,
                                              int32_t x_q16, int32_t y_q16, int32_t size, int32_t reference,
                                              int32_t alpha, int32_t beta)
{
    const struct vf_bilinear_weights w = vf_track_bilinear(x_q16, y_q16);
    struct vf_residual_sums s = {0, 0, 0, 0, 0};
    for (int32_t i = 0; i < size * size; i++) {
        int32_t around[4];
        for (int32_t k = 0; k < 4; k++)
            around[k] =
                picture->pixels[vf_clamp((y_q16 >> 16) + i / size + k / 2, 0, picture->height - 1) * picture->pitch +
                                vf_clamp((x_q16 >> 16) + i % size + k % 2, 0, picture->width - 1)];
        const int32_t now = vf_track_interpolate(w, around[0], around[1], around[2], around[3]);
        vf_track_add_residual(&s, vf_track_residual(now, p->grey[i], reference, alpha, beta), p->dx[i], p->dy[i],
                              vf_track_contrast(p->grey[i], reference));
    }
    return s;
}

/** The host's loops over a patch, in 16 bits, give the sums of the arithmetic of a pixel. */
static void sums_of_patches(void **state)
{
    (void)state;
    static uint8_t pixels[40 * 48];
    struct vf_patch p;
    shake(23);
    for (int i = 0; i < 20000; i++) {
        const struct vf_level_picture picture = {pixels, 48, 40 - i % 3, 40 - i % 5};
        const int32_t size = i % 2 ? VF_PATCH : VF_PATCH / 2, contrast = i % 7 ? 255 : 1;
        const int32_t x = (int32_t)(roll64() % (48 << 16)) - (12 << 16),
                      y = (int32_t)(roll64() % (48 << 16)) - (12 << 16);
        const int32_t alpha = i % 3 ? 0 : (int32_t)(roll64() % 61441) - 12288,
                      beta = (int32_t)(roll64() % 16321) - 8160;
        int32_t reference;
        struct vf_template_moments m, should = {0, 0, 0, 0, 0, 0, 0, 0, 0};
        for (size_t k = 0; k < sizeof pixels; k++)
            pixels[k] = (uint8_t)(contrast == 1 ? (roll64() & 1) * 255 : roll64() % 256);
        vf_patch_extract(&p, &picture, i % 4 / 2, i % 11 ? VFRONT_PHOTOMETRIC_OFFSET : 0, x, y, size, &reference, &m);
        for (int32_t k = 0; k < size * size; k++)
            vf_track_add_moments(&should, p.dx[k], p.dy[k], vf_track_contrast(p.grey[k], reference));
        REQUIRE(!memcmp(&m, &should, sizeof m), "moments, case %d", i);
        const int32_t at_x = x + (int32_t)(roll64() % (4 << 16)), at_y = y - (int32_t)(roll64() % (4 << 16));
        const struct vf_residual_sums is = vf_patch_residuals(&p, &picture, at_x, at_y, size, reference, alpha, beta),
                                      sums = sums_by_pixels(&p, &picture, at_x, at_y, size, reference, alpha, beta);
        REQUIRE(!memcmp(&is, &sums, sizeof is), "residuals, case %d", i);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(sums_of_patches),
        cmocka_unit_test(exact_without_noise),
        cmocka_unit_test(exact_with_noise),
        cmocka_unit_test(small_patches),
        cmocka_unit_test(sizes_and_borders),
        cmocka_unit_test(agrees_with_the_textbook),
        cmocka_unit_test(ends_at_the_border),
        cmocka_unit_test(ends_under_a_mask),
        cmocka_unit_test(ends_by_residual),
        cmocka_unit_test(contrast_allows_a_residual),
        cmocka_unit_test(ends_without_texture),
        cmocka_unit_test(ends_when_it_runs_away),
        cmocka_unit_test(ends_by_the_check_backwards),
        cmocka_unit_test(priors_lead_far),
        cmocka_unit_test(new_features_follow_the_prediction),
        cmocka_unit_test(parallax_continues_under_a_rotation),
        cmocka_unit_test(misled_by_a_prior),
        cmocka_unit_test(templates_are_kept),
        cmocka_unit_test(template_of_a_large_residual),
        cmocka_unit_test(takes_the_steps_it_may),
        cmocka_unit_test(reaches_so_far),
        cmocka_unit_test(illumination_keeps_changing),
        cmocka_unit_test(any_picture),
        cmocka_unit_test(all_else_stays),
    };
    return cmocka_run_group_tests_name("track", test, NULL, NULL);
}
