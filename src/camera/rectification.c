/* SPDX-License-Identifier: MIT */
#include "camera/rectification.h"

#include <math.h> /* sqrt: one instruction, correctly rounded */

#include "math/rotation.h"

#if VFRONT_RECTIFY

/* ---- the rectified cameras --------------------------------------------------------------------------------------- */

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/** out = R v */
static void rotate(double out[3], const double R[9], const double v[3])
{
    for (int i = 0; i < 3; i++) out[i] = dot(R + 3 * i, v);
}

/** Replaces a matrix that is a rotation to 1e-3 by the nearest rotation: Newton iteration towards its orthogonal polar
 *  factor. */
static void orthonormalise(double R[9])
{
    for (int step = 0; step < 4; step++) {
        double Rt[9], p[9];
        vf_rotation_transpose(Rt, R);
        vf_rotation_multiply(p, Rt, R);
        for (int i = 0; i < 9; i++) p[i] = (i % 4 ? 0.0 : 1.5) - 0.5 * p[i];
        vf_rotation_multiply(R, R, p);
    }
}

#define COS_45 0.70710678118654757

/** Axes of the rectified cameras in camera 0 coordinates, row by row, and the length of the baseline. R, t: from
 *  camera 0 to camera 1 coordinates. Returns NULL or an error message. */
static const char *find_axes(double axes[9], double *baseline_m, const double R[9], const double t[3])
{
    double *x = axes, *y = axes + 3, *z = axes + 6;
    *baseline_m = sqrt(dot(t, t));
    for (int k = 0; k < 3; k++) x[k] = -(R[k] * t[0] + R[3 + k] * t[1] + R[6 + k] * t[2]) / *baseline_m;
    if (!(x[0] >= COS_45))
        return "rectify: camera 1 is not beside camera 0, but over 45 degrees off its x axis: "
               "rig.camera[1].t_cam_imu_m";
    const double mean[3] = {R[6], R[7], 1.0 + R[8]}, along = dot(mean, x);
    for (int k = 0; k < 3; k++) z[k] = mean[k] - along * x[k];
    const double length = sqrt(dot(z, z));
    for (int k = 0; k < 3; k++) z[k] /= length;
    for (int k = 0; k < 3; k++) y[k] = z[(k + 1) % 3] * x[(k + 2) % 3] - z[(k + 2) % 3] * x[(k + 1) % 3];
    return length > 0.1 ? NULL : "rectify: the cameras look along their baseline: rig.camera[1].t_cam_imu_m";
}

/** Adds half of a camera's own principal point to c, which becomes the mean of both cameras. The own principal point
 *  maps the centre of the raw image to `middle`, the centre of the rectified image [px]. Returns 0 if the raw centre
 *  lies beside or behind the rectified camera. */
static int add_principal_point(double c[2], const vfront_camera_t *camera, const double R_rig_seen[9], double focal_px,
                               const double middle[2])
{
    struct vf_lens lens;
    double R_seen_rig[9], ray[3] = {0.0, 0.0, 1.0}, at[3];
    const double px[2] = {0.5 * (camera->width_px - 1), 0.5 * (camera->height_px - 1)};
    vf_lens_make(&lens, camera);
    vf_lens_bearing(&lens, px, ray); /* if this fails, `ray` remains the optical axis */
    vf_rotation_transpose(R_seen_rig, R_rig_seen);
    rotate(at, R_seen_rig, ray);
    for (int k = 0; k < 2; k++) c[k] += 0.5 * (middle[k] - focal_px * at[k] / at[2]);
    return at[2] > 0.1;
}

/** Pinhole model shared by both rectified cameras; its R_cam_imu and t_cam_imu_m stay 0. Returns NULL or an error
 *  message. */
static const char *find_pinhole(vfront_camera_t *pinhole, const vfront_rig_t *rig, double R_rig_seen[][9],
                                int32_t focal_percent)
{
    const vfront_camera_t *a = &rig->camera[0], *b = &rig->camera[1];
    const double middle[2] = {0.5 * (a->width_px - 1), 0.5 * (a->height_px - 1)};
    double c[2] = {0.0, 0.0}, own[2][2];
    vf_lens_focal(own[0], a);
    vf_lens_focal(own[1], b);
    const double focal_px = 0.25 * (own[0][0] + own[0][1] + own[1][0] + own[1][1]) * focal_percent / 100.0;
    int in_front = 1;
    for (int i = 0; i < 2; i++) in_front &= add_principal_point(c, &rig->camera[i], R_rig_seen[i], focal_px, middle);
    memset(pinhole, 0, sizeof *pinhole);
    pinhole->width_px = a->width_px;
    pinhole->height_px = a->height_px;
    pinhole->lens = VFRONT_LENS_RADTAN;
    pinhole->fx_px = pinhole->fy_px = focal_px;
    pinhole->cx_px = c[0];
    pinhole->cy_px = c[1];
    return in_front ? NULL
                    : "rectify: a camera looks over 84 degrees off the axis that is square to the baseline: "
                      "rig.camera[1].R_cam_imu";
}

