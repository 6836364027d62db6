#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Place recognition and loops against ground truth, on recorded sequences and on rendered flights along recorded trajectories.

    tests/map/loops.py build/config/map/replay [--quick] [--only WORD] [--seconds S] [--all-pairs] [--set NAME=VALUE ...] [--of FOLDER] [--jobs N]

--quick      The kitchen alone.
--only       Sets whose name contains the word.
--seconds    Of each rendered flight, else 40; 80 of rotation.
--all-pairs  Of the kitchen also what OpenCV's ORB finds when it compares every frame with all frames before it that it may be a revisit of.
--jobs       Sets at a time, as many as there are processors.
--of         Evaluates the output folder of an earlier run of replay, and runs none.

Host port, tuning as it stands but for `map`, and `window` where there are two cameras. Sequences lie in $VFRONT_DATA or ../shared/data beside the
project; what is missing is skipped. Exit status: 77 if all are, 1 if a loop is wrong or a bound of BOUNDS does not hold, else 0.

frames   Frames with ground truth.
revisits Frames that come back: within 0.25 m and 20 degrees of an earlier frame, from which the camera was farther away in between, and which is 100
         frames old, or connected with them by 3 tracks at most: what tracks still connect is the odometry's, and no candidate (src/map/recall.h).
recall   Of these, those with an accepted loop [%]. Bounds hold from 20 revisits on.
loops    Accepted ones. wrong: those whose pose is off by more than 0.15 m or 8 degrees; where the pose has no length, by more than 8 degrees of
         rotation or, where there is one, of direction.
