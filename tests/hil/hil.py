#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Bench and board over loopback: equal digests, a digest that is changed on the way named by frame and stage, faults, link, pace, damage.

    tests/hil/hil.py build/hil-bench build/hil-board [--full NAME [MORE...]]
    tests/hil/hil.py build/config/small/hil-bench build/fake/hil-board --gpu    a board whose CUDA calls can be made to fail

--full: the whole table of faults, written to NAME.txt and NAME.xml, MORE as for table() of board.py; and more wild bytes.

EXEC in the environment runs the board, as in EXEC='qemu-aarch64-static -L /usr/aarch64-linux-gnu': then lock step of 20 frames alone.
"""
import os
import random
import re
import select
import socket
import struct
import sys
import tempfile
import threading
import tty
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


def free_ports(count):
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def serial_pair(damage_every):
    """Two serial devices, one for each end, and what lies between them: of every so many reads one has a byte changed."""
    pairs = [os.openpty() for _ in range(2)]
    for fd in (fd for pair in pairs for fd in pair):
        tty.setraw(fd)
    (a, _), (b, _) = pairs

    def carry():
        reads = 0
        while True:
            for fd in select.select([a, b], [], [])[0]:
                data = bytearray(os.read(fd, 4096))
                reads += 1
                if damage_every and reads % damage_every == 0:
                    data[0] ^= 1
                os.write(b if fd == a else a, data)
    threading.Thread(target=carry, daemon=True).start()
    return [os.ttyname(pair[1]) for pair in pairs]


def lossy(board_port):
    """Passes a session on, but for every third datagram the first time, and one that comes twice. Returns its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", port))

    def datagrams():
        lost, out = set(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for n in range(1 << 30):
            data = udp.recv(2048)
            if n % 3 == 0 and data[:12] not in lost:
                lost.add(data[:12])
                continue
            for _ in range(2 if n % 5 == 0 else 1):
                out.sendto(data, ("127.0.0.1", board_port))
    threading.Thread(target=datagrams, daemon=True).start()
    threading.Thread(target=relay, args=(listener, board_port, lambda result, payload: None), daemon=True).start()
    return port


def beside():
    """Frames in datagrams, samples and MAVLink over UDP and over serial devices: the same digests, whatever is lost on the way is sent again."""
    def judge(what, said, code, again):
        good = code == 0 and "20 of 20 results with the same digests" in said and int(re.search(r"(\d+) ODOMETRY", said).group(1)) > 5
        check(what, good and (not again or re.search(r"beside it +[1-9]\d* datagrams and samples sent again", said)), said)

    one, two = free_ports(2)
    serial, damaged = serial_pair(0), serial_pair(7)
    for what, theirs, ours, again in (
            ("a line of UDP", f"udp:127.0.0.1:{one}:{two}", f"udp:127.0.0.1:{two}:{one}", False), ("serial devices", f"serial:{serial[0]}:921600", f"serial:{serial[1]}:921600", False),
            ("serial devices, damaged bytes", f"serial:{damaged[0]}:921600", f"serial:{damaged[1]}:921600", True)):
        with Board(BOARD, "--line", theirs) as board:
            code, said = bench(board.port, "--frames", "20", *LIGHT, "--datagrams", "--line", ours, SMALL)
            judge(f"{what}, frames in datagrams", said, code, again)
            if again:
                continue
            code, said = bench(board.port, "--frames", "12", *LIGHT, "--paced", "--line", ours, SMALL)
            check(f"{what}, paced", code == 0 and re.search(r"[1-9]\d* ODOMETRY", said), said)
        check("the board ends cleanly", board.code == 0, board.err)
    with Board(BOARD) as board:
        code, said = bench(lossy(board.port), "--frames", "20", *LIGHT, "--datagrams", SMALL)
        judge("datagrams that are lost, and some that come twice", said, code, True)
        code, said = bench(board.port, "--faults", "--row", "link flips bits", "--datagrams")
        check("bits of datagrams that are flipped", code == 0 and "1 passed" in said, said)
        code, said = bench(board.port, "--frames", "2", "--line", f"udp:127.0.0.1:{one}:{two}", SMALL)
        check("a board without a line says so", code == 1 and "this board none: --line" in said, said)
        code, said = bench(board.port, "--faults", "--row", "GPU fails at call 1")
        check("a board without a GPU says so", code == 0 and "the board has no GPU" in said and "1 skipped" in said, said)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for _ in range(200):
                stranger.sendto(b"VFRD" + random.randbytes(random.randrange(40)), ("127.0.0.1", board.port))
        code, said = bench(board.port, "--frames", "20", *LIGHT, "--datagrams", SMALL)
        judge("datagrams from anywhere", said, code, False)
    check("the board ends cleanly", board.code == 0, board.err)


def failing_gpu():
    """A CUDA call of a step fails, each in turn: the host port takes over with the same digests, and says so; without fail-over the step fails, and is named."""
    with Board(BOARD, port="cuda") as board:
        code, said = bench(board.port, "--faults", "--only", "GPU fails", SMALL)
        check("GPU faults", code == 0 and "3 faults, 3 passed, 0 skipped" in said, said)
        with tempfile.NamedTemporaryFile("w+") as script:
            script.write("5 gpu fail 1\n")
            script.flush()
            code, said = bench(board.port, "--frames", "8", "--fault", script.name, SMALL)
        check("without fail-over it is seen", code == 1 and re.search(r"frame 5 differs first, in the stage status", said), said)
    check("the board ends cleanly", board.code == 0, board.err)


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


if "--gpu" in sys.argv:
    failing_gpu()
    print(f"hil: {failures} failures" if failures else "hil: a failing GPU is named")
    sys.exit(failures > 0)
if FULL:
    output, *more = sys.argv[sys.argv.index("--full") + 1:]
    check("the whole table", table(BENCH, BOARD, "--faults", output, more))
with tempfile.TemporaryDirectory() as name:
    lock_step(name)
    if not EXEC:
        changed_digest()
        beside()
        strangers()
        wild()
print(f"hil: {failures} failures" if failures else "hil: equal")
sys.exit(failures > 0)
