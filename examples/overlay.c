/* SPDX-License-Identifier: MIT */
#include "overlay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLYPH_WIDTH 5
#define GLYPH_HEIGHT 7
#define ADVANCE (GLYPH_WIDTH + 1)
#define HEAD_PX 20   /* strip above the pictures, for the line */
#define LEGEND_PX 36 /* strip below them */
#define GAP_PX 4     /* between two cameras */
#define LEVELS_MOST 8
#define ROWS_PX 40 /* between the rows drawn on rectified pictures */

/** Where a track was, the latest last. */
struct trail {
    uint64_t id;
    uint32_t count;
    float x_px[OVERLAY_TRAIL], y_px[OVERLAY_TRAIL];
};

/** A part of the drawing: strokes have its coordinates and end at its border. */
struct part {
    int32_t left, top, width, height;
};

struct overlay {
    int32_t width, height, levels, cameras, rectified;
    float fx_px, cx_px; /* of camera 0 */
    overlay_what_t what;
    vfront_camera_t seen;          /* camera 0 */
    int with_tracks, with_matches; /* pairs from which a motion is found */
    struct part head, legend, camera[VFRONT_CAMERAS];
    const struct part *part; /* the one that is drawn on */
    uint8_t *rgb;
    float near_per_m; /* inverse depth that is drawn in red; 0: there was no depth yet */
    float sorted[VFRONT_KEYPOINTS];
    float near_px; /* disparity that is drawn in red; 0: there was none yet */
    int now;       /* which of the two lists is the current one; both by rising id */
    uint32_t trails[2];
    struct trail trail[2][VFRONT_TRACKS];
};

struct colour {
    uint8_t red, green, blue;
};

static const struct colour white = {255, 255, 255}, black = {0, 0, 0}, red = {255, 50, 50}, grey = {170, 170, 170};
static const struct colour agrees = {70, 240, 110}, differs = {255, 140, 30}, target = {255, 240, 80};

/** Of the levels, from the finest: none of them is one of the tracks' colours. */
static const struct colour level_colour[LEVELS_MOST] = {
    {100, 255, 255}, {80, 205, 255}, {75, 155, 255}, {95, 110, 255},
    {140, 90, 255},  {185, 90, 255}, {230, 90, 245}, {255, 110, 195},
};

/** Rows of 0..9, a..z and a full stop from the top; bit 4 is the left column. */
static const uint8_t glyph[37][GLYPH_HEIGHT] = {
    {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e}, {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e},
    {0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f}, {0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e},
    {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02}, {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e},
    {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e}, {0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08},
    {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e}, {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c},
    {0x0e, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11}, {0x1e, 0x11, 0x11, 0x1e, 0x11, 0x11, 0x1e},
    {0x0e, 0x11, 0x10, 0x10, 0x10, 0x11, 0x0e}, {0x1e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1e},
    {0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x1f}, {0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x10},
    {0x0e, 0x11, 0x10, 0x17, 0x11, 0x11, 0x0f}, {0x11, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11},
    {0x0e, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e}, {0x07, 0x02, 0x02, 0x02, 0x02, 0x12, 0x0c},
    {0x11, 0x12, 0x14, 0x18, 0x14, 0x12, 0x11}, {0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1f},
    {0x11, 0x1b, 0x15, 0x15, 0x11, 0x11, 0x11}, {0x11, 0x11, 0x19, 0x15, 0x13, 0x11, 0x11},
    {0x0e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e}, {0x1e, 0x11, 0x11, 0x1e, 0x10, 0x10, 0x10},
    {0x0e, 0x11, 0x11, 0x11, 0x15, 0x12, 0x0d}, {0x1e, 0x11, 0x11, 0x1e, 0x14, 0x12, 0x11},
    {0x0f, 0x10, 0x10, 0x0e, 0x01, 0x01, 0x1e}, {0x1f, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04},
    {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e}, {0x11, 0x11, 0x11, 0x11, 0x11, 0x0a, 0x04},
    {0x11, 0x11, 0x11, 0x15, 0x15, 0x15, 0x0a}, {0x11, 0x11, 0x0a, 0x04, 0x0a, 0x11, 0x11},
    {0x11, 0x11, 0x0a, 0x04, 0x04, 0x04, 0x04}, {0x1f, 0x01, 0x02, 0x04, 0x08, 0x10, 0x1f},
    {0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c},
};

/* ---- layout ------------------------------------------------------------------------------------------------------ */

