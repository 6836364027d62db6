/* SPDX-License-Identifier: MIT */
#include "window.h"

#include "window_relative.h"
#include "window_solve.h"

/* ---- variables --------------------------------------------------------------------------------------------------- */

static int column_of(const struct vf_window_slot *s, int32_t slot, int error)
{
    return error < 6 ? 6 * slot + error : VF_WINDOW_MOVING + 9 * s->state + error - 6;
}

/** Value plus a change of its columns. */
static void add(struct vf_window_value *value, const struct vf_window_slot *s, int32_t slot, const double *x)
{
    double turn[3], q[4];
    for (int k = 0; k < 3; k++) {
        value->p[k] += x[6 * slot + k];
        turn[k] = x[6 * slot + 3 + k];
    }
    vf_quaternion_exponential(turn, q);
    vf_quaternion_multiply(q, value->q, value->q);
    vf_quaternion_unit(value->q);
    if (s->state < 0) return;
    const double *more = &x[VF_WINDOW_MOVING + 9 * s->state];
    for (int k = 0; k < 3; k++) value->v[k] += more[k];
    for (int k = 0; k < 6; k++) value->bias[k] += more[3 + k];
}

/** Estimate - first estimate, of all columns of the prior. */
static void from_first(const struct vf_window *w, double x[VF_WINDOW_COLUMNS])
{
    memset(x, 0, VF_WINDOW_COLUMNS * sizeof *x);
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++) {
        const struct vf_window_slot *s = &w->slot[f];
        if (!s->number || !s->prior) continue;
        double turn[3];
        vf_window_turn_between(s->value.q, s->first.q, turn);
        for (int k = 0; k < 3; k++) {
            x[6 * f + k] = s->value.p[k] - s->first.p[k];
            x[6 * f + 3 + k] = turn[k];
        }
        if (s->state < 0) continue;
        double *more = &x[VF_WINDOW_MOVING + 9 * s->state];
        for (int k = 0; k < 3; k++) more[k] = s->value.v[k] - s->first.v[k];
        for (int k = 0; k < 6; k++) more[3 + k] = s->value.bias[k] - s->first.bias[k];
    }
    x[VF_WINDOW_OFFSET] = w->offset_s - w->first_offset_s;
    x[VF_WINDOW_DISPARITY] = w->disparity_rad - w->first_disparity_rad;
    vf_window_turn_between(w->mount, w->first_mount, &x[VF_WINDOW_MOUNT]);
}

/* ---- factors ----------------------------------------------------------------------------------------------------- */

/** Prior at the estimate, added to a system. Returns twice its cost, but for a constant. */
static double add_prior(const struct vf_window *w, struct vf_window_system *s)
{
    double x[VF_WINDOW_COLUMNS], cost = 0.0;
    const int n = VF_WINDOW_COLUMNS;
    from_first(w, x);
    for (int r = 0; r < n; r++) {
        double sum = 0.0;
        for (int c = 0; c < n; c++) {
            sum += w->prior.H[r * n + c] * x[c];
            s->H[r * n + c] += w->prior.H[r * n + c];
        }
        s->g[r] += w->prior.g[r] + sum;
        cost += x[r] * (sum + 2.0 * w->prior.g[r]);
    }
    return cost;
}

/** Slot of the state before that of a slot; -1: none. */
static int32_t before(const struct vf_window *w, int32_t slot)
{
    int32_t found = -1;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].state >= 0 && w->slot[f].number + 1 == w->slot[slot].number) found = f;
    return found;
}

