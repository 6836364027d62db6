#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the stereo partners of tracks in camera 1 with OpenCV's pyramidal Lucas-Kanade from the left image to the right one.

    tests/tracking/partner.py build/bridge_ego.so [--quick] [--only set ...] [--set name=value ...]

Sequences lie in $VFRONT_DATA or ../shared/data beside the project; flights as in tests/geometry/expect.py, NAME/3: every third image. Host
port, standard tuning, 1,000 tracks, 16 frames a set, rectified images; of the still pairs one frame, of those that are too large a part.
--quick: one flight and one pair. Exit status: 1 more than 2 % of the partners of a set wrong, or more than half of the tracks without one on
a flight; 77 OpenCV, data or the bridge is missing; else 0.

truth    flights: disparities of the renderer. tartan: of the depth of TartanAir, from which the right image is made too. cones reindeer aloe
         sceneflow_A0032: of the sets. kitti05, kitti01, euroc: of OpenCV's semi-global matcher, where it has one: no truth, for comparison.
tracks   A frame. seen: share whose point lies in the right image and is not occluded there, of those with a truth [%].
kept     Share of the tracks with a partner [%]; of the seen ones [%].
right    Share of the partners with a truth whose disparity is within 1 px of the truth within 3 px of the track [%]; wrong: off by over 3 px [%].
rms      Of errors up to 1 px where the truth varies by less than 1 px within 3 px of the track [px]. chi2: mean square of error over standard
         deviation there, of errors up to 1 px or three standard deviations, less the variance of the truth's own steps; 1: the deviation is true.
us       Of the stage, a frame, on this machine.
LK       cv2.calcOpticalFlowPyrLK of the same points, windows of 21 px, 5 levels, and back again: back within 1 px, in the row within 1 px,
         disparity not below -2 px.
