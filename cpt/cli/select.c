/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* select.c - which requests count; see select.h */
#include "cpt/cli/select.h"

#include "cpt/cli/output.h"
#include "cpt/cli/when.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct cpti_option cpti_select_options[] = {
    {"where", 'w', "KEY=VALUE",
     "only requests of which this holds; may be repeated, then "
     "all must hold",
     NULL},
    {"since", 0, "TIME",
     "only requests that arrived at TIME or later: "
     "2026-01-31T12:00:00Z, 2026-01-31, @1769860800 or, so long ago, "
     "15m",
     NULL},
    {"until", 0, "TIME", "only requests that arrived before TIME", NULL},
    {"entry", 'e', "SERVICE", "only requests that entered at SERVICE", NULL},
    {"include-forced", 0, NULL, "also requests that somebody forced", NULL},
    {0},
};

/* --- Reading it --- */

static int add_term(struct cpti_selection *selection, const char *option,
                    struct cpt_bytes text)
{
    const char *equals = memchr(text.data, '=', text.bytes);
    struct cpti_term term = {0};

    if (equals == NULL || equals == text.data) {
        return cpti_usage("option '--%s' takes KEY=VALUE, not '%s'", option,
                          cpti_quoted_bytes(text));
    }
    if (selection->term_count == CPTI_TERMS_MAX) {
        return cpti_usage("there are more than %d terms", CPTI_TERMS_MAX);
    }
    term.key = (struct cpt_bytes){text.data, (size_t)(equals - text.data)};
    term.value = (struct cpt_bytes){equals + 1, text.bytes - term.key.bytes - 1};
    if (term.key.bytes > 5 && memcmp(term.key.data, "meta.", 5) == 0) {
        term.is_attribute = 1;
        term.key.data += 5;
        term.key.bytes -= 5;
    } else if (cpt_bytes_equal(term.key, cpt_bytes_of("random")) &&
               cpt_bytes_equal(term.value, cpt_bytes_of("true"))) {
        selection->is_random_only = 1;
    }
    selection->terms[selection->term_count++] = term;
    return CPTI_EXIT_DONE;
}

int cpti_selection_add(struct cpti_selection *selection, const char *option,
                       const char *expression)
{
    for (;;) {
        const size_t bytes = strcspn(expression, ",");
        const int failed =
            add_term(selection, option, (struct cpt_bytes){expression, bytes});

        if (failed != CPTI_EXIT_DONE || expression[bytes] == '\0') {
            return failed;
        }
        expression += bytes + 1;
    }
}

static int read_time(const struct cpti_arguments *arguments, const char *option,
                     const char **text, uint64_t *unix_ns)
{
    const char *given = cpti_value(arguments, option);

    if (given != NULL && !cpti_when(given, cpt_clock_unix_ns(), unix_ns)) {
        return cpti_usage("option '--%s' takes a time such as 2026-01-31T12:00:00Z, "
                          "@1769860800 or 15m (ago), not '%s'",
                          option, cpti_quoted(given));
    }
    *text = given;
    return CPTI_EXIT_DONE;
}

int cpti_selection_init(struct cpti_selection *selection,
                        const struct cpti_arguments *arguments)
{
    const char *text;
    int status = CPTI_EXIT_DONE;

    *selection = (struct cpti_selection){.until_ns = UINT64_MAX};
    for (size_t i = 0; (text = cpti_value_at(arguments, "where", i)) != NULL; i++) {
        status = add_term(selection, "where", cpt_bytes_of(text));
        if (status != CPTI_EXIT_DONE) {
            return status;
        }
    }
    selection->entry = cpti_value(arguments, "entry");
    selection->includes_forced = cpti_has(arguments, "include-forced");
    status = read_time(arguments, "since", &selection->since, &selection->since_ns);
    if (status == CPTI_EXIT_DONE) {
        status = read_time(arguments, "until", &selection->until, &selection->until_ns);
    }
    return status;
}

/* --- Applying it --- */

static int equals_number(const struct cpt_attribute *attribute, struct cpt_bytes value)
{
    char text[64];
    char *end;

    if (value.bytes == 0 || value.bytes >= sizeof text) {
        return 0;
    }
    memcpy(text, value.data, value.bytes);
    text[value.bytes] = '\0';
    if (attribute->type == CPT_ATTRIBUTE_INTEGER) {
        char number[32];

        (void)snprintf(number, sizeof number, "%" PRId64, attribute->value.integer);
        if (strcmp(number, text) == 0) {
            return 1;
        }
        return strtod(text, &end) == (double)attribute->value.integer && *end == '\0' &&
               strchr(text, '.') != NULL; /* 5.0 is 5 */
    }
    return strtod(text, &end) == attribute->value.real && *end == '\0';
}

static int equals_bool(int is_true, struct cpt_bytes value)
{
    return cpt_bytes_equal(value, cpt_bytes_of(is_true ? "true" : "false"));
}

