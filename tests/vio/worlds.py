#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Flies many drawn worlds (build/worlds, or build/worlds-rendered with pictures) and sums them up as distributions.

  worlds.py build/worlds [--runs 2000] [--seed 1] [--csv FILE] [--jobs N] [--alone N] [--over-time] [--title TEXT]
            [--check [--must-fail]] [options of the program]

The lines of all flights go to --csv, or are read from it with --read FILE. --alone N: also N worlds in which one group of
quantities alone is drawn, and N in which all but that group are. --against FILE: the same seeds by another build, flight by
flight. --over-time: of long flights, a line for each part (--every T of the program): drift, deviations and states by time.
--check: bounds for the samples of `make slow`; with --must-fail exit status 0 if one of them is broken, for an estimator
that is wrong on purpose (--broken of the program).

A state is reported where it is GOOD, COASTING or STEREO_ONLY. Columns of the tables:

  1 s      share of flights with a state within a second of the first frame [%]
  never    share without one [%]
  GOOD     share of frames that arrived [%]
  reported likewise, with any state
  off      share of flights with any frame reported that is off by over 5 deviations and 5 cm or 2 degrees on an axis [%]
  NEES     mean squared error over covariance of a flight, over degrees of freedom: 1 is right; median over flights, and
           the value that 90 % of them stay below; of position, attitude, velocity
  3 sigma  share of frames and axes with an error over three deviations [%]: 0.27 is right

