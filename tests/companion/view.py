#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The companion's web page in a browser: what it shows, and a picture of it.

    tests/companion/view.py build/companion [SOURCE] [--keep PICTURE.png]

Chromium without a window opens the page while the companion flies, here with --slow, and gives back the page as its script has made it. Exit 77: no chromium.
"""
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
BROWSER = next((b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None)
SECONDS = 60.0


def expect(condition, what):
    if not condition:
        sys.exit(f"view.py: {what}")


def browse(port, folder, *words):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--window-size=1280,880", "--virtual-time-budget=3000", *words, f"http://127.0.0.1:{port}/"]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=SECONDS).stdout


def now(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/now", timeout=SECONDS) as answer:
            return json.loads(answer.readline())
    except urllib.error.HTTPError: # no frame yet
        return {}


def text_of(page, name):
    found = re.search(rf'id="{name}"[^>]*>(.*?)</(?:span|tbody|h2|div)>', page, re.S)
    return re.sub(r"<[^>]*>", " ", found.group(1)).strip() if found else ""


def main():
    words = sys.argv[1:]
    keep = words.pop(words.index("--keep") + 1) if "--keep" in words else None
    companion, source = words[0], words[1] if len(words) > 1 and not words[1].startswith("--") else "synthetic:320x240"
    if not BROWSER:
        print("view: skipped, no chromium")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        flight = subprocess.Popen([companion, "--source", source, "--quiet", "--slow", "8", "--link", "file:/dev/null", "--view", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            line = next(l for l in flight.stderr if "--view: port" in l)
            port = int(line.split()[-1])
            end = time.monotonic() + SECONDS
            while now(port).get("state") != "good" or now(port)["frame"] < 40: # a state, and some way
                expect(time.monotonic() < end, f"no state within {SECONDS:.0f} s")
                time.sleep(0.2)
            page = browse(port, folder, "--dump-dom")
            expect(text_of(page, "state") in ("good", "coasting"), f"the state is {text_of(page, 'state')!r}")
            expect(re.match(r"link 1: the file(: rate not known yet| gets \d+ of \d+ Hz, \d+ ms old)", text_of(page, "gets")), f"what the autopilot gets is {text_of(page, 'gets')!r}")
            expect(re.match(r"quality \d+$", text_of(page, "quality")), f"the quality is {text_of(page, 'quality')!r}")
            rows = text_of(page, "values")
            for name in ("position [m]", "velocity [m/s]", "roll, pitch, yaw [deg]", "gyro bias [deg/s]"):
                expect(re.search(re.escape(name) + r"(\s+-?\d+\.\d+){6}", rows), f"no line {name!r} of six numbers in {rows!r}")
            health = text_of(page, "health")
            expect(re.search(r"TRACKING, [1-9]\d+ alive", health) and "landmarks" in health, f"health is {health!r}")
            expect(re.search(r"[1-9]\d* steps", text_of(page, "timesname")), "no steps are counted")
            picture = pathlib.Path(keep or f"{folder}/view.png")
            browse(port, folder, f"--screenshot={picture.resolve()}")
            expect(picture.exists() and picture.stat().st_size > 30000, "the page has no picture")
        finally:
            flight.send_signal(signal.SIGINT)
            flight.wait(SECONDS)
    print(f"the page shows state, health and pictures in {pathlib.Path(BROWSER).name}")


if __name__ == "__main__":
    main()
