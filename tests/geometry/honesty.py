#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Consistency of vfront's uncertainties: covariances of motions and standard deviations of depths against ground truth.

    tests/geometry/honesty.py build/bridge_ego.so build/bridge_stereo.so [--set name=value ...] [--only set ...] [--without set ...]
                              [--stride number ...] [--quick]

--set      Tuning values of vfront that are not standard.
--only     Only these sets; --without: all others. To choose values on some sets and report others.
--stride   Every n-th picture, its timestamps n intervals apart, as after dropped frames: motions only, one table per number.
--quick    A sample, of about a minute.

Sequences lie in $VFRONT_DATA or ../shared/data beside the project; a set without data reports it. Exit status: 77 OpenCV or a bridge is
missing, else 0. Host port, standard tuning, pictures as they are (`rectify` 0).

sets       hut tsukuba tartan: rendered, one camera, poses exact. euroc05: euroc_mh01_a. kitti05, kitti01: driving. flight: the flight of
           examples/synthetic/synthetic.h. MH_05 V1_02 V2_02 kaist: the hall of examples/synthetic/synthetic.h, seen along recorded flights at 20 Hz.
motion     NEES: e' (S + T)^-1 e / dimensions, e the error, S vfront's covariance, T the truth's own: TRUTH in this file. 1 when S is right. Of
           all, of the translation (relative: its direction), of the rotation: mean and median. good: share of frames in that state, turn:
           of those that are said to be a rotation alone [%]; their NEES is of the rotation. beyond: good motions outside the 99.9 %
           bound of the chi-squared distribution, of all good ones. worst: root of the largest e' (S + T)^-1 e. wide: good metric motions
           with VFRONT_MOTION_WIDE [%].
closure    Motion from frame i to i + 2, by every second picture, beside that by way of i + 1: NEES by the sum of the three covariances.
           It needs no truth.
depth      chi2: mean square of the disparity's error over its sigma, of errors up to 1 px of the point's level or three sigma, as
           tests/geometry/stereo.py has it; the variance of the truth's own steps is taken off. With 1,000 / 2,000 key points.
           Driving has no true disparities: there the error is what displaces a point two frames on, beside optical flow.
