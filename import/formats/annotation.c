/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* annotation.c - a file of spans, again, with path times; see annotation.h */
#include "import/formats/annotation.h"

#include "import/bytes/inflate.h"
#include "import/formats/span_places.h"

#include <inttypes.h>
#include <stdio.h>

enum { COPY_BYTES = 64 << 10, ATTRIBUTE_BYTES_MAX = 160 };

/* A span: where its attribute belongs in the text, and its time. */
struct annotated {
    uint64_t offset;
    uint64_t path_ns;
    uint32_t cut_bytes;
    unsigned char form;   /* enum cpti_place_form */
    unsigned char family; /* enum cpti_place_family */
};

struct cpti_annotation {
    const struct cpt_alloc *alloc;
    struct annotated *items; /* by their number in the file, so by their offset, too */
    size_t count;
    size_t capacity;
};

struct cpti_annotation *cpti_annotation_new(const struct cpt_alloc *alloc)
{
    struct cpti_annotation *annotation = NULL;

    if (alloc == NULL) {
        alloc = cpt_alloc_default();
    }
    annotation = cpt_alloc_zeroed(alloc, sizeof *annotation);
    if (annotation != NULL) {
        annotation->alloc = alloc;
    }
    return annotation;
}

void cpti_annotation_free(struct cpti_annotation *annotation)
{
    if (annotation != NULL) {
        cpt_alloc_free(annotation->alloc, annotation->items);
        cpt_alloc_free(annotation->alloc, annotation);
    }
}

/* --- Places --- */

/* A piece whose places are being noted. */
struct piece {
    struct annotated *next;
    uint64_t offset;
};

static void note(void *context, struct cpti_place place)
{
    struct piece *piece = context;

    *piece->next++ = (struct annotated){.offset = piece->offset + place.offset,
                                        .cut_bytes = place.cut_bytes,
                                        .form = (unsigned char)place.form,
                                        .family = (unsigned char)place.family};
}

cpt_status cpti_annotation_find(struct cpti_annotation *annotation,
                                struct cpt_bytes piece, uint64_t offset,
                                enum cpti_piece kind, uint64_t first, uint64_t count)
{
    struct piece at = {.offset = offset};
    void *items = annotation->items;
    cpt_status status = CPT_LIMIT;

    if (first + count > CPTI_ANNOTATED_MAX) {
        return CPT_LIMIT;
    }
    status = cpt_alloc_grow(annotation->alloc, &items, &annotation->capacity,
                            (size_t)(first + count), CPTI_ANNOTATED_MAX,
                            sizeof *annotation->items);
    annotation->items = items;
    if (status != CPT_OK) {
        return status;
    }
    for (; annotation->count < first + count; annotation->count++) {
        annotation->items[annotation->count] =
            (struct annotated){.form = CPTI_PLACE_NONE};
    }
    if (count == 0) {
        return CPT_OK;
    }
    at.next = &annotation->items[first];
    if (cpti_span_places(piece, kind, count, note, &at) != count) {
        for (uint64_t i = first; i < first + count; i++) {
            annotation->items[i].form = CPTI_PLACE_NONE;
        }
    }
    return CPT_OK;
}

void cpti_annotation_add(struct cpti_annotation *annotation, uint64_t number,
                         uint64_t path_ns)
{
    if (number < annotation->count) {
        annotation->items[number].path_ns += path_ns;
    }
}

uint64_t cpti_annotation_missing(const struct cpti_annotation *annotation)
{
    uint64_t missing = 0;

    for (size_t i = 0; i < annotation->count; i++) {
        const struct annotated *item = &annotation->items[i];

        missing += item->form == CPTI_PLACE_NONE && item->path_ns > 0;
    }
    return missing;
}

/* --- The copy --- */

struct copy {
    const struct cpt_sink *sink;
    const struct annotated *items;
    size_t next; /* of them */
    size_t count;
    uint64_t offset;    /* of what has been read */
    uint64_t cut_bytes; /* that are passed over next */
};

/* What is around the number; see the picture in annotation.h. */
struct words {
    const char *list_key;
    const char *list_open;
    const char *key;
    const char *value_open;
    const char *value_close;
    const char *attribute_close;
    const char *list_close;
};

