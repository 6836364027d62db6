#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Words: no identifier, file name or option is of the old list.

    tests/house/words.py [ROOT] [--draw N [SEED]]

tests/house/words.txt has one old word a line, "word: field's word". A plain word may be no part of an identifier, of a file's name or of an
option (parts end at `_`, `-`, `.` or a capital behind a small letter); a word with `_` or a capital may be no identifier, with `*` behind it no
beginning of one. "word @ room room" forbids it in these rooms alone: elsewhere it is English. "+ name": an identifier that stays for now.
Comments and strings are not searched. --draw prints N comments of src/, kernels/ and vfront.h, drawn by SEED, to be read by somebody who has
not seen the code."""
import pathlib
import random
import re
import sys

TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
BANNER = re.compile(r"/\* [-=]{4}.*[-=] \*/")
CODE = re.compile(r"(?:/\*.*?\*/|\s)*([^\n]*)", re.S)  # first line of code, behind further comments
NAME = re.compile(r"[A-Za-z_]\w*")
OPTION = re.compile(r'"(--[a-z][a-z-]*)')
C = (".c", ".h", ".cu", ".cuh", ".def", ".cpp")
HERE = "tests/house/words."


def parts(name):
    return re.split(r"[_\-./]|(?<=[a-z0-9])(?=[A-Z])", name)


def read(root):
    """Old words: plain ones {word: (new, rooms)}, whole identifiers {name: new}, beginnings {name: new}; identifiers that stay."""
    plain, whole, starts, stay = {}, {}, {}, set()
    for line in (root / (HERE + "txt")).read_text().splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        if line.startswith("+"):
            stay.update(line[1:].split())
            continue
        old, _, new = (p.strip() for p in line.partition(":"))
        old, _, rooms = (p.strip() for p in old.partition("@"))
        if old.endswith("*"):
            starts[old[:-1]] = new
        elif "_" in old or old.lower() != old:
            whole[old] = new
        else:
            plain[old] = (new, rooms.split())
    return plain, whole, starts, stay


def files(root):
    """Names of the project's files, from the root: what is built, and hidden folders but .ci and .github, left out."""
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if path.is_file() and not any(p in ("build", "out") or p[0] == "." and p not in (".ci", ".github") for p in name.parts[:-1]):
            yield str(name)


def draw(root, count, seed):
    comments = []
    for file in [root / "vfront.h"] + [f for top in ("src", "kernels") for f in sorted((root / top).rglob("*")) if f.suffix in C]:
        text = file.read_text()
        for match in re.finditer(r"/\*.*?\*/", text, re.S):
            if len(match.group()) > 60 and "SPDX" not in match.group() and not BANNER.fullmatch(match.group()):
                line = text.count("\n", 0, match.start()) + 1
                begin = text.rfind("\n", 0, match.start()) + 1
                if text[begin:match.start()].strip():  # behind code: with its own line
                    shown = text[begin:match.end()]
                else:
                    shown = match.group() + "\n" + CODE.match(text, match.end()).group(1)
                comments.append("%s:%d\n%s" % (file.relative_to(root), line, shown))
    for comment in random.Random(seed).sample(comments, min(count, len(comments))):
        print(comment + "\n")


def main(arguments):
    root = pathlib.Path(__file__).resolve().parents[2]
    if "--draw" in arguments:
        numbers = [int(a) for a in arguments if a.isdigit()]
        draw(root, numbers[0] if numbers else 40, numbers[1] if len(numbers) > 1 else 1)
        return 0
    if arguments:
        root = pathlib.Path(arguments[0]).resolve()
    plain, whole, starts, stay = read(root)
    bad, seen = [], 0

    def check(name, file, what):
        room = file.split("/")[1] if file.count("/") > 1 else ""
        if name in stay:
            return
        if name in whole:
            bad.append("%s: %s %s: %s" % (file, what, name, whole[name]))
        bad.extend("%s: %s %s: %s..." % (file, what, name, starts[s]) for s in starts if name.startswith(s))
        for part in parts(name):
            new, rooms = plain.get(part.lower(), (None, []))
            if new is not None and (not rooms or room in rooms):
                bad.append("%s: %s %s has %s: %s" % (file, what, name, part, new))

    for file in files(root):
        path = root / file
        if file.startswith(HERE):
            continue
        for name in file.split("/"):
            check(name, file, "file name")
        if path.suffix not in C:
            continue
        text = path.read_text()
        for option in set(OPTION.findall(text)):
            check(option.strip("-"), file, "option")
        for name in sorted(set(NAME.findall(TEXT.sub(" ", text)))):
            seen += 1
            check(name, file, "identifier")
    for line in bad[:60]:
        print("words: " + line)
    print("words: %d identifiers in files, %d old ones" % (seen, len(bad)))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
