#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Accuracy on whole sequences of a data set, beside what papers and peers say of them.

    tests/accuracy/SET.sh FOLDER [--replay PROGRAM] [--only WORD] [--frames N] [--set NAME=VALUE ...] [--out FOLDER] [--jobs N]

SET is one of:
euroc  FOLDER holds folders MH_01_easy ... V2_03_difficult, each with mav0 (ASL layout, as the data set comes).
kitti  FOLDER is that of KITTI odometry: sequences/00 ... with image_0, image_1, calib.txt, times.txt, and poses/00.txt ...; or 00 ... with poses.txt inside.
       An imu.csv with T_cam0_imu.txt and imu.yaml (examples/replay/README.md) in a sequence gives states as well.
kaist  FOLDER holds folders circle, circle_fast, circle_head, infinite ... rotation_head of KAIST-VIO, taken out of the bags into the ASL layout: mav0 with cam0,
       cam1 (infra1, infra2), imu0 with their data.csv and sensor.yaml, and state_groundtruth_estimate0; or groundtruth.txt (TUM) beside mav0.
All sequences that lie there run, also those of other names.

--replay  Program to run, build/replay. A build with VFRONT_MAP takes map=1 and has a column more once replay writes trajectory_map.txt.
--only    Sequences whose name contains the word.
--frames  The first frames of each sequence only: such a table says so, and is not to be compared.
--set     Tuning value, for all sequences alike. Without it the standard one.
--out     Keeps what replay writes, a folder for each sequence.
--jobs    Runs at a time, 1.

Whole sequences from the first frame on, one tuning for all; truth is aligned by the rotation and the shift that fit best (SE(3)), never by a scale.

frames   Frames of the sequence. done: of these with a position of the path, and with a state of the IMU [%].
path     ATE of the camera's path, chained from motions of both cameras [m], root mean square. state: of the states of the IMU. map: after loops.
t_rel    Path: mean error of translation over all stretches of 100 to 800 m [%], r_rel of rotation [deg/100 m], as KITTI's; - where the way is shorter.
The columns behind the bar are figures of others, as their papers give them: the notes below the table say what they are.

Exit status: 0; 1 if a sequence failed; 2 wrong usage; 77 if the folder has no sequence.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Names of sequences by their beginning, and figures of others: heads of the columns, rows, notes.
EUROC = {
    "heads": ["004", "004+IMU", "ICE-BA", "000 %"],
    "rows": {
        "MH_01": [.04, .07, .05, .86], "MH_02": [.03, .04, .04, .90], "MH_03": [.03, .07, .10, 1.40], "MH_04": [None, None, None, 1.85],
        "MH_05": [None, None, None, 1.19], "V1_01": [], "V1_02": [], "V1_03": [], "V2_01": [], "V2_02": [], "V2_03": [],
    },
    "notes": ["004: paper 004, Table V, ATE [m]: two cameras, full bundle adjustment with loops, no IMU; 004+IMU: its front end with ICE-BA; ICE-BA alone.",
              "000 %: paper 000, Table VII, relative error of translation [%] on a TX2, another measure than ATE.",
              "cuVSLAM (its paper, Table 2, means, aligned with a scale): two cameras, odometry 0.13, with its map 0.054 (10 sequences, no V2_03); with IMU 0.19 and 0.13 (11)."],
}
KITTI = {
    "heads": ["004 %"],
    "rows": {"00": [.66], "01": [1.96], "02": [.96], **{f"{i:02d}": [] for i in range(3, 11)}},
    "notes": ["004 %: paper 004, Table IV, with loops; the column is headed ATE, but its figures of ORB-SLAM2 are that system's t_rel in percent.",
              "cuVSLAM (means of 00 to 10): t_rel 0.85 %, r_rel 0.25 deg/100 m, ATE 3.00 m by odometry, 1.98 m with its map."],
}
KAIST = {
    "heads": ["004", "VINS-F GPU", "VINS-F IMU", "ORB-SLAM2"],
    "rows": {
        "circle": [.014, .09, .11, .09], "circle_fast": [.017, .13, .10, .11], "circle_head": [.12, .11, .13, .13], "infinite": [.017, .09, .08, .08],
        "infinite_fast": [.016, .05, .08, .10], "infinite_head": [.09, .14, .12, .12], "square": [.016, .12, .21, .09], "square_fast": [.017, .11, .13, .09],
        "square_head": [.04, .15, .20, .16], "rotation": [.07, .12, .16, .17], "rotation_head": [.09, .11, .10, .21],
    },
    "notes": ["All: paper 004, Table VI, ATE [m] on a Xavier NX: 004 with two cameras and loops; VINS-Fusion on the GPU, and with the IMU; ORB-SLAM2.",
              "cuVSLAM has published no figures of this set."],
}
SETS = {"euroc": EUROC, "kitti": KITTI, "kaist": KAIST}
SEGMENTS = range(100, 801, 100)


