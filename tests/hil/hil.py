#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Bench and board over loopback: equal digests, a digest that is changed on the way named by frame and stage, faults, link, pace, damage.

    tests/hil/hil.py build/hil-bench build/hil-board [--full NAME [MORE...]]

--full: the whole table of faults, written to NAME.txt and NAME.xml, MORE as for table() of board.py; and more wild bytes.

EXEC in the environment runs the board, as in EXEC='qemu-aarch64-static -L /usr/aarch64-linux-gnu': then lock step of 20 frames alone.
"""
import os
import random
import re
import socket
import struct
import sys
import tempfile
import threading
import xml.etree.ElementTree as xml
import zlib

sys.dont_write_bytecode = True
from board import EXEC, LIGHT, Board, run, table

BENCH, BOARD = map(os.path.abspath, sys.argv[1:3])
FULL = "--full" in sys.argv
MAGIC, RESULT = b"VFR1\r\n\x1a\n", 3
SMALL = "synthetic:192x144"
failures = 0


def check(what, good, more=""):
    global failures
    if not good:
        failures += 1
        print(f"hil: {what}\n{more}")


def bench(port, *words):
    return run(BENCH, port, *words)


def lock_step(folder):
    with Board(BOARD) as board:
        code, said = bench(board.port, "--frames", "20", *LIGHT, SMALL)
        check("20 frames", code == 0 and "20 of 20 results with the same digests" in said, said)
        if EXEC:
            return
        check("ODOMETRY", int(re.search(r"(\d+) ODOMETRY", said).group(1)) > 5, said)
        script = os.path.join(folder, "script.txt")
        with open(script, "w") as file:
            file.write("4-9 link loss 50\n10 link corrupt 2\n11-14 link reorder 60\n12 clock back 1\n13-15 cpu burn 1\n")
        junit = os.path.join(folder, "junit.xml")
        code, said = bench(board.port, "--frames", "20", *LIGHT, "--fault", script, "--junit", junit, SMALL)
        check("faults of the link", code == 0 and re.search(r"(\d+) of \1 results", said) and "1 damaged and named" in said, said)
        check("JUnit", [c.attrib["name"] for c in xml.parse(junit).getroot()] == ["lock step"])
        code, said = bench(board.port, "--frames", "12", *LIGHT, "--paced", SMALL)
        check("paced", code == 0 and re.search(r"p50 [\d.]+ ms, p99 [\d.]+ ms, p99.9", said) and "missed by" in said, said)
        code, said = bench(board.port, "--faults", "--only", "black", "--junit", junit)
        cases = xml.parse(junit).getroot()
        check("table", code == 0 and len(cases) >= 3 and cases.attrib["failures"] == "0", said)
        code, said = bench(board.port, "--faults", "--only", "nothing")
        check("no such row", code == 2, said)
        code, said = bench(board.port, "--set", "detect_threshold_low=20", "--frames", "2", SMALL)
        check("a tuning that vfront refuses", code == 1 and "detect_threshold" in said, said)
    check("the board ends cleanly", board.code == 0, board.err)


def relay(listener, to, change):
    """Passes a session on, with `change` of each chunk from the board."""
    bench_side, _ = listener.accept()
    board_side = socket.create_connection(("127.0.0.1", to))

    def forward():
        while data := bench_side.recv(65536):
            board_side.sendall(data)
        board_side.shutdown(socket.SHUT_WR)
    threading.Thread(target=forward, daemon=True).start()
    stream = board_side.makefile("rb")
    bench_side.sendall(stream.read(8))
    results = 0
    while head := stream.read(32):
        mark, kind, _, size, number, t_ns, _, _ = struct.unpack("<4sHHIIQII", head)
        payload = bytearray(stream.read(size))
        if kind == RESULT:
            change(results, payload)
            results += 1
        head = struct.pack("<4sHHIIQI", mark, kind, 0, size, number, t_ns, zlib.crc32(payload))
        try:
            bench_side.sendall(head + struct.pack("<I", zlib.crc32(head)) + payload)
        except OSError:
            break
    bench_side.close()


def changed_digest():
    """A board that computes something else is caught."""
    def change(result, payload):
        if result == 3:
            payload[36 + 8 * 15] ^= 1 # the stage match
    with Board(BOARD) as board, socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=relay, args=(listener, board.port, change), daemon=True).start()
        code, said = bench(listener.getsockname()[1], "--frames", "6", *LIGHT, SMALL)
    check("a changed digest", code == 1 and "5 of 6 results" in said and "frame 3 differs first, in the stage match" in said, said)


def strangers():
    with Board(BOARD, "--peer", "127.0.0.2") as board:
        code, said = bench(board.port, "--frames", "2", SMALL)
        check("another address is not taken", code == 1 and "closed the connection" in said or "broke" in said, said)
    check("and said", "connections from other addresses than 127.0.0.2" in board.err, board.err)
    code, said = bench(1, "--frames", "2", SMALL)
    check("nobody there", code == 1 and "Connection refused" in said, said)


def chunk(kind, number, payload):
    head = struct.pack("<4sHHIIQI", b"VFRC", kind, 0, len(payload), number, 0, zlib.crc32(payload))
    return head + struct.pack("<I", zlib.crc32(head)) + payload


def session_bytes(board):
    """What a bench sends in a short session, by listening in between."""
    sent = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def listen():
            one, _ = listener.accept()
            other = socket.create_connection(("127.0.0.1", board.port))

            def back():
                while data := other.recv(65536):
                    one.sendall(data)
            threading.Thread(target=back, daemon=True).start()
            while data := one.recv(65536):
                sent.extend(data)
                other.sendall(data)
            other.close()
        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        bench(listener.getsockname()[1], "--frames", "3", *LIGHT, "synthetic:64x48")
        thread.join(timeout=60)
    return bytes(sent)


def wild():
    """Bytes from anywhere: the board says what is wrong, and serves the next session."""
    random.seed(4)
    with Board(BOARD) as board:
        whole = session_bytes(board)
        check("a session was heard", whole.startswith(MAGIC) and len(whole) > 20000, len(whole))
        for i in range(2000 if FULL else 60):
            data = bytearray(whole)
            kind = i % 4
            if kind == 0:
                data = bytearray(random.randbytes(random.randrange(1, 3000)))
            elif kind == 1:
                for _ in range(random.randrange(1, 6)):
                    data[random.randrange(len(data))] = random.randrange(256)
            elif kind == 2:
                data = data[:random.randrange(len(data))]
            else: # right CRCs, wrong content
                size = struct.unpack_from("<I", whole, 16)[0]
                header = bytearray(whole[40:40 + size])
                for _ in range(random.randrange(1, 4)):
                    header[random.randrange(size)] = random.randrange(256)
                data = MAGIC + chunk(1, 0, bytes(header)) + whole[40 + size:]
            with socket.create_connection(("127.0.0.1", board.port), timeout=60) as link:
                try:
                    link.sendall(data)
                    link.shutdown(socket.SHUT_WR)
                    while link.recv(65536):
                        pass
                except OSError:
                    pass
            if board.process.poll() is not None:
                break
        check("the board lives", board.process.poll() is None)
        code, said = bench(board.port, "--frames", "3", *LIGHT, SMALL)
        check("and serves", code == 0, said)
    check("and ends cleanly", board.code == 0, board.err[-2000:])


if FULL:
    output, *more = sys.argv[sys.argv.index("--full") + 1:]
    check("the whole table", table(BENCH, BOARD, "--faults", output, more))
with tempfile.TemporaryDirectory() as name:
    lock_step(name)
    if not EXEC:
        changed_digest()
        strangers()
        wild()
print(f"hil: {failures} failures" if failures else "hil: equal")
sys.exit(failures > 0)
