#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""Critical paths of Python services: one file, the standard library, Python 3.9.

    caller  --- critical-path: 1;max=2048 -->  this service  --- the same -->  callee
    caller  <-- critical-path-bin: CAEQ… ---   this service  <-- the same ---  callee

The format is docs/format-metadata.md of cpt; nothing here uses its library. The file has
two halves: the format (asks, paths as bytes, splicing, folding), which can be tried with

    cpt metadata --conformance 'python3 cpt_trace.py --conformance'

and the recording (a request, its parts and calls, the walk that finds the path), with
middleware for WSGI and ASGI and hooks for clients.
"""

import base64
import binascii
import collections
import concurrent.futures
import contextvars
import functools
import heapq
import http.client
import ipaddress
import os
import re
import socket
import sys
import threading
import time
import urllib.parse

HEADER_ASK = "critical-path"
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
OTHER = 14
NO_REASON, UNSUPPORTED, NOT_SAMPLED, SIZE, UNDECODABLE, FAILED, CACHED = range(7)
LIMIT = 8
UNORDERED, INCOMPLETE, APPROXIMATE = 1, 2, 4  # flags of a path
OVERCOUNT, IS_FOLDED = 1, 2  # flags of a segment
LABEL_EXCESS, LABEL_STATUS = 5, 6
LABEL_TAKES_NAME = {
    1: False, 2: False, 3: True, 4: True, 5: False, 6: True, 7: False, 8: False,
    9: False, 10: False,
}


class Refused(ValueError):
    """Bytes from outside that are not what they should be."""


# --- The ask ---


class Ask:
    """What a caller asks for: the newest version it reads, at most how many bytes."""

    __slots__ = ("version", "bytes_max", "is_forced", "has_max")

    def __init__(self, version, bytes_max=BYTES_DEFAULT, is_forced=False, has_max=False):
        self.version = version
        self.bytes_max = bytes_max
        self.is_forced = is_forced
        self.has_max = has_max


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
    return ask


def format_ask(bytes_max):
    """The value of the header for a callee; forcing ends at the entry."""
    return "1;max=%d" % bytes_max


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


# --- A path ---


class Path:
    """Frames as (parent or None, name, kind); segments as lists of frame, duration_ns,
    count, flags, reason, labels {key: number or name}."""

    def __init__(self):
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
}


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
    return path, scalars.get(2)


_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def decode_header(value):
    """The same of the value of the header critical-path-bin."""
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
    return decode(data)


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

    def __init__(self, path, elapsed_ns):
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


def encode(path, bytes_max=BYTES_DEFAULT, elapsed_ns=None):
    """The bytes of a path, at most @bytes_max; None if nothing fits."""
    return _fit(_Form(path, elapsed_ns), bytes_max)


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

# The trace context that calls carry, as headers; also of a request that is not traced.
_carried = contextvars.ContextVar("cpt_trace_context", default=None)

# Headers of proxies: such a request comes from outside, from any peer.
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-real-ip", "cf-connecting-ip")


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
        "status",
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
        self.status = None


class Service:
    """What requests of this process have in common.

    name     the service in all frames: "S: /search"
    trust    networks of callers that get paths ("10.0.0.0/8"), or a function of the peer's
             address; by default no caller gets one
    callees  {"host:port": "B"}: who is asked for paths, and the service's name there
    method   a function of a URL's path: the method's name; by default the path itself
    on_path  is called with the Path of each request that is traced, after its end
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
    ):
        self.name = name
        self.callees = dict(callees or {})
        self.bytes_max = min(bytes_max, BYTES_CEILING)
        self.method = method or (lambda path: path)
        self.on_path = on_path
        self.clock = clock
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

    def begin(self, path, asks, peer, is_forwarded=False):
        """The Request, if it is to be traced: if a trusted caller asks. Else None."""
        try:
            if not asks:
                return None
            ask = parse_ask(asks)
            if ask is None:
                self.counters["asks_malformed"] += 1
                return None
            if is_forwarded or not self.is_trusted(peer):
                self.counters["asks_untrusted"] += 1
                return None
            self.counters["requests_traced"] += 1
            return Request(self, self.name_of(self.name, self.method(path)), ask)
        except Exception:
            self.counters["errors"] += 1
            return None


