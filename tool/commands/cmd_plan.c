/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_plan.c - cpt plan: how many requests a question needs; see cpt_sizing.h */
#include "tool/base/amounts.h"
#include "tool/table/capped.h"
#include "tool/gather/gather.h"
#include "tool/table/json_write.h"
#include "tool/requests/log_walk.h"
#include "tool/base/output.h"
#include "tool/table/relation.h"
#include "tool/print/tree_print.h"
#include "tool/log/span_tags.h"
#include "aggregate/cpt_sizing.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

static const char *const goal_words[CPT_SIZING_GOAL_COUNT] = {"mean", "difference",
                                                              "seen"};

/* One run of the command. */
struct plan_command {
    const struct cpti_arguments *arguments;
    struct cpt_sizing sizing;
    double within;    /* ns, or a part of the mean latency */
    bool is_relative; /* which of them */
    const struct cpt_tree *tree;
    struct cpti_gather_share share; /* that was selected */
    double deviation_ns;            /* of a request */
    struct cpti_view view;
};

/* What one goal needs. */
struct goal {
    enum cpt_sizing_goal goal;
    struct cpt_sizing_need need;
};

/* --- Options --- */

/* A number with one of the units @allowed (bits 1 << enum cpti_unit). */
static int read_amount(const struct cpti_arguments *arguments, const char *option,
                       unsigned allowed, const char *wanted, double most, double *value,
                       enum cpti_unit *unit)
{
    const char *text = cpti_value(arguments, option);
    const char *at = text;

    if (text == NULL) {
        return CPTI_EXIT_DONE;
    }
    if (!cpti_amount_read(&at, value, unit) || *at != '\0' ||
        (allowed >> *unit & 1U) == 0 || *value > most) {
        return cpti_usage("option '--%s' takes %s, not '%s'", option, wanted,
                          cpti_quoted(text));
    }
    return CPTI_EXIT_DONE;
}

/* A part of 1, as 0.05 or 5%; less than 1 if @is_below. */
static int read_part(const struct cpti_arguments *arguments, const char *option,
                     bool is_below, double *value)
{
    enum cpti_unit unit;

    return read_amount(arguments, option, 1U << CPTI_UNIT_NONE | 1U << CPTI_UNIT_PART,
                       is_below ? "a part between 0 and 1, as 0.95 or 95%"
                                : "a part above 0 and up to 1, as 0.01 or 1%",
                       is_below ? 1 - 1e-12 : 1, value, &unit);
}

static int read_options(struct plan_command *command)
{
    const struct {
        const char *option;
        bool is_below;
        double *value;
    } parts[] = {{"confidence", true, &command->sizing.confidence},
                 {"power", true, &command->sizing.power},
                 {"share", false, &command->sizing.share},
                 {"probability", false, &command->sizing.probability}};
    enum cpti_unit unit = CPTI_UNIT_PART;
    enum cpti_unit unused;
    int status = read_amount(command->arguments, "within",
                             1U << CPTI_UNIT_TIME | 1U << CPTI_UNIT_PART,
                             "a time or a part of the mean latency, as 1ms or 2%", 1e18,
                             &command->within, &unit);

    command->is_relative = unit == CPTI_UNIT_PART;
    for (size_t i = 0; i < 4 && status == CPTI_EXIT_DONE; i++) {
        status = read_part(command->arguments, parts[i].option, parts[i].is_below,
                           parts[i].value);
    }
    return status != CPTI_EXIT_DONE
               ? status
               : read_amount(command->arguments, "rate", 1U << CPTI_UNIT_NONE,
                             "a number of requests in a second", 1e12,
                             &command->sizing.rate, &unused);
}

/* Fills in what depends on the requests in @tree. Without --probability they are traced
 * as those in the logs were. */
static void complete_plan(struct plan_command *command, const struct cpt_tree *tree)
{
    const double mean_ns = cpt_stats_of(tree, CPT_TREE_ROOT).inclusive.mean_ns;
    struct cpt_sizing *sizing = &command->sizing;

    command->deviation_ns = cpt_sizing_deviation_ns(tree);
    if (sizing->probability > 0) {
        sizing->slice = command->share.requests;
        sizing->deviation_ns = command->deviation_ns;
    } else {
        sizing->slice = command->share.records;
        sizing->probability = command->share.traced;
    }
    sizing->within_ns =
        command->is_relative ? command->within * mean_ns : command->within;
}

/* --- As JSON --- */

