/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http.c - the HTTP connection to one shard; see http.h */
#include "tool/store/http.h"

#include "tool/base/passwords.h"
#include "tool/store/curl_library.h"
#include "tool/store/row_binary.h"
#include "cpt/cpt_alloc.h"
#include "cpt/cpt_path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The longest row of an answer; the bytes kept of a refusal; the time to connect. */
enum { ROW_BYTES_MAX = 1 << 16, REFUSAL_BYTES_MAX = 400, CONNECT_SECONDS = 5 };

/* The bytes read of a refusal; a longer one is cut. */
enum { REFUSAL_READ_MAX = 1 << 16 };

/* Longer statements need higher limits than a server's defaults. Shorter ones do not
 * ask for them, as some servers forbid changes of settings. */
enum { STATEMENT_BYTES_USUAL = 100000 };
#define LONG_STATEMENT                                                                 \
    "&max_query_size=67108864&max_ast_elements=10000000"                               \
    "&max_expanded_ast_elements=10000000"

struct cpti_http {
    CURL *curl;
    char *address;
    char *user;
    char *password;
    struct curl_slist *headers;
    uint64_t answer_bytes_max; /* 0: the defaults */
    bool has_reached;          /* the last call */
};

/* An answer that is being received. */
struct answer {
    struct cpti_http *http;
    const struct cpti_store_call *call;
    struct cpti_packed rest; /* an incomplete row */
    char refusal[REFUSAL_BYTES_MAX];
    size_t refusal_bytes;
    uint64_t bytes; /* received, of any status */
    cpt_status status;
    struct cpt_error *error;
};

/* Set before the first struct cpti_http, then constant. */
static const struct cpti_curl *library;

static char *copy_of(const char *text)
{
    char *copy = text != NULL ? cpt_alloc_zeroed(NULL, strlen(text) + 1) : NULL;

    if (copy != NULL) {
        memcpy(copy, text, strlen(text));
    }
    return copy;
}

/* The limit that the environment sets, in bytes; 0: none. */
static uint64_t answer_limit(void)
{
    const char *text = getenv(CPTI_HTTP_ANSWER_VARIABLE);
    char *end = NULL;
    uint64_t bytes = 0;

    errno = 0;
    bytes = text != NULL && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    return bytes != 0 && errno == 0 && *end == '\0' ? bytes : 0;
}

struct cpti_http *cpti_http_new(const struct cpti_http_place *place,
                                struct cpt_error *error)
{
    struct cpti_http *http = NULL;

    library = cpti_curl_library();
    if (library == NULL) {
        (void)cpt_error_set(error, CPT_UNAVAILABLE, 0,
                            "libcurl, which connects to databases, is not installed; "
                            "Debian's package is libcurl4");
        return NULL;
    }
    http = cpt_alloc_zeroed(NULL, sizeof *http);
    if (http == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
        return NULL;
    }
    http->answer_bytes_max = answer_limit();
    http->curl = library->easy_init();
    http->address = copy_of(place->address);
    http->user = copy_of(place->user);
    http->password = copy_of(place->password);
    http->headers =
        library->slist_append(NULL, "Expect:"); /* servers do not answer it */
    if (http->curl == NULL || http->headers == NULL || http->address == NULL ||
        (place->user != NULL && http->user == NULL) ||
        (place->password != NULL && http->password == NULL)) {
        cpti_http_free(http);
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
        return NULL;
    }
    return http;
}

void cpti_http_free(struct cpti_http *http)
{
    if (http == NULL) {
        return;
    }
    library->easy_cleanup(http->curl);
    library->slist_free_all(http->headers);
    cpt_alloc_free(NULL, http->address);
    cpt_alloc_free(NULL, http->user);
    cpt_alloc_free(NULL, http->password);
    cpt_alloc_free(NULL, http);
}

/* --- The answer --- */

static void keep_refusal(struct answer *answer, const char *data, size_t bytes)
{
    const size_t room = sizeof answer->refusal - 1 - answer->refusal_bytes;
    const size_t kept = bytes < room ? bytes : room;

    memcpy(answer->refusal + answer->refusal_bytes, data, kept);
    answer->refusal_bytes += kept;
}

/* Passes on whole rows and keeps the rest. */
static cpt_status take_rows(struct answer *answer, const unsigned char *data,
                            size_t bytes)
{
    size_t used = 0;

    for (size_t taken = 1; taken != 0 && used < bytes; used += taken) {
        const cpt_status status = answer->call->rows(
            answer->call->context, data + used, bytes - used, &taken, answer->error);

        if (status != CPT_OK) {
            return status;
        }
    }
    if (bytes - used > (answer->call->row_bytes_max != 0 ? answer->call->row_bytes_max
                                                         : ROW_BYTES_MAX)) {
        return cpt_error_set(answer->error, CPT_CORRUPT, 0,
                             "%s: a row of the answer has no end",
                             answer->http->address);
    }
    memmove(answer->rest.data, data + used, bytes - used);
    answer->rest.bytes = bytes - used;
    return CPT_OK;
}

