/* SPDX-License-Identifier: MIT */
/* Generator of drawn faults: the same seed gives the same fault, every kind is drawn over all of its range, and each
 * changes what it names, while it lasts, and nothing else. Levels, alerts and delays, on frames made by hand. */
#include "drawn_program.h"
#include "drawn_stages.h"

static void view_begin(void) { scene_begin(); }

static int view_uses(const struct world_draw *quantity) { return quantity->group != WORLD_PICTURES; }

static void view_frame(int k, vfront_frame_t *frame)
{
    (void)frame;
    scene_frame(k);
}

static void view_refused(void) { scene_refused(); }

static struct flight with;

static const struct fault_kind *kind_of(const char *name)
{
    for (int i = 0; i < FAULT_KINDS; i++)
        if (!strcmp(fault_kinds[i].name, name)) return &fault_kinds[i];
    fail_msg("no kind %s", name);
    return NULL;
}

/** Draws a fault of 1 s in the middle of a flight of 6 s. */
static struct fault drawn(const struct fault_kind *kind, uint64_t seed)
{
    struct fault f;
    fault_draw(kind, seed, 6, 25, &f);
    f.begin_s = 2.5, f.length_s = 1;
    return f;
}

/** The flight that all tests change, in `flight`. */
static void make_flight(void)
{
    struct world w;
    world_draw_from(world_draws, 5, (1u << WORLD_GROUPS) - 1, &w);
    w.camera_hz = 25, w.missing = 0, w.imu_hz = 400, w.imu_jitter = 0, w.turn_rate = 1, w.accel = 5, w.rest_s = -1;
    drawn_fault.on = 0;
    flight_make(&flight, 5, &w, 6);
    view_rig = flight.rig;
    view_look(&flight, NULL, 0);
}

