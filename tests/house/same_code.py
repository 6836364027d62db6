#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the machine code of two revisions, names and strings through a table of renames.

    tests/house/same_code.py BEFORE [AFTER] [--renames FILE]... [--ptx] [--any-object] [--cfg FILE]... [--only GLOB] [--jobs N]
    tests/house/same_code.py --self-test

BEFORE, AFTER: git revisions; AFTER without a value is the work tree, files that git does not know yet included.
--renames FILE   lines old<TAB>new: an identifier, a path, or words of a string; old* and new*: every identifier that begins so. Also lines
                 ident<TAB>old<TAB>new, file<TAB>old<TAB>new, and local<TAB>glob<TAB>old<TAB>new, whose old name may stay. Several lines for one old
                 name: either new name is taken. '#' begins a comment line
--ptx            kernels too: their PTX for one architecture (CUDA_ARCH, 87) and the host code of the same files; exit 77 without nvcc
--any-object     files were split, or functions moved: all objects of a revision are one set, and what is local may have become global
--cfg FILE       compare with this config, too (--cfg "": the standard one alone). Without the option: the standard one and tests/config/small.h,
                 which has all stages. Kernels: the last config alone
--only GLOB      sources whose path before matches, e.g. 'src/map/*'
--jobs N         compilers at once; 2
--self-test      a constant, a string and a name changed in a scratch copy must each be found by name

Each source is compiled to assembly with the flags of the Makefile of its revision, where every reference is still a symbol: the assembler makes
equal bytes, sizes and relocations of equal lines. Compared are, by mapped name and in any order: section, alignment, binding, each instruction
and directive, and for each reference the symbol that it names, or the bytes or the text of the constant. Static symbols of one name are told apart
by what they hold. Then each assembly is assembled, and the bytes of every section .text* of the two objects are compared.
Exit: 0 equal, 1 not, 2 not compiled or a wrong argument, 77 no nvcc.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import functools
import glob
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

FULL_CFG = "tests/config/small.h"  # all stages
SHOWN = 20  # differences that are printed


def fail(text):
    print("same_code: " + text)
    sys.exit(2)


# ---- names and strings through the table --------------------------------------------------------------------------------------------

def number_free(symbol):
    """Symbol without the numbers that the compiler counts (table.3, f.constprop.0, CSWTCH.84) and nvcc's hashes of a file."""
    m = re.search(r"(\d+)_(?:INTERNAL_|GLOBAL__N_)", symbol) if symbol.startswith("_Z") else None
    if m:
        return number_free(symbol[:m.start()] + "9_internal" + symbol[m.end(1) + int(m[1]):])
    return re.sub(r"\.\d+(?=\.|$)", ".#", symbol)


class Table:
    """Renames: old to the list of new, prefixes, and a pattern of all that may occur in a string."""

    def __init__(self, lines=()):
        self.new, self.prefixes, self.lines = {}, [], 0
        for line in lines:
            self.add(line.rstrip("\n"))
        self.prefixes.sort(key=lambda p: -len(p[0]))
        words = [r"(?<!\w)" * bool(re.match(r"\w", w)) + re.escape(w) + r"(?!\w)" * bool(re.search(r"\w$", w))
                 for w in sorted(self.new, key=len, reverse=True) if not w.isidentifier()]
        self.words = re.compile("|".join(words + [r"[A-Za-z_]\w*"]))

    def add(self, line):
        if not line.strip() or line.startswith("#"):
            return
        part = line.split("\t")
        kind = part[0] if len(part) > 2 else ""
        if kind == "local" and len(part) == 4:
            old, news = part[2], [part[3], part[2]]
        elif (kind in ("ident", "file", "prefix") and len(part) == 3) or len(part) == 2:
            old, news = part[-2], [part[-1]]
        else:
            fail("not a line of a table: " + line)
        self.lines += 1
        if kind == "prefix":
            old, news = old.rstrip("*") + "*", [news[0].rstrip("*") + "*"]
        if old.endswith("*") and news[0].endswith("*"):
            self.prefixes.append((old[:-1], news[0][:-1]))
        else:
            self.new[old] = list(dict.fromkeys(self.new.get(old, []) + news))

    def names(self, name):
        """New names of an identifier or a path."""
        if name in self.new:
            return self.new[name]
        for old, new in self.prefixes:
            if name.startswith(old):
                return [new + name[len(old):]]
        return [name]

    @functools.lru_cache(None)
    def symbols(self, symbol):
        """Names that a symbol may have after, without the compiler's numbers."""
        if symbol.startswith("_Z"):
            return mangled(symbol, self)
        base, dot, rest = symbol.partition(".")
        return tuple(n + number_free(dot + rest) for n in self.names(base))

    def path(self, path):
        return self.names(path)[0]

    @functools.lru_cache(None)
    def same_text(self, before, after):
        """1 if texts differ in renames alone, each of which may be made or not."""
        if before == after:
            return True
        at, pattern = 0, ""
        for m in self.words.finditer(before):
            choice = [m[0]] + (list(self.symbols(m[0])) if m[0].startswith("_Z") else self.names(m[0]))
            pattern += re.escape(before[at:m.start()]) + "(?:" + "|".join(map(re.escape, dict.fromkeys(choice))) + ")"
            at = m.end()
        return re.fullmatch(pattern + re.escape(before[at:]), after, re.S) is not None


