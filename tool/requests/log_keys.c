/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_keys.c - attributes of the logs on a command line; see log_keys.h */
#include "tool/requests/log_keys.h"

#include "tool/base/brief.h"
#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/requests/diagnosis.h"
#include "tool/requests/stream.h"
#include "wire/cpt_log.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Logs that are looked into, and records of each; the longest word. */
enum { FILES_MAX = CPTI_BRIEF_FILES_MAX, RECORDS_MAX = 1000, WORD_BYTES_MAX = 128 };

struct keys {
    bool has_terms;
    const char *prefix;
    size_t key_bytes; /* of the prefix up to its '='; 0: no value is asked for */
    struct cpti_names words;
    size_t record_count; /* of this log */
};

/* Whether @text means nothing to a shell. */
static bool is_plain(struct cpt_bytes text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        const unsigned char byte = (unsigned char)text.data[i];

        if (byte == '\0' || (isalnum(byte) == 0 && strchr("_-./@%+", byte) == NULL)) {
            return false;
        }
    }
    return text.bytes != 0 && text.bytes < WORD_BYTES_MAX && text.data[0] != '-';
}

static void add_word(struct keys *keys, const char *word)
{
    if (strncmp(word, keys->prefix, strlen(keys->prefix)) == 0) {
        cpti_names_add(&keys->words, word);
    }
}

static void add_attribute(struct keys *keys, const struct cpt_attribute *attribute)
{
    char word[2 * WORD_BYTES_MAX + 2];
    const int key_bytes = (int)attribute->key.bytes;

    if (!is_plain(attribute->key)) {
        return;
    }
    if (keys->key_bytes == 0) {
        (void)snprintf(word, sizeof word, "%.*s%s", key_bytes, attribute->key.data,
                       keys->has_terms ? "=" : "");
        add_word(keys, word);
        return;
    }
    if (attribute->type == CPT_ATTRIBUTE_TEXT && is_plain(attribute->value.text)) {
        (void)snprintf(word, sizeof word, "%.*s=%.*s", key_bytes, attribute->key.data,
                       (int)attribute->value.text.bytes, attribute->value.text.data);
    } else if (attribute->type == CPT_ATTRIBUTE_INTEGER) {
        (void)snprintf(word, sizeof word, "%.*s=%" PRId64, key_bytes,
                       attribute->key.data, attribute->value.integer);
    } else if (attribute->type == CPT_ATTRIBUTE_BOOL) {
        (void)snprintf(word, sizeof word, "%.*s=%s", key_bytes, attribute->key.data,
                       attribute->value.is_true ? "true" : "false");
    } else {
        return;
    }
    add_word(keys, word);
}

static int meet_record(void *context, const struct cpti_request *request)
{
    struct keys *keys = context;

    for (size_t i = 0; i < request->record->attribute_count; i++) {
        add_attribute(keys, &request->record->attributes[i]);
    }
    return ++keys->record_count < RECORDS_MAX ? CPTI_EXIT_DONE : CPTI_STREAM_ENOUGH;
}

static void look_into(struct keys *keys, const char *path)
{
    keys->record_count = 0;
    (void)cpti_stream_look(&path, 1, meet_record, keys);
}

static int compare_words(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

int cpti_log_keys_print(bool has_terms, const char *prefix, size_t count,
                        char *const *words)
{
    struct keys keys = {.has_terms = has_terms,
                        .prefix = prefix,
                        .key_bytes = has_terms && strchr(prefix, '=') != NULL
                                         ? (size_t)(strchr(prefix, '=') - prefix)
                                         : 0};
    struct cpti_brief brief;

    cpti_brief_init(&brief, NULL, count, words);
    for (size_t i = 0; i < brief.count; i++) {
        look_into(&keys, brief.files.operands[i]);
    }
    cpti_brief_deinit(&brief);
    if (keys.words.count != 0) {
        qsort(keys.words.all, keys.words.count, sizeof keys.words.all[0],
              compare_words);
    }
    for (size_t i = 0; i < keys.words.count; i++) {
        (void)printf("%s\n", keys.words.all[i]);
    }
    cpti_names_deinit(&keys.words);
    return CPTI_EXIT_DONE;
}

void cpti_log_keys_suggest(const char *key, const char *const *paths, size_t path_count)
{
    struct keys keys = {.prefix = ""};
    const char *nearest;

    if (!cpti_diagnosis_is_possible(paths, path_count)) {
        return;
    }
    for (size_t i = 0; i < path_count && i < FILES_MAX; i++) {
        look_into(&keys, paths[i]);
    }
    nearest = cpti_nearest_name(key, &keys.words);
    if (nearest != NULL && strcmp(nearest, key) != 0) {
        cpti_below("did you mean '%s'?", nearest);
    }
    cpti_names_deinit(&keys.words);
}
