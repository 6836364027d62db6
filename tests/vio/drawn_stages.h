/* SPDX-License-Identifier: MIT */
/* Stages that need pictures, played from a drawn world: the host port runs these in their place (-Wl,--wrap), and all
 * others, predict, bearing, observe, vio, ego and report, as in flight. Include in one file only.
 *
 * Tracks      a landmark is drawn where camera 0 first sees it: anywhere in the picture, its range log-uniform between
 *             the world's bounds. Its error: white noise, more with blur; a walk; on an edge a share of the parallax
 *             along it. The walk shrinks in proportion where the picture moves by less than 1 px: a still camera sees
 *             equal pictures, in which a template stays. A track ends by chance (life, blur, parallax), at the border,
 *             or when its error shows (4 px)
 * Partners    where the true camera 1 sees the point of the scene under the track, moved onto the line that the
 *             calibration gives, with an error along it; or, for all its life, at a wrong place
 * Key points  whole pixels of level 0; depths by the same way; matches with the frame before, refined
 * Faults      view_now: a camera without a picture has no points; a frozen one of camera 0 repeats them to the bit;
 *             points of a moving object share one motion
 * Cost        of 0.1 ms a frame */
#ifndef DRAWN_STAGES_H
#define DRAWN_STAGES_H

#include "drawn_result.h"
#include "drawn_fault_view.h"

enum { SCENE_TRACKS = 200, SCENE_POINTS = 340, SCENE_BORDER = 8 };

/** Point of the scene, seen as a track or as a key point. */
struct scene_point {
    double at[3];       /* in the world */
    double px[2];       /* true position in the picture of camera 0 */
    double depth;       /* along the optical axis */
    double error[2];    /* of its track [px] */
    double wrong_px;    /* its partner is off by this along the line */
    double edge[2];     /* direction of an edge; 0: a corner */
    double blur;        /* length of its blur in this frame [px] */
    double shift[2];    /* motion in the picture since the frame before [px] */
    double parallax[2]; /* the same less that of the camera's rotation */
    uint64_t id;        /* track; 0: none */
    uint32_t age;
    int seen;        /* 1: in this frame's picture */
    int index;       /* key point: index in this frame; -1: not found */
    int before;      /* index in the frame before; -1: none */
    double other[2]; /* key point of camera 1 on a whole pixel; 0 0: none */
    int object;      /* 1: of the moving object */
    int key[3];      /* key point: pixel x, y of the last picture, 1 if it was found there */
};

static struct scene {
    int frame;   /* of the flight; -1: no flight, the stages leave their memory empty */
    double dt_s; /* since the frame before that the library took */
    int black;   /* 1: the picture of camera 0 is black in this frame */
    int tracks, points;
    struct scene_point track[SCENE_TRACKS], point[SCENE_POINTS];
    double c[3], R[9], c_soon[3], R_soon[9]; /* camera 0 at the frame and 1 ms later */
    double R_before[9];
    double R_1_0[9], t_1_0[3]; /* camera 1 beside camera 0, as these pictures have them */
    enum object object;        /* in the frame before */
} scene = {.frame = -1};

/* ---- geometry ---------------------------------------------------------------------------------------------------- */

/** Pixel of a point in camera axes. Returns 1 if it is in the picture, `border` px from its edges. */
static int project(const struct flight_camera *camera, const double x[3], double border, double px[2])
{
    if (!(x[2] > 0.05)) return 0;
    px[0] = camera->f * x[0] / x[2] + camera->cx;
    px[1] = camera->f * x[1] / x[2] + camera->cy;
    return px[0] >= border && px[1] >= border && px[0] <= FLIGHT_WIDTH - 1 - border &&
           px[1] <= FLIGHT_HEIGHT - 1 - border;
}

static void ray_of(const struct flight_camera *camera, const double px[2], double ray[3])
{
    ray[0] = (px[0] - camera->cx) / camera->f;
    ray[1] = (px[1] - camera->cy) / camera->f;
    ray[2] = 1;
}

