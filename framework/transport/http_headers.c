/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_headers.c - headers in evhttp's lists: counted, checked before they are sent */
#include "framework/transport/http_headers.h"

#include "framework/transport/http_text.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include <string.h>
#include <sys/queue.h>

unsigned cpti_http_headers_find(const struct evkeyvalq *headers, const char *name,
                                struct cpt_bytes *first)
{
    const struct evkeyval *header = NULL;
    unsigned count = 0;

    if (first != NULL) {
        first->data = NULL;
        first->bytes = 0;
    }
    TAILQ_FOREACH(header, headers, next)
    {
        if (evutil_ascii_strcasecmp(header->key, name) != 0) {
            continue;
        }
        if (count == 0 && first != NULL) {
            *first = cpt_bytes_of(header->value);
        }
        count++;
    }
    return count;
}

bool cpti_http_headers_add(struct evkeyvalq *headers, const char *name,
                           struct cpt_bytes value, const struct cpt_alloc *alloc)
{
    char *text = NULL;
    bool is_added = false;

    if (!cpti_http_is_value(value)) {
        return true;
    }
    text = cpti_http_text_copy(value, alloc);
    is_added = text != NULL && evhttp_add_header(headers, name, text) == 0;
    cpt_alloc_free(alloc, text);
    return is_added;
}
