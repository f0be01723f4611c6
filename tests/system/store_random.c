/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * store_random.c - random records and random selections, for the tests of the database
 *
 *      store_random log SEED COUNT > file
 *      store_random months SEED COUNT > file    the same over some 300 months
 *      store_random selections SEED COUNT       one a line
 *
 * Both draw from the same small pools of names and values, which mix numbers, texts and
 * booleans, so that comparisons of all kinds hold for some records.
 */
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) ((unsigned)(sizeof(array) / sizeof(array)[0]))

static uint64_t state;
static unsigned day_count = 300;

/* Below @bound. */
static unsigned draw(unsigned bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state * UINT64_C(0x2545f4914f6cdd1d)) >> 40) % bound;
}

static void must(cpt_status status)
{
    if (status != CPT_OK) {
        (void)fprintf(stderr, "store_random: %s\n", cpt_status_sentence(status));
        exit(2);
    }
}

/* --- The pools --- */

static const char *const keys[] = {"a", "b", "c.d", "we ird", "cpt.fragment", "z"};
static const char *const statuses[] = {"200", "503", "ok", "5e2", "", "20.0", "-1"};
static const char *const texts[] = {"eu",
                                    "3",
                                    "2.5",
                                    "1e3",
                                    "-0",
                                    "",
                                    "a;b",
                                    "u\xcc\x88n\xc3\xaf",
                                    "007",
                                    "us",
                                    "true",
                                    "1E1",
                                    "-2.50",
                                    "3.",
                                    "99999999999999999999",
                                    "9007199254740993"};
static const int64_t integers[] = {
    0, 3, -7, 7, 1000, INT64_C(9007199254740993), INT64_MAX, INT64_MIN};
static const double reals[] = {
    0.0, 3.0, 2.5, -2.5, 0.1, 1000.0, 9007199254740992.0, 9223372036854775808.0, 1e300};
static const char *const frames[] = {"A: /", "A: a", "B: b", "c", "B: \\ \"q\""};
static const unsigned kinds[] = {CPT_KIND_WORK, CPT_KIND_WORK, CPT_KIND_WORK, 4, 1};

/* --- Records --- */

static struct cpt_attribute attribute(void)
{
    struct cpt_attribute made = {.key = cpt_bytes_of(keys[draw(COUNT_OF(keys) - 1)])};

    switch (draw(5)) {
    case 0:
        made.type = CPT_ATTRIBUTE_INTEGER;
        made.value.integer = integers[draw(COUNT_OF(integers))];
        break;
    case 1:
        made.type = CPT_ATTRIBUTE_FLOAT;
        made.value.real = draw(20) == 0 ? (double)NAN : reals[draw(COUNT_OF(reals))];
        break;
    case 2:
        made.type = CPT_ATTRIBUTE_BOOL;
        made.value.is_true = (int)draw(2);
        break;
    default:
        made.type = CPT_ATTRIBUTE_TEXT;
        made.value.text = cpt_bytes_of(texts[draw(COUNT_OF(texts))]);
    }
    return made;
}

/* Mostly below 20 ms, sometimes 0; one of 500 takes minutes to days. */
static uint64_t draw_ns(void)
{
    if (draw(500) == 0) {
        return (uint64_t)(draw(1000) + 1) << (30 + draw(16));
    }
    return draw(4) == 0 ? draw(3) : draw(20000000);
}

static void fill_path(struct cpt_path *path)
{
    const unsigned count = draw(8);

    cpt_path_reset(path);
    for (unsigned i = 0; i < count; i++) {
        const unsigned depth = draw(5);
        uint32_t frame = CPT_FRAME_NONE;

        for (unsigned k = 0; k <= depth; k++) {
            must(cpt_path_frame_add(path, frame,
                                    cpt_bytes_of(frames[draw(COUNT_OF(frames))]),
                                    kinds[draw(COUNT_OF(kinds))], &frame));
        }
        must(cpt_path_append_ns(path, frame, draw_ns()));
    }
}

static void put(struct cpt_log_block *block, const struct cpt_record *record)
{
    struct cpt_error error = {0};
    unsigned char *data = NULL;
    size_t bytes = 0;

    must(cpt_record_encode(record, NULL, &data, &bytes, &error));
    if (cpt_log_block_add(block, data, bytes) != CPT_OK) {
        const struct cpt_bytes done = cpt_log_block_finish(block);

        (void)fwrite(done.data, 1, done.bytes, stdout);
        must(cpt_log_block_add(block, data, bytes));
    }
    cpt_alloc_free(NULL, data);
}

static void put_request(struct cpt_log_block *block, struct cpt_path *path)
{
    static const double probabilities[] = {1, 0.5, 0.3, 0.001};
    struct cpt_attribute attributes[6];
    struct cpt_record record = {
        .start_unix_ns =
            UINT64_C(1000000000000000000) + draw(day_count) * UINT64_C(86400000000000),
        .probability = probabilities[draw(4)],
        .service = cpt_bytes_of("A"),
        .method = cpt_bytes_of(draw(2) == 0 ? "/" : "GET /x"),
        .entry = cpt_bytes_of(draw(3) == 0 ? "" : "A: /"),
        .status = cpt_bytes_of(statuses[draw(COUNT_OF(statuses))]),
        .attributes = attributes,
        .attribute_count = draw(7),
        .is_failed = draw(4) == 0,
        .is_forced = draw(8) == 0,
        .is_random = draw(8) != 0,
        .is_local_root = draw(8) == 0,
        .has_trace_id = draw(2) == 0,
        .trace_id = "0123456789abcdef",
        .path = path,
    };

    for (size_t i = 0; i < record.attribute_count; i++) {
        attributes[i] = attribute();
    }
    fill_path(path);
    record.latency_ns = cpt_path_sum_ns(path);
    put(block, &record);
}

