#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requirements, the tests that assert each, and how these went.

    tests/evidence/requirements.py                      names only: what has no test at all; a part of `make slow`
    tests/evidence/requirements.py BUILD LOG...         with results: of a coverage build, after its tests ran, and the logs of these

A requirement is a promise of tests/evidence/promises.txt, which names its tests; or a status, a state or a flag of a result, or a member of
vfront_health_t or vfront_timing_t, which this program finds in vfront.h. Tests of the latter are found in the tests' sources: an assertion has the
name in its arguments or condition, or compares with a table or a variable that was filled with it. With BUILD and LOG the assertion must
have run, by gcov's count of its lines, within a test that passed. Fails where a requirement has no such test.
"""
import collections
import glob
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import coverage  # noqa: E402

EVIDENCE = pathlib.Path("tests/evidence.txt")
PROOF = pathlib.Path("tests/gpu-proof.txt")
PROMISES = pathlib.Path("tests/evidence/promises.txt")
# Macros that define a test's verdict; functions of the tests whose body has one count as well.
VERDICTS = r"assert_\w+|fail|fail_msg|REQUIRE|MUST|CHECK|REFUSED"
# Enums of vfront.h that are input, by their first value. Every other is a status, a state or a flag that a call or a result can have.
INPUT = {"VFRONT_PORT_AUTO", "VFRONT_PART_REST", "VFRONT_LENS_RADTAN", "VFRONT_SCORE_SAD_B", "VFRONT_PHOTOMETRIC_NONE", "VFRONT_PRIOR_NONE",
         "VFRONT_WAIT_SPIN", "VFRONT_GREY8", "VFRONT_HOST_MEMORY", "VFRONT_MATCH_GUIDED", "VFRONT_STEREO_PREDICTED", "VFRONT_EGO_ALL",
         "VFRONT_DENSE_COPIED", "VFRONT_STIXEL_CAR", "VFRONT_FAILOVER_ALL"}

Span = collections.namedtuple("Span", "first last text")  # lines of a file, and what stands there


def bare(text):
    """Source without comments and strings, every line in its place."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


class File:
    """Source of a test: its functions and its assertions."""

    def __init__(self, path):
        self.path, self.text = path, bare(pathlib.Path(path).read_text())
        self.functions = {}
        lines, first = self.text.split("\n"), 0
        for i, line in enumerate(lines):
            if line.startswith("{"):
                first = i
                while first and lines[first - 1].strip() and lines[first - 1][0] not in "}#;":
                    first -= 1
            if line.startswith("}") and not line.startswith("};") and lines[first] and not lines[first].startswith("{"):
                name = re.search(r"(\w+)\s*\(", "\n".join(lines[first:i]))
                if name:
                    self.functions[name.group(1)] = Span(first + 1, i + 1, "\n".join(lines[first:i + 1]))

    def assertions(self, verdicts):
        """Statements that can make a test fail."""
        found = []
        for call in re.finditer(rf"\b(?:{verdicts})\s*\(", self.text):
            depth, end = 1, call.end()
            while depth and end < len(self.text):
                depth += {"(": 1, ")": -1}.get(self.text[end], 0)
                end += 1
            begin = max(self.text.rfind(c, 0, call.start()) for c in ";{}") + 1
            first = self.text.count("\n", 0, begin + len(self.text[begin:]) - len(self.text[begin:].lstrip())) + 1
            last = self.text.count("\n", 0, end) + 1
            if any(f.first < first and last <= f.last for f in self.functions.values()):
                found.append(Span(first, last, self.text[begin:end]))
        return found

    def function_of(self, line):
        return next((name for name, f in self.functions.items() if f.first <= line <= f.last), None)

    def holders(self, name):
        """Names of tables and variables that are filled with `name`, and the function in which that is; None: for the whole file."""
        for place in re.finditer(name, self.text):
            function = self.function_of(self.text.count("\n", 0, place.start()) + 1)
            begin = self.text.rfind(";", 0, place.start()) + 1
            if function:
                start = sum(len(line) + 1 for line in self.text.split("\n")[:self.functions[function].first - 1])
                begin = max(begin, start)
            before = self.text[begin:place.start()]
            filled = re.findall(r"([\w.>-]+)(?:\[[^=;]*?\])*\s*(?:[-+|&^]?=)(?!=)", before)
            for word in filled:
                parts = re.split(r"\.|->", word)
                yield parts[-1], function if len(parts) == 1 else None