NAMED = re.compile(r"L[a-z]n?\d+E|A\d+_|S[0-9A-Z]*_|T\d*_|\d+|.", re.S)


@functools.lru_cache(None)
def mangled(symbol, table):
    """New forms of a mangled name: each <length><name> in it. Hashes of file names in internal names are left out."""
    m = re.fullmatch(r"(_Z.*?)((?:_param_\d+|\.[\w.]+)?)", symbol)
    text, forms, at = m[1], [""], 0
    while at < len(text):
        part = NAMED.match(text, at)[0]
        at += len(part)
        name = text[at:at + int(part)] if part.isdigit() else ""
        if name and len(name) == int(part) and re.fullmatch(r"[A-Za-z_]\w*", name):
            at += len(name)
            internal = re.match(r"_INTERNAL_|_GLOBAL__N_", name)
            forms = [f + str(len(n)) + n for f in forms for n in (["_internal"] if internal else stub_names(name, table))][:64]
        else:
            forms = [f + part for f in forms]
    return tuple(f + number_free(m[2]) for f in forms)


def stub_names(name, table):
    """New forms of a name in a mangled name, which for the host side of a kernel has the kernel's mangled name in it."""
    m = re.match(r"(__device_stub_)(_Z?.+)", name)
    if not m:
        return table.names(name)
    kernel = m[2]
    return [m[1] + n for n in (mangled(kernel, table) if kernel.startswith("_Z") else ["_" + k for k in table.names(kernel[1:])])]


# ---- assembly -----------------------------------------------------------------------------------------------------------------------

class Block:
    """What stands under one symbol, or one local label of a constant: lines as (operation, tokens)."""

    def __init__(self, unit, name, section, align):
        self.unit, self.name, self.section, self.align = unit, name, section, tuple(align)
        self.lines, self.labels, self.attributes, self.text = [], 0, set(), {}

    @property
    def is_text(self):
        return self.section.startswith(".text")


class Unit:
    """One source compiled: its blocks by symbol, its labels."""

    def __init__(self, path):
        self.path, self.blocks, self.labels, self.alias, self.merged, self.constants = path, {}, {}, {}, {}, 0

    def find(self, label):
        """('near', block, number) or ('constant', block, offset, through an alias)."""
        offset, through = 0, False
        while label in self.alias:
            label, plus = self.alias[label]
            offset, through = offset + plus, True
        if label not in self.labels:
            fail(f"{self.path}: label {label} is not defined")
        block, number = self.labels[label]
        return ("constant", block, offset, through) if number is None else ("near", block, number)


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|%\w+|@\w+|\d[\w.]*|\.L[\w.$]+|[A-Za-z_.$][\w.$]*|\s+|.')
SKIPPED = re.compile(r"\.(cfi_\w+|file|ident|loc|size|weakref|arch|build_version)\b")
BOUND = re.compile(r"\.(globl|global|hidden|weak|local|type|protected|internal)\b")
NOT_CODE = (".note", ".comment", ".debug", ".eh_frame", ".nv_fatbin", ".nvFatBinSegment")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}


def unescaped(text):
    return re.sub(r"\\([0-7]{1,3}|.)", lambda m: chr(int(m[1], 8)) if m[1][0] in "01234567" else ESCAPES[m[1]], text[1:-1], flags=re.S)


@functools.lru_cache(None)
def tokens(operands):
    """Operands as (kind, text): 's' symbol, 'l' label, '"' text, '' all else."""
    out = []
    for t in TOKEN.findall(operands):
        immediate = t.startswith("$") and len(t) > 1
        if immediate:
            out.append(("", "$"))
            t = t[1:]
        kind = '"' if t[0] == '"' else "l" if t.startswith(".L") else "s" if re.match(r"[A-Za-z_.][\w.$]*$", t) and t != "." else ""
        out.append((kind, unescaped(t) if kind == '"' else t))
    return tuple(out)


