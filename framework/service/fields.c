/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fields.c - what a method reads of a request, and adds to its reply; see cpt_rpc.h
 *
 * A request keeps its headers, its path and its query as they came. What a method asks
 * for is looked up, and decoded, when it asks; what it adds is checked, so that no
 * value of a request becomes a header or a line of its own in the reply.
 */
#include "framework/service/fields.h"

#include "framework/cpt_calls.h"
#include "framework/service/route.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { FIELDS_FIRST = 8, COOKIE_BYTES_MAX = 4096 };

static const struct cpt_bytes none = {NULL, 0};

/* Without data that is NULL: that would mean that there is none. */
static struct cpt_bytes present(struct cpt_bytes value)
{
    return value.data != NULL ? value : cpt_bytes_of("");
}

/* --- Headers --- */

static bool is_same_name(struct cpt_bytes name, struct cpt_bytes wanted)
{
    return name.bytes == wanted.bytes &&
           strncasecmp(name.data, wanted.data, name.bytes) == 0;
}

struct cpt_bytes cpti_field_find(const struct cpt_field *fields, size_t count,
                                 const char *name)
{
    const struct cpt_bytes wanted = cpt_bytes_of(name);

    for (size_t i = 0; i < count; i++) {
        if (is_same_name(fields[i].name, wanted)) {
            return present(fields[i].value);
        }
    }
    return none;
}

struct cpt_bytes cpt_rpc_header(const struct cpt_rpc_request *request, const char *name)
{
    return cpti_field_find(request->headers, request->header_count, name);
}

struct cpt_bytes cpt_call_header(const struct cpt_call_reply *reply, const char *name)
{
    return cpti_field_find(reply->headers, reply->header_count, name);
}

struct cpt_bytes cpt_rpc_parameter(const struct cpt_rpc_request *request,
                                   const char *name)
{
    const struct cpt_bytes wanted = cpt_bytes_of(name);

    for (size_t i = 0; i < request->parameter_count; i++) {
        if (cpt_bytes_equal(request->parameters[i].name, wanted)) {
            return present(request->parameters[i].value);
        }
    }
    return none;
}

/* --- Cookies --- */

static struct cpt_bytes without_blanks(struct cpt_bytes text)
{
    while (text.bytes > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text.data++;
        text.bytes--;
    }
    while (text.bytes > 0 &&
           (text.data[text.bytes - 1] == ' ' || text.data[text.bytes - 1] == '\t')) {
        text.bytes--;
    }
    return text;
}

/* The bytes of @text up to @end, which is then behind them; false: there are none. */
static bool cut(struct cpt_bytes *text, char end, struct cpt_bytes *part)
{
    const char *found = NULL;

    if (text->bytes == 0) {
        return false;
    }
    found = memchr(text->data, end, text->bytes);
    part->data = text->data;
    part->bytes = found != NULL ? (size_t)(found - text->data) : text->bytes;
    text->data += part->bytes + (found != NULL);
    text->bytes -= part->bytes + (found != NULL);
    return true;
}

/* The cookie @name of the header's value "a=1; b=2". */
static struct cpt_bytes find_cookie(struct cpt_bytes cookies, struct cpt_bytes name)
{
    struct cpt_bytes pair;

    while (cut(&cookies, ';', &pair)) {
        struct cpt_bytes own = {NULL, 0};
        struct cpt_bytes value = without_blanks(pair);

        if (!cut(&value, '=', &own) || own.data + own.bytes == value.data ||
            !cpt_bytes_equal(own, name)) {
            continue;
        }
        if (value.bytes > 1 && value.data[0] == '"' &&
            value.data[value.bytes - 1] == '"') {
            return (struct cpt_bytes){value.data + 1, value.bytes - 2};
        }
        return value;
    }
    return none;
}

struct cpt_bytes cpt_rpc_cookie(const struct cpt_rpc_request *request, const char *name)
{
    const struct cpt_bytes wanted = cpt_bytes_of(name);

    for (size_t i = 0; i < request->header_count; i++) {
        struct cpt_bytes value = none;

        if (is_same_name(request->headers[i].name, cpt_bytes_of("Cookie"))) {
            value = find_cookie(request->headers[i].value, wanted);
        }
        if (value.data != NULL) {
            return value;
        }
    }
    return none;
}

/* --- The query --- */

/* @from decoded, in memory of @task if it differs. */
static cpt_status decode(struct cpt_task *task, struct cpt_bytes from,
                         struct cpt_bytes *to)
{
    char *text = NULL;
    ptrdiff_t bytes = 0;

