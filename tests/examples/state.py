#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The accuracy of states as replay says it, beside the same figures in numpy.

    tests/examples/state.py build/bridge_state.so [build/replay]

Exit: 0 good, 1 not, 77 no numpy or no bridge.

Made-up states: rates and gaps of all kinds, coasting, states that are lost and begin anew elsewhere, ground truth in other axes, with gaps, with and
without velocity or a known vertical. All figures of examples/replay/state_accuracy.h against textbook forms: Umeyama's alignment, 4x4 matrices and their
logarithms, pairs of frames by search, solved covariances. Plots must be XML of bounded size, without values that are no numbers.

With replay, the rendered flight with its IMU, as it is and written to disk once as EuRoC, once as KITTI, whose ground truth has neither velocity nor a
vertical: the figures printed against those of the files written; twice the same bytes; state.csv against trajectory_state.txt.
"""
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

try:
    import numpy as np
except ImportError as missing:
    print(f"state: SKIPPED, {missing}")
    sys.exit(77)

NAMES = ["frames", "length", "ate", "fit", "drift", "drift deg", "end", "ate yaw", "seconds", "second", "second deg", "tilt", "velocities", "velocity",
         "nees p", "nees p count", "nees p beyond", "nees w", "nees w count", "nees w beyond", "states"]
CLOSE, CLOSE_ANGLE = 1e-9, 1e-7  # relative
FLIGHTS = 50
GOOD, COASTING, LOST, STEREO = 2, 3, 4, 5
BOUND = 16.2662  # 99.9 % of chi-squared, 3 degrees
WIDTH, HEIGHT, FRAMES, FRAME_NS = 320, 240, 50, 33333333
CENTRE = WIDTH / 2 - 3.25, HEIGHT / 2 + 2.5


# ---- textbook forms ---------------------------------------------------------------------------------------------------------------------


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def turn(w):
    """Rotation of an axis times an angle, by Rodrigues."""
    angle = np.linalg.norm(w)
    x = hat(w / angle) if angle > 0 else np.zeros((3, 3))
    return np.eye(3) + np.sin(angle) * x + (1 - np.cos(angle)) * x @ x


def log(R):
    """Rotation vector: axis from the antisymmetric part, or near a half turn from the symmetric one."""
    v, c = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2, (np.trace(R) - 1) / 2
    s = np.linalg.norm(v)
    if s < 1e-3 and c < 0:
        axis = np.linalg.eigh((R + R.T) / 2)[1][:, 2]
        return axis * np.arctan2(s, c) * (1 if axis @ v >= 0 else -1)
    return v * (np.arctan2(s, c) / s if s > 0 else 1.0)


def quaternion(R):
    """w x y z from the eigenvector of Bar-Itzhack's matrix (2000)."""
    K = np.zeros((4, 4))
    K[1:, 1:] = R + R.T - np.trace(R) * np.eye(3)
    K[0, 1:] = K[1:, 0] = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    K[0, 0] = np.trace(R)
    return np.linalg.eigh(K)[1][:, 3]


def matrix(q):
    w, x, y, z = np.array(q) / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def pose(R, t):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, t
    return T


def about_z(angle):
    return np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])


def heading_between(R):
    """Angle of the turn about z nearest to R."""
    return np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])


def align(true, own, has_up):
    """Takes true to own: all of it, or yaw and shift."""
    if not has_up:
        return own @ np.linalg.inv(true)
    Z = about_z(heading_between(own[:3, :3] @ true[:3, :3].T))
    return pose(Z, own[:3, 3] - Z @ true[:3, 3])


def umeyama(a, b):
    """ATE after the rigid motion, and factor of the similarity, that take a to b best."""
    x, y = a - a.mean(0), b - b.mean(0)
    U, D, V = np.linalg.svd(y.T @ x)
    S = np.diag([1, 1, np.sign(np.linalg.det(U @ V))])
    R = U @ S @ V
    return np.sqrt(((x @ R.T - y)**2).sum(1).mean()), np.trace(np.diag(D) @ S) / (x**2).sum()


