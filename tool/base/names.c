/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* names.c - names as people type them; see names.h */
#include "tool/base/names.h"

#include "tool/base/output.h"
#include "cpt/cpt_alloc.h"
#include "cpt/cpt_path.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Of longer names the beginning is compared. */
enum { WORD_BYTES_MAX = 255 };

/* --- Sets --- */

int cpti_compare_bytes(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t bytes = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = bytes == 0 ? 0 : memcmp(left.data, right.data, bytes);

    return order != 0 ? (order > 0) - (order < 0)
                      : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

void cpti_names_deinit(struct cpti_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->all[i]);
    }
    cpt_alloc_free(cpt_alloc_default(), names->all);
    *names = (struct cpti_names){0};
}

bool cpti_names_have(const struct cpti_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->all[i], name) == 0) {
            return true;
        }
    }
    return false;
}

void cpti_names_add(struct cpti_names *names, const char *name)
{
    char *copy;

    if (names->is_cut || cpti_names_have(names, name)) {
        return;
    }
    copy = strdup(name);
    if (copy == NULL || cpt_alloc_grow(cpt_alloc_default(), (void **)&names->all,
                                       &names->capacity, names->count + 1,
                                       CPTI_NAMES_MAX, sizeof *names->all) != CPT_OK) {
        names->is_cut = true;
        free(copy);
        return;
    }
    names->all[names->count++] = copy;
}

/* --- Near misses --- */

/* The insertions, deletions and changes that turn @left into @right. */
static size_t edit_distance(const char *left, const char *right)
{
    size_t row[WORD_BYTES_MAX + 1];
    const size_t left_bytes = strnlen(left, WORD_BYTES_MAX);
    const size_t right_bytes = strnlen(right, WORD_BYTES_MAX);

    for (size_t j = 0; j <= right_bytes; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= left_bytes; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= right_bytes; j++) {
            const size_t changed = diagonal + (left[i - 1] != right[j - 1]);

            diagonal = row[j];
            row[j] = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = changed < row[j] ? changed : row[j];
        }
    }
    return row[right_bytes];
}

const char *cpti_nearest_word(const char *given, const char *const *words, size_t count)
{
    const char *best = NULL;
    const size_t given_bytes = strlen(given);
    /* not a typing mistake from here on, or if every byte is wrong */
    size_t best_distance = given_bytes / 3 + 2 < given_bytes || given_bytes > 2
                               ? given_bytes / 3 + 2
                               : given_bytes;

    for (size_t i = 0; i < count; i++) {
        const size_t bytes = strlen(words[i]);
        size_t distance;

        /* the distance is at least the difference of the lengths */
        if ((bytes > given_bytes ? bytes - given_bytes : given_bytes - bytes) >=
            best_distance) {
            continue;
        }
        distance = edit_distance(given, words[i]);
        if (distance < best_distance) {
            best = words[i];
            best_distance = distance;
        }
    }
    return best;
}

/* @name without its service. */
static const char *own_part(const char *name)
{
    const char *colon = strstr(name, ": ");

    return colon != NULL ? colon + 2 : name;
}

/* The only name that has @given in it, in any letters; NULL if several have. */
static const char *only_with(const char *given, const struct cpti_names *names)
{
    const char *found = NULL;

    for (size_t i = 0; i < names->count; i++) {
        if (strcasestr(names->all[i], given) != NULL) {
            if (found != NULL) {
                return NULL;
            }
            found = names->all[i];
        }
    }
    return strlen(given) >= 2 ? found : NULL;
}

const char *cpti_nearest_name(const char *given, const struct cpti_names *names)
{
    const char *nearest;

    for (size_t i = 0; i < names->count; i++) {
        if (strcasecmp(names->all[i], given) == 0) {
            return names->all[i];
        }
    }
    for (size_t i = 0; i < names->count; i++) {
        if (strcasecmp(own_part(names->all[i]), own_part(given)) == 0) {
            return names->all[i];
        }
    }
    nearest = cpti_nearest_word(given, (const char *const *)names->all, names->count);
    return nearest != NULL ? nearest : only_with(given, names);
}

/* --- Services --- */

const char *cpti_name_below(const char *name, const char *above)
{
    const char *own = own_part(name);
    const size_t bytes = (size_t)(own - name);

    return bytes != 0 && strncmp(name, above, bytes) == 0 ? own : name;
}

void cpti_stack_short(const char *stack, char *text, size_t capacity)
{
    const char *above = "";
    size_t bytes = 0;

    text[0] = '\0';
    while (bytes + 1 < capacity) {
        const size_t frame_bytes = strcspn(stack, ";");
        const size_t name_bytes = strcspn(above, ":;");
        const bool is_below = above[0] != '\0' &&
                              strncmp(above + name_bytes, ": ", 2) == 0 &&
                              strncmp(stack, above, name_bytes + 2) == 0;
        const size_t skipped = is_below ? name_bytes + 2 : 0;
        const bool is_last = stack[frame_bytes] == '\0';
        const int written =
            snprintf(text + bytes, capacity - bytes, "%.*s%s",
                     (int)(frame_bytes - skipped), stack + skipped, is_last ? "" : ";");

        bytes += written > 0 ? (size_t)written : 0;
        if (is_last) {
            return;
        }
        above = stack;
        stack += frame_bytes + 1;
    }
}

/* --- ‹ › --- */

/* Whether the @bytes at @typed are the words of a kind, in any letters, with blanks or
 * underscores. */
static bool is_words(const char *typed, size_t bytes, const char *words)
{
    for (size_t i = 0; i < bytes; i++) {
        const char byte = (char)(typed[i] == '_' ? ' ' : typed[i]);

        if (words[i] == '\0' ||
            tolower((unsigned char)byte) != tolower((unsigned char)words[i])) {
            return false; /* a zero byte is no end of what was typed */
        }
    }
    return words[bytes] == '\0';
}

