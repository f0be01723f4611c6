# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""proxy_programs.py - nginx, HAProxy, Apache, Varnish and Squid, as they are after
installation, run as plain processes on loopback with files in the current folder.

A proxy is made by Proxy(kind, upstream, lines): what `lines` says is added where that proxy
expects it. Everything else is at its default."""
import atexit
import os
import re
import shutil
import socket
import subprocess
import sys
import time

PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"  # a person's has no daemons
PROGRAMS = {
    "nginx": "nginx",
    "HAProxy": "haproxy",
    "Apache": "apache2",
    "Varnish": "varnishd",
    "Squid": "squid",
}
STARTS_WITHIN_S = 60
running = []


def program(kind):
    return shutil.which(PROGRAMS[kind], path=PATH)


def installed(wanted=tuple(PROGRAMS)):
    """The kinds that are there; says which are not. Exit 77 if none is."""
    there = [kind for kind in wanted if program(kind)]
    for kind in wanted:
        if kind not in there:
            print("SKIPPED: %s is not installed" % kind, flush=True)
    if not there:
        sys.exit(77)
    return there


def free_port():
    """A free port; another program may take it meanwhile, so there are a few tries."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def start(name, words, **options):
    """Runs a program until this one ends, its output in NAME.out."""
    with open(name + ".out", "wb") as out:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, **options)
    running.append(process)
    return process


def output(name):
    with open(name + ".out", errors="replace") as out:
        return out.read()


@atexit.register
def stop():
    for process in running:
        process.terminate()
    for process in running:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def service(name, words):
    """Starts a service; its port."""
    process = start(name, words)
    end = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"(?:listens on |http://)127\.0\.0\.1:(\d+)", output(name))
        if found:
            return int(found[1])
        time.sleep(0.02)
    sys.exit("%s does not start: %s" % (name, output(name)))


class Proxy:
    """A proxy in front of the port `upstream`. `lines` go into nginx's location (`http`: its
    http block), HAProxy's frontend, Apache's, Varnish's and Squid's configuration. With `h2`
    clients speak HTTP/2 without TLS; with `grpc` upstreams do, too (nginx, HAProxy). It starts
    at once, and beside others; who asks for its `port` waits until it listens."""

    count = 0

    def __init__(self, kind, upstream, lines="", http="", h2=False, grpc=False):
        Proxy.count += 1
        self.kind, self.name = kind, "%s-%d" % (PROGRAMS[kind], Proxy.count)
        self.asked, self.is_ready = (upstream, lines, http, h2 or grpc, grpc), False
        self.begin()

    def begin(self):
        self.own_port = free_port()
        self.process = start(self.name, self.words(*self.asked),
                             env=dict(os.environ, PATH=PATH))

    @property
    def port(self):
        for _ in range(5):
            self.is_ready = self.is_ready or self.listens()
            if self.is_ready:
                return self.own_port
            self.begin()  # another program has taken its port
        sys.exit("%s does not start: %s" % (self.kind, output(self.name)[-2000:]))

    def listens(self):
        end = time.monotonic() + STARTS_WITHIN_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.own_port), 5).close()
                return True
            except OSError:
                time.sleep(0.05)
        return False

    def write(self, text):
        path = os.path.abspath(self.name + ".conf")
        with open(path, "w") as file:
            file.write(text)
        return path

    def words(self, upstream, lines, http, h2, grpc):
        here = os.getcwd() + "/" + self.name
        values = {"port": self.own_port, "up": upstream, "here": here, "folder": os.getcwd(), "lines": lines,
                  "http": http, "modules": "/usr/lib/apache2/modules",
                  "h2": H2[self.kind] if h2 else "", "up_h2": "proto h2" if grpc else "",
                  "pass": "grpc_pass grpc" if grpc else "proxy_pass http"}
        path = self.write(CONFIGURATIONS[self.kind] % values)
        more = ["-p", H2["Varnish"]] if h2 and self.kind == "Varnish" else []
        return [program(self.kind)] + [word % dict(values, path=path)
                                       for word in ARGUMENTS[self.kind]] + more


CONFIGURATIONS = {
    "nginx": """
pid %(here)s.pid;
error_log %(here)s.log;
daemon off;
events {}
http {
    access_log off;
    client_body_temp_path %(here)s.0; proxy_temp_path %(here)s.1; fastcgi_temp_path %(here)s.2;
    uwsgi_temp_path %(here)s.3; scgi_temp_path %(here)s.4;
    %(http)s
    server { listen 127.0.0.1:%(port)d %(h2)s; location / { %(pass)s://127.0.0.1:%(up)d;
%(lines)s
    } }
}
""",
    "HAProxy": """
defaults
    mode http
    timeout connect 20s
    timeout client 60s
    timeout server 60s
frontend in
    bind 127.0.0.1:%(port)d %(h2)s
%(lines)s
    default_backend out
backend out
    server s 127.0.0.1:%(up)d %(up_h2)s
""",
    "Apache": """
ServerName localhost
ServerRoot %(folder)s
Listen 127.0.0.1:%(port)d
PidFile %(here)s.pid
ErrorLog %(here)s.log
User #65534
Group #65534
LoadModule mpm_event_module %(modules)s/mod_mpm_event.so
LoadModule authz_core_module %(modules)s/mod_authz_core.so
LoadModule headers_module %(modules)s/mod_headers.so
LoadModule proxy_module %(modules)s/mod_proxy.so
LoadModule proxy_http_module %(modules)s/mod_proxy_http.so
DefaultRuntimeDir .
%(h2)s
ProxyPass / http://127.0.0.1:%(up)d/
%(lines)s
""",
    "Varnish": """
vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "%(up)d"; }
%(lines)s
""",
    "Squid": """
http_port 127.0.0.1:%(port)d accel defaultsite=localhost
cache_peer 127.0.0.1 parent %(up)d 0 no-query originserver name=origin
http_access allow all
pid_filename none
cache_log /dev/null
access_log none
coredump_dir /
shutdown_lifetime 0 seconds
%(lines)s
""",
}
H2 = {
    "nginx": "http2",
    "HAProxy": "proto h2",
    "Apache": "LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so\nProtocols h2c http/1.1",
    "Varnish": "feature=+http2",
}
ARGUMENTS = {
    "nginx": ["-e", "%(here)s.log", "-p", "%(folder)s", "-c", "%(path)s"],
    "HAProxy": ["-db", "-f", "%(path)s"],
    "Apache": ["-DFOREGROUND", "-f", "%(path)s"],
    "Varnish": ["-F", "-j", "none", "-n", "%(here)s.d", "-a", "127.0.0.1:%(port)d",
                "-f", "%(path)s"],
    "Squid": ["-N", "-f", "%(path)s"],
}


def blocks(document, *tags):
    """The text of the fenced blocks of a document that begin with ```TAG TAG…"""
    with open(document) as file:
        found = re.findall(r"^```%s\n(.*?)^```" % " ".join(map(re.escape, tags)),
                           file.read(), re.DOTALL | re.MULTILINE)
    if not found:
        sys.exit("%s has no block %s" % (document, " ".join(tags)))
    return "".join(found)