# ---- sequences in a folder --------------------------------------------------------------------------------------------------------------


def known_name(which, name):
    """Name of a sequence in the tables, or None."""
    plain = re.sub(r"[-_]?normal$", "", name.lower()) if which == "kaist" else name
    found = [row for row in SETS[which]["rows"] if (plain == row if which == "kaist" else plain.startswith(row))]
    return found[0] if found else None


def sequences(which, folder):
    """Name, data set for replay and words of each sequence."""
    found = []
    if which == "kitti":
        for images in sorted(folder.glob("*/image_0")) + sorted(folder.glob("sequences/*/image_0")):
            truth = folder / "poses" / f"{images.parent.name}.txt"
            found.append((images.parent.name, images.parent, [f"--truth={truth}"] if truth.exists() else []))
        return found
    for mav in sorted(folder.glob("*/mav0")) + sorted(folder.glob("*/*/mav0")):
        truth = mav.parent / "groundtruth.txt"
        own = (mav / "state_groundtruth_estimate0").exists()
        found.append((mav.parent.name, mav.parent, [f"--truth={truth}"] if truth.exists() and not own else []))
    return found


# ---- figures ----------------------------------------------------------------------------------------------------------------------------


def read_poses(path):
    """Stamp, as written, to position and quaternion x y z w."""
    poses = {}
    if path.exists():
        for line in path.read_text().splitlines():
            words = line.split()
            poses[words[0]] = np.array([float(w) for w in words[1:8]])
    return poses


def error(own, truth):
    """Positions' root mean square error after the rotation and the shift that fit best, and their number."""
    both = [t for t in own if t in truth]
    if len(both) < 3:
        return None
    a, b = np.array([own[t][:3] for t in both]), np.array([truth[t][:3] for t in both])
    u, _, vt = np.linalg.svd((b - b.mean(0)).T @ (a - a.mean(0)))
    R = u @ np.diag([1, 1, np.sign(np.linalg.det(u @ vt))]) @ vt
    return float(np.sqrt((((a - a.mean(0)) @ R.T - (b - b.mean(0)))**2).sum(1).mean()))


def matrix(pose):
    """4x4 matrix of a position and a quaternion x y z w."""
    x, y, z, w = pose[3:] / np.linalg.norm(pose[3:])
    M = np.eye(4)
    M[:3, :3] = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                 [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
    M[:3, 3] = pose[:3]
    return M


def drift(own, truth):
    """KITTI's mean errors over stretches: translation [%], rotation [deg/100 m]; or None."""
    both = [t for t in own if t in truth]
    a, b = [matrix(own[t]) for t in both], [matrix(truth[t]) for t in both]
    way = np.concatenate([[0.0], np.cumsum([np.linalg.norm(q[:3, 3] - p[:3, 3]) for p, q in zip(b, b[1:])])]) if b else np.zeros(1)
    errors = []
    for first in range(0, len(both), 10):
        for length in SEGMENTS:
            last = int(np.searchsorted(way, way[first] + length, side="right"))
            if last >= len(both):
                continue
            E = np.linalg.inv(np.linalg.inv(b[first]) @ b[last]) @ np.linalg.inv(a[first]) @ a[last]
            angle = np.arccos(np.clip((np.trace(E[:3, :3]) - 1) / 2, -1, 1))
            errors.append((100 * np.linalg.norm(E[:3, 3]) / length, 100 * np.degrees(angle) / length))
    return tuple(np.mean(errors, axis=0)) if errors else None


# ---- runs -------------------------------------------------------------------------------------------------------------------------------


def has_map(replay):
    """The build has maps."""
    said = subprocess.run([replay, "--set", "help"], capture_output=True, text=True).stdout
    return re.search(r"^map +[0-9]+ +0\.\.1 ", said, re.M) is not None


def run(args, words, sequence):
    """Runs a sequence. Returns its name and figures; figures is a text where it failed."""
    name, data, own_words = sequence
    with tempfile.TemporaryDirectory(prefix="vfront-accuracy-") as folder:
        out = args.out / name if args.out else pathlib.Path(folder)
        done = subprocess.run([args.replay, str(data), "--quiet", "--tables", "frames", "--out", str(out), *words, *own_words], capture_output=True, text=True)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("replay: ")]
            return name, said[-1] if said else f"replay: exit code {done.returncode}"
        frames = (out / "health.csv").read_text().count("\n") - 1
        path, state, after = [read_poses(out / f"trajectory{kind}.txt") for kind in ("", "_state", "_map")]
        truth, truth_state = read_poses(out / "truth.txt"), read_poses(out / "truth_state.txt")
        return name, (frames, 100.0 * len(path) / frames, 100.0 * len(state) / frames, error(path, truth), error(state, truth_state),
                      error(after, truth) or error(after, truth_state), drift(path, truth))


