/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* culprit_print.c - a comparison as text and as JSON; see culprit_print.h */
#include "tool/culprit/culprit_print.h"

#include "tool/table/capped.h"
#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/output.h"
#include "tool/culprit/culprit_structure_print.h"
#include "cpt/cpt_name.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Suspects named by a verdict that is not sure; bytes of "A -> B". */
enum { NAMED_MAX = 3, EITHER_TEXT_BYTES = 2 * CPT_NAME_BYTES_MAX + 8 };

/* --- JSON --- */

static const char *verdict_word(const struct cpti_culprit *culprit)
{
    static const char *const words[] = {[CPTI_VERDICT_NONE] = "none",
                                        [CPTI_VERDICT_UNSURE] = "unsure",
                                        [CPTI_VERDICT_EITHER] = "either",
                                        [CPTI_VERDICT_SURE] = "sure"};

    return words[cpti_culprit_verdict(culprit)];
}

static const char *either_text(const struct cpti_culprit *culprit, size_t index,
                               char text[EITHER_TEXT_BYTES])
{
    struct cpt_bytes to;
    const struct cpt_bytes name = cpti_culprit_either(culprit, index, &to);

    (void)snprintf(text, EITHER_TEXT_BYTES, "%.*s%s%.*s", (int)name.bytes, name.data,
                   to.bytes != 0 ? " -> " : "", (int)to.bytes, to.data);
    return text;
}

/* Who cannot be told apart, and why. */
static void json_either(struct cpti_json *json, const struct cpti_culprit *culprit)
{
    static const char *const reasons[] = {
        [CPTI_DOUBT_NONE] = "",
        [CPTI_DOUBT_NO_EDGE_TIME] = "no_edge_time",
        [CPTI_DOUBT_CALLS_EACH_OTHER] = "calls_each_other",
        [CPTI_DOUBT_SHARES_WORKERS] = "shares_workers",
        [CPTI_DOUBT_PRESENCE_CHANGED] = "presence_changed"};
    char text[EITHER_TEXT_BYTES];

    if (cpti_culprit_verdict(culprit) != CPTI_VERDICT_EITHER) {
        return;
    }
    cpti_json_open(json, "either", '[');
    for (size_t i = 0; i < cpti_culprit_either_count(culprit); i++) {
        cpti_json_text(json, NULL, either_text(culprit, i, text));
    }
    cpti_json_close(json);
    cpti_json_text(json, "reason", reasons[cpti_culprit_doubt_reason(culprit)]);
}

/* --- Columns --- */

/* Never rounded up to 100 %. */
static struct cpti_cell get_first(const struct cpti_asked *asked)
{
    const struct cpti_suspect *suspect = asked->row;

    return cpti_cell_format(asked, "%.0f%%", floor(100 * suspect->share));
}

static struct cpti_cell get_name(const struct cpti_asked *asked)
{
    return cpti_cell_bytes(((const struct cpti_suspect *)asked->row)->name);
}

#define OF(field) CPTI_OF(struct cpti_suspect, field)

static const struct cpti_column columns[] = {
    {"service", "service", CPTI_NAME, get_name, 0, "or what --by says"},
    {"score", "score", CPTI_FACTOR, OF(score), "how much it stands out"},
    {"frames", "frames", CPTI_COUNT, OF(frame_count), "that it has"},
    {"frames_slower", "slower", CPTI_COUNT, OF(slower_count),
     "that are slower in 95 % of the resamples"},
    {"factor", "factor", CPTI_FACTOR, OF(factor), "how many times longer it takes"},
    {"share", "share", CPTI_SHARE, OF(share), "of the resamples in which it is first"},
    {"first", "first", CPTI_TEXT, get_first, 0, "the same, in tables", CPTI_IN_TABLES},
    {"p", "p", CPTI_PART, OF(p), "of chance"},
    {"distance", "distance", CPTI_NUMBER, OF(distance), "from the other frames"},
    {"base_calls", "base calls", CPTI_COUNT, OF(calls[0])},
    {"new_calls", "calls", CPTI_COUNT, OF(calls[1])},
    {"culprit", "culprit", CPTI_FLAG, OF(is_culprit), "whether it is one for sure"},
    {0},
};

