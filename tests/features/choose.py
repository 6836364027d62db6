#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Chooses tuning values of key points by cross-validation: for each set, the best value on the others, and its score on that set.

    tests/features/choose.py build/bridge_match.so build/bridge_features.so [--quick]      --quick: fewer frames, two images a set

Sets are in $VFRONT_DATA or ../shared/data beside the project. Exit status: 77 data, OpenCV or a bridge is missing, else 0.

Sequences Right matches with the frame before, less wrong ones, of 1,000 key points wanted [%]; guided; right and wrong as in
          tests/tracking/matching.py. "/2", "/4": the same images a half and a quarter as bright, with noise of 0.7 grey levels,
          so that corners are scarce. Frames: of each sequence evenly spread pairs.
Oxford    Matching score at 1,000 key points [%], as in tests/features/features.py.
shapes    F1 of synthetic corners among distractors [%], mean over the images of tests/features/shapes.py: one set.
Best      The highest mean over the other sets, of differences from the first value of the table.
Rows      value, right matches a frame, wrong ones of those kept [%], key points; then the score.
"""
import os
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tracking")]
import features  # noqa: E402
import matching  # noqa: E402
import shapes    # noqa: E402
from matching import np  # noqa: E402
from quality import Depth, Flight, Poses  # noqa: E402

LOW = "detect_threshold_low=10 "  # at which arcs and cells were chosen; the last question came after
CELL = LOW + "cull_width_px=%d cull_height_px=%d"
QUESTIONS = {
    "arcs, spots beyond": [LOW + "detect_arc_most=%d" % most for most in (13, 9, 10, 11, 12, 14, 15, 16)],
    "culling cells": [CELL % (px, px) for px in (8, 4, 6, 12)],
    "threshold of weak corners": ["detect_threshold_low=%d" % low for low in (10, 0, 5, 7, 14)],
}
POINTS = 1000


def settings_of(value):
    return {name: int(number) for name, number in (word.split("=") for word in value.split())}


class Sequence:
    """Images of a source, at most `pairs` of them in a row from its middle on, at `light` times the brightness."""

    def __init__(self, source, stride, pairs, light=1.0):
        first = max(0, (len(source.pictures[::stride]) - pairs - 1) // 2)
        chosen = slice(first, first + pairs + 1)
        self.source = source
        self.numbers = list(range(len(source.pictures)))[::stride][chosen]
        self.K, self.poses = source.K, [source.poses[i] for i in self.numbers]
        self.pictures = [source.pictures[i] for i in self.numbers]
        if light < 1:
            dice = np.random.RandomState(1)
            self.pictures = [np.uint8(np.clip(np.rint(p * light + dice.normal(0, 0.7, p.shape)), 0, 255)) for p in self.pictures]

    def truth(self, a, b, p):
        return self.source.truth(self.numbers[a], self.numbers[b], p)

    def score(self, bridges, value):
        m = matching.Vfront(bridges[0], "", settings_of(value))
        frames, points = [], []
        for i, p, q in m.run(self):
            frames.append(matching.judge(self, i, p, q))
            points.append(m.points)
        right, wrong = (sum(f[k].sum() for f in frames) / len(frames) for k in (0, 1))
        judged = sum(f.shape[1] for f in frames) / len(frames)
        return 100 * (right - wrong) / POINTS, "%4.0f %4.1f%% %5.0f" % (right, 100 * wrong / max(judged, 1), np.mean(points))


class Oxford:
    def __init__(self, name, others):
        self.scene = features.Scene(name, others)

    def score(self, bridges, value):
        r = features.measure(self.scene, features.Vfront(bridges[1]).method(value.split()), POINTS)
        return r["match"], "%5.1f%% spread %.2f" % (r["match"], r["spread"])


class Shapes:
    def __init__(self, step):
        self.drawn = [[s.draw(t) for t in range(0, 360, step)] for s in shapes.all_scenes().values()]

    def score(self, bridges, value):
        given = ["detect_levels=1", "describe=0"] + value.split()
        vfront = features.Vfront(bridges[1])

        def f1(picture, corners, spots):
            return 100 * shapes.measure(vfront.rows(picture, given)[0][:, :2].astype(float), corners, spots)[2]
        mean = np.mean([np.mean([f1(*d) for d in scene]) for scene in self.drawn])
        return mean, "F1 %.1f%%" % mean


def load(quick):
    pairs = 6 if quick else 12
    tartan, tsukuba, hut = Depth("tartanair_mono_depth_a"), Poses("newtsukuba_mono_a"), Poses("hut_synthetic")
    sets = {"hut": Sequence(hut, 1, pairs), "hut/4": Sequence(hut, 1, pairs, 0.25), "New Tsukuba": Sequence(tsukuba, 1, pairs),
            "New Tsukuba/4": Sequence(tsukuba, 1, pairs, 0.25), "TartanAir": Sequence(tartan, 1, 2 * pairs),
            "TartanAir/2": Sequence(tartan, 1, 2 * pairs, 0.5), "KITTI 00": Sequence(Poses("kitti00_mono_a"), 1, pairs),
            "KITTI 01": Sequence(Poses("kitti01_stereo"), 1, pairs), "KITTI 05": Sequence(Poses("kitti05_vio"), 1, pairs),
            "EuRoC MH_01 /3": Sequence(Flight(), 3, pairs)}
    sets.update({name: Oxford(name, (2, 4) if quick else range(2, 7)) for name in features.SETS})
    sets["shapes"] = Shapes(90 if quick else 30)
    return sets


def answer(title, values, sets, bridges):
    print("\n%s\n" % title)
    table = {}
    for value in values:
        table[value] = {name: s.score(bridges, value) for name, s in sets.items()}
        print(value)
        for name, (score, text) in table[value].items():
            print("    %-15s %-22s %6.2f  %+6.2f" % (name, text, score, score - table[values[0]][name][0]), flush=True)

    def gain(value, names):
        return np.mean([table[value][n][0] - table[values[0]][n][0] for n in names])
    print("\n%-34s %s" % ("mean difference from the first", "  ".join("%s %+.2f" % (v.split("=")[-1], gain(v, sets))
                                                                       for v in values)))
    for name in sets:
        best = max(values, key=lambda v: gain(v, [n for n in sets if n != name]))
        print("  without %-15s %-60s %s  %.2f, first %.2f" % ((name, best) + (table[best][name][1], table[best][name][0],
                                                                          table[values[0]][name][0])))


def main():
    bridges = [a for a in sys.argv[1:] if a != "--quick"]
    if len(bridges) != 2:
        print(__doc__)
        return 2
    features.cv2.setNumThreads(1)
    sets = load("--quick" in sys.argv)
    for title, values in QUESTIONS.items():
        answer(title, values, sets, bridges)
    return 0


if __name__ == "__main__":
    sys.exit(main())
