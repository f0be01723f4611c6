/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tails.c - both sets, each cut at a quantile of its latency; see tails.h */
#include "tool/folds/tails.h"

#include "tool/base/files.h"
#include "tool/base/output.h"
#include "tool/requests/workers.h"
#include "tool/select/expression_lex.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHARES_ALL UINT64_C(100000000)

static const char *const side_names[2] = {"base", "new"};

/* --- Options --- */

/* "p99", "99%" and "99.9 %" are shares. */
static bool read_share(const char *text, uint64_t *share)
{
    char word[32];
    size_t bytes = strlen(text);

    if (text[0] != 'p' && bytes > 1 && bytes < sizeof word - 1 &&
        text[bytes - 1] == '%') {
        (void)snprintf(word, sizeof word, "p%.*s", (int)(bytes - 1), text);
        text = word;
    }
    return cpti_lex_percentile(cpt_bytes_of(text), share) && *share > 0 &&
           *share < SHARES_ALL;
}

static struct cpti_selection *selection_of(struct cpti_tails *tails, size_t side,
                                           enum cpti_tail_part part)
{
    return &tails->selections[side * CPTI_TAIL_PARTS + part];
}

static int init_part(struct cpti_tails *tails, size_t side, enum cpti_tail_part part)
{
    struct cpti_gather *gather = &tails->gathers[side][part];

    *gather = (struct cpti_gather){.selection = selection_of(tails, side, part),
                                   .what = side_names[side],
                                   .checks_time = part == CPTI_TAIL_ALL &&
                                                  tails->cluster_key == NULL,
                                   .may_be_empty = part != CPTI_TAIL_ALL};
    if (part == CPTI_TAIL_ALL && tails->cluster_key != NULL) {
        return cpti_views_cluster(&tails->views[side][part], tails->cluster_key,
                                  1U << CPTI_BY_STACK, gather);
    }
    return part == CPTI_TAIL_ALL || tails->by == CPTI_BY_STACK
               ? CPTI_EXIT_DONE
               : cpti_views_init(&tails->views[side][part], 1U << tails->by, gather);
}

int cpti_tails_init(struct cpti_tails *tails, const struct cpti_arguments *arguments)
{
    const char *text = cpti_value(arguments, "quantile");
    int status = CPTI_EXIT_DONE;

    *tails = (struct cpti_tails){.by = cpti_by_of(arguments),
                                 .cluster_key = cpti_value(arguments, "cluster")};
    if (!read_share(text, &tails->share)) {
        return cpti_usage("option '--quantile' takes a quantile above p0 and below "
                          "p100, such as p99 or 99.9%%, not '%s'",
                          cpti_quoted(text));
    }
    tails->quantile = (double)tails->share / (double)SHARES_ALL;
    tails->selections = calloc((size_t)2 * CPTI_TAIL_PARTS, sizeof *tails->selections);
    if (tails->selections == NULL) {
        return cpti_failed("out of memory");
    }
    for (size_t i = 0; i < 2 && status == CPTI_EXIT_DONE; i++) {
        for (int part = 0; part < CPTI_TAIL_PARTS && status == CPTI_EXIT_DONE; part++) {
            status = init_part(tails, i, (enum cpti_tail_part)part);
        }
    }
    return status;
}

void cpti_tails_deinit(struct cpti_tails *tails)
{
    for (size_t i = 0; i < 2; i++) {
        for (int part = 0; part < CPTI_TAIL_PARTS; part++) {
            cpt_tree_free(tails->gathers[i][part].tree);
            cpti_views_deinit(&tails->views[i][part]);
        }
    }
    free(tails->selections);
    *tails = (struct cpti_tails){0};
}

/* --- The borders --- */

/* The operands of a set: all of them, or those of one operand. */
struct inputs {
    const char *const *paths;
    size_t path_count;
    const struct cpti_source *sources;
    size_t source_count;
};

