/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * entry_service.c - an entry service with the default options, for proxies in front
 *
 *      entry_service [NETWORK]        that trusts clients of NETWORK
 *
 * "/echo" answers with the body. Prints "S http://127.0.0.1:PORT"; ends by SIGTERM.
 */
#include "framework/cpt_rpc.h"
#include "framework/transport/cpt_http.h"

#include <stdio.h>

static cpt_status echo(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_input(task, rpc_request)->body;
    return CPT_OK;
}

int main(int argc, char **argv)
{
    static const struct cpt_task_def tasks[] = {
        {"echo", echo, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
    static const struct cpt_graph graph = {"S", CPT_GIVES(rpc_request),
                                           CPT_GIVES(rpc_reply), tasks, 1};
    const struct cpt_http_options http_options = {.struct_bytes = sizeof http_options,
                                                  .serves_counters = 1};
    const char *const networks[] = {argc > 1 ? argv[1] : NULL, NULL};
    struct cpt_service_options options = {.struct_bytes = sizeof options, .name = "S"};
    struct cpt_http *http = cpt_http_new(&http_options, NULL);
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_service *service = NULL;
    struct cpt_error error = {0};
    uint16_t port = 0;
    cpt_status status = CPT_FAILED;

    if (http == NULL || plan == NULL) {
        return 1;
    }
    options.executor = cpt_http_executor(http);
    options.trusted_networks = argc > 1 ? networks : NULL;
    service = cpt_service_new(&options, &error);
    if (service != NULL &&
        cpt_service_method_add(service, "/echo", plan, &error) == CPT_OK &&
        cpt_http_listen(http, service, NULL, 0, &port, &error) == CPT_OK &&
        cpt_http_stop_on_signals(http, &error) == CPT_OK) {
        (void)printf("S http://127.0.0.1:%u\n", port);
        (void)fflush(stdout);
        status = cpt_http_run(http);
    } else {
        (void)fprintf(stderr, "entry_service: %s\n", error.sentence);
    }
    cpt_service_free(service);
    cpt_http_free(http);
    cpt_plan_free(plan);
    return status == CPT_OK ? 0 : 1;
}
