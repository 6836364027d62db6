#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""build/calibrate on real pictures: right calibrations pass, each kind of wrong one is named for what it is.

    tests/examples/calibrate.py build/calibrate [--quick] [--seed N]

Exit: 0 good, 1 not, 77 no pictures or no numpy.

A stretch of EuRoC MH_01 with its calibration, IMU samples or pictures changed by a drawn error, or not at all. A right one must have exit code 0 and no
WRONG line; a wrong one exit code 3, and WRONG lines of the kind that is expected. Where the error is of one value, the value found must be it, within four
of the deviations printed and what the right calibration is off by itself. The picture must show each line
with its verdict, the distances from epipolar lines that were made, and the rates of the pictures on the curve of the gyro. Messages for what
cannot be checked. --quick: one of most kinds, on 80 frames."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

try:
    import numpy as np
except ImportError as missing:
    print(f"calibrate: SKIPPED, {missing}")
    sys.exit(77)

DATA = pathlib.Path(os.environ.get("VFRONT_DATA", "../shared/data"))
SOURCE = DATA / "euroc_mh01_a" / "mav0"
ROW = re.compile(r"^  (\S.*?)\s{2,}(-?[0-9.e+]+) \+- ([0-9.e+-]+) (\S.*?)\s{2,}(\S+) \+- (\S+)\s+(?:< )?([0-9.]+) (good|WRONG|unknown)$", re.M)
LOST = re.compile(r"^  (\S.*?)\s{2,}-\s+(good|WRONG|unknown)$", re.M)

SVG = "{http://www.w3.org/2000/svg}"
COLOUR = {"good": "#009e73", "WRONG": "#d55e00", "unknown": "#999999"}
GIVEN, FITTED = "#d55e00", "#0072b2" # by the calibration or the pictures, after the correction or by the gyro


def turn(w):
    """Rotation of a rotation vector, by Rodrigues."""
    angle = np.linalg.norm(w)
    x = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]) / (angle or 1)
    return np.eye(3) + np.sin(angle) * x + (1 - np.cos(angle)) * x @ x


class Set:
    """A stretch of EuRoC, to be changed before it is written."""

    def __init__(self, start, frames):
        self.view = start, frames
        self.yaml, self.T, self.f = [], [], []
        for c in (0, 1):
            text = (SOURCE / f"cam{c}" / "sensor.yaml").read_text()
            block = re.search(r"data: \[([^\]]*)\]", text)
            self.yaml.append(text)
            self.T.append(np.array([float(v) for v in block.group(1).split(",")]).reshape(4, 4))
            self.f.append([float(v) for v in re.search(r"intrinsics: \[([^\]]*)\]", text).group(1).split(",")])
        lines = (SOURCE / "imu0" / "data.csv").read_text().splitlines()[1:]
        self.t = np.array([int(line.split(",")[0]) for line in lines])
        self.imu = np.array([[float(v) for v in line.split(",")[1:7]] for line in lines])
        self.pictures, self.bare, self.calibration = (0, 1), False, None

    def write(self, folder):
        start, frames = self.view
        for c in (0, 1):
            to, of = folder / "mav0" / f"cam{c}", SOURCE / f"cam{self.pictures[c]}"
            to.mkdir(parents=True)
            lines = (SOURCE / f"cam{c}" / "data.csv").read_text().splitlines()
            (to / "data.csv").write_text("\n".join(lines[:1] + lines[1 + start :][:frames]) + "\n")
            (to / "data").symlink_to((of / "data").resolve())
            text = re.sub(r"data: \[[^\]]*\]", f"data: {[float(v) for v in self.T[c].ravel()]}", self.yaml[c])
            text = re.sub(r"intrinsics: \[[^\]]*\]", f"intrinsics: {self.f[c]}", text)
            if self.bare:
                text = re.sub(r"distortion_coefficients: \[[^\]]*\]", "distortion_coefficients: [0, 0, 0, 0]", text)
            (to / "sensor.yaml").write_text(text)
        to = folder / "mav0" / "imu0"
        to.mkdir()
        (to / "sensor.yaml").symlink_to((SOURCE / "imu0" / "sensor.yaml").resolve())
        rows = [f"{t}," + ",".join(f"{v:.17g}" for v in row) for t, row in zip(self.t, self.imu)]
        (to / "data.csv").write_text("#timestamp [ns],w,a\n" + "\n".join(rows) + "\n")
        return [str(folder)] + ([f"--calibration={self.calibration}"] if self.calibration else [])


