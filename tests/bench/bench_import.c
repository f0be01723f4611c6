/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_import.c - spans to critical paths, compared with the JSON library alone
 *
 *      bench_import [FILE]...
 *
 * Of each file, JSON of spans, compressed or not, and of traces that are made here:
 *
 *      simdjson   its parser, and a look at each value
 *      import     as `cpt import -o` does, but for the output: pieces, JSON, spans,
 *                 parents, critical paths, records
 *      path only  the walk and its sections, of traces whose parents are known, again
 *                 and again; and with finding the parents
 *
 * All text is in memory. A small file is read many times over, as documents one behind
 * the other. Traces and spans a second are those of the fastest run, by processor time.
 */
#include "tests/bench/bench.h"
#include "tests/bench/bench_import_json.h"

#include "tool/log/span_records.h"
#include "import/bytes/inflate.h"
#include "import/bytes/json.h"
#include "import/traces/traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    TEXT_BYTES_MIN = 4 << 20,
    TEXT_BYTES_MAX = 256 << 20,
    KEPT_MAX = 64, /* traces, for the path alone */
    RUNS = 9,
    WALKS = 64
};

static void must(int condition)
{
    if (!condition) {
        (void)fputs("bench_import: failed\n", stderr);
        abort();
    }
}

/* The text, and what is made of it. */
struct work {
    char *text;
    size_t bytes;
    size_t at; /* of the reading */
    struct bench_json *json;
    struct cpti_spans *spans;
    struct cpti_span_records records;
    uint64_t sum;
    uint64_t trace_count; /* of one reading */
    uint64_t span_count;
};

/* Traces whose parents are known, and the text that their spans lie in. */
struct kept {
    struct cpti_spans *traces[KEPT_MAX];
    size_t count;
    size_t span_count;
};

static cpt_status read_text(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct work *work = context;
    const size_t left = work->bytes - work->at;

    *bytes = left < capacity ? left : capacity;
    memcpy(buffer, work->text + work->at, *bytes);
    work->at += *bytes;
    return CPT_OK;
}

static cpt_status forget_block(void *context, const void *block, size_t bytes)
{
    struct work *work = context;

    (void)block;
    work->sum += bytes;
    return CPT_OK;
}

static void run_json(void *context, size_t count)
{
    struct work *work = context;

    for (size_t i = 0; i < count; i++) {
        const uint64_t sum = bench_json_read(work->json, work->text, work->bytes);

        must(sum != 0);
        work->sum += sum;
    }
}

/* Reads the text; what is done with each trace is up to @take. */
static void read_traces(struct work *work,
                        void (*take)(struct work *, struct cpt_bytes, void *),
                        void *context)
{
    const struct cpti_traces_options options = {.read = read_text, .context = work};
    struct cpti_traces *traces = cpti_traces_new(&options);
    cpt_status status = CPT_OK;
    struct cpt_bytes trace = {"", 0};

    must(traces != NULL);
    work->at = 0;
    while ((status = cpti_traces_next(traces, work->spans, &trace, NULL)) == CPT_OK) {
        take(work, trace, context);
    }
    must(status == CPT_END);
    work->trace_count = cpti_traces_counts(traces)->traces;
    work->span_count = cpti_traces_counts(traces)->spans;
    cpti_traces_free(traces);
}

static void to_record(struct work *work, struct cpt_bytes trace, void *context)
{
    struct cpti_spans_report report;

    (void)context;
    if (cpti_spans_resolve(work->spans, &report) == CPT_OK) {
        must(cpti_spans_walk(work->spans, CPTI_SPANS_EXACT) == CPT_OK);
        if (cpti_spans_section_count(work->spans) > 0) {
            must(cpti_span_records_add(&work->records, work->spans, trace, 1) ==
                 CPT_OK);
        }
    }
}

static void run_import(void *context, size_t count)
{
    struct work *work = context;

    for (size_t i = 0; i < count; i++) {
        read_traces(work, to_record, NULL);
        must(cpti_span_records_flush(&work->records) == CPT_OK);
    }
}

/* --- The path alone --- */

