#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Value of expected depths, searched where the predicted motion and the previous frame's depths put them: tuning stereo 1, 2.

    tests/geometry/expect.py build/bridge_ego.so [--quick] [--only set ...] [--set name=value ...]

Sequences lie in $VFRONT_DATA or ../shared/data beside the project; flights as in honesty.py, NAME/3: every third picture. cut: the view jumps
by 40 frames of the flight every third frame. Host port, standard tuning, 24 frames a set, rectified pictures. --quick: one flight.
Exit status: 1 fewer right depths with expectations than without, or a larger share of them wrong by 0.5 % of all; 77 OpenCV, data or the
bridge is missing; else 0.

truth       flights: disparities of the renderer. tartan: of the depth of TartanAir, from which the right picture is made too. kitti05, kitti01,
            euroc: of OpenCV's semi-global matcher, where it has one; pictures of euroc are rectified by OpenCV.
depths      A frame, with a match and without. right: disparity within 1 px, or half a pixel of the point's level, of the truth within 3 px of the
            key point; wrong: off by more than 3 px of its level; [%]: of those with a truth. sigma: mean square of error over deviation, where
            the truth varies by less than 1 px and of errors up to 1 px of the level or three deviations. us: of the stage on this machine.
"""
import sys

from ego import Bridge
from command import by_option
from honesty import DRIVING, FLOWN, declare, euroc_flight, flown_poses, poses_round
from pictures import grey, names, need_data, stored
from stereo import pinholes, sequence

import cv2
import numpy as np

SETS = ["flight", "V1_02", "V2_02/3", "kaist/4", "cut", "tartan", "kitti05", "kitti01", "euroc"]
FRAMES = 24
FLIGHT_FB = 0.61 * 752 * 0.11  # focal length times baseline of the flights [px m]


class Pictures:
    """Recorded frames, or poses to render; true disparities, 0 where unknown."""

    def __init__(self, rig, frames, truth, interval_ms):
        self.rig, self.frames, self.truth, self.interval_ms = rig, frames, truth, interval_ms
        self.fb = FLIGHT_FB if rig is None else rig.focal * rig.baseline


def flown(bridge, name, count):
    words = name.split("/")
    stride = int(words[1]) if len(words) > 1 else 1
    bridge.check(bridge.c.bridge_flight(bridge.settings.encode()))
    if name == "cut":
        both = poses_round(bridge, count), poses_round(bridge, 41 * count)[40::40]
        poses = [both[i // 3 % 2][i] for i in range(count)]
    elif words[0] in FLOWN:
        poses = flown_poses(words[0], count * stride)[::stride]
    else:
        poses = poses_round(bridge, count * stride)[::stride]
    truth, frames = [], [[np.ascontiguousarray(p[:, :3]), np.ascontiguousarray(p[:, 3])] for p in poses]
    for R, t in frames:
        out = np.zeros((480, 752), np.float32)
        bridge.c.bridge_disparity_from(R.ctypes.data, t.ctypes.data, out.ctypes.data)
        truth.append(out)
    return Pictures(None, frames, truth, 50 * stride)


def right_picture(left, disparity, draw):
    """Image of a camera to the right: surfaces shifted by their disparity, the nearest visible; parts invisible in the left image are filled in."""
    height, width = left.shape
    out, nearest = np.zeros((height, width), np.float32), np.zeros((height, width), np.float32)
    for y in range(height):
        d, row = disparity[y], left[y].astype(np.float32)
        there = np.arange(width) - d
        for x in np.nonzero((np.abs(np.diff(d)) < 1) & (d[:-1] > 0) & (d[1:] > 0))[0]:
            for k in range(max(int(np.ceil(there[x])), 0), min(int(np.floor(there[x + 1])), width - 1) + 1):
                part = (k - there[x]) / max(there[x + 1] - there[x], 1e-6)
                here = d[x] + part * (d[x + 1] - d[x])
                if here > nearest[y, k]:
                    nearest[y, k], out[y, k] = here, row[x] + part * (row[x + 1] - row[x])
    filled = cv2.inpaint(np.clip(out, 0, 255).astype(np.uint8), (nearest == 0).astype(np.uint8), 3, cv2.INPAINT_TELEA)
    noisy = np.where(nearest > 0, out, filled) + draw.normal(0, 2, out.shape)
    return np.clip(np.round(noisy), 0, 255).astype(np.uint8)


def tartan(count):
    folder, rig, draw = "tartanair_mono_depth_a", pinholes((640, 480), 320.0, 320, 240, 0.25), np.random.default_rng(3)
    frames, truth = [], []
    for name in names(folder, "image_0")[:count]:
        depth = stored(folder, "depth_mm", name) / 1000.0
        truth.append(np.where(depth > 0, rig.focal * rig.baseline / np.maximum(depth, 1e-3), 0).astype(np.float32))
        left = grey(folder, "image_0", name)
        frames.append((left, right_picture(left, truth[-1], draw)))
    return Pictures(rig, frames, truth, 50)


def semi_global(frames):
    matcher = cv2.StereoSGBM_create(0, 128, 5, 200, 800, 1, 0, 10, 100, 2, cv2.STEREO_SGBM_MODE_HH)
    out = []
    for pair in frames:
        wide = [cv2.copyMakeBorder(p, 0, 0, 128, 0, cv2.BORDER_CONSTANT) for p in pair]
        disparity = matcher.compute(*wide)[:, 128:].astype(np.float32) / 16
        out.append(np.where(disparity > 0.5, disparity, 0))
    return out


def load(bridge, name, count):
    if name == "tartan":
        return tartan(count)
    if name in DRIVING:
        rig, frames, _ = sequence(DRIVING[name], range(count))
        return Pictures(rig, frames, semi_global(frames), 100)
    if name == "euroc":
        raw, frames, _ = euroc_flight(40 + count)
        frames, P = [raw.rectify(*pair) for pair in frames[40:]], raw.P[0]
        return Pictures(pinholes((752, 480), P[0, 0], P[0, 2], P[1, 2], raw.baseline), frames, semi_global(frames), 50)
    return flown(bridge, name, count)


def judge(rows, truth, fb):
    """Right, wrong and known depths; squared normalised errors, nan where not counted."""
    d, step = fb / rows[:, 3], rows[:, 2]
    x, y = np.round(rows[:, :2]).astype(int).T
    low, high = [f(truth, np.ones((7, 7), np.uint8))[y, x] for f in (cv2.erode, cv2.dilate)]
    middle = cv2.remap(truth, rows[:, 0].astype(np.float32), rows[:, 1].astype(np.float32), cv2.INTER_LINEAR)[:, 0]
    known, off, sigma = low > 0, np.maximum(np.maximum(low - d, d - high), 0), rows[:, 4] / rows[:, 3] * d
    counts = known & (high - low < 1) & (np.abs(d - middle) <= np.maximum(step, 3 * sigma))
    return known & (off <= np.maximum(1, step / 2)), known & (off > 3 * step), known, np.where(counts, ((d - middle) / sigma) ** 2, np.nan)


def measure(bridge, pictures):
    """Sums over all frames except the first two, of depths with and without a match: number, right, wrong, known, squares, number of squares;
    and mean time of the stage [us]."""
    out, sums, us = np.zeros((8192, 6), np.float32), np.zeros((2, 6)), []
    bridge.c.bridge_interval(pictures.interval_ms)
    if pictures.rig is None:
        bridge.check(bridge.c.bridge_flight(bridge.settings.encode()))
    else:
        bridge.open(pictures.rig, 2)
    for i, frame in enumerate(pictures.frames):
        if pictures.rig is None:
            bridge.check(bridge.c.bridge_fly_from(i, frame[0].ctypes.data, frame[1].ctypes.data, None))
        else:
            bridge.step(*frame)
        if i < 2:
            continue
        us.append(bridge.c.bridge_stage_us(b"stereo"))
        rows = out[:bridge.c.bridge_depths(len(out), out.ctypes.data)].astype(float)
        right, wrong, known, squares = judge(rows, pictures.truth[i], pictures.fb)
        for k, which in enumerate((rows[:, 5] > 0, rows[:, 5] == 0)):
            sums[k] += [which.sum(), right[which].sum(), wrong[which].sum(), known[which].sum(), np.nansum(squares[which]),
                        np.isfinite(squares[which]).sum()]
    return sums / len(us), np.mean(us)


def compare(path, names, settings, count):
    """Prints the table of sets. Returns 1 if expectations give more right depths in total, and no larger share of wrong ones."""
    without, with_ = [Bridge(path, " ".join(["rectify=0", "stereo=%d" % mode] + settings)) for mode in (2, 1)]
    declare(without)
    good = 1
    print("          without expectations          with: of matches        expected: without a match           more right   us")
    print("set       right   wrong [%]  sigma      right   wrong [%]       right   wrong [%]  sigma            [%]          without with")
    for name in names:
        pictures = load(without, name, count)
        (a, us_a), (b, us_b) = measure(without, pictures), measure(with_, pictures)
        row = [a[0, 1], 100 * a[0, 2] / a[0, 3], a[0, 4] / a[0, 5], b[0, 1], 100 * b[0, 2] / b[0, 3], b[1, 1], 100 * b[1, 2] / max(b[1, 3], 1e-9),
               b[1, 4] / max(b[1, 5], 1e-9), 100 * (b[:, 1].sum() / a[0, 1] - 1), us_a, us_b]
        print("%-9s %6.1f %8.3f %8.2f    %7.1f %8.3f      %7.1f %9.3f %8.2f     %14.1f %10.0f %5.0f" % ((name,) + tuple(row)))
        sys.stdout.flush()
        good &= b[:, 1].sum() > a[0, 1] and b[:, 2].sum() / b[:, 3].sum() <= a[0, 2] / a[0, 3] + 0.005
    return good


def main():
    lists, given = by_option(sys.argv[1:], ("--set", "--only"))
    if len(lists[""]) != 1:
        print(__doc__)
        return 2
    need_data()
    cv2.setNumThreads(1)
    quick = "--quick" in given
    return 0 if compare(lists[""][0], lists["--only"] or (["V2_02/3"] if quick else SETS), lists["--set"], 8 if quick else FRAMES) else 1


if __name__ == "__main__":
    sys.exit(main())
