#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The companion's map: the place is found again, and what an autopilot gets stays one continuous stream.

    tests/companion/map.py build/config/map/companion build/config/map/replay

A flight along a circle builds a map and marks a place. Further flights begin elsewhere on that circle, with other noise in the pictures, load the map, and must find
themselves in it within a second; the marked place, from there, lies where it was. The autopilot's link has ODOMETRY in one frame and nothing of the map. Then: the
recording of a run with a map repeats bit for bit; a reset in flight keeps the map; SIGUSR1 saves while it flies, and the file is whole each time that it is read; a file that
is refused stays as it is, and the flight goes on. Exit: 0 good, 1 not, 77 no pymavlink or no trajectories.
"""
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib

sys.dont_write_bytecode = True
import flight
flight.SLOW = 4
from flight import FAULTS, Autopilot, expect, mav, matrix, messages_of, of # ends with 77 without pymavlink

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAJECTORY = pathlib.Path(os.environ.get("VFRONT_DATA", ROOT.parent / "shared/data")) / "trajectories/kaist_circle_head.txt"
HZ, FROM_S, SECONDS = 20, 60, 12       # of the flight that makes the map
STARTS_S, TRIAL_S = (1.5, 4.5, 8.0, 10.0), 2  # of the others, behind its start
FOUND_S, WRONG_M, WRONG_DEG = 1.0, 0.1, 3.0
RENDERED = ["--render", "width_px=320", "--render", "height_px=240", "--render", "smooth_ms=300", "--set", "vio=1", "--set", "ego_hypotheses=64", "--set", "ego_metric_hypotheses=128", "--set", "select_points=600"]
OFFSET, FIRST_MS = "LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET", 1000 # the first frame's stamp


def run(words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300, **more)
    expect(done.returncode == 0, f"{' '.join(str(w) for w in words)}: exit {done.returncode}: {done.stderr[-400:]}")
    return done


def render(replay, folder, name, begin_s, seconds, seed):
    recording = folder / f"{name}.vfr"
    run([replay, TRAJECTORY, "--quiet", "--out", folder / name, "--frames", int(HZ * seconds), *RENDERED, "--render", f"from_ms={int(1000 * begin_s)}", "--render", f"seed={seed}", "--record", recording])
    return recording


def fly(companion, folder, name, source, image, *words):
    """Messages to the autopilot, and to the mission computer."""
    done = run([companion, "--source", source, "--fast", "--no-carry", "--stamp-sigma", "0", "--map", image, "--link", f"file:{folder}/{name}.mav", "--map-link", f"file:{folder}/{name}.map", *words])
    return messages_of((folder / f"{name}.mav").read_bytes()), messages_of((folder / f"{name}.map").read_bytes()), done


def in_map(odometry, offset):
    """Position and yaw of the vehicle in the map: its pose in the local frame, and where that lies."""
    c, s = math.cos(offset.yaw), math.sin(offset.yaw)
    expect(max(abs(offset.roll), abs(offset.pitch)) < 1e-6, "the frame in the map leans")
    x, y, z = of([[c, -s, 0], [s, c, 0], [0, 0, 1]], (odometry.x, odometry.y, odometry.z))
    R = matrix(*odometry.q)
    return (x + offset.x, y + offset.y, z + offset.z), offset.yaw + math.atan2(R[1][0], R[0][0])


def places(sent, told):
    """Vehicle in the map by time [us], from the first word of it on."""
    offsets = [m for m in told if m.get_type() == OFFSET]
    found = {}
    for m in sent:
        if m.get_type() != "ODOMETRY":
            continue
        known = [o for o in offsets if o.time_boot_ms * 1000 <= m.time_usec + 1000]
        if known:
            found[m.time_usec] = in_map(m, known[-1])
    return found, offsets


def fastest_step(track):
    """Largest distance between two messages over their time [m/s]; the vehicle flies at 1.5."""
    return max((math.dist((a.x, a.y, a.z), (b.x, b.y, b.z)) / max(1e-3, (b.time_usec - a.time_usec) * 1e-6) for a, b in zip(track, track[1:])), default=0.0)


def is_one_stream(sent, told, name):
    """An autopilot's link has ODOMETRY in one frame without a jump, and nothing of the map; that of the map no pose of a vehicle."""
    kinds, others = {m.get_type() for m in sent}, {m.get_type() for m in told}
    expect(OFFSET not in kinds, f"{name}: the autopilot is sent the place in the map")
    expect(others <= {"HEARTBEAT", "STATUSTEXT", OFFSET}, f"{name}: the map's link has {others}")
    track = [m for m in sent if m.get_type() == "ODOMETRY"]
    expect({(m.frame_id, m.child_frame_id) for m in track} == {(20, 12)}, f"{name}: more frames than one")
    expect(0 < fastest_step(track) < 3.0, f"{name}: a step at {fastest_step(track):.1f} m/s")