static int attribute_holds(struct cpti_term *term, const struct cpt_record *record)
{
    const struct cpt_attribute *attribute = cpt_record_attribute(record, term->key);

    if (attribute == NULL) {
        return 0;
    }
    term->was_seen = 1;
    switch (attribute->type) {
    case CPT_ATTRIBUTE_TEXT:
        return cpt_bytes_equal(attribute->value.text, term->value);
    case CPT_ATTRIBUTE_BOOL:
        return equals_bool(attribute->value.is_true, term->value);
    default:
        return equals_number(attribute, term->value);
    }
}

static int trace_id_holds(const struct cpti_term *term, const struct cpt_record *record)
{
    char text[33];

    if (!record->has_trace_id) {
        return 0;
    }
    for (size_t i = 0; i < sizeof record->trace_id; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", record->trace_id[i]);
    }
    return cpt_bytes_equal(term->value, cpt_bytes_of(text));
}

static int term_holds(struct cpti_term *term, const struct cpt_record *record)
{
    const struct {
        const char *key;
        const struct cpt_bytes *text;
        int is_true;
    } fields[] = {
        {"service", &record->service, 0},
        {"method", &record->method, 0},
        {"entry", &record->entry, 0},
        {"status", &record->status, 0},
        {"forced", NULL, record->is_forced},
        {"random", NULL, record->is_random},
        {"failed", NULL, record->is_failed},
        {"local_root", NULL, record->is_local_root},
    };

    if (term->is_attribute) {
        return attribute_holds(term, record);
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (!cpt_bytes_equal(term->key, cpt_bytes_of(fields[i].key))) {
            continue;
        }
        term->was_seen = 1;
        return fields[i].text != NULL ? cpt_bytes_equal(*fields[i].text, term->value)
                                      : equals_bool(fields[i].is_true, term->value);
    }
    if (cpt_bytes_equal(term->key, cpt_bytes_of("trace_id"))) {
        term->was_seen = 1;
        return trace_id_holds(term, record);
    }
    return attribute_holds(term, record);
}

enum cpti_selected cpti_selection_has(struct cpti_selection *selection,
                                      const struct cpt_record *record)
{
    int holds = record->start_unix_ns >= selection->since_ns &&
                record->start_unix_ns < selection->until_ns;

    for (size_t i = 0; i < selection->term_count; i++) {
        /* each one, so that each notes whether its key was there */
        holds = term_holds(&selection->terms[i], record) && holds;
    }
    if (!holds) {
        return CPTI_NOT_SELECTED;
    }
    return record->is_forced && !selection->includes_forced ? CPTI_FORCED_EXCLUDED
                                                            : CPTI_SELECTED;
}

uint64_t cpti_selection_weight(const struct cpti_selection *selection,
                               const struct cpt_record *record)
{
    if (record->is_forced && !selection->is_random_only) {
        return CPT_WEIGHT_ONE;
    }
    return cpt_weight_of_probability(record->probability);
}

/* A note's value is UTF-8 text; what comes from the command line may be anything. */
static cpt_status note_term(const struct cpti_term *term, struct cpt_tree *tree)
{
    char text[2 * CPTI_TEXT_BYTES];
    char key[CPTI_TEXT_BYTES];
    char value[CPTI_TEXT_BYTES - 512];

    (void)cpt_text_name(term->key, key, sizeof key);
    (void)cpt_text_name(term->value, value, sizeof value);
    (void)snprintf(text, sizeof text, "%s%s=%s", term->is_attribute ? "meta." : "", key,
                   value);
    text[CPT_TREE_NOTE_VALUE_BYTES_MAX] = '\0';
    return cpt_tree_note(tree, "where", text);
}

cpt_status cpti_selection_note(const struct cpti_selection *selection,
                               struct cpt_tree *tree)
{
    cpt_status status = CPT_OK;
    char text[64];

    for (size_t i = 0; i < selection->term_count && status == CPT_OK; i++) {
        status = note_term(&selection->terms[i], tree);
    }
    /* as points of time: "15m" means nothing to who reads the tree tomorrow */
    if (status == CPT_OK && selection->since != NULL) {
        status = cpt_tree_note(tree, "from", cpti_utc(selection->since_ns, text));
    }
    if (status == CPT_OK && selection->until != NULL) {
        status = cpt_tree_note(tree, "to", cpti_utc(selection->until_ns, text));
    }
    if (status == CPT_OK && selection->includes_forced) {
        status = cpt_tree_note(tree, "forced", "included");
    }
    return status;
}

int cpti_selection_is_narrow(const struct cpti_selection *selection)
{
    return selection->term_count != 0 || selection->since != NULL ||
           selection->until != NULL || selection->includes_forced;
}

const struct cpti_term *cpti_selection_unseen(const struct cpti_selection *selection)
{
    for (size_t i = 0; i < selection->term_count; i++) {
        if (!selection->terms[i].was_seen) {
            return &selection->terms[i];
        }
    }
    return NULL;
}
