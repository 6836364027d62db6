#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Constants of the estimator: what somebody has chosen, beside what follows from mathematics, units and sizes.

    tests/house/constants.py [ROOT] [--list [KIND]]

Of src/imu, src/vio, src/vio_init, src/nav and the solvers that they have in src/math: every numeric literal but 0, 1, 2, -1 and 0.5, in whatever form, and the tuning values vio_... with
another default. tests/house/constants.txt has the rows by which some of them are not the estimator's choice, each with its reason:

    fault      files, functions, macros. Rules against faults
    input      functions, macros. Limits of what callers give or get
    formula    functions. Coefficients of a named formula: whole numbers up to 100 and their inverses
    dimension  macros. Numbers of columns, rows or lanes that follow from the variables

The rest goes by form. unit: 1e-9, 3e-9 (of three axes) or 1e9 in a statement with nanoseconds, 1e-6 with micro and ppm, 0.001 with milli, 0.01 with percent,
65536 with q16. bits: masks and shifts. dimension: integers in brackets, enumerations, heads of `for`, arguments of VF_PARTS and VF_GROUP, static
assertions; elsewhere those of SIZES, unless they are compared with anything but an index. chosen: all others, and the probabilities of
src/math/chi2.h, whose values are computed here again.

Each chosen one must be a macro or a tuning value, and src/ESTIMATOR.md must name it in its section Constants, without VF_, which names nothing else;
`A_{B,C}` stands for A_B and A_C. Rows of constants.txt that no literal needs fail, too. --list prints every constant, or those of a kind ("chosen"),
with file, line, name, value. budget.py bounds the number of chosen ones; sensitivity.py says what they move."""
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import budget  # noqa: E402

ROOMS = ("imu", "vio", "vio_init", "nav")
SOLVERS = ("math/cholesky.h", "math/robust.h")
# 3 axes, 4 of a quaternion, 5 of a packed triangle, 6 of a pose or of both biases, 7: 6 + 1, 9: (w, v, p) or 3 x 3, 10: 9 + 1, 15: state, their
# products and triangles, 16 and 32 lanes, 24: two frames and the biases of a monocular start
SIZES = {3, 4, 5, 6, 7, 9, 10, 15, 16, 24, 32, 36, 54, 81, 120, 225}
INDEX = re.compile(r"(?:\b[a-z]|\b(?:row|column|error|axis|part|at|bias|from|item|dimension|pose|r \+ c|c2)\b|\]|\))$")
UNITS = {"3e-9": r"_ns", "1e-9": r"ns\b|NS\b|\bt_ns", "1e9": r"ns\b|NS\b|offset_s", "1e-6": r"_urad|_ppm", "0.001": r"_mpx", "1e-3": r"_mpx", "0.01": r"_percent", "65536.0": r"q16"}
KINDS = ("chosen", "fault", "input", "formula", "dimension", "unit", "bits")


def rows(root):
    """Rows of constants.txt: kind, file or None, names."""
    for line in (root / "tests/house/constants.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            kind, where, reason = (part.strip() for part in line.split("|"))
            file, _, names = where.rpartition(":") if ":" in where else (where, "", "") if "/" in where else ("", "", where)
            yield kind, file, names.split(), reason


def blank(text):
    """Text without comments, strings and includes, every character at its place."""
    return budget.NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def owners(text):
    """For each line of code: name of its macro, "enum" or the function that it is in."""
    inside, macro, owner, result = "", "", "", []
    for line in text.split("\n"):
        define = re.match(r"\s*#\s*define\s+(\w+)", line)
        if define:
            macro = define.group(1)
        enum = re.match(r"\s*(?:typedef )?enum\b[^(;]*\{", line)
        if enum:
            inside = "enum"
        if not define and not macro and line[:1].isalpha():
            head = re.search(r"(\w+)\((?!\))", line)
            owner = head.group(1) if head else owner
            owner = "" if re.match(r"struct \w+ \{|VF_STATIC", line) else owner
        result.append(("macro", macro) if macro else ("enum", "enum") if inside else ("code", owner))
        if macro and not line.endswith("\\"):
            macro = ""
        if inside and "}" in line:
            inside = ""
    return result


def context(code, start):
    """Innermost bracket around a place: "[", "for", name of the macro or function called, or ""."""
    depth = 0
    for at in range(start - 1, max(-1, start - 2000), -1):
        c = code[at]
        if c in ")]":
            depth += 1
        elif c in "([" and depth:
            depth -= 1
        elif c == "[":
            return "["
        elif c == "(":
            name = re.search(r"(\w+)\s*$", code[:at])
            if name:
                return name.group(1)
        elif c == ";" and depth == 0 and "for" in code[max(0, code.rfind("\n", 0, at)):at]:
            continue
        elif c in ";{}" and depth == 0:
            return ""
    return ""


def statement(code, start, end):
    """The statement around a place."""
    first = max(code.rfind(c, 0, start) for c in ";{}")
    ends = [e for e in (code.find(c, end) for c in ";{}") if e >= 0]
    return code[first + 1:min(ends) if ends else None]


def kind_of(code, match, owner):
    """Kind of a literal outside macros, by its form."""
    text, value = match.group(), match.group(1)
    start, end = match.span()
    if owner[0] == "enum" or "VF_STATIC_ASSERT" in statement(code, start, end):
        return "dimension"
    if value in UNITS and re.search(UNITS[value], statement(code, start, end)):
        return "unit"
    if "." in value or ("e" in value and value[:2] != "0x"):
        return "chosen"
    if value[:2] in ("0x", "0X") or re.search(r"(?:<<|>>) *$", code[:start]):
        return "bits"
    around = context(code, start)
    if around in ("[", "for") or re.match(r"VF_(?:PARTS|GROUP)", around) or code[end:end + 1] == "]":
        return "dimension"
    if int(value) not in SIZES or text != value:
        return "chosen"
    before = re.search(r"([\w\])+ -]*?)\s*(?:[<>]=?|[!=]=)\s*(?:-\s*)?$", code[:start][-60:])
    return "chosen" if before and not INDEX.search(before.group(1).rstrip()) else "dimension"


def rational(value):
    """1 for a whole number up to 100 or the inverse of one: what a coefficient of a formula may be."""
    number = float(value)
    return any(abs(x - round(x)) < 1e-12 and 0 < x <= 100 for x in (number, 1 / number))


def literals(root):
    """(kind, file, line, name, value) of every literal that is not plain."""
    table = list(rows(root))
    whole = {(kind, file) for kind, file, names, _ in table if file and not names}
    named = {(file, name): kind for kind, file, names, _ in table for name in names}
    for room in ROOMS + SOLVERS:
        for path in [root / "src" / room] if room in SOLVERS else budget.sources(root, "src/" + room):
            file, code = str(path.relative_to(root)), blank(path.read_text())
            at = owners(code)
            for match in budget.NUMBER.finditer(code):
                value, line = match.group(1), code.count("\n", 0, match.start())
                if (int(value, 16) if value[:2] in ("0x", "0X") else float(value)) in budget.PLAIN:
                    continue
                owner = at[line]
                kind = "fault" if ("fault", file) in whole else named.get((file, owner[1])) or named.get(("", owner[1]))
                if not kind or kind == "formula":
                    form = kind_of(code, match, owner)
                    form = "chosen" if owner[0] == "macro" and form != "unit" else form
                    kind = kind if kind and form == "chosen" and rational(value) else form
                yield kind, file, line + 1, owner[1], value


def tuning(root):
    """Tuning values of the estimator whose default is not plain."""
    return re.findall(r"^    X\((vio_\w+), (?![012],)", (root / "vfront.h").read_text(), re.M)


def survival(freedom, x):
    """Probability that a chi-square value exceeds x; freedom 0: that a normal one does."""
    if not freedom:
        return 0.5 * math.erfc(x / math.sqrt(2))
    h = x / 2
    if freedom % 2:
        return math.erfc(math.sqrt(h)) + math.exp(-h) * sum(h ** (k - 0.5) / math.gamma(k + 0.5) for k in range(1, (freedom + 1) // 2))
    return math.exp(-h) * sum(h**k / math.factorial(k) for k in range(freedom // 2))


def quantiles(root, complain):
    """Probabilities of the table of quantiles, whose values are computed again."""
    found = set()
    for freedom, power, value in re.findall(r"^#define VF_(?:CHI2_(\d+)|NORMAL)_E(\d+) (\S+)$", (root / "src/math/chi2.h").read_text(), re.M):
        chance = survival(int(freedom or 0), float(value))
        if abs(chance * 10 ** int(power) - 1) > 1e-4:
            complain("chi2.h: %s is exceeded with a probability of %g, not of 1e-%s" % (value, chance, power))
        found.add("E" + power)
    return sorted(found)


def described(root):
    """Names of the section Constants of ESTIMATOR.md; A_{B,C} is A_B and A_C."""
    section = re.search(r"^## Constants\n(.*?)(?=^## |\Z)", (root / "src/ESTIMATOR.md").read_text(), re.S | re.M)
    found = []
    for begin, ends, end in re.findall(r"`(\w*)(?:\{([\w,]+)\}(\w*))?`", section.group(1) if section else ""):
        found += [begin + name + end for name in ends.split(",")]
    return found


def check(root, found, complain):
    """Chosen constants beside ESTIMATOR.md and the table beside the sources."""
    names = {name[3:] if name.startswith("VF_") else name for kind, _, _, name, _ in found if kind == "chosen"}
    for kind, file, line, name, value in found:
        if kind == "chosen" and not name.startswith("VF_"):
            complain("%s:%d: %s has no name" % (file, line, value))
    names |= set(tuning(root)) | set(quantiles(root, complain))
    text = described(root)
    for name in sorted(names - set(text)):
        complain("ESTIMATOR.md, section Constants, does not name %s" % name)
    for name in sorted(set(text) - names):
        complain("ESTIMATOR.md, section Constants, names %s, which is none" % name)
    used = {(kind, file) for kind, file, *_ in found} | {(kind, name) for kind, _, _, name, _ in found}
    for kind, file, own, _ in rows(root):
        for name in own or [file]:
            if (kind, name) not in used:
                complain("constants.txt: no %s %s" % (kind, name))
    return len(names)


def count(root):
    """Number of constants of each kind."""
    number = dict.fromkeys(KINDS, 0)
    for kind, *_ in literals(root):
        number[kind] += 1
    number["chosen"] += len(tuning(root)) + len(quantiles(root, lambda text: None))
    return number


def main(arguments):
    root = pathlib.Path(next((a for a in arguments if "/" in a or a == "."), ".")).resolve()
    found = list(literals(root))
    if "--list" in arguments:
        wanted = arguments[arguments.index("--list") + 1:][:1]
        for kind, file, line, name, value in found:
            if not wanted or kind == wanted[0]:
                print("%-9s %s:%d %s %s" % (kind, file, line, name, value))
        return 0
    bad, number = [], count(root)
    check(root, found, bad.append)
    for line in bad:
        print("constants: " + line)
    print("constants: %s" % ", ".join("%d %s" % (number[k], k) for k in KINDS))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
