/* SPDX-License-Identifier: MIT */
/* Host form of describe: one key point at a time. */
#include "describe.h"

#include "image/scale.h"

#if VFRONT_DESCRIPTORS

#include "describe_pattern.h"

/** Side of the square that contains the disc of the moments [px]: one more than its diameter, so that rows are whole
 *  vectors. */
#define DISC_SIDE (2 * VF_DISC_RADIUS + 2)
/** Side of the square that contains the rotated pattern of point pairs [px]. */
#define PATTERN_SIDE (2 * VF_PATTERN_RADIUS + 1)

static const int8_t pattern[256][4] = {VF_PATTERN_PAIRS};

/** Number of points of the pattern: the first and second point of each pair in turn. */
#define POINTS 512

/** First pixel of the square of `side` px around (x, y): in the level, or in a mirrored copy in `scratch` if the square
 *  crosses the border. *pitch: bytes from row to row. */
static const uint8_t *square(const uint8_t *pixels, const struct vf_level *l, int32_t x, int32_t y, int32_t side,
                             uint8_t *scratch, ptrdiff_t *pitch)
{
    const int32_t x0 = x - side / 2, y0 = y - side / 2;
    *pitch = l->pitch;
    if (x0 >= 0 && y0 >= 0 && x0 + side <= l->width && y0 + side <= l->height)
        return pixels + (ptrdiff_t)y0 * l->pitch + x0;
    *pitch = side;
    for (int32_t v = 0; v < side; v++)
        for (int32_t u = 0; u < side; u++)
            scratch[v * side + u] =
                pixels[(ptrdiff_t)vf_mirror(y0 + v, l->height) * l->pitch + vf_mirror(x0 + u, l->width)];
    return scratch;
}

/** Mask of column u from the middle, in a row of the disc with half width `half` px: all ones inside, 0 outside. */
#define IN(half, u) (u) <= (half) && (u) >= -(half) ? -1 : 0
#define IN4(half, u) IN(half, u), IN(half, u + 1), IN(half, u + 2), IN(half, u + 3)
#define ROW(half)                                                                                                      \
    {                                                                                                                  \
        IN4(half, -16), IN4(half, -12), IN4(half, -8), IN4(half, -4), IN4(half, 0), IN4(half, 4), IN4(half, 8),        \
            IN4(half, 12)                                                                                              \
    }
static const int16_t within[VF_DISC_RADIUS + 1][DISC_SIDE] = {ROW(0),  ROW(1),  ROW(2),  ROW(3), ROW(4),  ROW(5),
                                                              ROW(6),  ROW(7),  ROW(8),  ROW(9), ROW(10), ROW(11),
                                                              ROW(12), ROW(13), ROW(14), ROW(15)};

/** Column sums over the disc around `middle`. sum: grey levels; sum_v: grey level times row. Rows v and -v are added
 *  together. All columns of the square are read, and pixels outside the disc are masked. */
VF_HOT static void sum_columns(int16_t *restrict sum, int16_t *restrict sum_v, const uint8_t *restrict middle,
                               ptrdiff_t pitch)
{
    for (int k = 0; k < DISC_SIDE; k++) {
        sum[k] = middle[k - DISC_SIDE / 2];
        sum_v[k] = 0;
    }
    for (int16_t v = 1; v <= VF_DISC_RADIUS; v++) {
        const uint8_t *above = middle - v * pitch - DISC_SIDE / 2, *below = middle + v * pitch - DISC_SIDE / 2;
        const int16_t *in = within[vf_disc_half(v)];
        for (int k = 0; k < DISC_SIDE; k++) sum[k] = (int16_t)(sum[k] + ((above[k] + below[k]) & in[k]));
        for (int k = 0; k < DISC_SIDE; k++) {
            const int16_t difference = (int16_t)(below[k] - above[k]);
            sum_v[k] = (int16_t)(sum_v[k] + (int16_t)(v * (difference & in[k])));
        }
    }
}

