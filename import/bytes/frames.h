/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * frames.h - messages in a file
 *
 *      lengths   the file exporter of OpenTelemetry's collector: each message behind
 *                its length, 4 bytes, the highest first. It may be compressed by
 *                itself, and may be JSON, if the exporter is set so.
 *
 *                [length][message .........][length][message ....] ...
 *
 *      fields    a message alone: each field of it is taken as a message, so that it
 *                need not be in memory as a whole
 *
 *                [0a length ResourceSpans .....][0a length ResourceSpans ...] ...
 *
 * Threads: one at a time.
 */
#ifndef CPTI_FRAMES_H
#define CPTI_FRAMES_H

#include "import/bytes/window.h"

enum cpti_framing { CPTI_FRAMING_NONE = 0, CPTI_FRAMING_LENGTHS, CPTI_FRAMING_FIELDS };

enum { CPTI_FRAMES_HEAD_BYTES = 32 /* that tell what a file is */ };

/* What a file is that begins with the @bytes at @head; none: it is text. */
enum cpti_framing cpti_frames_recognise(const char *head, size_t bytes);

/* Whether messages of spans begin so, not just any bytes. */
bool cpti_frames_are_likely(const char *head, size_t bytes);

/*
 * The next message, borrowed until the next call. It is not empty.
 *
 * CPT_OK; CPT_END; CPT_LIMIT: a message was too long, the next call goes on behind it;
 * CPT_TRUNCATED: the file ends within a message; CPT_CORRUPT: it is no protobuf;
 * CPT_NO_MEMORY; errors of the read function.
 */
cpt_status cpti_frames_next(struct cpti_window *window, enum cpti_framing framing,
                            struct cpt_bytes *message, struct cpt_error *error);

#endif
