# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""To which request threads, jobs, tasks and their calls belong. Each request has a token:
its URL, the URLs of its calls and its trace id have it, so a callee sees whose call has
come, and with whose headers."""
import asyncio
import collections
import concurrent.futures
import contextlib
import contextvars
import gc
import http.server
import multiprocessing.pool
import os
import queue
import threading
import unittest
import unittest.mock as mock
import urllib.request
import weakref

from python_support import ASK, Handler, cpt_trace, header_of, serve, skip, text, wsgi_call

Seen = collections.namedtuple("Seen", "path token ask")


def trace_id(token):
    return "%032x" % (token + 1)


class Callee(Handler):
    def do_GET(self):
        parents = self.headers.get_all("traceparent") or []
        token = int(parents[0].split("-")[1], 16) - 1 if parents else None
        asks = self.headers.get_all("critical-path") or []
        self.server.seen.append(Seen(self.path, token, asks[0] if asks else None))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")


class Base(unittest.TestCase):
    def setUp(self):
        self.callee = serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Callee))
        self.callee.seen = []
        self.authority = "127.0.0.1:%d" % self.callee.server_port
        self.service = cpt_trace.Service(
            "S", trust=["127.0.0.1"], callees={self.authority: "B"}
        )
        self.stop = []
        cpt_trace.install()

    def tearDown(self):
        for stop in self.stop:
            stop()
        cpt_trace.uninstall()
        self.callee.shutdown()
        self.callee.server_close()
        self.assertEqual(self.service.counters["errors"], 0)

    def call(self, name):
        with urllib.request.urlopen("http://%s/%s" % (self.authority, name)) as answer:
            return answer.read()

    def seen(self, name):
        """(token of the trace context, whether a path was asked for) of the call @name."""
        found = [one for one in self.callee.seen if one.path == "/" + name]
        self.assertEqual(len(found), 1, self.callee.seen)
        return found[0].token, found[0].ask is not None

    def request(self, token, handler):
        """Serves one request as a thread of a server does; its path as text."""

        def app(environ, start_response):
            handler()
            start_response("200 OK", [])
            return [b""]

        headers = {
            "HTTP_CRITICAL_PATH": ASK,
            "HTTP_TRACEPARENT": "00-%s-%016x-01" % (trace_id(token), 1),
        }

        def run():
            traced = cpt_trace.WSGI(app, self.service)
            _, head, _ = wsgi_call(traced, "/r%d" % token, **headers)
            value = header_of(head)
            return text(cpt_trace.decode_header(value)[0]) if value else None

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(contextvars.Context().run, run).result()

    def during(self, token, begin, meanwhile):
        """Runs @meanwhile while request @token, which has run @begin, is still on its way."""
        began, goes_on = threading.Event(), threading.Event()
        paths = []

        def handler():
            begin()
            began.set()
            goes_on.wait(60)

        other = threading.Thread(target=lambda: paths.append(self.request(token, handler)))
        other.start()
        began.wait(60)
        try:
            meanwhile()
        finally:
            goes_on.set()
            other.join()
        return paths[0]


class Threads(Base):
    # What a handler starts and waits for

    def test_threads_that_are_joined(self):
        def handler():
            threads = [threading.Thread(target=self.call, args=("t%d" % i,)) for i in range(2)]
            threads += [threading.Timer(0, self.call, ("t2",)), Own()]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        class Own(threading.Thread):
            def run(_):
                self.call("t3")

        path = self.request(7, handler)
        self.assertIn("S: /r7;B: /t", path)
        self.assertEqual([self.seen("t%d" % i) for i in range(4)], [(7, True)] * 4)

    def test_threads_that_share_a_queue_within_their_request(self):
        def handler():
            jobs = queue.Queue()
            for i in range(4):
                jobs.put("q%d" % i)

            def work():
                try:
                    while True:
                        self.call(jobs.get(block=False))
                except queue.Empty:
                    pass

            threads = [threading.Thread(target=work) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        self.request(7, handler)
        self.assertEqual([self.seen("q%d" % i) for i in range(4)], [(7, True)] * 4)

    def test_threads_that_use_a_pool_of_connections(self):
        try:
            import requests
        except ImportError:
            skip(self, "requests is not installed")
        session = requests.Session()
        self.stop.append(session.close)

        def get(name):
            self.assertEqual(session.get("http://%s/%s" % (self.authority, name)).text, "ok")

        def handler(name):
            thread = threading.Thread(target=get, args=(name,))
            thread.start()
            thread.join()

        for token in range(4):
            self.request(token, lambda: handler("s%d" % token))
            self.assertEqual(self.seen("s%d" % token), (token, True))

    def test_threads_that_take_turns_at_a_queue(self):
        """A pool of connections of an application: what is taken is put back."""
        pool = queue.Queue()

        def use(name):
            try:
                one = pool.get_nowait()
            except queue.Empty:
                one = object()
            self.call(name)
            pool.put(one)

        def handler(name):
            thread = threading.Thread(target=use, args=(name,))
            thread.start()
            thread.join()

        def three(first):
            for token in range(first, first + 3):
                self.request(token, lambda: handler("p%d" % token))
                self.assertEqual(self.seen("p%d" % token), (token, True))

        three(0)
        self.during(3, lambda: handler("p3"), lambda: three(4))

    def test_a_thread_that_waits_for_a_worker_keeps_its_request(self):
        jobs = queue.Queue()

        def work():
            for name, reply in iter(jobs.get, None):
                reply.put(name)

        worker = threading.Thread(target=work)
        worker.start()
        self.stop += [lambda: jobs.put(None), worker.join]

        def ask(name):
            reply = queue.Queue()
            jobs.put((name, reply))
            self.call(reply.get())

        def handler(name):
            thread = threading.Thread(target=ask, args=(name,))
            thread.start()
            thread.join()

        for token in range(3):
            self.request(token, lambda: handler("w%d" % token))
            self.assertEqual(self.seen("w%d" % token), (token, True))

    def test_a_thread_that_waits_for_another_request_keeps_its_own(self):
        """Several wait for what one of them finds out, each at a queue of its own."""
        waiting = queue.Queue()

        def wait():
            result = queue.Queue()
            waiting.put(result)
            self.call(result.get())

        def begin():
            thread = threading.Thread(target=wait)
            thread.start()
            ends.append(thread)

        ends = []

        def meanwhile():
            self.request(2, lambda: waiting.get().put("found"))
            ends[0].join()

        self.during(1, begin, meanwhile)
        self.assertEqual(self.seen("found"), (1, True))

    def test_an_applications_own_context_stays_as_it_is_without_us(self):
        own = contextvars.ContextVar("own", default="default")
        seen = []

        def handler():
            own.set("mine")
            thread = threading.Thread(target=lambda: seen.append(own.get()))
            thread.start()
            thread.join()
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                seen.append(pool.submit(own.get).result())

        self.request(7, handler)
        self.assertEqual(seen, ["default", "default"])

    # Workers and pools that serve many requests

    def worker(self, make_queue=queue.Queue):
        """A worker with a queue that is started by the first request which needs it."""
        jobs = make_queue()
        state = {}

        def work():
            for name, done in iter(jobs.get, None):
                self.call(name)
                done.set()

        def submit(name):
            if "thread" not in state:
                state["thread"] = threading.Thread(target=work)
                state["thread"].start()
                self.stop.extend([lambda: jobs.put(None), state["thread"].join])
            done = threading.Event()
            jobs.put((name, done))
            self.assertTrue(done.wait(60))

        return submit

    def test_a_worker_is_of_no_other_request(self):
        for make_queue in (queue.Queue, queue.SimpleQueue):
            self.callee.seen.clear()
            submit = self.worker(make_queue)
            self.request(1, lambda: submit("one"))
            path = self.request(2, lambda: submit("two"))
            self.assertNotIn("two", path)
            self.assertEqual(self.seen("two"), (None, False))

    def test_a_worker_of_a_request_that_is_on_its_way(self):
        for make_queue in (queue.Queue, queue.SimpleQueue):
            self.callee.seen.clear()
            submit = self.worker(make_queue)
            path = self.during(
                1,
                lambda: submit("one"),
                lambda: [self.request(n, lambda: submit("r%d" % n)) for n in (2, 3)],
            )
            self.assertNotIn("r2", path)
            self.assertEqual([self.seen("r2"), self.seen("r3")], [(None, False)] * 2)

    def test_a_worker_that_was_started_by_another_request_than_its_first_job(self):
        jobs = queue.PriorityQueue()
        done = threading.Event()

        def work():
            self.call(jobs.get())
            done.set()

        def later():
            self.request(2, lambda: jobs.put("two"))
            done.wait(60)

        path = self.during(1, lambda: threading.Thread(target=work).start(), later)
        self.assertNotIn("two", path)
        self.assertEqual(self.seen("two"), (None, False))

    def test_a_worker_whose_thread_has_the_number_of_one_that_is_gone(self):
        """Numbers of threads are used again: a worker is not who once made its queue."""
        jobs, done, queues = queue.Queue, threading.Event(), []
        maker = []

        def make():
            queues.append(jobs())
            maker.append(threading.get_ident())

        def work():
            if threading.get_ident() == maker[-1]:
                self.call(queues[-1].get())
                done.set()

        def begin():
            worker = threading.Thread(target=work)
            worker.start()
            worker.join(0.05)

        for attempt in range(200):
            queues.clear()
            done.clear()
            self.request(3, make)
            name = "two%d" % attempt

            def meanwhile():
                self.request(2, lambda: queues[-1].put(name))
                done.wait(0.2 if attempt < 199 else 60)

            path = self.during(1, begin, meanwhile)
            if done.is_set():
                self.assertNotIn("two", path)
                self.assertEqual(self.seen(name), (None, False))
                return
        skip(self, "no number of a thread was used again")

    def test_a_worker_that_gives_itself_more_work(self):
        jobs, done = queue.Queue(), queue.Queue()

        def work():
            for name in iter(jobs.get, None):
                if name == "one":
                    jobs.put("more")
                self.call(name)
                done.put(name)

        def begin():
            jobs.put("one")
            worker.start()
            self.assertEqual([done.get(timeout=60) for _ in range(2)], ["one", "more"])

        def meanwhile():
            for token in (2, 3):
                self.request(token, lambda: jobs.put("r%d" % token))
                done.get(timeout=60)

        worker = threading.Thread(target=work)
        self.stop += [lambda: jobs.put(None), worker.join]
        self.during(1, begin, meanwhile)
        self.assertEqual([self.seen("r2"), self.seen("r3")], [(None, False)] * 2)

    def test_jobs_of_a_pool_are_of_who_submits_them(self):
        pools = (
            (concurrent.futures.ThreadPoolExecutor(1), "submit", "result", "shutdown"),
            (None, "apply_async", "get", "terminate"),
        )
        for given, submit, result, stop in pools:
            self.callee.seen.clear()
            pool = [given]

            def job(name, inner=None):
                pool[0] = pool[0] or multiprocessing.pool.ThreadPool(1)
                arguments = (self.call, name) if submit == "submit" else (self.call, (name,))
                getattr(getattr(pool[0], submit)(*arguments), result)(60)

            path = self.during(
                1,
                lambda: job("one"),
                lambda: self.assertIn("B: /two", self.request(2, lambda: job("two"))),
            )
            job("none")
            getattr(pool[0], stop)()
            self.assertNotIn("two", path)
            self.assertEqual([self.seen("one"), self.seen("two")], [(1, True), (2, True)])
            self.assertEqual(self.seen("none"), (None, False))

    def test_jobs_of_interpreters_go_as_they_are(self):
        """A pool of interpreters pickles its jobs, and has nothing of a request there."""

        class Pool(concurrent.futures.ThreadPoolExecutor):
            pass

        for module, is_wrapped in (("concurrent.futures.interpreter", False), ("own", True)):
            Pool.__module__ = module
            jobs = []

            def handler():
                with Pool(1, initializer=threading.get_ident) as pool:
                    pool._work_queue.put = lambda item: jobs.append(item)
                    pool.submit(len, ()).cancel()

            with mock.patch.object(Pool, "_adjust_thread_count", lambda pool: None):
                self.request(1, handler)
            functions = [getattr(item, "fn", None) for item in jobs if item is not None]
            self.assertEqual([one is not len for one in functions], [is_wrapped])

    def test_threads_beside_another_hook(self):
        """One that was there before ours, as Sentry's, takes run() for a method of a class."""

        def hooked(start):
            def other_start(thread):
                run = getattr(thread.run, "__func__", thread.run)
                thread.run = lambda: run(threading.current_thread())
                return start(thread)

            return other_start

        def work(names):
            names.append(self.call("beside"))

        def handler():
            names = []
            for thread in (threading.Thread(target=work, args=(names,)), threading.Timer(0, int)):
                thread.start()
                thread.join()
            self.assertEqual(len(names), 1)

        errors = []
        cpt_trace.uninstall()
        with mock.patch.object(threading.Thread, "start", hooked(threading.Thread.start)):
            cpt_trace.install()
            with mock.patch.object(threading, "excepthook", errors.append):
                path = self.request(1, handler)
            cpt_trace.uninstall()
        cpt_trace.install()
        self.assertEqual(errors, [])
        self.assertIn("B: /beside", path)
        with mock.patch.object(threading.Thread, "start", hooked(threading.Thread.start)):
            self.assertIn("B: /beside", self.request(1, handler))

    def test_the_ways_of_a_thread_pool(self):
        with multiprocessing.pool.ThreadPool(2) as pool:

            def handler():
                pool.map(self.call, ["map"])
                pool.starmap(self.call, [("star",)])
                list(pool.imap(self.call, ["imap"]))
                list(pool.imap_unordered(func=self.call, iterable=["unordered"]))
                pool.apply(self.call, ("apply",))
                pool.apply_async(func=self.call, args=("keyword",)).get(60)

            self.request(7, handler)
        for name in ("map", "star", "imap", "unordered", "apply", "keyword"):
            self.assertEqual(self.seen(name), (7, True), name)

    def test_a_job_that_runs_after_the_answer(self):
        pool = concurrent.futures.ThreadPoolExecutor(1)
        gate = threading.Event()
        pool.submit(gate.wait, 60)
        futures = []
        self.request(1, lambda: futures.append(pool.submit(self.call, "late")))
        gate.set()
        futures[0].result(60)
        pool.shutdown()
        self.assertEqual(self.seen("late"), (None, False))

    def test_a_process_is_of_no_request(self):
        """Workers of a process pool are forked by the request that needs the first one."""

        def handler():
            child = os.fork()
            if child == 0:
                with contextlib.suppress(BaseException):
                    self.call("child")
                os._exit(0)
            os.waitpid(child, 0)
            self.call("mine")

        self.request(7, handler)
        self.assertEqual([self.seen("child"), self.seen("mine")], [(None, False), (7, True)])

    def test_a_connection_that_is_made_apart(self):
        """with detached(): what is started there is of no request."""

        def handler():
            with cpt_trace.detached():
                thread = threading.Thread(target=self.call, args=("apart",))
                thread.start()
            thread.join()
            self.call("mine")

        self.request(7, handler)
        self.assertEqual(self.seen("apart"), (None, False))
        self.assertEqual(self.seen("mine"), (7, True))

    # After the answer

    def test_after_the_answer(self):
        gate, done = threading.Event(), []

        def late():
            gate.wait(60)
            with cpt_trace.part("late"):
                self.call("late")

        def handler():
            done.append(threading.Thread(target=late))
            done.append(threading.Timer(0.001, late))
            done.append(threading.Thread(target=cpt_trace.bind(lambda: self.call("bound"))))
            done[0].start()

        path = self.request(7, handler)
        self.assertEqual(path[:6], "S: /r7")
        gate.set()
        done[0].join()
        self.assertEqual(self.seen("late"), (None, False))
        self.callee.seen.clear()
        done[1].start()
        done[1].join()
        self.assertEqual(self.seen("late"), (None, False))
        done[2].start()
        done[2].join()
        self.assertEqual(self.seen("bound"), (7, False))

    def test_bound_work_belongs_to_its_request_whatever_it_does(self):
        jobs = queue.Queue()

        def work():
            for _ in range(2):
                self.call(jobs.get())

        thread = []

        def begin():
            thread.append(threading.Thread(target=cpt_trace.bind(work)))
            thread[0].start()
            jobs.put("one")

        def meanwhile():
            self.request(2, lambda: jobs.put("two"))
            thread[0].join()

        self.during(1, begin, meanwhile)
        self.assertEqual([self.seen("one"), self.seen("two")], [(1, True)] * 2)

    def test_what_bound_work_starts_ends_with_it(self):
        gate, threads = threading.Event(), []

        def late():
            gate.wait(60)
            self.call("late")

        def work():
            threads.append(threading.Thread(target=late))
            threads[1].start()
            self.call("bound")

        def handler():
            threads.append(threading.Thread(target=cpt_trace.bind(work)))

        self.request(7, handler)
        threads[0].start()
        threads[0].join()
        gate.set()
        threads[1].join()
        self.assertEqual([self.seen("bound"), self.seen("late")], [(7, False), (None, False)])

    def test_a_stream_of_the_handler_itself_goes_on(self):
        def app(environ, start_response):
            start_response("200 OK", [])
            yield b"one"
            self.call("stream")
            yield b"two"

        wsgi_call(
            cpt_trace.WSGI(app, self.service),
            HTTP_CRITICAL_PATH=ASK,
            HTTP_TRACEPARENT="00-%s-%016x-01" % (trace_id(7), 1),
        )
        self.assertEqual(self.seen("stream"), (7, False))

    def test_an_ended_request_is_not_kept_alive(self):
        requests, threads, closures = [], [], []
        gate = threading.Event()
        begin = cpt_trace.Service.begin

        def remember(*arguments, **more):
            request = begin(*arguments, **more)
            requests.append(weakref.ref(request))
            return request

        def hold():
            with cpt_trace.part("held"):
                one = cpt_trace.call("B", "/held")
                one.__enter__()
                gate.wait(60)

        def handler():
            for target in (hold, cpt_trace.bind(hold)):
                threads.append(threading.Thread(target=target))
                threads[-1].start()
            closures.append(cpt_trace.bind(lambda: None))
            closures.append(contextvars.copy_context())
            self.call("held")

        cpt_trace.Service.begin = remember
        try:
            self.request(7, handler)
            with self.assertRaises(KeyError):
                self.request(8, lambda: {}["fails"])
        finally:
            cpt_trace.Service.begin = begin
        gc.collect()
        alive = [request for request in requests if request() is not None]
        gate.set()
        for thread in threads:
            thread.join()
        self.assertEqual((len(requests), alive), (2, []))