/** The cameras side by side, whatever their sizes, with a strip above and one below. */
static void lay_out(struct overlay *o, const vfront_camera_t *camera, int32_t cameras)
{
    int32_t left = 0, tallest = 0;
    for (int32_t i = 0; i < cameras; i++) {
        struct part *p = &o->camera[i];
        p->left = left;
        p->top = HEAD_PX;
        p->width = camera[i].width_px;
        p->height = camera[i].height_px;
        left += p->width + GAP_PX;
        if (p->height > tallest) tallest = p->height;
    }
    o->cameras = cameras;
    o->width = left - GAP_PX;
    o->height = HEAD_PX + tallest + LEGEND_PX;
    o->head = (struct part){0, 0, o->width, HEAD_PX};
    o->legend = (struct part){0, HEAD_PX + tallest, o->width, LEGEND_PX};
}

overlay_t *overlay_open(const vfront_info_t *info, int32_t cameras, overlay_what_t what, const vfront_tuning_t *tuning)
{
    struct overlay *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    lay_out(o, info->seen, cameras);
    o->levels = info->scales < LEVELS_MOST ? info->scales : LEVELS_MOST;
    o->rectified = info->rectified;
    o->fx_px = (float)info->seen[0].fx_px;
    o->cx_px = (float)info->seen[0].cx_px;
    o->what = what;
    o->seen = info->seen[0];
    o->with_tracks = tuning->ego_tracks;
    o->with_matches = tuning->ego_matches;
    o->rgb = malloc((size_t)o->width * (size_t)o->height * 3);
    if (o->rgb) return o;
    overlay_close(o);
    return NULL;
}

void overlay_close(overlay_t *o)
{
    if (!o) return;
    free(o->rgb);
    free(o);
}

void overlay_size(const overlay_t *o, int32_t *width_px, int32_t *height_px)
{
    *width_px = o->width;
    *height_px = o->height;
}

/* ---- strokes ----------------------------------------------------------------------------------------------------- */

/** Lays colour over a pixel, alpha / 256 of it; nothing beside the part that is drawn on. */
static void dot(struct overlay *o, int32_t x, int32_t y, struct colour c, int32_t alpha)
{
    const struct part *p = o->part;
    if (x < 0 || y < 0 || x >= p->width || y >= p->height) return;
    uint8_t *at = o->rgb + 3 * ((size_t)(p->top + y) * (size_t)o->width + (size_t)(p->left + x));
    at[0] = (uint8_t)(at[0] + (c.red - at[0]) * alpha / 256);
    at[1] = (uint8_t)(at[1] + (c.green - at[1]) * alpha / 256);
    at[2] = (uint8_t)(at[2] + (c.blue - at[2]) * alpha / 256);
}

static int32_t round_down(float v) { return (int32_t)(v + 65536.0f) - 65536; }

static float bound(float v, float least, float most) { return v < least ? least : v > most ? most : v; }

/** A line without its first pixel, so that the parts of a trail do not overlap. Each step lays its colour on two pixels, beside
 *  each other, by how near they are. */
static void line_to(struct overlay *o, const float from[2], const float to[2], struct colour c, int32_t alpha)
{
    const float dx = to[0] - from[0], dy = to[1] - from[1];
    const float long_x = dx < 0 ? -dx : dx, long_y = dy < 0 ? -dy : dy;
    const int upright = long_y > long_x;
    const int32_t steps = 1 + (int32_t)(upright ? long_y : long_x);
    for (int32_t i = 1; i <= steps; i++) {
        const float share = (float)i / (float)steps, x = from[0] + dx * share, y = from[1] + dy * share;
        const int32_t along = round_down((upright ? y : x) + 0.5f), beside = round_down(upright ? x : y);
        const int32_t second = (int32_t)(((upright ? x : y) - (float)beside) * (float)alpha);
        dot(o, upright ? beside : along, upright ? along : beside, c, alpha - second);
        dot(o, upright ? beside + 1 : along, upright ? along : beside + 1, c, second);
    }
}

enum { RING, DISC };

/** A circle or what is in it, with a soft rim. How far a pixel is from the circle is had from squares: good enough near it. */
static void circle(struct overlay *o, int shape, const float at[2], float radius, struct colour c, int32_t alpha)
{
    const int32_t reach = (int32_t)(radius + 2.0f), cx = round_down(at[0] + 0.5f), cy = round_down(at[1] + 0.5f);
    for (int32_t y = cy - reach; y <= cy + reach; y++)
        for (int32_t x = cx - reach; x <= cx + reach; x++) {
            const float dx = (float)x - at[0], dy = (float)y - at[1];
            const float off = (dx * dx + dy * dy - radius * radius) / (2.0f * radius);
            const float cover = shape == DISC ? 0.5f - off : 1.0f - (off < 0 ? -off : off);
            dot(o, x, y, c, (int32_t)(bound(cover, 0, 1) * (float)alpha));
        }
}

