/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_file.h - a model as bytes
 *
 *      bytes   what
 *      7       "CPTMODL"
 *      1       version: 1
 *      8       bytes of the body, little-endian
 *      n       body
 *      4       CRC-32C of all bytes before, little-endian
 *
 * In the body, a *number* has seven bits a byte, low ones first, and the high bit set
 * while more bytes follow (LEB128). A *step up* is the difference to the same number of
 * the entry before, of the first entry to 0.
 *
 *      number  requests        number  level
 *      number  dropped lines   number  dropped steps
 *      number  texts; each:    number  bytes, bytes          (the same for the ids)
 *      number  kinds; each:    number  step up of the service; number name, a step up
 *                              less 1 if the service is the same
 *      number  dropped kinds; each: number kind
 *      number  classes; each:
 *          number  entry       number  second      number  requests
 *          number  places; each: number kind, from the second on a step up, of
 *                              which 0 is the next turn of the same; number 2 ×
 *                              requests + whether it is an interval
 *          number  pairs; each:
 *              number  step up of low       number  high, less the one before if low is
 *                              the same, else less low; less 1
 *              number  2 × both + whether one contains the other in some
 *              number  refuted[0]      number  refuted[1]      number  overlaps
 *              number  witness of each of these three that is not 0
 *              number  contains[0]     number  contains[1]     if one does
 *      number  steps; each:    number  step up of from; number to, a step up less 1 if
 *                              from is the same
 *      number  behaviours; each:
 *          number  step up of the class    number  level   number  requests
 *          number  cells; each: number step, from the second on a step up less 1;
 *                              number count
 *
 * Each value has one form only and all is in the order of model.h, so equal models give
 * equal bytes. The reader checks this, and that no count exceeds what it is a part of;
 * an accepted model gives the same bytes. Memory grows with what was read.
 */
#ifndef CPTI_MODEL_FILE_H
#define CPTI_MODEL_FILE_H

#include "import/model/model.h"

#include "cpt/cpt_io.h"

#define CPTI_MODEL_MAGIC "CPTMODL"

enum {
    CPTI_MODEL_MAGIC_BYTES = 7,
    CPTI_MODEL_VERSION = 1,
    CPTI_MODEL_HEAD_BYTES = CPTI_MODEL_MAGIC_BYTES + 1 + 8,
    CPTI_MODEL_CRC_BYTES = 4
};

/* Writes @model. CPT_OK; CPT_NO_MEMORY; CPT_IO. */
cpt_status cpti_model_write(const struct cpti_model *model,
                            const struct cpt_sink *sink);

/* Reads a model of @bytes, all of them. CPT_OK with a model that the caller owns;
 * CPT_TRUNCATED, CPT_CORRUPT, CPT_VERSION, CPT_LIMIT with the place in @error;
 * CPT_NO_MEMORY. */
cpt_status cpti_model_read(const struct cpt_alloc *alloc, const void *bytes,
                           size_t byte_count, struct cpti_model **model,
                           struct cpt_error *error);

#endif
