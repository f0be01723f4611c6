/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_wire.c - the bytes of a path in several forms, and how fast they are handled
 *
 * The same paths in the form of replies (compact), in that of the article on critical
 * path tracing, which repeats the stack of names in every segment (verbose), both as
 * zlib makes them of it at level 6, and as what comes to mind first when a table of
 * frames is asked for: a message for each frame and each segment (graph). What is
 * written is read again and compared, so that all bytes are those of the same path.
 *
 *      A: Handler                       paths of N segments over F frames, M deep:
 *      |- A: part 1                     each service has a component for its request,
 *      |- A: part 2                     and calls the next below its second part
 *      |  '- B: Handler ...
 *
 * Speeds are those of what happens to the reply of a callee, for paths as they fit the
 * budget and a header of 64 KiB.
 */
#include "tests/bench/bench.h"

#include "cpt/cpt_path.h"
#include "wire/cpt_metadata.h"
#include "tests/support/metadata_verbose.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

static void must(bool condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "bench_wire: %s\n", what);
        exit(1);
    }
}

/* --- Paths --- */

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* From 1 us to some 17 ms; each power of two as likely as the others. */
static uint64_t random_ns(uint64_t *state)
{
    const unsigned power = (unsigned)(random_next(state) % 14);

    return (UINT64_C(1000) << power) + random_next(state) % (UINT64_C(1000) << power);
}

static const char *const words[] = {"Catalog", "Basket", "Prices", "Search",
                                    "Ranking", "Users",  "Stock",  "Pages"};
static const char *const parts[] = {"Parse", "Lookup", "Merge", "Filter",
                                    "Sort",  "Encode", "Check", "Render"};

/* The name of frame @index below @depth others. */
static void name_frame(char text[64], size_t index, size_t depth)
{
    (void)snprintf(text, 64, "%s%zu: %s%zu", words[depth / 2 % 8], depth / 2,
                   parts[index % 8], index);
}

/* A path of @segments over @frames, at most @depth deep: down a chain and back up,
 * with the other frames spread over its levels. */
static struct cpt_path *make_path(size_t segments, size_t frames, size_t depth)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t *stack = calloc(depth, sizeof *stack);
    uint32_t *leaves = calloc(frames, sizeof *leaves);
    uint64_t random = 1;
    char name[64];

    must(path != NULL && stack != NULL && leaves != NULL && frames >= depth,
         "no memory");
    for (size_t i = 0; i < frames; i++) {
        const size_t level = i < depth ? i : 1 + (i - depth) % (depth - 1);

        name_frame(name, i, level);
        must(cpt_path_frame_add(path, level == 0 ? CPT_FRAME_NONE : stack[level - 1],
                                cpt_bytes_of(name), CPT_KIND_WORK,
                                &leaves[i]) == CPT_OK,
             "no memory");
        if (i < depth) {
            stack[i] = leaves[i];
        }
    }
    for (size_t i = 0; i < segments; i++) {
        must(cpt_path_append_ns(path, leaves[i % frames], random_ns(&random)) == CPT_OK,
             "no memory");
    }
    free(stack);
    free(leaves);
    return path;
}

/* --- Bytes --- */

/* One form of a path. */
struct form {
    unsigned char *data;
    size_t bytes;
};

static const struct cpt_metadata_encode_options whole = {.struct_bytes = sizeof whole,
                                                         .is_unlimited = 1};

static bool is_same_stack(const struct cpt_path *a, uint32_t at,
                          const struct cpt_path *b, uint32_t bt)
{
    while (at != CPT_FRAME_NONE && bt != CPT_FRAME_NONE) {
        if (cpt_path_frame(a, at)->kind != cpt_path_frame(b, bt)->kind ||
            !cpt_bytes_equal(cpt_path_frame_name(a, at), cpt_path_frame_name(b, bt))) {
            return false;
        }
        at = cpt_path_frame(a, at)->parent;
        bt = cpt_path_frame(b, bt)->parent;
    }
    return at == bt;
}

static void must_be_same(const struct cpt_path *a, const struct cpt_path *b)
{
    must(cpt_path_segment_count(a) == cpt_path_segment_count(b), "another path");
    for (size_t i = 0; i < cpt_path_segment_count(a); i++) {
        const struct cpt_segment *one = cpt_path_segment(a, i);
        const struct cpt_segment *other = cpt_path_segment(b, i);

        must(one->duration_ns == other->duration_ns &&
                 is_same_stack(a, one->frame, b, other->frame),
             "another path");
    }
}

static struct form compact_of(const struct cpt_path *path)
{
    struct cpt_path *back = cpt_path_new(NULL);
    struct form form = {NULL, 0};

    must(cpt_metadata_encode(path, &whole, &form.data, &form.bytes, NULL) == CPT_OK,
         "cannot encode");
    if (form.bytes <= CPT_METADATA_READ_BYTES_MAX) {
        must(cpt_metadata_decode(form.data, form.bytes, NULL, back, NULL) == CPT_OK,
             "cannot decode");
        must_be_same(path, back);
    }
    cpt_path_free(back);
    return form;
}

