/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_explain.c - cpt explain: why a span is on the critical path, or is not
 *
 *      files --> the trace --> sections --> an account of the span --> words, JSON
 */
#include "tool/commands/absent.h"
#include "tool/base/files.h"
#include "tool/table/json_write.h"
#include "tool/base/names.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/requests/moved_clocks.h"
#include "import/formats/ids.h"
#include "import/spans/span_explain.h"
#include "import/traces/traces.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

enum { SECTIONS_TOLD_MAX = 20 };

static const double ns_per_ms = 1e6;

static const char *const why_words[] = {
#define WORD(name, word) [CPTI_SPAN_WHY_##name] = (word),
    CPTI_SPAN_WHY_MAP(WORD)
#undef WORD
};

struct explain {
    struct cpt_bytes trace; /* as it was asked for */
    struct cpt_bytes span;
    bool is_json;
    struct cpti_spans *spans;
    struct cpti_json json;
    size_t traces; /* that were found */
    size_t found;  /* spans */
};

/* --- Words --- */

/* "b 'GET /' of front". Valid until the next call but one. */
static const char *title(const struct cpti_spans *spans, uint32_t number)
{
    static char texts[3][3 * CPTI_TEXT_BYTES];
    static unsigned next;
    char *text = texts[next++ % 3];
    const struct cpti_span *span = cpti_spans_at(spans, number);
    const char *service =
        span->service.bytes > 0 ? cpti_printable(span->service) : "unknown";

    (void)snprintf(text, sizeof texts[0], "%s '%s' of %s", cpti_printable(span->id),
                   cpti_printable(span->operation), service);
    return text;
}

/* Milliseconds of the trace. */
static double at_ms(const struct cpti_spans *spans, uint64_t ns)
{
    const uint64_t start_ns = cpti_spans_start_ns(spans, cpti_spans_root(spans));

    return ((double)(int64_t)(ns - start_ns)) / ns_per_ms;
}

static void print_sections(const struct cpti_spans *spans, uint32_t number)
{
    size_t told = 0;
    size_t more = 0;

    for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
        const struct cpti_section *section = cpti_spans_section(spans, i);

        if (section->span != number) {
            continue;
        }
        if (told == SECTIONS_TOLD_MAX) {
            more++;
            continue;
        }
        told++;
        (void)printf("  from %.3f to %.3f ms\n", at_ms(spans, section->start_ns),
                     at_ms(spans, section->end_ns));
    }
    if (more > 0) {
        (void)printf("  and %zu more\n", more);
    }
}

/* The reason, as a sentence that begins with @subject. */
static void print_reason(const struct cpti_spans *spans, const char *subject,
                         const struct cpti_span_account *account)
{
    const char *by =
        account->by != CPTI_SPAN_NONE ? title(spans, account->by) : "no span";
    const char *parent =
        account->parent != CPTI_SPAN_NONE ? title(spans, account->parent) : "";
    const double at = account->at_ns != 0 ? at_ms(spans, account->at_ns) : 0;

    switch (account->why) {
    case CPTI_SPAN_WHY_ON_PATH:
        (void)printf("%s is on the critical path: %.3f ms of its own, and %.3f ms of "
                     "spans below it.\n",
                     subject, (double)account->own_ns / ns_per_ms,
                     (double)account->below_ns / ns_per_ms);
        break;
    case CPTI_SPAN_WHY_THROUGH:
        (void)printf("%s is on the critical path, but has no time of its own there: "
                     "%.3f ms are those of spans below it.\n",
                     subject, (double)account->below_ns / ns_per_ms);
        break;
    case CPTI_SPAN_WHY_DROPPED:
        (void)printf("%s is not on the critical path: it is one of the spans %s.\n",
                     subject, account->fate_sentence);
        break;
    case CPTI_SPAN_WHY_MOMENT:
        (void)printf("%s has nothing of the critical path: it took no time.\n",
                     subject);
        break;
    case CPTI_SPAN_WHY_ABOVE:
        (void)printf("%s is not on the critical path, as %s, above it, is not.\n",
                     subject, by);
        break;
    case CPTI_SPAN_WHY_HELD:
        (void)printf("%s is not on the critical path: %s held their parent, %s. It "
                     "ended no earlier, and had begun at %.3f ms, before this one "
                     "ended.\n",
                     subject, by, parent, at);
        break;
    case CPTI_SPAN_WHY_BACKGROUND:
        (void)printf("%s is not on the critical path: it ended later than its parent, "
                     "%s, by more than 1 %% of that one's time, and %s, which ended "
                     "within that, at %.3f ms, ran meanwhile. So it ran in the "
                     "background.\n",
                     subject, parent, by, at);
        break;
    case CPTI_SPAN_WHY_LATE:
        (void)printf("%s is not on the critical path: its parent, %s, is on it only "
                     "until %.3f ms, when %s took over. This one began no earlier.\n",
                     subject, parent, at, by);
        break;
    case CPTI_SPAN_WHY_NOT_AWAITED:
        (void)printf("%s is not on the critical path: its parent, %s, tells when it "
                     "waited, and never waited for it.\n",
                     subject, parent);
        break;
    case CPTI_SPAN_WHY_THERE:
        (void)printf("%s is not on the critical path: it had ended when its parent, "
                     "%s, began to wait for it, at %.3f ms.\n",
                     subject, parent, at);
        break;
    case CPTI_SPAN_WHY_WAIT_LOST:
        (void)printf("%s is not used: it is a wait, and its parent, %s, does not tell "
                     "as many as there are.\n",
                     subject, parent);
        break;
    case CPTI_SPAN_WHY_ELSEWHERE:
        (void)printf("%s is not on the critical path: when it ended, at %.3f ms, the "
                     "path was in %s.\n",
                     subject, at, by);
        break;
    }
}

