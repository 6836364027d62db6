# SPDX-License-Identifier: MIT
"""Build backend (PEP 517) of the package vfront: `make` builds the shared library, and this packs it into a wheel.

    [CFG=my_cfg.h] [CUDA=0] pip install ./examples/python

The variables of the Makefile are taken from the environment. Without BUILD, what is built lies in build/python."""
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILT = ("libvfront.so", "vfront.i")


def version():
    return re.search(r'#define VFRONT_VERSION "(.*)"', (ROOT / "vfront.h").read_text()).group(1)


def build():
    """Folder of the library and of the header as the compiler read it."""
    folder = os.environ.get("BUILD", "build/python")
    cfg = os.environ.get("CFG")
    asked = ["CFG=" + os.path.abspath(os.path.join(os.environ.get("PWD", ""), cfg))] if cfg else []
    jobs = [] if "MAKEFLAGS" in os.environ else ["-j%d" % (os.cpu_count() or 1)]
    subprocess.run(["make", "-C", str(ROOT), *jobs, "BUILD=" + folder, *asked, *[f"{folder}/python/{name}" for name in BUILT]], check=True)
    return ROOT / folder / "python"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    built, info = build(), f"vfront-{version()}.dist-info"
    tag = f"py3-none-linux_{platform.machine()}"
    files = {f"vfront/{p.name}": p.read_bytes() for p in sorted((HERE / "vfront").glob("*.py"))}
    files.update({f"vfront/{name}": (built / name).read_bytes() for name in BUILT})
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: vfront\nVersion: {version()}\nSummary: Vision system of a flight computer\n"
                                 "License: MIT\nRequires-Python: >=3.8\nRequires-Dist: numpy\n").encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: build_vfront\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = f"vfront-{version()}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return wheel