def sign(draw, least, most):
    return draw.uniform(least, most) * draw.choice((-1, 1))


# ---- kinds: change a set; return the pattern of the names that must be WRONG, and (name, value, right one's own error) or None ------------------------


def right(s, draw):
    return None, None


def turned(s, draw):
    axis = draw.choice((0, 2))
    w = np.zeros(3)
    w[axis] = sign(draw, 0.008, 0.03)
    T = np.eye(4)
    T[:3, :3] = turn(w)
    # the calibration has camera 1 turned by w from where it is: T_BS of a camera takes its points to the body
    s.T[1] = s.T[1] @ T
    return r"camera 1 to 0: rotation about", (f"camera 1 to 0: rotation about {'xyz'[axis]}", 1e3 * w[axis], 1.5)


def focal_of_one(s, draw):
    e = sign(draw, 0.04, 0.2)
    s.f[1] = [s.f[1][0] * (1 + e), s.f[1][1] * (1 + e), *s.f[1][2:]]
    return r"focal length, camera 1 to 0", ("focal length, camera 1 to 0", 100 * (1 / (1 + e) - 1), 1.0)


def focal_of_both(s, draw):
    e = sign(draw, 0.06, 0.2)
    s.f = [[f[0] * (1 + e), f[1] * (1 + e), *f[2:]] for f in s.f]
    return r"focal length against the gyro", ("focal length against the gyro", 100 * (1 / (1 + e) - 1), 3.0)


def no_distortion(s, draw):
    s.bare = True
    return r"lens|cameras to each other|camera 1 to 0", None


def one_lens(s, draw):
    share = draw.uniform(0.4, 0.6)
    s.yaml[0] = re.sub(r"(distortion_coefficients: \[)(-?[0-9.]+)", lambda m: f"{m.group(1)}{share * float(m.group(2))}", s.yaml[0])
    return r"lens|cameras to each other", share


def exchanged(s, draw):
    s.pictures = (1, 0)
    return r"order of the cameras", None


def scaled(s, draw):
    e = sign(draw, 0.08, 0.3)
    s.T[1][:3, 3] = s.T[0][:3, 3] + (1 + e) * (s.T[1][:3, 3] - s.T[0][:3, 3])
    return r"scale of the two cameras", ("scale of the two cameras", 100 * e, 2.0)


def late(s, draw):
    ms = round(sign(draw, 10, 60))
    s.t = s.t + ms * 1000000
    return r"time offset of the IMU", ("time offset of the IMU", ms, 1.0)


def imu_turned(s, draw):
    w = np.array([draw.normal() for _ in range(3)])
    w *= np.deg2rad(draw.uniform(4, 12)) / np.linalg.norm(w)
    R = turn(w)
    s.imu = np.hstack([s.imu[:, :3] @ R.T, s.imu[:, 3:] @ R.T])
    return r"IMU to camera 0: rotation", None


def axes(s, draw):
    R = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]) if draw.random() < 0.5 else np.diag([1, -1, -1])
    s.imu = np.hstack([s.imu[:, :3] @ R.T, s.imu[:, 3:] @ R.T])
    return r"IMU to camera 0: rotation", None


def degrees(s, draw):
    s.imu[:, :3] = np.rad2deg(s.imu[:, :3])
    return r"unit of the gyro", None


def in_g(s, draw):
    s.imu[:, 3:] /= 9.80665
    return r"unit of the accelerometer", None


def weak(s, draw):
    e = sign(draw, 0.1, 0.3)
    s.imu[:, 3:] *= 1 + e
    return r"size of gravity", ("size of gravity", 9.81 * (1 + e), 0.15)


def other_rig(s, draw):
    s.calibration = "kitti"
    return r"camera|lens|focal|baseline", None


KINDS = {f.__name__: f for f in (right, turned, focal_of_one, focal_of_both, no_distortion, one_lens, exchanged, scaled, late, imu_turned, axes, degrees, in_g, weak,
                                 other_rig)}
QUICK = ("right", "turned", "one_lens", "scaled", "late")


