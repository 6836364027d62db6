#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The companion's MAVLink codec beside pymavlink, message by message and byte by byte.

    tests/companion/mavlink.py build/bridge_mavlink.so [--full | --messages N]       --full: 10^6 messages each way

Exit: 0 good, 1 not, 77 no pymavlink.

Random messages of every kind, values and the corners of their ranges, many zeros at the end: encoded here, parsed by pymavlink, and encoded there, parsed
here; both ways the frames must be equal to the byte. Then streams with other messages between, damaged bits, lost bytes, frames with a signature, frames of
MAVLink 1, fed in pieces of any length: every whole frame comes out, nothing else does, and each is counted as what it is.
"""
import ctypes
import math
import os
import random
import struct
import sys

os.environ["MAVLINK20"] = "1"
try:
    from pymavlink.dialects.v20 import ardupilotmega as mav
except ImportError as missing:
    print(f"mavlink: SKIPPED, {missing}")
    sys.exit(77)

FORMAT = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q", "f32": "f", "char": "B"}
RANGE = {"u8": (0, 2**8 - 1), "i8": (-2**7, 2**7 - 1), "u16": (0, 2**16 - 1), "i16": (-2**15, 2**15 - 1), "u32": (0, 2**32 - 1), "i32": (-2**31, 2**31 - 1),
         "u64": (0, 2**64 - 1), "i64": (-2**63, 2**63 - 1), "char": (1, 127)}
FLOATS = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 3.4028234663852886e38, 1.1754943508222875e-38, 1.401298464324817e-45]
FAULTS = []


def expect(good, what):
    if not good:
        FAULTS.append(what)
        if len(FAULTS) < 20:
            print("FAULT:", what)
    return good


class Codec:
    """The bridge, and the layout of every message."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        for name in "bridge_size", "bridge_as", "bridge_parser", "bridge_field", "bridge_encode", "bridge_parse":
            getattr(self.c, name).restype = ctypes.c_size_t
        self.c.bridge_name.restype = ctypes.c_char_p
        self.size, self.begin = self.c.bridge_size(), self.c.bridge_as()
        self.fields = {i: self.layout(i) for i in range(70000) if self.c.bridge_name(i)}

    def layout(self, message):
        fields, name, kind, numbers = [], ctypes.c_char_p(), ctypes.c_char_p(), (ctypes.c_int32 * 4)()
        while self.c.bridge_field(message, ctypes.c_size_t(len(fields)), ctypes.byref(name), ctypes.byref(kind), numbers):
            fields.append((name.value.decode(), kind.value.decode(), *numbers))
        return fields

    def encode(self, message, values, sequence, system, component):
        block = bytearray(self.size)  # all else 0
        for name, kind, bytes_, elements, _, offset in self.fields[message]:
            struct.pack_into(f"={elements}{FORMAT[kind]}", block, offset, *values[name])
        frame = (ctypes.c_uint8 * 280)()
        n = self.c.bridge_encode(frame, message, sequence, system, component, bytes(block))
        return bytes(frame[:n])

    def values(self, block, message):
        return {name: struct.unpack_from(f"={elements}{FORMAT[kind]}", block, self.begin + offset)
                for name, kind, _, elements, _, offset in self.fields[message]}


class Parser:
    def __init__(self, codec):
        self.codec, self.state = codec, (ctypes.c_uint8 * codec.c.bridge_parser())()

    def feed(self, data):
        """Messages (id, sequence, system, component, values)."""
        most = 64 + len(data) // 12
        out = (ctypes.c_uint8 * (most * self.codec.size))()
        n = self.codec.c.bridge_parse(self.state, bytes(data), ctypes.c_size_t(len(data)), out, ctypes.c_size_t(most))
        raw, found = bytes(out), []
        for i in range(n):
            block = raw[i * self.codec.size:(i + 1) * self.codec.size]
            message, system, component, sequence = struct.unpack_from("=IBBB", block)
            found.append((message, sequence, system, component, self.codec.values(block, message)))
        return found

    def counts(self):
        counts = (ctypes.c_uint64 * 8)()
        self.codec.c.bridge_counts(self.state, counts)
        return dict(zip(("bytes", "messages", "unknown", "damaged", "signed", "incompatible", "version1", "noise"), counts))