static struct form verbose_of(const struct cpt_path *path)
{
    struct cpt_path *back = cpt_path_new(NULL);
    struct form form = {NULL, 0};

    must(verbose_encode(path, &whole, &form.data, &form.bytes) == CPT_OK,
         "cannot encode");
    must(verbose_decode(form.data, form.bytes, NULL, back, NULL, NULL) == CPT_OK,
         "cannot decode");
    must_be_same(path, back);
    cpt_path_free(back);
    return form;
}

static size_t deflated_bytes(struct form form)
{
    uLongf bytes = compressBound(form.bytes);
    unsigned char *data = malloc(bytes);

    must(data != NULL && compress2(data, &bytes, form.data, form.bytes, 6) == Z_OK,
         "cannot deflate");
    free(data);
    return bytes;
}

static size_t varint_bytes(uint64_t number)
{
    size_t bytes = 1;

    for (; number >= 128; number >>= 7) {
        bytes++;
    }
    return bytes;
}

/* A field of a number, which is left out if it is 0. */
static size_t field_bytes(uint64_t number)
{
    return number == 0 ? 0 : 1 + varint_bytes(number);
}

static size_t message_bytes(size_t bytes)
{
    return 1 + varint_bytes(bytes) + bytes;
}

/* Frames as messages of name, parent and kind; segments as messages of frame and
 * duration. */
static size_t graph_bytes(const struct cpt_path *path)
{
    size_t bytes = 2 + field_bytes(cpt_path_sum_ns(path));

    for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
        const struct cpt_frame *frame = cpt_path_frame(path, i);

        bytes += message_bytes(
            message_bytes(cpt_path_frame_name(path, i).bytes) +
            field_bytes(frame->parent == CPT_FRAME_NONE ? 0 : frame->parent + 1) +
            field_bytes(frame->kind));
    }
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        bytes += message_bytes(field_bytes(segment->frame) +
                               field_bytes(segment->duration_ns));
    }
    return bytes;
}

static size_t name_bytes(const struct cpt_path *path)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
        bytes += message_bytes(cpt_path_frame_name(path, i).bytes);
    }
    return bytes;
}

static void print_bytes(size_t segments, size_t frames, size_t depth)
{
    struct cpt_path *path = make_path(segments, frames, depth);
    const struct form compact = compact_of(path);
    const struct form verbose = verbose_of(path);
    const double count = (double)segments;
    const double beyond = (double)(compact.bytes - name_bytes(path)) / count;

    printf("| %zu | %zu | %zu | %.1f | %.1f | %.0f | %.0f | %.1f | %.1f | %.1f |\n",
           segments, frames, depth, (double)compact.bytes / count, beyond,
           (double)verbose.bytes / count, (double)verbose.bytes / (double)compact.bytes,
           (double)deflated_bytes(compact) / count,
           (double)deflated_bytes(verbose) / count, (double)graph_bytes(path) / count);
    cpt_alloc_free(NULL, compact.data);
    cpt_alloc_free(NULL, verbose.data);
    cpt_path_free(path);
}

static void print_all_bytes(void)
{
    static const struct {
        size_t segments;
        size_t frames;
        size_t depth;
    } rows[] = {{40, 40, 10},    {100, 100, 10},   {160, 40, 10},    {400, 100, 10},
                {1000, 100, 10}, {10000, 100, 10}, {400, 100, 5},    {400, 100, 20},
                {400, 100, 50},  {1000, 1000, 10}, {65000, 1000, 20}};

    bench_title("Bytes a segment");
    printf("| segments | frames | depth | compact | beyond names | verbose | verbose / "
           "compact | compact deflated | verbose deflated | graph |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_bytes(rows[i].segments, rows[i].frames, rows[i].depth);
    }
}

/* --- Speeds --- */

/* What is done to a reply. */
struct work {
    struct cpt_path *path;
    struct cpt_path *other;
    struct cpt_path *caller;
    struct form form;
    char *text; /* in base64 */
    size_t text_bytes;
    unsigned char *room;
    char *text_room;
    struct cpt_splice splice;
};

static void keep_text(struct work *work)
{
    size_t bytes = 0;

    must(cpt_base64_decode((struct cpt_bytes){work->text, work->text_bytes}, work->room,
                           work->form.bytes, &bytes, NULL) == CPT_OK,
         "cannot decode base64");
}

/* As cpt_transport_complete() does. */
static void keep_bytes(struct work *work)
{
    memcpy(work->room, work->form.data, work->form.bytes);
    __asm__ volatile("" : : "r"(work->room) : "memory");
}

static void skip_reply(struct work *work)
{
    keep_text(work);
    keep_bytes(work);
}

static void peek(struct work *work)
{
    struct cpt_metadata_summary summary;

    must(cpt_metadata_peek(work->form.data, work->form.bytes, &summary, NULL) == CPT_OK,
         "cannot peek");
}

static void decode(struct work *work)
{
    cpt_path_reset(work->other);
    must(cpt_metadata_decode(work->form.data, work->form.bytes, NULL, work->other,
                             NULL) == CPT_OK,
         "cannot decode");
}