def kitti(folder):
    """KITTI's calibration as EuRoC's files state it, for pictures of EuRoC's size."""
    for c in (0, 1):
        T = np.eye(4)
        T[0, 3] = 0.54 * c
        (folder / f"k{c}.yaml").write_text(
            f"sensor_type: camera\nT_BS:\n  cols: 4\n  rows: 4\n  data: {[float(v) for v in T.ravel()]}\nresolution: [752, 480]\n"
            "camera_model: pinhole\nintrinsics: [718.856, 718.856, 607.1928, 185.2157]\ndistortion_model: radial-tangential\n"
            "distortion_coefficients: [0, 0, 0, 0]\n")
    return f"{folder / 'k0.yaml'},{folder / 'k1.yaml'}"


def faults_of(out, value):
    """What is wrong with the value found."""
    name, true, own = value
    row = [r for r in ROW.findall(out) if r[0] == name]
    if not row:
        return f"no line \"{name}\""
    found, sigma = float(row[0][1]), float(row[0][2])
    return None if abs(found - true) <= 4 * sigma + own else f"{name}: {found} +- {sigma} where {true:.3f} was made"


def row_faults(root, out):
    """Each line that was printed: name, value and verdict in the picture, its mark beyond the limits where it is WRONG, between them where it is good."""
    words = [(float(e.get("x", 0)), float(e.get("y", 0)), e.text, e.get("fill")) for e in root.iter(SVG + "text")]
    limits = sorted(float(re.match(r"M([0-9.]+)", e.get("d")).group(1)) for e in root.iter(SVG + "path") if e.get("stroke-dasharray") == "4 3")
    marks = {float(e.get("cy")): float(e.get("cx")) for e in root.iter(SVG + "circle") if e.get("r") == "5"}
    if len(limits) != 2 or not limits[0] < limits[1]:
        return f"limits at {limits}"
    rows = [(r[0], f"{r[1]} \u00b1 {r[2]} {r[3]}", r[-1]) for r in ROW.findall(out)] + [(r[0], None, r[1]) for r in LOST.findall(out)]
    for name, value, verdict in rows:
        at = [y for x, y, text, fill in words if text == name]
        beside = {text: fill for x, y, text, fill in words if at and y == at[0]}
        if len(at) != 1 or beside.get(verdict.lower()) != COLOUR[verdict] or (value and value not in beside):
            return f"{name}: {beside} beside it, {value}, {verdict} was printed"
        outside = value and not limits[0] < marks[at[0] - 4] < limits[1]
        if value and (verdict == "WRONG") != outside and verdict != "unknown":
            return f"{name}: mark at {marks[at[0] - 4]} of {limits}, {verdict} was printed"
    verdict = "the calibration fits the recording" if not any(r[-1] == "WRONG" for r in rows) else "the calibration does not fit the recording"
    return None if verdict in out and [fill for _, _, text, fill in words if text == verdict] == [COLOUR["WRONG" if "not" in verdict else "good"]] else "no verdict"


def distances(text, camera, colour):
    """Drawn distances from epipolar lines of a camera's picture [px], of regions with many correspondences, by the place in the picture, -0.5..0.5 each way."""
    frame = [[float(v) for v in m] for m in re.findall(r"<rect x='([0-9.]+)' y='([0-9.]+)' width='([0-9.]+)' height='([0-9.]+)' fill='#f6f6f6'", text)][camera]
    found = re.findall(r"<path d='M([0-9.]+) ([0-9.]+)l(-?[0-9.]+) (-?[0-9.]+)' stroke='%s' stroke-width='3'" % colour, text)
    v = np.array(found, float).reshape(-1, 4)
    at = (v[:, :2] - frame[:2]) / frame[2:] - 0.5
    inside = (np.abs(at) < 0.5).all(1)
    return at[inside], np.hypot(v[inside, 2], v[inside, 3]) / 8, v[inside, 2:] / 8


def map_faults(text, turned_px):
    """Distances from epipolar lines: those after the correction short, those of the calibration as long as the error made; in both pictures."""
    for camera in (0, 1):
        given, fitted = (distances(text, camera, c)[1] for c in (GIVEN, FITTED))
        if len(given) < 6 or len(given) != len(fitted):
            return f"{len(given)} and {len(fitted)} distances in the map of camera {camera}"
        given, fitted = float(np.median(given)), float(np.median(fitted))
        if fitted > 0.5 or (given > 0.6 if turned_px is None else given < 0.4 * min(turned_px, 2.5)):
            return f"camera {camera}: distances of {given:.2f} px, {fitted:.2f} px after the correction, {turned_px} px were made"
    return None


