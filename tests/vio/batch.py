#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""All states of a recorded flight at once by GTSAM, from the same tracks and samples as the sliding window: the accuracy the data allow.

    PYTHONPATH=DIR tests/vio/batch.py build/bridge_ego.so build/bridge_vio.so [--only set ...] [--frames number] [--px value]
        [--noise factor] [--observations number]

--observations   Observations of a track after which it counts as another point, 20.

GTSAM is PyPI's: pip install --no-deps --target DIR gtsam. Without it, or without the sequences (tests/vio/vio.py), nothing is compared:
exit status 77.

Variables: pose, velocity and biases of every frame; a point per track of three or more observations. Factors: GTSAM's preintegrated IMU
samples; stereo observations as left position and disparity; monocular observations; robust (Huber); the initial state with the window's
covariance. Time offset and disparity offset are the window's final ones; the mounting is as calibrated. Columns as those of vio.py. A
figure of the window within 1.3 times this one is close to what the data allow.
"""
import ctypes
import os
import sys

import numpy as np

for room in ("geometry", "imu"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", room))
import vio
from ego import Bridge
from honesty import declare
from pictures import need_data, place
from propagate import Noise, Set, matrix, vector
from vio import SETS, SIGMA, Pictures, Truth, first_state, rigid, tracks

HUBER = 2.0  # of an observation's normalised error
FEWEST = 3   # observations of a point
OBSERVATIONS = 20  # observations of a track before it counts as another point: tracks drift
FAR_M = 100  # prior standard deviation of a point, so that the system of one without parallax stays solvable [m]


def level(move):
    """Rotation from camera 0 to axes whose x axis points to camera 1, and the distance of both cameras [m]."""
    to = -move[:3, :3].T @ move[:3, 3]
    x = to / np.linalg.norm(to)
    y = np.cross([0, 0, 1.0], x)
    y /= np.linalg.norm(y)
    return np.array([x, y, np.cross(x, y)]), np.linalg.norm(to)


def observations_of(pictures, frames, disparity_rad, most):
    """Per point, a track or the next `most` observations of one: list of frame, left x, y, disparity [px] (nan: none), standard deviations."""
    turn, base = level(pictures.move)
    found = {}
    for k, (_, rows, _) in enumerate(frames):
        for row in rows:
            a = turn @ row[1:4]
            x, y, sigma, d, d_sigma = *(pictures.focal * a[:2] / a[2]), row[4] * pictures.focal, np.nan, 0.0
            if row[8] > 0:
                b = turn @ pictures.move[:3, :3].T @ row[5:8]
                d, d_sigma = x - pictures.focal * b[0] / b[2] - disparity_rad * pictures.focal, row[8] * pictures.focal
            found.setdefault(int(row[0]), []).append((k, x, y, d, sigma, d_sigma))
    parts = [s[i:i + most] for s in found.values() for i in range(0, len(s), most)]
    return dict(enumerate(s for s in parts if len(s) >= FEWEST)), turn, base


def preintegral(gtsam, one, noise, a, b, bias):
    """GTSAM's preintegral from a to b [ns], in half intervals of the samples."""
    params = gtsam.PreintegrationCombinedParams.MakeSharedU(noise.gravity)
    gyro, accel, gyro_walk, accel_walk = [float(getattr(noise, f[0])) for f in noise._fields_[:4]]
    params.setGyroscopeCovariance(np.eye(3) * gyro**2)
    params.setAccelerometerCovariance(np.eye(3) * accel**2)
    params.setBiasOmegaCovariance(np.eye(3) * gyro_walk**2)
    params.setBiasAccCovariance(np.eye(3) * accel_walk**2)
    params.setIntegrationCovariance(np.eye(3) * 1e-12)
    pim = gtsam.PreintegratedCombinedMeasurements(params, bias)
    inside = one.t_ns[(one.t_ns > a) & (one.t_ns < b)]
    cuts = np.r_[a, inside, b].astype(float)
    cuts = np.unique(np.r_[cuts, 0.5 * (cuts[1:] + cuts[:-1])])
    t = one.t_ns.astype(float)
    for begin, end in zip(cuts, cuts[1:]):
        middle = 0.5 * (begin + end)
        accel_now = [np.interp(middle, t, one.accel[:, k]) for k in range(3)]
        gyro_now = [np.interp(middle, t, one.gyro[:, k]) for k in range(3)]
        pim.integrateMeasurement(np.array(accel_now), np.array(gyro_now), (end - begin) * 1e-9)
    return pim


