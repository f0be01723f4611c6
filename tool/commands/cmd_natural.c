/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cmd_natural.c - cpt natural: a natural experiment with requests that happened to
 * differ
 *
 *      log --> those for which --when holds ---.   equal in service, method, size …
 *          '-> the others ---------------------+-> latency and frames that differ
 *                                              '-> what has no counterpart, counted
 */
#include "tool/base/amounts.h"
#include "tool/base/folders.h"
#include "tool/base/output.h"
#include "tool/folds/counterparts.h"
#include "tool/log/span_tags.h"
#include "tool/print/diff_print.h"
#include "tool/print/quantile_print.h"
#include "tool/print/tree_print.h"
#include "tool/requests/log_keys.h"
#include "tool/requests/log_walk.h"
#include "tool/select/select.h"
#include "tool/table/sheet.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A smaller p is sure, a smaller one than the second may be chance. */
#define SURE    0.01
#define PERHAPS 0.05

enum verdict { CANNOT_TELL, NOTHING_FOUND, UNSURE, FASTER, SLOWER };

/* A row of the table of both groups. */
struct group_row {
    const char *word;
    uint64_t requests;
    uint64_t compared;
    uint64_t alone;
    uint64_t single;
    double equal_ns; /* the mean of those that are compared, held equal */
    double mean_ns;  /* of all */
};

/* One run of the command. */
struct natural {
    const struct cpti_arguments *arguments;
    struct cpti_gather gather;
    struct cpti_selection when;
    struct cpti_counterparts parts;
    char *keys;            /* of --equal, cut into words */
    struct cpt_diff *diff; /* NULL: nothing can be compared */
    struct cpti_diff_rows rows;
    struct cpti_diff_filter filter;
    struct cpti_diff_print print; /* the context of the rows */
    struct cpti_view view;
};

/* --- The verdict --- */

static const struct cpt_change *change_of(const struct natural *natural)
{
    return &cpt_diff_total(natural->diff)->inclusive;
}

static enum verdict verdict_of(const struct natural *natural)
{
    const double p = natural->parts.deal.p_value;
    const struct cpt_change *change;

    if (natural->diff == NULL ||
        cpt_diff_total(natural->diff)->doubt == CPT_DIFF_FEW_REQUESTS) {
        return CANNOT_TELL;
    }
    change = change_of(natural);
    if (p <= SURE && (change->low_ns > 0 || change->high_ns < 0)) {
        return change->delta_ns < 0 ? FASTER : SLOWER;
    }
    return p <= PERHAPS ? UNSURE : NOTHING_FOUND;
}

/* Why it cannot be told. */
static const char *reason_of(const struct natural *natural)
{
    return natural->diff == NULL
               ? "no two requests of each group are equal in all that is held equal"
               : cpt_diff_doubt_text(cpt_diff_total(natural->diff)->doubt);
}

/* --- Both groups --- */

static struct group_row row_of(const struct natural *natural, int group)
{
    const struct cpti_counterparts *parts = &natural->parts;
    const struct cpti_alike_counts *counts = &parts->compared;
    const bool holds = group == CPTI_ALIKE_HOLDS;

    return (struct group_row){.word = holds ? "holds" : "others",
                              .requests = parts->counts[group],
                              .compared = counts->compared[group],
                              .alone = counts->alone[group],
                              .single = counts->single[group],
                              .equal_ns = natural->diff == NULL ? (double)NAN
                                          : holds ? change_of(natural)->new_ns
                                                  : change_of(natural)->base_ns,
                              .mean_ns = cpti_counterparts_mean(parts, group).mean_ns};
}

static const struct cpti_column group_columns[] = {
    {"group", "group", CPTI_TEXT, CPTI_OF(struct group_row, word)},
    {"requests", "requests", CPTI_COUNT, CPTI_OF(struct group_row, requests)},
    {"compared", "compared", CPTI_COUNT, CPTI_OF(struct group_row, compared)},
    {"alone", "no counterpart", CPTI_COUNT, CPTI_OF(struct group_row, alone)},
    {"single", "single", CPTI_COUNT, CPTI_OF(struct group_row, single)},
    {"equal_ns", "held equal ms", CPTI_NS, CPTI_OF(struct group_row, equal_ns)},
    {"mean_ns", "of all ms", CPTI_NS, CPTI_OF(struct group_row, mean_ns)},
    {0},
};

