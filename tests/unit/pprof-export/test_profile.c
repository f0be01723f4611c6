/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_profile.c - a profile holds the rows of its tree, and obeys pprof's rules */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"
#include "tests/unit/pprof-export/read_profile.h"
#include "tests/unit/pprof-export/sinks.h"

#include "aggregate/cpt_stats.h"
#include "pprof-export/profile/profile_model.h"

#include <zlib.h>

static const struct cpt_pprof_options raw = {.struct_bytes = sizeof raw,
                                             .is_uncompressed = 1};

static struct kept write_profile(const struct cpt_tree *tree,
                                 const struct cpt_pprof_options *options)
{
    struct kept kept = {0};
    const struct cpt_sink sink = {keep, &kept};
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, options, &sink, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    return kept;
}

/* The rules that hold for any tree. */
static void check_rules(const struct read_profile *profile)
{
    static const char *const words[3][2] = {{"requests", "count"},
                                            {"critical_path_total", "nanoseconds"},
                                            {"critical_path", "nanoseconds"}};

    CU_ASSERT_STRING_EQUAL(profile->strings[0], "");
    for (size_t i = 0; i < profile->string_count; i++) {
        for (size_t j = 0; j < i; j++) {
            CU_ASSERT_STRING_NOT_EQUAL(profile->strings[i], profile->strings[j]);
        }
    }
    CU_ASSERT_EQUAL_FATAL(profile->type_count, 3);
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_STRING_EQUAL(profile->strings[profile->types[i][0]], words[i][0]);
        CU_ASSERT_STRING_EQUAL(profile->strings[profile->types[i][1]], words[i][1]);
    }
    CU_ASSERT_EQUAL(profile->default_type, profile->types[2][0]);
    CU_ASSERT_EQUAL(memcmp(profile->period_type, profile->types[2], 16), 0);
    CU_ASSERT_EQUAL(profile->period, 1);
    CU_ASSERT_EQUAL(profile->mapping_count, 1);
    CU_ASSERT_TRUE(profile->has_functions);
    for (size_t i = 0; i < profile->location_count; i++) {
        CU_ASSERT_EQUAL(profile->locations[i][0], 1);
        CU_ASSERT_TRUE(profile->locations[i][1] >= 1 &&
                       profile->locations[i][1] <= profile->function_count);
    }
    for (size_t i = 0; i < profile->function_count; i++) {
        CU_ASSERT_TRUE(profile->functions[i][0] > 0 && profile->functions[i][1] > 0);
    }
}

/* Each sample is the row of its stack; no row with time is missing. */
static void check_samples(const struct read_profile *profile,
                          const struct cpt_tree *tree)
{
    struct cpt_tree_walk *walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
    uint64_t sum = 0;
    uint64_t total = 0;
    size_t at = 0;

    for (uint32_t i = 1; i < cpt_tree_walk_count(walk); i++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(walk, i);
        const struct read_sample *sample = &profile->samples[at];
        char stack[4096];
        char text[4096];

        (void)cpt_tree_stack_text(tree, row->node, stack, sizeof stack);
        text[0] = '\0';
        if (at < profile->sample_count) {
            read_profile_stack(profile, at, text, sizeof text);
        }
        if (strcmp(stack, text) != 0) {
            CU_ASSERT_EQUAL(row->self_ns, 0);
            CU_ASSERT_NOT_EQUAL(row->depth, 1);
            continue;
        }
        at++;
        CU_ASSERT_EQUAL_FATAL(sample->value_count, 3);
        CU_ASSERT_EQUAL(sample->values[0],
                        row->depth == 1 ? cpt_stats_of(tree, row->node).present_count
                                        : 0);
        CU_ASSERT_EQUAL(sample->values[2], row->self_ns);
        sum += sample->values[2];
        total += sample->values[1];
    }
    CU_ASSERT_EQUAL(at, profile->sample_count);
    CU_ASSERT_EQUAL(sum, cpt_tree_walk_row(walk, 0)->inclusive_ns);
    CU_ASSERT_DOUBLE_EQUAL((double)total,
                           (double)cpt_tree_request_count(tree) *
                               cpt_stats_of(tree, CPT_TREE_ROOT).inclusive.mean_ns,
                           1);
    cpt_tree_walk_free(walk);
}

