#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Simulated flights of the sliding-window estimator, without images: the table of build/simulate on all processors, and nominal flights in several
sets of draws.

    tests/vio/simulate.py build/simulate [--jobs N] [--only WORD] [--sets SEED,...] [options of simulate]

--jobs   Rows in parallel; default: number of processors.
--only   Rows whose title contains WORD.
--sets   First seeds of the sets of draws besides that of the table, 1001,2001,3001; "" for none.

The first table is that of `simulate --all`, 50 flights per row. Errors are root mean squares without alignment.

position  [m]; that of the worst flight; at the end of the flights [% of the path length]
att       Attitude [deg]
drift     At the end: position [cm], yaw [deg]
keys      Keyframes per flight
NEES      Mean; nominal 3 3 15 9. In brackets the share of frames [%] whose mean over the flights is in its 95 % bounds, [2.36, 3.72] for 3
bias      Share of biases within 3 standard deviations; the same of time offsets; error of these [ms]
ms        Processor time of a step

The second table has the rows of NOMINAL in each set of draws. Frames of a flight are not independent, so the share of one row depends mostly on
its draws; only the mean over rows and sets is tested.

Exit status: 77 if nothing could be flown; 1 if a row failed; if a flight is lost in any row; if position or attitude of the nominal flights is
within the bounds in less than LEAST of the frames on average; or if the NEES of either is over MOST in a row of the first table that is not in
UNTOLD; else 0. Rows whose trajectory is missing are skipped and counted.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

# Rows whose only calibration errors are within the estimator's priors, or the named ones, which except 1 cm of lever arm are estimated. A flight
# that is stationary is one long frame.
NOMINAL = ["eight", "MH_03", "V1_02", "V2_02", "infinite_fast", "circle_head", "road, 0.54 m, 10 Hz", "hover", "straight", "turn on the spot",
           "eight, time offset 5 ms", "eight, time offset -5 ms", "eight, mounting off 0.5 deg", "eight, mounting off 1 cm", "eight, stereo off 0.05 deg"]
LEAST = 90.0
# Errors that the estimator neither models nor is told of; the table shows their overconfidence.
UNTOLD = ["eight, tracks drift 0.1 px", "eight, focal length off 0.5 %", "eight, 30 us a row, not told", "eight, turned 0.2 deg, held"]
# The largest mean in one set of draws without any fault is 3.9 over 50 flights: attitude of circle_head.
MOST = 4.2
ROW = re.compile(r"^(?P<title>.{34}) +(?P<runs>\d+) +(?P<lost>\d+) \|.*\| +(?P<position>[\d.]+) \( *(?P<position_share>\d+)\) +(?P<attitude>[\d.]+) \( *(?P<attitude_share>\d+)\)")


def fly(program, title, seed, options):
    """Head and row of a title; or none and the reason: skipped, or failed."""
    command = [program, "--all", "--only", "=" + title, *(["--seed", str(seed)] if seed else []), *options]
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = said.stdout.splitlines()
    if len(lines) == 2 and "skipped:" in lines[1]:
        return None, lines[1]
    if said.returncode or len(lines) != 2 or not ROW.match(lines[1]):
        return None, f"{title}, seed {seed or 1}: failed, exit status {said.returncode}, {said.stderr.splitlines()[-1:] or 'no row'}"
    return lines


def tables(program, titles, seeds, options, jobs):
    """Prints the first table as its rows are ready. Returns {(title, seed): row of ROW}, and the number of skipped and failed rows."""
    wanted = [(t, 0) for t in titles] + [(t, s) for t in titles if t in NOMINAL for s in seeds]
    rows, done, skipped, failed = {}, 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        flying = {key: pool.submit(fly, program, *key, options) for key in wanted}
        for key in wanted:
            head, line = flying[key].result()
            done += 1
            skipped += not head and "skipped:" in line
            failed += not head and "skipped:" not in line
            if not key[1] or not head:
                print(*([head] if head and not rows else []), line, sep="\n", flush=True)
            if sys.stderr.isatty():
                print(f"\r{done} of {len(wanted)} rows", end="\r", file=sys.stderr, flush=True)
            if head:
                rows[key] = ROW.match(line).groupdict()
    return rows, skipped, failed


def shares(rows, title, which):
    return [float(row[which + "_share"]) for key, row in rows.items() if key[0] == title]


def nominal(rows):
    """Prints the nominal flights in each set of draws. Returns the lowest of the mean shares [%]."""
    means = {"position": [], "attitude": []}
    if not any((t, 0) in rows for t in NOMINAL):
        return LEAST
    print(f"\n{'nominal flights, in each set of draws':<38} {'NEES, share of frames within its bounds [%]: mean':>50}")
    for title in [t for t in NOMINAL if (t, 0) in rows]:
        for which in means:
            of_title = [row for key, row in rows.items() if key[0] == title]
            share = shares(rows, title, which)
            means[which] += share
            nees = sum(float(row[which]) for row in of_title) / len(of_title)
            print(f"{title:<28} {which:<13} {nees:>6.2f}, {', '.join(f'{s:.0f}' for s in share)}: {sum(share) / len(share):.0f}")
    least = {which: sum(share) / len(share) for which, share in means.items() if share}
    for which, mean in least.items():
        print(f"{'all':<28} {which:<13} {'':>6}  {mean:.1f}{'' if mean >= LEAST else f', less than {LEAST:.0f}'}")
    return min(least.values(), default=LEAST)


def sure(rows):
    """Prints the rows of the first table that are overconfident in position or attitude. Returns their number."""
    found = [(title, which, float(row[which])) for (title, seed), row in rows.items() if not seed and title not in UNTOLD for which in ("position", "attitude") if float(row[which]) > MOST]
    for title, which, nees in found:
        print(f"too sure: {title}, {which}, NEES {nees:.2f}, at most {MOST}")
    return len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="")
    parser.add_argument("--sets", default="1001,2001,3001")
    arguments, options = parser.parse_known_args()
    said = subprocess.run([arguments.program, "--titles", *options], stdout=subprocess.PIPE, text=True)
    if said.returncode:
        sys.exit(said.returncode)
    titles = [t for t in said.stdout.splitlines() if arguments.only in t]
    if not titles:
        sys.exit(f"simulate: no row of '{arguments.only}'")
    rows, skipped, failed = tables(arguments.program, titles, [int(s) for s in arguments.sets.split(",") if s], options, arguments.jobs)
    if not rows and not failed:
        print("skipped: nothing could be flown")
        sys.exit(77)
    least = nominal(rows)
    lost, flights = sum(int(row["lost"]) for row in rows.values()), sum(int(row["runs"]) for row in rows.values())
    print(f"{flights} flights, {lost} lost; {skipped} rows skipped, {failed} failed")
    sys.exit(1 if sure(rows) or lost or failed or least < LEAST else 0)


if __name__ == "__main__":
    main()
