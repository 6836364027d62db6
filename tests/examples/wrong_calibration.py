#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calibrations that do not fit the pictures, by `build/replay`: are they named in health.calibration, and when?

  wrong_calibration.py build/replay [--quick] [--state-only]

EuRoC's pictures with KITTI's calibration and the reverse; drawn errors of EuRoC's and KITTI's own: the focal length of both
cameras or of camera 1 alone off by 10 to 50 %, lens distortion left out, the pictures exchanged, the baseline's sign. Each
is played from several starts and at 20 to 5 Hz. Right calibrations of all sets, played the same way, must
never be named. --state-only: by the step without key points. --quick: few of each; fails if a right one is named, or one that can be told is not, within 2 s."""
import argparse
import csv
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

DATA = pathlib.Path(os.environ.get("VFRONT_DATA", "../shared/data"))
SECONDS = 2.0
# Least share named within SECONDS of kinds that can be told; the others are only shown.
TOLD = {"other rig": 1.0, "camera 1, focal": 0.95, "exchanged": 1.0}


def euroc(folder, start, every, frames, scale=(1, 1), bare=False, calibration=None, swap=False):
    """EuRoC's pictures from frame `start` on, each `every`-th: folder and calibration for replay."""
    source = DATA / "euroc_mh01_a" / "mav0"
    for c in (0, 1):
        to = folder / "mav0" / f"cam{c}"
        to.mkdir(parents=True)
        of = source / f"cam{1 - c if swap else c}"
        lines = (source / f"cam{c}" / "data.csv").read_text().splitlines()
        (to / "data.csv").write_text("\n".join(lines[:1] + lines[1 + start :: every][:frames]) + "\n")
        (to / "data").symlink_to((of / "data").resolve())
        text = (source / f"cam{c}" / "sensor.yaml").read_text()
        if scale[c] != 1:
            f = [float(v) for v in re.search(r"intrinsics: \[([^\]]*)\]", text).group(1).split(",")]
            f = [f[0] * scale[c], f[1] * scale[c], *f[2:]]
            text = re.sub(r"intrinsics: \[[^\]]*\]", f"intrinsics: {f}", text)
        if bare:
            text = re.sub(r"distortion_coefficients: \[[^\]]*\]", "distortion_coefficients: [0, 0, 0, 0]", text)
        (to / "sensor.yaml").write_text(text)
    (folder / "mav0" / "imu0").symlink_to((source / "imu0").resolve())
    return [str(folder)] + ([f"--calibration={calibration}"] if calibration else [])


def folders(folder, name, start, every, frames, scale=1, swap=False, calibration=None):
    """The same of a set in KITTI's layout."""
    source = DATA / name
    times = (source / "times.txt").read_text().split() if (source / "times.txt").exists() else None
    for c in (0, 1):
        (folder / f"image_{c}").mkdir(parents=True)
        pictures = sorted((source / f"image_{1 - c if swap else c}").iterdir())[start::every][:frames]
        for i, p in enumerate(pictures):
            (folder / f"image_{c}" / f"{i:06}{p.suffix}").symlink_to(p.resolve())
    if times:
        (folder / "times.txt").write_text("\n".join(times[start::every][:frames]) + "\n")
    own = next(source / n for n in ("calib.txt", "calib_approx.txt") if (source / n).exists())
    lines = []
    for line in own.read_text().splitlines():
        key, *v = line.split()
        if key in ("P0:", "P1:") and scale != 1:
            v = [str(float(x) * (scale if i in (0, 3, 5) else 1)) for i, x in enumerate(v)]
        lines.append(" ".join([key, *v]))
    (folder / "calib.txt").write_text("\n".join(lines) + "\n")
    return [str(folder), f"--calibration={calibration or folder / 'calib.txt'}"]


