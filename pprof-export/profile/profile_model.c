/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * profile_model.c - a tree becomes strings, functions, locations and samples
 *
 *      in the tree              in the profile
 *
 *      node                     sample, if it has time of its own or is an entry frame
 *      text of its last frame   function name: "B: Lookup", "B: ‹blind spot›"
 *      service of that frame    function file name, so that -files sums by service
 *      chain of its parents     stack of locations, the leaf first
 *
 * Frames with the same text and service are one function: pprof adds them up in its
 * views by function, and keeps them apart in its views by stack.
 *
 * Everything is numbered in the order of the walk by name, so that equal trees give
 * equal profiles. Names and comments from outside become clean text here.
 */
#include "pprof-export/profile/profile_model.h"

#include "aggregate/cpt_gain.h"
#include "aggregate/cpt_stats.h"
#include "cpt/cpt_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { COMMENT_BYTES = 4608, COMMENTS_MAX = 1 << 16 };

static cpt_status add_string(struct cpti_profile *profile, const char *text,
                             uint32_t *number)
{
    return cpti_strings_add(&profile->strings, text, strlen(text), number);
}

/* Adds text from outside, cleaned. */
static cpt_status add_text(struct cpti_profile *profile, struct cpt_bytes text,
                           uint32_t *number)
{
    char *clean = cpt_alloc_array(profile->alloc, NULL, text.bytes, 3);
    cpt_status status = CPT_NO_MEMORY;

    if (clean != NULL) {
        status =
            cpti_strings_add(&profile->strings, clean,
                             cpti_text_clean(text.data, text.bytes, clean), number);
    }
    cpt_alloc_free(profile->alloc, clean);
    return status;
}

/* --- Types --- */

static cpt_status add_types(struct cpti_profile *profile)
{
    static const char *const kinds[2][CPTI_VALUE_COUNT][2] = {
        [CPT_PPROF_CRITICAL_PATH] =
            {
                [CPTI_VALUE_REQUESTS] = {"requests", "count"},
                [CPTI_VALUE_TOTAL] = {"critical_path_total", "nanoseconds"},
                [CPTI_VALUE_AVERAGE] = {"critical_path", "nanoseconds"},
            },
        [CPT_PPROF_DRAG] =
            {
                [CPTI_VALUE_REQUESTS] = {"requests", "count"},
                [CPTI_VALUE_TOTAL] = {"drag_total", "nanoseconds"},
                [CPTI_VALUE_AVERAGE] = {"drag", "nanoseconds"},
            },
    };
    const char *const(*words)[2] = kinds[profile->kind];
    uint32_t empty = 0;
    cpt_status status = add_string(profile, "", &empty);

    for (int i = 0; i < 2 * CPTI_VALUE_COUNT && status == CPT_OK; i++) {
        struct cpti_value_type *type = &profile->types[i / 2];

        status = add_string(profile, words[i / 2][i % 2],
                            i % 2 == 0 ? &type->type : &type->unit);
    }
    return status;
}

/* --- Comments --- */

/* Adds @line, cut at COMMENT_BYTES. */
static cpt_status comment(struct cpti_profile *profile, const char *line)
{
    char clean[3 * COMMENT_BYTES];
    uint32_t number = 0;
    const size_t bytes = cpti_text_clean(line, strnlen(line, COMMENT_BYTES), clean);
    cpt_status status = cpti_strings_add(&profile->strings, clean, bytes, &number);

    if (status != CPT_OK) {
        return status;
    }
    status = cpt_alloc_grow(profile->alloc, (void **)&profile->comments,
                            &profile->comment_capacity, profile->comment_count + 1,
                            COMMENTS_MAX, sizeof *profile->comments);
    if (status != CPT_OK) {
        return status;
    }
    profile->comments[profile->comment_count++] = number;
    return CPT_OK;
}

static double probability_of(cpt_weight weight)
{
    return (double)CPT_WEIGHT_ONE / (double)weight;
}

