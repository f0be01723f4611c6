/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_http.h - services and calls over HTTP/1.1, on one event loop
 *
 * A struct cpt_http is one event loop with three roles: it *serves* requests for
 * services, it is the *transport* of stubs, and it is an *executor* that runs tasks on
 * the loop's own thread. Most programs have one, and use all three:
 *
 *      connections in --> [ listen ] --> cpt_service_serve() --> reply
 *                              |
 *                        one loop thread: cpt_http_run()
 *                              |
 *      cpt_call() ------> [ transport ] --> pooled connections out
 *
 *      struct cpt_http_options options = {.struct_bytes = sizeof(options)};
 *      struct cpt_http *http = cpt_http_new(&options, &error);
 *
 *      service_options.executor = cpt_http_executor(http);
 *      stub.transport = cpt_http_transport(http);
 *      ... cpt_service_new(), cpt_service_method_add() ...
 *      cpt_http_listen(http, service, "127.0.0.1", 8080, NULL, &error);
 *      cpt_http_stop_on_signals(http, &error);
 *      cpt_http_run(http);                  until SIGTERM, then drained
 *      cpt_service_drain(service, ...);     tasks that run on after the replies
 *      ... cpt_pool_free() if tasks ran on one, cpt_service_free() ...
 *      cpt_http_free(http);
 *
 * Headers: `critical-path` and `critical-path-nonce` with a request that asks for a
 * path, `critical-path-bin` (unpadded base64) with the reply to it, `traceparent` and
 * `tracestate`, `cpt-timeout` with a call of a request that has a deadline, `cpt-slack`
 * with one that may be late. Nothing else tells that a request was made by this
 * library.
 *
 * Cancelling a call closes its connection; a request whose client has closed its
 * connection is cancelled (keeps_abandoned).
 *
 * Connections out are kept and reused. Each carries one call at a time, so each target
 * has up to connection_count_max of them, or fewer where descriptors are short (see
 * descriptor_count_reserved); further calls wait, first come, first served, and the
 * path shows their wait as ‹queue›.
 *
 * If a kept connection breaks before a byte of the reply has come, the call is sent
 * again on a new one, but only if nothing of it was written, or the callee may carry it
 * out twice: GET, HEAD, OPTIONS, TRACE, PUT, DELETE, and what is said to be so
 * (`is_idempotent` in cpt_calls.h). Others end as CPT_IO: where callees close unused
 * connections, let idle_ns be less than their time.
 *
 * A message that two programs may read in two ways is not taken: two lengths, a blank
 * before a colon, a length beside a transfer coding, and the like. As a request it is
 * answered 400, or 501 if its transfer coding is not known, and the connection is
 * closed; as a reply it ends its call as CPT_CORRUPT.
 *
 * Verbs: those that methods of the service take; others are answered 405, CONNECT 501.
 * The reply to HEAD has no body, but its length.
 *
 * Browsers: `hosts`, `reply_headers` and `serves_get_only` of the options.
 *
 * Targets are "http://host:port" or "host:port" (port 80 if absent), or by TLS
 * "https://host:port" (port 443); hosts are names or numbers, IPv6 in brackets. A stub
 * may have several: a list with commas, or a name with several addresses; cpt_targets.h
 * says which one a call goes to.
 *
 * TLS: cpt_http_listen_tls() for ports, `calls_tls` of the options for calls.
 *
 * Threads: cpt_http_listen() and cpt_http_stop_on_signals() before cpt_http_run();
 * cpt_http_stop(), cpt_http_counters(), and the functions of the executor and of the
 * transport from any thread.
 */
#ifndef CPT_HTTP_H
#define CPT_HTTP_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

struct cpt_counter;
struct cpt_executor;
struct cpt_http;
struct cpt_service;
struct cpt_target_options;
struct cpt_transport;

/*
 * The certificates of a port, or of calls: files in PEM, whose names are copied. See
 * cpt_options_read(). TLS is 1.2 or 1.3.
 */
struct cpt_http_tls {
    size_t struct_bytes;
    const char *certificate_file; /* our own, then those between it and its root. Calls:
                                     default: none */
    const char *key_file; /* its key, which strangers must not be able to read; default:
                             it stands in certificate_file */
    const char *ca_file;  /* who signs the certificates of the other side. A port: asks
                             clients for one; what they show must be good; default:
                             does not ask. Calls: default: the system's */
    int requires_certificate; /* a port: clients without one are refused */
};

