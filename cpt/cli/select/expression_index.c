/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_index.c - whether a block of a log can hold a record that is selected
 *
 * An index says of a block between which times and latencies its records are, which
 * entry services they have, and which keys. From that follows for each test whether it
 * may hold for one of them and whether it may not. What can be reached from the start
 * of the chain by such steps is all that any record of the block can reach:
 *
 *      has(page) --may--> latency > 20ms --never--> selected
 *          '----may not---------'-----may not-----> not selected
 *
 * If that is not the end at which records are selected, none is. Tests are taken one by
 * one, as if they had nothing to do with each other, so the answer errs on one side
 * only: a block may be read in vain.
 *
 * What a test says is asked of the test itself, with records made up for it. A time is
 * compared with one value, so the two ends of a range, and the value if it lies
 * between, stand for all of the range.
 */
#include "cpt/cli/select/expression.h"

#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

/* What may come out of a test. */
enum { MAY_HOLD = 1, MAY_NOT_HOLD = 2, MAY_BE_EITHER = 3 };

/* One test, on one block. */
struct asking {
    const struct cpti_expression *expression;
    const struct cpt_log_index *index;
    const struct cpt_log_index_block *block;
    size_t test;
};

static unsigned ask(const struct asking *asking, const struct cpt_record *record)
{
    return cpti_expression_test(asking->expression, asking->test, record, NULL)
               ? MAY_HOLD
               : MAY_NOT_HOLD;
}

/* --- Times --- */

static unsigned ask_time(const struct asking *asking, uint64_t ns)
{
    const struct cpt_record record = {.start_unix_ns = ns, .latency_ns = ns};

    return ask(asking, &record);
}

/* What may come out for the times from @least_ns to @most_ns. */
static unsigned ask_range(const struct asking *asking, uint64_t least_ns,
                          uint64_t most_ns)
{
    const struct cpti_expression *expression = asking->expression;
    const struct cpti_test *test = &expression->tests[asking->test];
    unsigned outcomes = ask_time(asking, least_ns) | ask_time(asking, most_ns);

    for (size_t i = 0; i < test->value_count && outcomes != MAY_BE_EITHER; i++) {
        const struct cpti_value *value = &expression->values[test->value + i];
        const uint64_t ns = value->percentile < 0
                                ? value->ns
                                : expression->percentiles[value->percentile].latency_ns;

        if (ns >= least_ns && ns <= most_ns) {
            outcomes |= ask_time(asking, ns);
        }
    }
    return outcomes;
}

/* --- Names --- */

static unsigned ask_services(const struct asking *asking)
{
    const uint64_t set = asking->block->services;
    const size_t count = cpt_log_index_service_count(asking->index);
    unsigned outcomes = 0;

    if (set == 0 || (set & CPT_LOG_INDEX_OTHERS) != 0) {
        return MAY_BE_EITHER;
    }
    for (size_t i = 0; i < count; i++) {
        const struct cpt_record record = {.service =
                                              cpt_log_index_service(asking->index, i)};

        outcomes |= (set >> i & 1U) != 0 ? ask(asking, &record) : 0;
    }
    /* a bit that no name belongs to: who knows */
    return outcomes == 0 || set >> count != 0 ? MAY_BE_EITHER : outcomes;
}

/* No relation holds for what is not there. */
static unsigned ask_keys(const struct asking *asking)
{
    const struct cpt_bytes key = cpti_expression_key(asking->expression, asking->test);
    const uint64_t set = cpt_log_index_key_set(asking->index, key);

    return (asking->block->keys & set) == 0 ? MAY_NOT_HOLD : MAY_BE_EITHER;
}

static unsigned ask_test(const struct asking *asking)
{
    const struct cpt_log_index_block *block = asking->block;

    switch (asking->expression->tests[asking->test].subject) {
    case CPTI_SUBJECT_START:
        return ask_range(asking, block->start_min_ns, block->start_max_ns);
    case CPTI_SUBJECT_LATENCY:
        return ask_range(asking, block->latency_min_ns, block->latency_max_ns);
    case CPTI_SUBJECT_SERVICE:
        return ask_services(asking);
    case CPTI_SUBJECT_ATTRIBUTE:
        return ask_keys(asking);
    default:
        return MAY_BE_EITHER;
    }
}

/* --- The chain --- */

/* Tests that are still to be looked at, each once. */
struct open_tests {
    uint16_t all[CPTI_EXPRESSION_TESTS_MAX];
    unsigned char was_met[CPTI_EXPRESSION_TESTS_MAX];
    size_t count;
};

/* Whether going on at @at is the end at which records are selected. */
static int reaches_end(struct open_tests *open, uint16_t at)
{
    if (at < CPTI_EXPRESSION_REJECT && !open->was_met[at]) {
        open->was_met[at] = 1;
        open->all[open->count++] = at;
    }
    return at == CPTI_EXPRESSION_ACCEPT;
}

int cpti_expression_may_hold(const struct cpti_expression *expression,
                             const struct cpt_log_index *index,
                             const struct cpt_log_index_block *block)
{
    struct open_tests open = {.count = 0};

    if (expression->test_count == 0 || reaches_end(&open, expression->start)) {
        return 1;
    }
    while (open.count != 0) {
        const uint16_t at = open.all[--open.count];
        const struct cpti_test *test = &expression->tests[at];
        const struct asking asking = {expression, index, block, at};
        unsigned outcomes;

        if (test->subject == CPTI_SUBJECT_PATH) {
            return 1; /* that there is no path that holds must be said, too */
        }
        outcomes = ask_test(&asking);
        if (((outcomes & MAY_HOLD) != 0 && reaches_end(&open, test->on_true)) ||
            ((outcomes & MAY_NOT_HOLD) != 0 && reaches_end(&open, test->on_false))) {
            return 1;
        }
    }
    return 0;
}
