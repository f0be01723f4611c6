/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_import.c - cpt import: critical paths from spans
 *
 *      files --> traces (import) --> sections --> JSON, a line a trace
 *                                             |-----> a record of a path log
 *                                             '-----> attributes in a copy of the file
 *
 *      files of lines of an entry --> lines (import) --> records of a path log
 */
#include "tool/commands/absent.h"
#include "tool/base/amounts.h"
#include "tool/base/files.h"
#include "tool/table/json_write.h"
#include "tool/base/names.h"
#include "tool/base/options.h"
#include "tool/events/event_import.h"
#include "tool/events/event_order.h"
#include "tool/events/event_sources.h"
#include "tool/base/output.h"
#include "tool/requests/moved_clocks.h"
#include "tool/print/perfetto.h"
#include "tool/log/entry_records.h"
#include "tool/log/span_records.h"
#include "tool/log/span_tags.h"
#include "tool/requests/span_totals.h"
#include "import/bytes/head.h"
#include "import/formats/annotation.h"
#include "import/lines/entry_lines.h"
#include "import/traces/traces.h"
#include "cpt/base/now.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { REFUSED_TOLD_MAX = 5 /* pieces of one file */, AGAIN_TOLD_MAX = 3 };
enum { TRACE_LIMIT_MAX = 2000, BYTES_PER_MB = 1000000 };

static const uint64_t progress_interval_ns = 250000000;

static const char *const mode_words[] = {[CPTI_SPANS_EXACT] = "exact",
                                         [CPTI_SPANS_JAEGER_UI] = "jaeger-ui",
                                         [CPTI_SPANS_CRISP] = "crisp"};

/* All that was read and left out. */
struct totals {
    uint64_t traces;
    uint64_t paths;
    uint64_t spans;
    uint64_t refused_pieces;
    uint64_t refused_traces;
    uint64_t cut_traces;
    uint64_t again;
    uint64_t other_signals;
    struct cpti_span_totals left;
};

/* What goes through the whole run. */
struct import {
    enum cpti_span_mode mode;
    bool prints_sections;
    bool prints_calls;
    struct cpti_output *log;                      /* NULL: none is written */
    struct cpti_span_records records;             /* of it */
    struct cpti_entry_records entry;              /* likewise, of lines of an entry */
    struct cpt_bytes tag_keys[CPTI_TAG_KEYS_MAX]; /* of attributes that it gets */
    bool is_perfetto; /* it is a trace of Perfetto instead */
    struct cpti_perfetto perfetto;
    struct cpti_output *copy;           /* NULL: nothing is annotated */
    struct cpti_annotation *annotation; /* likewise */
    bool lacks_places;                  /* it does not know all of them */
    bool has_lines;                     /* a file has lines of an entry */
    bool is_open;                       /* the file that is annotated */
    struct cpti_traces *traces;
    struct cpti_spans *spans;
    struct cpti_json json;
    struct totals totals;
    size_t trace_bytes_max;
    struct cpti_input input; /* that is being read */
    struct cpti_head head;   /* of it */
    uint64_t progress_ns;    /* when it is shown next; 0: never */
    bool has_shown_progress;
    bool lacked_memory; /* what was read is a part of unknown size: no log is left */
};

/* --- Sections --- */

static void print_sections(struct import *import, struct cpt_bytes trace,
                           const struct cpti_spans_report *report)
{
    struct cpti_spans *spans = import->spans;
    const uint32_t root = cpti_spans_root(spans);
    struct cpti_json *json = &import->json;

    cpti_json_open(json, NULL, '{');
    cpti_json_bytes(json, "trace_id", trace);
    cpti_json_us(json, "root_start_us", (int64_t)cpti_spans_start_ns(spans, root));
    cpti_json_us(json, "root_end_us", (int64_t)cpti_spans_end_ns(spans, root));
    cpti_json_unsigned(json, "root_start_ns", cpti_spans_start_ns(spans, root));
    cpti_json_unsigned(json, "root_end_ns", cpti_spans_end_ns(spans, root));
    cpti_json_open(json, "sections", '[');
    for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
        const struct cpti_section *section = cpti_spans_section(spans, i);

        cpti_json_open(json, NULL, '{');
        cpti_json_bytes(json, "span_id", cpti_spans_at(spans, section->span)->id);
        cpti_json_us(json, "start_us", (int64_t)section->start_ns);
        cpti_json_us(json, "end_us", (int64_t)section->end_ns);
        cpti_json_unsigned(json, "start_ns", section->start_ns);
        cpti_json_unsigned(json, "end_ns", section->end_ns);
        cpti_json_close(json);
    }
    cpti_json_close(json);
    cpti_json_unsigned(json, "dropped", report->dropped);
    cpti_json_unsigned(json, "clipped", report->clipped);
    cpti_moved_clocks_json(json, spans);
    if (report->fragment != CPTI_SPAN_WHOLE) {
        cpti_json_text(json, "fragment", cpti_span_fragment_word(report->fragment));
    }
    cpti_json_bool(json, "approximate", !cpti_spans_is_exact(spans));
    cpti_json_close(json);
}