static const struct words words_of[] = {
    [CPTI_PLACE_JAEGER] = {"\"tags\":", "[",
                           "{\"key\":\"" CPTI_PATH_ATTRIBUTE
                           "\",\"type\":\"int64\",\"value\":",
                           "", "", "}", "]"},
    [CPTI_PLACE_ZIPKIN] = {"\"tags\":", "{", "\"" CPTI_PATH_ATTRIBUTE "\":", "\"", "\"",
                           "", "}"},
    [CPTI_PLACE_OTLP] = {"\"attributes\":", "[",
                         "{\"key\":\"" CPTI_PATH_ATTRIBUTE "\",\"value\":",
                         "{\"intValue\":\"", "\"}", "}", "]"},
};

static cpt_status write_attribute(struct copy *copy, const struct annotated *item)
{
    const struct words *words = &words_of[item->family];
    const enum cpti_place_form form = (enum cpti_place_form)item->form;
    const bool is_whole = form != CPTI_PLACE_VALUE;
    const bool is_list = form == CPTI_PLACE_LIST || form == CPTI_PLACE_MEMBER;
    const bool has_next = form == CPTI_PLACE_FIRST || form == CPTI_PLACE_MEMBER;
    char text[ATTRIBUTE_BYTES_MAX];
    const int bytes = snprintf(
        text, sizeof text, "%s%s%s%s%" PRIu64 "%s%s%s%s",
        form == CPTI_PLACE_MEMBER ? words->list_key : "",
        is_list ? words->list_open : "", is_whole ? words->key : "", words->value_open,
        item->path_ns, words->value_close, is_whole ? words->attribute_close : "",
        is_list ? words->list_close : "", has_next ? "," : "");

    return copy->sink->write(copy->sink->context, text, (size_t)bytes);
}

/* Passes spans without a place. */
static void pass_placeless(struct copy *copy)
{
    while (copy->next < copy->count &&
           copy->items[copy->next].form == CPTI_PLACE_NONE) {
        copy->next++;
    }
}

/* How many of the next @count bytes come before the next place. */
static size_t before_place(const struct copy *copy, size_t count)
{
    const uint64_t left = copy->next < copy->count
                              ? copy->items[copy->next].offset - copy->offset
                              : UINT64_MAX;

    return left < count ? (size_t)left : count;
}

/* Copies the next @count bytes of the file. */
static cpt_status copy_some(struct copy *copy, const char *bytes, size_t count)
{
    cpt_status status = CPT_OK;

    while (status == CPT_OK && count > 0) {
        size_t part = copy->cut_bytes < count ? (size_t)copy->cut_bytes : count;

        copy->cut_bytes -= part;
        if (part == 0) {
            pass_placeless(copy);
            part = before_place(copy, count);
            status = part > 0 ? copy->sink->write(copy->sink->context, bytes, part)
                              : write_attribute(copy, &copy->items[copy->next]);
            copy->cut_bytes = part > 0 ? 0 : copy->items[copy->next++].cut_bytes;
        }
        bytes += part;
        count -= part;
        copy->offset += part;
    }
    return status;
}

cpt_status cpti_annotation_write(const struct cpti_annotation *annotation,
                                 cpt_read_fn read, void *context,
                                 const struct cpt_sink *sink)
{
    struct cpti_inflate *inflate = cpti_inflate_new(annotation->alloc, read, context);
    char *buffer = cpt_alloc_array(annotation->alloc, NULL, COPY_BYTES, 1);
    struct copy copy = {
        .sink = sink, .items = annotation->items, .count = annotation->count};
    cpt_status status = inflate != NULL && buffer != NULL ? CPT_OK : CPT_NO_MEMORY;
    size_t bytes = 0;

    while (status == CPT_OK) {
        status = cpti_inflate_read(inflate, buffer, COPY_BYTES, &bytes);
        if (status != CPT_OK || bytes == 0) {
            break;
        }
        status = copy_some(&copy, buffer, bytes);
    }
    pass_placeless(&copy);
    if (status == CPT_OK && copy.next < copy.count) {
        status = CPT_TRUNCATED;
    }
    cpt_alloc_free(annotation->alloc, buffer);
    cpti_inflate_free(inflate);
    return status;
}