class Request:
    """One request that is traced."""

    def __init__(self, service, name, ask):
        self.service = service
        self.ask = ask
        self.bytes_max = min(ask.bytes_max, service.bytes_max)
        self.is_incomplete = False
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
        return span

    def end(self):
        """The value of the header critical-path-bin, or None. Ends the request: what
        comes later is on no path."""
        if self.root.end_ns is not None:
            return self.header
        self.root.end_ns = self.service.clock()
        try:
            self.path = self._path()
            data = encode(self.path, self.bytes_max, self.path.sum_ns)
            self.header = None if data is None else encode_header(data)
            if self.service.on_path is not None:
                self.service.on_path(self.path)
        except Exception:
            self.service.counters["errors"] += 1
        return self.header

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
        steps, is_approximate = _walk(self.root, self.spans)
        for span, duration_ns in steps:
            frame = self._frame_of(path, span, frames)
            if span.is_call:
                self._splice(path, frame, span, duration_ns)
            else:
                path.append(frame, duration_ns)
        path.flags |= (INCOMPLETE if self.is_incomplete else 0) | (
            APPROXIMATE if is_approximate else 0
        )
        return path

    def _splice(self, path, frame, span, observed_ns):
        callee = elapsed_ns = None
        reason = span.reason
        if span.is_timeout:
            _append_kind(path, frame, TIMEOUT, observed_ns)
        else:
            if span.reply is not None:
                try:
                    callee, elapsed_ns = decode_header(span.reply)
                except Refused:
                    self.service.counters["replies_refused"] += 1
                    reason = UNDECODABLE
            splice(path, frame, observed_ns, callee, elapsed_ns, reason)
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


def _enter(name, is_call):
    """A new span of the current request; None if there is none."""
    above = _current.get()
    if above is None:
        return None
    try:
        return above.request.open(above, name(above.request.service), is_call)
    except Exception:
        above.request.service.counters["errors"] += 1
        return None