static const struct cpti_relation group_relation = {
    "groups", group_columns, "requests,compared,alone,single,equal_ns,mean_ns,group"};

/* --- As text --- */

static void print_difference(const struct natural *natural)
{
    const struct cpt_change *change = change_of(natural);
    char interval[CPTI_INTERVAL_BYTES];
    char text[32];

    (void)printf("%s%s ms (95 %% interval %s), p %.2g", change->delta_ns < 0 ? "" : "+",
                 cpti_ms(change->delta_ns, text),
                 cpti_interval_text(change->low_ns, change->high_ns, interval),
                 natural->parts.deal.p_value);
}

static void print_verdict(const struct natural *natural)
{
    static const char *const words[] = {[CANNOT_TELL] = "cannot tell",
                                        [NOTHING_FOUND] = "no difference found",
                                        [UNSURE] = "not sure",
                                        [FASTER] = "faster where it holds",
                                        [SLOWER] = "slower where it holds"};
    const enum verdict verdict = verdict_of(natural);
    char text[32];

    (void)printf("%s: ", words[verdict]);
    if (natural->diff != NULL) {
        print_difference(natural);
        (void)printf("\n");
    }
    if (verdict == CANNOT_TELL) {
        (void)printf("%s\n", reason_of(natural));
    } else if (verdict == NOTHING_FOUND) {
        (void)printf("a difference of %s ms would be found in 4 of 5 such logs\n",
                     cpti_ms(cpt_diff_total(natural->diff)->detectable_ns, text));
    }
}

static void print_size(const struct natural *natural)
{
    const struct cpti_counterparts *parts = &natural->parts;
    const uint64_t by_attribute = parts->size_counts[CPTI_ALIKE_SIZE_ATTRIBUTE];
    const uint64_t by_path = parts->size_counts[CPTI_ALIKE_SIZE_PATH];
    const char *key = parts->size_key != NULL ? parts->size_key : CPTI_ALIKE_SIZE_KEY;

    if (by_attribute != 0) {
        (void)printf(", size (attribute '%s', powers of two", cpti_quoted(key));
        if (by_path != 0 && !parts->compared.size_is_dropped) {
            (void)printf("; %" PRIu64 " without it: segments of the path", by_path);
        }
        (void)printf(")");
    } else if (by_path != 0 && !parts->compared.size_is_dropped) {
        (void)printf(", size (segments of the path, powers of two)");
    }
    if (parts->compared.size_is_dropped) {
        (void)printf("\nnot held equal: the segments of the path, by which over half "
                     "have no counterpart");
    }
}

static void print_held(const struct natural *natural)
{
    const struct cpti_counterparts *parts = &natural->parts;

    (void)printf("held equal: service, method");
    for (size_t i = 0; i < parts->key_count; i++) {
        (void)printf(", %s", cpti_quoted(parts->keys[i]));
    }
    print_size(natural);
    (void)printf("\nstrata: %zu, of which %zu are compared\n", parts->count,
                 parts->compared.strata);
    if (parts->keyless_count != 0) {
        (void)printf("of the others %" PRIu64 " have no attribute that the condition "
                     "asks for\n",
                     parts->keyless_count);
    }
    if (parts->late_counts[0] + parts->late_counts[1] != 0) {
        (void)printf("more than %d strata: %" PRIu64 " requests of later ones count as "
                     "without counterpart\n",
                     CPTI_ALIKE_STRATA_MAX,
                     parts->late_counts[0] + parts->late_counts[1]);
    }
}

