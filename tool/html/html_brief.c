/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* html_brief.c - the brief rows of the HTML report; see html_brief.h */
#include "tool/html/html_brief.h"

#include "tool/base/output.h"
#include "tool/html/html_rows.h"
#include "tool/print/path_print.h"
#include "aggregate/cpt_diff.h"
#include "cpt/cpt_path.h"
#include "cpt/base/hash_index.h"

#include <stdlib.h>
#include <string.h>

/* The names of the brief rows, each once. */
struct names {
    const struct cpt_tree *tree;
    uint32_t *nodes;  /* one that has the name, by number of the name */
    uint32_t *of_row; /* the name of each row */
    uint32_t count;
    struct cpti_hash_index index;
};

static uint64_t hash_bytes(uint64_t hash, struct cpt_bytes bytes)
{
    for (size_t i = 0; i < bytes.bytes; i++) {
        hash = (hash ^ (unsigned char)bytes.data[i]) * 0x100000001b3U;
    }
    return hash;
}

static bool is_equal_bytes(struct cpt_bytes left, struct cpt_bytes right)
{
    return left.bytes == right.bytes &&
           (left.bytes == 0 || memcmp(left.data, right.data, left.bytes) == 0);
}

static bool is_equal_name(const struct cpt_tree *tree, uint32_t left, uint32_t right)
{
    return cpt_tree_kind(tree, left) == cpt_tree_kind(tree, right) &&
           is_equal_bytes(cpt_tree_name(tree, left), cpt_tree_name(tree, right)) &&
           is_equal_bytes(cpt_tree_service(tree, left), cpt_tree_service(tree, right));
}

/* The number of the name of @node, which is added if it is new. */
static uint32_t find_name(struct names *names, uint32_t node)
{
    uint64_t hash =
        (uint64_t)(uintptr_t)names->nodes ^ cpt_tree_kind(names->tree, node);
    size_t slot;

    hash = hash_bytes(hash, cpt_tree_name(names->tree, node));
    hash = hash_bytes(hash, cpt_tree_service(names->tree, node));
    slot = cpti_hash_index_first(&names->index, cpti_hash_mix(hash));
    while (names->index.slots[slot] != 0) {
        const uint32_t number = names->index.slots[slot] - 1;

        if (is_equal_name(names->tree, names->nodes[number], node)) {
            return number;
        }
        slot = cpti_hash_index_next(&names->index, slot);
    }
    names->nodes[names->count] = node;
    names->index.slots[slot] = names->count + 1;
    return names->count++;
}

static void names_deinit(struct names *names)
{
    free(names->nodes);
    free(names->of_row);
    free(names->index.slots);
}

/* false without memory. */
static bool names_init(struct names *names, const struct cpti_html_rows *rows)
{
    size_t slot_count = 8;

    while (slot_count < 2 * (size_t)rows->brief_count) {
        slot_count *= 2;
    }
    *names = (struct names){
        .tree = rows->names,
        .nodes = calloc((size_t)rows->brief_count + 1, sizeof *names->nodes),
        .of_row = calloc(rows->count, sizeof *names->of_row),
        .index = {calloc(slot_count, sizeof *names->index.slots), slot_count},
    };
    if (names->nodes == NULL || names->of_row == NULL || names->index.slots == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        if (rows->rows[i].form == CPTI_HTML_BRIEF) {
            names->of_row[i] = find_name(names, rows->rows[i].node);
        }
    }
    return true;
}

static void put_names(struct cpti_json *json, const struct cpti_html_rows *rows,
                      const struct names *names)
{
    char text[CPT_TREE_FRAME_TEXT_BYTES];

    cpti_json_open(json, "names", '[');
    for (uint32_t i = 0; i < names->count; i++) {
        const uint32_t node = names->nodes[i];
        const char *word = cpt_kind_word(cpt_tree_kind(names->tree, node));

        cpti_json_open(json, NULL, '[');
        cpti_html_rows_text(rows, node, text, sizeof text);
        cpti_json_text(json, NULL, text);
        (void)cpt_text_name(cpt_tree_service(names->tree, node), text, sizeof text);
        cpti_json_text(json, NULL, text);
        cpti_json_text(json, NULL, word != NULL ? word : "unknown");
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

static void put_change(struct cpti_json *json, const struct cpt_diff_row *change)
{
    cpti_json_ns(json, NULL, change->self.delta_ns);
    cpti_json_ns(json, NULL, change->self.low_ns);
    cpti_json_ns(json, NULL, change->self.high_ns);
    cpti_json_rough(json, NULL, change->q_value);
    cpti_json_unsigned(json, NULL, change->lost_path ? 1 : 0);
    cpti_json_unsigned(json, NULL, change->doubt);
}

static void put_row(struct cpti_json *json, const struct cpti_html_rows *rows,
                    const struct names *names, uint32_t index)
{
    const struct cpti_html_row *row = &rows->rows[index];

    cpti_json_open(json, NULL, '[');
    cpti_json_unsigned(json, NULL, rows->rows[row->parent].number);
    cpti_json_unsigned(json, NULL, names->of_row[index]);
    for (size_t side = 0; side < rows->side_count; side++) {
        if (row->whole[side] == NULL) {
            cpti_json_null(json, NULL);
            cpti_json_null(json, NULL);
        } else {
            cpti_json_unsigned(json, NULL, cpti_html_row_self_ns(row, side));
            cpti_json_unsigned(json, NULL, cpti_html_row_whole_ns(row, side));
        }
    }
    if (row->change != NULL) {
        put_change(json, row->change);
    }
    cpti_json_close(json);
}

static void put_doubts(struct cpti_json *json)
{
    cpti_json_open(json, "doubts", '[');
    for (int doubt = CPT_DIFF_TRUSTED; doubt <= CPT_DIFF_FEW_CLUSTERS; doubt++) {
        cpti_json_text(json, NULL, cpt_diff_doubt_text((enum cpt_diff_doubt)doubt));
    }
    cpti_json_close(json);
}

/* What is left below each row that is shown. */
static void put_rest(struct cpti_json *json, const struct cpti_html_rows *rows)
{
    cpti_json_open(json, "rest", '[');
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct cpti_html_row *row = &rows->rows[i];

        if (row->left_count == 0 && row->left_ns[0] == 0 && row->left_ns[1] == 0) {
            continue;
        }
        cpti_json_open(json, NULL, '[');
        cpti_json_unsigned(json, NULL, row->number);
        cpti_json_unsigned(json, NULL, row->left_count != 0 ? row->left_count : 1);
        for (size_t side = 0; side < rows->side_count; side++) {
            cpti_json_unsigned(json, NULL, row->left_ns[side]);
        }
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

bool cpti_html_brief(struct cpti_json *json, const struct cpti_html_rows *rows)
{
    struct names names;
    const bool is_ready = names_init(&names, rows);

    if (is_ready) {
        put_names(json, rows, &names);
        cpti_json_open(json, "brief", '[');
        for (uint32_t i = 0; i < rows->count; i++) {
            if (rows->rows[i].form == CPTI_HTML_BRIEF) {
                put_row(json, rows, &names, i);
            }
        }
        cpti_json_close(json);
        put_rest(json, rows);
        if (rows->rows[0].change != NULL) {
            put_doubts(json);
        }
    }
    names_deinit(&names);
    return is_ready;
}
