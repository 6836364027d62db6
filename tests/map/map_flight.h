/* SPDX-License-Identifier: MIT */
/* Flights whose key points are drawn without images, for the stages of the map: landmarks with random descriptors on
 * the walls of a hall, seen from a camera that flies laps; noise on positions, distances, descriptors and motions. What
 * a frame sees is written into the memory of the earlier stages. Include it after core/memory.h and random.h. */
#ifndef MAP_FLIGHT_H
#define MAP_FLIGHT_H

#include <math.h>

#define MAP_LANDMARKS 2400
#define MAP_WIDTH 640
#define MAP_HEIGHT 480
#define MAP_FOCAL_PX 400.0

/** Kinds of a flight. */
enum map_kind { MAP_ONE_CAMERA, MAP_STEREO, MAP_NAV, MAP_NONSENSE, MAP_KINDS };

struct map_landmark {
    double at[3];
    vfront_descriptor_t descriptor;
    uint64_t id;   /* of its track; 0: none */
    uint32_t seen; /* last frame that saw it, plus 1 */
};

struct map_flight {
    enum map_kind kind;
    struct map_landmark landmark[MAP_LANDMARKS];
    double R[9], p[3]; /* camera to hall, of the last frame */
    uint64_t frame, next_id;
    uint32_t lap;             /* frames of a lap */
    uint32_t flips;           /* bits of 256 by which a descriptor differs between frames */
    uint32_t changed_percent; /* landmarks whose descriptors change [%] */
    double yaw_drift_rad;     /* yaw drift of the estimator per frame */
    int cut;                  /* 1: the motion from the previous frame is unknown */
};

static inline double map_real(double least, double most)
{
    return least + (most - least) * (double)(roll64() >> 11) / 9007199254740992.0;
}

/** Approximate normal deviate: a sum of twelve. */
static inline double map_normal(void)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) sum += map_real(0.0, 1.0);
    return sum;
}

static inline void map_descriptor(vfront_descriptor_t *d)
{
    for (int k = 0; k < 8; k++) d->word[k] = (uint32_t)(roll64() >> 32);
}

/** A hall of 16 x 16 x 5 m with landmarks on its walls. */
static inline void map_begin(struct map_flight *f, enum map_kind kind)
{
    memset(f, 0, sizeof *f);
    f->kind = kind;
    f->next_id = 1;
    f->lap = 240;
    f->flips = 20;
    for (int i = 0; i < MAP_LANDMARKS; i++) {
        struct map_landmark *l = &f->landmark[i];
        const int wall = i % 4;
        const double along = map_real(-8.0, 8.0), deep = map_real(7.0, 8.5);
        l->at[0] = wall == 0 ? deep : wall == 1 ? -deep : along;
        l->at[1] = wall == 2 ? deep : wall == 3 ? -deep : along;
        l->at[2] = map_real(-2.5, 2.5);
        map_descriptor(&l->descriptor);
    }
}

static inline void map_multiply(const double a[9], const double b[9], double out[9])
{
    double m[9];
    for (int i = 0; i < 9; i++)
        m[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] + a[i / 3 * 3 + 2] * b[6 + i % 3];
    memcpy(out, m, sizeof m);
}

/** Camera of a frame: on a circle of 4 m around the centre of the hall, looking outwards and ahead. Laps differ
 *  slightly. */
static inline void map_pose(const struct map_flight *f, double R[9], double p[3])
{
    const double lap = (double)f->frame / f->lap, angle = 6.283185307179586 * lap,
                 yaw = angle + 0.6 + 0.1 * sin(2.3 * lap);
    const double radius = 4.0 + 0.2 * sin(1.7 * lap);
    p[0] = radius * cos(angle), p[1] = radius * sin(angle), p[2] = 0.3 * sin(3.1 * angle);
    /* camera x: right, y: down, z: ahead */
    const double c = cos(yaw), s = sin(yaw), out[9] = {s, 0, c, -c, 0, s, 0, -1, 0};
    memcpy(R, out, sizeof out);
}

/** Memory of the earlier stages, and the other data of the views. */
static inline void map_geometry(struct vf_step *step, enum map_kind kind, struct vf_memory *m)
{
    memset(step, 0, sizeof *step);
    vfront_tuning_default(&step->tuning);
    step->memory = m;
    struct vf_geometry *g = &step->geometry;
    g->cameras = 1;
    g->groups = 1;
    g->calibrated[0] = 1;
    g->focal_px[0] = (float)MAP_FOCAL_PX;
    g->level[0][0].width = MAP_WIDTH;
    g->level[0][0].height = MAP_HEIGHT;
    for (int i = 0; i < 8; i++) g->step_q16[i] = (uint32_t)(65536.0 * pow(1.2, i));
    g->active = VF_BIT(ingest) | VF_BIT(freeze) | VF_BIT(recall) | VF_BIT(relpose) | VF_BIT(keyframe) | VF_BIT(loop) |
                VF_BIT(map) | VF_BIT(ego);
    if (kind == MAP_STEREO || kind == MAP_NAV || kind == MAP_NONSENSE) g->active |= VF_BIT(stereo);
    if (kind == MAP_NAV) g->active |= VF_BIT(vio);
}

