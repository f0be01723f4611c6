/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* conform_report.c - see conform_report.h */
#include "tests/interop/conform/conform_report.h"

#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/output.h"
#include "tool/table/table.h"

#include <inttypes.h>

static const struct {
    const char *word;
    const char *about;
} groups[] = {
#define GROUP(name, word, about) {word, about},
    CPTI_CONFORM_GROUP_MAP(GROUP)
#undef GROUP
};

static uint64_t cases_of(const struct cpti_conform_result *result)
{
    uint64_t count = 0;

    for (size_t i = 0; i < CPTI_CONFORM_GROUP_COUNT; i++) {
        count += result->groups[i].case_count;
    }
    return count;
}

static uint64_t right_of(const struct cpti_conform_result *result)
{
    uint64_t count = 0;

    for (size_t i = 0; i < CPTI_CONFORM_GROUP_COUNT; i++) {
        count += result->groups[i].right_count;
    }
    return count;
}

static bool is_passed(const struct cpti_conform_result *result)
{
    return cases_of(result) == right_of(result) && !result->is_given_up &&
           result->end_fault[0] == '\0';
}

static int put_json(const struct cpti_conform_options *options,
                    const struct cpti_conform_result *result)
{
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_json_text(&json, "command", options->command);
    cpti_json_unsigned(&json, "seed", options->seed);
    cpti_json_bool(&json, "passed", is_passed(result));
    cpti_json_unsigned(&json, "cases", cases_of(result));
    cpti_json_unsigned(&json, "right", right_of(result));
    cpti_json_unsigned(&json, "restarts", result->restart_count);
    cpti_json_bool(&json, "given_up", result->is_given_up);
    if (result->end_fault[0] != '\0') {
        cpti_json_text(&json, "end", result->end_fault);
    }
    cpti_json_open(&json, "groups", '[');
    for (size_t i = 0; i < CPTI_CONFORM_GROUP_COUNT; i++) {
        cpti_json_row(&json);
        cpti_json_open(&json, NULL, '{');
        cpti_json_text(&json, "group", groups[i].word);
        cpti_json_unsigned(&json, "cases", result->groups[i].case_count);
        cpti_json_unsigned(&json, "right", result->groups[i].right_count);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
    cpti_json_open(&json, "failures", '[');
    for (size_t i = 0; i < result->failure_count; i++) {
        const struct cpti_conform_failure *failure = &result->failures[i];

        cpti_json_row(&json);
        cpti_json_open(&json, NULL, '{');
        cpti_json_text(&json, "group", groups[failure->group].word);
        cpti_json_text(&json, "case", failure->name);
        cpti_json_text(&json, "detail", failure->detail);
        cpti_json_text(&json, "sent", failure->sent);
        cpti_json_bool(&json, "sent_is_cut", failure->is_cut);
        cpti_json_close(&json);
    }
    cpti_json_close(&json);
    cpti_json_close(&json);
    return CPTI_EXIT_DONE;
}

static int print_table(const struct cpti_conform_result *result)
{
    static const char *const headings[] = {"cases", "right", "group"};
    struct cpti_table table = cpti_table_of(headings, 3);

    for (size_t i = 0; i < CPTI_CONFORM_GROUP_COUNT; i++) {
        cpti_table_cell(&table, "%" PRIu64, result->groups[i].case_count);
        cpti_table_cell(&table, "%" PRIu64, result->groups[i].right_count);
        cpti_table_cell(&table, "%s: %s", groups[i].word, groups[i].about);
    }
    return cpti_table_print(&table);
}

static int print_text(const struct cpti_conform_options *options,
                      const struct cpti_conform_result *result)
{
    const uint64_t wrong_count = cases_of(result) - right_of(result);
    const int status = print_table(result);

    for (size_t i = 0; i < result->failure_count; i++) {
        const struct cpti_conform_failure *failure = &result->failures[i];

        (void)printf("\nwrong: %s\n  %s\n", failure->name, failure->detail);
        (void)printf("  sent: %.160s%s\n", failure->sent,
                     failure->is_cut || failure->sent[160 - 1] != '\0' ? "…" : "");
    }
    if (wrong_count > result->failure_count) {
        (void)printf("\nand %" PRIu64 " more\n", wrong_count - result->failure_count);
    }
    if (result->end_fault[0] != '\0') {
        (void)printf("\nat the end the program %s\n", result->end_fault);
    }
    if (result->is_given_up) {
        (void)printf("\ngiven up: the program was started again %u times\n",
                     result->restart_count);
    }
    (void)printf("\n%s: %" PRIu64 " of %" PRIu64 " answers are right; seed %" PRIu64
                 "\n",
                 is_passed(result) ? "passed" : "failed", right_of(result),
                 cases_of(result), options->seed);
    return status;
}

int cpti_conform_report(const struct cpti_conform_options *options,
                        const struct cpti_conform_result *result)
{
    const int status =
        options->is_json ? put_json(options, result) : print_text(options, result);

    return status == CPTI_EXIT_DONE && !is_passed(result) ? CPTI_EXIT_FAILED : status;
}