class Parser:
    """Assembly of gcc or clang to a Unit."""

    def __init__(self, path, text):
        self.unit, self.section, self.current, self.align, self.bound = Unit(path), ".text", {}, [], collections.defaultdict(set)
        for line in text.split("\n"):
            self.line(line.split("\t#")[0].strip() if '"' not in line else line.strip())
        for block in self.unit.blocks.values():
            block.attributes = self.bound[block.name]
        self.unit.constants = len({id(b) for b, n in self.unit.labels.values() if n is None})

    def line(self, line):
        if not line or line[0] == "#" or SKIPPED.match(line):
            return
        label = re.match(r"([\w.$]+):", line)
        if label:
            self.label(label[1])
            return self.line(line[label.end():].strip())
        op, _, operands = line.partition("\t") if "\t" in line else line.partition(" ")
        operands = operands.strip()
        if op in (".text", ".data", ".bss", ".section"):
            self.enter(operands if op == ".section" else op)
        elif op in (".align", ".p2align", ".balign"):
            self.align.append(op + " " + operands)
        elif BOUND.match(op):
            name, _, kind = operands.partition(",")
            self.bound[name.strip()].add(op + kind.replace(" ", ""))
        elif op == ".comm":
            self.open(operands.split(",")[0], ".bss").lines.append((op, tokens(operands.split(",", 1)[1])))
        elif op == ".set":
            self.set(*operands.split(",", 1))
        else:
            self.append(op, operands)
        return None

    def enter(self, operands):
        part = operands.split(",")
        self.section = part[0].strip()
        if len(part) > 1:
            self.unit.merged[self.section] = "S" in part[1] and "M" in part[1]

    def open(self, name, section):
        block = Block(self.unit, name, section, self.align)
        self.align = []
        self.unit.blocks[name] = block
        return block

    def label(self, label):
        code = self.section.startswith(".text")
        if not label.startswith(".L"):
            self.current[self.section] = self.open(label, self.section)
        elif re.match(r"\.L(COLD|HOT|FB|FE|text|etext|VL|BB|BE)", label):
            return
        elif code and self.section in self.current:
            block = self.current[self.section]
            self.flush(block)
            self.unit.labels[label] = (block, block.labels)
            block.lines.append(("label", (("", str(block.labels)),)))
            block.labels += 1
        else:
            block = self.current.get(self.section)
            if block is None or block.name or block.lines:
                block = self.current[self.section] = Block(self.unit, "", self.section, self.align)
                self.align = []
            self.unit.labels[label] = (block, None)

    def set(self, name, value):
        name, value = name.strip(), value.strip()
        m = re.fullmatch(r"(\.L\w+)(?:\+(\d+))?", value)
        if name.startswith(".L") and m:
            self.unit.alias[name] = (m[1], int(m[2] or 0))
        elif name.startswith(".L"):
            fail(f"{self.unit.path}: cannot read .set {name},{value}")
        else:
            self.open(name, "set").lines.append((".set", tokens(value)))

    def flush(self, block):
        block.lines += [(a, ()) for a in self.align]
        self.align = []

    def append(self, op, operands):
        if self.section.startswith(NOT_CODE):
            return
        if self.section not in self.current:
            self.current[self.section] = self.open("section " + self.section, self.section)
        block = self.current[self.section]
        self.flush(block)
        block.lines.append((op, tokens(operands)))


WIDTH = {".byte": 1, ".value": 2, ".short": 2, ".word": 2, ".2byte": 2, ".long": 4, ".int": 4, ".4byte": 4, ".quad": 8, ".8byte": 8}
TEXTS = (".string", ".ascii", ".asciz", ".zero", ".skip")


def number(text):
    try:
        return int(text, 0)
    except ValueError:
        return None


def bytes_of(lines):
    """Bytes of directives, or None if one of them has a symbol."""
    out = b""
    for op, toks in lines:
        text = "".join(t for _, t in toks)
        if op in TEXTS:
            out += text_of(op, toks).encode("latin1")
        elif op in WIDTH and all(number(v.strip()) is not None for v in text.split(",")):
            out += b"".join((number(v.strip()) % 2 ** (8 * WIDTH[op])).to_bytes(WIDTH[op], "little") for v in text.split(","))
        else:
            return None
    return out


def text_of(op, toks):
    if op in (".zero", ".skip"):
        return "\0" * int(toks[0][1], 0)
    return toks[0][1] + "\0" * (op != ".ascii")


def joined(lines):
    """Lines with each run of texts as one line."""
    out = []
    for op, toks in lines:
        if op in TEXTS:
            old = out.pop()[1][0][1] if out and out[-1][0] == "text" else ""
            out.append(("text", (("text", old + text_of(op, toks)),)))
        else:
            out.append((op, toks))
    return out


# ---- PTX ----------------------------------------------------------------------------------------------------------------------------

PTX_TOKEN = re.compile(r"[%.]?[A-Za-z_$][\w$]*|\d[\w.]*|\s+|.")
PTX_NAME = re.compile(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)|\.(?:global|const|shared)\b.*?([\w$]+)(?:\[\d*\])?\s*(?:=|;)")


