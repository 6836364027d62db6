#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares tracks with OpenCV's calcOpticalFlowPyrLK on the same points of the same images, and counts how long tracks live.

    tests/tracking/quality.py build/bridge_track.so [build/bridge_ego.so] [--choose check|residual|births ...]

Images lie in $VFRONT_DATA, or in ../shared/data beside the project. Exit status: 0 no demanded row is worse than OpenCV's,
1 one is, 77 data, OpenCV or the bridge is missing. With the second bridge, survivors as well.

--choose  Instead, values are chosen anew: for each sequence the value that is best on all others, and what it gives on the one left
          out. Best: found, less what is wrong, of all points [%]; of births, survivors, on average more evenly spread than OpenCV's.
Points    The library's own key points of the first image, standard tuning: at most one a cell of 32x32 px. Left out are those
          without ground truth (no depth, hidden in the second image) and those whose true position lies within 8 px of the border
          or beyond, where the library ends tracks by design. Where only poses are known, OpenCV's position stands in for it.
Truth     flow: the true position, from dense flow, from depth and poses, or from the board's plane and poses. line: distance to the
          epipolar line of the poses, for want of depth; it does not see errors along the line. KITTI's poses are off by more than
          a pixel from one frame to the next, so that its rows serve to compare.
vfront    Standard tuning, no prior from outside; "unchecked": without its forward-backward check. A new track a point and pair; over
          several frames, templates of the first.
OpenCV    Window 21x21, 30 iterations, epsilon 0.01, 4 levels above the image (as many as vfront has); "checked": forward and
          backward, within 1 px. Over several frames, from one to the next.
Columns   found: share of all points found within 1 px of the truth [%]. kept: share of points not rejected [%]. wrong: share of
          those kept that are off by more than 3 px [%]. median: of the error over all points, a rejected one counting as infinite
          [px]. fine: mean error of the found ones [px].
Demand    In rows marked *, `found` is not lower and `median` not higher than OpenCV's, both checked, or both unchecked.
Survivors The whole front end, from its first frame on, 200 tracks; OpenCV: goodFeaturesToTrack, 200 corners at a quality of 0.01 and a
          distance of 8 px, followed with the check. good: tracks of the first frame that are within 3 px of the truth 10 frames
          later, of 200 [%]. wrong: share of those that live and are not. spread: entropy of the first frame's tracks over 8x8
          fields [bit].
