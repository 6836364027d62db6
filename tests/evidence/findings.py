#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Findings of cppcheck and of gcc's -fanalyzer in src/ and port/, each with the reason why it stays.

    tests/evidence/findings.py CC 'FLAGS'       FLAGS: of the build, for the compiler; config tests/config/small.h, which has all stages

tests/evidence/findings.txt has the reasons. Fails on a finding that it does not have, and on an entry that nothing finds any more. Exit 77:
one of the tools is missing, the other found what is known.
"""
import concurrent.futures
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys

LIST = pathlib.Path("tests/evidence/findings.txt")
CONFIG = '-DVFRONT_USER_CFG="tests/config/small.h"'
SOURCES = sorted(glob.glob("src/*/*.c") + glob.glob("port/*/*.c"))
CPPCHECK = ["cppcheck", "-q", "--std=c11", "--enable=warning,performance,portability", "--suppress=missingIncludeSystem", "-I.", "-Isrc",
            CONFIG, "-DVFRONT_CUDA", "--template={file}:{line}: {id}: {message}"]
ANALYZER = ["-std=c11", "-O1", "-fanalyzer", "-fdiagnostics-plain-output", "-I.", "-Isrc", "-isystem", "tests/fake", CONFIG,
            "-DVFRONT_CUDA", "-c", "-o", "/dev/null"]


def lines_of(command):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(command)}: exit {run.returncode}\n{run.stderr}")
    return run.stderr.splitlines()


def cppcheck(_):
    for line in lines_of([*CPPCHECK, "src", "port"]):
        found = re.match(r"(\S+?):(\d+): (\w+): (.*)", line)
        if found:
            yield "cppcheck " + found.group(3), found.group(1), int(found.group(2)), found.group(4)


def analyzer(cc):
    def one(source):
        return lines_of([cc, *ANALYZER, source])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(one, SOURCES):
            for line in said:
                found = re.match(r"(\S+?):(\d+):\d+: warning: (.*) \[-Wanalyzer-([\w-]+)\]", line)
                if found:
                    yield "analyzer " + found.group(4), found.group(1), int(found.group(2)), found.group(3)


def reasons():
    """{(kind, source, code): reason} of the list."""
    found, reason = {}, ""
    for line in LIST.read_text().splitlines():
        if line.startswith("== "):
            reason = line[3:]
        elif line and not line.startswith("#"):
            kind, source, code = re.match(r"(\w+ [\w-]+) (\S+): (.*)", line).groups()
            found[kind, source, code.strip()] = reason
    return found


def main():
    cc = sys.argv[1]
    known, used, faults, missing = reasons(), set(), [], []
    for name, tool in ("cppcheck", cppcheck), ("analyzer", analyzer):
        program = "cppcheck" if name == "cppcheck" else cc
        version = shutil.which(program) and subprocess.run([program, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
        if not version or (name == "analyzer" and not re.search(r"gcc|GCC|Debian|Ubuntu", version)):
            missing.append(name)
            used |= {key for key in known if key[0].startswith(name)}
            continue
        print(f"{name}: {version}")
        for kind, source, line, message in dict.fromkeys(tool(cc)):
            code = pathlib.Path(source).read_text().splitlines()[line - 1].strip()
            key = (kind, source, code)
            used.add(key)
            print(f"  {source}:{line}: {kind}: {message}\n      {known.get(key, 'NO REASON')}")
            if key not in known:
                faults.append(f"a new finding: {kind} {source}: {code}")
    faults += [f"{LIST}: found no more: {' '.join(key[:2])}: {key[2]}" for key in known if key not in used]
    print("\n".join(faults) if faults else "Each finding has a reason.")
    if missing and not faults:
        print(f"findings: NOT RUN - not installed: {', '.join(missing)}")
    sys.exit(1 if faults else 77 if missing else 0)


if __name__ == "__main__":
    main()
