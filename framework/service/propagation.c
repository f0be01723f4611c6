/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * propagation.c - headers of other tracers that go on to callees; see propagation.h
 *
 *      baggage: a=1        \
 *      baggage: b=2, c=3    >  baggage: a=1,b=2, c=3     the limits of its standard
 *      x-b3-traceid: …         x-b3-traceid: …           all of B3, or nothing of it
 *
 * Of baggage that is beyond the limits, whole members are left out, as its standard
 * says. Half of a B3 context would be another one: a callee that gets an id of a trace
 * without a span begins a trace of its own.
 */
#include "framework/service/propagation.h"

#include "cpt/cpt_alloc.h"
#include "cpt/base/text.h"
#include "wire/cpt_metadata.h"

#include <string.h>
#include <strings.h>

enum { BAGGAGE = 0 };

/* --- Names --- */

static const struct cpt_bytes names[CPT_PROPAGATED_MAX] = {
    [BAGGAGE] = {"baggage", 7}, {"b3", 2},
    {"x-b3-traceid", 12},       {"x-b3-spanid", 11},
    {"x-b3-sampled", 12},       {"x-b3-parentspanid", 17},
    {"x-b3-flags", 10},
};

/* The index of @name in names; CPT_PROPAGATED_MAX: it is none of them. */
static size_t index_of(struct cpt_bytes name)
{
    size_t i = 0;

    if (!cpti_propagated_may_be(name)) {
        return CPT_PROPAGATED_MAX;
    }
    while (i < CPT_PROPAGATED_MAX &&
           (names[i].bytes != name.bytes ||
            strncasecmp(names[i].data, name.data, name.bytes) != 0)) {
        i++;
    }
    return i;
}

int cpt_header_is_propagated(struct cpt_bytes name)
{
    return index_of(name) < CPT_PROPAGATED_MAX;
}

static size_t header_count_of(const struct cpt_inbound *inbound)
{
    return inbound->header_count < CPT_HEADERS_MAX ? inbound->header_count
                                                   : CPT_HEADERS_MAX;
}

int cpt_inbound_needs_trust(const struct cpt_inbound *inbound)
{
    return inbound->critical_path_count > 0 || inbound->timeout.data != NULL ||
           inbound->slack.data != NULL || cpti_propagated_is_in(inbound);
}

/* --- Baggage --- */

/* A value while it is joined. */
struct joined {
    char *text; /* of CPT_BAGGAGE_BYTES_MAX */
    size_t bytes;
    size_t member_count;
    bool is_cut; /* a member was left out */
};

/* ASCII that can be seen, and blanks: gRPC takes nothing else, and the standard wants
 * the rest encoded. */
static bool is_member(struct cpt_bytes text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        if ((text.data[i] < ' ' || text.data[i] > '~') && text.data[i] != '\t') {
            return false;
        }
    }
    return true;
}

static void add_member(struct joined *to, struct cpt_bytes member)
{
    const size_t comma = to->bytes != 0;

    if (to->member_count == CPT_BAGGAGE_MEMBERS_MAX ||
        member.bytes + comma > CPT_BAGGAGE_BYTES_MAX - to->bytes ||
        !is_member(member)) {
        to->is_cut = true;
        return;
    }
    if (comma != 0) {
        to->text[to->bytes++] = ',';
    }
    for (size_t i = 0; i < member.bytes; i++) {
        to->text[to->bytes++] = member.data[i] == '\t' ? ' ' : member.data[i];
    }
    to->member_count++;
}

static void add_members(struct joined *to, struct cpt_bytes value)
{
    while (value.bytes > 0) {
        const char *comma = memchr(value.data, ',', value.bytes);
        const size_t bytes = comma != NULL ? (size_t)(comma - value.data) : value.bytes;
        const struct cpt_bytes member =
            cpti_text_trim((struct cpt_bytes){value.data, bytes}, cpti_is_blank);

        if (member.bytes != 0) {
            add_member(to, member);
        }
        value.data += bytes + (comma != NULL);
        value.bytes -= bytes + (comma != NULL);
    }
}

/* Whether @value may go on to the byte. */
static bool is_within_limits(struct cpt_bytes value)
{
    size_t comma_count = 0;

    for (size_t i = 0; i < value.bytes && i < CPT_BAGGAGE_BYTES_MAX; i++) {
        if (value.data[i] < ' ' || value.data[i] > '~') {
            return false;
        }
        comma_count += value.data[i] == ',';
    }
    return value.bytes <= CPT_BAGGAGE_BYTES_MAX &&
           comma_count < CPT_BAGGAGE_MEMBERS_MAX;
}

/* --- Reading --- */

/* What came, by the index of its name. */
struct found {
    struct cpt_field fields[CPT_PROPAGATED_MAX]; /* the first of each */
    size_t baggage_count;
    bool is_bad; /* B3 is: one of its headers is malformed, or came with two values */
    char text[CPT_BAGGAGE_BYTES_MAX]; /* baggage, if it is not to go on as it came */
};

static bool is_b3(struct cpt_bytes value)
{
    for (size_t i = 0; i < value.bytes; i++) {
        if (value.data[i] <= ' ' || value.data[i] > '~') {
            return false;
        }
    }
    return value.bytes <= CPT_B3_BYTES_MAX;
}

