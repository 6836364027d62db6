#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Motions that hold: share that is GOOD, errors, and how often the truth lies beyond the bound of the covariance.

    tests/geometry/motions.py build/bridge_ego.so [--set name=value ...] [--only set ...] [--scenes N] [--first SEED] [--poselib] [--quick]

--set      Tuning values of vfront that are not standard.
--only     Only these sets, as honesty.py names them, or drawn.
--scenes   Drawn scenes, 1,000. --first: the seed of the first, 0.
--poselib  Also PoseLib's relative pose, where it is installed: the same correspondences, 1 px.
--quick    200 drawn scenes, and a verdict: exit status 1 if of the GOOD motions of scenes without a moving object over 5 % are beyond or over 1 % twice beyond.

good       Share of GOOD motions [%]. rotation, direction (metric: translation [mm]): median and 90 % of these.
beyond     GOOD motions whose error is beyond the 99.9 % bound of the covariance, the truth's own error added; [%] of all GOOD ones. twice: beyond
           twice that bound.
drawn      Random scenes by seed, solved by the stage alone: 30 to 256 tracks and up to 6 times as many matches in 752x480 px; depth of a wall, a floor
           or any; motion from a hover (0.2 px of parallax) to fast (60 px); noise of 0.1 to 0.4 px, along each axis, of some more; 0 to 70 % of the points
           on joints of tiles, where a track slides along the joint by up to 1 px; up to 40 % on a near object; up to 8 % wrong
           partners. Half of the scenes have two cameras. moving: those in which the near object moves on its own, where two pictures
           alone may have no answer.
Sets       Those of honesty.py, the whole front end, every picture (/1) and every second one (/2). weak: contrast a third or an eighth, blurred by 1 px,
           noise of 1.5 grey levels. Frames about the jump of EuRoC's truth are left out.
