#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures stixels on synthetic scenes with ground truth: obstacles found, false alarms, tops of obstacles, sky. It asserts nothing.

    tests/depth/stixel.py build/bridge_stixel.so [--set name=value ...] [--only name ...] [--seeds FIRST LAST] [--given] [--preset name]

--set    Tuning values that are not those of the preset.
--only   These cameras alone: car rover drone.
--seeds  Scenes to draw. The presets were chosen on seeds 1 to 6; the table of tests/depth/README.md is of 101 to 124.
--preset Values of this camera for all; else each has its own.
--given  The rig gives height and pitch of the camera; else they are estimated from the disparities.

A scene is a plain with boxes on it, hills at 300 m in some directions, and sky, as two cameras see it: texture of several sizes, 2 x 2
rays a pixel, noise of 2 grey levels, 2 % between the gains. Sky is bright, graded, cloudy or dull in turns. Whole front end: dense, then stixel.

car      1024x384, f 700 px, baseline 0.4 m, 1.65 m above the road; boxes of 0.3 to 2.5 m at 6 to 60 m
rover    512x285, f 257.7 px, baseline 0.07 m, 0.3 to 0.6 m above the ground, 6 to 16 degrees down; boxes of 0.1 to 1 m at 1 to 10 m
drone    640x480, f 360 px, baseline 0.05 m, 0.8 to 2 m above the ground, 8 to 25 degrees down; the same boxes

