#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The companion's web page in a browser: what it shows, and a picture of it.

    tests/companion/view.py build/companion [SOURCE] [--keep PICTURE.png]

Chromium without a window opens the page while the companion flies, here with --slow, at the size of a desk and at that of a phone: what each shows, and that nothing
is cut off. Before that, a camera that is not there, and an autopilot whose IMU is not heard: the page is there, with pictures as soon as there are any. Exit 77: no chromium.
"""
import http.server
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
BROWSER = next((b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None)
SECONDS = 180.0
SIZES = {"desk": (1280, 880), "phone": (390, 844)}
NAMES = ("gets", "state", "quality", "note", "hint", "values", "health", "timesname")
RIG = pathlib.Path(__file__).resolve().parents[2] / "examples/companion/rig.yaml"

# A page around the page, of its size: a window of a browser is never as narrow as a phone. What it shows, and what of it is cut off, is reported once there is a state.
AROUND = """<!DOCTYPE html><iframe src="/" width="%d" height="%d"></iframe><pre id="report"></pre><script>
const frame = document.querySelector("iframe");
setInterval(() => {
  const page = frame.contentDocument, wide = frame.contentWindow.innerWidth;
  if (!page || !page.getElementById("state") || page.getElementById("state").textContent === "-") return;
  const cut = [];
  for (const e of page.body.querySelectorAll("*")) {
    const name = e.tagName + (e.id ? "#" + e.id : "") + " " + e.textContent.slice(0, 20), box = e.getBoundingClientRect();
    if (box.right > wide + 0.5 || box.left < -0.5) cut.push(name);
    else if (e.clientWidth && e.scrollWidth > e.clientWidth + 1) cut.push(name + ", inside");
  }
  const dark = c => { const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; return new Set(d).size < 10; };
  const text = Object.fromEntries(%s.map(id => [id, page.getElementById(id).innerText]));
  document.getElementById("report").textContent = JSON.stringify({ cut, text, wide, empty: [...page.querySelectorAll("canvas")].filter(dark).map(c => c.id) });
}, 300);
</script>"""


def expect(condition, what):
    if not condition:
        sys.exit(f"view.py: {what}")


class Proxy(http.server.BaseHTTPRequestHandler):
    """The companion's answers, and the page around its page."""
    port = 0

    def do_GET(self):
        found = re.match(r"/around/(\d+)/(\d+)$", self.path)
        if found:
            status, content = 200, (AROUND % (int(found[1]), int(found[2]), json.dumps(NAMES))).encode()
        else:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{Proxy.port}{self.path}", timeout=SECONDS) as answer:
                    status, content = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, content = error.code, error.read()
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream" if self.path == "/now" else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def browse(folder, size, url, *words):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", f"--window-size={size[0]},{size[1]}", "--virtual-time-budget=4000", *words, url]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=SECONDS).stdout


def seen(folder, proxy, size):
    """What the page shows at a size; nothing of it is cut off."""
    page = browse(folder, (1400, 1000), f"http://127.0.0.1:{proxy}/around/{size[0]}/{size[1]}", "--dump-dom")
    found = re.search(r'<pre id="report">(.*?)</pre>', page, re.S)
    expect(found and found[1], f"the page at {size} shows nothing")
    report = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    expect(report["wide"] <= size[0], f"the page is {report['wide']} wide at {size}")
    expect(not report["cut"], f"cut off at {size}: {report['cut']}")
    return report["text"], report["empty"]


