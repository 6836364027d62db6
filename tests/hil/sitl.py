#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A real autopilot in the loop: ArduCopter's firmware in software, the companion, and sitl-vehicle, each a process, in lock step.

    tests/hil/sitl.py build/sitl-vehicle build/companion build/config/map/companion --sitl path/to/arducopter [--rows "clean|4 m/s"] [--seconds 20] [--jobs 1] [--full NAME] [--keep FOLDER]
    tests/hil/sitl.py build/sitl-vehicle build/companion build/config/map/companion --peer        # json_peer.py in the firmware's place: one short flight, and what must fail

Everything is told the firmware by MAVLink, as a ground station does it: mode, arming with all checks on, take-off, set points, landing. GPS and compass
are off; the companion's ODOMETRY is the only source of position and yaw. Each row is a flight: 3 s of hover, its fault while a figure of eight is
flown, 3 s of hover, landing. Its estimator's position beside the truth, its innovations and lanes out of its own log. Exit: 0 good, 1 not, 77 no pymavlink or no firmware.
"""
import concurrent.futures
import ctypes
import json
import math
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from board import sources

os.environ["MAVLINK20"] = "1"
try:
    from pymavlink.dialects.v20 import ardupilotmega as mav
    from pymavlink import DFReader
except ImportError as missing:
    print(f"sitl: SKIPPED, {missing}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
LIGHT = ["--set", "select_points=300", "--set", "ego_hypotheses=64", "--set", "ego_metric_hypotheses=64", "--set", "stereo=2"]
GUIDED, LAND = 4, 9  # ArduCopter's modes
FRAMES = 600         # of a fault: 20 s
HEIGHT_M = 1.3
YAW_DEG = 5.0        # most that the estimator is turned
EIGHT_S = 8.0        # of one figure of eight
MIDDLE = (1.0, -1.0) # of it, north and east [m]


def short_slices():
    """Short slices of the processor for this process and those that it starts: they hand over 1,500 times a simulated second, and on a busy machine
    each would wait for whole slices of the others. Their share stays the same. Linux 6.12."""
    attributes = struct.pack("<IIQiIQQQ", 48, 0, 0, os.getpriority(os.PRIO_PROCESS, 0), 0, 100000, 0, 0) # size, SCHED_OTHER, slice of 0.1 ms
    ctypes.CDLL(None).syscall(314 if platform.machine() == "x86_64" else 274, 0, attributes, 0)


def end_with_parent():
    """For a process that is started: it ends when this one does."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def start(words, **more):
    return subprocess.Popen(words, start_new_session=True, preexec_fn=end_with_parent, **more)


class Row:
    """A flight: what is wrong in it, and what may follow."""

    def __init__(self, name, fault=None, on=0, of=0, words=(), parm=(), lost=False, fly="eight", away=None, hover=False, dead=0, keep=True, reboot=False, dock=0, ekf_m=0.3, aim_m=1.0):
        self.name, self.fault, self.on, self.of, self.words, self.parm, self.lost, self.fly = name, fault, on, of, list(words), dict(parm), lost, fly
        self.away, self.hover, self.dead, self.keep, self.reboot, self.dock = away, hover, dead, keep, reboot, dock # away: (at s, for s) of a restart; dead: s without a companion; dock: s that it rests after a landing, without one
        self.ekf_m, self.aim_m = ekf_m, aim_m # most that the estimator is beside the truth, and the vehicle beside its set point

    def script(self, frames=FRAMES):
        """Lines of the fault script."""
        starts = range(1, frames, self.of) if self.of else [1]
        return "".join(f"{at}-{at + self.on - 1 if self.of else frames} {self.fault}\n" for at in starts)


def restarts():
    for where, at, hover in ("in hover", 2.0, True), ("on a leg", 1.5, False), ("in a turn", 3.0, False):
        for away in 0.5, 1, 2, 5:
            for keep in False, True:
                yield Row(f"restart {where}, {away:g} s{', file' if keep else ''}", away=(at, away), hover=hover, keep=keep)


