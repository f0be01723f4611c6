/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_whatif.c - cpt whatif: the latency that recorded requests would have had
 *
 *      files --> kept requests --> terms --> replay --> before and after, the new path
 *                                    |
 *                                    '--> --sweep, --best: which terms would help
 *
 * The engine is cpt/cpt_whatif.h.
 */
#include "tool/table/capped.h"
#include "tool/base/command.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/select/select.h"
#include "tool/whatif/whatif_check.h"
#include "tool/whatif/whatif_log.h"
#include "tool/whatif/whatif_print.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PRINTED_MAX = 20,
    FILE_BYTES_MAX = 1 << 20,
    TEXT_BYTES = 2 * CPT_NAME_BYTES_MAX
};

/* --- Terms --- */

/* The terms among the options, in their order. */
static int read_options(struct cpti_whatif *whatif,
                        const struct cpti_arguments *arguments)
{
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < arguments->option_count && status == CPTI_EXIT_DONE; i++) {
        const struct cpti_argument *argument = &arguments->options[i];
        unsigned verb = 0;

        if (cpti_whatif_verb_of(argument->option->name, &verb)) {
            status = cpti_whatif_add_term(whatif, verb, argument->value);
        }
    }
    return status;
}

/* --terms FILE: a term on each line. */
static int read_file(struct cpti_whatif *whatif, const char *name)
{
    FILE *in = name != NULL ? fopen(name, "rb") : NULL;
    size_t bytes = 0;
    bool is_read = false;

    if (name == NULL) {
        return CPTI_EXIT_DONE;
    }
    if (in == NULL) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(name)}, "%s",
                              strerror(errno));
    }
    whatif->file = calloc(1, FILE_BYTES_MAX + 1);
    if (whatif->file != NULL) {
        bytes = fread(whatif->file, 1, FILE_BYTES_MAX, in);
        is_read = ferror(in) == 0;
    }
    (void)fclose(in);
    if (whatif->file == NULL) {
        return cpti_failed("out of memory");
    }
    if (!is_read || bytes == FILE_BYTES_MAX || strlen(whatif->file) != bytes) {
        return cpti_failed_at((struct cpti_at){.file = cpti_quoted(name)},
                              "this is no list of terms");
    }
    return cpti_whatif_add_lines(whatif, whatif->file);
}

/* "10ms" or "50%": that much less. */
static int read_amount(struct cpti_whatif *whatif, const char *text)
{
    char line[64];
    struct cpt_whatif_term term;

    if (snprintf(line, sizeof line, "x=-%s", text) >= (int)sizeof line ||
        cpt_whatif_term_read(CPT_WHATIF_SET, cpt_bytes_of(line), &term, NULL) !=
            CPT_OK ||
        (term.change == CPT_WHATIF_LESS && term.amount_ns == 0) ||
        (term.change == CPT_WHATIF_SCALE && term.share >= 1)) {
        return cpti_usage("'--sweep %s' needs an amount: 10ms or 50%%",
                          cpti_quoted(text));
    }
    whatif->trial.change = term.change;
    whatif->trial.amount_ns = term.amount_ns;
    whatif->trial.share = term.share;
    return CPTI_EXIT_DONE;
}

static int read_command(struct cpti_whatif *whatif,
                        const struct cpti_arguments *arguments)
{
    const char *queues = cpti_value(arguments, "queues");
    const char *sweep = cpti_value(arguments, "sweep");
    const char *best = cpti_value(arguments, "best");
    int status = read_options(whatif, arguments);

    status = CPTI_THEN(status, read_file(whatif, cpti_value(arguments, "terms")));
    status = CPTI_THEN(status, read_amount(whatif, sweep != NULL ? sweep : "50%"));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (queues != NULL && strcmp(queues, "replay") != 0 &&
        strcmp(queues, "kept") != 0) {
        return cpti_usage("'--queues %s' is neither kept nor replay",
                          cpti_quoted(queues));
    }
    whatif->replays_queues |= queues != NULL && strcmp(queues, "replay") == 0;
    whatif->sweeps = sweep != NULL && best == NULL;
    whatif->output = cpti_value(arguments, "output");
    if (whatif->sweeps && whatif->output != NULL) {
        return cpti_usage("--sweep has no one path that --output could write");
    }
    if (best != NULL) {
        char *end = NULL;

        whatif->best_count = strtoul(best, &end, 10);
        if (best[0] < '0' || best[0] > '9' || *end != '\0' || whatif->best_count < 1 ||
            whatif->best_count > CPTI_WHATIF_BEST_MAX) {
            return cpti_usage("'--best %s' needs a number from 1 to %d",
                              cpti_quoted(best), CPTI_WHATIF_BEST_MAX);
        }
    }
    if (whatif->replays_queues && (sweep != NULL || best != NULL)) {
        return cpti_usage("--sweep and --best keep queues as they were");
    }
    if (cpti_has(arguments, "by") && sweep == NULL && best == NULL) {
        return cpti_usage("--by says what --sweep and --best make shorter");
    }
    return CPTI_EXIT_DONE;
}