def at(where, t_us):
    """Position and yaw at a time, between two that are known."""
    times = sorted(where)
    k = next((i for i in range(1, len(times)) if times[i] >= t_us), None)
    if k is None or t_us < times[0]:
        return None
    share = (t_us - times[k - 1]) / (times[k] - times[k - 1])
    a, b = where[times[k - 1]], where[times[k]]
    return tuple((1 - share) * p + share * q for p, q in zip(a[0], b[0])), a[1] + share * math.remainder(b[1] - a[1], 2 * math.pi)


def finds_places(companion, replay, folder):
    image = folder / "map"
    base = render(replay, folder, "base", FROM_S, SECONDS, 1)
    sent, told, done = fly(companion, folder, "base", base, image)
    expect("a new map begins" in done.stderr, "that the map is new was not reported")
    is_one_stream(sent, told, "base")
    where, offsets = places(sent, told)
    if not expect(is_whole(image) and image.stat().st_size > 20000 and where, "no map was saved"):
        return base
    kept, worst, compared = image.read_bytes(), [0.0, 0.0, 0.0], 0
    for i, begin_s in enumerate(STARTS_S):
        image.write_bytes(kept) # that of the first flight alone
        trial = render(replay, folder, f"trial{i}", FROM_S + begin_s, TRIAL_S, 100 + i)
        sent, told, done = fly(companion, folder, f"trial{i}", trial, image)
        is_one_stream(sent, told, f"trial {i}")
        here, offsets = places(sent, told)
        if not expect(offsets and here, f"trial {i}: not found within {TRIAL_S} s"):
            continue
        first_ms = offsets[0].time_boot_ms - FIRST_MS
        expect("vision: located in the map" in done.stderr, f"trial {i}: {done.stderr[-300:]}")
        off, turned = [], []
        for t_us, (position, yaw) in here.items():
            then = at(where, t_us + 1e6 * begin_s)
            if then:
                off.append(math.dist(position, then[0]))
                turned.append(math.degrees(abs(math.remainder(yaw - then[1], 2 * math.pi))))
        compared += len(off)
        if off:
            print(f"  {begin_s} s along it: found after {first_ms} ms, within {max(off):.3f} m, {max(turned):.2f} degrees")
            worst = [max(a, b) for a, b in zip(worst, (max(off), max(turned), first_ms))]
    expect(compared >= 10 * len(STARTS_S), f"{compared} poses beside those of the first flight")
    expect(worst[0] < WRONG_M and worst[1] < WRONG_DEG and worst[2] <= 1000 * FOUND_S, f"found after {worst[2]} ms, the place off by {worst[0]:.3f} m, {worst[1]:.2f} degrees")
    print(f"{len(STARTS_S)} flights find themselves in the map within {worst[2]:.0f} ms of their first frame; the vehicle is within {worst[0]:.3f} m, {worst[1]:.2f} degrees of where it was")
    image.write_bytes(kept)
    return base


def is_whole(image):
    """The image by its head: its size, and its checksum."""
    data = image.read_bytes() if image.exists() else b""
    size = int.from_bytes(data[16:24], "little") if len(data) > 64 else -1
    return size == len(data) and zlib.crc32(data[:60] + bytes(4) + data[64:]) == int.from_bytes(data[60:64], "little")


def repeats(companion, replay, folder, base):
    """A recording has the map that was loaded."""
    fly(companion, folder, "again", base, folder / "map", "--frames", "40", "--record", f"{folder}/again.vfr")
    done = run([replay, f"{folder}/again.vfr"])
    expect("40 of 40 results as recorded" in done.stdout, f"the recording of a run with a map: {done.stdout[-300:]}")
    data = (folder / "again.vfr").read_bytes()
    expect(b"local frame in the map: " in data, "the place in the map is not recorded")


