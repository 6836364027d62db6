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
    view_camera_at(&flight, 0, flight.frame_s[k], c, R);
    view_camera_at(&flight, 0, flight.frame_s[k] + 1e-3, soon, R_soon);
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

/** Depth of each pixel of a camera's picture [m]. */
static void depths_of(const struct place_lens *lens, const double R[9], const double c[3], float *depth_m)
{
    static double px[FLIGHT_WIDTH][2], depth[FLIGHT_WIDTH];
    for (int y = 0; y < FLIGHT_HEIGHT; y++) {
        for (int x = 0; x < FLIGHT_WIDTH; x++) px[x][0] = x, px[x][1] = y;
        place_depths(lens, R, c, FLIGHT_WIDTH, (const double(*)[2])px, depth);
        for (int x = 0; x < FLIGHT_WIDTH; x++) depth_m[y * FLIGHT_WIDTH + x] = (float)depth[x];
    }
}

/** Renders the picture of a camera in frame k, blurred over the exposure. */
static void render(int k, int camera, int moments, uint8_t *pixels)
{
    static uint32_t irradiance[FLIGHT_HEIGHT * FLIGHT_WIDTH];
    const struct place_lens lens = lens_of(camera);
    const struct place_sensor sensor = {.gain = brightness_at(flight.frame_s[k]) * (camera ? 0.96 : 1),
                                        .offset_grey = camera ? 2 : 4,
                                        .electrons = flight.world.electrons,
                                        .key = world_mix(world_mix(flight.seed) + 2 * (uint64_t)k + (uint64_t)camera)};
    const double middle = flight.frame_s[k] - view_now.delay_s[camera];
    memset(irradiance, 0, sizeof irradiance);
    for (int i = 0; i < moments; i++) {
        double c[3], R[9];
        view_camera_at(&flight, camera, middle + ((i + 0.5) / moments - 0.5) * flight.exposure_s, c, R);
        place_gather(&lens, R, c, irradiance);
    }
    place_expose(irradiance, (unsigned)moments, &sensor, pixels);
}

/** Puts the fault of the flight into the finished picture of a camera, and keeps the picture as it would be. */
static void put_fault(int k, int camera, uint8_t *pixels)
{
    static uint8_t held[2][PICTURE_PIXELS], last[2][PICTURE_PIXELS], clean[PICTURE_PIXELS];
    static float depth_m[PICTURE_PIXELS];
    const struct fault *f = active_fault(k);
    const struct place_lens lens = lens_of(camera);
    memcpy(clean, pixels, sizeof clean);
    if (!f) memcpy(held[camera], pixels, sizeof clean);
    if (view_now.frozen[camera]) memcpy(pixels, held[camera], sizeof clean);
    if (f && f->kind->picture && view_touched(f, camera)) {
        struct fault_picture at = {.frame = k,
                                   .near_m = flight.world.near_m,
                                   .camera = camera,
                                   .lens = flight.rig.camera[camera],
                                   .held = held[camera],
                                   .before = last[camera]};
        const int before_fault = view_frame_before(&flight, f, k);
        at.frames_since = k - before_fault - 1;
        at.since_s = flight.frame_s[k] - FLIGHT_LEAD_S - f->begin_s;
        view_camera_at(&flight, camera, flight.frame_s[k], at.c, at.R);
        view_camera_at(&flight, 0, FLIGHT_LEAD_S + f->begin_s, at.c_begin, at.R_begin);
        if (f->kind->picture == picture_repeat) depths_of(&lens, at.R, at.c, depth_m), at.depth_m = depth_m;
        f->kind->picture(f, &at, pixels);
    }
    for (int i = 0; i < PICTURE_PIXELS && view_now.hidden[camera] > 0; i++)
        if (view_covers(view_now.side, view_now.hidden[camera], i % FLIGHT_WIDTH)) pixels[i] = 0;
    memcpy(last[camera], clean, sizeof clean);
}

static void view_frame(int k, vfront_frame_t *frame)
{
    static uint8_t picture[2][FLIGHT_HEIGHT * FLIGHT_WIDTH];
    const int moments = (int)fmin(MOMENTS_MAX, 1 + look(k) / MOMENT_PX);
    for (int camera = 0; camera < 2; camera++) {
        render(k, camera, moments, picture[camera]);
        put_fault(k, camera, picture[camera]);
        if (is_black(k) || view_now.lost[camera]) memset(picture[camera], 0, sizeof picture[camera]);
        if (mode.pictures) keep(k, camera, picture[camera]);
        frame->picture[camera] = (vfront_picture_t){
            .data = picture[camera], .width_px = FLIGHT_WIDTH, .height_px = FLIGHT_HEIGHT, .pitch_bytes = FLIGHT_WIDTH};
    }
}

static void view_refused(void) {} /* pictures do not depend on what the library took */

int main(int argc, char **argv)
{
    if (!place_open(FLIGHT_WIDTH, FLIGHT_HEIGHT)) return fprintf(stderr, "worlds-rendered: no memory\n"), 1;
    return drawn_main(argc, argv, "worlds-rendered", 6);
}
