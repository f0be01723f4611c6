/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_diff.c - cpt diff: what became slower, and is it more than noise
 *
 * Two trees from two operands, or two selections of the same logs, which are read once.
 */
#include "cpt/cli/print/diff_print.h"
#include "cpt/cli/gather/log_walk.h"
#include "cpt/cli/gather/mix.h"
#include "cpt/cli/base/output.h"
#include "aggregate/cpt_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- The command --- */

/* Terms of one set that are compared with those of the other. */
enum { TERMS_MAX = 256 };

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
    struct cpti_mix mix; /* key NULL: none */
};

static int show(struct request *request)
{
    struct cpti_diff_print print = {
        .gathers = request->gathers,
        .by = request->by,
        .format = request->format,
        .rows_max = request->rows_max,
        .conditions = &request->conditions,
        .mix = request->mix.key != NULL ? &request->mix : NULL,
    };
    struct cpt_diff *diff = NULL;
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        status = cpti_views_check(&request->views[i], &request->gathers[i]);
    }
    if (status == CPTI_EXIT_DONE && print.mix != NULL) {
        status = cpti_mix_check(print.mix, request->gathers);
    }
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    diff = print.mix != NULL
               ? cpti_mix_diff(print.mix, request->by)
               : cpti_views_diff(request->gathers, request->views, request->by);
    if (diff == NULL) {
        return CPTI_EXIT_FAILED;
    }
    print.diff = diff;
    status = cpti_conditions_test(&request->conditions, request->gathers,
                                  request->views, print.mix);
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
                             struct cpti_gather *gathers, bool *is_usable)
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

/* What a selection consists of: values of a note, those of "where" taken apart at each
 * "and" that stands in no brackets and no quotes. */
struct terms {
    struct cpt_bytes terms[TERMS_MAX];
    size_t count;
};

static void add_term(struct terms *terms, const char *from, const char *to)
{
    while (from < to && *from == ' ') {
        from++;
    }
    while (from < to && to[-1] == ' ') {
        to--;
    }
    if (terms->count < TERMS_MAX && from < to) {
        terms->terms[terms->count++] = (struct cpt_bytes){from, (size_t)(to - from)};
    }
}

static void take_apart(struct terms *terms, const char *text)
{
    const char *from = text;
    char quote = '\0';
    int depth = 0;

    for (; *text != '\0'; text++) {
        if (quote != '\0') {
            quote = *text == quote ? '\0' : quote;
        } else if (*text == '"' || *text == '\'') {
            quote = *text;
        } else if (*text == '(' || *text == ')') {
            depth += *text == '(' ? 1 : -1;
        } else if (depth == 0 && strncmp(text, " and ", 5) == 0) {
            add_term(terms, from, text);
            from = text + 5;
        }
    }
    add_term(terms, from, text);
}

static void read_terms(struct terms *terms, const struct cpt_tree *tree,
                       const char *key)
{
    terms->count = 0;
    for (size_t i = 0; i < cpt_tree_note_count(tree); i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(tree, i);

        if (note.value != NULL && strcmp(note.key, key) == 0) {
            take_apart(terms, note.value);
        }
    }
}

/* The next byte of @term from *@at on that is no blank outside of quotes; 0 at the end.
 */
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

/* Whether two terms are written the same but for blanks. */
static int is_same_term(struct cpt_bytes left, struct cpt_bytes right)
{
    char quotes[2] = {'\0', '\0'};
    size_t left_at = 0;
    size_t right_at = 0;
    char byte;

    do {
        byte = next_byte(left, &left_at, &quotes[0]);
        if (byte != next_byte(right, &right_at, &quotes[1])) {
            return 0;
        }
    } while (byte != '\0');
    return 1;
}

/* Terms that @terms has, but @other has not. */
static unsigned count_own(const struct terms *terms, const struct terms *other)
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

/* In how many values of the note @key both sets differ. */
static unsigned count_terms(const struct cpti_gather *gathers, const char *key)
{
    struct terms terms[2];
    unsigned base;
    unsigned other;

    for (size_t i = 0; i < 2; i++) {
        read_terms(&terms[i], gathers[i].tree, key);
    }
    base = count_own(&terms[0], &terms[1]);
    other = count_own(&terms[1], &terms[0]);
    return base > other ? base : other;
}

/* A difference of two sets that differ in several things cannot be put down to any of
 * them, and more requests do not help. Of a window both ends are one thing. */
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
                  cpti_quoted(base), cpti_quoted(other));
    }
    if (entry + where + window + forced > 1) {
        cpti_warn("base and new differ in %u terms of their selection, not in one: a "
                  "difference may be due to any of them",
                  entry + where + window + forced);
    }
}

/* Two operands. */
static int gather_files(const struct cpti_arguments *arguments,
                        struct cpti_gather *gathers, bool *is_usable)
{
    int status = CPTI_EXIT_DONE;

    if (arguments->operand_count != 2) {
        return cpti_usage("'cpt diff' needs two files, or --base and --new for two "
                          "selections of the same logs");
    }
    *is_usable = true;
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

/* What is needed beside the trees of stacks. */
static int init_views(struct request *request)
{
    const char *key = cpti_value(request->arguments, "mix");
    const unsigned wanted =
        1U << request->by | cpti_conditions_wanted(&request->conditions);
    int status = CPTI_EXIT_DONE;

    if (key != NULL) {
        return cpti_mix_init(&request->mix, key, wanted, request->gathers);
    }
    for (size_t i = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        status = cpti_views_init(&request->views[i], wanted, &request->gathers[i]);
    }
    return status;
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
    }
    return status == CPTI_EXIT_DONE ? init_views(request) : status;
}

static void deinit_request(struct request *request)
{
    for (size_t i = 0; i < 2; i++) {
        cpti_views_deinit(&request->views[i]);
        cpt_tree_free(request->gathers[i].tree);
    }
    cpti_mix_deinit(&request->mix);
    cpti_conditions_deinit(&request->conditions);
}

static int run(const struct cpti_arguments *arguments)
{
    struct request request = {0};
    bool is_usable = false;
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
    {"mix", 0, "KEY",
     "compare as if both had the mix of KEY that the base has: a page, a region", NULL},
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
        "With --mix the new set is compared as if an attribute (or method, or status) "
        "had the same distribution in it as in the base, value by value. So what only "
        "comes of more requests for a slow page is not among the differences, and "
        "pages "
        "that differ do not make them uncertain. This needs path logs, too; a value "
        "that only one of the sets has is left out.\n"
        "\n"
        "With --fail-if the exit status is 3 if such a change is found, for example in "
        "a test. A condition is a subject, '>' or '<', an amount, and perhaps the q "
        "below which it counts (0.01 if it is left out). One whose subject is on no "
        "path "
        "at all cannot be judged: then the status is 1, unless another one holds:\n"
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
