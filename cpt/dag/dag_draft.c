/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * dag_draft.c - stretches with times become nodes with durations
 *
 * A stretch is cut where a link leaves or arrives, unless that is its end or beginning.
 * A link that leaves at the beginning, or arrives at the end, cuts off a node without
 * duration there: otherwise it would wait for the whole stretch.
 *
 * Why every node starts when it was observed to: what precedes a node never ends later
 * than the node begins, as links are held to that, and something ends exactly then: the
 * piece before it, the last of the links that arrive, or the gap that is put in front.
 */
#include "cpt/cpt_dag_draft.h"

#include "cpt/dag/dag.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRETCHES_MAX = 1 << 22,
    LINKS_MAX = 1 << 24,
    KINDS = CPT_DAG_NETWORK + 1,
    INSERTED_MAX = 16 /* more times than these are sorted by qsort() */
};

struct stretch {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t reached_ns; /* the last of what it waited for */
    uint32_t frame;
    uint32_t gap_frame; /* if it began later than that */
    uint32_t first_node;
    uint32_t line;
    uint32_t cut_end; /* its cuts end here in the sorted ones, and those of the next
                         stretch begin */
    bool begins_line;
};

/* The stretch @stretch is cut at @at_ns. */
struct cut {
    uint64_t at_ns;
    uint32_t stretch;
};

/* When a node begins and ends. */
struct spot {
    uint64_t begin_ns;
    uint64_t end_ns;
};

struct cpt_dag_draft {
    const struct cpt_alloc *alloc;
    uint64_t begin_ns;
    bool begins_line;        /* the next stretch does */
    struct cpt_names *names; /* NULL: it is bare */
    uint32_t *numbers;       /* of the frames + 1, by name and kind; 0: none */
    size_t number_capacity;
    struct cpt_dag_name *frames;
    size_t frame_count, frame_capacity;
    struct stretch *stretches;
    size_t stretch_count, stretch_capacity;
    struct cpt_dag_link *links;
    size_t link_count, link_capacity;
    struct cut *cuts;
    size_t cut_count, cut_capacity;
    uint64_t *sorted_cuts; /* their times, by stretch and time */
    struct cpt_dag_node *nodes;
    size_t node_count, node_capacity; /* … and of spots and node_lines */
    struct spot *spots;
    uint32_t *node_lines;
    struct cpt_dag_line *lines;
    size_t line_count, line_capacity;
    struct cpt_dag_edge *edges; /* of room for all */
    size_t edge_count;
    struct cpt_dag_edge *spares;
    size_t spare_count, spare_capacity;
    uint64_t contradiction_count;
};

static struct cpt_dag_draft *new_draft(const struct cpt_alloc *alloc, uint64_t begin_ns)
{
    struct cpt_dag_draft *draft = cpt_alloc_zeroed(alloc, sizeof *draft);

    if (draft != NULL) {
        draft->alloc = alloc;
        draft->begin_ns = begin_ns;
        draft->begins_line = true;
    }
    return draft;
}

struct cpt_dag_draft *cpt_dag_draft_new(const struct cpt_alloc *alloc,
                                        uint64_t begin_ns)
{
    struct cpt_dag_draft *draft = new_draft(alloc, begin_ns);

    if (draft != NULL) {
        draft->names = cpt_names_new(alloc);
        if (draft->names == NULL) {
            cpt_dag_draft_free(draft);
            return NULL;
        }
    }
    return draft;
}

struct cpt_dag_draft *cpti_dag_draft_new_bare(const struct cpt_alloc *alloc,
                                              uint64_t begin_ns)
{
    struct cpt_dag_draft *draft = new_draft(alloc, begin_ns);

    if (draft == NULL ||
        cpti_dag_reserve(alloc, (void **)&draft->frames, &draft->frame_capacity, KINDS,
                         KINDS, sizeof *draft->frames) != CPT_OK) {
        cpt_dag_draft_free(draft);
        return NULL;
    }
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        draft->frames[draft->frame_count++] = (struct cpt_dag_name){{"", 0}, kind};
    }
    return draft;
}

bool cpti_dag_draft_is_bare(const struct cpt_dag_draft *draft)
{
    return draft->names == NULL;
}

