/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_members.c - fields out of JSON and key=value; see event_members.h */
#include "import/lines/event_members.h"

#include "cpt/base/text.h"

enum { DEPTH_MAX = 8, PATH_BYTES_MAX = 256 };

/* A line that is being read. */
struct scan {
    const struct cpti_line_source *source;
    struct cpti_fields *fields;
    const char *at;
    const char *end;
    char *room;
    size_t depth;            /* of the objects around; 1: the line's own */
    size_t marks[DEPTH_MAX]; /* how long the path was outside of each */
    size_t prefix;           /* bytes of the path of this object, with its '.' */
    char path[PATH_BYTES_MAX];
};

/* Takes @value as the fields that the member at @path gives. */
static void put(struct scan *scan, struct cpt_bytes path, struct cpt_bytes value)
{
    const struct cpti_line_source *source = scan->source;
    size_t next = value.bytes > 0 ? source->member_slots[cpti_member_slot(path)] : 0;

    while (next != 0) {
        const struct cpti_member *member = &source->members[next - 1];
        struct cpt_bytes *field = &scan->fields->of[member->field];

        if (member->path.bytes == path.bytes &&
            memcmp(member->path.data, path.data, path.bytes) == 0 &&
            (field->bytes == 0 || member->rank < scan->fields->ranks[member->field])) {
            *field = value;
            scan->fields->ranks[member->field] = member->rank;
        }
        next = member->next;
    }
}

/* --- Strings --- */

static bool read_hex(const char *at, const char *end, unsigned *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        const char c = at + i < end ? at[i] : 'x';
        const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                               : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                      : 16;

        if (digit == 16) {
            return false;
        }
        *code = *code << 4 | digit;
    }
    return true;
}

/* Writes a character of the plane 0 as UTF-8; NUL and a half of a pair as U+FFFD. */
static char *put_code(char *to, unsigned code)
{
    code = code == 0 || (code >= 0xd800 && code <= 0xdfff) ? 0xfffd : code;
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xc0U | code >> 6);
    } else {
        *to++ = (char)(0xe0U | code >> 12);
        *to++ = (char)(0x80U | (code >> 6 & 0x3fU));
    }
    *to++ = (char)(0x80U | (code & 0x3fU));
    return to;
}

/* Writes the text of the escape behind the backslash at `at`. */
static bool unescape(struct scan *scan, char **to)
{
    static const char from[] = "\"\\/bfnrt";
    static const char into[] = "\"\\/\b\f\n\r\t";
    const char c = scan->at + 1 < scan->end ? scan->at[1] : '\0';
    const char *known = c != '\0' ? strchr(from, c) : NULL;
    unsigned code = 0;

    if (known != NULL) {
        *(*to)++ = into[known - from];
        scan->at += 2;
        return true;
    }
    if (c != 'u' || !read_hex(scan->at + 2, scan->end, &code)) {
        return false;
    }
    *to = put_code(*to, code);
    scan->at += 6;
    return true;
}

/* Reads the string whose first quote is at `at`, to behind its last one. */
static bool read_string(struct scan *scan, struct cpt_bytes *text)
{
    const char *start = scan->at + 1;
    const char *quote = memchr(start, '"', (size_t)(scan->end - start));
    char *to = scan->room;

    if (quote == NULL) {
        return false;
    }
    if (memchr(start, '\\', (size_t)(quote - start)) == NULL) {
        *text = (struct cpt_bytes){start, (size_t)(quote - start)};
        scan->at = quote + 1;
        return true;
    }
    for (scan->at = start; scan->at < scan->end && *scan->at != '"';) {
        if (*scan->at != '\\') {
            *to++ = *scan->at++;
        } else if (!unescape(scan, &to)) {
            return false;
        }
    }
    *text = (struct cpt_bytes){scan->room, (size_t)(to - scan->room)};
    scan->room = to;
    if (scan->at == scan->end) {
        return false;
    }
    scan->at++;
    return true;
}

/* Passes a string without reading it. */
static bool skip_string(struct scan *scan)
{
    for (scan->at++; scan->at < scan->end && *scan->at != '"'; scan->at++) {
        scan->at += *scan->at == '\\' && scan->at + 1 < scan->end;
    }
    if (scan->at == scan->end) {
        return false;
    }
    scan->at++;
    return true;
}

/* --- Values --- */

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t')) {
        scan->at++;
    }
}

