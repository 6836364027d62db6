/* SPDX-License-Identifier: MIT */
/* Faults of what the cameras see: the rig as it is, the time of each picture, what is hidden, a moving object. The rig
 * that the library was given stays. Include in one file only, behind `flight`. */
#ifndef DRAWN_FAULT_VIEW_H
#define DRAWN_FAULT_VIEW_H

#include "drawn_fault.h"

enum object { OBJECT_NONE, OBJECT_STARTS, OBJECT_ENTERS };

/** What the cameras see in a frame; all 0 but the rig without a fault. */
struct fault_view {
    struct flight_rig rig;
    double delay_s[2];      /* of the picture of each camera */
    int lost[2], frozen[2]; /* no picture; that of the last frame before the fault */
    double hidden[2];       /* share of the picture's width that is black */
    double side;            /* where the hidden part, or the object begins, 0..1 of the width */
    double late_s;          /* samples arrive later by this */
    enum object object;     /* over `share` of the width from `side` on */
    double share, object_mps[3];
};

/** The one of this frame, and the rig of a flight without a fault. */
static struct fault_view view_now;
static struct flight_rig view_rig;

/** 1 if the fault touches a camera. */
static int view_touched(const struct fault *f, int camera)
{
    return f->sensor == FAULT_PAIR || f->sensor == (camera ? FAULT_CAMERA_1 : FAULT_CAMERA_0);
}

static void view_lose(const struct fault *f, double since_s, struct fault_view *view)
{
    (void)since_s;
    for (int c = 0; c < 2; c++) view->lost[c] = view_touched(f, c);
}

/** The time of the last frame before the fault is put in by view_look(). */
static void view_freeze(const struct fault *f, double since_s, struct fault_view *view)
{
    (void)since_s;
    for (int c = 0; c < 2; c++) view->frozen[c] = view_touched(f, c);
}

static void view_delay(const struct fault *f, double since_s, struct fault_view *view)
{
    (void)since_s;
    for (int c = 0; c < 2; c++) view->delay_s[c] = view_touched(f, c) ? f->size : 0;
}

static void view_late_samples(const struct fault *f, double since_s, struct fault_view *view)
{
    (void)since_s;
    view->late_s = f->size;
}

/** Turns a camera in place about one of its axes; of the pair both, about camera 0, as one body. */
static void view_turn_by(const struct fault *f, double degrees, struct fault_view *view)
{
    const double angle = f->sign * degrees * DEGREE;
    const double w[3] = {angle * (f->axis == 0), angle * (f->axis == 1), angle * (f->axis == 2)};
    struct flight_rig *r = &view->rig;
    double E[9], back[9];
    rotation_of(w, E); /* from turned axes to those of before */
    for (int i = 0; i < 9; i++) back[i] = E[i % 3 * 3 + i / 3];
    if (f->sensor != FAULT_CAMERA_1) product(r->R_imu_cam, E, 0, r->R_imu_cam);
    if (f->sensor == FAULT_CAMERA_0) product(r->R_1_0, E, 0, r->R_1_0);
    if (f->sensor == FAULT_CAMERA_1) product(back, r->R_1_0, 0, r->R_1_0), rotate(back, r->t_1_0, r->t_1_0);
}

static void view_turn(const struct fault *f, double since_s, struct fault_view *view)
{
    (void)since_s;
    view_turn_by(f, f->size, view);
}

static void view_creep(const struct fault *f, double since_s, struct fault_view *view)
{
    view_turn_by(f, f->size * since_s, view);
}

static void view_baseline(const struct fault *f, double since_s, struct fault_view *view)
{
    (void)since_s;
    for (int k = 0; k < 3; k++) view->rig.t_1_0[k] *= 1 + 0.01 * f->sign * f->size;
}

static void view_focal(const struct fault *f, double since_s, struct fault_view *view)
{
    (void)since_s;
    for (int c = 0; c < 2; c++)
        if (view_touched(f, c)) view->rig.camera[c].f *= 1 + 0.01 * f->sign * f->size;
}

