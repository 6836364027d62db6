/* SPDX-License-Identifier: MIT */
/* Digests of results on images drawn with integers only: the same on every machine and port. A config with VFRONT_MAP
 * has those of keyframes and loops, tests/map/golden.txt; otherwise all others, tests/golden.txt.
 * digest [--write] FILE    compares with FILE on the host port and, with a device, on the CUDA port; or writes it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fixture/scene.c" /* included as source, so that the test is a single file to copy to a board */

#define FRAMES 12
#define LINES 512

struct flight {
    const char *name;
    struct scene scene;
    int32_t cameras;
    vfront_format_t format;
    const char *tuning; /* "name=value name=value" */
    unsigned with;
};
/* Input besides the images. Cameras calibrated as a pair, the second smaller and rotated, or fisheyes. An IMU at
 * constant velocity. */
enum {
    STATIC_MASK = 1,
    FRAME_MASK = 2,
    TURN = 4,
    BRIGHTNESS = 8,
    BLANK = 16,
    PAIR = 32,
    UNLIKE = 64,
    FISHEYE = 128,
    IMU = 256,
    MAP = 512
};
#define DISPARITY_Q4 150

static const struct flight flights[] = {
    {"plain", {320, 240, 1, 24, 7}, 1, VFRONT_GREY8, "", 0},
    {"stereo", {752, 480, 2, 60, -17}, 2, VFRONT_GREY8, "", 0},
    {"odd", {641, 479, 3, -31, 12}, 1, VFRONT_GREY8, "detect_score=2 detect_radius=3 track_photometric=1", 0},
    {"tiny",
     {17, 31, 4, 3, 3},
     1,
     VFRONT_GREY8,
     "detect_border_px=3 cell_width_px=4 cell_height_px=5 track_distance_px=0",
     0},
    {"grey12", {400, 300, 5, 16, 16}, 2, VFRONT_GREY12, "detect_levels=3 track_photometric=0", 0},
    {"yuyv", {333, 222, 6, 45, 0}, 1, VFRONT_YUYV, "track_patch8_level=1 track_back_mpx=500", 0},
    {"fast",
     {640, 480, 7, 480, 160},
     1,
     VFRONT_GREY8,
     "track_retry=1 track_template_frames=3 detect_threshold_low=4",
     0},
    {"weak",
     {640, 360, 8, 11, 5},
     1,
     VFRONT_NV12,
     "detect_threshold=40 detect_threshold_low=6 detect_score=0 track_photometric=2",
     0},
    {"masks", {320, 240, 9, 30, 30}, 2, VFRONT_GREY8, "", STATIC_MASK | FRAME_MASK},
    {"turn", {320, 240, 10, -400, 0}, 1, VFRONT_GREY8, "track_prior=1 track_retry=0", TURN},
    {"light", {320, 240, 11, 20, 9}, 1, VFRONT_GREY8, "", BRIGHTNESS},
    {"blank", {320, 240, 12, 20, 9}, 1, VFRONT_GREY10, "track_photometric=1", BLANK},
    {"full", {1920, 1200, 13, 150, 75}, 1, VFRONT_GREY16, "", 0},
    {"points",
     {480, 360, 15, 33, 8},
     2,
     VFRONT_GREY8,
     "track_target=0 select_points=300 select_aggregate_px=3 detect_rank=1 detect_arc_most=16",
     0},
    {"together",
     {480, 360, 16, 9, 40},
     1,
     VFRONT_GREY8,
     "select_share_percent=0 cull_width_px=20 cull_height_px=12 detect_rank=0 describe_margin_px=5 select_points=700",
     0},
    {"corners",
     {480, 360, 17, 9, 40},
     2,
     VFRONT_GREY8,
     "describe=0 select_points=400 detect_score=2 detect_threshold_low=0",
     STATIC_MASK},
    {"dense",
     {320, 240, 14, 25, -25},
     1,
     VFRONT_GREY8,
     "cell_width_px=7 cell_height_px=9 track_target=256 track_distance_px=6 track_refill_percent=80 detect_levels=5",
     0},
    {"pair", {480, 360, 18, 24, 7}, 2, VFRONT_GREY8, "", PAIR},
    {"unlike",
     {640, 400, 19, -28, 13},
     2,
     VFRONT_YUYV,
     "stereo_levels=1 match_levels=2 stereo_cut_percent=0",
     PAIR | UNLIKE | STATIC_MASK | TURN},
    {"rectified", {480, 360, 20, 24, -9}, 2, VFRONT_GREY8, "rectify=1", PAIR | FRAME_MASK},
    {"aligned",
     {640, 400, 21, -40, 6},
     2,
     VFRONT_GREY12,
     "rectify=1 rectify_focal_percent=130 stereo_apart_mpx=0 describe_margin_px=5",
     PAIR | UNLIKE | STATIC_MASK | TURN},
    {"fisheye",
     {480, 480, 22, 17, 17},
     2,
     VFRONT_GREY8,
     "stereo_disparity_px=20 match_ratio_percent=100",
     PAIR | FISHEYE | BRIGHTNESS},
    {"flat", {480, 480, 23, 17, 17}, 2, VFRONT_GREY8, "rectify=1 rectify_focal_percent=60", PAIR | FISHEYE | BLANK},
    {"unguided",
     {480, 360, 24, 90, 50},
     2,
     VFRONT_GREY8,
     "match=2 match_distance=80 match_turn_deg=10",
     PAIR | BRIGHTNESS},
    {"state", {480, 360, 25, 64, 20}, 2, VFRONT_GREY8, "vio=1", PAIR | IMU},
    {"level", {480, 360, 26, -40, 90}, 2, VFRONT_GREY8, "vio=1 rectify=1", PAIR | IMU},
    {"tracks", {480, 360, 29, 40, -30}, 2, VFRONT_GREY8, "vio=1 select_points=0", PAIR | IMU},
    {"sparse", {480, 360, 30, 40, -30}, 2, VFRONT_GREY8, "select_points=150", PAIR},
    {"places", {480, 360, 27, 12, 5}, 2, VFRONT_GREY8, "map=1 track_target=3", MAP | PAIR},
    {"turns", {480, 360, 28, 10, -6}, 1, VFRONT_GREY8, "map=1 track_target=3", MAP},
};

