/* SPDX-License-Identifier: MIT */
#include "course_internal.h"

#include "examples/common/message.h"
#include "examples/common/text.h"

#define CAMERA_DARK 0.96    /* light of camera 1 */
#define STEP_NS 3000000000u /* between steps of brightness */
#define POSITION_STEP_S 0.1 /* points of the trajectory that the hall leaves free */
#define MOMENTS_MAX 16
#define NEAR_M 1.5              /* depth at which the displacement in the picture is measured for blur */
#define BOARD_M 1.6             /* distance of the board */
#define BOARD_IN_NS 1500000000u /* it takes to come in, and to leave */

static char failure[TEXT_PATH_BYTES + 200]; /* why a function failed */
#define FAIL(...) message_print(failure, sizeof failure, __VA_ARGS__)

/* ---- settings ---------------------------------------------------------------------------------------------------- */

const course_settings_t course_standard = {
#define COURSE_VALUE(name, standard, least, most, meaning) standard,
    COURSE_SETTINGS(COURSE_VALUE)
#undef COURSE_VALUE
};

static const course_setting_t setting[] = {
#define COURSE_ROW(name, standard, least, most, meaning) {#name, standard, least, most, meaning},
    COURSE_SETTINGS(COURSE_ROW)
#undef COURSE_ROW
};

const course_setting_t *course_setting(size_t index)
{
    return index < sizeof setting / sizeof *setting ? &setting[index] : NULL;
}

int course_set(course_settings_t *s, const char *name, int32_t value)
{
    int32_t *const member[] = {
#define COURSE_ADDRESS(name, standard, least, most, meaning) &s->name,
        COURSE_SETTINGS(COURSE_ADDRESS)
#undef COURSE_ADDRESS
    };
    for (size_t i = 0; i < sizeof setting / sizeof *setting; i++) {
        if (strcmp(name, setting[i].name) != 0) continue;
        if (value < setting[i].least || value > setting[i].most) return 0;
        *member[i] = value;
        return 1;
    }
    return 0;
}

/* ---- where things are -------------------------------------------------------------------------------------------- */

uint64_t course_time_ns(const course_t *c, uint32_t frame)
{
    return START_NS + (uint64_t)frame * 1000000000u / (uint32_t)c->set.rate_hz;
}

uint32_t course_exposure_ns(const course_t *c) { return (uint32_t)c->set.exposure_us * 1000u; }

uint32_t course_frames(const course_t *c) { return c->frames; }

void course_state(const course_t *c, uint64_t t_ns, spline_state_t *state)
{
    spline_at(&c->spline, course_curve_s(c, t_ns), state);
}

void course_pose(const course_t *c, uint64_t t_ns, double R_world_cam[9], double t_world_cam[3])
{
    spline_state_t s;
    double R_imu_cam[9];
    course_state(c, t_ns, &s);
    for (int i = 0; i < 9; i++) R_imu_cam[i] = c->R_cam_imu[i % 3 * 3 + i / 3];
    multiply(R_world_cam, s.R_world_body, R_imu_cam);
    for (int i = 0; i < 3; i++) t_world_cam[i] = s.p_m[i] + dot(&s.R_world_body[3 * i], c->lever_m);
}

/** Mean of the direction up, in body axes. */
static void mean_up(const struct course *c, double up[3])
{
    memset(up, 0, 3 * sizeof *up);
    for (double t = 0.0; t < c->spline.seconds; t += POSITION_STEP_S) {
        spline_state_t s;
        spline_at(&c->spline, t, &s);
        for (int k = 0; k < 3; k++) up[k] += s.R_world_body[6 + k];
    }
}

