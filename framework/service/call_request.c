/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * call_request.c - what a call says beside its body: its line, and its headers
 *
 *      "PUT /users/{id}?fields={fields}"  of the stub
 *       |          |            |
 *      verb    parameters: cpt_call_set_parameter(), else an input of that name
 *       |          |            |
 *      PUT   /users/17?fields=a%2Cb&page=2  <-- cpt_call_add_query()
 *
 * What stands in a parameter comes from outside more often than not. So all but
 * unreserved characters are encoded, and a segment that a server would take as "this
 * folder" or "the one above" is refused, since decoding and resolving is what some do
 * in that order. A method without braces, as most are, is used as it is.
 */
#include "framework/service/calls.h"
#include "framework/service/service.h"

#include <stdio.h>
#include <string.h>

enum { FIELDS_FIRST = 4, DIGITS_MAX = 24, VERB_BYTES_MAX = 16 };

/* --- Parts of a method --- */

static bool is_name_byte(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           c == '_';
}

/* The bytes of the verb that @method begins with; 0: it has none. */
static size_t verb_bytes(const char *method)
{
    size_t bytes = 0;

    while (bytes < VERB_BYTES_MAX && method[bytes] >= 'A' && method[bytes] <= 'Z') {
        bytes++;
    }
    return method[bytes] == ' ' && method[bytes + 1] == '/' ? bytes : 0;
}

bool cpti_call_line_has_no_body(const char *method)
{
    return strncmp(method, "GET /", 5) == 0 || strncmp(method, "HEAD /", 6) == 0 ||
           strncmp(method, "DELETE /", 8) == 0;
}

/* A parameter as it stands in a method. */
struct place {
    struct cpt_bytes name;
    size_t bytes; /* with its braces */
    bool is_rest; /* "{name...}" */
};

/* Whether a parameter begins at @text. */
static bool is_place(const char *text, struct place *place)
{
    size_t bytes = 0;

    if (text[0] != '{') {
        return false;
    }
    while (is_name_byte(text[1 + bytes])) {
        bytes++;
    }
    place->name = (struct cpt_bytes){text + 1, bytes};
    place->is_rest = strncmp(text + 1 + bytes, "...}", 4) == 0;
    place->bytes = bytes + (place->is_rest ? 5 : 2);
    return bytes > 0 && (place->is_rest || text[1 + bytes] == '}');
}

bool cpti_call_line_names(const char *method, const char *name)
{
    struct place place;

    while ((method = strchr(method, '{')) != NULL) {
        if (is_place(method, &place) &&
            cpt_bytes_equal(place.name, cpt_bytes_of(name))) {
            return true;
        }
        method++;
    }
    return false;
}

/* --- Values of parameters --- */

/* The input of @task called @name, as text. False: there is none, or it is no text. */
static bool input_text(struct cpt_task *task, struct cpt_bytes name,
                       char digits[DIGITS_MAX], struct cpt_bytes *text)
{
    const struct cpt_task_def *def = cpti_task_plan(task)->def;
    const struct cpt_value *const *more = def->needs_more;
    const struct cpt_value *value = NULL;
    const void *input = NULL;

    for (size_t i = 0; def->needs[i] != NULL && value == NULL; i++) {
        value = cpt_bytes_equal(name, cpt_bytes_of(def->needs[i]->name)) ? def->needs[i]
                                                                         : NULL;
    }
    for (; more != NULL && *more != NULL && value == NULL; more++) {
        value = cpt_bytes_equal(name, cpt_bytes_of((*more)->name)) ? *more : NULL;
    }
    input = value != NULL && value->type != NULL ? cpt_task_input(task, value) : NULL;
    if (input == NULL) {
        return false;
    }
    if (strcmp(value->type, "struct cpt_bytes") == 0) {
        *text = *(const struct cpt_bytes *)input;
        return true;
    }
    if (strcmp(value->type, "int64_t") != 0) {
        return false;
    }
    (void)snprintf(digits, DIGITS_MAX, "%lld", (long long)*(const int64_t *)input);
    *text = cpt_bytes_of(digits);
    return true;
}

