/* SPDX-License-Identifier: MIT */
#include "overlay.h"

#include <stdlib.h>
#include <string.h>

#define GLYPH_WIDTH 5
#define GLYPH_HEIGHT 7

/** Where a track was, the latest last. */
struct trail {
    uint64_t id;
    uint32_t count;
    float x_px[OVERLAY_TRAIL], y_px[OVERLAY_TRAIL];
};

struct overlay {
    int32_t width, height;
    uint8_t *rgb;
    int now; /* which of the two lists is the current one; both by rising id */
    uint32_t trails[2];
    struct trail trail[2][VFRONT_TRACKS];
};

struct colour {
    uint8_t red, green, blue;
};

static const struct colour white = {255, 255, 255}, black = {0, 0, 0}, red = {255, 40, 40}, blue = {70, 150, 255};

/** Rows of 0..9 and a..z from the top; bit 4 is the left column. */
static const uint8_t glyph[36][GLYPH_HEIGHT] = {
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
};

overlay_t *overlay_open(int32_t width_px, int32_t height_px)
{
    struct overlay *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->width = width_px;
    o->height = height_px;
    o->rgb = malloc((size_t)width_px * (size_t)height_px * 3);
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

/* ---- strokes ------------------------------------------------------------------------------------------------------- */

/** Lays colour over a pixel, alpha / 256 of it; nothing beside the picture. */
static void dot(struct overlay *o, int32_t x, int32_t y, struct colour c, int32_t alpha)
{
    if (x < 0 || y < 0 || x >= o->width || y >= o->height) return;
    uint8_t *at = o->rgb + 3 * ((size_t)y * (size_t)o->width + (size_t)x);
    at[0] = (uint8_t)(at[0] + (c.red - at[0]) * alpha / 256);
    at[1] = (uint8_t)(at[1] + (c.green - at[1]) * alpha / 256);
    at[2] = (uint8_t)(at[2] + (c.blue - at[2]) * alpha / 256);
}

static int32_t nearest(float v) { return (int32_t)(v + 0.5f); }

/** A line without its first pixel, so that the parts of a trail do not overlap. */
static void line_to(struct overlay *o, const float from[2], const float to[2], struct colour c, int32_t alpha)
{
    const float dx = to[0] - from[0], dy = to[1] - from[1];
    const float long_x = dx < 0 ? -dx : dx, long_y = dy < 0 ? -dy : dy;
    const int32_t steps = 1 + (int32_t)(long_x > long_y ? long_x : long_y);
    for (int32_t i = 1; i <= steps; i++) {
        const float share = (float)i / (float)steps;
        dot(o, nearest(from[0] + dx * share), nearest(from[1] + dy * share), c, alpha);
    }
}

static void circle(struct overlay *o, float x_px, float y_px, struct colour c)
{
    static const int8_t rim[16][2] = {{3, 0}, {3, 1}, {2, 2}, {1, 3}, {0, 3}, {-1, 3}, {-2, 2}, {-3, 1},
                                      {-3, 0}, {-3, -1}, {-2, -2}, {-1, -3}, {0, -3}, {1, -3}, {2, -2}, {3, -1}};
    const int32_t x = nearest(x_px), y = nearest(y_px);
    for (int i = 0; i < 16; i++) dot(o, x + rim[i][0], y + rim[i][1], c, 256);
}

static void diagonal_cross(struct overlay *o, float x_px, float y_px, struct colour c)
{
    const int32_t x = nearest(x_px), y = nearest(y_px);
    for (int32_t i = -3; i <= 3; i++) {
        dot(o, x + i, y + i, c, 256);
        dot(o, x + i, y - i, c, 256);
    }
}

static void letter(struct overlay *o, int32_t left, int32_t top, int32_t scale, char c)
{
    const int index = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 : -1;
    if (index < 0) return;
    for (int32_t y = 0; y < GLYPH_HEIGHT * scale; y++)
        for (int32_t x = 0; x < GLYPH_WIDTH * scale; x++)
            if (glyph[index][y / scale] >> (GLYPH_WIDTH - 1 - x / scale) & 1) dot(o, left + x, top + y, white, 256);
}

/** Twice as large where the picture is wide enough for it. */
static void write_line(struct overlay *o, const char *text)
{
    const int32_t count = (int32_t)strlen(text), advance = GLYPH_WIDTH + 1;
    const int32_t scale = 2 * advance * count + 8 <= o->width ? 2 : 1;
    for (int32_t y = 0; y < (GLYPH_HEIGHT + 4) * scale; y++)
        for (int32_t x = 0; x < (advance * count + 3) * scale; x++) dot(o, x, y, black, 160);
    for (int32_t i = 0; i < count; i++) letter(o, (2 + advance * i) * scale, 2 * scale, scale, text[i]);
}

/* ---- tracks -------------------------------------------------------------------------------------------------------- */

/** Between colours that belong to certain ages. */
static struct colour colour_of(uint32_t age)
{
    static const struct {
        int32_t age;
        int32_t rgb[3];
    } stop[] = {{0, {60, 230, 90}}, {15, {240, 230, 50}}, {45, {255, 140, 30}}, {100, {220, 90, 255}}};
    const int32_t a = age < 100 ? (int32_t)age : 100;
    int i = 0;
    while (i < 2 && a > stop[i + 1].age) i++;
    int32_t v[3];
    for (int k = 0; k < 3; k++)
        v[k] = stop[i].rgb[k] + (stop[i + 1].rgb[k] - stop[i].rgb[k]) * (a - stop[i].age) / (stop[i + 1].age - stop[i].age);
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

static void draw_track(struct overlay *o, const vfront_track_t *track, const struct trail *t)
{
    const struct colour c = track->age ? colour_of(track->age) : white;
    for (uint32_t i = 1; i < t->count; i++) {
        const float from[2] = {t->x_px[i - 1], t->y_px[i - 1]}, to[2] = {t->x_px[i], t->y_px[i]};
        line_to(o, from, to, c, 256 - 18 * (int32_t)(t->count - 1 - i)); /* the older, the fainter */
    }
    circle(o, track->x_px, track->y_px, c);
}

static void draw_picture(struct overlay *o, const vfront_picture_t *p)
{
    for (int32_t y = 0; y < o->height; y++) {
        const uint8_t *row = (const uint8_t *)p->data + (size_t)y * p->pitch_bytes;
        const uint16_t *wide = (const uint16_t *)(const void *)row;
        uint8_t *to = o->rgb + 3 * (size_t)y * (size_t)o->width;
        for (int32_t x = 0; x < o->width; x++, to += 3)
            to[0] = to[1] = to[2] = p->format == VFRONT_GREY16 ? (uint8_t)(wide[x] >> 8) : row[x];
    }
}

const uint8_t *overlay_draw(overlay_t *o, const vfront_picture_t *picture, const vfront_result_t *r, const char *line)
{
    draw_picture(o, picture);
    follow(o, r);
    for (uint32_t i = 0; i < r->keypoints_count[0]; i++) {
        const vfront_keypoint_t *k = &r->keypoints[0][i];
        const int32_t x = (int32_t)k->x_px, y = (int32_t)k->y_px;
        for (int32_t d = 0; d < 4; d++) dot(o, x + (d & 1), y + (d >> 1), blue, 200);
    }
    for (uint32_t i = 0; i < r->lost_count; i++) diagonal_cross(o, r->lost[i].x_px, r->lost[i].y_px, red);
    for (uint32_t i = 0; i < r->tracks_count; i++) draw_track(o, &r->tracks[i], &o->trail[o->now][i]);
    write_line(o, line);
    return o->rgb;
}
