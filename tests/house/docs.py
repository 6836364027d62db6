#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Documents: what Markdown says of files, targets, options and tables is true.

    tests/house/docs.py [ROOT] [PROGRAM...]

Of every Markdown file: links lead to files and headings that exist; files and folders in `code` exist; `make target` names a target; each row of a
table has as many cells as its head and ends with a bar, and no blank line cuts a table. With built programs (build/replay...): the options that
PROGRAM --help prints are those that the documents list for it, in the table behind the line <!-- options of NAME -->, both ways."""
import pathlib
import re
import subprocess
import sys

FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.S | re.M)
LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*)")


def anchors(text):
    """Anchors of the headings of a page, as forges make them."""
    heads = re.findall(r"^#+ +(.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


def targets(root):
    names = set()
    for file in ("Makefile", "src/install.mk", "tests/tests.mk"):
        for line in (root / file).read_text().splitlines():
            match = re.match(r"^([a-z][\w .-]*?)\s*:(?!=)", line)
            if match:
                names.update(match.group(1).split())
            if line.startswith(".PHONY:"):
                names.update(line.split()[1:])
    return names


def files_named(code):
    """Words of a piece of code that look like files of the project."""
    for word in re.split(r"[\s,;]+", code):
        word = re.sub(r"(\(\)|[:#]\d*.*)$", "", word)
        if re.fullmatch(r"(?:src|kernels|port|tests|examples|\.ci|\.github)(?:/[\w.*-]+)*/?", word) and word not in ("src", "kernels", "port", "tests", "examples"):
            yield word


def check_page(root, page, known, complain):
    text = page.read_text()
    prose = FENCE.sub(lambda m: "\n" * m.group().count("\n"), text)
    where = page.relative_to(root)
    for link in (a or b for a, b in LINK.findall(prose)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        at = (page.parent / name) if name else page
        if not at.exists():
            complain("%s: no file %s" % (where, link))
        elif anchor and at.suffix == ".md" and anchor not in anchors(at.read_text()):
            complain("%s: no heading #%s in %s" % (where, anchor, name or where))
    for code in CODE.findall(prose):
        for name in files_named(code):
            if not (list(root.glob(name.rstrip("/"))) or list(page.parent.glob(name.rstrip("/")))):
                complain("%s: no file %s" % (where, name))
        for name in re.findall(r"\bmake(?: -j\S*| [A-Z_]+=\S*)* ([a-z][a-z-]*)(?![\w/])", code):
            if name not in known:
                complain("%s: no target %s" % (where, name))
    return check_tables(where, prose.split("\n"), complain)


def cells(line):
    """Bars less one, without those that a backslash or code has; a row that lacks its last bar has a cell less."""
    return re.sub(r"\\\||`[^`]*`", "", line).count("|") - 1


def check_tables(where, lines, complain):
    """Number of tables."""
    head = tables = 0
    for i, line in enumerate(lines):
        row = line.lstrip().startswith("|")
        if not row:
            head = 0
        elif not head:
            head, tables = cells(line), tables + 1
            if i + 1 == len(lines) or not re.match(r"^\s*\|[\s:|-]+\|\s*$", lines[i + 1]):
                complain("%s:%d: row of a table without a head: a blank line above it?" % (where, i + 1))
        elif cells(line) != head:
            complain("%s:%d: %d cells, %d in the head" % (where, i + 1, cells(line), head))
    return tables


def check_options(root, program, pages, complain):
    """Options of a program beside those of the tables that list them; --help need not name itself."""
    name = pathlib.Path(program).name
    printed = subprocess.run([program, "--help"], capture_output=True, text=True).stdout
    helped = set(OPTION.findall(printed)) - {"--help"}
    listed, found = set(), False
    for page in pages:
        for block in re.findall(r"<!-- options of %s -->\s*\n((?:\|.*\n?)+)" % re.escape(name), page.read_text()):
            found = True
            for row in block.split("\n")[2:]:
                listed.update(OPTION.findall(row.split("|")[1]) if "|" in row else [])
    if not found:
        return complain("no page has <!-- options of %s -->" % name)
    listed.discard("--help")
    for option in sorted(helped - listed):
        complain("%s %s is in no table" % (name, option))
    for option in sorted(listed - helped):
        complain("%s --help does not name %s" % (name, option))


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else ".").resolve()
    built = ("build", "out", ".git")  # git may not be there
    pages = sorted(p for p in root.rglob("*.md") if p.relative_to(root).parts[0] not in built)
    bad, known = [], targets(root)
    tables = sum(check_page(root, page, known, bad.append) for page in pages)
    if not tables:
        bad.append("no tables")
    for program in arguments[1:]:
        check_options(root, program, pages, bad.append)
    for line in bad:
        print("docs: " + line)
    if not bad:
        print("docs: %d pages, %d tables, %d programs" % (len(pages), tables, len(arguments[1:])))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
