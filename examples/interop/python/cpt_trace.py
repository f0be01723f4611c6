#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""Critical paths of Python services: one file, the standard library, Python 3.9.

    caller  --- critical-path: 1;max=2048 -->  this service  --- the same -->  callee
    caller  <-- critical-path-bin: CAEQ… ---   this service  <-- the same ---  callee

The format is docs/format-metadata.md of cpt; nothing here uses its library. The file has
two halves: the format (asks, paths as bytes, splicing, folding), which can be tried with

    cpt-conformance 'python3 cpt_trace.py --conformance'

and the recording (a request, its parts and calls, the walk that finds the path), with
middleware for WSGI and ASGI and hooks for clients.
"""

import asyncio
import atexit
import base64
import binascii
import collections
import concurrent.futures
import contextlib
import contextvars
import functools
import heapq
import http
import http.client
import inspect
import ipaddress
import json
import multiprocessing.pool
import os
import queue
import random
import re
import socket
import sys
import threading
import time
import urllib.parse
import weakref

HEADER_ASK = "critical-path"
HEADER_NONCE = "critical-path-nonce"
HEADER_PATH = "critical-path-bin"
HEADER_TRACEPARENT = "traceparent"
HEADER_TRACESTATE = "tracestate"

BYTES_DEFAULT = 2048  # of a path, before base64
BYTES_CEILING = 4096
ASK_BYTES_MAX = 1024
READ_BYTES_MAX = 65536
ROWS_MAX = 65535  # frames, segments, labels, each
DEPTH_MAX = 1024
NAME_BYTES_MAX = 255
NS_MAX = 2**63 - 1

WORK, QUEUE, NETWORK, UNATTRIBUTED, BLIND_SPOT, TIMEOUT, FOLDED = range(7)
ACCEPT_QUEUE, OTHER = 13, 14
NO_REASON, UNSUPPORTED, NOT_SAMPLED, SIZE, UNDECODABLE, FAILED, CACHED = range(7)
LIMIT = 8
UNORDERED, INCOMPLETE, APPROXIMATE = 1, 2, 4  # flags of a path
OVERCOUNT, IS_FOLDED = 1, 2  # flags of a segment
LABEL_EXCESS, LABEL_STATUS = 5, 6
LABEL_TAKES_NAME = {
    1: False, 2: False, 3: True, 4: True, 5: False, 6: True, 7: False, 8: False,
    9: False, 10: False, 11: False, 12: False,
}


class Refused(ValueError):
    """Bytes from outside that are not what they should be."""


# --- The ask ---


class Ask:
    """What a caller asks for: the newest version it reads, at most how many bytes; and what
    is only passed on: drags, and the delay of an experiment."""

    __slots__ = (
        "version", "bytes_max", "is_forced", "has_max", "wants_drag", "graph", "delay_ns",
        "delay_at", "is_burn",
    )

    def __init__(self, version):
        self.version = version
        self.bytes_max = BYTES_DEFAULT
        self.is_forced = self.has_max = self.wants_drag = self.is_burn = False
        self.graph = self.delay_at = None  # 16 hex digits
        self.delay_ns = 0


_ITEM = (
    r"-?[0-9]{1,12}\.[0-9]{1,3}"
    r"|-?[0-9]{1,15}"
    r'|"(?:[ !#-\[\]-~]|\\["\\])*"'
    r"|[A-Za-z*][A-Za-z0-9!#$%&'*+\-.^_`|~:/]*"
    r"|:[A-Za-z0-9+/=]*:"
    r"|\?[01]"
)
_ASK = re.compile(r" *([0-9]{1,15})((?:; *[a-z*][a-z0-9_\-.*]*(?:=(?:%s))?)*) *" % _ITEM)
_PARAMETER = re.compile(r"; *([a-z*][a-z0-9_\-.*]*)(?:=(%s))?" % _ITEM)
_NUMBER_MAX = 2**31 - 1


def parse_ask(values):
    """The Ask in all values of the header critical-path; None: the caller did not ask,
    or malformed, which counts as not asked."""
    if len(values) != 1 or len(values[0]) > ASK_BYTES_MAX:
        return None
    match = _ASK.fullmatch(values[0])
    if match is None or not 1 <= int(match[1]) <= _NUMBER_MAX:
        return None
    ask = Ask(int(match[1]))
    for key, value in _PARAMETER.findall(match[2]):
        if key == "max":
            if not value.isdigit():
                return None
            ask.bytes_max = min(int(value), _NUMBER_MAX)
            ask.has_max = True
        elif key == "forced":
            if value not in ("", "?0", "?1"):
                return None
            ask.is_forced = value != "?0"
        else:
            _read_later(ask, key, value)
    if ask.delay_at is None:
        ask.delay_ns = 0
    return ask


def _read_later(ask, key, value):
    """A parameter that older services skip: a malformed one counts as absent."""
    if key == "drag":
        ask.wants_drag = value in ("", "?1")
    elif key == "burn":
        ask.is_burn = value in ("", "?1")
    elif key == "delay":
        ask.delay_ns = int(value) if value.isdigit() else 0
    elif key in ("at", "graph"):
        is_quoted = len(value) == 18 and value[0] == value[17] == '"'
        digits = value[1:17] if is_quoted and _is_id(value[1:17]) else None
        if key == "at":
            ask.delay_at = digits
        else:
            ask.graph = digits


def format_ask(bytes_max, received=None):
    """The value of the header for a callee of a service whose caller has sent @received:
    forcing ends at the entry, and graphs, which are of one call, end here."""
    text = "1;max=%d" % bytes_max
    if received is not None and received.delay_ns:
        text += ';delay=%d;at="%s"' % (received.delay_ns, received.delay_at)
        text += ";burn" if received.is_burn else ""
    if received is not None and received.wants_drag:
        text += ";drag"
    return text


_ID = re.compile(r"(?!0{16})[0-9a-f]{16}")


def _is_id(text):
    return _ID.fullmatch(text) is not None


def parse_nonce(values):
    """The number in all values of the header critical-path-nonce; 0: none, or malformed."""
    return int(values[0], 16) if len(values) == 1 and _is_id(values[0]) else 0


def new_nonce():
    """Of one attempt of one call: another one is as good as impossible."""
    return int.from_bytes(os.urandom(8), "little") or 1


def format_nonce(nonce):
    return "%016x" % nonce


# --- The trace context, as W3C has it ---

TRACESTATE_BYTES_MAX = 512  # that are passed on
_MEMBERS_MAX = 32
_TRACEPARENT = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?",
    re.DOTALL,
)
_MEMBER = re.compile(r"[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -<>-~]{1,256}")


def parse_traceparent(values):
    """What is passed on of all values of traceparent; None: nothing, or malformed."""
    match = _TRACEPARENT.fullmatch(values[0]) if len(values) == 1 else None
    if match is None or (match[1] == "00" and match[5] is not None):
        return None
    if len(values[0]) == 55:
        return "00" + values[0][2:]
    return "00-%s-%s-%02x" % (match[2], match[3], int(match[4], 16) & 3)


def join_tracestate(values):
    """What is passed on of all values of tracestate; "": nothing; None: malformed. A single
    one that fits stays as it is; else members that are long are left out first."""
    members = [member.strip(" \t") for value in values for member in value.split(",")]
    members = [member for member in members if member]
    if len(members) > _MEMBERS_MAX or not all(map(_MEMBER.fullmatch, members)):
        return None
    if len(values) == 1 and len(values[0]) <= TRACESTATE_BYTES_MAX:
        return values[0] if members else ""
    if len(",".join(members)) > TRACESTATE_BYTES_MAX:
        members = [member for member in members if len(member) <= 128]
    while len(",".join(members)) > TRACESTATE_BYTES_MAX:
        members.pop()
    return ",".join(members)


def trace_context(parents, states, is_traced=False, counters=None):
    """The headers that calls of a request carry, which came with all these values: those,
    or a traceparent that is made. What is malformed is dropped and counted."""
    parent = parse_traceparent(parents)
    if parents and parent is None and counters is not None:
        counters["traceparents_refused"] += 1
    if parent is None:
        ids = os.urandom(24).hex()  # the chance that one of them is 0 is below 2^-63
        return {HEADER_TRACEPARENT: "00-%s-%s-0%d" % (ids[:32], ids[32:], 2 + is_traced)}
    state = join_tracestate(states)
    if state is None and counters is not None:
        counters["tracestates_refused"] += 1
    if not state:
        return {HEADER_TRACEPARENT: parent}
    return {HEADER_TRACEPARENT: parent, HEADER_TRACESTATE: state}


# What else a request may carry for other tracers: it goes on as it came, but not from
# callers that are strangers.
_BAGGAGE_BYTES_MAX = 8192  # as W3C has it
_BAGGAGE_MEMBERS_MAX = 64
_BAGGAGE = re.compile(r"[ -~]*")
_BAGGAGE_MEMBER = re.compile(r"[\t -~]+")
_B3 = re.compile(r"[!-~]{1,256}")


def _is_b3(name):
    return name == "b3" or name.startswith("x-b3-")


def _join_baggage(values):
    """All values of baggage as one; of more than goes on whole members are left out."""
    value = values[0]
    is_whole = len(values) == 1 and len(value) <= _BAGGAGE_BYTES_MAX
    if is_whole and value.count(",") < _BAGGAGE_MEMBERS_MAX and _BAGGAGE.fullmatch(value):
        return value
    kept, bytes_left = [], _BAGGAGE_BYTES_MAX + 1
    for member in (part.strip(" \t") for value in values for part in value.split(",")):
        fits = len(kept) < _BAGGAGE_MEMBERS_MAX and len(member) < bytes_left
        if fits and _BAGGAGE_MEMBER.fullmatch(member):
            kept.append(member.replace("\t", " "))
            bytes_left -= len(member) + 1
    return ",".join(kept)


def passed_on(headers):
    """Of headers {name: all values}, those that calls of the request carry, too: baggage,
    and all of B3, or nothing of it, as half of a context would be another one."""
    passed = {name: values[0] for name, values in headers.items() if _is_b3(name)}
    if not all(_B3.fullmatch(value) for value in passed.values()) or any(
        value != passed[name] for name in passed for value in headers[name]
    ):
        passed = {}
    baggage = _join_baggage(headers["baggage"]) if "baggage" in headers else ""
    if baggage:
        passed["baggage"] = baggage
    return passed


def _family(name):
    """What an application sets as a whole, so that we add nothing to it."""
    if name in (HEADER_TRACEPARENT, HEADER_TRACESTATE):
        return HEADER_TRACEPARENT
    return "b3" if _is_b3(name) else name


def _beside(carried, names):
    """The headers of @carried beside those with @names, which the application has set."""
    families = {_family(name) for name in names}
    return {name: value for name, value in carried.items() if _family(name) not in families}


# --- How many bytes are left for a path ---

# All headers of a reply together: a page, as nginx takes by default; 8 KiB in gRPC.
HEADERS_BYTES_HTTP = 4096
HEADERS_BYTES_GRPC = 8192
GRPC_HEAD_BYTES = 230  # :status, content-type and the encodings
HEADERS_BYTES_OTHERS = 512  # for what servers and proxies add on the way
HEADERS_BYTES_EACH = 88  # of the limit, for each header of a head: Varnish takes 54
HEADERS_OF_SERVER = 4  # Date, Server, Connection, Content-Length


# All that servers on grpc++, and many of HTTP, take of a request's headers. Of these for what
# a client's library adds by itself, and for an ask and its nonce with their names.
HEADERS_BYTES_REQUEST = 8192
HEADERS_BYTES_LIBRARY = 512
HEADERS_BYTES_ASK = 256


def ask_has_room(headers_bytes, header_count):
    """Whether a request has room for an ask beside other headers, each counted as its name, its
    value and 32 bytes: else its callee might refuse it."""
    kept = HEADERS_BYTES_OTHERS + HEADERS_BYTES_LIBRARY + HEADERS_BYTES_ASK
    count_max = HEADERS_BYTES_HTTP // HEADERS_BYTES_EACH - 2
    return headers_bytes + kept <= HEADERS_BYTES_REQUEST and header_count <= count_max


def path_bytes_left(headers_bytes_max, headers_bytes):
    """The most bytes of a path, before base64, beside @headers_bytes of other headers."""
    return max(0, headers_bytes_max - HEADERS_BYTES_OTHERS - headers_bytes) * 3 // 4


def http_headers_bytes(status, headers):
    """Of a head with this status ("200 OK") and headers as pairs."""
    lines = sum(len(name) + len(value) + 4 for name, value in headers)
    return len("HTTP/1.1 \r\n") + len(status) + lines + len("\r\n")


def grpc_headers_bytes(metadata, details=""):
    """Of trailing metadata as pairs, with the status and its message."""
    bytes_count = len("grpc-status") + 2 + 32
    if details:  # other bytes stand as %XX
        message = sum(1 if 32 <= b < 127 and b != 37 else 3 for b in details.encode())
        bytes_count += len("grpc-message") + message + 32
    return bytes_count + grpc_metadata_bytes(metadata)


def grpc_metadata_bytes(metadata):
    """Of metadata as pairs."""
    bytes_count = 0
    for name, value in metadata:
        value_bytes = len(value) if isinstance(value, bytes) else len(str(value).encode())
        is_base64 = name.lower().endswith("-bin")
        bytes_count += len(name) + 32 + (value_bytes * 4 // 3 + 3 if is_base64 else value_bytes)
    return bytes_count


# --- A path ---


class Path:
    """Frames as (parent or None, name, kind); segments as lists of frame, duration_ns,
    count, flags, reason, labels {key: number or name}. A path that was read has the nonce
    of its ask (0: none) and the segments' drags (None: not known), which no other has."""

    def __init__(self):
        self.nonce = 0
        self.drags = []
        self.frames = []
        self.depths = []
        self.index = {}
        self.segments = []
        self.flags = 0
        self.sum_ns = 0

    def frame(self, parent, name=b"", kind=WORK):
        """The number of a frame, which is added if it is new. A stack that is too deep
        loses names, never time."""
        key = (parent, name, kind)
        found = self.index.get(key)
        if found is not None:
            return found
        depth = 1 if parent is None else self.depths[parent] + 1
        if depth > DEPTH_MAX:
            return parent
        self.frames.append(key)
        self.depths.append(depth)
        self.index[key] = len(self.frames) - 1
        return len(self.frames) - 1

    def append(self, frame, duration_ns, count=1, flags=0, reason=0, labels=None):
        if duration_ns <= 0:
            return None
        if self.sum_ns + duration_ns > NS_MAX:
            raise Refused("the durations are not below 2^63 ns")
        self.sum_ns += duration_ns
        segment = [frame, duration_ns, count, flags, reason, labels or {}]
        self.segments.append(segment)
        return segment

    def stack(self, frame):
        """The frames of a stack as (name, kind), root first."""
        frames = []
        while frame is not None:
            parent, name, kind = self.frames[frame]
            frames.append((name, kind))
            frame = parent
        return frames[::-1]


