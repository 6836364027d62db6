/* SPDX-License-Identifier: MIT */
/* Fail-over to the host port. Host memory always contains the previous frame's data that the next step needs.
 * vf_failover_keep_frame() stores the frame's images in the host port's arena; the GPU writes the rest to the mirror
 * (result/carry.h). Pyramids and rectified images of the previous frame are recomputed. The switch makes no CUDA call,
 * so that none can hang or fail. */
#include "failover.h"

#include "frame.h"
#include "refuse.h"
#include "result/carry.h"

#if VFRONT_HOST

static struct vf_block *block_of(struct vf_context *s) { return (struct vf_block *)s; }

static void swap(void *a, void *b, size_t bytes)
{
    uint8_t *x = a, *y = b, kept[64];
    for (size_t n; bytes; bytes -= n, x += n, y += n) {
        n = bytes < sizeof kept ? bytes : sizeof kept;
        memcpy(kept, x, n);
        memcpy(x, y, n);
        memcpy(y, kept, n);
    }
}

/** Exchanges the data of the active port and of the standby port. */
static void swap_ports(struct vf_context *s)
{
    struct vf_standby_port *other = &block_of(s)->standby;
    swap(&s->port, &other->port, sizeof s->port);
    swap(s->step, other->step, sizeof s->step);
    swap(s->view, other->view, sizeof s->view);
    swap(&s->pinned, &other->pinned, sizeof s->pinned);
    swap(&s->memory, &other->memory, sizeof s->memory);
    swap(s->device, other->device, sizeof s->device);
}

void vf_failover_set_standby(struct vf_context *s)
{
    memset(&block_of(s)->standby, 0, sizeof block_of(s)->standby);
    swap_ports(s);
    memcpy(s->step, block_of(s)->standby.step, sizeof s->step); /* both ports have the same geometry and tuning */
}

int vf_failover_ready(const struct vf_context *s) { return s->failover.ready && !s->failover.switched; }

void vf_failover_keep_frame(struct vf_context *s, const vfront_frame_t *f)
{
    if (!vf_failover_ready(s)) return;
    struct vf_block *b = block_of(s);
    b->pinned.params = s->pinned->params;
    b->pinned.request = s->pinned->request;
    for (int32_t i = 0; i < s->step[0].geometry.cameras; i++) {
        const vfront_picture_t *p = &f->picture[i];
        struct vf_source *source = &b->pinned.params.source[i];
        if (source->missing) {
            vf_frame_missing(s, &b->memory, i, source);
            continue;
        }
        source->data = p->data;
        source->pitch = p->pitch_bytes;
        source->mask = p->mask;
        source->mask_pitch = p->mask_pitch_bytes;
    }
    vf_ingest_host(&b->standby.view[s->parity].ingest);
}

/* ---- switch to the host port ------------------------------------------------------------------------------------- */

/** Copies the previous frame's data that the next step needs from the mirror into the host port's arena. parity: of the
 *  previous frame. */
