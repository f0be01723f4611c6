# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""Headers of examples/interop/python/cpt_trace.py beside those of others: how much of a head
a path may take, the nonce, who is heeded, and what goes on to callees."""
import asyncio
import concurrent.futures
import functools
import http.client
import http.server
import socket
import time
import unittest
import unittest.mock as mock
import urllib.error
import urllib.request

from python_support import ASK, Handler, cpt_trace, header_of, serve, service, skip, text
from python_support import wait_of_kernel_ns, wsgi_call

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ASK_FULL = '1;max=9999;forced;drag;graph="00000000000000ff";delay=5000;at="00000000000000aa";burn'


def long_path(clock):
    """Work that makes a path of more than 4 KiB."""
    for i in range(300):
        with cpt_trace.part("part %03d of a long path" % i):
            clock.now_ns += 1000


class Format(unittest.TestCase):
    def test_nonces(self):
        for values, wanted in (
            ([], 0),
            (["00000000000000ff"], 255),
            (["0000000000000000"], 0),
            (["00000000000000FF"], 0),
            (["0ff"], 0),
            (["00000000000000ff", "00000000000000ff"], 0),
            (["00000000000000ff, 00000000000000ff"], 0),
            (["00000000000000ff\n"], 0),
        ):
            self.assertEqual(cpt_trace.parse_nonce(values), wanted, values)
        self.assertEqual(len({cpt_trace.new_nonce() for _ in range(100)}), 100)

    def test_a_nonce_in_each_form_of_a_path(self):
        path = cpt_trace.Path()
        for i in range(50):
            path.append(path.frame(None, b"frame %d" % i), 1000)
        whole = cpt_trace.encode(path, 9999, path.sum_ns, 255)
        self.assertEqual(whole[-10:], bytes((0x99, 1, 255)) + bytes(7))
        for bytes_max in range(len(whole)):
            data = cpt_trace.encode(path, bytes_max, path.sum_ns, 255)
            if data is not None:
                self.assertLessEqual(len(data), bytes_max)
                self.assertEqual(cpt_trace.decode(data)[0].nonce, 255)
        self.assertEqual(cpt_trace.decode(cpt_trace.encode(path, 9999))[0].nonce, 0)

    def test_nonces_that_come(self):
        path = cpt_trace.Path()
        path.append(path.frame(None, b"A"), 1)
        data = cpt_trace.encode(path, 9999)
        field = bytes((0x99, 1))
        for more, nonce in ((field + bytes(8), 0), ((field + b"\1" * 8) + field + b"\2" * 8, None)):
            got = cpt_trace.decode(data + more)[0].nonce
            self.assertEqual(got, 0x0202020202020202 if nonce is None else nonce)
        for more in (bytes((0x98, 1, 5)), bytes((0x9A, 1, 0)), field + bytes(7)):
            with self.assertRaises(cpt_trace.Refused):
                cpt_trace.decode(data + more)

    def test_what_an_ask_passes_on(self):
        ask = cpt_trace.parse_ask([ASK_FULL])
        self.assertEqual(
            cpt_trace.format_ask(7, ask), '1;max=7;delay=5000;at="00000000000000aa";burn;drag'
        )
        for odd in ("1;drag=?0", "1;drag=1", "1;delay=5", '1;at="00000000000000aa"', "1;burn",
                    '1;delay=-5;at="00000000000000aa"', '1;delay=5;at="00000000000000a"',
                    '1;delay=5;at="00000000000000aa";at=x'):
            self.assertEqual(cpt_trace.format_ask(7, cpt_trace.parse_ask([odd])), "1;max=7", odd)


class AskRoom(unittest.TestCase):
    def test_to_the_byte_and_the_header(self):
        most = 8192 - 512 - 512 - 256
        self.assertTrue(cpt_trace.ask_has_room(most, 44))
        self.assertFalse(cpt_trace.ask_has_room(most + 1, 0))
        self.assertFalse(cpt_trace.ask_has_room(0, 45))


class Room(unittest.TestCase):
    """All headers of a reply together."""

    def setUp(self):
        self.service, self.clock = service()

    def head_of(self, others, ask=ASK, **options):
        one, clock = service(**options)

        def app(environ, start_response):
            long_path(clock)
            start_response("200 OK", others)
            return [b""]

        headers = wsgi_call(cpt_trace.WSGI(app, one), HTTP_CRITICAL_PATH=ask)[1]
        return headers, sum(len(k) + len(v) + 4 for k, v in headers) + 17 + 2

    def test_others_leave_less(self):
        for bytes_count in range(0, 5000, 217):
            others = [("Content-Security-Policy", "x" * bytes_count), ("Vary", "Cookie")]
            headers, used = self.head_of(others)
            value = header_of(headers)
            if bytes_count < 3400:
                self.assertLessEqual(used, 4096 - 512, bytes_count)
                path, elapsed_ns = cpt_trace.decode_header(value)
                self.assertEqual((path.sum_ns, elapsed_ns), (300000, 300000))
            elif bytes_count > 3600:
                self.assertEqual(headers, others)

    def test_others_in_many_headers(self):
        """Varnish takes 54 of a service."""
        cookies = [("Set-Cookie", "a=%d" % i) for i in range(150)]
        headers, used = self.head_of(cookies[:38])
        self.assertLessEqual(used, 4096 - 512)
        self.assertIsNotNone(header_of(headers))
        for count in (48, 60, 150):
            self.assertEqual(self.head_of(cookies[:count])[0], cookies[:count])
        self.assertIsNotNone(header_of(self.head_of(cookies, headers_bytes_max=16384)[0]))

    def test_the_target_of_the_request_counts(self):
        """nginx with proxy_cache keeps it in the memory that it has for the head."""
        for more in ({"QUERY_STRING": "x" * 1500}, {"RAW_URI": "/" + "x" * 1500},
                     {"REQUEST_URI": "/" + "x" * 1500}, {"PATH_INFO": "/" + "\xff" * 500}):
            for bytes_count in (0, 1000, 1800, 2400):
                one, clock = service()

                def app(environ, start_response):
                    long_path(clock)
                    start_response("200 OK", [("X", "x" * bytes_count)])
                    return [b""]

                headers = wsgi_call(cpt_trace.WSGI(app, one), HTTP_CRITICAL_PATH=ASK, **more)[1]
                used = sum(len(k) + len(v) + 4 for k, v in headers) + 17 + 2
                if header_of(headers) is not None:
                    self.assertLessEqual(used, 4096 - 512 - 1500)
                self.assertEqual(header_of(headers) is None, bytes_count > 2000)

    def test_the_limits_of_the_caller_and_of_the_service_stay(self):
        self.assertLessEqual(len(header_of(self.head_of([])[0])), 2731)
        headers, _ = self.head_of([], "1;max=100")
        self.assertLessEqual(len(header_of(headers)), 134)
        others = [("X", "x" * 6000)]
        self.assertIsNone(header_of(self.head_of(others)[0]))
        headers, used = self.head_of(others, headers_bytes_max=8192)
        self.assertIsNotNone(header_of(headers))
        self.assertLessEqual(used, 8192 - 512)

    def test_without_room_there_is_no_path_and_it_is_counted(self):
        one, _ = service(headers_bytes_max=100)

        def app(environ, start_response):
            start_response("200 OK", [])
            return [b""]

        self.assertEqual(wsgi_call(cpt_trace.WSGI(app, one), HTTP_CRITICAL_PATH=ASK)[1], [])
        self.assertEqual(one.counters["paths_without_room"], 1)

    def test_a_path_that_fits_exactly(self):
        """Byte by byte: the whole path fits, or is smaller, and the head is in its limit."""
        one, clock = service()
        whole = len(header_of(self.head_of([], headers_bytes_max=9999)[0]))
        for limit in range(512 + 17 + 2 + 21 + 21 + whole - 4, 512 + 17 + 2 + 21 + 21 + whole + 4):
            headers, used = self.head_of([], headers_bytes_max=limit)
            self.assertLessEqual(used, limit - 512)

    def test_asgi(self):
        for bytes_count in range(0, 5000, 317):
            one, clock = service()
            sent = []

            async def app(scope, receive, send):
                long_path(clock)
                others = [(b"content-security-policy", b"x" * bytes_count)]
                start = {"type": "http.response.start", "status": 200, "headers": others}
                await send(start)
                await send({"type": "http.response.body", "body": b""})

            async def send(message):
                sent.append(message)

            scope = {"type": "http", "path": "/", "client": ("127.0.0.1", 1),
                     "headers": [(b"critical-path", ASK.encode())]}
            asyncio.run(cpt_trace.ASGI(app, one)(scope, None, send))
            headers = sent[0]["headers"]
            used = sum(len(k) + len(v) + 4 for k, v in headers) + 17 + 2
            names = [name for name, _ in headers]
            self.assertEqual(b"critical-path-bin" in names, b"vary" in names)
            if len(names) > 1:
                self.assertLessEqual(used, 4096 - 512)
            if not 3400 < bytes_count < 3600:
                self.assertEqual(len(names) > 1, bytes_count < 3500, bytes_count)

    def test_the_target_of_the_request_counts_in_asgi(self):
        for more in ({"query_string": b"x" * 3000}, {"raw_path": b"/" + b"x" * 3000},
                     {"path": "/" + "\u20ac" * 333}):
            one, clock = service()
            sent = []

            async def app(scope, receive, send):
                long_path(clock)
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b""})

            async def send(message):
                sent.append(message)

            scope = dict({"type": "http", "path": "/", "client": ("127.0.0.1", 1),
                          "headers": [(b"critical-path", ASK.encode())]}, **more)
            asyncio.run(cpt_trace.ASGI(app, one)(scope, None, send))
            used = sum(len(k) + len(v) + 4 for k, v in sent[0]["headers"]) + 17 + 2
            self.assertTrue(100 < used <= 4096 - 512 - 2997, used)


class AtOnce(unittest.TestCase):
    def test_asgi_sends_the_head_before_the_body_exists(self):
        for headers in ([], [(b"critical-path", ASK.encode())]):
            sent, seen = [], []
            one, _ = service()

            async def app(scope, receive, send):
                await send({"type": "http.response.start", "status": 200, "headers": []})
                seen.append([message["type"] for message in sent])
                await send({"type": "http.response.body", "body": b""})

            async def send(message):
                sent.append(message)

            scope = {"type": "http", "path": "/", "client": ("127.0.0.1", 1), "headers": headers}
            asyncio.run(cpt_trace.ASGI(app, one)(scope, None, send))
            self.assertEqual(seen, [["http.response.start"]])


class Extensions(unittest.TestCase):
    def test_a_file_that_the_server_sends_ends_the_answer(self):
        """What the handler does behind it, as a task of Starlette, is of no request."""
        one = cpt_trace.Service("S", role="inner")
        for last in (
            {"type": "http.response.pathsend", "path": "/x"},
            {"type": "http.response.zerocopysend", "file": 1},
            {"type": "http.response.body", "body": b""},
        ):
            carried = []

            async def app(scope, receive, send):
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.zerocopysend", "file": 1, "more_body": True})
                carried.append(cpt_trace._live_headers() is not None)
                await send(last)
                carried.append(cpt_trace._live_headers() is not None)

            async def send(message):
                pass

            scope = {"type": "http", "path": "/", "headers": [(b"critical-path", ASK.encode())]}
            asyncio.run(cpt_trace.ASGI(app, one)(scope, None, send))
            self.assertEqual(carried, [True, False], last)
        self.assertEqual(one.counters["errors"], 0)


class Heeding(unittest.TestCase):
    """Who gets a path, and what of a caller's goes on."""

    def setUp(self):
        self.callee = serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recording))
        self.callee.seen = []
        self.authority = "127.0.0.1:%d" % self.callee.server_port
        cpt_trace.install()

    def tearDown(self):
        cpt_trace.uninstall()
        self.callee.shutdown()
        self.callee.server_close()

    def serve(self, one, own=None, **environ):
        """Whether the caller got a path; the headers of a call while its request ran."""

        def app(environ, start_response):
            request = urllib.request.Request("http://%s/x" % self.authority, headers=own or {})
            urllib.request.urlopen(request).read()
            start_response("200 OK", [])
            return [b""]

        self.callee.seen.clear()
        headers = wsgi_call(cpt_trace.WSGI(app, one), HTTP_CRITICAL_PATH=ASK_FULL, **environ)[1]
        self.assertEqual(one.counters["errors"], 0)
        return header_of(headers) is not None, self.callee.seen[0]

    def new(self, **options):
        return cpt_trace.Service("S", callees={self.authority: "B"}, **options)

    PROXIES = (
        {"HTTP_X_FORWARDED_FOR": "1.2.3.4", "HTTP_X_FORWARDED_HOST": "s"},  # Apache
        {"HTTP_X_FORWARDED_FOR": "1.2.3.4", "HTTP_VIA": "1.1 v", "HTTP_X_VARNISH": "2"},
        {"HTTP_VIA": "1.1 squid", "HTTP_X_FORWARDED_FOR": "1.2.3.4"},
        {"HTTP_FORWARDED": "for=1.2.3.4"},
        {"HTTP_X_REAL_IP": "1.2.3.4"},
    )

    def test_roles(self):
        trust = ["127.0.0.1"]
        for options, plain, behind in (
            ({}, False, False),
            ({"trust": trust}, True, False),
            ({"trust": trust, "trusts_forwarded": True}, True, True),
            ({"trusts_forwarded": True}, False, False),
            ({"role": "inner"}, True, True),
            ({"role": cpt_trace.INNER}, True, True),
        ):
            self.assertEqual(self.serve(self.new(**options))[0], plain, options)
            for proxy in self.PROXIES:
                self.assertEqual(self.serve(self.new(**options), **proxy)[0], behind, options)
        many = {"HTTP_A%d" % i: "" for i in range(130)}
        self.assertTrue(self.serve(self.new(role="inner"), **many)[0])
        with self.assertRaises(ValueError):
            self.new(role="middle")

    def test_an_inner_service_behind_a_socket_without_an_address(self):
        self.assertTrue(self.serve(self.new(role="inner"), REMOTE_ADDR="")[0])

    def test_what_goes_on(self):
        carried = {"HTTP_B3": "a-b-1", "HTTP_BAGGAGE": "user=7,x=%20;p=1",
                   "HTTP_X_B3_TRACEID": "abc", "HTTP_X_B3_NEW": "n", "HTTP_TRACEPARENT": PARENT}
        _, seen = self.serve(self.new(role="inner"), **carried)
        for name, value in (("b3", "a-b-1"), ("baggage", "user=7,x=%20;p=1"),
                            ("x-b3-traceid", "abc"), ("x-b3-new", "n"), ("traceparent", PARENT)):
            self.assertEqual(seen.get_all(name), [value])
        self.assertEqual(
            seen["critical-path"],
            '1;max=2048;delay=5000;at="00000000000000aa";burn;drag',
        )
        self.assertRegex(seen["critical-path-nonce"], "^[0-9a-f]{16}$")

    def test_nothing_of_a_strangers_goes_on(self):
        carried = {"HTTP_B3": "a-b-1", "HTTP_BAGGAGE": "user=7", "HTTP_X_B3_TRACEID": "abc",
                   "HTTP_TRACEPARENT": PARENT}
        forwarded = dict(carried, HTTP_X_FORWARDED_FOR="1.2.3.4")
        for one, environ in (
            (self.new(), carried),
            (self.new(trust=["10.0.0.0/8"]), carried),
            (self.new(trust=["127.0.0.1"]), forwarded),
        ):
            _, seen = self.serve(one, **environ)
            names = ("b3", "baggage", "x-b3-traceid", "critical-path", "critical-path-nonce")
            self.assertEqual([seen[name] for name in names], [None] * 5)
            self.assertEqual(seen["traceparent"], PARENT)
            self.assertEqual(one.counters["propagated_untrusted"], 1)

    def test_what_the_application_sets_stays_alone(self):
        carried = {"HTTP_B3": "a-b-1", "HTTP_BAGGAGE": "user=7", "HTTP_X_B3_TRACEID": "abc",
                   "HTTP_TRACEPARENT": PARENT}
        own = {"X-B3-SpanId": "mine", "Baggage": "own=1", "critical-path": "1;forced",
               "Critical-Path-Nonce": "00000000000000ff"}
        _, seen = self.serve(self.new(role="inner"), own, **carried)
        self.assertEqual(
            [seen.get_all(name) for name in ("b3", "x-b3-traceid", "x-b3-spanid", "baggage")],
            [None, None, ["mine"], ["own=1"]],
        )
        self.assertEqual(len(seen.get_all("critical-path")), 1)
        self.assertNotEqual(seen.get_all("critical-path-nonce"), ["00000000000000ff"])

    def test_an_ask_that_a_gateway_copies_does_not_go_on(self):
        copied = {"Critical-Path": ASK_FULL, "critical-path-nonce": "00000000000000ff",
                  "X-Other": "1"}
        stranger = cpt_trace.Service("S", trust=["127.0.0.1"])  # the callee is no one's
        for one in (self.new(), stranger):
            _, seen = self.serve(one, copied)
            self.assertEqual(seen["x-other"], "1")
            self.assertEqual(
                (seen["critical-path"], seen["critical-path-nonce"]), (None, None)
            )

    def test_what_another_tracer_adds_stays_alone(self):
        """Its hook may be below ours, and add its headers at once or with the last."""
        theirs = {"traceparent": PARENT.replace("-01", "-00"), "baggage": "theirs=1"}

        def hooked(method):
            def other(connection, *arguments, **more):
                result = None if method.__name__ == "endheaders" else method(
                    connection, *arguments, **more)
                for name, value in theirs.items():
                    connection.putheader(name, value)
                if method.__name__ == "endheaders":
                    result = method(connection, *arguments, **more)
                return result

            return functools.wraps(method)(other)

        carried = {"HTTP_BAGGAGE": "ours=1", "HTTP_TRACEPARENT": PARENT}
        for name in ("putrequest", "endheaders"):
            for is_below in (True, False):
                cpt_trace.uninstall()
                if not is_below:
                    cpt_trace.install()
                original = getattr(http.client.HTTPConnection, name)
                with mock.patch.object(http.client.HTTPConnection, name, hooked(original)):
                    cpt_trace.install()
                    _, seen = self.serve(self.new(role="inner"), **carried)
                    cpt_trace.uninstall() if is_below else None
                cpt_trace.install()
                found = [seen.get_all(one) for one in theirs]
                self.assertEqual([len(one) for one in found], [1, 1], (name, is_below))
                if name == "putrequest" or not is_below:
                    self.assertEqual(found, [[value] for value in theirs.values()])

    def test_an_ask_outside_of_requests_is_the_programs_own(self):
        url = "http://%s/x" % self.authority
        urllib.request.urlopen(urllib.request.Request(url, headers={"critical-path": "1"})).read()
        self.assertEqual(self.callee.seen[0].get_all("critical-path"), ["1"])

    def test_what_cannot_be_a_header_is_dropped(self):
        _, seen = self.serve(self.new(role="inner"), HTTP_BAGGAGE="a=\r\nx: y",
                             HTTP_B3="x" * 9000)
        self.assertEqual((seen["baggage"], seen["b3"]), (None, None))

    def test_what_is_beyond_limits(self):
        members = ["k%02d=%s" % (i, "v" * 200) for i in range(70)]
        many = ["k%02d=v" % i for i in range(70)]
        for came, goes_on in (
            ([("baggage", "a=1"), ("baggage", " b=2\t;p")], {"baggage": "a=1,b=2 ;p"}),
            ([("baggage", " a=1 , b=2")], {"baggage": " a=1 , b=2"}),
            ([("baggage", "a=1,b=\x01,c=\xe9,d=4")], {"baggage": "a=1,d=4"}),
            ([("baggage", ",".join(members))], {"baggage": ",".join(members[:39])}),
            ([("baggage", ",".join(many))], {"baggage": ",".join(many[:64])}),
            ([("baggage", "")], {}),
            ([("b3", "1"), ("b3", "1")], {"b3": "1"}),
            ([("b3", "1"), ("b3", "2"), ("x-b3-traceid", "a")], {}),
            ([("x-b3-traceid", "a"), ("x-b3-spanid", "b c")], {}),
            ([("x-b3-traceid", "a"), ("x-b3-spanid", "b" * 257)], {}),
            ([("x-b3-traceid", "a"), ("x-b3-spanid", "b" * 256)], None),
        ):
            serving = self.new(role="inner").serve("/", came, "127.0.0.1")
            carried = dict(serving.carried)
            carried.pop("traceparent")
            self.assertEqual(carried, dict(came) if goes_on is None else goes_on, came)


