#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares accuracy, density and time of disparities with OpenCV's semi-global matcher, on pairs with ground truth. It asserts nothing.

    tests/depth/dense.py build/bridge_dense.so [--set name=value ...] [--only name ...] [--out DIR] [--alone]

--set    Tuning values of vfront that are not standard. Nothing is tuned for an image, but for the range of disparities, which is the
         scene's and OpenCV's as well.
--only   These sets alone: cones reindeer aloe sceneflow_A0032 kitti.
--out    Writes an image of each set's disparities there: left image, truth, vfront, OpenCV; red near, blue far, black none.
--alone  vfront alone.
--lost   The second and third table alone.

Images lie in $VFRONT_DATA or ../shared/data beside the project. Exit status: 77 data, OpenCV or the bridge is missing, else 0.

vfront   Host port, standard tuning: 8 paths, and 4.
SGBM     cv2.StereoSGBM, block 3, P1 = 72, P2 = 288, uniqueness 10 %, left-right 1 px, speckles 100 px and 2 px, prefilter 63: full 8 paths (HH),
         its standard 5 paths, and 3 paths (3-way).

bad1, bad2   Share of the pixels with truth and a disparity that are off by more than 1 and 2 px [%].
density      Share of the pixels with truth that have a disparity [%].
all, seen    All pixels with truth; those that camera 1 sees as well: by the truth of the right image where there is one (within 1 px),
             else by the one that comes with the set, else by what is nearer in the same place.
rmse         Of pixels seen that are within 1 px [px].
ms           Least of five runs on one thread, of the stage alone and of compute(), all matchers in turn.
x8, x5       That as a multiple of SGBM's with 8 and with 5 paths.
Second table, on the sets with truth and on three frames of TartanAir, whose right image is made of its depth. SGBM here has the range's columns
added on the left of both images, so that it is not blind there; 8 paths, blocks of 3x3 and 5x5, the rest as above.

lost     Share of all pixels with truth that have no disparity or one that is off by more than 2 px [%]: vfront; the best SGBM of both blocks and
         uniqueness 0 to 50.
common   Share of the pixels where vfront and that SGBM have a disparity that are off by more than 2 px [%]: vfront; SGBM.
filled   Share of all pixels with truth that are off by more than 2 px after a hole has taken the smaller disparity of its ends in the row, as KITTI's
         evaluation does [%]: vfront; the best SGBM.
wrong    Share of the pixels with truth and a disparity that are off by more than 2 px [%]: vfront; SGBM at the same density, from its curve over
         uniqueness, the better of both blocks.
hidden   Of the pixels that camera 1 does not see but has columns for: share with a disparity; of these off by more than 2 px [%]: vfront; that SGBM.
chosen   dense_unique_percent and dense_back_px with the least mean of lost on all other sets, of 1, 2, 4, 8 % and 1, 2 px; lost with these.

Third table: drawn scenes of poles before a wall, three draws of each width, of noise of 2 grey levels: pixels of the poles that are right within
2 px; pixels of the wall that are off by more [%]: vfront; SGBM, 3x3, uniqueness 10.

kitti        A street without truth: share of pixels where both have a disparity that agree within 1 px [%], density, and the median
             difference of grey level between a pixel and its match. Then the time of its stixels, columns of 5 px:
             reduction, road and dynamic programme together.
