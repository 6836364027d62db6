/* SPDX-License-Identifier: MIT */
/* The graph of a step as captured by the CUDA port, on the fake runtime. It has a node for exactly the stages with
 * work. Each node follows the stages whose memory it reads, and no others except delays that keep the GPU free for
 * `detect` and `stereo`. No edge is transitive. Node priorities are set. */
#include "tests/fixture/pair.h"

#include "port/cuda/cuda.h"
#include "core/context.h"

#if CUDART_VERSION >= 12030 /* returns the names of a graph's kernels */

static cudaGraph_t captured[2];
static int captures;

cudaError_t __real_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    const cudaError_t error = __real_cudaStreamEndCapture(stream, graph);
    if (!error) captured[captures++ % 2] = *graph;
    return error;
}

cudaError_t __real_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t __wrap_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t __wrap_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    assert_int_equal(flags, cudaGraphInstantiateFlagUseNodePriority); /* priorities of the nodes, not of the stream */
    return __real_cudaGraphInstantiate(exec, graph, flags);
}

static const uint32_t needs[VFRONT_STAGES] = {
#define VF_STAGE(name, needs, what) needs,
#include "stages.def"
#undef VF_STAGE
};

/** Active stages that a stage needs, directly or transitively, also through inactive stages. */
static uint32_t needed_by(int stage, uint32_t active)
{
    uint32_t all = needs[stage];
    for (int i = stage - 1; i >= 0; i--)
        if (all >> i & 1) all |= needs[i];
    return all & active;
}

/** Stages that a stage waits for without needing them. */
static uint32_t delayed(int stage, uint32_t active)
{
    uint32_t more = 0;
    if (stage == VF_track) more = VF_BIT(smooth);
    if (stage == VF_freeze) more = VF_BIT(detect);
    if ((stage == VF_pyramid || stage == VF_smooth) && !(active & VF_BIT(track))) more = VF_BIT(detect);
    if (stage == VF_match && active & VF_BIT(vio)) more = VF_BIT(stereo);
    more &= active;
    for (int i = 0; i < VFRONT_STAGES; i++)
        if (more >> i & 1) more |= needed_by(i, active);
    return more;
}

static void read_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count)
{
#if CUDART_VERSION >= 13000
    assert_int_equal(cudaGraphGetEdges(graph, from, to, NULL, count), cudaSuccess);
#else
    assert_int_equal(cudaGraphGetEdges(graph, from, to, count), cudaSuccess);
#endif
}

/** Reads which stages precede each stage in a graph, from its nodes and edges. Returns the stages that have a node. */
static uint32_t read_graph(cudaGraph_t graph, uint32_t behind[VFRONT_STAGES], uint32_t direct[VFRONT_STAGES])
{
    cudaGraphNode_t node[64], from[256], to[256];
    int stage_of[64], name = 0;
    size_t nodes = 0, edges = 0;
    uint32_t there = 0;
    assert_int_equal(cudaGraphGetNodes(graph, NULL, &nodes), cudaSuccess);
    assert_true(nodes <= 64);
    cudaGraphGetNodes(graph, node, &nodes);
    read_edges(graph, NULL, NULL, &edges);
    assert_true(edges <= 256);
    read_edges(graph, from, to, &edges);
    for (size_t i = 0; i < nodes; i++) {
        struct cudaKernelNodeParams kernel;
        const char *called;
        cudaGraphKernelNodeGetParams(node[i], &kernel);
        assert_int_equal(cudaFuncGetName(&called, kernel.func), cudaSuccess);
        for (name = 0; name < VFRONT_STAGES && strcmp(called, vfront_stage_name((size_t)name)); name++) {}
        assert_true(name < VFRONT_STAGES && !(there >> name & 1));
        there |= 1u << name;
        stage_of[i] = name;
    }
    memset(behind, 0, sizeof *behind * VFRONT_STAGES);
    memset(direct, 0, sizeof *direct * VFRONT_STAGES);
    for (size_t round = 0; round < nodes; round++)
        for (size_t e = 0; e < edges; e++) {
            size_t a = 0, b = 0;
            while (node[a] != from[e]) a++;
            while (node[b] != to[e]) b++;
            direct[stage_of[b]] |= 1u << stage_of[a];
            behind[stage_of[b]] |= 1u << stage_of[a] | behind[stage_of[a]];
        }
    return there;
}

