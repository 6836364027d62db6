#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares lens models with OpenCV's on random cameras: rays to pixels, and pixels back to rays.

    tests/camera/opencv_lens.py build/bridge_lens.so

Exit: 0 alike, 1 not, 77 no cv2 or no bridge.

project   Our pixels, in an image and one around it, beside those of cv2.projectPoints, cv2.fisheye.projectPoints, cv2.omnidir.projectPoints [px].
back      OpenCV's rays, from cv2.undistortPointsIter, cv2.fisheye.undistortPoints, cv2.omnidir.undistortPoints, beside ours: both taken back to pixels with
          OpenCV's own projection, where they must meet [px].
ray       The same rays, as the angle between them [rad], where OpenCV's ray is in the valid range of the lens. Near the
          end of its range a pixel is many rays wide.
beyond    Pixels whose OpenCV ray is outside the valid range of the lens.
diverged  Pixels left out, since OpenCV's own ray, taken back by OpenCV's own projection, misses its pixel by more than a thousandth
          of the bound: its iteration repeats x = (x' - tangential) / radial, which need not converge for strong lenses; for the fisheye it
          ends at 90 degrees of distorted angle. Ours must be right at these, too, see `ours back`: its ray must go to the pixel.
none      Pixels without a ray in the valid range of the lens.
"""
import ctypes
import pathlib
import sys

try:
    import cv2
    import numpy as np
except ImportError as missing:
    print(f"opencv_lens: SKIPPED, {missing}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BOUND = 1e-6   # of all differences [px]
CAMERAS, POINTS = 200, 300
MOST_DIVERGED = 0.3
RADTAN, RATIONAL, EQUIDISTANT, OMNI = 0, 1, 2, 5
SIZE = np.array([752.0, 480.0])
FISHEYE_CRITERIA = "criteria" in (cv2.fisheye.undistortPoints.__doc__ or "") # not before OpenCV 4.5.5


class Bridge:
    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))

    def call(self, function, camera, given, columns):
        given = np.ascontiguousarray(given, np.float64)
        camera = np.ascontiguousarray(camera, np.float64)
        out, held = np.full((len(given), columns), np.nan), np.zeros(len(given), np.int32)
        pointer = ctypes.c_void_p
        function(pointer(camera.ctypes.data), len(given), pointer(given.ctypes.data), pointer(out.ctypes.data), pointer(held.ctypes.data))
        return out, held.astype(bool)

    def project(self, camera, rays):
        return self.call(self.c.bridge_project, camera, rays, 2)

    def bearing(self, camera, px):
        return self.call(self.c.bridge_bearing, camera, px, 3)


def kinds(dice):
    """Name, lens and random distortion of each kind of camera; its focal length in widths."""
    u = dice.uniform
    small = lambda n, most: list(u(-most, most, n))
    k = [u(0.1, 1.5), u(-0.1, 0.6), u(0.0, 0.05)]
    yield "radtan 4", RADTAN, [u(-0.32, -0.24), u(0.05, 0.1), *small(2, 1e-3)], u(0.5, 0.9)
    yield "radtan 5", RADTAN, [u(-0.3, 0.3), *small(1, 0.1), *small(2, 5e-3), *small(1, 0.02)], u(0.5, 0.9)
    yield "decentred", RADTAN, [*small(2, 0.05), *small(2, 0.03), *small(1, 0.01)], u(0.6, 0.9)
    yield "rational", RATIONAL, [k[0], k[1], *small(2, 1e-3), k[2], k[0] + u(0.1, 0.5), k[1] + u(0.02, 0.3), k[2] + u(0.005, 0.05)], u(0.4, 0.8)
    yield "wild rational", RATIONAL, [*small(2, 0.3), *small(2, 5e-3), *small(4, 0.3)], u(0.6, 0.9)
    yield "fisheye", EQUIDISTANT, small(4, 0.02), u(0.3, 0.5)
    yield "wide fisheye", EQUIDISTANT, [*small(1, 0.05), *small(1, 0.01), *small(1, 2e-3), *small(1, 2e-4)], u(0.2, 0.3)
    if hasattr(cv2, "omnidir"): # of opencv_contrib
        yield "omni", OMNI, [xi := u(0.6, 2.0), u(-0.2, 0.05), u(-0.05, 0.1), *small(2, 2e-3)], u(0.4, 0.7) * (1.0 + xi)


class Lens:
    """OpenCV's view of a camera."""

    def __init__(self, lens, numbers, focal, dice):
        self.lens = lens
        f = focal * SIZE[0] * np.array([1.0, dice.uniform(0.97, 1.03)])
        c = SIZE * dice.uniform(0.45, 0.55, 2)
        self.K = np.array([[f[0], 0, c[0]], [0, f[1], c[1]], [0, 0, 1]])
        self.D = np.array(numbers)
        self.ours = np.array([lens, *f, *c, *numbers, *[0.0] * (8 - len(numbers))])

    def project(self, rays):
        still, points = np.zeros((1, 3)), rays.reshape(-1, 1, 3)
        if self.lens == EQUIDISTANT:
            return cv2.fisheye.projectPoints(points, still, still, self.K, self.D)[0].reshape(-1, 2)
        if self.lens == OMNI:
            return cv2.omnidir.projectPoints(points, still, still, self.K, self.D[0], self.D[1:])[0].reshape(-1, 2)
        return cv2.projectPoints(points, still, still, self.K, self.D)[0].reshape(-1, 2)

    def rays(self, px):
        points, tight = px.reshape(-1, 1, 2), (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 500, 1e-15)
        if self.lens == EQUIDISTANT: # OpenCV gives x / z: no ray beyond 90 degrees
            flat = cv2.fisheye.undistortPoints(points, self.K, self.D, **({"criteria": tight} if FISHEYE_CRITERIA else {}))
        elif self.lens == OMNI:
            flat = cv2.omnidir.undistortPoints(points, self.K, self.D[1:], self.D[:1], np.eye(3))
        else:
            flat = cv2.undistortPointsIter(points, self.K, self.D, None, None, tight)
        return np.column_stack([flat.reshape(-1, 2), np.ones(len(px))])


def some_rays(lens, dice):
    """In front of the camera, all over the image and somewhat beyond; for fisheyes to 180 degrees, but cv2.fisheye divides by z."""
    angle = dice.uniform(0, np.radians(85 if lens == EQUIDISTANT else 50), POINTS)
    turn = dice.uniform(0, 2 * np.pi, POINTS)
    length = 10.0 ** dice.uniform(-3, 3, POINTS)
    return length[:, None] * np.column_stack([np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), np.cos(angle)])


