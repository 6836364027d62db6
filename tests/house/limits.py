#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Registers and shared memory of every kernel against the limits of the architecture that it is compiled for: a newer GPU, on which the parity
tests run, hides the limits of the older ones.

    tests/house/limits.py LIBRARY... [--cuobjdump PROGRAM] [--table]      LIBRARY: .a or .o; --table: a row for every kernel

A kernel must have launch bounds, from which its threads are known. Prints the kernel next to a limit for each architecture.
Exit: 0 all fit, 1 not, 77 no cuobjdump or no kernels.
"""
import argparse
import re
import shutil
import subprocess
import sys

# Compute capability: registers of a block, bytes of shared memory of a block (static), threads of a block. CUDA C++ Programming Guide,
# appendix on compute capabilities, table of technical specifications. From sm_90 on cuobjdump counts the kilobyte of a block that CUDA keeps
# for itself, which the limit does not.
LIMITS = {
    "53": (32768, 49152, 1024),
    "62": (32768, 49152, 1024),
    "72": (65536, 49152, 1024),
    "75": (65536, 49152, 1024),
    "87": (65536, 49152, 1024),
    "90": (65536, 49152 + 1024, 1024),
    "110": (65536, 49152 + 1024, 1024),
}
REGISTERS_OF_THREAD = 255
REGISTERS_STEP = 256  # a warp's registers are given out in multiples of this


def run(program, option, path):
    done = subprocess.run([program, option, path], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def usage(text):
    """(arch, kernel) -> (registers of a thread, shared bytes, local bytes)."""
    found, arch, name = {}, None, None
    for line in text.splitlines():
        if match := re.match(r"arch = sm_(\d+)", line):
            arch = match[1]
        elif match := re.match(r"\s*Function (\S+):", line):
            name = match[1]
        elif (match := re.search(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)", line)) and name:
            found[arch, name] = int(match[1]), int(match[3]), int(match[2]) + int(match[4])
    return found


def bounds(text):
    """(arch, kernel) -> threads of a block, from launch bounds."""
    found, arch, name, wanted = {}, None, None, False
    for line in text.splitlines():
        if match := re.match(r"arch = sm_(\d+)", line):
            arch = match[1]
        elif match := re.match(r"\.nv\.info\.(\S+)", line):
            name = match[1]
        elif "EIATTR_MAX_THREADS" in line:
            wanted = True
        elif wanted and (match := re.search(r"Value:\s*0x([0-9a-f]+) 0x([0-9a-f]+) 0x([0-9a-f]+)", line)):
            found[arch, name] = int(match[1], 16) * int(match[2], 16) * int(match[3], 16)
            wanted = False
    return found


def main():
    parser = argparse.ArgumentParser(add_help=True, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="+")
    parser.add_argument("--cuobjdump", default="cuobjdump")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not shutil.which(args.cuobjdump):
        print("limits: skipped, no cuobjdump")
        return 77
    kernels, bad = {}, 0
    for library in args.library:
        threads = bounds(run(args.cuobjdump, "-elf", library))
        for key, use in usage(run(args.cuobjdump, "-res-usage", library)).items():
            kernels[key] = use + (threads.get(key, 0),)
    if not kernels:
        print("limits: skipped, no kernels")
        return 77
    for arch in sorted({arch for arch, _ in kernels}, key=int):
        if arch not in LIMITS:
            print(f"limits: sm_{arch} is not in the table of limits")
            bad += 1
            continue
        most_registers, most_shared, most_threads = LIMITS[arch]
        closest, tightest = "", 0.0
        for (of, name), (registers, shared, local, threads) in sorted(kernels.items()):
            if of != arch:
                continue
            warps = (threads + 31) // 32
            block = warps * ((registers * 32 + REGISTERS_STEP - 1) // REGISTERS_STEP * REGISTERS_STEP)
            row = f"sm_{arch} {name}: {registers} registers x {threads} threads = {block}, {shared} bytes shared, {local} local"
            wrong = []
            if not threads:
                wrong.append("no launch bounds")
            if registers > REGISTERS_OF_THREAD or block > most_registers:
                wrong.append(f"over {most_registers} registers a block")
            if shared > most_shared:
                wrong.append(f"over {most_shared} bytes of shared memory")
            if threads > most_threads:
                wrong.append(f"over {most_threads} threads")
            if wrong:
                print(f"FAIL {row}: {', '.join(wrong)}")
                bad += 1
            elif args.table:
                print(row)
            share = max(block / most_registers, shared / most_shared)
            if share > tightest:
                closest, tightest = row, share
        if closest:
            print(f"limits: {sum(of == arch for of, _ in kernels)} kernels fit; next to a limit ({100 * tightest:.0f} %): {closest}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
