/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_metadata.c - cpt metadata: the critical path in a response header
 *
 * The input is the value, a whole header line, or the output of `curl -i`. Other lines
 * are skipped. With --conformance it tries another implementation instead.
 */
#include "tool/table/capped.h"
#include "tool/base/files.h"
#include "tool/table/json_write.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/base/amounts.h"
#include "tool/print/path_print.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_metadata.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { INPUT_BYTES_MAX = 1 << 20 };

/* @text without the spaces, quotes and line ends around it. */
static struct cpt_bytes trim(struct cpt_bytes text)
{
    static const char around[] = " \t\r\n\"'";

    while (text.bytes != 0 && text.data[0] != '\0' &&
           strchr(around, text.data[0]) != NULL) {
        text.data++;
        text.bytes--;
    }
    while (text.bytes != 0 && text.data[text.bytes - 1] != '\0' &&
           strchr(around, text.data[text.bytes - 1]) != NULL) {
        text.bytes--;
    }
    return text;
}

/* Whether @line is the header; if so, @value is its value. */
static bool header_value(struct cpt_bytes line, struct cpt_bytes *value)
{
    const size_t name_bytes = sizeof CPT_HEADER_PATH - 1;

    line = trim(line);
    /* curl -v marks the lines that it received with "< " */
    if (line.bytes > 2 && line.data[0] == '<' && line.data[1] == ' ') {
        line = trim((struct cpt_bytes){line.data + 2, line.bytes - 2});
    }
    if (line.bytes <= name_bytes || line.data[name_bytes] != ':' ||
        strncasecmp(line.data, CPT_HEADER_PATH, name_bytes) != 0) {
        return false;
    }
    *value = trim(
        (struct cpt_bytes){line.data + name_bytes + 1, line.bytes - name_bytes - 1});
    return true;
}

/* The value in @text: that of its header line if there is one, otherwise the whole
 * text. */
static struct cpt_bytes find_value(struct cpt_bytes text)
{
    struct cpt_bytes value = trim(text);
    size_t at = 0;

    while (at < text.bytes) {
        const char *end = memchr(text.data + at, '\n', text.bytes - at);
        const size_t bytes =
            end != NULL ? (size_t)(end - text.data) - at : text.bytes - at;

        if (header_value((struct cpt_bytes){text.data + at, bytes}, &value)) {
            return value;
        }
        at += bytes + 1;
    }
    return value;
}

/* --- Printing --- */

/* What is printed. */
struct answer {
    const struct cpt_metadata_summary *summary;
    const struct cpt_path *path;
    size_t bytes; /* of the value */
    bool is_json;
    size_t *ranks;  /* segments by their length; NULL: all are printed */
    bool *is_shown; /* those that are printed; or NULL */
    bool has_rest;  /* the others are summed up */
};

static int print_metadata(const struct answer *answer)
{
    const struct cpt_metadata_summary *summary = answer->summary;
    const struct cpt_path *path = answer->path;
    const uint64_t sum_ns = cpt_path_sum_ns(path);
    char nonce[CPT_NONCE_BYTES + 1];
    char text[32];

    (void)printf("critical path of %s ms, %zu segment%s, %zu bytes%s\n",
                 cpti_ms((double)sum_ns, text), cpt_path_segment_count(path),
                 cpt_path_segment_count(path) == 1 ? "" : "s", answer->bytes,
                 cpti_path_flags_text(cpt_path_flags(path)));
    if (summary->has_server_elapsed) {
        (void)printf("the service says that it took %s ms\n",
                     cpti_ms((double)summary->server_elapsed_ns, text));
    }
    if (summary->nonce != 0) {
        cpt_nonce_format(summary->nonce, nonce);
        (void)printf("it answers the ask with the nonce %s\n", nonce);
    }
    if (summary->is_sum_only) {
        (void)printf("only the sum fits the budget; ask for more with 'critical-path: "
                     "1;max=4096'\n");
    }
    (void)printf("\n");
    return cpti_path_print_part(path, answer->has_rest ? answer->is_shown : NULL);
}

