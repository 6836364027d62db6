/* SPDX-License-Identifier: MIT */
/* Two cameras and an IMU: position, velocity and attitude in each frame, carried on between frames by the IMU; what to
 * do on each status and each state. Replace room.h, take_pictures() and the samples of main() by your sensors. */
#include <stdio.h>
#include <string.h>

#include "room.h"

#define FRAMES 90
#define LATE_FRAME 40    /* comes with the stamp of the frame before: the library refuses it */
#define BLACKOUT_FROM 50 /* both cameras have no picture from here on, for 6 frames */
#define BLACKOUT_TO 55

static vfront_t vf;
static uint8_t grey[2][ROOM_HEIGHT_PX][ROOM_WIDTH_PX];

/** Samples of the IMU, the latest `count`. */
struct samples {
    vfront_imu_t imu[VFRONT_IMU_SAMPLES];
    uint32_t count;
};
static struct samples pending; /* samples that no accepted frame has had */
static struct samples recent;  /* samples from the last one before the state on */

/** Takes a sample in; the oldest one goes where there is no room. */
static void keep(struct samples *s, const vfront_imu_t *sample)
{
    if (s->count == VFRONT_IMU_SAMPLES) memmove(s->imu, s->imu + 1, --s->count * sizeof *s->imu);
    s->imu[s->count++] = *sample;
}

/** Drops the samples of `recent` that carry no state on any more. */
static void drop_before(struct samples *s, uint64_t t_ns)
{
    uint32_t from = 0;
    while (from + 1 < s->count && s->imu[from + 1].t_ns <= t_ns) from++;
    s->count -= from;
    memmove(s->imu, s->imu + from, s->count * sizeof *s->imu);
}

/** Fills a frame: stamp, both pictures, the samples since the last accepted frame. */
static void take_pictures(int number, vfront_frame_t *frame)
{
    frame->t_ns = 1000000000u + (uint64_t)(number == LATE_FRAME ? number - 1 : number) * ROOM_FRAME_NS;
    for (int c = 0; c < 2 && c < VFRONT_CAMERAS; c++) {
        vfront_picture_t *p = &frame->picture[c];
        if (number >= BLACKOUT_FROM && number <= BLACKOUT_TO) {
            p->format = VFRONT_NO_PICTURE;
            continue;
        }
        room_render(frame->t_ns, c, grey[c][0]);
        p->data = grey[c];
        p->width_px = ROOM_WIDTH_PX;
        p->height_px = ROOM_HEIGHT_PX;
        p->pitch_bytes = ROOM_WIDTH_PX;
    }
    frame->imu = pending.imu;
    frame->imu_count = pending.count;
}

/** 1 if the state may steer a vehicle, by its covariance. */
static int is_usable(const vfront_nav_t *nav)
{
    switch (nav->state) {
    case VFRONT_NAV_GOOD: /* by pictures and samples */
    case VFRONT_NAV_COASTING: /* by samples alone: the covariance grows from frame to frame */ return 1;
    case VFRONT_NAV_STEREO_ONLY: /* by two cameras, without samples: unless it began so, z is still up */
        return !(nav->flags & VFRONT_NAV_NO_GRAVITY);
    default: /* none yet, or lost: a new one has another reset_counter, and may have moved */ return 0;
    }
}

/** What health reports beside the state. */
static void print_health(const vfront_health_t *h)
{
    if (h->state == VFRONT_LOST) printf("  pictures: nothing connects this frame with the one before\n");
    if (h->imu & (VFRONT_IMU_MISSING | VFRONT_IMU_GAP)) printf("  IMU: samples are missing\n");
    if (h->imu & (VFRONT_IMU_STUCK | VFRONT_IMU_ZERO)) printf("  IMU: samples are stuck\n");
    if (h->imu & (VFRONT_IMU_AXES | VFRONT_IMU_IN_DEGREES | VFRONT_IMU_IN_G | VFRONT_IMU_CLOCK))
        printf("  IMU: axes, units or clock are wrong: check the rig\n");
    if (h->stereo == VFRONT_STEREO_SUSPECT) printf("  cameras: they do not agree\n");
}

