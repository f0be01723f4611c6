/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_take.c - the visits and calls of a path; see culprit.h
 *
 * A visit begins at a frame of another service than the frame above, its root, and has
 * all frames below it of the same service. Time between services, which stands right
 * below the root, is the call's.
 *
 *      frame                               is of
 *      A: /                                visit A
 *      A: /;A: parse                       visit A
 *      A: /;B: get                         visit B, called by A
 *      A: /;B: get;‹network›               the call A→B
 *      A: /;B: get;B: look                 visit B
 *
 * Segments are in the order of time, so a visit ends where a segment is outside of it:
 *
 *      segments   A  B  B  A  B  A         two visits of B, one of A
 */
#include "tool/culprit/culprit_parts.h"

#include "aggregate/cpt_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ENTERED = 1,
    HAS_SELF = 2,
    HAS_EDGE = 4,
    IS_BLIND = 8, /* only the caller saw the call */
    EDGE_TEXT_BYTES = 600,
    CALLER_TEXT_BYTES = 16
};

/* --- Nodes --- */

static cpt_status node_of(struct cpti_culprit *culprit, uint32_t parent,
                          struct cpt_bytes name, unsigned kind, uint32_t *node)
{
    if (cpt_path_frame_count(culprit->table) >= CPTI_CULPRIT_NODES_MAX) {
        return CPT_LIMIT; /* a request or two before it is full */
    }
    return cpt_path_frame_add(culprit->table, parent, name, kind, node);
}

static struct cpt_bytes service_of(const struct cpt_path *path, uint32_t frame)
{
    const struct cpt_bytes service = cpt_path_frame_service(path, frame);

    return service.bytes != 0 ? service : cpt_bytes_of(CPT_VIEW_NO_SERVICE);
}

/* The name of what frame @index counts for, in @text if it has to be made. */
static struct cpt_bytes subject_of(enum cpti_culprit_by by, const struct cpt_path *path,
                                   uint32_t index, uint32_t parent_root,
                                   char text[EDGE_TEXT_BYTES])
{
    const struct cpt_bytes to = service_of(path, index);
    struct cpt_bytes from = {"", 0};

    if (by == CPTI_CULPRIT_BY_SERVICE) {
        return to;
    }
    if (by == CPTI_CULPRIT_BY_NAME || by == CPTI_CULPRIT_BY_OPERATION) {
        return cpt_path_frame_name(path, index);
    }
    if (parent_root != CPT_FRAME_NONE) {
        from = service_of(path, parent_root);
    }
    (void)snprintf(text, EDGE_TEXT_BYTES, "%.*s%s-> %.*s", (int)from.bytes, from.data,
                   from.bytes != 0 ? " " : "", (int)to.bytes, to.data);
    return cpt_bytes_of(text);
}

/* --- The frames of a path --- */

void cpti_culprit_scratch_deinit(struct cpti_culprit_scratch *scratch,
                                 const struct cpt_alloc *alloc)
{
    cpt_alloc_free(alloc, scratch->roots);
    cpt_alloc_free(alloc, scratch->services);
    cpt_alloc_free(alloc, scratch->edge);
    cpt_alloc_free(alloc, scratch->self_ns);
    cpt_alloc_free(alloc, scratch->edge_ns);
    cpt_alloc_free(alloc, scratch->met);
    cpt_alloc_free(alloc, scratch->open);
    cpt_alloc_free(alloc, scratch->chain);
    *scratch = (struct cpti_culprit_scratch){0};
}

/* Makes room for @count frames. */
static cpt_status make_room(struct cpti_culprit *culprit, size_t count)
{
    struct cpti_culprit_scratch *scratch = &culprit->scratch;
    const struct cpt_alloc *alloc = culprit->alloc;

    if (count <= scratch->capacity) {
        return CPT_OK;
    }
    cpti_culprit_scratch_deinit(scratch, alloc);
    count *= 2;
    scratch->roots = cpt_alloc_array(alloc, NULL, count, sizeof *scratch->roots);
    scratch->services = cpt_alloc_array(alloc, NULL, count, sizeof *scratch->services);
    scratch->edge = cpt_alloc_array(alloc, NULL, count, sizeof *scratch->edge);
    scratch->self_ns = cpt_alloc_array(alloc, NULL, count, sizeof *scratch->self_ns);
    scratch->edge_ns = cpt_alloc_array(alloc, NULL, count, sizeof *scratch->edge_ns);
    scratch->met = cpt_alloc_array(alloc, NULL, count, sizeof *scratch->met);
    scratch->open = cpt_alloc_array(alloc, NULL, count, sizeof *scratch->open);
    scratch->chain = cpt_alloc_array(alloc, NULL, count, sizeof *scratch->chain);
    if (scratch->roots == NULL || scratch->services == NULL || scratch->edge == NULL ||
        scratch->self_ns == NULL || scratch->edge_ns == NULL || scratch->met == NULL ||
        scratch->open == NULL || scratch->chain == NULL) {
        cpti_culprit_scratch_deinit(scratch, alloc);
        return CPT_NO_MEMORY;
    }
    scratch->capacity = count;
    return CPT_OK;
}

