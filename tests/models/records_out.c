/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* records_out.c - simulated requests as records of a path log; see records_out.h */
#include "tests/models/records_out.h"

#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <stdlib.h>

static void must(bool is_done)
{
    if (!is_done) {
        fputs("microservices: a record cannot be written\n", stderr);
        exit(1);
    }
}

static void write_block(const struct records_out *out)
{
    const struct cpt_bytes bytes = cpt_log_block_finish(out->block);

    must(fwrite(bytes.data, 1, bytes.bytes, out->file) == bytes.bytes);
}

void records_out_begin(struct records_out *out)
{
    unsigned char head[CPT_LOG_HEADER_BYTES_MAX];
    const size_t bytes = cpt_log_header(head);

    out->block = cpt_log_block_new(NULL, 0);
    out->path = cpt_path_new(NULL);
    must(out->block != NULL && out->path != NULL &&
         fwrite(head, 1, bytes, out->file) == bytes);
}

static void write_record(const struct records_out *out, const struct cpt_record *record)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status;

    must(cpt_record_encode(record, NULL, &data, &bytes, NULL) == CPT_OK);
    status = cpt_log_block_add(out->block, data, bytes);
    if (status == CPT_LIMIT) {
        write_block(out);
        status = cpt_log_block_add(out->block, data, bytes);
    }
    must(status == CPT_OK);
    cpt_alloc_free(NULL, data);
}

void records_out_request(struct records_out *out, const struct request *request)
{
    const struct span *root = &request->spans[0];
    char entry[64];
    char tenant[16];
    uint32_t frame = 0;
    struct cpt_attribute attribute = {.key = cpt_bytes_of("tenant"),
                                      .type = CPT_ATTRIBUTE_TEXT};
    struct cpt_record record = {.probability = 1,
                                .is_random = 1,
                                .has_trace_id = 1,
                                .service = cpt_bytes_of("svc0"),
                                .method = cpt_bytes_of(root->operation),
                                .status = cpt_bytes_of("ok"),
                                .attributes = &attribute,
                                .attribute_count = 1,
                                .path = out->path};

    snprintf(entry, sizeof entry, "svc%d: %s", root->service, root->operation);
    record.entry = cpt_bytes_of(entry);
    snprintf(tenant, sizeof tenant, "t%d", request->tenant);
    attribute.value.text = cpt_bytes_of(tenant);
    record.start_unix_ns =
        (uint64_t)(span_epoch_us(out->start_s) * 1000) + (uint64_t)root->start_ns;
    record.latency_ns = (uint64_t)(root->end_ns - root->start_ns);
    for (size_t i = 0; i < 8; i++) {
        record.trace_id[15 - i] = (unsigned char)((request->number + 1) >> (8 * i));
    }
    cpt_path_reset(out->path);
    must(cpt_path_frame_add(out->path, CPT_FRAME_NONE, record.entry, CPT_KIND_WORK,
                            &frame) == CPT_OK &&
         cpt_path_append_ns(out->path, frame, record.latency_ns) == CPT_OK);
    write_record(out, &record);
}

void records_out_end(struct records_out *out)
{
    write_block(out);
    cpt_log_block_free(out->block);
    cpt_path_free(out->path);
}