def drift(true, own, way):
    """Geiger et al. 2012, as their devkit has it; over all of the way where it is too short."""
    found = [(i, int(np.argmax(way > way[i] + length)), length) for i in range(0, len(true), 10) for length in range(100, 801, 100)
             if way[-1] > way[i] + length] or [(0, len(true) - 1, way[-1])]
    errors = []
    for i, k, length in found:
        E = np.linalg.inv(np.linalg.inv(true[i]) @ true[k]) @ np.linalg.inv(own[i]) @ own[k]
        errors.append([100 * np.linalg.norm(E[:3, 3]) / length, np.degrees(np.linalg.norm(log(E[:3, :3]))) / length])
    return np.mean(errors, axis=0)


def rmse(v):
    return np.sqrt(np.mean(np.sum(np.atleast_2d(v)**2, axis=-1))) if len(v) else 0.0


def oracle(rows, has_up):
    """rows: t [s], state, resets, own pose, own velocity, covariance, true pose or None, true velocity or None. All figures, or None."""
    has = [r for r in rows if r[1] in (GOOD, COASTING, STEREO)]
    both = [r for r in has if r[6] is not None]
    if len(both) < 2:
        return None
    A = align(both[0][6], both[0][3], has_up)
    t, own, true = np.array([r[0] for r in both]), [r[3] for r in both], [A @ r[6] for r in both]
    a, b = np.array([T[:3, 3] for T in own]), np.array([T[:3, 3] for T in true])
    way = np.r_[0, np.cumsum(np.linalg.norm(np.diff(b, axis=0), axis=1))]
    f = {"states": len(has), "frames": len(both), "length": way[-1]}
    f["ate"], f["fit"] = umeyama(a, b)
    f["drift"], f["drift deg"] = drift(true, own, way)
    f["end"] = np.linalg.norm((np.linalg.inv(np.linalg.inv(true[0]) @ true[-1]) @ np.linalg.inv(own[0]) @ own[-1])[:3, 3])
    x, y = [(p - p.mean(0))[:, 0] + 1j * (p - p.mean(0))[:, 1] for p in (a, b)]
    level = x * np.exp(1j * np.angle(np.vdot(x, y))) - y
    f["ate yaw"] = np.sqrt((np.abs(level)**2 + (a[:, 2] - a[:, 2].mean() - b[:, 2] + b[:, 2].mean())**2).mean()) if has_up else 0.0
    seconds = []
    for i in range(len(both)):
        later = np.flatnonzero(t - t[i] >= 0.999 - 1e-10)
        if len(later) and t[later[0]] - t[i] <= 1.5 + 1e-10:
            k = later[0]
            E = np.linalg.inv(np.linalg.inv(true[i]) @ true[k]) @ np.linalg.inv(own[i]) @ own[k]
            seconds.append([np.linalg.norm(E[:3, 3]), np.linalg.norm(log(E[:3, :3]))])
    f["seconds"] = len(seconds)
    f["second"], f["second deg"] = (np.sqrt(np.mean(np.square(seconds), 0)) * [1, 180 / np.pi]) if seconds else (0, 0)
    up = [np.degrees(np.arctan2(np.linalg.norm(np.cross(T[2, :3], O[2, :3])), T[2, :3] @ O[2, :3])) for T, O in zip(true, own)]
    f["tilt"] = np.sqrt(np.mean(np.square(up))) if has_up else 0.0
    stretch, into, off, nees = None, 0, [], {"p": [], "w": []}
    for r, T in zip(both, true):
        if r[2] != stretch:
            stretch, into, Z = r[2], 0, align(T, r[3], has_up)
        M = Z @ T
        if r[7] is not None:
            off.append((Z @ A)[:3, :3] @ r[7] - r[4])
        e = np.r_[M[:3, 3] - r[3][:3, 3], log(M[:3, :3] @ r[3][:3, :3].T)]
        into += 1
        if into > 5 and has_up:
            for name, at in (("p", 0), ("w", 3)):
                nees[name].append(e[at:at + 3] @ np.linalg.solve(r[5][at:at + 3, at:at + 3], e[at:at + 3]))
    f["velocities"], f["velocity"] = len(off), rmse(off)
    for name in nees:
        f[f"nees {name}"] = np.mean(nees[name]) if nees[name] else 0.0
        f[f"nees {name} count"], f[f"nees {name} beyond"] = len(nees[name]), int(np.sum(np.array(nees[name]) > BOUND))
    return f


# ---- made-up flights --------------------------------------------------------------------------------------------------------------------