static void diagonal_cross(struct overlay *o, const float at[2], struct colour c)
{
    const int32_t x = round_down(at[0] + 0.5f), y = round_down(at[1] + 0.5f);
    for (int32_t i = -4; i <= 4; i++) {
        dot(o, x + i, y + i, c, 256);
        dot(o, x + i, y - i, c, 256);
        dot(o, x + i + 1, y + i, c, 256);
        dot(o, x + i + 1, y - i, c, 256);
    }
}

static void letter(struct overlay *o, int32_t left, int32_t top, int32_t scale, char c, struct colour ink)
{
    const int index = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 : c == '.' ? 36 : -1;
    if (index < 0) return;
    for (int32_t y = 0; y < GLYPH_HEIGHT * scale; y++)
        for (int32_t x = 0; x < GLYPH_WIDTH * scale; x++)
            if (glyph[index][y / scale] >> (GLYPH_WIDTH - 1 - x / scale) & 1) dot(o, left + x, top + y, ink, 256);
}

/** Text in the middle of a strip's height. Returns where the next may begin. */
static int32_t write_text(struct overlay *o, int32_t left, int32_t scale, const char *text, struct colour ink)
{
    const int32_t top = (o->part->height - GLYPH_HEIGHT * scale) / 2;
    for (; *text; text++, left += ADVANCE * scale) letter(o, left, top, scale, *text, ink);
    return left;
}

/* ---- key points -------------------------------------------------------------------------------------------------- */

/** Cosine and sine of -pi..pi by their series: no function of libm. */
static void direction(float angle_rad, float cos_sin[2])
{
    float term = 1.0f;
    cos_sin[0] = 1.0f;
    cos_sin[1] = 0.0f;
    for (int k = 1; k <= 20; k++) {
        term *= angle_rad / (float)k;
        cos_sin[k & 1] += k & 2 ? -term : term;
    }
}

/** Four pixels of the key point's level. */
static float radius_of(uint32_t level)
{
    float radius = 4.0f;
    while (level--) radius *= (float)VFRONT_SCALE_NUM / (float)VFRONT_SCALE_DEN;
    return radius;
}

static struct colour paler(struct colour c)
{
    return (struct colour){(uint8_t)((c.red + 255) / 2), (uint8_t)((c.green + 255) / 2), (uint8_t)((c.blue + 255) / 2)};
}

/** A circle, and a radius of it in the direction of the key point where it has one. */
static void mark_keypoint(struct overlay *o, const float at[2], float radius, const float *angle_rad, struct colour c,
                          int32_t alpha)
{
    circle(o, RING, at, radius, c, alpha);
    if (!angle_rad) return;
    float way[2];
    direction(*angle_rad, way);
    const float rim[2] = {at[0] + radius * way[0], at[1] + radius * way[1]};
    line_to(o, at, rim, paler(c), alpha);
}

/** The coarsest first, so that the small circles lie on top of the large ones. */
static void draw_keypoints(struct overlay *o, int32_t camera, const vfront_result_t *r)
{
    const int described = r->descriptors_count[camera] > 0, with_tracks = camera == 0 && o->what & OVERLAY_TRACKS;
    for (uint32_t i = r->keypoints_count[camera]; i-- > 0;) {
        const vfront_keypoint_t *k = &r->keypoints[camera][i];
        const float at[2] = {k->x_px, k->y_px};
        const float *angle_rad = described ? &k->angle_rad : NULL;
        const int32_t alpha = (with_tracks ? 150 : 230) - (k->weak ? 70 : 0);
        mark_keypoint(o, at, radius_of(k->level), angle_rad, level_colour[k->level % LEVELS_MOST], alpha);
    }
}

/* ---- tracks ------------------------------------------------------------------------------------------------------ */

/** Between colours that belong to certain ages. */
static struct colour colour_of(uint32_t age)
{
    static const struct {
        int32_t age;
        int32_t rgb[3];
    } stop[] = {{0, {60, 230, 90}}, {15, {240, 230, 50}}, {45, {255, 140, 30}}, {100, {255, 60, 40}}};
    const int32_t a = age < 100 ? (int32_t)age : 100;
    int i = 0;
    while (i < 2 && a > stop[i + 1].age) i++;
    int32_t v[3];
    for (int k = 0; k < 3; k++)
        v[k] = stop[i].rgb[k] +
               (stop[i + 1].rgb[k] - stop[i].rgb[k]) * (a - stop[i].age) / (stop[i + 1].age - stop[i].age);
    const struct colour c = {(uint8_t)v[0], (uint8_t)v[1], (uint8_t)v[2]};
    return c;
}

