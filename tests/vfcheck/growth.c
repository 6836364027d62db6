/* SPDX-License-Identifier: MIT */
/* vfcheck: time of a step over image size, number of cameras and key points, and image content. */
#include <stdio.h>

#include "vfbench.h"

enum { STEPS = 120 };

static struct wall steps_of(int width, int height, int cameras, enum fill fill, int points)
{
    vfront_tuning_t t = standard();
    t.select_points = vf_min(points, VFRONT_KEYPOINTS);
#if VFRONT_STEREO && VFRONT_MATCHES && VFRONT_RECTIFY
    if (cameras == 2)
        start_pair(width, height, &t);
    else
#endif
        start_rig(width, height, cameras, &t, VFRONT_PORT_CUDA);
    const struct wall w = measure_steps(width, height, fill, STEPS);
    finish();
    return w;
}

void bench_growth(void)
{
    static const int size[][2] = {{640, 480}, {752, 480}, {1226, 370}, {1280, 720}, {1920, 1080}};
    static const int points[] = {128, 512, 2048};
    enum { POINTS = sizeof points / sizeof *points };
    double first_us[2][POINTS] = {{0.0}};
    printf(
        "\ngrowth of a step with the standard tuning, us p50 / device, natural pictures; beside it what noise takes of "
        "that; at the end the\ndevice's time and the pixels, both beside those of the first size\n");
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        const int width = size[i][0], height = size[i][1];
        if (width > VFRONT_WIDTH || height > VFRONT_HEIGHT) continue;
        draw_pictures(width, height);
        for (int cameras = 1; cameras <= VFRONT_CAMERAS; cameras++)
            for (int k = 0; k < POINTS; k++) {
                const struct wall w = steps_of(width, height, cameras, FILL_REAL, points[k]),
                                  noise = steps_of(width, height, cameras, FILL_NOISE, points[k]);
                double *first = &first_us[cameras - 1][k];
                if (*first <= 0.0) *first = (double)w.device;
                printf("  %4dx%-4d %d camera%s %5d points %7.1f / %7.1f  noise %7.1f / %7.1f (%.2f)  x %.2f, pixels x "
                       "%.2f\n",
                       width, height, cameras, cameras > 1 ? "s" : " ", points[k], (double)w.p50, (double)w.device,
                       (double)noise.p50, (double)noise.device, (double)(noise.device / w.device),
                       (double)w.device / *first, width * height / (double)(size[0][0] * size[0][1]));
            }
    }
}
