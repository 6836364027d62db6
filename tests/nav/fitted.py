#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Calibration of KITTI's rectified pairs fitted to ground-truth poses: the share of a trajectory's error that the published calibration causes.

    tests/nav/fitted.py [kitti05_vio] [kitti01_stereo]

Corners of an image are tracked into the pair's other image and the next one by OpenCV's Lucas-Kanade, forward and backward within
0.3 px. Three bearings of a point leave three residuals besides its range: across and along the rows of camera 1, and in the next image
[px]. Robustly fitted: focal length, centre and distortion (k1 k2 p1 p2) of camera 0; focal length and distortion of camera 1; its
rotation. Even pairs are fitted and odd pairs reported; then all are fitted for nav.py --fitted. The fit uses the truth, so no front
end can have such a calibration.
Exit: 0; 77 and a message without the sequences or SciPy; 2 for an unknown set.

median     Median residual, published and fitted.
offset     Correction of disparities that makes the true motion explain the next image, by third of the image and by disparity [px].
across     Mean residual across the rows, by third of the image [px].
"""
import os
import sys

import cv2
import numpy as np

for room in ("geometry", "fixture"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", room))
from pictures import need_data
from stereo import Rig, sequence

SETS = {"kitti05_vio": 60, "kitti01_stereo": 51}
CORNERS, APART, CLOSE, LEAST_PX = 500, 15, 0.3, 3.0
# Standard deviations of the fitted values: camera 0 f cx cy [px] k1 k2 p1 p2; camera 1 f k1 k2 p1 p2; rotation of camera 1 [rad].
SIGMA = np.array([7, 7, 7, 0.03, 0.03, 0.003, 0.003, 7, 0.03, 0.03, 0.003, 0.003, 0.005, 0.005, 0.005])


def followed(a, b, p):
    """Positions in b of points p of a; 1 where the backward track ends within CLOSE."""
    how = {"winSize": (21, 21), "maxLevel": 4, "criteria": (3, 50, 0.001)}
    q, there, _ = cv2.calcOpticalFlowPyrLK(a, b, p, None, **how)
    back, again, _ = cv2.calcOpticalFlowPyrLK(b, a, q, None, **how)
    return q[:, 0].astype(float), (there * again).ravel().astype(bool) & (np.linalg.norm(back - p, axis=2).ravel() < CLOSE)


def points(name):
    """Per point of a set: rig; index of the pair, positions in both images and in the next one of camera 0; motion until then."""
    rig, frames, poses = sequence(name, range(SETS[name]))
    pose, rows = [np.vstack([p, [0, 0, 0, 1]]) for p in poses], []
    for k, ((left, right), (after, _)) in enumerate(zip(frames, frames[1:])):
        p = cv2.goodFeaturesToTrack(left, CORNERS, 0.01, APART)
        (r, paired), (n, kept), p0 = followed(left, right, p), followed(left, after, p), p[:, 0].astype(float)
        good = paired & kept & (np.abs(r[:, 1] - p0[:, 1]) < 1.5) & (p0[:, 0] - r[:, 0] > LEAST_PX)
        move = np.linalg.inv(pose[k + 1]) @ pose[k]
        rows += [(k, a, b, c, move) for a, b, c in zip(p0[good], r[good], n[good])]
    return (rig,) + tuple(np.array(column) for column in zip(*rows))


def rays(px, f, centre, D):
    """x / z and y / z of pixels, distortion removed."""
    y = (px - centre) / f
    u = y.copy()
    for _ in range(3):
        r2 = (u * u).sum(1)
        tangential = np.column_stack([2 * D[2] * u.prod(1) + D[3] * (r2 + 2 * u[:, 0]**2), D[2] * (r2 + 2 * u[:, 1]**2) + 2 * D[3] * u.prod(1)])
        u = (y - tangential) / (1 + D[0] * r2 + D[1] * r2 * r2)[:, None]
    return u


def residuals(rig, p, r, n, move, v):
    """Residuals in camera 1 and in the next image of camera 0, [n][4] px, and the best-fitting ranges."""
    K, b = rig.K[0], -rig.t[0]
    at, later = [rays(x, K[0, 0] + v[0], K[:2, 2] + v[1:3], v[3:7]) for x in (p, n)]
    other, R = rays(r, K[0, 0] + v[7], K[:2, 2], v[8:12]), cv2.Rodrigues(v[12:15])[0]
    h, inverse = np.column_stack([at, np.ones(len(at))]), np.full(len(at), 1 / 15)
    ways = [(h @ R.T, np.broadcast_to([-b, 0, 0], h.shape), other), (np.einsum("nij,nj->ni", move[:, :3, :3], h), move[:, :3, 3], later)]
    for last in (False,) * 5 + (True,):
        X = [a + inverse[:, None] * t for a, t, _ in ways]
        off = np.hstack([x[:, :2] / x[:, 2:] - seen for x, (_, _, seen) in zip(X, ways)])
        if not last:
            by = np.hstack([(t[:, :2] * x[:, 2:] - x[:, :2] * t[:, 2:]) / x[:, 2:]**2 for x, (_, t, _) in zip(X, ways)])
            inverse = np.clip(inverse - (by * off).sum(1) / (by * by).sum(1), 1e-4, 1)
    return off * K[0, 0]


def fit(rig, p, r, n, move):
    import scipy.optimize
    found = scipy.optimize.least_squares(lambda x: np.r_[residuals(rig, p, r, n, move, x * SIGMA).ravel() / 0.3, 20 * x], np.zeros(15), loss="soft_l1", max_nfev=30)
    return found.x * SIGMA


def offset(rig, p, r, n, move, v):
    """Correction of disparities by the true motion [px]."""
    import scipy.optimize

    def off(x):
        K, b = rig.K[0], -rig.t[0]
        at, later = [rays(q, K[0, 0] + v[0], K[:2, 2] + v[1:3], v[3:7]) for q in (p, n)]
        h = np.column_stack([at, np.ones(len(at))])
        a, u = h @ cv2.Rodrigues(v[12:15])[0].T, rays(r, K[0, 0] + v[7], K[:2, 2], v[8:12])[:, 0] - x[0] / K[0, 0]
        X = np.einsum("nij,nj->ni", move[:, :3, :3], h) + ((a[:, 0] - u * a[:, 2]) / b)[:, None] * move[:, :3, 3]
        return (K[0, 0] * (X[:, :2] / X[:, 2:] - later)).ravel()
    return scipy.optimize.least_squares(off, [0.01], loss="cauchy", f_scale=0.3).x[0]


def fitted(name):
    """Rig of a set with a calibration fitted to all of it; transform of points from camera 0 to 1, [4][4]."""
    rig, _, p, r, n, move = points(name)
    v, move_1_0 = fit(rig, p, r, n, move), np.eye(4)
    K = [rig.K[0] + np.array([[v[0], 0, v[1]], [0, v[0], v[2]], [0, 0, 0]]), rig.K[0] + np.diag([v[7], v[7], 0])]
    move_1_0[:3, :3], move_1_0[:3, 3] = cv2.Rodrigues(v[12:15])[0], rig.t
    return Rig(rig.size, K, [v[3:7], v[8:12]], move_1_0[:3, :3], rig.t), move_1_0


def main():
    words = sys.argv[1:]
    if [w for w in words if w not in SETS]:
        print(__doc__)
        return 2
    try:
        import scipy.optimize
    except ImportError as why:
        print("fitted: skipped, scipy cannot be imported (%s)" % why)
        return 77
    need_data()
    for name in words or SETS:
        rig, pair, *rest = points(name)
        half = pair % 2 == 0
        v, none, told = fit(rig, *(x[half] for x in rest)), np.zeros(15), [x[~half] for x in rest]
        p, r = told[:2]
        print("%s, %d points of %d pairs, told by the other pairs" % (name, len(p), len(set(pair[~half]))))
        for what, c in (("published", none), ("fitted", v)):
            e = residuals(rig, *told, c)
            size, thirds = np.median(np.abs(e), 0), np.clip(3 * p[:, 0] // rig.size[0], 0, 2)
            masks = [thirds == k for k in range(3)] + [(lo < p[:, 0] - r[:, 0]) & (p[:, 0] - r[:, 0] <= hi) for lo, hi in ((3, 10), (10, 20), (20, 60))]
            offs = [offset(rig, *(x[m] for x in told), c) for m in masks]
            print("  %-9s  median along %.2f across %.2f, next picture %.2f %.2f;  offset left %5.2f middle %5.2f right %5.2f, to 10 px %5.2f to 20 %5.2f to 60 %5.2f;"
                  "  across left %5.2f middle %5.2f right %5.2f" % (what, *size, *offs, *[e[m, 1].mean() for m in masks[:3]]))
        print("  camera 0: f %+.1f c %+.1f %+.1f px, k1 %+.4f k2 %+.4f p1 %+.4f p2 %+.4f; camera 1: f %+.1f px, k1 %+.4f k2 %+.4f p1 %+.4f p2 %+.4f, turned by %+.2f %+.2f %+.2f mrad"
              % tuple(v * np.r_[np.ones(12), [1e3] * 3]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