static vfront_t vf;
static uint8_t grey[VFRONT_PICTURE_BYTES], packed[VFRONT_CAMERAS][VFRONT_INPUT_BYTES];

static uint8_t mask[2][VFRONT_PICTURE_BYTES];
static double R_cur_prev[9];

/** Draws a disc and stripes as masks. */
static void draw_masks(const struct scene *s)
{
    for (int32_t y = 0; y < s->height_px; y++)
        for (int32_t x = 0; x < s->width_px; x++) {
            mask[0][y * s->width_px + x] = (uint8_t)((x - 90) * (x - 90) + (y - 80) * (y - 80) > 50 * 50);
            mask[1][y * s->width_px + x] = (uint8_t)(x / 40 % 3 ? 255 : 0);
        }
}

/** Varies the brightness, and blanks some images. */
static void change_brightness(const struct flight *f, int i)
{
    for (int32_t k = 0; k < f->scene.width_px * f->scene.height_px; k++) {
        const int32_t v = grey[k] * (8 + i % 3) / (8 + i % 2) + 5 * i;
        if (f->with & BRIGHTNESS) grey[k] = (uint8_t)(v > 255 ? 255 : v);
        if (f->with & BLANK && i % 4 == 3) grey[k] = (uint8_t)(30 * i);
    }
}

/** Rotation to the right by 1/128 rad, 25 px at a focal length of 3200 px. Its cosine and sine are rational, so that no
 *  libm is needed. */
