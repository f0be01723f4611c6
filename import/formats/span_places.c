/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* span_places.c - where in the text of JSON spans have attributes; see span_places.h */
#include "import/formats/span_places.h"

#include <string.h>

/* What is left of the text: JSON, so brackets and quotes have their other halves. Even
 * so nothing is read behind `end`. */
struct text {
    const char *at;
    const char *end;
};

/* How a format writes spans. */
struct way {
    enum cpti_place_family family;
    const char *id;
    const char *list; /* the key of the attributes … */
    char open;        /* … which are an array of objects, or an object */
};

struct scan {
    const char *start;
    const struct way *way;
    uint64_t count;
    uint64_t count_max;
    void (*take)(void *context, struct cpti_place place);
    void *context;
};

/* --- Values --- */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static void pass_blanks(struct text *text)
{
    while (text->at < text->end && is_blank(*text->at)) {
        text->at++;
    }
}

/* The string at `at`, without its quotes. */
static struct cpt_bytes pass_string(struct text *text)
{
    const char *start = text->at + 1;
    struct cpt_bytes found = {"", 0};

    text->at = start;
    while (text->at < text->end && *text->at != '"') {
        text->at += *text->at == '\\' && text->end - text->at > 1 ? 2 : 1;
    }
    found = (struct cpt_bytes){start, (size_t)(text->at - start)};
    text->at += text->at < text->end;
    return found;
}

static bool ends_value(char byte)
{
    return byte == ',' || byte == ']' || byte == '}' || is_blank(byte);
}

/* The value at `at`. */
static struct cpt_bytes pass_value(struct text *text)
{
    const char *start = text->at;
    size_t depth = 0;

    do {
        const char byte = text->at < text->end ? *text->at : '\0';

        if (text->at == text->end || (depth == 0 && ends_value(byte))) {
            break;
        }
        if (byte == '"') {
            (void)pass_string(text);
        } else {
            depth += byte == '{' || byte == '[';
            depth -= byte == '}' || byte == ']';
            text->at++;
        }
        if (depth == 0 && (byte == '"' || byte == '}' || byte == ']')) {
            break;
        }
    } while (true);
    return (struct cpt_bytes){start, (size_t)(text->at - start)};
}

/* Enters the value at `at` if it begins with @open; passes it otherwise. */
static bool enter(struct text *text, char open)
{
    if (text->at < text->end && *text->at == open) {
        text->at++;
        return true;
    }
    (void)pass_value(text);
    return false;
}

/* Goes to the next element within brackets; behind them if there is none. */
static bool next(struct text *text)
{
    pass_blanks(text);
    if (text->at < text->end && *text->at == ',') {
        text->at++;
        pass_blanks(text);
    }
    if (text->at == text->end || *text->at == ']' || *text->at == '}') {
        text->at += text->at < text->end;
        return false;
    }
    return true;
}

/* The same with a member; `at` is at its value. */
static bool next_member(struct text *text, struct cpt_bytes *key)
{
    if (!next(text) || *text->at != '"') {
        return false;
    }
    *key = pass_string(text);
    pass_blanks(text);
    text->at += text->at < text->end; /* the colon */
    pass_blanks(text);
    return true;
}

/* --- Attributes --- */

static bool is_ours(struct cpt_bytes key)
{
    return cpti_is_key(key, CPTI_PATH_ATTRIBUTE);
}

/* The value of the attribute @element, an object, if it is ours; else empty. */
static struct cpt_bytes value_of(struct cpt_bytes element)
{
    struct text text = {element.data, element.data + element.bytes};
    struct cpt_bytes key = {"", 0};
    struct cpt_bytes value = {"", 0};
    bool is_found = false;

    if (!enter(&text, '{')) {
        return value;
    }
    while (next_member(&text, &key)) {
        const struct cpt_bytes found = pass_value(&text);

        if (cpti_is_key(key, "key")) {
            is_found = cpti_is_key(found, "\"" CPTI_PATH_ATTRIBUTE "\"");
        } else if (cpti_is_key(key, "value")) {
            value = found;
        }
    }
    return is_found ? value : (struct cpt_bytes){"", 0};
}

