/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_times.c - stamps of lines; see event_times.h */
#include "import/lines/event_times.h"

#include "cpt/base/text.h"

#include <stdlib.h>
#include <string.h>

enum { YEAR_FIRST = 2000, YEAR_LAST = 2199, NS_DIGITS = 9, EXACT_DIGITS = 6 };

#define DAY_S      INT64_C(86400)
#define DAY_NS     (DAY_S * CPTI_NS_PER_S)
#define TIME_FIRST (INT64_C(946684800) * CPTI_NS_PER_S)
#define TIME_END   (INT64_C(7258118400) * CPTI_NS_PER_S)

static const int64_t tens[NS_DIGITS + 1] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

/* What a text has told so far. */
struct parts {
    unsigned year;
    unsigned month;
    unsigned day;
    unsigned hour;
    unsigned minute;
    unsigned second;
    int64_t fraction_ns;
    unsigned digits; /* of the fraction */
    int32_t zone_s;
    bool has_year;
    bool has_day;
    int64_t unix_s; /* of %s */
    bool is_unix;
};

/* --- Pieces of a stamp --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes @least to @most digits from the front of @text. */
static bool take_digits(struct cpt_bytes *text, unsigned least, unsigned most,
                        unsigned *number)
{
    unsigned count = 0;

    *number = 0;
    while (count < most && count < text->bytes && is_digit(text->data[count])) {
        *number = *number * 10 + (unsigned)(text->data[count] - '0');
        count++;
    }
    text->data += count;
    text->bytes -= count;
    return count >= least;
}

static bool take_char(struct cpt_bytes *text, char wanted)
{
    if (text->bytes == 0 || text->data[0] != wanted) {
        return false;
    }
    text->data++;
    text->bytes--;
    return true;
}

/* Takes the digits of a fraction; what is below a nanosecond is dropped. */
static bool take_fraction(struct cpt_bytes *text, int64_t *ns, unsigned *digits)
{
    *ns = 0;
    *digits = 0;
    for (; text->bytes > 0 && is_digit(text->data[0]); text->data++, text->bytes--) {
        if (*digits < NS_DIGITS) {
            *ns = *ns * 10 + (text->data[0] - '0');
            ++*digits;
        }
    }
    *ns *= tens[NS_DIGITS - *digits];
    return *digits > 0;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool take_month(struct cpt_bytes *text, unsigned *month)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";

    for (*month = 1; text->bytes >= 3 && *month <= 12; ++*month) {
        const char *name = names + (size_t)(3 * (*month - 1));

        if ((text->data[0] | 0x20) == name[0] && (text->data[1] | 0x20) == name[1] &&
            (text->data[2] | 0x20) == name[2]) {
            text->data += 3;
            text->bytes -= 3;
            return true;
        }
    }
    return false;
}

/* Z, +08:00, +0800 or +08. */
static bool take_zone(struct cpt_bytes *text, int32_t *zone_s)
{
    bool is_west = false;
    unsigned hours = 0;
    unsigned minutes = 0;

    if (take_char(text, 'Z')) {
        *zone_s = 0;
        return true;
    }
    is_west = take_char(text, '-');
    if ((!is_west && !take_char(text, '+')) || !take_digits(text, 2, 2, &hours)) {
        return false;
    }
    if ((take_char(text, ':') || (text->bytes > 0 && is_digit(text->data[0]))) &&
        !take_digits(text, 2, 2, &minutes)) {
        return false;
    }
    if (hours > 15 || minutes > 59) {
        return false;
    }
    *zone_s = (int32_t)(hours * 3600 + minutes * 60) * (is_west ? -1 : 1);
    return true;
}

/* UTC and GMT are known; another name leaves the zone of the source. */
static void take_zone_name(struct cpt_bytes *text, int32_t *zone_s)
{
    const struct cpt_bytes all = *text;
    struct cpt_bytes name = {text->data, 0};

    while (text->bytes > 0 && is_letter(text->data[0])) {
        text->data++;
        text->bytes--;
    }
    name.bytes = all.bytes - text->bytes;
    if (cpti_text_is(name, "UTC") || cpti_text_is(name, "GMT") ||
        cpti_text_is(name, "Z")) {
        *zone_s = 0;
    }
}

