/* SPDX-License-Identifier: MIT */
/* Window: its derivatives against differences of residuals written anew, landmarks projected out against the whole
 * problem, elimination against inversion, what cannot be seen; and drawn flights, with covariances against errors. */
#include "state_oracle.h"

#include "state/window_step.h"
#include "window_flight.h"

static struct vf_window window;
static struct vf_window_work work;

/* ---- factors of readings ----------------------------------------------------------------------------------------- */

static struct vf_window_value any_value(void)
{
    struct vf_window_value v;
    for (int k = 0; k < 4; k++) v.q[k] = normal();
    vf_quaternion_unit(v.q);
    for (int k = 0; k < 3; k++) {
        v.p[k] = 5 * normal();
        v.v[k] = 2 * normal();
        v.bias[k] = 0.02 * normal();
        v.bias[3 + k] = 0.2 * normal();
    }
    return v;
}

/** Value moved by errors in the order of vfront_nav_t, by matrices. */
static struct vf_window_value moved(const struct vf_window_value *v, const double e[15])
{
    struct vf_window_value out = *v;
    const double w[3] = {e[3], e[4], e[5]}, angle = length(w), part = angle > 0 ? sin(angle / 2) / angle : 0.5;
    const double turn[4] = {cos(angle / 2), part * w[0], part * w[1], part * w[2]};
    vf_quaternion_multiply(turn, v->q, out.q);
    for (int k = 0; k < 3; k++) {
        out.p[k] += e[k];
        out.v[k] += e[6 + k];
    }
    for (int k = 0; k < 6; k++) out.bias[k] += e[9 + k];
    return out;
}

/** Neighbouring states, of which the second is what the readings say, and errors of a size. */
static void any_pair(struct vf_window_slot *a, struct vf_window_slot *b, const vfront_imu_noise_t *noise, double error)
{
    vfront_imu_t imu[24];
    struct wide_motion m;
    any_readings(imu, 24, 200, 10, 1.0, 5.0, 1);
    memset(a, 0, sizeof *a);
    memset(b, 0, sizeof *b);
    a->value = any_value();
    memcpy(b->bias, a->value.bias, sizeof b->bias);
    for (int k = 0; k < 6; k++) b->bias[k] += error * 0.1 * normal();
    const struct vf_imu_model model = vf_imu_model_of(noise, imu, 24);
    const uint64_t from = imu[2].t_ns + 1000000, to = imu[20].t_ns + 2000000;
    vf_preintegrate(&b->motion, &model, b->bias, b->bias + 3, imu, 24, from, to);
    wide R[9], bias[6];
    wide_matrix(a->value.q, R);
    for (int k = 0; k < 6; k++) bias[k] = a->value.bias[k];
    for (int k = 0; k < 9; k++) m.y[k] = R[k];
    for (int k = 0; k < 3; k++) {
        m.y[9 + k] = a->value.v[k];
        m.y[12 + k] = a->value.p[k];
    }
    wide_integrate(&m, imu, 24, from, to, bias, noise->gravity_m_s2, 20);
    double matrix[9], w[3];
    b->value = a->value;
    for (int k = 0; k < 3; k++) {
        b->value.v[k] = (double)m.y[9 + k];
        b->value.p[k] = (double)m.y[12 + k];
    }
    for (int k = 0; k < 9; k++) matrix[k] = (double)m.y[k];
    for (int again = 0; again < 4; again++) { /* the quaternion of a matrix */
        double now[9];
        for (int c = 0; c < 9; c++) {
            wide of[9];
            wide_matrix(b->value.q, of);
            now[c] = (double)of[c];
        }
        rotation_between(matrix, now, w);
        const double e[15] = {0, 0, 0, w[0], w[1], w[2]};
        b->value = moved(&b->value, e);
    }
    double e[15];
    for (int k = 0; k < 15; k++) e[k] = error * (k < 9 ? 0.01 : 0.003) * normal();
    b->value = moved(&b->value, e);
}

/** Readings that are exactly so leave no residual; derivatives are the differences of residuals. */
static void readings(void **state)
{
    (void)state;
    const vfront_imu_noise_t noise = any_noise(200);
    shake(31);
    for (int run = 0; run < 200; run++) {
        struct vf_window_slot a, b;
        double r[15];
        any_pair(&a, &b, &noise, 0);
        vf_inertial_residual(&b, &a.value, &b.value, noise.gravity_m_s2, r);
        for (int i = 0; i < 15; i++) REQUIRE(fabs(r[i]) < 2e-8, "run %d, row %d: %g\n", run, i, r[i]);
        any_pair(&a, &b, &noise, 0.1);
        struct vf_inertial f;
        memset(&f, 0, sizeof f);
        vf_inertial_derive(&f, &b, &a.value, &b.value, noise.gravity_m_s2);
        for (int c = 0; c < 30; c++) {
            double e[15] = {0}, up[15], down[15];
            for (int side = 0; side < 2; side++) {
                e[c % 15] = side ? -1e-5 : 1e-5;
                const struct vf_window_value x = c < 15 ? moved(&a.value, e) : a.value,
                                             y = c < 15 ? b.value : moved(&b.value, e);
                vf_inertial_residual(&b, &x, &y, noise.gravity_m_s2, side ? down : up);
            }
            for (int i = 0; i < 15; i++) {
                const double slope = (up[i] - down[i]) / 2e-5;
                /* the residual of the rotation is 1 mrad: its derivatives are off by half of that */
                REQUIRE(fabs(slope - f.J[i][c]) < 4e-3 * (1 + fabs(slope)), "run %d, row %d, column %d: %g, not %g\n",
                        run, i, c, f.J[i][c], slope);
            }
        }
    }
}

/* ---- landmarks --------------------------------------------------------------------------------------------------- */

/** Rig and poses of a host and other frames, which see a point at unit bearing b, inverse range rho of the host. */
struct scene {
    struct vf_landmark_rig rig;
    struct rigid pose[VF_WINDOW_FRAMES];
    struct vf_landmark landmark;
    struct vf_landmark_drift drift[VF_WINDOW_FRAMES];
    uint32_t seen;
};

/** By how much the offsets of camera 1 move its bearing along the epipolar line: all alike, and turned, to first order,
 *  about z. */
static double moved_along(const float stereo[VF_WINDOW_STEREO], const double other[3], const double along[3])
{
    const double turn[3] = {0, 0, stereo[VF_STEREO_TURN]};
    double moved[3];
    cross(turn, other, moved);
    return stereo[VF_STEREO_OFFSET] + dot(along, moved);
}

