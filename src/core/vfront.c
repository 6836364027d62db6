/* SPDX-License-Identifier: MIT */
/* The public interface: order of calls, parameters of a step, results. No arithmetic on pictures, and nothing of any port. */
#include "port/host/host.h"
#include "math/angle.h"
#include "features/bearing.h"
#include "check.h"
#include "math/rotation.h"

VF_STATIC_ASSERT(sizeof(struct vf_block) + 64 <= sizeof(vfront_t),
                 "vfront: VFRONT_BLOCK_BYTES is too small for the layout");
VF_STATIC_ASSERT(sizeof(struct vf_memory) % 64 == 0, "vfront: the arena is made of cache lines");
VF_STATIC_ASSERT(VFRONT_PYRAMID_BYTES < (1 << 30) && VFRONT_SCALES_BYTES < (1 << 30),
                 "vfront: offsets in a pyramid fit 32 bits");

static const char *const stage_name[] = {
#define VF_STAGE(name, needs, what) #name,
#include "stages.def"
#undef VF_STAGE
};

const char *vfront_stage_name(size_t stage) { return stage < VFRONT_STAGES ? stage_name[stage] : NULL; }

const char *vfront_status_name(vfront_status_t status)
{
    switch (status) {
#define NAME(s)                                                                                                        \
    case s: return #s;
        NAME(VFRONT_OK)
        NAME(VFRONT_E_NULL)
        NAME(VFRONT_E_STATE)
        NAME(VFRONT_E_BUSY)
        NAME(VFRONT_E_CONFIG)
        NAME(VFRONT_E_SIZE)
        NAME(VFRONT_E_PITCH)
        NAME(VFRONT_E_ALIGN)
        NAME(VFRONT_E_FORMAT)
        NAME(VFRONT_E_MEMORY_KIND)
        NAME(VFRONT_E_MASK)
        NAME(VFRONT_E_TIME)
        NAME(VFRONT_E_CALIBRATION)
        NAME(VFRONT_E_TUNING)
        NAME(VFRONT_E_GYRO)
        NAME(VFRONT_E_PRIOR)
        NAME(VFRONT_E_PORT)
        NAME(VFRONT_E_NO_DEVICE)
        NAME(VFRONT_E_DRIVER)
        NAME(VFRONT_E_DEVICE_MEMORY)
        NAME(VFRONT_E_DEVICE)
        NAME(VFRONT_E_TIMEOUT)
#undef NAME
    }
    return "unknown status";
}

/* ---- state ------------------------------------------------------------------------------------------------------- */

/** The library's block within the caller's: at the first cache line of it. */
static struct vf_state *state_of(const vfront_t *vf)
{
    return (struct vf_state *)(((uintptr_t)vf + 63) & ~(uintptr_t)63);
}

/** The state of a front end in use, or NULL. */
static struct vf_state *in_use(const vfront_t *vf)
{
    struct vf_state *s = state_of(vf);
    return s->magic == VF_MAGIC ? s : NULL;
}

static char *put_number(char *to, const char *end, int32_t number)
{
    char digit[12];
    int n = 0;
    uint32_t v = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
    do digit[n++] = (char)('0' + v % 10);
    while (v /= 10);
    if (number < 0) digit[n++] = '-';
    while (n && to < end) *to++ = digit[--n];
    return to;
}

vfront_status_t vf_refuse(struct vf_state *s, vfront_status_t status, const char *what, int32_t index, const char *rest)
{
    char *to = s->detail, *const end = s->detail + sizeof s->detail - 1;
    for (; *what && to < end; what++) {
        if (what[0] == '%' && what[1] == 'd') {
            to = put_number(to, end, index);
            what++;
        } else if (what[0] == '%' && what[1] == 's') {
            while (*rest && to < end) *to++ = *rest++;
            what++;
        } else {
            *to++ = *what;
        }
    }
    *to = 0;
    return status;
}

/** Refusal of a NULL argument, noted where there is a front end to note it in. */
static vfront_status_t missing(const vfront_t *vf, const char *what)
{
    struct vf_state *s = vf ? in_use(vf) : NULL;
    return s ? vf_refuse(s, VFRONT_E_NULL, what, 0, "") : VFRONT_E_NULL;
}

