#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""States of recorded flights from a cold start through the public interface, against ground truth.

    tests/nav/nav.py build/bridge_nav.so build/bridge_state.so [--quick] [--only set ...] [--first frame ...] [--set name=value ...]
                            [--imu] [--no-imu] [--mono] [--imu-gap from to] [--fitted] [--csv file]

--quick    40 frames of each set.
--first    First frame of the flight, 0.
--imu      Two cameras and the IMU. Default without this and the next two: all three, the last one on sets that have bounds.
--no-imu   Two cameras, no IMU in the rig.
--mono     Camera 0 and the IMU.
--imu-gap  Time range without samples, from the first frame on [s].
--fitted   KITTI's pairs with a calibration fitted to the truth (fitted.py).
--csv      Truth, estimate and standard deviations of each frame of the last flight.

Host port, default tuning. Sequences lie in $VFRONT_DATA or ../shared/data beside the project; missing ones are skipped. Exit status: 77
if all are missing, 1 if a bound of BOUNDS does not hold, else 0.

time     From the first frame to the first state [s]; states, stereo, resets: frames with a state; of these by two cameras alone; restarts.
         The columns below are over the states since the last restart.
ATE      Root mean square position error after the best rotation about z and shift [mm]; and in % of the path length.
chained  ATE of the chained metric motions of both cameras and of these states, after the best rotation and shift [mm].
scale    Factor from the estimated to the true size of the trajectory, less 1 [%].
1 s      Root mean square error of the motion over one second: position [mm], rotation [deg].
tilt, v  Root mean square error over the last 4 s [deg, mm/s].
NEES     Mean of e' S^-1 e / 3 of position, attitude, velocity, nominal 1; truth rotated about z and shifted to the first state. Without
         gravity the truth is rotated to the attitude of the first state, and tilt is relative to it.