/* The selection of a set, without the part. enum cpti_exit. */
static int select_set(struct cpti_selection *selection,
                      const struct cpti_arguments *arguments, size_t side)
{
    const char *expression = cpti_value(arguments, side_names[side]);
    int status = cpti_selection_init(selection, arguments);

    if (status == CPTI_EXIT_DONE && expression != NULL) {
        status = cpti_selection_add(selection, side_names[side], expression);
    }
    if (status == CPTI_EXIT_DONE && selection->expression.percentile_count != 0) {
        status = cpti_usage("option '--quantile' takes the quantile of all selected "
                            "requests, and there is %s in their selection already",
                            selection->expression.percentiles[0].name);
    }
    return status;
}

/* Adds a term for @part. enum cpti_exit. */
static int add_term(struct cpti_tails *tails, size_t side, enum cpti_tail_part part,
                    const char *comparison, uint64_t ns)
{
    char *term = tails->terms[side][part];

    (void)snprintf(term, CPTI_TAIL_TERM_BYTES, "latency %s %" PRIu64 "ns", comparison,
                   ns);
    return cpti_selection_add(selection_of(tails, side, part), "quantile", term);
}

/* Selects the parts of a set, when its border is known. */
static int select_parts(struct cpti_tails *tails,
                        const struct cpti_arguments *arguments, size_t side,
                        uint64_t edge_ns)
{
    const uint64_t border_ns = tails->border_ns[side];
    char edge[48];
    int status = CPTI_EXIT_DONE;

    for (int part = 0; part < CPTI_TAIL_PARTS && status == CPTI_EXIT_DONE; part++) {
        status = select_set(selection_of(tails, side, (enum cpti_tail_part)part),
                            arguments, side);
    }
    status = CPTI_THEN(status, add_term(tails, side, CPTI_TAIL_TAIL, ">=", border_ns));
    status = CPTI_THEN(status, add_term(tails, side, CPTI_TAIL_REST, "<", border_ns));
    if (status == CPTI_EXIT_DONE) {
        (void)snprintf(edge, sizeof edge, "< %" PRIu64 "ns and latency >=", border_ns);
        status = add_term(tails, side, CPTI_TAIL_EDGE, edge, edge_ns);
    }
    return status;
}

/* "p99.9" */
static void percentile_text(uint64_t share, char text[32])
{
    (void)snprintf(text, 32, "p%.9g", (double)share / 1e6);
}

/* The latency of the percentile @share in a selection after its first pass. */
static uint64_t percentile_ns(const struct cpti_selection *selection, uint64_t share)
{
    const struct cpti_expression *expression = &selection->expression;

    for (size_t i = 0; i < expression->percentile_count; i++) {
        if (expression->percentiles[i].share == share) {
            return expression->percentiles[i].latency_ns;
        }
    }
    return 0;
}

/* Where the edge begins: it has as many requests as the tail, if there are as many. */
static uint64_t edge_share(uint64_t share)
{
    return 2 * share > SHARES_ALL ? 2 * share - SHARES_ALL : 0;
}

/* Finds the borders of sets @first and up to @last, all in @inputs, and selects their
 * parts. Here the selections of the whole sets are those of the first pass. */
static int find_borders(struct cpti_tails *tails,
                        const struct cpti_arguments *arguments,
                        const struct inputs *inputs, size_t first, size_t last)
{
    struct cpti_selection *selections[2];
    char border[32];
    char edge[32];
    char term[128];
    int status = CPTI_EXIT_DONE;
    size_t count = 0;

    percentile_text(tails->share, border);
    percentile_text(edge_share(tails->share), edge);
    (void)snprintf(term, sizeof term, "latency >= %s and latency >= %s", border, edge);
    for (size_t i = first; i <= last && status == CPTI_EXIT_DONE; i++) {
        selections[count] = selection_of(tails, i, CPTI_TAIL_ALL);
        status = select_set(selections[count], arguments, i);
        status =
            CPTI_THEN(status, cpti_selection_add(selections[count], "quantile", term));
        count++;
    }
    if (status == CPTI_EXIT_DONE) {
        status = cpti_gather_percentiles(selections, count, inputs->paths,
                                         inputs->path_count, cpti_processors());
    }
    for (size_t i = first; i <= last && status == CPTI_EXIT_DONE; i++) {
        struct cpti_selection *selection = selection_of(tails, i, CPTI_TAIL_ALL);
        const uint64_t edge_ns = percentile_ns(selection, edge_share(tails->share));

        tails->border_ns[i] = percentile_ns(selection, tails->share);
        cpti_selection_deinit(selection);
        status = select_parts(tails, arguments, i, edge_ns);
    }
    return status;
}

