#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares matches with the previous frame with those of OpenCV's ORB and brute-force matcher, on sequences with ground truth.

    tests/tracking/matching.py build/bridge_match.so [--set name=value ...]

--set     Tuning values of vfront that are not standard.

Sequences are in $VFRONT_DATA or ../shared/data beside the project. Exit status: 77 data, OpenCV or the bridge is missing, else 0.

vfront    Standard tuning, select_points = 1000: guided; guided by the true rotation, as a gyro would give it; unguided.
OpenCV    cv2.ORB_create(nfeatures=1000), cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True), its pairs all and those of at most 64 bits;
          and the same matcher on vfront's key points, which shows what the rule of matching does. FAST 10: fastThreshold=10 instead of 20,
          which finds more where images are dim.
Truth     flow: from depth and poses, or where the camera only turns. A pair is right when it lies within 2 px of the true position;
          points without a true position do not count. line: poses alone. A pair is right when each of its points lies within 2 px of
          the other's epipolar line; wrong pairs along the line are not seen.
Columns   pairs: mean a frame. right: share of them [%]. wrong: share off by over 3 px [%]. right pairs: mean a frame. least: of all frames.
          spread: how evenly the key points lie, entropy over 8x8 fields, mean over the images [bit].
Chains    of vfront's guided matches that are CHAIN matches long, from where they began to where they are: live: share of all matches that
          live that long from then on [%]; median distance from the truth, and share of over 3 px [%]; behind it the same where the chain
          ends in the nearest key point instead.
