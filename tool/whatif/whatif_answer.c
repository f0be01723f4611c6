/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_answer.c - terms, and what they do; see whatif_answer.h */
#include "tool/whatif/whatif_answer.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/whatif/whatif_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Terms --- */

bool cpti_whatif_verb_of(const char *word, unsigned *verb)
{
    *verb = 0;
    while (cpt_whatif_verb_word(*verb) != NULL &&
           strcmp(cpt_whatif_verb_word(*verb), word) != 0) {
        ++*verb;
    }
    return cpt_whatif_verb_word(*verb) != NULL;
}

int cpti_whatif_take_term(struct cpti_whatif *whatif, const char *text,
                          const struct cpt_whatif_term *term)
{
    if (whatif->term_count == CPT_WHATIF_TERMS_MAX) {
        return cpti_usage("there are more than %d terms", CPT_WHATIF_TERMS_MAX);
    }
    whatif->replays_queues |= term->verb == CPT_WHATIF_WORKERS;
    whatif->terms[whatif->term_count] = *term;
    whatif->texts[whatif->term_count++] = text;
    return CPTI_EXIT_DONE;
}

static int refuse_term(const char *text, const struct cpt_error *error)
{
    return cpti_usage("'%s': %s (at byte %" PRIu64 ")", cpti_quoted(text),
                      error->sentence, error->offset);
}

int cpti_whatif_add_term(struct cpti_whatif *whatif, unsigned verb, const char *text)
{
    struct cpt_whatif_term term;
    struct cpt_error error = {0};

    return cpt_whatif_term_read(verb, cpt_bytes_of(text), &term, &error) == CPT_OK
               ? cpti_whatif_take_term(whatif, text, &term)
               : refuse_term(text, &error);
}

int cpti_whatif_add_line(struct cpti_whatif *whatif, const char *line)
{
    struct cpt_whatif_term term;
    struct cpt_error error = {0};

    line += strspn(line, " \t");
    if (line[0] == '\0' || line[0] == '#') {
        return CPTI_EXIT_DONE;
    }
    return cpt_whatif_line_read(cpt_bytes_of(line), &term, &error) == CPT_OK
               ? cpti_whatif_take_term(whatif, line, &term)
               : refuse_term(line, &error);
}

int cpti_whatif_add_lines(struct cpti_whatif *whatif, char *text)
{
    int status = CPTI_EXIT_DONE;

    while (text != NULL && status == CPTI_EXIT_DONE) {
        char *end = strchr(text, '\n');

        if (end != NULL) {
            *end = '\0';
        }
        text[strcspn(text, "\r")] = '\0';
        status = cpti_whatif_add_line(whatif, text);
        text = end != NULL ? end + 1 : NULL;
    }
    return status;
}

/* --- The answer --- */

/* What is asked about the requests of a plan. */
struct survey {
    const struct cpti_whatif_set *set;
    struct cpt_whatif_plan *plan;
    uint64_t *latency_ns;            /* of each request */
    double *mean_ns;                 /* of each frame, on the paths; 0 before */
    struct cpti_whatif_doubt *doubt; /* of the latencies; NULL: not wanted */
    struct cpti_whatif_tree *tree;   /* of the paths; NULL: not wanted */
    unsigned side;                   /* of the tree */
};

/* Visits each request once. */
static cpt_status survey_all(const struct survey *survey)
{
    const struct cpti_whatif_set *set = survey->set;
    const size_t frames = cpt_whatif_frame_count(set->whatif);
    uint64_t *time_ns = calloc(frames + 1, sizeof *time_ns);
    cpt_status status = time_ns != NULL ? CPT_OK : CPT_NO_MEMORY;
    double weights = 0;

    for (size_t i = 0; i < set->count; i++) {
        weights += set->weight[i];
    }
    for (size_t i = 0; i < set->count && status == CPT_OK; i++) {
        memset(time_ns, 0, frames * sizeof *time_ns);
        status = cpt_whatif_run(survey->plan, i, 1, &survey->latency_ns[i]);
        status = CPTI_THEN(status, cpt_whatif_times(survey->plan, i, time_ns));
        if (status == CPT_OK && survey->doubt != NULL) {
            status = cpti_whatif_doubt_add(survey->doubt, set, survey->plan, i,
                                           survey->latency_ns[i]);
        }
        if (status == CPT_OK && survey->tree != NULL) {
            status = cpti_whatif_tree_add(survey->tree, set, survey->plan, i,
                                          set->weight[i] / weights, survey->side);
        }
        for (size_t k = 0; k < frames; k++) {
            if (time_ns[k] != 0) {
                survey->mean_ns[k] += set->weight[i] * (double)time_ns[k] / weights;
            }
        }
    }
    free(time_ns);
    return status;
}