/** How the cameras sit on the body: which of its axes is up decides. */
static void mount(struct course *c)
{
    const double tilt = 12.0 / 360.0;
    double mean[3], up[3] = {0, 0, 0}, ahead[3] = {0, 0, 0}, right[3];
    int axis = 2;
    mean_up(c, mean);
    for (int k = 0; k < 3; k++)
        if (mean[k] * mean[k] > mean[axis] * mean[axis]) axis = k;
    up[axis] = mean[axis] < 0.0 ? -1.0 : 1.0;
    ahead[axis == 2 ? 0 : 2] = 1.0;
    cross(right, ahead, up);
    const double cos_tilt = axis == 2 ? cosine(tilt) : 1.0, sin_tilt = axis == 2 ? sine(tilt) : 0.0;
    for (int k = 0; k < 3; k++) {
        c->R_cam_imu[k] = right[k];
        c->R_cam_imu[3 + k] = -cos_tilt * up[k] - sin_tilt * ahead[k];
        c->R_cam_imu[6 + k] = cos_tilt * ahead[k] - sin_tilt * up[k];
        c->lever_m[k] = 0.07 * ahead[k] - 0.05 * right[k] + 0.02 * up[k];
    }
}

/** Hall around the whole trajectory, of which from_ms does not change anything. */
static int build_hall(struct course *c)
{
    const uint32_t most = (uint32_t)(c->spline.seconds / POSITION_STEP_S) + 1;
    double(*positions)[3] = malloc(most * sizeof *positions);
    for (uint32_t i = 0; positions && i < most; i++) {
        spline_state_t s;
        spline_at(&c->spline, i * POSITION_STEP_S, &s);
        memcpy(positions[i], s.p_m, sizeof positions[i]);
    }
    if (positions) synthetic_hall(c->scene, (const double(*)[3])positions, most);
    free(positions);
    return positions != NULL;
}

void course_rig(const course_t *c, vfront_rig_t *rig)
{
    synthetic_rig(c->scene, rig);
    course_imu_noise(&rig->imu);
    for (int32_t i = 0; i < rig->cameras; i++) {
        vfront_camera_t *camera = &rig->camera[i];
        memcpy(camera->R_cam_imu, c->R_cam_imu, sizeof camera->R_cam_imu);
        for (int k = 0; k < 3; k++) camera->t_cam_imu_m[k] = -dot(&c->R_cam_imu[3 * k], c->lever_m);
        if (i) camera->t_cam_imu_m[0] -= synthetic_baseline_m();
    }
}

