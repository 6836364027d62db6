#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the stage predict is worth: its motion beside the truth, and guided matching in slow and fast flight beside a search of the whole
picture.

    tests/geometry/predict.py build/bridge_ego.so [--set name=value ...]

Sequences lie in $VFRONT_DATA or ../shared/data beside the project; sets as in honesty.py. NAME/3: every third picture of a set, so that
the camera turns and moves three times as far from frame to frame; + gyro: with the true rotation as prior. Host port, standard tuning.
Exit status: 77 OpenCV, data or the bridge is missing, else 0.

prediction  Root mean square of the error of translation [mm] and rotation [mrad]: predicted, and of a camera taken to rest. NEES:
            normalised error squared a dimension, mean, translation and rotation: 1 when the covariance is right, less where it is wide.
matches     Right ones a frame (both points within 2 px of the other's true epipolar line), and their share; in the worst frame; guided,
            then in the whole picture. good: metric motions in that state, guided, in the whole picture, of all.
"""
import ctypes
import os
import sys

from ego import GOOD, Bridge, Motion, step_of
from honesty import FLOWN, declare, flown_poses, load, normalised, run
from stereo import DATA, skip

import cv2
import numpy as np

SETS = ["euroc05", "kitti05", "kitti01", "V1_02", "V2_02", "kaist", "euroc05/3", "V1_02/3", "V2_02/3", "V2_02/3 + gyro", "kaist/4"]
NEAR_PX = 2.0
FOCAL_PX = 458.0  # of the hall and EuRoC; for KITTI, with 710 px, the bound is 3 px


def fly(bridge, poses, gyro):
    """Frame by frame of the hall along poses: as honesty.run()."""
    bridge.check(bridge.c.bridge_flight(bridge.settings.encode()))
    for i, pose in enumerate(poses):
        R, t = np.ascontiguousarray(pose[:, :3]), np.ascontiguousarray(pose[:, 3])
        turn = np.ascontiguousarray(step_of(poses, i)[0]) if gyro and i else None
        bridge.check(bridge.c.bridge_fly_from(i, R.ctypes.data, t.ctypes.data, None if turn is None else turn.ctypes.data))
        if i:
            yield (i,) + tuple(bridge.motions()) + step_of(poses, i)


def steps_of(bridge, name):
    words = name.split(" + ")[0].split("/")
    stride = int(words[1]) if len(words) > 1 else 1
    bridge.c.bridge_interval(stride * (100 if words[0].startswith("kitti") else 50))
    if words[0] in FLOWN:
        return fly(bridge, flown_poses(words[0], 60)[::stride], "gyro" in name)
    rig, frames, poses, cameras = load(words[0], False)
    return run(bridge, rig, cameras, frames, poses, stride=stride)


def right_matches(bridge, R, t):
    """Number of matches, and of those that are right."""
    pairs = bridge.pairs()
    before, now = (pairs[pairs[:, 0] == 1][:, k:k + 3] for k in (5, 8))
    E = np.array([[0, -t[2], t[1]], [t[2], 0, -t[0]], [-t[1], t[0], 0]]) @ R
    lines = before @ E.T, now @ E
    apart = [np.abs((line * p).sum(1)) / np.maximum(np.linalg.norm(line, axis=1), 1e-12) for line, p in zip(lines, (now, before))]
    return len(now), (np.maximum(*apart) * FOCAL_PX < NEAR_PX).sum()


def measure(bridge, name):
    """Rows of a set: matches, right ones, metric motion good; errors and NEES of predictions."""
    matches, predictions, out = [], [], np.zeros(42, np.float32)
    for _, _, metric, R, t in steps_of(bridge, name):
        matches.append(right_matches(bridge, R, t) + (metric.state == GOOD,))
        if not bridge.c.bridge_predicted(out.ctypes.data) & 2:
            continue
        m = Motion(out.astype(float))
        shift, turn = t - m.t, cv2.Rodrigues(R @ m.R.T)[0][:, 0]
        predictions.append((shift @ shift, t @ t, turn @ turn, np.sum(cv2.Rodrigues(R)[0] ** 2), normalised(shift, m.S[:3, :3]),
                            normalised(turn, m.S[3:, 3:])))
    return np.array(matches, float), np.array(predictions)


def main():
    words = sys.argv[1:]
    settings = [w for w in words[1:] if w != "--set"]
    if not words or words[0].startswith("-"):
        print(__doc__)
        return 2
    if not os.path.isdir(DATA):
        skip("no %s (set VFRONT_DATA)" % DATA)
    cv2.setNumThreads(1)
    guided, whole = (Bridge(words[0], " ".join(["rectify=0", mode] + settings)) for mode in ("match_guided=1", "match_guided=0"))
    declare(guided)
    print("                error [mm]       [mrad]         NEES          right matches                       good")
    print("set             pred.   rest   pred.   rest  transl.   rot.  guided (least)        whole (least)   both, of")
    for name in SETS:
        m, p = measure(guided, name)
        w, _ = measure(whole, name)
        rms = 1e3 * np.sqrt(p[:, :4].mean(0))
        print("%-14s %6.1f %6.1f  %6.2f %6.2f  %7.2f %6.2f  %6.1f %5.2f%% (%4d) %6.1f %5.2f%% (%4d)  %d %d of %d" % (
            (name,) + tuple(rms) + tuple(p[:, 4:].mean(0)) + tuple(v for x in (m, w) for v in (
                x[:, 1].mean(), 100 * x[:, 1].sum() / x[:, 0].sum(), x[:, 1].min())) + (m[:, 2].sum(), w[:, 2].sum(), len(m))))
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