/* --- The answer --- */

static void show_progress(size_t done, size_t all)
{
    if (isatty(STDERR_FILENO) != 0 && (done % 16 == 0 || done == all)) {
        (void)fprintf(stderr, "\rcpt: %zu of %zu%s", done, all,
                      done == all ? "\r\033[K" : "");
    }
}

/* What was found becomes terms, with the amount as it was given. */
static int take_best(struct cpti_whatif *whatif, const char *amount)
{
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < whatif->best.count && status == CPTI_EXIT_DONE; i++) {
        const struct cpt_whatif_term term =
            cpti_whatif_shorter(&whatif->trial, whatif->best.frames[i]);
        char frame[TEXT_BYTES];
        char *text = malloc(TEXT_BYTES + 64);

        if (text == NULL || whatif->term_count == CPT_WHATIF_TERMS_MAX) {
            free(text);
            return cpti_failed("out of memory");
        }
        (void)snprintf(text, TEXT_BYTES + 64, "%s=-%s",
                       cpti_whatif_group_text(whatif->set, whatif->trial.by,
                                              whatif->best.frames[i], frame),
                       amount);
        whatif->owned[whatif->term_count] = text;
        status = cpti_whatif_take_term(whatif, text, &term);
    }
    return status;
}

static int find_best(struct cpti_whatif *whatif, const char *amount)
{
    const cpt_status status =
        cpti_whatif_best(&whatif->trial, whatif->best_count, &whatif->best);

    return status == CPT_OK ? take_best(whatif, amount)
                            : cpti_failed("%s", cpt_status_sentence(status));
}

static int find_gains(struct cpti_whatif *whatif)
{
    size_t untried = 0;
    cpt_status status = CPT_OK;

    whatif->trial.untried = &untried;
    status = cpti_whatif_sweep(&whatif->trial, &whatif->gains, &whatif->gain_count);
    whatif->trial.untried = NULL;
    if (untried != 0) {
        cpti_warn(
            "frames or groups that are not tried, those with the least time on the "
            "path, as there are too many: %zu",
            untried);
    }
    return status == CPT_OK ? CPTI_EXIT_DONE
                            : cpti_failed("%s", cpt_status_sentence(status));
}

/* What is made shorter together. */
static enum cpti_whatif_by by_of(const struct cpti_whatif_set *set,
                                 const struct cpti_arguments *arguments)
{
    const char *word = cpti_value(arguments, "by");
    enum cpti_whatif_by by = cpti_whatif_by_default(set);

    if (word != NULL) {
        (void)cpti_whatif_by_of(word, &by); /* it is one of the option's words */
    }
    return by;
}

/* The terms must match before a sweep with them. */
static int check_terms(struct cpti_whatif *whatif)
{
    struct cpt_whatif_plan *plan = NULL;
    const int status = cpti_whatif_plan(whatif->set, whatif->terms, whatif->texts,
                                        whatif->term_count, false, &plan);

    cpt_whatif_plan_free(plan);
    return status;
}

static int answer(struct cpti_whatif *whatif, const char *amount)
{
    int status = cpti_whatif_open(whatif);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    whatif->trial.set = whatif->set;
    whatif->trial.terms = whatif->terms;
    whatif->trial.term_count = whatif->term_count;
    whatif->trial.progress = show_progress;
    if (whatif->sweeps || whatif->best_count != 0) {
        status = check_terms(whatif);
    }
    if (status == CPTI_EXIT_DONE && whatif->sweeps) {
        return find_gains(whatif);
    }
    if (status == CPTI_EXIT_DONE && whatif->best_count != 0) {
        status = find_best(whatif, amount);
    }
    return status == CPTI_EXIT_DONE ? cpti_whatif_answer(whatif) : status;
}

/* --- The command --- */

static int replay(struct cpti_whatif *whatif, const struct cpti_arguments *arguments,
                  struct cpti_selection *selection)
{
    struct cpti_view view;
    const char *sweep = cpti_value(arguments, "sweep");
    const char *amount = sweep != NULL ? sweep : "50%";
    struct cpti_whatif_set set;
    int answered = CPTI_EXIT_DONE;
    int status = cpti_view_read(
        arguments, whatif->sweeps ? &cpti_whatif_gains : &cpti_whatif_shifts, NULL,
        &view);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_whatif_set_read(&set, arguments->operands, arguments->operand_count,
                                  cpti_kept_by_walk(arguments), selection, 0);
    if (set.count != 0) {
        if (whatif->sweeps && set.counts.inferred != 0 && !set.by_walk) {
            /* the options were read before */
            (void)cpti_view_read(arguments, &cpti_whatif_gains,
                                 cpti_whatif_gains_in_doubt, &view);
        }
        whatif->set = &set;
        whatif->trial.by = by_of(&set, arguments);
        answered = answer(whatif, amount);
        if (answered == CPTI_EXIT_DONE) {
            answered = cpti_whatif_print(whatif, amount, &view);
            status = cpti_exit_last(status, answered);
        } else {
            status = answered;
        }
    }
    cpti_whatif_set_deinit(&set);
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct cpti_whatif *whatif = NULL;
    struct cpti_selection *selection = NULL;
    int status;