"""
import ctypes
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixture"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "geometry"))
from honesty import euroc_flight  # noqa: E402
from pictures import grey, names, need_data, place, read, skip, stored  # noqa: E402
import stereo  # noqa: E402

import cv2  # noqa: E402
import numpy as np  # noqa: E402

BORDER_PX = 8  # tuning value detect_border_px
LEVELS = 5     # VFRONT_LEVELS of the bridge


# ---- pictures and truth -------------------------------------------------------------------------------------------------------


def motion(poses, a, b):
    """Rotation and translation that take camera a's axes to camera b's."""
    R = poses[b][:, :3].T @ poses[a][:, :3]
    return R, poses[b][:, :3].T @ (poses[a][:, 3] - poses[b][:, 3])


def homogeneous(p):
    return np.column_stack([p, np.ones(len(p))])


class Poses:
    """Poses alone: epipolar lines, or true positions where the camera only turns."""

    def __init__(self, folder, pairs=None):
        self.pictures, self.poses, self.K = read(folder)
        self.exact = False

    def truth(self, a, b, p):
        R, t = motion(self.poses, a, b)
        K_inverse = np.linalg.inv(self.K)
        if np.linalg.norm(t) < 1e-6:
            q = homogeneous(p) @ (self.K @ R @ K_inverse).T
            return "flow", q[:, :2] / q[:, 2:], q[:, 2] > 0
        cross = np.array([[0, -t[2], t[1]], [t[2], 0, -t[0]], [-t[1], t[0], 0]])
        lines = homogeneous(p) @ (K_inverse.T @ cross @ R @ K_inverse).T
        return "line", lines / np.hypot(lines[:, 0], lines[:, 1])[:, None], np.ones(len(p), bool)


class Depth(Poses):
    """Poses and depth: true positions of points visible in both images."""

    def __init__(self, folder):
        super().__init__(folder)
        self.depth = [stored(folder, "depth_mm", n) * 1e-3 for n in names(folder, "depth_mm")]

    def at(self, i, p):
        z = self.depth[i]
        x = np.clip(np.rint(p[:, 0]).astype(int), 0, z.shape[1] - 1)
        y = np.clip(np.rint(p[:, 1]).astype(int), 0, z.shape[0] - 1)
        return z[y, x]

    def truth(self, a, b, p):
        R, t = motion(self.poses, a, b)
        z = self.at(a, p)
        there = (homogeneous(p) @ np.linalg.inv(self.K).T * z[:, None]) @ R.T + t
        ok = (z > 0) & (there[:, 2] > 0.05)
        q = there @ self.K.T
        q = np.where(ok[:, None], q[:, :2] / np.where(ok, q[:, 2], 1)[:, None], -1)
        return "flow", q, ok & (np.abs(self.at(b, q) - there[:, 2]) < 0.03 * there[:, 2] + 0.02)


class Flight(Poses):
    """EuRoC's MH_01: poses, and a lens with distortion. The truth is a line in the undistorted image."""

    def __init__(self):
        rig, frames, poses = euroc_flight(171)
        self.K, self.lens = rig.K[0], rig.D[0]
        self.poses, self.pictures = [np.asarray(p) for p in poses], [f[0] for f in frames]

    def undistorted(self, p):
        return cv2.undistortPoints(np.ascontiguousarray(p[:, None], float), self.K, self.lens, P=self.K)[:, 0]

    def truth(self, a, b, p):
        kind, lines, ok = super().truth(a, b, self.undistorted(p))
        return kind, (lines, self), ok


class Board(Poses):
    """Poses and a plane z = 0 in the world, seen through a lens with distortion."""

    def __init__(self, folder):
        super().__init__(folder)
        self.K = np.loadtxt(place(folder, "K.txt"))
        self.lens = np.loadtxt(place(folder, "dist.txt")).ravel()

    def truth(self, a, b, p):
        ray = homogeneous(cv2.undistortPoints(p[:, None], self.K, self.lens)[:, 0]) @ self.poses[a][:, :3].T
        far = -self.poses[a][2, 3] / ray[:, 2]
        world = self.poses[a][:, 3] + far[:, None] * ray
        ok = (far > 0) & (world[:, 0] > -0.04) & (world[:, 0] < 0.36) & (world[:, 1] > -0.04) & (world[:, 1] < 0.24)
        R = self.poses[b][:, :3].T
        q, _ = cv2.projectPoints(world, cv2.Rodrigues(R)[0], -R @ self.poses[b][:, 3], self.K, self.lens)
        return "flow", q[:, 0], ok


class Flow:
    """Two images and the dense flow between them (.flo)."""

    def __init__(self, folder):
        self.pictures = [grey(folder, n) for n in ("frame10.png", "frame11.png")]
        with open(place(folder, "flow10.flo"), "rb") as f:
            raw = f.read()
        width, height = np.frombuffer(raw, np.int32, 2, 4)
        flow = np.frombuffer(raw, np.float32, width * height * 2, 12).reshape(height, width, 2)
        self.flow = np.where(np.abs(flow) > 1e9, np.float32(1e12), flow)

    def truth(self, a, b, p):
        v = cv2.remap(self.flow, np.float32(p[None, :, 0]), np.float32(p[None, :, 1]), cv2.INTER_LINEAR)[0].astype(float)
        ok = (np.abs(v) < 1e4).all(1)
        return "flow", p + np.where(ok[:, None], v, 0), ok


# ---- trackers: from the first picture through all the others ----------------------------------------------------------------


