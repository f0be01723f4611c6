# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""A service with long-lived workers, pools and kept connections, as Flask and as Starlette
application. CPT_INTEROP: the folder of examples/interop; CPT_CALLEE: HOST:PORT.

/TOKEN calls the callee in all these ways; the URLs have the form /WAY/TOKEN. Workers and pools
are made by the first request that needs one. /memory says what is left of requests."""
import asyncio
import concurrent.futures
import gc
import multiprocessing.pool
import os
import queue
import sys
import threading

import requests

sys.path.insert(0, os.path.join(os.environ["CPT_INTEROP"], "python"))
import cpt_trace  # noqa: E402

CALLEE = os.environ["CPT_CALLEE"]
cpt_trace.install()
service = cpt_trace.Service("S", role="inner", callees={CALLEE: "B"})
session = requests.Session()
session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=32))
lock = threading.Lock()
made = {}


def call(way, token):
    return session.get("http://%s/%s/%s" % (CALLEE, way, token), timeout=120).text


def once(name, make):
    with lock:
        if name not in made:
            made[name] = make()
    return made[name]


def start_worker(make_queue):
    jobs = make_queue()

    def work():
        while True:
            way, token, reply = jobs.get()
            reply.put(call(way, token))

    threading.Thread(target=work, daemon=True).start()
    return jobs


def by_worker(way, token, make_queue):
    reply = queue.Queue()
    once(way, lambda: start_worker(make_queue)).put((way, token, reply))
    reply.get(timeout=120)


def by_thread(token):
    thread = threading.Thread(target=call, args=("thread", token))
    thread.start()
    thread.join()


def memory():
    gc.collect()
    kinds = (cpt_trace.Request, cpt_trace._Span, cpt_trace._Serving)
    left = sum(isinstance(one, kinds) for one in gc.get_objects())
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    return "%d %d" % (left, pages * os.sysconf("SC_PAGE_SIZE"))


def serve(token):
    """The work of a request on a thread."""
    with cpt_trace.part("part %s" % token):
        call("direct", token)
    by_thread(token)
    by_worker("queue", token, queue.Queue)
    by_worker("simple", token, queue.SimpleQueue)
    executor = once("executor", lambda: concurrent.futures.ThreadPoolExecutor(4))
    executor.submit(call, "executor", token).result(120)
    once("pool", lambda: multiprocessing.pool.ThreadPool(4)).apply(call, ("pool", token))
    threading.Timer(0.01, call, ("late", token)).start()
    threading.Timer(0.01, cpt_trace.bind(call), ("bound", token)).start()


def make_flask():
    import flask

    app = flask.Flask(__name__)

    @app.get("/memory")
    def get_memory():
        return memory()

    @app.get("/<token>")
    def get(token):
        serve(token)
        return token

    @app.after_request
    def after(response):
        response.headers["Content-Security-Policy"] = "x" * 1200
        return response

    app.wsgi_app = cpt_trace.WSGI(app.wsgi_app, service)
    return app


def make_starlette():
    from starlette.applications import Starlette
    from starlette.background import BackgroundTask
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def work(jobs):
        while True:
            token, done = await jobs.get()
            await asyncio.to_thread(call, "task", token)
            done.set_result(None)

    def start():
        jobs = asyncio.Queue()
        made["worker"] = asyncio.get_running_loop().create_task(work(jobs))
        return jobs

    async def late(way, token):
        await asyncio.sleep(0.01)
        await asyncio.to_thread(call, way, token)

    async def get(request):
        token = request.path_params["token"]
        with cpt_trace.part("part %s" % token):
            await asyncio.to_thread(call, "direct", token)
        await asyncio.gather(*(asyncio.to_thread(call, "gather", token) for _ in range(2)))
        done = asyncio.get_running_loop().create_future()
        await once("jobs", start).put((token, done))
        await done
        await asyncio.get_running_loop().run_in_executor(None, serve, token)
        tasks = made.setdefault("tasks", set())
        for one in (late("late", token), cpt_trace.bind(late("bound", token))):
            tasks.add(asyncio.create_task(one))
        tasks -= {task for task in tasks if task.done()}
        background = BackgroundTask(call, "background", token)
        headers = {"Content-Security-Policy": "x" * 1200}
        return PlainTextResponse(token, background=background, headers=headers)

    async def get_memory(request):
        return PlainTextResponse(memory())

    async def passing(request, call_next):
        return await call_next(request)

    routes = [Route("/memory", get_memory), Route("/{token}", get)]
    middleware = [Middleware(BaseHTTPMiddleware, dispatch=passing)]
    return cpt_trace.ASGI(Starlette(routes=routes, middleware=middleware), service)


if os.environ.get("CPT_FRAMEWORK") == "starlette":
    app = make_starlette()
elif os.environ.get("CPT_FRAMEWORK") == "flask":
    app = make_flask()