double *cpti_whatif_recorded_times(const struct cpti_whatif_set *set,
                                   struct cpti_whatif_tree *tree)
{
    struct survey survey = {.set = set, .tree = tree, .side = CPTI_WHATIF_BEFORE};
    cpt_status status = CPT_NO_MEMORY;

    if (cpti_whatif_plan(set, NULL, NULL, 0, false, &survey.plan) != CPTI_EXIT_DONE) {
        return NULL;
    }
    survey.mean_ns =
        calloc(cpt_whatif_frame_count(set->whatif) + 1, sizeof *survey.mean_ns);
    survey.latency_ns = calloc(set->count + 1, sizeof *survey.latency_ns);
    if (survey.mean_ns != NULL && survey.latency_ns != NULL) {
        status = survey_all(&survey);
    }
    cpt_whatif_plan_free(survey.plan);
    free(survey.latency_ns);
    if (status != CPT_OK) {
        (void)cpti_failed("%s", cpt_status_sentence(status));
        free(survey.mean_ns);
        return NULL;
    }
    return survey.mean_ns;
}

static int by_change(const void *left, const void *right)
{
    const struct cpti_whatif_shift *a = left;
    const struct cpti_whatif_shift *b = right;
    const double one = fabs(a->after_ns - a->before_ns);
    const double other = fabs(b->after_ns - b->before_ns);

    if (one < other || one > other) {
        return one > other ? -1 : 1;
    }
    if (a->before_ns < b->before_ns || a->before_ns > b->before_ns) {
        return a->before_ns > b->before_ns ? -1 : 1;
    }
    return (a->frame > b->frame) - (a->frame < b->frame);
}

/* Requests that a replay of queues does not give back without a change: where things
 * happened in the same nanosecond. */
static cpt_status count_others(struct cpti_whatif *whatif, struct cpt_whatif_plan *plan)
{
    cpt_status status = cpt_whatif_run(plan, 0, whatif->set->count, whatif->after_ns);

    for (size_t i = 0; i < whatif->set->count && status == CPT_OK; i++) {
        whatif->other_count += whatif->after_ns[i] != whatif->set->recorded_ns[i];
    }
    return status;
}

/* Before, with no terms: as recorded. */
static int survey_before(struct cpti_whatif *whatif)
{
    struct cpt_whatif_plan *plan = NULL;
    double *own = whatif->before_ns == NULL
                      ? cpti_whatif_recorded_times(whatif->set, NULL)
                      : NULL;
    const double *before_ns = own != NULL ? own : whatif->before_ns;
    int status = before_ns != NULL ? CPTI_EXIT_DONE : CPTI_EXIT_FAILED;

    for (size_t k = 0; k < whatif->shift_count && status == CPTI_EXIT_DONE; k++) {
        whatif->shifts[k].before_ns = before_ns[k];
    }
    free(own);
    if (status == CPTI_EXIT_DONE && whatif->replays_queues) {
        status = cpti_whatif_plan(whatif->set, NULL, NULL, 0, true, &plan);
        if (status == CPTI_EXIT_DONE && count_others(whatif, plan) != CPT_OK) {
            status = cpti_failed("out of memory");
        }
        cpt_whatif_plan_free(plan);
    }
    return status;
}

/* Latencies, times of frames and paths, after. */
static cpt_status survey_plan(struct cpti_whatif *whatif, struct cpt_whatif_plan *plan)
{
    const struct survey survey = {
        .set = whatif->set,
        .plan = plan,
        .latency_ns = whatif->after_ns,
        .mean_ns = calloc(whatif->shift_count + 1, sizeof *survey.mean_ns),
        .doubt = &whatif->doubt,
        .tree = whatif->tree,
        .side = CPTI_WHATIF_AFTER};
    const cpt_status status =
        survey.mean_ns != NULL ? survey_all(&survey) : CPT_NO_MEMORY;

    for (size_t k = 0; k < whatif->shift_count && status == CPT_OK; k++) {
        whatif->shifts[k].after_ns = survey.mean_ns[k];
    }
    free(survey.mean_ns);
    return status;
}

