/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_complete.c - how a selection may go on; see web_complete.h
 *
 * The text is not parsed, as it is not whole. It is cut into the part that stays and
 * the word that is completed; what stands before the word says what it is:
 *
 *      arm == "A" and reg          a word after 'and'         a key
 *      region in ("eu", "u         an open quote after ','    a value of region
 *      path("A: A1;B: L            an open quote in path(     a frame, after its ';'
 */
#include "tool/web/web_complete.h"

#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/memory_file.h"
#include "tool/base/output.h"
#include "tool/select/expression.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What is completed. */
enum wanted { WANTED_NOTHING, WANTED_KEY, WANTED_VALUE, WANTED_FRAME };

struct cursor {
    enum wanted wanted;
    bool is_simple; /* KEY=VALUE: nothing is quoted */
    char quote;     /* that is open; 0: none */
    size_t at;      /* the bytes of the text that stay */
    struct cpt_bytes word;
    struct cpt_bytes key; /* whose value is wanted */
};

/* Names that every record has, beside its attributes. */
static const char *const fields[] = {"latency",  "start",  "path(\"", "failed",
                                     "trace_id", "forced", "random",  "local_root"};
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

/* Words of the language, which as keys need quotes. */
static const char *const reserved[] = {"and",  "or",   "not",   "in",  "has",
                                       "path", "true", "false", "meta"};

/* --- Where the text ends --- */

/* Inside of a word of the language; see expression_lex.c. */
static bool is_inside_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80 || (c != '\0' && strchr("_.-:/@", c) != NULL);
}

/* Skips blanks before @end; the new end. */
static size_t before_blanks(const char *text, size_t end)
{
    while (end > 0 && text[end - 1] == ' ') {
        end--;
    }
    return end;
}

/* The word or quoted text that ends before @end. */
static struct cpt_bytes word_before(const char *text, size_t end)
{
    size_t begin = end;

    if (end > 1 && (text[end - 1] == '"' || text[end - 1] == '\'')) {
        begin = end - 1;
        while (begin > 0 && text[begin - 1] != text[end - 1]) {
            begin--;
        }
        return (struct cpt_bytes){text + begin, end - 1 - begin};
    }
    while (begin > 0 && is_inside_word(text[begin - 1])) {
        begin--;
    }
    return (struct cpt_bytes){text + begin, end - begin};
}

/* Where an operator or "in (" that ends before @end begins; @end if there is none. */
static size_t before_operator(const char *text, size_t end)
{
    size_t at = before_blanks(text, end);

    if (at > 0 && strchr("=<>", text[at - 1]) != NULL) {
        while (at > 0 && strchr("=!<>", text[at - 1]) != NULL) {
            at--;
        }
        return at;
    }
    while (at > 0 && text[at - 1] != '(' && text[at - 1] != ')') { /* over a list */
        at--;
    }
    if (at == 0 || text[at - 1] == ')') {
        return end;
    }
    at = before_blanks(text, at - 1);
    if (!cpt_bytes_equal(word_before(text, at), cpt_bytes_of("in"))) {
        return end;
    }
    at = before_blanks(text, at - 2);
    if (cpt_bytes_equal(word_before(text, at), cpt_bytes_of("not"))) {
        at -= 3;
    }
    return at;
}

/* Finds the key whose value stands at @at. */
static bool find_key(struct cursor *cursor, const char *text, size_t at)
{
    const size_t end = before_operator(text, at);
    static const char meta[] = "meta.";

    if (end == at) {
        return false;
    }
    cursor->key = word_before(text, before_blanks(text, end));
    if (cursor->key.bytes > strlen(meta) &&
        memcmp(cursor->key.data, meta, strlen(meta)) == 0) {
        cursor->key.data += strlen(meta);
        cursor->key.bytes -= strlen(meta);
    }
    return cursor->key.bytes != 0;
}

/* Whether "path(" or "name(" ends before @at. */
static bool is_call(const char *text, size_t at)
{
    const size_t end = before_blanks(text, at);
    struct cpt_bytes word;

    if (end == 0 || text[end - 1] != '(') {
        return false;
    }
    word = word_before(text, before_blanks(text, end - 1));
    return cpt_bytes_equal(word, cpt_bytes_of("path")) ||
           cpt_bytes_equal(word, cpt_bytes_of("name"));
}

/* Within quotes that opened at @open. */
static void read_quoted(struct cursor *cursor, const char *text, size_t open)
{
    const size_t bytes = strlen(text);

    cursor->quote = text[open];
    cursor->at = open + 1;
    if (is_call(text, open)) {
        cursor->wanted = WANTED_FRAME;
        for (size_t i = cursor->at; i < bytes; i++) {
            if (text[i] == ';' && text[i - 1] != '\\') {
                cursor->at = i + 1;
            }
        }
    } else if (find_key(cursor, text, open)) {
        cursor->wanted = WANTED_VALUE;
    }
    cursor->word = (struct cpt_bytes){text + cursor->at, bytes - cursor->at};
}

/* Where the open quote of @text is; SIZE_MAX if none is open. */
static size_t open_quote(const char *text)
{
    size_t open = SIZE_MAX;

    for (size_t i = 0; text[i] != '\0'; i++) {
        if (open == SIZE_MAX) {
            open = text[i] == '"' || text[i] == '\'' ? i : SIZE_MAX;
        } else if (text[i] == '\\' && text[i + 1] != '\0') {
            i++;
        } else if (text[i] == text[open]) {
            open = SIZE_MAX;
        }
    }
    return open;
}

static struct cursor cursor_of(const char *text)
{
    struct cursor cursor = {.wanted = WANTED_KEY};
    const char *term = strrchr(text, ',') != NULL ? strrchr(text, ',') + 1 : text;
    const char *equals = strchr(term, '=');
    const size_t bytes = strlen(text);
    const size_t open = open_quote(text);

    if (cpti_expression_is_simple(cpt_bytes_of(text)) && equals != NULL &&
        cpti_expression_is_simple(cpt_bytes_of(term))) {
        cursor.wanted = WANTED_VALUE;
        cursor.is_simple = true;
        cursor.key = (struct cpt_bytes){term, (size_t)(equals - term)};
        cursor.at = (size_t)(equals + 1 - text);
    } else if (cpti_expression_is_simple(cpt_bytes_of(text)) && term != text) {
        cursor.is_simple = true;
        cursor.at = (size_t)(term - text);
    } else if (open != SIZE_MAX) {
        read_quoted(&cursor, text, open);
        return cursor;
    } else {
        cursor.at = bytes - word_before(text, bytes).bytes;
        if (bytes != 0 && strchr("\"')", text[bytes - 1]) != NULL) {
            cursor.at = bytes; /* a value has ended */
            cursor.wanted = WANTED_NOTHING;
        } else if (find_key(&cursor, text, cursor.at)) {
            cursor.wanted = WANTED_VALUE;
        }
    }
    cursor.word = (struct cpt_bytes){text + cursor.at, bytes - cursor.at};
    return cursor;
}

/* --- Which words fit --- */

struct option {
    struct cpti_web_word word;
    bool is_inside; /* it contains what was typed, but does not begin with it */
    bool is_field;
};

struct options {
    struct option *all;
    size_t count;
};

static void take(struct options *options, const struct cursor *cursor,
                 struct cpti_web_word word, bool is_field)
{
    char typed[CPTI_WEB_WORD_BYTES_MAX + 1];
    const char *at;

    if (cursor->word.bytes >= sizeof typed || strlen(word.text) != word.bytes) {
        return;
    }
    memcpy(typed, cursor->word.data, cursor->word.bytes);
    typed[cursor->word.bytes] = '\0';
    at = strcasestr(word.text, typed);
    if (at != NULL) {
        options->all[options->count++] =
            (struct option){word, at != word.text, is_field};
    }
}

static int compare(const void *left, const void *right)
{
    const struct option *one = left;
    const struct option *other = right;

    if (one->is_inside != other->is_inside) {
        return one->is_inside ? 1 : -1;
    }
    if (one->word.count != other->word.count) {
        return one->word.count < other->word.count ? 1 : -1;
    }
    return strcmp(one->word.text, other->word.text);
}

static const struct cpti_web_words *
words_of(const struct cpti_web_vocabulary *vocabulary, const struct cursor *cursor)
{
    size_t key;

    if (cursor->wanted != WANTED_VALUE) {
        return cursor->wanted == WANTED_KEY     ? vocabulary->keys
               : cursor->wanted == WANTED_FRAME ? vocabulary->frames
                                                : NULL;
    }
    key = cpti_web_words_find(vocabulary->keys, cursor->key);
    return key != SIZE_MAX ? vocabulary->values[key] : NULL;
}

/* --- Writing --- */

static bool needs_quotes(const char *text)
{
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (strcmp(text, reserved[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (strcmp(text, fields[i]) == 0) {
            return true;
        }
    }
    if ((text[0] >= '0' && text[0] <= '9') || strchr(".-:/@", text[0]) != NULL) {
        return true;
    }
    while (is_inside_word(*text)) {
        text++;
    }
    return *text != '\0';
}

static void put_escaped(FILE *file, const char *text, char quote)
{
    for (; *text != '\0'; text++) {
        if (quote != '\0' && (*text == quote || *text == '\\')) {
            (void)fputc('\\', file);
        }
        (void)fputc(*text, file);
    }
}

/* Writes the whole text with @option in the place of the last word. */
static void put_completed(FILE *file, const struct cursor *cursor, const char *text,
                          const struct option *option)
{
    const bool opens =
        !cursor->is_simple && cursor->quote == '\0' && !option->is_field &&
        (cursor->wanted == WANTED_VALUE ? option->word.is_text
                                        : needs_quotes(option->word.text));
    const char quote = opens ? '"' : cursor->quote;

    (void)fwrite(text, 1, cursor->at, file);
    if (opens) {
        (void)fputc('"', file);
    }
    put_escaped(file, option->word.text, quote);
    if (quote != '\0') {
        (void)fputc(quote, file);
    }
    if (cursor->wanted == WANTED_FRAME) {
        (void)fputc(')', file);
    }
}

/* False without memory. */
static bool put_option(struct cpti_json *json, const struct cursor *cursor,
                       const char *text, const struct option *option)
{
    struct cpti_memory_file completed;

    if (!cpti_memory_file_open(&completed)) {
        return false;
    }
    put_completed(completed.file, cursor, text, option);
    if (!cpti_memory_file_close(&completed)) {
        return false;
    }
    cpti_json_open(json, NULL, '{');
    cpti_json_bytes(json, "text", (struct cpt_bytes){completed.text, completed.bytes});
    cpti_json_unsigned(json, "count", option->word.count);
    cpti_json_close(json);
    free(completed.text);
    return true;
}

int cpti_web_complete(const struct cpti_web_vocabulary *vocabulary, const char *text,
                      FILE *file)
{
    const struct cursor cursor = cursor_of(text);
    const struct cpti_web_words *words = words_of(vocabulary, &cursor);
    const size_t count = words != NULL ? cpti_web_words_count(words) : 0;
    struct options options = {calloc(count + FIELD_COUNT, sizeof *options.all), 0};
    struct cpti_json json = {.file = file};
    bool is_good = options.all != NULL && strlen(text) <= CPTI_WEB_TEXT_BYTES_MAX;

    for (size_t i = 0; i < count && is_good; i++) {
        take(&options, &cursor, cpti_web_words_at(words, i), false);
    }
    for (size_t i = 0; is_good && i < FIELD_COUNT && cursor.wanted == WANTED_KEY &&
                       !cursor.is_simple && cursor.quote == '\0';
         i++) {
        take(&options, &cursor,
             (struct cpti_web_word){.text = fields[i], .bytes = strlen(fields[i])},
             true);
    }
    if (options.count != 0) {
        qsort(options.all, options.count, sizeof *options.all, compare);
    }
    cpti_json_open(&json, NULL, '{');
    cpti_json_open(&json, "options", '[');
    for (size_t i = 0; i < options.count && i < CPTI_WEB_OPTIONS_MAX && is_good; i++) {
        is_good = put_option(&json, &cursor, text, &options.all[i]);
    }
    cpti_json_close(&json);
    cpti_json_close(&json);
    free(options.all);
    return is_good ? CPTI_EXIT_DONE
                   : cpti_failed("a text of at most %d bytes is completed",
                                 CPTI_WEB_TEXT_BYTES_MAX);
}
