/* SPDX-License-Identifier: MIT */
/* Steps of the host port in a thread whose stack has VFRONT_STACK_BYTES. A stack of half the size is too little in the
 * standard config, which shows that the test can fail. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_STACK */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "vfront.h"

#define WIDTH 320
#define HEIGHT 240
#define STEPS 4
#define BELOW (4u << 20) /* guard below the stack [bytes], larger than any stack frame: touching it ends the program */
#define UNUSED 0xa5

static vfront_t vf;
static uint8_t grey[2][HEIGHT][WIDTH];

/** Draws noise of 4x4 px that moves by 2 px per frame, with a disparity of 6 px. */
static void draw(int frame)
{
    for (int c = 0; c < 2; c++)
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                const uint32_t tile = (uint32_t)((x + 2 * frame + 6 * c) / 4 + 1000 * (y / 4)) * 2654435761u;
                grey[c][y][x] = (uint8_t)(tile >> 24);
            }
}

static vfront_camera_t camera(double x_m)
{
    return (vfront_camera_t){.width_px = WIDTH,
                             .height_px = HEIGHT,
                             .fx_px = 200,
                             .fy_px = 200,
                             .cx_px = WIDTH / 2,
                             .cy_px = HEIGHT / 2,
                             .R_cam_imu = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                             .t_cam_imu_m = {-x_m, 0, 0}};
}

/** Makes all calls of a flight. Returns the first status other than VFRONT_OK, or 1 without a motion. */
static void *fly(void *unused)
{
    vfront_rig_t rig = {.cameras = VFRONT_CAMERAS, .camera = {camera(0.0)}};
    const vfront_result_t *result;
    (void)unused;
    if (VFRONT_CAMERAS > 1) rig.camera[VFRONT_CAMERAS - 1] = camera(0.1);
    vfront_status_t status = vfront_init(&vf, &rig, NULL, VFRONT_PORT_HOST);
    for (int i = 0; i < STEPS && !status; i++) {
        vfront_frame_t frame = {.t_ns = (uint64_t)i * 33000000u};
        draw(i);
        for (int c = 0; c < VFRONT_CAMERAS; c++)
            frame.picture[c] = (vfront_picture_t){
                .data = grey[c], .width_px = WIDTH, .height_px = HEIGHT, .pitch_bytes = WIDTH};
        status = vfront_step(&vf, &frame, &result);
        if (!status && i && result->tracks_count < 50) return (void *)1;
    }
    if (status) return (void *)(intptr_t)status;
    return (void *)(intptr_t)vfront_shutdown(&vf);
}

/** Number of bytes of a stack that were written. */
static size_t used_of(const uint8_t *stack, size_t bytes)
{
    size_t free = 0;
    while (free < bytes && stack[free] == UNUSED) free++;
    return bytes - free;
}

/** Runs a flight in a thread with a stack of `bytes`, in a process of its own. Returns its waitpid() status. */
static int fly_on(size_t bytes)
{
    int end;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        pthread_attr_t with_stack;
        pthread_t thread;
        void *outcome = (void *)1;
        signal(SIGSEGV, SIG_DFL);
        uint8_t *below = mmap(NULL, BELOW + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (below == MAP_FAILED || mprotect(below + BELOW, bytes, PROT_READ | PROT_WRITE)) _exit(2);
        memset(below + BELOW, UNUSED, bytes);
        if (pthread_attr_init(&with_stack) || pthread_attr_setstack(&with_stack, below + BELOW, bytes)) _exit(3);
        if (pthread_create(&thread, &with_stack, fly, NULL) || pthread_join(thread, &outcome)) _exit(4);
        printf("thread: %zu of %zu bytes of stack used\n", used_of(below + BELOW, bytes), bytes);
        fflush(stdout);
        _exit(outcome ? 5 : 0);
    }
    assert_true(waitpid(child, &end, 0) == child);
    return end;
}

static void stack_is_enough(void **state)
{
    (void)state;
    const int end = fly_on((size_t)VFRONT_STACK_BYTES);
    if (!WIFEXITED(end) || WEXITSTATUS(end)) fail_msg("%d bytes: end %d", (int)VFRONT_STACK_BYTES, end);
}

static void half_is_not(void **state)
{
    (void)state;
    const int end = fly_on((size_t)VFRONT_STACK_BYTES / 2);
    assert_true(WIFSIGNALED(end) && WTERMSIG(end) == SIGSEGV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stack_is_enough), cmocka_unit_test(half_is_not)};
    return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
