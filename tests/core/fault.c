/* SPDX-License-Identifier: MIT */
/* Failing device calls: each CUDA call of port/cuda and each launch in turn, in init, step and shutdown. Each fault has
 * its status and names the call, everything is released, and the previous result is unchanged. late.c tests late and
 * lost steps, memory.c kinds of memory. */
#include "failing_call.h"

/* ---- init and shutdown ------------------------------------------------------------------------------------------- */

static const struct {
    cudaError_t error;
    vfront_status_t status;
} fate[] = {
    {cudaErrorMemoryAllocation, VFRONT_E_DEVICE_MEMORY},   {cudaErrorUnknown, VFRONT_E_DEVICE},
    {cudaErrorInsufficientDriver, VFRONT_E_DRIVER},        {cudaErrorNoDevice, VFRONT_E_NO_DEVICE},
    {cudaErrorNoKernelImageForDevice, VFRONT_E_NO_DEVICE},
};

/** Requires that the detail names the call, or "launch" if it failed in a launcher, and the error. */
static void named(cudaError_t error)
{
    const char *detail = vfront_detail(&pair_vf);
    assert_true(fault.failed >= 0);
    const int launch = fault.failed >= CALL_ingest || fault.in_launcher;
    if (!strstr(detail, launch ? "launch" : call_name[fault.failed]))
        fail_msg("\"%s\" lacks %s", detail, call_name[fault.failed]);
    if (!strstr(detail, cudaGetErrorName(error))) fail_msg("\"%s\" lacks %s", detail, cudaGetErrorName(error));
}

static void init_each_call(void **state)
{
    (void)state;
    const vfront_rig_t rig = small_rig();
    vfront_info_t info;
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    for (size_t i = 0; i < sizeof fate / sizeof *fate; i++) {
        /* writes more to the device, and launches all stages */
        tuning.rectify = tuning.dense = tuning.stixel = tuning.vio = tuning.map = i % 2;
        for (long n = 1;; n++) {
            fail_call(n, fate[i].error);
            const vfront_status_t status = vfront_init(&pair_vf, &rig, &tuning, VFRONT_PORT_CUDA);
            if (fault.failed < 0) { /* there is no n-th call */
                assert_int_equal(status, VFRONT_OK);
                assert_true(n > 60);
                break;
            }
            if (status != fate[i].status)
                fail_msg("call %ld, %s: %s", n, call_name[fault.failed], vfront_status_name(status));
            named(fate[i].error);
            all_given_back();
            assert_int_equal(cudaGetLastError(), cudaSuccess);
            assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_E_STATE);
        }
        end(NULL);
    }
}

/** AUTO falls back to the host port, and reports why. */
static void init_falls_back(void **state)
{
    (void)state;
    const vfront_rig_t rig = small_rig();
    for (long n = 1;; n++) {
        vfront_info_t info;
        fail_call(n, cudaErrorUnknown);
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_AUTO), VFRONT_OK);
        assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
        if (fault.failed < 0) {
            assert_int_equal(info.port, VFRONT_PORT_CUDA);
            break;
        }
        assert_int_equal(info.port, VFRONT_PORT_HOST);
        assert_string_equal(info.device, "host");
        for (size_t i = 4; i < sizeof info.device; i++)
            assert_int_equal(info.device[i], 0); /* the GPU's name is cleared */
        assert_true(info.device_bytes == 0 && info.pinned_bytes == 0);
        named(cudaErrorUnknown);
        all_given_back();
        vfront_shutdown(&pair_vf);
    }
}

/** After the fallback the host port works normally. */
static void fallback_works(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    for (long n = 1; n < 60; n += 13) {
        fail_call(n, cudaErrorMemoryAllocation);
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_AUTO), VFRONT_OK);
        assert_true(fault.failed >= 0);
        assert_int_equal(vfront_init(&pair_twin, &rig, NULL, VFRONT_PORT_HOST), VFRONT_OK);
        pair_at(0);
        for (int i = 0; i < 3; i++) pair_step();
        end(NULL);
        both_ports(); /* and the device works again */
        for (int i = 0; i < 3; i++) pair_step();
        end(NULL);
    }
}

static void init_no_device(void **state)
{
    (void)state;
    const vfront_rig_t rig = small_rig();
    no_fault();
    fault.devices = 0;
    pair_refused(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA), VFRONT_E_NO_DEVICE, "no CUDA device");
    fail_call(1, cudaErrorInsufficientDriver);
    pair_refused(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA), VFRONT_E_DRIVER, "cudaGetDeviceCount");
    all_given_back();
}

/** A device whose blocks lack the shared memory for stixels is refused, naming the stage. */
static void init_shared_memory(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t tuning;
    vfront_info_t info;
    const char *want = "stixel: a block of its kernels needs more shared memory than this device has";
    vfront_tuning_default(&tuning);
    tuning.rectify = tuning.dense = tuning.stixel = 1;
    no_fault();
    fault.shared = 1;
    pair_refused(vfront_init(&pair_vf, &rig, &tuning, VFRONT_PORT_CUDA), VFRONT_E_DEVICE_MEMORY, want);
    all_given_back();
    assert_int_equal(vfront_init(&pair_vf, &rig, &tuning, VFRONT_PORT_AUTO), VFRONT_OK);
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_int_equal(info.port, VFRONT_PORT_HOST);
    assert_non_null(strstr(vfront_detail(&pair_vf), want));
    vfront_shutdown(&pair_vf);
}