/* The head of a struct cpti_sheet. */
static int head(const void *context)
{
    const struct natural *natural = context;
    const struct group_row groups[2] = {row_of(natural, CPTI_ALIKE_HOLDS),
                                        row_of(natural, CPTI_ALIKE_OTHERS)};
    const struct cpti_rows rows = CPTI_ROWS(groups, 2, natural);
    const struct cpti_view view =
        cpti_view_beside(&natural->view, &group_relation, NULL);
    const char *fence = natural->view.format == CPTI_FORMAT_MARKDOWN ? "```\n" : "";
    int status;

    (void)printf("%s", fence);
    print_verdict(natural);
    (void)printf("\nwhen: %s\n",
                 cpti_printable(cpt_bytes_of(cpti_value(natural->arguments, "when"))));
    print_held(natural);
    cpti_tree_print(natural->gather.tree, "all");
    (void)printf("%s\n", fence);
    status = cpti_relation_print(&view, &rows, 2);
    (void)printf("\n");
    return status;
}

/* What is not shown, and what this is not. */
static void foot(const void *context, size_t row_max)
{
    const struct natural *natural = context;
    char text[32];

    (void)row_max;
    if (natural->rows.hidden_count != 0 && natural->rows.is_default) {
        (void)printf("\n%" PRIu32 " rows not shown: q > %g, change < %s ms (--max-q 1 "
                     "shows all)\n",
                     natural->rows.hidden_count, natural->rows.max_q,
                     cpti_ms(natural->rows.min_ns, text));
    } else if (natural->rows.hidden_count != 0) {
        (void)printf("\n%" PRIu32 " rows not shown, by --max-q or --min\n",
                     natural->rows.hidden_count);
    }
    (void)printf("\nThis is an observation, not an experiment: what made the condition "
                 "hold may\nitself make requests fast or slow, unless it is held equal "
                 "(--equal).\n");
}

/* --- As JSON --- */

static void put_change(const struct natural *natural, struct cpti_json *json)
{
    static const struct cpt_change unknown = {(double)NAN, (double)NAN, (double)NAN,
                                              (double)NAN, (double)NAN, (double)NAN,
                                              (double)NAN, (double)NAN};
    const bool is_known = natural->diff != NULL;
    const struct cpt_change *change = is_known ? change_of(natural) : &unknown;

    cpti_json_ns(json, "base_ns", change->base_ns);
    cpti_json_ns(json, "new_ns", change->new_ns);
    cpti_json_ns(json, "delta_ns", change->delta_ns);
    cpti_json_ns(json, "low_ns", change->low_ns);
    cpti_json_ns(json, "high_ns", change->high_ns);
    cpti_json_rough(json, "p_value",
                    is_known ? natural->parts.deal.p_value : (double)NAN);
    cpti_json_unsigned(json, "deals", natural->parts.deal.deal_count);
    cpti_json_ns(json, "detectable_ns",
                 is_known ? cpt_diff_total(natural->diff)->detectable_ns : (double)NAN);
    cpti_json_float(json, "confidence", 0.95);
    cpti_json_ns(
        json, "unequal_delta_ns",
        cpti_counterparts_mean(&natural->parts, CPTI_ALIKE_HOLDS).mean_ns -
            cpti_counterparts_mean(&natural->parts, CPTI_ALIKE_OTHERS).mean_ns);
}

static void put_held(const struct natural *natural, struct cpti_json *json)
{
    const struct cpti_counterparts *parts = &natural->parts;

    cpti_json_open(json, "held_equal", '[');
    cpti_json_text(json, NULL, "service");
    cpti_json_text(json, NULL, "method");
    for (size_t i = 0; i < parts->key_count; i++) {
        cpti_json_text(json, NULL, parts->keys[i]);
    }
    cpti_json_close(json);
    cpti_json_open(json, "size", '{');
    cpti_json_text(json, "key",
                   parts->size_key != NULL ? parts->size_key : CPTI_ALIKE_SIZE_KEY);
    cpti_json_unsigned(json, "by_attribute",
                       parts->size_counts[CPTI_ALIKE_SIZE_ATTRIBUTE]);
    cpti_json_unsigned(json, "by_path", parts->size_counts[CPTI_ALIKE_SIZE_PATH]);
    cpti_json_bool(json, "path_is_dropped", parts->compared.size_is_dropped);
    cpti_json_close(json);
    cpti_json_unsigned(json, "strata", parts->count);
    cpti_json_unsigned(json, "strata_compared", parts->compared.strata);
    cpti_json_unsigned(json, "without_key", parts->keyless_count);
    cpti_json_unsigned(json, "beyond_limit",
                       parts->late_counts[0] + parts->late_counts[1]);
}

