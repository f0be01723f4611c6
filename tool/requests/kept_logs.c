/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * kept_logs.c - kept graphs from graph logs of all services (wire/cpt_graph_join.h)
 */
#include "tool/requests/kept_sources.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/select/select.h"
#include "cpt/base/text.h"
#include "wire/cpt_graph_join.h"

#include <inttypes.h>
#include <string.h>

enum { FILES_MAX = 65535, ID_TEXT_BYTES = 33 };

struct cpti_kept_logs {
    struct cpti_kept *kept;
    struct cpt_graph_join *join;
    struct cpti_input **inputs;
    size_t input_count, input_capacity;
    uint64_t refused; /* of the current file */
    unsigned told;    /* records that were */
};

/* What could not be read of the current file. */
static void tell_damage(void *context, const struct cpt_error *error)
{
    struct cpti_kept_logs *logs = context;
    const struct cpti_input *input = logs->inputs[logs->input_count - 1];

    if (error->status == CPT_TRUNCATED) {
        cpti_warn("%s: %s", cpti_input_name(input), error->sentence);
        return;
    }
    if (logs->refused++ < CPTI_KEPT_TOLD_MAX) {
        (void)cpti_failed_at((struct cpti_at){.file = cpti_input_name(input),
                                              .has_byte = true,
                                              .byte = error->offset},
                             "%s", error->sentence);
    }
}

/* Whose graph could not be read; all of them are counted at the end. */
static void tell_refused(void *context, void *input, const struct cpt_error *error)
{
    struct cpti_kept_logs *logs = context;

    if (logs->told < CPTI_KEPT_TOLD_MAX) {
        logs->told++;
        (void)cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                             "in the block at byte %" PRIu64 ": %s", error->offset,
                             error->sentence);
    }
}

struct cpti_kept_logs *cpti_kept_logs_new(struct cpti_kept *kept)
{
    struct cpti_kept_logs *logs = cpt_alloc_zeroed(NULL, sizeof *logs);
    const struct cpt_graph_join_options join = {.struct_bytes = sizeof join,
                                                .damaged = tell_damage,
                                                .context = logs,
                                                .refused = tell_refused};

    if (logs == NULL) {
        return NULL;
    }
    logs->kept = kept;
    logs->join = cpt_graph_join_new(&join, NULL);
    if (logs->join == NULL) {
        cpti_kept_logs_free(logs);
        return NULL;
    }
    return logs;
}

void cpti_kept_logs_free(struct cpti_kept_logs *logs)
{
    if (logs == NULL) {
        return;
    }
    cpt_graph_join_free(logs->join);
    for (size_t i = 0; i < logs->input_count; i++) {
        cpti_input_close(logs->inputs[i]);
        cpt_alloc_free(NULL, logs->inputs[i]);
    }
    cpt_alloc_free(NULL, logs->inputs);
    cpt_alloc_free(NULL, logs);
}

/* Keeps @input open until the requests are joined. */
static struct cpti_input *take_over(struct cpti_kept_logs *logs,
                                    struct cpti_input *input)
{
    struct cpti_input *own = NULL;

    if (cpt_alloc_grow(NULL, (void **)&logs->inputs, &logs->input_capacity,
                       logs->input_count + 1, FILES_MAX,
                       sizeof(struct cpti_input *)) == CPT_OK) {
        own = cpt_alloc_zeroed(NULL, sizeof *own);
    }
    if (own == NULL) {
        cpti_input_close(input);
        return NULL;
    }
    *own = *input;
    logs->inputs[logs->input_count++] = own;
    return own;
}

int cpti_kept_logs_add(struct cpti_kept_logs *logs, struct cpti_input *input)
{
    struct cpti_input *own = take_over(logs, input);
    struct cpt_graph_input read = {cpti_input_read_at, own, 0};
    struct cpt_error error = {0};
    cpt_status status = CPT_OK;

    if (own == NULL) {
        return cpti_failed("out of memory");
    }
    read.bytes = cpti_input_bytes(own);
    if (read.bytes == 0) {
        return cpti_failed_at((struct cpti_at){.file = cpti_input_name(own)},
                              "a graph log is read twice: give it as a file");
    }
    logs->refused = 0;
    status = cpt_graph_join_add(logs->join, &read, &error);
    if (logs->refused > CPTI_KEPT_TOLD_MAX) {
        cpti_warn("%s: %" PRIu64 " more like these", cpti_input_name(own),
                  logs->refused - CPTI_KEPT_TOLD_MAX);
    }
    if (status != CPT_OK) {
        return cpti_failed_at((struct cpti_at){.file = cpti_input_name(own)}, "%s",
                              error.sentence[0] != '\0' ? error.sentence
                                                        : cpt_status_sentence(status));
    }
    return logs->refused == 0 ? CPTI_EXIT_DONE : CPTI_EXIT_FAILED;
}

