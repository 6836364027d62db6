/* SPDX-License-Identifier: MIT */
/* Key points where corners are scarce: select fills quotas with second best corners of culling cells, in an order given
 * here by hand. */
#include "tests/fixture/stage.h"

/* ---- the order in which a quota is filled ------------------------------------------------------------------------ */

enum { CELLS = 3 }; /* in a row, of 32 px */

/** Corners of each cell, best first; score 0: none. */
struct cell {
    struct {
        int high;
        uint32_t score;
    } corner[2];
};

/** Three cells, and the order of their corners as key points, as 10 * cell + corner; -1: no more. */
static const struct {
    struct cell cell[CELLS];
    int order[2 * CELLS];
} known[] = {
    /* first threshold only: best corners of cells first, however high the second best score */
    {{{{{1, 90}, {1, 80}}}, {{{1, 5}, {1, 4}}}, {{{1, 7}, {1, 6}}}}, {0, 20, 10, 1, 21, 11}},
    /* a second best of the first threshold precedes a best of the second; a second best of the second comes last */
    {{{{{1, 9}, {0, 99}}}, {{{0, 50}, {0, 40}}}, {{{1, 7}, {1, 1}}}}, {0, 20, 21, 10, 1, 11}},
    /* second threshold only */
    {{{{{0, 3}, {0, 2}}}, {{{0, 9}, {0, 8}}}, {{{0, 0}, {0, 0}}}}, {10, 0, 11, 1, -1, -1}},
    /* cells with one corner */
    {{{{{1, 3}, {0, 0}}}, {{{0, 9}, {0, 0}}}, {{{1, 4}, {0, 5}}}}, {20, 0, 10, 21, -1, -1}},
    /* equal scores: by position */
    {{{{{1, 5}, {1, 5}}}, {{{1, 5}, {1, 5}}}, {{{1, 5}, {1, 5}}}}, {0, 10, 20, 1, 11, 21}},
    {{{{{0, 0}, {0, 0}}}, {{{0, 0}, {0, 0}}}, {{{0, 0}, {0, 0}}}}, {-1, -1, -1, -1, -1, -1}},
};

static uint64_t key_of(const struct cell *of, int cell, int corner)
{
    const uint32_t score = of[cell].corner[corner].score;
    return score ? vf_detect_key(of[cell].corner[corner].high, score, 0, 32 * cell + 10 + corner, 12) : 0;
}

/** Frame of one level with the corners of a row of the table. */
static void set_up_line(const struct cell *of)
{
    set_up(1, 32 * CELLS, 32, 0);
    set_culls(32, 32);
    step.tuning.detect_levels = 1;
    step.tuning.select_aggregate_px = 0;
    for (int i = 0; i < CELLS; i++) {
        memory.detect.best[step.parity][0][i] = key_of(of, i, 0);
        memory.detect.second[step.parity][0][i] = key_of(of, i, 1);
    }
}

/** Key points by hand for a quota, by cell. Returns their number. */
static int32_t by_hand(const struct cell *of, const int *order, int32_t quota, uint64_t *key)
{
    int32_t count = 0;
    for (int cell = 0; cell < CELLS; cell++)
        for (int corner = 0; corner < 2; corner++)
            for (int32_t i = 0; i < quota && i < 2 * CELLS; i++)
                if (order[i] == 10 * cell + corner) key[count++] = key_of(of, cell, corner);
    return count;
}

static void quotas_are_filled_in_order(void **state)
{
    (void)state;
    scribble_arena();
    for (size_t line = 0; line < sizeof known / sizeof *known; line++)
        for (int32_t quota = 0; quota <= 2 * CELLS + 1; quota++)
            for (int shares = 0; shares < 2; shares++) {
                uint64_t key[2 * CELLS];
                set_up_line(known[line].cell);
                step.tuning.select_points = quota;
                step.tuning.select_share_percent = shares ? 91 : 0;
                share_out();
                const int32_t count = by_hand(known[line].cell, known[line].order, quota, key);
                RUN(select);
                REQUIRE(!quota || memory.select.count[0][0] == (uint32_t)count, "line %zu, quota %d: %u", line, quota,
                        memory.select.count[0][0]);
                REQUIRE(!quota || !memcmp(memory.select.key[0], key, sizeof *key * (size_t)count), "line %zu, quota %d",
                        line, quota);
            }
}

/** Aggregation keeps only the best of a window: nothing is filled. */
static void none_with_aggregation(void **state)
{
    (void)state;
    set_up_line(known[0].cell);
    step.tuning.select_points = 2 * CELLS;
    step.tuning.select_share_percent = 0;
    step.tuning.select_aggregate_px = 3;
    share_out();
    RUN(select);
    assert_int_equal(memory.select.count[0][0], CELLS);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(quotas_are_filled_in_order),
        cmocka_unit_test(none_with_aggregation),
    };
    return cmocka_run_group_tests_name("fill", test, NULL, NULL);
}
