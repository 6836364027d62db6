/* SPDX-License-Identifier: MIT */
/* JSON of the page: view.html reads the names. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "examples/replay/state.h"
#include "health.h"
#include "view.h"

#define RESERVE 64    /* bytes that lists leave free for what ends the line */
#define FEW_TRACKS 20 /* below which it is the picture that is in the way of a first state */
#define DEGREES (180.0 / 3.14159265358979323846)

/** Line being written. */
struct line {
    char *text;
    size_t bytes;
};

static size_t room(const struct line *l) { return VIEW_TEXT - l->bytes; }

/** Adds text whole or not at all. Returns 1 if it was added. */
__attribute__((format(printf, 3, 4))) static int add(struct line *l, size_t reserve, const char *format, ...)
{
    va_list list;
    const size_t max = room(l) > reserve ? room(l) - reserve : 0;
    va_start(list, format);
    const int n = vsnprintf(l->text + l->bytes, max, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= max) return 0;
    l->bytes += (size_t)n;
    return 1;
}

/** Number, or null where JSON has none. */
static void add_number(struct line *l, double value, const char *behind)
{
    if (isfinite(value))
        add(l, RESERVE, "%.6g%s", value, behind);
    else
        add(l, RESERVE, "null%s", behind);
}

static void add_numbers(struct line *l, const char *name, const double *value, int count, double times)
{
    add(l, RESERVE, "\"%s\":[", name);
    for (int i = 0; i < count; i++) add_number(l, times * value[i], i + 1 < count ? "," : "],");
}

/** Text between quotes; of what JSON escapes it has a quotation mark at most. */
static void add_text(struct line *l, const char *name, const char *text)
{
    add(l, RESERVE, "\"%s\":\"", name);
    for (; text && *text; text++)
        if (*text != '"' && *text != '\\' && (unsigned char)*text >= ' ') add(l, RESERVE, "%c", *text);
    add(l, RESERVE, "\",");
}

static void add_state(struct line *l, const vfront_nav_t *n, const view_frame_t *f)
{
    double sigma[15];
    for (int i = 0; i < 15; i++) sigma[i] = sqrt(fmax(state_variance(n, i), 0.0));
    add_text(l, "state", state_name(n->state));
    add_text(l, "distrust", f->rejection);
    add(l, RESERVE,
        "\"quality\":%" PRIu32 ",\"flags\":%" PRIu32 ",\"age_ms\":%" PRIu64 ",\"landmarks\":%" PRIu32
        ",\"resets\":%" PRIu32 ",\"has_state\":%d,",
        n->quality, n->flags, n->age_ns / 1000000u, n->landmarks, n->reset_counter, n->t_ns != 0);
    add_numbers(l, "position_m", n->position_m, 3, 1.0);
    add_numbers(l, "velocity_mps", n->velocity_mps, 3, 1.0);
    if (f->euler_rad) add_numbers(l, "euler_deg", f->euler_rad, 3, DEGREES);
    add_numbers(l, "gyro_bias_dps", n->gyro_bias_rad_s, 3, DEGREES);
    add_numbers(l, "accel_bias_m_s2", n->accel_bias_m_s2, 3, 1.0);
    add_numbers(l, "position_sigma_m", sigma, 3, 1.0);
    add_numbers(l, "attitude_sigma_deg", sigma + 3, 3, DEGREES);
    add_numbers(l, "velocity_sigma_mps", sigma + 6, 3, 1.0);
    add_numbers(l, "gyro_bias_sigma_dps", sigma + 9, 3, DEGREES);
    add_numbers(l, "accel_bias_sigma_m_s2", sigma + 12, 3, 1.0);
    add_numbers(l, "offset_ms", (const double[2]){n->offset_s, n->offset_sigma_s}, 2, 1e3);
    add_numbers(l, "residual_mean_square", &n->residual_mean_square, 1, 1.0);
    add_numbers(l, "position_covariance",
                (const double[3]){state_covariance(n, 0, 0), state_covariance(n, 0, 1), state_covariance(n, 1, 1)}, 3,
                1.0);
}

static void add_health(struct line *l, const vfront_result_t *r)
{
    static const char *const state[] = {"STARTING", "TRACKING", "DEGRADED", "LOST"};
    static const char *const stereo[] = {"none", "good", "suspect", "blind"};
    const vfront_health_t *h = &r->health;
    uint32_t frozen = 0;
    for (int i = 0; i < VFRONT_CAMERAS; i++) frozen |= h->frozen[i] ? 1u << i : 0;
    add_text(l, "health", state[h->state & 3u]);
    add_text(l, "stereo", stereo[h->stereo & 3u]);
    add(l, RESERVE,
        "\"health_quality\":%" PRIu32 ",\"followed\":%" PRIu32 ",\"born\":%" PRIu32 ",\"missing\":%" PRIu32
        ",\"frozen\":%" PRIu32 ",\"samples\":%" PRIu32 ",",
        h->quality, h->followed, h->born, h->missing, frozen, h->imu_samples);
    char words[HEALTH_IMU_TEXT];
    add_text(l, "imu_faults", health_imu_words(h->imu, words));
    add_numbers(l, "brightness_grey", (const double[1]){(double)h->brightness_grey[0]}, 1, 1.0);
}

/** What to do where there is no state yet. */
static const char *hint_of(const vfront_result_t *r)
{
    if (r->nav.state != VFRONT_NAV_INITIALISING) return NULL;
    if (r->tracks_count < FEW_TRACKS) return "no state yet: few tracks; light, texture, focus";
    if (r->health.imu & VFRONT_IMU_MISSING) return "no state yet: no samples of the IMU";
    return "no state yet: move the vehicle by 20 cm";
}

