/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_diff.c - cpt diff: what became slower, and is it more than noise
 *
 * Two trees from two operands, or two selections of the same logs, which are read once.
 */
#include "cpt/cli/diff_print.h"
#include "cpt/cli/log_walk.h"
#include "cpt/cli/output.h"
#include "aggregate/cpt_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- The command --- */

/* What was asked for. */
struct request {
    const struct cpti_arguments *arguments;
    enum cpti_by by;
    enum cpti_diff_format format;
    uint32_t rows_max;
    struct cpti_conditions conditions;
    struct cpti_selection selections[2];
    struct cpti_gather gathers[2]; /* base and new */
    struct cpti_views views[2];
};

static int show(struct request *request)
{
    struct cpti_diff_print print = {
        .gathers = request->gathers,
        .by = request->by,
        .format = request->format,
        .rows_max = request->rows_max,
        .conditions = &request->conditions,
    };
    struct cpt_diff *diff = NULL;
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        status = cpti_views_check(&request->views[i], &request->gathers[i]);
    }
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    diff = cpti_views_diff(request->gathers, request->views, request->by);
    if (diff == NULL) {
        return CPTI_EXIT_FAILED;
    }
    print.diff = diff;
    status =
        cpti_conditions_test(&request->conditions, request->gathers, request->views);
    if (status == CPTI_EXIT_DONE) {
        status = cpti_diff_print(&print);
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_conditions_say(&request->conditions);
    }
    cpt_diff_free(diff);
    return status;
}

/* --top: rows that are shown. */
static int read_rows(const struct cpti_arguments *arguments, uint32_t *rows_max)
{
    const char *text = cpti_value(arguments, "top");
    char *end;
    unsigned long number;

    *rows_max = UINT32_MAX;
    if (text == NULL) {
        return CPTI_EXIT_DONE;
    }
    errno = 0;
    number = strtoul(text, &end, 10);
    if (*end != '\0' || text[0] < '0' || text[0] > '9' || number == 0 || errno != 0) {
        return cpti_usage("option '--top' takes a number of rows, not '%s'",
                          cpti_quoted(text));
    }
    *rows_max = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    return CPTI_EXIT_DONE;
}

/* Two selections of the same logs. */
static int gather_selections(const struct cpti_arguments *arguments,
                             struct cpti_gather *gathers, int *is_usable)
{
    static const char *const names[2] = {"base", "new"};

    for (size_t i = 0; i < 2; i++) {
        const char *expression = cpti_value(arguments, names[i]);
        int failed;

        if (expression == NULL) {
            return cpti_usage("'cpt diff' takes --base and --new together: the option "
                              "'--%s' is missing",
                              names[i]);
        }
        failed = cpti_selection_add(gathers[i].selection, names[i], expression);
        if (failed != CPTI_EXIT_DONE) {
            return failed;
        }
    }
    return cpti_gather(gathers, 2, arguments->operands, arguments->operand_count,
                       cpti_has(arguments, "stop-at-error"), is_usable);
}

/* --- Do the two sets differ in one thing? --- */

/* Values of the note @key that @tree has, but @other has not; the first of them in
 * *@first. */
static unsigned count_notes(const struct cpt_tree *tree, const struct cpt_tree *other,
                            const char *key, const char **first)
{
    unsigned count = 0;

    for (size_t i = 0; i < cpt_tree_note_count(tree); i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(tree, i);
        int is_there = 0;

        if (note.value == NULL || strcmp(note.key, key) != 0) {
            continue;
        }
        for (size_t k = 0; k < cpt_tree_note_count(other); k++) {
            const struct cpt_tree_note_entry theirs = cpt_tree_note_at(other, k);

            is_there =
                is_there || (theirs.value != NULL && strcmp(theirs.key, key) == 0 &&
                             strcmp(theirs.value, note.value) == 0);
        }
        if (!is_there) {
            *first = count++ == 0 ? note.value : *first;
        }
    }
    return count;
}

/* In how many values of the note @key both sets differ. */
static unsigned count_terms(const struct cpti_gather *gathers, const char *key,
                            const char *firsts[2])
{
    const unsigned base =
        count_notes(gathers[0].tree, gathers[1].tree, key, &firsts[0]);
    const unsigned other =
        count_notes(gathers[1].tree, gathers[0].tree, key, &firsts[1]);

    return base > other ? base : other;
}

