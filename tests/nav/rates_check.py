#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The figures of tests/nav/rates.py from states and motions that are made from the truth of MH_01, so that each figure is known.

    tests/nav/rates_check.py

Exit status: 77 without the set, 1 if a figure is not the known one, else 0.
"""
import os
import sys

import numpy as np

for room in ("fixture", "imu"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", room))
from pictures import need_data
from propagate import Nav, quaternion, upper
from rates_runs import GOOD, LATER_S, NO_IMU, STEREO, TRUTH, Flight, Run, figures, given_frames, turn

NAME, SIGMA = "euroc_mh01_a", np.repeat([0.02, 0.01, 0.05], 3)
SCALE, TILT = 1.01, np.radians(2.0)


def state(flight, stamp, e, Z, scale, counter):
    """State with an error, in a frame turned by Z."""
    p, R, v = flight.at(stamp)
    P = np.zeros((15, 15))
    P[:9, :9] = np.diag(SIGMA**2)
    return Nav(stamp, tuple(scale * (Z @ p) - e[:3]), tuple(Z @ v - e[6:]), tuple(quaternion(turn(-e[3:6]) @ Z @ R)), (0,) * 3, (0,) * 3, tuple(upper(P)), 0, GOOD, 0, 0, 0, 0, 0, 0,
               counter)


def motion(flight, before, stamp, e, S):
    """True motion of camera 0 with an error."""
    (p0, R0), (p1, R1) = flight.camera(before), flight.camera(stamp)
    return True, turn(-e[3:]) @ R1.T @ R0, R1.T @ (p0 - p1) - e[:3], S


def made(flight, draws, scale=1.0, Z=np.eye(3), counter=lambda k: 0, keep=lambda k: True, spin=np.zeros(3)):
    """Frames whose states and motions have errors of SIGMA and of the truth, times `draws`; `spin`: a rate of the attitude's error [rad/s]."""
    random, out, stamps = np.random.default_rng(7), [], flight.pictures.stamps
    truth = np.array(TRUTH[NAME])
    own = np.sqrt(SIGMA**2 + np.r_[[truth[0]] * 3, [truth[1]] * 2, truth[2], [truth[3]] * 3]**2)
    for k in filter(keep, range(len(stamps))):
        e = draws * own * random.normal(size=9) * (len(out) > 0)
        e[3:6] += spin * (stamps[k] - stamps[0]) * 1e-9
        S = np.diag([2e-4] * 3 + [1e-4] * 3)**2
        of_truth = np.repeat(truth[4:], 3) * ((stamps[k] - out[-1][0]) / (stamps[1] - stamps[0]) if out else 1)
        f = draws * np.sqrt(np.diag(S) + of_truth**2) * random.normal(size=6)
        out.append((stamps[k], state(flight, stamps[k], e, Z, scale, counter(k)), motion(flight, out[-1][0] if out else stamps[k], stamps[k], f, S)))
    return out


def close(what, value, wanted, by):
    good = abs(value - wanted) <= by
    print(f"{'ok ' if good else 'BAD'} {what}: {value:.4f}, {wanted:.4f} +- {by:.4f}")
    return good


def main():
    need_data()
    flight, run, good = Flight(NAME), Run(NAME, STEREO), []
    exact = figures(flight, run, made(flight, 0.0, Z=turn([0, 0, 1.0])), 0)
    good += [close("ATE of true states turned about z [mm]", 1e3 * exact["ate"], 0, 1e-6), close("chained true motions [mm]", 1e3 * exact["chained"], 0, 1e-6),
             close("attitude over a second [rad]", np.abs(exact["seconds"][:, 1:]).max(), 0, 1e-6), close("NEES", exact["nees"].max(), 0, 1e-6)]
    drawn = figures(flight, run, made(flight, 1.0), 0)
    good += [close(f"NEES of {what}", drawn["nees"][k].mean(), 1, 0.2) for k, what in enumerate(("position", "attitude", "velocity"))]
    good += [close("NEES of motions, translation", drawn["motion_nees"][:, 0].mean(), 1, 0.2), close("rotation", drawn["motion_nees"][:, 1].mean(), 1, 0.2)]
    good += [close("beyond 3 sigma [%]", 100 * drawn["beyond"].mean(), 0.27, 0.4), close("ATE [mm]", 1e3 * drawn["ate"], 1e3 * np.sqrt(3 * (SIGMA[0]**2 + 1e-6)), 3)]
    good += [close("frames off", drawn["wrong"][0], 0, 0)]
    tilted = figures(flight, run, made(flight, 0.0, Z=turn([TILT, 0, 0])), 0)
    good += [close("rigid ATE of a tilted frame [mm]", 1e3 * tilted["rigid"], 0, 1e-6), close("ATE of it, is not 0", float(tilted["ate"] > 1e-3), 1, 0)]
    good += [close("frames off by the tilt of 2 degrees alone", tilted["wrong"][0], 0, 0), close("NEES of attitude", tilted["nees"][1].mean(), TILT**2 / (1e-4 + 4e-6) / 3, 0.02)]
    wild = figures(flight, run, made(flight, 8.0), 0)
    good += [close("frames off by 8 sigma, is most", float(wild["wrong"][0] > 0.5 * wild["wrong"][1]), 1, 0)]
    larger = made(flight, 0.0, scale=SCALE)
    truth = np.array([flight.at(s)[0] for s, _, _ in larger])
    good += [close("ATE of a scale off by 1 % [mm]", 1e3 * figures(flight, run, larger, 0)["ate"], 10 * np.sqrt(((truth - truth.mean(0))**2).sum(1).mean()), 0.05)]
    spun = figures(flight, run, made(flight, 0.0, spin=np.array([0, 0, 0.01])), 0)["seconds"]
    good += [close("attitude over a second of 10 mrad/s [mrad]", 1e3 * np.sqrt((spun[:, 1]**2).mean()), 10, 0.01),
             close("late pairs", spun[:, 0].sum(), round((8.5 - 1 - LATER_S) * 20) + 1, 0)]
    anew = figures(flight, run, made(flight, 0.0, counter=lambda k: int(k >= 100)), 0)
    good += [close("restarts", anew["resets"], 1, 0), close("pairs, none across a restart", len(anew["seconds"]), 171 - 40, 0)]
    fewer = made(flight, 0.0, keep=lambda k: k % 4 == 0)
    few = figures(flight, run, fewer, 0)
    good += [close("chained motions at a quarter of the rate [mm]", 1e3 * few["chained"], 0, 1e-6), close("their frames", few["frames"], 43, 0)]
    blind = [(s, n, (k not in (20, 21), *m[1:])) for k, (s, n, m) in enumerate(fewer)]
    held = figures(flight, run, blind, 0)
    good += [close("two motions held at the last velocity, ATE is not 0", float(1e-3 < held["chained"] < 0.2), 1, 0), close("GOOD ones", held["metric"][0], 40, 0)]
    rate = len(given_frames(Run(NAME, STEREO, 1, 30, 0, 0.0, 3), 100_000)) / 100_000
    good += [close("frames that a camera that loses 30 % gives", rate, 0.7, 0.006), close("NO_IMU's best is STEREO_ONLY", figures(flight, Run(NAME, NO_IMU), fewer, 0)["good"][0], 0, 0)]
    print(f"{sum(good)} of {len(good)} figures are the known ones")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
