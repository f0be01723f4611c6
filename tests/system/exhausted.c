/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * exhausted.c - a service that runs out of descriptors; see exhausted.py
 *
 *      exhausted --listen ... --to hang=URL --to good=URL --to other=URL
 *
 * "/hang", "/good" and "/other" call these; "/hog" takes every descriptor that is left,
 * as a host might.
 */
#include "framework/cpt_calls.h"
#include "framework/cpt_service_main.h"

#include <sys/eventfd.h>

static struct cpt_stub hang = {
    .name = "hang: /", .method = "/", .timeout_ns = UINT64_C(300000000000)};
static struct cpt_stub good = {.name = "good: /", .method = "/"};
static struct cpt_stub other = {.name = "other: /", .method = "/"};

CPT_VALUE(word, struct cpt_bytes);

static cpt_status say(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = *cpt_input(task, word);
    return CPT_OK;
}

static cpt_status nothing(struct cpt_task *task, struct cpt_bytes *body)
{
    (void)task;
    *body = cpt_bytes_of("");
    return CPT_OK;
}

static cpt_status hog(struct cpt_task *task)
{
    while (eventfd(0, EFD_CLOEXEC) >= 0) {
    }
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("none is left");
    return CPT_OK;
}

static const struct cpt_task_def hang_tasks[] = {
    CPT_CALLS("call", word, CPT_NEEDS(rpc_request), &hang, nothing),
    {"say", say, CPT_GIVES(rpc_reply), CPT_NEEDS(word)},
};
static const struct cpt_task_def good_tasks[] = {
    CPT_CALLS("call", word, CPT_NEEDS(rpc_request), &good, nothing),
    {"say", say, CPT_GIVES(rpc_reply), CPT_NEEDS(word)},
};
static const struct cpt_task_def other_tasks[] = {
    CPT_CALLS("call", word, CPT_NEEDS(rpc_request), &other, nothing),
    {"say", say, CPT_GIVES(rpc_reply), CPT_NEEDS(word)},
};
static const struct cpt_task_def hog_tasks[] = {
    {"hog", hog, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};

int main(int argc, char **argv)
{
    return cpt_service_main(
        argc, argv,
        CPT_MAIN(.name = "S",
                 .methods = CPT_METHODS(
                     CPT_METHOD("/hang", hang_tasks), CPT_METHOD("/good", good_tasks),
                     CPT_METHOD("/other", other_tasks), CPT_METHOD("/hog", hog_tasks)),
                 .stubs = CPT_STUBS(&hang, &good, &other)));
}