/* Whether time of @kind below a call's frame is seen by the caller. */
static bool is_of_caller(unsigned kind)
{
    return kind == CPT_KIND_NETWORK || kind == CPT_KIND_BLIND_SPOT ||
           kind == CPT_KIND_TIMEOUT || kind == CPT_KIND_BACKOFF ||
           kind == CPT_KIND_HEDGE_WAIT || kind == CPT_KIND_FLOW_CONTROL ||
           kind == CPT_KIND_GAP;
}

/* Finds out of which visit frame @index is, or of which call. */
static cpt_status place(struct cpti_culprit *culprit, const struct cpt_path *path,
                        uint32_t index)
{
    struct cpti_culprit_scratch *scratch = &culprit->scratch;
    const struct cpt_frame *frame = cpt_path_frame(path, index);
    const uint32_t parent = frame->parent;
    const bool is_root = parent == CPT_FRAME_NONE;
    const uint32_t parent_root = is_root ? CPT_FRAME_NONE : scratch->roots[parent];
    char text[EDGE_TEXT_BYTES];
    bool begins = is_root;

    scratch->met[index] = 0;
    scratch->edge[index] = 0;
    scratch->roots[index] = index;
    if (!is_root && frame->kind != CPT_KIND_WORK) {
        scratch->roots[index] = parent_root;
        scratch->services[index] = scratch->services[parent];
        scratch->edge[index] = parent_root == parent && is_of_caller(frame->kind) &&
                               cpt_path_frame(path, parent)->parent != CPT_FRAME_NONE;
        return CPT_OK;
    }
    if (!is_root) {
        begins =
            culprit->by == CPTI_CULPRIT_BY_NAME
                ? !cpt_bytes_equal(cpt_path_frame_name(path, index),
                                   cpt_path_frame_name(path, parent))
                : !cpt_bytes_equal(service_of(path, index), service_of(path, parent));
    }
    if (!begins) {
        scratch->roots[index] = parent_root;
        scratch->services[index] = scratch->services[parent];
        return CPT_OK;
    }
    if (culprit->by == CPTI_CULPRIT_BY_REPLICA) {
        return CPT_OK; /* each visit says where it ran */
    }
    return node_of(culprit, CPT_FRAME_NONE,
                   subject_of(culprit->by, path, index, parent_root, text),
                   CPT_KIND_WORK, &scratch->services[index]);
}

/* --- Samples --- */

static cpt_status sample_add(struct cpti_culprit *culprit, struct cpti_culprit_set *set,
                             uint32_t key, uint64_t ns)
{
    void *samples = set->samples;
    cpt_status status = CPT_OK;

    if (set->sample_count == set->sample_capacity) {
        status = cpt_alloc_grow(culprit->alloc, &samples, &set->sample_capacity,
                                set->sample_count + 1, CPTI_CULPRIT_SAMPLES_MAX,
                                sizeof *set->samples);
        set->samples = samples;
    }
    if (status == CPT_OK) {
        set->samples[set->sample_count++] =
            (struct cpti_culprit_sample){.ns = ns, .key = key};
    }
    return status;
}

/* What tells apart the samples of a service: which operation it was asked for; those of
 * a component or an operation: which one asked. */
static struct cpt_bytes operation_of(const struct cpti_culprit *culprit,
                                     const struct cpt_path *path, uint32_t root)
{
    uint32_t parent = cpt_path_frame(path, root)->parent;

    if (culprit->by != CPTI_CULPRIT_BY_NAME &&
        culprit->by != CPTI_CULPRIT_BY_OPERATION) {
        return cpt_path_frame_name(path, root);
    }
    if (parent != CPT_FRAME_NONE && culprit->by == CPTI_CULPRIT_BY_OPERATION) {
        parent = culprit->scratch.roots[parent];
    }
    return parent != CPT_FRAME_NONE ? cpt_path_frame_name(path, parent)
                                    : cpt_bytes_of("");
}

/* Notes that the visit of @root, whose samples are of key @key, was a call of its
 * caller's visit. */
