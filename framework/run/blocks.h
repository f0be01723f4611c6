/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* blocks.h - the memory of requests, and a plan made ready to run; see blocks.c */
#ifndef CPT_BLOCKS_H
#define CPT_BLOCKS_H

#include "framework/run/request.h"

/* A block for a request by @options: everything zero but what the plan and the block
 * itself say. CPT_OK, CPT_LIMIT, CPT_NO_MEMORY. */
cpt_status cpti_block_take(const struct cpt_request_options *options,
                           struct cpt_request **made, struct cpt_error *error);

/* The block of a request that is gone: kept for a later one, or freed. */
void cpti_block_give_back(struct cpt_request *request);

/* Where the name of its entry has room, CPT_NAME_BYTES_MAX and a NUL; traced only. */
char *cpti_block_entry(struct cpt_request *request);

#endif