static void print_state(const char *what, const vfront_nav_t *nav)
{
    static const char *const name[] = {"none", "initialising", "good", "coasting", "lost", "stereo only"};
    printf("%s: %s", what, nav->state < 6 ? name[nav->state] : "?");
    if (is_usable(nav)) /* variance of z is element (2, 2) of the upper triangle of 15x15 */
        printf(", t %.3f s, position %.3f %.3f %.3f m, velocity %.2f %.2f %.2f m/s, variance of z %.2g m^2",
               (double)nav->t_ns * 1e-9, nav->position_m[0], nav->position_m[1], nav->position_m[2],
               nav->velocity_mps[0], nav->velocity_mps[1], nav->velocity_mps[2], nav->covariance[15 + 14]);
    printf("\n");
}

/** Steps a frame. Returns 1 with a result, 0 where the frame is left out, -1 where nothing goes on. */
static int step(const vfront_rig_t *rig, const vfront_tuning_t *tuning, vfront_frame_t *frame,
                const vfront_result_t **result)
{
    vfront_status_t status = vfront_step(&vf, frame, result);
    if (status != VFRONT_OK) printf("  %s: %s\n", vfront_status_name(status), vfront_detail(&vf));
    if (status == VFRONT_E_IMU) { /* samples out of order or not finite: the frame without them */
        frame->imu = NULL;
        frame->imu_count = pending.count = 0;
        status = vfront_step(&vf, frame, result);
    }
    switch (status) {
    case VFRONT_OK:
        pending.count = 0; /* an accepted frame has had them */
        return 1;
    case VFRONT_E_TIME: /* a corrupt stamp: the next frame goes on, and takes the samples */ return 0;
    case VFRONT_E_DEVICE:    /* the GPU failed, hangs, or needs a new process: the host port goes on, from nothing. */
    case VFRONT_E_ABANDONED: /* The tuning value failover goes on with the state, within the same step */
    case VFRONT_E_STICKY: vfront_shutdown(&vf); return vfront_init(&vf, rig, tuning, VFRONT_PORT_HOST) ? -1 : 0;
    default: /* a size, a pitch, a format, an address: the program is wrong */ return -1;
    }
}

int main(void)
{
    const vfront_rig_t rig = room_rig(2, 1);
    vfront_tuning_t tuning;
    vfront_nav_t nav = {0}, now;
    uint64_t next_sample_ns = 950000000u;
    unsigned carried = 0;
    int going = 1;

    vfront_tuning_default(&tuning);
    vfront_tuning_state(&tuning);
    if (!tuning.vio) { /* a config without VFRONT_VIO */
        fprintf(stderr, "this build has no estimator\n");
        return 1;
    }
    if (vfront_init(&vf, &rig, &tuning, VFRONT_PORT_AUTO)) going = -1;
    for (int i = 0; i < FRAMES && going >= 0; i++) {
        const uint64_t t_ns = 1000000000u + (uint64_t)i * ROOM_FRAME_NS;
        for (; next_sample_ns < t_ns + ROOM_IMU_NS; next_sample_ns += ROOM_IMU_NS) { /* at 200 Hz */
            const vfront_imu_t sample = room_imu(next_sample_ns);
            keep(&pending, &sample);
            keep(&recent, &sample);
            if (is_usable(&nav) && !vfront_propagate(&nav, &rig.imu, recent.imu, recent.count, VFRONT_IMU_LAST, &now))
                carried++; /* now: for a controller at 200 Hz */
        }
        if (i % 10 == 0 && carried) print_state("before the next frame", &now);
        vfront_frame_t frame = {0};
        const vfront_result_t *result;
        take_pictures(i, &frame);
        printf("frame %d\n", i);
        going = step(&rig, &tuning, &frame, &result);
        if (going <= 0) continue;
        if (result->nav.reset_counter != nav.reset_counter) printf("  a new state: its position may have jumped\n");
        nav = result->nav;
        drop_before(&recent, nav.t_ns);
        print_health(&result->health);
        print_state("  state", &nav);
    }
    printf("states between frames: %u\n", carried);
    if (going < 0) fprintf(stderr, "%s\n", vfront_detail(&vf));
    vfront_shutdown(&vf);
    return going < 0;
}
