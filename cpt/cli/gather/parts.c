/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* parts.c - trees that are put together; see parts.h */
#include "cpt/cli/gather/parts.h"

#include "cpt/cli/base/command.h"
#include "cpt/cli/base/files.h"
#include "cpt/cli/base/output.h"
#include "aggregate/cpt_tree.h"
#include "cpt/hash_index.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SLOTS_FIRST = 64, BEGINNING_BYTES = 4096 };

/* The seeds of hashes of whole trees, of readings and of logs. */
enum { SEED_TREE = 1, SEED_READING, SEED_LOG };

struct cpti_parts {
    pthread_mutex_t mutex; /* of the rest */
    struct cpti_hash_index index;
    uint64_t *hashes; /* of trees and of readings */
    size_t count;
    size_t capacity;
    size_t again_count;
};

struct cpti_parts *cpti_parts_new(void)
{
    struct cpti_parts *parts = calloc(1, sizeof *parts);

    if (parts != NULL) {
        (void)pthread_mutex_init(&parts->mutex, NULL);
    }
    return parts;
}

void cpti_parts_reset(struct cpti_parts *parts)
{
    cpt_alloc_free(NULL, parts->index.slots);
    parts->index = (struct cpti_hash_index){0};
    parts->count = 0;
    parts->again_count = 0;
}

void cpti_parts_free(struct cpti_parts *parts)
{
    if (parts != NULL) {
        cpti_parts_reset(parts);
        cpt_alloc_free(NULL, parts->hashes);
        (void)pthread_mutex_destroy(&parts->mutex);
        free(parts);
    }
}

/* --- The set --- */

static uint64_t hash_entry(const void *owner, size_t number)
{
    return cpti_hash_mix(((const uint64_t *)owner)[number]);
}

/* Puts @hash into the set; *@is_there: it was there. */
static cpt_status put(struct cpti_parts *parts, uint64_t hash, bool *is_there)
{
    const uint64_t mixed = cpti_hash_mix(hash);
    cpt_status status = CPT_OK;
    size_t slot;

    *is_there = false;
    if (cpti_hash_index_is_full(&parts->index, parts->count, 3)) {
        status = cpti_hash_index_grow(&parts->index, NULL, SLOTS_FIRST, parts->count,
                                      hash_entry, parts->hashes);
    }
    if (status == CPT_OK) {
        status =
            cpt_alloc_grow(NULL, (void **)&parts->hashes, &parts->capacity,
                           parts->count + 1, UINT32_MAX - 1, sizeof *parts->hashes);
    }
    if (status != CPT_OK) {
        return status;
    }
    slot = cpti_hash_index_first(&parts->index, mixed);
    while (parts->index.slots[slot] != 0 &&
           parts->hashes[parts->index.slots[slot] - 1] != hash) {
        slot = cpti_hash_index_next(&parts->index, slot);
    }
    *is_there = parts->index.slots[slot] != 0;
    if (!*is_there) {
        parts->hashes[parts->count] = hash;
        parts->index.slots[slot] = (uint32_t)++parts->count;
    }
    return CPT_OK;
}

/* --- Counts --- */

static uint64_t net(const struct cpt_tree *tree, const char *key, const char *again_key)
{
    const uint64_t all = cpt_tree_count_find(tree, key);
    const uint64_t again = cpt_tree_count_find(tree, again_key);

    return again < all ? all - again : 0; /* a tree from outside may claim anything */
}

uint64_t cpti_parts_records(const struct cpt_tree *tree)
{
    return net(tree, "records", "records_again");
}

uint64_t cpti_parts_skipped(const struct cpt_tree *tree)
{
    return net(tree, "skipped", "skipped_again");
}

/* --- Meeting --- */