static void turn(double out[9])
{
    const double t = 1.0 / 256.0, c = (1.0 - t * t) / (1.0 + t * t), s = 2.0 * t / (1.0 + t * t);
    const double R[9] = {c, 0, -s, 0, 1, 0, s, 0, c};
    memcpy(out, R, sizeof R);
}

static double pick(uint32_t seed, uint32_t index, double least, double most);

/** Ten IMU samples at constant velocity, with noise, up to a frame. */
static const vfront_imu_t *samples(const struct flight *f, int i)
{
    static vfront_imu_t imu[10];
    for (uint32_t k = 0; k < 10; k++) {
        const uint32_t at = 10 * (uint32_t)i + k;
        imu[k].t_ns = 5000000u * (uint64_t)(at + 1) - 1000000u;
        for (uint32_t n = 0; n < 3; n++) {
            imu[k].gyro_rad_s[n] = pick(f->scene.seed, 6 * at + n, -0.004, 0.004) + 0.01;
            imu[k].accel_m_s2[n] = pick(f->scene.seed, 6 * at + 3 + n, -0.05, 0.05) - (n == 1 ? 9.81 : 0.0);
        }
    }
    return imu;
}

/** Adds the input of a frame besides its images: a mask, a rotation, IMU samples. */
static void add(const struct flight *f, int i, vfront_frame_t *frame)
{
    turn(R_cur_prev);
    if (f->with & TURN) frame->R_cur_prev = R_cur_prev;
    if (f->with & IMU) {
        frame->gyro = NULL;
        frame->gyro_count = 0;
        frame->imu = samples(f, i);
        frame->imu_count = 10;
    }
    for (int k = 0; k < f->cameras && f->with & FRAME_MASK && i % 2; k++) {
        vfront_picture_t *p = &frame->picture[k];
        p->mask = mask[1];
        p->mask_width_px = p->width_px;
        p->mask_height_px = p->height_px;
        p->mask_pitch_bytes = (uint32_t)f->scene.width_px;
    }
}

static vfront_rig_t rig_of(const struct flight *f)
{
    static const double fisheye[4] = {-0.02, 0.004, 0.001, -0.0005};
    const struct scene small = {f->scene.width_px * 3 / 4, f->scene.height_px * 4 / 5, 0, 0, 0};
    vfront_rig_t rig = f->with & PAIR ? scene_pair(&f->scene, f->with & UNLIKE ? &small : &f->scene)
                                      : scene_rig(&f->scene, f->cameras);
    if (f->with & IMU) rig.imu = (vfront_imu_noise_t){2e-4, 2e-3, 2e-5, 3e-3, 10.0, 100.0, 200.0, 9.81};
    if (f->with & UNLIKE) turn(rig.camera[VFRONT_CAMERAS - 1].R_cam_imu);
    for (int c = 0; c < f->cameras; c++) {
        vfront_camera_t *camera = &rig.camera[c];
        if (f->with & FISHEYE) {
            camera->lens = VFRONT_LENS_EQUIDISTANT;
            camera->fx_px = camera->fy_px = 0.4 * f->scene.width_px;
            memset(camera->distortion, 0, sizeof camera->distortion);
            memcpy(camera->distortion, fisheye, sizeof fisheye);
        }
        if (f->with & STATIC_MASK) {
            camera->mask = mask[0];
            camera->mask_pitch_bytes = (uint32_t)f->scene.width_px;
        }
    }
    return rig;
}

/** Image of a camera: of a pair its own; else the same for all. */
static vfront_picture_t picture_of(const struct flight *f, const vfront_rig_t *rig, int i, int c)
{
    const vfront_camera_t *camera = &rig->camera[c];
    const uint32_t pitch = (uint32_t)camera->width_px * scene_pixel_bytes(f->format);
    scene_draw_right(&f->scene, i, c && f->with & PAIR ? DISPARITY_Q4 : 0, grey, (uint32_t)f->scene.width_px);
    change_brightness(f, i);
    scene_pack(packed[c], pitch, grey, (uint32_t)f->scene.width_px, camera->width_px, camera->height_px, f->format);
    return (vfront_picture_t){.data = packed[c],
                              .width_px = camera->width_px,
                              .height_px = camera->height_px,
                              .pitch_bytes = pitch,
                              .format = f->format};
}