/* What the values of drags mean, and what not. */
static cpt_status comment_on_drags(struct cpti_profile *profile)
{
    static const char *const lines[] = {
        "the drag of a stack is what a request would gain without its longest such "
        "segment; without all of them it gains at least that",
        "drags do not add up: read flat values of single stacks, not cum, sums or "
        "shares",
        "'requests' counts those with a known drag of the stack; merge profiles by "
        "drag_total and requests",
    };
    char line[COMMENT_BYTES];
    cpt_status status;

    (void)snprintf(line, sizeof line,
                   "average drags of %" PRIu64 " requests; of %" PRIu64
                   " no drag is known, and they do not count",
                   cpt_gain_request_count(profile->tree),
                   cpt_tree_request_count(profile->tree) -
                       cpt_gain_request_count(profile->tree));
    status = comment(profile, line);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0] && status == CPT_OK; i++) {
        status = comment(profile, lines[i]);
    }
    return status;
}

static cpt_status comment_on_paths(struct cpti_profile *profile)
{
    char line[COMMENT_BYTES];

    (void)snprintf(line, sizeof line,
                   "average critical path of %" PRIu64
                   " requests; one without a stack counts as 0",
                   cpt_tree_request_count(profile->tree));
    return comment(profile, line);
}

static cpt_status comment_on_requests(struct cpti_profile *profile)
{
    const cpt_weight lightest = cpt_tree_weight_min(profile->tree);
    const cpt_weight heaviest = cpt_tree_weight_max(profile->tree);
    char line[COMMENT_BYTES];
    const cpt_status status = profile->kind == CPT_PPROF_DRAG
                                  ? comment_on_drags(profile)
                                  : comment_on_paths(profile);

    if (status != CPT_OK) {
        return status;
    }
    if (lightest == heaviest) {
        (void)snprintf(line, sizeof line, "sampling probability: %.6g",
                       probability_of(lightest));
    } else {
        (void)snprintf(line, sizeof line, "sampling probability: %.6g to %.6g",
                       probability_of(heaviest), probability_of(lightest));
    }
    return comment(profile, line);
}

static void time_text(uint64_t unix_ns, char text[32])
{
    const time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm parts;

    text[0] = '\0';
    if (gmtime_r(&seconds, &parts) != NULL) {
        (void)strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
}

static cpt_status comment_on_window(struct cpti_profile *profile)
{
    char first[32];
    char last[32];
    char line[COMMENT_BYTES];

    if (cpt_tree_time_last_ns(profile->tree) == 0) {
        return CPT_OK;
    }
    time_text(cpt_tree_time_first_ns(profile->tree), first);
    time_text(cpt_tree_time_last_ns(profile->tree), last);
    (void)snprintf(line, sizeof line, "window: %s to %s", first, last);
    return comment(profile, line);
}

static cpt_status comment_on_notes(struct cpti_profile *profile)
{
    const size_t count = cpt_tree_note_count(profile->tree);
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        const struct cpt_tree_note_entry note = cpt_tree_note_at(profile->tree, i);
        char line[COMMENT_BYTES];

        if (strcmp(note.key, "reading") == 0) {
            continue; /* a hash, to know logs again */
        }
        if (note.value != NULL) {
            (void)snprintf(line, sizeof line, "%s: %s", note.key, note.value);
        } else {
            (void)snprintf(line, sizeof line, "%s: %" PRIu64, note.key, note.count);
        }
        status = comment(profile, line);
    }
    return status;
}

static cpt_status add_comments(struct cpti_profile *profile,
                               const struct cpt_pprof_options *options)
{
    static cpt_status (*const parts[3])(struct cpti_profile *) = {
        comment_on_requests, comment_on_window, comment_on_notes};
    char line[COMMENT_BYTES];
    cpt_status status = CPT_OK;

    (void)snprintf(line, sizeof line, "written by %s",
                   options->tool != NULL ? options->tool : "cpt");
    status = comment(profile, line);
    for (int i = 0; i < 3 && status == CPT_OK; i++) {
        status = parts[i](profile);
    }
    for (size_t i = 0; i < options->comment_count && status == CPT_OK; i++) {
        status = comment(profile, options->comments[i]);
    }
    return status;
}

/* --- Title --- */

/* The service of the only entry frame; empty if there are several. */
static struct cpt_bytes only_service(const struct cpt_tree *tree)
{
    struct cpt_bytes service = {NULL, 0};

    for (uint32_t i = 1; i < cpt_tree_node_count(tree); i++) {
        if (cpt_tree_depth(tree, i) == 1) {
            const struct cpt_bytes own = cpt_tree_service(tree, i);

            if (service.bytes != 0 && !cpt_bytes_equal(service, own)) {
                return (struct cpt_bytes){NULL, 0};
            }
            service = own;
        }
    }
    return service;
}

