/* SPDX-License-Identifier: MIT */
/* track: pictures drawn from formulas at exact shifts, so that the true place of every feature is known; a textbook tracker in
 * double precision on the same pixels; every way in which a track ends; priors; templates that stay and templates that change. */
#include "tests/fixture/stage.h"

#define PI 3.14159265358979323846

/* ---- scenes: grey levels as functions of the place, averaged over the area of a pixel ---------------------------- */

/** Sum of waves in all directions, and a chess board of uneven fields with soft edges. Either may be absent. */
#define WAVES 14
#define EDGES 48
struct wave {
    double fx, fy, phase, amplitude; /* fx, fy: radian a pixel */
};
struct scene {
    double mean;
    struct wave wave[WAVES];
    double contrast, softness; /* of the chess board [grey levels], [px] */
    double edge[2][EDGES];     /* [axis], rising; outside of them all fields are alike */
};
static struct scene scene;

static double chance(void) { return (double)(roll64() >> 11) / 9007199254740992.0; }

/** Standard normal, by Box and Muller. */
static double bell(void)
{
    const double far = sqrt(
        -2.0 * log(1.0 - chance())); /* one call a statement: which of two comes first is the compiler's choice */
    return far * cos(2.0 * PI * chance());
}

static void clear(double mean)
{
    memset(&scene, 0, sizeof scene);
    scene.mean = mean;
}

/** Waves of lengths from one to the other, whose sum has a standard deviation. */
static void add_waves(double deviation, double least_px, double most_px)
{
    for (int i = 0; i < WAVES; i++) {
        const double f = 2.0 * PI / (least_px * pow(most_px / least_px, (double)i / (WAVES - 1)));
        const double angle = (i * 0.618 + 0.1 * chance()) * 2.0 * PI;
        const double phase = 2.0 * PI * chance();
        scene.wave[i] = (struct wave){f * cos(angle), f * sin(angle), phase, deviation * sqrt(2.0 / WAVES)};
    }
}

static void add_chess(double contrast, double softness_px)
{
    scene.contrast = contrast;
    scene.softness = softness_px;
    for (int axis = 0; axis < 2; axis++)
        for (int i = 0; i < EDGES; i++)
            scene.edge[axis][i] = (i ? scene.edge[axis][i - 1] : -100.0) + 30.0 + 30.0 * chance();
}

static double sinc(double x) { return fabs(x) < 1e-9 ? 1.0 : sin(x) / x; }

/** Integral of erf. */
static double erf_integral(double x) { return x * erf(x) + exp(-x * x) / sqrt(PI); }

/** Profile of the chess board along one axis, between -1 and 1, averaged over a pixel. */
static double profile(int axis, double at)
{
    const double s = scene.softness;
    double sum = -1.0;
    for (int i = 0; i < EDGES; i++) {
        const double d = at - scene.edge[axis][i], turn = i % 2 ? -1.0 : 1.0;
        if (d < -8.0 * s - 1.0) break;
        sum += turn * (d > 8.0 * s + 1.0 ? 2.0 : 1.0 + s * (erf_integral((d + 0.5) / s) - erf_integral((d - 0.5) / s)));
    }
    return sum;
}

/** A row of waves: along it each is a complex number that turns, which spares most sines. */
static void draw_waves(float *row, int32_t width, double dx, double y)
{
    double re[WAVES], im[WAVES], c[WAVES], s[WAVES];
    for (int i = 0; i < WAVES; i++) {
        const struct wave *w = &scene.wave[i];
        const double phase = w->phase - w->fx * dx + w->fy * y, a = w->amplitude * sinc(w->fx / 2) * sinc(w->fy / 2);
        re[i] = a * cos(phase), im[i] = a * sin(phase), c[i] = cos(w->fx), s[i] = sin(w->fx);
    }
    for (int32_t x = 0; x < width; x++) {
        double sum = scene.mean;
        for (int i = 0; i < WAVES; i++) {
            const double turned = re[i] * c[i] - im[i] * s[i];
            sum += re[i];
            im[i] = re[i] * s[i] + im[i] * c[i];
            re[i] = turned;
        }
        row[x] = (float)sum;
    }
}

