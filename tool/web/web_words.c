/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_words.c - keys, their values, frames, with counts; see web_words.h */
#include "tool/web/web_words.h"

#include "cpt/cpt_alloc.h"
#include "cpt/base/hash_index.h"

#include <stdlib.h>
#include <string.h>

/* Of all texts of a list: of keys or values, and of frames. */
enum { VALUE_BYTES_MAX = 64 << 10, FRAME_BYTES_MAX = 4 << 20 };

struct word {
    struct cpti_web_word shown;
    char *text;
    uint64_t stamp;
    uint64_t hash;
};

struct cpti_web_words {
    struct word *all;
    size_t count;
    size_t capacity;
    size_t count_max;
    size_t bytes;
    size_t bytes_max;
    struct cpti_hash_index index;
};

struct cpti_web_words *cpti_web_words_new(size_t count_max, size_t bytes_max)
{
    struct cpti_web_words *words = calloc(1, sizeof *words);

    if (words != NULL) {
        words->count_max = count_max;
        words->bytes_max = bytes_max;
    }
    return words;
}

void cpti_web_words_free(struct cpti_web_words *words)
{
    if (words == NULL) {
        return;
    }
    for (size_t i = 0; i < words->count; i++) {
        free(words->all[i].text);
    }
    cpt_alloc_free(NULL, words->index.slots);
    cpt_alloc_free(NULL, words->all);
    free(words);
}

static uint64_t hash_of(const struct cpti_web_words *words, struct cpt_bytes text)
{
    uint64_t hash = (uint64_t)(uintptr_t)words; /* not to be foreseen from outside */

    for (size_t i = 0; i < text.bytes; i++) {
        hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(0x100000001b3);
    }
    return cpti_hash_mix(hash);
}

static size_t find(const struct cpti_web_words *words, struct cpt_bytes text,
                   uint64_t hash)
{
    size_t slot;

    if (words->index.slot_count == 0) {
        return SIZE_MAX;
    }
    slot = cpti_hash_index_first(&words->index, hash);
    while (words->index.slots[slot] != 0) {
        const struct word *word = &words->all[words->index.slots[slot] - 1];

        if (word->hash == hash && word->shown.bytes == text.bytes &&
            memcmp(word->text, text.data, text.bytes) == 0) {
            return words->index.slots[slot] - 1;
        }
        slot = cpti_hash_index_next(&words->index, slot);
    }
    return SIZE_MAX;
}

size_t cpti_web_words_find(const struct cpti_web_words *words, struct cpt_bytes text)
{
    return find(words, text, hash_of(words, text));
}

static uint64_t hash_at(const void *owner, size_t number)
{
    return ((const struct cpti_web_words *)owner)->all[number].hash;
}

/* Makes the slots for one word more. False without memory. */
static bool make_slots(struct cpti_web_words *words)
{
    return !cpti_hash_index_is_full(&words->index, words->count, 2) ||
           cpti_hash_index_grow(&words->index, NULL, 64, words->count, hash_at,
                                words) == CPT_OK;
}

/* Adds a new word. Its index, or SIZE_MAX. */
static size_t add(struct cpti_web_words *words, struct cpt_bytes text, uint64_t hash)
{
    void *all = words->all;
    char *copy;

    if (text.bytes > CPTI_WEB_WORD_BYTES_MAX || text.bytes == 0 ||
        words->bytes + text.bytes > words->bytes_max || !make_slots(words) ||
        cpt_alloc_grow(NULL, &all, &words->capacity, words->count + 1, words->count_max,
                       sizeof *words->all) != CPT_OK) {
        return SIZE_MAX;
    }
    words->all = all;
    copy = malloc(text.bytes + 1);
    if (copy == NULL) {
        return SIZE_MAX;
    }
    memcpy(copy, text.data, text.bytes);
    copy[text.bytes] = '\0';
    words->all[words->count] = (struct word){
        .shown = {.text = copy, .bytes = text.bytes}, .text = copy, .hash = hash};
    words->bytes += text.bytes;
    cpti_hash_index_put(&words->index, hash, words->count);
    return words->count++;
}

size_t cpti_web_words_add(struct cpti_web_words *words, struct cpt_bytes text,
                          bool is_text, uint64_t stamp)
{
    const uint64_t hash = hash_of(words, text);
    size_t at = find(words, text, hash);

    const bool is_new = at == SIZE_MAX;
    struct word *word;

    at = is_new ? add(words, text, hash) : at;
    if (at == SIZE_MAX || words->all == NULL) {
        return SIZE_MAX;
    }
    word = &words->all[at];
    if (is_new) {
        word->shown.is_text = is_text;
    } else if (word->stamp == stamp) {
        return at;
    }
    word->stamp = stamp;
    word->shown.count++;
    return at;
}

size_t cpti_web_words_count(const struct cpti_web_words *words)
{
    return words->count;
}

struct cpti_web_word cpti_web_words_at(const struct cpti_web_words *words, size_t index)
{
    return words->all[index].shown;
}

/* --- Vocabularies --- */

bool cpti_web_vocabulary_init(struct cpti_web_vocabulary *vocabulary)
{
    *vocabulary = (struct cpti_web_vocabulary){
        .keys = cpti_web_words_new(CPTI_WEB_KEYS_MAX, VALUE_BYTES_MAX),
        .frames = cpti_web_words_new(CPTI_WEB_FRAMES_MAX, FRAME_BYTES_MAX),
    };
    return vocabulary->keys != NULL && vocabulary->frames != NULL;
}

void cpti_web_vocabulary_deinit(struct cpti_web_vocabulary *vocabulary)
{
    cpti_web_words_free(vocabulary->keys);
    cpti_web_words_free(vocabulary->frames);
    for (size_t i = 0; i < CPTI_WEB_KEYS_MAX; i++) {
        cpti_web_words_free(vocabulary->values[i]);
    }
    *vocabulary = (struct cpti_web_vocabulary){0};
}

void cpti_web_vocabulary_note(struct cpti_web_vocabulary *vocabulary,
                              struct cpt_bytes key, struct cpt_bytes value,
                              bool is_text, uint64_t stamp)
{
    const size_t at = cpti_web_words_add(vocabulary->keys, key, true, stamp);
    struct cpti_web_words **values;

    if (at == SIZE_MAX) {
        return;
    }
    values = &vocabulary->values[at];
    if (*values == NULL) {
        *values = cpti_web_words_new(CPTI_WEB_VALUES_MAX, VALUE_BYTES_MAX);
    }
    if (*values != NULL) {
        (void)cpti_web_words_add(*values, value, is_text, stamp);
    }
}