static void tune(vfront_tuning_t *t, const char *text)
{
    char name[64];
    int value, used;
    vfront_tuning_default(t);
    for (; sscanf(text, " %63[^=]=%d%n", name, &value, &used) == 2; text += used)
        if (vfront_tuning_set(t, name, value)) exit(2);
}

/** Digests the map after a flight; loaded and saved again its bytes are the same. */
static void save(const struct flight *f, const vfront_rig_t *rig, const vfront_tuning_t *t, vfront_port_t port,
                 char *line, size_t bytes)
{
    static uint8_t image[2][VFRONT_MAP_BYTES];
    size_t used[2] = {0, 0};
    uint64_t digest = 0xcbf29ce484222325ull;
    vfront_status_t status = vfront_map_save(&vf, image[0], sizeof image[0], &used[0]);
    vfront_shutdown(&vf);
    if (!status) status = vfront_init(&vf, rig, t, port);
    if (!status) status = vfront_map_load(&vf, image[0], used[0]);
    if (!status) status = vfront_map_save(&vf, image[1], sizeof image[1], &used[1]);
    for (size_t i = 0; i < used[0]; i++) digest = (digest ^ image[0][i]) * 0x100000001b3ull;
    snprintf(line, bytes, "%s map %016llx %u %s", f->name, (unsigned long long)digest, (unsigned)used[0],
             status                                                       ? vfront_status_name(status)
             : used[0] == used[1] && !memcmp(image[0], image[1], used[0]) ? "again"
                                                                          : "other bytes");
}

static void fly(const struct flight *f, vfront_port_t port, char (*line)[80], int *lines)
{
    vfront_tuning_t t;
    const vfront_rig_t rig = rig_of(f);
    tune(&t, f->tuning);
    draw_masks(&f->scene);
    vfront_status_t status = vfront_init(&vf, &rig, &t, port);
    for (int i = 0; i < FRAMES && !status; i++) {
        const uint64_t since_ns = i % 2 ? 50000000u : 10000000u; /* those of even frames do not cover the interval */
        const vfront_gyro_t gyro[2] = {{(uint64_t)i * 50000000u - since_ns, {0.01, -0.02, 0.03}},
                                       {(uint64_t)i * 50000000u, {0.02, 0.01, -0.01}}};
        vfront_frame_t frame = {
            .t_ns = (uint64_t)i * 50000000u, .gyro = i % 3 ? gyro : NULL, .gyro_count = i % 3 ? 2 : 0};
        for (int c = 0; c < f->cameras; c++) frame.picture[c] = picture_of(f, &rig, i, c);
        add(f, i, &frame);
        const vfront_result_t *r;
        status = vfront_step(&vf, &frame, &r);
        if (!status && *lines < LINES)
            snprintf(line[(*lines)++], sizeof *line, "%s %d %016llx %u %u %u", f->name, i,
                     (unsigned long long)vfront_digest(r), r->tracks_count, r->depths_count, r->matches_count);
    }
    if (status) {
        printf("digest: %s: %s: %s\n", f->name, vfront_status_name(status), vfront_detail(&vf));
        exit(1);
    }
    if (f->with & MAP && *lines < LINES) save(f, &rig, &t, port, line[(*lines)++], sizeof *line);
    vfront_shutdown(&vf);
}

/** Pseudo-random number between two bounds, on a grid. */
static double pick(uint32_t seed, uint32_t index, double least, double most)
{
    return least + (most - least) * (scene_hash(seed, index, 77) % 65536) / 65536.0;
}

