/* SPDX-License-Identifier: MIT */
/* Flights through drawn worlds with rendered pictures of 376x240 px, by the calls of vfront.h on the host port: all
 * that the library does is its own work. Worlds are those of drawn_world.h; its group `tracks` is not used but for
 * `texture`, the contrast of what is seen. The scene is built around the flight (drawn_place.h), pictures are blurred
 * over the exposure. `build/worlds-rendered --help` lists the options; tests/vio/worlds.py runs many. */
#define FLIGHT_WIDTH 376
#define FLIGHT_HEIGHT 240
#include "drawn_program.h"
#include "drawn_place.h"

/** Pixels at which depth, overlap and blur are measured; views of the flight for which a place is built; moments of an
 *  exposure, and how far apart they are in the picture. */
enum { GRID_X = 8, GRID_Y = 6, GRID = GRID_X * GRID_Y, VIEWS_MAX = 600, MOMENTS_MAX = 16 };
#define MOMENT_PX 1.5
#define BORDER_PX 8
#define BRIGHTNESS_S 3

/** Points that camera 0 saw at the pixels of the grid in the frame before. */
static struct {
    int count;
    double at[GRID][3];
} before;

static int view_uses(const struct world_draw *quantity)
{
    return quantity->group != WORLD_TRACKS || !strcmp(quantity->name, "texture");
}

static struct place_lens lens_of(int camera)
{
    const struct flight_camera *c = &flight.rig.camera[camera];
    return (struct place_lens){c->f, c->cx, c->cy};
}

/** Position and axes of a camera at a true time. */
static void camera_at(int camera, double t, double c[3], double R[9])
{
    flight_camera_at(&flight, t, c, R);
    if (!camera) return;
    double aside[3];
    for (int k = 0; k < 3; k++) {
        aside[k] = 0;
        for (int i = 0; i < 3; i++) aside[k] -= flight.rig.R_1_0[3 * i + k] * flight.rig.t_1_0[i];
    }
    rotate(R, aside, aside);
    for (int k = 0; k < 3; k++) c[k] += aside[k];
    product(R, flight.rig.R_1_0, 1, R);
}

static void view_begin(void)
{
    static double centre[VIEWS_MAX][3], axes[VIEWS_MAX][9];
    const struct world *w = &flight.world;
    const double step = fmax(0.1, flight.seconds / (VIEWS_MAX - 1));
    struct place_plan plan = {.seed = flight.seed,
                              .near_m = w->near_m,
                              .far_m = fmin(60, w->near_m * w->deep),
                              .contrast = w->texture,
                              .lens = lens_of(0),
                              .centre = (const double(*)[3])centre,
                              .axes = (const double(*)[9])axes};
    for (; plan.views < VIEWS_MAX && plan.views * step <= flight.seconds; plan.views++)
        flight_camera_at(&flight, FLIGHT_LEAD_S + plan.views * step, centre[plan.views], axes[plan.views]);
    place_build(&plan);
    before.count = 0;
}

/** Pixel of a point; 1 if it is in the picture. */
static int project(const double c[3], const double R[9], const double at[3], double border, double px[2])
{
    const struct place_lens lens = lens_of(0);
    const double d[3] = {at[0] - c[0], at[1] - c[1], at[2] - c[2]};
    double x[3];
    for (int k = 0; k < 3; k++) x[k] = R[k] * d[0] + R[3 + k] * d[1] + R[6 + k] * d[2];
    if (!(x[2] > 0.05)) return 0;
    px[0] = lens.f * x[0] / x[2] + lens.cx, px[1] = lens.f * x[1] / x[2] + lens.cy;
    return px[0] >= border && px[1] >= border && px[0] <= FLIGHT_WIDTH - 1 - border &&
           px[1] <= FLIGHT_HEIGHT - 1 - border;
}