/** The scene, moved. */
static void draw_scene(float *to, int32_t width, int32_t height, double dx, double dy)
{
    static double across[VFRONT_WIDTH];
    for (int32_t x = 0; x < width; x++) across[x] = scene.contrast > 0.0 ? profile(0, x - dx) : 0.0;
    for (int32_t y = 0; y < height; y++) {
        const double down = scene.contrast > 0.0 ? scene.contrast * profile(1, y - dy) : 0.0;
        draw_waves(to + y * width, width, dx, y - dy);
        for (int32_t x = 0; x < width; x++) to[y * width + x] += (float)(across[x] * down);
    }
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/** What happens to a scene on its way to the sensor. */
struct view {
    double dx, dy;       /* everything moves by this [px] */
    double gain, offset; /* 1, 0: none [grey levels] */
    double sigma;        /* of the noise [grey levels] */
};

/** Puts the scene into one of the two pyramids: 0 the frame before, 1 this frame. */
static void draw(int now, struct view v)
{
    static float ideal[VFRONT_WIDTH * VFRONT_HEIGHT];
    const struct vf_level *l = &step.geometry.level[0][0];
    const int32_t parity = step.parity;
    draw_scene(ideal, l->width, l->height, v.dx, v.dy);
    step.parity = now ? parity : parity ^ 1;
    uint8_t *to = vf_level_pixels(&step, step.parity, 0, 0);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            const double grey = (double)ideal[y * l->width + x] * v.gain + v.offset +
                                (v.sigma > 0.0 ? v.sigma * bell() : 0.0);
            to[y * l->pitch + x] = (uint8_t)fmin(fmax(floor(grey + 0.5), 0.0), 255.0);
        }
    vf_pyramid_host(&step);
    step.parity = parity;
}

static const struct view still = {0, 0, 1, 0, 0};

/* ---- features ---------------------------------------------------------------------------------------------------- */

static struct vf_track_memory *const track = &memory.track;
static double start_x[VFRONT_TRACKS], start_y[VFRONT_TRACKS];

/** A stand for one camera without masks, second frame, prior from nowhere. Returns whether the config has room. */
static int stand(int32_t width, int32_t height)
{
    if (!fits(width, height, width)) return 0;
    set_up(1, width, height, roll(2));
    memset(&memory.ingest.params, 0, sizeof memory.ingest.params);
    memory.ingest.params.frame = 1;
    track->census[step.parity ^ 1].count = 0;
    return 1;
}

/** A fresh feature of the frame before. Slots do not follow the features' order. */
static struct vf_feature *plant(double x, double y)
{
    const uint32_t i = track->census[step.parity ^ 1].count++;
    struct vf_feature *f = &track->feature[step.parity ^ 1][i];
    memset(f, 0, sizeof *f);
    f->id = i + 1;
    f->slot = (uint16_t)(VFRONT_TRACKS - 1 - i);
    f->fresh = 1;
    f->x_q16 = (int32_t)floor(x * 65536.0 + 0.5);
    f->y_q16 = (int32_t)floor(y * 65536.0 + 0.5);
    start_x[i] = f->x_q16 / 65536.0;
    start_y[i] = f->y_q16 / 65536.0;
    return f;
}

/** As many features as there is room for, at random places at least `margin` from every border. */
static void plant_many(int32_t most, double margin)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    track->census[step.parity ^ 1].count = 0;
    for (int32_t i = 0; i < most && i < VFRONT_TRACKS; i++) {
        const double x = margin + chance() * (l->width - 1 - 2 * margin);
        plant(x, margin + chance() * (l->height - 1 - 2 * margin));
    }
}

/** Features where edges of the chess board cross, both sides at least `margin` from every border. */
static void plant_corners(double margin)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    track->census[step.parity ^ 1].count = 0;
    for (int i = 0; i < EDGES * EDGES && track->census[step.parity ^ 1].count < VFRONT_TRACKS; i++) {
        const double x = scene.edge[0][i % EDGES] + chance() - 0.5;
        const double y = scene.edge[1][i / EDGES] + chance() - 0.5;
        if (x >= margin && y >= margin && x <= l->width - 1 - margin && y <= l->height - 1 - margin) plant(x, y);
    }
}

static uint32_t planted(void) { return track->census[step.parity ^ 1].count; }

/** How a step went, against a shift that is true for all. */
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
    vf_track_host(&step);
    return measure(dx, dy);
}

static int ended(uint32_t end)
{
    int count = 0;
    for (uint32_t i = 0; i < planted(); i++) count += track->moved[i].end == end;
    return count;
}

/** The features that live become those of the frame before; the pictures change places. For sequences. */
static void next_frame(void)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < planted(); i++) {
        if (track->moved[i].end) continue;
        start_x[live] = start_x[i];
        start_y[live] = start_y[i];
        track->feature[step.parity][live++] = track->moved[i];
    }
    step.parity ^= 1;
    track->census[step.parity ^ 1].count = live;
    memory.ingest.params.frame++;
}

/* ---- how exact: known shift, gain and offset --------------------------------------------------------------------- */

/** Standard tuning needs these of the config. */
static int standard_config(void) { return VFRONT_ITERATIONS >= 8 && VFRONT_LEVELS >= 5 && VFRONT_TRACKS >= 128; }

enum subject { ON_WAVES, ON_CORNERS };

