#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recorded sets under changes of frame rate, lost pairs, start, gyro bias and rig, alone and in drawn combinations: how the state holds.

    tests/nav/rates.py build/bridge_nav.so [--short | --quick] [--only WORD] [--seed N] [--runs N] [--jobs N] [--set NAME=VALUE ...]
                       [--json FILE] [--compare FILE]

--short    16 rows of MH_01, for work on the estimator: a minute on two free cores.
--quick    A sample, whose bounds are asserted.
--only     Rows whose label contains the word ("half", "mono", "kitti").
--seed     Of all draws, 1. --runs: drawn combinations, 200. --jobs: processes, as many as there are processors.
--json     Writes figures of all rows and of each run to FILE. --compare: each row beside those of such a FILE, of the same seed:
           its ATE over the earlier one, run by run, geometric mean; then which figures are better and worse.

Host port, default tuning. Sets lie in $VFRONT_DATA or ../shared/data beside the project; missing ones are skipped. Exit status: 77 if all are
missing, 1 if a bound of --quick does not hold, 2 for a wrong option, else 0.

Changes. full, half, third, quarter: every pair, every second, third, fourth one. lost: each pair is lost with that probability, 5 draws; its IMU
samples come with the next pair. starts: 20 first frames, one drawn from each twentieth of the set but for its last 3 s. bias: added to the gyro
from the start, its direction drawn, 5 draws. describe=0: without descriptors; state_only=1: vfront_tuning_state(), without key points. Rigs: stereo (two cameras and IMU), mono (camera 0 and IMU), no-imu (two cameras).
Combinations, on MH_01, each drawn uniformly: rig; rate of four; lost 0, 10, 30, 50 %; first frame as above; bias 0, 0.03, 0.1 rad/s (0 without
IMU). Their rows pool the runs that have a value, and those with so many of the four changes.

A state is valid if it is GOOD, COASTING or STEREO_ONLY; best is GOOD, without IMU STEREO_ONLY.
runs, none  Runs; those without an ATE: fewer than 5 valid states, or over less than 0.5 s (at rest 0.3 s).
soon        Runs with a valid state within 1 s of their first frame [%].
good        Frames from 1 s after the first one on whose state is best [%]. valid: whose state is valid.
resets      Sum of nav.reset_counter.
ATE         Root mean square position error of all valid states, after the turn about z and the shift that fit best (any turn where most of the
            states have no gravity): median, worst run [mm].
full        Rigid ATE over that of the full-rate run of the same set and rig in the time that both have: geometric mean, worst.
motions     ATE of chained metric motions over the frames of these states, after any turn and shift, median [mm]. A motion that is not GOOD is
            replaced by velocity and rate of the last GOOD one. ratio: ATE of the states, after any turn, over it: geometric mean. GOOD: motions [%].
before 5 s, from 5 s  Attitude error over a second (+-0.15 s), root mean square over the pairs of frames of one trajectory that begin before or
            from 5 s after the first frame on: of states, of chained motions [deg], and their ratio.
NEES        e' (S + T)^-1 e / 3, in the mean over frames, 1 is right: position, attitude, velocity of valid states, truth turned about z and shifted to
            the first state of each trajectory; translation and rotation of GOOD metric motions. S: own covariance, T: the truth's (rates_runs.TRUTH).
            Positions and velocities of MH_01's truth come 6.4 ms late (rates_runs.LATE_NS).
