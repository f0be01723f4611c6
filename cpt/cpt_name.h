/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_name.h - names of components, each kept once and known by a number
 *
 * A name is bytes with a length: it may come from another process and hold anything.
 * Only text that is meant for people is escaped (see cpt_path_text in cpt_path.h).
 *
 * By convention a component is called "service: part", as in "B: Lookup". What comes
 * before the first ": " is its service; a name without one belongs to the service of
 * the frame it stands in.
 *
 * Names from outside are bounded by cpt_name_bound(): at most 255 bytes, no NUL.
 *
 * Threads: one at a time.
 */
#ifndef CPT_NAME_H
#define CPT_NAME_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

enum {
    CPT_NAME_BYTES_MAX = 255,
    CPT_NAMES_MAX = 1 << 21 /* of one set: as many as frames and labels of a path */
};

/* Number of a name within one struct cpt_names: 0, 1, 2 … in the order of coming. */
typedef uint32_t cpt_name_id;

/* Some bytes of somebody else's; not terminated. */
struct cpt_bytes {
    const char *data;
    size_t bytes;
};

/* The bytes of a C string. */
CPT_API struct cpt_bytes cpt_bytes_of(const char *text);

/* Whether both hold the same bytes. */
CPT_API int cpt_bytes_equal(struct cpt_bytes left, struct cpt_bytes right);

/* The service of "service: part": what comes before the first ": "; else empty. */
CPT_API struct cpt_bytes cpt_name_service(struct cpt_bytes name);

/*
 * @name made fit to be kept: as it is if it has at most 255 bytes and no NUL byte;
 * otherwise cut at the NUL or at 238 bytes, whichever comes first, with '~' and a hash
 * of the whole in 16 hexadecimal digits put behind, written to @buffer. Two long names
 * that differ stay different.
 */
CPT_API struct cpt_bytes cpt_name_bound(struct cpt_bytes name,
                                        char buffer[CPT_NAME_BYTES_MAX + 1]);

/* A set of names. */
struct cpt_names;

/* An empty set, or NULL without memory. The caller owns it. */
CPT_API struct cpt_names *cpt_names_new(const struct cpt_alloc *alloc);
CPT_API void cpt_names_free(struct cpt_names *names);

/* Forgets all names but keeps the memory. */
CPT_API void cpt_names_reset(struct cpt_names *names);

/*
 * The number of @name, which is added if it is new. Names longer than 255 bytes are
 * the caller's mistake. @name may point into the set itself.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT at CPT_NAMES_MAX. After an error as before.
 */
CPT_API cpt_status cpt_names_add(struct cpt_names *names, struct cpt_bytes name,
                                 cpt_name_id *id);

/* Whether @name is there; if so, *@id is its number. */
CPT_API int cpt_names_find(const struct cpt_names *names, struct cpt_bytes name,
                           cpt_name_id *id);

/* The bytes of name @id; borrowed until a name is added or the set freed. */
CPT_API struct cpt_bytes cpt_names_at(const struct cpt_names *names, cpt_name_id id);
CPT_API size_t cpt_names_count(const struct cpt_names *names);

/* FNV-1a with a final mix; @seed keeps hostile input from choosing its collisions. */
CPT_API uint64_t cpt_hash_bytes(uint64_t seed, const void *data, size_t bytes);

CPT_END_DECLS

#endif
