#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the pose graph with SciPy's least squares over the same edges. The reference uses rotation vectors, finite differences and the robust cost.

    graph.py BRIDGE.so [--quick]

Synthetic flights in laps, whose loops all arrive at once: odometry with drift, loops with noise, and wrong loops. For
each flight: loops without weight in the end, ATE of the odometry, of the map after one turn and after four, of
SciPy's minimum [m]; largest distance between map and minimum after one turn and after four, in deviations of a loop
(0.02 m, 0.005 rad); and cost over that of the minimum. Fails if the distance after four optimizer turns is above
0.25, if the ATE after one is above 1.25 times that of the minimum, or that above a third of the odometry's."""
import argparse
import ctypes
import sys

import numpy as np

try:
    from scipy.optimize import least_squares
    from scipy.sparse import lil_matrix
    from scipy.spatial.transform import Rotation
except ImportError:
    print("skipped: no scipy")
    sys.exit(77)

METRIC, NAV = 2, 3


class Node(ctypes.Structure):
    _fields_ = [("p", ctypes.c_double * 3), ("q", ctypes.c_double * 4), ("m2", ctypes.c_double), ("rad2", ctypes.c_double), ("length", ctypes.c_double),
                ("path", ctypes.c_uint32), ("source", ctypes.c_uint32)]


class Loop(ctypes.Structure):
    _fields_ = [("p", ctypes.c_double * 3), ("q", ctypes.c_double * 4), ("sigma_m", ctypes.c_double), ("sigma_rad", ctypes.c_double),
                ("a", ctypes.c_uint32), ("b", ctypes.c_uint32)]


def wxyz(R):
    x, y, z, w = R.as_quat()
    return w, x, y, z


def of(q):
    return Rotation.from_quat([q[1], q[2], q[3], q[0]])


