/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* conform_report.h - what a run found out, as text and as JSON. Threads: one. */
#ifndef CPTI_CONFORM_REPORT_H
#define CPTI_CONFORM_REPORT_H

#include "tests/interop/conform/conform_case.h"
#include "tests/interop/conform/conform_program.h"

enum { CPTI_CONFORM_FAILURES_MAX = 20, CPTI_CONFORM_SENT_BYTES = 4096 };

/* A case that failed. */
struct cpti_conform_failure {
    enum cpti_conform_group group;
    char name[CPTI_CONFORM_NAME_BYTES];
    char detail[CPTI_CONFORM_DETAIL_BYTES];
    char sent[CPTI_CONFORM_SENT_BYTES];
    bool is_cut; /* more was sent */
};

struct cpti_conform_result {
    struct {
        uint64_t case_count;
        uint64_t right_count;
    } groups[CPTI_CONFORM_GROUP_COUNT];
    struct cpti_conform_failure failures[CPTI_CONFORM_FAILURES_MAX]; /* the first */
    size_t failure_count;
    unsigned restart_count;
    bool is_given_up;                         /* it was started too often */
    char end_fault[CPTI_CONFORM_FAULT_BYTES]; /* how it ended badly; or empty */
};

/* Prints the result. enum cpti_exit: failed unless each answer was right. */
int cpti_conform_report(const struct cpti_conform_options *options,
                        const struct cpti_conform_result *result);

#endif
