/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* price.c - prices rise with each question; a lock guards the count of questions */
#include <cpt/cpt_calls.h>
#include <cpt/cpt_mutex.h>
#include <cpt/cpt_service_main.h>

static struct cpt_mutex *lock;
static int64_t question_count; /* guarded by lock */

static cpt_status answer(struct cpt_task *task)
{
    int64_t cents = 0;

    cpt_mutex_lock(lock);
    cents = 1000 + question_count++;
    cpt_mutex_unlock(lock);
    return cpt_print(task, &cpt_output(task, rpc_reply)->body, "%d", (int)cents);
}

/* Prices of every tenth item come from abroad: too late for the page. */
static cpt_status find(struct cpt_task *task)
{
    const struct cpt_bytes body = cpt_input(task, rpc_request)->body;

    return body.bytes == 0 || body.data[body.bytes - 1] != '9'
               ? answer(task)
               : cpt_await(task, cpt_sleep(task, "abroad", UINT64_C(2000000000)),
                           answer);
}

static const struct cpt_task_def tasks[] = {
    {"find", find, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};

int main(int argc, char **argv)
{
    lock = cpt_mutex_new("prices", NULL);
    return cpt_service_main(
        argc, argv,
        CPT_MAIN(.name = "price", .role = CPT_ROLE_INNER,
                 .methods = CPT_METHODS(CPT_METHOD("/price", tasks))));
}