class Vfront:
    def __init__(self, path, **tuning):
        if not os.path.exists(path):
            skip("no %s (make quality builds it)" % path)
        self.c = ctypes.CDLL(os.path.abspath(path))
        doubles = np.ctypeslib.ndpointer(np.float64, flags="C")
        ints = np.ctypeslib.ndpointer(np.int32, flags="C")
        self.c.bridge_picture.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.c.bridge_detect.argtypes = [doubles, doubles]
        self.c.bridge_seed.argtypes = [ctypes.c_int, doubles, doubles]
        self.c.bridge_track.argtypes = [doubles, doubles, ints, ints]
        self.c.bridge_tune.argtypes = [ctypes.c_char_p, ctypes.c_int]
        self.steps, self.tuning = [], tuning

    def open(self, first):
        self.room = self.c.bridge_open(first.shape[1], first.shape[0])
        if not self.room:
            skip("pictures beyond the bridge's config")
        for name, value in self.tuning.items():
            self.c.bridge_tune(name.encode(), value)
        self.c.bridge_picture(first.ctypes.data, None)

    def detect(self, first):
        self.open(first)
        x, y = np.zeros(self.room), np.zeros(self.room)
        count = self.c.bridge_detect(x, y)
        return np.column_stack([x[:count], y[:count]])

    def track(self, pictures, p):
        self.open(pictures[0])
        x, y = np.ascontiguousarray(p[:, 0]), np.ascontiguousarray(p[:, 1])
        end, steps = np.zeros(len(p), np.int32), np.zeros((len(p), LEVELS), np.int32)
        self.c.bridge_seed(len(p), x, y)
        for i, now in enumerate(pictures[1:]):
            self.c.bridge_picture(now.ctypes.data, None)
            self.c.bridge_track(x, y, end, steps)
            if i == 0:
                self.steps.append(steps.copy())
        return np.column_stack([x, y]), end == 0


class OpenCV:
    def __init__(self, checked):
        self.checked = checked
        self.how = dict(winSize=(21, 21), maxLevel=4, criteria=(cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 30, 0.01))

    def track(self, pictures, p):
        kept, q = np.ones(len(p), bool), np.float32(p)[:, None]
        for before, now in zip(pictures, pictures[1:]):
            was = q
            q, status, _ = cv2.calcOpticalFlowPyrLK(before, now, was, None, **self.how)
            kept &= status.ravel() > 0
            if self.checked:
                back, status, _ = cv2.calcOpticalFlowPyrLK(now, before, q, None, **self.how)
                kept &= (status.ravel() > 0) & (np.hypot(*(back - was)[:, 0].T) <= 1)
        return q[:, 0].astype(float), kept


# ---- the table --------------------------------------------------------------------------------------------------------------


def well_inside(q, shape):
    return (q >= BORDER_PX).all(1) & (q[:, 0] <= shape[1] - 1 - BORDER_PX) & (q[:, 1] <= shape[0] - 1 - BORDER_PX)


def errors(kind, truth, q):
    if isinstance(truth, tuple):
        truth, source = truth
        q = source.undistorted(q)
    return np.hypot(*(q - truth).T) if kind == "flow" else np.abs((homogeneous(q) * truth).sum(1))


def points(vfront, opencv, source, frames, start):
    """Points of an image that count, and their ground truth `frames` later; None: no points."""
    pictures = source.pictures[start:start + frames + 1]
    p = vfront.detect(pictures[0])
    kind, _, ok = source.truth(start, start + frames, p)
    for i in range(1, frames + 1):
        kind_i, truth, ok_i = source.truth(start, start + i, p)
        if kind_i == "flow":
            ok &= well_inside(truth, pictures[0].shape)
        if i == frames:
            ok &= ok_i
    if kind == "line":
        q, kept = opencv.track(pictures, p)
        ok &= ~kept | well_inside(q, pictures[0].shape)
    p = p[ok]
    return (pictures, p) + source.truth(start, start + frames, p)[:2] if len(p) else None


def all_points(vfront, opencv, sources, frames, starts):
    found = [points(vfront, opencv, s, frames, a) for s in sources for a in starts(len(s.pictures) - frames)]
    return [p for p in found if p]


