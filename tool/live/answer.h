/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * answer.h - what a service answers, as JSON
 *
 * It may be hostile: the bytes of an answer, its depth and the memory of all answers
 * together have limits (place.h, import/bytes/json.h). What is absent, or of another
 * type, reads as no value, 0, false or an empty text.
 *
 *      cpti_answer_get(&answer, &place, &get, &left, &error);
 *      cpti_answer_each(request, cpti_doc_get(answer.root, "requests"))
 *          cpti_answer_number(request.value, "us")
 */
#ifndef CPTI_CLI_ANSWER_H
#define CPTI_CLI_ANSWER_H

#include "tool/live/place.h"
#include "import/bytes/json.h"

struct cpti_answer {
    struct cpti_doc *doc;
    struct cpti_doc_value root; /* as all values in it, good as long as the answer */
};

/* Asks the service at @place, as @get says; @left: see cpti_doc_bound(). What
 * cpti_place_get() and cpti_answer_read() return. Free @answer in any case. */
cpt_status cpti_answer_get(struct cpti_answer *answer, const struct cpti_peer *place,
                           const struct cpti_get *get, size_t *left,
                           struct cpt_error *error);

/* Parses the @bytes of @body, which it frees: one value. CPT_OK; CPT_CORRUPT: it is
 * no JSON; CPT_LIMIT beyond *@left; CPT_NO_MEMORY; with a sentence. */
cpt_status cpti_answer_read(struct cpti_answer *answer, char *body, size_t bytes,
                            size_t *left, struct cpt_error *error);

/* All zero is fine, too. */
void cpti_answer_deinit(struct cpti_answer *answer);

/* For each element of @array, which is in @member.value. */
#define cpti_answer_each(member, array)                                                \
    for (bool member##_is_there = cpti_answer_first(array, &(member));                 \
         member##_is_there; member##_is_there = cpti_doc_next(&(member)))

/* The first element of @array, as cpti_doc_first(). */
static inline bool cpti_answer_first(struct cpti_doc_value array,
                                     struct cpti_doc_member *member)
{
    return cpti_doc_type(array) == CPTI_DOC_ARRAY && cpti_doc_first(array, member);
}

/* Members by type. */
bool cpti_answer_has(struct cpti_doc_value object, const char *key);
struct cpt_bytes cpti_answer_string(struct cpti_doc_value object, const char *key);
bool cpti_answer_is(struct cpti_doc_value object, const char *key, const char *text);

/* A whole number from 0 to INT64_MAX; true is 1. */
uint64_t cpti_answer_number(struct cpti_doc_value object, const char *key);

#endif
