/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_splice.c - splicing by definition, for small paths; see model_splice.h */
#include "tests/support/model_splice.h"

#include <CUnit/CUnit.h>

#include <string.h>

__extension__ typedef unsigned __int128 wide;

void model_callee_make(struct model_callee *callee, struct test_random *random,
                       const char *call_name, uint64_t duration_ns_max)
{
    static const char *const names[] = {"B: u", "B: v", "X: w", "plain", "C: \xc3\xa9"};
    static const unsigned kinds[] = {CPT_KIND_QUEUE,        CPT_KIND_NETWORK,
                                     CPT_KIND_UNATTRIBUTED, CPT_KIND_BLIND_SPOT,
                                     CPT_KIND_FOLDED,       77};
    callee->segment_count = test_random_below(random, MODEL_SEGMENTS_MAX + 1);
    for (size_t i = 0; i < callee->segment_count; i++) {
        struct model_segment *segment = &callee->segments[i];

        segment->depth = 1 + test_random_below(random, MODEL_DEPTH_MAX);
        segment->duration_ns = test_random_below(random, duration_ns_max + 1);
        for (size_t level = 0; level < segment->depth; level++) {
            const int is_work = test_random_chance(random, 80);

            segment->kinds[level] =
                is_work ? CPT_KIND_WORK : kinds[test_random_below(random, 6)];
            segment->names[level] = is_work ? names[test_random_below(random, 5)] : "";
        }
        if (test_random_chance(random, 70)) {
            segment->names[0] = call_name;
            segment->kinds[0] = CPT_KIND_WORK;
        }
    }
}

void model_callee_path(const struct model_callee *callee, struct cpt_path *path)
{
    for (size_t i = 0; i < callee->segment_count; i++) {
        const struct model_segment *segment = &callee->segments[i];
        uint32_t frame = CPT_FRAME_NONE;

        for (size_t level = 0; level < segment->depth; level++) {
            CU_ASSERT_EQUAL_FATAL(
                cpt_path_frame_add(path, frame, cpt_bytes_of(segment->names[level]),
                                   segment->kinds[level], &frame),
                CPT_OK);
        }
        CU_ASSERT_EQUAL_FATAL(cpt_path_append_ns(path, frame, segment->duration_ns),
                              CPT_OK);
    }
}

/* Copies the service of the last frame of @text that has one; only test names come in,
 * so what stands between ';' and ": " is it. */
static void last_service(const char *text, char service[MODEL_TEXT_BYTES])
{
    const char *at = text;

    service[0] = '\0';
    while (at != NULL) {
        const char *end = strchr(at, ';');
        const char *colon = strstr(at, ": ");

        if (colon != NULL && (end == NULL || colon < end)) {
            (void)snprintf(service, MODEL_TEXT_BYTES, "%.*s", (int)(colon - at), at);
        }
        at = end != NULL ? end + 1 : NULL;
    }
}

void model_stack_push(char text[MODEL_TEXT_BYTES], const char *name, unsigned kind)
{
    char service[MODEL_TEXT_BYTES];
    const size_t bytes = strlen(text);
    char *end = text + bytes;
    const size_t left = MODEL_TEXT_BYTES - bytes;
    const char *between = bytes != 0 ? ";" : "";

    last_service(text, service);
    if (kind == CPT_KIND_WORK) {
        (void)snprintf(end, left, "%s%s", between, name);
    } else if (cpt_kind_words(kind) == NULL) {
        (void)snprintf(end, left, "%s%s%s\u2039kind %u\u203a", between, service,
                       service[0] != '\0' ? ": " : "", kind);
    } else {
        (void)snprintf(end, left, "%s%s%s\u2039%s%s%s\u203a", between, service,
                       service[0] != '\0' ? ": " : "", cpt_kind_words(kind),
                       name[0] != '\0' ? ": " : "", name);
    }
}

static struct model_run *add_run(struct model_runs *runs, const char *stack,
                                 uint64_t duration_ns)
{
    struct model_run *run = &runs->runs[runs->count++];

    memset(run, 0, sizeof *run);
    (void)snprintf(run->stack, sizeof run->stack, "%s", stack);
    run->duration_ns = duration_ns;
    return run;
}

static void add_kind(struct model_runs *runs, const char *call_text, unsigned kind,
                     unsigned reason, uint64_t duration_ns)
{
    struct model_run *run = add_run(runs, call_text, duration_ns);

    model_stack_push(run->stack, "", kind);
    run->reason = reason;
}

/* Shares of @whole: rounds all down, then adds one to the share that lost most, until
 * they fit. */
static void share(struct model_runs *runs, uint64_t sum, uint64_t whole)
{
    uint64_t rests[MODEL_RUNS_MAX];
    uint64_t given = 0;

    for (size_t i = 0; i < runs->count; i++) {
        const wide product = (wide)runs->runs[i].duration_ns * whole;

        runs->runs[i].duration_ns = (uint64_t)(product / sum);
        rests[i] = (uint64_t)(product % sum) + 1; /* 0: has its unit */
        given += runs->runs[i].duration_ns;
    }
    for (; given < whole; given++) {
        size_t best = 0;

        for (size_t i = 1; i < runs->count; i++) {
            best = rests[i] > rests[best] ? i : best;
        }
        runs->runs[best].duration_ns++;
        rests[best] = 0;
    }
}

