/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * kept_graphs.c - each file to the source that reads it, by its first bytes
 */
#include "cpt/cli/graphs/kept_graphs.h"

#include "cpt/cli/base/command.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/graphs/kept_sources.h"

#include <inttypes.h>
#include <string.h>

struct kept {
    struct cpti_kept_spans *spans;
    struct cpti_kept_logs *logs;
};

bool cpti_kept_recognise(const unsigned char *head, size_t bytes)
{
    return cpti_input_kind_of(head, bytes) == CPTI_INPUT_GRAPHS ||
           cpti_kept_spans_recognise(head, bytes);
}

static int add_file(struct kept *kept, const char *name)
{
    struct cpti_input input;
    int status = cpti_input_open(&input, name);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    switch (input.kind) {
    case CPTI_INPUT_GRAPHS:
        return cpti_kept_logs_add(kept->logs, &input); /* closes it later */
    case CPTI_INPUT_LOG:
        status = cpti_failed("%s: is a path log: it has what was on the critical path, "
                             "and nothing else; give graph logs, or spans",
                             cpti_input_name(&input));
        break;
    case CPTI_INPUT_TREE:
        status = cpti_failed("%s: is a tree: it holds averages, no single requests; "
                             "give graph logs, or spans",
                             cpti_input_name(&input));
        break;
    default:
        status = cpti_kept_spans_add(kept->spans, &input);
        break;
    }
    cpti_input_close(&input);
    return status;
}

int cpti_kept_graphs(const struct cpti_kept_options *options,
                     struct cpti_kept_counts *counts)
{
    struct kept kept = {NULL, NULL};
    uint64_t of_spans = 0;
    int status = CPTI_EXIT_DONE;

    memset(counts, 0, sizeof *counts);
    kept.spans = cpti_kept_spans_new(options, counts);
    kept.logs = cpti_kept_logs_new(options, counts);
    if (kept.spans == NULL || kept.logs == NULL) {
        status = cpti_failed("out of memory");
    } else {
        for (size_t i = 0; i < options->file_count; i++) {
            status = cpti_exit_last(status, add_file(&kept, options->files[i]));
        }
        status = cpti_exit_last(status, cpti_kept_spans_finish(kept.spans));
        of_spans = counts->requests;
        status = cpti_exit_last(status, cpti_kept_logs_finish(kept.logs));
        if (of_spans != 0 && counts->requests != of_spans) {
            cpti_warn("%" PRIu64 " requests are of spans, %" PRIu64 " of graph logs; "
                      "a request that has both counts twice: give one kind",
                      of_spans, counts->requests - of_spans);
        }
        if (counts->others != 0) {
            cpti_warn("%" PRIu64 " traces are left out: they have no notes of our "
                      "services, or these do not fit together, or are too many",
                      counts->others);
        }
    }
    cpti_kept_spans_free(kept.spans);
    cpti_kept_logs_free(kept.logs);
    return status;
}
