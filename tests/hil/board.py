# SPDX-License-Identifier: MIT
"""hil-board at a port of its own, and hil-bench beside it, for the tests of this folder."""
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import time
import xml.etree.ElementTree as xml

EXEC = shlex.split(os.environ.get("EXEC", "")) # runs the board
LIGHT = ["--set", "select_points=300", "--set", "ego_hypotheses=64", "--set", "ego_metric_hypotheses=64", "--set", "stereo=2"]


class Board:
    """The board's program, until the end of the block."""

    def __init__(self, program, *words, port="host"):
        self.said = tempfile.TemporaryFile("w+") # no pipe: it would be full after so many sessions, and the board would wait
        self.process = subprocess.Popen([*EXEC, program, "--listen", "127.0.0.1:0", "--port", port, *words], stdout=subprocess.PIPE,
                                        stderr=self.said, text=True)
        self.port = int(re.search(r"port (\d+)", self.process.stdout.readline()).group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.out = self.process.communicate(timeout=60)[0]
        self.code = self.process.returncode
        self.said.seek(0)
        self.err = self.said.read()
        self.said.close()


def run(program, port, *words):
    """Exit code of hil-bench, and its output."""
    done = subprocess.run([program, "--board", f"127.0.0.1:{port}", "--port", "host", *words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def one_row(bench, board, mode, name, words):
    """Its lines of the table, its JUnit case; a board and a bench of its own."""
    with tempfile.TemporaryDirectory() as folder, Board(board, "--keep", os.path.join(folder, "keep")) as server:
        junit = os.path.join(folder, "junit.xml")
        code, said = run(bench, server.port, mode, "--row", name, "--junit", junit, *words)
        lines = [line for line in said.splitlines() if not re.match(r"fault  +|\d+ (faults|flights), ", line)]
        cases = list(xml.parse(junit).getroot()) if os.path.exists(junit) else []
        case = cases[0] if cases else None
        is_skipped = any("  skipped: " in line for line in lines)
    return code == 0 and (case is not None or is_skipped), lines or [f"{name:30} FAILED: no answer"], case


def sources():
    """Digests of the library's sources, and of those of companion and bench."""
    root = pathlib.Path(__file__).resolve().parents[2]
    library = subprocess.run([root / "tests/house/sources.sh"], capture_output=True, text=True).stdout.strip()
    files = sorted(f for folder in ("companion", "hil") for f in (root / "examples" / folder).glob("*.[ch]"))
    return f"sources {library}, companion and bench {hashlib.sha256(b''.join(f.read_bytes() for f in files)).hexdigest()[:16]}"


def table(bench, board, mode, name, words=(), elsewhere=()):
    """The table of --faults or --fly, line by line as it is done, and in NAME.txt and NAME.xml, with date and sources. words: for hil-bench,
    and --jobs N, rows at a time, without it as many as there are processors; --rows "A|B", these rows. elsewhere: rows of other programs,
    (bench, board, row, words). True if all rows passed."""
    words = list(words)

    def option(key, value):
        """The last one of that name, which hil-bench does not get."""
        while key in words:
            at = words.index(key)
            value = words[at + 1]
            del words[at:at + 2]
        return value
    jobs, rows, only = int(option("--jobs", os.cpu_count())), option("--rows", None), option("--only", "")
    listed = [row for row in run(bench, 0, mode, "--list")[1].splitlines() if only in row and (rows is None or row in rows.split("|"))]
    others = {one[2]: one for one in elsewhere}
    work = [others.get(row, (bench, board, row, words)) for row in listed]
    lines = [f"{time.strftime('%Y-%m-%d')}, {sources()}: {' '.join([mode, *words])}"]
    print(lines[0], flush=True)
    load = os.getloadavg()[0]
    passed, skipped, suite = 0, 0, xml.Element("testsuite", name="hil-bench", tests=str(len(work)))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for good, said, case in pool.map(lambda w: one_row(w[0], w[1], mode, w[2], w[3]), work):
            is_skipped = good and case is None
            passed += good and not is_skipped
            skipped += is_skipped
            lines += said
            print("\n".join(said), flush=True)
            if case is not None:
                suite.append(case)
    if "--real-time" in words: # what a pace is worth depends on it
        lines.append(f"load of the machine {load:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} processors")
        print(lines[-1])
    lines.append(f"{len(work)} rows, {passed} passed" + (f", {skipped} skipped" if skipped else ""))
    print(lines[-1])
    suite.set("failures", str(len(work) - passed - skipped))
    xml.ElementTree(suite).write(name + ".xml")
    with open(name + ".txt", "w") as file:
        file.write("\n".join(lines) + "\n")
    return passed + skipped == len(work) > skipped
