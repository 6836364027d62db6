#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Flies drawn worlds without and with a drawn fault (--faults of build/worlds, build/worlds-rendered) and sums up integrity.

  integrity.py build/worlds [build/worlds-rendered] [--runs N[,N]] [--seed 1] [--kind own|all|KIND,...] [--jobs N]
               [--csv FILE[,FILE]] [--read] [--svg FOLDER] [--check [--must-fail]] [options of the program]
  integrity.py build/worlds --replay SEED --kind KIND

Seeds follow one another, and kinds follow seeds, so that each kind has as many runs. --read: lines come from --csv, not from flights. --svg: Stanford
diagrams by program and quantity. --replay: one flight, frame by frame, of a seed and a kind as the tables name them; `build/worlds --fault-kinds`
lists the kinds. --check: bounds for the sample of `make slow`; with --must-fail exit status 0 if one of them is broken.

The protection levels are those of the result, vfront_nav_t.protection_level_..., an axis each. Of three axes that one counts whose error is the
largest part of its level.

Columns of the tables; shares are of runs, with their number beside them:

  runs      flights with the fault; `right`: of these GOOD, without alert and never misleading in the frame before it
  level     share of frames with the fault that have a level [%]
  mislead   share of runs with a misleading frame from the beginning on: it has a level, whatever the state is called, the error is beyond it and
            beyond 5 cm, 2 degrees or 0.1 m/s [%]; `most`: upper end of its 95 % interval (Clopper and Pearson)
  clean     the same share of the same worlds without the fault
  new       share of runs misleading where the world without the fault is not, of those `right` before [%]
  p a v     runs misleading in position, attitude, velocity
  silent    runs with a misleading frame that has no alert
  hazard    runs with such a frame whose level is within the alert limit and whose error is over it: 1 m, 5 degrees, 1 m/s
  delay     from the first misleading frame to the first alert at or after it [s]: median, 90 % of those that have one; `none`: runs without one
  back      from the end of the fault to the first frame GOOD, without alert, not misleading [s]: median, 90 %; `none`: never, of so many that ended
  worst     largest error of the position in frames with fault and level [m]: median, 90 %, largest; `ratio`: to the same frames without the
            fault: median, 90 %"""
import argparse
import concurrent.futures
import csv
import io
import os
import pathlib
import subprocess
import sys

import numpy as np
from scipy import stats

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import stanford  # noqa: E402

TEXTS = ("kind", "sensor", "axis", "unit", "diagram", "clean_diagram", "bounds", "clean_bounds")
TAILS = 4  # of the column bounds: 10^-1 to 10^-4 a frame
# Bounds of --check on the sample of `make slow`, seeds 1 to 74, 6 s: near what the estimator does, so that worse fails.
BOUNDS = {
    "misleading runs [%]": ("<=", 6),
    "misleading runs without a fault [%]": ("<=", 1.4),
    "frames with a level [%]": (">=", 88),
    "frames with a level without a fault [%]": (">=", 97),
}


def fly(program, seed, runs, options):
    done = subprocess.run([program, "--seed", str(seed), "--runs", str(runs), "--csv", "-", *options], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"integrity: {program} failed on seeds {seed} to {seed + runs - 1}")
    return done.stdout


def flights(arguments, program, runs, options, path):
    """Lines of all flights, in order of their seeds; a program runs at most ten. They go to a file as they come: one that is cut off is kept."""
    some = max(1, min(10, runs // (4 * arguments.jobs)))
    lines = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool, open(path or os.devnull, "w") as file:
        jobs = [pool.submit(fly, program, s, min(some, arguments.seed + runs - s), options) for s in range(arguments.seed, arguments.seed + runs, some)]
        for done, job in enumerate(jobs, 1):
            part = job.result().splitlines(keepends=True)
            lines += part[1:] if lines else part
            file.writelines(part[1:] if done > 1 else part)
            file.flush()
            if sys.stderr.isatty():
                print(f"\r{min(runs, some * done)} of {runs} worlds ", end="", file=sys.stderr, flush=True)
    return "".join(lines)


class Table:
    """Columns of all runs."""

    def __init__(self, text):
        csv.field_size_limit(10**8)
        rows = list(csv.DictReader(io.StringIO(text)))
        if not rows:
            sys.exit("integrity: no runs")
        self.column = {n: np.array([r[n] if n in TEXTS else float(r[n]) for r in rows]) for n in rows[0]}

    def __getitem__(self, name):
        return self.column[name]


def percent(part, of):
    return 100 * part / of if of else float("nan")


def most_of(part, of):
    """Upper end of the 95 % interval of a share [%]."""
    return 100.0 if part == of else 100 * stats.beta.ppf(0.975, part + 1, of - part)


def quantile(values, q):
    return np.quantile(values, q) if len(values) else float("nan")


def numbers(t, of):
    """Numbers of a group of runs; of: its mask."""
    mislead, clean, right = t["misleading"] > 0, t["clean_misleading"] > 0, t["right_before"] > 0
    ended, during = of & (t["recovery_s"] > -2), of & (t["during_levels"] > 0) & (t["clean_during_levels"] > 0)
    worst = t["worst_m"][during]
    n = int(of.sum())
    return {
        "runs": n,
        "right": int((of & right).sum()),
        "level": percent(t["during_levels"][of].sum(), t["during"][of].sum()),
        "mislead": percent((of & mislead).sum(), n),
        "most": most_of(int((of & mislead).sum()), n),
        "clean": percent((of & clean).sum(), n),
        "new": percent((of & right & mislead & ~clean).sum(), (of & right).sum()),
        "by": [int((of & (t["misleading_" + q] > 0)).sum()) for q in "pav"],
        "silent": int((of & (t["silent"] > 0)).sum()),
        "hazard": int((of & (t["hazardous"] > 0)).sum()),
        "delays": t["delay_s"][of & mislead & (t["delay_s"] >= 0)],
        "no alert": int((of & mislead & (t["delay_s"] < 0)).sum()),
        "back": t["recovery_s"][ended & (t["recovery_s"] >= 0)],
        "never back": int((ended & (t["recovery_s"] == -1)).sum()),
        "ended": int(ended.sum()),
        "worst": worst,
        "ratio": worst / np.maximum(t["clean_worst_m"][during], 1e-3),
    }


HEAD = (
    f"{'':<36} {'runs':>5} {'right':>5} {'level':>6} | {'mislead':>7} {'most':>6} {'clean':>6} {'new':>6} {'p':>4} {'a':>4} {'v':>4} {'silent':>6} {'hazard':>6} | "
    f"{'delay':>6} {'90 %':>6} {'none':>4} | {'back':>6} {'90 %':>6} {'none':>12} | {'worst':>8} {'90 %':>8} {'largest':>8} {'ratio':>6} {'90 %':>8}"
)


def shown(value, width, digits):
    """A number, or - where there is none."""
    return f"{value:>{width}.{digits}f}" if np.isfinite(value) else f"{'-':>{width}}"


def print_row(title, r):
    print(
        f"{title:<36} {r['runs']:>5} {r['right']:>5} {shown(r['level'], 6, 1)} | {r['mislead']:>7.1f} {r['most']:>6.1f} {r['clean']:>6.1f} {shown(r['new'], 6, 1)} "
        f"{r['by'][0]:>4} {r['by'][1]:>4} {r['by'][2]:>4} {r['silent']:>6} {r['hazard']:>6} | "
        f"{shown(quantile(r['delays'], 0.5), 6, 2)} {shown(quantile(r['delays'], 0.9), 6, 2)} {r['no alert']:>4} | "
        f"{shown(quantile(r['back'], 0.5), 6, 2)} {shown(quantile(r['back'], 0.9), 6, 2)} {r['never back']:>4} of {r['ended']:>4} | "
        f"{shown(quantile(r['worst'], 0.5), 8, 3)} {shown(quantile(r['worst'], 0.9), 8, 2)} {r['worst'].max(initial=0):>8.1f} {shown(quantile(r['ratio'], 0.5), 6, 2)} {shown(quantile(r['ratio'], 0.9), 8, 1)}"
    )


def decades(t, of):
    """Titles and masks of the decades of size in a group; kinds without a size have one."""
    size = np.floor(np.log10(t["size"]) + 1e-9)
    for decade in np.unique(size[of]):
        unit = t["unit"][of][0]
        title = "" if unit == "-" else f"{10.0**decade:g} to {10.0 ** (decade + 1):g}{'' if unit == '1' else ' ' + unit}"
        yield title, of & (size == decade)


def kinds_of(t):
    """Kinds in the order of the table of the program, which is that of the seeds."""
    _, first = np.unique(t["kind"], return_index=True)
    names = t["kind"][np.sort(first)]
    return sorted(names, key=lambda k: -percent(((t["kind"] == k) & (t["misleading"] > 0)).sum(), (t["kind"] == k).sum()))


def print_tables(t):
    everything = np.ones(len(t["seed"]), bool)
    print("Kinds, most often misleading first\n\n" + HEAD)
    print_row("all", numbers(t, everything))
    for kind in kinds_of(t):
        print_row(kind, numbers(t, t["kind"] == kind))
    print("\nSensors\n\n" + HEAD)
    for sensor in np.unique(t["sensor"]):
        print_row(sensor, numbers(t, t["sensor"] == sensor))
    print("\nLength of the fault\n\n" + HEAD)
    ends = t["recovery_s"] != -2
    for title, mask in (("under 0.2 s", ends & (t["length_s"] < 0.2)), ("0.2 to 1 s", ends & (t["length_s"] >= 0.2) & (t["length_s"] < 1)), ("over 1 s", ends & (t["length_s"] >= 1)), ("to the end", ~ends)):
        if mask.any():
            print_row(title, numbers(t, mask))
    print("\nSensor, kind and decade of size\n\n" + HEAD)
    for kind in sorted(set(t["kind"])):
        for sensor in np.unique(t["sensor"][t["kind"] == kind]):
            for title, mask in decades(t, (t["kind"] == kind) & (t["sensor"] == sensor)):
                print_row(f"{kind} {'' if kind.startswith(sensor) else sensor + ' '}{title}", numbers(t, mask))


def print_untouched(t):
    """Runs whose fault no frame met: a short one between two frames, or while frames were lost. They stay in all rows."""
    none = t["during"] == 0
    print(f"\nNo frame came while the fault was there: {int(none.sum())} of {len(none)} runs, which the rows above have")


def print_clean(t):
    """The same worlds without a fault, whole flights from the first frame GOOD on."""
    hours = t["clean_flight_s"].sum() / 3600
    alerts, state = t["clean_flight_alerts"], t["clean_flight_state_alerts"]
    misled = int((t["clean_flight_misleading"] > 0).sum())
    runs = len(alerts)
    print(f"\nWithout a fault: {runs} runs, {hours:.2f} hours from the first frame GOOD on\n")
    print(f"false alarms, runs of frames with any alert      {alerts.sum():6.0f}  {alerts.sum() / hours:8.1f} an hour, in {int((alerts > 0).sum())} of {runs} runs")
    print(f"of these by state or flag of nav                 {state.sum():6.0f}  {state.sum() / hours:8.1f} an hour, in {int((state > 0).sum())} of {runs} runs")
    print(f"misleading                                       {misled:6.0f}  of {runs} runs, {percent(misled, runs):.1f} %, at most {most_of(misled, runs):.1f} %")
    print(f"frames with a level                              {percent(t['clean_levels'].sum(), t['clean_frames'].sum()):6.1f} %, level over its alert limit {percent(t['clean_unavailable'].sum(), t['clean_levels'].sum()):.1f} %")


def print_bounds(t):
    """Without a fault: how often errors are beyond bounds of stated probabilities; separations over what bounds their variance."""
    n = np.array([line.split() for line in t["clean_bounds"]], float).sum(0)
    frames, beyond, members = n[0], n[1 : 1 + 3 * TAILS].reshape(TAILS, 3), n[1 + 3 * TAILS :].reshape(-1, 4)
    print(f"\nWithout a fault: share of axes beyond the bound of a stated probability, like a level by the result alone, {frames:.0f} frames of {len(t['seed'])} runs")
    print("(smaller probabilities than these are extrapolation)\n\na frame      position   attitude   velocity")
    for i, row in enumerate(beyond):
        print(f"10^-{i + 1}   {'':4}" + "".join(f"{x / (3 * frames):11.2e}" for x in row))
    print("\nSquare of a separation over the larger variance of the two states, mean; at most 1 where that bounds it\n")
    for name, row in zip(("without accelerometer", "without IMU"), members):
        print(f"{name:<24}" + "".join(f"{x / row[0]:9.3f}" for x in row[1:]) + f"   {row[0]:.0f} frames" if row[0] else f"{name}: none")


def print_worst(t):
    print("\nRuns with the largest error of the position in a frame with a level, of those right before: replay with --replay SEED --kind KIND\n")
    v = np.where((t["right_before"] > 0) & (t["misleading"] > 0) & (t["clean_misleading"] == 0), t["most_m"], -1)
    for i in np.argsort(-v, kind="stable")[:20]:
        if v[i] >= 0:
            print(f"{t['seed'][i]:>6.0f} {t['kind'][i]:<17} {t['sensor'][i]:<8} {t['axis'][i]:<4} {t['size'][i]:>9.4g} {t['unit'][i]:<7} for {t['length_s'][i]:>6.3f} s: {t['most_m'][i]:>9.2f} m, {t['silent'][i]:>4.0f} of {t['misleading'][i]:>4.0f} misleading frames without an alert")


def print_regions(t, prefix, title):
    counts = stanford.parse(t[prefix + "diagram"])
    print(f"\n{title}: frames in the regions of the Stanford diagram [%]\n")
    for key, (name, *_) in stanford.QUANTITIES.items():
        of = stanford.shares(counts, key)
        total = max(1, sum(of.values()))
        print(f"{name:<10}" + "".join(f"{region} {100 * n / total:8.3f}   " for region, n in of.items()) + f"{total} frames")
    return counts


def summary(arguments, program, t):
    name = os.path.basename(program)
    print(f"{name}: {len(t['seed'])} runs, seeds {t['seed'].min():.0f} to {t['seed'].max():.0f}, each world without and with its fault\n")
    print_tables(t)
    print_untouched(t)
    print_clean(t)
    if "clean_bounds" in t.column:
        print_bounds(t)
    print_worst(t)
    counts = print_regions(t, "", "With a fault, from its beginning on")
    print_regions(t, "clean_", "The same frames without the fault")
    for key, (quantity, *_) in stanford.QUANTITIES.items():
        if arguments.svg:
            stanford.write(os.path.join(arguments.svg, f"{name}-{quantity}.svg"), counts, key, f"{name}, {len(t['seed'])} runs with a fault; levels of the result")
    print()


def check(t):
    """Prints each bound. Returns the number of those broken."""
    runs = len(t["seed"])
    values = {
        "misleading runs [%]": percent((t["misleading"] > 0).sum(), runs),
        "misleading runs without a fault [%]": percent((t["clean_flight_misleading"] > 0).sum(), runs),
        "frames with a level [%]": percent(t["levels"].sum(), t["frames"].sum()),
        "frames with a level without a fault [%]": percent(t["clean_levels"].sum(), t["clean_frames"].sum()),
    }
    broken = 0
    for name, (relation, bound) in BOUNDS.items():
        holds = bool(values[name] >= bound if relation == ">=" else values[name] <= bound)
        broken += not holds
        print(f"{name}: {values[name]:.1f} {relation} {bound}{'' if holds else ' DOES NOT HOLD'}")
    return broken


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--runs", default="592,60", help="of each program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", default="own")
    parser.add_argument("--csv", default="")
    parser.add_argument("--read", action="store_true")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--svg", metavar="FOLDER")
    parser.add_argument("--replay", type=int, metavar="SEED")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--must-fail", action="store_true")
    arguments, options = parser.parse_known_args()
    split = next((i for i, a in enumerate(arguments.programs) if not os.access(a, os.X_OK)), len(arguments.programs))
    arguments.programs, more = arguments.programs[:split], arguments.programs[split:]
    if not arguments.programs:
        parser.error(f"{more[0]} is no program")
    options += more
    arguments.runs = [int(n) for n in arguments.runs.split(",")]
    arguments.csv = arguments.csv.split(",") if arguments.csv else []
    if min(arguments.runs) < 1 or arguments.jobs < 1 or len(arguments.runs) < len(arguments.programs):
        parser.error("--runs: a number of at least 1 for each program; --jobs: at least 1")
    if arguments.csv and len(arguments.csv) != len(arguments.programs) or arguments.read and not arguments.csv:
        parser.error("--csv: a file for each program")
    return arguments, options


def main():
    arguments, options = parse()
    options = ["--faults", arguments.kind, *options]
    broken = 0
    for i, program in enumerate(arguments.programs):
        if arguments.replay is not None:
            sys.exit(subprocess.run([program, "--replay-seed", str(arguments.replay), *options]).returncode)
        path = arguments.csv[i] if arguments.csv else None
        t = Table(pathlib.Path(path).read_text() if arguments.read else flights(arguments, program, arguments.runs[i], options, path))
        if not arguments.must_fail:
            summary(arguments, program, t)
        broken += check(t) if arguments.check else 0
    sys.exit(0 if not arguments.check else 1 if (broken > 0) != arguments.must_fail else 0)


if __name__ == "__main__":
    main()
