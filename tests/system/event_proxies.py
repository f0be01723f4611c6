# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""event_proxies.py CPT: requests through nginx, HAProxy and Apache, and their logs.

First they write what they write without being asked: no line says which request it is of, and
`cpt events check` says what would. Then they are configured by these directives, word for word,
but for the folder of the logs: each request is found in all three, and the path of each is as
long as nginx says that it took, to 1 ms."""
import http.client
import http.server
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

from proxy_programs import Proxy, program

CPT = sys.argv[1]
REQUESTS = 40


class Origin(http.server.BaseHTTPRequestHandler):
    """Answers after some ms."""

    def do_GET(self):
        time.sleep(random.uniform(0.002, 0.02))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def keep_messages(path):
    """A socket for the messages of HAProxy, which go to the file `path`; its port."""
    held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    held.bind(("127.0.0.1", 0))

    def keep():
        with open(path, "w") as file:
            while True:
                file.write(re.sub(r"^<\d+>", "", held.recv(65536).decode()).strip() + "\n")
                file.flush()
    threading.Thread(target=keep, daemon=True).start()
    return held.getsockname()[1]


def cpt(*words):
    done = subprocess.run([CPT, *words], stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout


def lines_of(path):
    with open(path) as file:
        return file.read().count("\n")


def run(name, nginx, haproxy, apache):
    """Makes requests through proxies with these lines; the three logs, in that order."""
    logs = ["%s/%s/%s.log" % (os.getcwd(), name, kind) for kind in ("nginx", "haproxy", "apache")]
    shutil.rmtree(name, ignore_errors=True)  # of another run
    os.makedirs(name)
    port = keep_messages(logs[1])
    at_apache = Proxy("Apache", origin.server_port, apache.replace("LOG", logs[2]))
    at_haproxy = Proxy("HAProxy", at_apache.port,
                       "log 127.0.0.1:%d local0\n%s" % (port, haproxy))
    # the configuration of these tests has `access_log off` in its http block
    form, place = re.match(r"(log_format .*?';\n)?(.*)", nginx, re.DOTALL).groups()
    at_nginx = Proxy("nginx", at_haproxy.port, place.replace("LOG", logs[0]), http=form or "")
    for i in range(REQUESTS):
        client = http.client.HTTPConnection("127.0.0.1", at_nginx.port, timeout=30)
        client.request("GET", "/cart/%d?x=1" % i)
        assert client.getresponse().read() == b"ok"
        client.close()
    end = time.monotonic() + 30
    while any(not os.path.exists(log) or lines_of(log) < REQUESTS for log in logs):
        assert time.monotonic() < end, "a log lacks lines: %s" % logs
        time.sleep(0.05)
    return logs


def directives(checked):
    """The directive for each format."""
    formats = {row["source"]: row["format"] for row in checked["sources"]}
    return {formats[lack["source"]]: lack["directive"] for lack in checked["lacks"]
            if lack["directive"]}


for kind in ("nginx", "HAProxy", "Apache"):
    if not program(kind):
        print("skipped: %s is not installed" % kind)
        sys.exit(77)
origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
threading.Thread(target=origin.serve_forever, daemon=True).start()

logs = run("before", "access_log LOG combined;", "option httplog",
           'LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined\n'
           "CustomLog LOG combined")
checked = json.loads(cpt("events", "check", "--json", *logs))
assert checked["requests"] == 0 and not checked["unread"], checked
assert [row["format"] for row in checked["sources"]] == ["nginx", "haproxy", "apache"], checked
found = directives(checked)

logs = run("after", re.sub(r"/var/log/nginx/cpt\.log", "LOG", found["nginx"]), found["haproxy"],
           re.sub(r"\$\{APACHE_LOG_DIR\}/cpt\.log", "LOG", found["apache"]))
checked = json.loads(cpt("events", "check", "--json", *logs))
assert checked["requests"] == checked["with_all_sources"] == REQUESTS, checked
assert not checked["lacks"] and not checked["unread"], checked
assert [(row["entry"], row["method"]) for row in checked["classes"]] == \
    [("nginx: GET /cart/*", "calls")], checked

with open(logs[0]) as file:
    took_ms = {line[1]: 1000 * float(line[2])
               for line in re.finditer(r"id=(\S+) took=(\S+)", file.read())}
cpt("import", "--events", "-o", "paths.cptlog", *logs)
records = [json.loads(line) for line in cpt("log", "--json", "paths.cptlog").splitlines()]
assert len(records) == REQUESTS, len(records)
for record in records:
    summed_ms = sum(segment["duration_ns"] for segment in record["segments"]) / 1e6
    assert abs(summed_ms - took_ms[record["trace_id"]]) <= 1.001, record
    assert record["entry"] == "nginx: GET /cart/*", record
print("%d requests in all three logs; their paths are as long as nginx says" % REQUESTS)
