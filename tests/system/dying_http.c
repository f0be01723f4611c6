/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * dying_http.c - calls over HTTP, and over TLS, of a callee that dies at any byte
 *
 *      dying_http [COUNT]     of calls, half of them over TLS
 */
#include "dying.h"

#include "framework/cpt_runtime.h"
#include "framework/transport/cpt_http.h"
#include "tests/support/test_random.h"
#ifdef DYING_WITH_TLS
#include "tls_support.h"
#endif

#include <pthread.h>
#include <string.h>

static void must(bool is_good, const char *what)
{
    if (!is_good) {
        (void)fprintf(stderr, "dying_http: %s\n", what);
        abort();
    }
}

static void *loop_main(void *context)
{
    (void)cpt_http_run(context);
    return NULL;
}

static cpt_status listen_on(struct cpt_http *http, struct cpt_service *service,
                            const struct cpt_http_tls *tls, uint16_t *port)
{
    return tls == NULL ? cpt_http_listen(http, service, NULL, 0, port, NULL)
                       : cpt_http_listen_tls(http, service, tls, NULL, 0, port, NULL);
}

static bool try(const char *name, size_t count, const struct cpt_http_tls *serving,
                const struct cpt_http_tls *calling)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof options,
                                             .calls_tls = calling};
    struct cpt_http *callee = cpt_http_new(&options, NULL);
    struct cpt_http *caller = cpt_http_new(&options, NULL);
    struct cpt_service *service = NULL;
    struct dying_wire wire = {.name = name,
                              .scheme = serving != NULL ? "https://" : "http://",
                              .has_verbs = true,
                              .sends_again = true};
    pthread_t threads[2];
    bool is_good = false;

    must(callee != NULL && caller != NULL, "no loop");
    service = dying_service_new(count, cpt_http_executor(callee));
    must(listen_on(callee, service, serving, &wire.port) == CPT_OK, "no port");
    wire.transport = cpt_http_transport(caller);
    must(pthread_create(&threads[0], NULL, loop_main, callee) == 0 &&
             pthread_create(&threads[1], NULL, loop_main, caller) == 0,
         "no thread");
    dying_calls_make(&wire, cpt_http_executor(caller), test_random_seed(name));
    cpt_http_stop(caller);
    cpt_http_stop(callee);
    (void)pthread_join(threads[0], NULL);
    (void)pthread_join(threads[1], NULL);
    is_good = dying_calls_judge(&wire);
    dying_service_free(service);
    cpt_http_free(caller);
    cpt_http_free(callee);
    return is_good;
}

int main(int argc, char **argv)
{
    const size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000;
    bool is_good = false;

#ifdef DYING_WITH_TLS
    (void)certificates_begin();
    {
        const struct certificates *made = certificates();
        const struct cpt_http_tls serving = {.struct_bytes = sizeof serving,
                                             .certificate_file = made->server.file,
                                             .key_file = made->server.key_file};
        const struct cpt_http_tls calling = {.struct_bytes = sizeof calling,
                                             .ca_file = made->authority.file};

        is_good = try("http", count / 2, NULL, &calling);
        is_good = try("https", count - count / 2, &serving, &calling) && is_good;
    }
    (void)certificates_end();
#else
    is_good = try("http", count, NULL, NULL);
#endif
    return is_good ? 0 : 1;
}
