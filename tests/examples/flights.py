#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""States of the IMU on rendered flights along recorded trajectories, without and with faults, beside the exact truth.

    tests/examples/flights.py build/replay [--quick] [--only WORD] [--seconds S] [--set NAME=VALUE ...] [--render NAME=VALUE ...]
                              [--write FILE] [--jobs N]

--only     Flights and cases whose row contains the word.
--seconds  Of each flight, 60; hovering 120.
--set, --render  Passed on to replay, beside those of TUNING and RENDER.

Host port. Trajectories lie in $VFRONT_DATA or ../shared/data beside the project; what is missing is skipped. hover and stand are drawn here: hover
sways by 0.2 m. Pictures of 640x400, 20 Hz, motion blur of 5 ms, noise, brightness that jumps every 3 s; IMU of the class of an ADIS16448 at 200 Hz with
walking biases and 1 m/s^2 of vibration from each of four rotors. --quick: a sample, whose bounds are asserted. Exit status: 77 if all are
missing, 1 if a flight began anew, jumped or is lost where that is asserted, else 0.

first     First state after so long [s]. anew: states that began anew. no: frames after it without a state [%].
ATE       Root mean square of positions after the turn about z and the shift that fit best [mm]; and in % of the way flown.
end       Where the state is at the end, truth moved and turned about z to the first state [mm]; and in % of the way.
1 s       Root mean square error of the motion over one second: position [mm], rotation [deg].
tilt, v   Root mean square error [deg, mm/s]. yaw: at the end [deg].
NEES      Of position and attitude, 3 degrees of freedom each, in the mean: 3 is right.
correction  Largest correction by a picture [mm], and in deviations of the state that is corrected, on any axis; jumps: those beyond three.
"""
import argparse
import concurrent.futures
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("VFRONT_DATA", ROOT.parent / "shared/data")) / "trajectories"
# Key points serve the first state alone: few are enough. Motions with fewer hypotheses, for time.
TUNING = ["select_points=64", "ego_hypotheses=64", "ego_metric_hypotheses=128"]
RENDER = ["width_px=640", "height_px=400"]
# Name: file or drawing, settings of the rendering. Stamps of KAIST-VIO are rough.
FLIGHTS = {
    "MH_03": ("euroc_MH_03.txt", ["from_ms=15000"]),
    "MH_05": ("euroc_MH_05.txt", ["from_ms=15000"]),
    "V1_02": ("euroc_V1_02.txt", ["from_ms=5000"]),
    "V2_02": ("euroc_V2_02.txt", ["from_ms=5000"]),
    "circle_head": ("kaist_circle_head.txt", ["from_ms=60000", "smooth_ms=300"]),
    "infinite_fast": ("kaist_infinite_fast.txt", ["from_ms=60000", "smooth_ms=400"]),
    "rotation": ("kaist_rotation.txt", ["from_ms=60000", "smooth_ms=300"]),
    "hover": ("hover", []),
    "stand": ("stand", []),
}
# Name: script of faults, settings of the rendering, flights.
CASES = {
    "clean": ("", [], list(FLIGHTS)),
    "black 0.5 s": ("15s-15.5s both black\n30s-30.5s both black\n45s-45.5s both black\n", [], ["MH_03", "V1_02", "circle_head"]),
    "freeze 0.5 s": ("15s-15.5s both freeze\n30s-30.5s both freeze\n45s-45.5s both freeze\n", [], ["MH_03", "V1_02", "circle_head"]),
    "no IMU 0.3 s": ("15s-15.3s gyro gap\n30s-30.3s gyro gap\n45s-45.3s gyro gap\n", [], ["MH_03", "V1_02", "circle_head"]),
    "1 % dropped": ("".join(f"{i} both drop\n" for i in range(57, 1200, 100)), [], ["MH_03", "V1_02", "circle_head"]),
    "board over 60 %": ("", ["board_percent=60", "board_from_ms=20000", "board_to_ms=40000"], ["hover"]),
}
# Flight, case, seconds, script, settings of the rendering.
QUICK = [("V1_02", "clean", 8, "", []), ("V1_02", "black 0.5 s", 8, "4s-4.5s both black\n6s-6.3s gyro gap\n", []),
         ("hover", "board over 40 %", 12, "", ["board_percent=40", "board_from_ms=2000", "board_to_ms=11000", "seed=11"])]


def draw(name, path, seconds):
    """Drawn trajectory: hover sways by 0.2 m, 2 degrees of tilt and 3 of yaw."""
    lines = []
    for t in np.arange(0, seconds + 2, 0.02):
        p, r = (0, 0, 1.2), (-0.03, 0.02, 0.3)
        if name == "hover":
            p = 0.2 * np.sin(0.9 * t), 0.2 * np.sin(0.7 * t + 1), 1.5 + 0.1 * np.sin(1.1 * t + 2)
            r = 0.035 * np.sin(2.3 * t + 1), 0.035 * np.sin(1.9 * t), 0.05 * np.sin(0.5 * t)
        (cr, sr), (cp, sp), (cy, sy) = [(np.cos(a / 2), np.sin(a / 2)) for a in r]
        q = sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy
        lines.append(f"{t:.4f} " + " ".join(f"{x:.9f}" for x in (*p, *q)))
    path.write_text("\n".join(lines) + "\n")


def number(pattern, text, default=float("nan")):
    found = re.search(pattern, text)
    return float(found.group(1)) if found else default


def rows_of(path):
    return np.array([[float(x) for x in line.split()] for line in path.read_text().splitlines() if line and line[0] != "#"])


def yaw_between(a, b):
    """Yaw of attitude b less that of a [deg], quaternions x y z w."""
    x, y, z, w = -a[0], -a[1], -a[2], a[3]
    X, Y, Z, W = b
    dz, dw = W * z + Z * w + X * y - Y * x, W * w - X * x - Y * y - Z * z
    return (np.degrees(2 * np.arctan2(dz, dw)) + 180) % 360 - 180


class Row:
    """A run of replay, and its output."""

    def __init__(self, replay, flight, case, script, render, seconds, args, folder):
        source, own = FLIGHTS[flight]
        place = folder / re.sub("[^A-Za-z0-9]+", "-", f"{flight} {case}")
        place.mkdir()
        path = DATA / source
        if not path.suffix:
            path = place / f"{source}.txt"
            draw(source, path, seconds)
        words = [str(replay), "--quiet", "--tables", "frames", "--out", str(place / "out"), "--frames", str(int(20 * seconds))]
        if script:
            (place / "script").write_text(script)
            words += ["--fault", str(place / "script")]
        for setting in RENDER + own + render + args.render:
            words += ["--render", setting]
        for value in TUNING + args.set:
            words += ["--set", value]
        done = subprocess.run(words + [str(path)], capture_output=True, text=True)
        self.flight, self.case, self.text_of = flight, case, done.stdout
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)} {path}: exit code {done.returncode}\n{done.stderr}")
        self.read(done.stdout, place / "out")
        shutil.rmtree(place)

    def read(self, text, out):
        text = text[text.index("\nstate "):]
        self.first = number(r"first one after ([\d.]+) s", text)
        self.anew = int(number(r"began anew (\d+) times", text, 0))
        kinds = {k: float(v) for v, k in ((m[1], m[0]) for m in re.findall(r"(\w+) ([\d.]+) %", text.split(" frames\n")[0]))}
        self.none = kinds.get("lost", 0) + (kinds.get("initialising", 0) if self.anew else 0)
        self.coasting = kinds.get("coasting", 0) + kinds.get("stereo", 0)
        self.ate = 1e3 * number(r"([\d.e+-]+) m by shift and yaw", text)
        self.way = number(r"with ground truth, ([\d.e+-]+) m", text)
        self.second = 1e3 * number(r"RPE ([\d.e+-]+) m and", text), number(r"RPE [\d.e+-]+ m and ([\d.e+-]+) deg", text)
        self.scale = number(r"scale ([+-][\d.]+) %", text)
        self.tilt = number(r"tilt off by ([\d.e+-]+)", text)
        self.velocity = 1e3 * number(r"velocity off by ([\d.e+-]+)", text)
        self.nees = number(r"NEES position ([\d.e+-]+)", text), number(r"attitude ([\d.e+-]+), \d+ of", text)
        self.correction = 1e3 * number(r"pictures at most ([\d.e+-]+) m", text)
        self.sigmas = number(r"deg, and ([\d.e+-]+) deviations", text)
        self.jumps = int(number(r"; (\d+) jumps", text, 0))
        self.end = self.yaw = float("nan")
        if (out / "truth_state.txt").exists():
            own, true = rows_of(out / "trajectory_state.txt"), rows_of(out / "truth_state.txt")
            self.end = 1e3 * np.linalg.norm(own[-1, 1:4] - true[-1, 1:4])
            self.yaw = yaw_between(true[-1, 4:], own[-1, 4:])

    def share(self, mm):
        """In % of the way; none of a camera that stands."""
        return f"{0.1 * mm / self.way:6.3f}" if self.way > 2 else "     -"

    def text(self):
        return (f"{self.flight:14s} {self.case:16s} {self.first:5.2f} {self.anew:4d} {self.none:5.1f} {self.coasting:5.1f} {self.way:6.1f} {self.ate:7.1f} {self.share(self.ate)} "
                f"{self.end:7.1f} {self.share(self.end)} {self.second[0]:6.1f} {self.second[1]:6.3f} {self.scale:6.2f} {self.tilt:6.3f} {self.yaw:6.2f} {self.velocity:6.1f} "
                f"{self.nees[0]:6.2f} {self.nees[1]:6.2f} {self.correction:7.1f} {self.sigmas:5.2f} {self.jumps:5d}")


HEAD = (f"{'flight':14s} {'case':16s} {'first':>5s} {'anew':>4s} {'no':>5s} {'coast':>5s} {'way':>6s} {'ATE':>7s} {'%':>6s} {'end':>7s} {'%':>6s} {'1 s':>6s} {'[deg]':>6s} "
        f"{'scale':>6s} {'tilt':>6s} {'yaw':>6s} {'v':>6s} {'NEES p':>6s} {'w':>6s} {'correct':>7s} {'sigma':>5s} {'jumps':>5s}")


def asked(args):
    """Runs to make: flight, case, script, settings, seconds."""
    if args.quick:
        return [(f, c, script, render, s) for f, c, s, script, render in QUICK]
    return [(flight, case, script, render, args.seconds or (120 if flight == "hover" and case == "clean" else 60))
            for case, (script, render, flights) in CASES.items() for flight in flights if args.only in f"{flight} {case}"]


def check(rows):
    """Bounds of the sample. Returns the number of those that do not hold."""
    bad = 0
    for row in rows:
        for what, good in (("first state", row.first < 1.0), ("began anew", row.anew == 0), ("frames without a state", row.none == 0),
                           ("jumps", row.jumps == 0), ("ATE", row.ate < 60), ("NEES", row.nees[0] < 30)):
            if not good:
                print(f"{row.flight}, {row.case}: {what}")
                bad += 1
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replay")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--render", action="append", default=[])
    parser.add_argument("--write")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    args = parser.parse_args()
    runs = asked(args)
    missing = sorted({FLIGHTS[f][0] for f, *_ in runs if FLIGHTS[f][0].endswith(".txt") and not (DATA / FLIGHTS[f][0]).exists()})
    for name in missing:
        print(f"SKIPPED, no {DATA / name}")
    runs = [r for r in runs if FLIGHTS[r[0]][0] not in missing]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vfront-flights-"))
    rows = []
    try:
        print(HEAD, flush=True)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for row in pool.map(lambda r: Row(args.replay, *r, args, folder), runs):
                print(row.text(), flush=True)
                rows.append(row)
    except (RuntimeError, OSError) as error:
        print(f"flights: {error}")
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if args.write and not missing:
        digest = subprocess.run([ROOT / "tests/house/sources.sh"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
        head = f"States on rendered flights (make flights; tests/examples/flights.py says what the columns are).\n{datetime.date.today()}, sources {digest}, port host\n\n"
        pathlib.Path(args.write).write_text(head + "\n".join([HEAD] + [row.text() for row in rows]) + "\n")
    return check(rows) and 1 if args.quick and rows else 77 if not rows else 0


if __name__ == "__main__":
    sys.exit(main())
