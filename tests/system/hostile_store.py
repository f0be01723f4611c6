# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# hostile_store.py MODE - a server on the loopback that is no ClickHouse, or a bad one;
# prints its port. Every mode but `page` repeats the number of "SELECT toUInt64(n)".
#
#   page      "200 OK" and a page for whatever is asked
#   empty     "200 OK" and nothing
#   endless   stacks without end
#   refusal   "500" and a reason without end
#   reset     resets the first connection, then takes everything
#   takes     takes everything
#   tells     "500" and what was sent to it, the password too, as it is and as it was sent
import base64
import itertools
import re
import socket
import struct
import sys
import threading

mode = sys.argv[1]
connections = itertools.count()


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    while length and len(body) < int(length.group(1)):
        more = connection.recv(65536)
        if not more:
            return None
        body += more
    sent = re.search(rb"(?i)authorization: *(\S+ +)(\S+)", head)
    if mode == "tells" and sent:
        return b"sent " + sent.group(1) + sent.group(2) + b" which is " + base64.b64decode(sent.group(2))
    return head.split(b"\r\n", 1)[0] + b"\n" + body


def answer(connection, body, status=b"200 OK"):
    connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def send_endless(connection, status, chunks):
    connection.sendall(b"HTTP/1.1 " + status + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    for chunk in chunks:
        connection.sendall(b"%x\r\n" % len(chunk) + chunk + b"\r\n")


def stacks():
    for first in itertools.count(1, 1000):
        yield b"".join(struct.pack("<QQH", i, 0, 0) + b"\x04A: /" for i in range(first, first + 1000))


def serve(connection):
    if mode == "reset" and next(connections) == 0:
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        return
    request = read_request(connection)
    while request is not None:
        echo = re.search(rb"toUInt64\((\d+)\)", request)
        if mode == "tells":
            answer(connection, request, b"500 No")
        elif mode == "page":
            answer(connection, b"<html>Welcome!</html>" * 100)
        elif mode == "empty":
            answer(connection, b"")
        elif echo:
            answer(connection, struct.pack("<Q", int(echo.group(1))))
        elif mode == "endless":
            send_endless(connection, b"200 OK", stacks())
        elif mode == "refusal":
            send_endless(connection, b"500 No", itertools.repeat(b"no " * 10000))
        elif b"system.columns" in request:
            answer(connection, struct.pack("<Q", 1))
        else:
            answer(connection, b"")
        request = read_request(connection)


def serve_and_close(connection):
    try:
        serve(connection)
    except OSError:
        pass
    finally:
        connection.close()


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve_and_close, args=(listener.accept()[0],), daemon=True).start()
