/* SPDX-License-Identifier: MIT */
/* Sliding-window estimator: Jacobians against differences of independently written residuals; landmark elimination
 * against the full problem; Schur complement against inversion; unobservable directions; drawn flights, covariance
 * against errors. */
#include "tests/imu/imu_oracle.h"

#include "vio_flight.h"

static struct vf_vio_window window;
static struct vf_vio_work work;

/* ---- inertial factors -------------------------------------------------------------------------------------------- */

static struct vf_vio_state any_value(void)
{
    struct vf_vio_state v;
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

/** State incremented by errors in the order of vfront_nav_t, by matrices. */
static struct vf_vio_state moved(const struct vf_vio_state *v, const double e[15])
{
    struct vf_vio_state out = *v;
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

/** Consecutive states; the second is the IMU's prediction plus an error of the given size. */
static void any_pair(struct vf_vio_slot *a, struct vf_vio_slot *b, const vfront_imu_noise_t *noise, double error)
{
    vfront_imu_t imu[24];
    struct wide_motion m;
    any_samples(imu, 24, 200, 10, 1.0, 5.0, 1);
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
    for (int again = 0; again < 4; again++) { /* quaternion of a matrix */
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

/** Exact samples leave no residual; the Jacobian equals differences of residuals. */
static void imu_factor(void **state)
{
    (void)state;
    const vfront_imu_noise_t noise = any_noise(200);
    shake(31);
    for (int run = 0; run < 200; run++) {
        struct vf_vio_slot a, b;
        double r[15];
        any_pair(&a, &b, &noise, 0);
        vf_inertial_residual(&b, &a.value, &b.value, noise.gravity_m_s2, r);
        for (int i = 0; i < 15; i++) REQUIRE(fabs(r[i]) < 2e-8, "run %d, row %d: %g\n", run, i, r[i]);
        any_pair(&a, &b, &noise, 0.1);
        struct vf_inertial f;
        memset(&f, 0, sizeof f);
        vf_inertial_jacobian(&f, &b, &a.value, &b.value, noise.gravity_m_s2);
        for (int c = 0; c < 30; c++) {
            double e[15] = {0}, up[15], down[15];
            for (int side = 0; side < 2; side++) {
                e[c % 15] = side ? -1e-5 : 1e-5;
                const struct vf_vio_state x = c < 15 ? moved(&a.value, e) : a.value,
                                          y = c < 15 ? b.value : moved(&b.value, e);
                vf_inertial_residual(&b, &x, &y, noise.gravity_m_s2, side ? down : up);
            }
            for (int i = 0; i < 15; i++) {
                const double slope = (up[i] - down[i]) / 2e-5;
                /* the rotation residual is 1 mrad: its Jacobian is off by half of that */
                REQUIRE(fabs(slope - f.J[i][c]) < 4e-3 * (1 + fabs(slope)), "run %d, row %d, column %d: %g, not %g\n",
                        run, i, c, f.J[i][c], slope);
            }
        }
    }
}

/* ---- landmarks --------------------------------------------------------------------------------------------------- */

/** Rig and poses of an anchor and other frames that observe a point at unit bearing b and inverse range rho from the
 *  anchor. */
struct scene {
    struct vf_landmark_rig rig;
    double stereo[VF_VIO_STEREO_OFFSETS]; /* rig.stereo */
    struct rigid pose[VF_VIO_FRAMES];
    struct vf_landmark landmark;
    struct vf_camera_motion camera_motion[VF_VIO_FRAMES];
    uint32_t seen;
};

/** Bearing of an image point that moves by `shift` along camera 1's baseline, which any_scene() has along -x. */
static void moved_in_image(const double bearing[3], double shift, double moved[3])
{
    moved[0] = bearing[0] / bearing[2] - shift;
    moved[1] = bearing[1] / bearing[2];
    moved[2] = 1;
    unit(moved);
}

/** Shift of camera 1's bearing along the epipolar line by calibration errors, to first order: the common offset, the
 *  shift of the principal point without its part at the image centre, the roll about z, and the scale of x and y. */
static double moved_along(const double stereo[VF_VIO_STEREO_OFFSETS], const double stereo_bearing[3],
                          const double along[3])
{
    const double turn[3] = {0, 0, stereo[VF_STEREO_ROLL]}, centre = stereo[VF_STEREO_CENTRE], step = 1e-6;
    double moved[3], plus[3], minus[3];
    cross(turn, stereo_bearing, moved);
    moved_in_image(stereo_bearing, step, plus);
    moved_in_image(stereo_bearing, -step, minus);
    for (int k = 0; k < 2; k++) moved[k] += stereo[VF_STEREO_FOCAL] * stereo_bearing[k];
    for (int k = 0; k < 3; k++) moved[k] += centre * (plus[k] - minus[k]) / (2 * step);
    return stereo[VF_STEREO_OFFSET] - centre + dot(along, moved);
}

/** Residuals of a frame by their definition: two of camera 0, one of camera 1. */
static void residuals(const struct scene *s, int f, const struct rigid *pose, const double b[3], double inverse,
                      double r[3])
{
    const struct vf_vio_observation *observation = &s->landmark.observation[f];
    const struct vf_camera_motion *d = &s->camera_motion[f];
    double turn[3], own[9], back[9], X[3], seen[3], stereo_bearing[3], one[3], two[3], along[3], t[3], range[3];
    float a[3], c[3], framed[3];
    rotate(pose->R, b, X);
    for (int k = 0; k < 3; k++) {
        X[k] = X[k] / inverse + pose->t[k];
        seen[k] = observation->bearing[k];
        stereo_bearing[k] = observation->stereo_bearing[k];
        t[k] = s->rig.t_1_0[k] * (1 + s->stereo[VF_STEREO_LENGTH]) / (1 + (double)s->rig.stereo[VF_STEREO_LENGTH]);
        X[k] -= (double)observation->row_delay_s * d->velocity[k]; /* the camera has moved until the row is exposed */
        turn[k] = (double)observation->row_delay_s * d->rate[k];   /* and rotated: bearing in the frame's axes */
    }
    rotation_of(turn, own);
    rotate(own, seen, one);
    for (int k = 0; k < 3; k++) {
        framed[k] = (float)one[k];
        turn[k] = -turn[k];
    }
    rotation_of(turn, back);
    vf_landmark_tangent_basis(framed, a, c);
    for (int k = 0; k < 3; k++) one[k] = a[k], two[k] = c[k];
    rotate(back, one, one);
    rotate(back, two, two);
    rotate(back, X, X);
    for (int k = 0; k < 3; k++) {
        turn[k] = -(double)observation->stereo_delay_s * d->rate[k];
        range[k] = seen[k] * length(X);
    }
    r[0] = dot(one, X) / dot(seen, X) * observation->weight;
    r[1] = dot(two, X) / dot(seen, X) * observation->weight;
    double R[9];
    for (int k = 0; k < 9; k++) R[k] = s->rig.R_1_0[k];
    for (int k = 0; k < 3; k++) range[k] -= (double)observation->stereo_delay_s * d->velocity[k];
    rotation_of(turn, back);
    rotate(back, range, range); /* until the row of camera 1 is exposed */
    rotate(R, range, range);
    for (int k = 0; k < 3; k++) range[k] += t[k];
    for (int k = 0; k < 3; k++) along[k] = t[k] - dot(t, stereo_bearing) * stereo_bearing[k];
    unit(along);
    r[2] = observation->stereo_weight > 0
               ? (dot(along, range) / dot(stereo_bearing, range) + moved_along(s->stereo, stereo_bearing, along)) *
                     observation->stereo_weight
               : 0;
}

/** Point x in the axes of a camera that moves for a time. */
static void go_on(const struct vf_camera_motion *d, double time_s, double x[3])
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
    s->rig.baseline[0] = -1.0f;
    for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) s->stereo[n] = s->rig.stereo[n] = (float)(3e-4 * normal());
    s->rig.outlier = VF_VIO_ROBUST_THRESHOLD;
    s->rig.range_sigma = 1.5f;
    struct vf_landmark *l = &s->landmark;
    l->id = 7;
    l->anchor = 3;
    l->inverse = (float)real(0.05, 0.8);
    double b[3] = {0.4 * normal(), 0.3 * normal(), 1};
    unit(b);
    for (int k = 0; k < 3; k++) l->bearing[k] = (float)b[k];
    for (int f = 0; f < VF_VIO_FRAMES; f++) {
        const int anchor = f == l->anchor;
        double turn[3], X[3], Y[3], to[3];
        for (int k = 0; k < 3; k++) {
            turn[k] = anchor ? 0 : 0.1 * normal();
            s->pose[f].t[k] = anchor ? 0 : 0.2 * normal();
        }
        rotation_of(turn, s->pose[f].R);
        if (!anchor && (f % 3 == 1 || real(0, 1) < 0.3)) continue;
        l->seen |= 1u << f;
        rotate(s->pose[f].R, b, X);
        struct vf_camera_motion *d = &s->camera_motion[f];
        struct vf_vio_observation *observation = &l->observation[f];
        for (int k = 0; k < 3; k++) X[k] = X[k] / l->inverse + s->pose[f].t[k] + error * normal();
        if (shutter) { /* up to 2 rad/s and 4 m/s, 15 ms */
            observation->row_delay_s = (float)real(-0.015, 0.015),
            observation->stereo_delay_s = (float)real(-0.001, 0.001);
            for (int k = 0; k < 3; k++) d->rate[k] = (float)real(-1, 1), d->velocity[k] = (float)real(-2, 2);
        }
        go_on(d, (double)observation->row_delay_s, X);
        memcpy(Y, X, sizeof Y);
        go_on(d, (double)observation->stereo_delay_s, Y);
        for (int k = 0; k < 9; k++) R[k] = s->rig.R_1_0[k];
        rotate(R, Y, Y);
        for (int k = 0; k < 3; k++) Y[k] += s->rig.t_1_0[k];
        unit(X);
        unit(Y);
        for (int k = 0; k < 3; k++) {
            to[k] = X[k];
            l->observation[f].bearing[k] = (float)to[k];
            l->observation[f].stereo_bearing[k] = (float)Y[k];
        }
        l->observation[f].weight = 1 / 0.002f;
        l->observation[f].stereo_weight = f % 2 ? 1 / 0.001f : 0;
    }
}

static void poses_of(const struct scene *s, struct vf_pose pose[VF_VIO_FRAMES])
{
    for (int f = 0; f < VF_VIO_FRAMES; f++) {
        for (int k = 0; k < 9; k++) pose[f].R[k] = (float)s->pose[f].R[k];
        for (int k = 0; k < 3; k++) pose[f].t[k] = (float)s->pose[f].t[k];
    }
}

/** Columns of the full Jacobian: 0..2 the landmark, from 3 the offsets of camera 1, then the poses. */
enum { POSES = 3 + VF_VIO_STEREO_OFFSETS, COLUMNS = POSES + VF_VIO_VELOCITY };

static void shifted_residuals(const struct scene *s, int column, double by, double r[3 * VF_VIO_FRAMES])
{
    struct scene now = *s;
    double b[3];
    float one[3], two[3];
    vf_landmark_tangent_basis(s->landmark.bearing, one, two);
    for (int k = 0; k < 3; k++)
        b[k] = s->landmark.bearing[k] + (column == 0 ? by * one[k] : column == 1 ? by * two[k] : 0);
    unit(b);
    const double inverse = s->landmark.inverse + (column == 2 ? by : 0);
    if (column >= 3 && column < POSES) now.stereo[column - 3] += by;
    for (int f = 0; f < VF_VIO_FRAMES; f++) {
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
    }
}

/** Sums over a single landmark in slot 3. */
static void gather_one(const struct vf_landmark *l, const struct vf_landmark_backsub *row)
{
    memset(&window, 0, sizeof window);
    memset(work.anchor, 0, sizeof work.anchor);
    window.landmark[3] = *l;
    window.landmark[3].id = 1;
    work.row[work.trial][3] = *row;
    work.anchors = 1u << l->anchor;
    vf_vio_anchor_lists(&window, &work);
    vf_vio_gather(&work);
}

/** Elements of the sums, by columns of all frames. */
static double side_of(const struct vf_vio_anchor *e, int side, int a)
{
    return e->frames >> a / 6 & 1 ? e->g[side][a / 6][a % 6] : 0.0;
}
static double element_of(const struct vf_vio_anchor *e, int a, int b)
{
    return e->frames >> a / 6 & e->frames >> b / 6 & 1 ? e->H[vf_vio_pair_index(a / 6, b / 6)][a % 6][b % 6] : 0.0;
}

/** Rows of a landmark: three per frame, and the inverse-range prior. */
enum { ROWS = 3 * VF_VIO_FRAMES + 1 };

/** Residuals and Jacobian of a landmark match their definition. The projected equations and the back-substituted
 *  increment match the solution of the full problem. */
static void landmark_factor(void **state)
{
    (void)state;
    shake(32);
    for (int run = 0; run < 300; run++) {
        struct scene s;
        struct vf_pose pose[VF_VIO_FRAMES];
        struct vf_landmark_jacobian rows;
        struct vf_landmark_backsub kept;
        static double J[COLUMNS][ROWS];
        double r[ROWS] = {0}, up[ROWS], down[ROWS];
        memset(J, 0, sizeof J);
        any_scene(&s, run % 2 ? 0.003 : 0, run % 3 == 1);
        struct vf_landmark_estimate estimate = {{s.landmark.bearing[0], s.landmark.bearing[1], s.landmark.bearing[2]},
                                                s.landmark.inverse};
        poses_of(&s, pose);
        vf_landmark_linearize(&rows, &s.landmark, &estimate, &s.rig, pose, s.camera_motion);
        shifted_residuals(&s, -1, 0, r);
        r[ROWS - 1] = (s.landmark.inverse - VF_VIO_INVERSE_RANGE_MEAN) / s.rig.range_sigma;
        int outlier = 0;
        for (int f = 0; f < VF_VIO_FRAMES; f++)
            outlier |= r[3 * f] * r[3 * f] + r[3 * f + 1] * r[3 * f + 1] > 8.9 || r[3 * f + 2] * r[3 * f + 2] > 8.9;
        if (outlier) continue;
        for (int i = 0; i < ROWS; i++) {
            const double found = (double)rows.r[i % 3][i / 3];
            REQUIRE(fabs(r[i] - found) < 2e-3, "run %d, row %d: %g, not %g\n", run, i, found, r[i]);
        }
        for (int c = 0; c < COLUMNS; c++) {
            if (c >= POSES && (c - POSES) / 6 == s.landmark.anchor) continue;
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
        /* Schur complement over the landmark from the full normal equations */
        struct vf_vio_anchor *e = &work.anchor[s.landmark.anchor];
        double A[9], inverse[9];
        for (int i = 0; i < 9; i++) {
            A[i] = 0;
            for (int k = 0; k < ROWS; k++) A[i] += J[i / 3][k] * J[i % 3][k];
        }
        invert(A, 3, inverse);
        float R[6];
        vf_landmark_orthonormalize(rows.point, R);
        vf_landmark_reduce(&kept, &work.equations[3], &rows, R, ~0u, 1);
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
            const double g = a < POSES ? e->stereo[VF_VIO_STEREO_PAIRS + a - 3] : side_of(e, 0, a - POSES);
            REQUIRE(fabs(g - slope) < 1e-3 * (1 + sqrt(scale)), "run %d, slope of column %d: %g, not %g\n", run, a, g,
                    slope);
            for (int b = a; b < COLUMNS; b++) {
                double whole = 0, scale_b = 0;
                for (int k = 0; k < ROWS; k++) {
                    whole += (J[a][k] - by[0] * J[0][k] - by[1] * J[1][k] - by[2] * J[2][k]) * J[b][k];
                    scale_b += J[b][k] * J[b][k];
                }
                const double h = a >= POSES  ? element_of(e, a - POSES, b - POSES)
                                 : b < POSES ? e->stereo[vf_vio_stereo_index(a - 3, b - 3)]
                                             : side_of(e, 1 + a - 3, b - POSES);
                REQUIRE(fabs(h - whole) < 1e-4 * (1 + sqrt(scale * scale_b)), "run %d, columns %d, %d: %g, not %g\n",
                        run, a, b, h, whole);
            }
        }
        /* landmark increment for given pose increments */
        float change[VF_VIO_FRAMES][6];
        double y[3] = {0}, x[3];
        const double turn[VF_VIO_STEREO_OFFSETS] = {2e-4, 1e-4, -3e-4, 1e-4, -2e-4};
        memset(change, 0, sizeof change);
        for (int k = 0; k < ROWS; k++) {
            double all = r[k];
            for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) all += turn[n] * J[3 + n][k];
            for (int f = 0; f < VF_VIO_FRAMES; f++)
                for (int c = 0; c < 6; c++) {
                    change[f][c] = f == s.landmark.anchor ? 0 : 1e-4f * (float)((f + c) % 5 - 2);
                    all += (double)change[f][c] * J[POSES + 6 * f + c][k];
                }
            for (int c = 0; c < 3; c++) y[c] -= J[c][k] * all;
        }
        rotate(inverse, y, x);
        vf_landmark_back_substitute(&estimate, s.landmark.seen & ~(1u << s.landmark.anchor), &kept,
                                    (const float(*)[6])change, turn);
        const double before = s.landmark.inverse, after = x[2] < 0 ? before * before / (before - x[2]) : before + x[2];
        REQUIRE(fabs((double)estimate.inverse - after) < 1e-4 + 1e-2 * fabs(x[2]), "run %d: inverse range %g, not %g\n",
                run, (double)estimate.inverse, after);
    }
}

/* ---- from relative poses to the odometry frame ------------------------------------------------------------------- */

/** Pose of camera 0 of a slot relative to an anchor, from matrices, time offset included. */
static struct rigid relative(const struct vf_vio_window *w, const struct vf_vio_slot *anchor,
                             const struct vf_vio_slot *a)
{
    const struct vf_vio_slot *side[2] = {anchor, a};
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
    for (int i = 0; i < 9; i++) { /* R_a' R_anchor */
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

static void any_slots(struct vf_vio_window *w)
{
    memset(w, 0, sizeof *w);
    const double turn[3] = {0.3 * normal(), 0.3 * normal(), 1.5 + 0.3 * normal()};
    rotation_of(turn, w->rig.R_imu_cam);
    for (int k = 0; k < 3; k++) w->rig.p_imu_cam_m[k] = 0.2 * normal();
    vf_quaternion_of_matrix(w->rig.R_imu_cam, w->mount);
    w->offset_s = 0;
    for (int f = 0; f < VF_VIO_FRAMES; f++) {
        struct vf_vio_slot *s = &w->slot[f];
        s->number = (uint32_t)f + 1;
        s->state = f < VF_VIO_STATES ? f : -1;
        s->value = any_value();
        for (int k = 0; k < 3; k++) s->rate[k] = normal();
    }
}

/** Increments of relative poses by those of poses, time offset and camera attitude match differences of poses. */
static void relative_changes(void **state)
{
    (void)state;
    shake(33);
    for (int run = 0; run < 100; run++) {
        any_slots(&window);
        const int anchor = 2, a = 5 + run % 4;
        struct vf_relative_jacobian m;
        struct vf_pose pose;
        vf_relative_linearize(&window, &window.slot[anchor], &window.slot[a], &m);
        vf_relative_camera_of(&window, &window.slot[anchor], &work.camera[anchor]);
        vf_relative_camera_of(&window, &window.slot[a], &work.camera[a]);
        vf_relative_pose(&work.camera[anchor], &work.camera[a], &pose);
        const struct rigid at = relative(&window, &window.slot[anchor], &window.slot[a]);
        for (int k = 0; k < 9; k++) REQUIRE(fabs(at.R[k] - (double)pose.R[k]) < 1e-6, "run %d: R\n", run);
        for (int k = 0; k < 3; k++)
            REQUIRE(fabs(at.t[k] - (double)pose.t[k]) < 2e-6 * (1 + length(at.t)), "run %d: t\n", run);
        for (int c = 0; c < 16; c++) {
            double x[VF_VIO_COLUMNS] = {0}, e[15] = {0}, w[3];
            float found[6];
            struct vf_vio_window now = window;
            const double by = 1e-6;
            e[c % 6] = by;
            if (c < 12) now.slot[c < 6 ? anchor : a].value = moved(&window.slot[c < 6 ? anchor : a].value, e);
            if (c == 12) now.offset_s += by;
            if (c > 12) { /* the camera rotated on the IMU */
                double v[3] = {0}, turn[9], R[9];
                v[c - 13] = by;
                rotation_of(v, turn);
                product(turn, window.rig.R_imu_cam, 0, R);
                vf_quaternion_of_matrix(R, now.mount);
            }
            x[c >= 12 ? VF_VIO_TIME_OFFSET + c - 12 : 6 * (c < 6 ? anchor : a) + c % 6] = by;
            const struct rigid then = relative(&now, &now.slot[anchor], &now.slot[a]);
            vf_relative_change(x, anchor, a, &m, found);
            rotation_between(then.R, at.R, w);
            for (int k = 0; k < 3; k++) {
                REQUIRE(fabs(then.t[k] - at.t[k] - (double)found[k]) < 1e-9, "run %d, column %d: t %d\n", run, c, k);
                REQUIRE(fabs(w[k] - (double)found[3 + k]) < 1e-9, "run %d, column %d: w %d\n", run, c, k);
            }
        }
    }
}

/** The equations over relative poses, converted to system columns, have the same value for any increment. */
static void anchor_to_frames(void **state)
{
    (void)state;
    shake(34);
    for (int run = 0; run < 20; run++) {
        enum { C = VF_VIO_VELOCITY };
        static double F[20][C + VF_VIO_STEREO_OFFSETS];
        const int anchor = run % VF_VIO_FRAMES;
        struct vf_vio_anchor *e = &work.anchor[anchor];
        const struct vf_relative_jacobian *jacobian = e->jacobian[work.trial];
        any_slots(&window);
        memset(work.anchor, 0, sizeof work.anchor);
        for (int i = 0; i < VF_VIO_INERTIAL_FACTORS; i++) work.inertial[i].a = -1;
        e->count = 1;
        for (int f = 0; f < VF_VIO_FRAMES; f++)
            if (f != anchor && f % 4) e->frames |= 1u << f;
        memset(work.anchor_frames, 0, sizeof work.anchor_frames);
        work.anchor_frames[anchor] = e->frames | 1u << anchor;
        for (int f = 0; f < VF_VIO_FRAMES; f++) work.frame_anchors[f] = (work.anchor_frames[anchor] >> f & 1) << anchor;
        for (int i = 0; i < 20; i++) { /* gradients and matrix; the last elements by the offsets of camera 1 */
            for (int c = 0; c < C + VF_VIO_STEREO_OFFSETS; c++)
                F[i][c] = c >= C || e->frames >> c / 6 & 1 ? normal() : 0;
            for (int a = 0; a < C; a++) {
                e->g[0][a / 6][a % 6] += F[i][a];
                for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) e->g[1 + n][a / 6][a % 6] += F[i][a] * F[i][C + n];
                for (int b = a / 6 * 6; b < C; b++)
                    e->H[vf_vio_pair_index(a / 6, b / 6)][a % 6][b % 6] += F[i][a] * F[i][b];
            }
            for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) {
                for (int m = n; m < VF_VIO_STEREO_OFFSETS; m++)
                    e->stereo[vf_vio_stereo_index(n, m)] += F[i][C + n] * F[i][C + m];
                e->stereo[VF_VIO_STEREO_PAIRS + n] += F[i][C + n];
            }
        }
        for (int i = 0; i < VF_VIO_JACOBIAN_BLOCKS; i++) vf_vio_relative_jacobians(&window, &work, i);
        for (int h = 0; h < VF_VIO_FRAMES; h++) vf_vio_anchor_assemble(&work.anchor[h], work.trial);
        for (int i = 0; i < VF_VIO_IMU_BLOCKS; i++) vf_vio_linearize_imu(&window, &work, i);
        vf_vio_assemble(&window, &work);
        const struct vf_vio_system *s = &work.system[work.trial];
        for (int trial = 0; trial < 5; trial++) {
            double x[VF_VIO_COLUMNS], value = 0, slope = 0, square = 0, sum = 0;
            for (int c = 0; c < VF_VIO_COLUMNS; c++)
                x[c] = c < VF_VIO_VELOCITY || c >= VF_VIO_TIME_OFFSET ? normal() : 0;
            for (int i = 0; i < 20; i++) {
                double row = 0;
                for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) row += F[i][C + n] * x[VF_VIO_DISPARITY + n];
                for (int f = 0; f < VF_VIO_FRAMES; f++) {
                    float change[6];
                    if (!(e->frames >> f & 1)) continue;
                    vf_relative_change(x, anchor, f, &jacobian[f], change);
                    for (int k = 0; k < 6; k++) row += F[i][6 * f + k] * (double)change[k];
                }
                square += row * row;
                sum += row;
            }
            for (int r = 0; r < VF_VIO_COLUMNS; r++) {
                slope += s->g[r] * x[r];
                for (int c = 0; c < VF_VIO_COLUMNS; c++) value += x[r] * s->H[r * VF_VIO_COLUMNS + c] * x[c];
            }
            REQUIRE(fabs(value - square) < 1e-5 * square, "run %d: %g, not %g\n", run, value, square);
            REQUIRE(fabs(slope - sum) < 1e-5 * (sqrt(20 * square) + 1), "run %d: slope %g, not %g\n", run, slope, sum);
        }
        double all[VF_VIO_COLUMNS] = {0}, most = 0; /* a rotation about z and a shift of everything */
        for (int f = 0; f < VF_VIO_FRAMES; f++) {
            const double *p = window.slot[f].value.p;
            all[6 * f] = -p[1] + 0.5;
            all[6 * f + 1] = p[0] - 2;
            all[6 * f + 2] = 0.3;
            all[6 * f + 5] = 1;
        }
        for (int r = 0; r < VF_VIO_COLUMNS; r++) {
            double sum = 0;
            for (int c = 0; c < VF_VIO_COLUMNS; c++) sum += s->H[r * VF_VIO_COLUMNS + c] * all[c];
            most = fabs(sum) > most ? fabs(sum) : most;
        }
        REQUIRE(most < 1e-9, "run %d: turning and moving everything: %g\n", run, most);
    }
}

