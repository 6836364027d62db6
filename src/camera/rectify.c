/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

#if VFRONT_RECTIFY

#include "math/rotation.h"

/* ---- how the rectified cameras look ------------------------------------------------------------------------------ */

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void turn(double out[3], const double R[9], const double v[3])
{
    for (int i = 0; i < 3; i++) out[i] = dot(R + 3 * i, v);
}

/** The rotation nearest to a matrix that is one to a thousandth: Newton's steps towards its orthogonal polar factor. */
static void straighten(double R[9])
{
    for (int step = 0; step < 4; step++) {
        double Rt[9], p[9];
        vf_rotation_transpose(Rt, R);
        vf_rotation_multiply(p, Rt, R);
        for (int i = 0; i < 9; i++) p[i] = (i % 4 ? 0.0 : 1.5) - 0.5 * p[i];
        vf_rotation_multiply(R, R, p);
    }
}

#define BESIDE 0.70710678118654757 /* cosine of 45 degrees */

/** Axes of the rectified cameras in those of camera 0, row by row, and the baseline. R and t take axes of camera 0 to those of camera 1. */
static const char *find_axes(double axes[9], double *baseline_m, const double R[9], const double t[3])
{
    double *x = axes, *y = axes + 3, *z = axes + 6;
    *baseline_m = sqrt(dot(t, t));
    for (int k = 0; k < 3; k++) x[k] = -(R[k] * t[0] + R[3 + k] * t[1] + R[6 + k] * t[2]) / *baseline_m;
    if (!(x[0] >= BESIDE))
        return "rectify: camera 1 is not beside camera 0, but over 45 degrees off its x axis: "
               "rig.camera[1].t_cam_imu_m";
    const double mean[3] = {R[6], R[7], 1.0 + R[8]}, along = dot(mean, x);
    for (int k = 0; k < 3; k++) z[k] = mean[k] - along * x[k];
    const double length = sqrt(dot(z, z));
    for (int k = 0; k < 3; k++) z[k] /= length;
    for (int k = 0; k < 3; k++) y[k] = z[(k + 1) % 3] * x[(k + 2) % 3] - z[(k + 2) % 3] * x[(k + 1) % 3];
    return length > 0.1 ? NULL : "rectify: the cameras look along their baseline: rig.camera[1].t_cam_imu_m";
}

/** Adds to the principal point half of what brings the middle of a camera's picture to the middle of the rectified one. Returns 0 where that
 *  is beside or behind the rectified camera. */
static int centre(double c[2], const vfront_camera_t *camera, const double R_rig_seen[9], double focal_px,
                  const double middle[2])
{
    struct vf_lens lens;
    double R_seen_rig[9], ray[3] = {0.0, 0.0, 1.0}, at[3];
    const double px[2] = {0.5 * (camera->width_px - 1), 0.5 * (camera->height_px - 1)};
    vf_lens_make(&lens, camera);
    vf_lens_bearing(&lens, px, ray); /* or along the axis */
    vf_rotation_transpose(R_seen_rig, R_rig_seen);
    turn(at, R_seen_rig, ray);
    for (int k = 0; k < 2; k++) c[k] += 0.5 * (middle[k] - focal_px * at[k] / at[2]);
    return at[2] > 0.1;
}

/** What both cameras are, but for where they sit. */
static const char *find_pinhole(vfront_camera_t *pinhole, const vfront_rig_t *rig, double R_rig_seen[][9],
                                int32_t focal_percent)
{
    const vfront_camera_t *a = &rig->camera[0], *b = &rig->camera[1];
    const double middle[2] = {0.5 * (a->width_px - 1), 0.5 * (a->height_px - 1)};
    const double focal_px = 0.25 * (a->fx_px + a->fy_px + b->fx_px + b->fy_px) * focal_percent / 100.0;
    double c[2] = {0.0, 0.0};
    int before = 1;
    for (int i = 0; i < 2; i++) before &= centre(c, &rig->camera[i], R_rig_seen[i], focal_px, middle);
    memset(pinhole, 0, sizeof *pinhole);
    pinhole->width_px = a->width_px;
    pinhole->height_px = a->height_px;
    pinhole->lens = VFRONT_LENS_RADTAN;
    pinhole->fx_px = pinhole->fy_px = focal_px;
    pinhole->cx_px = c[0];
    pinhole->cy_px = c[1];
    return before ? NULL
                  : "rectify: a camera looks over 84 degrees off the axis that is square to the baseline: "
                    "rig.camera[1].R_cam_imu";
}

