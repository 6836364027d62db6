#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""States of recorded flights from a cold start, by the public interface, beside ground truth.

    tests/state/nav.py build/bridge_nav.so [--quick] [--only set ...] [--first frame ...] [--set name=value ...] [--imu-gap from to]
                            [--csv file]

--quick    40 frames of each set.
--first    First frame of the flight, 0.
--imu-gap  No readings of these times after the first frame [s].
--csv      Truth, estimate and deviations of each frame, of the last flight.

Host port, standard tuning. Sequences lie in $VFRONT_DATA or ../shared/data beside the project; what is missing is skipped. Exit status: 77 if all are, 1
if a bound of BOUNDS does not hold, else 0.

time     From the first frame to the first state [s]; states, stereo, resets: frames with one; of these by two cameras alone; times that it began anew.
ATE      Root mean square of positions after the rotation about z and the shift that fit best [mm]; and in % of the way.
1 s      Root mean square error of the motion over one second: position [mm], rotation [deg].
tilt, v  Root mean square over the last 4 s [deg, mm/s].
NEES     e' S^-1 e / 3 of position, attitude, velocity, truth turned about z and moved to the first state; mean; 1 when right.
us       Of a step, the stages sight and window, median.
"""
import ctypes
import os
import sys

import numpy as np

for room in ("geometry", "fixture"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", room))
from pictures import need_data, place
from propagate import Nav, Noise, Set, full, matrix, readings, vector
from start import about_z
from window import Pictures, Truth, pointer

SETS = {"euroc_mh01_a": 171, "kitti05_vio": 60, "kitti01_stereo": 51, "euroc_v101_static_a": 15}
# Largest time to the first state [s], ATE [mm].
BOUNDS = {"euroc_mh01_a": (0.6, 10.0), "kitti05_vio": (1.5, 500.0), "kitti01_stereo": (1.5, 5000.0), "euroc_v101_static_a": (1.0, 10.0)}
AHEAD_NS = 20_000_000  # readings are there up to so long after a frame
GOOD, STEREO_ONLY = 2, 5


class Front:
    """The front end as C has it."""

    def __init__(self, path, pictures, noise, tuning):
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
        status = self.c.bridge_open(size, pointer(rows), 2, ctypes.byref(noise), names, values, len(tuning))
        if status:
            raise SystemExit("vfront_init: %d, %s" % (status, self.c.bridge_detail().decode()))

    def step(self, left, right, stamp, imu):
        nav, more = Nav(), np.zeros(4)
        pair = (ctypes.c_void_p * 2)(left.ctypes.data, right.ctypes.data)
        status = self.c.bridge_frame(pair, ctypes.c_uint64(stamp), ctypes.c_uint64(0), imu, len(imu) if imu else 0, ctypes.byref(nav), pointer_of(more))
        if status:
            raise SystemExit("vfront_step: %d, %s" % (status, self.c.bridge_detail().decode()))
        return nav, more


def pointer_of(a):
    return a.ctypes.data_as(ctypes.c_void_p)


def fly(front, pictures, one, first, gap):
    """State and more of each frame."""
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
        imu = readings(t_ns[at], gyro[at], accel[at]) if at.stop > at.start else None
        out.append((stamp,) + front.step(np.ascontiguousarray(left), np.ascontiguousarray(right), stamp, imu))
    return out


def report(name, pictures, truth, out, first):
    """Row of the table. Returns time to the first state and ATE."""
    told = [(s, n) for s, n, _ in out if n.state in (GOOD, STEREO_ONLY) and truth.covers(n.t_ns)]
    us = np.median([m[0] + m[1] for _, n, m in out if n.state == GOOD] or [0])
    if len(told) < 10:
        print("%-16s %3d  no state in %d frames; states %s" % (name, first, len(out), [n.state for _, n, _ in out][-5:]))
        return np.inf, np.inf, []
    start = told[0][1]
    p0, R0, _ = truth.at(start.t_ns)
    Z = about_z(matrix(np.array(start.q)) @ R0.T)
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
    seconds = (start.t_ns - out[0][0]) * 1e-9
    print("%-20s %3d  %5.2f %4d %4d %3d  %8.2f %6.3f  %8.2f %6.3f  %6.3f %7.1f  %6.1f %6.1f %6.1f  %6.2f +- %.2f  %6.0f" % (
        name, first, seconds, len(told), sum(n.state == STEREO_ONLY for _, n in told), told[-1][1].reset_counter, 1e3 * ate, 100 * ate / max(way, 1e-9), 1e3 * second[0], np.degrees(second[1]),
        np.degrees(np.sqrt((e[late, 3:5]**2).sum(1).mean())), 1e3 * np.sqrt((e[late, 6:]**2).sum(1).mean()), *nees, 1e3 * told[-1][1].offset,
        1e3 * told[-1][1].offset_sigma, us))
    rows = [np.r_[x, t0, y, np.sqrt(np.diag(P))] for x, t0, y, P in zip(a, t - t[0], e, S)]
    return seconds, 1e3 * ate, rows


def main():
    words = sys.argv[1:]
    libraries = [w for w in words if w.endswith(".so")]
    if len(libraries) != 1 or "--help" in words:
        print(__doc__)
        return 2
    need_data()

    def after(name):
        found = []
        for w in words[words.index(name) + 1:] if name in words else []:
            if w.startswith("--"):
                break
            found.append(w)
        return found
    missing, good, rows = 0, True, []
    names = [n for n in after("--only") if n in SETS] or list(SETS)
    print("                    from   time    n stereo resets  ATE      %         1 s            tilt       v  NEES p      w      v  offset [ms]         us")
    for name in names:
        if not os.path.isdir(place(name)):
            print("%s: skipped, it is missing" % name)
            missing += 1
            continue
        one, pictures = Set(name), Pictures(name, min(40, SETS[name]) if "--quick" in words else SETS[name])
        for first in [int(f) for f in after("--first")] or [0]:
            front = Front(libraries[0], pictures, Noise(*one.noise), ["window=1"] + after("--set"))
            seconds, ate, rows = report(name, pictures, Truth(one), fly(front, pictures, one, first, [float(s) for s in after("--imu-gap")]), first)
            good &= bool(seconds < BOUNDS[name][0] and ate < BOUNDS[name][1])
    if after("--csv"):
        np.savetxt(after("--csv")[0], rows, delimiter=",")
    if missing:
        print("%d of %d sets skipped" % (missing, len(names)))
    return 77 if missing == len(names) else 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