static struct outcome rendered(enum subject subject, int32_t light, double shift, double sigma)
{
    const double margin = 24.0 + shift, angle = 2.0 * PI * chance();
    struct view v = {shift * cos(angle), shift * sin(angle), 1, 0, sigma}, before = still;
    if (light & VFRONT_LIGHT_GAIN) v.gain = roll(2) ? 0.7 + 0.2 * chance() : 1.1 + 0.3 * chance();
    if (light & VFRONT_LIGHT_OFFSET) v.offset = copysign(10.0 + 20.0 * chance(), v.dx);
    before.sigma = sigma;
    step.tuning.track_light = light;
    clear(100.0);
    if (subject == ON_CORNERS) {
        add_chess(35.0, 1.5 + chance());
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
        REQUIRE(light & VFRONT_LIGHT_GAIN || f->alpha_q14 == 0, "a gain without a model of it");
        REQUIRE(light & VFRONT_LIGHT_OFFSET || f->offset_q5 == 0, "an offset without a model of it");
        if (sigma > 0.0) continue;
        REQUIRE(fabs(gain - v.gain) < 0.1, "gain %.3f is %.3f", v.gain, gain);
        REQUIRE(fabs(at_mean - (v.gain * 100.0 + v.offset)) < 3.0, "grey level 100 becomes %.2f, not %.2f", at_mean,
                v.gain * 100.0 + v.offset);
        REQUIRE(f->residual_q3 <= 32, "residual %.2f without noise", f->residual_q3 / 8.0);
    }
    return o;
}

/** All shifts of one subject, model and noise: the root mean square error of all that were kept, whatever they hold on to. */
static void require_exact(enum subject subject, int32_t light, double sigma, double limit)
{
    static const double shift[] = {0.0, 0.3, 0.5, 0.7, 1.0, 3.3, 8.1, 17.6, 31.2};
    double sum = 0.0;
    int all = 0, kept = 0;
    for (size_t i = 0; i < sizeof shift / sizeof *shift; i++) {
        if (subject == ON_CORNERS && shift[i] > 10.0)
            continue; /* over a third of a field any tracker may take the next corner */
        const struct outcome o = rendered(subject, light, shift[i], sigma);
        sum += o.rmse * o.rmse * o.kept;
        all += o.all;
        kept += o.kept;
    }
    const double rmse = sqrt(sum / kept);
    print_message("    %s, light %d, noise %g: RMSE %.4f px, %d of %d kept\n",
                  subject == ON_WAVES ? "waves" : "corners", light, sigma, rmse, kept, all);
    REQUIRE(rmse <= limit, "RMSE %.4f px over %g", rmse, limit);
    REQUIRE(kept * 100 >= all * 99, "only %d of %d kept", kept, all);
}

static void exact_without_noise(void **state)
{
    (void)state;
    shake(1);
    if (!standard_config() || !stand(384, 320)) skip();
    for (int32_t light = 0; light <= 3; light++) {
        require_exact(ON_WAVES, light, 0.0, 0.03);
        require_exact(ON_CORNERS, light, 0.0, 0.03);
    }
}

static void exact_with_noise(void **state)
{
    (void)state;
    shake(2);
    if (!standard_config() || !stand(384, 320)) skip();
    for (int32_t light = 0; light <= 3; light++) {
        require_exact(ON_WAVES, light, 4.0, 0.1);
        require_exact(ON_CORNERS, light, 4.0, 0.1);
    }
}

/** With 8x8 px on all levels there is a quarter of the pixels to tell from, so twice the error. */
static void small_patches(void **state)
{
    (void)state;
    shake(3);
    if (!standard_config() || !stand(384, 320)) skip();
    step.tuning.track_patch8_level = 0;
    for (int i = 0; i < 4; i++) {
        struct outcome o = rendered(ON_CORNERS, i, 0.4 + 0.3 * i, 0.0);
        REQUIRE(o.kept == o.all && o.rmse <= 0.03, "light %d: RMSE %.4f px, %d of %d kept", i, o.rmse, o.kept, o.all);
        o = rendered(ON_CORNERS, VFRONT_LIGHT_NONE, 0.4 + 0.3 * i, 4.0);
        REQUIRE(o.kept == o.all && o.rmse <= 0.2, "noise 4: RMSE %.4f px, %d of %d kept", o.rmse, o.kept, o.all);
    }
}

/** Odd and least sizes, rows with slack, and patches that hang over the border on every level. */
static void sizes_and_borders(void **state)
{
    (void)state;
    static const int32_t size[][2] = {{131, 77},  {97, 255}, {64, 64}, {191, 143},
                                      {641, 479}, {33, 17},  {17, 33}, {16, 16}};
    shake(4);
    int done = 0;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        if (VFRONT_ITERATIONS < 8 || !stand(size[i][0], size[i][1])) continue;
        const double least = fmin(size[i][0], size[i][1]), margin = least < 64 ? 6.0 : 4.0;
        const struct view v = {0.6, -0.4, 1, 0, 0};
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

/** Bilinear, in the picture before (0) or in this one. Beyond the border its pixels are repeated. */
static double sample(int now, double x, double y)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    const uint8_t *p = vf_level_pixels(&step, now ? step.parity : step.parity ^ 1, 0, 0);
    const double left = floor(x), top = floor(y), fx = x - left, fy = y - top;
    double grey = 0.0;
    for (int i = 0; i < 4; i++) {
        const int32_t u = (int32_t)fmin(fmax(left + i % 2, 0), l->width - 1),
                      v = (int32_t)fmin(fmax(top + i / 2, 0), l->height - 1);
        grey += p[v * l->pitch + u] * (i % 2 ? fx : 1 - fx) * (i / 2 ? fy : 1 - fy);
    }
    return grey;
}

