#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Errors of the ground truth of recorded sequences over a few frames, estimated independently of vfront's covariances.

    tests/geometry/truth.py build/bridge_ego.so [set ...]     sets: euroc05 kitti05 kitti01; all by default

Two ways, both by the differences of three estimates of one motion: if their errors are independent, var(a - b) = var(a) + var(b), and
the three variances follow from the three differences (J. Gray, D. Allan, 1974: the three-cornered hat).

cameras        Truth; motion of camera 0; motion of camera 1, from a second run with the cameras exchanged, moved into the axes of camera 0. Root mean
               square about or along x, y, z. Rotations come from other pixels behind another lens. Translations share the baseline and the
               focal length: what these are off by counts as the truth's.
accelerometer  EuRoC alone: truth; motions of camera 0; double sums of the accelerometer's readings, less the truth's bias and gravity, in axes
               turned by the truth. Of the velocity within windows, less its line there, since the readings' sum has an unknown one. Shares
               nothing with the pictures, but sees only what changes within a window.

Values are of an interval of 1, 2, 5 frames [mm], [mrad]; of the accelerometer per frame. Exit status: 77 OpenCV or data is missing, else 0.
"""
import os
import sys

from ego import GOOD, Bridge
from honesty import DRIVING, declare, load, pose_at, run
from pictures import DATA, matrix, need_data
from stereo import Rig

import cv2
import numpy as np

JUMP = {"euroc05": (15, 16, 17)}  # frames about a jump of the truth by 5.7 mm


def exchanged(rig):
    """The rig with the cameras exchanged, both rotated by half a turn about z, so that the second is on the right again; and the transform of
    points from its axes to those of camera 0."""
    half, (w, h) = np.diag([-1.0, -1.0, 1.0]), rig.size
    K = [k.copy() for k in rig.K[::-1]]
    for k in K:
        k[0, 2], k[1, 2] = w - 1 - k[0, 2], h - 1 - k[1, 2]
    D = [None if d is None else np.array([d[0], d[1], -d[2], -d[3]] + list(d[4:])) for d in rig.D[::-1]]
    back = np.eye(4)
    back[:3, :3], back[:3, 3] = half @ rig.R, half @ rig.t
    return Rig(rig.size, K, D, half @ rig.R.T @ half, -half @ rig.R.T @ rig.t), np.linalg.inv(back)


def square(R, t):
    M = np.eye(4)
    M[:3, :3], M[:3, 3] = R, t
    return M


def error(A, B):
    return np.concatenate([A[:3, 3] - B[:3, 3], cv2.Rodrigues(A[:3, :3] @ B[:3, :3].T)[0][:, 0]])


def three_corners(a, b, c):
    """Variances of three estimates from those of the differences 0-1, 0-2, 1-2."""
    return [np.maximum(v, 0.0) / 2 for v in (a + b - c, a + c - b, b + c - a)]


def cameras(bridge, name, stride):
    rig, frames, poses, _ = load(name, False)
    bridge.c.bridge_interval(stride * (100 if name in DRIVING else 50))
    second, to_first = exchanged(rig)
    turned = [[np.ascontiguousarray(p[::-1, ::-1]) for p in pair[::-1]] for pair in frames]
    first = {i: (square(m.R, m.t), square(R, t)) for i, _, m, R, t in run(bridge, rig, 2, frames, poses, stride=stride) if m.state == GOOD}
    other = {i: to_first @ square(m.R, m.t) @ np.linalg.inv(to_first)
             for i, _, m, _, _ in run(bridge, second, 2, turned, poses, stride=stride) if m.state == GOOD}
    both = [i for i in first if i in other and not set(range(i - stride + 1, i + 1)) & set(JUMP.get(name, ()))]
    e = [np.array(v) for v in zip(*[(error(first[i][1], first[i][0]), error(first[i][1], other[i]), error(other[i], first[i][0])) for i in both])]
    for what, v in zip(("truth", "camera 0", "camera 1"), three_corners(*[(x ** 2).mean(0) for x in e])):
        v = np.sqrt(v) * 1e3
        print("%-8s cameras       %d %4d  %-13s %7.3f %7.3f %7.3f mm  %6.3f %6.3f %6.3f mrad" % ((name, stride, len(both), what) + tuple(v)))
    sys.stdout.flush()


def wander(change, window):
    """Variance of a velocity about a fitted line, in windows that overlap by half. change: displacement between frames."""
    v, X, left = np.cumsum(change, 0), np.stack([np.ones(window), np.arange(window)], 1), []
    for at in range(0, len(v) - window + 1, window // 2):
        y = v[at:at + window]
        left.append(((y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2).sum(0) / (window - 2))
    return np.mean(left, 0)


def accelerometer(bridge):
    """Changes of the IMU's displacement between frames by truth, camera 0 and accelerometer, after the jump of the truth."""
    folder = os.path.join(DATA, "euroc_mh01_a", "mav0")
    truth = np.loadtxt(os.path.join(folder, "state_groundtruth_estimate0", "data.csv"), delimiter=",")
    imu = np.loadtxt(os.path.join(folder, "imu0", "data.csv"), delimiter=",")
    stamps = [int(n[:-4]) for n in sorted(os.listdir(os.path.join(folder, "cam0", "data")))]
    body = [square(*np.hsplit(pose_at(truth, t)[:3], [3])[:1], pose_at(truth, t)[:3, 3]) for t in stamps]
    with open(os.path.join(folder, "cam0", "sensor.yaml")) as f:
        mounted = matrix(f.read().split("T_BS")[1], "data:", 16).reshape(4, 4)
    rig, frames, poses, _ = load("euroc05", False)
    bridge.c.bridge_interval(50)
    moved = {i: mounted @ np.linalg.inv(square(m.R, m.t)) @ np.linalg.inv(mounted) for i, _, m, _, _ in run(bridge, rig, 2, frames, poses)}
    seen = np.array([body[i - 1][:3, :3] @ moved[i][:3, 3] for i in range(1, len(frames))])
    true = np.diff([b[:3, 3] for b in body[:len(frames)]], axis=0)
    rows = imu[(imu[:, 0] > truth[0, 0]) & (imu[:, 0] < truth[-1, 0])]
    bias = np.stack([np.interp(rows[:, 0], truth[:, 0], truth[:, k]) for k in (14, 15, 16)], 1)
    world = np.array([pose_at(truth, r[0])[:3, :3] @ (r[4:7] - b) for r, b in zip(rows, bias)]) - [0, 0, 9.81]
    felt = []
    for i in range(1, len(frames) - 1):  # a change of the displacement is the acceleration under a triangle two intervals wide
        h = (stamps[i + 1] - stamps[i]) * 1e-9
        at = np.linspace(-h, h, 81)
        weight = (1 - np.abs(at) / h) / (1 - np.abs(at) / h).sum()
        felt.append(h * h * weight @ np.stack([np.interp(stamps[i] + at * 1e9, rows[:, 0], world[:, k]) for k in range(3)], 1))
    true, seen, felt = [v[max(JUMP["euroc05"]) + 1:] for v in (np.diff(true, axis=0), np.diff(seen, axis=0), np.array(felt))]
    for window in (10, 20, 30, 40, 60):
        v = three_corners(wander(true - seen, window), wander(true - felt, window), wander(seen - felt, window))
        print("euroc05  accelerometer, windows of %.1f s: truth %.3f, camera 0 %.3f, accelerometer %.3f mm along an axis" % (
            (window * 0.05,) + tuple(1e3 * np.sqrt(x.mean()) for x in v)))


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    need_data()
    cv2.setNumThreads(1)
    bridge = Bridge(sys.argv[1], "rectify=0")
    declare(bridge)
    for name in sys.argv[2:] or ["euroc05"] + list(DRIVING):
        for stride in (1, 2, 5):
            cameras(bridge, name, stride)
        if name == "euroc05":
            accelerometer(bridge)
    return 0


if __name__ == "__main__":
    sys.exit(main())