"""
import ctypes
import sys
import time

from ego import GOOD, ROTATION, Bridge, mono, step_of, turn, unit
from command import by_option
from pictures import euroc_cameras, euroc_frames, need_data, place
from stereo import PAIRS, Rig, Scene, Vfront, flow, measure_pair, sequence

import cv2
import numpy as np

MONO = {"hut": "hut_synthetic", "tsukuba": "newtsukuba_mono_a", "tartan": "tartanair_mono_depth_a"}
DRIVING = {"kitti05": "kitti05_vio", "kitti01": "kitti01_stereo"}
# Recorded flights: file, first frame, and whether the body's axes are those of EuRoC's sensor (z forward) or x forward, y left.
FLOWN = {"MH_05": ("euroc_MH_05.txt", 1500, True), "V1_02": ("euroc_V1_02.txt", 1000, True), "V2_02": ("euroc_V2_02.txt", 950, True),
         "kaist": ("kaist_infinite_fast.txt", 8300, False)}
SETS = list(MONO) + ["euroc05"] + list(DRIVING) + ["flight"] + list(FLOWN) + ["depth"]
WIDE = 512  # VFRONT_MOTION_WIDE
# Standard deviations of the true motion between frames: translation [m], rotation [rad], along and about each axis; n times as much over
# n frames. From tests/geometry/truth.py, as tests/examples/faults.py says.
TRUTH = {"euroc05": (1.7e-4, 7e-5), "kitti05": (5e-3, 4e-4), "kitti01": (5e-3, 4e-4)}
BOUND = {3: 16.27, 5: 20.52, 6: 22.46}  # 99.9 % of the chi-squared distribution


class Set:
    """Errors and covariances of one kind of motion in a set."""

    def __init__(self, name, kind):
        self.name, self.kind, self.frames, self.turns, self.wide, self.rows = name, kind, 0, 0, 0, []

    def add(self, motion, R, t, truth):
        self.frames += 1
        if motion.state not in (GOOD, ROTATION):
            return
        e, S, T = errors(motion, R, t, self.kind == "relative", truth)
        self.turns += motion.state == ROTATION
        if motion.state == GOOD:
            k = len(e) - 3
            self.wide += bool(motion.flags & WIDE)
            self.rows.append([normalised(e, S + T), normalised(e[:k], (S + T)[:k, :k]), normalised(e[k:], (S + T)[k:, k:]), len(e)])

    def figures(self):
        rows = np.array(self.rows or [[np.nan] * 4])
        beyond = sum(r[0] * r[3] > BOUND[int(r[3])] for r in self.rows)
        return rows, beyond, np.sqrt(max((r[0] * r[3] for r in self.rows), default=np.nan))

    def print(self):
        rows, beyond, worst = self.figures()
        with np.errstate(all="ignore"):
            numbers = [f(rows[:, k][np.isfinite(rows[:, k])]) for k in range(3) for f in (mean, median)]
        print("%-8s %-9s %6d %5.0f %5.0f  %8.2f %7.2f  %8.2f %7.2f  %8.2f %7.2f  %4d of %4d  %6.1f %5.0f" % (
            (self.name, self.kind, self.frames, share(len(self.rows), self.frames), share(self.turns, self.frames)) + tuple(numbers) + (
                beyond, len(self.rows), worst, share(self.wide, len(self.rows)))))


def mean(values):
    return np.mean(values) if len(values) else np.nan


def median(values):
    return np.median(values) if len(values) else np.nan


def share(part, all_of):
    return 100.0 * part / all_of if all_of else np.nan


def normalised(e, S):
    return e @ np.linalg.solve(S, e) / len(e) if len(e) else np.nan


def errors(m, R, t, relative, truth):
    """Error of a motion, translation first; its covariance; covariance of the truth. Without a true direction there is no error of direction."""
    w, length = cv2.Rodrigues(R @ m.R.T)[0][:, 0], np.linalg.norm(t)
    shift, spin = truth
    if not relative:
        return np.concatenate([t - m.t, w]), m.S, np.diag([shift ** 2] * 3 + [spin ** 2] * 3)
    if m.state == ROTATION or length < 1e-6:
        return w, m.S[3:, 3:], spin ** 2 * np.eye(3)
    across = np.linalg.svd(m.t[None])[2][1:]
    B = np.zeros((5, 6))
    B[:2, :3], B[2:, 3:] = across, np.eye(3)
    return np.concatenate([across @ (unit(t) - m.t), w]), B @ m.S @ B.T, np.diag([(shift / length) ** 2] * 2 + [spin ** 2] * 3)


# ---- sequences: for each frame vfront's motions, true R and t ------------------------------------------------------------------


def run(bridge, rig, cameras, frames, poses, settings="", stride=1):
    """Number, relative and metric motion, true R and t of every frame except the first."""
    bridge.open(rig, cameras, settings)
    numbers = range(0, len(frames), stride)
    for i in numbers:
        motions = bridge.step(*frames[i][:cameras])
        if i:
            yield (i,) + tuple(motions) + step_of([poses[i - stride], poses[i]], 1)


def euroc_flight(count):
    """Rig, image pairs and poses of camera 0 of MH_01."""
    K, D, T, move = euroc_cameras("euroc_mh01_a")
    chosen, frames = euroc_frames("euroc_mh01_a", slice(count))
    truth = np.loadtxt(place("euroc_mh01_a", "mav0", "state_groundtruth_estimate0", "data.csv"), delimiter=",", usecols=range(8))
    poses = [pose_at(truth, int(name[:-4])) @ T[0] for name in chosen]
    return Rig((752, 480), K, D, move[:3, :3], move[:3, 3]), frames, [p[:3] for p in poses]


def quaternion_matrix(w, x, y, z):
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def pose_at(rows, when):
    """Pose of the body at a time, interpolated between rows of time, position, quaternion (w x y z)."""
    i = int(np.clip(np.searchsorted(rows[:, 0], when) - 1, 0, len(rows) - 2))
    part = (when - rows[i, 0]) / (rows[i + 1, 0] - rows[i, 0])
    q, other = rows[i, 4:8], rows[i + 1, 4:8]
    pose = np.eye(4)
    pose[:3, :3] = quaternion_matrix(*unit(q + part * (other * np.sign(q @ other) - q)))
    pose[:3, 3] = rows[i, 1:4] + part * (rows[i + 1, 1:4] - rows[i, 1:4])
    return pose


def flown_poses(name, count):
    """Poses of the camera in the hall: a recorded flight at 20 Hz, smoothed over 0.1 s. Its middle and mean viewing direction are aligned with
    the hall's own flight."""
    file, first, sensor = FLOWN[name]
    rows = np.loadtxt(place("trajectories", file))[:, [0, 1, 2, 3, 7, 4, 5, 6]]
    axes = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]]) if sensor else np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0.0]])
    poses = []
    for i in range(count):
        near = [pose_at(rows, rows[first, 0] + 0.05 * i + 0.02 * k) for k in range(-2, 3)]
        U, _, V = np.linalg.svd(sum(p[:3, :3] for p in near))
        poses.append(np.column_stack([U @ V @ axes, np.mean([p[:3, 3] for p in near], 0)]))
    middle, forward = np.mean([p[:, 3] for p in poses], 0), np.mean([p[:, 2] for p in poses], 0)
    Z = turn([0, 0, np.pi / 2 - np.arctan2(forward[1], forward[0])])
    return [np.column_stack([Z @ p[:, :3], Z @ (p[:, 3] - middle) + [4.1, 0, 2.4]]) for p in poses]


