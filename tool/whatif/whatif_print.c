/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_print.c - tables and JSON of cpt whatif; see whatif_print.h */
#include "tool/whatif/whatif_print.h"

#include "tool/table/sheet.h"
#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/whatif/whatif_fixes.h"

#include <inttypes.h>
#include <stdio.h>

enum { PRINTED_MAX = 20, EXECUTORS_MAX = 8 };

static const char *const row_words[CPTI_WHATIF_ROWS] = {
    [CPTI_WHATIF_MEAN] = "mean", [CPTI_WHATIF_P50] = "p50", [CPTI_WHATIF_P99] = "p99"};

/* What is printed. */
struct shown {
    const struct cpti_whatif *whatif;
    const char *amount;
    const struct cpti_view *view;
};

static const char *queue_words(const struct cpti_whatif *whatif)
{
    return whatif->replays_queues ? "replayed" : "kept";
}

/* --- Columns --- */

static struct cpti_cell get_shift(const struct cpti_asked *asked)
{
    const struct cpti_whatif_shift *shift = asked->row;

    return cpti_cell_number(shift->after_ns - shift->before_ns);
}

/* A frame, the first field of the row. */
static struct cpti_cell get_frame(const struct cpti_asked *asked)
{
    const struct cpti_whatif *whatif = asked->context;
    const uint32_t *frame = asked->row;

    return cpti_cell_text(cpti_whatif_frame_text(whatif->set, *frame, asked->room));
}

/* The same of a group, "C: *". */
static struct cpti_cell get_group(const struct cpti_asked *asked)
{
    const struct cpti_whatif *whatif = asked->context;
    const uint32_t *frame = asked->row;

    return cpti_cell_text(
        cpti_whatif_group_text(whatif->set, whatif->trial.by, *frame, asked->room));
}

#define OF(field) CPTI_OF(struct cpti_whatif_shift, field)

static const struct cpti_column shift_columns[] = {
    {"name", "frame, by its time on the path", CPTI_NAME, get_frame, 0, "the frame"},
    {"before_ns", "before ms", CPTI_NS, OF(before_ns),
     "its time on the path, as it was"},
    {"after_ns", "after ms", CPTI_NS, OF(after_ns), "… and with the terms"},
    {"change_ns", "change ms", CPTI_NS, get_shift, 0, "the difference"},
    {0},
};

#undef OF

const struct cpti_relation cpti_whatif_shifts = {"frames", shift_columns,
                                                 "before_ns,after_ns,change_ns,name"};

static struct cpti_cell get_gain(const struct cpti_asked *asked)
{
    const struct cpti_whatif_gain *gain = asked->row;

    return cpti_cell_number(0 - gain->stats.rows[asked->what].change_ns);
}

/* By how much the mean is less, for people: unless spans do not tell. */
static struct cpti_cell get_told_gain(const struct cpti_asked *asked)
{
    const struct cpti_whatif_gain *gain = asked->row;

    return cpti_has_number(&gain->could_be) ? get_gain(asked) : cpti_cell_unknown();
}

/* In JSON with its interval. */
static void put_mean_gain(const struct cpti_asked *asked, struct cpti_json *json)
{
    const struct cpti_whatif_gain *gain = asked->row;
    const struct cpti_could_be less = cpti_could_be_less(&gain->could_be);

    cpti_json_ns(json, "mean_gain_ns",
                 0 - gain->stats.rows[CPTI_WHATIF_MEAN].change_ns);
    cpti_could_be_put(&less, "could_be", true, json);
}

enum { LOW, HIGH };

/* One end of the interval of the gain. */
static struct cpti_cell get_gain_could_be(const struct cpti_asked *asked)
{
    const struct cpti_whatif_gain *gain = asked->row;
    const struct cpti_could_be less = cpti_could_be_less(&gain->could_be);

    return cpti_cell_known(less.verdict != CPTI_VERDICT_NONE,
                           asked->what == LOW ? less.low_ns : less.high_ns);
}

static struct cpti_cell get_verdict(const struct cpti_asked *asked)
{
    const struct cpti_whatif_gain *gain = asked->row;

    return cpti_cell_text(cpti_verdict_word(gain->could_be.verdict));
}

