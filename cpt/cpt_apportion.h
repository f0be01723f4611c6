/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_apportion.h - a whole divided so that the parts add up to it
 *
 * Scaling times by a factor rounds each of them, so they no longer add up. The method
 * of the largest remainder (Hamilton's) rounds all down, and gives one more to each of
 * those that lost most, until nothing is left; ties go to the earlier one.
 *
 * Threads: any.
 */
#ifndef CPT_APPORTION_H
#define CPT_APPORTION_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

/*
 * Replaces each of @count values by its share of @whole: value × whole / sum, rounded
 * so that the shares sum to @whole exactly. Products are 128 bits wide. Where all
 * values are 0 the first takes the whole.
 *
 * CPT_OK; CPT_LIMIT if @whole or the sum of the values exceeds 2^63 - 1, or if @whole
 * is not 0 and there are no values; CPT_NO_MEMORY (during the call it uses 16 bytes for
 * each value from @alloc).
 */
CPT_API cpt_status cpt_apportion(const struct cpt_alloc *alloc, uint64_t *values,
                                 size_t count, uint64_t whole);

CPT_END_DECLS

#endif
