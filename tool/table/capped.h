/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * capped.h - answers of at most a number of bytes, for programs that pay for each byte
 *
 *      cpt report --max-bytes 4k …      the largest rows, and the sum of the others
 *
 * A command prints its answer with a number of rows at most. The largest number whose
 * answer fits is found by trying: 1, 2, 4 … rows until one does not fit, then halves of
 * the last step. So the cost depends on the bytes, not on the number of rows.
 *
 * Threads: one at a time; it exchanges `stdout`.
 */
#ifndef CPTI_CLI_CAPPED_H
#define CPTI_CLI_CAPPED_H

#include <stddef.h>
#include <stdint.h>

struct cpti_arguments;

/* The option, for the table of a command: @what are the rows that go first. And for
 * one whose answer has no rows to leave out. */
#define CPTI_CAPPED_OPTION(what)                                                       \
    {                                                                                  \
        "max-bytes", 0, "SIZE",                                                        \
            "print at most SIZE bytes, such as 4k: " what ", and the sum and number "  \
            "of the others"                                                            \
    }
#define CPTI_CAPPED_WHOLE_OPTION                                                       \
    {                                                                                  \
        "max-bytes", 0, "SIZE",                                                        \
            "print at most SIZE bytes, such as 4k; an answer that is longer is "       \
            "refused"                                                                  \
    }

/* Instead of a number of rows: as without a limit, so JSON has no field "rest". */
#define CPTI_CAPPED_ALL SIZE_MAX

/* An answer. */
struct cpti_capped {
    uint64_t bytes_max; /* 0: no limit */
    /* Prints it on stdout with at most @row_max rows; a result of enum cpti_exit other
     * than CPTI_EXIT_DONE ends it. Called several times; messages count once. With
     * CPTI_CAPPED_ALL as without a limit. */
    int (*print)(void *context, size_t row_max);
    void *context;
    size_t row_count; /* how many there are */
};

/* Reads the option: a number, with k or M for 1,024 or 1,048,576 bytes. enum
 * cpti_exit. */
int cpti_capped_option(const struct cpti_arguments *arguments, uint64_t *bytes_max);

/* Prints as many rows as fit. If not even the answer without rows fits, fails and says
 * how many bytes that takes. enum cpti_exit. */
int cpti_capped_print(const struct cpti_capped *capped);

#endif
