#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Cameras, pipelines and videos in replay, and its page.

    tests/examples/live.py build/replay

Exit: 0 good, 1 not, 77 a build without GStreamer, or no OpenCV.

Videos that OpenCV writes, as many frames as were written, the same tracks as of their pictures as a folder; names with quotes, colour, files that are none.
GStreamer's test pictures: one camera, two cameras with a calibration, Ctrl-C, a pipeline that fails. --view: the page and what it draws, while a run is on."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

try:
    import cv2
    import numpy as np
except ImportError as missing:
    print(f"live: SKIPPED, {missing}")
    sys.exit(77)

FRAMES, WIDTH, HEIGHT = 24, 320, 240
LIVE = f"videotestsrc is-live=true pattern=smpte ! video/x-raw,width={WIDTH},height={HEIGHT},framerate=30/1"
bad = 0


def expect(what, good, shown=""):
    global bad
    if not good:
        print(f"live: {what}: FAILED\n{shown}")
        bad += 1


def run(program, *arguments):
    done = subprocess.run([program, "--quiet", *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def pictures():
    """Boxes before a patterned wall, moved by some pixels a frame."""
    draw = np.random.default_rng(1)
    wall = cv2.GaussianBlur(draw.integers(0, 255, (HEIGHT + 80, WIDTH + 160), dtype=np.uint8), (0, 0), 2.0)
    wall = cv2.normalize(wall, None, 0, 255, cv2.NORM_MINMAX)
    return [wall[i : i + HEIGHT, 2 * i : 2 * i + WIDTH].copy() for i in range(FRAMES)]


def write_video(path, seen):
    to = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 30.0, (WIDTH, HEIGHT))
    for picture in seen:
        to.write(cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR))
    to.release()


def videos(program, folder):
    path = folder / 'a "quoted" flight.avi'
    write_video(folder / "a.avi", pictures())
    os.rename(folder / "a.avi", path)
    code, out, err = run(program, "--out", str(folder / "out"), "--tables", "all", str(path))
    expect("a video", code == 0 and f"(video), {FRAMES} frames" in out, out + err)
    (folder / "same").mkdir()
    reader = cv2.VideoCapture(str(path))
    for i in range(FRAMES):
        cv2.imwrite(str(folder / "same" / f"{i:03}.png"), cv2.cvtColor(reader.read()[1], cv2.COLOR_BGR2GRAY))
    run(program, "--out", str(folder / "twin"), "--tables", "all", str(folder / "same"))
    ours, theirs = [[line.split(",") for line in (folder / name / "tracks.csv").read_text().splitlines()[1:]] for name in ("out", "twin")]
    end = [[(float(r[3]), float(r[4])) for r in rows if int(r[0]) == FRAMES - 1 and int(r[5]) >= FRAMES - 4] for rows in (ours, theirs)]
    near = sum(min(abs(x - u) + abs(y - v) for u, v in end[1]) < 1.0 for x, y in end[0]) if all(end) else 0
    # two decoders differ by a grey level here and there
    expect("tracks of a video are those of its pictures", near > 20 and near >= 0.8 * len(end[0]), f"{near} of {len(end[0])}")
    code, out, err = run(program, "--frames", "5", str(path))
    expect("--frames", code == 0 and "(video), 5 frames" in out, out + err)
    (folder / "none.mp4").write_text("no video\n")
    code, out, err = run(program, str(folder / "none.mp4"))
    expect("a file that is none", code == 1 and "gst: " in err and "none.mp4" in err, err)
    code, out, err = run(program, str(folder / "missing.mp4"))
    expect("no file", code == 1 and "missing.mp4: No such file" in err, err)


def rig(path):
    camera = f"  camera_model: pinhole\n  distortion_model: none\n  intrinsics: [200, 200, 160, 120]\n  resolution: [{WIDTH}, {HEIGHT}]\n"
    path.write_text(f"cam0:\n{camera}cam1:\n{camera}  T_cn_cnm1: [[1, 0, 0, -0.1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]\n")
    return f"--calibration={path}"


