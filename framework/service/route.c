/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * route.c - which requests a method takes
 *
 * A path is compared segment by segment, as it came: only what stands for a parameter
 * is decoded, once, after the path was split. So an encoded slash is part of a value
 * and never another segment, and "." and ".." mean nothing.
 *
 * Several routes may take a path. They are looked at in one order, which is total, and
 * does not depend on the order in which they were added: first whole paths, then
 * patterns, then "*". Of two patterns the one whose first different segment says more
 * comes first:
 *
 *      /users/me/posts    literal
 *      /users/me/{what}   a literal says more …
 *      /users/{id}/posts  … than a parameter, which says more …
 *      /users/{rest...}   … than the rest of the path
 *
 * With the same path, a route with a verb comes before the one without. A path that a
 * pattern takes, but not with this verb, may still be taken by a later one.
 */
#include "framework/service/route.h"

#include <string.h>

enum { VERB_BYTES_MAX = 16 };

/* --- Segments --- */

enum segment_kind { SEGMENT_LITERAL, SEGMENT_PARAMETER, SEGMENT_REST };

struct segment {
    enum segment_kind kind;
    struct cpt_bytes text; /* a parameter's: its name */
};

/* The bytes of @path from *@at, a '/', to the next one; *@at is then behind them. False
 * at the end. */
static bool next_segment(struct cpt_bytes path, size_t *at, struct cpt_bytes *text)
{
    const char *begin = NULL;
    const char *end = NULL;

    if (*at >= path.bytes) {
        return false;
    }
    begin = path.data + *at + 1;
    end = memchr(begin, '/', path.bytes - *at - 1);
    text->data = begin;
    text->bytes = end != NULL ? (size_t)(end - begin) : path.bytes - *at - 1;
    *at += 1 + text->bytes;
    return true;
}

/* The same of a route, which was checked. */
static bool next_of_route(const struct cpti_route *route, size_t *at,
                          struct segment *segment)
{
    struct cpt_bytes *text = &segment->text;

    if (!next_segment(route->path, at, text)) {
        return false;
    }
    segment->kind = SEGMENT_LITERAL;
    if (text->bytes > 0 && text->data[0] == '{') {
        segment->kind = SEGMENT_PARAMETER;
        text->data++;
        text->bytes -= 2;
        if (text->data[text->bytes - 1] == '.') {
            segment->kind = SEGMENT_REST;
            text->bytes -= 3;
        }
    }
    return true;
}

/* --- Reading a name --- */

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_name_byte(char c)
{
    return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* The bytes of the verb that @name begins with; 0: it has none. */
static size_t verb_bytes(const char *name)
{
    size_t bytes = 0;

    while (bytes < VERB_BYTES_MAX && is_upper(name[bytes])) {
        bytes++;
    }
    return name[bytes] == ' ' && (name[bytes + 1] == '/' ||
                                  (name[bytes + 1] == '*' && name[bytes + 2] == '\0'))
               ? bytes
               : 0;
}

/* Whether @text is "{name}" or "{name...}". */
static bool is_parameter(struct cpt_bytes text, bool *is_rest)
{
    size_t bytes = 0;

    while (bytes + 1 < text.bytes && is_name_byte(text.data[1 + bytes])) {
        bytes++;
    }
    *is_rest = text.bytes == bytes + 5 && memcmp(text.data + 1 + bytes, "...}", 4) == 0;
    return bytes > 0 && text.data[0] == '{' &&
           (*is_rest || (text.bytes == bytes + 2 && text.data[1 + bytes] == '}'));
}

/* Whether an earlier parameter of @route, before @end, has the name of @text. */
static bool is_repeated(const struct cpti_route *route, size_t end,
                        struct cpt_bytes text)
{
    struct segment segment;
    size_t at = 0;

    while (at < end && next_of_route(route, &at, &segment) && at < end) {
        if (segment.kind != SEGMENT_LITERAL && text.bytes > segment.text.bytes + 1 &&
            memcmp(text.data + 1, segment.text.data, segment.text.bytes) == 0 &&
            !is_name_byte(text.data[1 + segment.text.bytes])) {
            return true;
        }
    }
    return false;
}

static cpt_status parse_pattern(struct cpti_route *route, const char *name,
                                struct cpt_error *error)
{
    struct cpt_bytes text;
    unsigned count = 0;
    bool is_rest = false;
    size_t at = 0;

    while (next_segment(route->path, &at, &text)) {
        if (++count > CPTI_ROUTE_SEGMENTS_MAX || is_rest) {
            return cpt_error_set(error, is_rest ? CPT_INVALID : CPT_LIMIT, 0,
                                 is_rest
                                     ? "method \"%.80s\": \"...}\" is not at its end"
                                     : "method \"%.80s\" has too many segments",
                                 name);
        }
        if (memchr(text.data, '{', text.bytes) == NULL &&
            memchr(text.data, '}', text.bytes) == NULL) {
            continue;
        }
        if (!is_parameter(text, &is_rest) || is_repeated(route, at, text)) {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 "method \"%.80s\": a parameter is a whole segment, "
                                 "\"{name}\", with a name of its own",
                                 name);
        }
        if (++route->parameter_count > CPT_PARAMETERS_MAX) {
            return cpt_error_set(error, CPT_LIMIT, 0,
                                 "method \"%.80s\" has more than %d parameters", name,
                                 CPT_PARAMETERS_MAX);
        }
    }
    return CPT_OK;
}

