/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_otlp.c - any bytes as a request of OpenTelemetry in protobuf
 *
 * All texts of a span must lie within the request, but for its ids.
 */
#include "import/formats/formats.h"

#include <stdlib.h>

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

static void must_lie_in(const struct cpt_bytes *request, struct cpt_bytes text)
{
    must(text.bytes == 0 ||
         (text.data >= request->data && text.bytes <= request->bytes &&
          (size_t)(text.data - request->data) <= request->bytes - text.bytes));
}

/* As in the seeds. */
static const struct cpt_bytes keys[] = {
    {"service.name", 12}, {"host.name", 9}, {"a", 1}, {"", 0}};

static cpt_status take(void *context, struct cpt_bytes trace,
                       const struct cpti_span *span)
{
    const struct cpt_bytes *request = context;

    must(trace.bytes == 32 && span->id.bytes == 16);
    must(span->parent.bytes == 0 || span->parent.bytes == 16);
    must(span->kind <= CPTI_SPAN_CONSUMER && span->rejected < UINT64_C(1) << 56);
    must_lie_in(request, span->service);
    must_lie_in(request, span->operation);
    must_lie_in(request, span->peer);
    for (const struct cpti_tag *tag = span->tags; tag != NULL; tag = tag->next) {
        must(tag->key < sizeof keys / sizeof *keys);
        must(tag->value.text.bytes <= CPTI_TAG_BYTES_MAX);
        must_lie_in(request, tag->value.text);
    }
    return CPT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cpt_bytes request = {(const char *)data, size};
    struct cpti_tagging tagging = {.keys = keys,
                                   .key_count = sizeof keys / sizeof *keys};
    struct cpti_sink sink = {.take = take, .context = &request, .tagging = &tagging};
    struct cpt_error error = {0};
    cpt_status status;

    cpt_arena_init(&tagging.arena, NULL, 0, 0);
    status = cpti_otlp_protobuf(request, &sink, &error);
    cpt_arena_deinit(&tagging.arena);
    must(status == CPT_OK || (status == CPT_CORRUPT && error.offset <= size));
    return 0;
}
