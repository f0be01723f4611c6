/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * notes.h - what spans of our own framework say beside their times
 *
 *      task name=A:%20A1 start=1200 end=1893011 after=00f067aa0ba902b7
 *
 * docs/format-spans.md has all words and keys. Notes are input like any other.
 */
#ifndef CPTI_NOTES_H
#define CPTI_NOTES_H

#include "cpt/cpt_arena.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

/* What a note is of. */
enum cpti_note_kind {
    CPTI_NOTE_NONE = 0, /* no note, or one that is malformed */
    CPTI_NOTE_REQUEST,
    CPTI_NOTE_TASK,
    CPTI_NOTE_WAIT,
    CPTI_NOTE_CALL,
    CPTI_NOTE_ANSWER
};

/* X(key). Each kind uses some of them. */
#define CPTI_NOTE_NUMBERS(X)                                                           \
    X(latency)                                                                         \
    X(dispatch)                                                                        \
    X(attribution)                                                                     \
    X(overcount)                                                                       \
    X(lost)                                                                            \
    X(cpu)                                                                             \
    X(ready)                                                                           \
    X(start)                                                                           \
    X(end)                                                                             \
    X(margin)                                                                          \
    X(off)                                                                             \
    X(order)                                                                           \
    X(block)                                                                           \
    X(arrive)                                                                          \
    X(resume)                                                                          \
    X(issue)                                                                           \
    X(sent)                                                                            \
    X(outcome)                                                                         \
    X(kind)                                                                            \
    X(reason)                                                                          \
    X(attempt)                                                                         \
    X(path)                                                                            \
    X(elapsed)                                                                         \
    X(unsent)                                                                          \
    X(unread)                                                                          \
    X(queue)                                                                           \
    X(delay)                                                                           \
    X(holder_trace)                                                                    \
    X(culprit_trace)

/* Ids and groups are as they were written, the others are decoded. */
#define CPTI_NOTE_TEXTS(X)                                                             \
    X(entry)                                                                           \
    X(by)                                                                              \
    X(name)                                                                            \
    X(group)                                                                           \
    X(after)                                                                           \
    X(starter)                                                                         \
    X(executor)                                                                        \
    X(occupant)                                                                        \
    X(for)                                                                             \
    X(issuer)                                                                          \
    X(inputs)                                                                          \
    X(waiter)                                                                          \
    X(status)                                                                          \
    X(holder)                                                                          \
    X(culprit)

#define CPTI_NOTE_UNSET UINT64_MAX

struct cpti_note {
    enum cpti_note_kind kind;
#define CPTI_NOTE_FIELD_(key) uint64_t key; /* CPTI_NOTE_UNSET: it is not there */
    struct {
        CPTI_NOTE_NUMBERS(CPTI_NOTE_FIELD_)
    } number;
#undef CPTI_NOTE_FIELD_
#define CPTI_NOTE_FIELD_(key) struct cpt_bytes key##_; /* empty: it is not there */
    struct {
        CPTI_NOTE_TEXTS(CPTI_NOTE_FIELD_)
    } text;
#undef CPTI_NOTE_FIELD_
};

/* Reads @text into @note. Decoded texts are in @arena; the others are borrowed. CPT_OK,
 * also if it is none: its kind says so; CPT_NO_MEMORY. */
cpt_status cpti_note_read(struct cpt_bytes text, struct cpt_arena *arena,
                          struct cpti_note *note);

/* Decodes @text, a text or a part of a group, into @arena. CPT_OK; CPT_CORRUPT;
 * CPT_NO_MEMORY. */
cpt_status cpti_note_decode(struct cpt_bytes text, struct cpt_arena *arena,
                            struct cpt_bytes *decoded);

/* The number, or @otherwise if it is not there. */
static inline uint64_t cpti_note_or(uint64_t number, uint64_t otherwise)
{
    return number != CPTI_NOTE_UNSET ? number : otherwise;
}

#endif