const char *vf_rectify_rig(vfront_rig_t *seen, double R_rig_seen[][9], int32_t focal_percent)
{
    double R[9], t[3], axes[9], back[9], baseline_m;
    vfront_camera_t pinhole;
    vf_rotation_between(R, t, &seen->camera[0], &seen->camera[1]);
    straighten(R);
    const char *why = find_axes(axes, &baseline_m, R, t);
    if (why) return why;
    vf_rotation_transpose(back, axes);
    memcpy(R_rig_seen[0], back, sizeof back);
    vf_rotation_multiply(R_rig_seen[1], R, back);
    why = find_pinhole(&pinhole, seen, R_rig_seen, focal_percent);
    if (why) return why;
    vf_rotation_multiply(pinhole.R_cam_imu, axes, vf_rotation_mounting(&seen->camera[0]));
    straighten(pinhole.R_cam_imu); /* so that to later stages the two do not differ by what it was off */
    turn(pinhole.t_cam_imu_m, axes, seen->camera[0].t_cam_imu_m);
    seen->camera[0] = seen->camera[1] = pinhole;
    seen->camera[1].t_cam_imu_m[0] -= baseline_m;
    return NULL;
}

/* ---- where their pixels come from -------------------------------------------------------------------------------- */

void vf_rectify_make(struct vf_rectifier *r, const vfront_camera_t *camera, const vfront_camera_t *seen,
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

static int32_t to_units(double px) { return (int32_t)(px * VF_SPOT_UNITS + (px < 0.0 ? -0.5 : 0.5)); }

static struct vf_spot find_spot(const struct vf_rectifier *r, int32_t x, int32_t y)
{
    const double pixel[3] = {(x - r->cx_px) / r->focal_px, (y - r->cy_px) / r->focal_px, 1.0};
    struct vf_spot spot = {VF_NOWHERE, VF_NOWHERE};
    double ray[3], px[2];
    turn(ray, r->R_rig_seen, pixel);
    if (!vf_lens_project(&r->lens, ray, px)) return spot;
    if (!(px[0] > -VF_SPOT_FAR && px[0] < VF_SPOT_FAR && px[1] > -VF_SPOT_FAR && px[1] < VF_SPOT_FAR)) return spot;
    spot.x = to_units(px[0]);
    spot.y = to_units(px[1]);
    return spot;
}

void vf_rectify_row(struct vf_spot *row, const struct vf_rectifier *r, int32_t j)
{
    for (int32_t i = 0; i < VF_SPOTS(r->width); i++) row[i] = find_spot(r, VF_SPOT_PX * i, VF_SPOT_PX * j);
}

/** Goes down a picture: where each pixel of a row comes from. */
struct descent {
    const struct vf_rectifier *r;
    struct vf_spot places[2][VF_SPOTS(VFRONT_WIDTH)]; /* the two rows of places around; the one of even number first */
    struct vf_spot from[VFRONT_WIDTH];
};

/** On to row y; rows come one after the other, from 0 on. */
static void descend(struct descent *d, int32_t y)
{
    const int32_t j = y / VF_SPOT_PX, row = y % VF_SPOT_PX;
    if (y == 0) vf_rectify_row(d->places[0], d->r, 0);
    if (row == 0) vf_rectify_row(d->places[(j + 1) % 2], d->r, j + 1);
    const struct vf_spot *top = d->places[j % 2], *bottom = d->places[(j + 1) % 2];
    for (int32_t x = 0; x < d->r->width; x++) {
        const int32_t i = x / VF_SPOT_PX;
        const struct vf_spot left = vf_rectify_between(top[i], bottom[i], row),
                             right = vf_rectify_between(top[i + 1], bottom[i + 1], row);
        d->from[x] = vf_rectify_from(left, right, x % VF_SPOT_PX, &d->r->raw);
    }
}

/* ---- what is seen ------------------------------------------------------------------------------------------------ */

/** Columns around the middle of a row that are seen without a gap: from the first to before the end; none when they are equal. */
struct span {
    int16_t first, end;
};

static struct span span_of(const struct descent *d)
{
    const int32_t middle = d->r->width / 2;
    int32_t first = middle, end = middle;
    while (end < d->r->width && d->from[end].x != VF_NOWHERE) end++;
    while (first > 0 && end > middle && d->from[first - 1].x != VF_NOWHERE) first--;
    return (struct span){(int16_t)first, (int16_t)end};
}

static struct span common(struct span a, struct span b)
{
    return (struct span){(int16_t)vf_max(a.first, b.first), (int16_t)vf_min(a.end, b.end)};
}

/** The greatest rectangle, when each span is already common to all rows from the middle to its own. */
static void find_greatest(int32_t valid_px[4], const struct span *span, int32_t height)
{
    int32_t greatest = 0;
    for (int32_t top = 0; top <= height / 2; top++)
        for (int32_t end = height / 2 + 1; end <= height; end++) {
            const struct span s = common(span[top], span[end - 1]);
            const int32_t area = (s.end - s.first) * (end - top);
            if (area <= greatest) continue;
            greatest = area;
            valid_px[0] = s.first;
            valid_px[1] = top;
            valid_px[2] = s.end - s.first;
            valid_px[3] = end - top;
        }
}

int vf_rectify_valid(int32_t valid_px[4], const struct vf_rectifier *r)
{
    struct span span[VFRONT_HEIGHT];
    struct descent d;
    const int32_t middle = r->height / 2;
    d.r = r;
    for (int32_t y = 0; y < r->height; y++) {
        descend(&d, y);
        span[y] = span_of(&d);
    }
    for (int32_t y = middle - 1; y >= 0; y--) span[y] = common(span[y], span[y + 1]);
    for (int32_t y = middle + 1; y < r->height; y++) span[y] = common(span[y], span[y - 1]);
    memset(valid_px, 0, 4 * sizeof *valid_px);
    find_greatest(valid_px, span, r->height);
    return valid_px[2] > 0;
}

enum { OUTSIDE = 0, NEAR_OUTSIDE = 1, UNDER_MASK = 2, SEEN = 255 };

/** What a pixel that may be near the outside becomes; `near` counts down behind what is outside. */
static uint8_t pass(uint8_t pixel, int32_t *near, int32_t margin)
{
    if (pixel == OUTSIDE) {
        *near = margin;
        return OUTSIDE;
    }
    if (*near == 0) return pixel;
    --*near;
    return NEAR_OUTSIDE;
}

/** Along a row what is near the outside becomes it. */
static void widen_along(uint8_t *row, int32_t width, int32_t margin)
{
    int32_t near = 0;
    for (int32_t x = 0; x < width; x++) row[x] = pass(row[x], &near, margin);
    near = 0;
    for (int32_t x = width - 1; x >= 0; x--) row[x] = pass(row[x], &near, margin);
    for (int32_t x = 0; x < width; x++) row[x] = row[x] == NEAR_OUTSIDE ? OUTSIDE : row[x];
}

/** Down and up the columns it is marked; at last only what is seen stays. */
static void widen_across(uint8_t *mask, size_t pitch, const struct vf_rectifier *r, int32_t margin)
{
    for (int32_t up = 0; up < 2; up++) {
        int32_t near[VFRONT_WIDTH] = {0};
        for (int32_t i = 0; i < r->height; i++) {
            uint8_t *row = mask + (size_t)(up ? r->height - 1 - i : i) * pitch;
            for (int32_t x = 0; x < r->width; x++) row[x] = pass(row[x], &near[x], margin);
        }
    }
    for (int32_t y = 0; y < r->height; y++)
        for (int32_t x = 0; x < r->width; x++) {
            uint8_t *pixel = mask + (size_t)y * pitch + x;
            *pixel = *pixel == SEEN ? SEEN : OUTSIDE;
        }
}

void vf_rectify_mask(uint8_t *mask, size_t pitch, const struct vf_rectifier *r, const vfront_camera_t *camera,
                     int32_t margin)
{
    struct vf_level raw = r->raw;
    struct descent d;
    d.r = r;
    raw.pitch = (int32_t)camera->mask_pitch_bytes;
    for (int32_t y = 0; y < r->height; y++) {
        uint8_t *row = mask + (size_t)y * pitch;
        descend(&d, y);
        for (int32_t x = 0; x < r->width; x++) {
            const int outside = d.from[x].x == VF_NOWHERE;
            row[x] = outside                                                             ? OUTSIDE
                     : !camera->mask || vf_rectify_masked(camera->mask, &raw, d.from[x]) ? SEEN
                                                                                         : UNDER_MASK;
        }
        widen_along(row, r->width, margin);
    }
    widen_across(mask, pitch, r, margin);
}

/* ---- the stage --------------------------------------------------------------------------------------------------- */

/** Where each pixel of a row comes from. */
static void find_row(struct vf_spot *from, const struct vf_step *s, int32_t camera, int32_t y)
{
    const struct vf_level *l = &s->geometry.level[camera][0], *raw = &s->geometry.raw[camera];
    const int32_t across = VF_SPOTS(l->width), row = y % VF_SPOT_PX;
    const struct vf_spot *top = s->memory->rectify.spot[camera] + y / VF_SPOT_PX * across, *bottom = top + across;
    struct vf_spot left = vf_rectify_between(top[0], bottom[0], row);
    for (int32_t x = 0; x < l->width; x += VF_SPOT_PX) {
        const struct vf_spot right = vf_rectify_between(*++top, *++bottom, row);
        for (int32_t k = 0; k < VF_SPOT_PX && x + k < l->width; k++) from[x + k] = vf_rectify_from(left, right, k, raw);
        left = right;
    }
}

/** What a part of a row is made of, in columns for vector units. */
#define PART 64
struct part {
    int32_t at[PART], right[PART], lower[PART], seen[PART];
    uint8_t above[PART][2], below[PART][2];
};

VF_HOT static void find_taps(struct part *restrict p, const struct vf_spot *restrict from, const struct vf_level *raw,
                             int32_t count)
{
    const struct vf_level size = *raw;
    for (int32_t i = 0; i < count; i++) {
        const struct vf_taps t = vf_rectify_taps(from[i], &size);
        p->at[i] = t.at;
        p->right[i] = t.right;
        p->lower[i] = t.lower;
        p->seen[i] = t.seen;
    }
}

static void collect(struct part *p, const uint8_t *pixels, int32_t pitch, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        memcpy(p->above[i], pixels + p->at[i], 2);
        memcpy(p->below[i], pixels + p->at[i] + pitch, 2);
    }
}