"""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "geometry"))
from ego import Bridge
from expect import Pictures, load
from honesty import declare
from pictures import need_data
from stereo import PAIRS, Scene, hidden, pinholes

import cv2
import numpy as np

FLIGHTS = ["flight", "V1_02", "V2_02/3", "kaist/4", "cut"]
SETS = FLIGHTS + ["tartan"] + list(PAIRS) + ["kitti05", "kitti01", "euroc"]
FRAMES, ROOM, BEST = 16, 1024, 1280  # of the bridge's config
PART = {"aloe": 300, "reindeer": 40}  # first row of 512


def still(name):
    """A stereo pair as a sequence of one frame, cropped to the largest size of the bridge."""
    scene, top = Scene(name), PART.get(name, 0)
    left, right, truth = [np.ascontiguousarray(p[top:top + 512, :BEST]) for p in (scene.left, scene.right, scene.truth.astype(np.float32))]
    height, width = left.shape
    rig = pinholes((width, height), 1000.0, (width - 1) / 2, (height - 1) / 2, 0.1, scene.rig.disparity)
    return Pictures(rig, [(left, right)], [np.where(scene.hidden[top:top + 512, :BEST] & (truth > 0), -truth, truth)], 50)


def judge(place, disparity, truth):
    """For points with a disparity: truth known, right, wrong, truth smooth within 3 px, error."""
    x, y = [np.clip(np.round(place[:, k]).astype(int), 0, truth.shape[1 - k] - 1) for k in (0, 1)]
    plain = np.abs(truth).astype(np.float32)
    low, high = [f(plain, np.ones((7, 7), np.uint8))[y, x] for f in (cv2.erode, cv2.dilate)]
    middle = cv2.remap(plain, place[:, 0].astype(np.float32), place[:, 1].astype(np.float32), cv2.INTER_LINEAR)[:, 0]
    off = np.maximum(np.maximum(low - disparity, disparity - high), 0)
    return low > 0, off <= 1, off > 3, (low > 0) & (high - low < 1), disparity - middle


def lucas_kanade(left, right, place):
    """Disparities of points; nan: none."""
    p = place.astype(np.float32)[:, None]
    options = dict(winSize=(21, 21), maxLevel=4, criteria=(3, 30, 0.01))
    q, there, _ = cv2.calcOpticalFlowPyrLK(left, right, p, None, **options)
    r, back, _ = cv2.calcOpticalFlowPyrLK(right, left, q, None, **options)
    d, off = (p - q)[:, 0, 0], np.abs(p - r)[:, 0].max(1)
    good = (there[:, 0] == 1) & (back[:, 0] == 1) & (off < 1) & (np.abs(p - q)[:, 0, 1] < 1) & (d > -2)
    return np.where(good, d, np.nan).astype(float)


class Sums:
    def __init__(self):
        self.n = np.zeros(9)

    def add(self, place, disparity, sigma, truth, steps):
        """Adds the errors of a frame. sigma: standard deviations; None for OpenCV, which has none."""
        kept = np.isfinite(disparity)
        known, right, wrong, calm, error = judge(place[kept], disparity[kept], truth)
        near = calm & (np.abs(error) <= (1 if sigma is None else np.maximum(1, 3 * sigma[kept])))
        fine, square = calm & (np.abs(error) <= 1), (error ** 2 - steps ** 2 / 12) / (1 if sigma is None else sigma[kept] ** 2)
        self.n += [len(place), kept.sum(), known.sum(), (known & right).sum(), (known & wrong).sum(), (error[fine] ** 2 - steps ** 2 / 12).sum(),
                   fine.sum(), square[near].sum(), near.sum()]

    def row(self, with_sigma):
        n = self.n
        return "%6.1f %7.2f %6.2f %6.3f %s" % (100 * n[1] / n[0], 100 * n[3] / n[2], 100 * n[4] / n[2], np.sqrt(max(n[5], 0) / n[6]),
                                              "%5.2f" % (n[7] / n[8]) if with_sigma else "    -")


def pixels(rows, rig):
    """Disparities along the row and their standard deviations; nan: none."""
    found = rows[:, 6] > 0
    disparity = np.where(found, rows[:, 0] - rows[:, 3], np.nan)
    part = np.where(rows[:, 7] > 0, rows[:, 8] / np.maximum(rows[:, 7], 1e-9), rows[:, 6] / np.maximum(np.abs(rows[:, 5]), 1e-9))
    return disparity, part * np.abs(disparity)


def measure(bridge, name, pictures):
    """Sums of vfront and of OpenCV over a sequence without its first two frames; share of visible tracks, share of these kept, time."""
    out, ours, peer, us = np.zeros((ROOM, 9), np.float32), Sums(), Sums(), []
    seen = np.zeros(3)
    bridge.c.bridge_interval(pictures.interval_ms)
    if pictures.rig is None:
        bridge.check(bridge.c.bridge_flight(bridge.settings.encode()))
    else:
        bridge.open(pictures.rig, 2, "stereo_disparity_px=%d" % pictures.rig.disparity)
    for i, frame in enumerate(pictures.frames):
        if pictures.rig is None:
            bridge.check(bridge.c.bridge_fly_from(i, frame[0].ctypes.data, frame[1].ctypes.data, None))
            frame = [np.zeros((480, 752), np.uint8) for _ in (0, 1)]
            for k in (0, 1):
                bridge.c.bridge_picture(k, frame[k].ctypes.data)
        else:
            bridge.step(*frame)
        if i < 2 and len(pictures.frames) > 2:
            continue
        us.append(bridge.c.bridge_stage_us(b"partner"))
        rows = out[:bridge.c.bridge_partners(ROOM, out.ctypes.data)].astype(float)
        truth, steps = pictures.truth[i], PAIRS.get(name, 0.0)
        lost = hidden(np.abs(truth)) | (truth <= 0)
        x, y = [np.clip(np.round(rows[:, k]).astype(int), 0, truth.shape[1 - k] - 1) for k in (0, 1)]
        known = truth[y, x] != 0
        disparity, sigma = pixels(rows, pictures.rig)
        seen += [known.sum(), (known & ~lost[y, x]).sum(), (known & ~lost[y, x] & np.isfinite(disparity)).sum()]
        ours.add(rows[:, :2], disparity, sigma, truth, steps)
        peer.add(rows[:, :2], lucas_kanade(frame[0], frame[1], rows[:, :2]), None, truth, steps)
    return ours, peer, 100 * seen[1] / seen[0], 100 * seen[2] / seen[1], np.mean(us)


def report(path, names, settings, count):
    """Table of sets. Returns 1 if it is as good as it has to be."""
    bridge, good = Bridge(path, " ".join(["rectify=0", "track_target=1000"] + settings)), True
    declare(bridge)
    bridge.c.bridge_partners.argtypes = bridge.c.bridge_picture.argtypes = [ctypes.c_int, ctypes.c_void_p]
    print("                                vfront                                          LK")
    print("set              tracks  seen   kept  of seen   right  wrong    rms  chi2    us   kept   right  wrong    rms")
    for name in names:
        pictures = still(name) if name in PAIRS else load(bridge, name, count)
        ours, peer, seen, of_seen, us = measure(bridge, name, pictures)
        n, row = ours.n, ours.row(True).split()
        frames = max(len(pictures.frames) - 2, 1)
        print("%-16s %6.0f %5.1f %6s %8.1f %7s %6s %6s %5s %5.0f %s" % (name, n[0] / frames, seen, row[0], of_seen, row[1], row[2], row[3], row[4], us,
                                                                    peer.row(False)[:-5]))
        sys.stdout.flush()
        good &= n[4] <= 0.02 * n[2] and (name not in FLIGHTS or n[1] >= 0.5 * n[0])
    return good


def main():
    words, lists, at = sys.argv[1:], {"--set": [], "--only": [], "": []}, ""
    for word in words:
        if word in lists or word == "--quick":
            at = word if word in lists else ""
        else:
            lists[at].append(word)
    if len(lists[""]) != 1:
        print(__doc__)
        return 2
    need_data()
    cv2.setNumThreads(1)
    quick = "--quick" in words
    return 0 if report(lists[""][0], lists["--only"] or (["V2_02/3", "cones"] if quick else SETS), lists["--set"], 6 if quick else FRAMES) else 1


if __name__ == "__main__":
    sys.exit(main())