static void put_json(const struct plan_command *command)
{
    const struct cpt_sizing *sizing = &command->sizing;
    const struct cpt_tree *tree = command->tree;
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_tree_json(&json, tree);
    cpti_json_ns(&json, "deviation_ns", command->deviation_ns);
    cpti_json_rough(&json, "slice", command->share.requests);
    cpti_json_rough(&json, "record_slice", command->share.records);
    cpti_json_rough(&json, "probability", sizing->probability);
    cpti_json_ns(&json, "within_ns", sizing->within_ns);
    cpti_json_float(&json, "confidence", sizing->confidence);
    cpti_json_float(&json, "power", sizing->power);
    for (int goal = 0; goal < CPT_SIZING_GOAL_COUNT; goal++) {
        const struct cpt_sizing_need need =
            cpt_sizing_need(sizing, tree, (enum cpt_sizing_goal)goal);

        cpti_json_open(&json, goal_words[goal], '{');
        cpti_json_float(&json, "slice_requests", need.slice);
        cpti_json_float(&json, "traced_requests", need.traced);
        cpti_json_float(&json, "all_requests", need.all);
        cpti_json_rough(&json, "seconds", need.seconds);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
}

/* --- As a table --- */

/* "1.5 h": one decimal is enough for a plan. */
static const char *duration_text(double seconds, char text[32])
{
    static const struct {
        double seconds;
        const char *word;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {0, "s"}};
    size_t i = 0;

    while (seconds < units[i].seconds) {
        i++;
    }
    (void)snprintf(text, 32, "%.1f %s",
                   units[i].seconds > 0 ? seconds / units[i].seconds : seconds,
                   units[i].word);
    return text;
}

enum { GOAL, TIME, WHAT_FOR };

static struct cpti_cell what_for(const struct cpti_asked *asked)
{
    const struct cpt_sizing *sizing =
        &((const struct plan_command *)asked->context)->sizing;
    char within[32];

    (void)cpti_ms(sizing->within_ns, within);
    switch (((const struct goal *)asked->row)->goal) {
    case CPT_SIZING_MEAN:
        return cpti_cell_format(asked, "to know the mean to \u00b1%s ms", within);
    case CPT_SIZING_DIFFERENCE:
        cpti_cell_shorten(asked, "to know differences to \u00b1%s ms", within);
        return cpti_cell_format(
            asked, "to know a difference to \u00b1%s ms; in each set", within);
    default:
        cpti_cell_shorten(asked, "to see %s ms in %g %% of cases", within,
                          sizing->power * 100);
        return cpti_cell_format(
            asked, "to see a difference of %s ms in %g %% of cases; in each set",
            within, sizing->power * 100);
    }
}

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct goal *goal = asked->row;

    if (asked->what == GOAL) {
        return cpti_cell_text(goal_words[goal->goal]);
    }
    if (asked->what == WHAT_FOR) {
        return what_for(asked);
    }
    return isnan(goal->need.seconds)
               ? cpti_cell_unknown()
               : cpti_cell_text(duration_text(goal->need.seconds, asked->room));
}

#define OF(field) CPTI_OF(struct goal, need.field)

static const struct cpti_column columns[] = {
    {"goal", "goal", CPTI_TEXT, get, GOAL, "mean, difference or seen"},
    {"slice_requests", "of the slice", CPTI_WHOLE, OF(slice), "selected requests"},
    {"traced_requests", "traced", CPTI_WHOLE, OF(traced),
     "that the log must have for them"},
    {"all_requests", "of all", CPTI_WHOLE, OF(all), "that have to arrive for them"},
    {"seconds", "seconds", CPTI_NUMBER, OF(seconds), "until they have arrived"},
    {"time", "time", CPTI_TEXT, get, TIME, "the same, in tables", CPTI_IN_TABLES},
    {"what_for", "what for", CPTI_TEXT, get, WHAT_FOR, "the goal in words",
     CPTI_IN_TABLES},
    {0},
};

static const struct cpti_relation relation = {
    "goals", columns, "slice_requests,traced_requests,all_requests,time,what_for"};

/* "5.4 % of the requests, 74.5 % of the records" */
static void print_slice(const struct plan_command *command)
{
    const struct cpti_gather_share *share = &command->share;
    char text[32];

    (void)printf("slice: %.4g %% of the %s", share->requests * 100,
                 share->is_known ? "requests" : "records");
    if (share->is_known && fabs(share->records - share->requests) > 1e-9) {
        (void)printf(", %.4g %% of the records", share->records * 100);
    }
    (void)printf("; single ones deviate by %s ms\n",
                 cpti_ms(command->deviation_ns, text));
}