# --- Bytes to a path ---

# Columns by their fields: the field that has as many numbers, whether it may be
# shorter, and its greatest number.
_COLUMNS = {
    6: (6, False, 2**32 - 1),
    7: (6, False, 2**32 - 1),
    8: (6, True, 2**32 - 1),
    9: (9, False, 2**32 - 1),
    10: (9, False, 2**64 - 1),
    11: (9, True, 2**32 - 1),
    12: (9, True, 2**32 - 1),
    13: (9, True, 2**32 - 1),
    14: (14, False, 2**32 - 1),
    15: (14, False, 2**32 - 1),
    16: (14, True, 2**32 - 1),
    17: (14, False, 2**64 - 1),
    18: (9, True, 2**64 - 1),
}
_NONCE = 19


def _varint(data, at, end):
    value = shift = 0
    while True:
        if at >= end:
            raise Refused("a number goes beyond its end")
        byte = data[at]
        at += 1
        if shift == 63 and byte > 1:
            raise Refused("a number of more than 64 bits")
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _skip(data, at, wire_type):
    """Behind a field that no version knows."""
    end = len(data)
    if wire_type == 0:
        while at < end and data[at] >= 128:
            at += 1
        at += 1
    elif wire_type == 1:
        at += 8
    elif wire_type == 2:
        length, at = _varint(data, at, end)
        at += length
    elif wire_type == 5:
        at += 4
    else:
        raise Refused("wire type %d" % wire_type)
    if at > end:
        raise Refused("a field goes beyond the end")
    return at


def _read_column(data, at, wire_type, field, column):
    end = len(data)
    if wire_type == 2:
        length, at = _varint(data, at, end)
        if length > end - at:
            raise Refused("a column goes beyond the end")
        end = at + length
    value_max = _COLUMNS[field][2]
    is_first = True
    while at < end if wire_type == 2 else is_first:
        is_first = False
        value, at = _varint(data, at, end)
        if value > value_max or len(column) == ROWS_MAX:
            raise Refused("field %d has too large or too many numbers" % field)
        column.append(value)
    return at


def _read_message(data):
    """The numbers, names and columns of a message."""
    if len(data) > READ_BYTES_MAX:
        raise Refused("more than %d bytes" % READ_BYTES_MAX)
    scalars = {}
    names = []
    name_bytes = 0
    columns = {field: [] for field in _COLUMNS}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at, len(data))
        field, wire_type = tag >> 3, tag & 7
        if field == 0 or tag > 2**32 - 1:
            raise Refused("field %d" % field)
        if field <= 4:
            if wire_type != 0:
                raise Refused("field %d has wire type %d" % (field, wire_type))
            scalars[field], at = _varint(data, at, len(data))
        elif field == _NONCE:
            if wire_type != 1:
                raise Refused("field %d has wire type %d" % (field, wire_type))
            begin, at = at, _skip(data, at, wire_type)
            scalars[field] = int.from_bytes(data[begin:at], "little")
        elif field == 5:
            if wire_type != 2:
                raise Refused("field 5 has wire type %d" % wire_type)
            length, at = _varint(data, at, len(data))
            name_bytes += length + 1
            if (
                length > len(data) - at
                or length > NAME_BYTES_MAX
                or name_bytes > READ_BYTES_MAX
            ):
                raise Refused("a name is too long")
            names.append(bytes(data[at : at + length]))
            at += length
        elif field in _COLUMNS:
            if wire_type not in (0, 2):
                raise Refused("field %d has wire type %d" % (field, wire_type))
            at = _read_column(data, at, wire_type, field, columns[field])
        else:
            at = _skip(data, at, wire_type)
    return scalars, names, columns


def _check_message(scalars, names, columns):
    if scalars.get(1, 0) != 1:
        raise Refused("version %d" % scalars.get(1, 0))
    if scalars.get(2, 0) > NS_MAX or scalars.get(3, 0) > NS_MAX:
        raise Refused("a time of 2^63 ns or more")
    if not columns[18]:  # without a number no drag is known
        columns[18] = [_DRAG_UNKNOWN] * len(columns[9])
    for field, (base, may_be_short, _) in _COLUMNS.items():
        missing = len(columns[base]) - len(columns[field])
        if missing < 0 or (missing > 0 and not may_be_short):
            raise Refused("field %d and %d differ in length" % (field, base))
        columns[field].extend([0] * missing)
    if any(b"\0" in name for name in names):
        raise Refused("a name has a NUL byte")


def _name_of(names, number):
    if number > len(names):
        raise Refused("name %d of %d" % (number, len(names)))
    return names[number - 1] if number else b""


def _add_frames(path, names, columns):
    for row, (distance, name, kind) in enumerate(zip(columns[6], columns[7], columns[8])):
        if distance > row or kind > 255:
            raise Refused("frame %d has no such parent or kind" % row)
        parent = row - distance if distance else None
        if parent is not None and path.depths[parent] >= DEPTH_MAX:
            raise Refused("frame %d is too deep" % row)
        if path.frame(parent, _name_of(names, name), kind) != row:
            raise Refused("frame %d is there already" % row)


def _labels_by_segment(names, columns):
    labels = {}
    segment = 0
    for distance, key, is_name, value in zip(*(columns[f] for f in (14, 15, 16, 17))):
        segment += distance
        if segment >= len(columns[9]):
            raise Refused("a label of segment %d" % segment)
        if is_name == 1:
            value = _name_of(names, value)
        if key in LABEL_TAKES_NAME and is_name == int(LABEL_TAKES_NAME[key]):
            labels.setdefault(segment, {})[key] = value
    return labels


_DRAG_WHOLE, _DRAG_AS_BEFORE, _DRAG_UNKNOWN, _DRAG_FIRST = range(4)


def _drags(durations, numbers):
    drags = []
    said_ns = 0
    for duration_ns, number in zip(durations, numbers):
        said_ns = number - _DRAG_FIRST if number >= _DRAG_FIRST else said_ns
        drag_ns = duration_ns if number == _DRAG_WHOLE else min(said_ns, duration_ns)
        drags.append(None if number == _DRAG_UNKNOWN else drag_ns)
    return drags


def decode(data):
    """The Path in the bytes of a callee, and its server_elapsed_ns or None. Refused: they
    are none."""
    scalars, names, columns = _read_message(data)
    _check_message(scalars, names, columns)
    path = Path()
    _add_frames(path, names, columns)
    labels = _labels_by_segment(names, columns)
    for row, (frame, duration_ns, folded, flags, reason) in enumerate(
        zip(*(columns[f] for f in (9, 10, 11, 12, 13)))
    ):
        if (
            frame >= len(path.frames)
            or duration_ns == 0
            or folded == 2**32 - 1
            or flags > 65535
            or reason > 255
        ):
            raise Refused("segment %d" % row)
        path.append(frame, duration_ns, folded + 1, flags, reason, labels.get(row))
    sum_ns = scalars.get(3, 0)
    if not path.segments and not path.frames and sum_ns:
        path.append(path.frame(None, b"", BLIND_SPOT), sum_ns, reason=SIZE)
    if path.sum_ns != sum_ns:
        raise Refused("the segments add up to %d, not %d" % (path.sum_ns, sum_ns))
    path.flags = scalars.get(4, 0) & 0xFFFFFFFF
    path.nonce = scalars.get(_NONCE, 0)
    path.drags = _drags(columns[10], columns[18]) or [None] * len(path.segments)
    return path, scalars.get(2)


_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def decode_base64(value):
    """The bytes in the value of the header critical-path-bin."""
    text = value.rstrip("=")
    if (
        _BASE64.fullmatch(value) is None
        or len(text) % 4 == 1
        or (text != value and len(value) % 4 != 0)
    ):
        raise Refused("no base64")
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise Refused(str(error)) from error
    if encode_header(data) != text:
        raise Refused("bits behind the last byte")
    return data


def decode_header(value):
    """The Path in the value of the header critical-path-bin, and its server_elapsed_ns."""
    return decode(decode_base64(value))


def encode_header(data):
    return base64.b64encode(data).rstrip(b"=").decode("ascii")


