/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_curl.h - calls by libcurl on the path of a request (cpt_manual.h)
 *
 *      easy handle --- critical-path: 1;max=2048 ------> B: /lookup
 *                      critical-path-nonce: 3b9aca00c0…
 *                      traceparent, tracestate, baggage, b3
 *      request     <-- critical-path-bin: CAEQ… -------- B: /lookup
 *
 * One call that blocks is one line instead of curl_easy_perform():
 *
 *      code = cpt_curl_perform(manual, easy, "B: /lookup", headers);
 *
 * Several at the same time, with curl_multi: begin each when it is added, wait, and end
 * each when curl_multi_info_read() has its result:
 *
 *      cpt_curl_begin(&call, manual, easy, "B: /lookup", headers);
 *      curl_multi_add_handle(multi, easy);
 *      cpt_manual_wait_begin(manual);
 *      … curl_multi_perform(), curl_multi_poll() …
 *      cpt_curl_end(&call, message->data.result);
 *      cpt_manual_wait_end(manual);
 *
 * @headers are the request's own, as for CURLOPT_HTTPHEADER, or NULL; the ask and the
 * trace context are added to a copy, and afterwards the handle has @headers again.
 * Nothing else of it is touched: no callback, as curl_easy_header() reads the answer
 * (libcurl 7.83). Of a handle that follows redirects, the last answer counts. If
 * @headers have a traceparent, that is sent in place of the request's; likewise
 * baggage, and B3 if they have any header of it.
 *
 * A request that is not traced (@manual NULL) costs nothing more; if its calls are to
 * carry its trace context, make it with cpt_manual_new_carrying(). Without memory the
 * call is made without these headers. Copy this file: it is no part of the library.
 *
 * Threads: as cpt_manual.h and libcurl.
 */
#ifndef CPT_CURL_H
#define CPT_CURL_H

#include <cpt/cpt_manual.h>
#include <cpt/cpt_metadata.h>

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#if LIBCURL_VERSION_NUM < 0x075300
#error "cpt_curl.h needs libcurl 7.83"
#endif

/* A call between cpt_curl_begin() and cpt_curl_end(). */
struct cpt_curl_call {
    struct cpt_manual *manual;
    struct cpt_manual_call *call;
    CURL *easy;
    struct curl_slist *headers; /* the caller's */
    struct curl_slist *copy;    /* the same, and ours; NULL: there are none of ours */
    int has_asked;
};

/* Adds "@name: @value" to *@list, if there is a value. 0: there is no memory. */
static inline int cpt_curl_add(struct curl_slist **list, const char *name,
                               struct cpt_bytes value)
{
    char line[64 + CPT_BAGGAGE_BYTES_MAX]; /* the longest value that goes on */
    struct curl_slist *more = NULL;

    if (value.bytes == 0 || strlen(name) + value.bytes + 3 > sizeof line) {
        return 1;
    }
    (void)snprintf(line, sizeof line, "%s: %.*s", name, (int)value.bytes, value.data);
    more = curl_slist_append(*list, line);
    *list = more != NULL ? more : *list;
    return more != NULL;
}

/* Whether @headers have @name, with or without a value. */
static inline int cpt_curl_has(const struct curl_slist *headers, const char *name)
{
    const size_t bytes = strlen(name);

    for (; headers != NULL; headers = headers->next) {
        if (curl_strnequal(headers->data, name, bytes) &&
            (headers->data[bytes] == ':' || headers->data[bytes] == ';')) {
            return 1;
        }
    }
    return 0;
}

/* Adds baggage and B3 of the request; of each what @headers have themselves holds. 0:
 * there is no memory. */
static inline int cpt_curl_add_others(struct curl_slist **list,
                                      const struct curl_slist *headers,
                                      const struct cpt_manual *manual)
{
    static const char *const b3[] = {"b3",           "x-b3-traceid",
                                     "x-b3-spanid",  "x-b3-parentspanid",
                                     "x-b3-sampled", "x-b3-flags"};
    const struct cpt_field *fields = NULL;
    const size_t count = cpt_manual_propagated(manual, &fields);
    int has_b3 = 0;
    int is_good = 1;

    for (size_t i = 0; i < sizeof b3 / sizeof b3[0] && count != 0; i++) {
        has_b3 |= cpt_curl_has(headers, b3[i]);
    }
    for (size_t i = 0; i < count && is_good; i++) {
        char name[32];
        int has = has_b3;

        (void)snprintf(name, sizeof name, "%.*s", (int)fields[i].name.bytes,
                       fields[i].name.data);
        if (curl_strequal(name, "baggage")) {
            has = cpt_curl_has(headers, name);
        }
        if (!has) {
            is_good = cpt_curl_add(list, name, fields[i].value);
        }
    }
    return is_good;
}

/* The ask of @call, unless its @headers, its URL and what goes on leave no room for it.
 */
static inline struct cpt_bytes cpt_curl_ask(const struct curl_slist *headers,
                                            struct cpt_manual *manual,
                                            struct cpt_curl_call *call)
{
    const struct cpt_field *fields = NULL;
    const size_t carried = cpt_manual_propagated(manual, &fields);
    size_t count = carried + 2; /* traceparent, tracestate */
    size_t bytes = sizeof CPT_HEADER_TRACEPARENT + sizeof CPT_HEADER_TRACESTATE +
                   cpt_manual_traceparent(manual).bytes +
                   cpt_manual_tracestate(manual).bytes;
    const char *url = NULL;

