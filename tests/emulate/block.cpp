/* SPDX-License-Identifier: MIT */
/* Emulation of GPU blocks on one CPU thread. Each thread of a block is a fiber that runs until it waits for others: at
 * a warp operation or at a block barrier. Everything that CUDA leaves undefined is random in every launch: order of
 * blocks, warps and lanes, initial contents of shared memory (later blocks find those of the block before).
 * EMULATE_SEED=N changes the seed. */
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <vector>

#include "cuda_runtime.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
uint64_t emulate_clock_ns;
int emulate_lane;

extern "C" char __start_shared_memory[], __stop_shared_memory[]; /* bounds of the section, from the linker */

namespace emulate
{
namespace
{

constexpr unsigned ALL = 0xffffffffu;
constexpr int WARP = 32, MOST_THREADS = 1024, STACK_BYTES = 256 << 10, DYNAMIC_BYTES = 227 << 10;

enum state { READY, AT_WARP, AT_BLOCK, AT_NAMED, ENDED };

struct fiber_of_lane {
    boost::context::fiber own;
    state now = ENDED;
    uint3 index;
    operation what;
    unsigned mask; /* mask of a warp operation, or number of threads at a named barrier */
    int barrier;
    uint64_t value, received[WARP];
    const uint64_t *all; /* values of the warp's last operation: `received`, or the warp's own copy */
    int counted;
};

struct block_of_threads {
    const char *kernel;
    const std::function<void()> *thread;
    int threads;
    std::vector<fiber_of_lane> lane;
    uint64_t of_warp[MOST_THREADS / WARP][2][WARP]; /* values of operations of a whole warp: the last, and the one
                                                       before */
    int turn[MOST_THREADS / WARP];
    boost::context::fiber scheduler;
    int current;
    alignas(128) unsigned char dynamic[DYNAMIC_BYTES];
    size_t dynamic_bytes;
};
block_of_threads &block = *new block_of_threads(); /* not freed, because its fibers never end */

uint64_t draws;

uint32_t draw(uint32_t below)
{
    draws = draws * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((draws >> 33) * below >> 31);
}

template <typename T> void shuffle_order(std::vector<T> &v)
{
    for (size_t i = v.size(); i > 1; i--) std::swap(v[i - 1], v[draw((uint32_t)i)]);
}

void noise(void *to, size_t bytes)
{
    const uint32_t kind = draw(3);
    uint8_t *p = (uint8_t *)to;
    if (kind == 0) memset(p, 0xff, bytes);
    for (size_t i = 0; i < bytes && kind; i += 8) {
        const uint64_t word = kind == 1 ? 0x7fc000007fc00000ull /* NaN */ : (draw(1u << 16), draws);
        memcpy(p + i, &word, std::min<size_t>(8, bytes - i));
    }
}

[[noreturn]] void stop(const char *why)
{
    fprintf(stderr, "emulate: %s, block (%u, %u, %u) of %u threads: %s\n", block.kernel, blockIdx.x, blockIdx.y,
            blockIdx.z, (unsigned)block.threads, why);
    static const char *const name[] = {"ready", "at an operation of its warp", "at a barrier of the block",
                                       "at a named barrier", "ended"};
    int first = 0;
    for (int i = 1; i <= block.threads; i++) {
        const fiber_of_lane &f = block.lane[(size_t)first];
        if (i < block.threads && block.lane[(size_t)i].now == f.now && block.lane[(size_t)i].mask == f.mask) continue;
        fprintf(stderr, "  threads %d to %d %s, mask %08x\n", first, i - 1, name[f.now], f.mask);
        first = i;
    }
    exit(3);
}

/** Yields until the scheduler has made the lane ready again. */
fiber_of_lane &wait_as(state now)
{
    fiber_of_lane &f = block.lane[(size_t)block.current];
    f.now = now;
    block.scheduler = std::move(block.scheduler).resume();
    return f;
}

void resume(int i)
{
    fiber_of_lane &f = block.lane[(size_t)i];
    block.current = i;
    threadIdx = f.index;
    emulate_lane = i % WARP;
    f.own = std::move(f.own).resume();
}

/** Makes a lane's fiber, which runs one thread after the other. */
boost::context::fiber make_fiber()
{
    return boost::context::fiber(std::allocator_arg, boost::context::protected_fixedsize_stack(STACK_BYTES),
                                 [](boost::context::fiber &&caller) {
                                     block.scheduler = std::move(caller);
                                     for (;;) {
                                         (*block.thread)();
                                         wait_as(ENDED);
                                     }
                                     return boost::context::fiber();
                                 });
}

/** Completes the operation that a lane waits for, if all lanes of its mask wait for it. A lane may still read the
 *  values of one operation while others wait for the next. A whole warp therefore has two copies, a partial warp one
 *  per lane. */
bool complete(int first, int i)
{
    const fiber_of_lane &f = block.lane[(size_t)(first + i)];
    const unsigned mask = f.mask;
    const int warp = first / WARP;
    uint64_t part[WARP], *all = mask == ALL ? block.of_warp[warp][block.turn[warp] ^ 1] : part;
    for (int k = 0; k < WARP; k++) {
        all[k] = 0xbadbadbadbadbadull;
        if (!(mask >> k & 1)) continue;
        if (first + k >= block.threads) stop("a mask names lanes that the block does not have");
        const fiber_of_lane &other = block.lane[(size_t)(first + k)];
        if (other.now == ENDED) stop("a mask names a lane that has ended");
        if (other.now != AT_WARP || other.mask != mask) return false;
        if (other.what != f.what) stop("lanes of one warp meet in different operations");
        all[k] = other.value;
    }
    if (mask == ALL) block.turn[warp] ^= 1;
    for (int k = 0; k < WARP; k++) {
        if (!(mask >> k & 1)) continue;
        fiber_of_lane &other = block.lane[(size_t)(first + k)];
        if (mask != ALL) memcpy(other.received, all, sizeof part);
        other.all = mask == ALL ? all : other.received;
        other.now = READY;
    }
    return true;
}

/** Runs a warp until all its lanes wait for other warps or have ended. Returns false if no lane could run. */
bool run_warp(int first)
{
    const int count = std::min(WARP, block.threads - first);
    std::vector<int> order((size_t)count);
    for (int i = 0; i < count; i++) order[(size_t)i] = i;
    const uint32_t kind = draw(3);
    if (kind == 1) std::reverse(order.begin(), order.end());
    if (kind == 2) shuffle_order(order);
    bool ran = false;
    for (bool more = true; more;) {
        more = false;
        for (int i : order)
            if (block.lane[(size_t)(first + i)].now == READY) {
                resume(first + i);
                ran = true;
            }
        for (int i = 0; i < count; i++)
            if (block.lane[(size_t)(first + i)].now == AT_WARP) more |= complete(first, i);
    }
    return ran;
}

/** Opens the barrier of the block if all its running threads wait there. */
bool open_barrier()
{
    int flags = 0, waiting = 0;
    for (int i = 0; i < block.threads; i++) {
        const fiber_of_lane &f = block.lane[(size_t)i];
        if (f.now == AT_BLOCK)
            waiting++, flags += f.value != 0;
        else if (f.now != ENDED)
            return false;
    }
    for (int i = 0; i < block.threads; i++)
        if (block.lane[(size_t)i].now == AT_BLOCK)
            block.lane[(size_t)i].now = READY, block.lane[(size_t)i].counted = flags;
    return waiting > 0;
}

bool open_named()
{
    bool opened = false;
    for (int barrier = 0; barrier < 16; barrier++) {
        int waiting = 0, wanted = 0;
        for (int i = 0; i < block.threads; i++) {
            const fiber_of_lane &f = block.lane[(size_t)i];
            if (f.now != AT_NAMED || f.barrier != barrier) continue;
            if (waiting++ && wanted != (int)f.mask) stop("threads meet at a named barrier with different counts");
            wanted = (int)f.mask;
        }
        if (!waiting || waiting < wanted) continue;
        if (waiting > wanted) stop("more threads at a named barrier than it is for");
        for (int i = 0; i < block.threads; i++)
            if (block.lane[(size_t)i].now == AT_NAMED && block.lane[(size_t)i].barrier == barrier)
                block.lane[(size_t)i].now = READY;
        opened = true;
    }
    return opened;
}

void run_block()
{
    std::vector<int> warps;
    for (int i = 0; i < block.threads; i++) {
        const unsigned n = (unsigned)i;
        fiber_of_lane &f = block.lane[n];
        f.now = READY;
        f.index = {n % blockDim.x, n / blockDim.x % blockDim.y, n / (blockDim.x * blockDim.y)};
        if (i % WARP == 0) warps.push_back(i);
    }
    for (;;) {
        bool ran = false;
        shuffle_order(warps);
        for (int first : warps) ran |= run_warp(first);
        ran |= open_named();
        ran |= open_barrier();
        if (!ran) break;
    }
    for (int i = 0; i < block.threads; i++)
        if (block.lane[(size_t)i].now != ENDED) stop("its threads wait for each other for ever");
}

} // namespace

void launch(const char *kernel, dim3 grid, dim3 threads, size_t dynamic_bytes, const std::function<void()> &thread)
{
    static bool seeded;
    if (!seeded) {
        const char *seed = getenv("EMULATE_SEED");
        draws = seed ? strtoull(seed, NULL, 0) * 0x9e3779b97f4a7c15ull : 1;
        seeded = true;
    }
    block.kernel = kernel;
    block.thread = &thread;
    block.threads = (int)(threads.x * threads.y * threads.z);
    block.dynamic_bytes = dynamic_bytes;
    blockDim = threads;
    gridDim = grid;
    if (block.threads < 1 || block.threads > MOST_THREADS) stop("a launch of no threads, or of more than 1024");
    if (dynamic_bytes > sizeof block.dynamic) stop("more dynamic shared memory than any GPU has");
    if (grid.x < 1 || grid.y < 1 || grid.z < 1 || grid.y > 65535 || grid.z > 65535)
        stop("a grid of a size that no GPU takes");
    while (block.lane.size() < (size_t)block.threads) {
        block.lane.emplace_back();
        block.lane.back().own = make_fiber();
    }
    noise(__start_shared_memory, (size_t)(__stop_shared_memory - __start_shared_memory));
    noise(block.dynamic, block.dynamic_bytes);
    std::vector<uint32_t> order(grid.x * grid.y * grid.z);
    for (size_t i = 0; i < order.size(); i++) order[i] = (uint32_t)i;
    shuffle_order(order);
    for (uint32_t n : order) {
        blockIdx = {n % grid.x, n / grid.x % grid.y, n / (grid.x * grid.y)};
        run_block();
    }
}

void *dynamic_shared() { return block.dynamic; }

const uint64_t *meet(operation what, unsigned mask, uint64_t value)
{
    fiber_of_lane &f = block.lane[(size_t)block.current];
    if (!(mask >> emulate_lane & 1)) stop("a lane calls an operation of its warp with a mask that leaves it out");
    f.what = what;
    f.mask = mask;
    f.value = value;
    return wait_as(AT_WARP).all;
}

int meet_block(bool flag)
{
    block.lane[(size_t)block.current].value = flag;
    return wait_as(AT_BLOCK).counted;
}

void meet_named(int barrier, int threads)
{
    fiber_of_lane &f = block.lane[(size_t)block.current];
    f.barrier = barrier;
    f.mask = (unsigned)threads;
    wait_as(AT_NAMED);
}

} // namespace emulate