/** Takes the trails on to this frame: those of living tracks grow, the others are dropped. */
static void follow(struct overlay *o, const vfront_result_t *r)
{
    const struct trail *old = o->trail[o->now];
    const uint32_t olds = o->trails[o->now];
    uint32_t at = 0;
    o->now ^= 1;
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        struct trail *t = &o->trail[o->now][i];
        while (at < olds && old[at].id < r->tracks[i].id) at++;
        t->count = 0;
        if (at < olds && old[at].id == r->tracks[i].id) *t = old[at];
        if (t->count == OVERLAY_TRAIL) {
            memmove(t->x_px, t->x_px + 1, (OVERLAY_TRAIL - 1) * sizeof *t->x_px);
            memmove(t->y_px, t->y_px + 1, (OVERLAY_TRAIL - 1) * sizeof *t->y_px);
            t->count--;
        }
        t->id = r->tracks[i].id;
        t->x_px[t->count] = r->tracks[i].x_px;
        t->y_px[t->count++] = r->tracks[i].y_px;
    }
    o->trails[o->now] = r->tracks_count;
}

/** The dark rim keeps a track apart from key points around it. */
static void mark_track(struct overlay *o, const float at[2], uint32_t age)
{
    circle(o, DISC, at, 4.5f, black, 170);
    circle(o, DISC, at, 3.0f, age ? colour_of(age) : white, 256);
}

static void draw_trail(struct overlay *o, const vfront_track_t *track, const struct trail *t)
{
    for (uint32_t i = 1; i < t->count; i++) {
        const float from[2] = {t->x_px[i - 1], t->y_px[i - 1]}, to[2] = {t->x_px[i], t->y_px[i]};
        line_to(o, from, to, colour_of(track->age),
                256 - 18 * (int32_t)(t->count - 1 - i)); /* the older, the fainter */
    }
}

static void draw_tracks(struct overlay *o, const vfront_result_t *r)
{
    for (uint32_t i = 0; i < r->tracks_count; i++) draw_trail(o, &r->tracks[i], &o->trail[o->now][i]);
    for (uint32_t i = 0; i < r->lost_count; i++) {
        const float at[2] = {r->lost[i].x_px, r->lost[i].y_px};
        diagonal_cross(o, at, red);
    }
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const float at[2] = {r->tracks[i].x_px, r->tracks[i].y_px};
        mark_track(o, at, r->tracks[i].age);
    }
}

/* ---- matches ----------------------------------------------------------------------------------------------------- */

#if VFRONT_MATCHES
/** Of a direction: three waves, a third of a turn apart. */
static struct colour colour_towards(float dx, float dy)
{
    static const float wave[3][2] = {{1.0f, 0.0f}, {-0.5f, 0.866f}, {-0.5f, -0.866f}};
    const float length = sqrtf(dx * dx + dy * dy);
    uint8_t v[3];
    for (int k = 0; k < 3; k++)
        v[k] = length > 0.0f ? (uint8_t)(150.0f + 105.0f * (wave[k][0] * dx + wave[k][1] * dy) / length) : 150;
    return (struct colour){v[0], v[1], v[2]};
}

static void draw_matches(struct overlay *o, const vfront_result_t *r, const vfront_result_t *before)
{
    for (uint32_t i = 0; i < r->matches_count && before; i++) {
        const vfront_keypoint_t *now = &r->keypoints[0][r->matches[i].keypoint],
                                *was = &before->keypoints[0][r->matches[i].before];
        const float from[2] = {was->x_px, was->y_px}, to[2] = {now->x_px, now->y_px};
        const struct colour c = colour_towards(to[0] - from[0], to[1] - from[1]);
        line_to(o, from, to, c, 230);
        circle(o, DISC, to, 1.5f, c, 256);
    }
}
#else
static void draw_matches(struct overlay *o, const vfront_result_t *r, const vfront_result_t *before)
{
    (void)o;
    (void)r;
    (void)before;
}
#endif

/* ---- motion ------------------------------------------------------------------------------------------------------ */

static void draw_pair(struct overlay *o, const float from[2], const float to[2], uint32_t with)
{
    const struct colour c = with ? agrees : differs;
    line_to(o, from, to, c, with ? 210 : 256);
    circle(o, DISC, to, 1.4f, c, 256);
}