def make(random):
    """A flight whose states drift, as rows of oracle(), and whether its truth has a vertical."""
    count, rate = int(random.choice([3, 12, 80, 400])), random.choice([9.6, 20, 30])
    speed = random.choice([0.05, 1.0, 20.0]) * random.uniform(0.97, 1.03)  # drawn: with whole metres a frame, rounding would decide which frame is the first beyond 100 m
    has_up, gaps, rows = bool(random.random() < 0.8), random.random() < 0.5, []
    W = pose(about_z(random.uniform(-3, 3)) if has_up else turn(random.normal(size=3)), random.normal(size=3) * 30)
    true, off, resets, t, waits = pose(turn(random.normal(size=3)), np.zeros(3)), np.eye(4), 0, 1e3, int(random.integers(0, 6))
    L = np.tril(random.normal(size=(15, 15)) * 0.1) + 0.3 * np.eye(15)
    for i in range(count):
        t += round(1 / rate, 6) * (random.integers(1, 30) if gaps and random.random() < 0.03 else 1)
        v = true[:3, :3] @ np.array([speed, 0.1 * speed * np.sin(i / 9), 0.02])
        own = off @ true
        state = 1 if i < waits else GOOD
        if gaps and random.random() < 0.1:
            state = int(random.choice([COASTING, LOST, STEREO]))
        if gaps and random.random() < 0.02:
            resets, off = resets + 1, pose(about_z(random.normal()), random.normal(size=3)) @ off
        known = not (gaps and random.random() < 0.1)
        given = W @ true
        rows.append((round(t, 6), state, resets, own, off[:3, :3] @ v + random.normal(size=3) * 0.1, L @ L.T * (1 + i / count), given if known else None,
                     W[:3, :3] @ v if known and random.random() < 0.9 else None))
        true = true @ pose(turn(random.normal(size=3) * 0.02), [speed / rate, 0, 0])
        off = off @ pose(turn(random.normal(size=3) * 0.002), random.normal(size=3) * 0.003 * speed)
    return rows, has_up


def ask_bridge(bridge, rows, has_up, svg):
    nav, truth = np.zeros((len(rows), 133)), np.zeros((len(rows), 16))
    for n, g, (t, state, resets, own, v, P, true, true_v) in zip(nav, truth, rows):
        n[:13] = [t, state, resets, *own[:3, 3], *v, *quaternion(own[:3, :3])]
        n[13:] = P[np.triu_indices(15)]
        if true is not None:
            g[0], g[1:10], g[10:13] = 1, true[:3, :3].ravel(), true[:3, 3]
        if true is not None and true_v is not None:
            g[0], g[13:] = 2, true_v
    figures = np.zeros(len(NAMES))
    done = bridge.bridge_states(len(rows), nav.ctypes.data_as(ctypes.c_void_p), truth.ctypes.data_as(ctypes.c_void_p), int(has_up),
                                figures.ctypes.data_as(ctypes.c_void_p), str(svg).encode())
    if done < 0:
        raise RuntimeError("no memory, or no plot")
    return dict(zip(NAMES, figures)) if done else None


def compare(ours, theirs, what):
    if (ours is None) != (theirs is None):
        print(f"{what}: {'no' if ours is None else 'a'} comparison, numpy has another opinion")
        return 1
    bad = 0
    for name in NAMES if ours else ():
        close = CLOSE_ANGLE if name in ("drift deg", "second deg", "tilt", "nees w") else CLOSE
        if not abs(ours[name] - theirs[name]) <= close * max(1.0, abs(theirs[name])):
            print(f"{what}: {name} is {ours[name]:.12g}, numpy has {theirs[name]:.12g}")
            bad += 1
    return bad


def plot_faults(file, most=150_000):
    """What is wrong with a plot, or None."""
    text = file.read_text()
    if not xml.etree.ElementTree.fromstring(text).tag.endswith("svg"):
        return "is no SVG"
    if re.search(r"\b(nan|inf)\b", text, re.I):
        return "has values that are no numbers"
    if max((len(n) for n in re.findall(r"-?[0-9.]+", text)), default=0) > 8:
        return "has numbers of any length"
    return "is large" if len(text) > most else None


# ---- replay -----------------------------------------------------------------------------------------------------------------------------

