#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks rectified images of real stereo pairs: row differences, sizes of chessboard squares, grey levels; OpenCV's results for comparison.

    tests/camera/opencv_rectify.py build/bridge_rectify.so

Exit: 0 good, 1 not, 77 no cv2, no bridge or no data ($VFRONT_DATA, else ../shared/data).

rows      Median of the difference in rows of one point in both images [px]: corners of a chessboard, and SIFT key points that match. Beside
          it the same in images that OpenCV rectifies with its own rotations, and how many points there were.
squares   Sides of the chessboard's squares, from the disparity of their corners: mean and spread, in squares.
grey      Mean and greatest absolute difference to a remapping in floating point with OpenCV's map for our rotation and pinhole, and to
          cv2.remap(), which goes by 1/32 px [grey levels], where the camera sees.
"""
import ctypes
import os
import pathlib
import sys

try:
    import cv2
    import numpy as np
except ImportError as missing:
    print(f"opencv_rectify: SKIPPED, {missing}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path(os.environ.get("VFRONT_DATA") or ROOT.parent / "shared" / "data")
BOARD = (9, 6)
MORE_THAN_OPENCV, MOST_ROWS = 0.03, 0.3 # of rows [px]
MOST_SQUARE = 0.01                      # off 1, in the mean of all sides
MOST_GREY = 0.6                         # mean; rounding alone is 0.25


class Camera(ctypes.Structure):
    _fields_ = [("f", ctypes.c_double * 2), ("c", ctypes.c_double * 2), ("distortion", ctypes.c_double * 8), ("R", ctypes.c_double * 9),
                ("t", ctypes.c_double * 3), ("lens", ctypes.c_int32), ("valid", ctypes.c_int32 * 4)]

    def matrix(self):
        return np.array([[self.f[0], 0, self.c[0]], [0, self.f[1], self.c[1]], [0, 0, 1]])

    def rotation(self):
        return np.array(self.R).reshape(3, 3)

    def numbers(self):
        return np.array(self.distortion[:5])

    def place(self):
        return -self.rotation().T @ np.array(self.t)


def camera(f, c, distortion, R, t):
    made = Camera()
    made.f[:], made.c[:], made.R[:], made.t[:] = f, c, np.ravel(R), np.ravel(t)
    made.distortion[:len(distortion)] = distortion
    return made


def rectify(bridge, cameras, pair):
    """Both images, and the cameras that would have taken them."""
    pair = np.ascontiguousarray(np.stack(pair))
    given, seen, out = (Camera * 2)(*cameras), (Camera * 2)(), np.zeros_like(pair)
    pointer = ctypes.c_void_p
    status = bridge.bridge_rectify(given, pair.shape[2], pair.shape[1], pointer(pair.ctypes.data), pointer(out.ctypes.data), seen)
    if status:
        bridge.bridge_detail.restype = ctypes.c_char_p
        raise RuntimeError(f"status {status}: {bridge.bridge_detail().decode()}")
    return out, list(seen)


def rectify_opencv(cameras, pair):
    """The same with cv2.stereoRectify()."""
    (a, b), size = cameras, pair[0].shape[::-1]
    R = b.rotation() @ a.rotation().T
    t = np.array(b.t) - R @ np.array(a.t)
    Ra, Rb, Pa, Pb = cv2.stereoRectify(a.matrix(), a.numbers(), b.matrix(), b.numbers(), size, R, t, alpha=-1)[:4]
    return [cv2.remap(p, *cv2.initUndistortRectifyMap(c.matrix(), c.numbers(), Rc, P[:, :3], size, cv2.CV_32FC1), cv2.INTER_LINEAR)
            for p, c, Rc, P in zip(pair, cameras, (Ra, Rb), (Pa, Pb))]


def bilinear(picture, x, y):
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    a, b, p = x - x0, y - y0, picture.astype(float)
    return (1 - b) * ((1 - a) * p[y0, x0] + a * p[y0, x0 + 1]) + b * ((1 - a) * p[y0 + 1, x0] + a * p[y0 + 1, x0 + 1])


def grey_differences(cameras, pair, out, seen):
    """Against floating point, and against cv2.remap()."""
    exact, theirs = [], []
    for c, n, raw, is_now in zip(cameras, seen, pair, out):
        R = n.rotation() @ c.rotation().T
        x, y = cv2.initUndistortRectifyMap(c.matrix(), c.numbers(), R, n.matrix(), raw.shape[::-1], cv2.CV_32FC1)
        inside = (x > 0.01) & (y > 0.01) & (x < raw.shape[1] - 1.01) & (y < raw.shape[0] - 1.01)
        exact.append(np.abs(is_now[inside] - bilinear(raw, x[inside].astype(float), y[inside].astype(float))))
        theirs.append(np.abs(is_now[inside].astype(float) - cv2.remap(raw, x, y, cv2.INTER_LINEAR)[inside]))
        if is_now[~((x > -0.01) & (y > -0.01) & (x < raw.shape[1] - 0.99) & (y < raw.shape[0] - 0.99))].any():
            raise RuntimeError("something is seen outside the picture")
    return np.concatenate(exact), np.concatenate(theirs)


def board(picture):
    found, corners = cv2.findChessboardCorners(picture, BOARD)
    if not found:
        return None
    tight = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 100, 1e-4)
    return cv2.cornerSubPix(picture, corners, (5, 5), (-1, -1), tight).reshape(-1, 2).astype(float)


def boards(pair):
    a, b = board(pair[0]), board(pair[1])
    if a is None or b is None:
        return None
    return (a, b) if np.abs(a - b)[:, 1].max() < 5 else (a, b[::-1]) # some boards look the same upside down


def matches(pair):
    sift = cv2.SIFT_create(1500)
    (ka, da), (kb, db) = (sift.detectAndCompute(p, None) for p in pair)
    both = cv2.BFMatcher().knnMatch(da, db, k=2)
    good = [m for m, second in both if m.distance < 0.7 * second.distance]
    a, b = np.array([ka[m.queryIdx].pt for m in good]), np.array([kb[m.trainIdx].pt for m in good])
    near = np.abs(a - b)[:, 1] < 3
    return a[near], b[near]


def sides(points, seen):
    """Of all squares, from corners in both images."""
    (a, b), (n, m) = points, seen
    baseline = np.linalg.norm(n.place() - m.place())
    z = n.f[0] * baseline / (a - b)[:, 0]
    at = np.column_stack([(a - np.array(n.c)) / np.array(n.f) * z[:, None], z]).reshape(BOARD[1], BOARD[0], 3)
    return np.concatenate([np.linalg.norm(np.diff(at, axis=k), axis=2).ravel() for k in (0, 1)])


def chessboard(folder):
    lines = [line.partition(":") for line in (folder / "calib.txt").read_text().splitlines()]
    rows = {key.split()[0]: [float(v) for v in values.split()] for key, _, values in lines}
    K = [np.array(rows[k]).reshape(3, 3) for k in ("K1", "K2")]
    place = [(np.eye(3), np.zeros(3)), (rows["R"], rows["T"])]
    cameras = [camera(k.diagonal()[:2], k[:2, 2], rows[d][:5], *p) for k, d, p in zip(K, ("D1", "D2"), place)]
    pictures = [(p, p.with_name(p.name.replace("left", "right"))) for p in sorted(folder.glob("left*.png"))]
    return cameras, [[cv2.imread(str(p), cv2.IMREAD_GRAYSCALE) for p in pair] for pair in pictures]


def euroc(folder):
    def take(name):
        rows = (folder / name / "sensor.yaml").read_text().split("data: [")[1].split("]")[0]
        T = np.array([float(v) for v in rows.split(",")]).reshape(4, 4) # camera to body
        line = {k: v for k, _, v in (row.partition(":") for row in (folder / name / "sensor.yaml").read_text().splitlines())}
        numbers = lambda key: [float(v) for v in line[key].split("#")[0].strip(" []").split(",")]
        f = numbers("intrinsics")
        return camera(f[:2], f[2:], numbers("distortion_coefficients"), T[:3, :3].T, -T[:3, :3].T @ T[:3, 3])
    names = sorted(p.name for p in (folder / "cam0" / "data").glob("*.png"))[::5]
    return [take("cam0"), take("cam1")], [[cv2.imread(str(folder / c / "data" / n), cv2.IMREAD_GRAYSCALE) for c in ("cam0", "cam1")] for n in names]


def row_difference(points):
    return np.abs(np.concatenate([(a - b)[:, 1] for a, b in points])) if points else np.array([np.inf])


def judge(bridge, name, cameras, pairs, find):
    """Prints the figures of a set; returns the failures, the points found, and the cameras."""
    ours, theirs, exact, remapped, wrong = [], [], [], [], []
    for pair in pairs:
        out, seen = rectify(bridge, cameras, pair)
        e, r = grey_differences(cameras, pair, out, seen)
        exact, remapped = exact + [e], remapped + [r]
        ours, theirs = ours + [find(out)], theirs + [find(rectify_opencv(cameras, pair))]
    ours, theirs = [p for p in ours if p is not None], [p for p in theirs if p is not None]
    is_off, opencv_off = row_difference(ours), row_difference(theirs)
    exact, remapped = np.concatenate(exact), np.concatenate(remapped)
    print(f"{name:11} rows {np.median(is_off):.3f} px of {len(is_off)} points, OpenCV {np.median(opencv_off):.3f} of {len(opencv_off)} | grey "
          f"{exact.mean():.3f}, at most {exact.max():.2f}; to cv2.remap {remapped.mean():.3f}, {remapped.max():.0f} | sees "
          f"{', '.join('%d+%dx%d+%d' % (v[0], v[2], v[1], v[3]) for v in (list(n.valid) for n in seen))}, focal length {seen[0].f[0]:.1f} px")
    if len(is_off) < 300:
        wrong.append(f"{name}: too few points")
    if not np.median(is_off) <= min(np.median(opencv_off) + MORE_THAN_OPENCV, MOST_ROWS):
        wrong.append(f"{name}: points do not lie in one row")
    if not exact.mean() <= MOST_GREY:
        wrong.append(f"{name}: pictures differ from OpenCV's")
    return wrong, ours, seen


def main(arguments):
    path = pathlib.Path(arguments[0]).resolve() if arguments else ROOT / "build" / "bridge_rectify.so"
    board_folder, euroc_folder = DATA / "stereo_chessboard", DATA / "euroc_v101_static_a" / "mav0"
    for needed in (path, board_folder, euroc_folder):
        if not needed.exists():
            print(f"opencv_rectify: SKIPPED, no {needed}")
            return 77
    bridge = ctypes.CDLL(str(path))
    wrong, points, seen = judge(bridge, "chessboard", *chessboard(board_folder), boards)
    all_sides = np.concatenate([sides(p, seen) for p in points])
    print(f"{'':11} squares {all_sides.mean():.4f}, spread {all_sides.std():.4f}, of {len(all_sides)} sides on {len(points)} boards")
    if not abs(all_sides.mean() - 1) <= MOST_SQUARE:
        wrong.append("chessboard: squares are not as large as they are")
    wrong += judge(bridge, "EuRoC", *euroc(euroc_folder), matches)[0]
    print("\n".join("opencv_rectify: " + text for text in wrong) or "opencv_rectify: points lie in one row, and pictures are OpenCV's")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
