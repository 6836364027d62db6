#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How well tracks hold, beside OpenCV's calcOpticalFlowPyrLK on the same points of the same pictures.

    tests/tracking/quality.py build/bridge_track.so

Pictures lie in $VFRONT_DATA, or in ../shared/data beside the project. Exit status: 0 no demanded row is worse than OpenCV's,
1 one is, 77 data, OpenCV or the bridge is missing.

Points    The library's own key points of the first picture, standard tuning: at most one a cell of 32x32 px. Left out are those
          without ground truth (no depth, hidden in the second picture) and those whose true place lies within 8 px of the border
          or beyond, where the library ends tracks by design. Where only poses are known, that place is OpenCV's.
Truth     flow: the true place, from dense flow, from depth and poses, or from the board's plane and poses. line: distance to the
          epipolar line of the poses, for want of depth; it does not see errors along the line.
vfront    Standard tuning, no prior from outside. A new track a point and pair; over several frames, templates of the first.
OpenCV    Its standard values: window 21x21, 30 iterations, epsilon 0.01; 3 levels above the picture (standard), or 4 (as many
          as vfront has). Over several frames, from one to the next.
Columns   found: share of all points found within 1 px of the truth [%]. kept: share of points not given up [%]. right: share of
          those kept that lie within 1 px [%]. median: of the error over all points, one given up counting as infinite [px].
          fine: mean error of the found ones [px].
Demand    In rows marked *, `found` is not lower and `median` not higher than with either OpenCV.
"""
import ctypes
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("VFRONT_DATA", os.path.join(ROOT, "..", "shared", "data"))
BORDER_PX = 8  # tuning value detect_border_px
LEVELS = 5     # VFRONT_LEVELS of the bridge


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


try:
    import cv2
    import numpy as np
except ImportError as missing:
    skip("%s (apt install python3-opencv)" % missing)


# ---- pictures and truth -------------------------------------------------------------------------------------------------------


def picture(path):
    grey = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
    if grey is None:
        skip("no " + path)
    return grey


def read(folder):
    """Pictures, poses (camera to world, [n][3][4]) and calibration of a folder in KITTI's layout."""
    path = os.path.join(DATA, folder)
    if not os.path.isdir(path):
        skip("no " + path)
    names = sorted(os.listdir(os.path.join(path, "image_0")))
    pictures = [picture(os.path.join(path, "image_0", name)) for name in names]
    poses = np.loadtxt(os.path.join(path, "poses.txt")).reshape(-1, 3, 4)
    K = np.eye(3)
    if os.path.exists(os.path.join(path, "calib.txt")):
        with open(os.path.join(path, "calib.txt")) as f:
            P0 = [line.split()[1:] for line in f if line.startswith("P0")][0]
        K = np.array(P0, float).reshape(3, 4)[:, :3]
    return pictures, poses, K


def motion(poses, a, b):
    """Rotation and translation that take camera a's axes to camera b's."""
    R = poses[b][:, :3].T @ poses[a][:, :3]
    return R, poses[b][:, :3].T @ (poses[a][:, 3] - poses[b][:, 3])


def homogeneous(p):
    return np.column_stack([p, np.ones(len(p))])


class Poses:
    """Poses alone: epipolar lines, or true places where the camera only turns."""

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
    """Poses and depth: true places of what is seen in both pictures."""

    def __init__(self, folder):
        super().__init__(folder)
        path = os.path.join(DATA, folder, "depth_mm")
        self.depth = [cv2.imread(os.path.join(path, n), cv2.IMREAD_UNCHANGED) * 1e-3 for n in sorted(os.listdir(path))]

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


class Board(Poses):
    """Poses and a plane z = 0 in the world, seen through a lens with distortion."""

    def __init__(self, folder):
        super().__init__(folder)
        self.K = np.loadtxt(os.path.join(DATA, folder, "K.txt"))
        self.lens = np.loadtxt(os.path.join(DATA, folder, "dist.txt")).ravel()

    def truth(self, a, b, p):
        ray = homogeneous(cv2.undistortPoints(p[:, None], self.K, self.lens)[:, 0]) @ self.poses[a][:, :3].T
        far = -self.poses[a][2, 3] / ray[:, 2]
        world = self.poses[a][:, 3] + far[:, None] * ray
        ok = (far > 0) & (world[:, 0] > -0.04) & (world[:, 0] < 0.36) & (world[:, 1] > -0.04) & (world[:, 1] < 0.24)
        R = self.poses[b][:, :3].T
        q, _ = cv2.projectPoints(world, cv2.Rodrigues(R)[0], -R @ self.poses[b][:, 3], self.K, self.lens)
        return "flow", q[:, 0], ok


class Flow:
    """Two pictures and the dense flow between them (.flo)."""

    def __init__(self, folder):
        path = os.path.join(DATA, folder)
        self.pictures = [picture(os.path.join(path, n)) for n in ("frame10.png", "frame11.png")]
        with open(os.path.join(path, "flow10.flo"), "rb") as f:
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
    def __init__(self, path):
        if not os.path.exists(path):
            skip("no %s (make quality builds it)" % path)
        self.c = ctypes.CDLL(os.path.abspath(path))
        doubles = np.ctypeslib.ndpointer(np.float64, flags="C")
        ints = np.ctypeslib.ndpointer(np.int32, flags="C")
        self.c.bridge_picture.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.c.bridge_detect.argtypes = [doubles, doubles]
        self.c.bridge_seed.argtypes = [ctypes.c_int, doubles, doubles]
        self.c.bridge_track.argtypes = [doubles, doubles, ints, ints]
        self.steps = []

    def open(self, first):
        self.room = self.c.bridge_open(first.shape[1], first.shape[0])
        if not self.room:
            skip("pictures beyond the bridge's config")
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
    def __init__(self, levels):
        self.how = dict(winSize=(21, 21), maxLevel=levels,
                        criteria=(cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 30, 0.01))

    def track(self, pictures, p):
        kept, q = np.ones(len(p), bool), np.float32(p)[:, None]
        for before, now in zip(pictures, pictures[1:]):
            q, status, _ = cv2.calcOpticalFlowPyrLK(before, now, q, None, **self.how)
            kept &= status.ravel() > 0
        return q[:, 0].astype(float), kept


