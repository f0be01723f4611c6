/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* catalogue.c - titles: requests that ask for one at once share its load */
#include <cpt/cpt_calls.h>
#include <cpt/cpt_service_main.h>
#include <cpt/cpt_shared.h>

CPT_VALUE(item, int64_t);
CPT_VALUE(title, struct cpt_bytes);

static struct cpt_shared *loads;
static int64_t load_count;

/* --- What is shared: the load of a title --- */

static cpt_status loaded(struct cpt_task *task)
{
    return cpt_print(task, cpt_output(task, title), "item %d, load %d",
                     (int)*cpt_input(task, item),
                     (int)__atomic_add_fetch(&load_count, 1, __ATOMIC_RELAXED));
}

/* Every tenth item lies on a slow disk. */
static cpt_status load(struct cpt_task *task)
{
    const uint64_t disk_ns = *cpt_input(task, item) % 10 == 0 ? 200000000 : 5000000;

    return cpt_await(task, cpt_sleep(task, "disk", disk_ns), loaded);
}

static const struct cpt_task_def load_tasks[] = {
    {"load", load, CPT_GIVES(title), CPT_NEEDS(item)},
};
static const struct cpt_graph load_graph =
    CPT_GRAPH("catalogue", item, title, load_tasks);

/* --- A request --- */

static cpt_status parse(struct cpt_task *task)
{
    return cpt_number_of(cpt_input(task, rpc_request)->body, cpt_output(task, item));
}

static cpt_status answer(struct cpt_task *task)
{
    struct cpt_pending *run = *cpt_state(task, struct cpt_pending *);
    const struct cpt_bytes *title = cpt_run_output(run, title);

    if (title == NULL) {
        return cpt_fail(task, cpt_pending_status(run), "%s", cpt_run_sentence(run));
    }
    cpt_output(task, rpc_reply)->body = *title;
    return CPT_OK;
}

static cpt_status find(struct cpt_task *task)
{
    struct cpt_pending **run = cpt_state(task, struct cpt_pending *);

    if (run == NULL) {
        return CPT_LIMIT;
    }
    *run = cpt_share(task, loads, cpt_input(task, rpc_request)->body, item,
                     cpt_input(task, item));
    return cpt_await(task, *run, answer);
}

static const struct cpt_task_def tasks[] = {
    {"parse", parse, CPT_GIVES(item), CPT_NEEDS(rpc_request)},
    {"find", find, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request, item)},
};

int main(int argc, char **argv)
{
    return cpt_service_main(
        argc, argv,
        CPT_MAIN(.name = "catalogue", .role = CPT_ROLE_INNER,
                 .methods = CPT_METHODS(CPT_METHOD("/title", tasks)),
                 .shares = CPT_SHARES({"titles", &load_graph, &loads, NULL})));
}
