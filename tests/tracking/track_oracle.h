/* SPDX-License-Identifier: MIT */
/* Oracle of track: scenes drawn from formulas at exact shifts, so that true positions are known, and a textbook tracker
 * in double precision on the same pixels. Included by track.c. */
#ifndef TRACK_ORACLE_H
#define TRACK_ORACLE_H

#include "tests/fixture/stage.h"

#define PI 3.14159265358979323846

/* ---- scenes: grey levels as functions of the position, averaged over the area of a pixel ------------------------- */

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
    double edge[2][EDGES];     /* [axis], rising; all fields outside are alike */
};
static struct scene scene;

static double uniform(void) { return (double)(roll64() >> 11) / 9007199254740992.0; }

/** Standard normal, by Box and Muller. */
static double random_normal(void)
{
    const double far = sqrt(
        -2.0 *
        log(1.0 - uniform())); /* one call per statement, because the order of two calls within one is unspecified */
    return far * cos(2.0 * PI * uniform());
}

static void clear(double mean)
{
    memset(&scene, 0, sizeof scene);
    scene.mean = mean;
}

/** Waves between two lengths, whose sum has a given standard deviation. */
static void add_waves(double deviation, double least_px, double most_px)
{
    for (int i = 0; i < WAVES; i++) {
        const double f = 2.0 * PI / (least_px * pow(most_px / least_px, (double)i / (WAVES - 1)));
        const double angle = (i * 0.618 + 0.1 * uniform()) * 2.0 * PI;
        const double phase = 2.0 * PI * uniform();
        scene.wave[i] = (struct wave){f * cos(angle), f * sin(angle), phase, deviation * sqrt(2.0 / WAVES)};
    }
}

static void add_chess(double contrast, double softness_px)
{
    scene.contrast = contrast;
    scene.softness = softness_px;
    for (int axis = 0; axis < 2; axis++)
        for (int i = 0; i < EDGES; i++)
            scene.edge[axis][i] = (i ? scene.edge[axis][i - 1] : -100.0) + 30.0 + 30.0 * uniform();
}

static double sinc(double x) { return fabs(x) < 1e-9 ? 1.0 : sin(x) / x; }

/** Integral of erf. */
static double erf_integral(double x) { return x * erf(x) + exp(-x * x) / sqrt(PI); }

/** Profile of the chess board along one axis, -1 to 1, averaged over a pixel. */
static double chess_profile(int axis, double at)
{
    const double s = scene.softness;
    double sum = -1.0;
    for (int i = 0; i < EDGES; i++) {
        const double d = at - scene.edge[axis][i], sign = i % 2 ? -1.0 : 1.0;
        if (d < -8.0 * s - 1.0) break;
        sum += sign * (d > 8.0 * s + 1.0 ? 2.0 : 1.0 + s * (erf_integral((d + 0.5) / s) - erf_integral((d - 0.5) / s)));
    }
    return sum;
}

/** Draws a row of waves. Along it each is a rotating complex number, which saves most sines. */
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

/** Draws the scene, shifted by (dx, dy). */
static void draw_scene(float *to, int32_t width, int32_t height, double dx, double dy)
{
    static double across[VFRONT_WIDTH];
    for (int32_t x = 0; x < width; x++) across[x] = scene.contrast > 0.0 ? chess_profile(0, x - dx) : 0.0;
    for (int32_t y = 0; y < height; y++) {
        const double down = scene.contrast > 0.0 ? scene.contrast * chess_profile(1, y - dy) : 0.0;
        draw_waves(to + y * width, width, dx, y - dy);
        for (int32_t x = 0; x < width; x++) to[y * width + x] += (float)(across[x] * down);
    }
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

/** Shift, illumination and noise of a scene. */
struct exposure {
    double dx, dy;       /* shift of the whole scene [px] */
    double gain, offset; /* 1, 0: none [grey levels] */
    double sigma;        /* of the noise [grey levels] */
};

/** Draws the scene into a pyramid. now: 0 previous frame, 1 this frame. */
static void draw(int now, struct exposure v)
{
    static float ideal[VFRONT_WIDTH * VFRONT_HEIGHT];
    const struct vf_level *l = &step.geometry.level[0][0];
    const int32_t parity = step.parity;
    draw_scene(ideal, l->width, l->height, v.dx, v.dy);
    step.parity = now ? parity : parity ^ 1;
    uint8_t *to = memory.ingest.picture[step.parity][0];
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            const double grey = (double)ideal[y * l->width + x] * v.gain + v.offset +
                                (v.sigma > 0.0 ? v.sigma * random_normal() : 0.0);
            to[y * l->pitch + x] = (uint8_t)fmin(fmax(floor(grey + 0.5), 0.0), 255.0);
        }
    RUN(pyramid);
    step.parity = parity;
}

static const struct exposure still = {0, 0, 1, 0, 0};

/* ---- a textbook tracker in double precision ---------------------------------------------------------------------- */

/** Bilinear sample in the previous image (0) or this one, with replicated borders. */
static double sample(int now, double x, double y)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    const uint8_t *p = memory.ingest.picture[now ? step.parity : step.parity ^ 1][0];
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

/** Forward additive Lucas-Kanade with gain and offset on one level: the image is warped and linearised again in every
 *  step. It shares only the patch of 16x16 px centred on the feature with the library. */
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

#endif
