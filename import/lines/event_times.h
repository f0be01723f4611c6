/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_times.h - stamps of lines, as programs write them, in nanoseconds since 1970
 *
 *      "1674982122.425"  s          "2023-01-29T08:48:42.425Z"     rfc3339
 *      "29/Jan/2023:08:48:42 +0000"                     %d/%b/%Y:%H:%M:%S %z
 *      "16:48:42.425"    %H:%M:%S.%L, of the day that is nearest to an outer stamp
 *
 * A stamp says how exact it is: its resolution is the unit of its last digit, and 0
 * from microseconds on. Threads: any; there is no state.
 */
#ifndef CPTI_EVENT_TIMES_H
#define CPTI_EVENT_TIMES_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stdint.h>

#define CPTI_NS_PER_S INT64_C(1000000000)

enum cpti_time_way {
    CPTI_TIME_AUTO =
        0, /* rfc3339, 16:48:42.425, or a number whose size tells its unit */
    CPTI_TIME_NUMBER,
    CPTI_TIME_RFC3339,
    CPTI_TIME_PATTERN
};

struct cpti_time_format {
    enum cpti_time_way way;
    int64_t unit_ns;          /* of a number */
    struct cpt_bytes pattern; /* of strptime, with %L for a fraction; borrowed */
};

/* How much of the date a stamp lacks. */
enum cpti_time_lack {
    CPTI_TIME_WHOLE = 0,
    CPTI_TIME_WITHOUT_YEAR,
    CPTI_TIME_WITHOUT_DATE
};

struct cpti_time {
    int64_t ns; /* since 1970; of one that lacks the date, since its midnight */
    uint64_t resolution_ns;
    enum cpti_time_lack lack;
    unsigned month; /* 1 to 12, and the day, of one that lacks the year */
    unsigned day;
};

/* "s", "ms", "us", "ns", "auto", "rfc3339", or a pattern with '%', which is borrowed.
 * false: it is none of them, or has a conversion that is not known. */
bool cpti_time_format_read(struct cpt_bytes text, struct cpti_time_format *format);

/* The ns of "s", "ms", "us" or "ns"; 0: it is none of them. */
int64_t cpti_time_unit(struct cpt_bytes text);

/* Seconds east of UTC of "+08:00", "-0330", "Z" or "UTC". false: malformed. */
bool cpti_time_zone(struct cpt_bytes text, int32_t *zone_s);

/* Reads a stamp that is of @zone_s unless it tells. false: it is malformed, or outside
 * of the years 2000 to 2199. */
bool cpti_time_read(const struct cpti_time_format *format, int32_t zone_s,
                    struct cpt_bytes text, struct cpti_time *time);

/* Gives a stamp the date that it lacks: the one nearest to @outer_ns. */
void cpti_time_place(struct cpti_time *time, int64_t outer_ns);

/* The length "0.025", of units of @unit_ns, or "25ms", which tells its unit. false: it
 * is malformed, negative, or longer than a year. */
bool cpti_time_length(struct cpt_bytes text, int64_t unit_ns, int64_t *ns,
                      uint64_t *resolution_ns);

#endif
