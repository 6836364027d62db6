#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the repeatability of key points and descriptors with OpenCV's ORB and FAST, on images with known homographies.

    tests/features/features.py build/bridge_features.so [--set name=value ...] [--quick] [--check]

--set     Tuning values of vfront that are not standard. Nothing is tuned for an image, a set or a number of points.
--quick   1000 points and images 2 and 4 alone.
--check   Exit status 1 when vfront is below OpenCV's ORB on a set's mean.

Images are the Oxford sets in $VFRONT_DATA or ../shared/data beside the project: image 1 of each against 2 to 6. Exit status:
77 data, OpenCV or the bridge is missing, else 0.

vfront    Standard tuning, select_points = N.
ORB       cv2.ORB_create(nfeatures=N), standard otherwise: 8 levels, 6/5 apart, ranked by Harris, a quota for each level.
FAST      The N corners of level 0 with the highest score; no descriptor.
Truth     A point p of image 1 lies at H p in image i. The common area is what both images show: the points of image 1 with
          H p within image i, and the points q of image i with H^-1 q within image 1.
repeat    Repeatability [%], after Mikolajczyk and Schmid: the points of the common area are paired one to one, nearest first, and
          pairs up to 3 px apart counted, over the fewer points of the two images. How far apart p and q are is the mean of
          |H p - q| in image i and |p - H^-1 q| in image 1, both in px of level 0: the same from either side.
match     Matching score [%]: of the points of image 1 in the common area, the share whose nearest neighbour by Hamming distance,
          among all points of image i and without a cross-check, lies within 3 px of H p. Of equally near ones the first is taken.
