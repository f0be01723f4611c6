# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""half_uploads.py HOST:PORT COUNT BYTES - COUNT clients that begin an upload each, send
BYTES of it and fall silent; then another one's request must be answered."""
import http.client
import socket
import sys

HOST, PORT = sys.argv[1].rsplit(":", 1)
COUNT, BYTES = int(sys.argv[2]), int(sys.argv[3])
HEAD = b"POST /upload HTTP/1.1\r\nHost: s\r\nContent-Length: %d\r\n\r\n" % (BYTES + 100)

clients = []
for _ in range(COUNT):
    client = socket.create_connection((HOST, int(PORT)), timeout=120)
    clients.append(client)
    try:
        client.sendall(HEAD + b"x" * BYTES)
    except OSError:
        pass  # it was closed: there was no room
for attempt in range(20):
    last = http.client.HTTPConnection(HOST, int(PORT), timeout=120)
    last.request("POST", "/upload", body=b"small")
    reply = last.getresponse()
    if reply.status == 200 and reply.read() == b"small":
        break
    last.close()
else:
    sys.exit("the last answer was %d" % reply.status)
