/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_manual_mistakes.c - mistakes in what code tells of its request: they have no
 * effect, least of all on the process */
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_manual.h"

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

/* Ends it and compares the path. */
static void expect(struct cpt_manual *manual, const char *expected)
{
    (void)cpt_manual_end(manual);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cpt_manual_path(manual));
    CU_ASSERT_STRING_EQUAL(path_text(cpt_manual_path(manual)), expected);
}

/* Leaves without an enter, ends without a begin: no effect, but they are counted. */
static void test_unbalanced(void)
{
    const struct cpt_inbound inbound = inbound_with("1");
    struct cpt_manual_call *call = NULL;
    struct cpt_manual *manual = NULL;
    uint64_t before = 0;

    open_pair(always, never);
    before = cpt_misuse_count();
    manual = cpt_manual_new(pair.a, &inbound);
    cpt_manual_leave(manual);
    cpt_manual_wait_end(manual);
    spend(1);
    cpt_manual_enter(manual, "search");
    spend(2);
    cpt_manual_leave(manual);
    cpt_manual_leave(manual);
    cpt_manual_wait_begin(manual);
    cpt_manual_wait_begin(manual);
    call = cpt_manual_call_begin(manual, "B: /look");
    cpt_manual_leave(manual); /* within a wait, too */
    spend(4);
    cpt_manual_call_end(manual, call, NULL);
    cpt_manual_call_end(manual, call, NULL);
    cpt_manual_call_end(manual, NULL, NULL);
    cpt_manual_wait_end(manual);
    cpt_manual_wait_end(manual);
    cpt_manual_enter(manual, "rank");
    cpt_manual_leave(manual);
    cpt_manual_leave(manual);
    spend(8);
    expect(manual, "A: / 1, A: /;A: search 2, "
                   "A: /;B: /look;B: \u2039blind spot\u203a 4, A: / 8");
    CU_ASSERT_EQUAL(cpt_misuse_count() - before, 4);
    CU_ASSERT_TRUE(cpt_manual_end(manual).bytes > 0);
    cpt_manual_leave(manual); /* after the end nothing is told any more */
    CU_ASSERT_EQUAL(cpt_misuse_count() - before, 4);
    cpt_manual_free(manual, 200);
    close_pair();
}

/* Names that are empty or NULL: what has none is unnamed. */
static void test_without_names(void)
{
    static const struct cpt_manual_reply empty = {.metadata_text = {"", 0},
                                                  .metadata = {NULL, 0}};
    static const struct cpt_manual_failure why = {.struct_bytes = sizeof why,
                                                  .sentence = ""};
    struct cpt_inbound inbound = inbound_with("1");
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;
    struct cpt_manual *manual = NULL;

    open_pair(always, never);
    inbound.method = (struct cpt_bytes){NULL, 0};
    manual = cpt_manual_new(pair.a, &inbound);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? NULL : "";
        struct cpt_manual_call *call = NULL;

        cpt_manual_enter(manual, name);
        spend(1);
        call = cpt_manual_call_begin(manual, name);
        CU_ASSERT_TRUE(cpt_manual_call_ask(manual, call).bytes > 0);
        cpt_manual_wait_begin(manual);
        spend(2);
        cpt_manual_call_end(manual, call, &empty);
        cpt_manual_wait_end(manual);
        cpt_manual_leave(manual);
        cpt_manual_set_text(manual, name, "value");
        cpt_manual_set_text(manual, "key", name);
    }
    expect(manual, "A: unnamed;A: unnamed 1, "
                   "A: unnamed;A: unnamed;unnamed;A: \u2039blind spot\u203a 2, "
                   "A: unnamed;A: unnamed 1, "
                   "A: unnamed;A: unnamed;unnamed;A: \u2039blind spot\u203a 2");
    CU_ASSERT_TRUE(cpt_manual_end(manual).bytes > 0);
    cpt_manual_fail(manual, pair.a, &why);
    cpt_manual_free(manual, 200);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_PTR_NULL(cpt_record_attribute(&record, cpt_bytes_of("")));
    CU_ASSERT_PTR_NOT_NULL(cpt_record_attribute(&record, cpt_bytes_of("key")));
    cpt_log_reader_free(reader);
    cpt_manual_fail(NULL, pair.a, &why);
    cpt_manual_fail(NULL, pair.a, NULL);
    close_pair();
}

extern CU_TestInfo cpt_manual_mistakes_tests[];
CU_TestInfo cpt_manual_mistakes_tests[] = {
    {"a leave without an enter, an end without a begin", test_unbalanced},
    {"names that are empty or NULL", test_without_names},
    CU_TEST_INFO_NULL,
};
