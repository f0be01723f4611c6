# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""The log of an entry in Python: which requests are in it, what their lines say, and what
happens when it cannot be written. Its host never fails, and never waits for it."""
import asyncio
import json
import multiprocessing
import os
import tempfile
import threading
import unittest

from python_support import ASK, cpt_trace, header_of, service, text, wsgi_call

STRANGER = {"REMOTE_ADDR": "192.0.2.1"}


def app(environ, start_response):
    cpt_trace.attribute("region", "eu")
    status = "503 Service Unavailable" if environ["PATH_INFO"] == "/bad" else "200 OK"
    start_response(status, [("Content-Type", "text/plain")])
    return [b"ok"]


class Lines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "paths.jsonl")

    def entry(self, share=1, **options):
        log = cpt_trace.Log(self.file, share=share, **options)
        self.addCleanup(log.close)
        one, clock = service(log=log)
        self.log, self.clock, self.service = log, clock, one
        return cpt_trace.WSGI(self.app_of(clock), one)

    @staticmethod
    def app_of(clock):
        def timed(environ, start_response):
            clock.now_ns += 1234567
            return app(environ, start_response)

        return timed

    def lines(self):
        self.assertTrue(self.log.flush(60))
        with open(self.file, encoding="ascii") as file:
            return [json.loads(line) for line in file]

    def test_line(self):
        entry = self.entry()
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        status, headers, body = wsgi_call(entry, "/find", HTTP_TRACEPARENT=parent, **STRANGER)
        self.assertEqual((status, body), ("200 OK", b"ok"))
        self.assertIsNone(header_of(headers))
        self.assertNotIn("Vary", dict(headers))
        line = self.lines()[0]
        path, _ = cpt_trace.decode_header(line.pop("path"))
        self.assertEqual(text(path), "S: /find 1234567")
        self.assertGreater(line.pop("time"), 1.6e9)
        self.assertEqual(line, {
            "latency": 0.001234567, "service": "S", "method": "/find", "status": 200,
            "trace_id": parent[3:35], "region": "eu"})
        self.assertEqual(+self.log.counters, {"lines_written": 1})

    def test_who_is_in_it(self):
        entry = self.entry(share=lambda path: {"/all": 1, "/none": 0}[path])
        wsgi_call(entry, "/none", **STRANGER)
        wsgi_call(entry, "/all", HTTP_CRITICAL_PATH="1;forced", **STRANGER)  # is not heeded
        _, headers, _ = wsgi_call(entry, "/all", HTTP_CRITICAL_PATH=ASK)  # its caller has it
        self.assertIsNotNone(header_of(headers))
        _, headers, _ = wsgi_call(entry, "/none", HTTP_CRITICAL_PATH=ASK + ";forced")
        self.assertIsNotNone(header_of(headers))
        wsgi_call(entry, "/fails", **STRANGER)  # the function has no share for it
        lines = self.lines()
        self.assertEqual([line["method"] for line in lines], ["/all", "/none"])
        self.assertEqual([line.get("forced") for line in lines], [None, True])
        self.assertEqual(self.log.counters["errors"], 1)
        self.assertEqual(self.service.counters["errors"], 0)

    def test_share(self):
        entry = self.entry(share=0.25)
        for _ in range(2000):
            wsgi_call(entry, "/", **STRANGER)
        lines = self.lines()
        self.assertTrue(300 < len(lines) < 700, len(lines))  # by chance: 10 deviations
        self.assertTrue(all(line["probability"] == 0.25 for line in lines))
        for share in (-0.1, 1.1):
            with self.assertRaises(ValueError):
                cpt_trace.Log(self.file, share=share)
        with self.assertRaises(ValueError):
            cpt_trace.Service("S", role="inner", log=self.log)

    def test_failures(self):
        one, clock = service(log=cpt_trace.Log(self.file, share=1))
        self.log = one.log

        def fails(environ, start_response):
            clock.now_ns += 5
            raise KeyError("of the application")

        wsgi = cpt_trace.WSGI(fails, one)
        with self.assertRaises(KeyError):
            wsgi_call(wsgi, "/x", **STRANGER)
        self.assertEqual([line["failed"] for line in self.lines()], [True])

    def test_attributes(self):
        def many(environ, start_response):
            for key, value in (("a", 1), ("b", 0.5), ("c", True), ("d", None), ("e", "é" * 5000),
                               ("f", float("nan")), ("g", 2**80), ("path", "x")):
                cpt_trace.attribute(key, value)
            for i in range(100):
                cpt_trace.attribute("n%d" % i, i)
            start_response("200 OK", [])
            self.clock.now_ns += 1
            return []

        self.entry()
        wsgi_call(cpt_trace.WSGI(many, self.service), "/", **STRANGER)
        cpt_trace.attribute("outside", 1)
        line = self.lines()[0]
        self.assertEqual([line[key] for key in "abcdfg"],
                         [1, 0.5, True, "None", "nan", str(2**80)])
        self.assertEqual(line["e"], "é" * 1000)
        self.assertEqual(sum(key.startswith("n") for key in line), 24)
        self.assertEqual(len(cpt_trace.decode_header(line["path"])), 2)

    def test_asgi(self):
        self.entry()

        async def asgi(scope, receive, send):
            self.clock.now_ns += 7
            await send({"type": "http.response.start", "status": 404})
            await send({"type": "http.response.body"})

        async def send(message):
            self.assertFalse(any(name == b"critical-path-bin" for name, _ in
                                 message.get("headers", ())))

        scope = {"type": "http", "path": "/a", "headers": [], "client": ("192.0.2.1", 1)}
        asyncio.run(cpt_trace.ASGI(asgi, self.service)(scope, None, send))
        self.assertEqual([(line["status"], line["latency"]) for line in self.lines()],
                         [(404, 7e-9)])

    # --- The file ---

    def test_renamed(self):
        entry = self.entry()
        wsgi_call(entry, "/1", **STRANGER)
        self.assertEqual(len(self.lines()), 1)
        os.rename(self.file, self.file + ".1")
        wsgi_call(entry, "/2", **STRANGER)
        self.assertEqual([line["method"] for line in self.lines()], ["/2"])

    def test_unwritable(self):
        for file in (os.path.join(self.file, "no", "folder"), "with\0nul", "/dev/full",
                     os.path.dirname(self.file)):
            self.file = file
            entry = self.entry()
            for _ in range(3):
                self.assertEqual(wsgi_call(entry, "/", **STRANGER)[0], "200 OK")
            self.assertTrue(self.log.flush(60))
            self.assertEqual(+self.log.counters, {"lines_failed": 3}, file)

    def test_pipe_without_reader(self):
        os.mkfifo(self.file)
        entry = self.entry()
        wsgi_call(entry, "/", **STRANGER)
        self.assertTrue(self.log.flush(60))
        self.assertEqual(+self.log.counters, {"lines_failed": 1})

    def test_full(self):
        entry = self.entry(bytes_max=300)
        for _ in range(5):
            wsgi_call(entry, "/", **STRANGER)
            self.assertTrue(self.log.flush(60))
        self.assertEqual(self.log.counters["lines_written"], 1)
        self.assertEqual(self.log.counters["lines_dropped"], 4)
        self.assertEqual(len(self.lines()), 1)

    def test_torn(self):
        """A line that was cut ends there: the next one is whole."""
        self.entry()
        write = os.write
        cut = [30]

        def short(file, data):
            return write(file, data[: cut.pop()] if cut else data)

        cpt_trace.os.write = short
        try:
            for i in range(2):
                self.log._put(b'{"line": %d, "x": "%s"}\n' % (i, b"y" * 40))
                self.assertTrue(self.log.flush(60))
        finally:
            cpt_trace.os.write = write
        with open(self.file, "rb") as file:
            lines = file.read().split(b"\n")
        self.assertEqual(len(lines), 3)
        self.assertEqual(json.loads(lines[1])["line"], 1)
        self.assertEqual(+self.log.counters, {"lines_written": 1, "lines_failed": 1})

    def test_slow_disk(self):
        """While the disk hangs, requests go on, and memory has a bound."""
        self.entry()
        write = os.write
        hangs = threading.Event()

        def slow(file, data):
            hangs.wait(60)
            return write(file, data)

        cpt_trace.os.write = slow
        try:
            line = b"x" * 1023 + b"\n"
            for _ in range(6000):
                self.log._put(line)
            self.assertGreater(self.log.counters["lines_dropped"], 1000)
            self.assertLessEqual(self.log._bytes, 4 << 20)
        finally:
            hangs.set()
            self.assertTrue(self.log.flush(60))
            cpt_trace.os.write = write
        counters = self.log.counters
        self.assertEqual(counters["lines_written"] + counters["lines_dropped"], 6000)

    def test_processes(self):
        """Lines of several processes, which were forked in mid-writing, are whole."""
        entry = self.entry()

        def work(number):
            for _ in range(200):
                wsgi_call(entry, "/%d" % number, **STRANGER)
            os._exit(0 if self.log.flush(60) else 1)

        context = multiprocessing.get_context("fork")
        wsgi_call(entry, "/before", **STRANGER)
        processes = [context.Process(target=work, args=(i,)) for i in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            self.assertEqual(process.exitcode, 0)
        self.assertEqual(len(self.lines()), 801)

    def test_end_of_process(self):
        code = ("import sys; sys.path.insert(0, %r); import cpt_trace\n"
                "log = cpt_trace.Log(%r); log._put(b'{}\\n')" % (
                    os.path.dirname(cpt_trace.__file__), self.file))
        self.assertEqual(os.spawnv(os.P_WAIT, "/proc/self/exe", ["python3", "-c", code]), 0)
        with open(self.file, encoding="ascii") as file:
            self.assertEqual(file.read(), "{}\n")


unittest.main()