def now(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/now", timeout=SECONDS) as answer:
            return json.loads(answer.readline())
    except urllib.error.HTTPError: # no frame yet
        return {}


class Flight:
    """A companion with a page."""

    def __init__(self, companion, *words):
        self.process = subprocess.Popen([companion, "--quiet", *words, "--view", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = next((l for l in self.process.stderr if "--view: http://127.0.0.1:" in l), None)
        expect(line, "the address of the page is not printed")
        Proxy.port = self.port = int(re.search(r":(\d+)/", line)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(SECONDS)

    def wait(self, good, what):
        end = time.monotonic() + SECONDS
        while not good(now(self.port)):
            expect(time.monotonic() < end, f"{what} within {SECONDS:.0f} s: {str(now(self.port))[:300]}")
            time.sleep(0.2)


def before_there_are_results(companion, folder, proxy):
    with Flight(companion, "--source", "v4l2:/dev/not_there", "--rig", str(RIG), "--imu", "autopilot", "--link", "file:/dev/null") as flight:
        flight.wait(lambda n: n.get("waits") == "a camera", "a camera is not waited for")
        text, _ = seen(folder, proxy, SIZES["phone"])
        expect(text["state"] == "waits" and text["note"] == "for a camera", f"no camera: {text}")
    with Flight(companion, "--source", "synthetic:320x240", "--imu", "autopilot", "--link", "file:/dev/null") as flight:
        flight.wait(lambda n: n.get("picture", [0])[0] == 320 and "IMU" in n["waits"], "no picture while the IMU is waited for")
        text, empty = seen(folder, proxy, SIZES["phone"])
        expect(text["state"] == "waits" and "first sample" in text["note"], f"no IMU: {text}")
        expect("picture" not in empty and "picture_1" not in empty, f"no IMU: no picture in {empty}")
        expect(re.search(r"sharpness of camera 0\s+\d+\.\d", text["health"]) and "sharpness of camera 1" in text["health"], f"no IMU: no sharpness: {text['health']}")


def in_flight(companion, source, folder, proxy, keep):
    with Flight(companion, "--source", source, "--slow", "8", "--link", "file:/dev/null") as flight:
        flight.wait(lambda n: n.get("state") == "good" and n["frame"] >= 40, "no state")
        for size in SIZES.values():
            text, empty = seen(folder, proxy, size)
            expect(text["state"] in ("good", "coasting"), f"the state is {text['state']!r}")
            expect(re.match(r"link 1: the file(: rate not known yet| gets \d+ of \d+ Hz, \d+ ms old)", text["gets"]), f"what the autopilot gets is {text['gets']!r}")
            expect(re.match(r"quality \d+$", text["quality"]), f"the quality is {text['quality']!r}")
            for name in ("position [m]", "velocity [m/s]", "roll, pitch, yaw [deg]", "gyro bias [deg/s]"):
                expect(re.search(re.escape(name) + r"(\s+-?\d+\.\d+){6}", text["values"]), f"no line {name!r} of six numbers in {text['values']!r}")
            expect(re.search(r"(TRACKING|DEGRADED), [1-9]\d+ alive", text["health"]) and "landmarks" in text["health"], f"health is {text['health']!r}")
            expect(re.search(r"[1-9]\d* steps", text["timesname"]), "no steps are counted")
            expect(not {"picture", "picture_1", "path", "times"} & set(empty), f"nothing is drawn in {empty}")
        for name, size in SIZES.items():
            picture = pathlib.Path(keep if keep and name == "desk" else f"{folder}/{name}.png").resolve()
            browse(folder, size, f"http://127.0.0.1:{flight.port}/", f"--screenshot={picture}")
            expect(picture.exists() and picture.stat().st_size > 15000, f"the page has no picture at {size}")


def main():
    words = sys.argv[1:]
    keep = words.pop(words.index("--keep") + 1) if "--keep" in words else None
    companion, source = words[0], words[1] if len(words) > 1 and not words[1].startswith("--") else "synthetic:320x240"
    if not BROWSER:
        print("view: skipped, no chromium")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder, http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxy = server.server_address[1]
        before_there_are_results(companion, folder, proxy)
        in_flight(companion, source, folder, proxy, keep)
        server.shutdown()
    print(f"the page shows what is waited for, pictures before the first sample, state and health; nothing is cut off at {' and '.join(f'{w}x{h}' for w, h in SIZES.values())} in {pathlib.Path(BROWSER).name}")


if __name__ == "__main__":
    main()
