# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""demo_events.py CPT SERVICES - paths of a system that is not traced, from its logs alone

    client -> nginx -> HAProxy -> A -> B, C -> PostgreSQL          B -> C

All of Debian, on loopback; A, B and C are the services of `cpt demo`, in the folder SERVICES,
with tracing off. One id goes through all of it: nginx makes it ($request_id), HAProxy and the
services pass X-Request-Id on and log it, PostgreSQL has it as application_name. The client learns
it from the answer, and logs its own stages.

In every other request component C1 of service C misses its cache, which takes 12 ms. From the
lines of both halves cpt names the component that is slower, and the line of it that has changed.
(By turns, so that a machine that others use, too, is as slow for both.) In the current folder.
Exit 77: something is not installed."""
import atexit
import concurrent.futures
import glob
import http.client
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import proxy_programs  # noqa: E402
from proxy_programs import free_port, program, service, start  # noqa: E402

CPT, SERVICES = sys.argv[1:3]
REQUESTS = int(os.environ.get("CPT_DEMO_REQUESTS", "300"))
CLIENTS = 3
SLOWED, SLOWED_US = "C1", 12000
ID = re.compile(r"\b[0-9a-f]{32}\b")
LOGS = ["client.jsonl", "nginx.log", "haproxy.log", "A.jsonl", "B.jsonl", "C.jsonl",
        "postgresql.log"]

NGINX = """
pid nginx.pid;
error_log nginx.err;
daemon off;
events {}
http {
    client_body_temp_path nginx.0; proxy_temp_path nginx.1; fastcgi_temp_path nginx.2;
    uwsgi_temp_path nginx.3; scgi_temp_path nginx.4;
    log_format cpt '$remote_addr - $remote_user [$time_local] "$request" $status '
        '$body_bytes_sent "$http_referer" "$http_user_agent" at=$msec '
        'id=$request_id took=$request_time upstream="$upstream_response_time" '
        'peer=$proxy_host';
    access_log nginx.log cpt;
    upstream haproxy { server 127.0.0.1:%(haproxy)d; keepalive 8; }
    server {
        listen 127.0.0.1:%(nginx)d;
        location / {
            proxy_pass http://haproxy;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header X-Request-Id $request_id;
            add_header X-Request-Id $request_id;
        }
    }
}
"""

HAPROXY = """
global
    log stdout format raw local0
defaults
    mode http
    log global
    timeout connect 20s
    timeout client 60s
    timeout server 60s
    unique-id-format %%[req.hdr(X-Request-Id)]
    log-format "%%ci:%%cp [%%tr] %%ft %%b/%%s %%TR/%%Tw/%%Tc/%%Tr/%%Ta %%ST %%B %%CC %%CS %%tsc %%ac/%%fc/%%bc/%%sc/%%rc %%sq/%%bq %%hr %%hs %%{+Q}r id=%%ID"
frontend in
    bind 127.0.0.1:%(haproxy)d
    default_backend A
backend A
    server one 127.0.0.1:%(a)d
"""

SOURCES = """# whose lines are where, and what stands where in those of services and of the client
source nginx = format nginx;  service nginx;  files nginx.log
source haproxy = format haproxy;  service haproxy;  files haproxy.log
source postgresql = format postgresql;  service postgresql;  files postgresql.log
source services = json;  id request_id;  time ts s;  event msg;  unit span_id;  service service;  role role;  peer peer;  duration duration s;  files *.jsonl
"""


def must(condition, *what):
    if not condition:
        sys.exit("FAIL: " + " ".join(map(str, what)))


def run(*words, **options):
    print("\n$ cpt " + " ".join(words), flush=True)
    return subprocess.run([CPT, *words], check=True, **options)


def answer(*words):
    """The JSON that a command prints."""
    done = subprocess.run([CPT, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=True)
    return json.loads(done.stdout)


# --- What runs ---


def database(port):
    """PostgreSQL, which refuses to run as root: then as another user."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if not found:
        print("skipped: PostgreSQL is not installed")
        sys.exit(77)
    options = {}
    folder = tempfile.mkdtemp(prefix="cpt-database-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(proxy_programs.stop)  # before that
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")  # as the package has it
        os.chown(folder, user.pw_uid, user.pw_gid)
        options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    subprocess.run([found[-1].replace("bin/postgres", "bin/initdb"), "-D", folder + "/data", "-U",
                    "postgres", "--auth=trust", "--no-sync"], check=True, cwd=folder,
                   stdout=subprocess.DEVNULL, **options)
    settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": folder,
                "fsync": "off", "log_line_prefix": "%m [%p] %q%u@%d id=%a ",
                "log_min_duration_statement": 0, "log_timezone": "UTC"}
    words = [word for key, value in settings.items() for word in ("-c", "%s=%s" % (key, value))]
    start("postgresql", [found[-1], "-D", folder + "/data"] + words, cwd=folder, **options)
    await_line("postgresql.out", "ready to accept connections")


