#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Value of the stage predict: its motion against the truth, and guided matching in slow and fast flight against a search of the whole
image.

    tests/geometry/predict.py build/bridge_ego.so [--quick] [--set name=value ...]

Sequences lie in $VFRONT_DATA or ../shared/data beside the project; sets as in honesty.py. NAME/3: every third picture of a set, so that
the camera turns and moves three times as far from frame to frame; + gyro: with the true rotation as prior. Host port, standard tuning.
Two cameras, then one (stereo=0), which knows no translation. --quick: one fast flight, of 30 frames.
Exit status: 1 guided matching has fewer right matches than a search of the whole picture; 77 OpenCV, data or the bridge is missing; else 0.

prediction  Root mean square of the error of translation [mm] and rotation [mrad]: predicted, and assuming a stationary camera. NEES:
            mean normalised squared error per dimension, translation and rotation: 1 for a consistent covariance, less if it is too large.
matches     Right ones a frame (both points within 2 px of the other's true epipolar line), and their share; in the worst frame; guided,
            then in the whole picture. good: metric motions in that state, guided, in the whole picture, of all.
tracks      Tracks a frame within 1 px of the true epipolar line, of those kept.
"""
import sys

from ego import GOOD, Bridge, Motion, step_of
from honesty import FLOWN, declare, flown_poses, load, normalised, run
from pictures import need_data

import cv2
import numpy as np

SETS = ["euroc05", "kitti05", "kitti01", "V1_02", "V2_02", "kaist", "euroc05/3", "V1_02/3", "V2_02/3", "V2_02/3 + gyro", "kaist/4"]
ONE_CAMERA = [s for s in SETS if "gyro" not in s] + ["kitti05/2", "V1_02/2", "V2_02/2"]
NEAR_PX, TRACK_NEAR_PX = 2.0, 1.0
FOCAL_PX = 458.0  # of the hall and EuRoC; for KITTI, with 710 px, the bound is 3 px


def fly(bridge, poses, gyro):
    """For each frame of the hall along poses: the values of honesty.run()."""
    bridge.check(bridge.c.bridge_flight(bridge.settings.encode()))
    for i, pose in enumerate(poses):
        R, t = np.ascontiguousarray(pose[:, :3]), np.ascontiguousarray(pose[:, 3])
        turn = np.ascontiguousarray(step_of(poses, i)[0]) if gyro and i else None
        bridge.check(bridge.c.bridge_fly_from(i, R.ctypes.data, t.ctypes.data, None if turn is None else turn.ctypes.data))
        if i:
            yield (i,) + tuple(bridge.motions()) + step_of(poses, i)


def steps_of(bridge, name, length=60):
    words = name.split(" + ")[0].split("/")
    stride = int(words[1]) if len(words) > 1 else 1
    bridge.c.bridge_interval(stride * (100 if words[0].startswith("kitti") else 50))
    if words[0] in FLOWN:
        return fly(bridge, flown_poses(words[0], length)[::stride], "gyro" in name)
    rig, frames, poses, cameras = load(words[0], False)
    return run(bridge, rig, cameras, frames, poses, stride=stride)


def right_pairs(bridge, R, t, kind, near_px):
    """Number of tracks (kind 0) or matches (kind 1), and of right ones."""
    pairs = bridge.pairs()
    before, now = (pairs[pairs[:, 0] == kind][:, k:k + 3] for k in (5, 8))
    E = np.array([[0, -t[2], t[1]], [t[2], 0, -t[0]], [-t[1], t[0], 0]]) @ R
    lines = before @ E.T, now @ E
    apart = [np.abs((line * p).sum(1)) / np.maximum(np.linalg.norm(line, axis=1), 1e-12) for line, p in zip(lines, (now, before))]
    return len(now), (np.maximum(*apart) * FOCAL_PX < near_px).sum()


def measure(bridge, name, length):
    """Rows of a set: matches, right ones, metric motion good, tracks, right ones; errors and NEES of predictions."""
    matches, predictions, out = [], [], np.zeros(42, np.float32)
    for _, _, metric, R, t in steps_of(bridge, name, length):
        matches.append(right_pairs(bridge, R, t, 1, NEAR_PX) + (metric.state == GOOD,) + right_pairs(bridge, R, t, 0, TRACK_NEAR_PX))
        if not bridge.c.bridge_predicted(out.ctypes.data) & 2:
            continue
        m = Motion(out.astype(float))
        shift, turn = t - m.t, cv2.Rodrigues(R @ m.R.T)[0][:, 0]
        predictions.append((shift @ shift, t @ t, turn @ turn, np.sum(cv2.Rodrigues(R)[0] ** 2), normalised(shift, m.S[:3, :3]),
                            normalised(turn, m.S[3:, 3:])))
    return np.array(matches, float), np.array(predictions)


def compare(path, settings, sets, length):
    """Prints the table of sets. Returns 1 if guided matching has at least as many right matches as the search of the whole image, over all sets."""
    guided, whole = (Bridge(path, " ".join(["rectify=0", mode] + settings)) for mode in ("match=1", "match=2"))
    good = 1
    declare(guided)
    print("                error [mm]       [mrad]         NEES          right matches                       good          tracks")
    print("set             pred.   rest   pred.   rest  transl.   rot.  guided (least)        whole (least)   both, of      right, of")
    for name in sets:
        m, p = measure(guided, name, length)
        w, _ = measure(whole, name, length)
        rms = 1e3 * np.sqrt(p[:, :4].mean(0)) if len(p) else np.full(4, np.nan)
        nees = p[:, 4:].mean(0) if len(p) else np.full(2, np.nan)
        print("%-14s %6.1f %6.1f  %6.2f %6.2f  %7.2f %6.2f  %6.1f %5.2f%% (%4d) %6.1f %5.2f%% (%4d)  %3d %3d of %3d  %6.1f %6.1f" % (
            (name,) + tuple(rms) + tuple(nees) + tuple(v for x in (m, w) for v in (
                x[:, 1].mean(), 100 * x[:, 1].sum() / x[:, 0].sum(), x[:, 1].min())) + (m[:, 2].sum(), w[:, 2].sum(), len(m)) +
            (m[:, 4].mean(), m[:, 3].mean())))
        sys.stdout.flush()
        good &= m[:, 1].sum() >= w[:, 1].sum()
    return good


def main():
    words = sys.argv[1:]
    if not words or words[0].startswith("-"):
        print(__doc__)
        return 2
    quick = "--quick" in words
    settings = [w for w in words[1:] if w not in ("--set", "--quick")]
    need_data()
    cv2.setNumThreads(1)
    length = 90 if quick else 60
    good = compare(words[0], settings, ["V1_02/3"] if quick else SETS, length)
    print("\none camera")
    good &= compare(words[0], ["stereo=0"] + settings, ["V1_02/3"] if quick else ONE_CAMERA, length)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
