#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""A service with few descriptors: clients, calls or the host take all that they can, and
the kill switch, the port of operators and calls of other services go on.

    exhausted.py PROGRAM LIMIT
"""
import os
import re
import resource
import socket
import subprocess
import sys
import threading
import time

PROGRAM, LIMIT = sys.argv[1], int(sys.argv[2])
PATIENCE_S = 60
RUNNING = []  # to be killed, however this ends
ANSWER = b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood'


def fail(sentence):
    sys.exit('exhausted: ' + sentence)


class Callee:
    """Answers each request, or none."""

    def __init__(self, answers):
        self.answers = answers
        self.kept = []
        self.socket = socket.create_server(('127.0.0.1', 0), backlog=512)
        self.url = 'http://127.0.0.1:%d' % self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            self.kept.append(connection)
            if self.answers:
                threading.Thread(target=self.serve, args=(connection,),
                                 daemon=True).start()

    @staticmethod
    def serve(connection):
        try:
            while connection.recv(65536):
                connection.sendall(ANSWER)
        except OSError:
            pass


def connect(port):
    connection = socket.create_connection(('127.0.0.1', port))
    connection.settimeout(PATIENCE_S)
    return connection


def ask(connection, path):
    """The answer on a kept connection: its status and its body."""
    connection.sendall(b'GET %s HTTP/1.1\r\nHost: s\r\n\r\n' % path.encode())
    text = b''
    while b'\r\n\r\n' not in text:
        got = connection.recv(65536)
        if not got:
            return 0, text
        text += got
    head, body = text.split(b'\r\n\r\n', 1)
    length = re.search(rb'(?i)content-length: *(\d+)', head)
    while length and len(body) < int(length.group(1)):
        got = connection.recv(65536)
        if not got:
            break
        body += got
    return int(head.split()[1]), body


class Service:
    def __init__(self, hang):
        self.hang = hang
        self.good = Callee(True)
        self.other = Callee(True)
        self.settings = 'conf-%d' % os.getpid()
        self.write('tracing = on\n')
        limits = (LIMIT, LIMIT)
        self.process = subprocess.Popen(
            [PROGRAM, '--listen', '127.0.0.1:0', '--operators', '127.0.0.1:0',
             '--settings', self.settings, '--to', 'hang=' + hang.url,
             '--to', 'good=' + self.good.url, '--to', 'other=' + self.other.url],
            stdout=subprocess.PIPE, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits))
        RUNNING.append(self.process)
        ports = {}
        while len(ports) < 2:
            line = self.process.stdout.readline()
            if not line:
                fail('the service did not start')
            found = re.match(r'S (listens on|tells operators on) 127.0.0.1:(\d+)', line)
            if found:
                ports[found.group(1)] = int(found.group(2))
        self.port = ports['listens on']
        self.operators = ports['tells operators on']
        self.clients = []

    def write(self, text):
        with open(self.settings + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(self.settings + '.new', self.settings)

    def stop(self):
        for connection in self.clients:
            connection.close()
        self.process.kill()
        self.process.wait()
        os.unlink(self.settings)

    def counter(self, name):
        """From a connection of its own: each one has to be accepted."""
        with connect(self.operators) as connection:
            status, body = ask(connection, '/metrics')
        found = re.search(rb'(?m)^cpt_%s(?:_total)?(?:\{[^}]*\})? (\d+)$' % name.encode(),
                          body)
        if status != 200 or not found:
            fail('no %s at the port of operators: %d' % (name, status))
        return int(found.group(1))

    def switches(self):
        """The kill switch works, off and on, and is asked for by new connections."""
        for text in ('tracing = off\n', 'tracing = on\n'):
            before = self.counter('settings_taken')
            end = time.monotonic() + PATIENCE_S
            self.write(text)
            while self.counter('settings_taken') == before:
                if time.monotonic() > end:
                    fail('the settings are not taken')
                time.sleep(0.05)
            if self.counter('settings_refused') != 0:
                fail('the settings were refused')

    def operates(self):
        for path in ('/healthz', '/readyz', '/metrics'):
            with connect(self.operators) as connection:
                if ask(connection, path)[0] != 200:
                    fail(path + ' does not answer')

    def idle(self, count):
        for _ in range(count):
            self.clients.append(connect(self.port))

    def hangs(self, count):
        for _ in range(count):
            connection = connect(self.port)
            connection.sendall(b'GET /hang HTTP/1.1\r\nHost: s\r\n\r\n')
            self.clients.append(connection)


def wait_for(what, holds):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            fail(what)
        time.sleep(0.02)


def callee_first(service, client):
    """One callee hangs, then clients take what is left."""
    service.hangs(100)
    wait_for('the callee is not called', lambda: len(service.hang.kept) >= LIMIT // 16)
    service.idle(2 * LIMIT)


def clients_first(service, client):
    """Clients take what they can, then the callee hangs."""
    service.hangs(100)
    service.idle(2 * LIMIT)
    wait_for('the callee is not called', lambda: len(service.hang.kept) >= LIMIT // 32)


def host(service, client):
    """The host takes all descriptors, those of others, too."""
    if ask(client, '/hog')[1] != b'none is left':
        fail('the host does not take them')
    service.idle(LIMIT)


def operators(service, client):
    """Clients, and slow ones at the port of operators."""
    service.idle(2 * LIMIT)
    for _ in range(LIMIT):
        connection = connect(service.operators)
        connection.sendall(b'GET /hea')
        service.clients.append(connection)


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE,
                       (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    for case in (callee_first, clients_first, operators, host):
        service = Service(Callee(False))
        with connect(service.port) as client:
            if ask(client, '/good') != (200, b'good'):
                fail('no call before')
            case(service, client)
            for _ in range(2):
                service.operates()
                service.switches()
                for path in ('/good', '/other', '/good'):
                    answer = ask(client, path)
                    if answer != (200, b'good'):
                        fail('%s: %s: %s' % (case.__doc__, path, answer))
            if service.process.poll() is not None:
                fail('the service has ended')
        print('%s: http_accepts_failed %d, connections %d of %d' %
              (case.__name__, service.counter('http_accepts_failed'),
               service.counter('http_connections'),
               service.counter('http_connections_max')))
        service.stop()


try:
    main()
finally:
    for process in RUNNING:
        process.kill()
