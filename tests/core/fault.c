/* SPDX-License-Identifier: MIT */
/* Calls of the device that fail: each CUDA call of port/cuda and each launch in turn, in init, step and shutdown. Each
 * fault has its status and names the call, all is given back, and the result before it stays. Steps that are late or
 * lost: late.c; kinds of memory: memory.c. */
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

/** The detail names the call, or says "launch" where it failed in a launcher, and the error. */
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
        tuning.rectify = tuning.dense = tuning.stixel = tuning.window = tuning.map =
            i % 2; /* which writes more to the device, and launches all stages */
        for (long n = 1;; n++) {
            fail_call(n, fate[i].error);
            const vfront_status_t status = vfront_init(&pair_vf, &rig, &tuning, VFRONT_PORT_CUDA);
            if (fault.failed < 0) { /* no n-th call */
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

/** AUTO goes on with the host port, and says why. */
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
            assert_int_equal(info.device[i], 0); /* nothing left of the GPU's name */
        assert_true(info.device_bytes == 0 && info.pinned_bytes == 0);
        named(cudaErrorUnknown);
        all_given_back();
        vfront_shutdown(&pair_vf);
    }
}

/** Falls back, and then the host port works as ever. */
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
        both_ports(); /* and the device is as good as ever */
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

/** A device whose blocks cannot have the shared memory that stixels need is refused by the stage's name. */
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

/** A shutdown goes through to its end whatever the device says. */
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
                no_fault(); /* a real device is asked again and again while one waits */
                assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
                assert_int_equal(vfront_step(&pair_twin, &plain, &other), VFRONT_OK);
                assert_true(vfront_digest(result) == vfront_digest(other));
                assert_true(n > 3); /* two look-ups, a launch */
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

/** Whatever becomes of a frame, the key points of the one before stay as they were: here a call of the submit that
 *  fails, a graph that is lost, and a query that fails. */
static void result_before_stays(void **state)
{
    (void)state;
    static vfront_result_t kept;
    enum { SUBMIT, LOST, QUERY, WAYS };
    for (int way = 0; way < WAYS; way++) {
        const vfront_result_t *before = pair_step();
        const vfront_frame_t f = pair_frame(before->frame + 1);
        kept = *before;
        assert_true(kept.depths_count > 20 && kept.keypoints_count[0] > 20 &&
                    kept.descriptors_count[VFRONT_CAMERAS - 1] > 20);
        no_fault();
        fault.error = cudaErrorUnknown;
        fault.fail_at = way == SUBMIT;
        fault.lost = way == LOST;
        fault.late = way == QUERY ? -1 : 0;
        vfront_status_t status = vfront_submit(&pair_vf, &f);
        if (way == QUERY) fault.fail_at = fault.calls + 1;
        if (way != SUBMIT && !status) status = vfront_wait(&pair_vf, UINT32_MAX, &result);
        assert_int_equal(status, VFRONT_E_DEVICE);
        for (int k = 0; k < 4; k++) {
            assert_true(vfront_digest(before) == vfront_digest(&kept));
            for (int c = 0; c < VFRONT_CAMERAS; c++) pair_same_points(before, c, &kept, c);
            pair_same_partners(before, &kept);
            assert_int_equal(vfront_step(&pair_vf, &f, &result),
                             VFRONT_E_DEVICE); /* refused from now on, and harms no more */
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
