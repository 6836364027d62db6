#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs to copy: mono, stereo and vio print what the motion of examples/room.h is, written here a second time; each has fewer than 250 lines
and compiles with the command of README.

    tests/examples/programs.py BUILD LIBRARY CC 'LIBS'"""
import math
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WAVES = (0.9, 0.8, 0.0), (0.7, 1.1, 1.0), (0.3, 1.3, 2.0)
FRAME_S = 0.033333333
bad = []


def expect(what, true, have=""):
    if not true:
        bad.append("%s %s" % (what, have))


def position(t):
    return [a * math.sin(w * t + s) for a, w, s in WAVES]


def yaw(t):
    return 0.35 * math.sin(0.7 * t + 0.5)


def level(vector, angle):
    """World vector in axes of an IMU at this yaw: forward, left, up."""
    c, s = math.cos(angle), math.sin(angle)
    return [c * vector[0] + s * vector[1], c * vector[1] - s * vector[0], vector[2]]


def moved(t0, t1, angle):
    return level([b - a for a, b in zip(position(t0), position(t1))], angle)


def in_camera(v):
    return [-v[1], -v[2], v[0]]


def numbers(pattern, line):
    match = re.search(pattern, line)
    return [float(v) for v in match.groups()] if match else None


NUMBER = r"(-?[0-9.]+)"
THREE = " ".join([NUMBER] * 3)


def mono(lines):
    good = 0
    for line in lines[1:]:
        frame, tracks, points = map(int, re.match(r"frame (\d+): (\d+) tracks, (\d+) key points;", line).groups())
        expect("mono: tracks", tracks >= 150 and points > 500, line)
        have = numbers("direction %s, turn about y %s rad" % (THREE, NUMBER), line)
        if not have:
            continue
        now, before = 1.0 + frame * FRAME_S, 1.0 + (frame - 1) * FRAME_S
        true = in_camera(moved(now, before, yaw(now)))
        cosine = sum(a * b for a, b in zip(have, true)) / math.dist(true, (0, 0, 0))
        expect("mono: direction", cosine > math.cos(0.2), "%s, %.2f rad off" % (line, math.acos(min(cosine, 1.0))))
        expect("mono: turn", abs(have[3] - (yaw(now) - yaw(before))) < 1e-3, line)
        good += 1
    expect("mono: good motions", good > 25 and len(lines) == 30, good)


def stereo(lines):
    frames = [line for line in lines if line.startswith("frame")]
    for line in frames[1:]:
        frame, with_depth, x, y, z, holes = numbers(r"frame (\d+): \d+ tracks, (\d+) with depth.*position %s m, (\d+) holes" % THREE, line)
        true = in_camera(moved(1.0, 1.0 + frame * FRAME_S, yaw(1.0)))
        expect("stereo: position", math.dist((x, y, z), true) < 0.03, "%s, true %s" % (line, true))
        expect("stereo: depths, holes", with_depth > 100 and holes <= 1, line)
        near = numbers(r"nearest %s \+- %s m" % (NUMBER, NUMBER), line)
        expect("stereo: nearest", near and 1.0 < near[0] < 5.0 and 0.0 < near[1] < 0.5, line)
    expect("stereo: frames", len(frames) == 60, len(frames))


def vio(lines):
    text, first, seen = "\n".join(lines), None, 0
    pattern = r"(?:good|coasting), t %s s, position %s m, velocity %s m/s, variance of z (.*) m\^2" % (NUMBER, THREE, THREE)
    for line in lines:
        have = numbers(pattern, line)
        if not have:
            continue
        first = first or have
        angle = yaw(first[0] - FRAME_S)
        true = moved(first[0], have[0], angle)
        gone = [a - b for a, b in zip(have[1:4], first[1:4])]
        expect("vio: position", math.dist(gone, true) < 0.05, "%s, true %s" % (line, true))
        v = level([a * w * math.cos(w * have[0] + s) for a, w, s in WAVES], angle)
        expect("vio: velocity", math.dist(have[4:7], v) < 0.08, "%s, true %s" % (line, v))
        expect("vio: variance", 0.0 < have[7] < 0.01, line)
        seen += 1
    expect("vio: states", seen > 85, seen)
    for frame, part in re.findall(r"^frame (\d+)\n((?:  .*\n)*)", text, re.M):
        frame = int(frame)
        want = "VFRONT_E_TIME" if frame == 40 else "state: coasting" if 50 <= frame <= 55 else "state: good" if frame > 57 else ""
        expect("vio: frame %d" % frame, want in part, part)
        expect("vio: frame %d, a stamp refused" % frame, frame == 40 or "VFRONT_E" not in part, part)
    between = numbers(r"states between frames: (\d+)", text)
    expect("vio: states between frames", between and between[0] > 400, between)


def main(build, library, cc, libraries):
    for name, check in (("mono", mono), ("stereo", stereo), ("vio", vio)):
        done = subprocess.run([str(pathlib.Path(build) / name)], capture_output=True, text=True)
        expect(name + ": exit code", done.returncode == 0, done.stderr)
        check(done.stdout.splitlines())
        source = ROOT / "examples" / (name + ".c")
        length = len(source.read_text().splitlines())
        expect(name + ": lines", length < 250, length)
        with tempfile.TemporaryDirectory() as folder:  # the program's two files beside one another, as one copies them
            for file in (source, ROOT / "examples/room.h"):
                (pathlib.Path(folder) / file.name).write_bytes(file.read_bytes())
            compiled = subprocess.run(shlex.split(cc) + ["-I.", folder + "/" + source.name, library] + shlex.split(libraries) + ["-o", folder + "/app"],
                                      cwd=ROOT, capture_output=True, text=True)
            expect(name + ": compiled as README says", compiled.returncode == 0 and not compiled.stderr, compiled.stderr)
    for line in bad[:20]:
        print("programs: " + line)
    print("programs: three, %d faults" % len(bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