/** Factor of the readings between two states, added to a system. Returns twice its cost. */
static double add_inertial(const struct vf_window *w, struct vf_window_system *s, int32_t a, int32_t b)
{
    struct vf_inertial f;
    int column[VF_INERTIAL_COLUMNS];
    double cost = 0.0;
    vf_inertial_of(&f, &w->slot[a], &w->slot[b], &w->noise);
    for (int c = 0; c < VF_NAV_ERRORS; c++) {
        column[c] = column_of(&w->slot[a], a, c);
        column[VF_NAV_ERRORS + c] = column_of(&w->slot[b], b, c);
    }
    for (int i = 0; i < VF_NAV_ERRORS; i++) cost += f.r[i] * f.r[i];
    for (int r = 0; r < VF_INERTIAL_COLUMNS; r++) {
        double g = 0.0;
        for (int i = 0; i < VF_NAV_ERRORS; i++) g += f.J[i][r] * f.r[i];
        s->g[column[r]] += g;
        for (int c = 0; c < VF_INERTIAL_COLUMNS; c++) {
            double h = 0.0;
            for (int i = 0; i < VF_NAV_ERRORS; i++) h += f.J[i][r] * f.J[i][c];
            s->H[column[r] * VF_WINDOW_COLUMNS + column[c]] += h;
        }
    }
    return cost;
}

static struct vf_landmark_rig landmark_rig(const struct vf_window *w)
{
    struct vf_landmark_rig rig;
    for (int k = 0; k < 9; k++) rig.R_1_0[k] = (float)w->rig.R_1_0[k];
    for (int k = 0; k < 3; k++) rig.t_1_0[k] = (float)w->rig.t_1_0_m[k];
    rig.disparity = (float)w->disparity_rad;
    return rig;
}

/** Poses of all frames relative to a host, and their maps. */
static void relative_to(const struct vf_window *w, int32_t host, struct vf_pose pose[VF_WINDOW_FRAMES],
                        struct vf_relative_map map[VF_WINDOW_FRAMES])
{
    memset(pose, 0, VF_WINDOW_FRAMES * sizeof *pose);
    memset(map, 0, VF_WINDOW_FRAMES * sizeof *map);
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++) {
        if (!w->slot[f].number) continue;
        vf_relative_map_of(w, &w->slot[host], &w->slot[f], &map[f]);
        vf_relative_pose(w, &w->slot[host], &w->slot[f], &pose[f]);
    }
}

/** Sights of the landmarks of a host, added to a system. Returns twice their cost. */
static double add_landmarks(struct vf_window *w, struct vf_window_system *s, int32_t host)
{
    struct vf_pose pose[VF_WINDOW_FRAMES];
    struct vf_relative_map map[VF_WINDOW_FRAMES];
    struct vf_relative e;
    const struct vf_landmark_rig rig = landmark_rig(w);
    double cost = 0.0;
    memset(&e, 0, sizeof e);
    relative_to(w, host, pose, map);
    for (int32_t i = 0; i < VF_WINDOW_LANDMARKS; i++) {
        const struct vf_landmark *l = &w->landmark[i];
        if (!l->id || l->host != host) continue;
        struct vf_landmark_rows rows;
        vf_landmark_rows_of(&rows, l, &rig, pose);
        vf_landmark_factor(rows.point, w->row[i].R);
        vf_landmark_keep(&w->row[i], &rows);
        vf_relative_landmark(&e, l, &rows, &w->row[i]);
        cost += (double)rows.cost;
    }
    vf_relative_add(s, &e, host, map);
    return cost;
}

/** System of all factors at the estimate; returns twice the cost. */
static double linearise(struct vf_window *w)
{
    memset(&w->system, 0, sizeof w->system);
    double cost = add_prior(w, &w->system);
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++) {
        if (!w->slot[f].number) continue;
        const int32_t a = w->slot[f].state >= 0 ? before(w, f) : -1;
        if (a >= 0) cost += add_inertial(w, &w->system, a, f);
        if (w->slot[f].keyframe) cost += add_landmarks(w, &w->system, f);
    }
    return cost;
}

