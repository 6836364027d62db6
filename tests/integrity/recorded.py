#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Drawn faults in recorded sets: sensor, kind, size, beginning and length by seed, one in a run; misleading frames, alerts, recovery.

    tests/integrity/recorded.py build/bridge_nav.so build/worlds [--runs 100] [--seed 1] [--kind KIND,...] [--set-of NAME] [--jobs N]
                                [--set NAME=VALUE ...] [--replay SEED --kind KIND] [--check [--must-fail]] [--broken]

Kinds, units and sizes are those of drawn worlds (`build/worlds --fault-kinds`), as far as samples, stamps and finished pictures can have them; kinds
follow seeds. A fault begins in the second or third quarter of the set; a quarter of all last to its end, the length of others is log-uniform from a
frame on. Frames misleading, alerts and columns are those of tests/integrity/integrity.py: a frame misleads if it gives a protection level, and an error on
an axis is beyond it and beyond 5 cm, 2 degrees or 0.1 m/s. The truth is turned about z and shifted to the first state. refused: frames refused by a
status, which have no level; blind: frames with a level where no truth is. A delay of pictures is one of whole frames. imu_order and imu_late are left
out: the bridge gives samples in order, at once. A picture that is lost is black but for noise of 1.5 grey levels.

--replay   One run, frame by frame. --check: exit status 1 if more than one run in 20 misleads, or a run without a fault does;
           with --must-fail if not. --broken: levels 100 times too small, for any error.