static uint64_t mix_double(uint64_t digest, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++) digest = (digest ^ (bits >> (8 * i) & 255)) * 0x100000001b3ull;
    return digest;
}

/** Digests bearings and projections of many cameras with a lens. Independent of ports. */
static void look(vfront_lens_t lens, char *line, size_t bytes)
{
    static const char *const name[] = {"radtan", "rational", "equidistant", "ds", "eucm", "omni"};
    static const uint32_t numbers[] = {5, 8, 4, 2, 2, 5};
    uint64_t digest = 0xcbf29ce484222325ull;
    unsigned seen = 0;
    for (uint32_t i = 0; i < 200; i++) {
        vfront_camera_t c = {.width_px = 640,
                             .height_px = 480,
                             .fx_px = pick(i, 0, 150, 900),
                             .fy_px = pick(i, 1, 150, 900),
                             .cx_px = pick(i, 2, 200, 400),
                             .cy_px = pick(i, 3, 200, 300),
                             .lens = lens};
        for (uint32_t k = 0; k < numbers[lens]; k++)
            c.distortion[k] = pick(i, 4 + k, -0.1, 0.1) * (k == 2 || k == 3 ? 0.2 : i % 5);
        if (lens == VFRONT_LENS_DS) c.distortion[1] += 0.5;
        if (lens == VFRONT_LENS_EUCM) c.distortion[0] += 0.5, c.distortion[1] += 1.0;
        if (lens == VFRONT_LENS_OMNI) c.distortion[0] += pick(i, 12, 0.3, 2.0);
        for (uint32_t k = 0; k < 20; k++) {
            const double px[2] = {pick(i, 20 + 2 * k, -100, 740), pick(i, 21 + 2 * k, -100, 580)};
            double v[5] = {0};
            if (vfront_lens_bearing(&c, px, v)) seen++;
            v[0] += 0.125;
            vfront_lens_project(&c, v, v + 3);
            for (int n = 0; n < 5; n++) digest = mix_double(digest, v[n]);
        }
    }
    snprintf(line, bytes, "lens %s %016llx %u", name[lens], (unsigned long long)digest, seen);
}

/** Propagates state number `seed` by 600 IMU samples, in calls of `part` samples; some are saturated, some missing.
 *  Independent of ports. */
static void propagate(uint32_t seed, uint32_t part, char *line, size_t bytes)
{
    static vfront_imu_t imu[600];
    const vfront_imu_noise_t noise = {1.7e-4, 2e-3, 1.9e-5, 3e-3, 5.9, 19.0, 200.0, 9.81};
    vfront_nav_t nav = {.t_ns = 1000000000u, .q_odom_imu = {0.6, 0.0, -0.8, 0.0}};
    for (uint32_t i = 0; i < 600; i++) {
        imu[i].t_ns = 1000000000u + 5000000u * (uint64_t)i + (i % 100 > 50 + seed ? 30000000u : 0);
        for (uint32_t k = 0; k < 3; k++) {
            imu[i].gyro_rad_s[k] = pick(seed, 6 * i + k, -6, 6);
            imu[i].accel_m_s2[k] = pick(seed, 6 * i + 3 + k, -20, 20);
        }
    }
    for (uint32_t i = 1; i < 600; i++) /* also later timestamps */
        if (imu[i].t_ns <= imu[i - 1].t_ns) imu[i].t_ns = imu[i - 1].t_ns + 1000000u;
    for (uint32_t k = 0; k < 3; k++) {
        nav.velocity_mps[k] = pick(seed, 9000 + k, -3, 3);
        nav.gyro_bias_rad_s[k] = pick(seed, 9010 + k, -0.1, 0.1);
        nav.accel_bias_m_s2[k] = pick(seed, 9020 + k, -0.5, 0.5);
    }
    for (int i = 0, at = 0; i < 15; at += 15 - i++) nav.covariance[at] = pick(seed, 9030 + (uint32_t)i, 1e-4, 1e-2);
    vfront_status_t status = VFRONT_OK;
    for (uint32_t i = part; i <= 600 && !status; i += part)
        status = vfront_propagate(&nav, &noise, imu, 600, imu[i - 1].t_ns + 1234567u, &nav);
    uint64_t digest = 0xcbf29ce484222325ull;
    for (int k = 0; k < 3; k++) {
        digest = mix_double(mix_double(digest, nav.position_m[k]), nav.velocity_mps[k]);
        digest = mix_double(mix_double(digest, nav.gyro_bias_rad_s[k]), nav.accel_bias_m_s2[k]);
    }
    for (int k = 0; k < 4; k++) digest = mix_double(digest, nav.q_odom_imu[k]);
    for (int k = 0; k < 120; k++) digest = mix_double(digest, nav.covariance[k]);
    snprintf(line, bytes, "propagate %u %016llx %d %u", seed, (unsigned long long)digest, status, nav.flags);
}

