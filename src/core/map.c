/* SPDX-License-Identifier: MIT */
/* Saving and loading of maps. A keyframe made in the last frame, which the next step will add to the ring, is part of a
 * saved map, and a node of its graph. */
#include "map.h"

#include <stddef.h>

#include "failover.h"
#include "map/serialize.h"
#include "map/map.h"
#include "refuse.h"
#include "result/carry.h"

#if VFRONT_MAP

/** Number of the first motion chain of loaded maps. Motion chains of this run count up from 0. */
#define CHAINS_LOADED 0x80000000u

VF_STATIC_ASSERT(sizeof(struct vf_keyframe_entry) <= VF_READ_BYTES && sizeof(struct vf_map_data) <= VF_READ_BYTES,
                 "vfront: pictures of this config are too small for VFRONT_MAP, or VFRONT_KEYFRAMES is too large");

static int32_t before_of(const struct vf_context *s) { return s->parity ^ 1; }

/** 1 if the stage keyframe is active, and with it the map. */
static int active(const struct vf_context *s) { return (s->step[0].geometry.active & VF_BIT(keyframe)) != 0; }

static struct vf_serial_kind kind_of(const struct vf_context *s)
{
    const struct vf_serial_kind kind = {vf_serial_config(), vf_serial_cameras(&s->seen)};
    return kind;
}

/** Reads the state of the stage keyframe after the last frame from the active port; an empty one before any frame. */
static vfront_status_t read_now(struct vf_context *s, struct vf_keyframe_now *now)
{
    const void *at;
    memset(now, 0, sizeof *now);
    now->pose.q_chain_cam[0] = 1.0;
    if (!s->frame && !s->map.given) return VFRONT_OK;
    const vfront_status_t status = s->port->read(s, &at, &s->memory->keyframe.now[before_of(s)], sizeof *now);
    if (!status) memcpy(now, at, sizeof *now);
    return status;
}

/** Ring slots of all keyframes. A keyframe due to be added in the next step counts as a node; the keyframe that it will
 *  replace is left out. */
struct order {
    uint32_t nodes,                  /* number of keyframes that are nodes of the graph */
        count;                       /* number of keyframes */
    uint16_t slot[VFRONT_KEYFRAMES]; /* nodes in the order of the graph, then the other keyframes */
};

static vfront_status_t read_order(struct vf_context *s, const struct vf_keyframe_now *now, struct order *order)
{
    const struct vf_map_data *m = &s->memory->map.data[before_of(s)];
    uint8_t is_node[VFRONT_KEYFRAMES] = {0};
    const void *at;
    order->nodes = order->count = 0;
    if (!s->frame && !s->map.given) return VFRONT_OK;
    vfront_status_t status = s->port->read(s, &at, &m->count, sizeof m->count);
    if (!status) memcpy(&order->nodes, at, sizeof order->nodes);
    if (!status) status = s->port->read(s, &at, m->order, sizeof m->order);
    if (status) return status;
    memcpy(order->slot, at, sizeof order->slot);
    order->count = order->nodes;
    for (uint32_t i = 0; i < order->nodes; i++) is_node[order->slot[i]] = 1;
    for (uint32_t slot = 0; slot < now->count; slot++)
        if (!is_node[slot]) order->slot[order->count++] = (uint16_t)slot;
    return VFRONT_OK;
}

/* ---- save -------------------------------------------------------------------------------------------------------- */

/** Writes the keyframe of a ring slot to a saved map. If a keyframe is due to replace that one, writes the due one. */
static vfront_status_t save_keyframe(struct vf_context *s, const struct vf_keyframe_now *now, uint32_t slot,
                                     struct vf_serial_writer *w)
{
    const struct vf_keyframe_entry *entry = &s->memory->keyframe.ring[slot];
    const struct vf_keyframe_points *set = &s->memory->recall.set[before_of(s)];
    const void *at;
    const int due = now->due && now->slot == slot;
    const vfront_status_t status = due ? s->port->read(s, &at, set, sizeof *set)
                                       : s->port->read(s, &at, entry, sizeof *entry);
    if (status) return status;
    entry = at;
    if (due)
        vf_serial_add(w, &now->last, at);
    else
        vf_serial_add(w, &entry->head, &entry->set);
    return VFRONT_OK;
}

