/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_cache.c - what was computed, by key; see web_cache.h
 *
 * Values are large and few, so a list in the order of use is enough: a search compares
 * some hundred keys at most.
 */
#include "tool/web/web_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 512, ENTRY_BYTES = 128 };

struct entry {
    struct entry *next; /* used before */
    struct cpti_web_kept *kept;
    size_t bytes; /* of the value, the key, and the entry */
    char key[];
};

struct cpti_web_cache {
    pthread_mutex_t mutex; /* guards all of it, and the holders of its values */
    struct entry *latest;
    size_t count;
    size_t bytes;
    size_t bytes_max;
};

struct cpti_web_cache *cpti_web_cache_new(size_t bytes_max)
{
    struct cpti_web_cache *cache = calloc(1, sizeof *cache);

    if (cache != NULL) {
        cache->bytes_max = bytes_max;
        (void)pthread_mutex_init(&cache->mutex, NULL);
    }
    return cache;
}

/* With the mutex held. */
static void release(struct cpti_web_kept *kept)
{
    if (--kept->holder_count == 0) {
        kept->drop(kept);
    }
}

/* Takes the entry at *@link out of the list and frees it. */
static void drop_entry(struct cpti_web_cache *cache, struct entry **link)
{
    struct entry *entry = *link;

    *link = entry->next;
    cache->count--;
    cache->bytes -= entry->bytes;
    release(entry->kept);
    free(entry);
}

void cpti_web_cache_free(struct cpti_web_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    while (cache->latest != NULL) {
        drop_entry(cache, &cache->latest);
    }
    (void)pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

/* Where the list has the entry of @key; where it ends if there is none. */
static struct entry **find(struct cpti_web_cache *cache, const char *key)
{
    struct entry **link = &cache->latest;

    while (*link != NULL && strcmp((*link)->key, key) != 0) {
        link = &(*link)->next;
    }
    return link;
}

struct cpti_web_kept *cpti_web_cache_take(struct cpti_web_cache *cache, const char *key)
{
    struct cpti_web_kept *kept = NULL;
    struct entry **link;
    struct entry *entry;

    (void)pthread_mutex_lock(&cache->mutex);
    link = find(cache, key);
    entry = *link;
    if (entry != NULL) {
        *link = entry->next;
        entry->next = cache->latest;
        cache->latest = entry;
        kept = entry->kept;
        kept->holder_count++;
    }
    (void)pthread_mutex_unlock(&cache->mutex);
    return kept;
}

/* Drops what was not used for the longest time, until the rest is within the limits. */
static void shrink(struct cpti_web_cache *cache)
{
    while (cache->latest != NULL &&
           (cache->bytes > cache->bytes_max || cache->count > ENTRIES_MAX)) {
        struct entry **link = &cache->latest;

        while ((*link)->next != NULL) {
            link = &(*link)->next;
        }
        drop_entry(cache, link);
    }
}

void cpti_web_cache_add(struct cpti_web_cache *cache, const char *key,
                        struct cpti_web_kept *kept)
{
    const size_t key_bytes = strlen(key) + 1;
    struct entry *entry = NULL;
    struct entry **link;

    (void)pthread_mutex_lock(&cache->mutex);
    kept->holder_count = 1;
    link = find(cache, key);
    if (*link != NULL) {
        drop_entry(cache, link);
    }
    if (kept->bytes <= cache->bytes_max) {
        entry = malloc(sizeof *entry + key_bytes);
    }
    if (entry != NULL) {
        *entry = (struct entry){.next = cache->latest, .kept = kept};
        entry->bytes = kept->bytes + key_bytes + ENTRY_BYTES;
        memcpy(entry->key, key, key_bytes);
        kept->holder_count++;
        cache->latest = entry;
        cache->count++;
        cache->bytes += entry->bytes;
        shrink(cache);
    }
    (void)pthread_mutex_unlock(&cache->mutex);
}

void cpti_web_cache_release(struct cpti_web_cache *cache, struct cpti_web_kept *kept)
{
    if (kept != NULL) {
        (void)pthread_mutex_lock(&cache->mutex);
        release(kept);
        (void)pthread_mutex_unlock(&cache->mutex);
    }
}

size_t cpti_web_cache_bytes(struct cpti_web_cache *cache)
{
    size_t bytes;

    (void)pthread_mutex_lock(&cache->mutex);
    bytes = cache->bytes;
    (void)pthread_mutex_unlock(&cache->mutex);
    return bytes;
}
