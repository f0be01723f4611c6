/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_grpc.h - services and calls over gRPC
 *
 * A struct cpt_grpc is a queue of events and the thread that takes them out. It
 * *serves* methods of services, unary ones and server streams, and it is the
 * *transport* of stubs:
 *
 *      struct cpt_grpc_options options = {.struct_bytes = sizeof(options)};
 *      struct cpt_grpc *grpc = cpt_grpc_new(&options, &error);
 *
 *      stub.transport = cpt_grpc_transport(grpc);
 *      stub.target = "127.0.0.1:50051";
 *      stub.method = "/shop.Prices/Find";
 *      ... cpt_service_new(), cpt_service_method_add(service, "/shop.Front/Page", …)
 *      cpt_grpc_listen(grpc, service, "127.0.0.1", 50051, NULL, &error);
 *      ... wait until the program is to end ...
 *      cpt_grpc_stop(grpc);
 *      cpt_service_drain(service, ...);
 *      ... cpt_pool_free(), cpt_service_free() ...
 *      cpt_grpc_free(grpc);
 *
 * A method may send messages before its answer (cpt_rpc_send()), and a stub whose
 * answer is a stream (is_stream) has all of them, up to the last, when the call is
 * complete. The path is in the trailing metadata, behind the last message.
 *
 * A body is one message, as bytes: encoding and decoding of protobuf is the task's. An
 * answer with another outcome than OK has no message; its body becomes the status
 * message, and a callee's status message becomes the body of the reply. A path that no
 * method takes is answered UNIMPLEMENTED.
 *
 * The thread runs no task unless the service has no executor: give it a pool, or the
 * loop of cpt_http.h. Answers are sent by the thread that has them.
 *
 * Metadata: `critical-path` and `critical-path-nonce`, `traceparent` and `tracestate`,
 * `cpt-slack` with a request; the path in the trailing metadata as `critical-path-bin`,
 * bytes. Other metadata in ASCII are headers. The timeout of a call is gRPC's deadline,
 * which the callee always learns.
 * Cancelling a call cancels it in the callee; so does the end of its connection
 * (keeps_abandoned).
 *
 * Targets are those of gRPC: "host:port", "dns:///host:port", "unix:/path"; and by TLS
 * "https://host:port". Of several addresses, "ipv4:10.0.0.1:80,10.0.0.2:80", those that
 * are connected get calls in turn. TLS: cpt_grpc_listen_tls() for ports, `calls_tls` of
 * the options for calls.
 *
 * gRPC itself ends the process if it gets no memory, and says of its C functions that
 * they are made for bindings and may change; 1.51 is tested.
 *
 * Threads: any, but cpt_grpc_stop() and cpt_grpc_free() not in a task that the thread
 * of events runs.
 */
#ifndef CPT_GRPC_H
#define CPT_GRPC_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

struct cpt_counter;
struct cpt_grpc;
struct cpt_http_tls; /* of cpt_http.h */
struct cpt_service;
struct cpt_transport;

/* What it allows; see cpt_options_read(). A zero field means its default. */
struct cpt_grpc_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc; /* for our own memory; gRPC uses malloc */
    uint64_t drain_ns;   /* how long cpt_grpc_stop() waits for requests that have
                                 come; default 5 s */
    uint64_t unready_ns; /* how long it says before that it is not ready, and goes
                                 on serving; default 0 */
    /* Defaults of bytes, but that of metadata, are at most a part of cpt_memory_max():
     * of a message and a stream 1/16, of all input and all streams 1/8 each. */
    size_t body_bytes_max;     /* of a message; default 4 MiB */
    size_t metadata_bytes_max; /* of all metadata of a message; gRPC ends a call whose
                                  reply has more; default 64 KiB */
    size_t requests_open_max;  /* of clients, of which some part has come; more are
                                 answered RESOURCE_EXHAUSTED; default 10,000 */
    size_t calls_open_max;     /* to other services; more are CPT_UNAVAILABLE; default
                                 10,000 */
    size_t streams_max;        /* requests at once of one connection; default 1,000 */
    size_t input_bytes_max;    /* of what servers keep of connections and requests: the
                                 quota of gRPC; default 128 MiB */
    uint64_t body_ns;          /* for the message once a request has begun, to a second;
                                 default 30 s */
    int keeps_abandoned; /* a request continues although its client has cancelled it, or
                            its deadline has passed; default: it is cancelled */
    int serves_health;   /* answers grpc.health.v1.Health/Check */
    /* Of calls to https; default: the system's certificates say whom to believe, and
     * we show none. Used until cpt_grpc_new() returns. */
    const struct cpt_http_tls *calls_tls;
    size_t stream_bytes_max;  /* of the messages of a stream, and 128 bytes for each:
                                 those that a client has not taken yet; all that come as
                                 the reply of a call; default 16 MiB */
    size_t streams_bytes_max; /* of all streams together; default 256 MiB */
    int takes_compressed; /* the body of a compressed request is handed on as it came,
                             and is uncompressed by the task, in pieces: its first bytes
                             tell; default: gRPC uncompresses it as a whole, whatever
                             its size is then */
    /* Of all trailing metadata of a reply, where a path goes with it: the least that a
     * client or a proxy on the way takes, as HTTP/2 counts. The path has what the
     * others leave, less 512 bytes for those that proxies add, and is left out if
     * nothing is (cpt_path_bytes_left()). Limits no other metadata; default 8,192,
     * which is what clients of gRPC take; of an answer without a message, which is one
     * block with its head, 4,096, which is what nginx takes. */
    size_t headers_bytes_max;
};

