#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions of each stage of the host port in a step, in the mean over frames of the rendered flight, counted by valgrind's callgrind:
the same on a machine at rest and under load, unlike times. A run of FIRST frames is taken off: the steps that vfront_init() runs, and a
frame that has nothing before it.

usage: host_counts.py REPLAY [--frames N] [--mono] [--set NAME=VALUE]... [DATASET]    N: 3, behind the first; DATASET: synthetic
Exit: 0, 1 when replay fails, 2 usage, 77 without valgrind.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FIRST = 1  # frames that are not counted


def options(words):
    replay, frames, settings, dataset, rest = None, 3, [], None, list(words)
    try:
        while rest:
            word = rest.pop(0)
            if word == "--frames":
                frames = int(rest.pop(0))
            elif word == "--set":
                settings += ["--set", rest.pop(0)]
            elif word == "--mono":
                settings += [word]
            elif word.startswith("--") or dataset:
                raise ValueError(word)
            elif replay:
                dataset = word
            else:
                replay = word
    except (ValueError, IndexError):
        replay = None
    if not replay or frames < 1:
        print(__doc__)
        sys.exit(2)
    return replay, frames, settings, dataset or "synthetic"


def count(replay, frames, settings, dataset):
    """Instructions of each stage in a run of so many frames."""
    with tempfile.TemporaryDirectory() as folder:
        counts = os.path.join(folder, "counts")
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + counts, replay, "--port", "host", "--quiet",
                   "--frames", str(frames), *settings, dataset]
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if run.returncode:
            print(run.stderr)
            sys.exit(1)
        listed = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", counts], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
    stages = {}
    for instructions, name in re.findall(r"^\s*([\d,]+) \([^)]*\)\s+\S*:vf_([a-z]+)_host\b(?!_run)", listed, re.M):
        stages[name] = max(int(instructions.replace(",", "")), stages.get(name, 0))
    return stages


def main():
    replay, frames, settings, dataset = options(sys.argv[1:])
    if not shutil.which("valgrind"):
        print("host_counts: NOT RUN (no valgrind here)")
        sys.exit(77)
    before, after = (count(replay, n, settings, dataset) for n in (FIRST, FIRST + frames))
    stages = {name: (after[name] - before.get(name, 0)) / frames / 1e6 for name in after}
    if not stages:
        print("host_counts: no stage found: is the build without symbols?")
        sys.exit(1)
    shown = [word for word in settings if word != "--set"]
    print(f"instructions a step [millions], {frames} frames of {dataset} {' '.join(shown)}".rstrip())
    for name in sorted(stages, key=stages.get, reverse=True):
        if stages[name] >= 0.01:
            print(f"{name:<10} {stages[name]:8.2f}")
    print(f"{'together':<10} {sum(stages.values()):8.2f}")


main()
