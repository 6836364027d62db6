#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cost of a step on boards: instructions by class and bytes of each launch, as counted by Nsight Compute, and a time projected from them
for Orin Nano, NX and AGX.

usage: orin.py                   counts of tests/vfcheck/step_counts.csv: by stage, then the launches of vio by kind
       orin.py --count REPLAY    counts again with ncu on this machine's GPU, for a step of the rendered flight of 752x480, two cameras
                                 and an IMU; writes that file

Model, a launch: with n the lesser of its blocks and the board's multiprocessors, at the board's clock
  issue    warp instructions / (4 n) cycles
  double   32 lanes x warp instructions of the double pipe / (2 n) cycles: GA10B has 2 double lanes a multiprocessor, GH100 64
  bytes    of L2 at a quarter of a multiprocessor's 64 B a cycle, of memory at the board's bandwidth
  chain    the time measured, in cycles of the GPU that was counted: latencies of a launch that no other bound explains
  launch   2 us between two launches of a graph: assumed, not measured
The first projection is launch + the largest of the four, as if all overlapped; the second launch + double + the largest of the others.
Sums assume launches in sequence; concurrent stages take less. Not modelled: instruction fetches, caches of another size.
 No board has been measured. Exit: 0, 77 without ncu, 1 if it fails.
"""
import argparse
import collections
import csv
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(HERE, "step_counts.csv")
KERNELS = os.path.join(HERE, "..", "..", "kernels")
STAGES = os.path.join(HERE, "..", "..", "src", "stages.def")
METRICS = collections.OrderedDict([
    ("us", "gpu__time_duration.sum"),
    ("blocks", "launch__grid_size"),
    ("threads", "launch__block_size"),
    ("warp_instructions", "smsp__inst_executed.sum"),
    ("warp_double", "smsp__inst_executed_pipe_fp64.sum"),
    ("single", "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum"),
    ("double", "smsp__sass_thread_inst_executed_op_fp64_pred_on.sum"),
    ("integer", "smsp__sass_thread_inst_executed_op_integer_pred_on.sum"),
    ("l2_bytes", "lts__t_bytes.sum"),
    ("memory_bytes", "dram__bytes.sum"),
])
COUNTED_GHZ = 1.98  # SM clock of the GPU of step_counts.csv
LAUNCH_US = 2.0
BOARDS = (("Orin Nano", 8, 0.625, 68.0), ("Orin NX", 8, 0.918, 102.4), ("AGX Orin", 16, 1.3, 204.8))  # SMs, GHz, GB/s


def stages_of():
    """Stages with a kernel of each name, from the files."""
    with open(STAGES) as lines:
        stages = re.findall(r"^VF_STAGE\((\w+)", lines.read(), re.M)
    of = {}
    for path in sorted(glob.glob(os.path.join(KERNELS, "*", "*.cu*"))):
        name = os.path.basename(path).split(".")[0]
        stage = next((s for s in stages if name == s or name.startswith(s + "_")), "stixel" if name == "road" else name)
        with open(path) as source:
            for kernel in re.findall(r"__global__[^;{]*?\b(\w+_k)\(", source.read()):
                of.setdefault(kernel, []).append(stage)
    return of


def attributed(names):
    """Stage of each launch of a step. A name shared by several stages is attributed to the stage of the launch before it, because ncu reports
    no files."""
    of, stages = stages_of(), []
    for name in names:
        candidates = of.get(name, ["other"])
        stages.append(candidates[0] if len(candidates) == 1 else next((stage for stage in reversed(stages) if stage in candidates), candidates[0]))
    return stages


def count(replay):
    """Rows of a complete step after about 20 frames of the flight, when the estimator has started and its sliding window is full."""
    if not shutil.which("ncu"):
        print("orin: NOT RUN (no ncu here)")
        sys.exit(77)
    run = subprocess.run(["ncu", "--clock-control", "none", "--cache-control", "none", "--graph-profiling", "node", "--launch-skip", "2600",
                          "--launch-count", "260", "--kill", "yes", "--csv", "--metrics", ",".join(METRICS.values()), replay,
                          "synthetic:752x480", "--set", "vio=1", "--set", "abandon_us=600000000", "--port", "cuda", "--frames", "60",
                          "--quiet"],
                         stdout=subprocess.PIPE, text=True, check=False)
    return step(line for line in run.stdout.splitlines() if line.startswith('"'))


def step(lines):
    """Launches from the first one of ingest to the last one of report after it."""
    launches = collections.OrderedDict()
    for row in csv.DictReader(lines):
        name = re.search(r"(\w+_k)\b", row["Kernel Name"])
        launch = launches.setdefault(row["ID"], {"launch": name.group(1) if name else row["Kernel Name"]})
        value = float(row["Metric Value"].replace(",", ""))
        scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6}.get(row["Metric Unit"], 1.0)
        launch[row["Metric Name"]] = value * scale
    rows = list(launches.values())
    for row, stage in zip(rows, attributed(row["launch"] for row in rows)):
        row["stage"] = stage
    first = next((i for i, row in enumerate(rows) if row["stage"] == "ingest"), None)
    last = next((i for i, row in enumerate(rows) if first is not None and i > first and row["stage"] == "report"), None)
    if last is None:
        sys.exit("orin: no whole step among the %d launches that ncu counted" % len(rows))
    return [dict([("stage", row["stage"]), ("launch", row["launch"])] + [(name, row[metric]) for name, metric in METRICS.items()])
            for row in rows[first:last + 1]]


def write(rows):
    with open(FILE, "w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["stage", "launch"] + list(METRICS))
        for row in rows:
            table.writerow([row["stage"], row["launch"]] + ["%.6g" % row[name] for name in METRICS])


def read():
    with open(FILE) as lines:
        return [{name: value if name in ("stage", "launch") else float(value) for name, value in row.items()} for row in csv.DictReader(lines)]


def projected(row, board):
    """Both projections [us]."""
    _, processors, ghz, bandwidth = board
    used = min(row["blocks"], processors)
    cycles_us = 1e-3 / ghz
    double = 32 * row["warp_double"] / (2 * used) * cycles_us
    others = max(row["warp_instructions"] / (4 * used) * cycles_us, row["l2_bytes"] / (16 * used) * cycles_us,
                 row["memory_bytes"] / bandwidth * 1e-3, row["us"] * COUNTED_GHZ / ghz)
    return LAUNCH_US + max(double, others), LAUNCH_US + double + others


def table(rows, kind_of):
    """Sums over the launches of each kind, and of all."""
    names = ("warp_instructions", "single", "double", "integer", "l2_bytes", "memory_bytes")
    kinds = collections.OrderedDict()
    for row in rows:
        kinds.setdefault(row[kind_of], []).append(row)
    head = "%-12s %3s %8s" % (kind_of, "n", "us") + "".join("%11s" % name.replace("_instructions", " inst").replace("_", " ") for name in names)
    print(head + "".join("%18s" % (board[0] + " us") for board in BOARDS))
    for kind, launches in list(kinds.items()) + [("all", rows)]:
        line = "%-12s %3d %8.1f" % (kind, len(launches), sum(row["us"] for row in launches))
        line += "".join("%11.1f" % (sum(row[name] for row in launches) / 1e3) for name in names)
        for board in BOARDS:
            pair = [sum(times) for times in zip(*(projected(row, board) for row in launches))]
            line += "%18s" % ("%.0f to %.0f" % tuple(pair))
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", metavar="REPLAY")
    options = parser.parse_args()
    if options.count:
        write(count(options.count))
    rows = read()
    print("sums over the launches of a kind in one step; thread instructions but for warps, thousands; kilobytes")
    table(rows, "stage")
    print("\nwindow")
    table([row for row in rows if row["stage"] == "vio"], "launch")


if __name__ == "__main__":
    main()
