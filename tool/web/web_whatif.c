/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_whatif.c - see web_whatif.h
 *
 * What does not depend on terms is found once: the times of frames on the critical
 * paths as recorded, the tree of these paths, and which frames have sliders: those of
 * which half the time would give most.
 */
#include "tool/web/web_whatif.h"

#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/output.h"
#include "tool/web/web_whatif_page.h"
#include "tool/whatif/whatif_print.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The most frames of an answer. */
enum { FRAMES_MAX = 1000, SLIDERS_MAX = 12 };

/* Frames x nodes and edges up to which all frames are tried: some seconds. */
static const double sweep_parts_max = 1e9;

struct cpti_web_whatif {
    struct cpti_whatif_set set;
    double *before_ns; /* of each frame */
    struct cpti_whatif_tree before;
    struct cpti_web_slider sliders[SLIDERS_MAX];
    size_t slider_count;
};

/* --- Reading --- */

static void add_slider(struct cpti_web_whatif *whatif, uint32_t frame, double gain_ns)
{
    const double path_ns = whatif->before_ns[frame];
    size_t at = whatif->slider_count;

    if (!(path_ns > 0)) {
        return;
    }
    while (at > 0 && whatif->sliders[at - 1].path_ns < path_ns && isnan(gain_ns)) {
        at--;
    }
    if (at == SLIDERS_MAX) {
        return;
    }
    whatif->slider_count += whatif->slider_count < SLIDERS_MAX;
    memmove(&whatif->sliders[at + 1], &whatif->sliders[at],
            (whatif->slider_count - at - 1) * sizeof whatif->sliders[0]);
    whatif->sliders[at] = (struct cpti_web_slider){path_ns, gain_ns, frame, 100};
}

/* The frames with the largest gains; of large graphs those with the most time. */
static cpt_status choose_sliders(struct cpti_web_whatif *whatif)
{
    const struct cpti_whatif_trial trial = {
        .set = &whatif->set, .change = CPT_WHATIF_SCALE, .share = 0.5};
    const size_t frames = cpt_whatif_frame_count(whatif->set.whatif);
    struct cpti_whatif_gain *gains = NULL;
    size_t count = 0;
    cpt_status status = CPT_OK;

    if ((double)frames * (double)whatif->set.part_count > sweep_parts_max) {
        for (uint32_t i = 0; i < frames; i++) {
            add_slider(whatif, i, NAN);
        }
        return CPT_OK;
    }
    status = cpti_whatif_sweep(&trial, &gains, &count);
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        add_slider(whatif, gains[i].frame,
                   0 - gains[i].stats.rows[CPTI_WHATIF_MEAN].change_ns);
    }
    free(gains);
    return status;
}

static bool prepare(struct cpti_web_whatif *whatif)
{
    cpt_status status = CPT_NO_MEMORY;

    if (cpti_whatif_tree_init(&whatif->before)) {
        whatif->before_ns = cpti_whatif_recorded_times(&whatif->set, &whatif->before);
        if (whatif->before_ns == NULL) {
            return false; /* it was printed */
        }
        status = choose_sliders(whatif);
    }
    if (status != CPT_OK) {
        (void)cpti_failed("%s", cpt_status_sentence(status));
    }
    return status == CPT_OK;
}

struct cpti_web_whatif *cpti_web_whatif_new(const char *const *files, size_t count,
                                            uint64_t parts_max)
{
    struct cpti_web_whatif *whatif = calloc(1, sizeof *whatif);

    if (whatif == NULL) {
        (void)cpti_failed("out of memory");
        return NULL;
    }
    /* what is wrong was printed */
    (void)cpti_whatif_set_read(&whatif->set, files, count, false, NULL, parts_max);
    if (whatif->set.count == 0 || !prepare(whatif)) {
        cpti_web_whatif_free(whatif);
        return NULL;
    }
    return whatif;
}

