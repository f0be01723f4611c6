/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* question.c - a selection as a question to a database; see question.h */
#include "cpt/cli/store/question.h"

#include "cpt/cli/base/output.h"
#include "aggregate/cpt_tree.h"

#include <stdlib.h>

int cpti_store_exit_status(const char *address, cpt_status status,
                           const struct cpt_error *error)
{
    if (status == CPT_OK) {
        return CPTI_EXIT_DONE;
    }
    return cpti_failed("%s: %s", cpti_quoted(address),
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

/* In the order of enum cpti_subject. */
static const unsigned char fields[] = {
    [CPTI_SUBJECT_SERVICE] = CPTI_STORE_SERVICE,
    [CPTI_SUBJECT_METHOD] = CPTI_STORE_METHOD,
    [CPTI_SUBJECT_ENTRY] = CPTI_STORE_ENTRY,
    [CPTI_SUBJECT_STATUS] = CPTI_STORE_STATUS,
    [CPTI_SUBJECT_FORCED] = CPTI_STORE_FORCED,
    [CPTI_SUBJECT_RANDOM] = CPTI_STORE_RANDOM,
    [CPTI_SUBJECT_FAILED] = CPTI_STORE_FAILED,
    [CPTI_SUBJECT_LOCAL_ROOT] = CPTI_STORE_LOCAL_ROOT,
    [CPTI_SUBJECT_TRACE_ID] = CPTI_STORE_TRACE_ID,
    [CPTI_SUBJECT_LATENCY] = CPTI_STORE_LATENCY,
    [CPTI_SUBJECT_START] = CPTI_STORE_START,
    [CPTI_SUBJECT_ATTRIBUTE] = CPTI_STORE_ATTRIBUTE,
    [CPTI_SUBJECT_PATH] = CPTI_STORE_STACK,
};

static const unsigned char relations[] = {
    [CPTI_RELATION_EQUAL] = CPTI_STORE_EQUAL,
    [CPTI_RELATION_NOT_EQUAL] = CPTI_STORE_NOT_EQUAL,
    [CPTI_RELATION_LESS] = CPTI_STORE_LESS,
    [CPTI_RELATION_AT_MOST] = CPTI_STORE_AT_MOST,
    [CPTI_RELATION_GREATER] = CPTI_STORE_GREATER,
    [CPTI_RELATION_AT_LEAST] = CPTI_STORE_AT_LEAST,
    [CPTI_RELATION_IN] = CPTI_STORE_IN,
    [CPTI_RELATION_NOT_IN] = CPTI_STORE_NOT_IN,
    [CPTI_RELATION_HAS] = CPTI_STORE_HAS,
};

static const unsigned char numbers[] = {
    [CPTI_NUMBER_NONE] = CPTI_STORE_NUMBER_NONE,
    [CPTI_NUMBER_INTEGER] = CPTI_STORE_NUMBER_INTEGER,
    [CPTI_NUMBER_REAL] = CPTI_STORE_NUMBER_REAL,
    [CPTI_NUMBER_FLOAT_ONLY] = CPTI_STORE_NUMBER_FLOAT_ONLY,
};

static const unsigned char signs[] = {
    [CPTI_SIGN_TEST] = CPTI_STORE_TERM,   [CPTI_SIGN_OPEN] = CPTI_STORE_OPEN,
    [CPTI_SIGN_CLOSE] = CPTI_STORE_CLOSE, [CPTI_SIGN_AND] = CPTI_STORE_AND,
    [CPTI_SIGN_OR] = CPTI_STORE_OR,       [CPTI_SIGN_NOT] = CPTI_STORE_NOT,
};

static void take_value(const struct cpti_expression *expression, size_t index,
                       struct cpti_question *made)
{
    const struct cpti_value *value = &expression->values[index];
    const struct cpt_bytes text = {expression->texts + value->text_at,
                                   value->text_bytes};

    made->frames[index] = (struct cpti_store_frame){text, value->is_shown};
    made->values[index] = (struct cpti_store_value){
        .text = text,
        .number = numbers[value->number],
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
    const size_t count = cpti_expression_write(expression, is_population, made->signs);

    for (size_t i = 0; i < expression->value_count; i++) {
        take_value(expression, i, made);
    }
    for (size_t i = 0; i < expression->test_count; i++) {
        const struct cpti_test *test = &expression->tests[i];

        made->terms[i] = (struct cpti_store_term){
            .field = fields[test->subject],
            .relation = relations[test->relation],
            .key = cpti_expression_key(expression, i),
            .values = &made->values[test->value + test->frame_count],
            .value_count = test->value_count,
            .frames = &made->frames[test->value],
            .frame_count = test->frame_count,
        };
    }
    for (size_t i = 0; i < count; i++) {
        made->parts[i] =
            (struct cpti_store_part){signs[made->signs[i].sign], made->signs[i].test};
    }
    made->question.terms = made->terms;
    made->question.term_count = expression->test_count;
    made->question.parts = made->parts;
    made->question.part_count = count;
}

struct cpti_question *cpti_question_new(const struct cpti_selection *selection,
                                        bool is_population)
{
    struct cpti_question *made = calloc(1, sizeof *made);

    if (made == NULL) {
        (void)cpti_failed("out of memory");
        return NULL;
    }
    made->question = (struct cpti_store_question){
        .since_ns = selection->since_ns,
        .until_ns = selection->until_ns,
        .includes_forced = selection->includes_forced,
        .includes_local_roots = selection->includes_local_roots,
        .weighs_all_one = selection->includes_forced && !selection->is_random_only,
    };
    if (selection->entry != NULL) {
        made->question.entry = cpt_bytes_of(selection->entry);
    }
    take_expression(&selection->expression, is_population, made);
    return made;
}

uint64_t cpti_question_weight(const struct cpti_store_question *question,
                              const struct cpti_store_row *row)
{
    return question->weighs_all_one ? CPT_WEIGHT_ONE : row->weight;
}
