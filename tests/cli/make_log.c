/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * make_log.c - logs for the tests of the command line, always the same
 *
 *      make_log VARIANT > file
 *
 * The requests enter at A, whose task A1 calls B1 of another service, which starts B2:
 *
 *      A: /   A: A1   B: B1   B: B2   ‹network+serialization›   sometimes ‹blind spot›
 *
 * In the treatment arm B2 takes 4 ms longer. Times vary a little, by a fixed rule.
 */
#include "tests/cli/make_drags.h"
#include "tests/cli/make_kept.h"
#include "tests/cli/make_lies.h"
#include "tests/cli/make_users.h"
#include "tests/cli/make_visits.h"
#include "tests/cli/make_waits.h"

#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"
#include "wire/cpt_metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REQUESTS = 120,
    BLOCK_BYTES = 4096,
    WIDE_BLOCK_BYTES = 1 << 20,
    WIDE_STACKS = 10000,
    WIDE_REQUESTS = 60 /* of each arm */
};

#define US UINT64_C(1000)

/* 2026-11-21T06:00:00Z */
#define FIRST_UNIX_NS UINT64_C(1795240800000000000)
#define SECOND_NS     UINT64_C(1000000000)

/* The log to write. */
struct maker {
    struct cpt_log_block *block;
    struct cpt_path *path;
    unsigned block_count;        /* finished */
    int damages_second;          /* flips a bit of the second block */
    int tells_lies;              /* in the index */
    int cuts_last;               /* leaves out the end of the last one */
    int sets_drags;              /* of two in three requests */
    int has_ids;                 /* contended: trace ids */
    struct cpt_log_index *index; /* written behind it; NULL: none */
    uint64_t written_bytes;
};

static void must(cpt_status status)
{
    if (status != CPT_OK) {
        (void)fprintf(stderr, "make_log: %s\n", cpt_status_sentence(status));
        exit(2);
    }
}

static void write_block(struct maker *maker, int is_last)
{
    const struct cpt_bytes bytes = cpt_log_block_finish(maker->block);
    const size_t written = is_last && maker->cuts_last && bytes.bytes > 100
                               ? bytes.bytes - 100
                               : bytes.bytes;
    char *copy = malloc(bytes.bytes + 1);

    if (copy == NULL) {
        exit(2);
    }
    if (bytes.bytes == 0) {
        free(copy); /* no record */
        return;
    }
    memcpy(copy, bytes.data, bytes.bytes);
    if (maker->damages_second && maker->block_count == 1) {
        copy[bytes.bytes / 2] = (char)(copy[bytes.bytes / 2] ^ 0x10);
    }
    maker->block_count++;
    if (maker->index != NULL) { /* of the intended records */
        must(cpt_log_index_add(maker->index, maker->written_bytes, bytes.data,
                               bytes.bytes));
    }
    (void)fwrite(copy, 1, written, stdout);
    maker->written_bytes += written;
    free(copy);
}

static void write_index(struct maker *maker)
{
    unsigned char *data;
    size_t bytes;

    if (maker->tells_lies) {
        tell_lies(maker->index);
    }
    must(cpt_log_index_encode(maker->index, maker->written_bytes, &data, &bytes));
    (void)fwrite(data, 1, bytes, stdout);
    cpt_alloc_free(NULL, data);
}

static void write_record(struct maker *maker, struct cpt_record *record)
{
    struct cpt_error error = {0};
    unsigned char *data;
    size_t bytes;

    record->path = maker->path;
    if (record->latency_ns == 0) {
        record->latency_ns = cpt_path_sum_ns(maker->path);
    }
    must(cpt_record_encode(record, NULL, &data, &bytes, &error));
    if (cpt_log_block_add(maker->block, data, bytes) != CPT_OK) {
        write_block(maker, 0);
        must(cpt_log_block_add(maker->block, data, bytes));
    }
    cpt_alloc_free(NULL, data);
}