const vfront_imu_t *course_imu(const course_t *c, uint32_t *count)
{
    *count = c->imu_count;
    return c->imu;
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

static const char *set_up(struct course *c, const char *path)
{
    const double flown_s = c->spline.seconds - 2.0 * SPARE_S - 1e-3 * c->set.from_ms;
    if (!(flown_s >= 0.5)) return FAIL("%s: %.3g s are left of it, 0.5 s are needed", path, flown_s);
    c->frames = (uint32_t)(flown_s * c->set.rate_hz);
    c->scene = synthetic_open(c->set.width_px, c->set.height_px);
    c->irradiance = malloc((size_t)c->set.width_px * (size_t)c->set.height_px * sizeof *c->irradiance);
    if (!c->scene || !c->irradiance) return FAIL("%s: no memory", path);
    mount(c);
    return build_hall(c) && course_draw_imu(c) ? NULL : FAIL("%s: no memory", path);
}

const char *course_open(course_t **course, const char *path, const course_settings_t *settings)
{
    *course = NULL;
    struct course *c = calloc(1, sizeof *c);
    if (!c) return FAIL("%s: no memory", path);
    c->set = *settings;
    const char *error = spline_read(&c->spline, path, 1e-3 * c->set.smooth_ms);
    if (!error) error = set_up(c, path);
    if (error)
        course_close(c);
    else
        *course = c;
    return error;
}

void course_close(course_t *c)
{
    if (!c) return;
    spline_free(&c->spline);
    synthetic_close(c->scene);
    free(c->irradiance);
    free(c->imu);
    free(c);
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/** Number of moments of an exposure: as far apart as blur_mpx allows for points NEAR_M ahead. */
static uint32_t moments_of(const struct course *c, uint64_t middle_ns)
{
    spline_state_t s;
    course_state(c, middle_ns, &s);
    const double turn = square_root(dot(s.rate_rad_s, s.rate_rad_s) + 1e-6);
    const double shift = square_root(dot(s.v_mps, s.v_mps) + 1e-6) / NEAR_M;
    const double displacement_px = c->scene->focal_px * (turn + shift) * 1e-6 * c->set.exposure_us;
    const double moments = displacement_px / (1e-3 * c->set.blur_mpx) + 1.0;
    return moments < MOMENTS_MAX ? (uint32_t)moments : MOMENTS_MAX;
}

/** Share of the distance of the board from outside to its place, 0..1, without a jump of its speed. */
static double board_share(const struct course *c, uint64_t t_ns)
{
    const uint64_t from_ns = START_NS + (uint64_t)c->set.board_from_ms * 1000000u,
                   to_ns = START_NS + (uint64_t)c->set.board_to_ms * 1000000u;
    if (t_ns <= from_ns || t_ns >= to_ns) return 0.0;
    const uint64_t in_ns = t_ns - from_ns < to_ns - t_ns ? t_ns - from_ns : to_ns - t_ns;
    const double u = in_ns < BOARD_IN_NS ? (double)in_ns / BOARD_IN_NS : 1.0;
    return u * u * (3.0 - 2.0 * u);
}

/** Board of a moment: comes in from the left of where camera 0 was at board_from_ms, and sways there. */
static void move_board(struct course *c, uint64_t t_ns)
{
    double R[9], at[3], origin[3], u[3], v[3];
    const double share = c->set.board_percent ? board_share(c, t_ns) : 0.0;
    if (!(share > 0.0)) {
        synthetic_board(c->scene, NULL, NULL, NULL);
        return;
    }
    const double seen_m = BOARD_M * c->set.width_px / c->scene->focal_px, wide_m = 0.01 * c->set.board_percent * seen_m;
    const double sway_m = 0.12 * seen_m * sine(0.25 * 1e-9 * (double)(t_ns - START_NS));
    const double left_m = share * (0.5 * seen_m + 0.5 * wide_m) - 0.5 * seen_m - wide_m + share * sway_m;
    const double tall_m = 1.6 * BOARD_M * c->set.height_px / c->scene->focal_px;
    course_pose(c, START_NS + (uint64_t)c->set.board_from_ms * 1000000u, R, at);
    for (int i = 0; i < 3; i++) {
        origin[i] = at[i] + R[3 * i] * left_m - R[3 * i + 1] * 0.5 * tall_m + R[3 * i + 2] * BOARD_M;
        u[i] = R[3 * i] * wide_m;
        v[i] = R[3 * i + 1] * tall_m;
    }
    synthetic_board(c->scene, origin, u, v);
}

/** Brightness of a frame, 1 in the mean: another one every STEP_NS. */
static double brightness(const struct course *c, uint64_t t_ns)
{
    const uint64_t r = synthetic_hash(synthetic_hash((uint64_t)c->set.seed + 77) + t_ns / STEP_NS);
    return 1.0 + 0.01 * c->set.step_percent * (2.0 * (double)(r >> 11) * 0x1p-53 - 1.0);
}

void course_render(course_t *c, uint32_t frame, int32_t camera, uint8_t *pixels, size_t pitch_bytes)
{
    const uint64_t start_ns = course_time_ns(c, frame), exposure_ns = course_exposure_ns(c);
    const uint32_t moments = moments_of(c, start_ns + exposure_ns / 2);
    const synthetic_sensor_t sensor = {
        .gain = brightness(c, start_ns) * (camera ? CAMERA_DARK : 1.0),
        .offset_grey = camera ? 2.0 : 4.0,
        .read_grey = 1.0,
        .electrons = 100.0 * c->set.photons_percent,
        .key = synthetic_hash((uint64_t)c->set.seed * 0x100000001u + 2 * frame + (uint32_t)camera)};
    memset(c->irradiance, 0, (size_t)c->set.width_px * (size_t)c->set.height_px * sizeof *c->irradiance);
    for (uint32_t i = 0; i < moments; i++) {
        const uint64_t t_ns = start_ns + exposure_ns * (2 * i + 1) / (2 * moments);
        double R[9], at[3];
        move_board(c, t_ns);
        course_pose(c, t_ns, R, at);
        synthetic_gather(c->scene, R, at, camera, c->irradiance);
    }
    synthetic_expose(c->scene, c->irradiance, moments, &sensor, pixels, pitch_bytes);
}