ROWS = [
    Row("clean"), Row("clean, seed 2", words=("--seed", "2")), Row("hover of 2 minutes", fly="hover"),
    Row("drop every other frame", "both drop", 1, 2), Row("drop ten frames in 60", "both drop", 10, 60), Row("freeze both, 10 in 60", "both freeze", 10, 60),
    Row("stop camera 1", "camera1 stop"), Row("black both, 30 in 90", "both black", 30, 90), Row("black both", "both black", lost=True),
    Row("white camera 1", "camera1 white"), Row("noise of 20", "both noise 20"), Row("noise of 255", "both noise 255", lost=True),
    Row("blur of 2 px", "both blur 2"), Row("dim to 40 %", "both dim 40"), Row("light that comes and goes", "both dim 40", 15, 30),
    Row("swap cameras", "both swap", lost=True), Row("camera 1 late by 1", "camera1 late 1"), Row("jitter of 5 ms", "clock jitter 0.005"),
    Row("clock fast by 100 ppm", "clock drift 100"), Row("stamps 1 h ahead, 1 in 60", "clock jump 3600", 1, 60), Row("half of the samples missing", "gyro gap 50"),
    Row("gyro stuck, 30 in 90", "gyro stuck", 30, 90), Row("gyro with a bias of 0.3 rad/s", "gyro bias 0.3 -0.3 0.3", lost=True), Row("link loses 30 %", "link loss 30"),
    *[Row(f"latency {ms} ms, VISO_DELAY_MS {10 + ms}", words=("--latency", str(ms)), parm={"VISO_DELAY_MS": 10 + ms}) for ms in (0, 20, 60)],
    *[Row(f"latency {ms} ms, VISO_DELAY_MS 10", words=("--latency", str(ms))) for ms in (20, 60)],
    Row("SERIAL1_BAUD 57600 over TCP", parm={"SERIAL1_BAUD": 57}), # it takes 44 ms a message off, which TCP does not need
    *restarts(),
    Row("motion blur, exposure of 16 ms", words=("--blur", "16")), Row("focal length 1 % too large", words=("--wrong", "1,0")), Row("cameras turned by 0.5 degrees", words=("--wrong", "0,0.5")),
    Row("companion's clock fast by 200 ppm", words=("--ppm", "200")), Row("accelerometer off by 0.3 m/s^2", words=("--accel", "0.3"), ekf_m=0.4),
    Row("4 m/s", words=("--hall", "14"), fly="sprint"), Row("reboot of the autopilot on the ground", reboot=True), Row("companion killed for 10 s", dead=10.0, lost=True, hover=True),
    *[Row(f"docked restart{', file' if keep else ''}, map", dock=15.0, keep=keep) for keep in (False, True)],
]