def await_line(name, words):
    end = time.monotonic() + 60
    while words not in proxy_programs.output(name[: -len(".out")]):
        must(time.monotonic() < end, name, proxy_programs.output(name[: -len(".out")])[-500:])
        time.sleep(0.05)


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    return os.path.abspath(name)


def start_all():
    """Starts all; the port of nginx."""
    ports = {name: free_port() for name in ("nginx", "haproxy", "database")}
    database(ports["database"])
    own = lambda name: ["--probability", "0", "--lines", name + ".jsonl"]  # noqa: E731
    at = lambda port: "http://127.0.0.1:%d" % port  # noqa: E731
    c = service("c", [SERVICES + "/figure1_c", "--slow", "%s=%d" % (SLOWED, SLOWED_US),
                      "--database", "127.0.0.1:%d" % ports["database"]] + own("C"))
    b = service("b", [SERVICES + "/figure1_b", "--c", at(c)] + own("B"))
    ports["a"] = service("a", [SERVICES + "/figure1_a", "--b", at(b), "--c", at(c)] + own("A"))
    start("haproxy", [program("HAProxy"), "-db", "-f", write("haproxy.cfg", HAPROXY % ports)])
    start("nginx", [program("nginx"), "-e", "nginx.err", "-p", os.getcwd(), "-c",
                    write("nginx.conf", NGINX % ports)])
    return ports["nginx"]


# --- The client ---


def stage(one, what, begin, end, **role):
    """The line of what took from `begin` to `end`."""
    members = {"msg": what, "request_id": one, "service": "client", "span_id": "page", **role}
    return '{"ts": %.6f, "duration": %.6f, %s\n' % (end, end - begin, json.dumps(members)[1:])


def load_page(port, arm):
    """Loads a page. Lines with how long its stages took."""
    began = time.time()
    time.sleep(0.0005)  # it looks up the address
    times = [time.time()]
    time.sleep(0.003)  # it prepares the page
    times.append(time.time())
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    client.connect()
    times.append(time.time())
    client.request("GET", "/?page=home&arm=" + arm)
    reply = client.getresponse()
    times.append(time.time())
    body = reply.read()
    client.close()
    times.append(time.time())
    time.sleep(0.001)  # it shows the page
    times.append(time.time())
    must((reply.status, body) == (200, b"the whole page\n"), reply.status, body)
    one = reply.headers["X-Request-Id"]
    return (stage(one, "prepare", times[0], times[1]) +
            stage(one, "connect", times[1], times[2]) +
            stage(one, "wait for the page", times[2], times[3], role="client", peer="nginx") +
            stage(one, "show it", times[4], times[5]) +
            stage(one, "page", began, times[5], role="server"))


def await_page(port):
    """Until all of it answers."""
    end = time.monotonic() + 60
    status = None
    while status != 200:
        must(time.monotonic() < end, "nothing answers", status)
        time.sleep(0.1)
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/?page=home" % port) as reply:
                status = reply.status
        except OSError as error:
            status = error


def drive(port):
    """Requests at the same time, with a cache that hits and misses by turns; the folder of each
    request's lines, by its id."""
    folders = {}
    arms = {"control": "usual", "treatment": "slower"}
    with open("client.jsonl", "w", encoding="utf-8") as file:
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            turns = list(arms) * REQUESTS
            for arm, lines in zip(turns, pool.map(lambda arm: load_page(port, arm), turns)):
                file.write(lines)
                folders[ID.search(lines)[0]] = arms[arm]
    return folders