/* Says that the trace is a fragment, if it is one. */
static void print_fragment(const struct cpti_spans *spans)
{
    const uint32_t lost = cpti_spans_timeless_root(spans);

    if (cpti_spans_fragment(spans) == CPTI_SPAN_ROOT_MISSING) {
        (void)puts("It is a fragment: the root of the request is missing.");
    } else if (lost != CPTI_SPAN_NONE) {
        (void)printf("It is a fragment: the root of the request, %s, has no time that "
                     "makes sense.\n",
                     title(spans, lost));
    }
}

/* Of a trace in which no span can be the root. */
static void print_rootless(const struct cpti_spans *spans, struct cpt_bytes trace,
                           uint32_t number, const struct cpti_span_account *account,
                           const struct cpti_spans_report *report)
{
    (void)printf("Trace %s has no critical path, as none of its spans can be the root: "
                 "%zu have no time that makes sense, %zu are their own ancestors.\n",
                 cpti_printable(trace), report->timeless, report->cycles);
    print_reason(spans, title(spans, number), account);
}

static void print_words(struct explain *explain, struct cpt_bytes trace,
                        uint32_t number, const struct cpti_span_account *account,
                        const struct cpti_span_account *above)
{
    const struct cpti_spans *spans = explain->spans;
    const struct cpti_span *span = cpti_spans_at(spans, number);
    const uint32_t root = cpti_spans_root(spans);
    char name[CPTI_MOVED_NAME_BYTES];

    (void)printf("Trace %s: %s, %.3f ms.\n", cpti_printable(trace), title(spans, root),
                 at_ms(spans, cpti_spans_end_ns(spans, root)));
    print_fragment(spans);
    (void)printf("Span %s", title(spans, number));
    if (span->has_time) {
        (void)printf(": from %.3f to %.3f ms", at_ms(spans, span->start_ns),
                     at_ms(spans, span->start_ns + span->duration_ns));
    }
    if (account->parent != CPTI_SPAN_NONE) {
        (void)printf(", below %s", title(spans, account->parent));
    }
    (void)puts(".");
    print_reason(spans, "It", account);
    print_sections(spans, number);
    if (above != NULL) {
        print_reason(spans, title(spans, account->by), above);
    }
    if (account->is_cut) {
        (void)printf("It was cut to the time of its parent: from %.3f to %.3f ms.\n",
                     at_ms(spans, cpti_spans_start_ns(spans, number)),
                     at_ms(spans, cpti_spans_end_ns(spans, number)));
    }
    if (account->moved_ns != 0) {
        cpti_moved_clock_name(span->host, span->service, name);
        (void)printf(
            "It was moved: the clock of %s was %.3f ms %s that of the root.\n", name,
            (account->moved_ns < 0 ? -1 : 1) * (double)account->moved_ns / ns_per_ms,
            account->moved_ns < 0 ? "behind" : "ahead of");
    }
    if (account->is_doubted) {
        cpti_moved_clock_name(span->host, span->service, name);
        (void)printf("What it tells of the clock of %s was not believed: others "
                     "contradict it.\n",
                     name);
    }
    (void)puts(
        cpti_spans_is_exact(spans)
            ? "The path is exact: its spans tell when they waited."
            : "The path is approximate: its spans do not tell when they waited.");
}