class Tasks(Base):
    """The same of asyncio: its tasks copy the context by themselves."""

    async def serve(self, token, handler, is_late=False):
        sent = []

        async def app(scope, receive, send):
            if is_late:
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b""})
            await handler()
            if not is_late:
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b""})

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "path": "/r%d" % token,
            "client": ("127.0.0.1", 1),
            "headers": [
                (b"critical-path", ASK.encode()),
                (b"traceparent", b"00-%s-%016x-01" % (trace_id(token).encode(), 1)),
            ],
        }
        await cpt_trace.ASGI(app, self.service)(scope, None, send)
        values = [v for k, v in sent[0]["headers"] if k == b"critical-path-bin"]
        return text(cpt_trace.decode_header(values[0].decode())[0])

    async def get(self, name):
        await asyncio.to_thread(self.call, name)

    def test_tasks_that_are_awaited(self):
        async def main():
            async def handler():
                await asyncio.gather(self.get("a"), self.get("b"))
                await asyncio.get_running_loop().run_in_executor(None, self.call, "c")

            return await self.serve(7, handler)

        path = asyncio.run(main())
        self.assertIn("S: /r7;B: /", path)
        self.assertEqual([self.seen(name) for name in "abc"], [(7, True)] * 3)

    def test_a_worker_task(self):
        async def main():
            jobs = None
            task = None

            async def work():
                while True:
                    name, done = await jobs.get()
                    await self.get(name)
                    done.set_result(None)

            async def submit(name):
                nonlocal jobs, task
                if task is None:
                    jobs = asyncio.Queue()
                    task = asyncio.create_task(work())
                done = asyncio.get_running_loop().create_future()
                await jobs.put((name, done))
                await done

            goes_on = asyncio.Event()

            async def first():
                await submit("one")
                await goes_on.wait()

            one = asyncio.create_task(self.serve(1, first))
            while not self.callee.seen:
                await asyncio.sleep(0.001)
            await asyncio.create_task(self.serve(2, lambda: submit("two")))
            goes_on.set()
            path = await one
            await asyncio.create_task(self.serve(3, lambda: submit("three")))
            task.cancel()
            return path

        path = asyncio.run(main())
        self.assertNotIn("two", path)
        self.assertEqual([self.seen("two"), self.seen("three")], [(None, False)] * 2)

    def test_tasks_after_the_answer(self):
        async def main():
            tasks = []
            gate = asyncio.Event()

            async def late(name):
                await gate.wait()
                await self.get(name)

            async def later(name):
                await self.get(name)

            async def handler():
                tasks.append(asyncio.create_task(late("free")))
                tasks.append(asyncio.create_task(cpt_trace.bind(late("bound"))))
                tasks.append(asyncio.create_task(cpt_trace.bind(late)("function")))
                tasks.append(asyncio.create_task(cpt_trace.bind(lambda: late("lambda"))()))
                tasks.append(asyncio.create_task(cpt_trace.bind(Mailer())("object")))

            class Mailer:
                async def __call__(self, name):
                    await late(name)

            await asyncio.create_task(self.serve(7, handler))
            gate.set()
            await asyncio.gather(*tasks)
            await self.serve(8, lambda: later("background"), is_late=True)

        asyncio.run(main())
        self.assertEqual(self.seen("free"), (None, False))
        for name in ("bound", "function", "lambda", "object"):
            self.assertEqual(self.seen(name), (7, False), name)
        self.assertEqual(self.seen("background"), (None, False))


if __name__ == "__main__":
    unittest.main(verbosity=0)