/** Collects the graph data of the keyframe in a ring slot into *node. number[slot]: index that the node of a slot has
 *  in the saved map. */
static void save_node(const struct vf_map_data *m, uint32_t slot, const uint16_t *number, struct vf_serial_node *node)
{
    node->pose = m->node[slot];
    node->m2 = m->node_m2[slot];
    node->rad2 = m->node_rad2[slot];
    node->placed = m->placed_node[slot];
    node->loop = m->loop[slot];
    if (node->loop.a < VF_MAP_FRAME) node->loop.a = number[node->loop.a];
}

static void save_graph(const struct vf_map_data *m, const struct order *order, struct vf_serial_writer *w)
{
    const struct vf_serial_graph graph = {m->upright, order->nodes, m->scale > 1.0 ? m->scale : 1.0};
    uint16_t number[VFRONT_KEYFRAMES];
    struct vf_serial_node node;
    for (uint32_t i = 0; i < order->nodes; i++) number[order->slot[i]] = (uint16_t)i;
    vf_serial_add_graph(w, &graph);
    for (uint32_t i = 0; i < order->nodes; i++) {
        save_node(m, order->slot[i], number, &node);
        vf_serial_add_node(w, &node);
    }
}

vfront_status_t vf_map_save(struct vf_context *s, void *buffer, size_t bytes, size_t *used)
{
    static const struct vf_serial_graph none = {0, 0, 1.0};
    const struct vf_map_data *m = &s->memory->map.data[before_of(s)];
    struct vf_keyframe_now now;
    struct vf_serial_writer w;
    struct order order;
    const void *at = NULL;
    const struct vf_serial_kind kind = kind_of(s);
    if (!active(s)) return vf_refuse(s, VFRONT_E_STATE, "vfront_map_save: the tuning value map is 0", 0, "");
    vfront_status_t status = read_now(s, &now);
    if (!status) status = read_order(s, &now, &order);
    vf_serial_begin(&w, buffer, bytes);
    for (uint32_t i = 0; !status && i < order.count; i++) status = save_keyframe(s, &now, order.slot[i], &w);
    if (!status && w.count) status = s->port->read(s, &at, m, sizeof *m);
    if (status) return status;
    if (w.count)
        save_graph(at, &order, &w);
    else
        vf_serial_add_graph(&w, &none);
    vf_serial_end(&w, &kind);
    *used = w.used;
    if (w.used <= bytes) return VFRONT_OK;
    return vf_refuse(s, VFRONT_E_SIZE, "vfront_map_save: the buffer is too small for %d keyframes", (int32_t)w.count,
                     "");
}

/* ---- load -------------------------------------------------------------------------------------------------------- */

/** Largest number of original maps from which the keyframes of a saved map may come. */
#define ORIGINS 64

/** Ids of the original maps from which the keyframes of a saved map come. */
struct origins {
    uint64_t id[ORIGINS];
    uint32_t count;
};

/** Lists the ids of the original maps from which the keyframes of a saved map come. Returns 0 if there are more than
 *  ORIGINS. r: reader of the saved map's bytes. */
static int find_origins(struct vf_serial_reader r, struct origins *o)
{
    uint64_t origin;
    o->count = 0;
    while (vf_serial_origin(&r, &origin)) {
        uint32_t i = 0;
        while (i < o->count && o->id[i] != origin) i++;
        if (i < o->count) continue;
        if (i == ORIGINS) return 0;
        o->id[o->count++] = origin;
    }
    return 1;
}

