/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include "gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/common/message.h"

#define ENDLESS_FRAMES 300 /* of a data set without an end */
#define PAIR_FRAMES 60     /* frames, spread evenly, whose key points are paired */
#define PAIR_POINTS 1200   /* key points of a picture that are paired */
#define PAIR_LEVELS 4      /* coarser ones have positions too rough */
#define PAIR_BITS 60       /* largest Hamming distance [bits] */
#define PAIR_RATIO 0.8     /* largest share of the second best distance */

static vfront_t vf;

/** Room for one more element. Returns 0 without memory. */
static int grow(void **list, size_t count, size_t *room, size_t bytes)
{
    if (count < *room) return 1;
    const size_t more = *room ? 2 * *room : 1024;
    void *larger = realloc(*list, more * bytes);
    if (!larger) return 0;
    *list = larger;
    *room = more;
    return 1;
}

static int add_sample(gathered_t *to, uint64_t t_ns, const double gyro[3], const double accel[3])
{
    if (to->samples && t_ns <= to->imu[to->samples - 1].t_ns) return 1;
    if (!grow((void **)&to->imu, to->samples, &to->samples_room, sizeof *to->imu)) return 0;
    vfront_imu_t *s = &to->imu[to->samples++];
    s->t_ns = t_ns;
    memcpy(s->gyro_rad_s, gyro, sizeof s->gyro_rad_s);
    memcpy(s->accel_m_s2, accel, sizeof s->accel_m_s2);
    return 1;
}

/** Take the samples of a frame, which is then vision alone. */
static int take_samples(gathered_t *to, vfront_frame_t *frame)
{
    static const double none[3];
    int ok = 1;
    for (uint32_t i = 0; i < frame->imu_count && ok; i++)
        ok = add_sample(to, frame->imu[i].t_ns, frame->imu[i].gyro_rad_s, frame->imu[i].accel_m_s2);
    for (uint32_t i = 0; i < frame->gyro_count && ok; i++)
        ok = add_sample(to, frame->gyro[i].t_ns, frame->gyro[i].rate_rad_s, none);
    to->has_accel |= frame->imu_count > 0;
    frame->imu = NULL;
    frame->gyro = NULL;
    frame->R_cur_prev = NULL;
    frame->imu_count = frame->gyro_count = 0;
    return ok;
}

#if VFRONT_DESCRIPTORS && VFRONT_CAMERAS > 1

/** Key points that are paired. */
struct candidates {
    int count;
    const vfront_keypoint_t *point[PAIR_POINTS];
    uint64_t word[PAIR_POINTS][4];
};

static int choose(struct candidates *c, const vfront_result_t *r, int camera)
{
    const uint32_t all = r->descriptors_count[camera], every = all / PAIR_POINTS + 1;
    c->count = 0;
    for (uint32_t i = 0; i < all && c->count < PAIR_POINTS; i += every) {
        const vfront_keypoint_t *k = &r->keypoints[camera][i];
        if (k->level >= PAIR_LEVELS) break;
        memcpy(c->word[c->count], r->descriptors[camera][i].word, sizeof c->word[0]);
        c->point[c->count++] = k;
    }
    return c->count;
}