static void view_occlude(const struct fault *f, double since_s, struct fault_view *view)
{
    (void)since_s;
    view->side = f->side / (1 - f->share) * (1 - 0.01 * f->size);
    for (int c = 0; c < 2; c++) view->hidden[c] = view_touched(f, c) ? 0.01 * f->size : 0;
}

static void view_object(const struct fault *f, double speed_mps, enum object object, struct fault_view *view)
{
    view->object = object;
    view->side = f->side, view->share = f->share;
    for (int k = 0; k < 3; k++) view->object_mps[k] = speed_mps * f->direction[k];
}

/** What covers a part of the picture begins to move. */
static void view_object_starts(const struct fault *f, double since_s, struct fault_view *view)
{
    view_object(f, f->size * fmin(1, since_s / f->ramp_s), OBJECT_STARTS, view);
}

/** A moving object covers a part of the picture at once. */
static void view_object_enters(const struct fault *f, double since_s, struct fault_view *view)
{
    (void)since_s;
    view_object(f, f->size, OBJECT_ENTERS, view);
}

/** 1 if the part of a picture from `side` on, of so much of the width, has a column. */
static int view_covers(double side, double share, double x_px)
{
    const double at = x_px / FLIGHT_WIDTH;
    return share > 0 && at >= side && at < side + share;
}

/** Index of the last frame before the fault; 0 at least. */
static int view_frame_before(const struct flight *of, const struct fault *f, int k)
{
    while (k > 0 && of->frame_s[k] - FLIGHT_LEAD_S >= f->begin_s) k--;
    return k;
}

/** Sets view_now and the rig of the flight for frame k. f: NULL without a fault. */
static void view_look(struct flight *of, const struct fault *f, int k)
{
    const double t = of->frame_s[k] - FLIGHT_LEAD_S;
    memset(&view_now, 0, sizeof view_now);
    view_now.rig = view_rig;
    if (f && f->kind->view && fault_active(f, t)) f->kind->view(f, t - f->begin_s, &view_now);
    for (int c = 0; c < 2; c++)
        if (view_now.frozen[c]) view_now.delay_s[c] = of->frame_s[k] - of->frame_s[view_frame_before(of, f, k)];
    of->rig = view_now.rig;
}

/** Position and axes of a camera in the world at a true time. */
static void view_camera_at(const struct flight *of, int camera, double t, double c[3], double R[9])
{
    flight_camera_at(of, t, c, R);
    if (!camera) return;
    double aside[3];
    for (int k = 0; k < 3; k++) {
        aside[k] = 0;
        for (int i = 0; i < 3; i++) aside[k] -= of->rig.R_1_0[3 * i + k] * of->rig.t_1_0[i];
    }
    rotate(R, aside, aside);
    for (int k = 0; k < 3; k++) c[k] += aside[k];
    product(R, of->rig.R_1_0, 1, R);
}

/** Camera 1 beside camera 0 as the pictures of a frame have them, each at its own time: x_1 = R x_0 + t. */
static inline void view_relative(const struct flight *of, double time_s, double R[9], double t[3])
{
    double c[2][3], axes[2][9], d[3];
    memcpy(R, of->rig.R_1_0, 9 * sizeof *R);
    memcpy(t, of->rig.t_1_0, 3 * sizeof *t);
    if (view_now.delay_s[0] == view_now.delay_s[1]) return;
    for (int i = 0; i < 2; i++) view_camera_at(of, i, time_s - view_now.delay_s[i], c[i], axes[i]);
    for (int k = 0; k < 3; k++) d[k] = c[0][k] - c[1][k];
    for (int k = 0; k < 3; k++) t[k] = axes[1][k] * d[0] + axes[1][3 + k] * d[1] + axes[1][6 + k] * d[2];
    for (int i = 0; i < 9; i++) {
        R[i] = 0;
        for (int k = 0; k < 3; k++) R[i] += axes[1][3 * k + i / 3] * axes[0][3 * k + i % 3];
    }
}

#endif
