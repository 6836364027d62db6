#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Layers of the sources: which room may include which.

    tests/house/layers.py [ROOT] [--matrix]

tests/house/layers.txt has a line for each room, "room: rooms that it may include", lowest room first. A room may name earlier lines only, so
the order has no circle. Files of core/ have lines of their own: that order is who calls whom. Checked: every #include of src/, kernels/ and
port/ from one room into another is allowed; every room of src/ has its line; every allowance is used; files include each other in no circle;
no "../" in an #include; the whole step and its memory, which stages see by views alone, have no name outside core/ and port/.
--matrix prints the number of includes from room to room."""
import collections
import pathlib
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)


def target(root, file, name):
    """File that an include names, or None."""
    for at in (file.parent / name, root / "src" / name, root / name, root / "kernels" / name):
        if at.is_file():
            return at.resolve().relative_to(root)
    return None


def room(path):
    """Room of a file. Files directly in kernels/ or port/ are in the room of that name; those of port/<name>/ in `ports`."""
    parts = path.parts
    if parts == ("src", "stages.def"):
        return "base"
    if parts[0] in ("src", "kernels") and len(parts) == 3:
        return parts[1]
    if parts[0] == "port" and len(parts) == 3:
        return "ports"
    return "public" if len(parts) == 1 else parts[0]


def unit(path):
    """A file of core/ with its header: "core/check". The memory map is of core/views, which are made from it."""
    return "core/" + {"memory": "views"}.get(path.stem, path.stem) if path.parts[:2] == ("src", "core") else None


SUFFIXES = (".c", ".h", ".cu", ".cuh")
WHOLE_STEP = re.compile(r"struct vf_step|vf_step &|struct vf_memory \*|struct vf_pinned|struct vf_context\b")


def includes(root):
    """File -> files that it includes, of src/, kernels/ and port/; and complaints about lines."""
    found, bad = {}, []
    for top in ("src", "kernels", "port"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES:
                continue
            own, text = file.relative_to(root), file.read_text()
            names = INCLUDE.findall(text)
            found[own] = [other for other in (target(root, file, name) for name in names) if other]
            bad += ['%s: "../" in an #include' % own for name in names if "../" in name]
            if room(own) not in ("core", "port", "ports") and WHOLE_STEP.search(text):
                bad.append("%s sees the whole step: %s" % (own, WHOLE_STEP.search(text).group()))
    return found, bad


def edges(found):
    """(from, to) -> list of "file -> file", for includes that cross rooms, or the files of core/."""
    crossing = collections.defaultdict(list)
    for own, others in found.items():
        for other in others:
            pair = (room(own), room(other)) if room(own) != room(other) else (unit(own), unit(other))
            if pair[0] != pair[1] and "public" not in pair:
                crossing[pair].append("%s -> %s" % (own, other))
    return crossing


def circles(found):
    """Circles among files, each as "file -> file -> ...", found once."""
    bad, done = [], set()

    def visit(file, path):
        if file in path:
            bad.append("a circle: " + " -> ".join(map(str, path[path.index(file):] + [file])))
        elif file not in done:
            for other in found.get(file, []):
                visit(other, path + [file])
            done.add(file)

    for file in found:
        visit(file, [])
    return bad


def main(arguments):
    root = pathlib.Path(next((a for a in arguments if not a.startswith("-")), ".")).resolve()
    allowed, order = {}, []
    for line in (root / "tests/house/layers.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            name, _, rooms = line.partition(":")
            order.append(name.strip())
            allowed[name.strip()] = rooms.split()
    files, bad = includes(root)
    found, bad = edges(files), bad + circles(files)
    if "--matrix" in arguments:
        for name in order:
            print("%-10s %s" % (name, " ".join("%s(%d)" % (b, len(found[a, b])) for a, b in sorted(found) if a == name)))
    for i, name in enumerate(order):
        bad += ["layers.txt: %s may include %s, which is not in a line before it" % (name, r) for r in allowed[name] if r not in order[:i]]
        bad += ["layers.txt: %s includes nothing of %s" % (name, r) for r in allowed[name] if (name, r) not in found]
    bad += ["layers.txt has no line for src/%s/" % p.name for p in sorted((root / "src").iterdir()) if p.is_dir() and p.name not in order]
    for (a, b), where in sorted(found.items()):
        if b not in allowed.get(a, []):
            bad += ["%s may not include %s: %s" % (a, b, w) for w in where]
    for line in bad:
        print("layers: " + line)
    if not bad:
        rooms = [name for name in order if "/" not in name]
        print("layers: %d rooms, %d includes between them and the files of core/, no circle" % (len(rooms), sum(map(len, found.values()))))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
