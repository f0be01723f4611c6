/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_whatif.c - any bytes as terms of a what-if, one on each line
 *
 * A refused term is refused with a place in it and a sentence. An accepted one borrows
 * from the text alone, has amounts within their limits, matches a name twice the same
 * way, and can be replayed: the path of a request is as long as its latency.
 */
#include "cpt/cpt_path.h"
#include "cpt/cpt_whatif.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TERMS = 8 };

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

/* A1 calls C twice; then A2 follows, which waited in a queue. */
static const struct cpt_dag_name names[] = {{{"A: A1", 5}, CPT_DAG_STEP},
                                            {{"C: C", 4}, CPT_DAG_CALL},
                                            {{"A: A2", 5}, CPT_DAG_QUEUE},
                                            {{"A: A2", 5}, CPT_DAG_STEP}};
static const struct cpt_dag_node nodes[] = {
    {3, 0, CPT_DAG_STEP}, {2, 0, CPT_DAG_STEP},  {5, 1, CPT_DAG_CALL},
    {6, 1, CPT_DAG_CALL}, {2, 2, CPT_DAG_QUEUE}, {9, 3, CPT_DAG_STEP}};
static const struct cpt_dag_edge edges[] = {{0, 1}, {0, 2}, {2, 1}, {1, 3},
                                            {3, 4}, {1, 4}, {4, 5}};
static const uint32_t node_lines[] = {0, 0, 1, 2, 3, 3};
static const struct cpt_dag_line lines[] = {{{"A", 1}, CPT_DAG_NONE, 0, 0},
                                            {{"", 0}, 0, 1, CPT_CALL_REMOTE},
                                            {{"", 0}, 0, 1, CPT_CALL_REMOTE},
                                            {{"A", 1}, CPT_DAG_NONE, 0, 0}};

static struct cpt_whatif *make(void)
{
    const struct cpt_dag_recorded recorded = {.shape = {.nodes = nodes,
                                                        .node_count = 6,
                                                        .edges = edges,
                                                        .edge_count = 7,
                                                        .end = CPT_DAG_NONE,
                                                        .frame_count = 4},
                                              .frames = names,
                                              .node_lines = node_lines,
                                              .lines = lines,
                                              .line_count = 4};
    struct cpt_whatif *whatif = cpt_whatif_new(NULL);
    struct cpt_dag *dag = NULL;

    must(whatif != NULL && cpt_dag_new(NULL, &recorded.shape, &dag, NULL) == CPT_OK);
    must(cpt_whatif_add(whatif, dag, &recorded, 1) == CPT_OK);
    cpt_dag_free(dag);
    return whatif;
}

static void check_term(const struct cpt_whatif_term *term, struct cpt_bytes text)
{
    must(term->amount_ns <= CPT_WHATIF_AMOUNT_MAX_NS);
    must(term->share >= 0 && term->share <= 1000);
    must(cpt_whatif_verb_word(term->verb) != NULL);
    must(term->frames.name.bytes <= text.bytes || term->frames.is_service != 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const int has = cpt_whatif_has(&term->frames, &names[i]);

        must(has == 0 || has == 1);
        must(cpt_whatif_has(&term->frames, &names[i]) == has);
    }
}

static void replay(const struct cpt_whatif *whatif, const struct cpt_whatif_term *terms,
                   size_t count)
{
    struct cpt_whatif_plan *plan = NULL;
    struct cpt_path *path = cpt_path_new(NULL);
    size_t unmatched = SIZE_MAX;
    uint64_t latency_ns = 0;
    const cpt_status status =
        cpt_whatif_plan_new(whatif, terms, count, NULL, &plan, &unmatched, NULL);

    must(status == CPT_OK || (status == CPT_END && unmatched < count));
    if (status == CPT_OK) {
        must(path != NULL && cpt_whatif_run(plan, 0, 1, &latency_ns) == CPT_OK);
        must(cpt_whatif_path(plan, 0, cpt_bytes_of("A: /"), path) == CPT_OK);
        must(cpt_path_check(path, latency_ns, NULL) == CPT_OK);
    }
    cpt_path_free(path);
    cpt_whatif_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cpt_whatif *whatif = make();
    struct cpt_whatif_term terms[TERMS];
    struct cpt_bytes rest = {(const char *)data, size};
    size_t count = 0;

    while (rest.bytes != 0 && count < TERMS) {
        const char *end = memchr(rest.data, '\n', rest.bytes);
        const struct cpt_bytes line = {
            rest.data, end != NULL ? (size_t)(end - rest.data) : rest.bytes};
        const size_t used = line.bytes + (end != NULL);
        struct cpt_error error = {0};

        if (cpt_whatif_line_read(line, &terms[count], &error) == CPT_OK) {
            check_term(&terms[count], line);
            replay(whatif, &terms[count], 1);
            count++;
        } else {
            must(error.sentence[0] != '\0' && error.offset <= line.bytes);
        }
        rest = (struct cpt_bytes){rest.data + used, rest.bytes - used};
    }
    replay(whatif, terms, count);
    cpt_whatif_free(whatif);
    return 0;
}