# ---- the table --------------------------------------------------------------------------------------------------------------


def well_inside(q, shape):
    return (q >= BORDER_PX).all(1) & (q[:, 0] <= shape[1] - 1 - BORDER_PX) & (q[:, 1] <= shape[0] - 1 - BORDER_PX)


def errors(kind, truth, q):
    return np.hypot(*(q - truth).T) if kind == "flow" else np.abs((homogeneous(q) * truth).sum(1))


def compare(vfront, others, source, frames, start):
    """Errors and what was kept, by tracker, from one picture to one `frames` later."""
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
        q, kept = others[-1].track(pictures, p)
        ok &= ~kept | well_inside(q, pictures[0].shape)
    p = p[ok]
    if len(p) == 0:
        return None
    kind, truth, _ = source.truth(start, start + frames, p)
    return [(errors(kind, truth, q), kept) for q, kept in (t.track(pictures, p) for t in [vfront] + others)]


def figures(parts):
    error = np.concatenate([e for e, _ in parts])
    kept = np.concatenate([k for _, k in parts])
    found = kept & (error < 1)
    return dict(n=len(error), found=100 * found.mean(), kept=100 * kept.mean(), right=100 * (error[kept] < 1).mean(),
                median=np.median(np.where(kept, error, np.inf)), fine=error[found].mean())


def row(name, tracker, f, demanded, verdict):
    print("%s %-26s %-10s %6d %7.2f %7.2f %7.2f %8.4f %8.4f  %s" %
          ("*" if demanded else " ", name, tracker, f["n"], f["found"], f["kept"], f["right"], f["median"], f["fine"], verdict))


def report(vfront, others, name, sources, frames, starts, demanded):
    parts = [compare(vfront, others, s, frames, a) for s in sources for a in starts(len(s.pictures) - frames)]
    parts = [p for p in parts if p]
    rows = [figures([p[i] for p in parts]) for i in range(1 + len(others))]
    worse = [r for r in rows[1:] if rows[0]["found"] < r["found"] or rows[0]["median"] > r["median"]]
    row(name, "vfront", rows[0], demanded, "worse" if worse else "")
    for label, r in zip(("OpenCV 3", "OpenCV 4"), rows[1:]):
        row("", label, r, demanded, "")
    return demanded and bool(worse)


def report_steps(steps):
    steps = np.concatenate(steps)
    total = steps.sum(1)
    print("\nGauss-Newton steps of a track, one pair: mean %.1f, of 50 %% of the tracks up to %d, 90 %% %d, 99 %% %d, most %d" %
          ((total.mean(),) + tuple(np.percentile(total, [50, 90, 99, 100]).astype(int))))
    print("on level      mean   share of the tracks by number of steps, from 0 up [%]")
    for level in range(LEVELS):
        share = np.bincount(steps[:, level], minlength=9) * 100 / len(steps)
        print("%8d %9.2f   %s" % (level, steps[:, level].mean(), " ".join("%5.1f" % s for s in share)))


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    if not os.path.isdir(DATA):
        skip("no %s (set VFRONT_DATA)" % DATA)
    began = time.time()
    cv2.setNumThreads(1)
    vfront, others = Vfront(sys.argv[1]), [OpenCV(3), OpenCV(4)]
    tartan, tsukuba, hut = Depth("tartanair_mono_depth_a"), Poses("newtsukuba_mono_a"), Poses("hut_synthetic")
    flow = [Flow(os.path.join("flow_middlebury", n)) for n in ("RubberWhale", "Urban2", "Venus")]
    board, kitti00, kitti01 = Board("mav_checkerboard_a"), Poses("kitti00_mono_a"), Poses("kitti01_stereo")

    def every(step):
        return lambda pairs: range(0, pairs, step)

    print("  %-26s %-10s %6s %7s %7s %7s %8s %8s" % ("data", "tracker", "points", "found%", "kept%", "right%", "median", "fine"))
    table = [("tartanair, flow", [tartan], 1, 1, True), ("newtsukuba, line", [tsukuba], 1, 1, True),
             ("hut, line and flow", [hut], 1, 1, True), ("middlebury, flow", flow, 1, 1, True),
             ("checkerboard, flow", [board], 1, 2, False), ("kitti00, line", [kitti00], 1, 1, False),
             ("kitti01, line", [kitti01], 1, 2, False), ("tartanair, 5 frames", [tartan], 5, 3, False),
             ("newtsukuba, 10 frames", [tsukuba], 10, 3, False), ("hut, 5 frames", [hut], 5, 2, False),
             ("checkerboard, 10 frames", [board], 10, 3, False)]
    worse = [report(vfront, others, name, s, frames, every(step), demanded) for name, s, frames, step, demanded in table]
    report_steps(vfront.steps)
    print("\n%s (%.0f s)" % ("worse than OpenCV in a demanded row" if any(worse) else "no demanded row is worse than OpenCV's",
                              time.time() - began))
    return 1 if any(worse) else 0


if __name__ == "__main__":
    sys.exit(main())
