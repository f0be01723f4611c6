/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_plan.c - cpt plan: how many requests a question needs
 *
 * The deviation s of a single request, from a log that is there, says how many of them
 * make a mean known to h, or a difference of h seen (z and b: quantiles of the normal
 * distribution for the confidence and the power):
 *
 *      mean          n = (z s / h)²
 *      difference    n = 2 (z s / h)²          in each of the two sets
 *      seen          n = 2 ((z + b) s / h)²    in each
 *
 * Of all requests only some are in the slice, and of these only some are traced.
 */
#include "cpt/cli/base/amounts.h"
#include "cpt/cli/gather/gather.h"
#include "cpt/cli/base/json_write.h"
#include "cpt/cli/gather/log_walk.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/base/table.h"
#include "cpt/cli/print/tree_print.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What can be asked. */
enum { GOAL_MEAN, GOAL_DIFFERENCE, GOAL_SEEN, GOAL_COUNT };

static const char *const goal_words[GOAL_COUNT] = {"mean", "difference", "seen"};

struct plan {
    const struct cpti_arguments *arguments;
    double within;      /* ns, or a part of the mean latency */
    int is_relative;    /* which of them */
    double confidence;  /* 0 to 1 */
    double power;       /* 0 to 1 */
    double share;       /* of all requests that could be in the log */
    double probability; /* that a request is traced */
    double rate;        /* requests a second; 0 if not known */
};

/* What is needed for one goal. */
struct need {
    double slice;   /* traced requests in the slice; of a difference in each set */
    double traced;  /* traced ones altogether, for one set */
    double all;     /* of all that arrive */
    double seconds; /* until so many have arrived; NAN without a rate */
};

/* --- Options --- */