step     Difference between the disparity of an obstacle and that of the ground that is seen just above it [px].
found    Columns wholly within an obstacle in which an object covers half of its rows or more, with a disparity within 1 px or 15 % [%].
false    Objects of 1 px or more (2 px on hills) a frame where there is none, in columns 8 px or more away from all obstacles, or off the obstacle's rows.
top      Median of how far an object's top is above that of its obstacle, of those found that end before the sky [px].
sky      Share of the pixels of the sky that are called object [%].
Columns whose lowest ground is hidden from camera 1 do not count.
"""
import ctypes
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMN = 5  # width [px]
STEPS = (0.5, 1, 2, 3, 6, 1000)
CAMERAS = {  # width, height, focal length [px], baseline [m]; height [m] and pitch [degrees]; obstacles' height and distance [m]; disparities
    "car": (1024, 384, 700.0, 0.4, (1.6, 1.7), (-1.0, 1.0), (0.3, 2.5), (6.0, 60.0), 128),
    "rover": (512, 285, 257.69, 0.07, (0.3, 0.6), (-16.0, -6.0), (0.1, 1.0), (1.0, 10.0), 64),
    "drone": (640, 480, 360.0, 0.05, (0.8, 2.0), (-25.0, -8.0), (0.1, 1.0), (1.0, 10.0), 64),
}

try:
    import numpy as np
except ImportError as missing:
    print("skipped: %s (apt install python3-numpy)" % missing)
    sys.exit(77)


# ---- scenes -------------------------------------------------------------------------------------------------------------------


def lattice(i, j, seed):
    """Random number 0..1 of a point of a grid."""
    x = (i.astype(np.int64) * 73856093) ^ (j.astype(np.int64) * 19349663) ^ (seed * 83492791)
    x = (x ^ (x >> 13)) * 1274126177 & 0x7fffffff
    return ((x ^ (x >> 11)) & 0xffff) / 65535.0


def noise(u, v, seed):
    """Value noise with cells of size 1."""
    i, j = np.floor(u), np.floor(v)
    a, b = u - i, v - j
    low = lattice(i, j, seed) * (1 - a) + lattice(i + 1, j, seed) * a
    high = lattice(i, j + 1, seed) * (1 - a) + lattice(i + 1, j + 1, seed) * a
    return low * (1 - b) + high * b


def texture(u, v, footprint, seed, size, sizes=5, along=0.0):
    """Noise of some sizes, each left out where it is smaller than a pixel, and less where a pixel averages over several along v. Mean 0."""
    out = np.zeros_like(u)
    for k in range(sizes):
        cell = size * 2.0 ** k
        weight = np.clip(cell / footprint - 1.0, 0.0, 1.0) * np.minimum(1.0, np.sqrt(cell / (along + 1e-9)))
        out += weight * (noise(u / cell, v / cell, seed + k) - 0.5)
    return out


class Scene:
    def __init__(self, name, seed):
        self.name = name
        self.rng = rng = np.random.default_rng(seed * 1000 + sorted(CAMERAS).index(name))
        self.width, self.height, self.focal, self.baseline, up, tilt, high, away, self.disparities = CAMERAS[name]
        self.up, self.pitch = rng.uniform(*up), np.radians(rng.uniform(*tilt))
        self.cx, self.cy = (self.width - 1) / 2, (self.height - 1) / 2
        self.sky = seed % 4
        self.seed = seed * 131
        self.dim = rng.uniform(0.6, 1.0)  # contrast of the ground
        self.boxes = []  # x0, x1, z0, z1, height, grey: on the ground, z along it
        taken = []
        for _ in range(60):
            z, h = away[0] * (away[1] / away[0]) ** rng.uniform(), high[0] * (high[1] / high[0]) ** rng.uniform()
            w = h * rng.uniform(0.7, 1.5)
            x = rng.uniform(-0.75, 0.75) * z * self.width / 2 / self.focal
            left, right = (self.cx + self.focal * e / z for e in (x - w / 2, x + w / 2))
            if any(left < b + 30 and right > a - 30 for a, b in taken) or len(taken) == 7:
                continue
            taken.append((left, right))
            self.boxes.append((x - w / 2, x + w / 2, z, z + w, h, rng.uniform(60, 170)))

    def rays(self, xs, ys):
        """Directions in axes of the ground: right, up, ahead."""
        c, s = np.cos(self.pitch), np.sin(self.pitch)
        x, y = (xs - self.cx) / self.focal, -(ys - self.cy) / self.focal
        return x, y * c + s, c - y * s

    def trace(self, xs, ys, right):
        """Grey levels, what is seen (-1 sky, -2 hills, 0 ground, else number of the box), disparity."""
        dx, dy, dz = self.rays(xs, ys)
        c, s = np.cos(self.pitch), np.sin(self.pitch)
        x0 = self.baseline if right else 0.0
        far = np.full(xs.shape, np.inf)
        what = np.full(xs.shape, -1)
        bearing, lift = np.arctan2(dx, dz), np.degrees(np.arctan2(dy, np.hypot(dx, dz)))
        grey = [np.full(xs.shape, 235.0), 215 - 1.2 * lift, 190 + 40 * (noise(bearing * 6, lift / 6, 5) - 0.5),
                np.full(xs.shape, 105.0)][self.sky]
        with np.errstate(divide="ignore", invalid="ignore"):
            hills = (lift > 0) & (lift < 5 * noise(bearing * 8 + 9, 0 * lift, self.seed) - 1)
            t = 300.0 / dz
            grey = grey.copy()
            grey[hills] = 70 + 90 * texture((x0 + t * dx)[hills], (t * dy)[hills], (t / self.focal)[hills], self.seed + 7, 1.0)
            what[hills], far[hills] = -2, t[hills]
            t = np.where(dy < 0, -self.up / dy, np.inf)
            hit = t < far
            grey[hit] = 110 + 110 * self.dim * texture((x0 + t * dx)[hit], (t * dz)[hit], (t / self.focal)[hit], self.seed,
                                                       0.01 if self.up < 1 else 0.03, 9, (t * t / self.focal / self.up)[hit])
            what[hit], far[hit] = 0, t[hit]
            for n, box in enumerate(self.boxes):
                self.trace_box(n, box, x0, (xs, ys, dx, dy, dz), (grey, what, far))
            depth = far * (dz * c + dy * s)
            return grey, what, np.where(np.isfinite(far), self.focal * self.baseline / depth, 0.0)

    def trace_box(self, n, box, x0, rays, seen):
        """Puts a box into grey levels, what is seen and how far along its ray."""
        xa, xb, za, zb, h, tone = box
        xs, ys = rays[0], rays[1]
        c, s = np.cos(self.pitch), np.sin(self.pitch)
        corners = [(x - x0, y - self.up, z) for x in (xa, xb) for y in (0, h) for z in (za, zb)]
        u = [self.cx + self.focal * x / (z * c + y * s) for x, y, z in corners]
        v = [self.cy - self.focal * (y * c - z * s) / (z * c + y * s) for x, y, z in corners]
        rows = slice(max(int(min(v)) - 1, 0), max(int(max(v)) + 3, 0))
        columns = slice(max(int(min(u)) - 1, 0), max(int(max(u)) + 3, 0))
        dx, dy, dz = (r[rows, columns] for r in rays[2:])
        grey, what, far = (r[rows, columns] for r in seen)
        for face in range(4):  # front, top, sides
            t = za / dz if face == 0 else (h - self.up) / dy if face == 1 else ((xa if face == 2 else xb) - x0) / dx
            px, py, pz, e = x0 + t * dx, self.up + t * dy, t * dz, 1e-9
            hit = ((t > 0) & (t < far) & (px >= xa - e) & (px <= xb + e) & (py >= -e) & (py <= h + e) &
                   (pz >= za - e) & (pz <= zb + e))
            u, v = ((px, py), (px, pz), (pz, py), (pz, py))[face]
            if hit.any():
                grey[hit] = tone * (1, 1.2, 0.7, 0.8)[face] + 120 * texture(u[hit], v[hit], t[hit] / self.focal,
                                                                            self.seed + 20 + n, h / 40)
                what[hit], far[hit] = n + 1, t[hit]

    def picture(self, right):
        ys, xs = np.mgrid[0:self.height, 0:self.width].astype(float)
        grey = sum(self.trace(xs + a, ys + b, right)[0] for a in (-0.25, 0.25) for b in (-0.25, 0.25)) / 4
        grey = grey * (1.02 if right else 1.0) + self.rng.normal(0, 2.0, grey.shape)
        return np.clip(np.round(grey), 0, 255).astype(np.uint8)

    def truth(self):
        ys, xs = np.mgrid[0:self.height, 0:self.width].astype(float)
        return self.trace(xs, ys, False)[1:]

    def ground_at(self, row):
        """Disparity of the ground in a row; 0 above the horizon."""
        _, dy, dz = self.rays(self.cx, row)
        if dy >= 0:
            return 0.0
        t = -self.up / dy
        return self.focal * self.baseline / (t * (dz * np.cos(self.pitch) + dy * np.sin(self.pitch)))


# ---- stixels ------------------------------------------------------------------------------------------------------------------


def stixels(bridge, scene, given, preset, settings, pair):
    camera = (ctypes.c_double * 4)(scene.focal, scene.baseline, scene.cx, scene.cy)
    road = (ctypes.c_double * 2)(scene.up if given else 0.0, scene.pitch)
    text = "dense_disparities=%d %s" % (scene.disparities, settings)
    if bridge.bridge_open(scene.width, scene.height, camera, road, preset, text.encode()):
        raise SystemExit(bridge.bridge_detail().decode())
    if bridge.bridge_step(*[p.ctypes.data_as(ctypes.c_void_p) for p in pair]):
        raise SystemExit(bridge.bridge_detail().decode())
    found = np.zeros((65536, 6), np.float32)
    return found[:bridge.bridge_stixels(found.ctypes.data_as(ctypes.c_void_p))]


class Tally:
    def __init__(self):
        self.frames = self.false = self.sky = self.sky_object = 0
        self.sizes = {}  # lower bound of the step: columns, found
        self.tops = []

    def add(self, scene, truth, found):
        what, disparity = truth
        self.frames += 1
        hidden = scene.ground_at(scene.height - 1)
        for x in range(0, scene.width - COLUMN + 1, COLUMN):
            mine = found[found[:, 0] == x]
            objects = mine[mine[:, 3] == 1]
            sky = what[:, x + COLUMN // 2] == -1
            self.sky += sky.sum()
            for s in objects:
                self.sky_object += sky[int(s[2]):int(s[1]) + 1].sum()
            if x < hidden:
                continue
            near = np.unique(what[:, max(x - 8, 0):x + COLUMN + 8])
            inside = np.unique(what[:, x])
            rows = None
            if (near > 0).any():
                here = near[near > 0]
                if len(here) > 1 or here[0] not in inside or here[0] not in what[:, x + COLUMN - 1]:
                    continue
                rows = np.nonzero((what[:, x:x + COLUMN] == here[0]).all(axis=1))[0]
                if len(rows) < 3 or x < disparity[rows[-1], x]:
                    continue
                self.obstacle(scene, disparity[rows[-1], x + COLUMN // 2], rows, objects)
            for s in objects:
                if s[4] < (2.0 if (what[int(s[2]):int(s[1]) + 1, x:x + COLUMN] == -2).any() else 1.0):
                    continue
                on = np.zeros(0) if rows is None else rows[(rows >= s[2] - 8) & (rows <= s[1] + 8)]
                self.false += len(on) == 0

    def obstacle(self, scene, d, rows, objects):
        step = d - scene.ground_at(rows[0] - 1)
        size = max([e for e in (0,) + STEPS if e <= step])
        fits = [s for s in objects if abs(s[4] - d) <= max(1.0, 0.15 * d) and
                2 * ((rows >= s[2]) & (rows <= s[1])).sum() >= len(rows)]
        count = self.sizes.setdefault(size, [0, 0])
        count[0] += 1
        count[1] += len(fits) > 0
        if fits and scene.ground_at(rows[0] - 1) == 0.0:
            self.tops.append(rows[0] - fits[0][2])

    def share(self, least, most=1e9):
        n = [sum(v[i] for k, v in self.sizes.items() if least <= k < most) for i in range(2)]
        return "%5.1f (%d)" % (100.0 * n[1] / n[0], n[0]) if n[0] else "- (0)"

    def row(self):
        return " | ".join([self.share(0.5, 1), self.share(1, 2), self.share(2, 3), self.share(3), "%.2f" % (self.false / self.frames),
                           "%.0f" % np.median(self.tops) if self.tops else "-", "%.1f" % (100.0 * self.sky_object / max(self.sky, 1))])


def value(name, count, standard):
    if name not in sys.argv:
        return standard
    at = sys.argv.index(name) + 1
    out = []
    while at < len(sys.argv) and not sys.argv[at].startswith("--") and len(out) < count:
        out.append(sys.argv[at])
        at += 1
    return out


def main():
    bridge = ctypes.CDLL(os.path.abspath(sys.argv[1]))
    bridge.bridge_detail.restype = ctypes.c_char_p
    settings = " ".join(value("--set", 99, []))
    only = value("--only", 99, sorted(CAMERAS))
    first, last = (int(v) for v in value("--seeds", 2, (101, 124)))
    print("| camera | found, step 0.5 to 1 px | 1 to 2 px | 2 to 3 px | 3 px or more | false a frame | top [px] | sky as object |")
    print("|---|---|---|---|---|---|---|---|")
    for name in only:
        preset = ["car", "rover", "drone"].index((value("--preset", 1, []) or [name])[0])
        tally = Tally()
        for seed in range(first, last + 1):
            scene = Scene(name, seed)
            pair = scene.picture(False), scene.picture(True)
            tally.add(scene, scene.truth(), stixels(bridge, scene, "--given" in sys.argv, preset, settings, pair))
        print("| %s | %s |" % (name, tally.row()), flush=True)


if __name__ == "__main__":
    main()