static void test_samples_are_the_rows_of_the_tree(void)
{
    uint64_t state = random_seed("profile");

    for (int round = 0; round < 60; round++) {
        struct cpt_tree *tree =
            tree_random(&state, 1 + (unsigned)random_below(&state, 40));
        struct kept kept = write_profile(tree, &raw);
        struct read_profile profile;

        read_profile(&profile, kept.data, kept.bytes);
        check_rules(&profile);
        check_samples(&profile, tree);
        CU_ASSERT_EQUAL(profile.time_nanos, cpt_tree_time_first_ns(tree));
        read_profile_deinit(&profile);
        free(kept.data);
        cpt_tree_free(tree);
    }
}

static void test_gzip_holds_the_same_bytes(void)
{
    uint64_t state = random_seed("gzip");
    struct cpt_tree *tree = tree_random(&state, 60);
    struct kept plain = write_profile(tree, &raw);

    for (int level = 0; level <= 9; level++) {
        const struct cpt_pprof_options options = {.struct_bytes = sizeof options,
                                                  .gzip_level = level};
        struct kept packed = write_profile(tree, &options);
        unsigned char *unpacked = calloc(plain.bytes + 1, 1);
        z_stream stream = {.next_in = packed.data,
                           .avail_in = (unsigned)packed.bytes,
                           .next_out = unpacked,
                           .avail_out = (unsigned)plain.bytes + 1};

        CU_ASSERT_EQUAL(inflateInit2(&stream, 15 + 16), Z_OK);
        CU_ASSERT_EQUAL(inflate(&stream, Z_FINISH), Z_STREAM_END);
        CU_ASSERT_EQUAL(stream.total_out, plain.bytes);
        CU_ASSERT_EQUAL(memcmp(unpacked, plain.data, plain.bytes), 0);
        CU_ASSERT_TRUE(packed.bytes < plain.bytes);
        (void)inflateEnd(&stream);
        free(unpacked);
        free(packed.data);
    }
    free(plain.data);
    cpt_tree_free(tree);
}

static void test_equal_trees_give_equal_profiles(void)
{
    uint64_t state = random_seed("equal");
    struct cpt_tree *parts[2] = {tree_random(&state, 20), tree_random(&state, 20)};
    struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL), cpt_tree_new(NULL, NULL)};
    struct kept kept[2];

    for (int i = 0; i < 2; i++) {
        MUST(cpt_tree_merge(trees[i], parts[i]) == CPT_OK);
        MUST(cpt_tree_merge(trees[i], parts[1 - i]) == CPT_OK);
        kept[i] = write_profile(trees[i], NULL);
    }
    CU_ASSERT_EQUAL(kept[0].bytes, kept[1].bytes);
    CU_ASSERT_EQUAL(memcmp(kept[0].data, kept[1].data, kept[0].bytes), 0);
    for (int i = 0; i < 2; i++) {
        free(kept[i].data);
        cpt_tree_free(parts[i]);
        cpt_tree_free(trees[i]);
    }
}

/* Whether one of the comments is @line. */
static int has_comment(const struct read_profile *profile, const char *line)
{
    for (size_t i = 0; i < profile->comment_count; i++) {
        if (strcmp(profile->strings[profile->comments[i]], line) == 0) {
            return 1;
        }
    }
    return 0;
}

static void test_comments_say_what_was_selected(void)
{
    static const char *const comments[] = {"for\nyou \xff"};
    const struct cpt_pprof_options options = {.struct_bytes = sizeof options,
                                              .is_uncompressed = 1,
                                              .tool = "cpt 9.9",
                                              .comments = comments,
                                              .comment_count = 1,
                                              .title = "my title",
                                              .time_unix_ns = 77};
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct read_profile profile;
    struct kept kept;

    MUST(tree_add_text(tree, "A:x 4", cpt_weight_of_probability(0.001)) == CPT_OK);
    MUST(tree_add_text(tree, "A:x 4", cpt_weight_of_probability(0.5)) == CPT_OK);
    MUST(cpt_tree_note(tree, "where", "arm=control") == CPT_OK);
    MUST(cpt_tree_count_add(tree, "skipped", 3) == CPT_OK);
    cpt_tree_time_add(tree, 1700000000000000000U);
    kept = write_profile(tree, &options);
    read_profile(&profile, kept.data, kept.bytes);
    CU_ASSERT_TRUE(has_comment(&profile, "written by cpt 9.9"));
    CU_ASSERT_TRUE(has_comment(&profile,
                               "average critical path of 2 requests; one without "
                               "a stack counts as 0"));
    CU_ASSERT_TRUE(has_comment(&profile, "sampling probability: 0.001 to 0.5"));
    CU_ASSERT_TRUE(
        has_comment(&profile, "window: 2023-11-14T22:13:20Z to 2023-11-14T22:13:20Z"));
    CU_ASSERT_TRUE(has_comment(&profile, "where: arm=control"));
    CU_ASSERT_TRUE(has_comment(&profile, "skipped: 3"));
    CU_ASSERT_TRUE(has_comment(&profile, "for you \xef\xbf\xbd"));
    CU_ASSERT_STRING_EQUAL(profile.strings[profile.mapping_filename], "my title");
    CU_ASSERT_EQUAL(profile.time_nanos, 77);
    read_profile_deinit(&profile);
    free(kept.data);
    cpt_tree_free(tree);
}