/** Residuals of a frame as the definition has them: camera 0, two, and camera 1's. */
static void residuals(const struct scene *s, int f, const struct rigid *pose, const double b[3], double inverse,
                      double r[3])
{
    const struct vf_window_sight *sight = &s->landmark.sight[f];
    const struct vf_landmark_drift *d = &s->drift[f];
    double turn[3], own[9], back[9], X[3], seen[3], other[3], one[3], two[3], along[3], t[3], range[3];
    float a[3], c[3], framed[3];
    rotate(pose->R, b, X);
    for (int k = 0; k < 3; k++) {
        X[k] = X[k] / inverse + pose->t[k];
        seen[k] = sight->bearing[k];
        other[k] = sight->other[k];
        t[k] = s->rig.t_1_0[k];
        X[k] -= (double)sight->late_s * d->velocity[k]; /* the camera has gone on until the row is exposed, and has */
        turn[k] = (double)sight->late_s * d->rate[k];   /* turned: the bearing in axes of the frame */
    }
    rotation_of(turn, own);
    rotate(own, seen, one);
    for (int k = 0; k < 3; k++) {
        framed[k] = (float)one[k];
        turn[k] = -turn[k];
    }
    rotation_of(turn, back);
    vf_landmark_axes(framed, a, c);
    for (int k = 0; k < 3; k++) one[k] = a[k], two[k] = c[k];
    rotate(back, one, one);
    rotate(back, two, two);
    rotate(back, X, X);
    for (int k = 0; k < 3; k++) {
        turn[k] = -(double)sight->later_s * d->rate[k];
        range[k] = seen[k] * length(X);
    }
    r[0] = dot(one, X) / dot(seen, X) * sight->weight;
    r[1] = dot(two, X) / dot(seen, X) * sight->weight;
    double R[9];
    for (int k = 0; k < 9; k++) R[k] = s->rig.R_1_0[k];
    for (int k = 0; k < 3; k++) range[k] -= (double)sight->later_s * d->velocity[k];
    rotation_of(turn, back);
    rotate(back, range, range); /* until the row of camera 1 is exposed */
    rotate(R, range, range);
    for (int k = 0; k < 3; k++) range[k] += t[k];
    for (int k = 0; k < 3; k++) along[k] = t[k] - dot(t, other) * other[k];
    unit(along);
    r[2] = sight->other_weight > 0
               ? (dot(along, range) / dot(other, range) + moved_along(s->rig.stereo, other, along)) *
                     sight->other_weight
               : 0;
}

/** Point x in axes of a camera that goes on for a time. */
static void go_on(const struct vf_landmark_drift *d, double time_s, double x[3])
{
    double turn[3], R[9];
    for (int k = 0; k < 3; k++) {
        x[k] -= time_s * d->velocity[k];
        turn[k] = -time_s * d->rate[k];
    }
    rotation_of(turn, R);
    rotate(R, x, x);
}

static void any_scene(struct scene *s, double error, int shutter)
{
    memset(s, 0, sizeof *s);
    double w[3] = {0.02 * normal(), 0.02 * normal(), 0.02 * normal()}, R[9];
    rotation_of(w, R);
    for (int k = 0; k < 9; k++) s->rig.R_1_0[k] = (float)R[k];
    s->rig.t_1_0[0] = -0.11f;
    for (int n = 0; n < VF_WINDOW_STEREO; n++) s->rig.stereo[n] = (float)(3e-4 * normal());
    s->rig.turns = 1;
    s->rig.outlier = VF_WINDOW_OUTLIER;
    s->rig.range_sigma = 1.5f;
    struct vf_landmark *l = &s->landmark;
    l->id = 7;
    l->host = 3;
    l->inverse = (float)real(0.05, 0.8);
    double b[3] = {0.4 * normal(), 0.3 * normal(), 1};
    unit(b);
    for (int k = 0; k < 3; k++) l->bearing[k] = (float)b[k];
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
        const int host = f == l->host;
        double turn[3], X[3], Y[3], to[3];
        for (int k = 0; k < 3; k++) {
            turn[k] = host ? 0 : 0.1 * normal();
            s->pose[f].t[k] = host ? 0 : 0.2 * normal();
        }
        rotation_of(turn, s->pose[f].R);
        if (!host && (f % 3 == 1 || real(0, 1) < 0.3)) continue;
        l->seen |= 1u << f;
        rotate(s->pose[f].R, b, X);
        struct vf_landmark_drift *d = &s->drift[f];
        struct vf_window_sight *sight = &l->sight[f];
        for (int k = 0; k < 3; k++) X[k] = X[k] / l->inverse + s->pose[f].t[k] + error * normal();
        if (shutter) { /* up to 2 rad/s and 4 m/s, 15 ms */
            sight->late_s = (float)real(-0.015, 0.015), sight->later_s = (float)real(-0.001, 0.001);
            for (int k = 0; k < 3; k++) d->rate[k] = (float)real(-1, 1), d->velocity[k] = (float)real(-2, 2);
        }
        go_on(d, (double)sight->late_s, X);
        memcpy(Y, X, sizeof Y);
        go_on(d, (double)sight->later_s, Y);
        for (int k = 0; k < 9; k++) R[k] = s->rig.R_1_0[k];
        rotate(R, Y, Y);
        for (int k = 0; k < 3; k++) Y[k] += s->rig.t_1_0[k];
        unit(X);
        unit(Y);
        for (int k = 0; k < 3; k++) {
            to[k] = X[k];
            l->sight[f].bearing[k] = (float)to[k];
            l->sight[f].other[k] = (float)Y[k];
        }
        l->sight[f].weight = 1 / 0.002f;
        l->sight[f].other_weight = f % 2 ? 1 / 0.001f : 0;
    }
}

static void poses_of(const struct scene *s, struct vf_pose pose[VF_WINDOW_FRAMES])
{
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
        for (int k = 0; k < 9; k++) pose[f].R[k] = (float)s->pose[f].R[k];
        for (int k = 0; k < 3; k++) pose[f].t[k] = (float)s->pose[f].t[k];
    }
}

/** Column of the derivatives: 0..2 the landmark, 3.. the offsets of camera 1, then the poses. */
enum { POSES = 3 + VF_WINDOW_STEREO, COLUMNS = POSES + VF_WINDOW_MOVING };

