/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_whatif_page.c - the page of sliders; see web_whatif_page.h */
#include "tool/web/web_whatif_page.h"

#include "tool/base/output.h"
#include "tool/html/html_page.h"
#include "tool/html/html_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHIFTS_MAX = 12, BRANCHES_MAX = 2000, DEPTH_MAX = 64, TEXT_BYTES = 1024 };

/* No frame that is narrower is drawn: a share of the width. */
static const double share_min = 0.002;

static const char *const row_words[CPTI_WHATIF_ROWS] = {
    [CPTI_WHATIF_MEAN] = "mean", [CPTI_WHATIF_P50] = "p50", [CPTI_WHATIF_P99] = "p99"};

/* A number of a table, in ms. */
static void put_cell(FILE *file, double ns, bool is_signed)
{
    char text[32];

    if (!isfinite(ns)) {
        (void)fputs("<td></td>", file);
        return;
    }
    (void)fprintf(file, "<td>%s%s</td>", is_signed && ns > 0 ? "+" : "",
                  cpti_ms(ns, text));
}

/* --- The form --- */

static void put_slider(const struct cpti_web_whatif_page *page,
                       const struct cpti_web_slider *slider, FILE *file)
{
    char name[2 * CPT_NAME_BYTES_MAX];

    (void)cpti_whatif_frame_text(page->answer->set, slider->frame, name);
    (void)fputs("<tr><th scope=\"row\">", file);
    cpti_html_text(file, name);
    (void)fputs("</th>", file);
    put_cell(file, slider->path_ns, false);
    put_cell(file, slider->gain_ns, false);
    (void)fputs(
        "<td><input type=\"range\" min=\"0\" max=\"200\" step=\"5\" name=\"share:",
        file);
    cpti_html_text(file, name);
    (void)fprintf(file, "\" value=\"%u\" aria-label=\"time of ", slider->percent);
    cpti_html_text(file, name);
    (void)fprintf(file, "\"></td><td><output>%u %%</output></td></tr>\n",
                  slider->percent);
}

static void put_form(const struct cpti_web_whatif_page *page, FILE *file)
{
    if (page->token[0] != '\0') {
        (void)fprintf(file, "<input type=\"hidden\" name=\"token\" value=\"%s\">\n",
                      page->token);
    }
    (void)fputs("<table><thead><tr><th scope=\"col\">frame</th><th scope=\"col\">path "
                "ms</th><th scope=\"col\">half of it gives ms</th><th scope=\"col\">"
                "takes</th><th></th></tr></thead><tbody>\n",
                file);
    for (size_t i = 0; i < page->slider_count; i++) {
        put_slider(page, &page->sliders[i], file);
    }
    (void)fputs(
        "</tbody></table>\n<label for=\"terms\">Other terms, one on each line, "
        "such as <code>set *: &lt;network&gt;=0</code> or <code>cap B: "
        "B2&lt;=10ms</code>; also cut, add, parallel, workers</label>\n"
        "<textarea id=\"terms\" name=\"terms\" rows=\"3\" spellcheck=\"false\">\n",
        file);
    cpti_html_text(file, page->terms);
    (void)fputs("</textarea>\n", file);
}

/* --- The answer --- */

