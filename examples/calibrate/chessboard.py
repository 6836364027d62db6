#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calibrates two cameras, or one, from pictures of a chessboard, by OpenCV; replay, calibrate and the companion read the files.

    chessboard.py --board 9x6 --square 0.025 --out rig left*.png [--second right*.png]

--board: inner corners, columns by rows; --square: side of a square [m], measured on the print. Pictures of both cameras go together by
their number. Writes rig/intrinsics.yml and, of two cameras, rig/extrinsics.yml: --calibration=rig/intrinsics.yml,rig/extrinsics.yml.
Exit: 0 done, 1 too few pictures with a whole board, or the fit is bad; 2 wrong usage."""
import argparse
import pathlib
import re
import sys

import cv2
import numpy as np

LEAST = 8  # pictures with a whole board
GOOD_PX = 0.5  # RMS distance of corners of a calibration that can be used


def corners_of(path, board):
    grey = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    if grey is None:
        sys.exit(f"chessboard: {path}: is no picture")
    found, corners = cv2.findChessboardCorners(grey, board)
    if found:
        corners = cv2.cornerSubPix(grey, corners, (5, 5), (-1, -1), (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 30, 0.01))
    return grey.shape[::-1], corners if found else None


def number_of(path):
    return "".join(re.findall(r"\d+", pathlib.Path(path).stem))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--board", required=True)
    parser.add_argument("--square", required=True, type=float)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("first", nargs="+")
    parser.add_argument("--second", nargs="+")
    a = parser.parse_args()
    if not re.fullmatch(r"\d+x\d+", a.board) or a.square <= 0:
        parser.error("--board is columns x rows, as 9x6; --square a length above 0 [m]")
    board = tuple(int(n) for n in a.board.split("x"))
    points = np.zeros((board[0] * board[1], 3), np.float32)
    points[:, :2] = a.square * np.mgrid[: board[0], : board[1]].T.reshape(-1, 2)
    seen, size = [{}, {}], None
    for camera, paths in enumerate((a.first, a.second or [])):
        for path in paths:
            size, corners = corners_of(path, board)
            if corners is not None:
                seen[camera][number_of(path)] = corners
            print(f"{path}: {'the board' if corners is not None else 'no whole board'}")
    both = sorted(set(seen[0]) & set(seen[1])) if a.second else sorted(seen[0])
    if len(both) < LEAST:
        sys.exit(f"chessboard: {len(both)} pictures with a whole board{' in both cameras' if a.second else ''}, {LEAST} are needed")
    fits = [cv2.calibrateCamera([points] * len(s), list(s.values()), size, None, None) for s in (seen if a.second else seen[:1])]
    a.out.mkdir(parents=True, exist_ok=True)
    file = cv2.FileStorage(str(a.out / "intrinsics.yml"), cv2.FILE_STORAGE_WRITE)
    for i, (_, K, D, _, _) in enumerate(fits):
        file.write(f"M{i + 1}", K)
        file.write(f"D{i + 1}", D)
    file.release()
    rms = [f[0] for f in fits]
    if a.second:
        pairs = [[s[n] for n in both] for s in seen]
        K, D = [f[1] for f in fits], [f[2] for f in fits]
        error, *_, R, T, _, _ = cv2.stereoCalibrate([points] * len(both), *pairs, K[0], D[0], K[1], D[1], size, flags=cv2.CALIB_FIX_INTRINSIC)
        rms.append(error)
        file = cv2.FileStorage(str(a.out / "extrinsics.yml"), cv2.FILE_STORAGE_WRITE)
        file.write("R", R)
        file.write("T", T)
        file.release()
        print(f"baseline {np.linalg.norm(T):.4f} m")
    print(f"RMS distance of corners: {', '.join(f'{e:.2f}' for e in rms)} px, of {len(both)} pictures")
    if max(rms) > GOOD_PX:
        sys.exit(f"chessboard: over {GOOD_PX} px: a board that is not flat, blurred pictures, or --board or --square that are not those of the board")


if __name__ == "__main__":
    main()
