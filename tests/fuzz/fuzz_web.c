/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_web.c - any bytes as the query of an address of cpt web
 *
 * A refused query is refused with a sentence. An accepted one has the same key when it
 * is read again, and each of its values can be completed.
 */
#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/web/web_complete.h"
#include "tool/web/web_query.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void must(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void make_words(struct cpti_web_vocabulary *words)
{
    must(cpti_web_vocabulary_init(words));
    cpti_web_vocabulary_note(words, cpt_bytes_of("arm"), cpt_bytes_of("B \"\\"), true,
                             1);
    cpti_web_vocabulary_note(words, cpt_bytes_of("a b"), cpt_bytes_of("17"), false, 2);
    (void)cpti_web_words_add(words->frames, cpt_bytes_of("A: A1\\;"), true, 1);
}

static void complete_all(const struct cpti_web_query *query, FILE *file)
{
    struct cpti_web_vocabulary words;

    make_words(&words);
    for (size_t i = 0; i < query->count; i++) {
        (void)cpti_web_complete(&words, query->parameters[i].value, file);
    }
    cpti_web_vocabulary_deinit(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cpt_bytes raw = {(const char *)data, size};
    struct cpti_web_query query;
    struct cpti_web_query again;
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    struct cpti_messages messages = {0};

    must(file != NULL);
    cpti_messages_to(&messages);
    if (cpti_web_query_init(&query, raw) != CPTI_EXIT_DONE) {
        must(messages.count != 0);
    } else {
        uint64_t number = 0;
        bool is_on;
        char *key = cpti_web_query_key(&query, "");
        char *other;

        must(cpti_web_query_init(&again, raw) == CPTI_EXIT_DONE);
        other = cpti_web_query_key(&again, "");
        must(key != NULL && other != NULL && strcmp(key, other) == 0);
        (void)cpti_web_query_check(&query, "a b where");
        (void)cpti_web_query_number(&query, "a", &number);
        (void)cpti_web_query_switch(&query, "b", &is_on);
        complete_all(&query, file);
        cpti_web_query_deinit(&again);
        free(key);
        free(other);
    }
    cpti_web_query_deinit(&query);
    cpti_messages_to(NULL);
    cpti_messages_deinit(&messages);
    (void)fclose(file);
    free(text);
    return 0;
}
