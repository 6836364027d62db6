#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vfront as a ROS 2 node, over the Python package of examples/python: pictures and IMU samples in, odometry, points and health out.

    python3 examples/ros2/vfront_node.py --ros-args -r camera0/image_raw:=/left/image_raw --params-file my_rig.yaml

examples/ros2/README.md lists topics and parameters."""
import array
import time
import types

import numpy as np
import rclpy
import vfront
from vfront import camera_info, kalibr
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, TransformStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import CameraInfo, Image, Imu, PointCloud2, PointField
from std_msgs.msg import Header

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

NUMBERS = {"gyro_density": 0.0, "accel_density": 0.0, "gyro_walk": 0.0, "accel_walk": 0.0, "imu_rate_hz": 0.0, "gravity_m_s2": 9.81,
           "imu_offset_s": 0.0, "imu_wait_s": 0.1, "pair_s": 0.001, "exposure_s": 0.0, "diagnostics_s": 1.0}
WORDS = {"port": "auto", "calibration": "", "odom_frame": "odom", "map_frame": "map", "imu_frame": "", "rectified": False, "cameras": vfront.VFRONT_CAMERAS}
IMU_DEPTH = 2000  # samples that may wait while a step runs
BACK_NS = 1_000_000_000  # stamps that go back by more: a clock that was set
PAIRS_WAITING = 10  # frames that may wait for their other picture or for samples
WITH_STATE = ("GOOD", "COASTING", "STEREO_ONLY")
LUMA = {"rgb8": (0, 1, 2, 3), "bgr8": (2, 1, 0, 3), "rgba8": (0, 1, 2, 4), "bgra8": (2, 1, 0, 4)}  # red, green, blue, bytes a pixel


def name_of(enum, value):
    """Name of a value of an enum, without what all of its names begin with: 2 of vfront_nav_state is GOOD."""
    names = vfront.enum[enum]
    prefix = {"vfront_nav_state": "VFRONT_NAV_", "vfront_health_state": "VFRONT_", "vfront_stereo_state": "VFRONT_STEREO_"}[enum]
    return next((name[len(prefix):] for name, number in names.items() if number == value), str(value))


def imu_faults(bits):
    return " ".join(name[len("VFRONT_IMU_"):] for name, bit in vfront.enum["vfront_imu_fault"].items() if bits & bit)


def nanoseconds(stamp):
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def grey(message):
    """Array of the rows of a sensor_msgs/Image, of uint8 or uint16. Raises ValueError for an encoding that is not known."""
    data, width, height, step = np.frombuffer(message.data, np.uint8), message.width, message.height, message.step
    if len(data) < step * height or step < width or not height:
        raise ValueError(f"{len(data)} bytes for {height} rows of {step}")
    rows, encoding = data[:step * height].reshape(height, step), message.encoding
    if encoding in ("mono8", "8UC1"):
        return rows[:, :width]
    if encoding in ("mono16", "16UC1"):
        wide = rows[:, :step // 2 * 2].view(">u2" if message.is_bigendian else "<u2")[:, :width]
        return np.ascontiguousarray(wide, np.uint16)
    if encoding in ("yuyv", "yuv422_yuy2"):
        return np.ascontiguousarray(rows[:, :2 * width:2])
    if encoding in LUMA:
        red, green, blue, size = LUMA[encoding]
        pixel = rows[:, :size * width].reshape(height, width, size).astype(np.uint32)
        return ((299 * pixel[..., red] + 587 * pixel[..., green] + 114 * pixel[..., blue] + 500) // 1000).astype(np.uint8)  # Rec. 601
    raise ValueError(f"encoding {encoding}: mono8, mono16, yuv422_yuy2, rgb8, bgr8, rgba8, bgra8 are known")


class VfrontNode(Node):
    def __init__(self):
        super().__init__("vfront")
        for name, value in {**NUMBERS, **WORDS}.items():
            self.declare_parameter(name, value)
        self.declare_parameter("tuning", ["vio=1"])
        get = {name: self.get_parameter(name).value for name in (*NUMBERS, *WORDS)}
        self.value = types.SimpleNamespace(**get)
        self.cameras = max(1, min(int(get["cameras"]), vfront.VFRONT_CAMERAS))
        self.mount = [self._matrix(f"camera{i}.T_cam_imu") for i in range(self.cameras)]
        self.tuning = dict(word.split("=", 1) for word in self.get_parameter("tuning").value)
        chain = self._chain(get["calibration"])
        self.has_imu = get["gyro_density"] > 0 and self.mount[0] is not None
        self.vf, self.info = None, [None] * self.cameras
        self.waiting = [{} for _ in range(self.cameras)]  # pictures of each camera by stamp
        self.frames, self.samples = [], []  # complete frames, samples that no frame has had
        self.taken = self.refused = self.unpaired = 0
        self.resets, self.diagnosed_s, self.newest_ns = None, 0.0, 0

        changeable = QoSOverridingOptions.with_default_policies()
        deep = QoSProfile(depth=IMU_DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
        subscribe = self.create_subscription
        self.inputs = [subscribe(Imu, "imu", self._on_imu, deep, qos_overriding_options=changeable)] if self.has_imu else []
        for i in range(self.cameras):
            self.inputs += [
                subscribe(CameraInfo, f"camera{i}/camera_info", lambda m, i=i: self._on_info(i, m), qos_profile_sensor_data,
                          qos_overriding_options=changeable),
                subscribe(Image, f"camera{i}/image_raw", lambda m, i=i: self._on_image(i, m), qos_profile_sensor_data,
                          qos_overriding_options=changeable)]
        self.odometry = self.create_publisher(Odometry, "odometry", 10)
        self.pose = self.create_publisher(PoseStamped, "pose", 10)
        self.points = self.create_publisher(PointCloud2, "points", 10)
        self.diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.tf = self.create_publisher(TFMessage, "/tf", 100) if TFMessage else None
        self.create_timer(0.02, self._step_all)
        log = self.get_logger()
        log.info(f"{self.cameras} cameras, {'of ' + get['calibration'] if chain else 'waiting for camera_info'}; "
                 + ("/tf is published" if self.tf else "no /tf: tf2_msgs is not installed"))
        if not self.has_imu:
            log.info("no IMU: it needs gyro_density, accel_density, gyro_walk, accel_walk, imu_rate_hz and camera0.T_cam_imu")
        if chain:
            try:
                self._start(chain.lens, chain.T_cam_cam0)
            except vfront.Error as error:
                raise SystemExit(f"calibration: {error}")

    def _matrix(self, name):
        """4x4 of a parameter of 12 or 16 numbers by rows; None where it is not given."""
        self.declare_parameter(name, Parameter.Type.DOUBLE_ARRAY)
        given = self.get_parameter_or(name, Parameter(name, value=[])).value
        if not given:
            return None
        if len(given) not in (12, 16):
            raise SystemExit(f"{name}: {len(given)} numbers, of a matrix of 3 or 4 rows of 4")
        return np.vstack([np.reshape(given[:12], (3, 4)), [0, 0, 0, 1]])

    def _chain(self, path):
        """Kalibr's camchain, in place of camera_info; parameters that are given go before it. None: there is none."""
        if not path:
            return None
        try:
            chain = kalibr.read(path, self.cameras)
        except (OSError, ValueError, ImportError) as error:
            raise SystemExit(f"calibration: {error}")
        self.cameras, self.value.imu_offset_s = len(chain.lens), self.value.imu_offset_s or chain.imu_offset_s
        self.mount[0] = self.mount[0] if self.mount[0] is not None else chain.T_cam0_imu
        return chain

    # ---- input -------------------------------------------------------------------------------------------------------

    def _on_imu(self, m):
        w, a = m.angular_velocity, m.linear_acceleration
        t_ns, newest_ns = nanoseconds(m.header.stamp), self.samples[-1][0] if self.samples else 0
        if newest_ns - BACK_NS < t_ns <= newest_ns or t_ns < 0:
            self.get_logger().warning("an IMU sample is not after the one before, left out", throttle_duration_sec=5.0)
            return
        if t_ns <= newest_ns or len(self.samples) >= IMU_DEPTH:
            self.samples = []
        self.samples.append((t_ns, (w.x, w.y, w.z), (a.x, a.y, a.z), m.header.frame_id))
        self._step_all()

    def _on_info(self, i, m):
        if self.vf:
            return
        self.info[i] = m
        if all(self.info):
            try:
                self._start(*self._calibrated())
            except (ValueError, vfront.Error) as error:
                self.get_logger().error(f"not started: {error}", throttle_duration_sec=10.0)

    def _calibrated(self):
        """Lenses of camera_info, and the poses of the cameras from camera 0."""
        flat = self.value.rectified
        T_rect = [camera_info.T_rect_cam(info, flat) for info in self.info]
        return [camera_info.lens(info, flat) for info in self.info], [np.eye(4), *(np.linalg.inv(T) @ T_rect[0] for T in T_rect[1:])]

    def _start(self, lenses, T_cam_cam0):
        first = self.mount[0] if self.mount[0] is not None else np.eye(4)
        mount = [own if own is not None else T @ first for own, T in zip(self.mount, T_cam_cam0)]
        cameras = [vfront.camera(**lens, R_cam_imu=T[:3, :3], t_cam_imu_m=T[:3, 3]) for lens, T in zip(lenses, mount)]
        n = self.value
        noise = {name: getattr(n, name) for name in ("gyro_density", "accel_density", "gyro_walk", "accel_walk", "gravity_m_s2")}
        rig = vfront.rig(cameras, dict(noise, rate_hz=n.imu_rate_hz) if self.has_imu else None, imu_offset_ns=int(n.imu_offset_s * 1e9))
        vf = vfront.Vfront(rig, self.tuning, n.port)
        self.get_logger().info(f"started on {vf.info().device.decode()}: {self.cameras} cameras, {'with' if self.has_imu else 'without'} IMU")
        self.vf = vf

    def _on_image(self, i, m):
        if not self.vf:
            self.get_logger().warning("no camera_info of every camera yet", throttle_duration_sec=5.0)
            return
        t_ns = nanoseconds(m.header.stamp)
        try:
            if t_ns < 0:
                raise ValueError("a stamp before 0")
            picture = grey(m)
        except ValueError as error:
            self.get_logger().error(f"camera{i}: {error}", throttle_duration_sec=5.0)
            return
        if i == 0 and t_ns + BACK_NS < self.newest_ns:
            self._reset()
        if i == 0:
            self.newest_ns, self.frame_id = max(t_ns, self.newest_ns), m.header.frame_id or "camera0"
        self.waiting[i][t_ns] = picture
        self._pair()
        self._step_all()

    def _reset(self):
        """Time went back, as where a bag is played again: nothing of before is of use."""
        self.get_logger().warning("time went back: reset")
        self.vf.reset()
        self.frames, self.samples, self.newest_ns, self.taken = [], [], 0, 0
        self.waiting = [{} for _ in range(self.cameras)]

    def _pair(self):
        """Moves pictures of one time from `waiting` to `frames`; what is older than a pair has no partner any more."""
        most_ns = self.value.pair_s * 1e9
        for t_ns in sorted(self.waiting[0]):
            times = [t_ns] + [min(other, key=lambda t: abs(t - t_ns), default=None) for other in self.waiting[1:]]
            if any(t is None or abs(t - t_ns) > most_ns for t in times):
                continue
            pictures = [pictures.pop(t) for pictures, t in zip(self.waiting, times)]
            self.frames.append((t_ns, pictures, time.monotonic()))
            for pictures in self.waiting:
                for old in [t for t in pictures if t < t_ns]:
                    del pictures[old]
                    self.unpaired += 1
        for pictures in self.waiting:
            while len(pictures) > PAIRS_WAITING:
                del pictures[min(pictures)]
                self.unpaired += 1

    # ---- step --------------------------------------------------------------------------------------------------------

    def _step_all(self):
        while self.frames and self.vf:
            t_ns, pictures, came_s = self.frames[0]
            t_imu_ns = t_ns + int((self.value.imu_offset_s + self.value.exposure_s / 2) * 1e9)
            is_late = time.monotonic() - came_s > self.value.imu_wait_s or len(self.frames) > PAIRS_WAITING
            if self.has_imu and not is_late and not (self.samples and self.samples[-1][0] >= t_imu_ns):
                return
            del self.frames[0]
            self._step(t_ns, t_imu_ns, pictures)

    def _step(self, t_ns, t_imu_ns, pictures):
        """A frame, with the samples that none had, up to the first one at or after it; the first frame has two."""
        count = next((k + 1 for k, sample in enumerate(self.samples) if sample[0] >= t_imu_ns), len(self.samples))
        if not self.taken:
            self.samples, count = self.samples[max(count - 2, 0):], min(count, 2)
        given = self.samples[:count]
        if len(given) > vfront.VFRONT_IMU_SAMPLES // 2:
            given = given[-(vfront.VFRONT_IMU_SAMPLES // 2):]
        try:
            imu = vfront.imu(*zip(*[sample[:3] for sample in given])) if given else None
            result = self.vf.step(t_ns, pictures, imu=imu, exposure_ns=self.value.exposure_s * 1e9)
        except vfront.Error as error:
            self.refused += 1
            if error.status == vfront.VFRONT_E_IMU:
                self.samples = self.samples[count:]
            self.get_logger().warning(f"frame of {t_ns} ns refused: {error}", throttle_duration_sec=1.0)
            return
        self.taken += 1
        self.samples = self.samples[count:]
        last = given[-1] if given else None
        self._publish(result, Time(sec=t_ns // 1_000_000_000, nanosec=t_ns % 1_000_000_000), last)

    # ---- output ------------------------------------------------------------------------------------------------------

    def _publish(self, result, stamp, sample):
        nav = result.nav
        if name_of("vfront_nav_state", nav.state) in WITH_STATE:
            self._publish_state(result, nav, stamp, sample)
        if self.resets not in (None, nav.reset_counter):
            self.get_logger().warning(f"a new state began, number {nav.reset_counter}: the pose may jump")
        self.resets = nav.reset_counter
        if self.points.get_subscription_count():
            self.points.publish(self._cloud(result, stamp))
        if time.monotonic() - self.diagnosed_s >= self.value.diagnostics_s:
            self.diagnosed_s = time.monotonic()
            self.diagnostics.publish(DiagnosticArray(header=Header(stamp=stamp), status=[self._status(result)]))

    def _publish_state(self, result, nav, stamp, sample):
        w, x, y, z = q = np.array(nav.q_odom_imu)
        R = rotation(q)
        covariance = np.zeros((15, 15))
        covariance[np.triu_indices(15)] = nav.covariance
        covariance += np.triu(covariance, 1).T
        m = Odometry()
        m.header.stamp, m.header.frame_id = stamp, self.value.odom_frame
        m.child_frame_id = self.value.imu_frame or (sample[3] if sample else "") or ("imu" if self.has_imu else self.frame_id)
        pose = m.pose.pose
        pose.position.x, pose.position.y, pose.position.z = map(float, nav.position_m)
        pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w = map(float, (x, y, z, w))
        m.pose.covariance = covariance[:6, :6].ravel()
        velocity = np.array(nav.velocity_mps)
        vx, vy, vz = velocity
        # Velocity in axes of the IMU: R_true = exp([w]) R, so its error is R^T (dv + v x w).
        J = R.T @ np.hstack([np.array([[0, -vz, vy], [vz, 0, -vx], [-vy, vx, 0]]), np.eye(3)])
        twist = np.zeros((6, 6))
        twist[:3, :3] = J @ covariance[3:9, 3:9] @ J.T
        twist[3:, 3:] = covariance[9:12, 9:12] + np.eye(3) * self.value.gyro_density ** 2 * self.value.imu_rate_hz
        m.twist.covariance = twist.ravel()
        speed, rate = m.twist.twist.linear, m.twist.twist.angular
        speed.x, speed.y, speed.z = map(float, R.T @ velocity)
        if sample:
            rate.x, rate.y, rate.z = map(float, np.array(sample[1]) - nav.gyro_bias_rad_s)
        self.odometry.publish(m)

        in_map = getattr(result, "map", None) if vfront.VFRONT_MAP else None
        in_map = in_map if in_map is not None and in_map.state == vfront.VFRONT_MAP_GOOD else None
        transforms = [(m.header.frame_id, m.child_frame_id, np.array(nav.position_m), q)]
        stamped = PoseStamped(header=m.header, pose=m.pose.pose)
        if in_map is not None:
            t_map, q_map = np.array(in_map.t_map_odom_m), np.array(in_map.q_map_odom)
            transforms.append((self.value.map_frame, m.header.frame_id, t_map, q_map))
            stamped = PoseStamped(pose=pose_of(rotation(q_map) @ nav.position_m + t_map, product(q_map, q)))
            stamped.header.stamp, stamped.header.frame_id = stamp, self.value.map_frame
        self.pose.publish(stamped)
        if self.tf:
            self.tf.publish(TFMessage(transforms=[transform_of(stamp, *one) for one in transforms]))

    def _cloud(self, result, stamp):
        """Key points of camera 0 with a depth, in its axes [m]: x, y, z, and the deviation of z."""
        depths = result.depths if vfront.VFRONT_STEREO else []
        rays = np.array(result.keypoints[0]["bearing"])[depths["keypoint"]] if len(depths) else np.zeros((0, 3), np.float32)
        made = np.zeros((len(depths), 4), "<f4")
        if len(depths):
            made[:, :3] = rays / rays[:, 2:] * depths["depth_m"][:, None]
            made[:, 3] = depths["sigma_m"]
        m = PointCloud2(height=1, width=len(made), point_step=16, row_step=16 * len(made), is_dense=True, data=array.array("B", made.tobytes()))
        m.header.stamp, m.header.frame_id = stamp, self.frame_id
        m.fields = [PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, name in enumerate(("x", "y", "z", "sigma"))]
        return m

    def _status(self, result):
        health, nav, timing = result.health, result.nav, result.timing
        tracking, state, stereo = (name_of("vfront_" + enum, value) for enum, value in
                                   (("health_state", health.state), ("nav_state", nav.state), ("stereo_state", health.stereo)))
        faults = imu_faults(health.imu) if self.has_imu else ""
        level, text = DiagnosticStatus.OK, f"{tracking.lower()}, state {state.lower()}"
        if tracking == "DEGRADED" or state == "COASTING" or stereo in ("SUSPECT", "BLIND") or faults or health.calibration or timing.overrun:
            level = DiagnosticStatus.WARN
        if tracking == "LOST" or state == "LOST":
            level = DiagnosticStatus.ERROR
        values = dict(tracking=tracking, quality=health.quality, tracks=len(result.tracks), state=state, state_quality=nav.quality, landmarks=nav.landmarks,
                      reset_counter=nav.reset_counter, imu_faults=faults, stereo=stereo, calibration_does_not_fit=health.calibration,
                      step_us=round(timing.step_us), overruns=timing.overruns, frames=self.taken, refused=self.refused, unpaired=self.unpaired)
        return DiagnosticStatus(level=level, name="vfront", hardware_id="vfront", message=text,
                                values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])


def rotation(q):
    """Matrix of a unit quaternion w x y z."""
    w, x, y, z = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def product(a, b):
    """Of two quaternions w x y z."""
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def pose_of(position, q):
    pose = PoseStamped().pose
    pose.position.x, pose.position.y, pose.position.z = map(float, position)
    pose.orientation.w, pose.orientation.x, pose.orientation.y, pose.orientation.z = map(float, q)
    return pose


def transform_of(stamp, parent, child, position, q):
    m = TransformStamped(child_frame_id=child)
    m.header.stamp, m.header.frame_id = stamp, parent
    t, r = m.transform.translation, m.transform.rotation
    t.x, t.y, t.z = map(float, position)
    r.w, r.x, r.y, r.z = map(float, q)
    return m


def main():
    rclpy.init()
    node = VfrontNode()
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass
    if node.vf:
        node.vf.close()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