cpt_status cpti_route_parse(struct cpti_route *route, const char *name,
                            struct cpt_error *error)
{
    const size_t bytes = verb_bytes(name);

    *route = (struct cpti_route){.verb = {name, bytes}};
    route->path = cpt_bytes_of(bytes > 0 ? name + bytes + 1 : name);
    if (cpt_bytes_equal(route->path, cpt_bytes_of("*"))) {
        route->kind = CPTI_ROUTE_ANY;
        return CPT_OK;
    }
    if (name[bytes > 0 ? bytes + 1 : 0] != '/' || strpbrk(name, "{}") == NULL) {
        return CPT_OK;
    }
    route->kind = CPTI_ROUTE_PATTERN;
    return parse_pattern(route, name, error);
}

/* --- Their order --- */

static int compare_bytes(struct cpt_bytes left, struct cpt_bytes right)
{
    if (left.bytes != right.bytes) {
        return left.bytes < right.bytes ? -1 : 1;
    }
    return left.bytes > 0 ? memcmp(left.data, right.data, left.bytes) : 0;
}

static int compare_patterns(const struct cpti_route *left,
                            const struct cpti_route *right)
{
    struct segment a;
    struct segment b;
    size_t left_at = 0;
    size_t right_at = 0;

    for (;;) {
        const bool has_left = next_of_route(left, &left_at, &a);
        const bool has_right = next_of_route(right, &right_at, &b);
        int order = 0;

        if (!has_left || !has_right) {
            return (int)has_left - (int)has_right;
        }
        if (a.kind != b.kind) {
            return a.kind < b.kind ? -1 : 1;
        }
        order = a.kind == SEGMENT_LITERAL ? compare_bytes(a.text, b.text) : 0;
        if (order != 0) {
            return order;
        }
    }
}

/* HEAD first, as GET takes it, too; no verb last. */
static int compare_verbs(struct cpt_bytes left, struct cpt_bytes right)
{
    const struct cpt_bytes head = cpt_bytes_of("HEAD");
    const int is_left = cpt_bytes_equal(left, head);
    const int is_right = cpt_bytes_equal(right, head);

    if (is_left != is_right) {
        return is_right - is_left;
    }
    if ((left.bytes == 0) != (right.bytes == 0)) {
        return left.bytes == 0 ? 1 : -1;
    }
    return compare_bytes(left, right);
}

int cpti_route_compare_path(const struct cpti_route *route, struct cpt_bytes path)
{
    return compare_bytes(route->path, path);
}

int cpti_route_compare(const struct cpti_route *left, const struct cpti_route *right)
{
    int order = 0;

    if (left->kind != right->kind) {
        return left->kind < right->kind ? -1 : 1;
    }
    if (left->kind == CPTI_ROUTE_LITERAL) {
        order = compare_bytes(left->path, right->path);
    } else if (left->kind == CPTI_ROUTE_PATTERN) {
        order = compare_patterns(left, right);
    }
    return order != 0 ? order : compare_verbs(left->verb, right->verb);
}

