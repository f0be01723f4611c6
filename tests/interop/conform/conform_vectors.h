/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* conform_vectors.h - the files of tests/data/metadata/ */
#ifndef CPTI_CONFORM_VECTORS_H
#define CPTI_CONFORM_VECTORS_H

#include <stddef.h>

struct cpti_conform_vector {
    char name[96]; /* "v1/document", "bad/kind-256" */
    unsigned char *data;
    size_t bytes;
};

struct cpti_conform_vectors {
    struct cpti_conform_vector *all;
    size_t count;
};

/* Reads the *.bin files in bad/ and v1/ of @folder, in the order of their names.
 * enum cpti_exit. Free @vectors in any case. */
int cpti_conform_vectors_read(struct cpti_conform_vectors *vectors, const char *folder);
void cpti_conform_vectors_deinit(struct cpti_conform_vectors *vectors);

#endif