def pipelines(program, folder):
    code, out, err = run(program, "--frames", "6", f"gst:{LIVE}")
    expect("a pipeline", code == 0 and "(live), 6 frames" in out and f"{WIDTH}x{HEIGHT} px, not calibrated" in out, out + err)
    finite = LIVE.replace("is-live=true", "num-buffers=9")
    code, out, err = run(program, f"gst:{finite}")
    expect("all of what is not live", code == 0 and "(live), 9 frames" in out, out + err)
    both = f"gst:{finite} ! tee name=t t. ! queue ! appsink name=cam0 t. ! queue ! appsink name=cam1"
    code, out, err = run(program, rig(folder / "rig.yaml"), both)
    expect("two cameras", code == 0 and "baseline" in out and "(live), 9 frames" in out, out + err)
    code, out, err = run(program, "--mono", rig(folder / "rig.yaml"), both)
    expect("one of them", code == 0 and "camera 1" not in out and "(live), 9 frames" in out, out + err)
    code, out, err = run(program, rig(folder / "rig.yaml"), both.replace(f"width={WIDTH}", "width=160"))
    expect("another size than the calibration's", code == 1 and "160x240, but the rig has 320x240" in err, err)
    for size in f"image_width: {WIDTH}\nimage_height: {HEIGHT}\n", "":  # of ROS, and of OpenCV, whose files have no size
        (folder / "one.yaml").write_text(size + "camera_matrix: {data: [200, 0, 160, 0, 200, 120, 0, 0, 1]}\ndistortion_coefficients: {data: [0, 0, 0, 0]}\n")
        code, out, err = run(program, f"--calibration={folder / 'one.yaml'}", f"gst:{finite}")
        expect("a calibration by its matrix", code == 0 and f"{WIDTH}x{HEIGHT} px, calibrated, radtan" in out and "(live), 9 frames" in out, out + err)
    code, out, err = run(program, "gst:nothing ! like ! this")
    expect("words that are no pipeline", code == 1 and "gst: " in err, err)
    code, out, err = run(program, "v4l2:99")
    expect("no such camera", code == 1 and "/dev/video99: No such file" in err, err)


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.read()


def page(program, folder):
    player = subprocess.Popen([program, "--quiet", "--view", "0", "--out", str(folder / "seen"), f"gst:{LIVE}"], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)
    line = player.stderr.readline()
    port = re.search(r"--view: port (\d+)", line)
    expect("port of the page", port, line)
    if port:
        expect("the page", b"<html" in get(port.group(1), "/").lower())
        for _ in range(50):
            now = get(port.group(1), "/now")
            if len(now) > 1000:
                break
            time.sleep(0.2)
        head, _, picture = now.partition(b"\n")
        expect("what it draws", json.loads(head) and len(picture) == WIDTH * HEIGHT, f"{head[:200]} and {len(picture)} bytes")
    player.send_signal(signal.SIGINT)
    out, err = player.communicate(timeout=60)
    expect("Ctrl-C ends a live run with its summary", player.returncode == 0 and "digest" in out, out + err)
    expect("its files", (folder / "seen" / "digest.txt").exists())
    player = subprocess.Popen([program, "--quiet", "--view", "0", "--frames", "2000", "synthetic:160x120"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    port = re.search(r"--view: port (\d+)", player.stderr.readline())
    expect("the page of a data set", port and b"<html" in get(port.group(1), "/").lower())
    player.kill()
    player.communicate()
    code, out, err = run(program, "--view", "nowhere:port", "--frames", "2", "synthetic:160x120")
    expect("no such address", code == 1 and "nowhere" in err, err)


def main():
    program = sys.argv[1]
    code, out, err = run(program, "--frames", "1", "gst:videotestsrc")
    if "this build has no GStreamer" in err:
        expect("without GStreamer", code == 1 and "libgstreamer-plugins-base1.0-dev" in err, err)
        print("live: SKIPPED, not installed when replay was built: libgstreamer-plugins-base1.0-dev")
        sys.exit(1 if bad else 77)
    with tempfile.TemporaryDirectory(prefix="live.") as folder:
        for part in (videos, pipelines, page):
            part(program, pathlib.Path(folder))
    print(f"live: {bad} wrong")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