class Recording(Handler):
    """Answers with a path that has the nonce of the ask, or what the test says."""

    def do_GET(self):
        server = self.server
        server.seen.append(self.headers)
        values = []
        if "critical-path" in self.headers:
            nonce = int(self.headers.get("critical-path-nonce", "0"), 16)
            answers = getattr(server, "answers", None)
            values = answers(nonce) if answers else []
        self.send_response(200)
        for name, value in values:
            self.send_header(name, value)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")


def path_with(nonce, duration_ns=1):
    path = cpt_trace.Path()
    path.append(path.frame(None, b"B: /x"), duration_ns)
    return cpt_trace.encode_header(cpt_trace.encode(path, 2048, duration_ns, nonce))


class Nonces(unittest.TestCase):
    """A path belongs to the ask whose nonce it has."""

    def setUp(self):
        self.callee = serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recording))
        self.callee.seen = []
        self.authority = "127.0.0.1:%d" % self.callee.server_port
        self.url = "http://%s/x" % self.authority
        self.service = cpt_trace.Service("S", callees={self.authority: "B"}, role="inner")
        cpt_trace.install()

    def tearDown(self):
        cpt_trace.uninstall()
        self.callee.shutdown()
        self.callee.server_close()

    def path_of(self, handler, nonce=None):
        def app(environ, start_response):
            handler()
            start_response("200 OK", [])
            return [b""]

        environ = {} if nonce is None else {"HTTP_CRITICAL_PATH_NONCE": nonce}
        headers = wsgi_call(cpt_trace.WSGI(app, self.service), HTTP_CRITICAL_PATH=ASK, **environ)[1]
        self.assertEqual(self.service.counters["errors"], 0)
        return cpt_trace.decode_header(header_of(headers))[0]

    def get(self):
        urllib.request.urlopen(self.url).read()

    def test_the_own_nonce_comes_back(self):
        self.assertEqual(self.path_of(lambda: None, "00000000000000ff").nonce, 255)
        for odd in (None, "0", "0" * 16, "00000000000000ff,00000000000000ff", "x"):
            self.assertEqual(self.path_of(lambda: None, odd).nonce, 0)

    def test_each_attempt_has_its_own(self):
        self.callee.answers = lambda nonce: [("critical-path-bin", path_with(nonce))]
        path = text(self.path_of(lambda: [self.get() for _ in range(3)]))
        self.assertEqual(path.count("S: /;B: /x 1,"), 3, path)
        nonces = {headers["critical-path-nonce"] for headers in self.callee.seen}
        self.assertEqual(len(nonces), 3)
        one = cpt_trace.call("B", "/x")

        def twice():
            for _ in range(2):
                with one:
                    nonces.add(one.headers["critical-path-nonce"])
                    one.reply([path_with(int(one.headers["critical-path-nonce"], 16))])

        path = text(self.path_of(twice))
        self.assertEqual((len(nonces), path.count("S: /;B: /x 1")), (5, 2), path)

    def test_a_call_whose_headers_leave_no_room_is_not_asked(self):
        self.callee.answers = lambda nonce: [("critical-path-bin", path_with(nonce))]
        long, many = {"X-Long": "p" * 6300}, {"X-%d" % i: "1" for i in range(36)}
        longer, more = {"X-Long": "p" * 8100}, {"X-%d" % i: "1" for i in range(44)}
        unasked = 0
        for headers in (long, many, longer, more):
            request = urllib.request.Request(self.url, headers=headers)
            path = text(self.path_of(lambda: urllib.request.urlopen(request).read()))
            is_asked = headers in (long, many)
            unasked += not is_asked
            self.assertEqual(self.callee.seen[-1].get("critical-path") is not None, is_asked)
            self.assertEqual(
                self.callee.seen[-1].get("critical-path-nonce") is not None, is_asked
            )
            self.assertIsNotNone(self.callee.seen[-1].get("traceparent"))
            self.assertEqual("r8" in path, not is_asked, path)
            self.assertEqual(self.service.counters["calls_without_room"], unasked)

    def test_requests_if_installed(self):
        try:
            import requests
        except ImportError:
            skip(self, "requests is not installed")
        self.callee.answers = lambda nonce: [("critical-path-bin", path_with(nonce))]
        with requests.Session() as session:
            path = text(self.path_of(lambda: [session.get(self.url) for _ in range(3)]))
        self.assertEqual(path.count("S: /;B: /x 1,"), 3, path)
        self.assertEqual(len({h["critical-path-nonce"] for h in self.callee.seen}), 3)

    def test_the_path_of_another_ask_is_not_taken(self):
        stale = path_with(255, 10**15)
        self.callee.answers = lambda nonce: [("critical-path-bin", stale)]
        path = self.path_of(self.get)
        self.assertIn("S: /;B: /x;‹4›", text(path))
        self.assertEqual([s[4] for s in path.segments if s[4]], [cpt_trace.CACHED])
        self.assertNotIn("‹2›", text(path))  # nor how long it says that it took
        self.assertEqual(self.service.counters["replies_stale"], 1)
        self.assertEqual(self.service.counters["replies_refused"], 0)

    def test_a_callee_is_whom_the_connection_is_made_to(self):
        stranger = serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recording))
        self.addCleanup(stranger.server_close)
        self.addCleanup(stranger.shutdown)
        stranger.seen = []
        stranger.answers = lambda nonce: [("critical-path-bin", path_with(nonce))]

        def gateway(url):  # sends on what came: the URL, and the header Host
            connection = http.client.HTTPConnection("127.0.0.1", stranger.server_port)
            connection.request("GET", url, headers={"Host": self.authority})
            connection.getresponse().read()
            connection.close()

        for url, name in ((self.url, "/x"), ("//%s/x?y" % self.authority, None)):
            path = text(self.path_of(lambda: gateway(url)))
            name = name or "//%s/x" % self.authority
            self.assertIn("S: /;127.0.0.1:%d: %s;‹4›" % (stranger.server_port, name), path)
            self.assertNotIn("B: ", path)
        self.assertEqual([seen["critical-path"] for seen in stranger.seen], [None, None])

    def test_an_address_of_ipv6_has_brackets(self):
        connection = http.client.HTTPConnection("::1", 80)
        self.service.callees["[::1]:80"] = "B"
        names = []

        def handler():
            one = cpt_trace._begin_call(connection, "/x")
            names.append((one.callee, one.is_asked))
            one.fail()

        self.path_of(handler)
        self.assertEqual(names, [("B", True)])

    def test_the_name_of_a_method_is_without_the_host_that_a_client_says(self):
        def app(environ, start_response):
            start_response("200 OK", [])
            return [b""]

        for url in ("http://evil.example/x", "HTTPS://u@evil.example:1/x"):
            traced = cpt_trace.WSGI(app, self.service)
            value = header_of(wsgi_call(traced, url, HTTP_CRITICAL_PATH=ASK)[1])
            self.assertTrue(text(cpt_trace.decode_header(value)[0]).startswith("S: /x "))

    def test_replies_of_clients_with_other_types(self):
        """One value as text, as get() of most clients gives it, or as bytes."""
        for make in (lambda v: v, lambda v: v.encode(), lambda v: [v.encode()], lambda v: (v,)):
            def handler():
                with cpt_trace.call("B", "/x") as one:
                    nonce = int(one.headers["critical-path-nonce"], 16)
                    one.reply(make(path_with(nonce)), 200)

            self.assertIn("S: /;B: /x 1,", text(self.path_of(handler)))

    def test_the_path_of_an_older_callee_is_taken(self):
        self.callee.answers = lambda nonce: [("critical-path-bin", path_with(0))]
        self.assertIn("S: /;B: /x 1", text(self.path_of(self.get)))

    def test_age_still_says_cached(self):
        self.callee.answers = lambda nonce: [
            ("critical-path-bin", path_with(nonce)), ("Age", "3"),
        ]
        self.assertIn("r6", text(self.path_of(self.get)))


