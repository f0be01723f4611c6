/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_print.c - tables and JSON of cpt whatif; see whatif_print.h */
#include "tool/whatif/whatif_print.h"

#include "tool/table/capped.h"
#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/output.h"
#include "tool/table/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { PRINTED_MAX = 20, EXECUTORS_MAX = 8, TEXT_BYTES = 2 * CPT_NAME_BYTES_MAX };

static const char *const row_words[CPTI_WHATIF_ROWS] = {
    [CPTI_WHATIF_MEAN] = "mean", [CPTI_WHATIF_P50] = "p50", [CPTI_WHATIF_P99] = "p99"};

/* The context of struct cpti_capped. */
struct shown {
    const struct cpti_whatif *whatif;
    const char *amount;
    bool is_json;
    bool is_capped;
};

static const char *queue_words(const struct cpti_whatif *whatif)
{
    return whatif->replays_queues ? "replayed" : "kept";
}

static void put_interval(struct cpti_json *json, const struct cpti_whatif_row *row)
{
    cpti_json_ns(json, "before_ns", row->before_ns);
    cpti_json_ns(json, "after_ns", row->after_ns);
    cpti_json_ns(json, "change_ns", row->change_ns);
    if (isfinite(row->low_ns) && isfinite(row->high_ns)) {
        cpti_json_ns(json, "low_ns", row->low_ns);
        cpti_json_ns(json, "high_ns", row->high_ns);
    } else {
        cpti_json_null(json, "low_ns");
        cpti_json_null(json, "high_ns");
    }
}

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
        cpti_json_open(json, row_words[i], '{');
        put_interval(json, &whatif->stats.rows[i]);
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
        cpti_json_close(json);
    }
}

static void put_shifts(struct cpti_json *json, const struct cpti_whatif *whatif,
                       size_t row_max)
{
    char text[TEXT_BYTES];

    cpti_json_open(json, "frames", '[');
    for (size_t i = 0; i < whatif->shift_count && i < row_max; i++) {
        const struct cpti_whatif_shift *shift = &whatif->shifts[i];

        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        cpti_json_text(json, "name",
                       cpti_whatif_frame_text(whatif->set, shift->frame, text));
        cpti_json_ns(json, "before_ns", shift->before_ns);
        cpti_json_ns(json, "after_ns", shift->after_ns);
        cpti_json_ns(json, "change_ns", shift->after_ns - shift->before_ns);
        cpti_json_close(json);
    }
    cpti_json_row(json);
    cpti_json_close(json);
}

static void put_gains(struct cpti_json *json, const struct cpti_whatif *whatif,
                      size_t row_max)
{
    char text[TEXT_BYTES];

    cpti_json_open(json, "sweep", '[');
    for (size_t i = 0; i < whatif->gain_count && i < row_max; i++) {
        const struct cpti_whatif_gain *gain = &whatif->gains[i];

        cpti_json_row(json);
        cpti_json_open(json, NULL, '{');
        cpti_json_text(json, "name",
                       cpti_whatif_frame_text(whatif->set, gain->frame, text));
        cpti_json_ns(json, "path_ns", gain->path_ns);
        for (int k = 0; k < CPTI_WHATIF_ROWS; k++) {
            static const char *const keys[] = {"mean_gain_ns", "p50_gain_ns",
                                               "p99_gain_ns"};

            cpti_json_ns(json, keys[k], 0 - gain->stats.rows[k].change_ns);
        }
        cpti_json_close(json);
    }
    cpti_json_row(json);
    cpti_json_close(json);
}

static size_t row_count(const struct cpti_whatif *whatif)
{
    return whatif->sweeps ? whatif->gain_count : whatif->shift_count;
}

