/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* make_lies.h - the wrong index of a log of make_log */
#ifndef MAKE_LIES_H
#define MAKE_LIES_H

#include "wire/cpt_log_index.h"

/* Makes the index deny something in each of the first blocks. */
static inline void tell_lies(struct cpt_log_index *index)
{
    for (size_t i = 0; i < 4 && i < cpt_log_index_count(index); i++) {
        struct cpt_log_index_block *block =
            (struct cpt_log_index_block *)(uintptr_t)cpt_log_index_block(index, i);

        switch (i) {
        case 0:
            block->latency_max_ns = block->latency_min_ns;
            break;
        case 1:
            block->start_min_ns++;
            break;
        case 2:
            block->keys &= ~UINT64_C(1);
            break;
        default:
            block->services = 0;
            break;
        }
    }
}

#endif