/* A number with a unit among those of @allowed (bits 1 << enum cpti_unit). */
static int read_amount(const struct plan *plan, const char *option, unsigned allowed,
                       const char *wanted, double most, double *value,
                       enum cpti_unit *unit)
{
    const char *text = cpti_value(plan->arguments, option);
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
static int read_part(const struct plan *plan, const char *option, int is_below,
                     double *value)
{
    enum cpti_unit unit;

    return read_amount(plan, option, 1U << CPTI_UNIT_NONE | 1U << CPTI_UNIT_PART,
                       is_below ? "a part between 0 and 1, as 0.95 or 95%"
                                : "a part above 0 and up to 1, as 0.01 or 1%",
                       is_below ? 1 - 1e-12 : 1, value, &unit);
}

static int read_options(struct plan *plan)
{
    enum cpti_unit unit = CPTI_UNIT_PART;
    enum cpti_unit unused;
    int status =
        read_amount(plan, "within", 1U << CPTI_UNIT_TIME | 1U << CPTI_UNIT_PART,
                    "a time or a part of the mean latency, as 1ms or 2%", 1e18,
                    &plan->within, &unit);

    plan->is_relative = unit == CPTI_UNIT_PART;
    if (status == CPTI_EXIT_DONE) {
        status = read_part(plan, "confidence", 1, &plan->confidence);
    }
    if (status == CPTI_EXIT_DONE) {
        status = read_part(plan, "power", 1, &plan->power);
    }
    if (status == CPTI_EXIT_DONE) {
        status = read_part(plan, "share", 0, &plan->share);
    }
    if (status == CPTI_EXIT_DONE) {
        status = read_part(plan, "probability", 0, &plan->probability);
    }
    if (status == CPTI_EXIT_DONE) {
        status =
            read_amount(plan, "rate", 1U << CPTI_UNIT_NONE,
                        "a number of requests in a second", 1e12, &plan->rate, &unused);
    }
    return status;
}

/* --- Reckoning --- */

/* The part of all traced requests that is selected. */
static double slice_of(const struct cpt_tree *tree)
{
    const double left_out = (double)cpt_tree_count_find(tree, "forced_excluded") +
                            (double)cpt_tree_count_find(tree, "local_root_excluded");
    const double all = (double)cpt_tree_count_find(tree, "records") - left_out;
    const double selected = (double)cpt_tree_request_count(tree);

    return all > selected ? selected / all : 1;
}

static double within_ns(const struct plan *plan, const struct cpt_mean *mean)
{
    return plan->is_relative ? plan->within * mean->mean_ns : plan->within;
}

static struct need need_of(const struct plan *plan, const struct cpt_tree *tree,
                           int goal)
{
    const struct cpt_mean mean = cpt_stats_of(tree, CPT_TREE_ROOT).inclusive;
    /* of one request: with unequal weights more of them are needed */
    const double s = mean.error_ns * sqrt((double)cpt_tree_request_count(tree));
    const double z = cpt_normal_quantile(0.5 + plan->confidence / 2) +
                     (goal == GOAL_SEEN ? cpt_normal_quantile(plan->power) : 0);
    const double ratio = fmax(z, 0) * s / within_ns(plan, &mean);
    struct need need;

    /* one request has no variance, and less than two no interval */
    need.slice = fmax(2, ceil((goal == GOAL_MEAN ? 1 : 2) * ratio * ratio));
    need.traced = ceil(need.slice / slice_of(tree));
    need.all = ceil(need.traced / plan->share / plan->probability);
    need.seconds = plan->rate > 0 ? need.all / plan->rate : NAN;
    return need;
}

/* --- As JSON --- */

static void put_json(const struct plan *plan, const struct cpt_tree *tree)
{
    const struct cpt_mean mean = cpt_stats_of(tree, CPT_TREE_ROOT).inclusive;
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_tree_json(&json, tree);
    cpti_json_ns(&json, "deviation_ns", mean.deviation_ns);
    cpti_json_rough(&json, "slice", slice_of(tree));
    cpti_json_ns(&json, "within_ns", within_ns(plan, &mean));
    cpti_json_float(&json, "confidence", plan->confidence);
    cpti_json_float(&json, "power", plan->power);
    for (int goal = 0; goal < GOAL_COUNT; goal++) {
        const struct need need = need_of(plan, tree, goal);

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

/* "1.5 h": two digits are enough for a plan. */
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

static void add_goal(struct cpti_table *table, const struct plan *plan,
                     const struct cpt_tree *tree, int goal)
{
    const struct cpt_mean mean = cpt_stats_of(tree, CPT_TREE_ROOT).inclusive;
    const struct need need = need_of(plan, tree, goal);
    char within[32];
    char text[32];

    (void)cpti_ms(within_ns(plan, &mean), within);
    cpti_table_cell(table, "%.0f", need.slice);
    cpti_table_cell(table, "%.0f", need.traced);
    cpti_table_cell(table, "%.0f", need.all);
    cpti_table_cell(table, "%s",
                    isnan(need.seconds) ? "-" : duration_text(need.seconds, text));
    switch (goal) {
    case GOAL_MEAN:
        cpti_table_cell(table, "to know the mean to \u00b1%s ms", within);
        break;
    case GOAL_DIFFERENCE:
        cpti_table_cell(table, "to know a difference to \u00b1%s ms; in each set",
                        within);
        break;
    default:
        cpti_table_cell(table,
                        "to see a difference of %s ms in %g %% of cases; in each set",
                        within, plan->power * 100);
        break;
    }
}

static int print_plan(const struct plan *plan, const struct cpt_tree *tree)
{
    static const char *const headings[] = {"of the slice", "traced", "of all", "time",
                                           "what for"};
    const struct cpt_mean mean = cpt_stats_of(tree, CPT_TREE_ROOT).inclusive;
    struct cpti_table *table = cpti_table_new(headings, 5);
    char text[32];
    int status;

    if (table == NULL) {
        return cpti_failed("out of memory");
    }
    for (int goal = 0; goal < GOAL_COUNT; goal++) {
        add_goal(table, plan, tree, goal);
    }
    cpti_tree_print(tree, NULL);
    (void)printf("slice: %.4g %% of the requests; single ones deviate by %s ms\n",
                 slice_of(tree) * 100, cpti_ms(mean.deviation_ns, text));
    (void)printf("\nrequests that are needed, with %g %% confidence\n\n",
                 plan->confidence * 100);
    status = cpti_table_print(table);
    cpti_table_free(table);
    return status;
}

/* --- The command --- */

static int show(const struct plan *plan, const struct cpt_tree *tree)
{
    const uint64_t count = cpt_tree_request_count(tree);

    if (count < 2) {
        return cpti_failed("one request does not tell how much requests vary");
    }
    if (count < CPT_STATS_PRESENT_MIN) {
        cpti_warn("%" PRIu64 " requests do not tell well how much requests vary",
                  count);
    }
    if (cpti_has(plan->arguments, "json")) {
        put_json(plan, tree);
        return CPTI_EXIT_DONE;
    }
    return print_plan(plan, tree);
}

static int run(const struct cpti_arguments *arguments)
{
    struct plan plan = {.arguments = arguments,
                        .within = 0.01,
                        .confidence = 0.95,
                        .power = 0.8,
                        .share = 1,
                        .probability = 1};
    struct cpt_tree *tree = NULL;
    int is_usable = 0;
    int status = read_options(&plan);

    if (status == CPTI_EXIT_DONE) {
        status = cpti_gather_operands(arguments, &tree, &is_usable);
    }
    if (is_usable) {
        const int failed = show(&plan, tree);

        status = failed != CPTI_EXIT_DONE ? failed : status;
    }
    cpt_tree_free(tree);
    return status;
}

static const struct cpti_option options[] = {
    {"within", 0, "AMOUNT",
     "what has to be known: a time, or a part of the mean latency; default: 1%", NULL},
    {"confidence", 0, "PART", "of the intervals; default: 0.95", NULL},
    {"power", 0, "PART", "of such differences that have to be seen; default: 0.8",
     NULL},
    {"probability", 0, "PART", "of a request to be traced; default: 1", NULL},
    {"share", 0, "PART",
     "of all requests that could be in the log, as 1% if it is that of an experiment "
     "with so many; default: 1",
     NULL},
    {"rate", 0, "NUMBER", "requests that arrive in a second, to tell how long it takes",
     NULL},
    {"json", 'j', NULL, "print one JSON object", NULL},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt plan --where page=search --within 0.5ms paths.cptlog",
     "how many requests tell half a millisecond on the search page"},
    {"cpt plan --share 1% --probability 0.001 --rate 20000 paths.cptlog",
     "how long an experiment with one user in a hundred has to run"},
    {0},
};

const struct cpti_command cpti_command_plan = {
    .name = "plan",
    .summary = "print how many requests a question needs",
    .usages = {"[OPTION]... LOG|TREE..."},
    .description =
        "Takes from a log how much the selected requests vary and which part of all "
        "requests they are, and prints how many are needed to know their mean latency, "
        "or its difference between two sets of them, to --within; and to see a "
        "difference of that size in most cases. The columns:\n"
        "\n"
        "  of the slice  selected requests\n"
        "  traced        requests in the log, for so many selected ones\n"
        "  of all        requests that arrive, for so many in the log: see --share "
        "and\n"
        "                --probability\n"
        "  time          until so many have arrived: see --rate\n"
        "\n"
        "Rare slices need many requests: the slowest hundredth of an experiment with "
        "one request in a hundred is one request of 10,000.\n"
        "\n" CPTI_SELECT_TEXT "\n\n"
        "With --json the object has slice (a part of 1), deviation_ns of a single "
        "request, and mean, difference and seen, each with slice_requests, "
        "traced_requests, all_requests and seconds (null without --rate). More may be "
        "added.",
    .options = {options, cpti_select_options, cpti_sample_options, cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .operand_count_max = SIZE_MAX,
    .run = run,
};
