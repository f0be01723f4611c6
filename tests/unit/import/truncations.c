/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * truncations.c - each beginning of each file of spans below a folder
 *
 *      truncations [STEP]
 *
 * The folder is CPT_TRACES. A small file is cut at each byte, or each STEP-th, a large
 * one at some. What is read of it gives
 * sections that tile their root, an error, or counts; never a crash, never nothing at
 * all. Exit 77 without the folder.
 */
#include "import/traces/traces.h"
#include "tests/unit/import/text_input.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    FILE_BYTES_MAX = 8 << 20,
    EACH_BYTES_MAX = 10000, /* of a file that is cut at each byte */
    CUTS = 12,              /* of a larger one */
    STEP_BYTES = 65536,
    OPEN_MAX = 16
};

static size_t small_step = 1;
static unsigned file_count;
static unsigned cut_count;
static unsigned wrong_count;

static bool tiles(const struct cpti_spans *spans)
{
    const uint32_t root = cpti_spans_root(spans);
    uint64_t at = cpti_spans_start_ns(spans, root);

    for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
        if (cpti_spans_section(spans, i)->start_ns != at) {
            return false;
        }
        at = cpti_spans_section(spans, i)->end_ns;
    }
    return at == cpti_spans_end_ns(spans, root);
}

/* Whether all traces of the first @bytes tile, and something is said of them. */
static bool is_right(struct cpti_spans *spans, const char *data, size_t bytes)
{
    struct text_input input = {data, bytes, STEP_BYTES, 0};
    static const struct cpt_bytes keys[] = {{"span.kind", 9}, {"hostname", 8}};
    const struct cpti_traces_options options = {.read = text_input_read,
                                                .context = &input,
                                                .tag_keys = keys,
                                                .tag_key_count = 2};
    struct cpti_traces *traces = cpti_traces_new(&options);
    const struct cpti_traces_counts *counts = cpti_traces_counts(traces);
    struct cpti_spans_report report;
    struct cpt_bytes trace = {"", 0};
    cpt_status status = CPT_OK;
    bool has_failed = false;
    bool is_tiled = true;
    bool is_told = false;

    while (status != CPT_END) {
        status = cpti_traces_next(traces, spans, &trace, NULL);
        has_failed |= status != CPT_OK && status != CPT_END;
        if (status == CPT_OK && cpti_spans_resolve(spans, &report) == CPT_OK) {
            is_tiled &=
                cpti_spans_walk(spans, CPTI_SPANS_EXACT) == CPT_OK && tiles(spans);
        }
    }
    /* of blanks alone there is nothing to say */
    is_told = has_failed || counts->spans + counts->refused_spans > 0 ||
              strspn(data, " \n\r\t") >= bytes;
    cpti_traces_free(traces);
    return is_tiled && is_told;
}

static void cut_file(const char *path, const char *data, size_t bytes)
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    const size_t step = bytes <= EACH_BYTES_MAX ? small_step : 1 + bytes / CUTS;

    for (size_t cut = 1; spans != NULL && cut < bytes; cut += step) {
        cut_count++;
        if (!is_right(spans, data, cut)) {
            wrong_count++;
            (void)fprintf(stderr, "%s: wrong with its first %zu bytes\n", path, cut);
        }
    }
    cpti_spans_free(spans);
}

static bool ends_with(const char *path, const char *end)
{
    const size_t bytes = strlen(path);

    return bytes > strlen(end) && strcmp(path + bytes - strlen(end), end) == 0;
}

static int visit(const char *path, const struct stat *about, int type,
                 struct FTW *where)
{
    char *data = NULL;
    FILE *file = NULL;

    (void)where;
    if (type != FTW_F || about->st_size > FILE_BYTES_MAX ||
        !(ends_with(path, ".json") || ends_with(path, ".json.gz")) ||
        ends_with(path, "truth.json")) {
        return 0;
    }
    data = calloc(1, (size_t)about->st_size + 1);
    file = fopen(path, "rb");
    if (data != NULL && file != NULL) {
        file_count++;
        cut_file(path, data, fread(data, 1, (size_t)about->st_size, file));
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    free(data);
    return 0;
}

int main(int argument_count, char **arguments)
{
    const char *folder = getenv("CPT_TRACES");

    if (argument_count > 1 && strtoul(arguments[1], NULL, 10) > 0) {
        small_step = strtoul(arguments[1], NULL, 10);
    }
    if (folder == NULL || nftw(folder, visit, OPEN_MAX, FTW_PHYS) != 0 ||
        file_count == 0) {
        (void)puts("no published traces: set CPT_TRACES");
        return 77;
    }
    (void)printf("%u files, cut in %u places, %u wrong\n", file_count, cut_count,
                 wrong_count);
    return wrong_count == 0 ? 0 : 1;
}
