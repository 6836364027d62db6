/* SPDX-License-Identifier: MIT */
/* Set-up of a front end, called by vfront_init(): the rig as the stages see it, the geometry, the port, the stages'
 * masks and tables. */
#include "setup.h"

#include <math.h>

#include "camera/grid.h"
#include "camera/lens.h"
#include "camera/rectification.h"
#include "check.h"
#include "failover.h"
#include "math/angle.h"
#include "math/rotation.h"
#include "prepare.h"

VF_STATIC_ASSERT(sizeof(struct vf_memory) % 64 == 0, "vfront: the arena is made of cache lines");
VF_STATIC_ASSERT(VFRONT_PYRAMID_BYTES < (1 << 30) && VFRONT_SCALES_BYTES < (1 << 30),
                 "vfront: offsets in a pyramid fit 32 bits");

#if VFRONT_STIXELS
VF_STATIC_ASSERT(sizeof(struct vf_stixel_tables) <= sizeof((struct vf_pinned *)0)->result,
                 "vfront: VFRONT_COLUMNS * VFRONT_SEGMENTS is too small");
#endif

/* ---- geometry ---------------------------------------------------------------------------------------------------- */

/** Size and pitch of a camera's raw pictures. */
static void lay_out_raw(struct vf_level *l, const vfront_camera_t *c)
{
    l->width = c->width_px;
    l->height = c->height_px;
    l->pitch = VFRONT_PITCH(l->width);
}

/** Levels and cells of a camera. c: the camera as the stages see it. */
static void lay_out_camera(struct vf_geometry *g, int32_t i, const vfront_camera_t *c, const vfront_tuning_t *t)
{
    uint32_t offset = 0;
    for (int32_t level = 0; level < g->levels; level++) {
        struct vf_level *l = &g->level[i][level];
        l->width = c->width_px >> level;
        l->height = c->height_px >> level;
        l->pitch = VFRONT_PITCH(l->width);
        l->offset = offset;
        if (level) offset += (uint32_t)(l->pitch * l->height);
    }
    offset = 0;
    for (int32_t level = 0; level < g->scales; level++) {
        struct vf_level *l = &g->scale[i][level];
        l->width = vf_scale_size(c->width_px, g->inverse_q19[level]);
        l->height = vf_scale_size(c->height_px, g->inverse_q19[level]);
        l->pitch = VFRONT_PITCH(l->width);
        l->offset = offset;
        if (level) offset += (uint32_t)(l->pitch * l->height);
    }
    g->nodes_x[i] = vf_nodes(c->width_px);
    g->cells_x[i] = (c->width_px + t->cell_width_px - 1) / t->cell_width_px;
    g->cells_y[i] = (c->height_px + t->cell_height_px - 1) / t->cell_height_px;
    g->culls_x[i] = (c->width_px + t->cull_width_px - 1) / t->cull_width_px;
    g->culls_y[i] = (c->height_px + t->cull_height_px - 1) / t->cull_height_px;
}

/** Number of tracker levels that leave every camera at least 16 px on a side. */
static int32_t count_levels(const vfront_rig_t *rig)
{
    int32_t levels = 1;
    for (; levels < VFRONT_LEVELS; levels++)
        for (int32_t i = 0; i < rig->cameras; i++)
            if (rig->camera[i].width_px >> levels < 16 || rig->camera[i].height_px >> levels < 16) return levels;
    return levels;
}

/** Number of key point levels that do, and the sizes of their pixels. */
static void count_scales(struct vf_geometry *g, const vfront_rig_t *rig)
{
    int64_t num = 1, den = 1;
    for (g->scales = 0; g->scales < VFRONT_SCALES; g->scales++, num *= VFRONT_SCALE_NUM, den *= VFRONT_SCALE_DEN) {
        const uint32_t inverse_q19 = (uint32_t)(((den << 19) + num / 2) / num);
        for (int32_t i = 0; i < rig->cameras; i++)
            if (vf_scale_size(rig->camera[i].width_px, inverse_q19) < 16 ||
                vf_scale_size(rig->camera[i].height_px, inverse_q19) < 16)
                return;
        g->step_q16[g->scales] = (uint32_t)(((num << 16) + den / 2) / den);
        g->inverse_q19[g->scales] = inverse_q19;
    }
}

