/* SPDX-License-Identifier: MIT */
/* Maps saved and loaded. The keyframe that the next step will put into the ring is part of a map. */
#include "map.h"

#include "failover.h"
#include "map/image.h"
#include "port/host/host.h"
#include "result/carry.h"

#if VFRONT_MAP

/** First number of the paths of maps that were loaded: those of this run count up from 0. */
#define PATHS_LOADED 0x80000000u

/** Keyframes that a port reads at once. */
#define PART (VF_READ_BYTES / sizeof(struct vf_keyframe_entry))
VF_STATIC_ASSERT(PART >= 1 && sizeof(struct vf_keyframe_now) <= VF_READ_BYTES,
                 "vfront: pictures of this config are too small for VFRONT_MAP");

static int32_t before_of(const struct vf_state *s) { return s->parity ^ 1; }

/** 1 if there is a map. */
static int active(const struct vf_state *s) { return (s->step[0].geometry.active & VF_BIT(keyframe)) != 0; }

static struct vf_image_kind kind_of(const struct vf_state *s)
{
    const struct vf_image_kind kind = {vf_image_config(), vf_image_cameras(&s->seen)};
    return kind;
}

/** State of the keyframes before the next frame. */
static vfront_status_t read_now(struct vf_state *s, struct vf_keyframe_now *now)
{
    const void *at;
    memset(now, 0, sizeof *now);
    now->pose.q_path_cam[0] = 1.0;
    if (!s->frame && !s->map.given) return VFRONT_OK;
    const vfront_status_t status = s->port->read(s, &at, &s->memory->keyframe.now[before_of(s)], sizeof *now);
    if (!status) memcpy(now, at, sizeof *now);
    return status;
}

/** Does something with each keyframe in the ring but the one that makes room for a keyframe that is due. Returns at the
 *  first one for which that returns a status. */
static vfront_status_t
each(struct vf_state *s, const struct vf_keyframe_now *now,
     vfront_status_t (*visit)(struct vf_state *s, void *with, const struct vf_keyframe_entry *entry), void *with)
{
    for (uint32_t first = 0; first < now->count; first += PART) {
        const uint32_t n = now->count - first < PART ? now->count - first : (uint32_t)PART;
        const void *at;
        vfront_status_t status = s->port->read(s, &at, &s->memory->keyframe.ring[first],
                                               n * sizeof(struct vf_keyframe_entry));
        const struct vf_keyframe_entry *entry = at;
        for (uint32_t i = 0; i < n && !status; i++)
            if (!now->due || first + i != now->slot) status = visit(s, with, &entry[i]);
        if (status) return status;
    }
    return VFRONT_OK;
}

/* ---- save -------------------------------------------------------------------------------------------------------- */

static vfront_status_t save_one(struct vf_state *s, void *with, const struct vf_keyframe_entry *entry)
{
    (void)s;
    vf_image_add(with, &entry->head, &entry->set);
    return VFRONT_OK;
}

vfront_status_t vf_map_save(struct vf_state *s, void *buffer, size_t bytes, size_t *used)
{
    struct vf_keyframe_now now;
    struct vf_image_writer to;
    const struct vf_image_kind kind = kind_of(s);
    if (!active(s)) return vf_refuse(s, VFRONT_E_STATE, "vfront_map_save: the tuning value map is 0", 0, "");
    vfront_status_t status = read_now(s, &now);
    vf_image_begin(&to, buffer, bytes);
    if (!status) status = each(s, &now, save_one, &to);
    if (!status && now.due) {
        const void *at;
        status = s->port->read(s, &at, &s->memory->place.set[before_of(s)], sizeof(struct vf_place_set));
        if (!status) vf_image_add(&to, &now.last, at);
    }
    if (status) return status;
    vf_image_end(&to, &kind);
    *used = to.used;
    if (to.used <= bytes) return VFRONT_OK;
    return vf_refuse(s, VFRONT_E_SIZE, "vfront_map_save: the buffer is too small for %d keyframes", (int32_t)to.count,
                     "");
}

/* ---- load -------------------------------------------------------------------------------------------------------- */

