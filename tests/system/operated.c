/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * operated.c - a service with a port for operators: prints both ports, runs until it is
 * stopped by a signal
 */
#include "framework/cpt_rpc.h"
#include "framework/transport/cpt_http.h"

#include <stdio.h>

static cpt_status show(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);

    cpt_output(task, rpc_reply)->body = cpt_rpc_parameter(request, "id");
    return CPT_OK;
}

static const struct cpt_task_def rows[] = {
    {"show", show, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph graph = {"shop \"1\"", CPT_GIVES(rpc_request),
                                       CPT_GIVES(rpc_reply), rows, 1};

static int serve(struct cpt_http *http, struct cpt_service *service,
                 struct cpt_plan *plan, struct cpt_error *error)
{
    uint16_t port = 0;
    uint16_t operators = 0;

    if (cpt_service_method_add(service, "GET /item/{id}", plan, error) != CPT_OK ||
        cpt_http_listen(http, service, NULL, 0, &port, error) != CPT_OK ||
        cpt_http_listen_operators(http, service, NULL, 0, &operators, error) !=
            CPT_OK ||
        cpt_http_stop_on_signals(http, error) != CPT_OK) {
        return 1;
    }
    (void)printf("%u %u\n", (unsigned)port, (unsigned)operators);
    (void)fflush(stdout);
    return cpt_http_run(http) == CPT_OK ? 0 : 1;
}

int main(void)
{
    struct cpt_error error = {0};
    struct cpt_http *http = cpt_http_new(NULL, &error);
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, &error);
    struct cpt_service_options options = {.struct_bytes = sizeof options,
                                          .name = "shop \"1\"",
                                          .probability = -1,
                                          .measures_latency = 1};
    struct cpt_service *service = NULL;
    int status = 1;

    if (http != NULL) {
        options.executor = cpt_http_executor(http);
        service = cpt_service_new(&options, &error);
    }
    if (service != NULL && plan != NULL) {
        status = serve(http, service, plan, &error);
    }
    if (error.status != CPT_OK) {
        (void)fprintf(stderr, "operated: %s\n", error.sentence);
    }
    cpt_service_free(service);
    cpt_http_free(http);
    cpt_plan_free(plan);
    return status;
}
