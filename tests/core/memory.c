/* SPDX-License-Identifier: MIT */
/* Kinds of memory of an image: host, pinned and device memory give the same bits. Refused without effect: an address
 * not of the given kind, an unknown address, an image that exceeds its allocation. */
#include "failing_call.h"

/** Images in device memory, and in pinned memory of the caller and of the library, for all frames of the host port. */
static void kinds_of_memory(void **state)
{
    (void)state;
    void *device[VFRONT_CAMERAS], *pinned;
    cudaStream_t stream;
    assert_int_equal(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0), cudaSuccess);
    for (int c = 0; c < VFRONT_CAMERAS; c++) assert_int_equal(cudaMalloc(&device[c], 2 * 200 * 120), cudaSuccess);
    assert_int_equal(cudaHostAlloc(&pinned, 2 * 200 * 120, cudaHostAllocMapped), cudaSuccess);
    for (uint64_t i = 0; i < 12; i++) {
        const vfront_format_t format = (vfront_format_t)(i % 6);
        const uint32_t pitch = scene_pixel_bytes(format) * (160 + 7 * (uint32_t)(i % 3));
        static uint8_t packed[2 * 200 * 120];
        vfront_frame_t f = pair_frame(i), g;
        const vfront_result_t *other;
        for (int c = 1; c < VFRONT_CAMERAS; c++) f.picture[c].data = f.picture[0].data;
        g = f;
        scene_pack(packed, pitch, f.picture[0].data, 160, 160, 120, format);
        memcpy(pinned, packed, sizeof packed);
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            const int kind = (int)(i + (uint64_t)c) % 3;
            assert_int_equal(cudaMemcpyAsync(device[c], packed, sizeof packed, cudaMemcpyHostToDevice, stream),
                             cudaSuccess);
            g.picture[c].data = kind == 0 ? (void *)packed : kind == 1 ? pinned : device[c];
            g.picture[c].memory = (vfront_memory_t)kind;
            g.picture[c].format = format;
            g.picture[c].pitch_bytes = pitch;
        }
        assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
        assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
        if (vfront_step(&pair_vf, &g, &result)) fail_msg("%s", vfront_detail(&pair_vf));
        assert_true(vfront_digest(result) == vfront_digest(other));
    }
    cudaFreeHost(pinned);
    for (int c = 0; c < VFRONT_CAMERAS; c++) cudaFree(device[c]);
    cudaStreamDestroy(stream);
}

/** An address not of the given kind is refused, and nothing changes. */
static void wrong_kinds(void **state)
{
    (void)state;
    static uint8_t host[160 * 120];
    void *device, *pinned;
    assert_int_equal(cudaMalloc(&device, sizeof host), cudaSuccess);
    assert_int_equal(cudaHostAlloc(&pinned, sizeof host, cudaHostAllocMapped), cudaSuccess);
    const struct {
        const void *data;
        vfront_memory_t memory;
    } wrong[] = {
        {host, VFRONT_PINNED_MEMORY},   {host, VFRONT_DEVICE_MEMORY},       {device, VFRONT_PINNED_MEMORY},
        {pinned, VFRONT_DEVICE_MEMORY}, {(void *)16, VFRONT_DEVICE_MEMORY}, {(void *)16, VFRONT_PINNED_MEMORY},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            vfront_frame_t f = pair_frame(pair_step()->frame + 1);
            f.picture[c].data = wrong[i].data;
            f.picture[c].memory = wrong[i].memory;
            pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_MEMORY_KIND, "frame");
        }
    pair_step();
    cudaFreeHost(pinned);
    cudaFree(device);
}

/** CUDA before release 11 reports "invalid value" for an unknown address. */
static void unknown_address(void **state)
{
    (void)state;
    int seen = 0;
    for (long n = 1; n < 8; n++) {
        const vfront_frame_t f = rich_frame(pair_step()->frame + 1);
        fail_call(n, cudaErrorInvalidValue);
        const vfront_status_t status = vfront_submit(&pair_vf, &f);
        /* step succeeded, or another call failed: not the case here */
        if (fault.failed != CALL_cudaPointerGetAttributes) {
            end(NULL);
            both_ports();
            continue;
        }
        seen++;
        pair_refused(status, VFRONT_E_MEMORY_KIND, "frame");
        assert_int_equal(cudaGetLastError(), cudaSuccess);
        pair_step();
    }
    assert_true(seen > 0);
}

/** Images that the device reads in place must lie within one allocation. */
static void beyond_the_end(void **state)
{
    (void)state;
    void *data;
    for (int i = 0; i < 2; i++) {
        vfront_frame_t f = pair_frame(pair_step()->frame + 1);
        assert_int_equal(vfront_input(&pair_vf, VFRONT_CAMERAS - 1, &data), VFRONT_OK);
        f.picture[0].data = data;
        f.picture[0].memory = VFRONT_PINNED_MEMORY;
        f.picture[0].pitch_bytes = 1 << 24; /* 2 GB, more than the library allocated */
        pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_MEMORY_KIND, "frame");
        pair_step();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAIR(kinds_of_memory),
        PAIR(wrong_kinds),
        PAIR(unknown_address),
        PAIR(beyond_the_end),
    };
    return run(tests, sizeof tests / sizeof *tests);
}
