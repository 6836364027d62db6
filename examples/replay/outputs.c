/* SPDX-License-Identifier: MIT */
#include "outputs.h"

#include "calibration.h"
#include "examples/common/message.h"
#include "results.h"

static int has_descriptors(const struct options *o) { return VFRONT_DESCRIPTORS && o->tuning.describe; }

int outputs_has_matches(const struct options *o) { return VFRONT_MATCHES && o->tuning.match && has_descriptors(o); }

/** 1 if build and tuning ask for depths. */
static int wants_depths(const struct options *o) { return VFRONT_STEREO && o->tuning.stereo && has_descriptors(o); }

/** Why no point has a disparity; NULL: points may have. */
static const char *no_pair(const vfront_rig_t *rig)
{
    if (!VFRONT_STEREO) return "this build has no VFRONT_STEREO";
    if (rig->cameras < 2) return "there is one camera";
    if (rig->camera[0].fx_px == 0.0) return "camera 0 is not calibrated";
    if (rig->camera[rig->cameras - 1].fx_px == 0.0) return "camera 1 is not calibrated";
    return calibration_baseline_m(rig) > 1e-12 ? NULL : "the calibration does not put the cameras in different places";
}

const char *outputs_no_depth(const struct options *o, const vfront_rig_t *rig)
{
    if (VFRONT_STEREO && rig->cameras > 1 && !wants_depths(o))
        return o->tuning.stereo ? "describe is 0" : "stereo is 0";
    return no_pair(rig);
}

/** Message if depths are asked for and impossible. */
static void warn_of_depth(const struct options *o, const vfront_rig_t *rig)
{
    const char *why = outputs_no_depth(o, rig);
    if (why && (o->overlay == OVERLAY_DEPTHS || (rig->cameras > 1 && wants_depths(o))))
        message(CONTINUE, "no depth: %s", why);
}

const char *outputs_no_motion(const struct options *o, const vfront_rig_t *rig)
{
    if (!VFRONT_EGO) return "this build has no VFRONT_EGO";
    if (o->pairs) return "with --pairs the frames are no sequence";
    if (!o->tuning.ego) return "ego is 0";
    return rig->camera[0].fx_px == 0.0 ? "camera 0 is not calibrated" : NULL;
}

/** Message if motion is asked for and impossible. */
static void warn_of_motion(const struct options *o, const vfront_rig_t *rig)
{
    const char *why = outputs_no_motion(o, rig);
    if (why && (o->overlay == OVERLAY_MOTION || o->truth)) message(CONTINUE, "no motion: %s", why);
}

int outputs_metric_motion(const struct options *o, const vfront_rig_t *rig)
{
    const int matches = wants_depths(o) && outputs_has_matches(o) && o->tuning.ego != VFRONT_EGO_TRACKS;
    return !outputs_no_motion(o, rig) && !no_pair(rig) && o->tuning.ego_metric_hypotheses &&
           (matches || (o->tuning.track_target && o->tuning.track_stereo));
}

const char *outputs_no_disparities(const struct options *o)
{
    if (!VFRONT_DENSE) return "this build has no VFRONT_DENSE";
    if (!o->tuning.dense) return "dense is 0";
    return o->tuning.dense == VFRONT_DENSE_DEVICE ? "dense is 2" : NULL;
}

const char *outputs_no_pictures_of_disparities(const struct options *o)
{
    return o->tables < TABLES_ALL ? "--tables is not all" : outputs_no_disparities(o);
}

const char *outputs_no_stixels(const struct options *o)
{
    if (!VFRONT_STIXELS) return "this build has no VFRONT_STIXELS";
    return o->tuning.stixel ? NULL : "stixel is 0";
}

const char *outputs_no_state(const struct options *o, const dataset_t *d)
{
    const vfront_rig_t *rig = dataset_rig(d);
    if (!VFRONT_VIO) return "this build has no VFRONT_VIO";
    if (o->pairs) return "with --pairs the frames are no sequence";
    if (o->vio_given) return o->tuning.vio ? NULL : "vio is 0";
    if (!dataset_has_imu(d)) return "there are no samples of an IMU; vio=1: by two cameras alone";
    if (o->no_gyro) return "with --no-gyro there are no samples";
    if (rig->imu.rate_hz == 0.0) return "the noise of the IMU is not known, which --calibration=imu.yaml can give";
    if (!o->tuning.track_target) return "track_target is 0";
    if (!o->tuning.ego) return "ego is 0";
    if (rig->cameras == 1) return rig->camera[0].fx_px == 0.0 ? "camera 0 is not calibrated" : NULL;
    if (no_pair(rig) || o->tuning.track_stereo) return no_pair(rig);
    return outputs_no_depth(o, rig);
}

unsigned outputs_to_write(const struct options *o, const dataset_t *d)
{
    const vfront_rig_t *rig = dataset_rig(d);
    return (has_descriptors(o) ? RESULTS_DESCRIPTORS : 0u) | (outputs_no_depth(o, rig) ? 0u : RESULTS_DEPTHS) |
           (outputs_has_matches(o) ? RESULTS_MATCHES : 0u) | (outputs_no_motion(o, rig) ? 0u : RESULTS_MOTION) |
           (dataset_has_truth(d) ? RESULTS_TRUTH : 0u) | (outputs_no_stixels(o) ? 0u : RESULTS_STIXELS) |
           (outputs_no_state(o, d) ? 0u : RESULTS_STATE) | (VFRONT_MAP && o->tuning.map ? RESULTS_LOOPS : 0u) |
           (o->tables >= TABLES_FRAMES ? RESULTS_FRAMES : 0u) | (o->tables >= TABLES_ALL ? RESULTS_POINTS : 0u);
}

overlay_what_t outputs_to_draw(const struct options *o, const vfront_rig_t *rig)
{
    unsigned what = o->overlay;
    if (what != OVERLAY_ALL) return o->overlay;
    if (!o->tuning.track_target) what &= ~(unsigned)OVERLAY_TRACKS;
    if (!o->tuning.select_points) what &= OVERLAY_TRACKS | OVERLAY_MOTION;
    if (!outputs_has_matches(o)) what &= ~(unsigned)OVERLAY_MATCHES;
    if (outputs_no_depth(o, rig)) what &= ~(unsigned)OVERLAY_DEPTHS;
    if (outputs_no_motion(o, rig)) what &= ~(unsigned)OVERLAY_MOTION;
    if (!outputs_no_disparities(o)) what |= OVERLAY_DISPARITY;
    if (!outputs_no_stixels(o)) what |= OVERLAY_STIXELS;
    return (overlay_what_t)what;
}

void outputs_warn(const struct options *o, const vfront_rig_t *rig)
{
    warn_of_depth(o, rig);
    warn_of_motion(o, rig);
    if (o->overlay == OVERLAY_STIXELS && outputs_no_stixels(o))
        message(CONTINUE, "no stixels: %s", outputs_no_stixels(o));
    if (o->overlay == OVERLAY_DISPARITY && outputs_no_disparities(o))
        message(CONTINUE, "no disparities: %s", outputs_no_disparities(o));
}