def fly_along(bridge, poses, stride):
    bridge.check(bridge.c.bridge_flight(bridge.settings.encode()))
    poses = poses[::stride]
    for i, pose in enumerate(poses):
        R, t = np.ascontiguousarray(pose[:, :3]), np.ascontiguousarray(pose[:, 3])
        bridge.check(bridge.c.bridge_fly_from(i, R.ctypes.data, t.ctypes.data, None))
        if i:
            yield (i,) + tuple(bridge.motions()) + step_of(poses, i)


def poses_round(bridge, count):
    """Poses of the camera in the rendered flight itself."""
    R, t, poses = np.zeros((3, 3)), np.zeros(3), []
    for i in range(count):
        bridge.c.bridge_pose(i, R.ctypes.data, t.ctypes.data)
        poses.append(np.column_stack([R, t]))
    return poses


def load(name, quick):
    """Rig, frames, poses and number of cameras of a recorded set."""
    if name in MONO:
        rig, pictures, poses = mono(MONO[name])
        return rig, [[p] for p in pictures[:12 if quick else None]], poses, 1
    if name == "euroc05":
        return euroc_flight(20 if quick else 171) + (2,)
    return sequence(DRIVING[name], range(12 if quick else 60 if name == "kitti05" else 51)) + (2,)


def steps_of(bridge, name, quick, stride):
    bridge.c.bridge_interval(stride * (100 if name in DRIVING else 50))
    if name == "flight":
        bridge.check(bridge.c.bridge_flight(bridge.settings.encode()))
        return fly_along(bridge, poses_round(bridge, 12 if quick else 150), stride)
    if name in FLOWN:
        return fly_along(bridge, flown_poses(name, 12 if quick else 60), stride)
    rig, frames, poses, cameras = load(name, quick)
    return run(bridge, rig, cameras, frames, poses, stride=stride)


# ---- depths -------------------------------------------------------------------------------------------------------------------


def limited_chi2(error, sigma, noise, most):
    """Mean squared normalised error, of errors up to `most` or three sigma."""
    near = np.abs(error) <= np.maximum(most, 3 * sigma)
    return np.mean((error ** 2 - noise)[near] / sigma[near] ** 2) if near.any() else np.nan


def fitted(rig, X, places, x, good):
    """Rotation vector and translation that map points X [m] to their positions [px], by Gauss-Newton from x with Cauchy weights of 1/2 px;
    and the residuals [px]."""
    def project(x, points):
        Y = points @ turn(x[:3]).T + x[3:]
        return Y[:, :2] / Y[:, 2:] * rig.focal + rig.K[0][:2, 2]

    for _ in range(15):
        r = project(x, X) - places
        J = np.stack([(project(x + 1e-5 * e, X) - places - r) / 1e-5 for e in np.eye(6)], 2)
        w = good / (1 + (r ** 2).sum(1) / 0.25)
        x = x - np.linalg.solve(np.einsum("n,nki,nkj->ij", w, J, J), np.einsum("n,nki,nk->i", w, J, r))
    return x, project(x, X) - places, project


