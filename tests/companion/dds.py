#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The companion's --link dds: what a reader of PX4's topic gets over loopback, by Cyclone DDS's own Python package.

    tests/companion/dds.py build/companion build/replay

Exit: 0 good, 1 not, 77 no cyclonedds, no pymavlink, or a companion without Cyclone DDS.

The type is written here from px4_msgs' definition, the reader asks for what the client in PX4 does. A flight that is recorded once, with cameras and IMU away for a
time, goes over DDS and, as MAVLink, into a file: every ODOMETRY of the file is there, once, field by field, nothing else is, and none of it is of a time at which
replay has no state. On the machine's clock stamps are those of CLOCK_REALTIME. Without a reader nothing is sent, and that is reported.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

DOMAIN = 1 + os.getpid() % 200
# One machine, and no multicast, which a machine may lack.
os.environ["CYCLONEDDS_URI"] = """<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>"""
os.environ["MAVLINK20"] = "1"
try:
    from cyclonedds.core import InstanceState, Policy, Qos
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.idl import IdlStruct, types
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from pymavlink.dialects.v20 import ardupilotmega as mav
except ImportError as missing:
    print(f"dds: SKIPPED, {missing}")
    sys.exit(77)

FAULTS = []
FRAMES, AWAY = 80, (25, 48)  # of the flight; without pictures and samples
SLOW = 5  # times, so that hardly a frame is passed over
NEAR_US = 20000  # of a state of replay: its time has the estimated offset of the pictures, which is another where a frame was passed over
VECTOR = types.array[types.float32, 3]


@dataclass
class VehicleOdometry(IdlStruct, typename="px4_msgs::msg::dds_::VehicleOdometry_"):
    """MESSAGE_VERSION 0."""
    timestamp: types.uint64
    timestamp_sample: types.uint64
    pose_frame: types.uint8
    position: VECTOR
    q: types.array[types.float32, 4]
    velocity_frame: types.uint8
    velocity: VECTOR
    angular_velocity: VECTOR
    position_variance: VECTOR
    orientation_variance: VECTOR
    velocity_variance: VECTOR
    reset_counter: types.uint8
    quality: types.int8


def expect(good, what):
    if not good:
        FAULTS.append(what)
        print("FAULT:", what)
    return good


def run(program, *words, code=0):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120)
    expect(done.returncode == code, f"{' '.join(words)}: exit {done.returncode}, not {code}: {done.stderr[-300:]}")
    return done


