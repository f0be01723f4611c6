/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_experiment.c - cpt experiment: what a slower task cost, measured and predicted
 *
 *      logs, graphs --> rows (experiment_rows.h) --> a table of all frames
 *      logs of any day --> how long an experiment must last (--plan)
 *      options --> a line in a file of settings (--write)
 */
#include "tool/base/amounts.h"
#include "tool/table/sheet.h"
#include "tool/table/json_write.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/table/relation.h"
#include "tool/experiment/experiment_rows.h"
#include "tool/experiment/experiment_write.h"
#include "tool/gather/gather.h"
#include "tool/requests/log_walk.h"
#include "tool/print/tree_print.h"
#include "aggregate/cpt_sizing.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BAR_CELLS = 10 };

/* One run of the command. */
struct experiment {
    const struct cpti_arguments *arguments;
    struct cpti_experiment_rows rows;
    struct cpti_kept_counts kept;
    struct cpti_view view;
    bool has_graphs;
};

/* --- Gathering --- */

static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct experiment *experiment = context;

    (void)path;
    return cpti_status_exit(
        cpti_experiment_rows_add(&experiment->rows, record, weight));
}

static bool needs_no_path(const void *context, const struct cpt_record *record)
{
    (void)context;
    (void)record;
    return false;
}

static int add_graphs(struct experiment *experiment)
{
    struct cpti_arguments files;
    struct cpti_kept_options options = {.by_walk =
                                            cpti_kept_by_walk(experiment->arguments),
                                        .visit = cpti_experiment_rows_predict,
                                        .context = &experiment->rows};
    int status = cpti_kept_option(experiment->arguments, "graphs", &files);

    options.files = files.operands;
    options.file_count = files.operand_count;
    experiment->has_graphs = options.file_count != 0;
    if (status == CPTI_EXIT_DONE && experiment->has_graphs) {
        status = cpti_kept_graphs(&options, &experiment->kept);
    }
    cpti_arguments_deinit(&files);
    return status;
}

/* --- Columns --- */

/* "######.|.." from 0 to 1, '|' where it was predicted. */
static const char *bar_text(const struct cpti_experiment_row *row,
                            char text[BAR_CELLS + 1])
{
    for (int i = 0; i < BAR_CELLS; i++) {
        text[i] =
            row->is_measured && row->sensitivity * BAR_CELLS >= i + 0.5 ? '#' : '.';
    }
    if (row->is_predicted) {
        const double at = fmin(fmax(row->prediction, 0), 1) * (BAR_CELLS - 1);

        text[(int)(at + 0.5)] = '|';
    }
    text[BAR_CELLS] = '\0';
    return text;
}

enum { DELTA, KIND, SENSITIVITY, LOW, HIGH, INTERVAL, PREDICTED, PREDICTED_ERROR };
enum { AGREES = PREDICTED_ERROR + 1, COUNT, BAR, FRAME_SHOWN };

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct cpti_experiment_row *row = asked->row;

    switch (asked->what) {
    case DELTA:
        return cpti_cell_number((double)row->delta_ns);
    case KIND:
        return cpti_cell_text(row->burns ? "burn" : "wait");
    case SENSITIVITY:
        return cpti_cell_known(row->is_measured, row->sensitivity);
    case LOW:
        return cpti_cell_known(row->is_measured, row->low);
    case HIGH:
        return cpti_cell_known(row->is_measured, row->high);
    case INTERVAL:
        return row->is_measured
                   ? cpti_cell_format(asked, "%.2f to %.2f", row->low, row->high)
                   : cpti_cell_unknown();
    case PREDICTED:
        return cpti_cell_known(row->is_predicted, row->prediction);
    case PREDICTED_ERROR:
        return cpti_cell_known(row->is_predicted, row->prediction_error);
    case AGREES:
        return row->is_compared ? cpti_cell_count(row->agrees) : cpti_cell_unknown();
    case COUNT:
        return cpti_cell_count(row->plain_count + row->delayed_count);
    case BAR:
        return cpti_cell_text(bar_text(row, asked->room));
    default:
        return cpti_cell_format(asked, "%s%s", cpti_quoted(row->frame),
                                row->burns ? " (burn)" : "");
    }
}