/* ---- elimination ------------------------------------------------------------------------------------------------- */

/** Inverse of a positive definite matrix over all columns. */
static void invert_all(const double *H, double *out)
{
    enum { N = VF_VIO_COLUMNS };
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

/** After an elimination the covariance and the solution of the remaining columns are unchanged. */
static void elimination(void **state)
{
    (void)state;
    enum { N = VF_VIO_COLUMNS };
    static struct vf_vio_system s, reduced;
    static double L[N * N], before[N * N], after[N * N];
    shake(35);
    for (int run = 0; run < 5; run++) {
        int32_t eliminated[VF_VIO_MARG_COLUMNS];
        int is_eliminated[N] = {0};
        for (int i = 0; i < N * N; i++) L[i] = normal();
        for (int r = 0; r < N; r++)
            for (int c = 0; c < N; c++) {
                double sum = r == c ? 1 : 0;
                for (int k = 0; k < N; k++) sum += L[r * N + k] * L[c * N + k];
                s.H[r * N + c] = sum * pow(10, (r % 5) + (c % 5)); /* units of very different size */
            }
        for (int r = 0; r < N; r++) s.g[r] = normal() * pow(10, r % 5);
        const int count = 9 + 6 * (run % 3);
        for (int i = 0; i < count; i++) is_eliminated[eliminated[i] = (7 * i + run) % N] = 1;
        const struct vf_solve_buffers at = {work.eliminated.matrix, work.eliminated.row, &work.eliminated.workspace};
        for (int block = 0; block <= run; block++)
            vf_solve_eliminate(&s, eliminated, count, &at, block, run + 1, &reduced);
        for (int r = 0; r < N; r++)
            if (is_eliminated[r])
                for (int c = 0; c < N; c++) {
                    REQUIRE(reduced.H[r * N + c] == 0 && reduced.H[c * N + r] == 0 && reduced.g[r] == 0,
                            "run %d: column %d stays\n", run, r);
                    if (c == r) reduced.H[r * N + c] = 1;
                }
        invert_all(s.H, before);
        invert_all(reduced.H, after);
        for (int r = 0; r < N; r++) {
            double x = 0, y = 0;
            if (is_eliminated[r]) continue;
            for (int c = 0; c < N; c++) {
                const double scale = sqrt(before[r * N + r] * before[c * N + c]);
                x -= before[r * N + c] * s.g[c];
                y -= after[r * N + c] * reduced.g[c];
                if (is_eliminated[c]) continue;
                REQUIRE(fabs(before[r * N + c] - after[r * N + c]) < 1e-6 * scale, "run %d: covariance %d, %d\n", run,
                        r, c);
            }
            REQUIRE(fabs(x - y) < 1e-5 * (fabs(x) + sqrt(before[r * N + r])), "run %d: solution %d: %g, not %g\n", run,
                    r, y, x);
        }
        /* solutions by both factorizations */
        double x[N];
        for (int i = 0; i < N; i++) x[i] = s.g[i];
        REQUIRE(vf_solve_cholesky(s.H, L, N, N, 0.0) == 0, "run %d: columns held\n", run);
        vf_solve_forward(L, x, N, N);
        vf_solve_back(L, x, N, N);
        work.system[0] = s;
        for (int r = 0; r < N; r++) work.system[0].g[r] = -s.g[r];
        work.at = 0;
        work.damping = 0.0;
        vf_vio_solve(&work);
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

/** Runs per flight. Under a sanitizer, which takes ten times as long, too few for a tight bound. */
#if defined(__SANITIZE_ADDRESS__)
enum { RUNS = 2 };
#else
enum { RUNS = 12 };
#endif

/** The mean squared normalised error over runs and steps is between `least` and `most`. */
static void check_mean(const char *name, const char *what, double mean, double least, double most)
{
    print_message("%-28s %-12s %.2f\n", name, what, mean);
    REQUIRE(mean > least && mean < most, "%s, %s: %.2f\n", name, what, mean);
}

/** Flights whose errors match the covariance: nominal noise; time and disparity offset, which are estimated; wrong
 *  camera mounting; outliers; vibration; rolling shutter; roll of camera 1, which is estimated; a time without
 *  observations. */
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
        {.name = "1 % outliers", .runs = RUNS, .seconds = 6, .size = 1, .pixel = 0.5, .life = 30, .wrong = 0.01},
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
        {.name = "1 s without observations",
         .runs = RUNS,
         .seconds = 6,
         .size = 1,
         .pixel = 0.5,
         .life = 30,
         .dark = 1},
    };
    shake(36);
    for (size_t i = 0; i < sizeof flight / sizeof *flight; i++) {
        struct flight_result sum;
        fly(&window, &flight[i], &sum);
        const int shaken = flight[i].vibration > 0; /* a tone is not white noise: covariances match roughly */
        const double least = RUNS <= 2 ? 0.2 : shaken ? 0.8 : 1.8, most = shaken || RUNS <= 2 ? 8 : 4.2;
        check_mean(flight[i].name, "position", sum.nees[0], least, most);
        check_mean(flight[i].name, "attitude", sum.nees[1], least, most);
        check_mean(flight[i].name, "velocity", sum.nees[2], least, most);
        check_mean(flight[i].name, "turn, mrad", 1e3 * sum.turned, -1e-9, 0.4);
        check_mean(flight[i].name, "offset", sum.offset, 0, RUNS > 2 ? 2.5 : 6);
        check_mean(flight[i].name, "disparities", sum.disparity, 0, RUNS > 2 ? 2.5 : 6);
        print_message("%-28s %-12s %.1f mm, %.2f mrad; offset %.2f ms, disparities %.3f mrad\n", flight[i].name, "rms",
                      1e3 * sum.position_m, 1e3 * sum.attitude_rad, 1e3 * sum.offset_s, 1e3 * sum.disparity_rad);
    }
}

/** IMU noise is measured by the first interval with differences, then with a weight per interval. A variance of 25
 *  times the stated one gives the first preintegral 25 + (25 - 2) = 48 times the covariance. */
static void noise_at_once(void **state)
{
    (void)state;
    const vfront_imu_noise_t noise = {.gyro_density = 1e-3, .accel_density = 1e-2, .rate_hz = 200};
    enum { SAMPLES = 200, BEGIN = 1000000000 };
    static vfront_imu_t imu[SAMPLES];
    struct vf_vio_carried c = {.t_ns = BEGIN};
    struct vf_vio_imu_interval first, later;
    shake(39);
    for (int i = 0; i < SAMPLES; i++) {
        imu[i] = (vfront_imu_t){.t_ns = BEGIN + (uint64_t)i * 5000000u};
        for (int k = 0; k < 3; k++) {
            imu[i].gyro_rad_s[k] = (float)(5e-3 * sqrt(200) * normal());
            imu[i].accel_m_s2[k] = (float)(5e-2 * sqrt(200) * normal());
        }
    }
    vf_vio_imu_interval_of(&first, &c, &noise, NULL, imu, 1, BEGIN + 4000000u);
    assert_true(c.noise_ratio[0] == 0.0 && c.noise_ratio[1] == 0.0); /* no differences */
    vf_vio_imu_interval_of(&first, &c, &noise, NULL, imu, SAMPLES, imu[SAMPLES - 1].t_ns);
    for (int k = 0; k < 2; k++) check_mean("noise at once", k ? "accelerometer" : "gyro", c.noise_ratio[k], 20, 30);
    const double first_ratio[2] = {c.noise_ratio[0], c.noise_ratio[1]};
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < 3; k++) imu[i].gyro_rad_s[k] *= 0.2f, imu[i].accel_m_s2[k] *= 0.2f;
    vf_vio_imu_interval_of(&later, &c, &noise, NULL, imu, SAMPLES, imu[SAMPLES - 1].t_ns);
    const double fall = (1 - 0.2 * 0.2) * VF_VIO_RUNNING_MEAN_WEIGHT;
    for (int k = 0; k < 2; k++)
        check_mean("noise later", k ? "accelerometer" : "gyro", (1 - c.noise_ratio[k] / first_ratio[k]) / fall, 0.98,
                   1.02);
    memset(&c, 0, sizeof c);
    c.t_ns = BEGIN;
    vf_vio_imu_interval_of(&later, &c, &noise, NULL, imu, SAMPLES, imu[SAMPLES - 1].t_ns);
    check_mean("share of the covariance", "position", first.motion.P[60] / later.motion.P[60], 36, 62); /* 2 * 25 - 2 */
}

