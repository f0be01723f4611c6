/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_tree_bytes.c - trees as bytes: there and back, old files, and bad ones
 *
 * CPT_DOCS_DIR and CPT_DATA_DIR come from the build.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"
#include "tests/unit/aggregate/tree_patch.h"

#include "aggregate/cpt_gain.h"
#include "aggregate/cpt_stats.h"

#include <dirent.h>
#include <math.h>

/* Some bytes on the heap, so that a sanitizer sees each read beyond them. */
struct block {
    unsigned char *data;
    size_t bytes;
};

static struct block encode(const struct cpt_tree *tree)
{
    struct block block = {NULL, 0};
    void *data = NULL;

    CU_ASSERT_EQUAL_FATAL(cpt_tree_encode(NULL, tree, &data, &block.bytes), CPT_OK);
    block.data = data;
    return block;
}

static struct block read_file(const char *folder, const char *name)
{
    struct block block = {cpt_alloc_zeroed(NULL, 1 << 16), 0};
    char path[1024];
    FILE *file = NULL;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    block.bytes = fread(block.data, 1, (1 << 16) - 1, file);
    (void)fclose(file);
    return block;
}

static void add_segment(struct cpt_path *path, uint32_t parent, const char *name,
                        uint64_t duration_ns)
{
    uint32_t frame = 0;

    MUST(cpt_path_frame_add(path, parent, cpt_bytes_of(name), 0, &frame) == CPT_OK);
    MUST(cpt_path_append_ns(path, frame, duration_ns) == CPT_OK);
}

/* The example of docs/format-tree.md. */
static struct cpt_tree *example(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    for (int i = 0; i < 2; i++) {
        struct cpt_path *path = cpt_path_new(NULL);
        uint32_t entry = 0;

        MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0,
                                &entry) == CPT_OK);
        add_segment(path, entry, "A: parse", i == 0 ? 200 : 240);
        if (i == 0) {
            add_segment(path, entry, "A: index", 60);
        }
        MUST(cpt_tree_add(tree, path, CPT_WEIGHT_ONE) == CPT_OK);
        cpt_path_free(path);
    }
    MUST(cpt_tree_note(tree, "entry", "A") == CPT_OK);
    MUST(cpt_tree_count_add(tree, "records", 2) == CPT_OK);
    cpt_tree_time_add(tree, 1700000000000000000U);
    cpt_tree_time_add(tree, 1700000001000000000U);
    return tree;
}

/* Three requests of different weights; one takes more than an hour. */
static struct cpt_tree *weighted(void)
{
    static const cpt_weight weights[] = {1, 10, 3};
    static const uint64_t parse_ns[] = {200, 240, 5000000000000};
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);

    for (int i = 0; i < 3; i++) {
        struct cpt_path *path = cpt_path_new(NULL);
        uint32_t entry = 0;

        MUST(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"), 0,
                                &entry) == CPT_OK);
        add_segment(path, entry, "A: parse", parse_ns[i]);
        if (i == 0) {
            add_segment(path, entry, "A: index", 60);
        }
        if (i == 2) {
            MUST(cpt_path_append_ns(path, entry, 7) == CPT_OK);
        }
        MUST(cpt_tree_add(tree, path, weights[i] * CPT_WEIGHT_ONE) == CPT_OK);
        cpt_path_free(path);
    }
    MUST(cpt_tree_note(tree, "entry", "A") == CPT_OK);
    cpt_tree_time_add(tree, 1700000000000000000U);
    cpt_tree_time_add(tree, 1700000001000000000U);
    return tree;
}

static void test_the_example_of_the_format_page_is_true(void)
{
    struct cpt_tree *tree = example();
    struct block block = encode(tree);
    struct block page = read_file(CPT_DOCS_DIR, "format-tree.md");

    for (size_t i = 0; i < block.bytes; i += 16) {
        char line[80];
        size_t length = (size_t)snprintf(line, sizeof line, "%04zx ", i);

        for (size_t j = i; j < i + 16 && j < block.bytes; j++) {
            length += (size_t)snprintf(line + length, sizeof line - length, " %02x",
                                       block.data[j]);
        }
        CU_ASSERT_PTR_NOT_NULL(strstr((const char *)page.data, line));
    }
    cpt_alloc_free(NULL, block.data);
    cpt_alloc_free(NULL, page.data);
    cpt_tree_free(tree);
}

/* Decodes; encoding the result must give the same bytes. */
static cpt_status round_trip(const struct block *block,
                             const struct cpt_tree_options *options,
                             struct cpt_error *error)
{
    struct cpt_tree *tree = NULL;
    const cpt_status status =
        cpt_tree_decode(NULL, options, block->data, block->bytes, &tree, error);