NUMBER = r"([0-9.e+-]+)"
# Lines of the summary: pattern, figures.
LINES = [(rf"ATE {NUMBER} m RMSE, aligned by SE\(3\), {NUMBER} m by shift and yaw; {NUMBER} frames with ground truth, {NUMBER} m",
          ["ate", "ate yaw", "frames", "length"]),
         (rf"RPE {NUMBER} m and {NUMBER} deg over 1 s, RMSE of {NUMBER}\n", ["second", "second deg", "seconds"]),
         (rf"drift {NUMBER} % and {NUMBER} deg/m over the whole distance", ["drift", "drift deg"]), (rf"tilt off by {NUMBER} deg", ["tilt"]),
         (rf"velocity off by {NUMBER} m/s, RMSE of {NUMBER};", ["velocity", "velocities"])]


def text(file, rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(" ".join(f"{v:.17g}" for v in row) if not isinstance(row, str) else row for row in rows) + "\n")


def sensor(kind, T, more):
    return ["%YAML:1.0", f"sensor_type: {kind}", "T_BS:", "  data: [" + ", ".join(f"{v:.17g}" for v in T.ravel()) + "]", *more]


def write_sets(bridge, folder):
    """The flight as EuRoC and as KITTI. Returns its true states, 200 a second: t [ns], T_world_imu, v."""
    state, imu, states = np.zeros(15), np.zeros((4000, 7)), {}
    focal, tilt = 0.61 * WIDTH, np.radians(12)
    c, s = np.cos(tilt), np.sin(tilt)
    T_cam_imu = pose(np.array([[0, -1, 0], [-s, 0, -c], [c, 0, -s]]), np.zeros(3))
    T_imu_cam, right = np.linalg.inv(T_cam_imu), pose(np.eye(3), [0.11, 0, 0])
    lens = ["resolution: [%d, %d]" % (WIDTH, HEIGHT), "camera_model: pinhole", f"intrinsics: [{focal}, {focal}, {CENTRE[0]}, {CENTRE[1]}]",
            "distortion_model: radial-tangential", "distortion_coefficients: [0, 0, 0, 0]"]
    noise = ["gyroscope_noise_density: 1.7e-4", "gyroscope_random_walk: 2e-5", "accelerometer_noise_density: 2e-3", "accelerometer_random_walk: 3e-3"]
    stamps = [10**9 + i * FRAME_NS for i in range(FRAMES)]

    def true(t_ns):
        bridge.bridge_truth(ctypes.c_uint64(t_ns), state.ctypes.data_as(ctypes.c_void_p))
        return pose(state[:9].reshape(3, 3), state[9:12]), state[12:].copy()
    for t_ns in range(10**9 - 50_000_000, stamps[-1] + 50_000_000, 5_000_000):
        states[t_ns] = true(t_ns)
    n = bridge.bridge_imu(ctypes.c_uint64(10**9 - 50_000_000), ctypes.c_uint64(stamps[-1] + 50_000_000), len(imu), imu.ctypes.data_as(ctypes.c_void_p))
    rows = [(round(r[0] * 1e9), r[1:]) for r in imu[:n]]
    picture = [np.zeros((HEIGHT, WIDTH), np.uint8) for _ in range(2)]
    for i, t_ns in enumerate(stamps):
        bridge.bridge_render(i, WIDTH, HEIGHT, *[ctypes.c_void_p(p.ctypes.data) for p in picture])
        for k in range(2):
            for file in (folder / f"euroc/mav0/cam{k}/data/{t_ns}.pgm", folder / f"kitti/image_{k}/{i:06d}.pgm"):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(b"P5\n%d %d\n255\n" % (WIDTH, HEIGHT) + picture[k].tobytes())
    mav = folder / "euroc/mav0"
    for k, T in enumerate((T_imu_cam, T_imu_cam @ right)):
        text(mav / f"cam{k}/data.csv", [f"{t},{t}.pgm" for t in stamps])
        text(mav / f"cam{k}/sensor.yaml", sensor("camera", T, lens))
    text(mav / "imu0/data.csv", [f"{t}," + ",".join(f"{v:.17g}" for v in r) for t, r in rows])
    text(mav / "imu0/sensor.yaml", sensor("imu", np.eye(4), ["rate_hz: 200", *noise]))
    text(mav / "state_groundtruth_estimate0/data.csv", [f"{t}," + ",".join(f"{v:.17g}" for v in (*T[:3, 3], *quaternion(T[:3, :3]), *v)) for t, (T, v) in states.items()])
    kitti, first = folder / "kitti", np.linalg.inv(true(stamps[0])[0] @ T_imu_cam)
    text(kitti / "poses.txt", [(first @ true(t)[0] @ T_imu_cam)[:3].ravel() for t in stamps])
    text(kitti / "times.txt", [[(t - 10**9) * 1e-9] for t in stamps])
    text(kitti / "imu.csv", [",".join([f"{(t - 10**9) * 1e-9:.9f}"] + [f"{v:.17g}" for v in r]) for t, r in rows])
    text(kitti / "T_cam0_imu.txt", T_cam_imu)
    text(kitti / "imu.yaml", [*noise, "update_rate: 200"])
    text(kitti / "calib.txt", [f"P{k}: {focal} 0 {CENTRE[0]} {-0.11 * focal * k} 0 {focal} {CENTRE[1]} 0 0 0 1 0" for k in range(2)])
    return true