def straight(d, k):
    """Points of the plane Z = 1 that Brown's k1, k2 bend to d, by repetition."""
    m = d.copy()
    for _ in range(50):
        r2 = (m ** 2).sum(1, keepdims=True)
        m = d / (1 + k[0] * r2 + k[1] * r2 * r2)
    return m


def lens_faults(text, share):
    """A wrong distortion of camera 0: in each region the distance that the change of k1 makes there, across lines that run along rows, nearly."""
    at, _, drawn = distances(text, 0, GIVEN)
    f, k = 458.0, np.array([-0.283, 0.074])
    d = at * (752, 480) / f
    made = np.clip(f * (straight(d, k * (share, 1)) - straight(d, k))[:, 1], -2.5, 2.5)
    like, size = np.corrcoef(made, drawn[:, 1])[0, 1], np.median(np.abs(drawn[:, 1])) / np.median(np.abs(made))
    return None if len(at) > 20 and like > 0.9 and 0.6 < size < 1.6 else f"{len(at)} distances of camera 0, correlation {like:.2f} with those made, {size:.2f} times as long"


def offset_faults(root, ms):
    """The curve of the rotations' difference has its least where the offset was made, and the line of the offset found stands there."""
    parts = [e.get("d") for e in root.iter(SVG + "path") if e.get("class") == "offset"]
    if len(parts) != 3:
        return f"{len(parts)} parts of the offset's panel"
    curve = np.array([[float(v) for v in p.split()] for p in re.split("[ML]", parts[0])[1:]])
    zero, found = (float(re.match("M([0-9.]+)", p).group(1)) for p in parts[1:])
    most = max(50, 2 * abs(ms)) # ms to each side of the calibrated one, over 470 px in all
    least, line = ((x - zero) * most / 235 for x in (curve[np.argmax(curve[:, 1]), 0], found))
    return None if abs(least - ms) < 4 and abs(line - ms) < 2 and len(curve) > 20 else f"least at {least:.1f} ms, line at {line:.1f} ms, made was {ms} ms"


def rate_faults(root):
    """Rates of the pictures on the curve of the gyro."""
    curve = next((e.get("d") for e in root.iter(SVG + "path") if e.get("stroke") == FITTED and e.get("d", "").count("L") > 100), "")
    line = np.array([[float(v) for v in p.split()] for p in re.split("[ML]", curve)[1:]])
    marks = np.array([[float(e.get("cx")), float(e.get("cy"))] for e in root.iter(SVG + "circle") if e.get("r") == "2" and e.get("fill") == GIVEN])
    if len(line) < 100 or len(marks) < 20:
        return f"{len(line)} and {len(marks)} rates in the picture"
    off = np.abs(np.interp(marks[:, 0], line[:, 0], line[:, 1]) - marks[:, 1])
    spread = np.ptp(line[:, 1])
    return None if np.median(off) < 0.1 * spread else f"rates {np.median(off):.1f} of {spread:.1f} px apart"


def picture_faults(file, out, kind, value):
    text = file.read_text()
    root = xml.etree.ElementTree.fromstring(text)
    if root.tag != SVG + "svg" or re.search(r"\b(nan|inf)\b", text, re.I):
        return "no SVG, or values that are no numbers"
    fault = row_faults(root, out)
    if not fault and kind in ("right", "turned"):
        fault = map_faults(text, abs(value[1]) * 1e-3 * 458 if kind == "turned" else None) or rate_faults(root)
    if not fault and kind in ("right", "late"):
        fault = offset_faults(root, value[1] if value else 0)
    if not fault and kind == "one_lens":
        fault = lens_faults(text, value)
    return fault and f"picture: {fault}"


