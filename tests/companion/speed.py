#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Times of the companion on a recording in real time, in turns without a web page and with one that somebody looks at.

    tests/companion/speed.py COMPANION FILE.vfr [TURNS [OPTIONS OF THE COMPANION...]]

Prints, of each run: time of a step, last byte of a frame to first byte of its ODOMETRY beyond the step, shares of a core, and how much of the machine other
programs took meanwhile. Judged are medians over the turns; a machine that others kept busy for more than 10 % of the time gives no percentile, which is printed.
Exit: 0 within 300 us in 99.9 % and 5 % of a core without the page, and a mean step with it that is not longer by more than 2 %; 1 not; 3 not, on a busy machine.
"""
import http.client
import os
import re
import resource
import statistics
import subprocess
import sys
import threading
import time

LATENCY_US, CPU_PERCENT, VIEW_PERCENT, BUSY_PERCENT = 300.0, 5.0, 2.0, 10.0


def busy_s():
    """Processor time of all programs so far, and of those that this one has waited for."""
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = resource.getrusage(resource.RUSAGE_SELF)
    hz = os.sysconf("SC_CLK_TCK")
    return (sum(ticks) - ticks[3] - ticks[4]) / hz, used.ru_utime + used.ru_stime + own.ru_utime + own.ru_stime


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
    began, before = time.monotonic(), busy_s()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    stop, seen, thread = threading.Event(), [], None
    if is_watched:
        port = next((int(found[1]) for found in (re.search(r"--view: http://[^/]*:(\d+)/", line) for line in process.stderr) if found), None)
        thread = threading.Thread(target=look_on, args=(port, stop, seen))
        thread.start()
    said, errors = process.communicate()
    stop.set()
    if thread:
        thread.join()
    if process.returncode:
        sys.exit(f"speed: {errors}")
    after, seconds = busy_s(), time.monotonic() - began
    others = 100.0 * max(0.0, after[0] - before[0] - (after[1] - before[1])) / (seconds * os.cpu_count())
    step = re.search(r"step: mean ([\d.]+) ms, most ([\d.]+) ms", said)
    beyond = re.search(r"beyond the step: p50 ([\d.]+) us, p99 ([\d.]+) us, p99.9 ([\d.]+) us, most ([\d.]+) us of (\d+)", said)
    cpu = re.search(r"cpu: step ([\d.]+) %, source ([\d.]+) %, companion ([\d.]+) %", said)
    frames = re.search(r"frames (\d+), refused \d+, passed over (\d+)", said)
    if not (step and beyond and cpu and frames):
        sys.exit(f"speed: not understood: {said}")
    print(f"{'with a page' if is_watched else 'without':12} {frames[1]:>5} frames, {frames[2]} passed over; step {step[1]} ms, most {step[2]}; beyond it p50 {beyond[1]}, p99 {beyond[2]}, "
          f"p99.9 {beyond[3]}, most {beyond[4]} us of {beyond[5]}; companion {cpu[3]} % of a core; others {others:.0f} % of the machine" + (f"; {len(seen)} looks" if is_watched else ""), flush=True)
    return float(step[1]), float(beyond[3]), float(cpu[3]), others


def main():
    companion, file, turns, words = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 2, sys.argv[4:]
    print(time.strftime("%Y-%m-%d"))
    runs = {watched: [] for watched in (False, True)}
    for _ in range(turns):
        for watched in runs:
            runs[watched].append(fly(companion, file, words, watched))
    step, latency, cpu, others = ({watched: statistics.median(run[i] for run in runs[watched]) for watched in runs} for i in range(4))
    longer = 100.0 * (step[True] / step[False] - 1.0)
    busy = max(others.values())
    print(f"median of {turns}: p99.9 {latency[False]:.0f} us of {LATENCY_US:.0f}, companion {cpu[False]:.2f} % of {CPU_PERCENT:.0f}, a step with the page longer by {longer:.2f} % of {VIEW_PERCENT:.0f}; "
          f"others took {busy:.0f} % of {os.cpu_count()} processors{', too much to tell' if busy > BUSY_PERCENT else ''}")
    failed = latency[False] > LATENCY_US or cpu[False] > CPU_PERCENT or longer > VIEW_PERCENT
    return 3 if failed and busy > BUSY_PERCENT else int(failed)


sys.exit(main())