/** Checks the graph of a tuning. Returns 0 for a refused tuning, which lacks a dependency. */
static int check_graph(const vfront_rig_t *rig, const vfront_tuning_t *t)
{
    uint32_t behind[VFRONT_STAGES], direct[VFRONT_STAGES];
    captures = 0;
    const vfront_status_t status = vfront_init(&pair_vf, rig, t, VFRONT_PORT_CUDA);
    if (status == VFRONT_E_TUNING || status == VFRONT_E_CALIBRATION) return 0;
    assert_int_equal(status, VFRONT_OK);
    const struct vf_context *s = (const struct vf_context *)(((uintptr_t)&pair_vf + 63) & ~(uintptr_t)63);
    const uint32_t active = s->step[0].geometry.active;
    assert_int_equal(captures, 2);
    for (int parity = 0; parity < 2; parity++) {
        assert_int_equal(read_graph(captured[parity], behind, direct), active);
        for (int i = 0; i < VFRONT_STAGES; i++) {
            if (!(active >> i & 1)) continue;
            const uint32_t least = needed_by(i, active) | delayed(i, active);
            if (least & ~behind[i])
                fail_msg("%s does not wait for %x", vfront_stage_name((size_t)i), least & ~behind[i]);
            uint32_t most = least;
            for (int k = 0; k < VFRONT_STAGES; k++)
                if (most >> k & 1) most |= behind[k];
            if (behind[i] & ~most) fail_msg("%s waits for %x", vfront_stage_name((size_t)i), behind[i] & ~most);
            assert_int_equal(direct[i], vf_stage_edges((enum vf_stage)i, active));
        }
    }
    assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_OK);
    return 1;
}

/** Tunings with inactive stages: tracks, key points, descriptors, levels, vio, map, disparities. */
static void stages_of_tunings(void **state)
{
    (void)state;
    const vfront_rig_t bare = {.cameras = 1, .camera = {{.width_px = VFRONT_WIDTH, .height_px = VFRONT_HEIGHT}}},
                       whole = pair_with_imu();
    int graphs = 0;
    for (int which = 0; which < 128; which++) {
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        if (which & 1) t.track_target = 0;
        if (which & 2) t.select_points = 0;
        if (which & 4) t.describe = 0;
        if (which & 8) t.detect_levels = 1;
        t.vio = which & 16 ? VFRONT_VIO : 0;
        t.map = which & 32 ? VFRONT_MAP : 0;
        graphs += check_graph(which & 64 ? &whole : &bare, &t);
    }
    assert_true(graphs > 40);
}

/** Priority of a stage in a graph. */
static int priority_in(cudaGraph_t graph, const char *stage)
{
    cudaGraphNode_t node[64];
    size_t nodes = 64;
    cudaGraphGetNodes(graph, node, &nodes);
    for (size_t i = 0; i < nodes; i++) {
        struct cudaKernelNodeParams kernel;
        cudaLaunchAttributeValue value;
        const char *called;
        cudaGraphKernelNodeGetParams(node[i], &kernel);
        assert_int_equal(cudaFuncGetName(&called, kernel.func), cudaSuccess);
        if (strcmp(called, stage)) continue;
        assert_int_equal(cudaGraphKernelNodeGetAttribute(node[i], cudaLaunchAttributePriority, &value), cudaSuccess);
        return value.priority;
    }
    fail_msg("no node of %s", stage);
    return 0;
}

/** Motions have the next lower priority than all other stages, but not the lowest, unless all have it. */
static void priorities(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_with_imu();
    vfront_tuning_t t;
    int least = 0, greatest = 0;
    vfront_tuning_default(&t);
    t.map = VFRONT_MAP;
    cudaDeviceGetStreamPriorityRange(&least, &greatest);
    assert_true(least - greatest > 2);
    for (t.priority = 0; t.priority <= least - greatest; t.priority++) {
        const int own = greatest + t.priority, lower = own + 1 < least ? own + 1 : own;
        captures = 0;
        assert_int_equal(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_OK);
        for (int parity = 0; parity < 2; parity++) {
            assert_int_equal(priority_in(captured[parity], "detect"), own);
            assert_int_equal(priority_in(captured[parity], "report"), own);
            if (t.map) assert_int_equal(priority_in(captured[parity], "relpose"), own);
            assert_int_equal(priority_in(captured[parity], "match"), lower);
            assert_int_equal(priority_in(captured[parity], "ego"), lower);
        }
        assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stages_of_tunings), cmocka_unit_test(priorities)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 77; }

#endif