def angle_between(a, b):
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), (a * b).sum(1))


class Figures:
    def __init__(self):
        self.project = self.back = self.ray = self.alone = 0.0
        self.points = self.pixels = self.diverged = self.none = self.beyond = 0

    def add_rays(self, bridge, lens, rays):
        ours, held = bridge.project(lens.ours, rays)
        held[held] = (np.abs(ours[held] - SIZE / 2) < 1.5 * SIZE).all(1) # next to a pole they go anywhere
        self.points += held.sum()
        self.project = max(self.project, np.abs(ours - lens.project(rays))[held].max(initial=0.0))

    def add_pixels(self, bridge, lens, px):
        ours, held = bridge.bearing(lens.ours, px)
        held &= ~held | (ours[:, 2] > 0.01) # the others OpenCV cannot say
        self.none += (~held).sum()
        px, ours = px[held], ours[held]
        if not len(px):
            return
        theirs = lens.rays(px)
        usable = np.isfinite(theirs).all(1) & (np.abs(theirs) < 1e5).all(1)
        theirs[~usable] = (0.0, 0.0, 1.0)
        good = usable & (np.abs(lens.project(theirs) - px).max(1) <= 1e-3 * BOUND)
        self.pixels += len(px)
        self.diverged += (~good).sum()
        again = lens.project(ours)
        self.alone = max(self.alone, np.abs(again - px).max())
        self.back = max(self.back, np.abs(again - lens.project(theirs))[good].max(initial=0.0))
        inside = bridge.project(lens.ours, theirs)[1]
        self.beyond += (good & ~inside).sum()
        self.ray = max(self.ray, angle_between(ours, theirs)[good & inside].max(initial=0.0))


def main(arguments):
    path = pathlib.Path(arguments[0]).resolve() if arguments else ROOT / "build" / "bridge_lens.so"
    if not path.exists():
        print(f"opencv_lens: SKIPPED, no {path}")
        return 77
    bridge, dice, figures = Bridge(path), np.random.RandomState(7), {}
    for _ in range(CAMERAS):
        for name, model, numbers, focal in kinds(dice):
            f, lens = figures.setdefault(name, Figures()), Lens(model, numbers, focal, dice)
            f.add_rays(bridge, lens, some_rays(model, dice))
            f.add_pixels(bridge, lens, SIZE * dice.uniform(0, 1, (POINTS, 2)))
    print(f"{'lens':14} {'rays':>7} {'project':>9} {'pixels':>8} {'none':>6} {'diverged':>8} {'beyond':>7} {'ours back':>9} {'back':>9} {'ray':>9}")
    wrong = []
    for name, f in figures.items():
        print(f"{name:14} {f.points:7d} {f.project:9.1e} {f.pixels:8d} {f.none:6d} {f.diverged:8d} {f.beyond:7d} {f.alone:9.1e} {f.back:9.1e} {f.ray:9.1e}")
        if f.points < CAMERAS * POINTS / 4 or f.pixels < CAMERAS * POINTS / 4:
            wrong.append(f"{name}: hardly anything was compared")
        if not max(f.project, f.back, f.alone) <= BOUND:
            wrong.append(f"{name}: differs by more than {BOUND} px")
        if f.diverged > MOST_DIVERGED * f.pixels:
            wrong.append(f"{name}: OpenCV diverges too often for a comparison")
    print("\n".join("opencv_lens: " + text for text in wrong) or "opencv_lens: rays and pixels are OpenCV's")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
