/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* diagnosis.c - why no request is selected; see diagnosis.h */
#include "tool/requests/diagnosis.h"

#include "tool/base/files.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/requests/stream.h"
#include "tool/select/expression_path.h"
#include "tool/select/terms.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Records that are looked at, paths whose names are collected, and values that are
 * listed. */
enum { RECORDS_MAX = 2000000, PATHS_MAX = 4096, LISTED_MAX = 6 };

/* What is known of one test that held for no record. */
struct hint {
    bool has_held;
    struct cpti_names names; /* values of its key, or frames */
    uint64_t shortest_ns;    /* of latencies, or times of the frames */
    uint64_t longest_ns;
};

/* A term of --where. */
struct term {
    struct cpt_bytes text;
    struct cpti_expression expression;
    struct cpti_scratch scratch;
    uint64_t left_count;
    struct hint *hints; /* one for each test */
};

struct diagnosis {
    const struct cpti_selection *selection;
    struct term *terms;
    size_t term_count;
    struct cpti_names keys;     /* of all attributes */
    struct cpti_names services; /* of all records */
    uint64_t record_count;
    uint64_t in_window_count;
    uint64_t entered_count;
    uint64_t first_ns;
    uint64_t last_ns;
    size_t path_count; /* whose frames were collected */
    struct cpt_path *path;
};

/* --- Collecting --- */

static void add_bytes(struct cpti_names *names, struct cpt_bytes name)
{
    cpti_names_add(names, cpti_printable(name));
}

static void add_attribute(struct cpti_names *names, const struct cpt_attribute *value)
{
    char text[64];

    switch (value->type) {
    case CPT_ATTRIBUTE_TEXT:
        add_bytes(names, value->value.text);
        return;
    case CPT_ATTRIBUTE_INTEGER:
        (void)snprintf(text, sizeof text, "%" PRId64, value->value.integer);
        break;
    case CPT_ATTRIBUTE_FLOAT:
        (void)snprintf(text, sizeof text, "%.15g", value->value.real);
        break;
    default:
        (void)snprintf(text, sizeof text, "%s",
                       value->value.is_true ? "true" : "false");
        break;
    }
    cpti_names_add(names, text);
}

/* The frames of @record, of the first records only: that is enough for a hint. */
static void add_frames(struct diagnosis *diagnosis, struct cpti_names *names,
                       const struct cpt_record *record)
{
    char text[CPTI_TEXT_BYTES];

    if (diagnosis->path_count == PATHS_MAX) {
        return;
    }
    diagnosis->path_count++;
    cpt_path_reset(diagnosis->path);
    if (cpt_record_path(record, NULL, diagnosis->path, NULL) != CPT_OK) {
        return;
    }
    for (uint32_t i = 0; i < cpt_path_frame_count(diagnosis->path); i++) {
        (void)cpt_path_frame_text(diagnosis->path, i, text, sizeof text);
        cpti_names_add(names, text);
    }
}

static void note_ns(struct hint *hint, uint64_t ns)
{
    hint->longest_ns = ns > hint->longest_ns ? ns : hint->longest_ns;
    hint->shortest_ns = ns < hint->shortest_ns ? ns : hint->shortest_ns;
}

