#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares angles and descriptors with those of OpenCV's ORB, at the points that OpenCV finds.

    tests/features/opencv_orb.py build/bridge_orb.so [--all]      --all: every image, not the middle one of each folder

Images: those drawn here, and those in $VFRONT_DATA or ../shared/data beside the project. Exit: 0 alike, 1 not, 77 no cv2, no
bridge or no data.

angle     Ours beside OpenCV's, which computes it with its own arc tangent of 0.3 degrees [degree].
bits      Bits that differ of 256, OpenCV's descriptor taken at our angle. On level 0 nearly all of it is smoothing: ours has the
          weights in 1/256 that OpenCV's GaussianBlur() takes for an image; within ORB, OpenCV takes weights in floats.
own       The same, each with its own angle.
match     Share of points whose mutual nearest neighbour, among all of the image by the other, is themselves [%].
edge      As bits, less than 22 px from the border, where OpenCV's pattern reaches into a margin that it does not smooth.
worst bit Share of points in which the bit differs that differs most often.

Levels 1 and up: OpenCV resamples each level from the one before, without means over twice a pixel's width, and rounds its size,
so pixels lie elsewhere; ours is the pixel nearest to the position of OpenCV's on level 0. Demands are made on level 0: of each real
image, and of all together; on the others only that descriptors match at the same points.
"""
import ctypes
import os
import pathlib
import sys

try:
    import cv2
    import numpy as np
except ImportError as missing:
    print(f"opencv_orb: SKIPPED, {missing}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path(os.environ.get("VFRONT_DATA", ROOT.parent / "shared" / "data"))
LEVELS, STEP = 8, 1.2
MARGIN = 16        # least distance from the border [px]: less than the standard describe_margin_px, so that `edge` has points
REACH = 22         # from which on OpenCV's pattern stays within the level
MOST_BITS = 2.0    # demands on level 0: mean Hamming distance,
MOST_BIT = 0.02    # share of points in which a bit differs, so that each pair of places is held to OpenCV's,
MOST_DEGREES = 0.5 # difference of an angle,
LEAST_MATCH = 95.0 # share of points that match themselves
MOST_BITS_COARSE = 16.0 # mean on the other levels


class Bridge:
    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        self.c.bridge_level.restype = ctypes.c_double
        self.c.bridge_open.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
        self.c.bridge_describe.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]

    def open(self, picture):
        """Size of a pixel, width and height of every level; none when the image is beyond the config."""
        levels = []
        for level in range(self.c.bridge_open(picture.ctypes.data, picture.shape[1], picture.shape[0])):
            width, height = ctypes.c_int(), ctypes.c_int()
            size = self.c.bridge_level(level, ctypes.byref(width), ctypes.byref(height))
            levels.append((size, width.value, height.value))
        return levels

    def describe(self, level, places):
        """Angles [degree] and descriptors at pixels of a level."""
        rows = np.ascontiguousarray(np.column_stack([np.full(len(places), level), places]), np.int32)
        angle, bits = np.zeros(len(rows), np.float32), np.zeros((len(rows), 32), np.uint8)
        assert self.c.bridge_describe(len(rows), rows.ctypes.data, angle.ctypes.data, bits.ctypes.data) == len(rows)
        return np.degrees(angle.astype(float)), bits


def orb(levels):
    return cv2.ORB_create(nfeatures=1500, nlevels=levels, scaleFactor=STEP, edgeThreshold=MARGIN, fastThreshold=10)


def theirs(picture, levels, points, angles):
    """OpenCV's descriptors of points at given angles. `points` are in the order of their octaves."""
    given = [cv2.KeyPoint(p.pt[0], p.pt[1], p.size, float(a) % 360.0, 1.0, p.octave, i)
             for i, (p, a) in enumerate(zip(points, angles))]
    back, bits = orb(levels).compute(picture, given)
    assert [p.class_id for p in back] == list(range(len(points)))
    return bits


def differing(a, b):
    """Flags of the bits that differ, one row a point."""
    return np.unpackbits(a ^ b, axis=1, bitorder="little").astype(np.int64)


def apart(a, b):
    """Difference of two angles [degree]."""
    return np.abs((a - b + 180.0) % 360.0 - 180.0)


def matched(a, b):
    """Points whose mutual nearest neighbour is themselves."""
    return sum(m.queryIdx == m.trainIdx for m in cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(a, b))


def own_pixels(points, octave, picture, size):
    """OpenCV's pixels of its level, and the nearest ones of ours."""
    scale = float(np.float32(STEP)) ** octave
    at = np.rint(np.array([p.pt for p in points]) / scale)
    shape = np.rint(np.array(picture.shape[::-1]) / scale)
    place = (at + 0.5) * np.array(picture.shape[::-1]) / shape
    return np.floor(place / size).astype(int)


