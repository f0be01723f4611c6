# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""grpcio with the interceptors of examples/interop/python/cpt_trace.py."""
import collections
import concurrent.futures
import contextvars
import queue
import sys
import threading
import unittest

from python_support import ASK, cpt_trace, text

try:
    import grpc
except ImportError:
    print("skipped: grpcio is not installed")
    sys.exit(77)

CAME = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
Status = collections.namedtuple("Status", "code details trailing_metadata")
KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


class Methods:
    """What service B does; by the name in the request."""

    def __init__(self):
        self.contexts = []
        self.metadata = []
        self.trailing = ()
        self.gate = threading.Event()

    def get(self, request, context):
        self.contexts.append(dict(cpt_trace._carried.get() or {}))
        self.metadata.append(dict(context.invocation_metadata()))
        if self.trailing:
            context.set_trailing_metadata(self.trailing)
        with cpt_trace.part("work"):
            if request == b"missing":
                context.abort(grpc.StatusCode.NOT_FOUND, "no such thing")
            if request == b"status":
                context.abort_with_status(
                    Status(grpc.StatusCode.DATA_LOSS, "lost", (("more", "kept"),))
                )
            if request == b"raises":
                raise KeyError("mine")
            if request == b"code":
                context.set_code(grpc.StatusCode.ALREADY_EXISTS)
                return b""
            if request == b"slow":
                self.gate.wait(60)
            return request

    def list(self, request, context):
        for i in range(3):
            yield self.get(request, context) + b"%d" % i

    def sum(self, requests, context):
        return self.get(b"".join(requests), context)

    def chat(self, requests, context):
        for request in requests:
            yield self.get(request, context)