static uint32_t frame(struct maker *maker, uint32_t parent, const char *name,
                      unsigned kind)
{
    uint32_t index;

    must(cpt_path_frame_add(maker->path, parent, cpt_bytes_of(name), kind, &index));
    return index;
}

/* The path of request @index. */
static void make_path(struct maker *maker, unsigned index, int is_treatment)
{
    const uint64_t jitter_us = index * 7919 % 400;
    uint32_t entry;
    uint32_t a1;
    uint32_t b1;
    uint32_t b2;

    cpt_path_reset(maker->path);
    entry = frame(maker, CPT_FRAME_NONE, "A: /", CPT_KIND_WORK);
    a1 = frame(maker, entry, "A: A1", CPT_KIND_WORK);
    b1 = frame(maker, a1, "B: B1", CPT_KIND_WORK);
    b2 = frame(maker, b1, "B: B2", CPT_KIND_WORK);
    must(cpt_path_append_ns(maker->path, a1, (3000 + jitter_us) * US));
    must(cpt_path_append_ns(maker->path, b1, 2000 * US));
    must(cpt_path_append_ns(maker->path, b2,
                            ((is_treatment ? 9000 : 5000) + jitter_us) * US));
    must(cpt_path_append_ns(maker->path, b1, 1500 * US));
    must(cpt_path_append_ns(maker->path, frame(maker, b1, "", CPT_KIND_NETWORK),
                            250 * US + index));
    if (index % 10 / 2 == 1) { /* equally often in both arms */
        const uint32_t call = frame(maker, a1, "C: C1", CPT_KIND_WORK);
        const struct cpt_segment blind = {
            .duration_ns = 20000 * US,
            .frame = frame(maker, call, "", CPT_KIND_BLIND_SPOT),
            .reason = CPT_REASON_UNSUPPORTED,
        };

        must(cpt_path_append(maker->path, blind));
        must(cpt_path_label_number(maker->path, CPT_LABEL_ATTEMPT, 2));
    }
    must(cpt_path_append_ns(maker->path, a1, 500 * US));
    if (maker->sets_drags && index % 3 != 0) {
        must(set_drags(maker->path, index));
    }
}

static struct cpt_record usual_record(unsigned index)
{
    return (struct cpt_record){
        .start_unix_ns = FIRST_UNIX_NS + index * SECOND_NS,
        .probability = 0.001,
        .service = cpt_bytes_of("A"),
        .method = cpt_bytes_of("/"),
        .entry = cpt_bytes_of("A: /"),
        .status = cpt_bytes_of(index % 40 == 39 ? "503" : "200"),
        .is_failed = index % 40 == 39,
        .is_random = 1,
    };
}

/* Both arms of an experiment, two regions, and one forced request. */
static void make_experiment(struct maker *maker, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const int is_treatment = i % 2 == 1;
        const struct cpt_attribute attributes[] = {
            {cpt_bytes_of("arm"),
             CPT_ATTRIBUTE_TEXT,
             {.text = cpt_bytes_of(is_treatment ? "treatment" : "control")}},
            {cpt_bytes_of("region"),
             CPT_ATTRIBUTE_TEXT,
             {.text = cpt_bytes_of(i % 3 == 0 ? "eu" : "us")}},
            {cpt_bytes_of("items"), CPT_ATTRIBUTE_INTEGER, {.integer = (int64_t)i % 5}},
            {cpt_bytes_of("ratio"), CPT_ATTRIBUTE_FLOAT, {.real = (double)i / 4}},
            {cpt_bytes_of("cached"), CPT_ATTRIBUTE_BOOL, {.is_true = i % 4 == 0}},
        };
        struct cpt_record record = usual_record(i);

        record.attributes = attributes;
        record.attribute_count = sizeof attributes / sizeof attributes[0];
        record.is_forced = i == 7;
        record.is_random = i != 7;
        if (i == 0) {
            memcpy(record.trace_id, "0123456789abcdef", sizeof record.trace_id);
            memcpy(record.parent_id, "01234567", sizeof record.parent_id);
            record.has_trace_id = 1;
            record.has_parent_id = 1;
        }
        make_path(maker, i, is_treatment);
        write_record(maker, &record);
    }
}