static void put_latencies(const struct cpti_whatif *answer, FILE *file)
{
    (void)fputs("<table><thead><tr><th scope=\"col\">latency</th><th "
                "scope=\"col\">before ms</th><th scope=\"col\">after ms</th><th "
                "scope=\"col\">change</th><th scope=\"col\">95 % from</th><th "
                "scope=\"col\">to</th></tr></thead><tbody>\n",
                file);
    for (int i = 0; i < CPTI_WHATIF_ROWS; i++) {
        const struct cpti_whatif_row *row = &answer->stats.rows[i];

        (void)fprintf(file, "<tr><th scope=\"row\">%s</th>", row_words[i]);
        put_cell(file, row->before_ns, false);
        put_cell(file, row->after_ns, false);
        put_cell(file, row->change_ns, true);
        put_cell(file, row->low_ns, true);
        put_cell(file, row->high_ns, true);
        (void)fputs("</tr>\n", file);
    }
    (void)fprintf(file,
                  "</tbody></table>\n<p class=\"soft\">Requests of which all is "
                  "known: %zu; queues %s; the intervals are paired.",
                  answer->set->count, answer->replays_queues ? "replayed" : "kept");
    if (answer->set->excess_count != 0) {
        (void)fprintf(file,
                      " Requests that are left out, as no more nodes and edges are "
                      "kept in memory: %" PRIu64 ".",
                      answer->set->excess_count);
    }
    if (answer->counts.clamped != 0) {
        (void)fprintf(
            file, " Times that would have been less than 0, and are 0: %" PRIu64 ".",
            answer->counts.clamped);
    }
    if (answer->counts.circles != 0) {
        (void)fprintf(file,
                      " Requests left as they were, as they would wait for "
                      "themselves: %" PRIu64 ".",
                      answer->counts.circles);
    }
    (void)fputs("</p>\n", file);
}

static void put_shifts(const struct cpti_whatif *answer, FILE *file)
{
    char name[2 * CPT_NAME_BYTES_MAX];
    size_t count = 0;

    (void)fputs(
        "<h2>Who takes over</h2>\n<table><thead><tr><th scope=\"col\">frame, by "
        "its time on the path</th><th scope=\"col\">before ms</th><th "
        "scope=\"col\">after ms</th><th scope=\"col\">change</th></tr></thead>"
        "<tbody>\n",
        file);
    for (size_t i = 0; i < answer->shift_count && count < SHIFTS_MAX; i++) {
        const struct cpti_whatif_shift *shift = &answer->shifts[i];
        const double change_ns = shift->after_ns - shift->before_ns;

        count++;
        (void)fprintf(file, "<tr%s><th scope=\"row\">",
                      change_ns > 0 ? " class=\"slower\"" : "");
        cpti_html_text(file, cpti_whatif_frame_text(answer->set, shift->frame, name));
        (void)fputs("</th>", file);
        put_cell(file, shift->before_ns, false);
        put_cell(file, shift->after_ns, false);
        put_cell(file, change_ns, true);
        (void)fputs("</tr>\n", file);
    }
    (void)fputs("</tbody></table>\n", file);
}

/* --- The flame graph: children below their parent, as they were found --- */

struct drawing {
    const struct cpti_whatif_tree *tree;
    FILE *file;
    double whole_ns; /* the width */
    size_t count;
    unsigned depth; /* the largest */
};

static void put_branch(struct drawing *drawing, uint32_t at, unsigned depth,
                       double left_ns)
{
    const struct cpti_whatif_branch *branch = &drawing->tree->branches[at];
    const double before_ns = branch->total_ns[CPTI_WHATIF_BEFORE];
    const double after_ns = branch->total_ns[CPTI_WHATIF_AFTER];
    const double change = (after_ns - before_ns) / drawing->whole_ns;
    char name[TEXT_BYTES];
    char before[32];
    char after[32];

    (void)cpt_path_frame_text(drawing->tree->frames, at, name, sizeof name);
    (void)fprintf(drawing->file,
                  "<div class=\"%s\" style=\"left:%.3f%%;width:%.3f%%;top:%urem\" "
                  "title=\"",
                  change > 0.0005    ? "slower"
                  : change < -0.0005 ? "faster"
                                     : "same",
                  100 * left_ns / drawing->whole_ns, 100 * after_ns / drawing->whole_ns,
                  2 * depth);
    cpti_html_text(drawing->file, name);
    (void)fprintf(drawing->file, ": %s ms, was %s ms\">", cpti_ms(after_ns, after),
                  cpti_ms(before_ns, before));
    cpti_html_text(drawing->file, name);
    (void)fputs("</div>\n", drawing->file);
    drawing->count++;
    drawing->depth = depth > drawing->depth ? depth : drawing->depth;
}