/** First moments of the disc in the middle of a square. */
static void moments(const uint8_t *disc, ptrdiff_t pitch, int32_t *mx, int32_t *my)
{
    int16_t sum[DISC_SIDE], sum_v[DISC_SIDE];
    sum_columns(sum, sum_v, disc + DISC_SIDE / 2 * (pitch + 1), pitch);
    *mx = *my = 0;
    for (int32_t k = 1; k < DISC_SIDE; k++) {
        *mx += (k - DISC_SIDE / 2) * sum[k];
        *my += sum_v[k];
    }
}

/** Points of the pattern as separate x and y arrays, for vector code. */
struct points {
    int16_t x[POINTS], y[POINTS];
};
static void take_apart(struct points *p)
{
    for (int32_t i = 0; i < POINTS; i++) {
        p->x[i] = pattern[i / 2][2 * (i % 2)];
        p->y[i] = pattern[i / 2][2 * (i % 2) + 1];
    }
}

/** Offsets of the rotated pattern points from the key point [bytes]. */
VF_HOT static void rotate_pattern(int32_t *restrict offset, const struct points *restrict at, int32_t pitch,
                                  struct vf_rotation_q14 t)
{
    for (int32_t i = 0; i < POINTS; i++)
        offset[i] = vf_rotated_y(t, at->x[i], at->y[i]) * pitch + vf_rotated_x(t, at->x[i], at->y[i]);
}

/** Descriptor of the key point in the middle of a square of its smoothed level. at: points of the pattern; t: rotation
 *  of the pattern. */
static vfront_descriptor_t compare_pairs(const struct points *at, const uint8_t *smooth, ptrdiff_t pitch,
                                         struct vf_rotation_q14 t)
{
    const uint8_t *centre = smooth + VF_PATTERN_RADIUS * pitch + VF_PATTERN_RADIUS;
    int32_t offset[POINTS];
    vfront_descriptor_t d;
    rotate_pattern(offset, at, (int32_t)pitch, t);
    for (int32_t i = 0; i < 8; i++) {
        const int32_t *pair = offset + 64 * i;
        uint32_t word = 0;
        VF_UNROLL_FULL
        for (int32_t k = 31; k >= 0; k--) word = 2 * word + (centre[pair[2 * k]] < centre[pair[2 * k + 1]]);
        d.word[i] = word;
    }
    return d;
}

/** Computes angle and descriptor of the i-th key point of a camera. */
static void describe_one(const struct vf_describe_view *s, const struct points *at, int32_t camera, int32_t i)
{
    struct vf_describe_memory *m = s->describe;
    const struct vf_corner c = vf_detect_corner(
        s->select
            ->key[camera][vf_keypoint_index(s->geometry.groups, s->geometry.group_first, s->select->count[camera], i)]);
    const struct vf_level *l = &s->geometry.scale[camera][c.level];
    uint8_t scratch[PATTERN_SIDE * PATTERN_SIDE];
    ptrdiff_t pitch = 0;
    int32_t mx, my;
    const uint8_t *disc = square(vf_scale_pixels(s->scale, s->pictures.level0[s->parity][camera], camera, c.level, l),
                                 l, c.x, c.y, DISC_SIDE, scratch, &pitch);
    moments(disc, pitch, &mx, &my);
    m->angle[s->parity][camera][i] = vf_atan2f((float)my, (float)mx);
    const uint8_t *smooth = square(vf_smooth_pixels(s->smooth, s->geometry.scale[camera], camera, c.level), l, c.x, c.y,
                                   PATTERN_SIDE, scratch, &pitch);
    m->descriptor[s->parity][camera][i] = compare_pairs(at, smooth, pitch, vf_describe_rotation(mx, my));
}

#endif

void vf_describe_host(const struct vf_describe_view *s)
{
#if VFRONT_DESCRIPTORS
    struct points at;
    take_apart(&at);
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++)
        for (uint32_t i = 0; i < vf_keypoints(s->geometry.groups, s->select->count[camera]); i++)
            describe_one(s, &at, camera, (int32_t)i);
#else
    (void)s;
#endif
}
