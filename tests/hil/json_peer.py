#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Stands in for ArduCopter's firmware in software: JSON interface, two serial ports over TCP, and as much of its behaviour as sitl.py asks for.

    tests/hil/json_peer.py    writes the numbers of its two serial ports in a line, and reads that of the JSON interface

It waits for its first serial port, sends servo outputs, and its time is that of the answers. Its position and yaw are those of ODOMETRY on its second
serial port, which it takes as ArduPilot does: LOCAL_FRD and BODY_FRD, quality above 0, not older than 300 ms; its attitude, for want of an estimator, is
the truth. It refuses mode and arming without a position, and lands by itself when it has had none for a second.
"""
import json
import math
import os
import socket
import struct
import sys

os.environ["MAVLINK20"] = "1"
from pymavlink.dialects.v20 import ardupilotmega as mav

GUIDED, LAND, STABILIZE = 4, 9, 0
MASS, ARM, TORQUE, ROTOR_MAX, SQUARE = 1.5, 0.13, 0.016, 8.0, 0.65  # as airframe.h and json_physics.h
INERTIA = (0.015, 0.015, 0.026)
RATE = 250 # of servo outputs


def rotation(w, x, y, z):
    return [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]


def of(R, v):
    return [sum(R[i][k] * v[k] for k in range(3)) for i in range(3)]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def unit(v):
    n = math.hypot(*v)
    return [x / n for x in v]


class Serial:
    """A serial port over TCP, with one client."""

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.client, self.link, self.reader = None, mav.MAVLink(None, srcSystem=1, srcComponent=1), None

    def accept(self, waits):
        if self.client:
            return
        self.server.setblocking(waits)
        try:
            self.client = self.server.accept()[0]
        except BlockingIOError:
            return
        self.client.setblocking(False)
        self.reader = mav.MAVLink(None)
        self.reader.robust_parsing = True

    def messages(self):
        self.accept(False)
        try:
            data = self.client.recv(65536) if self.client else b""
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data and self.client:
            self.client = None
        return self.reader.parse_buffer(data) or [] if data else []

    def send(self, message):
        if self.client:
            try:
                self.client.send(message.pack(self.link))
            except OSError:
                self.client = None


class Peer:
    def __init__(self):
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.settimeout(60)
        self.ports = [Serial(), Serial()]
        self.pwm, self.count, self.t, self.begin = [1000] * 16, 0, 0.0, None
        self.yaw, self.turn = 0.0, 0.0 # the truth; its part that is the local frame's
        self.mode, self.is_armed, self.target, self.vision = STABILIZE, False, None, None
        self.next = {"beat": 0.0, "pose": 0.0, "status": 0.0}

    def has_position(self):
        return bool(self.vision and self.t - self.vision["t"] < 0.3)

    # ---- messages ----------------------------------------------------------------------------------------------------------------------

    def take_odometry(self, m):
        if m.frame_id != 20 or m.child_frame_id != 12 or m.quality <= 0 or not all(map(math.isfinite, (m.x, m.y, m.z, *m.q, m.vx, m.vy, m.vz))):
            return
        R = rotation(*m.q)
        self.turn = self.yaw - math.atan2(R[1][0], R[0][0])
        self.vision = {"t": self.t, "p": [m.x, m.y, m.z], "v": of(R, (m.vx, m.vy, m.vz)), "yaw": math.atan2(R[1][0], R[0][0])}

    def obey(self, port, m):
        ok = True
        if m.command == mav.MAV_CMD_DO_SET_MODE:
            ok = int(m.param2) == LAND or self.has_position()
            if ok and self.mode != int(m.param2):
                self.mode = int(m.param2)
        elif m.command == mav.MAV_CMD_COMPONENT_ARM_DISARM:
            ok = self.has_position() and self.mode == GUIDED
            self.is_armed |= ok
        elif m.command == mav.MAV_CMD_REQUEST_MESSAGE and m.param1 == mav.MAVLINK_MSG_ID_HEARTBEAT:
            self.next["beat"] = self.t
        elif m.command == mav.MAV_CMD_NAV_TAKEOFF:
            ok = self.is_armed
            if ok:
                self.target = {"p": [*self.vision["p"][:2], -m.param7], "v": [0, 0, 0], "a": [0, 0, 0], "yaw": self.vision["yaw"]}
        port.send(mav.MAVLink_command_ack_message(m.command, 0 if ok else 4))

    def serve(self, port):
        for m in port.messages():
            kind = m.get_type()
            if kind == "ODOMETRY" and port is self.ports[1]:
                self.take_odometry(m)
            elif kind == "COMMAND_LONG" and m.target_system == 1 and m.target_component in (0, 1):
                self.obey(port, m)
            elif kind == "TIMESYNC" and m.tc1 == 0:
                port.send(mav.MAVLink_timesync_message(int(self.t * 1e9), m.ts1))
            elif kind == "SET_POSITION_TARGET_LOCAL_NED" and self.mode == GUIDED and self.target:
                self.target = {"p": [m.x, m.y, m.z], "v": [m.vx, m.vy, m.vz], "a": [m.afx, m.afy, m.afz], "yaw": m.yaw}

    def report(self, euler, gyro):
        ms, out = int(self.t * 1e3), []
        if self.t >= self.next["beat"]:
            self.next["beat"] = self.t + 1
            out.append(mav.MAVLink_heartbeat_message(2, 3, 1 | 128 * self.is_armed, self.mode, 4, 3))
        if self.t >= self.next["status"]:
            self.next["status"] = self.t + 0.2
            out.append(mav.MAVLink_ekf_status_report_message(mav.EKF_ATTITUDE | (mav.EKF_VELOCITY_HORIZ | mav.EKF_POS_HORIZ_REL) * self.has_position(), 0.1, 0.1, 0.1, 0, 0))
        if self.t >= self.next["pose"]:
            self.next["pose"] = self.t + 0.05
            out.append(mav.MAVLink_attitude_message(ms, *euler[:2], euler[2] - self.turn, *gyro))
            if self.has_position():
                late = self.t - self.vision["t"]
                out.append(mav.MAVLink_local_position_ned_message(ms, *[p + v * late for p, v in zip(self.vision["p"], self.vision["v"])], *self.vision["v"]))
        for m in out:
            for port in self.ports:
                port.send(m)

    # ---- flight ------------------------------------------------------------------------------------------------------------------------

    def control(self, state, R):
        """Servo outputs: position by ODOMETRY, attitude by the truth."""
        if not self.is_armed:
            self.pwm[:4] = [1000] * 4
            return
        if self.mode == GUIDED and self.vision and self.t - self.vision["t"] > 1.0:
            self.mode = LAND
        v = state["velocity"]
        yaw = self.yaw
        if self.mode == GUIDED and self.target:
            late = self.t - self.vision["t"]
            a = [s + 2.5 * max(-1.5, min(1.5, p - q - w * late)) + 3.0 * (u - w) for s, p, q, u, w in
                 zip(self.target["a"], self.target["p"], self.vision["p"], self.target["v"], self.vision["v"])]
            c, s = math.cos(self.turn), math.sin(self.turn)
            a[:2] = c * a[0] - s * a[1], s * a[0] + c * a[1]
            yaw += math.remainder(self.target["yaw"] - self.vision["yaw"], math.tau)
        elif self.mode == LAND:
            a = [-1.5 * v[0], -1.5 * v[1], 3.0 * (0.5 - v[2])]
            if abs(v[2]) < 0.05 and state["position"][2] > -0.05:
                self.is_armed = False
        else:
            self.pwm[:4] = [1050] * 4
            return
        f = [MASS * x for x in (max(-4, min(4, a[0])), max(-4, min(4, a[1])), max(-4, min(4, a[2])) - 9.81)]
        down = unit([-x for x in f])
        right = unit(cross(down, (math.cos(yaw), math.sin(yaw), 0)))
        wanted = list(zip(cross(right, down), right, down)) # columns: forward, right, down
        turn = [[sum(wanted[k][i] * R[k][j] for k in range(3)) for j in range(3)] for i in range(3)] # wanted^T R
        off = [0.5 * (turn[2][1] - turn[1][2]), 0.5 * (turn[0][2] - turn[2][0]), 0.5 * (turn[1][0] - turn[0][1])]
        gyro = state["imu"]["gyro"]
        x, y, z = [i * (-k * e - d * g) for i, e, g, k, d in zip(INERTIA, off, gyro, (70, 70, 12), (14, 14, 6))]
        x, y, z, lift = x / (4 * ARM), y / (4 * ARM), z / (4 * TORQUE), math.hypot(*f) / 4
        for output, force in enumerate((lift - x + y + z, lift + x - y + z, lift + x + y - z, lift - x - y - z)):
            share = max(0.0, min(1.0, force / ROTOR_MAX))
            self.pwm[output] = round(1000 + 1000 * (math.sqrt((1 - SQUARE)**2 + 4 * SQUARE * share) - (1 - SQUARE)) / (2 * SQUARE))

    def run(self, physics):
        self.ports[0].accept(True)
        while True:
            self.count += 1
            self.udp.sendto(struct.pack("<HHI16H", 18458, RATE, self.count, *self.pwm), ("127.0.0.1", physics))
            state = json.loads(self.udp.recv(4096))
            self.begin = self.begin if self.begin is not None else state["timestamp"]
            self.t = state["timestamp"] - self.begin
            R = rotation(*state["quaternion"])
            self.yaw = math.atan2(R[1][0], R[0][0])
            for port in self.ports:
                self.serve(port)
            self.control(state, R)
            self.report((math.atan2(R[2][1], R[2][2]), -math.asin(max(-1, min(1, R[2][0]))), self.yaw), state["imu"]["gyro"])


peer = Peer()
print(*[serial.port for serial in peer.ports], flush=True)
peer.run(int(sys.stdin.readline()))
