#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The host port's time a frame beside OpenCV's on one thread, on the same pictures, in one run: tracking beside FAST and pyramidal
Lucas-Kanade, 1,000 key points with descriptors on 8 levels beside ORB.

usage: opencv_speed.py REPLAY FOLDER    REPLAY: build/replay; FOLDER: pictures of one size (PGM or PNG)
Prints medians and ratios. Exit: 0, 77 without cv2, 1 when replay fails. It asserts no time.
"""
import csv
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import cv2
    import numpy
except ImportError:
    print("opencv_speed: NOT RUN (no cv2 here)")
    sys.exit(77)


def host_port(replay, folder, *settings):
    """Median step time [us] of the host port, from replay's timing.csv."""
    options = [word for setting in settings for word in ("--set", setting)]
    with tempfile.TemporaryDirectory() as out:
        command = [replay, "--port", "host", "--mono", "--quiet", *options, "--tables", "frames", "--out", out, folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(out, "timing.csv")) as rows:
            return statistics.median(float(row["step_us"]) for row in list(csv.DictReader(rows))[1:])


TRACKING = ("detect_threshold=10", "detect_threshold_low=0", "detect_levels=1", "detect_rank=0", "describe=0")  # as OpenCV is set below


def load(folder):
    names = sorted(glob.glob(os.path.join(folder, "*.pgm")) + glob.glob(os.path.join(folder, "*.png")))
    return [cv2.imread(name, cv2.IMREAD_GRAYSCALE) for name in names]


def median_us(work, frames):
    """Median time of work(before, now) over neighbouring frames, three times over."""
    times = []
    for _ in range(3):
        for before, now in zip(frames, frames[1:]):
            begin = time.perf_counter()
            work(before, now)
            times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def opencv_tracking(frames):
    """FAST with suppression and 200 points of Lucas-Kanade, 21x21, 5 levels, pyramids included."""
    fast = cv2.FastFeatureDetector_create(threshold=10, nonmaxSuppression=True)
    spread = [k.pt for k in sorted(fast.detect(frames[0]), key=lambda k: -k.response)[:200]]
    points = numpy.array(spread, numpy.float32).reshape(-1, 1, 2)

    def work(before, now):
        fast.detect(now)
        cv2.calcOpticalFlowPyrLK(before, now, points, None, winSize=(21, 21), maxLevel=4)

    return median_us(work, frames)


def opencv_orb(frames):
    orb = cv2.ORB_create(nfeatures=1000)
    return median_us(lambda _, now: orb.detectAndCompute(now, None), frames)


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    cv2.setNumThreads(1)
    replay, folder = sys.argv[1:]
    frames = load(folder)
    rows = [
        ("tracking", "FAST + PyrLK", host_port(replay, folder, *TRACKING), opencv_tracking(frames)),
        ("1,000 key points", "ORB", host_port(replay, folder, "track_target=0", "select_points=1000", "match=0"), opencv_orb(frames)),
    ]
    for what, peer, ours, theirs in rows:
        print(f"{what}: host port {ours:.0f} us a frame; OpenCV {cv2.__version__}, 1 thread, {peer} {theirs:.0f} us; ratio {ours / theirs:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