static int all(vfront_port_t port, char (*line)[80])
{
    int lines = 0;
    for (size_t i = 0; i < sizeof flights / sizeof *flights; i++)
        if (flights[i].cameras <= VFRONT_CAMERAS && !(flights[i].with & MAP) == !VFRONT_MAP)
            fly(&flights[i], port, line, &lines);
    for (int lens = 0; lens <= VFRONT_LENS_OMNI && !VFRONT_MAP; lens++)
        look((vfront_lens_t)lens, line[lines++], sizeof *line);
    for (uint32_t i = 0; i < 6 && !VFRONT_MAP; i++) propagate(i, i % 2 ? 600 : 7, line[lines++], sizeof *line);
    return lines;
}

static int compare(const char *file, char (*line)[80], int lines)
{
    char want[80];
    FILE *f = fopen(file, "r");
    int differ = 0, i = 0;
    if (!f) return printf("digest: %s cannot be read\n", file), 1;
    for (; fgets(want, sizeof want, f); i++) {
        want[strcspn(want, "\n")] = 0;
        if (i < lines && !strcmp(want, line[i])) continue;
        if (!differ++) printf("digest: %s has \"%s\", this is \"%s\"\n", file, want, i < lines ? line[i] : "nothing");
    }
    fclose(f);
    return differ || i != lines;
}

static int write_file(const char *file, char (*line)[80], int lines)
{
    FILE *f = fopen(file, "w");
    if (!f) return printf("digest: %s cannot be written\n", file), 1;
    for (int i = 0; i < lines; i++) fprintf(f, "%s\n", line[i]);
    return fclose(f) != 0;
}

int main(int argc, char **argv)
{
    static char line[LINES][80];
    const int writes = argc == 3 && !strcmp(argv[1], "--write");
    if (argc != 2 && !writes) return printf("usage: digest [--write] FILE\n"), 2;
    const char *file = argv[argc - 1];
    int lines = all(VFRONT_PORT_HOST, line);
    if (writes) return write_file(file, line, lines);
    int bad = compare(file, line, lines);
    printf("host port: %d frames, %s\n", lines, bad ? "DIFFERENT" : "as in the file");

    const vfront_rig_t rig = scene_rig(&flights[0].scene, 1);
    const vfront_status_t status = vfront_init(&vf, &rig, NULL, VFRONT_PORT_CUDA);
    vfront_shutdown(&vf);
    const int none = status == VFRONT_E_PORT || status == VFRONT_E_NO_DEVICE || status == VFRONT_E_DRIVER;
    if (status)
        return printf("CUDA port: %s (%s)\n", none ? "NOT RUN" : "FAILED", vfront_status_name(status)), bad | !none;
    lines = all(VFRONT_PORT_CUDA, line);
    const int cuda = compare(file, line, lines);
    printf("CUDA port: %d frames, %s\n", lines, cuda ? "DIFFERENT" : "as in the file");
    return bad | cuda;
}