def draw_value(r, kind):
    if kind == "f32":
        if r.random() < 0.2:
            return r.choice(FLOATS)
        return struct.unpack("<f", struct.pack("<f", r.gauss(0, 1) * 10.0**r.randint(-6, 6)))[0]
    low, high = RANGE[kind]
    return r.choice((low, high, max(low, min(0, high)))) if r.random() < 0.2 else r.randint(low, high)


def draw(r, fields):
    """Values of a message; from some field on all zero, so that the end is cut."""
    zero_from = r.randint(0, 2 * len(fields))
    values = {}
    for i, (name, kind, _, elements, _, _) in enumerate(fields):
        if kind == "char":
            length = r.randint(0, elements)
            values[name] = tuple(draw_value(r, kind) for _ in range(length)) + (0,) * (elements - length)
        else:
            values[name] = tuple(0 if i >= zero_from else draw_value(r, kind) for _ in range(elements))
    return values


def theirs(message, fields, values):
    """The message as pymavlink's."""
    words = {}
    for name, kind, _, elements, _, _ in fields:
        if kind == "char":
            words[name] = bytes(values[name])
        else:
            words[name] = list(values[name]) if elements > 1 else values[name][0]
    return mav.mavlink_map[message](**{n: words[n] for n in mav.mavlink_map[message].fieldnames})


def same(fields, ours, their):
    for name, kind, _, elements, _, _ in fields:
        value = getattr(their, name)
        if kind == "char":
            text = value if isinstance(value, str) else value.decode()
            if bytes(ours[name]).split(b"\0")[0].decode() != text:
                return False
            continue
        value = tuple(value) if elements > 1 else (value,)
        if any(a != b and not (a != a and b != b) for a, b in zip(ours[name], value)):
            return False
    return True


def check_layouts(codec):
    """Names, kinds, sizes and extra bytes are pymavlink's. Extensions that this pymavlink does not have yet are left out of all that follows."""
    for message, fields in codec.fields.items():
        kind = mav.mavlink_map[message]
        while len(fields) > len(kind.ordered_fieldnames) and fields[-1][4]:
            print(f"{kind.msgname}: pymavlink has no {fields.pop()[0]}, an extension")
        expect(codec.c.bridge_name(message).decode() == kind.msgname, f"{message}: name {kind.msgname}")
        expect([f[0] for f in fields] == list(kind.ordered_fieldnames), f"{kind.msgname}: fields {kind.ordered_fieldnames}")
        expect(sum(f[2] * f[3] for f in fields) == kind.unpacker.size, f"{kind.msgname}: {kind.unpacker.size} bytes")
    return len(codec.fields)


def both_ways(codec, count, seed):
    """Each way `count` messages."""
    r, parser = random.Random(seed), Parser(codec)
    link = mav.MAVLink(None)
    link.robust_parsing = False
    ids = sorted(codec.fields)
    for i in range(count):
        message = ids[i % len(ids)]
        fields, name = codec.fields[message], mav.mavlink_map[message].msgname
        values = draw(r, fields)
        sequence, system, component = r.randint(0, 255), r.randint(1, 255), r.randint(1, 255)
        link.seq, link.srcSystem, link.srcComponent = sequence, system, component
        their = theirs(message, fields, values)
        frame = bytes(their.pack(link))
        mine = codec.encode(message, values, sequence, system, component)
        if any(v != v for f in fields for v in values[f[0]] if f[1] == "f32"):
            pass  # a NaN has more than one form; what is read back decides whether it is one
        else:
            expect(mine == frame, f"{name} {i}: encoded {mine.hex()}, pymavlink {frame.hex()}")
        back = link.decode(bytearray(mine))
        expect(same(fields, values, back) and back.get_srcSystem() == system and back.get_srcComponent() == component and back.get_seq() == sequence,
               f"{name} {i}: pymavlink reads another message")
        found = parser.feed(frame)
        good = len(found) == 1 and found[0][:4] == (message, sequence, system, component)
        expect(good and same(fields, found[0][4], their), f"{name} {i}: parsed {found}")
    counts = parser.counts()
    expect(counts["messages"] == count and counts["damaged"] == counts["noise"] == 0, f"counts {counts}")


