/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_passing.h - the blocks of a log that need not be read
 *
 * A log that was finished ends with an index. Who selects by what it tells of, times,
 * latencies, entry services and which keys there are, passes over the blocks in which
 * nothing can be selected. What comes out is the same as without; an input that cannot
 * be read backwards, such as a pipe, or has no index that holds, is read as a whole.
 */
#ifndef CPTI_CLI_LOG_PASSING_H
#define CPTI_CLI_LOG_PASSING_H

#include "cpt/cli/base/files.h"

struct cpt_log_index;
struct cpt_log_reader_options;
struct cpti_selection;

struct cpti_log_passing {
    struct cpti_selection *const *selections; /* a block is read if one wants it */
    size_t selection_count;
    struct cpt_log_index *index;
    uint64_t passed_keys; /* of the blocks that were not wanted */
};

/*
 * Looks for an index in @input, if each of the selections leaves out anything that an
 * index tells of, and puts into @options what the reader needs to use it. All must
 * outlive the reader.
 */
void cpti_log_passing_init(struct cpti_log_passing *passing, struct cpti_input *input,
                           struct cpti_selection *const *selections,
                           size_t selection_count,
                           struct cpt_log_reader_options *options);

/* Tells the selections which keys may have been passed over. */
void cpti_log_passing_deinit(struct cpti_log_passing *passing);

/* The index at the end of a file, which the caller frees; NULL if it has none that
 * holds. */
struct cpt_log_index *cpti_log_index_of(struct cpti_input *input);

/* Whether @input ends with an index that holds: its writer has finished it. */
int cpti_log_is_finished(struct cpti_input *input);

#endif