    *to = present(from);
    if (from.bytes > 0 && memchr(from.data, '\0', from.bytes) != NULL) {
        return CPT_CORRUPT;
    }
    if (from.bytes == 0 || (memchr(from.data, '%', from.bytes) == NULL &&
                            memchr(from.data, '+', from.bytes) == NULL)) {
        return CPT_OK;
    }
    text = cpt_task_memory(task, from.bytes);
    if (text == NULL) {
        return CPT_LIMIT;
    }
    bytes = cpti_percent_decode(from, true, text);
    *to = (struct cpt_bytes){text, bytes > 0 ? (size_t)bytes : 0};
    return bytes >= 0 ? CPT_OK : CPT_CORRUPT;
}

/* The next "name=value" of @query from *@position, not decoded; a name that is not
 * followed by '=' has an empty value. False at the end. */
static bool next_pair(struct cpt_bytes query, size_t *position, struct cpt_field *field)
{
    while (*position < query.bytes) {
        struct cpt_bytes rest = {query.data + *position, query.bytes - *position};
        struct cpt_bytes pair = {NULL, 0};

        (void)cut(&rest, '&', &pair);
        *position = query.bytes - rest.bytes;
        if (pair.bytes == 0) {
            continue; /* "a=1&&b=2" */
        }
        field->name = cpt_bytes_of("");
        field->value = pair;
        (void)cut(&field->value, '=', &field->name);
        return true;
    }
    return false;
}

cpt_status cpt_rpc_query_next(struct cpt_task *task,
                              const struct cpt_rpc_request *request, size_t *position,
                              struct cpt_field *field)
{
    struct cpt_field raw;
    cpt_status status = CPT_OK;

    *field = (struct cpt_field){none, none};
    if (!next_pair(request->query, position, &raw)) {
        return CPT_OK;
    }
    status = decode(task, raw.name, &field->name);
    return status == CPT_OK ? decode(task, raw.value, &field->value) : status;
}

cpt_status cpt_rpc_query(struct cpt_task *task, const struct cpt_rpc_request *request,
                         const char *name, struct cpt_bytes *value)
{
    const struct cpt_bytes wanted = cpt_bytes_of(name);
    struct cpt_field raw;
    size_t position = 0;

    *value = none;
    while (next_pair(request->query, &position, &raw)) {
        struct cpt_bytes own;
        cpt_status status = CPT_OK;

        /* An encoded name is at most three times as long: no memory for the others. */
        if (raw.name.bytes < wanted.bytes || raw.name.bytes > 3 * wanted.bytes) {
            continue;
        }
        status = decode(task, raw.name, &own);
        if (status != CPT_OK) {
            return status;
        }
        if (cpt_bytes_equal(own, wanted)) {
            return decode(task, raw.value, value);
        }
    }
    return CPT_OK;
}

/* --- The reply --- */

/* Of a token: RFC 9110, 5.6.2. */
static bool is_token(struct cpt_bytes text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < text.bytes; i++) {
        const char c = text.data[i];

        if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')) &&
            (c == '\0' || strchr(others, c) == NULL)) {
            return false;
        }
    }
    return text.bytes > 0;
}

static bool is_text(struct cpt_bytes text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        const unsigned char byte = (unsigned char)text.data[i];

        if ((byte < ' ' && byte != '\t') || byte == 0x7f) {
            return false;
        }
    }
    return true;
}

/* What says where a message ends, or is about its connection, is the transport's. */
static const char *const names_of_transport[] = {
    "Connection", "Content-Length",    "Date",
    "Keep-Alive", "Proxy-Connection",  "TE",
    "Trailer",    "Transfer-Encoding", "Upgrade",
    NULL,
};

/* So are these, of which a reply that is not traced need not know each. */
static const char *const names_of_path[] = {"critical-path", "critical-path-bin",
                                            "critical-path-nonce", NULL};

static bool is_one_of(struct cpt_bytes name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (is_same_name(name, cpt_bytes_of(*names))) {
            return true;
        }
    }
    return false;
}

static bool is_of_transport(struct cpt_bytes name)
{
    return is_one_of(name, names_of_transport) ||
           ((name.data[0] | 0x20) == 'c' && is_one_of(name, names_of_path));
}

static bool is_field(const struct cpt_field *field, size_t bytes_max)
{
    return field->name.bytes <= bytes_max &&
           field->value.bytes <= bytes_max - field->name.bytes &&
           is_token(field->name) && is_text(field->value) &&
           !is_of_transport(field->name);
}

int cpt_field_is_sendable(const struct cpt_field *field)
{
    static const char *const others[] = {"Content-Type", NULL};

    return is_field(field, CPT_REPLY_HEADER_BYTES_MAX) &&
           !is_one_of(field->name, others);
}

