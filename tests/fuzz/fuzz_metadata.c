/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_metadata.c - any bytes as the metadata of a callee
 *
 * Accepted bytes give a path that adds up, that its own encoding gives back, and that
 * fits every budget with its sum and its nonce. The readers of ASCII headers get the
 * same bytes.
 */
#include "wire/cpt_metadata.h"

#include <stdlib.h>
#include <string.h>

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

/* No fold invents a drag: none is above the largest of the whole path, nor above its
 * segment. */
static void check_drags(const struct cpt_path *path, const void *data, size_t bytes)
{
    struct cpt_path *back = cpt_path_new(NULL);
    uint64_t clamped = 0;
    const struct cpt_metadata_decode_options options = {.struct_bytes = sizeof options,
                                                        .clamped_drags = &clamped};
    uint64_t largest_ns = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const uint64_t drag_ns = cpt_path_drag(path, i);

        largest_ns =
            drag_ns != CPT_DRAG_UNKNOWN && drag_ns > largest_ns ? drag_ns : largest_ns;
    }
    must(cpt_metadata_decode(data, bytes, &options, back, NULL) == CPT_OK);
    must(clamped == 0);
    for (size_t i = 0; i < cpt_path_segment_count(back); i++) {
        const uint64_t drag_ns = cpt_path_drag(back, i);

        must(drag_ns == CPT_DRAG_UNKNOWN ||
             (drag_ns <= largest_ns &&
              drag_ns <= cpt_path_segment(back, i)->duration_ns));
    }
    cpt_path_free(back);
}

/* The ask is written as it was read. */
static void check_ask(const struct cpt_ask *ask)
{
    struct cpt_ask back;
    char text[128];
    struct cpt_bytes value = {text, cpt_ask_format(ask, text, sizeof text)};

    must(value.bytes < sizeof text);
    must(cpt_ask_parse(&value, 1, &back, NULL) == CPT_OK);
    must(back.version == ask->version && back.bytes_max == ask->bytes_max &&
         back.is_forced == ask->is_forced && back.wants_drag == ask->wants_drag &&
         back.graph_id == ask->graph_id && back.delay_ns == ask->delay_ns &&
         back.delay_frame == ask->delay_frame && back.delay_burns == ask->delay_burns);
}

/* What a service asks of its callees is an ask, and never forced. */
static void check_onward(const struct cpt_ask *ask)
{
    const struct cpt_ask onward = cpt_ask_downstream(ask, 500);

    check_ask(&onward);
    must(onward.bytes_max <= 500 && onward.bytes_max <= ask->bytes_max);
    must(!onward.is_forced && onward.graph_id == 0);
    must(onward.wants_drag == ask->wants_drag && onward.delay_ns == ask->delay_ns);
}

/* A nonce is 16 digits, and is written as they are. */
static void read_nonce(struct cpt_bytes value)
{
    const struct cpt_bytes two[] = {value, value};
    const uint64_t nonce = cpt_nonce_parse(&value, 1);
    char text[CPT_NONCE_BYTES + 1];

    must(cpt_nonce_parse(two, 2) == 0);
    if (nonce != 0) {
        cpt_nonce_format(nonce, text);
        must(cpt_bytes_equal(value, cpt_bytes_of(text)));
    }
}

static void check_budget(const struct cpt_path *path, uint64_t nonce, size_t bytes_max)
{
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options, .bytes_max = bytes_max, .nonce = nonce};
    struct cpt_metadata_summary summary;
    unsigned char *data = NULL;
    size_t bytes = 0;
    const cpt_status status = cpt_metadata_encode(path, &options, &data, &bytes, NULL);

    must(status == CPT_OK || (status == CPT_LIMIT && bytes_max < 42));
    if (status == CPT_OK) {
        check_drags(path, data, bytes);
        must(bytes <= bytes_max);
        must(cpt_metadata_peek(data, bytes, &summary, NULL) == CPT_OK);
        must(summary.sum_ns == cpt_path_sum_ns(path));
        must(summary.nonce == nonce);
    }
    cpt_alloc_free(NULL, data);
}

static int is_same(const struct cpt_path *a, uint32_t at, const struct cpt_path *b,
                   uint32_t bt)
{
    while (at != CPT_FRAME_NONE && bt != CPT_FRAME_NONE) {
        const struct cpt_frame *one = cpt_path_frame(a, at);
        const struct cpt_frame *other = cpt_path_frame(b, bt);
        const struct cpt_bytes name = cpt_path_name(a, one->name);

        if (one->kind != other->kind ||
            !cpt_bytes_equal(name, cpt_path_name(b, other->name))) {
            return 0;
        }
        at = one->parent;
        bt = other->parent;
    }
    return at == bt;
}

