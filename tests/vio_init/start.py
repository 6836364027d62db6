#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Initial states on recorded sets, against ground truth.

    tests/vio_init/start.py build/bridge_ego.so build/bridge_start.so [--quick] [--only set ...] [--every]

--quick    25 frames of each set.
--every    One line per initialization.

The front end (host port, default tuning) runs through each set once. An initialization begins at each frame with that run's motions,
and ends with its first state. Sequences lie in $VFRONT_DATA or ../shared/data beside the project. Missing parts are skipped and
counted. Exit status: 77 if all are missing; 1 if less than 95 % have a state at REACH, or an error is over WORST; else 0.

starts     Initializations that begin at least REACH before the end of the set; of these, those with a state by then, those reported
           stationary.
time       From the first frame to the first state: median, longest [s]; 1 s: share of states within 1 s [%].
tilt, v    Root mean square error of tilt [deg], velocity [mm/s]; gyro: of its bias [mrad/s]. The truth is rotated about z to equal yaw.
NEES       Mean of e' (S + T)^-1 e over its dimension, nominal 1: tilt, velocity, gyro bias. S: reported, T: the truth's own (TRUTH).
worst      Root of the largest e' (S + T)^-1 e of tilt, of velocity: in standard deviations.
mono       One camera: relative motions only.
"""
import ctypes
import os
import sys

import numpy as np

for room in ("geometry", "imu", "vio"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", room))
from ego import Bridge
from pictures import need_data, place
from propagate import BIASES, Nav, Noise, Set, full, matrix, imu_samples, vector
from vio import Pictures, Truth, pointer

SETS = {"euroc_mh01_a": 171, "euroc_v101_static_a": 15, "kitti05_vio": 60, "kitti01_stereo": 51}
STANDING, MOVING = 2, 3
# Standard deviations of the truth's tilt [rad] and velocity [m/s]. V1_01: velocity while stationary; KITTI: from parabolas through positions.
TRUTH = {"euroc_mh01_a": (2e-3, 5e-3), "euroc_v101_static_a": (2e-3, 7e-3), "kitti05_vio": (2e-3, 2e-2), "kitti01_stereo": (2e-3, 2e-2)}
# Time within which 95 % of the initializations must have a state [s]; largest error of tilt and velocity in standard deviations.
REACH = {"euroc": 0.5, "kitti": 2.0}
WORST = 5.0


class Start:
    """Initialization through the C library."""

    def __init__(self, path):
        self.c = ctypes.CDLL(os.path.abspath(path))

    def begin(self, T, noise):
        self.last = None
        self.c.bridge_begin(pointer(T[:3, :3]), pointer(T[:3, 3]), ctypes.byref(noise))

    def step(self, one, stamp, metric, relative):
        """Status at a frame, its state, and further values."""
        low = np.searchsorted(one.t_ns, stamp if self.last is None else self.last) - 1
        high, first, nav, more = np.searchsorted(one.t_ns, stamp) + 1, self.last is None, Nav(), np.zeros(5)
        at, self.last = slice(max(low, 0), high), stamp
        imu = imu_samples(one.t_ns[at], one.gyro[at], one.accel[at])
        given = [None if m is None or first else pointer(np.r_[m.state, m.flags, m.R.ravel(), m.t, m.S[np.triu_indices(6)]])
                 for m in (metric, relative)]
        said = self.c.bridge_step(ctypes.c_uint64(stamp), imu, len(imu), *given, ctypes.byref(nav), more.ctypes.data_as(ctypes.c_void_p))
        return said, nav, more


def motions(ego, pictures):
    """Time stamp, relative and metric motion of each frame."""
    ego.c.bridge_interval(pictures.ms)
    ego.open(pictures.rig, 2)
    return [(stamp,) + tuple(ego.step(*frame[:2])) for stamp, frame in zip(pictures.stamps, pictures.frames)]


def about_z(R):
    """Rotation about z nearest to R."""
    a = np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])
    return np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])


def compare(name, one, truth, nav):
    """Errors of tilt, velocity, gyro bias; covariance of each plus the truth's own."""
    _, R, v = truth.at(nav.t_ns)
    near, q, S = one.truth[int(np.argmin(np.abs(truth.t - nav.t_ns)))], matrix(np.array(nav.q)), full(np.array(nav.covariance))
    Z = about_z(q @ R.T)
    e = np.r_[np.zeros(3), vector(Z @ R @ q.T), Z @ v - np.array(nav.v), near[4] - np.array(nav.bg)]
    tilt, speed = TRUTH[name]
    bias = BIASES.get(name, BIASES["kitti05_vio"])[0]
    return [(e[a:b], S[a:b, a:b] + s**2 * np.eye(b - a)) for a, b, s in ((3, 5, tilt), (6, 9, speed), (9, 12, bias))]