static void clip_to(struct model_runs *runs, uint64_t whole)
{
    for (size_t i = 0; i < runs->count; i++) {
        if (runs->runs[i].duration_ns > whole) {
            runs->runs[i].duration_ns = whole;
        }
        whole -= runs->runs[i].duration_ns;
    }
}

static void add_callee(struct model_runs *runs, const char *call_text,
                       const char *call_name, const struct model_callee *callee)
{
    for (size_t i = 0; i < callee->segment_count; i++) {
        const struct model_segment *segment = &callee->segments[i];
        struct model_run *run = add_run(runs, call_text, segment->duration_ns);

        for (size_t level = 0; level < segment->depth; level++) {
            if (level == 0 && segment->kinds[0] == CPT_KIND_WORK &&
                strcmp(segment->names[0], call_name) == 0) {
                continue;
            }
            model_stack_push(run->stack, segment->names[level], segment->kinds[level]);
        }
    }
}

/* Takes @skip_ns away from the front, then drops what has no time left. */
static void cut_front(struct model_runs *runs, uint64_t skip_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < runs->count; i++) {
        struct model_run *run = &runs->runs[i];
        const uint64_t cut_ns = run->duration_ns < skip_ns ? run->duration_ns : skip_ns;

        run->duration_ns -= cut_ns;
        skip_ns -= cut_ns;
        if (run->duration_ns != 0) {
            if (kept != i) {
                runs->runs[kept] = *run;
            }
            kept++;
        }
    }
    runs->count = kept;
}

static uint64_t larger(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

static uint64_t smaller(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* Applies the excess to the callee's runs: shares, flag, label. */
static void bring_down(struct model_runs *runs, uint64_t sum,
                       const struct cpt_splice *splice)
{
    const uint64_t observed = splice->observed_ns;
    const uint64_t excess = sum - observed;

    if (splice->overcount == CPT_OVERCOUNT_CLIP) {
        clip_to(runs, observed);
    } else {
        share(runs, sum, observed);
    }
    for (size_t i = 0; i < runs->count; i++) {
        runs->runs[i].flags =
            excess > 1000 && excess > observed / 100 ? CPT_SEGMENT_OVERCOUNT : 0;
    }
    runs->overcount_ns = excess;
}

void model_splice(struct model_runs *runs, const char *call_text, const char *call_name,
                  const struct model_callee *callee, const struct cpt_splice *splice)
{
    const uint64_t O = splice->observed_ns;
    uint64_t P = 0;
    uint64_t S = 0;

    runs->count = 0;
    runs->overcount_ns = 0;
    for (size_t i = 0; callee != NULL && i < callee->segment_count; i++) {
        P += callee->segments[i].duration_ns;
    }
    S = splice->has_server_elapsed ? splice->server_elapsed_ns : P;
    runs->undercount_ns = O > P ? O - P : 0;
    runs->is_inconsistent = S < P;
    if (S > O) {
        runs->overcount_ns = S - O;
    }
    if (P == 0 && (callee == NULL || !splice->has_server_elapsed)) {
        const uint64_t E = smaller(S, O);
        const uint64_t left = splice->has_server_elapsed ? O - E : O;
        const uint64_t after = smaller(splice->receive_queue_ns, left);
        const uint64_t before = smaller(splice->send_queue_ns, left - after);
        const uint64_t rest = left - after - before;

        add_kind(runs, call_text, CPT_KIND_SEND_QUEUE, 0, before);
        add_kind(runs, call_text, CPT_KIND_BLIND_SPOT,
                 callee != NULL && splice->reason == CPT_REASON_NONE
                     ? CPT_REASON_UNDECODABLE
                     : splice->reason,
                 splice->has_server_elapsed ? E : rest);
        add_kind(runs, call_text, CPT_KIND_NETWORK, 0,
                 splice->has_server_elapsed ? rest : 0);
        add_kind(runs, call_text, CPT_KIND_RECEIVE_QUEUE, 0, after);
    } else if (P > O) {
        add_callee(runs, call_text, call_name, callee);
        bring_down(runs, P, splice);
    } else {
        const uint64_t E = smaller(larger(S, P), O);
        const uint64_t after = smaller(splice->receive_queue_ns, O - E);
        const uint64_t before = smaller(splice->send_queue_ns, O - E - after);

        add_kind(runs, call_text, CPT_KIND_SEND_QUEUE, 0, before);
        add_callee(runs, call_text, call_name, callee);
        add_kind(runs, call_text, CPT_KIND_UNATTRIBUTED, 0, E - P);
        add_kind(runs, call_text, CPT_KIND_NETWORK, 0, O - E - before - after);
        add_kind(runs, call_text, CPT_KIND_RECEIVE_QUEUE, 0, after);
    }
    cut_front(runs, splice->skip_ns);
    if (P > O && runs->count != 0) {
        runs->runs[0].excess_ns = P - O;
    }
}
