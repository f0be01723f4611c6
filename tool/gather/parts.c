/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* parts.c - trees that are put together; see parts.h */
#include "tool/gather/parts.h"

#include "tool/base/command.h"
#include "tool/base/files.h"
#include "tool/base/output.h"
#include "aggregate/cpt_tree.h"
#include "cpt/base/hash_index.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SLOTS_FIRST = 64, BEGINNING_BYTES = 4096 };

/* The most selections that are named, and the longest text of one. */
enum { SELECTIONS_MAX = 1000, SELECTION_BYTES = 1024 };

/* The seeds of hashes of whole trees, of readings, of logs, and of single notes. */
enum { SEED_TREE = 1, SEED_READING, SEED_LOG, SEED_NOTE };

/* A tree, all parts of one reading, or a note of readings. */
struct met {
    uint64_t hash;
    uint64_t reading;       /* of a note: the reading that it was first met in */
    uint64_t request_count; /* of the parts of a reading together */
    uint64_t left_count;    /* the most that one part of it left out */
    bool is_odd;            /* a part counts what others leave out */
    bool takes_all;         /* of a note: by a tree of all requests */
};

struct cpti_parts {
    pthread_mutex_t mutex; /* of the rest */
    struct cpti_hash_index index;
    struct met *met;
    size_t count;
    size_t capacity;
    size_t again_count;
    char **selections; /* all different */
    size_t selection_count;
    size_t selection_capacity;
    char *entry; /* NULL: none was told */
    bool keeps_duplicates;
    bool has_overlap;
};

struct cpti_parts *cpti_parts_new(bool keeps_duplicates)
{
    struct cpti_parts *parts = calloc(1, sizeof *parts);

    if (parts != NULL) {
        (void)pthread_mutex_init(&parts->mutex, NULL);
        parts->keeps_duplicates = keeps_duplicates;
    }
    return parts;
}

void cpti_parts_reset(struct cpti_parts *parts)
{
    cpt_alloc_free(NULL, parts->index.slots);
    parts->index = (struct cpti_hash_index){0};
    for (size_t i = 0; i < parts->selection_count; i++) {
        free(parts->selections[i]);
    }
    free(parts->entry);
    parts->entry = NULL;
    parts->selection_count = 0;
    parts->count = 0;
    parts->again_count = 0;
    parts->has_overlap = false;
}

void cpti_parts_free(struct cpti_parts *parts)
{
    if (parts != NULL) {
        cpti_parts_reset(parts);
        cpt_alloc_free(NULL, parts->met);
        cpt_alloc_free(NULL, parts->selections);
        (void)pthread_mutex_destroy(&parts->mutex);
        free(parts);
    }
}

bool cpti_parts_enter(struct cpti_parts *parts, const char *entry, const char **before)
{
    (void)pthread_mutex_lock(&parts->mutex);
    if (parts->entry == NULL) {
        parts->entry = strdup(entry);
    }
    *before = parts->entry;
    (void)pthread_mutex_unlock(&parts->mutex);
    return *before != NULL && strcmp(*before, entry) == 0;
}

/* --- The set --- */

static uint64_t hash_entry(const void *owner, size_t number)
{
    return cpti_hash_mix(((const struct met *)owner)[number].hash);
}

/* What was met with @hash; NULL: nothing. */
static struct met *find(const struct cpti_parts *parts, uint64_t hash)
{
    size_t slot;

    if (parts->index.slots == NULL) {
        return NULL;
    }
    slot = cpti_hash_index_first(&parts->index, cpti_hash_mix(hash));
    while (parts->index.slots[slot] != 0) {
        if (parts->met[parts->index.slots[slot] - 1].hash == hash) {
            return &parts->met[parts->index.slots[slot] - 1];
        }
        slot = cpti_hash_index_next(&parts->index, slot);
    }
    return NULL;
}

/* Puts @hash into the set; *@is_there: it was there. NULL without memory. The result
 * holds until the next call. */
static struct met *put(struct cpti_parts *parts, uint64_t hash, bool *is_there)
{
    struct met *met = find(parts, hash);
    cpt_status status = CPT_OK;
    size_t slot;

    *is_there = met != NULL;
    if (met != NULL) {
        return met;
    }
    if (cpti_hash_index_is_full(&parts->index, parts->count, 3)) {
        status = cpti_hash_index_grow(&parts->index, NULL, SLOTS_FIRST, parts->count,
                                      hash_entry, parts->met);
    }
    if (status == CPT_OK) {
        status = cpt_alloc_grow(NULL, (void **)&parts->met, &parts->capacity,
                                parts->count + 1, UINT32_MAX - 1, sizeof *parts->met);
    }
    if (status != CPT_OK) {
        return NULL;
    }
    slot = cpti_hash_index_first(&parts->index, cpti_hash_mix(hash));
    while (parts->index.slots[slot] != 0) {
        slot = cpti_hash_index_next(&parts->index, slot);
    }
    met = &parts->met[parts->count];
    *met = (struct met){.hash = hash};
    parts->index.slots[slot] = (uint32_t)++parts->count;
    return met;
}