def triangulated(observations, cameras, pictures, base):
    """Point from its first disparity, else from its first and last observation; None: behind the camera."""
    for k, x, y, d, _, _ in observations:
        if d > 0.5:
            R, p = cameras[k]
            return p + R @ (np.array([x, y, pictures.focal]) * base / d)
    (Ra, pa), (Rb, pb) = cameras[observations[0][0]], cameras[observations[-1][0]]
    a = Ra @ np.array([observations[0][1], observations[0][2], pictures.focal])
    b = Rb @ np.array([observations[-1][1], observations[-1][2], pictures.focal])
    along, _, rank, _ = np.linalg.lstsq(np.column_stack([a, -b]), pb - pa, rcond=None)
    return pa + a * along[0] if rank == 2 and 0 < along[0] * pictures.focal < 200 and along[1] > 0 else None


def graph_of(gtsam, pictures, one, noise, frames, first, start, more, most):
    """Factors and initial values. start: pose and velocity of each frame."""
    X, V, B, P = (lambda k, c=c: gtsam.symbol(c, k) for c in "xvbp")
    graph, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
    found, turn, base = observations_of(pictures, frames, more[6], most)
    body_camera = gtsam.Pose3(gtsam.Rot3(pictures.T[:3, :3] @ turn.T), pictures.T[:3, 3])
    stereo = gtsam.Cal3_S2Stereo(pictures.focal, pictures.focal, 0, 0, 0, base)
    mono = gtsam.Cal3_S2(pictures.focal, pictures.focal, 0, 0, 0)
    bias = gtsam.imuBias.ConstantBias(np.array(first.ba), np.array(first.bg))
    R = start[0][0]
    turned = np.r_[SIGMA[3:6], SIGMA[:3]]**2
    both = np.kron(np.eye(2), R.T)
    graph.add(gtsam.PriorFactorPose3(X(0), gtsam.Pose3(gtsam.Rot3(matrix(np.array(first.q))), np.array(first.p)),
                                     gtsam.noiseModel.Gaussian.Covariance(both @ np.diag(turned) @ both.T)))
    graph.add(gtsam.PriorFactorVector(V(0), np.array(first.v), gtsam.noiseModel.Diagonal.Sigmas(SIGMA[6:9])))
    graph.add(gtsam.PriorFactorConstantBias(B(0), bias, gtsam.noiseModel.Diagonal.Sigmas(np.r_[SIGMA[12:], SIGMA[9:12]])))
    times = [int(s + round(more[1] * 1e9)) for s, _, _ in frames]
    cameras = []
    for k, (Rk, pk, vk) in enumerate(start):
        values.insert(X(k), gtsam.Pose3(gtsam.Rot3(Rk), pk))
        values.insert(V(k), vk)
        values.insert(B(k), bias)
        cameras.append((Rk @ pictures.T[:3, :3] @ turn.T, pk + Rk @ pictures.T[:3, 3]))
        if k:
            pim = preintegral(gtsam, one, noise, times[k - 1], times[k], bias)
            graph.add(gtsam.CombinedImuFactor(X(k - 1), V(k - 1), X(k), V(k), B(k - 1), B(k), pim))
    huber, points = gtsam.noiseModel.mEstimator.Huber.Create(HUBER), 0
    for i, observations in found.items():
        point = triangulated(observations, cameras, pictures, base)
        if point is None:
            continue
        values.insert(P(i), point)
        graph.add(gtsam.PriorFactorPoint3(P(i), point, gtsam.noiseModel.Isotropic.Sigma(3, FAR_M)))
        points += 1
        for k, x, y, d, sigma, d_sigma in observations:
            if np.isnan(d):
                model = gtsam.noiseModel.Robust.Create(huber, gtsam.noiseModel.Isotropic.Sigma(2, sigma))
                graph.add(gtsam.GenericProjectionFactorCal3_S2(np.array([x, y]), model, X(k), P(i), mono, body_camera))
                continue
            S = np.array([[sigma**2, sigma**2, 0], [sigma**2, sigma**2 + d_sigma**2, 0], [0, 0, sigma**2]])
            model = gtsam.noiseModel.Robust.Create(huber, gtsam.noiseModel.Gaussian.Covariance(S))
            graph.add(gtsam.GenericStereoFactor3D(gtsam.StereoPoint2(x, x - d, y), model, X(k), P(i), stereo, body_camera))
    return graph, values, times, points, (X, V, B)