static void draw_track_pairs(struct overlay *o, const vfront_result_t *r)
{
    for (uint32_t i = 0; i < r->tracks_count && o->with_tracks; i++) {
        const vfront_track_t *t = &r->tracks[i];
        const float from[2] = {t->x_px - t->dx_px, t->y_px - t->dy_px}, to[2] = {t->x_px, t->y_px};
        if (t->age) draw_pair(o, from, to, t->agrees);
    }
}

#if VFRONT_MATCHES
static void draw_match_pairs(struct overlay *o, const vfront_result_t *r, const vfront_result_t *before)
{
    for (uint32_t i = 0; i < r->matches_count && before && o->with_matches; i++) {
        const vfront_match_t *m = &r->matches[i];
        const vfront_keypoint_t *was = &before->keypoints[0][m->before];
        const float from[2] = {was->x_px, was->y_px}, to[2] = {m->x_px, m->y_px};
        draw_pair(o, from, to, m->agrees);
    }
}
#else
static void draw_match_pairs(struct overlay *o, const vfront_result_t *r, const vfront_result_t *before)
{
    (void)o;
    (void)r;
    (void)before;
}
#endif

/** A ring with a dot; four ticks point away from it when the camera flies there, a cross goes through it when it comes from there. */
static void mark_target(struct overlay *o, const float at[2], int ahead, struct colour c)
{
    static const float reach[2][2] = {{10.0f, 17.0f}, {0.0f, 6.0f}};
    circle(o, RING, at, 8.0f, c, 256);
    circle(o, RING, at, 9.0f, c, 256);
    for (int i = 0; i < 4; i++) {
        const float side = i & 1 ? -1.0f : 1.0f, *r = reach[!ahead];
        const float from[2] = {at[0] + (i < 2 ? side * r[0] : 0.0f), at[1] + (i < 2 ? 0.0f : side * r[0])};
        const float to[2] = {at[0] + (i < 2 ? side * r[1] : 0.0f), at[1] + (i < 2 ? 0.0f : side * r[1])};
        line_to(o, from, to, c, 256);
    }
    if (ahead) circle(o, DISC, at, 2.0f, c, 256);
}

/** The camera was at t, in its axes now: the opposite direction is where it goes, and where points come from that stand still. */
static void draw_target(struct overlay *o, const vfront_result_t *r)
{
    const vfront_motion_t *m = r->metric.state == VFRONT_MOTION_GOOD ? &r->metric : &r->relative;
    if (m->state != VFRONT_MOTION_GOOD || m->flags & VFRONT_MOTION_STILL) return;
    for (int ahead = 0; ahead < 2; ahead++) {
        const double sign = ahead ? -1.0 : 1.0,
                     ray[3] = {sign * (double)m->t[0], sign * (double)m->t[1], sign * (double)m->t[2]};
        double px[2];
        if (ray[2] <= 0.0 || !vfront_lens_project(&o->seen, ray, px)) continue;
        if (px[0] < 0.0 || px[1] < 0.0 || px[0] > o->part->width || px[1] > o->part->height) continue;
        const float at[2] = {(float)px[0], (float)px[1]};
        mark_target(o, at, ahead, target);
    }
}

static void draw_motion(struct overlay *o, const vfront_result_t *r, const vfront_result_t *before)
{
    if (r->relative.state == VFRONT_MOTION_NONE) return;
    draw_match_pairs(o, r, before);
    draw_track_pairs(o, r);
    draw_target(o, r);
}

/* ---- depths ------------------------------------------------------------------------------------------------------ */

/** 0: far away, 1: near. */
static struct colour colour_near(float near)
{
    static const float rgb[5][3] = {{60, 90, 255}, {0, 205, 255}, {60, 230, 90}, {250, 230, 40}, {255, 50, 40}};
    const float at = 4.0f * bound(near, 0, 1);
    const int i = at < 3.0f ? (int)at : 3;
    uint8_t v[3];
    for (int k = 0; k < 3; k++) v[k] = (uint8_t)(rgb[i][k] + (rgb[i + 1][k] - rgb[i][k]) * (at - (float)i));
    return (struct colour){v[0], v[1], v[2]};
}

#if VFRONT_STEREO
static int compare_floats(const void *a, const void *b)
{
    const float one = *(const float *)a, other = *(const float *)b;
    return (one > other) - (one < other);
}

