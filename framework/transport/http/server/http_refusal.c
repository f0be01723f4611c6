/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_refusal.c - the operator is told of what HTTP itself refuses
 *
 * The service never sees these requests, but its notices are where an operator looks:
 * how often, and where to, is its business (cpt_service_refused()). Nothing is
 * allocated. The sentence has the client's address, and nothing that it has sent.
 */
#include "framework/transport/http/server/http_peer.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE_BYTES = 256, TOO_LARGE = 413, LARGE_HEADERS = 431, NOT_ALLOWED = 405 };

void cpti_http_refused(struct cpti_http_peer *peer, unsigned refusal, unsigned status,
                       struct cpt_bytes path, const char *reason)
{
    const size_t reason_bytes = strcspn(reason, "\n");
    char sentence[SENTENCE_BYTES];

    (void)snprintf(sentence, sizeof sentence, "%.*s; the client is %s",
                   (int)reason_bytes, reason,
                   peer->text_address[0] != '\0' ? peer->text_address : "unknown");
    cpt_service_refused(cpti_http_server_service(peer->server), refusal, status, path,
                        cpt_bytes_of(sentence));
}

unsigned cpti_http_refusal_of(unsigned status)
{
    switch (status) {
    case TOO_LARGE:
    case LARGE_HEADERS:
        return CPT_REFUSAL_LARGE;
    case NOT_ALLOWED:
        return CPT_REFUSAL_VERB;
    default:
        return CPT_REFUSAL_MALFORMED;
    }
}
