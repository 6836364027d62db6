#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Relocalization ("kidnapped robot") on rendered flights: a front end starts at a random pose within a map that it has loaded.

    tests/map/kidnapped.py build/config/map/replay [--trials N] [--only WORD] [--seconds S] [--set NAME=VALUE ...] [--jobs N]

A flight along a trajectory builds a map and saves it. Each trial loads that map and starts at a random moment of the same trajectory, with other image
noise and without an IMU state, and has one second (20 frames). Found: VFRONT_MAP_GOOD within it. Wrong: the first pose in the map is off by more than
0.3 m or 8 degrees. Fails if fewer than 95 % are found, or one is wrong.

--jobs     Runs of replay at a time, as many as there are processors.
--trials   Of all trajectories together, 200; of those chosen by --only their share.
--seconds  Of the flight that makes the map, 30."""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("VFRONT_DATA", ROOT.parent / "shared/data"))
HZ, WRONG_M, WRONG_DEG = 20, 0.3, 8.0
FLIGHTS = {"circle": ("kaist_circle_head", 60, 300), "infinite": ("kaist_infinite_fast", 60, 400), "MH_05": ("euroc_MH_05", 20, 300), "V1_02": ("euroc_V1_02", 20, 300)}
RENDERED = ["--render", "width_px=480", "--render", "height_px=320", "--set", "ego_hypotheses=64", "--set", "ego_metric_hypotheses=128", "--set", "select_points=600"]


def poses(path):
    """Times, and poses as matrices."""
    times, all_of = [], []
    for line in path.read_text().splitlines():
        t, px, py, pz, x, y, z, w = [float(v) for v in line.split()]
        T = np.eye(4)
        T[:3, :3] = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
        T[:3, 3] = px, py, pz
        times.append(t)
        all_of.append(T)
    return np.array(times), all_of


def run(args, source, out, frames, words):
    command = [str(args.replay), str(source), "--quiet", "--out", str(out), "--no-gyro", "--set", "vio=0", "--set", "map=1", "--frames", str(frames)] + RENDERED + words
    for value in args.set:
        command += ["--set", value]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")


def trial(out, start_s, times_of_map, truth_of_map):
    """Frames until found (0: not found), and errors of the first pose in the map [m, deg]. start_s: of the trial in the flight that made the map, of which
    the truth, in axes of the map, is interpolated between two frames."""
    times, found = poses(out / "trajectory_map_online.txt")
    t0, _ = poses(out / "truth.txt")
    if not found:
        return 0, 0.0, 0.0
    at, now = int(np.argmin(np.abs(t0 - times[0]))), times_of_map[0] + start_s + times[0] - t0[0]
    k = int(np.clip(np.searchsorted(times_of_map, now) - 1, 0, len(times_of_map) - 2))
    share = (now - times_of_map[k]) / (times_of_map[k + 1] - times_of_map[k])
    want = truth_of_map[k + (share > 0.5)].copy()
    want[:3, 3] = (1 - share) * truth_of_map[k][:3, 3] + share * truth_of_map[k + 1][:3, 3]
    off = np.linalg.inv(want) @ found[0]
    return at + 1, np.linalg.norm(off[:3, 3]), np.degrees(2 * np.arcsin(min(1.0, np.linalg.norm(off[:3, :3] - np.eye(3)) / np.sqrt(8))))


def fly(args, name, pool):
    """A map, and trials in it: rows of frames until found, and errors [m, deg]. Each flight draws its trials by itself."""
    source, first, smooth = FLIGHTS[name]
    file, rng = DATA / "trajectories" / (source + ".txt"), np.random.default_rng((5, list(FLIGHTS).index(name)))
    draws = [(1000 * first + int(rng.integers(0, 1000 * args.seconds - 1000)), int(rng.integers(2, 1000000))) for _ in range(args.trials // len(FLIGHTS))]
    with tempfile.TemporaryDirectory(prefix="vfront-kidnapped-") as folder:
        out, image = pathlib.Path(folder) / "out", pathlib.Path(folder) / "map"
        words = ["--render", f"smooth_ms={smooth}"]
        pool.submit(run, args, file, out, HZ * args.seconds, words + ["--render", f"from_ms={1000 * first}", "--map-save", str(image)]).result()
        t0, truth = poses(out / "truth.txt")
        times, mapped = poses(out / "trajectory_map_online.txt")
        k = min(HZ, len(mapped) - 1)  # in axes of the map, which began at the first frame of its path
        to_map = mapped[k] @ np.linalg.inv(truth[int(np.argmin(np.abs(t0 - times[k])))])
        truth = [to_map @ T for T in truth]

        def one(draw):
            start, seed = draw
            to = pathlib.Path(folder) / f"trial-{start}-{seed}"
            run(args, file, to, HZ, words + ["--render", f"from_ms={start}", "--render", f"seed={seed}", "--map-load", str(image)])
            return trial(to, 1e-3 * start - first, t0, truth)
        return np.array(list(pool.map(one, draws)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replay", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    if args.trials < len(FLIGHTS):
        parser.error(f"--trials: {len(FLIGHTS)} or more, one of each trajectory")
    bad, ran = [], 0
    names = [n for n in FLIGHTS if args.only in n and (DATA / "trajectories" / (FLIGHTS[n][0] + ".txt")).exists()]
    print("flight      trials found within 1 s  frames (median, most)  wrong  largest error m    deg", flush=True)
    # flights wait for their runs of replay, of which there are as many at a time as jobs
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, concurrent.futures.ThreadPoolExecutor(len(FLIGHTS)) as flights:
        for name, v in zip(names, flights.map(lambda n: fly(args, n, pool), names)):
            ran += len(v)
            found = v[v[:, 0] > 0] if v[:, 0].any() else np.full((1, 3), np.nan)
            wrong = int(((found[:, 1] > WRONG_M) | (found[:, 2] > WRONG_DEG)).sum())
            share = 100 * (v[:, 0] > 0).mean()
            print(f"{name:11s} {len(v):6d} {share:16.1f} % {np.median(found[:, 0]):14.0f} {found[:, 0].max():7.0f} {wrong:6d} {found[:, 1].max():16.3f} {found[:, 2].max():6.2f}", flush=True)
            if wrong or share < 95:
                bad.append(f"{name}: {share:.1f} % found, {wrong} wrong")
    for what in bad:
        print(f"FAILED {what}")
    return 77 if not ran else 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