/* The file name that pprof shows for a tree of such requests. */
static void check_title(const char *text, const char *entry, const char *title)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct read_profile profile;
    struct kept kept;

    for (; *text != '\0'; text++) {
        const char name[] = {*text, ':', ' ', 'x', '\0'};
        uint32_t frame = 0;

        MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of(name), 0, &frame) ==
             CPT_OK);
        MUST(cpt_path_append_ns(path, frame, 5) == CPT_OK);
    }
    MUST(cpt_tree_add(tree, path, CPT_WEIGHT_ONE) == CPT_OK);
    if (entry != NULL) {
        MUST(cpt_tree_note(tree, "entry", entry) == CPT_OK);
    }
    kept = write_profile(tree, &raw);
    read_profile(&profile, kept.data, kept.bytes);
    CU_ASSERT_STRING_EQUAL(profile.strings[profile.mapping_filename], title);
    read_profile_deinit(&profile);
    free(kept.data);
    cpt_path_free(path);
    cpt_tree_free(tree);
}

static void test_the_title_is_the_entry_service(void)
{
    check_title("A", "front", "front");
    check_title("AA", NULL, "A");
    check_title("AB", NULL, "cpt");
    check_title("", NULL, "cpt");
}

static void test_the_file_of_a_function_is_its_service(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct read_profile profile;
    struct kept kept;
    uint32_t frame = 0;
    unsigned found = 0;

    MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0, &frame) ==
         CPT_OK);
    MUST(cpt_path_append_ns(path, frame, 5) == CPT_OK);
    MUST(cpt_path_frame_add(path, frame, cpt_bytes_of("B: Lookup"), 0, &frame) ==
         CPT_OK);
    MUST(cpt_path_frame_add(path, frame, cpt_bytes_of(""), CPT_KIND_BLIND_SPOT,
                            &frame) == CPT_OK);
    MUST(cpt_path_append_ns(path, frame, 5) == CPT_OK);
    MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("lonely"), 0, &frame) ==
         CPT_OK);
    MUST(cpt_path_append_ns(path, frame, 5) == CPT_OK);
    MUST(cpt_tree_add(tree, path, CPT_WEIGHT_ONE) == CPT_OK);
    kept = write_profile(tree, &raw);
    read_profile(&profile, kept.data, kept.bytes);
    CU_ASSERT_EQUAL(profile.function_count, 4);
    for (size_t i = 0; i < profile.function_count; i++) {
        const char *name = profile.strings[profile.functions[i][0]];
        const char *file = profile.strings[profile.functions[i][1]];

        found += strcmp(name, "A: /") == 0 && strcmp(file, "A") == 0;
        found += strcmp(name, "B: Lookup") == 0 && strcmp(file, "B") == 0;
        found +=
            strcmp(name, "B: \u2039blind spot\u203a") == 0 && strcmp(file, "B") == 0;
        found += strcmp(name, "lonely") == 0 && strcmp(file, "(no service)") == 0;
    }
    CU_ASSERT_EQUAL(found, 4);
    read_profile_deinit(&profile);
    free(kept.data);
    cpt_path_free(path);
    cpt_tree_free(tree);
}

