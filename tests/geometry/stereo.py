#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Accuracy of the depth of key points, compared with OpenCV's ORB and a matcher along rows, on real and rendered stereo pairs.

    tests/geometry/stereo.py build/bridge_stereo.so [--set name=value ...] [--only name ...] [--points N ...] [--alone] [--quick]

--set     Tuning values of vfront that are not standard. Nothing is tuned for a picture or a set, but for the range of disparities,
          which is the scene's: 256 px for aloe, else the standard.
--only    Only these sets: cones reindeer aloe sceneflow_A0032 kitti zed euroc chessboard, or pairs for the first four.
--points  Key points of a picture, select_points and nfeatures: 1000 and 2000 without it.
--alone   vfront only.
--quick   Few frames of the sequences.

Pictures lie in $VFRONT_DATA or ../shared/data beside the project. Exit status: 77 data, OpenCV or the bridge is missing, else 0.

vfront    Host port, standard tuning, raw images: `rectify` is 0, with lens models.
ORB       cv2.ORB_create(nfeatures=N), on pictures rectified by OpenCV where they are not. A partner lies within 2 px of the coarser level
          of the same row, with a disparity in range, at most one level away; of those the one with the closest descriptor, in at most 64
          bits and at most 90 % of the next best farther than 4 px of the coarser level away, and each the other's best. No sub-pixel.
ORB+SAD   The same, and then as ORB-SLAM has it: 11x11 windows less their middle pixel on the left point's level, 5 px to both sides, a
          parabola through the least sum of absolute differences; dropped when over 2.1 times the median.

pairs     Ground truth of the disparity at a key point: between the four pixels around it where they differ by less than 1 px, else the
          nearest. Points without it, or hidden in the right picture, are left out. per1000: matches a thousand key points. good: share of
          the rest within 1 px [%]. calm: the same where the truth varies by less than 2 px within 2 px of the point's level: elsewhere a
          corner may belong to either side of an edge in depth. rmse: of those within 1 px [px]; rmse*: after the variance of the truth's own
          steps (aloe 1 px, reindeer 1/2, cones 1/4) is taken off. median: of all errors [px]. gross: share off by over 3 px of its level [%].
          chi2: mean square of error over sigma, of errors up to 1 px of its level or three sigma, by level and in all; 1 when sigma is right.
kitti     Optical flow (Lucas and Kanade, there and back within 0.5 px) takes a key point to the next frame; its place in space, moved as
          the ground truth says, lies within 2 px of there: share [%], and median distance [px].
zed       The same points from frame to frame as 3-D pairs, rigid motion by RANSAC: length of the step, which is 100 mm [mm], mean, its
          standard deviation, and share of inliers within 4 sigma of 1/2 px [%].
euroc     Depth beside that from pictures rectified by OpenCV: its semi-global matcher, then a 21x21 window moved along the row by
          Gauss and Newton with gain and offset. near: share within 5 % [%]; median: of the relative difference [%]; epipolar: median
          distance from the epipolar line of the descriptors' partner, and of the place that vfront says [px].