def states_of(out, true_at):
    """Rows of oracle() from state.csv and what is true of each frame, without covariances."""
    table, rows = np.genfromtxt(out / "state.csv", delimiter=",", names=True, dtype=None, encoding=None), []
    for i, line in enumerate(table):
        state = {"none": 0, "initialising": 1, "good": GOOD, "coasting": COASTING, "lost": LOST, "stereo": STEREO}[line["state"]]
        q = [line[name] for name in ("qw", "qx", "qy", "qz")]
        own = pose(matrix(q), [line[name] for name in ("px", "py", "pz")]) if state in (GOOD, COASTING, STEREO) else np.eye(4)
        v = np.array([line[name] for name in ("vx", "vy", "vz")])
        true, true_v = true_at(i, line["t_imu_ns"])
        rows.append((line["t_ns"] * 1e-9, state, line["reset_counter"], own, v, np.eye(15), true, true_v))
    return rows


def parabola(times, positions, i):
    """Coefficients at frame i of the parabola through five positions, or None."""
    if i < 2 or i + 2 >= len(times):
        return None
    at = np.array(times[i - 2:i + 3]) - times[i]
    return np.linalg.lstsq(np.stack([np.ones(5), at, at**2], 1), positions[i - 2:i + 3], rcond=None)[0]


def of_kitti(folder):
    """Truth of each frame as it can be told from the files alone: poses of the IMU, turned so that the mean force less acceleration points up."""
    T = np.loadtxt(folder / "T_cam0_imu.txt")
    poses = [np.vstack([row.reshape(3, 4), [0, 0, 0, 1]]) @ T for row in np.loadtxt(folder / "poses.txt")]
    times, imu = np.loadtxt(folder / "times.txt"), np.genfromtxt(folder / "imu.csv", delimiter=",")
    places = np.array([p[:3, 3] for p in poses])
    curves, up = [parabola(times, places, i) for i in range(len(poses))], np.zeros(3)
    for p, t, c in zip(poses, times, curves):
        if c is not None:
            up += p[:3, :3] @ imu[(imu[:, 0] > -1e-9) & (np.abs(imu[:, 0] - t) < 0.2 - 1e-9), 4:].mean(0) - 2 * c[2]
    z = up / np.linalg.norm(up)
    x = np.cross([0, 1, 0], z) / np.linalg.norm(np.cross([0, 1, 0], z))
    W = pose(np.stack([x, np.cross(z, x), z]), np.zeros(3))
    return lambda i, _: (W @ poses[i], W[:3, :3] @ curves[i][1] if curves[i] is not None else None), W, poses


def run(replay, out, words):
    return subprocess.run([replay, "--quiet", "--port", "host", "--tables", "frames", "--out", str(out), *words], check=True, capture_output=True, text=True).stdout


