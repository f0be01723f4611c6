/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_model.c - cpt model: what many requests have in common, and what changed in it
 *
 *      learn, merge    lines, models --> model
 *      show, curve     what it says, and after how many requests it does
 *      diff            two of them, or lines: which code behaves in another way
 */
#include "tool/commands/absent.h"
#include "tool/base/amounts.h"
#include "tool/base/files.h"
#include "tool/base/folders.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/events/event_input.h"
#include "tool/events/event_sources.h"
#include "tool/model/model_curve.h"
#include "tool/model/model_diff.h"
#include "tool/model/model_input.h"
#include "tool/model/model_show.h"
#include "tool/table/capped.h"
#include "import/model/model_file.h"

#include <string.h>

/* One run of the command. */
struct running {
    struct cpti_arguments arguments; /* without the verb */
    struct cpti_view view;
    struct cpti_model_rule rule;
};

/* --- learn, merge --- */

/* Writes @model, unless it is NULL, where -o says. */
static int write_model(const struct running *running, const struct cpti_model *model)
{
    const char *path = cpti_value(&running->arguments, "output");
    struct cpti_output output;
    int status = CPTI_EXIT_FAILED;

    if (model != NULL) {
        const struct cpt_sink sink = {cpti_output_write, &output};

        status = cpti_output_open(&output, path);
        if (status == CPTI_EXIT_DONE) {
            const struct cpt_error error = {0};

            status =
                cpti_output_finish(&output, cpti_model_write(model, &sink), &error);
        }
    }
    return status;
}

static int run_learn(struct running *running)
{
    struct cpti_model *model = NULL;
    int status = cpti_model_learn(&running->arguments, &model);

    status = cpti_exit_last(status, write_model(running, model));
    cpti_model_free(model);
    return status;
}

static int run_merge(struct running *running)
{
    struct cpti_model_learner *learner = cpti_model_learner_new(NULL, NULL);
    struct cpti_model *merged = NULL;
    int status = learner != NULL ? CPTI_EXIT_DONE : cpti_failed("out of memory");

    for (size_t i = 0; i < running->arguments.operand_count && status == CPTI_EXIT_DONE;
         i++) {
        struct cpti_model *model = NULL;

        status = cpti_model_open(running->arguments.operands[i], &model);
        if (status == CPTI_EXIT_DONE) {
            status = cpti_status_exit(cpti_model_learner_absorb(learner, model));
        }
        cpti_model_free(model);
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_status_exit(cpti_model_learner_finish(learner, &merged));
    }
    if (status == CPTI_EXIT_DONE) {
        cpti_model_warn(merged);
        status = write_model(running, merged);
    }
    cpti_model_free(merged);
    cpti_model_learner_free(learner);
    return status;
}

/* --- show, curve, diff --- */

/* The model of operand @index as it was given, behind the verb: a file, or a folder of
 * lines. enum cpti_exit. */
static int load_given(const struct running *running, size_t index,
                      struct cpti_model **model)
{
    const struct cpti_arguments *arguments = &running->arguments;
    const struct cpti_source *source = &arguments->sources[index + 1];
    struct cpti_arguments lines = *arguments;

    for (size_t i = 0; i < index; i++) {
        lines.operands += arguments->sources[i + 1].count;
    }
    if (!source->is_folder) {
        return cpti_model_load(arguments, lines.operands[0], model);
    }
    lines.operand_count = source->count;
    return cpti_model_learn(&lines, model);
}

/* How many operands were given behind the verb. */
static size_t given(const struct running *running)
{
    return running->arguments.source_count - 1;
}

static int run_show(struct running *running)
{
    const struct cpti_arguments *arguments = &running->arguments;
    const char *why = cpti_value(arguments, "why");
    struct cpti_model_showing showing = {
        .rule = running->rule,
        .view = &running->view,
        .why = {why, why != NULL ? arguments->operands[0] : NULL}};
    struct cpti_model *model = NULL;
    int status = CPTI_EXIT_DONE;

    if (given(running) != (why != NULL ? 2U : 1U)) {
        return why != NULL
                   ? cpti_usage("'cpt model show --why A' needs another event, B, and "
                                "a model")
                   : cpti_usage("'cpt model show' needs one model");
    }
    status = load_given(running, given(running) - 1, &model);
    if (model != NULL) {
        showing.model = model;
        status = cpti_exit_last(status, cpti_model_show(&showing));
    }
    cpti_model_free(model);
    return status;
}

static int run_curve(struct running *running)
{
    return cpti_model_curve(&running->arguments, &running->rule, &running->view);
}

