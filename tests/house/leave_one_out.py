#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Leave-one-out choice of the estimator's constants that moved a row of sensitivity.txt.

    tests/house/leave_one_out.py SCRATCH [--only WORD] [--worlds 320] [--seed 1] [--jobs N]

Each is built times 0.67 and times 1.5 in a folder of SCRATCH, and flies the same drawn worlds of 6 s as the sources as they are. A table that is in
SCRATCH already is not made again.

Statistic: the log score of a normal distribution, mean over flights, less is better. Of a flight and of position [m], attitude [deg] and velocity
[m/s]: ln(rms) + (n - ln n) / 2, n its mean squared normalised error over degrees of freedom, from 0.01 to 10; it is least where the error is small
and the covariance right. Frames without a state count as a state with errors of 1 m, 10 degrees and 1 m/s and a right covariance.
Folds: the four classes of IMU, each with cameras under and over 20 Hz. The best of the three values on seven folds is judged on the eighth.

Columns: score of each value less that of today's, all flights, with its standard error (of flights paired by seed); in how many of the eight folds
each of the three values is chosen; score of the choices on the folds left out, less that of today's, with its standard error. better: one value is
chosen in all folds, and is better on those left out by 3 standard errors."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import constants  # noqa: E402
from sensitivity import ROOT, build, changed, copy  # noqa: E402

sys.path.insert(0, str(ROOT / "tests/vio"))
import worlds  # noqa: E402

FACTORS = (0.67, 1.5)
KINDS = (("rms_m", "nees_p", 1.0), ("rms_deg", "nees_a", 10.0), ("rms_mps", "nees_v", 1.0))
SURE = 3  # standard errors


def moved():
    """Names of constants with a row in sensitivity.txt."""
    rows = re.findall(r"^(\w+) +\S+ to \S+ +(\S+)", (ROOT / "tests/house/sensitivity.txt").read_text(), re.M)
    return sorted({name for name, result in rows if result.startswith(("worlds", "recordings"))})


def score(t):
    """Log score of each flight."""
    share = t["reported"] / np.maximum(1, t["frames"])
    total = np.zeros(len(share))
    for rms, nees, without in KINDS:
        n = np.clip(t[nees], 0.01, 10)
        own = np.log(np.maximum(t[rms], 1e-4)) + (n - np.log(n)) / 2
        total += np.where(share > 0, share * own, 0) + (1 - share) * (np.log(without) + 0.5)
    return total / len(KINDS)


def folds(t):
    return t["imu"].astype(int) * 2 + (t["camera_hz"] >= 20)


def fly(scratch, change, arguments):
    """Table of a change, or None if its value does not build."""
    name = "%s-%g" % change[1:] if change else "today"
    folder, out = scratch / name, scratch / (name + ".csv")
    if not out.exists():
        folder.mkdir(parents=True, exist_ok=True)
        copy(folder)
        if change:
            (_, file, line, _, value), _, factor = change
            lines = (folder / file).read_text().split("\n")
            lines[line - 1] = re.sub(r"(?<![\w.])%s(?=[uUlLfF]*\b)" % re.escape(value), changed(value, factor), lines[line - 1], count=1)
            (folder / file).write_text("\n".join(lines))
        if not build(folder, False):
            return None
        command = [sys.executable, "tests/vio/worlds.py", "build/worlds", "--runs", arguments.worlds, "--seed", arguments.seed, "--seconds", 6, "--jobs", 1]
        subprocess.run([str(c) for c in command] + ["--csv", str(out) + ".part"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        os.replace(str(out) + ".part", out)
    print(name, "flown", file=sys.stderr, flush=True)
    return worlds.Table(out.read_text())


def mean(v):
    return "%+.4f +- %.4f" % (v.mean(), v.std(ddof=1) / np.sqrt(len(v)))


def row(name, value, differences, fold):
    """A constant's line. differences: score of each value less today's, by flight; None: does not build."""
    values = [d for d in (np.zeros(len(fold)), *differences) if d is not None]
    titles = [f for f, d in zip((1, *FACTORS), (1, *differences)) if d is not None]
    left, chosen = np.zeros(len(fold)), []
    for f in np.unique(fold):
        best = int(np.argmin([v[fold != f].mean() for v in values]))
        chosen.append(best)
        left[fold == f] = values[best][fold == f]
    one = len(set(chosen)) == 1 and chosen[0] > 0
    sure = one and left.mean() < -SURE * left.std(ddof=1) / np.sqrt(len(left))
    cells = [mean(d) if d is not None else "does not build" for d in differences]
    counts = " ".join("%g:%d" % (titles[i], chosen.count(i)) for i in range(len(values)))
    print("%-26s %10s  %-20s %-20s  %-20s %-20s %s" % (name, value, *cells, counts, mean(left), "better" if sure else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--worlds", type=int, default=320)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    scratch, names = arguments.scratch.resolve(), [n for n in moved() if arguments.only in n]
    found = [c for c in constants.literals(ROOT) if c[0] == "chosen" and c[3].removeprefix("VF_") in names]
    changes = [(c, c[3].removeprefix("VF_"), f) for c in found for f in FACTORS]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        tables = list(pool.map(lambda c: fly(scratch, c, arguments), [None, *changes]))
    today = score(tables[0])
    fold = folds(tables[0])
    print("%d worlds of 6 s, %d folds; today's score %s\n" % (len(today), len(np.unique(fold)), mean(today)))
    print("%-26s %10s  %-20s %-20s  %-20s %s" % ("constant", "today", "times 0.67", "times 1.5", "chosen", "left out"))
    for i, c in enumerate(found):
        pair = tables[1 + 2 * i : 3 + 2 * i]
        row(changes[2 * i][1], c[4], [score(t) - today if t else None for t in pair], fold)
    return 0


if __name__ == "__main__":
    sys.exit(main())