static void put(const struct shown *shown, size_t row_max, FILE *file)
{
    const struct cpti_whatif *whatif = shown->whatif;
    struct cpti_json json = {.file = file};

    cpti_json_open(&json, NULL, '{');
    cpti_json_unsigned(&json, "requests", whatif->set->count);
    cpti_json_unsigned(&json, "not_selected", whatif->set->counts.unselected);
    cpti_json_unsigned(&json, "without_notes", whatif->set->counts.others);
    cpti_kept_put_evidence(&json, &whatif->set->counts);
    cpti_json_unsigned(&json, "left_out", whatif->set->excess_count);
    cpti_json_text(&json, "queues", queue_words(whatif));
    put_terms(&json, whatif);
    put_workers(&json, whatif);
    if (whatif->sweeps) {
        cpti_json_text(&json, "amount", shown->amount);
        put_gains(&json, whatif, row_max);
    } else {
        put_latency(&json, whatif);
        put_shifts(&json, whatif, row_max);
    }
    if (shown->is_capped && row_max != CPTI_CAPPED_ALL) {
        cpti_json_open(&json, "rest", '{');
        cpti_json_unsigned(&json, "rows",
                           row_count(whatif) > row_max ? row_count(whatif) - row_max
                                                       : 0);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
}

static void cell(struct cpti_table *table, double ns)
{
    char text[32];

    cpti_table_cell(table, "%s", isfinite(ns) ? cpti_ms(ns, text) : "-");
}

static int print_latency(const struct cpti_whatif *whatif)
{
    static const char *const headings[] = {"before ms", "after ms", "change ms",
                                           "95% from",  "to",       "latency"};
    struct cpti_table table = cpti_table_of(headings, 6);

    for (int i = 0; i < CPTI_WHATIF_ROWS; i++) {
        const struct cpti_whatif_row *row = &whatif->stats.rows[i];

        cell(&table, row->before_ns);
        cell(&table, row->after_ns);
        cell(&table, row->change_ns);
        cell(&table, row->low_ns);
        cell(&table, row->high_ns);
        cpti_table_cell(&table, "%s", row_words[i]);
    }
    return cpti_table_print(&table);
}

static int print_shifts(const struct cpti_whatif *whatif, size_t most)
{
    static const char *const headings[] = {"before ms", "after ms", "change ms",
                                           "frame, by its time on the path"};
    struct cpti_table table = cpti_table_of(headings, 4);
    char text[TEXT_BYTES];

    for (size_t i = 0; i < whatif->shift_count && i < most; i++) {
        const struct cpti_whatif_shift *shift = &whatif->shifts[i];

        cell(&table, shift->before_ns);
        cell(&table, shift->after_ns);
        cell(&table, shift->after_ns - shift->before_ns);
        cpti_table_cell(
            &table, "%s",
            cpti_quoted(cpti_whatif_frame_text(whatif->set, shift->frame, text)));
    }
    return cpti_table_print(&table);
}

static int print_gains(const struct cpti_whatif *whatif, size_t most)
{
    static const char *const headings[] = {"mean ms", "p50 ms", "p99 ms", "path ms",
                                           "frame"};
    struct cpti_table table = cpti_table_of(headings, 5);
    char text[TEXT_BYTES];

    for (size_t i = 0; i < whatif->gain_count && i < most; i++) {
        const struct cpti_whatif_gain *gain = &whatif->gains[i];

        for (int k = 0; k < CPTI_WHATIF_ROWS; k++) {
            cell(&table, 0 - gain->stats.rows[k].change_ns);
        }
        cell(&table, gain->path_ns);
        cpti_table_cell(
            &table, "%s",
            cpti_quoted(cpti_whatif_frame_text(whatif->set, gain->frame, text)));
    }
    return cpti_table_print(&table);
}

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

static int print(const struct shown *shown, size_t row_max)
{
    const struct cpti_whatif *whatif = shown->whatif;
    const size_t most = row_max < PRINTED_MAX ? row_max : PRINTED_MAX;
    int status = CPTI_EXIT_DONE;

    (void)printf("requests %zu, queues %s\n", whatif->set->count, queue_words(whatif));
    cpti_kept_print_evidence(&whatif->set->counts);
    print_workers(whatif);
    if (whatif->sweeps) {
        (void)printf("%s off each frame gives:\n", cpti_quoted(shown->amount));
        status = print_gains(whatif, most);
    } else {
        print_notes(whatif);
        status = print_latency(whatif);
        if (status == CPTI_EXIT_DONE) {
            (void)printf("\n");
            status = print_shifts(whatif, most);
        }
    }
    if (row_count(whatif) > most) {
        (void)printf("%zu more row%s\n", row_count(whatif) - most,
                     row_count(whatif) - most == 1 ? "" : "s");
    }
    return status;
}

static int show_rows(void *context, size_t row_max)
{
    const struct shown *shown = context;

    if (!shown->is_json) {
        return print(shown, row_max);
    }
    put(shown, row_max, stdout);
    return CPTI_EXIT_DONE;
}

int cpti_whatif_print(const struct cpti_whatif *whatif, const char *amount,
                      bool is_json, uint64_t bytes_max)
{
    struct shown shown = {whatif, amount, is_json, bytes_max != 0};
    const struct cpti_capped capped = {.bytes_max = bytes_max,
                                       .print = show_rows,
                                       .context = &shown,
                                       .row_count = row_count(whatif)};

    return cpti_capped_print(&capped);
}

void cpti_whatif_json(const struct cpti_whatif *whatif, size_t row_max, FILE *file)
{
    const struct shown shown = {.whatif = whatif,
                                .is_capped = row_count(whatif) > row_max};

    put(&shown, row_max, file);
}