class Timeouts(unittest.TestCase):
    def setUp(self):
        self.service, self.clock = service()
        self.request = self.service.begin("/", [ASK], "127.0.0.1")
        self.token = cpt_trace._current.set(self.request.root)

    def tearDown(self):
        cpt_trace._current.reset(self.token)

    def kind_of(self, error):
        with cpt_trace.call("B", "/") as one:
            self.clock.now_ns += 1
            one.fail(error)
        span = one.span
        return "timeout" if span.is_timeout else "failed"

    def test_what_clients_say(self):
        class ReadTimeout(Exception):
            pass

        wrapped = OSError("wrapped")
        wrapped.__cause__ = TimeoutError()
        unrelated = ConnectionRefusedError()
        unrelated.__context__ = TimeoutError()  # that of the attempt before
        for error, wanted in (
            (TimeoutError(), "timeout"),
            (socket.timeout(), "timeout"),
            (asyncio.TimeoutError(), "timeout"),
            (asyncio.CancelledError(), "timeout"),
            (concurrent.futures.TimeoutError(), "timeout"),
            (ReadTimeout(), "timeout"),
            (urllib.error.URLError(socket.timeout()), "timeout"),
            (wrapped, "timeout"),
            (unrelated, "failed"),
            (ConnectionResetError(), "failed"),
            (urllib.error.URLError("refused"), "failed"),
            (None, "failed"),
        ):
            self.assertEqual(self.kind_of(error), wanted, repr(error))

    def test_wait_for(self):
        async def one():
            with cpt_trace.call("B", "/"):
                self.clock.now_ns += 5
                await asyncio.sleep(60)

        async def main():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(one(), 0.01)

        asyncio.run(main())
        self.assertEqual(
            text(cpt_trace.decode_header(self.request.end())[0]), "S: /;B: /;‹5› 5"
        )

    def test_requests_if_installed(self):
        try:
            import requests
        except ImportError:
            skip(self, "requests is not installed")
        full = socket.create_server(("127.0.0.1", 0), backlog=1)
        cpt_trace.install()
        try:
            with self.assertRaises(requests.Timeout):
                requests.get("http://127.0.0.1:%d/" % full.getsockname()[1], timeout=0.05)
            self.assertTrue(self.request.spans[-1].is_timeout)
        finally:
            cpt_trace.uninstall()
            full.close()