static bool find_value(struct cpt_task *task, const struct cpt_call_request *request,
                       struct cpt_bytes name, char digits[DIGITS_MAX],
                       struct cpt_bytes *text)
{
    for (size_t i = request->parameter_count; i > 0; i--) { /* the last one counts */
        if (cpt_bytes_equal(request->parameters[i - 1].name, name)) {
            *text = request->parameters[i - 1].value;
            return true;
        }
    }
    return input_text(task, name, digits, text);
}

/* --- Writing a line --- */

struct writer {
    char *data; /* NULL: only counts */
    size_t bytes;
};

static void put(struct writer *to, char c)
{
    if (to->data != NULL) {
        to->data[to->bytes] = c;
    }
    to->bytes++;
}

/* Encodes all but unreserved characters, and '/' if @keeps_slash. */
static void put_encoded(struct writer *to, struct cpt_bytes text, bool keeps_slash)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < text.bytes; i++) {
        const char c = text.data[i];

        if (is_name_byte(c) || (c != '\0' && strchr("-.~", c) != NULL) ||
            (keeps_slash && c == '/')) {
            put(to, c);
        } else {
            put(to, '%');
            put(to, hex[(unsigned char)c >> 4]);
            put(to, hex[(unsigned char)c & 15]);
        }
    }
}

/* Whether @text, or a part of it between '/', is "." or "..". */
static bool has_dots(struct cpt_bytes text)
{
    size_t begin = 0;

    for (size_t i = 0; i <= text.bytes; i++) {
        if (i < text.bytes && text.data[i] != '/') {
            continue;
        }
        if (i - begin > 0 && i - begin <= 2 && text.data[begin] == '.' &&
            text.data[i - 1] == '.') {
            return true;
        }
        begin = i + 1;
    }
    return false;
}

/* Writes @place of the path, or of the query. */
static cpt_status put_place(struct cpt_task *task, const struct cpt_stub *stub,
                            const struct cpt_call_request *request,
                            const struct place *place, bool is_query, struct writer *to)
{
    char digits[DIGITS_MAX];
    struct cpt_bytes text = {NULL, 0};

    if (!find_value(task, request, place->name, digits, &text)) {
        return cpt_fail(
            task, CPT_INVALID,
            "the call of '%s' has no parameter '%.*s', and its task needs no "
            "number or text of that name",
            stub->name, (int)place->name.bytes, place->name.data);
    }
    if (!is_query && ((text.bytes == 0 && !place->is_rest) || has_dots(text))) {
        return cpt_fail(task, CPT_INVALID,
                        "the parameter '%.*s' of the call of '%s' is no part of a path",
                        (int)place->name.bytes, place->name.data, stub->name);
    }
    if (text.bytes > CPT_CALL_LINE_BYTES_MAX) {
        return cpt_fail(task, CPT_INVALID,
                        "the parameter '%.*s' of the call of '%s' is too long",
                        (int)place->name.bytes, place->name.data, stub->name);
    }
    put_encoded(to, text, place->is_rest && !is_query);
    return CPT_OK;
}

/* Writes the path of @stub and its query, then that of @request. */
static cpt_status put_line(struct cpt_task *task, const struct cpt_stub *stub,
                           const struct cpt_call_request *request, const char *path,
                           struct writer *to)
{
    struct place place;
    bool is_query = false;

    while (*path != '\0') {
        if (is_place(path, &place)) {
            const cpt_status status =
                put_place(task, stub, request, &place, is_query, to);

            if (status != CPT_OK) {
                return status;
            }
            path += place.bytes;
            continue;
        }
        is_query |= *path == '?';
        put(to, *path++);
    }
    for (size_t i = 0; i < request->query_count; i++) {
        put(to, is_query ? '&' : '?');
        is_query = true;
        put_encoded(to, request->query[i].name, false);
        put(to, '=');
        put_encoded(to, request->query[i].value, false);
    }
    return CPT_OK;
}