Exit status: 77 if the set is missing, 1 by --check, else 0.
"""
import argparse
import concurrent.futures
import ctypes
import multiprocessing
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "nav"))
from rates_runs import AHEAD_NS, COASTING, FRAMES, GOOD, STEREO_ONLY, Flight, Front, Nav, Noise, about_z, imu_samples, matrix, pointer_of
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixture"))
from pictures import need_data

LEAST = np.repeat([0.05, np.radians(2), 0.1], 3)  # errors below do not mislead
GIVEN, DISPUTED, ONE_CAMERA = 1, 32, 64  # vfront_protection_t, vfront_nav_t.flags
E_IMU, REFUSED = -24, -1  # vfront_status_t; in place of a state
NO_LEVEL, STATE, NAV, IMU = 1, 2, 4, 8   # alerts; those of health, 16 and 32, by bridge_alerts()
ORDERS = ((1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1))


# ---- faults -------------------------------------------------------------------------------------------------------------------------


def kinds_of(worlds):
    """{kind: (sensors, axes, unit, least, most)} of `worlds --fault-kinds`."""
    rows = {}
    for line in subprocess.run([worlds, "--fault-kinds"], check=True, capture_output=True, text=True).stdout.splitlines()[1:]:
        name, sensors, axes, unit, sizes = line[:18].strip(), line[18:41].split(), line[41:54].strip(), line[54:61].strip(), line[61:82].split()
        rows[name] = sensors, axes, unit, float(sizes[0]), float(sizes[1])
    return rows


class Fault:
    """A fault of a kind, drawn by seed."""

    def __init__(self, kind, row, seed, begin_s, end_s, frame_s):
        r = np.random.default_rng((seed, 20))
        sensors, axes, _, least, most = row
        self.kind, self.random = kind, np.random.default_rng((seed, 21))
        self.sensor = str(r.choice(sensors))
        self.axes = [int(r.integers(3))] if "x" in axes else [0, 1, 2]
        if "all" in axes and r.random() < 0.25:
            self.axes = [0, 1, 2]
        self.size = least * (most / least)**r.random()
        self.sign = 1 if r.random() < 0.5 else -1
        self.begin_s = begin_s + (end_s - begin_s) * r.uniform(0.25, 0.75)
        rest = end_s - self.begin_s
        self.length_s = rest + 1 if r.random() < 0.25 else frame_s * (rest / frame_s)**r.random()
        direction = r.normal(size=3)
        self.direction = direction / np.linalg.norm(direction) if len(self.axes) == 3 else self.sign * np.eye(3)[self.axes[0]]
        self.order = ORDERS[int(r.integers(5))]

    def active(self, t_s):
        return (t_s >= self.begin_s) & (t_s < self.begin_s + self.length_s)

    def text(self):
        where = "xyz"[self.axes[0]] if len(self.axes) == 1 else "all"
        return f"{self.kind} of {self.sensor}, {where}, size {self.size:.4g}, from {self.begin_s:.2f} s for {self.length_s:.2f} s"

    def cameras(self):
        return [c for c in (0, 1) if self.sensor in ("pair", f"camera{c}")]


def into_samples(f, t_s, gyro, accel):
    """Puts a fault into all samples. Returns stamps, values, and which samples there are."""
    on, (sensor, _, kind) = f.active(t_s), f.kind.partition("_")
    there, out, since = np.ones(len(t_s), bool), [gyro.copy(), accel.copy()], (t_s - f.begin_s)[:, None]
    touched = [out[k] for k in (0, 1) if f.sensor == "imu" or f.sensor == ("gyro", "accel")[k]]
    if not on.any() or sensor not in ("gyro", "accel", "imu"):
        return t_s, out, there
    first = int(np.argmax(on))
    for v in touched:
        only, held = np.zeros(3), v[max(first - 1, 0)].copy()
        only[f.axes] = 1
        if kind == "bias":
            v[on] += f.size * f.direction
        elif kind == "ramp":
            v[on] += f.size * since[on] * f.direction
        elif kind == "scale":
            v[on] *= 1 + f.sign * f.size * only
        elif kind == "sign":
            v[on] *= 1 - 2 * only
        elif kind == "axes":
            v[on] = v[on][:, f.order]
        elif kind == "stuck":
            v[on] = np.where(only, held, v[on])
        elif kind == "limit":
            v[on] = np.where(only, np.clip(v[on], -f.size, f.size), v[on])
        elif kind == "noise":
            v[on] += f.size * f.random.normal(size=v[on].shape) * only
        elif kind == "turn":
            angle, axis = f.sign * np.radians(f.size), f.axes[0]
            a, b = (axis + 1) % 3, (axis + 2) % 3
            v[on] = np.stack([{axis: v[on][:, axis], a: np.cos(angle) * v[on][:, a] - np.sin(angle) * v[on][:, b],
                               b: np.sin(angle) * v[on][:, a] + np.cos(angle) * v[on][:, b]}[k] for k in range(3)], 1)
        elif kind == "delay":
            v[on] = np.stack([np.interp(t_s[on] - f.size, t_s, v[:, k].copy()) for k in range(3)], 1)
    if kind == "lost":
        there[on] = False
    if kind == "dropout":
        there[on] = f.random.random(on.sum()) * 100 >= f.size
    if kind == "jitter":
        t_s = t_s.copy()
        t_s[on] = np.sort(np.clip(t_s[on] + f.size * f.random.normal(size=on.sum()), t_s[on][0], t_s[on][-1])) + 1e-8 * np.arange(on.sum())
    return t_s, out, there


def into_picture(f, picture, held, before, k):
    """Puts a fault of finished pictures into one. held: the last one before the fault; before: that of the frame before; k: frames since it begins."""
    p, (rows, columns) = picture.astype(np.float64), picture.shape
    if f.kind == "camera_lost":
        p = np.abs(1.5 * f.random.normal(size=p.shape))
    elif f.kind == "camera_frozen":
        p = held.astype(np.float64)
    elif f.kind == "reflection":
        p += 0.01 * f.size * (held[::-1, ::-1] - p)
    elif f.kind == "rows_roll":
        p = np.roll(p, int(round((k + 1) * f.size)) % rows, 0)
    elif f.kind == "interlace":
        p[1::2] = before[1::2]
    elif f.kind == "gain":
        p *= f.size if f.sign > 0 else 1 / f.size
    elif f.kind == "picture_noise":
        p += f.size * f.random.normal(size=p.shape)
    elif f.kind == "partial_freeze":
        n = int(np.ceil(0.01 * f.size * rows))
        at = int((f.begin_s * 7 % 1) * (rows - n))
        p[at:at + n] = held[at:at + n]
    elif f.kind == "occlusion":
        n = int(np.ceil(0.01 * f.size * columns))
        at = int((f.begin_s * 7 % 1) * (columns - n))
        p[:, at:at + n] = 0
    elif f.kind == "blur":
        n = 2 * max(1, int(round(f.size))) + 1
        for axis in (0, 1):
            q = np.cumsum(np.concatenate([np.zeros_like(p.take([0], axis)), np.pad(p, [(n // 2,) * 2 if a == axis else (0, 0) for a in (0, 1)], "edge")], axis), axis)
            p = (q.take(range(n, q.shape[axis]), axis) - q.take(range(q.shape[axis] - n), axis)) / n
    return np.ascontiguousarray(np.clip(p + 0.5, 0, 255).astype(np.uint8))


SAMPLES = ("bias", "ramp", "scale", "sign", "axes", "stuck", "limit", "noise", "turn", "lost", "dropout", "delay", "jitter")
OTHERS = ("clock_step", "clock_drift", "clock_jitter", "frames_lost", "camera_delay", "camera_lost", "camera_frozen", "reflection", "rows_roll", "interlace", "blur",
          "gain", "picture_noise", "partial_freeze", "occlusion")


def possible(kinds):
    return [k for k in kinds if k in OTHERS or (k.partition("_")[0] in ("gyro", "accel", "imu") and k.partition("_")[2] in SAMPLES)]


# ---- a run --------------------------------------------------------------------------------------------------------------------------


def stamp_of(f, stamp, t_s):
    """Stamp of a frame with the fault [ns]."""
    by_s = {"clock_step": f.sign * f.size, "clock_drift": f.sign * 1e-6 * f.size * (t_s - f.begin_s), "clock_jitter": f.size * f.random.normal()}.get(f.kind, 0.0)
    return stamp + int(1e9 * by_s)


def pair_of(flight, f, k, times, since):
    """Pictures of frame k with the fault."""
    pair, on = list(flight.frames[k]), f.active(times[k])
    if not on:
        return pair
    first = k - since
    for c in f.cameras():
        if f.kind == "camera_delay":
            pair[c] = flight.frames[max(int(np.searchsorted(times, times[k] - f.size, "right")) - 1, 0)][c]
        else:
            pair[c] = into_picture(f, pair[c], flight.frames[max(first - 1, 0)][c], flight.frames[max(k - 1, 0)][c], since)
    return pair


def row_of(flight, nav, t_s, on, alerts, imu, place):
    """Time [s], fault there, state, alerts, levels or None, errors or None where no truth is."""
    alerts |= IMU * bool(imu) | STATE * (nav.state in (COASTING, STEREO_ONLY)) | NAV * bool(nav.flags & (DISPUTED | ONE_CAMERA))
    alerts |= NO_LEVEL * (nav.protection != GIVEN)
    level = np.concatenate([nav.level_m, nav.level_rad, nav.level_mps]) if nav.protection == GIVEN else None
    if not nav.t_ns or not flight.covers(nav.t_ns):
        return t_s, on, nav.state, alerts, level, None
    (p, R, v), own, q = flight.at(nav.t_ns), np.array(nav.p), matrix(np.array(nav.q))
    if not place:
        place["Z"] = about_z(q @ R.T)
        place["p"] = own - place["Z"] @ p
    Z = place["Z"]
    return t_s, on, nav.state, alerts, level, np.abs(np.concatenate([own - Z @ p - place["p"], vector_of(Z @ R @ q.T), np.array(nav.v) - Z @ v]))


def vector_of(R):
    """Rotation vector."""
    w = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    length, angle = np.linalg.norm(w), np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))
    return w if length < 1e-9 else w / length * angle


def fly(flight, f, library, tuning):
    """Rows of the frames that were given."""
    pictures, one = flight.pictures, flight.one
    front = Front(library, pictures, Noise(*one.noise), ["vio=1"] + tuning, 2)
    zero, rows, since, place = pictures.stamps[0], [], 0, {}
    times = (np.array(pictures.stamps) - zero) * 1e-9
    t_s, (gyro, accel), there = into_samples(f, (one.t_ns - zero) * 1e-9, one.gyro, one.accel)
    t_ns = zero + np.round(t_s * 1e9).astype(np.int64)[there]
    gyro, accel = gyro[there], accel[there]
    given = max(int(np.searchsorted(t_ns, zero)) - 2, 0)
    for k, stamp in enumerate(pictures.stamps):
        on = bool(f.active(times[k]))
        pair = pair_of(flight, f, k, times, since)
        since += on
        if on and f.kind == "frames_lost" and f.random.random() * 100 < f.size:
            continue  # no frame, no level asked
        now = stamp_of(f, stamp, times[k]) if on else stamp
        to = max(int(np.searchsorted(t_ns, stamp + AHEAD_NS)), given)
        imu, nav, more = imu_samples(t_ns[given:to], gyro[given:to], accel[given:to]) if to > given else None, Nav(), np.zeros(4)
        both = (ctypes.c_void_p * 2)(*[p.ctypes.data for p in pair])
        status = front.c.bridge_frame(both, ctypes.c_uint64(max(now, 1)), ctypes.c_uint64(0), imu, to - given if imu else 0, ctypes.byref(nav), pointer_of(more))
        given = to if status in (0, E_IMU) else given # samples that are refused are dropped, as EMBED.md and examples/vio.c have it
        if status:
            rows.append((times[k], on, REFUSED, NO_LEVEL, None, None))
            continue
        rows.append(row_of(flight, nav, times[k], on, front.c.bridge_alerts(), int(more[2]), place))
    return rows


# ---- sums ---------------------------------------------------------------------------------------------------------------------------

FLIGHT = {}
BROKEN = False


def one(job):
    """Figures of a run: seed, kind, text, levels and frames with the fault, misleading by quantity, silent, delay, recovery, worst error, right before."""
    seed, kind, library, tuning, row = job
    flight = FLIGHT["flight"]
    end_s = (flight.pictures.stamps[-1] - flight.pictures.stamps[0]) * 1e-9
    f = Fault(kind or "none", row or (["none"], "-", "-", 1, 1), seed, 0.0, end_s, end_s / (len(flight.pictures.stamps) - 1))
    if not kind:
        f.begin_s, f.length_s = 0.0, 0.0
    return dict(seed=seed, kind=f.kind, text=f.text(), rows=fly(flight, f, library, tuning), begin=f.begin_s, end=f.begin_s + f.length_s, until=end_s)


def misleads(row):
    """By position, attitude, velocity."""
    _, _, _, _, level, error = row
    if level is None or error is None:
        return [False] * 3
    beyond = error > 0.01 * level if BROKEN else (error > level) & (error > LEAST)
    return [bool(beyond[3 * k:3 * k + 3].any()) for k in range(3)]


def summed(run):
    after = [r for r in run["rows"] if r[0] >= run["begin"]]
    during = [r for r in after if r[1]]
    wrong = [(r, misleads(r)) for r in after if any(misleads(r))]
    before = [r for r in run["rows"] if r[0] < run["begin"]]
    alert = next((r[0] for r in after if wrong and r[0] >= wrong[0][0][0] and r[3]), None)
    back = next((r[0] - run["end"] for r in after if r[0] >= run["end"] and r[2] == GOOD and not r[3] and r[5] is not None and not any(misleads(r))), None)
    worst = [r[5][:3].max() for r in during if r[5] is not None and r[4] is not None]
    return dict(right=bool(before) and before[-1][2] == GOOD and not before[-1][3] and not any(any(misleads(r)) for r in before),
                refused=sum(r[2] == REFUSED for r in run["rows"]), blind=sum(r[4] is not None and r[5] is None for r in run["rows"]), during=len(during), levels=sum(r[4] is not None for r in during), wrong=len(wrong),
                by=[any(m[k] for _, m in wrong) for k in range(3)], silent=any(not r[3] for r, _ in wrong),
                delay=None if not wrong or alert is None else alert - wrong[0][0][0], ended=run["end"] < run["until"] - 0.5, back=back,
                worst=max(worst) if worst else None)


def median(values):
    return f"{np.median(values):7.2f}" if values else "      -"


def line(label, runs):
    n = len(runs)
    ended = [r for r in runs if r["ended"]]
    backs, worst = [r["back"] for r in ended if r["back"] is not None], [r["worst"] for r in runs if r["worst"] is not None]
    return (f"{label:18s}{n:5d}{sum(r['right'] for r in runs):6d}{sum(r['refused'] for r in runs):8d}{sum(r['blind'] for r in runs):6d}{100 * sum(r['levels'] for r in runs) / max(1, sum(r['during'] for r in runs)):7.1f} |"
            f"{sum(r['wrong'] > 0 for r in runs):5d}" + "".join(f"{sum(r['by'][k] for r in runs):4d}" for k in range(3)) + f"{sum(r['silent'] for r in runs):5d} |"
            f"{median([r['delay'] for r in runs if r['delay'] is not None])} |{median(backs)}{len(ended) - len(backs):5d} of{len(ended):5d} |"
            f"{median(worst)}{max(worst, default=0):7.2f}")


HEAD = f"{'':18s} runs right refused blind  level | wrong  p  a  v silent|  delay |   back     none     |  worst   most"


def show(run):
    print(run["text"])
    for t, on, state, alerts, level, error in run["rows"]:
        cells = ["%7.3f %s state %d alerts %2d" % (t, "F" if on else " ", state, alerts)]
        for k, unit in ((0, 1), (3, 57.29578), (6, 1)):
            cells.append("  ".join(f"{'-' if error is None else f'{unit * error[k + i]:.3f}'}/{'-' if level is None else f'{unit * level[k + i]:.3f}'}" for i in range(3)))
        print(" | ".join(cells), "MISLEADS" if any(misleads((t, on, state, alerts, level, error))) else "")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("worlds")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind")
    parser.add_argument("--set-of", default="euroc_mh01_a", choices=sorted(FRAMES))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--replay", type=int)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--must-fail", action="store_true")
    parser.add_argument("--broken", action="store_true")
    args = parser.parse_args()
    if args.runs < 1 or args.jobs < 1:
        parser.error("--runs and --jobs are at least 1")
    if args.replay is not None and not args.kind:
        parser.error("--replay: with --kind, as the tables name it")
    return parser, args


def main():
    parser, args = arguments()
    need_data()
    table = kinds_of(args.worlds)
    kinds = args.kind.split(",") if args.kind else possible(table)
    if unknown := [k for k in kinds if k not in possible(table)]:
        parser.error(f"--kind {unknown[0]}: one of {', '.join(possible(table))}")
    globals()["BROKEN"] = args.broken
    FLIGHT["flight"] = Flight(args.set_of)
    if args.replay is not None:
        show(one((args.replay, kinds[0], args.library, args.set, table[kinds[0]])))
        return 0
    jobs = [(0, None, args.library, args.set, None)] + [(args.seed + i, kinds[(args.seed + i) % len(kinds)], args.library, args.set, table[kinds[(args.seed + i) % len(kinds)]]) for i in range(args.runs)]
    with concurrent.futures.ProcessPoolExecutor(args.jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        runs = [dict(run, **summed(run)) for run in pool.map(one, jobs)]
    clean, runs = runs[0], runs[1:]
    print(f"{args.set_of}: {len(runs)} runs, seeds {args.seed} to {args.seed + args.runs - 1}; without a fault {clean['wrong']} misleading frames\n\n{HEAD}")
    print(line("all", runs))
    for kind in sorted(kinds, key=lambda k: -sum(r["wrong"] > 0 for r in runs if r["kind"] == k)):
        if some := [r for r in runs if r["kind"] == kind]:
            print(line(kind, some))
    print()
    for r in runs:
        if r["wrong"]:
            print(f"misleads, seed {r['seed']}: {r['text']}; {r['wrong']} frames, {'silent' if r['silent'] else 'with an alert'}")
    broken = clean["wrong"] > 0 or 20 * sum(r["wrong"] > 0 for r in runs) > len(runs)
    return int(args.check and broken != args.must_fail)


if __name__ == "__main__":
    sys.exit(main())