"""
import ctypes
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("VFRONT_DATA", os.path.join(ROOT, "..", "shared", "data"))
RANGE = {"cones": 64, "reindeer": 128, "aloe": 256, "sceneflow_A0032": 256, "kitti": 128}
KITTI = (718.856, 0.53717)  # focal length [px], baseline [m]
ROUNDS = 5
NONE = 0xffff


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


try:
    import cv2
    import numpy as np
except ImportError as missing:
    skip("%s (apt install python3-opencv)" % missing)


# ---- sets ---------------------------------------------------------------------------------------------------------------------


sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixture"))
from pictures import grey, names, stored  # noqa: E402


def nearest(truth):
    """Mask of the pixels that nothing nearer hides from camera 1, and of those that it has columns for."""
    height, width = truth.shape
    there = np.arange(width)[None, :] - np.round(truth).astype(int)
    inside, at = there >= 0, np.clip(there, 0, width - 1)
    most, rows = np.zeros((height, width)), np.repeat(np.arange(height)[:, None], width, 1)
    np.maximum.at(most, (rows[inside], at[inside]), truth[inside])
    return inside & (np.take_along_axis(most, at, 1) - truth <= 1), inside


def seen_by_both(folder, truth):
    """Mask of the pixels that are not occluded in camera 1."""
    width = truth.shape[1]
    there = np.arange(width)[None, :] - np.round(truth).astype(int)
    inside, at = there >= 0, np.clip(there, 0, width - 1)
    if os.path.exists(os.path.join(folder, "occ_left.png")):
        return inside & (stored(folder, "occ_left.png") == 0)
    if os.path.exists(os.path.join(folder, "disp_right.png")):
        right = np.take_along_axis(stored(folder, "disp_right.png") / 256.0, at, 1)
        return inside & (right > 0) & (abs(right - truth) <= 1)
    return nearest(truth)[0]


def load(name):
    """Left and right image, truth [px] with 0 where there is none, and the mask of the pixels that both cameras see."""
    if name == "kitti":
        first = names("kitti01_stereo", "image_0")[0]
        left, right = (grey("kitti01_stereo", "image_%d" % k, first) for k in (0, 1))
        return left, right, None, None
    folder = os.path.join(DATA, "stereo_pairs", name)
    truth = stored(folder, "disp_left.png") / 256.0
    return grey(folder, "left.png"), grey(folder, "right.png"), truth, seen_by_both(folder, truth)


# ---- matchers -----------------------------------------------------------------------------------------------------------------


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


class Vfront:
    def __init__(self, path):
        if not os.path.exists(path):
            skip("no %s" % path)
        self.lib = ctypes.CDLL(os.path.abspath(path))
        self.lib.bridge_detail.restype = ctypes.c_char_p
        self.lib.bridge_time.restype = ctypes.c_float

    def step(self, left, right, settings):
        """Runs two steps, the first to warm caches. The front end stays open."""
        height, width = left.shape
        if self.lib.bridge_open(width, height, *map(ctypes.c_double, KITTI), settings.encode()):
            sys.exit("vfront: " + self.lib.bridge_detail().decode())
        for _ in range(2):
            if self.lib.bridge_step(pointer(left), pointer(right)):
                sys.exit("vfront: " + self.lib.bridge_detail().decode())

    def stixels(self, left, right, settings):
        """Time [ms] and number of stixels."""
        self.step(left, right, settings + " stixel=1")
        return self.lib.bridge_time(b"stixel") / 1000, self.lib.bridge_stixels()

    def find(self, left, right, settings):
        """Disparities [px], -1 where there is none, and time [ms]."""
        height, width = left.shape
        self.step(left, right, settings)
        ms = self.lib.bridge_time(b"dense") / 1000
        units, confidence = np.zeros((height, width), np.uint16), np.zeros((height, width), np.uint8)
        valid = self.lib.bridge_disparity(pointer(units), pointer(confidence))
        self.lib.bridge_close()
        assert valid == (units != NONE).sum() == (confidence > 0).sum()
        return np.where(units == NONE, -1.0, units / 16.0), ms


def sgbm(left, right, disparities, mode):
    matcher = cv2.StereoSGBM_create(0, disparities, 3, 72, 288, 1, 63, 10, 100, 2, mode)
    start = time.perf_counter()
    found = matcher.compute(left, right)
    ms = (time.perf_counter() - start) * 1000
    return np.where(found < 0, -1.0, found / 16.0), ms


def sgbm_padded(left, right, disparities, block, uniqueness):
    area, wide = block * block, [cv2.copyMakeBorder(p, 0, 0, disparities, 0, cv2.BORDER_REPLICATE) for p in (left, right)]
    matcher = cv2.StereoSGBM_create(0, disparities, block, 8 * area, 32 * area, 1, 63, uniqueness, 100, 2, cv2.STEREO_SGBM_MODE_HH)
    found = matcher.compute(*wide)[:, disparities:]
    return np.where(found < 0, -1.0, found / 16.0)


def run_alternately(matchers, left, right):
    """Disparities and least time [ms] of each matcher, run alternately."""
    found = {}
    for _ in range(ROUNDS):
        for what, match in matchers.items():
            disparity, ms = match(left, right)
            found[what] = disparity, min(ms, found[what][1] if what in found else ms)
    return found


# ---- measures -----------------------------------------------------------------------------------------------------------------


def measure(found, truth, seen):
    have, off, row = truth > 0, abs(found - truth), []
    for these in (have, have & seen):
        valid = these & (found >= 0)
        row += [100 * (off[valid] > 1).mean(), 100 * (off[valid] > 2).mean(), 100 * valid.sum() / these.sum()]
    near = have & seen & (found >= 0) & (off <= 1)
    return row + [np.sqrt((off[near] ** 2).mean())]


def losses(found, truth):
    """Shares of the pixels with truth: lost, wrong among those with a disparity, density [%]."""
    have = truth > 0
    valid, fine = have & (found >= 0), abs(found - truth) <= 2
    return 100 * (1 - (valid & fine).sum() / have.sum()), 100 * (1 - fine[valid].mean()), 100 * valid.sum() / have.sum()


def share(these, truth, found):
    """Share of these pixels that are off by more than 2 px [%]."""
    return 100 * (abs(found - truth)[these] > 2).mean()


def fill_in(found):
    """Disparities without holes: the smaller one of both ends in the row."""
    width = found.shape[1]
    column, rows = np.arange(width)[None, :], np.arange(found.shape[0])[:, None]
    left = np.maximum.accumulate(np.where(found >= 0, column, -1), 1)
    right = np.minimum.accumulate(np.where(found >= 0, column, width)[:, ::-1], 1)[:, ::-1]
    ends = np.where(left >= 0, found[rows, np.maximum(left, 0)], np.inf), np.where(right < width, found[rows, np.minimum(right, width - 1)], np.inf)
    return np.minimum(*ends)


def tartan():
    """Frames of TartanAir: left image, right image made of the depth, truth."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "geometry"))
    from expect import right_picture
    folder, draw, sets = "tartanair_mono_depth_a", np.random.default_rng(3), {}
    for k in (0, 20, 39):
        left = grey(folder, "image_0", names(folder, "image_0")[k])
        depth = stored(folder, "depth_mm", "%06d.png" % k) / 1000.0
        truth = np.where(depth > 0, 320 * 0.25 / np.maximum(depth, 1e-3), 0).astype(np.float32)
        sets["tartan %d" % k] = left, right_picture(left, truth, draw), truth, 64
    return sets


