/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * could_be.h - the interval in which a number is, whatever services waited for, and
 * whether to believe the number
 *
 * Where who waited is inferred from spans (import/learn), a number has such an
 * interval. It is not the doubt of a sample: more requests make that smaller, not this.
 *
 * Threads: any.
 */
#ifndef CPTI_TOOL_COULD_BE_H
#define CPTI_TOOL_COULD_BE_H

#include "tool/table/json_write.h"

#include <stdbool.h>

/* In the order in which they are tried. */
enum cpti_verdict {
    CPTI_VERDICT_NONE = 0,    /* who waited is recorded: there is no interval */
    CPTI_VERDICT_NOTHING,     /* the change is nearly nothing, in any case */
    CPTI_VERDICT_CANNOT_TELL, /* it may be for the better or the worse, or anything */
    CPTI_VERDICT_INTERVAL,    /* the number is one of a wide interval */
    CPTI_VERDICT_NUMBER
};

struct cpti_could_be {
    unsigned verdict; /* enum cpti_verdict */
    double low_ns;
    double high_ns;
};

/* Of a change of @number_ns of a latency of @latency_ns, which could be from @low_ns to
 * @high_ns: the hull of all, and the verdict. */
struct cpti_could_be cpti_could_be_of(double low_ns, double high_ns, double number_ns,
                                      double latency_ns);

/* "cannot_tell" …; NULL: there is no interval. */
const char *cpti_verdict_word(unsigned verdict);

/* Whether the number says something. */
static inline bool cpti_has_number(const struct cpti_could_be *could_be)
{
    return could_be->verdict != CPTI_VERDICT_CANNOT_TELL;
}

/* The same of the number with the other sign. */
struct cpti_could_be cpti_could_be_less(const struct cpti_could_be *could_be);

/* Writes the interval as object @key into the open object, and if @has_verdict that;
 * nothing if there is none. */
void cpti_could_be_put(const struct cpti_could_be *could_be, const char *key,
                       bool has_verdict, struct cpti_json *json);

#endif