/* Notes for test @index of @term, which did not hold for @record, what would have. */
static void note_value(struct diagnosis *diagnosis, struct term *term, size_t index,
                       const struct cpt_record *record)
{
    const struct cpt_bytes key = cpti_expression_key(&term->expression, index);
    const struct cpt_attribute *attribute;
    struct hint *hint = &term->hints[index];
    uint64_t ns = 0;

    switch (term->expression.tests[index].subject) {
    case CPTI_SUBJECT_SERVICE:
        add_bytes(&hint->names, record->service);
        break;
    case CPTI_SUBJECT_METHOD:
        add_bytes(&hint->names, record->method);
        break;
    case CPTI_SUBJECT_ENTRY:
        add_bytes(&hint->names, record->entry);
        break;
    case CPTI_SUBJECT_STATUS:
        add_bytes(&hint->names, record->status);
        break;
    case CPTI_SUBJECT_LATENCY:
        note_ns(hint, record->latency_ns);
        break;
    case CPTI_SUBJECT_ATTRIBUTE:
        attribute = cpt_record_attribute(record, key);
        if (attribute != NULL) {
            add_attribute(&hint->names, attribute);
        }
        break;
    case CPTI_SUBJECT_PATH:
        (void)cpti_expression_path_ns(&term->expression, index, record, &term->scratch,
                                      &ns);
        note_ns(hint, ns);
        if (ns == 0) {
            add_frames(diagnosis, &hint->names, record);
        }
        break;
    default:
        break;
    }
}

static void note_tests(struct diagnosis *diagnosis, struct term *term,
                       const struct cpt_record *record)
{
    for (size_t i = 0; i < term->expression.test_count; i++) {
        if (term->hints[i].has_held) {
            continue;
        }
        cpti_scratch_begin(&term->scratch);
        term->hints[i].has_held =
            cpti_expression_test(&term->expression, i, record, &term->scratch) == 1;
        if (!term->hints[i].has_held) {
            note_value(diagnosis, term, i, record);
        }
    }
}

static bool is_in_window(const struct cpti_selection *selection,
                         const struct cpt_record *record)
{
    return record->start_unix_ns >= selection->since_ns &&
           record->start_unix_ns < selection->until_ns;
}

static int meet_record(void *context, const struct cpti_request *request)
{
    struct diagnosis *diagnosis = context;
    const struct cpt_record *record = request->record;
    const struct cpti_selection *selection = diagnosis->selection;
    const bool is_first = diagnosis->record_count == 0;
    bool is_left;

    if (diagnosis->record_count++ == RECORDS_MAX) {
        return CPTI_STREAM_ENOUGH;
    }
    if (is_first || record->start_unix_ns < diagnosis->first_ns) {
        diagnosis->first_ns = record->start_unix_ns;
    }
    if (is_first || record->start_unix_ns > diagnosis->last_ns) {
        diagnosis->last_ns = record->start_unix_ns;
    }
    for (size_t i = 0; i < record->attribute_count; i++) {
        add_bytes(&diagnosis->keys, record->attributes[i].key);
    }
    add_bytes(&diagnosis->services, record->service);
    is_left = is_in_window(selection, record);
    diagnosis->in_window_count += is_left;
    is_left = is_left && cpti_selection_enters(selection, record->service);
    diagnosis->entered_count += is_left;
    for (size_t i = 0; i < diagnosis->term_count; i++) {
        struct term *term = &diagnosis->terms[i];

        note_tests(diagnosis, term, record);
        is_left = is_left &&
                  cpti_expression_holds(&term->expression, record, &term->scratch) != 0;
        term->left_count += is_left;
    }
    return CPTI_EXIT_DONE;
}

/* --- Printing --- */

static void say(uint64_t count, const char *term, const char *hint)
{
    cpti_below("%6" PRIu64 "  %s%s%s", count, term, hint[0] != '\0' ? ": " : "", hint);
}

/* "did you mean …?", or the names if they are few. */
static void suggest(const char *given, const struct cpti_names *names, char *text,
                    size_t capacity)
{
    const char *nearest = cpti_nearest_name(given, names);
    size_t bytes = 0;

    text[0] = '\0';
    if (nearest != NULL) {
        (void)snprintf(text, capacity, "; did you mean \"%.256s\"?", nearest);
        return;
    }
    for (size_t i = 0; i < names->count && names->count <= LISTED_MAX; i++) {
        const int more = snprintf(
            text + bytes, capacity - bytes, "%s\"%.64s\"",
            i == 0 ? (names->count == 1 ? "; there is " : "; there are ") : ", ",
            names->all[i]);

        bytes += more > 0 && (size_t)more < capacity - bytes ? (size_t)more : 0;
    }
}