static int put_metadata(const struct answer *answer)
{
    const struct cpt_metadata_summary *summary = answer->summary;
    const struct cpt_path *path = answer->path;
    struct cpti_json json = {.file = stdout};
    char nonce[CPT_NONCE_BYTES + 1];

    cpti_json_open(&json, NULL, '{');
    cpti_json_unsigned(&json, "version", summary->version);
    cpti_json_unsigned(&json, "bytes", answer->bytes);
    cpti_json_unsigned(&json, "sum_ns", cpt_path_sum_ns(path));
    cpti_json_known(&json, "server_elapsed_ns", summary->has_server_elapsed,
                    summary->server_elapsed_ns);
    if (summary->nonce != 0) {
        cpt_nonce_format(summary->nonce, nonce);
        cpti_json_text(&json, "nonce", nonce);
    } else {
        cpti_json_null(&json, "nonce");
    }
    cpti_json_bool(&json, "sum_only", summary->is_sum_only);
    cpti_path_flags_json(&json, cpt_path_flags(path));
    cpti_path_json_part(&json, path, answer->has_rest ? answer->is_shown : NULL);
    cpti_json_close(&json);
    return CPTI_EXIT_DONE;
}

/* --- The longest segments --- */

/* A segment to be ranked. */
struct ranked {
    uint64_t duration_ns;
    size_t index;
};

