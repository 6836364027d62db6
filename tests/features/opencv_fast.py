#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the segment test and MT score with OpenCV's FastFeatureDetector (TYPE_9_16), on all images.

usage: opencv_fast.py [--quick[=N]] [bridge.so]      --quick: every N-th image (5)

Without suppression, OpenCV must give the same corners. With it, OpenCV keeps the pixels that score higher than all eight
neighbours: the same pixels must follow from the library's scores, and have them. On the images drawn here, OpenCV is also
run at every threshold, which gives the expected score of every corner. Nothing is compared with a tolerance.

Images: those drawn here, and those in $VFRONT_DATA or ../shared/data. Exit: 0 the same, 1 not, 77 no cv2 or no data.
"""
import ctypes
import multiprocessing
import os
import pathlib
import sys

try:
    import cv2
    import numpy as np
except ImportError as missing:
    print(f"opencv_fast: SKIPPED, {missing}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path(os.environ.get("VFRONT_DATA", ROOT.parent / "shared" / "data"))
THRESHOLDS = (5, 10, 20, 40)
ARC, SCORE_MT = 9, 2


def load(bridge):
    function = ctypes.CDLL(str(bridge)).corners
    function.restype = None
    function.argtypes = [ctypes.c_void_p] + [ctypes.c_int32] * 6 + [ctypes.c_void_p]
    return function


def library_scores(corners, picture, threshold):
    score = np.empty(picture.shape, np.uint16)
    height, width = picture.shape
    corners(picture.ctypes.data, width, height, picture.strides[0], threshold, ARC, SCORE_MT, score.ctypes.data)
    return score


def opencv_points(picture, threshold, suppress):
    """Corners as an image of flags, and of scores where OpenCV gives them."""
    points = cv2.FastFeatureDetector_create(threshold, suppress, cv2.FAST_FEATURE_DETECTOR_TYPE_9_16).detect(picture)
    at = np.array(cv2.KeyPoint_convert(points), int).reshape(-1, 2)
    found = np.zeros(picture.shape, bool)
    score = np.zeros(picture.shape, np.uint16)
    found[at[:, 1], at[:, 0]] = True
    if suppress:
        score[at[:, 1], at[:, 0]] = [p.response for p in points]
    return found, score


def highest_of_nine(score):
    """True where a score exceeds those of all eight neighbours."""
    height, width = score.shape
    padded = np.pad(score, 1)
    highest = score > 0
    for dy in range(3):
        for dx in range(3):
            if (dx, dy) != (1, 1):
                highest &= score > padded[dy:dy + height, dx:dx + width]
    return highest


def compare(corners, picture, threshold):
    """Corners, and how many pixels differ."""
    ours = library_scores(corners, picture, threshold)
    found, _ = opencv_points(picture, threshold, False)
    kept, score = opencv_points(picture, threshold, True)
    highest = highest_of_nine(ours)
    differ = (found != (ours > 0)) | (kept != highest) | (highest & (score != ours))
    return int(found.sum()), int(differ.sum())


def compare_all_thresholds(corners, picture):
    """As compare(), for every threshold; a pixel's score is the last threshold at which OpenCV finds it."""
    last = np.zeros(picture.shape, np.uint16)
    count = differ = 0
    for threshold in range(1, 255):
        found, _ = opencv_points(picture, threshold, False)
        differ += int((found != (library_scores(corners, picture, threshold) > 0)).sum())
        count += int(found.sum())
        last[found] = threshold
    for threshold in (1, 30, 100, 200, 254):
        ours = library_scores(corners, picture, threshold)
        differ += int((ours != np.where(last >= threshold, last, 0)).sum())
    return count, differ


def drawn():
    """Images that need no file: noise of three contrasts, shapes, blurred noise."""
    dice = np.random.RandomState(1)
    yield "noise", dice.randint(0, 256, (101, 133), np.uint8)
    yield "soft noise", dice.randint(110, 141, (64, 97), np.uint8)
    yield "binary noise", (255 * dice.randint(0, 2, (77, 64))).astype(np.uint8)
    shapes = np.full((90, 120), 30, np.uint8)
    for _ in range(60):
        x, y, w, h, grey = dice.randint(0, 110), dice.randint(0, 80), *dice.randint(1, 20, 2), dice.randint(0, 256)
        shapes[y:y + h, x:x + w] = grey
    yield "shapes", shapes
    yield "dots", np.where(dice.randint(0, 40, (80, 80)) == 0, dice.randint(0, 256, (80, 80)), 128).astype(np.uint8)
    yield "texture", cv2.GaussianBlur(dice.randint(0, 256, (120, 160), np.uint8), (0, 0), 1.5)


def one_file(job):
    bridge, path = job
    picture = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    if picture is None:
        return path, 0, 1, "cannot be read"
    results = [compare(load(bridge), picture, t) for t in THRESHOLDS]
    worst = ", ".join(f"threshold {t}: {r[1]} differences" for t, r in zip(THRESHOLDS, results) if r[1])
    return path, sum(r[0] for r in results), sum(r[1] for r in results), worst


def main(arguments):
    quick = [a for a in arguments if a.startswith("--quick")]
    others = [a for a in arguments if a not in quick]
    bridge = pathlib.Path(others[0]).resolve() if others else ROOT / "build" / "bridge.so"
    if not bridge.exists():
        print(f"opencv_fast: no {bridge}: make it first")
        return 1
    every = int((quick[0].split("=") + ["5"])[1]) if quick else 1
    files = sorted(p for p in DATA.rglob("*") if p.suffix in (".png", ".pgm"))[::every] if DATA.is_dir() else []

    corners = load(bridge)
    pictures = count = differences = 0
    for name, picture in drawn():
        for found, differ in (compare_all_thresholds(corners, picture), *(compare(corners, picture, t) for t in THRESHOLDS)):
            count, differences = count + found, differences + differ
            if differ:
                print(f"opencv_fast: drawn {name}: {differ} differences")
        pictures += 1
    cv2.setNumThreads(1)
    with multiprocessing.Pool() as pool:
        for path, found, differ, why in pool.imap(one_file, [(bridge, p) for p in files], 4):
            pictures, count, differences = pictures + 1, count + found, differences + differ
            if differ:
                print(f"opencv_fast: {path.relative_to(DATA)}: {why}")
    print(f"pictures {pictures}, corners {count}, differences {differences}")
    if differences or not count:
        return 1
    if not files:
        print(f"opencv_fast: SKIPPED the real pictures: none in {os.path.relpath(DATA, ROOT)}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