/* --- Annotations, and records --- */

/* A line for each call of one service by another. */
static void print_calls(struct import *import, struct cpt_bytes trace)
{
    struct cpti_spans *spans = import->spans;
    const struct cpti_span *root = cpti_spans_at(spans, cpti_spans_root(spans));
    struct cpti_json *json = &import->json;

    for (uint32_t i = 0; i < cpti_spans_count(spans); i++) {
        struct cpti_span_call call;

        if (!cpti_spans_call(spans, i, &call)) {
            continue;
        }
        cpti_json_open(json, NULL, '{');
        cpti_json_bytes(json, "trace_id", trace);
        cpti_json_bytes(json, "service", root->service);
        cpti_json_bytes(json, "method", root->operation);
        cpti_json_bytes(json, "from", call.from);
        cpti_json_bytes(json, "to", call.to);
        cpti_json_known(json, "request_bytes", call.request_bytes != 0,
                        call.request_bytes);
        cpti_json_known(json, "reply_bytes", call.reply_bytes != 0, call.reply_bytes);
        cpti_json_close(json);
    }
}

/* Adds the sections of a trace. */
static void annotate(struct import *import)
{
    const struct cpti_spans *spans = import->spans;

    for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
        const struct cpti_section *section = cpti_spans_section(spans, i);

        cpti_annotation_add(import->annotation,
                            cpti_spans_at(spans, section->span)->number,
                            section->end_ns - section->start_ns);
    }
}

static cpt_status draw_trace(struct import *import)
{
    struct cpt_path *path = import->records.path;
    const uint32_t root = cpti_spans_root(import->spans);
    cpt_status status = CPT_OK;

    cpt_path_reset(path);
    status = cpti_span_path(import->spans, path);
    if (status != CPT_OK) {
        return status;
    }
    return cpti_perfetto_add(&import->perfetto, path,
                             cpti_spans_start_ns(import->spans, root)) == CPTI_EXIT_DONE
               ? CPT_OK
               : CPT_IO;
}

static int write_trace(struct import *import, struct cpt_bytes trace)
{
    const cpt_status status =
        import->is_perfetto
            ? draw_trace(import)
            : cpti_span_records_add(&import->records, import->spans, trace, 1);

    if (status == CPT_OK ||
        status == CPT_IO) { /* the end of the log tells the latter */
        return status == CPT_OK ? CPTI_EXIT_DONE : CPTI_EXIT_FAILED;
    }
    import->lacked_memory |= status == CPT_NO_MEMORY;
    return cpti_failed("a trace is left out: %s", cpt_status_sentence(status));
}

/* --- Traces --- */

/* Shows the sections of all roots, if the mode has them; a record has those of one. */
static cpt_status show_roots(struct import *import, struct cpt_bytes trace,
                             struct cpti_spans_report *report)
{
    const bool is_shown = import->prints_sections || import->annotation != NULL;
    cpt_status status = CPT_OK;

    if (!is_shown || import->mode == CPTI_SPANS_EXACT) {
        status = cpti_spans_walk(import->spans, import->mode);
    } else {
        status = cpti_spans_walk_roots(import->spans, import->mode);
    }
    if (status != CPT_OK) {
        return status;
    }
    if (import->mode != CPTI_SPANS_EXACT) {
        cpti_spans_count_left(import->spans, report);
    }
    if (import->prints_sections) {
        print_sections(import, trace, report);
    }
    if (import->annotation != NULL) {
        annotate(import);
    }
    return import->mode != CPTI_SPANS_EXACT && is_shown && import->log != NULL
               ? cpti_spans_walk(import->spans, import->mode)
               : CPT_OK;
}

