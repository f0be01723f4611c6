/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* one_request.c - see one_request.h. */
#include "tests/unit/framework/one_request.h"

#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"

#include <stdio.h>
#include <string.h>

/* " [coalesced=3]": the labels of a segment that tests of runs compare. */
static size_t write_labels(const struct cpt_path *path, size_t segment, char *text,
                           size_t capacity)
{
    const uint32_t frame = cpt_path_segment(path, segment)->frame;
    const int is_lock = cpt_path_frame(path, frame)->kind == CPT_KIND_LOCK;
    size_t used = 0;

    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);
        int is_name = 0;

        if (label->segment == segment && label->key == CPT_LABEL_HOLDER && is_lock) {
            const struct cpt_bytes holder =
                cpt_path_name(path, (cpt_name_id)label->value);

            used += (size_t)snprintf(text + used, capacity - used, "[holder=%.*s]",
                                     (int)holder.bytes, holder.data);
        } else if (label->segment == segment && label->key == CPT_LABEL_COALESCED) {
            used += (size_t)snprintf(text + used, capacity - used, "[%s=%llu]",
                                     cpt_label_word(label->key, &is_name),
                                     (unsigned long long)label->value);
        }
    }
    return used;
}

static void write_path(const struct cpt_path *path, char *text, size_t capacity)
{
    size_t used = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        char stack[512];

        if (capacity - used < 2 * sizeof stack) {
            (void)snprintf(text + used, capacity - used, " ...");
            return;
        }
        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        used += (size_t)snprintf(text + used, capacity - used, "%s%s",
                                 i != 0 ? ", " : "", stack);
        used += write_labels(path, i, text + used, capacity - used);
        used += (size_t)snprintf(text + used, capacity - used, " %llu",
                                 (unsigned long long)(segment->duration_ns / MS));
    }
}

void note_outcome(struct cpt_request *request, void *context)
{
    struct outcome *outcome = context;
    const int *output = cpt_request_output(request);
    struct cpt_path *path = cpt_path_new(NULL);

    outcome->done_count++;
    outcome->status = cpt_request_status(request);
    outcome->output = output != NULL ? *output : -1;
    outcome->latency_ns = cpt_request_latency_ns(request);
    (void)snprintf(outcome->sentence, sizeof outcome->sentence, "%s",
                   cpt_request_sentence(request));
    if (cpt_request_path(request, path, NULL) == CPT_OK) {
        CU_ASSERT_EQUAL(cpt_path_check(path, outcome->latency_ns, NULL), CPT_OK);
        write_path(path, outcome->path, sizeof outcome->path);
        outcome->path_flags = cpt_path_flags(path);
    }
    cpt_path_free(path);
}

void note_gone(void *context)
{
    ((struct outcome *)context)->gone_count++;
}

static struct cpt_request_options options_of(struct virtual_time *now,
                                             const struct cpt_plan *plan,
                                             const int *input, int is_traced,
                                             struct outcome *outcome)
{
    return (struct cpt_request_options){.struct_bytes =
                                            sizeof(struct cpt_request_options),
                                        .plan = plan,
                                        .executor = &now->executor,
                                        .input = input,
                                        .done = note_outcome,
                                        .gone = note_gone,
                                        .context = outcome,
                                        .is_traced = is_traced,
                                        .entry = "S: /",
                                        .clock = &now->clock};
}

cpt_status start_one(struct virtual_time *now, const struct cpt_plan *plan,
                     const int *input, int is_traced, struct outcome *outcome)
{
    const struct cpt_request_options options =
        options_of(now, plan, input, is_traced, outcome);

    return cpt_request_start(&options, NULL);
}

struct outcome run_one_within(struct virtual_time *now, const struct cpt_graph *graph,
                              int is_traced, const struct cpt_alloc *alloc,
                              size_t memory_bytes_max)
{
    static const int one = 1;
    struct outcome outcome = {0};
    struct cpt_error error = {0};
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, &error);
    struct cpt_request_options options =
        options_of(now, plan, &one, is_traced, &outcome);

    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    options.alloc = alloc;
    options.memory_bytes_max = memory_bytes_max;
    virtual_init(now, 0);
    outcome.status = cpt_request_start(&options, NULL);
    virtual_run(now);
    cpt_plan_free(plan);
    return outcome;
}

struct outcome run_one(struct virtual_time *now, const struct cpt_graph *graph,
                       int is_traced)
{
    return run_one_within(now, graph, is_traced, NULL, 0);
}
