/* SPDX-License-Identifier: MIT */
/* Setup of a front end, called by vfront_init(): rig as seen by the stages, geometry, port, masks and tables of the
 * stages. */
#include "setup.h"

#include <math.h>

#include "base/prepare.h"
#include "camera/grid.h"
#include "camera/lens.h"
#include "camera/masks.h"
#include "camera/rectification.h"
#include "check.h"
#include "failover.h"
#include "math/angle.h"
#include "math/rotation.h"
#include "refuse.h"

VF_STATIC_ASSERT(sizeof(struct vf_memory) % 64 == 0, "vfront: the arena is made of cache lines");
VF_STATIC_ASSERT(VFRONT_PYRAMID_BYTES < (1 << 30) && VFRONT_SCALES_BYTES < (1 << 30),
                 "vfront: offsets in a pyramid fit 32 bits");

#if VFRONT_STIXELS
VF_STATIC_ASSERT(sizeof(struct vf_stixel_tables) <= sizeof((struct vf_pinned *)0)->result,
                 "vfront: VFRONT_COLUMNS * VFRONT_SEGMENTS is too small");
#endif

/* ---- geometry ---------------------------------------------------------------------------------------------------- */

/** Sets size and row pitch of a camera's raw images. */
static void lay_out_raw(struct vf_level *l, const vfront_camera_t *c)
{
    l->width = c->width_px;
    l->height = c->height_px;
    l->pitch = VFRONT_PITCH(l->width);
}

/** Lays out the pyramid levels and grid cells of camera i. c: the camera as the stages see it. */
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

/** Number of the tracker's pyramid levels on which the images of all cameras are at least 16 px wide and high. */
static int32_t count_levels(const vfront_rig_t *rig)
{
    int32_t levels = 1;
    for (; levels < VFRONT_LEVELS; levels++)
        for (int32_t i = 0; i < rig->cameras; i++)
            if (rig->camera[i].width_px >> levels < 16 || rig->camera[i].height_px >> levels < 16) return levels;
    return levels;
}

/** Counts the key point levels on which the images of all cameras are at least 16 px wide and high. Sets the pixel
 *  sizes of these levels. */
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

/** Sets the calibration of each camera: focal length, time per row, pixels without a bearing, and whether it needs a
 *  mask. */
static void lay_out_lenses(struct vf_geometry *g, struct vf_context *s, const vfront_rig_t *rig)
{
    for (int32_t i = 0; i < g->cameras; i++) {
        const vfront_camera_t *c = &s->seen.camera[i];
        const struct vf_lens lens = vf_lens_of(c);
        double focal_px[2] = {lens.fx_px, lens.fy_px}; /* uncalibrated: of a pinhole */
        if (c->fx_px != 0.0) vf_lens_focal(focal_px, c);
        g->calibrated[i] = c->fx_px != 0.0;
        g->focal_px[i] = (float)(0.5 * (focal_px[0] + focal_px[1]));
        g->row_s[i] = (float)(rig->camera[i].row_us * 1e-6);
        s->blind_px[i] = vf_grid_blind(NULL, 0, c->width_px, c->height_px, &lens);
        g->masked[i] = rig->camera[i].mask != NULL || s->blind_px[i] || g->rectified;
    }
}

#if VFRONT_CAMERAS > 1
/** Sets the pose of the second camera relative to the first, epipole and baseline, if both are calibrated. */
static void lay_out_pair(struct vf_geometry *g, const struct vf_context *s)
{
    double R[9], t[3], square = 0.0;
    if (g->cameras < 2 || !g->calibrated[0] || !g->calibrated[1]) return;
    vf_rotation_between(R, t, &s->seen.camera[0], &s->seen.camera[1]);
    for (int k = 0; k < 3; k++) square += t[k] * t[k];
    g->pair.placed = vf_check_is_pair(&s->seen);
    g->pair.baseline_m = (float)sqrt(square);
    for (int k = 0; k < 9; k++) g->pair.R[k] = (float)R[k];
    for (int k = 0; k < 3 && g->pair.placed; k++) g->pair.epipole[k] = (float)(t[k] / sqrt(square));
}
#endif

/** Sets the principal point of camera 0, and horizon and slope of the road in its image if the rig gives the road. */
static void lay_out_road(struct vf_geometry *g, const struct vf_context *s, const vfront_rig_t *rig)
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
/** Writes the rectified cameras to s->seen, the rig as the stages see it. */
static vfront_status_t rectified_rig(struct vf_context *s, const vfront_rig_t *rig, const vfront_tuning_t *t)
{
    if (!vf_check_is_pair(rig))
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

/** Writes s->seen, the rig as the stages see it: with rectified cameras if the tuning enables that. */
static vfront_status_t stage_rig(struct vf_context *s, const vfront_rig_t *rig, const vfront_tuning_t *t)
{
    s->seen = *rig;
    for (int32_t i = 0; i < VFRONT_CAMERAS; i++) {
        const int32_t all[4] = {0, 0, s->seen.camera[i].width_px, s->seen.camera[i].height_px};
        s->seen.camera[i].mask = NULL;
        if (i < rig->cameras) memcpy(s->valid_px[i], all, sizeof all);
    }
#if VFRONT_RECTIFY
    if (t->rectify) return rectified_rig(s, rig, t);
#else
    (void)t;
#endif
    return VFRONT_OK;
}

static vfront_status_t lay_out(struct vf_context *s, const vfront_rig_t *rig, const vfront_tuning_t *t)
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
    g.stixel_model = vf_stixel_model_of(t->stixel_model);
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

/* ---- masks and tables of the stages ------------------------------------------------------------------------------ */

static vfront_status_t write_through(const struct vf_prepare *p, void *to, const void *from, size_t bytes)
{
    struct vf_context *s = p->port;
    return s->port->write(s, to, from, bytes);
}

static vfront_status_t prepare(struct vf_context *s, const vfront_rig_t *rig)
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
    vfront_status_t status = vf_masks_prepare(&p, &v->ingest);
    if (!status) status = vf_rectify_prepare(&p, &v->rectify);
    if (!status) status = vf_bearing_prepare(&p, &v->bearing);
    if (!status) status = vf_stixel_prepare(&p, &v->stixel);
    return status;
}