#define OF(field) CPTI_OF(struct cpti_experiment_row, field)

static const struct cpti_column columns[] = {
    {"frame", "frame", CPTI_NAME, OF(frame), "that was delayed"},
    {"frame_shown", "frame", CPTI_TEXT, get, FRAME_SHOWN, "with the kind",
     CPTI_IN_TABLES},
    {"delta_ns", "delay ms", CPTI_NS, get, DELTA, "the delay"},
    {"kind", "kind", CPTI_TEXT, get, KIND, "a wait, or a burn on the processor"},
    {"plain_requests", "plain", CPTI_COUNT, OF(plain_count),
     "requests without the delay"},
    {"delayed_requests", "delayed", CPTI_COUNT, OF(delayed_count), "… and with it"},
    {"requests", "n", CPTI_COUNT, get, COUNT, "both together", CPTI_IN_TABLES},
    {"sensitivity", "measured", CPTI_FACTOR, get, SENSITIVITY,
     "the part of the delay that the latency has"},
    {"low", "from", CPTI_FACTOR, get, LOW, "the 95 % interval of that"},
    {"high", "to", CPTI_FACTOR, get, HIGH},
    {"interval", "95 %", CPTI_TEXT, get, INTERVAL, "both ends of it, in tables",
     CPTI_IN_TABLES},
    {"q", "q", CPTI_P, OF(q_value), "the false discovery rate"},
    {"doubt", "doubt", CPTI_TEXT, OF(doubt), "why it must not be trusted"},
    {"predicted", "predicted", CPTI_FACTOR, get, PREDICTED, "by graphs"},
    {"predicted_error", "error", CPTI_FACTOR, get, PREDICTED_ERROR, "of that"},
    {"graphs", "graphs", CPTI_COUNT, OF(predicted.present_count),
     "that have the frame"},
    {"agrees", "agree", CPTI_FLAG, get, AGREES, "whether both agree"},
    {"bar", "0  ..  1", CPTI_TEXT, get, BAR, "what was measured, as a bar",
     CPTI_IN_TABLES},
    {0},
};

static const struct cpti_relation relation = {
    "rows", columns,
    "sensitivity,interval,predicted,agrees,q,requests,bar,delta_ns,frame_shown"};

/* --- As JSON --- */

static size_t agreeing(const struct cpti_experiment_rows *rows, size_t *compared)
{
    size_t count = 0;

    *compared = 0;
    for (size_t i = 0; i < rows->row_count; i++) {
        const struct cpti_experiment_row *row = &rows->rows[i];

        *compared += row->is_compared;
        count += row->is_compared && row->agrees;
    }
    return count;
}

static void put(const void *context, struct cpti_json *json)
{
    const struct experiment *experiment = context;
    const struct cpti_experiment_rows *rows = &experiment->rows;
    size_t compared = 0;
    const size_t agree = agreeing(rows, &compared);

    cpti_json_unsigned(json, "requests", rows->request_count);
    cpti_json_unsigned(json, "other_requests", rows->others_count);
    cpti_json_unsigned(json, "graphs", rows->graph_count);
    cpti_json_unsigned(json, "delayed_graphs", rows->delayed_graph_count);
    cpti_json_unsigned(json, "compared", compared);
    cpti_json_unsigned(json, "agree", agree);
    if (experiment->kept.inferred != 0) {
        cpti_kept_put_evidence(json, &experiment->kept);
    }
}

/* --- As a table --- */

static int head(const void *context)
{
    const struct experiment *experiment = context;
    const struct cpti_experiment_rows *rows = &experiment->rows;

    (void)printf("requests that took part in experiments: %" PRIu64
                 ", that did not: %" PRIu64 "\n",
                 rows->request_count, rows->others_count);
    cpti_kept_print_evidence(&experiment->kept);
    return CPTI_EXIT_DONE;
}