static cpt_status note_workers(struct cpti_whatif *whatif,
                               const struct cpt_whatif_plan *plan)
{
    const size_t count = cpt_whatif_executor_count(whatif->set->whatif);

    if (!whatif->replays_queues) {
        return CPT_OK;
    }
    whatif->workers = calloc(count + 1, sizeof *whatif->workers);
    for (size_t i = 0; i < count && whatif->workers != NULL; i++) {
        whatif->workers[i] = cpt_whatif_workers(plan, i);
    }
    return whatif->workers != NULL ? CPT_OK : CPT_NO_MEMORY;
}

static int survey_after(struct cpti_whatif *whatif)
{
    struct cpt_whatif_plan *plan = NULL;
    cpt_status status = CPT_OK;
    int exit_status =
        cpti_whatif_plan(whatif->set, whatif->terms, whatif->texts, whatif->term_count,
                         whatif->replays_queues, &plan);

    if (exit_status != CPTI_EXIT_DONE) {
        return exit_status;
    }
    whatif->doubt.lists_waits = true;
    status = survey_plan(whatif, plan);
    status = CPTI_THEN(status, note_workers(whatif, plan));
    whatif->counts = cpt_whatif_counts(plan);
    if (status == CPT_OK &&
        !cpti_whatif_compare(&whatif->order, whatif->after_ns, true, &whatif->stats)) {
        status = CPT_NO_MEMORY;
    }
    cpti_whatif_doubt_judge(&whatif->doubt,
                            whatif->stats.rows[CPTI_WHATIF_MEAN].before_ns,
                            whatif->stats.rows[CPTI_WHATIF_MEAN].change_ns);
    exit_status = status == CPT_OK ? CPTI_EXIT_DONE
                                   : cpti_failed("%s", cpt_status_sentence(status));
    if (exit_status == CPTI_EXIT_DONE && whatif->output != NULL) {
        exit_status = cpti_whatif_log(whatif->set, plan, whatif->output);
    }
    cpt_whatif_plan_free(plan);
    return exit_status;
}

static void drop_empty(struct cpti_whatif *whatif)
{
    size_t count = 0;

    for (size_t i = 0; i < whatif->shift_count; i++) {
        if (whatif->shifts[i].before_ns > 0 || whatif->shifts[i].after_ns > 0) {
            whatif->shifts[count++] = whatif->shifts[i];
        }
    }
    whatif->shift_count = count;
    if (count != 0) {
        qsort(whatif->shifts, count, sizeof *whatif->shifts, by_change);
    }
}

int cpti_whatif_open(struct cpti_whatif *whatif)
{
    const struct cpti_whatif_set *set = whatif->set;

    whatif->shift_count = cpt_whatif_frame_count(set->whatif);
    whatif->shifts = calloc(whatif->shift_count + 1, sizeof *whatif->shifts);
    whatif->after_ns = calloc(set->count + 1, sizeof *whatif->after_ns);
    if (whatif->shifts == NULL || whatif->after_ns == NULL ||
        !cpti_whatif_order_init(&whatif->order, set->recorded_ns, set->weight,
                                set->count)) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < whatif->shift_count; i++) {
        whatif->shifts[i].frame = (uint32_t)i;
    }
    return CPTI_EXIT_DONE;
}

int cpti_whatif_answer(struct cpti_whatif *whatif)
{
    int status = survey_before(whatif);

    status = CPTI_THEN(status, survey_after(whatif));
    drop_empty(whatif);
    return status;
}

void cpti_whatif_free(struct cpti_whatif *whatif)
{
    if (whatif == NULL) {
        return;
    }
    for (size_t i = 0; i < CPT_WHATIF_TERMS_MAX; i++) {
        free(whatif->owned[i]);
    }
    cpti_whatif_order_deinit(&whatif->order);
    cpti_whatif_doubt_deinit(&whatif->doubt);
    free(whatif->workers);
    free(whatif->after_ns);
    free(whatif->shifts);
    free(whatif->gains);
    free(whatif->file);
    free(whatif);
}