cpt_status cpti_dag_draft_reserve(struct cpt_dag_draft *draft, size_t stretch_count,
                                  size_t link_count)
{
    const cpt_status status = cpti_dag_reserve(draft->alloc, (void **)&draft->stretches,
                                               &draft->stretch_capacity, stretch_count,
                                               STRETCHES_MAX, sizeof *draft->stretches);

    return status == CPT_OK ? cpti_dag_reserve(draft->alloc, (void **)&draft->links,
                                               &draft->link_capacity, link_count,
                                               LINKS_MAX, sizeof *draft->links)
                            : status;
}

const struct cpt_alloc *cpti_dag_draft_alloc(const struct cpt_dag_draft *draft)
{
    return draft->alloc;
}

void cpt_dag_draft_free(struct cpt_dag_draft *draft)
{
    if (draft == NULL) {
        return;
    }
    cpt_names_free(draft->names);
    cpt_alloc_free(draft->alloc, draft->numbers);
    cpt_alloc_free(draft->alloc, draft->frames);
    cpt_alloc_free(draft->alloc, draft->stretches);
    cpt_alloc_free(draft->alloc, draft->links);
    cpt_alloc_free(draft->alloc, draft->cuts);
    cpt_alloc_free(draft->alloc, draft->sorted_cuts);
    cpt_alloc_free(draft->alloc, draft->nodes);
    cpt_alloc_free(draft->alloc, draft->spots);
    cpt_alloc_free(draft->alloc, draft->node_lines);
    cpt_alloc_free(draft->alloc, draft->lines);
    cpt_alloc_free(draft->alloc, draft->edges);
    cpt_alloc_free(draft->alloc, draft->spares);
    cpt_alloc_free(draft->alloc, draft);
}

cpt_status cpt_dag_draft_frame(struct cpt_dag_draft *draft, struct cpt_bytes name,
                               unsigned kind, uint32_t *frame)
{
    cpt_status status = CPT_OK;
    cpt_name_id id = 0;
    size_t before = 0;
    size_t at = 0;

    if (kind >= KINDS) {
        return CPT_INVALID;
    }
    if (draft->names == NULL) {
        *frame = kind;
        return CPT_OK;
    }
    before = cpt_names_count(draft->names);
    status = cpt_names_add(draft->names, name, &id);
    if (status != CPT_OK) {
        return status;
    }
    at = (size_t)id * KINDS + kind;
    status = cpti_dag_grow(draft->alloc, (void **)&draft->numbers,
                           &draft->number_capacity, (size_t)(id + 1) * KINDS,
                           CPT_DAG_FRAMES_MAX, sizeof *draft->numbers);
    if (status != CPT_OK) {
        return status;
    }
    if (cpt_names_count(draft->names) != before) {
        memset(&draft->numbers[(size_t)id * KINDS], 0, KINDS * sizeof *draft->numbers);
    }
    if (draft->numbers[at] == 0) {
        status = cpti_dag_grow(draft->alloc, (void **)&draft->frames,
                               &draft->frame_capacity, draft->frame_count + 1,
                               CPT_DAG_FRAMES_MAX, sizeof *draft->frames);
        if (status != CPT_OK) {
            return status;
        }
        draft->frames[draft->frame_count].name = name;
        draft->frames[draft->frame_count++].kind = kind;
        draft->numbers[at] = (uint32_t)draft->frame_count;
    }
    *frame = draft->numbers[at] - 1;
    return CPT_OK;
}

void cpt_dag_draft_line(struct cpt_dag_draft *draft)
{
    draft->begins_line = true;
}

struct cpt_dag_line *cpti_dag_draft_lines(struct cpt_dag_draft *draft)
{
    return draft->lines;
}

/* The line of the next stretch. */
static cpt_status add_line(struct cpt_dag_draft *draft)
{
    const cpt_status status =
        cpti_dag_grow(draft->alloc, (void **)&draft->lines, &draft->line_capacity,
                      draft->line_count + 1, STRETCHES_MAX, sizeof *draft->lines);

    if (status == CPT_OK) {
        draft->lines[draft->line_count++] =
            (struct cpt_dag_line){{"", 0}, CPT_DAG_NONE, 0, 0};
    }
    return status;
}

