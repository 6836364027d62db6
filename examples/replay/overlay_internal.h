/* SPDX-License-Identifier: MIT
 *
 * Parts of the overlay (overlay.h), shared by its files: overlay_points.c draws key points, tracks, matches and
 * motion, overlay_depth.c depths, disparities and stixels, overlay_legend.c the legend, overlay.c composes them.
 */
#ifndef OVERLAY_INTERNAL_H
#define OVERLAY_INTERNAL_H

#include "canvas.h"
#include "overlay.h"

#define LEGEND_PX 36 /* height of a row of the legend below the pictures */
#define ENDED_PX 4   /* reach of the cross of a track that ended */
#define LEVELS_MAX 8
#define SPACED_PX 30 /* among other layers one key point is drawn for each square of this side */
#define SPACED_COLUMNS (VFRONT_WIDTH / SPACED_PX + 1)
#define SPACED_CELLS (SPACED_COLUMNS * (VFRONT_HEIGHT / SPACED_PX + 1))
#define RED_M 5.0f /* stixels up to this distance are red */

/** Past positions of a track, the latest last. */
struct trail {
    uint64_t id;
    uint32_t count;
    float x_px[OVERLAY_TRAIL], y_px[OVERLAY_TRAIL];
};

struct overlay {
    struct canvas canvas;
    int32_t levels, cameras, rectified;
    float fx_px, cx_px; /* of camera 0 */
    overlay_what_t what;
    vfront_camera_t seen;          /* camera 0 */
    int with_tracks, with_matches; /* correspondences used for motions: vfront_tuning_t.track_target, ego */
    struct region caption, legend, camera[VFRONT_CAMERAS];
    int below; /* 1: stixels and disparities have pictures of their own, below those of the cameras */
    struct region stixels, disparity;
    int32_t caption_scale, legend_scale;               /* of the letters: 2 if all fits into one row, else 1 */
    uint8_t matched[VFRONT_CAMERAS][VFRONT_KEYPOINTS]; /* 1: key point with a depth or a match */
    uint8_t shown[VFRONT_CAMERAS][VFRONT_KEYPOINTS];   /* 1: key point that is drawn */
    int32_t best[SPACED_CELLS];                        /* scratch: key point of a cell that is drawn, or -1 */
    float red_inverse_depth_1pm;                       /* inverse depth drawn in red; 0 before the first depth */
    float sorted[VFRONT_KEYPOINTS];                    /* scratch */
    float red_disparity_px;                            /* disparity drawn in red; 0 before the first one */
    int now;                                           /* index of the current trail list; both are ordered by id */
    uint32_t trails[2];
    struct trail trail[2][VFRONT_TRACKS];
};

/* Hues belong to depths, red over green to blue, and to tracks, pink. Everything drawn beside them is grey or white. */
static const struct colour white = {255, 255, 255}, black = {0, 0, 0}, grey = {170, 170, 170}, pale = {215, 215, 215};

/** 1 if these layers are drawn without others: then they may have all hues. */
static inline int overlay_alone(const struct overlay *o, overlay_what_t what) { return o->what == what; }

/** Colours of the levels, from the finest, where key points are drawn alone. */
extern const struct colour overlay_level_colour[LEVELS_MAX];

/* Layers, drawn into the current region of the canvas. */
void overlay_draw_keypoints(struct overlay *o, int32_t camera, const vfront_result_t *r);
void overlay_draw_tracks(struct overlay *o, const vfront_result_t *r);
void overlay_draw_matches(struct overlay *o, const vfront_result_t *r);
void overlay_draw_motion(struct overlay *o, const vfront_result_t *r);

/* Layers that choose their regions themselves. */
void overlay_draw_depths(struct overlay *o, const vfront_result_t *r);
void overlay_draw_disparity(struct overlay *o, const vfront_result_t *r);
void overlay_draw_stixels(struct overlay *o, const vfront_result_t *r);

/** Update the trails: append a position to those of live tracks, drop the others. Once per frame, before
 *  overlay_draw_tracks(). */
void overlay_update_trails(struct overlay *o, const vfront_result_t *r);

/** Legend of what is drawn, in rows of LEGEND_PX from the top of its region on; a region without height measures.
 *  Returns the number of rows. */
int32_t overlay_draw_legend(struct overlay *o, int32_t scale);

/** Key points with a depth or a match, into `matched`, and those to be drawn, into `shown`: all of a layer that is
 *  drawn alone. Once per frame, before any other layer. */
void overlay_find_points(struct overlay *o, const vfront_result_t *r);

/* Marks and colours that the legend repeats. */
float overlay_keypoint_radius_px(uint32_t level);
void overlay_mark_keypoint(struct overlay *o, const float at[2], float radius, const float *angle_rad, struct colour c,
                           int32_t alpha);
void overlay_mark_track(struct overlay *o, const float at[2], uint32_t age);
void overlay_mark_pair(struct overlay *o, const float from[2], const float to[2], uint32_t is_inlier);
void overlay_mark_epipole(struct overlay *o, const float at[2], int ahead);
struct colour overlay_age_colour(uint32_t age);
struct colour overlay_direction_colour(float dx, float dy);
struct colour overlay_near_colour(float near);
struct colour overlay_distance_colour(float away_m);

#endif
