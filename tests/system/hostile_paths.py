# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""hostile_paths.py - what a callee may send in the place of a path: a list of (name, values),
where values are those of the header critical-path-bin, as bytes before base64. Some are
paths, but lie. The bytes are of docs/format-metadata.md."""
import random


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def column(field, values):
    data = b"".join(varint(value) for value in values)
    return varint(field << 3 | 2) + varint(len(data)) + data


def name(text):
    return varint(5 << 3 | 2) + varint(len(text)) + text


def path(names, parents, frame_names, kinds, segments, elapsed=None, total=None, more=b"",
         version=1):
    """Segments are (frame, duration)."""
    durations = [duration for _, duration in segments]
    out = number(1, version)
    if elapsed is not None:
        out += number(2, elapsed)
    out += number(3, sum(durations) if total is None else total)
    out += b"".join(name(one) for one in names)
    out += column(6, parents) + column(7, frame_names) + column(8, kinds)
    out += column(9, [frame for frame, _ in segments]) + column(10, durations)
    return out + more


def chain(depth, text=b"x", duration=9):
    """A frame below a frame, `depth` times."""
    return path([text], [0] + [1] * (depth - 1), [1] * depth, [], [(depth - 1, duration)])


def flat(count, duration=1):
    """`count` segments, in turn of two frames."""
    return path([b"B: a", b"B: b"], [0, 1], [1, 2], [], [(i % 2, duration) for i in range(count)])


def one(text, duration=9, **more):
    return path([text], [0], [1], [], [(0, duration)], **more)


GOOD = one(b"B: /chain")


def mutated(count, seed):
    """Bytes that were paths once."""
    dice = random.Random(seed)
    out = []
    for i in range(count):
        data = bytearray(dice.choice([GOOD, chain(20), flat(40)]))
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        out.append(("mutated %d" % i, [bytes(data[:dice.randint(1, len(data))])]))
    return out


HOSTILE = [
    # oversized
    ("beyond the budget", [flat(1200)]),
    ("8,000 bytes", [b"\x7f" * 8000]),
    ("a name of 8,000 bytes", [one(b"n" * 8000)]),
    ("a name of 256 bytes", [one(b"n" * 256)]),
    ("a length of 2^63", [number(1, 1) + varint(5 << 3 | 2) + varint(1 << 63)]),
    ("a length of 2^32", [number(1, 1) + varint(10 << 3 | 2) + varint(1 << 32) + b"\1\1"]),
    # endless
    ("a number without an end", [b"\x18" + b"\x80" * 2000]),
    ("unknown fields without an end", [number(1, 1) + number(99, 1) * 600]),
    ("groups", [b"\x0b" * 1500]),
    ("names that no frame has", [one(b"B: x", more=name(b"y") * 600)]),
    ("a path 100 times", [GOOD] * 100),
    # recursive
    ("1,024 frames deep", [chain(1024)]),
    ("1,025 frames deep", [chain(1025)]),
    ("a frame that is its own parent", [path([b"x"], [0, 0, 2 ** 31], [1] * 3, [], [(2, 9)])]),
    ("a parent after its child", [path([b"x", b"y"], [2, 0], [1, 2], [], [(0, 9)])]),
    ("its caller below itself", [path([b"A: page", b"A: ask b"], [0, 1, 1], [1, 2, 1], [],
                                      [(2, 9)])]),
    # lying
    ("another sum", [one(b"B: /chain", total=8)]),
    ("a sum of 2^63", [one(b"B: /chain", 1 << 63)]),
    ("a sum of 2^62", [one(b"B: /chain", 1 << 62)]),
    ("sums that overflow", [path([b"x"], [0], [1], [], [(0, (1 << 63) - 1)] * 3, total=1)]),
    ("a segment of 0 ns", [path([b"x"], [0], [1], [], [(0, 0)])]),
    ("elapsed 0", [one(b"B: /chain", elapsed=0)]),
    ("elapsed 2^63 - 1", [one(b"B: /chain", elapsed=(1 << 63) - 1)]),
    ("elapsed 2^64 - 1", [one(b"B: /chain", elapsed=(1 << 64) - 1)]),
    ("another service", [one(b"Bank: /transfer")]),
    ("its caller", [one(b"A: page")]),
    ("a name with a line end", [one(b"B: x\r\nSet-Cookie: a=b")]),
    ("a name with NUL", [one(b"B: x\0y")]),
    ("a name of escapes", [one(b"B: \x1b[2J\x1b]0;x\x07")]),
    ("a name that is no UTF-8", [one(b"B: \xff\xfe\xc0\xaf")]),
    ("a name like a kind", [one("B: ‹queue›".encode())]),
    ("a kind of 255", [path([b"x"], [0], [1], [255], [(0, 9)])]),
    ("a kind of 256", [path([b"x"], [0], [1], [256], [(0, 9)])]),
    ("all of it folded", [one(b"B: x", more=column(11, [2 ** 32 - 2]))]),
    ("folded 2^32 - 1", [one(b"B: x", more=column(11, [2 ** 32 - 1]))]),
    ("a label of a segment that is not there", [one(b"x", more=column(14, [7]) + column(15, [1]))]),
    ("a frame that is not there", [path([b"x"], [0], [1], [], [(5, 9)])]),
    ("a name that is not there", [path([b"x"], [0], [9], [], [(0, 9)])]),
    ("columns of other lengths", [path([b"x"], [0, 0], [1], [], [(0, 9)])]),
    ("version 0", [one(b"x", version=0)]),
    ("version 2", [one(b"x", version=2)]),
    ("nothing", [b""]),
    ("two paths", [GOOD, GOOD]),
    ("a good path", [GOOD]),
]
