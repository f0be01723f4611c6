/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* select.c - which requests count; see select.h */
#include "tool/select/select.h"

#include "tool/select/expression_lex.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/select/when.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_path.h"
#include "cpt/cpt_trace.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"
#include "wire/cpt_metadata.h"

#include <inttypes.h>
#include <string.h>

const struct cpti_option cpti_select_options[] = {
    {"where", 'w', "EXPR",
     "only requests for which this holds: KEY=VALUE, or an expression of "
     "cpt-select(7); if repeated, all must hold"},
    {"since", 0, "TIME",
     "only requests that arrived at TIME or later: 2026-01-31T12:00:00Z, 2026-01-31, "
     "@1769860800, or 15m (ago)"},
    {"until", 0, "TIME", "only requests that arrived before TIME"},
    {"entry", 'e', "SERVICE", "only requests that entered at SERVICE"},
    {"include-forced", 0, NULL,
     "also requests with forced tracing; each request then counts 1, whatever its "
     "probability"},
    {"include-fragments", 0, NULL, "also fragments, of traces whose root was lost"},
    {"evidence", 0, "LEVEL",
     "only requests of which it is known at least so well who waited for whom: "
     "recorded, measured, told, learnt or inferred",
     "recorded measured told learnt inferred"},
    {0},
};

const struct cpti_option cpti_sample_options[] = {
    {"sample", 0, "COUNT",
     "only COUNT of the selected requests, drawn at random; default: 100000 with "
     "--seed, otherwise all"},
    {"seed", 0, "NUMBER",
     "draw another sample; the same NUMBER draws the same sample; default: 1"},
    {0},
};

const struct cpti_option cpti_count_options[] = {
    {"keep-duplicates", 0, NULL,
     "count a record again each time it is given; without it, it counts once"},
    {0},
};

/* --- Options --- */

int cpti_expression_refused(const char *what, struct cpt_bytes text,
                            const struct cpti_expression_error *error)
{
    enum { BEFORE = 60, BEHIND = 40 };
    size_t start = error->at > BEFORE ? error->at - BEFORE : 0;
    size_t end = text.bytes - error->at > BEHIND ? error->at + BEHIND : text.bytes;
    size_t column = 1;
    const char *before;
    int exit_status;

    for (size_t i = 0; i < error->at; i++) {
        column += ((unsigned char)text.data[i] & 0xc0U) != 0x80U;
    }
    while (start < error->at && ((unsigned char)text.data[start] & 0xc0U) == 0x80U) {
        start++;
    }
    while (end < text.bytes && ((unsigned char)text.data[end] & 0xc0U) == 0x80U) {
        end++;
    }
    exit_status = cpti_usage_at((unsigned)column, "%s: column %zu: %s", what, column,
                                error->sentence);
    before = cpti_printable((struct cpt_bytes){text.data + start, error->at - start});
    cpti_detail(
        "  %s%s%s\n  %*s^\n", start != 0 ? "..." : "", before,
        cpti_printable((struct cpt_bytes){text.data + error->at, end - error->at}),
        (int)(cpti_text_columns(before) + (start != 0 ? 3 : 0)), "");
    return exit_status;
}

static int report_error(const char *option, struct cpt_bytes text,
                        const struct cpti_expression_error *error)
{
    char what[64];

    (void)snprintf(what, sizeof what, "option '--%.40s'", option);
    return cpti_expression_refused(what, text, error);
}

static bool is_of_attribute(const struct cpti_expression *expression, size_t test,
                            const char *key)
{
    return expression->tests[test].subject == CPTI_SUBJECT_ATTRIBUTE &&
           cpt_bytes_equal(cpti_expression_key(expression, test), cpt_bytes_of(key));
}

static int add_term(struct cpti_selection *selection, const char *option,
                    struct cpt_bytes text)
{
    struct cpti_expression *expression = &selection->expression;
    const size_t first = expression->test_count;
    struct cpti_expression_error error;

