/* SPDX-License-Identifier: MIT */
/* The way back to the GPU, vfront_return(): it is refused where no port failed over, each of its calls fails or hangs,
 * and an error that stays in the context closes it, as kernels leave it that trap, write to a bad address or assert.
 * The host port goes on in each case. And frames and tuning values that fail-over refuses.
 *   return [--kernel N]    --kernel: one bad kernel, in a process of its own */
#define _POSIX_C_SOURCE 200809L
#include "takeover.h"

#include <stdio.h>

/* ---- what is refused, and what fails ----------------------------------------------------------------------------- */

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
    t.failover = 2;
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

/** A way back that fails, or hangs, at each call: the host port goes on, and the next try may succeed. */
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

/** An error that stays in the context: the host port goes on to the end, and says that there is no way back. */
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

/* ---- kernels that fail ------------------------------------------------------------------------------------------- */

#ifdef VF_SPIN
cudaError_t spin_launch(int ms, cudaStream_t stream);
cudaError_t trap_launch(int how, cudaStream_t stream);

static const struct {
    const char *name;
    int how;                  /* of trap_launch(); -1: spin_launch() */
    vfront_status_t way_back; /* status of vfront_return() afterwards */
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

/** 100 frames, with a bad kernel in the stream before the 51st, in a process of its own: most of them leave a context
 *  that is of no use. */
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
        if (i == 50) print_message("%s: %s\n", bad_kernel[which].name, state_of(&pair_vf)->failover.why);
        if (i != 89) continue;
        vfront_status_t status;
        while ((status = go_back()) == VFRONT_E_ABANDONED) nanosleep(&nap, NULL);
        print_message("%s: vfront_return() is %s\n", bad_kernel[which].name, vfront_status_name(status));
        assert_int_equal(status, bad_kernel[which].way_back);
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
