/* SPDX-License-Identifier: MIT
 *
 * Drawing primitives on an RGB picture: pixels, lines, circles, crosses and text, antialiased and clipped to a region.
 */
#ifndef CANVAS_H
#define CANVAS_H

#include <stddef.h>
#include <stdint.h>

#define CANVAS_GLYPH_WIDTH 5
#define CANVAS_GLYPH_HEIGHT 7
#define CANVAS_ADVANCE (CANVAS_GLYPH_WIDTH + 1) /* from one letter to the next, at scale 1 [px] */

/** Rectangle of a canvas [px]: origin of the coordinates drawn with, and their clipping border. */
struct region {
    int32_t left, top, width, height;
};

struct colour {
    uint8_t red, green, blue;
};

struct canvas {
    int32_t width, height;
    uint8_t *rgb;                /* [height][width][3] */
    const struct region *region; /* the current one */
};

enum { CANVAS_RING, CANVAS_DISC };

/** Blend a colour over a pixel, weight alpha / 256. Pixels outside of the region are ignored. */
static inline void canvas_dot(struct canvas *canvas, int32_t x, int32_t y, struct colour c, int32_t alpha)
{
    const struct region *p = canvas->region;
    if (x < 0 || y < 0 || x >= p->width || y >= p->height) return;
    uint8_t *at = canvas->rgb + 3 * ((size_t)(p->top + y) * (size_t)canvas->width + (size_t)(p->left + x));
    at[0] = (uint8_t)(at[0] + (c.red - at[0]) * alpha / 256);
    at[1] = (uint8_t)(at[1] + (c.green - at[1]) * alpha / 256);
    at[2] = (uint8_t)(at[2] + (c.blue - at[2]) * alpha / 256);
}

/** Floor, for v > -65536. */
static inline int32_t canvas_floor(float v) { return (int32_t)(v + 65536.0f) - 65536; }

static inline float canvas_clamp(float v, float min, float max) { return v < min ? min : v > max ? max : v; }

/** Antialiased line without its first pixel, so that the segments of a trail do not overlap. */
void canvas_line(struct canvas *canvas, const float from[2], const float to[2], struct colour c, int32_t alpha);

/** Antialiased circle; `shape` is CANVAS_RING or CANVAS_DISC. */
void canvas_circle(struct canvas *canvas, int shape, const float at[2], float radius, struct colour c, int32_t alpha);

/** Diagonal cross, from -reach to reach around its centre. */
void canvas_cross(struct canvas *canvas, const float at[2], int32_t reach, struct colour c);

/** Text of letters, digits, spaces and full stops, centred vertically in the region. Returns the x of its end. */
int32_t canvas_text(struct canvas *canvas, int32_t left, int32_t scale, const char *text, struct colour c);

#endif