static int import_trace(struct import *import, struct cpt_bytes trace)
{
    struct cpti_spans *spans = import->spans;
    struct cpti_spans_report report;
    cpt_status status = cpti_spans_resolve(spans, &report);

    if (status == CPT_END) {
        import->totals.left.rootless++;
        cpti_span_totals_add(&import->totals.left, spans, &report);
        return CPTI_EXIT_DONE;
    }
    status = CPTI_THEN(status, show_roots(import, trace, &report));
    if (status != CPT_OK) {
        import->lacked_memory |= status == CPT_NO_MEMORY;
        return cpti_failed("%s", cpt_status_sentence(status));
    }
    cpti_span_totals_add(&import->totals.left, spans, &report);
    if (import->prints_calls) {
        print_calls(import, trace);
    }
    if (cpti_spans_section_count(spans) == 0) {
        import->totals.left.empty++;
        return CPTI_EXIT_DONE;
    }
    import->totals.paths++;
    return import->log != NULL ? write_trace(import, trace) : CPTI_EXIT_DONE;
}

static void show_progress(struct import *import)
{
    const struct cpti_input *input = &import->input;
    const uint64_t now_ns = import->progress_ns != 0 ? cpti_now_ns() : 0;

    if (now_ns < import->progress_ns || import->progress_ns == 0) {
        return;
    }
    import->progress_ns = now_ns + progress_interval_ns;
    import->has_shown_progress = true;
    (void)fprintf(stderr, "\r%s: %" PRIu64 " traces", cpti_input_name(input),
                  import->totals.traces + import->entry.written);
    if (input->total_bytes > 0) {
        (void)fprintf(stderr, ", %" PRIu64 " %%",
                      100 * input->read_bytes / input->total_bytes);
    }
    (void)fputs("\033[K", stderr);
}

static void end_progress(struct import *import)
{
    if (import->has_shown_progress) {
        (void)fputs("\r\033[K", stderr);
        import->has_shown_progress = false;
    }
}

/* A cpt_read_fn: spans that wait for others are long work, too. */
static cpt_status read_input(void *context, void *buffer, size_t capacity,
                             size_t *bytes)
{
    struct import *import = context;

    show_progress(import);
    return cpti_input_read(&import->input, buffer, capacity, bytes);
}

/* Tells why a piece, or the rest of the file, cannot be read. */
static void tell_refused(const struct import *import, cpt_status status,
                         const struct cpt_error *error)
{
    (void)cpti_failed_at((struct cpti_at){.file = cpti_input_name(&import->input),
                                          .has_byte = true,
                                          .byte = error->offset},
                         "%s",
                         error->sentence[0] != '\0' ? error->sentence
                                                    : cpt_status_sentence(status));
}

/* Names a trace whose id came before. */
static void tell_again(struct import *import, struct cpt_bytes trace)
{
    if (cpti_traces_counts(import->traces)->again <= AGAIN_TOLD_MAX) {
        end_progress(import);
        cpti_warn("%s: trace %s came before: it counts once more",
                  cpti_input_name(&import->input), cpti_quoted_bytes(trace));
    }
}

/* Imports what can be read of traces now. */
static int import_traces(struct import *import)
{
    int exit_status = CPTI_EXIT_DONE;
    cpt_status status = CPT_OK;
    unsigned refused = 0;

    while (status != CPT_END && status != CPT_NO_MEMORY) {
        struct cpt_error error = {0};
        struct cpt_bytes trace = {"", 0};

        status = cpti_traces_next(import->traces, import->spans, &trace, &error);
        if (status == CPT_OK) {
            import->totals.traces++;
            exit_status = cpti_exit_last(exit_status, import_trace(import, trace));
            if (cpti_traces_is_again(import->traces)) {
                tell_again(import, trace);
            }
            show_progress(import);
        } else if (status != CPT_END) {
            end_progress(import);
            exit_status = CPTI_EXIT_FAILED;
            if (refused++ < REFUSED_TOLD_MAX) {
                tell_refused(import, status, &error);
            }
            import->lacks_places |= status == CPT_LIMIT;
            import->lacked_memory |= status == CPT_NO_MEMORY;
        }
    }
    end_progress(import);
    if (refused > REFUSED_TOLD_MAX) {
        cpti_warn("%s: %u more like these", cpti_input_name(&import->input),
                  refused - REFUSED_TOLD_MAX);
    }
    return exit_status;
}