/* The key of a test as people type it. */
static const char *key_of(const struct term *term, size_t index)
{
    return cpti_quoted_bytes(cpti_expression_key(&term->expression, index));
}

/* @frame with < and > as ‹ and ›, which were meant, perhaps; all else safe to print. */
static void show_frame(struct cpt_bytes frame, char text[CPTI_TEXT_BYTES])
{
    static const struct {
        const char *from;
        const char *to;
    } marks[] = {{"\\xe2\\x80\\xb9", "\u2039"}, /* as it is escaped in a name */
                 {"\\x3c", "\u2039"},
                 {"<", "\u2039"},
                 {">", "\u203a"}};
    const char *at = cpti_printable(frame);
    size_t bytes = 0;

    while (*at != '\0' && bytes + 4 < CPTI_TEXT_BYTES) {
        size_t i = 0;

        while (i < sizeof marks / sizeof marks[0] &&
               strncmp(at, marks[i].from, strlen(marks[i].from)) != 0) {
            i++;
        }
        if (i == sizeof marks / sizeof marks[0]) {
            text[bytes++] = *at++;
            continue;
        }
        memcpy(text + bytes, marks[i].to, 3);
        bytes += 3;
        at += strlen(marks[i].from);
    }
    text[bytes] = '\0';
}

/* Of a test of frames: the first frame that no path has. */
static void hint_at_frames(const struct term *term, size_t index, char *text,
                           size_t capacity)
{
    const struct cpti_test *test = &term->expression.tests[index];
    const struct hint *hint = &term->hints[index];
    char near[640];
    char ms[32];

    for (size_t i = 0; i < test->frame_count && hint->longest_ns == 0; i++) {
        char frame[CPTI_TEXT_BYTES];

        show_frame(cpti_expression_text(&term->expression,
                                        &term->expression.values[test->value + i]),
                   frame);
        if (!cpti_names_have(&hint->names, frame)) {
            suggest(frame, &hint->names, near, sizeof near);
            (void)snprintf(text, capacity, "no request has \"%.256s\"%s", frame, near);
            return;
        }
    }
    if (hint->longest_ns != 0) {
        (void)snprintf(text, capacity, "it took at most %s ms",
                       cpti_ms((double)hint->longest_ns, ms));
    } else if (test->frame_count > 1) {
        (void)snprintf(text, capacity,
                       "no request has these frames directly below each other");
    }
}

/* Of a test with a value: the value that no record has. */
static void hint_at_value(const struct diagnosis *diagnosis, const struct term *term,
                          size_t index, char *text, size_t capacity)
{
    const struct cpti_test *test = &term->expression.tests[index];
    const struct hint *hint = &term->hints[index];
    const char *value;
    char near[640];

    if (test->subject == CPTI_SUBJECT_ATTRIBUTE && hint->names.count == 0) {
        suggest(key_of(term, index), &diagnosis->keys, near, sizeof near);
        (void)snprintf(text, capacity, "no record has '%s'%s", key_of(term, index),
                       near);
        return;
    }
    if (hint->names.count == 0 ||
        (test->relation != CPTI_RELATION_EQUAL && test->relation != CPTI_RELATION_IN)) {
        return;
    }
    value = cpti_printable(
        cpti_expression_text(&term->expression, &term->expression.values[test->value]));
    suggest(value, &hint->names, near, sizeof near);
    (void)snprintf(text, capacity, "no request has %s \"%.256s\"%s",
                   key_of(term, index), value, near);
}

