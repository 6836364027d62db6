/* SPDX-License-Identifier: MIT */
/* grid: nodes and positions between them against the lens, inverted at the position in double precision; blind pixels
 * against a test of every pixel. Oracle: grid_oracle.h. */
#include "tests/camera/grid_oracle.h"

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/** Every node is the bearing of the lens at its pixel, to single precision; no other node is written. */
static void nodes_of_the_grid(void **state)
{
    static struct vf_node row[VF_NODES(VFRONT_WIDTH) + 1], noise[VF_NODES(VFRONT_WIDTH) + 1];
    (void)state;
    shake(1);
    for (int kind = 0; kind < KINDS; kind++) {
        const vfront_camera_t *c = &known[kind].camera;
        const struct vf_lens lens = lens_of(c);
        const int32_t across = nodes_of(c->width_px), down = nodes_of(c->height_px);
        if (!fits(c->width_px, c->height_px, 0)) continue;
        assert_true(vf_nodes(c->width_px) == across && vf_nodes(c->height_px) == down);
        for (int32_t j = 0; j < down; j++) {
            scribble(noise, sizeof noise);
            memcpy(row, noise, sizeof row);
            vf_grid_row(row, across, &lens, j);
            for (int32_t i = 0; i < across; i++) {
                double b[3];
                const int holds = node_of(&lens, i, j, b);
                REQUIRE(row[i].valid == holds && row[i].x == (float)b[0] && row[i].y == (float)b[1] &&
                            row[i].z == (float)b[2],
                        "%s: node %d,%d", known[kind].name, i, j);
            }
            assert_memory_equal(row + across, noise + across, sizeof row - (size_t)across * sizeof *row);
        }
    }
}

/** The arena holds the nodes of the largest image. */
static void room_for_the_grid(void **state)
{
    (void)state;
    for (int32_t size = 16; size <= 4096; size++) assert_int_equal(vf_nodes(size), nodes_of(size));
    assert_true(sizeof memory.bearing.node[0] / sizeof(struct vf_node) >=
                (size_t)(nodes_of(VFRONT_WIDTH) * nodes_of(VFRONT_HEIGHT)));
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

static void set_up_kind(int kind)
{
    const vfront_camera_t *c = &known[kind].camera;
    const struct vf_lens lens = lens_of(c);
    set_up(1, c->width_px, c->height_px, 0);
    step.geometry.calibrated[0] = c->fx_px != 0.0;
    step.geometry.focal_px[0] = (float)lens.fx_px;
    write_grid(0, &lens);
}

/** Random positions to 1/65536 px, as of tracks, the first and last included. */
static void places_of_all_lenses(void **state)
{
    int within = 1;
    (void)state;
    shake(2);
    print_message("%-24s %12s %12s %10s %8s\n", "lens", "worst [px]", "mean [px]", "over 1e-4", "blind");
    for (int kind = 0; kind < KINDS; kind++) {
        const vfront_camera_t *c = &known[kind].camera;
        const struct vf_lens lens = lens_of(c);
        struct figures f = {0.0, 0.0, 0, 0, 0};
        if (!fits(c->width_px, c->height_px, 0)) continue;
        set_up_kind(kind);
        const struct vf_bearing_view *s = VIEW(bearing);
        for (int n = 0; n < 20000; n++) {
            const int32_t right = (c->width_px - 1) * 65536, below = (c->height_px - 1) * 65536;
            const int32_t x = n < 4 ? n % 2 * right : roll(right + 1), y = n < 4 ? n / 2 * below : roll(below + 1);
            float is[3];
            vf_bearing_at(s->bearing->node[0], s->geometry.nodes_x[0], x, y, is);
            compare_bearing(known[kind].name, &lens, lens.fx_px, x / 65536.0, y / 65536.0, is, &f);
        }
        print_message("%-24s %12.2e %12.2e %9.2f%% %7.1f%%\n", known[kind].name, f.worst_px,
                      f.sum_px / (f.places - f.blind + 1), 100.0 * f.over / f.places, 100.0 * f.blind / f.places);
        within &= known[kind].bound_px == 0.0 ||
                  (f.worst_px <= known[kind].bound_px && f.sum_px < 4e-5 * f.places && f.blind == 0);
        assert_true(kind < CORNERS || f.blind > 100);
        assert_true(f.places - f.blind > 1000);
    }
    assert_true(within);
}

/** A pinhole by hand: on its axis, and at 45 degrees. */
static void known_places(void **state)
{
    static const struct {
        int32_t x, y;
        double bearing[3];
    } at[] = {{48, 40, {0, 0, 1}},
              {56, 40, {0.70710678, 0, 0.70710678}},
              {40, 40, {-0.70710678, 0, 0.70710678}},
              {48, 48, {0, 0.70710678, 0.70710678}},
              {56, 48, {0.57735027, 0.57735027, 0.57735027}}};
    const vfront_camera_t c = {.width_px = 64, .height_px = 64, .fx_px = 8, .fy_px = 8, .cx_px = 48, .cy_px = 40};
    const struct vf_lens lens = lens_of(&c);
    (void)state;
    shake(3);
    set_up(1, 64, 64, 0);
    write_grid(0, &lens);
    const struct vf_bearing_view *s = VIEW(bearing);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        float is[3];
        vf_bearing_at(s->bearing->node[0], s->geometry.nodes_x[0], at[i].x << 16, at[i].y << 16, is);
        for (int k = 0; k < 3; k++)
            REQUIRE(fabs((double)is[k] - at[i].bearing[k]) < 2e-7, "place %zu: %.9f", i, (double)is[k]);
    }
}

