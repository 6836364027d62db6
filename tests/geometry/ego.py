#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Camera motions compared with OpenCV's, on simulated problems and on sequences with ground truth.

    tests/geometry/ego.py build/bridge_ego.so [--set name=value ...] [--only table ...] [--alone] [--quick]

--set     Tuning values of vfront that are not standard.
--only    Only these tables: drawn relative metric honest time.
--alone   vfront only.
--quick   Few problems and frames.

Sequences are in $VFRONT_DATA or ../shared/data beside the project; a table without data reports it. Exit status: 77 OpenCV or the
bridge is missing, else 0. Everything runs on one thread; nothing is tuned for a problem or a sequence.

drawn     1,000 pairs a problem, 20 problems a row: pinhole of 752x480 px, f = 800 px; noise of -0.5..0.5 px, uniform, along both axes of
          both pictures; outliers are seen anywhere in the second. Depths are 5 to 15 m, the camera moves by 1 m and turns by 3 degrees
          about any axis. opengv: as the benchmark of L. Kneip's OpenGV, with which paper 003 measured, draws: points 4 to 8 m away in all
          directions, up to 2 m along each axis, up to half a radian about each; OpenCV rejects points behind a camera.
          vfront: the stage alone, standard tuning; 7 and 8 pairs with 1,024 hypotheses. OpenCV: findEssentialMat, then recoverPose.
          told: least squares over the inliers, started at the truth: about the best possible result.
          rotation, direction: median error of R and of t's direction [degrees]. right: within 1 and 5 degrees.
relative  The same from frame to frame of sequences. vfront: whole front end. The same pairs: OpenCV on vfront's correspondences. KLT:
          goodFeaturesToTrack(1000) and calcOpticalFlowPyrLK; ORB: 2000 points, brute-force matcher with cross-check: then OpenCV.
          good: frames with a direction; turn: frames reported as a rotation alone. A frame without an answer counts as infinitely wrong.
          Frames in which the camera only turns have no direction, and count for the rotation alone.