static void hint_at(const struct diagnosis *diagnosis, const struct term *term,
                    size_t index, char *text, size_t capacity)
{
    const struct cpti_test *test = &term->expression.tests[index];
    const struct hint *hint = &term->hints[index];
    const bool is_less =
        test->relation == CPTI_RELATION_LESS || test->relation == CPTI_RELATION_AT_MOST;
    char ms[32];

    if (test->subject == CPTI_SUBJECT_PATH) {
        hint_at_frames(term, index, text, capacity);
    } else if (test->subject == CPTI_SUBJECT_LATENCY) {
        (void)snprintf(
            text, capacity, "the %s request took %s ms",
            is_less ? "fastest" : "slowest",
            cpti_ms((double)(is_less ? hint->shortest_ns : hint->longest_ns), ms));
    } else {
        hint_at_value(diagnosis, term, index, text, capacity);
    }
}

/* Prints how many the term left. Whether any. */
static bool say_term(const struct diagnosis *diagnosis, const struct term *term)
{
    char shown[CPTI_TEXT_BYTES];
    char text[1024] = "";

    for (size_t i = 0;
         i < term->expression.test_count && term->left_count == 0 && text[0] == '\0';
         i++) {
        if (!term->hints[i].has_held) {
            hint_at(diagnosis, term, i, text, sizeof text);
        }
    }
    shown[cpti_printable_to(term->text, shown, sizeof shown)] = '\0';
    say(term->left_count, shown, text);
    return term->left_count != 0;
}

static bool say_window(const struct diagnosis *diagnosis)
{
    const struct cpti_selection *selection = diagnosis->selection;
    char text[192] = "";
    char term[128];
    char first[64];
    char last[64];

    if (selection->since == NULL && selection->until == NULL) {
        return true;
    }
    (void)snprintf(term, sizeof term, "%s%.32s%s%s%.32s",
                   selection->since != NULL ? "--since " : "",
                   selection->since != NULL ? cpti_quoted(selection->since) : "",
                   selection->since != NULL && selection->until != NULL ? " " : "",
                   selection->until != NULL ? "--until " : "",
                   selection->until != NULL ? cpti_quoted(selection->until) : "");
    if (diagnosis->in_window_count == 0) {
        (void)snprintf(text, sizeof text, "the records are from %s to %s",
                       cpti_utc(diagnosis->first_ns, first),
                       cpti_utc(diagnosis->last_ns, last));
    }
    say(diagnosis->in_window_count, term, text);
    return diagnosis->in_window_count != 0;
}

static bool say_entry(const struct diagnosis *diagnosis)
{
    const char *entry = diagnosis->selection->entry;
    char near[640] = "";
    char term[320];
    char text[1024] = "";

    if (entry == NULL) {
        return true;
    }
    entry = cpti_printable(cpt_bytes_of(entry));
    (void)snprintf(term, sizeof term, "--entry %.256s", entry);
    if (!cpti_names_have(&diagnosis->services, entry)) {
        suggest(entry, &diagnosis->services, near, sizeof near);
        (void)snprintf(text, sizeof text, "no request entered at \"%.256s\"%s", entry,
                       near);
    }
    say(diagnosis->entered_count, term, text);
    return diagnosis->entered_count != 0;
}

/* --- The diagnosis --- */

/* Adds the term @text, with the percentiles that the selection knows. Without memory,
 * or if it is no term by itself, it is left out. */
static void add_term(struct diagnosis *diagnosis, struct cpt_bytes text)
{
    struct term *term = &diagnosis->terms[diagnosis->term_count];
    const struct cpti_expression *whole = &diagnosis->selection->expression;
    struct cpti_expression_error error;

    term->text = text;
    if (!cpti_expression_add(&term->expression, text, cpt_clock_unix_ns(), &error)) {
        return;
    }
    term->hints = calloc(term->expression.test_count + 1, sizeof *term->hints);
    if (term->hints == NULL) {
        return;
    }
    for (size_t i = 0; i < term->expression.test_count; i++) {
        term->hints[i].shortest_ns = UINT64_MAX;
    }
    for (size_t i = 0; i < term->expression.percentile_count; i++) {
        for (size_t k = 0; k < whole->percentile_count; k++) {
            if (term->expression.percentiles[i].share == whole->percentiles[k].share) {
                term->expression.percentiles[i].latency_ns =
                    whole->percentiles[k].latency_ns;
            }
        }
    }
    diagnosis->term_count++;
}