class Grpc(unittest.TestCase):
    def setUp(self):
        cpt_trace.install()
        self.inner = cpt_trace.Service("B", role="inner")
        self.outer = cpt_trace.Service("S", trust=["127.0.0.0/8"])
        self.methods = Methods()
        behaviours = zip(KINDS, ("get", "list", "sum", "chat"))
        handlers = {
            name.title(): getattr(grpc, kind + "_rpc_method_handler")(getattr(self.methods, name))
            for kind, name in behaviours
        }
        self.pool = concurrent.futures.ThreadPoolExecutor(4)
        self.server = grpc.server(self.pool, interceptors=[cpt_trace.grpc_server(self.inner)])
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("p.B", handlers),)
        )
        self.target = "127.0.0.1:%d" % self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()
        self.plain = grpc.insecure_channel(self.target)
        self.channel = grpc.intercept_channel(self.plain, cpt_trace.grpc_client("B"))
        self.serving = self.outer.serve(
            "/", [("critical-path", ASK), ("traceparent", CAME)], "127.0.0.1"
        )
        self.request = self.serving.request
        self.context = self.serving.context()
        self.context.__enter__()

    def tearDown(self):
        self.context.__exit__()
        self.methods.gate.set()
        self.plain.close()
        self.server.stop(None).wait()
        self.pool.shutdown()
        cpt_trace.uninstall()
        for service in (self.inner, self.outer):
            self.assertEqual(service.counters["errors"], 0)

    def unary(self, request, **more):
        return self.channel.unary_unary("/p.B/Get")(request, **more)

    def ended(self):
        """The path as text, and its segments' labels of statuses."""
        request = self.request
        request.end()
        path = request.path
        statuses = [s[5].get(cpt_trace.LABEL_STATUS) for s in path.segments]
        return text(path), [status for status in statuses if status]

    def test_a_unary_call(self):
        self.assertEqual(self.unary(b"x"), b"x")
        path, statuses = self.ended()
        self.assertIn("S: /;B: /p.B/Get;B: work ", path)
        self.assertEqual((statuses, self.request.path.flags), ([], 0))

    def test_metadata_that_leave_no_room_for_an_ask(self):
        """A server of grpc takes 8 KiB: what passes untraced passes traced."""
        for size in (6000, 7000, 7300, 7400, 7500, 7600):
            headers = (("x-own", "p" * size), ("traceparent", CAME))
            self.assertEqual(self.plain.unary_unary("/p.B/Get")(b"x", metadata=headers), b"x")
            self.assertEqual(self.unary(b"x", metadata=(("x-own", "p" * size),)), b"x")
        self.assertEqual(self.outer.counters["calls_without_room"], 5)
        path, _ = self.ended()
        self.assertIn("B: work ", path)  # that of the first

    def test_errors_keep_the_path_and_name_their_status(self):
        for request, status in (
            (b"missing", b"NOT_FOUND"),
            (b"status", b"DATA_LOSS"),
            (b"raises", b"UNKNOWN"),
            (b"code", b"ALREADY_EXISTS"),
        ):
            for call in ("unary", "future"):
                self.tearDown()
                self.setUp()
                with self.assertRaises(grpc.RpcError) as raised:
                    if call == "unary":
                        self.unary(request)
                    else:
                        self.channel.unary_unary("/p.B/Get").future(request).result(60)
                self.assertEqual(raised.exception.code().name.encode(), status)
                if request == b"status":
                    self.assertIn(("more", "kept"), raised.exception.trailing_metadata())
                path, statuses = self.ended()
                self.assertIn("S: /;B: /p.B/Get;B: work ", path, request)
                self.assertEqual(statuses, [status])

    def test_errors_of_streams_do_too(self):
        with self.assertRaises(grpc.RpcError):
            list(self.channel.unary_stream("/p.B/List")(b"missing"))
        path, statuses = self.ended()
        self.assertIn("S: /;B: /p.B/List;B: work ", path)
        self.assertEqual(statuses, [b"NOT_FOUND"])

    def test_no_answer_at_all(self):
        with self.assertRaises(grpc.RpcError):
            self.unary(b"slow", timeout=0.05)
        self.assertTrue(self.request.spans[-1].is_timeout)
        pending = self.channel.unary_unary("/p.B/Get").future(b"slow")
        pending.cancel()
        with self.assertRaises(grpc.FutureCancelledError):
            pending.result(60)
        self.assertEqual(self.request.spans[-1].status, b"CANCELLED")
        path, _ = self.ended()
        self.assertIn("S: /;B: /p.B/Get;‹5›", path)

    def test_a_call_that_nobody_takes(self):
        with grpc.insecure_channel("127.0.0.1:1") as channel:
            ours = grpc.intercept_channel(channel, cpt_trace.grpc_client("C"))
            with self.assertRaises(grpc.RpcError):
                ours.unary_unary("/p.C/Get")(b"x")
        path, statuses = self.ended()
        self.assertIn("S: /;C: /p.C/Get;‹4›", path)
        self.assertEqual(statuses, [b"UNAVAILABLE"])

    def test_streams_are_one_call_and_flagged(self):
        requests = [b"a", b"b"]
        for call, wanted in (
            (lambda: list(self.channel.unary_stream("/p.B/List")(b"x")), [b"x0", b"x1", b"x2"]),
            (lambda: self.channel.stream_unary("/p.B/Sum")(iter(requests)), b"ab"),
            (lambda: list(self.channel.stream_stream("/p.B/Chat")(iter(requests))), requests),
        ):
            self.assertEqual(call(), wanted)
            path, statuses = self.ended()
            self.assertIn("B: work ", path)
            self.assertTrue(self.request.path.flags & cpt_trace.APPROXIMATE)
            self.assertEqual(self.request.path.flags & cpt_trace.INCOMPLETE, 0)
            self.assertEqual(statuses, [])
            self.tearDown()
            self.setUp()

    def test_messages_are_made_in_their_request(self):
        """grpcio makes them on a thread of its own."""
        seen = []

        def messages():
            for _ in range(2):
                seen.append(dict(cpt_trace._carried.get() or {}))
                yield b"m"

        self.assertEqual(self.channel.stream_unary("/p.B/Sum")(messages()), b"mm")
        self.assertEqual(list(self.channel.stream_stream("/p.B/Chat")(messages())), [b"m"] * 2)
        self.assertEqual(seen, [{"traceparent": CAME}] * 4)

    def test_the_path_of_a_stream_is_there_for_a_plain_caller(self):
        call = self.plain.unary_stream("/p.B/List")(b"x", metadata=(("critical-path", ASK),))
        list(call)
        values = [v for k, v in call.trailing_metadata() if k == "critical-path-bin"]
        path, _ = cpt_trace.decode(values[0])
        self.assertTrue(path.flags & cpt_trace.APPROXIMATE)

    def test_a_stream_that_is_left_early_fails_nothing(self):
        call = self.channel.unary_stream("/p.B/List")(b"x")
        next(call)
        call.cancel()
        self.ended()

    def around(self, intercept):
        """A channel on which an interceptor of another is behind ours."""

        class Other(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
            intercept_unary_unary = intercept_unary_stream = staticmethod(intercept)

        inner = grpc.intercept_channel(self.plain, Other())
        return grpc.intercept_channel(inner, cpt_trace.grpc_client("B"))

    def test_streams_of_which_another_interceptor_makes_a_generator(self):
        def intercept(continuation, details, request):
            return (message for message in continuation(details, request))

        channel = self.around(intercept)
        self.assertEqual(list(channel.unary_stream("/p.B/List")(b"m")), [b"m0", b"m1", b"m2"])
        with self.assertRaises(grpc.RpcError) as caught:
            list(channel.unary_stream("/p.B/List")(b"missing"))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
        path, statuses = self.ended()
        self.assertIn("S: /;B: /p.B/List;‹4›", path)  # a generator has no trailing metadata
        self.assertIn("S: /;B: /p.B/List;B: work", path)  # but an error of grpcio has
        self.assertEqual(statuses, [b"NOT_FOUND"])
        self.assertTrue(self.request.path.flags & cpt_trace.APPROXIMATE)

    def test_streams_of_which_another_interceptor_makes_a_list(self):
        channel = self.around(lambda go_on, details, request: list(go_on(details, request)))
        self.assertEqual(channel.unary_stream("/p.B/List")(b"m"), [b"m0", b"m1", b"m2"])
        self.assertIn("S: /;B: /p.B/List", self.ended()[0])

    def test_an_answer_that_another_interceptor_has_by_itself(self):
        class Kept:
            result = staticmethod(lambda timeout=None: b"kept")

        channel = self.around(lambda go_on, details, request: Kept())
        self.assertEqual(channel.unary_unary("/p.B/Get")(b"m"), b"kept")
        self.assertIn("S: /;B: /p.B/Get", self.ended()[0])

    def test_an_ask_that_a_gateway_copies_does_not_go_on(self):
        copied = (("critical-path", ASK + ";forced"), ("critical-path-nonce", "0" * 15 + "1"))
        stranger = self.outer.serve("/", list(copied), "192.0.2.1")
        self.assertIsNone(stranger.request)
        with stranger.context():
            self.unary(b"m", metadata=copied)
        self.assertNotIn("critical-path", self.methods.metadata[0])
        self.assertNotIn("critical-path-nonce", self.methods.metadata[0])

    def test_futures(self):
        pending = [self.channel.unary_unary("/p.B/Get").future(b"%d" % i) for i in range(3)]
        self.assertEqual([one.result(60) for one in pending], [b"0", b"1", b"2"])
        self.assertTrue(all(span.end_ns is not None for span in self.request.spans))
        self.assertIsInstance(pending[0], grpc.Future)
        self.assertEqual(pending[0].code(), grpc.StatusCode.OK)

    def test_callbacks_have_the_request_of_who_added_them(self):
        done = threading.Event()
        seen = []

        def callback(future):
            seen.append((future.result(), dict(cpt_trace._carried.get() or {})))
            done.set()

        pending = self.channel.unary_unary("/p.B/Get").future(b"x")
        pending.add_done_callback(callback)
        self.assertTrue(done.wait(60))
        self.assertEqual(seen, [(b"x", {"traceparent": CAME})])

    def test_the_thread_of_a_channel_is_of_no_request(self):
        """It was started by the first call, and calls back those of other requests."""
        self.unary(b"first")
        seen = queue.Queue()

        def other():
            pending = self.channel.unary_unary("/p.B/Get").future(b"x")
            pending.add_done_callback(lambda _: seen.put(dict(cpt_trace._carried.get() or {})))

        contextvars.Context().run(other)
        self.assertEqual(seen.get(timeout=60), {})

    def test_trace_contexts(self):
        self.unary(b"x")
        self.unary(b"x", metadata=(("traceparent", CAME[:-1] + "0"),))
        self.assertEqual(self.methods.contexts[0], {"traceparent": CAME})
        self.assertEqual(self.methods.contexts[1], {"traceparent": CAME[:-1] + "0"})

    def test_what_goes_on(self):
        self.serving.carried.update({"baggage": "a=1", "b3": "1", "x-b3-new": "\xe9"})
        self.unary(b"x")
        self.unary(b"x", metadata=(("baggage", "own=1"), ("critical-path-nonce", "f" * 16)))
        first, second = self.methods.metadata
        self.assertEqual((first["baggage"], first["b3"], first.get("x-b3-new")), ("a=1", "1", None))
        self.assertEqual((second["baggage"], second["b3"]), ("own=1", "1"))
        nonces = {first["critical-path-nonce"], second["critical-path-nonce"], "f" * 16}
        self.assertEqual(len(nonces), 3)
        self.assertEqual(self.methods.contexts[0]["baggage"], "a=1")

    def test_the_nonce_comes_back(self):
        metadata = (("critical-path", ASK), ("critical-path-nonce", "00000000000000ff"))
        _, call = self.plain.unary_unary("/p.B/Get").with_call(b"x", metadata=metadata)
        values = [v for k, v in call.trailing_metadata() if k == "critical-path-bin"]
        self.assertEqual(cpt_trace.decode(values[0])[0].nonce, 255)

    def test_a_stale_path(self):
        path = cpt_trace.Path()
        path.append(path.frame(None, b"B: /stale"), 5)
        data = cpt_trace.encode(path, 2048, 5, 255)

        def answer(request, context):
            context.set_trailing_metadata((("critical-path-bin", data),))
            return request

        handler = grpc.unary_unary_rpc_method_handler(answer)
        server = grpc.server(self.pool)
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("p.C", {"Get": handler}),)
        )
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        with grpc.insecure_channel("127.0.0.1:%d" % port) as channel:
            ours = grpc.intercept_channel(channel, cpt_trace.grpc_client("C"))
            self.assertEqual(ours.unary_unary("/p.C/Get")(b"x"), b"x")
        server.stop(None).wait()
        path, _ = self.ended()
        self.assertNotIn("stale", path)
        self.assertIn("C: /p.C/Get;‹4›", path)
        self.assertEqual(self.outer.counters["replies_stale"], 1)

    def test_strangers(self):
        """An entry does not heed a caller for which a proxy speaks."""
        self.inner.role = "entry"
        self.inner._networks = self.outer._networks
        plain = self.plain.unary_unary("/p.B/Get")
        for more, traced in (("x-request-id", 1), ("x-envoy-external-address", 0)):
            asked = (("critical-path", ASK), (more, "192.0.2.1"), ("b3", "1"))
            trailing = plain.with_call(b"x", metadata=asked)[1].trailing_metadata()
            values = [v for k, v in trailing if k == "critical-path-bin"]
            self.assertEqual(len(values), traced, more)
            self.assertEqual("b3" in self.methods.contexts[-1], bool(traced))

    def test_trailers_of_others(self):
        """An RPC that passes untraced passes traced; an error is one block with its head, of
        which nginx takes a page."""
        plain = self.plain.unary_unary("/p.B/Get")
        for value in ("x" * 500, "x" * 4000, "x" * 6500, "x" * 7400):
            as_bytes = value[: len(value) * 3 // 4].encode()
            for name, given in (("more", value), ("more-bin", as_bytes)):
                self.methods.trailing = ((name, given),)
                counts = []
                for metadata in (None, (("critical-path", ASK),)):
                    for request in (b"x", b"missing"):
                        try:
                            _, call = plain.with_call(request, metadata=metadata)
                        except grpc.RpcError as error:
                            call = error
                        counts.append((call.code().name, len(call.trailing_metadata() or ())))
                codes = [code for code, _ in counts]
                self.assertEqual(codes, ["OK", "NOT_FOUND"] * 2, (name, len(value)))
                if len(value) < 7000:
                    of_error = 2 if len(value) < 3000 else 1
                    self.assertEqual([count for _, count in counts], [1, 1, 2, of_error])


if __name__ == "__main__":
    unittest.main(verbosity=0)
