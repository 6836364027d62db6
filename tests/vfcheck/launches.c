/* SPDX-License-Identifier: MIT */
/* vfcheck: time of each launch of a graph. The last node is removed repeatedly; the decrease of the run time is that
 * node's. */
#include "vfcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 101, LAUNCHES = 128 };

static int by_value(const void *a, const void *c)
{
    const float x = *(const float *)a, y = *(const float *)c;
    return (x > y) - (x < y);
}

struct run_times run_graph(cudaGraph_t graph, cudaStream_t stream)
{
    float us[RUNS];
    cudaGraphExec_t exec;
    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
#if CUDART_VERSION >= 12000
    CUDA(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagUseNodePriority)); /* as in port/cuda/graph.c */
#else
    CUDA(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
#endif
    for (int i = -10; i < RUNS; i++) {
        float ms;
        CUDA(cudaEventRecord(begin, stream));
        CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaEventRecord(end, stream));
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&ms, begin, end));
        if (i >= 0) us[i] = 1e3f * ms;
    }
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(end));
    qsort(us, RUNS, sizeof *us, by_value);
    return (struct run_times){(double)us[RUNS / 2], (double)us[RUNS - 1]};
}

/** Successor of a node in a chain; NULL: none. */
static cudaGraphNode_t behind(cudaGraphNode_t node)
{
    cudaGraphNode_t next = NULL;
    size_t count = 1;
#if CUDART_VERSION >= 13000
    cudaGraphEdgeData edge;
    CUDA(cudaGraphNodeGetDependentNodes(node, NULL, NULL, &count));
    if (count) CUDA(cudaGraphNodeGetDependentNodes(node, &next, &edge, &count));
#else
    CUDA(cudaGraphNodeGetDependentNodes(node, NULL, &count));
    if (count) CUDA(cudaGraphNodeGetDependentNodes(node, &next, &count));
#endif
    return next;
}

/** Kernel of a node: its name without mangling, blocks, threads, time. */
struct launch {
    char name[24];
    unsigned blocks, threads;
    double us;
};

static struct launch launch_of(cudaGraphNode_t node)
{
    struct launch l;
    struct cudaKernelNodeParams p;
    const char *name = "_Zkernel";
    memset(&l, 0, sizeof l);
    memset(&p, 0, sizeof p);
    CUDA(cudaGraphKernelNodeGetParams(node, &p));
#if CUDART_VERSION >= 12030
    CUDA(cudaFuncGetName(&name, p.func));
#endif
    /* _Z; L: of one file alone; length of the name, the name */
    if (!strncmp(name, "_Z", 2)) name += name[2] == 'L' ? 3 : 2;
    const int length = atoi(name);
    name += strspn(name, "0123456789");
    snprintf(l.name, sizeof l.name, "%.*s", length ? length : (int)sizeof l.name - 1, name);
    l.blocks = p.gridDim.x;
    l.threads = p.blockDim.x;
    return l;
}

void print_launches(cudaGraph_t graph, cudaStream_t stream)
{
    cudaGraphNode_t node[LAUNCHES];
    struct launch launch[LAUNCHES];
    size_t roots = 1;
    int count = 1;
    CUDA(cudaGraphGetRootNodes(graph, node, &roots));
    while (count < LAUNCHES && (node[count] = behind(node[count - 1]))) count++;
    for (int i = 0; i < count; i++) launch[i] = launch_of(node[i]);
    for (int i = count - 1; i >= 0; i--) {
        launch[i].us = run_graph(graph, stream).median_us;
        if (i < count - 1) launch[i + 1].us -= launch[i].us;
        if (i) CUDA(cudaGraphDestroyNode(node[i]));
    }
    printf("  %d launches in a row; each: what a run of the graph takes more with it [us]\n", count);
    for (int i = 0; i < count; i++) {
        double sum = 0.0;
        if (!launch[i].blocks) continue; /* printed with an earlier one */
        printf("    %-14s %4u x %4u ", launch[i].name, launch[i].blocks, launch[i].threads);
        for (int k = count - 1; k >= i; k--)
            if (!strcmp(launch[k].name, launch[i].name)) sum += launch[k].us;
        printf("%7.1f:", sum);
        for (int k = i; k < count; k++) {
            if (!launch[k].blocks || (k > i && strcmp(launch[k].name, launch[i].name))) continue;
            printf("%6.1f", launch[k].us);
            if (k > i) launch[k].blocks = 0;
        }
        putchar('\n');
    }
}