/* --- A request --- */

bool cpti_route_match(const struct cpti_route *route, struct cpt_bytes path,
                      struct cpti_route_match *match)
{
    struct segment segment;
    struct cpt_bytes text;
    size_t route_at = 0;
    size_t at = 0;

    match->count = 0;
    if (route->kind == CPTI_ROUTE_ANY) {
        return true;
    }
    if (path.bytes == 0 || path.data[0] != '/') {
        return false;
    }
    while (next_of_route(route, &route_at, &segment)) {
        if (!next_segment(path, &at, &text)) {
            return false;
        }
        if (segment.kind == SEGMENT_LITERAL) {
            if (!cpt_bytes_equal(segment.text, text)) {
                return false;
            }
            continue;
        }
        if (segment.kind == SEGMENT_REST) {
            text.bytes = path.bytes - (size_t)(text.data - path.data);
            at = path.bytes;
        } else if (text.bytes == 0) {
            return false;
        }
        match->parameters[match->count++] = (struct cpt_field){segment.text, text};
    }
    return at == path.bytes;
}

/* A macro, so that the compiler knows the length of @with. */
#define IS_VERB(verb, with)                                                            \
    ((verb).bytes == sizeof(with) - 1 &&                                               \
     memcmp((verb).data, with, sizeof(with) - 1) == 0)

bool cpti_route_takes(const struct cpti_route *route, struct cpt_bytes verb)
{
    if (verb.bytes == 0) {
        return true;
    }
    if (route->verb.bytes == 0) {
        return IS_VERB(verb, "GET") || IS_VERB(verb, "POST") || IS_VERB(verb, "HEAD");
    }
    return cpt_bytes_equal(route->verb, verb) ||
           (IS_VERB(verb, "HEAD") && IS_VERB(route->verb, "GET"));
}

/* Whether @allow, "GET, HEAD", has @verb. */
static bool has_verb(const char *allow, struct cpt_bytes verb)
{
    while (*allow != '\0') {
        const size_t bytes = strcspn(allow, ",");

        if (bytes == verb.bytes && memcmp(allow, verb.data, bytes) == 0) {
            return true;
        }
        allow += bytes + strspn(allow + bytes, ", ");
    }
    return false;
}

void cpti_route_allow_verb(struct cpt_bytes verb, char allow[CPTI_ROUTE_ALLOW_BYTES])
{
    size_t bytes = strlen(allow);

    if (has_verb(allow, verb) || bytes + verb.bytes + 3 > CPTI_ROUTE_ALLOW_BYTES) {
        return;
    }
    if (bytes > 0) {
        memcpy(allow + bytes, ", ", 2);
        bytes += 2;
    }
    memcpy(allow + bytes, verb.data, verb.bytes);
    allow[bytes + verb.bytes] = '\0';
}

void cpti_route_allow(const struct cpti_route *route,
                      char allow[CPTI_ROUTE_ALLOW_BYTES])
{
    if (route->verb.bytes == 0) {
        cpti_route_allow_verb(cpt_bytes_of("GET"), allow);
        cpti_route_allow_verb(cpt_bytes_of("HEAD"), allow);
        cpti_route_allow_verb(cpt_bytes_of("POST"), allow);
        return;
    }
    cpti_route_allow_verb(route->verb, allow);
    if (IS_VERB(route->verb, "GET")) {
        cpti_route_allow_verb(cpt_bytes_of("HEAD"), allow);
    }
}

/* --- Percent-encoding --- */

/* -1: no digit of base 16. */
static int hex_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

ptrdiff_t cpti_percent_decode(struct cpt_bytes from, bool plus_is_blank, char *to)
{
    size_t bytes = 0;

    for (size_t i = 0; i < from.bytes; i++) {
        char c = from.data[i];

        if (c == '%') {
            const int high = from.bytes - i > 2 ? hex_of(from.data[i + 1]) : -1;
            const int low = high >= 0 ? hex_of(from.data[i + 2]) : -1;

            if (low < 0) {
                return -1;
            }
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus_is_blank) {
            c = ' ';
        }
        if (c == '\0') {
            return -1;
        }
        to[bytes++] = c;
    }
    return (ptrdiff_t)bytes;
}
