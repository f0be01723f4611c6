/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* graph_logs.c - see graph_logs.h */
#include "tool/log/graph_logs.h"

#include "tool/base/files.h"
#include "tool/base/folders.h"
#include "tool/base/output.h"
#include "tool/base/log_output.h"
#include "tool/log/graph_visits.h"
#include "tool/requests/kept_graphs.h"
#include "tool/log/span_records.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Graphs as records --- */

/* The log that is made. */
struct making {
    struct cpti_log_output output;
    struct cpt_path *path;
    struct cpt_path *visits;
    struct cpt_attribute attributes[CPT_LOG_ATTRIBUTES_MAX];
};

/* Writes the record of @graph, with @visits. */
static cpt_status write_record(struct making *making,
                               const struct cpti_kept_graph *graph,
                               struct cpt_bytes visits)
{
    const struct cpt_trace *trace = graph->records->runs[0].trace;
    struct cpt_record record = *graph->record;
    unsigned char *data = NULL;
    uint32_t frame = 0;
    size_t bytes = 0;
    cpt_status status = CPT_LIMIT;

    if (record.attribute_count < CPT_LOG_ATTRIBUTES_MAX) {
        for (size_t i = 0; i < record.attribute_count; i++) {
            making->attributes[i] = record.attributes[i];
        }
        making->attributes[record.attribute_count++] =
            (struct cpt_attribute){.key = cpt_bytes_of(CPTI_VISITS_KEY),
                                   .type = CPT_ATTRIBUTE_TEXT,
                                   .value = {.text = visits}};
        record.attributes = making->attributes;
        cpt_path_reset(making->path);
        status = cpt_path_frame_add(making->path, CPT_FRAME_NONE, trace->entry,
                                    CPT_KIND_WORK, &frame);
    }
    status =
        CPTI_THEN(status, cpt_path_append_ns(making->path, frame, graph->latency_ns));
    record.path = making->path;
    record.entry = trace->entry;
    record.latency_ns = graph->latency_ns;
    status = CPTI_THEN(status, cpt_record_encode(&record, NULL, &data, &bytes, NULL));
    if (status == CPT_OK &&
        cpti_log_output_add(&making->output,
                            (struct cpt_bytes){(const char *)data, bytes}) !=
            CPTI_EXIT_DONE) {
        status = CPT_NO_MEMORY;
    }
    cpt_alloc_free(NULL, data);
    return status;
}

/* A cpti_kept_fn. */
static cpt_status add_graph(void *context, const struct cpti_kept_graph *graph)
{
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options, .bytes_max = CPT_LOG_RECORD_BYTES_MAX};
    struct making *making = context;
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status;

    cpt_path_reset(making->visits);
    status = cpti_graph_visits(graph->records, graph->record->is_failed != 0,
                               making->visits);
    status = CPTI_THEN(
        status, cpt_metadata_encode(making->visits, &options, &data, &bytes, NULL));
    if (status == CPT_OK) {
        status =
            write_record(making, graph, (struct cpt_bytes){(const char *)data, bytes});
    }
    cpt_alloc_free(NULL, data);
    return status;
}

/* Makes records of the @count graph logs @files, to @path. */
static int make_records(struct making *making, const char *const *files, size_t count,
                        const char *path)
{
    const struct cpti_kept_options options = {.files = files,
                                              .file_count = count,
                                              .takes_all = true,
                                              .visit = add_graph,
                                              .context = making};
    struct cpti_kept_counts counts;
    int status = cpti_log_output_open(&making->output, path, false);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_kept_graphs(&options, &counts);
    if (counts.requests == 0) { /* it remains empty */
        cpti_log_output_abort(&making->output);
        return cpti_kept_none(&options, &counts);
    }
    return cpti_exit_last(status, cpti_log_output_commit(&making->output));
}