/* What it allows; see cpt_options_read(). A zero field means its default. */
struct cpt_http_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc; /* for our own memory; libevent uses malloc */
    uint64_t drain_ns;             /* how long cpt_http_run(), once stopped, waits for
                                      requests that it has; default 5 s */
    uint64_t idle_ns;              /* closes an unused connection; default 60 s */
    size_t connection_count_max;   /* to one target; default 64 */
    size_t waiting_count_max;      /* calls that wait for one; default 1024; more are
                                      CPT_UNAVAILABLE */
    size_t header_bytes_max;       /* of a message's headers; default 16 KiB */
    /* Defaults of bytes, but that of headers, are at most a part of cpt_memory_max():
     * of a body 1/16, of all input and all output 1/8 each. */
    size_t body_bytes_max;       /* of a message's body; default 4 MiB */
    int serves_counters;         /* answers GET <prefix>/counters (JSON),
                                      <prefix>/metrics (Prometheus text) and
                                      <prefix>/requests (cpt_running.h) */
    const char *counters_prefix; /* default "/cpt" */
    size_t accepted_count_max;   /* connections from clients, to all services; default
                                      10,000; see descriptor_count_reserved; more wait
                                      until one is closed */
    int keeps_abandoned;         /* a request continues although its client has closed
                                      the connection, or its side of it; default: it is
                                      cancelled */
    /* For servers that browsers reach. The names that a Host header may have, with the
     * port that is listened on: "127.0.0.1", "localhost", "[::1]", ended by NULL; any
     * other is answered 403, as it may be a foreign name that was pointed here (DNS
     * rebinding). So is what a browser asks for a page of another site (Sec-Fetch-Site:
     * cross-site), but for "/", which links may lead to. Default: any. Borrowed until
     * cpt_http_free(), as the next. */
    const char *const *hosts;
    const char *const *reply_headers; /* "Name: value" of each reply, ended by NULL */
    int serves_get_only;              /* other verbs than GET are answered 405 */
    /* For servers that strangers reach. What is beyond is cut off, with 503 or 408 if
     * nothing else is being answered on the connection. */
    size_t descriptor_count_reserved; /* of RLIMIT_NOFILE, for all but connections of
                                         clients: accepted_count_max is at most the
                                         rest; default: a quarter, at least 48 (but at
                                         most half), at most 1,024. Half of it is for
                                         calls, which may also have what clients do not
                                         use; then there may be fewer clients. No target
                                         takes more than half of what is left */
    size_t accepted_per_address_max;  /* connections from one address; default: no
                                         limit, as all may come from one proxy */
    size_t input_bytes_max;           /* of requests that are not answered yet, of all
                                         connections; default 128 MiB. Beyond, those
                                         that are the slowest for what they hold are cut
                                         off, but none that is whole */
    uint64_t header_ns; /* for the head of a request once it has begun; default 20 s */
    uint64_t body_ns;   /* for its body; default 30 s, and a second more for each
                           body_bytes_per_second_min that have come, but never more
                           than this from the last byte */
    size_t body_bytes_per_second_min; /* default 1,024 */
    int serves_health; /* answers GET /healthz and /readyz on the ports of services,
                            too; see cpt_http_listen_operators() */
    uint64_t
        unready_ns;  /* how long, once stopped, it says that it is not ready but goes
                            on serving, before it drains: as long as the balancer takes
                            to notice; default 0 */
    int shares_port; /* others that say so may listen on the same port: one loop for
                        each core, with a service of its own; the system gives each
                        connection to one of them; such loops of a
                        process have equal parts of the descriptors. One that is full
                        does not hand its clients to the others */
    size_t output_bytes_max; /* of replies that clients have not taken yet, of all
                                connections; default 256 MiB. Beyond, the client that
                                has taken nothing for longest is cut off; a reply that
                                is larger by itself is sent nevertheless */
    const struct cpt_target_options *targets; /* how calls choose between the targets of
                                                 a stub: cpt_targets.h; NULL: the
                                                 defaults. Borrowed until cpt_http_new()
                                                 returns */
    /* Of calls to https; default: the system's certificates say whom to believe, and
     * we show none. Used until cpt_http_new() returns. */
    const struct cpt_http_tls *calls_tls;
    /* Of all headers of a reply, where a path goes with it: the least that a proxy or a
     * client on the way takes. The path has what the others and the target of the
     * request leave, less 512 bytes for those that proxies add, and is left out if
     * nothing is (cpt_path_bytes_left()), or if there would be more than one header for
     * each CPT_HEADERS_BYTES_EACH. Limits no other header; default 4,096, which is what
     * nginx takes. */
    size_t headers_bytes_max;
};

