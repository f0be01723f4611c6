/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * policy.h - rules of an operator: which requests are traced, which are logged
 *
 *      begin    head rules, in order: the first that matches says with which
 *               probability the request is traced, else that of the service
 *      end      keep rules: each whose condition holds may keep it, too
 *
 * Each request has one random number R of 56 bits. A decision with probability p keeps
 * it if R >= (1 - p) * 2^56. So a request that several decisions may keep is kept with
 * the largest of their probabilities, which is exactly known, and stands in its record:
 * means that are weighted by its inverse are unbiased.
 *
 * A rate adapts the probability of the next request by what came before it, never by
 * the request itself. So it is known, too, and never 0.
 */
#ifndef CPT_POLICY_H
#define CPT_POLICY_H

#include "cpt/cpt_path.h"
#include "framework/cpt_rpc.h"
#include "framework/pool/lock.h"
#include "framework/service/rules/bucket.h"
#include "framework/service/rules/glance.h"
#include "wire/cpt_log.h"

#include <stdatomic.h>
#include <stdbool.h>

enum {
    CPTI_RULES_MAX = 32,
    CPTI_RULE_NAME_BYTES = 64,
    CPTI_RULE_TEXT_BYTES = 255,
    CPTI_TENANTS_MAX = 256, /* of all rates of a service; further ones share one */
    CPTI_TENANT_WAYS = 8
};

/* One rule. Empty texts match all. */
struct cpti_policy_rule {
    char name[CPTI_RULE_NAME_BYTES + 1];
    char owner[CPTI_RULE_NAME_BYTES + 1];
    char until[11];  /* "2026-12-31": its last day, in UTC */
    uint64_t end_ns; /* of the wall clock */
    char method[CPTI_RULE_TEXT_BYTES +
                1]; /* "/api/…": what is before a '*' at its end */
    char tenant[CPTI_RULE_TEXT_BYTES + 1];
    char header[CPTI_RULE_NAME_BYTES + 1]; /* empty: none; else its first has … */
    char header_value[CPTI_RULE_TEXT_BYTES + 1];
    char parameter[CPTI_RULE_NAME_BYTES + 1]; /* of the query, likewise */
    char parameter_value[CPTI_RULE_TEXT_BYTES + 1];
    double probability; /* 0 to 1 … */
    double rate;        /* … or per second and tenant, above 0 */
    bool has_probability;
    bool is_consistent; /* R is that of the trace that the request belongs to */
    bool has_graph;
    bool has_drag;
    uint32_t graph_every; /* K: one in K that it traces keeps its graph; 0: none */
    double drag_share;    /* … and this share asks for drags; else as the service */
    /* Of a keep rule, whose conditions must all hold: */
    bool is_keep;
    bool wants_failed;
    bool has_latency;
    bool has_path;
    uint64_t latency_ns; /* more than it */
    uint64_t path_ns;    /* in the frame and below it */
    char frame[CPTI_RULE_TEXT_BYTES + 1];
    char key[CPTI_RULE_NAME_BYTES + 1]; /* of an attribute; empty: none */
    char value[CPTI_RULE_TEXT_BYTES + 1];
};

struct cpti_policy_rules {
    struct cpti_policy_rule items[CPTI_RULES_MAX];
    size_t count;
    bool has_consistent;                          /* one of them is */
    char tenant_header[CPTI_RULE_NAME_BYTES + 1]; /* names the tenant; empty: none */
    /* Of requests that only keep rules trace; 0: the default. */
    uint32_t glance_bytes; /* that callees are asked for, … */
    double whole_rate;     /* … but for this number in a second … */
    uint64_t whole_ns; /* … within this time after a rule kept one of their method */
};

/* Reads "8", the K of one in K: 0, none, to 1,000,000,000. */
bool cpti_every_read(struct cpt_bytes text, uint32_t *every);

/* Whether @text may be the name of a header. */
bool cpti_is_header_name(struct cpt_bytes text);

/* Reads "owner sre; until 2026-12-31; method /api/…; probability 0.1" as rule @name.
 * CPT_OK; CPT_INVALID or CPT_LIMIT with the reason; then @rules is as before. */