/** Twice the cost of all factors. */
static double cost_of(const struct vf_window *w)
{
    const struct vf_landmark_rig rig = landmark_rig(w);
    double x[VF_WINDOW_COLUMNS], cost = 0.0;
    const int n = VF_WINDOW_COLUMNS;
    from_first(w, x);
    for (int r = 0; r < n; r++) {
        double sum = 2.0 * w->prior.g[r];
        for (int c = 0; c < n; c++) sum += w->prior.H[r * n + c] * x[c];
        cost += x[r] * sum;
    }
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++) {
        if (!w->slot[f].number) continue;
        const int32_t a = w->slot[f].state >= 0 ? before(w, f) : -1;
        struct vf_inertial i;
        if (a >= 0) {
            vf_inertial_of(&i, &w->slot[a], &w->slot[f], &w->noise);
            for (int k = 0; k < VF_NAV_ERRORS; k++) cost += i.r[k] * i.r[k];
        }
        if (!w->slot[f].keyframe) continue;
        struct vf_pose pose[VF_WINDOW_FRAMES];
        struct vf_relative_map map[VF_WINDOW_FRAMES];
        relative_to(w, f, pose, map);
        for (int32_t k = 0; k < VF_WINDOW_LANDMARKS; k++) {
            struct vf_landmark_rows rows;
            if (!w->landmark[k].id || w->landmark[k].host != f) continue;
            vf_landmark_rows_of(&rows, &w->landmark[k], &rig, pose);
            cost += (double)rows.cost;
        }
    }
    return cost;
}

/* ---- optimisation ------------------------------------------------------------------------------------------------ */

static void keep(struct vf_window *w)
{
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) w->kept[f] = w->slot[f].value;
    w->kept_offset_s = w->offset_s;
    w->kept_disparity_rad = w->disparity_rad;
    memcpy(w->kept_mount, w->mount, sizeof w->mount);
    for (int i = 0; i < VF_WINDOW_LANDMARKS; i++) {
        memcpy(w->kept_landmark[i], w->landmark[i].bearing, 3 * sizeof(float));
        w->kept_landmark[i][3] = w->landmark[i].inverse;
    }
}

static void undo(struct vf_window *w)
{
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) w->slot[f].value = w->kept[f];
    w->offset_s = w->kept_offset_s;
    w->disparity_rad = w->kept_disparity_rad;
    memcpy(w->mount, w->kept_mount, sizeof w->mount);
    for (int i = 0; i < VF_WINDOW_LANDMARKS; i++) {
        memcpy(w->landmark[i].bearing, w->kept_landmark[i], 3 * sizeof(float));
        w->landmark[i].inverse = w->kept_landmark[i][3];
    }
}

/** Landmarks of a host moved with the poses by a solution. */
static void move_landmarks(struct vf_window *w, int32_t host, const double x[VF_WINDOW_COLUMNS])
{
    struct vf_pose pose[VF_WINDOW_FRAMES];
    struct vf_relative_map map[VF_WINDOW_FRAMES];
    float change[VF_WINDOW_FRAMES][6];
    memset(change, 0, sizeof change);
    relative_to(w, host, pose, map);
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && f != host) vf_relative_change(x, host, f, &map[f], change[f]);
    for (int32_t i = 0; i < VF_WINDOW_LANDMARKS; i++)
        if (w->landmark[i].id && w->landmark[i].host == host)
            vf_landmark_move(&w->landmark[i], &w->row[i], (const float(*)[6])change, (float)x[VF_WINDOW_DISPARITY]);
}