/* --- Selections --- */

bool cpti_parts_is_origin(const char *key)
{
    static const char *const keys[] = {"source", "reading", "entry", "part", "overlap"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_term(const char *key)
{
    return strcmp(key, "where") == 0 || strcmp(key, "percentile") == 0;
}

/* Ends @text, which was cut, with dots behind a whole character. */
static void end_with_dots(char *text, size_t capacity)
{
    size_t at = capacity - 4;

    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80) {
        at--;
    }
    memcpy(text + at, "...", 4);
}

void cpti_parts_selection(const struct cpt_tree *tree, char *text, size_t capacity)
{
    size_t bytes = 0;

    text[0] = '\0';
    for (size_t i = 0; i < cpt_tree_note_count(tree); i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(tree, i);

        if (note.value == NULL || cpti_parts_is_origin(note.key)) {
            continue;
        }
        bytes +=
            (size_t)snprintf(text + bytes, capacity - bytes, "%s%s%s%s",
                             bytes == 0 ? "" : ", ", is_term(note.key) ? "" : note.key,
                             is_term(note.key) ? "" : " ", note.value);
        if (bytes >= capacity) {
            end_with_dots(text, capacity);
            return;
        }
    }
    if (bytes == 0) {
        (void)snprintf(text, capacity, "all requests");
    }
}

static cpt_status add_selection(struct cpti_parts *parts, const char *text)
{
    cpt_status status;

    for (size_t i = 0; i < parts->selection_count; i++) {
        if (strcmp(parts->selections[i], text) == 0) {
            return CPT_OK;
        }
    }
    if (parts->selection_count == SELECTIONS_MAX) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(NULL, (void **)&parts->selections,
                            &parts->selection_capacity, parts->selection_count + 1,
                            SELECTIONS_MAX, sizeof *parts->selections);
    if (status != CPT_OK) {
        return status;
    }
    parts->selections[parts->selection_count] = strdup(text);
    if (parts->selections[parts->selection_count] == NULL) {
        return CPT_NO_MEMORY;
    }
    parts->selection_count++;
    return CPT_OK;
}

/* Adds the selections that @tree was made by: those of its parts, or its own. */
static cpt_status add_selections(struct cpti_parts *parts, const struct cpt_tree *tree)
{
    char text[SELECTION_BYTES];
    bool has_parts = false;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < cpt_tree_note_count(tree) && status == CPT_OK; i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(tree, i);

        if (note.value != NULL && strcmp(note.key, "part") == 0) {
            has_parts = true;
            status = add_selection(parts, note.value);
        }
    }
    if (has_parts || status != CPT_OK) {
        return status;
    }
    cpti_parts_selection(tree, text, sizeof text);
    return add_selection(parts, text);
}

cpt_status cpti_parts_meet_others(struct cpti_parts *parts, const struct cpt_tree *tree)
{
    return parts->selection_count != 0 ? add_selections(parts, tree) : CPT_OK;
}

cpt_status cpti_parts_note(const struct cpti_parts *parts, struct cpt_tree *tree)
{
    cpt_status status = CPT_OK;

    if (parts->has_overlap) {
        status = cpt_tree_note(tree, "overlap", "some requests count twice");
    }
    for (size_t i = 0;
         i < parts->selection_count && parts->selection_count > 1 && status == CPT_OK;
         i++) {
        status = cpt_tree_note(tree, "part", parts->selections[i]);
    }
    return status == CPT_LIMIT ? CPT_OK : status;
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

/* What @tree left out of the records that it selected. */
static uint64_t left_out(const struct cpt_tree *tree)
{
    static const char *const keys[] = {"forced_excluded", "fragments_excluded",
                                       "local_root_excluded", "events_excluded",
                                       "duplicates"};
    uint64_t count = 0;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const uint64_t more = cpt_tree_count_find(tree, keys[i]);

        count = more > UINT64_MAX - count ? UINT64_MAX : count + more;
    }
    return count;
}

/* Adds @tree to the parts of @reading. Each record is a request of one part at most,
 * unless they overlap, and what a part left out is a request of none: but for parts
 * that count what others leave out. */
