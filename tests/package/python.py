#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package: installed by pip as examples/python/README.md says, it finds in a sequence what replay finds, to the bit.

    tests/package/python.py REPLAY CFG BUILD    REPLAY of the config CFG, built in BUILD; exit 77: no pip or numpy

A drawn pair of cameras with an IMU, in KITTI's layout, goes through replay and through the package: equal digests of every frame; arrays that lie in the
library's memory; a stale result, a wrong picture and a header of another config are named."""
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import pip  # noqa: F401
except ImportError as lacking:
    print(f"skipped: {lacking.name} is not installed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WIDTH, HEIGHT, FRAMES, FOCAL, BASELINE = 192, 144, 24, 120.0, 0.1
AXES = [[0, -1, 0], [0, 0, -1], [1, 0, 0]]  # of camera 0, from those of the IMU
NOISE = {"gyro_density": 1.7e-4, "accel_density": 2e-3, "gyro_walk": 2e-5, "accel_walk": 3e-3, "rate_hz": 200.0}
TUNING = {"dense": 1, "stixel": 1, "map": 1, "dense_disparities": 64}
bad = []


def expect(what, is_so, found=""):
    if not is_so:
        bad.append(f"{what}: {found}")


def pictures():
    """Two planes, the nearer one in the lower half, before cameras that move to the right."""
    grey = np.random.default_rng(5).integers(20, 230, (2, HEIGHT // 6, 200)).astype(np.uint8)
    wall = np.kron(grey, np.ones((1, 6, 6), np.uint8))
    for k in range(FRAMES):
        pair = []
        for camera in range(2):
            picture = np.empty((HEIGHT, WIDTH), np.uint8)
            for plane, rows in enumerate((slice(0, 72), slice(72, HEIGHT))):
                left = 100 + (2 + plane) * k + camera * (6 + 3 * plane)
                picture[rows] = wall[plane, rows, left:left + WIDTH]
            pair.append(picture)
        yield 1_000_000_000 + 33_333_333 * k, pair


def samples():
    t_ns = 900_000_000 + 5_000_000 * np.arange(220, dtype=np.uint64)
    noise = np.random.default_rng(6).normal(0, 1e-3, (2, 220, 3))
    return t_ns, noise[0], noise[1] + [0, 0, 9.81]


def write_sequence(folder):
    for camera in range(2):
        (folder / f"image_{camera}").mkdir(parents=True)
    times = []
    for k, (t_ns, pair) in enumerate(pictures()):
        times.append(f"{t_ns / 1e9:.9f}\n")
        for camera, picture in enumerate(pair):
            (folder / f"image_{camera}/{k:06d}.pgm").write_bytes(b"P5\n%d %d\n255\n" % (WIDTH, HEIGHT) + picture.tobytes())
    (folder / "times.txt").write_text("".join(times))
    row = f"{FOCAL} 0 95.5 %s 0 {FOCAL} 71.5 0 0 0 1 0\n"
    (folder / "calib.txt").write_text("P0: " + row % 0 + "P1: " + row % (-FOCAL * BASELINE))
    (folder / "T_cam0_imu.txt").write_text("".join(" ".join(map(str, r)) + " 0\n" for r in AXES) + "0 0 0 1\n")
    (folder / "imu.yaml").write_text("accelerometer_noise_density: {accel_density}\naccelerometer_random_walk: {accel_walk}\ngyroscope_noise_density: {gyro_density}\n"
                                     "gyroscope_random_walk: {gyro_walk}\nupdate_rate: {rate_hz}\n".format(**NOISE))
    (folder / "imu.csv").write_text("".join(f"{t / 1e9:.9f}," + ",".join(f"{v:.17g}" for v in (*w, *a)) + "\n" for t, w, a in zip(*samples())))


def given(t_ns, frame, times_ns):
    """Samples that replay gives a frame: those after the frame before, up to the first one at or after it; two with the first frame."""
    end = min(int(np.searchsorted(times_ns, t_ns)) + 1, len(times_ns))
    return (max(end - 2, 0) if frame == 0 else min(int(np.searchsorted(times_ns, t_ns - 33_333_333)) + 1, len(times_ns))), end


def fly(vfront, rig):
    """Digests by the package; and what views of results are."""
    imu, digests = vfront.imu(*samples()), []
    with vfront.Vfront(rig, dict(TUNING, vio=1), "host") as vf:
        kept = None
        for k, (t_ns, pair) in enumerate(pictures()):
            a, b = given(t_ns, k, imu["t_ns"])
            result = vf.step(t_ns, pair, imu=imu[a:b])
            digests.append(f"{result.frame} {result.t_ns} {vfront.digest(result):016x}")
            kept = kept or result
        check_views(vfront, result)
        try:
            expect("a stale result is read", False, kept.tracks)
        except RuntimeError as stale:
            expect("a stale result", "next but one" in str(stale), stale)
        try:
            vf.step(t_ns + 33_333_333, [pair[0][:100], pair[1]])
            expect("a wrong picture is taken", False)
        except vfront.Error as error:
            expect("a wrong picture", str(error).startswith("VFRONT_E_SIZE: ") and error.status == vfront.VFRONT_E_SIZE, error)
        expect("a map", len(vf.map_save()) > 100)
        expect("info", vf.info().device == b"host", vf.info().device)
    return digests


def check_views(vfront, result):
    tracks, address = result.tracks, vfront.ctypes.addressof(result._struct)
    offset = vfront.type["vfront_result"].tracks.offset
    expect("tracks lie elsewhere", tracks.ctypes.data == address + offset and not tracks.flags.owndata)
    expect("tracks by count", len(tracks) == result._struct.tracks_count > 20, len(tracks))
    expect("tracks by name", np.all(tracks["x_px"] > 0) and np.all(tracks["x_px"] < WIDTH))
    expect("key points of each camera", [len(k) for k in result.keypoints] == list(result._struct.keypoints_count) and len(result.keypoints) == 2)
    disparity = result.disparity.px16
    expect("disparities", disparity.shape == (HEIGHT, WIDTH) and np.median(disparity[:60]) / 16 == 6 and np.median(disparity[84:]) / 16 == 9,
           (np.median(disparity[:60]) / 16, np.median(disparity[84:]) / 16))
    expect("a struct in a struct", result.health.dt_ns == 33_333_333 and result.nav.position_m.shape == (3,), result.health.dt_ns)
    expect("dir()", {"tracks", "nav", "disparity", "obstacles_cm"} <= set(dir(result)), dir(result))


def check_words(vfront, site):
    expect("comments of the header", "Odometry" not in vfront.type["vfront_nav"].__doc__ and "Position of the IMU [m]" in vfront.type["vfront_nav"].__doc__)
    expect("the comment of a call", "Releases all memory" in vfront.library.vfront_shutdown.__doc__)
    try:
        vfront.tuning(track_targt=3)
        expect("an unknown tuning value", False)
    except vfront.Error as error:
        expect("an unknown tuning value", "VFRONT_E_TUNING: track_targt=3" in str(error), error)
    header = site / "vfront/vfront.i"
    header.write_text(header.read_text().replace("float x_px, y_px;", "double x_px, y_px;", 1))
    done = subprocess.run([sys.executable, "-c", "import vfront"], env=dict(os.environ, PYTHONPATH=str(site)), capture_output=True, text=True)
    expect("a header of another layout", "is 88 in the library, 96 by its header" in done.stderr or " by its header" in done.stderr, done.stderr[-300:])


def main(replay, cfg, build):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        env = dict(os.environ, CFG=cfg, BUILD=build, PWD=os.getcwd())
        site = folder / "site"
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(ROOT / "examples/python")],
                              env=env, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout[-2000:] + done.stderr[-2000:])
            return 1
        sys.path.insert(0, str(site))
        vfront = importlib.import_module("vfront")
        write_sequence(folder / "sequence")
        words = [word for name, value in TUNING.items() for word in ("--set", f"{name}={value}")]
        done = subprocess.run([replay, "--quiet", "--port", "host", *words, "--out", str(folder / "out"), str(folder / "sequence")], capture_output=True, text=True)
        expect("replay", done.returncode == 0 and "that of an IMU" in done.stdout, done.stdout[:400] + done.stderr)
        cameras = [vfront.camera(WIDTH, HEIGHT, FOCAL, FOCAL, 95.5, 71.5, R_cam_imu=AXES, t_cam_imu_m=(-BASELINE * k, 0, 0)) for k in range(2)]
        digests = fly(vfront, vfront.rig(cameras, NOISE))
        theirs = (folder / "out/digest.txt").read_text().splitlines() if (folder / "out/digest.txt").exists() else []
        expect("digests", digests == theirs and len(digests) == FRAMES, next((pair for pair in zip(digests, theirs) if pair[0] != pair[1]), len(theirs)))
        check_words(vfront, site)
    for line in bad:
        print("python: " + line)
    print("python: %d frames by the package and by replay, %d faults" % (FRAMES, len(bad)))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