static const struct cpti_column gain_columns[] = {
    {"name", "frame", CPTI_NAME, get_group, 0, "the frame, operation or service"},
    {"path_ns", "path ms", CPTI_NS, CPTI_OF(struct cpti_whatif_gain, path_ns),
     "its time on the path"},
    {"mean_gain_ns", "mean ms", CPTI_NS, get_gain, CPTI_WHATIF_MEAN,
     "by how much the mean latency is less if it is shorter", CPTI_EVERYWHERE,
     put_mean_gain},
    {"mean_told_ns", "mean ms", CPTI_NS, get_told_gain, CPTI_WHATIF_MEAN,
     "the same, unless spans do not tell", CPTI_IN_TABLES},
    {"could_low_ns", "could be from", CPTI_NS, get_gain_could_be, LOW,
     "whatever services waited for, where that is inferred", CPTI_NOT_IN_JSON},
    {"could_high_ns", "to", CPTI_NS, get_gain_could_be, HIGH, NULL, CPTI_NOT_IN_JSON},
    {"verdict", "verdict", CPTI_TEXT, get_verdict, 0,
     "nothing, cannot_tell, interval or number", CPTI_NOT_IN_JSON},
    {"p50_gain_ns", "p50 ms", CPTI_NS, get_gain, CPTI_WHATIF_P50},
    {"p99_gain_ns", "p99 ms", CPTI_NS, get_gain, CPTI_WHATIF_P99},
    {0},
};

const struct cpti_relation cpti_whatif_gains = {
    "sweep", gain_columns, "mean_gain_ns,p50_gain_ns,p99_gain_ns,path_ns,name",
    .when = "--sweep"};

const char cpti_whatif_gains_in_doubt[] =
    "mean_told_ns,could_low_ns,could_high_ns,p50_gain_ns,p99_gain_ns,path_ns,name";

/* Which latency a row is, by its place among them. */
static struct cpti_cell get_which(const struct cpti_asked *asked)
{
    const struct cpti_whatif *whatif = asked->context;
    const struct cpti_whatif_row *row = asked->row;

    return cpti_cell_text(row_words[row - whatif->stats.rows]);
}

/* Whether @row is the mean, of which only the interval is known. */
static bool is_untold(const struct cpti_whatif *whatif,
                      const struct cpti_whatif_row *row)
{
    return row == &whatif->stats.rows[CPTI_WHATIF_MEAN] &&
           !cpti_has_number(&whatif->doubt.could_be);
}

/* The field of the row at the place `what`. */
static struct cpti_cell get_number(const struct cpti_asked *asked)
{
    return is_untold(asked->context, asked->row) ? cpti_cell_unknown()
                                                 : cpti_field_number(asked);
}

/* How far the mean's change could be. */
static struct cpti_cell get_could_be(const struct cpti_asked *asked)
{
    const struct cpti_whatif *whatif = asked->context;
    const struct cpti_could_be *could_be = &whatif->doubt.could_be;

    return cpti_cell_known(asked->row == &whatif->stats.rows[CPTI_WHATIF_MEAN],
                           asked->what == LOW ? could_be->low_ns : could_be->high_ns);
}

#define OF(field) get_number, offsetof(struct cpti_whatif_row, field)

static const struct cpti_column latency_columns[] = {
    {"before_ns", "before ms", CPTI_NS, CPTI_OF(struct cpti_whatif_row, before_ns)},
    {"after_ns", "after ms", CPTI_NS, OF(after_ns)},
    {"change_ns", "change ms", CPTI_NS, OF(change_ns)},
    {"could_low_ns", "could be from", CPTI_NS, get_could_be, LOW},
    {"could_high_ns", "to", CPTI_NS, get_could_be, HIGH},
    {"low_ns", "95% from", CPTI_NS, OF(low_ns)},
    {"high_ns", "to", CPTI_NS, OF(high_ns)},
    {"latency", "latency", CPTI_TEXT, get_which},
    {0},
};

#undef OF

static const struct cpti_relation latencies = {
    "latency", latency_columns, "before_ns,after_ns,change_ns,low_ns,high_ns,latency"};

static const char columns_in_doubt[] =
    "before_ns,after_ns,change_ns,could_low_ns,could_high_ns,low_ns,high_ns,latency";