/** Solves a symmetric system of n unknowns by elimination. */
static void eliminate(double a[4][5], int n)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) {
            if (i == k) continue;
            const double factor = a[i][k] / a[k][k];
            for (int j = k; j <= n; j++) a[i][j] -= factor * a[k][j];
        }
    for (int k = 0; k < n; k++) a[k][4] = a[k][n] / a[k][k];
}

/** Forward additive Lucas-Kanade with gain and offset on one level: the picture is moved and linearised anew in every step. It shares
 *  nothing with the library but the patch: 16x16 px centred on the feature. */
static void textbook(double x0, double y0, double *x, double *y)
{
    double gain = 1.0, offset = 0.0;
    for (int step_number = 0; step_number < 100; step_number++) {
        double a[4][5] = {{0}};
        for (int v = 0; v < 16; v++)
            for (int u = 0; u < 16; u++) {
                const double px = u - 7.5, py = v - 7.5, grey = sample(0, x0 + px, y0 + py);
                const double column[5] = {(sample(1, *x + px + 1, *y + py) - sample(1, *x + px - 1, *y + py)) / 2,
                                          (sample(1, *x + px, *y + py + 1) - sample(1, *x + px, *y + py - 1)) / 2,
                                          -grey, -1.0, gain * grey + offset - sample(1, *x + px, *y + py)};
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 5; j++) a[i][j] += column[i] * column[j];
            }
        eliminate(a, 4);
        *x += a[0][4];
        *y += a[1][4];
        gain += a[2][4];
        offset += a[3][4];
        if (fabs(a[0][4]) + fabs(a[1][4]) < 1e-6) return;
    }
    fail_msg("the textbook does not converge");
}