/* A hash of what was read for @tree; false if that is not noted. */
static bool reading_of(const struct cpt_tree *tree, uint64_t *hash)
{
    const uint64_t counts[2] = {cpti_parts_records(tree), cpti_parts_skipped(tree)};
    bool is_noted = false;

    *hash = cpt_hash_bytes(SEED_READING, counts, sizeof counts);
    for (size_t i = 0; i < cpt_tree_note_count(tree); i++) { /* they are sorted */
        const struct cpt_tree_note_entry note = cpt_tree_note_at(tree, i);

        if (note.value != NULL && strcmp(note.key, "reading") == 0) {
            *hash = cpt_hash_bytes(*hash, note.value, strlen(note.value));
            is_noted = true;
        }
    }
    return is_noted;
}

/* Notes that the records of @tree count again. */
static cpt_status note_again(struct cpt_tree *tree)
{
    const uint64_t records = cpti_parts_records(tree);
    const uint64_t skipped = cpti_parts_skipped(tree);
    cpt_status status = CPT_OK;

    if (records != 0) {
        status = cpt_tree_count_add(tree, "records_again", records);
    }
    return status == CPT_OK && skipped != 0
               ? cpt_tree_count_add(tree, "skipped_again", skipped)
               : status;
}

cpt_status cpti_parts_meet(struct cpti_parts *parts, struct cpt_tree *tree,
                           uint64_t digest, bool *is_again)
{
    const uint64_t whole = cpt_hash_bytes(SEED_TREE, &digest, sizeof digest);
    uint64_t reading;
    bool is_part = false;
    cpt_status status;

    (void)pthread_mutex_lock(&parts->mutex);
    status = put(parts, whole, is_again);
    parts->again_count += *is_again;
    if (status == CPT_OK && !*is_again && reading_of(tree, &reading)) {
        status = put(parts, reading, &is_part);
    }
    (void)pthread_mutex_unlock(&parts->mutex);
    return is_part ? note_again(tree) : status;
}

void cpti_parts_warn(const struct cpti_parts *parts)
{
    if (parts->again_count != 0) {
        cpti_warn("%zu tree%s given more than once, and count%s once; "
                  "--keep-duplicates counts %s again",
                  parts->again_count, parts->again_count == 1 ? " was" : "s were",
                  parts->again_count == 1 ? "s" : "",
                  parts->again_count == 1 ? "it" : "them");
    }
}

/* --- Readings --- */

/* A hash of the length and the beginning of the regular file at @path; *@is_read: there
 * is one. enum cpti_exit, with the error printed. */
static int log_hash(const char *path, uint64_t *hash, bool *is_read)
{
    unsigned char beginning[BEGINNING_BYTES];
    struct cpti_input input;
    struct stat about;
    uint64_t length;
    size_t bytes;

    *is_read = false;
    if (strcmp(path, "-") == 0 || stat(path, &about) != 0 || !S_ISREG(about.st_mode)) {
        return CPTI_EXIT_DONE;
    }
    if (cpti_input_open(&input, path) != CPTI_EXIT_DONE) {
        return CPTI_EXIT_FAILED;
    }
    length = cpti_input_bytes(&input);
    bytes = length < sizeof beginning ? (size_t)length : sizeof beginning;
    *is_read = cpti_input_read_at(&input, 0, beginning, bytes) == CPT_OK;
    cpti_input_close(&input);
    if (*is_read) {
        *hash = cpt_hash_bytes(SEED_LOG, &length, sizeof length);
        *hash = cpt_hash_bytes(*hash, beginning, bytes);
    }
    return CPTI_EXIT_DONE;
}

int cpti_parts_reading(const char *const *paths, size_t count, char text[17])
{
    uint64_t sum = 0;

    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        bool is_read = false;
        uint64_t hash = 0;
        const int status = log_hash(paths[i], &hash, &is_read);

        if (status != CPTI_EXIT_DONE || !is_read) {
            return status;
        }
        sum += cpti_hash_mix(hash); /* the order of files does not matter */
    }
    if (count != 0) {
        (void)snprintf(text, 17, "%016" PRIx64, sum);
    }
    return CPTI_EXIT_DONE;
}
