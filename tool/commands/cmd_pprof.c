/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cmd_pprof.c - cpt pprof: a tree as a profile, and the commands to look at it */
#include "tool/gather/gather_edges.h"
#include "tool/base/files.h"
#include "tool/gather/gather.h"
#include "tool/folds/label_groups.h"
#include "tool/requests/log_walk.h"
#include "tool/base/output.h"
#include "tool/print/gain_print.h"
#include "tool/log/span_tags.h"
#include "aggregate/cpt_gain.h"
#include "aggregate/cpt_tree.h"
#include "pprof-export/cpt_pprof.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { LABEL_KEY_BYTES = 256 };

/* Prints @path quoted as one word for a shell. */
static void print_shell_word(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./=+,:@%";

    if (path[strspn(path, plain)] == '\0') {
        (void)fputs(path, stdout);
        return;
    }
    (void)fputc('\'', stdout);
    for (const char *at = cpti_quoted(path); *at != '\0'; at++) {
        if (*at == '\'') {
            (void)fputs("'\\''", stdout);
        } else {
            (void)fputc(*at, stdout);
        }
    }
    (void)fputc('\'', stdout);
}

/* Prints @path so that a leading hyphen does not look like an option. */
static void print_file(const char *path)
{
    (void)fputs(path[0] == '-' ? "./" : "", stdout);
    print_shell_word(path);
}

/* -unit=ms, since pprof would give all rows the unit of the smallest. The fractions are
 * 0, since pprof would hide frames whose change their callees cancel out. */
static void print_commands(const char *path, bool is_of_drags)
{
    static const char *const views[] = {"-top", "-top -files", "-http=localhost:8000"};
    const size_t view_count = is_of_drags ? 1 : sizeof views / sizeof views[0];

    (void)printf("look at it with\n");
    for (size_t i = 0; i < view_count; i++) {
        (void)printf("  go tool pprof -unit=ms %s ", views[i]);
        print_file(path);
        (void)printf("\n");
    }
    (void)printf("compare it with another profile by\n"
                 "  go tool pprof -unit=ms -nodefraction=0 -edgefraction=0 -top "
                 "-diff_base=BASE.pb.gz ");
    print_file(path);
    (void)printf("\n");
    if (is_of_drags) {
        (void)printf("drags do not add up: read 'flat', not 'cum', sums or shares\n");
    }
}

/* The options --label. A key ends at its '=', so it is copied. */
struct labels {
    struct cpt_pprof_label labels[CPT_PPROF_LABELS_MAX];
    char keys[CPT_PPROF_LABELS_MAX][LABEL_KEY_BYTES];
    size_t count;
};

static int read_labels(struct labels *labels, const struct cpti_arguments *arguments)
{
    const char *text;

    labels->count = 0;
    while ((text = cpti_value_at(arguments, "label", labels->count)) != NULL) {
        const size_t bytes = strcspn(text, "=");

        if (bytes == 0 || text[bytes] == '\0' || bytes >= LABEL_KEY_BYTES) {
            return cpti_usage("option '--label' takes KEY=TEXT, not '%s'",
                              cpti_quoted(text));
        }
        if (labels->count == CPT_PPROF_LABELS_MAX) {
            return cpti_usage("there are more than %d labels", CPT_PPROF_LABELS_MAX);
        }
        memcpy(labels->keys[labels->count], text, bytes);
        labels->keys[labels->count][bytes] = '\0';
        labels->labels[labels->count] =
            (struct cpt_pprof_label){labels->keys[labels->count], text + bytes + 1};
        labels->count++;
    }
    return CPTI_EXIT_DONE;
}

static bool is_of_drags(const struct cpti_arguments *arguments)
{
    const char *kind = cpti_value(arguments, "kind");

    return kind != NULL && strcmp(kind, "drag") == 0;
}

/* Whether @tree has drags; says it if only a part of its requests has. */
static int check_drags(const struct cpt_tree *tree)
{
    const uint64_t all = cpt_tree_request_count(tree);
    const uint64_t count = cpt_gain_request_count(tree);
    const int status = cpti_gain_check(tree, "kind");

    if (status == CPTI_EXIT_DONE && count != all) {
        cpti_warn("%" PRIu64 " of %" PRIu64
                  " requests have drags; the others do not count",
                  count, all);
    }
    return status;
}