/* Requests of an experiment that delayed a task by 5 ms. */
static void make_delays(struct maker *maker)
{
    static const struct {
        const char *frame;
        unsigned effect_us;
    } rows[] = {
        {"A: A1", 5000}, {"A: A3", 3000}, {"A: A4", 0}, {"A: A5", 1000}, {"A: A9", 0}};

    for (unsigned i = 0; i < 5 * 80 + 3; i++) {
        const unsigned row = i / 80 % 5;
        const int is_delayed = i % 2 == 1;
        const struct cpt_attribute attributes[] = {
            {cpt_bytes_of("experiment"),
             CPT_ATTRIBUTE_TEXT,
             {.text = cpt_bytes_of(rows[row].frame)}},
            {cpt_bytes_of("experiment_arm"),
             CPT_ATTRIBUTE_TEXT,
             {.text = cpt_bytes_of(i == 400     ? "third"
                                   : is_delayed ? "delayed"
                                                : "plain")}},
            {cpt_bytes_of("experiment_ns"),
             CPT_ATTRIBUTE_INTEGER,
             {.integer = row == 4 && i % 4 > 1 ? 10000000 : 5000000}},
            {cpt_bytes_of("experiment_probability"),
             CPT_ATTRIBUTE_FLOAT,
             {.real = 0.001}},
        };
        struct cpt_record record = usual_record(i);

        record.probability = 1; /* a keep rule raised it */
        record.attributes = attributes;
        record.attribute_count = i > 400 ? 0 : 4;
        cpt_path_reset(maker->path);
        must(cpt_path_append_ns(
            maker->path, frame(maker, CPT_FRAME_NONE, "A: /", CPT_KIND_WORK),
            (15000 + i / 2 * 7919 % 400 + (is_delayed ? rows[row].effect_us : 0)) *
                US));
        write_record(maker, &record);
    }
}

/* Requests of which some failed, and say why. */
static void make_failures(struct maker *maker)
{
    static const char *const whys[][3] = {
        {"504", "deadline",
         "the request took too long: task 'A: A1' waited for 'B: B1', the deadline was "
         "20 ms"},
        {"502", "callee",
         "task 'A: A1': the callee could not be reached, after 'C: C1' could not be "
         "reached at 127.0.0.1:1\033[2J"},
    };

    for (unsigned i = 0; i < 20; i++) {
        const char *const *why = whys[i % 3 != 0];
        const struct cpt_attribute attributes[] = {
            {cpt_bytes_of("failure"),
             CPT_ATTRIBUTE_TEXT,
             {.text = cpt_bytes_of(why[1])}},
            {cpt_bytes_of("failure.why"),
             CPT_ATTRIBUTE_TEXT,
             {.text = cpt_bytes_of(why[2])}},
        };
        struct cpt_record record = usual_record(i);

        if (i % 5 < 2) {
            record.status = cpt_bytes_of(why[0]);
            record.is_failed = 1;
            record.attributes = attributes;
            record.attribute_count = 2;
        }
        make_path(maker, i, 0);
        write_record(maker, &record);
    }
}

/* Names, attributes and a status with hostile bytes. */
static void make_hostile(struct maker *maker)
{
    const struct cpt_attribute attributes[] = {
        {cpt_bytes_of("esc\033[2J\n"),
         CPT_ATTRIBUTE_TEXT,
         {.text = cpt_bytes_of("\"quoted\"\\ \xff\xfe \t")}},
    };
    struct cpt_record record = usual_record(0);
    uint32_t entry;

    record.entry = cpt_bytes_of("A: \033]0;owned\007");
    record.status = cpt_bytes_of("\033[31mred");
    record.attributes = attributes;
    record.attribute_count = 1;
    cpt_path_reset(maker->path);
    entry = frame(maker, CPT_FRAME_NONE, "A: \033]0;owned\007", CPT_KIND_WORK);
    must(cpt_path_append_ns(
        maker->path, frame(maker, entry, "B: \u2039blind spot\u203a", CPT_KIND_WORK),
        1000 * US));
    must(cpt_path_append_ns(
        maker->path, frame(maker, entry, "x;y\n\xc3(\"'\\", CPT_KIND_WORK), 2000 * US));
    must(cpt_path_append_ns(maker->path, frame(maker, entry, "cache", CPT_KIND_LOCK),
                            3000 * US));
    must(cpt_path_append_ns(maker->path, frame(maker, entry, "", 77), 4000 * US));
    write_record(maker, &record);
}

