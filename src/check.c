/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "ingest.h"
#include "rotation.h"

static int finite_number(double v) { return v - v == 0.0; }

static vfront_status_t check_lens(struct vf_state *s, const vfront_camera_t *c, int32_t i)
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
        if (!finite_number(limit[k].value) || (calibrated && (limit[k].value < limit[k].least || limit[k].value > limit[k].most)))
            return vf_refuse(s, VFRONT_E_CALIBRATION, "calibration is not finite or absurd: rig.camera[%d%s", i, limit[k].name);
    return VFRONT_OK;
}

static vfront_status_t check_camera(struct vf_state *s, const vfront_camera_t *c, int32_t i)
{
    if (c->width_px < 16 || c->width_px > VFRONT_WIDTH)
        return vf_refuse(s, VFRONT_E_SIZE, "not in 16..VFRONT_WIDTH: rig.camera[%d%s", i, "].width_px");
    if (c->height_px < 16 || c->height_px > VFRONT_HEIGHT)
        return vf_refuse(s, VFRONT_E_SIZE, "not in 16..VFRONT_HEIGHT: rig.camera[%d%s", i, "].height_px");
    if (c->mask && c->mask_pitch_bytes < (uint32_t)c->width_px)
        return vf_refuse(s, VFRONT_E_MASK, "smaller than a row: rig.camera[%d%s", i, "].mask_pitch_bytes");
    static const double none[9] = {0};
    if (memcmp(c->R_cam_imu, none, sizeof none) && !vf_rotation_valid(c->R_cam_imu))
        return vf_refuse(s, VFRONT_E_CALIBRATION, "no rotation: rig.camera[%d%s", i, "].R_cam_imu");
    return check_lens(s, c, i);
}

vfront_status_t vf_check_rig(struct vf_state *s, const vfront_rig_t *rig)
{
    if (rig->cameras < 1 || rig->cameras > VFRONT_CAMERAS)
        return vf_refuse(s, VFRONT_E_SIZE, "rig.cameras = %d is not in 1..VFRONT_CAMERAS", rig->cameras, "");
    for (int32_t i = 0; i < rig->cameras; i++) {
        const vfront_status_t status = check_camera(s, &rig->camera[i], i);
        if (status) return status;
    }
    return VFRONT_OK;
}