/** moved_along() of a sight. */
static double moved_by(const struct vf_landmark_rig *rig, const struct vf_window_sight *sight,
                       const float off[VF_WINDOW_STEREO])
{
    double other[3], along[3], t[3];
    for (int k = 0; k < 3; k++) other[k] = sight->other[k], t[k] = rig->t_1_0[k];
    for (int k = 0; k < 3; k++) along[k] = t[k] - dot(t, other) * other[k];
    unit(along);
    return moved_along(off, other, along);
}

static void shifted_residuals(const struct scene *s, int column, double by, double r[3 * VF_WINDOW_FRAMES])
{
    struct scene now = *s;
    double b[3];
    float one[3], two[3];
    vf_landmark_axes(s->landmark.bearing, one, two);
    for (int k = 0; k < 3; k++)
        b[k] = s->landmark.bearing[k] + (column == 0 ? by * one[k] : column == 1 ? by * two[k] : 0);
    unit(b);
    const double inverse = s->landmark.inverse + (column == 2 ? by : 0);
    if (column >= 3 && column < POSES) now.rig.stereo[column - 3] = 0;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
        struct rigid pose = s->pose[f];
        const int k = column - POSES - 6 * f;
        memset(r + 3 * f, 0, 3 * sizeof *r);
        if (!(s->landmark.seen >> f & 1)) continue;
        if (k >= 0 && k < 3) pose.t[k] += by;
        if (k >= 3 && k < 6) {
            double w[3] = {0}, turn[9];
            w[k - 3] = by;
            rotation_of(w, turn);
            product(turn, pose.R, 0, pose.R);
        }
        residuals(&now, f, &pose, b, inverse, r + 3 * f);
        if (column >= 3 && column < POSES && now.landmark.sight[f].other_weight > 0) {
            float off[VF_WINDOW_STEREO] = {0};
            off[column - 3] = 1; /* in double: the value and its change */
            r[3 * f + 2] += (s->rig.stereo[column - 3] + by) * moved_by(&s->rig, &now.landmark.sight[f], off) *
                            now.landmark.sight[f].other_weight;
        }
    }
}

/** Sums of a single landmark, in slot 3. */
static void gather_one(const struct vf_landmark *l, const struct vf_landmark_row *row)
{
    memset(&window, 0, sizeof window);
    memset(work.host, 0, sizeof work.host);
    window.landmark[3] = *l;
    window.landmark[3].id = 1;
    work.row[work.trial][3] = *row;
    work.hosts = 1u << l->host;
    vf_window_lists(&window, &work);
    vf_window_gather(&work);
}

/** Elements of what was summed, by columns of all frames. */
static double side_of(const struct vf_window_host *e, int side, int a)
{
    return e->frames >> a / 6 & 1 ? e->g[side][a / 6][a % 6] : 0.0;
}
static double element_of(const struct vf_window_host *e, int a, int b)
{
    return e->frames >> a / 6 & e->frames >> b / 6 & 1 ? e->H[vf_window_pair(a / 6, b / 6)][a % 6][b % 6] : 0.0;
}

/** Rows of a landmark: three a frame, and that of what is known of the range. */
enum { ROWS = 3 * VF_WINDOW_FRAMES + 1 };

/** Residuals and derivatives of a landmark are those of the definition; what is left when it is projected out is the
 *  solution of the whole problem, and so is its change. */
static void landmarks(void **state)
{
    (void)state;
    shake(32);
    for (int run = 0; run < 300; run++) {
        struct scene s;
        struct vf_pose pose[VF_WINDOW_FRAMES];
        struct vf_landmark_rows rows;
        struct vf_landmark_row kept;
        static double J[COLUMNS][ROWS];
        double r[ROWS] = {0}, up[ROWS], down[ROWS];
        memset(J, 0, sizeof J);
        any_scene(&s, run % 2 ? 0.003 : 0, run % 3 == 1);
        struct vf_landmark_place place = {{s.landmark.bearing[0], s.landmark.bearing[1], s.landmark.bearing[2]},
                                          s.landmark.inverse};
        poses_of(&s, pose);
        vf_landmark_rows_of(&rows, &s.landmark, &place, &s.rig, pose, s.drift);
        shifted_residuals(&s, -1, 0, r);
        r[ROWS - 1] = (s.landmark.inverse - VF_WINDOW_RANGE_MEAN) / s.rig.range_sigma;
        int outlier = 0;
        for (int f = 0; f < VF_WINDOW_FRAMES; f++)
            outlier |= r[3 * f] * r[3 * f] + r[3 * f + 1] * r[3 * f + 1] > 8.9 || r[3 * f + 2] * r[3 * f + 2] > 8.9;
        if (outlier) continue;
        for (int i = 0; i < ROWS; i++) {
            const double found = (double)rows.r[i % 3][i / 3];
            REQUIRE(fabs(r[i] - found) < 2e-3, "run %d, row %d: %g, not %g\n", run, i, found, r[i]);
        }
        for (int c = 0; c < COLUMNS; c++) {
            if (c >= POSES && (c - POSES) / 6 == s.landmark.host) continue;
            shifted_residuals(&s, c, 1e-6, up);
            shifted_residuals(&s, c, -1e-6, down);
            for (int i = 0; i < ROWS - 1; i++) J[c][i] = (up[i] - down[i]) / 2e-6;
            if (c == 2) J[c][ROWS - 1] = 1 / s.rig.range_sigma;
            for (int i = 0; i < ROWS; i++) {
                const double found = c < 3                      ? (double)rows.point[c][i % 3][i / 3]
                                     : c < POSES                ? (i % 3 == 2 ? (double)rows.stereo[c - 3][i / 3] : 0)
                                     : i / 3 == (c - POSES) / 6 ? (double)rows.pose[i % 3][(c - POSES) % 6][i / 3]
                                                                : 0;
                REQUIRE(fabs(found - J[c][i]) < 2e-3 + 1e-4 * fabs(J[c][i]), "run %d, column %d, row %d: %g, not %g\n",
                        run, c, i, found, J[c][i]);
            }
        }
        /* the landmark eliminated from the normal equations of all columns */
        struct vf_window_host *e = &work.host[s.landmark.host];
        double A[9], inverse[9];
        for (int i = 0; i < 9; i++) {
            A[i] = 0;
            for (int k = 0; k < ROWS; k++) A[i] += J[i / 3][k] * J[i % 3][k];
        }
        invert(A, 3, inverse);
        float R[6];
        vf_landmark_factor(rows.point, R);
        vf_landmark_keep(&kept, &work.more[3], &rows, R, ~0u, 1);
        gather_one(&s.landmark, &kept);
        for (int a = 3; a < COLUMNS; a++) {
            double to_a[3] = {0}, by[3], slope = 0;
            for (int k = 0; k < ROWS; k++)
                for (int c = 0; c < 3; c++) to_a[c] += J[a][k] * J[c][k];
            rotate(inverse, to_a, by);
            for (int k = 0; k < ROWS; k++)
                slope += (J[a][k] - by[0] * J[0][k] - by[1] * J[1][k] - by[2] * J[2][k]) * r[k];
            double scale = 0;
            for (int k = 0; k < ROWS; k++) scale += J[a][k] * J[a][k];
            const double g = a < POSES ? e->stereo[VF_WINDOW_STEREO_PAIRS + a - 3] : side_of(e, 0, a - POSES);
            REQUIRE(fabs(g - slope) < 1e-3 * (1 + sqrt(scale)), "run %d, slope of column %d: %g, not %g\n", run, a, g,
                    slope);
            for (int b = a; b < COLUMNS; b++) {
                double whole = 0, scale_b = 0;
                for (int k = 0; k < ROWS; k++) {
                    whole += (J[a][k] - by[0] * J[0][k] - by[1] * J[1][k] - by[2] * J[2][k]) * J[b][k];
                    scale_b += J[b][k] * J[b][k];
                }
                const double h = a >= POSES  ? element_of(e, a - POSES, b - POSES)
                                 : b < POSES ? e->stereo[vf_offsets_pair(a - 3, b - 3)]
                                             : side_of(e, 1 + a - 3, b - POSES);
                REQUIRE(fabs(h - whole) < 1e-4 * (1 + sqrt(scale * scale_b)), "run %d, columns %d, %d: %g, not %g\n",
                        run, a, b, h, whole);
            }
        }
        /* its change where poses change */
        float change[VF_WINDOW_FRAMES][6];
        double y[3] = {0}, x[3];
        const double turn[VF_WINDOW_STEREO] = {2e-4, -3e-4};
        memset(change, 0, sizeof change);
        for (int k = 0; k < ROWS; k++) {
            double all = r[k];
            for (int n = 0; n < VF_WINDOW_STEREO; n++) all += turn[n] * J[3 + n][k];
            for (int f = 0; f < VF_WINDOW_FRAMES; f++)
                for (int c = 0; c < 6; c++) {
                    change[f][c] = f == s.landmark.host ? 0 : 1e-4f * (float)((f + c) % 5 - 2);
                    all += (double)change[f][c] * J[POSES + 6 * f + c][k];
                }
            for (int c = 0; c < 3; c++) y[c] -= J[c][k] * all;
        }
        rotate(inverse, y, x);
        vf_landmark_move(&place, s.landmark.seen & ~(1u << s.landmark.host), &kept, (const float(*)[6])change, turn);
        REQUIRE(fabs((double)place.inverse - (double)s.landmark.inverse - x[2]) < 1e-4 + 1e-2 * fabs(x[2]),
                "run %d: inverse range by %g, not %g\n", run, (double)place.inverse - (double)s.landmark.inverse, x[2]);
    }
}

