/* SPDX-License-Identifier: MIT */
/* stixel_result: reads the best segmentation of a column back from its top, and writes segments and obstacles. */
#ifndef VF_STIXEL_RESULT_CUH
#define VF_STIXEL_RESULT_CUH

#include "stixel_column.cuh"

#if VFRONT_STIXELS

/** Least costs of all rows from the bottom up to row v, one for each class of the segment that ends there [1/4096
 *  nat]. */
static __device__ __forceinline__ vf_row_costs costs_at(const vf_column_model &model, const column_memory &c, int v)
{
    return vf_row_costs_at(&model, v, key_cost(c.best_object[v]), c.background_cost[v]);
}

/** Writes for each row the back-pointer of the best object that ends there: its base row and the class of the segment
 *  below it. Called by all threads of the block. */
static __device__ __forceinline__ void link_objects(const vf_column_model &model, const column_memory &c,
                                                    uint16_t *object_back)
{
    for (int v = threadIdx.x; v < model.height; v += blockDim.x) {
        const unsigned long long key = c.best_object[v];
        const int base = key_base(key);
        const int4 *start = c.all_starts + 3 * base;
        const int4 one = start[0], two = start[1], three = start[2];
        const vf_object_start object = {one.x, one.y, one.z, one.w, two.x, two.y, two.z, two.w, three.x};
        const int before = vf_object_predecessor(&object, mean_between(c, base, v), base, model.horizon);
        object_back[v] = (uint16_t)vf_back_pointer(base, before);
    }
}

/** Follows the back-pointers from the top of the column and lists tops and classes of the segments. Returns the number
 *  of segments. Called by one thread. */
static __device__ int backtrack(const vf_column_model &model, const column_memory &c, const uint16_t *object_back,
                                uint16_t *list)
{
    const vf_row_costs last = costs_at(model, c, model.height - 1);
    return vf_backtrack(model.height, vf_row_best_type(&last), object_back, c.background_back, list);
}

/** Writes the segments of a column and lowers the obstacle distance of its direction, one thread per segment. */
static __device__ void write_segments(const vf_stixel_view &s, const vf_column_model &model, const column_memory &c,
                                      int column, int count, const uint16_t *object_back, const uint16_t *list)
{
    vf_stixel_memory &m = *s.stixel;
    const int hidden = model.hidden > 0;
    uint32_t *nearest = &m.nearest_cm[m.tables.obstacle_bin[column]];
    count -= vf_stixel_replaced(&model, list, count);
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int top = vf_back_base(list[i]), type = vf_back_type(list[i]),
                  back = type == VF_OBJECT ? object_back[top] : c.background_back[top], base = vf_back_base(back);
        vf_row_costs below = {0, 0, 0};
        if (base) below = costs_at(model, c, base - 1);
        const vf_row_costs through = costs_at(model, c, top);
        const uint32_t valid = (uint32_t)(c.valid[top + 1] - c.valid[base]);
        const vf_segment segment = vf_segment_of(&model, type, vf_max(base, model.hidden), top, vf_stixel_open(list, i),
                                                 c.twice[top + 1] - c.twice[base], valid, m.ground[base].expected_q8,
                                                 vf_row_cost(&through, type) - vf_row_cost(&below, vf_back_type(back)));
        m.segment[column][hidden + count - 1 - i] = segment;
        atomicMin(nearest, vf_stixel_obstacle_cm(&s, m.tables.secant[column], &segment));
        if (i == count - 1 && vf_stixel_may_hide(&model, &segment, (int)valid))
            atomicMin(nearest, vf_stixel_hidden_cm(&s));
    }
    if (threadIdx.x) return;
    if (hidden) m.segment[column][0] = vf_stixel_hidden_segment(&model);
    m.segments[column] = (uint16_t)(hidden + count);
}

#endif

#endif