/** Copies what a fault may change of the flight. */
static void copy_flight(void)
{
    with.world = flight.world, with.rig = flight.rig;
    with.samples = flight.samples, with.frames = flight.frames;
    memcpy(with.imu, flight.imu, flight.samples * sizeof *flight.imu);
    memcpy(with.frame_s, flight.frame_s, (size_t)flight.frames * sizeof *flight.frame_s);
    memcpy(with.stamp_ns, flight.stamp_ns, (size_t)flight.frames * sizeof *flight.stamp_ns);
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

/** A fault depends on kind, seed and flight alone; another seed has another one. */
static void repeats(void **state)
{
    (void)state;
    for (int i = 0; i < FAULT_KINDS; i++) {
        struct fault a, b, c;
        fault_draw(&fault_kinds[i], 7, 10, 20, &a);
        shake(99);
        fault_draw(&fault_kinds[i], 7, 10, 20, &b);
        fault_draw(&fault_kinds[i], 8, 10, 20, &c);
        assert_memory_equal(&a, &b, sizeof a);
        REQUIRE(memcmp(&a, &c, sizeof a) != 0, "%s: seeds 7 and 8 have one fault\n", fault_kinds[i].name);
    }
}

/** Every kind is drawn by one of the programs, as often as any other of it. */
static void all_kinds(void **state)
{
    int count[FAULT_KINDS] = {0};
    (void)state;
    for (int i = 0; i < FAULT_KINDS; i++) REQUIRE(fault_kinds[i].programs, "%s: no program\n", fault_kinds[i].name);
    assert_true(choose_kinds("own"));
    for (int seed = 1; seed <= mode.kind_count * 3; seed++) count[mode.kinds[seed % mode.kind_count]]++;
    for (int i = 0; i < FAULT_KINDS; i++)
        REQUIRE(count[i] == (fault_kinds[i].programs & IN_TRACKS ? 3 : 0), "%s: %d times\n", fault_kinds[i].name,
                count[i]);
    assert_true(choose_kinds("gyro_bias,baseline"));
    assert_int_equal(mode.kind_count, 2);
    assert_false(choose_kinds("gyro_bias,nothing"));
    assert_false(choose_kinds("reflection")); /* without pictures */
    assert_true(choose_kinds("all"));
}

/** Sizes fill their range in the logarithm; sensors, axes, signs, lengths and beginnings all occur. */
static void fills_ranges(void **state)
{
    enum { DRAWS = 400 };
    (void)state;
    for (int i = 0; i < FAULT_KINDS; i++) {
        const struct fault_kind *kind = &fault_kinds[i];
        unsigned sensors = 0, axes = 0;
        int low = 0, high = 0, to_end = 0;
        for (uint64_t seed = 1; seed <= DRAWS; seed++) {
            struct fault f;
            fault_draw(kind, seed, 10, 20, &f);
            assert_true(f.size >= kind->least * (1 - 1e-12) && f.size <= kind->most * (1 + 1e-12));
            assert_true(f.begin_s >= 2.5 && f.begin_s <= 7.5 && f.length_s >= 0.0499);
            assert_true(f.share >= 0.1 && f.side >= 0 && f.side + f.share <= 1);
            low += f.size<sqrt(kind->least * kind->most), high += f.size> sqrt(kind->least * kind->most);
            to_end += f.begin_s + f.length_s > 10;
            sensors |= 1u << f.sensor, axes |= 1u << f.axis;
        }
        assert_int_equal(sensors, kind->sensors);
        assert_int_equal(axes, kind->axes == AXIS_NONE ? 8 : kind->axes == AXIS_ONE ? 7 : 15);
        assert_in_range(to_end, DRAWS / 5, DRAWS / 3);
        REQUIRE(kind->least == kind->most || (low > DRAWS / 3 && high > DRAWS / 3), "%s: %d, %d\n", kind->name, low,
                high);
    }
}

/* ---- samples, stamps --------------------------------------------------------------------------------------------- */

/** 1 if the name of a kind is one of a list, between spaces. */
static int is_of(const struct fault_kind *kind, const char *list)
{
    char word[40];
    snprintf(word, sizeof word, " %s ", kind->name);
    return strstr(list, word) != NULL;
}

/** Values and stamps outside the fault, and values of other sensors and axes, are those of the flight. */
static void check_samples(const struct fault *f)
{
    int changed = 0;
    REQUIRE(is_of(f->kind, " imu_dropout imu_lost ") || with.samples == flight.samples, "%s: samples\n", f->kind->name);
    for (uint32_t i = 0; i < flight.samples && with.samples == flight.samples; i++) {
        const int active = fault_active(f, fault_time(flight.imu[i].t_ns));
        if (!active && f->kind->samples != sample_jitter)
            assert_memory_equal(&with.imu[i], &flight.imu[i], sizeof with.imu[i]);
        if (!active) continue;
        const int same_stamp = with.imu[i].t_ns == flight.imu[i].t_ns;
        REQUIRE(same_stamp || is_of(f->kind, " imu_jitter imu_order "), "%s: stamp %u\n", f->kind->name, i);
        for (int c = 0; c < 6; c++) {
            const int same = *sample_value(&with.imu[i], c) == *sample_value(&flight.imu[i], c);
            REQUIRE(same || !same_stamp || sample_touched(f, c) || f->kind->samples == sample_turn,
                    "%s of %s: value %d\n", f->kind->name, fault_sensors[f->sensor], c);
            changed += !same || !same_stamp;
        }
    }
    const int may_be_small = f->kind->samples == sample_saturate || f->kind->samples == sample_disorder;
    REQUIRE(changed || may_be_small || !f->kind->samples || with.samples < flight.samples, "%s changes nothing\n",
            f->kind->name);
}

/** Stamps outside the fault are those of the flight, and so are the times of the frames. */
static void check_frames(const struct fault *f)
{
    int changed = 0;
    REQUIRE(is_of(f->kind, " frames_lost ") || with.frames == flight.frames, "%s: frames\n", f->kind->name);
    for (int k = 0, j = 0; k < flight.frames; k++) {
        const int active = fault_active(f, flight.frame_s[k] - FLIGHT_LEAD_S);
        if (with.frame_s[j] != flight.frame_s[k]) {
            REQUIRE(active, "%s: frame %d\n", f->kind->name, k);
            changed++;
            continue;
        }
        REQUIRE(active || with.stamp_ns[j] == flight.stamp_ns[k], "%s: stamp %d\n", f->kind->name, k);
        changed += with.stamp_ns[j++] != flight.stamp_ns[k];
    }
    REQUIRE(f->kind->stamps ? changed > 0 : !changed, "%s: %d frames changed\n", f->kind->name, changed);
}

static void touches_nothing_else(void **state)
{
    (void)state;
    make_flight();
    for (int i = 0; i < FAULT_KINDS; i++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            struct fault f = drawn(&fault_kinds[i], seed);
            if (f.kind->stamps == stamp_lose) f.size = 50;
            copy_flight();
            fault_into_flight(&f, &with);
            check_samples(&f);
            check_frames(&f);
            assert_memory_equal(&with.rig, &flight.rig, sizeof with.rig);
        }
}

/** Flight with a fault of one axis and size, in `with`. Returns its first sample. */
static uint32_t with_fault(const char *name, enum fault_sensor sensor, int axis, double size)
{
    struct fault f = drawn(kind_of(name), 3);
    uint32_t i = 0;
    f.sensor = sensor, f.axis = axis, f.size = size, f.sign = -1, f.order = 3;
    copy_flight();
    fault_into_flight(&f, &with);
    while (!fault_active(&f, fault_time(flight.imu[i].t_ns))) i++;
    return i;
}

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/** Values of each kind of fault of the samples, from its definition. */
static void values(void **state)
{
    (void)state;
    make_flight();
    uint32_t i = with_fault("gyro_bias", FAULT_GYRO, 1, 0.3);
    NEAR(with.imu[i].gyro_rad_s[1], flight.imu[i].gyro_rad_s[1] - 0.3);
    i = with_fault("accel_bias", FAULT_ACCEL, ALL_AXES, 2);
    double d[3];
    for (int k = 0; k < 3; k++) d[k] = with.imu[i].accel_m_s2[k] - flight.imu[i].accel_m_s2[k];
    NEAR(length(d), 2);
    i = with_fault("accel_ramp", FAULT_ACCEL, 0, 4);
    const double since = fault_time(flight.imu[i + 200].t_ns) - 2.5;
    NEAR(with.imu[i + 200].accel_m_s2[0], flight.imu[i + 200].accel_m_s2[0] - 4 * since);
    i = with_fault("gyro_scale", FAULT_GYRO, 2, 0.5);
    NEAR(with.imu[i].gyro_rad_s[2], 0.5 * flight.imu[i].gyro_rad_s[2]);
    i = with_fault("accel_sign", FAULT_ACCEL, ALL_AXES, 1);
    for (int k = 0; k < 3; k++) NEAR(with.imu[i].accel_m_s2[k], -flight.imu[i].accel_m_s2[k]);
    i = with_fault("gyro_axes", FAULT_GYRO, ALL_AXES, 1);
    for (int k = 0; k < 3; k++) NEAR(with.imu[i].gyro_rad_s[k], flight.imu[i].gyro_rad_s[(k + 1) % 3]);
    i = with_fault("accel_stuck", FAULT_ACCEL, 2, 1);
    NEAR(with.imu[i + 300].accel_m_s2[2], flight.imu[i - 1].accel_m_s2[2]);
    i = with_fault("accel_limit", FAULT_ACCEL, ALL_AXES, 0.5);
    for (int k = 0; k < 3; k++) NEAR(with.imu[i].accel_m_s2[k], fmax(-0.5, fmin(0.5, flight.imu[i].accel_m_s2[k])));
    i = with_fault("imu_turn", FAULT_IMU, 2, 90);
    NEAR(with.imu[i].gyro_rad_s[0], flight.imu[i].gyro_rad_s[1]);
    NEAR(with.imu[i].accel_m_s2[2], flight.imu[i].accel_m_s2[2]);
    i = with_fault("imu_delay", FAULT_IMU, ALL_AXES, 0.1); /* 40 samples of 2.5 ms */
    for (int k = 0; k < 3; k++) assert_true(fabs(with.imu[i].accel_m_s2[k] - flight.imu[i - 40].accel_m_s2[k]) < 1e-3);
}

/** Shares and deviations of those that draw. */
static void statistics(void **state)
{
    double sum = 0;
    int exchanged = 0;
    (void)state;
    make_flight();
    uint32_t i = with_fault("gyro_noise", FAULT_GYRO, 0, 2);
    for (uint32_t k = i; k < i + 400; k++) sum += pow(with.imu[k].gyro_rad_s[0] - flight.imu[k].gyro_rad_s[0], 2) / 400;
    assert_true(sum > 3.2 && sum < 4.8);
    (void)with_fault("imu_dropout", FAULT_IMU, ALL_AXES, 25);
    assert_in_range(flight.samples - with.samples, 70, 130);
    (void)with_fault("imu_lost", FAULT_IMU, ALL_AXES, 1);
    assert_in_range(flight.samples - with.samples, 399, 401);
    i = with_fault("imu_order", FAULT_IMU, ALL_AXES, 100);
    for (uint32_t k = i; k < i + 400; k++) exchanged += with.imu[k + 1].t_ns < with.imu[k].t_ns;
    assert_in_range(exchanged, 199, 201);
    (void)with_fault("imu_jitter", FAULT_IMU, ALL_AXES, 0.05);
    for (uint32_t k = 1; k < with.samples; k++) assert_true(with.imu[k].t_ns > with.imu[k - 1].t_ns);
    (void)with_fault("clock_step", FAULT_CLOCK, ALL_AXES, 0.25);
    assert_int_equal(with.stamp_ns[75] + 250000000, flight.stamp_ns[75]);
    (void)with_fault("frames_lost", FAULT_PAIR, ALL_AXES, 50);
    assert_in_range(flight.frames - with.frames, 5, 20);
}

/* ---- view -------------------------------------------------------------------------------------------------------- */

/** What cameras see outside the fault is as without it; within it something differs. */
static void view_only_while_active(void **state)
{
    (void)state;
    make_flight();
    for (int i = 0; i < FAULT_KINDS; i++) {
        struct fault f = drawn(&fault_kinds[i], 2);
        struct fault_view nominal;
        view_look(&flight, NULL, 10);
        nominal = view_now;
        for (int k = 0; k < flight.frames; k++) {
            view_look(&flight, &f, k);
            const int same = !memcmp(&view_now, &nominal, sizeof nominal);
            const int active = f.kind->view && fault_active(&f, flight.frame_s[k] - FLIGHT_LEAD_S - 0.01);
            REQUIRE(same || f.kind->view, "%s: view of frame %d\n", f.kind->name, k);
            REQUIRE(active ? !same : same || fault_active(&f, flight.frame_s[k] - FLIGHT_LEAD_S), "%s: frame %d\n",
                    f.kind->name, k);
        }
    }
    view_look(&flight, NULL, 0);
    assert_memory_equal(&flight.rig, &view_rig, sizeof view_rig);
}

/** Angle between the axes of a camera with a fault and without, and distance of both centres. */
static void camera_moved(const char *name, enum fault_sensor sensor, double size, int camera, double *angle_deg,
                         double *moved_m)
{
    struct fault f = drawn(kind_of(name), 4);
    double c[2][3], R[2][9], w[3], d[3];
    f.sensor = sensor, f.size = size, f.axis = 1;
    view_look(&flight, NULL, 80);
    view_camera_at(&flight, camera, 3, c[0], R[0]);
    view_look(&flight, &f, 80);
    view_camera_at(&flight, camera, 3, c[1], R[1]);
    rotation_between(R[1], R[0], w);
    for (int k = 0; k < 3; k++) d[k] = c[1][k] - c[0][k];
    *angle_deg = length(w) / DEGREE, *moved_m = length(d);
}

/** A turn turns the cameras that it names about themselves, and no other. */
static void turns(void **state)
{
    (void)state;
    make_flight();
    for (int camera = 0; camera < 2; camera++) {
        double angle, moved;
        camera_moved("camera_turn", FAULT_CAMERA_0, 5, camera, &angle, &moved);
        NEAR(angle, camera ? 0 : 5);
        assert_true(moved < 1e-9);
        camera_moved("camera_turn", FAULT_CAMERA_1, 5, camera, &angle, &moved);
        NEAR(angle, camera ? 5 : 0);
        assert_true(moved < 1e-9);
        camera_moved("camera_turn", FAULT_PAIR, 5, camera, &angle, &moved);
        NEAR(angle, 5);
        assert_true(camera ? moved > 1e-3 : moved < 1e-9);
        camera_moved("baseline", FAULT_PAIR, 10, camera, &angle, &moved);
        NEAR(angle, 0);
        assert_true(fabs(moved - (camera ? 0.1 * length(view_rig.t_1_0) : 0)) < 1e-9);
    }
    struct fault f = drawn(kind_of("focal"), 4);
    f.sensor = FAULT_CAMERA_1, f.size = 10, f.sign = 1;
    view_look(&flight, &f, 80);
    NEAR(flight.rig.camera[0].f, view_rig.camera[0].f);
    NEAR(flight.rig.camera[1].f, 1.1 * view_rig.camera[1].f);
}

/** Delayed pictures of one camera: the pair is as both were, each at its own time; frozen ones stay at their frame. */
static void delays(void **state)
{
    struct fault f = drawn(kind_of("camera_delay"), 4);
    double R[9], t[3], c[2][3], axes[2][9], x[3] = {0.3, -0.2, 4}, there[3], at[3];
    (void)state;
    make_flight();
    f.sensor = FAULT_CAMERA_1, f.size = 0.2;
    view_look(&flight, &f, 80);
    view_relative(&flight, flight.frame_s[80], R, t);
    view_camera_at(&flight, 0, flight.frame_s[80], c[0], axes[0]);
    view_camera_at(&flight, 1, flight.frame_s[80] - 0.2, c[1], axes[1]);
    rotate(axes[0], x, at);
    for (int k = 0; k < 3; k++) at[k] += c[0][k];
    in_axes(c[1], axes[1], at, there);
    rotate(R, x, x);
    for (int k = 0; k < 3; k++) NEAR(x[k] + t[k], there[k]);
    f = drawn(kind_of("camera_frozen"), 4);
    f.sensor = FAULT_CAMERA_0;
    view_look(&flight, &f, 80);
    const double held_s = flight.frame_s[80] - view_now.delay_s[0] - FLIGHT_LEAD_S;
    assert_true(held_s < f.begin_s && held_s > f.begin_s - 0.041 && view_now.delay_s[1] == 0);
}

/* ---- scene ------------------------------------------------------------------------------------------------------- */

/** Flies the scene to frame `to`, and counts points by what they do in it: [0] all, seen [1] in the part from side on,
 *  [2] of the object, [3] of those that moved by dt v, [4] that moved otherwise. */
static void fly_scene(const struct fault *f, int to, int count[5])
{
    static struct scene_point was[SCENE_POINTS];
    memset(count, 0, 5 * sizeof *count);
    scene_begin();
    for (int k = 0; k <= to; k++) {
        view_look(&flight, f, k);
        memcpy(was, scene.point, sizeof was);
        scene_frame(k);
        for (int i = 0; i < scene.points; i++)
            if (!k || !scene.point[i].seen) new_point(&scene.point[i]);
    }
    const double dt = flight.frame_s[to] - flight.frame_s[to - 1];
    for (int i = 0; i < scene.points; i++) {
        const struct scene_point *p = &scene.point[i];
        const double d[3] = {p->at[0] - was[i].at[0], p->at[1] - was[i].at[1], p->at[2] - was[i].at[2]};
        const int renewed = length(d) > 0.5, as_object = fabs(length(d) - dt * length(view_now.object_mps)) < 1e-9;
        count[0] += p->seen;
        count[1] += p->seen && view_covers(view_now.side, view_now.hidden[0] + view_now.share, p->px[0]);
        count[2] += p->object;
        count[3] += p->object && !renewed && as_object;
        count[4] += !renewed && !(p->object ? as_object : length(d) < 1e-12);
    }
}

static void objects(void **state)
{
    const char *const names[] = {"object_starts", "object_enters"};
    int count[5];
    (void)state;
    make_flight();
    for (int i = 0; i < 2; i++) {
        struct fault f = drawn(kind_of(names[i]), 9);
        f.share = 0.6, f.side = 0.2, f.size = 1, f.ramp_s = 0.1;
        fly_scene(&f, 60, count);
        assert_int_equal(count[2], 0);
        fly_scene(&f, 75, count);
        REQUIRE(count[2] > count[0] / 3 && count[3] > count[2] / 2 && !count[4], "%s: %d of %d, %d, %d\n", names[i],
                count[2], count[0], count[3], count[4]);
        fly_scene(&f, 100, count);
        assert_int_equal(count[2] + count[4], 0);
    }
}

static void occludes(void **state)
{
    struct fault f = drawn(kind_of("occlusion"), 9);
    const double px[2] = {0.5 * FLIGHT_WIDTH, 0.5 * FLIGHT_HEIGHT};
    double other[2];
    int count[5];
    (void)state;
    make_flight();
    f.sensor = FAULT_CAMERA_0, f.size = 50, f.share = 0.5, f.side = 0.25;
    fly_scene(&f, 75, count);
    assert_int_equal(count[1], 0);
    assert_true(in_other(px, 5, other));
    f.sensor = FAULT_CAMERA_1;
    fly_scene(&f, 75, count);
    assert_true(count[0] > 100 && !in_other(px, 5, other));
    f = drawn(kind_of("camera_lost"), 9);
    f.sensor = FAULT_CAMERA_1;
    view_look(&flight, &f, 75);
    assert_false(in_other(px, 5, other));
    view_look(&flight, NULL, 75);
    assert_true(in_other(px, 5, other));
}

/** A frame that the library refused leaves the scene as it was; the next one moves it over the whole time. */
static void refused(void **state)
{
    struct fault f = drawn(kind_of("clock_step"), 9);
    static struct scene kept;
    (void)state;
    make_flight();
    drawn_fault.on = 1, drawn_fault.is = f;
    scene_begin();
    for (int k = 0; k < 4; k++) {
        view_look(&flight, NULL, k);
        if (k == 3) kept = scene;
        scene_frame(k);
    }
    scene_refused();
    assert_memory_equal(&scene, &kept, sizeof kept);
    scene_frame(4);
    NEAR(scene.dt_s, flight.frame_s[4] - flight.frame_s[2]);
    drawn_fault.on = 0;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

static uint8_t clean[PICTURE_PIXELS], held[PICTURE_PIXELS], last[PICTURE_PIXELS], out[PICTURE_PIXELS];
static float depth_m[PICTURE_PIXELS];

/** A picture of noise with a fault, in `out`. Returns its mean less that of the clean one [grey levels]. */
static double faulted(const char *name, double size, int frames_since)
{
    struct fault f = drawn(kind_of(name), 6);
    struct fault_picture at = {.frame = 70,
                               .frames_since = frames_since,
                               .near_m = 2,
                               .lens = flight.rig.camera[0],
                               .held = held,
                               .before = last,
                               .depth_m = depth_m};
    double sum = 0;
    f.size = size, f.sign = 1, f.share = 0.5, f.side = 0.25;
    shake(11);
    for (int i = 0; i < PICTURE_PIXELS; i++) {
        clean[i] = (uint8_t)real(60, 180), held[i] = (uint8_t)real(60, 180), last[i] = (uint8_t)real(60, 180);
        depth_m[i] = 3;
    }
    view_camera_at(&flight, 0, 3, at.c, at.R);
    view_camera_at(&flight, 0, 3, at.c_begin, at.R_begin);
    memcpy(out, clean, sizeof out);
    f.kind->picture(&f, &at, out);
    for (int i = 0; i < PICTURE_PIXELS; i++) sum += out[i] - clean[i];
    return sum / PICTURE_PIXELS;
}

/** Share of pixels that differ, in the columns of the part or outside it. */
static double differ(int inside)
{
    int of = 0, n = 0;
    for (int i = 0; i < PICTURE_PIXELS; i++) {
        const int x = i % FLIGHT_WIDTH, in = x > 0.26 * FLIGHT_WIDTH && x < 0.74 * FLIGHT_WIDTH,
                  beyond = x < 0.24 * FLIGHT_WIDTH || x > 0.76 * FLIGHT_WIDTH;
        if (inside ? !in : !beyond) continue;
        of++, n += out[i] != clean[i];
    }
    return (double)n / of;
}

static void pictures(void **state)
{
    int same = 0, frozen = 0;
    double square = 0;
    (void)state;
    make_flight();
    (void)faulted("reflection", 100, 0);
    for (int i = 0; i < PICTURE_PIXELS; i++) assert_int_equal(out[i], held[PICTURE_PIXELS - 1 - i]);
    (void)faulted("rows_roll", 2.5, 3);
    assert_memory_equal(out + 10 * FLIGHT_WIDTH, clean, sizeof out - 10 * FLIGHT_WIDTH);
    assert_memory_equal(out, clean + sizeof out - 10 * FLIGHT_WIDTH, 10 * FLIGHT_WIDTH);
    (void)faulted("interlace", 1, 0);
    for (int y = 0; y < FLIGHT_HEIGHT; y++)
        assert_memory_equal(out + y * FLIGHT_WIDTH, (y % 2 ? last : clean) + y * FLIGHT_WIDTH, FLIGHT_WIDTH);
    assert_true(fabs(faulted("blur", 2, 0)) < 1);
    for (int i = 0; i < PICTURE_PIXELS; i++) square += pow(out[i] - 120, 2) / PICTURE_PIXELS;
    assert_true(square < 0.06 * 120 * 120 / 12); /* 25 pixels in a mean */
    assert_true(fabs(faulted("gain", 1.2, 0) - 0.2 * 119.5) < 1);
    assert_true(fabs(faulted("picture_noise", 10, 0)) < 0.6);
    (void)faulted("partial_freeze", 25, 0);
    for (int y = 0; y < FLIGHT_HEIGHT; y++) {
        frozen += !memcmp(out + y * FLIGHT_WIDTH, held + y * FLIGHT_WIDTH, FLIGHT_WIDTH);
        same += !memcmp(out + y * FLIGHT_WIDTH, clean + y * FLIGHT_WIDTH, FLIGHT_WIDTH);
    }
    assert_int_equal(frozen, FLIGHT_HEIGHT / 4);
    assert_int_equal(same, FLIGHT_HEIGHT - FLIGHT_HEIGHT / 4);
    (void)faulted("repeated_texture", 0.5, 0);
    assert_true(differ(1) > 0.95 && differ(0) == 0);
    (void)faulted("object_enters", 0, 0);
    assert_true(differ(1) > 0.95 && differ(0) == 0);
}

/* ---- integrity --------------------------------------------------------------------------------------------------- */

/** Every axis counts: one with a small error far beyond its level does not hide another. */
static void levels(void **state)
{
    static vfront_result_t r;
    struct integrity_frame f;
    const double e[9] = {0.04, 0.2, 0.01, 0.001, 0.002, 0.003, 0.1, 0.1, 0.5};
    (void)state;
    memset(&r, 0, sizeof r);
    for (int k = 0; k < 3; k++) r.nav.protection_level_rad[k] = r.nav.protection_level_mps[k] = 1;
    r.nav.protection_level_m[0] = 0.01, r.nav.protection_level_m[1] = 0.1, r.nav.protection_level_m[2] = 5;
    integrity_read(&r, e, &f);
    assert_true(f.level[0] < 0 && !f.any && f.alert & ALERT_NO_LEVEL);
    r.nav.protection = VFRONT_PROTECTION_GIVEN;
    integrity_read(&r, e, &f);
    assert_true(f.any && f.misleading[0] && !f.misleading[1] && !f.misleading[2] && !(f.alert & ALERT_NO_LEVEL));
    assert_true(f.error[0] == 0.04 && f.level[0] == 0.01 && f.most[0] == 5);
    assert_true(f.error[1] == 0.003 && f.error[2] == 0.5 && f.most[2] == 1);
    NEAR(f.length[0], sqrt(0.04 * 0.04 + 0.2 * 0.2 + 0.01 * 0.01));
}

/** Ten frames of 0.1 s with a fault from 0.25 to 0.55 s: error, state and flags by hand. */
static void sums(void **state)
{
    static vfront_result_t r;
    struct fault fault = {.begin_s = 0.25, .length_s = 0.3};
    (void)state;
    integrity_begin();
    for (int k = 0; k < 10; k++) {
        struct integrity_frame f;
        double e[9] = {0};
        memset(&r, 0, sizeof r);
        r.nav.state = VFRONT_NAV_GOOD;
        r.nav.protection = k == 6 ? VFRONT_PROTECTION_NO_STATE : VFRONT_PROTECTION_GIVEN;
        for (int c = 0; c < 3; c++)
            r.nav.protection_level_m[c] = r.nav.protection_level_rad[c] = r.nav.protection_level_mps[c] = 0.065;
        e[0] = k == 3 || k == 4 ? 2 : k == 5 ? 0.04 : 0;
        if (k == 4) r.nav.flags = VFRONT_NAV_DISPUTED;
        if (k == 6) r.nav.state = VFRONT_NAV_LOST;
        integrity_add(k == 5 ? NULL : &r, e, &fault, 0.1 * k, &f);
    }
    integrity_conclude(&fault, 0.9);
    assert_true(integrity.frames == 7 && integrity.during == 3 && integrity.refused == 1 && integrity.levels == 5);
    assert_true(integrity.right_before == 1 && integrity.misleading == 2 && integrity.misleading_p == 2);
    assert_true(integrity.silent == 1 && integrity.hazardous == 1 && integrity.alerted == 3);
    assert_true(integrity.worst_m == 2 && integrity.flight_alerts == 1);
    NEAR(integrity.beyond_s, 0.05);
    NEAR(integrity.delay_s, 0.1);
    NEAR(integrity.recovery_s, 0.15);
}

/** A wrong option is named, and no flight begins. */
static void options(void **state)
{
    char program[] = "worlds", faults[] = "--faults", unknown[] = "nothing";
    char *const arguments[] = {program, faults, unknown, NULL};
    (void)state;
    assert_int_equal(drawn_main(3, (char **)(uintptr_t)arguments, "worlds", 10), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(repeats),
                                       cmocka_unit_test(all_kinds),
                                       cmocka_unit_test(fills_ranges),
                                       cmocka_unit_test(touches_nothing_else),
                                       cmocka_unit_test(values),
                                       cmocka_unit_test(statistics),
                                       cmocka_unit_test(view_only_while_active),
                                       cmocka_unit_test(turns),
                                       cmocka_unit_test(delays),
                                       cmocka_unit_test(objects),
                                       cmocka_unit_test(occludes),
                                       cmocka_unit_test(refused),
                                       cmocka_unit_test(pictures),
                                       cmocka_unit_test(options),
                                       cmocka_unit_test(levels),
                                       cmocka_unit_test(sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
