/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* graph_check.c - see graph_check.h */
#include "tool/log/graph_check.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "wire/cpt_graph_log.h"

#include <inttypes.h>

enum { TOLD_MAX = 5, MEMORY_MAX = 1 << 30 /* of one record */ };

struct checking {
    struct cpti_input *input;
    struct cpt_log_reader *reader;
    struct cpt_arena arena;
    uint64_t records;
    uint64_t entries;
    uint64_t tasks;
    uint64_t calls; /* to callees with a record */
    uint64_t refused;
};

static void refuse(struct checking *checking, uint64_t offset, const char *sentence)
{
    if (checking->refused++ < TOLD_MAX) {
        (void)cpti_failed_at((struct cpti_at){.file = cpti_input_name(checking->input),
                                              .has_byte = true,
                                              .byte = offset},
                             "%s", sentence);
    }
}

/* A cpt_dag_visit_fn: CPT_END unless the dag is as long as the request was. */
static cpt_status compare(void *context, const struct cpt_dag *dag,
                          const struct cpt_dag_recorded *recorded, uint64_t latency_ns)
{
    (void)context;
    (void)recorded;
    return cpt_dag_latency_ns(dag) == latency_ns ? CPT_OK : CPT_END;
}

/* NULL if the dag of @graph is as long as the request was. */
static const char *check_dag(const struct cpt_kept_graph *graph)
{
    const cpt_status status = cpt_dag_draft_visit(NULL, &graph->records, compare, NULL);

    switch (status) {
    case CPT_OK:
        return NULL;
    case CPT_INVALID:
        return "no task of the record answered";
    case CPT_END:
        return "the longest path of the record is not its latency";
    default:
        return cpt_status_sentence(status);
    }
}

static void check_record(struct checking *checking, const struct cpt_record *record)
{
    const uint64_t offset = cpt_log_reader_offset(checking->reader);
    struct cpt_error error = {0};
    struct cpt_kept_graph graph;
    const char *wrong = NULL;

    cpt_arena_reset(&checking->arena, MEMORY_MAX);
    if (cpt_graph_decode(record, CPT_GRAPH_ARRIVAL_NS, &checking->arena, &graph,
                         &error) != CPT_OK) {
        refuse(checking, offset, error.sentence);
        return;
    }
    wrong = check_dag(&graph);
    if (wrong != NULL) {
        refuse(checking, offset, wrong);
        return;
    }
    checking->records++;
    checking->entries += !record->is_local_root;
    checking->tasks += graph.records.task_count;
    for (size_t i = 0; i < graph.call_count; i++) {
        checking->calls += graph.calls[i].id != 0;
    }
}

static int check_all(struct checking *checking)
{
    for (;;) {
        struct cpt_error error = {0};
        struct cpt_record record;
        const cpt_status status =
            cpt_log_reader_next(checking->reader, &record, &error);

        if (status == CPT_END) {
            break;
        }
        if (status == CPT_OK) {
            check_record(checking, &record);
        } else if (status == CPT_TRUNCATED) {
            cpti_warn("%s: %s", cpti_input_name(checking->input), error.sentence);
        } else if (status == CPT_NO_MEMORY || status == CPT_IO) {
            return cpti_failed_at(
                (struct cpti_at){.file = cpti_input_name(checking->input)}, "%s",
                cpt_status_sentence(status));
        } else {
            refuse(checking, error.offset, error.sentence);
        }
    }
    if (checking->refused > TOLD_MAX) {
        cpti_warn("%s: %" PRIu64 " more like these", cpti_input_name(checking->input),
                  checking->refused - TOLD_MAX);
    }
    if (checking->refused != 0) {
        return CPTI_EXIT_FAILED;
    }
    (void)printf("%s: %" PRIu64 " graphs, %" PRIu64
                 " of them entries of requests, %" PRIu64 " tasks, %" PRIu64
                 " calls with an id\n",
                 cpti_input_name(checking->input), checking->records, checking->entries,
                 checking->tasks, checking->calls);
    return CPTI_EXIT_DONE;
}

int cpti_graph_check(struct cpti_input *input)
{
    const struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options, .read = cpti_input_read, .context = input};
    struct checking checking = {.input = input};
    int status = CPTI_EXIT_DONE;

    cpt_arena_init(&checking.arena, NULL, 0, MEMORY_MAX);
    checking.reader = cpt_graph_log_reader_new(&options, NULL);
    status =
        checking.reader != NULL ? check_all(&checking) : cpti_failed("out of memory");
    cpt_log_reader_free(checking.reader);
    cpt_arena_deinit(&checking.arena);
    return status;
}
