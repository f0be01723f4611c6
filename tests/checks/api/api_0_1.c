/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * api_0_1.c - the macros of the public headers of 0.1, as a program uses them
 *
 * What is not a declaration cannot be stated as in the files beside this one. So here
 * is a program that uses the words of the table of a graph, rows without names of
 * fields, the lists of kinds, reasons, labels and statuses, and texts. See api_0_1.h.
 */
#include <cpt/cpt_graph.h>
#include <cpt/cpt_metadata.h>
#include <cpt/cpt_path.h>
#include <cpt/cpt_rpc.h>
#include <cpt/cpt_runtime.h>
#include <cpt/cpt_shared.h>
#include <cpt/cpt_stats.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct ads {
    int count;
};

CPT_VALUE(query, int);
CPT_VALUE(matches, int);
CPT_VALUE(extra, int);
CPT_VALUE(page, int);
CPT_VALUE_OR(ads, struct ads, {.count = 7});

static cpt_status find(struct cpt_task *task)
{
    *cpt_output(task, matches) = *cpt_input(task, query) + 1;
    return CPT_OK;
}

static cpt_status find_ads(struct cpt_task *task)
{
    return cpt_fail(task, CPT_FAILED, "no ads");
}

static cpt_status find_extra(struct cpt_task *task)
{
    *cpt_output(task, extra) = 100;
    return CPT_OK;
}

static cpt_status finish(struct cpt_task *task)
{
    const int *pending_extra = cpt_input(task, extra);

    *cpt_output(task, page) = *cpt_input(task, matches) + cpt_input(task, ads)->count +
                              *pending_extra + *cpt_state(task, int);
    return cpt_input_status(task, ads) == CPT_FAILED ? CPT_OK : CPT_FAILED;
}

static cpt_status render(struct cpt_task *task)
{
    *cpt_state(task, int) = 1000;
    cpt_request_set(cpt_task_request(task), "arm", "control");
    cpt_request_set(cpt_task_request(task), "items", 3);
    return cpt_await(task, cpt_start(task, extra), finish);
}

/* Rows without names of fields, as far as the documents show them. */
static const struct cpt_group group = {"results", NULL};
static const struct cpt_task_def tasks[] = {
    {"find", find, CPT_GIVES(matches), CPT_NEEDS(query)},
    {"ads", find_ads, CPT_GIVES(ads), CPT_NEEDS(query), .group = &group},
    {"extra", find_extra, CPT_GIVES(extra), CPT_NEEDS_NOTHING},
    {"render", render, CPT_GIVES(page), CPT_NEEDS(matches), CPT_STARTS(extra),
     CPT_WANTS(ads)},
};
static const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks,
                                       4};

/* Only compiled, as what follows: the functions are tested elsewhere. */
struct cpt_pending *api_share(struct cpt_task *task, struct cpt_shared *shared,
                              const struct cpt_plan *plan, const int *input);

struct cpt_pending *api_share(struct cpt_task *task, struct cpt_shared *shared,
                              const struct cpt_plan *plan, const int *input)
{
    struct cpt_pending *pending = cpt_spawn(task, "part", plan, query, input);

    if (cpt_run_output(pending, page) != NULL) {
        return pending;
    }
    return cpt_share(task, shared, ((struct cpt_bytes){"key", 3}), query, input);
}

static cpt_status serve(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);

    reply->body = request->body;
    return CPT_OK;
}

const struct cpt_task_def api_service[] = {
    {"serve", serve, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};

static int count;

static int expect(bool holds, const char *what)
{
    if (!holds) {
        printf("api_0_1: %s\n", what);
    }
    count++;
    return holds ? 0 : 1;
}

#define ENTRY(...) +1

static int check_lists(void)
{
    enum {
        KINDS = 0 CPT_KIND_MAP(ENTRY),
        REASONS = 0 CPT_REASON_MAP(ENTRY),
        LABELS = 0 CPT_LABEL_MAP(ENTRY),
        STATUSES = 0 CPT_STATUS_MAP(ENTRY)
    };
#define KIND(name, number, word, words)                                                \
    expect(CPT_KIND_##name == (number) && (word)[0] != 0 && (words)[0] != 0, word) +
#define REASON(name, number, word)                                                     \
    expect(CPT_REASON_##name == (number) && sizeof(word) > 0, word) +
#define LABEL(name, number, word, is_name)                                             \
    expect(CPT_LABEL_##name == (number) && ((is_name) == 0 || (is_name) == 1), word) +
#define STATUS(name, value, sentence)                                                  \
    expect(CPT_##name == (value) && sizeof(sentence) > 1, sentence) +
    int failures = CPT_KIND_MAP(KIND) CPT_REASON_MAP(REASON) CPT_LABEL_MAP(LABEL)
        CPT_STATUS_MAP(STATUS) 0;

    return failures +
           expect(KINDS >= 16 && REASONS >= 9 && LABELS >= 7 && STATUSES >= 14,
                  "a list got shorter");
}

static int check_texts(void)
{
    return expect(strcmp(CPT_HEADER_ASK, "critical-path") == 0, CPT_HEADER_ASK) +
           expect(strcmp(CPT_HEADER_PATH, "critical-path-bin") == 0, CPT_HEADER_PATH) +
           expect(strcmp(CPT_HEADER_TRACEPARENT, "traceparent") == 0,
                  CPT_HEADER_TRACEPARENT) +
           expect(strcmp(CPT_HEADER_TIMEOUT, "cpt-timeout") == 0, CPT_HEADER_TIMEOUT) +
           expect(strcmp(CPT_HEADER_SLACK, "cpt-slack") == 0, CPT_HEADER_SLACK) +
           expect(CPT_STATS_QUANTILE_ERROR == 1.0 / 256, "CPT_STATS_QUANTILE_ERROR") +
           expect(CPT_BASE64_BYTES(3) == 4, "CPT_BASE64_BYTES");
}

static int check_run(void)
{
    struct cpt_error error = {0};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, &error);
    const int input = 1;
    int output = 0;
    cpt_status status = CPT_FAILED;

    if (plan != NULL) {
        const struct cpt_request_options options = {
            .struct_bytes = sizeof options, .plan = plan, .input = &input};

        status = cpt_request_run(&options, &output, NULL, &error);
    }
    cpt_plan_free(plan);
    return expect(status == CPT_OK && output == 1109, error.sentence);
}

int main(void)
{
    const int failures = check_lists() + check_texts() + check_run();

    if (failures == 0) {
        printf("%d\n", count);
    }
    return failures == 0 ? 0 : 1;
}
