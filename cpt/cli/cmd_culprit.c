/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_culprit.c - cpt culprit: which service to call
 *
 *      base --> selected records --> sample --.
 *                                             +--> comparison --> verdict
 *      new  --> selected records --> sample --'
 *
 * The two sets are two operands, or two selections of the same logs, which are then
 * read twice. Requests of different entry services may be in one set: like is compared
 * with like anyway.
 */
#include "cpt/cli/base/amounts.h"
#include "cpt/cli/base/capped.h"
#include "cpt/cli/base/folders.h"
#include "cpt/cli/base/json_write.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/base/table.h"
#include "cpt/cli/culprit/culprit.h"
#include "cpt/cli/gather/gather.h"
#include "cpt/cli/gather/log_sample.h"
#include "cpt/cli/gather/log_walk.h"
#include "cpt/cli/gather/seen.h"
#include "cpt/cli/gather/workers.h"
#include "cpt/cli/select/select.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Requests of each set; rows of text; suspects named by a verdict that is not sure. */
enum { REQUESTS_DEFAULT = 10000, ROWS_DEFAULT = 10, NAMED_MAX = 3 };

/* One set of requests. */
struct set {
    const char *what;
    const char *const *paths;
    size_t path_count;
    struct cpti_selection selection;
    struct cpti_sample sample;
    struct cpti_seen *seen; /* NULL: duplicates count */
    uint64_t record_count;
    uint64_t duplicate_count;
};

struct culprit_command {
    const struct cpti_arguments *arguments;
    struct set sets[2];
    struct cpti_culprit *culprit;
    enum cpti_culprit_side side; /* of the sample that is being added */
    uint64_t refused_count;      /* requests beyond the limits of a comparison */
    uint64_t rows_max;
    uint64_t bytes_max;
    uint64_t seed;
};

/* --- Records --- */

/* Whether the record was not met before. Sets *@status if it fails. */
static bool is_new(struct cpti_log_walk *walk, const struct cpt_record *record,
                   int *status)
{
    struct set *set = walk->context;
    struct cpti_seen_mark mark;
    enum cpti_seen_result result;

    if (set->seen == NULL) {
        return true;
    }
    mark = cpti_seen_mark(set->seen, record, cpt_log_reader_bytes(walk->reader));
    result = cpti_seen_add(set->seen, &mark, 0);
    if (result == CPTI_SEEN_NO_MEMORY) {
        *status = cpti_failed("out of memory; --keep-duplicates needs less");
        return false;
    }
    set->duplicate_count += result == CPTI_SEEN_BEFORE;
    return result != CPTI_SEEN_BEFORE;
}

static int meet_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct set *set = walk->context;
    int status = CPTI_EXIT_DONE;

    if (cpti_selection_counts(&set->selection, record) != CPTI_SELECTED ||
        !is_new(walk, record, &status)) {
        return status;
    }
    return cpti_log_sample_add(walk, record, &set->sample, 1);
}

static int walk_file(struct set *set, const struct cpti_arguments *arguments,
                     const char *file)
{
    struct cpti_selection *const selection = &set->selection;
    struct cpti_input input;
    struct cpti_log_walk walk = {
        .input = &input,
        .stops_at_error = cpti_has(arguments, "stop-at-error"),
        .record = meet_record,
        .context = set,
        .selections = &selection,
        .selection_count = 1,
    };
    int status = cpti_log_open(&input, file);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_log_walk(&walk);
    set->record_count += walk.record_count + walk.passed_count;
    cpti_input_close(&input);
    return status;
}

/* Adds a request of the sample. */
static int meet_sampled(void *context, const struct cpti_sampled *sampled,
                        const struct cpt_record *record, const struct cpt_path *path)
{
    struct culprit_command *command = context;
    const cpt_status status =
        cpti_culprit_add(command->culprit, command->side, path, record->start_unix_ns);

    (void)sampled;
    if (status == CPT_LIMIT) {
        command->refused_count++;
        return CPTI_EXIT_DONE;
    }
    return cpti_status_exit(status);
}

