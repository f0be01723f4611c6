/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* stream.c - messages that a task sends before its request is answered */
#include "framework/run/request.h"
#include "framework/service/service.h"

cpt_status cpt_rpc_send(struct cpt_task *task, struct cpt_bytes message)
{
    struct cpt_stream *stream = task->request->inherited.stream;
    cpt_status status = CPT_OK;

    if (stream == NULL) {
        return cpt_fail(task, CPT_INVALID,
                        "the request came by a transport that has no streams");
    }
    status = stream->send(stream, message);
    if (status == CPT_CANCELLED) {
        return cpt_fail(task, status,
                        "a message for a client that has its answer, "
                        "or has left");
    }
    if (status == CPT_LIMIT) {
        return cpt_fail(task, status, "messages wait that the client has not taken");
    }
    return status == CPT_OK ? CPT_OK : cpt_fail(task, status, "a message is not sent");
}
