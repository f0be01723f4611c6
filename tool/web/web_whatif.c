/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_whatif.c - see web_whatif.h
 *
 * What does not depend on terms is found once: the times of frames on the critical
 * paths as recorded, the tree of these paths, and which frames have sliders.
 */
#include "tool/web/web_whatif.h"

#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/output.h"
#include "tool/web/web_whatif_page.h"
#include "tool/whatif/whatif_print.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The most frames of an answer. */
enum { FRAMES_MAX = 1000 };

struct cpti_web_whatif {
    struct cpti_whatif_set set;
    double *before_ns; /* of each frame */
    struct cpti_whatif_tree before;
    struct cpti_web_sliders sliders;
};

/* --- Reading --- */

static bool prepare(struct cpti_web_whatif *whatif)
{
    cpt_status status = CPT_NO_MEMORY;

    if (cpti_whatif_tree_init(&whatif->before)) {
        whatif->before_ns = cpti_whatif_recorded_times(&whatif->set, &whatif->before);
        if (whatif->before_ns == NULL) {
            return false; /* it was printed */
        }
        status =
            cpti_web_sliders_choose(&whatif->sliders, &whatif->set, whatif->before_ns);
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

/* "share:C: C1" is "set C: C1=50%", unless it is 100: of a slider exactly what it
 * names, of others what is like it. enum cpti_exit. */
static int add_share(struct cpti_whatif *answer, struct cpti_web_sliders *sliders,
                     const struct cpti_web_parameter *parameter)
{
    const char *name = parameter->name + strlen(share_prefix);
    const size_t bytes = strlen(name) + sizeof "=200%";
    const size_t at = cpti_web_slider_find(sliders, answer->set, name);
    struct cpt_whatif_term term;
    char *text = NULL;
    char *end = NULL;
    const unsigned long percent = strtoul(parameter->value, &end, 10);

    if (*end != '\0' || percent > 200 || parameter->value[0] == '-') {
        return cpti_usage("parameter '%s' takes a number from 0 to 200",
                          cpti_quoted(parameter->name));
    }
    if (at < sliders->count) {
        sliders->all[at].percent = (unsigned)percent;
    }
    if (percent == 100) {
        return CPTI_EXIT_DONE;
    }
    text = malloc(bytes);
    if (text == NULL) {
        return cpti_failed("out of memory");
    }
    (void)snprintf(text, bytes, "%s=%u%%", name, (unsigned)percent);
    answer->owned[answer->term_count] = text; /* there are fewer parameters than room */
    if (at == sliders->count) {
        return cpti_whatif_add_term(answer, CPT_WHATIF_SET, text);
    }
    term = cpti_web_slider_term(sliders, answer->set, at);
    return cpti_whatif_take_term(answer, text, &term);
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
                     struct cpti_web_sliders *sliders)
{
    const char *lines = cpti_web_query_value(query, "terms");
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < query->count && status == CPTI_EXIT_DONE; i++) {
        const struct cpti_web_parameter *parameter = &query->parameters[i];

        if (strncmp(parameter->name, share_prefix, strlen(share_prefix)) == 0) {
            status = add_share(answer, sliders, parameter);
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
    struct cpti_web_sliders sliders;
    const char *terms = cpti_web_query_value(query, "terms");
    struct cpti_web_whatif_page page = {
        .sliders = &sliders, .terms = terms != NULL ? terms : "", .token = token};
    struct cpti_whatif *answer = NULL;
    int status = CPTI_EXIT_DONE;

    if (whatif == NULL) {
        return cpti_failed("there are no kept graphs: give them with '--graphs'");
    }
    answer = answer_new(whatif);
    if (answer == NULL) {
        return CPTI_EXIT_FAILED;
    }
    sliders = whatif->sliders;
    status = read_form(query, answer, &sliders);
    status = CPTI_THEN(status, put_page(whatif, answer, &page, file));
    cpti_whatif_free(answer);
    return status;
}