static cpt_status add_title(struct cpti_profile *profile,
                            const struct cpt_pprof_options *options)
{
    const char *entry = cpt_tree_note_find(profile->tree, "entry");
    struct cpt_bytes title =
        cpt_bytes_of(options->title != NULL ? options->title : entry);

    if (title.bytes == 0) {
        title = only_service(profile->tree);
    }
    if (title.bytes == 0) {
        title = cpt_bytes_of("cpt");
    }
    return add_text(profile, title, &profile->title);
}

/* --- Labels --- */

static cpt_status add_labels(struct cpti_profile *profile,
                             const struct cpt_pprof_options *options)
{
    for (size_t i = 0; i < options->label_count; i++) {
        struct cpti_label *label = &profile->labels[i];
        cpt_status status =
            add_text(profile, cpt_bytes_of(options->labels[i].key), &label->key);

        if (status != CPT_OK) {
            return status;
        }
        status = add_text(profile, cpt_bytes_of(options->labels[i].text), &label->text);
        if (status != CPT_OK) {
            return status;
        }
        profile->label_count++;
    }
    return CPT_OK;
}

static cpt_status add_groups(struct cpti_profile *profile,
                             const struct cpt_pprof_options *options,
                             struct cpt_error *error)
{
    const size_t count = options->group_key_count;
    cpt_status status = CPT_OK;

    if (options->group_count == 0) {
        return CPT_OK;
    }

    profile->group_count = options->group_count;
    profile->group_key_count = count;
    profile->group_texts =
        cpt_alloc_array(profile->alloc, NULL, options->group_count * count + 1,
                        sizeof *profile->group_texts);
    if (profile->group_texts == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        status = add_text(profile, cpt_bytes_of(options->group_keys[i]),
                          &profile->group_keys[i]);
    }
    for (size_t i = 0; i < options->group_count * count && status == CPT_OK; i++) {
        const char *text = options->groups[i / count].texts[i % count];

        status = add_text(profile, cpt_bytes_of(text), &profile->group_texts[i]);
    }
    return status == CPT_OK ? cpti_profile_split(profile, options, error) : status;
}

/* --- Functions --- */

static cpt_status add_function(struct cpti_profile *profile, uint32_t node)
{
    char text[CPT_TREE_FRAME_TEXT_BYTES];
    struct cpti_function function = {0};
    struct cpt_bytes service;
    cpt_status status = CPT_OK;

    (void)cpt_tree_frame_text(profile->tree, node, text, sizeof text);
    status = add_string(profile, text[0] != '\0' ? text : "(no name)", &function.name);
    if (status != CPT_OK) {
        return status;
    }
    service = cpt_tree_service(profile->tree, node);
    (void)cpt_text_name(service, text, sizeof text);
    status = add_string(profile, service.bytes != 0 ? text : "(no service)",
                        &function.filename);
    if (status != CPT_OK) {
        return status;
    }
    status = cpti_strings_add(&profile->function_keys, &function, sizeof function,
                              &profile->node_functions[node]);
    if (status != CPT_OK || profile->node_functions[node] != profile->function_count) {
        return status; /* not new */
    }
    status = cpt_alloc_grow(profile->alloc, (void **)&profile->functions,
                            &profile->function_capacity, profile->function_count + 1,
                            CPTI_STRINGS_MAX, sizeof *profile->functions);
    if (status != CPT_OK) {
        return status;
    }
    profile->functions[profile->function_count++] = function;
    return CPT_OK;
}

/* --- Samples --- */

static void add_sample(struct cpti_profile *profile, const struct cpt_tree_row *row,
                       uint64_t total_ns)
{
    struct cpti_profile_sample sample = {.node = row->node};

    sample.values[CPTI_VALUE_TOTAL] = total_ns;
    sample.values[CPTI_VALUE_AVERAGE] = row->self_ns;
    if (row->depth == 1) {
        sample.values[CPTI_VALUE_REQUESTS] =
            cpt_stats_of(profile->tree, row->node).present_count;
    }
    if (row->depth == 1 || total_ns != 0 || row->self_ns != 0) {
        profile->samples[profile->sample_count++] = sample;
    }
}

