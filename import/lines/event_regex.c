/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_regex.c - regular expressions by PCRE2; see event_regex.h */
#include "import/lines/event_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { JIT_STACK_BYTES = 32 << 10, JIT_STACK_BYTES_MAX = 512 << 10 };

/* As PCRE2 documents PCRE2_INFO_NAMETABLE: two bytes of the number, then the name. */
enum { NAME_AT = 2 };

struct cpti_regex {
    const struct cpt_alloc *alloc;
    pcre2_general_context *memory;
    pcre2_compile_context *rules;
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *match;
    pcre2_jit_stack *stack;
    bool is_compiled; /* to machine code */
    PCRE2_SPTR names;
    uint32_t name_count;
    uint32_t name_bytes;
};

/* PCRE2's malloc and free, of our allocator. */
static void *take(PCRE2_SIZE bytes, void *regex)
{
    const struct cpt_alloc *alloc = ((struct cpti_regex *)regex)->alloc;

    return alloc->resize(alloc->context, NULL, bytes);
}

static void give(void *memory, void *regex)
{
    cpt_alloc_free(((struct cpti_regex *)regex)->alloc, memory);
}

void cpti_regex_free(struct cpti_regex *regex)
{
    if (regex == NULL) {
        return;
    }
    pcre2_match_data_free(regex->match);
    pcre2_jit_stack_free(regex->stack);
    pcre2_match_context_free(regex->limits);
    pcre2_code_free(regex->code);
    pcre2_compile_context_free(regex->rules);
    pcre2_general_context_free(regex->memory);
    cpt_alloc_free(regex->alloc, regex);
}

/* \C, which cuts a character, is refused; a comment cannot switch limits off, as those
 * of a pattern may only lower ours. */
static cpt_status compile(struct cpti_regex *regex, struct cpt_bytes text,
                          struct cpt_error *error)
{
    int code = 0;
    PCRE2_SIZE at = 0;
    PCRE2_UCHAR reason[160];

    pcre2_set_max_pattern_length(regex->rules, CPTI_REGEX_BYTES_MAX);
    regex->code = pcre2_compile((PCRE2_SPTR)text.data, text.bytes,
                                PCRE2_DUPNAMES | PCRE2_NEVER_BACKSLASH_C |
                                    PCRE2_NEVER_UTF | PCRE2_DOLLAR_ENDONLY,
                                &code, &at, regex->rules);
    if (regex->code != NULL) {
        return CPT_OK;
    }
    if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED) {
        return CPT_NO_MEMORY;
    }
    if (pcre2_get_error_message(code, reason, sizeof reason) < 0) {
        reason[0] = '\0';
    }
    return cpt_error_set(error, CPT_INVALID, at, "%s", (const char *)reason);
}

static cpt_status prepare(struct cpti_regex *regex)
{
    regex->limits = pcre2_match_context_create(regex->memory);
    regex->match = pcre2_match_data_create_from_pattern(regex->code, regex->memory);
    if (regex->limits == NULL || regex->match == NULL) {
        return CPT_NO_MEMORY;
    }
    (void)pcre2_set_match_limit(regex->limits, CPTI_REGEX_MATCH_MAX);
    (void)pcre2_set_depth_limit(regex->limits, CPTI_REGEX_DEPTH_MAX);
    regex->is_compiled = pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE) == 0;
    if (regex->is_compiled) {
        regex->stack =
            pcre2_jit_stack_create(JIT_STACK_BYTES, JIT_STACK_BYTES_MAX, regex->memory);
        if (regex->stack == NULL) {
            return CPT_NO_MEMORY;
        }
        pcre2_jit_stack_assign(regex->limits, NULL, regex->stack);
    }
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_NAMECOUNT, &regex->name_count);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_NAMEENTRYSIZE, &regex->name_bytes);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_NAMETABLE, &regex->names);
    return CPT_OK;
}

cpt_status cpti_regex_new(const struct cpt_alloc *alloc, struct cpt_bytes text,
                          struct cpti_regex **out, struct cpt_error *error)
{
    struct cpti_regex *regex = NULL;
    cpt_status status = CPT_NO_MEMORY;

    alloc = alloc != NULL ? alloc : cpt_alloc_default();
    regex = cpt_alloc_zeroed(alloc, sizeof *regex);
    if (regex == NULL) {
        return CPT_NO_MEMORY;
    }
    regex->alloc = alloc;
    regex->memory = pcre2_general_context_create(take, give, regex);
    if (regex->memory != NULL) {
        regex->rules = pcre2_compile_context_create(regex->memory);
    }
    if (regex->rules != NULL) {
        status = compile(regex, text, error);
    }
    if (status == CPT_OK) {
        status = prepare(regex);
    }
    if (status != CPT_OK) {
        cpti_regex_free(regex);
        return status;
    }
    *out = regex;
    return CPT_OK;
}

cpt_status cpti_regex_match(struct cpti_regex *regex, struct cpt_bytes text)
{
    const PCRE2_SPTR at = (PCRE2_SPTR)(text.bytes > 0 ? text.data : "");
    const int count = regex->is_compiled
                          ? pcre2_jit_match(regex->code, at, text.bytes, 0, 0,
                                            regex->match, regex->limits)
                          : pcre2_match(regex->code, at, text.bytes, 0, 0, regex->match,
                                        regex->limits);

    return count > 0 ? CPT_OK : count == PCRE2_ERROR_NOMATCH ? CPT_END : CPT_LIMIT;
}

size_t cpti_regex_groups(const struct cpti_regex *regex)
{
    return regex->name_count;
}

struct cpt_bytes cpti_regex_name(const struct cpti_regex *regex, size_t group)
{
    return cpt_bytes_of(
        (const char *)(regex->names + group * regex->name_bytes + NAME_AT));
}

struct cpt_bytes cpti_regex_found(const struct cpti_regex *regex, size_t group,
                                  struct cpt_bytes text)
{
    const PCRE2_SPTR entry = regex->names + group * regex->name_bytes;
    const size_t number = (size_t)entry[0] << 8 | entry[1];
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(regex->match);
    const PCRE2_SIZE begin = ends[2 * number];
    const PCRE2_SIZE end = ends[2 * number + 1];

    if (begin == PCRE2_UNSET || begin > end || end > text.bytes) {
        return (struct cpt_bytes){NULL, 0};
    }
    return (struct cpt_bytes){text.data + begin, end - begin};
}
