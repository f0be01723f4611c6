/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_write.h - bytes to a descriptor that may be closed, full or stalled
 *
 * A log must neither end nor stop its service. A write to a pipe that has lost its
 * reader raises SIGPIPE, and one beyond the file size limit of the process SIGXFSZ:
 * both end a process that did not expect them. Here they are errors. A reader that
 * takes nothing stops the writer only until a deadline.
 */
#ifndef CPT_LOG_WRITE_H
#define CPT_LOG_WRITE_H

#include "cpt/cpt_status.h"

#include <stdatomic.h>

/* How long cpti_log_write() waits where no deadline was set. */
#define CPTI_LOG_PATIENCE_NS UINT64_C(5000000000)

/*
 * Writes @bytes of @data; *@written: how many of them, also after an error. CPT_OK;
 * CPT_IO with errno set; CPT_TIMEOUT: the deadline came first.
 *
 * A regular file knows no deadline: the system may keep the thread as long as its disk
 * takes. Pipes, FIFOs, sockets and terminals do.
 */
cpt_status cpti_log_write(int descriptor, const void *data, size_t bytes,
                          size_t *written);

/* Writes @bytes of @data, at most PIPE_BUF, in one piece, if the descriptor takes them
 * at once; what it does not take is lost. */
void cpti_log_write_now(int descriptor, const void *data, size_t bytes);

/* From now on *@deadline_ns, of the monotonic clock, is the deadline of this thread's
 * writes. Other threads may change it while one waits. It must outlive the thread. */
void cpti_log_write_until(const atomic_ullong *deadline_ns);

#endif