class part:
    """with part("rank"): from here on time belongs to "S: rank"."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.span = _enter(lambda service: service.name_of(service.name, self.name), False)
        self.token = None if self.span is None else _current.set(self.span)
        return self

    def __exit__(self, *_):
        if self.span is not None:
            self.span.end_ns = self.span.request.service.clock()
            try:
                _current.reset(self.token)
            except ValueError:  # left in another context than it was entered in
                self.span.request.service.counters["errors"] += 1
        return False


class call:
    """A call by a client without a hook:

    with call("B", "/lookup") as b:
        answer = client.get(url, headers=b.headers)
        b.reply(answer.headers.get_all("critical-path-bin"), answer.status)
    """

    def __init__(self, callee, method, is_asked=True):
        self.callee = callee
        self.method = method
        self.is_asked = is_asked
        self.headers = {}

    def __enter__(self):
        self.span = _enter(lambda service: service.name_of(self.callee, self.method), True)
        if self.span is not None and self.is_asked:
            self.headers[HEADER_ASK] = format_ask(self.span.request.bytes_max)
        self.headers.update(_carried.get() or ())
        return self

    def reply(self, values, status=None, is_cached=False):
        """The answer has come, with these values of the header critical-path-bin."""
        span = self.span
        if span is None or span.end_ns is not None:
            return
        span.end_ns = span.request.service.clock()
        values = list(values or ())
        if not self.is_asked:
            span.reason = UNSUPPORTED
        elif is_cached:
            span.reason = CACHED
        elif len(values) > 1:
            span.reason = UNDECODABLE
        elif values and len(values[0]) > (span.request.bytes_max * 4 + 2) // 3 + 2:
            span.reason = SIZE
        elif values:
            span.reply = values[0]
        if status is not None and int(status) >= 400:
            span.status = b"%d" % int(status)

    def fail(self, error=None):
        """There is no answer."""
        span = self.span
        if span is not None and span.end_ns is None:
            span.is_timeout = isinstance(error, (TimeoutError, socket.timeout))
            span.reason = FAILED
            span.status = b"DEADLINE" if span.is_timeout else b"UNAVAILABLE"
            span.end_ns = span.request.service.clock()

    def __exit__(self, _, error, __):
        if error is not None:
            self.fail(error)
        else:
            self.reply(())
        return False


# --- Servers ---


def _without_path(headers, name=HEADER_PATH):
    """Headers without one that the application copied from a callee: inner names never
    leave by mistake."""
    return [pair for pair in headers if pair[0].lower() != name]


class _WsgiAnswer:
    """The answer of a WSGI application: its head is held back until its first chunk."""

    def __init__(self, request, carried, start_response):
        self.request = request
        self.carried = carried
        self.real_start = start_response
        self.real_write = None
        self.head = None
        self.body = None

    def start_response(self, status, headers, exc_info=None):
        if self.real_write is not None:
            return self.real_start(status, headers, exc_info)
        if self.head is not None and exc_info is None:
            raise AssertionError("the head of the response is there already")
        self.head = (status, headers, exc_info)
        return self.write

    def flush(self):
        if self.head is None or self.real_write is not None:
            return
        status, headers, exc_info = self.head
        headers = _without_path(headers)
        header = self.request.end() if self.request is not None else None
        if header is not None:
            headers += [(HEADER_PATH, header), ("Vary", HEADER_ASK)]
        more = () if exc_info is None else (exc_info,)
        self.real_write = self.real_start(status, headers, *more) or (lambda data: None)

    def write(self, data):
        self.flush()
        return self.real_write(data)

    def in_context(self, function):
        token = _current.set(self.request.root if self.request is not None else None)
        carried = _carried.set(self.carried)
        try:
            return function()
        finally:
            _carried.reset(carried)
            _current.reset(token)

    def __iter__(self):
        self.chunks = self.in_context(lambda: iter(self.body))
        return self

    def __next__(self):
        try:
            chunk = self.in_context(lambda: next(self.chunks))
        except StopIteration:
            self.flush()
            raise
        self.flush()
        return chunk

    def close(self):
        close = getattr(self.body, "close", None)
        if close is not None:
            close()


class WSGI:
    """app = WSGI(app, Service("S", trust=["10.0.0.0/8"]))"""

    def __init__(self, app, service):
        self.app = app
        self.service = service

    def __call__(self, environ, start_response):
        asks = environ.get("HTTP_CRITICAL_PATH")
        request = None
        if asks is not None:
            request = self.service.begin(
                environ.get("PATH_INFO") or "/",
                [asks],
                environ.get("REMOTE_ADDR", ""),
                any("HTTP_" + n.upper().replace("-", "_") in environ for n in _FORWARDED),
            )
        parents, states = (
            [environ[key]] if key in environ else []
            for key in ("HTTP_TRACEPARENT", "HTTP_TRACESTATE")
        )
        carried = self.service.carry(parents, states, request)
        answer = _WsgiAnswer(request, carried, start_response)
        body = answer.in_context(lambda: self.app(environ, answer.start_response))
        if hasattr(body, "__len__") or hasattr(body, "read"):
            answer.flush()
            return body
        answer.body = body
        return answer


class ASGI:
    """app = ASGI(app, Service("S", trust=["10.0.0.0/8"]))"""

    def __init__(self, app, service):
        self.app = app
        self.service = service

    def _begin(self, scope):
        asks = []
        is_forwarded = False
        for name, value in scope.get("headers") or ():
            name = bytes(name).lower()
            if name == b"critical-path":
                asks.append(bytes(value).decode("latin-1"))
            is_forwarded = is_forwarded or name.decode("latin-1") in _FORWARDED
        peer = (scope.get("client") or ("",))[0]
        return self.service.begin(scope.get("path") or "/", asks, peer, is_forwarded)

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = self._begin(scope)
        parents, states = (
            [bytes(v).decode("latin-1") for k, v in scope.get("headers") or () if k.lower() == name]
            for name in (HEADER_TRACEPARENT.encode(), HEADER_TRACESTATE.encode())
        )
        head = None

        async def send_head(is_answered):
            nonlocal head
            held, head = head, None
            headers = _without_path(held.get("headers") or (), HEADER_PATH.encode())
            value = request.end() if request is not None and is_answered else None
            if value is not None:
                headers.append((HEADER_PATH.encode(), value.encode()))
                headers.append((b"vary", HEADER_ASK.encode()))
            await send(dict(held, headers=headers))

        async def send_ours(message):
            nonlocal head
            if message["type"] == "http.response.start":
                head = message
                return
            if head is not None:
                await send_head(True)
            await send(message)

        token = _current.set(request.root if request is not None else None)
        carried = _carried.set(self.service.carry(parents, states, request))
        try:
            await self.app(scope, receive, send_ours)
        finally:
            _carried.reset(carried)
            _current.reset(token)
            if head is not None:
                await send_head(False)


# --- Clients ---

_originals = {}
_PUTHEADER = (http.client.HTTPConnection, "putheader")


def _patch(owner, name, make):
    original = getattr(owner, name)
    _originals[(owner, name)] = original
    setattr(owner, name, functools.wraps(original)(make(original)))


def _begin_call(connection, url):
    """The call of a connection of http.client, if its request is traced."""
    above = _current.get()
    connection._cpt_call = None
    if above is None:
        return None
    try:
        host = connection._tunnel_host or connection.host
        port = connection._tunnel_port or connection.port
        parts = urllib.parse.urlsplit(url)
        service = above.request.service
        authority = parts.netloc or "%s:%s" % (host, port)
        callee = service.callees.get(authority)
        name = authority if callee is None else callee
        one = call(name, service.method(parts.path or "/"), callee is not None)
        connection._cpt_call = one.__enter__()
        return one
    except Exception:
        above.request.service.counters["errors"] += 1
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


def _putrequest(original):
    def putrequest(self, method, url, *arguments, **more):
        result = original(self, method, url, *arguments, **more)
        self._cpt_has_traceparent = False
        one = _begin_call(self, url)
        if one is not None and HEADER_ASK in one.headers:
            _originals[_PUTHEADER](self, HEADER_ASK, one.headers[HEADER_ASK])
        return result

    return putrequest


def _putheader(original):
    def putheader(self, header, *values):
        name = header.decode("latin-1") if isinstance(header, bytes) else str(header)
        one = getattr(self, "_cpt_call", None)
        if one is not None and HEADER_ASK in one.headers and name.lower() == HEADER_ASK:
            return None  # an ask that the application passes on: ours is there
        if name.lower() == HEADER_TRACEPARENT:
            self._cpt_has_traceparent = True
        return original(self, header, *values)

    return putheader


def _endheaders(original):
    failing = _failing(original)

    def endheaders(self, *arguments, **more):
        carried = _carried.get()
        if carried is not None and not getattr(self, "_cpt_has_traceparent", True):
            for name, value in carried.items():
                _originals[_PUTHEADER](self, name, value)
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
                one.span.request.service.counters["errors"] += 1
        return response

    return getresponse


def _submit(original):
    def submit(self, function, /, *arguments, **more):
        if _current.get() is not None or _carried.get() is not None:
            context = contextvars.copy_context()
            return original(self, context.run, function, *arguments, **more)
        return original(self, function, *arguments, **more)

    return submit


def _start(original):
    def start(self):
        if _current.get() is not None or _carried.get() is not None:
            self.run = functools.partial(contextvars.copy_context().run, self.run)
        return original(self)

    return start


def install():
    """Hooks for http.client (so also urllib.request, urllib3, requests), and for threads,
    so that calls made on them belong to their request."""
    if _originals:
        return
    _patch(http.client.HTTPConnection, "putheader", _putheader)
    _patch(http.client.HTTPConnection, "putrequest", _putrequest)
    _patch(http.client.HTTPConnection, "endheaders", _endheaders)
    _patch(http.client.HTTPConnection, "send", _failing)
    _patch(http.client.HTTPConnection, "getresponse", _getresponse)
    _patch(concurrent.futures.ThreadPoolExecutor, "submit", _submit)
    _patch(threading.Thread, "start", _start)


def uninstall():
    for (owner, name), original in _originals.items():
        setattr(owner, name, original)
    _originals.clear()


# --- gRPC, if grpcio is installed ---


def grpc_client(service_names):
    """An interceptor for grpc.intercept_channel(channel, grpc_client("B")): unary calls of
    service B; its path comes as trailing metadata."""
    import grpc

    class Interceptor(grpc.UnaryUnaryClientInterceptor):
        def intercept_unary_unary(self, continuation, details, request):
            one = call(service_names, details.method)
            one.__enter__()
            metadata = list(details.metadata or ())
            if any(name == HEADER_TRACEPARENT for name, _ in metadata):
                for name in (HEADER_TRACEPARENT, HEADER_TRACESTATE):
                    one.headers.pop(name, None)  # the application has set its own
            metadata += one.headers.items()
            try:
                answer = continuation(details._replace(metadata=metadata), request)
            except BaseException as error:
                one.fail(error)
                raise

            def done(future):
                try:
                    if future.code() != grpc.StatusCode.OK:
                        is_late = future.code() == grpc.StatusCode.DEADLINE_EXCEEDED
                        one.fail(TimeoutError() if is_late else None)
                        return
                    values = [
                        encode_header(value)
                        for key, value in future.trailing_metadata() or ()
                        if key == HEADER_PATH
                    ]
                    one.reply(values)
                except Exception:
                    if one.span is not None:
                        one.span.request.service.counters["errors"] += 1

            if one.span is not None:
                done(answer) if answer.done() else answer.add_done_callback(done)
            return answer

    return Interceptor()


def grpc_server(service):
    """An interceptor for grpc.server(…, interceptors=[grpc_server(service)])."""
    import grpc

    def traced(handler, method, metadata):
        asks, parents, states = (
            [value for key, value in metadata if key == name]
            for name in (HEADER_ASK, HEADER_TRACEPARENT, HEADER_TRACESTATE)
        )

        def behave(request, context):
            peer = context.peer()  # ipv4:10.0.0.1:4711, ipv6:%5B::1%5D:4711
            address = urllib.parse.unquote(peer.split(":", 1)[-1]).rpartition(":")[0]
            one = service.begin(method, asks, address.strip("[]"))
            token = _current.set(one.root if one is not None else None)
            carried = _carried.set(service.carry(parents, states, one))
            try:
                answer = handler.unary_unary(request, context)
                value = one.end() if one is not None else None
                if value is not None:
                    data = base64.b64decode(value + "=" * (-len(value) % 4))
                    trailing = tuple(getattr(context, "trailing_metadata", tuple)() or ())
                    context.set_trailing_metadata(trailing + ((HEADER_PATH, data),))
                return answer
            finally:
                _carried.reset(carried)
                _current.reset(token)

        return grpc.unary_unary_rpc_method_handler(
            behave, handler.request_deserializer, handler.response_serializer
        )

    class Interceptor(grpc.ServerInterceptor):
        def intercept_service(self, continuation, details):
            handler = continuation(details)
            if handler is None or handler.unary_unary is None:
                return handler
            return traced(handler, details.method, details.invocation_metadata or ())

    return Interceptor()


# --- cpt metadata --conformance ---


def _text_of_stack(path, frame):
    return ";".join("%d:%s" % (kind, encode_header(name)) for name, kind in path.stack(frame))


def _text_of_path(path, elapsed_ns):
    words = ["path", str(path.flags), str(path.sum_ns)]
    words.append("-" if elapsed_ns is None else str(elapsed_ns))
    for frame, duration_ns, count, flags, reason, labels in path.segments:
        text = "%d@%s@%d,%d,%d" % (
            duration_ns,
            _text_of_stack(path, frame),
            count,
            flags,
            reason,
        )
        for key, value in sorted(labels.items()):
            if LABEL_TAKES_NAME[key]:
                text += ",%d:%s" % (key, encode_header(value))
            else:
                text += ",%d=%d" % (key, value)
        words.append(text)
    return " ".join(words)


def _bytes_of(text):
    return b"" if text == "-" else base64.b64decode(text + "=" * (-len(text) % 4))


def _answer_reply(budget, items):
    path = Path()
    for item in items:
        parts = item.split("@")
        duration_ns = int(parts[0])
        frame = None
        for text in parts[1].split(";"):
            kind, name = text.split(":")
            frame = path.frame(frame, _bytes_of(name), int(kind))
        if len(parts) == 2:
            path.append(frame, duration_ns)
        elif parts[2] == "-":
            splice(path, frame, duration_ns, reason=UNSUPPORTED)
        else:
            callee = elapsed_ns = None
            try:
                callee, elapsed_ns = decode_header(parts[2])
            except Refused:
                pass
            splice(path, frame, duration_ns, callee, elapsed_ns, UNDECODABLE)
    data = encode(path, budget, path.sum_ns)
    return "none" if data is None else "header " + encode_header(data)


def _answer(words):
    if words[0] == "ask":
        ask = parse_ask([_bytes_of(word).decode("latin-1") for word in words[1:]])
        if ask is None:
            return "none"
        return "%d %d %d" % (ask.version, ask.bytes_max, ask.is_forced)
    if words[0] == "path":
        try:
            return _text_of_path(*decode_header("" if words[1] == "-" else words[1]))
        except Refused:
            return "refused"
    if words[0] == "reply":
        return _answer_reply(int(words[1]), words[2:])
    return "unknown"


def conformance():
    """Answers the lines of `cpt metadata --conformance`."""
    for line in sys.stdin:
        words = line.split()
        print(words[0], _answer(words[1:]), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--conformance"]:
        conformance()
    else:
        sys.exit("usage: cpt_trace.py --conformance")
