#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The host port's time a frame beside OpenCV's FAST and pyramidal Lucas-Kanade on one thread, on the same pictures, in one run.

usage: opencv_speed.py REPLAY FOLDER    REPLAY: build/replay; FOLDER: pictures of one size (PGM or PNG)
Prints both medians and their ratio. Exit: 0, 77 without cv2, 1 when replay fails. It asserts no time.
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


def host_port(replay, folder):
    """Median step time [us] of the host port, from replay's timing.csv."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([replay, "--port", "host", "--mono", "--quiet", "--out", out, folder], check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(out, "timing.csv")) as rows:
            return statistics.median(float(row["step_us"]) for row in list(csv.DictReader(rows))[1:])


def opencv(folder):
    """Median time [us] of FAST with suppression and 200 points of Lucas-Kanade, 21x21, 5 levels, pyramids included."""
    names = sorted(glob.glob(os.path.join(folder, "*.pgm")) + glob.glob(os.path.join(folder, "*.png")))
    pictures = [cv2.imread(name, cv2.IMREAD_GRAYSCALE) for name in names]
    fast = cv2.FastFeatureDetector_create(threshold=10, nonmaxSuppression=True)
    spread = [k.pt for k in sorted(fast.detect(pictures[0]), key=lambda k: -k.response)[:200]]
    points = numpy.array(spread, numpy.float32).reshape(-1, 1, 2)
    times = []
    for _ in range(3):
        for before, now in zip(pictures, pictures[1:]):
            begin = time.perf_counter()
            fast.detect(now)
            cv2.calcOpticalFlowPyrLK(before, now, points, None, winSize=(21, 21), maxLevel=4)
            times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    cv2.setNumThreads(1)
    ours, theirs = host_port(sys.argv[1], sys.argv[2]), opencv(sys.argv[2])
    print(f"host port {ours:.0f} us a frame; OpenCV {cv2.__version__}, 1 thread, FAST + PyrLK {theirs:.0f} us; ratio {ours / theirs:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