def starts(start, name, pictures, one, run, mono):
    """Per initialization with a state: first frame, time, status, errors with covariance. Also the number of initializations."""
    truth, found, count = Truth(one), [], 0
    reach = REACH[name[:5]] * 1e9
    for first in range(len(run)):
        if not truth.covers(run[first][0] + reach) or run[first][0] + reach > run[-1][0]:
            break
        count += truth.covers(run[first][0])
        if not truth.covers(run[first][0]):
            continue
        start.begin(pictures.T, Noise(*one.noise))
        for stamp, relative, metric in run[first:]:
            if stamp > run[first][0] + reach:
                break
            said, nav, _ = start.step(one, stamp, None if mono else metric, relative)
            if said in (STANDING, MOVING):
                found.append((first, (stamp - run[first][0]) * 1e-9, said, compare(name, one, truth, nav)))
                break
    return found, count


def report(name, mono, found, count, every):
    """Prints a row of the table. Returns True if the bounds hold; with one camera a state is not required."""
    label = name + (", mono" if mono else "")
    if not found:
        print("%-24s %4d starts, no state" % (label, count))
        return mono
    time, square = np.array([f[1] for f in found]), [np.array([e @ e for e, _ in part]) for part in zip(*(f[3] for f in found))]
    nees = [np.array([e @ np.linalg.solve(S, e) for e, S in part]) for part in zip(*(f[3] for f in found))]
    rms, worst = [np.sqrt(s.mean()) for s in square], [np.sqrt(n.max()) for n in nees]
    print("%-24s %4d %4d %4d  %5.2f %5.2f %4.0f  %6.2f %7.1f %6.2f  %6.2f %6.2f %6.2f  %6.1f %6.1f" % (
        label, count, len(found), sum(f[2] == STANDING for f in found), np.median(time), time.max(), 100 * (time <= 1.01).mean(), np.degrees(rms[0]),
        1e3 * rms[1], 1e3 * rms[2], nees[0].mean() / 2, nees[1].mean() / 3, nees[2].mean() / 3, worst[0], worst[1]))
    if every:
        for k, f in enumerate(found):
            print("  %4d %5.2f  %6.2f %7.1f %6.2f  %5.1f %5.1f %5.1f" % (f[0], f[1], np.degrees(np.sqrt(square[0][k])), 1e3 * np.sqrt(square[1][k]),
                                                                       1e3 * np.sqrt(square[2][k]), *(np.sqrt(n[k]) for n in nees)))
    return bool(max(worst[:2]) < WORST and (mono or len(found) >= 0.95 * count))


def main():
    words = sys.argv[1:]
    libraries = [w for w in words if w.endswith(".so")]
    if len(libraries) != 2 or "--help" in words:
        print(__doc__)
        return 2
    need_data()
    only = words[words.index("--only") + 1:] if "--only" in words else list(SETS)
    ego, start, missing, good = Bridge(libraries[0], ""), Start(libraries[1]), 0, True
    print("                       starts              time                tilt       v   gyro  NEES t      v   gyro   worst t      v")
    for name in (n for n in SETS if n in only):
        if not os.path.isdir(place(name)):
            print("%s: skipped, it is missing" % name)
            missing += 1
            continue
        one, pictures = Set(name), Pictures(name, min(25, SETS[name]) if "--quick" in words else SETS[name])
        run = motions(ego, pictures)
        for mono in (False, True):
            if mono and not name.startswith("euroc"):
                continue
            found, count = starts(start, name, pictures, one, run, mono)
            good &= report(name, mono, found, count, "--every" in words)
    if missing:
        print("%d of %d sets skipped" % (missing, len(SETS)))
    return 77 if missing == len(SETS) else 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
