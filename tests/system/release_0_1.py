# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# release_0_1.py - what release 0.1 reads and answers, frozen: written from docs/format-*.md
# and independent of wire/. Do not extend it when a format grows: it stands for programs
# that are not updated.
#
#   release_0_1.py log FILE         its records, as lines of JSON
#   release_0_1.py metadata VALUE   the path of a critical-path-bin, as "ns stack" lines
#   release_0_1.py ask VALUE        whether a critical-path asks for a path
#   release_0_1.py tree FILE        whether it reads the tree
#   release_0_1.py serve FILE [HOST:PORT]
#                                   a callee whose paths are the bytes in FILE; first it asks
#                                   the service at HOST:PORT for the same, and prints what
#                                   it reads in its path
import base64
import http.client
import json
import re
import socket
import struct
import sys

KINDS = ["", "queue", "network", "unattributed", "blind spot", "timeout", "folded", "backoff",
         "hedge wait", "lock", "batch wait", "flow control", "gap", "accept queue", "other",
         "off CPU"]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# --- Metadata: protobuf ---


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        assert shift < 70


def read_path(data):
    """The segments as (ns, stack), and the sum that the message states."""
    numbers, names = {}, []
    columns = {number: [] for number in range(6, 18)}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = varint(data, at)
            if field in columns:
                columns[field].append(value)
            numbers[field] = value
        elif wire == 2:
            length, at = varint(data, at)
            assert at + length <= len(data)
            part, at = data[at:at + length], at + length
            if field == 5:
                names.append(part)
            elif field in columns:
                inner = 0
                while inner < len(part):
                    value, inner = varint(part, inner)
                    columns[field].append(value)
        else:
            assert field > 17, "a known field with another wire type"
            at += {1: 8, 5: 4}[wire]
    assert numbers.get(1) == 1, "another version"
    stacks = []
    for i, parent in enumerate(columns[6]):
        name = names[columns[7][i] - 1].decode("utf-8", "replace") if columns[7][i] else ""
        kind = columns[8][i] if i < len(columns[8]) else 0
        above = stacks[i - parent] if parent else []
        word = KINDS[kind] if kind < len(KINDS) else "kind %d" % kind
        stacks.append(above + [name + ("<%s>" % word if word else "")])
    segments = list(zip(columns[10], [stacks[frame] for frame in columns[9]]))
    total = numbers.get(3, 0)
    assert not segments or sum(ns for ns, _ in segments) == total, "sums differ"
    return segments, total


# --- The log: blocks of CBOR ---


def cbor(data, at):
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    number = info
    if info >= 24:
        size = {24: 1, 25: 2, 26: 4, 27: 8}[info]
        number, at = int.from_bytes(data[at:at + size], "big"), at + size
    if major == 0:
        return number, at
    if major == 1:
        return -1 - number, at
    if major in (2, 3):
        part = data[at:at + number]
        assert len(part) == number
        return (part if major == 2 else part.decode()), at + number
    if major in (4, 5):
        items = []
        for _ in range(number * (major - 3)):
            item, at = cbor(data, at)
            items.append(item)
        return (items if major == 4 else dict(zip(items[::2], items[1::2]))), at
    assert major == 7
    if info == 27:
        return struct.unpack(">d", number.to_bytes(8, "big"))[0], at
    return {20: False, 21: True, 22: None}[info], at


def read_log(data):
    at = 0
    while at < len(data):
        assert data[at:at + 8] == b"\x89cptlog\n", "no block at %d" % at
        version, kind, _, length, count, crc, head_crc = struct.unpack_from("<BBHIIII", data, at + 8)
        assert head_crc == crc32c(data[at:at + 24]) and version == 1
        payload = data[at + 28:at + 28 + length]
        assert len(payload) == length and crc == crc32c(payload)
        at += 28 + length
        if kind != 2:
            continue  # a description, or of a type that is not known
        inner = seen = 0
        while inner < len(payload):
            record, inner = cbor(payload, inner)
            yield cbor(record, 0)[0]
            seen += 1
        assert seen == count


def print_log(path):
    for record in read_log(open(path, "rb").read()):
        assert record[0] == 1
        segments, total = read_path(record.get(12, b""))
        assert total == record.get(5, 0), "the path is not the latency"
        print(json.dumps({"service": record.get(2), "method": record.get(3),
                          "entry": record.get(4), "latency_ns": record.get(5, 0),
                          "status": record.get(8), "failed": bool(record.get(7, 0) & 8),
                          "attributes": record.get(11, {}), "segments": len(segments)},
                         default=lambda value: value.decode("utf-8", "replace")))


# --- The others ---


def read_ask(text):
    parameters = text.split(";")
    assert re.fullmatch(r"[1-9][0-9]*", parameters[0].strip()), "no version"
    for parameter in parameters[1:]:
        assert re.fullmatch(r"\s*[a-z*][a-z0-9_.*-]*(=[0-9]+|=\?[01]|=[A-Za-z*][^;]*)?\s*", parameter)
    return "yes"


def read_tree(data):
    assert data[:7] == b"CPTTREE" and struct.unpack("<I", data[-4:])[0] == crc32c(data[:-4])
    return "yes" if data[7] == 1 else "no: version %d" % data[7]


def ask_next(authority, request, is_traced):
    """A caller of 0.1: asks for a path as that did, and reads what comes."""
    one = http.client.HTTPConnection(authority, timeout=60)
    one.request("GET", request.split(b" ")[1].decode(), None,
                {"critical-path": "1;max=2048"} if is_traced else {})
    reply = one.getresponse()
    reply.read()
    value = reply.headers["critical-path-bin"]
    if value is not None:
        data = base64.b64decode(value + "=" * (-len(value) % 4))
        segments, _ = read_path(data)
        print("read %d %s" % (len(segments), value), flush=True)
    one.close()


def serve(path, authority=None):
    """A callee of 0.1: it heeds what it knows of an ask, and skips the rest."""
    answer = base64.b64encode(open(path, "rb").read()).rstrip(b"=")
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    print("T http://127.0.0.1:%d" % listener.getsockname()[1], flush=True)
    while True:
        connection = listener.accept()[0]
        request = b""
        while b"\r\n\r\n" not in request:
            more = connection.recv(65536)
            if not more:
                break
            request += more
        ask = re.search(rb"\r\ncritical-path: *([^\r]*)\r\n", request, re.I)
        if ask:
            read_ask(ask.group(1).decode())
            print("ask " + ask.group(1).decode(), flush=True)
        if authority is not None and request:
            ask_next(authority, request, ask is not None)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n" +
                           (b"critical-path-bin: " + answer + b"\r\n" if ask else b"") + b"\r\nok")
        connection.close()


def main():
    command, operand = sys.argv[1:3]
    if command == "log":
        print_log(operand)
    elif command == "metadata":
        segments, _ = read_path(base64.b64decode(operand + "=" * (-len(operand) % 4)))
        for ns, stack in segments:
            print(ns, ";".join(stack))
    elif command == "ask":
        print(read_ask(operand))
    elif command == "tree":
        print(read_tree(open(operand, "rb").read()))
    else:
        serve(operand, *sys.argv[3:4])


main()