/** Mean squared normalised residual of an observation: three residuals minus those that poses and landmarks absorb.
 *  Outliers raise it little, because the consistency test rejects them. */
static void residual_mean_squares(void **state)
{
    (void)state;
    static const double wrong[3] = {0, 0.1, 0.3}, least[3] = {1.5, 1.5, 1.5}, most[3] = {3, 4, 8};
    shake(38);
    for (int i = 0; i < 3; i++) {
        const struct flight one = {.runs = 1, .seconds = 4, .size = 1, .pixel = 0.5, .life = 30, .wrong = wrong[i]};
        struct flight_result sum;
        fly(&window, &one, &sum);
        print_message("%.0f %% outliers: mean squared residual %.2f; %.1f mm, NEES %.2f %.2f\n", 100 * wrong[i],
                      sum.residual_mean_square, 1e3 * sum.position_m, sum.nees[0], sum.nees[1]);
        REQUIRE(sum.residual_mean_square > least[i] && sum.residual_mean_square < most[i],
                "share of outliers %g: mean squared residual %.2f\n", wrong[i], sum.residual_mean_square);
    }
}

/** Position and yaw stay unobservable: however long the flight, the prior's information on them does not grow. */
static void unobservable(void **state)
{
    (void)state;
    static const struct flight long_one = {
        .name = "long", .runs = 1, .seconds = 20, .size = 1, .pixel = 0.5, .life = 20};
    struct flight_result sum;
    shake(37);
    fly(&window, &long_one, &sum);
    const double sigma = sum.sigma[0], yaw = sum.sigma[1];
    print_message("20 s: deviation of position %.4f m, yaw %.5f rad; at the start %.4f, %.5f\n", sigma, yaw, FIRST_M,
                  FIRST_YAW);
    REQUIRE(sigma >= 5 * FIRST_M && yaw >= FIRST_YAW, "deviations fall: %g m, %g rad\n", sigma, yaw);
    REQUIRE(sigma < 0.2 && yaw < 0.02, "deviations grow: %g m, %g rad\n", sigma, yaw);
}