/* Imports the lines of an entry. */
static int import_lines(struct import *import)
{
    const char *name = cpti_input_name(&import->input);
    int exit_status = CPTI_EXIT_DONE;

    import->has_lines = true;
    if (import->log == NULL || import->is_perfetto) {
        return cpti_failed_at((struct cpti_at){.file = name},
                              "lines of an entry, which have no spans: only a path log "
                              "can be made of them");
    }
    exit_status =
        cpti_entry_records_read(&import->entry, name, cpti_head_read, &import->head);
    end_progress(import);
    return exit_status;
}

/* Imports the file that is open. */
static int import_input(struct import *import)
{
    struct cpti_head *head = &import->head;

    if (cpti_head_init(head, NULL, read_input, import) == CPT_OK) {
        const bool is_entry = cpti_entry_lines_recognise(NULL, cpti_head_read, head);

        cpti_head_rewind(head);
        if (is_entry) {
            return import_lines(import);
        }
        if (cpti_traces_open(import->traces, cpti_head_read, head) == CPT_OK) {
            return import_traces(import);
        }
    }
    import->lacked_memory = true;
    return cpti_failed("out of memory");
}

static int import_file(struct import *import, const char *name)
{
    struct cpti_input *input = &import->input;
    int exit_status = cpti_input_open(input, name);

    if (exit_status != CPTI_EXIT_DONE) {
        return exit_status;
    }
    exit_status = import_input(import);
    cpti_head_deinit(&import->head);
    import->is_open = import->annotation != NULL; /* it is read once more */
    if (!import->is_open) {
        cpti_input_close(input);
    }
    return exit_status;
}

/* --- Annotations --- */

static int begin_copy(struct import *import, const char *name)
{
    import->annotation = cpti_annotation_new(NULL);
    return import->annotation != NULL ? cpti_output_open(import->copy, name)
                                      : cpti_failed("out of memory");
}

/* Whether both outputs, which are open, are one file: the last one would replace the
 * other. */
static bool are_one_file(const struct cpti_output *log, const struct cpti_output *copy)
{
    return log->target != NULL && copy->target != NULL &&
           strcmp(log->target, copy->target) == 0;
}

/* Why a copy failed: its own file, or the one that is read. */
static int copy_failed(const struct import *import, cpt_status status)
{
    const struct cpti_output *copy = import->copy;
    const int number = import->input.error_number;

    if (copy->error_number != 0 && copy->path != NULL) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(copy->path)},
                              "cannot be written: %s", strerror(copy->error_number));
    }
    return cpti_failed_at((struct cpti_at){.file = cpti_input_name(&import->input)},
                          "the copy is not written: %s",
                          number != 0 ? strerror(number) : cpt_status_sentence(status));
}

/* Copies the file that was read, which is still open, with its attributes. */
static int write_copy(struct import *import)
{
    struct cpti_input *input = &import->input;
    const struct cpt_sink sink = {cpti_output_write, import->copy};
    const uint64_t missing = cpti_annotation_missing(import->annotation);
    cpt_status status = CPT_OK;

    if (cpti_traces_counts(import->traces)->messages > 0) {
        return cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                              "only JSON can be annotated, not protobuf");
    }
    if (missing > 0) {
        cpti_warn("%s: %" PRIu64 " spans on a critical path have no place for an "
                  "attribute",
                  cpti_input_name(input), missing);
    }
    status = cpti_input_seek(input, 0);
    status = CPTI_THEN(status, cpti_annotation_write(import->annotation,
                                                     cpti_input_read, input, &sink));
    return status == CPT_OK ? CPTI_EXIT_DONE : copy_failed(import, status);
}

/* Ends the copy, of which there is none if nothing was read. */
static int end_copy(struct import *import, bool is_empty)
{
    int status = CPTI_EXIT_FAILED;

    if (import->is_open && !is_empty && !import->lacks_places) {
        status = write_copy(import);
    }
    if (import->is_open) {
        cpti_input_close(&import->input);
    }
    if (status != CPTI_EXIT_DONE) {
        cpti_output_abort(import->copy);
        return status;
    }
    return cpti_output_commit(import->copy);
}

