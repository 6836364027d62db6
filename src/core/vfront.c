/* SPDX-License-Identifier: MIT */
/* The public interface: arguments and order of the calls. Set-up is in setup.c, the parameters and the result of a
 * frame are in frame.c. */
#include "failover.h"
#include "frame.h"
#include "map.h"
#include "port/host/host.h"
#include "setup.h"
#include "check.h"

VF_STATIC_ASSERT(sizeof(struct vf_block) + 64 <= sizeof(vfront_t),
                 "vfront: VFRONT_BLOCK_BYTES is too small for the layout");
VF_STATIC_ASSERT(offsetof(struct vf_state, detail) == 0, "vfront: a vf_state of any version begins with its detail");

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
        NAME(VFRONT_E_ABANDONED)
        NAME(VFRONT_E_STICKY)
        NAME(VFRONT_E_IMU)
        NAME(VFRONT_E_NAV)
        NAME(VFRONT_E_MAP)
        NAME(VFRONT_E_MAP_OTHER)
        NAME(VFRONT_E_MAP_TWICE)
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

/** Text being written into vf_state.detail; what does not fit is cut off. */
struct text {
    char *to, *end;
};

static void put_text(struct text *t, const char *text)
{
    while (*text && t->to < t->end) *t->to++ = *text++;
    *t->to = 0;
}

static void put_number(struct text *t, uint64_t number)
{
    char digit[21];
    int n = sizeof digit - 1;
    digit[n] = 0;
    do digit[--n] = (char)('0' + number % 10);
    while (number /= 10);
    put_text(t, digit + n);
}

static struct text begin_detail(struct vf_state *s)
{
    return (struct text){s->detail, s->detail + sizeof s->detail - 1};
}

vfront_status_t vf_refuse(struct vf_state *s, vfront_status_t status, const char *what, int32_t index, const char *rest)
{
    struct text t = begin_detail(s);
    put_text(&t, "");
    for (; *what; what++) {
        if (what[0] == '%' && what[1] == 'd') {
            if (index < 0) put_text(&t, "-");
            put_number(&t, index < 0 ? 0u - (uint32_t)index : (uint32_t)index);
            what++;
        } else if (what[0] == '%' && what[1] == 's') {
            put_text(&t, rest);
            what++;
        } else {
            put_text(&t, (const char[2]){*what});
        }
    }
    return status;
}

/** Refusal of a NULL argument, noted where there is a front end to note it in. */
static vfront_status_t missing(const vfront_t *vf, const char *what)
{
    struct vf_state *s = vf ? in_use(vf) : NULL;
    return s ? vf_refuse(s, VFRONT_E_NULL, what, 0, "") : VFRONT_E_NULL;
}

const char *vfront_detail(const vfront_t *vf) { return vf && (uintptr_t)vf % 8 == 0 ? state_of(vf)->detail : ""; }

const char *vfront_version(void) { return VFRONT_VERSION; }

/* ---- what application and library must agree on ------------------------------------------------------------------ */

static const vfront_value_t own_value[] = {VFRONT_VALUES};
#define OWN_VALUES (sizeof own_value / sizeof *own_value)

/** Value of a name, or NULL. */
static const uint64_t *value_of(const vfront_value_t *values, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(values[i].name, name)) return &values[i].value;
    return NULL;
}

/** First name that does not have the same value on both sides, or NULL. */
static const char *first_difference(const vfront_value_t *values, size_t count)
{
    for (size_t i = 0; i < OWN_VALUES; i++) {
        const uint64_t *theirs = value_of(values, count, own_value[i].name);
        if (!theirs || *theirs != own_value[i].value) return own_value[i].name;
    }
    for (size_t i = 0; i < count; i++)
        if (!value_of(own_value, OWN_VALUES, values[i].name)) return values[i].name;
    return NULL;
}

static void put_side(struct text *t, const uint64_t *value, const char *side)
{
    if (value)
        put_number(t, *value);
    else
        put_text(t, "unknown");
    put_text(t, side);
}

/** VFRONT_E_CONFIG if a value differs between application and library, or only one of the two has it; vfront_detail()
 *  names the first one, unless the application's vfront_t is too small for a text. Touches nothing else of it. */
static vfront_status_t check_values(vfront_t *vf, const vfront_value_t *values, size_t count)
{
    struct vf_state *s = state_of(vf);
    const uint64_t *bytes = value_of(values, count, "sizeof(vfront_t)");
    const char *name = first_difference(values, count);
    if (!name) return VFRONT_OK;
    if (!bytes || *bytes < (uint64_t)(s->detail - (char *)vf) + sizeof s->detail) return VFRONT_E_CONFIG;
    struct text t = begin_detail(s);
    put_text(&t, name);
    put_text(&t, ": ");
    put_side(&t, value_of(values, count, name), " in the application, ");
    put_side(&t, value_of(own_value, OWN_VALUES, name), " in the library");
    return VFRONT_E_CONFIG;
}