VF_HOT static void blend_part(uint8_t *restrict to, const struct part *restrict p, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const uint8_t grey = vf_rectify_blend(p->above[i][0], p->above[i][1], p->below[i][0], p->below[i][1],
                                              p->right[i], p->lower[i]);
        to[i] = p->seen[i] ? grey : 0;
    }
}

static void rectify_camera(const struct vf_step *s, int32_t camera)
{
    const struct vf_level *l = &s->geometry.level[camera][0], *raw = &s->geometry.raw[camera];
    const int framed = vf_framed(s, camera);
    struct vf_spot from[VFRONT_WIDTH];
    struct part part;
    for (int32_t y = 0; y < l->height; y++) {
        uint8_t *to = vf_level_pixels(s, s->parity, camera, 0) + y * l->pitch,
                *mask = s->memory->rectify.mask[camera] + y * l->pitch;
        find_row(from, s, camera, y);
        for (int32_t x = 0; x < l->width; x += PART) {
            const int32_t count = vf_min(l->width - x, PART);
            find_taps(&part, from + x, raw, count);
            collect(&part, s->memory->rectify.raw[camera], raw->pitch, count);
            blend_part(to + x, &part, count);
        }
        for (int32_t x = 0; framed && x < l->width; x++)
            mask[x] = vf_rectify_masked(s->memory->ingest.mask_frame[camera], raw, from[x]);
    }
}

void vf_rectify_host(const struct vf_step *s)
{
    for (int32_t camera = 0; vf_rectify_on(s) && camera < s->geometry.cameras; camera++) rectify_camera(s, camera);
}

#else

void vf_rectify_host(const struct vf_step *s) { (void)s; }

#endif
