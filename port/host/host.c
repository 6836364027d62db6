/* SPDX-License-Identifier: MIT */
/* Host port: the host forms of all stages in turn, on the calling thread. Its arenas lie in the caller's vfront_t. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "core/refuse.h"

#if VFRONT_HOST

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static vfront_status_t host_open(struct vf_context *context)
{
    struct vf_block *block = (struct vf_block *)context;
    memset(&block->memory, 0, sizeof block->memory);
    memset(&block->pinned, 0, sizeof block->pinned);
    context->memory = &block->memory;
    context->pinned = &block->pinned;
    for (int parity = 0; parity < 2; parity++) {
        context->step[parity].memory = &block->memory;
        context->step[parity].pinned = &block->pinned;
        context->step[parity].mirror = NULL;
    }
    context->pinned_bytes = context->device_bytes = 0;
    memset(context->device, 0,
           sizeof context->device); /* the field may hold the name of a CUDA device that failed to open */
    memcpy(context->device, "host", 4);
    return VFRONT_OK;
}

static vfront_status_t host_write(struct vf_context *context, void *to, const void *from, size_t bytes)
{
    (void)context;
    memcpy(to, from, bytes);
    return VFRONT_OK;
}

static vfront_status_t host_read(struct vf_context *context, const void **at, const void *from, size_t bytes)
{
    (void)context, (void)bytes;
    *at = from;
    return VFRONT_OK;
}

void vf_host_run(struct vf_context *context, uint32_t stages)
{
    const struct vf_views *v = &context->view[context->parity];
    const uint32_t active = context->step[0].geometry.active & stages;
#define VF_STAGE(name, needs, what)                                                                                    \
    if (active & VF_BIT(name)) {                                                                                       \
        context->pinned->clock[VF_##name][0] = now_ns();                                                               \
        vf_##name##_host(&v->name);                                                                                    \
        context->pinned->clock[VF_##name][1] = now_ns();                                                               \
    }
#include "stages.def"
#undef VF_STAGE
}

static vfront_status_t host_submit(struct vf_context *context)
{
    vf_host_run(context, UINT32_MAX);
    return VFRONT_OK;
}

static vfront_status_t host_ready(struct vf_context *context)
{
    for (context->parity = 1; context->parity >= 0; context->parity--) host_submit(context);
    context->parity = 0;
    return VFRONT_OK;
}

static vfront_status_t host_adopt(struct vf_context *context, const vfront_picture_t *picture, uint8_t *input,
                                  struct vf_source *source)
{
    (void)input;
    if (picture->memory == VFRONT_DEVICE_MEMORY)
        return vf_refuse(context, VFRONT_E_MEMORY_KIND, "frame: device memory on the host port", 0, "");
    source->data = picture->data;
    source->pitch = picture->pitch_bytes;
    return VFRONT_OK;
}

static const uint8_t *host_seen(struct vf_context *context, const uint8_t *pinned)
{
    (void)context;
    return pinned;
}

static vfront_status_t host_wait(struct vf_context *context, uint32_t timeout_us)
{
    (void)context, (void)timeout_us;
    return VFRONT_OK;
}

static vfront_status_t host_recover(struct vf_context *context)
{
    (void)context;
    return VFRONT_OK;
}

static vfront_status_t host_close(struct vf_context *context)
{
    (void)context;
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