/* Characters that turn the direction of text, wherever a text can stand. */
static void make_turned(struct maker *maker)
{
    const struct cpt_attribute attributes[] = {
        {cpt_bytes_of("key\u202e"),
         CPT_ATTRIBUTE_TEXT,
         {.text = cpt_bytes_of("\u2066value\u2069")}},
    };
    struct cpt_record record = usual_record(0);
    uint32_t entry;

    record.method = cpt_bytes_of("\u200fGET");
    record.service = cpt_bytes_of("A\u202e");
    record.entry = cpt_bytes_of("A\u202e: x;y");
    record.status = cpt_bytes_of("\u061cok");
    record.attributes = attributes;
    record.attribute_count = 1;
    cpt_path_reset(maker->path);
    entry = frame(maker, CPT_FRAME_NONE, "A\u202e: x;y", CPT_KIND_WORK);
    must(cpt_path_append_ns(maker->path, entry, 1000 * US));
    must(cpt_path_append_ns(maker->path, frame(maker, entry, "", CPT_KIND_QUEUE),
                            2000 * US));
    must(cpt_path_append_ns(
        maker->path, frame(maker, entry, "gnp\u202e.exe", CPT_KIND_WORK), 3000 * US));
    write_record(maker, &record);
}

/* Three requests of one time and latency, that differ in an attribute or in a path. */
static void make_alike(struct maker *maker)
{
    for (int i = 0; i < 3; i++) {
        const struct cpt_attribute attribute = {
            cpt_bytes_of("try"), CPT_ATTRIBUTE_INTEGER, {.integer = i == 1}};
        struct cpt_record record = usual_record(0);
        uint32_t entry;

        record.attributes = &attribute;
        record.attribute_count = 1;
        cpt_path_reset(maker->path);
        entry = frame(maker, CPT_FRAME_NONE, "A: /", CPT_KIND_WORK);
        must(cpt_path_append_ns(
            maker->path, frame(maker, entry, i == 2 ? "A: A2" : "A: A1", CPT_KIND_WORK),
            1000 * US));
        write_record(maker, &record);
    }
}

/* Names that would be markup, or end a script, in a page without escaping. */
static void make_markup(struct maker *maker)
{
    const struct cpt_attribute attributes[] = {
        {cpt_bytes_of("<b>"),
         CPT_ATTRIBUTE_TEXT,
         {.text = cpt_bytes_of("</script><script>owned = 1</script>")}},
    };
    struct cpt_record record = usual_record(0);
    uint32_t entry;

    record.entry = cpt_bytes_of("A: </script><img src=x onerror=owned=1>");
    record.status = cpt_bytes_of("<!--<script>");
    record.attributes = attributes;
    record.attribute_count = 1;
    cpt_path_reset(maker->path);
    entry = frame(maker, CPT_FRAME_NONE, "A: </script><img src=x onerror=owned=1>",
                  CPT_KIND_WORK);
    must(cpt_path_append_ns(maker->path,
                            frame(maker, entry, "B: \u2028\u2029{{js}}", CPT_KIND_WORK),
                            1000 * US));
    must(cpt_path_append_ns(maker->path,
                            frame(maker, entry, "__proto__: \"'`&quot;", CPT_KIND_WORK),
                            2000 * US));
    write_record(maker, &record);
}

/*
 * Both arms of an experiment with WIDE_STACKS stacks, some of them in each request; one
 * group has a hostile name. Only the smallest stack is slower in the treatment arm, and
 * it is in every request.
 */