class Reader:
    """As the reader of PX4's client, but that it keeps all."""
    def __init__(self):
        self.participant = DomainParticipant(DOMAIN)
        qos = Qos(Policy.Reliability.BestEffort, Policy.Durability.Volatile, Policy.History.KeepAll, Policy.DataRepresentation(use_cdrv0_representation=True))
        self.reader = DataReader(self.participant, Topic(self.participant, "rt/fmu/in/vehicle_visual_odometry", VehicleOdometry), qos=qos)
        self.got = []

    def turn(self):
        for sample in self.reader.take(100):
            if isinstance(sample, VehicleOdometry):
                self.got.append((time.clock_gettime_ns(time.CLOCK_REALTIME) // 1000, sample))
            else:  # that the writer has gone
                expect(sample.sample_info.instance_state == InstanceState.NotAliveNoWriters, "the writer's end disposes of a sample")

    def follow(self, companion, *words):
        """What comes while the companion flies."""
        self.got = []
        with subprocess.Popen([companion, "--link", f"dds:{DOMAIN}", "--stamp-sigma", "0", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None:
                self.turn()
                time.sleep(0.001)
            _, err = process.communicate()
        time.sleep(0.1)
        self.turn()
        expect(process.returncode == 0, f"companion: exit {process.returncode}: {err[-300:]}")


def sent_to(path):
    return [m for m in mav.MAVLink(None).parse_buffer(bytearray(path.read_bytes())) if m.get_type() == "ODOMETRY"]


def fields(m):
    """A message of MAVLink in the order of VehicleOdometry, but for the stamps: as the handler of ODOMETRY in PX4 takes it."""
    pose, motion = m.pose_covariance, m.velocity_covariance
    return [{1: 1, 20: 2}[m.frame_id], [m.x, m.y, m.z], list(m.q), {12: 3}[m.child_frame_id], [m.vx, m.vy, m.vz], [m.rollspeed, m.pitchspeed, m.yawspeed],
            [pose[0], pose[6], pose[11]], [pose[15], pose[18], pose[20]], [motion[0], motion[6], motion[11]], m.reset_counter, m.quality]


def fields_of(s):
    return [s.pose_frame, list(s.position), list(s.q), s.velocity_frame, list(s.velocity), list(s.angular_velocity),
            list(s.position_variance), list(s.orientation_variance), list(s.velocity_variance), s.reset_counter, s.quality]


def compare(got, file):
    """Every message of the file, from the first one that went over DDS on, and nothing else."""
    if not expect(got and file, f"{len(got)} samples, {len(file)} ODOMETRY in the file"):
        return []
    pairs = list(zip(file[-len(got):], got))
    expect(0 <= len(file) - len(got) <= 10, f"{len(got)} samples of {len(file)} ODOMETRY")
    for m, s in pairs:
        expect(fields(m) == fields_of(s), f"{m.time_usec} us: {fields_of(s)}, not {fields(m)}")
    return pairs


def vouched(replay, source, folder):
    """Times of the flight at which replay has a state [us]."""
    run(replay, "--state-only", "--set", "vio=1", "--quiet", "--tables", "frames", "--out", str(folder / "states"), source)
    lines = (folder / "states/state.csv").read_text().splitlines()
    rows = [dict(zip(lines[0].split(","), line.split(","))) for line in lines[1:]]
    return [int(row["t_imu_ns"]) // 1000 for row in rows if row["state"] in ("good", "coasting", "stereo")]


def flight(reader, companion, replay, folder):
    (folder / "script").write_text("%d-%d both black\n%d-%d gyro gap\n" % (AWAY * 2))
    run(replay, "--state-only", "--set", "vio=1", "--quiet", "--frames", str(FRAMES), "--fault", str(folder / "script"), "--record", str(folder / "flight.vfr"), "synthetic:160x120")
    reader.follow(companion, "--state-only", "--slow", str(SLOW), "--no-carry", "--source", str(folder / "flight.vfr"), "--link", f"file:{folder}/sent")
    got = [s for _, s in reader.got]
    pairs = compare(got, sent_to(folder / "sent"))
    if not pairs:
        return
    ages = sorted(s.timestamp - s.timestamp_sample for s in got)
    expect(0 < ages[0] and ages[len(ages) // 2] < 200000 and ages[-1] < 2000000, f"ages of {ages[0]} to {ages[-1]} us")  # the greatest is the load of this machine
    expect(all(a.timestamp < b.timestamp and a.timestamp_sample < b.timestamp_sample for a, b in zip(got, got[1:])), "stamps do not rise")
    states = vouched(replay, str(folder / "flight.vfr"), folder)
    good = [m.time_usec for m, s in pairs if s.quality > 0]
    shift = good[-1] - states[-1]  # by which the companion has moved the flight's time
    beyond = [t - shift for t in good if min(abs(t - shift - at) for at in states) > NEAR_US]
    expect(not beyond, f"sent at {beyond} us: replay has no state")
    expect(len(good) >= 0.8 * len(states), f"{len(good)} sent of {len(states)} states")
    failed = [i for i, s in enumerate(got) if s.quality < 0]
    expect({(s.pose_frame, s.velocity_frame) for s in got} == {(2, 3)}, "frames")
    if not expect(len(failed) == 1 and 1 < failed[0] < len(got) - 1, f"{len(failed)} failures of {len(got)}"):
        return
    at = failed[0]
    silent = pairs[at + 1][0].time_usec - pairs[at][0].time_usec
    expect({*got[at].position_variance, *got[at].orientation_variance, *got[at].velocity_variance} == {1e6}, "variances of a failure")
    expect(silent > 300000, f"{silent} us of silence")
    expect(len({s.reset_counter for s in got[1:at + 1]}) == 1 and got[at + 1].reset_counter == (got[at].reset_counter + 1) % 256, "reset_counter")
    print(f"{len(got)} VehicleOdometry, field by field those of {len(pairs)} ODOMETRY; a failure, then nothing for {silent / 1e6:.2f} s")


def stamps(reader, companion, replay, folder):
    """On the machine's clock: CLOCK_REALTIME, at the rate of the camera."""
    run(replay, "--state-only", "--set", "vio=1", "--quiet", "--frames", "60", "--record", str(folder / "short.vfr"), "synthetic:160x120")
    ahead = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    reader.follow(companion, "--state-only", "--source", str(folder / "short.vfr"), "--link", f"file:{folder}/sent")
    moved = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC) - ahead
    pairs = compare([s for _, s in reader.got], sent_to(folder / "sent"))
    if not pairs:
        return
    off = sorted(abs(s.timestamp_sample - m.time_usec - ahead // 1000) for m, s in pairs)
    expect(off[len(off) // 2] < 100 + abs(moved) // 1000, f"stamps off by {off[len(off) // 2]} us")
    expect(all(s.timestamp_sample < s.timestamp <= came for came, s in reader.got), "stamps of another time")
    way = sorted(came - s.timestamp for came, s in reader.got)
    span = (pairs[-1][1].timestamp_sample - pairs[0][1].timestamp_sample) * 1e-6
    print(f"stamps within {off[len(off) // 2]} us of CLOCK_REALTIME, at most {off[-1]}; {(len(pairs) - 1) / span:.1f} a second; {way[len(way) // 2]} us to the reader")
    expect(10 < (len(pairs) - 1) / span < 51, "rate")


def nobody(companion, folder):
    """Without a reader nothing is sent."""
    said = run(companion, "--link", f"dds:{DOMAIN}", "--source", str(folder / "short.vfr"), "--frames", "20").stdout
    expect("the DDS topic gets nothing: nobody reads it" in said and re.search(rf"dds:{DOMAIN}: 0 messages", said), f"without a reader: {said}")


def main():
    companion, replay = (os.path.abspath(word) for word in sys.argv[1:3])
    probe = subprocess.run([companion, "--link", f"dds:{DOMAIN}", "--source", "/nothing"], capture_output=True, text=True, timeout=60)
    if "no Cyclone DDS" in probe.stderr:
        expect(probe.returncode == 3, f"without Cyclone DDS: exit {probe.returncode}")
        print("dds: SKIPPED, not installed when the companion was built: cyclonedds-dev")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder, reader = pathlib.Path(name), Reader()
        flight(reader, companion, replay, folder)
        stamps(reader, companion, replay, folder)
        del reader
        nobody(companion, folder)
    print("FAILED" if FAULTS else "read")
    sys.exit(1 if FAULTS else 0)


if __name__ == "__main__":
    main()
