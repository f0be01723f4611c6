/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform.h - a program in another language, asked and judged
 *
 *      cpt-conformance                       the program
 *       |--- 7 path CAEQoPc2GKD3Nio… ------------>|
 *       |<-- 7 path 0 900000 900000 200000@… -----|      is it the path that we read?
 *
 * Everything that the program sends is input from outside: lines are bounded, waiting
 * is bounded, its end is noticed. It is started again after a crash, a number of times.
 *
 * Threads: one.
 */
#ifndef CPTI_CONFORM_H
#define CPTI_CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is run. */
struct cpti_conform_options {
    const char *command; /* for the shell */
    uint64_t seed;       /* of the random cases */
    uint64_t case_count; /* how many of them, of each kind */
    uint64_t timeout_ns; /* for one answer */
    bool is_json;
    bool is_help;             /* only the usage is printed */
    const char *data_folder;  /* of the cases that are files */
    const char *const *files; /* more bytes to be read as a path */
    size_t file_count;
};

/* Runs the command, prints the result. enum cpti_exit: done if each answer is right. */
int cpti_conform_run(const struct cpti_conform_options *options);

#endif