static struct cpti_rows rows_of(const struct cpti_whatif *whatif)
{
    return whatif->sweeps ? CPTI_ROWS(whatif->gains, whatif->gain_count, whatif)
                          : CPTI_ROWS(whatif->shifts, whatif->shift_count, whatif);
}

/* --- JSON --- */

static void put_terms(struct cpti_json *json, const struct cpti_whatif *whatif)
{
    cpti_json_open(json, "terms", '[');
    for (size_t i = 0; i < whatif->term_count; i++) {
        cpti_json_text(json, NULL, whatif->texts[i]);
    }
    cpti_json_close(json);
}

static void put_workers(struct cpti_json *json, const struct cpti_whatif *whatif)
{
    if (whatif->workers == NULL) {
        return;
    }
    cpti_json_open(json, "executors", '[');
    for (size_t i = 0; i < cpt_whatif_executor_count(whatif->set->whatif); i++) {
        cpti_json_open(json, NULL, '{');
        cpti_json_bytes(json, "name", cpt_whatif_executor(whatif->set->whatif, i));
        cpti_json_unsigned(json, "recorded", whatif->workers[i].recorded);
        cpti_json_unsigned(json, "replayed", whatif->workers[i].replayed);
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

static void put_latency(struct cpti_json *json, const struct cpti_whatif *whatif)
{
    cpti_json_open(json, "latency", '{');
    for (int i = 0; i < CPTI_WHATIF_ROWS; i++) {
        const struct cpti_whatif_row *row = &whatif->stats.rows[i];

        cpti_json_open(json, row_words[i], '{');
        cpti_json_ns(json, "before_ns", row->before_ns);
        cpti_json_ns(json, "after_ns", row->after_ns);
        cpti_json_ns(json, "change_ns", row->change_ns);
        cpti_json_ns(json, "low_ns", row->low_ns);
        cpti_json_ns(json, "high_ns", row->high_ns);
        if (i == CPTI_WHATIF_MEAN) {
            cpti_could_be_put(&whatif->doubt.could_be, "could_be", true, json);
        }
        cpti_json_close(json);
    }
    cpti_json_close(json);
    cpti_json_unsigned(json, "clamped", whatif->counts.clamped);
    cpti_json_unsigned(json, "circles", whatif->counts.circles);
    cpti_json_unsigned(json, "too_long", whatif->counts.too_long);
    cpti_json_unsigned(json, "replayed_otherwise", whatif->other_count);
    if (whatif->best_count != 0) {
        cpti_json_open(json, "best", '{');
        cpti_json_text(json, "search",
                       whatif->best.is_exhaustive ? "exhaustive" : "greedy");
        cpti_json_unsigned(json, "sets", whatif->best.set_count);
        cpti_json_text(json, "by", cpti_whatif_by_word(whatif->trial.by));
        cpti_json_close(json);
    }
}

static void put(const void *context, struct cpti_json *json)
{
    const struct shown *shown = context;
    const struct cpti_whatif *whatif = shown->whatif;

    cpti_json_unsigned(json, "requests", whatif->set->count);
    cpti_json_unsigned(json, "not_selected", whatif->set->counts.unselected);
    cpti_json_unsigned(json, "without_notes", whatif->set->counts.others);
    cpti_kept_put_evidence(json, &whatif->set->counts);
    cpti_json_unsigned(json, "left_out", whatif->set->excess_count);
    cpti_json_text(json, "queues", queue_words(whatif));
    put_terms(json, whatif);
    put_workers(json, whatif);
    if (whatif->sweeps) {
        cpti_json_text(json, "amount", shown->amount);
        cpti_json_text(json, "by", cpti_whatif_by_word(whatif->trial.by));
    } else {
        put_latency(json, whatif);
    }
}

/* --- Tables --- */

/* The first EXECUTORS_MAX: as a rule there are a few. */
static void print_workers(const struct cpti_whatif *whatif)
{
    const size_t count = cpt_whatif_executor_count(whatif->set->whatif);

    if (whatif->workers == NULL || count == 0) {
        return;
    }
    for (size_t i = 0; i < count && i < EXECUTORS_MAX; i++) {
        const struct cpt_whatif_workers *workers = &whatif->workers[i];

        (void)printf("%s%s %" PRIu64, i == 0 ? "workers: " : ", ",
                     cpti_quoted_bytes(cpt_whatif_executor(whatif->set->whatif, i)),
                     workers->recorded);
        if (workers->replayed != workers->recorded) {
            (void)printf(" (now %" PRIu64 ")", workers->replayed);
        }
    }
    (void)printf(count > EXECUTORS_MAX ? ", and others\n" : "\n");
}

static void print_notes(const struct cpti_whatif *whatif)
{
    if (whatif->best_count != 0) {
        (void)printf(
            "the best %zu together (%s, %" PRIu64 " sets):\n", whatif->best.count,
            whatif->best.is_exhaustive ? "all sets tried" : "one after another",
            whatif->best.set_count);
        for (size_t i = 0; i < whatif->term_count; i++) {
            (void)printf("  %s\n", cpti_quoted(whatif->texts[i]));
        }
    }
    if (whatif->counts.clamped != 0) {
        (void)printf("times that would have been less than 0, and are 0: %" PRIu64 "\n",
                     whatif->counts.clamped);
    }
    if (whatif->counts.circles != 0) {
        (void)printf("requests left as they were, as they would wait for themselves: "
                     "%" PRIu64 "\n",
                     whatif->counts.circles);
    }
    if (whatif->other_count != 0) {
        (void)printf("requests that are replayed otherwise without a change: %" PRIu64
                     "\n",
                     whatif->other_count);
    }
}

/* All that stands above the rows. */
static int print_head(const void *context)
{
    const struct shown *shown = context;
    const struct cpti_whatif *whatif = shown->whatif;
    const struct cpti_view view = cpti_view_beside(
        shown->view, &latencies,
        whatif->doubt.could_be.verdict != CPTI_VERDICT_NONE ? columns_in_doubt : NULL);
    const struct cpti_rows rows =
        CPTI_ROWS(whatif->stats.rows, CPTI_WHATIF_ROWS, whatif);
    int status = CPTI_EXIT_DONE;

    if (whatif->sweeps && shown->view->format == CPTI_FORMAT_TEXT) {
        cpti_whatif_print_fixes(whatif, shown->amount);
    }
    (void)printf("requests %zu, queues %s\n", whatif->set->count, queue_words(whatif));
    cpti_kept_print_evidence(&whatif->set->counts);
    print_workers(whatif);
    if (whatif->sweeps) {
        (void)printf("%s off each %s gives:\n", cpti_quoted(shown->amount),
                     cpti_whatif_by_word(whatif->trial.by));
        return CPTI_EXIT_DONE;
    }
    print_notes(whatif);
    status = cpti_relation_print(&view, &rows, rows.count);
    if (whatif->doubt.could_be.verdict != CPTI_VERDICT_NONE) {
        (void)printf("%s\n", cpti_whatif_doubt_kinds);
    }
    cpti_whatif_doubt_write(&whatif->doubt, whatif->set, stdout);
    (void)printf("\n");
    return status;
}

static struct cpti_sheet sheet_of(const struct shown *shown)
{
    return (struct cpti_sheet){.view = shown->view,
                               .rows = rows_of(shown->whatif),
                               .context = shown,
                               .people_max = PRINTED_MAX,
                               .counts_rest = true,
                               .head = print_head,
                               .put = put};
}

int cpti_whatif_print(struct cpti_whatif *whatif, const char *amount,
                      const struct cpti_view *view)
{
    const struct shown shown = {whatif, amount, view};
    struct cpti_sheet sheet = sheet_of(&shown);

    cpti_relation_sort(view, whatif->sweeps ? (void *)whatif->gains : whatif->shifts,
                       sheet.rows.count, sheet.rows.bytes, whatif);
    return cpti_sheet_print(&sheet);
}

void cpti_whatif_json(const struct cpti_whatif *whatif, size_t row_max, FILE *file)
{
    const struct cpti_view json = {.format = CPTI_FORMAT_JSON};
    const struct cpti_view view = cpti_view_beside(&json, &cpti_whatif_shifts, NULL);
    const struct shown shown = {.whatif = whatif, .view = &view};
    struct cpti_sheet sheet = sheet_of(&shown);

    sheet.has_rest = whatif->shift_count > row_max;
    cpti_sheet_json(&sheet, row_max, file);
}
