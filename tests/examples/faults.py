#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Table of faults: what the front end says of each fault of camera, clock and gyro, and how true its motions are meanwhile.

    tests/examples/faults.py build/replay [--quick] [--write FILE] [--sets NAME,...] [--faults TEXT] [--keep DIR] [--jobs N]

--quick   Few faults on a small rendered flight, held against RECORDED below: no worse than that. Without it every fault on every set,
          a table that asserts nothing.
--write   Writes the table to FILE, with the date and the digest of the sources (tests/house/sources.sh).
--faults  Only faults whose name contains TEXT.
--keep    Keeps scripts and results in DIR; runs that are there already are read, not repeated.

Runs `replay --fault` with windows of a few frames in which the fault is active; reads faults.csv, health.csv, motion.csv, covariance.csv and
truth.txt.

named     Frames delivered from the first that the fault touches to the first that names it, both included; the worst window; by: the
          column that did. `-`: not named. A dropped frame cannot be named before the next one is delivered.
noticed   The same for signs that something is wrong, but not what (GENERAL).
N, beyond Metric motions said to be GOOD from the begin of a fault to AFTER frames behind its end, and those of them whose error is beyond the
          99.9 % bound: e' (S + T)^-1 e > 22.46, e the error of (t, w), S the covariance as reported, T the truth's own, whose deviations
          grow with the time of the step.
[%]       Their share; <: 3/N, the upper bound of the share with 95 % confidence, where none was beyond.
clean     Share in the run without faults, over all its motions, or over the same frames where that is more [%].
chance    Probability of at least as many beyond, if the share were the clean one, at least the 0.1 % that the bound is made for (binomial).
new       Those beyond whose frame is not beyond in the clean run.
worst     Largest error in sigmas, the root of that form.
relative  Relative motions said to be GOOD in the same frames that are beyond their own 99.9 % bound, of how many. Direction and rotation
          count, 5 degrees of freedom; of a camera said to be at rest, and of truth that hardly moves, the rotation alone, 3.
again     Frames delivered after the fault's end up to the first GOOD metric motion, that included; the worst window. `never`: none to the
          end of the run, or of the gap to the next window; `lasts`: the fault has no end, and A is not asked of it.
verdict   What a fault should reach: N named within 2 frames; S share no larger than clean up to chance: more than clean has a probability
          below 5 %; W none over 10 sigma; A good again within 3 frames. A letter: reached; a dot: not.

