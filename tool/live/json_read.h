/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * json_read.h - JSON (RFC 8259) from a service that may be hostile
 *
 * The whole text becomes values in one arena, whose limit bounds them. The parser does
 * not recurse, and refuses what is nested deeper than CPTI_JSON_READ_DEPTH_MAX.
 *
 *      root = cpti_json_read(text, &arena, &error);
 *      cpti_json_each(request, cpti_json_member(root, "requests"))
 *          cpti_json_number(request, "us")
 *
 * What is absent, or of another type, reads as NULL, 0, false or an empty text.
 */
#ifndef CPTI_CLI_JSON_READ_H
#define CPTI_CLI_JSON_READ_H

#include "cpt/cpt_arena.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stdint.h>

enum { CPTI_JSON_READ_DEPTH_MAX = 256 };

enum cpti_json_type {
    CPTI_JSON_NULL,
    CPTI_JSON_BOOL,
    CPTI_JSON_NUMBER,
    CPTI_JSON_STRING,
    CPTI_JSON_ARRAY,
    CPTI_JSON_OBJECT
};

struct cpti_json_value {
    enum cpti_json_type type;
    uint64_t number;      /* UINT64_MAX: larger; 0: no whole number, or below 0 */
    struct cpt_bytes key; /* of a member of an object */
    struct cpt_bytes text;
    struct cpti_json_value *first; /* of an array or object */
    struct cpti_json_value *last;
    struct cpti_json_value *next;
    struct cpti_json_value *parent;
};

/* One value and nothing behind it. NULL: CPT_CORRUPT with the place in bytes; CPT_LIMIT
 * beyond the depth or the limit of @arena; CPT_NO_MEMORY. The values are good as long
 * as @arena. */
struct cpti_json_value *cpti_json_read(struct cpt_bytes text, struct cpt_arena *arena,
                                       struct cpt_error *error);

/* Member @key of @object; NULL is fine, and if there is none. */
const struct cpti_json_value *cpti_json_member(const struct cpti_json_value *object,
                                               const char *key);

/* The first element of @array, or NULL. */
static inline const struct cpti_json_value *
cpti_json_first(const struct cpti_json_value *array)
{
    return array != NULL && array->type == CPTI_JSON_ARRAY ? array->first : NULL;
}

/* Members by type. */
uint64_t cpti_json_number(const struct cpti_json_value *object, const char *key);
struct cpt_bytes cpti_json_string(const struct cpti_json_value *object,
                                  const char *key);
bool cpti_json_is(const struct cpti_json_value *object, const char *key,
                  const char *text);

#endif
