/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * records_out.h - simulated requests as records of a path log, with their tenant
 *
 * A path is one segment, of the entry: what is compared by tenant is the latency.
 * Threads: one at a time. Out of memory ends the program.
 */
#ifndef MODELS_RECORDS_OUT_H
#define MODELS_RECORDS_OUT_H

#include "tests/models/spans_out.h"

struct cpt_log_block;
struct cpt_path;

struct records_out {
    FILE *file;
    double start_s; /* of simulated time 0 */
    struct cpt_log_block *block;
    struct cpt_path *path;
};

/* `file` and `start_s` are set; the end frees the rest. */
void records_out_begin(struct records_out *out);
void records_out_request(struct records_out *out, const struct request *request);
void records_out_end(struct records_out *out);

#endif
