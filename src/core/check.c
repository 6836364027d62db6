/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <math.h> /* sqrt, fabs */

#include "image/ingest.h"
#include "camera/lens.h"
#include "math/rotation.h"
#include "refuse.h"

static int finite_number(double v) { return v - v == 0.0; }

static vfront_status_t check_pinhole(struct vf_context *s, const vfront_camera_t *c, int32_t i)
{
    const struct {
        double value, least, most;
        const char *name;
    } limit[] = {
        {c->fx_px, c->width_px / 20.0, c->width_px * 100.0, "].fx_px"},
        {c->fy_px, c->width_px / 20.0, c->width_px * 100.0, "].fy_px"},
        {c->cx_px, -c->width_px, 2.0 * c->width_px, "].cx_px"},
        {c->cy_px, -c->height_px, 2.0 * c->height_px, "].cy_px"},
    };
    const int calibrated = c->fx_px != 0.0 || c->fy_px != 0.0;
    for (size_t k = 0; k < sizeof limit / sizeof *limit; k++)
        if (!finite_number(limit[k].value) ||
            (calibrated && (limit[k].value < limit[k].least || limit[k].value > limit[k].most)))
            return vf_refuse(s, VFRONT_E_CALIBRATION, "calibration is not finite or absurd: rig.camera[%d%s", i,
                             limit[k].name);
    return VFRONT_OK;
}

static vfront_status_t check_distortion(struct vf_context *s, const vfront_camera_t *c, int32_t i)
{
    static const char *const name[8] = {"].distortion[0]", "].distortion[1]", "].distortion[2]", "].distortion[3]",
                                        "].distortion[4]", "].distortion[5]", "].distortion[6]", "].distortion[7]"};
    const struct vf_lens_model *model = vf_lens_model(c->lens);
    if (!model) return vf_refuse(s, VFRONT_E_CALIBRATION, "unknown: rig.camera[%d%s", i, "].lens");
    for (int k = 0; k < 8; k++) {
        static const struct vf_lens_range none = {0.0, 0.0, "not 0, and the lens has no such number: rig.camera[%d%s"};
        const struct vf_lens_range *range = k < model->coefficients ? &model->range[k] : &none;
        if (!(c->distortion[k] >= range->least && c->distortion[k] <= range->most))
            return vf_refuse(s, VFRONT_E_CALIBRATION, range->text, i, name[k]);
    }
    return VFRONT_OK;
}

#define VIEWS 9 /* number of points along a row, and number of rows, at which a lens is checked */

/** Number of checked points of an image row for which the lens has a bearing. wide: set to 1 if two of the bearings are
 *  more than a degree apart. */
static int rays_of_row(const struct vf_lens *lens, const vfront_camera_t *c, double y_px, int *wide)
{
    double first[3], ray[3];
    int seen = 0;
    for (int k = 0; k < VIEWS; k++) {
        const double px[2] = {k * (c->width_px / (VIEWS - 1.0)) - 0.5, y_px};
        if (!vf_lens_bearing(lens, px, ray)) continue;
        if (!seen++) memcpy(first, ray, sizeof first);
        if (first[0] * ray[0] + first[1] * ray[1] + first[2] * ray[2] < 0.99984769515639127)
            *wide = 1; /* the bound is the cosine of 1 degree */
    }
    return seen;
}

/** Checks the field of view of a lens. Some image points must have a bearing, and two bearings must be at least a
 *  degree apart. Coefficients of another lens model, or in another order, often leave no point with a bearing. */
static vfront_status_t check_view(struct vf_context *s, const vfront_camera_t *c, int32_t i)
{
    struct vf_lens lens;
    int seen = 0, wide = 0;
    vf_lens_make(&lens, c);
    for (int k = 0; k < VIEWS; k++) seen += rays_of_row(&lens, c, k * (c->height_px / (VIEWS - 1.0)) - 0.5, &wide);
    if (!seen)
        return vf_refuse(s, VFRONT_E_CALIBRATION, "the lens holds nowhere in the picture: rig.camera[%d%s", i,
                         "].distortion");
    if (!wide)
        return vf_refuse(s, VFRONT_E_CALIBRATION, "horizontal field of view below 1 degree: rig.camera[%d%s", i,
                         "].fx_px");
    return VFRONT_OK;
}

