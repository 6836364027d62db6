/* SPDX-License-Identifier: MIT */
/* The host port: the stages' host forms, one after the other, on the thread that calls. Its arenas lie in the caller's
 * vfront_t. */
#define _POSIX_C_SOURCE 200809L
#include "host.h"

#include <time.h>

#if VFRONT_HOST

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static vfront_status_t host_open(struct vf_state *state)
{
    struct vf_block *block = (struct vf_block *)state;
    memset(&block->memory, 0, sizeof block->memory);
    memset(&block->pinned, 0, sizeof block->pinned);
    state->memory = &block->memory;
    state->pinned = &block->pinned;
    for (int parity = 0; parity < 2; parity++) {
        state->step[parity].memory = &block->memory;
        state->step[parity].pinned = &block->pinned;
        state->step[parity].mirror = NULL;
    }
    state->pinned_bytes = state->device_bytes = 0;
    memset(state->device, 0, sizeof state->device); /* of a device that was tried before, perhaps */
    memcpy(state->device, "host", 4);
    return VFRONT_OK;
}

static vfront_status_t host_write(struct vf_state *state, void *to, const void *from, size_t bytes)
{
    (void)state;
    memcpy(to, from, bytes);
    return VFRONT_OK;
}

static vfront_status_t host_read(struct vf_state *state, const void **at, const void *from, size_t bytes)
{
    (void)state, (void)bytes;
    *at = from;
    return VFRONT_OK;
}

void vf_host_run(struct vf_state *state, uint32_t stages)
{
    const struct vf_views *v = &state->view[state->parity];
    const uint32_t active = state->step[0].geometry.active & stages;
#define VF_STAGE(name, needs, what)                                                                                    \
    if (active & VF_BIT(name)) {                                                                                       \
        state->pinned->clock[VF_##name][0] = now_ns();                                                                 \
        vf_##name##_host(&v->name);                                                                                    \
        state->pinned->clock[VF_##name][1] = now_ns();                                                                 \
    }
#include "stages.def"
#undef VF_STAGE
}

static vfront_status_t host_submit(struct vf_state *state)
{
    vf_host_run(state, UINT32_MAX);
    return VFRONT_OK;
}

static vfront_status_t host_ready(struct vf_state *state)
{
    for (state->parity = 1; state->parity >= 0; state->parity--) host_submit(state);
    state->parity = 0;
    return VFRONT_OK;
}

static vfront_status_t host_adopt(struct vf_state *state, const vfront_picture_t *picture, uint8_t *input,
                                  struct vf_source *source)
{
    (void)input;
    if (picture->memory == VFRONT_DEVICE_MEMORY)
        return vf_refuse(state, VFRONT_E_MEMORY_KIND, "frame: device memory on the host port", 0, "");
    source->data = picture->data;
    source->pitch = picture->pitch_bytes;
    return VFRONT_OK;
}

static const uint8_t *host_seen(struct vf_state *state, const uint8_t *pinned)
{
    (void)state;
    return pinned;
}

static vfront_status_t host_wait(struct vf_state *state, uint32_t timeout_us)
{
    (void)state, (void)timeout_us;
    return VFRONT_OK;
}

static vfront_status_t host_recover(struct vf_state *state)
{
    (void)state;
    return VFRONT_OK;
}

static vfront_status_t host_close(struct vf_state *state)
{
    (void)state;
    return VFRONT_OK;
}

const struct vf_port vf_port_host = {
    .id = VFRONT_PORT_HOST,
    .open = host_open,
    .write = host_write,
    .read = host_read,
    .ready = host_ready,
    .adopt = host_adopt,
    .seen = host_seen,
    .submit = host_submit,
    .wait = host_wait,
    .recover = host_recover,
    .close = host_close,
    .now_ns = now_ns,
};

#endif
