# SPDX-License-Identifier: MIT
"""hil-board at a port of its own, and hil-bench beside it, for the tests of this folder."""
import os
import re
import shlex
import subprocess

EXEC = shlex.split(os.environ.get("EXEC", "")) # runs the board
LIGHT = ["--set", "select_points=300", "--set", "ego_hypotheses=64", "--set", "ego_metric_hypotheses=64", "--set", "stereo_expected=0"]


class Board:
    """The board's program, until the end of the block."""

    def __init__(self, program, *words):
        self.process = subprocess.Popen([*EXEC, program, "--listen", "127.0.0.1:0", "--port", "host", *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r"port (\d+)", self.process.stdout.readline()).group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.out, self.err = self.process.communicate(timeout=60)
        self.code = self.process.returncode


def run(program, port, *words):
    """Exit code of hil-bench, and what it says."""
    done = subprocess.run([program, "--board", f"127.0.0.1:{port}", "--port", "host", *words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr
