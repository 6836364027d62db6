#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""States propagated by vfront_propagate() on recorded flights, against GTSAM's preintegration and against ground truth.

    tests/imu/propagate.py build/bridge_propagate.so [--quick] [--noise factor]

--quick    GTSAM, and every tenth start of the recorded sets.
--noise    Factor on noise densities and bias walks of the recorded sets.

GTSAM (PyPI's gtsam) is compared where it can be imported: pip install --target DIR gtsam, PYTHONPATH=DIR. Sequences lie in
$VFRONT_DATA or ../shared/data beside the project. Missing parts are skipped and counted. Exit status: 77 if all are missing, 1 if
a bound of BOUNDS or of GTSAM's does not hold, else 0.

start    Every pose of the truth that has the whole duration after it. The initial state is the truth's, with its biases.
errors   true - propagated at the end: position, velocity, attitude; root mean square and largest.
NEES     e' S^-1 e / 9, nominal 1; mean and median. e: error of position, attitude, velocity. S: covariance propagated from that of
         the truth (TRUTH, BIASES), plus that of the truth at the end. The truth's tilt error is assumed equal at both ends, so it
         counts for position and velocity only. The truth's standard deviations are estimates, and so is this figure.
gap      The same without the 10 samples in the middle of each 0.5 s. The gap flag must be set.
"""
import ctypes
import os
import sys

import numpy as np

DATA = os.environ.get("VFRONT_DATA") or os.path.join(os.path.dirname(__file__), "../../../shared/data")
HORIZONS_S = (0.1, 0.5, 1.0)
GAP = 2  # VFRONT_NAV_GAP
# Standard deviations of the truth: position [m], attitude common to start and end, attitude besides [rad], velocity [m/s]; of its
# biases: gyro [rad/s], accelerometer [m/s^2].
TRUTH = {"euroc_mh01_a": (1e-3, 2e-3, 1e-4, 5e-3), "euroc_v101_static_a": (1e-3, 2e-3, 1e-4, 2e-3), "kitti05_vio": (1e-2, 2e-3, 7e-4, 2e-2)}
BIASES = {"euroc_mh01_a": (5e-4, 2e-2), "euroc_v101_static_a": (5e-4, 2e-2), "kitti05_vio": (5e-4, 5e-2)}
# Largest root mean square errors after 0.1, 0.5, 1 s: position [m], velocity [m/s], attitude [rad].
BOUNDS = {"euroc_mh01_a": ((2e-3, 0.008, 2e-4), (0.01, 0.025, 6e-4), (0.025, 0.04, 1.2e-3)),
          "euroc_v101_static_a": ((1e-3, 0.01, 1e-3), (0.01, 0.04, 2e-3)),
          "kitti05_vio": ((0.01, 0.05, 1.5e-3), (0.03, 0.08, 3e-3), (0.07, 0.1, 6e-3))}


class Imu(ctypes.Structure):
    _fields_ = [("t_ns", ctypes.c_uint64), ("gyro", ctypes.c_double * 3), ("accel", ctypes.c_double * 3)]


class Noise(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in
                ("gyro_density", "accel_density", "gyro_walk", "accel_walk", "gyro_limit", "accel_limit", "rate_hz", "gravity")]


class Nav(ctypes.Structure):
    _fields_ = [("t_ns", ctypes.c_uint64), ("p", ctypes.c_double * 3), ("v", ctypes.c_double * 3), ("q", ctypes.c_double * 4),
                ("bg", ctypes.c_double * 3), ("ba", ctypes.c_double * 3), ("covariance", ctypes.c_double * 120),
                ("flags", ctypes.c_uint32), ("state", ctypes.c_uint32), ("age_ns", ctypes.c_uint64), ("offset", ctypes.c_double),
                ("offset_sigma", ctypes.c_double), ("residual_mean_square", ctypes.c_double), ("landmarks", ctypes.c_uint32), ("quality", ctypes.c_uint32),
                ("reset_counter", ctypes.c_uint32), ("protection", ctypes.c_uint32), ("level_m", ctypes.c_double * 3), ("level_rad", ctypes.c_double * 3),
                ("level_mps", ctypes.c_double * 3)]


ADIS16448 = (1.6968e-4, 2e-3, 1.9393e-5, 3e-3, 17.0, 150.0, 200.0, 9.81)  # of EuRoC's sensor.yaml
RT3003 = (1.7e-3, 2e-2, 2e-5, 1e-3, 1.7, 98.0, 96.0, 9.81)  # estimated: KITTI states none


def matrix(q):
    """Rotation matrix of a quaternion w x y z."""
    w, x, y, z = q / np.linalg.norm(q)
    return np.array([[w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z]])


def quaternion(R):
    """Quaternion w x y z of a rotation matrix: eigenvector of the largest eigenvalue."""
    (a, b, c), (d, e, f), (g, h, i) = R
    K = np.array([[a + e + i, h - f, c - g, d - b], [h - f, a - e - i, b + d, c + g], [c - g, b + d, e - a - i, f + h],
                  [d - b, c + g, f + h, i - a - e]])
    q = np.linalg.eigh(K)[1][:, 3]
    return q if q[0] >= 0 else -q


def vector(R):
    """Rotation vector of a rotation well below pi."""
    v = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    s = np.linalg.norm(v)
    return v if s < 1e-12 else v / s * np.arctan2(s, (np.trace(R) - 1) / 2)


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def imu_samples(t_ns, gyro, accel):
    imu = (Imu * len(t_ns))()
    for i in range(len(t_ns)):
        imu[i] = Imu(int(t_ns[i]), tuple(gyro[i]), tuple(accel[i]))
    return imu


def upper(P):
    return P[np.triu_indices(15)]


def full(c):
    P = np.zeros((15, 15))
    P[np.triu_indices(15)] = c
    return P + np.triu(P, 1).T


# ---- GTSAM ------------------------------------------------------------------------------------------------------------------------------

def left_jacobian(v):
    a, S = np.linalg.norm(v), skew(v)
    return np.eye(3) + (1 - np.cos(a)) / a**2 * S + (a - np.sin(a)) / a**3 * S @ S


def peer(gtsam, t, gyro, accel, bias, fine):
    """Preintegral by GTSAM of a signal that is linear between samples, each interval in `fine` midpoint steps; Richardson extrapolation from two
    step sizes, because GTSAM's rule is of first order. Rotation, velocity, position, and covariance of (w, v, p) in vfront's errors.
    """
    params = gtsam.PreintegrationParams.MakeSharedU(9.81)
    params.setGyroscopeCovariance(np.eye(3) * ADIS16448[0]**2)
    params.setAccelerometerCovariance(np.eye(3) * ADIS16448[1]**2)
    params.setIntegrationCovariance(np.zeros((3, 3)))
    pim = gtsam.PreintegratedImuMeasurements(params, gtsam.imuBias.ConstantBias(bias[3:], bias[:3]))
    for i in range(len(t) - 1):
        for k in range(fine):
            part = (k + 0.5) / fine
            pim.integrateMeasurement(accel[i] + part * (accel[i + 1] - accel[i]), gyro[i] + part * (gyro[i + 1] - gyro[i]),
                                     (t[i + 1] - t[i]) / fine)
    R = pim.deltaRij().matrix()
    to = np.zeros((9, 9))  # GTSAM: rotation vector, position, velocity
    to[:3, :3] = left_jacobian(vector(R))
    to[3:6, 6:9] = to[6:9, 3:6] = np.eye(3)
    return R, np.array(pim.deltaVij()), np.array(pim.deltaPij()), to @ np.array(pim.preintMeasCov()) @ to.T


def beside_gtsam(lib):
    """Largest differences from GTSAM over several motions; None without GTSAM."""
    try:
        import gtsam
    except ImportError as why:
        print(f"gtsam: skipped, cannot be imported ({why})")
        return None
    random = np.random.default_rng(5)
    worst = np.zeros(5)
    for run in range(6):
        t_ns = 10**9 + np.arange(41) * 5_000_000
        t = t_ns * 1e-9
        gyro = random.normal(0, 1, 3) + sum(random.normal(0, 0.5, 3) * np.sin(random.uniform(1, 25) * t[:, None] + k) for k in range(3))
        accel = random.normal(0, 5, 3) + sum(random.normal(0, 2, 3) * np.sin(random.uniform(1, 25) * t[:, None] + k) for k in range(3))
        bias = np.r_[random.normal(0, 0.05, 3), random.normal(0, 0.3, 3)]
        coarse, (R, v, p, P) = peer(gtsam, t, gyro, accel, bias, 50), peer(gtsam, t, gyro, accel, bias, 100)
        v, p = 2 * v - coarse[1], 2 * p - coarse[2]
        imu, noise = imu_samples(t_ns, gyro, accel), Noise(*ADIS16448)
        motion, own, J = np.zeros(10), np.zeros((9, 9)), np.zeros((9, 6))

        def pointer(a):
            return a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        lib.bridge_preintegrate(ctypes.byref(noise), pointer(bias), imu, len(t_ns), ctypes.c_uint64(int(t_ns[0])),
                                ctypes.c_uint64(int(t_ns[-1])), pointer(motion), pointer(own), pointer(J))
        L = np.linalg.inv(np.linalg.cholesky(P))
        values = np.linalg.eigvalsh(L @ own @ L.T)
        D = np.zeros((9, 6))
        for c in range(6):
            for fine, weight in ((10, -1), (20, 2)):
                sides = [peer(gtsam, t, gyro, accel, bias + s * 1e-4 * np.eye(6)[c], fine) for s in (-1, 1)]
                D[:, c] += weight * np.r_[vector(sides[1][0] @ sides[0][0].T), sides[1][1] - sides[0][1], sides[1][2] - sides[0][2]] / 2e-4
        turned = 2 * vector(R @ matrix(motion[:4]).T) - vector(coarse[0] @ matrix(motion[:4]).T)
        found = [np.abs(turned).max(), np.abs(v - motion[4:7]).max(), np.abs(p - motion[7:]).max(),
                 np.abs(np.sqrt(values) - 1).max(), np.abs(D - J).max() / np.abs(D).max()]
        worst = np.maximum(worst, found)
    print("GTSAM, 0.2 s at 200 Hz, its rule in steps of 50 and 100 us, extrapolated: differences of rotation %.1e rad, velocity %.1e m/s, position %.1e m; deviations of any "
          "combination of errors within %.1e, derivatives by the biases within %.1e" % tuple(worst))
    return bool((worst < (1e-8, 1e-7, 1e-8, 1e-3, 1e-3)).all())


# ---- recorded sets ----------------------------------------------------------------------------------------------------------------------

class Set:
    """IMU samples and truth of a set: t_ns, p, R, v, bg, ba of each pose."""

    def __init__(self, name):
        self.name, folder = name, os.path.join(DATA, name)
        if name.startswith("euroc"):
            self.noise = ADIS16448
            imu = np.genfromtxt(f"{folder}/mav0/imu0/data.csv", delimiter=",", comments="#")
            times = np.genfromtxt(f"{folder}/mav0/imu0/data.csv", delimiter=",", comments="#", dtype=np.int64, usecols=0)
            truth = np.genfromtxt(f"{folder}/mav0/state_groundtruth_estimate0/data.csv", delimiter=",", comments="#")
            poses = np.genfromtxt(f"{folder}/mav0/state_groundtruth_estimate0/data.csv", delimiter=",", comments="#", dtype=np.int64, usecols=0)
            self.t_ns, self.gyro, self.accel = times, imu[:, 1:4], imu[:, 4:7]
            self.truth = [(int(t), s[1:4], matrix(s[4:8]), s[8:11], s[11:14], s[14:17]) for t, s in zip(poses, truth)]
        else:
            self.noise = RT3003
            self.driving(folder)

    def driving(self, folder):
        """KITTI: poses of camera 0 in its initial axes. Velocity: from a parabola through five positions. Vertical: mean of the rotated forces minus
        the parabolas' accelerations over the whole sequence. Biases: 0.
        """
        imu = np.genfromtxt(f"{folder}/imu.csv", delimiter=",", comments="#")
        times, T = np.loadtxt(f"{folder}/times.txt"), np.loadtxt(f"{folder}/T_cam0_imu.txt")
        poses = np.array([np.vstack([row.reshape(3, 4), [0, 0, 0, 1]]) @ T for row in np.loadtxt(f"{folder}/poses.txt")])
        self.t_ns, self.gyro, self.accel = np.round((imu[:, 0] + 1) * 1e9).astype(np.int64), imu[:, 1:4], imu[:, 4:7]
        states, forces = [], []
        for i in range(2, len(poses) - 2):
            at = times[i - 2:i + 3] - times[i]
            curve = np.linalg.lstsq(np.stack([np.ones(5), at, at**2], 1), poses[i - 2:i + 3, :3, 3], rcond=None)[0]
            around = np.abs(imu[:, 0] - times[i]) < 0.2
            forces.append(poses[i, :3, :3] @ self.accel[around].mean(0) - 2 * curve[2])
            states.append((times[i], poses[i], curve[1]))
        up = np.mean(forces, 0)
        self.noise = self.noise[:7] + (float(np.linalg.norm(up)),)
        z = up / np.linalg.norm(up)
        x = np.cross([0, 1, 0], z)
        x /= np.linalg.norm(x)
        W = np.stack([x, np.cross(z, x), z])
        self.truth = [(int(round((t + 1) * 1e9)), W @ M[:3, 3], W @ M[:3, :3], W @ v, np.zeros(3), np.zeros(3)) for t, M, v in states]

    def first(self, state):
        """State of the truth, with its standard deviations."""
        t, p, R, v, bg, ba = state
        (sp, sw, _, sv), (sg, sa) = TRUTH[self.name], BIASES[self.name]
        P = np.diag(np.repeat([sp, sw, sv, sg, sa], 3)**2)
        return Nav(t, tuple(p), tuple(v), tuple(quaternion(R)), tuple(bg), tuple(ba), tuple(upper(P)), 0, 0)

    def errors(self, covariance, start, p, v, t):
        """Covariance of the errors after t [s] at p, v: without the tilt error common with the start, plus the truth's own."""
        S, (sp, sw, sr, sv), up = full(covariance)[:9, :9], TRUTH[self.name], np.array([0, 0, self.noise[7]])
        by_tilt = np.zeros((9, 3))
        by_tilt[:3] = -skew(p - start[1] - start[3] * t + up * t * t / 2)
        by_tilt[3:6] = np.eye(3) / 2
        by_tilt[6:] = -skew(v - start[3] + up * t)
        S[:, 3:6] -= sw**2 * by_tilt
        S[3:6, :] -= sw**2 * by_tilt.T
        return S + np.diag(np.repeat([sp, sr, sv], 3)**2)

    def measure(self, lib, seconds, every, factor, gap):
        """Errors and NEES after a duration: [(position, velocity, attitude, NEES)]."""
        noise = Noise(*[v * factor if i < 4 else v for i, v in enumerate(self.noise)])
        times = np.array([s[0] for s in self.truth])
        rows = []
        for i in range(0, len(times), every):
            j = int(np.searchsorted(times, times[i] + seconds * 1e9 - 1e6))
            if j >= len(times) or times[i] < self.t_ns[0] or times[j] > self.t_ns[-1] or times[j] > times[i] + seconds * 1e9 + 6e7:
                continue
            a, b = np.searchsorted(self.t_ns, times[i]) - 3, np.searchsorted(self.t_ns, times[j]) + 3
            at = np.arange(max(a, 0), min(b, len(self.t_ns)))
            if gap:
                since = (self.t_ns[at] - times[i]) % 500_000_000
                at = at[(since < 225_000_000) | (since > 275_000_000)]
            imu, nav = imu_samples(self.t_ns[at], self.gyro[at], self.accel[at]), self.first(self.truth[i])
            status = lib.vfront_propagate(ctypes.byref(nav), ctypes.byref(noise), imu, len(at), ctypes.c_uint64(int(times[j])), ctypes.byref(nav))
            if status:
                sys.exit(f"{self.name}: start {i}: status {status}")
            if gap and seconds >= 0.5 and not nav.flags & GAP:
                sys.exit(f"{self.name}: start {i}: a gap without its flag")
            _, p, R, v, _, _ = self.truth[j]
            e = np.r_[p - np.array(nav.p), vector(R @ matrix(np.array(nav.q)).T), v - np.array(nav.v)]
            S = self.errors(np.array(nav.covariance), self.truth[i], np.array(nav.p), np.array(nav.v), (times[j] - times[i]) * 1e-9)
            rows.append((np.linalg.norm(e[:3]), np.linalg.norm(e[6:]), np.linalg.norm(e[3:6]), e @ np.linalg.solve(S, e) / 9))
        return np.array(rows)


def recorded(lib, quick, factor):
    """Prints the table of the sets. Returns the number of missing ones, and whether all bounds held."""
    print("set                    way    starts  position rms, most   velocity rms, most    attitude rms, most     NEES mean, median")
    missing, good = 0, True
    for name in TRUTH:
        if not os.path.isdir(os.path.join(DATA, name)):
            print(f"{name}: skipped, not in {DATA}")
            missing += 1
            continue
        one = Set(name)
        for gap in (False, True):
            for seconds, bound in zip(HORIZONS_S, BOUNDS[name]):
                rows = one.measure(lib, seconds, 10 if quick and len(one.truth) > 200 else 1, factor, gap)
                if not len(rows) or (gap and seconds < 0.5):
                    continue
                rms, most = np.sqrt((rows**2).mean(0)), rows.max(0)
                print(f"{name:22} {seconds:.1f} s  {len(rows):5}  {rms[0] * 1e3:7.1f} {most[0] * 1e3:7.1f} mm  {rms[1] * 1e3:7.1f} {most[1] * 1e3:7.1f} mm/s"
                      f"  {rms[2] * 1e3:6.2f} {most[2] * 1e3:6.2f} mrad  {rows[:, 3].mean():6.2f} {np.median(rows[:, 3]):6.2f}"
                      + (", gap of 50 ms" if gap else ""))
                if not gap and not (rms[:3] <= bound).all():
                    print(f"{name}: {seconds} s: over the bound {bound}")
                    good = False
    return missing, good


def main():
    if len(sys.argv) < 2 or not os.path.exists(sys.argv[1]):
        print(f"propagate: skipped, {sys.argv[1] if len(sys.argv) > 1 else 'the bridge'} is missing")
        sys.exit(77)
    lib = ctypes.CDLL(os.path.abspath(sys.argv[1]))
    factor = float(sys.argv[sys.argv.index("--noise") + 1]) if "--noise" in sys.argv else 1.0
    same = beside_gtsam(lib)
    missing, good = recorded(lib, "--quick" in sys.argv, factor)
    skipped = missing + (same is None)
    if skipped:
        print(f"{skipped} of {1 + len(TRUTH)} parts skipped")
    if same is False:
        print("GTSAM: other than vfront")
    sys.exit(1 if same is False or not good else 77 if skipped == 1 + len(TRUTH) else 0)


if __name__ == "__main__":
    main()
