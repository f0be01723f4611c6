/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* largest.c - the largest of many pieces of an answer; see largest.h */
#include "tool/table/largest.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "cpt/cpt_alloc.h"

#include <stdlib.h>
#include <string.h>

/* --- The heap --- */

/* Whether the left one goes first; of equal ones the later. */
static bool is_smaller(const struct cpti_largest_piece *left,
                       const struct cpti_largest_piece *right)
{
    return left->size != right->size ? left->size < right->size
                                     : left->number > right->number;
}

static void swap(struct cpti_largest_piece *left, struct cpti_largest_piece *right)
{
    const struct cpti_largest_piece piece = *left;

    *left = *right;
    *right = piece;
}

static void sift_up(struct cpti_largest *largest, size_t at)
{
    struct cpti_largest_piece *pieces = largest->pieces;

    while (at != 0 && is_smaller(&pieces[at], &pieces[(at - 1) / 2])) {
        swap(&pieces[at], &pieces[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sift_down(struct cpti_largest *largest, size_t at)
{
    struct cpti_largest_piece *pieces = largest->pieces;

    for (;;) {
        size_t least = at;

        for (size_t below = 2 * at + 1; below <= 2 * at + 2 && below < largest->count;
             below++) {
            least = is_smaller(&pieces[below], &pieces[least]) ? below : least;
        }
        if (least == at) {
            return;
        }
        swap(&pieces[at], &pieces[least]);
        at = least;
    }
}

/* --- Left out --- */

static void leave(struct cpti_largest *largest, uint64_t size)
{
    largest->left_count++;
    if (__builtin_add_overflow(largest->left_sum, size, &largest->left_sum)) {
        largest->left_sum = UINT64_MAX;
    }
}

/* Leaves out the smallest kept piece. */
static void drop(struct cpti_largest *largest)
{
    struct cpti_largest_piece *first = largest->pieces;

    leave(largest, first->size);
    largest->floor = largest->has_floor && largest->floor > first->size ? largest->floor
                                                                        : first->size;
    largest->has_floor = true;
    largest->bytes -= first->bytes;
    free(first->text);
    *first = largest->pieces[--largest->count];
    sift_down(largest, 0);
}

/* --- Pieces --- */

bool cpti_largest_wants(struct cpti_largest *largest, uint64_t size)
{
    if (!largest->has_floor || size > largest->floor) {
        return true;
    }
    largest->met_count++;
    leave(largest, size);
    return false;
}

/* Keeps @text, which it takes over. */
static int keep(struct cpti_largest *largest, uint64_t size, char *text, size_t bytes)
{
    if (bytes > largest->bytes_max) {
        free(text);
        largest->met_count++;
        leave(largest, size);
        return CPTI_EXIT_DONE;
    }
    if (cpt_alloc_grow(NULL, (void **)&largest->pieces, &largest->capacity,
                       largest->count + 1, SIZE_MAX / 64,
                       sizeof *largest->pieces) != CPT_OK) {
        free(text);
        return cpti_failed("out of memory");
    }
    largest->pieces[largest->count] =
        (struct cpti_largest_piece){size, largest->met_count++, text, bytes};
    largest->bytes += bytes;
    sift_up(largest, largest->count++);
    while (largest->count != 0 && largest->bytes > largest->bytes_max) {
        drop(largest);
    }
    return CPTI_EXIT_DONE;
}

int cpti_largest_add(struct cpti_largest *largest, uint64_t size, const char *text,
                     size_t bytes)
{
    char *copy;

    if (!cpti_largest_wants(largest, size)) {
        return CPTI_EXIT_DONE;
    }
    copy = malloc(bytes + 1);
    if (copy == NULL) {
        return cpti_failed("out of memory");
    }
    memcpy(copy, text, bytes);
    return keep(largest, size, copy, bytes);
}

int cpti_largest_begin(struct cpti_largest *largest)
{
    if (!cpti_memory_file_open(&largest->piece)) {
        return cpti_failed("out of memory");
    }
    largest->real = stdout;
    stdout = largest->piece.file;
    return CPTI_EXIT_DONE;
}

/* Ends what cpti_largest_begin() began; the caller frees the text. */
static int end_text(struct cpti_largest *largest, char **text, size_t *bytes)
{
    const bool is_whole = cpti_memory_file_close(&largest->piece);

    stdout = largest->real;
    *text = largest->piece.text; /* NULL if it is not whole */
    *bytes = largest->piece.bytes;
    return is_whole ? CPTI_EXIT_DONE : cpti_failed("out of memory");
}

int cpti_largest_end(struct cpti_largest *largest, uint64_t size)
{
    char *text;
    size_t bytes;
    const int status = end_text(largest, &text, &bytes);

    return status == CPTI_EXIT_DONE ? keep(largest, size, text, bytes) : status;
}

/* --- Printing --- */

/* The head and the line about the rest, in memory that the caller frees; the bytes are
 * those of the whole answer. enum cpti_exit. */
static int print_frame(struct cpti_largest *largest, char **frame, size_t *head_bytes,
                       uint64_t *all_bytes)
{
    const size_t gap = largest->separator != NULL ? strlen(largest->separator) : 0;
    size_t bytes = 0;
    int status = cpti_largest_begin(largest);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (largest->print_head != NULL && largest->met_count != 0) {
        largest->print_head();
    }
    (void)fflush(stdout);
    *head_bytes = largest->piece.bytes;
    if (largest->left_count != 0) {
        largest->print_rest(largest->left_count, largest->left_sum);
    }
    status = end_text(largest, frame, &bytes);
    *all_bytes =
        bytes + largest->bytes + (largest->count > 1 ? gap * (largest->count - 1) : 0);
    return status;
}

static int by_number(const void *left, const void *right)
{
    const uint64_t a = ((const struct cpti_largest_piece *)left)->number;
    const uint64_t b = ((const struct cpti_largest_piece *)right)->number;

    return (a > b) - (a < b);
}

int cpti_largest_print(struct cpti_largest *largest)
{
    char *frame = NULL;
    size_t head_bytes = 0;
    uint64_t bytes = 0;
    int status = print_frame(largest, &frame, &head_bytes, &bytes);

    while (status == CPTI_EXIT_DONE && bytes > largest->bytes_max &&
           largest->count != 0) {
        drop(largest); /* for the line about the rest */
        free(frame);
        frame = NULL;
        status = print_frame(largest, &frame, &head_bytes, &bytes);
    }
    if (status == CPTI_EXIT_DONE && bytes > largest->bytes_max) {
        status =
            cpti_usage("option '--max-bytes': the answer takes at least %llu bytes",
                       (unsigned long long)bytes);
    } else if (status == CPTI_EXIT_DONE) {
        (void)fwrite(frame, 1, head_bytes, stdout);
        if (largest->count != 0) {
            qsort(largest->pieces, largest->count, sizeof *largest->pieces, by_number);
        }
        for (size_t i = 0; i < largest->count; i++) {
            (void)fputs(i != 0 && largest->separator != NULL ? largest->separator : "",
                        stdout);
            (void)fwrite(largest->pieces[i].text, 1, largest->pieces[i].bytes, stdout);
        }
        (void)fputs(frame + head_bytes, stdout);
    }
    free(frame);
    return status;
}

void cpti_largest_deinit(struct cpti_largest *largest)
{
    for (size_t i = 0; i < largest->count; i++) {
        free(largest->pieces[i].text);
    }
    cpt_alloc_free(NULL, largest->pieces);
    largest->pieces = NULL;
    largest->count = 0;
}