static void add_peers(struct line *l, const view_frame_t *f)
{
    add(l, RESERVE, "\"peers\":[");
    for (int i = 0; i < f->peers; i++) {
        add(l, RESERVE, "%s{", i ? "," : "");
        add_text(l, "name", f->peer[i].name);
        add_numbers(l, "trip_ms", &f->peer[i].trip_ms, 1, 1.0);
        add_numbers(l, "clock_sigma_ms", &f->peer[i].clock_sigma_ms, 1, 1.0);
        add(l, RESERVE, "\"is_armed\":%d}", f->peer[i].is_armed);
    }
    add(l, RESERVE, "],");
}

static void add_obstacles(struct line *l, const view_frame_t *f)
{
    if (!f->obstacles_cm) return;
    add(l, RESERVE, "\"obstacles_cm\":[");
    for (int i = 0; i < VFRONT_OBSTACLE_BINS; i++) add(l, RESERVE, "%s%u", i ? "," : "", f->obstacles_cm[i]);
    add(l, RESERVE, "],");
}

/** What is known of the place. */
static void add_map(struct line *l, const vfront_result_t *r, const view_frame_t *f)
{
#if VFRONT_MAP
    static const char *const state[] = {"none", "located", "not located", "without scale"};
    if (r->map.state == VFRONT_MAP_NONE) return;
    add(l, RESERVE, "\"keyframes\":%" PRIu32 ",\"loops\":%" PRIu32 ",", r->map.nodes, r->map.loops);
    add_text(l, "map", state[r->map.state & 3u]);
    add_numbers(l, "map_sigma", (const double[2]){r->map.sigma_m, DEGREES * r->map.sigma_rad}, 2, 1.0);
    if (!f->map_local) return;
    add_numbers(l, "map_local_m", f->map_local, 3, 1.0);
    add_numbers(l, "map_local_deg", f->map_local + 3, 1, DEGREES);
#else
    (void)l;
    (void)r;
    (void)f;
#endif
}

static void add_times(struct line *l, const view_t *v, const vfront_result_t *r)
{
    add_numbers(l, "step_us", (const double[1]){(double)r->timing.step_us}, 1, 1.0);
    add(l, RESERVE, "\"steps\":%" PRIu64 ",\"times\":[", v->steps);
    for (int i = 0; i < VIEW_TIMES; i++) add(l, RESERVE, "%" PRIu32 "%s", v->times[i], i + 1 < VIEW_TIMES ? "," : "],");
}

static void add_trajectory(struct line *l, const view_t *v)
{
    add(l, RESERVE, "\"trajectory_m\":[");
    for (uint32_t i = 0; i < v->trajectory_count; i++)
        add(l, RESERVE, "%s[%.2f,%.2f]", i ? "," : "", (double)v->trajectory_m[i][0], (double)v->trajectory_m[i][1]);
    add(l, RESERVE, "],");
}

/** Nearest object of each column. */
static void add_stixels(struct line *l, const vfront_result_t *r)
{
#if VFRONT_STIXELS
    const char *between = "";
    add(l, RESERVE, "\"column_px\":%" PRIu32 ",\"stixels\":[", r->columns_width_px);
    for (uint32_t c = 0; c < r->columns_count; c++)
        for (uint32_t i = 0; i < r->stixels_count[c]; i++) {
            const vfront_stixel_t *s = &r->stixels[c][i];
            if (s->type != VFRONT_STIXEL_OBJECT || !(s->distance_m > 0.0f)) continue;
            if (!add(l, RESERVE, "%s[%" PRIu32 ",%d,%d,%.1f]", between, c, s->top_px, s->base_px,
                     (double)s->distance_m))
                break;
            between = ",";
            break;
        }
    add(l, RESERVE, "],");
#else
    (void)l;
    (void)r;
#endif
}

static void add_tracks(struct line *l, const vfront_result_t *r)
{
    add(l, RESERVE, "\"tracks\":[");
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const vfront_track_t *t = &r->tracks[i];
        if (!add(l, RESERVE, "%s[%.1f,%.1f,%.1f,%.1f,%" PRIu32 ",%" PRIu32 "]", i ? "," : "", (double)t->x_px,
                 (double)t->y_px, (double)t->dx_px, (double)t->dy_px, t->age, t->agrees))
            break;
    }
    add(l, RESERVE / 2, "]");
}

size_t view_text(char *text, const view_t *v, const vfront_result_t *r, const view_frame_t *f, const int32_t size[2][3])
{
    struct line l = {.text = text};
    add(&l, RESERVE, "{\"frame\":%" PRIu64 ",\"t_s\":%.3f,", r->frame, (double)r->t_mid_ns * 1e-9);
    for (int i = 0; i < 2; i++)
        add(&l, RESERVE, "\"picture%s\":[%" PRId32 ",%" PRId32 ",%" PRId32 "],", i ? "_1" : "", size[i][0], size[i][1],
            size[i][2]);
    add_numbers(&l, "sharpness", (const double[2]){view_sharpness(f->picture), view_sharpness(f->picture_1)}, 2, 1.0);
    add_text(&l, "links", f->links);
    add_peers(&l, f);
    add_text(&l, "waits", f->waits);
    add_text(&l, "hint", f->waits ? NULL : hint_of(r));
    add_obstacles(&l, f);
    add_map(&l, r, f);
    add_state(&l, &r->nav, f);
    add_health(&l, r);
    add_times(&l, v, r);
    add_trajectory(&l, v);
    add_stixels(&l, r);
    add_tracks(&l, r);
    add(&l, 0, "}\n");
    return l.bytes;
}