int cpt_call_field_is_sendable(const struct cpt_field *field)
{
    static const char *const others[] = {"Host",        "Expect",     "cpt-timeout",
                                         "traceparent", "tracestate", CPT_HEADER_SLACK,
                                         NULL};

    return is_field(field, CPT_CALL_HEADER_BYTES_MAX) &&
           !is_one_of(field->name, others);
}

/* Room for one more header. False at a limit. */
static bool grow(struct cpt_task *task, struct cpt_rpc_reply *reply)
{
    size_t capacity = reply->header_capacity;
    struct cpt_field *fields = NULL;

    if (reply->header_count >= CPT_REPLY_HEADERS_MAX) {
        return false;
    }
    if (reply->header_count < capacity) {
        return true;
    }
    capacity = FIELDS_FIRST + 2 * reply->header_count;
    fields = cpt_task_memory(task, capacity * sizeof *fields);
    if (fields == NULL) {
        return false;
    }
    if (reply->header_count > 0) {
        memcpy(fields, reply->headers, reply->header_count * sizeof *fields);
    }
    reply->headers = fields;
    reply->header_capacity = capacity;
    return true;
}

cpt_status cpt_rpc_reply_header(struct cpt_task *task, struct cpt_rpc_reply *reply,
                                const char *name, struct cpt_bytes value)
{
    const struct cpt_field given = {cpt_bytes_of(name), value};
    struct cpt_field *field = NULL;
    char *text = NULL;

    if (!cpt_field_is_sendable(&given)) {
        return CPT_INVALID;
    }
    text = cpt_task_memory(task, given.name.bytes + value.bytes + 1);
    if (text == NULL || !grow(task, reply)) {
        return CPT_LIMIT;
    }
    memcpy(text, name, given.name.bytes);
    if (value.bytes > 0) {
        memcpy(text + given.name.bytes, value.data, value.bytes);
    }
    /* Within its capacity the array is ours. */
    field = (struct cpt_field *)(uintptr_t)&reply->headers[reply->header_count++];
    *field = (struct cpt_field){{text, given.name.bytes},
                                {text + given.name.bytes, value.bytes}};
    return CPT_OK;
}

/* --- Cookies of the reply --- */

/* Of a cookie's value: RFC 6265, 4.1.1. */
static bool is_cookie_value(struct cpt_bytes value)
{
    for (size_t i = 0; i < value.bytes; i++) {
        const char c = value.data[i];

        if (c <= ' ' || c > '~' || c == '"' || c == ',' || c == ';' || c == '\\') {
            return false;
        }
    }
    return true;
}

/* Of an attribute: what would end it is refused. */
static bool is_attribute(const char *value)
{
    return value == NULL ||
           (strchr(value, ';') == NULL && is_text(cpt_bytes_of(value)));
}

static bool is_cookie(const struct cpt_cookie *cookie)
{
    return cookie->name != NULL && is_token(cpt_bytes_of(cookie->name)) &&
           is_cookie_value(cookie->value) && is_attribute(cookie->path) &&
           is_attribute(cookie->domain) && is_attribute(cookie->same_site) &&
           cookie->value.bytes <= COOKIE_BYTES_MAX;
}

static int write_cookie(const struct cpt_cookie *cookie, char *text, size_t bytes)
{
    const bool has_age = cookie->max_age_s != 0;
    char age[40] = "";

    if (has_age) {
        (void)snprintf(age, sizeof age, "; Max-Age=%lld",
                       (long long)(cookie->max_age_s > 0 ? cookie->max_age_s : 0));
    }
    return snprintf(
        text, bytes, "%s=%.*s; Path=%s%s%s%s; SameSite=%s%s%s", cookie->name,
        (int)cookie->value.bytes, cookie->value.data != NULL ? cookie->value.data : "",
        cookie->path != NULL ? cookie->path : "/",
        cookie->domain != NULL ? "; Domain=" : "",
        cookie->domain != NULL ? cookie->domain : "", age,
        cookie->same_site != NULL ? cookie->same_site : "Lax",
        cookie->for_scripts ? "" : "; HttpOnly", cookie->without_tls ? "" : "; Secure");
}

cpt_status cpt_rpc_reply_cookie(struct cpt_task *task, struct cpt_rpc_reply *reply,
                                const struct cpt_cookie *given)
{
    struct cpt_cookie cookie = {0};
    char text[COOKIE_BYTES_MAX];
    int bytes = 0;

    if (cpt_options_read(&cookie, sizeof cookie, given, NULL) != CPT_OK ||
        !is_cookie(&cookie)) {
        return CPT_INVALID;
    }
    bytes = write_cookie(&cookie, text, sizeof text);
    if (bytes < 0 || (size_t)bytes >= sizeof text) {
        return CPT_INVALID;
    }
    return cpt_rpc_reply_header(task, reply, "Set-Cookie",
                                (struct cpt_bytes){text, (size_t)bytes});
}
