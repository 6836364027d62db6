/* SPDX-License-Identifier: MIT */
/* Public interface: checks of the arguments and of the order of the calls. setup.c has the setup, frame.c the
 * parameters and the result of a frame. */
#include "check.h"
#include "failover.h"
#include "frame.h"
#include "handshake.h"
#include "map.h"
#include "refuse.h"
#include "setup.h"

VF_STATIC_ASSERT(sizeof(struct vf_block) + 64 <= sizeof(vfront_t),
                 "vfront: VFRONT_BLOCK_BYTES is too small for the layout");
VF_STATIC_ASSERT(offsetof(struct vf_context, detail) == 0,
                 "vfront: a vf_context of any version begins with its detail");

static const char *const stage_name[] = {
#define VF_STAGE(name, needs, what) #name,
#include "stages.def"
#undef VF_STAGE
};

const char *vfront_stage_name(size_t stage) { return stage < VFRONT_STAGES ? stage_name[stage] : NULL; }

const char *vfront_version(void) { return VFRONT_VERSION; }

/** Refuses a NULL argument. Stores the reason `what` if vf is an initialised front end. */
static vfront_status_t null_argument(const vfront_t *vf, const char *what)
{
    struct vf_context *s = vf ? vf_context_in_use(vf) : NULL;
    return s ? vf_refuse(s, VFRONT_E_NULL, what, 0, "") : VFRONT_E_NULL;
}

/* ---- init -------------------------------------------------------------------------------------------------------- */

/** Zeroes a context, except abandoned and abandoned_bytes: number of ports that could not be closed, and the size of
 *  their memory. These are zeroed, too, if the context is new or a byte copy of another one. */
static void clear(struct vf_context *s)
{
    const uint32_t abandoned = s->self == s ? s->abandoned : 0;
    const size_t bytes = s->self == s ? s->abandoned_bytes : 0;
    memset(s, 0, sizeof *s);
    s->self = s;
    s->abandoned = abandoned;
    s->abandoned_bytes = bytes;
}

/** Time after which a call or frame is abandoned, from the tuning value abandon_us [ns]. */
static uint64_t abandon_timeout_ns(const struct vf_context *s)
{
    return (uint64_t)s->step[0].tuning.abandon_us * 1000u;
}

vfront_status_t vfront_init_values(vfront_t *vf, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                                   vfront_port_t port, const vfront_value_t *values, size_t count)
{
    if (!vf || !values) return VFRONT_E_NULL;
    if ((uintptr_t)vf % 8) return VFRONT_E_ALIGN;
    /* before anything is written to *vf, whose size may differ */
    if (vf_handshake(vf, values, count)) return VFRONT_E_CONFIG;
    struct vf_context *s = vf_context_of(vf);
    if (vf_context_in_use(vf)) return vf_refuse(s, VFRONT_E_STATE, "vfront_init: in use already", 0, "");
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
    struct vf_context *s = vf ? vf_context_in_use(vf) : NULL;
    if (!s) return vf && vf_refuse_is_copy(vf) ? VFRONT_E_STATE : VFRONT_OK;
    char detail[sizeof s->detail];
    vf_failover_end(s);
    const vfront_status_t status = vf_close_port(s, abandon_timeout_ns(s));
    memcpy(detail, s->detail, sizeof detail);
    clear(s);
    if (status) memcpy(s->detail, detail, sizeof detail);
    return status;
}

/* ---- step -------------------------------------------------------------------------------------------------------- */

vfront_status_t vfront_input(vfront_t *vf, int32_t camera, void **data)
{
    if (!vf || !data) return null_argument(vf, "vfront_input: data is NULL");
    struct vf_context *s = vf_context_in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (camera < 0 || camera >= s->step[0].geometry.cameras)
        return vf_refuse(s, VFRONT_E_SIZE, "vfront_input: no camera %d", camera, "");
    *data = s->inputs->input[s->input][camera];
    return VFRONT_OK;
}