/* ---- the port ---------------------------------------------------------------------------------------------------- */

/** Sets the parameters of a frame of black images, with which the port runs each parity once at init. */
static void warm_up_params(struct vf_context *s)
{
    struct vf_params *p = &s->pinned->params;
    for (int32_t i = 0; i < s->step[0].geometry.cameras; i++) {
        p->source[i].data = s->port->seen(s, s->pinned->input[0][i]);
        p->source[i].pitch = (uint32_t)s->step[0].geometry.raw[i].width;
        p->source[i].mask = NULL;
        p->source[i].format = VFRONT_GREY8;
    }
}

/** Counts a port that could not be closed, and the bytes of its memory, which stay allocated. */
static void abandon(struct vf_context *s)
{
    s->abandoned++;
    s->abandoned_bytes += s->device_bytes + s->pinned_bytes;
}

vfront_status_t vf_close_port(struct vf_context *s, uint64_t timeout_ns)
{
    s->abandon_ns = s->port->now_ns() + timeout_ns;
    const vfront_status_t status = s->port->close(s);
    if (status == VFRONT_E_ABANDONED) abandon(s);
    return status;
}

/** Opens the port s->port, makes the views, and prepares the masks and tables of its stages. */
static vfront_status_t start_port(struct vf_context *s, const vfront_rig_t *rig)
{
    s->device_bytes = s->pinned_bytes = 0;
    s->abandon_ns = s->port->now_ns() + (uint64_t)s->step[0].tuning.abandon_init_ms * 1000000u;
    vfront_status_t status = s->port->open(s);
    if (status) return status;
    for (int parity = 0; parity < 2; parity++) vf_views_make(&s->view[parity], &s->step[parity]);
    status = prepare(s, rig);
    if (status) return status;
    warm_up_params(s);
    return s->port->ready(s);
}

static vfront_status_t open_port(struct vf_context *s, const struct vf_port *port, const vfront_rig_t *rig)
{
    s->port = port;
    const vfront_status_t status = start_port(s, rig);
    if (!status) return status;
    const vfront_status_t closed = vf_close_port(s, (uint64_t)s->step[0].tuning.abandon_us * 1000u);
    return closed ? closed : status;
}

/** Opens the first port that `requested` allows and that can be opened. Returns the status of the last port tried if
 *  none can. */
static vfront_status_t choose_port(struct vf_context *s, const vfront_rig_t *rig, vfront_port_t requested)
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
        if (requested == VFRONT_PORT_AUTO || requested == port[i]->id) status = open_port(s, port[i], rig);
    return status == VFRONT_E_PORT ? vf_refuse(s, status, "port %d is not in this build", (int32_t)requested, "")
                                   : status;
}

/** Opens the requested port. If the tuning enables fail-over, opens the host port on standby first, so that the memory
 *  of both ports is allocated at init. */
static vfront_status_t open_ports(struct vf_context *s, const vfront_rig_t *rig, vfront_port_t requested)
{
#if defined VFRONT_CUDA && VFRONT_HOST
    const uint32_t active = s->step[0].geometry.active, spare = VF_BIT(dense) | VF_BIT(stixel);
    const int standby = s->step[0].tuning.failover && requested != VFRONT_PORT_HOST;
    if (standby) {
        if (s->step[0].tuning.failover == VFRONT_FAILOVER_LIGHT)
            for (int parity = 0; parity < 2; parity++) s->step[parity].geometry.active = active & ~spare;
        const vfront_status_t status = open_port(s, &vf_port_host, rig);
        if (status) return status;
        vf_failover_set_standby(s);
        for (int parity = 0; parity < 2; parity++) s->step[parity].geometry.active = active;
    }
#endif
    const vfront_status_t status = choose_port(s, rig, requested);
#if defined VFRONT_CUDA && VFRONT_HOST
    s->failover.ready = !status && standby && s->port == &vf_port_cuda;
#endif
    s->inputs = s->pinned;
    return status;
}

vfront_status_t vf_setup(struct vf_context *s, const vfront_rig_t *rig, const vfront_tuning_t *t, vfront_port_t port)
{
    vfront_status_t status = vf_check_rig(s, rig);
    if (!status) status = vf_check_tuning(s, t);
    if (!status) status = stage_rig(s, rig, t);
    if (!status) status = vf_check_aligned(s, t);
    if (!status) status = vf_check_vio(s, t);
    if (!status) status = vf_check_map(s, t);
    if (!status) status = lay_out(s, rig, t);
    if (!status) status = open_ports(s, rig, port);
    if (status) return status;
    s->rig = *rig;
    for (int32_t i = 0; i < VFRONT_CAMERAS; i++) s->rig.camera[i].mask = NULL;
    s->resets = s->reset_counter = (uint32_t)t->first_counter;
    return VFRONT_OK;
}