static void make_wide(struct maker *maker)
{
    const unsigned count = 2 * WIDE_REQUESTS;

    for (unsigned i = 0; i < count; i++) {
        const int is_treatment = i % 2 == 1;
        const struct cpt_attribute attribute = {
            cpt_bytes_of("arm"),
            CPT_ATTRIBUTE_TEXT,
            {.text = cpt_bytes_of(is_treatment ? "treatment" : "control")}};
        struct cpt_record record = usual_record(i);
        uint32_t entry;
        uint32_t hay;

        record.attributes = &attribute;
        record.attribute_count = 1;
        cpt_path_reset(maker->path);
        entry = frame(maker, CPT_FRAME_NONE, "A: /", CPT_KIND_WORK);
        hay = frame(maker, entry, "A: hay", CPT_KIND_WORK);
        for (unsigned k = i / 2 % 20; k < WIDE_STACKS; k += 20) {
            char name[64];
            uint32_t group;

            (void)snprintf(name, sizeof name, "S%02u: %s", k % 40,
                           k % 40 == 7 ? "<img src=x onerror=owned=1>" : "group");
            group = frame(maker, hay, name, CPT_KIND_WORK);
            (void)snprintf(name, sizeof name, "S%02u: straw %u", k % 40, k);
            must(cpt_path_append_ns(maker->path,
                                    frame(maker, group, name, CPT_KIND_WORK),
                                    (100 + (i * 7919 + k * 104729) % 50) * US));
        }
        must(cpt_path_append_ns(maker->path,
                                frame(maker, hay, "A: needle", CPT_KIND_WORK),
                                (is_treatment ? 1500 : 1000) + i * 7919 % 100));
        write_record(maker, &record);
    }
}

/* Requests of two stacks, the third one of 2^55 ns, which is more than a year. */
static void make_years(struct maker *maker)
{
    for (unsigned i = 0; i < 4; i++) {
        struct cpt_record record = usual_record(i);
        uint32_t entry;

        cpt_path_reset(maker->path);
        entry = frame(maker, CPT_FRAME_NONE, "A: /", CPT_KIND_WORK);
        must(cpt_path_append_ns(maker->path,
                                frame(maker, entry, "A: A1", CPT_KIND_WORK),
                                i == 2 ? UINT64_C(1) << 55 : 1000 * US));
        write_record(maker, &record);
    }
}

/* In the treatment arm C takes longer than B, which was on most paths before. */
static void make_moved(struct maker *maker)
{
    for (unsigned i = 0; i < 2 * REQUESTS; i++) {
        const int is_treatment = i % 2 == 1;
        const int has_b = i / 2 % 5 < (is_treatment ? 1 : 4);
        const struct cpt_attribute attribute = {
            cpt_bytes_of("arm"),
            CPT_ATTRIBUTE_TEXT,
            {.text = cpt_bytes_of(is_treatment ? "treatment" : "control")}};
        struct cpt_record record = usual_record(i);
        uint32_t entry;

        record.attributes = &attribute;
        record.attribute_count = 1;
        cpt_path_reset(maker->path);
        entry = frame(maker, CPT_FRAME_NONE, "A: /", CPT_KIND_WORK);
        must(cpt_path_append_ns(
            maker->path, frame(maker, entry, has_b ? "B: B1" : "C: C1", CPT_KIND_WORK),
            (10000 + i * 7919 % 400) * US));
        write_record(maker, &record);
    }
}

/* A record of B's own. */
static void make_own(struct maker *maker, unsigned i, int is_forced)
{
    struct cpt_record record = usual_record(i);

    cpt_path_reset(maker->path);
    record.service = cpt_bytes_of("B");
    record.entry = cpt_bytes_of("B: Lookup");
    record.is_local_root = 1;
    record.is_forced = is_forced;
    must(cpt_path_append_ns(maker->path,
                            frame(maker, CPT_FRAME_NONE, "B: Lookup", CPT_KIND_WORK),
                            7000 * US));
    write_record(maker, &record);
}

