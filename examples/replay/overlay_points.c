/* SPDX-License-Identifier: MIT */
/* Layers of the overlay: key points, tracks, matches and motion. */
#include "overlay_internal.h"

#include <math.h>
#include <string.h>

#define MATCHED 120  /* weight of the circle of a key point that is matched, among other layers; of 256 */
#define UNMATCHED 40 /* the same without a match */

const struct colour overlay_level_colour[LEVELS_MAX] = {
    {100, 255, 255}, {80, 205, 255}, {75, 155, 255}, {95, 110, 255},
    {140, 90, 255},  {185, 90, 255}, {230, 90, 245}, {255, 110, 195},
};

/* ---- key points -------------------------------------------------------------------------------------------------- */

/** Cosine and sine of an angle -pi..pi by their series, without libm. */
static void cosine_sine(float angle_rad, float cos_sin[2])
{
    float term = 1.0f;
    cos_sin[0] = 1.0f;
    cos_sin[1] = 0.0f;
    for (int k = 1; k <= 20; k++) {
        term *= angle_rad / (float)k;
        cos_sin[k & 1] += k & 2 ? -term : term;
    }
}

/** Radius of a key point's circle [px]: four pixels of its level. */
float overlay_keypoint_radius_px(uint32_t level)
{
    float radius = 4.0f;
    while (level--) radius *= (float)VFRONT_SCALE_NUM / (float)VFRONT_SCALE_DEN;
    return radius;
}

static struct colour lighter(struct colour c)
{
    return (struct colour){(uint8_t)((c.red + 255) / 2), (uint8_t)((c.green + 255) / 2), (uint8_t)((c.blue + 255) / 2)};
}

/** Circle with a radius along the orientation. `angle_rad` is NULL for a key point without orientation. */
void overlay_mark_keypoint(struct overlay *o, const float at[2], float radius, const float *angle_rad, struct colour c,
                           int32_t alpha)
{
    canvas_circle(&o->canvas, CANVAS_RING, at, radius, c, alpha);
    if (!angle_rad) return;
    float heading[2];
    cosine_sine(*angle_rad, heading);
    const float rim[2] = {at[0] + radius * heading[0], at[1] + radius * heading[1]};
    canvas_line(&o->canvas, at, rim, lighter(c), alpha);
}

static void find_matched(struct overlay *o, const vfront_result_t *r)
{
    memset(o->matched, 0, sizeof o->matched);
#if VFRONT_STEREO
    for (uint32_t i = 0; i < r->depths_count; i++) {
        o->matched[0][r->depths[i].keypoint] = 1;
        if (r->depths[i].match != VFRONT_NO_MATCH) o->matched[1][r->depths[i].match] = 1;
    }
#endif
#if VFRONT_MATCHES
    for (uint32_t i = 0; i < r->matches_count; i++) o->matched[0][r->matches[i].keypoint] = 1;
#endif
    (void)r;
}

/** Of each square of SPACED_PX the best key point: one with a match before one without, then by score. */
static void show_best(struct overlay *o, int32_t camera, const vfront_result_t *r)
{
    const vfront_keypoint_t *k = r->keypoints[camera];
    const uint8_t *matched = o->matched[camera];
    memset(o->best, -1, sizeof o->best);
    for (uint32_t i = 0; i < r->keypoints_count[camera]; i++) {
        int32_t *best = &o->best[(int32_t)k[i].y_px / SPACED_PX * SPACED_COLUMNS + (int32_t)k[i].x_px / SPACED_PX];
        if (*best < 0 || (matched[i] == matched[*best] ? k[i].score > k[*best].score : matched[i])) *best = (int32_t)i;
    }
    for (int32_t i = 0; i < SPACED_CELLS; i++)
        if (o->best[i] >= 0) o->shown[camera][o->best[i]] = 1;
}

/** Of the other cameras: what belongs to a key point of camera 0 that is shown. */
static void show_partners(struct overlay *o, const vfront_result_t *r)
{
#if VFRONT_STEREO
    for (uint32_t i = 0; i < r->depths_count; i++)
        if (r->depths[i].match != VFRONT_NO_MATCH) o->shown[1][r->depths[i].match] = o->shown[0][r->depths[i].keypoint];
#endif
    for (int32_t i = 1; i < o->cameras && !r->depths_count; i++) show_best(o, i, r);
}

void overlay_find_points(struct overlay *o, const vfront_result_t *r)
{
    const int alone = !(o->what & (o->what - 1u)); /* a single layer */
    find_matched(o, r);
    memset(o->shown, alone, sizeof o->shown);
    if (alone) return;
    show_best(o, 0, r);
    show_partners(o, r);
}