/** Writes a landmark as key point i of the frame if it is visible. Returns 1 if it is. */
static inline int map_see(struct map_flight *f, struct vf_memory *m, int32_t parity, int i, struct map_landmark *l)
{
    double d[3], c[3];
    for (int k = 0; k < 3; k++) d[k] = l->at[k] - f->p[k];
    for (int k = 0; k < 3; k++) c[k] = f->R[k] * d[0] + f->R[3 + k] * d[1] + f->R[6 + k] * d[2];
    if (c[2] < 0.5) return 0;
    const int level = (int)(roll64() >> 62);
    const double noise = 0.3 * pow(1.2, level), x = c[0] / c[2] * MAP_FOCAL_PX + MAP_WIDTH / 2 + noise * map_normal(),
                 y = c[1] / c[2] * MAP_FOCAL_PX + MAP_HEIGHT / 2 + noise * map_normal(),
                 range = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
    if (x < 10 || y < 10 || x > MAP_WIDTH - 10 || y > MAP_HEIGHT - 10 || i >= VFRONT_KEYPOINTS) return 0;
    struct vf_point *p = &m->bearing.point[parity][0][i];
    memset(p, 0, sizeof *p);
    p->bearing[0] = (float)((x - MAP_WIDTH / 2) / MAP_FOCAL_PX);
    p->bearing[1] = (float)((y - MAP_HEIGHT / 2) / MAP_FOCAL_PX);
    p->bearing[2] = 1.0f;
    vf_unit(p->bearing);
    p->x_q16 = (int32_t)(x * 65536.0);
    p->y_q16 = (int32_t)(y * 65536.0);
    p->level = level;
    p->step = (float)pow(1.2, level);
    vfront_descriptor_t *to = &m->describe.descriptor[parity][0][i];
    *to = l->descriptor;
    for (uint32_t k = 0; k < f->flips; k++) {
        const uint32_t bit = (uint32_t)(roll64() >> 56);
        to->word[bit / 32] ^= 1u << bit % 32;
    }
#if VFRONT_STEREO
    const double sigma = 0.01 * range;
    m->stereo.range_m[parity][i] = roll64() >> 62 ? (float)(range + sigma * map_normal()) : 0.0f;
    m->stereo.range_sigma_m[parity][i] = (float)sigma;
#endif
    return 1;
}

/** Tracks: landmarks visible in the previous frame keep their id. */
static inline void map_track(struct map_flight *f, struct vf_memory *m, int32_t parity)
{
    struct vf_refill_memory *r = &m->refill;
    uint32_t count = 0;
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < MAP_LANDMARKS; i++) {
            struct map_landmark *l = &f->landmark[i];
            if (l->seen != f->frame + 1 || count >= VFRONT_TRACKS || (l->id != 0) == turn) continue;
            if (turn) l->id = f->next_id++;
            r->feature[parity][count++].id = l->id;
        }
    for (int i = 0; i < MAP_LANDMARKS; i++)
        if (f->landmark[i].seen != f->frame + 1) f->landmark[i].id = 0;
    for (uint32_t i = 1; i < count; i++) /* by rising id */
        for (uint32_t k = i; k && r->feature[parity][k].id < r->feature[parity][k - 1].id; k--) {
            const uint64_t id = r->feature[parity][k].id;
            r->feature[parity][k].id = r->feature[parity][k - 1].id;
            r->feature[parity][k - 1].id = id;
        }
    r->counts[parity].count = count;
    r->counts[parity].last_id = f->next_id - 1;
}

