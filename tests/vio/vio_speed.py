#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Estimator step on the host against OpenCV's pyramidal Lucas-Kanade of 200 points, each on one thread, alternating in one run.

usage: vio_speed.py SIMULATE OBJECT [FOLDER]    SIMULATE: build/simulate; OBJECT: launch.o; FOLDER: images (PGM, PNG) of one size;
                                                default: a drawn texture of 752x480 that moves by 3 px per frame
Times are processor times, so that other load disturbs less. OBJECT is searched for names of allocators.
Exit: 0; 77 without cv2; 1 if simulate fails or the object refers to an allocator. No time is asserted.
"""
import glob
import os
import statistics
import subprocess
import sys
import time

try:
    import cv2
    import numpy
except ImportError:
    print("window_speed: NOT RUN (no cv2 here)")
    sys.exit(77)

ALLOCATORS = {"malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "mmap", "sbrk"}


def step_ms(simulate):
    """Mean processor time of a step over a drawn flight: the last number of simulate's row."""
    run = subprocess.run([simulate, "--trajectory", "eight", "--runs", "1", "--seconds", "10"], check=True, stdout=subprocess.PIPE, text=True)
    return float(run.stdout.strip().splitlines()[-1].split("|")[-1])


def pictures(folder):
    if folder:
        names = sorted(glob.glob(os.path.join(folder, "*.pgm")) + glob.glob(os.path.join(folder, "*.png")))[:30]
        if len(names) < 2:
            sys.exit(f"window_speed: {folder}: fewer than two pictures, .pgm or .png")
        return [cv2.imread(name, cv2.IMREAD_GRAYSCALE) for name in names]
    noise = numpy.random.default_rng(1).integers(0, 256, (480, 752 + 90)).astype(numpy.uint8)
    noise = cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 2), None, 0, 255, cv2.NORM_MINMAX)
    return [numpy.ascontiguousarray(noise[:, 3 * i:3 * i + 752]) for i in range(30)]


def tracking_ms(frames):
    """Median processor time per frame for 200 points, 21x21, 5 levels, pyramids included."""
    fast = cv2.FastFeatureDetector_create(threshold=10, nonmaxSuppression=True)
    found = sorted(fast.detect(frames[0]), key=lambda point: -point.response)[:200]
    points = numpy.array([point.pt for point in found], numpy.float32).reshape(-1, 1, 2)
    times = []
    for before, now in zip(frames, frames[1:]):
        begin = time.thread_time()
        cv2.calcOpticalFlowPyrLK(before, now, points, None, winSize=(21, 21), maxLevel=4)
        times.append(1e3 * (time.thread_time() - begin))
    return len(points), statistics.median(times)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    cv2.setNumThreads(1)
    frames = pictures(sys.argv[3] if len(sys.argv) > 3 else None)
    names = subprocess.run(["nm", "-u", sys.argv[2]], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    called = ALLOCATORS.intersection(names)
    pairs = []
    for _ in range(5):
        number, tracking = tracking_ms(frames)
        pairs.append((step_ms(sys.argv[1]), tracking))
    ratios = sorted(step / tracking for step, tracking in pairs)
    print("step of the window %.2f ms, %d points of Lucas-Kanade (OpenCV %s) %.2f ms: medians of 5 turns; ratio %.2f, from %.2f to %.2f" % (
        statistics.median(step for step, _ in pairs), number, cv2.__version__, statistics.median(lk for _, lk in pairs),
        ratios[2], ratios[0], ratios[-1]))
    print("allocators that its object refers to: %s" % (", ".join(sorted(called)) or "none"))
    return 1 if called else 0


if __name__ == "__main__":
    sys.exit(main())