    if (status == CPT_OK) {
        struct block again = encode(tree);

        CU_ASSERT_EQUAL(again.bytes, block->bytes);
        CU_ASSERT_EQUAL(memcmp(again.data, block->data, block->bytes), 0);
        cpt_alloc_free(NULL, again.data);
    } else {
        CU_ASSERT_PTR_NULL(tree);
    }
    cpt_tree_free(tree);
    return status;
}

static void check_same(const struct cpt_stats *left, const struct cpt_stats *right)
{
    CU_ASSERT_EQUAL(left->self.mean_ns, right->self.mean_ns);
    CU_ASSERT_EQUAL(left->self.error_ns, right->self.error_ns);
    CU_ASSERT_EQUAL(left->self.skewness, right->self.skewness);
    CU_ASSERT_EQUAL(left->inclusive.skewness, right->inclusive.skewness);
    CU_ASSERT_EQUAL(left->present_effective_count, right->present_effective_count);
    CU_ASSERT_EQUAL(left->inclusive.mean_ns, right->inclusive.mean_ns);
    CU_ASSERT_EQUAL(left->inclusive.error_ns, right->inclusive.error_ns);
    CU_ASSERT_EQUAL(left->present_count, right->present_count);
    CU_ASSERT_EQUAL(left->presence, right->presence);
    CU_ASSERT_EQUAL(left->min_ns, right->min_ns);
    CU_ASSERT_EQUAL(left->max_ns, right->max_ns);
}

static void test_what_is_decoded_is_what_was_encoded(void)
{
    uint64_t state = random_seed("bytes");

    for (int round = 0; round < 200; round++) {
        struct cpt_tree *tree =
            tree_random(&state, 2 + (unsigned)random_below(&state, 30));
        struct cpt_tree *other = NULL;
        struct cpt_error error = {0};
        struct block block = encode(tree);

        CU_ASSERT_EQUAL(round_trip(&block, NULL, &error), CPT_OK);
        CU_ASSERT_STRING_EQUAL(error.sentence, "");
        CU_ASSERT_EQUAL_FATAL(
            cpt_tree_decode(NULL, NULL, block.data, block.bytes, &other, NULL), CPT_OK);
        CU_ASSERT_EQUAL(cpt_tree_node_count(tree), cpt_tree_node_count(other));
        for (uint32_t i = 0; i < cpt_tree_node_count(tree); i++) {
            char stack[4096];
            struct cpt_stats left = cpt_stats_of(tree, i);
            struct cpt_stats right;

            (void)cpt_tree_stack_text(tree, i, stack, sizeof stack);
            right = cpt_stats_of(other, tree_node(other, stack));
            check_same(&left, &right);
        }
        cpt_alloc_free(NULL, block.data);
        cpt_tree_free(tree);
        cpt_tree_free(other);
    }
}

static void test_the_extremes_survive(void)
{
    struct cpt_tree *tree = cpt_tree_new(NULL, NULL);
    struct block block;
    char text[32];

    (void)snprintf(text, sizeof text, "a %llu", (unsigned long long)CPT_TREE_TIME_MAX);
    for (int i = 0; i < 50; i++) {
        CU_ASSERT_EQUAL(tree_add_text(tree, text, CPT_WEIGHT_MAX), CPT_OK);
    }
    CU_ASSERT_EQUAL(tree_add_text(tree, "", CPT_WEIGHT_ONE), CPT_OK);
    block = encode(tree);
    CU_ASSERT_EQUAL(round_trip(&block, NULL, NULL), CPT_OK);
    cpt_alloc_free(NULL, block.data);
    cpt_tree_free(tree);
}

static void test_every_prefix_is_refused(void)
{
    struct cpt_tree *tree = example();
    struct block whole = encode(tree);

    for (size_t bytes = 0; bytes < whole.bytes; bytes++) {
        struct block part = {cpt_alloc_array(NULL, NULL, bytes + 1, 1), bytes};
        struct cpt_error error = {0};

        memcpy(part.data, whole.data, bytes);
        CU_ASSERT_EQUAL(round_trip(&part, NULL, &error),
                        bytes < 8 ? CPT_CORRUPT : CPT_TRUNCATED);
        CU_ASSERT_NOT_EQUAL(error.sentence[0], '\0');
        patch_tree(part.data, bytes); /* with a right checksum */
        CU_ASSERT_NOT_EQUAL(round_trip(&part, NULL, NULL), CPT_OK);
        cpt_alloc_free(NULL, part.data);
    }
    cpt_alloc_free(NULL, whole.data);
    cpt_tree_free(tree);
}

