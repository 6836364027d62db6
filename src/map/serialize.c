/* SPDX-License-Identifier: MIT */
/* Serialized map: writing, checking, reading. */
#include "serialize.h"

#if VFRONT_MAP

/** First 8 bytes of an image: "VFRONT", and two bytes that a transfer in text mode or with 7 bits would change. */
static const uint8_t magic[8] = {'V', 'F', 'R', 'O', 'N', 'T', 0x8d, 0x0a};

/** Names of the two sections, "KEYF" and "GRPH", as little-endian 32-bit values. */
#define KEYFRAMES 0x4659454bu
#define GRAPH 0x48505247u

/** Flag of a saved node: its pose in the map is known. */
#define PLACED 1u
/** Flag of a saved node: the loop that ends at it is an edge of the graph. */
#define ACTIVE 2u

/** Offsets of the values in the image header [bytes]. */
enum {
    AT_VERSION = 8,
    AT_HEADER = 12,
    AT_BYTES = 16,
    AT_ID = 24,
    AT_CONFIG = 32,
    AT_CAMERAS = 40,
    AT_SECTIONS = 48,
    AT_COUNT = 52,
    AT_ZERO = 56,
    AT_CRC = 60
};

#define FNV_BEGIN 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

/** Number of the kind of descriptors and words in an image: 1 is the 256 bits of features/describe_pattern.h and the
 *  word bits of vf_recall_word(). */
#define DESCRIPTOR_KIND 1

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get2(const uint8_t *at) { return at[0] | (uint32_t)at[1] << 8; }
static uint32_t get4(const uint8_t *at) { return get2(at) | get2(at + 2) << 16; }
static uint64_t get8(const uint8_t *at) { return get4(at) | (uint64_t)get4(at + 4) << 32; }

static void put_double(uint8_t *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(at, bits, 8);
}

static double get_double(const uint8_t *at)
{
    const uint64_t bits = get8(at);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float get_float(const uint8_t *at)
{
    const uint32_t bits = get4(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t mix(uint64_t digest, uint64_t value) { return (digest ^ value) * FNV_PRIME; }

static uint64_t mix_double(uint64_t digest, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return mix(digest, bits);
}

/** Map id, computed from the bytes of a section: FNV-1a over its 64-bit words; never 0. */
static uint64_t id_of(const uint8_t *at, size_t bytes)
{
    uint64_t d = FNV_BEGIN;
    for (size_t i = 0; i < bytes; i += 8) d = mix(d, get8(at + i));
    return d ? d : 1;
}

/** Tables that compute a CRC-32 four bytes at a time. table[k][b]: contribution of a byte of value b that k bytes of
 *  its group follow. */
struct crc {
    uint32_t table[4][256];
};

static void crc_begin(struct crc *c)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        c->table[0][b] = crc;
    }
    for (int k = 1; k < 4; k++)
        for (uint32_t b = 0; b < 256; b++)
            c->table[k][b] = c->table[k - 1][b] >> 8 ^ c->table[0][c->table[k - 1][b] & 255];
}

static uint32_t crc_more(const struct crc *c, uint32_t crc, const uint8_t *at, size_t bytes)
{
    for (; bytes >= 4; bytes -= 4, at += 4) {
        const uint32_t word = crc ^ get4(at);
        crc = c->table[3][word & 255] ^ c->table[2][word >> 8 & 255] ^ c->table[1][word >> 16 & 255] ^
              c->table[0][word >> 24];
    }
    for (; bytes; bytes--) crc = crc >> 8 ^ c->table[0][(crc ^ *at++) & 255];
    return crc;
}

/** CRC-32 of an image. The CRC field of the header counts as 0. */
static uint32_t crc_of(const uint8_t *serial, size_t bytes)
{
    static const uint8_t none[4] = {0, 0, 0, 0};
    struct crc c;
    crc_begin(&c);
    uint32_t crc = crc_more(&c, 0xffffffffu, serial, AT_CRC);
    crc = crc_more(&c, crc, none, sizeof none);
    return ~crc_more(&c, crc, serial + VF_SERIAL_HEADER, bytes - VF_SERIAL_HEADER);
}

/* ---- digests of config and cameras ------------------------------------------------------------------------------- */

uint64_t vf_serial_config(void)
{
    const uint64_t all[] = {DESCRIPTOR_KIND,    256,
                            VF_KEYFRAME_POINTS, VF_KEYFRAME_COLUMNS,
                            VF_KEYFRAME_ROWS,   VF_RECALL_TABLES,
                            VFRONT_SCALE_NUM,   VFRONT_SCALE_DEN};
    uint64_t d = FNV_BEGIN;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) d = mix(d, all[i]);
    return d;
}