/* ---- from relative poses to the odometry frame ------------------------------------------------------------------- */

/** Pose of camera 0 of a slot relative to a host, from matrices, with the offset of time. */
static struct rigid relative(const struct vf_window *w, const struct vf_window_slot *host,
                             const struct vf_window_slot *a)
{
    const struct vf_window_slot *side[2] = {host, a};
    struct rigid camera[2], out;
    for (int i = 0; i < 2; i++) {
        const double late = w->offset_s - side[i]->offset_s;
        wide R[9];
        double turn[3], by[9], now[9], arm[3];
        wide_matrix(side[i]->value.q, R);
        for (int k = 0; k < 3; k++) turn[k] = side[i]->rate[k] * late;
        for (int k = 0; k < 9; k++) now[k] = (double)R[k];
        rotation_of(turn, by);
        product(now, by, 0, now);
        rotate(now, w->rig.p_imu_cam_m, arm);
        for (int k = 0; k < 3; k++) camera[i].t[k] = side[i]->value.p[k] + side[i]->value.v[k] * late + arm[k];
        wide on[9];
        double mount[9];
        wide_matrix(w->mount, on);
        for (int k = 0; k < 9; k++) mount[k] = (double)on[k];
        product(now, mount, 0, camera[i].R);
    }
    double apart[3];
    for (int i = 0; i < 9; i++) { /* R_a' R_host */
        out.R[i] = 0;
        for (int k = 0; k < 3; k++) out.R[i] += camera[1].R[3 * k + i / 3] * camera[0].R[3 * k + i % 3];
    }
    for (int k = 0; k < 3; k++) apart[k] = camera[0].t[k] - camera[1].t[k];
    for (int k = 0; k < 3; k++) {
        out.t[k] = 0;
        for (int i = 0; i < 3; i++) out.t[k] += camera[1].R[3 * i + k] * apart[i];
    }
    return out;
}

static void any_slots(struct vf_window *w)
{
    memset(w, 0, sizeof *w);
    const double turn[3] = {0.3 * normal(), 0.3 * normal(), 1.5 + 0.3 * normal()};
    rotation_of(turn, w->rig.R_imu_cam);
    for (int k = 0; k < 3; k++) w->rig.p_imu_cam_m[k] = 0.2 * normal();
    vf_window_quaternion(w->rig.R_imu_cam, w->mount);
    w->offset_s = 0;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
        struct vf_window_slot *s = &w->slot[f];
        s->number = (uint32_t)f + 1;
        s->state = f < VF_WINDOW_STATES ? f : -1;
        s->value = any_value();
        for (int k = 0; k < 3; k++) s->rate[k] = normal();
    }
}

/** Changes of relative poses by changes of poses, of the time offset and of the camera's attitude on the IMU are the
 *  differences of poses. */
