/* SPDX-License-Identifier: MIT */
#include "display.h"

#include <string.h>

#include "clock.h"
#include "examples/common/message.h"

#define WAIT_NS 100000000u /* of the preview where the source gives nothing */

const char *display_open(display_t *d, const char *where, const char *name, links_t *links)
{
    d->links = links;
    const char *error = view_open(&d->view, where, name);
    if (!error) links->view = &d->view;
    return error;
}

void display_close(display_t *d)
{
    view_close(&d->view);
    rectified_close(d->rectified);
    d->rectified = NULL;
}

int display_rectify(display_t *d, const vfront_rig_t *rig, const vfront_info_t *info)
{
    if (!d->view.is_open || !info->rectified) return 1;
    d->rectified = rectified_open(rig, info->camera);
    return d->rectified != NULL;
}

void display_obstacles(display_t *d, const uint16_t cm[VFRONT_OBSTACLE_BINS])
{
    memcpy(d->obstacles_cm, cm, sizeof d->obstacles_cm);
    d->has_obstacles = 1;
}

void display_map(display_t *d, const map_frame_t *map)
{
    d->has_map = map != NULL;
    if (!map) return;
    memcpy(d->map_local, map->position_m, sizeof map->position_m);
    d->map_local[3] = map->euler_rad[2];
}

static void update(display_t *d, const vfront_result_t *r, view_frame_t *shown, uint64_t now_ns)
{
    char text[LINKS_SUMMARY];
    view_peer_t peer[LINKS_MAX];
    links_summary(d->links, text);
    shown->links = text;
    shown->peers = links_peers(d->links, peer);
    shown->peer = peer;
    view_update(&d->view, r, shown, now_ns);
}

/* ---- before there are results ------------------------------------------------------------------------------------ */

void display_wait(display_t *d, const char *waits)
{
    static const vfront_picture_t none = {.format = VFRONT_NO_PICTURE};
    const uint64_t now_ns = clock_ns();
    view_frame_t shown = {.picture = &none, .waits = waits};
    if (view_is_wanted(&d->view, now_ns)) update(d, &d->none, &shown, now_ns);
}

static void *show_pictures(void *of)
{
    display_t *d = of;
    while (!d->stops) {
        vfront_frame_t frame;
        uint64_t arrived_ns;
        const source_status_t found = source_next(d->source, &frame, &arrived_ns);
        const char *fault = source_fault(d->source);
        if (fault) message(CONTINUE, "%s", fault);
        if (found == SOURCE_END || found == SOURCE_FAILED) {
            display_wait(d, d->waits);
            clock_sleep_until_ns(clock_ns() + WAIT_NS);
        }
        if (found != SOURCE_FRAME) continue;
        const uint64_t now_ns = clock_ns();
        view_frame_t shown = {.picture = &frame.picture[0], .picture_1 = &frame.picture[1], .waits = d->waits};
        if (view_is_wanted(&d->view, now_ns)) update(d, &d->none, &shown, now_ns);
        source_done(d->source);
    }
    return NULL;
}

int display_preview(display_t *d, source_t *source, const char *waits)
{
    if (!d->view.is_open || d->has_thread || source_start(source, NULL)) return 0;
    (void)source_fault(source); /* of its start: it is started again for the library */
    d->source = source;
    d->waits = waits;
    d->stops = 0;
    d->has_thread = pthread_create(&d->thread, NULL, show_pictures, d) == 0;
    return 1;
}

void display_end_preview(display_t *d)
{
    if (!d->has_thread) return;
    d->stops = 1;
    pthread_join(d->thread, NULL);
    d->has_thread = 0;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

void display_frame(display_t *d, const vfront_frame_t *frame, const vfront_result_t *r, const char *rejection,
                   const pose_t *T_body_imu)
{
    static const vfront_picture_t none = {.format = VFRONT_NO_PICTURE};
    const uint64_t now_ns = clock_ns();
    odometry_t body;
    if (!view_is_due(&d->view, r, now_ns)) return;
    const int has_body = odometry_has_up(&r->nav);
    if (has_body) odometry_of(&body, &d->frame, &r->nav, &(odometry_inputs_t){.T_body_imu = *T_body_imu});
    const int is_made = d->rectified && !r->health.missing, is_shown = !d->rectified || is_made;
    if (is_made) frame = rectified_frame(d->rectified, frame);
    view_frame_t shown = {.picture = is_shown ? &frame->picture[0] : &none,
                          .picture_1 = is_shown ? &frame->picture[1] : NULL,
                          .rejection = rejection,
                          .euler_rad = has_body ? body.euler_rad : NULL,
                          .map_local = d->has_map ? d->map_local : NULL,
                          .obstacles_cm = d->has_obstacles ? d->obstacles_cm : NULL};
    update(d, r, &shown, now_ns);
}