/** What is red, from the inverse depth that a tenth of the frame exceeds. It follows slowly, so that colours do not flicker. */
static void set_near(struct overlay *o, const vfront_result_t *r)
{
    float *sorted = o->sorted;
    if (!r->depths_count) return;
    for (uint32_t i = 0; i < r->depths_count; i++) sorted[i] = 1.0f / r->depths[i].depth_m;
    qsort(sorted, r->depths_count, sizeof *sorted, compare_floats);
    const float near = sorted[(r->depths_count - 1) * 9 / 10];
    o->near_per_m += (near - o->near_per_m) * (o->near_per_m > 0.0f ? 0.125f : 1.0f);
}

/** In both cameras. */
static void draw_depths(struct overlay *o, const vfront_result_t *r)
{
    set_near(o, r);
    for (uint32_t i = 0; i < r->depths_count; i++) {
        const vfront_depth_t *d = &r->depths[i];
        const vfront_keypoint_t *k = &r->keypoints[0][d->keypoint];
        const float at[VFRONT_CAMERAS][2] = {{k->x_px, k->y_px}, {d->x_px, d->y_px}};
        for (int32_t camera = 0; camera < o->cameras; camera++) {
            o->part = &o->camera[camera];
            circle(o, DISC, at[camera], 2.5f, colour_near(1.0f / d->depth_m / o->near_per_m), 256);
        }
    }
}
#else
static void draw_depths(struct overlay *o, const vfront_result_t *r)
{
    (void)o;
    (void)r;
}
#endif

/* ---- disparities ------------------------------------------------------------------------------------------------- */

#if VFRONT_DENSE
#define DISPARITY_MOST_PX 4096

/** What is red: the whole pixels that a hundredth of the frame exceeds. It follows slowly, as for depths. */
static void set_near_px(struct overlay *o, const vfront_disparity_t *d)
{
    static uint32_t count[DISPARITY_MOST_PX];
    uint32_t beyond = 0;
    int32_t near = DISPARITY_MOST_PX;
    if (!d->valid) return;
    memset(count, 0, sizeof count);
    for (int32_t y = 0; y < d->height_px; y++)
        for (int32_t x = 0; x < d->width_px; x++)
            if (d->px16[y * d->pitch + x] != VFRONT_NO_DISPARITY) count[d->px16[y * d->pitch + x] / 16]++;
    while (near > 1 && beyond <= d->valid / 100) beyond += count[--near];
    o->near_px += ((float)near - o->near_px) * (o->near_px > 0.0f ? 0.125f : 1.0f);
}

/** In the place of camera 1's picture, so that camera 0's can be seen beside it. */
static void draw_disparity(struct overlay *o, const vfront_result_t *r)
{
    const vfront_disparity_t *d = &r->disparity;
    o->part = &o->camera[o->cameras - 1];
    for (int32_t y = 0; y < o->part->height; y++)
        for (int32_t x = 0; x < o->part->width; x++) dot(o, x, y, black, 256);
    if (!d->px16) return;
    set_near_px(o, d);
    for (int32_t y = 0; y < d->height_px; y++)
        for (int32_t x = 0; x < d->width_px; x++) {
            const uint16_t px16 = d->px16[y * d->pitch + x];
            if (px16 != VFRONT_NO_DISPARITY) dot(o, x, y, colour_near((float)px16 / 16.0f / o->near_px), 256);
        }
}
#else
static void draw_disparity(struct overlay *o, const vfront_result_t *r)
{
    (void)o;
    (void)r;
}
#endif

/* ---- stixels ----------------------------------------------------------------------------------------------------- */

#define OBSTACLES_PX 10 /* height of the strip of obstacles */
#define RED_M 5.0f

static struct colour colour_away(float away_m)
{
    const float near = bound(RED_M / away_m, 0, 1);
    return (struct colour){(uint8_t)bound(510 * near, 0, 255), (uint8_t)bound(510 * (1 - near), 0, 255), 20};
}

#if VFRONT_STIXELS
/** Its first column and its uppermost row are drawn stronger, so that one can be told from the next. */
static void draw_stixel(struct overlay *o, int32_t left, int32_t width, const vfront_stixel_t *t)
{
    static const struct colour sky = {70, 110, 255};
    const struct colour c = t->type == VFRONT_STIXEL_SKY ? sky
                                                         : colour_away(t->distance_m > 0.0f ? t->distance_m : 1e6f);
    if (t->type == VFRONT_STIXEL_GROUND) return;
    for (int32_t y = t->top_px; y <= t->base_px; y++)
        for (int32_t x = left; x < left + width; x++) dot(o, x, y, c, x == left || y == t->top_px ? 150 : 90);
}