def solve(gtsam, graph, values):
    params = gtsam.LevenbergMarquardtParams()
    params.setMaxIterations(60)
    params.setRelativeErrorTol(1e-7)
    optimizer = gtsam.LevenbergMarquardtOptimizer(graph, values, params)
    result = optimizer.optimize()
    print("  cost %.0f -> %.0f, %d steps" % (graph.error(values), graph.error(result), optimizer.iterations()), flush=True)
    return result


def states(gtsam, graph, result, keys, times, truth):
    """Per frame the values of vio.fly(): error, covariance, further values, pose, true pose; in vfront's errors and axes."""
    X, V, _ = keys
    marginals, out = gtsam.Marginals(graph, result), []
    for k, t in enumerate(times):
        pose, v = result.atPose3(X(k)), result.atVector(V(k))
        R, own, (p, R_true, v_true) = pose.rotation().matrix(), pose.translation(), truth.at(t)
        joint = marginals.jointMarginalCovariance(gtsam.KeyVector([X(k), V(k)]) if hasattr(gtsam, "KeyVector") else [X(k), V(k)])
        S = np.block([[joint.at(a, b) for b in (X(k), V(k))] for a in (X(k), V(k))])
        to = np.zeros((9, 9))
        to[:3, 3:6] = to[3:6, :3] = R
        to[6:, 6:] = np.eye(3)
        out.append((np.r_[p - own, vector(R_true @ R.T), v_true - v], to @ S @ to.T, np.zeros(10), own, R, p, R_true))
    return out


def main():
    words = sys.argv[1:]

    def value(name, standard):
        return float(words[words.index(name) + 1]) if name in words else standard
    libraries = [w for w in words if w.endswith(".so")]
    if len(libraries) != 2 or "--help" in words:
        print(__doc__)
        return 2
    try:
        import gtsam
    except ImportError as why:
        print("batch: skipped, gtsam cannot be imported (%s)" % why)
        return 77
    need_data()
    only = [w for w in words[words.index("--only") + 1:] if w in SETS] if "--only" in words else list(SETS)
    ego, lib, compared = Bridge(libraries[0], ""), ctypes.CDLL(os.path.abspath(libraries[1])), 0
    declare(ego)
    ego.c.bridge_partners.argtypes = ego.c.bridge_tracks.argtypes = [ctypes.c_int, ctypes.c_void_p]
    print("                       ATE  chained      1 s            tilt       v  NEES p      w      v")
    for name in (n for n in only if os.path.isdir(place(n))):
        one, count = Set(name), int(value("--frames", SETS[name]))
        noise = Noise(*[v * value("--noise", 1) if i < 4 else v for i, v in enumerate(one.noise)])
        pictures, truth = Pictures(name, count), Truth(one)
        out, chained, ms = vio.fly(ego, lib, pictures, one, value("--px", 0.5), noise)
        vio.report(name, pictures, out, chained, ms)
        frames = [f for f in tracks(ego, Pictures(name, count), value("--px", 0.5)) if truth.covers(f[0])]
        first = first_state(one, truth, frames[0][0])
        start = [(o[4], o[3], truth.at(frames[k][0])[2] - o[0][6:9]) for k, o in enumerate(out)]
        graph, values, times, points, keys = graph_of(gtsam, pictures, one, noise, frames, first, start, out[-1][2], int(value("--observations", OBSERVATIONS)))
        print("  %d frames, %d points, %d factors" % (len(frames), points, graph.size()), flush=True)
        batch = states(gtsam, graph, solve(gtsam, graph, values), keys, times, truth)
        for o in batch:
            o[2][:] = out[-1][2]
        vio.report("  batch", pictures, batch, chained, 0.0)
        compared += 1
    return 0 if compared else 77


if __name__ == "__main__":
    sys.exit(main())
