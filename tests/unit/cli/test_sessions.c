/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_sessions.c - predictions by the last request against a plain model of them
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "tool/folds/sessions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REQUESTS = 300, KEYS = 12, SYSTEMS = 30 };

/* A request; they stand in the order of time. */
struct one {
    unsigned key;
    bool is_above;
};

/* The last request of the same key before number @index, or NULL. */
static const struct one *last_of(const struct one *requests, size_t index)
{
    for (size_t i = index; i-- > 0;) {
        if (requests[i].key == requests[index].key) {
            return &requests[i];
        }
    }
    return NULL;
}

/* Predictions of @predicted that were wrong, and how many could be, of one key. */
static void count_of(const struct one *requests, unsigned key, bool predicted,
                     double *wrong, double *of)
{
    *wrong = *of = 0;
    for (size_t i = 0; i < REQUESTS; i++) {
        const struct one *last = last_of(requests, i);

        if (requests[i].key == key && last != NULL &&
            requests[i].is_above != predicted) {
            *of += 1;
            *wrong += last->is_above == predicted;
        }
    }
}

static void check_error(const struct one *requests, const struct cpti_sessions *all,
                        bool predicted)
{
    const struct cpti_session_error error = cpti_sessions_error(all, predicted);
    double wrong[KEYS];
    double of[KEYS];
    double sums[2] = {0, 0};
    double squares = 0;
    double keys = 0;

    for (unsigned i = 0; i < KEYS; i++) {
        count_of(requests, i, predicted, &wrong[i], &of[i]);
        sums[0] += wrong[i];
        sums[1] += of[i];
        keys += of[i] > 0;
    }
    CU_ASSERT_EQUAL((double)error.wrong_count, sums[0]);
    CU_ASSERT_EQUAL((double)error.of_count, sums[1]);
    for (unsigned i = 0; i < KEYS; i++) {
        squares += pow(wrong[i] - sums[0] / sums[1] * of[i], 2);
    }
    if (isfinite(error.low) && error.low > 0 && error.high < 1) {
        const double middle = (error.low + error.high) / 2;

        CU_ASSERT_DOUBLE_EQUAL(middle, error.share, 1e-9);
        CU_ASSERT_TRUE((error.high - error.low) / 2 >
                       1.96 * sqrt(keys / (keys - 1) * squares) / sums[1]);
    }
}

/* Requests of users that are mostly above, or mostly not; given in any order. */
static void test_predictions_are_those_of_the_model(void)
{
    struct test_random random = {test_random_seed("sessions")};

    for (int system = 0; system < SYSTEMS; system++) {
        struct one requests[REQUESTS];
        size_t order[REQUESTS];
        struct cpti_sessions all;

        CU_ASSERT_EQUAL(cpti_sessions_init(&all), CPT_OK);
        for (size_t i = 0; i < REQUESTS; i++) {
            requests[i].key = (unsigned)(test_random_below(&random, KEYS));
            requests[i].is_above =
                test_random_chance(&random, 80) == (requests[i].key % 2 == 0);
            order[i] = i;
        }
        for (size_t i = REQUESTS; i-- > 1;) {
            const size_t other = test_random_below(&random, i + 1);
            const size_t kept = order[i];

            order[i] = order[other];
            order[other] = kept;
        }
        for (size_t i = 0; i < REQUESTS; i++) {
            const struct one *one = &requests[order[i]];
            char name[16];

            (void)snprintf(name, sizeof name, "u%u", one->key);
            CU_ASSERT_EQUAL(cpti_sessions_add(&all, cpt_bytes_of(name), 1000 + order[i],
                                              one->is_above),
                            CPT_OK);
        }
        cpti_sessions_judge(&all);
        CU_ASSERT_EQUAL(all.request_count, REQUESTS);
        check_error(requests, &all, true);
        check_error(requests, &all, false);
        cpti_sessions_deinit(&all);
    }
}

/* Keys of many bytes are cut, but told apart; times up to 2^63. */
static void test_large_keys_and_times(void)
{
    static char text[CPTI_SESSION_KEY_MAX + 100];
    struct cpti_sessions all;

    CU_ASSERT_EQUAL(cpti_sessions_init(&all), CPT_OK);
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 4; i++) {
        text[sizeof text - 1] = (char)('a' + i % 2);
        CU_ASSERT_EQUAL(cpti_sessions_add(&all, (struct cpt_bytes){text, sizeof text},
                                          INT64_MAX - (uint64_t)i, i % 2 == 0),
                        CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_sessions_add(&all, (struct cpt_bytes){"", 0}, 0, true),
                    CPT_OK);
    cpti_sessions_judge(&all);
    CU_ASSERT_EQUAL(all.key_count, 3);
    CU_ASSERT_EQUAL(all.known_key_count, 2);
    CU_ASSERT_EQUAL(all.cells[1][1], 1);
    CU_ASSERT_EQUAL(all.cells[0][0], 1);
    CU_ASSERT_EQUAL(all.keys[0].last_unix_ns, INT64_MAX);
    CU_ASSERT_EQUAL(cpti_sessions_text(&all, &all.keys[0]).bytes, CPTI_SESSION_KEY_MAX);
    CU_ASSERT_TRUE(isnan(cpti_sessions_error(&all, 1).low));
    cpti_sessions_deinit(&all);
}

extern CU_TestInfo cpt_sessions_tests[];
CU_TestInfo cpt_sessions_tests[] = {
    {"predictions are those of the model", test_predictions_are_those_of_the_model},
    {"large keys and times", test_large_keys_and_times},
    CU_TEST_INFO_NULL,
};