Exit status: 77 OpenCV, the bridge or data is missing, else 0.
"""
import sys
import time

from ego import GIVEN, GOOD, Bridge, angle, between, homogeneous, turn, unit
from honesty import BOUND, DRIVING, MONO, SETS, TRUTH, declare, errors, load, run, steps_of
from command import by_option
from truth import JUMP

import cv2
import numpy as np

SIZE = np.array([752, 480])
SUBPIXEL = 0.15  # size of the pixels of a track or of a refined match


class Scene:
    """Correspondences of a random scene: rows of GIVEN, the true R and t, focal length, and positions p, q [px]."""

    def __init__(self, seed):
        r = self.r = np.random.default_rng(seed)
        self.metric, self.focal = bool(seed % 2), r.uniform(350, 800)
        texture, self.noise = r.uniform(0, 1), r.uniform(0.1, 0.4)
        self.joints, self.object, self.wrong = r.uniform(0, 0.7), r.uniform(0, 0.4) * (r.random() < 0.7), r.uniform(0, 0.08)
        tracks, self.shape = int(30 * (256 / 30) ** texture), r.integers(3)
        count = tracks + int(tracks * r.uniform(0, 6) * texture)
        self.far = r.uniform(3, 20)
        self.parallax = 0.2 * 300 ** r.random()
        self.R, self.t = turn(np.radians(0.02 * 200 ** r.random()) * unit(r.normal(size=3))), unit(r.normal(size=3) * [1, 1, r.uniform(0.2, 3)])
        self.t *= self.parallax / self.focal * self.far
        p, X, moving = self.points(count)
        Y = X @ self.R.T + self.t
        self.moving = bool(self.object) and r.random() < 0.5  # the object moves on its own
        if self.moving:
            own = unit(r.normal(size=3)) * r.uniform(0, 2) * np.linalg.norm(self.t)
            Y[moving] += own
        q = self.project(Y)
        q = q + self.slide(p, q, Y, moving)
        p_seen, q_seen = p, q + self.noise * r.normal(size=q.shape) * np.exp(0.4 * r.normal(size=(len(q), 1)))
        mixed = r.random(len(q)) < self.wrong
        near = r.random(len(q)) < 0.5
        q_seen[mixed] = np.where(near[mixed, None], q[mixed] + r.uniform(-12, 12, (mixed.sum(), 2)), r.uniform(0, 1, (mixed.sum(), 2)) * SIZE)
        kept = (Y[:, 2] > 0.1) & (q_seen >= 0).all(1) & (q_seen < SIZE).all(1)
        self.p, self.q = p_seen[kept], q_seen[kept]
        self.rows = np.zeros((kept.sum(), GIVEN))
        self.rows[:, :3], self.rows[:, 3:6] = [unit(homogeneous((x - SIZE / 2) / self.focal)) for x in (self.p, self.q)]
        whole = (np.arange(count) >= tracks) & (r.random(count) < 0.2)  # matches between whole pixels
        self.rows[:, 6] = np.where(whole[kept], r.choice([1, 1.2, 1.44, 2], kept.sum()), SUBPIXEL)
        if self.metric:
            self.distances(X[kept], Y[kept], mixed[kept])

    def project(self, X):
        with np.errstate(all="ignore"):
            return X[:, :2] / X[:, 2:] * self.focal + SIZE / 2

    def points(self, count):
        """Positions, points and the mask of those on the object."""
        r = self.r
        p = r.uniform(0, 1, (count, 2)) * SIZE
        v = homogeneous((p - SIZE / 2) / self.focal)
        if self.shape == 0:  # a wall, inclined
            n = np.array([*r.uniform(-0.4, 0.4, 2), 1.0])
            z = 1 / np.maximum(v @ n, 0.2)
        elif self.shape == 1:  # a floor or a ceiling, and a wall behind
            z = np.minimum(0.3 / np.maximum(np.abs(v[:, 1] + r.uniform(-0.2, 0.2)), 0.05), 2.0)
        else:
            z = 1 / r.uniform(0.3, 1.5, count)
        centre, size = r.uniform(0.2, 0.8, 2) * SIZE, np.sqrt(self.object) * SIZE * r.uniform(0.6, 1.4)
        moving = (np.abs(p - centre) < size / 2).all(1) & (self.object > 0)
        z = np.where(moving, r.uniform(0.15, 0.6), z)
        return p, v * (self.far * z)[:, None], moving

    def slide(self, p, q, Y, moving):
        """Errors of tracks on joints: along the joint a track keeps part of the displacement that was expected."""
        r = self.r
        on = (r.random(len(p)) < self.joints) & ~moving
        turned = r.uniform(0, np.pi)
        family = r.integers(0, 2, len(p)) * np.pi / 2
        along = np.stack([np.cos(turned + family), np.sin(turned + family)], 1)
        expected = self.project(Y @ turn(r.normal(size=3) * r.uniform(0, 2e-3)).T + r.normal(size=3) * r.uniform(0, 0.3) * np.linalg.norm(self.t)) - q
        expected = np.clip(np.nan_to_num(expected), -20, 20)
        reach = r.uniform(0.2, 1.0)
        length = (expected * along).sum(1) * r.uniform(0, 1) + reach * 0.4 * r.normal(size=len(p))
        return np.where(on, np.clip(length, -reach, reach), 0.0)[:, None] * along

    def distances(self, X, Y, mixed):
        """Distances as of a stereo pair."""
        r, reach = self.r, self.focal * r_baseline(self.r)
        sigma = r.uniform(0.1, 0.3)
        for column, points in ((7, X), (9, Y)):
            bearing = self.rows[:, :3] if column == 7 else self.rows[:, 3:6]
            disparity = reach / points[:, 2] + sigma * r.normal(size=len(points))
            some = (r.random(len(points)) < 0.8) & (disparity > 1) & (disparity > 3.5 * sigma) & ~(mixed & (column == 9))
            depth = reach / np.where(some, disparity, 1.0)
            self.rows[:, column] = np.where(some, depth / bearing[:, 2], 0.0)
            self.rows[:, column + 1] = np.where(some, depth / bearing[:, 2] * sigma / disparity, 0.0)
        self.rows[:, 9:] *= (self.rows[:, 7:8] > 0) & (self.rows[:, 6:7] > 0)


def r_baseline(r):
    return r.uniform(0.08, 0.3)


def quantiles(values):
    """Median and 90 % of the finite values."""
    finite = values[np.isfinite(values)]
    return np.quantile(finite, (0.5, 0.9)) if len(finite) else (np.nan, np.nan)


class Row:
    """Figures of one kind of motion."""

    def __init__(self, name, kind):
        self.name, self.kind, self.frames, self.rows = name, kind, 0, []

    def add(self, motion, R, t, truth=(0.0, 0.0)):
        self.frames += 1
        if motion.state != GOOD:
            return 0.0
        e, S, T = errors(motion, R, t, self.kind == "relative", truth)
        off = 1e3 * np.linalg.norm(motion.t - t)
        if self.kind == "relative":
            off = between(motion.t, t) if np.linalg.norm(t) > 1e-6 else np.nan
        ratio = np.sqrt(e @ np.linalg.solve(S + T, e) / BOUND[len(e)])
        self.rows.append((angle(R @ motion.R.T), off, ratio))
        return ratio

    def beyond(self, times=1):
        return sum(ratio > times for _, _, ratio in self.rows) / max(len(self.rows), 1)

    def print(self):
        v = np.array(self.rows or [(np.nan,) * 3])
        beyond, twice, n = (v[:, 2] > 1).sum(), (v[:, 2] > 2).sum(), max(len(self.rows), 1)
        print("%-12s %-9s %6d %6.1f  %8.4f %8.4f  %8.3f %8.3f  %4d %6.2f  %4d  %7.2f" % (
            self.name, self.kind, self.frames, 100 * len(self.rows) / max(self.frames, 1), *quantiles(v[:, 0]), *quantiles(v[:, 1]), beyond,
            100 * beyond / n, twice, v[:, 2].max()))
        sys.stdout.flush()


def head():
    print("set          kind      frames   good  rotation p50, p90 [deg]  direction [deg], mm  beyond [%]  twice  largest")


def poselib_motion(scene):
    import poselib
    camera = {"model": "PINHOLE", "width": int(SIZE[0]), "height": int(SIZE[1]), "params": [scene.focal, scene.focal, SIZE[0] / 2, SIZE[1] / 2]}
    pose, _ = poselib.estimate_relative_pose(scene.p, scene.q, camera, camera, {"max_epipolar_error": 1.0}, {})
    return pose.R, pose.t


def report_drawn(bridge, first, count, with_poselib):
    rows, peer = [Row(name, kind) for name in ("drawn", "moving") for kind in ("relative", "metric")], ([], [])
    for seed in range(first, first + count):
        scene = Scene(seed)
        relative, metric, _ = bridge.solve(scene.rows, scene.focal, frame=seed + 1)
        rows[2 * scene.moving].add(relative, scene.R, scene.t)
        if scene.metric:
            rows[2 * scene.moving + 1].add(metric, scene.R, scene.t)
        if with_poselib and relative.state == GOOD:
            R, t = poselib_motion(scene)
            peer[scene.moving].append((angle(scene.R @ R.T), between(t, scene.t)))
    for row in rows:
        row.print()
    failed = any(r.beyond() > 0.05 or r.beyond(2) > 0.01 or not r.rows for r in rows[:2])
    for row, errors_of in zip(rows[::2], peer):
        if errors_of:
            v = np.quantile(np.array(errors_of), (0.5, 0.9), axis=0)
            print("%s, PoseLib where relative is GOOD: rotation %.4f %.4f, direction %.3f %.3f" % (row.name, v[0, 0], v[1, 0], v[0, 1], v[1, 1]))
    return failed


def weak(picture, contrast):
    """The picture in weak texture."""
    smooth = cv2.GaussianBlur(picture.astype(np.float32), (0, 0), 1.0)
    noise = np.random.default_rng(int(picture.sum()) % 1000).normal(0, 1.5, picture.shape)
    return np.clip(110 + (smooth - 110) * contrast + noise, 0, 255).round().astype(np.uint8)


def weak_steps(bridge, name, contrast):
    rig, frames, poses, cameras = load(name, False)
    bridge.c.bridge_interval(100 if name in DRIVING else 50)
    return run(bridge, rig, cameras, [[weak(p, contrast) for p in frame[:cameras]] for frame in frames], poses)


def report_set(bridge, name, stride, contrast=None):
    label = "%s/%d" % (name, stride) if not contrast else "%s, %d" % (name, round(100 * contrast))
    rows = [Row(label, "relative"), Row(label, "metric")]
    for i, relative, metric, R, t in weak_steps(bridge, name, contrast) if contrast else steps_of(bridge, name, False, stride):
        if set(range(i - stride + 1, i + 1)) & set(JUMP.get(name, ())):
            continue
        for row, motion in zip(rows, (relative, metric)):
            row.add(motion, R, t, [stride * v for v in TRUTH.get(name, (0.0, 0.0))])
    for row in rows:
        if row.rows or row.kind == "relative":
            row.print()


def main():
    lists, given = by_option(sys.argv[1:], ("--set", "--only", "--scenes", "--first"), ("--poselib", "--quick"))
    if len(lists[""]) != 1:
        print(__doc__)
        return 2
    began = time.time()
    bridge = Bridge(lists[""][0], " ".join(["rectify=0"] + lists["--set"]))
    declare(bridge)
    names = lists["--only"] or ["drawn"] + [n for n in SETS if n != "depth"]
    head()
    first, count = [int((lists[option] or [standard])[0]) for option, standard in (("--first", 0), ("--scenes", 200 if "--quick" in given else 1000))]
    if "--quick" in given:
        return int(report_drawn(bridge, first, count, False))
    if "drawn" in names:
        report_drawn(bridge, first, count, "--poselib" in given)
    for name in names:
        for stride in (1, 2) if name != "drawn" else ():
            report_set(bridge, name, stride)
        for contrast in (0.3, 0.12) if name in list(MONO) + ["euroc05", "kitti05"] else ():
            report_set(bridge, name, 1, contrast)
    print("(%.0f s)" % (time.time() - began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