/* The same for the drag of a stack that has a known one. */
static void add_drag(struct cpti_profile *profile, uint32_t node)
{
    const struct cpt_gain gain = cpt_gain_of(profile->tree, node);
    struct cpti_profile_sample sample = {.node = node};

    if (gain.known_count != 0) {
        sample.values[CPTI_VALUE_REQUESTS] = gain.known_count;
        sample.values[CPTI_VALUE_TOTAL] = gain.drag_total_ns;
        sample.values[CPTI_VALUE_AVERAGE] = gain.drag_ns;
        profile->samples[profile->sample_count++] = sample;
    }
}

static cpt_status add_rows(struct cpti_profile *profile,
                           const struct cpt_tree_walk *walk, const uint64_t *totals)
{
    const uint32_t row_count = cpt_tree_walk_count(walk);
    cpt_status status = CPT_OK;

    profile->node_functions =
        cpt_alloc_zeroed(profile->alloc, row_count * sizeof *profile->node_functions);
    profile->samples =
        cpt_alloc_array(profile->alloc, NULL, row_count, sizeof *profile->samples);
    if (profile->node_functions == NULL || profile->samples == NULL) {
        return CPT_NO_MEMORY;
    }
    if (profile->kind == CPT_PPROF_CRITICAL_PATH) {
        profile->mean_ns = cpt_tree_walk_row(walk, 0)->inclusive_ns;
    }
    for (uint32_t i = 1; i < row_count && status == CPT_OK; i++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(walk, i);

        status = add_function(profile, row->node);
        if (profile->kind == CPT_PPROF_DRAG) {
            add_drag(profile, row->node);
        } else {
            add_sample(profile, row, totals[i]);
        }
    }
    return status;
}

static cpt_status add_nodes(struct cpti_profile *profile, struct cpt_error *error)
{
    struct cpt_tree_walk *walk =
        cpt_tree_walk_new(profile->alloc, profile->tree, CPT_TREE_BY_NAME);
    uint64_t *totals = NULL;
    cpt_status status = CPT_NO_MEMORY;

    if (walk == NULL) {
        return CPT_NO_MEMORY;
    }
    totals = cpt_alloc_array(profile->alloc, NULL, cpt_tree_walk_count(walk),
                             sizeof *totals);
    if (totals == NULL) {
        goto out;
    }
    status =
        cpt_tree_walk_apportion(walk, cpt_tree_request_count(profile->tree), totals);
    if (status == CPT_LIMIT) {
        (void)cpt_error_set(error, status, 0,
                            "the time of all requests together exceeds 2^62 ns");
    }
    if (status != CPT_OK) {
        goto out;
    }
    status = add_rows(profile, walk, totals);
out:
    cpt_alloc_free(profile->alloc, totals);
    cpt_tree_walk_free(walk);
    return status;
}

/* --- All of it --- */

cpt_status cpti_profile_make(struct cpti_profile *profile,
                             const struct cpt_alloc *alloc, const struct cpt_tree *tree,
                             const struct cpt_pprof_options *options,
                             struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    profile->alloc = alloc;
    profile->tree = tree;
    profile->kind = options->kind;
    profile->strings.alloc = alloc;
    profile->function_keys.alloc = alloc;
    profile->time_unix_ns = options->time_unix_ns != 0 ? options->time_unix_ns
                                                       : cpt_tree_time_first_ns(tree);
    if (profile->time_unix_ns > INT64_MAX) {
        profile->time_unix_ns = 0; /* a tree from outside may contain any time */
    }
    status = add_types(profile);
    if (status != CPT_OK) {
        return status;
    }
    status = add_title(profile, options);
    if (status != CPT_OK) {
        return status;
    }
    status = add_nodes(profile, error);
    if (status != CPT_OK) {
        return status;
    }
    status = add_labels(profile, options);
    if (status != CPT_OK) {
        return status;
    }
    status = add_groups(profile, options, error);
    return status == CPT_OK ? add_comments(profile, options) : status;
}

void cpti_profile_deinit(struct cpti_profile *profile)
{
    cpti_strings_deinit(&profile->strings);
    cpti_strings_deinit(&profile->function_keys);
    cpt_alloc_free(profile->alloc, profile->functions);
    cpt_alloc_free(profile->alloc, profile->node_functions);
    cpt_alloc_free(profile->alloc, profile->samples);
    cpt_alloc_free(profile->alloc, profile->comments);
    cpt_alloc_free(profile->alloc, profile->group_texts);
}