/* --- From parts to a time --- */

/* Days from 1970 to a day of the civil calendar; by eras of 400 years from March on. */
static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
    const int64_t from_march = year - (month <= 2);
    const int64_t era = from_march / 400;
    const int64_t of_era = from_march - era * 400;
    const int64_t of_year =
        (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5 + (int64_t)day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static uint64_t resolution_of(unsigned digits)
{
    return digits >= EXACT_DIGITS ? 0 : (uint64_t)tens[NS_DIGITS - digits];
}

static bool is_possible(int64_t ns)
{
    return ns >= TIME_FIRST && ns < TIME_END;
}

static bool set_time(const struct parts *parts, struct cpti_time *time)
{
    const int64_t of_day_s = (int64_t)parts->hour * 3600 + (int64_t)parts->minute * 60 +
                             parts->second - parts->zone_s;

    *time = (struct cpti_time){.ns = of_day_s * CPTI_NS_PER_S + parts->fraction_ns,
                               .resolution_ns = resolution_of(parts->digits),
                               .month = parts->month,
                               .day = parts->day};
    if (parts->is_unix) {
        time->ns = parts->unix_s * CPTI_NS_PER_S + parts->fraction_ns;
        return is_possible(time->ns);
    }
    if (parts->hour > 24 || parts->minute > 59 || parts->second > 60) {
        return false;
    }
    if (!parts->has_day) {
        time->lack = CPTI_TIME_WITHOUT_DATE;
        return true;
    }
    if (parts->month < 1 || parts->month > 12 || parts->day < 1 || parts->day > 31) {
        return false;
    }
    if (!parts->has_year) {
        time->lack = CPTI_TIME_WITHOUT_YEAR;
        return true;
    }
    if (parts->year < YEAR_FIRST || parts->year > YEAR_LAST) {
        return false;
    }
    time->ns += days_of(parts->year, parts->month, parts->day) * DAY_NS;
    return is_possible(time->ns);
}

/* --- The forms --- */

/* Takes "1674982122.425", of units of @unit_ns; 0: as the size of a stamp says, since
 * those in s, ms, us and ns since 1970 have 10, 13, 16 and 19 digits. false: there is
 * no digit, or it is above @max_ns. */
static bool take_decimal(struct cpt_bytes *text, int64_t unit_ns, int64_t max_ns,
                         int64_t *ns, uint64_t *resolution_ns)
{
    int64_t whole = 0;
    int64_t fraction = 0;
    unsigned digits = 0;
    size_t count = 0;

    for (; count < text->bytes && is_digit(text->data[count]); count++) {
        if (whole > (INT64_MAX - 9) / 10) {
            return false;
        }
        whole = whole * 10 + (text->data[count] - '0');
    }
    text->data += count;
    text->bytes -= count;
    if (unit_ns == 0) {
        unit_ns = count >= 18   ? 1
                  : count >= 15 ? 1000
                  : count >= 12 ? 1000000
                                : CPTI_NS_PER_S;
    }
    if (take_char(text, '.') && !take_fraction(text, &fraction, &digits)) {
        return false;
    }
    if (count + digits == 0 || whole >= max_ns / unit_ns) {
        return false;
    }
    *ns = whole * unit_ns + fraction / (CPTI_NS_PER_S / unit_ns);
    *resolution_ns = (uint64_t)(unit_ns / tens[digits]);
    *resolution_ns = *resolution_ns > 1000 ? *resolution_ns : 0;
    return true;
}

static bool read_number(struct cpt_bytes text, int64_t unit_ns, struct cpti_time *time)
{
    *time = (struct cpti_time){0};
    return take_decimal(&text, unit_ns, TIME_END, &time->ns, &time->resolution_ns) &&
           text.bytes == 0 && is_possible(time->ns);
}

/* Takes what %@conversion stands for. */
static bool take_conversion(struct cpt_bytes *text, char conversion,
                            struct parts *parts)
{
    unsigned number = 0;

    switch (conversion) {
    case 'Y':
        parts->has_year = true;
        return take_digits(text, 4, 4, &parts->year);
    case 'y':
        parts->has_year = take_digits(text, 2, 2, &parts->year);
        parts->year += 2000;
        return parts->has_year;
    case 'm':
        return take_digits(text, 1, 2, &parts->month);
    case 'b':
    case 'h':
    case 'B':
        return take_month(text, &parts->month);
    case 'd':
    case 'e':
        (void)take_char(text, ' ');
        parts->has_day = true;
        return take_digits(text, 1, 2, &parts->day);
    case 'H':
        return take_digits(text, 1, 2, &parts->hour);
    case 'M':
        return take_digits(text, 2, 2, &parts->minute);
    case 'S':
        return take_digits(text, 2, 2, &parts->second);
    case 'L':
    case 'f':
        return take_fraction(text, &parts->fraction_ns, &parts->digits);
    case 's':
        parts->is_unix = take_digits(text, 9, 9, &number);
        parts->unix_s = number;
        if (parts->is_unix && take_digits(text, 1, 1, &number)) {
            parts->unix_s = parts->unix_s * 10 + number;
        }
        return parts->is_unix;
    case 'z':
        (void)take_char(text, ' ');
        if (take_zone(text, &parts->zone_s)) {
            return true;
        }
        /* fall through */
    case 'a':
    case 'Z':
        take_zone_name(text, &parts->zone_s);
        return true;
    default:
        return take_char(text, conversion); /* of "%%" */
    }
}

/* Whether ".%L" is at @at of @pattern. */
static bool is_fraction(struct cpt_bytes pattern, size_t at)
{
    return at + 2 < pattern.bytes &&
           (pattern.data[at] == '.' || pattern.data[at] == ',') &&
           pattern.data[at + 1] == '%' &&
           (pattern.data[at + 2] == 'L' || pattern.data[at + 2] == 'f');
}

static bool read_pattern(struct cpt_bytes pattern, struct cpt_bytes text,
                         int32_t zone_s, struct cpti_time *time)
{
    struct parts parts = {.zone_s = zone_s};

    for (size_t i = 0; i < pattern.bytes; i++) {
        const char c = pattern.data[i];

        if (c == ' ') {
            while (take_char(&text, ' ')) {
            }
        } else if (is_fraction(pattern, i) && (text.bytes == 0 || text.data[0] != c)) {
            i += 2; /* some programs leave zeros out */
        } else if (c == 'T' && i > 0 && pattern.data[i - 1] == '%') {
            if (!take_conversion(&text, 'H', &parts) || !take_char(&text, ':') ||
                !take_conversion(&text, 'M', &parts) || !take_char(&text, ':') ||
                !take_conversion(&text, 'S', &parts)) {
                return false;
            }
        } else if (i > 0 && pattern.data[i - 1] == '%') {
            if (!take_conversion(&text, c, &parts)) {
                return false;
            }
        } else if (c != '%' && !take_char(&text, c)) {
            return false;
        }
    }
    return text.bytes == 0 && set_time(&parts, time);
}

/* 2023-01-29T08:48:42.425Z; also with a blank or '/', a comma, and without a zone. */
static bool read_rfc3339(struct cpt_bytes text, int32_t zone_s, struct cpti_time *time)
{
    char pattern[] = "%Y-%m-%dT%H:%M:%S.%L%z";

    if (text.bytes < 19 || strchr("Tt ", text.data[10]) == NULL) {
        return false;
    }
    pattern[2] = pattern[5] = text.data[4] == '/' ? '/' : '-';
    pattern[8] = text.data[10];
    pattern[17] = text.bytes > 19 && text.data[19] == ',' ? ',' : '.';
    return read_pattern((struct cpt_bytes){pattern, sizeof pattern - 1}, text, zone_s,
                        time);
}

static bool read_any(struct cpt_bytes text, int32_t zone_s, struct cpti_time *time)
{
    if (text.bytes >= 8 && text.data[2] == ':') {
        return read_pattern(cpt_bytes_of(text.bytes > 8 && text.data[8] == ','
                                             ? "%H:%M:%S,%L"
                                             : "%H:%M:%S.%L"),
                            text, zone_s, time);
    }
    return text.bytes > 4 && is_digit(text.data[4]) ? read_number(text, 0, time)
                                                    : read_rfc3339(text, zone_s, time);
}

bool cpti_time_read(const struct cpti_time_format *format, int32_t zone_s,
                    struct cpt_bytes text, struct cpti_time *time)
{
    if (text.bytes == 0) {
        return false;
    }
    switch (format->way) {
    case CPTI_TIME_NUMBER:
        return read_number(text, format->unit_ns, time);
    case CPTI_TIME_RFC3339:
        return read_rfc3339(text, zone_s, time);
    case CPTI_TIME_PATTERN:
        return read_pattern(format->pattern, text, zone_s, time);
    default:
        return read_any(text, zone_s, time);
    }
}

/* --- What the settings say --- */

int64_t cpti_time_unit(struct cpt_bytes text)
{
    return cpti_text_is(text, "s")    ? CPTI_NS_PER_S
           : cpti_text_is(text, "ms") ? 1000000
           : cpti_text_is(text, "us") ? 1000
           : cpti_text_is(text, "ns") ? 1
                                      : 0;
}

bool cpti_time_format_read(struct cpt_bytes text, struct cpti_time_format *format)
{
    *format = (struct cpti_time_format){.unit_ns = cpti_time_unit(text)};
    if (format->unit_ns != 0) {
        format->way = CPTI_TIME_NUMBER;
        return true;
    }
    if (cpti_text_is(text, "auto")) {
        return true;
    }
    if (cpti_text_is(text, "rfc3339")) {
        format->way = CPTI_TIME_RFC3339;
        return true;
    }
    if (text.bytes == 0 || memchr(text.data, '%', text.bytes) == NULL) {
        return false;
    }
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] == '%' &&
            (++i == text.bytes || strchr("YymbhBdeHMSTLfszaZ", text.data[i]) == NULL)) {
            return false;
        }
    }
    format->way = CPTI_TIME_PATTERN;
    format->pattern = text;
    return true;
}

