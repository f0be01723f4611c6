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
import heapq
import re
import sys

HEADER_ASK = "critical-path"
HEADER_PATH = "critical-path-bin"

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
LABEL_TAKES_NAME = {1: False, 2: False, 3: True, 4: True, 5: False, 6: True, 7: False}


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