static vfront_status_t check_lens(struct vf_context *s, const vfront_camera_t *c, int32_t i)
{
    vfront_status_t status = check_pinhole(s, c, i);
    if (!status) status = check_distortion(s, c, i);
    return status || c->fx_px == 0.0 ? status : check_view(s, c, i);
}

static vfront_status_t check_mounting(struct vf_context *s, const vfront_camera_t *c, int32_t i)
{
    static const double none[9] = {0};
    double mirrored[9];
    for (int k = 0; k < 9; k++) mirrored[k] = -c->R_cam_imu[k];
    if (vf_rotation_valid(mirrored))
        return vf_refuse(s, VFRONT_E_CALIBRATION, "mirrored, determinant -1: rig.camera[%d%s", i, "].R_cam_imu");
    if (memcmp(c->R_cam_imu, none, sizeof none) && !vf_rotation_valid(c->R_cam_imu))
        return vf_refuse(s, VFRONT_E_CALIBRATION, "no rotation: rig.camera[%d%s", i, "].R_cam_imu");
    for (int k = 0; k < 3; k++)
        if (!(c->t_cam_imu_m[k] >= -100.0 && c->t_cam_imu_m[k] <= 100.0))
            return vf_refuse(s, VFRONT_E_CALIBRATION, "not finite or over 100 m: rig.camera[%d%s", i, "].t_cam_imu_m");
    return VFRONT_OK;
}

static vfront_status_t check_camera(struct vf_context *s, const vfront_camera_t *c, int32_t i)
{
    static const int32_t width_px[2] = {16, VFRONT_WIDTH}, height_px[2] = {16, VFRONT_HEIGHT};
    if (c->width_px < width_px[0] || c->width_px > width_px[1])
        return vf_refuse_range(s, VFRONT_E_SIZE, "rig.camera[%d].width_px", i, c->width_px, width_px, "VFRONT_WIDTH");
    if (c->height_px < height_px[0] || c->height_px > height_px[1])
        return vf_refuse_range(s, VFRONT_E_SIZE, "rig.camera[%d].height_px", i, c->height_px, height_px,
                               "VFRONT_HEIGHT");
    if (c->mask && c->mask_pitch_bytes < (uint32_t)c->width_px)
        return vf_refuse(s, VFRONT_E_MASK, "smaller than a row: rig.camera[%d%s", i, "].mask_pitch_bytes");
    if (!(fabs(c->row_us) * c->height_px <= 1e5))
        return vf_refuse(s, VFRONT_E_CALIBRATION, "not finite or over 0.1 s of all rows: rig.camera[%d%s", i,
                         "].row_us");
    const vfront_status_t status = check_mounting(s, c, i);
    return status ? status : check_lens(s, c, i);
}

/** 1 if the rig gives both cameras the same pose, for example none. Their relative pose is then unknown. */
static int same_pose(const vfront_camera_t *a, const vfront_camera_t *b)
{
    int same = 1;
    for (int k = 0; k < 9; k++) same = same && a->R_cam_imu[k] == b->R_cam_imu[k];
    for (int k = 0; k < 3; k++) same = same && a->t_cam_imu_m[k] == b->t_cam_imu_m[k];
    return same;
}

int vf_check_is_pair(const vfront_rig_t *rig)
{
    const vfront_camera_t *left = &rig->camera[0], *right = &rig->camera[rig->cameras - 1];
    double R[9], t[3];
    if (rig->cameras < 2 || left->fx_px == 0.0 || right->fx_px == 0.0 || same_pose(left, right)) return 0;
    vf_rotation_between(R, t, left, right);
    return t[0] * t[0] + t[1] * t[1] + t[2] * t[2] > 1e-24; /* with a shorter t the cameras differ by a rotation only */
}

