/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_structure_parts.h - the inside of a comparison of structure
 *
 * A *part* is what is counted of the requests that enter at one operation: cases of a
 * row, or the visits among which they are. A *cell* is a part of one request.
 */
#ifndef CPTI_CLI_CULPRIT_STRUCTURE_PARTS_H
#define CPTI_CLI_CULPRIT_STRUCTURE_PARTS_H

#include "tool/culprit/culprit_structure.h"
#include "cpt/base/hash_index.h"

/* What a part counts. */
enum cpti_structure_what {
    CPTI_STRUCTURE_VISITS, /* of an operation */
    CPTI_STRUCTURE_KNOWN,  /* that not only the caller saw: so their calls are known */
    CPTI_STRUCTURE_BOTH,   /* with both calls */
    CPTI_STRUCTURE_CALLED, /* that make a call */
    CPTI_STRUCTURE_REPEATED, /* calls beyond the first */
    CPTI_STRUCTURE_FAILED,   /* although no call did */
    CPTI_STRUCTURE_BESIDE    /* with both calls, side by side */
};

#define CPTI_STRUCTURE_NONE UINT32_MAX

struct cpti_structure_part {
    uint32_t what;
    uint32_t parent; /* operations, by their frames of `table` */
    uint32_t child;  /* or CPTI_STRUCTURE_NONE */
    uint32_t second;
    uint32_t entry;
    uint32_t among; /* of cases: the part of their visits; else itself */
    uint32_t count; /* in the request that is being added */
};

struct cpti_structure_cell {
    uint32_t part;
    uint32_t count;
};

struct cpti_structure_set {
    struct cpti_structure_cell *cells; /* request by request */
    size_t cell_count;
    size_t cell_capacity;
    struct cpti_structure_request {
        size_t end; /* of its cells */
        uint32_t entry;
    } * requests;
    size_t request_count;
    size_t request_capacity;
};

/* A call of an open visit. */
struct cpti_structure_call {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint32_t operation;
    bool has_times;
};

/* A visit that is open. */
struct cpti_structure_visit {
    uint64_t begin_ns;
    size_t calls_at; /* its calls: from there to the end */
    uint32_t root;   /* the frame where it begins */
    uint32_t operation;
    bool has_begin;
    bool is_failed;
    bool has_failed_call;
    bool is_blind; /* all of its time so far is a blind spot of its caller */
    bool is_known; /* it has other time */
};

struct cpti_structure {
    const struct cpt_alloc *alloc;
    struct cpt_path *table; /* operations, as frames without a parent */
    struct cpti_hash_index index;
    struct cpti_structure_part *parts;
    size_t part_count;
    size_t part_capacity;
    struct cpti_structure_set sets[2];
    struct cpti_structure_row *rows;
    size_t row_count;
    uint64_t left_out;
    bool is_compared; /* an entry operation is in both sets */
    /* while a request is added */
    uint32_t *roots; /* by frame: where its visit begins */
    size_t root_capacity;
    uint32_t *chain; /* roots of a segment, innermost first */
    size_t chain_capacity;
    struct cpti_structure_visit *open; /* outermost first */
    size_t open_count;
    size_t open_capacity;
    struct cpti_structure_call *calls;
    size_t call_count;
    size_t call_capacity;
    uint32_t *touched; /* parts with a count */
    size_t touched_count;
    size_t touched_capacity;
    uint32_t entry;
    bool is_cut;
};

/* The number of the part that is as @part, whatever its `among`, or NONE. */
uint32_t cpti_structure_find(const struct cpti_structure *structure,
                             const struct cpti_structure_part *part);

/* Of one row and one entry operation. */
struct cpti_structure_stratum {
    uint32_t cases; /* parts */
    uint32_t visits;
    uint32_t row;
    double rate; /* of both sets together */
};

/* A row that is tested. */
struct cpti_structure_tested {
    uint32_t from; /* its strata */
    uint32_t end;
    double scale; /* of U, as T is */
    double t;
};

/* Requests that are dealt together. */
struct cpti_structure_unit {
    uint32_t group;
    uint32_t set;
};

/* What is made on the way. */
struct cpti_structure_judging {
    struct cpti_structure *structure;
    const struct cpti_culprit_groups *groups;
    bool has_clusters;
    uint64_t random;
    uint64_t *totals[2]; /* by part */
    uint64_t *sums;      /* by part, of some requests */
    struct cpti_structure_stratum *strata;
    size_t stratum_count;
    uint32_t *firsts; /* by part of visits: its first stratum; … */
    uint32_t *nexts;  /* … by stratum: the next one of these visits, or NONE */
    struct cpti_structure_tested *tested;
    size_t tested_count;
    struct cpti_structure_unit *units; /* block by block, without partners */
    size_t unit_count;
    struct cpti_structure_block {
        size_t from;
        size_t end;
        size_t drawn; /* for the smaller set */
    } * blocks;       /* of one entry operation; of clusters, all */
    size_t block_count;
    struct cpti_structure_unit *paired; /* of the smaller set */
    size_t paired_count;
    unsigned smaller;
    double *largest; /* by round */
    unsigned rounds;
};

/* Finds T of the rows, and deals the requests as often as is needed; whether a row may
 * be told. */
bool cpti_structure_deal(struct cpti_structure_judging *judging);

/* How often chance is as far off as @t; at least once. After all rounds. */
double cpti_structure_p(const struct cpti_structure_judging *judging, double t);

/* For sorting. */
static inline int cpti_structure_compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

#endif