def table_of_losses(vfront, settings):
    sets = {name: load(name)[:3] + (RANGE[name],) for name in RANGE if name != "kitti"}
    sets.update(tartan())
    ladder = (0, 5, 10, 15, 20, 30, 40, 50)
    grid = ["dense_unique_percent=%d dense_back_px=%d" % (u, b) for u in (1, 2, 4, 8) for b in (1, 2)]
    print("\n%-16s | %13s | %13s | %13s | %26s | %s" % ("[%]", "lost", "common", "filled", "wrong", "hidden: given, wrong"))
    lost = {}
    for name, (left, right, truth, most) in sets.items():
        own = vfront.find(left, right, " ".join(["dense_disparities=%d" % most] + settings))[0]
        have, (seen, inside) = truth > 0, nearest(truth)
        theirs = [[sgbm_padded(left, right, most, block, u) for u in ladder] for block in (3, 5)]
        best = min((found for row in theirs for found in row), key=lambda found: losses(found, truth)[0])
        filled = min(share(have, truth, fill_in(found)) for row in theirs for found in row)
        lost[name] = [losses(vfront.find(left, right, "dense_disparities=%d %s" % (most, text))[0], truth)[0] for text in grid]
        curves = [sorted(losses(found, truth)[2:0:-1] for found in row) for row in theirs]
        (ours, wrong, density), both = losses(own, truth), have & (own >= 0) & (best >= 0)
        hidden = [(100 * (found[k] >= 0).mean(), share(k & (found >= 0), truth, found)) for k in [have & inside & ~seen] for found in (own, best)]
        print("%-16s | %5.1f; %5.1f | %5.2f; %5.2f | %5.1f; %5.1f | %4.1f of %4.1f; SGBM %4.1f | %3.0f, %3.0f; %3.0f, %3.0f"
              % ((name, ours, losses(best, truth)[0], share(both, truth, own), share(both, truth, best), share(have, truth, fill_in(own)), filled,
                  wrong, density, min(np.interp(density, *zip(*curve)) for curve in curves)) + hidden[0] + hidden[1]))
        sys.stdout.flush()
    for name in lost:
        means = [sum(lost[other][k] for other in lost if other != name) for k in range(len(grid))]
        chosen = int(np.argmin(means))
        print("%-16s | chosen on the others: %s, lost %.1f %%" % (name, grid[chosen], lost[name][chosen]))