class Waiting(unittest.TestCase):
    """A request that waited before the service began: ‹accept queue›."""

    def test_a_proxy_says_when_it_came(self):
        for value, waited_s in (
            ("t=%.3f", 2), ("%.6f", 2), ("t=%d000", 2), ("%d000000", 2), ("%d", 2),
            ("soon", 0), ("t=5", 0), ("t=%d99999999999", 0),
        ):
            now = time.time() - 2
            header = value % now if "%" in value else value
            one, clock = service(request_start="X-Request-Start")
            serving = one.serve(
                "/", [("critical-path", ASK), ("x-request-start", header)], "127.0.0.1"
            )
            waited_ns = serving.request.waited_ns
            self.assertTrue(waited_s * 0.9e9 <= waited_ns <= waited_s * 30e9, (value, waited_ns))
            clock.now_ns += 7
            path, elapsed_ns = cpt_trace.decode_header(serving.request.end())
            wanted = "S: / 7" if not waited_s else "S: /;‹13› %d, S: / 7" % waited_ns
            self.assertEqual((text(path), elapsed_ns), (wanted, waited_ns + 7))

    def test_a_backlog(self):
        waited_ns = wait_of_kernel_ns()
        if not waited_ns:
            skip(self, "the kernel does not say how long bytes have waited")
        self.assertGreater(waited_ns, 100 * 10**6)
        self.assertEqual(cpt_trace._kernel_wait_ns(None), 0)
        self.assertEqual(cpt_trace._kernel_wait_ns(object()), 0)
        first, second = socket.socketpair()
        with first, second:
            self.assertEqual(cpt_trace._kernel_wait_ns(first), 0)


if __name__ == "__main__":
    unittest.main(verbosity=0)