static void test_refuses_what_makes_no_profile(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct kept kept = {0};
    const struct cpt_sink sink = {keep, &kept};
    struct cpt_pprof_options options = {.struct_bytes = sizeof options,
                                        .gzip_level = 10};
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, NULL, &sink, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "there are no requests to average");
    MUST(tree_add_text(tree, "a 1", CPT_WEIGHT_ONE) == CPT_OK);
    error = (struct cpt_error){0};
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &options, &sink, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "the gzip level is 10, it has to be 1 to 9");
    options.gzip_level = -1;
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &options, &sink, NULL), CPT_INVALID);
    options.gzip_level = 9;
    options.time_unix_ns = (uint64_t)INT64_MAX + 1;
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &options, &sink, NULL), CPT_INVALID);
    options.time_unix_ns = INT64_MAX;
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &options, &sink, NULL), CPT_OK);
    free(kept.data);
    cpt_tree_free(tree);
}

static void test_labels_are_on_every_sample(void)
{
    static const struct cpt_pprof_label labels[] = {{"arm", "control"},
                                                    {"note", "two\nlines"}};
    const struct cpt_pprof_options options = {.struct_bytes = sizeof options,
                                              .is_uncompressed = 1,
                                              .labels = labels,
                                              .label_count = 2};
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct read_profile profile;
    struct kept kept;

    MUST(tree_add_text(tree, "A:x 4", CPT_WEIGHT_ONE) == CPT_OK);
    MUST(tree_add_text(tree, "A:x;B:y 4", CPT_WEIGHT_ONE) == CPT_OK);
    kept = write_profile(tree, &options);
    read_profile(&profile, kept.data, kept.bytes);
    CU_ASSERT_EQUAL(profile.sample_count, 2);
    for (size_t i = 0; i < profile.sample_count; i++) {
        const struct read_sample *sample = &profile.samples[i];

        CU_ASSERT_EQUAL_FATAL(sample->label_count, 2);
        CU_ASSERT_STRING_EQUAL(profile.strings[sample->labels[0][0]], "arm");
        CU_ASSERT_STRING_EQUAL(profile.strings[sample->labels[0][1]], "control");
        CU_ASSERT_STRING_EQUAL(profile.strings[sample->labels[1][1]], "two lines");
    }
    read_profile_deinit(&profile);
    free(kept.data);
    cpt_tree_free(tree);
}

/* The sum of the values of @type over the samples of @profile with @stack and, unless
 * it is NULL, the label @text. */
static uint64_t sum_of(const struct read_profile *profile, const char *stack,
                       const char *text, size_t type)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct read_sample *sample = &profile->samples[i];
        char own[4096];

        read_profile_stack(profile, i, own, sizeof own);
        if (strcmp(own, stack) == 0 &&
            (text == NULL ||
             strcmp(profile->strings[sample->labels[0][1]], text) == 0)) {
            sum += sample->values[type];
        }
    }
    return sum;
}

/* Random requests in three groups, one of them empty: the samples of all groups add up
 * to those of a profile without groups. */
static void test_samples_of_groups_add_up(void)
{
    static const char *const key = "arm";
    static const char *const texts[] = {"control", "treatment", "neither"};
    uint64_t state = random_seed("groups");

    for (int round = 0; round < 20; round++) {
        struct cpt_tree *trees[3] = {tree_random(&state, 40), tree_random(&state, 15),
                                     cpt_tree_new(NULL, NULL)};
        struct cpt_tree *whole = cpt_tree_new(NULL, NULL);
        const struct cpt_pprof_group groups[3] = {{trees[0], 0.75, &texts[0]},
                                                  {trees[1], 0.25, &texts[1]},
                                                  {trees[2], 0, &texts[2]}};
        struct cpt_pprof_options options = raw;
        struct read_profile plain;
        struct read_profile split;
        struct kept kept[2];

        for (size_t i = 0; i < 3; i++) {
            MUST(cpt_tree_merge(whole, trees[i]) == CPT_OK);
        }
        kept[0] = write_profile(whole, &raw);
        options.group_keys = &key;
        options.group_key_count = 1;
        options.groups = groups;
        options.group_count = 3;
        kept[1] = write_profile(whole, &options);
        read_profile(&plain, kept[0].data, kept[0].bytes);
        read_profile(&split, kept[1].data, kept[1].bytes);
        check_rules(&split);
        for (size_t i = 0; i < plain.sample_count; i++) {
            char stack[4096];

            read_profile_stack(&plain, i, stack, sizeof stack);
            for (size_t type = 0; type < 3; type++) {
                CU_ASSERT_EQUAL(sum_of(&split, stack, NULL, type),
                                sum_of(&plain, stack, NULL, type));
            }
            CU_ASSERT_EQUAL(sum_of(&split, stack, "neither", 2), 0);
        }
        for (size_t i = 0; i < 2; i++) {
            free(kept[i].data);
        }
        read_profile_deinit(&plain);
        read_profile_deinit(&split);
        for (size_t i = 0; i < 3; i++) {
            cpt_tree_free(trees[i]);
        }
        cpt_tree_free(whole);
    }
}