    if (!cpti_expression_add(expression, text, cpt_clock_unix_ns(), &error)) {
        return report_error(option, text, &error);
    }
    selection->texts[expression->term_count - 1] = text;
    for (size_t i = first; i < expression->test_count; i++) {
        const struct cpti_test *test = &expression->tests[i];

        selection->was_seen[i] = test->subject != CPTI_SUBJECT_ATTRIBUTE;
        selection->unseen_count += !selection->was_seen[i];
        if (test->subject == CPTI_SUBJECT_LOCAL_ROOT) {
            selection->includes_local_roots = true;
        }
        selection->includes_fragments |=
            is_of_attribute(expression, i, CPTI_FRAGMENT_ATTRIBUTE);
        if (is_of_attribute(expression, i, CPTI_SOURCE_ATTRIBUTE)) {
            selection->events = CPTI_EVENTS_TAKEN;
        }
    }
    selection->is_random_only = cpti_expression_requires_random(expression);
    return CPTI_EXIT_DONE;
}

int cpti_selection_add(struct cpti_selection *selection, const char *option,
                       const char *expression)
{
    const struct cpt_bytes text = cpt_bytes_of(expression);

    if (!cpti_expression_is_simple(text)) {
        return add_term(selection, option, text);
    }
    for (;;) {
        const size_t bytes = strcspn(expression, ",");
        const struct cpt_bytes term = {expression, bytes};
        int exit_status;

        if (!cpti_expression_is_simple(term)) {
            return cpti_usage("option '--%s' takes KEY=VALUE between commas, not '%s'; "
                              "join expressions with 'and'",
                              option, cpti_printable(term));
        }
        exit_status = add_term(selection, option, term);
        if (exit_status != CPTI_EXIT_DONE || expression[bytes] == '\0') {
            return exit_status;
        }
        expression += bytes + 1;
    }
}

/* The value of --evidence, which is one of its words; NULL: it is not given. */
static void read_evidence(struct cpti_selection *selection, const char *level)
{
    for (unsigned i = 0; level != NULL && i < CPT_EVIDENCE_COUNT; i++) {
        if (strcmp(level, cpt_evidence_word(i)) == 0) {
            selection->has_evidence = true;
            selection->evidence = i;
            selection->events = CPTI_EVENTS_TAKEN;
        }
    }
}

/* Reads --sample and --seed. */
static int read_sample(struct cpti_selection *selection,
                       const struct cpti_arguments *arguments)
{
    const char *sample = cpti_value(arguments, "sample");
    const char *seed = cpti_value(arguments, "seed");
    struct cpti_value number = {0};

    if (sample != NULL) {
        if (!cpti_lex_number(cpt_bytes_of(sample), &number) ||
            number.number != CPTI_NUMBER_INTEGER || number.integer < 1 ||
            number.integer > CPTI_SAMPLE_MAX) {
            return cpti_usage("option '--sample' takes a number of requests from 1 to "
                              "%d, not '%s'",
                              CPTI_SAMPLE_MAX, cpti_quoted(sample));
        }
        selection->sample_count = (uint64_t)number.integer;
    }
    if (seed != NULL) {
        if (!cpti_lex_number(cpt_bytes_of(seed), &number) ||
            number.number != CPTI_NUMBER_INTEGER || number.integer < 0) {
            return cpti_usage("option '--seed' takes a number from 0 on, not '%s'",
                              cpti_quoted(seed));
        }
        selection->seed = (uint64_t)number.integer;
        if (sample == NULL) {
            selection->sample_count = CPTI_SAMPLE_DEFAULT;
        }
    }
    return CPTI_EXIT_DONE;
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
    int exit_status;

    *selection = (struct cpti_selection){.until_ns = UINT64_MAX, .seed = 1};
    for (size_t i = 0; (text = cpti_value_at(arguments, "where", i)) != NULL; i++) {
        exit_status = add_term(selection, "where", cpt_bytes_of(text));
        if (exit_status != CPTI_EXIT_DONE) {
            return exit_status;
        }
    }
    selection->entry = cpti_value(arguments, "entry");
    selection->includes_local_roots |= selection->entry != NULL;
    selection->includes_forced = cpti_has(arguments, "include-forced");
    selection->includes_fragments |= cpti_has(arguments, "include-fragments");
    selection->keeps_duplicates = cpti_has(arguments, "keep-duplicates");
    read_evidence(selection, cpti_value(arguments, "evidence"));
    exit_status = read_sample(selection, arguments);
    if (exit_status == CPTI_EXIT_DONE) {
        exit_status =
            read_time(arguments, "since", &selection->since, &selection->since_ns);
    }
    return exit_status != CPTI_EXIT_DONE
               ? exit_status
               : read_time(arguments, "until", &selection->until, &selection->until_ns);
}

