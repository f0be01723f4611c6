/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * metadata_form.h - the two forms of a path between its tables and its bytes
 *
 *      path --> form --> message --> bytes        cpt_metadata_encode()
 *      path <----------- message <-- bytes        cpt_metadata_decode()
 *
 * The *form* is a copy of the path's tables, which metadata_fit.c may cut down. The
 * *message* is metadata.proto in memory: names, and columns of numbers. metadata.c
 * turns it into bytes and back without knowing paths; metadata_form.c and
 * metadata_path.c give it its meaning.
 *
 * The files use each other one way: metadata_path.c, metadata_fit.c, metadata_form.c,
 * metadata.c. Private to wire/. Threads: one at a time.
 */
#ifndef METADATA_FORM_H
#define METADATA_FORM_H

#include "cpt/cpt_path.h"
#include "wire/cpt_metadata.h"

#include <stdbool.h>

/* The columns of metadata.proto, in its order; the field of the first is 6. */
enum cpti_column_index {
    CPTI_FRAME_PARENT,
    CPTI_FRAME_NAME,
    CPTI_FRAME_KIND,
    CPTI_SEGMENT_FRAME,
    CPTI_SEGMENT_DURATION_NS,
    CPTI_SEGMENT_FOLDED,
    CPTI_SEGMENT_FLAGS,
    CPTI_SEGMENT_REASON,
    CPTI_LABEL_SEGMENT,
    CPTI_LABEL_KEY,
    CPTI_LABEL_IS_NAME,
    CPTI_LABEL_VALUE,
    CPTI_COLUMN_COUNT
};

/* Numbers of one field. */
struct cpti_column {
    uint64_t *values;
    size_t count;
    size_t capacity;
    uint64_t offset; /* of its first byte in the message, if it was read */
};

/* metadata.proto in memory. */
struct cpti_message {
    const struct cpt_alloc *alloc;
    unsigned version;
    unsigned flags;
    bool has_server_elapsed;
    uint64_t server_elapsed_ns;
    uint64_t sum_ns;
    struct cpt_bytes *names; /* their bytes are borrowed from the path or the input */
    size_t name_count;
    size_t name_capacity;
    uint64_t name_offset; /* of the first name in the message, if it was read */
    struct cpti_column columns[CPTI_COLUMN_COUNT];
};

/* --- metadata.c: message <-> bytes --- */

/* The bytes of @value as a varint. */
static inline size_t cpti_varint_bytes(uint64_t value)
{
    return value == 0 ? 1 : (size_t)(63 - __builtin_clzll(value)) / 7 + 1;
}

void cpti_message_deinit(struct cpti_message *message);

/* The bytes of the encoded message. */
size_t cpti_message_bytes(const struct cpti_message *message);

/* Encodes the message to @data, which has exactly that many @bytes. */
void cpti_message_write(const struct cpti_message *message, unsigned char *data,
                        size_t bytes);

/*
 * Reads @bytes at @data into @message, which is zeroed except for its alloc. @limits,
 * in which every field is set, bound its memory.
 *
 * CPT_OK; CPT_CORRUPT; CPT_VERSION; CPT_LIMIT; CPT_NO_MEMORY. Deinit it in any case.
 */
cpt_status cpti_message_read(struct cpti_message *message, const void *data,
                             size_t bytes,
                             const struct cpt_metadata_decode_options *limits,
                             struct cpt_error *error);

/* --- metadata_form.c: path -> form -> message --- */

/* A frame without a name. */
#define CPTI_NAME_NONE UINT32_MAX

/* A path's tables, to be cut down. */
struct cpti_form {
    const struct cpt_alloc *alloc;
    const struct cpt_path *path; /* names are those of this path */
    unsigned flags;              /* of the path */
    struct cpt_frame *frames;    /* with room for twice as many; see CPTI_NAME_NONE */
    size_t frame_count;
    size_t frame_use_max;         /* the most frames in use at the same time */
    struct cpt_segment *segments; /* none of 0 ns */
    size_t segment_count;
    struct cpt_label *labels;
    size_t label_count;
    uint32_t *frame_numbers; /* scratch of cpti_form_number(), for each frame … */
    uint32_t *name_numbers;  /* … and for each name of the path */
};

/* CPT_OK or CPT_NO_MEMORY. Deinit it in any case. */
cpt_status cpti_form_init(struct cpti_form *form, const struct cpt_alloc *alloc,
                          const struct cpt_path *path);
void cpti_form_deinit(struct cpti_form *form);

/* Allocates the columns of @message for @form, which only shrinks from here on. CPT_OK
 * or CPT_NO_MEMORY. */
cpt_status cpti_form_reserve(const struct cpti_form *form,
                             struct cpti_message *message);

/* Makes @message, which has room, of @form: numbers the frames in use and their names,
 * and fills the columns. */
void cpti_form_number(struct cpti_form *form, struct cpti_message *message);

/* --- metadata_fit.c --- */

/*
 * Cuts @form down until its message takes at most @bytes_max, and makes this @message.
 * *@fit gets an enum cpt_metadata_fit.
 *
 * CPT_OK; CPT_LIMIT if nothing fits; CPT_NO_MEMORY.
 */
cpt_status cpti_form_fit(struct cpti_form *form, struct cpti_message *message,
                         size_t bytes_max, int *fit);

#endif