bool cpti_time_zone(struct cpt_bytes text, int32_t *zone_s)
{
    *zone_s = 0;
    return cpti_text_is(text, "UTC") || cpti_text_is(text, "GMT") ||
           (take_zone(&text, zone_s) && text.bytes == 0);
}

/* --- Dates that are lacking --- */

void cpti_time_place(struct cpti_time *time, int64_t outer_ns)
{
    const int64_t own_ns = time->ns;
    const int64_t year = 1970 + outer_ns / (DAY_NS * 365); /* or the one after it */

    for (int64_t step = -1; step <= 1 && time->lack != CPTI_TIME_WHOLE; step++) {
        const int64_t days = time->lack == CPTI_TIME_WITHOUT_YEAR
                                 ? days_of(year + step, time->month, time->day)
                                 : outer_ns / DAY_NS + step;
        const int64_t ns = own_ns + days * DAY_NS;

        if (step == -1 || llabs(ns - outer_ns) < llabs(time->ns - outer_ns)) {
            time->ns = ns;
        }
    }
    time->lack = CPTI_TIME_WHOLE;
}

/* --- Lengths --- */

bool cpti_time_length(struct cpt_bytes text, int64_t unit_ns, int64_t *ns,
                      uint64_t *resolution_ns)
{
    const int64_t max_ns = 366 * DAY_NS;
    struct cpt_bytes suffix = text;

    while (suffix.bytes > 0 && (is_digit(suffix.data[0]) || suffix.data[0] == '.')) {
        suffix.data++;
        suffix.bytes--;
    }
    unit_ns = suffix.bytes > 0 ? cpti_time_unit(suffix) : unit_ns;
    text.bytes -= suffix.bytes;
    return unit_ns != 0 && take_decimal(&text, unit_ns, max_ns, ns, resolution_ns) &&
           text.bytes == 0;
}