chessboard Depth of key points on the board beside the plane of its corners: median and 90 % of the relative error [%], share within 5 %.
"""
import ctypes
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixture"))
from pictures import euroc_cameras, euroc_frames, grey, place, poses, projections, skip, stored  # noqa: E402

import cv2  # noqa: E402
import numpy as np  # noqa: E402

PAIRS = {"cones": 0.25, "reindeer": 0.5, "aloe": 1.0, "sceneflow_A0032": 0.0}  # steps of the ground truth
SETS = list(PAIRS) + ["kitti", "zed", "euroc", "chessboard"]
ROOM = 32768
LEVELS, FACTOR = 8, 1.2


# ---- rigs ---------------------------------------------------------------------------------------------------------------------


class Rig:
    """Two cameras. x1 = R x0 + t takes points from camera 0 to camera 1."""

    def __init__(self, size, K, D, R, t, disparity=128):
        self.size, self.K, self.D, self.disparity = size, [np.array(k, float).reshape(3, 3) for k in K], D, disparity
        self.R, self.t = np.array(R, float).reshape(3, 3), np.array(t, float).reshape(3)
        self.rectified = all(d is None for d in D)
        if self.rectified:
            self.focal, self.baseline = self.K[0][0, 0], -self.t[0]
            return
        R0, R1, P0, P1, _, _, _ = cv2.stereoRectify(self.K[0], D[0], self.K[1], D[1], size, self.R, self.t, alpha=0)
        self.turn, self.P = (R0, R1), (P0, P1)
        self.focal, self.baseline = P0[0, 0], np.linalg.norm(self.t)
        self.maps = [cv2.initUndistortRectifyMap(self.K[k], D[k], self.turn[k], self.P[k], size, cv2.CV_32FC1) for k in (0, 1)]

    def numbers(self):
        out = np.zeros((2, 27))
        for k in (0, 1):
            K, D = self.K[k], np.zeros(5) if self.D[k] is None else np.ravel(self.D[k])
            out[k, :6] = self.size[0], self.size[1], K[0, 0], K[1, 1], K[0, 2], K[1, 2]
            out[k, 7:7 + len(D)] = D
        if not self.rectified:
            out[1, 15:24] = self.R.ravel()
        out[1, 24:] = self.t
        return out

    def rectify(self, left, right):
        if self.rectified:
            return left, right
        return [cv2.remap(p, m[0], m[1], cv2.INTER_LINEAR) for p, m in zip((left, right), self.maps)]

    def rays(self, px, camera=0):
        """Bearings of pixels as x / z and y / z."""
        if self.D[camera] is None:
            return (px - self.K[camera][:2, 2]) / np.diag(self.K[camera])[:2]
        return cv2.undistortPoints(np.ascontiguousarray(px[:, None], float), self.K[camera], self.D[camera])[:, 0]

    def points(self, found):
        """Points in axes of camera 0 [m]."""
        return np.column_stack([self.rays(found["left"]), np.ones(len(found["left"]))]) * found["depth"][:, None]

    def from_rectified(self, px, depth):
        """Pixels and depths in the raw image, from those in the rectified one."""
        if self.rectified:
            return px, depth
        P = self.P[0]
        X = np.column_stack([(px - P[:2, 2]) / P[0, 0], np.ones(len(px))]) * depth[:, None] @ self.turn[0]
        return cv2.projectPoints(X, np.zeros(3), np.zeros(3), self.K[0], self.D[0])[0][:, 0] if len(X) else px, X[:, 2]

    def to_rectified(self, px):
        return cv2.undistortPoints(np.ascontiguousarray(px[:, None], float), self.K[0], self.D[0], R=self.turn[0], P=self.P[0])[:, 0]

    def off_line(self, left, right):
        """Distance of a position in camera 1 from the epipolar line of one in camera 0 [px without distortion]."""
        t = self.t
        E = np.array([[0, -t[2], t[1]], [t[2], 0, -t[0]], [-t[1], t[0], 0]]) @ self.R
        a, b = [np.column_stack([self.rays(p, k), np.ones(len(p))]) for k, p in ((0, left), (1, right))]
        line = a @ E.T
        return np.abs((line * b).sum(1)) / np.hypot(line[:, 0], line[:, 1]) * self.K[1][0, 0]


def pinholes(size, f, cx, cy, baseline, disparity=128):
    K = [[f, 0, cx], [0, f, cy], [0, 0, 1]]
    return Rig(size, (K, K), (None, None), np.eye(3), (-baseline, 0, 0), disparity)


# ---- methods: functions from a rig and two images to a dict of arrays -------------------------------------------------------------


class Vfront:
    """vfront. The library has a single front end, owned by the object that opened it last."""

    holder = None

    def __init__(self, path, settings):
        if not os.path.exists(path):
            skip("no %s" % path)
        self.c, self.settings, self.rig = ctypes.CDLL(os.path.abspath(path)), settings, None
        self.c.bridge_open.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self.c.bridge_step.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.c.bridge_keypoints.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
        self.c.bridge_depths.argtypes = self.c.bridge_matches.argtypes = [ctypes.c_int, ctypes.c_void_p]
        self.c.bridge_detail.restype = ctypes.c_char_p

    def check(self, status):
        if status:
            sys.exit("vfront: status %d: %s" % (status, self.c.bridge_detail().decode()))

    def start(self, rig, most):
        numbers = rig.numbers()
        settings = ["rectify=0", "stereo_disparity_px=%d" % rig.disparity, "select_points=%d" % most] + self.settings
        self.check(self.c.bridge_open(numbers.ctypes.data, " ".join(settings).encode()))
        self.rig, Vfront.holder = rig, self

    def list(self, function, width):
        out = np.zeros((ROOM, width), np.float32)
        return out[:function(ROOM, out.ctypes.data)].astype(float)

    def find(self, left, right):
        if Vfront.holder is not self:
            raise RuntimeError("the front end was opened by another object since")
        left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
        self.check(self.c.bridge_step(left.ctypes.data, right.ctypes.data))
        points = [self.list(lambda most, out: self.c.bridge_keypoints(k, most, out), 4) for k in (0, 1)]
        depths = self.list(self.c.bridge_depths, 7)
        i, j = depths[:, 0].astype(int), depths[:, 1].astype(int)
        partner = np.vstack([points[1], [np.nan] * 4])[np.minimum(j, len(points[1])), :2]  # nan: none
        return dict(points=len(points[0]), left=points[0][i, :2], right=depths[:, 3:5], partner=partner, depth=depths[:, 5],
                    sigma=depths[:, 6], level=points[0][i, 2].astype(int), step=points[0][i, 3])

    def method(self, most):
        def find(rig, left, right):
            if Vfront.holder is not self or self.rig is not rig:
                self.start(rig, most)
            return self.find(left, right)
        return find


def hamming(a, b):
    a, b = [np.unpackbits(x, axis=1).astype(np.float32) for x in (a, b)]
    return (a.sum(1)[:, None] + b.sum(1)[None] - 2 * a @ b.T).astype(int)


def along_rows(p, q, bits_p, bits_q, octave_p, octave_q, most):
    """Index pairs of matches along rows."""
    step = FACTOR ** np.maximum(octave_p[:, None], octave_q[None])
    disparity = p[:, None, 0] - q[None, :, 0]
    may = (np.abs(p[:, None, 1] - q[None, :, 1]) <= 2 * step) & (disparity >= 0) & (disparity <= most)
    may &= np.abs(octave_p[:, None] - octave_q[None]) <= 1
    apart = np.where(may, hamming(bits_p, bits_q), 999)
    best, back = apart.argmin(1), apart.argmin(0)
    i = np.arange(len(p))
    near = 4 * FACTOR ** np.maximum(octave_q[best][:, None], octave_q[None])
    elsewhere = (np.abs(q[best][:, None] - q[None]) > near[..., None]).any(2)
    second = np.minimum(np.where(elsewhere, apart, 999).min(1), 256)
    good = (apart[i, best] <= 64) & (back[best] == i) & (apart[i, best] <= 0.9 * second)
    return i[good], best[good]


def slam_places(levels, p, q, octave, baseline_px):
    """x in the right image by patch matching as in ORB-SLAM, nan without a match."""
    out, costs = np.full(len(p), np.nan), np.full(len(p), np.nan)
    for i in range(len(p)):
        left, right = [side[octave[i]].astype(int) for side in levels]
        scale = FACTOR ** octave[i]
        u, v, u1 = [int(round(x / scale)) for x in (p[i, 0], p[i, 1], q[i, 0])]
        if v < 5 or v + 6 > left.shape[0] or u < 5 or u + 6 > left.shape[1] or u1 < 10 or u1 + 11 > right.shape[1]:
            continue
        window = left[v - 5:v + 6, u - 5:u + 6] - left[v, u]
        cost = [np.abs(window - right[v - 5:v + 6, x - 5:x + 6] + right[v, x]).sum() for x in range(u1 - 5, u1 + 6)]
        k = int(np.argmin(cost))
        if k in (0, 10) or cost[k - 1] + cost[k + 1] == 2 * cost[k]:
            continue
        shift = (cost[k - 1] - cost[k + 1]) / 2.0 / (cost[k - 1] + cost[k + 1] - 2 * cost[k])
        x = scale * (u1 + k - 5 + shift)
        if 0 <= p[i, 0] - x < baseline_px:
            out[i], costs[i] = x, cost[k]
    out[costs > 2.1 * np.nanmedian(costs) if len(costs) and not np.isnan(costs).all() else []] = np.nan
    return out


class Orb:
    """ORB and the matcher; both rows of the table share the key points."""

    def __init__(self, most):
        self.orb, self.key = cv2.ORB_create(nfeatures=most), None

    def match(self, rig, left, right):
        if self.key is not None and self.key[0] is left and self.key[1] is right:
            return self.found
        sides = []
        for picture in rig.rectify(left, right):
            points, bits = self.orb.detectAndCompute(picture, None)
            levels = [picture] + [cv2.resize(picture, tuple(int(round(s / FACTOR ** k)) for s in picture.shape[::-1]),
                                             interpolation=cv2.INTER_LINEAR_EXACT) for k in range(1, LEVELS)]
            sides.append((np.array([k.pt for k in points]), bits, np.array([k.octave for k in points]), levels))
        (p, bits_p, octave_p, levels_p), (q, bits_q, octave_q, levels_q) = sides
        i, j = along_rows(p, q, bits_p, bits_q, octave_p, octave_q, rig.disparity)
        self.key, self.found = (left, right), (len(p), p[i], q[j], octave_p[i], (levels_p, levels_q))
        return self.found

    def method(self, fine):
        def find(rig, left, right):
            count, p, q, octave, levels = self.match(rig, left, right)
            x = slam_places(levels, p, q, octave, rig.disparity) if fine else q[:, 0]
            good = p[:, 0] - x > 0.25
            p, q, octave, x = p[good], q[good], octave[good], x[good]
            px, depth = rig.from_rectified(p, rig.focal * rig.baseline / (p[:, 0] - x))
            return dict(points=count, left=px, right=np.column_stack([x, p[:, 1]]), partner=q, depth=depth, level=octave,
                        step=FACTOR ** octave)
        return find


# ---- ground truth -------------------------------------------------------------------------------------------------------------


def hidden(disparity):
    """Mask of pixels of the left image that are occluded in the right one, or outside it."""
    out = np.zeros(disparity.shape, bool)
    x = np.arange(disparity.shape[1])
    for y, row in enumerate(disparity):
        there = np.round(x - row).astype(int)
        inside = (row > 0) & (there >= 0)
        nearest = np.zeros(len(x))
        np.maximum.at(nearest, there[inside], row[inside])
        out[y] = ~inside | (nearest[np.maximum(there, 0)] > row + 1.5)
    return out


def at(truth, px):
    """Ground truth at positions; 0: none."""
    x0, y0 = [np.clip(np.floor(px[:, k]).astype(int), 0, truth.shape[1 - k] - 2) for k in (0, 1)]
    fx, fy = px[:, 0] - x0, px[:, 1] - y0
    four = np.stack([truth[y0, x0], truth[y0, x0 + 1], truth[y0 + 1, x0], truth[y0 + 1, x0 + 1]])
    smooth = (four.min(0) > 0) & (four.max(0) - four.min(0) < 1)
    weights = np.stack([(1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy])
    return np.where(smooth, (four * weights).sum(0), four[weights.argmax(0), np.arange(len(px))])


def calm_at(truth, column, row, step):
    """True where the truth varies by less than 2 px within 2 px of the level around positions."""
    out = []
    for x, y, reach in zip(column, row, np.ceil(2 * step).astype(int)):
        around = truth[max(y - reach, 0):y + reach + 1, max(x - reach, 0):x + reach + 1]
        around = around[around > 0]
        out.append(around.max() - around.min() < 2)
    return np.array(out, bool)


class Scene:
    def __init__(self, name):
        folder = os.path.join("stereo_pairs", name)
        self.name, self.left, self.right = name, grey(folder, "left.png"), grey(folder, "right.png")
        self.truth = stored(folder, "disp_left.png").astype(float) / 256
        self.hidden = hidden(self.truth)
        if os.path.exists(os.path.join(place(folder), "occ_left.png")):
            self.hidden |= grey(folder, "occ_left.png") > 0
        height, width = self.left.shape
        self.rig = pinholes((width, height), 1000.0, (width - 1) / 2, (height - 1) / 2, 0.1, 256 if name == "aloe" else 128)


def median(values):
    return np.nanmedian(values) if len(values) else np.nan


def share(which):
    return 100.0 * np.mean(which) if len(which) else np.nan


PAIR_HEAD = "points matches per1000  left-out   good   calm    rmse   rmse*  median  gross    chi2"
PAIR_ROW = "%6.0f %7.0f %7.0f %5.0f %3.0f %6.2f %6.2f %7.3f %7.3f %7.3f %6.2f %7.2f"


def measure_pair(scene, find):
    f = find(scene.rig, scene.left, scene.right)
    truth = at(scene.truth, f["left"])
    column, row = np.round(f["left"]).astype(int).T
    lost = scene.hidden[np.clip(row, 0, None), np.clip(column, 0, None)]
    use = (truth > 0) & ~lost
    found = scene.rig.focal * scene.rig.baseline / f["depth"]
    error, level, step = (found - truth)[use], f["level"][use], f["step"][use]
    good = np.abs(error) <= 1
    rmse, noise = np.sqrt(np.mean(error[good] ** 2)), PAIRS[scene.name] ** 2 / 12
    r = [f["points"], len(truth), 1000.0 * len(truth) / max(f["points"], 1), (truth <= 0).sum(), (lost & (truth > 0)).sum(), share(good),
         share(good[calm_at(scene.truth, column[use], row[use], step)]),
         rmse, np.sqrt(max(rmse ** 2 - noise, 0)), median(np.abs(error)), share(np.abs(error) > 3 * step), np.nan]
    by_level = np.full((LEVELS, 3), np.nan)
    if "sigma" in f:
        sigma = (f["sigma"] * found / f["depth"])[use]
        near = np.abs(error) <= np.maximum(step, 3 * sigma)
        square = (error ** 2 - noise) / sigma ** 2
        r[-1] = np.mean(square[near])
        for k in np.unique(level):
            here = level == k
            by_level[k] = here.sum(), share(good[here]), np.mean(square[here & near])
    return r, by_level


def report_pairs(scenes, methods):
    print("%-16s %5s  %-8s %s" % ("pairs", "N", "method", PAIR_HEAD))
    total, levels = {}, {}
    for scene in scenes:
        for (most, name), find in methods.items():
            r, by_level = measure_pair(scene, find)
            total.setdefault((most, name), []).append(r)
            levels.setdefault((most, name), []).append(by_level)
            print("%-16s %5d  %-8s " % (scene.name, most, name) + PAIR_ROW % tuple(r))
    for (most, name), r in total.items():
        print("%-16s %5d  %-8s " % ("mean", most, name) + PAIR_ROW % tuple(np.mean(r, 0)))
    for (most, name), r in levels.items():
        if name == "vfront":
            print("by level, N %d: %s" % (most, "  ".join("matches good%% chi2".split()[k] + " " + "/".join(form % v for v in np.nanmean(
                np.array(r), 0)[:, k]) for k, form in enumerate(("%.0f", "%.1f", "%.2f")))))
    print()


# ---- sequences ----------------------------------------------------------------------------------------------------------------


def flow(before, after, px):
    """Positions of pixels in the next image, and whether they return to their start when tracked back."""
    form = dict(winSize=(15, 15), maxLevel=4, criteria=(3, 30, 0.01))
    p = px.astype(np.float32)[:, None]
    q, good, _ = cv2.calcOpticalFlowPyrLK(before, after, p, None, **form)
    back, good_back, _ = cv2.calcOpticalFlowPyrLK(after, before, q, None, **form)
    near = np.hypot(*(back - p)[:, 0].T) < 0.5
    return q[:, 0].astype(float), (good[:, 0] > 0) & (good_back[:, 0] > 0) & near


def sequence(folder, numbers):
    P1 = projections(folder)["P1"]
    frames = [(grey(folder, "image_0", "%06d.png" % k), grey(folder, "image_1", "%06d.png" % k)) for k in numbers]
    return pinholes(frames[0][0].shape[::-1], P1[0, 0], P1[0, 2], P1[1, 2], -P1[0, 3] / P1[0, 0]), frames, poses(folder)


def report_kitti(methods, quick):
    print("%-10s %5s  %-8s  points matches followed   within 2 px [%%]  median [px]" % ("kitti", "N", "method"))
    starts = range(0, 50, 25 if quick else 5)
    rig, frames, poses = sequence("kitti01_stereo", sorted({k for s in starts for k in (s, s + 1)}))
    pose = {k: np.vstack([poses[k], [0, 0, 0, 1]]) for s in starts for k in (s, s + 1)}
    frame = dict(zip(sorted(pose), frames))
    for (most, name), find in methods.items():
        rows = []
        for k in starts:
            f = find(rig, *frame[k])
            q, good = flow(frame[k][0], frame[k + 1][0], f["left"])
            move = np.linalg.inv(pose[k + 1]) @ pose[k]
            X = rig.points(f) @ move[:3, :3].T + move[:3, 3]
            good &= X[:, 2] > 0.1
            there = X[good, :2] / X[good, 2:] * rig.focal + rig.K[0][:2, 2]
            apart = np.hypot(*(there - q[good]).T)
            rows.append((f["points"], len(X), good.sum(), share(apart <= 2), median(apart)))
        print("%-10s %5d  %-8s  %6.0f %7.0f %8.0f %18.2f %12.3f" % (("", most, name) + tuple(np.mean(rows, 0))))
    print()


def rigid(p, q):
    """Least-squares R and t of q = R p + t."""
    a, b = p.mean(0), q.mean(0)
    U, _, Vt = np.linalg.svd((p - a).T @ (q - b))
    R = Vt.T @ np.diag([1, 1, np.sign(np.linalg.det(Vt.T @ U.T))]) @ U.T
    return R, b - R @ a


def step_length(rig, p, q):
    """Length of the motion with the most inliers, and their share."""
    draw, best = np.random.default_rng(1), np.zeros(len(p), bool)
    sigma = 0.5 * np.hypot(p[:, 2], q[:, 2]) * p[:, 2] / (rig.focal * rig.baseline)
    for _ in range(500):
        three = draw.choice(len(p), 3, replace=False)
        R, t = rigid(p[three], q[three])
        good = np.linalg.norm(p @ R.T + t - q, axis=1) < 4 * sigma
        best = good if good.sum() > best.sum() else best
    for _ in range(5 if best.sum() >= 6 else 0):
        R, t = rigid(p[best], q[best])
        best = np.linalg.norm(p @ R.T + t - q, axis=1) < 4 * sigma
    if best.sum() < 6:
        return np.nan, share(best)
    px = q[best, :2] / q[best, 2:] * rig.focal
    _, _, t, _ = cv2.solvePnPRansac(p[best], px, np.diag([rig.focal, rig.focal, 1]), None, iterationsCount=200, reprojectionError=1.0)
    return np.linalg.norm(t), share(best)


def report_zed(methods):
    print("%-10s %5s  %-8s  points matches    step [mm]  deviation  inliers [%%]" % ("zed", "N", "method"))
    rig, frames, _ = sequence("zed_100mm_stereo", range(8))
    for (most, name), find in methods.items():
        found, rows = [find(rig, *frame) for frame in frames], []
        for a, b, f, g in zip(frames, frames[1:], found, found[1:]):
            there, good = flow(a[0], b[0], f["left"])
            apart = np.hypot(*(there[:, None] - g["left"][None]).transpose(2, 0, 1))
            j = apart.argmin(1)
            good &= apart[np.arange(len(there)), j] < 1.0
            X, Y = rig.points(f)[good], rig.points(g)[j[good]]
            Y[:, :2] = (there[good] - rig.K[0][:2, 2]) / rig.focal * Y[:, 2:]
            rows.append(step_length(rig, X, Y))
        length = 1000 * np.array(rows)[:, 0]
        print("%-10s %5d  %-8s  %6.0f %7.0f %12.1f %10.1f %12.1f" % ("", most, name, np.mean([f["points"] for f in found]), np.mean(
            [len(f["depth"]) for f in found]), length.mean(), length.std(), np.mean(np.array(rows)[:, 1])))
    print()


def euroc(quick):
    K, D, _, move = euroc_cameras("euroc_v101_static_a")
    return Rig((752, 480), K, D, move[:3, :3], move[:3, 3]), euroc_frames("euroc_v101_static_a", slice(None, None, 15 if quick else 5))[1]


def row_flow(left, right, px, disparity):
    """Disparity of a patch by Gauss-Newton along the row, with gain and offset; nan if it fails."""
    out = np.full(len(px), np.nan)
    for i in range(len(px)):
        d = disparity[i]
        if not d > 0:
            continue
        a = cv2.getRectSubPix(left, (21, 21), tuple(px[i])).ravel()
        for _ in range(20):
            wide = cv2.getRectSubPix(right, (23, 21), (px[i, 0] - d, px[i, 1]))
            J = np.column_stack([(wide[:, 2:] - wide[:, :-2]).ravel() / 2, wide[:, 1:-1].ravel(), np.ones(441)])
            x = np.linalg.lstsq(J, a, rcond=None)[0]
            move = x[0] / x[1] if abs(x[1]) > 0.3 else np.nan
            if not abs(move) < 2:
                break
            d -= move
            if abs(move) < 0.005:
                residual = a - J @ x
                if abs(d - disparity[i]) < 1.5 and residual.var() < 0.2 * a.var():
                    out[i] = d
                break
    return out


def reference_depth(rig, left, right, px):
    """Depth at pixels of camera 0 from rectified images; nan where unknown."""
    a, b = rig.rectify(left, right)
    sgbm = cv2.StereoSGBM_create(0, 128, 5, 200, 800, 1, 0, 10, 100, 2, cv2.STEREO_SGBM_MODE_HH)
    coarse = sgbm.compute(a, b).astype(float) / 16
    there = rig.to_rectified(px)
    column, row = np.round(there).astype(int).T
    inside = (column >= 12) & (row >= 12) & (column < a.shape[1] - 12) & (row < a.shape[0] - 12)
    start = np.where(inside, coarse[np.clip(row, 0, a.shape[0] - 1), np.clip(column, 0, a.shape[1] - 1)], -1)
    d = row_flow(a.astype(np.float32), b.astype(np.float32), there, start)
    return rig.from_rectified(there, rig.focal * rig.baseline / d)[1]


def report_euroc(methods, quick):
    print("%-10s %5s  %-8s  points matches compared   near [%%]  median [%%]  epipolar [px]" % ("euroc", "N", "method"))
    rig, frames = euroc(quick)
    for (most, name), find in methods.items():
        rows = []
        for left, right in frames:
            f = find(rig, left, right)
            truth = reference_depth(rig, left, right, f["left"])
            off = np.abs(f["depth"] / truth - 1)[~np.isnan(truth)]
            lines = [median(rig.off_line(f["left"], f[k])) for k in ("partner", "right")] if "sigma" in f else [np.nan, np.nan]
            rows.append([f["points"], len(truth), len(off), share(off < 0.05), 100 * median(off)] + lines)
        print("%-10s %5d  %-8s  %6.0f %7.0f %8.0f %10.2f %11.3f %8.3f %.4f" % (("", most, name) + tuple(np.mean(rows, 0))))
    print()


def chessboard():
    folder = "stereo_chessboard"
    lines = dict(line.split(":") for line in open(place(folder, "calib.txt")) if ":" in line)
    values = {key.split(" ")[0]: np.array(v.split(), float) for key, v in lines.items()}
    rig = Rig((640, 480), [[[k[0], 0, k[2]], [0, k[4], k[5]], [0, 0, 1]] for k in (values["K1"], values["K2"])],
              (values["D1"], values["D2"]), values["R"], values["T"], 192)
    boards = [(grey(folder, "left%02d.png" % k), grey(folder, "right%02d.png" % k), np.loadtxt(
        place(folder, "corners%02d.txt" % k))) for k in range(1, 15) if k != 10]
    return rig, boards


def board_depth(rig, corners, px):
    """Depth of the board's plane at pixels of camera 0; nan off the board."""
    rays = np.column_stack([rig.rays(px), np.ones(len(px))])
    _, turn, t = cv2.solvePnP(corners[:, :3].copy(), corners[:, 3:5].copy(), rig.K[0], rig.D[0])
    normal = cv2.Rodrigues(turn)[0][:, 2]
    outline = cv2.convexHull(corners[:, 3:5].astype(np.float32))
    on = [cv2.pointPolygonTest(outline, (float(x), float(y)), False) >= 0 for x, y in px]
    return np.where(on, normal @ t[:, 0] / (rays @ normal), np.nan)


