/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * kept_spans.c - kept graphs from files of spans: of their notes, described in
 * docs/format-spans.md, or inferred, if not all services have some
 */
#include "tool/requests/kept_sources.h"
#include "tool/requests/kept_traces.h"

#include "tool/base/command.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/requests/span_totals.h"
#include "import/learn/learn.h"
#include "import/traces/traces.h"

#include <inttypes.h>
#include <string.h>

enum { IN_A_ROW_MAX = 10000 /* pieces that are refused */ };

struct cpti_kept_spans {
    struct cpti_kept *reading;
    const struct cpti_kept_options *options;
    struct cpti_kept_counts *counts;
    struct cpti_input *input; /* the file that is read */
    char name[256];           /* of the last one, for what comes of all files */
    struct cpti_traces *traces;
    struct cpti_spans *spans;
    struct cpti_span_totals totals;
    struct cpt_bytes trace;   /* its id */
    bool is_visited;          /* the last trace was */
    struct cpti_learn *learn; /* NULL: who waited is inferred from each trace alone */
    struct cpti_kept_traces *waiting; /* for what is learnt from all of them */
};

bool cpti_kept_spans_recognise(const unsigned char *head, size_t bytes)
{
    return cpti_traces_recognise(head, bytes);
}

/* A cpt_dag_visit_fn. */
static cpt_status visit_dag(void *context, const struct cpt_dag *dag,
                            const struct cpt_dag_recorded *recorded,
                            uint64_t latency_ns)
{
    struct cpti_kept_spans *kept = context;
    const struct cpti_span *root =
        cpti_spans_at(kept->spans, cpti_spans_root(kept->spans));
    const char *why = cpti_span_fragment_word(cpti_spans_fragment(kept->spans));
    const struct cpt_attribute attributes[] = {
        {.key = cpt_bytes_of(CPTI_EVIDENCE_ATTRIBUTE),
         .type = CPT_ATTRIBUTE_TEXT,
         .value = {.text = cpt_bytes_of(cpt_evidence_word(recorded->evidence))}},
        {.key = cpt_bytes_of(CPTI_FRAGMENT_ATTRIBUTE),
         .type = CPT_ATTRIBUTE_TEXT,
         .value = {.text = cpt_bytes_of(why != NULL ? why : "")}}};
    const struct cpt_record record = {.service = root->service,
                                      .method = root->operation,
                                      .start_unix_ns = root->start_ns,
                                      .latency_ns = latency_ns,
                                      .is_random = 1,
                                      .attributes = attributes,
                                      .attribute_count = 1 + (why != NULL)};
    const struct cpti_kept_graph graph = {.id = kept->trace,
                                          .service = root->service,
                                          .method = root->operation,
                                          .start_unix_ns = root->start_ns,
                                          .latency_ns = latency_ns,
                                          .record = &record,
                                          .dag = dag,
                                          .recorded = recorded};
    kept->is_visited = true;
    return cpti_kept_counts_record(kept->reading, kept->trace, &record)
               ? cpti_kept_visit(kept->reading, &graph)
               : CPT_OK;
}

static bool is_wanted(const struct cpti_kept_spans *kept)
{
    const char *wanted = kept->options->wanted;

    return wanted == NULL || cpti_trace_is(kept->trace, wanted);
}

/* A trace in which not all services tell what they did, once all that can be learnt of
 * it is. */
static cpt_status infer(struct cpti_kept_spans *kept,
                        const struct cpti_spans_report *report)
{
    const uint64_t inferred = kept->counts->inferred;
    struct cpti_learn_counts events = {0, 0, 0};
    struct cpti_spans_cut cut = {0, 0};
    const cpt_status status =
        kept->learn != NULL
            ? cpti_learn_dag(kept->learn, kept->spans, kept->trace, visit_dag, kept,
                             &cut, &events)
            : cpti_spans_inferred_dag(kept->spans, visit_dag, kept, &cut);

    if (kept->counts->inferred != inferred) {
        struct cpti_spans_report left = *report;

        cpti_spans_count_left(kept->spans, &left); /* some may have been moved */
        cpti_span_totals_add(&kept->totals, kept->spans, &left);
        kept->counts->cut += cut.count;
        kept->counts->cut_ns += cut.ns;
        kept->counts->learnt += events.learnt;
        kept->counts->few += events.few;
        kept->counts->server += events.server;
    }
    return status == CPT_OK && kept->learn != NULL && kept->counts->inferred != inferred
               ? cpti_learn_count_few(kept->learn)
               : status;
}

/* If over half of the events were not learnt: of which services and operations. */
static void list_few(struct cpti_kept_spans *kept)
{
    struct cpti_kept_counts *counts = kept->counts;
    struct cpti_learn_few few[CPTI_KEPT_FEW_MAX];
    bool is_all = true;

    if (counts->few <= counts->learnt) {
        return;
    }
    counts->few_of_count =
        cpti_learn_few_list(kept->learn, few, CPTI_KEPT_FEW_MAX, &is_all);
    counts->is_few_of_some = !is_all;
    for (size_t i = 0; i < counts->few_of_count; i++) {
        (void)snprintf(counts->few_of[i].name, sizeof counts->few_of[i].name, "%.*s",
                       (int)few[i].name.bytes, few[i].name.data);
        counts->few_of[i].events = few[i].events;
    }
}

