#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Closed loop over loopback: a quadrotor that flies on the board's ODOMETRY alone.

    tests/hil/fly.py build/hil-bench build/hil-board build/config/small/hil-bench build/config/small/hil-board [--full NAME [MORE...]]

The two of the small config have disparities, and fly towards the wall. --full: the whole table, every fault for 20 s, written to NAME.txt and NAME.xml. MORE goes to
table() of board.py, and to hil-bench, as in --jobs 16 --rows "clean|noise of 20" --seconds 300.
"""
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
from board import LIGHT, Board, run, table

BENCH, BOARD, DENSE_BENCH, DENSE_BOARD = map(os.path.abspath, sys.argv[1:5])
failures = 0


def check(what, good, more=""):
    global failures
    if not good:
        failures += 1
        print(f"fly: {what}\n{more}")


def row(said, name):
    """Worst error, when lost, when again, error at the end, verdict."""
    found = re.search(rf"^{re.escape(name)} +([\d.]+) +(\S+) +(\S+) +([\d.]+)  (.*)$", said, re.M)
    return found and (float(found[1]), found[2], found[3], float(found[4]), found[5].strip())


def sample(folder):
    junit, picture = os.path.join(folder, "junit.xml"), os.path.join(folder, "flight.svg")
    with Board(BOARD, "--keep", os.path.join(folder, "keep")) as board:
        code, said = run(BENCH, board.port, "--fly", "--only", "black both, 30 in 90", "--seconds", "4", "--junit", junit, "--draw", picture, *LIGHT)
        flight = row(said, "black both, 30 in 90")
        check("held through a second of black pictures", code == 0 and flight and flight[4] == "passed" and 0.02 < flight[0] < 1.0, said)
        cases = xml.parse(junit).getroot()
        code, restart = run(BENCH, board.port, "--fly", "--row", "restart in a turn, 1 s, file", *LIGHT)
        check("a restart in a turn goes on from the autopilot's pose", code == 0 and "deg, " in restart, restart)
        check("JUnit", cases.attrib["failures"] == "0" and [c.attrib["name"] for c in cases] == ["black both, 30 in 90"])
        check("picture", len(xml.parse(picture).getroot()) > 50)
        code, said = run(BENCH, board.port, "--fly", "--only", "clean", "--seconds", "1", "--size", "96x72", "--set", "vio=0", "--junit", junit)
        check("without a state it stays on the floor, and that is a failure", code == 1 and "does not fly at the end" in said, said)
        check("JUnit of a failure", xml.parse(junit).getroot().attrib["failures"] == "1")
        for words in (["--fly", "synthetic"], ["--fly", "--only", "nothing"], ["--fly", "--row", "black"], ["--real-time"], ["--list"], ["--fly", "--size", "10x10"], ["--fly", "--seconds", "0"], ["--fly", "--faults"]):
            code, said = run(BENCH, board.port, *words)
            check(f"wrong usage: {' '.join(words)}", code == 2 and "hil-bench: " in said, said)
    check("the board ends cleanly", board.code == 0, board.err)


def wall():
    with Board(DENSE_BOARD) as board:
        code, said = run(DENSE_BENCH, board.port, "--fly", "--row", "wall ahead", "--seconds", "10")
        flight = row(said, "wall ahead")
        check("it stops before a wall", code == 0 and flight and flight[4] == "passed", said)


def full(name, *words):
    seconds = list(words[words.index("--seconds"):][:2]) if "--seconds" in words else []
    check("the table", table(BENCH, BOARD, "--fly", name, [*LIGHT, *words], [(DENSE_BENCH, DENSE_BOARD, "wall ahead", seconds)]))


if "--full" in sys.argv:
    full(*sys.argv[sys.argv.index("--full") + 1:])
else:
    with tempfile.TemporaryDirectory() as name:
        sample(name)
    wall()
print(f"fly: {failures} failures" if failures else "fly: all held")
sys.exit(failures > 0)
