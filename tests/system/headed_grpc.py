# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""headed_grpc.py FOLDER NAME entry|hop|leaf [HOST:PORT] - headed.c's gRPC in Python, with
FOLDER's cpt_trace.py: /demo.Headed/Get, whose trailers carry other metadata."""
import concurrent.futures
import itertools
import sys

import grpc

FOLDER, NAME, ROLE = sys.argv[1:4]
NEXT = sys.argv[4] if len(sys.argv) > 4 else None
sys.path.insert(0, FOLDER)
import cpt_trace  # noqa: E402

METHOD = "/demo.Headed/Get"
COUNT = itertools.count(1)


def trailers(heads):
    left = int(heads.split("-")[0].rstrip("c"))
    some = []
    for number in itertools.count():
        name = "x-other-%d" % number
        piece = min(left, 400)
        if piece <= len(name) + 4:
            return some
        some.append((name, "p" * (piece - len(name) - 4)))
        left -= piece


def get(request, context):
    n, heads, which = request.decode().split(" ")
    rest = b""
    if STUB:
        try:
            rest = STUB(("%s %s %s" % (n, heads.partition("-")[2] or "0", which)).encode(),
                        timeout=60)
        except grpc.RpcError as error:
            context.abort(error.code(), error.details())
    for number in range(0 if STUB else int(n)):
        with cpt_trace.part("step %d of many that have names" % number):
            pass
    context.set_trailing_metadata(tuple(trailers(heads)))
    return b"%s.%d %s" % (NAME.encode(), next(COUNT), rest)


class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(get) if details.method == METHOD else None


cpt_trace.install()
SERVICE = cpt_trace.Service(NAME, role="entry" if ROLE == "entry" else "inner",
                            trust=["127.0.0.0/8"], trusts_forwarded=True)
STUB = None
if NEXT:
    channel = grpc.intercept_channel(grpc.insecure_channel(NEXT),
                                     cpt_trace.grpc_client("next"))
    STUB = channel.unary_unary(METHOD)
server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), handlers=[Handler()],
                     interceptors=[cpt_trace.grpc_server(SERVICE)])
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print("grpc %d\n%s listens on 127.0.0.1:%d" % (port, NAME, port), flush=True)
server.wait_for_termination()
