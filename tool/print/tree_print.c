/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tree_print.c - the summary of a tree, and its stacks; see tree_print.h */
#include "tool/print/tree_print.h"

#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/gather/parts.h"
#include "aggregate/cpt_stats.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "cpt/cpt_trace.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define CONFIDENCE 0.95

static bool is_part(struct cpt_tree_note_entry note)
{
    return note.value != NULL && strcmp(note.key, "part") == 0;
}

/* Prints the selections of parts, the first ones by name; false: there are none. */
static bool print_parts(const struct cpt_tree *tree)
{
    enum { NAMED_MAX = 3 };
    size_t count = 0;
    size_t named = 0;

    for (size_t i = 0; i < cpt_tree_note_count(tree); i++) {
        count += is_part(cpt_tree_note_at(tree, i));
    }
    if (count == 0) {
        return false;
    }
    (void)printf("%zu added up: ", count);
    for (size_t i = 0; i < cpt_tree_note_count(tree) && named < NAMED_MAX; i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(tree, i);

        if (is_part(note)) {
            (void)printf("%s%s", named++ == 0 ? "" : " + ",
                         cpti_printable(cpt_bytes_of(note.value)));
        }
    }
    if (count > NAMED_MAX) {
        (void)printf(" + %zu more", count - NAMED_MAX);
    }
    return true;
}

static void print_terms(const struct cpt_tree *tree)
{
    const char *separator = "";

    for (size_t i = 0; i < cpt_tree_note_count(tree); i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(tree, i);

        if (note.value == NULL || cpti_parts_is_origin(note.key)) {
            continue;
        }
        (void)printf("%s", separator);
        separator = ", ";
        if (strcmp(note.key, "where") == 0 || strcmp(note.key, "percentile") == 0) {
            (void)printf("%s", cpti_printable(cpt_bytes_of(note.value)));
        } else {
            (void)printf("%s %s", cpti_quoted(note.key),
                         cpti_printable(cpt_bytes_of(note.value)));
        }
    }
    (void)printf("%s", separator[0] == '\0' ? "all requests" : "");
}

static void print_selection(const struct cpt_tree *tree)
{
    const uint64_t forced = cpt_tree_count_find(tree, "forced_excluded");
    const uint64_t fragments = cpt_tree_count_find(tree, "fragments_excluded");
    const uint64_t roots = cpt_tree_count_find(tree, "local_root_excluded");
    const uint64_t events = cpt_tree_count_find(tree, "events_excluded");
    const uint64_t skipped = cpti_parts_skipped(tree);
    const uint64_t duplicates = cpt_tree_count_find(tree, "duplicates");
    const uint64_t unchecked = cpt_tree_count_find(tree, "duplicates_unchecked");

    (void)printf("selection: ");
    if (!print_parts(tree)) {
        print_terms(tree);
    }
    if (cpt_tree_note_find(tree, "overlap") != NULL) {
        (void)printf("; some requests count twice");
    }
    if (forced != 0) {
        (void)printf("; %" PRIu64 " forced left out", forced);
    }
    if (fragments != 0) {
        (void)printf("; %" PRIu64 " fragments left out", fragments);
    }
    if (roots != 0) {
        (void)printf("; %" PRIu64 " of inner services' own left out", roots);
    }
    if (events != 0) {
        (void)printf("; %" PRIu64 " of event logs left out", events);
    }
    if (duplicates != 0) {
        (void)printf("; %" PRIu64 " duplicates left out", duplicates);
    }
    if (unchecked != 0) {
        (void)printf("; %" PRIu64 " not searched for duplicates", unchecked);
    }
    if (skipped != 0) {
        (void)printf("; %" PRIu64 " damaged skipped", skipped);
    }
    (void)printf("\n");
}

/* How many requests of @tree have a known evidence, by enum cpt_evidence. The weakest
 * that one has. */
static unsigned find_evidence(const struct cpt_tree *tree,
                              uint64_t counts[CPT_EVIDENCE_COUNT])
{
    unsigned weakest = CPT_EVIDENCE_RECORDED;

    counts[weakest] = cpt_tree_request_count(tree);
    for (unsigned i = CPT_EVIDENCE_MEASURED; i < CPT_EVIDENCE_COUNT; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, CPTI_EVIDENCE_COUNT, cpt_evidence_word(i));
        counts[i] = cpt_tree_count_find(tree, key);
        counts[CPT_EVIDENCE_RECORDED] -= counts[i] < counts[CPT_EVIDENCE_RECORDED]
                                             ? counts[i]
                                             : counts[CPT_EVIDENCE_RECORDED];
        weakest = counts[i] != 0 ? i : weakest;
    }
    return weakest;
}

