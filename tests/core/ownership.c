/* SPDX-License-Identifier: MIT */
/* A stage writes only its own memory. Every host form is wrapped (-Wl,--wrap). The memory of all stages is hashed
 * before and after it, and that of the others must be unchanged; only dense and stixel may write the scratch. This
 * detects casts and addresses that a view's const does not guard. On the CUDA port over tests/fake/cudart.c the same
 * holds for device memory; vfcheck tests the kernels on a GPU. */
#include "tests/fixture/pair.h"

#include <stdlib.h>

#include "core/memory.h"

enum { CLOCKS = VFRONT_STAGES, SCRATCH, OWNERS }; /* owners besides the stages */

static struct {
    long runs[VFRONT_STAGES]; /* runs of each stage */
    int writer, owner;        /* last foreign write: writing stage, and owner of the memory; -1: none */
    int corrupt;              /* stage after which a byte of another stage's memory is changed; -1: none */
} seen;

static uint64_t hash(const void *from, size_t bytes)
{
    const uint8_t *at = from;
    uint64_t h = 1469598103934665603u, word;
    for (size_t i = 0; i < bytes / 8; i++) {
        memcpy(&word, at + 8 * i, 8); /* regardless of the type of the memory */
        h = (h ^ word) * 1099511628211u;
    }
    return h;
}

/** Hash of the memory of each stage, of all clocks, and of the scratch. */
static void hash_all(const struct vf_memory *m, uint64_t h[OWNERS])
{
#define VF_STAGE(name, needs, what) h[VF_##name] = hash(&m->name, sizeof m->name##_bytes);
#include "stages.def"
#undef VF_STAGE
    h[CLOCKS] = hash(m->clock, sizeof m->clock);
    h[SCRATCH] = hash(&m->dense_scratch, sizeof *m - offsetof(struct vf_memory, dense_scratch)); /* to the end of the
                                                                                                    arena */
}

static void compare(int stage, const uint64_t before[], const uint64_t after[])
{
    for (int other = 0; other < OWNERS; other++) {
        if (other == stage || before[other] == after[other]) continue;
        if (other == SCRATCH && (stage == VF_dense || stage == VF_stixel)) continue;
        seen.writer = stage;
        seen.owner = other;
    }
}

/** Flips a bit in the memory of the stage after `stage`, cyclically; a second call restores it. */
static void corrupt(struct vf_memory *m, int stage)
{
    const int other = (stage + 1) % VFRONT_STAGES;
#define VF_STAGE(name, needs, what)                                                                                    \
    if (other == VF_##name) m->name##_bytes[0] ^= 1;
#include "stages.def"
#undef VF_STAGE
}

#define VF_STAGE(name, needs, what)                                                                                    \
    void __real_vf_##name##_host(const struct vf_##name##_view *s);                                                    \
    void __wrap_vf_##name##_host(const struct vf_##name##_view *s);                                                    \
    void __wrap_vf_##name##_host(const struct vf_##name##_view *s)                                                     \
    {                                                                                                                  \
        struct vf_memory *m = (struct vf_memory *)((char *)s->name - offsetof(struct vf_memory, name));                \
        uint64_t before[OWNERS], after[OWNERS];                                                                        \
        hash_all(m, before);                                                                                           \
        __real_vf_##name##_host(s);                                                                                    \
        if (seen.corrupt == VF_##name) corrupt(m, VF_##name);                                                          \
        hash_all(m, after);                                                                                            \
        if (seen.corrupt == VF_##name) corrupt(m, VF_##name); /* later stages would use it as an index */              \
        compare(VF_##name, before, after);                                                                             \
        seen.runs[VF_##name]++;                                                                                        \
    }
#include "stages.def"
#undef VF_STAGE

/** Runs frames with a tuning; images, masks and IMU samples differ between frames. Returns the number of frames with an
 *  estimate. */
static int fly(const vfront_tuning_t *tuning, uint64_t frames)
{
    static uint8_t mask[VFRONT_WIDTH * VFRONT_HEIGHT];
    const vfront_rig_t rig = pair_with_imu();
    const vfront_result_t *r;
    vfront_imu_t imu[7];
    int states = 0;
    memset(mask, 255, sizeof mask);
    for (size_t i = 0; i < sizeof mask; i += 7) mask[i] = 0;
    assert_int_equal(vfront_init(&pair_vf, &rig, tuning, pair_port), VFRONT_OK);
    for (uint64_t i = 0; i < frames; i++) {
        vfront_frame_t f = pair_frame(i);
        for (int c = 0; c < rig.cameras && i % 3 == 1; c++) {
            f.picture[c].mask = mask;
            f.picture[c].mask_width_px = f.picture[c].width_px;
            f.picture[c].mask_height_px = f.picture[c].height_px;
            f.picture[c].mask_pitch_bytes = (uint32_t)f.picture[c].width_px;
        }
        for (uint64_t k = 0; k < 7; k++)
            imu[k] = (vfront_imu_t){
                f.t_ns + 4600000u * k - 28000000u, {0, 0, 1e-3 * (double)k}, {0, -9.81, 0.01 + 1e-4 * (double)k}};
        f.imu = imu;
        f.imu_count = 7;
        assert_int_equal(vfront_step(&pair_vf, &f, &r), VFRONT_OK);
        states += r->nav.state == VFRONT_NAV_GOOD;
        if (i == 4 && frames == 6) assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    }
    vfront_shutdown(&pair_vf);
    return states;
}

static void clear(void)
{
    memset(&seen, 0, sizeof seen);
    seen.writer = seen.owner = seen.corrupt = -1;
}

static const char *name_of(int owner)
{
    return owner == CLOCKS ? "clocks" : owner == SCRATCH ? "scratch" : vfront_stage_name((size_t)owner);
}

/** 1 if host forms run: on the host port, and on the CUDA port over a runtime without a GPU. */
static int host_forms(void)
{
    const vfront_rig_t rig = pair_cameras();
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
    const int are = pair_port == VFRONT_PORT_HOST || pair_fake();
    vfront_shutdown(&pair_vf);
    return are;
}

static void all_stages(void **state)
{
    (void)state;
    if (!host_forms()) skip();
    clear();
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.vio = VFRONT_VIO;
    t.map = VFRONT_MAP;
    if (!fly(&t, 8) && VFRONT_VIO) fail_msg("there was no state");
    t.rectify = VFRONT_RECTIFY;
    t.dense = VFRONT_DENSE;
    t.stixel = VFRONT_STIXELS;
    t.track_back_mpx = 500;
    t.select_aggregate_px = 7;
    fly(&t, 6);
    if (seen.writer >= 0) fail_msg("%s writes memory of %s", name_of(seen.writer), name_of(seen.owner));
    for (int i = 0; i < VFRONT_STAGES; i++)
        if (!seen.runs[i]) fail_msg("%s never ran", name_of(i));
}

/** Test of the test: a foreign write is detected for every stage. */
static void corrupted(void **state)
{
    (void)state;
    if (!host_forms()) skip();
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.rectify = VFRONT_RECTIFY;
    t.dense = VFRONT_DENSE;
    t.stixel = VFRONT_STIXELS;
    t.vio = VFRONT_VIO;
    t.map = VFRONT_MAP;
    for (int i = 0; i < VFRONT_STAGES; i++) {
        clear();
        seen.corrupt = i;
        fly(&t, 2);
        assert_int_equal(seen.writer, i);
        assert_int_equal(seen.owner, (i + 1) % VFRONT_STAGES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_stages),
        cmocka_unit_test(corrupted),
    };
    pair_draw();
    return pair_run("ownership", tests, sizeof tests / sizeof *tests);
}
