#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times of the host port's step by size of picture and number of key points, on the rendered flight, and the largest configuration that
fits a rate: what a fail-over needs on a processor like this one.

usage: host_rate.py REPLAY [--rate HZ] [--frames N] [--set NAME=VALUE]...
  REPLAY      build/replay
  --rate HZ   frames a second to fit, 30
  --frames N  frames of each configuration, 60; the first three are not counted
  --set       tuning value for all of them
Prints p50 and p99 of each [ms], one thread. Exit: 0, 1 when replay fails, 2 usage. It asserts no time.
"""
import csv
import os
import subprocess
import sys
import tempfile

SIZES = ("320x240", "480x320", "640x480", "752x480", "1024x768", "1280x800")
POINTS = (256, 512, 1000, 2048)


def options(words):
    """Path of replay, rate, number of frames, tuning values; exits with 2 where that is not what the words say."""
    replay, rate, frames, settings, rest = None, 30.0, 60, [], list(words)
    try:
        while rest:
            word = rest.pop(0)
            if word == "--rate":
                rate = float(rest.pop(0))
            elif word == "--frames":
                frames = int(rest.pop(0))
            elif word == "--set":
                settings.append(rest.pop(0))
            elif replay is None and not word.startswith("--"):
                replay = word
            else:
                raise ValueError(word)
    except (ValueError, IndexError):
        replay = None
    if replay is None or not rate > 0 or frames < 10:
        print(__doc__)
        sys.exit(2)
    return replay, rate, frames, settings


def step_ms(replay, frames, dataset, settings):
    """Sorted times of the steps [ms] of one run."""
    words = [word for setting in settings for word in ("--set", setting)]
    with tempfile.TemporaryDirectory() as out:
        command = [replay, "--port", "host", "--quiet", "--frames", str(frames), *words, "--tables", "frames", "--out", out, dataset]
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if run.returncode:
            print(" ".join(command), run.stderr, sep="\n")
            sys.exit(1)
        with open(os.path.join(out, "timing.csv")) as rows:
            return sorted(float(row["step_us"]) / 1e3 for row in list(csv.DictReader(rows))[3:])


def main():
    replay, rate, frames, settings = options(sys.argv[1:])
    limit_ms, fits = 1e3 / rate, []
    with open("/proc/cpuinfo") as info:
        names = [line.split(":", 1)[1].strip() for line in info if line.startswith(("model name", "Model"))]
    print(f"host port, one thread, two cameras, 200 tracks, both motions; {names[0] if names else 'unknown processor'}; "
          f"{frames - 3} steps each; p50 / p99 [ms], * fits {rate:g} Hz ({limit_ms:.1f} ms)")
    print("pixels     " + "".join(f"{points:>8} points" for points in POINTS))
    for size in SIZES:
        row = []
        for points in POINTS:
            times = step_ms(replay, frames, f"synthetic:{size}", [f"select_points={points}", "vio=0", *settings])
            p50, p99 = times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)]
            row.append(f"{p50:6.1f} /{p99:6.1f}{'*' if p99 <= limit_ms else ' '}")
            if p99 <= limit_ms:
                width, height = map(int, size.split("x"))
                fits.append((width * height, points, size))
        print(f"{size:<11}" + "".join(row), flush=True)
    print("largest that fits: " + ("{2} with {1} key points a camera".format(*max(fits)) if fits else "none"))
    print("of the most key points: " + ("{2} with {1}".format(*max(fits, key=lambda f: (f[1], f[0]))) if fits else "none"))


main()