/* --- JSON --- */

static void json_id(struct cpti_json *json, const char *key,
                    const struct cpti_spans *spans, uint32_t number)
{
    if (number == CPTI_SPAN_NONE) {
        cpti_json_null(json, key);
    } else {
        cpti_json_bytes(json, key, cpti_spans_at(spans, number)->id);
    }
}

static void json_reason(struct cpti_json *json, const struct cpti_spans *spans,
                        const struct cpti_span_account *account)
{
    cpti_json_text(json, "why", why_words[account->why]);
    if (account->fate != NULL) {
        cpti_json_text(json, "dropped", account->fate);
    }
    json_id(json, "by", spans, account->by);
    if (account->at_ns != 0) {
        cpti_json_us(json, "at_us", (int64_t)account->at_ns);
    } else {
        cpti_json_null(json, "at_us");
    }
}

static void print_json(struct explain *explain, struct cpt_bytes trace, uint32_t number,
                       const struct cpti_span_account *account,
                       const struct cpti_span_account *above)
{
    const struct cpti_spans *spans = explain->spans;
    const struct cpti_span *span = cpti_spans_at(spans, number);
    const char *fragment = cpti_span_fragment_word(cpti_spans_fragment(spans));
    struct cpti_json *json = &explain->json;

    cpti_json_open(json, NULL, '{');
    cpti_json_bytes(json, "trace_id", trace);
    cpti_json_bytes(json, "span_id", span->id);
    cpti_json_bytes(json, "service", span->service);
    cpti_json_bytes(json, "operation", span->operation);
    json_id(json, "parent_id", spans, account->parent);
    cpti_json_us(json, "start_us", (int64_t)span->start_ns);
    cpti_json_us(json, "end_us", (int64_t)(span->start_ns + span->duration_ns));
    cpti_json_bool(json, "is_on_path", account->own_ns + account->below_ns > 0);
    cpti_json_us(json, "own_us", (int64_t)account->own_ns);
    cpti_json_us(json, "below_us", (int64_t)account->below_ns);
    json_reason(json, spans, account);
    if (above != NULL) {
        cpti_json_open(json, "above", '{');
        json_reason(json, spans, above);
        cpti_json_close(json);
    }
    if (fragment != NULL) {
        cpti_json_text(json, "fragment", fragment);
    }
    cpti_json_bool(json, "is_cut", account->is_cut);
    cpti_json_us(json, "moved_us", -account->moved_ns);
    if (account->is_doubted) {
        cpti_json_bool(json, "is_doubted", true);
    }
    cpti_json_bool(json, "approximate", !cpti_spans_is_exact(spans));
    cpti_json_close(json);
}

/* --- The trace --- */

static cpt_status explain_span(struct explain *explain, struct cpt_bytes trace,
                               uint32_t number, const struct cpti_spans_report *report)
{
    const bool is_rootless = cpti_spans_root(explain->spans) == CPTI_SPAN_NONE;
    struct cpti_span_account account;
    struct cpti_span_account above;
    const struct cpti_span_account *also = NULL;
    cpt_status status = cpti_spans_explain(explain->spans, number, &account);

    if (status == CPT_OK && account.why == CPTI_SPAN_WHY_ABOVE) {
        status = cpti_spans_explain(explain->spans, account.by, &above);
        also = &above;
    }
    if (status != CPT_OK) {
        return status;
    }
    if (explain->is_json) {
        print_json(explain, trace, number, &account, also);
    } else {
        (void)fputs(explain->found > 0 ? "\n" : "", stdout);
        if (is_rootless) {
            print_rootless(explain->spans, trace, number, &account, report);
        } else {
            print_words(explain, trace, number, &account, also);
        }
    }
    explain->found++;
    return CPT_OK;
}