vfront_status_t vf_check_tuning(struct vf_state *s, const vfront_tuning_t *tuning)
{
    vfront_tuning_t copy;
#define VF_CHECK(name, standard, least, most, meaning)     \
    if (vfront_tuning_set(&copy, #name, tuning->name))     \
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d out of range: %s", tuning->name, #name);
    VFRONT_TUNING(VF_CHECK)
#undef VF_CHECK
    if (tuning->detect_threshold_low >= tuning->detect_threshold)
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d is not below detect_threshold: %s", tuning->detect_threshold_low,
                         "detect_threshold_low");
    if (tuning->detect_arc_most < tuning->detect_arc)
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d is below detect_arc: %s", tuning->detect_arc_most, "detect_arc_most");
    if (tuning->select_window_px > 4 * vf_min(tuning->cull_width_px, tuning->cull_height_px))
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d is more than four culling cells: %s", tuning->select_window_px, "select_window_px");
    if (tuning->track_distance_px > 4 * vf_min(tuning->cell_width_px, tuning->cell_height_px))
        return vf_refuse(s, VFRONT_E_TUNING, "tuning value %d is more than four cells: %s", tuning->track_distance_px, "track_distance_px");
    return VFRONT_OK;
}

static vfront_status_t check_mask(struct vf_state *s, const vfront_picture_t *p, int32_t i)
{
    if (!p->mask) return VFRONT_OK;
    if (p->mask_width_px != p->width_px || p->mask_height_px != p->height_px)
        return vf_refuse(s, VFRONT_E_MASK, "mask is not of the picture's size: frame.picture[%d%s", i, "]");
    if (p->mask_pitch_bytes < (uint32_t)p->width_px)
        return vf_refuse(s, VFRONT_E_MASK, "smaller than a row: frame.picture[%d%s", i, "].mask_pitch_bytes");
    return VFRONT_OK;
}

static vfront_status_t check_picture(struct vf_state *s, const vfront_picture_t *p, int32_t i)
{
    if (!p->data) return vf_refuse(s, VFRONT_E_NULL, "NULL: frame.picture[%d%s", i, "].data");
    if (p->width_px != s->rig.camera[i].width_px || p->height_px != s->rig.camera[i].height_px)
        return vf_refuse(s, VFRONT_E_SIZE, "not of the rig's size: frame.picture[%d%s", i, "]");
    if ((uint32_t)p->format > VFRONT_YUYV) return vf_refuse(s, VFRONT_E_FORMAT, "unknown: frame.picture[%d%s", i, "].format");
    if ((uint32_t)p->memory > VFRONT_DEVICE_MEMORY)
        return vf_refuse(s, VFRONT_E_MEMORY_KIND, "unknown: frame.picture[%d%s", i, "].memory");
    const uint32_t bytes = (uint32_t)vf_format_bytes(p->format);
    if (p->pitch_bytes < bytes * (uint32_t)p->width_px || p->pitch_bytes > 0x7fffffffu / (uint32_t)p->height_px
        || p->pitch_bytes % bytes)
        return vf_refuse(s, VFRONT_E_PITCH, "smaller than a row, odd or absurd: frame.picture[%d%s", i, "].pitch_bytes");
    if ((uintptr_t)p->data % bytes) return vf_refuse(s, VFRONT_E_ALIGN, "odd address: frame.picture[%d%s", i, "].data");
    return check_mask(s, p, i);
}

static vfront_status_t check_gyro(struct vf_state *s, const vfront_frame_t *f)
{
    if (!f->gyro || !f->gyro_count) return VFRONT_OK;
    if (f->gyro_count > VFRONT_GYRO_SAMPLES)
        return vf_refuse(s, VFRONT_E_GYRO, "frame.gyro_count = %d is over VFRONT_GYRO_SAMPLES", (int32_t)f->gyro_count, "");
    for (uint32_t i = 0; i < f->gyro_count; i++) {
        if (i && f->gyro[i].t_ns <= f->gyro[i - 1].t_ns)
            return vf_refuse(s, VFRONT_E_GYRO, "not after the one before: frame.gyro[%d%s", (int32_t)i, "].t_ns");
        for (int k = 0; k < 3; k++)
            if (!(f->gyro[i].rate_rad_s[k] >= -100.0 && f->gyro[i].rate_rad_s[k] <= 100.0))
                return vf_refuse(s, VFRONT_E_GYRO, "not finite or over 100: frame.gyro[%d%s", (int32_t)i, "].rate_rad_s");
    }
    return VFRONT_OK;
}

static vfront_status_t check_motion(struct vf_state *s, const vfront_frame_t *f)
{
    if (f->R_cur_prev && !vf_rotation_valid(f->R_cur_prev))
        return vf_refuse(s, VFRONT_E_PRIOR, "no rotation: frame.R_cur_prev", 0, "");
    if (f->R_cur_prev && s->rig.camera[0].fx_px == 0.0)
        return vf_refuse(s, VFRONT_E_PRIOR, "frame.R_cur_prev needs a calibrated camera 0", 0, "");
    return check_gyro(s, f);
}

vfront_status_t vf_check_frame(struct vf_state *s, const vfront_frame_t *f)
{
    if (s->frame && f->t_ns <= s->t_ns) return vf_refuse(s, VFRONT_E_TIME, "frame.t_ns is not after the frame before", 0, "");
    for (int32_t i = 0; i < s->step[0].geometry.cameras; i++) {
        const vfront_status_t status = check_picture(s, &f->picture[i], i);
        if (status) return status;
    }
    return check_motion(s, f);
}