/* Passes an array or an object. */
static bool skip_brackets(struct scan *scan)
{
    size_t depth = 0;

    while (scan->at < scan->end) {
        const char c = *scan->at;

        if (c == '"') {
            if (!skip_string(scan)) {
                return false;
            }
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        scan->at++;
        if (depth == 0) {
            return true;
        }
    }
    return false;
}

/* A number, true, false or null. */
static struct cpt_bytes read_word(struct scan *scan)
{
    const char *start = scan->at;

    while (scan->at < scan->end && *scan->at != ',' && *scan->at != '}' &&
           *scan->at != ']' && *scan->at != ' ') {
        scan->at++;
    }
    return (struct cpt_bytes){start, (size_t)(scan->at - start)};
}

/* Whether a member is in the object at @path. */
static bool has_inside(const struct cpti_line_source *source, struct cpt_bytes path)
{
    for (size_t i = 0; i < source->member_count; i++) {
        const struct cpt_bytes wanted = source->members[i].path;

        if (wanted.bytes > path.bytes && wanted.data[path.bytes] == '.' &&
            memcmp(wanted.data, path.data, path.bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* The path of @key in this object; false: it is longer than that of any member. */
static bool path_of(struct scan *scan, struct cpt_bytes key, struct cpt_bytes *path)
{
    if (scan->prefix == 0) {
        *path = key;
        return key.bytes < PATH_BYTES_MAX;
    }
    if (key.bytes >= PATH_BYTES_MAX - scan->prefix) {
        return false;
    }
    memcpy(scan->path + scan->prefix, key.data, key.bytes);
    *path = (struct cpt_bytes){scan->path, scan->prefix + key.bytes};
    return true;
}

/* Goes into the object at `at`, whose path is @path. */
static bool enter(struct scan *scan, struct cpt_bytes path)
{
    if (scan->depth == DEPTH_MAX || path.bytes + 1 >= PATH_BYTES_MAX) {
        return false;
    }
    if (path.bytes > 0) {
        memmove(scan->path, path.data, path.bytes);
        scan->path[path.bytes] = '.';
    }
    scan->marks[scan->depth++] = scan->prefix;
    scan->prefix = path.bytes > 0 ? path.bytes + 1 : 0;
    scan->at++;
    return true;
}

/* Reads the member at `at`, or goes into it. */
static bool read_member(struct scan *scan)
{
    struct cpt_bytes key;
    struct cpt_bytes path;
    struct cpt_bytes value;
    bool is_wanted = false;

    if (*scan->at != '"' || !read_string(scan, &key)) {
        return false;
    }
    skip_blanks(scan);
    if (scan->at >= scan->end || *scan->at++ != ':') {
        return false;
    }
    skip_blanks(scan);
    if (scan->at >= scan->end) {
        return false;
    }
    is_wanted = path_of(scan, key, &path);
    if (*scan->at == '{' && is_wanted && has_inside(scan->source, path)) {
        return enter(scan, path);
    }
    if (*scan->at == '{' || *scan->at == '[') {
        return skip_brackets(scan);
    }
    if (*scan->at != '"') {
        value = read_word(scan);
        if (is_wanted && !cpti_text_is(value, "null")) {
            put(scan, path, value);
        }
        return value.bytes > 0;
    }
    if (!is_wanted || scan->source->member_slots[cpti_member_slot(path)] == 0) {
        return skip_string(scan);
    }
    if (!read_string(scan, &value)) {
        return false;
    }
    put(scan, path, value);
    return true;
}

bool cpti_members_json(const struct cpti_line_source *source, struct cpt_bytes line,
                       char *room, struct cpti_fields *fields)
{
    struct scan scan = {.source = source,
                        .fields = fields,
                        .at = line.data,
                        .end = line.data + line.bytes,
                        .room = room};

    skip_blanks(&scan);
    if (scan.at == scan.end || *scan.at != '{') {
        return false;
    }
    (void)enter(&scan, (struct cpt_bytes){NULL, 0});
    while (scan.depth > 0) {
        skip_blanks(&scan);
        if (scan.at == scan.end) {
            return false;
        }
        if (*scan.at == '}') {
            scan.prefix = scan.marks[--scan.depth];
            scan.at++;
        } else if (*scan.at == ',') {
            scan.at++;
        } else if (!read_member(&scan)) {
            return false;
        }
    }
    skip_blanks(&scan);
    return scan.at == scan.end;
}

/* --- key=value --- */

bool cpti_members_logfmt(const struct cpti_line_source *source, struct cpt_bytes line,
                         char *room, struct cpti_fields *fields)
{
    struct scan scan = {.source = source,
                        .fields = fields,
                        .at = line.data,
                        .end = line.data + line.bytes,
                        .room = room};
    bool has_pair = false;

    while (scan.at < scan.end) {
        struct cpt_bytes key = {scan.at, 0};
        struct cpt_bytes value = {NULL, 0};

        while (scan.at < scan.end && *scan.at != '=' && *scan.at != ' ') {
            scan.at++;
        }
        key.bytes = (size_t)(scan.at - key.data);
        if (scan.at == scan.end || *scan.at == ' ') {
            scan.at += scan.at < scan.end;
            continue;
        }
        scan.at++;
        if (scan.at < scan.end && *scan.at == '"') {
            if (!read_string(&scan, &value)) {
                return false;
            }
        } else {
            value.data = scan.at;
            while (scan.at < scan.end && *scan.at != ' ') {
                scan.at++;
            }
            value.bytes = (size_t)(scan.at - value.data);
        }
        has_pair |= key.bytes > 0;
        put(&scan, key, value);
    }
    return has_pair;
}