static void in_axes(const double c[3], const double R[9], const double at[3], double x[3])
{
    const double d[3] = {at[0] - c[0], at[1] - c[1], at[2] - c[2]};
    for (int k = 0; k < 3; k++) x[k] = R[k] * d[0] + R[3 + k] * d[1] + R[6 + k] * d[2];
}

/** Where the true camera 1 sees the point of the scene under pixel px of camera 0. */
static int in_other(const double px[2], double depth, double other[2])
{
    double x[3];
    ray_of(&flight.rig.camera[0], px, x);
    for (int k = 0; k < 3; k++) x[k] *= depth;
    rotate(scene.R_1_0, x, x);
    for (int k = 0; k < 3; k++) x[k] += scene.t_1_0[k];
    return !view_now.lost[1] && project(&flight.rig.camera[1], x, SCENE_BORDER, other) &&
           !view_covers(view_now.side, view_now.hidden[1], other[0]);
}

static int32_t q16(double px) { return (int32_t)lround(px * 65536.0); }

/* ---- points ------------------------------------------------------------------------------------------------------ */

/** A new point anywhere in the picture. */
static void new_point(struct scene_point *p)
{
    const struct world *w = &flight.world;
    const double far = fmin(60, w->near_m * w->deep), range = w->near_m * exp(real(0, log(far / w->near_m)));
    const double wrong = real(0, 1), off = real(3, 30) * (real(-1, 1) < 0 ? -1 : 1);
    double ray[3], angle = real(0, 6.283185307179586);
    memset(p, 0, sizeof *p);
    p->px[0] = real(SCENE_BORDER, FLIGHT_WIDTH - 1 - SCENE_BORDER);
    p->px[1] = real(SCENE_BORDER, FLIGHT_HEIGHT - 1 - SCENE_BORDER);
    ray_of(&flight.rig.camera[0], p->px, ray);
    unit(ray);
    for (int k = 0; k < 3; k++) ray[k] *= range;
    p->depth = ray[2];
    rotate(scene.R, ray, p->at);
    for (int k = 0; k < 3; k++) p->at[k] += scene.c[k];
    if (real(0, 1) < w->edges) p->edge[0] = cos(angle), p->edge[1] = sin(angle);
    if (wrong < w->wrong_partners) p->wrong_px = off;
    p->index = p->before = -1;
    p->seen = !view_covers(view_now.side, view_now.hidden[0], p->px[0]);
    p->object = view_now.object && view_covers(view_now.side, view_now.share, p->px[0]);
}

/** Moves a point of the moving object. An object that starts takes what is in its part of the picture with it, one
 *  that enters hides it. dt_s: since the frame before. Returns 0 if the point is hidden. */
static int move_object(struct scene_point *p, double dt_s)
{
    const int covered = view_covers(view_now.side, view_now.share, p->px[0]);
    const int begins = view_now.object && !scene.object;
    if (view_now.object == OBJECT_STARTS && begins) p->object = covered;
    if (view_now.object == OBJECT_ENTERS && covered && !p->object) return 0;
    if (scene.object == OBJECT_ENTERS && !view_now.object && p->object) return 0;
    if (!view_now.object) p->object = 0;
    for (int k = 0; k < 3 && p->object; k++) p->at[k] += dt_s * view_now.object_mps[k];
    return 1;
}

/** Moves a point on to this frame: its true position, motion, blur. dt_s: since the frame before. */
static void move_point(struct scene_point *p, double dt_s)
{
    const double was[2] = {p->px[0], p->px[1]};
    double x[3], soon[3], there[2], turned[3], ray[3], D[9];
    const int shown = move_object(p, dt_s);
    in_axes(scene.c, scene.R, p->at, x);
    in_axes(scene.c_soon, scene.R_soon, p->at, soon);
    p->seen = project(&flight.rig.camera[0], x, SCENE_BORDER, p->px);
    p->depth = x[2];
    p->before = p->index;
    p->index = -1;
    p->seen = p->seen && shown && !scene.black && !view_covers(view_now.side, view_now.hidden[0], p->px[0]);
    if (scene.black) return;
    seen.of++;
    seen.in_view += p->seen;
    if (!p->seen) return;
    (void)project(&flight.rig.camera[0], soon, 0, there);
    p->blur = 1e3 * flight.exposure_s * hypot(there[0] - p->px[0], there[1] - p->px[1]);
    ray_of(&flight.rig.camera[0], was, ray);
    for (int i = 0; i < 9; i++) { /* rotation of the scene since the frame before */
        D[i] = 0;
        for (int k = 0; k < 3; k++) D[i] += scene.R[3 * k + i / 3] * scene.R_before[3 * k + i % 3];
    }
    rotate(D, ray, turned);
    const int rotated = project(&flight.rig.camera[0], turned, -1e4, there);
    for (int k = 0; k < 2; k++) {
        p->shift[k] = p->px[k] - was[k];
        p->parallax[k] = rotated ? p->px[k] - there[k] : p->shift[k];
    }
}