static void unpack(struct vf_memory *m, const struct vf_carry_mirror *from, int32_t parity)
{
    const struct vf_carry *c = &from->set[parity];
#define UNPACK(stage, member, part, extent)                                                                            \
    memcpy(&m->stage.member[parity] part, c->stage##_##member, sizeof c->stage##_##member);
    VF_CARRY(UNPACK)
    VF_CARRY_REPORT(UNPACK)
#undef UNPACK
#define UNPACK(stage, member) memcpy(&m->stage.member, c->stage##_##member, sizeof c->stage##_##member);
    VF_CARRY_SINGLE(UNPACK)
#undef UNPACK
    memcpy(m->track.templates, from->templates, sizeof m->track.templates);
    memcpy(m->track.template_normal, from->template_normal, sizeof m->track.template_normal);
}

static void fill_words(void *to, size_t bytes, uint32_t value)
{
    for (uint8_t *at = to; bytes; bytes -= sizeof value, at += sizeof value) memcpy(at, &value, sizeof value);
}

/** Clears the buffers that the next frame fills. Normally the step of the previous frame does so, but it ran on the
 *  other port. parity: of the next frame. */
static void clear_sets(struct vf_memory *m, int32_t parity)
{
#define CLEAR(stage, member, value)                                                                                    \
    VF_STATIC_ASSERT(sizeof m->stage.member[0] % 4 == 0, "vfront: cleared by words");                                  \
    fill_words(&m->stage.member[parity], sizeof m->stage.member[0], value);
    VF_CLEARED(CLEAR)
#undef CLEAR
}

void vf_failover_switch(struct vf_context *s)
{
    struct vf_memory *m = &block_of(s)->memory;
    const int32_t before = s->parity ^ 1;
    memcpy(s->failover.why, s->detail, sizeof s->failover.why);
    swap_ports(s);
    s->failover.switched = 1;
    s->failover.late = 0;
    unpack(m, s->mirror, before);
    clear_sets(m, s->parity);
    if (s->step[0].geometry.active & VF_BIT(rectify)) vf_rectify_host(&s->view[before].rectify);
    vf_pyramid_host(&s->view[before].pyramid);
}

void vf_failover_finish_frame(struct vf_context *s)
{
    vf_failover_switch(s);
    vf_host_run(s, ~VF_BIT(ingest));
}

void vf_failover_commit_keyframe(struct vf_context *s)
{
#if VFRONT_MAP
    if (!vf_failover_ready(s) || !(s->step[0].geometry.active & VF_BIT(keyframe))) return;
    /* copies what vf_keyframe_commit() reads from the mirror, whose set of the previous frame is still complete */
    const int32_t before = s->parity ^ 1;
    struct vf_memory *m = &block_of(s)->memory;
    const struct vf_carry *c = &s->mirror->set[before];
    memcpy(&m->keyframe.now[before], c->keyframe_now, sizeof m->keyframe.now[before]);
    if (m->keyframe.now[before].due) memcpy(&m->recall.set[before], c->recall_set, sizeof m->recall.set[before]);
    vf_keyframe_commit(&block_of(s)->standby.view[s->parity].keyframe);
#else
    (void)s;
#endif
}

#if VFRONT_MAP
void vf_failover_load_keyframe(struct vf_context *s, uint32_t slot, const struct vf_keyframe_entry *entry)
{
    if (vf_failover_ready(s)) block_of(s)->memory.keyframe.ring[slot] = *entry;
}

void vf_failover_load_map(struct vf_context *s, size_t offset, const void *from, size_t bytes)
{
    if (vf_failover_ready(s)) memcpy(s->mirror->set[s->parity ^ 1].map_data + offset, from, bytes);
}

void vf_failover_load_count(struct vf_context *s, const struct vf_keyframe_now *now)
{
    if (vf_failover_ready(s)) memcpy(s->mirror->set[s->parity ^ 1].keyframe_now, now, sizeof *now);
}
#endif

void vf_failover_count_overrun(struct vf_context *s, uint32_t overrun)
{
    const uint32_t limit = (uint32_t)s->step[0].tuning.failover_overruns;
    if (!vf_failover_ready(s)) return;
    s->failover.late = overrun ? s->failover.late + 1 : 0;
    if (!limit || s->failover.late < limit) return;
    vf_refuse(s, VFRONT_OK, "results in a row that came after deadline_us: %d", (int32_t)limit, "");
    vf_failover_switch(s);
}

/* ---- return to the CUDA port ------------------------------------------------------------------------------------- */

/** Writes the host port's data that the next step needs into the CUDA port's device arena. parity: of the next
 *  frame. */
static vfront_status_t upload(struct vf_context *s, const struct vf_memory *from, int32_t parity)
{
    struct vf_memory *to = s->memory;
    const int32_t before = parity ^ 1;
#define UPLOAD(member)                                                                                                 \
    do {                                                                                                               \
        const vfront_status_t status_ = s->port->write(s, (void *)&to->member, &from->member, sizeof from->member);    \
        if (status_) return status_;                                                                                   \
    } while (0);
#define SET(stage, member, part, extent) UPLOAD(stage.member[before] part)
    VF_CARRY(SET)
    VF_CARRY_REPORT(SET)
#undef SET
#define SET(stage, member) UPLOAD(stage.member)
    VF_CARRY_SINGLE(SET)
#undef SET
#define SET(stage, member, value) UPLOAD(stage.member[parity])
    VF_CLEARED(SET)
#undef SET
#if VFRONT_MAP
    if (s->step[0].geometry.active & VF_BIT(keyframe)) UPLOAD(keyframe.ring)
#endif
    UPLOAD(track.templates)
    UPLOAD(track.template_normal)
    UPLOAD(ingest.picture[before])
    UPLOAD(pyramid.pixels[before])
#if VFRONT_RECTIFY
    if (s->step[0].geometry.rectified) UPLOAD(rectify.picture[before])
#endif
    return VFRONT_OK;
}

/** Writes the data of the host port's last frame to the mirror, as the GPU does with its frames. parity: of the last
 *  frame. */
static void pack(struct vf_carry_mirror *to, const struct vf_memory *m, int32_t parity)
{
    struct vf_carry *c = &to->set[parity];
#define PACK(stage, member, part, extent)                                                                              \
    memcpy(c->stage##_##member, &m->stage.member[parity] part, sizeof c->stage##_##member);
    VF_CARRY(PACK)
    VF_CARRY_REPORT(PACK)
#undef PACK
#define PACK(stage, member) memcpy(c->stage##_##member, &m->stage.member, sizeof c->stage##_##member);
    VF_CARRY_SINGLE(PACK)
#undef PACK
    memcpy(to->templates, m->track.templates, sizeof to->templates);
    memcpy(to->template_normal, m->track.template_normal, sizeof to->template_normal);
}

vfront_status_t vf_failover_return(struct vf_context *s)
{
    const struct vf_memory *m = &block_of(s)->memory;
    swap_ports(s);
    vfront_status_t status = s->port->recover(s);
    if (!status) status = upload(s, m, s->parity);
    if (status) {
        swap_ports(s);
        return status;
    }
    pack(s->mirror, m, s->parity ^ 1);
    s->failover.switched = 0;
    s->failover.why[0] = 0;
    return VFRONT_OK;
}

void vf_failover_end(struct vf_context *s)
{
    if (s->failover.switched) swap_ports(s);
    s->failover.switched = s->failover.ready = 0;
}

#else /* a build without the host port has no standby port */

void vf_failover_set_standby(struct vf_context *s) { (void)s; }
int vf_failover_ready(const struct vf_context *s) { return (void)s, 0; }
void vf_failover_keep_frame(struct vf_context *s, const vfront_frame_t *f) { (void)s, (void)f; }
void vf_failover_switch(struct vf_context *s) { (void)s; }
void vf_failover_finish_frame(struct vf_context *s) { (void)s; }
void vf_failover_commit_keyframe(struct vf_context *s) { (void)s; }
void vf_failover_load_keyframe(struct vf_context *s, uint32_t slot, const struct vf_keyframe_entry *e)
{
    (void)s, (void)slot, (void)e;
}
void vf_failover_load_map(struct vf_context *s, size_t offset, const void *from, size_t bytes)
{
    (void)s, (void)offset, (void)from, (void)bytes;
}
void vf_failover_load_count(struct vf_context *s, const struct vf_keyframe_now *now) { (void)s, (void)now; }
void vf_failover_count_overrun(struct vf_context *s, uint32_t overrun) { (void)s, (void)overrun; }
vfront_status_t vf_failover_return(struct vf_context *s) { return (void)s, VFRONT_E_STATE; }
void vf_failover_end(struct vf_context *s) { (void)s; }

#endif
