/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_diff.c - cpt diff: what became slower, and whether it is more than noise
 *
 * The two sets are two operands, or two selections of the same logs, which are read
 * once.
 */
#include "tool/print/diff_print.h"
#include "tool/html/html_report.h"
#include "tool/print/tail_print.h"
#include "tool/requests/log_keys.h"
#include "tool/requests/log_walk.h"
#include "tool/folds/mix.h"
#include "tool/select/terms.h"
#include "tool/base/amounts.h"
#include "tool/table/capped.h"
#include "tool/base/folders.h"
#include "tool/base/output.h"
#include "tool/log/span_tags.h"
#include "aggregate/cpt_tree.h"

#include <stdbool.h>
#include <string.h>

/* --- The command --- */

/* One run of the command. */
struct diff_command {
    const struct cpti_arguments *arguments;
    enum cpti_by by;
    struct cpti_view view;
    struct cpti_diff_filter filter;
    struct cpti_conditions conditions;
    struct cpti_selection selections[2];
    struct cpti_gather gathers[2]; /* base and new */
    struct cpti_views views[2];
    struct cpti_mix mix;         /* key NULL: none */
    struct cpti_html_keep *keep; /* examples for --html; or NULL */
};

static int show(struct diff_command *command)
{
    struct cpti_diff_print print = {
        .gathers = command->gathers,
        .by = command->by,
        .view = &command->view,
        .filter = &command->filter,
        .conditions = &command->conditions,
        .mix = command->mix.key != NULL ? &command->mix : NULL,
        .views = command->views,
    };
    struct cpt_diff *diff = NULL;
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        status = cpti_views_check(&command->views[i], &command->gathers[i]);
    }
    if (status == CPTI_EXIT_DONE && print.mix != NULL) {
        status = cpti_mix_check(&command->mix, command->gathers);
        if (status == CPTI_EXIT_FAILED) {
            cpti_log_keys_suggest(command->mix.key, command->arguments->operands,
                                  command->arguments->operand_count);
        }
    }
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    diff = print.mix != NULL
               ? cpti_mix_diff(print.mix, command->by)
               : cpti_views_diff(command->gathers, command->views, command->by);
    if (diff == NULL) {
        return CPTI_EXIT_FAILED;
    }
    print.diff = diff;
    status = cpti_conditions_test(&command->conditions, command->gathers,
                                  command->views, print.mix);
    if (status == CPTI_EXIT_DONE && command->keep != NULL) {
        status = cpti_html_write(command->keep, command->views, command->by, diff,
                                 cpti_value(command->arguments, "html"));
    } else if (status == CPTI_EXIT_DONE) {
        status = cpti_diff_print(&print);
    }
    status = CPTI_THEN(status, cpti_conditions_say(&command->conditions));
    cpt_diff_free(diff);
    return status;
}

/* Two selections of the same logs. */
static int gather_selections(const struct cpti_arguments *arguments,
                             struct cpti_gather *gathers, bool *is_usable)
{
    static const char *const names[2] = {"base", "new"};
    bool has_sides = false;
    int status = cpti_has_sides(arguments, &has_sides);

    for (size_t i = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        gathers[i].sources = arguments->sources;
        gathers[i].source_count = arguments->source_count;
        status = cpti_selection_add(gathers[i].selection, names[i],
                                    cpti_value(arguments, names[i]));
    }
    return status != CPTI_EXIT_DONE
               ? status
               : cpti_gather(gathers, 2, arguments->operands, arguments->operand_count,
                             cpti_has(arguments, "stop-at-error"), is_usable);
}

/* --- Do the two sets differ in one thing? --- */

/* The terms of a selection: the values of a note, split. */
static void read_terms(struct cpti_terms *terms, const struct cpt_tree *tree,
                       const char *key)
{
    terms->count = 0;
    for (size_t i = 0; i < cpt_tree_note_count(tree); i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(tree, i);

        if (note.value != NULL && strcmp(note.key, key) == 0) {
            cpti_terms_add(terms, cpt_bytes_of(note.value));
        }
    }
}

/* The next byte of @term from *@at on, without blanks outside of quotes; 0 at the
 * end. */
static char next_byte(struct cpt_bytes term, size_t *at, char *quote)
{
    char byte;

    while (*at < term.bytes && *quote == '\0' && term.data[*at] == ' ') {
        (*at)++;
    }
    if (*at == term.bytes) {
        return '\0';
    }
    byte = term.data[(*at)++];
    if (*quote != '\0') {
        *quote = byte == *quote ? '\0' : *quote;
    } else if (byte == '"' || byte == '\'') {
        *quote = byte;
    }
    return byte;
}