static void foot(const void *context, size_t row_max)
{
    const struct experiment *experiment = context;
    const struct cpti_experiment_rows *rows = &experiment->rows;
    size_t compared = 0;
    const size_t agree = agreeing(rows, &compared);

    (void)row_max;
    if (compared != 0) {
        (void)printf(
            "frames that agree with the prediction: %zu of %zu; graphs: %" PRIu64 "\n",
            agree, compared, rows->graph_count);
    }
}

/* Whether a row before @index is of the same frame, with another delay. */
static bool was_named(const struct cpti_experiment_rows *rows, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(rows->rows[i].frame, rows->rows[index].frame) == 0) {
            return true;
        }
    }
    return false;
}

/* What must be known about the rows beside their numbers. */
static void warn(const struct experiment *experiment)
{
    const struct cpti_experiment_rows *rows = &experiment->rows;

    if (rows->malformed_count != 0) {
        cpti_warn("records that are left out, as their arm is malformed: %" PRIu64,
                  rows->malformed_count);
    }
    for (size_t i = 0; i < rows->row_count; i++) {
        const struct cpti_experiment_row *row = &rows->rows[i];
        char ms[32];

        if (rows->graph_count != 0 && !row->is_predicted && !was_named(rows, i)) {
            cpti_warn("no graph has a task '%s': is the name right?",
                      cpti_quoted(row->frame));
        }
        if (row->doubt[0] != '\0') {
            cpti_warn("do not trust the row of '%s' with %s of %s ms: %s",
                      cpti_quoted(row->frame), row->burns ? "a burn" : "a wait",
                      cpti_ms((double)row->delta_ns, ms), row->doubt);
        }
    }
}

static int show(struct experiment *experiment)
{
    struct cpti_experiment_rows *rows = &experiment->rows;
    struct cpti_sheet sheet = {.view = &experiment->view,
                               .context = experiment,
                               .counts_rest = true,
                               .head = head,
                               .foot = foot,
                               .put = put};
    int status = CPTI_EXIT_DONE;

    if (rows->request_count == 0) {
        return cpti_failed("no request took part in an experiment: "
                           "see docs/experiments.md");
    }
    status = add_graphs(experiment);
    if (experiment->kept.is_broken) {
        return status;
    }
    if (cpti_experiment_rows_finish(rows) != CPT_OK) {
        return cpti_failed("out of memory");
    }
    cpti_relation_sort(&experiment->view, rows->rows, rows->row_count,
                       sizeof *rows->rows, NULL);
    warn(experiment);
    sheet.rows = CPTI_ROWS(rows->rows, rows->row_count, NULL);
    return cpti_exit_last(status, cpti_sheet_print(&sheet));
}

static int report(struct experiment *experiment)
{
    struct cpti_gather gather = {
        .request = add_request, .needs_path = needs_no_path, .context = experiment};
    bool is_usable = false;
    int status =
        cpti_view_read(experiment->arguments, &relation, NULL, &experiment->view);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_gather_arguments(&gather, experiment->arguments, &is_usable);
    if (is_usable && gather.met_tree) {
        status = cpti_usage("a tree does not know the arms of its requests" CPTI_HINT
                            "give the "
                            "path log it was made from");
    } else if (is_usable) {
        status = cpti_exit_last(status, show(experiment));
    }
    cpt_tree_free(gather.tree);
    cpti_experiment_rows_free(&experiment->rows);
    return status;
}

/* --- How long it must last --- */

/* The one value of @option, @otherwise without it. */
static int read_one(const struct cpti_arguments *arguments, const char *option,
                    enum cpti_unit unit, double otherwise, double *value)
{
    double values[CPTI_AMOUNTS_MAX];
    size_t count = 0;
    const char *text = cpti_value(arguments, option);
    int status = CPTI_EXIT_DONE;