static void changes(void **state)
{
    (void)state;
    shake(33);
    for (int run = 0; run < 100; run++) {
        any_slots(&window);
        const int host = 2, a = 5 + run % 4;
        struct vf_relative_map m;
        struct vf_pose pose;
        vf_relative_map_of(&window, &window.slot[host], &window.slot[a], &m);
        vf_relative_camera_of(&window, &window.slot[host], &work.camera[host]);
        vf_relative_camera_of(&window, &window.slot[a], &work.camera[a]);
        vf_relative_pose(&work.camera[host], &work.camera[a], &pose);
        const struct rigid at = relative(&window, &window.slot[host], &window.slot[a]);
        for (int k = 0; k < 9; k++) REQUIRE(fabs(at.R[k] - (double)pose.R[k]) < 1e-6, "run %d: R\n", run);
        for (int k = 0; k < 3; k++)
            REQUIRE(fabs(at.t[k] - (double)pose.t[k]) < 2e-6 * (1 + length(at.t)), "run %d: t\n", run);
        for (int c = 0; c < 16; c++) {
            double x[VF_WINDOW_COLUMNS] = {0}, e[15] = {0}, w[3];
            float found[6];
            struct vf_window now = window;
            const double by = 1e-6;
            e[c % 6] = by;
            if (c < 12) now.slot[c < 6 ? host : a].value = moved(&window.slot[c < 6 ? host : a].value, e);
            if (c == 12) now.offset_s += by;
            if (c > 12) { /* the camera turned on the IMU */
                double v[3] = {0}, turn[9], R[9];
                v[c - 13] = by;
                rotation_of(v, turn);
                product(turn, window.rig.R_imu_cam, 0, R);
                vf_window_quaternion(R, now.mount);
            }
            x[c >= 12 ? VF_WINDOW_OFFSET + c - 12 : 6 * (c < 6 ? host : a) + c % 6] = by;
            const struct rigid then = relative(&now, &now.slot[host], &now.slot[a]);
            vf_relative_change(x, host, a, &m, found);
            rotation_between(then.R, at.R, w);
            for (int k = 0; k < 3; k++) {
                REQUIRE(fabs(then.t[k] - at.t[k] - (double)found[k]) < 1e-9, "run %d, column %d: t %d\n", run, c, k);
                REQUIRE(fabs(w[k] - (double)found[3 + k]) < 1e-9, "run %d, column %d: w %d\n", run, c, k);
            }
        }
    }
}

/** Equations over relative poses, turned into columns of the system, give the same value for any change. */
static void spread(void **state)
{
    (void)state;
    shake(34);
    for (int run = 0; run < 20; run++) {
        enum { C = VF_WINDOW_MOVING };
        static double F[20][C + VF_WINDOW_STEREO];
        const int host = run % VF_WINDOW_FRAMES;
        struct vf_window_host *e = &work.host[host];
        const struct vf_relative_map *map = e->map[work.trial];
        any_slots(&window);
        memset(work.host, 0, sizeof work.host);
        for (int i = 0; i < VF_WINDOW_MOTIONS; i++) work.inertial[i].a = -1;
        e->count = 1;
        for (int f = 0; f < VF_WINDOW_FRAMES; f++)
            if (f != host && f % 4) e->frames |= 1u << f;
        memset(work.in, 0, sizeof work.in);
        work.in[host] = e->frames | 1u << host;
        for (int f = 0; f < VF_WINDOW_FRAMES; f++) work.of[f] = (work.in[host] >> f & 1) << host;
        for (int i = 0; i < 20; i++) { /* rows; the last elements by the offsets of camera 1 */
            for (int c = 0; c < C + VF_WINDOW_STEREO; c++) F[i][c] = c >= C || e->frames >> c / 6 & 1 ? normal() : 0;
            for (int a = 0; a < C; a++) {
                e->g[0][a / 6][a % 6] += F[i][a];
                for (int n = 0; n < VF_WINDOW_STEREO; n++) e->g[1 + n][a / 6][a % 6] += F[i][a] * F[i][C + n];
                for (int b = a / 6 * 6; b < C; b++)
                    e->H[vf_window_pair(a / 6, b / 6)][a % 6][b % 6] += F[i][a] * F[i][b];
            }
            for (int n = 0; n < VF_WINDOW_STEREO; n++) {
                for (int m = n; m < VF_WINDOW_STEREO; m++)
                    e->stereo[vf_offsets_pair(n, m)] += F[i][C + n] * F[i][C + m];
                e->stereo[VF_WINDOW_STEREO_PAIRS + n] += F[i][C + n];
            }
        }
        for (int i = 0; i < VF_WINDOW_MAPS; i++) vf_window_maps(&window, &work, i);
        for (int h = 0; h < VF_WINDOW_FRAMES; h++) vf_window_host_of(&work.host[h], work.trial);
        for (int i = 0; i < VF_WINDOW_READINGS; i++) vf_window_readings(&window, &work, i);
        vf_window_assemble(&window, &work);
        const struct vf_window_system *s = &work.system[work.trial];
        for (int trial = 0; trial < 5; trial++) {
            double x[VF_WINDOW_COLUMNS], value = 0, slope = 0, square = 0, sum = 0;
            for (int c = 0; c < VF_WINDOW_COLUMNS; c++)
                x[c] = c < VF_WINDOW_MOVING || c >= VF_WINDOW_OFFSET ? normal() : 0;
            for (int i = 0; i < 20; i++) {
                double row = 0;
                for (int n = 0; n < VF_WINDOW_STEREO; n++) row += F[i][C + n] * x[VF_WINDOW_DISPARITY + n];
                for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
                    float change[6];
                    if (!(e->frames >> f & 1)) continue;
                    vf_relative_change(x, host, f, &map[f], change);
                    for (int k = 0; k < 6; k++) row += F[i][6 * f + k] * (double)change[k];
                }
                square += row * row;
                sum += row;
            }
            for (int r = 0; r < VF_WINDOW_COLUMNS; r++) {
                slope += s->g[r] * x[r];
                for (int c = 0; c < VF_WINDOW_COLUMNS; c++) value += x[r] * s->H[r * VF_WINDOW_COLUMNS + c] * x[c];
            }
            REQUIRE(fabs(value - square) < 1e-5 * square, "run %d: %g, not %g\n", run, value, square);
            REQUIRE(fabs(slope - sum) < 1e-5 * (sqrt(20 * square) + 1), "run %d: slope %g, not %g\n", run, slope, sum);
        }
        double all[VF_WINDOW_COLUMNS] = {0}, most = 0; /* a turn about z and a move of everything */
        for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
            const double *p = window.slot[f].value.p;
            all[6 * f] = -p[1] + 0.5;
            all[6 * f + 1] = p[0] - 2;
            all[6 * f + 2] = 0.3;
            all[6 * f + 5] = 1;
        }
        for (int r = 0; r < VF_WINDOW_COLUMNS; r++) {
            double sum = 0;
            for (int c = 0; c < VF_WINDOW_COLUMNS; c++) sum += s->H[r * VF_WINDOW_COLUMNS + c] * all[c];
            most = fabs(sum) > most ? fabs(sum) : most;
        }
        REQUIRE(most < 1e-9, "run %d: turning and moving everything: %g\n", run, most);
    }
}

