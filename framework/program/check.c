/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * check.c - mistakes of a program that else would show when a request comes
 *
 * A method that no path can be like, and a call whose stub was forgotten in the list of
 * stubs. Both are told before the service serves.
 */
#include "framework/program/check.h"

#include "framework/cpt_calls.h"

#include <string.h>

cpt_status cpti_check_method(const char *method, struct cpt_error *error)
{
    const char *blank = strchr(method, ' ');
    const char *path = blank != NULL ? blank + 1 : method;

    if (path[0] != '/' && strcmp(path, "*") != 0) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "method \"%.100s\": a path begins with '/', as \"GET /a\"",
                             method);
    }
    return strpbrk(path, "?#") == NULL
               ? CPT_OK
               : cpt_error_set(error, CPT_INVALID, 0,
                               "method \"%.100s\": a path ends before '?' and '#'",
                               method);
}

static cpt_status check_stub(const char *task, const struct cpt_stub *stub,
                             struct cpt_error *error)
{
    if (stub == NULL) {
        return cpt_error_set(error, CPT_INVALID, 0, "task '%.100s' calls no stub",
                             task);
    }
    return stub->transport != NULL
               ? CPT_OK
               : cpt_error_set(error, CPT_INVALID, 0,
                               "task '%.80s' calls '%.80s', which is not listed in "
                               ".stubs (CPT_STUBS)",
                               task, stub->name);
}

cpt_status cpti_check_calls(const struct cpt_graph *graph, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    /* no circle of components: there is a plan */
    for (size_t i = 0; i < graph->task_count && status == CPT_OK; i++) {
        const struct cpt_task_def *task = &graph->tasks[i];
        const struct cpt_call_row *row = task->context;

        if (task->component != NULL) {
            status = cpti_check_calls(task->component, error);
        } else if (task->run == cpt_call_run && row != NULL) {
            status = check_stub(task->name, row->stub, error);
            if (status == CPT_OK && row->other_stub != NULL) {
                status = check_stub(task->name, row->other_stub, error);
            }
        }
    }
    return status;
}