def measure(tracker, chosen):
    parts = []
    for pictures, p, kind, truth in chosen:
        q, kept = tracker.track(pictures, p)
        parts.append((errors(kind, truth, q), kept))
    return figures(parts)


def figures(parts):
    error = np.concatenate([e for e, _ in parts])
    kept = np.concatenate([k for _, k in parts])
    found = kept & (error < 1)
    return dict(n=len(error), found=100 * found.mean(), kept=100 * kept.mean(), wrong=100 * (error[kept] > 3).mean(),
                median=np.median(np.where(kept, error, np.inf)), fine=error[found].mean(),
                net=100 * (found.mean() - (kept & (error > 3)).mean()))


def row(name, tracker, f, demanded, verdict):
    print("%s %-26s %-17s %6d %7.2f %7.2f %7.2f %8.4f %8.4f  %s" %
          ("*" if demanded else " ", name, tracker, f["n"], f["found"], f["kept"], f["wrong"], f["median"], f["fine"], verdict))


def report(trackers, name, sources, frames, starts, demanded):
    """Trackers: vfront and OpenCV, checked; then both unchecked."""
    chosen, worse = all_points(trackers[0][1], trackers[3][1], sources, frames, starts), False
    rows = [measure(t, chosen) for _, t in trackers]
    for k, (label, _) in enumerate(trackers):
        mine, other = rows[k & ~1], rows[k | 1]
        behind = not k & 1 and (mine["found"] < other["found"] or mine["median"] > other["median"])
        row("" if k else name, label, rows[k], demanded, "worse" if behind else "")
        worse |= behind
    return demanded and worse


def report_steps(steps):
    steps = np.concatenate(steps)
    total = steps.sum(1)
    print("\nGauss-Newton steps of a track, one pair: mean %.1f, of 50 %% of the tracks up to %d, 90 %% %d, 99 %% %d, most %d" %
          ((total.mean(),) + tuple(np.percentile(total, [50, 90, 99, 100]).astype(int))))
    print("on level      mean   share of the tracks by number of steps, from 0 up [%]")
    for level in range(LEVELS):
        share = np.bincount(steps[:, level], minlength=9) * 100 / len(steps)
        print("%8d %9.2f   %s" % (level, steps[:, level].mean(), " ".join("%5.1f" % s for s in share)))


# ---- survivors --------------------------------------------------------------------------------------------------------------


def entropy(p, shape):
    """Over 8x8 fields [bit]."""
    share = np.histogram2d(p[:, 1], p[:, 0], 8, ((0, shape[0]), (0, shape[1])))[0].ravel() / len(p)
    share = share[share > 0]
    return -(share * np.log2(share)).sum()


def followed(bridge, rig, cameras, frames, settings):
    """Positions of the first frame's tracks, their positions in the last frame, and which are alive."""
    def tracks():
        out = np.zeros((1024, 5))
        return out[:bridge.c.bridge_tracks(len(out), out.ctypes.data)]
    bridge.open(rig, cameras, "track_target=200 " + settings)
    for i, pictures in enumerate(frames):
        bridge.step(*pictures[:cameras])
        first = tracks() if i == 0 else first
    last = {t[0]: t[1:3] for t in tracks()}
    return first[:, 1:3], np.array([last.get(t, (0, 0)) for t in first[:, 0]]), np.array([t in last for t in first[:, 0]])


def strongest(frames):
    p = cv2.goodFeaturesToTrack(frames[0][0], 200, 0.01, 8)[:, 0].astype(float)
    q, kept = OpenCV(True).track([f[0] for f in frames], p)
    return p, q, kept & well_inside(q + BORDER_PX, np.array(frames[0][0].shape) + 2 * BORDER_PX)


def survivors(follow, sets, name):
    source, rig, frames, cameras, step = sets[name]
    good, live, spread, runs = 0, 0, [], range(0, len(frames) - 10, step)
    for a in runs:
        p, q, kept = follow(rig, cameras, frames[a:a + 11])
        kind, truth, ok = source.truth(a, a + 10, p)
        error = errors(kind, truth, q)
        kept = kept & ok if kind == "flow" else kept
        good, live = good + (kept & (error < 3)).sum(), live + kept.sum()
        spread.append(entropy(p, frames[0][0].shape))
    return dict(good=good / 2 / len(runs), wrong=100 - 100 * good / live, spread=np.mean(spread))


