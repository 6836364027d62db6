#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""States of the sliding-window estimator on recorded flights, against ground truth.

    tests/vio/vio.py build/bridge_ego.so build/bridge_vio.so [--quick] [--only set ...] [--px value] [--noise factor] [--first factor]
                             [--csv file]

--quick    40 frames of each set.
--px       Standard deviation of an observation [px], 0.5.
--noise    Factor on noise densities and bias walks of the IMU.
--first    Factor on error and standard deviations of the initial state.
--csv      Truth, estimate and standard deviations of each frame of the last set.

Tracks and stereo tracks are those of the host port with default tuning; sequences lie in $VFRONT_DATA or ../shared/data beside the
project. Missing parts are skipped and counted. Exit status: 77 if all are missing, 1 if a bound of BOUNDS does not hold, else 0.

start    The truth at the first frame plus an error drawn from SIGMA: tilt 1 deg, velocity 0.1 m/s, biases 0.01 rad/s, 0.1 m/s^2.
ATE      Root mean square position error after the best rotation and shift [mm]. Chained: metric motions from frame to frame, no IMU.
1 s      Root mean square error of the motion over one second: position [mm], rotation [deg]. Corrections of the estimate count.
tilt, v  Root mean square error over the last 4 s [deg, mm/s].
NEES     Mean of e' S^-1 e / 3, nominal 1, from the sixth frame on: position, attitude, velocity. S: reported, without the truth's.
offset   Time offset [ms] and disparity offset [px] at the end, with their standard deviations.
ms       Processor time of one estimator step.
"""
import ctypes
import os
import sys
import time

import numpy as np

for room in ("geometry", "imu"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", room))
from ego import Bridge
from honesty import declare
from pictures import euroc_cameras, euroc_frames, need_data, place, projections
from propagate import Nav, Noise, Set, matrix, quaternion, imu_samples, skew, upper, full, vector
from stereo import Rig, sequence

import cv2

SETS = {"euroc_mh01_a": 171, "kitti05_vio": 60, "kitti01_stereo": 51}
# Bounds over the whole sets: ATE [mm], tilt of the last 4 s [deg].
BOUNDS = {"euroc_mh01_a": (8.0, 1.0), "kitti05_vio": (400.0, 2.0), "kitti01_stereo": (400.0, 2.5)}
SIGMA = np.repeat([1e-4, 0.0175, 0.1, 0.01, 0.1], 3)
SIGMA[5] = 1e-4  # yaw
ROOM = 1024


def turn(w):
    """Rotation matrix of a rotation vector."""
    return cv2.Rodrigues(np.asarray(w, float))[0]


class Pictures:
    """Rig, images, time stamps [ns], T_imu_cam, transform from camera 0 to 1, bearings of pixels, focal length of a set."""

    def __init__(self, name, count):
        self.name = name
        if name.startswith("euroc"):
            K, D, T, self.move = euroc_cameras(name)
            chosen, self.frames = euroc_frames(name, slice(count))
            self.rig = Rig((752, 480), K, D, self.move[:3, :3], self.move[:3, 3])
            self.stamps, self.T, self.ms, self.focal = [int(n[:-4]) for n in chosen], T[0], 50, K[0][0][0]
            self.flat = lambda p, k: cv2.undistortPoints(p[:, None], np.array(K[k]), D[k])[:, 0]
        else:
            P = projections(name)
            K, self.move = P["P0"][:, :3], np.eye(4)
            self.move[0, 3] = P["P1"][0, 3] / P["P1"][0, 0]
            self.rig, self.frames, _ = sequence(name, range(count))[:3]
            self.stamps = [int(round((t + 1) * 1e9)) for t in np.loadtxt(place(name, "times.txt"))[:count]]
            self.T, self.ms, self.focal = np.linalg.inv(np.loadtxt(place(name, "T_cam0_imu.txt"))), 100, K[0, 0]
            self.flat = lambda p, k: (p - K[:2, 2]) / K[0, 0]

    def bearings(self, pixels, camera):
        if not len(pixels):
            return np.zeros((0, 3))
        v = np.column_stack([self.flat(np.ascontiguousarray(pixels, float), camera), np.ones(len(pixels))])
        return v / np.linalg.norm(v, axis=1)[:, None]


def tracks(bridge, pictures, px):
    """Per frame: time stamp, observation rows for the estimator, metric motion."""
    track, partner = np.zeros((ROOM, 5)), np.zeros((ROOM, 9), np.float32)
    bridge.c.bridge_interval(pictures.ms)
    bridge.open(pictures.rig, 2)
    for stamp, frame in zip(pictures.stamps, pictures.frames):
        motion = bridge.step(*frame[:2])[1]
        n = bridge.c.bridge_tracks(ROOM, track.ctypes.data)
        bridge.c.bridge_partners(ROOM, partner.ctypes.data)
        p, rows = partner[:n].astype(float), np.zeros((n, 9))
        rows[:, 0], rows[:, 4] = track[:n, 0] + 1, px / pictures.focal
        rows[:, 1:4], rows[:, 5:8] = pictures.bearings(track[:n, 1:3], 0), pictures.bearings(p[:, 3:5], 1)
        rows[:, 8] = p[:, 6] / pictures.focal  # 0: no stereo track
        rows[p[:, 6] <= 0, 5:8] = 0, 0, 1
        yield stamp, rows[:256], motion


class Truth:
    """Pose and velocity at any time, interpolated between ground-truth poses."""

    def __init__(self, one):
        self.rows, self.t = one.truth, np.array([s[0] for s in one.truth])

    def at(self, t):
        j = int(np.clip(np.searchsorted(self.t, t), 1, len(self.t) - 1))
        a, b = self.rows[j - 1], self.rows[j]
        k = (t - a[0]) / (b[0] - a[0])
        return a[1] + (b[1] - a[1]) * k, turn(vector(b[2] @ a[2].T) * k) @ a[2], a[3] + (b[3] - a[3]) * k

    def covers(self, t):
        return self.t[0] <= t <= self.t[-1]


def pointer(a):
    return np.ascontiguousarray(a, float).ctypes.data_as(ctypes.c_void_p)


def first_state(one, truth, t):
    """Initial state: the truth plus an error drawn from SIGMA."""
    p, R, v = truth.at(t)
    e, near = SIGMA * np.random.default_rng(1).normal(size=15), one.truth[int(np.argmin(np.abs(truth.t - t)))]
    return Nav(t, tuple(p - e[:3]), tuple(v - e[6:9]), tuple(quaternion(turn(-e[3:6]) @ R)), tuple(near[4] - e[9:12]), tuple(near[5] - e[12:]),
               tuple(upper(np.diag(SIGMA**2))), 0, 0)


def rigid(A, B):
    """Root mean square distance of two trajectories after the best rigid alignment."""
    a, b = A - A.mean(0), B - B.mean(0)
    U, _, V = np.linalg.svd(b.T @ a)
    R = U @ np.diag([1, 1, np.linalg.det(U @ V)]) @ V
    return np.sqrt(((a @ R.T - b)**2).sum(1).mean())


def fly(ego, lib, pictures, one, px, noise):
    """Flies a set. Per frame: error, covariance, offsets, pose, true pose. Also positions of chained motions and of the true camera; ms per step."""
    truth, out, chained, started, spent = Truth(one), [], [], False, 0.0
    T, nav, more, pose = pictures.T, Nav(), np.zeros(10), np.eye(4)
    for stamp, rows, motion in tracks(ego, pictures, px):
        if not truth.covers(stamp):
            continue
        if not started:
            nav, started = first_state(one, truth, stamp), True
            lib.bridge_start(pointer(T[:3, :3]), pointer(T[:3, 3]), pointer(pictures.move[:3, :3]), pointer(pictures.move[:3, 3]), ctypes.byref(noise),
                             ctypes.byref(nav))
        else:
            step = np.eye(4)
            step[:3, :3], step[:3, 3] = motion.R, motion.t
            pose = pose @ np.linalg.inv(step)
        low, high = np.searchsorted(one.t_ns, stamp - 400_000_000), np.searchsorted(one.t_ns, stamp + 50_000_000)
        imu, begun = imu_samples(one.t_ns[low:high], one.gyro[low:high], one.accel[low:high]), time.process_time()
        lib.bridge_frame(ctypes.c_uint64(stamp), imu, int(high - low), pointer(rows), len(rows), ctypes.byref(nav), more.ctypes.data_as(ctypes.c_void_p))
        spent += time.process_time() - begun
        p, R, v = truth.at(nav.t_ns)
        own, q = np.array(nav.p), matrix(np.array(nav.q))
        out.append((np.r_[p - own, vector(R @ q.T), v - np.array(nav.v)], full(np.array(nav.covariance))[:9, :9], more.copy(), own, q, p, R))
        chained.append((pose[:3, 3].copy(), p + R @ T[:3, 3]))
    return out, chained, 1e3 * spent / max(len(out), 1)


def report(name, pictures, out, chained, ms):
    """Prints the row of a set. Returns ATE [mm] and tilt [deg]."""
    e, own, true = np.array([o[0] for o in out]), np.array([o[3] for o in out]), np.array([o[5] for o in out])
    second, last = round(1000 / pictures.ms), round(4000 / pictures.ms)
    moved = [(a[4].T @ (b[3] - a[3]) - a[6].T @ (b[5] - a[5]), vector(a[6].T @ b[6] @ (a[4].T @ b[4]).T)) for a, b in zip(out, out[second:])]
    over = [np.sqrt((np.array([m[k] for m in moved])**2).sum(1).mean()) if moved else np.nan for k in (0, 1)]
    nees = [np.mean([x[0][k:k + 3] @ np.linalg.solve(x[1][k:k + 3, k:k + 3], x[0][k:k + 3]) / 3 for x in out[5:]]) for k in (0, 3, 6)]
    ate, tilt, more = 1e3 * rigid(own, true), np.degrees(np.sqrt((e[-last:, 3:5]**2).sum(1).mean())), out[-1][2]
    print("%-14s %4d  %7.2f %8.2f  %7.2f %6.3f  %6.3f %7.1f  %6.1f %6.1f %6.1f  %6.2f +- %.2f  %6.3f +- %.3f  %5.2f" % (
        name, len(out), ate, 1e3 * rigid(np.array([c[0] for c in chained]), np.array([c[1] for c in chained])), 1e3 * over[0], np.degrees(over[1]), tilt,
        1e3 * np.sqrt((e[-last:, 6:]**2).sum(1).mean()), *nees, 1e3 * more[1], 1e3 * more[2], pictures.focal * more[6], pictures.focal * more[7], ms))
    return ate, tilt


def save(path, pictures, out):
    with open(path, "w") as f:
        f.write("true_x,true_y,true_z,x,y,z,sigma_x,sigma_y,sigma_z\n")
        for o in out:
            f.write(",".join("%.6f" % v for v in [*o[5], *o[3], *np.sqrt(np.diag(o[1])[:3])]) + "\n")


def main():
    words = sys.argv[1:]

    def value(name, standard):
        return words[words.index(name) + 1] if name in words else standard
    libraries = [w for w in words if w.endswith(".so")]
    if len(libraries) != 2 or "--help" in words:
        print(__doc__)
        return 2
    need_data()
    quick, missing, good = "--quick" in words, 0, True
    only = words[words.index("--only") + 1:] if "--only" in words else list(SETS)
    SIGMA[:] *= float(value("--first", 1))
    ego, lib = Bridge(libraries[0], ""), ctypes.CDLL(os.path.abspath(libraries[1]))
    declare(ego)
    ego.c.bridge_partners.argtypes = ego.c.bridge_tracks.argtypes = [ctypes.c_int, ctypes.c_void_p]
    print("                       ATE  chained      1 s            tilt       v  NEES p      w      v  offset             disparities          ms")
    for name in (n for n in SETS if n in only):
        if not os.path.isdir(place(name)):
            print("%s: skipped, it is missing" % name)
            missing += 1
            continue
        one, pictures = Set(name), Pictures(name, min(40, SETS[name]) if quick else SETS[name])
        noise = Noise(*[v * float(value("--noise", 1)) if i < 4 else v for i, v in enumerate(one.noise)])
        out, chained, ms = fly(ego, lib, pictures, one, float(value("--px", 0.5)), noise)
        ate, tilt = report(name, pictures, out, chained, ms)
        good &= bool(ate < BOUNDS[name][0] and tilt < BOUNDS[name][1])
        if "--csv" in words:
            save(value("--csv", ""), pictures, out)
    if missing:
        print("%d of %d sets skipped" % (missing, len(SETS)))
    return 77 if missing == len(SETS) else 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