"""
import ctypes
import os
import sys

from quality import Depth, Flight, Poses, entropy, errors, motion
from pictures import need_data, skip

import cv2
import numpy as np

POINTS = 1000
NEAR_PX, WRONG_PX = 2.0, 3.0
CHAIN = 5
ROOM = 2048  # VFRONT_KEYPOINTS of the bridge


def pointer(array):
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


class Vfront:
    def __init__(self, path, label, settings, rotation=False, matcher=None):
        if not os.path.exists(path):
            skip("no %s (make matching builds it)" % path)
        self.c = ctypes.CDLL(os.path.abspath(path))
        self.c.bridge_detail.restype = ctypes.c_char_p
        self.label, self.rotation, self.matcher = label, rotation, matcher
        self.settings = dict(dict(select_points=POINTS), **settings)

    def check(self, status):
        if status < 0:
            sys.exit("vfront: %s" % self.c.bridge_detail().decode())
        return status

    def open(self, source):
        height, width = source.pictures[0].shape
        K = np.ascontiguousarray(source.K, float)
        names = (ctypes.c_char_p * len(self.settings))(*[n.encode() for n in self.settings])
        values = (ctypes.c_int * len(self.settings))(*self.settings.values())
        self.check(self.c.bridge_open(width, height, pointer(K), names, values, len(values)))

    def step(self, picture, R):
        """Points, descriptors, and pairs of indices in this frame and the one before."""
        place, bits = np.zeros((ROOM, 2), np.float32), np.zeros((ROOM, 32), np.uint8)
        match, settled, matches = np.zeros((ROOM, 4), np.int32), np.zeros((ROOM, 4), np.float32), ctypes.c_int(0)
        count = self.check(self.c.bridge_step(pointer(np.ascontiguousarray(picture)), pointer(R), pointer(place), pointer(bits),
                                              pointer(match), pointer(settled), ctypes.byref(matches)))
        self.match, self.settled = match[:matches.value], settled[:matches.value]
        self.points = count
        return place[:count], bits[:count], self.match[:, :2]

    def chains(self, source):
        """Frame by frame, for chains of CHAIN matches: positions CHAIN frames before, positions in this frame, key points of this frame;
        and how many matches there were when these chains had one."""
        self.open(source)
        start, all_of = [], []
        for i, picture in enumerate(source.pictures):
            place = self.step(picture, None)[0]
            first = self.match[:, 3] == 1
            start.append(dict(zip(self.match[:, 2], self.settled[:, :2])))
            begin = dict(zip(self.match[first, 2], self.settled[first, 2:]))
            all_of.append((len(self.match), begin))
            if i < CHAIN:
                continue
            old = self.match[:, 3] > CHAIN  # those that had a match CHAIN frames ago
            new = self.match[:, 3] == CHAIN
            chosen = old | new
            ids = self.match[chosen, 2]
            p = np.array([start[i - CHAIN].get(k, all_of[i - CHAIN + 1][1].get(k)) for k in ids], float).reshape(-1, 2)
            yield i, p, self.settled[chosen, :2], place[self.match[chosen, 0]], all_of[i - CHAIN + 1][0]

    def run(self, source):
        """Frame by frame, positions of the matched pairs in the previous and in this frame."""
        self.open(source)
        before, self.spread = None, []
        for i, picture in enumerate(source.pictures):
            R = np.ascontiguousarray(motion(source.poses, i - 1, i)[0]) if self.rotation and i else None
            place, bits, pairs = self.step(picture, R)
            self.spread.append(entropy(place, picture.shape))
            if before and self.matcher:
                pairs = np.array([(m.queryIdx, m.trainIdx) for m in self.matcher.match(bits, before[1])])
            if before:
                yield i, before[0][pairs[:, 1]], place[pairs[:, 0]]
            before = place, bits


class OpenCV:
    def __init__(self, label, matcher, most, threshold=20):
        self.label, self.matcher, self.most, self.threshold = label, matcher, most, threshold

    def run(self, source):
        orb = cv2.ORB_create(nfeatures=POINTS, fastThreshold=self.threshold)
        found = [orb.detectAndCompute(p, None) for p in source.pictures]
        self.spread = [entropy(np.array([k.pt for k in f[0]]), p.shape) for f, p in zip(found, source.pictures)]
        for i, (was, now) in enumerate(zip(found, found[1:])):
            pairs = [m for m in self.matcher.match(now[1], was[1]) if m.distance <= self.most]
            p, q = [was[0][m.trainIdx].pt for m in pairs], [now[0][m.queryIdx].pt for m in pairs]
            yield i + 1, np.array(p).reshape(-1, 2), np.array(q).reshape(-1, 2)


def third(source):
    """Every third image."""
    source.pictures, source.poses = source.pictures[::3], source.poses[::3]
    return source


def judge(source, i, p, q):
    """Flags of the right and of the wrong pairs, among those with ground truth."""
    p, q = p.astype(float), q.astype(float)
    kind, truth, ok = source.truth(i - 1, i, p)
    off = errors(kind, truth, q)
    if kind == "line":
        off = np.maximum(off, errors(kind, source.truth(i, i - 1, q)[1], p))
    return np.array([off[ok] <= NEAR_PX, off[ok] > WRONG_PX])


def judge_chains(m, source):
    """A row of the table of chains."""
    off, naive, live, began = [], [], 0, 0
    for i, p, q, keypoint, count in m.chains(source):
        kind, truth, ok = source.truth(i - CHAIN, i, p)
        off.append(errors(kind, truth, q.astype(float))[ok])
        naive.append(errors(kind, truth, keypoint.astype(float))[ok])
        live, began = live + len(p), began + count
    off, naive = np.concatenate(off), np.concatenate(naive)
    return 100.0 * live / began, np.median(off), 100 * (off > 3).mean(), np.median(naive), 100 * (naive > 3).mean()


def main():
    settings = {}
    arguments = sys.argv[1:]
    while len(arguments) > 2 and arguments[1] == "--set":
        name, value = arguments[2].split("=")
        settings[name] = int(value)
        del arguments[1:3]
    if len(arguments) != 1:
        print(__doc__)
        return 2
    need_data()
    path = arguments[0]
    cv2.setNumThreads(1)
    brute = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True)
    matchers = [Vfront(path, "vfront, guided", settings), Vfront(path, "vfront, rotation", settings, True),
                Vfront(path, "vfront, unguided", dict(settings, match=2)),
                Vfront(path, "vfront's in OpenCV", settings, matcher=brute),
                OpenCV("OpenCV", brute, 256), OpenCV("OpenCV, 64 bits", brute, 64),
                OpenCV("OpenCV, FAST 10", brute, 256, 10)]
    sources = [("hut, line and flow", Poses("hut_synthetic")), ("newtsukuba, line", Poses("newtsukuba_mono_a")),
               ("tartanair, flow", Depth("tartanair_mono_depth_a")), ("kitti00, line", Poses("kitti00_mono_a")),
               ("kitti01, line", Poses("kitti01_stereo")), ("kitti05, line", Poses("kitti05_vio")), ("euroc /3, line", third(Flight()))]
    print("%-20s %-18s %8s %8s %8s %12s %8s %8s" % ("data", "matcher", "pairs", "right%", "wrong%", "right pairs", "least", "spread"))
    for name, source in sources:
        for m in matchers:
            frames = [judge(source, i, p, q) for i, p, q in m.run(source)]
            good, all_of = [f[0].sum() for f in frames], np.concatenate(frames, 1)
            print("%-20s %-18s %8.1f %8.2f %8.2f %12.1f %8d %8.2f" %
                  (name, m.label, np.mean([f.shape[1] for f in frames]), 100 * all_of[0].mean(), 100 * all_of[1].mean(), np.mean(good),
                   min(good), np.mean(m.spread)), flush=True)
            name = ""
    print("\n%-20s %8s %16s %24s" % ("chains of %d" % CHAIN, "live%", "median, >3px%", "of key points"))
    for name, source in sources:
        print("%-20s %8.1f %8.3f %7.2f %12.3f %11.2f" % ((name,) + judge_chains(matchers[0], source)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