/* The words of the kind that @typed, what stands between < and >, names: all of it, or
 * what stands before ": ". NULL if it is no kind of ours. */
static const char *kind_words(struct cpt_bytes typed)
{
    const char *colon = memmem(typed.data, typed.bytes, ": ", 2);
    const size_t bytes = colon != NULL ? (size_t)(colon - typed.data) : typed.bytes;

    for (unsigned kind = CPT_KIND_WORK + 1; kind <= CPT_KIND_MAX; kind++) {
        const char *words = cpt_kind_words(kind);
        const char *word = cpt_kind_word(kind);

        if (words != NULL &&
            (is_words(typed.data, bytes, words) ||
             (strlen(word) == bytes && strncasecmp(typed.data, word, bytes) == 0))) {
            return words;
        }
    }
    return NULL;
}

/* Where names are written to. */
struct writer {
    char *text;
    size_t capacity;
    size_t bytes;
};

static void write_bytes(struct writer *writer, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++, writer->bytes++) {
        if (writer->bytes < writer->capacity) {
            writer->text[writer->bytes] = data[i];
        }
    }
}

size_t cpti_name_typed(struct cpt_bytes typed, char *text, size_t capacity)
{
    static const char left[] = "\u2039";
    static const char right[] = "\u203a";
    struct writer writer = {text, capacity, 0};
    size_t at = 0;

    while (at < typed.bytes) {
        const char *from = typed.data + at + 1;
        const char *end =
            typed.data[at] == '<' ? memchr(from, '>', typed.bytes - at - 1) : NULL;
        const size_t bytes = end != NULL ? (size_t)(end - from) : 0;
        const char *words =
            end != NULL ? kind_words((struct cpt_bytes){from, bytes}) : NULL;

        if (words == NULL) {
            write_bytes(&writer, typed.data + at++, 1);
            continue;
        }
        write_bytes(&writer, left, sizeof left - 1);
        write_bytes(&writer, words, strlen(words));
        from = memmem(from, bytes, ": ", 2); /* the name of a lock, say */
        write_bytes(&writer, from, from != NULL ? (size_t)(end - from) : 0);
        write_bytes(&writer, right, sizeof right - 1);
        at += bytes + 2;
    }
    return writer.bytes;
}

/* --- Names as they are shown --- */

static int digit_of(char byte)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = byte != '\0' ? strchr(digits, byte) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

/* Whether the @bytes at @name are shown as @shown: as a name, as a frame, or as a text
 * that is no name. */
static bool is_shown_as(const char *name, size_t bytes, struct cpt_bytes shown)
{
    const struct cpt_bytes own = {name, bytes};
    const struct cpt_bytes none = {NULL, 0};
    char text[CPTI_TEXT_BYTES];

    return cpt_bytes_equal(cpt_bytes_of(cpti_quoted_bytes(own)), shown) ||
           cpt_bytes_equal(cpt_bytes_of(cpti_printable(own)), shown) ||
           (cpt_text_frame(own, CPT_KIND_WORK, none, text, sizeof text) < sizeof text &&
            cpt_bytes_equal(cpt_bytes_of(text), shown));
}

size_t cpti_name_shown(struct cpt_bytes shown, char *text, size_t capacity)
{
    size_t bytes = 0;

    if (shown.bytes == 0 || shown.bytes >= CPTI_TEXT_BYTES ||
        memchr(shown.data, '\\', shown.bytes) == NULL) {
        return 0;
    }
    for (size_t i = 0; i < shown.bytes; i++) {
        const bool is_escape =
            shown.data[i] == '\\' && i + 3 < shown.bytes && shown.data[i + 1] == 'x';
        const int high = is_escape ? digit_of(shown.data[i + 2]) : -1;
        const int low = is_escape ? digit_of(shown.data[i + 3]) : -1;

        if (bytes == capacity) {
            return 0;
        }
        if (high >= 0 && low >= 0) {
            text[bytes++] = (char)(high * 16 + low);
            i += 3;
        } else {
            text[bytes++] = shown.data[i];
        }
    }
    return bytes < shown.bytes && is_shown_as(text, bytes, shown) ? bytes : 0;
}

/* --- Ids of traces --- */

enum { TRACE_DIGITS = 32, TRACE_END_DIGITS = 16 };

static bool has_digits(struct cpt_bytes text, size_t count)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    size_t at = 0;

    while (at < text.bytes && text.data[at] != '\0' &&
           strchr(digits, text.data[at]) != NULL) {
        at++;
    }
    return text.bytes == count && at == count;
}

bool cpti_is_trace(const char *typed)
{
    return has_digits(cpt_bytes_of(typed), TRACE_DIGITS) ||
           has_digits(cpt_bytes_of(typed), TRACE_END_DIGITS);
}

bool cpti_trace_is(struct cpt_bytes id, const char *typed)
{
    const struct cpt_bytes text = cpt_bytes_of(typed);
    const bool is_long = has_digits(id, TRACE_DIGITS);
    const size_t before = TRACE_DIGITS - TRACE_END_DIGITS;

    if (cpt_bytes_equal(id, text)) {
        return true;
    }
    if (!cpti_is_trace(typed) || (!is_long && !has_digits(id, TRACE_END_DIGITS))) {
        return false;
    }
    if (id.bytes == text.bytes) {
        return strncasecmp(id.data, typed, id.bytes) == 0;
    }
    return is_long ? strncasecmp(id.data + before, typed, TRACE_END_DIGITS) == 0
                   : strspn(typed, "0") >= before &&
                         strncasecmp(id.data, typed + before, TRACE_END_DIGITS) == 0;
}