def driving_chi2(stereo, name, starts, most):
    """chi2 of depths without true disparities. Optical flow tracks points over two frames, and a motion is fitted to all points. The residual
    along the epipolar line has the errors of depth and flow; the flow's variance, measured across the line, is subtracted."""
    rig, frames, poses = sequence(DRIVING[name], range(max(starts) + 3))
    error, noise, sigma, size = [], [], [], []
    for k in starts:
        f = stereo.method(most)(rig, *frames[k])
        there, good = flow(*frames[k][:1], frames[k + 1][0], f["left"])
        there, on = flow(frames[k + 1][0], frames[k + 2][0], there)
        R, t = step_of([poses[k], poses[k + 2]], 1)
        x, r, project = fitted(rig, rig.points(f), there, np.concatenate([cv2.Rodrigues(R)[0][:, 0], t]), (good & on).astype(float))
        disparity = rig.focal * rig.baseline / f["depth"]
        nearer = dict(left=f["left"], depth=rig.focal * rig.baseline / (disparity + 0.01))
        along = (project(x, rig.points(nearer)) - project(x, rig.points(f))) / 0.01
        change = np.linalg.norm(along, axis=1)  # of the position, per pixel of disparity
        a = along / change[:, None]
        across = (r * np.column_stack([a[:, 1], -a[:, 0]])).sum(1)
        use = good & on & (change > 0.6) & (np.abs(across) < 1)
        for out, v in ((error, (r * a).sum(1) / change), (noise, (across / change) ** 2), (sigma, f["sigma"] * disparity / f["depth"]),
                       (size, f["step"])):
            out.append(v[use])
    return limited_chi2(*[np.concatenate(v) for v in (error, sigma, noise, size)])


def flight_chi2(bridge, frames):
    """chi2 of the depths of the rendered flight, whose disparities are known, except near depth edges."""
    bridge.check(bridge.c.bridge_flight(bridge.settings.encode()))
    truth, out, values = np.zeros((480, 752), np.float32), np.zeros((8192, 6), np.float32), []
    for i in frames:
        bridge.check(bridge.c.bridge_fly(i, 0))
        bridge.c.bridge_disparity(i, truth.ctypes.data)
        rows = out[:bridge.c.bridge_depths(len(out), out.ctypes.data)].astype(float)
        disparity = 0.61 * 752 * 0.11 / rows[:, 3]
        maps = [cv2.remap(f(truth, np.ones((7, 7))), rows[:, 0].astype(np.float32), rows[:, 1].astype(np.float32), cv2.INTER_LINEAR)[:, 0]
                for f in (lambda p, _: p, cv2.erode, cv2.dilate)]
        smooth = (maps[2] - maps[1] < 1) & (maps[0] > 0)
        error = (disparity - maps[0])[smooth]
        values.append(limited_chi2(error, (rows[:, 4] / rows[:, 3] * disparity)[smooth], 0.0, rows[smooth, 2]))
    return np.mean(values)


def report_depth(bridge, stereo, quick):
    print("depth                1,000   2,000 key points: chi2 of disparity")
    for name in list(PAIRS)[:1 if quick else None]:
        scene = Scene(name)
        values = [measure_pair(scene, stereo.method(most))[0][-1] for most in (1000, 2000)]
        print("%-18s %7.2f %7.2f" % ((name,) + tuple(values)))
    for name in [] if quick else DRIVING:
        print("%-18s %7.2f %7.2f" % ((name,) + tuple(driving_chi2(stereo, name, range(0, 48, 4), most) for most in (1000, 2000))))
    print("%-18s         %7.2f" % ("flight", flight_chi2(bridge, (0,) if quick else (0, 100, 200, 300))))
    print()


# ---- the tables ---------------------------------------------------------------------------------------------------------------