static struct cpt_bytes copy(struct cpt_bytes text)
{
    char *bytes = malloc(text.bytes + 1);

    must(bytes != NULL);
    memcpy(bytes, text.data, text.bytes);
    return (struct cpt_bytes){bytes, text.bytes};
}

static void keep(struct work *work, struct cpt_bytes trace, void *context)
{
    struct kept *kept = context;
    struct cpti_spans *spans = NULL;
    struct cpti_spans_report report;

    (void)trace;
    if (kept->count == KEPT_MAX) {
        return;
    }
    spans = cpti_spans_new(NULL);
    must(spans != NULL);
    for (size_t i = 0; i < cpti_spans_count(work->spans); i++) {
        struct cpti_span span = *cpti_spans_at(work->spans, i);

        span.id = copy(span.id); /* kept until the program ends */
        span.parent = copy(span.parent);
        span.service = copy(span.service);
        span.operation = copy(span.operation);
        span.peer = copy(span.peer);
        must(cpti_spans_add(spans, &span) == CPT_OK);
    }
    if (cpti_spans_resolve(spans, &report) == CPT_OK) {
        kept->span_count += cpti_spans_count(spans);
        kept->traces[kept->count++] = spans;
    } else {
        cpti_spans_free(spans);
    }
}

static void run_walk(void *context, size_t count)
{
    struct kept *kept = context;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < kept->count; k++) {
            must(cpti_spans_walk(kept->traces[k], CPTI_SPANS_EXACT) == CPT_OK);
        }
    }
}

static void run_resolve(void *context, size_t count)
{
    struct kept *kept = context;
    struct cpti_spans_report report;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < kept->count; k++) {
            must(cpti_spans_resolve(kept->traces[k], &report) == CPT_OK);
            must(cpti_spans_walk(kept->traces[k], CPTI_SPANS_EXACT) == CPT_OK);
        }
    }
}

/* --- Rates --- */

