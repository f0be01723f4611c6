/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_apportion.h - a whole divided so that the parts add up to it
 *
 * Scaling times by a factor rounds each of them, and then they no longer add up. The
 * method of the largest remainder (Hamilton's) rounds all down and gives what is left,
 * one each, to those that lost most; ties go to the earlier one.
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
 * CPT_OK; CPT_LIMIT if the values sum to more than 2^63 - 1 or @whole does, or if there
 * is a whole and nobody to take it; CPT_NO_MEMORY (it takes 16 bytes a value from
 * @alloc for the time of the call).
 */
CPT_API cpt_status cpt_apportion(const struct cpt_alloc *alloc, uint64_t *values,
                                 size_t count, uint64_t whole);

CPT_END_DECLS

#endif
