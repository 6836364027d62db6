/* SPDX-License-Identifier: MIT */
/* vfcheck --path: the graph of a step as captured by the port: nodes, dependencies, time of each node alone, earliest
 * and latest start, and the critical path. The stage of a node is the one whose launcher, captured alone, has the same
 * kernel. */
#include <stdio.h>
#include <stdlib.h>

#include "vfcheck.h"

enum { NODES = 128, EDGES = 512, BAR = 60 };

/** Kernels and their dependencies, in topological order. */
struct plan {
    int nodes, edges;
    cudaGraphNode_t node[NODES];
    struct cudaKernelNodeParams kernel[NODES];
    int edge[EDGES][2]; /* from, to */
};

/** Properties of a node of the step's graph. */
struct launch {
    int stage, number; /* index of the launch within its stage */
    double alone_us;
    double earliest_us, latest_us; /* start */
    int is_critical;               /* 1: on the critical path */
};

/* ---- the port's graph -------------------------------------------------------------------------------------------- */

static cudaGraph_t captured[2]; /* one per parity, in this order; NULL: the front end has none */
static int captures = 2;        /* below 2: the next captured graph is recorded */

void want_graph(int yes)
{
    captures = yes ? 0 : 2;
    if (yes) captured[0] = captured[1] = NULL;
}

/** Wrapper that the linker puts in front of the runtime's function (-Wl,--wrap). */
cudaError_t __real_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    const cudaError_t error = __real_cudaStreamEndCapture(stream, graph);
    if (!error && captures < 2) captured[captures++] = *graph;
    return error;
}

int captured_nodes(void)
{
    size_t count = 0;
    if (captured[0]) CUDA(cudaGraphGetNodes(captured[0], NULL, &count));
    return (int)count;
}

/* ---- reading a graph --------------------------------------------------------------------------------------------- */

static int place_of(const struct plan *p, cudaGraphNode_t node)
{
    int i = 0;
    while (i < p->nodes && p->node[i] != node) i++;
    return i;
}

static void too_many(void)
{
    fprintf(stderr, "vfcheck: more than %d nodes or %d edges in a graph\n", NODES, EDGES);
    exit(1);
}