/* Whether two terms are the same text but for blanks. */
static bool is_same_term(struct cpt_bytes left, struct cpt_bytes right)
{
    char quotes[2] = {'\0', '\0'};
    size_t left_at = 0;
    size_t right_at = 0;
    char byte;

    do {
        byte = next_byte(left, &left_at, &quotes[0]);
        if (byte != next_byte(right, &right_at, &quotes[1])) {
            return false;
        }
    } while (byte != '\0');
    return true;
}

/* The number of @terms that @other does not have. */
static unsigned count_own(const struct cpti_terms *terms,
                          const struct cpti_terms *other)
{
    unsigned count = 0;

    for (size_t i = 0; i < terms->count; i++) {
        size_t k = 0;

        while (k < other->count && !is_same_term(terms->terms[i], other->terms[k])) {
            k++;
        }
        count += k == other->count;
    }
    return count;
}

/* The number of values of the note @key in which the sets differ. */
static unsigned count_terms(const struct cpti_gather *gathers, const char *key)
{
    struct cpti_terms terms[2];
    unsigned base;
    unsigned other;

    for (size_t i = 0; i < 2; i++) {
        read_terms(&terms[i], gathers[i].tree, key);
    }
    base = count_own(&terms[0], &terms[1]);
    other = count_own(&terms[1], &terms[0]);
    return base > other ? base : other;
}

/* If the sets differ in several terms, a difference may be due to any of them, and more
 * requests do not help. Both ends of a window are one term. */
static void warn_of_terms(const struct cpti_gather *gathers)
{
    const char *base = cpt_tree_note_find(gathers[0].tree, "entry");
    const char *other = cpt_tree_note_find(gathers[1].tree, "entry");
    const unsigned entry = base != NULL && other != NULL && strcmp(base, other) != 0;
    const unsigned where = count_terms(gathers, "where");
    const unsigned window =
        count_terms(gathers, "from") != 0 || count_terms(gathers, "to") != 0;
    const unsigned forced = count_terms(gathers, "forced");

    if (entry != 0) {
        cpti_warn("the requests of the base entered at %s, the new ones at %s",
                  cpti_printable(cpt_bytes_of(base)),
                  cpti_printable(cpt_bytes_of(other)));
    }
    if (entry + where + window + forced > 1) {
        cpti_warn("base and new differ in %u terms of their selection, not in one: a "
                  "difference may be due to any of them",
                  entry + where + window + forced);
    }
}

/* Two operands; each may be a folder. */
static int gather_files(const struct cpti_arguments *arguments,
                        struct cpti_gather *gathers, bool *is_usable)
{
    const char *const *paths = arguments->operands;
    int status = CPTI_EXIT_DONE;

    if (arguments->source_count != 2) {
        return cpti_usage("'cpt diff' needs two files or folders, or --base and --new "
                          "for two selections of the same logs");
    }
    *is_usable = true;
    for (size_t i = 0; i < 2 && *is_usable; i++) {
        gathers[i].sources = &arguments->sources[i];
        gathers[i].source_count = 1;
        status = cpti_exit_last(
            status, cpti_gather(&gathers[i], 1, paths, arguments->sources[i].count,
                                cpti_has(arguments, "stop-at-error"), is_usable));
        paths += arguments->sources[i].count;
    }
    return status;
}

/* --- Options --- */

/* Prepares what is made beside the trees of stacks: views, or a mix. */
static int init_views(struct diff_command *command)
{
    const char *key = cpti_value(command->arguments, "mix");
    const char *cluster_key = cpti_value(command->arguments, "cluster");
    const unsigned wanted =
        1U << command->by | cpti_conditions_wanted(&command->conditions);
    int status = CPTI_EXIT_DONE;

    if (cluster_key != NULL && key != NULL) {
        return cpti_usage("option '--mix' cannot stand beside '--cluster': a cluster "
                          "may have requests of several values, whose means are then "
                          "not independent of each other; select one value by --where");
    }
    if (cluster_key != NULL && cpti_has(command->arguments, "html")) {
        return cpti_usage("options '--cluster' and '--html' exclude each other");
    }
    if (key != NULL) {
        return cpti_mix_init(&command->mix, key, wanted, command->gathers);
    }
    for (size_t i = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        status = cpti_views_init(&command->views[i], wanted, &command->gathers[i]);
        if (status == CPTI_EXIT_DONE && cluster_key != NULL) {
            /* a condition may be about the total, whose diff is by stack */
            status = cpti_views_cluster(&command->views[i], cluster_key,
                                        cpti_has(command->arguments, "fail-if")
                                            ? wanted | 1U << CPTI_BY_STACK
                                            : wanted,
                                        &command->gathers[i]);
        }
    }
    return status;
}