/* --- Records --- */

void cpti_selection_deinit(struct cpti_selection *selection)
{
    cpti_scratch_deinit(&selection->scratch);
}

static void note_seen(struct cpti_selection *selection, size_t index)
{
    selection->was_seen[index] = true;
    selection->unseen_count--;
}

/* Notes the keys of @record that no record had before. */
static void note_keys(struct cpti_selection *selection, const struct cpt_record *record)
{
    for (size_t i = 0; i < selection->expression.test_count; i++) {
        if (!selection->was_seen[i] &&
            cpt_record_attribute(
                record, cpti_expression_key(&selection->expression, i)) != NULL) {
            note_seen(selection, i);
        }
    }
}

bool cpti_is_fragment(const struct cpt_record *record)
{
    return cpt_record_attribute(record, cpt_bytes_of(CPTI_FRAGMENT_ATTRIBUTE)) != NULL;
}

bool cpti_is_of_events(const struct cpt_record *record)
{
    const struct cpt_attribute *source =
        cpt_record_attribute(record, cpt_bytes_of(CPTI_SOURCE_ATTRIBUTE));

    return source != NULL && source->type == CPT_ATTRIBUTE_TEXT &&
           cpt_bytes_equal(source->value.text, cpt_bytes_of(CPTI_SOURCE_EVENTS));
}

unsigned cpti_evidence_of(const struct cpt_record *record, unsigned path_flags)
{
    const struct cpt_attribute *told =
        cpt_record_attribute(record, cpt_bytes_of(CPTI_EVIDENCE_ATTRIBUTE));

    if (told != NULL && told->type == CPT_ATTRIBUTE_TEXT) {
        for (unsigned i = 0; i < CPT_EVIDENCE_COUNT; i++) {
            if (cpt_bytes_equal(told->value.text, cpt_bytes_of(cpt_evidence_word(i)))) {
                return i;
            }
        }
        return CPT_EVIDENCE_INFERRED; /* of a later version */
    }
    return (path_flags & CPT_PATH_APPROXIMATE) != 0 ? CPT_EVIDENCE_INFERRED
                                                    : CPT_EVIDENCE_RECORDED;
}

unsigned cpti_record_evidence(const struct cpt_record *record)
{
    struct cpt_metadata_summary path = {0};

    (void)cpt_metadata_peek(record->path_bytes.data, record->path_bytes.bytes, &path,
                            NULL);
    return cpti_evidence_of(record, path.path_flags);
}

/* Whether one begins with "cpt.": most records have none. */
static bool has_own_attribute(const struct cpt_record *record)
{
    for (size_t i = 0; i < record->attribute_count; i++) {
        const struct cpt_bytes *key = &record->attributes[i].key;

        if (key->bytes > 4 && memcmp(key->data, "cpt.", 4) == 0) {
            return true;
        }
    }
    return false;
}

enum cpti_selected cpti_selection_has(struct cpti_selection *selection,
                                      const struct cpt_record *record)
{
    if (selection->unseen_count != 0) {
        note_keys(selection, record);
    }
    if (record->start_unix_ns < selection->since_ns ||
        record->start_unix_ns >= selection->until_ns ||
        cpti_expression_holds(&selection->expression, record, &selection->scratch) ==
            0 ||
        (selection->has_evidence &&
         cpti_record_evidence(record) > selection->evidence)) {
        return CPTI_NOT_SELECTED;
    }
    if (record->is_forced && !selection->includes_forced) {
        return CPTI_FORCED_EXCLUDED;
    }
    if (!has_own_attribute(record)) {
        return CPTI_SELECTED;
    }
    if (!selection->includes_fragments && cpti_is_fragment(record)) {
        return CPTI_FRAGMENT_EXCLUDED;
    }
    return selection->events != CPTI_EVENTS_TAKEN && cpti_is_of_events(record)
               ? CPTI_EVENTS_EXCLUDED
               : CPTI_SELECTED;
}