static void test_every_flipped_bit_is_noticed(void)
{
    struct cpt_tree *tree = example();
    struct block block = encode(tree);

    for (size_t i = 0; i < block.bytes * 8; i++) {
        block.data[i / 8] ^= (unsigned char)(1U << i % 8);
        CU_ASSERT_NOT_EQUAL(round_trip(&block, NULL, NULL), CPT_OK);
        block.data[i / 8] ^= (unsigned char)(1U << i % 8);
    }
    CU_ASSERT_EQUAL(round_trip(&block, NULL, NULL), CPT_OK);
    cpt_alloc_free(NULL, block.data);
    cpt_tree_free(tree);
}

/* With a right checksum: refused, or a valid tree that can be merged and walked, whose
 * statistics can be computed, and that has only one encoding. */
static void test_forged_trees_are_refused_or_sound(void)
{
    uint64_t state = random_seed("forged");
    unsigned accepted = 0;

    for (int round = 0; round < 300; round++) {
        struct cpt_tree *tree =
            tree_random(&state, 1 + (unsigned)random_below(&state, 5));
        struct block block = encode(tree);

        for (int i = 0; i < 100; i++) {
            const size_t at = 16 + random_below(&state, block.bytes - 20);
            const unsigned char before = block.data[at];
            struct cpt_tree *forged = NULL;

            block.data[at] = (unsigned char)random_next(&state);
            patch_tree(block.data, block.bytes);
            (void)round_trip(&block, NULL, NULL);
            if (cpt_tree_decode(NULL, NULL, block.data, block.bytes, &forged, NULL) ==
                CPT_OK) {
                struct cpt_tree_walk *walk = NULL;

                accepted++;
                CU_ASSERT_EQUAL(cpt_tree_merge(forged, tree), CPT_OK);
                for (uint32_t j = 0; j < cpt_tree_node_count(forged); j++) {
                    const struct cpt_stats stats = cpt_stats_of(forged, j);

                    CU_ASSERT_TRUE(stats.presence <= 1 && stats.inclusive.mean_ns >= 0);
                    CU_ASSERT_TRUE(cpt_stats_quantile_ns(forged, j, 0.5) <=
                                   stats.max_ns);
                }
                walk = cpt_tree_walk_new(NULL, forged, CPT_TREE_BY_TIME);
                CU_ASSERT_PTR_NOT_NULL(walk);
                cpt_tree_walk_free(walk);
            }
            cpt_tree_free(forged);
            block.data[at] = before;
        }
        cpt_alloc_free(NULL, block.data);
        cpt_tree_free(tree);
    }
    printf("[%u of 30000 accepted] ", accepted);
}

static void test_the_limit_of_stacks_holds_for_bytes(void)
{
    struct cpt_tree *tree = example();
    struct block block = encode(tree);
    struct cpt_tree_options options = {.struct_bytes = sizeof options, .nodes_max = 2};

    CU_ASSERT_EQUAL(round_trip(&block, &options, NULL), CPT_LIMIT);
    options.nodes_max = 3;
    CU_ASSERT_EQUAL(round_trip(&block, &options, NULL), CPT_OK);
    options.nodes_max = 4;
    CU_ASSERT_EQUAL(round_trip(&block, &options, NULL), CPT_OK);
    options.nodes_max = CPT_TREE_NODES_MAX;
    CU_ASSERT_EQUAL(round_trip(&block, &options, NULL), CPT_OK);
    options.nodes_max = CPT_TREE_NODES_MAX + 1;
    CU_ASSERT_EQUAL(round_trip(&block, &options, NULL), CPT_INVALID);
    cpt_alloc_free(NULL, block.data);
    cpt_tree_free(tree);
}

static void test_trees_are_told_from_other_files(void)
{
    CU_ASSERT_TRUE(cpt_tree_is_encoded("CPTTREE\x01", 8));
    CU_ASSERT_TRUE(cpt_tree_is_encoded("CPTTREE\x02", 8));
    CU_ASSERT_FALSE(cpt_tree_is_encoded("CPTTREE\x01", 7));
    CU_ASSERT_FALSE(cpt_tree_is_encoded("CPTTREF\x01", 8));
    CU_ASSERT_FALSE(cpt_tree_is_encoded(NULL, 0));
}

static struct cpt_tree *read_tree(const char *name)
{
    struct block block = read_file(CPT_DATA_DIR, name);
    struct cpt_tree *tree = NULL;

    CU_ASSERT_EQUAL_FATAL(
        cpt_tree_decode(NULL, NULL, block.data, block.bytes, &tree, NULL), CPT_OK);
    cpt_alloc_free(NULL, block.data);
    return tree;
}