beyond      Frames and axes of position, attitude, velocity beyond 3 deviations of S + T [%]: 0.27 is right.
off         Best frames off by over 5 deviations and 5 cm, or 5 deviations and 2 degrees, on an axis of position or attitude [%].
"""
import argparse
import concurrent.futures
import json
import multiprocessing
import os
import re
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixture"))
from pictures import DATA, need_data
from rates_runs import FRAMES, MONO, NO_IMU, RIGS, STEREO, Flight, Run, ate, figures, fly

MH, STATIC, DRIVES = "euroc_mh01_a", "euroc_v101_static_a", ("kitti05_vio", "kitti01_stereo")
RATES = {1: "full", 2: "half", 3: "third", 4: "quarter"}
OFF = ("describe=0", "state_only=1")  # tuning value, or 1: vfront_tuning_state()
LOST, BIASES, DRAWS, STARTS, REST_S = (10, 30, 50), (0.03, 0.1), 5, 20, 3.0
LAST_START = FRAMES[MH] - round(20 * REST_S)  # of MH_01, at 20 Hz
FLIGHTS = {}  # by set, loaded before the processes begin


# ---- rows ---------------------------------------------------------------------------------------------------------------------------


def starts(seed, count):
    """First frames: one drawn from each part of the set."""
    parts = np.linspace(0, LAST_START, count + 1)
    return [int(f) for f in np.random.default_rng((seed, 3)).uniform(parts[:-1], parts[1:])]


def alone(seed):
    """Rows of each change alone: label, runs."""
    rows = []
    for rig in RIGS:
        one = Run(MH, rig)
        rows += [(f"{rig} {RATES[n]}", [one._replace(every=n)]) for n in RATES]
        rows += [(f"{rig} lost {n} %", [one._replace(loss=n, seed=seed * 100 + k) for k in range(DRAWS)]) for n in LOST]
        rows += [(f"{rig} starts", [one._replace(start=k) for k in starts(seed, STARTS)])]
        rows += [(f"{rig} bias {b}", [one._replace(bias=b, seed=seed * 100 + k) for k in range(DRAWS)]) for b in BIASES if rig != NO_IMU]
        rows += [(f"{rig} {off}", [one._replace(off=off)]) for off in OFF]
    for rig in RIGS:
        one = Run(STATIC, rig)
        rows += [(f"rest {rig}", [one])]
        rows += [(f"rest {rig} bias {b}", [one._replace(bias=b, seed=seed * 100 + k) for k in range(DRAWS)]) for b in BIASES if rig != NO_IMU]
    for name in DRIVES:
        rows += [(f"{name[:7]} {rig} {RATES[n]}", [Run(name, rig, every=n)]) for rig in RIGS for n in (1, 2)]
    return rows


def combinations(seed, count):
    """Drawn runs of MH_01."""
    runs = []
    for k in range(count):
        r = np.random.default_rng((seed, 4, k))
        rig, every, loss = RIGS[r.integers(3)], int(r.integers(1, 5)), int(r.choice((0,) + LOST))
        start, bias = int(r.integers(LAST_START + 1)), float(r.choice((0.0,) + BIASES))
        runs.append(Run(MH, rig, every, loss, start, 0.0 if rig == NO_IMU else bias, seed * 100_000 + k))
    return runs


def pooled(runs):
    """Rows of the combinations by what they have."""
    rows = [("drawn all", runs)] + [(f"drawn {rig}", [r for r in runs if r.rig == rig]) for rig in RIGS]
    rows += [(f"drawn {RATES[n]}", [r for r in runs if r.every == n]) for n in RATES]
    rows += [(f"drawn lost {n} %", [r for r in runs if r.loss == n]) for n in (0,) + LOST]
    rows += [(f"drawn bias {b:g}", [r for r in runs if r.bias == b and r.rig != NO_IMU]) for b in (0.0,) + BIASES]
    rows += [(f"drawn {n} changes", [r for r in runs if (r.every > 1) + (r.loss > 0) + (r.start > 0) + (r.bias > 0) == n]) for n in (1, 2, 3, 4)]
    return [(label, some) for label, some in rows if some]


def short(seed):
    """Rows of --short: of MH_01, with fewer draws."""
    kept = {"stereo full": 1, "stereo half": 1, "stereo third": 1, "stereo quarter": 1, "stereo lost 30 %": 2, "stereo lost 50 %": 3, "stereo starts": 5,
            "stereo bias 0.03": 1, "stereo bias 0.1": 1, "stereo describe=0": 1, "no-imu state_only=1": 1, "mono full": 1, "mono half": 1, "no-imu full": 1, "no-imu half": 1}
    rows = [(label, runs[::len(runs) // kept[label]][:kept[label]]) for label, runs in alone(seed) if label in kept]
    return rows + [("drawn all", combinations(seed, 10))]


def quick(seed):
    """Rows of --quick."""
    return [(label, runs[::7]) for label, runs in alone(seed) if label in BOUNDS]


# ---- figures of a row ---------------------------------------------------------------------------------------------------------------


def one(task):
    run, library, tuning = task
    flight = FLIGHTS[run.set]
    return figures(flight, run, *fly(flight, run, library, tuning))


def full_ratio(result, whole):
    """Rigid ATE over that of the full-rate run, in the time that both have; None without one of them."""
    a, b = result["path"], whole["path"]
    if not len(a) or not len(b):
        return None
    begin, end = max(a[0, 0], b[0, 0]) - 1e-6, min(a[-1, 0], b[-1, 0]) + 1e-6
    own, other = [ate(rows[(rows[:, 0] >= begin) & (rows[:, 0] <= end)], True) for rows in (a, b)]
    return own / other if own and other else None


def geometric(values):
    values = [v for v in values if v]
    return float(np.exp(np.mean(np.log(values)))) if values else None


def percent(parts):
    """Of pairs (count, all)."""
    some, every = np.array(parts).reshape(-1, 2).sum(0)
    return float(100 * some / every) if every else None


def degrees(pairs, k):
    return float(np.degrees(np.sqrt((pairs[:, k]**2).mean()))) if len(pairs) else None


def mean(values):
    return float(np.mean(values)) if len(values) else None


def summed(results, by_run):
    """Figures of a row, by column."""
    ates = [1e3 * r["ate"] for r in results if r["ate"] is not None]
    chained = [1e3 * r["chained"] for r in results if r["chained"] is not None]
    ratios = [full_ratio(r, by_run[Run(r["run"].set, r["run"].rig)]) for r in results if r["run"] != Run(r["run"].set, r["run"].rig)]
    pairs = np.concatenate([r["seconds"] for r in results])
    metric = any(r["run"].rig != MONO for r in results)
    if metric:
        pairs = np.concatenate([r["seconds"] for r in results if r["run"].rig != MONO])
    row = {"runs": len(results), "none": sum(r["ate"] is None for r in results), "soon": percent([(r["soon"], 1) for r in results]),
           "good": percent([r["good"] for r in results]), "valid": percent([r["valid"] for r in results]), "resets": sum(r["resets"] for r in results),
           "ATE": float(np.median(ates)) if ates else None, "worst": max(ates) if ates else None,
           "full": geometric(ratios), "worst full": max([x for x in ratios if x], default=None), "motions": float(np.median(chained)) if chained else None,
           "ratio": geometric([r["rigid"] / r["chained"] for r in results if r["rigid"] and r["chained"]]), "GOOD": percent([r["metric"] for r in results])}
    for late, name in ((0, "before"), (1, "from")):
        some = pairs[pairs[:, 0] == late]
        state, motion = degrees(some, 1), degrees(some, 2) if metric else None
        row.update({f"{name} state": state, f"{name} motions": motion, f"{name} ratio": state / motion if state and motion else None})
    for k, name in enumerate(("NEES p", "NEES w", "NEES v")):
        row[name] = mean(np.concatenate([r["nees"][k] for r in results]))
    for k, name in enumerate(("NEES t", "NEES R")):
        row[name] = mean(np.concatenate([r["motion_nees"][:, k] for r in results]))
    row["beyond"] = percent([(r["beyond"].sum(), r["beyond"].size) for r in results])
    row["off"] = percent([r["wrong"] for r in results])
    return row


# ---- tables -------------------------------------------------------------------------------------------------------------------------

# Column: title, width, digits.
FIRST = [("runs", "runs", 4, 0), ("none", "none", 4, 0), ("soon", "soon", 5, 0), ("good", "good", 6, 1), ("valid", "valid", 6, 1), ("resets", "resets", 6, 0), ("ATE", "ATE", 8, 1), ("worst", "worst", 8, 1),
         ("full", "/full", 6, 2), ("worst full", "worst", 6, 2), ("motions", "motions", 8, 1), ("ratio", "ratio", 6, 2), ("GOOD", "GOOD", 6, 1)]
SECOND = [("before state", "<5s state", 9, 3), ("before motions", "motions", 7, 3), ("before ratio", "ratio", 6, 2), ("from state", ">5s state", 9, 3),
          ("from motions", "motions", 7, 3), ("from ratio", "ratio", 6, 2), ("NEES p", "NEES p", 7, 2), ("NEES w", "w", 7, 2), ("NEES v", "v", 7, 2), ("NEES t", "motion t", 8, 2),
          ("NEES R", "R", 6, 2), ("beyond", "beyond", 6, 1), ("off", "off", 6, 1)]
LABEL = 24


def line(label, row, columns):
    cells = ["-" if row.get(c) is None else f"{row[c]:.{digits}f}" for c, _, _, digits in columns]
    return f"{label:{LABEL}s}" + " ".join(f"{cell:>{width}s}" for cell, (_, _, width, _) in zip(cells, columns))


def paired(label, runs, ates, before):
    """Geometric mean of the ATE of the row's runs over those of the earlier ones, and runs that have an ATE in one of both alone."""
    both = [(ates[key(r)], before["ates"].get(key(r))) for r in runs if key(r) in before["ates"]]
    ratio = geometric([a / b for a, b in both if a and b])
    gained, lost = sum(bool(a and not b) for a, b in both), sum(bool(b and not a) for a, b in both)
    return ("" if ratio is None else f"  ATE x {ratio:.3f}") + (f", {gained} more with a state" if gained else "") + (f", {lost} FEWER with a state" if lost else "")


