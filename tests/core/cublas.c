/* SPDX-License-Identifier: MIT */
/* The CUDA port with VFRONT_CUBLAS, on a runtime without a GPU (tests/fake/cudart.c) and a cuBLAS that only fails on
 * request. Each of its statuses becomes a named status of vfront, its handle is released, and the host port takes over
 * if allowed. Only results that depend on cuBLAS carry the flag. vfcheck tests its solutions on a GPU. */
#include "tests/fixture/pair.h"

#include <stdlib.h>

#include "kernels/ego/cublas.h"
#include "port/cuda/cuda.h"

static cublasStatus_t create_fails, launch_fails;
static int handles;

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = NULL;
    if (create_fails) return create_fails;
    *handle = malloc(1);
    handles++;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    free(handle);
    handles--;
    return CUBLAS_STATUS_SUCCESS;
}

cudaError_t __real_vf_ego_cuda(const struct vf_ego_view *s, cudaStream_t stream);
cudaError_t __wrap_vf_ego_cuda(const struct vf_ego_view *s, cudaStream_t stream);
cudaError_t __wrap_vf_ego_cuda(const struct vf_ego_view *s, cudaStream_t stream)
{
    assert_true(s->systems && s->cublas && s->cublas->handle && (uintptr_t)s->systems->workspace % 256 == 0);
    const cudaError_t error = vf_cublas_note(s->cublas, launch_fails, "cublasSgetrfBatched: %s");
    return error ? error : __real_vf_ego_cuda(s, stream);
}

/** All statuses of cuBLAS, and vfront's status for each; the last one is unknown. */
static const struct {
    int status;
    vfront_status_t should;
    const char *name;
} fault[] = {{1, VFRONT_E_DEVICE, "not initialized"}, {3, VFRONT_E_DEVICE_MEMORY, "allocation failed"},
             {7, VFRONT_E_DEVICE, "invalid value"},   {8, VFRONT_E_NO_DEVICE, "architecture mismatch"},
             {11, VFRONT_E_DEVICE, "mapping error"},  {13, VFRONT_E_DEVICE, "execution failed"},
             {14, VFRONT_E_DEVICE, "internal error"}, {15, VFRONT_E_DEVICE, "not supported"},
             {16, VFRONT_E_DEVICE, "license error"},  {99, VFRONT_E_DEVICE, "unknown status"}};

/** Flags of a motion between two frames on a port. Requires that `wish` selects `port`. */
static uint32_t flags_on(vfront_port_t wish, vfront_port_t port)
{
    const vfront_rig_t rig = pair_cameras();
    const vfront_result_t *r = NULL;
    vfront_info_t info;
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, wish), VFRONT_OK);
    vfront_info(&pair_vf, &info);
    assert_int_equal(info.port, port);
    for (uint64_t i = 0; i < 2; i++) {
        const vfront_frame_t frame = pair_frame(i);
        assert_int_equal(vfront_step(&pair_vf, &frame, &r), VFRONT_OK);
        if (i == 0) assert_true(r->relative.state == VFRONT_MOTION_NONE && r->relative.flags == 0);
    }
    assert_true(r->relative.state != VFRONT_MOTION_NONE && !(r->metric.flags & VFRONT_MOTION_ONE_GPU));
    const uint32_t flags = r->relative.flags;
    vfront_shutdown(&pair_vf);
    assert_int_equal(handles, 0);
    return flags;
}

static void faults(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    for (size_t i = 0; i < 2 * sizeof fault / sizeof *fault; i++) {
        const cublasStatus_t status = (cublasStatus_t)fault[i / 2].status;
        create_fails = i % 2 ? CUBLAS_STATUS_SUCCESS : status;
        launch_fails = i % 2 ? status : CUBLAS_STATUS_SUCCESS;
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA), fault[i / 2].should);
        assert_non_null(strstr(vfront_detail(&pair_vf), i % 2 ? "cublasSgetrfBatched: " : "cublasCreate: "));
        assert_non_null(strstr(vfront_detail(&pair_vf), fault[i / 2].name));
        assert_int_equal(handles, 0);
        assert_false(flags_on(VFRONT_PORT_AUTO, VFRONT_PORT_HOST) & VFRONT_MOTION_ONE_GPU);
    }
    create_fails = launch_fails = CUBLAS_STATUS_SUCCESS;
}

static void flags(void **state)
{
    (void)state;
    assert_true(flags_on(VFRONT_PORT_CUDA, VFRONT_PORT_CUDA) & VFRONT_MOTION_ONE_GPU);
    assert_false(flags_on(VFRONT_PORT_HOST, VFRONT_PORT_HOST) & VFRONT_MOTION_ONE_GPU);
    assert_true(flags_on(VFRONT_PORT_AUTO, VFRONT_PORT_CUDA) & VFRONT_MOTION_ONE_GPU);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(faults), cmocka_unit_test(flags)};
    pair_draw();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