/* A transport whose thread runs, or NULL with the reason in @error. */
CPT_API struct cpt_grpc *cpt_grpc_new(const struct cpt_grpc_options *options,
                                      struct cpt_error *error);

/*
 * Stops at once, if cpt_grpc_stop() was not called, and frees. Outstanding calls end as
 * CPT_CANCELLED. A request that outlived the stop may still reply. NULL is fine.
 */
CPT_API void cpt_grpc_free(struct cpt_grpc *grpc);

/* Carries calls (struct cpt_stub.transport). Valid until cpt_grpc_free(). */
CPT_API struct cpt_transport *cpt_grpc_transport(struct cpt_grpc *grpc);

/*
 * Serves @service, which must outlive the stop, on the numeric @address (NULL:
 * 127.0.0.1) and @port (0: any free one) from now on. *@bound_port, unless @bound_port
 * is NULL, is set to the port in use. Call it for each port and service, once its
 * methods are added.
 *
 * CPT_OK; CPT_IO with the reason; CPT_INVALID: it was stopped; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_grpc_listen(struct cpt_grpc *grpc, struct cpt_service *service,
                                   const char *address, uint16_t port,
                                   uint16_t *bound_port, struct cpt_error *error);

/*
 * The same with TLS, by the files of HTTP (struct cpt_http_tls), which are read now,
 * and by cpt_grpc_reload_tls(). CPT_IO, CPT_INVALID, CPT_LIMIT with the name of the
 * file that is bad, and the reason. What a client's certificate is called may be
 * trusted: "dns:tools.shop", "uri:…", "email:…" of trusted_networks, but not
 * "issuer:…".
 */
CPT_API cpt_status cpt_grpc_listen_tls(struct cpt_grpc *grpc,
                                       struct cpt_service *service,
                                       const struct cpt_http_tls *tls,
                                       const char *address, uint16_t port,
                                       uint16_t *bound_port, struct cpt_error *error);

/*
 * Reads the files of all ports with TLS again: new connections get what is there now.
 * If one of them is bad, none has changed: CPT_IO, CPT_INVALID, CPT_LIMIT with the name
 * of the file and the reason, CPT_NO_MEMORY. Whether clients must show a certificate
 * stays. Blocks while it reads, and first until no file was changed for a second;
 * CPT_IO if that takes four. One thread at a time. For SIGHUP, and where a
 * certificate was renewed. The certificates of calls are not read again.
 */
CPT_API cpt_status cpt_grpc_reload_tls(struct cpt_grpc *grpc, struct cpt_error *error);

/* Whether Health/Check says SERVING, until it is stopped; at first it does. */
CPT_API void cpt_grpc_set_ready(struct cpt_grpc *grpc, int is_ready);

/*
 * Is not ready for unready_ns; then takes no more requests, waits for up to drain_ns
 * for those that have come, and cuts off the rest: calls end as CPT_CANCELLED. Returns
 * when that is done. Call it once.
 *
 * CPT_OK: nothing is left. CPT_TIMEOUT: tasks of some requests may still run on other
 * threads: do not free the services, end the process.
 */
CPT_API cpt_status cpt_grpc_stop(struct cpt_grpc *grpc);

/* Visits the transport's own counters, like cpt_service_counters(). */
CPT_API void cpt_grpc_counters(struct cpt_grpc *grpc,
                               void (*visit)(void *context,
                                             const struct cpt_counter *counter),
                               void *context);

CPT_END_DECLS

#endif
