/* SPDX-License-Identifier: MIT */
#include "map_trajectory.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "examples/common/message.h"
#include "trajectory.h"

#if VFRONT_MAP

static uint8_t image[VFRONT_MAP_BYTES]; /* src/map/serialize.h has its layout */

/** Keyframe of this run that is a node of the graph. */
struct node {
    uint64_t frame;
    uint32_t path;
    int is_located; /* 1: its place in the map is known */
    pose_t own, to; /* in its path, in the map */
};
static struct node node[VFRONT_KEYFRAMES];
static uint32_t nodes;

static uint64_t number(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    while (bytes--) value = value << 8 | at[bytes];
    return value;
}

/** Position and quaternion w x y z. */
static pose_t pose_at(const uint8_t *at)
{
    double v[7];
    pose_t pose;
    for (int k = 0; k < 7; k++) {
        const uint64_t bits = number(at + 8 * k, 8);
        memcpy(&v[k], &bits, 8);
    }
    const double q[4] = {v[4], v[5], v[6], v[3]};
    memcpy(pose.t, v, sizeof pose.t);
    pose_rotation(pose.R, q);
    return pose;
}

/** Nodes of an image, by their frames: they are in that order. Those of maps that were loaded are left out. */
static void find_nodes(void)
{
    const uint8_t *at = image + 80, *graph = at + number(image + 72, 8) + 16, *own = graph + 16;
    const uint32_t all = (uint32_t)number(graph + 4, 4);
    nodes = 0;
    for (uint32_t i = 0; i < all; i++, own += 144) {
        struct node *to = &node[nodes];
        to->frame = number(at + 8, 8);
        to->path = (uint32_t)number(at + 104, 4);
        to->own = pose_at(at + 24);
        to->to = pose_at(own);
        to->is_located = (int)number(own + 136, 4) & 1;
        nodes += number(at, 8) == 0;
        at += 120 + (52 * number(at + 112, 4) + 7) / 8 * 8;
    }
}

/** First frame of the path that begins between two nodes: where the map was lost, or T_map_odom changed within a
 *  turn. */
static uint64_t segment_begins(const map_plot_t *p, uint32_t from, uint64_t last)
{
    uint32_t i = from;
    for (; i < p->count && p->frame[i].frame < last; i++) {
        const struct map_frame *a = &p->frame[i - 1], *b = &p->frame[i];
        const int lost = a->state == VFRONT_MAP_GOOD && b->state != VFRONT_MAP_GOOD,
                  over = a->state == VFRONT_MAP_GOOD && b->frame % 24 && memcmp(&a->to, &b->to, sizeof a->to) != 0;
        if (lost || over) return b->frame;
    }
    return last;
}

/** Pose of a frame by a node. */
static void carry(FILE *f, const struct map_frame *frame, const struct node *by)
{
    const pose_t back = pose_inverse(&by->own), step = pose_compose(&back, &frame->own),
                 pose = pose_compose(&by->to, &step);
    if (by->is_located && frame->state != VFRONT_MAP_NO_SCALE) trajectory_write_tum(f, frame->t_ns, &pose);
}

int map_trajectory_write(vfront_t *vf, const char *path, const map_plot_t *p)
{
    size_t bytes;
    const vfront_status_t status = vfront_map_save(vf, image, sizeof image, &bytes);
    if (status)
        return message(EXIT_FAILED, "%s: vfront_map_save: %s: %s", path, vfront_status_name(status), vfront_detail(vf));
    FILE *f = fopen(path, "w");
    if (!f) return message(EXIT_FAILED, "%s: %s", path, strerror(errno));
    find_nodes();
    uint32_t n = 0, begin = 0; /* vfront_reset() forgets the frames before it */
    for (uint32_t i = 1; i < p->count; i++)
        if (p->frame[i].frame <= p->frame[i - 1].frame) begin = i;
    uint64_t next = UINT64_MAX; /* frame from which on the next node counts */
    for (uint32_t i = begin; i < p->count && nodes; i++) {
        if (i > begin && p->frame[i - 1].frame == node[n].frame && n + 1 < nodes)
            next = node[n].path == node[n + 1].path ? node[n + 1].frame : segment_begins(p, i, node[n + 1].frame);
        if (p->frame[i].frame >= next) {
            n++;
            next = UINT64_MAX;
        }
        carry(f, &p->frame[i], &node[n]);
    }
    const int failed = ferror(f);
    return fclose(f) || failed ? message(EXIT_FAILED, "%s: cannot be written", path) : CONTINUE;
}

#else

int map_trajectory_write(vfront_t *vf, const char *path, const map_plot_t *plot)
{
    (void)vf, (void)path, (void)plot;
    return CONTINUE;
}

#endif