static void draw_obstacles(struct overlay *o, const vfront_result_t *r)
{
    static const struct colour unknown = {120, 120, 120};
    for (int32_t x = 0; x < o->part->width; x++) {
        const float turn = atanf(((float)x - o->cx_px) / o->fx_px) * (VFRONT_OBSTACLE_BINS / 6.2831853f);
        const uint16_t cm = r->obstacles_cm[((int)floorf(turn + 0.5f) + VFRONT_OBSTACLE_BINS) % VFRONT_OBSTACLE_BINS];
        const struct colour c = cm == VFRONT_OBSTACLE_UNKNOWN ? unknown : colour_away(0.01f * (float)cm + 0.01f);
        for (int32_t y = o->part->height - OBSTACLES_PX; y < o->part->height; y++) dot(o, x, y, c, 220);
    }
}

static void draw_stixels(struct overlay *o, const vfront_result_t *r)
{
    o->part = &o->camera[0];
    for (uint32_t i = 0; i < r->columns_count; i++)
        for (uint32_t k = 0; k < r->stixels_count[i]; k++)
            draw_stixel(o, (int32_t)(i * r->columns_width_px), (int32_t)r->columns_width_px, &r->stixels[i][k]);
    for (int32_t x = 0; x < o->part->width && r->road.state != VFRONT_ROAD_NONE; x++)
        dot(o, x, (int32_t)r->road.horizon_px, white, 200);
    if (r->columns_count) draw_obstacles(o, r);
}
#else
static void draw_stixels(struct overlay *o, const vfront_result_t *r)
{
    (void)o;
    (void)r;
}
#endif

/** Along them both pictures show the same, if they are rectified well. */
static void draw_rows(struct overlay *o)
{
    for (int32_t y = ROWS_PX; y < o->part->height; y += ROWS_PX)
        for (int32_t x = 0; x < o->part->width; x++) dot(o, x, y, white, 90);
}

/* ---- strips ------------------------------------------------------------------------------------------------------ */

static int32_t legend_keypoints(struct overlay *o, int32_t x, int32_t scale)
{
    static const float turned_rad = -0.8f;
    x = write_text(o, x, scale, "key points by level", grey);
    for (int32_t i = 0; i < o->levels; i++) {
        const char number[2] = {(char)('0' + i), 0};
        const float radius = bound(radius_of((uint32_t)i), 0, LEGEND_PX / 2 - 2);
        const float at[2] = {(float)(x + 8) + radius, LEGEND_PX / 2};
        mark_keypoint(o, at, radius, &turned_rad, level_colour[i], 256);
        x = write_text(o, (int32_t)(at[0] + radius) + 3, scale, number, level_colour[i]);
    }
    return x + 16;
}

static int32_t legend_tracks(struct overlay *o, int32_t x, int32_t scale)
{
    static const float middle = LEGEND_PX / 2;
    const float born[2] = {(float)x + 4, middle};
    mark_track(o, born, 0);
    x = write_text(o, x + 12, scale, "new", grey) + 12;
    for (uint32_t age = 1; age <= 100; age++, x++)
        for (int32_t y = -3; y <= 3; y++) dot(o, x, LEGEND_PX / 2 + y, colour_of(age), 256);
    x = write_text(o, x + 4, scale, "100 frames old", grey) + 16;
    const float ended[2] = {(float)x, middle};
    diagonal_cross(o, ended, red);
    return write_text(o, x + 10, scale, "ended", grey) + 16;
}

static int32_t legend_motion(struct overlay *o, int32_t x, int32_t scale)
{
    static const float middle = LEGEND_PX / 2;
    for (int with = 1; with >= 0; with--) {
        const float from[2] = {(float)x, middle}, to[2] = {(float)x + 18, middle};
        draw_pair(o, from, to, (uint32_t)with);
        x = write_text(o, x + 24, scale, with ? "agrees" : "does not", grey) + 12;
    }
    for (int ahead = 1; ahead >= 0; ahead--) {
        const float at[2] = {(float)x + 17, middle};
        mark_target(o, at, ahead, target);
        x = write_text(o, x + (ahead ? 40 : 32), scale, ahead ? "flies to" : "comes from", grey) + 4;
    }
    return x + 12;
}

static int32_t legend_depths(struct overlay *o, int32_t x, int32_t scale)
{
    x = write_text(o, x, scale, "near", grey) + 4;
    for (int32_t i = 0; i <= 60; i++, x++)
        for (int32_t y = -3; y <= 3; y++) dot(o, x, LEGEND_PX / 2 + y, colour_near(1.0f - (float)i / 60.0f), 256);
    return write_text(o, x + 4, scale, "far", grey) + 16;
}