/** Step of the optimisation from the system at the estimate. */
static void advance(struct vf_window *w, double damping)
{
    double x[VF_WINDOW_COLUMNS];
    vf_solve_factor(w->system.H, w->factor, VF_WINDOW_COLUMNS, VF_WINDOW_COLUMNS, damping);
    for (int c = 0; c < VF_WINDOW_COLUMNS; c++) x[c] = -w->system.g[c];
    vf_solve_forward(w->factor, x, VF_WINDOW_COLUMNS, VF_WINDOW_COLUMNS);
    vf_solve_back(w->factor, x, VF_WINDOW_COLUMNS, VF_WINDOW_COLUMNS);
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].keyframe) move_landmarks(w, f, x);
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number) add(&w->slot[f].value, &w->slot[f], f, x);
    w->offset_s += x[VF_WINDOW_OFFSET];
    w->disparity_rad += x[VF_WINDOW_DISPARITY];
    double turn[4];
    vf_quaternion_exponential(&x[VF_WINDOW_MOUNT], turn);
    vf_quaternion_multiply(turn, w->mount, w->mount);
    vf_quaternion_unit(w->mount);
}

static void optimise(struct vf_window *w)
{
    double damping = 1e-5;
    w->cost = linearise(w);
    for (int i = 0; i < VF_WINDOW_ITERATIONS; i++) {
        keep(w);
        advance(w, damping);
        const double cost = cost_of(w);
        const int good = cost < w->cost;
        if (!good) undo(w);
        damping = good ? 0.1 * damping : 100.0 * damping;
        w->cost = linearise(w);
    }
}

/** Covariance of the newest state and the offset, from the system at the estimate. */
static void cover(struct vf_window *w)
{
    const struct vf_window_slot *s = &w->slot[w->newest];
    int column[VF_WINDOW_SAID];
    const int n = VF_WINDOW_COLUMNS;
    vf_solve_factor(w->system.H, w->factor, n, n, 0.0);
    for (int i = 0; i < VF_NAV_ERRORS; i++) column[i] = column_of(s, w->newest, i);
    column[VF_WINDOW_SAID_OFFSET] = VF_WINDOW_OFFSET;
    column[VF_WINDOW_SAID_DISPARITY] = VF_WINDOW_DISPARITY;
    for (int i = 0; i < VF_WINDOW_SAID; i++) {
        double x[VF_WINDOW_COLUMNS] = {0};
        x[column[i]] = 1.0;
        vf_solve_forward(w->factor, x, n, n);
        vf_solve_back(w->factor, x, n, n);
        for (int j = 0; j < VF_WINDOW_SAID; j++) w->covariance[VF_WINDOW_SAID * i + j] = x[column[j]];
    }
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/** Free slot of a frame; there is one. */
static int32_t free_slot(const struct vf_window *w)
{
    int32_t slot = 0;
    while (slot < VF_WINDOW_FRAMES - 1 && w->slot[slot].number) slot++;
    return slot;
}

static int32_t free_state(const struct vf_window *w)
{
    int used[VF_WINDOW_STATES] = {0}, state = 0;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].state >= 0) used[w->slot[f].state] = 1;
    while (state < VF_WINDOW_STATES - 1 && used[state]) state++;
    return state;
}

/** Angular rate at a time, of the nearest reading, less bias. */
static void rate_at(const vfront_imu_t *imu, uint32_t n, uint64_t t_ns, const double bias[6], double rate[3])
{
    uint32_t at = vf_imu_until(imu, n, t_ns);
    if (at == n || (at > 0 && t_ns - imu[at - 1].t_ns < imu[at].t_ns - t_ns)) at--;
    for (int k = 0; k < 3; k++) rate[k] = imu[at].gyro_rad_s[k] - bias[k];
}

/** Noise of readings over that stated: those of a frame into the running mean. */
static void watch_readings(struct vf_window *w, const vfront_imu_t *imu, uint32_t n, uint64_t from_ns, uint64_t to_ns)
{
    double now[2];
    if (!vf_imu_noisy(&w->noise, imu, n, from_ns, to_ns, now)) return;
    for (int k = 0; k < 2; k++) w->noisy[k] += VF_WINDOW_NOISY * (now[k] - w->noisy[k]);
}

static uint64_t shifted(uint64_t t_ns, double offset_s)
{
    return offset_s < 0.0 ? t_ns - (uint64_t)(-offset_s * 1e9) : t_ns + (uint64_t)(offset_s * 1e9);
}