static int by_length(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;

    if (a->duration_ns != b->duration_ns) {
        return a->duration_ns > b->duration_ns ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

/* Ranks the segments by their length. False without memory. */
static bool rank_segments(struct answer *answer)
{
    const size_t count = cpt_path_segment_count(answer->path);
    struct ranked *all = calloc(count + 1, sizeof *all);

    answer->ranks = calloc(count + 1, sizeof *answer->ranks);
    answer->is_shown = calloc(count + 1, sizeof *answer->is_shown);
    if (all != NULL && answer->ranks != NULL) {
        for (size_t i = 0; i < count; i++) {
            all[i] = (struct ranked){cpt_path_segment(answer->path, i)->duration_ns, i};
        }
        qsort(all, count, sizeof *all, by_length);
        for (size_t i = 0; i < count; i++) {
            answer->ranks[all[i].index] = i;
        }
    }
    free(all);
    return all != NULL && answer->ranks != NULL && answer->is_shown != NULL;
}

/* See struct cpti_capped. */
static int print_answer(void *context, size_t row_max)
{
    struct answer *answer = context;

    answer->has_rest = answer->is_shown != NULL && row_max != CPTI_CAPPED_ALL;
    for (size_t i = 0;
         answer->is_shown != NULL && i < cpt_path_segment_count(answer->path); i++) {
        answer->is_shown[i] = answer->ranks[i] < row_max;
    }
    return answer->is_json ? put_metadata(answer) : print_metadata(answer);
}

static int print_capped(struct answer *answer, uint64_t bytes_max)
{
    const struct cpti_capped capped = {.bytes_max = bytes_max,
                                       .print = print_answer,
                                       .context = answer,
                                       .row_count =
                                           cpt_path_segment_count(answer->path)};
    int status = CPTI_EXIT_FAILED;

    if (bytes_max == 0 || rank_segments(answer)) {
        status = cpti_capped_print(&capped);
    } else {
        (void)cpti_failed("out of memory");
    }
    free(answer->ranks);
    free(answer->is_shown);
    return status;
}

/* --- Decoding --- */

/* Of the operand, which is no file, if @file is NULL. */
static int failed_at(const char *file, const struct cpt_error *error)
{
    if (file == NULL) {
        return cpti_failed("the value: at byte %" PRIu64 ": %s", error->offset,
                           error->sentence);
    }
    return cpti_failed_at(
        (struct cpti_at){.file = file, .has_byte = true, .byte = error->offset}, "%s",
        error->sentence);
}

/* Decodes @bytes at @data and prints them. */
static int show(const struct cpti_arguments *arguments, const char *file,
                const unsigned char *data, size_t bytes)
{
    const struct cpt_metadata_decode_options options = {
        .struct_bytes = sizeof options,
        .bytes_max = INPUT_BYTES_MAX,
    };
    struct cpt_metadata_summary summary;
    struct cpt_error error = {0};
    struct cpt_path *path = cpt_path_new(NULL);
    uint64_t bytes_max = 0;
    int status;

    if (path == NULL) {
        return cpti_failed("out of memory");
    }
    if (cpt_metadata_peek(data, bytes, &summary, &error) != CPT_OK ||
        cpt_metadata_decode(data, bytes, &options, path, &error) != CPT_OK) {
        status = failed_at(file, &error);
    } else {
        struct answer answer = {.summary = &summary,
                                .path = path,
                                .bytes = bytes,
                                .is_json = cpti_has(arguments, "json")};

        status = cpti_capped_option(arguments, &bytes_max);
        status = status == CPTI_EXIT_DONE ? print_capped(&answer, bytes_max) : status;
    }
    cpt_path_free(path);
    return status;
}

static int decode(const struct cpti_arguments *arguments, const char *file,
                  struct cpt_bytes text)
{
    const struct cpt_bytes value = find_value(text);
    struct cpt_error error = {0};
    unsigned char *data = malloc(value.bytes + 1);
    size_t bytes = 0;
    int status;

    if (data == NULL) {
        return cpti_failed("out of memory");
    }
    if (value.bytes > 5 && strncmp(value.data, "HTTP/", 5) == 0) {
        status = cpti_failed("%s has no header '%s': the service returned no path; it "
                             "has to be asked, and to trust who asks",
                             file != NULL ? file : "the value", CPT_HEADER_PATH);
    } else if (value.bytes == 0) {
        status = cpti_failed("%s is empty; it must be the value of the header '%s'",
                             file != NULL ? file : "the value", CPT_HEADER_PATH);
    } else if (cpt_base64_decode(value, data, value.bytes + 1, &bytes, &error) !=
               CPT_OK) {
        status = failed_at(file, &error);
    } else {
        status = show(arguments, file, data, bytes);
    }
    free(data);
    return status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct cpti_input input;
    struct stat about;
    unsigned char *data;
    size_t bytes;
    int status;

    if (arguments->operand_count == 1 && strcmp(arguments->operands[0], "-") != 0) {
        if (stat(arguments->operands[0], &about) == 0 && S_ISREG(about.st_mode)) {
            return cpti_failed("'%s' is the name of a file; its text comes from "
                               "standard input: cpt metadata < FILE",
                               cpti_quoted(arguments->operands[0]));
        }
        return decode(arguments, NULL, cpt_bytes_of(arguments->operands[0]));
    }
    status = cpti_input_open(&input, "-");
    status =
        CPTI_THEN(status, cpti_input_slurp(&input, INPUT_BYTES_MAX, &data, &bytes));
    if (status == CPTI_EXIT_DONE) {
        status = decode(arguments, cpti_input_name(&input),
                        (struct cpt_bytes){(const char *)data, bytes});
        free(data);
    }
    return status;
}

static const struct cpti_option options[] = {
    {"json", 'j', NULL, "print one JSON object"},
    CPTI_CAPPED_OPTION("the longest segments"),
    {0},
};

static const struct cpti_example examples[] = {
    {"curl -si -H 'critical-path: 1;forced' localhost:8080/ | cpt metadata",
     "ask a service for the critical path of one request"},
    {"curl -si -H 'critical-path: 1;forced;drag' localhost:8080/ | cpt metadata",
     "the same, and what each part of it is worth"},
    {"cpt metadata 'critical-path-bin: CAEQwLEC…'", "a header line copied from a log"},
    {0},
};

const struct cpti_command cpti_command_metadata = {
    .name = "metadata",
    .summary = "print the critical path in a response header",
    .group = CPTI_CHECK,
    .question = "What does the header of this response say, and is it right?",
    .needs = "a response with its headers, as curl prints it",
    .usages = {"[OPTION]... [VALUE]"},
    .options = {options},
    .examples = examples,
    .operand_count_max = 1,
    .run = run,
};
