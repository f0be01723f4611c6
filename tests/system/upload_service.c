/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * upload_service.c - a service that answers POST /upload with its body
 *
 *      upload_service [--own] [flags of a main()]      --own: limits of its own
 */
#include "framework/cpt_rpc.h"
#include "framework/cpt_service_main.h"
#include "framework/transport/cpt_http.h"

#include <string.h>

static cpt_status answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_input(task, rpc_request)->body;
    return CPT_OK;
}

static const struct cpt_task_def tasks[] = {
    {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};

int main(int argc, char **argv)
{
    static const struct cpt_main_method methods[] = {{"/upload", tasks, 1, 0},
                                                     {NULL, NULL, 0, 0}};
    static const struct cpt_http_options own = {.struct_bytes = sizeof own,
                                                .input_bytes_max = 32 << 20};
    struct cpt_main_options options = {
        .struct_bytes = sizeof options, .name = "U", .methods = methods};

    if (argc > 1 && strcmp(argv[1], "--own") == 0) {
        options.http = &own;
        argc--;
        argv++;
    }
    return cpt_service_main(argc, argv, &options);
}