static cpt_status note_call(struct cpti_culprit *culprit, struct cpti_culprit_set *set,
                            const struct cpt_path *path, uint32_t root, uint32_t key)
{
    const struct cpti_culprit_scratch *scratch = &culprit->scratch;
    const uint32_t caller = scratch->roots[cpt_path_frame(path, root)->parent];
    char text[CALLER_TEXT_BYTES];
    uint32_t node = 0;
    cpt_status status =
        node_of(culprit, scratch->services[caller], operation_of(culprit, path, caller),
                CPT_KIND_OTHER, &node);

    (void)snprintf(text, sizeof text, "%" PRIu32, node);
    if (status == CPT_OK) {
        status =
            node_of(culprit, key, cpt_bytes_of(text), CPTI_CULPRIT_KIND_CALL, &node);
    }
    return status == CPT_OK ? sample_add(culprit, set, node, 0) : status;
}

/* The time of the call of @root that is between services; of a call that only the
 * caller saw, all, and so it is like others of its kind alone. */
static cpt_status edge_add(struct cpti_culprit *culprit, struct cpti_culprit_set *set,
                           const struct cpt_path *path, uint32_t root)
{
    const struct cpti_culprit_scratch *scratch = &culprit->scratch;
    const uint32_t service = scratch->services[root];
    const uint32_t parent = cpt_path_frame(path, root)->parent;
    const uint32_t from = culprit->by == CPTI_CULPRIT_BY_EDGE
                              ? service
                              : scratch->services[scratch->roots[parent]];
    const bool is_blind = (scratch->met[root] & (IS_BLIND | HAS_SELF)) == IS_BLIND;
    uint32_t node = 0;
    cpt_status status =
        node_of(culprit, from, cpt_path_frame_name(culprit->table, service),
                CPT_KIND_NETWORK, &node);

    if (status == CPT_OK) {
        status = node_of(culprit, node, operation_of(culprit, path, root),
                         is_blind ? CPT_KIND_BLIND_SPOT : CPT_KIND_OTHER, &node);
    }
    return status == CPT_OK ? sample_add(culprit, set, node, scratch->edge_ns[root])
                            : status;
}

/* The visit of @root has ended: its own time and that of the call are samples. */
static cpt_status close_visit(struct cpti_culprit *culprit,
                              struct cpti_culprit_set *set, const struct cpt_path *path,
                              uint32_t root)
{
    struct cpti_culprit_scratch *scratch = &culprit->scratch;
    uint32_t key = 0;
    cpt_status status =
        node_of(culprit, scratch->services[root], operation_of(culprit, path, root),
                CPT_KIND_OTHER, &key);

    if (status == CPT_OK && (scratch->met[root] & HAS_SELF) != 0) {
        status = sample_add(culprit, set, key, scratch->self_ns[root]);
    }
    if (status == CPT_OK && cpt_path_frame(path, root)->parent != CPT_FRAME_NONE) {
        status = note_call(culprit, set, path, root, key);
    }
    if (status == CPT_OK && (scratch->met[root] & HAS_EDGE) != 0) {
        status = edge_add(culprit, set, path, root);
    }
    scratch->met[root] = 0;
    return status;
}

/* Finds the replica of the visit of @root that begins, on the host that the segment
 * names if @is_named: "S@host"; on an unknown one, "S". */
static cpt_status find_replica(struct cpti_culprit *culprit,
                               struct cpti_culprit_set *set,
                               const struct cpt_path *path, uint32_t root,
                               bool is_named)
{
    struct cpti_culprit_scratch *scratch = &culprit->scratch;
    const struct cpt_bytes service = service_of(path, root);
    const bool has_host = is_named && scratch->host.bytes > 0;
    char text[EDGE_TEXT_BYTES];

    set->visits[has_host ? 1 : 0]++;
    (void)snprintf(text, sizeof text, "%.*s%s%.*s", (int)service.bytes, service.data,
                   has_host ? "@" : "", has_host ? (int)scratch->host.bytes : 0,
                   has_host ? scratch->host.data : "");
    return node_of(culprit, CPT_FRAME_NONE, cpt_bytes_of(text), CPT_KIND_WORK,
                   &scratch->services[root]);
}

/* Ends the visits that the visit of @root is not within, and begins those that it is.
 * Without an order, a visit ends with the path. */
