/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_passing.h - the blocks of a log that need not be read
 *
 * A log that was finished ends with an index. Who looks only for a window of time or an
 * entry service passes over the blocks that hold nothing of it. What comes out is the
 * same as without; an input that cannot be read backwards, such as a pipe, or has no
 * index that holds, is read as a whole.
 */
#ifndef CPTI_CLI_LOG_PASSING_H
#define CPTI_CLI_LOG_PASSING_H

#include "cpt/cli/files.h"

struct cpt_log_index;
struct cpt_log_reader_options;

/* What is looked for: requests of all of this. */
struct cpti_log_window {
    uint64_t since_ns; /* wall clock */
    uint64_t until_ns; /* before that; UINT64_MAX: no limit */
    const char *entry; /* the entry service; NULL: any */
};

struct cpti_log_passing {
    const struct cpti_log_window *windows; /* a block is read if one of them wants it */
    size_t window_count;
    struct cpt_log_index *index;
};

/*
 * Looks for an index in @input, if one of the windows is any narrower than all, and
 * puts into @options what the reader needs to use it. Both must outlive the reader.
 */
void cpti_log_passing_init(struct cpti_log_passing *passing, struct cpti_input *input,
                           const struct cpti_log_window *windows, size_t window_count,
                           struct cpt_log_reader_options *options);
void cpti_log_passing_deinit(struct cpti_log_passing *passing);

/* Whether @input ends with an index that holds: its writer has finished it. */
int cpti_log_is_finished(struct cpti_input *input);

/*
 * Reads on as cpti_input_read() does, and waits at the end of a file for more, until
 * its writer has finished it. What was printed is flushed before.
 */
cpt_status cpti_log_read_following(void *context, void *buffer, size_t capacity,
                                   size_t *bytes);

#endif