vfront_status_t vfront_inputs(vfront_t *vf, int32_t camera, void *data[VFRONT_INPUTS])
{
    if (!vf || !data) return null_argument(vf, "vfront_inputs: data is NULL");
    struct vf_context *s = vf_context_in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (camera < 0 || camera >= s->step[0].geometry.cameras)
        return vf_refuse(s, VFRONT_E_SIZE, "vfront_inputs: no camera %d", camera, "");
    for (int i = 0; i < VFRONT_INPUTS; i++) data[i] = s->inputs->input[i][camera];
    return VFRONT_OK;
}

/** Refuses a call because a frame is under way. If that frame is overdue, the host port takes over; without a host port
 *  the front end fails, and only vfront_shutdown() is allowed. */
static vfront_status_t busy(struct vf_context *s, const char *what)
{
    if (s->port->now_ns() >= s->abandon_ns && s->port->wait(s, 0) == VFRONT_E_ABANDONED) {
        if (!vf_failover_ready(s)) {
            s->under_way = 0;
            return s->failed = VFRONT_E_ABANDONED;
        }
        vf_failover_finish_frame(s); /* the host port completes the frame; vfront_wait() returns its result */
    }
    return vf_refuse(s, VFRONT_E_BUSY, what, 0, "");
}

/** Sets the parameters of a frame that passed its checks, and starts its step on the active port. */
static vfront_status_t start_step(struct vf_context *s, const vfront_frame_t *frame)
{
    const vfront_status_t status = vf_frame_params(s, frame);
    return status ? status : s->port->submit(s);
}

/** 1 if a status is a fault of the port, not of the caller's arguments. */
static int is_fault(vfront_status_t status) { return status == VFRONT_E_DEVICE || status == VFRONT_E_ABANDONED; }

vfront_status_t vfront_submit(vfront_t *vf, const vfront_frame_t *frame)
{
    if (!vf || !frame) return null_argument(vf, "vfront_submit: frame is NULL");
    struct vf_context *s = vf_context_in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (s->under_way) return busy(s, "vfront_submit: a frame is under way");
    if (s->failed) return s->failed;
    s->submitted_ns = s->port->now_ns();
    s->abandon_ns = s->submitted_ns + abandon_timeout_ns(s);
    vfront_status_t status = vf_check_frame(s, frame);
    if (!status) status = start_step(s, frame);
    if (is_fault(status) && vf_failover_ready(s)) {
        vf_failover_switch(s);
        status = start_step(s, frame);
    } else if (!status) {
        vf_failover_keep_frame(s, frame);
    }
    if (is_fault(status)) s->failed = status;
    if (status) return status;
    s->unseen = s->unseen_next;
    s->under_way = 1;
    s->input ^= 1;
    return VFRONT_OK;
}

vfront_status_t vfront_wait(vfront_t *vf, uint32_t timeout_us, const vfront_result_t **result)
{
    if (result) *result = NULL;
    if (!vf || !result) return null_argument(vf, "vfront_wait: result is NULL");
    struct vf_context *s = vf_context_in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (!s->under_way) return vf_refuse(s, VFRONT_E_STATE, "vfront_wait: nothing was submitted", 0, "");
    vfront_status_t status = s->port->wait(s, timeout_us);
    if (status == VFRONT_E_TIMEOUT) return status;
    if (status && vf_failover_ready(s)) {
        vf_failover_finish_frame(s);
        status = VFRONT_OK;
    }
    s->under_way = 0;
    if (status) {
        s->failed = status;
        return status;
    }
    vfront_result_t *r = &s->pinned->result[s->ticket % 3];
    vf_frame_result(s, r);
    vf_samples_keep(&s->samples);
    s->frame = r->frame + 1;
    s->map.given = 0;
    s->resets = s->pinned->params.reset_counter;
    s->reset_counter = r->health.reset_counter;
    s->refused.length = 0;
    s->refused.count = 0;
    if (s->pinned->params.dt_ns) s->refused.interval_ns = s->pinned->params.dt_ns;
    s->t_ns = r->t_ns;
    s->t_mid_ns = r->t_mid_ns;
    vf_failover_commit_keyframe(s);
    s->parity ^= 1;
    vf_failover_count_overrun(s, r->timing.overrun);
    *result = r;
    return VFRONT_OK;
}