static void test_groups_have_what_their_requests_spent(void)
{
    static const char *const key = "arm";
    static const char *const texts[] = {"control", "treatment"};
    struct cpt_tree *trees[2] = {cpt_tree_new(NULL, NULL), cpt_tree_new(NULL, NULL)};
    struct cpt_tree *whole = cpt_tree_new(NULL, NULL);
    struct cpt_pprof_group groups[CPT_PPROF_GROUPS_MAX + 1] = {
        {trees[0], 0.5, &texts[0]}, {trees[1], 0.5, &texts[1]}};
    struct cpt_pprof_options options = raw;
    struct cpt_error error = {0};
    const struct cpt_sink no_sink = {NULL, NULL};
    struct read_profile profile;
    struct kept kept;

    MUST(tree_add_text(trees[0], "A:x 4, A:x;B:y 2", CPT_WEIGHT_ONE) == CPT_OK);
    MUST(tree_add_text(trees[1], "A:x 8", CPT_WEIGHT_ONE) == CPT_OK);
    MUST(cpt_tree_merge(whole, trees[0]) == CPT_OK);
    MUST(cpt_tree_merge(whole, trees[1]) == CPT_OK);
    options.group_keys = &key;
    options.group_key_count = 1;
    options.groups = groups;
    options.group_count = 2;
    kept = write_profile(whole, &options);
    read_profile(&profile, kept.data, kept.bytes);
    CU_ASSERT_EQUAL(sum_of(&profile, "A:x", "control", 2), 2);
    CU_ASSERT_EQUAL(sum_of(&profile, "A:x", "treatment", 2), 4);
    CU_ASSERT_EQUAL(sum_of(&profile, "A:x;B:y", "control", 2), 1);
    CU_ASSERT_EQUAL(sum_of(&profile, "A:x;B:y", "treatment", 2), 0);
    CU_ASSERT_EQUAL(sum_of(&profile, "A:x", "treatment", 0), 1);
    read_profile_deinit(&profile);
    free(kept.data);
    /* a group of another tree; one too many */
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, trees[1], &options, &no_sink, &error),
                    CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence,
                           "a group has a stack that is not in the tree");
    options.group_count = CPT_PPROF_GROUPS_MAX + 1;
    error = (struct cpt_error){0};
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, whole, &options, &no_sink, &error),
                    CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "there are 65 groups, the limit is 64");
    cpt_tree_free(trees[0]);
    cpt_tree_free(trees[1]);
    cpt_tree_free(whole);
}

static void test_refuses_what_is_no_label(void)
{
    static const struct cpt_pprof_label labels[CPT_PPROF_LABELS_MAX + 1] = {
        {"1", ""}, {"2", ""}, {"3", ""},       {"4", ""},          {"5", ""},
        {"6", ""}, {"7", ""}, {"pprof:", "x"}, {"pprof::base", ""}};
    static const struct cpt_pprof_label twice[] = {{"a", "1"}, {"b", "1"}, {"a", "2"}};
    static const struct cpt_pprof_label empty[] = {{"", "1"}};
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct kept kept = {0};
    const struct cpt_sink sink = {keep, &kept};
    struct cpt_pprof_options options = {.struct_bytes = sizeof options,
                                        .labels = labels};
    struct cpt_error error = {0};

    MUST(tree_add_text(tree, "a 1", CPT_WEIGHT_ONE) == CPT_OK);
    for (size_t i = CPT_PPROF_LABELS_MAX - 1; i <= CPT_PPROF_LABELS_MAX; i++) {
        options.label_count = i;
        CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &options, &sink, NULL), CPT_OK);
    }
    options.label_count = CPT_PPROF_LABELS_MAX + 1;
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &options, &sink, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "there are 9 labels, the limit is 8");
    options.labels = labels + CPT_PPROF_LABELS_MAX;
    options.label_count = 1;
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &options, &sink, NULL), CPT_INVALID);
    options.labels = empty;
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &options, &sink, NULL), CPT_INVALID);
    options.labels = twice;
    options.label_count = 3;
    error = (struct cpt_error){0};
    CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &options, &sink, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "labels 0 and 2 have the same key");
    free(kept.data);
    cpt_tree_free(tree);
}