const struct cpti_relation cpti_culprit_rows = {
    "services", columns, "score,factor,frames_slower,frames,first,p,new_calls,service",
    NULL, true};

/* --- The answer as JSON --- */

static void print_json(const struct cpti_culprit_print *print,
                       const struct cpti_rows *suspects, size_t row_max)
{
    static const char *const sides[] = {"base_requests", "new_requests"};
    static const char *const missing[] = {"base_missing", "new_missing"};
    const struct cpti_culprit *culprit = print->culprit;
    const size_t count = cpti_culprit_suspect_count(culprit);
    const size_t unjudged_count = cpti_culprit_unjudged_count(culprit);
    const size_t changes = cpti_structure_row_count(cpti_culprit_structure(culprit));
    const char *by = print->by;
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_json_text(&json, "by", by != NULL ? by : "service");
    cpti_json_text(&json, "verdict", verdict_word(culprit));
    json_either(&json, culprit);
    for (unsigned i = 0; i < 2; i++) {
        cpti_json_unsigned(&json, sides[i], cpti_culprit_requests(culprit, i));
    }
    for (unsigned i = 0; i < 2 && print->missing[0] + print->missing[1] > 0; i++) {
        cpti_json_unsigned(&json, missing[i], print->missing[i]);
    }
    cpti_json_unsigned(&json, "resamples", cpti_culprit_rounds(culprit));
    cpti_json_bool(&json, "concurrent", cpti_culprit_are_concurrent(culprit));
    if (print->cluster != NULL) {
        cpti_json_text(&json, "cluster", print->cluster);
    }
    if (print->hint != NULL) {
        cpti_json_text(&json, "hint_cluster", print->hint);
    }
    cpti_json_ns(&json, "offset_ns", cpti_culprit_offset_ns(culprit));
    cpti_relation_json(print->view, suspects, row_max, &json);
    cpti_json_open(&json, "unjudged", '[');
    for (size_t i = 0; i < unjudged_count && i < row_max; i++) {
        const struct cpti_unjudged *unjudged = cpti_culprit_unjudged(culprit, i);

        cpti_json_row(&json);
        cpti_json_open(&json, NULL, '{');
        cpti_json_bytes(&json, "service", unjudged->name);
        cpti_json_unsigned(&json, "base_calls", unjudged->calls[0]);
        cpti_json_unsigned(&json, "new_calls", unjudged->calls[1]);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
    cpti_structure_print_json(&json, print->view, cpti_culprit_structure(culprit),
                              row_max);
    if (print->put_more != NULL) {
        print->put_more(print->context, row_max, &json);
    }
    if (row_max != CPTI_CAPPED_ALL) {
        cpti_json_open(&json, "rest", '{');
        cpti_json_unsigned(
            &json, "rows",
            (count > row_max ? count - row_max : 0) +
                (unjudged_count > row_max ? unjudged_count - row_max : 0) +
                (changes > row_max ? changes - row_max : 0));
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
}

/* --- Text --- */

static const char *shown(struct cpt_bytes name, char text[CPTI_TEXT_BYTES])
{
    (void)cpt_text_name(name, text, CPTI_TEXT_BYTES);
    return text;
}

/* "C: 4 of 5 frames slower, ×2.3, first in 97 % of resamples" */
static void say_culprit(const struct cpti_culprit_print *print,
                        const struct cpti_suspect *suspect)
{
    char text[CPTI_TEXT_BYTES];

    (void)printf("%s: ", shown(suspect->name, text));
    if (print->kind->by == CPTI_CULPRIT_BY_ATTRIBUTE) {
        (void)printf("\u00d7%.1f compared with other values", suspect->factor);
    } else {
        (void)printf("%" PRIu32 " of %" PRIu32 " frame%s slower, \u00d7%.1f",
                     suspect->slower_count, suspect->frame_count,
                     suspect->frame_count == 1 ? "" : "s", suspect->factor);
    }
    (void)printf(", first in %.0f %% of resamples\n", floor(100 * suspect->share));
}

/* "not sure: C or B": who is first in most resamples. If only one is, why it is not
 * sure. */
static void say_unsure(const struct cpti_culprit *culprit)
{
    static const double least = 0.1;
    const struct cpti_suspect *first = cpti_culprit_suspect(culprit, 0);
    const size_t count = cpti_culprit_suspect_count(culprit);
    char text[CPTI_TEXT_BYTES];
    unsigned named = 1;

    (void)printf("not sure: %s", shown(first->name, text));
    for (size_t i = 1; i < count && named < NAMED_MAX; i++) {
        const struct cpti_suspect *suspect = cpti_culprit_suspect(culprit, i);

        if (suspect->share >= least) {
            (void)printf(" or %s", shown(suspect->name, text));
            named++;
        }
    }
    if (named == 1 && first->factor < cpti_culprit_factor_min(culprit)) {
        (void)printf(", only \u00d7%.2f", first->factor);
    } else if (named == 1 && first->share >= CPTI_CULPRIT_SHARE &&
               first->large_share < CPTI_CULPRIT_SHARE) {
        (void)printf(", perhaps less than \u00d7%.2f",
                     cpti_culprit_factor_min(culprit));
    } else if (named == 1) {
        (void)printf(", p %.3f", first->p);
    }
    (void)printf("\n");
}

/* "C, or B, which calls it and may wait for it"; "A, or the network to its callees". */
static void say_either(const struct cpti_culprit *culprit)
{
    static const char *const whys[] = {
        [CPTI_DOUBT_NONE] = "",
        [CPTI_DOUBT_NO_EDGE_TIME] =
            ", or the network to callees: no time between services is seen",
        [CPTI_DOUBT_CALLS_EACH_OTHER] = ": a caller may only wait for what it calls",
        [CPTI_DOUBT_SHARES_WORKERS] =
            ": one may only wait for a worker that another one of its service has",
        [CPTI_DOUBT_PRESENCE_CHANGED] =
            ": the first is on the path less often, the others more often"};
    const char *before = "either ";
    char text[CPTI_TEXT_BYTES];

    for (size_t i = 0; i < cpti_culprit_either_count(culprit); i++) {
        struct cpt_bytes to;
        const struct cpt_bytes name = cpti_culprit_either(culprit, i, &to);

        if (to.bytes == 0) {
            (void)printf("%s%s", before, shown(name, text));
            before = ", or ";
        }
    }
    (void)printf("%s\n", whys[cpti_culprit_doubt_reason(culprit)]);
}

/* Those that became slower, too, but call a culprit. */
static void say_waiting(const struct cpti_culprit *culprit)
{
    const char *before = "slower, too, but may only wait for what they call: ";
    char text[CPTI_TEXT_BYTES];
    bool is_any = false;

    for (size_t i = 0; i < cpti_culprit_suspect_count(culprit); i++) {
        const struct cpti_suspect *suspect = cpti_culprit_suspect(culprit, i);

        if (suspect->may_wait) {
            (void)printf("%s%s", before, shown(suspect->name, text));
            before = ", ";
            is_any = true;
        }
    }
    (void)printf("%s", is_any ? "\n" : "");
}

static void say_verdict(const struct cpti_culprit_print *print)
{
    const struct cpti_culprit *culprit = print->culprit;
    const size_t count = cpti_culprit_suspect_count(culprit);

    if (cpti_culprit_verdict(culprit) == CPTI_VERDICT_NONE) {
        (void)printf("no %s stands out\n", print->kind->noun);
        return;
    }
    if (cpti_culprit_verdict(culprit) == CPTI_VERDICT_UNSURE) {
        say_unsure(culprit);
        return;
    }
    if (cpti_culprit_verdict(culprit) == CPTI_VERDICT_EITHER) {
        say_either(culprit);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (cpti_culprit_suspect(culprit, i)->is_culprit) {
            say_culprit(print, cpti_culprit_suspect(culprit, i));
        }
    }
    say_waiting(culprit);
}

static int print_rows(const struct cpti_culprit_print *print,
                      const struct cpti_rows *suspects, size_t row_max)
{
    struct cpti_column service = *cpti_relation_column(&cpti_culprit_rows, "service");
    struct cpti_column calls = *cpti_relation_column(&cpti_culprit_rows, "new_calls");
    struct cpti_view view = *print->view;

    service.heading = print->kind->noun;
    calls.heading = print->kind->calls;
    cpti_view_replace(&view, &service);
    cpti_view_replace(&view, &calls);
    return cpti_relation_print(&view, suspects, row_max);
}

/* Names those that vanished, that are new, and that have too few calls. */
static void print_unjudged(const struct cpti_culprit_print *print, size_t row_max)
{
    const struct cpti_culprit *culprit = print->culprit;
    const char *calls = print->kind->calls;
    const size_t count = cpti_culprit_unjudged_count(culprit);
    char text[CPTI_TEXT_BYTES];

    for (size_t i = 0; i < count && i < row_max; i++) {
        const struct cpti_unjudged *unjudged = cpti_culprit_unjudged(culprit, i);
        const char *why = unjudged->calls[1] == 0   ? "vanished"
                          : unjudged->calls[0] == 0 ? "is new"
                                                    : "has too few ";

        (void)printf("%s%s %s%s: %" PRIu64 " %s in the base, %" PRIu64
                     " in the new set\n",
                     i == 0 ? "\n" : "", shown(unjudged->name, text), why,
                     unjudged->calls[0] > 0 && unjudged->calls[1] > 0 ? calls : "",
                     unjudged->calls[0], calls, unjudged->calls[1]);
    }
    if (count > row_max) {
        (void)printf("%zu more are not judged\n", count - row_max);
    }
}

static int print_text(const struct cpti_culprit_print *print,
                      const struct cpti_rows *suspects, size_t row_max)
{
    const struct cpti_culprit *culprit = print->culprit;
    const size_t count = cpti_culprit_suspect_count(culprit);
    const size_t rows = row_max < print->rows_max ? row_max : (size_t)print->rows_max;
    int status;

    if (!cpti_view_is_for_people(print->view)) {
        return print_rows(print, suspects, rows);
    }
    say_verdict(print);
    if (print->hint != NULL) {
        (void)printf(
            "it would be surer if requests were independent, but each '%s' is in "
            "one set only: --cluster %s\n",
            print->hint, print->hint);
    }
    (void)printf("requests: %" PRIu64 " (base), %" PRIu64 " (new)%s; %u resamples\n\n",
                 cpti_culprit_requests(culprit, CPTI_CULPRIT_BASE),
                 cpti_culprit_requests(culprit, CPTI_CULPRIT_NEW),
                 cpti_culprit_are_concurrent(culprit) ? " of one time" : "",
                 cpti_culprit_rounds(culprit));
    status = print_rows(print, suspects, rows);
    if (count > rows) {
        (void)printf("%zu more row%s\n", count - rows, count - rows == 1 ? "" : "s");
    }
    print_unjudged(print, rows);
    status = cpti_exit_last(
        status,
        cpti_structure_print_text(print->view, cpti_culprit_structure(culprit), rows));
    if (print->print_more != NULL) {
        print->print_more(print->context, rows);
    }
    return status;
}

int cpti_culprit_print(const struct cpti_culprit_print *print, size_t row_max)
{
    const size_t count = cpti_culprit_suspect_count(print->culprit);
    const struct cpti_suspect **suspects =
        calloc(count + 1, sizeof(const struct cpti_suspect *));
    const struct cpti_rows rows = CPTI_ROWS_AT(suspects, count, NULL);
    int status = CPTI_EXIT_DONE;

    if (suspects == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        suspects[i] = cpti_culprit_suspect(print->culprit, i);
    }
    cpti_relation_sort(print->view, suspects, count, 0, NULL);
    if (print->view->format == CPTI_FORMAT_JSON) {
        print_json(print, &rows, row_max);
    } else {
        status = print_text(print, &rows, row_max);
    }
    free(suspects);
    return status;
}