Groups leave out flights whose frames overlap by less than half, but for the group of overlap itself."""
import argparse
import concurrent.futures
import csv
import io
import os
import subprocess
import sys

import numpy as np

KINDS = ("position", "attitude", "velocity")
BINS = 100
QUANTILES = ((50, 0.6745), (90, 1.6449), (99, 2.5758), (99.7, 2.9677))
GROUPS = ("samples", "clocks", "frames", "place", "calibration", "tracks", "motion")
CLASSES = ("ADIS16448", "BMI088", "ICM-42688", "poor one")
# Bounds of --check on the samples of `make slow` [%; NEES: median over flights]: near what the estimator does, so that worse
# fails. Better is the aim: then they go with it.
BOUNDS = {
    # 100 flights of 6 s, seeds 1 to 100
    "worlds": {
        "1 s": (">=", 78),
        "GOOD": (">=", 80),
        "off": ("<=", 10),
        "NEES position": ("<=", 1.3),
        "NEES attitude": ("<=", 1.4),
        "3 sigma position": ("<=", 6),
        "3 sigma attitude": ("<=", 5),
    },
    # 24 flights of 4 s with pictures, seeds 1 to 24
    "worlds-rendered": {
        "1 s": (">=", 70),
        "GOOD": (">=", 84),
        "off": ("<=", 12.5),
        "NEES position": ("<=", 1.4),
        "NEES attitude": ("<=", 1),
        "3 sigma position": ("<=", 7),
        "3 sigma attitude": ("<=", 4),
    },
    # 30 flights of 14 s, seeds 1 to 30, pictures black from 4 to 11 s: largest error over deviation at the end
    "black": {"resets": (">=", 1), "off": ("<=", 1), "position over deviation": ("<=", 3), "yaw over deviation": ("<=", 4)},
    # one hover of 5 minutes; largest error over deviation at the end of a part
    "over time": {"GOOD": (">=", 95), "off": ("<=", 0), "resets": ("<=", 0), "position over deviation": ("<=", 4), "yaw over deviation": ("<=", 4)},
}


def fly(program, seed, runs, options):
    done = subprocess.run([program, "--seed", str(seed), "--runs", str(runs), "--csv", "-", *options], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"worlds: {program} failed on seeds {seed} to {seed + runs - 1}")
    return done.stdout


def flights(arguments, runs, options, title):
    """Lines of all flights, in order of their seeds; a program runs some of them, at most ten."""
    some = max(1, min(10, runs // (4 * arguments.jobs)))
    first = range(arguments.seed, arguments.seed + runs, some)
    parts = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = [pool.submit(fly, arguments.program, s, min(some, arguments.seed + runs - s), options) for s in first]
        for job in jobs:
            parts.append(job.result().splitlines())
            if sys.stderr.isatty():
                print(f"\r{title}: {min(runs, some * len(parts))} of {runs} worlds ", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return "\n".join(parts[0][:1] + [line for part in parts for line in part[1:]]) + "\n"


class Table:
    """Columns of all flights, and histograms of error over deviation by kind and flight."""

    def __init__(self, text):
        csv.field_size_limit(10**8)
        reader = csv.DictReader(io.StringIO(text))
        if len(set(reader.fieldnames)) < len(reader.fieldnames):
            sys.exit("worlds: two columns have one name")
        rows = list(reader)
        self.names = [n for n in rows[0] if not n.startswith("z_")]
        self.column = {n: np.array([float(r[n]) for r in rows]) for n in self.names}
        self.drawn = self.names[1 : self.names.index("frames")]
        self.z = {kind: np.zeros((len(rows), BINS)) for kind in KINDS}
        for kind in KINDS:
            for i, r in enumerate(rows):
                for pair in r["z_" + kind].split():
                    b, n = pair.split(":")
                    self.z[kind][i, int(b)] = int(n)

    def __getitem__(self, name):
        return self.column[name]


def edges():
    """Lower edges of the bins; the first begins at 0."""
    return np.array([0.01 * 10 ** (i / 20) for i in range(BINS)])


def quantile(counts, q):
    """Quantile of error over deviation from a histogram, linear in the logarithm within a bin."""
    total = counts.sum()
    if not total:
        return float("nan")
    sums = np.cumsum(counts)
    i = int(np.searchsorted(sums, q / 100 * total))
    before = sums[i - 1] if i else 0
    return edges()[i] * 10 ** ((q / 100 * total - before) / max(counts[i], 1) / 20)


def beyond(counts, sigmas):
    """Share of a histogram over some deviations [%]."""
    total = counts.sum()
    if not total:
        return float("nan")
    at = 20 * np.log10(sigmas / 0.01)
    i = int(at)
    return 100 * (counts[i + 1 :].sum() + counts[i] * (1 - (at - i))) / total


def numbers(t, of):
    """Numbers of a group; `of`: mask of its flights."""
    with_state = of & (t["reported"] > 0)
    n, frames = max(1, of.sum()), max(1, t["frames"][of].sum())
    out = {
        "runs": of.sum(),
        "1 s": 100 * ((t["first_s"] >= 0) & (t["first_s"] <= 1) & of).sum() / n,
        "never": 100 * ((t["first_s"] < 0) & of).sum() / n,
        "GOOD": 100 * t["good"][of].sum() / frames,
        "reported": 100 * t["reported"][of].sum() / frames,
        "off": 100 * ((t["off"] > 0) & of).sum() / n,
    }
    for kind, name in zip(KINDS, ("nees_p", "nees_a", "nees_v")):
        v = t[name][with_state]
        out["NEES " + kind] = (np.median(v), np.quantile(v, 0.9)) if len(v) else (float("nan"),) * 2
        out["3 sigma " + kind] = beyond(t.z[kind][of].sum(axis=0), 3)
    return out


def print_head():
    print(f"{'group':<34} {'runs':>5} {'1 s':>6} {'never':>6} {'GOOD':>6} {'reported':>6} {'off':>6} | {'NEES median, 90 %: position':>27} {'attitude':>14} {'velocity':>14} | {'3 sigma: pos':>12} {'att':>6} {'vel':>6}")


def print_row(title, r):
    nees = " ".join(f"{r['NEES ' + k][0]:>6.2f} {r['NEES ' + k][1]:>{20 if k == 'position' else 7}.2f}" for k in KINDS)
    print(f"{title:<34} {r['runs']:>5} {r['1 s']:>6.1f} {r['never']:>6.1f} {r['GOOD']:>6.1f} {r['reported']:>6.1f} {r['off']:>6.1f} | {nees} | {r['3 sigma position']:>12.2f} {r['3 sigma attitude']:>6.2f} {r['3 sigma velocity']:>6.2f}")


def ranges(values, bounds, unit):
    """Groups of a quantity: title and mask of each interval."""
    for low, high in zip((None, *bounds), (*bounds, None)):
        title = f"under {high:g} {unit}" if low is None else f"over {low:g} {unit}" if high is None else f"{low:g} to {high:g} {unit}"
        yield title, (values >= (low if low is not None else -np.inf)) & (values < (high if high is not None else np.inf))


def groups(t):
    seen = t["overlap"] >= 0.5
    yield "all", [("all", np.ones(len(seen), bool)), ("frames overlap by at least half", seen)]
    yield "mean overlap of frames", list(ranges(t["overlap"], (0.5, 0.7, 0.9, 0.97), ""))
    yield "share of frames with an overlap of less than half", list(ranges(100 * t["overlap_low"], (0.01, 3, 10), "%"))
    yield "gyro bias times interval", [(a, b & seen) for a, b in ranges(t["bias_mrad"], (2, 4, 5, 10), "mrad")]
    yield "rate of the camera", [(a, b & seen) for a, b in ranges(t["camera_hz"], (10, 20, 40), "Hz")]
    yield "share of frames lost", [(a, b & seen) for a, b in ranges(100 * t["missing"], (10, 20, 30), "%")]
    yield "IMU", [(CLASSES[i], (t["imu"] == i) & seen) for i in range(4)]
    yield "time offset", [(a, b & seen) for a, b in ranges(np.abs(t["offset_ms"]), (5, 10, 15), "ms")]
    yield "largest acceleration", [(a, b & seen) for a, b in ranges(t["peak_accel"], (1, 5, 15), "m/s2")]
    yield "largest angular rate", [(a, b & seen) for a, b in ranges(t["peak_rate"], (0.3, 1, 3), "rad/s")]
    yield "start", [("in motion", (t["rest_s"] < 0) & seen), ("at rest", (t["rest_s"] >= 0) & seen)]
    yield "turn of camera 1", [(a, b & seen) for a, b in ranges(np.abs(t["stereo_deg"]), (0.05, 0.1, 0.2), "deg")]
    yield "nearest range", [(a, b & seen) for a, b in ranges(t["near_m"], (1, 3), "m")]
    if "depth_m" in t.column:
        yield "mean depth", [(a, b & seen) for a, b in ranges(t["depth_m"], (1, 3, 10), "m")]
        yield "tracks of a frame", [(a, b & seen) for a, b in ranges(t["tracks"], (50, 100, 190), "")]
    yield "mean blur", [(a, b & seen) for a, b in ranges(t["blur_px"], (0.1, 0.5, 2), "px")]
    yield "texture", [(a, b & seen) for a, b in ranges(t["texture"], (0.3, 0.6), "")]


def print_groups(t):
    print_head()
    for name, rows in groups(t):
        print(f"-- {name}")
        for title, mask in rows:
            if mask.any():
                print_row("  " + title, numbers(t, mask))


def print_curve(t):
    seen = t["overlap"] >= 0.5
    print("\nerror over deviation of an axis, all frames and flights together: quantiles\n")
    print(f"{'':<36}" + "".join(f"{f'{q:g} %':>9}" for q, _ in QUANTILES) + f"{'over 5':>10}")
    print(f"{'normal distribution':<36}" + "".join(f"{z:>9.2f}" for _, z in QUANTILES) + f"{6e-5:>9.4f}%")
    for name, mask in (("overlap of half and more", seen), ("less overlap", ~seen)):
        for kind in KINDS:
            counts = t.z[kind][mask].sum(axis=0)
            if not counts.sum():
                continue
            print(f"{name + ', ' + kind:<36}" + "".join(f"{quantile(counts, q):>9.2f}" for q, _ in QUANTILES) + f"{beyond(counts, 5):>9.4f}%")


WORST = (("nees_p", "NEES position"), ("nees_a", "NEES attitude"), ("nees_v", "NEES velocity"), ("most_m", "largest error, position [m]"), ("most_deg", "largest error, attitude [deg]"), ("most_sigma", "largest error [deviations]"))


def print_worst(t):
    with_state = t["reported"] > 0
    print("\nworst flights of those with a state: value that 1 % of them exceed, and the seeds beyond it, worst first (--replay-seed)\n")
    for name, title in WORST:
        v = np.where(with_state, t[name], -np.inf)
        order = np.argsort(-v, kind="stable")[: max(1, round(0.01 * with_state.sum()))]
        print(f"{title:<32} {v[order[-1]]:>10.4g}   " + " ".join(f"{t['seed'][i]:.0f}" for i in order[:12]))


def ranks(v):
    """Ranks, equal values the mean of theirs."""
    _, inverse, count = np.unique(v, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[inverse]


def correlation(a, b):
    a, b = ranks(a), ranks(b)
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 0.0


def print_explained(t):
    """Which drawn quantities go with failure: rank correlation over flights, of signed quantities by magnitude."""
    seen = t["overlap"] >= 0.5
    with_state = seen & (t["reported"] > 0)
    failures = (
        ("no state within 1 s", seen, ((t["first_s"] < 0) | (t["first_s"] > 1)).astype(float)),
        ("share of frames not GOOD", seen, 1 - t["good"] / np.maximum(1, t["frames"])),
        ("frames off", with_state, t["off"] / np.maximum(1, t["reported"])),
        ("NEES position", with_state, t["nees_p"]),
        ("NEES attitude", with_state, t["nees_a"]),
        ("largest error, position [m]", with_state, t["most_m"]),
    )
    print("\nrank correlation with drawn quantities (of their magnitudes) and with what follows from them; noise is 2 / sqrt(runs)\n")
    for title, mask, failure in failures:
        if mask.sum() < 10:
            continue
        found = [(correlation(np.abs(t[n][mask]), failure[mask]), n) for n in [*t.drawn, *(n for n in ("depth_m", "tracks") if n in t.column), "bias_mrad", "interval_ms", "overlap", "peak_accel", "peak_rate", "blur_px"]]
        found.sort(key=lambda f: -abs(f[0]))
        print(f"{title:<30} " + ", ".join(f"{n} {r:+.2f}" for r, n in found[:8]))


def print_imu_named(t):
    print("\nflights in which the IMU is named as faulty (CLOCK: its offset is real), the cameras SUSPECT, a state LOST or flagged [%]\n")
    shares = [(title, 100 * np.mean(t[name] > 0)) for title, name in (("AXES", "imu_axes"), ("IN_DEGREES", "imu_degrees"), ("CLOCK", "imu_clock"), ("others", "imu_other"), ("SUSPECT", "suspect"), ("LOST", "lost"), ("ONE_CAMERA", "one_camera"), ("DISPUTED", "disputed"))]
    print(", ".join(f"{title} {share:.1f}" for title, share in shares))


def print_against(t, other):
    """Flights of both tables, paired by seed: what this build gained and lost beside the other one."""
    at = {seed: i for i, seed in enumerate(other["seed"])}
    mine = np.array([i for i, seed in enumerate(t["seed"]) if seed in at], int)
    theirs = np.array([at[t["seed"][i]] for i in mine], int)
    print(f"\n{len(mine)} flights in both files: flights that changed, and the first of their seeds\n")
    yes = {"state within 1 s": lambda v: (v["first_s"] >= 0) & (v["first_s"] <= 1), "a state": lambda v: v["first_s"] >= 0, "never off": lambda v: v["off"] == 0, "never LOST": lambda v: v["lost"] == 0}
    for title, holds in yes.items():
        now, then = holds(t)[mine], holds(other)[theirs]
        for word, mask in (("gained", now & ~then), ("lost", then & ~now)):
            print(f"{title:<18} {word:<7} {mask.sum():>5}   " + " ".join(f"{s:.0f}" for s in t["seed"][mine][mask][:12]))
    both = (t["reported"][mine] > 0) & (other["reported"][theirs] > 0)
    for name, title in WORST[:5]:
        ratio = np.log(np.maximum(t[name][mine][both], 1e-12) / np.maximum(other[name][theirs][both], 1e-12))
        if len(ratio):
            print(f"{title:<32} over the other's: median {np.exp(np.median(ratio)):.3f}, less in {100 * np.mean(ratio < -1e-9):.0f} %, more in {100 * np.mean(ratio > 1e-9):.0f} % of {both.sum()} flights")


def print_alone(arguments, options):
    """Worlds with a part of the quantities drawn, and the others as in easy worlds."""
    names = (*GROUPS, "pictures") if name_of(arguments) == "worlds-rendered" else GROUPS
    rows = [("none: easy worlds", "none"), *((f"{g} alone", g) for g in names), *((f"all but {g}", ",".join(o for o in names if o != g)) for g in names)]
    print(f"\na part of the quantities drawn, the others as in easy worlds (build/worlds --distributions): {arguments.alone} flights each\n")
    print_head()
    for title, drawn in rows:
        t = Table(flights(arguments, arguments.alone, ["--draw", drawn, *options], title))
        print_row("  " + title, numbers(t, t["overlap"] >= 0.5))


def print_over_time(t):
    """Long flights, a line for each part: states and errors by time, then each flight."""
    number = np.array([np.sum(t["seed"][:i] == seed) for i, seed in enumerate(t["seed"])])
    most = number.max() + 1
    at = []
    for k in range(min(10, most)):
        mask = number * min(10, most) // most == k
        at.append((f"{t['from_s'][mask].min() / 60:.1f} to {t['until_s'][mask].max() / 60:.1f} min", mask))
    print_head()
    print_row("  all parts", numbers(t, np.ones(len(t["seed"]), bool)))
    for title, mask in at:
        print_row("  " + title, numbers(t, mask))
    known = t["end_sigma_m"] > 0
    print("\nerrors at the ends of parts, since the first state: median, largest; the same over the deviation that is reported\n")
    print(f"{'group':<20} {'parts':>5} {'position [m]':>18} {'deviation':>10} {'over it':>14} {'yaw [deg]':>18} {'deviation':>10} {'over it':>14}")
    for title, mask in [("all parts", known), *((a, b & known) for a, b in at)]:
        if mask.any():
            cells = [title, mask.sum()]
            for error, sigma in (("end_m", "end_sigma_m"), ("end_deg", "end_sigma_deg")):
                e, d = t[error][mask], t[sigma][mask]
                cells += [np.median(e), e.max(), np.median(d), np.median(e / d), (e / d).max()]
            print("{:<20} {:>5} {:>9.3f} {:>8.3f} {:>10.3f} {:>7.2f} {:>6.2f} {:>9.3f} {:>8.3f} {:>10.3f} {:>7.2f} {:>6.2f}".format(*cells))
    print(f"\n{'seed':<5} {'IMU':<10} {'Hz':>5} {'lost':>5} {'m/s2':>6} {'way [m]':>9} {'1st [s]':>8} {'GOOD':>6} {'reported':>8} {'off':>6} {'states':>6} {'end [m]':>9} {'deviation':>9} {'% of way':>8} {'yaw [deg]':>9} {'deviation':>9}")
    for seed in np.unique(t["seed"]):
        part = np.flatnonzero(t["seed"] == seed)
        end, frames, way = part[-1], t["frames"][part].sum(), t["distance_m"][part].sum()
        print(f"{seed:<5.0f} {CLASSES[int(t['imu'][end])]:<10} {t['camera_hz'][end]:>5.1f} {100 * t['missing'][end]:>4.0f}% {t['peak_accel'][end]:>6.2f} {way:>9.1f} {t['first_s'][end]:>8.2f} "
              f"{100 * t['good'][part].sum() / frames:>6.1f} {100 * t['reported'][part].sum() / frames:>8.1f} {100 * t['off'][part].sum() / frames:>6.2f} {1 + t['resets'][part].max():>6.0f} "
              f"{t['end_m'][end]:>9.3f} {t['end_sigma_m'][end]:>9.3f} {100 * t['end_m'][end] / max(way, 1e-9):>8.3f} {t['end_deg'][end]:>9.3f} {t['end_sigma_deg'][end]:>9.3f}")


def name_of(arguments, options=()):
    return "black" if "--black" in options else "over time" if arguments.over_time else os.path.basename(arguments.program)


def check(t, bounds):
    """Prints each bound. Returns the number of those broken."""
    r = numbers(t, t["overlap"] >= 0.5)
    if "resets" in bounds:
        r["resets"] = t["resets"].max()
        r["position over deviation"] = (t["end_m"] / t["end_sigma_m"]).max()
        r["yaw over deviation"] = (t["end_deg"] / t["end_sigma_deg"]).max()
    broken = 0
    for name, (relation, bound) in bounds.items():
        value = r[name][0] if isinstance(r[name], tuple) else r[name]
        holds = bool(value >= bound if relation == ">=" else value <= bound)
        broken += not holds
        print(f"{name}: {value:.2f} {relation} {bound}{'' if holds else ' DOES NOT HOLD'}")
    return broken


def summary(arguments, options, t):
    seeds = np.unique(t["seed"])
    print(f"{arguments.title}{len(seeds)} drawn worlds, seeds {seeds[0]:.0f} to {seeds[-1]:.0f}\n")
    if arguments.over_time:
        print_over_time(t)
        return
    print_groups(t)
    print_curve(t)
    print_worst(t)
    print_imu_named(t)
    print_explained(t)
    if arguments.against:
        with open(arguments.against) as file:
            print_against(t, Table(file.read()))
    if arguments.alone:
        print_alone(arguments, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv")
    parser.add_argument("--read", metavar="FILE")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--against", metavar="FILE")
    parser.add_argument("--alone", type=int, default=0)
    parser.add_argument("--over-time", action="store_true")
    parser.add_argument("--title", default="")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--must-fail", action="store_true")
    arguments, options = parser.parse_known_args()
    if arguments.runs < 1 or arguments.jobs < 1:
        parser.error("--runs and --jobs are at least 1")
    arguments.title += ": " if arguments.title else ""
    if arguments.read:
        with open(arguments.read) as file:
            text = file.read()
    else:
        text = flights(arguments, arguments.runs, options, "all drawn")
    if arguments.csv:
        with open(arguments.csv, "w") as file:
            file.write(text)
    t = Table(text)
    if not arguments.must_fail:
        summary(arguments, options, t)
    if arguments.check:
        print()
        sys.exit(1 if (check(t, BOUNDS[name_of(arguments, options)]) > 0) != arguments.must_fail else 0)


if __name__ == "__main__":
    main()
