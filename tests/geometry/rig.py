#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Estimated rig offsets for a wrong stereo calibration, compared with the known error of the calibration.

    tests/geometry/rig.py build/bridge_ego.so [--set name=value ...] [--only flight ...] [--frames N] [--quick]

--set      Tuning values of vfront that are not standard.
--only     Only these flights. --frames: per flight, 240 by default. --quick: a sample, of less than a minute.

Rendered flights of tests/geometry/honesty.py, through a calibration of camera 1 whose principal point is off: the true offset of the rows is
the negative of what is added to its y, that of disparities what is added to its x (where fx is that of both cameras). Recorded sequences,
whose true rig is unknown, are only reported. Host port.

added      to x and y of the principal point of camera 1 [px]
rows       epipolar offset: error of the estimate, its standard deviation, their ratio; after 25, 50, 100, 200 and all frames [px]
disparity  the same for the disparity offset

Exit status: 1 if after 200 frames, or all if fewer, the epipolar offset is wrong by more than 0.05 px, or either offset by more than three
standard deviations; 77 OpenCV or the bridge is missing; else 0.
"""
import ctypes
import sys
import time

import numpy as np

from ego import Bridge
from honesty import declare, flown_poses, load
from pictures import need_data

ADDED = ((0.3, 0.3), (-0.3, -0.3), (0.0, 0.0))
FLIGHTS = {"round": None, "V1_02": None, "MH_05": None, "V2_02": None, "kaist": None}
RECORDED = ("euroc05", "kitti05", "kitti01")


def fly(bridge, name, added, settings, frames):
    """Epipolar and disparity offset with their standard deviations, for every frame."""
    bridge.check(bridge.c.bridge_flight_off((bridge.settings + " " + settings).encode(), *added))
    poses, out, rows = (None if name == "round" else flown_poses(name, frames)), np.zeros(4, np.float32), []
    for i in range(frames):
        if poses is None:
            bridge.check(bridge.c.bridge_fly(i, 0))
        else:
            R, t = np.ascontiguousarray(poses[i][:, :3]), np.ascontiguousarray(poses[i][:, 3])
            bridge.check(bridge.c.bridge_fly_from(i, R.ctypes.data, t.ctypes.data, None))
        bridge.c.bridge_rig(out.ctypes.data)
        rows.append(out.astype(float))
    return np.array(rows)


def shown(found, sigma, truth):
    return "%7.3f %6.3f %5.1f" % (found - truth, sigma, (found - truth) / sigma)


def report_flight(bridge, name, added, settings, frames):
    """Prints the estimates of a flight. Returns whether they are within bounds."""
    rows, truth = fly(bridge, name, added, settings, frames), (-added[1], added[0])
    for after in sorted({min(n, frames) for n in (25, 50, 100, 200, frames)}):
        r = rows[after - 1]
        print("%-8s %5.2f %5.2f  %4d   %s   %s" % (name, added[0], added[1], after, shown(r[0], r[1], truth[0]), shown(r[2], r[3], truth[1])))
    sys.stdout.flush()
    errors = np.abs(rows[min(200, frames) - 1][::2] - truth)
    return errors[0] < 0.05 and np.all(errors < 3 * rows[min(200, frames) - 1][1::2])


def report_recorded(bridge, name, quick):
    rig, frames, _, cameras = load(name, quick)
    bridge.open(rig, cameras)
    out = np.zeros(4, np.float32)
    for f in frames:
        bridge.step(*f)
    bridge.c.bridge_rig(out.ctypes.data)
    print("%-8s %4d frames: rows %6.3f +- %.3f, disparity %6.3f +- %.3f px" % ((name, len(frames)) + tuple(out)))
    sys.stdout.flush()


def option(words, name, most=None):
    """Arguments of an option."""
    if name not in words:
        return []
    after = words[words.index(name) + 1:]
    end = next((i for i, w in enumerate(after) if w.startswith("--")), len(after))
    return after[:end][:most]


def main():
    words = sys.argv[1:]
    if not words or words[0].startswith("--"):
        print(__doc__)
        return 2
    need_data()
    began, quick, good = time.time(), "--quick" in words, True
    bridge = Bridge(words[0], "rectify=0")
    declare(bridge)
    double = ctypes.c_double
    bridge.c.bridge_flight_off.argtypes, bridge.c.bridge_rig.argtypes = [ctypes.c_char_p, double, double], [ctypes.c_void_p]
    settings = " ".join(option(words, "--set"))
    frames = int((option(words, "--frames", 1) or [40 if quick else 240])[0])
    names = option(words, "--only") or (["round", "V1_02"] if quick else list(FLIGHTS) + list(RECORDED))
    print("             added         rows                    disparity\nflight      x     y  frames  error  sigma  ratio   error  sigma  ratio")
    for name in [n for n in names if n in FLIGHTS]:
        for added in ADDED[:1 if quick else None]:
            good &= bool(report_flight(bridge, name, added, settings, frames))
    for name in [n for n in names if n in RECORDED]:
        report_recorded(bridge, name, quick)
    print("(%.0f s)" % (time.time() - began))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