bool cpti_selection_enters(const struct cpti_selection *selection,
                           struct cpt_bytes name)
{
    char plain[CPTI_TEXT_BYTES];
    struct cpt_bytes typed;
    size_t bytes;

    if (selection->entry == NULL) {
        return true;
    }
    typed = cpt_bytes_of(selection->entry);
    if (cpt_bytes_equal(name, typed)) {
        return true;
    }
    bytes = cpti_name_shown(typed, plain, sizeof plain);
    return bytes != 0 && cpt_bytes_equal(name, (struct cpt_bytes){plain, bytes});
}

enum cpti_selected cpti_selection_counts(struct cpti_selection *selection,
                                         const struct cpt_record *record)
{
    const enum cpti_selected selected = cpti_selection_has(selection, record);

    if (selected == CPTI_NOT_SELECTED || record->is_background ||
        !cpti_selection_enters(selection, record->service)) {
        return CPTI_NOT_SELECTED;
    }
    return record->is_local_root && !selection->includes_local_roots
               ? CPTI_LOCAL_ROOT_EXCLUDED
               : selected;
}

bool cpti_selection_may_count(const struct cpti_selection *selection,
                              const struct cpt_record *record)
{
    return !record->is_background &&
           (!record->is_forced || selection->includes_forced) &&
           (selection->includes_fragments || !cpti_is_fragment(record)) &&
           (selection->events == CPTI_EVENTS_TAKEN || !cpti_is_of_events(record)) &&
           (!record->is_local_root ||
            (selection->includes_local_roots &&
             cpti_selection_enters(selection, record->service)));
}

enum cpti_selected cpti_selection_population(struct cpti_selection *selection,
                                             const struct cpt_record *record)
{
    const enum cpti_selected selected = cpti_selection_counts(selection, record);

    return selected == CPTI_SELECTED && selection->scratch.is_decoded < 0
               ? CPTI_NOT_SELECTED
               : selected;
}

/* --- Blocks, by an index --- */

bool cpti_selection_may_pass(const struct cpti_selection *selection)
{
    return selection->since_ns != 0 || selection->until_ns != UINT64_MAX ||
           selection->entry != NULL || selection->expression.test_count != 0;
}

/* The services of @index that --entry allows. */
static uint64_t entry_set(const struct cpti_selection *selection,
                          const struct cpt_log_index *index)
{
    const struct cpt_bytes typed = cpt_bytes_of(selection->entry);
    char plain[CPTI_TEXT_BYTES];
    const size_t bytes = cpti_name_shown(typed, plain, sizeof plain);

    return cpt_log_index_service_set(index, typed) |
           (bytes != 0
                ? cpt_log_index_service_set(index, (struct cpt_bytes){plain, bytes})
                : 0);
}

bool cpti_selection_may_have(const struct cpti_selection *selection,
                             const struct cpt_log_index *index,
                             const struct cpt_log_index_block *block)
{
    if (block->start_max_ns < selection->since_ns ||
        block->start_min_ns >= selection->until_ns) {
        return false;
    }
    if (selection->entry != NULL &&
        (block->services & entry_set(selection, index)) == 0) {
        return false;
    }
    return cpti_expression_may_hold(&selection->expression, index, block);
}

void cpti_selection_note_passed(struct cpti_selection *selection,
                                const struct cpt_log_index *index, uint64_t keys)
{
    for (size_t i = 0; i < selection->expression.test_count; i++) {
        if (!selection->was_seen[i] &&
            (keys & cpt_log_index_key_set(
                        index, cpti_expression_key(&selection->expression, i))) != 0) {
            note_seen(selection, i);
        }
    }
}

/* --- Weights and notes --- */

uint64_t cpti_selection_weight(const struct cpti_selection *selection,
                               const struct cpt_record *record)
{
    const uint64_t weight = cpt_weight_of_probability(record->probability);

    if (selection->is_random_only ||
        (!selection->includes_forced && !record->is_forced)) {
        return weight;
    }
    return CPT_WEIGHT_ONE;
}

