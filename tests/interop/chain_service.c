/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * chain_service.c - the first and the last service of a chain through several languages
 *
 *      chain_service front FLAGS...    A: /page, which calls B: /search
 *      chain_service back FLAGS...     D: /stock
 *
 * The query goes from one to the next, and comes back in the body. FLAGS are those of
 * cpt_service_main.h.
 */
#include "framework/cpt_calls.h"
#include "framework/cpt_service_main.h"

#include <string.h>

CPT_VALUE(id, struct cpt_bytes);
CPT_VALUE(found, struct cpt_bytes);

static struct cpt_stub search = {.name = "B: /search", .method = "GET /search?id={id}"};

/* --- A --- */

static cpt_status parse(struct cpt_task *task)
{
    *cpt_output(task, id) = cpt_input(task, rpc_request)->query;
    return CPT_OK;
}

static cpt_status render(struct cpt_task *task)
{
    const struct cpt_bytes *found = cpt_input(task, found);

    return cpt_print(task, &cpt_output(task, rpc_reply)->body, "A(%.*s)",
                     (int)found->bytes, found->data);
}

static const struct cpt_task_def front[] = {
    {"parse", parse, CPT_GIVES(id), CPT_NEEDS(rpc_request)},
    CPT_CALLS("search", found, CPT_NEEDS(id), &search),
    {"render", render, CPT_GIVES(rpc_reply), CPT_NEEDS(found)},
};

/* --- D --- */

static cpt_status count(struct cpt_task *task)
{
    const struct cpt_bytes query = cpt_input(task, rpc_request)->query;

    return cpt_print(task, &cpt_output(task, rpc_reply)->body, "D(%.*s)",
                     (int)query.bytes, query.data);
}

static const struct cpt_task_def back[] = {
    {"count", count, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};

int main(int argc, char **argv)
{
    const int is_front = argc > 1 && strcmp(argv[1], "front") == 0;

    if (argc < 2) {
        return 2;
    }
    return is_front ? cpt_service_main(
                          argc - 1, argv + 1,
                          CPT_MAIN(.name = "A", .stubs = CPT_STUBS(&search),
                                   .methods = CPT_METHODS(CPT_METHOD("/page", front))))
                    : cpt_service_main(
                          argc - 1, argv + 1,
                          CPT_MAIN(.name = "D", .role = CPT_ROLE_INNER,
                                   .methods = CPT_METHODS(CPT_METHOD("/stock", back))));
}