/** Calibration in the geometry: focal lengths, principal point, sizes of the grids of bearings. */
static void lay_out_lenses(struct vf_geometry *g, struct vf_state *s, const vfront_rig_t *rig)
{
    for (int32_t i = 0; i < g->cameras; i++) {
        const vfront_camera_t *c = &s->seen.camera[i];
        const struct vf_lens lens = vf_lens_of(c);
        g->calibrated[i] = c->fx_px != 0.0;
        g->focal_px[i] = (float)(0.5 * (lens.fx_px + lens.fy_px));
        g->row_s[i] = (float)(rig->camera[i].row_us * 1e-6);
        s->blind_px[i] = vf_grid_blind(NULL, 0, c->width_px, c->height_px, &lens);
        g->masked[i] = rig->camera[i].mask != NULL || s->blind_px[i] || g->rectified;
    }
}

#if VFRONT_CAMERAS > 1
/** Pose of camera 1 relative to camera 0, epipole and baseline. */
static void lay_out_pair(struct vf_geometry *g, const struct vf_state *s)
{
    double R[9], t[3], square = 0.0;
    if (g->cameras < 2 || !g->calibrated[0] || !g->calibrated[1]) return;
    vf_rotation_between(R, t, &s->seen.camera[0], &s->seen.camera[1]);
    for (int k = 0; k < 3; k++) square += t[k] * t[k];
    g->pair.placed = vf_check_placed(&s->seen);
    g->pair.baseline_m = (float)sqrt(square);
    for (int k = 0; k < 9; k++) g->pair.R[k] = (float)R[k];
    for (int k = 0; k < 3 && g->pair.placed; k++) g->pair.epipole[k] = (float)(t[k] / sqrt(square));
}
#endif

/** Road of the rig, if it has one: horizon and slope in camera 0. */
static void lay_out_road(struct vf_geometry *g, const struct vf_state *s, const vfront_rig_t *rig)
{
    double sine, cosine;
    g->centre_px[0] = (float)s->seen.camera[0].cx_px;
    g->centre_px[1] = (float)s->seen.camera[0].cy_px;
    if (rig->road_height_m == 0.0 || !g->pair.placed) return;
    vf_sincos(rig->road_pitch_rad, &sine, &cosine);
    g->horizon_px = (float)(s->seen.camera[0].cy_px + (double)g->focal_px[0] * sine / cosine);
    g->road_slope = (float)((double)g->pair.baseline_m * cosine / rig->road_height_m);
}

#if VFRONT_RECTIFY
/** Rectified cameras, into s->seen. */
static vfront_status_t look_rectified(struct vf_state *s, const vfront_rig_t *rig, const vfront_tuning_t *t)
{
    if (!vf_check_placed(rig))
        return vf_refuse(s, VFRONT_E_CALIBRATION, "rectify needs two calibrated cameras in different places: rig", 0,
                         "");
    const char *why = vf_rectification_rig(&s->seen, s->R_rig_seen, t->rectify_focal_percent);
    if (why) return vf_refuse(s, VFRONT_E_CALIBRATION, why, 0, "");
    for (int32_t i = 0; i < rig->cameras; i++) {
        struct vf_rectification r;
        vf_rectification_make(&r, &rig->camera[i], &s->seen.camera[i], s->R_rig_seen[i]);
        if (!vf_rectification_valid(s->valid_px[i], &r))
            return vf_refuse(s, VFRONT_E_CALIBRATION,
                             "rectify: the middle of the rectified picture lies outside what it sees: rig.camera[%d]",
                             i, "");
    }
    return VFRONT_OK;
}
#endif

/** The rig as the stages see it. */
static vfront_status_t look(struct vf_state *s, const vfront_rig_t *rig, const vfront_tuning_t *t)
{
    s->seen = *rig;
    for (int32_t i = 0; i < VFRONT_CAMERAS; i++) {
        const int32_t all[4] = {0, 0, s->seen.camera[i].width_px, s->seen.camera[i].height_px};
        s->seen.camera[i].mask = NULL;
        if (i < rig->cameras) memcpy(s->valid_px[i], all, sizeof all);
    }
#if VFRONT_RECTIFY
    if (t->rectify) return look_rectified(s, rig, t);
#else
    (void)t;
#endif
    return VFRONT_OK;
}