/* ---- elimination ------------------------------------------------------------------------------------------------- */

/** Inverse of a positive definite matrix of all columns. */
static void invert_all(const double *H, double *out)
{
    enum { N = VF_WINDOW_COLUMNS };
    static double M[N][2 * N];
    for (int r = 0; r < N; r++)
        for (int c = 0; c < 2 * N; c++) M[r][c] = c < N ? H[r * N + c] : c == N + r;
    for (int p = 0; p < N; p++) {
        const double pivot = M[p][p];
        for (int c = 0; c < 2 * N; c++) M[p][c] /= pivot;
        for (int r = 0; r < N; r++) {
            const double by = M[r][p];
            for (int c = 0; c < 2 * N && r != p; c++) M[r][c] -= by * M[p][c];
        }
    }
    for (int r = 0; r < N; r++)
        for (int c = 0; c < N; c++) out[r * N + c] = M[r][N + c];
}

/** Columns eliminated: the covariance of the others, and their solution, are what they were. */
static void elimination(void **state)
{
    (void)state;
    enum { N = VF_WINDOW_COLUMNS };
    static struct vf_window_system s, left;
    static double L[N * N], before[N * N], after[N * N];
    shake(35);
    for (int run = 0; run < 5; run++) {
        int32_t gone[VF_WINDOW_GONE];
        int is_gone[N] = {0};
        for (int i = 0; i < N * N; i++) L[i] = normal();
        for (int r = 0; r < N; r++)
            for (int c = 0; c < N; c++) {
                double sum = r == c ? 1 : 0;
                for (int k = 0; k < N; k++) sum += L[r * N + k] * L[c * N + k];
                s.H[r * N + c] = sum * pow(10, (r % 5) + (c % 5)); /* units far apart */
            }
        for (int r = 0; r < N; r++) s.g[r] = normal() * pow(10, r % 5);
        const int count = 9 + 6 * (run % 3);
        for (int i = 0; i < count; i++) is_gone[gone[i] = (7 * i + run) % N] = 1;
        const struct vf_solve_places at = {work.eliminated.matrix, work.eliminated.row, &work.eliminated.room};
        for (int block = 0; block <= run; block++) vf_solve_eliminate(&s, gone, count, &at, block, run + 1, &left);
        for (int r = 0; r < N; r++)
            if (is_gone[r])
                for (int c = 0; c < N; c++) {
                    REQUIRE(left.H[r * N + c] == 0 && left.H[c * N + r] == 0 && left.g[r] == 0,
                            "run %d: column %d stays\n", run, r);
                    if (c == r) left.H[r * N + c] = 1;
                }
        invert_all(s.H, before);
        invert_all(left.H, after);
        for (int r = 0; r < N; r++) {
            double x = 0, y = 0;
            if (is_gone[r]) continue;
            for (int c = 0; c < N; c++) {
                const double scale = sqrt(before[r * N + r] * before[c * N + c]);
                x -= before[r * N + c] * s.g[c];
                y -= after[r * N + c] * left.g[c];
                if (is_gone[c]) continue;
                REQUIRE(fabs(before[r * N + c] - after[r * N + c]) < 1e-6 * scale, "run %d: covariance %d, %d\n", run,
                        r, c);
            }
            REQUIRE(fabs(x - y) < 1e-5 * (fabs(x) + sqrt(before[r * N + r])), "run %d: solution %d: %g, not %g\n", run,
                    r, y, x);
        }
        /* solutions by both factors */
        double x[N];
        for (int i = 0; i < N; i++) x[i] = s.g[i];
        REQUIRE(vf_solve_factor(s.H, L, N, N, 0.0) == 0, "run %d: columns held\n", run);
        vf_solve_forward(L, x, N, N);
        vf_solve_back(L, x, N, N);
        work.system[0] = s;
        for (int r = 0; r < N; r++) work.system[0].g[r] = -s.g[r];
        work.at = 0;
        work.damping = 0.0;
        vf_window_solve(&work);
        for (int r = 0; r < N; r++) {
            double y = 0;
            for (int c = 0; c < N; c++) y += before[r * N + c] * s.g[c];
            for (int k = 0; k < 2; k++) {
                const double found = k ? work.x[r] : x[r];
                REQUIRE(fabs(found - y) < 1e-6 * sqrt(before[r * N + r]) * N, "run %d: x %d: %g, not %g\n", run, r,
                        found, y);
            }
        }
    }
}

/* ---- flights ----------------------------------------------------------------------------------------------------- */

/** Runs of a flight. Under a sanitizer, which takes ten times as long, too few for a tight bound. */
#if defined(__SANITIZE_ADDRESS__)
enum { RUNS = 2 };
#else
enum { RUNS = 12 };
#endif

/** Mean of squares of normalised errors over runs and steps lies about the dimension. */
static void about(const char *name, const char *what, double mean, double least, double most)
{
    print_message("%-28s %-12s %.2f\n", name, what, mean);
    REQUIRE(mean > least && mean < most, "%s, %s: %.2f\n", name, what, mean);
}

/** Flights of which errors are what the covariance says: noise as stated; a time offset and an offset of disparities,
 *  which are found; a camera mounted otherwise than told; tracks that are wrong; vibration; a rolling shutter; camera 1
 *  turned, which is found; a while without sights. */