/* --html: the page has its own order and number of rows. */
static int init_html(struct diff_command *command)
{
    static const char *const others[] = {"mix", "top", "format", "columns", "json"};

    if (!cpti_has(command->arguments, "html")) {
        return CPTI_EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (cpti_has(command->arguments, others[i])) {
            return cpti_usage("options '--html' and '--%s' exclude each other",
                              others[i]);
        }
    }
    command->keep = cpti_html_keep_new(command->gathers, 2);
    return command->keep != NULL ? CPTI_EXIT_DONE : CPTI_EXIT_FAILED;
}

static int init_command(struct diff_command *command,
                        const struct cpti_arguments *arguments)
{
    int status = cpti_selection_init(&command->selections[0], arguments);

    command->arguments = arguments;
    command->by = cpti_by_of(arguments);
    if (status == CPTI_EXIT_DONE) {
        status = cpti_view_read(
            arguments, &cpti_diff_relation,
            command->by == CPTI_BY_STACK ? NULL : cpti_diff_shown_by, &command->view);
    }
    status = CPTI_THEN(status, cpti_diff_filter_init(&command->filter, arguments));
    status = CPTI_THEN(status, cpti_conditions_init(&command->conditions, arguments));
    command->selections[1] = command->selections[0];
    for (size_t i = 0; i < 2; i++) {
        command->gathers[i] =
            (struct cpti_gather){.selection = &command->selections[i],
                                 .checks_time = !cpti_has(arguments, "cluster"),
                                 .what = i == 0 ? "base" : "new"};
    }
    status = CPTI_THEN(status, init_views(command));
    return status == CPTI_EXIT_DONE ? init_html(command) : status;
}

static void deinit_command(struct diff_command *command)
{
    for (size_t i = 0; i < 2; i++) {
        cpti_views_deinit(&command->views[i]);
        cpt_tree_free(command->gathers[i].tree);
    }
    cpti_html_keep_free(command->keep);
    cpti_mix_deinit(&command->mix);
    cpti_conditions_deinit(&command->conditions);
}

/* Compares the tails that were gathered, and tests the conditions on the quantile. */
static int show_tails(const struct cpti_tails *tails, struct cpti_tail_print *print)
{
    const bool has_rows = tails->cluster_key == NULL && cpti_tails_have_rest(tails);
    const struct cpti_gather gathers[2] = {tails->gathers[0][CPTI_TAIL_ALL],
                                           tails->gathers[1][CPTI_TAIL_ALL]};
    struct cpt_tail *tail = NULL;
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        status = tails->cluster_key != NULL
                     ? cpti_views_check(&tails->views[i][CPTI_TAIL_ALL],
                                        &tails->gathers[i][CPTI_TAIL_ALL])
                     : CPTI_EXIT_DONE;
    }
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    warn_of_terms(gathers);
    tail = has_rows ? cpti_tails_compare(tails) : NULL;
    print->tails = tails;
    print->tail = tail;
    status = tail == NULL && has_rows ? CPTI_EXIT_FAILED : cpti_tail_print(print);
    cpt_tail_free(tail);
    return status == CPTI_EXIT_DONE ? cpti_conditions_say(print->conditions) : status;
}