/* A difference of two sets that differ in several things cannot be put down to any of
 * them, and more requests do not help. Of a window both ends are one thing. */
static void warn_of_terms(const struct cpti_gather *gathers)
{
    const char *entries[2] = {NULL, NULL};
    const char *unused[2] = {NULL, NULL};
    const unsigned entry = count_terms(gathers, "entry", entries);
    const unsigned where = count_terms(gathers, "where", unused);
    const unsigned window = count_terms(gathers, "from", unused) != 0 ||
                            count_terms(gathers, "to", unused) != 0;
    const unsigned forced = count_terms(gathers, "forced", unused);

    if (entry != 0 && entries[0] != NULL && entries[1] != NULL) {
        cpti_warn("the requests of the base entered at %s, the new ones at %s",
                  cpti_quoted(entries[0]), cpti_quoted(entries[1]));
    }
    if (entry + where + window + forced > 1) {
        cpti_warn("base and new differ in %u terms of their selection, not in one: a "
                  "difference may be due to any of them",
                  entry + where + window + forced);
    }
}

/* Two operands. */
static int gather_files(const struct cpti_arguments *arguments,
                        struct cpti_gather *gathers, int *is_usable)
{
    int status = CPTI_EXIT_DONE;

    if (arguments->operand_count != 2) {
        return cpti_usage("'cpt diff' needs two files, or --base and --new for two "
                          "selections of the same logs");
    }
    *is_usable = 1;
    for (size_t i = 0; i < 2 && *is_usable; i++) {
        const int failed = cpti_gather(&gathers[i], 1, &arguments->operands[i], 1,
                                       cpti_has(arguments, "stop-at-error"), is_usable);

        status = failed != CPTI_EXIT_DONE ? failed : status;
    }
    return status;
}

/* --- Options --- */

static enum cpti_diff_format format_of(const struct cpti_arguments *arguments)
{
    const char *given = cpti_value(arguments, "format");

    if (given == NULL) {
        return cpti_has(arguments, "json") ? CPTI_DIFF_JSON : CPTI_DIFF_TEXT;
    }
    if (strcmp(given, "json") == 0) {
        return CPTI_DIFF_JSON;
    }
    return strcmp(given, "markdown") == 0 ? CPTI_DIFF_MARKDOWN : CPTI_DIFF_TEXT;
}

static int init_request(struct request *request, const struct cpti_arguments *arguments)
{
    int status = cpti_selection_init(&request->selections[0], arguments);

    request->arguments = arguments;
    request->by = cpti_by_of(arguments);
    request->format = format_of(arguments);
    if (status == CPTI_EXIT_DONE) {
        status = read_rows(arguments, &request->rows_max);
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_conditions_init(&request->conditions, arguments);
    }
    request->selections[1] = request->selections[0];
    for (size_t i = 0; i < 2; i++) {
        request->gathers[i] = (struct cpti_gather){.selection = &request->selections[i],
                                                   .what = i == 0 ? "base" : "new"};
        if (status == CPTI_EXIT_DONE) {
            status = cpti_views_init(&request->views[i],
                                     1U << request->by |
                                         cpti_conditions_wanted(&request->conditions),
                                     &request->gathers[i]);
        }
    }
    return status;
}

static void deinit_request(struct request *request)
{
    for (size_t i = 0; i < 2; i++) {
        cpti_views_deinit(&request->views[i]);
        cpt_tree_free(request->gathers[i].tree);
    }
    cpti_conditions_deinit(&request->conditions);
}

static int run(const struct cpti_arguments *arguments)
{
    struct request request = {0};
    int is_usable = 0;
    int status = init_request(&request, arguments);

    if (status == CPTI_EXIT_DONE) {
        status = cpti_has(arguments, "base") || cpti_has(arguments, "new")
                     ? gather_selections(arguments, request.gathers, &is_usable)
                     : gather_files(arguments, request.gathers, &is_usable);
    }
    if (is_usable) {
        int failed;

        warn_of_terms(request.gathers);
        failed = show(&request);
        /* a condition says nothing for sure if requests are missing */
        status = status == CPTI_EXIT_DONE ? failed : status;
    }
    deinit_request(&request);
    return status;
}