static bool are_too_many(struct met *reading, const struct cpt_tree *tree)
{
    const uint64_t records = cpti_parts_records(tree);
    const uint64_t requests = cpt_tree_request_count(tree);
    const uint64_t left = left_out(tree);
    uint64_t room;

    if (left > reading->left_count) {
        reading->left_count = left;
    }
    reading->is_odd = reading->is_odd || cpt_tree_note_find(tree, "forced") != NULL ||
                      cpt_tree_note_find(tree, "fragments") != NULL ||
                      cpt_tree_note_find(tree, "duplicates") != NULL;
    reading->request_count = requests > UINT64_MAX - reading->request_count
                                 ? UINT64_MAX
                                 : reading->request_count + requests;
    room = !reading->is_odd && reading->left_count < records
               ? records - reading->left_count
               : records;
    return reading->request_count > room;
}

/* Whether a tree of all requests and another one share the logs of one of their notes,
 * though not all of their logs. Keeps the notes of @tree. */
static cpt_status meet_notes(struct cpti_parts *parts, const struct cpt_tree *tree,
                             uint64_t reading, bool *has_shared)
{
    char text[SELECTION_BYTES];
    bool takes_all;

    cpti_parts_selection(tree, text, sizeof text);
    takes_all = strcmp(text, "all requests") == 0 &&
                cpt_tree_note_find(tree, "part") == NULL &&
                cpt_tree_request_count(tree) != 0;
    for (size_t i = 0; i < cpt_tree_note_count(tree); i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(tree, i);
        bool is_there;
        struct met *met;

        if (note.value == NULL || strcmp(note.key, "reading") != 0) {
            continue;
        }
        met = put(parts, cpt_hash_bytes(SEED_NOTE, note.value, strlen(note.value)),
                  &is_there);
        if (met == NULL) {
            return CPT_NO_MEMORY;
        }
        if (!is_there) {
            met->reading = reading;
        }
        *has_shared = *has_shared || (is_there && met->reading != reading &&
                                      met->takes_all && takes_all);
        met->takes_all = met->takes_all || takes_all;
        met->request_count += cpt_tree_request_count(tree) != 0;
    }
    return CPT_OK;
}

/* Meets the reading of @tree. *@is_part: parts of it were met before. */
static cpt_status meet_reading(struct cpti_parts *parts, const struct cpt_tree *tree,
                               bool *is_part)
{
    uint64_t hash;
    bool has_shared = false;
    struct met *met;
    cpt_status status;

    if (!reading_of(tree, &hash)) {
        return CPT_OK;
    }
    met = put(parts, hash, is_part);
    if (met == NULL) {
        return CPT_NO_MEMORY;
    }
    parts->has_overlap = are_too_many(met, tree) || parts->has_overlap;
    status = meet_notes(parts, tree, hash, &has_shared);
    parts->has_overlap = parts->has_overlap || has_shared;
    return status;
}

cpt_status cpti_parts_meet(struct cpti_parts *parts, struct cpt_tree *tree,
                           uint64_t digest, bool *is_again)
{
    const uint64_t whole = cpt_hash_bytes(SEED_TREE, &digest, sizeof digest);
    bool is_part = false;
    cpt_status status = CPT_OK;

    *is_again = false;
    (void)pthread_mutex_lock(&parts->mutex);
    if (!parts->keeps_duplicates) {
        status = put(parts, whole, is_again) != NULL ? CPT_OK : CPT_NO_MEMORY;
        parts->again_count += *is_again;
        if (status == CPT_OK && !*is_again) {
            status = meet_reading(parts, tree, &is_part);
        }
    }
    status = CPTI_THEN(status, add_selections(parts, tree));
    (void)pthread_mutex_unlock(&parts->mutex);
    return status == CPT_OK && is_part ? note_again(tree) : status;
}

void cpti_parts_meet_logs(struct cpti_parts *parts, const char *text)
{
    const struct met *met;

    if (!parts->keeps_duplicates) {
        met = find(parts, cpt_hash_bytes(SEED_NOTE, text, strlen(text)));
        parts->has_overlap =
            parts->has_overlap || (met != NULL && met->request_count != 0);
    }
}

void cpti_parts_warn(const struct cpti_parts *parts, const struct cpt_tree *tree)
{
    if (parts->again_count != 0) {
        cpti_warn("%zu tree%s given more than once, and count%s once; "
                  "--keep-duplicates counts %s again",
                  parts->again_count, parts->again_count == 1 ? " was" : "s were",
                  parts->again_count == 1 ? "s" : "",
                  parts->again_count == 1 ? "it" : "them");
    }
    if (cpt_tree_note_find(tree, "overlap") != NULL) {
        cpti_warn("trees share requests with each other or with a log; these count "
                  "twice");
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
