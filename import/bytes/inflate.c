/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* inflate.c - bytes that may be compressed by gzip or zstd; see inflate.h */
#include "import/bytes/inflate.h"

#include <stdbool.h>
#include <string.h>
#include <zlib.h>
#ifdef CPTI_WITH_ZSTD
#include <zstd.h>
#endif

enum {
    INPUT_BYTES = 256 << 10,
    MAGIC_BYTES = 4,
    GZIP_WINDOW_BITS = 15 + 32, /* with a header of gzip, or of zlib */
    ZLIB_FIRST_BYTE = 0x78,     /* deflate, with the usual window */
    ZLIB_CHECK = 31,
    ZSTD_WINDOW_LOG_MAX = 27
};

enum form { UNKNOWN, PLAIN, GZIP, ZSTD };

struct cpti_inflate {
    const struct cpt_alloc *alloc;
    cpt_read_fn read;
    void *context;
    enum form form;
    bool is_within; /* a member or a frame, which has not ended */
    bool has_read_all;
    size_t at; /* of the input */
    size_t end;
    uint64_t offset; /* of the input's first byte */
    int zstd_window_log_max;
    z_stream gzip;
#ifdef CPTI_WITH_ZSTD
    ZSTD_DCtx *zstd;
#endif
    struct cpt_error error;
    unsigned char input[INPUT_BYTES];
};

struct cpti_inflate *cpti_inflate_new(const struct cpt_alloc *alloc, cpt_read_fn read,
                                      void *context)
{
    struct cpti_inflate *inflate = NULL;

    if (alloc == NULL) {
        alloc = cpt_alloc_default();
    }
    inflate = cpt_alloc_zeroed(alloc, sizeof *inflate);
    if (inflate != NULL) {
        inflate->alloc = alloc;
        inflate->read = read;
        inflate->context = context;
        inflate->zstd_window_log_max = ZSTD_WINDOW_LOG_MAX;
    }
    return inflate;
}

void cpti_inflate_limit_window(struct cpti_inflate *inflate, unsigned log)
{
    inflate->zstd_window_log_max = (int)log;
}

void cpti_inflate_free(struct cpti_inflate *inflate)
{
    if (inflate == NULL) {
        return;
    }
    if (inflate->form == GZIP) {
        (void)inflateEnd(&inflate->gzip);
    }
#ifdef CPTI_WITH_ZSTD
    (void)ZSTD_freeDCtx(inflate->zstd);
#endif
    cpt_alloc_free(inflate->alloc, inflate);
}

const struct cpt_error *cpti_inflate_error(const struct cpti_inflate *inflate)
{
    return &inflate->error;
}

static cpt_status fail(struct cpti_inflate *inflate, cpt_status status,
                       const char *sentence)
{
    return cpt_error_set(&inflate->error, status, inflate->offset + inflate->at, "%s",
                         sentence);
}

/* Reads input until there are @least bytes of it, or no more. */
static cpt_status fill(struct cpti_inflate *inflate, size_t least)
{
    cpt_status status = CPT_OK;

    memmove(inflate->input, inflate->input + inflate->at, inflate->end - inflate->at);
    inflate->offset += inflate->at;
    inflate->end -= inflate->at;
    inflate->at = 0;
    while (inflate->end < least && !inflate->has_read_all && status == CPT_OK) {
        size_t bytes = 0;

        status = inflate->read(inflate->context, inflate->input + inflate->end,
                               INPUT_BYTES - inflate->end, &bytes);
        inflate->end += bytes;
        inflate->has_read_all = status == CPT_OK && bytes == 0;
    }
    return status;
}

/* --- The forms --- */

static cpt_status begin_zstd(struct cpti_inflate *inflate)
{
#ifdef CPTI_WITH_ZSTD
    inflate->zstd = ZSTD_createDCtx();
    if (inflate->zstd == NULL ||
        ZSTD_isError(ZSTD_DCtx_setParameter(inflate->zstd, ZSTD_d_windowLogMax,
                                            inflate->zstd_window_log_max))) {
        return fail(inflate, CPT_NO_MEMORY, "out of memory");
    }
    return CPT_OK;
#else
    return fail(inflate, CPT_VERSION,
                "this build cannot read zstd: build it with libzstd, or use zstdcat");
#endif
}

static enum form form_of(const unsigned char *head, size_t bytes)
{
    static const unsigned char zstd[MAGIC_BYTES] = {0x28, 0xb5, 0x2f, 0xfd};

    if (bytes >= 2 && head[0] == 0x1f && head[1] == 0x8b) {
        return GZIP;
    }
    if (bytes >= 2 && head[0] == ZLIB_FIRST_BYTE &&
        (head[0] << 8 | head[1]) % ZLIB_CHECK == 0) {
        return GZIP;
    }
    return bytes >= MAGIC_BYTES && memcmp(head, zstd, MAGIC_BYTES) == 0 ? ZSTD : PLAIN;
}

