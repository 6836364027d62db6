/* SPDX-License-Identifier: MIT */
/* Return to the GPU, vfront_return(). It is refused if the front end never failed over. Each of its calls fails or
 * hangs. A sticky error of the context, as after a kernel that traps, writes to an invalid address or asserts, makes it
 * impossible. The host port stays active in each case. Also frames and tuning values that fail-over refuses.
 * return [--kernel N]    --kernel: one failing kernel, in a process of its own */
#define _POSIX_C_SOURCE 200809L
#include "takeover.h"

#include <stdio.h>

/* ---- refusals, and failures -------------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t t = tuning();
    assert_int_equal(vfront_return(NULL), VFRONT_E_NULL);
    assert_int_equal(vfront_return(&pair_vf), VFRONT_E_STATE); /* not initialised */
    start(VFRONT_PORT_HOST);
    pair_refused(vfront_return(&pair_vf), VFRONT_E_STATE, "no port failed over");
    end();
    t.failover = 3;
    pair_refused(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_E_TUNING, "failover");
    t.failover = 0;
    no_fault();
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_OK);
    vfront_frame_t f = frame_for(&pair_vf, 0, 0);
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    fault.fails = LAUNCH;
    f = frame_for(&pair_vf, 1, 0);
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_E_DEVICE);
    pair_refused(vfront_return(&pair_vf), VFRONT_E_STATE, "no port failed over");
    over();
    vfront_shutdown(&pair_vf);
    start(VFRONT_PORT_CUDA);
    pair_refused(vfront_return(&pair_vf), VFRONT_E_STATE, "no port failed over");
    step(0, 0);
    f = frame_for(&pair_vf, 1, 0);
    f.picture[0].memory = VFRONT_DEVICE_MEMORY;
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_MEMORY_KIND, "failover");
    f.picture[0].memory = VFRONT_PINNED_MEMORY;
    fault.managed = 1;
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_MEMORY_KIND,
                 "managed memory, which failover cannot read");
    fault.managed = 0;
    fault.unseen = 1;
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_MEMORY_KIND, "not of the kind of memory given");
    fault.unseen = 0;
    for (uint64_t i = 1; i < 3; i++) step(i, 0);
    end();
}

/** A return that fails, or hangs, at each call: the host port stays active, and the next attempt may succeed. */
static void return_fails(void **state)
{
    (void)state;
    static const enum call call[] = {QUERY, COPY, SYNCHRONIZE};
    brief = 1;
    start(VFRONT_PORT_CUDA);
    brief = 0;
    step(0, 0);
    uint64_t i = 1;
    for (int hang = 0; hang < 2; hang++)
        for (size_t k = 0; k < sizeof call / sizeof *call; k++) {
            make(LOST, LAUNCH);
            step(i++, 1);
            over();
            if (hang)
                fault.hangs = call[k];
            else
                fault.fails = call[k];
            const vfront_status_t status = go_back();
            assert_int_equal(status, hang ? VFRONT_E_ABANDONED : call[k] == QUERY ? VFRONT_E_STICKY : VFRONT_E_DEVICE);
            step(i++, 1);
            over();
            vfront_status_t back = VFRONT_E_ABANDONED;
            while (back == VFRONT_E_ABANDONED) back = go_back();
            assert_int_equal(back, VFRONT_OK);
            step(i++, 0);
        }
    end();
}

/** A sticky error: the host port stays active to the end, and the error is reported. */
static void sticky(void **state)
{
    (void)state;
    start(VFRONT_PORT_CUDA);
    for (uint64_t i = 0; i < FRAMES; i++) {
        if (i == 4) fault.sticky = 1;
        step(i, i >= 4);
        if (i > 4) pair_refused(vfront_return(&pair_vf), VFRONT_E_STICKY, "cudaErrorIllegalAddress");
    }
    end();
}

/* ---- failing kernels --------------------------------------------------------------------------------------------- */

#ifdef VF_SPIN
cudaError_t spin_launch(int ms, cudaStream_t stream);
cudaError_t trap_launch(int how, cudaStream_t stream);

static const struct {
    const char *name;
    int how;                     /* of trap_launch(); -1: spin_launch() */
    vfront_status_t return_step; /* status of vfront_return() afterwards */
} bad_kernel[] = {
    {"trap", 0, VFRONT_E_STICKY},     {"address", 1, VFRONT_E_STICKY}, {"assertion", 2, VFRONT_E_STICKY},
    {"refused launch", 3, VFRONT_OK}, {"spin", -1, VFRONT_OK},
};
#define BAD_KERNELS (sizeof bad_kernel / sizeof *bad_kernel)

static const char *self;
static size_t which;

static cudaError_t launch_bad_kernel(cudaStream_t stream)
{
    const int how = bad_kernel[which].how;
    return how < 0 ? spin_launch(3000, stream) : trap_launch(how, stream);
}

/** 100 frames with a failing kernel in the stream before the 51st. Runs in a process of its own, because most of these
 *  kernels leave the context unusable. */
static void with_bad_kernel(void **state)
{
    (void)state;
    struct timespec nap = {0, 10000000};
    brief = bad_kernel[which].how < 0;
    start(VFRONT_PORT_CUDA);
    for (uint64_t i = 0; i < 100; i++) {
        fault.ahead = i == 50 ? launch_bad_kernel : NULL;
        step(i, i >= 50 && i < 90);
        fault.ahead = NULL;
        if (i == 50) print_message("%s: %s\n", bad_kernel[which].name, context_of(&pair_vf)->failover.why);
        if (i != 89) continue;
        vfront_status_t status;
        while ((status = go_back()) == VFRONT_E_ABANDONED) nanosleep(&nap, NULL);
        print_message("%s: vfront_return() is %s\n", bad_kernel[which].name, vfront_status_name(status));
        assert_int_equal(status, bad_kernel[which].return_step);
        if (status) break;
    }
    end();
}

static void kernels_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < BAD_KERNELS; i++) {
        char command[300];
        snprintf(command, sizeof command, "%s --kernel %d", self, (int)i);
        if (system(command)) fail_msg("%s", bad_kernel[i].name);
    }
}

#else
static void kernels_fail(void **state)
{
    (void)state;
    print_message("skipped: a kernel that fails needs a GPU\n");
    skip();
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(return_fails),
        cmocka_unit_test(sticky),
        cmocka_unit_test(kernels_fail),
    };
    if (!ready(argc, argv)) return without_device();
#ifdef VF_SPIN
    const struct CMUnitTest one[] = {cmocka_unit_test(with_bad_kernel)};
    self = argv[0];
    if (argc > 2 && !strcmp(argv[1], "--kernel") && (which = (size_t)atoi(argv[2])) < BAD_KERNELS)
        return cmocka_run_group_tests(one, NULL, NULL);
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
