/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* group_print.c - requests by their value of a key; see group_print.h */
#include "tool/print/group_print.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/table/sheet.h"
#include "tool/folds/label_groups.h"
#include "tool/print/tree_print.h"
#include "aggregate/cpt_stats.h"

enum { VALUE, REQUESTS, MEAN, P50, P99 };

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct cpt_pprof_group *group = asked->row;
    const struct cpt_tree *tree = group->tree;

    switch (asked->what) {
    case VALUE:
        return cpti_cell_text(group->texts[0]);
    case REQUESTS:
        return cpti_cell_count(cpt_tree_request_count(tree));
    case MEAN:
        return cpti_cell_number(cpt_stats_of(tree, CPT_TREE_ROOT).inclusive.mean_ns);
    default:
        return cpti_cell_count(cpt_stats_quantile_ns(tree, CPT_TREE_ROOT,
                                                     asked->what == P50 ? 0.5 : 0.99));
    }
}

static const struct cpti_column columns[] = {
    {"value", "value", CPTI_TEXT, get, VALUE, "of KEY"},
    {"requests", "requests", CPTI_COUNT, get, REQUESTS, "that have it"},
    {"share", "share", CPTI_SHARE, CPTI_OF(struct cpt_pprof_group, share),
     "of the requests, by their weights"},
    {"mean_ns", "mean ms", CPTI_NS, get, MEAN, "of their latency"},
    {"p50_ns", "p50", CPTI_NS_WHOLE, get, P50},
    {"p99_ns", "p99", CPTI_NS_WHOLE, get, P99},
    {0},
};

const struct cpti_relation cpti_group_relation = {
    "groups", columns, "requests,share,mean_ns,p50_ns,p99_ns,value",
    .when = "--group-by"};

/* What is printed. */
struct shown {
    const struct cpti_label_groups *groups;
    const struct cpt_tree *tree;
};

static void put(const void *context, struct cpti_json *json)
{
    const struct shown *shown = context;

    cpti_tree_json(json, shown->tree);
    cpti_json_text(json, "group_by", shown->groups->keys[0]);
}

static int head(const void *context)
{
    const struct shown *shown = context;

    cpti_tree_print(shown->tree, NULL);
    (void)printf("\n");
    return CPTI_EXIT_DONE;
}

static int print_groups(struct cpti_label_groups *groups, const struct cpt_tree *tree,
                        struct cpti_view *view)
{
    const struct shown shown = {groups, tree};
    const struct cpti_sheet sheet = {.view = view,
                                     .rows =
                                         CPTI_ROWS(groups->shown, groups->count, NULL),
                                     .context = &shown,
                                     .head = head,
                                     .put = put};
    struct cpti_column value = columns[VALUE];

    cpti_relation_sort(view, groups->shown, groups->count, sizeof *groups->shown, NULL);
    value.heading = groups->keys[0];
    if (view->format != CPTI_FORMAT_JSON) {
        cpti_view_replace(view, &value);
    }
    return cpti_sheet_print(&sheet);
}

int cpti_group_report(const struct cpti_arguments *arguments)
{
    static const char *const others[] = {"by", "cluster", "quantiles", "max-bytes",
                                         NULL};
    struct cpti_label_groups groups;
    struct cpt_tree *tree = NULL;
    struct cpti_view view;
    bool is_usable = false;
    int status = cpti_view_read(arguments, &cpti_group_relation, NULL, &view);

    status = CPTI_THEN(status, cpti_excludes(arguments, "group-by", others));
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_label_groups_init_key(&groups, cpti_value(arguments, "group-by"));
    status = CPTI_THEN(status,
                       cpti_label_groups_gather(&groups, arguments, &tree, &is_usable));
    if (is_usable) {
        status = cpti_exit_last(status, print_groups(&groups, tree, &view));
    }
    cpti_label_groups_deinit(&groups);
    cpt_tree_free(tree);
    return status;
}
