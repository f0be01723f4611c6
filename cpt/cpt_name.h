/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_name.h - names of components, each kept once and known by a number
 *
 * A name is bytes with a length: it may come from another process and hold any bytes.
 * Only text for people is escaped (cpt_text_name() and others in cpt_path.h).
 *
 * By convention a component is called "service: part", as in "B: Lookup". The part
 * before the first ": " is its service; a name without ": " belongs to the service of
 * the frame above it.
 *
 * cpt_name_bound() limits names from outside to 255 bytes without NUL.
 *
 * Threads: one at a time.
 */
#ifndef CPT_NAME_H
#define CPT_NAME_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

enum {
    CPT_NAME_BYTES_MAX = 255,
    CPT_NAMES_MAX = 1 << 21 /* of one set: frames and labels of a path together */
};

/* Number of a name in one struct cpt_names: 0, 1, 2 … in the order of adding. */
typedef uint32_t cpt_name_id;

/* Borrowed bytes, without a terminating NUL. */
struct cpt_bytes {
    const char *data;
    size_t bytes;
};

/* The bytes of a C string. */
CPT_API struct cpt_bytes cpt_bytes_of(const char *text);

/* Whether both hold the same bytes: 1 or 0. */
CPT_API int cpt_bytes_equal(struct cpt_bytes left, struct cpt_bytes right);

/* The service of "service: part": the part before the first ": "; else empty. */
CPT_API struct cpt_bytes cpt_name_service(struct cpt_bytes name);

/*
 * Makes @name fit for a set. A name of at most 255 bytes without NUL is returned as it
 * is. Any other is cut at the NUL or at 238 bytes, whichever comes first, and written
 * to @buffer with '~' and a hash of the whole name, in 16 hexadecimal digits, behind
 * it. Two long names that differ stay different.
 */
CPT_API struct cpt_bytes cpt_name_bound(struct cpt_bytes name,
                                        char buffer[CPT_NAME_BYTES_MAX + 1]);

/* A set of names. */
struct cpt_names;

/* An empty set, or NULL if there is no memory. The caller owns it. */
CPT_API struct cpt_names *cpt_names_new(const struct cpt_alloc *alloc);
CPT_API void cpt_names_free(struct cpt_names *names);

/* Forgets all names but keeps the memory. */
CPT_API void cpt_names_reset(struct cpt_names *names);

/*
 * Sets *@id to the number of @name, and adds @name if it is new. A name longer than 255
 * bytes is the caller's mistake. @name may point into the set itself.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT at CPT_NAMES_MAX. After an error the set is as
 * before.
 */
CPT_API cpt_status cpt_names_add(struct cpt_names *names, struct cpt_bytes name,
                                 cpt_name_id *id);

/* Whether the set holds @name: 1, and *@id is its number; or 0. */
CPT_API int cpt_names_find(const struct cpt_names *names, struct cpt_bytes name,
                           cpt_name_id *id);

/* The bytes of name @id; borrowed until a name is added or the set is freed. */
CPT_API struct cpt_bytes cpt_names_at(const struct cpt_names *names, cpt_name_id id);
CPT_API size_t cpt_names_count(const struct cpt_names *names);

/* FNV-1a with a final mix; with a secret @seed, input cannot be chosen to collide. */
CPT_API uint64_t cpt_hash_bytes(uint64_t seed, const void *data, size_t bytes);

CPT_END_DECLS

#endif