/** Key point among other layers: a grey circle, faint without a match, so that thousands hide nothing. */
static void mark_among_others(struct overlay *o, const float at[2], uint32_t level, int is_matched)
{
    overlay_mark_keypoint(o, at, overlay_keypoint_radius_px(level), NULL, grey, is_matched ? MATCHED : UNMATCHED);
}

/** Key points of one camera, from the coarsest level, so that small circles lie on top of large ones. */
void overlay_draw_keypoints(struct overlay *o, int32_t camera, const vfront_result_t *r)
{
    const int described = r->descriptors_count[camera] > 0;
    for (uint32_t i = r->keypoints_count[camera]; i-- > 0;) {
        const vfront_keypoint_t *k = &r->keypoints[camera][i];
        const float at[2] = {k->x_px, k->y_px};
        if (overlay_alone(o, OVERLAY_KEYPOINTS))
            overlay_mark_keypoint(o, at, overlay_keypoint_radius_px(k->level), described ? &k->angle_rad : NULL,
                                  overlay_level_colour[k->level % LEVELS_MAX], k->low ? 160 : 230);
        else if (o->shown[camera][i])
            mark_among_others(o, at, k->level, o->matched[camera][i]);
    }
}

/* ---- tracks ------------------------------------------------------------------------------------------------------ */

/** Colour of a track's age, interpolated between fixed ages. */
struct colour overlay_age_colour(uint32_t age)
{
    static const struct {
        int32_t age;
        int32_t rgb[3];
    } stop[] = {{0, {255, 225, 250}}, {15, {255, 165, 240}}, {45, {255, 95, 225}}, {100, {255, 0, 200}}};
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

/** Update the trails: append a position to those of live tracks, drop the others. */
void overlay_update_trails(struct overlay *o, const vfront_result_t *r)
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

/** Disc with a dark rim, which sets a track off from key points around it. */
void overlay_mark_track(struct overlay *o, const float at[2], uint32_t age)
{
    canvas_circle(&o->canvas, CANVAS_DISC, at, 4.5f, black, 170);
    canvas_circle(&o->canvas, CANVAS_DISC, at, 3.0f, age ? overlay_age_colour(age) : white, 256);
}

static void draw_trail(struct overlay *o, const vfront_track_t *track, const struct trail *t)
{
    for (uint32_t i = 1; i < t->count; i++) {
        const float from[2] = {t->x_px[i - 1], t->y_px[i - 1]}, to[2] = {t->x_px[i], t->y_px[i]};
        canvas_line(&o->canvas, from, to, overlay_age_colour(track->age),
                    256 - 18 * (int32_t)(t->count - 1 - i)); /* older segments are fainter */
    }
}

void overlay_draw_tracks(struct overlay *o, const vfront_result_t *r)
{
    for (uint32_t i = 0; i < r->tracks_count; i++) draw_trail(o, &r->tracks[i], &o->trail[o->now][i]);
    for (uint32_t i = 0; i < r->lost_count; i++) {
        const float at[2] = {r->lost[i].x_px, r->lost[i].y_px};
        canvas_cross(&o->canvas, at, ENDED_PX, overlay_age_colour(100));
    }
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const float at[2] = {r->tracks[i].x_px, r->tracks[i].y_px};
        overlay_mark_track(o, at, r->tracks[i].age);
    }
}

/* ---- matches ----------------------------------------------------------------------------------------------------- */

/** Colour of a direction: three cosines, a third of a turn apart. */
struct colour overlay_direction_colour(float dx, float dy)
{
    static const float wave[3][2] = {{1.0f, 0.0f}, {-0.5f, 0.866f}, {-0.5f, -0.866f}};
    const float length = sqrtf(dx * dx + dy * dy);
    uint8_t v[3];
    for (int k = 0; k < 3; k++)
        v[k] = length > 0.0f ? (uint8_t)(150.0f + 105.0f * (wave[k][0] * dx + wave[k][1] * dy) / length) : 150;
    return (struct colour){v[0], v[1], v[2]};
}

#if VFRONT_MATCHES
/** Matches, coloured by direction where they are alone. Those that overlay_draw_motion() draws are left to it. */
void overlay_draw_matches(struct overlay *o, const vfront_result_t *r)
{
    const int alone = overlay_alone(o, OVERLAY_MATCHES);
    if (o->what & OVERLAY_MOTION && o->with_matches && r->relative.state != VFRONT_MOTION_NONE) return;
    for (uint32_t i = 0; i < r->matches_count; i++) {
        const vfront_match_t *m = &r->matches[i];
        if (!o->shown[0][m->keypoint]) continue;
        const float from[2] = {m->x_before_px, m->y_before_px}, to[2] = {m->x_px, m->y_px};
        const struct colour c = alone ? overlay_direction_colour(to[0] - from[0], to[1] - from[1]) : grey;
        canvas_line(&o->canvas, from, to, c, alone ? 230 : 110);
        canvas_circle(&o->canvas, CANVAS_DISC, to, 1.5f, c, alone ? 256 : 110);
    }
}
#else
void overlay_draw_matches(struct overlay *o, const vfront_result_t *r)
{
    (void)o;
    (void)r;
}
#endif