/* Puts a private log in the place of the @count graph logs @files of @name. */
static int add_graphs(struct cpti_graph_logs *logs, const char *const *files,
                      size_t count, const char *name)
{
    struct making *making = calloc(1, sizeof *making);
    struct stat about;
    int status = CPTI_EXIT_FAILED;

    logs->file = cpti_private_file(logs->path);
    if (logs->file < 0) {
        free(making);
        return cpti_failed("there is no temporary file for the graphs of %s: %s",
                           cpti_quoted(name), strerror(errno));
    }
    logs->has_graphs = true;
    cpti_quote_as(logs->path, name);
    if (making != NULL) {
        making->path = cpt_path_new(NULL);
        making->visits = cpt_path_new(NULL);
    }
    status = making != NULL && making->path != NULL && making->visits != NULL
                 ? make_records(making, files, count, logs->path)
                 : cpti_failed("out of memory");
    if (making != NULL) {
        cpt_path_free(making->path);
        cpt_path_free(making->visits);
    }
    free(making);
    if (stat(logs->path, &about) == 0 && about.st_size > 0) {
        logs->inputs[logs->count++] = logs->path;
    }
    return status;
}

/* --- Which operands are graph logs --- */

/* Whether @path is a graph log; a pipe, which would lose its beginning, is none. */
static bool is_graph_log(const char *path)
{
    unsigned char head[CPTI_HEAD_BYTES];
    struct stat about;
    ssize_t bytes = -1;
    int file = -1;

    if (stat(path, &about) == 0 && S_ISREG(about.st_mode)) {
        file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    }
    if (file >= 0) {
        bytes = pread(file, head, sizeof head, 0);
        (void)close(file);
    }
    return bytes > 0 && cpti_kept_is_log(head, (size_t)bytes);
}

/* Sorts the @count operands @names of @source: path logs to those of @logs, graph logs
 * to @graphs. */
static int sort_source(struct cpti_graph_logs *logs, const struct cpti_source *source,
                       const char *const *names, bool prefers_graphs,
                       const char **graphs, size_t *graph_count)
{
    const size_t first = logs->count;
    const size_t graph_first = *graph_count;

    for (size_t i = 0; i < source->count; i++) {
        if (is_graph_log(names[i])) {
            graphs[(*graph_count)++] = names[i];
        } else {
            logs->inputs[logs->count++] = names[i];
        }
    }
    if (!source->is_folder || (*graph_count == graph_first && !prefers_graphs)) {
        return CPTI_EXIT_DONE;
    }
    if (*graph_count == graph_first) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(source->name)},
                              "has no graph log");
    }
    if (prefers_graphs) {
        logs->count = first;
    } else if (logs->count > first) {
        *graph_count = graph_first;
    }
    return CPTI_EXIT_DONE;
}

int cpti_graph_logs_open(struct cpti_graph_logs *logs,
                         const struct cpti_arguments *arguments, size_t first,
                         size_t end, bool prefers_graphs)
{
    const size_t room = arguments->operand_count + 1;
    const char **graphs = calloc(room, sizeof *graphs);
    const char *const *names = arguments->operands;
    size_t graph_count = 0;
    int status = CPTI_EXIT_DONE;

    *logs = (struct cpti_graph_logs){.file = -1};
    logs->inputs = calloc(room, sizeof *logs->inputs);
    if (graphs == NULL || logs->inputs == NULL) {
        free(graphs);
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < end && status == CPTI_EXIT_DONE; i++) {
        const struct cpti_source *source = &arguments->sources[i];

        if (i >= first) {
            status =
                sort_source(logs, source, names, prefers_graphs, graphs, &graph_count);
        }
        names += source->count;
    }
    if (status == CPTI_EXIT_DONE && graph_count > 0) {
        status = add_graphs(logs, graphs, graph_count, arguments->sources[first].name);
    }
    free(graphs);
    return status;
}

void cpti_graph_logs_deinit(struct cpti_graph_logs *logs)
{
    if (logs->inputs != NULL && logs->file >= 0) {
        (void)close(logs->file);
    }
    free(logs->inputs);
    logs->inputs = NULL;
}