/** Why a track ends in this frame, vfront_end_t; 0: it goes on. dt_s: since the frame before. */
static uint32_t ends(const struct scene_point *p, double dt_s)
{
    const double parallax = hypot(p->parallax[0], p->parallax[1]) / 100, blur = p->blur / 12,
                 goes_on = exp(-dt_s / flight.world.life_s - parallax * parallax - blur * blur * blur * blur);
    const double chance = real(0, 1);
    if (!p->seen) return VFRONT_END_BORDER;
    if (chance > goes_on) return VFRONT_END_RESIDUAL;
    return hypot(p->error[0], p->error[1]) > 4 ? VFRONT_END_BACK : 0;
}

/** Error of a track after this frame. */
static void walk(struct scene_point *p)
{
    const struct world *w = &flight.world;
    const double along = p->parallax[0] * p->edge[0] + p->parallax[1] * p->edge[1];
    const double step = w->walk_px * fmin(1, hypot(p->shift[0], p->shift[1]));
    for (int k = 0; k < 2; k++) p->error[k] += step * normal() - w->edge_slide * along * p->edge[k];
}

/* ---- a frame of the scene ---------------------------------------------------------------------------------------- */

static double deviation(double px, double blur) { return hypot(px, 0.05 * blur); }

static void scene_camera(double t)
{
    flight_camera_at(&flight, t, scene.c, scene.R);
    flight_camera_at(&flight, t + 1e-3, scene.c_soon, scene.R_soon);
}

/** Begins a flight: no points yet. */
static void scene_begin(void)
{
    memset(&scene, 0, sizeof scene);
    scene.frame = -1;
    scene.tracks = (int)(SCENE_TRACKS * flight.world.texture);
    scene.points = (int)(SCENE_POINTS * sqrt(flight.world.texture));
}

/** The scene as it was before its last frame, which the library may refuse. */
static struct scene scene_before;

/** Takes back a frame that the library refused: it saw nothing of it. */
static void scene_refused(void) { scene = scene_before; }

/** Moves all points on to frame k. Tracks and key points that left are drawn anew by their stages. */
static void scene_frame(int k)
{
    if (drawn_fault.on) scene_before = scene;
    memcpy(scene.R_before, scene.R, sizeof scene.R);
    const double dt = k ? flight.frame_s[k] - flight.frame_s[scene.frame] : 0;
    scene.dt_s = dt;
    scene_camera(flight.frame_s[k] - view_now.delay_s[0]);
    view_relative(&flight, flight.frame_s[k], scene.R_1_0, scene.t_1_0);
    world_reseed(flight.seed, PART_SCENE + (uint64_t)k);
    scene.frame = k;
    scene.black = is_black(k) || view_now.lost[0];
    seen.of = seen.in_view = 0;
    for (int i = 0; i < scene.tracks && k; i++)
        if (scene.track[i].id) move_point(&scene.track[i], dt);
    for (int i = 0; i < scene.points && k; i++) move_point(&scene.point[i], dt);
    scene.object = view_now.object;
}

/* ---- stages without work ----------------------------------------------------------------------------------------- */

#define WITHOUT_WORK(name)                                                                                             \
    void __wrap_vf_##name##_host(const struct vf_##name##_view *s);                                                    \
    void __wrap_vf_##name##_host(const struct vf_##name##_view *s) { (void)s; }