Exit: 0 done, or nothing worse than recorded; 1 worse, or replay failed; 77 no numpy or no data.
"""
import argparse
import concurrent.futures
import csv
import datetime
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"faults: SKIPPED, {missing} (apt install python3-numpy)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("VFRONT_DATA", ROOT.parent / "shared" / "data"))
BOUND = 22.458  # chi-squared with 6 degrees of freedom, 99.9 %
BOUND_OF = {3: 16.266, 5: 20.515}
LEAST_SIGMAS = 20  # length of a true step, in its own sigmas, from which on it has a direction
AFTER = 5       # frames after a fault that still count as touched by it
NAMED, AGAIN, SIGMAS = 2, 3, 10  # what is wanted: frames, frames, sigmas
CHANCE, LEAST_SHARE = 0.05, 0.001  # what counts as more than clean

# Data sets: source, frames, windows of frames in which a fault is active, the truth's own standard deviations over a frame [m], [rad], and what
# is no gap at its rate of frames, 1.5 intervals [ms]. A set without gyro leaves the gyro's faults out. Over several frames the truth's
# deviations are so many times as large: they are errors of velocities (tests/geometry/truth.py).
#   flight  exact: the digits of its file, and single precision of R.
#   euroc   state estimate from IMU and laser tracker, by tests/geometry/truth.py. Translation: the accelerometer beside it, within 3 s, 0.17 mm;
#           both cameras beside it, which have their baseline in common, 0.24 mm a frame. Rotation: both cameras beside it, 9, 16 and 35e-5 rad
#           over 1, 2 and 5 frames, so at least 7e-5 a frame. It cannot be told by its own gyro, of which it is made. One jump by 5.7 mm: JUMPS.
#   kitti   inertial navigation with GPS, by the cameras of another drive, kitti05_vio: 4e-4 rad; 5 mm across the way. Along it the cameras
#           have their calibration in common: taken for as good as across.
#   kitti+1 the same with the principal point of camera 1 moved by the 1 px by which its disparities are too small (ego.py, metric): with the
#           calibration as it is no clean motion is within its bound, so that no fault can be told by that.
SETS = {
    "flight": ("synthetic", 80, [(20, 29), (50, 59)], 1e-7, 1e-7, 50),
    "euroc": (DATA / "euroc_mh01_a", 125, [(25, 34), (60, 69), (95, 104)], 1.7e-4, 7e-5, 75),
    "kitti": (DATA / "kitti01_stereo", 51, [(12, 17), (30, 35)], 5e-3, 4e-4, 155),
    "kitti+1": (DATA / "kitti01_stereo", 51, [(12, 17), (30, 35)], 5e-3, 4e-4, 155),
    "small": ("synthetic:400x256", 44, [(18, 25)], 1e-7, 1e-7, 50),
}
NO_GYRO = ["kitti", "kitti+1", "kitti tracks"]  # run without, though there are samples of an IMU
MOVED_PX = {"kitti+1": 1.0}  # principal point of camera 1
JUMPS = {"euroc": {16}, "euroc tracks": {16}}  # frames to which the truth jumps: their motions are not weighed
STATE_ONLY = {"euroc tracks": "euroc", "kitti tracks": "kitti"}  # replay --state-only
SETS.update({name: SETS[of] for name, of in STATE_ONLY.items()})
FULL = ["flight", "euroc", "kitti", "kitti+1", *STATE_ONLY]

# Rules that name a fault, "COLUMN OPERATOR VALUE": a column of health.csv, or `status` of faults.csv; `COLUMN rises` compares with the frame before.
# A column that health.csv does not have (yet) counts as silent; the head of the table lists these.
FROZEN_0, FROZEN_1 = ["frozen_0 > 0"], ["frozen_1 > 0"]
STEREO = ["stereo = suspect", "stereo = blind"]
DARK_0, DARK_1 = ["dark_permille_0 >= 900"], ["dark_permille_1 >= 900"]
BRIGHT_0, BRIGHT_1 = ["bright_permille_0 >= 900"], ["bright_permille_1 >= 900"]
STAMP = ["status = VFRONT_E_TIME", "gap > 0", "irregular > 0"]
LIGHT_0 = ["brightness_changed_0 > 0", "sharpness_changed_0 > 0"]
LIGHT_1 = ["brightness_changed_1 > 0", "sharpness_changed_1 > 0"]
BREAK = ["motion_breaks rises", "contradiction > 0"]  # a step that does not follow from the one before
LATE = ["late > 0", "repeated > 0"]
GYRO = ["gyro_short > 0", "gyro_stuck > 0", "contradiction > 0", "status = VFRONT_E_GYRO", "status = VFRONT_E_IMU"]
GENERAL = ["state = degraded", "state = lost", "quality < 50", "reset_counter rises", "motion_breaks rises", "gap > 0"]

# Faults: name in the table, lines of the script with {a} and {b} for the first and last frame of a window, rules that name it. Those that touch
# camera or clock come first. {a}- lasts from the first window to the end of the run.
FAULTS = [
    ("drop one frame", "{a} both drop", STAMP),
    ("drop", "{a}-{b} both drop", STAMP),
    ("duplicate", "{a}-{b} both duplicate", STAMP + FROZEN_0),
    ("freeze both", "{a}-{b} both freeze", FROZEN_0),
    ("freeze camera 0", "{a}-{b} camera0 freeze", FROZEN_0),
    ("freeze camera 1", "{a}-{b} camera1 freeze", FROZEN_1 + STEREO),
    ("stop both", "{a}-{b} both stop", ["missing > 0"]),
    ("stop camera 1", "{a}-{b} camera1 stop", ["missing > 0"]),
    ("freeze rows of both", "{a}-{b} both freeze-rows 30 70", FROZEN_0),
    ("freeze rows of camera 1", "{a}-{b} camera1 freeze-rows 30 70", FROZEN_1 + STEREO),
    ("black both", "{a}-{b} both black", DARK_0),
    ("black camera 0", "{a}-{b} camera0 black", DARK_0),
    ("black camera 1", "{a}-{b} camera1 black", DARK_1 + STEREO),
    ("white both", "{a}-{b} both white", BRIGHT_0),
    ("white camera 1", "{a}-{b} camera1 white", BRIGHT_1 + STEREO),
    ("noise, sigma 20", "{a}-{b} both noise 20", LIGHT_0 + BREAK),
    ("noise, sigma 255", "{a}-{b} both noise 255", LIGHT_0 + BREAK),
    ("blur, radius 6 px", "{a}-{b} both blur 6", LIGHT_0 + BREAK),
    ("blur of camera 1", "{a}-{b} camera1 blur 6", STEREO + LIGHT_1),
    ("dim to 15 %", "{a}-{b} both dim 15", DARK_0 + LIGHT_0 + BREAK),
    ("brighten to 400 %", "{a}-{b} both brighten 400", BRIGHT_0 + LIGHT_0 + BREAK),
    ("flip both", "{a}-{b} both flip", BREAK + STEREO),
    ("flip camera 1", "{a}-{b} camera1 flip", STEREO),
    ("swap cameras", "{a}-{b} both swap", STEREO),
    ("camera 1 late by 1", "{a}-{b} camera1 late 1", STEREO),
    ("camera 1 late by 5", "{a}-{b} camera1 late 5", STEREO + LATE),
    ("both late by 3", "{a}-{b} both late 3", LATE + BREAK + GYRO),
    ("stamp 1 h ahead, once", "{a} clock jump 3600", STAMP),
    ("stamp near 2^64, once", "{a} clock jump 2e10", STAMP),
    ("stamp 1 h ahead for good", "{a}- clock jump 3600", STAMP),
    ("stamp 0.5 s back, once", "{a} clock back 0.5", STAMP),
    ("stamp 0.5 s back for good", "{a}- clock back 0.5", STAMP),
    ("jitter of 5 ms", "{a}-{b} clock jitter 0.005", STAMP + GYRO),
    ("jitter of 80 ms", "{a}-{b} clock jitter 0.08", STAMP + GYRO),
    ("clock fast by 1 %", "{a}- clock drift 10000", STAMP + GYRO),
    ("gyro gap", "{a}-{b} gyro gap", GYRO),
    ("gyro gap of a half", "{a}-{b} gyro gap 50", GYRO),
    ("gyro stuck", "{a}-{b} gyro stuck", GYRO),
    ("gyro saturated", "{a}-{b} gyro saturated 0.1", GYRO),
    ("gyro bias", "{a}-{b} gyro bias 0.3 -0.3 0.3", GYRO),
    ("gyro axes swapped", "{a}-{b} gyro swapped xz", GYRO),
]
NAMING = {rule for _, _, rules in FAULTS for rule in rules}  # each of them is a false alarm in a clean run
NEVER = "4294967295 both black"  # the script of a clean run: not one frame is touched

# Bounds that --quick may not fall behind, unless it is within what is wanted: fault -> named within (None: it is not named), motions beyond the bound,
# good again within (None: not). `clean` -> least share of GOOD [%], motions beyond the bound, false alarms.
RECORDED = {
    "clean": (100, 0, 0),
    "drop": (1, 0, 2),
    "freeze both": (1, 0, 2),
    "freeze camera 1": (1, 0, 2),
    "stop both": (1, 0, 2),
    "freeze rows of both": (1, 0, 2),
    "black both": (1, 0, 2),
    "black camera 1": (1, 0, 2),
    "white both": (1, 0, 2),
    "noise, sigma 255": (1, 0, 2),
    "dim to 15 %": (1, 0, 2),
    "flip camera 1": (1, 0, 2),
    "swap cameras": (1, 0, 2),
    "camera 1 late by 1": (1, 5, 2),
    "stamp 1 h ahead, once": (1, 0, 2),
    "stamp 0.5 s back, once": (1, 0, 2),
    "jitter of 80 ms": (1, 0, 2),
    "gyro bias": (1, 0, 2),
}


# ---- files of a run -----------------------------------------------------------------------------------------------------------


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def rotation(q):
    x, y, z, w = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def rotation_vector(R):
    v = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = np.linalg.norm(v), 0.5 * (np.trace(R) - 1)
    angle = np.arctan2(sine, cosine)
    if sine > 1e-9:
        return v * angle / sine
    if cosine > 0:
        return v
    axis = np.sqrt(np.maximum(0, 0.5 * (np.diag(R) + 1)))  # half a turn: any sign
    return np.pi * axis / np.linalg.norm(axis)


def covariance(row):
    S = np.zeros((6, 6))
    S[np.triu_indices(6)] = [float(v) for v in list(row.values())[2:23]]
    return S + np.triu(S, 1).T


def distance2(R, t, R_true, t_true, S, truth_m, truth_rad):
    """Squared Mahalanobis distance of a motion from the true one."""
    e = np.concatenate([t_true - t, rotation_vector(R_true @ R.T)])
    total = S + np.diag([truth_m ** 2] * 3 + [truth_rad ** 2] * 3)
    if not np.all(np.isfinite(total)) or not np.all(np.isfinite(e)):
        return np.inf
    d2 = float(e @ np.linalg.solve(total, e))
    return d2 if d2 >= 0 else np.inf  # a covariance that is none


def relative_beyond(R, t, still, R_true, t_true, S, truth_m, truth_rad):
    """1 if a relative motion is beyond its bound: t is a direction, without variance along itself."""
    length = np.linalg.norm(t_true)
    keep = np.zeros((3, 6))
    keep[:, 3:] = np.eye(3)
    e, truth = rotation_vector(R_true @ R.T), [truth_rad ** 2] * 3
    if not still and length > LEAST_SIGMAS * truth_m:
        across = np.linalg.svd(t[None])[2][1:]
        keep = np.vstack([np.hstack([across, np.zeros((2, 3))]), keep])
        e, truth = np.concatenate([across @ (t_true / length - t), e]), [(truth_m / length) ** 2] * 2 + truth
    total = keep @ S @ keep.T + np.diag(truth)
    d2 = float(e @ np.linalg.solve(total, e)) if np.all(np.isfinite(total)) else np.inf
    opposite = not still and len(e) == 5 and t @ t_true < 0
    return int(not 0 <= d2 <= BOUND_OF[len(e)] or opposite)


class Step:
    """A delivery, and what the front end made of it."""

    def __init__(self, row):
        self.input, self.faults, self.status = int(row["input"]), row["faults"], row["status"]
        self.health, self.before, self.weighed = None, None, True
        self.d2, self.relative = None, None  # of a GOOD metric motion; of a GOOD relative one, whether beyond

    def obeys(self, rule):
        column, operator, *value = rule.split()
        if column == "status":
            return self.status == value[0]
        if not self.health or column not in self.health:
            return False
        now = self.health[column]
        if operator == "rises":
            return self.before is not None and float(now) > float(self.before[column])
        if operator == "=":
            return now == value[0]
        return {">": float.__gt__, ">=": float.__ge__, "<": float.__lt__}[operator](float(now), float(value[0]))

    def sign(self, rules):
        """The first rule that it obeys, as its column; first frames have nothing before them to compare with."""
        if self.health and self.health["state"] == "starting":
            return None
        return next((rule.split()[0] if "status" not in rule else rule.split()[2] for rule in rules if self.obeys(rule)), None)


def weigh(step, motion, S, before, now, truth_m, truth_rad):
    """A GOOD motion against ground truth; before, now: lines of truth.txt."""
    R_now = rotation(now[4:8])
    R_true, t_true = R_now.T @ rotation(before[4:8]), R_now.T @ (before[1:4] - now[1:4])
    R = rotation([float(motion[k]) for k in ("qx", "qy", "qz", "qw")])
    t = np.array([float(motion[k]) for k in ("tx", "ty", "tz")])
    if motion["which"] == "metric":
        step.d2 = distance2(R, t, R_true, t_true, S, truth_m, truth_rad)
    else:
        step.relative = relative_beyond(R, t, "still" in motion["flags"].split(), R_true, t_true, S, truth_m, truth_rad)


def read_run(folder, windows, truth_m, truth_rad, jumps):
    """Deliveries of a run in order. Rows of the other files are matched by order, since a reset may begin to count frames anew."""
    steps = [Step(row) for row in rows_of(folder / "faults.csv")]
    touched, wanted = {s.input for s in steps if s.faults}, {i for a, b in windows for i in range(a, b + 1)}
    if touched != wanted:
        raise RuntimeError(f"{folder}: faults in frames {sorted(touched)}, expected {sorted(wanted)}")
    health, poses = rows_of(folder / "health.csv"), np.loadtxt(folder / "truth.txt", ndmin=2)
    taken = [step for step in steps if step.status == "ok"]
    if not len(taken) == len(health) == len(poses):
        raise RuntimeError(f"{folder}: {len(taken)} frames taken, {len(health)} rows of health, {len(poses)} of ground truth")
    interval = np.median(np.diff(poses[:, 0]))
    motions, covariances = iter(rows_of(folder / "motion.csv")), iter(rows_of(folder / "covariance.csv"))
    motion = next(motions, None)
    for i, (step, row) in enumerate(zip(taken, health)):
        step.health, step.before, step.weighed = row, health[i - 1] if i else None, step.input not in jumps
        while motion and motion["frame"] == row["frame"]:
            if motion["state"] == "good":
                S = covariance(next(covariances))
            if motion["state"] == "good" and step.weighed:
                frames = max(1.0, (poses[i][0] - poses[i - 1][0]) / interval)
                weigh(step, motion, S, poses[i - 1], poses[i], frames * truth_m, frames * truth_rad)
            motion = next(motions, None)
    return steps


# ---- runs ---------------------------------------------------------------------------------------------------------------------


def windows_of(name, line):
    """Windows of a fault on a set; one that lasts begins with the first window and ends with the run."""
    _, frames, windows, *_ = SETS[name]
    if "{a}-{b}" in line:
        return windows
    return [(windows[0][0], frames - 1)] if "{a}- " in line else [(a, a) for a, _ in windows]


def move_calibration(source, by_px, path):
    """KITTI's calib.txt with another principal point of camera 1."""
    lines = [line.split() for line in (source / "calib.txt").read_text().splitlines()]
    path.write_text("".join(" ".join(w[:3] + [repr(float(w[3]) + by_px)] + w[4:] if w and w[0] == "P1:" else w) + "\n" for w in lines))
    return ["--calibration", str(path)]


