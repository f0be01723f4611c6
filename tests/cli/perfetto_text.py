# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# perfetto_text.py FILE - a trace of Perfetto as text, one line a slice: its fields, by the
# numbers of its schema (protos/perfetto/trace/trace_packet.proto,
# track_event/track_event.proto and track_event/track_descriptor.proto of
# github.com/google/perfetto). It fails if tracks, slices or arrows do not fit together.
import struct, sys

def fields(data):
    at = 0
    def varint():
        nonlocal at
        number, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value = struct.unpack("<Q", data[at:at + 8])[0]
            at += 8
        else:
            assert key & 7 == 2, key
            size = varint()
            value = data[at:at + size]
            assert len(value) == size
            at += size
        yield key >> 3, value

tracks, open_slices, arrows, begin = {}, {}, {}, None
for number, packet in fields(open(sys.argv[1], "rb").read()):
    assert number == 1  # packet
    packet = dict(fields(packet))
    time = packet[8]
    begin = begin or time
    assert packet[10] == 1  # trusted_packet_sequence_id
    if 60 in packet:  # track_descriptor
        track = dict(fields(packet[60]))
        assert track[1] not in tracks
        assert 5 not in track or track[5] in tracks
        tracks[track[1]] = track[2].decode()
        print("track", tracks[track[1]], "below", tracks.get(track.get(5), "nothing"))
        continue
    event = list(fields(packet[11]))  # track_event
    values = dict(event)
    stack = open_slices.setdefault(tracks[values[11]], [])
    if values[9] == 2:  # TYPE_SLICE_END
        name, since = stack.pop()
        print(f"{since / 1e6:8.3f} {(time - begin) / 1e6:8.3f}  {tracks[values[11]]}  {name}")
        continue
    assert values[9] == 1  # TYPE_SLICE_BEGIN
    stack.append((values[23].decode(), (time - begin)))
    for key, flow in event:
        if key == 47:  # flow_ids
            arrows.setdefault(flow, []).append(time)
assert not any(open_slices.values())
assert all(len(times) == 2 and times[0] <= times[1] for times in arrows.values())
print(len(arrows), "arrows")