    *value = otherwise;
    if (text == NULL) {
        return CPTI_EXIT_DONE;
    }
    status = cpti_amounts(option, text, unit, values, &count);
    if (status == CPTI_EXIT_DONE && count != 1) {
        return cpti_usage("option '--%s' takes one value", option);
    }
    *value = values[0];
    return status;
}

struct plan {
    double delta_ns;
    double within;
    double frames;
    struct cpt_sizing sizing;
};

static int read_plan(const struct cpti_arguments *arguments, struct plan *plan)
{
    double rate = 0;
    int status = read_one(arguments, "delta", CPTI_UNIT_TIME, 5e6, &plan->delta_ns);

    status = CPTI_THEN(
        status, read_one(arguments, "within", CPTI_UNIT_NONE, 0.1, &plan->within));
    status = CPTI_THEN(status,
                       read_one(arguments, "frames", CPTI_UNIT_NONE, 1, &plan->frames));
    status = CPTI_THEN(status, read_one(arguments, "rate", CPTI_UNIT_NONE, 0, &rate));
    status = CPTI_THEN(status, read_one(arguments, "probability", CPTI_UNIT_NONE, 0,
                                        &plan->sizing.probability));
    if (status == CPTI_EXIT_DONE && plan->sizing.probability > 1) {
        return cpti_usage("option '--probability' takes a part of 1, such as 0.01");
    }
    plan->sizing.struct_bytes = sizeof plan->sizing;
    plan->sizing.within_ns = plan->within * plan->delta_ns;
    plan->sizing.rate = rate;
    return status;
}

/* Without --probability requests are traced as those in the logs were. */
static void complete_plan(struct plan *plan, const struct cpt_tree *tree)
{
    if (plan->sizing.probability > 0) {
        plan->sizing.deviation_ns = cpt_sizing_deviation_ns(tree);
    } else {
        plan->sizing.probability =
            (double)cpt_tree_request_count(tree) / cpt_tree_weight(tree);
    }
}

static void print_plan(const struct plan *plan, const struct cpt_tree *tree,
                       bool is_json)
{
    const struct cpt_sizing_need need =
        cpt_sizing_need(&plan->sizing, tree, CPT_SIZING_DIFFERENCE);
    const double frame_seconds = 2 * need.seconds; /* NAN without a rate */
    struct cpti_json json = {.file = stdout};
    char text[32];

    if (is_json) {
        cpti_json_open(&json, NULL, '{');
        cpti_json_ns(&json, "delta_ns", plan->delta_ns);
        cpti_json_rough(&json, "within", plan->within);
        cpti_json_float(&json, "frames", plan->frames);
        cpti_json_float(&json, "frame_traced_requests", 2 * need.traced);
        cpti_json_float(&json, "frame_requests", 2 * need.all);
        cpti_json_rough(&json, "frame_seconds", frame_seconds);
        cpti_json_rough(&json, "seconds", frame_seconds * plan->frames);
        cpti_json_close(&json);
        return;
    }
    (void)printf("to know the sensitivity of a frame to \u00b1%g, with a delay of %s "
                 "ms:\n\n"
                 "a frame needs %.0f requests; of these %.0f are traced, half of them "
                 "delayed\n",
                 plan->within, cpti_ms(plan->delta_ns, text), 2 * need.all,
                 2 * need.traced);
    if (!isnan(frame_seconds)) {
        (void)printf("%.0f s a frame, %.0f s in all; frames: %.0f\n\n"
                     "experiment = delta %gms; guard ...; frames ...; each %.0fs; for "
                     "%.0fs\n",
                     ceil(frame_seconds), ceil(frame_seconds) * plan->frames,
                     plan->frames, plan->delta_ns / 1e6, ceil(frame_seconds),
                     ceil(frame_seconds) * plan->frames);
    }
}

static int plan(const struct cpti_arguments *arguments)
{
    struct plan plan = {0};
    struct cpt_tree *tree = NULL;
    bool is_usable = false;
    int status = read_plan(arguments, &plan);

    status = CPTI_THEN(status, cpti_gather_operands(arguments, &tree, &is_usable));
    if (is_usable && cpt_tree_request_count(tree) < 2) {
        status = cpti_failed("one request does not tell how much requests vary");
    } else if (is_usable) {
        complete_plan(&plan, tree);
        print_plan(&plan, tree, cpti_has(arguments, "json"));
    }
    cpt_tree_free(tree);
    return status;
}