def other_frame(r, link):
    """A frame that the codec does not know, with a frame that it knows inside: FILE_TRANSFER_PROTOCOL."""
    inside = bytes(mav.MAVLink_heartbeat_message(1, 2, 3, 4, 5, 3).pack(link))
    return bytes(mav.MAVLink_file_transfer_protocol_message(0, r.randint(1, 255), 1, list(inside + bytes(251 - len(inside)))).pack(link))


def signed_frame(link):
    link.signing.secret_key, link.signing.sign_outgoing, link.signing.link_id, link.signing.timestamp = b"k" * 32, True, 1, 1
    frame = bytes(mav.MAVLink_attitude_message(1, 0.1, 0.2, 0.3, 0, 0, 0).pack(link))
    link.signing.sign_outgoing = False
    return frame


def streams(codec, count, seed):
    """Streams with all that can go wrong, in pieces."""
    r, ids = random.Random(seed), sorted(codec.fields)
    for round_ in range(count):
        link, parser = mav.MAVLink(None), Parser(codec)
        stream, sent, other, is_signed, damaged, clean = b"", [], 0, 0, 0, round_ % 3 == 0
        for k in range(60):
            kind = r.random() * (0.75 if clean else 1.0)
            message = r.choice(ids)
            values = draw(r, codec.fields[message])
            link.seq = k
            frame = bytearray(theirs(message, codec.fields[message], values).pack(link))
            if kind < 0.6:
                stream += frame
                sent.append((message, k))
            elif kind < 0.7:
                stream += other_frame(r, link)
                other += 1
            elif kind < 0.75:
                stream += signed_frame(link)
                is_signed += 1
            elif kind < 0.85:  # a bit of the payload or of the checksum
                frame[r.randint(10, len(frame) - 1)] ^= 1 << r.randint(0, 7)
                stream += frame
                damaged += 1
            elif kind < 0.9:
                stream += bytes(r.choice((0, 1, 2, 3, 0x55, 0xfe)) for _ in range(r.randint(1, 40)))
            else:  # lost bytes at the end; a first byte that is not there to mislead
                cut = frame[:r.randint(1, len(frame) - 1)]
                stream += cut
                damaged += 1
        stream += b"\xfe" + bytes(300)  # so that what waits for bytes gets them
        found, at = [], 0
        while at < len(stream):
            step = r.choice((1, 3, 17, 64, 280, 1000))
            found += parser.feed(stream[at:at + step])
            at += step
        counts = parser.counts()
        got = [(f[0], f[1]) for f in found]
        missing = [s for s in sent if s not in got]
        # A frame that lost its end may hide the begin of the next one; if that is an unknown one, what is inside comes to light
        inside = [g for g in got if g not in sent]
        expect(len(missing) <= damaged, f"stream {round_}: {len(missing)} of {len(sent)} frames missing, {damaged} damaged")
        expect(len(inside) <= other and all(g[0] == 0 for g in inside), f"stream {round_}: a message that was not sent")
        expect(len(inside) == 0 or damaged, f"stream {round_}: a message from inside another")
        expect(len(got) == len(set(got)) + max(0, len(inside) - len(set(inside))), f"stream {round_}: a message twice")
        expect(counts["bytes"] == len(stream), f"stream {round_}: bytes")
        expect(counts["signed"] <= is_signed and counts["unknown"] <= other + damaged, f"stream {round_}: {counts}, signed {is_signed}, others {other}")
        if clean:
            right = {"bytes": len(stream), "messages": len(sent), "unknown": other, "damaged": 0, "signed": is_signed, "incompatible": 0, "version1": 1, "noise": 301}
            expect(counts == right and not missing, f"stream {round_}: {counts}, not {right}")
        yield len(missing), len(sent)


