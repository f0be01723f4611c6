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

/* A name from outside. */
static void put_name(FILE *file, const char *name)
{
    cpti_html_text(file, cpti_quoted(name));
}

/* A change that could be another, unless it is recorded who waited: the number, if it
 * says something, and below it how far it could be. */
static void put_change(FILE *file, double ns, const struct cpti_could_be *could_be,
                       bool is_signed)
{
    char number[32];
    char low[32];
    char high[32];

    if (could_be->verdict == CPTI_VERDICT_NONE) {
        put_cell(file, ns, is_signed);
        return;
    }
    (void)fprintf(
        file,
        "<td>%s%s<br><span class=\"soft\">could be <span>%s to %s</span></span></td>",
        is_signed && ns > 0 && cpti_has_number(could_be) ? "+" : "",
        cpti_has_number(could_be) ? cpti_ms(ns, number) : "cannot tell",
        cpti_ms(could_be->low_ns, low), cpti_ms(could_be->high_ns, high));
}

/* --- The form --- */

static void put_slider(const struct cpti_web_whatif_page *page, size_t at, FILE *file)
{
    const struct cpti_web_slider *slider = &page->sliders->all[at];
    const char *name = cpti_web_slider_name(page->sliders, page->answer->set, at);

    (void)fputs("<tr><th scope=\"row\">", file);
    cpti_html_text(file, name);
    (void)fputs("</th>", file);
    put_cell(file, slider->path_ns, false);
    put_change(file, slider->gain_ns, &slider->could_be, false);
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
    (void)fprintf(file,
                  "<table><thead><tr><th scope=\"col\">%s</th><th "
                  "scope=\"col\">path ms</th><th scope=\"col\">half of it gives "
                  "ms</th><th scope=\"col\">takes</th><th></th></tr></thead><tbody>\n",
                  cpti_whatif_by_word(page->sliders->by));
    for (size_t i = 0; i < page->sliders->count; i++) {
        put_slider(page, i, file);
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

/* Writes the lines of @text as paragraphs. */
static void put_paragraphs(char *text, FILE *file)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        (void)fputs("<p class=\"soft\">", file);
        cpti_html_text(file, line);
        (void)fputs("</p>\n", file);
    }
}

/* On what evidence the requests are known, and what both intervals are. */
static void put_evidence(const struct cpti_whatif *answer, FILE *file)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *lines = open_memstream(&text, &bytes);

    if (lines == NULL) {
        return;
    }
    cpti_kept_write_evidence(&answer->set->counts, lines);
    if (answer->doubt.could_be.verdict != CPTI_VERDICT_NONE) {
        (void)fputs(cpti_whatif_doubt_kinds, lines);
    }
    if (fclose(lines) == 0) {
        put_paragraphs(text, file);
    }
    free(text);
}

/* How far the change of the mean could be. */
static void write_change(const struct cpti_whatif *answer, FILE *file)
{
    const struct cpti_could_be *could_be = &answer->doubt.could_be;
    char change[32];
    char low[32];
    char high[32];

    (void)cpti_ms(answer->stats.rows[CPTI_WHATIF_MEAN].change_ns, change);
    (void)cpti_ms(could_be->low_ns, low);
    (void)cpti_ms(could_be->high_ns, high);
    if (could_be->verdict == CPTI_VERDICT_NUMBER) {
        (void)fprintf(file,
                      "The mean changes by %s ms, nearly so whatever services waited "
                      "for: by %s to %s ms.\n",
                      change, low, high);
    } else if (could_be->verdict == CPTI_VERDICT_INTERVAL) {
        (void)fprintf(file,
                      "The mean changes by %s to %s ms, whatever services waited for; "
                      "by %s ms, as it is inferred.\n",
                      low, high, change);
    } else if (could_be->verdict == CPTI_VERDICT_CANNOT_TELL) {
        (void)fprintf(file, "The mean may change by %s to %s ms.\n", low, high);
    }
}

/* Whether to believe the change of the mean; if not, why, as the command says it. */
static void put_verdict(const struct cpti_whatif *answer, FILE *file)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *lines = open_memstream(&text, &bytes);

    if (lines == NULL) {
        return;
    }
    write_change(answer, lines);
    cpti_whatif_doubt_write(&answer->doubt, answer->set, lines);
    if (fclose(lines) == 0) {
        (void)fputs("<div class=\"verdict\">\n", file);
        put_paragraphs(text, file);
        (void)fputs("</div>\n", file);
    }
    free(text);
}

/* The latency of row @at. Of the mean there may be no number. */
static void put_latency(const struct cpti_whatif *answer, int at, FILE *file)
{
    static const struct cpti_could_be none = {.verdict = CPTI_VERDICT_NONE};
    const struct cpti_whatif_row *row = &answer->stats.rows[at];
    const struct cpti_could_be *could_be =
        at == CPTI_WHATIF_MEAN ? &answer->doubt.could_be : &none;
    const bool is_told = cpti_has_number(could_be);

    (void)fprintf(file, "<tr><th scope=\"row\">%s</th>", row_words[at]);
    put_cell(file, row->before_ns, false);
    put_cell(file, is_told ? row->after_ns : NAN, false);
    put_change(file, row->change_ns, could_be, true);
    put_cell(file, is_told ? row->low_ns : NAN, true);
    put_cell(file, is_told ? row->high_ns : NAN, true);
    (void)fputs("</tr>\n", file);
}

static void put_latencies(const struct cpti_whatif *answer, FILE *file)
{
    (void)fputs("<table><thead><tr><th scope=\"col\">latency</th><th "
                "scope=\"col\">before ms</th><th scope=\"col\">after ms</th><th "
                "scope=\"col\">change</th><th scope=\"col\">95 % from</th><th "
                "scope=\"col\">to</th></tr></thead><tbody>\n",
                file);
    for (int i = 0; i < CPTI_WHATIF_ROWS; i++) {
        put_latency(answer, i, file);
    }
    (void)fputs("</tbody></table>\n", file);
    if (answer->doubt.could_be.verdict != CPTI_VERDICT_NONE &&
        answer->term_count != 0) {
        put_verdict(answer, file);
    }
}

/* What was replayed. */
static void put_notes(const struct cpti_whatif *answer, FILE *file)
{
    (void)fprintf(file,
                  "<p class=\"soft\">Requests%s: %zu; queues %s; the intervals are "
                  "paired.",
                  answer->set->counts.inferred == 0 ? " of which all is known" : "",
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
        put_name(file, cpti_whatif_frame_text(answer->set, shift->frame, name));
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

static void put_flames(const struct cpti_whatif_tree *tree, bool is_inferred,
                       FILE *file)
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
                  "request%s; the width is the longer of before and after. <span "
                  "class=\"key faster\">less</span> <span class=\"key "
                  "slower\">more</span></p>\n<div class=\"flames\" "
                  "style=\"height:%urem\">\n",
                  is_inferred ? ", as it is inferred" : "", 2 * drawing.depth);
    if (!put_branches(&drawing)) {
        (void)fputs("out of memory", file);
    }
    (void)fputs("</div>\n", file);
}

/* --- The page --- */

static void put_answer(const struct cpti_web_whatif_page *page, FILE *file)
{
    put_latencies(page->answer, file);
    put_notes(page->answer, file);
    put_evidence(page->answer, file);
    put_flames(page->tree, page->answer->set->counts.inferred != 0, file);
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
