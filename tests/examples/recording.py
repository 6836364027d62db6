#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recordings of replay: the same results again, the first frame and stage named where they are others, and what is exported.

    tests/examples/recording.py build/replay [COMPANION | --mcap DENSE_REPLAY]

COMPANION: that program's recording is replayed, too. Reads .vfr by a reader of its own (CRCs by zlib), changes recordings and sees what replay says of them. --mcap: the exported file beside the
recording and replay's tables, read by the package `mcap`; DENSE_REPLAY is a build with stixels. Exit: 0 done, 1 failed, 77 no package `mcap`.
"""
import csv
import inspect
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

MAGIC = b"VFR1\r\n\x1a\n"
HEADER, FRAME, RESULT, FAULT, EVENT, IMU, MAVLINK, LOST, END = range(1, 10)
SIZE = "synthetic:320x208"
LIGHT = ["--set", "select_points=300", "--set", "ego_hypotheses=64"]
FAULTS = "3 both drop\n5 clock back 0.5\n6-7 camera1 black\n8 both duplicate\n"
failures = 0


def check(what, good, more=""):
    global failures
    if not good:
        failures += 1
        print(f"recording: {what} {more}")


def run(replay, *words):
    done = subprocess.run([replay, "--quiet", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def line(text, name):
    found = re.search(rf"^{name} +(.*)$", text, re.M)
    return found.group(1) if found else ""


def chunks(data):
    """[type, number, time, payload] of every chunk, as examples/recording/chunk.h has them."""
    assert data[:8] == MAGIC
    at, found = 8, []
    while at < len(data):
        mark, kind, zero, size, number, t_ns, crc, own = struct.unpack_from("<4sHHIIQII", data, at)
        assert mark == b"VFRC" and zero == 0 and own == zlib.crc32(data[at:at + 28]), f"head at {at}"
        payload = data[at + 32:at + 32 + size]
        assert len(payload) == size and zlib.crc32(payload) == crc and number == len(found), f"chunk at {at}"
        found.append([kind, number, t_ns, bytearray(payload)])
        at += 32 + size
    return found


def join(list_of_chunks):
    data = bytearray(MAGIC)
    for i, (kind, _, t_ns, payload) in enumerate(list_of_chunks):
        head = struct.pack("<4sHHIIQI", b"VFRC", kind, 0, len(payload), i, t_ns, zlib.crc32(payload))
        data += head + struct.pack("<I", zlib.crc32(head)) + payload
    return bytes(data)


def pictures(payload, cameras=2):
    """Pixels of each camera of a CHUNK_FRAME in 8-bit grey."""
    _, _, flags, count, gyro, imu, _ = struct.unpack_from("<QIBBIII", payload)
    assert count == cameras
    heads = [struct.unpack_from("<iiIQB", payload, 26 + 21 * i) for i in range(count)]
    at = 26 + 21 * count + (72 if flags & 8 else 0) + 32 * gyro + 56 * imu
    found = []
    for width, height, form, _, mask in heads:
        if form == 6:
            found.append(None)
            continue
        assert form == 0 and not mask
        found.append((width, height, bytes(payload[at:at + width * height])))
        at += width * height
    assert at == len(payload)
    return found


def record_and_replay(replay, folder):
    script, file = folder / "faults.txt", folder / "a.vfr"
    script.write_text(FAULTS)
    code, first, said = run(replay, "--frames", "14", "--set", "vio=1", *LIGHT, "--fault", script, "--record", file, SIZE)
    check("record", code == 0, said)
    parts = chunks(file.read_bytes())
    kinds = [c[0] for c in parts]
    check("a chunk for each frame, for each result", kinds.count(FRAME) == 14 and kinds.count(RESULT) == 14 and kinds[-1] == END,
          kinds)
    check("faults are in it", [bytes(c[3]) for c in parts if c[0] == FAULT][:2] == [b"both drop", b"clock back"], kinds)
    status = [struct.unpack_from("<i", c[3])[0] for c in parts if c[0] == RESULT]
    check("refused frames are in it", status.count(-11) == 2, status)
    for _ in range(2):
        code, again, said = run(replay, file)
        check("replay again", code == 0 and "14 of 14 results as recorded" in again, again + said)
        check("one digest", line(again, "digest") == line(first, "digest") != "", again)
    code, again, said = run(replay, "--record", folder / "b.vfr", file)
    one, other = parts, chunks((folder / "b.vfr").read_bytes())
    check("a recording of a recording", [c[3] for c in one if c[0] == FRAME] == [c[3] for c in other if c[0] == FRAME])
    code, again, _ = run(replay, "--set", "ego_error_mpx=999", file)
    check("another run", code == 0 and "results are not compared: ego_error_mpx" in again, again)
    code, again, said = run(replay, "--set", "deadline_us=1", file)
    check("a value that changes no bit", code == 0 and "14 of 14" in again, again + said)
    code, first, _ = run(replay, "--frames", "4", "--pairs", "--record", folder / "p.vfr", SIZE)
    code, again, said = run(replay, folder / "p.vfr")
    check("resets are in it", code == 0 and "4 of 4 results" in again, again + said)
    code, again, said = run(replay, "tests/examples/recording-0.7.vfr")
    # 0.8 has other bits: the state of the pair goes by the scatter of the matches
    check("a recording of 0.7", code == 1 and "3 frames" in again and "first other one in frame 0, stereo" in again, again + said)
    code, _, said = run(replay, "--set", "window=1")
    check("an old name", code == 2 and "window is now vio" in said, said)
    code, _, said = run(replay, "--set", "ego_seed=1")
    check("a removed name", code == 2 and "ego_seed: removed in 0.8.0" in said, said)
    return parts


def change(replay, folder, parts):
    stages = re.findall(r"X\((\w+)\)", re.search(r"define VFRONT_STAGE_LIST\(X\)(.*?)\n\n", pathlib.Path("vfront.h").read_text(), re.S).group(1))
    results = [i for i, c in enumerate(parts) if c[0] == RESULT]
    frames = [i for i, c in enumerate(parts) if c[0] == FRAME]
    file = folder / "changed.vfr"

    def said_of(changes, want):
        changed = [[*c[:3], bytearray(c[3])] for c in parts]
        changes(changed)
        file.write_bytes(join(changed))
        code, _, said = run(replay, file)
        check(f"exit 1 and '{want}'", code == 1 and want in said, said)

    def digest(name):
        def at(c):
            c[results[2]][3][36 + 8 * stages.index(name)] ^= 1
        return at

    for name in ["ingest", "track", "describe", "match", "vio", "ego", "report"]:
        said_of(digest(name), f"frame 2: differs from the recording, first in the stage {name}")

    def pixels(c):
        payload = c[frames[3]][3]
        payload[-320 * 208:] = bytes(b ^ 3 for b in payload[-320 * 208:])
    said_of(pixels, "frame 3: differs from the recording, first in the stage ingest")

    def seed(c):
        at = c[0][3].index(b"\x0dego_error_mpx") + 14
        c[0][3][at:at + 4] = struct.pack("<i", 99)
    said_of(seed, "frame 1: differs from the recording, first in the stage ego")

    def late(c):
        struct.pack_into("<Q", c[frames[2]][3], 0, 0)
    said_of(late, "frame 2: VFRONT_E_TIME, in the recording VFRONT_OK")

    def name(c):
        at = c[0][3].index(b"\x0dego_error_mpx") + 1
        c[0][3][at:at + 4] = b"EGO_"
    said_of(name, "tuning value EGO_error_mpx: this build has none of that name")

    def size(c):
        struct.pack_into("<i", c[frames[4]][3], 26, 321)
    said_of(size, "frame 4: camera 0: a picture of 321x208 px, the rig has 320x208")

    whole = join(parts)
    file.write_bytes(whole[:len(whole) // 2])
    code, again, said = run(replay, file)
    check("half of it", code == 0 and "ends within the chunk at byte" in said and re.search(r"(\d+) of \1 results", again), said + again)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 16
    file.write_bytes(damaged)
    code, _, said = run(replay, file)
    check("damage", code == 1 and re.search(r"the frame at byte \d+ is damaged", said), said)
    lost = [c for i, c in enumerate(parts) if i not in (frames[5], results[5])]
    lost.insert(frames[5], [LOST, 0, 0, struct.pack("<II", 1, 1)])
    file.write_bytes(join(lost))
    code, again, said = run(replay, file)
    check("frames lost", code == 0 and "5 of 5 results as recorded; 8 frames are not compared" in again, again + said)


def fly(companion, replay, folder):
    """What the companion records is the run that it flew, with all that its IMU and its link had to say."""
    file, bytes_out, out = folder / "flight.vfr", folder / "flight.mav", folder / "flight"
    done = subprocess.run([companion, "--source", "synthetic:160x120", "--fast", "--frames", "30", "--set", "select_points=300", "--link",
                           f"file:{bytes_out}", "--record", file], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    check("the companion records", done.returncode == 0, done.stderr)
    code, again, said = run(replay, file)
    check("and its flight is replayed", code == 0 and "by companion" in again and "30 of 30 results as recorded" in again, again + said)
    check("with a state", float(re.search(r"state +good ([\d.]+) %", again).group(1)) > 30, again)
    run(replay, "--tables", "all", "--out", out, "--export", "csv", file)
    sent = [row for row in table(out / "recording" / "mavlink.csv")]
    check("every byte of its link", all(row["direction"] == "sent" and row["link"] == "0" for row in sent) and
          bytes.fromhex("".join(row["bytes"] for row in sent)) == bytes_out.read_bytes() and len(sent) >= 20, sent[:3])
    samples = table(out / "recording" / "samples.csv")
    as_they_came = [row["t_ns"] for row in samples if row["source"] == "imu"]
    in_frames = {row["t_ns"] for row in samples if row["source"] != "imu"}
    check("every sample once", len(set(as_they_came)) == len(as_they_came) > 150 and in_frames <= set(as_they_came), len(as_they_came))
    check("what it said", any("GOOD" in row["text"] or "good" in row["text"] for row in table(out / "recording" / "events.csv")))


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def sample_places(payload):
    """Where the IMU samples of a CHUNK_FRAME begin."""
    _, _, flags, count, gyro, imu, _ = struct.unpack_from("<QIBBIII", payload)
    first = 26 + 21 * count + (72 if flags & 8 else 0) + 32 * gyro
    return [first + 56 * i for i in range(imu)]


def read_again(replay, folder):
    """The exported file, as a data set, is the flight that it was made of."""
    out = folder / "again"
    code, first, said = run(replay, "--frames", "24", "--set", "vio=1", *LIGHT, "--out", out, "--export", "mcap", SIZE)
    check("export of a flight", code == 0, said)
    noise = folder / "imu.yaml"
    noise.write_text("accelerometer_noise_density: 2e-3\naccelerometer_random_walk: 3e-3\ngyroscope_noise_density: 1.7e-4\n"
                     "gyroscope_random_walk: 2e-5\nupdate_rate: 200\n")
    code, again, said = run(replay, *LIGHT, f"--calibration={noise}", out / "replay.mcap")
    check("the exported file is read", code == 0 and "24 frames" in again and "used, that of an IMU" in again and line(again, "baseline") == line(first, "baseline"), again + said)
    for name in ("tracks", "key points"):
        check(f"the same {name}", line(again, name) == line(first, name) != "", (line(first, name), line(again, name)))
    check("a state", float(re.search(r"state +good ([\d.]+) %", again).group(1)) > 50, again)


def ros2_types():
    """Definitions of ROS 2 that are not ours: those of rosbags, where it is installed."""
    try:
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        print("recording: messages are read by their own definitions alone: rosbags is not installed")
        return None
    return get_typestore(Stores.ROS2_HUMBLE)


def decode(schema, message, decoders, store):
    """A message: JSON, or one of ROS 2 by the fields that the file has of it; and by those of rosbags, where it knows them."""
    if schema.encoding == "jsonschema":
        json.loads(schema.data)
        return json.loads(message.data, parse_constant=lambda word: check("finite numbers", False, word))
    if schema.id not in decoders:
        decoders[schema.id] = decoders["factory"].decoder_for("cdr", schema)
    made = decoders[schema.id](message.data)
    if store and schema.name in store.types:
        other = store.deserialize_cdr(message.data, schema.name)
        check(f"{schema.name} is ROS 2's", bytes(store.serialize_cdr(other, schema.name)) == message.data)
        for name in other.__dataclass_fields__:
            check(f"fields of {schema.name}", hasattr(made, name) or name.startswith("__"), name)
    return made


def read_mcap(path, topics=None):
    """(log time, message) of each topic; the summary; times of /health from 1.4 s on."""
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory
    decoders, store, messages = {"factory": DecoderFactory()}, ros2_types(), {}
    with open(path, "rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        for schema, channel, message in reader.iter_messages(topics=topics):
            messages.setdefault(channel.topic, []).append((message.log_time, decode(schema, message, decoders, store)))
        later = {"starting_at" if "starting_at" in inspect.signature(reader.iter_messages).parameters else "start_time": 1400000000}
        half = [m.log_time for _, _, m in reader.iter_messages(topics=["/health"], **later)]
    return messages, summary, half


def grey_of(message):
    """Width, height and pixels of a CompressedImage, or of an Image in a build without libpng."""
    if hasattr(message, "encoding"):
        return message.width, message.height, bytes(message.data)
    import cv2
    import numpy
    pixels = cv2.imdecode(numpy.frombuffer(message.data, numpy.uint8), cv2.IMREAD_UNCHANGED)
    return pixels.shape[1], pixels.shape[0], pixels.tobytes()


def nanoseconds(header):
    return header.stamp.sec * 10**9 + header.stamp.nanosec


def export(replay, dense, folder):
    import numpy
    file, out = folder / "m.vfr", folder / "out"
    script = folder / "faults.txt"
    script.write_text("9 camera1 stop\n")
    run(replay, "--frames", "24", "--set", "vio=1", *LIGHT, "--fault", script, "--record", file, SIZE)
    code, _, said = run(replay, "--tables", "all", "--out", out, "--export", "mcap", "--export", "csv", file)
    check("export", code == 0, said)
    messages, summary, half = read_mcap(out / "replay.mcap")
    check("summary", summary.statistics.message_count == sum(map(len, messages.values())), summary.statistics)
    health = table(out / "health.csv")
    check("seek", half == [int(h["t_ns"]) for h in health if int(h["t_ns"]) >= 1400000000], half)
    check("a picture for each frame", len(messages["/camera0/image"]) == 24 and len(messages["/camera1/image"]) == 23)
    frames = [c for c in chunks(file.read_bytes()) if c[0] == FRAME]
    for camera in range(2):
        given = [(c[2], *pictures(c[3])[camera]) for c in frames if pictures(c[3])[camera]]
        sent = [(t, *grey_of(m)) for t, m in messages[f"/camera{camera}/image"]]
        check(f"pixels of camera {camera}", given == sent)
        check("stamps", all(nanoseconds(m.header) == t and m.header.frame_id == f"camera{camera}" for t, m in messages[f"/camera{camera}/image"]))
        info = messages[f"/camera{camera}/camera_info"][0][1]
        check("camera_info", (info.width, info.height, info.distortion_model, len(info.d), info.k[8]) == (320, 208, "plumb_bob", 5, 1.0) and info.k[0] > 100, info)
    bytes_a_frame = (out / "replay.mcap").stat().st_size / 24
    check("bytes a frame", bytes_a_frame < 1.5 * 2 * 320 * 208, bytes_a_frame)
    tracks = {}
    for row in table(out / "tracks.csv"):
        if row["state"] in ("new", "tracked"):
            tracks.setdefault(int(row["t_ns"]), []).append((float(row["x_px"]) + 0.5, float(row["y_px"]) + 0.5))
    for t, m in messages["/camera0/tracks"]:
        points = [(p.x, p.y) for p in m.points[0].points]
        want = tracks.get(t, [])
        check("tracks", len(points) == len(want) == len(m.points[0].outline_colors) and m.points[0].thickness == 4 and
              all(abs(a - b) < 1e-6 for p, q in zip(sorted(points), sorted(want)) for a, b in zip(p, q)), t)
    states = {int(r["t_ns"]): r for r in table(out / "state.csv") if r["px"]}
    check("states", len(messages["/state"]) == len(states) == len(messages["/odometry"]) > 10)
    for t, m in messages["/state"]:
        row = states[t]
        for name, columns in (("position_m", "px py pz"), ("velocity_mps", "vx vy vz"), ("q_wxyz", "qw qx qy qz"), ("gyro_bias_rad_s", "bgx bgy bgz")):
            check(name, all(abs(v - float(row[c])) < 1e-9 for v, c in zip(m[name], columns.split())), (m[name], row))
        check("sigma", abs(m["sigma"][0] - float(row["sigma_px"])) < 1e-9)
    for t, m in messages["/odometry"]:
        row, p, q, v = states[t], m.pose.pose.position, m.pose.pose.orientation, m.twist.twist.linear
        check("odometry", [p.x, p.y, p.z, q.x, q.y, q.z, q.w] == [float(row[c]) for c in "px py pz qx qy qz qw".split()], (t, row))
        R = numpy.array([[1 - 2 * (q.y**2 + q.z**2), 2 * (q.x * q.y - q.w * q.z), 2 * (q.x * q.z + q.w * q.y)],
                         [2 * (q.x * q.y + q.w * q.z), 1 - 2 * (q.x**2 + q.z**2), 2 * (q.y * q.z - q.w * q.x)],
                         [2 * (q.x * q.z - q.w * q.y), 2 * (q.y * q.z + q.w * q.x), 1 - 2 * (q.x**2 + q.y**2)]])
        check("velocity", numpy.allclose(R @ [v.x, v.y, v.z], [float(row[c]) for c in ("vx", "vy", "vz")], atol=1e-9), t)
        sigma = numpy.sqrt(numpy.diag(numpy.reshape(m.pose.covariance, (6, 6))))
        check("covariance", numpy.allclose(sigma, [float(row["sigma_" + c]) for c in ("px", "py", "pz", "rx_rad", "ry_rad", "rz_rad")], rtol=1e-9), t)
        twist = numpy.reshape(m.twist.covariance, (6, 6))
        check("covariance of the twist", numpy.allclose(twist, twist.T) and numpy.linalg.eigvalsh(twist).min() > 0 and m.child_frame_id == "imu", twist)
    for t, m in messages["/tf"]:
        moved = m.transforms[0]
        if moved.header.frame_id == "odom":
            check("tf", moved.child_frame_id == "imu" and abs(moved.transform.translation.x - float(states[t]["px"])) < 1e-9)
    static = messages["/tf_static"][0][1].transforms
    check("tf_static", [(m.header.frame_id, m.child_frame_id) for m in static] == [("imu", "camera0"), ("imu", "camera1"), ("camera0", "obstacles")], static)
    check("path", len(messages["/path"]) > 1 and len(messages["/path"][-1][1].poses) > 5)
    depths, times = {}, {row["frame"]: int(row["t_ns"]) for row in health}
    for row in table(out / "depth.csv"):
        depths.setdefault(times[row["frame"]], []).append(float(row["depth_m"]))
    check("clouds", len(messages["/points"]) == len(depths) > 20)
    for t, m in messages["/points"]:
        points = numpy.frombuffer(bytes(m.data), "<f4").reshape(-1, 4)
        check("points", [f.name for f in m.fields] == ["x", "y", "z", "sigma"] and len(points) == m.width and
              numpy.allclose(points[:, 2], depths[t], rtol=1e-6), (t, m.width, len(depths[t])))
    rates = [list(struct.unpack_from("<Q3d", c[3], at)) for c in frames for at in sample_places(c[3])]
    sent = [[nanoseconds(m.header), m.angular_velocity.x, m.angular_velocity.y, m.angular_velocity.z] for _, m in messages["/imu"]]
    check("samples", sorted(sent) == sorted(rates) and len(sent) > 100, (len(sent), len(rates)))
    digests = table(out / "recording" / "digests.csv")
    check("digests.csv", [d["report"] for d in digests] == [r.split()[2] for r in (out / "digest.txt").read_text().splitlines()])
    samples = [r for r in table(out / "recording" / "samples.csv") if r["source"] == "frame"]
    check("samples.csv", len(samples) == sum(struct.unpack_from("<QIBBIII", c[3])[5] for c in frames) > 100)
    check("events.csv", [r["text"] for r in table(out / "recording" / "events.csv")] == ["camera1 stop"])
    read_again(replay, folder)

    out = folder / "dense"
    code, _, said = run(dense, "--frames", "3", "--set", "dense=1", "--set", "stixel=1", "--set", "stixel_model=2", "--tables", "frames", "--out", out, "--export", "mcap", "synthetic:192x144")
    check("export of stixels", code == 0, said)
    scans = read_mcap(out / "replay.mcap", ["/obstacles"])[0]["/obstacles"]
    rows = {int(r["t_ns"]): r for r in table(out / "obstacles.csv")}
    seen = 0
    for t, m in scans:
        check("scan", abs(m.angle_max - m.angle_min - m.angle_increment * (len(m.ranges) - 1)) < 1e-5 and m.header.frame_id == "obstacles", m)
        for i, distance in enumerate(m.ranges):
            left = round((m.angle_min + i * m.angle_increment) / m.angle_increment) * 5 # degrees against the clock
            cm = int(rows[t][f"cm_{-left % 360}"])
            check("obstacle", distance != distance if cm == 65535 else abs(distance - cm * 0.01) < 1e-4, (t, left, cm, distance))
            seen += distance == distance
    check("obstacles are seen", len(scans) == 3 and seen > 3, seen)


def main():
    replay = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "--mcap" in sys.argv:
            try:
                import mcap.reader  # noqa: F401
                import mcap_ros2.decoder  # noqa: F401
                import cv2, numpy  # noqa: F401, E401
            except ImportError as lacking:
                print(f"recording: SKIPPED, no package {(lacking.name or '').split('.')[0]} (pip install mcap mcap-ros2-support)")
                sys.exit(77)
            export(replay, os.path.abspath(sys.argv[3]), folder)
        else:
            change(replay, folder, record_and_replay(replay, folder))
            if len(sys.argv) > 2:
                fly(os.path.abspath(sys.argv[2]), replay, folder)
    print(f"recording: {failures} failures" if failures else "recording: as recorded")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