/* A tree of version 1 has means and errors, but no skewness. It stays what it is, byte
 * for byte, and so does a tree that it is merged into. */
static void test_old_trees_have_no_skewness(void)
{
    static const char *const names[] = {"v1/example.cpttree", "v1/weighted.cpttree"};

    for (int i = 0; i < 2; i++) {
        struct block block = read_file(CPT_DATA_DIR, names[i]);
        struct cpt_tree *old = read_tree(names[i]);
        struct cpt_tree *left = example();
        struct cpt_tree *right = read_tree(names[i]);
        struct cpt_tree *fresh = example();
        const struct cpt_stats stats = cpt_stats_of(old, CPT_TREE_ROOT);
        struct block merged;

        CU_ASSERT_EQUAL(round_trip(&block, NULL, NULL), CPT_OK);
        CU_ASSERT_TRUE(isnan(stats.inclusive.skewness));
        CU_ASSERT_TRUE(stats.inclusive.error_ns > 0);
        CU_ASSERT_FALSE(isnan(cpt_stats_of(left, CPT_TREE_ROOT).inclusive.skewness));
        CU_ASSERT_EQUAL(cpt_tree_merge(left, old), CPT_OK);
        CU_ASSERT_EQUAL(cpt_tree_merge(right, fresh), CPT_OK);
        CU_ASSERT_TRUE(tree_equal(left, right));
        CU_ASSERT_TRUE(isnan(cpt_stats_of(left, CPT_TREE_ROOT).inclusive.skewness));
        merged = encode(left);
        CU_ASSERT_EQUAL(merged.data[7], 1);
        CU_ASSERT_EQUAL(round_trip(&merged, NULL, NULL), CPT_OK);
        cpt_alloc_free(NULL, merged.data);
        cpt_alloc_free(NULL, block.data);
        cpt_tree_free(old);
        cpt_tree_free(left);
        cpt_tree_free(right);
        cpt_tree_free(fresh);
    }
}