static cpt_status enter(struct cpti_culprit *culprit, struct cpti_culprit_set *set,
                        const struct cpt_path *path, uint32_t root, bool is_ordered)
{
    struct cpti_culprit_scratch *scratch = &culprit->scratch;
    cpt_status status = CPT_OK;
    size_t chain_count = 0;
    size_t same = 0;

    for (uint32_t i = root; i != CPT_FRAME_NONE;) {
        const uint32_t parent = cpt_path_frame(path, i)->parent;

        scratch->chain[chain_count++] = i;
        i = parent == CPT_FRAME_NONE ? CPT_FRAME_NONE : scratch->roots[parent];
    }
    while (same < scratch->open_count && same < chain_count &&
           scratch->open[same] == scratch->chain[chain_count - 1 - same]) {
        same++;
    }
    while (is_ordered && scratch->open_count > same && status == CPT_OK) {
        status = close_visit(culprit, set, path, scratch->open[--scratch->open_count]);
    }
    for (size_t i = chain_count; i-- > 0 && status == CPT_OK;) {
        const uint32_t visit = scratch->chain[i];

        if (scratch->met[visit] == 0 && culprit->by == CPTI_CULPRIT_BY_REPLICA) {
            status = find_replica(culprit, set, path, visit, visit == root);
        }
        if (scratch->met[visit] == 0) {
            scratch->met[visit] = ENTERED;
            scratch->self_ns[visit] = 0;
            scratch->edge_ns[visit] = 0;
            scratch->open[scratch->open_count++] = visit;
        }
        if (visit != root) {
            scratch->met[visit] |= HAS_SELF; /* it was asked, and called others */
        }
    }
    return status;
}

/* The label of segment @segment with its host, from label *@at on; else nothing. */
static struct cpt_bytes host_of(const struct cpt_path *path, size_t segment, size_t *at)
{
    struct cpt_bytes host = {"", 0};

    for (; *at < cpt_path_label_count(path); ++*at) {
        const struct cpt_label *label = cpt_path_label(path, *at);

        if (label->segment > segment) {
            break;
        }
        if (label->segment == segment && label->key == CPT_LABEL_HOST &&
            label->is_name != 0) {
            host = cpt_path_name(path, (cpt_name_id)label->value);
        }
    }
    return host;
}

static cpt_status take_segments(struct cpti_culprit *culprit,
                                struct cpti_culprit_set *set,
                                const struct cpt_path *path)
{
    struct cpti_culprit_scratch *scratch = &culprit->scratch;
    const bool is_ordered = (cpt_path_flags(path) & CPT_PATH_UNORDERED) == 0;
    cpt_status status = CPT_OK;
    size_t label = 0;

    scratch->open_count = 0;
    for (size_t i = 0; i < cpt_path_segment_count(path) && status == CPT_OK; i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const uint32_t root = scratch->roots[segment->frame];

        scratch->host = host_of(path, i, &label);
        status = enter(culprit, set, path, root, is_ordered);
        if (scratch->edge[segment->frame] != 0) {
            scratch->edge_ns[root] += segment->duration_ns;
            scratch->met[root] |= HAS_EDGE;
            if (cpt_path_frame(path, segment->frame)->kind == CPT_KIND_BLIND_SPOT) {
                scratch->met[root] |= IS_BLIND;
            }
            culprit->model.has_gaps |=
                cpt_path_frame(path, segment->frame)->kind == CPT_KIND_GAP;
        } else {
            scratch->self_ns[root] += segment->duration_ns;
            scratch->met[root] |= HAS_SELF;
        }
    }
    while (scratch->open_count > 0 && status == CPT_OK) {
        status = close_visit(culprit, set, path, scratch->open[--scratch->open_count]);
    }
    return status;
}

cpt_status cpti_culprit_take_request(struct cpti_culprit *culprit,
                                     struct cpti_culprit_set *set,
                                     const struct cpti_culprit_request *request)
{
    char text[EDGE_TEXT_BYTES];
    uint32_t node = 0;
    cpt_status status =
        node_of(culprit, CPT_FRAME_NONE, request->value, CPT_KIND_WORK, &node);

    (void)snprintf(text, sizeof text, "%.*s %.*s", (int)request->entry.bytes,
                   request->entry.data, (int)request->method.bytes,
                   request->method.data);
    if (status == CPT_OK) {
        status = node_of(culprit, node, cpt_bytes_of(text), CPT_KIND_OTHER, &node);
    }
    return status == CPT_OK ? sample_add(culprit, set, node, request->latency_ns)
                            : status;
}

cpt_status cpti_culprit_take(struct cpti_culprit *culprit, struct cpti_culprit_set *set,
                             const struct cpt_path *path)
{
    const size_t count = cpt_path_frame_count(path);
    cpt_status status = make_room(culprit, count);

    for (uint32_t i = 0; i < count && status == CPT_OK; i++) {
        status = place(culprit, path, i);
    }
    return status == CPT_OK ? take_segments(culprit, set, path) : status;
}
