/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* kept_spans_absent.c - in the place of kept_spans.c: no library for JSON */
#include "tool/requests/kept_sources.h"

#include "tool/base/command.h"
#include "tool/base/output.h"

struct cpti_kept_spans {
    char unused;
};

static struct cpti_kept_spans only;

struct cpti_kept_spans *cpti_kept_spans_new(struct cpti_kept *kept)
{
    (void)kept;
    return &only;
}

void cpti_kept_spans_free(struct cpti_kept_spans *spans)
{
    (void)spans;
}

int cpti_kept_spans_add(struct cpti_kept_spans *spans, struct cpti_input *input)
{
    (void)spans;
    return cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                          "this program was built without a library for JSON, and "
                          "reads no spans");
}

int cpti_kept_spans_finish(struct cpti_kept_spans *spans)
{
    (void)spans;
    return CPTI_EXIT_DONE;
}

bool cpti_kept_spans_recognise(const unsigned char *head, size_t bytes)
{
    (void)head;
    (void)bytes;
    return false;
}
