/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_complete.c - how a term may go on; see whatif_complete.h
 *
 * The grammar is that of cpt/whatif/whatif_term.c. Before the mark of the verb stands a
 * name, which may have the mark in it; so what is typed is first taken for the
 * beginning of a name, unless a whole name and a mark stand there.
 */
#include "tool/whatif/whatif_complete.h"

#include "tool/base/brief.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/whatif/whatif_set.h"
#include "cpt/base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Nodes and edges of the requests that are looked at. */
enum { PARTS_MAX = 1 << 20, TEXT_BYTES = 2 * CPT_NAME_BYTES_MAX };

enum value { VALUE_CHANGE, VALUE_TIME, VALUE_NAME };

struct grammar {
    const char *verb;
    const char *marks[2]; /* the second one or NULL */
    enum value value;     /* what comes after a mark */
};

static const struct grammar grammars[] = {
    {"set", {"=", NULL}, VALUE_CHANGE},      {"cap", {"<=", ">="}, VALUE_TIME},
    {"cut", {" -> ", NULL}, VALUE_NAME},     {"add", {" -> ", NULL}, VALUE_NAME},
    {"parallel", {" > ", NULL}, VALUE_NAME},
};

static const struct grammar *grammar_of(const char *verb)
{
    for (size_t i = 0; i < sizeof grammars / sizeof grammars[0]; i++) {
        if (strcmp(grammars[i].verb, verb) == 0) {
            return &grammars[i];
        }
    }
    return NULL;
}

bool cpti_whatif_completes(const char *list)
{
    return grammar_of(list) != NULL;
}

/* --- Names --- */

/* Whether all of @text is shown: what a hostile log calls its frames must neither turn
 * a line nor make two of it. */
static bool is_shown(const char *text)
{
    const size_t bytes = strlen(text);

    for (size_t i = 0; i < bytes;) {
        const size_t step = cpti_utf8_bytes(text + i, bytes - i);

        if (step == 0 || (unsigned char)text[i] < ' ' || text[i] == '\x7f' ||
            cpti_utf8_is_hidden(text + i, step)) {
            return false;
        }
        i += step;
    }
    return bytes != 0 && text[0] != ' ' && text[bytes - 1] != ' ';
}

/* Writes @name to @text with < and > for the marks of a kind, if @is_ascii. */
static void put_marks(const char *name, bool is_ascii, char text[TEXT_BYTES])
{
    static const char opener[] = "\u2039";
    static const char closer[] = "\u203a";
    size_t bytes = 0;

    for (size_t i = 0; name[i] != '\0' && bytes + 1 < TEXT_BYTES;) {
        const bool opens = strncmp(name + i, opener, sizeof opener - 1) == 0;
        const bool is_mark = opens || strncmp(name + i, closer, sizeof closer - 1) == 0;

        if (is_ascii && is_mark) {
            text[bytes++] = opens ? '<' : '>';
            i += sizeof opener - 1;
        } else {
            text[bytes++] = name[i++];
        }
    }
    text[bytes] = '\0';
}

/* Adds a frame and, if it is of a kind that has marks, that kind of its service and of
 * all: "B: B1 ‹queue›", "B: ‹queue›", "*: ‹queue›". */
static void add_frame(struct cpti_names *names, const char *frame, bool is_ascii)
{
    const char *kind = strstr(frame, " \u2039");
    const struct cpt_bytes service = cpt_name_service(cpt_bytes_of(frame));
    char text[TEXT_BYTES] = "";
    char made[TEXT_BYTES];

    put_marks(frame, is_ascii, text);
    if (is_shown(text)) {
        cpti_names_add(names, text);
    }
    for (int i = 0; i < 2 && kind != NULL; i++) {
        (void)snprintf(made, sizeof made, "%.*s:%s", i == 0 ? (int)service.bytes : 1,
                       i == 0 ? service.data : "*", kind);
        put_marks(made, is_ascii, text);
        if (is_shown(text) && (i == 1 || service.bytes != 0)) {
            cpti_names_add(names, text);
        }
    }
}