def report_motions(bridge, names, quick, stride=1):
    print("motion, every %s                             NEES          translation          rotation" % (
        "picture   " if stride == 1 else "%d. picture" % stride))
    print("set      kind      frames  good  turn      mean  median      mean  median      mean  median  beyond 99.9 %   worst  wide")
    for name in names:
        both = [Set(name, "relative"), Set(name, "metric")]
        for _, relative, metric, R, t in steps_of(bridge, name, quick, stride):
            truth = [stride * value for value in TRUTH.get(name, (0.0, 0.0))]
            for kind, motion in zip(both, (relative, metric)):
                kind.add(motion, R, t, truth)
        for kind in both[:1 if name in MONO else 2]:
            kind.print()
        sys.stdout.flush()
    print()


def joined(a, b):
    """Composition of motion a, then b, with its covariance."""
    out = type(a)(np.zeros(42))
    moved, out.state = b.R @ a.t, GOOD
    out.R, out.t = b.R @ a.R, moved + b.t
    J = np.zeros((2, 6, 6))
    J[0, :3, :3] = J[0, 3:, 3:] = b.R
    J[1] = np.eye(6)
    J[1, :3, 3:] = -np.array([[0, -moved[2], moved[1]], [moved[2], 0, -moved[0]], [-moved[1], moved[0], 0]])
    out.S = J[0] @ a.S @ J[0].T + J[1] @ b.S @ J[1].T
    return out


def report_closure(bridge, quick):
    rig, frames, poses, _ = load("kitti05", quick)
    single = {i: m for i, _, m, _, _ in run(bridge, rig, 2, frames, poses)}
    values, pairs = [], 0
    for start in (0, 1):
        for i, _, m, _, _ in run(bridge, rig, 2, frames[start:], poses[start:], stride=2):
            a, b = single[start + i - 1], single[start + i]
            pairs += 1
            if all(x.state == GOOD for x in (m, a, b)):
                way = joined(a, b)
                e = np.concatenate([way.t - m.t, cv2.Rodrigues(way.R @ m.R.T)[0][:, 0]])
                S = m.S + way.S
                values.append((normalised(e, S), normalised(e[:3], S[:3, :3]), normalised(e[3:], S[3:, 3:])))
    v = np.array(values or [(np.nan,) * 3])
    print("closure  kitti05: NEES mean %.2f, median %.2f (translation %.2f, rotation %.2f), %d of %d\n" % (
        np.mean(v[:, 0]), np.median(v[:, 0]), np.median(v[:, 1]), np.median(v[:, 2]), len(values), pairs))


def main():
    lists, given = by_option(sys.argv[1:], ("--set", "--only", "--without", "--stride"))
    quick = "--quick" in given
    if len(lists[""]) != 2:
        print(__doc__)
        return 2
    need_data()
    began = time.time()
    cv2.setNumThreads(1)
    bridge, stereo = Bridge(lists[""][0], " ".join(["rectify=0"] + lists["--set"])), Vfront(lists[""][1], lists["--set"])
    names = [n for n in lists["--only"] or SETS if n not in lists["--without"]]
    declare(bridge)
    motions = [n for n in names if n != "depth"]
    for stride in [int(word) for word in lists["--stride"]] or [1]:
        if motions:
            report_motions(bridge, motions, quick, stride)
    if lists["--stride"]:
        return 0
    bridge.c.bridge_interval(50)
    if "kitti05" in names:
        report_closure(bridge, quick)
    if "depth" in names:
        report_depth(bridge, stereo, quick)
    print("(%.0f s)" % (time.time() - began))
    return 0


def declare(bridge):
    """Declare the arguments of the calls that ego.py does not declare."""
    p, i = ctypes.c_void_p, ctypes.c_int
    bridge.c.bridge_predicted.argtypes, bridge.c.bridge_interval.argtypes = [p], [i]
    bridge.c.bridge_fly_from.argtypes, bridge.c.bridge_disparity.argtypes, bridge.c.bridge_depths.argtypes = [i, p, p, p], [i, p], [i, p]
    bridge.c.bridge_disparity_from.argtypes = [p, p, p]


if __name__ == "__main__":
    sys.exit(main())