/* --quantile: the tails of both sets. */
static int run_tails(const struct cpti_arguments *arguments)
{
    static const char *const others[] = {"mix", "html", "max-q", "min", "sort"};
    struct cpti_conditions conditions = {0};
    struct cpti_view view;
    struct cpti_tail_print print = {
        .view = &view, .rows_max = UINT64_MAX, .conditions = &conditions};
    struct cpti_tails tails;
    bool is_usable = false;
    int status;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (cpti_has(arguments, others[i])) {
            return cpti_usage("option '--quantile' cannot stand beside '--%s'",
                              others[i]);
        }
    }
    status = cpti_tails_init(&tails, arguments);
    status = CPTI_THEN(status, cpti_conditions_init(&conditions, arguments));
    status =
        CPTI_THEN(status, cpti_view_read(arguments, &cpti_tail_relation, NULL, &view));
    status = CPTI_THEN(
        status, cpti_whole_number(arguments, "top", 1, UINT64_MAX, &print.rows_max));
    status = CPTI_THEN(status, cpti_tails_gather(&tails, arguments, &is_usable));
    if (is_usable) {
        const int exit_status = show_tails(&tails, &print);

        /* if requests are missing, no condition holds for sure */
        status = status == CPTI_EXIT_DONE ? exit_status : status;
    }
    cpti_conditions_deinit(&conditions);
    cpti_tails_deinit(&tails);
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct diff_command command = {0};
    bool is_usable = false;
    int status;

    if (cpti_has(arguments, "quantile")) {
        return run_tails(arguments);
    }
    status = init_command(&command, arguments);
    if (status == CPTI_EXIT_DONE) {
        status = cpti_has(arguments, "base") || cpti_has(arguments, "new")
                     ? gather_selections(arguments, command.gathers, &is_usable)
                     : gather_files(arguments, command.gathers, &is_usable);
    }
    if (is_usable) {
        int exit_status;

        warn_of_terms(command.gathers);
        exit_status = show(&command);
        /* if requests are missing, no condition holds for sure */
        status = status == CPTI_EXIT_DONE ? exit_status : status;
    }
    deinit_command(&command);
    return status;
}

static const struct cpti_option options[] = {
    {"base", 'b', "EXPR",
     "the requests to compare with: KEY=VALUE, or several separated by commas, which "
     "must all hold"},
    {"new", 'n', "EXPR", "the requests to compare"},
    {"top", 't', "COUNT", "print only the first COUNT rows"},
    {"max-q", 0, "Q", "print only rows with a q value up to Q; 1 prints all"},
    {"min", 0, "DURATION", "print only rows that changed by at least DURATION (2ms)"},
    {"sort", 0, "ORDER", "order of the rows: size (the default), q, name or a column"},
    CPTI_CAPPED_OPTION("the largest rows"),
    {"by", 0, "WHAT", "what a row is: stack (the default), service, name or edge",
     CPTI_BY_WORDS},
    {"fail-if", 0, "CONDITION",
     "exit with 3 if the condition holds: 'service(\"B\") > +5% at q<0.01'; may be "
     "repeated"},
    {"mix", 0, "KEY",
     "compare as if both sets had the base's mix of KEY: of pages, of regions"},
    {"cluster", 0, "KEY",
     "errors by cluster, for requests with one value of KEY that resemble each other: "
     "user, host, minute"},
    {"quantile", 0, "QUANTILE",
     "compare the tails instead of the means: p99 says whether the p99 moved, and "
     "which "
     "rows slow requests have that others have not"},
    {"format", 0, "FORMAT", "text (the default), markdown, csv or json",
     "text markdown csv json"},
    {"columns", 0, "COLUMN,...", "these columns, in this order; see Columns", NULL},
    {"json", 'j', NULL, "print one JSON object with rows; the same as --format json"},
    {"html", 0, "FILE", "write a page for a browser to FILE, and print nothing"},
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt diff paths.cptlog --base arm=control --new arm=treatment",
     "what an experiment made slower or faster"},
    {"cpt diff paths.cptlog --where region=eu --base build=41 --new build=42",
     "what a release changed in one region"},
    {"cpt diff monday.cpttree tuesday.cptlog", "what a day changed"},
    {"cpt diff logs/build-41 logs/build-42",
     "what a release changed, from two folders of logs"},
    {"cpt diff --quantile p99 --by name paths.cptlog --base build=41 --new build=42",
     "whether the slowest requests became slower, and what makes them slow"},
    {"cpt diff --by edge paths.cptlog --base build=41 --new build=42",
     "which calls a release made slower for their callers"},
    {"cpt diff old.cptlog new.cptlog --fail-if 'total > +3%' >diff.txt || exit 1",
     "a test that fails if requests became slower"},
    {0},
};

const struct cpti_command cpti_command_diff = {
    .name = "diff",
    .summary = "print what changed between two sets of requests",
    .group = CPTI_COMPARE,
    .question = "What changed between these two sets of requests, and where?",
    .needs = "two path logs, spans or trees; or one, and two conditions",
    .usages = {"[OPTION]... BASE NEW", "[OPTION]... LOG... --base EXPR --new EXPR"},
    .options = {options, cpti_select_options, cpti_sample_options, cpti_count_options,
                cpti_log_options},
    .relations = {&cpti_diff_relation, &cpti_tail_relation},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