def check_run(replay, out, words, true_at, what):
    """Figures as printed, with four digits, against those of the files; the files against each other; twice the same."""
    summary, bad = run(replay, out, words), 0
    rows = states_of(out, true_at)
    theirs = oracle(rows, True)
    for pattern, names in LINES:
        found = re.search(pattern, summary[summary.index("\nstate "):])
        if not found:
            print(f"{what}: replay does not print {pattern}:\n{summary}")
            return 1
        for name, value in zip(names, found.groups()):
            if float(value) != float("%.4g" % theirs[name]) and abs(float(value) - theirs[name]) > 6e-4 * abs(theirs[name]):
                print(f"{what}: {name} is {value}, numpy has {theirs[name]:.6g}")
                bad += 1
    first = next(r for r in rows if r[1] == GOOD)
    if f"first one after {first[0] - rows[0][0]:.2f} s; began anew {rows[-1][2]} times" not in summary:
        print(f"{what}: not the time of the first state, or not the number of restarts")
        bad += 1
    tum = np.loadtxt(out / "trajectory_state.txt")
    own = [r for r in rows if r[1] in (GOOD, COASTING, STEREO)]
    if len(tum) != len(own) or any(not np.allclose(pose(matrix(t[[7, 4, 5, 6]]), t[1:4]), r[3], atol=1e-9) or abs(t[0] - r[0]) > 1e-6 for t, r in zip(tum, own)):
        print(f"{what}: trajectory_state.txt and state.csv differ")
        bad += 1
    truth, A = np.loadtxt(out / "truth_state.txt"), align(own[0][6], own[0][3], True)
    if len(truth) != len(own) or any(not np.allclose(t[1:4], (A @ r[6])[:3, 3], atol=3e-5) for t, r in zip(truth, own)):
        print(f"{what}: truth_state.txt is not the truth, at the first state")
        bad += 1
    if plot_faults(out / "state.svg"):
        print(f"{what}: state.svg {plot_faults(out / 'state.svg')}")
        bad += 1
    before = {name: (out / name).read_bytes() for name in ("state.csv", "trajectory_state.txt", "truth_state.txt", "state.svg")}
    if re.findall("\ndigest.*", run(replay, out, words)) != re.findall("\ndigest.*", summary) or any((out / n).read_bytes() != b for n, b in before.items()):
        print(f"{what}: a second run differs")
        bad += 1
    print(f"{what}: ATE {1e3 * theirs['ate']:.2f} mm, tilt {theirs['tilt']:.3f} deg, {theirs['frames']} frames")
    return bad + (theirs["ate"] > 0.05) + (theirs["frames"] < FRAMES - 15)


def check_replay(bridge, replay, folder):
    true = write_sets(bridge, folder)
    bad = check_run(replay, folder / "flight", [f"synthetic:{WIDTH}x{HEIGHT}", "--frames", str(FRAMES), "--set", "vio=1"], lambda i, t: true(int(t)) if t > 0 else (None, None), "flight")
    if "this build has no libyaml" in subprocess.run([replay, "--frames", "1", "--port", "host", folder / "euroc"], capture_output=True, text=True).stderr:
        print("EuRoC and KITTI: SKIPPED, no libyaml in replay")
        return bad
    bad += check_run(replay, folder / "of-euroc", [str(folder / "euroc")], lambda i, t: true(int(t)) if t > 0 else (None, None), "EuRoC")
    true_at, W, poses = of_kitti(folder / "kitti")
    bad += check_run(replay, folder / "of-kitti", [str(folder / "kitti")], true_at, "KITTI")
    tilt = np.degrees(np.arccos(np.clip((W[:3, :3] @ poses[0][:3, :3])[2] @ true(10**9)[0][2, :3], -1, 1)))
    if not tilt < 1.0:
        print(f"KITTI: up is off by {tilt:.2f} deg")
        bad += 1
    return bad


def main():
    if len(sys.argv) < 2 or not pathlib.Path(sys.argv[1]).exists():
        print("state: SKIPPED, no bridge")
        sys.exit(77)
    bridge = ctypes.CDLL(str(pathlib.Path(sys.argv[1]).resolve()))
    random, bad, told = np.random.default_rng(1), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for i in range(FLIGHTS):
            rows, has_up = make(random)
            svg = folder / f"{i}.svg"
            theirs = oracle(rows, has_up)
            told += theirs is not None
            bad += compare(ask_bridge(bridge, rows, has_up, svg), theirs, f"flight {i} of {len(rows)} frames")
            wrong = plot_faults(svg) if svg.exists() else None
            if wrong:
                print(f"flight {i}: the plot {wrong}")
                bad += 1
        if len(sys.argv) > 2:
            bad += check_replay(bridge, sys.argv[2], folder)
    print(f"state: {FLIGHTS} flights, {told} of them with a comparison, {bad} figures differ")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