/** How many pixels are red. */
static int32_t legend_disparity(struct overlay *o, int32_t x, int32_t scale)
{
    char red_px[32];
    snprintf(red_px, sizeof red_px, "%d px", (int)(o->near_px + 0.5f));
    x = write_text(o, x, scale, red_px, grey) + 4;
    for (int32_t i = 0; i <= 120; i++, x++)
        for (int32_t y = -5; y <= 5; y++) dot(o, x, LEGEND_PX / 2 + y, colour_near(1.0f - (float)i / 120.0f), 256);
    return write_text(o, x + 4, scale, "0 px  black none", grey) + 16;
}

static int32_t legend_stixels(struct overlay *o, int32_t x, int32_t scale)
{
    x = write_text(o, x, scale, "5 m", grey) + 4;
    for (int32_t i = 0; i <= 60; i++, x++)
        for (int32_t y = -3; y <= 3; y++)
            dot(o, x, LEGEND_PX / 2 + y, colour_away(RED_M * 60.0f / (60.0f - (float)i + 0.01f)), 256);
    return write_text(o, x + 4, scale, "far", grey) + 16;
}

static int32_t draw_legend(struct overlay *o, int32_t scale)
{
    int32_t x = 6;
    if (o->what & OVERLAY_TRACKS) x = legend_tracks(o, x, scale);
    if (o->what & OVERLAY_KEYPOINTS) x = legend_keypoints(o, x, scale);
    if (o->what & OVERLAY_DEPTHS) x = legend_depths(o, x, scale);
    if (o->what & OVERLAY_MOTION) x = legend_motion(o, x, scale);
    if (o->what & OVERLAY_STIXELS) x = legend_stixels(o, x, scale);
    if (o->what & OVERLAY_DISPARITY) x = legend_disparity(o, x, scale);
    return x;
}

/** Twice as large where there is room for it; the first run draws on nothing and finds out. */
static void draw_strips(struct overlay *o, const char *line)
{
    static const struct part nothing = {0, 0, 0, 0};
    o->part = &nothing;
    const int32_t large = draw_legend(o, 2) <= o->width;
    o->part = &o->legend;
    draw_legend(o, large ? 2 : 1);
    o->part = &o->head;
    write_text(o, 4, 2 * ADVANCE * (int32_t)strlen(line) + 8 <= o->width ? 2 : 1, line, white);
}

/** Darker where much that is small is drawn on it. */
static void draw_picture(struct overlay *o, const struct part *part, const vfront_picture_t *p)
{
    const int shade = o->what == OVERLAY_TRACKS || o->what == OVERLAY_DISPARITY ? 8 : 6;
    for (int32_t y = 0; y < part->height; y++) {
        const uint8_t *row = (const uint8_t *)p->data + (size_t)y * p->pitch_bytes;
        const uint16_t *wide = (const uint16_t *)(const void *)row;
        uint8_t *to = o->rgb + 3 * ((size_t)(part->top + y) * (size_t)o->width + (size_t)part->left);
        for (int32_t x = 0; x < part->width; x++, to += 3)
            to[0] = to[1] = to[2] = (uint8_t)((p->format == VFRONT_GREY16 ? wide[x] >> 8 : row[x]) * shade / 8);
    }
}

const uint8_t *overlay_draw(overlay_t *o, const vfront_frame_t *frame, const vfront_result_t *r,
                            const vfront_result_t *before, const char *line)
{
    memset(o->rgb, 24, (size_t)o->width * (size_t)o->height * 3);
    for (int32_t i = 0; i < o->cameras; i++) {
        o->part = &o->camera[i];
        draw_picture(o, o->part, &frame->picture[i]);
        if (o->rectified && o->what == OVERLAY_DEPTHS) draw_rows(o);
        if (o->what & OVERLAY_KEYPOINTS) draw_keypoints(o, i, r);
    }
    if (o->what & OVERLAY_DEPTHS) draw_depths(o, r);
    if (o->what & OVERLAY_STIXELS) draw_stixels(o, r);
    if (o->what & OVERLAY_DISPARITY) draw_disparity(o, r);
    o->part = &o->camera[0];
    follow(o, r);
    if (o->what & OVERLAY_MATCHES) draw_matches(o, r, before);
    if (o->what & OVERLAY_MOTION) draw_motion(o, r, before);
    if (o->what & OVERLAY_TRACKS) draw_tracks(o, r);
    draw_strips(o, line);
    return o->rgb;
}
