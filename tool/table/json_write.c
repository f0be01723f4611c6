/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* json_write.c - JSON of results; see json_write.h */
#include "tool/table/json_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The value of the hexadecimal digit @digit; -1: it is none. */
static int digit_of(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                          : -1;
}

/* The byte that "\\xNN" at @at stands for; -1: there is no such escape. */
static int escaped_byte(const char *at)
{
    int high;
    int low;

    if (at[0] != '\\' || at[1] != 'x') {
        return -1;
    }
    high = digit_of(at[2]);
    low = high < 0 ? -1 : digit_of(at[3]);
    return low < 0 ? -1 : 16 * high + low;
}

void cpti_json_raw_name(struct cpti_json *json, const char *text)
{
    char name[CPTI_JSON_BUFFER_BYTES];
    size_t bytes = 0;

    while (*text != '\0' && bytes < sizeof name) {
        const int byte = escaped_byte(text);

        name[bytes++] = byte < 0 ? *text : (char)byte;
        text += byte < 0 ? 1 : 4;
    }
    cpti_json_bytes(json, NULL, (struct cpt_bytes){name, bytes});
}

bool cpti_is_escaped(const char *text)
{
    return strchr(text, '\\') != NULL;
}

void cpti_json_known(struct cpti_json *json, const char *key, bool is_known,
                     uint64_t number)
{
    if (is_known) {
        cpti_json_unsigned(json, key, number);
    } else {
        cpti_json_null(json, key);
    }
}

void cpti_json_word(struct cpti_json *json, const char *key, const char *word,
                    unsigned number)
{
    if (word != NULL) {
        cpti_json_text(json, key, word);
    } else {
        cpti_json_unsigned(json, key, number);
    }
}

void cpti_json_float(struct cpti_json *json, const char *key, double number)
{
    uint64_t bits = 0;

    if (!isfinite(number)) {
        cpti_json_null(json, key);
        return;
    }
    /* The last text serves again: neighbours are often equal. Bits are compared, as -0
     * and 0 have different texts. */
    memcpy(&bits, &number, sizeof bits);
    if (json->real_text[0] == '\0' || json->real != bits) {
        json->real = bits;
        for (int digits = 15; digits <= 17; digits++) {
            (void)snprintf(json->real_text, sizeof json->real_text, "%.*g", digits,
                           number);
            if (strtod(json->real_text, NULL) == number) {
                break;
            }
        }
    }
    cpti_json_raw(json, key, cpt_bytes_of(json->real_text));
}

void cpti_json_ns(struct cpti_json *json, const char *key, double ns)
{
    cpti_json_float(json, key, round(ns * 1000) / 1000);
}

void cpti_json_rough(struct cpti_json *json, const char *key, double number)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%.6g", number);
    cpti_json_float(json, key, strtod(text, NULL));
}