# --- A path to bytes ---


def _put_varint(out, value):
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _varint_bytes(value):
    return max(1, (value.bit_length() + 6) // 7)


class _Form:
    """What encode() cuts down: copies of a path's tables."""

    def __init__(self, path, elapsed_ns, nonce):
        self.nonce = nonce
        self.frames = list(path.frames)
        self.depths = list(path.depths)
        self.segments = [list(segment) for segment in path.segments]
        self.flags = path.flags
        self.sum_ns = path.sum_ns
        self.elapsed_ns = elapsed_ns

    def _frames_in_use(self):
        used = [False] * len(self.frames)
        for segment in self.segments:
            used[segment[0]] = True
        for frame in range(len(self.frames) - 1, -1, -1):
            if used[frame] and self.frames[frame][0] is not None:
                used[self.frames[frame][0]] = True
        return [frame for frame, is_used in enumerate(used) if is_used]

    def _columns(self):
        """The names and the columns, by field."""
        names = {}
        columns = {field: [] for field in _COLUMNS}

        def number_of(name):
            return names.setdefault(name, len(names) + 1) if name else 0

        numbers = {}
        for frame in self._frames_in_use():
            parent, name, kind = self.frames[frame]
            numbers[frame] = len(numbers)
            columns[6].append(0 if parent is None else numbers[frame] - numbers[parent])
            columns[7].append(number_of(name))
            columns[8].append(kind)
        last = 0
        for row, (frame, duration_ns, count, flags, reason, labels) in enumerate(
            self.segments
        ):
            values = (numbers[frame], duration_ns, count - 1, flags, reason)
            for field, value in zip((9, 10, 11, 12, 13), values):
                columns[field].append(value)
            for key, value in labels.items():
                is_name = LABEL_TAKES_NAME[key]
                columns[14].append(row - last)
                columns[15].append(key)
                columns[16].append(int(is_name))
                columns[17].append(number_of(value) if is_name else value)
                last = row
        return names, columns

    def message(self):
        """The bytes as it is now."""
        names, columns = self._columns()
        out = bytearray(b"\x08\x01")
        for field, value in ((2, self.elapsed_ns), (3, self.sum_ns), (4, self.flags)):
            if value or (field == 2 and value is not None):
                out.append(field << 3)
                _put_varint(out, value)
        for name in names:
            out.append(5 << 3 | 2)
            _put_varint(out, len(name))
            out += name
        for field, column in columns.items():
            if _COLUMNS[field][1]:
                while column and column[-1] == 0:
                    column.pop()
            if column:
                packed = bytearray()
                for value in column:
                    _put_varint(packed, value)
                _put_varint(out, field << 3 | 2)
                _put_varint(out, len(packed))
                out += packed
        if self.nonce:
            _put_varint(out, _NONCE << 3 | 1)
            out += self.nonce.to_bytes(8, "little")
        return bytes(out)


def _merge(into, segment):
    into[1] += segment[1]
    into[2] = min(into[2] + segment[2], 2**32 - 1)
    into[3] |= segment[3] | IS_FOLDED
    if into[4] != segment[4]:
        into[4] = NO_REASON


def _merge_neighbours(form):
    kept = []
    for segment in form.segments:
        if kept and kept[-1][0] == segment[0]:
            _merge(kept[-1], segment)
            kept[-1][5] = {}
        else:
            kept.append(segment)
    form.segments = kept


def _merge_stacks(form):
    kept = {}
    for segment in form.segments:
        if segment[0] in kept:
            _merge(kept[segment[0]], segment)
        else:
            kept[segment[0]] = segment
    form.segments = list(kept.values())
    form.flags |= UNORDERED


class _Folding:
    """Step 4: the leaf with the smallest sum moves into its parent, again and again.

    Measuring after each leaf would cost leaves times frames, so `floor`, which is never
    above the size, is kept up to date instead; only once it is within the budget, the
    size is measured."""

    def __init__(self, form):
        self.form = form
        count = len(form.frames)
        self.segment = {segment[0]: segment for segment in form.segments}
        self.folded = [None] * count  # by frame: the frame of its ‹folded›
        self.children = [0] * count  # in use, without its ‹folded›
        self.is_folded = [False] * count
        self.names = {}
        self.floor = 8
        self.heap = []
        used = form._frames_in_use()
        for frame in reversed(used):
            self._link(frame)
        for frame in used:
            self._push_if_leaf(frame)

    def _link(self, frame):
        parent, name, kind = self.form.frames[frame]
        self._use(frame)
        if kind == FOLDED and not name and parent is not None:
            self.folded[parent] = frame
            self.is_folded[frame] = not self.children[frame] and self.folded[frame] is None
        if parent is not None and not self.is_folded[frame]:
            self.children[parent] += 1
        if frame in self.segment:
            self.floor += 1 + _varint_bytes(self.segment[frame][1])

    def _use(self, frame):
        name = self.form.frames[frame][1]
        self.floor += 2
        self.names[name] = self.names.get(name, 0) + 1
        if name and self.names[name] == 1:
            self.floor += 1 + _varint_bytes(len(name)) + len(name)

    def _drop(self, frame):
        name = self.form.frames[frame][1]
        self.floor -= 2
        self.names[name] -= 1
        if name and self.names[name] == 0:
            self.floor -= 1 + _varint_bytes(len(name)) + len(name)

    def _own_ns(self, frame):
        return self.segment[frame][1] if frame in self.segment else 0

    def _leaf_ns(self, frame):
        folded = self.folded[frame]
        return self._own_ns(frame) + (0 if folded is None else self._own_ns(folded))

    def _push_if_leaf(self, frame):
        is_root = self.form.frames[frame][0] is None
        if not self.children[frame] and not self.is_folded[frame] and not is_root:
            self._push(frame)

    def _push(self, frame):
        stack = []
        at = frame
        while at is not None:
            parent, name, kind = self.form.frames[at]
            stack.append((name, kind))
            at = parent
        heapq.heappush(self.heap, (self._leaf_ns(frame), stack[::-1], frame))

    def _pop(self):
        """The smallest leaf. One that is a ‹folded› and had children may have received
        time meanwhile; it goes back with its new sum."""
        while True:
            sum_ns, _, frame = heapq.heappop(self.heap)
            if sum_ns == self._leaf_ns(frame):
                return frame
            self._push(frame)

    def _folded_of(self, parent):
        if self.folded[parent] is None:
            form = self.form
            frame = len(form.frames)
            form.frames.append((parent, b"", FOLDED))
            form.depths.append(form.depths[parent] + 1)
            self.folded[parent] = frame
            self.folded.append(None)
            self.children.append(0)
            self.is_folded.append(True)
            self._use(frame)
        return self.folded[parent]

    def _move(self, source, target):
        segment = self.segment.pop(source, None)
        if segment is None:
            return
        into = self.segment.get(target)
        if into is None:
            segment[0] = target
            segment[3] |= IS_FOLDED
            segment[4] = NO_REASON
            self.segment[target] = segment
        else:
            self.floor -= 2 + _varint_bytes(segment[1]) + _varint_bytes(into[1])
            _merge(into, segment)
            self.floor += 1 + _varint_bytes(into[1])
            segment[1] = 0

    def fold(self):
        """Folds one leaf; False if there is none."""
        if not self.heap:
            return False
        frame = self._pop()
        parent = self.form.frames[frame][0]
        folded = self._folded_of(parent)
        if self.folded[frame] is not None:
            self._move(self.folded[frame], folded)
            self._drop(self.folded[frame])
            self.folded[frame] = None
        if folded == frame:  # a ‹folded› that had children stays, without them
            self.is_folded[frame] = True
        else:
            self._move(frame, folded)
            self._drop(frame)
        self.children[parent] -= 1
        self._push_if_leaf(parent)
        return True

    def sweep(self):
        self.form.segments = [s for s in self.form.segments if s[1] != 0]


def _fit(form, bytes_max):
    """The message after as few steps as the budget needs; None: nothing fits."""
    data = form.message()
    if len(data) <= bytes_max or not form.segments:
        return data if len(data) <= bytes_max else None
    _merge_neighbours(form)
    data = form.message()
    if len(data) > bytes_max:
        for segment in form.segments:
            segment[5] = {}
        data = form.message()
    if len(data) > bytes_max:
        _merge_stacks(form)
        data = form.message()
    if len(data) > bytes_max:
        folding = _Folding(form)
        while len(data) > bytes_max and folding.fold():
            if folding.floor <= bytes_max:
                folding.sweep()
                data = form.message()
        folding.sweep()
        data = form.message()
    if len(data) > bytes_max:
        form.segments = []
        form.flags &= ~UNORDERED
        data = form.message()
    return data if len(data) <= bytes_max else None


def encode(path, bytes_max=BYTES_DEFAULT, elapsed_ns=None, nonce=0):
    """The bytes of a path, at most @bytes_max, for an ask that came with @nonce (0: with
    none); None if nothing fits."""
    return _fit(_Form(path, elapsed_ns, nonce), bytes_max)


# --- Callees' paths in the place of calls ---


def apportion(values, whole):
    """The values' shares of @whole, which add up to it: largest remainder."""
    total = sum(values)
    shares = [value * whole // total for value in values]
    rests = [value * whole % total for value in values]
    order = sorted(range(len(values)), key=lambda i: (-rests[i], i))
    for i in order[: whole - sum(shares)]:
        shares[i] += 1
    return shares


def _append_kind(path, frame, kind, duration_ns, reason=NO_REASON):
    if duration_ns > 0:
        path.append(path.frame(frame, b"", kind), duration_ns, reason=reason)


def _append_callee(path, call_frame, callee, observed_ns):
    durations = [segment[1] for segment in callee.segments]
    excess_ns = max(0, callee.sum_ns - observed_ns)
    if excess_ns:
        durations = apportion(durations, observed_ns)
    flags = OVERCOUNT if excess_ns > max(1000, observed_ns // 100) else 0
    places = []
    for parent, name, kind in callee.frames:
        is_call = parent is None and kind == WORK and name == path.frames[call_frame][1]
        places.append(
            call_frame
            if is_call
            else path.frame(call_frame if parent is None else places[parent], name, kind)
        )
    for segment, duration_ns in zip(callee.segments, durations):
        frame, _, count, segment_flags, reason, labels = segment
        added = path.append(
            places[frame], duration_ns, count, segment_flags | flags, reason, dict(labels)
        )
        if added and excess_ns:
            added[5][LABEL_EXCESS] = excess_ns
            excess_ns = 0
    path.flags |= callee.flags


def read_reply(value, nonce):
    """(path, server_elapsed_ns, reason) of what came back for an ask with @nonce; the reason
    is that of a blind spot if the path, or what it says, is none. The path of another ask
    comes from a cache between: nothing in it is believed."""
    try:
        callee, elapsed_ns = decode_header(value)
    except Refused:
        return None, None, UNDECODABLE
    if callee.nonce and callee.nonce != nonce:
        return None, None, CACHED
    return callee, elapsed_ns, UNDECODABLE


def splice(path, call_frame, observed_ns, callee=None, elapsed_ns=None, reason=NO_REASON):
    """Appends what a call of @observed_ns took: its callee's path, or a blind spot."""
    path_ns = callee.sum_ns if callee is not None else 0
    said_ns = elapsed_ns if elapsed_ns is not None else path_ns
    explained_ns = min(max(said_ns, path_ns), observed_ns)
    if callee is None or (path_ns == 0 and elapsed_ns is None):
        blind_ns = observed_ns if elapsed_ns is None else explained_ns
        _append_kind(path, call_frame, BLIND_SPOT, blind_ns, reason)
        _append_kind(path, call_frame, NETWORK, observed_ns - blind_ns)
        return
    _append_callee(path, call_frame, callee, observed_ns)
    if path_ns < observed_ns:
        _append_kind(path, call_frame, UNATTRIBUTED, explained_ns - path_ns)
        _append_kind(path, call_frame, NETWORK, observed_ns - explained_ns)


# --- Recording a request ---

SPANS_MAX = 1000  # parts and calls of a request; more are lost, and the path says so
NAMES_MAX = 1000  # names that requests of a service may invent

# The span in which the current thread or asyncio task is; None: not traced.
_current = contextvars.ContextVar("cpt_trace", default=None)

# The headers that calls carry, also those of a request that is not traced.
_carried = contextvars.ContextVar("cpt_trace_context", default=None)

# Headers of proxies, which tell who stands behind the sender: such a request comes from
# outside, from any peer. By what names are, begin with and end with, as in
# wire/forwarding-headers.txt: `cpt-conformance` says whether all are here.
_FORWARDING = frozenset(("via", "cdn-loop", "forwarded", "x-forwarded", "remote-addr"))
_FORWARDING_BEGINS = ("forwarded-", "x-forwarded-", "x-original-")
_FORWARDING_ENDS = (
    "-forwarded-for", "-via", "-ip", "-ipv4", "-ipv6", "clientip", "socketip", "realip",
    "sourceip", "-remote-addr", "-remote-address", "-client-address",
    "-external-address", "-viewer-address",
)

HEADERS_MAX = 128  # of a request from a trusted caller: nothing is hidden among more


def is_forwarding(name):
    """Whether a header of this name says that a program sent the request on for another."""
    name = name.lower()
    return (
        name in _FORWARDING
        or name.startswith(_FORWARDING_BEGINS)
        or name.endswith(_FORWARDING_ENDS)
    )


def is_forwarded(names):
    """Whether a request with headers of these names comes from outside."""
    names = list(names)
    return len(names) > HEADERS_MAX or any(map(is_forwarding, names))


class _Span:
    """A part or a call: a name, an interval, the span that it began in."""

    __slots__ = (
        "request",
        "parent",
        "name",
        "is_call",
        "start_ns",
        "end_ns",
        "reply",
        "reason",
        "is_timeout",
        "is_stream",
        "status",
        "nonce",
    )

    def __init__(self, request, parent, name, is_call, start_ns):
        self.request = request
        self.parent = parent
        self.name = name
        self.is_call = is_call
        self.start_ns = start_ns
        self.end_ns = None
        self.reply = None
        self.reason = UNSUPPORTED
        self.is_timeout = False
        self.is_stream = False
        self.status = None
        self.nonce = 0


ENTRY, INNER = "entry", "inner"


_BEFORE_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")


def _path_of(target):
    """The target of a request; that of an absolute one comes after a host, which is what the
    client says."""
    return _BEFORE_PATH.sub("", target, 1) if _BEFORE_PATH.match(target) else target


class Service:
    """What requests of this process have in common.

    name     the service in all frames: "S: /search"
    trust    networks of callers that get paths ("10.0.0.0/8"), or a function of the peer's
             address; by default no caller gets one
    callees  {"host:port": "B"}: who is asked for paths, and the service's name there
    method   a function of a URL's path: the method's name; by default the path itself
    on_path  is called with the Path of each request that is traced, after its end
    role     "entry": requests come from outside, and `trust` says who may ask for a path;
             "inner": only services reach it, so it heeds each, also behind a proxy
    trusts_forwarded   an entry heeds also what a proxy of `trust` has sent on
    headers_bytes_max  of all headers of a reply with a path together; default 4,096 (HTTP)
                       and 8,192 (gRPC). Else the path is smaller, or there is none
    request_start      the header in which a trusted proxy says when the request came to it
                       ("x-request-start"); its clock and ours must be the same
    log      of an entry: the Log that gets a share of the requests, though no caller asks
    """

    def __init__(
        self,
        name,
        trust=(),
        callees=None,
        bytes_max=BYTES_DEFAULT,
        method=None,
        on_path=None,
        clock=time.perf_counter_ns,
        role=ENTRY,
        trusts_forwarded=False,
        headers_bytes_max=None,
        request_start=None,
        log=None,
    ):
        if role not in (ENTRY, INNER):
            raise ValueError('the role of a service is "entry" or "inner", not %r' % (role,))
        if log is not None and role != ENTRY:
            raise ValueError("an inner service has no log: its callers have the paths")
        self.name = name
        self.callees = dict(callees or {})
        self.bytes_max = min(bytes_max, BYTES_CEILING)
        self.method = method or (lambda path: path)
        self.on_path = on_path
        self.clock = clock
        self.role = role
        self.trusts_forwarded = trusts_forwarded
        self.headers_bytes_max = headers_bytes_max
        self.request_start = request_start and request_start.lower()
        self.log = log
        self.counters = collections.Counter()
        self._trust = trust if callable(trust) else None
        self._networks = [] if callable(trust) else [ipaddress.ip_network(t) for t in trust]
        self._names = set()

    def is_trusted(self, peer):
        if self._trust is not None:
            return bool(self._trust(peer))
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self._networks)

    def heeds(self, peer, is_forwarded):
        """Whether a caller may ask for paths, and what else it sends for tracing goes on."""
        if self.role == INNER:
            return True
        return (self.trusts_forwarded or not is_forwarded) and self.is_trusted(peer)

    def name_of(self, service, part):
        """The bytes of "service: part"; None: there are too many names already."""
        name = ("%s: %s" % (service, part)).encode("utf-8", "replace")
        name = name.replace(b"\0", b"?")[:NAME_BYTES_MAX]
        if name not in self._names:
            if len(self._names) >= NAMES_MAX:
                return None
            self._names.add(name)
        return name

    def carry(self, parents, states, request):
        """The trace context of a request, traced or not, for its calls; None: it fails."""
        try:
            return trace_context(parents, states, request is not None, self.counters)
        except Exception:
            self.counters["errors"] += 1
            return None

    def _heeded(self, asks, peer, is_forwarded):
        """The Ask of a trusted caller; None: there is none."""
        if not asks:
            return None
        ask = parse_ask(asks)
        if ask is None:
            self.counters["asks_malformed"] += 1
            return None
        if not self.heeds(peer, is_forwarded):
            self.counters["asks_untrusted"] += 1
            return None
        return ask

    def begin(self, path, asks, peer, is_forwarded=False, nonces=()):
        """The Request, if it is to be traced: if a trusted caller asks, or for the log. Else
        None."""
        try:
            ask = self._heeded(asks, peer, is_forwarded)
            share = None if self.log is None else self.log.choose(_path_of(path), ask)
            if ask is None and share is None:
                return None
            self.counters["requests_traced"] += 1
            name = self.name_of(self.name, self.method(_path_of(path) or "/"))
            return Request(self, name, ask, parse_nonce(nonces), share)
        except Exception:
            self.counters["errors"] += 1
            return None

    def serve(self, path, headers, peer):
        """The _Serving of a request with these headers, as pairs with names in lower case."""
        values = {}
        for name, value in headers:
            values.setdefault(name, []).append(value)
        asks, nonces = values.get(HEADER_ASK, ()), values.get(HEADER_NONCE, ())
        passed = passed_on(values)
        is_from_outside = bool(asks or passed) and is_forwarded(name for name, _ in headers)
        request = self.begin(path, asks, peer, is_from_outside, nonces)
        parents, states = (values.get(n, []) for n in (HEADER_TRACEPARENT, HEADER_TRACESTATE))
        carried = _Carried(self.carry(parents, states, request) or ())
        try:
            if passed and self.heeds(peer, is_from_outside):
                carried.update(passed)
            elif passed:
                self.counters["propagated_untrusted"] += 1
            if request is not None and self.request_start is not None:
                request.waited_ns = _since_start_ns(values.get(self.request_start, ()))
            if request is not None:
                request.trace_id = carried.get(HEADER_TRACEPARENT, "")[3:35]
        except Exception:
            self.counters["errors"] += 1
        return _Serving(self, request, carried)


_LOG_BYTES_WAITING = 4 << 20  # of lines that are not written yet; more are dropped
_LOG_ATTRIBUTES_MAX = 32
_LOG_TEXT_MAX = 1000
_logs = weakref.WeakSet()


class Log:
    """A file of the requests that an entry chooses by itself, a line of JSON each, of which
    `cpt import` makes a path log:

    service = Service("front", log=Log("/var/log/front/paths.jsonl", share=0.01))

    file       is opened for each write, so it may be renamed. Processes may share it
    share      of the requests that are traced: a number from 0 to 1, or a function of a URL's
               path that gives one. Those that a trusted caller forces are in it, too
    bytes_max  of the file: then lines are dropped

    A thread writes; a request never waits for it. counters has lines_written; lines_dropped,
    for which there was no room; lines_failed, which could not be written; and errors."""

    def __init__(self, file, share=0.01, bytes_max=1 << 30):
        if not callable(share) and not 0 <= share <= 1:
            raise ValueError("a share is a number from 0 to 1, not %r" % (share,))
        self.file = os.fspath(file)
        self.share = share if callable(share) else lambda path: share
        self.bytes_max = bytes_max
        self.counters = collections.Counter()
        self._random = random.SystemRandom()
        self._forget()
        _logs.add(self)

    def _forget(self):
        """Has no lines and no thread, as in a process that was forked."""
        self._condition = threading.Condition()
        self._lines = []
        self._bytes = 0
        self._thread = None
        self._is_closing = False
        self._is_torn = False  # the file ends within a line

    def choose(self, path, ask=None):
        """The share with which a request is in the log; None: it is not."""
        if ask is not None:
            return 1.0 if ask.is_forced else None
        try:
            share = self.share(path)
            return share if self._random.random() < share else None
        except Exception:
            self.counters["errors"] += 1
            return None

    def add(self, request):
        """Takes a request that has ended."""
        try:
            line = _line_of(request)
            if line is not None:
                self._put(line)
        except Exception:
            self.counters["errors"] += 1

    def _put(self, line):
        with self._condition:
            if self._is_closing or self._bytes + len(line) > _LOG_BYTES_WAITING:
                self.counters["lines_dropped"] += 1
                return
            self._lines.append(line)
            self._bytes += len(line)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="cpt log", daemon=True)
                with detached():
                    self._thread.start()
            self._condition.notify_all()

    def _run(self):
        while True:
            with self._condition:
                while not self._lines and not self._is_closing:
                    self._condition.wait()
                if not self._is_closing:
                    self._condition.wait_for(lambda: self._is_closing, 0.05)  # more may come
                lines = list(self._lines)
            if not lines:
                return
            self._write(lines)
            with self._condition:
                del self._lines[: len(lines)]
                self._bytes = sum(map(len, self._lines))
                self._condition.notify_all()

    def _write(self, lines):
        """Appends lines in one piece, which the lines of other processes do not part."""
        data = b"".join(lines)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        for flag in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY"):
            flags |= getattr(os, flag, 0)
        try:
            file = os.open(self.file, flags, 0o640)
            try:
                if os.fstat(file).st_size + len(data) > self.bytes_max:
                    self.counters["lines_dropped"] += len(lines)
                    return
                begin = b"\n" if self._is_torn else b""
                written = max(0, os.write(file, begin + data) - len(begin))
            finally:
                os.close(file)
        except Exception:
            self.counters["lines_failed"] += len(lines)
            return
        whole = data.count(b"\n", 0, written)
        self._is_torn = written < len(data)
        self.counters["lines_written"] += whole
        self.counters["lines_failed"] += len(lines) - whole

    def flush(self, timeout=1.0):
        """Waits until all lines are written, at most @timeout seconds. Whether they are."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._lines, timeout)

    def close(self, timeout=1.0):
        """Writes what is left; later lines are dropped. At the end of a process it is called."""
        with self._condition:
            self._is_closing = True
            self._condition.notify_all()
        self.flush(timeout)


def _close_logs():
    for log in list(_logs):
        log.close()


atexit.register(_close_logs)


def _plain(value):
    """What an attribute of a line can be."""
    if isinstance(value, (bool, int)):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float) and value - value == 0:  # finite
        return value
    return str(value)[:_LOG_TEXT_MAX]


def _line_of(request):
    """The line of a request that has ended; None: it took no time."""
    path = request.path
    if path.sum_ns == 0:
        return None
    line = {key: _plain(value) for key, value in request.attributes.items()}
    line["time"] = round((request.began_ns - request.waited_ns) / 1e9, 6)
    line["latency"] = path.sum_ns / 1e9
    line["service"] = request.service.name
    if request.root.name is not None:
        name = request.root.name.decode("utf-8", "replace")
        line["method"] = name[len(request.service.name) + 2 :]
    if request.status is not None:
        line["status"] = request.status
    if request.is_failed:
        line["failed"] = True
    if request.ask.is_forced:
        line["forced"] = True
    elif request.share < 1:
        line["probability"] = request.share
    if request.trace_id:
        line["trace_id"] = request.trace_id
    line["path"] = encode_header(encode(path, READ_BYTES_MAX, path.sum_ns))
    return json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n"


class Request:
    """One request that is traced."""

    def __init__(self, service, name, ask, nonce=0, share=None):
        self.service = service
        self.is_asked = ask is not None  # by its caller, who gets the path
        self.share = share  # with which it is in the log; None: it is not
        self.ask = ask or Ask(1)
        self.nonce = nonce
        self.bytes_max = min(self.ask.bytes_max, service.bytes_max)
        self.began_ns = time.time_ns()
        self.trace_id = ""
        self.status = None
        self.is_failed = False
        self.attributes = {}
        self.is_incomplete = False
        self.is_approximate = False
        self.waited_ns = 0  # from its arrival until the service began
        self.header = None
        self.path = None
        self.spans = []
        self.root = _Span(self, None, name, False, service.clock())

    def open(self, parent, name, is_call):
        """A new span, or None at the limit and after the end."""
        if self.root.end_ns is not None:
            return None
        if len(self.spans) >= SPANS_MAX:
            self.is_incomplete = True
            return None
        span = _Span(self, parent, name, is_call, self.service.clock())
        self.spans.append(span)
        if self.root.end_ns is not None:  # it ended meanwhile, and has let go of the others
            span.request = span.parent = None
            return None
        return span

    def end(self, bytes_left=NS_MAX):
        """The value of the header critical-path-bin, or None; at most @bytes_left before
        base64. Ends the request: what comes later is on no path."""
        if self.root.end_ns is not None:
            return self.header
        self.root.end_ns = self.service.clock()
        try:
            self.path = self._path()
            if self.is_asked:
                bytes_max = min(self.bytes_max, bytes_left)
                data = encode(self.path, bytes_max, self.path.sum_ns, self.nonce)
                self.header = None if data is None else encode_header(data)
                if data is None:
                    self.service.counters["paths_without_room"] += 1
            if self.share is not None:
                self.service.log.add(self)
            if self.service.on_path is not None:
                self.service.on_path(self.path)
        except Exception:
            self.service.counters["errors"] += 1
        self._let_go()
        return self.header

    def drop(self):
        """Ends the request without an answer, if it has not ended; the log has it yet."""
        if self.root.end_ns is None and self.share is not None:
            self.is_asked = False
            self.is_failed = True
            self.end()
        elif self.root.end_ns is None:
            self.root.end_ns = self.service.clock()
            self._let_go()

    def _let_go(self):
        """Threads and tasks that outlive the request keep a span: no more than that."""
        for span in [self.root] + self.spans:
            span.request = span.parent = None

    def _frame_of(self, path, span, frames):
        """The frame of a span below those of the spans that it began in."""
        missing = []
        while span is not None and span not in frames:
            missing.append(span)
            span = span.parent
        frame = frames.get(span)
        for span in reversed(missing):
            kind = WORK if span.name is not None else OTHER
            frame = frames[span] = path.frame(frame, span.name or b"", kind)
        return frame

    def _path(self):
        path = Path()
        frames = {}
        steps, is_approximate = _walk(self.root, list(self.spans))
        root = self._frame_of(path, self.root, frames)
        _append_kind(path, root, ACCEPT_QUEUE, self.waited_ns)
        for span, duration_ns in steps:
            frame = self._frame_of(path, span, frames)
            if span.is_call:
                self._splice(path, frame, span, duration_ns)
            else:
                path.append(frame, duration_ns)
        path.flags |= (INCOMPLETE if self.is_incomplete else 0) | (
            APPROXIMATE if is_approximate or self.is_approximate else 0
        )
        return path

    def _splice(self, path, frame, span, observed_ns):
        callee = elapsed_ns = None
        reason = span.reason
        if span.is_timeout:
            _append_kind(path, frame, TIMEOUT, observed_ns)
        else:
            if span.reply is not None:
                callee, elapsed_ns, reason = read_reply(span.reply, span.nonce)
                if callee is None:
                    counter = "replies_stale" if reason == CACHED else "replies_refused"
                    self.service.counters[counter] += 1
            splice(path, frame, observed_ns, callee, elapsed_ns, reason)
        if span.is_stream:
            path.flags |= APPROXIMATE
        if span.status is not None and observed_ns:
            path.segments[-1][5][LABEL_STATUS] = span.status


def _walk(root, spans):
    """The spans on the path with their durations, in the order of time.

    The walk goes back from the answer. Within a span, the one that ended last before
    here was waited for: what lies between is the span's own time. A call takes all of
    its time, from its begin to its end; the walk continues where it was begun. Where
    another span ended meanwhile, the intervals do not tell which one was waited for, so
    the path is flagged approximate.

        root   |==|...........................|===|
        call 1    |---------------|                      ended earlier: not on the path
        call 2    |---------------------------|          root, call 2, root
    """
    ended = collections.defaultdict(list)  # by the span that may have waited for it
    others = 0
    for span in spans:
        if span.end_ns is not None and span.end_ns <= root.end_ns:
            waiter = span.parent
            while waiter is not root and (
                waiter.end_ns is None or waiter.end_ns < span.end_ns
            ):
                waiter = waiter.parent
            ended[waiter].append(span)
            others += span.end_ns > span.start_ns
    for waiting in ended.values():
        waiting.sort(key=lambda span: span.end_ns)
    steps = []
    node, now = root, root.end_ns
    while node is not None:
        waiting = ended[node]
        while waiting and waiting[-1].end_ns > now:
            waiting.pop()
        if not waiting or waiting[-1].end_ns <= node.start_ns:
            steps.append((node, now - node.start_ns))
            node, now = node.parent, node.start_ns
            continue
        span = waiting.pop()
        others -= span.end_ns > span.start_ns
        steps.append((node, now - span.end_ns))
        now = span.end_ns
        node = span
        if span.is_call:
            steps.append((span, now - span.start_ns))
            node, now = span.parent, span.start_ns
    return steps[::-1], others != 0


def _request():
    """The request of the current thread or task, and its span; (None, None): none is, or it
    has ended."""
    span = _current.get()
    request = None if span is None else span.request
    return (None, None) if request is None else (request, span)


def _enter(name, is_call):
    """A new span of the current request; None if there is none."""
    request, above = _request()
    if request is None:
        return None
    try:
        return request.open(above, name(request.service), is_call)
    except Exception:
        request.service.counters["errors"] += 1
        return None


class part:
    """with part("rank"): from here on time belongs to "S: rank"."""

    def __init__(self, name):
        self.name = name
        self._entered = []  # an exit without an enter has no effect

    def __enter__(self):
        span = _enter(lambda service: service.name_of(service.name, self.name), False)
        self._entered.append((span, None if span is None else _current.set(span)))
        return self

    def __exit__(self, *_):
        span, token = self._entered.pop() if self._entered else (None, None)
        if span is None:
            return False
        request = span.request
        if request is not None:
            span.end_ns = request.service.clock()
        try:
            _current.reset(token)
        except ValueError:  # left in another context than it was entered in
            if request is not None:
                request.service.counters["errors"] += 1
        return False


def attribute(key, value):
    """A remark on the current request, which the log shows: attribute("region", "eu")."""
    request = _request()[0]
    if request is not None and request.share is not None:
        if len(request.attributes) < _LOG_ATTRIBUTES_MAX or key in request.attributes:
            request.attributes[str(key)[:_LOG_TEXT_MAX]] = value


_TIMEOUTS = (
    TimeoutError, socket.timeout, asyncio.TimeoutError, concurrent.futures.TimeoutError,
    asyncio.CancelledError,  # how a deadline of asyncio ends what waits
)


def _is_timeout(error):
    """Whether a caller gave up. Clients have errors of their own, and wrap them."""
    for _ in range(8):
        if not isinstance(error, BaseException):
            return False
        if isinstance(error, _TIMEOUTS):
            return True
        if any("Timeout" in base.__name__ for base in type(error).__mro__):
            return True
        error = error.__cause__ or getattr(error, "reason", None)
    return False


class call:
    """One attempt of a call by a client without a hook:

    with call("B", "/lookup") as b:
        answer = client.get(url, headers=b.headers)
        b.reply(answer.headers.get_all("critical-path-bin"), answer.status)
    """

    def __init__(self, callee, method, is_asked=True):
        self.callee = callee
        self.method = method
        self.is_asked = is_asked
        self.is_crowded = False  # its other headers leave no room for an ask
        self.headers = {}
        self.span = None
        self.service = None

    def __enter__(self):
        self.span = _enter(lambda service: service.name_of(self.callee, self.method), True)
        self.headers = {}
        request = None if self.span is None else self.span.request
        if request is not None:
            self.service = request.service
            if self.is_asked:
                self.span.nonce = new_nonce()
                self.headers[HEADER_ASK] = format_ask(request.bytes_max, request.ask)
                self.headers[HEADER_NONCE] = format_nonce(self.span.nonce)
        self.headers.update(_live_headers() or ())
        return self

    def beside(self, headers_bytes, header_count):
        """Takes the ask away unless there is room for it beside these other headers of the
        call: a client that knows them says so before it sends the headers of the call."""
        if HEADER_ASK not in self.headers or ask_has_room(headers_bytes, header_count):
            return
        for name in _OURS:
            del self.headers[name]
        self.is_crowded = True
        self.service.counters["calls_without_room"] += 1

    def _ended(self):
        """The span and its request, if it ends now; else (None, None)."""
        span = self.span
        request = None if span is None else span.request
        if request is None or span.end_ns is not None:
            return None, None
        span.end_ns = request.service.clock()
        return span, request

    def reply(self, values, status=None, is_cached=False):
        """The answer has come, with these values of the header critical-path-bin, or one."""
        span, request = self._ended()
        if span is None:
            return
        values = [values] if isinstance(values, (str, bytes)) else list(values or ())
        values = [v.decode("latin-1") if isinstance(v, bytes) else v for v in values]
        if self.is_crowded:
            span.reason = LIMIT
        elif not self.is_asked:
            span.reason = UNSUPPORTED
        elif is_cached:
            span.reason = CACHED
        elif len(values) > 1:
            span.reason = UNDECODABLE
        elif values and len(values[0]) > (request.bytes_max * 4 + 2) // 3 + 2:
            span.reason = SIZE
        elif values:
            span.reply = values[0]
        if status is not None:
            self.name_status(status)

    def name_status(self, status):
        """The status of an answer: a number of HTTP, or the name of a code of gRPC."""
        if isinstance(status, str):
            self.span.status = status.encode()
        elif int(status) >= 400:
            self.span.status = b"%d" % int(status)

    def fail(self, error=None, status=None):
        """There is no answer."""
        span, _ = self._ended()
        if span is not None:
            span.is_timeout = _is_timeout(error)
            span.reason = FAILED
            span.status = b"DEADLINE" if span.is_timeout else b"UNAVAILABLE"
            if isinstance(error, asyncio.CancelledError):
                span.status = b"CANCELLED"
            elif status is not None and not span.is_timeout:
                span.status = status.encode()

    def __exit__(self, _, error, __):
        if error is not None:
            self.fail(error)
        else:
            self.reply(())
        return False


# --- To whom a request belongs ---
#
# The context of a request is that of its handler, and of what the handler starts: threads,
# jobs of pools, tasks of asyncio. All of them lose it with the answer, as the request then
# lets go of its spans and of the headers that calls carry. A thread or a task that lives
# longer has nothing left then, and keeps nothing of the request.
#
# Those that serve many requests must have none of them at all. The threads of pools get a
# context with each job, and have none between. Other workers are known by what they do:
# they take from a queue what another request put there, and lose then what they inherited.
#
# What the program binds (bind()) is different: it belongs to its request whatever it does,
# and its calls carry the request's headers also after the answer.


class _Carried(dict):
    """Headers that calls of a request carry, and whose they are."""

    def __init__(self, headers=(), scope=None):
        super().__init__(headers)
        self.scope = scope or object()  # stands for the request
        self.owner = None
        self.is_ended = False

    def own(self):
        """The thread or task that runs now is no worker: it is given this."""
        self.owner = _runner()
        return self


def _live_headers():
    """The headers of the current request; None: there is none, or it has ended."""
    carried = _carried.get()
    return None if getattr(carried, "is_ended", False) else carried


def _runner():
    """What stands for the current thread and task of asyncio."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs here
        task = None
    return threading.get_ident(), None if task is None else id(task)


class _Context:
    """with _Context(span, carried): what runs has these, and behind it what it had."""

    __slots__ = ("span", "carried", "tokens")

    def __init__(self, span, carried):
        self.span = span
        self.carried = carried

    def __enter__(self):
        self.tokens = _current.set(self.span), _carried.set(self.carried)

    def __exit__(self, *_):
        span, carried = self.tokens
        try:
            _current.reset(span)
            _carried.reset(carried)
        except ValueError:  # a generator that was closed in another context
            pass
        return False


def detached():
    """with detached(): what is started here, as a connection or a worker, is of no request."""
    return _Context(None, None)


def _inheriting(function):
    """@function, run with what the current thread has, until the answer."""
    span, carried = _request()[1], _live_headers()
    if span is None and carried is None:
        return function

    def run(*arguments, **more):
        with _Context(span, carried):
            return function(*arguments, **more)

    return run


def bind(function):
    """@function, or a coroutine, that belongs to the current request wherever it runs, and
    whose calls carry the request's headers also after its answer:

        threading.Thread(target=cpt_trace.bind(send_mail)).start()
        asyncio.create_task(cpt_trace.bind(send_mail()))
    """
    span, headers = _current.get(), _live_headers()
    scope = getattr(headers, "scope", None)

    @contextlib.contextmanager
    def context():
        carried = _Carried(headers or (), scope).own()
        try:
            with _Context(span, carried):
                yield
        finally:
            carried.is_ended = True  # for what it has started, in its turn

    async def wait(awaited):
        with context():
            return await awaited

    async def wait_for_call(*arguments, **more):
        with context():
            return await function(*arguments, **more)

    def run(*arguments, **more):
        with context():
            result = function(*arguments, **more)
        # a function does not tell before it was called that it only makes a coroutine
        return wait(result) if inspect.iscoroutine(result) else result

    if inspect.isawaitable(function):
        return wait(function)
    is_async = inspect.iscoroutinefunction(function)
    return functools.wraps(function)(wait_for_call if is_async else run)


# --- Servers ---


class _Serving:
    """One request at a server, traced or not: from its arrival to the end of its answer."""

    __slots__ = ("service", "request", "carried", "target_bytes")

    def __init__(self, service, request, carried):
        self.service = service
        self.request = request
        self.carried = carried
        self.target_bytes = 0  # nginx that caches keeps the target where it reads the head

    def context(self):
        root = None if self.request is None else self.request.root
        return _Context(root, self.carried.own())

    def run(self, function, *arguments):
        with self.context():
            return function(*arguments)

    def http_head(self, status, headers):
        """The pairs that stand in the head of the answer beside @headers, which are all."""
        try:
            if self.request is None:
                return []
            self.request.status = int(status[:3]) if status[:3].isdigit() else None
            head = list(headers) + _path_pairs("")
            limit = self.service.headers_bytes_max or HEADERS_BYTES_HTTP
            left = path_bytes_left(limit, http_headers_bytes(status, head) + self.target_bytes)
            if len(head) + HEADERS_OF_SERVER > limit // HEADERS_BYTES_EACH:
                left = 0
            value = self.request.end(left)
            return [] if value is None else _path_pairs(value)
        except Exception:
            self.service.counters["errors"] += 1
            return []

    def grpc_trailers(self, metadata, details, has_message):
        """The same of trailing metadata; without a message they are one block with the head."""
        try:
            if self.request is None:
                return []
            used = grpc_headers_bytes(list(metadata) + [(HEADER_PATH, b"")], details)
            limit = HEADERS_BYTES_GRPC
            if not has_message:
                used += GRPC_HEAD_BYTES
                limit = HEADERS_BYTES_HTTP
            limit = self.service.headers_bytes_max or limit
            value = self.request.end(path_bytes_left(limit, used))
            return [] if value is None else [(HEADER_PATH, decode_base64(value))]
        except Exception:
            self.service.counters["errors"] += 1
            return []

    def end(self):
        """All of the answer is there: what goes on is on its own, unless it is bound."""
        request, self.request = self.request, None
        if request is not None:
            request.drop()
        self.carried.is_ended = True


def _path_pairs(value):
    return [(HEADER_PATH, value), ("Vary", HEADER_ASK)]


def _without_path(headers, name=HEADER_PATH):
    """Headers without one that the application copied from a callee: inner names never
    leave by mistake."""
    return [pair for pair in headers if pair[0].lower() != name]


def _since_start_ns(values):
    """For how long a request has waited by what a proxy says: "t=" and seconds, or milli-
    or microseconds, since 1970. 0: it says nothing that can be."""
    match = re.fullmatch(r"(?:t=)?([0-9]{9,16}(?:\.[0-9]{1,9})?)", values[0]) if values else None
    if match is None or len(values) > 1:
        return 0
    began = float(match[1])
    while began > 1e11:
        began /= 1000
    waited_ns = int((time.time() - began) * 1e9)
    return waited_ns if 0 < waited_ns < 60 * 10**9 else 0


_LAST_DATA_RECV = 8 + 4 * 11  # in struct tcp_info of Linux: milliseconds, of 32 bits
_CLOCK_MONOTONIC_COARSE = 6  # of Linux: goes in ticks, as the kernel's figure does


def _ticks_ns():
    """Two ticks, by which the kernel's figure may be too large."""
    try:
        return 2 * int(time.clock_getres(_CLOCK_MONOTONIC_COARSE) * 1e9)
    except (OSError, AttributeError):
        return 20000000


def _kernel_wait_ns(connection):
    """For how long the bytes of a request have lain in the kernel; at most that: until the
    last of them came. 0: not known, or not long."""
    if connection is None or not hasattr(socket, "TCP_INFO"):
        return 0
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_DATA_RECV + 4)
        waited_ms = int.from_bytes(info[_LAST_DATA_RECV:], sys.byteorder)
        return max(0, waited_ms * 1000000 - _ticks_ns())
    except (OSError, AttributeError):  # a socket of another family
        return 0


