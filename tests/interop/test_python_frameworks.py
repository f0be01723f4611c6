# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""Flask under gunicorn and Starlette under uvicorn, with what services have: workers, pools,
kept connections, work after the answer (python_service.py). Many requests at the same time,
each with a token in all its names and in its trace id: no call carries another request's
context, no path has another request's frames, and memory is flat.

CPT_TEST_REQUESTS says how many; a part that is not installed is skipped, and named."""
import concurrent.futures
import http.client
import http.server
import importlib.util
import os
import re
import subprocess
import sys
import threading
import time
import unittest

from python_support import ASK, Handler, cpt_trace, serve, skip, wait_of_kernel_ns

REQUESTS = int(os.environ.get("CPT_TEST_REQUESTS", "100"))
TOKENS = 60  # a service keeps 1,000 names
CLIENTS = 12
HERE = os.path.dirname(os.path.abspath(__file__))
# Ways whose calls are after the answer, or by workers: they may have no context.
LOOSE = {"queue", "simple", "late", "task", "background"}
GROWTH_BYTES_MAX = 24 << 20


def trace_id(token):
    return "%032x" % (token + 1)


class Callee(Handler):
    def do_GET(self):
        _, way, token = self.path.split("/")
        parent = self.headers.get("traceparent")
        came = None if parent is None else int(parent.split("-")[1], 16) - 1
        server = self.server
        with server.lock:
            server.count += 1
            if came != int(token) and not (came is None and way in LOOSE):
                server.wrong.append((self.path, came))
        nonce = cpt_trace.parse_nonce(self.headers.get_all("critical-path-nonce") or [])
        self.send_response(200)
        if "critical-path" in self.headers:
            path = cpt_trace.Path()
            path.append(path.frame(None, ("B: " + self.path).encode()), 1000)
            data = cpt_trace.encode(path, 2048, 1000, nonce)
            self.send_header("critical-path-bin", cpt_trace.encode_header(data))
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")


class CalleeServer(http.server.ThreadingHTTPServer):
    request_queue_size = 256


class Service:
    """A framework's server with python_service.py, as a process."""

    def __init__(self, framework, callee, words):
        environ = dict(
            os.environ,
            CPT_FRAMEWORK=framework,
            CPT_CALLEE=callee,
            CPT_INTEROP=os.path.join(os.path.dirname(cpt_trace.__file__), ".."),
            PYTHONPATH=HERE,
            PYTHONDONTWRITEBYTECODE="1",
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m"] + words, env=environ, stderr=subprocess.PIPE, text=True
        )
        self.lines = []
        self.port = None
        for line in self.process.stderr:
            self.lines.append(line)
            match = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if match is not None:
                self.port = int(match[1])
                break
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if self.port is None:
            self.stop()
            raise AssertionError("".join(self.lines))

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.reader.join()
        self.process.stderr.close()


class Frameworks(unittest.TestCase):
    def setUp(self):
        self.callee = serve(CalleeServer(("127.0.0.1", 0), Callee))
        self.callee.lock = threading.Lock()
        self.callee.wrong = []
        self.callee.count = 0
        self.service = None

    def tearDown(self):
        if self.service is not None:
            self.service.stop()
        self.callee.shutdown()
        self.callee.server_close()

    def start(self, framework, module, words):
        for name in (framework, module, "requests"):
            if importlib.util.find_spec(name) is None:
                skip(self, "%s is not installed" % name)
        self.service = Service(framework, "127.0.0.1:%d" % self.callee.server_port, words)

    def get(self, target, connection=None, **headers):
        one = connection or http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=300)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        one.request("GET", target, headers=headers)
        answer = one.getresponse()
        body = answer.read().decode()
        if connection is None:
            one.close()
        if answer.status != 200:
            raise AssertionError((answer.status, body, "".join(self.service.lines[-30:])))
        return body, answer.headers.get_all("critical-path-bin") or []

    def ask(self, numbers, foreign, paths):
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=300)
        for number in numbers:
            token = number % TOKENS
            headers = {"traceparent": "00-%s-%016x-01" % (trace_id(token), 1)}
            if number % 2 == 0:
                headers["critical_path"] = ASK
            body, values = self.get("/%d" % token, connection, **headers)
            if body != str(token) or len(values) != (number % 2 == 0):
                foreign.append((number, body, values))
            for value in values:
                path, _ = cpt_trace.decode_header(value)
                paths.append(path)
                for _, name, _ in path.frames:
                    found = re.search(rb"[0-9]+$", name)
                    if found is not None and int(found[0]) != token:
                        foreign.append((token, name))
        connection.close()

    def ask_many(self, begin, end):
        foreign, paths = [], []
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            parts = [range(begin + i, end, CLIENTS) for i in range(CLIENTS)]
            for future in [pool.submit(self.ask, part, foreign, paths) for part in parts]:
                future.result()
        self.assertEqual(foreign[:5], [])
        return paths

    def memory(self):
        """(what is left of requests, bytes), once all late work has ended."""
        for _ in range(3000):
            left, used = map(int, self.get("/memory")[0].split())
            if left <= 64:
                break
            time.sleep(0.02)
        return left, used

    def try_it(self):
        self.ask_many(0, REQUESTS // 4)
        _, before = self.memory()
        paths = self.ask_many(REQUESTS // 4, REQUESTS)
        left, after = self.memory()
        self.assertEqual(self.callee.wrong[:5], [])
        names = {name.split(b"/")[1] for path in paths for _, name, _ in path.frames
                 if name.startswith(b"B: ")}
        self.assertIn(b"direct", names)
        self.assertNotIn(b"background", names)  # it begins after the answer
        self.assertLess(left, 64)
        self.assertLess(after - before, GROWTH_BYTES_MAX)
        print("%s: %d requests, %d calls, %.1f MiB more, %d objects left of requests" % (
            self.id().rpartition(".")[2], REQUESTS, self.callee.count, (after - before) / 2**20,
            left))

    def test_flask_under_gunicorn(self):
        self.start("flask", "gunicorn", [
            "gunicorn", "--bind", "127.0.0.1:0", "--worker-class", "gthread", "--threads",
            "8", "--keep-alive", "30", "--timeout", "300", "python_service:app"])
        self.try_it()

    def test_starlette_under_uvicorn(self):
        self.start("starlette", "uvicorn", [
            "uvicorn", "--port", "0", "--no-access-log", "python_service:app"])
        self.try_it()

    def test_a_backlog_of_gunicorn(self):
        """One request at a time: the second waits in the kernel."""
        self.start("flask", "gunicorn", [
            "gunicorn", "--bind", "127.0.0.1:0", "--timeout", "300", "python_service:app"])
        for _ in range(5):
            paths = self.ask_many(0, CLIENTS * 2)
            waits = [s[1] for path in paths for s in path.segments
                     if path.frames[s[0]][2] == cpt_trace.ACCEPT_QUEUE]
            if waits:
                break
        if not waits and not wait_of_kernel_ns():
            skip(self, "the kernel does not say how long bytes have waited")
        self.assertTrue(waits)


if __name__ == "__main__":
    unittest.main(verbosity=0)