/** State at the end of its preintegral, by the one before. */
static void carry_on(const struct vf_window_value *from, const struct vf_preintegral *d, double gravity,
                     struct vf_window_value *to)
{
    double R[9], v[3], p[3];
    vf_quaternion_matrix(from->q, R);
    vf_transform_double(R, d->v, v);
    vf_transform_double(R, d->p, p);
    *to = *from;
    for (int k = 0; k < 3; k++) {
        const double g = k == 2 ? -gravity : 0.0;
        to->p[k] += from->v[k] * d->dt_s + 0.5 * g * d->dt_s * d->dt_s + p[k];
        to->v[k] += g * d->dt_s + v[k];
    }
    vf_quaternion_multiply(from->q, d->q, to->q);
    vf_quaternion_unit(to->q);
}

/** New frame: a slot with the state that the readings say. */
static void append(struct vf_window *w, const struct vf_window_frame *frame)
{
    struct vf_window_slot *last = &w->slot[w->newest];
    const int32_t at = free_slot(w);
    struct vf_window_slot *s = &w->slot[at];
    struct vf_imu_model model = vf_imu_model_of(&w->noise, frame->imu, frame->readings);
    const uint64_t from_ns = shifted(last->t_ns, last->offset_s), to_ns = shifted(frame->t_ns, w->offset_s);
    const int32_t state = free_state(w);
    watch_readings(w, frame->imu, frame->readings, from_ns, to_ns);
    if (w->noisy[0] > 1.0) model.noise.gyro_density *= sqrt(w->noisy[0]);
    if (w->noisy[1] > 1.0) model.noise.accel_density *= sqrt(w->noisy[1]);
    memset(s, 0, sizeof *s);
    memcpy(s->bias, last->value.bias, sizeof s->bias);
    vf_preintegrate(&s->motion, &model, s->bias, s->bias + 3, frame->imu, frame->readings, from_ns, to_ns);
    carry_on(&last->value, &s->motion, w->noise.gravity_m_s2, &s->value);
    rate_at(frame->imu, frame->readings, to_ns, s->bias, s->rate);
    if (last->number == 1) rate_at(frame->imu, frame->readings, from_ns, s->bias, last->rate);
    s->state = state;
    s->number = ++w->number;
    s->t_ns = frame->t_ns;
    s->offset_s = w->offset_s;
    w->flags = s->motion.flags;
    w->newest = at;
}

/* ---- landmarks --------------------------------------------------------------------------------------------------- */

static int32_t landmark_of(const struct vf_window *w, uint32_t id)
{
    for (int32_t i = 0; i < VF_WINDOW_LANDMARKS; i++)
        if (w->landmark[i].id == id) return i;
    return -1;
}

static void sight(struct vf_landmark *l, int32_t slot, const struct vf_sight *seen)
{
    struct vf_window_sight *s = &l->sight[slot];
    memcpy(s->bearing, seen->bearing, sizeof s->bearing);
    memcpy(s->other, seen->other, sizeof s->other);
    s->weight = 1.0f / seen->sigma;
    s->other_weight = seen->other_sigma > 0.0f ? 1.0f / seen->other_sigma : 0.0f;
    l->seen |= 1u << slot;
}

/** Sights of landmarks in the newest frame. Returns their number. */
static uint32_t observe(struct vf_window *w, const struct vf_window_frame *frame)
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < frame->sights; i++) {
        const int32_t at = frame->sight[i].id ? landmark_of(w, frame->sight[i].id) : -1;
        if (at < 0) continue;
        sight(&w->landmark[at], w->newest, &frame->sight[i]);
        known++;
    }
    return known;
}