/** Refuses a saved map if the ring already contains a keyframe from one of its original maps `o`. */
static vfront_status_t compare(struct vf_context *s, const struct vf_keyframe_now *now, const struct order *order,
                               const struct origins *o)
{
    for (uint32_t i = 0; i < order->count; i++) {
        const void *at;
        /* a due keyframe was made in this run, and is not in the ring yet */
        if (now->due && now->slot == order->slot[i]) continue;
        const struct vf_keyframe *head = &s->memory->keyframe.ring[order->slot[i]].head;
        const vfront_status_t status = s->port->read(s, &at, &head->origin, sizeof head->origin);
        uint64_t origin;
        if (status) return status;
        memcpy(&origin, at, sizeof origin);
        for (uint32_t k = 0; k < o->count; k++)
            if (origin == o->id[k])
                return vf_refuse(s, VFRONT_E_MAP_TWICE, "map: keyframes of it are loaded already", 0, "");
    }
    return VFRONT_OK;
}

/** Writes `bytes` bytes at `offset` of the map's state, struct vf_map_data, to the active port and to the standby
 *  port. */
static vfront_status_t write_map(struct vf_context *s, size_t offset, const void *from, size_t bytes)
{
    struct vf_map_data *to = &s->memory->map.data[before_of(s)];
    const vfront_status_t status = s->port->write(s, (uint8_t *)to + offset, from, bytes);
    if (!status) vf_failover_load_map(s, offset, from, bytes);
    return status;
}
#define WRITE(member, from) write_map(s, offsetof(struct vf_map_data, member), from, sizeof *(from))
#define WRITE_AT(member, i, from)                                                                                      \
    write_map(s, offsetof(struct vf_map_data, member) + sizeof *(from) * (size_t)(i), from, sizeof *(from))

/** Reads the number of keyframes made in this run from the active port; before the first frame sets it to 0. */
static vfront_status_t read_made(struct vf_context *s, uint32_t *made)
{
    const struct vf_map_data *m = &s->memory->map.data[before_of(s)];
    const void *at;
    *made = 0;
    if (!s->frame && !s->map.given) return WRITE(made, made);
    const vfront_status_t status = s->port->read(s, &at, &m->made, sizeof m->made);
    if (!status) memcpy(made, at, sizeof *made);
    return status;
}

/** Writes the graph data of a loaded keyframe to a ring slot. first: slot of the saved map's first keyframe; made:
 *  number of keyframes made in this run. known: 1: the loaded map becomes this run's map; 0: the position of the loaded
 *  motion chains in this run's map is unknown, so that their nodes keep their odometry poses. */
static vfront_status_t write_node(struct vf_context *s, uint32_t slot, uint32_t first, int known, uint32_t made,
                                  const struct vf_chain_pose *own, struct vf_serial_node *node)
{
    if (!known) vf_map_from_chain(own, &node->pose);
    const uint8_t placed = (uint8_t)(known && node->placed);
    if (node->loop.a < VF_MAP_FRAME) node->loop.a += first;
    if (node->loop.a == VF_MAP_FRAME && !known) node->loop.a = VF_NONE;
    vfront_status_t status = WRITE_AT(node, slot, &node->pose);
    if (!status) status = WRITE_AT(node_m2, slot, &node->m2);
    if (!status) status = WRITE_AT(node_rad2, slot, &node->rad2);
    if (!status) status = WRITE_AT(placed_node, slot, &placed);
    if (!status) status = WRITE_AT(seen, slot, &made);
    return status ? status : WRITE_AT(loop, slot, &node->loop);
}

/** Writes the keyframes of a saved map, with their graph data, to consecutive ring slots from `first` on. */
static vfront_status_t write_keyframes(struct vf_context *s, struct vf_serial_reader r, uint32_t first)
{
    const int known = !s->frame && !s->map.given;
    uint32_t made;
    vfront_status_t status = read_made(s, &made);
    struct vf_keyframe_entry entry;
    struct vf_serial_node node;
    for (uint32_t i = 0; vf_serial_next(&r, &entry) && !status; i++) {
        entry.head.pose.chain += CHAINS_LOADED + s->map.chains;
        status = s->port->write(s, &s->memory->keyframe.ring[first + i], &entry, sizeof entry);
        if (status) return status;
        vf_failover_load_keyframe(s, first + i, &entry);
        memset(&node, 0, sizeof node);
        node.loop.a = VF_NONE;
        if (i < r.graph.nodes) vf_serial_node(&r, i, &node);
        status = write_node(s, first + i, first, known, made, &entry.head.pose, &node);
    }
    return status;
}

