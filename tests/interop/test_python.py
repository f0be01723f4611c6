# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""Tests of examples/interop/python/cpt_trace.py; its folder is the only argument. Times
are those of a clock that the tests set, so no machine is too slow for them."""
import asyncio
import concurrent.futures
import contextvars
import http.client
import http.server
import socket
import sys
import threading
import unittest
import urllib.request

from python_support import (
    ASK, Handler, callee, cpt_trace, forwarding_list, header_of, service, skip, text,
    wsgi_call,
)


class Walking(unittest.TestCase):
    """What is on the path."""

    def setUp(self):
        self.service, self.clock = service()
        self.request = self.service.begin("/", [ASK], "127.0.0.1")
        self.token = cpt_trace._current.set(self.request.root)

    def tearDown(self):
        cpt_trace._current.reset(self.token)

    def work(self, ns):
        self.clock.now_ns += ns

    def expect(self, wanted):
        began_ns = self.request.root.start_ns
        header = self.request.end()
        path, elapsed_ns = cpt_trace.decode_header(header)
        self.assertEqual(text(path), wanted)
        self.assertEqual(path.sum_ns, self.clock.now_ns - began_ns)
        self.assertEqual(elapsed_ns, path.sum_ns)
        self.assertEqual(self.service.counters["errors"], 0)

    def test_parts_and_calls_in_sequence(self):
        self.work(5)
        with cpt_trace.part("a"):
            self.work(1)
            with cpt_trace.call("B", "/") as one:
                self.work(20)
                one.reply([callee(16)])
            self.work(2)
        with cpt_trace.call("B", "/") as one:
            self.work(7)
        self.work(3)
        self.expect(
            "S: / 5, S: /;S: a 1, S: /;S: a;B: / 16, S: /;S: a;B: /;‹2› 4, S: /;S: a 2, "
            "S: /;B: /;‹4› 7r1, S: / 3"
        )

    def test_of_calls_in_parallel_the_last_to_end(self):
        one = cpt_trace.call("B", "/").__enter__()
        self.work(1)
        two = cpt_trace.call("C", "/").__enter__()
        self.work(9)
        two.reply([callee(9, b"C: /")])
        self.work(5)
        one.reply([callee(15)])
        self.work(2)
        self.expect("S: /;B: / 15, S: / 2")
        self.assertEqual(self.request.path.flags, cpt_trace.APPROXIMATE)

    def test_a_call_that_ends_after_the_answer_delayed_nothing(self):
        one = cpt_trace.call("B", "/").__enter__()
        self.work(4)
        self.expect("S: / 4")
        self.work(1)
        one.reply([callee(4)])
        self.assertIsNone(cpt_trace.call("B", "/").__enter__().span)

    def test_a_call_that_outlives_its_part(self):
        with cpt_trace.part("begin"):
            self.work(2)
            one = cpt_trace.call("B", "/").__enter__()
            self.work(3)
        self.work(1)
        one.reply([callee(4)])
        self.work(6)
        self.expect("S: /;S: begin 2, S: /;S: begin;B: / 4, S: / 6")

    def test_one_after_the_other_and_beside_them_a_shorter_one(self):
        long = cpt_trace.call("L", "/").__enter__()
        for _ in range(2):
            with cpt_trace.call("B", "/") as one:
                self.work(4)
                one.reply([callee(4)])
        self.work(1)
        with cpt_trace.call("B", "/") as one:
            self.work(2)
            long.reply([callee(10, b"L: /")])
            self.work(1)
            one.reply([callee(3)])
        self.expect("S: /;B: / 4, S: /;B: / 4, S: / 1, S: /;B: / 3")

    def test_threads_of_a_pool(self):
        ends = {"B": 10, "C": 30, "D": 20}
        turn = {name: threading.Event() for name in ends}

        def run(name):
            with cpt_trace.part(name):
                with cpt_trace.call(name, "/") as one:
                    turn[name].wait(30)
                    one.reply([callee(self.clock.now_ns - 1000, name.encode() + b": /")])

        cpt_trace.install()
        try:
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                futures = {name: pool.submit(run, name) for name in ends}
                while len(self.request.spans) < 6:
                    threading.Event().wait(0.001)
                for name in sorted(ends, key=ends.get):
                    self.clock.now_ns = 1000 + ends[name]
                    turn[name].set()
                    futures[name].result(30)
        finally:
            cpt_trace.uninstall()
        self.work(5)
        self.expect("S: /;S: C;C: / 30, S: / 5")

    def test_tasks_of_asyncio(self):
        async def run(name, ns):
            with cpt_trace.call(name, "/") as one:
                await asyncio.sleep(0)
                self.clock.now_ns = max(self.clock.now_ns, 1000 + ns)
                one.reply([callee(ns, name.encode() + b": /")])

        async def all_of_them():
            await asyncio.gather(run("B", 10), run("C", 20), run("D", 30))

        asyncio.run(all_of_them())
        self.expect("S: /;D: / 30")

    def test_spans_of_no_time(self):
        for _ in range(5):
            with cpt_trace.part("a"):
                with cpt_trace.call("B", "/"):
                    pass
        self.work(1)
        self.expect("S: / 1")

    def test_limits(self):
        for i in range(cpt_trace.SPANS_MAX + 3):
            with cpt_trace.part("a"):
                self.work(1)
        self.request.bytes_max = 60000
        self.request.end()
        self.assertEqual(self.request.path.flags, cpt_trace.INCOMPLETE)
        self.assertEqual(self.request.path.sum_ns, cpt_trace.SPANS_MAX + 3)
        for i in range(2 * cpt_trace.NAMES_MAX):
            self.service.name_of("S", "p%d" % i)
        self.assertEqual(len(self.service._names), cpt_trace.NAMES_MAX)
        self.assertIsNone(self.service.name_of("S", "another"))

    def test_unbalanced(self):
        one = cpt_trace.part("a")
        one.__exit__(None, None, None)
        self.work(1)
        with one:
            self.work(2)
            with one:
                self.work(3)
        one.__exit__(None, None, None)
        call = cpt_trace.call("B", "/")
        call.reply([callee(5)])
        call.fail()
        call.__exit__(None, None, None)
        with call:
            self.work(4)
        call.__exit__(None, None, None)
        self.work(5)
        self.expect(
            "S: / 1, S: /;S: a 2, S: /;S: a;S: a 3, S: /;B: /;‹4› 4r1, S: / 5"
        )

    def test_failures(self):
        with self.assertRaises(KeyError):
            with cpt_trace.call("B", "/"):
                self.work(3)
                raise KeyError("mine")
        with self.assertRaises(TimeoutError):
            with cpt_trace.call("B", "/"):
                self.work(4)
                raise TimeoutError()
        with cpt_trace.call("B", "/") as one:
            self.work(5)
            one.reply([callee(5)], 503)
        with cpt_trace.call("B", "/") as one:
            self.work(6)
            one.reply([callee(6)], 200, True)
        with cpt_trace.call("B", "/") as one:
            self.work(7)
            one.reply([callee(7), callee(7)])
        with cpt_trace.call("B", "/") as one:
            self.work(8)
            one.reply(["A" * 5000])
        with cpt_trace.call("B", "/") as one:
            self.work(9)
            one.reply(["CAEY"])
        self.request.bytes_max = 4096
        self.expect(
            "S: /;B: /;‹4› 3r5, S: /;B: /;‹5› 4, S: /;B: / 5, S: /;B: /;‹4› 6r6, "
            "S: /;B: /;‹4› 7r4, S: /;B: /;‹4› 8r3, S: /;B: /;‹4› 9r4"
        )
        labels = [segment[5] for segment in self.request.path.segments]
        self.assertEqual(
            [label.get(cpt_trace.LABEL_STATUS) for label in labels[:3]],
            [b"UNAVAILABLE", b"DEADLINE", b"503"],
        )
        self.assertEqual(self.service.counters["replies_refused"], 1)


class Trust(unittest.TestCase):
    """Who gets a path."""

    def test_nobody_by_default(self):
        one = cpt_trace.Service("S")
        self.assertIsNone(one.begin("/", [ASK], "127.0.0.1"))
        self.assertEqual(one.counters["asks_untrusted"], 1)

    def test_networks(self):
        one, _ = service(trust=["10.0.0.0/8", "fd00::/8"])
        for peer in ("10.1.2.3", "::ffff:10.1.2.3", "fd00::1"):
            self.assertIsNotNone(one.begin("/", [ASK], peer), peer)
        for peer in ("11.1.2.3", "fe80::1", "", "unix", "10.1.2.3:80", "10.1.2"):
            self.assertIsNone(one.begin("/", [ASK], peer), peer)

    def test_not_what_a_proxy_passes_on(self):
        one, _ = service()
        self.assertIsNone(one.begin("/", [ASK], "127.0.0.1", True))

    def test_asks(self):
        one, _ = service()
        self.assertIsNone(one.begin("/", [], "127.0.0.1"))
        self.assertIsNone(one.begin("/", ["x"], "127.0.0.1"))
        self.assertIsNone(one.begin("/", [ASK, ASK], "127.0.0.1"))
        self.assertEqual(one.counters["asks_malformed"], 2)
        self.assertEqual(one.begin("/", ["1;max=100"], "127.0.0.1").bytes_max, 100)
        self.assertEqual(one.begin("/", ["1;max=9999"], "127.0.0.1").bytes_max, 2048)

    def test_errors_of_ours_are_counted(self):
        def broken(_):
            raise RuntimeError("broken")

        for options in ({"trust": broken}, {"method": broken}):
            one, _ = service(**options)
            self.assertIsNone(one.begin("/", [ASK], "127.0.0.1"))
            self.assertEqual(one.counters["errors"], 1)
        one, _ = service(on_path=broken)
        self.assertIsNotNone(one.begin("/", [ASK], "127.0.0.1").end())
        self.assertEqual(one.counters["errors"], 1)


class Forwarding(unittest.TestCase):
    def test_the_list_is_that_of_the_library(self):
        lines = forwarding_list()
        self.assertEqual(sorted(cpt_trace._FORWARDING), sorted(lines["is"]))
        self.assertEqual(sorted(cpt_trace._FORWARDING_BEGINS), sorted(lines["begins"]))
        self.assertEqual(sorted(cpt_trace._FORWARDING_ENDS), sorted(lines["ends"]))


class Wsgi(unittest.TestCase):
    def setUp(self):
        self.service, self.clock = service()

    def path_of(self, app, **environ):
        status, headers, body = wsgi_call(
            cpt_trace.WSGI(app, self.service), HTTP_CRITICAL_PATH=ASK, **environ
        )
        value = header_of(headers)
        return status, body, text(cpt_trace.decode_header(value)[0]) if value else None

    def app(self, environ, start_response):
        self.clock.now_ns += 3
        start_response("200 OK", [("X", "y")])
        with cpt_trace.part("a"):
            self.clock.now_ns += 4
        return [b"body"]

    def test_a_list(self):
        self.assertEqual(
            self.path_of(self.app), ("200 OK", b"body", "S: / 3, S: /;S: a 4")
        )

    def test_unasked_and_untrusted_get_none(self):
        app = cpt_trace.WSGI(self.app, self.service)
        for environ in (
            {},
            {"HTTP_CRITICAL_PATH": ASK, "REMOTE_ADDR": "10.0.0.1"},
            {"HTTP_CRITICAL_PATH": "x"},
            {"HTTP_CRITICAL_PATH": ASK, "HTTP_X_FORWARDED_FOR": "1.2.3.4"},
            {"HTTP_CRITICAL_PATH": ASK, "HTTP_VIA": "1.1 proxy"},
        ):
            status, headers, body = wsgi_call(app, **environ)
            self.assertEqual((status, headers, body), ("200 OK", [("X", "y")], b"body"))

    def test_headers_of_proxies(self):
        for verdict, names in forwarding_list().items():
            for name in names if verdict in ("yes", "no") else ():
                key = "HTTP_" + name.upper().replace("-", "_")
                if name not in ("critical-path", "traceparent", "tracestate"):
                    path = self.path_of(self.app, **{key: "192.0.2.1"})[2]
                    self.assertEqual(path is None, verdict == "yes", name)
        few = {"HTTP_A%d" % i: "" for i in range(100)}
        many = {"HTTP_A%d" % i: "" for i in range(128)}  # and the ask
        self.assertIsNotNone(self.path_of(self.app, **few)[2])
        self.assertIsNone(self.path_of(self.app, **many)[2])

    def test_a_generator_until_its_first_chunk(self):
        def app(environ, start_response):
            self.clock.now_ns += 1
            start_response("200 OK", [])
            self.clock.now_ns += 2
            with cpt_trace.part("a"):
                self.clock.now_ns += 4
            yield b"one"
            self.clock.now_ns += 8
            yield b"two"

        self.assertEqual(
            self.path_of(app), ("200 OK", b"onetwo", "S: / 3, S: /;S: a 4")
        )

    def test_an_empty_generator(self):
        def app(environ, start_response):
            start_response("204 No Content", [])
            self.clock.now_ns += 2
            return iter(())

        self.assertEqual(self.path_of(app), ("204 No Content", b"", "S: / 2"))

    def test_write(self):
        def app(environ, start_response):
            write = start_response("200 OK", [])
            self.clock.now_ns += 2
            write(b"one")
            self.clock.now_ns += 2
            return [b"two"]

        self.assertEqual(self.path_of(app), ("200 OK", b"onetwo", "S: / 2"))

    def test_another_head_after_an_error(self):
        def app(environ, start_response):
            start_response("200 OK", [])
            try:
                raise KeyError("mine")
            except KeyError:
                start_response("500 Sorry", [], sys.exc_info())
            self.clock.now_ns += 2
            return [b"sorry"]

        self.assertEqual(self.path_of(app), ("500 Sorry", b"sorry", "S: / 2"))

    def test_errors_pass(self):
        def app(environ, start_response):
            raise KeyError("mine")

        def late(environ, start_response):
            start_response("200 OK", [])
            yield b"one"
            raise KeyError("mine")

        def twice(environ, start_response):
            start_response("200 OK", [])
            start_response("200 OK", [])

        for broken, error in ((app, KeyError), (late, KeyError), (twice, AssertionError)):
            with self.assertRaises(error):
                self.path_of(broken)
            self.assertIsNone(cpt_trace._current.get())

    def test_the_path_of_a_callee_does_not_leave(self):
        def app(environ, start_response):
            start_response("200 OK", [("Critical-Path-Bin", callee(9)), ("X", "y")])
            return [b""]

        for environ in ({}, {"HTTP_CRITICAL_PATH": "x"}):
            _, headers, _ = wsgi_call(cpt_trace.WSGI(app, self.service), **environ)
            self.assertEqual(headers, [("X", "y")])

    def test_the_body_is_closed(self):
        closed = []

        class Body:
            def __iter__(self):
                return iter([b"body"])

            def close(self):
                closed.append(1)

        def app(environ, start_response):
            start_response("200 OK", [])
            return Body()

        self.path_of(app)
        self.assertEqual(closed, [1])


class Asgi(unittest.TestCase):
    def setUp(self):
        self.service, self.clock = service()

    async def serve(self, app, headers=((b"critical-path", ASK.encode()),), path="/"):
        sent = []

        async def send(message):
            sent.append(message)

        async def receive():
            return {"type": "http.disconnect"}

        scope = {
            "type": "http",
            "path": path,
            "headers": list(headers),
            "client": ("127.0.0.1", 1),
        }
        try:
            await cpt_trace.ASGI(app, self.service)(scope, receive, send)
        except KeyError:
            sent.append("KeyError")
        return sent

    def path_of(self, sent):
        for name, value in sent[0]["headers"]:
            if name == b"critical-path-bin":
                return text(cpt_trace.decode_header(value.decode())[0])
        return None

    async def app(self, scope, receive, send):
        self.clock.now_ns += 3
        await send({"type": "http.response.start", "status": 200, "headers": []})
        with cpt_trace.part("a"):
            self.clock.now_ns += 4
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        self.clock.now_ns += 4
        await send({"type": "http.response.body", "body": b"two"})

    def test_a_path(self):
        sent = asyncio.run(self.serve(self.app))
        self.assertEqual(self.path_of(sent), "S: / 3")
        self.assertEqual([m["type"][14:] for m in sent], ["start", "body", "body"])

    def test_unasked(self):
        sent = asyncio.run(self.serve(self.app, ()))
        self.assertIsNone(self.path_of(sent))
        sent = asyncio.run(self.serve(self.app, [(b"critical-path", b"1")] * 2))
        self.assertIsNone(self.path_of(sent))
        sent = asyncio.run(
            self.serve(self.app, [(b"Critical-Path", b"1"), (b"x-real-ip", b"1.1.1.1")])
        )
        self.assertIsNone(self.path_of(sent))

    def test_headers_of_proxies(self):
        for verdict, names in forwarding_list().items():
            for name in names if verdict in ("yes", "no") else ():
                if name != "critical-path":
                    headers = [(b"critical-path", b"1"), (name.encode(), b"192.0.2.1")]
                    path = self.path_of(asyncio.run(self.serve(self.app, headers)))
                    self.assertEqual(path is None, verdict == "yes", name)

    def test_errors_pass(self):
        async def broken(scope, receive, send):
            raise KeyError("mine")

        async def late(scope, receive, send):
            await send({"type": "http.response.start", "status": 200})
            raise KeyError("mine")

        self.assertEqual(asyncio.run(self.serve(broken)), ["KeyError"])
        sent = asyncio.run(self.serve(late))
        self.assertEqual([sent[0]["status"], sent[1]], [200, "KeyError"])

    def test_other_scopes_pass(self):
        seen = []

        async def app(scope, receive, send):
            seen.append((scope["type"], cpt_trace._current.get()))

        asyncio.run(cpt_trace.ASGI(app, self.service)({"type": "lifespan"}, None, None))
        self.assertEqual(seen, [("lifespan", None)])

    def test_requests_at_the_same_time_stay_apart(self):
        async def app(scope, receive, send):
            mine = scope["path"][1:]
            for _ in range(5):
                with cpt_trace.part(mine):
                    await asyncio.sleep(0)
                    self.clock.now_ns += 1
                    await asyncio.sleep(0)
                    assert cpt_trace._current.get().name.decode() == "S: " + mine
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body"})

        async def all_of_them():
            return await asyncio.gather(
                *(self.serve(app, path="/r%d" % i) for i in range(20))
            )

        for i, sent in enumerate(asyncio.run(all_of_them())):
            names = set(self.path_of(sent).replace(";", " ").replace(",", " ").split())
            self.assertTrue({"/r%d" % i, "r%d" % i} <= names, names)
            self.assertFalse(any("r%d" % j in names for j in range(20) if j != i))


class Clients(unittest.TestCase):
    """Hooks, over sockets."""

    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        self.server.asks = []
        self.server.contexts = []
        self.server.replies = []
        self.server.release = threading.Event()
        self.authority = "127.0.0.1:%d" % self.server.server_port
        self.url = "http://" + self.authority
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.service = cpt_trace.Service(
            "S", trust=["127.0.0.1"], callees={self.authority: "B"}
        )
        cpt_trace.install()
        self.request = self.service.begin("/", [ASK], "127.0.0.1")
        self.token = cpt_trace._current.set(self.request.root)

    def tearDown(self):
        cpt_trace._current.reset(self.token)
        cpt_trace.uninstall()
        self.server.release.set()
        self.server.shutdown()
        self.server.server_close()

    def stacks(self):
        value = self.request.end()
        path, elapsed_ns = cpt_trace.decode_header(value)
        self.assertEqual(path.sum_ns, self.request.root.end_ns - self.request.root.start_ns)
        self.assertEqual(path.sum_ns, elapsed_ns)
        self.assertEqual(self.service.counters["errors"], 0)
        return [part.rpartition(" ")[0] for part in text(self.request.path).split(", ")]

    def test_urllib(self):
        self.server.replies = [callee(1, b"B: /x")]
        with urllib.request.urlopen(self.url + "/x?y=1") as answer:
            self.assertEqual(answer.read(), b"ok")
        self.assertEqual(self.server.asks, [[ASK]])
        self.assertEqual(
            self.stacks(), ["S: /", "S: /;B: /x", "S: /;B: /x;‹2›", "S: /"]
        )

    def test_requests_if_installed(self):
        try:
            import requests
        except ImportError:
            skip(self, "requests is not installed")
        self.server.replies = [callee(1, b"B: /x")]
        with requests.Session() as session:
            for _ in range(3):
                self.assertEqual(session.get(self.url + "/x").text, "ok")
        self.assertEqual(self.server.asks, [[ASK]] * 3)
        stacks = self.stacks()
        self.assertEqual(stacks.count("S: /;B: /x"), 3, stacks)

    def test_a_connection_that_is_kept(self):
        connection = http.client.HTTPConnection(self.authority)
        for path in ("/a", "/none", "/b"):
            connection.request("GET", path, headers={"critical-path": "1;forced"})
            self.assertEqual(connection.getresponse().read(), b"ok")
        connection.close()
        self.assertEqual(self.server.asks, [[ASK]] * 3)
        stacks = self.stacks()
        self.assertEqual(
            [s for s in stacks if "B" in s],
            ["S: /;B: /a;‹4›", "S: /;B: /none;‹4›", "S: /;B: /b;‹4›"],
        )

    def test_strangers_are_not_asked(self):
        self.service.callees.clear()
        self.server.replies = [callee(1)]
        urllib.request.urlopen(self.url + "/x").read()
        self.assertEqual(self.server.asks, [None])
        name = "S: /;%s: /x;‹4›" % self.authority
        self.assertIn(name, self.stacks())

    def test_failures_pass(self):
        with self.assertRaises(http.client.RemoteDisconnected):
            urllib.request.urlopen(self.url + "/drop")
        with self.assertRaises((TimeoutError, socket.timeout)):
            urllib.request.urlopen(self.url + "/slow", timeout=0.01)
        closed = socket.create_server(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        closed.close()
        self.service.callees["127.0.0.1:%d" % port] = "C"
        with self.assertRaises(OSError):
            urllib.request.urlopen("http://127.0.0.1:%d/x" % port)
        stacks = self.stacks()
        for wanted in ("S: /;B: /drop;‹4›", "S: /;B: /slow;‹5›", "S: /;C: /x;‹4›"):
            self.assertIn(wanted, stacks)

    def test_hostile_replies_change_nothing(self):
        for replies in (["!"], ["A"], ["CAEY"], ["A" * 60000], [callee(1)] * 2, [""]):
            self.server.replies = replies
            with urllib.request.urlopen(self.url + "/x") as answer:
                self.assertEqual((answer.status, answer.read()), (200, b"ok"))
        self.assertEqual(self.stacks().count("S: /;B: /x;‹4›"), 6)

    def test_twenty_threads_with_requests_of_their_own(self):
        self.server.replies = [callee(1, b"B: /x")]

        def app(environ, start_response):
            mine = environ["PATH_INFO"]
            with cpt_trace.part(mine):
                for _ in range(3):
                    urllib.request.urlopen(self.url + mine).read()
            start_response("200 OK", [])
            return [b""]

        traced = cpt_trace.WSGI(app, self.service)

        def run(i):
            _, headers, _ = wsgi_call(traced, "/r%d" % i, HTTP_CRITICAL_PATH=ASK)
            return text(cpt_trace.decode_header(header_of(headers))[0])

        token = cpt_trace._current.set(None)
        try:
            with concurrent.futures.ThreadPoolExecutor(20) as pool:
                for i, path in enumerate(pool.map(run, range(20))):
                    self.assertEqual(path.count("S: /r%d;S: /r%d;B: /r%d;B: /x " % (i, i, i)), 3)
                    self.assertNotIn("/r%d;" % ((i + 1) % 20 + 20), path)
                    self.assertEqual(path.count("S: "), path.count("S: /r%d" % i))
        finally:
            cpt_trace._current.reset(token)

    def test_without_a_request_nothing_is_added(self):
        context = contextvars.Context()
        context.run(lambda: urllib.request.urlopen(self.url + "/x").read())
        self.assertEqual(self.server.asks, [None])
        self.assertEqual(self.server.contexts, [(None, None)])

    def test_the_trace_context(self):
        """It goes on, also from threads, but not beside one of the application."""
        came = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        own = "00-11111111111111111111111111111111-2222222222222222-00"

        def app(environ, start_response):
            urllib.request.urlopen(self.url + "/x").read()
            other = threading.Thread(target=urllib.request.urlopen, args=(self.url + "/x",))
            other.start()
            other.join()
            mine = urllib.request.Request(self.url + "/x", headers={"TraceParent": own})
            urllib.request.urlopen(mine).read()
            start_response("200 OK", [])
            return [b""]

        for more in ({}, {"HTTP_CRITICAL_PATH": ASK}):
            self.server.contexts.clear()
            cpt_trace._current.set(None)
            wsgi_call(
                cpt_trace.WSGI(app, self.service),
                HTTP_TRACEPARENT=came,
                HTTP_TRACESTATE="a=1 , b=2",
                **more
            )
            both = ([came], ["a=1 , b=2"])
            self.assertEqual(self.server.contexts, [both, both, ([own], None)])
        self.assertIsNone(cpt_trace._carried.get())

    def test_contexts_that_are_malformed_are_counted(self):
        self.service.carry(["x"], ["a=1"], None)
        came = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        self.service.carry([came], ["="], None)
        self.assertEqual(self.service.counters["traceparents_refused"], 1)
        self.assertEqual(self.service.counters["tracestates_refused"], 1)


if __name__ == "__main__":
    unittest.main(verbosity=0)