class _WsgiAnswer:
    """The answer of a WSGI application: its head is held back until its first chunk."""

    def __init__(self, serving, start_response):
        self.serving = serving
        self.real_start = start_response
        self.real_write = None
        self.head = None
        self.body = None

    def start_response(self, status, headers, exc_info=None):
        if self.real_write is not None:
            return self.real_start(status, _without_path(headers), exc_info)
        if self.head is not None and exc_info is None:
            raise AssertionError("the head of the response is there already")
        self.head = (status, headers, exc_info)
        return self.write

    def flush(self):
        if self.head is None or self.real_write is not None:
            return
        status, headers, exc_info = self.head
        headers = _without_path(headers)
        headers += self.serving.http_head(status, headers)
        more = () if exc_info is None else (exc_info,)
        self.real_write = self.real_start(status, headers, *more) or (lambda data: None)

    def write(self, data):
        self.flush()
        return self.real_write(data)

    def run(self, function, *arguments):
        """A step of the application; one that fails ends the answer."""
        try:
            return self.serving.run(function, *arguments)
        except StopIteration:
            raise
        except BaseException:
            self.serving.end()
            raise

    def __iter__(self):
        self.chunks = self.run(iter, self.body)
        return self

    def __next__(self):
        try:
            chunk = self.run(next, self.chunks)
        except StopIteration:
            self.flush()
            self.serving.end()
            raise
        self.flush()
        return chunk

    def close(self):
        close = getattr(self.body, "close", None)
        try:
            if close is not None:
                self.run(close)
        finally:
            self.serving.end()


