#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MCAP files and bags of ROS as replay reads them: the same pictures and samples as a folder give the same digests, and what is wrong is named.

    tests/examples/bags.py REPLAY    exit 77: no package mcap or rosbags

Messages are made by rosbags, by its own definitions of ROS 2, and written by the packages mcap (every compression, no chunks) and rosbags (a bag of
ROS 1, of SQLite, of MCAP), which also converts them as examples/replay/README.md says."""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import mcap.reader
    import mcap.writer
    import rosbags.rosbag1
    import rosbags.rosbag2
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
except ImportError as lacking:
    print(f"skipped: {(lacking.name or '').split('.')[0]} is not installed")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from package import python as drawn  # noqa: E402  the sequence of the Python package's test

STORE = get_typestore(Stores.ROS2_HUMBLE)
OLD = get_typestore(Stores.ROS1_NOETIC)
OLD.register(get_types_from_msg("geometry_msgs/TransformStamped[] transforms", "tf2_msgs/msg/TFMessage"))
TYPES = STORE.types
FRAMES = {"imu": "imu_link", 0: "left_optical", 1: "right_optical"}
IMAGE, COMPRESSED, INFO, IMU, TF = (f"{p}/msg/{n}" for p, n in (("sensor_msgs", "Image"), ("sensor_msgs", "CompressedImage"), ("sensor_msgs", "CameraInfo"),
                                                               ("sensor_msgs", "Imu"), ("tf2_msgs", "TFMessage")))
LIGHT = ["--quiet", "--port", "host", "--set", "select_points=300", "--set", "ego_hypotheses=64", "--set", "ego_metric_hypotheses=64"]
failures = cases = 0


def check(what, good, more=""):
    global failures, cases
    cases += 1
    if not good:
        failures += 1
        print(f"bags: {what}: {more}")


def make(name, store=STORE, **fields):
    return store.types[name](**fields)


def header(t_ns, frame, store=STORE):
    time = store.types["builtin_interfaces/msg/Time"](sec=int(t_ns // 10**9), nanosec=int(t_ns % 10**9))
    return make("std_msgs/msg/Header", store, stamp=time, frame_id=frame, **({"seq": 0} if store is OLD else {}))


def image(t_ns, camera, picture, encoding="mono8", gap=0, is_big=0, store=STORE):
    rows = np.ascontiguousarray(picture).view(np.uint8).reshape(len(picture), -1)
    rows = np.hstack([rows, np.full((len(rows), gap), 77, np.uint8)])
    return make(IMAGE, store, header=header(t_ns, FRAMES[camera], store), height=len(rows), width=picture.shape[1], encoding=encoding,
                is_bigendian=is_big, step=rows.shape[1], data=rows.ravel())


def info(camera, store=STORE, **others):
    f, upper = drawn.FOCAL, store is OLD
    fields = dict(header=header(10**9, FRAMES[camera], store), height=drawn.HEIGHT, width=drawn.WIDTH, distortion_model="plumb_bob", binning_x=0, binning_y=0,
                  roi=make("sensor_msgs/msg/RegionOfInterest", store, x_offset=0, y_offset=0, height=0, width=0, do_rectify=False))
    matrices = dict(d=np.zeros(5), k=np.array([f, 0, 95.5, 0, f, 71.5, 0, 0, 1]), r=np.eye(3).ravel(),
                    p=np.array([f, 0, 95.5, -f * drawn.BASELINE * camera, 0, f, 71.5, 0, 0, 0, 1, 0]))
    return make(INFO, store, **{**fields, **{k.upper() if upper else k: v for k, v in matrices.items()}, **others})


def sample(t_ns, rates, forces, store=STORE):
    vector = store.types["geometry_msgs/msg/Vector3"]
    return make(IMU, store, header=header(t_ns, FRAMES["imu"], store), orientation=store.types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0),
                orientation_covariance=np.zeros(9), angular_velocity=vector(*map(float, rates)), angular_velocity_covariance=np.zeros(9),
                linear_acceleration=vector(*map(float, forces)), linear_acceleration_covariance=np.zeros(9))


def transforms(store=STORE):
    """base to IMU, and IMU to camera 0: AXES is a cyclic exchange of axes, whose quaternion is exact. Camera 1 goes by R and P."""
    g = {n: store.types[f"geometry_msgs/msg/{n}"] for n in ("Transform", "TransformStamped", "Vector3", "Quaternion")}
    inverse = g["Quaternion"](x=-0.5, y=0.5, z=-0.5, w=0.5)
    chain = (("base", FRAMES["imu"], g["Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0)), (FRAMES["imu"], FRAMES[0], inverse))
    return make(TF, store, transforms=[g["TransformStamped"](header=header(0, parent, store), child_frame_id=child,
                                                             transform=g["Transform"](translation=g["Vector3"](x=0.0, y=0.0, z=0.0), rotation=q))
                                       for parent, child, q in chain])


def flight(of=image, store=STORE, kind=IMAGE, topic="/{}/image_raw"):
    """(topic, type, log time, message) of the drawn sequence."""
    yield "/tf_static", TF, 1, transforms(store)
    for camera, name in enumerate(("left", "right")):
        yield f"/{name}/camera_info", INFO, 2, info(camera, store)
    for t_ns, rates, forces in zip(*drawn.samples()):
        yield "/imu", IMU, int(t_ns), sample(int(t_ns), rates, forces, store)
    for t_ns, pair in drawn.pictures():
        for camera, name in enumerate(("left", "right")):
            yield topic.format(name), kind, t_ns, of(t_ns, camera, pair[camera], store=store)


def write(path, messages, compression="none", is_chunked=True, encoding="cdr"):
    kinds = {"none": mcap.writer.CompressionType.NONE, "lz4": mcap.writer.CompressionType.LZ4, "zstd": mcap.writer.CompressionType.ZSTD}
    with open(path, "wb") as file:
        writer = mcap.writer.Writer(file, compression=kinds[compression], use_chunking=is_chunked, chunk_size=200000)
        writer.start()
        channels = {}
        for topic, kind, t_ns, message in messages:
            if topic not in channels:
                text = STORE.generate_msgdef(kind, ros_version=2)[0] if kind in TYPES else ""
                channels[topic] = writer.register_channel(topic, encoding, writer.register_schema(kind, "ros2msg", text.encode()))
            data = message if isinstance(message, bytes) else bytes(STORE.serialize_cdr(message, kind))
            writer.add_message(channels[topic], log_time=t_ns, publish_time=t_ns, data=data)
        writer.finish()
    return path


def bag(writer, store, old=False):
    with writer:
        known = {}
        for topic, kind, t_ns, message in flight(store=store):
            if topic not in known:
                known[topic] = writer.add_connection(topic, kind, typestore=store)
            writer.write(known[topic], t_ns, store.serialize_ros1(message, kind) if old else store.serialize_cdr(message, kind))


def run(replay, *words):
    done = subprocess.run([replay, *LIGHT, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def digest(text):
    return next((line for line in text.splitlines() if line.startswith("digest")), "no digest")


def same(what, replay, folder, path, wanted):
    code, out, said = run(replay, "--calibration", folder / "sequence/imu.yaml", path)
    check(what, code == 0 and digest(out) == wanted and "used, that of an IMU" in out, out[:300] + said)


def check_readers(replay, folder, wanted):
    for compression in ("none", "lz4", "zstd"):
        same(compression, replay, folder, write(folder / f"{compression}.mcap", flight(), compression), wanted)
    same("without chunks", replay, folder, write(folder / "bare.mcap", flight(), is_chunked=False), wanted)
    late = sorted(flight(), key=lambda m: m[1] != IMAGE)
    same("pictures before all else", replay, folder, write(folder / "late.mcap", late), wanted)

    def gap(t_ns, camera, picture, store):
        return image(t_ns, camera, picture, gap=5, store=store)

    def colour(t_ns, camera, picture, store):
        return image(t_ns, camera, np.dstack([picture] * 3), "bgr8", store=store)

    def yuv(t_ns, camera, picture, store):
        return image(t_ns, camera, np.dstack([picture, 255 - picture]), "yuv422_yuy2", store=store)

    for name, of in (("rows with a gap", gap), ("bgr8", colour), ("yuv422_yuy2", yuv)):
        same(name, replay, folder, write(folder / "form.mcap", flight(of)), wanted)

    def zero(t_ns, camera, picture, store):
        return image(0, camera, picture, store=store)

    same("stamps of 0: the time of the log", replay, folder, write(folder / "zero.mcap", flight(zero)), wanted)
    mount = list(flight())[0][3]
    wrong = make(TF, transforms=[STORE.types["geometry_msgs/msg/TransformStamped"](header=header(0, t.header.frame_id), child_frame_id=f"other{i}",
                                                                                   transform=t.transform) for i, t in enumerate(mount.transforms)])
    repeated = [("/tf_static", TF, i, m) for i in range(1, 60) for m in (wrong, mount)]
    same("repeats of /tf_static", replay, folder, write(folder / "repeats.mcap", [*repeated, *flight()]), wanted)
    moved = transforms()
    moved.transforms[1].transform.rotation.w = -0.5
    same("a later transform counts", replay, folder, write(folder / "later.mcap", [("/tf_static", TF, 1, moved), *flight()]), wanted)
    for compression in ("none", "lz4", "zstd"):
        data = (folder / f"{compression}.mcap").read_bytes()
        end = 8 + 9 + int.from_bytes(data[9:17], "little")  # of the header record
        name = compression.encode() if compression != "none" else b""
        empty = bytes(28) + len(name).to_bytes(4, "little") + name + bytes(8)
        (folder / "empty.mcap").write_bytes(data[:end] + b"\6" + len(empty).to_bytes(8, "little") + empty + data[end:])
        same(f"a chunk without messages, {compression}", replay, folder, folder / "empty.mcap", wanted)
    same("named topics", replay, folder, f"{folder / 'none.mcap'}@/left/image_raw,/right/image_raw,/imu", wanted)
    code, out, _ = run(replay, f"{folder / 'none.mcap'}@/right/image_raw")
    check("one named topic", code == 0 and "camera 0     192x144 px, calibrated" in out and "camera 1" not in out and "gyro         none" in out, out[:500])


def check_pictures(replay, folder, wanted):
    """CompressedImage beside the same files in a folder."""
    try:
        import cv2
    except ImportError:
        print("bags: compressed pictures are left out: cv2 is not installed")
        return
    for ending, encoding in (("png", "png"), ("jpg", "jpeg")):
        (folder / ending / "left").mkdir(parents=True)
        (folder / ending / "right").mkdir()

        def packed(t_ns, camera, picture, store, ending=ending, encoding=encoding):
            data = cv2.imencode("." + ending, picture)[1].ravel()
            (folder / ending / ("left", "right")[camera] / f"{t_ns}.{ending}").write_bytes(data.tobytes())
            return make(COMPRESSED, header=header(t_ns, FRAMES[camera]), format=f"mono8; {encoding} compressed", data=data)

        path = write(folder / f"{ending}.mcap", flight(packed, kind=COMPRESSED, topic="/{}/image_raw/compressed"), "zstd")
        if ending == "png":
            same("compressed png", replay, folder, path, wanted)
        first = run(replay, "--calibration=none", "--frames", 6, "--features-only", path)
        other = run(replay, "--calibration=none", "--frames", 6, "--features-only", folder / ending)
        counts = [[line for line in out.splitlines() if line.startswith("key points")] for _, out, _ in (first, other)]
        if ending == "jpg" and "no libjpeg" in first[2]:
            continue
        check(f"compressed {encoding} as files", first[0] == other[0] == 0 and counts[0] == counts[1] != [], (counts, first[2], other[2]))


def convert(source, target):
    return subprocess.run([sys.executable, "-c", "from rosbags.convert.cli import main; main()", "--src", str(source), "--dst", str(target), "--dst-storage", "mcap"],
                          capture_output=True, text=True)


def check_bags(replay, folder, wanted):
    bag(rosbags.rosbag1.Writer(folder / "old.bag"), OLD, old=True)
    bag(rosbags.rosbag2.Writer(folder / "sqlite", version=9, storage_plugin=rosbags.rosbag2.StoragePlugin.SQLITE3), STORE)
    bag(rosbags.rosbag2.Writer(folder / "mcap", version=9, storage_plugin=rosbags.rosbag2.StoragePlugin.MCAP), STORE)
    same("a bag of ROS 2 in MCAP", replay, folder, folder / "mcap", wanted)
    for name, kind in (("old.bag", "a bag of ROS 1"), ("sqlite", "a bag of ROS 2 in SQLite")):
        code, _, said = run(replay, folder / name)
        check(f"{name} is named", code == 1 and kind in said and f"rosbags-convert --src {folder / name} --dst NEW --dst-storage mcap" in said, said)
        done = convert(folder / name, folder / f"{name}-new")
        check(f"{name} is converted", done.returncode == 0, done.stdout + done.stderr)
        same(f"{name}, converted", replay, folder, folder / f"{name}-new", wanted)
    (folder / "mcap/more.mcap").write_bytes((folder / "none.mcap").read_bytes())
    for topics in ("", "@/left/image_raw"):
        code, _, said = run(replay, f"{folder / 'mcap'}{topics}")
        check(f"two files in a folder{topics}", code == 1 and f"{folder / 'mcap'}: 2 .mcap files: give one of them" in said, (code, said))


def check_lenses(replay, folder):
    """Every lens in replay's own MCAP, which is read as the calibration that it was written with."""
    f, size = drawn.FOCAL, f"[{drawn.WIDTH}, {drawn.HEIGHT}]"
    lenses = {"ds": ("double_sphere", [-0.2, 0.55], []), "eucm": ("eucm", [0.6, 1.1], []), "omni": ("omni", [0.9], [-0.01, 0.002, 1e-4, -2e-4]),
              "pinhole": ("equidistant", [], [0.01, -0.002, 1e-4, -2e-4])}
    for camera_model, (name, before, coefficients) in lenses.items():
        distortion = {"pinhole": "equidistant", "omni": "radtan"}.get(camera_model, "none")
        scale = 1 + before[0] if camera_model in ("ds", "omni") else 1
        one = (f"  camera_model: {camera_model}\n  intrinsics: {[*before, f * scale, f * scale, 95.5, 71.5]}\n  distortion_model: {distortion}\n"
               f"  distortion_coeffs: {coefficients}\n  resolution: {size}\n")
        step = f"  T_cn_cnm1: [[1, 0, 0, {-drawn.BASELINE}], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]\n"
        (folder / "chain.yaml").write_text(f"cam0:\n{one}cam1:\n{one}{step}")
        code, out, said = run(replay, "--out", folder / "own", "--export", "mcap", "--calibration", folder / "chain.yaml", folder / "sequence")
        check(f"{name} is written", code == 0, said)
        models = {STORE.deserialize_cdr(m.data, INFO).distortion_model for s, _, m in
                  mcap.reader.make_reader((folder / "own/replay.mcap").open("rb")).iter_messages() if s.name == INFO}
        check(f"{name} by its name", models == {name}, models)
        code, read, said = run(replay, folder / "own/replay.mcap")
        check(f"{name} is read again", code == 0 and digest(read) == digest(out), (code, out, read, said))


