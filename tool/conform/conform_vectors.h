/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* conform_vectors.h - the files of tests/data/metadata/, built in by
 * cmake/CptVectors.cmake. Static memory. */
#ifndef CPTI_CONFORM_VECTORS_H
#define CPTI_CONFORM_VECTORS_H

#include <stddef.h>

struct cpti_conform_vector {
    const char *name; /* "v1/document", "bad/kind-256" */
    const unsigned char *data;
    size_t bytes;
};

extern const struct cpti_conform_vector cpti_conform_vectors[];
extern const size_t cpti_conform_vector_count;

#endif