WITHOUT_WORK(rectify)
WITHOUT_WORK(pyramid)
WITHOUT_WORK(scale)
WITHOUT_WORK(smooth)
WITHOUT_WORK(track)
WITHOUT_WORK(detect)
WITHOUT_WORK(describe)
WITHOUT_WORK(epipolar)

void __wrap_vf_ingest_host(const struct vf_ingest_view *s);
void __wrap_vf_ingest_host(const struct vf_ingest_view *s) { s->ingest->params = *s->given; }

void __wrap_vf_freeze_host(const struct vf_freeze_view *s);
void __wrap_vf_freeze_host(const struct vf_freeze_view *s)
{
    for (int c = 0; c < 2; c++)
        s->freeze->frames[s->parity][c] = view_now.frozen[c] ? s->freeze->frames[s->parity ^ 1][c] + 1 : 0;
    memset(s->freeze->repeated[s->parity], 0, sizeof s->freeze->repeated[0]);
}

/* ---- tracks ------------------------------------------------------------------------------------------------------ */

/** Feature of a track in this frame. last: its feature in the frame before, or NULL. */
static struct vf_feature feature_of(const struct scene_point *p, int slot, const struct vf_feature *last)
{
    struct vf_feature f;
    const double sigma = deviation(flight.world.noise_px, p->blur);
    memset(&f, 0, sizeof f);
    f.id = p->id;
    f.x_q16 = q16(p->px[0] + p->error[0] + sigma * normal());
    f.y_q16 = q16(p->px[1] + p->error[1] + sigma * normal());
    f.dx_q16 = last ? f.x_q16 - last->x_q16 : 0;
    f.dy_q16 = last ? f.y_q16 - last->y_q16 : 0;
    f.age = p->age;
    f.residual_q3 = (uint32_t)real(8, 64);
    f.score = 1000;
    f.template_index = (uint16_t)slot;
    return f;
}

/** Feature of a track in a picture that repeats the one before. */
static struct vf_feature feature_again(const struct scene_point *p, const struct vf_feature *last)
{
    struct vf_feature f = *last;
    f.dx_q16 = f.dy_q16 = 0;
    f.age = p->age;
    return f;
}

/** Position inside the border, as the tracker requires. */
static int inside(const struct vf_feature *f)
{
    const int32_t least = SCENE_BORDER << 16;
    return f->x_q16 >= least && f->y_q16 >= least && f->x_q16 <= (FLIGHT_WIDTH - 1 - SCENE_BORDER) << 16 &&
           f->y_q16 <= (FLIGHT_HEIGHT - 1 - SCENE_BORDER) << 16;
}

static void end_track(struct vf_refill_memory *r, struct vf_track_memory *t, uint32_t i, const struct vf_feature *last,
                      uint32_t why)
{
    t->moved[i] = *last;
    t->moved[i].end = (uint8_t)why;
    r->lost[r->lost_count++] = i;
    r->ended[why]++;
    scene.track[last->template_index].id = 0;
}

/** Goes on with the tracks of the frame before, in their order. Returns their number. */
static uint32_t follow(const struct vf_refill_view *s, uint32_t count, double dt_s)
{
    struct vf_refill_memory *r = s->refill;
    struct vf_track_memory *t = (struct vf_track_memory *)(uintptr_t)s->track; /* the stage track writes nothing here */
    uint32_t live = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct vf_feature last = r->feature[s->parity ^ 1][i];
        struct scene_point *p = &scene.track[last.template_index];
        const int again = view_now.frozen[0];
        const uint32_t why = again ? 0 : ends(p, dt_s);
        if (!again) walk(p);
        p->age++;
        const struct vf_feature f = again ? feature_again(p, &last) : feature_of(p, last.template_index, &last);
        if (why || !inside(&f)) {
            end_track(r, t, i, &last, why ? why : VFRONT_END_BORDER);
            continue;
        }
        seen.blur += p->blur;
        seen.log_depth += log(p->depth);
        seen.points++;
        r->feature[s->parity][live++] = f;
    }
    return live;
}

