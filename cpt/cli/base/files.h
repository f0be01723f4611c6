/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * files.h - inputs that are known by their first bytes, outputs that are whole or
 * absent
 *
 * An input is read through a few bytes that are looked at first: they tell a path log
 * from a tree, whatever the file is called, and "-" is standard input.
 *
 * An output is written to a temporary file beside its destination and renamed when it
 * is complete, so that nobody ever reads half of it and a failure leaves what was there
 * before. What is no regular file (a pipe, /dev/null) is written as it stands.
 *
 * Messages have been printed when a function here fails.
 */
#ifndef CPTI_CLI_FILES_H
#define CPTI_CLI_FILES_H

#include "cpt/cpt_status.h"

#include <stdio.h>

enum cpti_input_kind {
    CPTI_INPUT_LOG,  /* a path log */
    CPTI_INPUT_TREE, /* what `cpt aggregate` writes */
    CPTI_INPUT_GZIP, /* a profile, most likely */
    CPTI_INPUT_EMPTY,
    CPTI_INPUT_OTHER /* perhaps a log whose beginning is lost */
};

enum { CPTI_HEAD_BYTES = 16 };

struct cpti_input {
    const char *path; /* as given; borrowed */
    FILE *file;
    enum cpti_input_kind kind;
    unsigned char head[CPTI_HEAD_BYTES]; /* read to learn the kind */
    size_t head_bytes;
    size_t head_used;     /* of those, handed on */
    uint64_t read_bytes;  /* handed on in all */
    uint64_t total_bytes; /* of a regular file; 0 if not known */
    int error_number;     /* errno of a read that failed, or 0 */
};

/* Whether @operand is the address of a database rather than a file. */
int cpti_is_store(const char *operand);

/* Opens @path, or standard input for "-". enum cpti_exit. */
int cpti_input_open(struct cpti_input *input, const char *path);
void cpti_input_close(struct cpti_input *input);

/* What messages call it: the quoted path, or "standard input". */
const char *cpti_input_name(const struct cpti_input *input);

/* Reads on; a cpt_log_read_fn whose context is the input. CPT_OK or CPT_IO. */
cpt_status cpti_input_read(void *context, void *buffer, size_t capacity, size_t *bytes);

/* Goes to @offset of a regular file; a cpt_log_seek_fn. CPT_OK or CPT_IO. */
cpt_status cpti_input_seek(void *context, uint64_t offset);

/* Reads @bytes at @offset of a regular file, without going there; a
 * cpt_log_read_at_fn. CPT_OK, or CPT_IO if they are not there. */
cpt_status cpti_input_read_at(void *context, uint64_t offset, void *buffer,
                              size_t bytes);

/* How long a regular file is by now; 0 for anything else. */
uint64_t cpti_input_bytes(const struct cpti_input *input);

/*
 * All the rest, at most @limit bytes, in memory of malloc() that the caller frees; with
 * a NUL byte behind it. enum cpti_exit.
 */
int cpti_input_slurp(struct cpti_input *input, size_t limit, unsigned char **data,
                     size_t *bytes);

struct cpti_output {
    const char *path; /* as given; NULL for standard output */
    FILE *file;
    char *target;    /* where the file goes, links resolved; NULL if written in place */
    char *temporary; /* where it is till then */
};

/* Opens @path for writing; NULL and "-" are standard output. enum cpti_exit. */
int cpti_output_open(struct cpti_output *output, const char *path);

/* Writes; a cpt_sink's function whose context is the output. 0, or 1 if it failed. */
int cpti_output_write(void *context, const void *data, size_t bytes);

/* Completes the file and puts it in its place. enum cpti_exit. Ends the output. */
int cpti_output_commit(struct cpti_output *output);

/* Removes what has been written. Ends the output. */
void cpti_output_abort(struct cpti_output *output);

#endif
