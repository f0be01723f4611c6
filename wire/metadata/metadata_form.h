/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * metadata_form.h - what lies between a path and its bytes
 *
 *      path --> form --> bytes            cpt_metadata_encode()
 *      path <-- message <-- bytes         cpt_metadata_decode()
 *
 * The *form* is the tables of the path, which metadata_fit.c may cut down; then they
 * are copies. metadata_form.c writes it. The *message* is metadata.proto in memory:
 * names, and columns of numbers. metadata.c reads it without knowing paths;
 * metadata_path.c gives it its meaning.
 *
 * The files use each other one way: metadata_path.c, metadata_fit.c, metadata_form.c.
 * Private to wire/. Threads: one at a time.
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
    CPTI_SEGMENT_DRAG,
    CPTI_COLUMN_COUNT
};

/* What the rows of a column are: the first column of them. */
static inline unsigned cpti_column_base(unsigned index)
{
    if (index <= CPTI_FRAME_KIND) {
        return CPTI_FRAME_PARENT;
    }
    return index <= CPTI_SEGMENT_REASON || index == CPTI_SEGMENT_DRAG
               ? CPTI_SEGMENT_FRAME
               : CPTI_LABEL_SEGMENT;
}

/* Numbers of the column of drags; those from CPTI_DRAG_FIRST on are ns. */
enum {
    CPTI_DRAG_WHOLE = 0,   /* the duration */
    CPTI_DRAG_AGAIN = 1,   /* the last ns that was said, but at most the duration */
    CPTI_DRAG_UNKNOWN = 2, /* not known */
    CPTI_DRAG_FIRST = 3
};

/* Numbers of one field. */
struct cpti_form_column {
    uint64_t *values;
    size_t count;
    size_t capacity;
    uint64_t offset; /* of its first byte in the message, if it was read */
};

/* metadata.proto in memory. */
struct cpti_form_message {
    const struct cpt_alloc *alloc;
    unsigned version;
    unsigned flags;
    bool has_server_elapsed;
    uint64_t server_elapsed_ns;
    uint64_t sum_ns;
    uint64_t nonce;
    struct cpt_bytes *names; /* their bytes are borrowed from the input */
    size_t name_count;
    size_t name_capacity;
    uint64_t name_offset; /* of the first name in the message */
    struct cpti_form_column columns[CPTI_COLUMN_COUNT];
};

/* --- metadata.c: bytes -> message --- */

void cpti_message_deinit(struct cpti_form_message *message);

/*
 * Reads @bytes at @data into @message, which is zeroed except for its alloc. @limits,
 * in which every field is set, bound its memory.
 *
 * CPT_OK; CPT_CORRUPT; CPT_VERSION; CPT_LIMIT; CPT_NO_MEMORY. Deinit it in any case.
 */
cpt_status cpti_message_read(struct cpti_form_message *message, const void *data,
                             size_t bytes,
                             const struct cpt_metadata_decode_options *limits,
                             struct cpt_error *error);

/* --- metadata_form.c: path -> form -> bytes --- */

/* A frame without a name. */
#define CPTI_NAME_NONE UINT32_MAX

/* The scratch of a usual path needs no allocation. */
enum { CPTI_FORM_FIRST_WORDS = 128 };

struct cpti_form {
    const struct cpt_alloc *alloc;
    const struct cpt_path *path; /* names are those of this path */
    unsigned flags;              /* of the path */
    bool is_own; /* the tables are copies; before, they are the path's: read only */
    bool has_server_elapsed;
    uint64_t server_elapsed_ns;
    uint64_t nonce;           /* of the ask; 0: none */
    struct cpt_frame *frames; /* with room for twice as many; see CPTI_NAME_NONE */
    size_t frame_count;
    struct cpt_segment *segments; /* none of 0 ns */
    size_t segment_count;
    struct cpt_label *labels;
    size_t label_count;
    bool has_drags;  /* some segment has one */
    uint64_t *drags; /* by segment, once the tables are the form's own; or NULL */
    /* Scratch of cpti_form_write(). */
    uint32_t *used; /* the frames in use, in order … */
    size_t used_count;
    uint32_t *frame_numbers; /* … by frame, its place there + 1; 0: not in use */
    uint32_t *name_numbers;  /* by name, its number in the message + 1; 0: none yet */
    uint32_t name_count;
    uint32_t first[CPTI_FORM_FIRST_WORDS];
};

/* CPT_OK or CPT_NO_MEMORY. Deinit it in any case. */
cpt_status cpti_form_init(struct cpti_form *form, const struct cpt_path *path,
                          const struct cpt_metadata_encode_options *options);
void cpti_form_deinit(struct cpti_form *form);

/* The drag of segment @segment, which has_drags says there are. */
static inline uint64_t cpti_form_drag(const struct cpti_form *form, size_t segment)
{
    return form->drags != NULL ? form->drags[segment]
                               : cpt_path_drag(form->path, segment);
}

/* Makes the tables the form's own, to be changed. CPT_OK or CPT_NO_MEMORY. */
cpt_status cpti_form_own(struct cpti_form *form);

/* The most bytes that the message of the whole path may have. */
size_t cpti_form_bytes_max(const struct cpti_form *form);

/* The bytes of field 19. */
enum { CPTI_NONCE_BYTES = 2 + 8 };

/* Writes the message to @data. Returns its bytes; 0: it has more than @bytes_max. */
size_t cpti_form_write(struct cpti_form *form, unsigned char *data, size_t bytes_max);

/* --- metadata_fit.c --- */

/*
 * Writes the message of @form to @data, cut down until it has at most @bytes_max bytes.
 * *@fit gets an enum cpt_metadata_fit.
 *
 * CPT_OK; CPT_LIMIT if nothing fits; CPT_NO_MEMORY.
 */
cpt_status cpti_form_fit(struct cpti_form *form, unsigned char *data, size_t bytes_max,
                         size_t *bytes, int *fit);

#endif
