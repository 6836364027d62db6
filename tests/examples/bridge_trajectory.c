/* SPDX-License-Identifier: MIT */
/* Accuracy of a trajectory against ground truth (examples/replay/accuracy.h), both in TUM or KITTI files, as a shared
 * library for tests/examples/trajectory.py. */
#include <stdlib.h>
#include <string.h>

#include "examples/replay/accuracy.h"
#include "examples/replay/truth.h"

enum { FIGURES = 14 };

const char *bridge_accuracy(const char *path, const char *truth, int metric, double figure[FIGURES]);

/** Returns NULL, or a message. Figures: frames, length, scale, ATE, RPE of positions and of rotations (RMSE, median,
 *  maximum), RMSE of directions, drift of positions and of rotations, factor of the best fit. */
const char *bridge_accuracy(const char *path, const char *truth, int metric, double figure[FIGURES])
{
    truth_t own = {.count = 0}, other = {.count = 0};
    trajectory_t tr = {.metric = metric};
    accuracy_t a;
    const char *wrong = truth_read(&own, path);
    if (!wrong) wrong = truth_read(&other, truth);
    tr.frame = wrong ? NULL : calloc(own.count, sizeof *tr.frame);
    for (; tr.frame && tr.count < own.count; tr.count++) {
        trajectory_frame_t *f = &tr.frame[tr.count];
        f->t_ns = own.pose[tr.count].t_ns;
        f->pose = own.pose[tr.count].pose;
        f->has_truth = truth_at(&other, tr.count, f->t_ns, &f->truth);
    }
    if (!wrong && !(tr.frame && accuracy_of(&tr, &a))) wrong = "nothing to compare";
    if (!wrong) {
        const double all[FIGURES] = {
            a.frames,      a.length_m,      a.scale,           a.ate_m,        a.step_m.rmse,        a.step_m.median,
            a.step_m.max,  a.step_deg.rmse, a.step_deg.median, a.step_deg.max, a.direction_deg.rmse, a.drift_percent,
            a.drift_deg_m, a.fit_scale};
        memcpy(figure, all, sizeof all);
    }
    trajectory_free(&tr);
    truth_free(&own);
    truth_free(&other);
    return wrong;
}