static void put(const void *context, struct cpti_json *json)
{
    static const char *const words[] = {[CANNOT_TELL] = "cannot_tell",
                                        [NOTHING_FOUND] = "none",
                                        [UNSURE] = "unsure",
                                        [FASTER] = "faster",
                                        [SLOWER] = "slower"};
    const struct natural *natural = context;
    const struct group_row groups[2] = {row_of(natural, CPTI_ALIKE_HOLDS),
                                        row_of(natural, CPTI_ALIKE_OTHERS)};
    const struct cpti_rows rows = CPTI_ROWS(groups, 2, natural);
    const struct cpti_view view =
        cpti_view_beside(&natural->view, &group_relation, NULL);
    const enum verdict verdict = verdict_of(natural);

    cpti_json_text(json, "verdict", words[verdict]);
    if (verdict == CANNOT_TELL) {
        cpti_json_text(json, "why", reason_of(natural));
    }
    cpti_json_text(json, "when", cpti_value(natural->arguments, "when"));
    put_change(natural, json);
    put_held(natural, json);
    cpti_json_open(json, "all", '{');
    cpti_tree_json(json, natural->gather.tree);
    cpti_json_close(json);
    cpti_relation_json(&view, &rows, 2, json);
    cpti_json_text(json, "by", cpti_by_words[natural->print.by]);
    cpti_json_unsigned(json, "row_count",
                       natural->diff != NULL ? cpt_diff_row_count(natural->diff) : 0);
    cpti_json_unsigned(json, "tested_count",
                       natural->diff != NULL ? cpt_diff_tested_count(natural->diff)
                                             : 0);
}

/* What the rows behind the first @row_max add up to. */
static void put_rest(const void *context, size_t row_max, struct cpti_json *json)
{
    const struct natural *natural = context;
    double delta_ns = 0;

    for (size_t i = row_max; i < natural->rows.count; i++) {
        delta_ns += natural->rows.rows[i]->self.delta_ns;
    }
    cpti_json_ns(json, "delta_ns", delta_ns);
}

/* --- The command --- */

static int print_rows(struct natural *natural)
{
    struct cpti_view view = natural->view;
    struct cpti_column base = *cpti_relation_column(&cpti_diff_relation, "base_ns");
    struct cpti_column other = *cpti_relation_column(&cpti_diff_relation, "new_ns");
    struct cpti_column stack = *cpti_relation_column(&cpti_diff_relation, "stack");
    const struct cpti_sheet sheet = {
        .view = &view,
        .rows = CPTI_ROWS_AT(natural->rows.rows, natural->rows.count, &natural->print),
        .context = natural,
        .head = head,
        .foot = foot,
        .put = put,
        .put_rest = put_rest};

    base.heading = "others ms";
    other.heading = "holds ms";
    stack.heading = cpti_by_words[natural->print.by];
    cpti_view_replace(&view, &base);
    cpti_view_replace(&view, &other);
    cpti_view_replace(&view, &stack);
    return cpti_sheet_print(&sheet);
}

static int show(struct natural *natural)
{
    natural->print.diff = natural->diff;
    if (natural->diff != NULL &&
        cpti_diff_rows_init(&natural->rows, natural->diff, &natural->filter,
                            &natural->view, &natural->print) != CPT_OK) {
        return cpti_failed("out of memory");
    }
    return print_rows(natural);
}

