#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The accuracy of a path as replay says it, beside what evo (M. Grupp, https://github.com/MichaelGrupp/evo) says of the same files.

    tests/examples/trajectory.py build/bridge_trajectory.so [build/replay]

Exit: 0 good, 1 not, 77 no evo, no numpy or no bridge.

Made-up paths of all lengths, in metres and without, in files of the TUM and the KITTI kind: ATE with evo's alignment, RPE over one frame
with evo's pairs. Drift beside KITTI's own rule, written down here once more, since evo has another. With replay, a drawn flight: the figures
that it prints against evo on the files that it wrote, and its drawing must be XML.
"""
import copy
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

try:
    import numpy as np
    from evo.core import lie_algebra, metrics, sync
    from evo.tools import file_interface
except ImportError as missing:
    print(f"trajectory: SKIPPED, {missing}")
    sys.exit(77)

NAMES = ["frames", "way", "scale", "ate", "rpe", "rpe median", "rpe most", "turn", "turn median", "turn most", "direction", "drift",
         "drift turn", "fit"]
CLOSE = 1e-8 # relative, and absolute
PATHS = 40


def rotation(w):
    """Of an axis times an angle."""
    angle = np.linalg.norm(w)
    x = lie_algebra.hat(w / angle) if angle > 0 else np.zeros((3, 3))
    return np.eye(3) + np.sin(angle) * x + (1 - np.cos(angle)) * x @ x


def pose(R, t):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, t
    return T


def make(random, metric):
    """Ground truth and a path that drifts away from it."""
    count, reach, noise = int(random.choice([3, 20, 300, 1500])), random.choice([0.05, 1.2]), random.choice([1e-4, 0.02])
    truth = [pose(rotation(random.normal(size=3)), random.normal(size=3) * 30)]
    path = [pose(rotation(random.normal(size=3)), random.normal(size=3) * 30)]
    for _ in range(count - 1):
        step = pose(rotation(random.normal(size=3) * 0.02), random.normal(size=3) * 0.1 * reach + [0, 0, reach])
        off = pose(rotation(random.normal(size=3) * noise), random.normal(size=3) * noise * reach)
        own = step @ off
        if not metric:
            own[:3, 3] *= 0.3
        truth.append(truth[-1] @ step)
        path.append(path[-1] @ own)
    return truth, path


def quaternion(R):
    """x y z w from the eigenvector of Bar-Itzhack's matrix (2000)."""
    K = np.zeros((4, 4))
    K[:3, :3] = R + R.T - np.trace(R) * np.eye(3)
    K[:3, 3] = K[3, :3] = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    K[3, 3] = np.trace(R)
    return np.linalg.eigh(K)[1][:, 3]


def write(file, poses, kitti):
    with open(file, "w") as out:
        for i, T in enumerate(poses):
            row = T[:3].ravel() if kitti else [i * 0.1, *T[:3, 3], *quaternion(T[:3, :3])]
            print(*[f"{v:.17g}" for v in row], file=out)


def read(file, kitti):
    return file_interface.read_kitti_poses_file(file) if kitti else file_interface.read_tum_trajectory_file(file)


def kitti_drift(truth, path):
    """Geiger et al. 2012, as their devkit has it; over all of the way where it is too short."""
    way = np.concatenate([[0], np.cumsum([np.linalg.norm(b[:3, 3] - a[:3, 3]) for a, b in zip(truth, truth[1:])])])
    found = [(i, int(np.argmax(way > way[i] + length)), length) for i in range(0, len(truth), 10) for length in range(100, 801, 100)
             if way[-1] > way[i] + length] or [(0, len(truth) - 1, way[-1])]
    errors = []
    for i, k, length in found:
        E = np.linalg.inv(np.linalg.inv(path[i]) @ path[k]) @ (np.linalg.inv(truth[i]) @ truth[k])
        errors.append([100 * np.linalg.norm(E[:3, 3]) / length, np.degrees(lie_algebra.so3_log_angle(E[:3, :3])) / length])
    return np.mean(errors, axis=0)


def statistics(metric, pair):
    metric.process_data(pair)
    return metric.get_all_statistics()


def ask_evo(truth_file, path_file, kitti, metric):
    truth, path = read(truth_file, kitti), read(path_file, kitti)
    if not kitti:
        truth, path = sync.associate_trajectories(truth, path)
    unit = metrics.Unit.frames
    place = statistics(metrics.RPE(metrics.PoseRelation.translation_part, 1, unit), (truth, path))
    turn = statistics(metrics.RPE(metrics.PoseRelation.rotation_angle_deg, 1, unit), (truth, path))
    drift = kitti_drift(truth.poses_se3, path.poses_se3)
    figures = {"frames": truth.num_poses, "way": truth.path_length, "rpe": place["rmse"], "rpe median": place["median"],
               "rpe most": place["max"], "turn": turn["rmse"], "turn median": turn["median"], "turn most": turn["max"], "drift": drift[0], "drift turn": drift[1]}
    steps = [np.array([(np.linalg.inv(a) @ b)[:3, 3] for a, b in zip(t.poses_se3, t.poses_se3[1:])]) for t in (truth, path)]
    lengths = np.linalg.norm(steps[0], axis=1) * np.linalg.norm(steps[1], axis=1)
    cosine = np.sum(steps[0] * steps[1], axis=1)[lengths > 0] / lengths[lengths > 0]
    figures["direction"] = np.degrees(np.sqrt(np.mean(np.arccos(np.clip(cosine, -1, 1)) ** 2)))
    figures["fit"] = copy.deepcopy(path).align(truth, correct_scale=True)[2]
    figures["scale"] = path.align(truth, correct_scale=not metric)[2]
    figures["ate"] = statistics(metrics.APE(metrics.PoseRelation.translation_part), (truth, path))["rmse"]
    return figures