worst    Largest errors of the accepted loops: translation [m], rotation, direction [deg].
alone... Loops in the other states.
ORB      With --all-pairs: share of the revisits [%] in which a pair of images has 25 inliers and 30 % of its matches on an essential matrix.
"""
import argparse
import concurrent.futures
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("VFRONT_DATA", ROOT.parent / "shared/data"))
NEAR_M, NEAR_DEG = 0.25, 20.0
WRONG_M, WRONG_DEG = 0.15, 8.0
TRACKS, LATER, FEW = 3, 100, 20
# Of rendered flights: small pictures and few hypotheses, for time. Stamps of KAIST-VIO are rough.
RENDERED = ["--render", "width_px=480", "--render", "height_px=320", "--set", "ego_hypotheses=64", "--set", "ego_metric_hypotheses=128", "--set", "select_points=600"]
# Name: data, words for replay.
SETS = {
    "kitchen": ("kitchen_revisits", []),
    "mh01": ("euroc_mh01_a", ["--set", "vio=1"]),
    "v101": ("euroc_v101_static_a", ["--set", "vio=1"]),
    "kitti05": ("kitti05_vio", ["--set", "vio=1"]),
    "kitti01": ("kitti01_stereo", ["--set", "vio=1"]),
    "kitti00": ("kitti00_mono_a", []),
    "tartanair": ("tartanair_mono_depth_a", []),
    "tsukuba": ("newtsukuba_mono_a", []),
    "hut": ("hut_synthetic", []),
    "circle": ("trajectories/kaist_circle_head.txt", ["--set", "vio=1", "--render", "from_ms=60000", "--render", "smooth_ms=300"]),
    "infinite": ("trajectories/kaist_infinite_fast.txt", ["--set", "vio=1", "--render", "from_ms=60000", "--render", "smooth_ms=400"]),
    "rotation": ("trajectories/kaist_rotation.txt", ["--set", "vio=1", "--render", "from_ms=60000", "--render", "smooth_ms=300"]),
    "v102": ("trajectories/euroc_V1_02.txt", ["--set", "vio=1", "--render", "from_ms=20000"]),
    "v202": ("trajectories/euroc_V2_02.txt", ["--set", "vio=1", "--render", "from_ms=20000"]),
    "circle mono": ("trajectories/kaist_circle_head.txt", ["--mono", "--render", "from_ms=60000", "--render", "smooth_ms=300"]),
}
# Least recall [%].
BOUNDS = {"kitchen": 60.0, "circle": 90.0, "infinite": 90.0, "rotation": 90.0, "v102": 90.0, "v202": 90.0, "circle mono": 90.0}
SECONDS = {"rotation": 80}


def rotation(q):
    """Rotation matrix of a quaternion x y z w."""
    x, y, z, w = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def angle(R):
    """Angle of a rotation [deg]."""
    return np.degrees(2 * np.arcsin(min(1.0, np.linalg.norm(R - np.eye(3)) / np.sqrt(8))))


class Truth:
    """Poses of camera 0 by frame."""

    def __init__(self, out):
        stamps = {int(r["t_ns"]): int(r["frame"]) for r in csv.DictReader((out / "health.csv").open())}
        times, self.R, self.p = np.array(sorted(stamps)), {}, {}
        for line in (out / "truth.txt").read_text().splitlines():
            v = [float(x) for x in line.split()]
            t = int(times[np.argmin(np.abs(times - round(v[0] * 1e9)))])
            self.R[stamps[t]], self.p[stamps[t]] = rotation(v[4:]), np.array(v[1:4])
        self.ids = {}
        for row in csv.DictReader((out / "tracks.csv").open()):
            self.ids.setdefault(int(row["frame"]), []).append(int(row["id"]))
        greatest, self.last_id = 0, {}
        for frame in sorted(stamps.values()):
            self.ids[frame] = np.sort(np.array(self.ids.get(frame, []), dtype=np.int64))
            greatest = self.last_id[frame] = max(greatest, self.ids[frame][-1] if len(self.ids[frame]) else 0)

    def between(self, before, now):
        """Motion from one frame to another: p_now = R p_before + t."""
        return self.R[now].T @ self.R[before], self.R[now].T @ (self.p[before] - self.p[now])

    def near(self, a, b):
        R, t = self.between(a, b)
        return np.linalg.norm(t) < NEAR_M and angle(R) < NEAR_DEG

    def connected(self, before, now):
        """Tracks connect two frames, of which the first is not old."""
        return now - before < LATER and np.searchsorted(self.ids[now], self.last_id[before], side="right") > TRACKS

    def revisits(self):
        """Frames that come back, and to which."""
        back, frames = {}, sorted(self.R)
        for i, now in enumerate(frames):
            left, to = False, []
            for before in reversed(frames[:i]):
                near = self.near(before, now)
                left |= not near
                if near and left and not self.connected(before, now):
                    to.append(before)
            if to:
                back[now] = to
        return back


def loop_errors(loop, truth):
    """Errors of a loop: translation [m], rotation, direction [deg]; 0 where it has none."""
    before, now = int(loop["candidate_frame"]), int(loop["frame"])
    if before not in truth.R or now not in truth.R:
        return None
    R = np.array([[float(loop[f"r{i}{k}"]) for k in range(3)] for i in range(3)])
    t = np.array([float(loop["t" + k]) for k in "xyz"])
    R0, t0 = truth.between(before, now)
    move = np.linalg.norm(t - t0) if loop["kind"] == "metric" else 0.0
    course = 0.0
    if loop["kind"] == "relative":
        course = np.degrees(np.arccos(np.clip(t @ t0 / max(np.linalg.norm(t) * np.linalg.norm(t0), 1e-12), -1, 1)))
    return move, angle(R @ R0.T), course


def orb(folder, back):
    """Share of the revisits that ORB and an essential matrix find when all pairs are compared [%]."""
    import cv2
    names = sorted((folder / "image_0").glob("*.png"))
    fx, _, cx, _, _, fy, cy = [float(x) for x in (folder / "calib.txt").read_text().split()[1:8]]
    K = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])
    detector, matcher = cv2.ORB_create(2000, fastThreshold=10), cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True)
    wanted = sorted(set(back) | {b for to in back.values() for b in to})
    found = {i: detector.detectAndCompute(cv2.imread(str(names[i]), cv2.IMREAD_GRAYSCALE), None) for i in wanted}
    hits = 0
    for now, to in back.items():
        for before in to:
            pairs = [m for m in matcher.match(found[before][1], found[now][1]) if m.distance <= 64]
            if len(pairs) < 25:
                continue
            a, b = [np.float64([found[f][0][getattr(m, k)].pt for m in pairs]) for f, k in ((before, "queryIdx"), (now, "trainIdx"))]
            cv2.setRNGSeed(1)
            E, inside = cv2.findEssentialMat(a, b, K, cv2.RANSAC, 0.999, 2.0)
            if E is not None and inside.sum() >= max(25, 0.3 * len(pairs)):
                hits += 1
                break
    return 100.0 * hits / len(back)


def run(replay, name, args, folder):
    """A run of replay, its tables in a folder."""
    source, words = SETS[name]
    rendered = source.endswith(".txt")
    command = [str(replay), str(DATA / source), "--quiet", "--tables", "all", "--out", str(folder), "--set", "map=1"] + words + (RENDERED if rendered else [])
    for value in args.set:
        command += ["--set", value]
    if rendered:
        command += ["--frames", str(int(20 * (args.seconds or SECONDS.get(name, 40))))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")


def table(name, out, all_pairs):
    """The row of a set, and what does not hold."""
    truth, loops = Truth(out), list(csv.DictReader((out / "loops.csv").open()))
    back, accepted, errors = truth.revisits(), [r for r in loops if r["accepted"] == "1"], []
    for loop in accepted:
        error = loop_errors(loop, truth)
        if error:
            errors.append(error)
            if error[0] > WRONG_M or error[1] > WRONG_DEG or error[2] > WRONG_DEG:
                print(f"{name}: WRONG {error[0]:.3f} m {error[1]:.2f} deg {error[2]:.2f} deg: " + " ".join(f"{k}={v}" for k, v in list(loop.items())[:12]), flush=True)
    wrong = sum(e[0] > WRONG_M or e[1] > WRONG_DEG or e[2] > WRONG_DEG for e in errors)
    known = {int(r["frame"]) for r in accepted}
    recall = 100.0 * sum(f in known for f in back) / len(back) if back else float("nan")
    worst = np.max(errors, axis=0) if errors else np.zeros(3)
    states = " ".join(f"{s} {sum(r['state'] == s for r in loops)}" for s in ("alone", "far", "two", "few"))
    reference = f" ORB {orb(DATA / SETS[name][0], back):5.1f}" if all_pairs and name == "kitchen" else ""
    row = (f"{name:12s} {len(truth.R):6d} {len(back):8d} {recall:7.1f} {len(accepted):6d} {wrong:5d} {worst[0]:7.3f} {worst[1]:6.2f} {worst[2]:6.2f}   {states}{reference}")
    bad = [f"{name}: {wrong} wrong loops"] if wrong else []
    if len(back) >= FEW and name in BOUNDS and recall < BOUNDS[name]:
        bad.append(f"{name}: recall {recall:.1f} %")
    return row, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replay", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--all-pairs", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--of", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    names = [n for n in (["kitchen"] if args.quick else SETS) if args.only in n]
    missing = [n for n in names if not (DATA / SETS[n][0]).exists() and not args.of]
    for name in missing:
        print(f"SKIPPED, no {DATA / SETS[name][0]}")
    names, bad = [n for n in names if n not in missing], []
    if not names:
        return 77

    def one(name):
        with tempfile.TemporaryDirectory(prefix="vfront-loops-") as folder:
            out = args.of or pathlib.Path(folder)
            if not args.of:
                run(args.replay, name, args, out)
            return table(name, out, args.all_pairs)

    print(f"{'set':12s} {'frames':>6s} {'revisits':>8s} {'recall':>7s} {'loops':>6s} {'wrong':>5s} {'worst m':>7s} {'deg':>6s} {'course':>6s}   loops in other states", flush=True)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for row, failed in pool.map(one, names):
            bad += failed
            print(row, flush=True)
    for what in bad:
        print(f"FAILED {what}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
