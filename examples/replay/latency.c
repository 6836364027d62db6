/* SPDX-License-Identifier: MIT */
/* Time of a step, from submit to result, over many steps of the rendered flight: percentiles and a histogram. The
 * pictures lie ready in memory and are shown forward and back; steps follow one another at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "examples/synthetic/synthetic.h"

#define PICTURES 12 /* of each camera */
#define STEPS_MAX 1000000

static vfront_t vf;
static float step_us[STEPS_MAX];
static uint8_t grey[PICTURES][VFRONT_CAMERAS][SYNTHETIC_WIDTH_PX * SYNTHETIC_HEIGHT_PX];

static struct {
    int steps, seconds;
    vfront_port_t port;
} options = {100000, 300, VFRONT_PORT_AUTO};

static int usage(void)
{
    puts("latency [--steps N] [--seconds N] [--port auto|cuda|host]\n"
         "Times of N steps, 1..1000000 (standard 100000), or of as many as --seconds (1..86400, standard 300) allow.\n"
         "Exit: 0 done, 1 the library refused, 2 usage.");
    return 2;
}

/** Value of an option within its range, or -1. */
static int number(const char *text, long max)
{
    char *end;
    const long value = strtol(text, &end, 10);
    return *end || value < 1 || value > max ? -1 : (int)value;
}

static int parse(int argc, char **argv)
{
    static const char *const port[] = {"auto", "cuda", "host"};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--steps"))
            options.steps = number(argv[i + 1], STEPS_MAX);
        else if (!strcmp(argv[i], "--seconds"))
            options.seconds = number(argv[i + 1], 86400);
        else if (!strcmp(argv[i], "--port")) {
            int p = 0;
            while (p < 3 && strcmp(argv[i + 1], port[p])) p++;
            if (p == 3) return 0;
            options.port = (vfront_port_t)p;
        } else
            return 0;
    }
    return argc % 2 && options.steps > 0 && options.seconds > 0;
}

static double now_s(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int rising(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/** Renders the pictures, in the size of the flight or the largest of the config. Returns 0 without memory. */
static int render(vfront_rig_t *rig)
{
    const int32_t width = VFRONT_WIDTH < SYNTHETIC_WIDTH_PX ? VFRONT_WIDTH : SYNTHETIC_WIDTH_PX;
    const int32_t height = VFRONT_HEIGHT < SYNTHETIC_HEIGHT_PX ? VFRONT_HEIGHT : SYNTHETIC_HEIGHT_PX;
    synthetic_t *flight = synthetic_open(width, height);
    if (!flight) return 0;
    synthetic_rig(flight, rig);
    for (uint32_t i = 0; i < PICTURES; i++)
        for (int32_t c = 0; c < rig->cameras; c++) synthetic_render(flight, i, c, grey[i][c], (size_t)width);
    synthetic_close(flight);
    return 1;
}

/** Steps until all are done or the time is over. Returns their number; fewer than 1: a step failed. */
static int run(const vfront_rig_t *rig)
{
    const double end_s = now_s() + options.seconds;
    int steps = 0;
    for (; steps < options.steps && (!steps || now_s() < end_s); steps++) {
        const int there = steps % (2 * PICTURES - 2), picture = there < PICTURES ? there : 2 * PICTURES - 2 - there;
        const vfront_result_t *result;
        vfront_frame_t frame = {.t_ns = (uint64_t)(steps + 1) * SYNTHETIC_FRAME_NS};
        for (int32_t c = 0; c < rig->cameras; c++) {
            frame.picture[c].data = grey[picture][c];
            frame.picture[c].width_px = rig->camera[c].width_px;
            frame.picture[c].height_px = rig->camera[c].height_px;
            frame.picture[c].pitch_bytes = (uint32_t)rig->camera[c].width_px;
        }
        const vfront_status_t status = vfront_step(&vf, &frame, &result);
        if (status) {
            fprintf(stderr, "latency: %s: %s\n", vfront_status_name(status), vfront_detail(&vf));
            return 0;
        }
        step_us[steps] = result->timing.step_us;
    }
    return steps;
}

static void print(int steps)
{
    float first = step_us[0], edge = 1.0f;
    qsort(step_us, (size_t)steps, sizeof *step_us, rising);
    printf("steps %d; first %.0f us; p50 %.0f, p90 %.0f, p99 %.0f, p99.9 %.0f, max %.0f us\n", steps, (double)first,
           (double)step_us[steps / 2], (double)step_us[steps * 9LL / 10], (double)step_us[steps * 99LL / 100],
           (double)step_us[steps * 999LL / 1000], (double)step_us[steps - 1]);
    for (int i = 0; i < steps; edge *= 1.189207115f) { /* four bins an octave */
        int n = 0;
        for (; i < steps && step_us[i] < edge; i++) n++;
        if (n) printf("  below %9.0f us  %7d steps\n", (double)edge, n);
    }
}

int main(int argc, char **argv)
{
    vfront_rig_t rig;
    vfront_info_t info;
    if (!parse(argc, argv)) return usage();
    if (!render(&rig)) return fprintf(stderr, "latency: no memory\n"), 1;
    const vfront_status_t status = vfront_init(&vf, &rig, NULL, options.port);
    if (status) return fprintf(stderr, "latency: %s: %s\n", vfront_status_name(status), vfront_detail(&vf)), 1;
    vfront_info(&vf, &info);
    printf("vfront %s on %s, %d cameras of %dx%d px%s%s\n", vfront_version(), info.device, rig.cameras,
           rig.camera[0].width_px, rig.camera[0].height_px, *vfront_detail(&vf) ? "; no GPU: " : "",
           vfront_detail(&vf));
    const int steps = run(&rig);
    if (steps) print(steps);
    vfront_shutdown(&vf);
    return !steps;
}