def check_damage(replay, folder):
    whole = (folder / "none.mcap").read_bytes()
    file = folder / "damaged.mcap"

    def expect(what, data, code, words, *others):
        file.write_bytes(data)
        found, out, said = run(replay, *others, file)
        check(what, found == code and words in out + said, (found, said or out[:400]))

    def rewritten(messages, **others):
        return write(file, messages, **others).read_bytes()

    expect("cut", whole[:len(whole) * 6 // 10], 0, "ends within the record at byte")
    expect("cut after its head", whole[:30], 1, "no pictures of sensor_msgs/msg/Image")
    expect("magic alone", whole[:8], 1, "no pictures")
    for name in ("none", "zstd", "lz4"):
        data = bytearray((folder / f"{name}.mcap").read_bytes())
        data[len(data) // 2] ^= 1
        expect(f"a bit of {name}", bytes(data), 1, "chunk at byte")
    data = bytearray(whole)
    data[len(data) // 2] ^= 1
    expect("CRC", bytes(data), 1, "damaged, its CRC is another one")
    fields = list(flight())
    expect("no pictures", rewritten([m for m in fields if m[1] != IMAGE]), 1, "its topics: /tf_static (tf2_msgs/msg/TFMessage), /left/camera_info")
    expect("a schema that is not known", rewritten([("/camera", "my_msgs/msg/Picture", 5, b"\0\1\0\0abc")]), 1, "/camera (my_msgs/msg/Picture)")
    expect("ROS 1 in MCAP", rewritten(fields, encoding="ros1"), 1, "messages of ROS 1")
    expect("a message that is not whole", rewritten(fields[:5] + [(*fields[-1][:3], bytes(STORE.serialize_cdr(fields[-1][3], IMAGE))[:14])]), 1,
           "a message of /right/image_raw is not whole")
    expect("big-endian CDR", rewritten([(*fields[-1][:3], bytes(STORE.serialize_cdr(fields[-1][3], IMAGE, little_endian=False)))]), 1, "is not little-endian CDR")
    expect("an encoding", rewritten([("/a", IMAGE, 5, image(5, 0, np.zeros((40, 40), np.uint8), "bayer_rggb8"))]), 1, "encoding bayer_rggb8; known are mono8")
    short = image(5, 0, np.zeros((40, 40), np.uint8))
    short.step = 30
    expect("rows too short", rewritten([("/a", IMAGE, 5, short)]), 1, "1600 bytes for 40x40 pixels in rows of 30")
    expect("damaged png", rewritten([("/a", COMPRESSED, 5, make(COMPRESSED, header=header(5, "a"), format="png", data=np.frombuffer(b"\x89PNG\r\n\x1a\nxx", np.uint8)))]),
           1, "truncated or damaged PNG")
    expect("camera_info of another size", rewritten([("/left/camera_info", INFO, 1, info(0, width=640))] + [m for m in fields if m[1] == IMAGE]), 1,
           "/left/camera_info has 640x144, but the pictures are 192x144")
    expect("a lens that is not known", rewritten([("/left/camera_info", INFO, 1, info(0, distortion_model="fov"))] + [m for m in fields if m[1] == IMAGE]), 1,
           "distortion_model fov")
    expect("uncalibrated", rewritten([m for m in fields if m[1] == IMAGE]), 0, "no camera_info beside /left/image_raw")
    expect("depth is no camera", rewritten([("/a/depth", *m[1:]) if "left" in m[0] else m for m in fields if m[1] == IMAGE]), 0, "pictures of /right/image_raw;")
    expect("without a time in common", rewritten([(m[0], m[1], m[2], image(m[2] + 10**7 * ("left" in m[0]), 0, np.zeros((40, 40), np.uint8)))
                                                  for m in fields if m[1] == IMAGE]), 1, "have no time in common")
    (file).write_bytes(whole)
    code, _, said = run(replay, f"{file}@/left/image_raw,/middle")
    check("a topic that is not there", code == 1 and "no pictures or IMU samples of /middle; its topics: /tf_static" in said, said)
    write(file, fields, encoding="ros1")
    for topic in ("/left/image_raw", "/imu"):
        code, _, said = run(replay, f"{file}@{topic}")
        check(f"{topic} of another encoding", code == 1 and f"no pictures or IMU samples of {topic}; its topics: /tf_static" in said, (code, said))
    rng = np.random.default_rng(5)
    crashed = 0
    for _ in range(60):  # bytes from anywhere, where there are no CRCs
        data = bytearray((folder / "bare.mcap").read_bytes()[:300000])
        for at in rng.integers(8, 4000, 12):
            data[at] = rng.integers(0, 256)
        file.write_bytes(bytes(data))
        crashed += run(replay, "--frames", 1, file)[0] not in (0, 1)
    check("bytes from anywhere", crashed == 0, crashed)


def main(replay):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        drawn.write_sequence(folder / "sequence")
        code, out, said = run(replay, folder / "sequence")
        check("the folder", code == 0 and "used, that of an IMU" in out and f"{drawn.FRAMES} frames" in out, out[:300] + said)
        wanted = digest(out)
        check_readers(replay, folder, wanted)
        check_pictures(replay, folder, wanted)
        check_bags(replay, folder, wanted)
        check_lenses(replay, folder)
        check_damage(replay, folder)
    print(f"bags: {cases} cases, {failures} wrong")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