cpt_status cpt_dag_draft_stretch(struct cpt_dag_draft *draft, uint32_t frame,
                                 uint64_t begin_ns, uint64_t end_ns, uint32_t *stretch)
{
    cpt_status status = cpti_dag_grow(
        draft->alloc, (void **)&draft->stretches, &draft->stretch_capacity,
        draft->stretch_count + 1, STRETCHES_MAX, sizeof *draft->stretches);
    struct stretch *added = NULL;
    uint64_t reached_ns = draft->begin_ns;

    if (status == CPT_OK && draft->begins_line && draft->names != NULL) {
        status = add_line(draft);
    }
    if (status != CPT_OK) {
        return status;
    }
    added = &draft->stretches[draft->stretch_count];
    if (!draft->begins_line) {
        reached_ns = added[-1].end_ns;
    }
    begin_ns = begin_ns > reached_ns ? begin_ns : reached_ns;
    added->begin_ns = begin_ns;
    added->end_ns = end_ns > begin_ns ? end_ns : begin_ns;
    added->reached_ns = reached_ns;
    added->frame = frame;
    added->line = (uint32_t)draft->line_count - 1; /* if it is not bare */
    added->cut_end = 0;
    added->begins_line = draft->begins_line;
    draft->begins_line = false;
    *stretch = (uint32_t)draft->stretch_count++;
    return CPT_OK;
}

static uint64_t clamp(uint64_t at_ns, const struct stretch *stretch)
{
    if (at_ns < stretch->begin_ns) {
        return stretch->begin_ns;
    }
    return at_ns < stretch->end_ns ? at_ns : stretch->end_ns;
}

cpt_status cpt_dag_draft_link(struct cpt_dag_draft *draft,
                              const struct cpt_dag_link *link)
{
    const struct stretch *from = &draft->stretches[link->from];
    struct stretch *to = &draft->stretches[link->to];
    struct cpt_dag_link held = *link;
    cpt_status status = CPT_OK;

    held.to_ns = clamp(held.to_ns, to);
    held.from_ns = clamp(held.from_ns < held.to_ns ? held.from_ns : held.to_ns, from);
    if (held.from == held.to || (held.from_ns > held.to_ns && held.is_spare == 0)) {
        draft->contradiction_count++;
        return CPT_OK;
    }
    status = cpti_dag_grow(draft->alloc, (void **)&draft->links, &draft->link_capacity,
                           draft->link_count + 1, LINKS_MAX, sizeof *draft->links);
    if (status != CPT_OK) {
        return status;
    }
    draft->links[draft->link_count++] = held;
    if (held.to_ns == to->begin_ns && held.is_spare == 0 &&
        held.from_ns > to->reached_ns) {
        to->reached_ns = held.from_ns;
    }
    return CPT_OK;
}

/* --- Nodes --- */

static cpt_status add_cut(struct cpt_dag_draft *draft, uint32_t stretch, uint64_t at_ns)
{
    const cpt_status status =
        cpti_dag_grow(draft->alloc, (void **)&draft->cuts, &draft->cut_capacity,
                      draft->cut_count + 1, 2 * LINKS_MAX + 1, sizeof *draft->cuts);

    if (status == CPT_OK) {
        draft->cuts[draft->cut_count++] = (struct cut){at_ns, stretch};
    }
    return status;
}

/* Cuts where something leaves: not at the end. */
static cpt_status cut_from(struct cpt_dag_draft *draft, uint32_t stretch,
                           uint64_t at_ns)
{
    return at_ns < draft->stretches[stretch].end_ns ? add_cut(draft, stretch, at_ns)
                                                    : CPT_OK;
}

static int compare_times(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Those of one stretch: few, as a rule, and in order. */
static void sort_times(uint64_t *times, size_t count)
{
    if (count > INSERTED_MAX) {
        qsort(times, count, sizeof *times, compare_times);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const uint64_t at_ns = times[i];
        size_t place = i;

        for (; place != 0 && times[place - 1] > at_ns; place--) {
            times[place] = times[place - 1];
        }
        times[place] = at_ns;
    }
}

/* By counting those of each stretch. */
static cpt_status sort_cuts(struct cpt_dag_draft *draft)
{
    size_t sum = 0;
    size_t begin = 0;

    draft->sorted_cuts = cpt_alloc_array(draft->alloc, NULL, draft->cut_count,
                                         sizeof *draft->sorted_cuts);
    if (draft->sorted_cuts == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < draft->cut_count; i++) {
        draft->stretches[draft->cuts[i].stretch].cut_end++;
    }
    for (size_t i = 0; i < draft->stretch_count; i++) {
        const uint32_t count = draft->stretches[i].cut_end;

        draft->stretches[i].cut_end = (uint32_t)sum;
        sum += count;
    }
    for (size_t i = 0; i < draft->cut_count; i++) {
        const struct cut cut = draft->cuts[i];

        draft->sorted_cuts[draft->stretches[cut.stretch].cut_end++] = cut.at_ns;
    }
    for (size_t i = 0; i < draft->stretch_count; i++) {
        sort_times(&draft->sorted_cuts[begin], draft->stretches[i].cut_end - begin);
        begin = draft->stretches[i].cut_end;
    }
    return CPT_OK;
}

static cpt_status make_cuts(struct cpt_dag_draft *draft)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < draft->link_count && status == CPT_OK; i++) {
        const struct cpt_dag_link *link = &draft->links[i];

        status = cut_from(draft, link->from, link->from_ns);
        if (status == CPT_OK && link->to_ns > draft->stretches[link->to].begin_ns) {
            status = add_cut(draft, link->to, link->to_ns);
        }
    }
    return status == CPT_OK && draft->cut_count != 0 ? sort_cuts(draft) : status;
}