static void splice(struct work *work)
{
    uint32_t frame = 0;

    cpt_path_reset(work->caller);
    must(cpt_path_frame_add(work->caller, CPT_FRAME_NONE, cpt_bytes_of("A: /"),
                            CPT_KIND_WORK, &frame) == CPT_OK &&
             cpt_path_splice(work->caller, frame, work->path, &work->splice, NULL) ==
                 CPT_OK,
         "cannot splice");
}

static void encode(struct work *work)
{
    size_t bytes = 0;

    must(cpt_metadata_write(work->path, &whole, work->room, work->form.bytes, &bytes,
                            NULL) == CPT_OK &&
             bytes == work->form.bytes,
         "cannot encode");
}

static void encode_text(struct work *work)
{
    must(cpt_base64_encode(work->form.data, work->form.bytes, work->text_room,
                           work->text_bytes + 1) == work->text_bytes,
         "cannot encode base64");
}

static void deflate_form(struct work *work)
{
    (void)deflated_bytes(work->form);
}

static const struct step {
    const char *name;
    void (*run)(struct work *work);
} steps[] = {{"a reply that is skipped: from base64, and kept", skip_reply},
             {"… if it came as bytes (gRPC)", keep_bytes},
             {"its fields beside the path only", peek},
             {"decoded", decode},
             {"spliced, once decoded", splice},
             {"encoded", encode},
             {"to base64", encode_text},
             {"deflated by zlib, which it is not", deflate_form}};

enum { STEPS = sizeof steps / sizeof steps[0], SIZES = 3 };

/* Processor time, as other programs may use the machine. */
static uint64_t now_ns(void)
{
    struct timespec time;

    must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0, "no clock");
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

/* MB/s, the median of the rounds. */
static double speed_of(struct work *work, const struct step *step)
{
    double speeds[BENCH_ROUNDS];
    const size_t count = 400000 / work->form.bytes + 1;

    for (int round = 0; round < BENCH_ROUNDS; round++) {
        const uint64_t begin = now_ns();

        for (size_t i = 0; i < count; i++) {
            step->run(work);
        }
        speeds[round] =
            (double)(work->form.bytes * count) * 1e3 / (double)(now_ns() - begin);
    }
    return bench_quantile(speeds, BENCH_ROUNDS, 0.5);
}

static struct work work_of(size_t segments, size_t frames)
{
    struct work work = {.path = make_path(segments, frames, frames < 10 ? frames : 10),
                        .other = cpt_path_new(NULL),
                        .caller = cpt_path_new(NULL)};

    must(work.other != NULL && work.caller != NULL, "no memory");
    work.form = compact_of(work.path);
    work.text_bytes = CPT_BASE64_BYTES(work.form.bytes);
    work.text = malloc(work.text_bytes + 1);
    work.text_room = malloc(work.text_bytes + 1);
    work.room = malloc(work.form.bytes);
    must(work.text != NULL && work.text_room != NULL && work.room != NULL, "no memory");
    (void)cpt_base64_encode(work.form.data, work.form.bytes, work.text,
                            work.text_bytes + 1);
    work.splice =
        (struct cpt_splice){.observed_ns = cpt_path_sum_ns(work.path) + 50000};
    return work;
}

static void work_free(struct work *work)
{
    cpt_path_free(work->path);
    cpt_path_free(work->other);
    cpt_path_free(work->caller);
    cpt_alloc_free(NULL, work->form.data);
    free(work->text);
    free(work->text_room);
    free(work->room);
}

static void print_speeds(void)
{
    static const size_t sizes[SIZES][2] = {{6, 6}, {160, 40}, {10000, 100}};
    double speeds[SIZES][STEPS];
    size_t bytes[SIZES];

    bench_title("Speeds");
    for (size_t i = 0; i < SIZES; i++) {
        struct work work = work_of(sizes[i][0], sizes[i][1]);

        bytes[i] = work.form.bytes;
        for (size_t k = 0; k < STEPS; k++) {
            char name[96];

            speeds[i][k] = speed_of(&work, &steps[k]);
            (void)snprintf(name, sizeof name, "%zu segments, %zu bytes: %s",
                           sizes[i][0], bytes[i], steps[k].name);
            bench_value(name, speeds[i][k], "MB/s");
        }
        work_free(&work);
    }
    printf("\n| MB/s |");
    for (size_t i = 0; i < SIZES; i++) {
        printf(" %zu segments, %zu bytes |", sizes[i][0], bytes[i]);
    }
    printf("\n| --- | --- | --- | --- |\n");
    for (size_t k = 0; k < STEPS; k++) {
        printf("| %s |", steps[k].name);
        for (size_t i = 0; i < SIZES; i++) {
            printf(" %.0f |", speeds[i][k]);
        }
        printf("\n");
    }
}

int main(int argument_count, char **arguments)
{
    bench_begin("bench_wire", &argument_count, arguments);
    print_all_bytes();
    print_speeds();
    return bench_end();
}