static int gather_set(struct culprit_command *command, enum cpti_culprit_side side)
{
    struct set *set = &command->sets[side];
    struct cpti_selection *selection = &set->selection;
    int status = cpti_gather_percentiles(&selection, 1, set->paths, set->path_count,
                                         cpti_processors());

    if (status == CPTI_EXIT_DONE && !selection->keeps_duplicates) {
        set->seen = cpti_seen_new(selection->seen_max);
        status = set->seen != NULL ? CPTI_EXIT_DONE : cpti_failed("out of memory");
    }
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    cpti_sample_init(&set->sample, (size_t)selection->sample_count, command->seed);
    for (size_t i = 0; i < set->path_count; i++) {
        status =
            cpti_exit_last(status, walk_file(set, command->arguments, set->paths[i]));
        if (status != CPTI_EXIT_DONE && cpti_has(command->arguments, "stop-at-error")) {
            return status;
        }
    }
    cpti_seen_free(set->seen);
    set->seen = NULL;
    if (set->sample.met_count > set->sample.count) {
        cpti_warn("%s: a sample of %zu of %" PRIu64 " requests", set->what,
                  set->sample.count, set->sample.met_count);
    }
    if (set->duplicate_count > 0) {
        cpti_warn("%s: %" PRIu64 " records were given before, and do not count again",
                  set->what, set->duplicate_count);
    }
    if (set->sample.count == 0 && status != CPTI_EXIT_DONE) {
        return status;
    }
    if (set->sample.count == 0) {
        return cpti_failed("%s: no request is selected, of %" PRIu64 " record%s",
                           set->what, set->record_count,
                           set->record_count == 1 ? "" : "s");
    }
    command->side = side;
    status = cpti_exit_last(status,
                            cpti_log_sample_each(&set->sample, meet_sampled, command));
    cpti_sample_deinit(&set->sample);
    return status;
}

/* --- JSON --- */

static const char *verdict_word(const struct cpti_culprit *culprit)
{
    static const char *const words[] = {[CPTI_VERDICT_NONE] = "none",
                                        [CPTI_VERDICT_UNSURE] = "unsure",
                                        [CPTI_VERDICT_SURE] = "sure"};

    return words[cpti_culprit_verdict(culprit)];
}

static void json_suspect(struct cpti_json *json, const struct cpti_suspect *suspect)
{
    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_json_bytes(json, "service", suspect->name);
    cpti_json_rough(json, "score", suspect->score);
    cpti_json_unsigned(json, "frames", suspect->frame_count);
    cpti_json_unsigned(json, "frames_slower", suspect->slower_count);
    cpti_json_rough(json, "factor", suspect->factor);
    cpti_json_rough(json, "share", suspect->share);
    cpti_json_rough(json, "p", suspect->p);
    cpti_json_rough(json, "distance", suspect->distance);
    cpti_json_unsigned(json, "base_calls", suspect->calls[0]);
    cpti_json_unsigned(json, "new_calls", suspect->calls[1]);
    cpti_json_bool(json, "culprit", suspect->is_culprit);
    cpti_json_close(json);
}

