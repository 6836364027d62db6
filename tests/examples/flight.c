/* SPDX-License-Identifier: MIT */
/* Depths and bearings of the rendered flight (examples/synthetic/synthetic.h) against its exact geometry, through the
 * public
 *  interface. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "examples/synthetic/synthetic.h"
#include "vfront.h"

#if VFRONT_STEREO && VFRONT_HOST
#define WIDTH SYNTHETIC_WIDTH_PX
#define HEIGHT SYNTHETIC_HEIGHT_PX
#define FRAMES 6
#define APART 120 /* frames of the flight, so that each shows another part of the hall */
#define DEPTHS_MAX (FRAMES * VFRONT_KEYPOINTS)

static vfront_t vf;
static uint8_t grey[2][HEIGHT][WIDTH];
static float truth_px[HEIGHT][WIDTH];

/** Errors of all depths. */
static struct {
    size_t count;
    double relative[DEPTHS_MAX]; /* error of the inverse depth, of what it is */
    double sigmas[DEPTHS_MAX];   /* error of the depth, in its standard deviations */
    double row_px[DEPTHS_MAX];   /* how far the place in camera 1 is from the row: these cameras are rectified */
    double bearing[DEPTHS_MAX];  /* how far the key point's bearing is from that of a pinhole */
} found;

static void compare_with_truth(const vfront_camera_t *c, const vfront_result_t *r)
{
    for (uint32_t i = 0; i < r->depths_count; i++) {
        const vfront_depth_t *d = &r->depths[i];
        const vfront_keypoint_t *k = &r->keypoints[0][d->keypoint];
        const double disparity_px = (double)truth_px[(int)(k->y_px + 0.5f)][(int)(k->x_px + 0.5f)];
        const double depth_m = c->fx_px * synthetic_baseline_m() / disparity_px;
        const double x = ((double)k->x_px - c->cx_px) / c->fx_px, y = ((double)k->y_px - c->cy_px) / c->fy_px;
        const size_t n = found.count++;
        found.relative[n] = fabs(depth_m / (double)d->depth_m - 1.0);
        found.sigmas[n] = fabs((double)d->depth_m - depth_m) / (double)d->sigma_m;
        found.row_px[n] = fabs((double)d->y_px - (double)k->y_px);
        found.bearing[n] = fabs(x - (double)(k->bearing[0] / k->bearing[2])) +
                           fabs(y - (double)(k->bearing[1] / k->bearing[2]));
    }
}

static void look(synthetic_t *flight, const vfront_rig_t *rig, uint32_t index)
{
    const vfront_result_t *result;
    vfront_frame_t frame = {.t_ns = synthetic_time_ns(index)};
    for (int32_t camera = 0; camera < 2; camera++) {
        synthetic_render(flight, index, camera, grey[camera][0], WIDTH);
        frame.picture[camera] = (vfront_picture_t){
            .data = grey[camera], .width_px = WIDTH, .height_px = HEIGHT, .pitch_bytes = WIDTH};
    }
    assert_int_equal(vfront_step(&vf, &frame, &result), VFRONT_OK);
    assert_in_range(result->depths_count, result->keypoints_count[0] / 3, result->keypoints_count[0]);
    synthetic_disparity(flight, index, truth_px[0], WIDTH);
    compare_with_truth(&rig->camera[0], result);
}

static int compare(const void *a, const void *b)
{
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/** Assert that a percentile is below a bound. */
static void expect_below(const char *what, double *error, unsigned percent, double bound)
{
    qsort(error, found.count, sizeof *error, compare);
    const double min = error[(found.count - 1) * percent / 100];
    print_message("%s: %u %% within %.3g\n", what, percent, min);
    if (!(min < bound)) fail_msg("%s: not below %g", what, bound);
}

static void test_depth(void **state)
{
    (void)state;
    synthetic_t *flight = synthetic_open(WIDTH, HEIGHT);
    vfront_rig_t rig;
    assert_non_null(flight);
    synthetic_rig(flight, &rig);
    assert_int_equal(vfront_init(&vf, &rig, NULL, VFRONT_PORT_HOST), VFRONT_OK);
    for (uint32_t i = 0; i < FRAMES; i++) look(flight, &rig, i * APART);
    expect_below("depth, relative", found.relative, 50, 0.03);
    expect_below("depth, relative", found.relative, 95, 0.12);
    expect_below("depth, in its standard deviations", found.sigmas, 95, 2.0);
    expect_below("rows [px]", found.row_px, 98, 0.05);
    expect_below("bearing", found.bearing, 100, 1e-6);
    vfront_shutdown(&vf);
    synthetic_close(flight);
}
#else
static void test_depth(void **state)
{
    (void)state;
    print_message("skipped: this config has no VFRONT_STEREO or no VFRONT_HOST\n");
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_depth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