const char *vf_rectification_rig(vfront_rig_t *seen, double R_rig_seen[][9], int32_t focal_percent)
{
    double R[9], t[3], axes[9], back[9], baseline_m;
    vfront_camera_t pinhole;
    vf_rotation_between(R, t, &seen->camera[0], &seen->camera[1]);
    orthonormalise(R);
    const char *why = find_axes(axes, &baseline_m, R, t);
    if (why) return why;
    vf_rotation_transpose(back, axes);
    memcpy(R_rig_seen[0], back, sizeof back);
    vf_rotation_multiply(R_rig_seen[1], R, back);
    why = find_pinhole(&pinhole, seen, R_rig_seen, focal_percent);
    if (why) return why;
    vf_rotation_multiply(pinhole.R_cam_imu, axes, vf_rotation_mounting(&seen->camera[0]));
    /* Later stages use R R^T as the rotation between the rectified cameras, which is the identity only if R is
     * orthonormal. */
    orthonormalise(pinhole.R_cam_imu);
    rotate(pinhole.t_cam_imu_m, axes, seen->camera[0].t_cam_imu_m);
    seen->camera[0] = seen->camera[1] = pinhole;
    seen->camera[1].t_cam_imu_m[0] -= baseline_m;
    return NULL;
}

/* ---- remap table ------------------------------------------------------------------------------------------------- */

void vf_rectification_make(struct vf_rectification *r, const vfront_camera_t *camera, const vfront_camera_t *seen,
                           const double R_rig_seen[9])
{
    memset(r, 0, sizeof *r);
    vf_lens_make(&r->lens, camera);
    memcpy(r->R_rig_seen, R_rig_seen, sizeof r->R_rig_seen);
    r->focal_px = seen->fx_px;
    r->cx_px = seen->cx_px;
    r->cy_px = seen->cy_px;
    r->raw.width = camera->width_px;
    r->raw.height = camera->height_px;
    r->width = seen->width_px;
    r->height = seen->height_px;
}

/** Converts a coordinate [px] to units of the remap table, rounded to nearest. */
static int32_t to_units(double px) { return (int32_t)(px * VF_REMAP_UNITS + (px < 0.0 ? -0.5 : 0.5)); }

/** Raw coordinates of rectified pixel (x, y): its ray, projected by the lens. */
static struct vf_remap_entry find_entry(const struct vf_rectification *r, int32_t x, int32_t y)
{
    const double pixel[3] = {(x - r->cx_px) / r->focal_px, (y - r->cy_px) / r->focal_px, 1.0};
    struct vf_remap_entry entry = {VF_REMAP_INVALID, VF_REMAP_INVALID};
    double ray[3], px[2];
    rotate(ray, r->R_rig_seen, pixel);
    if (!vf_lens_project(&r->lens, ray, px)) return entry;
    if (!(px[0] > -VF_REMAP_MAX_PX && px[0] < VF_REMAP_MAX_PX && px[1] > -VF_REMAP_MAX_PX && px[1] < VF_REMAP_MAX_PX))
        return entry;
    entry.x = to_units(px[0]);
    entry.y = to_units(px[1]);
    return entry;
}

void vf_remap_row(struct vf_remap_entry *row, const struct vf_rectification *r, int32_t j)
{
    for (int32_t i = 0; i < VF_REMAP_ENTRIES(r->width); i++)
        row[i] = find_entry(r, VF_REMAP_STEP_PX * i, VF_REMAP_STEP_PX * j);
}

/** Scan of a rectified image, row by row from the top: raw coordinates of every pixel of the current row. */
struct row_scan {
    const struct vf_rectification *r;
    /* Remap table rows above and below the current row; the table row of even index is first. */
    struct vf_remap_entry table[2][VF_REMAP_ENTRIES(VFRONT_WIDTH)];
    struct vf_remap_entry from[VFRONT_WIDTH]; /* raw coordinates of the current row's pixels [1/256 px] */
};

/** Advances the scan to image row y. Called for all rows in order, from 0. */
static void scan_row(struct row_scan *d, int32_t y)
{
    const int32_t j = y / VF_REMAP_STEP_PX, row = y % VF_REMAP_STEP_PX;
    if (y == 0) vf_remap_row(d->table[0], d->r, 0);
    if (row == 0) vf_remap_row(d->table[(j + 1) % 2], d->r, j + 1);
    const struct vf_remap_entry *top = d->table[j % 2], *bottom = d->table[(j + 1) % 2];
    for (int32_t x = 0; x < d->r->width; x++) {
        const int32_t i = x / VF_REMAP_STEP_PX;
        const struct vf_remap_entry left = vf_remap_between(top[i], bottom[i], row),
                                    right = vf_remap_between(top[i + 1], bottom[i + 1], row);
        d->from[x] = vf_remap_pixel(left, right, x % VF_REMAP_STEP_PX, &d->r->raw);
    }
}

/* ---- valid rectangle --------------------------------------------------------------------------------------------- */

/** Interval of valid columns around the centre of a row: first..end-1; empty if first == end. */
struct interval {
    int16_t first, end;
};