static void read_edges(struct plan *p, cudaGraph_t graph)
{
    static cudaGraphNode_t from[EDGES], to[EDGES];
    size_t count = 0;
#if CUDART_VERSION >= 13000
    static cudaGraphEdgeData data[EDGES];
    CUDA(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    if (count > EDGES) too_many();
    if (count) CUDA(cudaGraphGetEdges(graph, from, to, data, &count));
#else
    CUDA(cudaGraphGetEdges(graph, NULL, NULL, &count));
    if (count > EDGES) too_many();
    if (count) CUDA(cudaGraphGetEdges(graph, from, to, &count));
#endif
    p->edges = (int)count;
    for (int i = 0; i < p->edges; i++) {
        p->edge[i][0] = place_of(p, from[i]);
        p->edge[i][1] = place_of(p, to[i]);
    }
}

/** Sorts the nodes topologically. */
static void put_in_order(struct plan *p)
{
    int place[NODES], done = 0;
    cudaGraphNode_t node[NODES];
    for (int i = 0; i < p->nodes; i++) place[i] = -1;
    for (int found = 1; found;) {
        found = 0;
        for (int i = 0; i < p->nodes && !found; i++) {
            int waits = place[i] >= 0;
            for (int e = 0; e < p->edges; e++) waits |= p->edge[e][1] == i && place[p->edge[e][0]] < 0;
            if (waits) continue;
            node[done] = p->node[i];
            place[i] = done++;
            found = 1;
        }
    }
    memcpy(p->node, node, sizeof *node * (size_t)done);
    for (int e = 0; e < p->edges; e++)
        for (int end = 0; end < 2; end++) p->edge[e][end] = place[p->edge[e][end]];
}

static void read_graph(struct plan *p, cudaGraph_t graph)
{
    size_t count = 0;
    memset(p, 0, sizeof *p);
    CUDA(cudaGraphGetNodes(graph, NULL, &count));
    if (count > NODES) too_many();
    CUDA(cudaGraphGetNodes(graph, p->node, &count));
    p->nodes = (int)count;
    read_edges(p, graph);
    put_in_order(p);
    for (int i = 0; i < p->nodes; i++) {
        enum cudaGraphNodeType type;
        CUDA(cudaGraphNodeGetType(p->node[i], &type));
        if (type == cudaGraphNodeTypeKernel) CUDA(cudaGraphKernelNodeGetParams(p->node[i], &p->kernel[i]));
    }
}

/** Captures the graph of a single launcher; its nodes go to p. */
static cudaGraph_t capture(launcher *launch, const struct vf_views *v, cudaStream_t stream, struct plan *p)
{
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CUDA(launch(v, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    read_graph(p, graph);
    return graph;
}

/** Name of a kernel without the compiler's mangling; "" for other nodes, or if the runtime reports no names. */
static void kernel_name(char *to, size_t bytes, const void *kernel)
{
    const char *name = "";
#if CUDART_VERSION >= 12030
    if (kernel) CUDA(cudaFuncGetName(&name, kernel));
#endif
    /* _Z; L: of one file alone; length of the name, the name */
    if (!strncmp(name, "_Z", 2)) name += name[2] == 'L' ? 3 : 2;
    const int length = atoi(name);
    name += strspn(name, "0123456789");
    snprintf(to, bytes, "%.*s", length ? length : (int)bytes - 1, name);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

#ifdef EMULATED
static double chain_us(const struct cudaKernelNodeParams *kernel, int count, cudaStream_t stream)
{
    (void)kernel, (void)stream;
    return count; /* no times: all kernels take equally long */
}
#else
/** Time of `count` kernels in succession, from the growth of a graph that repeats them. */
static double chain_us(const struct cudaKernelNodeParams *kernel, int count, cudaStream_t stream)
{
    enum { FEW = 2, MANY = 8 };
    double us[2];
    for (int many = 0; many < 2; many++) {
        cudaGraph_t graph;
        cudaGraphNode_t last = NULL, next;
        CUDA(cudaGraphCreate(&graph, 0));
        for (int i = 0; i < count * (many ? MANY : FEW); i++, last = next)
            CUDA(cudaGraphAddKernelNode(&next, graph, i ? &last : NULL, i > 0, &kernel[i % count]));
        us[many] = run_graph(graph, stream).median_us;
        CUDA(cudaGraphDestroy(graph));
    }
    return (us[1] - us[0]) / (MANY - FEW);
}
#endif

/** Stage, index and time of each node. The time of a launch is the difference between the stage's launches up to it and
 *  up to the one before. */
static void time_nodes(const struct plan *step, struct launch *l, const struct vf_views *v, uint32_t active,
                       cudaStream_t stream)
{
    static struct plan own;
    for (int i = 0; i < step->nodes; i++) l[i] = (struct launch){.stage = -1};
    for (int stage = 0; stage < VFRONT_STAGES; stage++) {
        if (!(active >> stage & 1)) continue;
        cudaGraph_t graph = capture(run_cuda[stage], v, stream, &own);
        double before_us = 0.0;
        int number = 0;
        for (int i = 0; i < step->nodes; i++) {
            int known = 0;
            for (int k = 0; k < own.nodes; k++) known |= own.kernel[k].func == step->kernel[i].func;
            if (!known || !step->kernel[i].func) continue;
            const double us = chain_us(own.kernel, ++number, stream);
            l[i] = (struct launch){.stage = stage, .number = number, .alone_us = us > before_us ? us - before_us : 0.0};
            before_us = us;
        }
        CUDA(cudaGraphDestroy(graph));
    }
}

/** Marks the critical path, backwards from its end. */
static void mark_critical_path(const struct plan *p, struct launch *l, double end_us)
{
    int i = p->nodes - 1;
    while (i >= 0 && l[i].earliest_us + l[i].alone_us < end_us) i--;
    while (i >= 0) {
        int before = -1;
        l[i].is_critical = 1;
        for (int e = 0; e < p->edges; e++) {
            const int from = p->edge[e][0];
            if (p->edge[e][1] == i && l[from].earliest_us + l[from].alone_us >= l[i].earliest_us) before = from;
        }
        i = before;
    }
}

/** Computes the earliest start of each node, assuming its time alone and no interference. Returns the end of the
 *  last. */
static double find_critical_path(const struct plan *p, struct launch *l)
{
    double end_us = 0.0;
    for (int i = 0; i < p->nodes; i++) {
        for (int e = 0; e < p->edges; e++) {
            const struct launch *before = &l[p->edge[e][0]];
            if (p->edge[e][1] == i && before->earliest_us + before->alone_us > l[i].earliest_us)
                l[i].earliest_us = before->earliest_us + before->alone_us;
        }
        if (l[i].earliest_us + l[i].alone_us > end_us) end_us = l[i].earliest_us + l[i].alone_us;
    }
    for (int i = p->nodes - 1; i >= 0; i--) {
        l[i].latest_us = end_us - l[i].alone_us;
        for (int e = 0; e < p->edges; e++)
            if (p->edge[e][0] == i && l[p->edge[e][1]].latest_us - l[i].alone_us < l[i].latest_us)
                l[i].latest_us = l[p->edge[e][1]].latest_us - l[i].alone_us;
    }
    mark_critical_path(p, l, end_us);
    return end_us;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static const char *stage_of(const struct launch *l)
{
    return l->stage < 0 ? "no stage's" : vfront_stage_name((size_t)l->stage);
}

/** Prints the bar of a node: its run time, followed by its slack. */
static void print_bar(const struct launch *l, double end_us)
{
    const double scale = end_us > 0.0 ? BAR / end_us : 0.0;
    const int begin = (int)(l->earliest_us * scale), end = (int)((l->earliest_us + l->alone_us) * scale),
              last = (int)((l->latest_us + l->alone_us) * scale);
    for (int x = 0; x < BAR; x++) putchar(x < begin || x > last ? ' ' : x <= end ? (l->is_critical ? '#' : '=') : '.');
}

static void print_node(const struct plan *p, const struct launch *l, int i, double end_us)
{
    char name[24];
    kernel_name(name, sizeof name, p->kernel[i].func);
    printf("  %3d %-9s %-15s %5u x %4u %7.1f %8.1f %7.1f %6.1f |", i, stage_of(&l[i]), name, p->kernel[i].gridDim.x,
           p->kernel[i].blockDim.x, l[i].alone_us, l[i].earliest_us, l[i].latest_us, l[i].latest_us - l[i].earliest_us);
    print_bar(&l[i], end_us);
    printf("| ");
    for (int e = 0; e < p->edges; e++)
        if (p->edge[e][1] == i) printf(" %d", p->edge[e][0]);
    putchar('\n');
}

/** Prints the critical path, with the launches of a stage combined. */
static void print_critical_path(const struct plan *p, const struct launch *l, double end_us)
{
    printf("  longest way:");
    for (int i = 0; i < p->nodes;) {
        const int stage = l[i].stage;
        double us = 0.0;
        int launches = 0;
        for (; i < p->nodes && (l[i].stage == stage || !l[i].is_critical); i++)
            if (l[i].is_critical) us += l[i].alone_us, launches++;
        if (launches) printf(" %s %.1f", stage < 0 ? "?" : vfront_stage_name((size_t)stage), us);
        if (launches > 1) printf(" (%d launches)", launches);
    }
    printf(" = %.1f us\n", end_us);
}

static void print_stages(const struct plan *p, const struct launch *l)
{
    printf("  stages without a node:");
    for (int stage = 0; stage < VFRONT_STAGES; stage++) {
        int there = 0;
        for (int i = 0; i < p->nodes; i++) there |= l[i].stage == stage;
        if (!there) printf(" %s", vfront_stage_name((size_t)stage));
    }
    putchar('\n');
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

#ifdef EMULATED
enum { WIDTH = 160, HEIGHT = 120, STEPS = 2 };
static double floor_us(cudaStream_t stream) { return (void)stream, 0.0; }
static double whole_us(cudaGraph_t graph, cudaStream_t stream) { return (void)graph, (void)stream, 0.0; }
#else
enum { WIDTH = 752, HEIGHT = 480, STEPS = 45 };
static cudaError_t launch_nothing(const struct vf_views *v, cudaStream_t stream)
{
    return (void)v, floor_launch(stream);
}

/** Time of an empty node in a chain of such nodes [us]. */
static double floor_us(cudaStream_t stream)
{
    static struct plan own;
    cudaGraph_t graph = capture(launch_nothing, NULL, stream, &own);
    const double us = chain_us(own.kernel, 1, stream);
    CUDA(cudaGraphDestroy(graph));
    return us;
}
static double whole_us(cudaGraph_t graph, cudaStream_t stream) { return run_graph(graph, stream).median_us; }
#endif

static void check_status(vfront_t *vf, vfront_status_t status)
{
    if (!status) return;
    fprintf(stderr, "vfcheck: %s: %s\n", vfront_status_name(status), vfront_detail(vf));
    exit(1);
}

/** Prints the graph of a step after some steps of the rendered flight. */
static void draw_path(const char *what, int cameras, int calibrated, vfront_tuning_t t)
{
    static struct plan p;
    static struct launch l[NODES];
    static vfront_t *vf;
    const vfront_rig_t rig = flown_rig(cameras, calibrated);
    const vfront_result_t *r = NULL;
    cudaStream_t stream;
    if (!vf) vf = zeroed(sizeof *vf);
    t.abandon_us = 600000000; /* emulated kernels need it */
    t.abandon_init_ms = 3600000;
    want_graph(1);
    check_status(vf, vfront_init(vf, &rig, &t, VFRONT_PORT_CUDA));
    want_graph(0);
    for (long i = 0; i < STEPS; i++) {
        const vfront_frame_t f = flown_frame(i, cameras, calibrated);
        check_status(vf, vfront_step(vf, &f, &r));
    }
    const struct vf_context *context = context_of(vf);
    const int parity = context->parity ^ 1; /* parity of the last step */
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    read_graph(&p, captured[parity]);
    time_nodes(&p, l, &context->view[parity], context->step[0].geometry.active, stream);
    const double end_us = find_critical_path(&p, l), node_us = floor_us(stream);
    printf("\n%s: %d nodes, %d edges, %u of %u tracks followed, %u key points, state of the IMU %d\n", what, p.nodes,
           p.edges, r->health.followed, r->tracks_count, r->keypoints_count[0], (int)r->nav.state);
    puts("  node stage    kernel         blocks, threads  alone earliest  latest  slack  [us]; # on the longest way; . "
         "could wait; waits for");
    for (int i = 0; i < p.nodes; i++) print_node(&p, l, i, end_us);
    print_critical_path(&p, l, end_us);
    print_stages(&p, l);
    printf("  the graph as a whole %.1f us of the device; %d nodes that do nothing, in a row: %d x %.2f = %.1f us\n",
           whole_us(captured[parity], stream), p.nodes, p.nodes, node_us, p.nodes * node_us);
    CUDA(cudaStreamDestroy(stream));
    vfront_shutdown(vf);
}

static void draw_paths(void)
{
    vfront_tuning_t t = corners_alone(1);
    printf("\npaths, rendered flight of %dx%d\n", WIDTH, HEIGHT);
    t.track_target = 0;
    draw_path("FAST SAD-A, 1 level, no tracks", 1, 0, t);
    t = corners_alone(vf_min(2, VFRONT_SCALES));
    draw_path("mono: 5 levels, detect on 2, track 200", 1, 0, t);
    t = standard();
    draw_path("standard: the same, 8 levels, descriptors", 1, 0, t);
    if (VFRONT_CAMERAS < 2) return;
    draw_path("pair, all: tracks, depths, matches, motion", 2, 1, t);
    t.vio = VFRONT_VIO;
    t.map = VFRONT_MAP;
    draw_path(VFRONT_MAP ? "stereo-inertial: the same, with window and map" : "stereo-inertial: the same, with window",
              2, 1, t);
}

void run_path(void)
{
    flown_draw(WIDTH, HEIGHT);
    draw_paths();
    if (!with_part_of_chip(8, draw_paths)) printf("\n8 multiprocessors: NOT RUN (no green contexts here)\n");
}