def resized(folder, width, height):
    """EuRoC's calibration, stated for pictures of another size."""
    for c in (0, 1):
        text = (DATA / "euroc_mh01_a" / "mav0" / f"cam{c}" / "sensor.yaml").read_text()
        (folder / f"cam{c}.yaml").write_text(re.sub(r"resolution: \[[^\]]*\]", f"resolution: [{width}, {height}]", text))
    return f"{folder / 'cam0.yaml'},{folder / 'cam1.yaml'}"


def play(program, make):
    """Time at which the calibration is named [s], or None; and whether it was still named at the end."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wrong_calibration."))
    try:
        arguments = make(folder / "set")
        done = subprocess.run([*program, "--quiet", "--set", "vio=0", "--tables", "frames", "--out", str(folder / "out"), *arguments], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"wrong_calibration: {' '.join(arguments)}: {done.stderr}")
        with open(folder / "out" / "health.csv") as f:
            rows = list(csv.DictReader(f))
        named = [i for i, r in enumerate(rows) if int(r["calibration"])]
        if bool(named) != ("CALIBRATION" in done.stdout):
            sys.exit("wrong_calibration: summary and health.csv differ")
        return (int(rows[named[0]]["t_ns"]) - int(rows[0]["t_ns"])) * 1e-9 if named else None
    finally:
        shutil.rmtree(folder)


def cases(quick):
    """(kind, right, what makes the set). Starts, rates and errors are drawn."""
    draw = random.Random(5)
    times = 2 if quick else 8
    for _ in range(times):
        every = draw.choice((1, 2, 3))
        start, frames = draw.randrange(0, 120 - 40), 2 + 40 // every
        view = (start, every, frames)
        kitti = DATA / "kitti01_stereo" / "calib.txt"
        slow = min(every, 2)
        k = (draw.randrange(0, 8), slow, 3 + 24 // slow)
        error = [draw.uniform(0.1, 0.5) * draw.choice((-1, 1)) for _ in range(3)]
        yield "right", lambda d, v=view: euroc(d, *v)
        yield "right", lambda d, v=k: folders(d, "kitti01_stereo", *v)
        yield "right", lambda d, v=k: folders(d, "kitti05_vio", *v)
        yield "right", lambda d, v=k: folders(d, "rover_sand_stereo_a", *v)
        yield "other rig", lambda d, v=view: euroc(d, *v, calibration=kitti)
        yield "other rig", lambda d, v=k: folders(d, "kitti01_stereo", *v, calibration=(d.mkdir(parents=True), resized(d, 1241, 376))[1])
        yield "camera 1, focal", lambda d, v=view, e=error[0]: euroc(d, *v, scale=(1, 1 + e))
        yield "both, focal", lambda d, v=view, e=error[1]: euroc(d, *v, scale=(1 + e, 1 + e))
        yield "both, focal, rectified", lambda d, v=k, e=error[2]: folders(d, "kitti01_stereo", *v, scale=1 + e)
        yield "no distortion", lambda d, v=view: euroc(d, *v, bare=True)
        yield "exchanged", lambda d, v=view: euroc(d, *v, swap=True)
        yield "exchanged", lambda d, v=k: folders(d, "kitti01_stereo", *v, swap=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--state-only", action="store_true")
    a = parser.parse_args()
    if not (DATA / "euroc_mh01_a").exists():
        print(f"wrong_calibration: no pictures in {DATA}")
        sys.exit(77)
    found = {}
    for kind, make in cases(a.quick):
        found.setdefault(kind, []).append(play([a.program] + ["--state-only"] * a.state_only, make))
    bad = 0
    print(f"{'calibration':24} played  named within 2 s [%]  time: least, mean, most [s]")
    for kind, times in found.items():
        named = [t for t in times if t is not None]
        share = sum(t <= SECONDS for t in named) / len(times)
        spread = f"{min(named):.2f} {sum(named) / len(named):.2f} {max(named):.2f}" if named else "-"
        wrong = len(named) > 0 if kind == "right" else share < TOLD.get(kind, 0)
        bad += wrong
        print(f"{kind:24} {len(times):6}  {100 * share:20.0f}  {spread}{'  FAILED' if wrong else ''}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
