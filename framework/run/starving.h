/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * starving.h - steps that could run but had no processor, and what ran instead
 *
 * Where CPU time is measured, a step knows for how long no processor ran it. The kernel
 * says of each thread for how long it was ready to run and had to wait for a processor:
 * its *run delay* (/proc/thread-self/schedstat). A thread reads it where a step begins
 * and ends, but only if it was off the processor since it read it last; its descriptor
 * stays open as long as the thread lives.
 *
 * Each thread also tells which step it runs, and which ones it ran last. A step with
 * run delay blames the task that computed most on other threads meanwhile: of those
 * that tell, which are the traced requests whose CPU time is measured, of any service
 * of this process. Work that is not traced, other threads and other processes are not
 * seen, so that a culprit may be innocent on a machine that has others to serve.
 */
#ifndef CPT_STARVING_H
#define CPT_STARVING_H

#include "framework/run/request.h"

#include <inttypes.h>
#include <stdio.h>

/* A step of @task begins on this thread, which has used @cpu_ns of CPU time. */
void cpti_starving_begin(const struct cpt_task *task, uint64_t cpu_ns);

/*
 * It ends, and no processor ran it for @off_ns. What is known of that, in the notes of
 * its request or static; NULL: it is not measured. The lock of the request is held if
 * it is shared.
 */
const struct cpt_trace_starved *cpti_starving_end(struct cpt_task *task,
                                                  uint64_t cpu_ns, uint64_t off_ns);

/* The run delay in @text, the contents of such a file, into *@delay_ns. false: the
 * kernel does not keep it. All is 0 where it was built with the file alone. */
static inline bool cpti_starving_parse(const char *text, uint64_t *delay_ns)
{
    uint64_t ran_ns = 0;
    uint64_t turns = 0;

    return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ran_ns, delay_ns,
                  &turns) == 3 &&
           (ran_ns != 0 || turns != 0);
}

#endif