/* --- What was left out --- */

static void tell_all(const struct import *import)
{
    const struct totals *totals = &import->totals;

    cpti_entry_records_tell(&import->entry);
    if (import->has_lines && totals->traces == 0) {
        return;
    }
    cpti_told("%" PRIu64 " traces of %" PRIu64 " spans", totals->traces, totals->spans);
    cpti_span_totals_tell(&totals->left);
    cpti_tell_count(totals->refused_traces,
                    "traces left out that are larger than --trace-limit");
    cpti_tell_count(totals->cut_traces,
                    "traces taken before all files were read, for want of memory: "
                    "their spans are too far apart");
    cpti_tell_count(totals->again, "traces with the id of an earlier one: copies, or "
                                   "parts that are not joined");
    cpti_tell_count(totals->other_signals,
                    "documents passed over that are metrics, logs or profiles");
}

/* --- The command --- */

static int read_mode(const struct cpti_arguments *arguments, enum cpti_span_mode *mode)
{
    const char *word = cpti_value(arguments, "mode");

    *mode = CPTI_SPANS_EXACT;
    for (unsigned i = 0; word != NULL && i <= CPTI_SPANS_CRISP; i++) {
        if (strcmp(word, mode_words[i]) == 0) {
            *mode = (enum cpti_span_mode)i;
        }
    }
    if (*mode == CPTI_SPANS_CRISP && cpti_value(arguments, "output") != NULL) {
        return cpti_usage("the sections of --mode=crisp overlap, so they are no paths; "
                          "print them by --sections");
    }
    return CPTI_EXIT_DONE;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t bytes = strlen(name);
    const size_t end_bytes = strlen(end);

    return bytes >= end_bytes && strcmp(name + bytes - end_bytes, end) == 0;
}

/* Opens the log, or the trace of Perfetto, as its name says. */
static int begin_log(struct import *import, const char *name)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    int status = cpti_output_open(import->log, name);

    import->perfetto.output = import->log;
    import->is_perfetto = ends_with(name, ".pftrace");
    if (status == CPTI_EXIT_DONE && !import->is_perfetto &&
        cpti_output_write(import->log, header, cpt_log_header(header)) != 0) {
        cpti_output_abort(import->log);
        status = CPTI_EXIT_FAILED;
    }
    return status;
}

/* Adds what was counted while files were read. */
static int count_all(struct import *import)
{
    const struct cpti_traces_counts *counts = cpti_traces_counts(import->traces);

    import->totals.spans += counts->spans;
    import->totals.refused_pieces += counts->refused_pieces;
    import->totals.left.refused_spans += counts->refused_spans;
    import->totals.refused_traces += counts->refused_traces;
    import->totals.cut_traces += counts->cut_traces;
    import->totals.again += counts->again;
    import->totals.other_signals += counts->other_signals;
    import->totals.left.unknown_fields += counts->unknown_fields;
    import->totals.left.replaced += counts->replaced;
    return counts->refused_traces > 0 ? CPTI_EXIT_FAILED : CPTI_EXIT_DONE;
}

/* Of lines of an entry that name none. */
static struct cpt_bytes service_of(const struct cpti_arguments *arguments)
{
    const char *service = cpti_value(arguments, "service");

    return cpt_bytes_of(service != NULL ? service : "");
}

static int import_files(struct import *import, const struct cpti_arguments *arguments)
{
    const struct cpti_traces_options options = {
        .trace_bytes_max = import->trace_bytes_max,
        .annotation = import->annotation,
        .tag_keys = import->records.tag_keys,
        .tag_key_count = import->records.tag_key_count,
        .has_files = true};
    int status = CPTI_EXIT_DONE;

    import->traces = cpti_traces_new(&options);
    import->spans = cpti_spans_new(NULL);
    import->records.sink = (struct cpt_sink){cpti_output_write, import->log};
    import->records.adds_visits = cpti_has(arguments, "visits");
    import->entry.records = &import->records;
    import->entry.service = service_of(arguments);
    if (cpti_span_records_init(&import->records) != CPT_OK ||
        cpti_entry_records_init(&import->entry) != CPT_OK || import->spans == NULL ||
        import->traces == NULL) {
        import->lacked_memory = true;
        return cpti_failed("out of memory");
    }
    cpti_spans_align_clocks(import->spans, import->mode == CPTI_SPANS_EXACT);
    for (size_t i = 0; i < arguments->operand_count; i++) {
        status = cpti_exit_last(status, import_file(import, arguments->operands[i]));
    }
    cpti_traces_finish(import->traces);
    status = cpti_exit_last(status, import_traces(import));
    if (import->log != NULL && cpti_span_records_flush(&import->records) != CPT_OK) {
        status = CPTI_EXIT_FAILED;
    }
    status = cpti_exit_last(status, count_all(import));
    tell_all(import);
    return status;
}

