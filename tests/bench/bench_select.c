/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_select.c - the cost of selecting, compared with reading the log
 *
 * The log is a file that the system has in memory: records of 10 segments with five
 * attributes. The baseline only reads it to the end: first the bytes alone, then the
 * records. No record is selected, so that only the cost of selecting is added.
 */
#include "tests/bench/bench.h"

#include "tool/select/expression.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RECORDS = 20000, SEGMENTS = 10, READ_BYTES = 64 * 1024 };

/* A log, and the selection. */
struct work {
    FILE *file;
    size_t log_bytes;
    struct cpti_expression expression;
    struct cpti_scratch scratch;
    uint64_t selected_count;
};

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

static void append(struct work *work, struct cpt_bytes bytes)
{
    must(fwrite(bytes.data, 1, bytes.bytes, work->file) == bytes.bytes);
    work->log_bytes += bytes.bytes;
}

static struct cpt_path *make_path(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t entry;
    uint32_t leaf;
    char name[64];

    must(path != NULL);
    must(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /search"),
                            CPT_KIND_WORK, &entry) == CPT_OK);
    for (size_t i = 0; i < SEGMENTS; i++) {
        (void)snprintf(name, sizeof name, "A: Component%zu", i);
        must(cpt_path_frame_add(path, entry, cpt_bytes_of(name), CPT_KIND_WORK,
                                &leaf) == CPT_OK);
        must(cpt_path_append_ns(path, leaf, 1000000 + 7919 * i) == CPT_OK);
    }
    return path;
}

static void add_record(struct work *work, struct cpt_log_block *block,
                       const struct cpt_path *path, size_t index)
{
    const struct cpt_attribute attributes[] = {
        {cpt_bytes_of("arm"),
         CPT_ATTRIBUTE_TEXT,
         {.text = cpt_bytes_of(index % 2 == 0 ? "control" : "treatment")}},
        {cpt_bytes_of("region"),
         CPT_ATTRIBUTE_TEXT,
         {.text = cpt_bytes_of(index % 3 == 0 ? "eu-west" : "us-east")}},
        {cpt_bytes_of("page"), CPT_ATTRIBUTE_TEXT, {.text = cpt_bytes_of("search")}},
        {cpt_bytes_of("items"),
         CPT_ATTRIBUTE_INTEGER,
         {.integer = (int64_t)(index % 50)}},
        {cpt_bytes_of("cached"), CPT_ATTRIBUTE_BOOL, {.is_true = index % 5 == 0}},
    };
    const struct cpt_record record = {
        .start_unix_ns = UINT64_C(1769860800000000000) + index,
        .latency_ns = cpt_path_sum_ns(path),
        .probability = 0.001,
        .service = cpt_bytes_of("A"),
        .method = cpt_bytes_of("/search"),
        .entry = cpt_bytes_of("A: /search"),
        .status = cpt_bytes_of("200"),
        .attributes = attributes,
        .attribute_count = sizeof attributes / sizeof attributes[0],
        .is_random = 1,
        .path = path,
    };
    unsigned char *data = NULL;
    size_t bytes = 0;

    must(cpt_record_encode(&record, NULL, &data, &bytes, NULL) == CPT_OK);
    if (cpt_log_block_add(block, data, bytes) != CPT_OK) {
        append(work, cpt_log_block_finish(block));
        must(cpt_log_block_add(block, data, bytes) == CPT_OK);
    }
    cpt_alloc_free(NULL, data);
}

static void make_log(struct work *work)
{
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    struct cpt_path *path = make_path();
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];

    work->file = tmpfile();
    must(block != NULL && work->file != NULL);
    append(work, (struct cpt_bytes){(const char *)header, cpt_log_header(header)});
    for (size_t i = 0; i < RECORDS; i++) {
        add_record(work, block, path, i);
    }
    append(work, cpt_log_block_finish(block));
    must(fflush(work->file) == 0);
    cpt_log_block_free(block);
    cpt_path_free(path);
}

static void rewind_log(const struct work *work)
{
    must(lseek(fileno(work->file), 0, SEEK_SET) == 0);
}

static cpt_status read_some(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    const struct work *work = context;
    const ssize_t got = read(fileno(work->file), buffer, capacity);

    must(got >= 0);
    *bytes = (size_t)got;
    return CPT_OK;
}

/* The bytes alone. */
static void read_plainly(void *context, size_t count)
{
    static char buffer[READ_BYTES];

    for (size_t i = 0; i < count; i++) {
        size_t bytes = 0;

        rewind_log(context);
        do {
            (void)read_some(context, buffer, sizeof buffer, &bytes);
        } while (bytes != 0);
    }
}

/* Reads the log; selects if there is an expression. */
static void read_log(struct work *work)
{
    const struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options, .read = read_some, .context = work};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_record record;
    size_t count = 0;

    must(reader != NULL);
    rewind_log(work);
    while (cpt_log_reader_next(reader, &record, NULL) == CPT_OK) {
        count++;
        if (work->expression.term_count != 0) {
            work->selected_count +=
                cpti_expression_holds(&work->expression, &record, &work->scratch) != 0;
        }
    }
    must(count == RECORDS);
    cpt_log_reader_free(reader);
}

static void read_logs(void *context, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        read_log(context);
    }
}

/* Selects the same record again and again: nothing is read. */
static void select_only(void *context, size_t count)
{
    struct work *work = context;
    const struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options, .read = read_some, .context = work};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_record record;

    rewind_log(work);
    must(reader != NULL && cpt_log_reader_next(reader, &record, NULL) == CPT_OK);
    for (size_t i = 0; i < count * RECORDS; i++) {
        record.start_unix_ns++; /* so that records differ */
        work->selected_count +=
            cpti_expression_holds(&work->expression, &record, &work->scratch) != 0;
    }
    cpt_log_reader_free(reader);
}

int main(int argument_count, char **arguments)
{
    static const char *const expressions[] = {
        "arm == \"none\"",
        "region in (\"eu-west\", \"us-east\") and not failed and items >= 50",
        "path(\"A: Component7\") > 20ms",
        "path(\"A: Component7\") > 20ms and arm == \"none\"",
    };
    static struct work plain;
    static struct work selecting;
    const struct bench_way bytes = {"reading the file", read_plainly, &plain};
    const struct bench_way records = {"reading the log", read_logs, &plain};

    bench_begin("bench_select", &argument_count, arguments);
    make_log(&plain);
    selecting.file = plain.file;
    (void)printf("%zu bytes a record\n", plain.log_bytes / RECORDS);
    bench_title("reading");
    bench_compare(&bytes, &records, 4, RECORDS, "record");
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++) {
        const struct bench_way both = {"reading and selecting", read_logs, &selecting};
        const struct bench_way only = {"selecting alone", select_only, &selecting};
        struct cpti_expression_error error;

        bench_title(expressions[i]);
        selecting.expression = (struct cpti_expression){0};
        must(cpti_expression_add(&selecting.expression, cpt_bytes_of(expressions[i]), 0,
                                 &error));
        bench_compare(&bytes, &both, 4, RECORDS, "record");
        bench_compare(&records, &both, 4, RECORDS, "record");
        bench_compare(&records, &only, 4, RECORDS, "record");
    }
    must(selecting.selected_count == 0);
    cpti_scratch_deinit(&selecting.scratch);
    (void)fclose(plain.file);
    return bench_end();
}
