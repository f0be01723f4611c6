/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * elasticsearch.c - spans as they come out of an index of Elasticsearch or OpenSearch
 *
 *      {"_index": "jaeger-span-2026-01-01", "_source": {"spanID": "a1", ...}}
 *      {"took": 3, "hits": {"total": 2, "hits": [{"_source": ...}, {"_source": ...}]}}
 *      {"hits": [{"_source": ...}, {"_source": ...}]}
 *      {"responses": [{"hits": {"hits": [{"_source": ...}]}}]}
 *
 * A document, as tools that copy an index write it, one a line; the answer to a search;
 * its "hits" alone; the answers to several. What is in "_source" is a span as Jaeger or
 * Zipkin writes it.
 */
#include "import/formats/formats.h"

cpt_status cpti_index_document(struct cpti_doc_value document, struct cpti_sink *sink)
{
    const struct cpti_doc_value source = cpti_doc_get(document, "_source");

    /* one that is no span is counted as one without an id */
    return cpti_doc_string(cpti_doc_get(source, "spanID")).bytes == 0 &&
                   cpti_doc_string(cpti_doc_get(source, "id")).bytes > 0
               ? cpti_zipkin_span(source, sink)
               : cpti_jaeger_span(source, sink);
}

/* The documents of the answer to one search. */
static cpt_status read_hits(struct cpti_doc_value answer, struct cpti_sink *sink)
{
    struct cpti_doc_value hits = cpti_doc_get(answer, "hits");
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    if (cpti_doc_type(hits) == CPTI_DOC_OBJECT) {
        hits = cpti_doc_get(hits, "hits");
    }
    for (bool is = cpti_doc_first(hits, &member); is && status == CPT_OK;
         is = cpti_doc_next(&member)) {
        status = cpti_index_document(member.value, sink);
    }
    return status;
}

cpt_status cpti_index_answer(struct cpti_doc_value answer, struct cpti_sink *sink)
{
    struct cpti_doc_member member;
    cpt_status status = read_hits(answer, sink);

    for (bool is = cpti_doc_first(cpti_doc_get(answer, "responses"), &member);
         is && status == CPT_OK; is = cpti_doc_next(&member)) {
        status = read_hits(member.value, sink);
    }
    return status;
}
