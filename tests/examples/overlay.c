/* SPDX-License-Identifier: MIT */
/* overlay: caption and legend are whole at every width, a hue has one meaning, and what is followed stands out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "examples/replay/caption.h"
#include "examples/replay/overlay_internal.h"

#define HEIGHT 120
#define BACKGROUND 24 /* grey of the bars */

static uint8_t pixels[HEIGHT * 2048];
static vfront_result_t result;

static overlay_t *open(int32_t width, overlay_what_t what)
{
    vfront_tuning_t tuning;
    vfront_info_t info;
    memset(&info, 0, sizeof info);
    vfront_tuning_default(&tuning);
    info.camera[0].width_px = width;
    info.camera[0].height_px = HEIGHT;
    info.scales = 8;
    overlay_t *o = overlay_open(&info, 1, what, &tuning);
    assert_non_null(o);
    return o;
}

static const uint8_t *draw(overlay_t *o, int32_t width, const char *line)
{
    vfront_frame_t frame;
    memset(&frame, 0, sizeof frame);
    frame.picture[0].data = pixels;
    frame.picture[0].pitch_bytes = (uint32_t)width;
    frame.picture[0].format = VFRONT_GREY8;
    return overlay_draw(o, &frame, &result, line);
}

/** Pixels of a region that something is drawn on, of letters of scale 1; at double size a fourth of them for letters,
 *  so those are not compared. */
static int32_t ink(const overlay_t *o, const struct region *r)
{
    int32_t count = 0;
    for (int32_t y = r->top; y < r->top + r->height; y++)
        for (int32_t x = r->left; x < r->left + r->width; x++) {
            const uint8_t *rgb = &o->canvas.rgb[3 * (y * o->canvas.width + x)];
            count += rgb[0] != BACKGROUND || rgb[1] != BACKGROUND || rgb[2] != BACKGROUND;
        }
    return count;
}

/** The same ink in the bars, however wide the drawing is: nothing is cut off, or drawn on something else. */
static void whole_bars(void **state)
{
    static const overlay_what_t what[] = {OVERLAY_TRACKS, OVERLAY_KEYPOINTS, OVERLAY_DEPTHS,    OVERLAY_MATCHES,
                                          OVERLAY_MOTION, OVERLAY_STIXELS,   OVERLAY_DISPARITY, OVERLAY_ALL};
    (void)state;
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
        int32_t legend = 0, caption = 0, legends = 0, captions = 0;
        char line[CAPTION_LETTERS];
        caption_longest(line, sizeof line, what[i]);
        for (int32_t width = 192; width <= 2048; width += 32) {
            overlay_t *o = open(width, what[i]);
            draw(o, width, line);
            if (o->legend_scale == 1 && legends++) assert_int_equal(ink(o, &o->legend), legend);
            if (o->caption_scale == 1 && captions++) assert_int_equal(ink(o, &o->caption), caption);
            if (o->legend_scale == 1) legend = ink(o, &o->legend);
            if (o->caption_scale == 1) caption = ink(o, &o->caption);
            assert_true(o->legend_scale == 1 || o->legend.height == LEGEND_PX);
            overlay_close(o);
        }
        assert_true(what[i] != OVERLAY_ALL || (legends > 20 && captions > 20 && legend > 1000 && caption > 1000));
    }
}

/** Hue [degrees]; -1 of a grey, whose channels differ by less than a twelfth. */
static int hue_of(struct colour c)
{
    const int r = c.red, g = c.green, b = c.blue;
    const int max = r > g ? (r > b ? r : b) : (g > b ? g : b), min = r < g ? (r < b ? r : b) : (g < b ? g : b);
    const int d = max - min;
    if (d * 12 < max) return -1;
    const int sixth = max == r ? (g - b) * 60 / d : max == g ? 120 + (b - r) * 60 / d : 240 + (r - g) * 60 / d;
    return (sixth + 360) % 360;
}

/** Depths, tracks and the rest share no hue; depths are in no hue of tracks within 40 degrees. */
static void hues(void **state)
{
    int taken[360];
    (void)state;
    memset(taken, 0, sizeof taken);
    for (int i = 0; i <= 100; i++) {
        const int hue = hue_of(overlay_near_colour((float)i / 100.0f));
        assert_true(hue >= 0);
        taken[hue] = 1;
    }
    for (uint32_t age = 1; age <= 120; age++) {
        const int hue = hue_of(overlay_age_colour(age));
        assert_true(hue >= 0);
        for (int k = -40; k <= 40; k++) assert_false(taken[(hue + k + 360) % 360]);
    }
    assert_int_equal(hue_of(pale), -1);
    assert_int_equal(hue_of(white), -1);
    assert_int_equal(hue_of(grey), -1);
}