/** A shutdown completes whatever the device reports. */
static void shutdown_each_call(void **state)
{
    (void)state;
    const vfront_rig_t rig = small_rig();
    for (long n = 1;; n++) {
        no_fault();
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA), VFRONT_OK);
        fail_call(n, cudaErrorUnknown);
        vfront_shutdown(&pair_vf);
        all_given_back();
        assert_int_equal(cudaGetLastError(), cudaSuccess);
        if (fault.failed < 0) break;
    }
}

/* ---- step -------------------------------------------------------------------------------------------------------- */

static void submit_each_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fate / sizeof *fate; i++) {
        for (long n = 1;; n++) {
            const uint64_t frame = pair_step()->frame + 1;
            const vfront_frame_t f = rich_frame(frame);
            const vfront_frame_t plain = pair_frame(frame);
            const vfront_result_t *other;
            fail_call(n, fate[i].error);
            const vfront_status_t status = vfront_submit(&pair_vf, &f);
            if (fault.failed < 0) {
                assert_int_equal(status, VFRONT_OK);
                no_fault(); /* a real device is queried repeatedly while waiting */
                assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
                assert_int_equal(vfront_step(&pair_twin, &plain, &other), VFRONT_OK);
                assert_true(vfront_digest(result) == vfront_digest(other));
                assert_true(n > 3); /* two look-ups and a launch */
                break;
            }
            if (status != VFRONT_E_DEVICE)
                fail_msg("call %ld, %s: %s", n, call_name[fault.failed], vfront_status_name(status));
            named(fate[i].error);
            assert_int_equal(cudaGetLastError(), cudaSuccess);
            failed_for_good();
        }
        end(NULL);
        both_ports();
    }
}

static void query_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fate / sizeof *fate; i++) {
        const vfront_frame_t f = pair_frame(pair_step()->frame + 1);
        no_fault();
        fault.late = 2;
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
        fault.fail_at = fault.calls + 2; /* the second query */
        fault.error = fate[i].error;
        const vfront_status_t status = vfront_wait(&pair_vf, UINT32_MAX, &result);
        if (status != VFRONT_E_DEVICE) fail_msg("wait: %s", vfront_status_name(status));
        assert_null(result);
        named(fate[i].error);
        failed_for_good();
    }
}

/** Key points of the previous result are unchanged after a failing call of submit, a lost graph, and a failing
 *  query. */
static void result_before_stays(void **state)
{
    (void)state;
    static vfront_result_t kept;
    enum { SUBMIT, LOST, QUERY, VARIANTS };
    for (int variant = 0; variant < VARIANTS; variant++) {
        const vfront_result_t *before = pair_step();
        const vfront_frame_t f = pair_frame(before->frame + 1);
        kept = *before;
        assert_true(kept.depths_count > 20 && kept.keypoints_count[0] > 20 &&
                    kept.descriptors_count[VFRONT_CAMERAS - 1] > 20);
        no_fault();
        fault.error = cudaErrorUnknown;
        fault.fail_at = variant == SUBMIT;
        fault.lost = variant == LOST;
        fault.late = variant == QUERY ? -1 : 0;
        vfront_status_t status = vfront_submit(&pair_vf, &f);
        if (variant == QUERY) fault.fail_at = fault.calls + 1;
        if (variant != SUBMIT && !status) status = vfront_wait(&pair_vf, UINT32_MAX, &result);
        assert_int_equal(status, VFRONT_E_DEVICE);
        for (int k = 0; k < 4; k++) {
            assert_true(vfront_digest(before) == vfront_digest(&kept));
            for (int c = 0; c < VFRONT_CAMERAS; c++) pair_same_points(before, c, &kept, c);
            pair_same_partners(before, &kept);
            assert_int_equal(vfront_step(&pair_vf, &f, &result),
                             VFRONT_E_DEVICE); /* refused afterwards, without further effect */
        }
        end(NULL);
        both_ports();
    }
}

/* ---- the wrappers themselves ------------------------------------------------------------------------------------- */

static void every_call_failed(void **state)
{
    (void)state;
    for (int i = 0; i < CALLS; i++)
        if (!failures[i]) fail_msg("%s was never made to fail", call_name[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LONE(init_each_call),      LONE(init_falls_back),    LONE(fallback_works),   LONE(init_no_device),
        LONE(init_shared_memory),  LONE(shutdown_each_call), PAIR(submit_each_call), PAIR(query_fails),
        PAIR(result_before_stays), NAPS(submit_each_call),   NAPS(query_fails),      LONE(every_call_failed),
    };
    return run(tests, sizeof tests / sizeof *tests);
}