/* Says which requests there are none of. enum cpti_exit. */
static int check_groups(const struct natural *natural)
{
    const struct cpti_arguments *arguments = natural->arguments;
    const struct cpti_expression *when = &natural->when.expression;
    const uint64_t *counts = natural->parts.counts;
    char key[CPT_NAME_BYTES_MAX + 1];

    if (natural->gather.met_tree) {
        return cpti_usage("a tree does not know its requests" CPTI_HINT
                          "give the path log it was made from");
    }
    if (counts[CPTI_ALIKE_OTHERS] == 0) {
        return cpti_failed("option '--when': it holds for each request, of %" PRIu64
                           ", so there are no others",
                           counts[CPTI_ALIKE_HOLDS]);
    }
    if (counts[CPTI_ALIKE_HOLDS] != 0) {
        return CPTI_EXIT_DONE;
    }
    (void)cpti_failed("option '--when': it holds for no request, of %" PRIu64,
                      counts[CPTI_ALIKE_OTHERS]);
    for (size_t i = 0; i < when->test_count; i++) {
        const struct cpt_bytes bytes = cpti_expression_key(when, i);

        if (when->tests[i].subject == CPTI_SUBJECT_ATTRIBUTE &&
            bytes.bytes < sizeof key) {
            memcpy(key, bytes.data, bytes.bytes);
            key[bytes.bytes] = '\0';
            cpti_log_keys_suggest(key, arguments->operands, arguments->operand_count);
        }
    }
    return CPTI_EXIT_FAILED;
}

/* Whether some request has each key that is to be held equal. enum cpti_exit. */
static int check_keys(const struct natural *natural)
{
    const struct cpti_counterparts *parts = &natural->parts;
    const char *key = NULL;
    const char *option = "equal";

    for (size_t i = 0; i < parts->key_count && key == NULL; i++) {
        key = parts->key_counts[i] == 0 ? parts->keys[i] : NULL;
    }
    if (key == NULL && parts->size_key != NULL &&
        parts->size_counts[CPTI_ALIKE_SIZE_ATTRIBUTE] == 0) {
        key = parts->size_key;
        option = "size";
    }
    if (key == NULL) {
        return CPTI_EXIT_DONE;
    }
    (void)cpti_failed("option '--%s': no request has '%s'", option, cpti_quoted(key));
    cpti_log_keys_suggest(key, natural->arguments->operands,
                          natural->arguments->operand_count);
    return CPTI_EXIT_FAILED;
}

/* --- Options --- */

/* Cuts the keys of --equal. */
static int read_keys(struct natural *natural)
{
    const char *given = cpti_value(natural->arguments, "equal");
    struct cpti_counterparts *parts = &natural->parts;
    char *at = NULL;

    if (given == NULL) {
        return CPTI_EXIT_DONE;
    }
    natural->keys = strdup(given);
    if (natural->keys == NULL) {
        return cpti_failed("out of memory");
    }
    for (char *key = strtok_r(natural->keys, ",", &at); key != NULL;
         key = strtok_r(NULL, ",", &at)) {
        if (parts->key_count == CPTI_ALIKE_KEYS_MAX) {
            return cpti_usage("option '--equal' takes at most %d keys",
                              CPTI_ALIKE_KEYS_MAX);
        }
        parts->keys[parts->key_count++] = key;
    }
    return parts->key_count != 0
               ? CPTI_EXIT_DONE
               : cpti_usage("option '--equal' takes KEY,..., not '%s'",
                            cpti_quoted(given));
}

static void read_size(struct natural *natural)
{
    const char *size = cpti_value(natural->arguments, "size");
    struct cpti_counterparts *parts = &natural->parts;

    parts->has_no_size = size != NULL && strcmp(size, "none") == 0;
    parts->has_path_size = size != NULL && strcmp(size, "path") == 0;
    parts->size_key = parts->has_no_size || parts->has_path_size ? NULL : size;
}

static int read_when(struct natural *natural)
{
    const char *when = cpti_value(natural->arguments, "when");
    int status;

    if (when == NULL) {
        return cpti_usage("'cpt natural' needs --when, the condition that holds for "
                          "some requests" CPTI_HINT "try --when 'cache == \"hit\"'");
    }
    status = cpti_selection_add(&natural->when, "when", when);
    if (status == CPTI_EXIT_DONE && natural->when.expression.percentile_count != 0) {
        return cpti_usage("option '--when' takes no percentile: a condition on the "
                          "latency cannot explain it");
    }
    return status;
}