class Vehicle:
    """sitl-vehicle, told what to do line by line."""

    def __init__(self, program, *words):
        self.process = start([program, "--json", "0", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ports = json.loads(self.process.stdout.readline())

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        if said["word"] == "failed":
            raise RuntimeError(f"sitl-vehicle: {line}")
        return said

    def end(self):
        try:
            self.process.stdin.close()
            self.process.wait(timeout=20)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


class Ground:
    """A ground station at the firmware's first serial port."""

    def __init__(self, port):
        self.port, self.got, self.texts, self.acks, self.socket = port, {}, [], {}, None

    def connect(self, seconds=30):
        end = time.monotonic() + seconds
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=1)
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        self.socket.setblocking(False)
        self.link, self.reader = mav.MAVLink(None, srcSystem=255, srcComponent=190), mav.MAVLink(None)
        self.reader.robust_parsing = True
        self.got.clear()

    def read(self):
        try:
            while data := self.socket.recv(65536):
                for m in self.reader.parse_buffer(data) or []:
                    kind = m.get_type()
                    if m.get_srcSystem() != 1 or m.get_srcComponent() != 1:
                        continue
                    self.got[kind] = m
                    if kind == "STATUSTEXT":
                        self.texts.append(m.text)
                    if kind == "COMMAND_ACK":
                        self.acks[m.command] = m.result
        except (BlockingIOError, ConnectionError):
            pass

    def send(self, message):
        try:
            self.socket.send(message.pack(self.link))
        except OSError:
            pass

    def command(self, number, *values):
        self.acks.pop(number, None)
        self.send(mav.MAVLink_command_long_message(1, 1, number, 0, *(list(values) + [0] * 7)[:7]))

    @property
    def is_armed(self):
        beat = self.got.get("HEARTBEAT")
        return bool(beat and beat.base_mode & 128)

    @property
    def mode(self):
        beat = self.got.get("HEARTBEAT")
        return beat.custom_mode if beat else -1


def worse(one, other):
    """The greater one; what is not a number stays so."""
    return math.nan if math.isnan(one) or math.isnan(other) else max(one, other)


class Crash(Exception):
    """The flight ended early; its text says why."""


class Flight:
    """One row, flown."""

    def __init__(self, programs, row, folder, seconds=20.0):
        self.row, self.folder, self.seconds, self.programs = row, pathlib.Path(folder), seconds, programs
        self.back_m = 0.0 # 2 s after that message
        self.away_t = self.blind_s = 0.0 # when the companion was killed; from then to the first message of the next one
        self.off_m, self.own_m, self.is_resuming = 0.0, 0.0, False # the estimator's error now, and before the first message after a restart
        self.ekf_m = self.aim_m = self.yaw_deg = self.vision_m = 0.0
        self.aim, self.yaw, self.beats, self.is_judged = None, 0.0, 0.0, False
        self.boot_s = self.floor = 0.0 # vehicle's time of the firmware's start; z where it stood
        self.silences, self.patience = 0, 20 # of 3 s each
        self.frame = (0.0, 0.0, 0.0, 0.0) # of the local frame in the map, which is that of the truth: x, y, z, yaw
        self.found_s = self.place_m = self.place_deg = math.inf # after a docked restart: found in the map; then beside where it was
        self.events, self.failsafe, self.counters = [], "", [] # (time, what is done then); what the firmware did by itself; reset_counter before and after restarts
        self.output = (self.folder / "companion.log").open("w")
        self.mission = socket.socket(socket.AF_INET, socket.SOCK_DGRAM) # a mission computer, at the link of the map
        self.mission.bind(("127.0.0.1", 0))
        self.mission.setblocking(False)
        self.vehicle = self.firmware = self.companion = self.said = None

    def begin(self, instance):
        """Starts vehicle and firmware."""
        row, programs = self.row, self.programs
        (self.folder / "fault").write_text(row.script() if row.fault else "")
        self.serial = [5760 + 10 * instance, 5762 + 10 * instance]
        if "peer" in programs:
            self.start_peer()
        self.vehicle = Vehicle(programs["vehicle"], "--autopilot", f"127.0.0.1:{self.serial[1]}", *row.words, *(["--fault", str(self.folder / "fault")] if row.fault else []))
        self.ports = self.vehicle.ports
        if "peer" in programs:
            self.firmware.stdin.write(f"{self.ports['json']}\n")
            self.firmware.stdin.flush()
        else:
            self.firmware = self.start_firmware(instance)
        self.ground = Ground(self.serial[0])

    def start_peer(self):
        """The peer, at ports that are free: two runs on a machine do not meet."""
        log = (self.folder / "firmware.log").open("w")
        self.firmware = start([sys.executable, str(HERE / "json_peer.py")], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self.serial = [int(word) for word in self.firmware.stdout.readline().split()]

    def start_firmware(self, instance):
        parm = [str(HERE / "sitl.parm"), str(self.folder / "row.parm")]
        (self.folder / "row.parm").write_text("".join(f"{name} {value}\n" for name, value in self.row.parm.items()))
        log = (self.folder / "firmware.log").open("w")
        words = [self.programs["sitl"], "--model", "JSON:127.0.0.1", "--speedup", "100", "-I", str(instance), "--home", "47.4,8.5,400,0", "--sim-port-out", str(self.ports["json"]), "--defaults", ",".join(parm), "--wipe"]
        return start(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start_companion(self):
        keep = ["--keep", str(self.folder / "keep")] if self.row.keep else []
        if self.row.dock:
            keep += ["--map", str(self.folder / "map"), "--map-link", f"udp:127.0.0.1:{self.mission.getsockname()[1]}"]
        self.companion = start([self.programs["map" if self.row.dock else "companion"], "--source", f"sim:127.0.0.1:{self.ports['cameras']}", "--link", f"tcp:127.0.0.1:{self.ports['links']}",
                                           "--origin", "47.4,8.5,400", "--quiet", *keep, *([] if self.row.dock else LIGHT)], stdout=self.output, stderr=self.output)
        self.vehicle.do("companion")

    def kill_companion(self, by=signal.SIGKILL):
        self.companion.send_signal(by)
        self.companion.wait()
        self.vehicle.do("part")

    # ---- time --------------------------------------------------------------------------------------------------------------------------

    def advance(self, ms=50):
        """So much simulated time; the truth beside what the firmware reports."""
        while self.events and self.said["t"] >= self.events[0][0] - 1e-6:
            self.events.pop(0)[1]()
        if self.events:
            ms = max(1, min(ms, round(1e3 * (self.events[0][0] - self.said["t"]))))
        self.said = s = self.vehicle.do(f"run {ms}")
        self.ground.read()
        self.read_map()
        self.silences = self.silences + 1 if s["word"] == "silent" else 0
        if self.silences > self.patience:
            raise Crash(f"the firmware is silent at {s['t']:.1f} s")
        if s["t"] >= self.beats:
            self.beats = s["t"] + 1.0
            self.ground.send(mav.MAVLink_heartbeat_message(6, 8, 0, 0, 0, 3))
        if s["tilt"] > 70 or math.hypot(*s["p"]) > 25:
            raise Crash(f"it crashes or flies away, {s['t']:.1f} s")
        if self.is_judged:
            self.judge(s)

    def judge(self, s):
        at, attitude = self.ground.got["LOCAL_POSITION_NED"], self.ground.got["ATTITUDE"]
        late = s["t"] - self.stamp(at)
        self.off_m = math.dist([p - v * late for p, v in zip(s["p"], s["v"])], self.in_map((at.x, at.y, at.z - self.floor)))
        self.ekf_m = worse(self.ekf_m, self.off_m)
        self.is_resuming &= s["checked"] == 0
        if self.is_resuming:
            self.own_m, self.blind_s = self.off_m, s["t"] - self.away_t
        if s["t"] < self.away_t + self.blind_s + 2.0:
            self.back_m = self.off_m
        off = math.degrees(attitude.yaw + attitude.yawspeed * (s["t"] - self.stamp(attitude)) + self.frame[3]) - s["yaw"]
        self.yaw_deg = worse(self.yaw_deg, abs((off + 180) % 360 - 180))
        if self.aim:
            self.aim_m = worse(self.aim_m, math.dist(s["p"], self.aim))

    # ---- the local frame in the map ----------------------------------------------------------------------------------------------------

    def read_map(self):
        try:
            while data := self.mission.recv(4096):
                for m in mav.MAVLink(None).parse_buffer(data) or []:
                    if m.get_type() == "LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET":
                        self.frame = (m.x, m.y, m.z, m.yaw)
        except BlockingIOError:
            pass

    def turned(self, v, over):
        """A vector of the local frame in the map; over -1: one of the map in the local frame."""
        c, s = math.cos(self.frame[3]), over * math.sin(self.frame[3])
        return c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]

    def in_map(self, p):
        return tuple(a + b for a, b in zip(self.turned(p, 1), self.frame))

    def in_local(self, p):
        return self.turned([a - b for a, b in zip(p, self.frame)], -1)

    def place(self):
        """Position and yaw in the map by vision alone."""
        return self.in_map(self.said["vision"][:3]), self.said["vision"][3] + self.frame[3]

    def stamp(self, message):
        """Vehicle's time of a message's stamp."""
        return message.time_boot_ms * 1e-3 + self.boot_s

    def until(self, what, seconds, done, again=lambda: None):
        end = (self.said["t"] if self.said else 0) + seconds
        while True:
            again()
            for _ in range(10):
                self.advance()
                if done():
                    return
            if self.said["t"] > end:
                raise Crash(f"{what} not within {seconds:g} s: {'; '.join(self.ground.texts[-3:])}")

    def has_failed(self):
        """The firmware has left the mode that it was given: a failsafe."""
        return self.ground.mode != GUIDED

    def target(self, p, v, a, yaw):
        """A set point, sent in the firmware's own frame, which begins where the vehicle stood as the companion began."""
        if self.has_failed():
            self.aim = None
            return
        self.aim, self.yaw, q = p, yaw, self.in_local(p)
        self.ground.send(mav.MAVLink_set_position_target_local_ned_message(int(self.said["t"] * 1e3) & 0xffffffff, 1, 1, 1, 0x800, *q[:2], q[2] + self.floor, *self.turned(v, -1), *self.turned(a, -1), yaw - self.frame[3], 0))

    def hold(self, seconds):
        end = self.said["t"] + seconds
        while self.said["t"] < end - 1e-6:
            if self.aim:
                self.target(self.aim, (0, 0, 0), (0, 0, 0), self.yaw)
            self.advance()

    # ---- phases ------------------------------------------------------------------------------------------------------------------------

    def boot(self):
        g = self.ground
        g.connect()
        if not self.companion:
            self.start_companion()
        self.said = self.vehicle.do("mark")
        self.until("a heartbeat", 60, lambda: "HEARTBEAT" in g.got)
        for kind in mav.MAVLINK_MSG_ID_ATTITUDE, mav.MAVLINK_MSG_ID_LOCAL_POSITION_NED, mav.MAVLINK_MSG_ID_EKF_STATUS_REPORT:
            g.command(mav.MAV_CMD_SET_MESSAGE_INTERVAL, kind, 50000)
            self.advance(200)
        ready = mav.EKF_ATTITUDE | mav.EKF_VELOCITY_HORIZ | mav.EKF_POS_HORIZ_REL
        self.until("a position", 90, lambda: "LOCAL_POSITION_NED" in g.got and "EKF_STATUS_REPORT" in g.got and g.got["EKF_STATUS_REPORT"].flags & ready == ready)
        self.advance(2000)
        late = []
        for _ in range(40):
            self.advance(10)
            late.append(self.said["t"] - g.got["LOCAL_POSITION_NED"].time_boot_ms * 1e-3)
        self.boot_s = min(late)

    def take_off(self):
        g = self.ground
        self.until("mode GUIDED", 30, lambda: g.mode == GUIDED, lambda: g.command(mav.MAV_CMD_DO_SET_MODE, 1, GUIDED))
        self.until("arming", 60, lambda: g.is_armed, lambda: g.command(mav.MAV_CMD_COMPONENT_ARM_DISARM, 1))
        self.floor = g.got["LOCAL_POSITION_NED"].z - self.in_local(self.said["p"])[2]
        self.until("take-off", 20, lambda: self.said["p"][2] < -HEIGHT_M * 0.8, lambda: g.command(mav.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, HEIGHT_M) if self.said["floor"] else None)
        self.advance(1500)
        self.is_judged = True

    def go(self, p, yaw, seconds=4.0):
        begin, start, turn = self.said["t"], self.said["p"], self.yaw
        while (t := (self.said["t"] - begin) / seconds) < 1:
            share, rate = t * t * (3 - 2 * t), 6 * t * (1 - t) / seconds
            self.target([a + share * (b - a) for a, b in zip(start, p)], [rate * (b - a) for a, b in zip(start, p)], (0, 0, 0), turn + share * ((yaw - turn + math.pi) % (2 * math.pi) - math.pi))
            self.advance()
        self.target(p, (0, 0, 0), (0, 0, 0), yaw)

    def eight(self, seconds):
        """Figures of eight, nose first; it begins slowly."""
        begin, w, x, y = self.said["t"], 2 * math.pi / EIGHT_S, 1.2, 0.6
        while (t := self.said["t"] - begin) < seconds:
            phase, rate = (w * t * t / 6, w * t / 3) if t < 3 else (w * (t - 1.5), w)
            s, c, s2, c2 = math.sin(phase), math.cos(phase), math.sin(2 * phase), math.cos(2 * phase)
            self.target((MIDDLE[0] + x * s, MIDDLE[1] + y * s2, -HEIGHT_M), (x * c * rate, 2 * y * c2 * rate, 0), (-x * s * rate**2, -4 * y * s2 * rate**2, 0), math.atan2(2 * y * c2, x * c))
            self.advance()

    def sprint(self, speed=4.0, length=10.0, accel=2.5):
        """There and back along x, with the nose ahead."""
        ramp = speed / accel
        total = length / speed + ramp
        for there in 1, -1:
            begin, start = self.said["t"], 0.0 if there > 0 else length
            while (t := self.said["t"] - begin) < total:
                left = total - t
                s = accel * t * t / 2 if t < ramp else length - accel * left * left / 2 if left < ramp else speed * (t - ramp / 2)
                v, a = accel * min(t, ramp, left), accel if t < ramp else -accel if left < ramp else 0
                self.target((start + there * s, 0, -HEIGHT_M), (there * v, 0, 0), (there * a, 0, 0), 0)
                self.advance()
            self.target((start + there * length, 0, -HEIGHT_M), (0, 0, 0), (0, 0, 0), 0)
            self.hold(2)

    def land(self):
        g = self.ground
        self.aim = None
        self.until("landing", 60, lambda: not g.is_armed and self.said["floor"], lambda: g.command(mav.MAV_CMD_DO_SET_MODE, 1, LAND))

    def restart(self, away):
        """The companion is killed, and begins anew so much later."""
        self.counters.append(self.said["counter"])
        self.away_t = self.said["t"]
        self.kill_companion()
        self.events.append((self.said["t"] + away, self.begin_anew))

    def begin_anew(self):
        self.is_resuming = True
        self.start_companion()
        self.vehicle.do("mark")

    def dock(self):
        """The companion ends, and saves its map; after a rest it begins anew where it stands, in a local frame of its own."""
        self.is_judged = False
        position, yaw = self.place()
        self.kill_companion(signal.SIGTERM)
        end = self.said["t"] + self.row.dock
        while self.said["t"] < end:
            self.advance()
        self.frame = None
        self.start_companion()
        begin = self.said["t"]
        self.until("the place in the map", 10, lambda: self.frame)
        self.found_s, (p, turn) = self.said["t"] - begin, self.place()
        self.place_m, self.place_deg = math.dist(p, position), abs(math.degrees(math.remainder(turn - yaw, math.tau)))

    def reboot(self):
        g = self.ground
        g.command(mav.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN, 1)
        self.patience = 0
        try:
            self.until("a reboot", 10, lambda: False)
        except Crash:
            pass # it waits for its first serial port
        self.patience = 20
        g.got.clear()
        self.boot()

    def fly(self):
        row = self.row
        self.boot()
        if row.reboot:
            self.reboot()
        self.take_off()
        hover = (*(MIDDLE if row.fly == "eight" else (0, 0)), -HEIGHT_M)
        turn = math.atan2(1.2, 1.2) if row.fly == "eight" else 0.0
        self.go(hover, turn)
        self.hold(3)
        self.vehicle.do("fault" if row.fault else "mark")
        self.vehicle.do("mark")
        seconds = self.seconds
        if row.away:
            self.events.append((self.said["t"] + row.away[0], lambda: self.restart(row.away[1])))
            seconds = row.away[0] + row.away[1] + 8
        if row.dead:
            self.events.append((self.said["t"] + 1, self.kill_companion))
            seconds = row.dead + 1
        if row.fly == "sprint":
            self.sprint()
        elif row.hover or row.fly == "hover":
            self.hold(120 if row.fly == "hover" else seconds)
        else:
            self.eight(seconds)
        self.vision = self.said
        self.go(hover, turn)
        self.hold(3)
        if self.has_failed():
            self.failsafe = f"mode {self.ground.mode}"
        self.land()
        if row.dock:
            self.dock()
            self.take_off()
            self.go((0, 0, -HEIGHT_M), 0.0)
            self.hold(3)
            self.land()

    # ---- its log -----------------------------------------------------------------------------------------------------------------------

    def log(self):
        """Greatest test ratios of innovations, changes of lane, errors, version."""
        files = sorted((self.folder / "logs").glob("*.BIN")) if (self.folder / "logs").exists() else []
        if not files:
            return None
        found = {"ratio": [0.0] * 4, "lanes": 0, "errors": [], "version": ""}
        lane, reader = None, DFReader.DFReader_binary(str(files[-1]))
        while m := reader.recv_match(type=["XKF4", "ERR", "MSG"]):
            kind = m.get_type()
            if kind == "XKF4":
                found["ratio"] = [max(a, abs(getattr(m, key))) for a, key in zip(found["ratio"], ("SP", "SV", "SH", "SM"))]
                found["lanes"] += lane is not None and m.PI != lane
                lane = m.PI
            if kind == "ERR":
                found["errors"].append(f"{m.Subsys}/{m.ECode}")
            if kind == "MSG" and m.Message.startswith("ArduCopter"):
                found["version"] = m.Message
        return found

    def close(self):
        for process in self.companion, self.firmware:
            if process and process.poll() is None:
                process.kill()
                process.wait()
        self.output.close()
        self.mission.close()
        if self.vehicle:
            self.vehicle.end()


# ---- verdicts ----------------------------------------------------------------------------------------------------------------------------


def verdict(flight):
    """What is wrong with a flight, in words; "" if nothing is."""
    row, said, wrong = flight.row, flight.said, []
    more = [flight.vision[key] for key in ("worst_m", "worst_deg", "worst_sigmas")] if row.away else []
    if not all(map(math.isfinite, (flight.ekf_m, flight.aim_m, flight.yaw_deg, flight.own_m, said["touch"], *more))):
        wrong.append("an error that is not finite")
    if flight.failsafe and not row.lost:
        wrong.append(f"a failsafe acts: {flight.failsafe}")
    if row.dead and not flight.failsafe:
        wrong.append("no failsafe acts")
    if not flight.failsafe and flight.ekf_m > max(row.ekf_m, flight.own_m + 0.1):
        wrong.append("the estimator is beside the truth")
    if not flight.failsafe and flight.yaw_deg > YAW_DEG:
        wrong.append("the estimator is turned")
    if not flight.failsafe and flight.aim_m > row.aim_m:
        wrong.append("beside its set point")
    if said["touch"] > 1.5:
        wrong.append("hard landing")
    if row.away and flight.vision["counter"] == flight.counters[0]:
        wrong.append("reset_counter as before")
    if row.away and (flight.vision["worst_m"] > max(0.3, flight.own_m + 0.05) or flight.vision["worst_deg"] > 3 or flight.vision["worst_sigmas"] > 3 or not flight.vision["checked"]):
        wrong.append("goes on from a wrong pose")
    if row.dock and not (flight.found_s <= 1.0 and flight.place_m <= 0.1 and flight.place_deg <= 3.0):
        wrong.append("the place is not found within a second")
    return "; ".join(wrong)


HEAD = f"{'row':36} {'EKF [m]':>8} {'yaw':>6} {'aim [m]':>8} {'vision':>7} {'sigmas':>6} {'age [ms]':>9}  {'ratios: position, velocity, height, yaw; lanes':46}"


def fly_row(programs, row, folder, instance=0, seconds=20.0):
    """Its line of the table; None: it was good; the version of the firmware."""
    flight, why, log = Flight(programs, row, folder, seconds), "", None
    try:
        try:
            flight.begin(instance)
            flight.fly()
        finally:
            flight.close()
        why = verdict(flight)
    except Crash as crash:
        why = str(crash)
    except Exception as error: # the other rows are flown all the same
        why = f"{type(error).__name__}: {error}"
    try:
        log = flight.log()
    except Exception as error:
        why = why or f"its log: {type(error).__name__}: {error}"
    v = getattr(flight, "vision", None) or {"worst_m": 0, "worst_sigmas": 0, "age": [0, 0]}
    ratios = f"{' '.join(f'{r:.2f}' for r in log['ratio'])}; {log['lanes']}" if log else "no log"
    ends = f"; errors {' '.join(log['errors'])}" if log and log["errors"] else ""
    own = f"; its own {flight.own_m:.2f} m off after {flight.blind_s:.2f} s without, {flight.back_m:.2f} m 2 s later" if row.away else ""
    if row.dock:
        own = f"; found after {flight.found_s:.2f} s, {flight.place_m:.2f} m and {flight.place_deg:.1f} degrees beside where it was"
    line = f"{row.name:36} {flight.ekf_m:8.2f} {flight.yaw_deg:6.1f} {flight.aim_m:8.2f} {v['worst_m']:7.2f} {v['worst_sigmas']:6.1f} {v['age'][0]:4.0f}-{v['age'][1]:<4.0f}  {ratios + ends:46} {'passed' if not why else 'FAILED: ' + why}{'; failsafe: ' + flight.failsafe if flight.failsafe else ''}{own}"
    return line, why, log["version"] if log else ""


failures = 0


def check(what, good, more=""):
    global failures
    if not good:
        failures += 1
        print(f"sitl: {what}\n{more}")


class MadeUp:
    """A flight for verdict(), good but for what is changed."""

    def __init__(self, row, **other):
        self.row, self.said, self.counters, self.failsafe, self.ekf_m, self.aim_m, self.own_m, self.yaw_deg = row, {"touch": 0.5}, [3], "", 0.1, 0.3, 0.1, 2.0
        self.found_s, self.place_m, self.place_deg = 0.5, 0.05, 1.0
        self.vision = {"counter": 5, "worst_m": 0.2, "worst_deg": 1.0, "worst_sigmas": 2.0, "checked": 100}
        for name, value in other.items():
            setattr(self, name, {**getattr(self, name), **value} if isinstance(value, dict) else value)


def sample(programs):
    """Verdicts on made-up flights; then, against the peer, a flight, and one in which its failsafe acts."""
    plain, lost, again, docked = Row("plain"), Row("lost", dead=4.0, lost=True), Row("again", away=(1, 1)), Row("docked", dock=1)
    for row, good, other in [(plain, True, {}), (lost, True, {"failsafe": "mode 9", "ekf_m": 9.0}), (again, True, {}), (plain, False, {"failsafe": "mode 9"}), (lost, False, {}),
                             (plain, False, {"ekf_m": 0.31}), (plain, False, {"aim_m": 1.1}), (plain, False, {"yaw_deg": 5.1}), (plain, False, {"said": {"touch": 2.0}}), *[(plain, False, {name: math.nan}) for name in ("ekf_m", "aim_m", "yaw_deg")], (lost, False, {"failsafe": "mode 9", "ekf_m": math.inf}), (again, False, {"vision": {"worst_m": math.nan}}), (again, False, {"counters": [5]}),
                             (docked, True, {}), *[(docked, False, {name: value}) for name in ("found_s", "place_m", "place_deg") for value in (3.1, math.inf, math.nan)],
                             (again, False, {"vision": {"worst_deg": 4.0}}), (again, False, {"vision": {"worst_sigmas": 3.5}}), (again, False, {"vision": {"checked": 0}}), (again, False, {"vision": {"worst_m": 0.31}}), (again, True, {"vision": {"worst_m": 0.44}, "own_m": 0.4, "ekf_m": 0.44})]:
        check(f"verdict on {row.name} {other}", (not verdict(MadeUp(row, **other))) == good)
    for row in Row("clean"), Row("companion killed", dead=3.0, lost=True, hover=True), Row("docked restart", dock=1.0, keep=False):
        with tempfile.TemporaryDirectory() as folder:
            line, why, _ = fly_row(programs, row, folder, 7, 4.0)
            print(line)
            check(row.name, not why, (pathlib.Path(folder) / "companion.log").read_text()[-2000:])
    check("the worse of two", [worse(1.0, 2.0), worse(2.0, 1.0)] == [2.0, 2.0] and math.isnan(worse(math.nan, 1.0)) and math.isnan(worse(1.0, math.nan)))
    with tempfile.TemporaryDirectory() as folder:
        line, why, _ = fly_row({**programs, "vehicle": folder}, Row("no vehicle"), folder)
        check("a row that cannot begin", why.startswith("PermissionError") and "FAILED" in line, line)


def table(programs, words):
    def option(key, value=None):
        return words[words.index(key) + 1] if key in words else value
    only, name, keep = option("--rows"), option("--full"), option("--keep")
    more = [word for word in words[3:] if word not in ("--sitl", option("--sitl"), "--full", name, "--keep", keep)]
    lines = [f"{time.strftime('%Y-%m-%d')}, {sources()}{': ' if more else ''}{' '.join(more)}", HEAD]
    print("\n".join(lines), flush=True)
    passed, versions, rows = 0, set(), [row for row in ROWS if not only or re.fullmatch(only, row.name)]
    free = list(range(int(option("--jobs", 1)))) # numbers of instances: their ports

    def one(row):
        folder, instance = os.path.join(keep, re.sub(r"\W+", "-", row.name)) if keep else tempfile.mkdtemp(), free.pop()
        os.makedirs(folder, exist_ok=True)
        try:
            return fly_row(programs, row, folder, instance, float(option("--seconds", 20)))
        finally:
            free.append(instance)
            if not keep:
                shutil.rmtree(folder)
    with concurrent.futures.ThreadPoolExecutor(len(free)) as pool:
        for line, why, version in pool.map(one, rows):
            passed += not why
            versions |= {version} - {""}
            lines.append(line)
            print(line, flush=True)
    lines[0] += f", {', '.join(sorted(versions)) or 'firmware of unknown version'}"
    lines.append(f"{len(rows)} rows, {passed} passed")
    print(lines[-1])
    if name:
        pathlib.Path(name + ".txt").write_text("\n".join(line.rstrip() for line in lines) + "\n")
    check("the table", passed == len(rows) > 0)


def main():
    words = sys.argv[1:]
    short_slices()
    programs = {"vehicle": os.path.abspath(words[0]), "companion": os.path.abspath(words[1]), "map": os.path.abspath(words[2])}
    if "--peer" in words:
        sample({**programs, "peer": True})
    else:
        sitl = words[words.index("--sitl") + 1] if "--sitl" in words else ""
        if not os.access(sitl, os.X_OK) or not os.path.isfile(sitl):
            print("sitl: SKIPPED, no firmware: SITL=path/to/arducopter")
            sys.exit(77)
        table({**programs, "sitl": os.path.abspath(sitl)}, words)
    print(f"sitl: {failures} failures" if failures else "sitl: all held")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
