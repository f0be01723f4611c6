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
        (void)cpti_failed("%s: at byte %" PRIu64 ": %s",
                          cpti_input_name(checking->input), offset, sentence);
    }
}

/* NULL if the dag of @graph is as long as the request was. */
static const char *check_dag(const struct cpt_kept_graph *graph)
{
    const struct cpt_trace *trace = graph->records.runs[0].trace;
    struct cpt_dag_recorded recorded;
    struct cpt_dag *dag = NULL;
    struct cpt_dag_draft *draft = cpt_dag_draft_new(NULL, trace->arrival_ns);
    cpt_status status = draft != NULL ? CPT_OK : CPT_NO_MEMORY;
    const char *wrong = NULL;

    if (status == CPT_OK) {
        status = cpt_dag_draft_trace(draft, &graph->records, &recorded);
    }
    if (status == CPT_OK) {
        status = cpt_dag_new(NULL, &recorded.shape, &dag, NULL);
    }
    if (status == CPT_INVALID) {
        wrong = "no task of the record answered";
    } else if (status != CPT_OK) {
        wrong = cpt_status_sentence(status);
    } else if (cpt_dag_latency_ns(dag) != trace->response_ns - trace->arrival_ns) {
        wrong = "the longest path of the record is not its latency";
    }
    cpt_dag_free(dag);
    cpt_dag_draft_free(draft);
    return wrong;
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
            return cpti_failed("%s: %s", cpti_input_name(checking->input),
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