static void add_edge(struct cpt_dag_draft *draft, uint32_t from, uint32_t to)
{
    draft->edges[draft->edge_count++] = (struct cpt_dag_edge){from, to};
}

/* Room for a piece and a gap of each stretch, and another piece for each cut; and for
 * the edges to them, and those of the links. */
static cpt_status reserve_nodes(struct cpt_dag_draft *draft)
{
    cpt_status status =
        cpti_dag_reserve(draft->alloc, (void **)&draft->nodes, &draft->node_capacity,
                         2 * draft->stretch_count + draft->cut_count, CPT_DAG_NODES_MAX,
                         sizeof *draft->nodes);

    if (status != CPT_OK) {
        return status;
    }
    draft->spots =
        cpt_alloc_array(draft->alloc, NULL, draft->node_capacity, sizeof *draft->spots);
    draft->edges =
        cpt_alloc_array(draft->alloc, NULL, draft->node_capacity + draft->link_count,
                        sizeof *draft->edges);
    if (draft->names != NULL) {
        draft->node_lines = cpt_alloc_array(draft->alloc, NULL, draft->node_capacity,
                                            sizeof *draft->node_lines);
        status = draft->node_lines != NULL ? CPT_OK : CPT_NO_MEMORY;
    }
    return draft->spots != NULL && draft->edges != NULL ? status : CPT_NO_MEMORY;
}

/* Adds a node of @line, behind that before it if that is of the line, too. */
static cpt_status add_node(struct cpt_dag_draft *draft, uint32_t line,
                           const struct cpt_dag_node *node, struct spot spot,
                           bool is_behind)
{
    const uint32_t number = (uint32_t)draft->node_count;

    if (number == draft->node_capacity) {
        return CPT_LIMIT;
    }
    if (draft->node_lines != NULL) {
        draft->node_lines[number] = line;
    }
    draft->nodes[number] = *node;
    draft->nodes[number].duration_ns = spot.end_ns - spot.begin_ns;
    draft->spots[number] = spot;
    draft->node_count++;
    if (is_behind) {
        add_edge(draft, number - 1, number);
    }
    return CPT_OK;
}

/* The pieces of a stretch, whose cuts begin at @cut. */
static cpt_status add_pieces(struct cpt_dag_draft *draft, uint32_t number, uint32_t cut)
{
    struct stretch *stretch = &draft->stretches[number];
    struct cpt_dag_node node = {0, stretch->frame, draft->frames[stretch->frame].kind};
    uint64_t at_ns = stretch->begin_ns;
    bool is_behind = !stretch->begins_line;
    cpt_status status = CPT_OK;

    stretch->first_node = (uint32_t)draft->node_count;
    if (stretch->reached_ns < stretch->begin_ns) {
        const struct cpt_dag_node gap = {0, stretch->gap_frame, CPT_DAG_WAIT};

        status =
            add_node(draft, stretch->line, &gap,
                     (struct spot){stretch->reached_ns, stretch->begin_ns}, is_behind);
        is_behind = true;
    }
    for (uint32_t i = cut; i < stretch->cut_end && status == CPT_OK; i++) {
        const uint64_t cut_ns = draft->sorted_cuts[i];

        if (i == cut || cut_ns != draft->sorted_cuts[i - 1]) {
            status = add_node(draft, stretch->line, &node, (struct spot){at_ns, cut_ns},
                              is_behind);
            is_behind = true;
            at_ns = cut_ns;
        }
    }
    if (status == CPT_OK) {
        status = add_node(draft, stretch->line, &node,
                          (struct spot){at_ns, stretch->end_ns}, is_behind);
    }
    return status;
}