/** Checks that the cameras form a plausible stereo pair, if they are calibrated and at different positions. */
static vfront_status_t check_pair(struct vf_context *s, const vfront_rig_t *rig)
{
    double R[9], t[3], centre[3]; /* centre: position of the second camera in axes of the first [m] */
    if (!vf_check_is_pair(rig)) return VFRONT_OK;
    vf_rotation_between(R, t, &rig->camera[0], &rig->camera[rig->cameras - 1]);
    for (int k = 0; k < 3; k++) centre[k] = -(R[k] * t[0] + R[3 + k] * t[1] + R[6 + k] * t[2]);
    const double baseline = sqrt(centre[0] * centre[0] + centre[1] * centre[1] + centre[2] * centre[2]);
    if (baseline < 1e-4)
        return vf_refuse(s, VFRONT_E_CALIBRATION, "baseline of %d micrometres, wrong unit? %s",
                         (int32_t)(baseline * 1e6 + 0.5), "rig.camera[1].t_cam_imu_m");
    if (baseline > 20.0)
        return vf_refuse(s, VFRONT_E_CALIBRATION, "baseline of %d m: wrong unit, millimetres? %s",
                         (int32_t)(baseline + 0.5), "rig.camera[1].t_cam_imu_m");
    if (R[8] < 0.0)
        return vf_refuse(s, VFRONT_E_CALIBRATION, "cameras look more than 90 degrees apart: rig.camera[%d%s", 1,
                         "].R_cam_imu");
    if (centre[0] < -0.5 * baseline)
        return vf_refuse(s, VFRONT_E_CALIBRATION, "left of camera 0, left and right swapped? rig.camera[%d%s", 1,
                         "].t_cam_imu_m");
    return VFRONT_OK;
}

/** Checks the time offset of the IMU, and its noise parameters if the rig gives them. */
static vfront_status_t check_imu_of_rig(struct vf_context *s, const vfront_rig_t *rig)
{
    const char *wrong = vf_imu_noise_none(&rig->imu) ? NULL : vf_imu_noise_wrong(&rig->imu);
    if (wrong) return vf_refuse(s, VFRONT_E_CALIBRATION, "not finite or out of its range: rig.imu.%s", 0, wrong);
    if (rig->imu_offset_ns < -1000000000 || rig->imu_offset_ns > 1000000000)
        return vf_refuse(s, VFRONT_E_CALIBRATION, "over 1 s: rig.imu_offset_ns", 0, "");
    return VFRONT_OK;
}

vfront_status_t vf_check_rig(struct vf_context *s, const vfront_rig_t *rig)
{
    if (rig->cameras < 1 || rig->cameras > VFRONT_CAMERAS)
        return vf_refuse(s, VFRONT_E_SIZE, "rig.cameras = %d is not in 1..VFRONT_CAMERAS", rig->cameras, "");
    for (int32_t i = 0; i < rig->cameras; i++) {
        const vfront_status_t status = check_camera(s, &rig->camera[i], i);
        if (status) return status;
    }
    if (!(rig->road_height_m >= 0.0 && rig->road_height_m <= 100.0))
        return vf_refuse(s, VFRONT_E_CALIBRATION, "not finite, negative or over 100 m: rig.road_height_m", 0, "");
    if (rig->road_height_m > 0.0 && !(rig->road_pitch_rad >= -0.87 && rig->road_pitch_rad <= 0.87))
        return vf_refuse(s, VFRONT_E_CALIBRATION, "not finite or over 0.87 rad: rig.road_pitch_rad", 0, "");
    const vfront_status_t status = check_imu_of_rig(s, rig);
    return status ? status : check_pair(s, rig);
}

/** First parameter by which two cameras are not pinholes with aligned rows; NULL: they are. seen: rig as the stages see
 *  it. Tolerances: 1/100 px in focal lengths and principal points; 1/10 px by rotation; 1/1000 of the baseline in y and
 *  z. */
static const char *not_aligned(const vfront_rig_t *seen)
{
    const vfront_camera_t *a = &seen->camera[0], *b = &seen->camera[seen->cameras - 1];
    const double p[4] = {a->fx_px, a->fy_px, a->cx_px, a->cy_px}, q[4] = {b->fx_px, b->fy_px, b->cx_px, b->cy_px};
    double R[9], t[3];
    if (a->width_px != b->width_px || a->height_px != b->height_px) return "].width_px or height_px";
    for (int k = 0; k < 8; k++)
        if (a->distortion[k] != 0.0 || b->distortion[k] != 0.0) return "].distortion";
    if (!vf_lens_model(a->lens)->is_central || !vf_lens_model(b->lens)->is_central) return "].lens";
    for (int k = 0; k < 4; k++)
        if (fabs(p[k] - q[k]) > 0.01) return "].fx_px, fy_px, cx_px or cy_px";
    vf_rotation_between(R, t, a, b);
    for (int k = 0; k < 9; k++)
        if (fabs(R[k] - (k % 4 == 0)) * a->fx_px > 0.1) return "].R_cam_imu";
    if (t[0] > 0.0 || t[1] * t[1] + t[2] * t[2] > 1e-6 * t[0] * t[0]) return "].t_cam_imu_m";
    return NULL;
}

