/* SPDX-License-Identifier: MIT */
/* Graph of a frame, one per parity: the active stages are enqueued once, in streams that wait for one another through
 * events, under stream capture. */
#include "core/views.h"
#include "job.h"

#if CUDART_VERSION < 11010
#define cudaGraphUpload(exec, stream) cudaSuccess
#endif

/** Parts of a stage's launches beside its main launches: `early` before them, `last` and `late` as concurrent branches
 *  after them. */
enum part { PART_early, PART_last, PART_late };

/* Compile-time checks of the lists in cuda.h: early launches need only stages that their stage needs; VF_EARLY and
 * VF_APART_BEFORE name the same stages. */
enum {
#define VF_STAGE(name, needs, what) NEEDS_##name = (int)(needs),
#include "stages.def"
#undef VF_STAGE
};
#define EARLY(name, needs)                                                                                             \
    VF_STATIC_ASSERT(((needs) & ~(uint32_t)NEEDS_##name) == 0, "vfront: early launches of " #name " need more than "   \
                                                               "it");
VF_EARLY(EARLY)
#undef EARLY
#define EARLY(name, needs) | VF_BIT(name)
#define APART(name, part) | VF_BIT(name)
VF_STATIC_ASSERT((0 VF_EARLY(EARLY)) == (0 VF_APART_BEFORE(APART)), "vfront: VF_EARLY and VF_APART_BEFORE differ");
#undef EARLY

/** Set of stages whose launches end in two concurrent branches, `last` and `late`. */
enum { FORKED_STAGES = (int)(0 VF_APART_BEHIND(APART)) };
#undef APART

/** Enqueues part `part` of a stage's launches, if the stage has this part. */
static cudaError_t launch_apart(struct vf_cuda *c, const struct vf_views *v, int stage, enum part part,
                                cudaStream_t stream)
{
#define APART(name, one)                                                                                               \
    if (stage == VF_##name && part == PART_##one) {                                                                    \
        vf_cuda_at(c, "the " #one " launch of stage " #name);                                                          \
        return vf_##name##_##one##_cuda(&v->name, stream);                                                             \
    }
    VF_APART(APART)
#undef APART
    return cudaSuccess;
}

static cudaError_t launch(struct vf_cuda *c, const struct vf_views *v, int stage)
{
    switch (stage) {
#define VF_STAGE(name, needs, what)                                                                                    \
    case VF_##name:                                                                                                    \
        vf_cuda_at(c, "the launch of stage " #name);                                                                   \
        return vf_##name##_cuda(&v->name, c->stream[VF_##name]);
#include "stages.def"
#undef VF_STAGE
    default: return cudaErrorInvalidValue;
    }
}

/** Set of stages that the first launch of stage `stage` waits for. */
static uint32_t first_edges(int stage, uint32_t active)
{
    switch (stage) {
#define EARLY(name, needs)                                                                                             \
    case VF_##name: return vf_stages_minimal(needs, active);
        VF_EARLY(EARLY)
#undef EARLY
    default: return vf_stage_edges((enum vf_stage)stage, active);
    }
}

/** Makes a stage's stream wait for the stages in the set `edges`, whose work is already enqueued. */
static vfront_status_t join(struct vf_cuda *c, int stage, uint32_t edges)
{
    for (int before = 0; before < VFRONT_STAGES; before++)
        if (edges >> before & 1) VF_TRY(cudaStreamWaitEvent(c->stream[stage], c->done[before], 0));
    return VFRONT_OK;
}

/** Enqueues the two concurrent branches `last` and `late` at the end of a stage. */
static vfront_status_t enqueue_branches(struct vf_cuda *c, const struct vf_views *v, int stage)
{
    VF_TRY(cudaEventRecord(c->done[stage], c->stream[stage]));
    VF_TRY(cudaStreamWaitEvent(c->stream[VF_LATE_STREAM], c->done[stage], 0));
    cudaError_t error = launch_apart(c, v, stage, PART_last, c->stream[stage]);
    if (!error) error = launch_apart(c, v, stage, PART_late, c->stream[VF_LATE_STREAM]);
    if (error) return vf_cuda_launch_fault(c, error, vfront_stage_name((size_t)stage));
    VF_TRY(cudaEventRecord(c->done[VF_LATE_STREAM], c->stream[VF_LATE_STREAM]));
    return VFRONT_OK;
}

/** Enqueues a stage whose predecessors are already enqueued. Its early launches wait only for the stages that they
 *  need. If a mirror is kept for fail-over, stage report also waits for late launches, because it copies what they
 *  write. */
static vfront_status_t enqueue_stage(struct vf_cuda *c, const struct vf_views *v, int stage)
{
    vfront_status_t status = join(c, stage, first_edges(stage, c->active));
    if (status) return status;
    cudaError_t error = launch_apart(c, v, stage, PART_early, c->stream[stage]);
    if (error) return vf_cuda_launch_fault(c, error, vfront_stage_name((size_t)stage));
    status = join(c, stage, vf_stage_edges((enum vf_stage)stage, c->active) & ~first_edges(stage, c->active));
    if (status) return status;
    if (stage == VF_report && c->mirrored && c->active & FORKED_STAGES)
        VF_TRY(cudaStreamWaitEvent(c->stream[stage], c->done[VF_LATE_STREAM], 0));
    error = launch(c, v, stage);
    if (error) return vf_cuda_launch_fault(c, error, vfront_stage_name((size_t)stage));
    if (FORKED_STAGES >> stage & 1) status = enqueue_branches(c, v, stage);
    if (status) return status;
    VF_TRY(cudaEventRecord(c->done[stage], c->stream[stage]));
    return VFRONT_OK;
}

/** Enqueues the active stages, each after the stages that it waits for. Stage 0 waits for no other and is always
 *  active. */
static vfront_status_t enqueue(struct vf_cuda *c, int parity)
{
    vfront_status_t status = VFRONT_OK;
    for (int i = 1; i < VFRONT_STAGES; i++) { /* stages that wait for no other start with the frame */
        if (!(c->active >> i & 1) || first_edges(i, c->active)) continue;
        VF_TRY(cudaEventRecord(c->done[i], c->stream[0]));
        VF_TRY(cudaStreamWaitEvent(c->stream[i], c->done[i], 0));
    }
    for (uint32_t left = c->active; left && !status;)
        for (int i = 0; i < VFRONT_STAGES && !status; i++) {
            if (!(left >> i & 1) || vf_stage_predecessors((enum vf_stage)i, c->active) & left) continue;
            status = enqueue_stage(c, &c->view[parity], i);
            left &= ~(1u << i);
        }
    if (status) return status;
    VF_TRY(cudaStreamWaitEvent(c->stream[0], c->done[VF_report], 0));
    if (c->active & FORKED_STAGES) VF_TRY(cudaStreamWaitEvent(c->stream[0], c->done[VF_LATE_STREAM], 0));
    return VFRONT_OK;
}

static vfront_status_t capture(struct vf_cuda *c, int parity)
{
    VF_TRY(cudaStreamBeginCapture(c->stream[0], cudaStreamCaptureModeThreadLocal));
    const vfront_status_t status = enqueue(c, parity);
    if (status) {
        cudaGraph_t broken = NULL;
        VF_RELEASE(cudaStreamEndCapture(c->stream[0], &broken));
        if (broken) VF_RELEASE(cudaGraphDestroy(broken));
        (void)cudaGetLastError();
        return status;
    }
    VF_TRY(cudaStreamEndCapture(c->stream[0], &c->graph[parity]));
#if CUDART_VERSION >= 12000
    const unsigned long long by_node = cudaGraphInstantiateFlagUseNodePriority;
    VF_TRY(cudaGraphInstantiate(&c->exec[parity], c->graph[parity], by_node));
#else
    VF_TRY(cudaGraphInstantiate(&c->exec[parity], c->graph[parity], NULL, NULL, 0));
#endif
    VF_TRY(cudaGraphUpload(c->exec[parity], c->stream[0]));
    return VFRONT_OK;
}

void vf_cuda_prepare(struct vf_cuda *c)
{
    const uint64_t start = vf_now_ns();
    if (!c->next) return; /* else there was a submit */
    const uint64_t *ended = __atomic_load_n(&c->ended, __ATOMIC_RELAXED),
                   ticket = __atomic_load_n(&c->ticket, __ATOMIC_RELAXED);
    if (__atomic_load_n(ended, __ATOMIC_RELAXED) != ticket) return; /* a step takes longer than expected */
    vf_cuda_at(c, "cudaGraphUpload(c->next, c->stream[0])");
    if (cudaGraphUpload(c->next, c->stream[0])) (void)cudaGetLastError();
    const uint64_t took = vf_now_ns() - start;
    c->thread.ahead_ns = took < VF_LEAD_NS ? took : VF_LEAD_NS;
}

vfront_status_t vf_cuda_ready_job(struct vf_cuda *c)
{
    for (int parity = 0; parity < 2; parity++) {
        const vfront_status_t status = capture(c, parity);
        if (status) return status;
    }
    for (int parity = 1; parity >= 0; parity--) {
        VF_TRY(cudaGraphLaunch(c->exec[parity], c->stream[0]));
        VF_TRY(cudaStreamSynchronize(c->stream[0]));
    }
    c->in_init = 0;
    return VFRONT_OK;
}