def run(replay, name, line, folder):
    source, frames, _, truth_m, truth_rad, gap_ms = SETS[name]
    windows = windows_of(name, line) if line else []
    if (folder / "done").exists():
        return read_run(folder, windows, truth_m, truth_rad, JUMPS.get(name, set())), windows
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "faults.txt"
    script.write_text("\n".join(line.format(a=a, b=b) for a, b in windows) if line else NEVER)
    command = [replay, "--quiet", "--port", "host", "--frames", str(frames), "--fault", str(script), "--set", f"health_gap_ms={gap_ms}",
               "--tables", "frames", "--out", str(folder), str(source)]
    command += ["--no-gyro"] if name in NO_GYRO else []
    command += ["--state-only"] if name in STATE_ONLY else []
    command += ["--set", "vio=0"] if str(source).startswith("synthetic") else []  # a gyro, no IMU
    command += move_calibration(source, MOVED_PX[name], folder / "calib.txt") if name in MOVED_PX else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    (folder / "done").touch()
    for unused in ("tracks", "keypoints", "descriptors", "depth", "matches"):
        (folder / f"{unused}.csv").unlink(missing_ok=True)
    return read_run(folder, windows, truth_m, truth_rad, JUMPS.get(name, set())), windows


# ---- figures ------------------------------------------------------------------------------------------------------------------