def draw(rng, count, laps, upright, wrong, apart):
    """A flight: truth, nodes with drift, loops."""
    angle = 2 * np.pi * laps * np.arange(count) / count
    p = np.stack([6 * np.cos(angle), 4 * np.sin(angle), 0.5 * np.sin(2.1 * angle)], 1) + apart
    R = Rotation.from_euler("zyx", np.stack([angle + 0.3 * np.sin(1.7 * angle), 0.1 * np.sin(angle), 0.1 * np.cos(1.3 * angle)], 1))
    nodes, op, oR, length = [], p[0].copy(), R[0], 0.0
    bias = rng.normal(0, 0.01, 3) * (np.array([0, 0, 1]) if upright else 1)
    for i in range(count):
        if i:
            step = R[i - 1].inv().apply(p[i] - p[i - 1]) * 1.01 + rng.normal(0, 0.003, 3)
            op = op + oR.apply(step)
            turn = rng.normal(0, 0.001, 3) + bias * 0.3
            oR = Rotation.from_rotvec(turn * (np.array([0, 0, 1]) if upright else 1)) * oR * (R[i - 1].inv() * R[i])
            if upright:  # roll and pitch are seen by gravity
                yaw = (oR * R[i].inv()).as_rotvec()[2]
                oR = Rotation.from_rotvec([0, 0, yaw]) * R[i]
            length += np.linalg.norm(step)
        nodes.append(Node((ctypes.c_double * 3)(*op), (ctypes.c_double * 4)(*wxyz(oR)), 1e-5 * 3 * i, 1e-6 * i, length, 1, NAV if upright else METRIC))
    loops, per = [], count // laps
    for b in range(per, count, 2):
        a = int(b - per * rng.integers(1, b // per + 1) + rng.integers(-1, 2))
        if a < 0 or a >= b - 3:
            continue
        ends = a
        if len(loops) % 10 == 7 and wrong:
            ends = int(rng.integers(0, b - 3))
        t = R[ends].inv().apply(p[b] - p[ends]) + rng.normal(0, 0.02, 3)
        T = R[ends].inv() * R[b] * Rotation.from_rotvec(rng.normal(0, 0.005, 3))
        loops.append(Loop((ctypes.c_double * 3)(*t), (ctypes.c_double * 4)(*wxyz(T)), 0.02, 0.005, a, b))
    return p, R, nodes, loops


def solve(lib, nodes, loops, upright, frames):
    out, weight = np.zeros((len(nodes), 7)), np.zeros(max(1, len(loops)))
    given = (Node * len(nodes))(*nodes)
    loops_in = (Loop * max(1, len(loops)))(*loops)
    assert lib.graph_solve(given, len(nodes), loops_in, len(loops), upright, frames, out.ctypes.data_as(ctypes.c_void_p), weight.ctypes.data_as(ctypes.c_void_p))
    return out, weight


def oracle(lib, nodes, loops, upright, start, bound):
    """SciPy's minimum from a start: poses (position, quaternion)."""
    n, width = len(nodes), 4 if upright else 6
    at, R0 = start[:, :3], of_all(start[:, 3:])
    edges = []
    m2, rad2 = ctypes.c_double(), ctypes.c_double()
    for i in range(1, n):
        lib.graph_edge(ctypes.byref(nodes[i - 1]), ctypes.byref(nodes[i]), ctypes.byref(m2), ctypes.byref(rad2))
        Ra, Rb = of(nodes[i - 1].q), of(nodes[i].q)
        edges.append((i - 1, i, Ra.inv().apply(np.array(nodes[i].p) - np.array(nodes[i - 1].p)), Ra.inv() * Rb, m2.value**0.5, rad2.value**0.5))
    for l in loops:
        edges.append((l.a, l.b, np.array(l.p), of(l.q), float(np.float32(l.sigma_m)), float(np.float32(l.sigma_rad))))
    A, B = np.array([e[0] for e in edges]), np.array([e[1] for e in edges])
    t, T = np.array([e[2] for e in edges]), Rotation.concatenate([e[3] for e in edges])
    sm, sr = np.array([e[4] for e in edges])[:, None], np.array([e[5] for e in edges])[:, None]

    def poses(x):
        x = np.vstack([np.zeros(width), x.reshape(n - 1, width)])
        turn = np.zeros((n, 3))
        turn[:, 3 - (width - 3):] = x[:, 3:]
        return at + x[:, :3], Rotation.from_rotvec(turn) * R0

    def residuals(x):
        p, R = poses(x)
        move = (p[B] - p[A] - R[A].apply(t)) / sm
        turn = (R[B] * (R[A] * T).inv()).as_rotvec() / sr
        if upright:
            turn[:, :2] = 0
        r = np.hstack([move, turn])
        square = (r[n - 1:]**2).sum(1, keepdims=True)
        r[n - 1:] *= np.sqrt(bound / (bound + square))
        return r.ravel()

    shape = lil_matrix((6 * len(edges), width * (n - 1)), dtype=int)
    for k in range(len(edges)):
        for i in (A[k], B[k]):
            if i:
                shape[6 * k:6 * k + 6, width * (i - 1):width * i] = 1
    done = least_squares(residuals, np.zeros(width * (n - 1)), jac_sparsity=shape.tocsr(), xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=200)
    p, R = poses(done.x)
    return p, R, 2 * done.cost, residuals(np.zeros_like(done.x)) @ residuals(np.zeros_like(done.x))


def of_all(q):
    return Rotation.from_quat(q[:, [1, 2, 3, 0]])


def ate(p, truth):
    """RMSE after the best rigid motion [m]."""
    a, b = p - p.mean(0), truth - truth.mean(0)
    U, _, V = np.linalg.svd(a.T @ b)
    S = np.diag([1, 1, np.sign(np.linalg.det(U @ V))])
    return np.sqrt(((a @ (U @ S @ V) - b)**2).sum(1).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bridge")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    lib = ctypes.CDLL(args.bridge)
    lib.graph_bound.restype = ctypes.c_double
    room, turn, bound, bad = lib.graph_room(), lib.graph_turn(), lib.graph_bound(), []
    cases = [(60, 2, 0, 0), (60, 2, 1, 0), (120, 3, 0, 1), (120, 3, 1, 1)]
    if not args.quick:
        cases += [(240, 3, 0, 0), (240, 3, 1, 0), (240, 4, 0, 1), (240, 4, 1, 1), (500, 4, 0, 0), (500, 4, 1, 1), (500, 1, 1, 0), (240, 2, 1, 1)]
    print("keyframes laps axes loops wrong  ATE odometry  1 turn 4 turns minimum   off after 1 turn    4 turns   cost over minimum")
    for k, (count, laps, upright, wrong) in enumerate(cases):
        rng = np.random.default_rng(19 + k)
        truth, R, nodes, loops = draw(rng, min(count, room), laps, upright, wrong, np.array([20.0, -30, 2]) * (k % 2))
        first, _ = solve(lib, nodes, loops, upright, turn)
        last, weight = solve(lib, nodes, loops, upright, 4 * turn)
        p, Rm, cost, own = oracle(lib, nodes, loops, upright, last, bound)

        def off(out):
            return max(np.abs(out[:, :3] - p).max() / 0.02, (of_all(out[:, 3:]) * Rm.inv()).magnitude().max() / 0.005)

        odometry = np.array([list(n.p) for n in nodes])
        figures = ate(odometry, truth), ate(first[:, :3], truth), ate(last[:, :3], truth), ate(p, truth)
        print(f"{len(nodes):9d} {laps:4d} {4 if upright else 6:4d} {len(loops):5d} {int((weight[:len(loops)] < 0.25).sum()):5d} {figures[0]:13.3f} {figures[1]:7.3f} {figures[2]:7.3f} {figures[3]:7.3f}"
              f" {off(first):18.3f} {off(last):10.4f} {own - cost:19.2e}", flush=True)
        if off(last) > 0.25 or own > cost * (1 + 1e-2) + 1e-2 or figures[1] > 1.25 * figures[3]:
            bad.append(f"{len(nodes)} keyframes, {laps} laps: off by {off(first):.3f}, {off(last):.3f}")
        if laps > 1 and figures[2] > figures[0] / 3:
            bad.append(f"{len(nodes)} keyframes, {laps} laps: ATE {figures[2]:.3f} m")
    for what in bad:
        print("FAILED " + what)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