/* Reads the names that @grammar takes: edges join frames, whatever their kinds are. */
static void read_names(struct cpti_names *names, const struct grammar *grammar,
                       const char *prefix, size_t count, char *const *words)
{
    static const struct cpti_command folders = {CPTI_KEPT_FOLDERS};
    struct cpti_brief brief;
    struct cpti_whatif_set set = {0};

    cpti_brief_init(&brief, &folders, count, words);
    if (brief.count != 0) {
        (void)cpti_whatif_set_read(&set, brief.files.operands, brief.count, true, NULL,
                                   PARTS_MAX);
        for (size_t i = 0; set.whatif != NULL && i < cpt_whatif_frame_count(set.whatif);
             i++) {
            const char *frame = NULL;
            char text[TEXT_BYTES];

            frame = cpti_whatif_frame_text(&set, i, text);
            if (grammar->value != VALUE_NAME || strstr(frame, " \u2039") == NULL) {
                add_frame(names, frame, strchr(prefix, '<') != NULL);
            }
        }
        cpti_whatif_set_deinit(&set);
    }
    cpti_brief_deinit(&brief);
}

/* --- Terms --- */

/* Where what follows the last mark of @text begins, if a name or pattern stands before
 * it; 0: nowhere. */
static size_t value_at(const struct grammar *grammar, const struct cpti_names *names,
                       const char *text)
{
    size_t found = 0;

    for (size_t i = 0; i < 2 && grammar->marks[i] != NULL; i++) {
        const char *mark = grammar->marks[i];

        for (const char *at = strstr(text, mark); at != NULL;
             at = strstr(at + 1, mark)) {
            char name[CPT_WHATIF_TERM_BYTES_MAX];
            size_t bytes = (size_t)(at - text);

            while (bytes != 0 && text[bytes - 1] == ' ') {
                bytes--;
            }
            (void)snprintf(name, sizeof name, "%.*s", (int)bytes, text);
            if (bytes != 0 &&
                (strchr(name, '*') != NULL || cpti_names_have(names, name))) {
                const size_t after = (size_t)(at - text) + strlen(mark);

                found = after > found ? after : found;
            }
        }
    }
    return found;
}

static int compare_words(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Prints @begin, of which @bytes count, with @end, if that begins with @prefix. */
static void print_term(const char *prefix, const char *begin, size_t bytes,
                       const char *end)
{
    char text[CPT_WHATIF_TERM_BYTES_MAX + 1];
    const int length = snprintf(text, sizeof text, "%.*s%s", (int)bytes, begin, end);

    if (length >= 0 && (size_t)length < sizeof text &&
        strncmp(text, prefix, strlen(prefix)) == 0) {
        (void)printf("%s\n", text);
    }
}

/* What comes after a mark: examples, or the units of the number that stands there. */
static void print_values(const char *prefix, size_t at, bool is_change)
{
    static const char *const examples[] = {"0", "10ms", "50%", "-50%", "+2ms", "-2ms"};
    static const char *const units[] = {"ns", "us", "ms", "s", "min", "%"};
    const size_t blanks = strspn(prefix + at, " ");
    const size_t sign =
        at + blanks + strspn(prefix + at + blanks, is_change ? "+-" : "");
    const size_t digits = strspn(prefix + sign, "0123456789.");

    if (digits == 0) {
        for (size_t i = 0; i < (is_change ? 6 : 2); i++) {
            print_term(prefix, prefix, at + blanks, examples[i]);
        }
        return;
    }
    for (size_t i = 0; i < (is_change ? 6 : 5); i++) {
        print_term(prefix, prefix, sign + digits, units[i]);
    }
}

static void print_names(const struct grammar *grammar, const struct cpti_names *names,
                        const char *prefix)
{
    for (size_t i = 0; i < names->count; i++) {
        for (size_t m = 0; m < 2 && grammar->marks[m] != NULL; m++) {
            print_term(prefix, names->all[i], strlen(names->all[i]), grammar->marks[m]);
        }
    }
}

int cpti_whatif_complete(const char *list, const char *prefix, size_t count,
                         char *const *words)
{
    const struct grammar *grammar = grammar_of(list);
    struct cpti_names names = {0};
    size_t at = 0;

    if (grammar == NULL) {
        return CPTI_EXIT_USAGE;
    }
    if (strlen(prefix) >= CPT_WHATIF_TERM_BYTES_MAX) {
        return CPTI_EXIT_DONE; /* it is too long already */
    }
    read_names(&names, grammar, prefix, count, words);
    if (names.count != 0) {
        qsort(names.all, names.count, sizeof names.all[0], compare_words);
    }
    at = value_at(grammar, &names, prefix);
    if (at == 0) {
        print_names(grammar, &names, prefix);
    } else if (grammar->value != VALUE_NAME) {
        print_values(prefix, at, grammar->value == VALUE_CHANGE);
    }
    for (size_t i = 0; i < names.count && at != 0 && grammar->value == VALUE_NAME;
         i++) {
        print_term(prefix, prefix, at, names.all[i]);
    }
    cpti_names_deinit(&names);
    return CPTI_EXIT_DONE;
}