/* Read, written and read again it is the same path; written again, the same bytes. */
static void check_round_trip(const struct cpt_path *path)
{
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .is_unlimited = 1};
    struct cpt_path *back = cpt_path_new(NULL);
    unsigned char *data = NULL;
    unsigned char *again = NULL;
    size_t bytes = 0;
    size_t bytes_again = 0;

    must(cpt_metadata_encode(path, &options, &data, &bytes, NULL) == CPT_OK);
    must(cpt_metadata_decode(data, bytes, NULL, back, NULL) == CPT_OK);
    must(cpt_path_sum_ns(back) == cpt_path_sum_ns(path));
    must(cpt_path_segment_count(back) == cpt_path_segment_count(path));
    must(cpt_path_label_count(back) == cpt_path_label_count(path));
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *one = cpt_path_segment(path, i);
        const struct cpt_segment *other = cpt_path_segment(back, i);

        must(one->duration_ns == other->duration_ns && one->count == other->count &&
             one->flags == other->flags && one->reason == other->reason);
        must(cpt_path_drag(path, i) == cpt_path_drag(back, i));
        must(is_same(path, one->frame, back, other->frame));
    }
    must(cpt_metadata_encode(back, &options, &again, &bytes_again, NULL) == CPT_OK);
    must(bytes_again == bytes && memcmp(again, data, bytes) == 0);
    cpt_alloc_free(NULL, again);
    cpt_alloc_free(NULL, data);
    cpt_path_free(back);
}

/* What is passed on is bounded and accepted again; what `ot` says survives. */
static void read_state(struct cpt_bytes value)
{
    char text[CPT_TRACESTATE_BYTES_MAX + 1];
    char again[CPT_TRACESTATE_BYTES_MAX + 1];
    struct cpt_consistent first;
    struct cpt_consistent second;
    size_t bytes = 0;

    if (cpt_tracestate_join(&value, 1, text, &bytes) != CPT_OK) {
        return;
    }
    must(bytes <= CPT_TRACESTATE_BYTES_MAX);
    cpt_consistent_parse((struct cpt_bytes){text, bytes}, &first);
    bytes = cpt_consistent_format((struct cpt_bytes){text, bytes}, &first, again);
    must(bytes <= CPT_TRACESTATE_BYTES_MAX);
    must(cpt_tracestate_join(&(struct cpt_bytes){again, bytes}, 1, text, &bytes) ==
         CPT_OK);
    cpt_consistent_parse((struct cpt_bytes){again, bytes}, &second);
    must(first.threshold == second.threshold && first.randomness == second.randomness);
}

static void read_headers(const uint8_t *data, size_t size)
{
    const struct cpt_bytes value = {(const char *)data, size};
    unsigned char *bytes = malloc(size + 1);
    char *text = malloc(CPT_BASE64_BYTES(size) + 1);
    struct cpt_traceparent parent;
    struct cpt_ask ask;
    size_t count = 0;

    must(bytes != NULL && text != NULL);
    if (cpt_ask_parse(&value, 1, &ask, NULL) == CPT_OK) {
        check_ask(&ask);
        check_onward(&ask);
    }
    read_nonce(value);
    (void)cpt_traceparent_parse(value, &parent);
    read_state(value);
    (void)cpt_base64_decode(value, bytes, size, &count, NULL);
    must(cpt_base64_encode(data, size, text, CPT_BASE64_BYTES(size) + 1) ==
         CPT_BASE64_BYTES(size));
    must(cpt_base64_decode(cpt_bytes_of(text), bytes, size, &count, NULL) == CPT_OK);
    must(count == size);
    free(bytes);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t budgets[] = {1, 8, 20, 40, 80, 160, 320, 640, 1280, 2048};
    struct cpt_metadata_summary summary;
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};

    must(path != NULL);
    if (cpt_metadata_decode(data, size, NULL, path, &error) == CPT_OK) {
        must(cpt_metadata_peek(data, size, &summary, NULL) == CPT_OK);
        must(cpt_path_check(path, summary.sum_ns, NULL) == CPT_OK);
        check_round_trip(path);
        for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
            check_budget(path, summary.nonce, budgets[i]);
        }
    } else {
        must(error.status != CPT_OK && error.sentence[0] != '\0');
        must(cpt_path_frame_count(path) == 0 && cpt_path_segment_count(path) == 0);
        (void)cpt_metadata_peek(data, size, &summary, NULL);
    }
    read_headers(data, size);
    cpt_path_free(path);
    return 0;
}