/* ---- motion ------------------------------------------------------------------------------------------------------ */

/** Correspondence: a thin grey line that ends in a dot if it agrees with the motion, a white one that ends in a cross
 *  if it does not. */
void overlay_mark_pair(struct overlay *o, const float from[2], const float to[2], uint32_t is_inlier)
{
    const struct colour c = is_inlier ? pale : white;
    canvas_line(&o->canvas, from, to, c, is_inlier ? 130 : 256);
    if (is_inlier)
        canvas_circle(&o->canvas, CANVAS_DISC, to, 1.2f, c, 160);
    else
        canvas_cross(&o->canvas, to, 2, c);
}

static void draw_track_pairs(struct overlay *o, const vfront_result_t *r)
{
    for (uint32_t i = 0; i < r->tracks_count && o->with_tracks; i++) {
        const vfront_track_t *t = &r->tracks[i];
        const float from[2] = {t->x_px - t->dx_px, t->y_px - t->dy_px}, to[2] = {t->x_px, t->y_px};
        if (t->age) overlay_mark_pair(o, from, to, t->agrees);
    }
}

#if VFRONT_MATCHES
static void draw_match_pairs(struct overlay *o, const vfront_result_t *r)
{
    for (uint32_t i = 0; i < r->matches_count && o->with_matches; i++) {
        const vfront_match_t *m = &r->matches[i];
        if (!o->shown[0][m->keypoint]) continue;
        const float from[2] = {m->x_before_px, m->y_before_px}, to[2] = {m->x_px, m->y_px};
        overlay_mark_pair(o, from, to, m->agrees);
    }
}
#else
static void draw_match_pairs(struct overlay *o, const vfront_result_t *r)
{
    (void)o;
    (void)r;
}
#endif

/** Ring with four ticks and a dot for the direction of flight (ahead 1), with a cross for the direction where the
 *  camera comes from (0); white on a dark disc. */
void overlay_mark_epipole(struct overlay *o, const float at[2], int ahead)
{
    static const float reach[2][2] = {{10.0f, 17.0f}, {0.0f, 6.0f}};
    const struct colour c = white;
    canvas_circle(&o->canvas, CANVAS_DISC, at, 12.0f, black, 200);
    canvas_circle(&o->canvas, CANVAS_RING, at, 8.0f, c, 256);
    canvas_circle(&o->canvas, CANVAS_RING, at, 9.0f, c, 256);
    for (int i = 0; i < 4; i++) {
        const float side = i & 1 ? -1.0f : 1.0f, *r = reach[!ahead];
        const float from[2] = {at[0] + (i < 2 ? side * r[0] : 0.0f), at[1] + (i < 2 ? 0.0f : side * r[0])};
        const float to[2] = {at[0] + (i < 2 ? side * r[1] : 0.0f), at[1] + (i < 2 ? 0.0f : side * r[1])};
        canvas_line(&o->canvas, from, to, c, 256);
    }
    if (ahead) canvas_circle(&o->canvas, CANVAS_DISC, at, 2.0f, c, 256);
}

/** Epipoles: t is the previous camera position in current axes, -t the direction of flight, from which the flow of
 *  static points expands. */
static void draw_epipoles(struct overlay *o, const vfront_result_t *r)
{
    const vfront_motion_t *m = r->metric.state == VFRONT_MOTION_GOOD ? &r->metric : &r->relative;
    if (m->state != VFRONT_MOTION_GOOD || m->flags & VFRONT_MOTION_STILL) return;
    for (int ahead = 0; ahead < 2; ahead++) {
        const double sign = ahead ? -1.0 : 1.0,
                     ray[3] = {sign * (double)m->t[0], sign * (double)m->t[1], sign * (double)m->t[2]};
        double px[2];
        if (ray[2] <= 0.0 || !vfront_lens_project(&o->seen, ray, px)) continue;
        if (px[0] < 0.0 || px[1] < 0.0 || px[0] > o->canvas.region->width || px[1] > o->canvas.region->height) continue;
        const float at[2] = {(float)px[0], (float)px[1]};
        overlay_mark_epipole(o, at, ahead);
    }
}

void overlay_draw_motion(struct overlay *o, const vfront_result_t *r)
{
    if (r->relative.state == VFRONT_MOTION_NONE) return;
    draw_match_pairs(o, r);
    draw_track_pairs(o, r);
    draw_epipoles(o, r);
}
