/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* question.c - a selection as a question to a database; see question.h */
#include "tool/store/question.h"

#include "tool/base/names.h"
#include "tool/base/output.h"
#include "aggregate/cpt_tree.h"

#include <stdlib.h>

int cpti_store_exit_status(const char *address, cpt_status status,
                           const struct cpt_error *error)
{
    if (status == CPT_OK) {
        return CPTI_EXIT_DONE;
    }
    return cpti_failed_at((struct cpti_at){.file = cpti_quoted(address)}, "%s",
                          error->sentence[0] != '\0' ? error->sentence
                                                     : cpt_status_sentence(status));
}

int cpti_store_open_operand(const char *address, struct cpti_store **store)
{
    struct cpt_error error = {0};
    const cpt_status status = cpti_store_open(address, store, &error);

    return status == CPT_INVALID
               ? cpti_usage("%s: %s", cpti_quoted(address), error.sentence)
               : cpti_store_exit_status(address, status, &error);
}

/* --- The question --- */

static void take_value(const struct cpti_expression *expression, size_t index,
                       struct cpti_question *made)
{
    const struct cpti_value *value = &expression->values[index];
    const struct cpt_bytes text = cpti_expression_text(expression, value);

    made->frames[index] = (struct cpti_store_frame){text, value->is_shown};
    made->values[index] = (struct cpti_store_value){
        .text = text,
        .number = value->number,
        .truth = value->truth,
        .is_simple = value->is_simple,
        .reads_texts = value->is_number,
        .integer = value->integer,
        .real = value->real,
        .ns = value->percentile >= 0
                  ? expression->percentiles[value->percentile].latency_ns
                  : value->ns,
    };
}

static void take_expression(const struct cpti_expression *expression,
                            bool is_population, struct cpti_question *made)
{
    for (size_t i = 0; i < expression->value_count; i++) {
        take_value(expression, i, made);
    }
    for (size_t i = 0; i < expression->test_count; i++) {
        const struct cpti_test *test = &expression->tests[i];

        made->terms[i] = (struct cpti_store_term){
            .subject = test->subject,
            .relation = test->relation,
            .key = cpti_expression_key(expression, i),
            .values = &made->values[test->value + test->frame_count],
            .value_count = test->value_count,
            .frames = &made->frames[test->value],
            .frame_count = test->frame_count,
        };
    }
    made->question.terms = made->terms;
    made->question.term_count = expression->test_count;
    made->question.signs = made->signs;
    made->question.sign_count =
        cpti_expression_write(expression, is_population, made->signs);
}

struct cpti_question *cpti_question_new(const struct cpti_selection *selection,
                                        bool is_population)
{
    struct cpti_question *made = calloc(1, sizeof *made);

    if (made == NULL) {
        (void)cpti_failed("out of memory");
        return NULL;
    }
    if (selection->has_evidence) {
        (void)cpti_failed("a database is not asked for --evidence" CPTI_HINT
                          "without it, 'cpt "
                          "log' and logs have it");
        free(made);
        return NULL;
    }
    made->question = (struct cpti_store_question){
        .since_ns = selection->since_ns,
        .until_ns = selection->until_ns,
        .includes_forced = selection->includes_forced,
        .includes_fragments = selection->includes_fragments,
        .includes_local_roots = selection->includes_local_roots,
        .weighs_all_one = selection->includes_forced && !selection->is_random_only,
    };
    if (selection->entry != NULL) {
        made->question.entry = cpt_bytes_of(selection->entry);
        made->question.shown.data = made->shown;
        made->question.shown.bytes =
            cpti_name_shown(made->question.entry, made->shown, sizeof made->shown);
    }
    take_expression(&selection->expression, is_population, made);
    return made;
}

uint64_t cpti_question_weight(const struct cpti_store_question *question,
                              const struct cpti_store_row *row)
{
    return question->weighs_all_one ? CPT_WEIGHT_ONE : row->weight;
}
