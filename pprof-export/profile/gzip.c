/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gzip.c - a buffer before zlib and one after it; see gzip.h
 *
 * nanopb writes a few bytes at a time, and each call of zlib is expensive, so a buffer
 * collects them. The gzip header has neither name nor time: the same profile gives the
 * same bytes.
 */
#include "pprof-export/profile/gzip.h"

#include <string.h>
#include <zlib.h>

enum {
    BUFFER_BYTES = 16384,
    GZIP_WINDOW_BITS = 15 + 16, /* the largest window; 16 asks for a gzip header */
    MEMORY_LEVEL = 8            /* zlib's default */
};

struct cpti_gzip {
    const struct cpt_alloc *alloc;
    struct cpt_sink sink;
    int level; /* 0: pass through */
    cpt_status status;
    z_stream stream;
    size_t pending_bytes; /* in pending */
    unsigned char pending[BUFFER_BYTES];
    unsigned char ready[BUFFER_BYTES];
};

static void *take(void *context, unsigned count, unsigned bytes)
{
    const struct cpti_gzip *gzip = context;

    return cpt_alloc_array(gzip->alloc, NULL, count, bytes);
}

static void give_back(void *context, void *memory)
{
    const struct cpti_gzip *gzip = context;

    cpt_alloc_free(gzip->alloc, memory);
}

struct cpti_gzip *cpti_gzip_new(const struct cpt_alloc *alloc,
                                const struct cpt_sink *sink, int level)
{
    struct cpti_gzip *gzip = cpt_alloc_zeroed(alloc, sizeof *gzip);

    if (gzip == NULL) {
        return NULL;
    }
    gzip->alloc = alloc;
    gzip->sink = *sink;
    gzip->stream.zalloc = take;
    gzip->stream.zfree = give_back;
    gzip->stream.opaque = gzip;
    if (level != 0 && deflateInit2(&gzip->stream, level, Z_DEFLATED, GZIP_WINDOW_BITS,
                                   MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        cpt_alloc_free(alloc, gzip);
        return NULL;
    }
    gzip->level = level;
    return gzip;
}

void cpti_gzip_free(struct cpti_gzip *gzip)
{
    if (gzip == NULL) {
        return;
    }
    if (gzip->level != 0) {
        (void)deflateEnd(&gzip->stream);
    }
    cpt_alloc_free(gzip->alloc, gzip);
}

static void to_sink(struct cpti_gzip *gzip, const void *data, size_t bytes)
{
    if (gzip->status == CPT_OK && bytes != 0 &&
        gzip->sink.write(gzip->sink.context, data, bytes) != 0) {
        gzip->status = CPT_IO;
    }
}

/* Compresses the pending bytes, or passes them on; with Z_FINISH, also all that zlib
 * still holds. */
static void flush(struct cpti_gzip *gzip, int how)
{
    const size_t bytes = gzip->pending_bytes;

    gzip->pending_bytes = 0;
    if (gzip->level == 0) {
        to_sink(gzip, gzip->pending, bytes);
        return;
    }
    gzip->stream.next_in = gzip->pending;
    gzip->stream.avail_in = (unsigned)bytes;
    do {
        gzip->stream.next_out = gzip->ready;
        gzip->stream.avail_out = BUFFER_BYTES;
        /* cannot fail with room for output and a valid state */
        (void)deflate(&gzip->stream, how);
        to_sink(gzip, gzip->ready, BUFFER_BYTES - gzip->stream.avail_out);
    } while (gzip->stream.avail_out == 0 && gzip->status == CPT_OK);
}

cpt_status cpti_gzip_write(struct cpti_gzip *gzip, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    while (bytes != 0 && gzip->status == CPT_OK) {
        const size_t room = BUFFER_BYTES - gzip->pending_bytes;
        const size_t part = bytes < room ? bytes : room;

        memcpy(gzip->pending + gzip->pending_bytes, at, part);
        gzip->pending_bytes += part;
        at += part;
        bytes -= part;
        if (gzip->pending_bytes == BUFFER_BYTES) {
            flush(gzip, Z_NO_FLUSH);
        }
    }
    return gzip->status;
}

cpt_status cpti_gzip_finish(struct cpti_gzip *gzip)
{
    if (gzip->status == CPT_OK) {
        flush(gzip, Z_FINISH);
    }
    return gzip->status;
}