/* The same before that: it waits, and is learnt from. */
static cpt_status learn(struct cpti_kept_spans *kept)
{
    const cpt_status status = cpti_learn_spans(kept->learn, kept->spans, kept->trace);

    kept->counts->traces++;
    return status == CPT_OK ? cpti_kept_traces_keep(kept->waiting) : status;
}

/* Leaves out what is wrong with a trace alone. */
static cpt_status count_other(struct cpti_kept_spans *kept, cpt_status status)
{
    if (status == CPT_END || status == CPT_LIMIT || status == CPT_CORRUPT ||
        status == CPT_INVALID) {
        kept->counts->others += is_wanted(kept);
        return CPT_OK;
    }
    return status;
}

static cpt_status add_trace(struct cpti_kept_spans *kept)
{
    struct cpti_spans_report report;
    cpt_status status = CPT_OK;

    if (kept->learn == NULL && !is_wanted(kept)) {
        return CPT_OK;
    }
    if (kept->learn != NULL) {
        cpti_learn_stamps(kept->learn, kept->spans);
        status = cpti_kept_traces_copy(kept->waiting, kept->spans, kept->trace);
    }
    if (status == CPT_OK) {
        status = cpti_spans_resolve(kept->spans, &report);
    }
    if (status == CPT_OK &&
        cpti_spans_at(kept->spans, cpti_spans_root(kept->spans))->duration_ns == 0) {
        kept->counts->empty += is_wanted(kept);
        return CPT_OK;
    }
    if (status == CPT_OK) {
        status = cpti_spans_walk(kept->spans, CPTI_SPANS_EXACT);
    }
    if (status == CPT_OK) {
        kept->is_visited = false;
        status = cpti_spans_noted_dag(kept->spans, visit_dag, kept);
        if (status == CPT_END && !kept->is_visited) {
            status = kept->learn != NULL ? learn(kept) : infer(kept, &report);
        }
    }
    return count_other(kept, status);
}

/* Tells why there is no answer, neither of a part of the requests. */
static int tell_broken(struct cpti_kept_spans *kept, cpt_status status)
{
    kept->counts->is_broken = true;
    return status == CPT_IO && kept->learn != NULL
               ? cpti_failed("the spans cannot be kept in a temporary file, to learn "
                             "from them: %s" CPTI_HINT
                             "free some room, or name another folder with TMPDIR",
                             strerror(cpti_kept_traces_fault(kept->waiting)))
               : cpti_failed("%s", cpt_status_sentence(status));
}

/* Goes through the traces that wait, once more. */
static cpt_status pass(struct cpti_kept_spans *kept, bool is_learnt)
{
    cpt_status status = cpti_kept_traces_rewind(kept->waiting);

    while (status == CPT_OK) {
        struct cpti_spans_report report;

        status = cpti_kept_traces_next(kept->waiting, kept->spans, &kept->trace);
        if (status != CPT_OK || (is_learnt && !is_wanted(kept))) {
            continue;
        }
        status = cpti_spans_resolve(kept->spans, &report);
        if (status == CPT_OK) {
            status = is_learnt
                         ? count_other(kept, infer(kept, &report))
                         : cpti_learn_spans(kept->learn, kept->spans, kept->trace);
        }
    }
    return status == CPT_END ? CPT_OK : status;
}

static int learn_and_infer(struct cpti_kept_spans *kept)
{
    bool is_learnt = false;
    cpt_status status = cpti_learn_next(kept->learn, &is_learnt);

    while (status == CPT_OK && !is_learnt) {
        status = pass(kept, false);
        if (status == CPT_OK) {
            status = cpti_learn_next(kept->learn, &is_learnt);
        }
    }
    if (status == CPT_OK) {
        status = pass(kept, true);
    }
    list_few(kept);
    if (kept->counts->learnt != 0) {
        kept->counts->resolution_ns = cpti_learn_resolution_ns(kept->learn);
    }
    return status == CPT_OK ? CPTI_EXIT_DONE : tell_broken(kept, status);
}

static cpt_status read_input(void *context, void *buffer, size_t capacity,
                             size_t *bytes)
{
    return cpti_input_read(((struct cpti_kept_spans *)context)->input, buffer, capacity,
                           bytes);
}

static void tell_refused(const struct cpti_kept_spans *kept, cpt_status status,
                         const struct cpt_error *error)
{
    (void)cpti_failed_at(
        (struct cpti_at){.file = kept->name, .has_byte = true, .byte = error->offset},
        "%s",
        error->sentence[0] != '\0' ? error->sentence : cpt_status_sentence(status));
}

/* What can be read of traces now. A file may never end: it is left after many refused
 * pieces without a span among them. */