def parse_ptx(path, text):
    """PTX to a Unit: a block for each kernel, function and variable, without comments and lines for debuggers."""
    unit, item, depth = Unit(path), [], 0
    declared = set(re.findall(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)", text))
    for line in text.split("\n"):
        line = re.sub(r"//.*", "", line).strip()
        if not line or re.match(r"\.(loc|file|version)\b", line):
            continue
        line = re.sub(r"\$L__BB\d+_", "$L__BB_", re.sub(r"__local_depot\d+", "__local_depot", line))
        item.append(line)
        depth += line.count("{") - line.count("}")
        if depth == 0 and (line[-1] in ";}" or re.match(r"\.(target|address_size)", line)):
            m = PTX_NAME.search(" ".join(item))
            name = (m[1] or m[2]) if m else "ptx " + item[0].split()[0]
            body = any("{" in i for i in item)
            block = Block(unit, name, "ptx" if body else "declaration", ())
            block.lines = [("", tuple((ptx_kind(t, declared), t) for t in PTX_TOKEN.findall(i))) for i in item]
            unit.blocks[name + " declared" * (m is not None and m[1] is not None and not body)] = block
            item = []
    return unit


def ptx_kind(token, declared):
    return "s" if token.startswith("_Z") or token in declared or re.sub(r"_param_\d+$", "", token) in declared else ""


# ---- comparison ---------------------------------------------------------------------------------------------------------------------

KINDS = re.compile(r"(\.(?:text|rodata|data|bss|init_array|fini_array)"
                   r"(?:\.(?:unlikely|startup|exit|hot|rel\.ro\.local|rel\.ro|rel\.local|rel|cst\d+|str[\d.]+))*)\.?(.*)")


class Comparison:
    """Blocks before against blocks after. Equal pairs, and the references on which that rests."""

    def __init__(self, table, anywhere):
        self.table, self.anywhere = table, anywhere
        self.before, self.after = {}, {}  # global symbol -> block
        self.reasons, self.constant_pairs = {}, {}

    def same_section(self, b, a):
        mb, ma = KINDS.fullmatch(b), KINDS.fullmatch(a)
        if not mb or not ma:
            return b == a
        return mb[1] == ma[1] and (number_free(ma[2]) in self.table.symbols(mb[2]) if mb[2] else not ma[2])

    def same(self, b, a):
        """References of an equal pair as [(block, block or None, name)], or None with the reason kept."""
        refs = []
        why = self.difference(b, a, refs)
        if why:
            self.reasons[b, a] = why
            return None
        return refs

    def difference(self, b, a, refs):
        if not self.same_section(b.section, a.section):
            return f"section {b.section} | {a.section}"
        if not self.anywhere and b.attributes != a.attributes:
            return f"symbol {' '.join(sorted(b.attributes))} | {' '.join(sorted(a.attributes))}"
        lb, la = (b.lines, a.lines) if b.is_text or b.section == "ptx" else (joined(b.lines), joined(a.lines))
        for x, y in zip(lb, la):
            why = self.line(b, a, x, y, refs)
            if why:
                return why
        if len(lb) != len(la):
            return f"{len(lb)} | {len(la)} lines"
        if b.align != a.align and not any(op == "text" for op, _ in lb):
            return f"alignment {b.align} | {a.align}"
        return None

    def line(self, b, a, x, y, refs):
        shown = f"{shown_line(x)} | {shown_line(y)}"
        tx, ty = x[1], y[1]
        if self.anywhere:
            tx, ty = ([t for t in s if t[1] != "@PLT"] for s in (tx, ty))
        if x[0] != y[0] or len(tx) != len(ty):
            return shown
        for (kx, sx), (ky, sy) in zip(tx, ty):
            if kx != ky:
                return shown
            if kx == "s":
                if number_free(sy) not in self.table.symbols(sx):
                    return shown
                refs.append((sx, sy))
            elif kx == "text":
                if not self.same_run(sx, sy):
                    return f"{sx[:80]!r} | {sy[:80]!r}"
            elif kx == "l":
                why = self.label(b, a, b.unit.find(sx), a.unit.find(sy), refs)
                if why:
                    return shown + why
            elif sx != sy and not (kx == '"' and self.table.same_text(sx, sy)):
                return shown
        return None

    def same_run(self, x, y):
        """Texts with zeros behind them: an array of a fixed size has as many less as the new text is longer."""
        sx, sy = x.rstrip("\0"), y.rstrip("\0")
        return self.table.same_text(sx, sy) and len(y) - len(x) in {0, len(sy) - len(sx)}

    def label(self, b, a, x, y, refs):
        if x[0] != y[0]:
            return ": code | constant"
        if x[0] == "constant":
            key = (x[1], y[1], x[2], y[2])
            if key not in self.constant_pairs:
                self.constant_pairs[key] = ("", [])  # jump tables name themselves
                own = []
                self.constant_pairs[key] = (self.constant(x, y, own), own)
            refs += self.constant_pairs[key][1]
            return self.constant_pairs[key][0]
        if x[2] != y[2] or (x[1] is b) != (y[1] is a):
            return ": label"
        if x[1] is not b:
            if number_free(y[1].name) not in self.table.symbols(x[1].name):
                return ": label of another function"
            refs.append((x[1].name, y[1].name))
        return ""

    def constant(self, x, y, refs):
        (_, cb, ob, vb), (_, ca, oa, va) = x, y
        if cb.unit.merged.get(cb.section) or ca.unit.merged.get(ca.section):
            tb, ta = ("".join(text_of(*line) for line in c.lines)[o:] for c, o in ((cb, ob), (ca, oa)))
            return "" if self.table.same_text(tb, ta) else f": string {tb[:100]!r} | {ta[:100]!r}"
        bb, ba = bytes_of(cb.lines), bytes_of(ca.lines)
        if bb is None or ba is None:
            why = "other offset" if ob != oa else self.difference(cb, ca, refs)
            return why and ": constant: " + why
        bb, ba = bb[ob:], ba[oa:]
        shared = min(len(bb), len(ba)) if vb or va else max(len(bb), len(ba))  # an alias goes on behind what is read
        equal = bb[:shared] == ba[:shared] and (vb or va or (self.same_section(cb.section, ca.section) and cb.align == ca.align))
        return "" if equal else f": constant {bb.hex()} | {ba.hex()} in {cb.section} | {ca.section}"

    def defined(self, unit, symbol, everywhere):
        return unit.blocks.get(symbol) or everywhere.get(symbol)

    def equal_pairs(self, pairs):
        """Of candidate pairs those that are equal, and whose references are to equal pairs."""
        equal = {}
        for b, a in pairs:
            refs = self.same(b, a)
            if refs is not None:
                equal[b, a] = {(sx, sy) for sx, sy in refs}
        again = True
        while again:
            again = False
            for (b, a), refs in list(equal.items()):
                for sx, sy in refs:
                    db, da = self.defined(b.unit, sx, self.before), self.defined(a.unit, sy, self.after)
                    if db and da and self.before.get(sx) is db and self.after.get(sy) is da:
                        continue  # one of that name in the library, compared by itself
                    if (db is None) != (da is None) or (db and (db, da) not in equal):
                        self.reasons[b, a] = f"refers to {sx} | {sy}, which differ"
                        del equal[b, a]
                        again = True
                        break
        return equal


def shown_line(line):
    return (line[0] + " " + "".join(t for _, t in line[1])).strip()[:100]


def compare(before, after, table, anywhere):
    """Units before and after, by path: the differences as text, roots before what only refers to them."""
    work, found = Comparison(table, anywhere), []
    for units, everywhere in ((before, work.before), (after, work.after)):
        for u in units.values():
            everywhere.update({n: b for n, b in u.blocks.items() if ".globl" in b.attributes or ".weak" in b.attributes})
    partner = {p: next((n for n in table.names(p) if n in after), None) for p in before}
    if not anywhere:
        found += [f"{p}: no object after" for p, n in partner.items() if n is None]
        found += [f"{p}: no object before" for p in set(after) - set(partner.values())]
    by_name = collections.defaultdict(list)  # blocks after, of all objects or of one
    for path, u in after.items():
        for n, b in u.blocks.items():
            by_name["" if anywhere else path, number_free(n)].append(b)
    pairs = {}
    for path, u in before.items():
        where = "" if anywhere else partner[path]
        for name, b in u.blocks.items():
            pairs[b] = [a for n in block_names(table, name) for a in by_name.get((where, n), [])]
    equal = work.equal_pairs([(b, a) for b, many in pairs.items() for a in many])
    owner = matching(pairs, equal, partner)
    taken = set(owner)
    matched = set(owner.values())
    for b, many in pairs.items():
        if b in matched or (not anywhere and partner[b.unit.path] is None):
            continue
        rest = [a for a in many if a not in taken] or many
        why = work.reasons.get((b, rest[0]), "more often before than after") if rest else "not there after as " + " or ".join(block_names(table, b.name))
        found.append(f"{b.unit.path}: {b.name}: {why}")
        taken.update(rest[:1])
    for path, u in after.items():
        found += [f"{path}: {n}: not there before" for n, b in u.blocks.items() if b not in taken and (anywhere or path in partner.values())]
    return sorted(found, key=lambda f: ": refers to " in f)


def block_names(table, name):
    head, space, rest = name.partition(" ")
    if head == "section":
        m = KINDS.fullmatch(rest)
        return [f"section {m[1]}" + ("." + s if s else "") for s in table.symbols(m[2])] if m else [number_free(name)]
    return [n + space + rest for n in table.symbols(head)]


def matching(pairs, equal, partner):
    """Block after -> block before, as many as can be (Kuhn's paths)."""
    owner = {}

    def place(b, seen):
        for a in sorted(pairs[b], key=lambda a: a.unit.path != partner[b.unit.path]):
            if (b, a) in equal and a not in seen:
                seen.add(a)
                if a not in owner or place(owner[a], seen):
                    owner[a] = b
                    return True
        return False

    for b in pairs:
        place(b, set())
    return owner


# ---- objects ------------------------------------------------------------------------------------------------------------------------

def text_sections(path):
    """Sections .text* of an ELF object as [(name, bytes)]."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:6] != b"\x7fELF\x02\x01":
        fail(path + ": not an object of 64 bits, little endian")
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    heads = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    out = []
    for h in heads:
        at = heads[names][4] + h[0]
        name = data[at:data.index(b"\0", at)].decode()
        if name.startswith(".text") and h[5]:
            out.append((name, data[h[4]:h[4] + h[5]]))
    return out


def compare_bytes(before, after, table, anywhere):
    """Objects by path as lists of (section, bytes). Differences as text, and the number of sections."""
    work, found, count = Comparison(table, anywhere), [], 0
    pools = collections.defaultdict(list)
    for path, sections in after.items():
        pools["" if anywhere else path] += sections
    for path, sections in before.items():
        pool = pools["" if anywhere else next((n for n in table.names(path) if n in after), None)]
        for name, data in sections:
            count += 1
            i = next((i for i, (n, d) in enumerate(pool) if d == data and work.same_section(name, n)), None)
            if i is None:
                found.append(f"{path}: {name}: {len(data)} bytes are not there after")
            else:
                del pool[i]
    found += [f"{n}: {len(d)} bytes are not there before" for pool in pools.values() for n, d in pool]
    return found, count


# ---- both revisions, compiled -------------------------------------------------------------------------------------------------------

def run(command, cwd, what):
    r = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if r.returncode:
        fail(f"{what}: {' '.join(command)[:300]}\n{r.stdout[-3000:]}")
    return r.stdout


def check_out(revision, to):
    """Files of a revision, or of the work tree ('')."""
    os.makedirs(to)
    top = run(["git", "rev-parse", "--show-toplevel"], None, "git").strip()
    if revision:
        run(["sh", "-c", 'git archive "$1" | tar -xf - -C "$2"', "sh", revision + "^{commit}", to], top, "revision " + revision)
        return
    for name in run(["git", "ls-files", "-z", "-co", "--exclude-standard"], top, "git").split("\0"):
        if name and os.path.isfile(os.path.join(top, name)):
            os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
            shutil.copy2(os.path.join(top, name), os.path.join(to, name))


def nvcc():
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return next((p for p in (home + "/bin/nvcc", shutil.which("nvcc") or "") if p and os.path.exists(p)), "")


class Tree:
    """One revision in a folder, and how its Makefile compiles."""

    def __init__(self, folder, args):
        self.folder, self.args, self.out = folder, args, folder + ".out"
        cc = os.environ.get("CC", "gcc")
        if shutil.which("ccache") and not cc.startswith("ccache"):
            cc = "ccache " + cc
        self.flags = self.settings("settings-c", "CUDA=0", "CC=" + cc)
        fake = os.path.isdir(os.path.join(folder, "tests/fake"))
        include = "tests/fake" if fake else os.path.join(os.path.dirname(os.path.dirname(nvcc())), "include") if nvcc() else ""
        self.cuda = ["-DVFRONT_CUDA", "-isystem", include] if include else None

    def settings(self, name, *options):
        to = os.path.join(self.out, "make", name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        run(["make", "-s", "BUILD=" + os.path.dirname(to), *options, to], self.folder, "flags")
        with open(to, encoding="utf-8") as f:
            return f.read().strip()

    def sources(self, *patterns):
        return sorted(s for p in patterns for s in glob.glob(p, root_dir=self.folder))

    def has_cuda(self, path):
        with open(os.path.join(self.folder, path), encoding="utf-8", errors="replace") as f:
            return re.search(r"\bVFRONT_CUDA\b", f.read()) is not None

    def jobs(self, cfg):
        """(key, source, further flags) of all objects with a config."""
        extra = [f'-DVFRONT_USER_CFG="{cfg}"'] if cfg else []
        for s in self.sources("src/*/*.c", "port/host/*.c"):
            yield s, s, extra
            if self.cuda and self.has_cuda(s):
                yield s + " (CUDA)", s, extra + self.cuda
        for s in self.sources("port/cuda/*.c") if self.cuda else []:
            yield s, s, extra + self.cuda

    def compile(self, to, source, extra):
        """Assembly and object of one source."""
        to = os.path.join(self.out, to)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        run(shlex.split(self.flags) + ["-w", *extra, "-S", source, "-o", to + ".s"], self.folder, source)
        return self.assembled(to, source, [w for w in shlex.split(self.flags)[:2] if not w.startswith("-")])

    def assembled(self, to, source, cc):
        run(cc + ["-c", to + ".s", "-o", to + ".o"], self.folder, source)
        with open(to + ".s", encoding="latin1") as f:
            return Parser(source, f.read()).unit, text_sections(to + ".o")

    def kernel(self, source, flags):
        """PTX and host code of one .cu: one run of nvcc, then the host compiler with the flags that nvcc is given for it."""
        to = os.path.join(self.out, source)
        os.makedirs(to, exist_ok=True)
        arch = os.environ.get("CUDA_ARCH", "87").split()[0]
        drop = [w for i, w in enumerate(flags) if w != "-gencode" and (i == 0 or flags[i - 1] != "-gencode")]
        run(drop + ["-w", "-gencode", f"arch=compute_{arch},code=compute_{arch}", "-cuda", "--keep", "--keep-dir", to, source, "-o", to + "/host.ii"],
            self.folder, source)
        host = [o for i, w in enumerate(flags) if w == "-Xcompiler" for o in flags[i + 1].split(",")]
        run(["g++", "-std=c++14", "-O3", "-w", *host, "-S", "-x", "c++-cpp-output", to + "/host.ii", "-o", to + "/host.s"], self.folder, source)
        with open(next(iter(glob.glob(to + "/*.ptx"))), encoding="utf-8") as f:
            ptx = parse_ptx(source + " (PTX)", f.read())
        return ptx, self.assembled(to + "/host", source, ["g++"])


def wanted(table, only, before, key):
    """1 if a source is to be compared: the path before matches; that of the source itself, if there was none before."""
    path = key.split(" ")[0]
    owners = [b for b in before if path in table.names(b)] if path not in before else [path]
    return not only or any(fnmatch.fnmatch(p, only) for p in owners or [path])


def compare_config(trees, table, args, cfg, pool):
    """Objects of one config: differences and counts."""
    results, names = [], trees[0].sources("src/*/*.c", "port/*/*.c")
    for tree, c in zip(trees, (cfg, table.path(cfg) if cfg else "")):
        work = {key: pool.submit(tree.compile, os.path.join(cfg.replace("/", "_"), key), s, extra)
                for key, s, extra in tree.jobs(c) if wanted(table, args.only, names, key)}
        results.append(work)
    before, after = ({k: f.result() for k, f in r.items()} for r in results)
    return report_units(before, after, table, args.any_object)


def report_units(before, after, table, anywhere):
    for units in (before, after):
        for key, (unit, _) in units.items():
            unit.path = key
    table = with_suffix(table, before)
    found = compare({k: u for k, (u, _) in before.items()}, {k: u for k, (u, _) in after.items()}, table, anywhere)
    raw, sections = compare_bytes({k: t for k, (_, t) in before.items()}, {k: t for k, (_, t) in after.items()}, table, anywhere)
    units = [u for u, _ in before.values()]
    blocks = [b for u in units for b in u.blocks.values()]
    return found + raw, {"objects": len(units), "functions": sum(b.is_text for b in blocks), "variables": sum(not b.is_text for b in blocks),
                         "constants": sum(u.constants for u in units), "sections of code": sections}


def with_suffix(table, units):
    """Paths with ' (CUDA)' behind them are mapped as the paths are."""
    for key in units:
        path, space, rest = key.partition(" ")
        if space and path in table.new:
            table.new[key] = [n + space + rest for n in table.new[path]]
    return table


def compare_kernels(trees, table, args, cfg, pool):
    results = []
    for tree, c in zip(trees, (cfg, table.path(cfg) if cfg else "")):
        arch = os.environ.get("CUDA_ARCH", "87").split()[0]
        flags = shlex.split(tree.settings("settings-cuda", "CUDA=1", "CUDA_ARCH=" + arch, "NVCC=" + nvcc()))
        flags += [f'-DVFRONT_USER_CFG="{c}"'] if c else []
        results.append({s: pool.submit(tree.kernel, s, flags) for s in tree.sources("kernels/*/*.cu")
                        if wanted(table, args.only, trees[0].sources("kernels/*/*.cu"), s)})
    before, after = ({s: f.result() for s, f in r.items()} for r in results)
    ptx = [{s: u for s, (u, _) in side.items()} for side in (before, after)]
    found = compare(*keyed(ptx), table, args.any_object)
    host, counts = report_units({s: h for s, (_, h) in before.items()}, {s: h for s, (_, h) in after.items()}, table, args.any_object)
    kernels = sum(b.section == "ptx" for u in ptx[0].values() for b in u.blocks.values())
    return found + host, {"PTX files": len(before), "kernels and functions in PTX": kernels, **{"host " + k: v for k, v in counts.items()}}


def keyed(sides):
    for side in sides:
        for key, unit in side.items():
            unit.path = key
    return sides


def compare_revisions(folders, table, args, configs):
    """All of both trees. Prints the counts; the differences."""
    trees, found = [Tree(f, args) for f in folders], []
    if not table.same_text(trees[0].flags, trees[1].flags):
        found.append(f"flags: {trees[0].flags} | {trees[1].flags}")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for cfg in configs:
            if cfg and not os.path.exists(os.path.join(folders[0], cfg)):
                fail("no config " + cfg)
            differ, counts = compare_config(trees, table, args, cfg, pool)
            if not counts["objects"]:
                fail("no source matches " + str(args.only)) if not args.ptx else None
            print(f"same_code: {cfg or 'standard config'}: " + ", ".join(f"{v} {k}" for k, v in counts.items()), flush=True)
            found += [f"{d} [{cfg}]" if cfg else d for d in differ]
        if args.ptx:
            differ, counts = compare_kernels(trees, table, args, configs[-1], pool)
            print(f"same_code: kernels, {configs[-1] or 'standard config'}: " + ", ".join(f"{v} {k}" for k, v in counts.items()))
            found += differ
    return found


# ---- self-test ----------------------------------------------------------------------------------------------------------------------

PROBE = """
extern int vf_probe_out(const char *text, double x);
static int probe_helper(double x) { return x > 3.0 ? vf_probe_out("too far", x) + 7 : 5; }
__attribute__((noinline)) static int probe_part(double x, int n) { return probe_helper(x) + n * (int)(x * 1.25); }
int vf_probe_call(double x, int n); int vf_probe_call(double x, int n) { static const short table[] = {3, 1, 4, 1, 5}; return probe_part(x, n) + table[n % 5]; }
"""
CASES = (  # text before, after, the table, what must be named; '' = equal
    ("1.25", "1.25", "", ""),
    ("1.25", "1.26", "", "probe_part: .*constant"),
    ("4, 1, 5", "4, 2, 5", "", "table"),
    ("+ 7", "+ 8", "", "probe_part: "),
    ("too far", "too long", "", "probe_part: .*string"),
    ("too far", "too long", "too far\ttoo long", ""),
    ("probe_part", "probe_scale", "", "probe_part: not there after"),
    ("probe_part", "probe_scale", "probe_part\tprobe_scale", ""),
    ("vf_probe_out", "vf_probe_print", "", "vf_probe_out"),
    ("vf_probe", "vf_check", "prefix\tvf_probe_\tvf_check_", ""),
    ("static int probe_part", "int probe_part(double x, int n);\nint probe_part", "", "probe_part: symbol"),
)


def self_test(args):
    """Real objects of a scratch copy with a probe behind the first source, changed in one place each."""
    bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        check_out("", tmp + "/before")
        shutil.copytree(tmp + "/before", tmp + "/after")
        source = sorted(glob.glob("src/*/*.c", root_dir=tmp + "/before"))[0]
        args.only = source
        with open(f"{tmp}/before/{source}", encoding="utf-8") as f:
            text = f.read()
        for old, new, table, named in CASES:
            for side, probe in (("before", PROBE), ("after", PROBE.replace(old, new))):
                with open(f"{tmp}/{side}/{source}", "w", encoding="utf-8") as f:
                    f.write(text + probe)
            found = compare_revisions([tmp + "/before", tmp + "/after"], Table(table.split("\n")), args, [""])
            ok = any(re.search(named, f) for f in found) if named else not found
            bad += not ok
            print(f"same_code: {'ok    ' if ok else 'FAILED'} {old} -> {new}: {found[0] if found else 'equal'}")
    return bad


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("revisions", nargs="*")
    p.add_argument("--renames", action="append", default=[])
    p.add_argument("--cfg", action="append")
    p.add_argument("--only")
    p.add_argument("--jobs", type=int, default=2)
    for flag in ("--ptx", "--any-object", "--self-test"):
        p.add_argument(flag, action="store_true")
    args = p.parse_args()
    sys.setrecursionlimit(10000)
    if args.self_test:
        return 1 if self_test(args) else 0
    if len(args.revisions) not in (1, 2):
        p.error("one or two revisions")
    if args.ptx and not nvcc():
        print("same_code: no nvcc")
        return 77
    lines = []
    for name in args.renames:
        with open(name, encoding="utf-8") as f:
            lines += f.readlines()
    table = Table(lines)
    with tempfile.TemporaryDirectory() as tmp:
        folders = [tmp + "/before", tmp + "/after"]
        for revision, folder in zip((args.revisions + [""])[:2], folders):
            check_out(revision, folder)
        configs = dict.fromkeys([""] + (args.cfg if args.cfg is not None else [FULL_CFG]))
        found = compare_revisions(folders, table, args, list(configs))
    for line in found[:SHOWN]:
        print("same_code: " + line)
    print(f"same_code: {len(found)} differences, {table.lines} lines of renames" if found else f"same_code: equal, {table.lines} lines of renames")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