void cpti_web_whatif_free(struct cpti_web_whatif *whatif)
{
    if (whatif != NULL) {
        cpti_whatif_set_deinit(&whatif->set);
        cpti_whatif_tree_deinit(&whatif->before);
        free(whatif->before_ns);
        free(whatif);
    }
}

size_t cpti_web_whatif_count(const struct cpti_web_whatif *whatif)
{
    return whatif != NULL ? whatif->set.count : 0;
}

/* --- Terms --- */

/* Adds the term of @parameter, from which it borrows. enum cpti_exit. */
static int add_parameter(struct cpti_whatif *answer,
                         const struct cpti_web_parameter *parameter)
{
    unsigned verb = 0;

    if (strcmp(parameter->name, "term") == 0) {
        return cpti_whatif_add_line(answer, parameter->value);
    }
    if (cpti_whatif_verb_of(parameter->name, &verb)) {
        return cpti_whatif_add_term(answer, verb, parameter->value);
    }
    return cpti_usage(
        "there is no parameter '%s'; these are known: term set cap cut add "
        "parallel workers",
        cpti_quoted(parameter->name));
}

/* --- The answer --- */

/* Without graphs there is nothing to ask. enum cpti_exit. */
static int put_none(size_t term_count, FILE *file)
{
    struct cpti_json json = {.file = file};

    if (term_count != 0) {
        return cpti_failed("there are no kept graphs: give them with '--graphs'");
    }
    cpti_json_open(&json, NULL, '{');
    cpti_json_unsigned(&json, "requests", 0);
    cpti_json_close(&json);
    return CPTI_EXIT_DONE;
}

/* Room for an answer; NULL with the error printed. */
static struct cpti_whatif *answer_new(const struct cpti_web_whatif *whatif)
{
    struct cpti_whatif *answer = calloc(1, sizeof *answer);

    if (answer == NULL) {
        (void)cpti_failed("out of memory");
        return NULL;
    }
    answer->set = &whatif->set;
    answer->before_ns = whatif->before_ns;
    return answer;
}

int cpti_web_whatif_write(const struct cpti_web_whatif *whatif,
                          const struct cpti_web_query *query, FILE *file)
{
    struct cpti_whatif *answer = NULL;
    int status = CPTI_EXIT_DONE;

    if (whatif == NULL) {
        return put_none(query->count, file);
    }
    answer = answer_new(whatif);
    if (answer == NULL) {
        return CPTI_EXIT_FAILED;
    }
    for (size_t i = 0; i < query->count && status == CPTI_EXIT_DONE; i++) {
        status = add_parameter(answer, &query->parameters[i]);
    }
    status = CPTI_THEN(status, cpti_whatif_open(answer));
    status = CPTI_THEN(status, cpti_whatif_answer(answer));
    if (status == CPTI_EXIT_DONE) {
        cpti_whatif_json(answer, FRAMES_MAX, file);
    }
    cpti_whatif_free(answer);
    return status;
}

/* --- The page --- */

static const char share_prefix[] = "share:";

/* "share:C: C1" is "set C: C1=50%", unless it is 100. enum cpti_exit. */
static int add_share(struct cpti_whatif *answer, struct cpti_web_slider *sliders,
                     size_t slider_count, const struct cpti_web_parameter *parameter)
{
    const char *frame = parameter->name + strlen(share_prefix);
    const size_t bytes = strlen(frame) + sizeof "=200%";
    char name[2 * CPT_NAME_BYTES_MAX];
    char *text = NULL;
    char *end = NULL;
    const unsigned long percent = strtoul(parameter->value, &end, 10);

    if (*end != '\0' || percent > 200 || parameter->value[0] == '-') {
        return cpti_usage("parameter '%s' takes a number from 0 to 200",
                          cpti_quoted(parameter->name));
    }
    for (size_t i = 0; i < slider_count; i++) {
        (void)cpti_whatif_frame_text(answer->set, sliders[i].frame, name);
        if (strcmp(frame, name) == 0) {
            sliders[i].percent = (unsigned)percent;
        }
    }
    if (percent == 100) {
        return CPTI_EXIT_DONE;
    }
    text = malloc(bytes);
    if (text == NULL) {
        return cpti_failed("out of memory");
    }
    (void)snprintf(text, bytes, "%s=%u%%", frame, (unsigned)percent);
    answer->owned[answer->term_count] = text; /* there are fewer parameters than room */
    return cpti_whatif_add_term(answer, CPT_WHATIF_SET, text);
}