/** Inverse range of a sight by its partner, or the mean one. */
static float range_of(const struct vf_window *w, const struct vf_sight *seen)
{
    const struct vf_landmark_rig rig = landmark_rig(w);
    float along[3], turned[3];
    if (w->rig.cameras < 2 || !(seen->other_sigma > 0.0f)) return VF_WINDOW_RANGE_MEAN;
    vf_landmark_along(&rig, seen->other, along);
    vf_transform(rig.R_1_0, seen->bearing, turned);
    return -vf_dot(along, turned) / vf_dot(along, rig.t_1_0);
}

static int bits(uint32_t v)
{
    int count = 0;
    for (; v; v &= v - 1) count++;
    return count;
}

/** Slot for a new landmark: an empty one, or else of those that the newest frame does not see the one that the fewest
 *  frames saw; -1: none. */
static int32_t landmark_slot(const struct vf_window *w)
{
    int32_t best = -1, fewest = VF_WINDOW_FRAMES + 1;
    for (int32_t i = 0; i < VF_WINDOW_LANDMARKS; i++) {
        const struct vf_landmark *l = &w->landmark[i];
        if (!l->id) return i;
        if (l->seen >> w->newest & 1 || bits(l->seen) >= fewest) continue;
        fewest = bits(l->seen);
        best = i;
    }
    return best;
}

/** Landmarks of all tracks of the newest frame that are none yet, hosted in it. */
static void found(struct vf_window *w, const struct vf_window_frame *frame)
{
    w->slot[w->newest].keyframe = 1;
    for (uint32_t i = 0; i < frame->sights; i++) {
        const struct vf_sight *seen = &frame->sight[i];
        if (!seen->id || landmark_of(w, seen->id) >= 0) continue;
        const int32_t at = landmark_slot(w);
        if (at < 0) return;
        struct vf_landmark *l = &w->landmark[at];
        memset(l, 0, sizeof *l);
        l->id = seen->id;
        l->host = w->newest;
        memcpy(l->bearing, seen->bearing, sizeof l->bearing);
        l->inverse = range_of(w, seen);
        sight(l, w->newest, seen);
    }
}

/* ---- marginalisation --------------------------------------------------------------------------------------------- */

static int32_t oldest_state(const struct vf_window *w)
{
    int32_t oldest = -1;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].state >= 0 && (oldest < 0 || w->slot[f].number < w->slot[oldest].number))
            oldest = f;
    return oldest;
}

/** Number of frames; of those with velocity and biases. */
static int count_frames(const struct vf_window *w, int *states)
{
    int count = 0;
    *states = 0;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
        count += w->slot[f].number != 0;
        *states += w->slot[f].number && w->slot[f].state >= 0;
    }
    return count;
}

/** Distance between two frames [m]. */
static double apart(const struct vf_window *w, int32_t a, int32_t b)
{
    double square = 0.0;
    for (int k = 0; k < 3; k++) {
        const double d = w->slot[a].value.p[k] - w->slot[b].value.p[k];
        square += d * d;
    }
    return sqrt(square);
}

/** Keyframe that has to leave, of those with a pose alone: the oldest of which the newest frame sees less than a
 *  twentieth of the landmarks; or else the one that is close to others and far from the newest. */
static int32_t keyframe_to_leave(const struct vf_window *w)
{
    int32_t oldest = -1, best = -1;
    double most = -1.0;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++) {
        if (!w->slot[f].number || w->slot[f].state >= 0) continue;
        int hosted = 0, alive = 0;
        double close = 0.0;
        for (int i = 0; i < VF_WINDOW_LANDMARKS; i++) {
            if (!w->landmark[i].id || w->landmark[i].host != f) continue;
            hosted++;
            alive += (int)(w->landmark[i].seen >> w->newest & 1);
        }
        if (20 * alive <= hosted && (oldest < 0 || w->slot[f].number < w->slot[oldest].number)) oldest = f;
        for (int32_t g = 0; g < VF_WINDOW_FRAMES; g++)
            if (g != f && w->slot[g].number && w->slot[g].state < 0) close += 1.0 / (apart(w, f, g) + 1e-3);
        const double score = sqrt(apart(w, f, w->newest)) * close;
        if (score > most) {
            most = score;
            best = f;
        }
    }
    return oldest >= 0 ? oldest : best;
}

