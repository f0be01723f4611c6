/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* when.c - points in time as people write them; see when.h */
#include "tool/select/when.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

/* Above any time that a record can have. */
#define SECONDS_MAX (UINT64_C(9223372036))

/* Reads at most @digits_max decimal digits at *@at and moves past them. False if there
 * are none. */
static bool take_number(const char **at, size_t digits_max, uint64_t *number)
{
    size_t digits = 0;
    uint64_t sum = 0;

    while (digits < digits_max && (*at)[digits] >= '0' && (*at)[digits] <= '9') {
        sum = sum * 10 + (uint64_t)((*at)[digits] - '0');
        digits++;
    }
    *at += digits;
    *number = sum;
    return digits != 0;
}

/* Reads ".5" after seconds, as nanoseconds; 0 if there is no dot. */
static bool take_fraction(const char **at, uint64_t *ns)
{
    uint64_t unit = SECOND_NS;

    *ns = 0;
    if (**at != '.') {
        return true;
    }
    (*at)++;
    if (**at < '0' || **at > '9') {
        return false;
    }
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        unit /= 10;
        *ns += unit * (uint64_t)(**at - '0');
    }
    return true;
}

static bool ago(const char *text, uint64_t now_unix_ns, uint64_t *unix_ns)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {
        {"ns", 1},
        {"us", 1000},
        {"ms", 1000000},
        {"s", SECOND_NS},
        {"m", 60 * SECOND_NS},
        {"h", 3600 * SECOND_NS},
        {"d", 86400 * SECOND_NS},
    };
    uint64_t count;

    if (!take_number(&text, 12, &count)) {
        return false;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(text, units[i].unit) == 0) {
            *unix_ns = count > now_unix_ns / units[i].ns
                           ? 0
                           : now_unix_ns - count * units[i].ns;
            return true;
        }
    }
    return false;
}

static bool since_1970(const char *text, uint64_t *unix_ns)
{
    uint64_t seconds;
    uint64_t ns;

    if (!take_number(&text, 11, &seconds) || !take_fraction(&text, &ns) ||
        *text != '\0' || seconds >= SECONDS_MAX) {
        return false;
    }
    *unix_ns = seconds * SECOND_NS + ns;
    return true;
}

/* Reads "Z", "+01:00" or nothing as an offset in seconds. */
static bool take_zone(const char *text, int64_t *seconds)
{
    const bool is_west = *text == '-';
    uint64_t hours;
    uint64_t minutes;

    *seconds = 0;
    if (*text == '\0' || strcmp(text, "Z") == 0) {
        return true;
    }
    if (*text != '+' && *text != '-') {
        return false;
    }
    text++;
    if (!take_number(&text, 2, &hours) || *text++ != ':' ||
        !take_number(&text, 2, &minutes) || *text != '\0' || hours > 23 ||
        minutes > 59) {
        return false;
    }
    *seconds = (int64_t)(hours * 3600 + minutes * 60) * (is_west ? -1 : 1);
    return true;
}

static bool calendar(const char *text, uint64_t *unix_ns)
{
    uint64_t parts[6] = {0};
    static const char ends[5] = {'-', '-', 'T', ':', ':'};
    struct tm date = {0};
    uint64_t ns = 0;
    int64_t zone;
    int64_t seconds;
    size_t count = 0;

    while (take_number(&text, count == 0 ? 4 : 2, &parts[count])) {
        count++;
        if (count == 6 || *text == '\0') {
            break;
        }
        if (*text != ends[count - 1]) {
            return false;
        }
        text++;
    }
    if ((count != 3 && count != 6) || (count == 6 && !take_fraction(&text, &ns)) ||
        !take_zone(text, &zone) || parts[0] < 1970 || parts[1] < 1 || parts[1] > 12 ||
        parts[2] < 1 || parts[2] > 31 || parts[3] > 23 || parts[4] > 59 ||
        parts[5] > 60) {
        return false;
    }
    date.tm_year = (int)parts[0] - 1900;
    date.tm_mon = (int)parts[1] - 1;
    date.tm_mday = (int)parts[2];
    date.tm_hour = (int)parts[3];
    date.tm_min = (int)parts[4];
    date.tm_sec = (int)parts[5];
    seconds = (int64_t)timegm(&date) - zone;
    if (seconds < 0 || (uint64_t)seconds >= SECONDS_MAX ||
        date.tm_mday != (int)parts[2]) {
        return false; /* timegm() turns the 31st of June into the 1st of July */
    }
    *unix_ns = (uint64_t)seconds * SECOND_NS + ns;
    return true;
}

bool cpti_when(const char *text, uint64_t now_unix_ns, uint64_t *unix_ns)
{
    if (text[0] == '@') {
        return since_1970(text + 1, unix_ns);
    }
    return ago(text, now_unix_ns, unix_ns) || calendar(text, unix_ns);
}