us       Time per step of the stages observe and vio, median.
"""
import ctypes
import os
import sys

import numpy as np

for room in ("geometry", "fixture", "imu", "vio", "vio_init"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", room))
from fitted import SETS as FITTED, fitted
from pictures import need_data, place
from propagate import Nav, Noise, Set, full, matrix, imu_samples, vector
from start import about_z
from stereo import Rig
from vio import Pictures, Truth, pointer, rigid

SETS = {"euroc_mh01_a": 171, "kitti05_vio": 60, "kitti01_stereo": 51, "euroc_v101_static_a": 15, "rendered": 150}
BOTH, NO_IMU, MONO = "imu: two cameras and an IMU", "no-imu: two cameras", "mono: camera 0 and an IMU"
# Bounds: time to the first state [s], ATE [mm].
BOUNDS = {BOTH: {"euroc_mh01_a": (0.6, 10.0), "kitti05_vio": (1.5, 500.0), "kitti01_stereo": (1.5, 5000.0), "euroc_v101_static_a": (1.0, 10.0), "rendered": (0.6, 100.0)},
          NO_IMU: {"euroc_mh01_a": (0.2, 10.0), "kitti05_vio": (0.3, 500.0), "kitti01_stereo": (0.3, 5000.0), "euroc_v101_static_a": (0.2, 10.0), "rendered": (0.2, 100.0)},
          MONO: {"euroc_mh01_a": (3.0, 40.0)}}
AHEAD_NS = 20_000_000  # samples are available up to this time after a frame
GOOD, STEREO_ONLY = 2, 5
GOOD_MOTION = 1
NO_GRAVITY = 8  # of vfront_nav_flags_t
WIDTH, HEIGHT = 752, 480  # of rendered images


class Rendered:
    """Rendered flight with the interface of Pictures and Set."""

    def __init__(self, path, count):
        c, rig, state, imu = ctypes.CDLL(os.path.abspath(path)), np.zeros(36), np.zeros(15), np.zeros((4000, 7))
        if not c.bridge_rig(WIDTH, HEIGHT, pointer_of(rig)):
            raise SystemExit("no renderer")
        K, at = np.array([[rig[0], 0, rig[2]], [0, rig[1], rig[3]], [0, 0, 1]]), []
        for row in rig[4:16], rig[16:28]:
            at.append(np.vstack([np.c_[row[:9].reshape(3, 3), row[9:]], [0, 0, 0, 1]]))
        self.stamps = [10**9 + i * 33_333_333 for i in range(count)]
        self.T, self.move = np.linalg.inv(at[0]), at[1] @ np.linalg.inv(at[0])
        self.rig = Rig((WIDTH, HEIGHT), [K, K], [None, None], self.move[:3, :3], self.move[:3, 3])
        self.noise = tuple(rig[28:])
        self.frames = [self.picture(c, i) for i in range(count)]
        n = c.bridge_imu(ctypes.c_uint64(10**9 - 50_000_000), ctypes.c_uint64(self.stamps[-1] + 50_000_000), len(imu), pointer_of(imu))
        self.t_ns, self.gyro, self.accel, self.truth = np.round(imu[:n, 0] * 1e9).astype(np.int64), imu[:n, 1:4], imu[:n, 4:], []
        for t in range(10**9 - 50_000_000, self.stamps[-1] + 50_000_000, 5_000_000):
            c.bridge_truth(ctypes.c_uint64(t), pointer_of(state))
            self.truth.append((t, state[9:12].copy(), state[:9].reshape(3, 3).copy(), state[12:].copy()))

    @staticmethod
    def picture(c, i):
        pair = [np.zeros((HEIGHT, WIDTH), np.uint8) for _ in range(2)]
        c.bridge_render(i, WIDTH, HEIGHT, *[ctypes.c_void_p(p.ctypes.data) for p in pair])
        return pair


class Front:
    """Front end through the C library."""

    def __init__(self, path, pictures, noise, tuning, cameras):
        self.c = ctypes.CDLL(os.path.abspath(path))
        self.c.bridge_detail.restype = ctypes.c_char_p
        rows, T = np.zeros((2, 24)), np.linalg.inv(pictures.T)
        for k, one in enumerate((T, pictures.move @ T)):
            K, D = pictures.rig.K[k], np.zeros(5) if pictures.rig.D[k] is None else np.ravel(pictures.rig.D[k])
            rows[k, :4] = K[0, 0], K[1, 1], K[0, 2], K[1, 2]
            rows[k, 4:4 + len(D)] = D
            rows[k, 12:21], rows[k, 21:] = one[:3, :3].ravel(), one[:3, 3]
        names = (ctypes.c_char_p * len(tuning))(*[t.split("=")[0].encode() for t in tuning])
        values = (ctypes.c_int32 * len(tuning))(*[int(t.split("=")[1]) for t in tuning])
        size = (ctypes.c_int32 * 2)(*pictures.rig.size)
        status = self.c.bridge_open(size, pointer(rows), cameras, ctypes.byref(noise), names, values, len(tuning))
        if status:
            raise SystemExit("vfront_init: %d, %s" % (status, self.c.bridge_detail().decode()))

    def step(self, left, right, stamp, imu):
        """State, stage times and further values, metric and relative motion."""
        nav, more, motions = Nav(), np.zeros(4), np.zeros((2, 13))
        pair = (ctypes.c_void_p * 2)(left.ctypes.data, right.ctypes.data)
        status = self.c.bridge_frame(pair, ctypes.c_uint64(stamp), ctypes.c_uint64(0), imu, len(imu) if imu else 0, ctypes.byref(nav), pointer_of(more))
        if status:
            raise SystemExit("vfront_step: %d, %s" % (status, self.c.bridge_detail().decode()))
        self.c.bridge_motions(pointer_of(motions))
        return nav, more, motions


def pointer_of(a):
    return a.ctypes.data_as(ctypes.c_void_p)


def chained(pictures, out):
    """Positions of the IMU by chained metric motions; a motion that is not good is replaced by the previous one."""
    pose, places, move = np.eye(4), [], np.eye(4)
    for k, (_, _, _, motions) in enumerate(out):
        if motions[0, 0] == GOOD_MOTION:
            move = np.vstack([np.c_[motions[0, 1:10].reshape(3, 3), motions[0, 10:]], [0, 0, 0, 1]])
        if k:
            pose = pose @ np.linalg.inv(move)
        places.append((pose @ np.linalg.inv(pictures.T))[:3, 3])
    return np.array(places)


def scale_of(A, B):
    """Scale factor of A that fits B best."""
    a, b = A - A.mean(0), B - B.mean(0)
    return np.linalg.svd(b.T @ a)[1].sum() / (a * a).sum()


def fly(front, pictures, one, first, gap):
    """Result and further values of each frame."""
    start = pictures.stamps[first]
    there = np.ones(len(one.t_ns), bool)
    if gap:
        seconds = (one.t_ns.astype(np.int64) - np.int64(start)) * 1e-9
        there = (seconds < gap[0]) | (seconds >= gap[1])
    t_ns, gyro, accel = one.t_ns[there], one.gyro[there], one.accel[there]
    given, out = int(np.searchsorted(t_ns, start)) - 2, []
    for stamp, (left, right) in list(zip(pictures.stamps, [f[:2] for f in pictures.frames]))[first:]:
        to = int(np.searchsorted(t_ns, stamp + AHEAD_NS))
        at, given = slice(max(given, 0), to), max(to, given)
        imu = imu_samples(t_ns[at], gyro[at], accel[at]) if at.stop > at.start else None
        out.append((stamp,) + front.step(np.ascontiguousarray(left), np.ascontiguousarray(right), stamp, imu))
    return out


def report(name, pictures, truth, out, first):
    """Prints a row of the table. Returns time to the first state and ATE."""
    told = [(k, n) for k, (_, n, _, _) in enumerate(out) if n.state in (GOOD, STEREO_ONLY) and truth.covers(n.t_ns)]
    us = np.median([m[0] + m[1] for _, n, m, _ in out if n.state in (GOOD, STEREO_ONLY)] or [0])
    if len(told) < 10:
        print("%-16s %3d  no state in %d frames; states %s" % (name, first, len(out), [n.state for _, n, _, _ in out][-5:]))
        return np.inf, np.inf, []
    first_ns, kept = told[0][1].t_ns, [(k, n) for k, n in told if n.reset_counter == told[-1][1].reset_counter]
    counts, told = (len(told), sum(n.state == STEREO_ONLY for _, n in told)), kept
    start = told[0][1]
    p0, R0, _ = truth.at(start.t_ns)
    Z = matrix(np.array(start.q)) @ R0.T
    Z = Z if start.flags & NO_GRAVITY else about_z(Z)
    errors, own, true = [], [], []
    for _, n in told:
        p, R, v = truth.at(n.t_ns)
        R, p, v, q = Z @ R, Z @ (p - p0) + np.array(start.p), Z @ v, matrix(np.array(n.q))
        errors.append((np.r_[p - np.array(n.p), vector(R @ q.T), v - np.array(n.v)], full(np.array(n.covariance))[:9, :9]))
        own.append((np.array(n.p), q))
        true.append((p, R))
    e, S, t = np.array([x[0] for x in errors]), [x[1] for x in errors], np.array([n.t_ns for _, n in told]) * 1e-9
    a, b = np.array([p for p, _ in own]), np.array([p for p, _ in true])
    H = (a - a.mean(0)).T @ (b - b.mean(0))
    turn = np.arctan2(H[0, 1] - H[1, 0], H[0, 0] + H[1, 1])
    c, s = np.cos(turn), np.sin(turn)
    ate = np.sqrt((((a - a.mean(0)) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T - (b - b.mean(0)))**2).sum(1).mean())
    fits = rigid(chained(pictures, out)[[k for k, _ in told]], b), rigid(a, b)
    way = np.linalg.norm(np.diff(b, axis=0), axis=1).sum()
    second = []
    for i in range(len(t)):
        j = int(np.searchsorted(t, t[i] + 0.999))
        if j < len(t):
            d = own[i][1].T @ (own[j][0] - own[i][0]) - true[i][1].T @ (true[j][0] - true[i][0])
            second.append((d @ d, np.sum(vector(own[i][1].T @ own[j][1] @ (true[i][1].T @ true[j][1]).T)**2)))
    second = np.sqrt(np.mean(second, 0)) if second else [np.nan, np.nan]
    late = t > t[-1] - 4
    nees = [np.mean([x[k:k + 3] @ np.linalg.solve(P[k:k + 3, k:k + 3], x[k:k + 3]) / 3 for x, P in zip(e[5:], S[5:])]) for k in (0, 3, 6)]
    seconds = (first_ns - out[0][0]) * 1e-9
    print("%-20s %3d  %5.2f %4d %4d %3d  %8.2f %6.3f  %8.2f %8.2f %6.2f  %8.2f %6.3f  %6.3f %7.1f  %6.1f %6.1f %6.1f  %6.2f +- %.2f  %6.0f" % (
        name, first, seconds, *counts, told[-1][1].reset_counter, 1e3 * ate, 100 * ate / max(way, 1e-9), 1e3 * fits[0], 1e3 * fits[1],
        100 * (scale_of(a, b) - 1), 1e3 * second[0], np.degrees(second[1]),
        np.degrees(np.sqrt((e[late, 3:5]**2).sum(1).mean())), 1e3 * np.sqrt((e[late, 6:]**2).sum(1).mean()), *nees, 1e3 * told[-1][1].offset,
        1e3 * told[-1][1].offset_sigma, us))
    rows = [np.r_[x, t0, y, np.sqrt(np.diag(P))] for x, t0, y, P in zip(a, t - t[0], e, S)]
    return seconds, 1e3 * ate, rows


def after(name):
    """Words after an option."""
    words, found = sys.argv[1:], []
    for w in words[words.index(name) + 1:] if name in words else []:
        if w.startswith("--"):
            break
        found.append(w)
    return found


def one_kind(kind, libraries, chosen, quick):
    """Prints the rows of all sets. Returns the number of missing sets, 1 if the bounds hold, errors of the last flight."""
    missing, good, rows = 0, True, []
    print("%s\n                    from   time    n stereo resets  ATE      %%    chained   states  scale         1 s            tilt       v  NEES p      w      v  "
          "offset [ms]         us" % kind)
    for name in chosen:
        frames = min(40, SETS[name]) if quick else SETS[name]
        if name == "rendered":
            one = pictures = Rendered(libraries[1], frames)
        elif os.path.isdir(place(name)):
            one, pictures = Set(name), Pictures(name, frames)
        else:
            print("%s: skipped, it is missing" % name)
            missing += 1
            continue
        if "--fitted" in sys.argv and name in FITTED:
            pictures.rig, pictures.move = fitted(name)
        noise, gap = one.noise, [float(s) for s in after("--imu-gap")]
        if kind == NO_IMU:
            noise, gap = (0.0,) * 8, [-1e9, 1e9]
        for first in [int(f) for f in after("--first")] or [0]:
            front = Front(libraries[0], pictures, Noise(*noise), ["vio=1"] + after("--set"), 1 if kind == MONO else 2)
            seconds, ate, rows = report(name, pictures, Truth(one), fly(front, pictures, one, first, gap), first)
            bound = BOUNDS[kind].get(name)
            good &= bool(bound is None or (seconds < bound[0] and ate < bound[1]))
    return missing, good, rows


def main():
    words = sys.argv[1:]
    libraries = [w for w in words if w.endswith(".so")]
    if len(libraries) != 2 or "--help" in words:
        print(__doc__)
        return 2
    need_data()
    chosen = [n for n in after("--only") if n in SETS] or list(SETS)
    kinds = [k for k in (BOTH, NO_IMU, MONO) if "--" + k.split(":")[0] in words] or [BOTH, NO_IMU, MONO]
    missing, good, rows = 0, True, []
    for kind in kinds:
        bounded = [n for n in chosen if n in BOUNDS[kind] or "--only" in words]
        some, held, rows = one_kind(kind, libraries, bounded, "--quick" in words)
        missing, good = missing + some, good and held
    if after("--csv"):
        np.savetxt(after("--csv")[0], rows, delimiter=",")
    if missing:
        print("%d of %d sets skipped" % (missing, len(chosen) * len(kinds)))
    return 77 if missing == len(chosen) * len(kinds) else 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