static int run_diff(struct running *running)
{
    struct cpti_changes_options options = {.rule = running->rule, .seed = 1};
    struct cpti_model *models[2] = {NULL, NULL};
    struct cpti_model_changes *changes = NULL;
    int status =
        cpti_whole_number(&running->arguments, "seed", 0, UINT64_MAX, &options.seed);

    if (status == CPTI_EXIT_DONE && given(running) != 2) {
        return cpti_usage("'cpt model diff' needs two models, or lines: the base and "
                          "the new one");
    }
    for (size_t i = 0; i < 2 && status != CPTI_EXIT_USAGE; i++) {
        status = cpti_exit_last(status, load_given(running, i, &models[i]));
    }
    if (models[0] != NULL && models[1] != NULL) {
        const cpt_status found =
            cpti_model_changes_find(NULL, models[0], models[1], &options, &changes);

        status = cpti_exit_last(status, found != CPT_OK
                                            ? cpti_status_exit(found)
                                            : cpti_model_diff(changes, &running->view));
    }
    cpti_model_changes_free(changes);
    cpti_model_free(models[0]);
    cpti_model_free(models[1]);
    return status;
}

/* --- The command --- */

/* Reads --violations: a share such as 2%, or 0. */
static int read_rule(struct running *running)
{
    const char *text = cpti_value(&running->arguments, "violations");
    double values[CPTI_AMOUNTS_MAX];
    size_t count = 0;
    int status = CPTI_EXIT_DONE;

    running->rule = (struct cpti_model_rule){CPTI_MODEL_VIOLATIONS, CPTI_MODEL_SUPPORT};
    if (text == NULL) {
        return CPTI_EXIT_DONE;
    }
    if (strcmp(text, "0") == 0 || strcmp(text, "0%") == 0) {
        running->rule.violations = 0;
        return CPTI_EXIT_DONE;
    }
    status = cpti_amounts("violations", text, CPTI_UNIT_PART, values, &count);
    if (status == CPTI_EXIT_DONE && (count != 1 || values[0] >= 0.5)) {
        return cpti_usage("option '--violations' takes one share below 50%%, not '%s'",
                          cpti_quoted(text));
    }
    running->rule.violations = values[0];
    return status;
}

static const struct verb {
    const char *name;
    int (*run)(struct running *running);
    const struct cpti_relation *relation; /* NULL: it writes a model */
} verbs[] = {{"learn", run_learn, NULL},
             {"merge", run_merge, NULL},
             {"show", run_show, &cpti_model_pairs},
             {"curve", run_curve, &cpti_model_points},
             {"diff", run_diff, &cpti_model_rows}};

static int run_verb(const struct verb *verb, const struct cpti_arguments *arguments)
{
    struct running running = {.arguments = *arguments};
    int status = CPTI_EXIT_DONE;

    running.arguments.operands++;
    running.arguments.operand_count--;
    if (running.arguments.operand_count == 0) {
        return cpti_usage("'cpt model %s' needs a file", verb->name);
    }
    status = verb->relation != NULL
                 ? cpti_view_read(arguments, verb->relation, NULL, &running.view)
                 : cpti_view_refuse(arguments, verb->name);
    status = CPTI_THEN(status, read_rule(&running));
    return CPTI_THEN(status, verb->run(&running));
}

static int run(const struct cpti_arguments *arguments)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(arguments->operands[0], verbs[i].name) == 0) {
            return run_verb(&verbs[i], arguments);
        }
    }
    return cpti_usage("'cpt model' takes learn, merge, show, curve or diff, not '%s'",
                      cpti_quoted(arguments->operands[0]));
}

static const struct cpti_option options[] = {
    CPTI_SOURCES_OPTION,
    {"output", 'o', "MODEL", "with learn and merge, the file to write; default stdout"},
    {"why", 0, "A",
     "with show, only the pairs of event A and event B, which follows: 'service: "
     "event' or the event alone, and '#2' for its second occurrence"},
    {"violations", 0, "SHARE",
     "a relation holds while at most SHARE of its requests are against it; 2% by "
     "default, 0 for none"},
    {"seed", 0, "N", "with diff, begin the permutations elsewhere"},
    {"json", 'j', NULL, "print one JSON object with rows"},
    CPTI_CAPPED_OPTION("the first rows"),
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt model learn monday.csv -o monday.cptmodel",
     "counts of what came before what in these lines"},
    {"cpt model show --why 'OrderService#12' 'PayService#3' monday.cptmodel",
     "whether one is always before the other, and a request that is against it"},
    {"cpt model diff monday.cptmodel tuesday.csv",
     "which event is no longer followed by which: what code behaves in another way"},
    {0},
};

const struct cpti_command cpti_command_model = {
    CPTI_IS_MODEL,
    .usages = {"learn FILE... -o MODEL", "merge MODEL... -o MODEL",
               "[OPTION]... show [--why A B] MODEL | curve FILE...",
               "[OPTION]... diff BASE NEW"},
    .options = {options, cpti_view_options},
    .relations = {&cpti_model_rows, &cpti_model_pairs, &cpti_model_points},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .is_in_folder = cpti_event_input_recognise,
    .folder_noun = "text file",
    .operand = "a verb and files of lines",
};