/* Draws all frames. A parent comes before its children, so each takes its place from
 * what its parent has left. */
static bool put_branches(struct drawing *drawing)
{
    const struct cpti_whatif_tree *tree = drawing->tree;
    double *left_ns = calloc(tree->count + 1, sizeof *left_ns); /* the next child's */
    double root_ns = 0;

    if (left_ns == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct cpt_frame *frame = cpt_path_frame(tree->frames, i);
        const double total_ns = tree->branches[i].total_ns[CPTI_WHATIF_AFTER];
        double *from =
            frame->parent == CPT_FRAME_NONE ? &root_ns : &left_ns[frame->parent];

        left_ns[i] = *from;
        if (total_ns >= share_min * drawing->whole_ns && frame->depth <= DEPTH_MAX &&
            drawing->count < BRANCHES_MAX) {
            put_branch(drawing, i, frame->depth - 1U, *from);
        }
        *from += total_ns;
    }
    free(left_ns);
    return true;
}

static void put_flames(const struct cpti_whatif_tree *tree, FILE *file)
{
    struct drawing drawing = {.tree = tree, .file = file};
    double whole_ns[CPTI_WHATIF_SIDES] = {0};

    for (uint32_t i = 0; i < tree->count; i++) {
        if (cpt_path_frame(tree->frames, i)->parent == CPT_FRAME_NONE) {
            for (unsigned side = 0; side < CPTI_WHATIF_SIDES; side++) {
                whole_ns[side] += tree->branches[i].total_ns[side];
            }
        }
    }
    drawing.whole_ns = fmax(fmax(whole_ns[0], whole_ns[1]), 1);
    for (uint32_t i = 0; i < tree->count; i++) {
        const unsigned depth = cpt_path_frame(tree->frames, i)->depth;

        if (depth > drawing.depth && depth <= DEPTH_MAX) {
            drawing.depth = depth;
        }
    }
    (void)fprintf(file,
                  "<h2>The new critical path</h2>\n<p class=\"soft\">The average "
                  "request; the width is the longer of before and after. <span "
                  "class=\"key faster\">less</span> <span class=\"key "
                  "slower\">more</span></p>\n<div class=\"flames\" "
                  "style=\"height:%urem\">\n",
                  2 * drawing.depth);
    if (!put_branches(&drawing)) {
        (void)fputs("out of memory", file);
    }
    (void)fputs("</div>\n", file);
}

/* --- The page --- */

static void put_answer(const struct cpti_web_whatif_page *page, FILE *file)
{
    put_latencies(page->answer, file);
    put_flames(page->tree, file);
    put_shifts(page->answer, file);
}

/* Writes @text up to @marker; returns what comes after the marker. */
static const char *put_until(FILE *file, const char *text, const char *marker)
{
    const char *at = strstr(text, marker);

    assert(at != NULL);
    (void)fwrite(text, 1, (size_t)(at - text), file);
    return at + strlen(marker);
}

/* Writes the query that a link needs to carry the token. */
static void put_token(const struct cpti_web_whatif_page *page, FILE *file)
{
    if (page->token[0] != '\0') {
        (void)fprintf(file, "?token=%s", page->token);
    }
}

void cpti_web_whatif_page_write(const struct cpti_web_whatif_page *page, FILE *file)
{
    const char *left = put_until(file, cpti_html_sliders_html, "{{css}}");

    (void)fputs(cpti_html_parts_css, file);
    (void)fputs(cpti_html_sliders_css, file);
    left = put_until(file, left, "{{token}}");
    put_token(page, file);
    left = put_until(file, left, "{{form}}");
    put_form(page, file);
    left = put_until(file, left, "{{token}}");
    put_token(page, file);
    left = put_until(file, left, "{{answer}}");
    put_answer(page, file);
    left = put_until(file, left, "{{js}}");
    (void)fputs(cpti_html_sliders_js, file);
    (void)fputs(left, file);
}
