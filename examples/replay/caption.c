/* SPDX-License-Identifier: MIT */
#include "caption.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "motion.h"
#include "results.h"

/** Append to a line of `used` letters; what does not fit is cut off. Returns the letters of the line. */
__attribute__((format(printf, 4, 5))) static size_t append(char *line, size_t size, size_t used, const char *format,
                                                           ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(line + used, size - used, format, arguments);
    va_end(arguments);
    return more < 0 ? used : used + (size_t)more < size ? used + (size_t)more : size - 1;
}

/** Append state, inliers, flags and length of a motion. */
static size_t append_motion(const char *which, const vfront_motion_t *m, char *line, size_t size, size_t used)
{
    if (m->state == VFRONT_MOTION_NONE) return used;
    used = append(line, size, used, "  %s %s %" PRIu32 " of %" PRIu32, which, motion_state_name(m->state), m->inliers,
                  m->pairs);
    for (uint32_t bit = 1; bit <= VFRONT_MOTION_JUMP; bit <<= 1)
        if (m->flags & bit) used = append(line, size, used, " %s", motion_flag_name(bit));
    const double moved = sqrt((double)(m->t[0] * m->t[0] + m->t[1] * m->t[1] + m->t[2] * m->t[2]));
    if (m->state == VFRONT_MOTION_GOOD && strcmp(which, "metric") == 0)
        used = append(line, size, used, " moved %.3f m", moved);
    return used;
}

void caption_longest(char *line, size_t size, overlay_what_t what)
{
    static const struct {
        overlay_what_t what;
        const char *text;
    } part[] = {{OVERLAY_TRACKS, "  tracks 000 born 000 ended 000"},
                {OVERLAY_KEYPOINTS, "  key points 0000 0000"},
                {OVERLAY_DEPTHS, "  depths 0000"},
                {OVERLAY_DISPARITY, "  disparity of 00.0 percent"},
                {OVERLAY_STIXELS, "  road given horizon 0000"},
                {OVERLAY_MATCHES, "  matches 0000"},
                {OVERLAY_MOTION, "  relative rotation 0000 of 0000 parallax two"},
                {OVERLAY_MOTION, "  metric good 0000 of 0000 plane stereo moved 0.000 m"}};
    size_t used = append(line, size, 0, "frame 000000 degraded");
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (what & part[i].what) used = append(line, size, used, "%s", part[i].text);
}

void caption_write(char *line, size_t size, overlay_what_t what, int32_t cameras, const vfront_result_t *r)
{
    const vfront_health_t *h = &r->health;
    size_t used = append(line, size, 0, "frame %" PRIu64 " %s", r->frame, results_state_name(h->state));
    if (what & OVERLAY_TRACKS)
        used = append(line, size, used, "  tracks %" PRIu32 " born %" PRIu32 " ended %" PRIu32, r->tracks_count,
                      h->born, r->lost_count);
    if (what & OVERLAY_KEYPOINTS) used = append(line, size, used, "  key points");
    for (int32_t i = 0; i < cameras && what & OVERLAY_KEYPOINTS; i++)
        used = append(line, size, used, " %" PRIu32, r->keypoints_count[i]);
    if (what & OVERLAY_DEPTHS) used = append(line, size, used, "  depths %" PRIu32, r->depths_count);
#if VFRONT_DENSE
    const double pixels = (double)r->disparity.width_px * (double)r->disparity.height_px;
    if (what & OVERLAY_DISPARITY)
        used = append(line, size, used, "  disparity of %.1f percent", 100.0 * r->disparity.valid / pixels);
#endif
#if VFRONT_STIXELS
    static const char *const road[] = {"none", "seen", "held", "given"};
    if (what & OVERLAY_STIXELS)
        used = append(line, size, used, "  road %s horizon %d", road[r->road.state], (int)r->road.horizon_px);
#endif
    if (what & OVERLAY_MATCHES) used = append(line, size, used, "  matches %" PRIu32, r->matches_count);
    if (what & OVERLAY_MOTION) used = append_motion("relative", &r->relative, line, size, used);
    if (what & OVERLAY_MOTION) append_motion("metric", &r->metric, line, size, used);
}