vfront_status_t vfront_step(vfront_t *vf, const vfront_frame_t *frame, const vfront_result_t **result)
{
    if (result) *result = NULL;
    if (!result) return null_argument(vf, "vfront_step: result is NULL");
    const vfront_status_t status = vfront_submit(vf, frame);
    return status ? status : vfront_wait(vf, UINT32_MAX, result);
}

vfront_status_t vfront_reset(vfront_t *vf)
{
    if (!vf) return VFRONT_E_NULL;
    struct vf_context *s = vf_context_in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (s->under_way) return busy(s, "vfront_reset: a frame is under way");
    if (s->failed) return s->failed;
    s->frame = 0;
    memset(&s->map, 0, sizeof s->map);
    memset(&s->refused, 0, sizeof s->refused);
    s->resets = ++s->reset_counter; /* the counter goes on, because it also counts losses of the state so far */
    return VFRONT_OK;
}

vfront_status_t vfront_return(vfront_t *vf)
{
    if (!vf) return VFRONT_E_NULL;
    struct vf_context *s = vf_context_in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (s->under_way) return busy(s, "vfront_return: a frame is under way");
    if (!s->failover.switched) return vf_refuse(s, VFRONT_E_STATE, "vfront_return: no port failed over", 0, "");
    s->abandon_ns = s->port->now_ns() + abandon_timeout_ns(s);
    return vf_failover_return(s);
}

vfront_status_t vfront_map_save(vfront_t *vf, void *buffer, size_t bytes, size_t *used)
{
    if (used) *used = 0;
    if (!vf || !buffer || !used) return null_argument(vf, "vfront_map_save: buffer or used is NULL");
    struct vf_context *s = vf_context_in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (s->under_way) return busy(s, "vfront_map_save: a frame is under way");
    if (s->failed) return s->failed;
    s->abandon_ns = s->port->now_ns() + abandon_timeout_ns(s);
    vfront_status_t status = vf_map_save(s, buffer, bytes, used);
    if (is_fault(status) && vf_failover_ready(s)) {
        vf_failover_switch(s);
        status = vf_map_save(s, buffer, bytes, used);
    }
    if (is_fault(status)) s->failed = status;
    return status;
}

vfront_status_t vfront_map_load(vfront_t *vf, const void *buffer, size_t bytes)
{
    if (!vf || !buffer) return null_argument(vf, "vfront_map_load: buffer is NULL");
    struct vf_context *s = vf_context_in_use(vf);
    if (!s) return VFRONT_E_STATE;
    if (s->under_way) return busy(s, "vfront_map_load: a frame is under way");
    if (s->failed) return s->failed;
    s->abandon_ns = s->port->now_ns() + abandon_timeout_ns(s);
    vfront_status_t status = vf_map_load(s, buffer, bytes);
    if (is_fault(status) && vf_failover_ready(s)) {
        vf_failover_switch(s);
        status = vf_map_load(s, buffer, bytes);
    }
    if (is_fault(status)) s->failed = status;
    return status;
}

vfront_status_t vfront_info(const vfront_t *vf, vfront_info_t *info)
{
    if (!vf || !info) return null_argument(vf, "vfront_info: info is NULL");
    const struct vf_context *s = vf_context_in_use(vf);
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
        info->camera[i] = s->seen.camera[i];
        memcpy(info->valid_px[i], s->valid_px[i], sizeof info->valid_px[i]);
    }
    return VFRONT_OK;
}
