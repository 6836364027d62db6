#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Flights of three laps along recorded trajectories, rendered: error of the odometry and of the map, lap by lap.

    tests/map/laps.py build/config/map/replay [--only WORD] [--seconds S] [--out FOLDER] [--set NAME=VALUE ...] [--jobs N]

--jobs     Flights at a time, as many as there are processors.
--seconds  Of half a lap, 15: a piece of the trajectory that is flown there and back, as it was flown, three times.
--out      Keeps what replay writes, in a folder of each flight.

Laps: error of the position in each frame, as reported in that frame, against ground truth, in axes that fit best over
the first quarter of the first lap [m, RMS of a lap]; ATE: over the whole flight, in axes that fit best (rotation and
translation), of the map after all corrections. Fails if the ATE of the map is above a third of the odometry's where
that is 0.1 m or more, above it where it is less, or if the map's error of the third lap is above 1.5 times that of
the second and 0.05 m more."""
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
LAPS, HZ = 3, 20
RENDERED = ["--render", "width_px=480", "--render", "height_px=320", "--set", "ego_hypotheses=64", "--set", "ego_metric_hypotheses=128", "--set", "select_points=600"]
# Name: trajectory, first second, smoothing [ms], with an IMU.
FLIGHTS = {
    "circle": ("kaist_circle_head", 60, 300, 0), "infinite": ("kaist_infinite_fast", 60, 400, 0), "V1_02": ("euroc_V1_02", 20, 300, 0), "MH_03": ("euroc_MH_03", 20, 300, 0),
    "circle imu": ("kaist_circle_head", 60, 300, 1), "infinite imu": ("kaist_infinite_fast", 60, 400, 1), "V2_02 imu": ("euroc_V2_02", 20, 300, 1), "MH_05 imu": ("euroc_MH_05", 20, 300, 1),
}


def there_and_back(source, to, first_s, seconds):
    """A piece of a trajectory there and back LAPS times; turns in half a second each."""
    rows = np.array([[float(x) for x in line.split()] for line in source.read_text().splitlines() if line.strip() and not line.startswith("#")])
    t = rows[:, 0] - rows[0, 0] - first_s
    piece = rows[(t >= 0) & (t <= seconds)]
    t = piece[:, 0] - piece[0, 0]
    span, out = t[-1], []
    for half in range(2 * LAPS):
        for k in (range(len(t)) if half % 2 == 0 else range(len(t) - 1, -1, -1)):
            at = half * (span + 0.5) + (t[k] if half % 2 == 0 else span - t[k])
            out.append((at, *piece[k, 1:8]))
    to.write_text("".join(" ".join(f"{v:.9f}" for v in row) + "\n" for row in out))
    return 2 * LAPS * (span + 0.5) - 0.5


def load(path):
    v = np.array([[float(x) for x in line.split()[:4]] for line in path.read_text().splitlines()])
    return v[:, 0], v[:, 1:]


def fit(a, b):
    """Rotation and translation with R a + t nearest to b."""
    ca, cb = a.mean(0), b.mean(0)
    U, _, V = np.linalg.svd((b - cb).T @ (a - ca))
    R = U @ np.diag([1, 1, np.sign(np.linalg.det(U @ V))]) @ V
    return R, cb - R @ ca


def errors(path, truth):
    """ATE, and RMS of each lap in the axes of the beginning."""
    t, p = load(path)
    t0, p0 = load(truth)
    near = np.array([np.argmin(np.abs(t0 - x)) for x in t])
    good = np.abs(t0[near] - t) < 1e-3
    t, p, q = t[good], p[good], p0[near][good]
    R, s = fit(p, q)
    ate = np.sqrt((((p @ R.T + s) - q)**2).sum(1).mean())
    lap = (t0[-1] - t0[0]) / LAPS
    begin = t < t0[0] + lap / 4
    R, s = fit(p[begin], q[begin])
    off = ((p @ R.T + s - q)**2).sum(1)
    return ate, [np.sqrt(off[(t >= t0[0] + k * lap) & (t < t0[0] + (k + 1) * lap)].mean()) for k in range(LAPS)], len(t) / len(t0)


def fly(args, name):
    """The row of a flight, and what does not hold; None without its trajectory."""
    source, first, smooth, imu = FLIGHTS[name]
    file = DATA / "trajectories" / (source + ".txt")
    if not file.exists():
        return f"SKIPPED, no {file}", None
    with tempfile.TemporaryDirectory(prefix="vfront-laps-") as folder:
        out = (args.out / name.replace(" ", "_")) if args.out else pathlib.Path(folder) / "out"
        path = pathlib.Path(folder) / (source + ".txt")
        frames = int(HZ * there_and_back(file, path, first, args.seconds)) - HZ
        command = [str(args.replay), str(path), "--quiet", "--tables", "frames", "--out", str(out), "--set", "map=1", "--frames", str(frames), "--render", f"smooth_ms={smooth}"] + RENDERED
        command += ["--set", "vio=1"] if imu else ["--set", "vio=0", "--no-gyro"]
        for value in args.set:
            command += ["--set", value]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return f"{name:13s} {' '.join(command)}: exit code {done.returncode}\n{done.stderr}", [f"{name}: replay failed"]
        before, laps, _ = errors(out / ("trajectory_state.txt" if imu else "trajectory.txt"), out / ("truth_state.txt" if imu else "truth.txt"))
        after, _, _ = errors(out / "trajectory_map.txt", out / "truth.txt")
        _, mapped, share = errors(out / "trajectory_map_online.txt", out / "truth.txt")
    row = f"{name:13s} {frames:6d} {before:15.3f} {after:6.3f} {after / before:7.2f}   " + " ".join(f"{e:6.3f}" for e in laps) + "  " + " ".join(f"{e:6.3f}" for e in mapped)
    holds = after <= (before / 3 if before >= 0.1 else before) and mapped[2] <= 1.5 * mapped[1] + 0.05
    return f"{row} {100 * share:10.1f} %", [] if holds else [f"{name}: ATE {before:.3f} m, in the map {after:.3f} m"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replay", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    bad, ran = [], 0
    print(f"{'flight':13s} frames    ATE odometry    map   share   odometry by laps      map by laps           in the map", flush=True)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for row, failed in pool.map(lambda name: fly(args, name), [name for name in FLIGHTS if args.only in name]):
            print(row, flush=True)
            if failed is not None:
                ran += 1
                bad += failed
    for what in bad:
        print(f"FAILED {what}")
    return 77 if not ran else 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