/** Writes the order of the graph's nodes, and its axes and scale. Nodes loaded after the first frame are placed before
 *  the nodes of this run, which stay contiguous. first: ring slot of the first loaded keyframe. */
static vfront_status_t write_graph(struct vf_context *s, const struct vf_serial_reader *r, struct order *order,
                                   uint32_t first)
{
    const uint32_t loaded = 1, at = s->frame ? 0 : order->nodes, nodes = order->nodes + r->graph.nodes;
    memmove(order->slot + at + r->graph.nodes, order->slot + at, (order->nodes - at) * sizeof *order->slot);
    for (uint32_t i = 0; i < r->graph.nodes; i++) order->slot[at + i] = (uint16_t)(first + i);
    vfront_status_t status = WRITE(order, &order->slot);
    if (!status) status = WRITE(count, &nodes);
    if (!status) status = WRITE(loaded, &loaded);
    if (status || s->frame || s->map.given) return status;
    status = WRITE(upright, &r->graph.upright);
    return status ? status : WRITE(scale, &r->graph.scale);
}

/** Writes the keyframes of a saved map, their graph, and the state that counts keyframes, to the active and the standby
 *  port. */
static vfront_status_t write(struct vf_context *s, const struct vf_serial_reader *r, struct vf_keyframe_now *now,
                             struct order *order)
{
    vfront_status_t status = write_keyframes(s, *r, now->count);
    if (!status) status = write_graph(s, r, order, now->count);
    now->count += r->count;
    if (!status) status = s->port->write(s, &s->memory->keyframe.now[before_of(s)], now, sizeof *now);
    if (!status) vf_failover_load_count(s, now);
    return status;
}

vfront_status_t vf_map_load(struct vf_context *s, const void *buffer, size_t bytes)
{
    struct vf_keyframe_now now;
    struct vf_serial_reader r;
    struct origins origins;
    struct order order;
    const char *why;
    const struct vf_serial_kind kind = kind_of(s);
    if (!active(s)) return vf_refuse(s, VFRONT_E_STATE, "vfront_map_load: the tuning value map is 0", 0, "");
    vfront_status_t status = vf_serial_open(&r, buffer, bytes, &kind, &why);
    if (status) return vf_refuse(s, status, why, 0, "");
    if (!find_origins(r, &origins)) return vf_refuse(s, VFRONT_E_MAP, "map: of more than %d maps", ORIGINS, "");
    status = read_now(s, &now);
    if (!status) status = read_order(s, &now, &order);
    if (status) return status;
    if (r.count > VFRONT_KEYFRAMES - now.count)
        return vf_refuse(s, VFRONT_E_SIZE, "map: more keyframes than the ring has room for, %d: VFRONT_KEYFRAMES",
                         (int32_t)(VFRONT_KEYFRAMES - now.count), "");
    if (r.chains > CHAINS_LOADED - 1 - s->map.chains) return vf_refuse(s, VFRONT_E_SIZE, "map: too many paths", 0, "");
    status = compare(s, &now, &order, &origins);
    if (!status) status = write(s, &r, &now, &order);
    if (status) return status;
    s->map.given = !s->frame;
    s->map.chains += r.chains;
    return VFRONT_OK;
}

#else

vfront_status_t vf_map_save(struct vf_context *s, void *buffer, size_t bytes, size_t *used)
{
    (void)buffer, (void)bytes, (void)used;
    return vf_refuse(s, VFRONT_E_STATE, "vfront_map_save: this build has no maps: VFRONT_MAP", 0, "");
}

vfront_status_t vf_map_load(struct vf_context *s, const void *buffer, size_t bytes)
{
    (void)buffer, (void)bytes;
    return vf_refuse(s, VFRONT_E_STATE, "vfront_map_load: this build has no maps: VFRONT_MAP", 0, "");
}

#endif
