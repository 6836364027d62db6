#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Motions predicted by the estimator compared with those predicted without it: rotation of the IMU samples and last translation.

    tests/geometry/predict_vio.py build/bridge_nav.so [--quick] [--only set ...] [--set name=value ...]

Sequences lie in $VFRONT_DATA or ../shared/data beside the project; recorded flights with their IMU, and the hall of examples/synthetic/synthetic.h along recorded
trajectories, whose IMU is that of a spline through the poses, with the noise and biases of an ADIS16448. NAME/3: every third picture. + gap: of every 30
pictures 8 are missing (VFRONT_NO_PICTURE), and only the first picture behind each such gap counts. Host port, standard tuning, window 1 and 0.
--quick: one flight, 60 frames. Exit status: 1 the estimator's motion is worse, see below; 77 data or the bridge is missing; else 0.

frames   With a motion predicted by the estimator (source 8), to which all figures refer; in brackets all frames.
error    Root mean square of translation [mm] and rotation [mrad]: without the estimator, with it. NEES per dimension, mean and median: 1 when right.
matches  Right ones a frame (both points within 2 px of the other's true epipolar line), in the worst frame in brackets, and share of right ones.
Worse: 2 % fewer right matches; or translation, rotation 5 % and 0.1 mm, 0.1 mrad above.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "nav"))
from nav import AHEAD_NS, Front
from pictures import need_data, place
from propagate import ADIS16448, Noise, Set, imu_samples
from vio import Pictures, Truth, pointer

import ctypes
import numpy as np
import cv2
from honesty import FLOWN, flown_poses

RECORDED = {"euroc_mh01_a": 171, "kitti05_vio": 60, "kitti01_stereo": 51}
SETS = ["euroc_mh01_a", "euroc_mh01_a/2", "euroc_mh01_a/3", "euroc_mh01_a + gap", "kitti05_vio", "kitti05_vio/2", "kitti01_stereo", "V1_02", "V1_02/2", "V1_02/3",
        "V1_02 + gap", "V2_02", "V2_02/3", "V2_02 + gap", "kaist", "kaist/4"]
NEAR_PX, MOST = 2.0, 4096
STATE = 8


class Recorded:
    """Images, timestamps, IMU samples and poses of camera 0 of a recorded set."""

    def __init__(self, name, count):
        self.pictures, self.one = Pictures(name, count), Set(name)
        self.truth, self.stamps, self.noise = Truth(self.one), self.pictures.stamps, Noise(*self.one.noise)
        self.t_ns, self.gyro, self.accel, self.focal = self.one.t_ns, self.one.gyro, self.one.accel, self.pictures.focal

    def open(self, library, tuning):
        return Front(library, self.pictures, self.noise, tuning, 2)

    def frame(self, front, i):
        return [np.ascontiguousarray(p) for p in self.pictures.frames[i][:2]]

    def pose(self, i):
        """Pose of camera 0, camera to world; None without ground truth."""
        if not self.truth.covers(self.stamps[i]):
            return None
        p, R, _ = self.truth.at(self.stamps[i])
        return R @ self.pictures.T[:3, :3], R @ self.pictures.T[:3, 3] + p


class Flown:
    """The hall along a trajectory. The IMU is at the position of camera 0, with the axes of the hall rig."""

    def __init__(self, name, count):
        self.poses = flown_poses(name, count)
        self.stamps = [1_000_000_000 + 50_000_000 * i for i in range(count)]
        self.noise = Noise(*ADIS16448)
        self.rows, self.focal = np.zeros(48), 458.0

    def open(self, library, tuning):
        c = ctypes.CDLL(os.path.abspath(library))
        c.bridge_hall_rig(self.rows.ctypes.data_as(ctypes.c_void_p))
        self.imu_of(self.rows[12:21].reshape(3, 3))

        class One:  # what Front reads of pictures
            pass
        front = Front.__new__(Front)
        front.c = c
        c.bridge_detail.restype = ctypes.c_char_p
        names = (ctypes.c_char_p * len(tuning))(*[t.split("=")[0].encode() for t in tuning])
        values = (ctypes.c_int32 * len(tuning))(*[int(t.split("=")[1]) for t in tuning])
        status = c.bridge_open((ctypes.c_int32 * 2)(752, 480), pointer(self.rows), 2, ctypes.byref(self.noise), names, values, len(tuning))
        if status:
            raise SystemExit("vfront_init: %d, %s" % (status, c.bridge_detail().decode()))
        return front

    def imu_of(self, R_cam_imu):
        """IMU samples of a spline through the poses; the body is stationary in the second before it and the second after it."""
        from scipy.interpolate import CubicSpline
        from scipy.spatial.transform import Rotation, RotationSpline
        t = np.array(self.stamps) * 1e-9
        turns = RotationSpline(t, Rotation.from_matrix([p[:, :3] @ R_cam_imu for p in self.poses]))
        way = CubicSpline(t, [p[:, 3] for p in self.poses])
        at = np.arange(t[0], t[-1], 0.005)
        random = np.random.default_rng(3)
        rate, root = turns(at, 1), np.sqrt(200.0)
        body = turns(at).inv()
        force = body.apply(way(at, 2) + [0, 0, 9.81])
        # scipy's rate is in the world's axes in some versions and in the body's in others: by differences
        step = (turns(at - 1e-5).inv() * turns(at + 1e-5)).as_rotvec() / 2e-5
        self.t_ns = np.round(at * 1e9).astype(np.int64)
        self.gyro = step + [0.01, -0.006, 0.004] + ADIS16448[0] * root * random.normal(size=rate.shape)
        self.accel = force + [0.05, -0.04, 0.03] + ADIS16448[1] * root * random.normal(size=rate.shape)

    def frame(self, front, i):
        out = []
        R, t = np.ascontiguousarray(self.poses[i][:, :3]), np.ascontiguousarray(self.poses[i][:, 3])
        for camera in range(2):
            picture = np.zeros((480, 752), np.uint8)
            front.c.bridge_hall(i, pointer(R), pointer(t), camera, picture.ctypes.data_as(ctypes.c_void_p))
            out.append(picture)
        return out

    def pose(self, i):
        return self.poses[i][:, :3], self.poses[i][:, 3]