/* An old tree without requests takes nothing from others. */
static void test_an_old_empty_tree_takes_no_skewness(void)
{
    struct cpt_tree *empty = cpt_tree_new(NULL, NULL);
    struct block block = encode(empty);
    struct cpt_tree *old = NULL;
    struct cpt_tree *tree = example();
    struct cpt_tree *fresh = example();

    block.data[7] = 1;
    memmove(block.data + block.bytes - 7, block.data + block.bytes - 5, 5);
    patch_tree(block.data, block.bytes - 2); /* without two sums of cubes */
    CU_ASSERT_EQUAL_FATAL(
        cpt_tree_decode(NULL, NULL, block.data, block.bytes - 2, &old, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_merge(tree, old), CPT_OK);
    CU_ASSERT_EQUAL(cpt_tree_merge(old, fresh), CPT_OK);
    CU_ASSERT_TRUE(tree_equal(tree, fresh));
    CU_ASSERT_TRUE(tree_equal(old, fresh));
    cpt_alloc_free(NULL, block.data);
    cpt_tree_free(empty);
    cpt_tree_free(old);
    cpt_tree_free(tree);
    cpt_tree_free(fresh);
}

/* Files of version 2 that were written by another program, from the format page. */
static void test_files_of_another_writer_are_the_same(void)
{
    struct cpt_tree *read = read_tree("v2/example.cpttree");
    struct cpt_tree *tree = example();

    CU_ASSERT_TRUE(tree_equal(read, tree));
    cpt_tree_free(read);
    cpt_tree_free(tree);
    read = read_tree("v2/weighted.cpttree");
    tree = weighted();
    CU_ASSERT_TRUE(tree_equal(read, tree));
    cpt_tree_free(read);
    cpt_tree_free(tree);
}

/* A file of version 3: the example with drags, written by hand from the format page. */
static void test_a_file_with_drags_is_read(void)
{
    struct cpt_tree *tree = read_tree("v3/example.cpttree");
    struct cpt_tree *plain = example();
    const struct cpt_gain parse = cpt_gain_of(tree, tree_node(tree, "A: /;A: parse"));
    const struct cpt_gain find = cpt_gain_of(tree, tree_node(tree, "A: /;A: index"));

    CU_ASSERT_EQUAL(cpt_gain_request_count(tree), 2);
    CU_ASSERT_EQUAL(parse.known_count, 2);
    CU_ASSERT_EQUAL(parse.drag.mean_ns, 195);
    CU_ASSERT_EQUAL(parse.time.mean_ns, 220);
    CU_ASSERT_EQUAL(parse.drag_total_ns, 390);
    CU_ASSERT_EQUAL(find.present_count, 1);
    CU_ASSERT_EQUAL(find.known_count, 0);
    CU_ASSERT_EQUAL(find.drag.mean_ns, 0);
    CU_ASSERT_EQUAL(find.time.mean_ns, 30);
    cpt_tree_forget_drags(tree);
    CU_ASSERT_TRUE(tree_equal(tree, plain));
    cpt_tree_free(tree);
    cpt_tree_free(plain);
}

/* Files written by version 1 are still read. */
static void test_old_files_are_read(void)
{
    struct cpt_tree *tree = read_tree("v1/example.cpttree");

    CU_ASSERT_EQUAL(cpt_tree_request_count(tree), 2);
    CU_ASSERT_EQUAL(cpt_stats_of(tree, tree_node(tree, "A: /;A: parse")).self.mean_ns,
                    220);
    CU_ASSERT_EQUAL(cpt_stats_of(tree, tree_node(tree, "A: /;A: index")).self.mean_ns,
                    30);
    CU_ASSERT_EQUAL(cpt_stats_of(tree, CPT_TREE_ROOT).inclusive.mean_ns, 250);
    CU_ASSERT_STRING_EQUAL(cpt_tree_note_find(tree, "entry"), "A");
    cpt_tree_free(tree);
}

/* Each bad file is refused with the sentence in the file beside it. */
static void test_bad_files_are_refused_with_their_sentence(void)
{
    DIR *folder = opendir(CPT_DATA_DIR "/bad");
    const struct dirent *entry = NULL;
    unsigned count = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    while ((entry = readdir(folder)) != NULL) {
        const char *suffix = strstr(entry->d_name, ".cpttree");
        char name[300];
        struct block block;
        struct block expected;
        struct cpt_error error = {0};

        if (suffix == NULL) {
            continue;
        }
        (void)snprintf(name, sizeof name, "%.*s.expect", (int)(suffix - entry->d_name),
                       entry->d_name);
        block = read_file(CPT_DATA_DIR "/bad", entry->d_name);
        expected = read_file(CPT_DATA_DIR "/bad", name);
        expected.data[strcspn((char *)expected.data, "\n")] = '\0';
        CU_ASSERT_NOT_EQUAL(round_trip(&block, NULL, &error), CPT_OK);
        if (strcmp(error.sentence, (char *)expected.data) != 0) {
            printf("%s: %s\n", entry->d_name, error.sentence);
            CU_FAIL("another sentence");
        }
        cpt_alloc_free(NULL, block.data);
        cpt_alloc_free(NULL, expected.data);
        count++;
    }
    (void)closedir(folder);
    CU_ASSERT_TRUE(count >= 10);
}

static bool there_and_back(const struct cpt_alloc *alloc)
{
    struct cpt_tree *tree = example();
    struct cpt_tree *decoded = NULL;
    void *bytes = NULL;
    size_t count = 0;
    bool is_done = cpt_tree_encode(alloc, tree, &bytes, &count) == CPT_OK;

    if (is_done) {
        is_done = cpt_tree_decode(alloc, NULL, bytes, count, &decoded, NULL) == CPT_OK;
    }
    CU_ASSERT_EQUAL(decoded != NULL, is_done);
    cpt_alloc_free(alloc, bytes);
    cpt_tree_free(decoded);
    cpt_tree_free(tree);
    return is_done;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(there_and_back);
}

extern CU_TestInfo cpt_tree_bytes_tests[];
CU_TestInfo cpt_tree_bytes_tests[] = {
    {"the example of the format page is true",
     test_the_example_of_the_format_page_is_true},
    {"a decoded tree equals the encoded one", test_what_is_decoded_is_what_was_encoded},
    {"the extremes survive", test_the_extremes_survive},
    {"every prefix is refused", test_every_prefix_is_refused},
    {"every flipped bit is detected", test_every_flipped_bit_is_noticed},
    {"forged trees are refused or sound", test_forged_trees_are_refused_or_sound},
    {"the limit of stacks holds for bytes", test_the_limit_of_stacks_holds_for_bytes},
    {"trees are distinguished from other files", test_trees_are_told_from_other_files},
    {"old files are read", test_old_files_are_read},
    {"a file with drags is read", test_a_file_with_drags_is_read},
    {"old trees have no skewness", test_old_trees_have_no_skewness},
    {"an old empty tree takes no skewness", test_an_old_empty_tree_takes_no_skewness},
    {"files of another writer are the same", test_files_of_another_writer_are_the_same},
    {"bad files are refused with their sentence",
     test_bad_files_are_refused_with_their_sentence},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
