/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* amounts.c - numbers and times on the command line; see amounts.h */
#include "tool/base/amounts.h"

#include "tool/base/options.h"
#include "tool/base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cpti_amount_read(const char **at, double *value, enum cpti_unit *unit)
{
    static const struct {
        const char *word;
        enum cpti_unit unit;
        double factor;
    } units[] = {
        {"%", CPTI_UNIT_PART, 0.01}, {"ns", CPTI_UNIT_TIME, 1},
        {"us", CPTI_UNIT_TIME, 1e3}, {"ms", CPTI_UNIT_TIME, 1e6},
        {"s", CPTI_UNIT_TIME, 1e9},
    };
    char *end = NULL;

    if (strspn(*at, "0123456789.") == 0) {
        return false; /* no hexadecimal, no infinity, no sign */
    }
    *value = strtod(*at, &end);
    if (end == *at || !(*value > 0) || !isfinite(*value)) {
        return false;
    }
    *unit = CPTI_UNIT_NONE;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const size_t bytes = strlen(units[i].word);

        if (strncmp(end, units[i].word, bytes) == 0) {
            *value *= units[i].factor;
            *unit = units[i].unit;
            end += bytes;
            break;
        }
    }
    *at = end;
    return true;
}

int cpti_amounts(const char *option, const char *text, enum cpti_unit unit,
                 double values[CPTI_AMOUNTS_MAX], size_t *count)
{
    static const char *const examples[] = {"numbers, such as '100,1000'",
                                           "times, such as '0.5ms,2s'",
                                           "percentages, such as '1%,5%'"};
    const char *at = text;
    enum cpti_unit given;

    *count = 0;
    while (*count < CPTI_AMOUNTS_MAX &&
           cpti_amount_read(&at, &values[*count], &given) && given == unit) {
        ++*count;
        if (*at == '\0') {
            return CPTI_EXIT_DONE;
        }
        if (*at++ != ',') {
            break;
        }
    }
    return cpti_usage("option '--%s' takes up to %d %s, not '%s'", option,
                      CPTI_AMOUNTS_MAX, examples[unit], cpti_quoted(text));
}

int cpti_whole_number(const struct cpti_arguments *arguments, const char *option,
                      uint64_t least, uint64_t most, uint64_t *number)
{
    const char *given = cpti_value(arguments, option);
    char range[64];
    uint64_t value;
    char *end;

    if (given == NULL) {
        return CPTI_EXIT_DONE;
    }
    errno = 0;
    value = strtoull(given, &end, 10);
    if (given[0] < '0' || given[0] > '9' || *end != '\0' || errno != 0 ||
        value < least || value > most) {
        (void)snprintf(range, sizeof range,
                       most == UINT64_MAX ? "%" PRIu64 " on"
                                          : "%" PRIu64 " to %" PRIu64,
                       least, most);
        return cpti_usage("option '--%s' takes a number from %s, not '%s'", option,
                          range, cpti_quoted(given));
    }
    *number = value;
    return CPTI_EXIT_DONE;
}