/** The prior's first estimate of a frame, if it is not in the prior yet. */
static void enter_prior(struct vf_window *w, int32_t f)
{
    if (w->slot[f].prior) return;
    w->slot[f].prior = 1;
    w->slot[f].first = w->slot[f].value;
}

/** Landmarks of a host go into a system, and their frames into the prior. */
static void spend_landmarks(struct vf_window *w, struct vf_window_system *s, int32_t host)
{
    uint32_t seen = 0;
    add_landmarks(w, s, host);
    for (int i = 0; i < VF_WINDOW_LANDMARKS; i++) {
        if (!w->landmark[i].id || w->landmark[i].host != host) continue;
        if (w->landmark[i].seen & ~(1u << host)) seen |= w->landmark[i].seen;
        w->landmark[i].id = 0;
    }
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (seen >> f & 1) enter_prior(w, f);
}

/** Frame leaves: nobody sees anything from it. */
static void leave(struct vf_window *w, int32_t slot)
{
    for (int i = 0; i < VF_WINDOW_LANDMARKS; i++) w->landmark[i].seen &= ~(1u << slot);
    memset(&w->slot[slot], 0, sizeof w->slot[slot]);
    w->slot[slot].state = -1;
}

/** Oldest state without its velocity and biases, or without all if it is no keyframe; and a keyframe, if there are too
 *  many. What they say of the others becomes the prior. */
static void marginalise(struct vf_window *w)
{
    int gone[VF_NAV_ERRORS + 6], count = 0, states;
    const int frames = count_frames(w, &states);
    if (states < VF_WINDOW_STATES) return;
    const int32_t a = oldest_state(w);
    const int stays = w->slot[a].keyframe;
    const int32_t key = stays && frames - states >= VF_WINDOW_KEYFRAMES ? keyframe_to_leave(w) : -1;
    struct vf_window_system *s = &w->system;
    double x[VF_WINDOW_COLUMNS];
    memset(s, 0, sizeof *s);
    add_prior(w, s);
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number == w->slot[a].number + 1 && w->slot[f].state >= 0) {
            add_inertial(w, s, a, f);
            enter_prior(w, f);
        }
    enter_prior(w, a);
    if (key >= 0) spend_landmarks(w, s, key);
    for (int i = stays ? 6 : 0; i < VF_NAV_ERRORS; i++) gone[count++] = column_of(&w->slot[a], a, i);
    for (int i = 0; i < 6 && key >= 0; i++) gone[count++] = column_of(&w->slot[key], key, i);
    vf_solve_eliminate(s, gone, count);
    if (stays)
        w->slot[a].state = -1;
    else
        leave(w, a);
    if (key >= 0) leave(w, key);
    from_first(w, x);
    for (int r = 0; r < VF_WINDOW_COLUMNS; r++) { /* the slope at the first estimates */
        double sum = 0.0;
        for (int c = 0; c < VF_WINDOW_COLUMNS; c++) sum += s->H[r * VF_WINDOW_COLUMNS + c] * x[c];
        s->g[r] -= sum;
    }
    w->prior = *s;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

