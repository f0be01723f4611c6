/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * body.h - the body of a file: numbers as bytes, through a buffer, with a CRC
 *
 * A number has seven bits a byte, low ones first, and the high bit set while more bytes
 * follow (LEB128), in its shortest form alone. Trees and models are files of this kind.
 * The length of a body stands before it, so it is written twice: at first its bytes are
 * only counted.
 *
 * Inline; shared by the libraries.
 */
#ifndef CPTI_BODY_H
#define CPTI_BODY_H

#include "cpt/cpt_crc32c.h"
#include "cpt/cpt_io.h"

#include <string.h>

enum { CPTI_BODY_BUFFER_BYTES = 1 << 14 };

struct cpti_body_writer {
    struct cpt_sink sink; /* NULL: bytes are only counted */
    cpt_status status;    /* the first error; nothing is written after it */
    uint64_t bytes;       /* so far */
    uint32_t crc;
    size_t buffered;
    unsigned char buffer[CPTI_BODY_BUFFER_BYTES];
};

static inline void cpti_body_flush(struct cpti_body_writer *writer)
{
    writer->crc = cpt_crc32c(writer->crc, writer->buffer, writer->buffered);
    if (writer->status == CPT_OK &&
        writer->sink.write(writer->sink.context, writer->buffer, writer->buffered) !=
            CPT_OK) {
        writer->status = CPT_IO;
    }
    writer->buffered = 0;
}

/* Writes @bytes, at most CPTI_BODY_BUFFER_BYTES. */
static inline void cpti_body_put(struct cpti_body_writer *writer, const void *data,
                                 size_t bytes)
{
    writer->bytes += bytes;
    if (writer->sink.write == NULL || bytes == 0) {
        return;
    }
    if (bytes > CPTI_BODY_BUFFER_BYTES - writer->buffered) {
        cpti_body_flush(writer);
    }
    memcpy(writer->buffer + writer->buffered, data, bytes);
    writer->buffered += bytes;
}

static inline void cpti_body_put_number(struct cpti_body_writer *writer,
                                        uint64_t number)
{
    unsigned char bytes[10];
    size_t count = 0;

    while (number >= 0x80) {
        bytes[count++] = (unsigned char)(number | 0x80);
        number >>= 7;
    }
    bytes[count++] = (unsigned char)number;
    cpti_body_put(writer, bytes, count);
}

/* The number at *@at, which is then behind it. NULL; else what is wrong, and the number
 * is 0. */
static inline const char *cpti_body_get_number(const unsigned char *data, size_t *at,
                                               size_t end, uint64_t *number)
{
    uint64_t value = 0;
    unsigned char byte = 0x80;

    *number = 0;
    for (unsigned shift = 0; byte >= 0x80; shift += 7) {
        if (*at >= end) {
            return "the body ends in a number";
        }
        byte = data[(*at)++];
        if (shift == 63 && byte > 1) {
            return "a number has more than 64 bits";
        }
        value |= (uint64_t)(byte & 0x7fU) << shift;
        if (byte == 0 && shift != 0) {
            return "a number is longer than necessary";
        }
    }
    *number = value;
    return NULL;
}

#endif