static double now_s(void)
{
    struct timespec now;

    must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The least processor time of a call. */
static double fastest_s(void (*run)(void *, size_t), void *context, size_t count)
{
    double least = 1e9;

    for (int i = 0; i < RUNS; i++) {
        const double begin = now_s();

        run(context, count);
        if (now_s() - begin < least) {
            least = now_s() - begin;
        }
    }
    return least / (double)count;
}

static void measure(struct work *work, const char *name)
{
    struct bench_way json = {"simdjson", run_json, work};
    struct bench_way import = {"import", run_import, work};
    struct kept kept = {.count = 0};
    double seconds = 0;

    bench_title(name);
    work->spans = cpti_spans_new(NULL);
    work->json = bench_json_new();
    work->records.sink = (struct cpt_sink){forget_block, work};
    must(work->spans != NULL && work->json != NULL &&
         cpti_span_records_init(&work->records) == CPT_OK);
    read_traces(work, keep, &kept);
    bench_compare(&json, &import, 1, work->span_count, "span");
    seconds = fastest_s(run_json, work, 1);
    bench_value("simdjson", (double)work->bytes / seconds / 1e6, "MB/s");
    seconds = fastest_s(run_import, work, 1);
    bench_value("import", (double)work->bytes / seconds / 1e6, "MB/s");
    bench_value("import", (double)work->span_count / seconds, "spans/s");
    bench_value("import", (double)work->trace_count / seconds, "traces/s");
    if (kept.count > 0) {
        const size_t walks = 1 + WALKS * 4096 / (kept.count + kept.span_count);

        seconds = fastest_s(run_walk, &kept, walks);
        bench_value("path only", (double)kept.count / seconds, "traces/s");
        bench_value("path only", (double)kept.span_count / seconds, "spans/s");
        seconds = fastest_s(run_resolve, &kept, walks);
        bench_value("with parents", (double)kept.count / seconds, "traces/s");
    }
    for (size_t i = 0; i < kept.count; i++) {
        cpti_spans_free(kept.traces[i]);
    }
    cpti_span_records_deinit(&work->records);
    bench_json_free(work->json);
    cpti_spans_free(work->spans);
}

/* --- Texts --- */

/* Repeats the text until it has some megabytes. */
static void repeat(struct work *work)
{
    const size_t times = work->bytes < TEXT_BYTES_MIN && work->bytes > 0
                             ? 1 + TEXT_BYTES_MIN / work->bytes
                             : 1;

    work->text = realloc(work->text, times * work->bytes + CPTI_DOC_PADDING);
    must(work->text != NULL && work->bytes > 0);
    for (size_t i = 1; i < times; i++) {
        memcpy(work->text + i * work->bytes, work->text, work->bytes);
    }
    work->bytes *= times;
    memset(work->text + work->bytes, 0, CPTI_DOC_PADDING);
}

static cpt_status read_from(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    *bytes = fread(buffer, 1, capacity, context);
    return CPT_OK;
}

static void measure_file(const char *path)
{
    struct work work = {.text = malloc(TEXT_BYTES_MAX)};
    FILE *file = fopen(path, "rb");
    struct cpti_inflate *inflate = cpti_inflate_new(NULL, read_from, file);
    size_t bytes = 0;

    must(file != NULL && inflate != NULL && work.text != NULL);
    do {
        must(cpti_inflate_read(inflate, work.text + work.bytes,
                               TEXT_BYTES_MAX - work.bytes, &bytes) == CPT_OK);
        work.bytes += bytes;
    } while (bytes > 0);
    cpti_inflate_free(inflate);
    (void)fclose(file);
    repeat(&work);
    measure(&work, strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path);
    free(work.text);
}

/* Jaeger's traces of 46 spans in four levels, as a shop's front end has them. */
static void measure_made(void)
{
    enum { TRACES = 300, SPANS = 46, SPAN_BYTES_MAX = 600 };
    struct work work = {.text = malloc(TRACES * (SPANS + 2) * SPAN_BYTES_MAX)};
    FILE *file = NULL;

    must(work.text != NULL);
    file = fmemopen(work.text, TRACES * (SPANS + 2) * SPAN_BYTES_MAX, "wb");
    must(file != NULL);
    (void)fputs("{\"data\":[", file);
    for (unsigned t = 0; t < TRACES; t++) {
        (void)fprintf(file, "%s{\"traceID\":\"%032x\",\"processes\":{", t ? "," : "",
                      t + 1);
        for (unsigned p = 0; p < 5; p++) {
            (void)fprintf(file, "%s\"p%u\":{\"serviceName\":\"service%u\",\"tags\":[]}",
                          p ? "," : "", p, p);
        }
        (void)fputs("},\"spans\":[", file);
        for (unsigned s = 0; s < SPANS; s++) {
            const unsigned parent = s / 3;
            unsigned depth = 0;

            for (unsigned above = s; above > 0; above /= 3) {
                depth++;
            }
            (void)fprintf(
                file,
                "%s{\"traceID\":\"%032x\",\"spanID\":\"%016x\",\"operationName\":"
                "\"shop.Service%u/Method%u\",\"startTime\":%llu,\"duration\":%u,"
                "\"processID\":\"p%u\",\"references\":[",
                s ? "," : "", t + 1, s + 1, s % 5, s % 7,
                1700000000000000ULL + 100 * depth + 1000 * (s % 3), 100000 >> depth,
                s % 5);
            if (s > 0) {
                (void)fprintf(file,
                              "{\"refType\":\"CHILD_OF\",\"traceID\":\"%032x\","
                              "\"spanID\":\"%016x\"}",
                              t + 1, parent + 1);
            }
            (void)fputs("],\"tags\":[{\"key\":\"span.kind\",\"type\":\"string\","
                        "\"value\":\"server\"}],\"logs\":[],\"warnings\":null}",
                        file);
        }
        (void)fputs("]}", file);
    }
    (void)fputs("]}\n", file);
    work.bytes = (size_t)ftell(file);
    (void)fclose(file);
    repeat(&work);
    measure(&work, "46 spans a trace");
    free(work.text);
}

int main(int argument_count, char **arguments)
{
    bench_begin("bench_import", &argument_count, arguments);
    measure_made();
    for (int i = 1; i < argument_count; i++) {
        measure_file(arguments[i]);
    }
    return bench_end();
}
