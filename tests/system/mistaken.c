/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* mistaken.c - a service with the mistake that $MISTAKE names; for mistakes.sh */
#include "framework/cpt_calls.h"
#include "framework/cpt_service_main.h"

#include <stdlib.h>
#include <string.h>

CPT_VALUE(number, int64_t);

static struct cpt_stub listed = {.name = "price: /price", .method = "/price"};
static struct cpt_stub forgotten = {.name = "stock: /level", .method = "/level"};
static struct cpt_stub simple = {.name = "simple", .method = "/"};

static cpt_status answer(struct cpt_task *task)
{
    return cpt_print(task, &cpt_output(task, rpc_reply)->body, "%d",
                     (int)*cpt_input(task, number));
}

static cpt_status parse(struct cpt_task *task)
{
    *cpt_output(task, number) = 1;
    return CPT_OK;
}

static const struct cpt_task_def plain[] = {
    {"parse", parse, CPT_GIVES(number), CPT_NEEDS(rpc_request)},
    {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(number)},
};
static const struct cpt_task_def calls[] = {
    CPT_CALLS("level", number, CPT_NEEDS_NOTHING, &listed, .other_stub = &forgotten),
    {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(number)},
};
static const struct cpt_graph inner = CPT_GRAPH("a", rpc_request, rpc_reply, calls);
static const struct cpt_task_def nested[] = {
    {"inner", NULL, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), .component = &inner},
};

static const struct cpt_main_method no_mistake[] = {CPT_METHOD("/", plain), {0}};
static const struct cpt_main_method no_slash[] = {CPT_METHOD("GET items/{id}", plain),
                                                  {0}};
static const struct cpt_main_method with_query[] = {CPT_METHOD("/items?id", plain),
                                                    {0}};
static const struct cpt_main_method nests[] = {CPT_METHOD("/", nested), {0}};

static const struct cpt_main_method *methods_with(const char *mistake)
{
    return strcmp(mistake, "no slash") == 0         ? no_slash
           : strcmp(mistake, "query") == 0          ? with_query
           : strcmp(mistake, "forgotten stub") == 0 ? nests
                                                    : no_mistake;
}

int main(int argc, char **argv)
{
    const char *mistake = getenv("MISTAKE");

    if (mistake == NULL) {
        mistake = "none";
    }
    return cpt_service_main(argc, argv,
                            CPT_MAIN(.name = "a", .methods = methods_with(mistake),
                                     .stubs = strcmp(mistake, "simple stub") == 0
                                                  ? CPT_STUBS(&listed, &simple)
                                                  : CPT_STUBS(&listed)));
}