def report_chessboard(methods, quick):
    print("%-10s %5s  %-8s  points matches on board  within 5 [%%]  median [%%]  90 %% [%%]" % ("chessboard", "N", "method"))
    rig, boards = chessboard()
    for (most, name), find in methods.items():
        errors, counts = [], []
        for left, right, corners in boards[:3] if quick else boards:
            f = find(rig, left, right)
            off = np.abs(f["depth"] / board_depth(rig, corners, f["left"]) - 1)
            errors.append(off[~np.isnan(off)])
            counts.append((f["points"], len(f["depth"]), len(errors[-1])))
        every = np.concatenate(errors)
        print("%-10s %5d  %-8s  %6.0f %7.0f %8.0f %13.2f %11.3f %9.3f" % (("", most, name) + tuple(np.mean(counts, 0)) + (
            share(every < 0.05), 100 * median(every), 100 * np.percentile(every, 90))))
    print()


# ---- table --------------------------------------------------------------------------------------------------------------------


def arguments(given):
    """Path of the bridge and lists by option; None if invalid."""
    paths, lists, at_ = [], {"--set": [], "--only": [], "--points": []}, None
    for word in given:
        if word in lists:
            at_ = word
        elif word in ("--alone", "--quick"):
            lists[word], at_ = True, None
        elif at_ and (at_ != "--set" or "=" in word):
            lists[at_].append(word)
        else:
            paths.append(word)
    return (paths[0], lists) if len(paths) == 1 and not paths[0].startswith("-") else None


def main():
    parsed = arguments(sys.argv[1:])
    if not parsed:
        print(__doc__)
        return 2
    path, lists = parsed
    began, quick = time.time(), "--quick" in lists
    cv2.setNumThreads(1)
    methods = {}
    for most in [int(n) for n in lists["--points"]] or [1000, 2000]:
        methods[most, "vfront"] = Vfront(path, lists["--set"]).method(most)
        if "--alone" not in lists:
            orb = Orb(most)
            methods[most, "ORB"], methods[most, "ORB+SAD"] = orb.method(0), orb.method(1)
    only = [n for name in lists["--only"] for n in (PAIRS if name == "pairs" else [name])] or SETS
    scenes = [Scene(name) for name in PAIRS if name in only]
    if scenes:
        report_pairs(scenes, methods)
    if "kitti" in only:
        report_kitti(methods, quick)
    if "zed" in only:
        report_zed(methods)
    if "euroc" in only:
        report_euroc(methods, quick)
    if "chessboard" in only:
        report_chessboard(methods, quick)
    print("(%.0f s)" % (time.time() - began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