void __wrap_vf_refill_host(const struct vf_refill_view *s);
void __wrap_vf_refill_host(const struct vf_refill_view *s)
{
    struct vf_refill_memory *r = s->refill;
    const struct vf_track_counts before = vf_refill_counts_before(&s->tuning, s->ingest->params.frame,
                                                                  &r->counts[s->parity ^ 1]);
    const int k = scene.frame;
    uint32_t live = 0, born = 0;
    r->lost_count = r->overflow = 0;
    memset(r->ended, 0, sizeof r->ended);
    for (int i = 0; i < scene.tracks && !s->ingest->params.frame; i++)
        scene.track[i].id = 0; /* the library began anew */
    if (k > 0) live = follow(s, before.count, scene.dt_s);
    for (int i = 0; i < scene.tracks && k >= 0 && !scene.black; i++) {
        struct scene_point *p = &scene.track[i];
        if (p->id) continue;
        new_point(p);
        if (!p->seen) continue;
        p->id = before.last_id + ++born;
        r->feature[s->parity][live + born - 1] = feature_of(p, i, NULL);
    }
    r->followed = live;
    r->born = born;
    r->counts[s->parity] = vf_refill_counts(&before, live, born);
}

/* ---- lines of camera 1 ------------------------------------------------------------------------------------------- */

/** Line near a position of camera 1, by the calibration, and the bearings around the position. */
struct scene_line {
    struct vf_epipolar_plane plane;
    struct vf_epipolar_line line;
    float here[3], right[3], below[3];
};

static int line_at(const struct vf_pair *pair, const struct vf_node *node, int32_t nodes_x, const float own[3],
                   const double px[2], struct scene_line *l)
{
    const struct vf_stereo_position at = {q16(px[0]), q16(px[1])};
    vf_bearing_at(node, nodes_x, at.x_q16, at.y_q16, l->here);
    vf_bearing_at(node, nodes_x, at.x_q16 + 65536, at.y_q16, l->right);
    vf_bearing_at(node, nodes_x, at.x_q16, at.y_q16 + 65536, l->below);
    l->plane = vf_stereo_epipolar(pair, own);
    return vf_stereo_line(&l->plane, at, l->here, l->right, l->below, &l->line);
}

/** Deviation by the patch that a match states [px]. */
static double patch_px(void) { return real(0.01, 0.08); }

/* ---- partners ---------------------------------------------------------------------------------------------------- */

static void partner_of(const struct vf_partner_view *s, uint32_t i)
{
    const struct world *w = &flight.world;
    const struct vf_feature *f = &s->refill->feature[s->parity][i];
    const struct scene_point *p = &scene.track[f->template_index];
    struct vf_partner_range *range = &s->partner->range[s->parity][f->template_index];
    const double px[2] = {f->x_q16 / 65536.0, f->y_q16 / 65536.0}, fit = patch_px();
    const double share = real(0, 1), error = normal();
    double other[2];
    struct scene_line l;
    float own[3], there[3];
    memset(&s->partner->partner[i], 0, sizeof s->partner->partner[i]);
    memset(range, 0, sizeof *range);
    if (share >= w->partners || !in_other(px, p->depth, other)) return;
    vf_bearing_at(s->bearing->node[0], s->geometry.nodes_x[0], f->x_q16, f->y_q16, own);
    if (!line_at(&s->geometry.pair, s->bearing->node[1], s->geometry.nodes_x[1], own, other, &l)) return;
    const double sigma = w->disparity_px * hypot(VF_PARTNER_SIGMA_PX, VF_PARTNER_FIT * fit);
    const struct vf_stereo_position at = vf_stereo_move(&l.line, l.line.start, (float)(sigma * error + p->wrong_px));
    vf_bearing_at(s->bearing->node[1], s->geometry.nodes_x[1], at.x_q16, at.y_q16, there);
    const struct vf_partner found = vf_partner_measure(s, &l.plane, &l.line, 0.0f, at, own, there, (float)fit, range);
    if (found.disparity_px > (float)s->tuning.stereo_disparity_px || found.disparity_px < -VF_PARTNER_NEGATIVE_PX)
        memset(range, 0, sizeof *range);
    else
        s->partner->partner[i] = found;
}