uint64_t cpti_tree_inferred_count(const struct cpt_tree *tree)
{
    uint64_t counts[CPT_EVIDENCE_COUNT];

    (void)find_evidence(tree, counts);
    return counts[CPT_EVIDENCE_LEARNT] + counts[CPT_EVIDENCE_INFERRED];
}

/* Prints how many requests have which, if it is not recorded of all. */
static void print_evidence(const struct cpt_tree *tree)
{
    uint64_t counts[CPT_EVIDENCE_COUNT];
    const unsigned weakest = find_evidence(tree, counts);
    const char *separator = "evidence:";

    for (unsigned i = 0; i <= weakest && weakest != CPT_EVIDENCE_RECORDED; i++) {
        if (counts[i] != 0) {
            (void)printf("%s %s %" PRIu64 "%s", separator, cpt_evidence_word(i),
                         counts[i], i == weakest ? "\n" : "");
            separator = ",";
        }
    }
}

/* Why the intervals of @stats, which is rare, must not be trusted. */
static const char *why_rare(const struct cpt_stats *stats, bool is_clustered)
{
    if (is_clustered) {
        return "it is worth fewer than 10 clusters of equal size, or 30 requests";
    }
    return stats->inclusive.effective_count < CPT_STATS_PRESENT_MIN
               ? "there are fewer than 30 requests, by their weights"
               : "fewer than 30 requests had time of it, by their weights";
}

void cpti_doubt_json(struct cpti_json *json, enum cpt_diff_doubt doubt)
{
    cpti_json_bool(json, "trusted", doubt == CPT_DIFF_TRUSTED);
    if (doubt != CPT_DIFF_TRUSTED) {
        cpti_json_text(json, "why", cpt_diff_doubt_text(doubt));
    }
}

void cpti_trust_json(struct cpti_json *json, const struct cpt_stats *stats,
                     bool is_clustered, bool is_heavy)
{
    cpti_json_bool(json, "trusted", !stats->is_rare && !is_heavy);
    if (stats->is_rare) {
        cpti_json_text(json, "why", why_rare(stats, is_clustered));
    } else if (is_heavy) {
        cpti_json_text(json, "why",
                       "the tail of the times is so heavy that their variance may be "
                       "infinite");
    }
}

/* What is wrong with the interval of the mean latency; "" if nothing is. */
static const char *doubt_of(const struct cpt_stats *all, bool is_clustered,
                            bool is_heavy)
{
    if (all->is_rare) {
        return is_clustered ? ": few clusters" : ": few requests";
    }
    return is_heavy ? ": heavy tail" : "";
}

void cpti_tree_print(const struct cpt_tree *tree, const char *what)
{
    const struct cpt_stats all = cpt_stats_of(tree, CPT_TREE_ROOT);

    cpti_tree_print_stats(tree, what, &all, false);
}

void cpti_tree_print_stats(const struct cpt_tree *tree, const char *what,
                           const struct cpt_stats *all, bool is_clustered)
{
    const char *entry = cpt_tree_note_find(tree, "entry");
    const uint64_t count = cpt_tree_request_count(tree);
    const struct cpt_heaviness tail = cpt_stats_heaviness(tree, CPT_TREE_ROOT);
    const bool is_heavy = tail.is_infinite && !is_clustered;
    double low_ns;
    double high_ns;
    char mean[32];
    char low[32];
    char high[32];

    cpt_mean_interval(&all->inclusive, CONFIDENCE, &low_ns, &high_ns);
    (void)printf("%s%s%s: %" PRIu64 " request%s, mean latency %s ms",
                 what != NULL ? what : "", what != NULL ? ": " : "",
                 entry != NULL ? cpti_printable(cpt_bytes_of(entry)) : "all", count,
                 count == 1 ? "" : "s", cpti_ms(all->inclusive.mean_ns, mean));
    if (isfinite(low_ns) && isfinite(high_ns)) {
        (void)printf(" (95 %% interval %s%s to %s%s)",
                     all->is_rare || is_heavy ? "~" : "", cpti_ms(low_ns, low),
                     cpti_ms(high_ns, high), doubt_of(all, is_clustered, is_heavy));
    }
    (void)printf("\n");
    if (is_heavy) {
        (void)printf("the few largest latencies decide on the mean: its variance may "
                     "be infinite (tail index %.2f \u00b1 %.2f)\n",
                     tail.index, tail.error);
    }
    print_selection(tree);
    print_evidence(tree);
}

/* Writes all values of the note @key as an array. */
static void put_notes(struct cpti_json *json, const struct cpt_tree *tree,
                      const char *key)
{
    cpti_json_open(json, key, '[');
    for (size_t i = 0; i < cpt_tree_note_count(tree); i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(tree, i);

        if (note.value != NULL && strcmp(note.key, key) == 0) {
            cpti_json_text(json, NULL, note.value);
        }
    }
    cpti_json_close(json);
}

