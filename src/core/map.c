/* SPDX-License-Identifier: MIT */
/* Maps saved and loaded. The keyframe that the next step will put into the ring is part of a map, and a node of its
 * graph. */
#include "map.h"

#include <stddef.h>

#include "failover.h"
#include "map/image.h"
#include "map/map.h"
#include "port/host/host.h"
#include "result/carry.h"

#if VFRONT_MAP

/** First number of the paths of maps that were loaded: those of this run count up from 0. */
#define PATHS_LOADED 0x80000000u

VF_STATIC_ASSERT(sizeof(struct vf_keyframe_entry) <= VF_READ_BYTES && sizeof(struct vf_map_state) <= VF_READ_BYTES,
                 "vfront: pictures of this config are too small for VFRONT_MAP, or VFRONT_KEYFRAMES is too large");

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

/** Places of the keyframes in the ring: first the nodes of the graph, in its order, then the others. A keyframe that
 *  makes room for one that is due is none of them; the one that is due is a node. */
struct order {
    uint32_t nodes, count;
    uint16_t slot[VFRONT_KEYFRAMES];
};

static vfront_status_t read_order(struct vf_state *s, const struct vf_keyframe_now *now, struct order *order)
{
    const struct vf_map_state *m = &s->memory->map.state[before_of(s)];
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

/** Keyframe at a place of the ring, into an image: in the ring, or the one that is due. */
static vfront_status_t save_keyframe(struct vf_state *s, const struct vf_keyframe_now *now, uint32_t slot,
                                     struct vf_image_writer *w)
{
    const struct vf_keyframe_entry *entry = &s->memory->keyframe.ring[slot];
    const struct vf_place_set *set = &s->memory->place.set[before_of(s)];
    const void *at;
    const int due = now->due && now->slot == slot;
    const vfront_status_t status = due ? s->port->read(s, &at, set, sizeof *set)
                                       : s->port->read(s, &at, entry, sizeof *entry);
    if (status) return status;
    entry = at;
    if (due)
        vf_image_add(w, &now->last, at);
    else
        vf_image_add(w, &entry->head, &entry->set);
    return VFRONT_OK;
}

/** What the graph knows of a keyframe in the ring. number: of the node at each place, in the image. */
static void save_node(const struct vf_map_state *m, uint32_t slot, const uint16_t *number, struct vf_image_node *node)
{
    node->pose = m->node[slot];
    node->m2 = m->node_m2[slot];
    node->rad2 = m->node_rad2[slot];
    node->placed = m->placed_node[slot];
    node->loop = m->loop[slot];
    if (node->loop.a < VF_MAP_FRAME) node->loop.a = number[node->loop.a];
}

static void save_graph(const struct vf_map_state *m, const struct order *order, struct vf_image_writer *w)
{
    const struct vf_image_graph graph = {m->upright, order->nodes, m->scale > 1.0 ? m->scale : 1.0};
    uint16_t number[VFRONT_KEYFRAMES];
    struct vf_image_node node;
    for (uint32_t i = 0; i < order->nodes; i++) number[order->slot[i]] = (uint16_t)i;
    vf_image_add_graph(w, &graph);
    for (uint32_t i = 0; i < order->nodes; i++) {
        save_node(m, order->slot[i], number, &node);
        vf_image_add_node(w, &node);
    }
}

vfront_status_t vf_map_save(struct vf_state *s, void *buffer, size_t bytes, size_t *used)
{
    static const struct vf_image_graph none = {0, 0, 1.0};
    const struct vf_map_state *m = &s->memory->map.state[before_of(s)];
    struct vf_keyframe_now now;
    struct vf_image_writer w;
    struct order order;
    const void *at = NULL;
    const struct vf_image_kind kind = kind_of(s);
    if (!active(s)) return vf_refuse(s, VFRONT_E_STATE, "vfront_map_save: the tuning value map is 0", 0, "");
    vfront_status_t status = read_now(s, &now);
    if (!status) status = read_order(s, &now, &order);
    vf_image_begin(&w, buffer, bytes);
    for (uint32_t i = 0; !status && i < order.count; i++) status = save_keyframe(s, &now, order.slot[i], &w);
    if (!status && w.count) status = s->port->read(s, &at, m, sizeof *m);
    if (status) return status;
    if (w.count)
        save_graph(at, &order, &w);
    else
        vf_image_add_graph(&w, &none);
    vf_image_end(&w, &kind);
    *used = w.used;
    if (w.used <= bytes) return VFRONT_OK;
    return vf_refuse(s, VFRONT_E_SIZE, "vfront_map_save: the buffer is too small for %d keyframes", (int32_t)w.count,
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

/** Refuses maps of which there are keyframes in the ring. */
static vfront_status_t compare(struct vf_state *s, const struct vf_keyframe_now *now, const struct order *order,
                               const struct origins *o)
{
    for (uint32_t i = 0; i < order->count; i++) {
        const void *at;
        if (now->due && now->slot == order->slot[i]) continue; /* of this run, and not in the ring yet */
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

/** Writes a part of the map's state, for the port that runs and for the one that stands by. */
static vfront_status_t write_state(struct vf_state *s, size_t offset, const void *from, size_t bytes)
{
    struct vf_map_state *to = &s->memory->map.state[before_of(s)];
    const vfront_status_t status = s->port->write(s, (uint8_t *)to + offset, from, bytes);
    if (!status) vf_failover_load_state(s, offset, from, bytes);
    return status;
}
#define WRITE(member, from) write_state(s, offsetof(struct vf_map_state, member), from, sizeof *(from))
#define WRITE_AT(member, i, from)                                                                                      \
    write_state(s, offsetof(struct vf_map_state, member) + sizeof *(from) * (size_t)(i), from, sizeof *(from))

/** Number of keyframes that have come in this run. */
static vfront_status_t read_made(struct vf_state *s, uint32_t *made)
{
    const struct vf_map_state *m = &s->memory->map.state[before_of(s)];
    const void *at;
    *made = 0;
    if (!s->frame && !s->map.given) return WRITE(made, made);
    const vfront_status_t status = s->port->read(s, &at, &m->made, sizeof m->made);
    if (!status) memcpy(made, at, sizeof *made);
    return status;
}

/** What the graph knows of a keyframe that comes to a place of the ring. first: place of the first keyframe of the
 *  image. made: keyframes of this run. known: the map of this run is that of the image. Else nothing is known of where
 *  its paths lie, and they are as they were flown. */
static vfront_status_t write_node(struct vf_state *s, uint32_t slot, uint32_t first, int known, uint32_t made,
                                  const struct vf_path_pose *own, struct vf_image_node *node)
{
    if (!known) vf_map_of_path(own, &node->pose);
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

/** Keyframes of an image, to the places of the ring from `first` on. */
static vfront_status_t write_keyframes(struct vf_state *s, struct vf_image_reader r, uint32_t first)
{
    const int known = !s->frame && !s->map.given;
    uint32_t made;
    vfront_status_t status = read_made(s, &made);
    struct vf_keyframe_entry entry;
    struct vf_image_node node;
    for (uint32_t i = 0; vf_image_next(&r, &entry) && !status; i++) {
        entry.head.pose.path += PATHS_LOADED + s->map.paths;
        status = s->port->write(s, &s->memory->keyframe.ring[first + i], &entry, sizeof entry);
        if (status) return status;
        vf_failover_load(s, first + i, &entry);
        memset(&node, 0, sizeof node);
        node.loop.a = VF_NONE;
        if (i < r.graph.nodes) vf_image_node(&r, i, &node);
        status = write_node(s, first + i, first, known, made, &entry.head.pose, &node);
    }
    return status;
}

/** The graph's order and axes. Nodes that come while the drone flies are before its own, so that these stay
 *  together. */
static vfront_status_t write_graph(struct vf_state *s, const struct vf_image_reader *r, struct order *order,
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

/** Writes keyframes, their graph, and the state that counts them, to the port that runs and to the one that stands
 *  by. */
static vfront_status_t write(struct vf_state *s, const struct vf_image_reader *r, struct vf_keyframe_now *now,
                             struct order *order)
{
    vfront_status_t status = write_keyframes(s, *r, now->count);
    if (!status) status = write_graph(s, r, order, now->count);
    now->count += r->count;
    if (!status) status = s->port->write(s, &s->memory->keyframe.now[before_of(s)], now, sizeof *now);
    if (!status) vf_failover_loaded(s, now);
    return status;
}

vfront_status_t vf_map_load(struct vf_state *s, const void *buffer, size_t bytes)
{
    struct vf_keyframe_now now;
    struct vf_image_reader r;
    struct origins origins;
    struct order order;
    const char *why;
    const struct vf_image_kind kind = kind_of(s);
    if (!active(s)) return vf_refuse(s, VFRONT_E_STATE, "vfront_map_load: the tuning value map is 0", 0, "");
    vfront_status_t status = vf_image_open(&r, buffer, bytes, &kind, &why);
    if (status) return vf_refuse(s, status, why, 0, "");
    if (!find_origins(r, &origins)) return vf_refuse(s, VFRONT_E_MAP, "map: of more than %d maps", ORIGINS, "");
    status = read_now(s, &now);
    if (!status) status = read_order(s, &now, &order);
    if (status) return status;
    if (r.count > VFRONT_KEYFRAMES - now.count)
        return vf_refuse(s, VFRONT_E_SIZE, "map: more keyframes than the ring has room for, %d: VFRONT_KEYFRAMES",
                         (int32_t)(VFRONT_KEYFRAMES - now.count), "");
    if (r.paths > PATHS_LOADED - 1 - s->map.paths) return vf_refuse(s, VFRONT_E_SIZE, "map: too many paths", 0, "");
    status = compare(s, &now, &order, &origins);
    if (!status) status = write(s, &r, &now, &order);
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
