# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""protobuf.py - numbers and fields as the definition of Protocol Buffers encodes them"""


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, data):
    """A field of a known length: bytes, a text, a message."""
    return varint(number << 3 | 2) + varint(len(data)) + data