void cpti_interval_json(struct cpti_json *json, const char *low, const char *high,
                        const struct cpt_mean *mean)
{
    double low_ns;
    double high_ns;

    cpt_mean_interval(mean, CONFIDENCE, &low_ns, &high_ns);
    cpti_json_ns(json, low, low_ns);
    cpti_json_ns(json, high, high_ns);
}

void cpti_tree_json(struct cpti_json *json, const struct cpt_tree *tree)
{
    const struct cpt_stats all = cpt_stats_of(tree, CPT_TREE_ROOT);

    cpti_tree_json_stats(json, tree, &all, false);
}

void cpti_tree_json_stats(struct cpti_json *json, const struct cpt_tree *tree,
                          const struct cpt_stats *all, bool is_clustered)
{
    const char *entry = cpt_tree_note_find(tree, "entry");
    uint64_t evidence[CPT_EVIDENCE_COUNT];
    const unsigned weakest = find_evidence(tree, evidence);

    cpti_json_text(json, "entry", entry);
    cpti_json_unsigned(json, "requests", cpt_tree_request_count(tree));
    cpti_json_ns(json, "mean_latency_ns", all->inclusive.mean_ns);
    cpti_interval_json(json, "low_ns", "high_ns", &all->inclusive);
    cpti_trust_json(json, all, is_clustered,
                    !is_clustered &&
                        cpt_stats_heaviness(tree, CPT_TREE_ROOT).is_infinite);
    cpti_json_unsigned(json, "first_unix_ns", cpt_tree_time_first_ns(tree));
    cpti_json_unsigned(json, "last_unix_ns", cpt_tree_time_last_ns(tree));
    cpti_json_unsigned(json, "records", cpti_parts_records(tree));
    cpti_json_unsigned(json, "skipped", cpti_parts_skipped(tree));
    cpti_json_unsigned(json, "forced_excluded",
                       cpt_tree_count_find(tree, "forced_excluded"));
    cpti_json_unsigned(json, "fragments_excluded",
                       cpt_tree_count_find(tree, "fragments_excluded"));
    cpti_json_unsigned(json, "local_root_excluded",
                       cpt_tree_count_find(tree, "local_root_excluded"));
    if (cpt_tree_count_find(tree, "events_excluded") != 0) {
        cpti_json_unsigned(json, "events_excluded",
                           cpt_tree_count_find(tree, "events_excluded"));
    }
    cpti_json_unsigned(json, "duplicates", cpt_tree_count_find(tree, "duplicates"));
    cpti_json_unsigned(json, "duplicates_unchecked",
                       cpt_tree_count_find(tree, "duplicates_unchecked"));
    cpti_json_bool(json, "duplicates_kept",
                   cpt_tree_note_find(tree, "duplicates") != NULL);
    if (weakest != CPT_EVIDENCE_RECORDED) {
        cpti_json_text(json, "evidence", cpt_evidence_word(weakest));
        cpti_json_unsigned(json, "inferred", evidence[CPT_EVIDENCE_INFERRED]);
    }
    if (cpt_tree_note_find(tree, "overlap") != NULL) {
        cpti_json_bool(json, "overlap", true);
    }
    if (cpt_tree_note_find(tree, "part") != NULL) {
        put_notes(json, tree, "part");
    }
    put_notes(json, tree, "where");
    put_notes(json, tree, "percentile");
    put_notes(json, tree, "sample");
    put_notes(json, tree, "weights");
    put_notes(json, tree, "source");
}

void cpti_tree_stack_json(struct cpti_json *json, const struct cpt_tree *tree,
                          uint32_t node)
{
    uint32_t stack[CPT_TREE_DEPTH_MAX];
    char text[CPT_TREE_FRAME_TEXT_BYTES];
    bool is_escaped = false;
    size_t depth = 0;

    for (uint32_t at = node; at != CPT_TREE_ROOT && depth < CPT_TREE_DEPTH_MAX;
         at = cpt_tree_parent(tree, at)) {
        stack[depth++] = at;
    }
    cpti_json_open(json, "stack", '[');
    for (size_t i = depth; i-- > 0;) {
        (void)cpt_tree_frame_text(tree, stack[i], text, sizeof text);
        cpti_json_text(json, NULL, text);
        is_escaped = is_escaped || cpti_is_escaped(text);
    }
    cpti_json_close(json);
    if (is_escaped) {
        cpti_json_open(json, "frames", '[');
        for (size_t i = depth; i-- > 0;) {
            (void)cpt_tree_frame_text(tree, stack[i], text, sizeof text);
            cpti_json_raw_name(json, text);
        }
        cpti_json_close(json);
    }
}
