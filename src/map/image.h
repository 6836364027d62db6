/* SPDX-License-Identifier: MIT */
/* Image: a map as bytes, the same on every machine: what vfront_map_save() writes and vfront_map_load() reads.
 *
 * Layout  little-endian, without gaps:
 *         header, 64 bytes: magic, 8 bytes; version and size of the header, 32 bits each; size of the image, 64;
 *         id, 64; digests of what must agree: of the config, of the cameras, 64 each; number of sections, number of
 *         keyframes,
 *         0, CRC-32 (as zlib's) of the whole image with these four bytes 0, 32 each
 *         sections, each with a head of 16 bytes: name and version, 32 each; size without the head, 64, a multiple of 8
 *         section "KEYF": keyframes, each of 120 bytes: id of the map that it was loaded with, or 0; frame; time; pose,
 *         10 doubles; path, from 0 by first use; source; number of its points; 0; then its points, 48 bytes each; then
 *         the words of all its points, table by table; then zeros up to a multiple of 8 bytes. They are in the order
 *         of the graph, and last those that are no nodes of it
 *         section "GRPH": whether z of the map is up, number of nodes, 32 bits each; scale of the bound of a loop's
 *         residual in the next step, a double; then nodes, those of the first keyframes, each of 144 bytes: pose in
 *         the map, 7 doubles; variances of its position and attitude, 2 floats; of the loop that ends there: pose, 7
 *         doubles; deviations, 2 floats; number of the node at which it begins, 0xfffffffe for a tie to the map, or
 *         0xffffffff, and inliers; 1 for a keyframe whose place in the map is known, 2 more for a loop that is an edge;
 *         0, 32 bits each
 * Id      FNV-1a over the words of 64 bits of section "KEYF": two maps with one id have the same keyframes. A map that
 *         was loaded and is saved before a frame has followed is the same bytes again; after a frame it has the same
 *         id, until there is a keyframe more or less
 * Safety  vf_image_open() checks every value before a caller changes anything
 */
#ifndef VF_IMAGE_H
#define VF_IMAGE_H

#include <stddef.h>

#include "map_state.h"
#include "place.h"

#if VFRONT_MAP

#define VF_IMAGE_VERSION 4
#define VF_IMAGE_HEADER 64u
#define VF_IMAGE_SECTION 16u
#define VF_IMAGE_KEYFRAME 120u
#define VF_IMAGE_POINT (48u + 2u * VF_PLACE_TABLES)
#define VF_IMAGE_GRAPH 16u
#define VF_IMAGE_NODE 144u

/** Greatest frame of a keyframe. */
#define VF_IMAGE_FRAME 0x7fffffffffffull

VF_STATIC_ASSERT(VFRONT_MAP_BYTES >=
                     VF_IMAGE_HEADER + 2u * VF_IMAGE_SECTION + VF_IMAGE_GRAPH +
                         VFRONT_KEYFRAMES *
                             (VF_IMAGE_KEYFRAME + (VF_IMAGE_POINT * VF_PLACE_POINTS + 7u) / 8u * 8u + VF_IMAGE_NODE),
                 "vfront: VFRONT_MAP_BYTES is too small");

/** Digests of what a map and a front end must agree on. */
struct vf_image_kind {
    uint64_t config, cameras;
};

/** What the pose graph knows of a keyframe. */
struct vf_image_node {
    struct vf_map_pose pose; /* in the map */
    float m2, rad2;          /* variances of its position and attitude, of each axis */
    struct vf_map_loop loop; /* that ends there; its `a`: number of a node in the image */
    uint32_t placed;         /* 1: where it lies in the map is known */
};

/** The graph as a whole. */
struct vf_image_graph {
    uint32_t upright; /* 1: z of the map is up */
    uint32_t nodes;   /* the first keyframes of the image */
    double scale;     /* of the bound of a loop's residual, in the next step */
};

/** Image being written. */
struct vf_image_writer {
    uint8_t *begin;
    size_t room, used; /* bytes of the buffer; bytes so far, which may be more */
    size_t keyframes;  /* bytes of the section of the keyframes */
    uint32_t count;    /* keyframes so far */
    uint32_t paths;    /* of them */
    uint64_t origin;   /* that of all keyframes; 0: they have none, or not one alone */
    uint32_t path[VFRONT_KEYFRAMES];
};

/** Image being read. */
struct vf_image_reader {
    const uint8_t *at; /* next keyframe */
    uint32_t left;     /* keyframes to come */
    uint32_t count;
    uint32_t paths;
    uint64_t id;
    const uint8_t *node; /* of the first keyframe */
    struct vf_image_graph graph;
};

/** Digest of the config, as in the header. */
uint64_t vf_image_config(void);

/** Digest of the cameras of a rig, as the stages see them. */
uint64_t vf_image_cameras(const vfront_rig_t *seen);

/** Begins an image, adds keyframes, begins its graph, adds their nodes, and ends it. What does not fit is counted, but
 *  not written. */
void vf_image_begin(struct vf_image_writer *w, void *buffer, size_t room);
void vf_image_add(struct vf_image_writer *w, const struct vf_keyframe *head, const struct vf_place_set *set);
void vf_image_add_graph(struct vf_image_writer *w, const struct vf_image_graph *graph);
void vf_image_add_node(struct vf_image_writer *w, const struct vf_image_node *node);
void vf_image_end(struct vf_image_writer *w, const struct vf_image_kind *kind);

/** Checks an image, and begins to read it. *why: the reason of a refusal. */
vfront_status_t vf_image_open(struct vf_image_reader *r, const void *buffer, size_t bytes,
                              const struct vf_image_kind *kind, const char **why);

/** Origin of the next keyframe, which is passed over: the id of a map. Returns 0 behind the last one. */
int vf_image_origin(struct vf_image_reader *r, uint64_t *origin);

/** Next keyframe: its origin is the id of a map, its path is counted from 0. Returns 0 behind the last one. */
int vf_image_next(struct vf_image_reader *r, struct vf_keyframe_entry *entry);

/** Node i of the image. */
void vf_image_node(const struct vf_image_reader *r, uint32_t i, struct vf_image_node *node);

#endif

#endif