/* Whether the answer is not longer than allowed. */
static bool is_bounded(struct answer *answer)
{
    uint64_t bytes_max = answer->http->answer_bytes_max;

    if (bytes_max == 0) {
        bytes_max = answer->call->is_stream ? CPTI_HTTP_STREAM_BYTES_MAX
                                            : CPTI_HTTP_ANSWER_BYTES_MAX;
    }
    if (answer->bytes <= bytes_max) {
        return true;
    }
    answer->status = cpt_error_set(answer->error, CPT_LIMIT, 0,
                                   "%s: the answer has more than %" PRIu64
                                   " bytes; " CPTI_HTTP_ANSWER_VARIABLE
                                   " in the environment allows more",
                                   answer->http->address, bytes_max);
    return false;
}

static size_t receive(char *data, size_t size, size_t count, void *context)
{
    struct answer *answer = context;
    const size_t bytes = size * count;
    long code = 0;

    (void)library->easy_getinfo(answer->http->curl, CURLINFO_RESPONSE_CODE, &code);
    answer->bytes += bytes;
    if (code != 200) {
        keep_refusal(answer, data, bytes);
        return answer->bytes <= REFUSAL_READ_MAX ? bytes : 0;
    }
    if (!is_bounded(answer)) {
        return 0;
    }
    if (answer->call->rows == NULL) {
        answer->status = cpt_error_set(answer->error, CPT_FAILED, 0,
                                       "%s: answered what has no answer; is this "
                                       "ClickHouse's HTTP port?",
                                       answer->http->address);
        return 0;
    }
    cpti_row_bytes(&answer->rest, data, bytes);
    answer->status =
        answer->rest.has_failed
            ? cpt_error_set(answer->error, CPT_NO_MEMORY, 0, "out of memory")
            : take_rows(answer, answer->rest.data, answer->rest.bytes);
    return answer->status == CPT_OK ? bytes : 0;
}

/* The error for a refusal, with the server's first line escaped. */
static cpt_status refuse(struct answer *answer, long code)
{
    char text[CPT_ERROR_SENTENCE_BYTES];
    const bool is_busy = code == 429 || (code >= 502 && code <= 504);
    size_t bytes;

    cpti_password_hide_in(answer->refusal, answer->http->password); /* it may be told */
    bytes = strcspn(answer->refusal, "\n");
    bytes = bytes > 160 ? 160 : bytes;
    (void)cpt_text_name((struct cpt_bytes){answer->refusal, bytes}, text, sizeof text);
    return cpt_error_set(answer->error, is_busy ? CPT_UNAVAILABLE : CPT_FAILED, 0,
                         "%s: answered %ld: %s", answer->http->address, code, text);
}

/* --- The call --- */

static void add(struct cpti_packed *address, const char *text)
{
    cpti_row_bytes(address, text, strlen(text));
}

static bool write_address(const struct cpti_http *http,
                          const struct cpti_store_call *call,
                          struct cpti_packed *address)
{
    add(address, http->address);
    add(address, "/?wait_end_of_query=1&database=");
    add(address, call->database);
    if (strlen(call->statement) > STATEMENT_BYTES_USUAL) {
        add(address, LONG_STATEMENT);
    }
    if (call->data != NULL) {
        char *statement = library->easy_escape(http->curl, call->statement, 0);

        add(address, "&query=");
        add(address, statement != NULL ? statement : "");
        address->has_failed |= statement == NULL;
        library->free(statement);
    }
    for (size_t i = 0; i < call->table_count; i++) {
        char *structure =
            library->easy_escape(http->curl, call->tables[i].structure, 0);

        add(address, "&");
        add(address, call->tables[i].name);
        add(address, "_format=RowBinary&");
        add(address, call->tables[i].name);
        add(address, "_structure=");
        add(address, structure != NULL ? structure : "");
        address->has_failed |= structure == NULL;
        library->free(structure);
    }
    cpti_row_u8(address, 0);
    return !address->has_failed;
}

