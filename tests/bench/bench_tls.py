#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""What TLS adds to a request: processor time of a server with it and without.

    bench_tls.py SERVICE [REQUESTS]

SERVICE is a program of cpt_service_main() that answers GET /price?1, as that of
examples/shop/. nginx answers beside it, if it is installed. Connections are kept; rounds
of the servers alternate, the smallest number of each counts.
"""
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

CONNECTIONS, ROUNDS = 16, 5


def run(*words):
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)


def certificate(folder):
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=localhost",
        "-keyout", folder + "/key", "-out", folder + "/pem")


def service(program, folder, is_tls):
    flags = ["--listen", "127.0.0.1:0", "--probability", "0", "--workers", "1"]
    if is_tls:
        flags += ["--tls-certificate", folder + "/pem", "--tls-key", folder + "/key"]
    process = subprocess.Popen([program] + flags, stdout=subprocess.PIPE, text=True)
    port = int(process.stdout.readline().rsplit(":", 1)[1])
    return process, port


def nginx(folder, is_tls):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mine = folder + ("/tls" if is_tls else "/plain")
    os.mkdir(mine)
    with open(mine + "/conf", "w") as conf:
        conf.write(f"""daemon off; master_process off; pid {mine}/pid; error_log {mine}/log;
events {{ }}
http {{ access_log off; keepalive_requests 1000000;
  client_body_temp_path {mine}/a; proxy_temp_path {mine}/b; fastcgi_temp_path {mine}/c;
  uwsgi_temp_path {mine}/d; scgi_temp_path {mine}/e;
  server {{ listen 127.0.0.1:{port} {'ssl' if is_tls else ''};
    {f'ssl_certificate {folder}/pem; ssl_certificate_key {folder}/key;' if is_tls else ''}
    location / {{ return 200 'hello'; }} }} }}""")
    return subprocess.Popen(["nginx", "-p", mine, "-c", mine + "/conf"]), port


def connect(port, is_tls):
    for _ in range(100):
        try:
            made = socket.create_connection(("127.0.0.1", port))
            break
        except OSError:
            time.sleep(0.05)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if is_tls:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        made = context.wrap_socket(made)
    return made


def cpu_us(process):
    own = 0
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{task}/schedstat") as stat:
            own += int(stat.read().split()[0])
    return own / 1000


def measure(server, connections, requests):
    request = b"GET /price?1 HTTP/1.1\r\nHost: s\r\n\r\n"
    before = cpu_us(server)
    for _ in range(requests // CONNECTIONS):
        for each in connections:
            each.sendall(request)
        for each in connections:
            if not each.recv(65536).startswith(b"HTTP/1.1 200"):
                sys.exit("no answer")
    return (cpu_us(server) - before) / requests


def main():
    requests = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    with tempfile.TemporaryDirectory() as folder:
        certificate(folder)
        servers = [("cpt", t) + service(sys.argv[1], folder, t) for t in (False, True)]
        if shutil.which("nginx"):
            servers += [("nginx", t) + nginx(folder, t) for t in (False, True)]
        try:
            clients = [[connect(port, t) for _ in range(CONNECTIONS)]
                       for _, t, _, port in servers]
            best = [1e9] * len(servers)
            for _ in range(ROUNDS):
                for i, (_, _, process, _) in enumerate(servers):
                    best[i] = min(best[i], measure(process, clients[i], requests))
            for i in range(0, len(servers), 2):
                print(f"{servers[i][0]:6} {best[i]:6.1f} us, by TLS {best[i + 1]:6.1f}"
                      f" us: TLS adds {best[i + 1] - best[i]:5.1f} us")
        finally:
            for _, _, process, _ in servers:
                process.terminate()
                process.wait()


main()
