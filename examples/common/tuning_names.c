/* SPDX-License-Identifier: MIT */
#include "tuning_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What became of a value: another name; none; a switch that is now the value 2 of `now`, where it was off; the same
 * number as `now`, set before. */
typedef enum { RENAMED, REMOVED, MODE, SAME } fate_t;

static const struct row {
    const char *was;
    fate_t fate;
    const char *now;
    int32_t standard; /* of 0.7, where the value is not only renamed */
} table[] = {
    {"window", RENAMED, "vio", 0},
    {"window_sight_mpx", RENAMED, "vio_observation_mpx", 0},
    {"window_imu_percent", RENAMED, "vio_imu_percent", 0},
    {"window_rest", RENAMED, "vio_stationary", 0},
    {"window_stereo_urad", RENAMED, "vio_stereo_urad", 0},
    {"track_light", RENAMED, "track_photometric", 0},
    {"track_partner", RENAMED, "track_stereo", 0},
    {"match_window_px", RENAMED, "match_radius_px", 0},
    {"select_window_px", RENAMED, "select_aggregate_px", 0},
    {"gyro_stuck_readings", RENAMED, "gyro_stuck_samples", 0},
    {"first_motion_breaks", RENAMED, "first_counter", 0},
    {"first_reset_counter", SAME, "first_counter", 0},
    {"match_guided", MODE, "match", 1},
    {"stereo_expected", MODE, "stereo", 1},
    {"ego_matches", MODE, "ego", 1},
    {"dense_copy", MODE, "dense", 1},
    {"failover_dense", MODE, "failover", 1},
    {"detect_arc", REMOVED, NULL, 9},
    {"match_settle", REMOVED, NULL, 1},
    {"match_residual_grey", REMOVED, NULL, 20},
    {"stereo_least_mpx", REMOVED, NULL, 250},
    {"stereo_sigma_mpx", REMOVED, NULL, 100},
    {"stereo_fit_percent", REMOVED, NULL, 400},
    {"ego_seed", REMOVED, NULL, 1},
    {"ego_tracks", REMOVED, NULL, 1},
    {"ego_rotation", REMOVED, NULL, 1},
    {"ego_still_mpx", REMOVED, NULL, 200},
    {"predict_speed_mmps2", REMOVED, NULL, 5000},
    {"predict_turn_mradps2", REMOVED, NULL, 10000},
    {"dense_paths", REMOVED, NULL, 8},
    {"dense_median", REMOVED, NULL, 1},
    {"dense_speckle_mpx", REMOVED, NULL, 1000},
    {"stixel_median", REMOVED, NULL, 0},
    {"stixel_object_mpx", REMOVED, "stixel_model", 1000},
    {"stixel_ground_mpx", REMOVED, "stixel_model", 2000},
    {"stixel_slack_mpx", REMOVED, "stixel_model", 3000},
    {"stixel_depth_mm", REMOVED, "stixel_model", 10200},
    {"stixel_height_mm", REMOVED, "stixel_model", 50},
    {"stixel_tilt_mdeg", REMOVED, "stixel_model", 50},
    {"stixel_sky_grey", REMOVED, NULL, 100},
    {"track_epsilon_mpx", REMOVED, NULL, 20},
    {"track_texture", REMOVED, NULL, 10},
    {"track_template_grey", REMOVED, NULL, 4},
    {"health_degraded_percent", REMOVED, NULL, 50},
};

static char text[160];

static const struct row *find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].was, name) == 0) return &table[i];
    return NULL;
}

/** Value of a name of this version. */
static int32_t value_of(const vfront_tuning_t *t, const char *name)
{
#define VALUE(which, standard, least, most, meaning)                                                                   \
    if (strcmp(#which, name) == 0) return t->which;
    VFRONT_TUNING(VALUE)
#undef VALUE
    return 0;
}

/** Sets a value of this version. */
static const char *set(vfront_tuning_t *t, const char *name, int32_t value)
{
    if (vfront_tuning_set(t, name, value) == VFRONT_OK) return NULL;
    snprintf(text, sizeof text, "tuning value %s: this build has none of that name that can be %" PRId32, name, value);
    return text;
}

const char *tuning_names_answer(const char *name)
{
    const struct row *r = find(name);
    if (!r) return NULL;
    if (r->fate == REMOVED && r->now)
        snprintf(text, sizeof text, "%s: removed in 0.8.0, see %s", name, r->now);
    else if (r->fate == REMOVED)
        snprintf(text, sizeof text, "%s: removed in 0.8.0", name);
    else if (r->fate == MODE)
        snprintf(text, sizeof text, "%s=0 is now %s=2", name, r->now);
    else
        snprintf(text, sizeof text, "%s is now %s", name, r->now);
    return text;
}

const char *tuning_names_set(vfront_tuning_t *t, const char *name, int32_t value)
{
    const struct row *r = find(name);
    if (!r) return set(t, name, value);
    if (r->fate == RENAMED) return set(t, r->now, value);
    if (r->fate == SAME && value == value_of(t, r->now)) return NULL;
    if (r->fate == MODE && value == 0) return value_of(t, r->now) == 1 ? set(t, r->now, 2) : NULL;
    if (r->fate != SAME && value == r->standard) return NULL;
    snprintf(text, sizeof text, "tuning value %s is %" PRId32 ": removed in 0.8.0, where it is %" PRId32, name, value,
             r->fate == SAME ? value_of(t, r->now) : r->standard);
    return text;
}