void __wrap_vf_partner_host(const struct vf_partner_view *s);
void __wrap_vf_partner_host(const struct vf_partner_view *s)
{
    for (uint32_t i = 0; i < s->refill->counts[s->parity].count && scene.frame >= 0; i++) partner_of(s, i);
}

/* ---- key points -------------------------------------------------------------------------------------------------- */

/** Key points of both cameras on whole pixels of level 0: of camera 0 where it finds the point, of camera 1 where it
 *  sees the same. */
void __wrap_vf_select_host(const struct vf_select_view *s);
void __wrap_vf_select_host(const struct vf_select_view *s)
{
    struct vf_select_memory *m = s->select;
    const int32_t room = s->geometry.group_first[1];
    memset(m->count, 0, sizeof m->count);
    memset(m->dropped, 0, sizeof m->dropped);
    for (int i = 0; i < scene.points && scene.frame >= 0 && !scene.black; i++) {
        struct scene_point *p = &scene.point[i];
        const double found = real(0, 1), x = 0.3 * normal(), y = 0.3 * normal(), replaced = real(0, 1);
        const double x_1 = 0.3 * normal(), y_1 = 0.3 * normal();
        const int again = view_now.frozen[0] && scene.frame;
        if (!again && (!scene.frame || !p->seen || replaced > exp(-0.1 / flight.world.life_s))) new_point(p);
        if (!again)
            p->key[0] = (int)lround(p->px[0] + x), p->key[1] = (int)lround(p->px[1] + y), p->key[2] = found <= 0.8;
        const int u = p->key[0], v = p->key[1];
        const double px[2] = {u, v};
        double other[2];
        if (!p->key[2] || !p->seen || (int32_t)m->count[0][0] >= room) continue;
        p->index = (int)m->count[0][0];
        m->key[0][m->count[0][0]++] = vf_detect_key(1, 1000, 0, u, v);
        memset(p->other, 0, sizeof p->other);
        if (!in_other(px, p->depth, other)) continue;
        for (int k = 0; k < 2; k++) p->other[k] = (double)lround(other[k] + (k ? y_1 : x_1));
        m->key[1][m->count[1][0]++] = vf_detect_key(1, 1000, 0, (int)p->other[0], (int)p->other[1]);
    }
}

/** Depth of a key point. Returns 0 without one. */
static int depth_of(const struct vf_stereo_view *s, const struct scene_point *p, vfront_depth_t *out)
{
    const struct world *w = &flight.world;
    struct vf_stereo_memory *m = s->stereo;
    const struct vf_point *a = &s->bearing->point[s->parity][0][p->index];
    const double px[2] = {a->x_q16 / 65536.0, a->y_q16 / 65536.0}, fit = patch_px(), share = real(0, 1),
                 error = normal();
    double other[2];
    struct scene_line l;
    if (share >= w->partners || !in_other(px, p->depth, other)) return 0;
    if (!line_at(&s->geometry.pair, s->bearing->node[1], s->geometry.nodes_x[1], a->bearing, p->other, &l)) return 0;
    m->distance[p->index] = vf_stereo_distance(s, &l.plane, l.here, l.right, l.below, q16(p->other[0]),
                                               q16(p->other[1]), 1.0f);
    if (!line_at(&s->geometry.pair, s->bearing->node[1], s->geometry.nodes_x[1], a->bearing, other, &l)) return 0;
    const double sigma = w->disparity_px * hypot(VF_STEREO_SIGMA_PX, VF_STEREO_FIT * fit);
    const struct vf_stereo_position at = vf_stereo_move(&l.line, l.line.start, (float)(sigma * error + p->wrong_px));
    memset(out, 0, sizeof *out);
    return vf_stereo_depth(s, s->bearing->node[1], &l.plane, a, &l.line, 0.0f, at, (float)fit, out);
}