static int add_traces(struct cpti_kept_spans *kept)
{
    const struct cpti_traces_counts *counts = cpti_traces_counts(kept->traces);
    uint64_t span_count = counts->spans;
    int exit_status = CPTI_EXIT_DONE;
    cpt_status status = CPT_OK;
    unsigned refused = 0;
    unsigned in_a_row = 0;

    while (status != CPT_END && status != CPT_NO_MEMORY) {
        struct cpt_error error = {0};

        kept->trace = (struct cpt_bytes){"", 0};
        status = cpti_traces_next(kept->traces, kept->spans, &kept->trace, &error);
        if (status == CPT_OK) {
            status = add_trace(kept);
            if (status != CPT_OK) {
                return tell_broken(kept, status);
            }
        } else if (status != CPT_END) {
            exit_status = CPTI_EXIT_FAILED;
            if (refused++ < CPTI_KEPT_TOLD_MAX) {
                tell_refused(kept, status, &error);
            }
            in_a_row = counts->spans == span_count ? in_a_row + 1 : 1;
            span_count = counts->spans;
            if (in_a_row == IN_A_ROW_MAX) {
                break;
            }
        }
    }
    if (refused > CPTI_KEPT_TOLD_MAX) {
        cpti_warn("%s: %u more like these%s", kept->name, refused - CPTI_KEPT_TOLD_MAX,
                  in_a_row == IN_A_ROW_MAX ? ", and no span among them; the rest is "
                                             "not read"
                                           : "");
    }
    return exit_status;
}

int cpti_kept_spans_add(struct cpti_kept_spans *kept, struct cpti_input *input)
{
    int exit_status = CPTI_EXIT_DONE;

    if (kept->counts->is_broken) {
        return CPTI_EXIT_FAILED;
    }
    kept->input = input;
    (void)snprintf(kept->name, sizeof kept->name, "%s", cpti_input_name(input));
    exit_status = cpti_traces_open(kept->traces, read_input, kept) == CPT_OK
                      ? add_traces(kept)
                      : cpti_failed("out of memory");
    kept->input = NULL;
    return exit_status;
}

/* What is not there, beside what kept_graphs.c tells of whole traces. */
static int tell_left_out(struct cpti_kept_spans *kept)
{
    const struct cpti_traces_counts *counts = cpti_traces_counts(kept->traces);
    struct cpti_span_totals *totals = &kept->totals;

    totals->refused_spans = counts->refused_spans;
    totals->unknown_fields = counts->unknown_fields;
    totals->replaced = counts->replaced;
    totals->clipped = 0; /* the graph is of spans as they are told */
    memset(totals->fragments, 0, sizeof totals->fragments);
    cpti_span_totals_tell(totals);
    if (counts->cut_traces > 0) {
        cpti_warn(
            "traces that may lack spans, as these are too far apart for the memory: "
            "%" PRIu64,
            counts->cut_traces);
    }
    return counts->refused_traces == 0
               ? CPTI_EXIT_DONE
               : cpti_failed(
                     "traces that are left out, as they are too large: %" PRIu64,
                     counts->refused_traces);
}

int cpti_kept_spans_finish(struct cpti_kept_spans *kept)
{
    int status = CPTI_EXIT_DONE;

    if (kept->counts->is_broken) {
        return CPTI_EXIT_FAILED;
    }
    cpti_traces_finish(kept->traces);
    status = add_traces(kept);
    if (kept->learn != NULL && !kept->counts->is_broken) {
        status = cpti_exit_last(status, learn_and_infer(kept));
    }
    return cpti_exit_last(status, tell_left_out(kept));
}

struct cpti_kept_spans *cpti_kept_spans_new(struct cpti_kept *reading)
{
    const struct cpti_kept_options *options = reading->options;
    const struct cpti_traces_options traces = {.has_files = true};
    struct cpti_kept_spans *kept = cpt_alloc_zeroed(NULL, sizeof *kept);

    if (kept == NULL) {
        return NULL;
    }
    kept->reading = reading;
    kept->options = options;
    kept->counts = reading->counts;
    kept->traces = cpti_traces_new(&traces);
    kept->spans = cpti_spans_new(NULL);
    if (!options->by_walk) {
        kept->learn = cpti_learn_new(NULL);
        kept->waiting = cpti_kept_traces_new();
    }
    if (kept->learn != NULL && !options->doubts) {
        cpti_learn_without_doubt(kept->learn);
    }
    if (kept->spans != NULL) {
        cpti_spans_watch_inside(kept->spans, options->inside, options->context);
    }
    if (kept->traces == NULL || kept->spans == NULL ||
        (!options->by_walk && (kept->learn == NULL || kept->waiting == NULL))) {
        cpti_kept_spans_free(kept);
        return NULL;
    }
    return kept;
}

void cpti_kept_spans_free(struct cpti_kept_spans *kept)
{
    if (kept != NULL) {
        cpti_spans_free(kept->spans);
        cpti_learn_free(kept->learn);
        cpti_kept_traces_free(kept->waiting);
        cpti_traces_free(kept->traces);
        cpt_alloc_free(NULL, kept);
    }
}