def _target_bytes(environ):
    """Of the target of a request, as it was sent, or must have been."""
    raw = environ.get("RAW_URI") or environ.get("REQUEST_URI")
    if raw:
        return len(raw)
    path = (environ.get("SCRIPT_NAME") or "") + (environ.get("PATH_INFO") or "")
    query = environ.get("QUERY_STRING") or ""
    return len(urllib.parse.quote(path.encode("latin-1", "replace"))) + 1 + len(query)


class WSGI:
    """app = WSGI(app, Service("S", trust=["10.0.0.0/8"])); around all other middleware, as
    headers that are added behind it are not counted"""

    def __init__(self, app, service):
        self.app = app
        self.service = service

    def _serve(self, environ):
        headers = [
            (key[5:].replace("_", "-").lower(), value)
            for key, value in environ.items()
            if key.startswith("HTTP_")
        ]
        peer = environ.get("REMOTE_ADDR", "")
        serving = self.service.serve(environ.get("PATH_INFO") or "/", headers, peer)
        if serving.request is not None:
            serving.target_bytes = _target_bytes(environ)
        if serving.request is not None and not serving.request.waited_ns:
            connection = environ.get("gunicorn.socket") or environ.get("werkzeug.socket")
            serving.request.waited_ns = _kernel_wait_ns(connection)
        return serving

    def __call__(self, environ, start_response):
        answer = _WsgiAnswer(self._serve(environ), start_response)
        body = answer.run(self.app, environ, answer.start_response)
        if hasattr(body, "__len__") or hasattr(body, "read"):
            answer.flush()
            answer.serving.end()
            return body
        answer.body = body
        return answer


