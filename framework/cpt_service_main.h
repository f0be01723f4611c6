/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_service_main.h - the main() of a service
 *
 *      int main(int argc, char **argv)
 *      {
 *          return cpt_service_main(
 *              argc, argv,
 *              CPT_MAIN(.name = "front",
 *                       .methods = CPT_METHODS(CPT_METHOD("/page", tasks)),
 *                       .stubs = CPT_STUBS(&price_stub, &stock_stub)));
 *      }
 *
 * It reads flags and environment, makes what the service is made of, serves over HTTP
 * until SIGTERM or SIGINT, answers what it has, and frees all in the right order.
 * A flag counts more than the environment, this more than the options:
 *
 *      --listen HOST:PORT     CPT_LISTEN       port 0: any free one, which is printed
 *      --to SERVICE=URL,...   CPT_TO           where the stubs of SERVICE find it;
 *                                              SERVICE=URL,URL: several targets
 *      --operators-of SERVICE=HOST:PORT,... or SERVICE=:PORT
 *                             CPT_OPERATORS_OF where SERVICE tells operators of its
 *                                              requests, for `cpt wait`
 *      --probability P        CPT_PROBABILITY  of tracing a request; 0: never
 *      --log DIRECTORY        CPT_LOG          records of traced requests, in files
 *      --spans DIRECTORY      CPT_SPANS        their spans, for Jaeger and others
 *      --graph K              CPT_GRAPH        keeps whole graphs beside the log, of
 *                                              one in K; 0: only what callers keep
 *      --log-keep SIZE        CPT_LOG_KEEP     of each of these: the oldest files are
 *                                              removed; default 4GiB; or all
 *      --trust NETWORK,...    CPT_TRUST        clients that may ask an entry for a
 *                                              path; or certificates, dns:a.shop
 *      --workers N            CPT_WORKERS      threads; default: the processors
 *      --counters             CPT_COUNTERS     serves /cpt/counters and /cpt/metrics
 *      --operators HOST:PORT  CPT_OPERATORS    health, readiness, metrics: cpt_http.h
 *      --settings FILE        CPT_SETTINGS     is watched: cpt_settings.h
 *      --unready SECONDS      CPT_UNREADY      not ready but serving, before it drains
 *      --tls-certificate FILE CPT_TLS_CERTIFICATE   serves by TLS; calls show it, too
 *      --tls-key FILE         CPT_TLS_KEY           its key, if not in that file
 *      --tls-clients FILE     CPT_TLS_CLIENTS       who signs certificates of clients
 *      --tls-clients-only     CPT_TLS_CLIENTS_ONLY  clients without one are refused
 *      --tls-ca FILE          CPT_TLS_CA            who signs those of services that it
 *                                                   calls; default: the system's
 *      --version                               prints `version`, and that of cpt
 *      --help
 *
 * SIGHUP begins another file of the log, and reads settings and certificates. Tasks run
 * on a pool, so their steps may block. When it serves it prints "NAME listens on
 * HOST:PORT"; errors go to standard error.
 *
 * Threads: call it from the main thread, once at a time.
 */
#ifndef CPT_SERVICE_MAIN_H
#define CPT_SERVICE_MAIN_H

#include "cpt_rpc.h"

CPT_BEGIN_DECLS

struct cpt_executor;
struct cpt_http;
struct cpt_http_options;
struct cpt_shared;
struct cpt_shared_options;

/* A method, "/price" or "*", and the graph that answers it: tasks that take rpc_request
 * and give rpc_reply. */
struct cpt_main_method {
    const char *method;
    const struct cpt_task_def *tasks;
    size_t task_count;
    uint64_t timeout_ns; /* of its requests; 0: the service's */
};

/* A pool of threads beside that of the service, for what blocks: a database. Tasks run
 * on it by `runs_on` of their row (cpt_graph.h). */
struct cpt_main_pool {
    const char *name;
    unsigned worker_count;
    struct cpt_executor **pool; /* set before `begin` */
};

