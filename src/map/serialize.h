/* SPDX-License-Identifier: MIT */
/* Serialized map: the bytes that vfront_map_save() writes and vfront_map_load() reads, equal on every machine.
 *
 * Image: here, the bytes of one map. Format: little-endian, without gaps.
 * Header, 64 bytes:
 *   8 bytes magic; 32 bits each: version, size of the header; 64 bits each: size of the image, id, digest of the
 *   config, digest of the cameras; 32 bits each: number of sections, number of keyframes, 0, CRC-32 (zlib's) of the
 *   image with these four bytes 0
 * Section head, 16 bytes:
 *   32 bits each: name, version; 64 bits: size without the head, a multiple of 8
 * Section "KEYF", keyframes in the order of the graph, then those that are not nodes. Each keyframe:
 *   120 bytes: id of the map it was loaded with or 0; frame; time; pose, 10 doubles; chain, numbered from 0 in order of
 *   first use; source; number of points; 0
 *   48 bytes per point; words of all points, table by table; zeros up to a multiple of 8 bytes
 * Section "GRPH", 16 bytes: 32 bits each: 1 if z of the map is up, number of nodes; double: factor of VF_MAP_BOUND
 *   in the next step. Then the nodes, which are the first keyframes, 144 bytes each:
 *   pose in the map, 7 doubles; variances of position and attitude, 2 floats
 *   loop that ends at the node: pose, 7 doubles; standard deviations, 2 floats; node at which it begins, 0xfffffffe for
 *   a prior, 0xffffffff for none; inliers; flags (1: pose in the map known, 2: loop is an edge); 0
 *
 * Id: FNV-1a over the 64-bit words of section "KEYF". Two maps with one id have the same keyframes. A loaded map that
 * is saved before the next frame gives the same bytes; later it keeps its id until a keyframe is added or evicted.
 *
 * Safety: vf_serial_open() checks every value before a caller changes anything.
 */
#ifndef VF_SERIALIZE_H
#define VF_SERIALIZE_H

#include <stddef.h>

#include "map_data.h"
#include "recall.h"

#if VFRONT_MAP

#define VF_SERIAL_VERSION 4
#define VF_SERIAL_HEADER 64u
#define VF_SERIAL_SECTION 16u
#define VF_SERIAL_KEYFRAME 120u
#define VF_SERIAL_POINT (48u + 2u * VF_RECALL_TABLES)
#define VF_SERIAL_GRAPH 16u
#define VF_SERIAL_NODE 144u

/** Greatest frame number that a keyframe of an image may have. */
#define VF_SERIAL_MAX_FRAME 0x7fffffffffffull

VF_STATIC_ASSERT(VFRONT_MAP_BYTES ==
                     VF_SERIAL_HEADER + 2u * VF_SERIAL_SECTION + VF_SERIAL_GRAPH +
                         VFRONT_KEYFRAMES * (VF_SERIAL_KEYFRAME +
                                             (VF_SERIAL_POINT * VF_KEYFRAME_POINTS + 7u) / 8u * 8u + VF_SERIAL_NODE),
                 "vfront: VFRONT_MAP_BYTES is not the size of the largest image");

/** Digests of the config and of the cameras. An image is accepted only if both equal those of the running library. */
struct vf_serial_kind {
    uint64_t config, cameras;
};

/** Saved data of a keyframe that is a node of the pose graph. */
struct vf_serial_node {
    struct vf_map_pose pose; /* pose of the keyframe in the map */
    float m2, rad2;          /* variances of that pose, each axis: position [m^2], attitude [rad^2] */
    struct vf_map_loop loop; /* loop that ends at the keyframe; loop.a is a node index in the image, not a ring slot */
    uint32_t placed;         /* 1: pose of the keyframe in the map is known */
};

/** Saved data of the pose graph as a whole. */
struct vf_serial_graph {
    uint32_t upright; /* 1: z of the map is up */
    uint32_t nodes;   /* number of nodes; node i is keyframe i of the image */
    double scale;     /* factor on the chi^2 bound of loops, VF_MAP_BOUND, in the next optimisation step */
};

/** Writer of an image: buffer, and what is counted while keyframes are added. */
struct vf_serial_writer {
    uint8_t *begin;
    size_t room,                      /* size of the buffer [bytes] */
        used;                         /* size of the image so far [bytes]; may exceed that of the buffer */
    size_t keyframes;                 /* size of the keyframe section [bytes] */
    uint32_t count;                   /* keyframes written so far */
    uint32_t chains;                  /* motion chains written so far */
    uint64_t origin;                  /* id of the loaded map that all keyframes come from; 0: none */
    uint32_t chain[VFRONT_KEYFRAMES]; /* number in the run of each chain of the image */
};

/** Reader of an image: position, and values of the whole image. */
struct vf_serial_reader {
    const uint8_t *at;   /* keyframe that is read next */
    uint32_t remaining;  /* keyframes not yet read */
    uint32_t count;      /* keyframes in the image */
    uint32_t chains;     /* motion chains in the image */
    uint64_t id;         /* map id of the image */
    const uint8_t *node; /* first node of the image */
    struct vf_serial_graph graph;
};

/** Digest of the config values that fix the format and meaning of a map. The header of an image stores it. */
uint64_t vf_serial_config(void);

/** Digest of the calibration of all cameras. The header of an image stores it. rig: cameras as the stages see them,
 *  rectified ones if images are rectified. */
uint64_t vf_serial_cameras(const vfront_rig_t *rig);

/** Writes an image by calls in this order: begin, add for each keyframe, add_graph, add_node for each node, end. Bytes
 *  beyond the buffer are counted, not written. */
void vf_serial_begin(struct vf_serial_writer *w, void *buffer, size_t room);
void vf_serial_add(struct vf_serial_writer *w, const struct vf_keyframe *head, const struct vf_keyframe_points *set);
void vf_serial_add_graph(struct vf_serial_writer *w, const struct vf_serial_graph *graph);
void vf_serial_add_node(struct vf_serial_writer *w, const struct vf_serial_node *node);
void vf_serial_end(struct vf_serial_writer *w, const struct vf_serial_kind *kind);

/** Checks an image and starts reading. *why: text of the error, or NULL if the image is accepted. */
vfront_status_t vf_serial_open(struct vf_serial_reader *r, const void *buffer, size_t bytes,
                               const struct vf_serial_kind *kind, const char **why);

/** Reads the next keyframe's origin, the id of the map that it comes from, and skips its other data. Returns 0 after
 *  the last keyframe. */
int vf_serial_origin(struct vf_serial_reader *r, uint64_t *origin);

/** Reads the next keyframe. Its origin is a map id, never 0. Its chain number counts from 0 within the image. Returns 0
 *  after the last keyframe. */
int vf_serial_next(struct vf_serial_reader *r, struct vf_keyframe_entry *entry);

/** Reads node i of the image, 0 to graph.nodes - 1. */
void vf_serial_node(const struct vf_serial_reader *r, uint32_t i, struct vf_serial_node *node);

#endif

#endif
