/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * note_records.h - the records that the notes of a trace make: by note_path.c, for its
 * path and for its dag (note_dag.c)
 */
#ifndef CPTI_NOTE_RECORDS_H
#define CPTI_NOTE_RECORDS_H

#include "import/notes/notes.h"
#include "import/spans/span_tree.h"

#include "cpt/cpt_trace_build.h"

enum {
    NESTING_MAX = 64, /* runs within one another: each takes some KiB of the stack */
    BEGIN_NS = 1      /* when runs arrive: 0 would be "not set" */
};

struct noted_run;

/* One span. */
struct noted {
    struct cpti_note note;
    struct noted *parent; /* or NULL */
    struct noted *callee; /* of a call: the first request below it, or NULL */
    struct noted_run
        *run;        /* that it belongs to; of a request or a component: its own */
    bool is_visited; /* while the run of a task is looked for */
    union {
        struct cpt_trace_task task;
        struct cpt_trace_call call;
        struct cpt_trace_await await;
    } record;
    struct cpt_trace_starved
        starved; /* of a task or a wait: what its record points to */
};

/* A request or a component. */
struct noted_run {
    struct cpt_trace trace; /* all of its times count from its arrival */
    struct reading *reading;
    struct noted *noted; /* its span */
    bool is_open;        /* its path is being made */
    uint32_t number;     /* + 1, of those of a dag; 0: it is not in it */
};

struct reading {
    struct cpti_spans *spans;
    struct cpt_arena arena;
    struct noted *all; /* as many as there are spans */
    struct noted **waits;
    size_t wait_count;
    struct cpti_hash_index index; /* ids -> all */
    unsigned depth;
    cpt_status failed; /* why the path of a callee could not be made */
};

/* Whether a run begins with @noted: it is a request or a component. */
static inline bool cpti_noted_has_run(const struct noted *noted)
{
    return noted->note.kind == CPTI_NOTE_REQUEST ||
           (noted->note.kind == CPTI_NOTE_CALL && noted->note.text.entry_.bytes != 0);
}

/* The first reads the notes of the trace of @reading, of which `spans` and `arena` are
 * set: all runs arrive at BEGIN_NS. The second makes the records, where the runs have
 * been moved to. CPT_OK; CPT_END: it has no notes, or they do not fit together;
 * CPT_NO_MEMORY. */
cpt_status cpti_noted_read(struct reading *reading);
cpt_status cpti_noted_make(struct reading *reading);

/* The span with @id; NULL: there is none. */
struct noted *cpti_noted_find(const struct reading *reading, struct cpt_bytes id);

/* The run that @noted is a record of. A component is a record of the run around it.
 * NULL: of none. */
struct noted_run *cpti_noted_outer_run(struct noted *noted);

#endif
