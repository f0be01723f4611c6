/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * json_fault.h - where and why a text is no JSON, in the same words for both libraries
 *
 * simdjson does not say where it stopped, and jansson says it in words of its own. So
 * whichever a build has, a text that it refuses is read once more here, and an error
 * does not depend on the packages of the machine that built the tool.
 *
 * A text may also have nothing wrong but characters that are none: bytes that are not
 * UTF-8, or half of a surrogate pair. It is mended: U+FFFD stands for each. So are
 * numbers and keys that a library cannot hold, but without being counted.
 */
#ifndef CPTI_IMPORT_JSON_FAULT_H
#define CPTI_IMPORT_JSON_FAULT_H

#include "cpt/cpt_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

CPT_BEGIN_DECLS

struct cpti_json_fault {
    size_t at;         /* byte of the text; its length if it ends too early */
    const char *what;  /* static memory */
    uint64_t replaced; /* characters before it that are none; they are no fault */
    uint64_t changed;  /* places before it that can be mended, with those */
};

struct cpti_json_mended {
    char *text; /* CPTI_DOC_PADDING bytes may be read behind it */
    size_t bytes;
    uint64_t replaced; /* characters */
};

/*
 * Reads the @count bytes at @text as RFC 8259 defines JSON, with one value, nested by
 * no more than CPTI_DOC_DEPTH_MAX. true: it breaks a rule, first as *@fault says.
 * false: it keeps them, but for characters that are none, and though a number may be
 * outside the range of what holds it.
 */
bool cpti_json_fault_find(const char *text, size_t count,
                          struct cpti_json_fault *fault);

/*
 * Mends a text that a library has refused, into *@mended, which the caller frees.
 *
 * CPT_OK; CPT_CORRUPT, with place and reason: there is another fault; CPT_NO_MEMORY.
 */
cpt_status cpti_json_mend(const char *text, size_t count,
                          struct cpti_json_mended *mended, struct cpt_error *error);
void cpti_json_mended_free(struct cpti_json_mended *mended);

/* The sentence of @status, by which the library has refused a text that breaks no rule.
 * Returns it. */
cpt_status cpti_json_refused(cpt_status status, struct cpt_error *error);

CPT_END_DECLS

#endif