/* The statement and its tables as parts of a form; NULL without memory. */
static curl_mime *make_form(CURL *curl, const struct cpti_store_call *call)
{
    curl_mime *form = library->mime_init(curl);
    curl_mimepart *part = form != NULL ? library->mime_addpart(form) : NULL;
    bool has_failed =
        part == NULL || library->mime_name(part, "query") != CURLE_OK ||
        library->mime_data(part, call->statement, CURL_ZERO_TERMINATED) != CURLE_OK;

    for (size_t i = 0; i < call->table_count && !has_failed; i++) {
        const struct cpti_http_table *table = &call->tables[i];

        part = library->mime_addpart(form);
        has_failed = part == NULL ||
                     library->mime_name(part, table->name) != CURLE_OK ||
                     library->mime_filename(part, table->name) != CURLE_OK ||
                     library->mime_data(part, table->data, table->bytes) != CURLE_OK;
    }
    if (has_failed) {
        library->mime_free(form);
        return NULL;
    }
    return form;
}

static void set_body(CURL *curl, const struct cpti_store_call *call, curl_mime *form)
{
    const void *body = call->data != NULL ? call->data : call->statement;
    const size_t bytes = call->data != NULL ? call->bytes : strlen(call->statement);

    if (form != NULL) {
        (void)library->easy_setopt(curl, CURLOPT_MIMEPOST, form);
        return;
    }
    (void)library->easy_setopt(curl, CURLOPT_POST, 1L);
    (void)library->easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    (void)library->easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
}

static void set_up(const struct cpti_http *http, const struct cpti_store_call *call,
                   const char *address, struct answer *answer)
{
    CURL *curl = http->curl;

    (void)library->easy_setopt(curl, CURLOPT_URL, address);
#if LIBCURL_VERSION_NUM >= 0x075500 /* 7.85 */
    (void)library->easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    (void)library->easy_setopt(curl, CURLOPT_PROTOCOLS,
                               (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    (void)library->easy_setopt(curl, CURLOPT_PROXY, "");
    (void)library->easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)library->easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)library->easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    (void)library->easy_setopt(curl, CURLOPT_TIMEOUT, (long)call->timeout_seconds);
    (void)library->easy_setopt(curl, CURLOPT_HTTPHEADER, http->headers);
    (void)library->easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    (void)library->easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    if (http->user != NULL) {
        (void)library->easy_setopt(curl, CURLOPT_USERNAME, http->user);
    }
    if (http->password != NULL) {
        (void)library->easy_setopt(curl, CURLOPT_USERNAME,
                                   http->user != NULL ? http->user : "default");
        (void)library->easy_setopt(curl, CURLOPT_PASSWORD, http->password);
    }
}

static cpt_status finish(struct answer *answer, CURLcode result)
{
    long code = 0;

    (void)library->easy_getinfo(answer->http->curl, CURLINFO_RESPONSE_CODE, &code);
    if (answer->status != CPT_OK) {
        return answer->status;
    }
    if (code != 200 && answer->refusal_bytes != 0) {
        return refuse(answer, code);
    }
    if (result != CURLE_OK) {
        return cpt_error_set(answer->error, CPT_UNAVAILABLE, 0, "%s: %s",
                             answer->http->address, library->easy_strerror(result));
    }
    if (code != 200) {
        return refuse(answer, code);
    }
    if (answer->rest.bytes != 0) {
        return cpt_error_set(answer->error, CPT_CORRUPT, 0,
                             "%s: the answer ends within a row", answer->http->address);
    }
    return CPT_OK;
}

/* A connection may be reset before libcurl has seen that it was made. */
static bool has_reached(CURL *curl, CURLcode result)
{
    long number = 0;

    (void)library->easy_getinfo(curl, CURLINFO_OS_ERRNO, &number);
    return result != CURLE_COULDNT_RESOLVE_HOST && result != CURLE_OPERATION_TIMEDOUT &&
           (result != CURLE_COULDNT_CONNECT || number == ECONNRESET);
}

cpt_status cpti_http_run(struct cpti_http *http, const struct cpti_store_call *call,
                         struct cpt_error *error)
{
    struct answer answer = {.http = http, .call = call, .error = error};
    struct cpti_packed address = {0};
    curl_mime *form = NULL;
    CURLcode result;
    cpt_status status;

    library->easy_reset(http->curl);
    if (call->table_count != 0) {
        form = make_form(http->curl, call);
    }
    if (!write_address(http, call, &address) ||
        (call->table_count != 0 && form == NULL)) {
        library->mime_free(form);
        cpti_packed_deinit(&address);
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    set_up(http, call, (const char *)address.data, &answer);
    set_body(http->curl, call, form);
    result = library->easy_perform(http->curl);
    http->has_reached = has_reached(http->curl, result);
    status = finish(&answer, result);
    library->mime_free(form);
    cpti_packed_deinit(&address);
    cpti_packed_deinit(&answer.rest);
    return status;
}

bool cpti_http_has_reached(const struct cpti_http *http)
{
    return http->has_reached;
}

const char *cpti_http_address(const struct cpti_http *http)
{
    return http->address;
}
