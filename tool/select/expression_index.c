/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_index.c - whether a block of a log can hold a record that is selected
 *
 * For each block, an index holds the ranges of its records' times and latencies, their
 * entry services and their keys. So for each test we know whether it may hold for a
 * record of the block, and whether it may not hold. We walk the chain along these
 * outcomes:
 *
 *      has(page) --may--> latency > 20ms --never--> selected
 *          '----may not---------'-----may not-----> not selected
 *
 * If the walk cannot reach "selected", no record of the block can. Tests are treated as
 * independent, so the answer errs on one side only: a block may be read although it
 * holds no selected record.
 *
 * To find its outcomes, a test is run on records made for the purpose. A time is
 * compared with one value, so the ends of the range, and the value if it lies between
 * them, stand for the whole range.
 */
#include "tool/select/expression.h"

#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

/* The possible outcomes of a test. */
enum { MAY_HOLD = 1, MAY_NOT_HOLD = 2, MAY_BE_EITHER = 3 };

/* A test, and the block that it is judged for. */
struct block_test {
    const struct cpti_expression *expression;
    const struct cpt_log_index *index;
    const struct cpt_log_index_block *block;
    size_t test;
};

static unsigned outcome(const struct block_test *asked, const struct cpt_record *record)
{
    return cpti_expression_test(asked->expression, asked->test, record, NULL)
               ? MAY_HOLD
               : MAY_NOT_HOLD;
}

/* --- Times --- */

static unsigned time_outcome(const struct block_test *asked, uint64_t ns)
{
    const struct cpt_record record = {.start_unix_ns = ns, .latency_ns = ns};

    return outcome(asked, &record);
}

/* The outcomes for the times from @least_ns to @most_ns. */
static unsigned range_outcomes(const struct block_test *asked, uint64_t least_ns,
                               uint64_t most_ns)
{
    const struct cpti_expression *expression = asked->expression;
    const struct cpti_test *test = &expression->tests[asked->test];
    unsigned outcomes = time_outcome(asked, least_ns) | time_outcome(asked, most_ns);

    for (size_t i = 0; i < test->value_count && outcomes != MAY_BE_EITHER; i++) {
        const struct cpti_value *value = &expression->values[test->value + i];
        const uint64_t ns = value->percentile < 0
                                ? value->ns
                                : expression->percentiles[value->percentile].latency_ns;

        if (ns >= least_ns && ns <= most_ns) {
            outcomes |= time_outcome(asked, ns);
        }
    }
    return outcomes;
}

/* --- Names --- */

static unsigned service_outcomes(const struct block_test *asked)
{
    const uint64_t set = asked->block->services;
    const size_t count = cpt_log_index_service_count(asked->index);
    unsigned outcomes = 0;

    if (set == 0 || (set & CPT_LOG_INDEX_OTHERS) != 0) {
        return MAY_BE_EITHER;
    }
    for (size_t i = 0; i < count; i++) {
        const struct cpt_record record = {.service =
                                              cpt_log_index_service(asked->index, i)};

        outcomes |= (set >> i & 1U) != 0 ? outcome(asked, &record) : 0;
    }
    /* a bit without a name may be any service */
    return outcomes == 0 || set >> count != 0 ? MAY_BE_EITHER : outcomes;
}

/* No comparison holds for a missing attribute. */
static unsigned key_outcomes(const struct block_test *asked)
{
    const struct cpt_bytes key = cpti_expression_key(asked->expression, asked->test);
    const uint64_t set = cpt_log_index_key_set(asked->index, key);

    return (asked->block->keys & set) == 0 ? MAY_NOT_HOLD : MAY_BE_EITHER;
}

static unsigned test_outcomes(const struct block_test *asked)
{
    const struct cpt_log_index_block *block = asked->block;

    switch (asked->expression->tests[asked->test].subject) {
    case CPTI_SUBJECT_START:
        return range_outcomes(asked, block->start_min_ns, block->start_max_ns);
    case CPTI_SUBJECT_LATENCY:
        return range_outcomes(asked, block->latency_min_ns, block->latency_max_ns);
    case CPTI_SUBJECT_SERVICE:
        return service_outcomes(asked);
    case CPTI_SUBJECT_ATTRIBUTE:
        return key_outcomes(asked);
    default:
        return MAY_BE_EITHER;
    }
}

/* --- The chain --- */

/* The tests still to be judged, each once. */
struct open_tests {
    uint16_t all[CPTI_EXPRESSION_TESTS_MAX];
    bool was_met[CPTI_EXPRESSION_TESTS_MAX];
    size_t count;
};

/* Whether @at is the end "selected". Notes a test that is new. */
static bool reaches_end(struct open_tests *open, uint16_t at)
{
    if (at < CPTI_EXPRESSION_REJECT && !open->was_met[at]) {
        open->was_met[at] = true;
        open->all[open->count++] = at;
    }
    return at == CPTI_EXPRESSION_ACCEPT;
}

bool cpti_expression_may_hold(const struct cpti_expression *expression,
                              const struct cpt_log_index *index,
                              const struct cpt_log_index_block *block)
{
    struct open_tests open = {.count = 0};

    if (expression->test_count == 0 || reaches_end(&open, expression->start)) {
        return true;
    }
    while (open.count != 0) {
        const uint16_t at = open.all[--open.count];
        const struct cpti_test *test = &expression->tests[at];
        const struct block_test asked = {expression, index, block, at};
        unsigned outcomes;

        if (test->subject == CPTI_SUBJECT_PATH) {
            return true; /* a missing or invalid path must be reported, too */
        }
        outcomes = test_outcomes(&asked);
        if (((outcomes & MAY_HOLD) != 0 && reaches_end(&open, test->on_true)) ||
            ((outcomes & MAY_NOT_HOLD) != 0 && reaches_end(&open, test->on_false))) {
            return true;
        }
    }
    return false;
}
