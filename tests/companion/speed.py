#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Times of the companion on a recording in real time, in turns without a web page and with one that somebody looks at.

    tests/companion/speed.py COMPANION FILE.vfr [TURNS [OPTIONS OF THE COMPANION...]]

Prints, of each run: time of a step, last byte of a frame to first byte of its ODOMETRY beyond the step, shares of a core. For a machine at rest. Exit: 0 within
300 us in 99.9 % and 5 % of a core without the page, and a mean step with it that is not longer by more than 2 %; 1 not.
"""
import http.client
import re
import subprocess
import sys
import threading
import time

LATENCY_US, CPU_PERCENT, VIEW_PERCENT = 300.0, 5.0, 2.0


def look_on(port, stop, seen):
    """A browser that asks for what is new 5 times a second."""
    while not stop.wait(0.2):
        try:
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            link.request("GET", "/now")
            seen.append(len(link.getresponse().read()))
            link.close()
        except OSError:
            pass


def fly(companion, file, words, is_watched):
    words = [companion, "--source", file, "--link", "file:/dev/null", "--quiet", *words, *(["--view", "0"] if is_watched else [])]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    stop, seen, thread = threading.Event(), [], None
    if is_watched:
        port = next((int(found[1]) for found in (re.search(r"--view: port (\d+)", line) for line in process.stderr) if found), None)
        thread = threading.Thread(target=look_on, args=(port, stop, seen))
        thread.start()
    said, errors = process.communicate()
    stop.set()
    if thread:
        thread.join()
    if process.returncode:
        sys.exit(f"speed: {errors}")
    step = re.search(r"step: mean ([\d.]+) ms, most ([\d.]+) ms", said)
    beyond = re.search(r"beyond the step: p50 ([\d.]+) us, p99 ([\d.]+) us, p99.9 ([\d.]+) us, most ([\d.]+) us of (\d+)", said)
    cpu = re.search(r"cpu: step ([\d.]+) %, source ([\d.]+) %, companion ([\d.]+) %", said)
    frames = re.search(r"frames (\d+), refused \d+, passed over (\d+)", said)
    if not (step and beyond and cpu and frames):
        sys.exit(f"speed: not understood: {said}")
    print(f"{'with a page' if is_watched else 'without':12} {frames[1]:>5} frames, {frames[2]} passed over; step {step[1]} ms, most {step[2]}; beyond it p50 {beyond[1]}, p99 {beyond[2]}, "
          f"p99.9 {beyond[3]}, most {beyond[4]} us of {beyond[5]}; companion {cpu[3]} % of a core" + (f"; {len(seen)} looks" if is_watched else ""), flush=True)
    return float(step[1]), float(beyond[3]), float(cpu[3])


def main():
    companion, file, turns, words = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 2, sys.argv[4:]
    print(time.strftime("%Y-%m-%d"))
    runs = {watched: [] for watched in (False, True)}
    for _ in range(turns):
        for watched in runs:
            runs[watched].append(fly(companion, file, words, watched))
    step = {watched: min(run[0] for run in runs[watched]) for watched in runs}
    latency, cpu = (min(run[i] for run in runs[False]) for i in (1, 2))
    longer = 100.0 * (step[True] / step[False] - 1.0)
    print(f"best of {turns}: p99.9 {latency:.0f} us of {LATENCY_US:.0f}, companion {cpu:.2f} % of {CPU_PERCENT:.0f}, a step with the page longer by {longer:.2f} % of {VIEW_PERCENT:.0f}")
    return latency > LATENCY_US or cpu > CPU_PERCENT or longer > VIEW_PERCENT


sys.exit(main())
