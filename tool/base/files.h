/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * files.h - inputs recognized by their first bytes, outputs that are whole or absent
 *
 * The first bytes of an input tell a path log from a tree; its name does not matter.
 * "-" is standard input.
 *
 * An output is written to a hidden temporary file beside its destination and renamed
 * when it is complete. So no reader sees half of it, and after a failure the old file
 * is still there. Anything but a regular file (a pipe, /dev/null), or one without a
 * name, is written in place.
 *
 * A function that returns an enum cpti_exit has printed its error.
 */
#ifndef CPTI_CLI_FILES_H
#define CPTI_CLI_FILES_H

#include "cpt/cpt_status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum cpti_input_kind {
    CPTI_INPUT_LOG,    /* a path log */
    CPTI_INPUT_TREE,   /* written by `cpt aggregate` */
    CPTI_INPUT_GZIP,   /* most likely a profile */
    CPTI_INPUT_GRAPHS, /* a graph log */
    CPTI_INPUT_EMPTY,
    CPTI_INPUT_OTHER /* perhaps a log without its beginning */
};

enum { CPTI_HEAD_BYTES = 16 };

struct cpti_input {
    const char *path; /* as given; borrowed */
    FILE *file;
    enum cpti_input_kind kind;
    unsigned char head[CPTI_HEAD_BYTES]; /* read ahead, to find the kind */
    size_t head_bytes;
    size_t head_used;     /* bytes of head that the caller has read */
    uint64_t read_bytes;  /* all bytes that the caller has read */
    uint64_t total_bytes; /* of a regular file; 0: not known */
    int error_number;     /* errno of a read that failed, or 0 */
};

/* What a file is whose first bytes are the @bytes at @head, up to CPTI_HEAD_BYTES. */
enum cpti_input_kind cpti_input_kind_of(const unsigned char *head, size_t bytes);

/* In a format, about a file that begins as text does and is nothing that is known. */
#define CPTI_HINT_LINES                                                                \
    CPTI_HINT "if it is lines of a log, 'cpt events check' says what they tell of "    \
              "requests, and 'cpt import --events' makes a path log of them"

/* Whether @input begins as text does. */
bool cpti_input_is_text(const struct cpti_input *input);

/* Whether @operand is the address of a database, not a file. */
bool cpti_is_store(const char *operand);

/*
 * For a server, whose files may change at any time: from now on, this thread opens only
 * regular files, without waiting, and fails to open or read once *@is_unwanted is true.
 * NULL: as usual. cpti_workers_run() passes it on to its threads.
 */
void cpti_inputs_end_if(const atomic_bool *is_unwanted);

/* What it was called with. */
const atomic_bool *cpti_inputs_end(void);

/* The files of @folder, which is copied, are inputs that may be removed at any time: a
 * service, or `cpt depot drop`, removes old logs while others read them. One that is
 * gone when it is opened is empty, which is told once. Threads: any. */
void cpti_inputs_of_folder(const char *folder);

/* Whether @path, of such a folder, is gone; tells it once. Threads: any. */
bool cpti_input_is_gone(const char *path);

/* From now on, each input of this thread ends after @bytes; 0: where it ends. */
void cpti_inputs_cut(uint64_t bytes);

/* Opens @path, or standard input for "-". enum cpti_exit. */
int cpti_input_open(struct cpti_input *input, const char *path);
void cpti_input_close(struct cpti_input *input);

/* Says that @input, a graph log, is none of those that the command reads.
 * CPTI_EXIT_FAILED. */
int cpti_refuse_graphs(const struct cpti_input *input);

/* The name for messages: the quoted path, or "standard input". */
const char *cpti_input_name(const struct cpti_input *input);

/* Reads the next bytes; a cpt_read_fn whose context is the input. CPT_OK or
 * CPT_IO. */
cpt_status cpti_input_read(void *context, void *buffer, size_t capacity, size_t *bytes);

/* Seeks to @offset of a regular file; a cpt_log_seek_fn. CPT_OK or CPT_IO. */
cpt_status cpti_input_seek(void *context, uint64_t offset);

/* Reads @bytes at @offset of a regular file, without seeking; a cpt_read_at_fn.
 * CPT_OK, or CPT_IO if the file has fewer. */
cpt_status cpti_input_read_at(void *context, uint64_t offset, void *buffer,
                              size_t bytes);

/* The present length of a regular file; 0 for anything else. */
uint64_t cpti_input_bytes(const struct cpti_input *input);

/* Reads the rest, at most @limit bytes, into memory that the caller frees with free(),
 * and adds a NUL byte. enum cpti_exit. */
int cpti_input_slurp(struct cpti_input *input, size_t limit, unsigned char **data,
                     size_t *bytes);

struct cpti_output {
    const char *path; /* as given; NULL for standard output */
    FILE *file;
    char *target;     /* the destination, links resolved; NULL if written in place */
    char *temporary;  /* the file until it is renamed */
    int error_number; /* of the first write that failed; 0: none */
    bool has_no_name; /* a private file: empty if the output is aborted */
};

/* Opens @path for writing; NULL and "-" are standard output. enum cpti_exit. */
int cpti_output_open(struct cpti_output *output, const char *path);

/* Writes; a cpt_write_fn whose context is the output. CPT_OK, CPT_IO. */
cpt_status cpti_output_write(void *context, const void *data, size_t bytes);

/* Completes the file and renames it to its destination. Ends the output. enum
 * cpti_exit. */
int cpti_output_commit(struct cpti_output *output);

/* Removes the temporary file. Ends the output. */
void cpti_output_abort(struct cpti_output *output);

/* Ends the output after a writer that returned @status and @error: commits it, or
 * aborts it and prints the error. enum cpti_exit. */
int cpti_output_finish(struct cpti_output *output, cpt_status status,
                       const struct cpt_error *error);

#endif