def chance(count, of, part):
    """Probability of at least `count` of a number that each happen with probability `part`."""
    return sum(math.comb(of, k) * part ** k * (1 - part) ** (of - k) for k in range(count, of + 1))


def share(values):
    return sum(v > BOUND for v in values) / len(values) if values else 0.0


class Clean:
    def __init__(self, steps):
        d2 = [s.d2 for s in steps if s.d2 is not None]
        self.steps, self.motions = sum(s.weighed for s in steps) - 1, len(d2)
        self.good, self.beyond, self.count = len(d2) / self.steps, share(d2), sum(v > BOUND for v in d2)
        self.worst = max(d2, default=0.0) ** 0.5
        relative = [s.relative for s in steps if s.relative is not None]
        self.relative = f"{sum(relative)} of {len(relative)}"
        self.d2 = {s.input: s.d2 for s in steps if s.d2 is not None}
        self.alarms = {}
        for step in steps:
            for rule in NAMING | set(GENERAL):
                if step.sign([rule]):
                    self.alarms[rule] = self.alarms.get(rule, 0) + 1


class Row:
    def __init__(self, fault, steps, windows, clean):
        self.fault, (_, line, rules) = fault[0], fault
        delivered = [s for s in steps if s.status != "dropped"]
        ends = [b for _, b in windows]
        nexts = [a for a, _ in windows[1:]] + [1 << 40]
        self.named, self.by = self.delay(delivered, windows, nexts, rules)
        self.noticed, self.sign = self.delay(delivered, windows, nexts, GENERAL + ["status = VFRONT_E_TIME", "status = VFRONT_E_GYRO", "status = VFRONT_E_IMU"])
        near = [s for s in delivered for a, b in windows if a <= s.input <= b]
        near += [s for b in ends for s in [s for s in delivered if s.input > b][:AFTER]]
        d2 = [s.d2 for s in near if s.d2 is not None]
        self.clean = max(clean.beyond, share([clean.d2[i] for i in sorted({s.input for s in near}) if i in clean.d2]))
        self.chance = chance(sum(v > BOUND for v in d2), len(d2), max(LEAST_SHARE, self.clean))
        self.motions, self.count, self.share, self.worst = len(d2), sum(v > BOUND for v in d2), share(d2), max(d2, default=0.0) ** 0.5
        self.new = sum(s.d2 is not None and s.d2 > BOUND and not clean.d2.get(s.input, 0.0) > BOUND for s in near)
        relative = [s.relative for s in near if s.relative is not None]
        self.relative = f"{sum(relative)}/{len(relative)}"
        self.lasts = "{a}- " in line
        again = [self.recovery([s for s in delivered if b < s.input < n]) for b, n in zip(ends, nexts)]
        self.again = None if self.lasts or None in again else max(again)
        self.verdict = "".join(letter if reached else "." for letter, reached in (
            ("N", self.named is not None and self.named <= NAMED), ("S", self.chance >= CHANCE),
            ("W", self.worst <= SIGMAS), ("A", self.lasts or (self.again or AGAIN + 1) <= AGAIN)))

    @staticmethod
    def recovery(after):
        return next((i + 1 for i, s in enumerate(after) if s.d2 is not None), None)

    @staticmethod
    def delay(delivered, windows, nexts, rules):
        """Frames to the first sign in the worst window, and the signs; None: not in every window."""
        worst, signs = 0, []
        for (a, b), n in zip(windows, nexts):
            inside = [s for s in delivered if a <= s.input <= b]
            after = [s for s in delivered if b < s.input < n][:NAMED + 1]
            found = next(((i + 1, s.sign(rules)) for i, s in enumerate(inside + after) if s.sign(rules)), None)
            if not found:
                return None, "-"
            worst = max(worst, found[0])
            signs += [found[1]] if found[1] not in signs else []
        return worst, " ".join(signs)

    def text(self):
        bound = "-" if not self.motions else f"{100 * self.share:.1f}" if self.count else f"<{300 / self.motions:.1f}"
        again = "lasts" if self.lasts else "never" if self.again is None else str(self.again)
        def within(delay):
            return "-" if delay is None else str(delay)
        return (f"{self.fault:26s} {within(self.named):>5s} {self.by[:24]:24s} {within(self.noticed):>7s} {self.sign[:22]:22s} {self.motions:4d} "
                f"{self.count:6d} {bound:>6s} {100 * self.clean:6.1f} {self.chance:6.3f} {self.new:4d} {min(self.worst, 1e6):9.3g} "
                f"{self.relative:>8s} {again:>6s}  {self.verdict}")