/* The value of our attribute in @list, if it is there; *@is_empty: nothing is. */
static struct cpt_bytes find_value(const struct way *way, struct cpt_bytes list,
                                   bool *is_empty)
{
    struct text text = {list.data + 1, list.data + list.bytes};
    struct cpt_bytes value = {"", 0};
    struct cpt_bytes key = {"", 0};

    *is_empty = true;
    while (value.bytes == 0 &&
           (way->open == '{' ? next_member(&text, &key) : next(&text))) {
        const struct cpt_bytes found = pass_value(&text);

        *is_empty = false;
        if (way->open == '[') {
            value = value_of(found);
        } else if (is_ours(key)) {
            value = found;
        }
    }
    return value;
}

static struct cpti_place place_at(const struct scan *scan, enum cpti_place_form form,
                                  const char *at, size_t cut_bytes)
{
    return (struct cpti_place){.offset = (uint64_t)(at - scan->start),
                               .cut_bytes = (uint32_t)cut_bytes,
                               .form = form,
                               .family = scan->way->family};
}

/* The place in @list, the value of the member that has the attributes. */
static struct cpti_place place_in(const struct scan *scan, struct cpt_bytes list)
{
    struct cpt_bytes value = {"", 0};
    bool is_empty = false;

    if (cpti_is_key(list, "null")) {
        return place_at(scan, CPTI_PLACE_LIST, list.data, list.bytes);
    }
    if (*list.data != scan->way->open) {
        return place_at(scan, CPTI_PLACE_NONE, list.data, 0);
    }
    value = find_value(scan->way, list, &is_empty);
    if (value.bytes > 0) {
        return place_at(scan, CPTI_PLACE_VALUE, value.data, value.bytes);
    }
    return place_at(scan, is_empty ? CPTI_PLACE_ONLY : CPTI_PLACE_FIRST, list.data + 1,
                    0);
}

/* --- Spans --- */

/* Takes the value at `at`, a span. */
static void take_span(struct scan *scan, struct text *text)
{
    struct cpti_place place = place_at(scan, CPTI_PLACE_NONE, text->at, 0);
    const char *first = text->at + 1;
    struct cpt_bytes list = {"", 0};
    struct cpt_bytes key = {"", 0};
    bool has_id = false;

    if (enter(text, '{')) {
        while (next_member(text, &key)) {
            const struct cpt_bytes value = pass_value(text);

            if (cpti_is_key(key, scan->way->list) && list.bytes == 0) {
                list = value;
            } else if (cpti_is_key(key, scan->way->id)) {
                has_id = value.bytes > 2 && *value.data == '"';
            }
        }
    }
    if (has_id) {
        place = list.bytes > 0 ? place_in(scan, list)
                               : place_at(scan, CPTI_PLACE_MEMBER, first, 0);
    }
    if (scan->count++ < scan->count_max) {
        scan->take(scan->context, place);
    }
}

/* Takes what is at `at`. */
typedef void take_fn(struct scan *scan, struct text *text);

/* Takes each element of the array at `at` by @take. */
static void take_each(struct scan *scan, struct text *text, take_fn *take)
{
    if (enter(text, '[')) {
        while (next(text)) {
            take(scan, text);
        }
    }
}

/* Takes member @wanted of the object at `at` by @take; others are passed. */
static void take_member(struct scan *scan, struct text *text, const char *wanted,
                        take_fn *take)
{
    struct cpt_bytes key = {"", 0};

    if (!enter(text, '{')) {
        return;
    }
    while (next_member(text, &key)) {
        if (key.bytes == strlen(wanted) && memcmp(key.data, wanted, key.bytes) == 0) {
            take(scan, text);
        } else {
            (void)pass_value(text);
        }
    }
}

static void take_spans(struct scan *scan, struct text *text)
{
    take_each(scan, text, take_span);
}

/* What has its spans in a member: a trace of Jaeger, a scope of OpenTelemetry. */
static void take_holder(struct scan *scan, struct text *text)
{
    take_member(scan, text, "spans", take_spans);
}

/* --- OpenTelemetry --- */

/* Takes those of the ResourceSpans at `at`. */
static void take_resource(struct scan *scan, struct text *text)
{
    struct cpt_bytes key = {"", 0};

    if (!enter(text, '{')) {
        return;
    }
    while (next_member(text, &key)) {
        if (cpti_is_key(key, "scopeSpans") ||
            cpti_is_key(key, "instrumentationLibrarySpans")) {
            take_each(scan, text, take_holder);
        } else {
            (void)pass_value(text);
        }
    }
}

static void take_list(struct scan *scan, struct text *text)
{
    take_each(scan, text, take_resource);
}

