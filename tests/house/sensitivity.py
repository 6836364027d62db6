#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sensitivity: each chosen constant of the estimator times 0.67 and 1.5, and the rows that it moves.

    tests/house/sensitivity.py SCRATCH [--only WORD] [--skip N] [--part I/N] [--worlds 60] [--minutes 60] [--rates]

A copy of the sources in the folder SCRATCH is built with one literal of constants.py's list changed (whole numbers by at least 1), and flies the same
drawn worlds (tests/vio/worlds.py, 6 s each); --rates: recordings too (tests/nav/rates.py --short). A row is a figure of the sum of all worlds, or of a
row of the recordings. One that is moved by 10 % is printed, the largest first; a share [%] has moved if it changed by 10 % of its distance from the
nearer of 0 and 100, and by two flights. no: nothing moved; bits: not even a bit; build: the value is refused at compile time.

A row that one flight moves is chance; look at several seeds before you change anything. --minutes: ends then, and says how far it got.
--part I/N: every Nth constant from the Ith on, for N processes with a folder each."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import constants  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARES = ("1 s", "never", "GOOD", "reported", "off", "good", "valid", "soon", "beyond")


def copy(scratch):
    """Sources into the scratch folder; only what differs, so that a build takes little."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, names):
        source, to = ROOT / name, scratch / name
        if source.is_file() and not (to.exists() and to.read_bytes() == source.read_bytes()):
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, to)
            shutil.copymode(source, to)


def changed(value, factor):
    """A literal times a factor."""
    if re.fullmatch(r"\d+", value):
        whole = int(value)
        return str(max(whole + 1, round(whole * factor)) if factor > 1 else min(whole - 1, round(whole * factor)))
    return repr(float(value) * factor)


def build(scratch, rates):
    targets = ["build/worlds"] + (["build/bridge_nav.so"] if rates else [])
    command = ["make", "CUDA=0", "CC=%s" % os.environ.get("CC", "cc"), *targets]
    return subprocess.run(command, cwd=scratch, capture_output=True).returncode == 0


def worlds(scratch, runs):
    """Figures of all worlds, and the lines of all flights."""
    sys.path.insert(0, str(ROOT / "tests/vio"))
    import numpy as np
    import worlds as w

    out = scratch / "build/sensitivity.csv"
    subprocess.run([sys.executable, "tests/vio/worlds.py", "build/worlds", "--runs", str(runs), "--seconds", "6", "--csv", str(out)], cwd=scratch, stdout=subprocess.DEVNULL, check=True)
    text = out.read_text()
    table = w.Table(text)
    figures = {}
    for name, value in w.numbers(table, np.ones(len(table["frames"]), bool)).items():
        values = value if isinstance(value, (tuple, list)) else [value]
        for i, x in enumerate(values):
            figures["worlds, " + name + (" %s" % "ab"[i] if len(values) > 1 else "")] = float(x)
    figures.pop("worlds, runs", None)
    return figures, text


def recordings(scratch):
    out = scratch / "build/sensitivity.json"
    subprocess.run([sys.executable, "tests/nav/rates.py", "build/bridge_nav.so", "--short", "--json", str(out)], cwd=scratch, stdout=subprocess.DEVNULL, check=True)
    found = {}
    for label, row in json.loads(out.read_text())["rows"].items():
        for name, value in row.items():
            if isinstance(value, (int, float)) and name != "runs":
                found["%s, %s" % (label, name)] = float(value)
    return found


def moved(before, after, runs):
    """Rows that differ by 10 %, the largest first."""
    rows = []
    for name, old in before.items():
        new = after.get(name, float("nan"))
        share = name.split(", ")[-1] in SHARES
        scale, change = min(old, 100 - old) if share else abs(old), abs(new - old)
        if not change <= max(0.1 * scale, 200 / runs if share else 0.0):
            rows.append((change / max(scale, 1e-3), "%s %.3g to %.3g" % (name, old, new)))
    return [text for _, text in sorted(rows, reverse=True)]


def measure(scratch, arguments):
    if not build(scratch, arguments.rates):
        return None
    figures, text = worlds(scratch, arguments.worlds)
    if arguments.rates:
        found = recordings(scratch)
        figures.update(found)
        text += json.dumps(found)
    return figures, text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rates", action="store_true")
    arguments = parser.parse_args()
    scratch, begin, done, touched = arguments.scratch.resolve(), time.monotonic(), 0, 0
    scratch.mkdir(parents=True, exist_ok=True)
    copy(scratch)
    base = measure(scratch, arguments)
    if not base:
        sys.exit("sensitivity: the sources do not build")
    found = [c for c in constants.literals(ROOT) if c[0] == "chosen" and arguments.only in c[3]][arguments.skip:]
    part, parts = map(int, arguments.part.split("/"))
    found = found[part - 1 :: parts]
    for kind, file, line, name, value in found:
        if time.monotonic() - begin > 60 * arguments.minutes:
            break
        path, own = scratch / file, (ROOT / file).read_text()
        for factor in (0.67, 1.5):
            lines = own.split("\n")
            new = changed(value, factor)
            lines[line - 1] = re.sub(r"(?<![\w.])%s(?=[uUlLfF]*\b)" % re.escape(value), new, lines[line - 1], count=1)
            path.write_text("\n".join(lines))
            result = measure(scratch, arguments)
            path.write_text(own)
            rows = moved(base[0], result[0], arguments.worlds) if result else []
            touched += bool(rows)
            text = "build" if not result else "bits" if result[1] == base[1] else "; ".join(rows[:4]) + (" and %d more" % (len(rows) - 4) if len(rows) > 4 else "") if rows else "no"
            print("%-28s %10s to %-12s %s" % (name.removeprefix("VF_"), value, new, text), flush=True)
        done += 1
    print("%d of %d constants in %.0f minutes; %d of %d changes moved a row" % (done, len(found), (time.monotonic() - begin) / 60, touched, 2 * done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