def key(run):
    return " ".join(str(x) for x in run).strip()


def tables(rows, found, ates, before):
    for columns in (FIRST, SECOND):
        print(line("", {}, []) + " ".join(f"{title:>{width}s}" for _, title, width, _ in columns))
        for label, runs in rows:
            print(line(label, found[label], columns) + (paired(label, runs, ates, before) if before and columns is FIRST else ""))
            if before:
                print(line("  before", before["rows"][label], columns) if label in before["rows"] else "  before: no such row")
        print()


# Columns whose changes --compare sums up: larger is better, smaller is better, 1 is right. The least change [% points], else a factor.
LARGER, SMALLER = ("soon", "good", "valid", "GOOD"), ("none", "resets", "ATE", "worst", "motions", "before state", "before motions", "from state", "from motions", "beyond", "off")
RIGHT_AT_1, POINTS, FACTOR = ("NEES p", "NEES w", "NEES v", "NEES t", "NEES R"), 1.0, 1.05


def change(column, now, was):
    """1: better, -1: worse, 0: neither."""
    if now is None or was is None:
        return (was is None) - (now is None)
    if column in RIGHT_AT_1:
        now, was = [abs(np.log(max(x, 1e-9))) for x in (now, was)]
        return int(was - now > np.log(FACTOR)) - int(now - was > np.log(FACTOR))
    counted = column in ("none", "resets") or column in LARGER or column in ("beyond", "off")
    enough = abs(now - was) >= POINTS if counted else max(now, was) > FACTOR * min(now, was)
    return (1 if (now > was) == (column in LARGER) else -1) if enough else 0


