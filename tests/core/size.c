/* SPDX-License-Identifier: MIT */
/* Prints the memory that the config requires: `make size`. */
#include <stdio.h>

#include "core/context.h"
#include "result/carry.h"

int main(void)
{
    printf("config: %d cameras of %dx%d px, %d levels, %d tracks, %d cells\n\n", VFRONT_CAMERAS, VFRONT_WIDTH,
           VFRONT_HEIGHT, VFRONT_LEVELS, VFRONT_TRACKS, VFRONT_CELLS);
    printf("%-34s %12s\n", "", "bytes");
#define VF_STAGE(name, needs, what)                                                                                    \
    printf("%-34s %12zu  %s\n", "device, " #name, sizeof(struct vf_##name##_memory), what);
#include "stages.def"
#undef VF_STAGE
    printf("%-34s %12zu  %s\n", "device, while dense works", sizeof(struct vf_dense_scratch),
           "census words, path costs, disparities before filters");
    printf("%-34s %12zu  %s\n", "device, while stixel works", sizeof(struct vf_stixel_scratch),
           "costs of all columns; both take one place in turn");
    printf("%-34s %12zu\n", "device arena", sizeof(struct vf_memory));
#if VFRONT_CUBLAS
    printf("%-34s %12zu  behind the arena, on the CUDA port only; cuBLAS takes more for itself\n",
           "device, systems for cuBLAS", sizeof(struct vf_systems));
#endif
    printf("%-34s %12zu  pinned, with the tuning value failover\n", "mirror", sizeof(struct vf_carry_mirror));
    printf("%-34s %12zu  3 results of %zu, input buffers, masks\n", "pinned arena", sizeof(struct vf_pinned),
           sizeof(vfront_result_t));
    printf("%-34s %12zu  %s\n", "vfront_t, the caller's", sizeof(vfront_t),
           VFRONT_HOST ? "holds both arenas for the host port" : "no host port");
    printf("%-34s %12zu  the rest is slack of VFRONT_BLOCK_BYTES\n", "  of it used", sizeof(struct vf_block) + 64);
    return 0;
}