/* ---- init -------------------------------------------------------------------------------------------------------- */

/** Zeroes a state, but for the count of ports that were given up. */
static void clear(struct vf_state *s)
{
    const uint32_t abandoned = s->abandoned;
    const size_t bytes = s->abandoned_bytes;
    memset(s, 0, sizeof *s);
    s->abandoned = abandoned;
    s->abandoned_bytes = bytes;
}

/** abandon_us of a front end [ns]. */
static uint64_t patience_ns(const struct vf_state *s) { return (uint64_t)s->step[0].tuning.abandon_us * 1000u; }

vfront_status_t vfront_init_values(vfront_t *vf, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                                   vfront_port_t port, const vfront_value_t *values, size_t count)
{
    if (!vf || !values) return VFRONT_E_NULL;
    if ((uintptr_t)vf % 8) return VFRONT_E_ALIGN;
    if (check_values(vf, values, count)) return VFRONT_E_CONFIG; /* before vf is touched: its size may be another */
    struct vf_state *s = state_of(vf);
    if (s->magic == VF_MAGIC) return vf_refuse(s, VFRONT_E_STATE, "vfront_init: in use already", 0, "");
    clear(s);
    if (!rig) return vf_refuse(s, VFRONT_E_NULL, "vfront_init: rig is NULL", 0, "");

    vfront_tuning_t standard;
    vfront_tuning_default(&standard);
    const vfront_tuning_t *t = tuning ? tuning : &standard;
    const vfront_status_t status = vf_setup(s, rig, t, port);
    if (status) return status;
    s->magic = VF_MAGIC;
    return VFRONT_OK;
}

vfront_status_t vfront_shutdown(vfront_t *vf)
{
    struct vf_state *s = vf ? in_use(vf) : NULL;
    if (!s) return VFRONT_OK;
    char detail[sizeof s->detail];
    vf_failover_end(s);
    const vfront_status_t status = vf_close_port(s, patience_ns(s));
    memcpy(detail, s->detail, sizeof detail);
    clear(s);
    if (status) memcpy(s->detail, detail, sizeof detail);
    return status;
}

/* ---- step -------------------------------------------------------------------------------------------------------- */

vfront_status_t vfront_input(vfront_t *vf, int32_t camera, void **data)
{
    if (!vf || !data) return missing(vf, "vfront_input: data is NULL");
    struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (camera < 0 || camera >= s->step[0].geometry.cameras)
        return vf_refuse(s, VFRONT_E_SIZE, "vfront_input: no camera %d", camera, "");
    *data = s->inputs->input[s->input][camera];
    return VFRONT_OK;
}

vfront_status_t vfront_inputs(vfront_t *vf, int32_t camera, void *data[VFRONT_INPUTS])
{
    if (!vf || !data) return missing(vf, "vfront_inputs: data is NULL");
    struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (camera < 0 || camera >= s->step[0].geometry.cameras)
        return vf_refuse(s, VFRONT_E_SIZE, "vfront_inputs: no camera %d", camera, "");
    for (int i = 0; i < VFRONT_INPUTS; i++) data[i] = s->inputs->input[i][camera];
    return VFRONT_OK;
}

/** Refusal of a call because a frame is under way; unless that frame takes too long, so that nothing but
 *  vfront_shutdown() is of use any more, or the host port takes over. */
static vfront_status_t busy(struct vf_state *s, const char *what)
{
    if (s->port->now_ns() >= s->give_up_ns && s->port->wait(s, 0) == VFRONT_E_ABANDONED) {
        if (!vf_failover_can(s)) {
            s->under_way = 0;
            return s->failed = VFRONT_E_ABANDONED;
        }
        vf_failover_go_on(s); /* the frame is done now, and vfront_wait() gives its result */
    }
    return vf_refuse(s, VFRONT_E_BUSY, what, 0, "");
}

/** Starts the step of a frame that was checked. */
static vfront_status_t start_step(struct vf_state *s, const vfront_frame_t *frame)
{
    const vfront_status_t status = vf_frame_params(s, frame);
    return status ? status : s->port->submit(s);
}

/** 1 for a status of which the port is the cause, not the call. */
static int is_fault(vfront_status_t status) { return status == VFRONT_E_DEVICE || status == VFRONT_E_ABANDONED; }

vfront_status_t vfront_submit(vfront_t *vf, const vfront_frame_t *frame)
{
    if (!vf || !frame) return missing(vf, "vfront_submit: frame is NULL");
    struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (s->under_way) return busy(s, "vfront_submit: a frame is under way");
    if (s->failed) return s->failed;
    s->submitted_ns = s->port->now_ns();
    s->give_up_ns = s->submitted_ns + patience_ns(s);
    vfront_status_t status = vf_check_frame(s, frame);
    if (!status) status = start_step(s, frame);
    if (is_fault(status) && vf_failover_can(s)) {
        vf_failover_go(s);
        status = start_step(s, frame);
    } else if (!status) {
        vf_failover_keep(s, frame);
    }
    if (is_fault(status)) s->failed = status;
    if (status) return status;
    vf_readings_keep(&s->readings);
    s->unseen = s->unseen_next;
    s->under_way = 1;
    s->input ^= 1;
    return VFRONT_OK;
}

