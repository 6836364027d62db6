#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures bounded rectification on synthetic corners and spots, rotated about the image centre (paper 004, IV.A and figure 8).

    tests/features/shapes.py build/bridge_features.so [--quick]      --quick: steps of 30 degrees instead of 10

Images    Drawn at 8 times the size and narrowed, so that edges are smooth: a checkerboard with gaps, as the segment test does not
          respond where four squares meet; polygons; stars; and checkerboard and polygons together. Among them lie spots that are
          no corners: single pixels of shot noise, and blobs of 1 to 3 px. Rotations in steps from 0 to 360 degrees; corners and
          spots rotate with the image. Noise of two grey levels.
Methods   vfront on level 0 alone, cells of 8x8 px, with detect_arc_most=13 (bounded rectification) and 16 (without), standard
          else; and OpenCV's FAST at the same threshold.
Columns   A detection and a true corner up to 3 px apart are a hit, one to one, nearest first. precision: hits over detections,
          recall: hits over true corners, F1: their harmonic mean; means over the turns [%]. spots: share of the spots with a
          detection within 3 px that is no hit.
Exit status: 0 F1 with rectification is higher than without, on every image and on the mean; 1 it is not; 77 OpenCV or the
bridge is missing.
"""
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from features import NEAR_PX, Vfront, cv2, distances, np, one_to_one, places  # noqa: E402  (skips without OpenCV)

SIDE = 320
FINE = 8   # drawn this much larger
CELL_PX = 8
THRESHOLD = 10
GREY, DARK, BRIGHT = 128, 40, 215


# ---- scenes: polygons with their grey level, blobs and noise, around the centre of the picture --------------------------------


def regular(x, y, radius, corners, turn):
    a = turn + 2 * math.pi * np.arange(corners) / corners
    return np.column_stack([x + radius * np.cos(a), y + radius * np.sin(a)])


def star(x, y, outer, inner, points, turn):
    shape = regular(x, y, outer, 2 * points, turn)
    shape[1::2] = (shape[1::2] - (x, y)) * inner / outer + (x, y)
    return shape


def checkerboard():
    return [(regular(x, y, 12, 4, math.pi / 4), DARK if (i + k) % 2 else BRIGHT)
            for i, x in enumerate(range(-78, 79, 26)) for k, y in enumerate(range(-78, 79, 26))]


def polygons():
    dice = np.random.RandomState(2)
    return [(regular(x, y, dice.uniform(14, 22), 3 + (i + k) % 4, dice.uniform(0, 6)), DARK if dice.randint(2) else BRIGHT)
            for i, x in enumerate((-75, -25, 25, 75)) for k, y in enumerate((-75, -25, 25, 75))]


def stars():
    dice = np.random.RandomState(3)
    return [(star(x, y, 28, dice.uniform(11, 17), 4 + (i + k) % 3, dice.uniform(0, 6)), DARK if dice.randint(2) else BRIGHT)
            for i, x in enumerate((-66, 0, 66)) for k, y in enumerate((-66, 0, 66))]


def together():
    return [s for s in checkerboard() if s[0][:, 0].max() < -20] + [s for s in polygons() if s[0][:, 0].min() > -5]


class Scene:
    def __init__(self, shapes, seed, spots):
        dice = np.random.RandomState(seed)
        self.shapes = shapes
        self.corners = np.concatenate([s for s, _ in shapes])
        radius, angle = np.sqrt(dice.uniform(0, 1, 4 * spots)) * (SIDE / 2 - 16), dice.uniform(0, 2 * math.pi, 4 * spots)
        where = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        clear = [i for i, p in enumerate(where) if all(abs(cv2.pointPolygonTest(np.float32(s), tuple(p), True)) > 9 for s, _ in shapes)]
        self.spots = self.apart(where[clear])[:spots]
        self.size = dice.uniform(1, 3, len(self.spots))  # of a blob [px]; every other spot is a pixel of noise
        self.grey = dice.choice([DARK, BRIGHT], len(self.spots))
        self.noise = dice.normal(0, 2, (SIDE, SIDE))

    @staticmethod
    def apart(where):
        kept = []
        for p in where:
            if all(math.dist(p, q) > 12 for q in kept):
                kept.append(p)
        return np.array(kept)

    def under(self, spot, turned):
        """Grey levels around a spot, from which the grey level of the spot has to differ."""
        inside = [grey for shape, grey in turned if cv2.pointPolygonTest(np.float32(shape), tuple(map(float, spot)), False) > 0]
        return inside[-1] if inside else GREY

    def draw(self, degrees):
        """Image, true corners and spots at this turn."""
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        turn = np.array([[c, s], [-s, c]])
        middle = (SIDE - 1) / 2
        turned = [(shape @ turn + middle, grey) for shape, grey in self.shapes]
        spots = self.spots @ turn + middle
        large = np.full((SIDE * FINE, SIDE * FINE), GREY, np.uint8)
        for shape, grey in turned:
            cv2.fillPoly(large, [np.int32(np.rint(((shape + 0.5) * FINE - 0.5) * 16))], int(grey), cv2.LINE_AA, 4)
        greys = [self.grey[i] if self.under(p, turned) == GREY else GREY for i, p in enumerate(spots)]
        for i in range(0, len(spots), 2):
            at = np.int32(np.rint(((spots[i] + 0.5) * FINE - 0.5) * 16))
            cv2.circle(large, tuple(map(int, at)), int(self.size[i] / 2 * FINE * 16), int(greys[i]), -1, cv2.LINE_AA, 4)
        picture = cv2.resize(large, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        for i in range(1, len(spots), 2):
            x, y = np.rint(spots[i]).astype(int)
            picture[y, x] = greys[i]
        picture = np.clip(np.rint(picture + self.noise), 0, 255).astype(np.uint8)
        return picture, self.corners @ turn + middle, spots


def all_scenes():
    return {"checkerboard": Scene(checkerboard(), 11, 60), "polygons": Scene(polygons(), 12, 60), "stars": Scene(stars(), 13, 60),
            "together": Scene(together(), 14, 60)}


# ---- methods and measures -----------------------------------------------------------------------------------------------------


def vfront_method(vfront, most):
    settings = ["detect_levels=1", "describe=0", "cull_width_px=%d" % CELL_PX, "cull_height_px=%d" % CELL_PX,
                "detect_threshold=%d" % THRESHOLD, "detect_threshold_low=0", "detect_arc_most=%d" % most]
    return lambda picture: vfront.rows(picture, settings)[0][:, :2].astype(float)


def opencv_method(picture):
    return places(cv2.FastFeatureDetector_create(THRESHOLD).detect(picture))


def measure(found, corners, spots):
    """Precision, recall, F1 and share of spots found."""
    if not len(found):
        return 0.0, 0.0, 0.0, 0.0
    apart = distances(found, corners)
    hits = one_to_one(apart)
    wrong = found[apart.min(1) > NEAR_PX]
    spotted = (distances(spots, wrong).min(1) <= NEAR_PX).mean() if len(wrong) else 0.0
    return hits / len(found), hits / len(corners), 2 * hits / (len(found) + len(corners)), spotted


def main():
    paths = [a for a in sys.argv[1:] if a != "--quick"]
    if len(paths) != 1 or paths[0].startswith("-"):
        print(__doc__)
        return 2
    cv2.setNumThreads(1)
    vfront = Vfront(paths[0])
    turns = range(0, 360, 30 if "--quick" in sys.argv else 10)
    scenes = all_scenes()
    methods = {"vfront, arcs up to 13": vfront_method(vfront, 13), "vfront, without": vfront_method(vfront, 16),
               "OpenCV FAST": opencv_method}
    f1 = {m: [] for m in methods}
    print("%-13s %-22s %9s %9s %9s %9s" % ("picture", "method", "precision", "recall", "F1", "spots"))
    for name, scene in scenes.items():
        drawn = [scene.draw(t) for t in turns]
        for method, find in methods.items():
            result = 100 * np.mean([measure(find(picture), corners, spots) for picture, corners, spots in drawn], axis=0)
            f1[method].append(result[2])
            print("%-13s %-22s %9.2f %9.2f %9.2f %9.2f" % ((name, method) + tuple(result)))
    bounded, without, opencv = f1.values()
    print("\nmean F1 over pictures and turns: with rectification %.2f, without %.2f, OpenCV %.2f" %
          (np.mean(bounded), np.mean(without), np.mean(opencv)))
    good = all(b > w for b, w in zip(bounded, without))
    print("rectification raises F1 on every picture" if good else "rectification does not raise F1 on every picture")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
