/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_expression.c - the language of --where: its words, its limits, its meaning */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "tool/select/expression.h"
#include "tool/select/expression_lex.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Words --- */

static void test_durations(void)
{
    static const struct {
        const char *text;
        uint64_t ns;
        int is_right;
    } cases[] = {
        {"20ms", 20000000, 1},
        {"1.5s", 1500000000, 1},
        {"0ns", 0, 1},
        {"1ns", 1, 1},
        {"0.001us", 1, 1},
        {"3\u00b5s", 3000, 1},
        {"2m", UINT64_C(120000000000), 1},
        {"1.000000001h", UINT64_C(3600000003600), 1},
        {"106751d", UINT64_C(106751) * 86400 * 1000000000, 1},
        {"9223372036854775807ns", INT64_MAX, 1},
        {"9223372036854775808ns", 0, 0},
        {"106752d", 0, 0},
        {"0.5ns", 0, 0},
        {"0.0001us", 0, 0},
        {"1.ms", 0, 0},
        {".5ms", 0, 0},
        {"1.2.3s", 0, 0},
        {"-1s", 0, 0},
        {"20", 0, 0},
        {"ms", 0, 0},
        {"20MS", 0, 0},
        {"20mss", 0, 0},
        {"", 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t ns = 1;
        const char *wrong = cpti_lex_duration(cpt_bytes_of(cases[i].text), &ns);

        CU_ASSERT_EQUAL(wrong == NULL, cases[i].is_right);
        if (cases[i].is_right) {
            CU_ASSERT_EQUAL(ns, cases[i].ns);
        }
    }
}

static void test_percentiles(void)
{
    static const struct {
        const char *text;
        uint64_t share;
        int is_right;
    } cases[] = {
        {"p99", 99000000, 1},
        {"p99.9", 99900000, 1},
        {"p0", 0, 1},
        {"p100", 100000000, 1},
        {"p50.000001", 50000001, 1},
        {"p100.1", 0, 0},
        {"p", 0, 0},
        {"p99x", 0, 0},
        {"p1.0000001", 0, 0},
        {"P99", 0, 0},
        {"p-1", 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t share = 0;
        const int is_right = cpti_lex_percentile(cpt_bytes_of(cases[i].text), &share);

        CU_ASSERT_EQUAL(is_right, cases[i].is_right);
        if (cases[i].is_right) {
            CU_ASSERT_EQUAL(share, cases[i].share);
        }
    }
}

static void test_simple_form(void)
{
    static const struct {
        const char *text;
        int is_simple;
    } cases[] = {
        {"arm=B", 1},
        {"arm=", 1},
        {"arm=a and b", 1},
        {"a=b=c", 1},
        {"arm=~x", 1},
        {"k8s.io/pod=x", 1},
        {"arm==B", 0},
        {"arm = B", 0},
        {"items>=3", 0},
        {"=x", 0},
        {"", 0},
        {"arm", 0},
        {"has(x) and a=b", 0},
        {"\"a\"=b", 0},
        {"a!=b", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT_EQUAL(cpti_expression_is_simple(cpt_bytes_of(cases[i].text)),
                        cases[i].is_simple);
    }
}

/* --- Limits: one less, the limit, one more --- */

static struct cpti_expression expression; /* large */

/* Whether @prefix, @count times @piece separated by @between, and @suffix are
 * accepted. */
static int takes(const char *prefix, const char *piece, const char *between,
                 size_t count, const char *suffix)
{
    const size_t room =
        strlen(prefix) + strlen(suffix) + count * (strlen(piece) + strlen(between)) + 1;
    char *text = malloc(room);
    struct cpti_expression_error error = {0};
    int is_taken;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    (void)strcpy(text, prefix);
    for (size_t i = 0; i < count; i++) {
        (void)strcat(text, i == 0 ? "" : between);
        (void)strcat(text, piece);
    }
    (void)strcat(text, suffix);
    expression = (struct cpti_expression){0};
    is_taken = cpti_expression_add(&expression, cpt_bytes_of(text), 0, &error);
    if (!is_taken) {
        CU_ASSERT_TRUE(error.at <= strlen(text) && error.sentence[0] != '\0');
        CU_ASSERT_EQUAL(expression.test_count + expression.node_count +
                            expression.value_count + expression.text_bytes,
                        0);
    }
    free(text);
    return is_taken;
}

static void test_limits(void)
{
    static const struct {
        const char *prefix;
        const char *piece;
        const char *between;
        const char *suffix;
        size_t limit;
    } cases[] = {
        {"", "not ", "", "failed", CPTI_EXPRESSION_DEPTH_MAX},
        {"", "failed", " and ", "", CPTI_EXPRESSION_TESTS_MAX},
        {"", "failed", " or ", "", CPTI_EXPRESSION_TESTS_MAX},
        {"a in (", "1", ",", ")", CPTI_EXPRESSION_VALUES_MAX},
        {"path(\"", "f", ";", "\")", CPTI_EXPRESSION_FRAMES_MAX},
        {"a == ", "x", "", "", CPTI_EXPRESSION_BYTES_MAX - 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t k = 0; k < 3; k++) {
            CU_ASSERT_EQUAL(takes(cases[i].prefix, cases[i].piece, cases[i].between,
                                  cases[i].limit - 1 + k, cases[i].suffix),
                            k < 2);
        }
    }
}

static void test_depth_of_parentheses(void)
{
    char text[512];

    for (int depth = CPTI_EXPRESSION_DEPTH_MAX - 1;
         depth <= CPTI_EXPRESSION_DEPTH_MAX + 1; depth++) {
        struct cpti_expression_error error = {0};

        memset(text, '(', (size_t)depth);
        (void)strcpy(text + depth, "a == b");
        memset(text + depth + 6, ')', (size_t)depth);
        text[2 * depth + 6] = '\0';
        expression = (struct cpti_expression){0};
        CU_ASSERT_EQUAL(cpti_expression_add(&expression, cpt_bytes_of(text), 0, &error),
                        depth <= CPTI_EXPRESSION_DEPTH_MAX);
    }
}

static void test_number_of_percentiles(void)
{
    struct cpti_expression_error error = {0};
    char text[32];

    expression = (struct cpti_expression){0};
    for (int i = 0; i < CPTI_EXPRESSION_PERCENTILES_MAX; i++) {
        (void)snprintf(text, sizeof text, "latency > p%d", i);
        CU_ASSERT_TRUE(cpti_expression_add(&expression, cpt_bytes_of(text), 0, &error));
    }
    CU_ASSERT_TRUE(
        cpti_expression_add(&expression, cpt_bytes_of("latency > p3.0"), 0, &error));
    CU_ASSERT_FALSE(
        cpti_expression_add(&expression, cpt_bytes_of("latency > p99"), 0, &error));
}

/* --- A simple, slow interpreter --- */

enum { RECORDS = 40, NAMES = 4, STACK_MAX = 5, SEGMENTS_MAX = 6, TEXT_MAX = 4000 };

static const char *const frame_names[NAMES] = {"A: /", "A: A1", "B: B1", "B; B2"};
/* as they are written in an expression */
static const char *const frame_texts[NAMES] = {"A: /", "A: A1", "B: B1", "B\\x3b B2"};
static const char *const words[] = {"A", "B", "C", "12", "true"};

static struct test_random random_source;

static uint64_t next_random(uint64_t bound)
{
    return test_random_below(&random_source, bound);
}

/* A record, and the parts of it that the interpreter uses. */
struct model {
    struct cpt_record record;
    struct cpt_attribute attributes[4];
    const char *text; /* arm; NULL: absent */
    int64_t integer;  /* items */
    double real;      /* ratio */
    int is_true;      /* cached */
    const char *status;
    int stacks[SEGMENTS_MAX][STACK_MAX];
    int depths[SEGMENTS_MAX];
    uint64_t durations[SEGMENTS_MAX];
    int segment_count;
    unsigned char *path;
};

static void make_path(struct model *model)
{
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .is_unlimited = 1};
    struct cpt_path *path = cpt_path_new(NULL);
    size_t bytes = 0;

    model->segment_count = 1 + (int)next_random(SEGMENTS_MAX);
    for (int i = 0; i < model->segment_count; i++) {
        uint32_t frame = CPT_FRAME_NONE;

        model->depths[i] = 1 + (int)next_random(STACK_MAX);
        model->durations[i] = 1 + next_random(4);
        for (int k = 0; k < model->depths[i]; k++) {
            model->stacks[i][k] = k == 0 ? 0 : (int)next_random(NAMES);
            CU_ASSERT_EQUAL_FATAL(
                cpt_path_frame_add(path, frame,
                                   cpt_bytes_of(frame_names[model->stacks[i][k]]),
                                   CPT_KIND_WORK, &frame),
                CPT_OK);
        }
        CU_ASSERT_EQUAL_FATAL(cpt_path_append_ns(path, frame, model->durations[i]),
                              CPT_OK);
    }
    model->record.latency_ns = cpt_path_sum_ns(path);
    CU_ASSERT_EQUAL_FATAL(
        cpt_metadata_encode(path, &options, &model->path, &bytes, NULL), CPT_OK);
    model->record.path_bytes = (struct cpt_bytes){(const char *)model->path, bytes};
    cpt_path_free(path);
}

static void make_model(struct model *model)
{
    struct cpt_record *record = &model->record;
    size_t count = 0;

    *model = (struct model){0};
    model->text = next_random(4) == 0 ? NULL : words[next_random(5)];
    model->integer = (int64_t)next_random(7) - 3;
    model->real = ((double)next_random(13) - 6) / 2;
    model->is_true = next_random(2) != 0;
    model->status = words[next_random(5)];
    if (model->text != NULL) {
        model->attributes[count++] =
            (struct cpt_attribute){cpt_bytes_of("arm"),
                                   CPT_ATTRIBUTE_TEXT,
                                   {.text = cpt_bytes_of(model->text)}};
    }
    model->attributes[count++] = (struct cpt_attribute){
        cpt_bytes_of("items"), CPT_ATTRIBUTE_INTEGER, {.integer = model->integer}};
    model->attributes[count++] = (struct cpt_attribute){
        cpt_bytes_of("ratio"), CPT_ATTRIBUTE_FLOAT, {.real = model->real}};
    model->attributes[count++] = (struct cpt_attribute){
        cpt_bytes_of("cached"), CPT_ATTRIBUTE_BOOL, {.is_true = model->is_true}};
    record->attributes = model->attributes;
    record->attribute_count = count;
    record->status = cpt_bytes_of(model->status);
    record->is_failed = next_random(2) != 0;
    record->is_random = next_random(2) != 0;
    record->start_unix_ns = next_random(4) * 1000000000;
    make_path(model);
}

enum tree_kind { AND, OR, NOT, TEST };

/* One node of a random expression. */
struct tree {
    enum tree_kind kind;
    struct tree *left;
    struct tree *right;
    int what;      /* a row of subjects */
    int relation;  /* enum cpti_comparison */
    int is_number; /* the values are numbers, else words */
    int value_count;
    double numbers[3];
    const char *texts[3];
    int frames[3];
    int frame_count;
};

enum {
    ARM,
    ITEMS,
    RATIO,
    CACHED,
    ABSENT,
    STATUS,
    FAILED,
    RANDOM,
    LATENCY,
    START,
    PATH
};
static const char *const subjects[] = {"arm",     "items",  "ratio",  "cached",
                                       "\"no\"",  "status", "failed", "random",
                                       "latency", "start",  "path"};
static const char *const relations[] = {
    "==", "!=", "<", "<=", ">", ">=", "in", "not in"};

static struct tree *make_tree(int depth)
{
    static const enum tree_kind kinds[] = {AND, OR, NOT};
    struct tree *tree = calloc(1, sizeof *tree);

    CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
    tree->kind = TEST;
    if (depth != 0 && next_random(3) != 0) {
        tree->kind = kinds[next_random(3)];
    }
    if (tree->kind != TEST) {
        tree->left = make_tree(depth - 1);
        tree->right = tree->kind == NOT ? NULL : make_tree(depth - 1);
        return tree;
    }
    tree->what = (int)next_random(sizeof subjects / sizeof subjects[0]);
    tree->relation = (int)next_random(9);
    if (tree->what >= FAILED) {
        tree->relation = (int)next_random(tree->what <= RANDOM ? 2 : 6);
    } else if (tree->relation == CPTI_RELATION_HAS && tree->what == STATUS) {
        tree->relation = CPTI_RELATION_EQUAL;
    }
    tree->is_number = next_random(2) != 0;
    tree->value_count =
        tree->relation >= CPTI_RELATION_IN ? 1 + (int)next_random(3) : 1;
    for (int i = 0; i < tree->value_count; i++) {
        tree->numbers[i] = ((double)next_random(17) - 4) / 2;
        tree->texts[i] = words[next_random(5)];
    }
    tree->frame_count = 1 + (int)next_random(3);
    for (int i = 0; i < tree->frame_count; i++) {
        tree->frames[i] = (int)next_random(NAMES);
    }
    return tree;
}

static void free_tree(struct tree *tree)
{
    if (tree != NULL) {
        free_tree(tree->left);
        free_tree(tree->right);
        free(tree);
    }
}

/* Appends to @text. */
static void say(char *text, const char *word)
{
    CU_ASSERT_TRUE_FATAL(strlen(text) + strlen(word) + 1 < TEXT_MAX);
    (void)strcat(text, word);
}

static void say_value(char *text, const struct tree *tree, int index)
{
    char word[64];

    if (tree->what == FAILED || tree->what == RANDOM) {
        (void)snprintf(word, sizeof word, "%s", tree->is_number ? "true" : "false");
    } else if (tree->what == LATENCY || tree->what == PATH) {
        (void)snprintf(word, sizeof word, "%dns", (int)(tree->numbers[0] + 4));
    } else if (tree->what == START) {
        (void)snprintf(word, sizeof word, "@%d", (int)(tree->numbers[0] + 2) / 2);
    } else if (tree->is_number) {
        (void)snprintf(word, sizeof word, "%g", tree->numbers[index]);
    } else {
        (void)snprintf(word, sizeof word, "\"%s\"", tree->texts[index]);
    }
    say(text, word);
}

static void say_test(char *text, const struct tree *tree)
{
    if (tree->relation == CPTI_RELATION_HAS) {
        say(text, "has(");
        say(text, subjects[tree->what]);
        say(text, ")");
        return;
    }
    say(text, subjects[tree->what]);
    if (tree->what == PATH) {
        for (int i = 0; i < tree->frame_count; i++) {
            say(text, i == 0 ? "(\"" : ";");
            say(text, frame_texts[tree->frames[i]]);
        }
        say(text, "\")");
    }
    say(text, " ");
    say(text, relations[tree->relation]);
    say(text, tree->relation >= CPTI_RELATION_IN ? " (" : " ");
    for (int i = 0; i < tree->value_count; i++) {
        say(text, i == 0 ? "" : ",");
        say_value(text, tree, i);
    }
    say(text, tree->relation >= CPTI_RELATION_IN ? ")" : "");
}

/* With the necessary parentheses, and some more. */
static void say_tree(char *text, const struct tree *tree, int above)
{
    const int is_needed =
        (tree->kind == OR && above != OR) || (tree->kind == AND && above == NOT);
    const int is_closed = (is_needed && above != TEST) || next_random(5) == 0;

    say(text, is_closed ? "( " : "");
    if (tree->kind == TEST) {
        say_test(text, tree);
    } else if (tree->kind == NOT) {
        say(text, "not ");
        say_tree(text, tree->left, NOT);
    } else {
        say_tree(text, tree->left, (int)tree->kind);
        say(text, tree->kind == AND ? " and " : " or ");
        say_tree(text, tree->right, (int)tree->kind);
    }
    say(text, is_closed ? ")" : "");
}

/* -1, 0, 1; 2 if they cannot be compared. */
static int order_numbers(double left, double right)
{
    return left < right ? -1 : left > right;
}

static int order_text(const char *text, const struct tree *tree, int index)
{
    char *end;
    const double number = strtod(text, &end);
    int order;

    if (tree->is_number) {
        return *end == '\0' ? order_numbers(number, tree->numbers[index]) : 2;
    }
    order = strcmp(text, tree->texts[index]);
    return order < 0 ? -1 : order > 0;
}

static int order_number(double number, const struct tree *tree, int index)
{
    char *end;
    const double text = strtod(tree->texts[index], &end);

    if (tree->is_number) {
        return order_numbers(number, tree->numbers[index]);
    }
    return *end == '\0' ? order_numbers(number, text) : 2;
}

static double time_of(const struct model *model, const struct tree *tree)
{
    double sum = 0;

    for (int i = 0; i < model->segment_count; i++) {
        int is_below = 0;

        for (int end = tree->frame_count; end <= model->depths[i]; end++) {
            is_below = is_below ||
                       memcmp(&model->stacks[i][end - tree->frame_count], tree->frames,
                              (size_t)tree->frame_count * sizeof(int)) == 0;
        }
        sum += is_below ? (double)model->durations[i] : 0;
    }
    return sum;
}

static int order_of(const struct model *model, const struct tree *tree, int index)
{
    const int ns = (int)(tree->numbers[0] + 4);

    switch (tree->what) {
    case ARM:
        return order_text(model->text, tree, index);
    case ITEMS:
        return order_number((double)model->integer, tree, index);
    case RATIO:
        return order_number(model->real, tree, index);
    case CACHED:
        return !tree->is_number && strcmp(tree->texts[index], "true") == 0 &&
                       model->is_true
                   ? 0
                   : 2;
    case STATUS:
        return order_text(model->status, tree, index);
    case FAILED:
        return model->record.is_failed == tree->is_number ? 0 : 2;
    case RANDOM:
        return model->record.is_random == tree->is_number ? 0 : 2;
    case LATENCY:
        return order_numbers((double)model->record.latency_ns, ns);
    case START:
        return order_numbers((double)model->record.start_unix_ns / 1e9,
                             (int)(tree->numbers[0] + 2) / 2);
    default:
        return order_numbers(time_of(model, tree), ns);
    }
}

static int test_is_so(const struct model *model, const struct tree *tree)
{
    const int is_there =
        tree->what != ABSENT && !(tree->what == ARM && model->text == NULL);
    int is_in = 0;

    if (!is_there || tree->relation == CPTI_RELATION_HAS) {
        return is_there;
    }
    for (int i = 0; i < tree->value_count; i++) {
        is_in = is_in || order_of(model, tree, i) == 0;
    }
    switch (tree->relation) {
    case CPTI_RELATION_IN:
    case CPTI_RELATION_EQUAL:
        return is_in;
    case CPTI_RELATION_NOT_IN:
    case CPTI_RELATION_NOT_EQUAL:
        return !is_in;
    case CPTI_RELATION_LESS:
        return order_of(model, tree, 0) == -1;
    case CPTI_RELATION_AT_MOST:
        return order_of(model, tree, 0) <= 0;
    case CPTI_RELATION_GREATER:
        return order_of(model, tree, 0) == 1;
    default:
        return order_of(model, tree, 0) == 0 || order_of(model, tree, 0) == 1;
    }
}

static int is_so(const struct model *model, const struct tree *tree)
{
    switch (tree->kind) {
    case AND:
        return is_so(model, tree->left) && is_so(model, tree->right);
    case OR:
        return is_so(model, tree->left) || is_so(model, tree->right);
    case NOT:
        return !is_so(model, tree->left);
    default:
        return test_is_so(model, tree);
    }
}

static struct model models[RECORDS];

/* Tests one random expression in two spellings, and one with a percentile, which the
 * first pass ignores, on all records. Returns how many differed. */
static int try_expression(struct cpti_scratch *scratch)
{
    struct tree *trees[2] = {make_tree(4), make_tree(2)};
    char texts[2][TEXT_MAX] = {"", ""};
    struct cpti_expression_error error = {0};
    int wrong_count = 0;

    expression = (struct cpti_expression){0};
    CU_ASSERT_TRUE_FATAL(cpti_expression_add(
        &expression, cpt_bytes_of("latency >= p0 or failed"), 0, &error));
    for (size_t i = 0; i < 2; i++) {
        say_tree(texts[i], trees[i], TEST);
        if (!cpti_expression_add(&expression, cpt_bytes_of(texts[i]), 0, &error)) {
            (void)fprintf(stderr, "%s\n  at %zu: %s\n", texts[i], error.at,
                          error.sentence);
            wrong_count++;
        }
    }
    expression.percentiles[0].latency_ns = 5;
    for (int pass = 0; pass < 2; pass++) {
        cpti_expression_link(&expression, pass);
        for (size_t i = 0; i < RECORDS && wrong_count == 0; i++) {
            const struct cpt_record *record = &models[i].record;
            const int expected =
                (pass == 1 || record->latency_ns >= 5 || record->is_failed) &&
                is_so(&models[i], trees[0]) && is_so(&models[i], trees[1]);

            if (cpti_expression_holds(&expression, record, scratch) != expected) {
                (void)fprintf(stderr, "record %zu: not %d: %s\n  %s\n", i, !expected,
                              texts[0], texts[1]);
                wrong_count++;
            }
        }
    }
    free_tree(trees[0]);
    free_tree(trees[1]);
    return wrong_count;
}

static void test_against_interpreter(void)
{
    const uint64_t seed = test_random_seed("expressions");
    struct cpti_scratch scratch = {0};
    int wrong_count = 0;

    random_source.state = seed;
    for (size_t i = 0; i < RECORDS; i++) {
        make_model(&models[i]);
    }
    for (int i = 0; i < 2000 && wrong_count == 0; i++) {
        wrong_count += try_expression(&scratch);
    }
    CU_ASSERT_EQUAL(wrong_count, 0);
    for (size_t i = 0; i < RECORDS; i++) {
        cpt_alloc_free(NULL, models[i].path);
    }
    cpti_scratch_deinit(&scratch);
}

/* --- Numbers --- */

static int holds(const char *text, const struct cpt_attribute *attribute)
{
    struct cpti_expression_error error = {0};
    struct cpti_scratch scratch = {0};
    const struct cpt_record record = {.attributes = attribute, .attribute_count = 1};

    expression = (struct cpti_expression){0};
    CU_ASSERT_TRUE(cpti_expression_add(&expression, cpt_bytes_of(text), 0, &error));
    return cpti_expression_holds(&expression, &record, &scratch);
}

static void test_large_numbers(void)
{
    const struct cpt_attribute most = {
        cpt_bytes_of("n"), CPT_ATTRIBUTE_INTEGER, {.integer = INT64_MAX}};
    const struct cpt_attribute least = {
        cpt_bytes_of("n"), CPT_ATTRIBUTE_INTEGER, {.integer = INT64_MIN}};
    const struct cpt_attribute real = {
        cpt_bytes_of("n"), CPT_ATTRIBUTE_FLOAT, {.real = 9007199254740992.0}};
    const struct cpt_attribute none = {
        cpt_bytes_of("n"), CPT_ATTRIBUTE_FLOAT, {.real = (double)NAN}};

    CU_ASSERT_EQUAL(holds("n == 9223372036854775807", &most), 1);
    CU_ASSERT_EQUAL(holds("n == 9223372036854775806", &most), 0);
    CU_ASSERT_EQUAL(holds("n < 9223372036854775808", &most), 1);
    CU_ASSERT_EQUAL(holds("n < 9223372036854775807.0", &most), 1); /* that is 2^63 */
    CU_ASSERT_EQUAL(holds("n == -9223372036854775808", &least), 1);
    CU_ASSERT_EQUAL(holds("n == -9223372036854775808.0", &least), 1);
    CU_ASSERT_EQUAL(holds("n > -1e300", &least), 1);
    CU_ASSERT_EQUAL(holds("n < 9007199254740993", &real), 1); /* not a double */
    CU_ASSERT_EQUAL(holds("n == 9007199254740992", &real), 1);
    CU_ASSERT_EQUAL(holds("n != 3", &none), 1);
    CU_ASSERT_EQUAL(holds("n <= 3 or n > 3", &none), 0);
}

/* An unreadable path decides nothing; the rest of the expression may. */
static void test_paths_that_are_none(void)
{
    struct cpti_expression_error error = {0};
    struct cpti_scratch scratch = {0};
    const struct cpt_record record = {
        .latency_ns = 5, .is_failed = 1, .path_bytes = {"\xff\xff", 2}};

    expression = (struct cpti_expression){0};
    CU_ASSERT_TRUE(cpti_expression_add(
        &expression, cpt_bytes_of("path(\"A\") > 3ns or not failed"), 0, &error));
    CU_ASSERT_EQUAL(cpti_expression_holds(&expression, &record, &scratch), -1);
    CU_ASSERT_TRUE(
        cpti_expression_add(&expression, cpt_bytes_of("failed=false"), 0, &error));
    CU_ASSERT_EQUAL(cpti_expression_holds(&expression, &record, &scratch), 0);
    cpti_scratch_deinit(&scratch);
}

CU_TestInfo cpt_expression_tests[] = {
    {"durations have units and whole nanoseconds", test_durations},
    {"percentiles have up to six places", test_percentiles},
    {"the simple form KEY=VALUE", test_simple_form},
    {"one less than a limit, the limit, one more", test_limits},
    {"parentheses are bounded", test_depth_of_parentheses},
    {"different percentiles are bounded", test_number_of_percentiles},
    {"random expressions agree with a slow interpreter", test_against_interpreter},
    {"numbers are compared exactly", test_large_numbers},
    {"an unreadable path decides nothing", test_paths_that_are_none},
    CU_TEST_INFO_NULL,
};
