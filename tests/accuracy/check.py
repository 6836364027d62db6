#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The scripts of this folder on the rendered flight, written to disk in the layout of each data set.

    tests/accuracy/check.py build/bridge_state.so build/replay

Rows and names are those of the sequences, figures those of the flight: positions within centimetres, equal in every layout that has the same
frames; others' figures beside the right names; help; a folder without sequences, a sequence that is damaged. Exit: 0 good, 1 not, 77 no numpy or
no bridge.
"""
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples"))
from state import write_sets  # ends with 77 where there is no numpy

WORST_M, FRAMES = 0.05, 20
bad = 0


def check(good, what):
    global bad
    if not good:
        print(what)
        bad += 1


def table(which, *words):
    """Exit code of a script, rows by name, and all that it says."""
    done = subprocess.run([str(HERE / f"{which}.sh"), *words], capture_output=True, text=True, env={**os.environ, "PYTHON": sys.executable})
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if "|" in line}
    return done.returncode, rows, done.stdout + done.stderr


def main():
    if len(sys.argv) != 3 or not os.path.exists(sys.argv[1]):
        print(f"accuracy: SKIPPED, no {sys.argv[1] if len(sys.argv) > 1 else 'bridge'}")
        return 77
    replay = ["--replay", sys.argv[2], "--frames", str(FRAMES)]
    for which in ("euroc", "kitti", "kaist"):
        code, _, said = table(which, "--help")
        check(code == 0 and "t_rel" in said and which in said, f"{which}.sh --help: exit {code}")
    with tempfile.TemporaryDirectory(prefix="vfront-accuracy-") as folder:
        root = pathlib.Path(folder)
        write_sets(ctypes.CDLL(str(pathlib.Path(sys.argv[1]).resolve())), root / "drawn")
        for name in ("euroc/MH_01_easy", "euroc/V2_03_difficult", "kaist/circle_head", "kaist/rotation_normal"):
            shutil.copytree(root / "drawn/euroc", root / name)
        shutil.rmtree(root / "euroc/V2_03_difficult/mav0/cam0/data")
        shutil.copytree(root / "drawn/kitti", root / "kitti/sequences/01")
        (root / "kitti/poses").mkdir()
        (root / "kitti/sequences/01/poses.txt").rename(root / "kitti/poses/01.txt")
        code, euroc, said = table("euroc", str(root / "euroc"), *replay)
        if "no libyaml" in said:
            print("accuracy: SKIPPED, no libyaml in replay")
            return 77
        check(code == 1 and "V2_03_difficult    FAILED replay: " in said, f"euroc.sh, one of two damaged: exit {code}\n{said}")
        check(f"the first {FRAMES} frames only" in said, f"euroc.sh does not say that frames are left out:\n{said}")
        check("not there: MH_02" in said and "cuVSLAM" in said, f"euroc.sh does not say what is missing:\n{said}")
        one = euroc.get("MH_01_easy", [])
        check(len(one) == 14 and one[1:3] == [str(FRAMES), "100.0"] and float(one[3]) > 50, f"euroc.sh: {one}")
        check(len(one) == 14 and 0 <= float(one[4]) < WORST_M and 0 < float(one[5]) < WORST_M, f"euroc.sh: {one}")
        check(one[10:] == ["0.040", "0.070", "0.050", "0.860"], f"euroc.sh, figures of others: {one}")
        code, kitti, said = table("kitti", str(root / "kitti"), *replay)
        check(code == 0 and len(kitti) == 2, f"kitti.sh: exit {code}\n{said}")
        row = kitti.get("01", [])
        check(row[1:3] == one[1:3] and row[-1] == "1.960" and abs(float(row[4]) - float(one[4])) < 2e-3, f"kitti.sh: {row}, euroc.sh: {one}")
        code, kaist, said = table("kaist", str(root / "kaist"), *replay, "--jobs", "2")
        check(code == 0 and kaist.get("circle_head", [])[1:8] == one[1:8], f"kaist.sh: exit {code}\n{said}")
        check(kaist.get("circle_head", [])[-4:] == ["0.120", "0.110", "0.130", "0.130"], f"kaist.sh, figures of others:\n{said}")
        check(kaist.get("rotation_normal", [])[-4:] == ["0.070", "0.120", "0.160", "0.170"], f"kaist.sh, figures of others:\n{said}")
        check(kaist.get("mean", [])[-4:] == ["0.095", "0.115", "0.145", "0.150"], f"kaist.sh, means:\n{said}")
        code, _, said = table("kitti", str(root / "euroc"), *replay)
        check(code == 77 and "no sequence in" in said, f"kitti.sh without sequences: exit {code}\n{said}")
        code, _, said = table("kitti", str(root / "kitti"), "--replay", "none", "--only", "01")
        check(code == 2 and "no program none" in said, f"kitti.sh without replay: exit {code}\n{said}")
    print(f"accuracy: {'FAILED' if bad else 'rows of three layouts'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