bool cpti_inflate_recognise(const char *data, size_t bytes)
{
    return form_of((const unsigned char *)data, bytes) != PLAIN;
}

static cpt_status begin(struct cpti_inflate *inflate)
{
    const cpt_status status = fill(inflate, MAGIC_BYTES);
    enum form form = PLAIN;

    if (status != CPT_OK) {
        return status;
    }
    form = form_of(inflate->input, inflate->end);
    inflate->form = PLAIN;
    if (form == GZIP) {
        if (inflateInit2(&inflate->gzip, GZIP_WINDOW_BITS) != Z_OK) {
            return fail(inflate, CPT_NO_MEMORY, "out of memory");
        }
        inflate->form = GZIP;
    } else if (form == ZSTD) {
        inflate->form = ZSTD;
        return begin_zstd(inflate);
    }
    return CPT_OK;
}

static cpt_status from_plain(struct cpti_inflate *inflate, unsigned char *output,
                             size_t capacity, size_t *bytes)
{
    const size_t left = inflate->end - inflate->at;

    *bytes = left < capacity ? left : capacity;
    memcpy(output, inflate->input + inflate->at, *bytes);
    inflate->at += *bytes;
    return CPT_OK;
}

static cpt_status from_gzip(struct cpti_inflate *own, unsigned char *output,
                            size_t capacity, size_t *bytes)
{
    z_stream *stream = &own->gzip;
    int done = Z_OK;

    if (!own->is_within && inflateReset(stream) != Z_OK) {
        return fail(own, CPT_CORRUPT, "not gzip");
    }
    stream->next_in = own->input + own->at;
    stream->avail_in = (unsigned)(own->end - own->at);
    stream->next_out = output;
    stream->avail_out = capacity < UINT32_MAX ? (unsigned)capacity : UINT32_MAX;
    done = inflate(stream, Z_NO_FLUSH);
    own->at = own->end - stream->avail_in;
    *bytes = (size_t)(stream->next_out - output);
    own->is_within = done != Z_STREAM_END;
    if (done == Z_MEM_ERROR) {
        return fail(own, CPT_NO_MEMORY, "out of memory");
    }
    if (done != Z_OK && done != Z_STREAM_END && done != Z_BUF_ERROR) {
        return fail(own, CPT_CORRUPT,
                    stream->msg != NULL ? stream->msg : "damaged gzip");
    }
    return CPT_OK;
}

static cpt_status from_zstd(struct cpti_inflate *inflate, unsigned char *output,
                            size_t capacity, size_t *bytes)
{
#ifdef CPTI_WITH_ZSTD
    ZSTD_inBuffer in = {inflate->input, inflate->end, inflate->at};
    ZSTD_outBuffer out = {output, capacity, 0};
    const size_t left = ZSTD_decompressStream(inflate->zstd, &out, &in);

    inflate->at = in.pos;
    *bytes = out.pos;
    if (ZSTD_isError(left)) {
        return fail(inflate, CPT_CORRUPT, ZSTD_getErrorName(left));
    }
    inflate->is_within = left != 0;
    return CPT_OK;
#else
    (void)output;
    (void)capacity;
    *bytes = 0;
    return inflate->error.status;
#endif
}

cpt_status cpti_inflate_read(void *context, void *buffer, size_t capacity,
                             size_t *bytes)
{
    struct cpti_inflate *inflate = context;
    cpt_status status = inflate->form == UNKNOWN ? begin(inflate) : CPT_OK;

    *bytes = 0;
    while (status == CPT_OK && *bytes == 0) {
        const bool is_empty = inflate->at == inflate->end;

        if (is_empty && inflate->form == PLAIN) {
            return inflate->read(inflate->context, buffer, capacity, bytes);
        }
        if (is_empty) {
            status = fill(inflate, 1);
            if (status != CPT_OK) {
                break;
            }
        }
        if (inflate->at == inflate->end && !inflate->is_within) {
            break; /* the end */
        }
        if (inflate->form == PLAIN) {
            status = from_plain(inflate, buffer, capacity, bytes);
        } else if (inflate->form == GZIP) {
            status = from_gzip(inflate, buffer, capacity, bytes);
        } else {
            status = from_zstd(inflate, buffer, capacity, bytes);
        }
        if (status == CPT_OK && *bytes == 0 && inflate->is_within &&
            inflate->at == inflate->end && inflate->has_read_all) {
            return fail(inflate, CPT_TRUNCATED, "the compressed bytes end too early");
        }
    }
    return status;
}
