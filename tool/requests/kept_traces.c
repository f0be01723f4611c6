/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * kept_traces.c - traces as this process has them in memory, one after the other
 *
 *      head   the spans, whose pointers mean nothing   all texts, in their order
 */
#include "tool/requests/kept_traces.h"

#include "tool/base/private_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct head {
    size_t count;
    size_t bytes; /* of all behind it */
    size_t trace_bytes;
};

enum { TEXTS = 8 };

struct cpti_kept_traces {
    FILE *file;
    int fault;        /* errno of what failed */
    struct head head; /* of what is in memory */
    char *bytes;
    size_t capacity;
};

struct cpti_kept_traces *cpti_kept_traces_new(void)
{
    return cpt_alloc_zeroed(NULL, sizeof(struct cpti_kept_traces));
}

void cpti_kept_traces_free(struct cpti_kept_traces *traces)
{
    if (traces != NULL) {
        if (traces->file != NULL) {
            (void)fclose(traces->file);
        }
        cpt_alloc_free(NULL, traces->bytes);
        cpt_alloc_free(NULL, traces);
    }
}

/* The texts of @span, in their order. */
static void list_texts(struct cpti_span *span, struct cpt_bytes *texts[TEXTS])
{
    texts[0] = &span->id;
    texts[1] = &span->parent;
    texts[2] = &span->service;
    texts[3] = &span->operation;
    texts[4] = &span->peer;
    texts[5] = &span->host;
    texts[6] = &span->link;
    texts[7] = &span->note;
}

static char *put(char *at, const void *data, size_t bytes)
{
    if (bytes != 0) {
        memcpy(at, data, bytes);
    }
    return at + bytes;
}

cpt_status cpti_kept_traces_copy(struct cpti_kept_traces *traces,
                                 const struct cpti_spans *spans, struct cpt_bytes trace)
{
    struct head head = {cpti_spans_count(spans), 0, trace.bytes};
    struct cpt_bytes *texts[TEXTS];
    char *at = NULL;

    head.bytes = trace.bytes + head.count * sizeof(struct cpti_span);
    for (size_t i = 0; i < head.count; i++) {
        struct cpti_span span = *cpti_spans_at(spans, i);

        list_texts(&span, texts);
        for (size_t k = 0; k < TEXTS; k++) {
            head.bytes += texts[k]->bytes;
        }
    }
    if (cpt_alloc_grow(NULL, (void **)&traces->bytes, &traces->capacity, head.bytes + 1,
                       SIZE_MAX, 1) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    traces->head = head;
    at = traces->bytes;
    for (size_t i = 0; i < head.count; i++) {
        struct cpti_span span = *cpti_spans_at(spans, i);

        span.tags = NULL;
        at = put(at, &span, sizeof span);
    }
    at = put(at, trace.data, trace.bytes);
    for (size_t i = 0; i < head.count; i++) {
        struct cpti_span span = *cpti_spans_at(spans, i);

        list_texts(&span, texts);
        for (size_t k = 0; k < TEXTS; k++) {
            at = put(at, texts[k]->data, texts[k]->bytes);
        }
    }
    return CPT_OK;
}

int cpti_kept_traces_fault(const struct cpti_kept_traces *traces)
{
    return traces->fault;
}

static cpt_status done(struct cpti_kept_traces *traces, bool is_done)
{
    if (!is_done) {
        traces->fault = errno;
    }
    return is_done ? CPT_OK : CPT_IO;
}

/* The file is made when it is needed. */
static cpt_status open_file(struct cpti_kept_traces *traces)
{
    char path[CPTI_PRIVATE_PATH_BYTES];
    const int descriptor = traces->file == NULL ? cpti_private_file(path) : -1;

    if (descriptor >= 0) {
        traces->file = fdopen(descriptor, "w+");
        if (traces->file == NULL) {
            (void)close(descriptor);
        }
    }
    return done(traces, traces->file != NULL);
}

cpt_status cpti_kept_traces_keep(struct cpti_kept_traces *traces)
{
    if (open_file(traces) != CPT_OK) {
        return CPT_IO;
    }
    return done(traces,
                fwrite(&traces->head, sizeof traces->head, 1, traces->file) == 1 &&
                    fwrite(traces->bytes, 1, traces->head.bytes, traces->file) ==
                        traces->head.bytes);
}

cpt_status cpti_kept_traces_rewind(struct cpti_kept_traces *traces)
{
    return done(traces, traces->file == NULL || fseek(traces->file, 0, SEEK_SET) == 0);
}

static cpt_status read_trace(struct cpti_kept_traces *traces)
{
    if (traces->file == NULL ||
        fread(&traces->head, sizeof traces->head, 1, traces->file) != 1) {
        return traces->file != NULL && ferror(traces->file) != 0 ? done(traces, false)
                                                                 : CPT_END;
    }
    if (cpt_alloc_grow(NULL, (void **)&traces->bytes, &traces->capacity,
                       traces->head.bytes + 1, SIZE_MAX, 1) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    return done(traces, fread(traces->bytes, 1, traces->head.bytes, traces->file) ==
                            traces->head.bytes);
}

cpt_status cpti_kept_traces_next(struct cpti_kept_traces *traces,
                                 struct cpti_spans *spans, struct cpt_bytes *trace)
{
    cpt_status status = read_trace(traces);
    const char *at = NULL;

    if (status != CPT_OK) {
        return status;
    }
    cpti_spans_reset(spans);
    at = traces->bytes + traces->head.count * sizeof(struct cpti_span);
    *trace = (struct cpt_bytes){at, traces->head.trace_bytes};
    at += traces->head.trace_bytes;
    for (size_t i = 0; i < traces->head.count && status == CPT_OK; i++) {
        struct cpt_bytes *texts[TEXTS];
        struct cpti_span span;

        memcpy(&span, traces->bytes + i * sizeof span, sizeof span);
        list_texts(&span, texts);
        for (size_t k = 0; k < TEXTS; k++) {
            texts[k]->data = at;
            at += texts[k]->bytes;
        }
        status = cpti_spans_add(spans, &span);
    }
    return status;
}
