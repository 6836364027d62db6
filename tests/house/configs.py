#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Matrix of configs. Every value of vfront_cfg.h at both ends of its range, every switch and every pair of switches, from the standard config and from
the one with all stages: each is read by the compiler without making code, with warnings as errors. Each switch alone is compiled and linked as well, and
its kernels are read as tests/emulate/translate.py writes them. Values beyond an end, and combinations that do not go together, must be refused by a
message that names a value given. Ranges and switches are read from vfront_cfg.h.

    tests/house/configs.py [--sample | --fifth] 'CC FLAGS' 'CXX FLAGS' KERNELS

--sample  The values beyond an end, the switches alone from the standard config, a pair, one config of kernels.
--fifth   Every fifth of what is compiled.
KERNELS   Folder of the translated kernels.
"""
import concurrent.futures
import glob
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time

ALL = {"DENSE": 1, "STIXELS": 1, "MAP": 1}
BASES = ({}, ALL)
OF_KERNELS = {"EGO": 0}  # of the sample
NO_SLACK = {"VIO": 0, "HOST": 0}  # likewise: its control block is hardly smaller than vfront_t
NAMES = ("SCALE_NUM", "SCALE_DEN")  # of one fraction: its ends, and what lies beyond
FRACTIONS = [{"SCALE_NUM": 64, "SCALE_DEN": 63}, {"SCALE_NUM": 2, "SCALE_DEN": 1, "SCALES": 5}]
BEYOND = [{"SCALE_NUM": 63, "SCALE_DEN": 63}, {"SCALE_NUM": 3, "SCALE_DEN": 1}, {"SCALE_NUM": 65, "SCALE_DEN": 64}, {"SCALE_NUM": 2, "SCALE_DEN": 0},
          {"SCALE_NUM": 2, "SCALE_DEN": 1}, {"WIDTH": 64, "SCALES": 8, "SCALE_NUM": 64, "SCALE_DEN": 49}]
SOURCES = sorted(glob.glob("src/*/*.c") + glob.glob("port/host/*.c"))
CUDA = sorted(glob.glob("port/cuda/*.c"))


def read_ranges():
    """{name: (values at the ends, values beyond)} of all values of VFRONT_CONFIG, by what their #error says."""
    text = open("vfront_cfg.h", encoding="utf-8").read()
    standard = dict(re.findall(r"#define VFRONT_(\w+) (\d+)\n#endif", text))
    number = lambda word: int(standard.get(word.replace("VFRONT_", ""), word))
    ranges = {}
    for name, rule in re.findall(r'#error "vfront: VFRONT_(\w+) must (.*?) \(see vfront_cfg', text):
        span = re.search(r"(\d+)\.\.(\w+)", rule)
        if span:
            step = int((re.search(r"multiple of (\d+)", rule) or [0, 1])[1])
            low, high = int(span[1]), number(span[2])
            ranges[name] = ((low, high), (low - step, high + step) + ((low + 1,) if step > 1 else ()))
        elif rule.startswith("be "):
            listed = [int(n) for n in re.findall(r"\d+", rule)]
            ranges[name] = ((listed[0], listed[-1]), (listed[0] - 1, listed[-1] + 1))
    known = set(re.findall(r"X\(VFRONT_(\w+)\)", text.split("#define VFRONT_CONFIG(X)")[1]))
    foreign = set().union(ALL, OF_KERNELS, NO_SLACK, *FRACTIONS, *BEYOND) - known
    if foreign:
        sys.exit(f"configs: {sorted(foreign)} are no values of VFRONT_CONFIG")
    if known != set(ranges) | set(NAMES):
        sys.exit(f"configs: no range read for {sorted(known - set(ranges) - set(NAMES))}, or none of VFRONT_CONFIG: {sorted(set(ranges) - known)}")
    return ranges


def defines(config):
    return [f"-DVFRONT_{name}={value}" for name, value in config.items()]


def shown(config):
    return " ".join(f"{name}={value}" for name, value in config.items()) or "standard"


def refusal(said, config):
    """What refuses a config: the library's own message, which names a value given. None: something else is wrong."""
    errors = [line for line in said.splitlines() if "error: " in line]
    own = [line for line in errors if re.search(r'error: (#error|static assertion failed:|static assertion failed due to.*:) "?vfront: ', line)]
    named = own and any(re.search(rf"VFRONT_{name}\b", own[0]) for name in config)
    return own[0] if named and len(own) == len(errors) else None