/* --- Requests --- */

/* The id of its trace if it has one, else its own. */
static struct cpt_bytes id_of(const struct cpt_graph_request *request,
                              char text[ID_TEXT_BYTES])
{
    const struct cpt_record *record = &request->record;

    if (record->has_trace_id) {
        return cpti_text_hex(text, record->trace_id, sizeof record->trace_id);
    }
    (void)snprintf(text, ID_TEXT_BYTES, "%016" PRIx64, request->id);
    return cpt_bytes_of(text);
}

/* A request, and what is said of it beside its dag. */
struct visit {
    struct cpti_kept_logs *logs;
    const struct cpt_graph_request *request;
    struct cpti_kept_graph *graph;
};

/* A cpt_dag_visit_fn. */
static cpt_status visit_dag(void *context, const struct cpt_dag *dag,
                            const struct cpt_dag_recorded *recorded,
                            uint64_t latency_ns)
{
    struct visit *visit = context;

    visit->graph->latency_ns = latency_ns;
    visit->graph->dag = dag;
    visit->graph->recorded = recorded;
    visit->graph->records = &visit->request->records;
    return cpti_kept_visit(visit->logs->kept, visit->graph);
}

static cpt_status add_request(struct cpti_kept_logs *logs,
                              const struct cpt_graph_request *request)
{
    const struct cpt_record *record = &request->record;
    const struct cpti_selection *selection = logs->kept->options->selection;
    char id[ID_TEXT_BYTES];
    struct cpti_kept_graph graph = {.id = id_of(request, id),
                                    .service = record->service,
                                    .method = record->method,
                                    .start_unix_ns = record->start_unix_ns,
                                    .probability = record->probability,
                                    .attributes = record->attributes,
                                    .attribute_count = record->attribute_count,
                                    .record = record};
    cpt_status status = CPT_OK;

    if (!cpti_kept_counts_record(logs->kept, graph.id, record)) {
        return CPT_OK;
    }
    if (selection != NULL && selection->includes_forced && !selection->is_random_only) {
        graph.probability = 0;
    }
    status = cpt_dag_draft_visit(NULL, &request->records, visit_dag,
                                 &(struct visit){logs, request, &graph});
    if (status == CPT_END || status == CPT_LIMIT || status == CPT_INVALID ||
        status == CPT_CORRUPT) {
        logs->kept->counts->others++;
        return CPT_OK;
    }
    return status;
}

static void tell(uint64_t count, const char *what, const char *hint)
{
    if (count != 0) {
        cpti_warn("%s: %" PRIu64 "%s", what, count, hint);
    }
}

static void tell_counts(const struct cpt_graph_join_counts *counts, uint64_t forced)
{
    tell(forced, "requests that are left out, as their tracing was forced", "");
    tell(counts->missing_callees,
         "calls that are blocks of constant length, as their callee has no record",
         "; is the log of a service missing, or did its graph_rate refuse them?");
    tell(counts->copied_records, "copies of records that count once",
         "; is a file given with a copy of it?");
    tell(counts->repeated_records,
         "records that are left out, as a different one has their id", "");
    tell(counts->foreign_records,
         "records that are left out, as no request called them",
         "; is the log of their caller missing, or did it not wait for them?");
    tell(counts->circular_calls,
         "calls that lead to a record which is in a request already", "");
    tell(counts->large_requests,
         "requests that are left out, as they need too much memory", "");
}

int cpti_kept_logs_finish(struct cpti_kept_logs *logs)
{
    const struct cpt_graph_join_counts *counts = cpt_graph_join_counts(logs->join);
    int exit_status = CPTI_EXIT_DONE;
    uint64_t refused = 0;

    for (;;) {
        struct cpt_graph_request request;
        struct cpt_error error = {0};
        cpt_status status = cpt_graph_join_next(logs->join, &request, &error);

        if (status == CPT_END) {
            break;
        }
        if (status == CPT_OK) {
            status = add_request(logs, &request);
            if (status != CPT_OK) {
                return cpti_failed("%s", cpt_status_sentence(status));
            }
            continue;
        }
        logs->kept->counts->others++;
        exit_status = CPTI_EXIT_FAILED;
        if (status != CPT_CORRUPT && refused++ < CPTI_KEPT_TOLD_MAX) {
            (void)cpti_failed("a request: %s", error.sentence[0] != '\0'
                                                   ? error.sentence
                                                   : cpt_status_sentence(status));
        }
        if (status != CPT_CORRUPT && status != CPT_LIMIT) {
            return exit_status;
        }
    }
    tell_counts(counts, logs->kept->fold.counts.forced_count);
    if (counts->refused_records != 0) {
        exit_status = cpti_failed("records of graphs that cannot be read: %" PRIu64,
                                  counts->refused_records);
    }
    return exit_status;
}