void __wrap_vf_stereo_host(const struct vf_stereo_view *s);
void __wrap_vf_stereo_host(const struct vf_stereo_view *s)
{
    struct vf_stereo_memory *m = s->stereo;
    const uint32_t *count = s->bearing->count[s->parity];
    struct vf_pair_sums sum;
    memset(&sum, 0, sizeof sum);
    m->count = 0;
    for (uint32_t i = 0; i < count[0]; i++) m->cost[i] = VF_NONE;
    memset(m->distance, 0, sizeof m->distance);
    for (int i = 0; i < scene.points && scene.frame >= 0; i++) {
        const int j = scene.point[i].index;
        vfront_depth_t depth;
        if (j < 0) continue;
        const int found = depth_of(s, &scene.point[i], &depth);
        depth.keypoint = depth.match = (uint16_t)j;
        if (found) m->depth[m->count++] = depth;
        vf_stereo_store_range(m, s->parity, (uint32_t)j, s->bearing->point[s->parity][0][j].bearing,
                              found ? &depth : NULL);
    }
    for (uint32_t i = 0; i < count[0]; i++) vf_pair_add(&sum, m->distance[i]);
    m->pair[s->parity] = vf_stereo_assess(s, &sum);
}

/* ---- matches with the frame before ------------------------------------------------------------------------------- */

/** Match of a point with key point `before` of the frame before. */
static void match_of(const struct vf_match_view *s, const struct scene_point *p, int before)
{
    struct vf_match_memory *m = s->match;
    const struct vf_point *key = &s->bearing->point[s->parity ^ 1][0][before];
    const struct vf_match_link *from = &m->link[s->parity ^ 1][before];
    struct vf_match_link *to = &m->link[s->parity][p->index];
    const int right = before == p->before;
    const int32_t x = from->age ? from->x_q16 : key->x_q16, y = from->age ? from->y_q16 : key->y_q16;
    const double sigma = view_now.frozen[0] ? 0 : deviation(0.1, p->blur);
    vfront_match_t *out = &m->match[m->count++];
    memset(out, 0, sizeof *out);
    const struct vf_point *now = &s->bearing->point[s->parity][0][p->index];
    to->x_q16 = right ? x + q16(p->shift[0] + sigma * normal()) : now->x_q16;
    to->y_q16 = right ? y + q16(p->shift[1] + sigma * normal()) : now->y_q16;
    to->id = from->age ? from->id : vf_match_new_id(s, (uint32_t)p->index);
    to->age = from->age + 1;
    out->keypoint = (uint16_t)p->index;
    out->before = (uint16_t)before;
    out->distance = (uint16_t)real(5, right ? 50 : 64);
    out->second = 100;
    out->refined = (uint16_t)right;
    out->x_px = (float)to->x_q16 / 65536.0f, out->y_px = (float)to->y_q16 / 65536.0f;
    out->x_before_px = (float)x / 65536.0f, out->y_before_px = (float)y / 65536.0f;
    out->id = to->id;
    out->age = to->age;
    vf_bearing_at(s->bearing->node[0], s->geometry.nodes_x[0], to->x_q16, to->y_q16, out->bearing);
}

/** 1 if a key point is found again: descriptors change with blur and parallax. */
static int is_matched(const struct scene_point *p)
{
    const double blur = p->blur / 10, parallax = hypot(p->parallax[0], p->parallax[1]) / 60;
    return real(0, 1) < 0.85 * exp(-blur * blur - parallax * parallax);
}

void __wrap_vf_match_host(const struct vf_match_view *s);
void __wrap_vf_match_host(const struct vf_match_view *s)
{
    struct vf_match_memory *m = s->match;
    const int keys = (int)s->bearing->count[s->parity ^ 1][0];
    m->count = 0;
    for (uint32_t i = 0; i < s->bearing->count[s->parity][0]; i++) m->link[s->parity][i] = vf_match_unlinked();
    for (int j = 0; j < SCENE_POINTS && scene.frame > 0; j++) {
        /* in the order of key points, which is that of points */
        struct scene_point *p = &scene.point[j];
        const double wrong = real(0, 1), which = real(0, 1);
        if (j >= scene.points || p->index < 0 || !keys) continue;
        if (wrong < flight.world.wrong_matches)
            match_of(s, p, (int)(which * keys));
        else if (p->before >= 0 && is_matched(p))
            match_of(s, p, p->before);
    }
}

#endif