/** Longest interval of valid pixels that contains the centre of the current row. */
static struct interval valid_columns(const struct row_scan *d)
{
    const int32_t middle = d->r->width / 2;
    int32_t first = middle, end = middle;
    while (end < d->r->width && d->from[end].x != VF_REMAP_INVALID) end++;
    while (first > 0 && end > middle && d->from[first - 1].x != VF_REMAP_INVALID) first--;
    return (struct interval){(int16_t)first, (int16_t)end};
}

static struct interval intersect(struct interval a, struct interval b)
{
    return (struct interval){(int16_t)vf_max(a.first, b.first), (int16_t)vf_min(a.end, b.end)};
}

/** Largest rectangle of valid pixels that contains the centre pixel. columns[y]: intersection of the valid intervals of
 *  all rows from the centre row to row y. */
static void find_largest(int32_t valid_px[4], const struct interval *columns, int32_t height)
{
    int32_t largest = 0;
    for (int32_t top = 0; top <= height / 2; top++)
        for (int32_t end = height / 2 + 1; end <= height; end++) {
            const struct interval s = intersect(columns[top], columns[end - 1]);
            const int32_t area = (s.end - s.first) * (end - top);
            if (area <= largest) continue;
            largest = area;
            valid_px[0] = s.first;
            valid_px[1] = top;
            valid_px[2] = s.end - s.first;
            valid_px[3] = end - top;
        }
}

int vf_rectification_valid(int32_t valid_px[4], const struct vf_rectification *r)
{
    struct interval columns[VFRONT_HEIGHT];
    struct row_scan d;
    const int32_t middle = r->height / 2;
    d.r = r;
    for (int32_t y = 0; y < r->height; y++) {
        scan_row(&d, y);
        columns[y] = valid_columns(&d);
    }
    for (int32_t y = middle - 1; y >= 0; y--) columns[y] = intersect(columns[y], columns[y + 1]);
    for (int32_t y = middle + 1; y < r->height; y++) columns[y] = intersect(columns[y], columns[y - 1]);
    memset(valid_px, 0, 4 * sizeof *valid_px);
    find_largest(valid_px, columns, r->height);
    return valid_px[2] > 0;
}

/* ---- static mask ------------------------------------------------------------------------------------------------- */

/** States of a mask pixel while the mask is made; only VISIBLE and INVALID remain. INVALID: outside the raw image. */
enum { INVALID = 0, NEAR_INVALID = 1, UNDER_MASK = 2, VISIBLE = 255 };

/** New state of a mask pixel in a scan along one direction. *near counts down from `margin` after the last INVALID
 *  pixel. */
static uint8_t scan_pixel(uint8_t pixel, int32_t *near, int32_t margin)
{
    if (pixel == INVALID) {
        *near = margin;
        return INVALID;
    }
    if (*near == 0) return pixel;
    --*near;
    return NEAR_INVALID;
}

/** Dilation of the INVALID pixels by `margin` px along a row. */
static void dilate_row(uint8_t *row, int32_t width, int32_t margin)
{
    int32_t near = 0;
    for (int32_t x = 0; x < width; x++) row[x] = scan_pixel(row[x], &near, margin);
    near = 0;
    for (int32_t x = width - 1; x >= 0; x--) row[x] = scan_pixel(row[x], &near, margin);
    for (int32_t x = 0; x < width; x++) row[x] = row[x] == NEAR_INVALID ? INVALID : row[x];
}

/** Dilation of the INVALID pixels by `margin` px along the columns, down and up; then all but VISIBLE becomes 0. */
static void dilate_columns(uint8_t *mask, size_t pitch, const struct vf_rectification *r, int32_t margin)
{
    for (int32_t up = 0; up < 2; up++) {
        int32_t near[VFRONT_WIDTH] = {0};
        for (int32_t i = 0; i < r->height; i++) {
            uint8_t *row = mask + (size_t)(up ? r->height - 1 - i : i) * pitch;
            for (int32_t x = 0; x < r->width; x++) row[x] = scan_pixel(row[x], &near[x], margin);
        }
    }
    for (int32_t y = 0; y < r->height; y++)
        for (int32_t x = 0; x < r->width; x++) {
            uint8_t *pixel = mask + (size_t)y * pitch + x;
            *pixel = *pixel == VISIBLE ? VISIBLE : INVALID;
        }
}

void vf_rectification_mask(uint8_t *mask, size_t pitch, const struct vf_rectification *r, const vfront_camera_t *camera,
                           int32_t margin)
{
    struct vf_level raw = r->raw;
    struct row_scan d;
    d.r = r;
    raw.pitch = (int32_t)camera->mask_pitch_bytes;
    for (int32_t y = 0; y < r->height; y++) {
        uint8_t *row = mask + (size_t)y * pitch;
        scan_row(&d, y);
        for (int32_t x = 0; x < r->width; x++) {
            const int invalid = d.from[x].x == VF_REMAP_INVALID;
            const int unmasked = !camera->mask || (!invalid && vf_remap_mask(camera->mask, &raw, d.from[x]));
            row[x] = invalid ? INVALID : unmasked ? VISIBLE : UNDER_MASK;
        }
        dilate_row(row, r->width, margin);
    }
    dilate_columns(mask, pitch, r, margin);
}

#endif