def number(value, form):
    """A figure, or - where there is none, in as many letters."""
    width = int(re.match(r"\d+", form).group())
    return " " * (width - 1) + "-" if value is None else format(value, form)


def row_of(name, figures, peers, heads):
    """Row of the table."""
    if isinstance(figures, str):
        return f"{name:18s} FAILED {figures}"
    frames, done, done_state, path, state, after, drifted = figures
    t_rel, r_rel = drifted or (None, None)
    own = f"{name:18s} {frames:6d} {done:6.1f} {done_state:6.1f} {number(path, '8.3f')} {number(state, '8.3f')} {number(after, '8.3f')} {number(t_rel, '6.2f')} {number(r_rel, '6.2f')} |"
    return own + "".join(" " + number(v, f"{len(h) + 3}.3f") for v, h in zip(list(peers) + [None] * len(heads), heads))


def mean_row(rows, heads):
    """Means of the columns over the sequences that have them."""
    def mean(values):
        values = [v for v in values if v is not None]
        return sum(values) / len(values) if values else None
    figures = [f for _, f, _ in rows if not isinstance(f, str)]
    if not figures:
        return None
    drifts = [f[6] for f in figures if f[6]]
    own = (sum(f[0] for f in figures), mean([f[1] for f in figures]), mean([f[2] for f in figures]), *[mean([f[i] for f in figures]) for i in (3, 4, 5)],
           (mean([d[0] for d in drifts]), mean([d[1] for d in drifts])) if drifts else None)
    peers = [mean([p[i] if i < len(p) else None for _, f, p in rows if not isinstance(f, str)]) for i in range(len(heads))]
    return row_of("mean", own, peers, heads)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("which", choices=SETS)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--replay", default=str(ROOT / "build/replay"))
    parser.add_argument("--only", default="")
    parser.add_argument("--frames", type=int, default=0)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    if not pathlib.Path(args.replay).exists():
        print(f"{args.which}: no program {args.replay}: make, or --replay PROGRAM")
        return 2
    found = [s for s in sequences(args.which, args.folder) if args.only in s[0]]
    if not found:
        print(f"{args.which}: no sequence in {args.folder}; --help says what it looks for")
        return 77
    words = [w for value in args.set for w in ("--set", value)] + (["--frames", str(args.frames)] if args.frames else [])
    if has_map(args.replay) and not any(v.startswith("map=") for v in args.set):
        words += ["--set", "map=1"]
    heads, rows = SETS[args.which]["heads"], []
    print(f"{'sequence':18s} {'frames':>6s} {'done %':>6s} {'state':>6s} {'path m':>8s} {'state m':>8s} {'map m':>8s} {'t_rel':>6s} {'r_rel':>6s} |" +
          "".join(f" {h:>{len(h) + 3}s}" for h in heads) + (f"   the first {args.frames} frames only" if args.frames else ""), flush=True)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, figures in pool.map(lambda s: run(args, words, s), found):
            peers = SETS[args.which]["rows"].get(known_name(args.which, name), [])
            rows.append((name, figures, peers))
            print(row_of(name, figures, peers, heads), flush=True)
    mean = mean_row(rows, heads)
    if mean and len(rows) > 1:
        print(mean)
    missing = [n for n in SETS[args.which]["rows"] if not any(known_name(args.which, name) == n for name, _, _ in rows)]
    if missing:
        print(f"not there: {' '.join(missing)}")
    for note in SETS[args.which]["notes"]:
        print(note)
    return int(any(isinstance(f, str) for _, f, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