/* A loop that is not running yet, or NULL with the reason in @error. */
CPT_API struct cpt_http *cpt_http_new(const struct cpt_http_options *options,
                                      struct cpt_error *error);

/*
 * Frees; the loop must not be running. Outstanding calls end as CPT_CANCELLED.
 * A request that outlived cpt_http_run() may still reply. NULL is fine.
 */
CPT_API void cpt_http_free(struct cpt_http *http);

/* Runs tasks on the thread that is in cpt_http_run(). Valid until cpt_http_free(). */
CPT_API struct cpt_executor *cpt_http_executor(struct cpt_http *http);

/* Carries calls (struct cpt_stub.transport). Valid until cpt_http_free(). */
CPT_API struct cpt_transport *cpt_http_transport(struct cpt_http *http);

/*
 * Serves @service, which must outlive the run, on the numeric @address (NULL:
 * 127.0.0.1) and @port (0: any free one). *@bound_port, unless @bound_port is NULL, is
 * set to the port in use. Call it for each port and service.
 *
 * CPT_OK; CPT_IO with the reason; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_http_listen(struct cpt_http *http, struct cpt_service *service,
                                   const char *address, uint16_t port,
                                   uint16_t *bound_port, struct cpt_error *error);

/*
 * The same with TLS. CPT_IO, CPT_INVALID with the name of the file that is bad, and the
 * reason; CPT_UNAVAILABLE: the library was built without TLS.
 *
 * A handshake has header_ns. Clients that speak HTTP without TLS are answered 400.
 */
CPT_API cpt_status cpt_http_listen_tls(struct cpt_http *http,
                                       struct cpt_service *service,
                                       const struct cpt_http_tls *tls,
                                       const char *address, uint16_t port,
                                       uint16_t *bound_port, struct cpt_error *error);

/*
 * The same for a port of operators, which serves not @service but what is about it:
 *
 *      /healthz                      200: the loop answers
 *      /readyz                       200; 503 once it stops, or cpt_http_set_ready(, 0)
 *      /metrics                      Prometheus text; OpenMetrics, with exemplars, if
 *                                    the client accepts that
 *      <prefix>/counters, …          see serves_counters
 *
 * It is answered until the end of the drain, when accepted_count_max connections are
 * open, and when the process has no descriptors left: some are kept back for it. It has
 * at most 64 connections, or an eighth of descriptor_count_reserved, of which the
 * oldest is closed for a new one, and takes bodies of 64 KiB. It is for this machine,
 * or a network of operators.
 */
CPT_API cpt_status cpt_http_listen_operators(struct cpt_http *http,
                                             struct cpt_service *service,
                                             const char *address, uint16_t port,
                                             uint16_t *bound_port,
                                             struct cpt_error *error);

/* Whether /readyz says so, until the loop is stopped; at first it does. From any
 * thread. */
CPT_API void cpt_http_set_ready(struct cpt_http *http, int is_ready);

/*
 * Runs the loop on this thread until it is stopped. Then it is not ready for
 * unready_ns; nothing more is accepted, and requests that have come get drain_ns to
 * finish; the rest is cut off: calls end as CPT_CANCELLED, connections are closed. Call
 * it once.
 *
 * CPT_OK: nothing is left. CPT_TIMEOUT: tasks of some requests may still run on other
 * threads: do not free the services, end the process.
 */
CPT_API cpt_status cpt_http_run(struct cpt_http *http);

/*
 * Reads the files of all certificates again, of ports and of calls, soon and on a
 * thread of its own. New connections use them; those that are open stay as they are. If
 * one file is bad, or was cut short, all stay as they were; a notice and counters tell
 * it (`notify` of `targets`). A file is read once it was still for a second; one that
 * is being changed for four seconds is bad. From any thread while the loop lives, also
 * in a signal handler.
 */
CPT_API void cpt_http_reload_tls(struct cpt_http *http);

/* Makes cpt_http_run() drain and return; a second call ends unready_ns. From any
 * thread, also in a signal handler. */
CPT_API void cpt_http_stop(struct cpt_http *http);

/*
 * SIGTERM and SIGINT stop it; a second one ends the process, as without this call.
 * For one struct cpt_http of a process. CPT_OK; CPT_IO with the reason.
 */
CPT_API cpt_status cpt_http_stop_on_signals(struct cpt_http *http,
                                            struct cpt_error *error);

/* Visits the transport's own counters, like cpt_service_counters(). */
CPT_API void cpt_http_counters(struct cpt_http *http,
                               void (*visit)(void *context,
                                             const struct cpt_counter *counter),
                               void *context);

CPT_END_DECLS

#endif