def sources():
    return sorted(p for p in glob.glob("tests/*/*.[ch]") if not re.match(r"tests/(fake|fixture|config|vfcheck|emulate)/", p))


def requirements():
    """[(group, name)] out of vfront.h."""
    text = bare(pathlib.Path("vfront.h").read_text())
    found = []
    for enum in re.finditer(r"enum\s*(\w*)\s*{([^}]*)}", text):
        values = re.findall(r"\b(VFRONT_\w+)\s*=", enum.group(2))
        if values and values[0] not in INPUT:
            found += [(enum.group(1) + "_t" if enum.group(1) else "flags", v) for v in values]
    for struct in ("vfront_health", "vfront_timing"):
        body = re.search(rf"typedef struct {struct} {{(.*?)}}", text, re.S).group(1)
        found += [(struct + "_t", f"{struct[7:]}.{m}") for m in re.findall(r"(\w+)(?:\[\w+\])?;", body)]
    return found


def checkers(files):
    """Functions of the tests that can make a test fail, and that are no tests themselves."""
    names, bodies = set(), {}
    for file in files:
        for name, f in file.functions.items():
            if "void **state" not in f.text:
                bodies[name] = f.text
    while True:
        verdict = re.compile(rf"\b(?:{'|'.join([VERDICTS, *names])})\s*\(")
        more = {n for n, body in bodies.items() if verdict.search(body.split("{", 1)[-1])} - names - {"main"}
        if not more:
            return names
        names |= more


class Tests:
    """The tests' sources, and what is known of a run of them: nothing, without a build."""

    def __init__(self, build, logs):
        self.files = [File(p) for p in sources()]
        fixtures = [File(p) for p in glob.glob("tests/fixture/*.[ch]")]
        verdicts = "|".join([VERDICTS, *sorted(checkers(self.files + fixtures))])
        self.assertions = {f.path: f.assertions(verdicts) for f in self.files}
        self.build, self.passed, self.ran = build, {}, collections.defaultdict(lambda: collections.defaultdict(set))
        if not build:
            return
        for command in [c for log in logs for c in glob.glob(f"{log}/*.command")]:
            line = pathlib.Path(command).read_text().strip()
            said = pathlib.Path(command.replace(".command", ".txt")).read_text(errors="replace")
            counts = pathlib.Path(command.replace(".command", ".count")).read_text().split()
            good = set(re.findall(r"\[ +OK \] (\S+)", said)) - set(re.findall(r"\[ +(?:FAILED|SKIPPED) +\] (\S+)", said))
            self.passed[line] = (good, counts[1] == "0" and counts[0] != "0")
        programs = {c.split()[0]: c for c in self.passed}
        for of, source, lines in coverage.records(build, r"/(tests|config|fake)/"):
            if not source.startswith("tests/"):
                continue
            for program in self.programs_of(of, programs):
                self.ran[source][programs[program]] |= {line["line_number"] for line in lines if line["count"]}

    def programs_of(self, of, programs):
        """Programs that wrote the counts of an object: program-source.gcda, or source.gcda for those that are linked from objects."""
        path = str(pathlib.Path(of).with_suffix(""))
        at = path.find(self.build)
        path = path[at:] if at >= 0 else path
        for program in programs:
            if path.startswith(program + "-") or (path.endswith("/" + pathlib.Path(program).name) and path.startswith(program.rsplit("/", 1)[0])):
                yield program

    def callers(self, file, function):
        """Tests from which a function of a test's source is reached, itself first."""
        family = [f for f in self.files if f.path.rsplit("/", 1)[0] == file.path.rsplit("/", 1)[0]] if file.path.endswith(".h") else [file]
        known, at = [function], 0
        while at < len(known):
            for f in family:
                for name, body in f.functions.items():
                    if name not in known and re.search(rf"\b{known[at]}\b", body.text.split("{", 1)[-1]):
                        known.append(name)
            at += 1
        return known

    def of(self, name):
        """(program, test) for each assertion that concerns `name` and that ran in a test that passed; without a run, each assertion."""
        struct, _, member = name.partition(".")
        name = rf"\b{name}\b"
        for file in self.files:
            if member:  # of a variable that points to the struct, too
                pointers = re.findall(rf"vfront_{struct}_t \*(\w+) =", file.text) + re.findall(rf"vfront_{struct}_t (\w+)[;,]", file.text)
                name = rf"\b(?:{'|'.join([struct, *pointers])})(?:\.|->){member}\b"
            if not re.search(name, file.text):
                continue
            holders = set(file.holders(name))
            for span in self.assertions[file.path]:
                function = file.function_of(span.first)
                direct = re.search(name, span.text)
                if not direct and not any((where is None or where == function) and re.search(rf"\b{holder}\b", span.text) for holder, where in holders):
                    continue
                if not self.build:
                    yield file.path, function
                    continue
                for command, lines in self.ran[file.path].items():
                    good, all_good = self.passed[command]
                    if not lines & set(range(span.first, span.last + 1)):
                        continue
                    reached = self.callers(file, function)
                    test = next((t for t in reached if t in good), None)
                    if test:
                        yield command, test
                    elif all_good and not good and "main" in reached:
                        yield command, "the whole program"