static int write_log(unsigned count)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_bytes rest;

    if (block == NULL || path == NULL) {
        return 2;
    }
    (void)fwrite(header, 1, cpt_log_header(header), stdout);
    for (unsigned i = 0; i < count; i++) {
        put_request(block, path);
    }
    rest = cpt_log_block_finish(block);
    (void)fwrite(rest.data, 1, rest.bytes, stdout);
    cpt_log_block_free(block);
    cpt_path_free(path);
    return fflush(stdout) == 0 ? 0 : 2;
}

/* --- Selections --- */

/* @text in quotes. */
static void print_quoted(const char *text)
{
    (void)putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            (void)putchar('\\');
        }
        (void)putchar(*text);
    }
    (void)putchar('"');
}

static const char *comparison(void)
{
    static const char *const all[] = {"==", "!=", "<", "<=", ">", ">="};

    return all[draw(COUNT_OF(all))];
}

static void print_value(void)
{
    static const char *const numbers[] = {"3",
                                          "-7",
                                          "1000",
                                          "2.5",
                                          "1e3",
                                          "-2.5",
                                          "0.1",
                                          "1e19",
                                          "-1e19",
                                          "0",
                                          "9007199254740993",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "9007199254740992.0",
                                          "10"};

    switch (draw(4)) {
    case 0:
        print_quoted(texts[draw(COUNT_OF(texts))]);
        break;
    case 1:
        (void)printf("%s", draw(2) == 0 ? "true" : "eu");
        break;
    default:
        (void)printf("%s", numbers[draw(COUNT_OF(numbers))]);
    }
}

static void print_list(const char *word)
{
    const unsigned count = 1 + draw(3);

    (void)printf(" %s (", word);
    for (unsigned i = 0; i < count; i++) {
        (void)printf("%s", i == 0 ? "" : ", ");
        print_value();
    }
    (void)putchar(')');
}

static void print_plain(void)
{
    static const char *const fields[] = {"service", "method", "entry", "status"};

    if (draw(3) == 0) {
        (void)printf("%s", fields[draw(2) == 0 ? 3 : draw(4)]);
    } else {
        print_quoted(keys[draw(COUNT_OF(keys))]);
    }
    if (draw(4) == 0) {
        print_list(draw(2) == 0 ? "in" : "not in");
    } else {
        (void)printf(" %s ", comparison());
        print_value();
    }
}

static void print_frame(char *text, size_t capacity)
{
    const char *service = draw(2) == 0 ? "A" : "B";
    char shown[256];
    size_t length = 0;

    (void)cpt_text_frame(
        cpt_bytes_of(frames[draw(COUNT_OF(frames))]), kinds[draw(COUNT_OF(kinds))],
        cpt_bytes_of(draw(3) == 0 ? "" : service), shown, sizeof shown);
    for (const char *at = shown; *at != '\0' && length + 3 < capacity; at++) {
        if (*at == '"' || *at == '\\') {
            text[length++] = '\\';
        }
        text[length++] = *at;
    }
    text[length] = '\0';
}

static void print_path(void)
{
    char text[512];
    const unsigned count = 1 + draw(2);

    (void)printf("path(\"");
    for (unsigned i = 0; i < count; i++) {
        print_frame(text, sizeof text);
        (void)printf("%s%s", i == 0 ? "" : ";", text);
    }
    (void)printf("\")");
    if (draw(4) != 0) {
        (void)printf(" %s %uus", comparison(), draw(15000));
    }
}

static void print_test(void)
{
    static const char *const truths[] = {"forced", "random", "failed", "local_root"};
    static const char *const has[] = {"entry", "status", "trace_id", "a", "z"};

    switch (draw(10)) {
    case 0:
        (void)printf("latency %s %uus", comparison(), draw(40000));
        break;
    case 1:
        (void)printf("start %s @%u", comparison(),
                     1000000000 + draw(day_count) * 86400);
        break;
    case 2:
        (void)printf("latency %s p%u%s", comparison(), draw(100),
                     draw(3) == 0 ? ".5" : "");
        break;
    case 3:
        (void)printf("%s", truths[draw(4)]);
        (void)printf("%s", draw(2) == 0 ? " != true" : "");
        break;
    case 4:
        (void)printf("has(%s)", has[draw(COUNT_OF(has))]);
        break;
    case 5:
        print_path();
        break;
    default:
        print_plain();
    }
}

static void print_selection(void)
{
    const unsigned count = 1 + draw(5);
    unsigned open = 0;

    for (unsigned i = 0; i < count; i++) {
        (void)printf("%s", i == 0 ? "" : draw(2) == 0 ? " and " : " or ");
        (void)printf("%s", draw(3) == 0 ? "not " : "");
        if (draw(3) == 0) {
            (void)putchar('(');
            open++;
        }
        print_test();
        if (open != 0 && draw(2) == 0) {
            (void)putchar(')');
            open--;
        }
    }
    while (open-- != 0) {
        (void)putchar(')');
    }
    (void)putchar('\n');
}

int main(int argument_count, char **arguments)
{
    const unsigned count =
        argument_count == 4 ? (unsigned)strtoul(arguments[3], NULL, 10) : 0;

    if (count == 0) {
        return 2;
    }
    state = strtoull(arguments[2], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    if (strcmp(arguments[1], "months") == 0) {
        day_count = 9000;
        return write_log(count);
    }
    if (strcmp(arguments[1], "log") == 0) {
        return write_log(count);
    }
    for (unsigned i = 0; i < count; i++) {
        print_selection();
    }
    return fflush(stdout) == 0 ? 0 : 2;
}
