#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ROS 2 node of examples/ros2: a recording's pictures and samples go in as messages, what comes out is what replay's tables have.

    tests/package/ros2.py REPLAY BUILD    BUILD has python/libvfront.so and python/vfront.i; exit 77: no rclpy or no message packages

A rendered flight is recorded by replay. This program publishes its CameraInfo, Image and Imu on localhost; position, attitude and covariance of each
Odometry equal state.csv, to the bit but for what the table rounds; so do those of a second flight, which has Kalibr's camchain in place of CameraInfo. Points, pose, diagnostics and the node's words about /tf are checked, too."""
import csv
import importlib.util
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from geometry_msgs.msg import PoseStamped
    from nav_msgs.msg import Odometry
    from rclpy.node import Node
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import CameraInfo, Image, Imu, PointCloud2
except ImportError as lacking:
    print(f"skipped: {(lacking.name or '').split('.')[0]} is not installed: ros-rclpy[fastrtps], ros-nav-msgs, ros-sensor-msgs, ros-diagnostic-msgs")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FRAMES, SIZE, PATIENCE_S = 40, "synthetic:320x208", 60.0
LIGHT = {"vio": 1, "select_points": 400, "ego_hypotheses": 64, "ego_metric_hypotheses": 64}
bad = []


def expect(what, is_so, found=""):
    if not is_so:
        bad.append(f"{what}: {found}")


def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


class Payload:
    """Reads numbers of a chunk one behind the other."""

    def __init__(self, data):
        self.data, self.at = bytes(data), 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def text(self):
        return self.take(f"{self.take('B')}s").decode()


def rig_of(payload):
    """Cameras and IMU of a CHUNK_HEADER: examples/recording/header.h."""
    p, cameras = Payload(payload), []
    p.take("IIIQ")
    for _ in range(5):
        p.text()
    for _ in range(p.take("I")):
        p.text(), p.take("Q")
    for _ in range(p.take("I")):
        width, height, lens = p.take("iii")
        intrinsics, distortion, R, t = p.take("4d"), p.take("8d"), p.take("9d"), p.take("3d")
        p.take("d")
        assert lens == 0 and not p.take("B")
        cameras.append((width, height, intrinsics, distortion[:5], np.vstack([np.column_stack([np.reshape(R, (3, 3)), t]), [0, 0, 0, 1]])))
    p.take("dd")
    return cameras, dict(zip(("gyro_density", "accel_density", "gyro_walk", "accel_walk", "gyro_limit", "accel_limit", "imu_rate_hz", "gravity_m_s2"), p.take("8d")))


def frame_of(payload, cameras):
    """Stamp, samples and pictures of a CHUNK_FRAME: examples/recording/frame.h."""
    p = Payload(payload)
    t_ns, exposure_ns, flags, count, gyro, imu, _ = p.take("QIBBIII")
    assert (exposure_ns, count, gyro) == (0, len(cameras), 0) and not flags & 8
    heads = [p.take("iiIQB") for _ in range(count)]
    samples = [p.take("Q6d") for _ in range(imu)]
    return t_ns, samples, [(w, h, p.take(f"{w * h}s")) for w, h, *_ in heads]


def stamp(message, t_ns, frame):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(t_ns, 1_000_000_000)
    message.header.frame_id = frame
    return message


def stamp_of(message):
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


class Player(Node):
    """Publishes a recording, and keeps what the node publishes."""

    def __init__(self, cameras):
        super().__init__("player")
        self.cameras, self.got, self.taken, sure = cameras, {}, [], QoSProfile(depth=200)
        self.imu = self.create_publisher(Imu, "imu", sure)
        self.info = [self.create_publisher(CameraInfo, f"camera{i}/camera_info", sure) for i in range(len(cameras))]
        self.image = [self.create_publisher(Image, f"camera{i}/image_raw", sure) for i in range(len(cameras))]
        for name, kind in (("odometry", Odometry), ("pose", PoseStamped), ("points", PointCloud2), ("/diagnostics", DiagnosticArray)):
            self.got[name] = []
            self.taken.append(self.create_subscription(kind, name, self.got[name].append, sure))

    def until(self, is_so, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while not is_so() and time.monotonic() < end:
            rclpy.spin_once(self, timeout_sec=0.02)
        return is_so()

    def send_info(self):
        for i, (width, height, (fx, fy, cx, cy), distortion, T) in enumerate(self.cameras):
            m = stamp(CameraInfo(width=width, height=height, distortion_model="plumb_bob", d=list(distortion)), 1, f"camera{i}_optical")
            m.k, m.r = np.array([fx, 0, cx, 0, fy, cy, 0, 0, 1.0]), np.eye(3).ravel()
            m.p = np.array([fx, 0, cx, fx * (T[0, 3] - self.cameras[0][4][0, 3]), 0, fy, cy, 0, 0, 0, 1, 0.0])
            self.info[i].publish(m)

    def send_samples(self, samples):
        for t_ns, *value in samples:
            m = stamp(Imu(), t_ns, "imu_link")
            w, a = m.angular_velocity, m.linear_acceleration
            w.x, w.y, w.z, a.x, a.y, a.z = value
            self.imu.publish(m)

    def send_pictures(self, t_ns, pictures):
        for i, (width, height, pixels) in enumerate(pictures):
            m = stamp(Image(width=width, height=height, step=width, encoding="mono8"), t_ns, f"camera{i}_optical")
            m.data.frombytes(pixels)
            self.image[i].publish(m)

    def is_at(self, name, t_ns):
        """1: the last message of a topic has this stamp."""
        return bool(self.got[name]) and stamp_of(self.got[name][-1]) == t_ns


def fly(player, frames, last_state_ns, said, has_info):
    """Sends the flight, a frame when the one before has been answered. Returns how many were. `said` is the file of the node's words."""
    ready = player.until(lambda: all(p.get_subscription_count() for p in (player.imu, *player.info, *player.image)) and all(s.get_publisher_count() for s in player.taken))
    expect("topics of the node", ready)
    end = time.monotonic() + PATIENCE_S
    while "started on" not in said.read_text() and time.monotonic() < end:  # what is sent before the node knows of the topic is lost
        if has_info:
            player.send_info()
        player.until(lambda: "started on" in said.read_text(), 0.5)
    player.until(lambda: False, 1.5)  # the node gets to know of all that is subscribed to
    for k, (t_ns, samples, pictures) in enumerate(frames):
        player.send_samples(samples)
        for _ in range(1 if k else 2):  # frame 0 again if its answer is lost: it is refused if it was taken
            player.send_pictures(t_ns, pictures)
            if player.until(lambda: player.is_at("/diagnostics", t_ns) or f"frame of {t_ns} ns refused" in said.read_text(), PATIENCE_S if k else PATIENCE_S / 2):
                break
        else:
            return k
    player.until(lambda: all(player.is_at(name, last_state_ns) for name in ("odometry", "pose")) and player.is_at("points", frames[-1][0]))
    wrong = [(w, h - 8, pixels[:w * (h - 8)]) for w, h, pixels in frames[-1][2]]
    player.send_samples([(frames[-1][0] + 40_000_000, *frames[-1][1][-1][1:])])
    player.send_pictures(frames[-1][0] + 33_333_333, wrong)
    player.until(lambda: "refused: VFRONT_E_SIZE" in said.read_text())
    return len(frames)