/* --- Gathering --- */

/* Reads @inputs for sets @first up to @last. */
static int gather_sets(struct cpti_tails *tails, const struct cpti_arguments *arguments,
                       const struct inputs *inputs, size_t first, size_t last,
                       bool *is_usable)
{
    int status = find_borders(tails, arguments, inputs, first, last);

    *is_usable = false;
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    for (size_t i = first; i <= last; i++) {
        for (int part = 0; part < CPTI_TAIL_PARTS; part++) {
            tails->gathers[i][part].sources = inputs->sources;
            tails->gathers[i][part].source_count = inputs->source_count;
        }
    }
    return cpti_gather(tails->gathers[first], (last - first + 1) * CPTI_TAIL_PARTS,
                       inputs->paths, inputs->path_count,
                       cpti_has(arguments, "stop-at-error"), is_usable);
}

int cpti_tails_gather(struct cpti_tails *tails, const struct cpti_arguments *arguments,
                      bool *is_usable)
{
    bool has_sides = false;
    struct inputs inputs = {arguments->operands, arguments->operand_count,
                            arguments->sources, arguments->source_count};
    int status = cpti_has_sides(arguments, &has_sides);

    *is_usable = false;
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (has_sides) {
        return gather_sets(tails, arguments, &inputs, 0, 1, is_usable);
    }
    if (arguments->source_count != 2) {
        return cpti_usage("'cpt diff' needs two files or folders, or --base and --new "
                          "for two selections of the same logs");
    }
    *is_usable = true;
    inputs.source_count = 1;
    for (size_t i = 0; i < 2 && *is_usable; i++) {
        inputs.path_count = arguments->sources[i].count;
        status = cpti_exit_last(
            status, gather_sets(tails, arguments, &inputs, i, i, is_usable));
        inputs.paths += arguments->sources[i].count;
        inputs.sources++;
    }
    return status;
}

/* --- Comparing --- */

static const struct cpt_tree *tree_of(const struct cpti_tails *tails, size_t side,
                                      enum cpti_tail_part part)
{
    return tails->by == CPTI_BY_STACK ? tails->gathers[side][part].tree
                                      : tails->views[side][part].self[tails->by];
}

bool cpti_tails_have_rest(const struct cpti_tails *tails)
{
    return cpt_tree_request_count(tails->gathers[0][CPTI_TAIL_REST].tree) != 0 &&
           cpt_tree_request_count(tails->gathers[1][CPTI_TAIL_REST].tree) != 0;
}

struct cpt_tail *cpti_tails_compare(const struct cpti_tails *tails)
{
    const struct cpt_tail_options options = {.struct_bytes = sizeof options,
                                             .quantile = tails->quantile};
    struct cpt_tail_set sets[2];
    struct cpt_error error = {0};
    struct cpt_tail *tail = NULL;

    for (size_t i = 0; i < 2; i++) {
        sets[i] = (struct cpt_tail_set){.tail = tree_of(tails, i, CPTI_TAIL_TAIL),
                                        .rest = tree_of(tails, i, CPTI_TAIL_REST),
                                        .edge = tree_of(tails, i, CPTI_TAIL_EDGE)};
    }
    if (cpt_tail_new(NULL, &sets[0], &sets[1], &options, &tail, &error) != CPT_OK) {
        (void)cpti_failed("%s", error.sentence[0] != '\0'
                                    ? error.sentence
                                    : cpt_status_sentence(error.status));
        return NULL;
    }
    return tail;
}