HEAD = (f"{'fault':26s} {'named':>5s} {'by':24s} {'noticed':>7s} {'by':22s} {'N':>4s} {'beyond':>6s} {'[%]':>6s} {'clean':>6s} {'chance':>6s} {'new':>4s} "
        f"{'worst':>9s} {'relative':>8s} {'again':>6s}  verdict")


def columns_missing(folder):
    there = set(rows_of(folder / "health.csv")[0])
    wanted = {r.split()[0] for _, _, rules in FAULTS for r in rules + GENERAL if not r.startswith("status")}
    return sorted(wanted - there)


def table(replay, name, faults, folder, jobs):
    """Lines of the table of a set, its rows, and the clean run."""
    clean_steps, _ = run(replay, name, None, folder / name / "clean")
    clean = Clean(clean_steps)
    faults = [f for f in faults if not (name in NO_GYRO and " gyro " in f[1])]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda f: run(replay, name, f[1], folder / name / re.sub("[^a-z0-9]+", "-", f[0])), faults))
    rows = [Row(fault, steps, windows, clean) for fault, (steps, windows) in zip(faults, done)]
    alarms = {rule: n for rule, n in clean.alarms.items() if rule in NAMING}
    general = {rule: n for rule, n in clean.alarms.items() if rule not in NAMING}

    def listed(counts):
        return f"{sum(counts.values())}" + (f" ({', '.join(f'{k}: {n}' for k, n in sorted(counts.items()))})" if counts else "")
    source, frames, windows, truth_m, truth_rad, _ = SETS[name]
    lines = [f"== {name}: {frames} frames of {pathlib.Path(source).name}, faults in frames {', '.join(f'{a}-{b}' for a, b in windows)}; "
             f"truth {1000 * truth_m:g} mm, {truth_rad:g} rad",
             f"clean: GOOD {100 * clean.good:.1f} % of {clean.steps} steps; beyond the bound {clean.count} of {clean.motions}, "
             f"worst {clean.worst:.3g} sigma; relative {clean.relative}; false alarms {listed(alarms)}; general signs {listed(general)}",
             "no such column: " + (", ".join(columns_missing(folder / name / "clean")) or "none"), HEAD]
    lines += [row.text() for row in rows]
    lines.append(f"reached: " + ", ".join(f"{letter} {sum(letter in row.verdict for row in rows)} of {len(rows)}" for letter in "NSWA"))
    return lines, rows, clean