metric    kitti01: error of the final position over the length of the path [%]; error of a step, median and 90 % [mm]; of its
          rotation; excess length of the steps. kitti01+1: with the principal point of camera 1 moved by 1 px, the bias of the pictures: points,
          motion and an offset of all disparities estimated together, without the truth, give 0.97 px (I. Kreso, S. Segvic, 2015, on the
          bias of KITTI's rectified pictures). zed: length of a step, which is 100 mm, median [mm]. euroc: the camera stands still: length of a step and its
          rotation, median and most. flight: examples/synthetic/synthetic.h. rover: length of a step over that of the truth, whose scale is
          uncertain by 8 %. PnP: solvePnPRansac on the same points and positions, 256 iterations, 1.5 px.
honest    Normalised squared error: e' S^-1 e / dimensions, e the error and S vfront's covariance; 1 when S is right. Mean
          over all motions, and share of these beyond the 95 % bound of the chi-squared distribution [%], of which there should be 5. The
          calibration is exact, and rig_centre_mpx, rig_focal_ppm, rig_disparity_mpx are 0; honesty.py uses the standard tuning.
time      One call on this processor, one thread [us], median: vfront, standard tuning but for points and hypotheses; OpenCV.
"""
import ctypes
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixture"))
from command import by_option  # noqa: E402
from pictures import DATA, euroc_frames, grey, place, projections, read, skip  # noqa: E402
from stereo import euroc, pinholes, sequence  # noqa: E402

import cv2  # noqa: E402
import numpy as np  # noqa: E402

TABLES = ["drawn", "relative", "metric", "honest", "time"]
MOTION, GIVEN, PAIR, CAPACITY = 42, 11, 18, 8192
GOOD, ROTATION = 1, 2
FOCAL, SIZE, PAIRS = 800.0, (752, 480), 1000
K = np.array([[FOCAL, 0, SIZE[0] / 2], [0, FOCAL, SIZE[1] / 2], [0, 0, 1]])
STANDARD = "select_points=2048"  # as with the standard config: the bridge has room for more


# ---- geometry -----------------------------------------------------------------------------------------------------------------


def turn(w):
    return cv2.Rodrigues(np.asarray(w, float))[0]


def angle(R):
    """Angle of a rotation [degrees]."""
    return np.degrees(np.linalg.norm(cv2.Rodrigues(R)[0]))


def between(a, b):
    """Angle between two directions [degrees]."""
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), np.dot(a, b)))


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def homogeneous(p):
    return np.column_stack([p, np.ones(len(p))])


def step_of(poses, i):
    """Motion from frame i - 1 to i: p_now = R p_before + t. poses: camera to world, [n][3][4]."""
    R = poses[i][:, :3].T @ poses[i - 1][:, :3]
    return R, poses[i][:, :3].T @ (poses[i - 1][:, 3] - poses[i][:, 3])


class Motion:
    """Motion in the layout of the bridge."""

    def __init__(self, numbers):
        self.state, self.flags, self.pairs, self.inliers, self.others, self.hypotheses, self.needed = numbers[:7].astype(int)
        self.rms, self.parallax = numbers[7:9]
        self.R, self.t = numbers[9:18].reshape(3, 3), numbers[18:21]
        self.S = np.zeros((6, 6))
        self.S[np.triu_indices(6)] = numbers[21:]
        self.S += np.triu(self.S, 1).T

    def nees(self, R, t, relative):
        """Normalised squared error per dimension."""
        w = cv2.Rodrigues(R @ self.R.T)[0][:, 0]
        if not relative:
            e, S = np.concatenate([t - self.t, w]), self.S
        else:
            across = np.linalg.svd(self.t[None])[2][1:]
            B = np.zeros((5, 6))
            B[:2, :3], B[2:, 3:] = across, np.eye(3)
            e, S = np.concatenate([across @ (unit(t) - self.t), w]), B @ self.S @ B.T
        return e @ np.linalg.solve(S, e) / len(e)


def off(found, R, t):
    """Errors of rotation and direction of a motion [degrees]; infinite without a motion."""
    if found is None:
        return np.inf, np.inf
    return angle(R @ found[0].T), between(found[1], t) if np.linalg.norm(found[1]) else np.inf


# ---- the bridge ---------------------------------------------------------------------------------------------------------------


class Bridge:
    def __init__(self, path, settings):
        if not os.path.exists(path):
            skip("no %s (make ego builds it)" % path)
        self.c, self.settings = ctypes.CDLL(os.path.abspath(path)), STANDARD + " " + settings
        p, i, d, s = ctypes.c_void_p, ctypes.c_int, ctypes.c_double, ctypes.c_char_p
        for name, result, arguments in (
                ("bridge_detail", s, []), ("bridge_solve", i, [s, d, i, i, p, p, p]), ("bridge_solve_us", d, [i]),
                ("bridge_minimal", i, [i, i, p, p]), ("bridge_minimal_us", d, [i, i, i, p]), ("bridge_open", i, [i, p, s]),
                ("bridge_step", i, [p, p, p]), ("bridge_flight", i, [s]), ("bridge_fly", i, [i, i]), ("bridge_pose", None, [i, p, p]),
                ("bridge_motion", None, [i, p]), ("bridge_pairs", i, [i, p]), ("bridge_stage_us", d, [s]), ("bridge_close", None, [])):
            getattr(self.c, name).restype, getattr(self.c, name).argtypes = result, arguments

    def check(self, status):
        if status < 0:
            sys.exit("vfront: status %d: %s" % (status, self.c.bridge_detail().decode()))
        return status

    def solve(self, given, focal, settings="", frame=1):
        """Motions, relative and metric, from rows of correspondences, and their inlier masks."""
        given, motions = np.ascontiguousarray(given, np.float32), np.zeros((2, MOTION), np.float32)
        agrees = np.zeros(len(given), np.uint8)
        self.check(self.c.bridge_solve((self.settings + " " + settings).encode(), focal, frame, len(given), given.ctypes.data,
                                       motions.ctypes.data, agrees.ctypes.data))
        return [Motion(m.astype(float)) for m in motions] + [agrees]

    def open(self, rig, cameras, settings=""):
        numbers = np.ascontiguousarray(rig.numbers()[:cameras])
        self.check(self.c.bridge_open(cameras, numbers.ctypes.data, (self.settings + " " + settings).encode()))

    def step(self, left, right=None):
        left, right = np.ascontiguousarray(left), None if right is None else np.ascontiguousarray(right)
        self.check(self.c.bridge_step(left.ctypes.data, None if right is None else right.ctypes.data, None))
        return self.motions()

    def fly(self, settings, frames):
        """For each frame of the rendered flight: number, true R and t, motions."""
        self.check(self.c.bridge_flight((self.settings + " " + settings).encode()))
        R, t, poses = np.zeros((3, 3)), np.zeros(3), []
        for i in range(frames):
            self.check(self.c.bridge_fly(i, 0))
            self.c.bridge_pose(i, R.ctypes.data, t.ctypes.data)
            poses.append(np.column_stack([R, t]))
            if i:
                yield (i,) + step_of(poses, i) + (self.motions(),)

    def motions(self):
        out = np.zeros((2, MOTION), np.float32)
        for which in (0, 1):
            self.c.bridge_motion(which, out[which].ctypes.data)
        return [Motion(m.astype(float)) for m in out]

    def pairs(self):
        out = np.zeros((CAPACITY, PAIR), np.float32)
        return out[:self.c.bridge_pairs(CAPACITY, out.ctypes.data)].astype(float)


# ---- OpenCV: functions from previous and current positions to R and t ------------------------------------------------------------


def essential(method, p, q, camera):
    if len(p) < 6:
        return None
    E, mask = cv2.findEssentialMat(p, q, camera, method=method, prob=0.99, threshold=1.0)
    if E is None or E.shape[0] < 3:
        return None
    _, R, t, _ = cv2.recoverPose(E[:3], p, q, camera, mask=mask)
    return R, t[:, 0]


OPENCV = {"OpenCV USAC": lambda p, q, camera: essential(cv2.USAC_DEFAULT, p, q, camera),
          "OpenCV RANSAC": lambda p, q, camera: essential(cv2.RANSAC, p, q, camera)}


def perspective(X, q, camera):
    """solvePnPRansac on previous points [m] and current positions [px]."""
    if len(X) < 6:
        return None
    good, w, t, who = cv2.solvePnPRansac(X, q, camera, None, iterationsCount=256, reprojectionError=1.5, confidence=0.99)
    return (turn(w), t[:, 0]) if good else None


def klt(before, now):
    p = cv2.goodFeaturesToTrack(before, 1000, 0.01, 8)
    q, status, _ = cv2.calcOpticalFlowPyrLK(before, now, p, None, winSize=(21, 21), maxLevel=4)
    kept = status[:, 0] > 0
    return p[kept, 0].astype(float), q[kept, 0].astype(float)


def orb(before, now):
    finder = cv2.ORB_create(nfeatures=2000)
    (p, a), (q, b) = finder.detectAndCompute(before, None), finder.detectAndCompute(now, None)
    matches = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(a, b) if len(p) and len(q) else []
    return tuple(np.array([side[k].pt for k in which], float).reshape(-1, 2) for side, which in (
        (p, [m.queryIdx for m in matches]), (q, [m.trainIdx for m in matches])))


# ---- simulated problems -------------------------------------------------------------------------------------------------------


class Problem:
    """R, t, the rows of pairs, and their inlier mask; positions p and q for a pinhole camera."""

    def given(self):
        rows = np.zeros((len(self.before), GIVEN))
        rows[:, :3], rows[:, 3:6], rows[:, 6] = self.before, self.now, 1
        return rows


def pinhole_problem(seed, kind, outliers):
    r, out = np.random.default_rng(seed), Problem()
    axis = unit(r.normal(size=3))
    out.R, out.t = turn(np.radians(3) * axis), unit(np.array([1.0, 0, 0] if kind == "sideways" else [0, 0, -1.0]) + r.uniform(-0.1, 0.1, 3))
    p = r.uniform(0, 1, (20 * PAIRS, 2)) * SIZE
    X = homogeneous((p - K[:2, 2]) / FOCAL) * r.uniform(5, 15, (len(p), 1))
    Y = (X @ out.R.T + out.t) @ K.T
    q = Y[:, :2] / Y[:, 2:]
    seen = np.flatnonzero((Y[:, 2] > 0) & (q >= 0).all(1) & (q < SIZE).all(1))[:PAIRS]
    p, q = [side[seen] + r.uniform(-0.5, 0.5, (len(seen), 2)) for side in (p, q)]
    out.inlier = r.permutation(PAIRS) >= outliers * PAIRS
    q[~out.inlier] = r.uniform(0, 1, (PAIRS - out.inlier.sum(), 2)) * SIZE
    out.p, out.q = p, q
    out.before, out.now = [unit(homogeneous((side - K[:2, 2]) / FOCAL)) for side in (p, q)]
    return out


def opengv_problem(seed, outliers):
    r, out = np.random.default_rng(seed), Problem()
    place, turns = r.uniform(-2, 2, 3), r.uniform(-0.5, 0.5, 3)
    out.R = (turn([turns[0], 0, 0]) @ turn([0, turns[1], 0]) @ turn([0, 0, turns[2]])).T
    out.t = -out.R @ place

    def points():
        v = r.uniform(-1, 1, (PAIRS, 3))
        return 4 * v + 4 * unit(v)

    def noisy(v):
        v = unit(v)
        a = unit(np.cross(v, r.normal(size=v.shape)))
        return unit(v + (a * r.uniform(-0.5, 0.5, (PAIRS, 1)) + np.cross(v, a) * r.uniform(-0.5, 0.5, (PAIRS, 1))) / FOCAL)

    X, other = points(), points()
    out.inlier = r.permutation(PAIRS) >= outliers * PAIRS
    out.before, out.now = noisy(X), noisy(X @ out.R.T + out.t)
    out.now[~out.inlier] = unit(other @ out.R.T + out.t)[~out.inlier]
    out.p = out.q = None
    return out


def draw(kind, seed, outliers):
    return opengv_problem(seed, outliers) if kind == "opengv" else pinhole_problem(seed, kind, outliers)


def metric_problem(seed, outliers, noise_px):
    """500 points of a stereo camera (f = 450 px, 0.12 m, standard deviation of the disparity 0.2 px), in both frames."""
    r, out, count, focal = np.random.default_rng(seed), Problem(), 500, 450.0
    out.R, out.t = turn(np.radians(2) * unit(r.normal(size=3))), r.normal(size=3) * 0.1
    X = homogeneous(r.uniform(-0.7, 0.7, (count, 2))) * r.uniform(2, 12, (count, 1))
    Y = X @ out.R.T + out.t
    out.inlier = r.permutation(count) >= outliers * count
    sides = []
    for points in (X, Y):
        place = points[:, :2] / points[:, 2:] + noise_px * r.normal(size=(count, 2)) / focal
        bearing = unit(homogeneous(place))
        disparity = focal * 0.12 / points[:, 2] + 0.2 * r.normal(size=count)
        depth = focal * 0.12 / disparity
        sides.append((bearing, depth / bearing[:, 2], depth * (0.2 / disparity) / bearing[:, 2]))
    (out.before, was, was_sigma), (out.now, far, far_sigma) = sides
    out.now[~out.inlier] = unit(homogeneous(r.uniform(-0.7, 0.7, (count, 2))))[~out.inlier]
    out.rows = np.column_stack([out.before, out.now, np.ones(count), was, was_sigma, far, far_sigma])
    return out


def residuals(R, t, a, b):
    """Angles to the epipolar plane, to first order."""
    a = a @ R.T
    ta, bt = np.cross(t, a), np.cross(b, t)
    e = (b * ta).sum(1)
    return e / np.sqrt((ta ** 2).sum(1) + (bt ** 2).sum(1) - 2 * e ** 2)


def told(problem):
    """Least squares over the inliers, started at the truth."""
    a, b = problem.before[problem.inlier], problem.now[problem.inlier]
    R, t = problem.R, unit(problem.t)
    for _ in range(5):
        across = np.linalg.svd(t[None])[2][1:]

        def moved(x):
            return turn(x[2:]) @ R, unit(t + x[:2] @ across)
        r = residuals(R, t, a, b)
        J = np.column_stack([(residuals(*moved(1e-6 * k), a, b) - r) / 1e-6 for k in np.eye(5)])
        R, t = moved(np.linalg.lstsq(J, -r, rcond=None)[0])
    return R, t


# ---- tables -------------------------------------------------------------------------------------------------------------------


def median(values):
    """Median; infinite values are allowed."""
    values = sorted(values)
    return values[len(values) // 2] if len(values) % 2 else (values[len(values) // 2 - 1] + values[len(values) // 2]) / 2 if values else np.nan


def good_motion(motion):
    return (motion.R, motion.t) if motion.state == GOOD else None


def stage(bridge, points, hypotheses):
    return lambda problem: good_motion(bridge.solve(problem.given(), FOCAL, "ego_points=%d ego_hypotheses=%d" % (points, hypotheses))[0])


def report_drawn(bridge, quick, alone):
    print("drawn     outliers [%]  method                   rotation  direction  right")
    standard = lambda problem: good_motion(bridge.solve(problem.given(), FOCAL)[0])
    for kind in ("sideways", "forward", "opengv"):
        for share in (50, 70) if quick else (5, 10, 30, 50, 70):
            problems = [draw(kind, seed, share / 100) for seed in range(5 if quick else 20)]
            methods = {"vfront": standard, "vfront 5, 1024": stage(bridge, 5, 1024), "vfront 7, 1024": stage(bridge, 7, 1024),
                       "vfront 8, 1024": stage(bridge, 8, 1024)}
            if share == 70:
                methods.update({"vfront %d, 4096" % n: stage(bridge, n, 4096) for n in (5, 7, 8)})
            if not alone:
                if kind != "opengv":
                    methods.update({name: lambda x, f=f: f(x.p, x.q, K) for name, f in OPENCV.items()})
                methods["told"] = told
            for name, find in methods.items():
                errors = [off(find(x), x.R, x.t) for x in problems]
                right = sum(a <= 1 and b <= 5 for a, b in errors)
                print("%-9s %12d  %-22s %10.4f %10.4f  %2d of %d" % (
                    kind, share, name, median([e[0] for e in errors]), median([e[1] for e in errors]), right, len(errors)))
    print()


def mono(name):
    pictures, poses, camera = read(name)
    height, width = pictures[0].shape
    return pinholes((width, height), camera[0, 0], camera[0, 2], camera[1, 2], 0.1), pictures, poses


def figures(errors):
    """Median and 90 % quantile of the errors of rotation and direction; a pure rotation has no direction."""
    rotation, direction = [e[0] for e in errors], [e[1] for e in errors if not np.isnan(e[1])]
    return median(rotation), sorted(rotation)[int(0.9 * len(rotation))], median(direction), sorted(direction)[int(0.9 * len(direction))]


def off_frame(found, R, t):
    """Errors as in off(); a pure rotation has no direction, and needs none if there is none."""
    if found is None:
        return np.inf, np.inf
    moves = np.linalg.norm(t) > 1e-6
    return angle(R @ found[0].T), np.nan if not moves else off(found, R, t)[1]


def report_relative(bridge, quick, alone):
    print("relative                 method              pairs  good  turn   rotation [deg]    direction [deg]")
    print("                                                                  median    90 %   median    90 %")
    for name in ("kitti00_mono_a", "hut_synthetic", "newtsukuba_mono_a", "tartanair_mono_depth_a"):
        rig, pictures, poses = mono(name)
        pictures = pictures[:8] if quick else pictures
        rows = {}
        bridge.open(rig, 1)
        for i, picture in enumerate(pictures):
            relative = bridge.step(picture)[0]
            if not i:
                continue
            R, t = step_of(poses, i)
            pairs = bridge.pairs()
            found = (relative.R, relative.t) if relative.state in (GOOD, ROTATION) else None
            rows.setdefault("vfront", []).append((off_frame(found, R, t), relative.pairs, relative.state))
            if alone:
                continue
            for label, (p, q) in {"same pairs": (pairs[:, 1:3], pairs[:, 3:5]), "KLT": klt(pictures[i - 1], picture),
                                  "ORB": orb(pictures[i - 1], picture)}.items():
                for method, find in OPENCV.items():
                    found = find(np.ascontiguousarray(p), np.ascontiguousarray(q), rig.K[0])
                    rows.setdefault("%s, %s" % (label, method.split()[1]), []).append((off_frame(found, R, t), len(p), GOOD))
        for label, row in rows.items():
            states = [s for _, _, s in row]
            print("%-24s %-18s %6.0f %5d %5d  %8.4f %8.4f %8.3f %8.3f" % ((name, label, np.mean([n for _, n, _ in row]), states.count(GOOD),
                                                                         states.count(ROTATION)) + figures([e for e, _, _ in row])))
            name = ""
    print()


def points_of(rig, pairs):
    """Previous points [m] and current positions, for a pinhole of focal length rig.focal."""
    pairs = pairs[pairs[:, 12] > 0]
    now = pairs[:, 8:11]
    return pairs[:, 5:8] * pairs[:, 12:13], now[:, :2] / now[:, 2:] * FOCAL + K[:2, 2]


def steps(bridge, rig, frames, alone, settings=""):
    """For each frame the motions by method: lists of (R, t) or None; and the inliers of vfront."""
    out, counts = {}, []
    bridge.open(rig, 2, settings)
    for i, (left, right) in enumerate(frames):
        metric = bridge.step(left, right)[1]
        if not i:
            continue
        out.setdefault("vfront", []).append(good_motion(metric))
        counts.append((metric.pairs, metric.inliers))
        if not alone:
            X, q = points_of(rig, bridge.pairs())
            out.setdefault("PnP", []).append(perspective(X, q, K))
    return out, np.mean(counts, 0)


def chain(motions):
    """Pose of the last camera in axes of the first; a frame without a motion repeats the previous one."""
    pose, last = np.eye(4), np.eye(4)
    for m in motions:
        if m is not None:
            last = np.eye(4)
            last[:3, :3], last[:3, 3] = m
        pose = pose @ np.linalg.inv(last)
    return pose


def row_of(name, label, motions, counts, text):
    print("%-9s %-8s %6.0f %8.0f %5d of %2d  %s" % (name, label, counts[0], counts[1], sum(m is not None for m in motions), len(motions), text))


def report_kitti(bridge, quick, alone):
    rig, frames, poses = sequence("kitti01_stereo", range(15 if quick else 51))
    kitti_rows("kitti01", bridge, rig, frames, poses, alone)
    rig.K[1] = rig.K[1] + [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    kitti_rows("kitti01+1", bridge, rig, frames, poses, alone)


def kitti_rows(name, bridge, rig, frames, poses, alone):
    found, counts = steps(bridge, rig, frames, alone)
    truth = [step_of(poses, i) for i in range(1, len(frames))]
    way = sum(np.linalg.norm(t) for _, t in truth)
    end = chain(truth)
    for label, motions in found.items():
        apart = np.linalg.norm(chain(motions)[:3, 3] - end[:3, 3])
        e = [(1000 * np.linalg.norm(m[1] - t), angle(R @ m[0].T)) for m, (R, t) in zip(motions, truth) if m is not None]
        long = [np.linalg.norm(m[1]) / np.linalg.norm(t) - 1 for m, (_, t) in zip(motions, truth) if m is not None]
        e = np.array(e or [(np.nan, np.nan)])
        row_of(name, label, motions, counts, "drift %.2f %% of %.1f m, step %.1f mm (90 %%: %.1f), rotation %.4f deg, length %+.2f %%" % (
            100 * apart / way, way, np.median(e[:, 0]), np.percentile(e[:, 0], 90), np.median(e[:, 1]), 100 * np.mean(long)))


def report_zed(bridge, quick, alone):
    rig, frames, _ = sequence("zed_100mm_stereo", range(8))
    found, counts = steps(bridge, rig, frames, alone)
    for label, motions in found.items():
        e = [1000 * np.linalg.norm(m[1]) for m in motions if m is not None]
        row_of("zed", label, motions, counts, "length of a step %.1f mm (%s)" % (np.median(e), " ".join("%.0f" % x for x in e)))


def report_euroc(bridge, quick, alone):
    _, frames = euroc_frames("euroc_v101_static_a", slice(5 if quick else None))
    rig = euroc(True)[0]
    found, counts = steps(bridge, rig, frames, alone)
    for label, motions in found.items():
        e = np.array([(1000 * np.linalg.norm(m[1]), angle(m[0])) for m in motions if m is not None])
        row_of("euroc", label, motions, counts, "step %.3f mm (most %.3f), rotation %.4f deg (most %.4f)" % (
            np.median(e[:, 0]), e[:, 0].max(), np.median(e[:, 1]), e[:, 1].max()))


def report_flight(bridge, quick, alone):
    motions, e, way, counts = [], [], [], []
    for _, R, t, (_, metric) in bridge.fly("", 30 if quick else 150):
        motions.append(good_motion(metric))
        counts.append((metric.pairs, metric.inliers))
        way.append(np.linalg.norm(t))
        e.append((1000 * np.linalg.norm(metric.t - t), angle(R @ metric.R.T)))
    e = np.array(e)
    row_of("flight", "vfront", motions, np.mean(counts, 0), "step %.2f mm of %.0f (90 %%: %.2f), rotation %.4f deg" % (
        np.median(e[:, 0]), 1000 * np.mean(way), np.percentile(e[:, 0], 90), np.median(e[:, 1])))


def report_rover(bridge, quick, alone):
    folder = "rover_sand_stereo_a"
    P = [projections(folder, "calib_approx.txt")[name] for name in ("P0", "P1")]
    xy = np.loadtxt([x for x in open(place(folder, "gt_xy.txt")) if x[0] in "0123456789."], delimiter=None)
    frames = [[grey(folder, "image_%d" % k, "%06d.png" % i) for k in (0, 1)] for i in range(15 if quick else 50)]
    rig = pinholes(frames[0][0].shape[::-1], P[0][0, 0], P[0][0, 2], P[0][1, 2], -P[1][0, 3] / P[1][0, 0])
    found, counts = steps(bridge, rig, frames, alone)
    truth = np.hypot(*np.diff(xy[:len(frames), -2:], axis=0).T)
    for label, motions in found.items():
        long = [np.linalg.norm(m[1]) / s for m, s in zip(motions, truth) if m is not None and s > 0.02]
        row_of("rover", label, motions, counts, "length over the truth's %.3f (half within %.3f..%.3f)" % ((np.median(long),) + tuple(
            np.percentile(long, [25, 75]))))


def report_metric(bridge, quick, alone):
    print("metric    method    pairs  inliers     found")
    for report in (report_kitti, report_zed, report_euroc, report_flight, report_rover):
        report(bridge, quick, alone)
    print()


def report_honest(bridge, quick, alone):
    print("honest                              motions  mean NEES  beyond 95 % [%]")

    def row(name, values, bound):
        print("%-35s %7d %10.2f %10.1f" % (name, len(values), np.mean(values) if values else np.nan, 100 * np.mean(np.array(values) > bound)))
    count = 40 if quick else 200
    five, six = 11.07 / 5, 12.59 / 6  # chi-squared, 95 %
    exact = "rig_centre_mpx=0 rig_focal_ppm=0 rig_disparity_mpx=0"  # exact calibration
    for kind in ("sideways", "forward", "opengv"):
        for share in (5, 50):
            values = []
            for seed in range(count):
                x = draw(kind, 1000 + seed, share / 100)
                m = bridge.solve(x.given(), FOCAL, exact)[0]
                if m.state == GOOD and off((m.R, m.t), x.R, x.t)[0] < 1:
                    values.append(m.nees(x.R, x.t, True))
            row("relative, %s, %d %% outliers" % (kind, share), values, five)
    for noise in (0.5, 0.2):
        for share in (5, 50):
            values = []
            for seed in range(count):
                x = metric_problem(seed, share / 100, noise)
                m = bridge.solve(x.rows, 450.0, exact)[1]
                if m.state == GOOD:
                    values.append(m.nees(x.R, x.t, False))
            row("metric, noise %.1f px, %d %% outliers" % (noise, share), values, six)
    flown = list(bridge.fly(exact, 30 if quick else 150))
    row("relative, flight", [r.nees(R, t, True) for _, R, t, (r, _) in flown if r.state == GOOD], five)
    row("metric, flight", [m.nees(R, t, False) for _, R, t, (_, m) in flown if m.state == GOOD], six)
    print()


def timed(find, repeat):
    us = []
    for _ in range(repeat):
        began = time.thread_time()
        find()
        us.append(1e6 * (time.thread_time() - began))
    return np.median(us)


def report_time(bridge, quick, alone):
    shares = (5, 30, 50, 70)
    print("time [us], outliers [%%]%s" % "".join("%10d" % s for s in shares))
    problems, repeat = [draw("sideways", 0, s / 100) for s in shares], 3 if quick else 15
    for points in (5, 7, 8):
        for hypotheses in (145, 512, 1024):
            us = []
            for x in problems:
                bridge.solve(x.given(), FOCAL, "ego_points=%d ego_hypotheses=%d" % (points, hypotheses))
                us.append(bridge.c.bridge_solve_us(repeat))
            print("vfront %d, %-13d %s" % (points, hypotheses, "".join("%10.0f" % u for u in us)))
    us = []
    for s in shares:
        bridge.solve(metric_problem(0, s / 100, 0.2).rows, 450.0, "ego_hypotheses=1 ego_metric_hypotheses=256")
        us.append(bridge.c.bridge_solve_us(repeat))
    print("%-23s%s" % ("vfront metric, 256", "".join("%10.0f" % u for u in us)))
    for name, method in () if alone else (("OpenCV USAC", cv2.USAC_DEFAULT), ("OpenCV RANSAC", cv2.RANSAC)):
        print("%-23s%s" % (name, "".join("%10.0f" % timed(lambda: cv2.findEssentialMat(x.p, x.q, K, method=method, prob=0.99, threshold=1.0), 3)
                                         for x in problems)))
    for points in (5, 7, 8):
        sets = np.concatenate([problems[0].given()[k:k + points] for k in range(900)]).astype(np.float32)
        print("%-23s%10.2f" % ("vfront, from %d pairs" % points, bridge.c.bridge_minimal_us(0, points, 900, sets.ctypes.data)))
    sets = np.concatenate([metric_problem(0, 0, 0.2).rows[k:k + 3] for k in range(490)]).astype(np.float32)
    print("%-23s%10.2f" % ("vfront, from 3 points", bridge.c.bridge_minimal_us(2, 3, 490, sets.ctypes.data)))
    print()


def main():
    lists, given = by_option(sys.argv[1:], ("--set", "--only"), ("--alone", "--quick"))
    alone, quick = "--alone" in given, "--quick" in given
    if len(lists[""]) != 1:
        print(__doc__)
        return 2
    began = time.time()
    cv2.setNumThreads(1)
    bridge = Bridge(lists[""][0], " ".join(lists["--set"]))
    for name in lists["--only"] or TABLES:
        if name in ("relative", "metric") and not os.path.isdir(DATA):
            print("%s: skipped, no %s (set VFRONT_DATA)\n" % (name, DATA))
            continue
        globals()["report_" + name](bridge, quick, alone)
    print("(%.0f s)" % (time.time() - began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