def ask_bridge(bridge, truth_file, path_file, metric):
    figures = (ctypes.c_double * len(NAMES))()
    wrong = bridge.bridge_accuracy(str(path_file).encode(), str(truth_file).encode(), int(metric), figures)
    if wrong:
        raise RuntimeError(wrong.decode())
    return dict(zip(NAMES, figures))


def compare(ours, evos, what):
    """Angles lose half their digits near 0 in a cosine, which is how evo and numpy have them here."""
    bad = 0
    for name in NAMES:
        close = 2e-5 if "turn" in name or name == "direction" else CLOSE
        if abs(ours[name] - evos[name]) <= close * max(1.0, abs(evos[name])):
            continue
        print(f"{what}: {name} is {ours[name]:.12g}, evo has {evos[name]:.12g}")
        bad += 1
    return bad


def printed(summary, pattern):
    found = re.search(pattern, summary)
    if not found:
        raise RuntimeError(f"replay does not print {pattern}:\n{summary}")
    return [float(v) for v in found.groups()]


def check_replay(replay, folder, mono):
    """Figures are printed with three digits or more. One camera goes by tracks alone, which tell so small movements best."""
    out = pathlib.Path(folder) / ("mono" if mono else "stereo")
    command = [replay, "--quiet", "--port", "host", "--frames", "20", "--out", str(out), "synthetic:640x400"]
    command += ["--mono", "--set", "ego=2"] if mono else []
    summary = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    evos = ask_evo(out / "truth.txt", out / "trajectory.txt", False, not mono)
    names = ["ate"] + (["direction", "turn"] if mono else ["rpe", "turn"]) + ["drift", "drift turn"]
    ours = printed(summary, r"ATE ([0-9.e+-]+) m")
    ours += printed(summary, r"direction off by ([0-9.e+-]+) deg, rotation by ([0-9.e+-]+) deg" if mono else
                    r"RPE ([0-9.e+-]+) m and ([0-9.e+-]+) deg")
    ours += printed(summary, r"drift ([0-9.e+-]+) % and ([0-9.e+-]+) deg/m")
    bad = 0
    for name, value in zip(names, ours):
        if abs(value - evos[name]) > 6e-3 * abs(evos[name]):
            print(f"replay{' --mono' * mono}: {name} is {value}, evo has {evos[name]:.6g} of its files")
            bad += 1
    matrices = file_interface.read_kitti_poses_file(out / "trajectory_kitti.txt").poses_se3
    if not np.allclose(matrices, file_interface.read_tum_trajectory_file(out / "trajectory.txt").poses_se3, atol=1e-9):
        print("trajectory.txt and trajectory_kitti.txt differ")
        bad += 1
    if not xml.etree.ElementTree.parse(out / "trajectory.svg").getroot().tag.endswith("svg"):
        print("trajectory.svg is no SVG")
        bad += 1
    print(f"replay{' --mono' * mono}: ATE {ours[0]} m, evo {evos['ate']:.4g} m")
    return bad


def main():
    if len(sys.argv) < 2 or not pathlib.Path(sys.argv[1]).exists():
        print("trajectory: SKIPPED, no bridge")
        sys.exit(77)
    bridge = ctypes.CDLL(str(pathlib.Path(sys.argv[1]).resolve()))
    bridge.bridge_accuracy.restype = ctypes.c_char_p
    random = np.random.default_rng(1)
    bad, segments = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / name for name in ("truth.txt", "path.txt")]
        for i in range(PATHS):
            kitti, metric = i % 2, i // 2 % 2
            truth, path = make(random, metric)
            write(files[0], truth, kitti)
            write(files[1], path, kitti)
            evos = ask_evo(*files, kitti, metric)
            segments += evos["way"] > 100
            what = f"path {i} of {len(truth)} poses, {'KITTI' if kitti else 'TUM'}, {'metric' if metric else 'no metres'}"
            bad += compare(ask_bridge(bridge, *files, metric), evos, what)
        for mono in (0, 1) if len(sys.argv) > 2 else ():
            bad += check_replay(sys.argv[2], folder, mono)
    print(f"trajectory: {PATHS} paths beside evo, {segments} of them longer than 100 m, {bad} figures differ")
    sys.exit(bad > 0)


main()