/* How the only input is shown; NULL: there are several. */
static const char *only_input(const struct cpti_arguments *arguments)
{
    const char *path = arguments->operands[0];

    if (arguments->operand_count != 1) {
        return NULL;
    }
    return strcmp(path, "-") == 0 ? "standard input" : cpti_quoted(path);
}

/* Imports all, and ends the outputs: what could be read is worth having, but not if how
 * much depends on the memory there was. */
static int import_all(struct import *import, const struct cpti_arguments *arguments)
{
    int status = import_files(import, arguments);
    const bool has_paths = import->totals.paths + import->entry.written > 0;
    const bool has_read = import->totals.traces + import->entry.written > 0;
    const bool is_empty =
        import->lacked_memory || (status != CPTI_EXIT_DONE && !has_read);

    if (import->copy != NULL) {
        status = cpti_exit_last(status, end_copy(import, is_empty));
    }
    if (status == CPTI_EXIT_DONE && !has_paths) {
        status =
            cpti_failed_at((struct cpti_at){.file = only_input(arguments)},
                           import->entry.lines > 0 ? "no line has a path"
                                                   : "no trace has a critical path");
    }
    if (import->log != NULL && (is_empty || !has_paths)) {
        cpti_output_abort(import->log); /* an older log stays */
    } else if (import->log != NULL) {
        status = cpti_exit_last(status, cpti_output_commit(import->log));
    }
    cpti_span_records_deinit(&import->records);
    cpti_entry_records_deinit(&import->entry);
    cpti_spans_free(import->spans);
    cpti_traces_free(import->traces);
    cpti_annotation_free(import->annotation);
    return status;
}

/* --- The command line --- */

static bool is_stdout(const char *output)
{
    return output != NULL && strcmp(output, "-") == 0;
}

static int check_outputs(const struct cpti_arguments *arguments)
{
    const char *output = cpti_value(arguments, "output");
    const char *copy = cpti_value(arguments, "annotate");
    const bool has_sections = cpti_has(arguments, "sections");
    const bool has_calls = cpti_has(arguments, "calls");

    if (output == NULL && copy == NULL && !has_sections && !has_calls) {
        return cpti_usage("'cpt import' needs --output FILE for a path log, "
                          "--sections, --calls, or --annotate FILE");
    }
    if (has_sections + has_calls + is_stdout(output) + is_stdout(copy) > 1) {
        return cpti_usage("standard output takes one of a path log, --sections, "
                          "--calls and --annotate");
    }
    if (copy != NULL &&
        (arguments->operand_count != 1 || is_stdout(arguments->operands[0]))) {
        return cpti_usage("--annotate takes one file, which is read twice, so not "
                          "standard input");
    }
    return CPTI_EXIT_DONE;
}