static void flights(void **state)
{
    (void)state;
    static const struct flight flight[] = {
        {.name = "stereo", .runs = RUNS, .seconds = 6, .size = 1, .pixel = 0.5, .life = 30},
        {.name = "offsets",
         .runs = 12,
         .seconds = 8,
         .size = 1,
         .pixel = 0.5,
         .life = 30,
         .offset_s = 0.004,
         .disparity = 4e-4},
        {.name = "mounting", .runs = RUNS, .seconds = 6, .size = 1, .pixel = 0.5, .life = 30, .mount_rad = 0.005},
        {.name = "hover", .runs = RUNS, .seconds = 6, .size = 0.05, .pixel = 0.5, .life = 60},
        {.name = "1 % of sights wrong", .runs = RUNS, .seconds = 6, .size = 1, .pixel = 0.5, .life = 30, .wrong = 0.01},
        {.name = "vibration of 5 m/s2",
         .runs = RUNS,
         .seconds = 6,
         .size = 1,
         .pixel = 0.5,
         .life = 30,
         .vibration = 5},
        {.name = "shutter of 30 us a row",
         .runs = RUNS,
         .seconds = 6,
         .size = 1,
         .pixel = 0.5,
         .life = 30,
         .row_s = 30e-6},
        {.name = "camera 1 turned", .runs = RUNS, .seconds = 6, .size = 1, .pixel = 0.5, .life = 30, .turned = 0.004},
        {.name = "1 s without sights", .runs = RUNS, .seconds = 6, .size = 1, .pixel = 0.5, .life = 30, .dark = 1},
    };
    shake(36);
    for (size_t i = 0; i < sizeof flight / sizeof *flight; i++) {
        struct flown sum;
        fly(&window, &flight[i], &sum);
        const int shaken = flight[i].vibration > 0; /* a tone is not white noise: covariances of about the size */
        const double least = RUNS <= 2 ? 0.2 : shaken ? 0.8 : 1.8, most = shaken || RUNS <= 2 ? 8 : 4.2;
        about(flight[i].name, "position", sum.nees[0], least, most);
        about(flight[i].name, "attitude", sum.nees[1], least, most);
        about(flight[i].name, "velocity", sum.nees[2], least, most);
        about(flight[i].name, "turn, mrad", 1e3 * sum.turned, -1e-9, 0.4);
        about(flight[i].name, "offset", sum.offset, 0, RUNS > 2 ? 2.5 : 6);
        about(flight[i].name, "disparities", sum.disparity, 0, RUNS > 2 ? 2.5 : 6);
        print_message("%-28s %-12s %.1f mm, %.2f mrad; offset %.2f ms, disparities %.3f mrad\n", flight[i].name, "rms",
                      1e3 * sum.position_m, 1e3 * sum.attitude_rad, 1e3 * sum.offset_s, 1e3 * sum.disparity_rad);
    }
}

/** Noise of the readings, told by the first interval that has differences, and by a twentieth of each one that follows;
 *  its share in the covariance of the first motion: of 25 times the variance stated 25 + (25 - 2) = 48. Then that. */
static void noise_at_once(void **state)
{
    (void)state;
    const vfront_imu_noise_t noise = {.gyro_density = 1e-3, .accel_density = 1e-2, .rate_hz = 200};
    enum { READINGS = 200, BEGIN = 1000000000 };
    static vfront_imu_t imu[READINGS];
    struct vf_window_carried c = {.t_ns = BEGIN};
    struct vf_window_motion first, usual;
    shake(39);
    for (int i = 0; i < READINGS; i++) {
        imu[i] = (vfront_imu_t){.t_ns = BEGIN + (uint64_t)i * 5000000u};
        for (int k = 0; k < 3; k++) {
            imu[i].gyro_rad_s[k] = (float)(5e-3 * sqrt(200) * normal());
            imu[i].accel_m_s2[k] = (float)(5e-2 * sqrt(200) * normal());
        }
    }
    vf_window_motion_of(&first, &c, &noise, imu, 1, BEGIN + 4000000u);
    assert_true(c.noisy[0] == 0.0 && c.noisy[1] == 0.0); /* no differences */
    vf_window_motion_of(&first, &c, &noise, imu, READINGS, imu[READINGS - 1].t_ns);
    for (int k = 0; k < 2; k++) about("noise at once", k ? "accelerometer" : "gyro", c.noisy[k], 20, 30);
    const double told[2] = {c.noisy[0], c.noisy[1]};
    for (int i = 0; i < READINGS; i++)
        for (int k = 0; k < 3; k++) imu[i].gyro_rad_s[k] *= 0.2f, imu[i].accel_m_s2[k] *= 0.2f;
    vf_window_motion_of(&usual, &c, &noise, imu, READINGS, imu[READINGS - 1].t_ns);
    for (int k = 0; k < 2; k++) about("noise later", k ? "accelerometer" : "gyro", c.noisy[k] / told[k], 0.951, 0.953);
    memset(&c, 0, sizeof c);
    c.t_ns = BEGIN;
    vf_window_motion_of(&usual, &c, &noise, imu, READINGS, imu[READINGS - 1].t_ns);
    about("share of the covariance", "position", first.motion.P[60] / usual.motion.P[60], 36, 62); /* 2 * 25 - 2 */
}

/** Cost of a sight: three residuals, less what poses and landmarks follow; hardly more where sights are wrong, since
 *  the gate leaves these out. */
static void misfits(void **state)
{
    (void)state;
    static const double wrong[3] = {0, 0.1, 0.3}, least[3] = {1.5, 1.5, 1.5}, most[3] = {3, 4, 8};
    shake(38);
    for (int i = 0; i < 3; i++) {
        const struct flight one = {.runs = 1, .seconds = 4, .size = 1, .pixel = 0.5, .life = 30, .wrong = wrong[i]};
        struct flown sum;
        fly(&window, &one, &sum);
        print_message("%.0f %% of sights wrong: misfit %.2f; %.1f mm, NEES %.2f %.2f\n", 100 * wrong[i], sum.misfit,
                      1e3 * sum.position_m, sum.nees[0], sum.nees[1]);
        REQUIRE(sum.misfit > least[i] && sum.misfit < most[i], "%g of sights wrong: misfit %.2f\n", wrong[i],
                sum.misfit);
    }
}

/** Position and yaw stay unseen: what the prior has of them is no more than at the start, however long the flight. */
static void unseen(void **state)
{
    (void)state;
    static const struct flight long_one = {
        .name = "long", .runs = 1, .seconds = 20, .size = 1, .pixel = 0.5, .life = 20};
    struct flown sum;
    shake(37);
    fly(&window, &long_one, &sum);
    const double sigma = sum.sigma[0], yaw = sum.sigma[1];
    print_message("20 s: deviation of position %.4f m, yaw %.5f rad; at the start %.4f, %.5f\n", sigma, yaw, FIRST_M,
                  FIRST_YAW);
    REQUIRE(sigma >= 5 * FIRST_M && yaw >= FIRST_YAW, "deviations fall: %g m, %g rad\n", sigma, yaw);
    REQUIRE(sigma < 0.2 && yaw < 0.02, "deviations grow: %g m, %g rad\n", sigma, yaw);
}

/** One camera, slow flights behind loud readings, from the opposite of the true velocity: all points behind the camera
 *  would explain the sights as well. No range is ever negative, and at the end the velocity is the true one. */