static int bits(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    return (int)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/** Index in b of the best match of a descriptor; -1: none that stands out. */
static int best_of(const uint64_t word[4], const struct candidates *b)
{
    int best = 257, second = 257, at = -1;
    for (int i = 0; i < b->count; i++) {
        int d = 0;
        for (int k = 0; k < 4; k++) d += bits(word[k] ^ b->word[i][k]);
        if (d < best) {
            /* the same corner on another level is no second one */
            if (at < 0 || b->point[i]->cell != b->point[at]->cell) second = best;
            best = d;
            at = i;
        } else if (d < second && b->point[i]->cell != b->point[at]->cell)
            second = d;
    }
    return best <= PAIR_BITS && best < PAIR_RATIO * second ? at : -1;
}

static int pair_cameras(gathered_t *to, const vfront_result_t *r)
{
    static struct candidates c[2];
    if (!choose(&c[0], r, 0) || !choose(&c[1], r, 1)) return 1;
    for (int i = 0; i < c[0].count; i++) {
        const int match = best_of(c[0].word[i], &c[1]);
        if (match < 0 || best_of(c[1].word[match], &c[0]) != i) continue;
        if (!grow((void **)&to->pair, to->pairs, &to->pairs_room, sizeof *to->pair)) return 0;
        const vfront_keypoint_t *a = c[0].point[i], *b = c[1].point[match];
        pair_t *p = &to->pair[to->pairs++];
        p->frame = to->frames;
        p->px[0][0] = a->x_px, p->px[0][1] = a->y_px;
        p->px[1][0] = b->x_px, p->px[1][1] = b->y_px;
        p->size = 1.0f;
        for (int k = a->level > b->level ? a->level : b->level; k > 0; k--)
            p->size *= (float)VFRONT_SCALE_NUM / (float)VFRONT_SCALE_DEN;
    }
    return 1;
}

#else
static int pair_cameras(gathered_t *to, const vfront_result_t *r)
{
    (void)to;
    (void)r;
    return 1;
}
#endif

static int take_step(gathered_t *to, const vfront_result_t *r)
{
    if (!to->frames) {
        to->from_ns = to->to_ns = r->t_mid_ns;
        return 1;
    }
    if (!grow((void **)&to->step, to->steps, &to->steps_room, sizeof *to->step)) return 0;
    step_t *s = &to->step[to->steps++];
    memset(s, 0, sizeof *s);
    s->from_ns = to->to_ns;
    s->to_ns = to->to_ns = r->t_mid_ns;
    s->has_rotation = r->relative.state == VFRONT_MOTION_GOOD || r->relative.state == VFRONT_MOTION_ROTATION;
    s->has_motion = r->metric.state == VFRONT_MOTION_GOOD;
    for (int i = 0; i < 9; i++) s->turn[i] = (double)r->relative.R[i];
    for (int i = 0; i < 9; i++) s->motion.R[i] = (double)r->metric.R[i];
    for (int i = 0; i < 3; i++) s->motion.t[i] = (double)r->metric.t[i];
    pose_orthonormalise(s->turn);
    pose_orthonormalise(s->motion.R);
    return 1;
}

static const char *play(gathered_t *to, dataset_t *dataset, uint32_t frames, int quiet)
{
    const uint32_t every = (frames + PAIR_FRAMES - 1) / PAIR_FRAMES;
    for (uint32_t i = 0; i < frames; i++) {
        vfront_frame_t frame;
        const vfront_result_t *r;
        const char *error = dataset_read(dataset, i, &frame);
        if (error) return error;
        int ok = take_samples(to, &frame);
        const vfront_status_t status = vfront_step(&vf, &frame, &r);
        if (status == VFRONT_E_DEVICE || status == VFRONT_E_ABANDONED || status == VFRONT_E_STATE)
            return message_text("frame %" PRIu32 ": %s: %s", i, vfront_status_name(status), vfront_detail(&vf));
        to->refused += status != VFRONT_OK;
        if (status) continue;
        ok &= take_step(to, r);
        if (to->rig.cameras > 1 && i % every == 0) ok &= pair_cameras(to, r);
        to->frames++;
        if (!ok) return message_text("no memory for frame %" PRIu32, i);
        if (!quiet && isatty(STDERR_FILENO))
            fprintf(stderr, "\rframe %" PRIu32 " of %" PRIu32 " \033[K", i + 1, frames);
    }
    if (!quiet && isatty(STDERR_FILENO)) fputs(MESSAGE_WIPE, stderr);
    return to->frames > 1 ? NULL : "fewer than two frames were accepted";
}

const char *gather(gathered_t *to, const struct gather_options *o)
{
    dataset_t *dataset;
    vfront_tuning_t tuning;
    memset(to, 0, sizeof *to);
    const char *error = dataset_open(&dataset, o->dataset, o->mono ? 1 : 2, o->calibration, "none", NULL);
    if (error) return error;
    dataset_use_imu(dataset);
    to->rig = *dataset_rig(dataset);
    to->kind = dataset_kind(dataset);
    uint32_t frames = dataset_frames(dataset);
    if (o->frames && (!frames || o->frames < frames)) frames = o->frames;
    vfront_tuning_default(&tuning);
    tuning.track_target = VFRONT_TRACKS;
    if (to->rig.camera[0].fx_px == 0.0)
        error = message_text("%s: no calibration of camera 0: give one with --calibration", o->dataset);
    else if (vfront_init(&vf, &to->rig, &tuning, VFRONT_PORT_AUTO))
        error = message_text("%s: vfront_init: %s", o->dataset, vfront_detail(&vf));
    else {
        error = play(to, dataset, frames ? frames : ENDLESS_FRAMES, o->quiet);
        vfront_shutdown(&vf);
    }
    if (!error) dataset_close(dataset);
    return error;
}
