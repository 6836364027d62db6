#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels as C++ for the CPU: copies a folder of .cu and .cuh files and replaces CUDA syntax, so that tests/emulate/block.cpp can run
them. Line numbers are unchanged.

    translate.py kernels/ build/emulate/kernels/

    kernel<<<grid, block, bytes, stream>>>(arguments);  ->  emulate::launch("kernel", grid, block, bytes, [&] { kernel(arguments); });
    asm("mad.lo.u32 %0, %1, 3, %2;" : "=r"(a) : ...);   ->  ptx_mad_lo_u32(a, b, 3, c);      functions of tests/emulate/cuda_runtime.h
    asm("prefetch.global.L2 [%0];" : : "l"(a));         ->  ptx_prefetch_global_L2(a);
    extern __shared__ T name[];                         ->  T *const name = (T *)emulate::dynamic_shared();
"""
import pathlib
import re
import sys


def closing(text, at):
    """Position after the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return i + 1
    raise SystemExit("translate: no closing parenthesis")


def launches(text):
    start = re.compile(r"(\w+)\s*(<[^<>;{}]*>)?\s*<<<")
    out, at = "", 0
    while match := start.search(text, at):
        end = text.index(">>>", match.end())
        after = closing(text, end + 3)
        kernel = match[1] + (match[2] or "")
        grid, block, dynamic, _ = split(text[match.end() : end])
        out += text[at : match.start()]
        out += f'emulate::launch("{kernel}", {grid}, {block}, {dynamic}, [&] {{ {kernel}{text[end + 3 : after]}; }})'
        at = after
    return out + text[at:]


def split(arguments):
    """Arguments split at commas outside parentheses."""
    parts, depth = [""], 0
    for c in arguments:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def assembly(text):
    start = re.compile(r"\basm(\s+volatile)?\s*\(")
    out, at = "", 0
    while match := start.search(text, at):
        after = closing(text, match.end() - 1)
        inside = text[match.end() : after - 1]
        code = re.match(r'\s*"([^"]*)"', inside)[1]
        operands = [o for _, o in re.findall(r'"([=+]?\w+)"\s*\(((?:[^()]|\([^()]*(?:\([^()]*\)[^()]*)*\))*)\)', inside)]
        out += text[at : match.start()]
        if code:
            name, _, rest = code.rstrip(";").partition(" ")
            words = re.sub(r"%%(\w+)", r"ptx_\1", rest.replace("[", "").replace("]", ""))
            words = re.sub(r"%(\d)", lambda m: operands[int(m[1])], words)
            out += f"ptx_{name.replace('.', '_')}({words})"
        else:
            out += "(void)0"
        at = after
    return out + text[at:]


def translate(text):
    text = re.sub(r"extern __shared__\s+(?:__align__\(\d+\)\s+)?([\w ]+?)\s+(\w+)\[\];", r"\1 *const \2 = (\1 *)emulate::dynamic_shared();", text)
    return assembly(launches(text))


def main():
    if len(sys.argv) != 3:
        raise SystemExit("translate.py FROM TO")
    source, target = map(pathlib.Path, sys.argv[1:])
    for path in sorted(source.rglob("*")):
        if not path.is_file():
            continue
        to = target / path.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        text = f'#line 1 "{path}"\n' + translate(path.read_text())
        if to.suffix == ".cu":
            to = to.with_suffix(".cu.cpp")
        if not to.exists() or to.read_text() != text:
            to.write_text(text)


main()