static void agrees_with_the_textbook(void **state)
{
    (void)state;
    shake(5);
    if (!standard_config() || !stand(384, 320)) skip();
    for (int i = 0; i < 4; i++) {
        const struct view v = {2.3 * i + 0.37, -1.7 * i + 0.81, 1.0 + 0.08 * i, -5.0 * i, 0.5 * i};
        clear(100.0);
        add_chess(35.0, 1.8);
        add_waves(10.0, 12.0, 200.0);
        draw(0, still);
        draw(1, v);
        plant_corners(40.0);
        step.tuning.track_epsilon_mpx = 1; /* where it converges, not how soon it stops */
        vf_track_host(&step);
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

/* ---- why tracks end ---------------------------------------------------------------------------------------------- */

static int easy_scene(void)
{
    if (VFRONT_ITERATIONS < 8 || VFRONT_TRACKS < 32 || !stand(190, 140)) return 0;
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
    } way[] = {{11, 70, -2, 0}, {178, 70, 2, 0}, {90, 11, 0, -2}, {90, 128, 0, 2}};
    for (int i = 0; i < 4; i++) {
        const struct view v = {way[i].dx, way[i].dy, 1, 0, 0};
        draw(1, v);
        track->census[step.parity ^ 1].count = 0;
        plant(way[i].x, way[i].y);
        plant(way[i].x - 2 * way[i].dx, way[i].y - 2 * way[i].dy); /* moves by as much, but stays well inside */
        step.tuning.detect_border_px = 8;
        REQUIRE(run(v.dx, v.dy).kept == 2, "border %d: 9 px from the border is inside", i);
        step.tuning.detect_border_px = 10;
        vf_track_host(&step);
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
    const struct view v = {3, 2, 1, 0, 0};
    draw(1, v);
    plant(60.2, 60.2);
    plant(120.0, 80.0);
    for (int frame_mask = 0; frame_mask < 2; frame_mask++) {
        uint8_t *mask = frame_mask ? memory.ingest.mask_frame[0] : memory.ingest.mask_static[0];
        memset(mask, 1, sizeof memory.ingest.mask_frame[0]);
        mask[62 * step.geometry.level[0][0].pitch + 63] = 0; /* one pixel, to which the first feature moves */
        step.geometry.masked[0] = !frame_mask;
        memory.ingest.params.source[0].mask = frame_mask ? &there : NULL;
        vf_track_host(&step);
        REQUIRE(track->moved[0].end == VFRONT_END_MASK && !track->moved[1].end, "ends %d %d", track->moved[0].end,
                track->moved[1].end);
        step.geometry.masked[0] = 0;
        memory.ingest.params.source[0].mask = NULL;
        assert_int_equal(run(v.dx, v.dy).kept, 2);
    }
}

/** Without a light model an offset is all residual. */
static void ends_by_residual(void **state)
{
    (void)state;
    shake(8);
    if (!easy_scene()) skip();
    const struct view v = {0, 0, 1, 15, 0};
    draw(1, v);
    plant_many(30, 30.0);
    step.tuning.track_light = VFRONT_LIGHT_NONE;
    step.tuning.track_iterations = 1; /* before it runs after the light */
    step.tuning.track_levels = 1;
    step.tuning.track_residual_grey = 16;
    vf_track_host(&step);
    assert_int_equal(ended(0), planted());
    step.tuning.track_residual_grey = 14;
    vf_track_host(&step);
    assert_int_equal(ended(VFRONT_END_RESIDUAL), planted());
    step.tuning.track_light = VFRONT_LIGHT_OFFSET;
    step.tuning.track_iterations = 2;
    vf_track_host(&step);
    assert_int_equal(ended(0), planted());
}

/** A wave of amplitude A and angular frequency f in x, one in y: both eigenvalues of its mean structure tensor are (A f)^2 / 2, as
 *  seen by a central difference: A sin f. */
static void ends_without_texture(void **state)
{
    (void)state;
    shake(9);
    if (!stand(190, 140) || VFRONT_ITERATIONS < 8) skip();
    const double amplitude = 20.0, f = 2.0 * PI / 16.0, seen = amplitude * sinc(f / 2.0) * sin(f);
    const double least = seen * seen / 2.0 * 100.0; /* in the unit of track_texture */
    clear(128.0);
    scene.wave[0] = (struct wave){f, 0, 0, amplitude};
    scene.wave[1] = (struct wave){0, f, 0, amplitude};
    draw(0, still);
    draw(1, still);
    plant_many(30, 30.0);
    step.tuning.track_texture = (int32_t)(least * 0.95);
    vf_track_host(&step);
    assert_int_equal(ended(0), planted());
    step.tuning.track_texture = (int32_t)(least * 1.05);
    vf_track_host(&step);
    assert_int_equal(ended(VFRONT_END_TEXTURE), planted());

    step.tuning.track_texture = 1; /* an edge says nothing about the way along it */
    scene.wave[1].amplitude = 0.0;
    draw(0, still);
    draw(1, still);
    vf_track_host(&step);
    assert_int_equal(ended(VFRONT_END_TEXTURE), planted());
    clear(77.0); /* and a plain wall nothing at all */
    draw(0, still);
    draw(1, still);
    step.tuning.track_texture = 0;
    vf_track_host(&step);
    assert_int_equal(ended(VFRONT_END_TEXTURE), planted());
}

/** A faint template against a strong picture: the first step alone leads out of reach. */
static void ends_when_it_runs_away(void **state)
{
    (void)state;
    shake(10);
    if (!easy_scene()) skip();
    const struct view faint = {0, 0, 0.04, 100, 0}, strong = {2.0, 2.0, 1.5, -40, 0};
    draw(0, faint);
    draw(1, strong);
    plant_many(30, 30.0);
    step.tuning.track_light = VFRONT_LIGHT_NONE;
    step.tuning.track_texture = 0;
    step.tuning.track_levels = 1;
    step.tuning.track_residual_grey = 255;
    vf_track_host(&step);
    REQUIRE(ended(VFRONT_END_DIVERGED) * 10 >= (int)planted() * 8, "only %d of %d", ended(VFRONT_END_DIVERGED),
            (int)planted());
    REQUIRE(ended(VFRONT_END_DIVERGED) + ended(0) == (int)planted(), "something else");
}

/** What covers a feature is followed instead of it, and does not lead back. */
static void ends_by_the_check_backwards(void **state)
{
    (void)state;
    shake(11);
    if (!easy_scene()) skip();
    const struct view noisy = {1.3, -0.7, 1, 0, 5};
    draw(1, noisy);
    plant_many(30, 30.0);
    step.tuning.track_back_mpx = 1000;
    const struct outcome o = run(noisy.dx, noisy.dy);
    REQUIRE(o.kept == o.all && o.right == o.all, "noise alone: %d of %d kept", o.kept, o.all);
    step.tuning.track_back_mpx = 1;
    vf_track_host(&step);
    REQUIRE(ended(VFRONT_END_BACK) * 10 >= (int)planted() * 9, "1/1000 px: only %d ended", ended(VFRONT_END_BACK));

    scene.wave[3].phase += 2.0; /* half of the waves go another way */
    for (int i = 0; i < WAVES; i += 2) scene.wave[i].phase += 2.5;
    draw(1, still);
    step.tuning.track_residual_grey = 255;
    step.tuning.track_back_mpx = 0;
    vf_track_host(&step);
    const int without = ended(0);
    step.tuning.track_back_mpx = 300;
    vf_track_host(&step);
    REQUIRE(without >= 20 && ended(VFRONT_END_BACK) >= without / 4, "%d kept without the check, %d ended by it",
            without, ended(VFRONT_END_BACK));
}

/* ---- first guesses ----------------------------------------------------------------------------------------------- */

#define FAR_PX 150.0

/** A shift far beyond reach. */
static int far_scene(void)
{
    if (!standard_config() || !stand(512, 320)) return 0;
    const struct view v = {FAR_PX, 20, 1, 0, 0};
    clear(110.0);
    add_waves(25.0, 9.0, 60.0);
    draw(0, still);
    draw(1, v);
    track->census[step.parity ^ 1].count = 0;
    for (int i = 0; i < 40; i++) {
        const double x = 40.0 + chance() * 250.0;
        plant(x, 40.0 + chance() * 220.0);
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
        track->feature[step.parity ^ 1][i].dx_q16 = (int32_t)(dx * 65536.0);
        track->feature[step.parity ^ 1][i].dy_q16 = (int32_t)(dy * 65536.0);
    }
}

static void priors_lead_far(void **state)
{
    (void)state;
    shake(12);
    if (!far_scene()) skip();
    vf_track_host(&step);
    REQUIRE(measure(FAR_PX, 20).right < 10, "the shift is within reach: this test is blunt");

    move_by(FAR_PX + 4.0, 17.0);
    struct outcome o = run(FAR_PX, 20);
    REQUIRE(o.right == o.all && o.rmse <= 0.03, "rotation: %d of %d, RMSE %.4f", o.right, o.all, o.rmse);
    step.tuning.track_prior = VFRONT_PRIOR_VELOCITY; /* does not look at it */
    REQUIRE(run(FAR_PX, 20).right < 10, "a rotation was used unasked");

    remember_speed(FAR_PX - 4.0, 23.0);
    o = run(FAR_PX, 20);
    REQUIRE(o.right == o.all && o.rmse <= 0.03, "velocity: %d of %d, RMSE %.4f", o.right, o.all, o.rmse);
    step.tuning.track_prior = VFRONT_PRIOR_ROTATION;
    memory.ingest.params.rotation_given = 0;
    REQUIRE(run(FAR_PX, 20).right < 10, "a velocity was used unasked");

    step.tuning.track_prior = VFRONT_PRIOR_BOTH; /* the rotation goes first */
    assert_int_equal(run(FAR_PX, 20).right, planted());
    move_by(-60.0, 0.0);
    REQUIRE(run(FAR_PX, 20).right < 10, "the velocity went before the rotation");
}

/** A prior that misleads costs nothing where tracks are tried again from where they were. */
static void misled_by_a_prior(void **state)
{
    (void)state;
    shake(13);
    if (!far_scene()) skip();
    const struct view v = {1.5, -2.5, 1, 0, 0};
    draw(1, v);
    move_by(FAR_PX, 20.0);
    step.tuning.track_residual_grey = 6;
    step.tuning.track_retry = 0;
    const struct outcome once = run(v.dx, v.dy);
    step.tuning.track_retry = 1;
    const struct outcome twice = run(v.dx, v.dy);
    REQUIRE(once.right * 2 < once.all, "%d of %d found from a false guess: this test is blunt", once.right, once.all);
    REQUIRE(twice.right * 10 >= twice.all * 9, "only %d of %d found when tried again", twice.right, twice.all);

    const float behind[9] = {1, 0, 0, 0, 1, 0, 0, 0, -1}; /* leads behind the camera: no guess at all */
    memcpy(memory.ingest.params.H, behind, sizeof behind);
    step.tuning.track_retry = 0;
    assert_int_equal(run(v.dx, v.dy).right, planted());
    move_by(1e30, 0.0); /* nor does this one lead anywhere */
    assert_int_equal(run(v.dx, v.dy).right, planted());
}

/* ---- several frames ---------------------------------------------------------------------------------------------- */

static int16_t template_before[VFRONT_TRACKS][3][VF_PATCH_PIXELS];

/** How many of the slots in use hold another template than before. */
static int templates_taken(void)
{
    int taken = 0;
    for (uint32_t i = 0; i < planted(); i++) {
        const uint16_t slot = track->feature[step.parity ^ 1][i].slot;
        taken += memcmp(template_before[slot], track->patch[slot], sizeof track->patch[slot]) != 0;
    }
    memcpy(template_before, track->patch, sizeof template_before);
    return taken;
}

/** A walk of 12 frames in noise, with light that changes. Returns the error at its end. */
static struct outcome walk(int32_t template_frames, double sigma, int *taken)
{
    struct view v = {0, 0, 1, 0, sigma};
    step.tuning.track_template_frames = template_frames;
    step.tuning.track_template_grey = 0;
    memory.ingest.params.frame = 1;
    clear(110.0);
    add_chess(30.0, 1.8);
    add_waves(12.0, 12.0, 200.0);
    draw(0, v);
    plant_corners(70.0);
    const uint32_t all = planted();
    *taken = 0;
    for (int i = 1; i <= 12; i++) {
        v.dx += 3.0 * bell();
        v.dy += 3.0 * bell();
        v.gain = 1.0 + 0.02 * i;
        v.offset = -1.5 * i;
        draw(1, v);
        memcpy(template_before, track->patch, sizeof template_before);
        vf_track_host(&step);
        *taken += templates_taken();
        for (uint32_t k = 0; k < planted(); k++) {
            const struct vf_feature *f = &track->moved[k];
            REQUIRE(f->end || f->age == (uint32_t)i, "age %u in frame %d", f->age, i);
            const int due = template_frames && i / template_frames * template_frames == i;
            REQUIRE(f->end || f->fresh == due, "fresh %d in frame %d", f->fresh, i);
        }
        if (i < 12) next_frame();
    }
    REQUIRE((int)planted() == (int)all, "lost on the way: %u of %u left", planted(), all);
    return measure(v.dx, v.dy);
}

/** A template that is kept does not drift; one that is taken from every frame adds up the errors of all. */
static void templates_are_kept(void **state)
{
    (void)state;
    int taken;
    shake(14);
    if (!standard_config() || !stand(384, 320)) skip();
    const struct outcome quiet = walk(0, 0.0, &taken);
    REQUIRE(quiet.kept == quiet.all && quiet.rmse <= 0.03, "%d of %d kept, RMSE %.4f px", quiet.kept, quiet.all,
            quiet.rmse);
    assert_int_equal(taken, planted()); /* in the first frame */
    const struct outcome kept = walk(0, 4.0, &taken);
    REQUIRE(kept.kept == kept.all && kept.rmse <= 0.1, "%d of %d kept, RMSE %.4f px", kept.kept, kept.all, kept.rmse);
    const struct outcome always = walk(1, 4.0, &taken);
    assert_int_equal(taken, 12 * planted());
    REQUIRE(always.rmse > 1.15 * kept.rmse, "kept %.4f px, always anew %.4f px", kept.rmse, always.rmse);
    walk(5, 4.0, &taken);
    assert_int_equal(taken, 3 * planted());
}

/** A template whose residual has grown is taken anew, and then stands for the light of its own picture. */
static void template_of_a_large_residual(void **state)
{
    (void)state;
    shake(15);
    if (!easy_scene()) skip();
    const struct view v = {1.2, 0.4, 1.1, 4, 6};
    draw(1, v);
    plant_many(30, 30.0);
    step.tuning.track_template_grey = 255;
    assert_int_equal(run(v.dx, v.dy).kept, planted());
    for (uint32_t i = 0; i < planted(); i++) assert_false(track->moved[i].fresh);
    step.tuning.track_template_grey = 1;
    assert_int_equal(run(v.dx, v.dy).kept, planted());
    for (uint32_t i = 0; i < planted(); i++) {
        const struct vf_feature *f = &track->moved[i];
        REQUIRE(f->fresh && f->alpha_q14 == 0 && f->offset_q5 == 0, "residual %.2f, fresh %d", f->residual_q3 / 8.0,
                f->fresh);
    }
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

/** One step on one level is what the normal equations say, in double precision: no more steps are taken than allowed. */
static void takes_the_steps_it_may(void **state)
{
    (void)state;
    shake(16);
    if (!easy_scene()) skip();
    const struct view v = {1.1, -0.8, 1, 0, 0};
    const struct vf_level *l = &step.geometry.level[0][0];
    draw(1, v);
    plant_many(24, 30.0);
    for (int i = 0; i < 4; i++) { /* and some whose patch hangs over the border: gradients beyond it do not count */
        plant(i % 2 ? 5.3 : l->width - 6.2, 60.0 + 3.4 * i);
        plant(70.0 + 3.4 * i, i % 2 ? 5.3 : l->height - 6.2);
    }
    step.tuning.detect_border_px = 3;
    step.tuning.track_levels = 1;
    step.tuning.track_light = VFRONT_LIGHT_NONE;
    step.tuning.track_iterations = 1;
    vf_track_host(&step);
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

/** On one level a track moves by 16 px at most, in however many steps. */
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
    step.tuning.track_light = VFRONT_LIGHT_NONE;
    step.tuning.track_iterations = 8;
    step.tuning.track_residual_grey = 255;
    const struct view near = {14.0, 0, 1, 0, 0}, far = {19.0, 0, 1, 0, 0};
    draw(1, near);
    const struct outcome o = run(14.0, 0.0);
    REQUIRE(o.right == o.all, "14 px: only %d of %d found", o.right, o.all);
    draw(1, far);
    vf_track_host(&step);
    REQUIRE(ended(VFRONT_END_DIVERGED) == o.all, "19 px: only %d of %d ended", ended(VFRONT_END_DIVERGED), o.all);
}

/** The finest level goes on with the light that the track had in the frame before: nothing is left to explain by a step. */
static void light_goes_on(void **state)
{
    (void)state;
    shake(20);
    if (!easy_scene()) skip();
    plant_many(30, 30.0);
    const struct view dim = {0, 0, 0.8, 25, 0}, dimmer = {0, 0, 0.8, 5, 0};
    draw(1, dim);
    assert_int_equal(run(0, 0).kept, planted());
    next_frame();
    draw(1, dim);
    step.tuning.track_iterations = 1;
    vf_track_host(&step);
    for (uint32_t i = 0; i < planted(); i++)
        REQUIRE(track->moved[i].residual_q3 <= 12, "same light: residual %.2f", track->moved[i].residual_q3 / 8.0);
    draw(1, dimmer); /* the coarse levels see the offset, and hand it on */
    vf_track_host(&step);
    for (uint32_t i = 0; i < planted(); i++)
        REQUIRE(track->moved[i].residual_q3 <= 12, "less light: residual %.2f", track->moved[i].residual_q3 / 8.0);
}

/** Blacks, whites and noise of all contrasts, any light model, any feature: sums stay within 32 bits (the sanitizer sees it), and
 *  what is kept stays within the picture. */
static void any_picture(void **state)
{
    (void)state;
    shake(17);
    if (!stand(190, 140)) skip();
    const struct vf_level *l = &step.geometry.level[0][0];
    for (int round = 0; round < 60; round++) {
        for (int now = 0; now < 2; now++) {
            const int kind = roll(4), block = 1 << roll(5);
            step.parity ^= 1;
            uint8_t *p = vf_level_pixels(&step, step.parity, 0, 0);
            for (int32_t y = 0; y < l->height; y++)
                for (int32_t x = 0; x < l->width; x++)
                    p[y * l->pitch + x] = (uint8_t)(kind == 0   ? roll(256)
                                                    : kind == 1 ? 255 * ((x / block + y / block) % 2)
                                                    : kind == 2 ? 255 * roll(2)
                                                                : 255 * (x / block % 2));
            vf_pyramid_host(&step);
        }
        plant_many(VFRONT_TRACKS, 3.0);
        for (uint32_t i = 0; i < planted(); i++) {
            struct vf_feature *f = &track->feature[step.parity ^ 1][i];
            f->alpha_q14 = between(-12288, 49152);
            f->offset_q5 = between(-32640, 32640);
            f->dx_q16 = between(-300, 300) * 65536;
            f->dy_q16 = between(-300, 300) * 65536;
        }
        step.tuning.track_light = roll(4);
        step.tuning.track_texture = roll(2) * 10;
        step.tuning.track_patch8_level = roll(7);
        step.tuning.track_iterations = between(1, VFRONT_ITERATIONS);
        step.tuning.track_epsilon_mpx = roll(2) ? 1 : 1000;
        step.tuning.track_residual_grey = 255;
        step.tuning.track_back_mpx = roll(2) * 10000;
        vf_track_host(&step);
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

/** Nothing of the arena changes but the features' new state and the templates of those that were fresh; and none is looked at in a
 *  first frame. */
static void all_else_stays(void **state)
{
    (void)state;
    shake(18);
    if (!easy_scene()) skip();
    const struct view v = {2.0, 1.0, 1, 0, 0};
    draw(1, v);
    plant_many(20, 30.0);
    for (uint32_t i = 0; i < planted(); i += 2) track->feature[step.parity ^ 1][i].fresh = 0;
    memcpy(&expected, &memory, sizeof memory);
    vf_track_host(&step);
    for (uint32_t i = 0; i < planted(); i++) {
        const struct vf_feature *f = &track->feature[step.parity ^ 1][i];
        expected.track.moved[i] = track->moved[i];
        REQUIRE(track->moved[i].id == f->id && track->moved[i].slot == f->slot, "feature %u moved to another place", i);
        if (!f->fresh) continue;
        REQUIRE(memcmp(expected.track.patch[f->slot], track->patch[f->slot], sizeof track->patch[0]) != 0,
                "no template taken");
        memcpy(expected.track.patch[f->slot], track->patch[f->slot], sizeof track->patch[0]);
        expected.track.normal[f->slot] = track->normal[f->slot];
    }
    same_arena("track");
    memory.ingest.params.frame = expected.ingest.params.frame = 0;
    memset(track->moved, 0x55, sizeof track->moved);
    memset(expected.track.moved, 0x55, sizeof track->moved);
    vf_track_host(&step);
    same_arena("track in a first frame");
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(exact_without_noise),
        cmocka_unit_test(exact_with_noise),
        cmocka_unit_test(small_patches),
        cmocka_unit_test(sizes_and_borders),
        cmocka_unit_test(agrees_with_the_textbook),
        cmocka_unit_test(ends_at_the_border),
        cmocka_unit_test(ends_under_a_mask),
        cmocka_unit_test(ends_by_residual),
        cmocka_unit_test(ends_without_texture),
        cmocka_unit_test(ends_when_it_runs_away),
        cmocka_unit_test(ends_by_the_check_backwards),
        cmocka_unit_test(priors_lead_far),
        cmocka_unit_test(misled_by_a_prior),
        cmocka_unit_test(templates_are_kept),
        cmocka_unit_test(template_of_a_large_residual),
        cmocka_unit_test(takes_the_steps_it_may),
        cmocka_unit_test(reaches_so_far),
        cmocka_unit_test(light_goes_on),
        cmocka_unit_test(any_picture),
        cmocka_unit_test(all_else_stays),
    };
    return cmocka_run_group_tests_name("track", test, NULL, NULL);
}
