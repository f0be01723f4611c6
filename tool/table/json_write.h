/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* json_write.h - JSON of results: words, computed numbers, names as they are shown; the
 * other items are written as cpt/base/json_text.h says */
#ifndef CPTI_CLI_JSON_WRITE_H
#define CPTI_CLI_JSON_WRITE_H

#include "cpt/base/json_text.h"

/* The number, or null if it is not known. */
void cpti_json_known(struct cpti_json *json, const char *key, bool is_known,
                     uint64_t number);

/* The word of a kind or reason, or its @number if this version has no word for it. */
void cpti_json_word(struct cpti_json *json, const char *key, const char *word,
                    unsigned number);

/* The shortest text that reads back as @number; null for NaN and infinities. */
void cpti_json_float(struct cpti_json *json, const char *key, double number);

/* The same for computed nanoseconds, rounded to thousandths: finer digits depend on the
 * machine's arithmetic. */
void cpti_json_ns(struct cpti_json *json, const char *key, double ns);

/* The same with six digits, for probabilities. */
void cpti_json_rough(struct cpti_json *json, const char *key, double number);

/* An element: the name that is shown as @text (cpt_text_name()), byte for byte. And
 * whether it differs from @text. A name of up to CPTI_JSON_BUFFER_BYTES bytes. */
void cpti_json_raw_name(struct cpti_json *json, const char *text);
bool cpti_is_escaped(const char *text);

#endif