static const struct cpti_option options[] = {
    {"base", 'b', "EXPR",
     "the requests to compare with: KEY=VALUE, several with commas "
     "between, all of which must hold",
     NULL},
    {"new", 'n', "EXPR", "the requests to compare", NULL},
    {"top", 't', "COUNT", "print only so many rows", NULL},
    {"by", 0, "WHAT", "what a row is", CPTI_BY_WORDS},
    {"fail-if", 0, "CONDITION",
     "exit with 3 if the change is so: 'service(\"B\") > +5% at q<0.01'; may be "
     "repeated",
     NULL},
    {"format", 0, "FORMAT", "how to print it", "text markdown json"},
    {"json", 'j', NULL, "print one JSON object with rows; the same as --format json",
     NULL},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt diff paths.cptlog --base arm=control --new arm=treatment",
     "what an experiment made slower or faster"},
    {"cpt diff paths.cptlog --where region=eu --base build=41 --new build=42",
     "what a release changed in one region"},
    {"cpt diff monday.cpttree tuesday.cptlog", "what a day changed"},
    {"cpt diff --by edge paths.cptlog --base build=41 --new build=42",
     "which calls a release made slower, as their callers see it"},
    {"cpt diff old.cptlog new.cptlog --fail-if 'total > +3%' >diff.txt || exit 1",
     "a test that fails if requests became slower"},
    {0},
};

const struct cpti_command cpti_command_diff = {
    .name = "diff",
    .summary = "print what changed between two sets of requests",
    .usages = {"[OPTION]... BASE NEW", "[OPTION]... LOG... --base EXPR --new EXPR"},
    .description =
        "Compares the average critical paths of two sets of requests, stack by stack. "
        "The largest difference stands first, whether slower or faster; nothing is "
        "dropped. Differences are those of self times, in ms; so they add up to the "
        "difference of the mean latencies. The columns:\n"
        "\n"
        "  diff ms   the mean of the new set less that of the base\n"
        "  \u00b195%      with 95 % confidence the true difference is not farther off\n"
        "  q         of the rows with at most this q, on average at most the share q\n"
        "            has not changed at all (Welch's test, Benjamini and Hochberg)\n"
        "  change    the difference as a part of the base\n"
        "  share     its part of the whole difference, if that is more than noise\n"
        "  cause     of what has q < 0.05: more or fewer requests had it (freq), or "
        "it\n"
        "            took longer or shorter when they did (size), or both; lost: its\n"
        "            branch is on fewer paths since another one now takes longer\n"
        "\n"
        "The two sets are two files, each a path log or a tree, or two selections of "
        "the "
        "same logs. If they differ in more than one term of the selection, a "
        "difference "
        "may be due to any of them, and a warning says so.\n"
        "\n"
        "With --by the rows are services, names of components, or edges, wherever they "
        "stand in a stack. An edge \"A -> B\" is what the calls of B cost A: the time "
        "of B itself, its queues, the network between them, and blind spots. The "
        "column "
        "'with below' is the difference of the time in it or below. This needs path "
        "logs: a tree knows its requests by stack only.\n"
        "\n"
        "With --fail-if the exit status is 3 if such a change is found, for example in "
        "a test. A condition is a subject, '>' or '<', an amount, and perhaps the q "
        "below which it counts (0.01 if it is left out):\n"
        "\n"
        "  service(\"B\") > +5% at q<0.01     name(\"B: B2\") > 2ms\n"
        "  edge(\"A -> B\") > +10%            stack(\"A: /;A: A1\") < -1ms\n"
        "  total > +3% at q<0.001            the mean latency\n"
        "\n" CPTI_SELECT_TEXT " These options hold for both sets.\n"
        "\n"
        "Profiles (.pb.gz) are refused: they hold averages without variances. Compare "
        "them by\n"
        "\n"
        "  go tool pprof -unit=ms -nodefraction=0 -edgefraction=0 -top "
        "-diff_base=BASE NEW\n"
        "\n"
        "With --json the object has rows, each with stack (root first), base_ns, "
        "new_ns, delta_ns, low_ns, high_ns, q, share_of_change, frequency_ns, size_ns "
        "(these two add up to delta_ns), lost_path and more. An end of an interval "
        "that "
        "is not known, as with a single request, is null. More may be added.",
    .options = {options, cpti_select_options, cpti_sample_options, cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
};