def load_sets(bridge):
    sets = {}
    for name, (folder, step) in {"kitti01": ("kitti01_stereo", 5), "kitti05": ("kitti05_vio", 6)}.items():
        rig, frames, _ = stereo.sequence(folder, range(51 if name == "kitti01" else 60))
        sets[name] = (Poses(folder), rig, frames, 2, step)
    for name, folder, step in (("newtsukuba", "newtsukuba_mono_a", 4), ("hut", "hut_synthetic", 4),
                               ("tartanair", "tartanair_mono_depth_a", 6)):
        source = (Depth if name == "tartanair" else Poses)(folder)
        height, width = source.pictures[0].shape
        rig = stereo.pinholes((width, height), source.K[0, 0], source.K[0, 2], source.K[1, 2], 0.1)
        sets[name] = (source, rig, [[p] for p in source.pictures], 1, step)
    rig, frames, _ = euroc_flight(171)
    sets["euroc"] = (Flight(), rig, frames, 2, 40)
    return sets


def make_bridge(path):
    import ego
    bridge = ego.Bridge(path, "")
    bridge.c.bridge_tracks.restype, bridge.c.bridge_tracks.argtypes = ctypes.c_int, [ctypes.c_int, ctypes.c_void_p]
    return bridge


def report_survivors(path):
    bridge = make_bridge(path)
    sets = load_sets(bridge)
    print("\n  10 frames                  tracker              good%   wrong%  spread")
    for name in sets:
        for label, follow in (("vfront", lambda r, c, f: followed(bridge, r, c, f, "")),
                              ("OpenCV", lambda r, c, f: strongest(f))):
            f = survivors(follow, sets, name)
            print("  %-26s %-17s %8.1f %8.1f %7.2f" % (name if label == "vfront" else "", label, f["good"], f["wrong"], f["spread"]))


# ---- values chosen with one sequence left out -----------------------------------------------------------------------------------


def left_out(title, table, score, shown):
    """table[value][sequence]: figures. For each sequence the value of the best mean score on the others."""
    print("\n%s, chosen on the others:" % title)
    for name in next(iter(table.values())):
        best = max(table, key=lambda v: score(v, [f for n, f in table[v].items() if n != name]))
        print("  %-14s %-40s %s" % (name, best, shown(table[best][name])))


def choose_births(path):
    bridge = make_bridge(path)
    sets = load_sets(bridge)
    peer = {n: survivors(lambda r, c, f: strongest(f), sets, n) for n in sets}
    table = {}
    for cell, distance in ((32, 12), (24, 8), (16, 12), (16, 8), (12, 10), (12, 8), (12, 7), (12, 6), (12, 5)):
        value = "cell_width_px=%d cell_height_px=%d track_distance_px=%d" % (cell, cell, distance)
        table[value] = {n: survivors(lambda r, c, f: followed(bridge, r, c, f, value), sets, n) for n in sets}
        print("  %-56s %s" % (value, "  ".join("%s %.1f" % (n, f["good"]) for n, f in table[value].items())))

    def even(value, rows):
        names = [n for n in sets if table[value][n] in rows]
        enough = np.mean([f["spread"] for f in rows]) > np.mean([peer[n]["spread"] for n in names])
        return np.mean([f["good"] for f in rows]) if enough else -1
    left_out("births", table, even, lambda f: "good %.1f, spread %.2f" % (f["good"], f["spread"]))