/* --- The command --- */

static int run(const struct cpti_arguments *arguments)
{
    struct experiment experiment = {.arguments = arguments};
    int status = cpti_capped_option(arguments, &experiment.view.bytes_max);

    if (status == CPTI_EXIT_DONE && cpti_has(arguments, "write")) {
        status = cpti_view_refuse(arguments, "--write");
    } else if (status == CPTI_EXIT_DONE && cpti_has(arguments, "plan")) {
        status = cpti_view_refuse(arguments, "--plan");
    }
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (cpti_has(arguments, "write")) {
        return arguments->operand_count == 0
                   ? cpti_experiment_file(arguments)
                   : cpti_usage("with '--write' there are no logs");
    }
    if (arguments->operand_count == 0) {
        return cpti_usage("which logs? See 'cpt experiment --help'");
    }
    return cpti_has(arguments, "plan") ? plan(arguments) : report(&experiment);
}

static const struct cpti_option options[] = {
    {"asked", 0, "RATE",
     "with --write: obey callers up to --delta, RATE such as 100/s"},
    {"burn", 0, NULL, "with --write: compute, instead of waiting"},
    {"delta", 0, "TIME", "with --plan and --write: the delay, such as 5ms"},
    {"each", 0, "TIME", "with --write: the turn of a frame, such as 60s"},
    {"for", 0, "TIME", "with --write: how long in all, such as 1800s"},
    {"frames", 0, "WHICH",
     "with --write: all, or names and commas; with --plan: how many; default: 1"},
    CPTI_WAITS_OPTION,
    {"graphs", 'g', "FILE",
     "predict from the kept graphs or spans in FILE, or in a folder; may repeat"},
    {"guard", 0, "TIME", "with --write: stop when requests take longer"},
    {"json", 'j', NULL, "print one JSON object with rows"},
    CPTI_CAPPED_OPTION("the most sensitive frames"),
    {"off", 0, NULL, "with --write: end the experiment"},
    {"plan", 0, NULL, "print how many requests an experiment needs, and how long"},
    {"probability", 0, "PART",
     "with --plan: of all requests that will be traced; default: as in the logs"},
    {"rate", 0, "COUNT", "with --plan: requests that arrive in a second"},
    {"share", 0, "PART", "with --write: the part that is delayed; default: 0.5"},
    {"within", 0, "NUMBER", "with --plan: how exactly to know it; default: 0.1"},
    {"write", 0, "FILE", "put an experiment into the file of settings FILE"},
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt experiment paths.cptlog", "what a slower task has cost, frame by frame"},
    {"cpt experiment -g a.jsonl -g b.jsonl paths.cptlog",
     "beside what the spans of those services predict"},
    {"cpt experiment --plan --delta 5ms --rate 200 --probability 0.05 paths.cptlog",
     "how long it takes to know a sensitivity to \u00b10.1"},
    {"cpt experiment --write front.conf --delta 5ms --guard 250ms --frames all",
     "begin one: the service that reads this file delays each of its tasks"},
    {"cpt experiment --write front.conf --off", "end it"},
    {0},
};

const struct cpti_command cpti_command_experiment = {
    .name = "experiment",
    .summary = "print what a slower task cost: measured, beside what graphs predict",
    .group = CPTI_FIX,
    .question = "What does it really cost if this task takes longer?",
    .needs = "path logs of services that delayed tasks on purpose",
    .usages = {"[OPTION]... LOG...", "--write FILE [OPTION]..."},
    .options = {options, cpti_view_options, cpti_select_options, cpti_count_options,
                cpti_log_options},
    .relations = {&relation},
    .examples = examples,
    .operand_count_min = 0,
    .run = run,
    .takes_folders = true,
};