/** Greatest number of maps of which an image may have keyframes. */
#define ORIGINS 64

/** Maps of which an image has keyframes. */
struct origins {
    uint64_t id[ORIGINS];
    uint32_t count;
};

/** Notes the maps of which an image has keyframes. Returns 0 if they are too many. */
static int find_origins(struct vf_image_reader r, struct origins *o)
{
    uint64_t origin;
    o->count = 0;
    while (vf_image_origin(&r, &origin)) {
        uint32_t i = 0;
        while (i < o->count && o->id[i] != origin) i++;
        if (i < o->count) continue;
        if (i == ORIGINS) return 0;
        o->id[o->count++] = origin;
    }
    return 1;
}

static vfront_status_t compare_one(struct vf_state *s, void *with, const struct vf_keyframe_entry *entry)
{
    const struct origins *o = with;
    for (uint32_t i = 0; i < o->count; i++)
        if (entry->head.origin == o->id[i])
            return vf_refuse(s, VFRONT_E_MAP_TWICE, "map: keyframes of it are loaded already", 0, "");
    return VFRONT_OK;
}

/** Writes keyframes, and the state that counts them, to the port that runs and to the one that stands by. */
static vfront_status_t write(struct vf_state *s, struct vf_image_reader r, struct vf_keyframe_now *now)
{
    const int32_t before = before_of(s);
    struct vf_keyframe_entry entry;
    vfront_status_t status = VFRONT_OK;
    for (uint32_t slot = now->count; vf_image_next(&r, &entry) && !status; slot++) {
        entry.head.pose.path += PATHS_LOADED + s->map.paths;
        status = s->port->write(s, &s->memory->keyframe.ring[slot], &entry, sizeof entry);
        if (!status) vf_failover_load(s, slot, &entry);
    }
    now->count += r.count;
    if (!status) status = s->port->write(s, &s->memory->keyframe.now[before], now, sizeof *now);
    if (!status) vf_failover_loaded(s, now);
    return status;
}

vfront_status_t vf_map_load(struct vf_state *s, const void *buffer, size_t bytes)
{
    struct vf_keyframe_now now;
    struct vf_image_reader r;
    struct origins origins;
    const char *why;
    const struct vf_image_kind kind = kind_of(s);
    if (!active(s)) return vf_refuse(s, VFRONT_E_STATE, "vfront_map_load: the tuning value map is 0", 0, "");
    vfront_status_t status = vf_image_open(&r, buffer, bytes, &kind, &why);
    if (status) return vf_refuse(s, status, why, 0, "");
    if (!find_origins(r, &origins)) return vf_refuse(s, VFRONT_E_MAP, "map: of more than %d maps", ORIGINS, "");
    status = read_now(s, &now);
    if (status) return status;
    if (r.count > VFRONT_KEYFRAMES - now.count)
        return vf_refuse(s, VFRONT_E_SIZE, "map: more keyframes than the ring has room for, %d: VFRONT_KEYFRAMES",
                         (int32_t)(VFRONT_KEYFRAMES - now.count), "");
    if (r.paths > PATHS_LOADED - 1 - s->map.paths) return vf_refuse(s, VFRONT_E_SIZE, "map: too many paths", 0, "");
    status = each(s, &now, compare_one, &origins);
    if (!status) status = write(s, r, &now);
    if (status) return status;
    s->map.given = !s->frame;
    s->map.paths += r.paths;
    return VFRONT_OK;
}

#else

vfront_status_t vf_map_save(struct vf_state *s, void *buffer, size_t bytes, size_t *used)
{
    (void)buffer, (void)bytes, (void)used;
    return vf_refuse(s, VFRONT_E_STATE, "vfront_map_save: this build has no maps: VFRONT_MAP", 0, "");
}

vfront_status_t vf_map_load(struct vf_state *s, const void *buffer, size_t bytes)
{
    (void)buffer, (void)bytes;
    return vf_refuse(s, VFRONT_E_STATE, "vfront_map_load: this build has no maps: VFRONT_MAP", 0, "");
}

#endif