/** A track, and key points all over it and elsewhere; every second one has a match. */
static void crowd(uint32_t points)
{
    memset(&result, 0, sizeof result);
    result.tracks_count = 1;
    result.tracks[0].id = 1;
    result.tracks[0].age = 100;
    result.tracks[0].x_px = 100.0f;
    result.tracks[0].y_px = 60.0f;
    result.keypoints_count[0] = points;
    for (uint32_t i = 0; i < points; i++) {
        result.keypoints[0][i].x_px = i < 2 ? 200.0f + 50.0f * (float)i : 90.0f + (float)(i % 20);
        result.keypoints[0][i].y_px = i < 2 ? 60.0f : 50.0f + (float)(i / 20 % 20);
    }
    result.matches_count = 1;
    result.matches[0].x_px = result.matches[0].x_before_px = 200.0f;
    result.matches[0].y_px = result.matches[0].y_before_px = 60.0f;
}

static const uint8_t *at(const overlay_t *o, int32_t x, int32_t y)
{
    return &o->canvas.rgb[3 * ((y + o->camera[0].top) * o->canvas.width + x)];
}

/** On black, a circle of a matched key point is at least twice as bright as one without; a track covers both. */
static void crowded(void **state)
{
    (void)state;
    crowd(VFRONT_KEYPOINTS);
    overlay_t *o = open(320, OVERLAY_ALL);
    draw(o, 320, "");
    const int matched = *at(o, 204, 60), other = *at(o, 254, 60);
    assert_true(other > 0 && matched >= 2 * other);
    const struct colour old = overlay_age_colour(100);
    const uint8_t *track = at(o, 100, 60);
    assert_true(track[0] == old.red && track[1] == old.green && track[2] == old.blue);
    overlay_close(o);
    o = open(320, OVERLAY_KEYPOINTS); /* alone they are all drawn strong, in the colour of their level */
    draw(o, 320, "");
    assert_memory_equal(at(o, 204, 60), at(o, 254, 60), 3);
    assert_true(at(o, 204, 60)[2] > 150);
    overlay_close(o);
}

/** Among other layers one key point of a square is drawn, the best: with a match, then by score. Alone all are. */
static void spaced(void **state)
{
    static const float column[3] = {122.0f, 132.0f, 142.0f}; /* of one square of SPACED_PX */
    (void)state;
    for (int matched = 0; matched < 2; matched++)
        for (int alone = 0; alone < 2; alone++) {
            memset(&result, 0, sizeof result);
            result.keypoints_count[0] = 3;
            for (int i = 0; i < 3; i++) {
                result.keypoints[0][i].x_px = column[i];
                result.keypoints[0][i].y_px = 75.0f;
                result.keypoints[0][i].score = i == 1 ? 9 : 5;
            }
            result.matches_count = (uint32_t)matched;
            result.matches[0].keypoint = 2;
            overlay_t *o = open(320, alone ? OVERLAY_KEYPOINTS : OVERLAY_KEYPOINTS | OVERLAY_TRACKS);
            draw(o, 320, "");
            for (int i = 0; i < 3; i++) { /* the top of the circle */
                const int drawn = at(o, (int32_t)column[i], 71)[1] > 0;
                assert_int_equal(drawn, alone || i == (matched ? 2 : 1));
            }
            overlay_close(o);
        }
}

/** Stixels and disparities beside other layers have a row of their own below the cameras, else their places. */
static void below(void **state)
{
    (void)state;
    overlay_t *both = open(320, OVERLAY_TRACKS | OVERLAY_STIXELS), *alone = open(320, OVERLAY_STIXELS);
    assert_true(both->stixels.top >= both->camera[0].top + HEIGHT && both->legend.top >= both->stixels.top + HEIGHT);
    assert_int_equal(alone->stixels.top, alone->camera[0].top);
    assert_int_equal(alone->legend.top, alone->camera[0].top + HEIGHT);
    overlay_close(both);
    overlay_close(alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_bars), cmocka_unit_test(hues),  cmocka_unit_test(crowded),
        cmocka_unit_test(spaced),     cmocka_unit_test(below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