const char *vfront_detail(const vfront_t *vf) { return vf && (uintptr_t)vf % 8 == 0 ? state_of(vf)->detail : ""; }

/* ---- init -------------------------------------------------------------------------------------------------------- */

/** Pictures as they come. */
static void lay_out_raw(struct vf_level *l, const vfront_camera_t *c)
{
    l->width = c->width_px;
    l->height = c->height_px;
    l->pitch = VFRONT_PITCH(l->width);
}

/** What the stages see of a camera. */
static void lay_out_camera(struct vf_geometry *g, int32_t i, const vfront_camera_t *c, const vfront_tuning_t *t)
{
    uint32_t offset = 0;
    for (int32_t level = 0; level < g->levels; level++) {
        struct vf_level *l = &g->level[i][level];
        l->width = c->width_px >> level;
        l->height = c->height_px >> level;
        l->pitch = VFRONT_PITCH(l->width);
        l->offset = offset;
        offset += (uint32_t)(l->pitch * l->height);
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

/** Levels that leave every camera at least 16 px on a side. */
static int32_t count_levels(const vfront_rig_t *rig)
{
    int32_t levels = 1;
    for (; levels < VFRONT_LEVELS; levels++)
        for (int32_t i = 0; i < rig->cameras; i++)
            if (rig->camera[i].width_px >> levels < 16 || rig->camera[i].height_px >> levels < 16) return levels;
    return levels;
}

/** The same for the levels of key points, and how large their pixels are. */
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

/** A camera's lens; without calibration, a pinhole as long as the picture is wide. */
static struct vf_lens lens_of(const vfront_camera_t *c)
{
    vfront_camera_t camera = *c;
    struct vf_lens lens;
    if (camera.fx_px == 0.0) {
        camera.fx_px = camera.fy_px = camera.width_px;
        camera.cx_px = 0.5 * (camera.width_px - 1);
        camera.cy_px = 0.5 * (camera.height_px - 1);
        camera.lens = VFRONT_LENS_RADTAN;
        memset(camera.distortion, 0, sizeof camera.distortion);
    }
    vf_lens_make(&lens, &camera);
    return lens;
}

/** What the stages know of lenses. */
static void lay_out_lenses(struct vf_geometry *g, struct vf_state *s, const vfront_rig_t *rig)
{
    for (int32_t i = 0; i < g->cameras; i++) {
        const vfront_camera_t *c = &s->seen.camera[i];
        const struct vf_lens lens = lens_of(c);
        g->calibrated[i] = c->fx_px != 0.0;
        g->focal_px[i] = (float)(0.5 * (lens.fx_px + lens.fy_px));
        s->blind_px[i] = vf_bearing_blind(NULL, 0, c->width_px, c->height_px, &lens);
        g->masked[i] = rig->camera[i].mask != NULL || s->blind_px[i] || g->rectified;
    }
}

#if VFRONT_CAMERAS > 1
/** How the cameras sit to each other. */
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

/** The road that the rig gives, where camera 0 has a place to measure it from. */
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
/** Where the rectified pictures' pixels come from. */
static struct vf_rectifier rectifier_of(const struct vf_state *s, const vfront_rig_t *rig, int32_t i)
{
    struct vf_rectifier r;
    vf_rectify_make(&r, &rig->camera[i], &s->seen.camera[i], s->R_rig_seen[i]);
    return r;
}

/** The same, rectified. */
static vfront_status_t look_rectified(struct vf_state *s, const vfront_rig_t *rig, const vfront_tuning_t *t)
{
    if (!vf_check_placed(rig))
        return vf_refuse(s, VFRONT_E_CALIBRATION, "rectify needs two calibrated cameras in different places: rig", 0,
                         "");
    const char *why = vf_rectify_rig(&s->seen, s->R_rig_seen, t->rectify_focal_percent);
    if (why) return vf_refuse(s, VFRONT_E_CALIBRATION, why, 0, "");
    for (int32_t i = 0; i < rig->cameras; i++) {
        const struct vf_rectifier r = rectifier_of(s, rig, i);
        if (!vf_rectify_valid(s->valid_px[i], &r))
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
    for (int parity = 0; parity < 2; parity++) {
        s->step[parity].geometry = g;
        s->step[parity].tuning = *t;
        s->step[parity].parity = parity;
    }
    return VFRONT_OK;
}

/** What the rig masks of a camera as it sees. */
static void fill_mask(struct vf_state *s, const vfront_camera_t *c, int32_t i, uint8_t *mask)
{
    const struct vf_level *l = &s->step[0].geometry.level[i][0];
    const size_t pitch = (size_t)l->pitch;
    memset(mask, 255, pitch * (size_t)l->height);
    for (int32_t y = 0; c->mask && y < l->height; y++)
        memcpy(mask + (size_t)y * pitch, c->mask + (size_t)y * c->mask_pitch_bytes, (size_t)l->width);
    if (s->blind_px[i]) {
        const struct vf_lens lens = lens_of(&s->seen.camera[i]);
        vf_bearing_blind(mask, pitch, l->width, l->height, &lens);
    }
}

/** The static mask of a camera: what the rig masks, and where its lens has no bearing; rectified, also what it does not see. It is put
 *  together where frames' masks pass. */
static vfront_status_t write_mask(struct vf_state *s, const vfront_rig_t *rig, int32_t i)
{
    const struct vf_geometry *g = &s->step[0].geometry;
    const struct vf_level *l = &g->level[i][0];
    uint8_t *mask = s->pinned->mask[i];
    if (!g->masked[i]) return VFRONT_OK;
#if VFRONT_RECTIFY
    if (g->rectified) {
        const struct vf_rectifier r = rectifier_of(s, rig, i);
        vf_rectify_mask(mask, (size_t)l->pitch, &r, &rig->camera[i], s->step[0].tuning.detect_border_px);
    } else
#endif
        fill_mask(s, &rig->camera[i], i, mask);
    return s->port->write(s, s->memory->ingest.mask_static[i], mask, (size_t)l->pitch * (size_t)l->height);
}

/** Where a rectified camera's pixels come from. */
static vfront_status_t write_spots(struct vf_state *s, const vfront_rig_t *rig, int32_t i)
{
    vfront_status_t status = VFRONT_OK;
#if VFRONT_RECTIFY
    const int32_t across = VF_SPOTS(s->seen.camera[i].width_px), down = VF_SPOTS(s->seen.camera[i].height_px);
    const struct vf_rectifier r = rectifier_of(s, rig, i);
    struct vf_spot row[VF_SPOTS(VFRONT_WIDTH)];
    for (int32_t j = 0; s->step[0].geometry.rectified && j < down && !status; j++) {
        vf_rectify_row(row, &r, j);
        status = s->port->write(s, s->memory->rectify.spot[i] + j * across, row, sizeof *row * (size_t)across);
    }
#else
    (void)s, (void)rig, (void)i;
#endif
    return status;
}

/** The grid of bearings of a camera. */
static vfront_status_t write_bearings(struct vf_state *s, int32_t i)
{
    const struct vf_level *l = &s->step[0].geometry.level[i][0];
    const struct vf_lens lens = lens_of(&s->seen.camera[i]);
    const int32_t across = vf_nodes(l->width);
    struct vf_node row[VF_NODES(VFRONT_WIDTH)];
    vfront_status_t status = VFRONT_OK;
    for (int32_t j = 0; j < vf_nodes(l->height) && !status; j++) {
        vf_bearing_row(row, across, &lens, j);
        status = s->port->write(s, s->memory->bearing.node[i] + j * across, row, sizeof *row * (size_t)across);
    }
    return status;
}

/** Tables of the stixels. They are put together where results come to lie: the stack is too small for them. */
static vfront_status_t write_stixels(struct vf_state *s)
{
#if VFRONT_STIXELS
    VF_STATIC_ASSERT(sizeof(struct vf_stixel_tables) <= sizeof s->pinned->result,
                     "vfront: VFRONT_COLUMNS * VFRONT_SEGMENTS is too small");
    void *room = s->pinned->result;
    if (!vf_stixel_on(&s->step[0])) return VFRONT_OK;
    vf_stixel_make(room, &s->step[0]);
    const vfront_status_t status = s->port->write(s, &s->memory->stixel.tables, room, sizeof(struct vf_stixel_tables));
    memset(room, 0, sizeof(struct vf_stixel_tables));
    return status;
#else
    (void)s;
    return VFRONT_OK;
#endif
}

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

static vfront_status_t open_port(struct vf_state *s, const struct vf_port *port, const vfront_rig_t *rig)
{
    s->port = port;
    vfront_status_t status = port->open(s);
    if (status) return status;
    for (int32_t i = 0; i < rig->cameras && !status; i++) {
        status = write_mask(s, rig, i);
        if (!status) status = write_spots(s, rig, i);
        if (!status) status = write_bearings(s, i);
    }
    if (!status) status = write_stixels(s);
    if (!status) {
        warm_up_params(s);
        status = port->ready(s);
    }
    if (status) port->close(s);
    return status;
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

vfront_status_t vfront_init_config(vfront_t *vf, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                                   vfront_port_t port, uint64_t config_id)
{
    if (!vf) return VFRONT_E_NULL;
    if ((uintptr_t)vf % 8) return VFRONT_E_ALIGN;
    if (config_id != VFRONT_CONFIG_ID) return VFRONT_E_CONFIG; /* before vf is touched: its size may be another */
    struct vf_state *s = state_of(vf);
    if (s->magic == VF_MAGIC) return vf_refuse(s, VFRONT_E_STATE, "vfront_init: in use already", 0, "");
    memset(s, 0, sizeof *s);
    if (!rig) return vf_refuse(s, VFRONT_E_NULL, "vfront_init: rig is NULL", 0, "");

    vfront_tuning_t standard;
    vfront_tuning_default(&standard);
    const vfront_tuning_t *t = tuning ? tuning : &standard;
    vfront_status_t status = vf_check_rig(s, rig);
    if (!status) status = vf_check_tuning(s, t);
    if (!status) status = look(s, rig, t);
    if (!status) status = vf_check_aligned(s, t);
    if (!status) status = lay_out(s, rig, t);
    if (!status) status = choose_port(s, rig, port);
    if (status) return status;

    s->rig = *rig;
    for (int32_t i = 0; i < VFRONT_CAMERAS; i++) s->rig.camera[i].mask = NULL;
    s->magic = VF_MAGIC;
    return VFRONT_OK;
}

void vfront_shutdown(vfront_t *vf)
{
    struct vf_state *s = vf ? in_use(vf) : NULL;
    if (!s) return;
    s->port->close(s);
    memset(s, 0, sizeof *s);
}

/* ---- step -------------------------------------------------------------------------------------------------------- */

vfront_status_t vfront_input(vfront_t *vf, int32_t camera, void **data)
{
    if (!vf || !data) return missing(vf, "vfront_input: data is NULL");
    struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (camera < 0 || camera >= s->step[0].geometry.cameras)
        return vf_refuse(s, VFRONT_E_SIZE, "vfront_input: no camera %d", camera, "");
    *data = s->pinned->input[s->input][camera];
    return VFRONT_OK;
}

static void copy_mask(struct vf_state *s, const vfront_picture_t *p, int32_t i, struct vf_source *source)
{
    const struct vf_level *l = &s->step[0].geometry.raw[i];
    source->mask = NULL;
    if (!p->mask) return;
    for (int32_t y = 0; y < l->height; y++)
        memcpy(s->pinned->mask[i] + (size_t)y * (size_t)l->pitch, p->mask + (size_t)y * p->mask_pitch_bytes,
               (size_t)l->width);
    source->mask = s->port->seen(s, s->pinned->mask[i]);
    source->mask_pitch = (uint32_t)l->pitch;
}

static vfront_status_t fill_sources(struct vf_state *s, const vfront_frame_t *f)
{
    for (int32_t i = 0; i < s->step[0].geometry.cameras; i++) {
        struct vf_source *source = &s->pinned->params.source[i];
        source->format = f->picture[i].format;
        const vfront_status_t status = s->port->adopt(s, &f->picture[i], s->pinned->input[s->input][i], source);
        if (status) return status;
        copy_mask(s, &f->picture[i], i, source);
    }
    return VFRONT_OK;
}

/** A rotation in axes of the rig's camera 0, in those of the camera as the stages see it. */
static void turn_to_seen(double R[9], const struct vf_state *s)
{
    double back[9];
    if (!s->step[0].geometry.rectified) return;
    vf_rotation_transpose(back, s->R_rig_seen[0]);
    vf_rotation_multiply(R, back, R);
    vf_rotation_multiply(R, R, s->R_rig_seen[0]);
}

/** The rotation that the frame gives, if any, as it is and as a homography. */
static void fill_rotation(struct vf_state *s, const vfront_frame_t *f, uint64_t t_mid_ns)
{
    struct vf_params *p = &s->pinned->params;
    double R[9];
    p->rotation_given = 0;
    for (int i = 0; i < 9; i++) p->R[i] = i % 4 == 0 ? 1.0f : 0.0f;
    if (!s->frame || s->seen.camera[0].fx_px == 0.0) return;
    if (f->R_cur_prev) {
        memcpy(R, f->R_cur_prev, sizeof R);
        turn_to_seen(R, s);
    } else if (f->gyro && f->gyro_count && t_mid_ns > s->t_mid_ns) {
        vf_rotation_gyro(R, &s->seen.camera[0], f->gyro, f->gyro_count, s->t_mid_ns, t_mid_ns);
    } else {
        return;
    }
    vf_rotation_homography(p->H, &s->seen.camera[0], R);
    for (int i = 0; i < 9; i++) p->R[i] = (float)R[i];
    p->rotation_given = 1;
}

static void fill_params(struct vf_state *s, const vfront_frame_t *f)
{
    struct vf_params *p = &s->pinned->params;
    p->t_ns = f->t_ns;
    p->t_mid_ns = f->t_ns + f->exposure_ns / 2;
    p->dt_ns = s->frame ? f->t_ns - s->t_ns : 0;
    p->gap = p->dt_ns > (uint64_t)s->step[0].tuning.health_gap_ms * 1000000u;
    p->frame = s->frame;
    p->ticket = ++s->ticket;
    p->result = (uint32_t)(s->ticket % 3);
    p->reset_counter = s->resets;
    fill_rotation(s, f, p->t_mid_ns);
}

vfront_status_t vfront_submit(vfront_t *vf, const vfront_frame_t *frame)
{
    if (!vf || !frame) return missing(vf, "vfront_submit: frame is NULL");
    struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (s->under_way) return vf_refuse(s, VFRONT_E_BUSY, "vfront_submit: a frame is under way", 0, "");
    if (s->failed) return VFRONT_E_DEVICE;
    s->submitted_ns = s->port->now_ns();
    vfront_status_t status = vf_check_frame(s, frame);
    if (!status) status = fill_sources(s, frame);
    if (!status) {
        fill_params(s, frame);
        status = s->port->submit(s);
    }
    s->failed = status == VFRONT_E_DEVICE;
    if (status) return status;
    s->under_way = 1;
    s->input ^= 1;
    return VFRONT_OK;
}

static void fill_timing(struct vf_state *s, vfront_timing_t *t)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (int i = 0; i < VFRONT_STAGES; i++) {
        const uint64_t *clock = s->pinned->clock[i];
        if (!clock[1]) continue; /* nothing to do for it */
        t->stage_us[i] = clock[1] > clock[0] ? (float)(uint32_t)(clock[1] - clock[0]) * 1e-3f : 0.0f;
        if (clock[0] < first) first = clock[0];
        if (clock[1] > last) last = clock[1];
    }
    const uint64_t step_ns = s->port->now_ns() - s->submitted_ns;
    t->device_us = (float)(uint32_t)(last - first) * 1e-3f;
    t->step_us = (float)step_ns * 1e-3f;
    t->overrun = step_ns > (uint64_t)s->step[0].tuning.deadline_us * 1000u;
    s->overruns += t->overrun;
    t->overruns = s->overruns;
}

/** Where a result's disparities lie on the host. */
static void fill_disparity(const struct vf_state *s, vfront_result_t *r)
{
#if VFRONT_DENSE
    const struct vf_dense_copy *copy = &s->pinned->dense[s->ticket % 3];
    const struct vf_level *l = &s->step[0].geometry.level[0][0];
    const int there = vf_dense_on(&s->step[0]) && s->step[0].tuning.dense_copy;
    r->disparity.px16 = there ? copy->disparity : NULL;
    r->disparity.confidence = there ? copy->confidence : NULL;
    r->disparity.width_px = l->width;
    r->disparity.height_px = l->height;
    r->disparity.pitch = l->pitch;
#else
    (void)s, (void)r;
#endif
}

vfront_status_t vfront_wait(vfront_t *vf, uint32_t timeout_us, const vfront_result_t **result)
{
    if (result) *result = NULL;
    if (!vf || !result) return missing(vf, "vfront_wait: result is NULL");
    struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (!s->under_way) return vf_refuse(s, VFRONT_E_STATE, "vfront_wait: nothing was submitted", 0, "");
    const vfront_status_t status = s->port->wait(s, timeout_us);
    if (status == VFRONT_E_TIMEOUT) return status;
    s->under_way = 0;
    if (status) {
        s->failed = 1;
        return status;
    }
    vfront_result_t *r = &s->pinned->result[s->ticket % 3];
    fill_timing(s, &r->timing);
    fill_disparity(s, r);
    s->frame++;
    s->reset_counter = r->health.reset_counter;
    s->t_ns = r->t_ns;
    s->t_mid_ns = r->t_mid_ns;
    s->parity ^= 1;
    *result = r;
    return VFRONT_OK;
}

vfront_status_t vfront_step(vfront_t *vf, const vfront_frame_t *frame, const vfront_result_t **result)
{
    if (result) *result = NULL;
    if (!result) return missing(vf, "vfront_step: result is NULL");
    const vfront_status_t status = vfront_submit(vf, frame);
    return status ? status : vfront_wait(vf, UINT32_MAX, result);
}

vfront_status_t vfront_reset(vfront_t *vf)
{
    if (!vf) return VFRONT_E_NULL;
    struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (s->under_way) return vf_refuse(s, VFRONT_E_BUSY, "vfront_reset: a frame is under way", 0, "");
    if (s->failed) return VFRONT_E_DEVICE;
    s->frame = 0;
    s->resets = ++s->reset_counter; /* losses counted so far stay counted */
    return VFRONT_OK;
}

vfront_status_t vfront_info(const vfront_t *vf, vfront_info_t *info)
{
    if (!vf || !info) return missing(vf, "vfront_info: info is NULL");
    const struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    memset(info, 0, sizeof *info);
    info->port = s->port->id;
    memcpy(info->device, s->device, sizeof info->device);
    info->host_bytes = sizeof(vfront_t);
    info->pinned_bytes = s->pinned_bytes;
    info->device_bytes = s->device_bytes;
    info->levels = s->step[0].geometry.levels;
    info->scales = vf_scales(&s->step[0]);
    info->rectified = s->step[0].geometry.rectified;
#if VFRONT_DENSE
    info->disparity_px16 = vf_dense_on(&s->step[0]) ? s->memory->dense.disparity : NULL;
    info->disparity_confidence = vf_dense_on(&s->step[0]) ? s->memory->dense.confidence : NULL;
#endif
    info->disparity_pitch = s->step[0].geometry.level[0][0].pitch;
    for (int32_t i = 0; i < VFRONT_CAMERAS; i++) {
        info->cells[i] = vf_cells(&s->step[0].geometry, i);
        info->blind_px[i] = s->blind_px[i];
        info->seen[i] = s->seen.camera[i];
        memcpy(info->valid_px[i], s->valid_px[i], sizeof info->valid_px[i]);
    }
    return VFRONT_OK;
}