class Matrix:
    def __init__(self, cc, cxx, kernels):
        self.cc, self.cxx, self.kernels = cc.split(), cxx.split(), kernels
        self.count = dict.fromkeys(("read", "linked", "kernels"), 0)
        self.known = {}
        self.refusals = set()
        self.failed = []

    def run(self, command, **more):
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)

    def fail(self, config, what):
        lines = [line for line in what.splitlines() if "error" in line or "undefined" in line] or what.splitlines()
        self.failed.append(shown(config) + ": " + "\n    ".join(lines[:4]))

    def values(self, config):
        """All values of a config, in the order of VFRONT_CONFIG; None: it is refused."""
        if shown(config) not in self.known:
            self.known[shown(config)] = self.find_values(config)
        return self.known[shown(config)]

    def find_values(self, config):
        text = '#include "vfront_cfg.h"\n#define SHOW(value) value,\nVALUES VFRONT_CONFIG(SHOW)\n'
        done = self.run([*self.cc, "-I.", *defines(config), "-E", "-P", "-xc", "-"], input=text)
        if done.returncode:
            if refusal(done.stdout, config):
                self.refusals.add(shown(config))
            else:
                self.fail(config, "is refused without a message that names a value given: " + done.stdout)
            return None
        found = done.stdout.split("VALUES")[1].replace("&&", " and ").replace("||", " or ").replace("/", "//")
        return tuple(int(value) for value in eval(found))  # pylint: disable=eval-used

    def refused(self, config):
        if self.values(config):
            self.failed.append(shown(config) + ": compiles, and should not")

    def read(self, config):
        done = self.run([*self.cc, "-fsyntax-only", "-I.", "-Isrc", "-isystem", "tests/fake", "-DVFRONT_CUDA", *defines(config), *SOURCES, *CUDA])
        if not done.returncode:
            self.count["read"] += 1
        elif refusal(done.stdout, config):
            self.refusals.add(shown(config))
        else:
            self.fail(config, done.stdout)

    def link(self, config):
        with tempfile.TemporaryDirectory() as folder:
            flat = {os.path.join(folder, path.replace("/", "-")[:-2] + ".o"): path for path in SOURCES}
            for to, path in flat.items():
                done = self.run([*self.cc, "-O0", "-I.", "-Isrc", *defines(config), "-c", path, "-o", to])
                if done.returncode:
                    return self.fail(config, done.stdout)
            done = self.run([*self.cc, "-I.", *defines(config), "examples/minimal.c", *flat, "-o", os.path.join(folder, "minimal"), "-lm"])  # -O0 calls sqrt()
        if done.returncode:
            return self.fail(config, done.stdout)
        self.count["linked"] += 1
        return None

    def read_kernels(self, config):
        flags = ["-fsyntax-only", "-w", "-I.", "-Isrc", "-Itests/emulate", "-I" + os.path.dirname(self.kernels), "-isystem", "tests/fake", "-DVFRONT_CUDA",
                 "-DEMULATED", "-D__CUDACC__", "-D__CUDACC_VER_MAJOR__=13", "-D__CUDA_ARCH__=870"]
        done = self.run([*self.cxx, *flags, *defines(config), *sorted(glob.glob(self.kernels + "/*/*.cu.cpp"))])
        if done.returncode:
            return self.fail({**config, "kernels": 1}, done.stdout)
        self.count["kernels"] += 1
        return None


def at_ends(ranges, base):
    """Configs with one value at an end of its range."""
    for name, (ends, _) in ranges.items():
        for value in ends:
            yield {**base, name: value}
    for fraction in FRACTIONS:
        yield {**base, **fraction}


def in_pairs(switches, base):
    for one, other in itertools.combinations(switches, 2):
        for a, b in itertools.product((0, 1), repeat=2):
            yield {**base, one: a, other: b}


def distinct(matrix, configs, pool):
    """Those that are not refused, each set of values once."""
    configs = list(configs)
    found = {}
    for config, values in zip(configs, pool.map(matrix.values, configs)):
        if values:
            found.setdefault(values, config)
    return list(found.values())


def main():
    sample, fifth = "--sample" in sys.argv, "--fifth" in sys.argv
    matrix = Matrix(*[word for word in sys.argv[1:] if word not in ("--sample", "--fifth")])
    begin = time.time()
    ranges = read_ranges()
    switches = [name for name, (ends, _) in ranges.items() if ends == (0, 1)]
    alone = [{}, ALL] + [{**base, name: value} for base in BASES[: 1 if sample else 2] for name in [*switches, "CAMERAS"] for value in ranges[name][0]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(matrix.refused, [{name: value} for name, (_, beyond) in ranges.items() for value in beyond] + BEYOND))
        singles = distinct(matrix, alone, pool)
        ends = [] if sample else distinct(matrix, [c for base in BASES for c in itertools.chain(at_ends(ranges, base), in_pairs(switches, base))], pool)
        jobs = [(matrix.read, config) for config in ([*singles, NO_SLACK] if sample else distinct(matrix, singles + ends, pool))]
        jobs += [] if sample else [(matrix.link, config) for config in singles]
        jobs += [(matrix.read_kernels, config) for config in ([OF_KERNELS] if sample else singles)]
        list(pool.map(lambda job: job[0](job[1]), jobs[::5] if fifth else jobs))
    for line in matrix.failed:
        print("configs:", line)
    count = matrix.count
    print(f"configs: {count['read']} read, {count['linked']} linked, kernels of {count['kernels']} read, {len(matrix.refusals)} refused as they must be, "
          f"{len(matrix.failed)} failed; {len(switches)} switches; {time.time() - begin:.0f} s")
    return 1 if matrix.failed or not count["read"] or not matrix.refusals else 0


if __name__ == "__main__":
    sys.exit(main())