def right_pairs(front, R, t, focal):
    rows = np.zeros((MOST, 6), np.float32)
    n = front.c.bridge_pairs(MOST, rows.ctypes.data_as(ctypes.c_void_p))
    before, now = rows[:n, :3].astype(float), rows[:n, 3:].astype(float)
    E = np.array([[0, -t[2], t[1]], [t[2], 0, -t[0]], [-t[1], t[0], 0]]) @ R
    apart = []
    for line, p in ((now @ E, before), (before @ E.T, now)):
        apart.append(np.abs((line * p).sum(1)) / np.maximum(np.linalg.norm(line, axis=1), 1e-12))
    return (np.maximum(*apart) * focal < NEAR_PX).sum(), n


def fly(library, flight, words, stride, gap):
    """For each frame: number, source, error of translation and rotation, both NEES, right matches, matches."""
    front, rows, given, shown = flight.open(library, words), [], 0, None
    given = max(int(np.searchsorted(flight.t_ns, flight.stamps[0])) - 2, 0)
    out = np.zeros(34, np.float32)
    for k, i in enumerate(range(0, len(flight.stamps), stride)):
        missing = gap and k % 30 >= 22
        to = int(np.searchsorted(flight.t_ns, flight.stamps[i] + AHEAD_NS))
        imu = imu_samples(flight.t_ns[given:to], flight.gyro[given:to], flight.accel[given:to]) if to > given else None
        given = max(to, given)
        front.c.bridge_without(3 if missing else 0)
        front.step(*flight.frame(front, i), flight.stamps[i], imu)
        pose = flight.pose(i)
        if shown is not None and pose is not None and not missing and (not gap or k % 30 == 0):
            source = front.c.bridge_predicted(out.ctypes.data_as(ctypes.c_void_p))
            R, t = pose[0].T @ shown[0], pose[0].T @ (shown[1] - pose[1])
            P, S = out[:9].reshape(3, 3).astype(float), np.zeros((6, 6))
            S[np.triu_indices(6)] = out[12:33]
            S += np.triu(S, 1).T
            shift, turn = t - out[9:12], cv2.Rodrigues(R @ P.T)[0][:, 0]
            nees = [e @ np.linalg.solve(s, e) / 3 if np.linalg.cond(s) < 1e12 else np.nan for e, s in ((shift, S[:3, :3]), (turn, S[3:, 3:]))]
            rows.append((k, source, shift @ shift, turn @ turn, *nees, *right_pairs(front, R, t, flight.focal)))
        if not missing:
            shown = pose
    return np.array(rows, float)


def main():
    words = sys.argv[1:]
    if not words or words[0].startswith("-"):
        print(__doc__)
        return 2
    need_data()
    cv2.setNumThreads(1)
    quick = "--quick" in words
    after = {n: [w for w in words[words.index(n) + 1:] if not w.startswith("--")] if n in words else [] for n in ("--only", "--set")}
    names = [" ".join(after["--only"])] if after["--only"] else ["euroc_mh01_a"] if quick else SETS
    good = True
    print("                               translation [mm]     rotation [mrad]      NEES                      right matches")
    print("set                  frames    without    state    without    state      t (median)   w (median)   without (least)      state (least)")
    for name in names:
        base, stride = name.split(" + ")[0].split("/")[0], int(name.split("/")[1]) if "/" in name else 1
        count = RECORDED.get(base, 240)
        if base in RECORDED and not os.path.isdir(place(base)):
            print("%s: skipped, it is missing" % name)
            continue
        flight = (Recorded if base in RECORDED else Flown)(base, min(count, 60) if quick else count)
        without, state = (fly(words[0], flight, ["vio=%d" % w] + after["--set"], stride, "gap" in name) for w in (0, 1))
        by = state[:, 1].astype(int) & STATE != 0
        a, b = without[by], state[by]
        if not len(b):
            print("%-18s  no motion predicted by a state" % name)
            continue
        rms = np.sqrt([a[:, 2].mean(), b[:, 2].mean(), a[:, 3].mean(), b[:, 3].mean()]) * 1e3
        print("%-18s %4d (%3d)  %8.2f %8.2f   %8.2f %8.2f   %6.2f (%.2f) %6.2f (%.2f)   %7.1f (%4d) %5.2f%%  %7.1f (%4d) %5.2f%%" % (
            name, len(b), len(state), *rms, b[:, 4].mean(), np.median(b[:, 4]), b[:, 5].mean(), np.median(b[:, 5]),
            a[:, 6].mean(), a[:, 6].min(), 100 * a[:, 6].sum() / a[:, 7].sum(), b[:, 6].mean(), b[:, 6].min(), 100 * b[:, 6].sum() / b[:, 7].sum()))
        sys.stdout.flush()
        good &= bool(b[:, 6].sum() >= 0.98 * a[:, 6].sum() and rms[1] < 1.05 * rms[0] + 0.1 and rms[3] < 1.05 * rms[2] + 0.1)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