def deal(folders):
    """Puts the lines of each half of the requests into a folder of its own."""
    for name in LOGS:
        written = {"haproxy.log": "haproxy.out", "postgresql.log": "postgresql.out"}.get(name, name)
        with open(written, encoding="utf-8") as file:
            lines = [(ID.search(line), line) for line in file]
        for folder in ("usual", "slower"):
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.writelines(line for found, line in lines
                                if found and folders.get(found[0]) == folder)


def count_lines(name):
    with open(name, encoding="utf-8") as file:
        return sum(1 for _ in file)


# --- What the lines say ---


def show():
    usual = sorted(glob.glob("usual/*"))
    slower = sorted(glob.glob("slower/*"))
    sources = ["--sources", "sources.conf"]
    print("\nWhat do these lines carry?", flush=True)
    run("events", "check", *sources, *usual)
    checked = answer("events", "check", "--json", *sources, *usual)
    must(checked["requests"] == checked["with_all_sources"] == REQUESTS, checked)
    must({row["method"] for row in checked["classes"]} == {"calls"}, checked["classes"])
    print("\nThe critical paths of the requests, and what is usual:", flush=True)
    for name, logs in (("usual", usual), ("slower", slower)):
        run("import", "--events", *sources, *logs, "-o", name + ".cptlog")
        run("model", "learn", *sources, *logs, "-o", name + ".cptmodel")
    run("log", "--check", "usual.cptlog", "slower.cptlog")
    run("show", "usual.cptlog")
    run("report", "usual.cptlog")
    print("\nWho is slower?", flush=True)
    run("culprit", "usual.cptlog", "slower.cptlog")
    print("\nWhat does the program do differently?", flush=True)
    run("model", "diff", "usual.cptmodel", "slower.cptmodel")
    judge(answer("culprit", "--json", "usual.cptlog", "slower.cptlog"),
          answer("model", "diff", "--json", "usual.cptmodel", "slower.cptmodel")["rows"])


def judge(culprit, rows):
    """Whether they name what was slowed."""
    named = max(culprit["services"], key=lambda row: row["score"])["service"]
    row = rows[0]
    print("\nSlower: %s. Changed: %s: after \"%s\" no longer \"%s\" but \"%s\".\n"
          "The truth: %s misses its cache, which takes %d ms." % (
              named, row["service"], row["after"], row["was"], row["now"], SLOWED,
              SLOWED_US // 1000))
    must(named == SLOWED[0], "another service is named:", json.dumps(culprit))
    must((row["service"], row["was"], row["now"]) == (
        SLOWED[0], SLOWED + " hits its cache", SLOWED + " misses its cache"), row)
    for name in ("usual", "slower"):
        check_paths(name)


def check_paths(name):
    """Each path adds up to what the client has seen, and has nginx in it."""
    done = subprocess.run([CPT, "log", "--json", name + ".cptlog"], stdout=subprocess.PIPE,
                          check=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    with open(name + "/client.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    pages = {line["request_id"]: line["duration"] for line in lines if line["msg"] == "page"}
    must(len(records) == len(pages) == REQUESTS, len(records), len(pages))
    for record in records:
        total = sum(segment["duration_ns"] for segment in record["segments"])
        must(total == record["latency_ns"], "a sum is wrong:", record)
        must(abs(total / 1e9 - pages[record["trace_id"]]) < 2e-6, "another latency:", record)


def main():
    for kind in ("nginx", "HAProxy"):
        if program(kind) is None:
            print("skipped: %s is not installed" % kind)
            sys.exit(77)
    for old in ("usual", "slower"):
        shutil.rmtree(old, ignore_errors=True)
    for old in LOGS:
        if os.path.exists(old):
            os.remove(old)
    write("sources.conf", SOURCES)
    port = start_all()
    await_page(port)
    print("%d requests, of which every other one misses a cache, by %d clients" % (
        2 * REQUESTS, CLIENTS), flush=True)
    folders = drive(port)
    end = time.monotonic() + 60
    while min(map(count_lines, ("nginx.log", "haproxy.out"))) < 2 * REQUESTS:
        must(time.monotonic() < end, "a log lacks lines")
        time.sleep(0.1)  # they log when an answer has gone
    time.sleep(0.5)
    deal(folders)
    proxy_programs.stop()
    show()


main()