# ---- checks -------------------------------------------------------------------------------------------------------------------


def sources():
    return subprocess.run([ROOT / "tests/house/sources.sh"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def check_distance():
    """The measure itself, on errors drawn from a covariance: 0.1 % beyond; on twice as large errors far more. Returns the number of failures."""
    random, beyond = np.random.default_rng(1), [0, 0]
    A = random.normal(size=(6, 6)) * np.array([1e-3] * 3 + [1e-4] * 3)[:, None]
    S, draws = A @ A.T, 20000
    root = np.linalg.cholesky(S)
    for i in range(2):
        for _ in range(draws):
            e = (i + 1) * root @ random.normal(size=6)
            angle = np.linalg.norm(e[3:])
            x, y, z = e[3:] / angle * np.sin(angle / 2)
            R = rotation([x, y, z, np.cos(angle / 2)])
            beyond[i] += distance2(np.eye(3), np.zeros(3), R, e[:3], S, 1e-9, 1e-9) > BOUND
    good = 8 <= beyond[0] <= 36 and beyond[1] > 2000
    print(f"measure: {beyond[0]} of {draws} drawn errors beyond the 99.9 % bound, {beyond[1]} of twice as large ones{'' if good else ': WRONG'}")
    return 0 if good else 1


def check_recorded(rows, clean):
    bad, alarms = 0, sum(n for rule, n in clean.alarms.items() if rule in NAMING)
    least, beyond, most = RECORDED["clean"]
    if 100 * clean.good < least or clean.count > beyond or alarms > most:
        print(f"clean: GOOD {100 * clean.good:.1f} %, {clean.count} beyond, {alarms} false alarms; recorded {least} %, {beyond}, {most}")
        bad += 1
    for row in rows:
        named, count, again = RECORDED[row.fault]
        for what, is_, was, wanted in (("named within", row.named, named, NAMED), ("good again within", row.again, again, AGAIN)):
            if was is not None and (is_ is None or is_ > max(was, wanted)):
                print(f"{row.fault}: {what} {is_} frames, recorded {was}")
                bad += 1
        if row.count > count:
            print(f"{row.fault}: {row.count} GOOD motions beyond the bound, recorded {count}")
            bad += 1
    return bad


def say_state():
    """True if tests/faults.txt is of these sources."""
    path, digest = ROOT / "tests/faults.txt", sources()
    held = path.read_text().splitlines()[1] if path.exists() else "is missing"
    print(f"tests/faults.txt: {held}" + ("" if digest in held else f"; these sources are {digest}: make faults"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replay")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("--sets")
    parser.add_argument("--faults", default="")
    parser.add_argument("--keep")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    args = parser.parse_args()
    names = args.sets.split(",") if args.sets else ["small"] if args.quick else FULL
    if unknown := [n for n in names if n not in SETS]:
        parser.error(f"--sets {unknown[0]}: expected {', '.join(SETS)}")
    missing = [n for n in names if isinstance(SETS[n][0], pathlib.Path) and not SETS[n][0].exists()]
    for name in missing:
        print(f"{name}: SKIPPED, no {SETS[name][0]}")
    faults = [f for f in FAULTS if args.faults in f[0] and (not args.quick or f[0] in RECORDED)]
    bad, lines = check_distance(), []
    folder = pathlib.Path(args.keep or tempfile.mkdtemp(prefix="vfront-faults-"))
    try:
        for name in [n for n in names if n not in missing]:
            of_set, rows, clean = table(args.replay, name, faults, folder, args.jobs)
            print("\n".join(of_set), flush=True)
            lines += of_set + [""]
            bad += check_recorded(rows, clean) if args.quick else 0
    except (RuntimeError, OSError) as error:
        print(f"faults: {error}")
        return 1
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if args.write and missing:
        print(f"{args.write}: not written, {', '.join(missing)} missing")
    elif args.write and lines:
        head = f"Faults of camera, clock and gyro (make faults; tests/examples/faults.py says what the columns are).\n" \
               f"{datetime.date.today()}, sources {sources()}, port host\n\n"
        pathlib.Path(args.write).write_text(head + "\n".join(lines))
    if args.quick:
        say_state()
    return 1 if bad else 77 if not lines else 0


if __name__ == "__main__":
    sys.exit(main())