def _phrase(status):
    try:
        return "%d %s" % (status, http.HTTPStatus(status).phrase)
    except ValueError:
        return "%d" % status


# The messages of ASGI with a body: bytes, or a file that the server sends by itself.
_BODIES = ("http.response.body", "http.response.zerocopysend", "http.response.pathsend")


class ASGI:
    """app = ASGI(app, Service("S", trust=["10.0.0.0/8"])); around all other middleware, as
    headers that are added behind it are not counted"""

    def __init__(self, app, service):
        self.app = app
        self.service = service

    def _serve(self, scope):
        headers = [
            (bytes(name).decode("latin-1").lower(), bytes(value).decode("latin-1"))
            for name, value in scope.get("headers") or ()
        ]
        peer = (scope.get("client") or ("",))[0]
        serving = self.service.serve(scope.get("path") or "/", headers, peer)
        if serving.request is not None:
            path = scope.get("path") or "/"
            raw = scope.get("raw_path") or urllib.parse.quote(path, errors="replace")
            serving.target_bytes = len(raw) + 1 + len(scope.get("query_string") or b"")
        return serving

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            with detached():
                await self.app(scope, receive, send)
            return
        serving = self._serve(scope)

        async def send_ours(message):
            if message["type"] == "http.response.start":
                headers = _without_path(message.get("headers") or (), HEADER_PATH.encode())
                ours = serving.http_head(_phrase(message.get("status", 200)), headers)
                headers += [(name.lower().encode(), value.encode()) for name, value in ours]
                message = dict(message, headers=headers)
            elif message["type"] in _BODIES and not message.get("more_body"):
                serving.end()
            await send(message)

        try:
            with serving.context():
                await self.app(scope, receive, send_ours)
        finally:
            serving.end()