def refuses(companion, folder, base):
    """A file that is none stays as it is; the flight goes on. So does a map of other cameras."""
    for name, content in (("none", b"no map\n"), ("cut", (folder / "map").read_bytes()[:-9])):
        image = folder / name
        image.write_bytes(content)
        sent, told, done = fly(companion, folder, name, base, image, "--frames", "10")
        expect(image.read_bytes() == content and not (folder / f"{name}.part").exists(), f"{name}: the file that was refused is not as it was")
        expect("it is left as it is" in done.stderr and "vision: the map is refused" in [m.text for m in sent if m.get_type() == "STATUSTEXT"], f"{name}: {done.stderr}")
        expect([m for m in sent if m.get_type() == "ODOMETRY"], f"{name}: no ODOMETRY")
    sent, told, done = fly(companion, folder, "other", "synthetic:192x144", folder / "map", "--frames", "10")
    expect("VFRONT_E_MAP_OTHER" in done.stderr and is_whole(folder / "map"), f"a map of other cameras: {done.stderr}")
    for code, *words in (2, "--map-link", "file:/dev/null", "--link", "file:/dev/null"), (2, "--map-link", "file:/dev/null", "--map", f"{folder}/x"), (1, "--map", "/dev/null", "--link", "none"):
        done = subprocess.run([companion, "--fast", "--frames", "2", *words], capture_output=True, text=True, timeout=60)
        expect(done.returncode == code and ("--map" in done.stderr or "--link is missing" in done.stderr), f"{words}: exit {done.returncode}: {done.stderr}")


def resets_and_saves(companion, folder, base):
    """In flight: a reset keeps the map, and is found in it again; SIGUSR1 saves, again and again, and whenever the file is read it is whole; also behind SIGKILL."""
    image, pilot = folder / "flown", Autopilot()
    process = subprocess.Popen([companion, "--source", str(base), "--slow", str(flight.SLOW), "--quiet", "--answers", "5", "--link", f"udp:127.0.0.1:{pilot.port}", "--map", str(image), "--map-link", f"file:{folder}/flown.map", "--view", "0"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    page = next(line for line in process.stderr if "--view: " in line).split()[-1]
    end, reads, ordered, next_save = time.monotonic() + 120.0, 0, 0, 0.0
    while time.monotonic() < end and process.poll() is None and not (ordered and len(pilot.of("ODOMETRY")) >= ordered + 50):
        pilot.turn()
        if len(pilot.of("ODOMETRY")) >= 60 and not ordered:
            ordered = len(pilot.of("ODOMETRY"))
            pilot.send(mav.MAVLink_command_long_message(1, 197, 31010, 0, 0, 0, 0, 0, 0, 0, 0))
        if len(pilot.of("ODOMETRY")) >= 10 and time.monotonic() >= next_save:
            next_save = time.monotonic() + 0.02
            process.send_signal(signal.SIGUSR1)
        if image.exists():
            reads += 1
            expect(is_whole(image), f"the file is not whole at read {reads}")
    urllib.request.urlopen(page + "now", timeout=30).read() # one that somebody looks at is made
    pilot.turn()
    time.sleep(1.0)
    shown = json.loads(urllib.request.urlopen(page + "now", timeout=30).readline())
    expect(shown.get("map") in ("located", "not located") and shown["keyframes"] > 3 and ("map_local_m" in shown) == (shown["map"] == "located"), f"the page shows of the map {str(shown)[:200]}")
    process.kill()
    _, err = process.communicate(timeout=30)
    expect(is_whole(image), "the file is not whole behind SIGKILL")
    texts = [m.text for _, m in pilot.of("STATUSTEXT")]
    expect(err.count("vision: the map is saved") >= 10, f"saved {err.count('the map is saved')} times")
    words = [word for word in err.splitlines() if "begins anew" in word or "located in the map" in word]
    expect([w.split("vision: ")[1] for w in words] == ["begins anew", "not located in the map", "located in the map"], f"the map is lost at a reset: {words}")
    track = [m for _, m in pilot.of("ODOMETRY") if m.quality > 0]
    fastest = fastest_step(track)
    expect(0 < fastest < 3.0, f"ODOMETRY moves at {fastest:.1f} m/s at a reset")
    expect("not saved" not in err, f"not saved: {err[-300:]}")
    expect(OFFSET not in {m.get_type() for _, m in pilot.got}, "the autopilot is sent the place in the map")
    print(f"in flight: a reset keeps the map, ODOMETRY moves at {fastest:.1f} m/s at most; {reads} reads of a file that is saved, all whole")


def main():
    companion, replay = (os.path.abspath(word) for word in sys.argv[1:3])
    if not TRAJECTORY.exists():
        print(f"map: SKIPPED, no {TRAJECTORY}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        base = finds_places(companion, replay, folder)
        repeats(companion, replay, folder, base)
        refuses(companion, folder, base)
        resets_and_saves(companion, folder, base)
    print("FAILED" if FAULTS else "the map is kept")
    sys.exit(1 if FAULTS else 0)


if __name__ == "__main__":
    main()