static void print_json(const struct culprit_command *command, size_t row_max)
{
    static const char *const sides[] = {"base_requests", "new_requests"};
    const struct cpti_culprit *culprit = command->culprit;
    const size_t count = cpti_culprit_suspect_count(culprit);
    const size_t unjudged_count = cpti_culprit_unjudged_count(culprit);
    const char *by = cpti_value(command->arguments, "by");
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_json_text(&json, "by", by != NULL ? by : "service");
    cpti_json_text(&json, "verdict", verdict_word(culprit));
    for (unsigned i = 0; i < 2; i++) {
        cpti_json_unsigned(&json, sides[i], cpti_culprit_requests(culprit, i));
    }
    cpti_json_unsigned(&json, "resamples", cpti_culprit_rounds(culprit));
    cpti_json_bool(&json, "concurrent", cpti_culprit_are_concurrent(culprit));
    cpti_json_ns(&json, "offset_ns", cpti_culprit_offset_ns(culprit));
    cpti_json_open(&json, "services", '[');
    for (size_t i = 0; i < count && i < row_max; i++) {
        json_suspect(&json, cpti_culprit_suspect(culprit, i));
    }
    cpti_json_close(&json);
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
    if (row_max != CPTI_CAPPED_ALL) {
        cpti_json_open(&json, "rest", '{');
        cpti_json_unsigned(
            &json, "rows",
            (count > row_max ? count - row_max : 0) +
                (unjudged_count > row_max ? unjudged_count - row_max : 0));
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
static void say_culprit(const struct cpti_suspect *suspect)
{
    char text[CPTI_TEXT_BYTES];

    (void)printf("%s: %" PRIu32 " of %" PRIu32 " frame%s slower, \u00d7%.1f, first in "
                 "%.0f %% of resamples\n",
                 shown(suspect->name, text), suspect->slower_count,
                 suspect->frame_count, suspect->frame_count == 1 ? "" : "s",
                 suspect->factor, floor(100 * suspect->share));
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

static void say_verdict(const struct cpti_culprit *culprit)
{
    const size_t count = cpti_culprit_suspect_count(culprit);

    if (cpti_culprit_verdict(culprit) == CPTI_VERDICT_NONE) {
        (void)printf("no service stands out\n");
        return;
    }
    if (cpti_culprit_verdict(culprit) == CPTI_VERDICT_UNSURE) {
        say_unsure(culprit);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (cpti_culprit_suspect(culprit, i)->is_culprit) {
            say_culprit(cpti_culprit_suspect(culprit, i));
        }
    }
}

static int print_rows(const struct cpti_culprit *culprit, const char *what,
                      size_t row_max)
{
    const char *headings[] = {"score", "factor", "slower", "frames",
                              "first", "p",      "calls",  what};
    struct cpti_table table =
        cpti_table_of(headings, sizeof headings / sizeof headings[0]);
    char text[CPTI_TEXT_BYTES];

    for (size_t i = 0; i < row_max && i < cpti_culprit_suspect_count(culprit); i++) {
        const struct cpti_suspect *suspect = cpti_culprit_suspect(culprit, i);

        cpti_table_cell(&table, "%.2f", suspect->score);
        cpti_table_cell(&table, "%.2f", suspect->factor);
        cpti_table_cell(&table, "%" PRIu32, suspect->slower_count);
        cpti_table_cell(&table, "%" PRIu32, suspect->frame_count);
        cpti_table_cell(&table, "%.0f%%", floor(100 * suspect->share));
        cpti_table_cell(&table, "%.3f", suspect->p);
        cpti_table_cell(&table, "%" PRIu64, suspect->calls[1]);
        cpti_table_cell(&table, "%s", shown(suspect->name, text));
    }
    return cpti_table_print(&table);
}

/* Names those that vanished, that are new, and that have too few calls. */
static void print_unjudged(const struct cpti_culprit *culprit, size_t row_max)
{
    const size_t count = cpti_culprit_unjudged_count(culprit);
    char text[CPTI_TEXT_BYTES];

    for (size_t i = 0; i < count && i < row_max; i++) {
        const struct cpti_unjudged *unjudged = cpti_culprit_unjudged(culprit, i);
        const char *why = unjudged->calls[1] == 0   ? "vanished"
                          : unjudged->calls[0] == 0 ? "is new"
                                                    : "has too few calls";

        (void)printf("%s%s %s: %" PRIu64 " calls in the base, %" PRIu64
                     " in the new set\n",
                     i == 0 ? "\n" : "", shown(unjudged->name, text), why,
                     unjudged->calls[0], unjudged->calls[1]);
    }
    if (count > row_max) {
        (void)printf("%zu more are not judged\n", count - row_max);
    }
}

static int print_text(const struct culprit_command *command, size_t row_max)
{
    const struct cpti_culprit *culprit = command->culprit;
    const char *by = cpti_value(command->arguments, "by");
    const size_t count = cpti_culprit_suspect_count(culprit);
    const size_t rows =
        row_max < command->rows_max ? row_max : (size_t)command->rows_max;
    int status;

    say_verdict(culprit);
    (void)printf("requests: %" PRIu64 " (base), %" PRIu64 " (new)%s; %u resamples\n\n",
                 cpti_culprit_requests(culprit, CPTI_CULPRIT_BASE),
                 cpti_culprit_requests(culprit, CPTI_CULPRIT_NEW),
                 cpti_culprit_are_concurrent(culprit) ? " of one time" : "",
                 cpti_culprit_rounds(culprit));
    status = print_rows(culprit,
                        by == NULL                ? "service"
                        : strcmp(by, "name") == 0 ? "component"
                                                  : by,
                        rows);
    if (count > rows) {
        (void)printf("%zu more row%s\n", count - rows, count - rows == 1 ? "" : "s");
    }
    print_unjudged(culprit, rows);
    return status;
}

/* See struct cpti_capped. */
static int print_capped(void *context, size_t row_max)
{
    const struct culprit_command *command = context;

    if (cpti_has(command->arguments, "json")) {
        print_json(command, row_max);
        return CPTI_EXIT_DONE;
    }
    return print_text(command, row_max);
}

static int show(struct culprit_command *command)
{
    const struct cpti_culprit *culprit = command->culprit;
    const size_t rows =
        cpti_culprit_suspect_count(culprit) + cpti_culprit_unjudged_count(culprit);
    const struct cpti_capped capped = {.bytes_max = command->bytes_max,
                                       .print = print_capped,
                                       .context = command,
                                       .row_count = rows};

    if (command->refused_count > 0) {
        cpti_warn("%" PRIu64 " requests are left out: there are too many calls or "
                  "names to compare",
                  command->refused_count);
    }
    if (cpti_culprit_suspect_count(culprit) == 0) {
        cpti_warn("the two sets have no operation in common");
    }
    return cpti_capped_print(&capped);
}

/* --- The command --- */

static enum cpti_culprit_by by_of(const struct cpti_arguments *arguments)
{
    const char *by = cpti_value(arguments, "by");

    if (by == NULL || strcmp(by, "service") == 0) {
        return CPTI_CULPRIT_BY_SERVICE;
    }
    return strcmp(by, "name") == 0 ? CPTI_CULPRIT_BY_NAME : CPTI_CULPRIT_BY_EDGE;
}

/* Two operands, each of which may be a folder; or two selections of all of them. */
static int find_sets(struct culprit_command *command)
{
    static const char *const names[2] = {"base", "new"};
    const struct cpti_arguments *arguments = command->arguments;
    const bool has_selections =
        cpti_has(arguments, "base") || cpti_has(arguments, "new");
    size_t at = 0;

    if (!has_selections && arguments->source_count != 2) {
        return cpti_usage("'cpt culprit' needs two logs or folders, or --base and "
                          "--new for two selections of the same logs");
    }
    for (size_t i = 0; i < 2; i++) {
        struct set *set = &command->sets[i];
        const char *expression = cpti_value(arguments, names[i]);

        set->what = names[i];
        set->paths = arguments->operands + at;
        set->path_count =
            has_selections ? arguments->operand_count : arguments->sources[i].count;
        at += has_selections ? 0 : set->path_count;
        if (has_selections && expression == NULL) {
            return cpti_usage("'cpt culprit' takes --base and --new together: the "
                              "option '--%s' is missing",
                              names[i]);
        }
        if (has_selections) {
            const int status =
                cpti_selection_add(&set->selection, names[i], expression);

            if (status != CPTI_EXIT_DONE) {
                return status;
            }
        }
    }
    return CPTI_EXIT_DONE;
}

static int init_command(struct culprit_command *command)
{
    const struct cpti_arguments *arguments = command->arguments;
    struct cpti_selection *selection = &command->sets[0].selection;
    int status = cpti_selection_init(selection, arguments);

    if (status == CPTI_EXIT_DONE && !cpti_has(arguments, "sample")) {
        selection->sample_count = REQUESTS_DEFAULT;
    }
    command->seed = selection->seed;
    command->sets[1].selection = *selection;
    if (status == CPTI_EXIT_DONE) {
        status = cpti_whole_number(arguments, "top", 1, UINT64_MAX, &command->rows_max);
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_capped_option(arguments, &command->bytes_max);
    }
    return status == CPTI_EXIT_DONE ? find_sets(command) : status;
}

static int judge(struct culprit_command *command)
{
    int status = CPTI_EXIT_DONE;

    command->culprit = cpti_culprit_new(NULL, by_of(command->arguments));
    if (command->culprit == NULL) {
        return cpti_failed("out of memory");
    }
    for (unsigned i = 0; i < 2; i++) {
        status = cpti_exit_last(status, gather_set(command, i));
        if (status != CPTI_EXIT_DONE &&
            cpti_culprit_requests(command->culprit, i) == 0) {
            return status;
        }
    }
    status = cpti_exit_last(
        status, cpti_status_exit(cpti_culprit_judge(command->culprit, command->seed)));
    return cpti_exit_last(status, show(command));
}

static int run(const struct cpti_arguments *arguments)
{
    struct culprit_command command = {.arguments = arguments, .rows_max = ROWS_DEFAULT};
    int status = init_command(&command);

    if (status == CPTI_EXIT_DONE) {
        status = judge(&command);
    }
    for (unsigned i = 0; i < 2; i++) {
        cpti_selection_deinit(&command.sets[i].selection);
        cpti_sample_deinit(&command.sets[i].sample);
        cpti_seen_free(command.sets[i].seen);
    }
    cpti_culprit_free(command.culprit);
    return status;
}

static const struct cpti_option options[] = {
    {"base", 'b', "EXPR",
     "the requests to compare with: KEY=VALUE, or several separated by commas, which "
     "must all hold"},
    {"new", 'n', "EXPR", "the requests to compare"},
    {"by", 0, "WHAT", "who is looked for: service (the default), name or edge",
     "service name edge"},
    {"top", 't', "COUNT", "print at most COUNT rows as text; default: 10"},
    {"sample", 0, "COUNT",
     "compare at most COUNT requests of each set, drawn at random; default: 10000"},
    {"seed", 0, "NUMBER",
     "draw other requests and resamples; the same NUMBER gives the same answer; "
     "default: 1"},
    {"json", 'j', NULL, "print one JSON object"},
    CPTI_CAPPED_OPTION("the first rows"),
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt culprit yesterday.cptlog now.cptlog", "which service to call"},
    {"cpt culprit before.json.gz now.json.gz",
     "the same from spans of Jaeger, Zipkin or OpenTelemetry"},
    {"cpt culprit --by name --base build=41 --new build=42 logs/",
     "which component a release made slower"},
    {0},
};

const struct cpti_command cpti_command_culprit = {
    .name = "culprit",
    .summary = "print which service became slower, and how sure that is",
    .usages = {"[OPTION]... BASE NEW", "[OPTION]... LOG... --base EXPR --new EXPR"},
    .description =
        "Compares two sets of requests, before and during a trouble, and says which "
        "service to call: the one of which everything that touches it became slower "
        "by one factor. That is its own time in each of its visits, and the time "
        "between services in each call of it and by it, on the critical path. A "
        "difference of times ('cpt diff') accuses callers and those that are called "
        "by all.\n"
        "\n"
        "The first lines are the verdict:\n"
        "\n"
        "  C: 4 of 5 frames slower, \u00d72.3, first in 97 % of resamples\n"
        "  not sure: C or B\n"
        "  no service stands out\n"
        "\n"
        "Several lines of the first kind are several culprits; what the first one "
        "explains no longer counts for the next. Then the services by rank:\n"
        "\n"
        "  score    how far its frames became slower, by the logarithm of factors\n"
        "  factor   how many times slower they became, on average\n"
        "  slower   of its frames (its own time; each caller; each callee), those\n"
        "           that are slower in 95 % of resamples\n"
        "  first    part of the resamples in which it is the first\n"
        "  p        how often chance alone makes any service stand out as far\n"
        "  calls    its visits or calls in the new set\n"
        "\n"
        "The verdict is sure if the first service is first, and at least 1.3 times "
        "slower, in 90 % of resamples of requests, if chance does that at most once in "
        "a hundred times, and if it is at least six times as far off as the other "
        "frames are from each other: two minutes of one system differ, too. With sets "
        "of one time, as two arms of an experiment, 1.05 times and three times as far "
        "are enough. Services with fewer than five calls in a "
        "set are named apart.",
    .description_rest =
        "With --by name the components of services are compared, with --by edge the "
        "calls of one service by another.\n"
        "\n" CPTI_SELECT_TEXT " Only here requests of several entry services may be in "
        "one set.\n"
        "\n" CPTI_COUNT_TEXT "\n\n"
        "With --json the object has verdict (sure, unsure or none) and services by "
        "rank, each with service, score, frames, frames_slower, factor, share, p and "
        "more. Later versions may add fields.",
    .options = {options, cpti_select_options, cpti_count_options, cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
