/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* stock.c - a database that blocks, on a thread of its own */
#include <cpt/cpt_calls.h>
#include <cpt/cpt_runtime.h>
#include <cpt/cpt_service_main.h>

#include <unistd.h>

CPT_VALUE(item, int64_t);
CPT_VALUE(left, int64_t);

static struct cpt_executor *database; /* one thread */

/* --- On the thread of the database --- */

/* A library that blocks, and knows nothing of tasks but that it may be in one. */
static int64_t database_look_up(int64_t item)
{
    struct cpt_task *task = cpt_current_task();

    usleep(3000);
    if (task != NULL) {
        cpt_request_set(cpt_task_request(task), "table", "stock");
    }
    return item % 7;
}

static cpt_status query(struct cpt_task *task)
{
    *cpt_output(task, left) = database_look_up(*cpt_input(task, item));
    return CPT_OK;
}

static const struct cpt_task_def query_tasks[] = {
    {"query", query, CPT_GIVES(left), CPT_NEEDS(item)},
};
static const struct cpt_graph on_database = CPT_GRAPH("stock", item, left, query_tasks);

/* --- A request --- */

static cpt_status parse(struct cpt_task *task)
{
    return cpt_number_of(cpt_input(task, rpc_request)->body, cpt_output(task, item));
}

static cpt_status answer(struct cpt_task *task)
{
    return cpt_print(task, &cpt_output(task, rpc_reply)->body, "%d",
                     (int)*cpt_input(task, left));
}

static const struct cpt_task_def tasks[] = {
    {"parse", parse, CPT_GIVES(item), CPT_NEEDS(rpc_request)},
    {"look up", NULL, CPT_GIVES(left), CPT_NEEDS(item), .component = &on_database,
     .runs_on = &database},
    {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(left)},
};

int main(int argc, char **argv)
{
    return cpt_service_main(
        argc, argv,
        CPT_MAIN(.name = "stock", .role = CPT_ROLE_INNER,
                 .methods = CPT_METHODS(CPT_METHOD("/stock", tasks)),
                 .pools = CPT_POOLS({"database", 1, &database})));
}