uint64_t vf_serial_cameras(const vfront_rig_t *rig)
{
    uint64_t d = mix(FNV_BEGIN, (uint64_t)rig->cameras);
    for (int32_t i = 0; i < rig->cameras; i++) {
        const vfront_camera_t *c = &rig->camera[i];
        d = mix(mix(mix(d, (uint64_t)c->width_px), (uint64_t)c->height_px), (uint64_t)c->lens);
        d = mix_double(mix_double(mix_double(mix_double(d, c->fx_px), c->fy_px), c->cx_px), c->cy_px);
        for (int k = 0; k < 8; k++) d = mix_double(d, c->distortion[k]);
        for (int k = 0; k < 9; k++) d = mix_double(d, c->R_cam_imu[k]);
        for (int k = 0; k < 3; k++) d = mix_double(d, c->t_cam_imu_m[k]);
    }
    return d;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/** Size of a saved keyframe with `points` points [bytes]. */
static size_t keyframe_bytes(uint32_t points)
{
    return VF_SERIAL_KEYFRAME + (VF_SERIAL_POINT * (size_t)points + 7) / 8 * 8;
}

void vf_serial_begin(struct vf_serial_writer *w, void *buffer, size_t room)
{
    w->begin = buffer;
    w->room = room;
    w->used = VF_SERIAL_HEADER + VF_SERIAL_SECTION;
    w->count = w->chains = 0;
    w->origin = 0;
}

/** Number that a motion chain has in the image: chains are numbered from 0 in order of first use. */
static uint32_t chain_of(struct vf_serial_writer *w, uint32_t chain)
{
    uint32_t i = 0;
    while (i < w->chains && w->chain[i] != chain) i++;
    if (i == w->chains) w->chain[w->chains++] = chain;
    return i;
}

/** Reserves the next bytes of the image. Returns their address, or NULL if they do not fit into the buffer. */
static uint8_t *more(struct vf_serial_writer *w, size_t bytes)
{
    w->used += bytes;
    return w->used > w->room ? NULL : w->begin + w->used - bytes;
}

/** Copies the ten doubles of a chain pose: position, quaternion, two variances, distance travelled. */
static const double *pose_doubles(const struct vf_chain_pose *pose, double out[10])
{
    memcpy(out, pose->position_m, 3 * sizeof *out);
    memcpy(out + 3, pose->q_chain_cam, 4 * sizeof *out);
    out[7] = pose->position_variance_m2;
    out[8] = pose->rotation_variance_rad2;
    out[9] = pose->length_m;
    return out;
}

static void put_point(uint8_t *at, const struct vf_keyframe_point *p)
{
    uint32_t range;
    for (int k = 0; k < 8; k++) put(at + 4 * k, p->descriptor.word[k], 4);
    for (int k = 0; k < 3; k++) put(at + 32 + 2 * k, (uint16_t)p->bearing_q15[k], 2);
    put(at + 38, p->keypoint, 2);
    memcpy(&range, &p->range_m, sizeof range);
    put(at + 40, range, 4);
    put(at + 44, p->sigma_q16, 2);
    put(at + 46, p->level, 2);
}

void vf_serial_add(struct vf_serial_writer *w, const struct vf_keyframe *head, const struct vf_keyframe_points *set)
{
    const size_t bytes = keyframe_bytes(set->count);
    const uint32_t chain = chain_of(w, head->pose.chain);
    w->origin = !w->count || w->origin == head->origin ? head->origin : 0;
    w->count++;
    uint8_t *at = more(w, bytes);
    if (!at) return;
    double pose[10];
    put(at, head->origin, 8);
    put(at + 8, head->frame, 8);
    put(at + 16, head->t_ns, 8);
    pose_doubles(&head->pose, pose);
    for (int k = 0; k < 10; k++) put_double(at + 24 + 8 * k, pose[k]);
    put(at + 104, chain, 4);
    put(at + 108, head->pose.source, 4);
    put(at + 112, set->count, 4);
    put(at + 116, 0, 4);
    uint8_t *to = at + VF_SERIAL_KEYFRAME;
    for (uint32_t i = 0; i < set->count; i++, to += 48) put_point(to, &set->point[i]);
    for (int t = 0; t < VF_RECALL_TABLES; t++)
        for (uint32_t i = 0; i < set->count; i++, to += 2) put(to, set->word[t][i], 2);
    while (to < at + bytes) *to++ = 0;
}

void vf_serial_add_graph(struct vf_serial_writer *w, const struct vf_serial_graph *graph)
{
    w->keyframes = w->used - VF_SERIAL_HEADER - VF_SERIAL_SECTION;
    uint8_t *at = more(w, VF_SERIAL_SECTION + VF_SERIAL_GRAPH);
    if (!at) return;
    put(at, GRAPH, 4);
    put(at + 4, 1, 4);
    put(at + 8, VF_SERIAL_GRAPH + VF_SERIAL_NODE * (uint64_t)graph->nodes, 8);
    put(at + VF_SERIAL_SECTION, graph->upright, 4);
    put(at + VF_SERIAL_SECTION + 4, graph->nodes, 4);
    put_double(at + VF_SERIAL_SECTION + 8, graph->scale);
}

static void put_pose(uint8_t *at, const struct vf_map_pose *pose)
{
    for (int k = 0; k < 3; k++) put_double(at + 8 * k, pose->p[k]);
    for (int k = 0; k < 4; k++) put_double(at + 24 + 8 * k, pose->q[k]);
}

static void put_float(uint8_t *at, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(at, bits, 4);
}

void vf_serial_add_node(struct vf_serial_writer *w, const struct vf_serial_node *node)
{
    const struct vf_map_loop *l = &node->loop;
    uint8_t *at = more(w, VF_SERIAL_NODE);
    if (!at) return;
    memset(at, 0, VF_SERIAL_NODE);
    put_pose(at, &node->pose);
    put_float(at + 56, node->m2);
    put_float(at + 60, node->rad2);
    put(at + 128, l->a, 4);
    put(at + 136, node->placed ? PLACED : 0, 4);
    if (l->a == VF_NONE) return;
    put_pose(at + 64, &l->pose);
    put_float(at + 120, l->sigma_m);
    put_float(at + 124, l->sigma_rad);
    put(at + 132, l->inliers, 4);
    put(at + 136, (node->placed ? PLACED : 0) | (l->active ? ACTIVE : 0), 4);
}

/** Sets the origin of all keyframes in the image: the id of the map that they come from. */
static void set_origins(const struct vf_serial_writer *w, uint64_t origin)
{
    uint8_t *at = w->begin + VF_SERIAL_HEADER + VF_SERIAL_SECTION;
    for (uint32_t i = 0; i < w->count; i++, at += keyframe_bytes(get4(at + 112))) put(at, origin, 8);
}

/** Map id of the complete image. A loaded map without added or evicted keyframes keeps its id. */
static uint64_t final_id(const struct vf_serial_writer *w)
{
    const size_t head = VF_SERIAL_HEADER + VF_SERIAL_SECTION;
    if (w->origin) set_origins(w, 0);
    const uint64_t id = id_of(w->begin + head, w->keyframes);
    if (!w->origin || id == w->origin) return id;
    set_origins(w, w->origin);
    return id_of(w->begin + head, w->keyframes);
}

void vf_serial_end(struct vf_serial_writer *w, const struct vf_serial_kind *kind)
{
    if (w->used > w->room) return;
    uint8_t *at = w->begin;
    memcpy(at, magic, sizeof magic);
    put(at + AT_VERSION, VF_SERIAL_VERSION, 4);
    put(at + AT_HEADER, VF_SERIAL_HEADER, 4);
    put(at + AT_BYTES, w->used, 8);
    put(at + AT_ID, final_id(w), 8);
    put(at + AT_CONFIG, kind->config, 8);
    put(at + AT_CAMERAS, kind->cameras, 8);
    put(at + AT_SECTIONS, 2, 4);
    put(at + AT_COUNT, w->count, 4);
    put(at + AT_ZERO, 0, 4);
    put(at + VF_SERIAL_HEADER, KEYFRAMES, 4);
    put(at + VF_SERIAL_HEADER + 4, 1, 4);
    put(at + VF_SERIAL_HEADER + 8, w->keyframes, 8);
    put(at + AT_CRC, crc_of(at, w->used), 4);
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

/** 1 if a value is finite and its magnitude is at most `limit`. */
static int within(double value, double limit) { return value >= -limit && value <= limit; }

/** Returns the error text of a saved point, or NULL if the point is valid. */
static const char *bad_point(const uint8_t *at)
{
    int32_t square = 0;
    float range;
    const uint32_t bits = get4(at + 40);
    for (int k = 0; k < 3; k++) {
        const int32_t b = (int16_t)get2(at + 32 + 2 * k);
        if (b == INT16_MIN) return "map: bearing of a point";
        square += b * b / 4;
    }
    memcpy(&range, &bits, sizeof range);
    if (square < 32000 * 32000 / 4 || square > 33000 * 33000 / 4) return "map: bearing of a point";
    if (get2(at + 38) >= VFRONT_KEYPOINTS) return "map: key point of a point, VFRONT_KEYPOINTS";
    if (!within((double)range, 1e6) || range < 0.0f) return "map: distance of a point";
    if (get2(at + 46) >= VFRONT_SCALES) return "map: level of a point, VFRONT_SCALES";
    return NULL;
}

/** 1 if the three doubles at `at` are a valid position, each at most 10^9 m. */
static int is_position(const uint8_t *at)
{
    return within(get_double(at), 1e9) && within(get_double(at + 8), 1e9) && within(get_double(at + 16), 1e9);
}
/** 1 if the four doubles at `at` are a unit quaternion. */
static int is_attitude(const uint8_t *at)
{
    double square = 0.0;
    for (int k = 0; k < 4; k++) {
        const double q = get_double(at + 8 * k);
        if (!within(q, 2.0)) return 0;
        square += q * q;
    }
    return within(square - 1.0, 1e-6);
}

/** Returns the error text of a saved keyframe head, or NULL if it is valid. *chains: number of chains of the keyframes
 *  before it; raised by 1 if its chain is new. */
static const char *bad_head(const uint8_t *at, uint32_t *chains)
{
    if (get8(at + 8) > VF_SERIAL_MAX_FRAME) return "map: frame of a keyframe";
    if (!is_position(at + 24)) return "map: position of a keyframe";
    if (!is_attitude(at + 48)) return "map: attitude of a keyframe";
    for (int k = 7; k < 10; k++) {
        const double v = get_double(at + 24 + 8 * k);
        if (!within(v, 1e18) || v < 0.0) return "map: variance or way of a keyframe";
    }
    if (get4(at + 104) > *chains) return "map: chain of a keyframe";
    *chains += get4(at + 104) == *chains;
    if (get4(at + 108) > VF_CHAIN_NAV) return "map: source of a keyframe";
    return get4(at + 116) ? "map: a value that must be 0" : NULL;
}

/** Returns the error text of saved node i of `count`, or NULL if it is valid. */
static const char *bad_node(const uint8_t *at, uint32_t i, uint32_t count)
{
    const uint32_t a = get4(at + 128);
    if (!is_position(at) || !is_attitude(at + 24)) return "map: pose of a node";
    for (int k = 56; k < 64; k += 4)
        if (!within((double)get_float(at + k), 1e18) || get_float(at + k) < 0.0f) return "map: variance of a node";
    if (get4(at + 140)) return "map: a value that must be 0";
    if (get4(at + 136) > (a == VF_NONE ? PLACED : PLACED | ACTIVE)) return "map: flags of a node";
    if (a == VF_NONE) {
        for (int k = 64; k < 136; k++)
            if ((k < 128 || k >= 132) && at[k]) return "map: a value that must be 0";
        return NULL;
    }
    if (a == VF_MAP_FRAME ? !(get4(at + 136) & PLACED) : a >= count || a == i) return "map: keyframe of a loop";
    if (!is_position(at + 64) || !is_attitude(at + 88)) return "map: pose of a loop";
    for (int k = 120; k < 128; k += 4)
        if (!within((double)get_float(at + k), 1e6) || get_float(at + k) < 1e-6f) return "map: deviation of a loop";
    return NULL;
}

/** Reads and checks the graph section of `bytes` bytes that begins at r->node. Returns the error text, or NULL if it is
 *  valid. */
static const char *bad_graph(struct vf_serial_reader *r, size_t bytes)
{
    const uint8_t *at = r->node;
    const char *error = NULL;
    r->graph.upright = get4(at);
    r->graph.nodes = get4(at + 4);
    r->graph.scale = get_double(at + 8);
    if (r->graph.upright > 1) return "map: axes of the graph";
    if (r->graph.nodes > r->count || bytes != VF_SERIAL_GRAPH + VF_SERIAL_NODE * (size_t)r->graph.nodes)
        return "map: number of nodes";
    if (!within(r->graph.scale, 1e6) || r->graph.scale < 1.0) return "map: scale of the graph";
    r->node += VF_SERIAL_GRAPH;
    for (uint32_t i = 0; i < r->graph.nodes && !error; i++)
        error = bad_node(r->node + VF_SERIAL_NODE * (size_t)i, i, r->graph.nodes);
    return error;
}

/** Checks the keyframe section of `bytes` bytes that begins at r->at. Returns the error text, or NULL if it is
 *  valid. */
static const char *bad_keyframes(struct vf_serial_reader *r, size_t bytes)
{
    const uint8_t *at = r->at;
    for (uint32_t i = 0; i < r->count; i++) {
        if (bytes < VF_SERIAL_KEYFRAME) return "map: a keyframe is cut";
        const uint32_t points = get4(at + 112);
        const char *error = bad_head(at, &r->chains);
        if (error) return error;
        if (points > VF_KEYFRAME_POINTS) return "map: number of points of a keyframe";
        const size_t own = keyframe_bytes(points);
        if (bytes < own) return "map: a keyframe is cut";
        for (uint32_t k = 0; k < points && !error; k++) error = bad_point(at + VF_SERIAL_KEYFRAME + 48 * (size_t)k);
        if (error) return error;
        for (size_t k = VF_SERIAL_KEYFRAME + VF_SERIAL_POINT * (size_t)points; k < own; k++)
            if (at[k]) return "map: a value that must be 0";
        at += own;
        bytes -= own;
    }
    return bytes ? "map: bytes behind the last keyframe" : NULL;
}

/** Returns the error text of an image header, or NULL if magic, version, sizes and CRC are right. */
static const char *bad_header(const uint8_t *at, size_t bytes)
{
    if (bytes < VF_SERIAL_HEADER) return "map: shorter than the header of an image";
    if (memcmp(at, magic, sizeof magic) != 0) return "map: not an image of a map";
    if (get4(at + AT_VERSION) != VF_SERIAL_VERSION) return "map: image of another version";
    if (get4(at + AT_HEADER) != VF_SERIAL_HEADER) return "map: size of the header";
    if (get8(at + AT_BYTES) != bytes) return "map: image is cut, or longer than it says";
    if (bytes < VF_SERIAL_HEADER + VF_SERIAL_SECTION || bytes % 8) return "map: image is cut, or longer than it says";
    if (get4(at + AT_CRC) != crc_of(at, bytes)) return "map: image is damaged: CRC";
    return get4(at + AT_ZERO) ? "map: a value that must be 0" : NULL;
}

/** Returns the error text of a section head, or NULL if it is valid. remaining: bytes of the image from this head
 *  on. */
static const char *bad_section(const uint8_t *at, uint32_t name, size_t remaining)
{
    if (remaining < VF_SERIAL_SECTION) return "map: size of a section";
    if (get4(at) != name) return "map: section of another name";
    if (get4(at + 4) != 1) return "map: section of another version";
    return get8(at + 8) > remaining - VF_SERIAL_SECTION || get8(at + 8) % 8 ? "map: size of a section" : NULL;
}

/** Returns the error text of the two section heads, or NULL if both are valid. *keyframes, *graph: sizes of the
 *  sections without heads [bytes]. */
static const char *bad_sections(const uint8_t *serial, size_t bytes, size_t *keyframes, size_t *graph)
{
    const uint8_t *at = serial + VF_SERIAL_HEADER;
    const size_t head = VF_SERIAL_HEADER + VF_SERIAL_SECTION;
    if (get4(serial + AT_SECTIONS) != 2) return "map: number of sections";
    const char *error = bad_section(at, KEYFRAMES, bytes - VF_SERIAL_HEADER);
    if (error) return error;
    *keyframes = get8(at + 8);
    at += VF_SERIAL_SECTION + *keyframes;
    error = bad_section(at, GRAPH, bytes - head - *keyframes);
    if (error) return error;
    *graph = bytes - head - *keyframes - VF_SERIAL_SECTION;
    return get8(at + 8) != *graph || *graph < VF_SERIAL_GRAPH ? "map: size of a section" : NULL;
}

vfront_status_t vf_serial_open(struct vf_serial_reader *r, const void *buffer, size_t bytes,
                               const struct vf_serial_kind *kind, const char **error)
{
    const uint8_t *serial = buffer;
    size_t keyframes = 0, graph = 0;
    *error = bad_header(serial, bytes);
    if (!*error) *error = bad_sections(serial, bytes, &keyframes, &graph);
    if (*error) return VFRONT_E_MAP;
    if (get8(serial + AT_CONFIG) != kind->config) *error = "map: of another config: descriptors, levels or points";
    if (!*error && get8(serial + AT_CAMERAS) != kind->cameras) *error = "map: of other cameras";
    if (*error) return VFRONT_E_MAP_OTHER;
    const size_t head = VF_SERIAL_HEADER + VF_SERIAL_SECTION;
    r->at = serial + head;
    r->count = r->remaining = get4(serial + AT_COUNT);
    r->id = get8(serial + AT_ID);
    r->chains = 0;
    r->node = serial + head + keyframes + VF_SERIAL_SECTION;
    *error = bad_keyframes(r, keyframes);
    if (!*error) *error = bad_graph(r, graph);
    if (!*error && r->id != id_of(serial + head, keyframes)) *error = "map: id";
    return *error ? VFRONT_E_MAP : VFRONT_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void get_point(const uint8_t *at, struct vf_keyframe_point *p)
{
    const uint32_t range = get4(at + 40);
    for (int k = 0; k < 8; k++) p->descriptor.word[k] = get4(at + 4 * k);
    for (int k = 0; k < 3; k++) p->bearing_q15[k] = (int16_t)get2(at + 32 + 2 * k);
    p->keypoint = (uint16_t)get2(at + 38);
    memcpy(&p->range_m, &range, sizeof range);
    p->sigma_q16 = (uint16_t)get2(at + 44);
    p->level = (uint16_t)get2(at + 46);
}

static void get_head(const uint8_t *at, uint64_t id, struct vf_keyframe *head)
{
    double pose[10];
    for (int k = 0; k < 10; k++) pose[k] = get_double(at + 24 + 8 * k);
    head->origin = get8(at) ? get8(at) : id;
    head->frame = get8(at + 8);
    head->t_ns = get8(at + 16);
    memcpy(head->pose.position_m, pose, 3 * sizeof *pose);
    memcpy(head->pose.q_chain_cam, pose + 3, 4 * sizeof *pose);
    head->pose.position_variance_m2 = pose[7];
    head->pose.rotation_variance_rad2 = pose[8];
    head->pose.length_m = pose[9];
    head->pose.chain = get4(at + 104);
    head->pose.source = get4(at + 108);
    head->used = 1;
}

int vf_serial_origin(struct vf_serial_reader *r, uint64_t *origin)
{
    if (!r->remaining) return 0;
    *origin = get8(r->at) ? get8(r->at) : r->id;
    r->at += keyframe_bytes(get4(r->at + 112));
    r->remaining--;
    return 1;
}

int vf_serial_next(struct vf_serial_reader *r, struct vf_keyframe_entry *entry)
{
    if (!r->remaining) return 0;
    const uint8_t *at = r->at;
    struct vf_keyframe_points *set = &entry->set;
    memset(entry, 0, sizeof *entry);
    get_head(at, r->id, &entry->head);
    set->count = get4(at + 112);
    const uint8_t *from = at + VF_SERIAL_KEYFRAME;
    for (uint32_t i = 0; i < set->count; i++, from += 48) get_point(from, &set->point[i]);
    for (int t = 0; t < VF_RECALL_TABLES; t++)
        for (uint32_t i = 0; i < VF_KEYFRAME_POINTS; i++) {
            set->word[t][i] = VF_RECALL_NO_WORD;
            if (i >= set->count) continue;
            set->word[t][i] = (uint16_t)get2(from);
            from += 2;
        }
    r->at += keyframe_bytes(set->count);
    r->remaining--;
    return 1;
}

static void get_pose(const uint8_t *at, struct vf_map_pose *pose)
{
    for (int k = 0; k < 3; k++) pose->p[k] = get_double(at + 8 * k);
    for (int k = 0; k < 4; k++) pose->q[k] = get_double(at + 24 + 8 * k);
}

void vf_serial_node(const struct vf_serial_reader *r, uint32_t i, struct vf_serial_node *node)
{
    const uint8_t *at = r->node + VF_SERIAL_NODE * (size_t)i;
    struct vf_map_loop *l = &node->loop;
    memset(node, 0, sizeof *node);
    get_pose(at, &node->pose);
    node->m2 = get_float(at + 56);
    node->rad2 = get_float(at + 60);
    node->placed = (get4(at + 136) & PLACED) != 0;
    l->a = get4(at + 128);
    if (l->a == VF_NONE) return;
    get_pose(at + 64, &l->pose);
    l->sigma_m = get_float(at + 120);
    l->sigma_rad = get_float(at + 124);
    l->inliers = get4(at + 132);
    l->active = (get4(at + 136) & ACTIVE) != 0;
}

#endif