static void mirrored(void **state)
{
    (void)state;
    static vfront_imu_t imu[FLIGHT_READINGS];
    const struct flight slow = {.runs = 1, .seconds = 5, .size = 0.1, .pixel = 0.5, .life = 30};
    const vfront_imu_noise_t noise = {1.7e-4, 0.2, 2e-5, 3e-3, 30, 300, RATE, 9.81};
    struct vf_window_rig rig = flight_rig();
    rig.cameras = 1;
    shake(40);
    for (int run = 0; run < 8; run++) {
        struct flight_point point[POINTS] = {{0}};
        struct vf_sight sight[POINTS];
        struct flight_path path;
        double bias[6], p[3], v[3], a[3];
        uint32_t ids = 0;
        any_path(&path, slow.size);
        const uint32_t n = measure_flight(&path, slow.seconds, 0, &noise, imu, bias);
        vfront_nav_t nav = first_state(&path, bias);
        flight_position(&path, 0, p, v, a);
        for (int k = 0; k < 3; k++) {
            nav.velocity_mps[k] = -v[k];
            nav.covariance[vf_nav_index(6 + k, 6 + k)] = 0.3 * 0.3;
        }
        vf_window_start(&window, &rig, &noise, &nav);
        for (int i = 0; i <= slow.seconds * FRAME_HZ; i++) {
            const double t = (double)i / FRAME_HZ;
            look(&slow, &path, &rig, t, point, &ids, sight);
            for (int k = 0; k < POINTS; k++) sight[k].other_sigma = 0;
            const uint32_t from = vf_imu_until(imu, n, flight_ns(t - 0.2));
            const struct vf_window_frame frame = {flight_ns(t), imu + from, n - from < 60 ? n - from : 60, sight,
                                                  POINTS};
            vf_window_step(&window, &work, &frame);
            for (int k = 0; k < VF_WINDOW_LANDMARKS; k++)
                REQUIRE(window.landmark[k].inverse >= 0, "run %d, step %d: inverse range %g\n", run, i,
                        (double)window.landmark[k].inverse);
        }
        vf_window_nav(&window, &work, &nav);
        flight_position(&path, slow.seconds, p, v, a);
        double off = 0, variance = 0;
        for (int k = 0; k < 3; k++) {
            off += (nav.velocity_mps[k] - v[k]) * (nav.velocity_mps[k] - v[k]);
            variance += nav.covariance[vf_nav_index(6 + k, 6 + k)];
        }
        print_message("run %d: velocity %.3f m/s, off by %.3f, deviation %.3f\n", run, length(v), sqrt(off),
                      sqrt(variance));
        REQUIRE(off < 9 * variance, "run %d: velocity off by %g m/s, deviation %g\n", run, sqrt(off), sqrt(variance));
    }
}

/** The same flight twice: the same bits. Frames without sights, and none at all, too. */
static void same_bits(void **state)
{
    (void)state;
    static const struct flight one = {
        .name = "again", .runs = 1, .seconds = 3, .size = 1, .pixel = 0.5, .life = 15, .dark = 0.3};
    static struct vf_window first;
    struct flown sum;
    shake(38);
    fly(&first, &one, &sum);
    memset(&window, 0xa5, sizeof window);
    shake(38);
    fly(&window, &one, &sum);
    assert_memory_equal(&first, &window, sizeof first);
}

/** Sights that make no sense, in every mixture: random directions, none, all of one point, without partners, as many as
 *  there is room for; rigs of one camera. The state stays finite, and its variances above 0. */
static void nonsense(void **state)
{
    (void)state;
    static vfront_imu_t imu[4096];
    shake(39);
    for (int run = 0; run < 12; run++) {
        static struct vf_sight sight[VF_WINDOW_SIGHTS];
        const vfront_imu_noise_t noise = {1.7e-4, 2e-3, 2e-5, 3e-3, 30, 300, RATE, 9.81};
        struct vf_window_rig rig = flight_rig();
        struct flight_path path;
        double bias[6];
        if (run % 3 == 2) rig.cameras = 1;
        any_path(&path, 0.5);
        const uint32_t n = measure_flight(&path, 3, 0, &noise, imu, bias);
        const vfront_nav_t first = first_state(&path, bias);
        vfront_nav_t nav = first;
        vf_window_start(&window, &rig, &noise, &first);
        for (int i = 0; i <= 60; i++) {
            const double t = (double)i / FRAME_HZ;
            const int kind = run % 4;
            for (int k = 0; k < VF_WINDOW_SIGHTS; k++) {
                double b[3] = {normal(), normal(), kind == 1 ? normal() : 2};
                if (kind == 3) b[0] = b[1] = 0.1;
                unit(b);
                for (int c = 0; c < 3; c++) sight[k].bearing[c] = sight[k].other[c] = (float)b[c];
                if (kind != 3) /* in front of camera 0, anywhere in camera 1 */
                    for (int c = 0; c < 3; c++) sight[k].other[c] = (float)(c == 2 ? 1 : 0);
                sight[k].id = kind == 2 && k % 2 ? 0 : (uint32_t)(1 + k + (kind == 0 ? VF_WINDOW_SIGHTS * (i / 5) : 0));
                sight[k].sigma = 1e-3f;
                sight[k].other_sigma = k % 3 && rig.cameras > 1 ? 1e-3f : 0;
            }
            const uint32_t from = vf_imu_until(imu, n, flight_ns(t - 0.2));
            const struct vf_window_frame frame = {flight_ns(t), imu + from, n - from < 60 ? n - from : 60, sight,
                                                  i % 7 == 6 ? 0 : VF_WINDOW_SIGHTS};
            vf_window_step(&window, &work, &frame);
            vf_window_nav(&window, &work, &nav);
            for (int k = 0; k < 15; k++) {
                const double variance = nav.covariance[vf_nav_index(k, k)];
                REQUIRE(isfinite(variance) && variance > 0, "run %d, step %d: variance %d is %g\n", run, i, k,
                        variance);
            }
            for (int k = 0; k < 3; k++)
                REQUIRE(isfinite(nav.position_m[k]) && isfinite(nav.velocity_mps[k]) && isfinite(nav.q_odom_imu[k]),
                        "run %d, step %d: no state\n", run, i);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readings),      cmocka_unit_test(landmarks),   cmocka_unit_test(changes),
        cmocka_unit_test(spread),        cmocka_unit_test(elimination), cmocka_unit_test(flights),
        cmocka_unit_test(noise_at_once), cmocka_unit_test(misfits),     cmocka_unit_test(unseen),
        cmocka_unit_test(mirrored),      cmocka_unit_test(same_bits),   cmocka_unit_test(nonsense)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