def play(program, kind, draw, frames):
    """Runs one. Returns what is wrong, or None; and the names that are WRONG."""
    with tempfile.TemporaryDirectory(prefix="calibrate.") as folder:
        folder = pathlib.Path(folder)
        s = Set(int(draw.integers(0, 172 - frames)), frames)
        pattern, value = KINDS[kind](s, draw)
        if s.calibration:
            s.calibration = kitti(folder)
        done = subprocess.run([program, "--quiet", "--out", str(folder / "found.svg"), *s.write(folder / "set")], capture_output=True, text=True)
        wrong = [r[0] for r in ROW.findall(done.stdout) if r[-1] == "WRONG"] + [r[0] for r in LOST.findall(done.stdout) if r[1] == "WRONG"]
        if done.returncode != (3 if pattern else 0):
            return f"exit code {done.returncode}: {done.stderr or done.stdout}", wrong
        if len(ROW.findall(done.stdout)) + len(LOST.findall(done.stdout)) < 3:
            return f"too few lines are read:\n{done.stdout}", wrong
        if pattern and not any(re.match(pattern, w) for w in wrong):
            return f"{pattern} is not among what is wrong", wrong
        if kind == "one_lens" and ("mend the lens first" not in done.stdout or "The mount has moved" in done.stdout):
            return f"the lens is not what is to be mended first:\n{done.stdout}", wrong
        return (faults_of(done.stdout, value) if isinstance(value, tuple) else None) or picture_faults(folder / "found.svg", done.stdout, kind, value), wrong


def chessboard(program):
    """From pictures of a board to a verdict: examples/calibrate/chessboard.py beside a calibration of the same pictures, and `calibrate` on them."""
    board = DATA / "stereo_chessboard"
    try:
        import cv2  # noqa: F401
    except ImportError as missing:
        print(f"  chessboard     SKIPPED, {missing}")
        return 0
    with tempfile.TemporaryDirectory(prefix="calibrate.") as folder:
        rig = pathlib.Path(folder) / "rig"
        pictures = {side: sorted(str(p) for p in board.glob(f"{side}*.png")) for side in ("left", "right")}
        run = [sys.executable, "examples/calibrate/chessboard.py", "--board", "9x6", "--square", "0.025", "--out", str(rig)]
        done = subprocess.run([*run, *pictures["left"], "--second", *pictures["right"]], capture_output=True, text=True)
        few = subprocess.run([*run, *pictures["left"][:4]], capture_output=True, text=True)
        own = {line.split(":")[0].split()[0]: line.split(":")[1].split() for line in (board / "calib.txt").read_text().splitlines()}
        found = done.returncode == 0 and float(re.search(r"baseline ([0-9.]+) m", done.stdout).group(1))
        true = 0.025 * np.linalg.norm([float(v) for v in own["T"]])
        files = f"--calibration={rig / 'intrinsics.yml'},{rig / 'extrinsics.yml'}"
        check = done.returncode == 0 and subprocess.run([program, "--quiet", files, str(board)], capture_output=True, text=True)
    fault = (f"{done.stdout}{done.stderr}" if done.returncode else f"baseline {found}, {true} is right" if abs(found - true) > 0.002 * true else
             f"calibrate: {check.stdout}{check.stderr}" if check.returncode else "" if few.returncode == 1 and "8 are needed" in few.stderr else few.stderr)
    print(f"  chessboard     {'FAILED: ' + fault if fault else f'baseline {found} m, as {true:.4f}; fits the pictures'}", flush=True)
    return int(bool(fault))


def messages(program):
    """What cannot be checked, and wrong usage: exit code and a word of the message."""
    bad = 0
    mono = [str(DATA / "euroc_mh01_a"), "--mono", "--frames", "45", "--quiet"]
    for arguments, code, word in ((["--quiet", str(DATA / "nothing-here")], 1, "nothing-here"), ([], 2, "no DATASET"), (["--frames", "x", "a"], 2, "--frames"),
                                  (["--help"], 0, "usage"), ([str(DATA / "newtsukuba_mono_a"), "--calibration=none", "--quiet"], 1, "no calibration"),
                                  (mono, 0, "no metric motion")):
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        if done.returncode != code or word not in done.stdout + done.stderr:
            print(f"calibrate {' '.join(arguments)}: exit code {done.returncode}, {done.stdout}{done.stderr}")
            bad += 1
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    a = parser.parse_args()
    if not SOURCE.exists():
        print(f"calibrate: no pictures in {DATA}")
        sys.exit(77)
    draw, bad = np.random.default_rng(a.seed), messages(a.program) + chessboard(a.program)
    for kind in QUICK if a.quick else KINDS:
        if a.only and kind != a.only:
            continue
        for i in range(1 if a.quick else 8 if kind == "right" else 3):
            fault, wrong = play(a.program, kind, draw, 80 if a.quick else 120)
            print(f"  {kind:14} {'; '.join(wrong) or 'nothing is wrong'}{'  FAILED: ' + fault if fault else ''}", flush=True)
            bad += fault is not None
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