static cpt_status note_percentiles(const struct cpti_selection *selection,
                                   struct cpt_tree *tree)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < selection->expression.percentile_count && status == CPT_OK;
         i++) {
        const struct cpti_percentile *own = &selection->expression.percentiles[i];
        char text[64];

        (void)snprintf(text, sizeof text, "%s = %" PRIu64 ".%06" PRIu64 " ms",
                       own->name, own->latency_ns / 1000000, own->latency_ns % 1000000);
        status = cpt_tree_note(tree, "percentile", text);
    }
    return status;
}

cpt_status cpti_selection_note(const struct cpti_selection *selection,
                               struct cpt_tree *tree)
{
    cpt_status status = CPT_OK;
    char text[64];

    for (size_t i = 0; i < selection->expression.term_count && status == CPT_OK; i++) {
        /* a note is valid UTF-8; text from the command line may be any bytes */
        char where[CPT_TREE_NOTE_VALUE_BYTES_MAX + 1];

        (void)cpti_printable_to(selection->texts[i], where, sizeof where);
        status = cpt_tree_note(tree, "where", where);
    }
    status = CPTI_THEN(status, note_percentiles(selection, tree));
    /* as points in time: "15m" means nothing tomorrow */
    if (status == CPT_OK && selection->since != NULL) {
        status = cpt_tree_note(tree, "from", cpti_utc(selection->since_ns, text));
    }
    if (status == CPT_OK && selection->until != NULL) {
        status = cpt_tree_note(tree, "to", cpti_utc(selection->until_ns, text));
    }
    if (status == CPT_OK && selection->includes_forced) {
        status = cpt_tree_note(tree, "forced", "included");
    }
    if (status == CPT_OK && selection->includes_fragments) {
        status = cpt_tree_note(tree, "fragments", "included");
    }
    if (status == CPT_OK && selection->has_evidence) {
        (void)snprintf(text, sizeof text, "--evidence %s",
                       cpt_evidence_word(selection->evidence));
        status = cpt_tree_note(tree, "where", text);
    }
    if (status == CPT_OK && selection->keeps_duplicates) {
        status = cpt_tree_note(tree, "duplicates", "kept");
    }
    if (status == CPT_OK && selection->includes_forced && !selection->is_random_only) {
        status = cpt_tree_note(tree, "weights", "none: each record counts 1");
    }
    return status;
}

bool cpti_selection_has_terms(const struct cpti_selection *selection)
{
    return selection->expression.term_count != 0 || selection->since != NULL ||
           selection->until != NULL || selection->entry != NULL;
}

bool cpti_selection_is_narrow(const struct cpti_selection *selection)
{
    return selection->expression.term_count != 0 || selection->since != NULL ||
           selection->until != NULL || selection->includes_forced ||
           selection->includes_fragments || selection->has_evidence ||
           selection->sample_count != 0;
}

void cpti_selection_join(struct cpti_selection *selection, struct cpti_selection *from)
{
    for (size_t i = 0; i < selection->expression.test_count; i++) {
        if (from->was_seen[i] && !selection->was_seen[i]) {
            note_seen(selection, i);
        }
    }
    cpti_selection_deinit(from);
}

bool cpti_selection_has_paths(const struct cpti_selection *selection)
{
    for (size_t i = 0; i < selection->expression.test_count; i++) {
        if (selection->expression.tests[i].subject == CPTI_SUBJECT_PATH) {
            return true;
        }
    }
    return false;
}

struct cpt_bytes cpti_selection_unseen(const struct cpti_selection *selection)
{
    for (size_t i = 0; i < selection->expression.test_count; i++) {
        if (!selection->was_seen[i]) {
            return cpti_expression_key(&selection->expression, i);
        }
    }
    return (struct cpt_bytes){NULL, 0};
}

bool cpti_selection_is_doubtful(const struct cpti_selection *selection)
{
    for (size_t i = 0; i < selection->expression.term_count; i++) {
        const struct cpt_bytes text = selection->texts[i];

        if (cpti_expression_is_simple(text) &&
            (memmem(text.data, text.bytes, " and ", 5) != NULL ||
             memmem(text.data, text.bytes, " or ", 4) != NULL)) {
            return true;
        }
    }
    return false;
}