static int explain_trace(struct explain *explain, struct cpt_bytes trace)
{
    struct cpti_spans *spans = explain->spans;
    struct cpti_spans_report report;
    cpt_status status = CPT_OK;

    if (!cpti_ids_equal(trace, explain->trace) &&
        !cpti_trace_is(trace, explain->trace.data)) {
        return CPTI_EXIT_DONE;
    }
    explain->traces++;
    status = cpti_spans_resolve(spans, &report);
    if (status == CPT_OK) {
        status = cpti_spans_walk(spans, CPTI_SPANS_EXACT);
    } else if (status == CPT_END) {
        status = CPT_OK; /* it has no root, which is to be explained */
    }
    for (uint32_t i = 0; i < cpti_spans_count(spans) && status == CPT_OK; i++) {
        if (cpti_ids_equal(cpti_spans_at(spans, i)->id, explain->span)) {
            status = explain_span(explain, trace, i, &report);
        }
    }
    return status == CPT_OK ? CPTI_EXIT_DONE
                            : cpti_failed("%s", cpt_status_sentence(status));
}

static int explain_file(struct explain *explain, const char *name)
{
    struct cpti_input input;
    struct cpti_traces_options options = {.read = cpti_input_read, .context = &input};
    struct cpti_traces *traces = NULL;
    cpt_status status = CPT_OK;
    int exit_status = cpti_input_open(&input, name);

    if (exit_status != CPTI_EXIT_DONE) {
        return exit_status;
    }
    traces = cpti_traces_new(&options);
    if (traces == NULL) {
        exit_status = cpti_failed("out of memory");
    }
    while (traces != NULL && status != CPT_END && status != CPT_NO_MEMORY) {
        struct cpt_error error = {0};
        struct cpt_bytes trace = {"", 0};

        status = cpti_traces_next(traces, explain->spans, &trace, &error);
        if (status == CPT_OK) {
            exit_status = cpti_exit_last(exit_status, explain_trace(explain, trace));
        } else if (status != CPT_END && exit_status == CPTI_EXIT_DONE) {
            exit_status =
                cpti_failed_at((struct cpti_at){.file = cpti_input_name(&input),
                                                .has_byte = true,
                                                .byte = error.offset},
                               "%s",
                               error.sentence[0] != '\0' ? error.sentence
                                                         : cpt_status_sentence(status));
        }
    }
    cpti_traces_free(traces);
    cpti_input_close(&input);
    return exit_status;
}

/* --- The command --- */

/* The id of an operand, which may be in base64, as in the file. */
static struct cpt_bytes id_of(const char *operand, char *digits)
{
    const struct cpt_bytes id = cpt_bytes_of(operand);

    return cpti_id_form(id) >= CPTI_ID_BASE64 ? cpti_id_digits(id, digits) : id;
}

static int run(const struct cpti_arguments *arguments)
{
    char digits[2][CPTI_ID_DIGITS_MAX + 1] = {{0}}; /* they are strings of C, too */
    struct explain explain = {.trace = id_of(arguments->operands[0], digits[0]),
                              .span = id_of(arguments->operands[1], digits[1]),
                              .is_json = cpti_has(arguments, "json"),
                              .spans = cpti_spans_new(NULL),
                              .json = {.file = stdout}};
    int status = CPTI_EXIT_DONE;

    if (explain.spans == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 2; i < arguments->operand_count; i++) {
        status = cpti_exit_last(status, explain_file(&explain, arguments->operands[i]));
    }
    cpti_spans_free(explain.spans);
    if (explain.traces == 0) {
        return cpti_failed("no trace '%s' is in these files",
                           cpti_quoted(arguments->operands[0]));
    }
    if (explain.found == 0 && status == CPTI_EXIT_DONE) {
        return cpti_failed("trace '%s' has no span '%s'",
                           cpti_quoted(arguments->operands[0]),
                           cpti_quoted(arguments->operands[1]));
    }
    return status;
}

static const struct cpti_option options[] = {
    {"json", 0, NULL, "print each span as a line of JSON"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt explain 4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 traces.json",
     "why that span of that trace is on the critical path, or is not"},
    {"cpt explain --json 4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 traces.json",
     "the same, for programs"},
    {0},
};

const struct cpti_command cpti_command_explain = {
    CPTI_IS_EXPLAIN,
    .usages = {"[OPTION]... TRACE SPAN FILE..."},
    .options = {options},
    .examples = examples,
    .operand_count_min = 3,
    .operand = "a trace, a span and a file",
    .run = run,
};