class Figures:
    """Figures of one level over all images."""

    def __init__(self):
        self.angle, self.bits, self.own, self.edge = [], [], [], []
        self.each = np.zeros(256, np.int64)
        self.points = self.matched = 0

    def add(self, angle, at_ours, at_own, inside, found):
        self.angle.append(angle)
        self.each += at_ours[inside].sum(0)
        self.bits.append(at_ours[inside].sum(1))
        self.edge.append(at_ours[~inside].sum(1))
        self.own.append(at_own[inside].sum(1))
        self.points += len(angle)
        self.matched += found

    def join(self, other):
        for mine, more in ((self.angle, other.angle), (self.bits, other.bits), (self.own, other.own), (self.edge, other.edge)):
            mine += more
        self.each += other.each
        self.points += other.points
        self.matched += other.matched

    def mean(self):
        bits = np.concatenate(self.bits)
        return bits.mean() if len(bits) else 0.0

    def row(self, level):
        angle, bits, own, edge = (np.concatenate(v) for v in (self.angle, self.bits, self.own, self.edge))
        return (f"{level:5d} {self.points:7d}  {np.median(angle):8.4f} {angle.max():8.3f}  {bits.mean():7.3f} {bits.max():5d}  "
                f"{own.mean():7.3f} {own.max():5d}  {100.0 * self.matched / self.points:7.2f}  "
                f"{edge.mean() if len(edge) else 0.0:7.3f}  {self.each.max() / max(len(bits), 1):8.4f}")


HEAD = "level  points    angle      max     bits   max      own   max    match     edge  worst bit"


def compare(bridge, picture, levels, figures):
    """Adds one image: its levels alone, or as a pyramid."""
    sizes = bridge.open(picture)
    points = sorted(orb(levels).detect(picture), key=lambda p: p.octave)
    for octave in range(min(levels, len(sizes))):
        chosen = [p for p in points if p.octave == octave]
        if len(chosen) < 2 or (levels > 1 and octave == 0):
            continue
        size, width, height = sizes[octave]
        places = own_pixels(chosen, octave, picture, size)
        room = np.minimum(places, np.array([width - 1, height - 1]) - places).min(1)
        chosen, places, room = [p for p, r in zip(chosen, room) if r >= 3], places[room >= 3], room[room >= 3]
        angles, ours = bridge.describe(octave, places)
        own_angles = np.array([p.angle for p in chosen])
        own = theirs(picture, levels, chosen, own_angles)
        figures[octave].add(apart(angles, own_angles), differing(ours, theirs(picture, levels, chosen, angles)),
                            differing(ours, own), room >= REACH + 1, matched(ours, own))


def drawn():
    dice = np.random.RandomState(1)
    yield "noise", dice.randint(0, 256, (201, 233), np.uint8)
    yield "texture", cv2.GaussianBlur(dice.randint(0, 256, (240, 320), np.uint8), (0, 0), 2.0)
    shapes = np.full((240, 320), 30, np.uint8)
    for _ in range(150):
        x, y, w, h, grey = dice.randint(0, 310), dice.randint(0, 230), *dice.randint(1, 40, 2), dice.randint(0, 256)
        shapes[y:y + h, x:x + w] = grey
    yield "shapes", shapes


def real(every):
    """Grey images of the data: the middle one of each folder, or all."""
    folders = {}
    for path in sorted(p for p in DATA.rglob("*") if p.suffix in (".png", ".pgm")) if DATA.is_dir() else []:
        folders.setdefault(path.parent, []).append(path)
    for paths in folders.values():
        for path in paths if every else [paths[len(paths) // 2]]:
            picture = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
            if picture is not None and picture.dtype == np.uint8 and picture.ndim == 2:
                yield path.relative_to(DATA), picture


def verdict(level0, is_all):
    """Faults on level 0. A single image has too few points for a bound on every bit."""
    bits, angle = np.concatenate(level0.bits), np.concatenate(level0.angle)
    demands = ((level0.mean() <= MOST_BITS, f"mean Hamming distance over {MOST_BITS}"),
               (not is_all or level0.each.max() <= MOST_BIT * len(bits), f"bit {level0.each.argmax()} differs too often"),
               (angle.max() <= MOST_DEGREES, f"an angle differs by more than {MOST_DEGREES} degrees"),
               (100.0 * level0.matched >= LEAST_MATCH * level0.points, f"matched less than {LEAST_MATCH} %"))
    return [text for good, text in demands if not good]


def main(arguments):
    paths = [a for a in arguments if not a.startswith("--")]
    path = pathlib.Path(paths[0]).resolve() if paths else ROOT / "build" / "bridge_orb.so"
    if not path.exists():
        print(f"opencv_orb: SKIPPED, no {path}")
        return 77
    cv2.setNumThreads(1)
    bridge, wrong, pictures = Bridge(path), [], 0
    figures = [Figures() for _ in range(LEVELS)]
    for name, picture in [*drawn(), *real("--all" in arguments)]:
        picture, one = np.ascontiguousarray(picture), Figures()
        compare(bridge, picture, 1, [one])
        compare(bridge, picture, LEVELS, figures)
        if one.points:
            wrong += [f"{name}: {text}" for text in verdict(one, False)] if isinstance(name, pathlib.Path) else []
            figures[0].join(one)
            pictures += 1
    print(HEAD)
    for level, f in enumerate(figures):
        print(f.row(level) if f.points else f"{level:5d}       0")
        if level and f.points and f.mean() > MOST_BITS_COARSE:
            wrong.append(f"level {level}: mean Hamming distance over {MOST_BITS_COARSE}")
    wrong += verdict(figures[0], True)
    print("\n".join(["opencv_orb: " + text for text in wrong]) or f"opencv_orb: {pictures} pictures, descriptors are OpenCV's")
    if wrong:
        return 1
    if pictures == len(list(drawn())):
        print(f"opencv_orb: SKIPPED the real pictures: none in {os.path.relpath(DATA, ROOT)}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
