/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * json.h - JSON of strangers, through a library
 *
 * A document is parsed whole and then looked at, value by value. Two libraries can do
 * the work: simdjson (json_simdjson.cpp), which is several times as fast and needs a
 * C++ compiler, or else jansson (json_jansson.c). A build has one of them; callers see
 * no difference but in speed. Both bound the depth of what they read, and hand on only
 * UTF-8: for what is no character, U+FFFD stands, as one bad text must not cost all
 * that is around it.
 *
 *      struct cpti_doc_member member;
 *
 *      for (bool is = cpti_doc_first(object, &member); is;
 *           is = cpti_doc_next(&member)) {
 *          ... member.key, member.value ...
 *      }
 *
 * Values and the bytes of strings are borrowed until the next document is parsed.
 *
 * Threads: one at a time for a struct cpti_doc.
 */
#ifndef CPTI_IMPORT_JSON_H
#define CPTI_IMPORT_JSON_H

#include "cpt/cpt_name.h"
#include "cpt/cpt_status.h"

#include <stdbool.h>
#include <string.h>

CPT_BEGIN_DECLS

/* Bytes behind a document that may be read, though they do not matter. */
enum { CPTI_DOC_PADDING = 64, CPTI_DOC_DEPTH_MAX = 2048 };

enum cpti_doc_type {
    CPTI_DOC_NONE = 0, /* there is no value */
    CPTI_DOC_NULL,
    CPTI_DOC_BOOLEAN,
    CPTI_DOC_NUMBER,
    CPTI_DOC_STRING,
    CPTI_DOC_ARRAY,
    CPTI_DOC_OBJECT
};

/* A value of the document; private to the library. All zero: no value, which every
 * function takes, and finds nothing in. */
struct cpti_doc_value {
    const void *owner;
    uint64_t at;
};

/* An element of an array, without a key, or a member of an object. */
struct cpti_doc_member {
    struct cpt_bytes key;
    struct cpti_doc_value value;
    struct cpti_doc_value container; /* private, as what follows */
    struct cpti_doc_value place;
    struct cpti_doc_value end;
};

struct cpti_doc;

/* A parser, or NULL. The caller owns it. It keeps the memory of the largest document;
 * the library takes it from malloc. */
struct cpti_doc *cpti_doc_new(void);
void cpti_doc_free(struct cpti_doc *json);

/*
 * Bounds the memory of the documents that @json parses from now on, for texts of
 * strangers: together they take at most the *@left bytes that are left, and lessen
 * them. Several parsers may share them. NULL, as at first: no bound. Texts that must be
 * mended have a copy beside that while they are parsed, of at most three times their
 * length. @left is used until the parser is freed.
 */
void cpti_doc_bound(struct cpti_doc *json, size_t *left);

/* "simdjson" or "jansson". Static memory. */
const char *cpti_doc_library(void);

/*
 * Parses the document of @count bytes at @bytes, behind which CPTI_DOC_PADDING more
 * can be read.
 *
 * CPT_OK; CPT_CORRUPT with the place and a sentence, which do not depend on the
 * library; CPT_LIMIT beyond the bound of cpti_doc_bound(); CPT_NO_MEMORY.
 */
cpt_status cpti_doc_parse(struct cpti_doc *json, const char *bytes, size_t count,
                          struct cpti_doc_value *root, struct cpt_error *error);

/* How many characters of the document that was parsed last were none, and are U+FFFD
 * now. */
uint64_t cpti_doc_replaced(const struct cpti_doc *json);

enum cpti_doc_type cpti_doc_type(struct cpti_doc_value value);

/* The first element or member of @container, and the one after @member. false: there
 * is none, or it contains nothing. */
bool cpti_doc_first(struct cpti_doc_value container, struct cpti_doc_member *member);
bool cpti_doc_next(struct cpti_doc_member *member);

/* The member @key, of @bytes, of @object; if there are several, one of them. */
struct cpti_doc_value cpti_doc_find(struct cpti_doc_value object, const char *key,
                                    size_t bytes);

/* The same with a literal, whose length the compiler knows. */
static inline struct cpti_doc_value cpti_doc_get(struct cpti_doc_value object,
                                                 const char *key)
{
    return cpti_doc_find(object, key, strlen(key));
}

/* The bytes of a string; empty for anything else. */
struct cpt_bytes cpti_doc_string(struct cpti_doc_value value);

/* Whether @value is true. */
bool cpti_doc_is_true(struct cpti_doc_value value);

/* Whether @value is a number without a fraction within the range; it is in *@number. */
bool cpti_doc_integer(struct cpti_doc_value value, int64_t *number);

/* Whether @value is a number. */
bool cpti_doc_real(struct cpti_doc_value value, double *number);

CPT_END_DECLS

#endif