/** Overlap with the frame before, depths and blur of frame k. Returns the longest blur [px]. */
static double look(int k)
{
    const struct place_lens lens = lens_of(0);
    double c[3], R[9], soon[3], R_soon[9], px[GRID][2], depth[GRID], there[2], longest = 0;
    camera_at(0, flight.frame_s[k], c, R);
    camera_at(0, flight.frame_s[k] + 1e-3, soon, R_soon);
    seen.in_view = 0;
    seen.of = before.count;
    for (int i = 0; i < before.count; i++) seen.in_view += project(c, R, before.at[i], BORDER_PX, there);
    for (int i = 0; i < GRID; i++) {
        px[i][0] = FLIGHT_WIDTH * (i % GRID_X + 0.5) / GRID_X;
        px[i][1] = FLIGHT_HEIGHT * (i / GRID_X + 0.5) / GRID_Y;
    }
    place_depths(&lens, R, c, GRID, (const double(*)[2])px, depth);
    before.count = 0;
    for (int i = 0; i < GRID; i++) {
        double *at = before.at[before.count];
        const double x[3] = {(px[i][0] - lens.cx) / lens.f * depth[i], (px[i][1] - lens.cy) / lens.f * depth[i],
                             depth[i]};
        if (!(depth[i] > 0)) continue;
        rotate(R, x, at);
        for (int j = 0; j < 3; j++) at[j] += c[j];
        before.count++;
        (void)project(soon, R_soon, at, -1e4, there);
        const double blur = 1e3 * flight.exposure_s * hypot(there[0] - px[i][0], there[1] - px[i][1]);
        seen.blur += blur, seen.log_depth += log(depth[i]), seen.points++;
        longest = fmax(longest, blur);
    }
    return longest;
}

/** Brightness of a time, 1 in the mean: another one every BRIGHTNESS_S. */
static double brightness_at(double t)
{
    const uint64_t r = world_mix(world_mix(flight.seed + 77) + (uint64_t)(t / BRIGHTNESS_S));
    return 1 + flight.world.brightness * (2 * (double)(r >> 11) * 0x1p-53 - 1);
}

/** Writes a picture as PGM. */
static void keep(int k, int camera, const uint8_t *pixels)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%06.0f-%04d-%d.pgm", mode.pictures, (double)flight.seed, k, camera);
    FILE *file = fopen(name, "wb");
    int written = file && fprintf(file, "P5 %d %d 255\n", FLIGHT_WIDTH, FLIGHT_HEIGHT) > 0 &&
                  fwrite(pixels, FLIGHT_WIDTH, FLIGHT_HEIGHT, file) == FLIGHT_HEIGHT;
    if (file) written &= !fclose(file);
    if (written) return;
    fprintf(stderr, "worlds-rendered: cannot write %s\n", name);
    exit(1);
}

static void view_frame(int k, vfront_frame_t *frame)
{
    static uint8_t picture[2][FLIGHT_HEIGHT * FLIGHT_WIDTH];
    static uint32_t irradiance[FLIGHT_HEIGHT * FLIGHT_WIDTH];
    const int moments = (int)fmin(MOMENTS_MAX, 1 + look(k) / MOMENT_PX);
    for (int camera = 0; camera < 2; camera++) {
        const struct place_lens lens = lens_of(camera);
        const struct place_sensor sensor = {
            .gain = brightness_at(flight.frame_s[k]) * (camera ? 0.96 : 1),
            .offset_grey = camera ? 2 : 4,
            .electrons = flight.world.electrons,
            .key = world_mix(world_mix(flight.seed) + 2 * (uint64_t)k + (uint64_t)camera)};
        memset(irradiance, 0, sizeof irradiance);
        for (int i = 0; i < moments; i++) {
            double c[3], R[9];
            camera_at(camera, flight.frame_s[k] + ((i + 0.5) / moments - 0.5) * flight.exposure_s, c, R);
            place_gather(&lens, R, c, irradiance);
        }
        place_expose(irradiance, (unsigned)moments, &sensor, picture[camera]);
        if (is_black(k)) memset(picture[camera], 0, sizeof picture[camera]);
        if (mode.pictures) keep(k, camera, picture[camera]);
        frame->picture[camera] = (vfront_picture_t){
            .data = picture[camera], .width_px = FLIGHT_WIDTH, .height_px = FLIGHT_HEIGHT, .pitch_bytes = FLIGHT_WIDTH};
    }
}

int main(int argc, char **argv)
{
    if (!place_open(FLIGHT_WIDTH, FLIGHT_HEIGHT)) return fprintf(stderr, "worlds-rendered: no memory\n"), 1;
    return drawn_main(argc, argv, "worlds-rendered", 6);
}