/* Work that requests share; see cpt_shared.h. */
struct cpt_main_share {
    const char *name;
    const struct cpt_graph *graph;            /* one run of it is the work */
    struct cpt_shared **shared;               /* set before `begin` */
    const struct cpt_shared_options *options; /* the others; NULL: the defaults */
};

/* A flag of the program's own, "--database FILE". */
struct cpt_main_flag {
    const char *name;       /* "database", without dashes */
    const char *value_name; /* "FILE" */
    const char *help;       /* for --help */
    const char **value;     /* set to the flag's value, which lives as long as argv */
};

/* What the service is made of, for `begin`. */
struct cpt_main_parts {
    struct cpt_service *service;
    struct cpt_executor *executor;
    struct cpt_transport *transport;
    struct cpt_http *http;
};

/* See cpt_options_read(). Everything but `name` and `methods` may be left out. All is
 * borrowed for the time of the call. */
struct cpt_main_options {
    size_t struct_bytes;
    const char *name;                      /* of the service, as in its graphs */
    const struct cpt_main_method *methods; /* ended by {NULL} */
    struct cpt_stub *const *stubs; /* what it calls, ended by NULL; those of the service
                                      "stock" have names as "stock: /level". Targets and
                                      transports that are NULL are set. */
    const char *listen;            /* default "127.0.0.1:8080" */
    const struct cpt_main_flag *flags; /* ended by {NULL} */
    /* Called when all is made and nothing serves yet: opens what tasks use, and sets
     * the transports of stubs that are not called by HTTP: cpt_grpc_transport()
     * (docs/grpc.md). An error ends the program, with its sentence. */
    cpt_status (*begin)(void *context, const struct cpt_main_parts *parts,
                        struct cpt_error *error);
    /* Called when no task runs any more, before the pool and the service are freed;
     * only if `begin` has succeeded. */
    void (*end)(void *context);
    void *context;
    const struct cpt_service_options *service; /* what flags do not say: role, limits,
                                                  timeouts … */
    const struct cpt_http_options *http;
    unsigned role;                       /* enum cpt_role, if not in `service` */
    const struct cpt_main_pool *pools;   /* ended by {NULL} */
    const struct cpt_main_share *shares; /* ended by {NULL} */
    uint64_t
        drain_ns; /* for requests, and work after answers, at the end; default 10 s,
                          where `http` says nothing else */
    const char *version; /* of the program, for --version; NULL: that of cpt alone */
};

/* The options, their methods and their stubs as lists; in C. */
#define CPT_MAIN(...)                                                                  \
    (&(const struct cpt_main_options){.struct_bytes = sizeof(struct cpt_main_options), \
                                      __VA_ARGS__})
#define CPT_METHODS(...)                                                               \
    ((const struct cpt_main_method[]){__VA_ARGS__, {NULL, NULL, 0, 0}})
#define CPT_POOLS(...) ((const struct cpt_main_pool[]){__VA_ARGS__, {NULL, 0, NULL}})
#define CPT_SHARES(...)                                                                \
    ((const struct cpt_main_share[]){__VA_ARGS__, {NULL, NULL, NULL, NULL}})
/* One of CPT_METHODS(): the array @rows answers @name. */
#define CPT_METHOD(name, rows)                                                         \
    {                                                                                  \
        (name), (rows), sizeof(rows) / sizeof((rows)[0]), 0                            \
    }
#define CPT_STUBS(...) ((struct cpt_stub *const[]){__VA_ARGS__, NULL})

/*
 * Serves, until a signal. The exit status of the program: 0; 1 with a sentence on
 * standard error, also if work was still running when the time to drain was over, which
 * is then left alone; 2 if a flag or a variable is wrong.
 */
CPT_API int cpt_service_main(int argc, char **argv,
                             const struct cpt_main_options *options);

CPT_END_DECLS

#endif
