#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Dockerfile of examples/package without Docker: each stage in a chroot that debootstrap makes, its commands as they stand.

    tests/package/dockerfile.py

Exit: 0 good, 1 not, 77 not root, or no debootstrap. Takes minutes and a network: `make dockerfile`.

FROM, ARG, RUN, COPY, COPY --from, WORKDIR, ENTRYPOINT are done as Docker does them; any other word fails. At the end the entry point runs over the rendered
flight in the last stage, and the image must have no compiler."""
import glob
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

FILE = pathlib.Path("examples/package/Dockerfile")


def instructions(text):
    """(word, rest) of each, with continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    return [line.split(None, 1) for line in text.splitlines() if line.strip()]


class Stage:
    """A root file system with what RUN leaves in it."""

    def __init__(self, root, base, variables):
        self.root, self.variables, self.folder = root, dict(variables), "/"
        subprocess.run(["cp", "-a", str(base), str(root)], check=True)
        for name in ("proc", "sys", "dev"):
            subprocess.run(["mount", "--bind", f"/{name}", str(root / name)], check=True)

    def close(self):
        for name in ("dev", "sys", "proc"):
            subprocess.run(["umount", "-l", str(self.root / name)], check=False)
            if os.path.ismount(self.root / name):  # what is mounted must not be removed with the folder
                print(f"dockerfile: {self.root / name} cannot be unmounted: the folder stays", flush=True)
                os._exit(1)

    def path(self, name):
        return self.root / os.path.join(self.folder, name).lstrip("/")

    def run(self, command, **more):
        shell = f"cd {shlex.quote(self.folder)} && {command}" if isinstance(command, str) else shlex.join(["cd", self.folder]) + " && " + shlex.join(command)
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **self.variables}
        return subprocess.run(["chroot", str(self.root), "/bin/sh", "-c", shell], env=environment, text=True, **more)

    def copy(self, sources, to):
        """Files into a folder, as Docker: contents of a folder, files by their names."""
        target = self.path(to)
        target.mkdir(parents=True, exist_ok=True)
        found = [f for source in sources for f in glob.glob(source)]
        if not found:
            sys.exit(f"dockerfile: COPY: nothing is {sources}")
        for f in found:
            if os.path.isdir(f):
                subprocess.run(f"git -C {shlex.quote(f)} ls-files -z | tar -C {shlex.quote(f)} --null -T - -c | tar -x -C {shlex.quote(str(target))}",
                               shell=True, check=True)
            else:
                shutil.copy2(f, target)


def play(folder, base):
    """The last stage and its entry point."""
    stages, named, outside, entry = [], {}, {}, None
    try:
        for word, rest in instructions(FILE.read_text()):
            if word == "ARG":
                name, _, value = rest.partition("=")
                (stages[-1].variables if stages else outside)[name] = value
            elif word == "FROM":
                stages.append(Stage(folder / f"stage{len(stages)}", base, {}))
                if " AS " in rest:
                    named[rest.split(" AS ")[1]] = stages[-1]
            elif word == "RUN":
                if stages[-1].run(rest).returncode:
                    sys.exit(f"dockerfile: RUN {rest}: failed")
            elif word == "COPY":
                words = rest.split()
                origin = named[words.pop(0).split("=")[1]].root if words[0].startswith("--from=") else None
                sources = [str(origin / w.lstrip("/")) if origin else w for w in words[:-1]]
                stages[-1].copy(sources, words[-1])
            elif word == "WORKDIR":
                stages[-1].folder = rest
                stages[-1].path(".").mkdir(parents=True, exist_ok=True)
            elif word == "ENTRYPOINT":
                entry = json.loads(rest)
            else:
                sys.exit(f"dockerfile: {word} is not known here")
        done = stages[-1].run([*entry, "--quiet", "--frames", "3", "--out", "out", "--overlay", "synthetic:160x120"], stdout=subprocess.PIPE)
        if done.returncode or "digest" not in done.stdout or not list(stages[-1].path("out/overlay").glob("*.png")):
            sys.exit(f"dockerfile: {entry} does not run: {done.stdout}")
        if "no GStreamer" in stages[-1].run([*entry, "gst:fakesrc"], stderr=subprocess.PIPE).stderr:
            sys.exit("dockerfile: no GStreamer in it")
        for program in ("vfront-calibrate", "vfront-companion"):
            if stages[-1].run([program, "--help"], stdout=subprocess.DEVNULL).returncode:
                sys.exit(f"dockerfile: {program} does not run")
        if not stages[-1].run("command -v gcc", stdout=subprocess.DEVNULL).returncode:
            sys.exit("dockerfile: the image has a compiler")
        used = subprocess.run(["du", "-sxm", str(stages[-1].root)], capture_output=True, text=True).stdout.split()[0]
        print(f"dockerfile: {len(stages)} stages, {used} MB, {' '.join(entry)} runs")
    finally:
        for stage in stages:
            stage.close()


def main():
    tool = shutil.which("debootstrap", path=os.environ["PATH"] + ":/usr/sbin")
    if os.geteuid() or not tool:
        print("dockerfile: skipped, " + ("debootstrap is not installed" if not tool else "not root"))
        sys.exit(77)
    suite = re.search(r"^ARG BASE=debian:(\w+)-slim$", FILE.read_text(), re.M).group(1)
    with tempfile.TemporaryDirectory(prefix="dockerfile.") as folder:
        folder = pathlib.Path(folder)
        made = subprocess.run([tool, "--variant=minbase", suite, str(folder / "base")], stdout=subprocess.PIPE, text=True)
        if made.returncode:
            sys.exit(f"dockerfile: debootstrap: {made.stdout[-2000:]}")
        play(folder, folder / "base")


if __name__ == "__main__":
    main()