static void swap_terms(struct term *left, struct term *right)
{
    const struct term kept = *left;

    *left = *right;
    *right = kept;
}

/* Splits the texts of the selection. A percentile is one of the requests that the other
 * terms leave, so terms with one come last. */
static int init_terms(struct diagnosis *diagnosis)
{
    const struct cpti_selection *selection = diagnosis->selection;
    struct cpti_terms *texts = calloc(1, sizeof *texts);
    size_t plain_count = 0;

    for (size_t i = 0; i < selection->expression.term_count && texts != NULL; i++) {
        const struct cpt_bytes text = selection->texts[i];

        if (!cpti_expression_is_simple(text)) {
            cpti_terms_add(texts, text);
        } else if (texts->count < CPTI_TERMS_MAX) {
            texts->terms[texts->count++] = text;
        }
    }
    diagnosis->terms =
        texts != NULL ? calloc(texts->count + 1, sizeof *diagnosis->terms) : NULL;
    for (size_t i = 0; diagnosis->terms != NULL && i < texts->count; i++) {
        add_term(diagnosis, texts->terms[i]);
    }
    free(texts);
    for (size_t i = 0; diagnosis->terms != NULL && i < diagnosis->term_count; i++) {
        if (diagnosis->terms[i].expression.percentile_count == 0) {
            for (size_t k = i; k > plain_count; k--) {
                swap_terms(&diagnosis->terms[k], &diagnosis->terms[k - 1]);
            }
            plain_count++;
        }
    }
    diagnosis->path = cpt_path_new(NULL);
    return diagnosis->terms != NULL && diagnosis->path != NULL ? CPTI_EXIT_DONE
                                                               : CPTI_EXIT_FAILED;
}

static void deinit(struct diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->term_count; i++) {
        struct term *term = &diagnosis->terms[i];

        for (size_t k = 0; k < term->expression.test_count; k++) {
            cpti_names_deinit(&term->hints[k].names);
        }
        free(term->hints);
        cpti_scratch_deinit(&term->scratch);
    }
    free(diagnosis->terms);
    cpti_names_deinit(&diagnosis->keys);
    cpti_names_deinit(&diagnosis->services);
    cpt_path_free(diagnosis->path);
}

bool cpti_diagnosis_is_possible(const char *const *paths, size_t path_count)
{
    for (size_t i = 0; i < path_count; i++) {
        struct stat about;

        if (cpti_is_store(paths[i]) || strcmp(paths[i], "-") == 0 ||
            stat(paths[i], &about) != 0 || !S_ISREG(about.st_mode)) {
            return false;
        }
    }
    return true;
}

void cpti_diagnosis_print(const struct cpti_selection *selection,
                          const char *const *paths, size_t path_count)
{
    struct diagnosis diagnosis = {.selection = selection};
    bool is_left;

    if (init_terms(&diagnosis) == CPTI_EXIT_DONE) {
        (void)cpti_stream_look(paths, path_count, meet_record, &diagnosis);
        is_left = say_window(&diagnosis) && say_entry(&diagnosis);
        for (size_t i = 0; i < diagnosis.term_count && is_left; i++) {
            is_left = say_term(&diagnosis, &diagnosis.terms[i]);
        }
        if (is_left) { /* only they are left out without being counted */
            say(0, "requests, as these are work behind an answer", "");
        }
        if (diagnosis.record_count > RECORDS_MAX) {
            cpti_below("(of the first %d records)", RECORDS_MAX);
        }
    }
    deinit(&diagnosis);
}
