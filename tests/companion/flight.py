#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The companion as a whole, its messages read by pymavlink.

    tests/companion/flight.py build/companion build/replay [build/config/small/companion]

Exit: 0 good, 1 not, 77 no pymavlink.

The rendered flight as fast as this machine can: what goes into a file against the states that replay writes of the same frames, turned into LOCAL_FRD and
BODY_FRD here, from the definitions of both; twice the same bytes. Then over loopback, on the wall clock, an autopilot played here: nothing with a stamp before
it can relate stamps, its TIMESYNC is answered at once while a step is under way, its IMU is asked for and its samples come back as states; a stranger's datagrams do nothing; ctrl-C
ends it with 0. Wrong options, ports, files end with their exit codes and a line that names them.
"""
import csv
import math
import os
import pathlib
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

os.environ["MAVLINK20"] = "1"
try:
    from pymavlink.dialects.v20 import ardupilotmega as mav
except ImportError as missing:
    print(f"flight: SKIPPED, {missing}")
    sys.exit(77)

FAULTS = []
SOURCE, FRAMES = "synthetic:320x240", 30
SLOW = 8  # times: how much slower than the machine the clocks over loopback are


def expect(good, what):
    if not good:
        FAULTS.append(what)
        print("FAULT:", what)
    return good


def messages_of(data):
    link = mav.MAVLink(None)
    return link.parse_buffer(bytearray(data)) or []


# ---- rotation matrices of quaternions, row by row ---------------------------------------------------------------------------------------


def matrix(w, x, y, z):
    return [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]


def times(A, B):
    return [[sum(A[i][k] * B[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def of(A, v):
    return [sum(A[i][k] * v[k] for k in range(3)) for i in range(3)]


def transposed(A):
    return [list(row) for row in zip(*A)]


FLIP = [[1, 0, 0], [0, -1, 0], [0, 0, -1]]  # x forward, y left, z up to x forward, y right, z down, and back


def states_of(folder):
    """Rows of state.csv that are states: t_ns, position, velocity, matrix of the attitude, reset_counter, quality."""
    lines = (folder / "state.csv").read_text().splitlines()
    names = lines[0].split(",")
    rows = []
    for line in lines[1:]:
        row = dict(zip(names, line.split(",")))
        if row["state"] not in ("good", "coasting", "stereo"):
            continue
        number = {n: float(row[n]) for n in names if n not in ("state", "flags", "protection") and row[n]}
        rows.append((int(row["t_imu_ns"]), [number["px"], number["py"], number["pz"]], [number["vx"], number["vy"], number["vz"]],
                     matrix(number["qw"], number["qx"], number["qy"], number["qz"]), int(row["reset_counter"]), int(row["quality"])))
    return rows


def as_frd(rows):
    """The same in LOCAL_FRD and BODY_FRD: x of the local frame level along the first heading."""
    first = rows[0]
    heading = math.atan2(first[3][1][0], first[3][0][0])
    c, s = math.cos(heading), math.sin(heading)
    to_local = [[c, s, 0], [s, -c, 0], [0, 0, -1]]
    out = []
    for t_ns, p, v, R, resets, quality in rows:
        body = times(times(to_local, R), FLIP)
        out.append((t_ns // 1000, of(to_local, [a - b for a, b in zip(p, first[1])]), of(FLIP, of(transposed(R), v)), body, resets, quality))
    return out


def run(program, *words, code=0, timeout=300):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=timeout)
    expect(done.returncode == code, f"companion {' '.join(words)}: exit {done.returncode}, not {code}: {done.stderr[-300:]}")
    return done


def against_replay(companion, replay, folder):
    data = []
    for name in "a", "b":
        run(companion, "--source", SOURCE, "--fast", "--frames", str(FRAMES), "--link", f"file:{folder}/{name}", "--stamp-sigma", "0", "--no-carry")
        data.append((folder / name).read_bytes())
    expect(data[0] == data[1], "two runs, different bytes")
    subprocess.run([replay, "--set", "vio=1", "--frames", str(FRAMES), "--quiet", "--tables", "frames", "--out", str(folder / "replay"), SOURCE], check=True, stdout=subprocess.DEVNULL)
    want = {row[0]: row for row in as_frd(states_of(folder / "replay"))}
    sent = [m for m in messages_of(data[0]) if m.get_type() == "ODOMETRY"]
    expect(len(sent) >= FRAMES - 12 and len(sent) == len(want), f"{len(sent)} ODOMETRY of {len(want)} states")
    worst = [0.0, 0.0, 0.0]
    for m in sent:
        row = want.get(m.time_usec)
        if not expect(row is not None, f"ODOMETRY of {m.time_usec} us: no state"):
            return
        R = matrix(*m.q)
        worst[0] = max(worst[0], *(abs(a - b) for a, b in zip((m.x, m.y, m.z), row[1])))
        worst[1] = max(worst[1], *(abs(R[i][j] - row[3][i][j]) for i in range(3) for j in range(3)))
        worst[2] = max(worst[2], *(abs(a - b) for a, b in zip((m.vx, m.vy, m.vz), row[2])))
        expect(m.frame_id == 20 and m.child_frame_id == 12 and m.estimator_type == 3, "frames or estimator")
        expect(m.quality == row[5], f"quality {m.quality}, not {row[5]}")
        expect(all(math.isfinite(v) for v in list(m.pose_covariance) + list(m.velocity_covariance)), "a covariance that is not finite")
        expect(all(m.pose_covariance[i] > 0 and m.velocity_covariance[i] > 0 for i in (0, 6, 11, 15, 18, 20)), "a variance that is not above 0")
    expect([m.reset_counter for m in sent] == [1] + [2] * (len(sent) - 1), "reset_counter: a new one in the first message and in the second")
    print(f"{len(sent)} ODOMETRY beside replay's states: position {worst[0]:.1e} m, rotation {worst[1]:.1e}, velocity {worst[2]:.1e} m/s")
    expect(worst[0] < 1e-5 and worst[1] < 1e-5 and worst[2] < 1e-4, "not those of replay's states")
    kinds = {m.get_type() for m in messages_of(data[0])}
    expect({"HEARTBEAT", "STATUSTEXT"} <= kinds, f"messages: {kinds}")


def option_faults(companion, folder):
    taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taken.bind(("", 0))
    port = taken.getsockname()[1]
    missing = folder / "no_rig.yaml"
    hole = folder / "hole.yaml"
    hole.write_text("imu0:\n  gyroscope_noise_density: 1e-3\n")
    link = ("--link", f"file:{folder}/x")
    cases = [(2, "--link"), (2, "--nonsense", *link), (2, "--rate", "0", *link), (2, "--rate", "nan", *link), (2, "--origin", "91,0,0", *link), (2, "--set", "windows=1", *link),
             (2, "--imu", "mine", *link), (2, "word", *link), (2, "--link", "none", *link), (2, "--link", "none", "--imu", "autopilot"), (2, "--fast", "--imu", "autopilot", *link), (2, "--view-name", "drone.local", *link), (3, "--view", "0", "--view-name", "a b", *link), (3, "--link", "udp:nowhere"), (3, "--link", "dds:300"), (2, "--link", "dds:0", "--north"), (2, "--link", "dds:0", "--imu", "autopilot"), (3, "--link", f"udp:127.0.0.1:9:{port}"),
             (3, "--link", "serial:/dev/null:57600"), (3, "--key", str(folder / "nothing"), *link), (4, "--source", str(folder / "nothing"), *link), (4, "--rig", str(missing), *link), (4, "--rig", str(hole), *link), (2,)]
    for code, *words in cases:
        done = run(companion, *words, code=code)
        expect(done.stderr.count("companion: ") >= 1 and len(done.stderr.splitlines()) <= 2, f"{words}: {done.stderr!r}")
    expect("--link" in run(companion, "--help").stdout, "--help")
    expect("no link\n" in run(companion, "--source", SOURCE, "--fast", "--frames", "4", "--link", "none").stdout, "--link none")


def alone(companion, replay, folder):
    """Cameras without autopilot and IMU: a state by two cameras, and a page whose pictures it is for."""
    subprocess.run([replay, "--set", "vio=0", "--frames", "20", "--quiet", "--record", str(folder / "pictures.vfr"), SOURCE], check=True, stdout=subprocess.DEVNULL)
    done = run(companion, "--source", str(folder / "pictures.vfr"), "--fast", "--link", "none", "--view", "0")
    states = re.search(r"frames 20, .* with a state (\d+)", done.stdout)
    expect(states and int(states[1]) >= 15 and "a state by two cameras" in done.stderr, f"cameras alone: {done.stdout[:200]} {done.stderr[-300:]}")


RIG = """body:
  T_body_imu: [[1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 0], [0, 0, 0, 1]]