vfront_status_t vf_check_aligned(struct vf_context *s, const vfront_tuning_t *t)
{
    if (!t->dense) return VFRONT_OK;
    if (!vf_check_is_pair(&s->seen))
        return vf_refuse(s, VFRONT_E_CALIBRATION, "dense needs two calibrated cameras in different places: rig", 0, "");
    const char *what = not_aligned(&s->seen);
    if (what)
        return vf_refuse(s, VFRONT_E_CALIBRATION, "dense needs rectify, or pinholes side by side: rig.camera[%d%s", 1,
                         what);
    return VFRONT_OK;
}

vfront_status_t vf_check_vio(struct vf_context *s, const vfront_tuning_t *t)
{
    if (!t->vio) return VFRONT_OK;
    if (s->seen.camera[0].fx_px == 0.0)
        return vf_refuse(s, VFRONT_E_CALIBRATION, "vio needs a calibrated camera: rig.camera[0]", 0, "");
    if (vf_imu_noise_none(&s->seen.imu) && !vf_check_is_pair(&s->seen))
        return vf_refuse(s, VFRONT_E_CALIBRATION, "vio needs the noise of the IMU, or two calibrated cameras: rig.imu",
                         0, "");
    if (!t->track_target || !t->ego)
        return vf_refuse(s, VFRONT_E_TUNING, "vio needs tracks and motions: %s", 0,
                         t->track_target ? "ego" : "track_target");
    return VFRONT_OK;
}

vfront_status_t vf_check_map(struct vf_context *s, const vfront_tuning_t *t)
{
    if (!t->map) return VFRONT_OK;
    if (s->seen.camera[0].fx_px == 0.0)
        return vf_refuse(s, VFRONT_E_CALIBRATION, "map needs a calibrated camera: rig.camera[0]", 0, "");
    if (!t->track_target || !t->ego || !t->select_points || !t->describe)
        return vf_refuse(s, VFRONT_E_TUNING, "map needs tracks, motions and described key points: %s", 0,
                         !t->track_target    ? "track_target"
                         : !t->ego           ? "ego"
                         : !t->select_points ? "select_points"
                                             : "describe");
    return VFRONT_OK;
}

vfront_status_t vf_check_tuning(struct vf_context *s, const vfront_tuning_t *tuning)
{
    vfront_tuning_t copy;
#define VF_CHECK(name, standard, least, most, meaning)                                                                 \
    if (vfront_tuning_set(&copy, #name, tuning->name))                                                                 \
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d out of range: %s", tuning->name, #name);
    VFRONT_TUNING(VF_CHECK)
#undef VF_CHECK
    if (tuning->detect_threshold_low >= tuning->detect_threshold)
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d is not below detect_threshold: %s",
                         tuning->detect_threshold_low, "detect_threshold_low");
    if (tuning->ego_points == 6)
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d is not 5, 7 or 8: %s", 6, "ego_points");
    if (tuning->dense_disparities != 64 && tuning->dense_disparities != 128 && tuning->dense_disparities != 256)
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d is none of 64, 128, 256: %s", tuning->dense_disparities,
                         "dense_disparities");
    if (tuning->stixel && !tuning->dense)
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d, but there is no dense: %s", tuning->stixel, "stixel");
    if (tuning->stixel && tuning->dense_least_px)
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d is not 0, as stixel needs: %s", tuning->dense_least_px,
                         "dense_least_px");
    if (tuning->dense_p2 < tuning->dense_p1)
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d is below dense_p1: %s", tuning->dense_p2, "dense_p2");
    if (tuning->select_aggregate_px > 4 * vf_min(tuning->cull_width_px, tuning->cull_height_px))
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d is more than four culling cells: %s",
                         tuning->select_aggregate_px, "select_aggregate_px");
    if (tuning->track_distance_px > 4 * vf_min(tuning->cell_width_px, tuning->cell_height_px))
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d is more than four cells: %s", tuning->track_distance_px,
                         "track_distance_px");
    return VFRONT_OK;
}

static vfront_status_t check_mask(struct vf_context *s, const vfront_picture_t *p, int32_t i)
{
    if (!p->mask) return VFRONT_OK;
    if (p->mask_width_px != p->width_px || p->mask_height_px != p->height_px)
        return vf_refuse(s, VFRONT_E_MASK, "mask is not of the picture's size: frame.picture[%d%s", i, "]");
    if (p->mask_pitch_bytes < (uint32_t)p->width_px)
        return vf_refuse(s, VFRONT_E_MASK, "smaller than a row: frame.picture[%d%s", i, "].mask_pitch_bytes");
    return VFRONT_OK;
}

