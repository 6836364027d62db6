#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Doubles rounded to single precision and back, side by side: gcc 11 and 12 for x86-64 make vectors of two out of them, and then take a vector of floats
for one that holds the doubles as they were. The rounding is lost, and with it the bits that every port has in common. This looks for such vectors
in what the compiler makes of the library (its dumps behind the passes slp1 and slp2), with all stages.

    tests/house/rounding.py CC FOLDER MAKE [CFLAGS...]      CFLAGS: -O3 and -O2, each a build of its own

Exit: 0 none found, or the compiler rounds; 1 found; 77 a compiler that has no such dumps.
"""
import pathlib
import re
import shutil
import subprocess
import sys

# Two values of which each is kept as float, and goes on as double.
PROBE = """
struct two { double a, b; float x[8], y[8]; };
void keep(struct two *t, int i, double p, double q);
void keep(struct two *t, int i, double p, double q)
{
    t->x[i] = (float)(t->a + p);
    t->y[i] = (float)(t->b + q);
    t->a = (double)t->x[i];
    t->b = (double)t->y[i];
}
"""
MAIN = """
struct two { double a, b; float x[8], y[8]; };
void keep(struct two *t, int i, double p, double q);
int main(void)
{
    struct two t = {0.0, 0.0, {0.0f}, {0.0f}};
    keep(&t, 1, 0.1, 0.3);
    return t.a != (double)t.x[1] || t.b != (double)t.y[1];
}
"""
DUMPS = ["-fdump-tree-slp1", "-fdump-tree-slp2"]
CONFIG = "tests/config/check.h"  # all stages


def lost(folder):
    """File and function of each pair of conversions, of vectors of doubles to as many floats and back, in the dumps of a folder."""
    found = set()
    for path in sorted(folder.rglob("*t.slp[12]")):
        for function in path.read_text(errors="replace").split("\n;; Function ")[1:]:
            doubles = set(re.findall(r"^\s+vector\(\d+\) double (\S+);", function, re.M))
            floats = {to for to, of in re.findall(r"^\s+(\S+) = \(vector\(\d+\) float\) (\S+);", function, re.M) if {of, re.sub(r"_\d+$", "", of)} & doubles}
            if floats & set(re.findall(r"^\s+\S+ = \(vector\(\d+\) double\) (\S+);", function, re.M)):
                found.add((path.name.split(".c.")[0] + ".c", function.split()[0]))
    return sorted(found)


def probe(cc, folder):
    """1 if the compiler makes such vectors of PROBE, and 1 if what it makes of it does not round."""
    for name, text in (("keep", PROBE), ("main", MAIN)):
        (folder / f"{name}.c").write_text(text)
    subprocess.run([cc, "-O3", "-c", "keep.c", "-o", "keep.o", *DUMPS], cwd=folder, check=True)
    subprocess.run([cc, "-O3", "main.c", "keep.o", "-o", "main"], cwd=folder, check=True)
    return bool(lost(folder)), subprocess.run([folder / "main"]).returncode != 0


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    cc, folder, make, *flags = sys.argv[1:]
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if "Free Software Foundation" not in subprocess.run([cc, "--version"], capture_output=True, text=True).stdout:
        print(f"rounding: skipped, {cc} is not gcc")
        return 77
    made, wrong = probe(cc, folder)
    if not wrong:
        print(f"rounding: {cc} rounds two doubles side by side")
        return 0
    if not made:
        print(f"rounding: {cc} does not round, and its dumps do not show where")
        return 1
    bad = 0
    for number, cflags in enumerate(flags or ["-O3", "-O2"]):
        build = folder / str(number)
        done = subprocess.run([make, "-s", f"CC={cc}", "CUDA=0", f"CFG={CONFIG}", f"BUILD={build}", f"CFLAGS={cflags}", "EXTRA=" + " ".join(DUMPS), "lib"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"rounding: {cflags}: {done.stdout}{done.stderr}")
        places, files = lost(build), len(list(build.rglob("*t.slp[12]")))
        for file, function in places:
            print(f"rounding: {cflags}: {file}, {function}: doubles go through single precision two by two, and {cc} leaves out the rounding")
        bad += len(places)
        if not files and number == 0: # at other flags gcc 11 makes no such vectors
            print(f"rounding: {cflags}: no dumps")
            bad += 1
        print(f"rounding: {cflags}: {len(places)} places in {files} dumps")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