def choose(paths, what):
    if "births" in what:
        choose_births(paths[1])
    if what == ["births"]:
        return
    sources = {"tartanair": (Depth("tartanair_mono_depth_a"), 1), "newtsukuba": (Poses("newtsukuba_mono_a"), 1),
               "hut": (Poses("hut_synthetic"), 1), "kitti00": (Poses("kitti00_mono_a"), 1), "kitti01": (Poses("kitti01_stereo"), 2),
               "kitti05": (Poses("kitti05_vio"), 2), "euroc": (Flight(), 6)}
    vfront, opencv = Vfront(paths[0]), OpenCV(False)
    chosen = {n: all_points(vfront, opencv, [s], 1, lambda pairs, step=step: range(0, pairs, step)) for n, (s, step) in sources.items()}

    def scan(values):
        return {" ".join("%s=%d" % v for v in sorted(t.items())): {n: measure(Vfront(paths[0], **t), p) for n, p in chosen.items()}
                for t in values}

    def mean_net(_, rows):
        return np.mean([f["net"] for f in rows])

    def text(f):
        return "found %.1f, kept %.1f, wrong %.2f" % (f["found"], f["kept"], f["wrong"])
    if "check" in what:
        left_out("check", scan([dict(track_back_mpx=b) for b in (0, 300, 500, 700, 1000, 1500, 2000)]), mean_net, text)
    if "residual" in what:
        left_out("residual", scan([dict(track_residual_grey=g, track_residual_percent=r) for g, r in
                                   ((10, 0), (20, 0), (40, 0), (4, 30), (4, 50), (4, 70), (4, 100), (8, 50), (255, 1000))]), mean_net, text)


def main():
    words = sys.argv[1:]
    what = words[words.index("--choose") + 1:] if "--choose" in words else []
    paths = words[:words.index("--choose")] if what else words
    if not 1 <= len(paths) <= 2:
        print(__doc__)
        return 2
    need_data()
    began = time.time()
    cv2.setNumThreads(1)
    print("OpenCV " + cv2.__version__)
    if what:
        choose(paths, what)
        return 0
    vfront = Vfront(paths[0])
    trackers = [("vfront", vfront), ("OpenCV, checked", OpenCV(True)), ("vfront, unchecked", Vfront(paths[0], track_back_mpx=0)),
                ("OpenCV", OpenCV(False))]
    tartan, tsukuba, hut = Depth("tartanair_mono_depth_a"), Poses("newtsukuba_mono_a"), Poses("hut_synthetic")
    flow = [Flow(os.path.join("flow_middlebury", n)) for n in ("RubberWhale", "Urban2", "Venus")]
    board, kitti00, kitti01, kitti05 = Board("mav_checkerboard_a"), Poses("kitti00_mono_a"), Poses("kitti01_stereo"), Poses("kitti05_vio")
    euroc = Flight()

    def every(step):
        return lambda pairs: range(0, pairs, step)

    print("  %-26s %-17s %6s %7s %7s %7s %8s %8s" % ("data", "tracker", "points", "found%", "kept%", "wrong%", "median", "fine"))
    table = [("tartanair, flow", [tartan], 1, 1, True), ("newtsukuba, line", [tsukuba], 1, 1, True),
             ("hut, line and flow", [hut], 1, 1, True), ("middlebury, flow", flow, 1, 1, True), ("euroc, line", [euroc], 1, 6, True),
             ("checkerboard, flow", [board], 1, 2, False), ("kitti00, line", [kitti00], 1, 1, False),
             ("kitti01, line", [kitti01], 1, 2, False), ("kitti05, line", [kitti05], 1, 2, False),
             ("tartanair, 5 frames", [tartan], 5, 3, False), ("newtsukuba, 10 frames", [tsukuba], 10, 3, False),
             ("hut, 5 frames", [hut], 5, 2, False), ("checkerboard, 10 frames", [board], 10, 3, False)]
    worse = [report(trackers, name, s, frames, every(step), demanded) for name, s, frames, step, demanded in table]
    report_steps(vfront.steps)
    if len(paths) > 1:
        report_survivors(paths[1])
    print("\n%s (%.0f s)" % ("worse than OpenCV in a demanded row" if any(worse) else "no demanded row is worse than OpenCV's",
                              time.time() - began))
    return 1 if any(worse) else 0


if __name__ == "__main__":
    sys.exit(main())