/* @count requests of 2^55 ns: 128 of them make the limit of totals. */
static cpt_status write_long_requests(unsigned count, struct cpt_error *error)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct kept kept = {0};
    const struct cpt_sink sink = {keep, &kept};
    cpt_status status = CPT_OK;

    for (unsigned i = 0; i < count; i++) {
        MUST(tree_add_text(tree, "a 36028797018963968", CPT_WEIGHT_ONE) == CPT_OK);
    }
    status = cpt_pprof_write(NULL, tree, NULL, &sink, error);
    free(kept.data);
    cpt_tree_free(tree);
    return status;
}

static void test_totals_near_the_end_of_numbers_are_refused(void)
{
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(write_long_requests(127, NULL), CPT_OK);
    CU_ASSERT_EQUAL(write_long_requests(128, NULL), CPT_OK);
    CU_ASSERT_EQUAL(write_long_requests(129, &error), CPT_LIMIT);
    CU_ASSERT_STRING_EQUAL(error.sentence,
                           "the time of all requests together exceeds 2^62 ns");
}

static void test_a_sink_that_refuses_ends_it(void)
{
    uint64_t state = random_seed("refusing");
    struct cpt_tree *tree = tree_random(&state, 200);
    struct kept whole = write_profile(tree, &raw);

    for (size_t limit = 1; limit < whole.bytes; limit += whole.bytes / 7) {
        struct kept kept = {.bytes_max = limit};
        const struct cpt_sink sink = {keep, &kept};
        struct cpt_error error = {0};

        CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, &raw, &sink, &error), CPT_IO);
        CU_ASSERT_STRING_EQUAL(error.sentence, "the profile could not be written");
        free(kept.data);
    }
    {
        struct kept kept = {.bytes_max = 1};
        const struct cpt_sink sink = {keep, &kept};

        CU_ASSERT_EQUAL(cpt_pprof_write(NULL, tree, NULL, &sink, NULL), CPT_IO);
        CU_ASSERT_EQUAL(cpt_folded_write(NULL, tree, &sink, NULL), CPT_IO);
        free(kept.data);
    }
    free(whole.data);
    cpt_tree_free(tree);
}

/* The deepest stack, and many functions: there is no limit of 65,535 elements. */
static void test_large_trees_are_written_whole(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct read_profile profile;
    struct kept kept;
    uint32_t deep = CPT_FRAME_NONE;
    char name[16];

    for (int i = 0; i < CPT_TREE_DEPTH_MAX; i++) {
        MUST(cpt_path_frame_add(path, deep, cpt_bytes_of("A: x"), 0, &deep) == CPT_OK);
    }
    MUST(cpt_path_append_ns(path, deep, 3) == CPT_OK);
    for (int i = 0; i < 70000; i++) {
        uint32_t frame = 0;

        (void)snprintf(name, sizeof name, "B: %d", i);
        MUST(cpt_path_frame_add(path, 0, cpt_bytes_of(name), 0, &frame) == CPT_OK);
        MUST(cpt_path_append_ns(path, frame, 1) == CPT_OK);
    }
    MUST(cpt_tree_add(tree, path, CPT_WEIGHT_ONE) == CPT_OK);
    kept = write_profile(tree, &raw);
    CU_ASSERT_TRUE(kept.bytes > 70000 * 20);
    read_profile(&profile, kept.data, kept.bytes);
    CU_ASSERT_EQUAL(profile.sample_count, 70002);
    CU_ASSERT_EQUAL(profile.function_count, 70001);
    CU_ASSERT_EQUAL(profile.samples[1].location_count, CPT_TREE_DEPTH_MAX);
    read_profile_deinit(&profile);
    free(kept.data);
    cpt_path_free(path);
    cpt_tree_free(tree);
}