/** Motions from the previous frame, with an error that accumulates. */
static inline void map_move(struct map_flight *f, struct vf_memory *m, const double R[9], const double p[3])
{
    vfront_motion_t *metric = &m->ego.metric, *relative = &m->ego.relative;
    double now_before[9], d[3], w[3];
    memset(metric, 0, sizeof *metric);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            now_before[3 * i + k] = R[i] * f->R[k] + R[3 + i] * f->R[3 + k] + R[6 + i] * f->R[6 + k];
    for (int k = 0; k < 3; k++) w[k] = 3e-4 * map_normal() + 1e-4;
    const double error[9] = {1, -w[2], w[1], w[2], 1, -w[0], -w[1], w[0], 1};
    map_multiply(error, now_before, now_before);
    for (int k = 0; k < 3; k++) d[k] = f->p[k] - p[k];
    for (int k = 0; k < 3; k++)
        metric->t[k] = (float)(R[k] * d[0] + R[3 + k] * d[1] + R[6 + k] * d[2] + 1e-3 * map_normal());
    for (int k = 0; k < 9; k++) metric->R[k] = (float)now_before[k];
    vf_pose_orthonormalise(metric->R);
    for (int k = 0; k < 6; k++) metric->covariance[vf_motion_diagonal(k)] = k < 3 ? 1e-6f : 1e-7f;
    metric->state = f->frame ? VFRONT_MOTION_GOOD : VFRONT_MOTION_NONE;
    *relative = *metric;
    vf_unit(relative->t);
    if (f->kind == MAP_ONE_CAMERA || f->cut) metric->state = VFRONT_MOTION_NONE;
    if (f->cut) relative->state = VFRONT_MOTION_NONE;
#if VFRONT_VIO
    if (f->kind == MAP_NAV) {
        const double half = 0.5 * (6.283185307179586 * (double)f->frame / f->lap + 0.6 +
                                   0.1 * sin(2.3 * (double)f->frame / f->lap) + f->yaw_drift_rad * (double)f->frame);
        const double c = cos(f->yaw_drift_rad * (double)f->frame), s = sin(f->yaw_drift_rad * (double)f->frame),
                     at[3] = {c * p[0] - s * p[1], s * p[0] + c * p[1], p[2]};
        const int32_t parity = (int32_t)(f->frame % 2);
        struct vf_vio_window *w2 = &m->vio.window[parity][0];
        vfront_nav_t *nav = &m->vio.nav[0];
        const double mount[4] = {0.5, -0.5, 0.5, -0.5}; /* camera that looks along x, z up */
        m->vio.request.accepted = m->vio.request.replaced = 0;
        m->vio.request.member[0].command = f->frame == 0 ? VF_VIO_NONE : f->frame == 1 ? VF_VIO_BEGIN : VF_VIO_CONTINUE;
        memset(nav, 0, sizeof *nav);
        memcpy(w2->mount, mount, sizeof mount);
        for (int k = 0; k < 3; k++) nav->position_m[k] = at[k] + 0.02 * map_normal();
        nav->q_odom_imu[0] = cos(half), nav->q_odom_imu[3] = sin(half);
        for (int k = 0; k < 6; k++) nav->covariance[vf_nav_index(k, k)] = k < 3 ? 4e-4 : 1e-5;
    }
#endif
}

/** Draws the next frame into the memory of the earlier stages. Returns the number of its key points. */
static inline int map_frame(struct map_flight *f, struct vf_step *step)
{
    struct vf_memory *m = step->memory;
    double R[9], p[3];
    const int32_t parity = step->parity = (int32_t)(f->frame % 2);
    int count = 0;
    map_pose(f, R, p);
    map_move(f, m, R, p);
    memcpy(f->R, R, sizeof R);
    memcpy(f->p, p, sizeof p);
    for (int i = 0; i < MAP_LANDMARKS && f->changed_percent; i++)
        if (roll64() % 100 < f->changed_percent) map_descriptor(&f->landmark[i].descriptor);
    f->changed_percent = 0;
    for (int i = 0; i < MAP_LANDMARKS; i++) {
        if (roll64() % 4 == 0 || !map_see(f, m, parity, count, &f->landmark[i])) continue;
        if (f->kind == MAP_NONSENSE) map_descriptor(&m->describe.descriptor[parity][0][count]);
        f->landmark[i].seen = (uint32_t)f->frame + 1;
        m->select.key[0][count] = (roll64() >> 40) << 16 | (uint64_t)count;
        count++;
    }
    m->select.count[0][0] = (uint32_t)count;
    m->bearing.count[parity][0] = (uint32_t)count;
    step->geometry.group_first[0] = 0;
    memset(m->freeze.frames[parity], 0, sizeof m->freeze.frames[parity]);
    memset(m->freeze.repeated[parity], 0, sizeof m->freeze.repeated[parity]);
    m->ingest.params.frame = f->frame;
    m->ingest.params.t_mid_ns = 1000000000u + 33000000u * f->frame;
    map_track(f, m, parity);
    return count;
}

/** Runs the stages of the map on a frame, in order. */
static inline void map_stages(struct vf_step *step)
{
    static struct vf_views v;
    vf_recall_make_view(&v.recall, step);
    vf_relpose_make_view(&v.relpose, step);
    vf_keyframe_make_view(&v.keyframe, step);
    vf_loop_make_view(&v.loop, step);
    vf_map_make_view(&v.map, step);
    vf_recall_host(&v.recall);
    vf_relpose_host(&v.relpose);
    vf_keyframe_host(&v.keyframe);
    vf_loop_host(&v.loop);
    vf_map_host(&v.map);
}

/** Advances to the next frame, after the stages. */
static inline void map_next(struct map_flight *f) { f->frame++; }

#endif