static int print_plan(const struct plan_command *command)
{
    const struct cpt_sizing *sizing = &command->sizing;
    struct goal goals[CPT_SIZING_GOAL_COUNT];
    const struct cpti_rows rows = CPTI_ROWS(goals, CPT_SIZING_GOAL_COUNT, command);

    for (int i = 0; i < CPT_SIZING_GOAL_COUNT; i++) {
        goals[i].goal = (enum cpt_sizing_goal)i;
        goals[i].need = cpt_sizing_need(sizing, command->tree, goals[i].goal);
    }
    cpti_relation_sort(&command->view, goals, rows.count, rows.bytes, command);
    if (cpti_view_is_for_people(&command->view)) {
        cpti_tree_print(command->tree, NULL);
        print_slice(command);
        (void)printf("\nrequests that are needed, with %g %% confidence\n\n",
                     sizing->confidence * 100);
    }
    return cpti_relation_print(&command->view, &rows, rows.count);
}

/* --- The command --- */

/* See struct cpti_capped: there are no rows to leave out. */
static int print_whole(void *context, size_t row_max)
{
    const struct plan_command *command = context;

    (void)row_max;
    if (command->view.format == CPTI_FORMAT_JSON) {
        put_json(command);
        return CPTI_EXIT_DONE;
    }
    return print_plan(command);
}

static int show(struct plan_command *command, const struct cpt_tree *tree)
{
    const struct cpti_capped capped = {
        .bytes_max = command->view.bytes_max, .print = print_whole, .context = command};
    const uint64_t count = cpt_tree_request_count(tree);

    if (count < 2) {
        return cpti_failed("one request does not tell how much requests vary");
    }
    if (count < CPT_STATS_PRESENT_MIN) {
        cpti_warn("%" PRIu64 " requests do not tell well how much requests vary",
                  count);
    }
    if (!command->share.is_known && command->share.records < 1) {
        cpti_warn("a tree and a database do not tell what the requests weigh that were "
                  "not selected: the slice is a part of the records; give the logs");
    }
    complete_plan(command, tree);
    command->tree = tree;
    return cpti_capped_print(&capped);
}

static int run(const struct cpti_arguments *arguments)
{
    struct plan_command command = {.arguments = arguments,
                                   .sizing = {.struct_bytes = sizeof command.sizing,
                                              .confidence = 0.95,
                                              .power = 0.8,
                                              .share = 1},
                                   .within = 0.01};
    struct cpti_gather gather = {.counts_all = true};
    bool is_usable = false;
    int status = read_options(&command);

    status =
        CPTI_THEN(status, cpti_view_read(arguments, &relation, NULL, &command.view));
    status = CPTI_THEN(status, cpti_gather_arguments(&gather, arguments, &is_usable));
    if (is_usable) {
        command.share = cpti_gather_share(&gather);
        status = cpti_exit_last(status, show(&command, gather.tree));
    }
    cpt_tree_free(gather.tree);
    return status;
}

static const struct cpti_option options[] = {
    {"within", 0, "AMOUNT",
     "how precise the answer has to be: a time, or a part of the mean latency; "
     "default: 1%"},
    {"confidence", 0, "PART", "of the intervals; default: 0.95"},
    {"power", 0, "PART",
     "the part of such differences that must be detected; default: 0.8"},
    {"probability", 0, "PART",
     "the part of the requests counted by --share that will be traced; default: as in "
     "the logs, by the weights of their records"},
    {"share", 0, "PART",
     "the part of all requests that could be in the log, for example 1% for the log of "
     "an experiment with one request in a hundred; default: 1"},
    {"rate", 0, "NUMBER",
     "requests that arrive in a second, to print how long it takes"},
    {"json", 'j', NULL, "print one JSON object"},
    CPTI_CAPPED_WHOLE_OPTION,
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt plan --where page=search --within 0.5ms paths.cptlog",
     "how many requests of the search page give its mean latency to half a "
     "millisecond"},
    {"cpt plan --share 1% --probability 0.001 --rate 20000 paths.cptlog",
     "how long an experiment with one user in a hundred has to run"},
    {0},
};

const struct cpti_command cpti_command_plan = {
    .name = "plan",
    .summary = "print how many requests a question needs",
    .group = CPTI_COMPARE,
    .question = "How many requests must I trace to know it?",
    .needs = "path logs, spans or trees of any day",
    .usages = {"[OPTION]... LOG|TREE..."},
    .options = {options, cpti_view_options, cpti_select_options, cpti_sample_options,
                cpti_count_options, cpti_log_options},
    .relations = {&relation},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