imu0: {gyroscope_noise_density: 2e-4, gyroscope_random_walk: 2e-5, accelerometer_noise_density: 2e-3, accelerometer_random_walk: 3e-3, update_rate: 200}
"""
RIG += "".join(f"""cam{i}:
  camera_model: pinhole
  intrinsics: [200, 200, 160, 120]
  distortion_model: radtan
  distortion_coeffs: [0, 0, 0, 0]
  resolution: [320, 240]
  T_cam_imu: [[0, -1, 0, {0 - 0.1 * i}], [0, 0, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]
""" for i in range(2))


def rigs_with_holes(companion, folder):
    """A rig that lacks something, or cannot be, is named, with the exit code of the table."""
    def rig(code, said, change):
        (folder / "rig.yaml").write_text(change(RIG))
        done = run(companion, "--source", SOURCE, "--fast", "--frames", "2", "--rig", str(folder / "rig.yaml"), "--link", f"file:{folder}/x", code=code)
        expect(said in done.stderr, f"{said}: {done.stderr!r}")
    rig(0, "", lambda text: text)
    rig(5, "no body", lambda text: text[text.index("imu0"):])
    rig(5, "rig.yaml", lambda text: text.replace("  T_body_imu: [[1, 0,", "  T_body_imu: [[2, 0,"))
    rig(5, "rig.yaml", lambda text: text.replace("update_rate: 200", "update_rate: nan"))
    rig(5, "rig.yaml", lambda text: text.replace("accelerometer_random_walk: 3e-3, ", ""))
    rig(4, "rig.yaml", lambda text: text.replace("  intrinsics: [200, 200, 160, 120]\n", "", 1))
    rig(4, "rig.yaml", lambda text: text.replace("resolution: [320, 240]", "resolution: [320]", 1))
    rig(6, "vfront_init: VFRONT_E_CALIBRATION", lambda text: text.replace("intrinsics: [200, 200,", "intrinsics: [2e9, 200,", 1))


def files_to_begin_with(companion):
    """The rig that is installed is one; the parameters of both autopilots are laid out as ground stations read them, none twice, and as README has them."""
    here = pathlib.Path(__file__).resolve().parents[2] / "examples/companion"
    done = run(companion, "--source", "synthetic:640x480", "--fast", "--frames", "2", "--rig", str(here / "rig.yaml"), "--link", "none")
    expect("frames 2" in done.stdout, f"rig.yaml: {done.stderr}")
    px4 = [line.split("\t") for line in (here / "px4.params").read_text().splitlines() if not line.startswith("#")]
    expect(all(len(row) == 5 and row[:2] == ["1", "1"] and row[4] == ("9" if "." in row[3] else "6") and float(row[3]) >= 0 for row in px4), f"px4.params: {px4}")
    ardupilot = [line.split() for line in (here / "ardupilot.parm").read_text().splitlines() if not line.startswith("#")]
    expect(all(len(row) == 2 and float(row[1]) >= 0 for row in ardupilot), f"ardupilot.parm: {ardupilot}")
    page = (here / "README.md").read_text()
    for names in [row[2] for row in px4], [row[0] for row in ardupilot]:
        expect(len(names) == len(set(names)) and all(re.fullmatch("[A-Z0-9_]{3,16}", name) for name in names), f"{names}")
    values = {row[2]: float(row[3]) for row in px4} | {row[0]: float(row[1]) for row in ardupilot}
    for name, value in re.findall(r"`((?:EKF2|VISO)_\w+)` (\d+)", page):
        expect(values.get(name) == float(value), f"README has {name} {value}, the file {values.get(name)}")


def messages_are_explained():
    """HOVER.md has every message that is reported, in its own words."""
    here = pathlib.Path(__file__).resolve().parents[2] / "examples/companion"
    page, missing, words_seen = (here / "HOVER.md").read_text(), [], 0
    for file in sorted(here.glob("*.c")):
        text = file.read_text()
        found = [re.sub(r"\\?%.*", "", m) for m in re.findall(r'"vision: (?:link %u:? )?([^"]*)"', text)]
        if file.name == "health.c":
            found += re.findall(r'"([^"%]*)"', text[text.index("word[HEALTH_WORDS]"):].split("};")[0])
        if file.name == "trust.c":
            found += re.findall(r'\[\] = "([^"]*)"', text) + re.findall(r'why = "([^"]*)"', text)
        if file.name == "links.c":
            found += re.findall(r'"((?:waits|goes on)[^"]*)"', text)
        words_seen += len(found)
        missing += [f"{file.name}: {words}" for words in found if words.strip(" :;,") and words.strip(" :;,") not in page]
    expect(words_seen >= 40, f"{words_seen} messages are found in the sources")
    expect(not missing, f"HOVER.md does not explain {missing}")


def waits_for_a_camera(companion, folder):
    """A video device that is not there is waited for, with a word; ctrl-C ends that."""
    (folder / "rig.yaml").write_text(RIG)
    process = subprocess.Popen([companion, "--source", "v4l2:/dev/not_there", "--rig", str(folder / "rig.yaml"), "--imu", "autopilot", "--link", "file:/dev/null"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2.5)
    expect(process.poll() is None, "a camera that is not there ends it")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    expect(process.returncode == 0 and err.count("it is tried again every second") == 1 and "a camera is not there" in err, f"a camera that is not there: {process.returncode} {err}")


def waits_for_a_pipeline(companion, folder):
    """A pipeline whose device is not there, here a file, and an IMU that is not there: both are waited for, and the flight begins with the pictures."""
    (folder / "rig.yaml").write_text(RIG)
    size = [int(n) for n in re.search(r"resolution: \[(\d+), (\d+)\]", RIG).groups()]
    pipeline = f"gst:filesrc location={folder}/camera ! rawvideoparse format=gray8 width={size[0]} height={size[1]} framerate=30/1"
    process = subprocess.Popen([companion, "--source", pipeline, "--rig", str(folder / "rig.yaml"), "--imu", "iio:not_there", "--link", "file:/dev/null"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2.5)
    is_there = process.poll() is None
    (folder / "camera").write_bytes(bytes(3 * size[0] * size[1]))
    out, err = process.communicate(timeout=30)
    if not is_there and "no GStreamer" in err or "rawvideoparse" in err:
        return
    expect(is_there and process.returncode == 0 and re.search("frames [1-3],", out), f"a pipeline that comes late: {process.returncode} {out} {err}")
    expect(err.count("it is tried again every second") == 2 and err.count("a camera is not there") == err.count("the IMU is not there") == 1, f"words of what is waited for: {err}")


def goes_on(companion, folder):
    """What the system does not give is reported once, and the flight goes on: priority, memory, disk, the file of a restart. A port that is taken ends it."""
    def denied():
        resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
    fly = [companion, "--source", "synthetic:160x120", "--fast", "--frames", "40", "--link", "file:/dev/null"]
    done = subprocess.run([*fly, "--realtime", "50"], capture_output=True, text=True, preexec_fn=denied, timeout=120)
    expect(done.returncode == 0 and done.stderr.count("no SCHED_FIFO") == 1 and done.stderr.count("memory is not locked") == 1, f"--realtime denied: {done.returncode} {done.stderr}")
    done = subprocess.run([*fly, "--record", "/dev/full", "--keep", str(folder / "no" / "keep")], capture_output=True, text=True, timeout=120)
    expect(done.returncode == 1 and done.stderr.count("the recording ends, the flight goes on") == 1 and "frames 40" in done.stdout, f"a full disk: {done.returncode} {done.stderr}")
    expect(done.stderr.count("goes on without") == 1, f"--keep where there is no folder: {done.stderr}")
    done = subprocess.run([*fly[:-1], "file:/dev/full"], capture_output=True, text=True, timeout=120)
    expect(done.returncode == 0 and done.stderr.count("is the disk full?") == 1, f"a link to a full disk: {done.returncode} {done.stderr}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(companion, *fly[1:], "--view", str(port), code=3)
        expect("in use" in done.stderr, f"--view on a port that is taken: {done.stderr}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(folder / "notify"))
        systemd.setblocking(False)
        subprocess.run([*fly[:3], "--slow", "2", "--frames", "40", *fly[-2:]], capture_output=True, timeout=120, env={**os.environ, "NOTIFY_SOCKET": str(folder / "notify")})
        words = [systemd.recv(100) for _ in range(2)]
        expect(words == [b"READY=1", b"WATCHDOG=1"], f"signs of life: {words}")


class Autopilot:
    """PX4, as far as the companion sees it, on a socket. Its clock is 1000 s ahead, and SLOW times as slow as the machine's, as the companion's is here."""
    AHEAD_NS = 1000 * 10**9

    def __init__(self, kind=12, mode=0):
        self.kind, self.mode = kind, mode # of HEARTBEAT: 12 PX4, 3 ArduPilot; 128 armed
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.socket.settimeout(0.005)
        self.link, self.reader = mav.MAVLink(None, srcSystem=1, srcComponent=1), mav.MAVLink(None)
        self.said = bytearray() # all that it sent
        self.peer, self.got, self.trips, self.next = None, [], [], dict.fromkeys(("beat", "sync"), 0.0)

    def now(self):
        return time.monotonic_ns() // SLOW + self.AHEAD_NS

    def send(self, message):
        if self.peer:
            data = bytes(message.pack(self.link))
            self.said += data
            self.socket.sendto(data, self.peer)

    def turn(self, beats=True):
        """What is due, then what has come."""
        at = time.monotonic()
        if beats and at >= self.next["beat"]:
            self.next["beat"] = at + 1.0
            self.send(mav.MAVLink_heartbeat_message(2, self.kind, self.mode, 0, 4, 3))
        if beats and at >= self.next["sync"]:
            self.next["sync"] = at + 0.05 * SLOW
            self.send(mav.MAVLink_timesync_message(0, self.now()))
        try:
            data, self.peer = self.socket.recvfrom(2048)
        except socket.timeout:
            return
        now = self.now()
        for m in self.reader.parse_buffer(bytearray(data)) or []:
            self.got.append((now, m))
            if m.get_type() == "TIMESYNC" and m.tc1 == 0:
                self.send(mav.MAVLink_timesync_message(now, m.ts1))
            elif m.get_type() == "TIMESYNC":
                self.trips.append((now - m.ts1) * 1e-9)

    def of(self, kind):
        return [(t, m) for t, m in self.got if m.get_type() == kind]


def as_recorded(replay, folder, said):
    """What came over the link is in the recording, byte by byte, up to what came as it ended; a stranger's is not."""
    subprocess.run([replay, "--quiet", "--out", f"{folder}/loop", "--export", "csv", f"{folder}/loop.vfr"], check=True, stdout=subprocess.DEVNULL)
    with open(f"{folder}/loop/recording/mavlink.csv", newline="") as file:
        came = b"".join(bytes.fromhex(row["bytes"]) for row in csv.DictReader(file) if row["direction"] == "received")
    expect(said.startswith(came) and len(came) > 0.9 * len(said), f"{len(came)} bytes recorded of {len(said)}")


def over_loopback(companion, replay, folder):
    """A flight on a clock that this machine can keep up with, beside other work."""
    pilot, stranger = Autopilot(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    words = [companion, "--source", "synthetic:160x120", "--link", f"udp:127.0.0.1:{pilot.port}", "--answers", "20", "--origin", "47.4,8.5,400", "--quiet", "--slow", str(SLOW), "--keep", f"{folder}/keep", "--record", f"{folder}/loop.vfr"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end, related = time.monotonic() + 60.0, None
    while time.monotonic() < end and len(pilot.of("ODOMETRY")) < 25 and process.poll() is None:
        pilot.turn()
        if pilot.peer and len(pilot.got) % 5 == 0:
            stranger.sendto(bytes(mav.MAVLink_timesync_message(0, 1).pack(mav.MAVLink(None, srcSystem=1, srcComponent=1))), pilot.peer)
        if related is None and len(pilot.trips) >= 20:
            related = pilot.now()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    expect(process.returncode == 0, f"ctrl-C: exit {process.returncode}: {err[-300:]}")
    as_recorded(replay, folder, bytes(pilot.said))
    sent = pilot.of("ODOMETRY")
    expect(len(sent) >= 20, f"{len(sent)} ODOMETRY in 60 s: {err[-500:]}")
    first_trip = pilot.trips and sorted(pilot.trips)
    expect(len(pilot.trips) >= 20, f"{len(pilot.trips)} answers")
    if sent and len(pilot.trips) >= 20:
        expect(sum(1 for t, m in pilot.of("TIMESYNC") if m.tc1 > 0 and t < sent[0][0]) >= 20, "ODOMETRY before stamps could be related")
        stamps = [m.time_usec for _, m in sent]
        expect(all(a < b for a, b in zip(stamps, stamps[1:])), "stamps that do not rise")
        # by the answers of the companion its clock is known: a stamp lies before its message came, by less than what is stale
        ahead_ns = min(t - m.tc1 for t, m in pilot.of("TIMESYNC") if m.tc1 > 0)
        ages = [(t - ahead_ns) * 1e-3 - m.time_usec for t, m in sent if m.quality > 0]
        expect(all(0 < a < 220e3 for a in ages), f"ages of {min(ages):.0f} to {max(ages):.0f} us")
        print(f"over loopback: {len(sent)} ODOMETRY, {min(ages) * 1e-3:.0f} to {max(ages) * 1e-3:.0f} ms old; TIMESYNC answered within {first_trip[len(first_trip) // 2] * 1e6:.0f} us "
              f"in the median of {len(first_trip)}")
        expect(first_trip[len(first_trip) // 2] < 5e-3, "TIMESYNC waits for the step")
    expect(1 <= len(pilot.of("SET_GPS_GLOBAL_ORIGIN")) <= 3 and pilot.of("SET_GPS_GLOBAL_ORIGIN")[0][1].latitude == 474000000, "origin")
    expect({m.get_srcComponent() for _, m in pilot.got} == {197} and {m.get_srcSystem() for _, m in pilot.got} == {1}, "system or component")
    expect("frames" in out, f"no summary: {out!r}")
    return sent[-1][1] if sent else None


def standing(replay, folder):
    """A recording of a vehicle that stands, its IMU's axes x forward, y right, z down."""
    lines = [f"{0.01 * i:.2f} 0 0 1.5 1 0 0 0" for i in range(1000)]
    (folder / "stand.txt").write_text("\n".join(lines) + "\n")
    subprocess.run([replay, "--quiet", "--render", "width_px=160", "--render", "height_px=120", "--frames", "60", "--set", "vio=1", "--record", str(folder / "stand.vfr"),
                    str(folder / "stand.txt")], check=True, stdout=subprocess.DEVNULL)
    return folder / "stand.vfr"


def with_the_autopilots_imu(companion, replay, folder):
    """ArduPilot's RAW_IMU is asked for, and is the IMU: its resolution is in the noise, its filter's delay taken off. Another companion and signed messages are named."""
    pilot, draw = Autopilot(kind=3), random.Random(4)
    words = [companion, "--source", str(standing(replay, folder)), "--link", f"udp:127.0.0.1:{pilot.port}", "--imu", "autopilot", "--quiet", "--slow", str(SLOW), "--view", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = time.monotonic() + 1.5 * SLOW # the page has the cameras from the first second on, until the first sample
    end, sent, rival, signs = time.monotonic() + 60.0 + 1.5 * SLOW, 0, mav.MAVLink(None, srcSystem=1, srcComponent=197), mav.MAVLink(None, srcSystem=1, srcComponent=1)
    signs.signing.secret_key, signs.signing.link_id, signs.signing.timestamp, signs.signing.sign_outgoing = b"k" * 32, 0, 1, True
    while time.monotonic() < end and len(pilot.of("ODOMETRY")) < 15 and process.poll() is None:
        pilot.turn()
        now_us = pilot.now() // 1000
        if any(m.command == 511 and m.param1 == 27 for _, m in pilot.of("COMMAND_LONG")) and now_us >= sent + 5000 and time.monotonic() >= first:
            sent = now_us
            pilot.send(mav.MAVLink_raw_imu_message(now_us, draw.randint(-3, 3), draw.randint(-3, 3), -1000 + draw.randint(-3, 3), draw.randint(-2, 2), draw.randint(-2, 2),
                                                   draw.randint(-2, 2), 0, 0, 0))
        if len(pilot.of("ODOMETRY")) == 5:
            pilot.socket.sendto(bytes(mav.MAVLink_heartbeat_message(18, 8, 0, 0, 4, 3).pack(rival)), pilot.peer)
            pilot.socket.sendto(bytes(mav.MAVLink_heartbeat_message(2, 3, 0, 0, 4, 3).pack(signs)), pilot.peer)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    odometry = [m for _, m in pilot.of("ODOMETRY") if m.quality > 0]
    expect(process.returncode == 0 and len(odometry) >= 10, f"the autopilot's IMU: exit {process.returncode}, {len(odometry)} ODOMETRY: {err[-600:]}")
    said = re.search(r"IMU of RAW_IMU: ([\d.]+) ms late, stamps within ([\d.]+) ms; noise ([\d.e+-]+) rad", err)
    if expect(said, f"the IMU's delay was not reported: {err[-600:]}"):
        expect(float(said[1]) == 11.25 and float(said[2]) > 4.0 and float(said[3]) > 1e-3 / math.sqrt(12 * 200), f"delay or noise: {said[0]}")
    if odometry:
        worst = max(max(abs(m.x), abs(m.y), abs(m.z)) for m in odometry)
        tilt = max(2 * math.hypot(m.q[1], m.q[2]) for m in odometry)
        print(f"RAW_IMU: {len(odometry)} ODOMETRY of a vehicle that stands: within {worst:.3f} m, {math.degrees(tilt):.2f} degrees")
        expect(worst < 0.1 and tilt < 0.05, "it does not stand")
    texts = {m.text for _, m in pilot.of("STATUSTEXT")}
    expect("vision: autopilot's clock is known on link 1" in texts, f"that its clock is known was not reported: {texts}")
    expect("vision: another companion 1/197 on link 1" in texts and "vision: link 1: signed messages are refused" in texts, f"a rival, or signed messages, were not named: {texts}")


def in_flight(companion):
    """A start while the autopilot is armed: nothing is sent before its pose is there; then that pose goes on."""
    pilot, position, yaw = Autopilot(kind=3, mode=128), (7.0, -3.0, -1.5), 2.0
    process = subprocess.Popen([companion, "--source", "synthetic:160x120", "--link", f"udp:127.0.0.1:{pilot.port}", "--quiet", "--slow", str(SLOW)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end, waited, sent_ms = time.monotonic() + 60.0, False, 0
    while time.monotonic() < end and len(pilot.of("ODOMETRY")) < 10 and process.poll() is None:
        pilot.turn()
        waited |= any("waits for the autopilot's ATTITUDE" in m.text for _, m in pilot.of("STATUSTEXT"))
        now_ms = pilot.now() // 10**6
        if waited and now_ms >= sent_ms + 20:
            expect(sent_ms > 0 or not pilot.of("ODOMETRY"), "ODOMETRY of a pose that nobody knows")
            sent_ms = now_ms
            pilot.send(mav.MAVLink_attitude_message(now_ms, 0.0, 0.0, yaw, 0.0, 0.0, 0.0))
            pilot.send(mav.MAVLink_local_position_ned_message(now_ms, *position, 0.0, 0.0, 0.0))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    asked = {int(m.param1) for _, m in pilot.of("COMMAND_LONG") if m.command == 511}
    expect(asked == {30, 32, 193}, f"asked for {asked}")
    sent = [m for _, m in pilot.of("ODOMETRY")]
    if not expect(waited and sent, f"a start in flight: {'waited' if waited else 'did not wait'}, {len(sent)} ODOMETRY: {err[-300:]}"):
        return
    first, R = sent[0], matrix(*sent[0].q)
    apart, turned = max(abs(a - b) for a, b in zip((first.x, first.y, first.z), position)), abs(math.atan2(R[1][0], R[0][0]) - yaw)
    print(f"a start in flight: {apart:.3f} m, {math.degrees(turned):.2f} degrees from the autopilot's pose, deviations {math.sqrt(first.pose_covariance[0]):.2f} m, "
          f"{math.degrees(math.sqrt(first.pose_covariance[20])):.1f} degrees")
    # the first message is of some 10 ms after the first state
    expect(apart < 0.1 and turned < 0.05 and first.quality > 0, "the autopilot's pose does not go on")
    expect(0.38 < math.sqrt(first.pose_covariance[0]) < 0.45 and 0.9 < math.degrees(math.sqrt(first.pose_covariance[20])) < 2.0, "deviations")


def with_a_key(companion, folder):
    """--key: what it sends is signed, an autopilot that signs gets states, one that does not is not heard, and that is reported."""
    (folder / "key").write_text("6b" * 32 + "\n")
    for signs in True, False:
        pilot = Autopilot(kind=3)
        pilot.reader.signing.secret_key = b"k" * 32
        if signs:
            pilot.link.signing.secret_key, pilot.link.signing.sign_outgoing, pilot.link.signing.link_id = b"k" * 32, True, 0
            pilot.link.signing.timestamp = int((time.time() - 1420070400) * 1e5)
        process = subprocess.Popen([companion, "--source", "synthetic:160x120", "--link", f"udp:127.0.0.1:{pilot.port}", "--quiet", "--slow", str(SLOW), "--key", str(folder / "key")],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + (60.0 if signs else 4.0)
        while time.monotonic() < end and len(pilot.of("ODOMETRY")) < 10 and process.poll() is None:
            pilot.turn()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        expect(pilot.reader.signing.badsig_count == 0 and all(m.get_signed() for _, m in pilot.got) and pilot.got, f"--key: {pilot.reader.signing.badsig_count} wrong signatures")
        expect(len(pilot.of("ODOMETRY")) >= 10 if signs else not pilot.of("ODOMETRY") and "not signed by the key" in err, f"--key: {len(pilot.of('ODOMETRY'))} ODOMETRY: {err[-300:]}")
    print("--key: signed both ways; an autopilot that does not sign is not heard")


def again(companion, folder, last):
    """A new start without an autopilot, on the ground: reset_counter goes on; the kept pose does where its yaw is still certain."""
    run(companion, "--source", "synthetic:160x120", "--slow", str(SLOW), "--frames", "14", "--link", f"file:{folder}/again", "--keep", f"{folder}/keep", "--quiet")
    sent = [m for m in messages_of((folder / "again").read_bytes()) if m.get_type() == "ODOMETRY"]
    if not expect(sent, "no ODOMETRY after a new start") or not last:
        return
    first = sent[0]
    apart = max(abs(a - b) for a, b in zip((first.x, first.y, first.z), (last.x, last.y, last.z)))
    print(f"a new start: {apart:.2f} m from the last pose, deviation {math.sqrt(first.pose_covariance[0]):.2f} m, reset_counter {last.reset_counter} to {first.reset_counter}")
    expect(apart < 3.0 or max(abs(first.x), abs(first.y), abs(first.z)) < 1e-6, "neither the pose nor a new frame")
    expect([m.reset_counter for m in sent] == [(last.reset_counter + k) % 256 for k in [1] + [2] * (len(sent) - 1)], "reset_counter")


def obstacles(companion, folder):
    """OBSTACLE_DISTANCE of a build with disparities: full circle, BODY_FRD, known ahead, unknown outside of the view."""
    run(companion, "--source", "synthetic:192x144", "--fast", "--frames", "20", "--link", f"file:{folder}/obstacles", "--obstacles", "--set", "dense_disparities=64")
    sent = [m for m in messages_of((folder / "obstacles").read_bytes()) if m.get_type() == "OBSTACLE_DISTANCE"]
    expect(len(sent) >= 6, f"{len(sent)} OBSTACLE_DISTANCE")
    known = 0
    for m in sent:
        expect(m.increment == 5 and m.increment_f == 5.0 and m.angle_offset == 0.0 and m.frame == 12 and len(m.distances) == 72, "layout")
        expect(all(d == 65535 for d in m.distances[10:63]), "known where no camera looks")
        expect(all(d == 65535 or m.min_distance <= d <= m.max_distance + 1 for d in m.distances), "a distance out of range")
        known += sum(1 for d in m.distances if d != 65535)
    print(f"obstacles: {len(sent)} messages, {known} directions known")
    expect(known >= 2 * len(sent), "hardly any direction is known")
    first = sent[0].distances if sent else []
    expect(all(d == 65535 for d in first), "known before there is gravity")


def main():
    companion, replay = (os.path.abspath(word) for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        against_replay(companion, replay, pathlib.Path(folder))
        option_faults(companion, pathlib.Path(folder))
        alone(companion, replay, pathlib.Path(folder))
        rigs_with_holes(companion, pathlib.Path(folder))
        files_to_begin_with(companion)
        messages_are_explained()
        waits_for_a_camera(companion, pathlib.Path(folder))
        waits_for_a_pipeline(companion, pathlib.Path(folder))
        goes_on(companion, pathlib.Path(folder))
        with_the_autopilots_imu(companion, replay, pathlib.Path(folder))
        again(companion, pathlib.Path(folder), over_loopback(companion, replay, pathlib.Path(folder)))
        in_flight(companion)
        with_a_key(companion, pathlib.Path(folder))
        for small in sys.argv[3:]:
            obstacles(os.path.abspath(small), pathlib.Path(folder))
    print("FAILED" if FAULTS else "flies")
    sys.exit(1 if FAULTS else 0)


if __name__ == "__main__":
    main()