/** Checks that the timestamp of an image, if given, is within frame_skew_us of the frame's timestamp t_ns. */
static vfront_status_t check_time(struct vf_context *s, const vfront_picture_t *p, uint64_t t_ns, int32_t i)
{
    const uint64_t most_ns = (uint64_t)s->step[0].tuning.frame_skew_us * 1000u;
    if (!p->t_ns || p->format == VFRONT_NO_PICTURE) return VFRONT_OK;
    if (p->t_ns < t_ns && t_ns - p->t_ns > most_ns)
        return vf_refuse(s, VFRONT_E_TIME, "older than the frame by over frame_skew_us: frame.picture[%d%s", i, "]");
    if (p->t_ns > t_ns && p->t_ns - t_ns > most_ns)
        return vf_refuse(s, VFRONT_E_TIME, "newer than the frame by over frame_skew_us: frame.picture[%d%s", i, "]");
    return VFRONT_OK;
}

static vfront_status_t check_picture(struct vf_context *s, const vfront_picture_t *p, int32_t i)
{
    if (p->format == VFRONT_NO_PICTURE) {
        if (s->frame && !s->clock_set) return VFRONT_OK;
        return vf_refuse(s, VFRONT_E_FORMAT, "missing in a first frame: frame.picture[%d%s", i, "]");
    }
    if (!p->data) return vf_refuse(s, VFRONT_E_NULL, "NULL: frame.picture[%d%s", i, "].data");
    if (p->width_px != s->rig.camera[i].width_px || p->height_px != s->rig.camera[i].height_px)
        return vf_refuse(s, VFRONT_E_SIZE, "not of the rig's size: frame.picture[%d%s", i, "]");
    if ((uint32_t)p->format > VFRONT_YUYV)
        return vf_refuse(s, VFRONT_E_FORMAT, "unknown: frame.picture[%d%s", i, "].format");
    if ((uint32_t)p->memory > VFRONT_DEVICE_MEMORY)
        return vf_refuse(s, VFRONT_E_MEMORY_KIND, "unknown: frame.picture[%d%s", i, "].memory");
    const uint32_t bytes = (uint32_t)vf_format_bytes(p->format);
    if (p->pitch_bytes < bytes * (uint32_t)p->width_px || p->pitch_bytes > 0x7fffffffu / (uint32_t)p->height_px ||
        p->pitch_bytes % bytes)
        return vf_refuse(s, VFRONT_E_PITCH, "smaller than a row, odd or absurd: frame.picture[%d%s", i,
                         "].pitch_bytes");
    if ((uintptr_t)p->data % bytes) return vf_refuse(s, VFRONT_E_ALIGN, "odd address: frame.picture[%d%s", i, "].data");
    return check_mask(s, p, i);
}

static vfront_status_t check_gyro(struct vf_context *s, const vfront_frame_t *f)
{
    if (!f->gyro && f->gyro_count)
        return vf_refuse(s, VFRONT_E_NULL, "NULL, and frame.gyro_count = %d: frame.gyro", (int32_t)f->gyro_count, "");
    if (!f->gyro || !f->gyro_count) return VFRONT_OK;
    if (f->gyro_count > VFRONT_GYRO_SAMPLES)
        return vf_refuse(s, VFRONT_E_GYRO, "frame.gyro_count = %d is over VFRONT_GYRO_SAMPLES", (int32_t)f->gyro_count,
                         "");
    for (uint32_t i = 0; i < f->gyro_count; i++) {
        if (i && f->gyro[i].t_ns <= f->gyro[i - 1].t_ns)
            return vf_refuse(s, VFRONT_E_GYRO, "not after the one before: frame.gyro[%d%s", (int32_t)i, "].t_ns");
        for (int k = 0; k < 3; k++)
            if (!(f->gyro[i].rate_rad_s[k] >= -100.0 && f->gyro[i].rate_rad_s[k] <= 100.0))
                return vf_refuse(s, VFRONT_E_GYRO, "not finite or over 100: frame.gyro[%d%s", (int32_t)i,
                                 "].rate_rad_s");
    }
    return VFRONT_OK;
}