cpt_status cpti_rule_read(struct cpti_policy_rules *rules, struct cpt_bytes name,
                          struct cpt_bytes text, struct cpt_error *error);

/* Reads "glance_bytes", "whole_rate" or "whole_time". False: @key is none of them.
 * @status: CPT_OK, or CPT_INVALID with the reason. */
bool cpti_glance_read(struct cpti_policy_rules *rules, struct cpt_bytes key,
                      struct cpt_bytes text, cpt_status *status,
                      struct cpt_error *error);

/* For other settings that are made of clauses, "word what it says; …": takes the next
 * one from @text; false: there is none. */
bool cpti_clause_take(struct cpt_bytes *text, struct cpt_bytes *word,
                      struct cpt_bytes *said);

/* What a clause says: 1 to @bytes_max printable bytes, copied with a '\0' to @to; a
 * number as "0.5"; "5/s" or "30/min"; "50ms". False: it is malformed. */
bool cpti_clause_text(struct cpt_bytes text, char *to, size_t bytes_max);
bool cpti_clause_probability(struct cpt_bytes text, double *probability);
bool cpti_clause_rate(struct cpt_bytes text, double *per_second);
bool cpti_clause_duration(struct cpt_bytes text, uint64_t *ns);

/* The rate of one tenant. */
struct cpti_tenant {
    uint64_t key; /* of tenant and rule; 0: unused */
    uint64_t last_ns;
    double tokens;   /* at last_ns; below 0: too many were taken */
    double arrivals; /* in the last second, each counts less the older it is */
};

/* The rules of one service. */
struct cpti_policy {
    const struct cpt_alloc *alloc;
    atomic_uint reference_count; /* acq_rel: the last one frees */
    uint64_t generation;
    struct cpti_policy_rules rules;      /* not changed */
    atomic_bool is_over[CPTI_RULES_MAX]; /* relaxed */
    struct cpti_rate_limit whole; /* requests that ask for all, though only … */
    struct cpti_lock lock;        /* guards tenants */
    struct cpti_tenant tenants[CPTI_TENANTS_MAX + 1]; /* the last one is shared */
};

/* NULL: no memory. The caller owns a reference. */
struct cpti_policy *cpti_policy_new(const struct cpti_policy_rules *rules,
                                    uint64_t generation, const struct cpt_alloc *alloc);
void cpti_policy_release(struct cpti_policy *policy);

/* What a head rule is told of a request. */
struct cpti_head {
    struct cpt_bytes method;
    struct cpt_bytes tenant;
    struct cpt_bytes query; /* as it came */
    const struct cpt_field *headers;
    size_t header_count;
    uint64_t now_ns;
    double probability;  /* of the service, if no rule matches */
    uint64_t randomness; /* R of the coin … */
    uint64_t of_trace;   /* … and that of its trace … */
    bool has_of_trace;   /* … if it has one */
};

struct cpti_ruling {
    bool is_hit;
    double probability;  /* of the hit */
    uint64_t randomness; /* R that decided */
    uint32_t keep_rules; /* a bit for each rule that may keep it at its end */
    bool is_shared;      /* its tenant had no place of its own */
    const struct cpti_policy_rule
        *rule; /* that decided, of the policy; NULL: none did */
};

struct cpti_ruling cpti_policy_begin(struct cpti_policy *policy,
                                     const struct cpti_head *head);

/* What a keep rule is told of a request; @path may be NULL. */
struct cpti_ended {
    uint64_t latency_ns;
    bool is_failed;
    const struct cpt_attribute *attributes;
    size_t attribute_count;
    const struct cpt_path *path;
};

/* Whether one of @keep_rules may hold, by how long the request took and whether it
 * failed alone. A path has no more time than the request, so this is cheap to ask. */
bool cpti_policy_may_keep(const struct cpti_policy *policy, uint32_t keep_rules,
                          uint64_t latency_ns, bool is_failed);

/* The probability with which the request is kept, by the rules @keep_rules whose
 * conditions hold; 0: none does. */
double cpti_policy_end(const struct cpti_policy *policy, uint32_t keep_rules,
                       const struct cpti_ended *ended);

#endif