def promises():
    """[(promise, [tests])] of the list."""
    found = []
    for line in PROMISES.read_text().splitlines():
        if line.startswith("== "):
            found.append((line[3:], []))
        elif line.strip() and not line.startswith("#"):
            found[-1][1].append(line.strip())
    return found


def result_of(tests, wanted):
    """Fault of a test that promises.txt names: missing, or failed where something ran. None if all is well."""
    program, _, name = wanted.partition(": ")
    if wanted.startswith("gpu-proof "):
        return proved(wanted.split()[1])
    if not tests.build:
        if not name:
            return None
        source = glob.glob(f"tests/*/{program.split('/')[-1]}.c")
        return None if any(re.search(rf"\b{name}\b", File(s).text) for s in source) else "no such test"
    for command, (good, all_good) in tests.passed.items():
        if (command + " ").replace(tests.build + "/", "").startswith(program + " "):
            if name:
                return None if name in good else "did not pass"
            return None if all_good else "did not pass"
    return "did not run"


def proved(part):
    """The same for a section of tests/gpu-proof.txt."""
    section = re.search(rf"^== {part}, .*?^== end of {part}", PROOF.read_text(), re.M | re.S)
    if not section:
        return "is not in tests/gpu-proof.txt"
    return "FAIL in tests/gpu-proof.txt" if re.search(r"FAIL|ERROR SUMMARY: [1-9]|[1-9]\d* failures$", section.group(), re.M) else None


def sources_now():
    return subprocess.run(["tests/house/sources.sh"], capture_output=True, text=True).stdout.strip()


def of_proof(part):
    """Date of a section of tests/gpu-proof.txt, and whether it is of these sources."""
    date, sources = re.search(rf"^== {part}, (\S+),.* sources (\w+)$", PROOF.read_text(), re.M).groups()
    return f", {date}, of " + ("these" if sources == sources_now() else "other") + " sources"


def short(command, build):
    return command.replace(build + "/", "") if build else command


def main():
    build = sys.argv[1] if len(sys.argv) > 2 else None
    tests = Tests(build, sys.argv[2:])
    faults = []
    for promise, wanted in promises():
        print(f"\n{promise}")
        for name in wanted:
            fault = result_of(tests, name)
            said = name + (of_proof(name.split()[1]) if name.startswith("gpu-proof ") and not fault else "")
            print(f"  {'passed' if build else 'there'}  {said}" if not fault else f"  FAILED  {name}: {fault}")
            if fault:
                faults.append(f"promise, {name}: {fault}")
        if not wanted:
            faults.append(f"promise without a test: {promise}")
    group = None
    for of, name in requirements():
        if of != group:
            print(f"\n{of}")
            group = of
        found = list(dict.fromkeys(tests.of(name)))
        by_program = list({command: (command, test) for command, test in reversed(found)}.values())[::-1]
        print(f"  {name:30} " + (", ".join(f"{short(c, build)}: {t}" for c, t in by_program[:3]) if found else "NO TEST")
              + (f", and {len(found) - 3} more" if len(found) > 3 else ""))
        if not found:
            faults.append(f"no test: {name}")
    if not build:
        written = re.search(r"^.* sources (\w+)$", EVIDENCE.read_text(), re.M) if EVIDENCE.exists() else None
        print(f"\n{EVIDENCE}: " + ("none" if not written else "of these sources" if written.group(1) == sources_now() else "of other sources"))
    print("\n" + ("\n".join(faults) if faults else "Every requirement has a test" + (" that passed." if build else ".")))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