/* The requests of A, and B's own records. */
static void make_services(struct maker *maker)
{
    for (unsigned i = 0; i < 10; i++) {
        struct cpt_record record = usual_record(i);

        if (i % 2 == 1) {
            make_own(maker, i, 0);
        } else {
            make_path(maker, i, 0);
            write_record(maker, &record);
        }
    }
}

static void make_inner(struct maker *maker)
{
    make_own(maker, 0, 1);
}

/* Requests that entered at services with names that are escaped, in turn. */
static void make_named(struct maker *maker)
{
    static const char *const names[] = {"a;b",  "c\\d",  "\033[2Je",       "\\x3b",
                                        "<b>f", "\xffg", "h\u202e\u2039i", "\"j\" k"};
    const unsigned count = sizeof names / sizeof names[0];

    for (unsigned i = 0; i < 2 * count; i++) {
        struct cpt_record record = usual_record(i);
        char method[64];

        (void)snprintf(method, sizeof method, "%s: /", names[i % count]);
        record.service = cpt_bytes_of(names[i % count]);
        record.entry = cpt_bytes_of(method);
        cpt_path_reset(maker->path);
        must(cpt_path_append_ns(maker->path,
                                frame(maker, CPT_FRAME_NONE, method, CPT_KIND_WORK),
                                (i + 1) * 1000 * US));
        write_record(maker, &record);
    }
}

/* Ten requests with trace ids, and a status that says in which log they are. */
static void make_traced(struct maker *maker, const char *status)
{
    for (unsigned i = 0; i < 10; i++) {
        struct cpt_record record = usual_record(i);

        record.has_trace_id = 1;
        record.trace_id[0] = 1;
        record.trace_id[15] = (unsigned char)i;
        record.status = cpt_bytes_of(status);
        make_path(maker, i, 0);
        write_record(maker, &record);
    }
}

/* What services tell that have traced no request: one twice, one of them still runs. */
static void make_untraced(void)
{
    static const struct {
        const char *service;
        uint64_t process;
        uint64_t request_count;
        int is_final;
    } told[] = {
        {"A", 1, 128, 0}, {"A", 1, 299, 1}, {"A", 2, 1, 1}, {"B\033[2J", 1, 8, 0}};

    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        const struct cpt_log_untraced untraced = {
            .service = cpt_bytes_of(told[i].service),
            .probability = 0.001,
            .request_count = told[i].request_count,
            .process = told[i].process,
            .is_final = told[i].is_final,
        };
        unsigned char block[CPT_LOG_UNTRACED_BYTES_MAX];

        (void)fwrite(block, 1, cpt_log_untraced_block(&untraced, block), stdout);
    }
}

/* Three records: the second does not add up, the third is not below its entry. */
static void make_unsound(struct maker *maker)
{
    for (unsigned i = 0; i < 3; i++) {
        struct cpt_record record = usual_record(i);

        make_path(maker, i, 0);
        if (i == 1) {
            record.latency_ns = cpt_path_sum_ns(maker->path) + 1;
        } else if (i == 2) {
            record.entry = cpt_bytes_of("A: /other");
        }
        write_record(maker, &record);
    }
}

/* 200 requests with 5,000 stacks. The times of all but one vary at random; that of
 * `planted` is longer by 3 ns in the treatment arm. */
static void make_planted(struct maker *maker)
{
    uint64_t state = 1;

    for (unsigned i = 0; i < 200; i++) {
        struct cpt_record record = usual_record(i);
        const uint64_t planted_ns = 100 + (i % 2 == 1 ? 3 : 0);
        const struct cpt_attribute arm = {
            cpt_bytes_of("arm"),
            CPT_ATTRIBUTE_TEXT,
            {.text = cpt_bytes_of(i % 2 == 1 ? "treatment" : "control")}};
        uint32_t entry = 0;

        cpt_path_reset(maker->path);
        must(cpt_path_frame_add(maker->path, CPT_FRAME_NONE, cpt_bytes_of("A: /"),
                                CPT_KIND_WORK, &entry));
        for (unsigned k = 0; k < 5000; k++) {
            char name[32];
            uint32_t frame = 0;

            state = state * 6364136223846793005U + 1442695040888963407U;
            (void)snprintf(name, sizeof name, k == 4321 ? "A: planted" : "A: c%u", k);
            must(cpt_path_frame_add(maker->path, entry, cpt_bytes_of(name),
                                    CPT_KIND_WORK, &frame));
            must(cpt_path_append_ns(maker->path, frame,
                                    k == 4321 ? planted_ns
                                              : 9000 + (state >> 33) % 2000));
        }
        record.latency_ns = cpt_path_sum_ns(maker->path);
        record.attributes = &arm;
        record.attribute_count = 1;
        write_record(maker, &record);
    }
}