/* Gaps are frames of their own, below the name of what waited. */
static cpt_status name_gaps(struct cpt_dag_draft *draft)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < draft->stretch_count && status == CPT_OK; i++) {
        struct stretch *stretch = &draft->stretches[i];

        if (stretch->reached_ns < stretch->begin_ns) {
            status = cpt_dag_draft_frame(draft, draft->frames[stretch->frame].name,
                                         CPT_DAG_WAIT, &stretch->gap_frame);
        }
    }
    return status;
}

uint32_t cpti_dag_draft_node(const struct cpt_dag_draft *draft, uint32_t stretch)
{
    return stretch < draft->stretch_count ? draft->stretches[stretch].first_node
                                          : (uint32_t)draft->node_count;
}

static uint32_t end_of_stretch(const struct cpt_dag_draft *draft, uint32_t stretch)
{
    return cpti_dag_draft_node(draft, stretch + 1);
}

/* The last node of @stretch that ends at @at_ns or before. */
static uint32_t node_until(const struct cpt_dag_draft *draft, uint32_t stretch,
                           uint64_t at_ns)
{
    uint32_t low = draft->stretches[stretch].first_node;
    uint32_t high = end_of_stretch(draft, stretch);

    while (high - low > 1) { /* @low ends by then, @high does not */
        const uint32_t middle = low + (high - low) / 2;

        if (draft->spots[middle].end_ns <= at_ns) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The first node of @stretch that begins at @at_ns or later. */
static uint32_t node_since(const struct cpt_dag_draft *draft, uint32_t stretch,
                           uint64_t at_ns)
{
    uint32_t low = draft->stretches[stretch].first_node;
    uint32_t high = end_of_stretch(draft, stretch) - 1;

    if (at_ns <= draft->stretches[stretch].begin_ns) {
        return low; /* the gap in front of it, if it has one */
    }
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (draft->spots[middle].begin_ns < at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static cpt_status add_links(struct cpt_dag_draft *draft)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < draft->link_count && status == CPT_OK; i++) {
        const struct cpt_dag_link *link = &draft->links[i];
        const uint32_t from = node_until(draft, link->from, link->from_ns);
        const uint32_t to = node_since(draft, link->to, link->to_ns);

        if (link->is_spare == 0) {
            add_edge(draft, from, to);
            continue;
        }
        status = cpti_dag_grow(draft->alloc, (void **)&draft->spares,
                               &draft->spare_capacity, draft->spare_count + 1,
                               CPT_DAG_EDGES_MAX, sizeof *draft->spares);
        if (status == CPT_OK) {
            draft->spares[draft->spare_count++] = (struct cpt_dag_edge){from, to};
        }
    }
    return status;
}

cpt_status cpt_dag_draft_finish(struct cpt_dag_draft *draft, uint32_t end,
                                uint64_t end_ns, struct cpt_dag_recorded *recorded)
{
    const uint64_t held_ns = clamp(end_ns, &draft->stretches[end]);
    uint32_t cut = 0;
    cpt_status status = cut_from(draft, end, held_ns);

    if (status == CPT_OK) {
        status = make_cuts(draft);
    }
    if (status == CPT_OK) {
        status = name_gaps(draft);
    }
    if (status == CPT_OK) {
        status = reserve_nodes(draft);
    }
    for (uint32_t i = 0; i < draft->stretch_count && status == CPT_OK; i++) {
        status = add_pieces(draft, i, cut);
        cut = draft->stretches[i].cut_end;
    }
    if (status == CPT_OK) {
        status = add_links(draft);
    }
    if (status != CPT_OK) {
        return status;
    }
    memset(recorded, 0, sizeof *recorded);
    recorded->shape.nodes = draft->nodes;
    recorded->shape.node_count = draft->node_count;
    recorded->shape.edges = draft->edges;
    recorded->shape.edge_count = draft->edge_count;
    recorded->shape.spares = draft->spares;
    recorded->shape.spare_count = draft->spare_count;
    recorded->shape.end = node_until(draft, end, held_ns);
    recorded->shape.frame_count = (uint32_t)draft->frame_count;
    recorded->frames = draft->frames;
    recorded->contradiction_count = draft->contradiction_count;
    recorded->node_lines = draft->node_lines;
    recorded->lines = draft->lines;
    recorded->line_count = draft->line_count;
    return CPT_OK;
}