static bool write_to_memory(const struct cpt_alloc *alloc)
{
    struct cpt_tree *tree = tree_random(&(uint64_t){5}, 6);
    struct kept kept = {0};
    const struct cpt_sink sink = {keep, &kept};
    struct cpt_error error = {0};
    const cpt_status status = cpt_pprof_write(alloc, tree, NULL, &sink, &error);

    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    CU_ASSERT_EQUAL(error.status, status);
    free(kept.data);
    cpt_tree_free(tree);
    return status == CPT_OK;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(write_to_memory);
}

/* --- The check before writing --- */

static void check_refused(struct cpti_profile *profile, const char *sentence)
{
    struct cpt_error error = {0};

    CU_ASSERT_NOT_EQUAL(cpti_profile_check(profile, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(error.sentence, sentence);
}

static void test_a_model_that_pprof_would_refuse_is_not_written(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct cpti_profile profile = {0};
    struct cpt_pprof_options options = {0};

    MUST(tree_add_text(tree, "a 5, a;b 3", CPT_WEIGHT_ONE) == CPT_OK);
    MUST(cpti_profile_make(&profile, NULL, tree, &options, NULL) == CPT_OK);
    CU_ASSERT_EQUAL(cpti_profile_check(&profile, NULL), CPT_OK);

    profile.samples[0].values[2]++;
    check_refused(&profile, "the samples add up to 9 ns, the mean latency is 8 ns");
    profile.samples[0].values[2]--;
    profile.samples[1].values[1] = CPT_PPROF_TOTAL_MAX;
    check_refused(&profile, "the values of type 1 add up to more than 2^62");
    profile.samples[1].values[1] = 3;
    profile.samples[1].node = CPT_TREE_ROOT;
    check_refused(&profile, "sample 1 has no stack");
    profile.samples[1].node = 3;
    check_refused(&profile, "sample 1 has no stack");
    profile.samples[1].node = 2;
    profile.node_functions[1] = 2;
    check_refused(&profile, "location 3 names a function that does not exist");
    profile.node_functions[1] = 0;
    profile.functions[1].name = 0;
    check_refused(&profile, "function 2 has no name");
    profile.functions[1].name = 1;
    profile.types[2].unit = (uint32_t)profile.strings.count;
    check_refused(&profile, "sample type 2 has no name");
    profile.types[2].unit = 1;
    profile.comments[0] = (uint32_t)profile.strings.count;
    check_refused(&profile, "comment 0 does not exist");
    profile.comments[0] = 1;
    profile.strings.entries[0].bytes = 1;
    check_refused(&profile, "the first string is not empty");
    cpti_profile_deinit(&profile);
    cpt_tree_free(tree);
}

static void test_text_is_made_clean(void)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"a\nb\x7f", "a b "},
        {"\xc3\xa4\xe2\x80\xb9\xf0\x9f\x98\x80",
         "\xc3\xa4\xe2\x80\xb9\xf0\x9f\x98\x80"},
        {"\xc3", "\xef\xbf\xbd"},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char text[64] = "";

        text[cpti_text_clean(pairs[i][0], strlen(pairs[i][0]), text)] = '\0';
        CU_ASSERT_STRING_EQUAL(text, pairs[i][1]);
    }
}

extern CU_TestInfo cpt_profile_tests[];
CU_TestInfo cpt_profile_tests[] = {
    {"samples are the rows of the tree", test_samples_are_the_rows_of_the_tree},
    {"gzip holds the same bytes", test_gzip_holds_the_same_bytes},
    {"equal trees give equal profiles", test_equal_trees_give_equal_profiles},
    {"comments describe the selection", test_comments_say_what_was_selected},
    {"the title is the entry service", test_the_title_is_the_entry_service},
    {"the file of a function is its service",
     test_the_file_of_a_function_is_its_service},
    {"trees without a profile are refused", test_refuses_what_makes_no_profile},
    {"totals near the end of numbers are refused",
     test_totals_near_the_end_of_numbers_are_refused},
    {"a sink that fails ends it", test_a_sink_that_refuses_ends_it},
    {"large trees are written whole", test_large_trees_are_written_whole},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    {"a model that pprof would refuse is not written",
     test_a_model_that_pprof_would_refuse_is_not_written},
    {"text is sanitised", test_text_is_made_clean},
    {"labels are on every sample", test_labels_are_on_every_sample},
    {"samples of groups add up", test_samples_of_groups_add_up},
    {"groups have the time of their requests",
     test_groups_have_what_their_requests_spent},
    {"invalid labels are refused", test_refuses_what_is_no_label},
    CU_TEST_INFO_NULL,
};