/** One camera, slow flights with a noisy IMU, initial velocity inverted: all points behind the camera would fit as
 *  well. No range becomes negative, and the velocity converges to the truth. */
static void mirrored_velocity(void **state)
{
    (void)state;
    static vfront_imu_t imu[FLIGHT_SAMPLES];
    const struct flight slow = {.runs = 1, .seconds = 5, .size = 0.1, .pixel = 0.5, .life = 30};
    const vfront_imu_noise_t noise = {1.7e-4, 0.2, 2e-5, 3e-3, 30, 300, RATE, 9.81};
    struct vf_vio_rig rig = flight_rig();
    rig.cameras = 1;
    shake(40);
    for (int run = 0; run < 8; run++) {
        struct flight_point point[POINTS] = {{0}};
        struct vf_observation observation[POINTS];
        struct flight_trajectory trajectory;
        double bias[6], p[3], v[3], a[3];
        uint32_t ids = 0;
        any_trajectory(&trajectory, slow.size);
        const uint32_t n = simulate_imu(&trajectory, slow.seconds, 0, &noise, imu, bias);
        vfront_nav_t nav = first_state(&trajectory, bias);
        flight_position(&trajectory, 0, p, v, a);
        for (int k = 0; k < 3; k++) {
            nav.velocity_mps[k] = -v[k];
            nav.covariance[vf_nav_index(6 + k, 6 + k)] = 0.3 * 0.3;
        }
        vf_vio_start(&window, &rig, &noise, &nav);
        for (int i = 0; i <= slow.seconds * FRAME_HZ; i++) {
            const double t = (double)i / FRAME_HZ;
            observe_points(&slow, &trajectory, &rig, t, point, &ids, observation);
            for (int k = 0; k < POINTS; k++) observation[k].stereo_sigma = 0;
            const uint32_t from = vf_imu_until(imu, n, flight_ns(t - 0.2));
            const struct vf_vio_frame frame = {flight_ns(t), imu + from, n - from < 60 ? n - from : 60, observation,
                                               POINTS};
            vf_vio_step(&window, &work, &frame);
            for (int k = 0; k < VF_VIO_LANDMARKS; k++)
                REQUIRE(window.landmark[k].inverse >= 0, "run %d, step %d: inverse range %g\n", run, i,
                        (double)window.landmark[k].inverse);
        }
        vf_vio_nav(&window, &work, &nav);
        flight_position(&trajectory, slow.seconds, p, v, a);
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

/** The same flight twice gives the same bits, also with frames without observations. */
static void same_bits(void **state)
{
    (void)state;
    static const struct flight one = {
        .name = "again", .runs = 1, .seconds = 3, .size = 1, .pixel = 0.5, .life = 15, .dark = 0.3};
    static struct vf_vio_window first;
    struct flight_result sum;
    shake(38);
    fly(&first, &one, &sum);
    memset(&window, 0xa5, sizeof window);
    shake(38);
    fly(&window, &one, &sum);
    assert_memory_equal(&first, &window, sizeof first);
}

/** Meaningless observations in every mixture: random directions, none, all of one point, without stereo, the maximum
 *  number; rigs of one camera. The state stays finite with variances above 0. */
static void random_observations(void **state)
{
    (void)state;
    static vfront_imu_t imu[4096];
    shake(39);
    for (int run = 0; run < 12; run++) {
        static struct vf_observation observation[VF_VIO_OBSERVATIONS];
        const vfront_imu_noise_t noise = {1.7e-4, 2e-3, 2e-5, 3e-3, 30, 300, RATE, 9.81};
        struct vf_vio_rig rig = flight_rig();
        struct flight_trajectory trajectory;
        double bias[6];
        if (run % 3 == 2) rig.cameras = 1;
        any_trajectory(&trajectory, 0.5);
        const uint32_t n = simulate_imu(&trajectory, 3, 0, &noise, imu, bias);
        const vfront_nav_t first = first_state(&trajectory, bias);
        vfront_nav_t nav = first;
        vf_vio_start(&window, &rig, &noise, &first);
        for (int i = 0; i <= 60; i++) {
            const double t = (double)i / FRAME_HZ;
            const int kind = run % 4;
            for (int k = 0; k < VF_VIO_OBSERVATIONS; k++) {
                double b[3] = {normal(), normal(), kind == 1 ? normal() : 2};
                if (kind == 3) b[0] = b[1] = 0.1;
                unit(b);
                for (int c = 0; c < 3; c++) observation[k].bearing[c] = observation[k].stereo_bearing[c] = (float)b[c];
                if (kind != 3) /* in front of camera 0, anywhere in camera 1 */
                    for (int c = 0; c < 3; c++) observation[k].stereo_bearing[c] = (float)(c == 2 ? 1 : 0);
                observation[k].id = kind == 2 && k % 2
                                        ? 0
                                        : (uint32_t)(1 + k + (kind == 0 ? VF_VIO_OBSERVATIONS * (i / 5) : 0));
                observation[k].sigma = 1e-3f;
                observation[k].stereo_sigma = k % 3 && rig.cameras > 1 ? 1e-3f : 0;
            }
            const uint32_t from = vf_imu_until(imu, n, flight_ns(t - 0.2));
            const struct vf_vio_frame frame = {flight_ns(t), imu + from, n - from < 60 ? n - from : 60, observation,
                                               i % 7 == 6 ? 0 : VF_VIO_OBSERVATIONS};
            vf_vio_step(&window, &work, &frame);
            vf_vio_nav(&window, &work, &nav);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(imu_factor),       cmocka_unit_test(landmark_factor),
                                       cmocka_unit_test(relative_changes), cmocka_unit_test(anchor_to_frames),
                                       cmocka_unit_test(elimination),      cmocka_unit_test(flights),
                                       cmocka_unit_test(noise_at_once),    cmocka_unit_test(residual_mean_squares),
                                       cmocka_unit_test(unobservable),     cmocka_unit_test(mirrored_velocity),
                                       cmocka_unit_test(same_bits),        cmocka_unit_test(random_observations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
