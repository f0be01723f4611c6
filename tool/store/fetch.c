/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* fetch.c - one GET; see fetch.h */
#include "tool/store/fetch.h"

#include "tool/store/curl_library.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIRST_BYTES = 16 << 10 };

struct body {
    char *data;
    size_t bytes;
    size_t capacity;
    size_t bytes_max;
    bool is_tls;
    cpt_status status; /* why it ended early */
};

static size_t receive(char *data, size_t size, size_t count, void *context)
{
    struct body *body = context;
    const size_t bytes = size * count;

    if (bytes > body->bytes_max - body->bytes) {
        body->status = CPT_LIMIT;
        return 0;
    }
    if (body->bytes + bytes >= body->capacity) {
        const size_t wanted = 2 * (body->bytes + bytes) + FIRST_BYTES;
        char *grown = realloc(body->data, wanted);

        if (grown == NULL) {
            body->status = CPT_NO_MEMORY;
            return 0;
        }
        body->data = grown;
        body->capacity = wanted;
    }
    memcpy(body->data + body->bytes, data, bytes);
    body->bytes += bytes;
    body->data[body->bytes] = '\0';
    return bytes;
}

static bool set_options(const struct cpti_curl *library, CURL *curl,
                        const struct cpti_fetch *fetch)
{
    bool is_set = library->easy_setopt(curl, CURLOPT_URL, fetch->url) == CURLE_OK;

    is_set &= library->easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
    is_set &= library->easy_setopt(curl, CURLOPT_NOPROXY, "*") == CURLE_OK;
    is_set &= library->easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)fetch->timeout_ms) ==
              CURLE_OK;
    if (fetch->ca_file != NULL) {
        is_set &=
            library->easy_setopt(curl, CURLOPT_CAINFO, fetch->ca_file) == CURLE_OK;
    }
    if (fetch->certificate_file != NULL) {
        is_set &= library->easy_setopt(curl, CURLOPT_SSLCERT,
                                       fetch->certificate_file) == CURLE_OK;
    }
    if (fetch->key_file != NULL) {
        is_set &=
            library->easy_setopt(curl, CURLOPT_SSLKEY, fetch->key_file) == CURLE_OK;
    }
    return is_set;
}

/* What @code means; libcurl's own sentence, @why, says more if there is one. */
static cpt_status judge(CURLcode code, const struct body *body, const char *why,
                        struct cpt_error *error)
{
    switch (code) {
    case CURLE_OK:
        return CPT_OK;
    case CURLE_OPERATION_TIMEDOUT:
        return cpt_error_set(error, CPT_UNAVAILABLE, 0, "it does not answer");
    case CURLE_COULDNT_CONNECT:
        return cpt_error_set(error, CPT_UNAVAILABLE, 0, "no connection: %s", why);
    case CURLE_PEER_FAILED_VERIFICATION:
        return cpt_error_set(error, CPT_FAILED, 0,
                             "its certificate is not believed: %s (--ca says who signs "
                             "it)",
                             why);
    case CURLE_WRITE_ERROR:
        return body->status == CPT_LIMIT
                   ? cpt_error_set(error, CPT_LIMIT, 0,
                                   "its answer is longer than %zu bytes",
                                   body->bytes_max)
                   : cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    case CURLE_OUT_OF_MEMORY:
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    case CURLE_PARTIAL_FILE:
        return cpt_error_set(error, CPT_CORRUPT, 0, "its answer is cut: %s", why);
    case CURLE_GOT_NOTHING:
    case CURLE_UNSUPPORTED_PROTOCOL: /* HTTP/0.9: bytes without a head */
    case CURLE_WEIRD_SERVER_REPLY:
        return cpt_error_set(error, CPT_CORRUPT, 0,
                             "its answer is no answer of HTTP: %s", why);
    default:
        return cpt_error_set(error, CPT_FAILED, 0, "%s: %s",
                             body->is_tls ? "TLS" : "the connection broke", why);
    }
}

/* Asks; *@body is all that came. */
static cpt_status perform(const struct cpti_curl *library, CURL *curl,
                          struct cpti_fetch *fetch, struct body *body,
                          struct cpt_error *error)
{
    struct curl_slist *places = library->slist_append(NULL, fetch->connect_to);
    char why[CURL_ERROR_SIZE] = "";
    CURLcode code = CURLE_OUT_OF_MEMORY;
    long status = 0;
    long number = 0;

    if (places != NULL && set_options(library, curl, fetch) &&
        library->easy_setopt(curl, CURLOPT_CONNECT_TO, places) == CURLE_OK &&
        library->easy_setopt(curl, CURLOPT_ERRORBUFFER, why) == CURLE_OK &&
        library->easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK &&
        library->easy_setopt(curl, CURLOPT_WRITEDATA, body) == CURLE_OK) {
        code = library->easy_perform(curl);
        (void)library->easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        (void)library->easy_getinfo(curl, CURLINFO_OS_ERRNO, &number);
    }
    library->slist_free_all(places);
    fetch->status = status > 0 ? (unsigned)status : 0;
    if (code == CURLE_COULDNT_CONNECT && number != 0) {
        (void)snprintf(why, sizeof why, "%s", strerror((int)number));
    }
    return judge(code, body, why[0] != '\0' ? why : library->easy_strerror(code),
                 error);
}

cpt_status cpti_fetch(struct cpti_fetch *fetch, char **body, size_t *bytes,
                      struct cpt_error *error)
{
    const struct cpti_curl *library = cpti_curl_library();
    struct body kept = {.bytes_max = fetch->bytes_max,
                        .is_tls = strncasecmp(fetch->url, "https", 5) == 0,
                        .status = CPT_OK};
    CURL *curl = library != NULL ? library->easy_init() : NULL;
    cpt_status status = CPT_OK;

    if (library == NULL) {
        return cpt_error_set(error, CPT_UNAVAILABLE, 0,
                             "libcurl, which asks services, is not installed; Debian's "
                             "package is libcurl4");
    }
    kept.data = curl != NULL ? calloc(1, FIRST_BYTES) : NULL;
    kept.capacity = FIRST_BYTES;
    status = kept.data != NULL ? perform(library, curl, fetch, &kept, error)
                               : cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory");
    if (curl != NULL) {
        library->easy_cleanup(curl);
    }
    if (status != CPT_OK) {
        free(kept.data);
        return status;
    }
    *body = kept.data;
    *bytes = kept.bytes;
    return CPT_OK;
}