# --- Clients ---

_originals = {}
_PUTHEADER = (http.client.HTTPConnection, "putheader")


def _patch(owner, name, make):
    original = getattr(owner, name)
    _originals[(owner, name)] = original
    setattr(owner, name, functools.wraps(original)(make(original)))


def _begin_call(connection, url):
    """The call of a connection of http.client, if its request is traced. Its callee is whom
    the connection is made to: a URL, and the header Host, may be what a stranger has sent."""
    request, _ = _request()
    connection._cpt_call = None
    if request is None:
        return None
    try:
        service = request.service
        host = connection._tunnel_host or connection.host
        port = connection._tunnel_port or connection.port
        authority = ("[%s]:%s" if ":" in host else "%s:%s") % (host.strip("[]"), port)
        callee = service.callees.get(authority)
        name = authority if callee is None else callee
        path = re.split("[?#]", _path_of(url), maxsplit=1)[0]
        one = call(name, service.method(path or "/"), callee is not None)
        connection._cpt_call = one.__enter__()
        return one
    except Exception:
        request.service.counters["errors"] += 1
        return None


def _failing(original):
    """A method of a connection in whose failure its call fails, too."""

    def method(self, *arguments, **more):
        try:
            return original(self, *arguments, **more)
        except TypeError:  # urllib3 1.26 tries buffering=True of Python 2 first
            raise
        except BaseException as error:
            one, self._cpt_call = getattr(self, "_cpt_call", None), None
            if one is not None:
                one.fail(error)
            raise

    return method


_OURS = (HEADER_ASK, HEADER_NONCE)


def _is_copied(name):
    """Whether a header of a call is an ask that its request came with, as gateways copy all
    headers: a stranger's would go on, and ours, where there is one, stands by itself."""
    return name in _OURS and (_carried.get() is not None or _current.get() is not None)


def _putrequest(original):
    def putrequest(self, method, url, *arguments, **more):
        self._cpt_names = set()  # of the headers that the application, or a hook below, sets
        self._cpt_added = set()
        result = original(self, method, url, *arguments, **more)
        _begin_call(self, url)
        return result

    return putrequest


def _putheader(original):
    def putheader(self, header, *values):
        name = header.decode("latin-1") if isinstance(header, bytes) else str(header)
        name = name.lower()
        if _is_copied(name) or _family(name) in getattr(self, "_cpt_added", ()):
            return None  # or a hook below ours adds what is there already
        getattr(self, "_cpt_names", set()).add(name)
        return original(self, header, *values)

    return putheader


def _put_ask(connection, one):
    """Adds the ask of a call, if all lines that a connection of http.client has kept for the
    head leave room for it."""
    lines = getattr(connection, "_buffer", ())
    one.beside(sum(len(line) + 30 for line in lines), len(lines) - 1)
    for name in _OURS:
        if name in one.headers:
            _originals[_PUTHEADER](connection, name, one.headers[name])


def _endheaders(original):
    failing = _failing(original)

    def endheaders(self, *arguments, **more):
        carried, names = _live_headers(), getattr(self, "_cpt_names", None)
        if carried and names is not None:
            for name, value in _beside(carried, names).items():
                _originals[_PUTHEADER](self, name, value)
                self._cpt_added.add(_family(name))
        one = getattr(self, "_cpt_call", None)
        if one is not None:
            _put_ask(self, one)
        return failing(self, *arguments, **more)

    return endheaders


def _is_from_cache(headers):
    """Whether an answer comes from a cache: it has Age. Varnish writes `Age: 0` on each answer;
    its X-Varnish has a second number on those of its cache."""
    ages, varnish = headers.get_all("age") or [], headers.get_all("x-varnish") or []
    return len(ages) != 0 and not (
        ages == ["0"] and len(varnish) == 1 and varnish[0].isdigit()
    )


def _getresponse(original):
    failing = _failing(original)

    def getresponse(self, *arguments, **more):
        response = failing(self, *arguments, **more)
        one, self._cpt_call = getattr(self, "_cpt_call", None), None
        if one is not None:
            try:
                headers = response.headers
                one.reply(
                    headers.get_all(HEADER_PATH), response.status, _is_from_cache(headers)
                )
            except Exception:
                if one.service is not None:
                    one.service.counters["errors"] += 1
        return response

    return getresponse


def _is_of_interpreters(pool):
    """Whether a pool pickles its work for other interpreters, where no request is."""
    return any(base.__module__ == "concurrent.futures.interpreter" for base in pool.__mro__)


def _with_context(original):
    """A method of a pool whose first argument is the work: that has the submitter's context."""

    def submit(self, *arguments, **more):
        is_of_none = _current.get() is None and _live_headers() is None
        if is_of_none or _is_of_interpreters(type(self)):
            return original(self, *arguments, **more)
        if arguments:
            arguments = (_inheriting(arguments[0]),) + arguments[1:]
        elif "func" in more:
            more["func"] = _inheriting(more["func"])
        with detached():  # for a thread that is made for it, and works for others later
            return original(self, *arguments, **more)

    return submit


# Whose threads work for many requests.
_POOLS = (
    "anyio", "asyncio", "concurrent", "grpc", "logging", "multiprocessing", "opentelemetry",
    "sentry_sdk",
)


def _is_worker(thread):
    """Whether a thread is one of a pool, by the module of what it runs."""
    is_plain = type(thread).run is threading.Thread.run
    runs = getattr(thread, "_target", None) if is_plain else type(thread).run
    module = getattr(runs, "__module__", None) or ""
    return module.partition(".")[0] in _POOLS


def _start(original):
    def start(self):
        inherited = self.run if _is_worker(self) else _inheriting(self.run)
        if inherited == self.run:
            return original(self)

        def once(*_):  # the thread, if a hook below ours takes it for a method
            self.__dict__.pop("run", None)  # so that no cycle is left of thread and method
            inherited()

        self.run = once
        try:
            return original(self)
        except BaseException:
            self.__dict__.pop("run", None)
            raise

    return start


_SEVERAL = object()  # requests have put something into a queue
_TAKERS_MAX = 1000  # of a queue that are known: the last ones


def _init(original):
    """Who takes from a queue that it has made is no worker: it waits for an answer."""

    def __init__(self, *arguments, **more):
        original(self, *arguments, **more)
        scope = getattr(_live_headers(), "scope", None)
        if scope is not None:  # numbers of threads are used again, in other requests
            self.__dict__["_cpt_maker"] = scope, _runner()

    return __init__


def _put(original):
    """Whose work is in a queue; and whether it is a pool, as of connections, in which all who
    put had taken before."""

    def put(self, *arguments, **more):
        known, scope = self.__dict__, getattr(_live_headers(), "scope", None)
        if scope is not None and known.setdefault("_cpt_scope", scope) is not scope:
            known["_cpt_scope"] = _SEVERAL
        takers = known.get("_cpt_takers")
        if takers is not None:
            if _runner() in takers:
                known.setdefault("_cpt_is_pool", True)
            elif scope is not None:
                known["_cpt_is_pool"] = False
        return original(self, *arguments, **more)

    return put


def _is_stack(one):
    """Whether the last that came goes first: pools of connections are so, and no work."""
    return any("Lifo" in base.__name__ for base in type(one).__mro__)


def _get(original):
    """A worker loses what it inherited when it takes what another request has put."""

    def get(self, *arguments, **more):
        carried, known = _carried.get(), self.__dict__
        mine = getattr(carried, "scope", None)
        if mine is None:
            return original(self, *arguments, **more)
        taker = _runner()
        takers = known.setdefault("_cpt_takers", collections.OrderedDict())
        takers[taker] = None
        if len(takers) > _TAKERS_MAX:
            takers.popitem(last=False)
        item = original(self, *arguments, **more)
        is_of_another = known.get("_cpt_scope", mine) is not mine
        is_pool = known.get("_cpt_is_pool") or _is_stack(self)
        is_given = taker == carried.owner or known.get("_cpt_maker") == (mine, taker)
        if is_of_another and not is_pool and not is_given:
            _current.set(None)
            _carried.set(None)
        return item

    return get


def _watched(simple_queue):
    """A class in the place of SimpleQueue, whose methods cannot be replaced."""
    methods = {"__module__": simple_queue.__module__, "__init__": _init(simple_queue.__init__)}
    for name, make in (("put", _put), ("get", _get)):
        for one in (name, name + "_nowait"):
            methods[one] = make(getattr(simple_queue, one))
    return type(simple_queue.__name__, (simple_queue,), methods)


def _forget_in_child():
    """A process that is forked, as those of pools are, is of no request."""
    _current.set(None)
    _carried.set(None)
    for log in list(_logs):
        log._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


def install():
    """Hooks for http.client (so also urllib.request, urllib3, requests), and for threads and
    pools, so that calls made on them belong to their request."""
    if _originals:
        return
    _patch(http.client.HTTPConnection, "putheader", _putheader)
    _patch(http.client.HTTPConnection, "putrequest", _putrequest)
    _patch(http.client.HTTPConnection, "endheaders", _endheaders)
    _patch(http.client.HTTPConnection, "send", _failing)
    _patch(http.client.HTTPConnection, "getresponse", _getresponse)
    _patch(concurrent.futures.ThreadPoolExecutor, "submit", _with_context)
    for name in ("apply_async", "_map_async", "imap", "imap_unordered"):
        _patch(multiprocessing.pool.ThreadPool, name, _with_context)
    _patch(threading.Thread, "start", _start)
    for made, put, get in (
        (queue.Queue, "put", "get"),
        (asyncio.Queue, "put_nowait", "get_nowait"),
    ):
        _patch(made, "__init__", _init)
        _patch(made, put, _put)
        _patch(made, get, _get)
    _originals[(queue, "SimpleQueue")] = queue.SimpleQueue
    queue.SimpleQueue = _watched(queue.SimpleQueue)


def uninstall():
    for (owner, name), original in _originals.items():
        setattr(owner, name, original)
    _originals.clear()