/* Requests of two pages with many and twelve with few; one page has 4 requests in one
 * arm and 1 in the other. */
static void make_pages(struct maker *maker)
{
    for (unsigned i = 0; i < 600; i++) {
        const int is_treatment = i % 2 == 1;
        const unsigned rare = i < 40 ? i / 3 : 0;
        struct cpt_record record = usual_record(i);
        struct cpt_attribute attributes[2] = {
            {cpt_bytes_of("arm"),
             CPT_ATTRIBUTE_TEXT,
             {.text = cpt_bytes_of(is_treatment ? "treatment" : "control")}}};
        char page[32];

        (void)snprintf(page, sizeof page, i < 40 ? "rare%u" : "page%u",
                       i < 40 ? rare : i / 2 % 2);
        if (i >= 595) {
            (void)snprintf(page, sizeof page, "thin");
            attributes[0].value.text = cpt_bytes_of(i == 599 ? "treatment" : "control");
        }
        attributes[1] = (struct cpt_attribute){
            cpt_bytes_of("page"), CPT_ATTRIBUTE_TEXT, {.text = cpt_bytes_of(page)}};
        record.attributes = attributes;
        record.attribute_count = 2;
        make_path(maker, i, is_treatment);
        write_record(maker, &record);
    }
}

/* @count requests, of which @set makes path and record. */
static void make_each(struct maker *maker, unsigned count,
                      cpt_status (*set)(struct cpt_path *path,
                                        struct cpt_record *record, unsigned index))
{
    for (unsigned i = 0; i < count; i++) {
        struct cpt_record record = usual_record(i);

        must(set(maker->path, &record, i));
        write_record(maker, &record);
    }
}

/* Requests whose task A1 waits for a lock that A2 holds, for a worker that A3 has or
 * that is idle, behind two others, and for a processor; every fourth one waits for the
 * lock twice, for what A2 of another request has. */
static void make_contended(struct maker *maker)
{
    const struct cpt_attribute tenant = {
        cpt_bytes_of("tenant"), CPT_ATTRIBUTE_TEXT, {.text = cpt_bytes_of("large")}};

    for (unsigned i = 0; i < 8; i++) {
        struct cpt_record record = usual_record(i);
        struct cpt_path *path = maker->path;

        must(set_contended(path, i));
        record.latency_ns = cpt_path_sum_ns(path);
        record.has_trace_id = maker->has_ids;
        record.attributes = &tenant;
        record.attribute_count = maker->has_ids && i != 3; /* that of abc4 has none */
        record.trace_id[14] = 0xab; /* that of the next one, or of the first */
        record.trace_id[15] = (unsigned char)(0xc0 + (i + 1) % 8);
        write_record(maker, &record);
    }
}

/* The value of the response header for request 3. */
static void make_metadata(struct maker *maker)
{
    struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options,
        .server_elapsed_ns = 40000 * US,
        .has_server_elapsed = 1,
    };
    unsigned char *data;
    size_t bytes;
    char text[CPT_BASE64_BYTES(CPT_METADATA_BYTES_DEFAULT) + 1];

    make_path(maker, 3, 0);
    must(cpt_metadata_encode(maker->path, &options, &data, &bytes, NULL));
    (void)cpt_base64_encode(data, bytes, text, sizeof text);
    (void)printf("%s\n", text);
    cpt_alloc_free(NULL, data);
}