def summary(rows, found, before):
    """Prints which figures of which rows are better and worse than before."""
    for sign, word in ((1, "better"), (-1, "WORSE")):
        for label, _ in rows:
            was = before["rows"].get(label, {})
            changed = [c for c in LARGER + SMALLER + RIGHT_AT_1 if c in was and change(c, found[label][c], was[c]) == sign]
            if changed:
                print(f"{word:6s} {label:{LABEL}s}" + ", ".join(f"{c} {'-' if was[c] is None else round(was[c], 3)} -> {'-' if found[label][c] is None else round(found[label][c], 3)}" for c in changed))


# ---- command line -------------------------------------------------------------------------------------------------------------------

# Of --quick: what holds today and must not get worse. Column, least, most; ATE [mm], NEES an element.
BOUNDS = {
    "stereo full": (("soon", 100, 100), ("good", 95, 100), ("resets", 0, 0), ("ATE", 0, 10), ("GOOD", 95, 100), ("NEES p", 0, 10), ("NEES w", 0, 10), ("beyond", 0, 25), ("off", 0, 0)),
    "stereo starts": (("soon", 100, 100), ("good", 95, 100), ("resets", 0, 0), ("worst", 0, 15), ("off", 0, 0)),
    "mono full": (("good", 80, 100), ("resets", 0, 0), ("ATE", 0, 40), ("off", 0, 0)),
    "no-imu full": (("soon", 100, 100), ("good", 95, 100), ("resets", 0, 0), ("ATE", 0, 10), ("GOOD", 95, 100), ("beyond", 0, 25), ("off", 0, 0)),
    **{f"no-imu {rate}": (("soon", 100, 100), ("good", 95, 100), ("resets", 0, 0), ("ATE", 0, 6), ("off", 0, 0)) for rate in ("half", "third", "quarter")},
    "stereo describe=0": (("soon", 100, 100), ("good", 95, 100), ("resets", 0, 0), ("ATE", 0, 10), ("GOOD", 95, 100), ("off", 0, 0)),
    "no-imu state_only=1": (("soon", 100, 100), ("good", 95, 100), ("resets", 0, 0), ("ATE", 0, 15), ("GOOD", 95, 100)),
    "rest stereo": (("soon", 100, 100), ("resets", 0, 0), ("off", 0, 0)),
    "kitti05 stereo full": (("good", 90, 100), ("resets", 0, 0), ("ATE", 0, 500)),
}


