/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_cache.h - what was computed, by key, the latest within a limit of bytes
 *
 * Each entry has a key, a value, and the value's bytes. When all values together exceed
 * the limit, those that were not used for the longest time are dropped.
 *
 *      latest  [ key, value ] <-> [ key, value ] <-> [ key, value ]  dropped first
 *
 * A value is counted: a taker keeps it until it is released, also if the cache
 * drops it meanwhile.
 *
 * Threads: any.
 */
#ifndef CPTI_CLI_WEB_CACHE_H
#define CPTI_CLI_WEB_CACHE_H

#include <stddef.h>

struct cpti_web_cache;

/* A value. The first member of a larger struct; zero at first. */
struct cpti_web_kept {
    size_t bytes;                             /* of all of it; set by its maker */
    void (*drop)(struct cpti_web_kept *kept); /* frees it; set by its maker */
    size_t holder_count;
};

/* A cache for values of @bytes_max bytes, or NULL without memory. */
struct cpti_web_cache *cpti_web_cache_new(size_t bytes_max);
/* All values that were taken have been released. NULL is fine. */
void cpti_web_cache_free(struct cpti_web_cache *cache);

/* The value of @key, which the caller releases, or NULL. */
struct cpti_web_kept *cpti_web_cache_take(struct cpti_web_cache *cache,
                                          const char *key);

/* Adds @kept, which replaces one of the same key. The caller holds it, too, and
 * releases it. A value above the limit, or without memory, is not kept. */
void cpti_web_cache_add(struct cpti_web_cache *cache, const char *key,
                        struct cpti_web_kept *kept);

/* Releases what was taken or added. NULL is fine. */
void cpti_web_cache_release(struct cpti_web_cache *cache, struct cpti_web_kept *kept);

/* The bytes of all values that it keeps. */
size_t cpti_web_cache_bytes(struct cpti_web_cache *cache);

#endif
