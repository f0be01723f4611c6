/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_text.c - a path as one line, in which every byte of a name survives
 *
 *      path FLAGS SUM ELAPSED NONCE SEGMENT SEGMENT …
 *      SEGMENT  DURATION@STACK@COUNT,FLAGS,REASON,DRAG,LABEL,LABEL …
 *      STACK    KIND:NAME;KIND:NAME …     root first, names in base64
 *      LABEL    KEY=NUMBER | KEY:NAME     by their keys
 */
#include "tests/interop/conform/conform_case.h"

#include "tool/base/memory_file.h"
#include "wire/cpt_metadata.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void cpti_conform_put_base64(FILE *out, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    char text[CPT_BASE64_BYTES(300) + 1];

    while (bytes != 0) {
        const size_t piece = bytes < 300 ? bytes : 300; /* a multiple of 3 */

        (void)cpt_base64_encode(at, piece, text, sizeof text);
        (void)fputs(text, out);
        at += piece;
        bytes -= piece;
    }
}

void cpti_conform_put_nonce(FILE *out, uint64_t nonce)
{
    char text[CPT_NONCE_BYTES + 1] = "-";

    if (nonce != 0) {
        cpt_nonce_format(nonce, text);
    }
    (void)fputs(text, out);
}

void cpti_conform_put_values(FILE *out, const struct cpt_bytes *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)fputs(values[i].bytes != 0 ? " " : " -", out);
        cpti_conform_put_base64(out, values[i].data, values[i].bytes);
    }
}

static unsigned digit_of(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

size_t cpti_conform_digits(const char *digits, unsigned char *data, size_t capacity)
{
    size_t bytes = 0;

    while (digits[0] != '\0' && digits[1] != '\0' && bytes < capacity) {
        data[bytes++] = (unsigned char)(digit_of(digits[0]) << 4 | digit_of(digits[1]));
        digits += 2;
    }
    return bytes;
}

/* The frames of all stacks of a line, so that its length is bounded. */
enum { STACK_FRAMES_MAX = 20000 };

static void put_name(FILE *out, struct cpt_bytes name)
{
    cpti_conform_put_base64(out, name.data, name.bytes);
}

/* Writes the stack of @frame, root first: 0:QTogLw;0:QTogQTE. */
static void put_stack(FILE *out, const struct cpt_path *path, uint32_t frame)
{
    uint32_t stack[CPT_PATH_DEPTH_MAX];
    size_t depth = 0;

    while (frame != CPT_FRAME_NONE && depth < CPT_PATH_DEPTH_MAX) {
        stack[depth++] = frame;
        frame = cpt_path_frame(path, frame)->parent;
    }
    while (depth-- > 0) {
        (void)fprintf(out, "%u:", (unsigned)cpt_path_frame(path, stack[depth])->kind);
        put_name(out, cpt_path_frame_name(path, stack[depth]));
        (void)fputs(depth != 0 ? ";" : "", out);
    }
}

/* The labels of @segment, which begin at *@label, by their keys. */
static void put_labels(FILE *out, const struct cpt_path *path, size_t segment,
                       size_t *label)
{
    const size_t count = cpt_path_label_count(path);
    const size_t first = *label;

    while (*label < count && cpt_path_label(path, *label)->segment == segment) {
        ++*label;
    }
    for (unsigned key = 0; key <= CPT_LABEL_KEY_MAX && *label != first; key++) {
        for (size_t i = first; i < *label; i++) {
            const struct cpt_label *one = cpt_path_label(path, i);

            if (one->key == key && one->is_name) {
                (void)fprintf(out, ",%u:", key);
                put_name(out, cpt_path_name(path, (cpt_name_id)one->value));
            } else if (one->key == key) {
                (void)fprintf(out, ",%u=%" PRIu64, key, one->value);
            }
        }
    }
}

static void put_drag(FILE *out, uint64_t drag_ns)
{
    if (drag_ns == CPT_DRAG_UNKNOWN) {
        (void)fputs(",-", out);
    } else {
        (void)fprintf(out, ",%" PRIu64, drag_ns);
    }
}

/* Writes the line. False: it would be too long. */
static bool put_path(FILE *out, const struct cpt_path *path,
                     const struct cpt_metadata_summary *summary)
{
    size_t frames_left = STACK_FRAMES_MAX;
    size_t label = 0;

    (void)fprintf(out, "path %u %" PRIu64 " ", cpt_path_flags(path),
                  cpt_path_sum_ns(path));
    if (summary->has_server_elapsed) {
        (void)fprintf(out, "%" PRIu64 " ", summary->server_elapsed_ns);
    } else {
        (void)fputs("- ", out);
    }
    cpti_conform_put_nonce(out, summary->nonce);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const size_t depth = cpt_path_frame(path, segment->frame)->depth;

        if (depth > frames_left) {
            return false;
        }
        frames_left -= depth;
        (void)fprintf(out, " %" PRIu64 "@", segment->duration_ns);
        put_stack(out, path, segment->frame);
        (void)fprintf(out, "@%" PRIu32 ",%u,%u", segment->count,
                      (unsigned)segment->flags, (unsigned)segment->reason);
        put_drag(out, cpt_path_drag(path, i));
        put_labels(out, path, i, &label);
    }
    return true;
}

char *cpti_conform_line(const void *data, size_t bytes)
{
    struct cpti_memory_file memory;
    struct cpt_metadata_summary summary = {0};
    struct cpt_path *path = cpt_path_new(NULL);
    bool is_whole = true;

    if (path == NULL || !cpti_memory_file_open(&memory)) {
        cpt_path_free(path);
        return NULL;
    }
    if (cpt_metadata_peek(data, bytes, &summary, NULL) != CPT_OK ||
        cpt_metadata_decode(data, bytes, NULL, path, NULL) != CPT_OK) {
        (void)fputs("refused", memory.file);
    } else {
        is_whole = put_path(memory.file, path, &summary);
    }
    cpt_path_free(path);
    if (!cpti_memory_file_close(&memory) || !is_whole ||
        memory.bytes > CPTI_CONFORM_LINE_BYTES / 2) {
        free(memory.text);
        return NULL;
    }
    return memory.text;
}
