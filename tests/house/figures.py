#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures of README.md: generated from recorded files between <!-- figures: NAME --> and <!-- end of figures -->.

    tests/house/figures.py [--write]

Compares each block with what the recorded files say; a difference fails. --write: writes the blocks. Times are those of tests/gpu-proof.txt, first
occurrence of a row on the whole GPU, second on 8 of its multiprocessors. Figures of peers are literal; the text beside them names their source."""
import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = "README.md"
BLOCK = re.compile(r"(<!-- figures: ([a-z]+) -->\n)(.*?)(<!-- end of figures -->)", re.S)
# Row of README: text; row of tests/gpu-proof.txt, section pace; peer.
PACE = [
    ("upload, corners of one level, list on the host", "FAST SAD-A, 1 level, no tracks", "vilib 34 to 35"),
    ("1,800 key points with descriptors, 8 levels", "8 levels, one picture", "Jetson-SLAM 384"),
    ("stereo step: 200 tracks, 2,048 key points a picture, descriptors, matches, depths, motions", "all: tracks, depths, matches, motion", ""),
    ("and the state of the IMU, bank of 3", "the same with the state of the IMU", ""),
    ("and the map", "and with the map", ""),
]
# The same of section dense: GPU time.
DENSE = ("disparity of every pixel, 640x480, 128 disparities, 8 paths: GPU time", "dense  640x480, 128 disparities, all filters|dense  640x480, 8 paths, 128 disparities, all filters", "libSGM 1,242")


class Missing(Exception):
    pass


def lines_of(name):
    path = ROOT / "tests" / name
    if not path.is_file():
        raise Missing("no file tests/" + name)
    return path.read_text().splitlines()


def find(name, pattern):
    """First line of a recorded file that matches."""
    for line in lines_of(name):
        match = re.search(pattern, line)
        if match:
            return match
    raise Missing("no row /%s/ in tests/%s" % (pattern, name))


def times_of(section, table, row):
    """Times of a row in a table of a section [us], in the order in which it occurs: on the whole GPU, on 8 multiprocessors."""
    found, inside, now = [], False, ""
    for line in lines_of("gpu-proof.txt"):
        if line.startswith("== "):
            inside = line.startswith("== %s," % section)
        if line and not line.startswith((" ", "=")):
            now = line
        match = re.match(r"\s+(?:%s)\s+([\d.]+) us\b" % "|".join(map(re.escape, row.split("|"))), line)
        if inside and match and now.startswith(table):
            found.append(float(match.group(1)))
    if len(found) < 2:
        raise Missing("%d rows '%s' in tests/gpu-proof.txt, section %s: 2 are expected" % (len(found), row, section))
    return found[:2]


def pace_of(row):
    """Of a row of section pace, while the caller spins: [p50, p99, p99.9, p50 back to back], on the whole GPU, on 8 multiprocessors [us]."""
    pattern = r"\s+%s\s+([\d.]+) us p50\s+([\d.]+) p99\s+([\d.]+) p99.9, .* back to back\s+([\d.]+) p50 .* spin$" % re.escape(row)
    found = [m.groups() for m in (re.match(pattern, line) for line in lines_of("gpu-proof.txt")) if m]
    if len(found) != 2:
        raise Missing("%d rows '%s' in tests/gpu-proof.txt, section pace: 2 are expected" % (len(found), row))
    return [[us(x) for x in row] for row in found]


def us(time):
    return format(round(float(time)), ",")


def speed():
    out = ["| step every 33 ms (back to back), median wall time [us] | H200 | 8 multiprocessors | peer, back to back |", "|---|---|---|---|"]
    for text, row, peer in PACE:
        out.append("| %s | %s | %s | %s |" % (text, *("%s (%s)" % (r[0], r[3]) for r in pace_of(row)), peer))
    text, row, peer = DENSE
    out.append("| %s | %s | %s | %s |" % (text, *(us(t) for t in times_of("dense", "", row)), peer))
    out += ["", "Step with the state: p50 / p99 / p99.9 %s / %s / %s us." % tuple(pace_of(PACE[3][1])[0][:3])]
    return out


def flights():
    """Rows of tests/flights.txt: (flight, case, columns)."""
    rows = []
    for line in lines_of("flights.txt"):
        match = re.match(r"(\w+) {2,}(\S.*?) {2,}([\d.]+ .*)$", line)
        if match and match.group(1) != "flight":
            rows.append((match.group(1), match.group(2), match.group(3).split()))
    if not rows:
        raise Missing("no rows in tests/flights.txt")
    return rows


def span(values):
    return "%.2f to %.2f" % (min(values), max(values))


def accuracy():
    rows = flights()
    share = lambda clean: [float(r[2][6]) for r in rows if (r[1] == "clean") == clean and r[2][6] != "-"]
    anew, jumps = (sum(int(r[2][i]) for r in rows) for i in (1, -1))
    flown = find("fly.txt", r"^(\d+) rows, (\d+) passed")
    position, attitude = (find("vio/simulate.txt", r"^all +%s +([\d.]+)" % k).group(1) for k in ("position", "attitude"))
    lost = find("vio/simulate.txt", r"^(\d+) flights, (\d+) lost")
    kidnapped = [float(x) for x in re.findall(r"^\w+ +\d+ +([\d.]+) %", "\n".join(lines_of("map/kidnapped.txt")), re.M)]
    if not kidnapped:
        raise Missing("no rows in tests/map/kidnapped.txt")
    return [
        "| what | result | recorded in |",
        "|---|---|---|",
        "| %d rendered flights without faults, path error | %s %% of the path | `tests/flights.txt` |" % (sum(r[1] == "clean" for r in rows), span(share(True))),
        "| %d with black or frozen pictures, lost samples, a moving object | %s %% of the path | |" % (sum(r[1] != "clean" for r in rows), span(share(False))),
        "| all of these: restarts; jumps | %d; %d | |" % (anew, jumps),
        "| %s simulated flights: lost; frames within the 95 %% bounds of NEES, position and attitude (95 is right) | %s; %s and %s %% | `tests/vio/simulate.txt` |" % (format(int(lost.group(1)), ","), lost.group(2), position, attitude),
        "| quadrotor in closed loop, %s cases of faults for 20 s | %s passed | `tests/fly.txt` |" % flown.groups(),
        "| waking up in a known place, found within 1 s | %g %% of the trials | `tests/map/kidnapped.txt` |" % min(kidnapped),
    ]


BLOCKS = {"speed": speed, "accuracy": accuracy}


def main(arguments):
    page = ROOT / PAGE
    text, bad, seen = page.read_text(), 0, []

    def block(match):
        seen.append(match.group(2))
        if match.group(2) not in BLOCKS:
            raise Missing("%s: no figures of the name %s" % (PAGE, match.group(2)))
        return match.group(1) + "\n".join(BLOCKS[match.group(2)]()) + "\n" + match.group(4)

    try:
        made = BLOCK.sub(block, text)
    except Missing as missing:
        print("figures: %s" % missing)
        return 1
    if sorted(seen) != sorted(BLOCKS):
        print("figures: %s has blocks %s, not %s" % (PAGE, ", ".join(sorted(seen)), ", ".join(sorted(BLOCKS))))
        return 1
    if "--write" in arguments:
        page.write_text(made)
    else:
        for line in difflib.unified_diff(text.splitlines(), made.splitlines(), PAGE, "recorded files", n=0, lineterm=""):
            print(line)
            bad = 1
        if bad:
            print("figures: tests/house/figures.py --write writes them")
    if not bad:
        print("figures: %d blocks of %s are those of the recorded files" % (len(seen), PAGE))
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