void vf_window_start(struct vf_window *w, const struct vf_window_rig *rig, const vfront_imu_noise_t *noise,
                     const vfront_nav_t *first)
{
    double P[VF_NAV_ERRORS * VF_NAV_ERRORS];
    const int n = VF_WINDOW_COLUMNS, m = VF_NAV_ERRORS;
    memset(w, 0, sizeof *w);
    w->rig = *rig;
    w->noise = *noise;
    w->number = 1;
    w->noisy[0] = w->noisy[1] = 1.0;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) w->slot[f].state = -1;
    struct vf_window_slot *s = &w->slot[0];
    s->number = 1;
    s->state = 0;
    s->prior = 1;
    s->t_ns = first->t_ns;
    memcpy(s->value.p, first->position_m, sizeof s->value.p);
    memcpy(s->value.v, first->velocity_mps, sizeof s->value.v);
    memcpy(s->value.q, first->q_odom_imu, sizeof s->value.q);
    memcpy(s->value.bias, first->gyro_bias_rad_s, sizeof first->gyro_bias_rad_s);
    memcpy(s->value.bias + 3, first->accel_bias_m_s2, sizeof first->accel_bias_m_s2);
    s->first = s->value;
    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j++) {
            P[i * m + j] = P[j * m + i] = first->covariance[vf_nav_index(i, j)];
            w->covariance[VF_WINDOW_SAID * i + j] = w->covariance[VF_WINDOW_SAID * j + i] = P[i * m + j];
        }
    w->covariance[VF_WINDOW_SAID_OFFSET * (VF_WINDOW_SAID + 1)] = VF_WINDOW_OFFSET_S * VF_WINDOW_OFFSET_S;
    w->covariance[VF_WINDOW_SAID_DISPARITY * (VF_WINDOW_SAID + 1)] = VF_WINDOW_DISPARITY_RAD * VF_WINDOW_DISPARITY_RAD;
    vf_solve_factor(P, P, m, m, 0.0);
    for (int i = 0; i < m; i++) {
        double x[VF_NAV_ERRORS] = {0};
        x[i] = 1.0;
        vf_solve_forward(P, x, m, m);
        vf_solve_back(P, x, m, m);
        for (int j = 0; j < m; j++) w->prior.H[column_of(s, 0, i) * n + column_of(s, 0, j)] = x[j];
    }
    w->prior.H[VF_WINDOW_OFFSET * n + VF_WINDOW_OFFSET] = 1.0 / (VF_WINDOW_OFFSET_S * VF_WINDOW_OFFSET_S);
    vf_window_quaternion(rig->R_imu_cam, w->mount);
    memcpy(w->first_mount, w->mount, sizeof w->mount);
    for (int k = 0; k < 3; k++)
        w->prior.H[(VF_WINDOW_MOUNT + k) * (n + 1)] = 1.0 / (VF_WINDOW_MOUNT_RAD * VF_WINDOW_MOUNT_RAD);
    w->prior.H[VF_WINDOW_DISPARITY * n + VF_WINDOW_DISPARITY] = 1.0 /
                                                                (VF_WINDOW_DISPARITY_RAD * VF_WINDOW_DISPARITY_RAD);
}

void vf_window_step(struct vf_window *w, const struct vf_window_frame *frame)
{
    const int first = frame->t_ns == w->slot[w->newest].t_ns;
    if (!first) append(w, frame);
    const uint32_t known = observe(w, frame);
    optimise(w);
    cover(w);
    if (frame->sights && (float)known < VF_WINDOW_KNOWN * (float)frame->sights) found(w, frame);
    marginalise(w);
}

void vf_window_nav(const struct vf_window *w, vfront_nav_t *nav)
{
    const struct vf_window_slot *s = &w->slot[w->newest];
    memset(nav, 0, sizeof *nav);
    nav->t_ns = shifted(s->t_ns, s->offset_s);
    memcpy(nav->position_m, s->value.p, sizeof nav->position_m);
    memcpy(nav->velocity_mps, s->value.v, sizeof nav->velocity_mps);
    memcpy(nav->q_odom_imu, s->value.q, sizeof nav->q_odom_imu);
    memcpy(nav->gyro_bias_rad_s, s->value.bias, sizeof nav->gyro_bias_rad_s);
    memcpy(nav->accel_bias_m_s2, s->value.bias + 3, sizeof nav->accel_bias_m_s2);
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++)
            nav->covariance[vf_nav_index(i, j)] = w->covariance[VF_WINDOW_SAID * i + j];
    nav->flags = w->flags;
}