static void find(const struct cpt_inbound *inbound, struct found *found)
{
    for (size_t i = 0; i < header_count_of(inbound); i++) {
        const struct cpt_field *field = &inbound->headers[i];
        const size_t index = index_of(field->name);

        if (index == CPT_PROPAGATED_MAX || field->value.bytes == 0) {
            continue;
        }
        if (found->fields[index].value.bytes == 0) {
            found->fields[index] = *field;
        } else if (index != BAGGAGE &&
                   !cpt_bytes_equal(found->fields[index].value, field->value)) {
            found->is_bad = true;
        }
        found->baggage_count += index == BAGGAGE;
        found->is_bad |= index != BAGGAGE && !is_b3(field->value);
    }
}

/* Joins what came as baggage. False: a member was left out. */
static bool join(const struct cpt_inbound *inbound, struct found *found)
{
    struct cpt_bytes *value = &found->fields[BAGGAGE].value;
    struct joined joined = {found->text, 0, 0, false};

    if (found->baggage_count == 0 ||
        (found->baggage_count == 1 && is_within_limits(*value))) {
        return true;
    }
    for (size_t i = 0; i < header_count_of(inbound); i++) {
        if (index_of(inbound->headers[i].name) == BAGGAGE) {
            add_members(&joined, inbound->headers[i].value);
        }
    }
    *value = (struct cpt_bytes){joined.text, joined.bytes};
    return !joined.is_cut;
}

/* An inner service trusts its callers. To an entry what came through a proxy comes from
 * outside, also if the transport has not looked. */
static bool is_trusted(struct cpti_sampling *sampling,
                       const struct cpt_inbound *inbound)
{
    if (sampling->is_inner) {
        return true;
    }
    for (size_t i = 0; i < header_count_of(inbound) && !sampling->trusts_forwarded;
         i++) {
        if (cpt_header_is_forwarding(inbound->headers[i].name)) {
            return false;
        }
    }
    return cpti_sampling_trusts(sampling, inbound);
}

static char *put(char *at, struct cpt_bytes from, struct cpt_bytes *to)
{
    memcpy(at, from.data, from.bytes);
    *to = (struct cpt_bytes){at, from.bytes};
    return at + from.bytes;
}

/* NULL: the arena is full. */
static const struct cpti_propagated *keep(const struct found *found,
                                          struct cpt_arena *arena)
{
    struct cpti_propagated *kept = NULL;
    size_t bytes = sizeof *kept;
    char *at = NULL;

    for (size_t i = 0; i < CPT_PROPAGATED_MAX; i++) {
        if (found->fields[i].value.bytes != 0) {
            bytes += found->fields[i].name.bytes + found->fields[i].value.bytes;
        }
    }
    kept = cpt_arena_take(arena, bytes);
    if (kept == NULL) {
        return NULL;
    }
    kept->block_bytes = bytes;
    at = (char *)(kept + 1);
    for (size_t i = 0; i < CPT_PROPAGATED_MAX; i++) {
        const struct cpt_field *from = &found->fields[i];

        if (from->value.bytes != 0) {
            struct cpt_field *to = &kept->fields[kept->count++];

            at = put(at, from->name, &to->name);
            at = put(at, from->value, &to->value);
        }
    }
    return kept;
}

cpt_status cpti_propagated_read(struct cpti_sampling *sampling,
                                const struct cpt_inbound *inbound,
                                struct cpti_counters *counters, struct cpt_arena *arena,
                                const struct cpti_propagated **propagated)
{
    struct found found; /* it is large: its text is not cleared */

    if (!is_trusted(sampling, inbound)) {
        CPTI_COUNT(counters, untrusted_propagated);
        return CPT_OK;
    }
    memset(found.fields, 0, sizeof found.fields);
    found.baggage_count = 0;
    found.is_bad = false;
    find(inbound, &found);
    if (!join(inbound, &found) || found.is_bad) {
        CPTI_COUNT(counters, refused_propagated);
    }
    if (found.is_bad) {
        memset(found.fields + BAGGAGE + 1, 0,
               sizeof found.fields - (BAGGAGE + 1) * sizeof found.fields[0]);
    }
    *propagated = keep(&found, arena);
    return *propagated != NULL ? CPT_OK : CPT_LIMIT;
}

/* --- On its way --- */

struct cpti_propagated *cpti_propagated_copy(const struct cpti_propagated *from,
                                             const struct cpt_alloc *alloc)
{
    struct cpti_propagated *to =
        from != NULL ? cpt_alloc_zeroed(alloc, from->block_bytes) : NULL;

    if (to == NULL) {
        return NULL;
    }
    memcpy(to, from, from->block_bytes);
    for (size_t i = 0; i < to->count; i++) { /* the texts lie behind it, as in @from */
        struct cpt_field *field = &to->fields[i];

        field->name.data = (const char *)to + (field->name.data - (const char *)from);
        field->value.data = (const char *)to + (field->value.data - (const char *)from);
    }
    return to;
}

size_t cpti_propagated_merge(const struct cpti_propagated *propagated,
                             const struct cpt_field *own, size_t own_count,
                             struct cpt_field *fields)
{
    bool has_baggage = false;
    bool has_b3 = false;
    size_t count = own_count;

    for (size_t i = 0; i < own_count; i++) {
        const size_t index = index_of(own[i].name);

        fields[i] = own[i];
        has_baggage |= index == BAGGAGE;
        has_b3 |= index > BAGGAGE && index < CPT_PROPAGATED_MAX;
    }
    for (size_t i = 0; i < propagated->count; i++) {
        const bool is_baggage = index_of(propagated->fields[i].name) == BAGGAGE;

        if (!(is_baggage ? has_baggage : has_b3)) {
            fields[count++] = propagated->fields[i];
        }
    }
    return count;
}