/** Checks an IMU sample. before: the previous sample, or NULL. */
static vfront_status_t check_sample(struct vf_context *s, const vfront_imu_t *imu, const vfront_imu_t *before,
                                    int32_t i)
{
    if (before && imu->t_ns <= before->t_ns)
        return vf_refuse(s, VFRONT_E_IMU, "not after the one before: frame.imu[%d%s", i, "].t_ns");
    if (!vf_imu_gyro_valid(imu))
        return vf_refuse(s, VFRONT_E_IMU, "not finite or over 100: frame.imu[%d%s", i, "].gyro_rad_s");
    if (!vf_imu_accel_valid(imu))
        return vf_refuse(s, VFRONT_E_IMU, "not finite or over 1000: frame.imu[%d%s", i, "].accel_m_s2");
    return VFRONT_OK;
}

static vfront_status_t check_imu(struct vf_context *s, const vfront_frame_t *f)
{
    if (!f->imu && f->imu_count)
        return vf_refuse(s, VFRONT_E_NULL, "NULL, and frame.imu_count = %d: frame.imu", (int32_t)f->imu_count, "");
    if (!f->imu) return VFRONT_OK;
    if (f->gyro) return vf_refuse(s, VFRONT_E_IMU, "given beside frame.gyro: frame.imu", 0, "");
    const uint32_t kept = s->clock_set || !s->frame ? 0 : s->samples.kept;
    const vfront_imu_t *before = kept ? vf_samples_at(&s->samples, kept - 1) : NULL;
    if (f->imu_count > VFRONT_IMU_SAMPLES - kept)
        return vf_refuse(s, VFRONT_E_IMU, "with those kept over VFRONT_IMU_SAMPLES: frame.imu_count = %d",
                         (int32_t)f->imu_count, "");
    for (uint32_t i = 0; i < f->imu_count; i++) {
        const vfront_status_t status = check_sample(s, &f->imu[i], before, (int32_t)i);
        if (status) return status;
        before = &f->imu[i];
    }
    return VFRONT_OK;
}

static vfront_status_t check_motion(struct vf_context *s, const vfront_frame_t *f)
{
    if (f->R_cur_prev && !vf_rotation_valid(f->R_cur_prev))
        return vf_refuse(s, VFRONT_E_PRIOR, "no rotation: frame.R_cur_prev", 0, "");
    if (f->R_cur_prev && s->rig.camera[0].fx_px == 0.0)
        return vf_refuse(s, VFRONT_E_PRIOR, "frame.R_cur_prev needs a calibrated camera 0", 0, "");
    const vfront_status_t status = check_gyro(s, f);
    return status ? status : check_imu(s, f);
}

int vf_follows(const struct vf_context *s, uint64_t t_ns, uint64_t before_ns)
{
    return t_ns > before_ns && t_ns - before_ns <= (uint64_t)s->step[0].tuning.frame_jump_ms * 1000000u;
}

/** Rejects a timestamp that does not follow the previous frame's, and counts it in s->refused. Accepts it if it is
 *  number VF_CLOCK_SET_STAMPS of a run of rejected ones that follow each other: the clock was set. */
static vfront_status_t check_stamp(struct vf_context *s, uint64_t t_ns)
{
    struct vf_refused_stamps *run = &s->refused;
    s->clock_set = 0;
    if (!s->frame || vf_follows(s, t_ns, s->t_ns)) return VFRONT_OK;
    const int32_t length = run->length && vf_follows(s, t_ns, run->last_ns) ? run->length + 1 : 1;
    s->clock_set = length == VF_CLOCK_SET_STAMPS;
    if (s->clock_set) /* the run of rejected timestamps is kept, because the frame may be rejected for another reason */
        return VFRONT_OK;
    if (length == 1) run->first_ns = t_ns;
    run->length = length;
    run->last_ns = t_ns;
    run->count++;
    return vf_refuse(s, VFRONT_E_TIME,
                     t_ns > s->t_ns ? "frame.t_ns is more than frame_jump_ms after the frame before"
                                    : "frame.t_ns is not after the frame before",
                     0, "");
}

vfront_status_t vf_check_frame(struct vf_context *s, const vfront_frame_t *f)
{
    const vfront_status_t stamp = check_stamp(s, f->t_ns);
    if (stamp) return stamp;
    for (int32_t i = 0; i < s->step[0].geometry.cameras; i++) {
        vfront_status_t status = check_picture(s, &f->picture[i], i);
        if (!status) status = check_time(s, &f->picture[i], f->t_ns, i);
        if (status) return status;
    }
    return check_motion(s, f);
}