def compare(player, rows, frames):
    """Odometry beside state.csv."""
    states = {int(row["t_ns"]): row for row in rows if row["px"]}
    found = {stamp_of(m): m for m in player.got["odometry"]}
    expect("stamps of odometry", sorted(states) == sorted(found) and len(found) > FRAMES // 2, (len(states), len(found)))
    worst = 0.0
    for t_ns in sorted(set(states) & set(found)):
        row, m = states[t_ns], found[t_ns]
        p, q, v = m.pose.pose.position, m.pose.pose.orientation, m.twist.twist.linear
        same = [(p.x, "px"), (p.y, "py"), (p.z, "pz"), (q.x, "qx"), (q.y, "qy"), (q.z, "qz"), (q.w, "qw")]
        expect(f"pose at {t_ns}", all(value == float(row[name]) for value, name in same), [(value, row[name]) for value, name in same])
        R = module_of_node.rotation((q.w, q.x, q.y, q.z))
        off = R @ (v.x, v.y, v.z) - [float(row[n]) for n in ("vx", "vy", "vz")]
        sigma = np.sqrt(np.diag(np.reshape(m.pose.covariance, (6, 6)))) - [float(row["sigma_" + n]) for n in ("px", "py", "pz", "rx_rad", "ry_rad", "rz_rad")]
        worst = max(worst, np.abs(off).max(), np.abs(sigma).max())
        twist = np.reshape(m.twist.covariance, (6, 6))
        expect("covariance of the twist", np.allclose(twist, twist.T) and np.linalg.eigvalsh(twist).min() > 0, twist)
    expect("velocity and deviations", worst < 1e-9, worst)
    last, samples = player.got["odometry"][-1], frames[-1][1]
    rate, row = last.twist.twist.angular, states[max(states)]
    expect("rate", np.allclose([rate.x, rate.y, rate.z], np.array(samples[-1][1:4]) - [float(row[n]) for n in ("bgx", "bgy", "bgz")], atol=1e-12), rate)
    expect("frames", (last.header.frame_id, last.child_frame_id) == ("odom", "imu_link"), last.header)
    pose = player.got["pose"]
    expect("poses", len(pose) == len(found) and pose[-1].pose == last.pose.pose, len(pose))
    return len(found)


def check_points(player):
    clouds = player.got["points"]
    cloud = clouds[-1]
    points = np.frombuffer(cloud.data, "<f4").reshape(-1, 4)
    expect("points", len(clouds) > FRAMES // 2 and len(points) == cloud.width > 50 and cloud.header.frame_id == "camera0_optical", (len(clouds), cloud.width))
    expect("points lie before the camera", np.all(points[:, 2] > 0) and 1 < np.median(points[:, 2]) < 20 and np.all(points[:, 3] > 0), np.median(points, 0))


def check_diagnostics(player, said):
    status = [m.status[0] for m in player.got["/diagnostics"]]
    value = {v.key: v.value for v in status[-1].values}
    expect("diagnostics", value["tracking"] == "TRACKING" and value["state"] == "GOOD" and int(value["tracks"]) > 50 and value["frames"] == str(FRAMES), value)
    expect("words of the start", "started on host: 2 cameras, with IMU" in said, said)
    try:
        import tf2_msgs  # noqa: F401
        expect("/tf", "/tf is published" in said, said)
    except ImportError:
        expect("/tf", "no /tf: tf2_msgs is not installed" in said, said)
    expect("a picture of another size", "refused: VFRONT_E_SIZE" in said, said)


def check_encodings(node):
    """Every encoding that a camera driver may send, and one that is not known."""
    rng = np.random.default_rng(3)
    pixel = rng.integers(0, 256, (6, 8, 3)).astype(np.uint8)
    luma = ((pixel.astype(int) @ [299, 587, 114] + 500) // 1000).astype(np.uint8)
    alpha = np.full((6, 8, 1), 9, np.uint8)
    wide = rng.integers(0, 65536, (6, 8)).astype(np.uint16)
    yuv = np.dstack([luma, alpha])
    cases = {"mono8": (luma, luma), "rgb8": (pixel, luma), "bgr8": (pixel[..., ::-1], luma), "rgba8": (np.dstack([pixel, alpha]), luma),
             "bgra8": (np.dstack([pixel[..., ::-1], alpha]), luma), "mono16": (wide, wide), "yuv422_yuy2": (yuv, luma)}
    for encoding, (rows, wanted) in cases.items():
        data = np.hstack([np.ascontiguousarray(rows).view(np.uint8).reshape(6, -1), np.zeros((6, 4), np.uint8)])  # with a gap at the end of a row
        m = Image(width=8, height=6, step=data.shape[1], encoding=encoding)
        m.data.frombytes(data.tobytes())
        expect(encoding, np.array_equal(node.grey(m), wanted))
    m = Image(width=8, height=6, step=16, encoding="mono16", is_bigendian=1)
    m.data.frombytes(wide.astype(">u2").tobytes())
    expect("mono16, high byte first", np.array_equal(node.grey(m), wide))
    for encoding, rows in (("bayer_rggb8", 6), ("mono8", 5)):
        m = Image(width=8, height=6, step=8, encoding=encoding)
        m.data.frombytes(bytes(8 * rows))
        try:
            node.grey(m)
            expect(encoding + " is taken", False)
        except ValueError as error:
            expect(encoding, "are known" in str(error) or "40 bytes for 6 rows of 8" in str(error), error)


def check_lenses(vfront, camera_info, kalibr, folder):
    """Names of distortion_model, Kalibr's models, and what is wrong with either."""
    K, ones = [300.0, 0, 160, 0, 301, 120, 0, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5]
    cases = {("plumb_bob", 5): "RADTAN", ("plumb_bob", 0): "RADTAN", ("", 4): "RADTAN", ("equidistant", 4): "EQUIDISTANT", ("fisheye", 4): "EQUIDISTANT", ("double_sphere", 2): "DS",
             ("ds", 2): "DS", ("eucm", 2): "EUCM", ("omni", 5): "OMNI", ("omni", 1): "OMNI"}
    for (name, count), lens in cases.items():
        got = camera_info.lens(CameraInfo(width=320, height=240, distortion_model=name, k=K, d=ones[:count]))
        expect(name, (got["lens"], got["distortion"], got["fy_px"], got["width_px"]) == (getattr(vfront, "VFRONT_LENS_" + lens), ones[:count], 301, 320), got)
    expect("rational_polynomial", camera_info.lens(CameraInfo(distortion_model="rational_polynomial", k=K, d=[0.1] * 8))["lens"] == vfront.VFRONT_LENS_RATIONAL)
    wrong = {("fov", 1): "double_sphere, ds, eucm, omni are known", ("double_sphere", 1): "1 numbers, of 2", ("eucm", 3): "3 numbers, of 2", ("equidistant", 5): "5 numbers, of 4"}
    for (name, count), words in wrong.items():
        try:
            camera_info.lens(CameraInfo(distortion_model=name, k=K, d=ones[:count]))
            expect(f"{name} of {count} numbers is taken", False)
        except ValueError as error:
            expect(name, words in str(error), error)
    camera = "cam0:\n  camera_model: {}\n  intrinsics: {}\n  distortion_model: {}\n  distortion_coeffs: [1e-2, 0.2, 0.0, 0.0]\n  resolution: [320, 240]\n"
    for model, distortion, before, lens in (("ds", "none", [0.1, 0.6], "DS"), ("eucm", "none", [0.6, 1.1], "EUCM"), ("omni", "radtan", [0.9], "OMNI"), ("pinhole", "equidistant", [], "EQUIDISTANT")):
        (folder / "one.yaml").write_text(camera.format(model, before + [300, 301, 160, 120], distortion))
        got = vfront.camera(**kalibr.read(folder / "one.yaml").cameras()[0])
        numbers = before + ([0.01, 0.2] if distortion != "none" else [])
        expect(model, got.lens == getattr(vfront, "VFRONT_LENS_" + lens) and list(got.distortion)[:len(numbers)] == numbers and got.fy_px == 301 and got.R_cam_imu[0] == 1, list(got.distortion))
    for text, words in ((camera.format("ds", [0.1, 300, 301, 160, 120], "none"), "cam0: 5 intrinsics of ds"), (camera.format("mono", [1], "none"), "cam0: mono with none: known are pinhole with radtan"),
                        ("left: 1", "it has no cam0"), ("cam0: [", "one.yaml: "), ("cam0: {camera_model: ds}", "cam0: no intrinsics"),
                        (camera.format("ds", [0.1, 0.6, 300, 301, 160, 120], "none") + "  T_cam_imu: [1, 2]\n", "T_cam_imu is no pose")):
        (folder / "one.yaml").write_text(text)
        try:
            kalibr.read(folder / "one.yaml")
            expect(f"{text} is taken", False)
        except ValueError as error:
            expect(words, words in str(error), error)


def chain_of(path, cameras):
    """Kalibr's camchain of the recording's cameras."""
    text = ""
    for i, (width, height, intrinsics, distortion, T) in enumerate(cameras):
        step = np.eye(4)
        step[:3, 3] = T[:3, 3] - cameras[0][4][:3, 3]
        text += (f"cam{i}:\n  camera_model: pinhole\n  intrinsics: {list(intrinsics)}\n  distortion_model: radtan\n  distortion_coeffs: {list(distortion[:4])}\n"
                 f"  resolution: [{width}, {height}]\n" + (f"  T_cn_cnm1: {step.tolist()}\n" if i else f"  T_cam_imu: {T.tolist()}\n"))
    path.write_text(text)


def flight(folder, cameras, frames, rows, parameters):
    """The flight through a node of its own. Returns how many frames it answered, and how many poses it gave."""
    lines = [f"    {name}: {value!r}\n" for name, value in parameters.items()]
    (folder / "rig.yaml").write_text("vfront:\n  ros__parameters:\n" + "".join(lines))
    node = subprocess.Popen([sys.executable, str(ROOT / "examples/ros2/vfront_node.py"), "--ros-args", "--params-file", str(folder / "rig.yaml")],
                            stdout=(folder / "said.txt").open("w"), stderr=subprocess.STDOUT)
    player, found = Player(cameras), 0
    try:
        answered = fly(player, frames, max((int(row["t_ns"]) for row in rows if row["px"]), default=0), folder / "said.txt", "calibration" not in parameters)
        expect("frames answered", answered == FRAMES, answered)
    finally:
        node.terminate()
        try:
            node.wait(20)
        except subprocess.TimeoutExpired:
            node.kill()
            node.wait()
    said = (folder / "said.txt").read_text()
    if answered == FRAMES:
        found = compare(player, rows, frames)
        check_points(player)
        check_diagnostics(player, said)
    else:
        bad.append(said[-1500:])
    player.destroy_node()
    return answered, found


def check_refused(folder):
    """A calibration that is not there ends the node, with a word."""
    done = subprocess.run([sys.executable, str(ROOT / "examples/ros2/vfront_node.py"), "--ros-args", "-p", f"calibration:={folder / 'none.yaml'}"], capture_output=True, text=True, timeout=60)
    expect("no calibration", done.returncode == 1 and "calibration: " in done.stderr and "none.yaml" in done.stderr and "Traceback" not in done.stderr, done.stderr)


def main(replay, build):
    global module_of_node
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(ROOT / "examples/python/vfront", folder / "site/vfront")
        for name in ("libvfront.so", "vfront.i"):
            shutil.copy(pathlib.Path(build) / "python" / name, folder / "site/vfront")
        recording = module("recording", ROOT / "tests/examples/recording.py")
        words = [word for name, value in LIGHT.items() for word in ("--set", f"{name}={value}")]
        done = subprocess.run([replay, "--quiet", "--port", "host", "--frames", str(FRAMES), *words, "--record", str(folder / "a.vfr"), "--tables", "frames",
                               "--out", str(folder / "out"), SIZE], capture_output=True, text=True)
        expect("replay", done.returncode == 0, done.stderr)
        chunks = recording.chunks((folder / "a.vfr").read_bytes())
        cameras, noise = rig_of(chunks[0][3])
        frames = [frame_of(c[3], cameras) for c in chunks if c[0] == recording.FRAME]
        rows = list(csv.DictReader((folder / "out/state.csv").open()))

        sys.path.insert(0, str(folder / "site"))
        os.environ.update(PYTHONPATH=str(folder / "site") + os.pathsep + os.environ.get("PYTHONPATH", ""), ROS_DOMAIN_ID=str(1 + os.getpid() % 100),
                          ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", RMW_IMPLEMENTATION="rmw_fastrtps_cpp", ROS_LOG_DIR=str(folder))
        module_of_node = module("vfront_node", ROOT / "examples/ros2/vfront_node.py")
        check_encodings(module_of_node)
        check_lenses(module_of_node.vfront, module_of_node.camera_info, module_of_node.kalibr, folder)
        check_refused(folder)
        parameters = {"port": "host", "diagnostics_s": 0.0, "imu_wait_s": 30.0, "camera0.T_cam_imu": cameras[0][4].ravel().tolist(),
                      "tuning": [f"{name}={value}" for name, value in LIGHT.items()], **{n: v for n, v in noise.items() if "limit" not in n}}
        reliable = {f"qos_overrides./{topic}.subscription.{name}": value for topic in ("imu", *(f"camera{i}/image_raw" for i in range(2)))
                    for name, value in (("reliability", "reliable"), ("depth", 200))}
        rclpy.init()
        answered, found = flight(folder, cameras, frames, rows, {**parameters, **reliable})
        chain_of(folder / "chain.yaml", cameras)
        del parameters["camera0.T_cam_imu"]  # which the file has
        again, poses = flight(folder, cameras, frames, rows, {**parameters, **reliable, "calibration": str(folder / "chain.yaml")})
        answered, found = answered + again, found + poses
        rclpy.shutdown()
    for line in bad:
        print("ros2: " + line)
    print(f"ros2: {answered} frames, {found} poses as in state.csv, {len(bad)} faults")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