static int init(struct natural *natural)
{
    const struct cpti_arguments *arguments = natural->arguments;
    struct cpti_counterparts *parts = &natural->parts;
    int status = read_when(natural);

    natural->print.by = parts->by = cpti_by_of(arguments);
    natural->print.view = &natural->view;
    parts->when = &natural->when;
    read_size(natural);
    status = CPTI_THEN(status, read_keys(natural));
    status =
        CPTI_THEN(status, cpti_view_read(arguments, &cpti_diff_relation,
                                         "delta_ns,margin,q_shown,change_shown,base_ns,"
                                         "new_ns,stack",
                                         &natural->view));
    status = CPTI_THEN(status, cpti_diff_filter_init(&natural->filter, arguments));
    return CPTI_THEN(status, cpti_counterparts_init(parts, &natural->gather));
}

static int measure(struct natural *natural)
{
    const struct cpti_arguments *arguments = natural->arguments;
    uint64_t seed = 1;
    bool is_usable = false;
    int status = cpti_gather_arguments(&natural->gather, arguments, &is_usable);
    int next;

    if (!is_usable) {
        return status;
    }
    if (cpti_has(arguments, "seed")) { /* which was read before */
        (void)cpti_whole_number(arguments, "seed", 0, UINT64_MAX, &seed);
    }
    next = check_groups(natural);
    next = CPTI_THEN(next, check_keys(natural));
    next = CPTI_THEN(next,
                     cpti_counterparts_compare(&natural->parts, seed, &natural->diff));
    next = CPTI_THEN(next, show(natural));
    return status == CPTI_EXIT_DONE ? next : status;
}

static int run(const struct cpti_arguments *arguments)
{
    struct natural *natural = calloc(1, sizeof *natural); /* large */
    int status;

    if (natural == NULL) {
        return cpti_failed("out of memory");
    }
    natural->arguments = arguments;
    status = init(natural);
    status = CPTI_THEN(status, measure(natural));
    cpti_diff_rows_deinit(&natural->rows);
    cpt_diff_free(natural->diff);
    cpti_counterparts_deinit(&natural->parts);
    cpti_selection_deinit(&natural->when);
    cpt_tree_free(natural->gather.tree);
    free(natural->keys);
    free(natural);
    return status;
}

static const struct cpti_option options[] = {
    {"when", 0, "EXPR",
     "the condition: KEY=VALUE, or an expression as that of --where; requests for "
     "which it holds are compared with the others"},
    {"equal", 0, "KEY,...",
     "hold these attributes equal, too: region, tenant, build; also status"},
    {"size", 0, "KEY",
     "the attribute that is the size of a request, or path (the segments of its path), "
     "or none; the default is 'size' where a request has it, and else path"},
    {"by", 0, "WHAT", "what a row is: stack (the default), service, name or edge",
     CPTI_BY_WORDS},
    {"top", 't', "COUNT", "print only the first COUNT rows"},
    {"max-q", 0, "Q", "print only rows with a q value up to Q; 1 prints all"},
    {"min", 0, "DURATION", "print only rows that differ by at least DURATION (2ms)"},
    {"sort", 0, "ORDER", "order of the rows: size (the default), q, name or a column"},
    CPTI_CAPPED_OPTION("the largest rows"),
    {"format", 0, "FORMAT", "text (the default), markdown, csv or json",
     "text markdown csv json"},
    {"columns", 0, "COLUMN,...", "these columns, in this order; see Columns", NULL},
    {"json", 'j', NULL, "print one JSON object with rows; the same as --format json"},
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt natural logs/ --when 'cache == \"hit\"'",
     "what a hit in the cache saves, and where"},
    {"cpt natural logs/ --when replica=db-2 --equal region,tenant --by service",
     "whether one replica is slower for the same tenants of one region"},
    {"cpt natural logs/ --when compressed=true --size bytes --json",
     "with the attribute 'bytes' as size, for programs"},
    {0},
};

const struct cpti_command cpti_command_natural = {
    .name = "natural",
    .summary = "print what differs where requests happened to differ",
    .group = CPTI_COMPARE,
    .question = "What does it change if requests are like this and not like that?",
    .needs = "path logs or spans, and a condition on their attributes",
    .usages = {"[OPTION]... LOG... --when EXPR"},
    .options = {options, cpti_select_options, cpti_sample_options, cpti_count_options,
                cpti_log_options},
    .relations = {&cpti_diff_relation},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
