/* SPDX-License-Identifier: MIT
 *
 * Visibility in the rendered flight: panels projected into a camera, the nearest one of every pixel, and what
 * follows from its depth.
 */
#include "renderer.h"

/** Linear function of the pixel, from the coefficients of one of the ray (x, y, 1). */
static void pixel_function(const synthetic_t *f, struct linear *l, const double of_ray[3])
{
    l->k[0] = of_ray[0] / f->focal_px;
    l->k[1] = of_ray[1] / f->focal_px;
    l->k[2] = of_ray[2] - l->k[0] * f->cx_px - l->k[1] * f->cy_px;
}

/** out = a * by + b * with. */
static void combine(struct linear *out, const struct linear *a, double by, const struct linear *b, double with)
{
    for (int i = 0; i < 3; i++) out->k[i] = a->k[i] * by + b->k[i] * with;
}

/**
 * Projection of a panel into a camera of pose R, t. With O, U, V in camera axes and a ray d, O + a U + b V = depth
 * d; divided by depth, (a, b, 1) / depth = inverse([U V O]) d.
 */
void synthetic_project_panel(const synthetic_t *f, const struct panel *p, const double R[9], const double t[3],
                             struct projected_panel *view)
{
    const double from_camera[3] = {p->origin[0] - t[0], p->origin[1] - t[1], p->origin[2] - t[2]};
    double o[3], u[3], v[3], row[3][3];
    rotate_back(o, R, from_camera);
    rotate_back(u, R, p->u);
    rotate_back(v, R, p->v);
    cross(row[0], v, o);
    cross(row[1], o, u);
    cross(row[2], u, v);
    const double det = dot(u, row[0]);
    memset(view, 0, sizeof *view);
    if (det < 1e-9 && det > -1e-9) return; /* edge-on: invisible, inverse depth stays 0 */
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 3; i++) row[r][i] /= det;
    pixel_function(f, &view->a, row[0]);
    pixel_function(f, &view->b, row[1]);
    pixel_function(f, &view->inverse_depth, row[2]);
    combine(&view->s, &view->a, p->texels_u, &view->inverse_depth, p->offset_s);
    combine(&view->t, &view->b, p->texels_v, &view->inverse_depth, p->offset_t);
}

void synthetic_project_panels(synthetic_t *f, const double R[9], const double t[3], int32_t camera)
{
    double at[3];
    for (int i = 0; i < 3; i++) at[i] = t[i] + (camera ? R[3 * i] * BASELINE_M : 0.0);
    for (int32_t i = 0; i < f->panels; i++) synthetic_project_panel(f, &f->panel[i], R, at, &f->projected[i]);
}

/** Clip span[0]..span[1] to the x with slope x + start >= 0. */
static void clip_span(double span[2], double slope, double start)
{
    if (slope > 0.0) {
        const double x = -start / slope;
        if (x > span[0]) span[0] = x;
    } else if (slope < 0.0) {
        const double x = -start / slope;
        if (x < span[1]) span[1] = x;
    } else if (start < 0.0) {
        span[1] = -1.0;
    }
}

/** Scanline span of a panel: pixels first..last of row y, none if last < first. */
static void panel_span(const synthetic_t *f, const struct projected_panel *v, int32_t y, int32_t *first, int32_t *last)
{
    const struct linear *n = &v->inverse_depth, *a = &v->a, *b = &v->b;
    const double inverse_depth = y * n->k[1] + n->k[2], at_a = y * a->k[1] + a->k[2], at_b = y * b->k[1] + b->k[2];
    double span[2] = {0.0, f->width - 1.0};
    clip_span(span, n->k[0], inverse_depth);
    clip_span(span, a->k[0], at_a);
    clip_span(span, b->k[0], at_b);
    clip_span(span, n->k[0] - a->k[0], inverse_depth - at_a);
    clip_span(span, n->k[0] - b->k[0], inverse_depth - at_b);
    *first = 0;
    *last = -1;
    if (!(span[0] <= span[1])) return;
    *first = (int32_t)span[0] + ((double)(int32_t)span[0] < span[0]);
    *last = (int32_t)span[1];
}