/** Weights of four nodes: they reproduce every cubic, and are 1 and 0 at the nodes themselves. */
static void weights_are_those_of_a_cubic(void **state)
{
    (void)state;
    for (int n = 0; n <= 1000; n++) {
        const double t = n / 1000.0;
        float w[4];
        vf_grid_weights((float)t, w);
        for (int power = 0; power <= 3; power++) {
            double sum = 0.0;
            for (int k = 0; k < 4; k++) sum += (double)w[k] * pow(k - 1.0, power);
            REQUIRE(fabs(sum - pow(t, power)) < 2e-6, "t = %g, power %d: %g", t, power, sum);
        }
    }
}

/* ---- blind pixels ------------------------------------------------------------------------------------------------ */

/** Mask and count against a test of every pixel. Masked pixels remain masked, and the bytes between rows do not
 *  change. */
static void blind_pixels(void **state)
{
    static uint8_t is[256 * 300], should[256 * 300];
    (void)state;
    shake(6);
    for (int kind = 0; kind < KINDS; kind++) {
        const vfront_camera_t *c = &known[kind].camera;
        const struct vf_lens lens = lens_of(c);
        const size_t pitch = (size_t)c->width_px + (size_t)roll(40);
        if (c->width_px > 256 || c->height_px > 256 || !fits(c->width_px, c->height_px, 0)) continue;
        const uint32_t count = look_at_all(c, &lens);
        print_message("         %-24s %u of %d pixels blind\n", known[kind].name, count, c->width_px * c->height_px);
        assert_true((count > 500) == (kind >= CORNERS));
        scribble(is, sizeof is);
        memcpy(should, is, sizeof is);
        for (int32_t y = 0; y < c->height_px; y++)
            for (int32_t x = 0; x < c->width_px; x++)
                should[(size_t)y * pitch + (size_t)x] &= blind_mask[y * c->width_px + x];
        assert_int_equal(vf_grid_blind(NULL, 0, c->width_px, c->height_px, &lens), count);
        assert_int_equal(vf_grid_blind(is, pitch, c->width_px, c->height_px, &lens), count);
        for (size_t i = 0; i < sizeof is; i++)
            REQUIRE(is[i] == should[i], "%s: %zu,%zu is %d, should be %d", known[kind].name, i % pitch, i / pitch,
                    is[i], should[i]);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(nodes_of_the_grid),
        cmocka_unit_test(room_for_the_grid),
        cmocka_unit_test(places_of_all_lenses),
        cmocka_unit_test(known_places),
        cmocka_unit_test(weights_are_those_of_a_cubic),
        cmocka_unit_test(blind_pixels),
    };
    return cmocka_run_group_tests_name("grid", test, NULL, NULL);
}