static void take_request(struct scan *scan, struct text *text)
{
    take_member(scan, text, "resourceSpans", take_list);
}

/* Takes those of the lists in the object at `at`, and by @take_within those of what it
 * has around others; NULL: it is within itself. */
static void take_lists(struct scan *scan, struct text *text, take_fn *take_within)
{
    struct cpt_bytes key = {"", 0};

    if (!enter(text, '{')) {
        return;
    }
    while (next_member(text, &key)) {
        if (cpti_otlp_is_list(key)) {
            take_list(scan, text);
        } else if (take_within != NULL && cpti_otlp_is_around(key)) {
            take_within(scan, text);
        } else {
            (void)pass_value(text);
        }
    }
}

static void take_lists_within(struct scan *scan, struct text *text)
{
    take_lists(scan, text, NULL);
}

/* --- Elasticsearch --- */

static const struct way jaeger = {CPTI_PLACE_JAEGER, "spanID", "tags", '['};
static const struct way zipkin = {CPTI_PLACE_ZIPKIN, "id", "tags", '{'};
static const struct way otlp = {CPTI_PLACE_OTLP, "spanId", "attributes", '['};

/* Whether the value at `at`, which stays there, is a span of Zipkin. */
static bool is_zipkin(struct text text)
{
    struct cpt_bytes key = {"", 0};
    bool has_id = false;

    if (!enter(&text, '{')) {
        return false;
    }
    while (next_member(&text, &key)) {
        if (cpti_is_key(key, jaeger.id)) {
            return false;
        }
        has_id |= cpti_is_key(key, zipkin.id);
        (void)pass_value(&text);
    }
    return has_id;
}

static void take_source(struct scan *scan, struct text *text)
{
    scan->way = is_zipkin(*text) ? &zipkin : &jaeger;
    take_span(scan, text);
}

static void take_document(struct scan *scan, struct text *text)
{
    take_member(scan, text, "_source", take_source);
}

static void take_documents(struct scan *scan, struct text *text)
{
    take_each(scan, text, take_document);
}

/* The "hits" of an answer: documents, or an object whose "hits" are documents. */
static void take_hits(struct scan *scan, struct text *text)
{
    if (text->at < text->end && *text->at == '[') {
        take_documents(scan, text);
    } else {
        take_member(scan, text, "hits", take_documents);
    }
}

static void take_answer(struct scan *scan, struct text *text)
{
    take_member(scan, text, "hits", take_hits);
}

/* An answer to a search, or to several. */
static void take_answers(struct scan *scan, struct text *text)
{
    struct cpt_bytes key = {"", 0};

    if (!enter(text, '{')) {
        return;
    }
    while (next_member(text, &key)) {
        if (cpti_is_key(key, "hits")) {
            take_hits(scan, text);
        } else if (cpti_is_key(key, "responses")) {
            take_each(scan, text, take_answer);
        } else {
            (void)pass_value(text);
        }
    }
}

/* --- Pieces --- */

uint64_t cpti_span_places(struct cpt_bytes piece, enum cpti_piece kind,
                          uint64_t count_max,
                          void (*take)(void *context, struct cpti_place place),
                          void *context)
{
    struct scan scan = {
        .start = piece.data, .count_max = count_max, .take = take, .context = context};
    struct text text = {piece.data, piece.data + piece.bytes};

    pass_blanks(&text);
    switch (kind) {
    case CPTI_PIECE_JAEGER_TRACE:
        scan.way = &jaeger;
        take_holder(&scan, &text);
        break;
    case CPTI_PIECE_JAEGER_SPAN:
        scan.way = &jaeger;
        take_span(&scan, &text);
        break;
    case CPTI_PIECE_ZIPKIN_TRACE:
        scan.way = &zipkin;
        take_spans(&scan, &text);
        break;
    case CPTI_PIECE_ZIPKIN_SPAN:
        scan.way = &zipkin;
        take_span(&scan, &text);
        break;
    case CPTI_PIECE_OTLP_REQUEST:
        scan.way = &otlp;
        take_request(&scan, &text);
        break;
    case CPTI_PIECE_OTLP_ANSWER:
        scan.way = &otlp;
        take_lists(&scan, &text, take_lists_within);
        break;
    case CPTI_PIECE_INDEX_DOCUMENT:
        take_document(&scan, &text);
        break;
    case CPTI_PIECE_INDEX_ANSWER:
        take_answers(&scan, &text);
        break;
    default:
        break;
    }
    return scan.count;
}