static int run(const struct cpti_arguments *arguments)
{
    const char *output = cpti_value(arguments, "output");
    const char *annotated = cpti_value(arguments, "annotate");
    struct cpti_output log = {0};
    struct cpti_output copy = {0};
    struct import import = {.prints_sections = cpti_has(arguments, "sections"),
                            .prints_calls = cpti_has(arguments, "calls"),
                            .json = {.file = stdout}};
    uint64_t limit_mb = 0;
    int status = read_mode(arguments, &import.mode);

    if (cpti_has(arguments, "events")) {
        return cpti_event_import(arguments);
    }
    if (cpti_has(arguments, "sources")) {
        return cpti_usage("--sources goes with --events");
    }
    if (cpti_has(arguments, "method")) {
        return cpti_usage("--method goes with --events");
    }
    if (status == CPTI_EXIT_DONE) {
        import.records.tag_keys = import.tag_keys;
        status =
            cpti_span_tags(arguments, import.tag_keys, &import.records.tag_key_count);
        if (import.records.tag_key_count < CPTI_TAG_KEYS_MAX) {
            import.tag_keys[import.records.tag_key_count++] =
                cpt_bytes_of(CPTI_EVIDENCE_ATTRIBUTE);
        }
    }
    if (status == CPTI_EXIT_DONE) {
        status =
            cpti_whole_number(arguments, "trace-limit", 1, TRACE_LIMIT_MAX, &limit_mb);
        import.trace_bytes_max = (size_t)limit_mb * BYTES_PER_MB;
    }
    status = CPTI_THEN(status, check_outputs(arguments));
    if (status == CPTI_EXIT_DONE && output != NULL) {
        import.log = &log;
        status = begin_log(&import, output);
    }
    if (status == CPTI_EXIT_DONE && annotated != NULL) {
        import.copy = &copy;
        status = begin_copy(&import, annotated);
        if (status == CPTI_EXIT_DONE && import.log != NULL &&
            are_one_file(&log, &copy)) {
            cpti_output_abort(&copy);
            status = cpti_usage("--output and --annotate name one file");
        }
        if (status != CPTI_EXIT_DONE && import.log != NULL) {
            cpti_output_abort(import.log);
        }
    }
    if (status != CPTI_EXIT_DONE) {
        cpti_annotation_free(import.annotation);
        return status;
    }
    import.progress_ns =
        isatty(STDERR_FILENO) && !((import.prints_sections || import.prints_calls) &&
                                   isatty(STDOUT_FILENO))
            ? cpti_now_ns() + progress_interval_ns
            : 0;
    return import_all(&import, arguments);
}

static const struct cpti_option options[] = {
    {"output", 'o', "FILE",
     "write a path log; '-' is standard output; X.pftrace: a trace for Perfetto"},
    {"sections", 0, NULL, "print the sections of each trace as a line of JSON"},
    {"calls", 0, NULL, "print each call between two services as a line of JSON"},
    {"visits", 0, NULL,
     "write all visits of services to the log, too, on the path or not, for cpt "
     "culprit"},
    CPTI_TAG_OPTION,
    {"events", 0, NULL,
     "the files are lines of logs, CSV with the columns id, service, event, time_us …"},
    CPTI_SOURCES_OPTION,
    CPTI_METHOD_OPTION,
    {"service", 0, "NAME", "the service of lines of an entry that name none"},
    {"annotate", 0, "FILE",
     "write the file again, with the path time of each span; '-' is standard output"},
    {"mode", 0, "MODE", "how sections are found; default: exact",
     "exact jaeger-ui crisp"},
    {"trace-limit", 0, "MB", "leave out traces of more megabytes; default: 256"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt import traces.json.gz -o traces.cptlog && cpt report traces.cptlog",
     "the averaged critical path of all traces of a file"},
    {"curl 'http://jaeger:16686/api/traces?service=front&limit=1500' | cpt import - -o "
     "front.cptlog",
     "out of Jaeger"},
    {"cpt import --service edge /var/log/nginx/paths.jsonl* -o edge.cptlog",
     "requests that an entry has logged with their paths: nginx, Python, Node"},
    {"cpt import trace.json -o trace.pftrace",
     "the paths with arrows from who unblocked to who went on, in ui.perfetto.dev"},
    {"cpt import --events lines.csv -o lines.cptlog && cpt report lines.cptlog",
     "the paths that lines of logs tell"},
    {"cpt import --sections trace.json", "which span has the critical path, and when"},
    {"cpt import --annotate - trace.json.gz | gzip >annotated.json.gz",
     "for Jaeger's page, which shows the attribute cpt.path_ns of each span"},
    {0},
};

const struct cpti_command cpti_command_import = {
    CPTI_IS_IMPORT,
    .usages = {"[OPTION]... -o LOG FILE...", "[OPTION]... --sections FILE...",
               "[OPTION]... --annotate COPY FILE", "--events -o LOG FILE..."},
    .options = {options},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .is_in_folder = cpti_traces_recognise,
    .folder_noun = "span file",
    .folder_option = &cpti_event_folders,
};
