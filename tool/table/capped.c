/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* capped.c - answers of at most a number of bytes; see capped.h */
#include "tool/table/capped.h"

#include "tool/base/command.h"
#include "tool/base/options.h"
#include "tool/base/memory_file.h"
#include "tool/base/output.h"
#include "tool/table/json_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The largest limit: 1 TiB. */
#define BYTES_MAX (UINT64_C(1) << 40)

int cpti_capped_option(const struct cpti_arguments *arguments, uint64_t *bytes_max)
{
    const char *text = cpti_value(arguments, "max-bytes");
    uint64_t number = 0;
    unsigned shift = 0;
    const char *at = text;

    *bytes_max = 0;
    if (text == NULL) {
        return CPTI_EXIT_DONE;
    }
    for (; *at >= '0' && *at <= '9' && number <= BYTES_MAX; at++) {
        number = 10 * number + (uint64_t)(*at - '0');
    }
    if (*at == 'k' || *at == 'K' || *at == 'M') {
        shift = *at == 'M' ? 20 : 10;
        at++;
    }
    if (*at != '\0' || number == 0 || number > BYTES_MAX >> shift) {
        return cpti_usage(
            "option '--max-bytes' takes a number of bytes such as 4000, 4k "
            "or 1M, not '%s'",
            cpti_quoted(text));
    }
    *bytes_max = number << shift;
    return CPTI_EXIT_DONE;
}

/* Text that was printed. */
struct printed {
    char *text;
    size_t bytes;
};

/* Prints into memory: glibc lets a program exchange stdout, and what prints tables and
 * JSON need not know. enum cpti_exit; free the text in any case. */
static int print_apart(const struct cpti_capped *capped, size_t row_max,
                       struct printed *printed)
{
    struct cpti_memory_file memory;
    FILE *real = stdout;
    int status;

    *printed = (struct printed){0};
    if (!cpti_memory_file_open(&memory)) {
        return cpti_failed("out of memory");
    }
    stdout = memory.file;
    status = capped->print(capped->context, row_max);
    stdout = real;
    cpti_json_note_written(false);
    if (!cpti_memory_file_close(&memory)) {
        return cpti_failed("out of memory");
    }
    *printed = (struct printed){memory.text, memory.bytes};
    return status;
}

/* The same, without messages: whether the answer fits, and its bytes. */
static int try_rows(const struct cpti_capped *capped, size_t row_max, size_t *bytes)
{
    struct printed printed;
    struct cpti_messages said = {0};
    int status;

    cpti_messages_to(&said);
    status = print_apart(capped, row_max, &printed);
    cpti_messages_to(NULL);
    if (status != CPTI_EXIT_DONE) {
        cpti_messages_say(&said);
    }
    *bytes = printed.bytes;
    free(printed.text);
    cpti_messages_deinit(&said);
    return status;
}

/* If the answer lacks but a few rows: whether it fits as a whole, without the field
 * that sums up what is left out. */
static int try_all(const struct cpti_capped *capped, size_t *row_max)
{
    enum { FEW = 2 }; /* rows that may take as much as that field */
    size_t bytes = 0;
    int status;

    if (*row_max == capped->row_count || capped->row_count - *row_max > FEW) {
        return CPTI_EXIT_DONE;
    }
    status = try_rows(capped, CPTI_CAPPED_ALL, &bytes);
    if (status == CPTI_EXIT_DONE && bytes <= capped->bytes_max) {
        *row_max = CPTI_CAPPED_ALL;
    }
    return status;
}

/* Finds the most rows that fit. */
static int find_rows(const struct cpti_capped *capped, size_t *row_max)
{
    size_t fits = 0;
    size_t fails = capped->row_count + 1;
    size_t next = 1;
    size_t bytes = 0;
    int status = try_rows(capped, 0, &bytes);

    if (status == CPTI_EXIT_DONE && bytes > capped->bytes_max) {
        *row_max = 0;
        status = try_all(capped, row_max);
        if (status != CPTI_EXIT_DONE || *row_max == CPTI_CAPPED_ALL) {
            return status;
        }
        return cpti_usage("option '--max-bytes': the answer takes at least %zu bytes",
                          bytes);
    }
    while (status == CPTI_EXIT_DONE && fits + 1 < fails) {
        next = next < fails ? next : fails - 1;
        status = try_rows(capped, next, &bytes);
        if (bytes <= capped->bytes_max) {
            fits = next;
            next = fails > capped->row_count ? 2 * next : fits + (fails - fits) / 2;
        } else {
            fails = next;
            next = fits + (fails - fits) / 2;
        }
    }
    *row_max = fits;
    return status == CPTI_EXIT_DONE ? try_all(capped, row_max) : status;
}

int cpti_capped_print(const struct cpti_capped *capped)
{
    struct printed printed;
    size_t row_max = CPTI_CAPPED_ALL;
    int status;

    if (capped->bytes_max == 0) {
        return capped->print(capped->context, capped->row_count);
    }
    status = find_rows(capped, &row_max);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = print_apart(capped, row_max, &printed);
    if (printed.bytes <= capped->bytes_max) {
        (void)fwrite(printed.text, 1, printed.bytes, stdout);
        cpti_json_note_written(true);
    }
    free(printed.text);
    return status;
}