void synthetic_resolve_row(synthetic_t *f, int32_t y)
{
    uint8_t *visible = f->visible + (size_t)y * (size_t)f->width;
    memset(visible, NO_PANEL, (size_t)f->width);
    for (int32_t x = 0; x < f->width; x++) f->inverse_depth_row[x] = 0.0;
    for (int32_t i = 0; i < f->panels; i++) {
        const struct linear *n = &f->projected[i].inverse_depth;
        const double at_row = y * n->k[1] + n->k[2];
        int32_t first, last;
        panel_span(f, &f->projected[i], y, &first, &last);
        for (int32_t x = first; x <= last; x++) {
            const double inverse_depth = x * n->k[0] + at_row;
            if (!(inverse_depth > f->inverse_depth_row[x])) continue;
            f->inverse_depth_row[x] = inverse_depth;
            visible[x] = (uint8_t)i;
        }
    }
}

void synthetic_disparity(synthetic_t *f, uint32_t frame, float *disparity_px, size_t pitch_px)
{
    double R[9], t[3];
    synthetic_pose(frame, R, t);
    synthetic_disparity_from(f, R, t, disparity_px, pitch_px);
}

void synthetic_disparity_from(synthetic_t *f, const double R[9], const double t[3], float *disparity_px,
                              size_t pitch_px)
{
    synthetic_project_panels(f, R, t, 0);
    for (int32_t y = 0; y < f->height; y++) {
        synthetic_resolve_row(f, y);
        for (int32_t x = 0; x < f->width; x++)
            disparity_px[(size_t)y * pitch_px + (size_t)x] = (float)(f->inverse_depth_row[x] *
                                                                     (f->focal_px * BASELINE_M));
    }
}

/** Inverse depth [1/m] of the nearest panel at a position in the picture of a camera of pose R, t; 0: no panel. */
static double nearest_inverse_depth(const synthetic_t *f, const double R[9], const double t[3], const double at_px[2])
{
    double nearest = 0.0;
    for (int32_t i = 0; i < f->panels; i++) {
        struct projected_panel view;
        synthetic_project_panel(f, &f->panel[i], R, t, &view);
        const double inverse_depth = inverse_depth_at(&view, at_px[0], at_px[1]);
        if (inverse_depth > nearest) nearest = inverse_depth;
    }
    return nearest;
}

int synthetic_correspondence(const synthetic_t *f, uint32_t from, const double from_px[2], uint32_t to, double to_px[2])
{
    double R[9], t[3], point[3], in_camera[3];
    synthetic_pose(from, R, t);
    const double inverse_depth = nearest_inverse_depth(f, R, t, from_px);
    if (!(inverse_depth > 0.0)) return 0;
    const double ray[3] = {(from_px[0] - f->cx_px) / f->focal_px, (from_px[1] - f->cy_px) / f->focal_px, 1.0};
    for (int i = 0; i < 3; i++) point[i] = t[i] + dot(&R[3 * i], ray) / inverse_depth;

    synthetic_pose(to, R, t);
    for (int i = 0; i < 3; i++) point[i] -= t[i];
    rotate_back(in_camera, R, point);
    if (!(in_camera[2] > 0.01)) return 0;
    to_px[0] = f->focal_px * in_camera[0] / in_camera[2] + f->cx_px;
    to_px[1] = f->focal_px * in_camera[1] / in_camera[2] + f->cy_px;
    if (to_px[0] < 0.0 || to_px[1] < 0.0 || to_px[0] > f->width - 1.0 || to_px[1] > f->height - 1.0) return 0;
    return nearest_inverse_depth(f, R, t, to_px) * in_camera[2] < 1.0 + 1e-6;
}