static vfront_status_t lay_out(struct vf_state *s, const vfront_rig_t *rig, const vfront_tuning_t *t)
{
    struct vf_geometry g;
    memset(&g, 0, sizeof g);
    g.cameras = rig->cameras;
    g.rectified = t->rectify;
    g.levels = count_levels(&s->seen);
    count_scales(&g, &s->seen);
    for (int32_t i = 0; i < rig->cameras; i++) {
        lay_out_raw(&g.raw[i], &rig->camera[i]);
        lay_out_camera(&g, i, &s->seen.camera[i], t);
        if (g.cells_x[i] * g.cells_y[i] > VFRONT_CELLS)
            return vf_refuse(s, VFRONT_E_SIZE,
                             "the grid has %d cells, over VFRONT_CELLS: larger cells or a larger config",
                             g.cells_x[i] * g.cells_y[i], "");
        if (g.culls_x[i] * g.culls_y[i] > VFRONT_CULL_CELLS)
            return vf_refuse(s, VFRONT_E_SIZE,
                             "there are %d culling cells, over VFRONT_CULL_CELLS: larger ones or a larger config",
                             g.culls_x[i] * g.culls_y[i], "");
    }
    lay_out_lenses(&g, s, rig);
#if VFRONT_CAMERAS > 1
    lay_out_pair(&g, s);
#endif
    lay_out_road(&g, s, rig);
#if VFRONT_STIXELS
    if (t->stixel && g.level[0][0].width / t->stixel_width_px > VFRONT_COLUMNS)
        return vf_refuse(s, VFRONT_E_SIZE,
                         "the picture has %d columns, over VFRONT_COLUMNS: wider ones or a larger config",
                         g.level[0][0].width / t->stixel_width_px, "");
#endif
    const int32_t levels = vf_min(g.scales, t->detect_levels);
    for (int32_t level = 0; level <= levels; level++)
        g.share[level] = vf_select_share(t->select_points, t->select_share_percent, level, levels);
    vf_geometry_derive(&g, t);
    for (int parity = 0; parity < 2; parity++) {
        s->step[parity].geometry = g;
        s->step[parity].tuning = *t;
        s->step[parity].parity = parity;
    }
    return VFRONT_OK;
}

/* ---- the stages' masks and tables -------------------------------------------------------------------------------- */

static vfront_status_t write_through(const struct vf_prepare *p, void *to, const void *from, size_t bytes)
{
    struct vf_state *s = p->port;
    return s->port->write(s, to, from, bytes);
}

static vfront_status_t prepare(struct vf_state *s, const vfront_rig_t *rig)
{
    const struct vf_prepare p = {
        .rig = rig,
        .seen = &s->seen,
        .R_rig_seen = (const double(*)[9])s->R_rig_seen,
        .geometry = &s->step[0].geometry,
        .tuning = &s->step[0].tuning,
        .blind_px = s->blind_px,
        .scratch = s->pinned->result,
        .scratch_bytes = sizeof s->pinned->result,
        .write = write_through,
        .port = s,
    };
    const struct vf_views *v = &s->view[0];
    vfront_status_t status = vf_ingest_prepare(&p, &v->ingest);
    if (!status) status = vf_rectify_prepare(&p, &v->rectify);
    if (!status) status = vf_bearing_prepare(&p, &v->bearing);
    if (!status) status = vf_stixel_prepare(&p, &v->stixel);
    return status;
}

/* ---- the port ---------------------------------------------------------------------------------------------------- */

/** Parameters of a frame of black pictures, with which the port runs each parity once. */
static void warm_up_params(struct vf_state *s)
{
    struct vf_params *p = &s->pinned->params;
    for (int32_t i = 0; i < s->step[0].geometry.cameras; i++) {
        p->source[i].data = s->port->seen(s, s->pinned->input[0][i]);
        p->source[i].pitch = (uint32_t)s->step[0].geometry.raw[i].width;
        p->source[i].mask = NULL;
        p->source[i].format = VFRONT_GREY8;
    }
}

/** Notes that a port could not be closed. */
static void abandon(struct vf_state *s)
{
    s->abandoned++;
    s->abandoned_bytes += s->device_bytes + s->pinned_bytes;
}