def signatures(codec, count, seed):
    """Frames signed here are taken there and equal to the byte to those signed there; those of there are taken here, once, and none whose key, time or bits are others."""
    r, ids = random.Random(seed), sorted(codec.fields)
    codec.c.bridge_sign.restype = codec.c.bridge_accept.restype = codec.c.bridge_signing.restype = ctypes.c_size_t
    ours = (ctypes.c_uint8 * codec.c.bridge_signing())()
    key, time, taken = r.randbytes(32), 10**12, 0

    def accepted(frame, with_key=key):
        return codec.c.bridge_accept(ours, with_key, bytes(frame), ctypes.c_size_t(len(frame)))
    reader = mav.MAVLink(None)
    reader.signing.secret_key, reader.signing.timestamp = key, time
    for k in range(count):
        link, number, message = mav.MAVLink(None, srcSystem=r.randint(1, 3), srcComponent=197), r.randint(0, 2), r.choice(ids)
        values, time = draw(r, codec.fields[message]), time + r.randint(1, 100000)
        link.seq = k % 256
        plain = bytes(theirs(message, codec.fields[message], values).pack(link))
        link.seq = k % 256
        link.signing.secret_key, link.signing.sign_outgoing, link.signing.link_id, link.signing.timestamp = key, True, number, time
        want = bytes(theirs(message, codec.fields[message], values).pack(link))
        frame = (ctypes.c_uint8 * 280)()
        n = codec.c.bridge_sign(frame, plain, ctypes.c_size_t(len(plain)), key, number, ctypes.c_uint64(time))
        expect(bytes(frame[:n]) == want, f"signature of {message}: {bytes(frame[:n])[-13:].hex()}, not {want[-13:].hex()}")
        expect(len(reader.parse_buffer(bytearray(frame[:n])) or []) == 1, f"{message}: pymavlink does not take what is signed here")
        bent = bytearray(want)
        bent[r.randint(1, len(bent) - 1)] ^= 1 << r.randint(0, 7)
        expect(not accepted(plain) and not accepted(bent) and not accepted(want, r.randbytes(32)), f"{message}: taken without the right signature")
        taken += accepted(want)
        expect(not accepted(want), f"{message}: taken twice")
    expect(taken == count, f"{taken} of {count} signed frames taken")
    return taken


def noise(codec, megabytes, seed):
    """Random bytes, many of them the first of a frame with a length and an id that are known: nothing comes out that has no right checksum."""
    r, parser = random.Random(seed), Parser(codec)
    ids, found = sorted(codec.fields), 0
    for _ in range(megabytes * 16):
        data = bytearray(r.randbytes(65536))
        for _ in range(2000):
            at, message = r.randrange(len(data) - 12), r.choice(ids)
            data[at:at + 10] = bytes([0xfd, r.randint(0, 255), r.choice((0, 0, 1, 2)), 0, 1, 1, 1, message & 255, message >> 8 & 255, 0])
        found += len(parser.feed(data))
    counts = parser.counts()
    likely = counts["damaged"] / 65536
    expect(found <= 5 + 4 * likely, f"noise: {found} messages out of {counts}")
    return found, counts


def main():
    words = sys.argv[1:]
    count = 1000000 if "--full" in words else int(words[words.index("--messages") + 1]) if "--messages" in words else 20000
    codec = Codec(os.path.abspath(words[0]))
    print(f"{check_layouts(codec)} messages, laid out as pymavlink's")
    both_ways(codec, count, 1)
    print(f"{count} messages each way")
    lost = [sum(x) for x in zip(*streams(codec, max(20, count // 5000), 2))]
    print(f"streams with damage: {lost[0]} of {lost[1]} whole frames lost behind a damaged one")
    expect(lost[0] <= 0.02 * lost[1], "streams: more than 2 % lost")
    print(f"{signatures(codec, max(2000, count // 20), 4)} signed frames, to the byte as pymavlink's")
    found, counts = noise(codec, max(1, count // 20000), 3)
    print(f"noise: {counts['bytes']} bytes, {counts['damaged']} checksums compared, {found} equal by chance")
    print("FAILED" if FAULTS else "as pymavlink")
    sys.exit(1 if FAULTS else 0)


if __name__ == "__main__":
    main()
