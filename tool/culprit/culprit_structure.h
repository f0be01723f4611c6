/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_structure.h - what requests do otherwise, whatever time it takes
 *
 * Of each operation P of a service, and each operation C that it calls:
 *
 *      visits of P that call C         the call vanished, is new, is more or less often
 *      calls of C beyond the first     a visit of P makes more or fewer of them
 *      visits of P that fail           although none of their calls did
 *      of visits that make calls C     those in which two of these calls overlap: they
 *      and C', as callers' spans say   are side by side, or one after the other
 *
 * Each is a *row*: a number of cases among a number of visits. Requests are compared
 * within each entry operation s, the first visit of a request, so that another mix of
 * requests is no change. With a_s cases among n_s visits in the base, and b_s among m_s
 * in the new set:
 *
 *      U = Σ w_s (b_s/m_s - a_s/n_s)          w_s = n_s m_s / (n_s + m_s)
 *        = Σ of e over the requests of the new set
 *      e = cases of a request - its visits × (a_s + b_s) / (n_s + m_s)
 *      T = U / its standard deviation, if requests were dealt anew within each s
 *
 * There are many rows of calls and of order, and few of failures. So that failures need
 * not stand out of all of these, T is divided by what the largest of as many normal
 * values as there are rows of its family is. p of a row is how often chance makes the
 * largest |T| of all rows as large (max-T). Clusters are dealt together, if there are
 * any, and T has another scale then, which no deal changes.
 *
 * Threads: one at a time. The same requests in the same order give the same rows.
 */
#ifndef CPTI_CLI_CULPRIT_STRUCTURE_H
#define CPTI_CLI_CULPRIT_STRUCTURE_H

#include "tool/culprit/culprit.h"

/* A row is told if chance does it no more often, … */
#define CPTI_STRUCTURE_P 0.005
/* … and it is no trifle: by as much of a share, or twice as many failures; and of calls
 * side by side, by as much. */
#define CPTI_STRUCTURE_CHANGE       0.05
#define CPTI_STRUCTURE_FACTOR       2.0
#define CPTI_STRUCTURE_ORDER_CHANGE 0.25

enum {
    CPTI_STRUCTURE_CASES_MIN = 5,       /* a row with fewer is not compared */
    CPTI_STRUCTURE_CALLEES_MAX = 12,    /* of one visit, whose order is compared */
    CPTI_STRUCTURE_PARTS_MAX = 1 << 18, /* rows, by entry operations */
    CPTI_STRUCTURE_CELLS_MAX = 1 << 23  /* of a set: rows of one request */
};

enum cpti_structure_kind {
    CPTI_STRUCTURE_CALL_VANISHED,
    CPTI_STRUCTURE_CALL_NEW,
    CPTI_STRUCTURE_CALLS_MORE,
    CPTI_STRUCTURE_CALLS_FEWER,
    CPTI_STRUCTURE_ORDER,   /* cases: two calls are side by side */
    CPTI_STRUCTURE_FAILURES /* more, or fewer */
};

struct cpti_structure_row {
    enum cpti_structure_kind kind;
    bool is_repeated;        /* of calls: cases are calls, not visits that make one */
    struct cpt_bytes parent; /* "service: operation"; names are borrowed */
    struct cpt_bytes child;  /* empty: there is none */
    struct cpt_bytes second; /* of ORDER */
    uint64_t visits[2];      /* by set, where both sets have some */
    uint64_t cases[2];
    double shares[2]; /* cases a visit, of the mix of entries that both sets share */
    double p;
    double t;
};

struct cpti_structure;
struct cpti_culprit_groups;

/* An empty comparison over @alloc, or NULL. The caller owns it. */
struct cpti_structure *cpti_structure_new(const struct cpt_alloc *alloc);
void cpti_structure_free(struct cpti_structure *structure);

/* Adds a request with all its visits, as cpti_spans_all() makes them. What goes beyond
 * a limit is left out and counted. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_structure_add(struct cpti_structure *structure,
                              enum cpti_culprit_side side, const struct cpt_path *path);

/* Compares the sets, each of which has one of the two @groups: of the requests in the
 * order in which they were added. Once. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_structure_judge(struct cpti_structure *structure,
                                const struct cpti_culprit_groups *groups,
                                bool has_clusters, uint64_t seed);

/* Whether an entry operation is in both sets; else nothing is compared. */
bool cpti_structure_is_compared(const struct cpti_structure *structure);

/* What changed, the surest first; nothing of NULL. */
size_t cpti_structure_row_count(const struct cpti_structure *structure);
const struct cpti_structure_row *
cpti_structure_row(const struct cpti_structure *structure, size_t index);

/* Requests of which some or all rows are left out. */
uint64_t cpti_structure_left_out(const struct cpti_structure *structure);

#endif
