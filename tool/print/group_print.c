/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* group_print.c - requests by their value of a key; see group_print.h */
#include "tool/print/group_print.h"

#include "tool/base/command.h"
#include "tool/table/json_write.h"
#include "tool/base/output.h"
#include "tool/table/table.h"
#include "tool/folds/label_groups.h"
#include "tool/print/tree_print.h"
#include "aggregate/cpt_stats.h"

#include <inttypes.h>

static void put_groups(const struct cpti_label_groups *groups,
                       const struct cpt_tree *tree)
{
    const struct cpt_stats all = cpt_stats_of(tree, CPT_TREE_ROOT);
    struct cpti_json json = {.file = stdout};

    cpti_json_open(&json, NULL, '{');
    cpti_tree_json_stats(&json, tree, &all, false);
    cpti_json_text(&json, "group_by", groups->keys[0]);
    cpti_json_open(&json, "groups", '[');
    for (size_t i = 0; i < groups->count; i++) {
        const struct cpti_label_group *group = &groups->groups[i];
        const struct cpt_stats stats = cpt_stats_of(group->tree, CPT_TREE_ROOT);

        cpti_json_row(&json);
        cpti_json_open(&json, NULL, '{');
        cpti_json_text(&json, "value", group->values[0]);
        cpti_json_unsigned(&json, "requests", cpt_tree_request_count(group->tree));
        cpti_json_rough(&json, "share", groups->shown[i].share);
        cpti_json_ns(&json, "mean_ns", stats.inclusive.mean_ns);
        cpti_json_unsigned(&json, "p50_ns",
                           cpt_stats_quantile_ns(group->tree, CPT_TREE_ROOT, 0.5));
        cpti_json_unsigned(&json, "p99_ns",
                           cpt_stats_quantile_ns(group->tree, CPT_TREE_ROOT, 0.99));
        cpti_json_close(&json);
    }
    cpti_json_row(&json);
    cpti_json_close(&json);
    cpti_json_close(&json);
}

static int print_groups(const struct cpti_label_groups *groups,
                        const struct cpt_tree *tree)
{
    const char *const headings[] = {"requests", "share", "mean ms",
                                    "p50",      "p99",   groups->keys[0]};
    const struct cpt_stats all = cpt_stats_of(tree, CPT_TREE_ROOT);
    struct cpti_table table = cpti_table_of(headings, 6);

    for (size_t i = 0; i < groups->count; i++) {
        const struct cpti_label_group *group = &groups->groups[i];
        const struct cpt_stats stats = cpt_stats_of(group->tree, CPT_TREE_ROOT);
        char text[32];

        cpti_table_cell(&table, "%" PRIu64, cpt_tree_request_count(group->tree));
        cpti_table_cell(&table, "%.1f%%", 100 * groups->shown[i].share);
        cpti_table_cell(&table, "%s", cpti_ms(stats.inclusive.mean_ns, text));
        for (int k = 0; k < 2; k++) {
            const uint64_t time_ns =
                cpt_stats_quantile_ns(group->tree, CPT_TREE_ROOT, k == 0 ? 0.5 : 0.99);

            cpti_table_cell(&table, "%s", cpti_ms((double)time_ns, text));
        }
        cpti_table_cell(&table, "%s", group->values[0]);
    }
    cpti_tree_print_stats(tree, NULL, &all, false);
    (void)printf("\n");
    return cpti_table_print(&table);
}

int cpti_group_report(const struct cpti_arguments *arguments)
{
    static const char *const others[] = {"by", "cluster", "quantiles", "max-bytes"};
    struct cpti_label_groups groups;
    struct cpt_tree *tree = NULL;
    bool is_usable = false;
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (cpti_has(arguments, others[i])) {
            return cpti_usage("option '--group-by' does not go with '--%s'", others[i]);
        }
    }
    status = cpti_label_groups_init_key(&groups, cpti_value(arguments, "group-by"));
    if (status == CPTI_EXIT_DONE) {
        status = cpti_label_groups_gather(&groups, arguments, &tree, &is_usable);
    }
    if (is_usable && cpti_has(arguments, "json")) {
        put_groups(&groups, tree);
    } else if (is_usable) {
        status = cpti_exit_last(status, print_groups(&groups, tree));
    }
    cpti_label_groups_deinit(&groups);
    cpt_tree_free(tree);
    return status;
}
