/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * collect_answer.h - headers of requests to a collector, and the bodies of answers
 *
 *      taken        {}    {"partialSuccess":{"rejectedSpans":"2","errorMessage":"..."}}
 *      refused      {"code":3,"message":"..."}
 *
 * and the same in protobuf: ExportTraceServiceResponse and google.rpc.Status, for a
 * request in protobuf. Threads: any.
 */
#ifndef CPTI_CLI_COLLECT_ANSWER_H
#define CPTI_CLI_COLLECT_ANSWER_H

#include "tool/collect/collect_door.h"

enum cpti_collect_type {
    CPTI_COLLECT_OTHER = 0,
    CPTI_COLLECT_JSON,
    CPTI_COLLECT_PROTOBUF
};

/* What a Content-Type says, whatever its parameters. */
enum cpti_collect_type cpti_collect_type(struct cpt_bytes header);

/* Whether a Content-Encoding is one that can be undone, or none; whether there is
 * something to undo. */
bool cpti_collect_is_encoding(struct cpt_bytes header);
bool cpti_collect_is_compressed(struct cpt_bytes header);

/* Fills in @answer to a request of @type that was taken but for @rejected spans, or
 * refused; @detail says more, or is empty. */
void cpti_collect_answer(struct cpti_collect_answer *answer,
                         enum cpti_collect_type type, enum cpti_collect_refusal refusal,
                         const char *detail, uint64_t rejected);

#endif