    if (curl_easy_getinfo(call->easy, CURLINFO_EFFECTIVE_URL, &url) == CURLE_OK &&
        url != NULL) {
        bytes += strlen(url);
    }
    for (size_t i = 0; i < carried; i++) {
        bytes += fields[i].name.bytes + fields[i].value.bytes;
    }
    for (; headers != NULL; headers = headers->next) {
        bytes += strlen(headers->data);
        count++;
    }
    return cpt_manual_call_ask_beside(manual, call->call, bytes + 32 * count, count);
}

/* A copy of @headers and those of @manual for @call; NULL: it has none, or there is no
 * memory. */
static inline struct curl_slist *cpt_curl_headers(const struct curl_slist *headers,
                                                  struct cpt_manual *manual,
                                                  struct cpt_curl_call *to)
{
    struct cpt_manual_call *call = to->call;
    struct curl_slist *copy = NULL;
    int is_good =
        cpt_curl_add(&copy, CPT_HEADER_ASK, cpt_curl_ask(headers, manual, to)) &&
        cpt_curl_add(&copy, CPT_HEADER_NONCE, cpt_manual_call_nonce(manual, call));

    if (is_good && !cpt_curl_has(headers, CPT_HEADER_TRACEPARENT)) {
        is_good =
            cpt_curl_add(&copy, CPT_HEADER_TRACEPARENT,
                         cpt_manual_traceparent(manual)) &&
            cpt_curl_add(&copy, CPT_HEADER_TRACESTATE, cpt_manual_tracestate(manual));
    }
    is_good = is_good && cpt_curl_add_others(&copy, headers, manual);
    for (; copy != NULL && is_good && headers != NULL; headers = headers->next) {
        is_good = curl_slist_append(copy, headers->data) != NULL;
    }
    if (!is_good) {
        curl_slist_free_all(copy);
        copy = NULL;
    }
    return copy;
}

/* The call of @easy, which is about to be made. */
static inline void cpt_curl_begin(struct cpt_curl_call *call, struct cpt_manual *manual,
                                  CURL *easy, const char *callee,
                                  struct curl_slist *headers)
{
    *call = (struct cpt_curl_call){.manual = manual, .easy = easy, .headers = headers};
    call->call = cpt_manual_call_begin(manual, callee);
    if (manual != NULL) {
        call->copy = cpt_curl_headers(headers, manual, call);
    }
    call->has_asked = cpt_curl_has(call->copy, CPT_HEADER_ASK);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER,
                           call->copy != NULL ? call->copy : headers);
}

/* Whether an answer comes from a cache: it has `Age`. Varnish writes `Age: 0` on each
 * answer; its `X-Varnish` has a second number on those of its cache. */
static inline int cpt_curl_is_from_cache(CURL *easy)
{
    struct curl_header *age = NULL;

    if (curl_easy_header(easy, "Age", 0, CURLH_HEADER, -1, &age) != CURLHE_OK) {
        return 0;
    }
    if (age->amount != 1 || strcmp(age->value, "0") != 0) {
        return 1;
    }
    /* libcurl has one such struct for all answers of a handle */
    return curl_easy_header(easy, "X-Varnish", 0, CURLH_HEADER, -1, &age) !=
               CURLHE_OK ||
           age->amount != 1 || strchr(age->value, ' ') != NULL;
}

/* Its end, with the result of the transfer. */
static inline void cpt_curl_end(struct cpt_curl_call *call, CURLcode code)
{
    struct cpt_manual_reply reply = {.status = CPT_IO};
    struct curl_header *header = NULL;

    if (code == CURLE_OK) {
        reply.status = CPT_OK;
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        reply.status = CPT_TIMEOUT;
    }
    if (call->call != NULL && code == CURLE_OK) {
        reply.is_cached = cpt_curl_is_from_cache(call->easy);
        if (call->has_asked &&
            curl_easy_header(call->easy, CPT_HEADER_PATH, 0, CURLH_HEADER, -1,
                             &header) == CURLHE_OK) {
            /* two of them are no path, and neither is "=" */
            reply.metadata_text =
                cpt_bytes_of(header->amount == 1 ? header->value : "=");
        }
    }
    cpt_manual_call_end(call->manual, call->call, &reply);
    (void)curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
    curl_slist_free_all(call->copy);
    call->copy = NULL;
}

/* curl_easy_perform() as a call of @manual, which waits for it. */
static inline CURLcode cpt_curl_perform(struct cpt_manual *manual, CURL *easy,
                                        const char *callee, struct curl_slist *headers)
{
    struct cpt_curl_call call;
    CURLcode code = CURLE_OK;

    cpt_curl_begin(&call, manual, easy, callee, headers);
    cpt_manual_wait_begin(manual);
    code = curl_easy_perform(easy);
    cpt_curl_end(&call, code);
    cpt_manual_wait_end(manual);
    return code;
}

#endif
