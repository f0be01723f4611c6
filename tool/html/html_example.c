/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* html_example.c - one request as the page draws it over time; see html_example.h */
#include "tool/html/html_example.h"

#include "tool/base/output.h"
#include "tool/print/path_print.h"
#include "cpt/cpt_path.h"

static void put_frames(struct cpti_json *json, const struct cpt_path *path,
                       size_t frame_count)
{
    char text[CPTI_TEXT_BYTES];

    cpti_json_open(json, "frames", '[');
    for (uint32_t i = 0; i < frame_count; i++) {
        const struct cpt_frame *frame = cpt_path_frame(path, i);
        const char *word = cpt_kind_word(frame->kind);

        cpti_json_open(json, NULL, '[');
        cpti_json_integer(
            json, NULL, frame->parent == CPT_FRAME_NONE ? -1 : (int64_t)frame->parent);
        (void)cpt_path_frame_text(path, i, text, sizeof text);
        cpti_json_text(json, NULL, text);
        (void)cpt_text_name(cpt_path_frame_service(path, i), text, sizeof text);
        cpti_json_text(json, NULL, text);
        cpti_json_text(json, NULL, word != NULL ? word : "unknown");
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

/* The time beyond the limits is written as one number, so that the sum stays right. */
static void put_path(struct cpti_json *json, const struct cpt_path *path)
{
    const size_t frame_count = cpt_path_frame_count(path) < CPTI_HTML_SEGMENTS_MAX
                                   ? cpt_path_frame_count(path)
                                   : CPTI_HTML_SEGMENTS_MAX;
    uint64_t left_ns = cpt_path_sum_ns(path);
    char text[CPTI_TEXT_BYTES];

    put_frames(json, path, frame_count);
    cpti_json_open(json, "segments", '[');
    for (size_t i = 0; i < cpt_path_segment_count(path) && i < CPTI_HTML_SEGMENTS_MAX;
         i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        if (segment->frame >= frame_count) {
            break;
        }
        left_ns -= segment->duration_ns;
        cpti_json_open(json, NULL, '[');
        cpti_json_unsigned(json, NULL, segment->frame);
        cpti_json_unsigned(json, NULL, segment->duration_ns);
        cpti_path_remarks(path, i, text, sizeof text);
        if (text[0] != '\0') {
            cpti_json_text(json, NULL, text);
        }
        cpti_json_close(json);
    }
    cpti_json_close(json);
    cpti_json_unsigned(json, "rest_ns", left_ns);
}

static void put_fields(struct cpti_json *json, const struct cpti_record_copy *kept)
{
    char text[64];

    cpti_json_text(json, "start", cpti_utc(kept->start_unix_ns, text));
    cpti_json_unsigned(json, "latency_ns", kept->latency_ns);
    cpti_json_text(json, "entry", kept->entry);
    cpti_json_text(json, "status", kept->status);
    cpti_json_text(json, "remarks", kept->remarks);
    cpti_json_text(json, "metadata", kept->metadata);
    put_path(json, kept->path);
}

void cpti_html_example(struct cpti_json *json, const char *key,
                       const struct cpti_record_copy *kept)
{
    if (kept == NULL) {
        cpti_json_null(json, key);
        return;
    }
    cpti_json_open(json, key, '{');
    put_fields(json, kept);
    cpti_json_close(json);
}
