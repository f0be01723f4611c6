# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""headed_services.py - headed.c, headed.py and headed.js as processes, and what tests of
them share: asks, and what a caller takes of an answer."""
import base64
import http.client
import json
import os
import re
import subprocess
import time

import proxy_programs
from proxy_programs import output, service

HERE = os.path.dirname(os.path.abspath(__file__))


class Kinds:
    """The programs of the services; those that are not there are left out."""

    def __init__(self, helpers, interop, python="", node=""):
        self.helpers, self.interop, self.python, self.node = helpers, interop, python, node
        self.names = ["C"] + ["Python"] * bool(python) + ["Node"] * bool(node)
        self.count = 0

    def start(self, kind, role, name, port=None, networks="127.0.0.0/8"):
        """Starts a service, which calls the one at `port`; its own port, and its name."""
        self.count += 1
        output_name = "%s-%d" % (name, self.count)
        if kind == "C":
            words = [self.helpers + "/headed", role, "--listen", "127.0.0.1:0"]
            words += ["--trust", networks] if role == "entry" else []
            words += ["--to", "next=http://127.0.0.1:%d" % port] if port else []
            os.environ["HEADED_NAME"] = name
        else:
            words = ([self.python, "-B", HERE + "/headed.py", self.interop + "/python"]
                     if kind == "Python" else
                     [self.node, HERE + "/headed.js", self.interop + "/node"])
            words += [name, role] + (["127.0.0.1:%d" % port] if port else [])
        return service(output_name, words)

    def start_grpc(self, kind, role, name, port=None):
        """A service in C or Python over gRPC, which calls the one at `port` so, too; its
        port."""
        self.count += 1
        output_name = "%s-grpc-%d" % (name, self.count)
        if kind == "C":
            words = [self.helpers + "/headed", role, "--listen", "127.0.0.1:0"]
            words += ["--trust", "127.0.0.0/8"] if role == "entry" else []
            words += ["--to", "next=127.0.0.1:%d" % port] if port else []
        else:
            words = [self.python, "-B", HERE + "/headed_grpc.py", self.interop + "/python",
                     name, role] + (["127.0.0.1:%d" % port] if port else [])
        os.environ["HEADED_NAME"] = name
        os.environ["HEADED_GRPC"] = "1"
        try:
            proxy_programs.start(output_name, words)
        finally:
            del os.environ["HEADED_GRPC"]
        end = time.monotonic() + proxy_programs.STARTS_WITHIN_S
        while time.monotonic() < end and proxy_programs.running[-1].poll() is None:
            found = re.search(r"^grpc (\d+)$", output(output_name), re.MULTILINE)
            if found and "listens on" in output(output_name):
                return int(found[1])
            time.sleep(0.02)
        raise SystemExit("%s does not start: %s" % (output_name, output(output_name)))


def new_nonce():
    return "%016x" % (int.from_bytes(os.urandom(8), "big") or 1)


def asks(nonce):
    return {"critical-path": "1;max=2048;forced", "critical-path-nonce": nonce}


def nonce_of(value):
    """The nonce in a path, bytes or their base64: field 19, as 16 digits; None: it has none.
    The fields of a path are few and flat, so a walk over them is enough."""
    data = value if isinstance(value, bytes) else base64.b64decode(value + "=" * (-len(value) % 4))
    at, found = 0, None

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            varint()
        elif tag & 7 == 2:
            length = varint()
            at += length
        else:
            length = {1: 8, 5: 4}[tag & 7]
            if tag >> 3 == 19:
                found = "%016x" % int.from_bytes(data[at:at + 8], "little")
            at += length
    return found


class OverHttp:
    def __init__(self, port):
        self.port, self.connection = port, None

    def get(self, n, heads, which, headers):
        """Whether it passed, what came, and the path."""
        for _ in range(2):  # a proxy may have closed a connection that was kept
            is_new = self.connection is None
            if is_new:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                self.connection.request("GET", "/%d/%s/%s" % (n, heads, which), headers=headers)
                reply = self.connection.getresponse()
                body = reply.read()
                if reply.will_close:
                    self.close()
                return reply.status == 200, body or reply.status, reply.headers["critical-path-bin"]
            except (http.client.HTTPException, OSError) as error:
                self.close()
                if is_new:
                    return False, repr(error), None
        return False, "closed", None

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class Decoder:
    """Paths as `cpt metadata --json` shows them."""

    def __init__(self, cpt):
        self.cpt = cpt

    def segments(self, value):
        done = subprocess.run([self.cpt, "metadata", "--json", value], stdout=subprocess.PIPE,
                              check=True)
        return json.loads(done.stdout)["segments"]


def seen(body):
    """The services that a body names, with their counts: {"A": 5, "B": 3}."""
    return {word.split(".")[0]: int(word.split(".")[1]) for word in body.decode().split()}