    if (cpti_has(arguments, "check")) {
        return cpti_check_command(arguments);
    }
    if (cpti_has(arguments, "service") || cpti_has(arguments, "top")) {
        return cpti_usage("options '--service' and '--top' go with '--check'");
    }
    whatif = calloc(1, sizeof *whatif);
    if (whatif == NULL) {
        return cpti_failed("out of memory");
    }
    status = cpti_kept_selection(arguments, &selection);
    status = CPTI_THEN(status, read_command(whatif, arguments));
    status = CPTI_THEN(status, replay(whatif, arguments, selection));
    cpti_kept_selection_free(selection);
    cpti_whatif_free(whatif);
    return status;
}

static const struct cpti_option options[] = {
    {"set", 0, "NAME=CHANGE",
     "takes another time: -50%, 50%, 10ms, 0, +2ms, -2ms; several"},
    {"cap", 0, "NAME<=TIME", "takes at most this time; '>=': at least; several"},
    {"cut", 0, "NAME -> NAME", "the second does not wait for the first; several"},
    {"add", 0, "NAME -> NAME", "the second waits for the first, too; several"},
    {"parallel", 0, "NAME > NAME",
     "the calls of the second by the first all begin with its first one; several"},
    {"workers", 0, "EXECUTOR=NUMBER",
     "or a SERVICE: has this many workers; queues are replayed; several"},
    {"terms", 0, "FILE", "one of these on each line: set db: SELECT=-50%"},
    {"queues", 0, "HOW", "kept as they were (the default), or replay", "kept replay"},
    {"sweep", 0, "AMOUNT", "what each frame gives that is shorter by 10ms, or by 50%"},
    {"best", 0, "K",
     "the K frames that give most together, shorter by 50%, or --sweep"},
    {"by", 0, "GROUP",
     "what --sweep and --best make shorter: the work of a service (the default if it "
     "is inferred who waited), of an operation, or one frame (otherwise)",
     "service operation frame"},
    {"output", 'o', "FILE",
     "write the new paths as a path log, for cpt report, folded, diff"},
    {"check", 0, NULL,
     "compare what is predicted for NEW from BASE, two files or folders of spans"},
    {"service", 0, "SERVICE",
     "of --check: whose times of NEW are put into BASE; '*': those of all"},
    {"top", 't', "COUNT", "of --check: rows to print as text; default: 20"},
    CPTI_WAITS_OPTION,
    {"json", 'j', NULL, "print one JSON object with rows"},
    CPTI_CAPPED_OPTION("the frames that change most"),
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt whatif --set 'db: SELECT=-50%' spans/", "if SELECT took half of its time"},
    {"cpt whatif --cap 'db: SELECT<=10ms' --set '*: <network>=0' spans/",
     "no slow SELECT and no network"},
    {"cpt whatif --parallel 'read: get > db: SELECT' spans/",
     "if get called SELECT all at once"},
    {"cpt whatif --workers db=4 spans/", "if db had 4 workers"},
    {"cpt whatif --sweep 50% spans/", "which service is worth most"},
    {"cpt whatif --sweep 10ms --by operation spans/", "which of their operations"},
    {"cpt whatif --set 'ads: pick=0' -o new.cptlog spans/",
     "for cpt report --html new.html new.cptlog"},
    {"cpt whatif --check --service cart before/ after/",
     "whether cart's new times explain the new latency"},
    {0},
};

const struct cpti_command cpti_command_whatif = {
    .name = "whatif",
    .summary = "print the latency that requests would have had",
    .group = CPTI_FIX,
    .question = "How fast were the same requests with other times or workers?",
    .needs = "graph logs of services, or spans",
    .usages = {"[TERM]... [OPTION]... FILE...", "--sweep AMOUNT [TERM]... FILE...",
               "--best K [--sweep AMOUNT] [TERM]... FILE...",
               "--check --service SERVICE BASE NEW"},
    .options = {options, cpti_view_options, cpti_select_options},
    .relations = {&cpti_whatif_shifts, &cpti_whatif_gains, &cpti_check_kinds},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    CPTI_KEPT_FOLDERS,
};