static int write_profile(const struct cpti_arguments *arguments,
                         const struct cpt_tree *tree,
                         const struct cpti_label_groups *groups)
{
    const char *path = cpti_value(arguments, "output");
    struct labels labels;
    struct cpt_pprof_options options = {
        .struct_bytes = sizeof options,
        .tool = "cpt " CPTI_VERSION,
        .title = cpti_value(arguments, "title"),
        .labels = labels.labels,
        .kind = is_of_drags(arguments) ? CPT_PPROF_DRAG : CPT_PPROF_CRITICAL_PATH,
    };
    struct cpt_error error = {0};
    struct cpti_output output;
    const struct cpt_sink sink = {cpti_output_write, &output};
    int status = read_labels(&labels, arguments);

    options.label_count = labels.count;
    cpti_label_groups_use(groups, &options);
    if (status == CPTI_EXIT_DONE && options.kind == CPT_PPROF_DRAG) {
        status = check_drags(tree);
    }
    status = CPTI_THEN(status, cpti_output_open(&output, path));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_output_finish(
        &output, cpt_pprof_write(NULL, tree, &options, &sink, &error), &error);
    if (status == CPTI_EXIT_DONE && strcmp(path, "-") != 0 &&
        !cpti_has(arguments, "quiet")) {
        print_commands(path, options.kind == CPT_PPROF_DRAG);
    }
    return status;
}

static bool is_edge_view(const struct cpti_arguments *arguments)
{
    const char *view = cpti_value(arguments, "view");

    return view != NULL && strcmp(view, "edge") == 0;
}

static int gather(const struct cpti_arguments *arguments,
                  struct cpti_label_groups *groups, struct cpt_tree **tree,
                  bool *is_usable)
{
    const int status = cpti_label_groups_init(groups, arguments);

    *tree = NULL;
    *is_usable = false;
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    if (groups->key_count != 0) {
        return is_edge_view(arguments)
                   ? cpti_usage("option '--label-by' does not go with --view edge")
                   : cpti_label_groups_gather(groups, arguments, tree, is_usable);
    }
    return is_edge_view(arguments) ? cpti_gather_edges(arguments, tree, is_usable)
                                   : cpti_gather_operands(arguments, tree, is_usable);
}

static int run(const struct cpti_arguments *arguments)
{
    const char *path = cpti_value(arguments, "output");
    struct cpti_label_groups groups;
    struct cpt_tree *tree;
    bool is_usable;
    int status;

    if (path == NULL || (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))) {
        return cpti_usage("'cpt pprof' needs --output FILE: a profile is binary");
    }
    status = gather(arguments, &groups, &tree, &is_usable);
    if (is_usable) {
        status = cpti_exit_last(status, write_profile(arguments, tree, &groups));
    }
    cpt_tree_free(tree);
    cpti_label_groups_deinit(&groups);
    return status;
}

static const struct cpti_option options[] = {
    {"output", 'o', "FILE", "write the profile to FILE; '-' is standard output"},
    {"title", 0, "TEXT",
     "the file name that pprof shows; by default the entry service"},
    {"kind", 0, "KIND",
     "critical_path, which is the default, or drag: what the requests would gain "
     "without a stack",
     "critical_path drag"},
    {"view", 0, "WHAT",
     "stack, which is the default, or edge: the frames are calls from service to "
     "service",
     "stack edge"},
    {"label", 0, "KEY=TEXT",
     "put this label on all samples; may be repeated. 'pprof -tagroot=KEY' then keeps "
     "several profiles apart"},
    {"label-by", 0, "KEY",
     "label each sample with the value of KEY in its requests: an attribute, method or "
     "status; may be repeated. Beyond 32 values the rarest become ‹other›"},
    {"quiet", 'q', NULL, "do not print the commands to look at it"},
    CPTI_TAG_OPTION,
    {0},
};

static const struct cpti_example examples[] = {
    {"cpt pprof --where arm=control -o control.pb.gz paths.cptlog",
     "a profile of one arm of an experiment"},
    {"cpt pprof -q --label-by arm -o both.pb.gz paths.cptlog && go tool pprof -unit=ms "
     "-top -tagfocus=arm=control both.pb.gz",
     "one profile of all arms, and what one of them contributes to the average"},
    {"cpt pprof --kind drag -o drags.pb.gz paths.cptlog",
     "what requests would gain without a stack"},
    {"cpt pprof -q -o - monday.cpttree > monday.pb.gz",
     "the profile of a tree, on standard output"},
    {0},
};

const struct cpti_command cpti_command_pprof = {
    .name = "pprof",
    .summary = "write a profile for pprof",
    .group = CPTI_KEEP,
    .question = "How do I see it in pprof and its viewers?",
    .needs = "path logs, spans or trees",
    .usages = {"[OPTION]... -o FILE LOG|TREE..."},
    .options = {options, cpti_select_options, cpti_sample_options, cpti_count_options,
                cpti_log_options},
    .examples = examples,
    .operand_count_min = 1,
    .run = run,
    .takes_folders = true,
    .takes_spans = true,
};