def broken(found):
    """Prints the bounds of --quick that do not hold. Returns their number."""
    bad = [(label, column, row[column], least, most) for label, row in found.items() for column, least, most in BOUNDS[label]
           if row[column] is None or not least <= row[column] <= most]
    for label, column, value, least, most in bad:
        print(f"{label}: {column} is {value if value is None else round(value, 3)}, not in {least}..{most}")
    return len(bad)


def asked(args):
    """Rows to make."""
    if args.quick:
        rows = quick(args.seed)
    elif args.short:
        rows = short(args.seed)
    else:
        rows = alone(args.seed) + pooled(combinations(args.seed, args.runs))
    return [row for row in rows if args.only in row[0]]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--json")
    parser.add_argument("--compare")
    args = parser.parse_args()
    if not os.path.exists(args.library):
        parser.error(f"no {args.library}: make build/bridge_nav.so")
    if args.jobs < 1 or args.runs < 0 or args.seed < 0:
        parser.error("--jobs at least 1, --runs and --seed at least 0")
    if [word for word in args.set if not re.fullmatch(r"\w+=-?\d+", word)]:
        parser.error("--set NAME=VALUE")
    return parser, args


def earlier(parser, args):
    """Figures of --compare, or None."""
    if not args.compare:
        return None
    try:
        with open(args.compare) as f:
            before = json.load(f)
        if before["seed"] != args.seed:
            parser.error(f"{args.compare} has seed {before['seed']}, not {args.seed}")
        return before
    except (OSError, ValueError, KeyError, TypeError) as why:
        return parser.error(f"--compare {args.compare}: {why!r}")


def fly_all(runs, args):
    """Results by run. Progress goes to the terminal, if there is one."""
    tasks, found, begun = sorted(runs, key=lambda r: (r.start - FRAMES[r.set]) / r.every), {}, time.time()
    try:
        terminal = open("/dev/tty", "w")
    except OSError:
        terminal = open(os.devnull, "w")
    with concurrent.futures.ProcessPoolExecutor(args.jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        for result in pool.map(one, [(run, args.library, args.set) for run in tasks]):
            found[result["run"]] = result
            print(f"{len(found)} of {len(tasks)} runs, {time.time() - begun:.0f} s", end="\r", file=terminal, flush=True)
    terminal.close()
    return found


def main():
    parser, args = arguments()
    before = earlier(parser, args)
    need_data()
    rows = asked(args)
    missing = sorted({r.set for _, runs in rows for r in runs if not os.path.isdir(os.path.join(DATA, r.set))})
    for name in missing:
        print(f"SKIPPED, no {os.path.join(DATA, name)}")
    rows = [(label, runs) for label, runs in rows if not {r.set for r in runs} & set(missing)]
    if not rows:
        print("no rows")
        return 77 if missing else 2
    runs = {r for _, some in rows for r in some} | {Run(r.set, r.rig) for _, some in rows for r in some}
    FLIGHTS.update((name, Flight(name)) for name in sorted({r.set for r in runs}))
    by_run = fly_all(runs, args)
    found = {label: summed([by_run[r] for r in some], by_run) for label, some in rows}
    ates = {key(r): by_run[r]["ate"] for r in runs}
    tables(rows, found, ates, before)
    if before:
        summary(rows, found, before)
    refused = sum(by_run[r]["refused"] for r in runs)
    if refused:
        print(f"frames that the library refused: {refused}")
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"seed": args.seed, "rows": found, "ates": ates}, f, indent=1)
    return 1 if args.quick and broken(found) else 0


if __name__ == "__main__":
    sys.exit(main())