/* Whether one function makes the @variant. */
static int make_simple(struct maker *maker, const char *variant)
{
#define MAKE(name) (strcmp(variant, #name) == 0 && (make_##name(maker), 1))
#define EACH(name, count)                                                              \
    (strcmp(variant, #name) == 0 && (make_each(maker, count, set_##name), 1))
    return MAKE(delays) || MAKE(contended) || MAKE(failures) || MAKE(hostile) ||
           MAKE(turned) || MAKE(markup) || MAKE(alike) || MAKE(wide) || MAKE(years) ||
           MAKE(moved) || MAKE(services) || MAKE(inner) || MAKE(named) || MAKE(pages) ||
           MAKE(planted) || MAKE(unsound) || EACH(kept, KEPT_REQUESTS) ||
           EACH(heavy, HEAVY_REQUESTS) || EACH(minutes, MINUTES_REQUESTS) ||
           EACH(users, USERS_REQUESTS) || EACH(visits, VISITS_REQUESTS) ||
           EACH(some_visits, VISITS_REQUESTS) || EACH(events, EVENTS_REQUESTS) ||
           EACH(natural, NATURAL_REQUESTS) || EACH(sessions, SESSIONS) ||
           EACH(evidence, EVIDENCE_REQUESTS);
#undef MAKE
#undef EACH
}

static int make(struct maker *maker, const char *variant)
{
    if (make_simple(maker, variant)) {
        /* it is made */
    } else if (strcmp(variant, "experiment") == 0) {
        make_experiment(maker, REQUESTS);
    } else if (strcmp(variant, "drags") == 0) {
        maker->sets_drags = 1;
        make_experiment(maker, REQUESTS);
    } else if (strcmp(variant, "contended_ids") == 0) {
        maker->has_ids = 1;
        make_contended(maker);
    } else if (strcmp(variant, "few") == 0) {
        make_experiment(maker, 4);
    } else if (strcmp(variant, "damaged") == 0) {
        maker->damages_second = 1;
        make_experiment(maker, REQUESTS);
    } else if (strncmp(variant, "indexed", 7) == 0) {
        maker->damages_second = strcmp(variant, "indexed_damaged") == 0;
        maker->tells_lies = strcmp(variant, "indexed_lies") == 0;
        maker->index = cpt_log_index_new(NULL);
        make_experiment(maker, REQUESTS);
    } else if (strcmp(variant, "truncated") == 0) {
        maker->cuts_last = 1;
        make_experiment(maker, REQUESTS);
    } else if (strcmp(variant, "traced") == 0 || strcmp(variant, "retold") == 0) {
        make_traced(maker, variant);
    } else if (strcmp(variant, "untraced") == 0) {
        make_untraced();
    } else if (strcmp(variant, "empty") != 0) {
        (void)fprintf(stderr, "make_log: no variant '%s'\n", variant);
        return 2;
    }
    write_block(maker, 1);
    if (maker->index != NULL) {
        write_index(maker);
    }
    return 0;
}

int main(int argument_count, char **arguments)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    const int is_wide = argument_count == 2 && strcmp(arguments[1], "wide") == 0;
    struct maker maker = {
        .block = cpt_log_block_new(NULL, is_wide ? WIDE_BLOCK_BYTES : BLOCK_BYTES),
        .path = cpt_path_new(NULL),
    };
    int status = 2;

    if (argument_count == 2 && maker.block != NULL && maker.path != NULL) {
        if (strcmp(arguments[1], "metadata") == 0) {
            make_metadata(&maker);
            status = 0;
        } else {
            maker.written_bytes = cpt_log_header(header);
            (void)fwrite(header, 1, (size_t)maker.written_bytes, stdout);
            status = make(&maker, arguments[1]);
        }
    }
    cpt_log_block_free(maker.block);
    cpt_log_index_free(maker.index);
    cpt_path_free(maker.path);
    return fflush(stdout) == 0 ? status : 2;
}
