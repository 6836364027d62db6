# SPDX-License-Identifier: MIT
"""Runs of recorded sets under drawn changes through the public interface, and their errors beside the truth: the parts of tests/nav/rates.py."""
import ctypes
import os
import sys
from collections import namedtuple

import numpy as np

for room in ("geometry", "fixture", "imu", "vio", "vio_init"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", room))
from nav import AHEAD_NS, GOOD, GOOD_MOTION, NO_GRAVITY, STEREO_ONLY, Front, pointer_of
from propagate import Nav, Noise, Set, full, matrix, imu_samples, vector
from start import about_z
from vio import Pictures, Truth, turn

COASTING = 3
FRAMES = {"euroc_mh01_a": 171, "kitti05_vio": 60, "kitti01_stereo": 51, "euroc_v101_static_a": 15}
STEREO, MONO, NO_IMU = "stereo", "mono", "no-imu"
RIGS = (STEREO, MONO, NO_IMU)
# Positions and velocities of the truth are those of its rows so much later: chained motions and states with and without an IMU fit best at 6 to
# 9 ms. Its attitudes fit at 0 (squared errors of motions' rotations: 1.2 variances at 0, 2.8 at 2 ms).
LATE_NS = {"euroc_mh01_a": 6_400_000}
# Standard deviations of the truth: position [m], tilt, yaw since the first state [rad], velocity [m/s] (tests/imu/propagate.py,
# tests/vio_init/start.py); of a motion over one interval of the set [m], [rad] (tests/geometry/truth.py).
TRUTH = {"euroc_mh01_a": (1e-3, 2e-3, 5e-4, 5e-3, 1.7e-4, 7e-5), "euroc_v101_static_a": (1e-3, 2e-3, 5e-4, 7e-3, 1.7e-4, 7e-5),
         "kitti05_vio": (1e-2, 2e-3, 7e-4, 2e-2, 5e-3, 4e-4), "kitti01_stereo": (1e-2, 2e-3, 7e-4, 2e-2, 5e-3, 4e-4)}
LEAST_STATES, LEAST_S = 5, {"euroc_v101_static_a": 0.3}  # of a run with an ATE; others 0.5 s
SECOND_S, APART_S = 1.0, 0.15  # of the attitude error: time between two frames, and how far it may be off
LATER_S = 5.0  # time since the first frame that divides early and late pairs

# A run: set, rig, every n-th pair, pairs lost [%], first frame, bias of the gyro [rad/s], seed of losses and of the bias's direction, a tuning
# value that is 0.
Run = namedtuple("Run", "set rig every loss start bias seed off", defaults=(1, 0, 0, 0.0, 0, ""))


class Flight:
    """Images, IMU samples and truth of a set."""

    def __init__(self, name):
        self.name, self.one, self.pictures = name, Set(name), Pictures(name, FRAMES[name])
        self.truth, self.late = Truth(self.one), LATE_NS.get(name, 0)
        self.frames = [[np.ascontiguousarray(p) for p in f[:2]] for f in self.pictures.frames]
        self.C, self.c = self.pictures.T[:3, :3], self.pictures.T[:3, 3]

    def covers(self, t):
        return self.truth.covers(t) and self.truth.covers(t + self.late)

    def at(self, t):
        """Position, attitude, velocity of the IMU."""
        p, R, v = self.truth.at(t)
        if self.late:
            p, _, v = self.truth.at(t + self.late)
        return p, R, v

    def camera(self, t):
        """Position and attitude of camera 0."""
        p, R, _ = self.at(t)
        return p + R @ self.c, R @ self.C


def given_frames(run, count):
    """Indices of the pairs that reach the library."""
    chosen = np.arange(run.start, count, run.every)
    return chosen[np.random.default_rng((run.seed, 1)).random(len(chosen)) * 100 >= run.loss] if run.loss else chosen


def bias_of(run):
    """Bias added to the gyro: a direction drawn uniformly [rad/s]."""
    direction = np.random.default_rng((run.seed, 2)).normal(size=3)
    return run.bias * direction / np.linalg.norm(direction)


def motion_of(c):
    """State, R, t and covariance of the last frame's metric motion."""
    out, S = np.zeros(26), np.zeros(21)
    c.bridge_motions(pointer_of(out))
    c.bridge_metric_covariance(pointer_of(S))
    P = np.zeros((6, 6))
    P[np.triu_indices(6)] = S
    return out[0] == GOOD_MOTION, out[1:10].reshape(3, 3), out[10:13], P + np.triu(P, 1).T


def fly(flight, run, library, tuning):
    """Per frame: stamp, state, metric motion. Samples of a lost pair come with the next one. Also the number of refused frames."""
    pictures, one, imu_there = flight.pictures, flight.one, run.rig != NO_IMU
    front = Front(library, pictures, Noise(*(one.noise if imu_there else (0.0,) * 8)), ["vio=1"] + tuning + [run.off] * bool(run.off), 1 if run.rig == MONO else 2)
    gyro, refused, out = one.gyro + bias_of(run), 0, []
    given = max(int(np.searchsorted(one.t_ns, pictures.stamps[run.start])) - 2, 0)
    for k in given_frames(run, len(pictures.stamps)):
        stamp, nav, more = pictures.stamps[k], Nav(), np.zeros(4)
        to = max(int(np.searchsorted(one.t_ns, stamp + AHEAD_NS)), given)
        imu = imu_samples(one.t_ns[given:to], gyro[given:to], one.accel[given:to]) if imu_there and to > given else None
        pair = (ctypes.c_void_p * 2)(*[p.ctypes.data for p in flight.frames[k]])
        if front.c.bridge_frame(pair, ctypes.c_uint64(stamp), ctypes.c_uint64(0), imu, to - given if imu else 0, ctypes.byref(nav), pointer_of(more)):
            refused += 1
            continue
        given = to
        out.append((stamp, nav, motion_of(front.c)))
    return out, refused


# ---- errors -------------------------------------------------------------------------------------------------------------------------


def aligned(a, b, any_turn):
    """Positions a after the best shift and rotation, about z or any, onto b."""
    A, B = a - a.mean(0), b - b.mean(0)
    H = A.T @ B
    if any_turn:
        U, _, V = np.linalg.svd(H.T)
        R = U @ np.diag([1, 1, np.linalg.det(U @ V)]) @ V
    else:
        angle = np.arctan2(H[0, 1] - H[1, 0], H[0, 0] + H[1, 1])
        c, s = np.cos(angle), np.sin(angle)
        R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    return A @ R.T + b.mean(0)


def ate(rows, any_turn, least_s=0.5):
    """Root mean square position error of rows (t, p, p true) [m]; None of too few."""
    if len(rows) < LEAST_STATES or rows[-1, 0] - rows[0, 0] < least_s - 1e-3:
        return None
    return float(np.sqrt(((aligned(rows[:, 1:4], rows[:, 4:7], any_turn) - rows[:, 4:7])**2).sum(1).mean()))


def chain(flight, out):
    """Position of the IMU and attitude of camera 0 per frame by chained metric motions. A motion that is not GOOD has the velocity and rate of
    the last GOOD one; before the first there is none."""
    p, R, poses, last, before = np.zeros(3), np.eye(3), [], None, out[0][0]
    for k, (stamp, _, (good, S, t, _)) in enumerate(out):
        dt, before = stamp - before, stamp
        if k and good:
            last = dt, vector(S), t
        if k and last:
            part = dt / last[0]
            S, t = turn(last[1] * part), last[2] * part
            R = R @ S.T
            p = p - R @ t
        poses.append((p - R @ flight.C.T @ flight.c, R))
    return poses


def relative(A, B):
    """Rotation vector of the difference of two motions [rad]."""
    return float(np.linalg.norm(vector(A @ B.T)))


def seconds(flight, out, valid, poses):
    """Attitude error over a second, of state and of chained motions, per pair of frames of one trajectory: (late, state, motions) [rad]."""
    t, rows = np.array([s for s, _, _ in out]) * 1e-9, []
    for i in valid:
        j = int(np.argmin(np.abs(t - t[i] - SECOND_S)))
        a, b = out[i][1], out[j][1]
        ends = j == len(t) - 1 and t[j] - t[i] < SECOND_S - 1e-3
        if ends or abs(t[j] - t[i] - SECOND_S) > APART_S or j not in valid or a.reset_counter != b.reset_counter:
            continue
        own, true = [matrix(np.array(n.q)) for n in (a, b)], [flight.at(n.t_ns)[1] for n in (a, b)]
        cameras = [flight.camera(out[k][0])[1] for k in (i, j)]
        rows.append((t[i] - t[0] >= LATER_S, relative(own[0].T @ own[1], true[0].T @ true[1]),
                     relative(poses[i][1].T @ poses[j][1], cameras[0].T @ cameras[1])))
    return np.array(rows).reshape(-1, 3)


def states(flight, out, valid):
    """Per state: error of position, attitude, velocity, and its covariance plus the truth's. Truth turned about z and shifted to the first state of
    each trajectory; to its whole attitude without gravity."""
    errors, covariances, counter = [], [], None
    position, tilt, yaw, speed = TRUTH[flight.name][:4]
    for k in valid:
        n = out[k][1]
        p, R, v = flight.at(n.t_ns)
        own, q, free = np.array(n.p), matrix(np.array(n.q)), n.flags & NO_GRAVITY
        if n.reset_counter != counter:
            counter, p0, o0, Z = n.reset_counter, p, own, q @ R.T if free else about_z(q @ R.T)
        e = np.r_[Z @ (p - p0) + o0 - own, vector(Z @ R @ q.T), Z @ v - np.array(n.v)]
        errors.append(e)
        covariances.append(full(np.array(n.covariance))[:9, :9] + np.diag(np.r_[[position] * 3, [yaw if free else tilt] * 2, yaw, [speed] * 3])**2)
    return np.array(errors).reshape(-1, 9), np.array(covariances).reshape(-1, 9, 9)


def nees(errors, covariances, at):
    """e' S^-1 e / 3 per row, of three elements."""
    e = errors[:, at:at + 3]
    return (e * np.linalg.solve(covariances[:, at:at + 3, at:at + 3], e[:, :, None])[:, :, 0]).sum(1) / 3


def motions(flight, out):
    """Per GOOD metric motion: NEES an element of translation, of rotation."""
    shift, spin, spacing, rows = *TRUTH[flight.name][4:], flight.pictures.stamps[1] - flight.pictures.stamps[0], []
    for (before, _, _), (stamp, _, (good, R, t, S)) in zip(out, out[1:]):
        if not good or not flight.covers(before) or not flight.covers(stamp):
            continue
        (p0, R0), (p1, R1) = flight.camera(before), flight.camera(stamp)
        e, own = np.r_[R1.T @ (p0 - p1) - t, vector(R1.T @ R0 @ R.T)], (stamp - before) / spacing
        P = S + np.diag(np.repeat([shift * own, spin * own], 3))**2
        rows.append([e[k:k + 3] @ np.linalg.solve(P[k:k + 3, k:k + 3], e[k:k + 3]) / 3 for k in (0, 3)])
    return np.array(rows).reshape(-1, 2)


def figures(flight, run, out, refused):
    """Figures of a run, as a dictionary."""
    best = STEREO_ONLY if run.rig == NO_IMU else GOOD
    t = np.array([s for s, _, _ in out]) * 1e-9
    state = np.array([n.state for _, n, _ in out])
    told = np.isin(state, (GOOD, COASTING, STEREO_ONLY))
    valid = [int(k) for k in np.flatnonzero(told) if flight.covers(out[k][1].t_ns) and flight.covers(out[k][0])]
    free = np.array([bool(out[k][1].flags & NO_GRAVITY) for k in valid])
    poses, after = chain(flight, out), t - t[0] >= 1.0
    path = np.array([np.r_[out[k][1].t_ns * 1e-9 - t[0], np.array(out[k][1].p), flight.at(out[k][1].t_ns)[0]] for k in valid]).reshape(-1, 7)
    by_motions = path.copy()
    by_motions[:, 1:4] = np.array([poses[k][0] for k in valid]).reshape(-1, 3)
    path[:, 0] += t[0] - flight.pictures.stamps[0] * 1e-9
    any_turn, metric, least = bool(len(free) and free.mean() > 0.5), run.rig != MONO, LEAST_S.get(run.set, 0.5)
    e, S = states(flight, out, valid)
    sigma = np.sqrt(np.array([np.diag(P) for P in S]).reshape(-1, 9))
    wrong = ((np.abs(e[:, :3]) > np.maximum(5 * sigma[:, :3], 0.05)).any(1) | (np.abs(e[:, 3:6]) > np.maximum(5 * sigma[:, 3:6], np.radians(2))).any(1))
    is_best = state[valid] == best
    return {"run": run, "frames": len(out), "refused": refused, "soon": bool((t[told] - t[0] <= 1.001).any()), "good": (int((state[after] == best).sum()), int(after.sum())), "valid": (int(told[after].sum()), int(after.sum())), "resets": int(out[-1][1].reset_counter),
            "path": path, "any_turn": any_turn, "ate": ate(path, any_turn, least), "rigid": ate(path, True, least),
            "chained": ate(by_motions, True, least) if metric else None,
            "metric": (sum(m[0] for _, _, m in out[1:]), len(out) - 1) if metric else (0, 0),
            "seconds": seconds(flight, out, set(valid), poses), "nees": np.array([nees(e, S, k) for k in (0, 3, 6)]) if len(e) else np.zeros((3, 0)),
            "motion_nees": motions(flight, out) if metric else np.zeros((0, 2)), "beyond": np.abs(e) > 3 * sigma, "wrong": (int((wrong & is_best).sum()), int(is_best.sum()))}
