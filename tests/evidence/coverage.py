#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Branches of src/ and port/ that the tests of a coverage build take, and the reason for each that none takes.

    tests/evidence/coverage.py BUILD

BUILD: folder of `make coverage`, after its tests ran. gcov counts the branches that the compiler left; those of a line are summed over all
configs and programs. tests/evidence/uncovered.txt has a reason for each line with a branch that no test takes. Fails below 95 %, where a
reason is missing, and where a line of that list is gone or covered; a group "By chance" may be covered.
"""
import collections
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

LEAST = 95.0
LIST = pathlib.Path("tests/evidence/uncovered.txt")


def records(build, pattern=""):
    """Counts of gcov for each source in each object: (object, source, lines)."""
    objects = sorted(p for p in pathlib.Path(build).rglob("*.gcda") if re.search(pattern, str(p)))
    here = str(pathlib.Path.cwd()) + "/"
    for at in range(0, len(objects), 20):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(p.resolve()) for p in objects[at:at + 20]]
            run = subprocess.run(["gcov", "--branch-probabilities", "--json-format", "--hash-filenames", "--preserve-paths", *paths],
                                 cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if run.returncode:
                sys.exit(f"gcov: {run.stderr}")
            for packed in sorted(pathlib.Path(folder).glob("*.json.gz")):
                with gzip.open(packed) as file:
                    said = json.load(file)
                for source in said["files"]:
                    yield said["data_file"], source["file"].replace(here, ""), source["lines"]


def branches(build):
    """{source: {line: [[count of each branch] of each shape]}}; a line has more than one shape where configs differ in it."""
    counts = collections.defaultdict(lambda: collections.defaultdict(dict))
    for _, source, lines in records(build):
        if not re.match(r"(src|port)/", source):
            continue
        shape = collections.defaultdict(list)
        for line in lines:
            shape[line["line_number"]] += [b["count"] for b in line["branches"]]
        for number, found in shape.items():
            sums = counts[source][number].setdefault(len(found), [0] * len(found))
            for i, count in enumerate(found):
                sums[i] += count
    return {source: {number: list(shapes.values()) for number, shapes in lines.items()} for source, lines in counts.items()}


def reasons():
    """[(reason, source, code)] of the list."""
    found, reason = [], ""
    for line in LIST.read_text().splitlines():
        if line.startswith("== "):
            reason = line[3:]
        elif line and not line.startswith("#"):
            source, code = line.split(": ", 1)
            found.append((reason, source, code.strip()))
    return found


def main():
    counted = branches(sys.argv[1])
    faults, rest = [], collections.defaultdict(dict)
    total = taken = 0
    print(f"{'branches':>10} {'taken':>7}       %  file")
    for source, lines in sorted(counted.items()):
        of_file = [n for shapes in lines.values() for shape in shapes for n in shape]
        if not of_file:
            continue
        hit = sum(n > 0 for n in of_file)
        total, taken = total + len(of_file), taken + hit
        print(f"{len(of_file):10} {hit:7} {100 * hit / len(of_file):7.1f}  {source}")
        text = pathlib.Path(source).read_text().splitlines()
        for number, shapes in sorted(lines.items()):
            missing = sum(n == 0 for shape in shapes for n in shape)
            if missing:
                rest[source][number] = (missing, text[number - 1].strip())
    share = 100 * taken / total
    print(f"{total:10} {taken:7} {share:7.2f}  all\n\nBranches that no test takes, by reason:")

    used, reason = set(), None
    for entry in reasons():
        said, source, code = entry
        if said != reason:
            print(f"\n{said}")
            reason = said
        here = [(n, *v) for n, v in rest[source].items() if v[1] == code]
        for number, missing, _ in here:
            print(f"  {source}:{number}: {missing} of: {code}")
            used.add((source, number))
        if not here and not said.startswith("By chance"):
            text = pathlib.Path(source)
            there = text.exists() and code in [line.strip() for line in text.read_text().splitlines()]
            faults.append(f"{LIST}: {'covered now' if there else 'not there'}: {source}: {code}")
    for source, lines in rest.items():
        for number, (missing, code) in lines.items():
            if (source, number) not in used:
                faults.append(f"no test takes {missing} branches, and {LIST} has no reason: {source}: {code} (line {number})")
    if share < LEAST:
        faults.append(f"{share:.2f} % of the branches are taken, {LEAST:.0f} % are asked for")
    print("\n".join(["", *faults]) if faults else "\nEach has a reason.")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