# --- gRPC, if grpcio is installed ---

_GRPC_VALUE = re.compile(r"[ -~]*")  # what metadata may be


def _status_of(answer):
    """The name of the code of an answer, and its trailing metadata. One that another
    interceptor has made may have neither, but be an error."""
    try:
        return answer.code().name, answer.trailing_metadata() or ()
    except AttributeError:
        is_error = isinstance(answer, BaseException) and not isinstance(answer, StopIteration)
        return "UNKNOWN" if is_error else "OK", ()


def _end_grpc(one, answer):
    """A call has ended, with a code and trailing metadata: errors have a path, too."""
    if one.span.end_ns is not None:
        return
    try:
        code, trailing = _status_of(answer)
        values = [encode_header(value) for name, value in trailing if name == HEADER_PATH]
        if code == "OK" or values:
            one.reply(values, None if code == "OK" else code)
        else:
            one.fail(TimeoutError() if code == "DEADLINE_EXCEEDED" else None, code)
    except Exception:
        one.service.counters["errors"] += 1


class _GrpcAnswer:
    """The answer of a call that is under way, or a stream: its path is read before the
    program sees its end, and not when grpcio's thread comes to it."""

    def __init__(self, answer, one):
        self._answer = answer
        self._one = one
        if not hasattr(answer, "add_callback"):  # a generator of another interceptor
            return
        ours = weakref.ref(self)  # grpcio cancels a stream that is not referred to

        def end():
            if ours() is not None:
                ours()._end()

        if not answer.add_callback(end):
            self._end()  # it has ended meanwhile

    def __getattr__(self, name):
        return getattr(self._answer, name)

    def _end(self, error=None):
        is_of_grpc = hasattr(self._answer, "code")
        _end_grpc(self._one, self._answer if is_of_grpc or error is None else error)

    def _after(self, method, *arguments):
        try:
            return method(*arguments)
        finally:
            if self._answer.done():
                self._end()

    def result(self, timeout=None):
        return self._after(self._answer.result, timeout)

    def exception(self, timeout=None):
        return self._after(self._answer.exception, timeout)

    def traceback(self, timeout=None):
        return self._after(self._answer.traceback, timeout)

    def code(self):
        return self._after(self._answer.code)

    def add_done_callback(self, function):
        self._answer.add_done_callback(_inheriting(lambda _: function(self)))

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return next(self._answer)
        except BaseException as error:  # its end, too
            self._end(error)
            raise


def grpc_client(service_names):
    """An interceptor for grpc.intercept_channel(channel, grpc_client("B")): calls of service
    B; its path comes as trailing metadata. A stream is one call, to its end."""
    import grpc

    for kind in (grpc.RpcContext, grpc.Call, grpc.Future):
        kind.register(_GrpcAnswer)

    def with_ours(details, one):
        metadata = [pair for pair in details.metadata or () if not _is_copied(pair[0])]
        ours = _beside(one.headers, {name for name, _ in metadata})
        ours = [(n, v) for n, v in ours.items() if _GRPC_VALUE.fullmatch(v)]
        metadata += [pair for pair in ours if pair[0] not in _OURS]
        one.beside(len(details.method) + grpc_metadata_bytes(metadata), len(metadata))
        metadata += [pair for pair in ours if pair[0] in one.headers and pair[0] in _OURS]
        return details._replace(metadata=metadata)

    def in_request(messages):
        """The messages of a stream, which grpcio takes on a thread of its own."""
        return iter(_inheriting(iter(messages).__next__), object())

    def intercept(continuation, details, request, is_stream=False):
        one = call(service_names, details.method)
        one.__enter__()
        if one.span is not None:
            one.span.is_stream = is_stream
        try:
            details = with_ours(details, one)
            with detached():  # for the thread of the channel, which works for others later
                answer = continuation(details, request)
        except BaseException as error:
            one.fail(error)
            raise
        if one.span is None:
            return answer
        is_done = getattr(answer, "done", lambda: not hasattr(answer, "__next__"))
        if not is_done():
            return _GrpcAnswer(answer, one)
        _end_grpc(one, answer)
        return answer

    class Interceptor(
        grpc.UnaryUnaryClientInterceptor,
        grpc.UnaryStreamClientInterceptor,
        grpc.StreamUnaryClientInterceptor,
        grpc.StreamStreamClientInterceptor,
    ):
        def intercept_unary_unary(self, continuation, details, request):
            return intercept(continuation, details, request)

        def intercept_unary_stream(self, continuation, details, request):
            return intercept(continuation, details, request, True)

        def intercept_stream_unary(self, continuation, details, requests):
            return intercept(continuation, details, in_request(requests), True)

        intercept_stream_stream = intercept_stream_unary

    return Interceptor()


def grpc_server(service):
    """An interceptor for grpc.server(…, interceptors=[grpc_server(service)])."""
    import grpc

    def serve(context, method, metadata, is_stream):
        peer = context.peer()  # ipv4:10.0.0.1:4711, ipv6:%5B::1%5D:4711
        address = urllib.parse.unquote(peer.split(":", 1)[-1]).rpartition(":")[0]
        headers = [(k, v) for k, v in metadata if isinstance(v, str)]
        serving = service.serve(method, headers, address.strip("[]"))
        if serving.request is not None:
            serving.request.is_approximate = is_stream
            serving.request.status = "OK"
        return serving

    def answer(serving, context, error=None, has_message=True):
        """The path goes with the status, whatever that is."""
        try:
            details = getattr(context, "details", str)() or b""
            if isinstance(details, bytes):
                details = details.decode("utf-8", "replace")
            if serving.request is not None:
                code = getattr(getattr(context, "code", lambda: None)(), "name", None)
                serving.request.status = code or ("OK" if error is None else "UNKNOWN")
                serving.request.is_failed = serving.request.status != "OK"
            if error is not None and not details:  # what grpcio will say
                details = "Exception calling application: %s" % error
            trailing = tuple(getattr(context, "trailing_metadata", tuple)() or ())
            trailing = tuple(pair for pair in trailing if pair[0].lower() != HEADER_PATH)
            ours = serving.grpc_trailers(trailing, details, has_message)
            context.set_trailing_metadata(trailing + tuple(ours))
        except Exception:
            service.counters["errors"] += 1
        serving.end()

    def unary(behaviour, method, metadata, is_stream):
        def behave(request, context):
            serving = serve(context, method, metadata, is_stream)
            try:
                reply = serving.run(behaviour, request, context)
            except BaseException as error:
                answer(serving, context, error, has_message=False)
                raise
            answer(serving, context)
            return reply

        return behave

    def streaming(behaviour, method, metadata):
        def behave(request, context):
            serving = serve(context, method, metadata, True)
            has_message = False
            try:
                messages = serving.run(lambda: iter(behaviour(request, context)))
                while True:
                    try:
                        message = serving.run(next, messages)
                    except StopIteration:
                        break
                    has_message = True
                    yield message
            except BaseException as error:
                answer(serving, context, error, has_message)
                raise
            answer(serving, context, None, has_message)

        return behave

    def traced(handler, method, metadata):
        is_stream = handler.request_streaming or handler.response_streaming
        if handler.response_streaming:
            name = "stream_stream" if handler.request_streaming else "unary_stream"
            behave = streaming(getattr(handler, name), method, metadata)
        else:
            name = "stream_unary" if handler.request_streaming else "unary_unary"
            behave = unary(getattr(handler, name), method, metadata, is_stream)
        make = getattr(grpc, name + "_rpc_method_handler")
        return make(behave, handler.request_deserializer, handler.response_serializer)

    class Interceptor(grpc.ServerInterceptor):
        def intercept_service(self, continuation, details):
            handler = continuation(details)
            if handler is None:
                return None
            return traced(handler, details.method, details.invocation_metadata or ())

    return Interceptor()


# --- cpt-conformance ---


def _text_of_stack(path, frame):
    return ";".join("%d:%s" % (kind, encode_header(name)) for name, kind in path.stack(frame))


def _text_of_labels(labels):
    return "".join(
        ",%d:%s" % (key, encode_header(value))
        if LABEL_TAKES_NAME[key]
        else ",%d=%d" % (key, value)
        for key, value in sorted(labels.items())
    )


def _text_of_path(path, elapsed_ns):
    words = ["path", str(path.flags), str(path.sum_ns)]
    words.append("-" if elapsed_ns is None else str(elapsed_ns))
    words.append(format_nonce(path.nonce) if path.nonce else "-")
    for segment, drag_ns in zip(path.segments, path.drags):
        frame, duration_ns, count, flags, reason, labels = segment
        stack = _text_of_stack(path, frame)
        drag = "-" if drag_ns is None else str(drag_ns)
        numbers = "%d,%d,%d,%s" % (count, flags, reason, drag)
        words.append("%d@%s@%s%s" % (duration_ns, stack, numbers, _text_of_labels(labels)))
    return " ".join(words)


def _bytes_of(text):
    return b"" if text == "-" else base64.b64decode(text + "=" * (-len(text) % 4))


def _texts_of(words):
    return [_bytes_of(word).decode("latin-1") for word in words]


def _nonce_of(word):
    return 0 if word == "-" else int(word, 16)


def _answer_call(path, frame, duration_ns, value, nonce):
    """One call of a reply: its observed time, what came back, the nonce sent with it."""
    callee = elapsed_ns = None
    reason = UNSUPPORTED
    if value != "-":
        callee, elapsed_ns, reason = read_reply(value, nonce)
    splice(path, frame, duration_ns, callee, elapsed_ns, reason)


def _answer_reply(budget, nonce, items):
    path = Path()
    for item in items:
        duration, stack, *reply = item.split("@")
        frame = None
        for text in stack.split(";"):
            kind, name = text.split(":")
            frame = path.frame(frame, _bytes_of(name), int(kind))
        if reply:
            _answer_call(path, frame, int(duration), reply[0], _nonce_of(reply[1]))
        else:
            path.append(frame, int(duration))
    data = encode(path, budget, path.sum_ns, nonce)
    return "none" if data is None else "header " + encode_header(data)


def _answer_ask(values):
    ask = parse_ask(values)
    if ask is None:
        return "none"
    numbers = (ask.version, ask.bytes_max, ask.is_forced, ask.wants_drag)
    return "%d %d %d %d %s" % (numbers + (ask.graph or "-",))


def _answer_onward(bytes_max, values):
    ask = parse_ask(values)
    if ask is None:
        return "none"
    value = format_ask(min(ask.bytes_max, bytes_max), ask)
    return "header " + encode_header(value.encode())


def _answer_path(value):
    try:
        return _text_of_path(*decode_header("" if value == "-" else value))
    except Refused:
        return "refused"


def _answer(kind, words):
    if kind == "ask":
        return _answer_ask(_texts_of(words))
    if kind == "nonce":
        nonce = parse_nonce(_texts_of(words))
        return format_nonce(nonce) if nonce else "none"
    if kind == "onward":
        return _answer_onward(int(words[0]), _texts_of(words[1:]))
    if kind == "path":
        return _answer_path(words[0])
    if kind == "reply":
        return _answer_reply(int(words[0]), _nonce_of(words[1]), words[2:])
    if kind == "proxy":
        return "yes" if is_forwarding(_texts_of(words)[0]) else "no"
    return "unknown"


def conformance():
    """Answers the lines of `cpt-conformance`."""
    for line in sys.stdin:
        words = line.split()
        print(words[0], _answer(words[1], words[2:]), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--conformance"]:
        conformance()
    else:
        sys.exit("usage: cpt_trace.py --conformance")
