/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * read_profile.h - reads a profile by other code than the code that wrote it
 *
 * A small protobuf reader, written from the description of the wire format. It fails
 * the test on everything that a strict reader would refuse.
 */
#ifndef READ_PROFILE_H
#define READ_PROFILE_H

#include <stddef.h>
#include <stdint.h>

enum { READ_VALUES_MAX = 8 };

struct read_sample {
    uint64_t *locations; /* leaf first */
    size_t location_count;
    uint64_t values[READ_VALUES_MAX];
    size_t value_count;
    uint64_t labels[READ_VALUES_MAX][2]; /* strings: key, text */
    size_t label_count;
};

struct read_profile {
    uint64_t types[READ_VALUES_MAX][2]; /* strings: type, unit */
    size_t type_count;
    struct read_sample *samples;
    size_t sample_count;
    uint64_t mapping_filename;
    int has_functions;
    size_t mapping_count;
    uint64_t (*locations)[2]; /* mapping, function */
    size_t location_count;
    uint64_t (*functions)[2]; /* strings: name, file name */
    size_t function_count;
    char **strings;
    size_t string_count;
    uint64_t time_nanos;
    uint64_t period_type[2];
    uint64_t period;
    uint64_t comments[64];
    size_t comment_count;
    uint64_t default_type;
};

/* Reads @bytes at @data; free the result with read_profile_deinit(). */
void read_profile(struct read_profile *profile, const unsigned char *data,
                  size_t bytes);
void read_profile_deinit(struct read_profile *profile);

/* The stack of a sample: function names, root first, joined by ';'. */
void read_profile_stack(const struct read_profile *profile, size_t sample, char *text,
                        size_t capacity);

#endif
