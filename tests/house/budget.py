#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Budgets of the house: sizes that may only fall.

    tests/house/budget.py [ROOT] [--write] [--constants]

tests/house/budget.txt has a line for each: name, number, reason for the last rise or `-`. A measured number above its line fails. A smaller one is
printed; --write puts it into the file. --constants prints the numeric constants by room.

    header lines      lines of vfront.h
    header columns    longest line of vfront.h
    header comment    share of the header's characters that are comment [%]
    tuning            values of VFRONT_TUNING
    estimator         what somebody has chosen in the estimator: tests/house/constants.py
    constants         tuning values, and numeric literals of src/, kernels/ and port/ but 0, 1, 2, -1 and 0.5
    markdown          bytes of all Markdown
    README            bytes of README.md
    glossary          rows of the glossary in src/README.md
    largest room      lines of the largest room of src/
    both ways         pairs of rooms of src/ that include each other"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import layers  # noqa: E402
import words  # noqa: E402

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[ \t]*include[^\n]*', re.S | re.M)
NUMBER = re.compile(r'(?<![\w.])(0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)[uUlLfF]*(?![\w.])')
PLAIN = {0.0, 1.0, 2.0, 0.5}


def constants(text):
    """Number of literals that are not plain."""
    values = (m.group(1) for m in NUMBER.finditer(NOT_CODE.sub(" ", text)))
    return sum(1 for v in values if (int(v, 16) if v[:2] in ("0x", "0X") else float(v)) not in PLAIN)


def sources(root, *tops):
    for top in tops:
        for file in sorted((root / top).rglob("*")):
            if file.suffix in (".c", ".h", ".cu", ".cuh", ".def") and "describe_pattern" not in file.name:
                yield file


def by_room(root):
    """Constants of each room of src/, kernels/ and port/."""
    rooms = {}
    for file in sources(root, "src", "kernels", "port"):
        name = layers.room(file.relative_to(root))
        rooms[name] = rooms.get(name, 0) + constants(file.read_text())
    return rooms


def measure(root):
    import constants as estimator  # which takes NUMBER from here
    header = (root / "vfront.h").read_text()
    table = re.search(r"#define VFRONT_TUNING\(X\)(.*?[^\\])\n", header, re.S).group(1)
    tuning = len(re.findall(r"\bX\(\w+,", table))
    markdown = [f for f in words.files(root) if f.endswith(".md")]
    glossary = re.search(r"^## (?:Glossary|The project's words)\n(.*?)(?=^## |\Z)", (root / "src/README.md").read_text(), re.S | re.M)
    lines = {}
    for file in sources(root, "src"):
        name = layers.room(file.relative_to(root))
        lines[name] = lines.get(name, 0) + len(file.read_text().splitlines())
    crossing = layers.edges(layers.includes(root)[0])
    src = {p.name for p in (root / "src").iterdir() if p.is_dir()}
    pairs = {tuple(sorted(e)) for e in crossing if e[0] in src and e[1] in src and e[::-1] in crossing}
    return {
        "header lines": header.count("\n"),
        "header columns": max(map(len, header.splitlines())),
        "header comment": round(100 * sum(len(c) for c in COMMENT.findall(header)) / len(header)),
        "tuning": tuning,
        "estimator": estimator.count(root)["chosen"],
        "constants": tuning + sum(by_room(root).values()),
        "markdown": sum(len((root / f).read_bytes()) for f in markdown),
        "README": len((root / "README.md").read_bytes()),
        "glossary": max(0, len(re.findall(r"^\|", glossary.group(1), re.M)) - 2) if glossary else 0,
        "largest room": max(lines.values()),
        "both ways": len(pairs),
    }


def main(arguments):
    root = pathlib.Path(next((a for a in arguments if not a.startswith("-")), ".")).resolve()
    if "--constants" in arguments:
        for name, count in sorted(by_room(root).items(), key=lambda item: -item[1]):
            print("%6d %s" % (count, name))
        return 0
    file, now, kept, bad = root / "tests/house/budget.txt", measure(root), [], False
    rows = {}
    for line in file.read_text().splitlines():
        if line.startswith("#") or not line.strip():
            kept.append(line)
            continue
        name, number, reason = (part.strip() for part in line.split("|"))
        rows[name] = int(number)
        if name in now and now[name] < rows[name]:
            print("budget: %s %d, %d allowed" % (name, now[name], rows[name]))
            number = str(now[name])
        kept.append("%-16s | %7s | %s" % (name, number, reason))
    for name in now:
        if name not in rows or now[name] > rows[name]:
            print("budget: %s is %d, %s allowed" % (name, now[name], rows.get(name, "nothing")))
            bad = True
    bad |= any(name not in now for name in rows)
    if "--write" in arguments:
        file.write_text("\n".join(kept) + "\n")
    elif not bad:
        print("budget: %d sizes within their bounds" % len(rows))
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