spread    How evenly the points lie: entropy of their distribution over a grid of 8x8, mean over the six images [bit, at most 6].
"""
import ctypes
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("VFRONT_DATA", os.path.join(ROOT, "..", "shared", "data"))
SETS = ("graf", "boat", "leuven", "bikes")
COUNTS = (500, 1000, 2000)
NEAR_PX = 3.0
GRID = 8
ROOM = 32768  # key points that the bridge can hold


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


try:
    import cv2
    import numpy as np
except ImportError as missing:
    skip("%s (apt install python3-opencv)" % missing)


sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixture"))
from pictures import grey  # noqa: E402


# ---- pictures and truth -------------------------------------------------------------------------------------------------------


class Scene:
    """Image 1 and those it is compared with; homographies by image, counted from 0."""

    def __init__(self, name, others):
        folder = os.path.join(DATA, "homography_oxford", name)
        numbers = [1] + list(others)
        self.pictures = [grey(folder, "img%d.png" % i) for i in numbers]
        self.H = [np.eye(3)] + [np.loadtxt(os.path.join(folder, "H1to%dp" % i)) for i in others]


def project(H, p):
    q = np.column_stack([p, np.ones(len(p))]) @ H.T
    return q[:, :2] / q[:, 2:]


def within(p, shape):
    return (p >= 0).all(1) & (p[:, 0] <= shape[1] - 1) & (p[:, 1] <= shape[0] - 1)


# ---- who finds key points: functions of a picture and N, which give points and descriptors or None ---------------------------


class Vfront:
    def __init__(self, path):
        if not os.path.exists(path):
            skip("no %s" % path)
        self.c = ctypes.CDLL(os.path.abspath(path))
        self.c.bridge_features.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int,
                                           ctypes.c_void_p, ctypes.c_void_p]
        self.c.bridge_detail.restype = ctypes.c_char_p

    def rows(self, picture, settings):
        """x, y, angle, level, score, scale of every key point, and descriptors."""
        grey = np.ascontiguousarray(picture)
        out, bits = np.zeros((ROOM, 6), np.float32), np.zeros((ROOM, 32), np.uint8)
        count = self.c.bridge_features(grey.ctypes.data, grey.shape[1], grey.shape[0], " ".join(settings).encode(), ROOM,
                                       out.ctypes.data, bits.ctypes.data)
        if count < 0:
            sys.exit("vfront: status %d: %s" % (count, self.c.bridge_detail().decode()))
        return out[:count].copy(), bits[:count].copy()

    def method(self, settings):
        def find(picture, most):
            rows, bits = self.rows(picture, settings + ["select_points=%d" % most])
            return rows[:, :2].astype(float), bits
        return find


def places(points):
    return np.array([p.pt for p in points], float).reshape(-1, 2)


def orb(picture, most):
    points, bits = cv2.ORB_create(nfeatures=most).detectAndCompute(picture, None)
    return places(points), bits if bits is not None else np.zeros((0, 32), np.uint8)


def fast(picture, most):
    points = []
    for threshold in (40, 20, 10, 5, 2, 1):
        points = cv2.FastFeatureDetector_create(threshold).detect(picture)
        if len(points) >= most:
            break
    return places(sorted(points, key=lambda p: -p.response)[:most]), None


# ---- measures -----------------------------------------------------------------------------------------------------------------


def one_to_one(apart):
    """Number of pairs of rows and columns up to NEAR_PX apart when the nearest pair goes first."""
    a, b = np.nonzero(apart <= NEAR_PX)
    rows, columns, pairs = np.zeros(apart.shape[0], bool), np.zeros(apart.shape[1], bool), 0
    for k in np.argsort(apart[a, b], kind="stable"):
        if not rows[a[k]] and not columns[b[k]]:
            rows[a[k]] = columns[b[k]] = True
            pairs += 1
    return pairs


def distances(p, q):
    return np.hypot(p[:, None, 0] - q[None, :, 0], p[:, None, 1] - q[None, :, 1])


def repeatability(p, q, there, back, common_p, common_q):
    p, there, q, back = p[common_p], there[common_p], q[common_q], back[common_q]
    if not len(p) or not len(q):
        return 0.0
    return 100.0 * one_to_one((distances(there, q) + distances(p, back)) / 2) / min(len(p), len(q))


def matching(bits1, bits2, there, q, common_p):
    if not common_p.any() or not len(q):
        return 0.0
    matches = cv2.BFMatcher(cv2.NORM_HAMMING).match(np.ascontiguousarray(bits1[common_p]), bits2)
    error = np.hypot(*(there[common_p][[m.queryIdx for m in matches]] - q[[m.trainIdx for m in matches]]).T)
    return 100.0 * (error <= NEAR_PX).sum() / common_p.sum()


def spread(p, shape):
    share = np.histogram2d(p[:, 0], p[:, 1], GRID, [[-0.5, shape[1] - 0.5], [-0.5, shape[0] - 0.5]])[0].ravel() / max(len(p), 1)
    share = share[share > 0]
    return float(-(share * np.log2(share)).sum())


def measure(scene, find, most):
    """Points an image, and repeat, match and spread of a scene: means over its images or pairs."""
    found = [find(picture, most) for picture in scene.pictures]
    (p, bits1), shape1 = found[0], scene.pictures[0].shape
    repeat, match = [], []
    for (q, bits2), picture, H in list(zip(found, scene.pictures, scene.H))[1:]:
        there, back = project(H, p), project(np.linalg.inv(H), q)
        common_p, common_q = within(there, picture.shape), within(back, shape1)
        repeat.append(repeatability(p, q, there, back, common_p, common_q))
        match.append(matching(bits1, bits2, there, q, common_p) if bits1 is not None else np.nan)
    return dict(count=np.mean([len(f[0]) for f in found]), repeat=np.mean(repeat), match=np.mean(match),
                spread=np.mean([spread(f[0], picture.shape) for f, picture in zip(found, scene.pictures)]))


# ---- the table ----------------------------------------------------------------------------------------------------------------

MEASURES = ("repeat", "match", "spread")


def text(value):
    return "     -" if np.isnan(value) else "%6.2f" % value


def row(name, most, method, results):
    print("%-7s %5s  %-7s %6.0f   %s" % (name, most, method, np.mean([r["count"] for r in results]),
                                        "  ".join(text(np.mean([r[m] for r in results])) for m in MEASURES)))


def table(scenes, methods, counts):
    print("%-7s %5s  %-7s %6s   %6s  %6s  %6s" % (("set", "N", "method", "points") + MEASURES))
    results = {}
    for name, scene in scenes.items():
        for most in counts:
            for method, find in methods.items():
                results[name, most, method] = measure(scene, find, most)
                row(name, most, method, [results[name, most, method]])
    for name in list(scenes) + ["all"]:
        for method in methods:
            row(name, "mean", method, [r for (s, _, m), r in results.items() if m == method and name in (s, "all")])
    return results


def verdict(results, scenes, counts):
    """Prints where vfront is at least ORB. Returns True if it is so on the mean over N, for every set and measure."""
    def mean(name, chosen, method, measured):
        return np.mean([results[name, most, method][measured] for most in chosen])

    print("\nvfront against ORB, difference of the means over the pairs; * below")
    print("%-7s %-7s %s" % ("set", "measure", "".join("%9s" % n for n in ["mean"] + list(counts))))
    good = {}
    for name in scenes:
        for measured in MEASURES:
            ahead = [mean(name, chosen, "vfront", measured) - mean(name, chosen, "ORB", measured)
                     for chosen in [counts] + [(n,) for n in counts]]
            good[name, measured] = [a >= 0 for a in ahead]
            print("%-7s %-7s %s" % (name, measured, "".join("%+8.2f%s" % (a, " " if a >= 0 else "*") for a in ahead)))
    for measured in MEASURES:
        of = [good[name, measured] for name in scenes]
        print("%s: at least ORB's on %d of %d sets on the mean over N; on %d of %d for each N" %
              (measured, sum(g[0] for g in of), len(of), sum(sum(g[1:]) for g in of), len(of) * len(counts)))
    return all(g[0] for g in good.values())


def report_rules(vfront, scenes, settings):
    """Effect of aggregation over levels and bounded rectification on the number of points, and to points of one number."""
    print("\nall: key points a picture, without a limit. The rest: at 1000 points")
    print("%-28s %s" % ("", "".join("%30s" % name for name in scenes)))
    print("%-28s %s" % ("", "    all  points  repeat   match " * len(scenes)))
    for extra in ([], ["select_aggregate_px=0"], ["select_aggregate_px=3"], ["select_aggregate_px=5"], ["detect_arc_most=13"],
                  ["detect_arc_most=16"]):
        line = ""
        for scene in scenes.values():
            find = vfront.method(settings + extra)
            every = np.mean([len(vfront.rows(p, settings + extra + ["select_points=%d" % ROOM])[0]) for p in scene.pictures])
            r = measure(scene, find, 1000)
            line += "%7.0f %7.0f %7.2f %7.2f " % (every, r["count"], r["repeat"], r["match"])
        print("%-28s %s" % (" ".join(extra) or "as set", line))


def arguments(given):
    """Path of the bridge, tuning values and options; None when they make no sense."""
    paths, settings, options = [], [], set()
    given = list(given)
    while given:
        word = given.pop(0)
        if word == "--set":
            while given and "=" in given[0]:
                settings.append(given.pop(0))
        elif word in ("--quick", "--check"):
            options.add(word)
        else:
            paths.append(word)
    return (paths[0], settings, options) if len(paths) == 1 and not paths[0].startswith("-") else None


def main():
    parsed = arguments(sys.argv[1:])
    if not parsed:
        print(__doc__)
        return 2
    path, settings, options = parsed
    began = time.time()
    cv2.setNumThreads(1)
    vfront = Vfront(path)
    quick = "--quick" in options
    counts = (1000,) if quick else COUNTS
    scenes = {name: Scene(name, (2, 4) if quick else range(2, 7)) for name in SETS}
    results = table(scenes, {"vfront": vfront.method(settings), "ORB": orb, "FAST": fast}, counts)
    good = verdict(results, scenes, counts)
    report_rules(vfront, scenes, settings)
    print("\n%s (%.0f s)" % ("vfront is at least ORB on every set's mean" if good else "vfront is below ORB on a set's mean",
                             time.time() - began))
    return 1 if "--check" in options and not good else 0


if __name__ == "__main__":
    sys.exit(main())