vfront_status_t vf_close_port(struct vf_state *s, uint64_t patience_ns)
{
    s->give_up_ns = s->port->now_ns() + patience_ns;
    const vfront_status_t status = s->port->close(s);
    if (status == VFRONT_E_ABANDONED) abandon(s);
    return status;
}

/** Opens a port, and prepares what it runs. */
static vfront_status_t start_port(struct vf_state *s, const vfront_rig_t *rig)
{
    s->device_bytes = s->pinned_bytes = 0;
    s->give_up_ns = s->port->now_ns() + (uint64_t)s->step[0].tuning.abandon_init_ms * 1000000u;
    vfront_status_t status = s->port->open(s);
    if (status) return status;
    for (int parity = 0; parity < 2; parity++) vf_views_look(&s->view[parity], &s->step[parity]);
    status = prepare(s, rig);
    if (status) return status;
    warm_up_params(s);
    return s->port->ready(s);
}

static vfront_status_t open_port(struct vf_state *s, const struct vf_port *port, const vfront_rig_t *rig)
{
    s->port = port;
    const vfront_status_t status = start_port(s, rig);
    if (!status) return status;
    const vfront_status_t closed = vf_close_port(s, (uint64_t)s->step[0].tuning.abandon_us * 1000u);
    return closed ? closed : status;
}

/** The first port of the list that opens; the last one's status if none does. A list of one is no choice. */
static vfront_status_t choose_port(struct vf_state *s, const vfront_rig_t *rig, vfront_port_t wish)
{
    static const struct vf_port *const port[] = {
#ifdef VFRONT_CUDA
        &vf_port_cuda,
#endif
#if VFRONT_HOST
        &vf_port_host,
#endif
        NULL
    };
    vfront_status_t status = VFRONT_E_PORT;
    for (int i = 0; port[i] && status; i++)
        if (wish == VFRONT_PORT_AUTO || wish == port[i]->id) status = open_port(s, port[i], rig);
    return status == VFRONT_E_PORT ? vf_refuse(s, status, "port %d is not in this build", (int32_t)wish, "") : status;
}

/** Opens the port, and before it the one that stands by where the tuning asks for it, so that the memory of both is
 *  there from the beginning. */
static vfront_status_t open_ports(struct vf_state *s, const vfront_rig_t *rig, vfront_port_t wish)
{
#if defined VFRONT_CUDA && VFRONT_HOST
    const uint32_t active = s->step[0].geometry.active, spare = VF_BIT(dense) | VF_BIT(stixel);
    const int stands_by = s->step[0].tuning.failover && wish != VFRONT_PORT_HOST;
    if (stands_by) {
        if (!s->step[0].tuning.failover_dense)
            for (int parity = 0; parity < 2; parity++) s->step[parity].geometry.active = active & ~spare;
        const vfront_status_t status = open_port(s, &vf_port_host, rig);
        if (status) return status;
        vf_failover_stand_by(s);
        for (int parity = 0; parity < 2; parity++) s->step[parity].geometry.active = active;
    }
#endif
    const vfront_status_t status = choose_port(s, rig, wish);
#if defined VFRONT_CUDA && VFRONT_HOST
    s->failover.ready = !status && stands_by && s->port == &vf_port_cuda;
#endif
    s->inputs = s->pinned;
    return status;
}

vfront_status_t vf_setup(struct vf_state *s, const vfront_rig_t *rig, const vfront_tuning_t *t, vfront_port_t port)
{
    vfront_status_t status = vf_check_rig(s, rig);
    if (!status) status = vf_check_tuning(s, t);
    if (!status) status = look(s, rig, t);
    if (!status) status = vf_check_aligned(s, t);
    if (!status) status = vf_check_window(s, t);
    if (!status) status = vf_check_map(s, t);
    if (!status) status = lay_out(s, rig, t);
    if (!status) status = open_ports(s, rig, port);
    if (status) return status;
    s->rig = *rig;
    for (int32_t i = 0; i < VFRONT_CAMERAS; i++) s->rig.camera[i].mask = NULL;
    s->resets = s->reset_counter = (uint32_t)t->first_reset_counter;
    return VFRONT_OK;
}