vfront_status_t vfront_wait(vfront_t *vf, uint32_t timeout_us, const vfront_result_t **result)
{
    if (result) *result = NULL;
    if (!vf || !result) return missing(vf, "vfront_wait: result is NULL");
    struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (!s->under_way) return vf_refuse(s, VFRONT_E_STATE, "vfront_wait: nothing was submitted", 0, "");
    vfront_status_t status = s->port->wait(s, timeout_us);
    if (status == VFRONT_E_TIMEOUT) return status;
    if (status && vf_failover_can(s)) {
        vf_failover_go_on(s);
        status = VFRONT_OK;
    }
    s->under_way = 0;
    if (status) {
        s->failed = status;
        return status;
    }
    vfront_result_t *r = &s->pinned->result[s->ticket % 3];
    vf_frame_result(s, r);
    s->frame = r->frame + 1;
    s->map.given = 0;
    s->resets = s->pinned->params.reset_counter;
    s->reset_counter = r->health.reset_counter;
    s->refused.length = 0;
    s->t_ns = r->t_ns;
    s->t_mid_ns = r->t_mid_ns;
    vf_failover_remember(s);
    s->parity ^= 1;
    vf_failover_count(s, r->timing.overrun);
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
    if (s->under_way) return busy(s, "vfront_reset: a frame is under way");
    if (s->failed) return s->failed;
    s->frame = 0;
    memset(&s->map, 0, sizeof s->map);
    s->refused.length = 0;
    s->resets = ++s->reset_counter; /* losses counted so far stay counted */
    return VFRONT_OK;
}

vfront_status_t vfront_return(vfront_t *vf)
{
    if (!vf) return VFRONT_E_NULL;
    struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (s->under_way) return busy(s, "vfront_return: a frame is under way");
    if (!s->failover.over) return vf_refuse(s, VFRONT_E_STATE, "vfront_return: no port failed over", 0, "");
    s->give_up_ns = s->port->now_ns() + patience_ns(s);
    return vf_failover_return(s);
}

vfront_status_t vfront_map_save(vfront_t *vf, void *buffer, size_t bytes, size_t *used)
{
    if (used) *used = 0;
    if (!vf || !buffer || !used) return missing(vf, "vfront_map_save: buffer or used is NULL");
    struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (s->under_way) return busy(s, "vfront_map_save: a frame is under way");
    if (s->failed) return s->failed;
    s->give_up_ns = s->port->now_ns() + patience_ns(s);
    vfront_status_t status = vf_map_save(s, buffer, bytes, used);
    if (is_fault(status) && vf_failover_can(s)) {
        vf_failover_go(s);
        status = vf_map_save(s, buffer, bytes, used);
    }
    if (is_fault(status)) s->failed = status;
    return status;
}

vfront_status_t vfront_map_load(vfront_t *vf, const void *buffer, size_t bytes)
{
    if (!vf || !buffer) return missing(vf, "vfront_map_load: buffer is NULL");
    struct vf_state *s = in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (s->under_way) return busy(s, "vfront_map_load: a frame is under way");
    if (s->failed) return s->failed;
    s->give_up_ns = s->port->now_ns() + patience_ns(s);
    vfront_status_t status = vf_map_load(s, buffer, bytes);
    if (is_fault(status) && vf_failover_can(s)) {
        vf_failover_go(s);
        status = vf_map_load(s, buffer, bytes);
    }
    if (is_fault(status)) s->failed = status;
    return status;
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
    memcpy(info->failover, s->failover.why, sizeof info->failover);
    info->abandoned = s->abandoned;
    info->abandoned_bytes = s->abandoned_bytes;
    info->levels = s->step[0].geometry.levels;
    info->scales = s->step[0].geometry.searched;
    info->rectified = s->step[0].geometry.rectified;
#if VFRONT_DENSE
    const int dense = (s->step[0].geometry.active & VF_BIT(dense)) != 0;
    info->disparity_px16 = dense ? s->memory->dense.disparity : NULL;
    info->disparity_confidence = dense ? s->memory->dense.confidence : NULL;
#endif
    info->disparity_pitch = s->step[0].geometry.level[0][0].pitch;
    for (int32_t i = 0; i < VFRONT_CAMERAS; i++) {
        info->cells[i] = s->step[0].geometry.cells[i];
        info->blind_px[i] = s->blind_px[i];
        info->seen[i] = s->seen.camera[i];
        memcpy(info->valid_px[i], s->valid_px[i], sizeof info->valid_px[i]);
    }
    return VFRONT_OK;
}