/* The lines of a form, which end with CR LF. */
static int add_lines(struct cpti_whatif *answer, const char *lines)
{
    free(answer->file);
    answer->file = calloc(1, strlen(lines) + 1);
    if (answer->file == NULL) {
        return cpti_failed("out of memory");
    }
    for (char *to = answer->file; *lines != '\0'; lines++) {
        if (*lines != '\r') {
            *to++ = *lines;
        }
    }
    return cpti_whatif_add_lines(answer, answer->file);
}

/* Terms and sliders of @query. enum cpti_exit. */
static int read_form(const struct cpti_web_query *query, struct cpti_whatif *answer,
                     struct cpti_web_slider *sliders, size_t slider_count)
{
    const char *lines = cpti_web_query_value(query, "terms");
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < query->count && status == CPTI_EXIT_DONE; i++) {
        const struct cpti_web_parameter *parameter = &query->parameters[i];

        if (strncmp(parameter->name, share_prefix, strlen(share_prefix)) == 0) {
            status = add_share(answer, sliders, slider_count, parameter);
        } else if (strcmp(parameter->name, "terms") != 0) {
            status = add_parameter(answer, parameter);
        }
    }
    return status == CPTI_EXIT_DONE && lines != NULL ? add_lines(answer, lines)
                                                     : status;
}

/* The answer to terms that were read, as a page. enum cpti_exit. */
static int put_page(const struct cpti_web_whatif *whatif, struct cpti_whatif *answer,
                    struct cpti_web_whatif_page *page, FILE *file)
{
    struct cpti_whatif_tree tree;
    const cpt_status copied = cpti_whatif_tree_init(&tree)
                                  ? cpti_whatif_tree_copy(&tree, &whatif->before)
                                  : CPT_NO_MEMORY;
    int status = copied == CPT_OK ? cpti_whatif_open(answer)
                                  : cpti_failed("%s", cpt_status_sentence(copied));

    answer->tree = &tree;
    status = CPTI_THEN(status, cpti_whatif_answer(answer));
    if (status == CPTI_EXIT_DONE) {
        cpti_whatif_tree_sum(&tree);
        page->answer = answer;
        page->tree = &tree;
        cpti_web_whatif_page_write(page, file);
        page->tree = NULL;
    }
    answer->tree = NULL;
    cpti_whatif_tree_deinit(&tree);
    return status;
}

int cpti_web_whatif_page(const struct cpti_web_whatif *whatif,
                         const struct cpti_web_query *query, const char *token,
                         FILE *file)
{
    struct cpti_web_slider sliders[SLIDERS_MAX];
    const char *terms = cpti_web_query_value(query, "terms");
    struct cpti_web_whatif_page page = {
        .sliders = sliders, .terms = terms != NULL ? terms : "", .token = token};
    struct cpti_whatif *answer = NULL;
    int status = CPTI_EXIT_DONE;

    if (whatif == NULL) {
        return cpti_failed("there are no kept graphs: give them with '--graphs'");
    }
    answer = answer_new(whatif);
    if (answer == NULL) {
        return CPTI_EXIT_FAILED;
    }
    page.slider_count = whatif->slider_count;
    memcpy(sliders, whatif->sliders, sizeof sliders);
    status = read_form(query, answer, sliders, page.slider_count);
    status = CPTI_THEN(status, put_page(whatif, answer, &page, file));
    cpti_whatif_free(answer);
    return status;
}
