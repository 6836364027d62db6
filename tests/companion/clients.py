#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The companion beside programs that nobody here wrote.

    tests/companion/clients.py mavsdk build/companion      MAVSDK is the autopilot: it finds the companion, and what it reads in each message is what went out
    tests/companion/clients.py mavproxy build/companion    MAVProxy lies between companion and autopilot: it passes everything on unchanged, and prints what it reads

Exit 77: that program, or pymavlink, is not installed.
"""
import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from flight import FAULTS, SLOW, Autopilot, expect, messages_of # ends with 77 without pymavlink

SECONDS, WANTED = 90.0, 12 # for so many ODOMETRY


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(companion, *words):
    return subprocess.Popen([companion, "--source", "synthetic:160x120", "--quiet", "--slow", str(SLOW), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stop(process):
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    expect(process.returncode == 0, f"companion: exit {process.returncode}: {err[-300:]}")


def same(read, sent):
    """A number that a client read from a float of 32 bits; None and NaN: not known."""
    if read is None or sent != sent:
        return (read is None or read != read) and sent != sent
    return math.isclose(read, sent, rel_tol=2e-6, abs_tol=1e-30)


def with_mavsdk(companion, folder):
    try:
        from mavsdk import ComponentType, Configuration, Mavsdk
        from mavsdk.plugins.mavlink_direct.mavlink_direct import MavlinkDirect
        from mavsdk.plugins.telemetry.telemetry import Telemetry
    except ImportError as missing:
        print(f"clients: SKIPPED, {missing}")
        sys.exit(77)
    configuration = Configuration.create_with_component_type(ComponentType.AUTOPILOT)
    configuration.system_id, configuration.component_id = 1, 1
    client, port = Mavsdk(configuration), free_port()
    client.add_any_connection(f"udpin://127.0.0.1:{port}")
    process = start(companion, "--link", f"udp:127.0.0.1:{port}", "--link", f"file:{folder}/sent", "--answers", "0", "--vision-position")
    end, got, odometry, texts = time.monotonic() + SECONDS, {}, [], []
    while time.monotonic() < end and not client.get_systems():
        time.sleep(0.05)
    systems = client.get_systems()
    if expect(len(systems) == 1 and systems[0].get_system_id() == 1 and systems[0].component_ids() == [197], "MAVSDK does not find the companion"):
        direct, telemetry = MavlinkDirect(systems[0]), Telemetry(systems[0])
        direct.subscribe_message("", lambda m, _: got.setdefault(m.message_name, []).append(json.loads(m.fields_json)))
        telemetry.subscribe_odometry(lambda o, _: odometry.append(o))
        telemetry.subscribe_status_text(lambda s, _: texts.append(str(s)))
        while time.monotonic() < end and (len(got.get("ODOMETRY", [])) < WANTED or not got.get("HEARTBEAT")) and process.poll() is None:
            time.sleep(0.05)
    stop(process)
    client.destroy()
    sent = messages_of((pathlib.Path(folder) / "sent").read_bytes())
    compared = 0
    for kind, stamp in (("ODOMETRY", "time_usec"), ("VISION_POSITION_ESTIMATE", "usec")):
        by_time = {getattr(m, stamp): m for m in sent if m.get_type() == kind}
        expect(len(got.get(kind, [])) >= WANTED - 2, f"MAVSDK: {len(got.get(kind, []))} {kind}")
        for read in got.get(kind, []):
            m = by_time.get(read[stamp])
            if not expect(m is not None, f"{kind} of {read[stamp]} us was not sent"):
                continue
            for name in m.fieldnames:
                value = getattr(m, name)
                pairs = zip(read[name], value) if isinstance(value, (list, tuple)) else [(read[name], value)]
                expect(all(same(r, float(v)) for r, v in pairs), f"{kind}.{name}: MAVSDK reads {read[name]}, sent {value}")
            compared += 1
    beat = (got.get("HEARTBEAT") or [{}])[-1]
    expect(beat.get("type") == 18 and beat.get("autopilot") == 8, f"HEARTBEAT: {beat}")
    expect(len(odometry) >= WANTED // 2, f"telemetry: {len(odometry)} of its own kind of odometry")
    expect(any("vision: " in t for t in texts) or got.get("STATUSTEXT"), f"status texts: {texts}")
    print(f"MAVSDK: {compared} messages, every field as it was sent; {len(odometry)} in its telemetry, {len(texts)} texts")


def with_mavproxy(companion, folder):
    program = shutil.which("mavproxy.py")
    if not program:
        print("clients: SKIPPED, no mavproxy.py")
        sys.exit(77)
    port, pilot = free_port(), Autopilot()
    log = open(f"{folder}/log", "w+")
    proxy = subprocess.Popen([program, "--master", f"udpin:127.0.0.1:{port}", "--out", f"udpout:127.0.0.1:{pilot.port}", "--non-interactive", "--state-basedir", folder,
                              "--default-modules", "output,link", "--cmd", "watch ODOMETRY"], cwd=folder, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    process = start(companion, "--link", f"udp:127.0.0.1:{port}", "--link", f"file:{folder}/sent", "--answers", "5")
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and len(pilot.of("ODOMETRY")) < WANTED and process.poll() is None and proxy.poll() is None:
        pilot.turn()
    stop(process)
    proxy.terminate()
    proxy.wait(timeout=20)
    log.seek(0)
    said = log.read()
    got = [m for _, m in pilot.of("ODOMETRY") if m.get_srcComponent() == 197]
    # the file has a sequence of its own; all else is the same to the byte
    sent = {bytes(m.get_msgbuf())[7:-2] for m in messages_of((pathlib.Path(folder) / "sent").read_bytes())}
    expect(len(got) >= WANTED, f"MAVProxy passed {len(got)} ODOMETRY on: {said[-600:]}")
    expect(all(bytes(m.get_msgbuf())[7:-2] in sent for m in got), "MAVProxy passed on what was not sent")
    expect(len([1 for _, m in pilot.of("TIMESYNC") if m.tc1 > 0]) >= 5, "no TIMESYNC came through")
    watched = re.findall(r"ODOMETRY \{.*frame_id : 20, child_frame_id : 12.*estimator_type : 3", said)
    expect(len(watched) >= WANTED // 2, f"MAVProxy reads {len(watched)} ODOMETRY: {said[-600:]}")
    print(f"MAVProxy: {len(got)} ODOMETRY passed on as they were sent, {len(watched)} read by it")


with tempfile.TemporaryDirectory() as name:
    {"mavsdk": with_mavsdk, "mavproxy": with_mavproxy}[sys.argv[1]](os.path.abspath(sys.argv[2]), name)
print("FAILED" if FAULTS else "understood")
sys.stdout.flush()
os._exit(1 if FAULTS else 0) # MAVSDK's threads may not end by themselves
