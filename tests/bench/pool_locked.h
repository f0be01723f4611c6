/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* pool_locked.h - cpt_pool_new() and cpt_pool_free() of the pool with locked deques */
#ifndef CPT_POOL_LOCKED_H
#define CPT_POOL_LOCKED_H

#include "framework/cpt_runtime.h"

struct cpt_executor *bench_locked_pool_new(const struct cpt_pool_options *options,
                                           struct cpt_error *error);
void bench_locked_pool_free(struct cpt_executor *pool);

#endif