cpt_status cpti_call_line_make(struct cpt_task *task, const struct cpt_stub *stub,
                               const struct cpt_call_request *request,
                               struct cpti_call_line *line)
{
    static const struct cpt_call_request nothing = {.struct_bytes = sizeof nothing};
    const char *method = stub->method != NULL ? stub->method : "";
    const size_t bytes = verb_bytes(method);
    struct writer to = {NULL, 0};
    cpt_status status = CPT_OK;

    line->verb = (struct cpt_bytes){method, bytes};
    line->method = bytes != 0 ? method + bytes + 1 : stub->method;
    request = request != NULL ? request : &nothing;
    if (request->query_count == 0 && strchr(method, '{') == NULL) {
        return CPT_OK;
    }
    method = line->method != NULL ? line->method : "";
    status = put_line(task, stub, request, method, &to);
    if (status != CPT_OK) {
        return status;
    }
    if (to.bytes > CPT_CALL_LINE_BYTES_MAX) {
        return cpt_fail(task, CPT_INVALID, "the path of the call of '%s' is too long",
                        stub->name);
    }
    to.data = cpt_task_memory(task, to.bytes + 1);
    if (to.data == NULL) {
        return cpt_fail(task, CPT_LIMIT, "the memory limit of the request was reached");
    }
    to.bytes = 0;
    line->method = to.data;
    return put_line(task, stub, request, method, &to);
}

/* --- Fields --- */

/* Fields of one kind; the array has room for FIELDS_FIRST times a power of two. */
static cpt_status add(struct cpt_task *task, const struct cpt_field **fields,
                      size_t *count, const char *name, struct cpt_bytes value)
{
    const struct cpt_bytes text = cpt_bytes_of(name);
    const bool is_full =
        *count == 0 || (*count >= FIELDS_FIRST && (*count & (*count - 1)) == 0);
    struct cpt_field *room = (struct cpt_field *)(uintptr_t)*fields;
    char *copy = NULL;

    if (*count >= CPT_CALL_FIELDS_MAX) {
        return cpt_fail(task, CPT_LIMIT,
                        "a call has more than %d headers or parameters",
                        CPT_CALL_FIELDS_MAX);
    }
    copy = cpt_task_memory(task, text.bytes + value.bytes + 1);
    if (is_full && copy != NULL) {
        room = cpt_task_memory(task, (*count != 0 ? 2 * *count : (size_t)FIELDS_FIRST) *
                                         sizeof *room);
    }
    if (copy == NULL || room == NULL) {
        return cpt_fail(task, CPT_LIMIT, "the memory limit of the request was reached");
    }
    if (is_full && *count != 0) {
        memcpy(room, *fields, *count * sizeof *room);
    }
    memcpy(copy, name, text.bytes);
    if (value.bytes != 0) {
        memcpy(copy + text.bytes, value.data, value.bytes);
    }
    room[(*count)++] =
        (struct cpt_field){{copy, text.bytes}, {copy + text.bytes, value.bytes}};
    *fields = room;
    return CPT_OK;
}

cpt_status cpt_call_set_parameter(struct cpt_task *task,
                                  struct cpt_call_request *request, const char *name,
                                  struct cpt_bytes value)
{
    return add(task, &request->parameters, &request->parameter_count, name, value);
}

cpt_status cpt_call_add_query(struct cpt_task *task, struct cpt_call_request *request,
                              const char *name, struct cpt_bytes value)
{
    return add(task, &request->query, &request->query_count, name, value);
}

cpt_status cpt_call_add_header(struct cpt_task *task, struct cpt_call_request *request,
                               const char *name, struct cpt_bytes value)
{
    const struct cpt_field field = {cpt_bytes_of(name), value};

    if (!cpt_call_field_is_sendable(&field)) {
        return cpt_fail(task, CPT_INVALID, "the header '%.80s' of a call is refused",
                        name);
    }
    return add(task, &request->headers, &request->header_count, name, value);
}