def poles(width_px, seed):
    """A textured wall, poles before it, of 60 grey levels more or less: both images and the truth [px]."""
    draw, height, width, far = np.random.default_rng(seed), 240, 480, 8
    texture = lambda cell: cv2.resize(draw.normal(0, 1, (height // cell + 2, width // cell + 12)), (width + 60, height), interpolation=cv2.INTER_CUBIC)
    wall = 128 + 40 * texture(6) + 20 * texture(2)
    left, right, truth = wall[:, 40:40 + width].copy(), wall[:, 40 + far:40 + far + width].copy(), np.full((height, width), float(far))
    for k in range(8):
        x, near = 50 + 52 * k + draw.integers(0, 10), draw.integers(24, 44)
        pole = 128 + draw.choice([-60, 60]) + 15 * draw.normal(0, 1, (height, width_px))
        left[:, x:x + width_px] = right[:, x - near:x - near + width_px] = pole
        truth[:, x:x + width_px] = near
    noisy = lambda image: np.clip(image + draw.normal(0, 2, image.shape), 0, 255).astype(np.uint8)
    return noisy(left), noisy(right), truth


def table_of_poles(vfront, settings):
    print("\n%-16s | %13s | %s" % ("poles [%]", "right", "wall, wrong"))
    for width_px in (2, 3, 4, 6, 8):
        scenes = [poles(width_px, seed) for seed in range(3)]
        row = []
        for match in (lambda a, b: vfront.find(a, b, " ".join(["dense_disparities=64"] + settings))[0], lambda a, b: sgbm_padded(a, b, 64, 3, 10)):
            found = [match(left, right) for left, right, _ in scenes]
            row.append((np.mean([100 - losses(f, np.where(t > 8, t, 0))[0] for f, (_, _, t) in zip(found, scenes)]),
                        np.mean([100 * ((f >= 0) & (abs(f - t) > 2))[t == 8].mean() for f, (_, _, t) in zip(found, scenes)])))
        print("%-16s | %5.1f; %5.1f | %5.2f; %5.2f" % ("%d px" % width_px, row[0][0], row[1][0], row[0][1], row[1][1]))


def grey_difference(left, right, found):
    """Median difference of grey level between pixels and their matches."""
    y, x = np.indices(found.shape, np.float32)
    there = cv2.remap(right.astype(np.float32), x - found.astype(np.float32), y, cv2.INTER_LINEAR)
    return np.median(abs(there - left)[found >= 0])


def colour(disparity, most):
    scaled = np.clip(disparity / most * 255, 0, 255).astype(np.uint8)
    picture = cv2.applyColorMap(scaled, cv2.COLORMAP_JET)
    picture[disparity <= 0] = 0
    return picture


def draw(folder, name, left, truth, found, other, most):
    os.makedirs(folder, exist_ok=True)
    tiles = [cv2.cvtColor(left, cv2.COLOR_GRAY2BGR), colour(found, most)]
    tiles += [] if truth is None else [colour(truth, most)]
    tiles += [] if other is None else [colour(other, most)]
    tiles += [np.zeros_like(tiles[0])] * (len(tiles) % 2)
    cv2.imwrite(os.path.join(folder, name + ".png"), np.vstack([np.hstack(tiles[k:k + 2]) for k in range(0, len(tiles), 2)]))


def arguments(given):
    """Path of the bridge and lists by option; None if they are invalid."""
    paths, lists, at_ = [], {"--set": [], "--only": [], "--out": [], "--alone": False, "--lost": False}, None
    for word in given:
        if word in ("--alone", "--lost"):
            lists[word], at_ = True, None
        elif word in lists:
            at_ = word
        elif at_ and (at_ != "--set" or "=" in word):
            lists[at_].append(word)
        else:
            paths.append(word)
    fine = len(paths) == 1 and not paths[0].startswith("-") and not set(lists["--only"]) - set(RANGE) and len(lists["--out"]) < 2
    return (paths[0], lists) if fine else None


def main():
    parsed = arguments(sys.argv[1:])
    if not parsed:
        print(__doc__)
        return 2
    vfront, lists = Vfront(parsed[0]), parsed[1]
    settings, alone = lists["--set"], lists["--alone"]
    cv2.setNumThreads(1)
    modes = {"SGBM, 8 paths": cv2.STEREO_SGBM_MODE_HH, "SGBM, 5 paths": cv2.STEREO_SGBM_MODE_SGBM, "SGBM, 3-way": cv2.STEREO_SGBM_MODE_SGBM_3WAY}
    print("%-17s %-16s | %6s %6s %7s | %6s %6s %7s | %5s %7s %5s %5s"
          % ("set", "", "bad1", "bad2", "density", "bad1", "bad2", "density", "rmse", "ms", "x8", "x5"))
    print("%-17s %-16s | %21s | %21s |" % ("", "", "all", "seen"))
    for name in [] if lists["--lost"] else lists["--only"] or RANGE:
        left, right, truth, seen = load(name)
        most = RANGE[name]
        tuned = " ".join(["dense_disparities=%d" % most] + settings)
        matchers = {"vfront, 8 paths": lambda a, b: vfront.find(a, b, tuned)}
        if not alone:
            matchers.update({what: lambda a, b, mode=mode: sgbm(a, b, most, mode) for what, mode in modes.items()})
        found = run_alternately(matchers, left, right)
        times = lambda ms: "%7.1f" % ms + "".join(" %5.2f" % (ms / found["SGBM, %d paths" % paths][1]) for paths in (8, 5) if not alone)
        first = found["vfront, 8 paths"][0]
        for what, (disparity, ms) in found.items():
            if truth is None:
                both = (disparity >= 0) & (first >= 0)
                print("%-17s %-16s | agree with the first line %5.1f %%, density %5.1f %%, grey levels off %4.1f | %s"
                      % (name, what, 100 * (abs(disparity - first)[both] <= 1).mean(), 100 * (disparity >= 0).mean(),
                         grey_difference(left, right, disparity), times(ms)))
            else:
                print("%-17s %-16s | %6.2f %6.2f %7.1f | %6.2f %6.2f %7.1f | %5.2f %s" % ((name, what) + tuple(measure(disparity, truth, seen)) + (times(ms),)))
        if truth is None:
            ms, count = min(vfront.stixels(left, right, tuned[8]) for _ in range(ROUNDS))
            print("%-17s %-16s | %-58s | %s" % (name, "vfront, stixels", "%d, of the first line's disparities" % count, times(ms)))
        for folder in lists["--out"]:
            scale = np.percentile(first[first >= 0], 99)
            draw(folder, name, left, truth, first, None if alone else found["SGBM, 5 paths"][0], scale)
        sys.stdout.flush()
    if not alone and not lists["--only"]:
        table_of_losses(vfront, settings)
        table_of_poles(vfront, settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
