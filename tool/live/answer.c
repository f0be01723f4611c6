/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* answer.c - what a service answers, as JSON; see answer.h */
#include "tool/live/answer.h"

#include <stdio.h>
#include <stdlib.h>

cpt_status cpti_answer_read(struct cpti_answer *answer, char *body, size_t bytes,
                            size_t *left, struct cpt_error *error)
{
    char *padded = realloc(body, bytes + CPTI_DOC_PADDING);
    struct cpt_error why = {.status = CPT_OK};

    *answer = (struct cpti_answer){.doc = padded != NULL ? cpti_doc_new() : NULL};
    if (padded == NULL || answer->doc == NULL) {
        free(padded != NULL ? padded : body);
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    }
    memset(padded + bytes, 0, CPTI_DOC_PADDING);
    cpti_doc_bound(answer->doc, left);
    (void)cpti_doc_parse(answer->doc, padded, bytes, &answer->root, &why);
    free(padded); /* values have copies of all texts */
    if (why.status == CPT_CORRUPT) {
        return cpt_error_set(error, why.status, why.offset, "%s, at byte %llu",
                             why.sentence, (unsigned long long)why.offset);
    }
    return why.status == CPT_OK
               ? CPT_OK
               : cpt_error_set(error, why.status, 0, "%s", why.sentence);
}

cpt_status cpti_answer_get(struct cpti_answer *answer, const struct cpti_peer *place,
                           const struct cpti_get *get, size_t *left,
                           struct cpt_error *error)
{
    char *body = NULL;
    size_t bytes = 0;
    const cpt_status status = cpti_place_get(place, get, &body, &bytes, error);

    *answer = (struct cpti_answer){.doc = NULL};
    return status == CPT_OK ? cpti_answer_read(answer, body, bytes, left, error)
                            : status;
}

void cpti_answer_deinit(struct cpti_answer *answer)
{
    cpti_doc_free(answer->doc);
    *answer = (struct cpti_answer){.doc = NULL};
}

/* --- Members --- */

bool cpti_answer_has(struct cpti_doc_value object, const char *key)
{
    return cpti_doc_type(cpti_doc_get(object, key)) != CPTI_DOC_NONE;
}

struct cpt_bytes cpti_answer_string(struct cpti_doc_value object, const char *key)
{
    return cpti_doc_string(cpti_doc_get(object, key));
}

bool cpti_answer_is(struct cpti_doc_value object, const char *key, const char *text)
{
    return cpt_bytes_equal(cpti_answer_string(object, key), cpt_bytes_of(text));
}

uint64_t cpti_answer_number(struct cpti_doc_value object, const char *key)
{
    const struct cpti_doc_value member = cpti_doc_get(object, key);
    int64_t number = 0;

    if (cpti_doc_is_true(member)) {
        return 1;
    }
    return cpti_doc_integer(member, &number) && number > 0 ? (uint64_t)number : 0;
}
