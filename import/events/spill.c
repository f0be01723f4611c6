/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* spill.c - chunks of streams, written out all at once; see spill.h */
#include "import/events/spill.h"

#include <errno.h>
#include <unistd.h>

enum { CHUNK_BYTES_MIN = 1 << 10, CHUNK_BYTES_MAX = 64 << 10 };

struct chunk {
    char *data;      /* NULL: it is on disk */
    uint64_t offset; /* there */
    size_t bytes;
    size_t capacity;
};

struct stream {
    struct chunk *chunks;
    size_t count;
    size_t capacity;
};

struct cpti_spill {
    struct cpti_spill_options options;
    struct stream *streams;
    size_t memory_bytes;
    int file; /* -1: none yet */
    uint64_t file_bytes;
};

struct cpti_spill *cpti_spill_new(const struct cpti_spill_options *options)
{
    struct cpti_spill *spill = cpt_alloc_zeroed(options->alloc, sizeof *spill);

    if (spill == NULL) {
        return NULL;
    }
    spill->options = *options;
    spill->file = -1;
    spill->streams = cpt_alloc_zeroed(options->alloc,
                                      options->stream_count * sizeof *spill->streams);
    if (spill->streams == NULL) {
        cpti_spill_free(spill);
        return NULL;
    }
    return spill;
}

void cpti_spill_free(struct cpti_spill *spill)
{
    if (spill == NULL) {
        return;
    }
    for (size_t i = 0; spill->streams != NULL && i < spill->options.stream_count; i++) {
        cpti_spill_drop(spill, i);
    }
    if (spill->file >= 0) {
        (void)close(spill->file);
    }
    cpt_alloc_free(spill->options.alloc, spill->streams);
    cpt_alloc_free(spill->options.alloc, spill);
}

void cpti_spill_drop(struct cpti_spill *spill, size_t stream)
{
    struct stream *dropped = &spill->streams[stream];

    for (size_t i = 0; i < dropped->count; i++) {
        if (dropped->chunks[i].data != NULL) {
            spill->memory_bytes -= dropped->chunks[i].capacity;
            cpt_alloc_free(spill->options.alloc, dropped->chunks[i].data);
        }
    }
    cpt_alloc_free(spill->options.alloc, dropped->chunks);
    *dropped = (struct stream){0};
}

/* --- The file --- */

static cpt_status write_chunk(struct cpti_spill *spill, struct chunk *chunk)
{
    size_t done = 0;

    while (done < chunk->bytes) {
        const ssize_t bytes =
            pwrite(spill->file, chunk->data + done, chunk->bytes - done,
                   (off_t)(spill->file_bytes + done));

        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes <= 0) {
            return CPT_IO;
        }
        done += (size_t)bytes;
    }
    chunk->offset = spill->file_bytes;
    spill->file_bytes += chunk->bytes;
    spill->memory_bytes -= chunk->capacity;
    cpt_alloc_free(spill->options.alloc, chunk->data);
    chunk->data = NULL;
    return CPT_OK;
}

/* Writes all that is in memory. */
static cpt_status write_all(struct cpti_spill *spill)
{
    if (spill->file < 0 && spill->options.open_file == NULL) {
        return CPT_LIMIT;
    }
    if (spill->file < 0) {
        spill->file = spill->options.open_file();
    }
    if (spill->file < 0) {
        return CPT_IO;
    }
    for (size_t i = 0; i < spill->options.stream_count; i++) {
        struct stream *stream = &spill->streams[i];

        /* those on disk are the first ones */
        for (size_t k = stream->count; k > 0 && stream->chunks[k - 1].data != NULL;
             k--) {
            const cpt_status status = write_chunk(spill, &stream->chunks[k - 1]);

            if (status != CPT_OK) {
                return status;
            }
        }
    }
    return CPT_OK;
}

static cpt_status read_chunk(const struct cpti_spill *spill, const struct chunk *chunk,
                             char *buffer)
{
    size_t done = 0;

    while (done < chunk->bytes) {
        const ssize_t bytes = pread(spill->file, buffer + done, chunk->bytes - done,
                                    (off_t)(chunk->offset + done));

        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes <= 0) {
            return CPT_IO;
        }
        done += (size_t)bytes;
    }
    return CPT_OK;
}

/* --- Streams --- */

/* A chunk at the end of @stream that has room for @bytes: the more there are, the
 * larger. */
static cpt_status add_chunk(struct cpti_spill *spill, struct stream *stream,
                            size_t bytes)
{
    size_t capacity = CHUNK_BYTES_MAX;
    cpt_status status = CPT_OK;
    void *chunks = stream->chunks;
    char *data = NULL;

    if (stream->count < 6) {
        capacity = (size_t)CHUNK_BYTES_MIN << stream->count;
    }
    capacity = bytes > capacity ? bytes : capacity;
    if (spill->memory_bytes + capacity > spill->options.memory_bytes_max &&
        spill->memory_bytes > 0) {
        status = write_all(spill);
    }
    if (status == CPT_OK) {
        status = cpt_alloc_grow(spill->options.alloc, &chunks, &stream->capacity,
                                stream->count + 1, SIZE_MAX, sizeof *stream->chunks);
        stream->chunks = chunks;
    }
    if (status != CPT_OK) {
        return status;
    }
    data = cpt_alloc_array(spill->options.alloc, NULL, capacity, 1);
    if (data == NULL) {
        return CPT_NO_MEMORY;
    }
    spill->memory_bytes += capacity;
    stream->chunks[stream->count++] =
        (struct chunk){.data = data, .capacity = capacity};
    return CPT_OK;
}

cpt_status cpti_spill_append(struct cpti_spill *spill, size_t stream, size_t bytes,
                             void **piece)
{
    struct stream *to = &spill->streams[stream];
    struct chunk *last = to->count > 0 ? &to->chunks[to->count - 1] : NULL;

    if (last == NULL || last->data == NULL || last->capacity - last->bytes < bytes) {
        const cpt_status status = add_chunk(spill, to, bytes);

        if (status != CPT_OK) {
            return status;
        }
        last = &to->chunks[to->count - 1];
    }
    *piece = last->data + last->bytes;
    last->bytes += bytes;
    return CPT_OK;
}

cpt_status cpti_spill_next(const struct cpti_spill *spill,
                           struct cpti_spill_cursor *cursor, struct cpt_bytes *chunk)
{
    const struct stream *stream = &spill->streams[cursor->stream];
    const struct chunk *next = NULL;
    void *buffer = cursor->buffer;
    cpt_status status = CPT_OK;

    if (cursor->chunk == stream->count) {
        return CPT_END;
    }
    next = &stream->chunks[cursor->chunk];
    if (next->data == NULL) {
        status = cpt_alloc_grow(spill->options.alloc, &buffer, &cursor->capacity,
                                next->bytes, SIZE_MAX, 1);
        cursor->buffer = buffer;
        status = status == CPT_OK ? read_chunk(spill, next, cursor->buffer) : status;
    }
    if (status == CPT_OK) {
        cursor->chunk++;
        *chunk = (struct cpt_bytes){next->data != NULL ? next->data : cursor->buffer,
                                    next->bytes};
    }
    return status;
}

void cpti_spill_rewind(const struct cpti_spill *spill, struct cpti_spill_cursor *cursor)
{
    cpt_alloc_free(spill->options.alloc, cursor->buffer);
    *cursor = (struct cpti_spill_cursor){.stream = cursor->stream};
}
