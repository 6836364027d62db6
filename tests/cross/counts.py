#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions of each stage of the host port in a step of the rendered flight, as built for aarch64 and for x86-64, counted under qemu:
the same on a machine at rest and under load. Whether NEON code is as short as AVX2's shows here without a board.

usage: counts.py FOLDER [--steps N]      FOLDER: for both builds; N: 4, counted behind the first two
Exit: 0, 1 when a build or a run fails, 77 without qemu-aarch64 that takes plugins (Debian: qemu-user) or without the cross compiler.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST = 2  # steps that are not counted: nothing to match with
BUILDS = {"aarch64": "aarch64-linux-gnu-", "x86-64": ""}
QEMU = {"aarch64": "qemu-aarch64", "x86-64": "qemu-x86_64"}


def skip(why):
    print(f"counts: NOT RUN ({why})")
    sys.exit(77)


def run(command):
    done = subprocess.run([str(c) for c in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(done.stdout)
        sys.exit(1)
    return done.stdout


def takes_plugins(qemu):
    return shutil.which(qemu) and "-plugin" in subprocess.run([qemu, "--help"], stdout=subprocess.PIPE, text=True).stdout


def build(folder, cross):
    """Program and map of where each object lies in it."""
    program, where = folder / "counted", folder / "map"
    run(["make", "-j2", "--no-print-directory", f"CROSS={cross}", "CUDA=0", f"BUILD={folder}", folder / "latency"])
    run([cross + "gcc", "-static", "-no-pie", folder / "examples/replay/latency.o", folder / "examples/parts.a", folder / "libvfront.a", "-lm", "-lpthread",
         f"-Wl,-Map={where}", "-o", program])
    return program, where.read_text()


def stages_of(where):
    """Address ranges of the library's objects: begin, end, stage; `patch` is of track and partner."""
    files = [f.stem for f in (ROOT / "src").glob("*/*.c")]
    found = re.findall(r"^ \.text\S*\s+0x(\w+)\s+0x(\w+) \S*libvfront\.a\((\w+)\.o\)", where, re.M)
    names = re.findall(r"^VF_STAGE\((\w+)", (ROOT / "src/stages.def").read_text(), re.M)
    stage = {f: next((n for n in names if f == n or f.startswith(n + "_")), f) for f in files}
    return sorted((int(a, 16), int(a, 16) + int(size, 16), stage.get(f, f)) for a, size, f in found if int(size, 16))


def count(qemu, plugin, program, ranges, steps, folder):
    """Instructions of each stage in a run of so many steps."""
    out, counts = folder / f"counts-{steps}", collections.Counter()
    run([qemu, "-plugin", f"{plugin},out={out}", program, "--port", "host", "--steps", steps])
    for line in out.read_text().splitlines():
        address, instructions = int(line.split()[0], 16), int(line.split()[1])
        at = next((name for begin, end, name in ranges if begin <= address < end), None)
        if at:
            counts[at] += instructions
    return counts


def main():
    words = sys.argv[1:]
    steps = int(words.pop(2)) if len(words) == 3 and words[1] == "--steps" and words[2].isdigit() else 4
    if not words or len(words) > 2 or words[0].startswith("-") or steps < 1:
        print(__doc__)
        sys.exit(2)
    if not shutil.which("aarch64-linux-gnu-gcc"):
        skip("no aarch64-linux-gnu-gcc")
    if not takes_plugins(QEMU["aarch64"]):
        skip("no qemu-aarch64 that takes plugins")
    folder = pathlib.Path(words[0]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    plugin, counts = folder / "counts.so", {}
    run(["cc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", plugin, "tests/cross/counts.c"])
    for name, cross in BUILDS.items():
        if not takes_plugins(QEMU[name]):
            continue
        (folder / name).mkdir(exist_ok=True)
        program, where = build(folder / name, cross)
        ranges = stages_of(where)
        before, after = (count(QEMU[name], plugin, program, ranges, n, folder / name) for n in (FIRST, FIRST + steps))
        counts[name] = {s: (after[s] - before[s]) / steps / 1e6 for s in after}
    print(f"instructions a step [millions], {steps} steps of the rendered flight, standard tuning; by source file: patch is of track and partner")
    print(f"{'':<12}" + "".join(f"{name:>10}" for name in counts))
    first = counts["aarch64"]
    for stage in sorted(first, key=first.get, reverse=True):
        if first[stage] >= 0.05:
            print(f"{stage:<12}" + "".join(f"{c.get(stage, 0.0):10.2f}" for c in counts.values()))
    print(f"{'together':<12}" + "".join(f"{sum(c.values()):10.2f}" for c in counts.values()))


main()
