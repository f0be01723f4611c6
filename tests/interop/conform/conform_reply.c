/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_reply.c - a service's own time and its callees' replies, and their path
 *
 *      reply BUDGET NONCE ITEM ITEM …
 *      DURATION@STACK              the service's own time
 *      DURATION@STACK@VALUE@NONCE  a call: the time observed, the stack down to the
 *                                  frame of the callee, the header that came ("-":
 *                                  none), the nonce that was sent ("-": none)
 *
 * The items are in the order of time. The library splices and folds them as a service
 * of ours would, which was asked for no drags. A reply that is no path is a blind spot;
 * whether its server_elapsed_ns is believed is left open, so both paths are right. Of
 * one with another nonce than was sent nothing is believed; none is both at once, as
 * either may be found first.
 */
#include "tests/interop/conform/conform_case.h"

#include "tool/base/memory_file.h"
#include "tests/interop/conform/conform_random.h"
#include "wire/cpt_metadata.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 10, STACK_MAX = 4, NAME_BYTES = 48, WIDE_BYTES = 60000 };

struct item {
    uint64_t duration_ns;
    size_t depth;
    char names[STACK_MAX][NAME_BYTES];
    unsigned kind; /* of the last frame */
    bool is_call;
    unsigned char *reply; /* NULL: none came */
    size_t reply_bytes;
    uint64_t nonce; /* that was sent with the call; 0: none */
};

struct story {
    struct item items[ITEMS_MAX];
    size_t item_count;
    uint64_t nonce; /* of the ask to the service; 0: none */
};

/* --- The items --- */

/* The nonce that was sent with a call: that of its reply, or where @is_stale often
 * another, or none. An older callee got one, too, unless the caller is older. */
static uint64_t sent_nonce(struct cpti_conform_random *random, uint64_t replied,
                           bool is_stale)
{
    const uint64_t other = cpti_conform_nonce(random, 3);

    return replied != 0 && (!is_stale || cpti_conform_below(random, 2) == 0) ? replied
                                                                             : other;
}

/* What the callee says it took, where its path is as long as the call; perhaps changes
 * what was observed. */
static uint64_t vary_times(struct cpti_conform_random *random, struct item *item)
{
    uint64_t elapsed_ns = item->duration_ns;

    switch (cpti_conform_below(random, 6)) {
    case 0: /* it continued after its answer, or its clock is wrong */
        item->duration_ns -= cpti_conform_below(random, item->duration_ns);
        break;
    case 1: /* a little too long: not flagged */
        item->duration_ns -= item->duration_ns / 128;
        break;
    case 2:
        elapsed_ns += cpti_conform_duration(random);
        break;
    case 3:
        elapsed_ns -= cpti_conform_below(random, item->duration_ns);
        break;
    default:
        break;
    }
    return elapsed_ns;
}

/* The bytes of a random path, whose root often is the frame of the call. */
static bool make_reply(struct cpti_conform_random *random, bool is_stale,
                       struct item *item, struct cpt_path *path)
{
    const struct cpti_conform_shape shape = {10, 16, true,
                                             cpti_conform_below(random, 4) == 0};
    struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                  .is_unlimited = 1};
    uint32_t frame = 0;

    if (cpti_conform_below(random, 2) != 0 &&
        cpt_path_frame_add(path, CPT_FRAME_NONE,
                           cpt_bytes_of(item->names[item->depth - 1]), CPT_KIND_WORK,
                           &frame) != CPT_OK) {
        return false;
    }
    if (!cpti_conform_path(random, &shape, path)) {
        return false;
    }
    item->duration_ns = cpt_path_sum_ns(path);
    options.has_server_elapsed = cpti_conform_below(random, 4) != 0;
    options.server_elapsed_ns = vary_times(random, item);
    item->duration_ns += cpti_conform_below(random, 2) * cpti_conform_duration(random);
    options.nonce = cpti_conform_nonce(random, 4);
    item->nonce = sent_nonce(random, options.nonce, is_stale);
    options.bytes_max = cpti_conform_below(random, 5) == 0 ? 34 : 0; /* only the sum */
    options.is_unlimited = options.bytes_max == 0;
    return cpt_metadata_encode(path, &options, &item->reply, &item->reply_bytes,
                               NULL) == CPT_OK;
}

static bool is_refused(const struct item *item)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const bool is_path =
        path != NULL &&
        cpt_metadata_decode(item->reply, item->reply_bytes, NULL, path, NULL) == CPT_OK;

    cpt_path_free(path);
    return !is_path;
}

/* Changes the reply until it is no path; it has room for that. */
static bool spoil(struct cpti_conform_random *random, struct item *item)
{
    const size_t capacity = item->reply_bytes + 64;
    unsigned char *room = cpt_alloc_array(NULL, NULL, capacity, 1);
    struct cpt_metadata_summary summary;

    if (room == NULL) {
        return false;
    }
    memcpy(room, item->reply, item->reply_bytes);
    cpt_alloc_free(NULL, item->reply);
    item->reply = room;
    for (unsigned tries = 0; tries < 50 && !is_refused(item); tries++) {
        item->reply_bytes =
            cpti_conform_change(random, room, item->reply_bytes, capacity);
    }
    if (!is_refused(item) || item->reply_bytes == 0) {
        room[0] = 0; /* field 0 */
        item->reply_bytes = 1;
    }
    if (cpt_metadata_peek(room, item->reply_bytes, &summary, NULL) == CPT_OK &&
        summary.nonce != 0) {
        item->nonce = summary.nonce;
    }
    return true;
}

static bool make_item(struct cpti_conform_random *random, enum cpti_conform_group group,
                      struct item *item)
{
    struct cpt_path *path = NULL;
    bool is_done = true;

    item->depth = 1 + (size_t)cpti_conform_below(random, STACK_MAX);
    (void)snprintf(item->names[0], NAME_BYTES, "A: /");
    for (size_t i = 1; i < item->depth; i++) {
        (void)snprintf(item->names[i], NAME_BYTES, "A: part %u",
                       (unsigned)cpti_conform_below(random, 9));
    }
    item->duration_ns = cpti_conform_duration(random);
    item->is_call = item->depth > 1 && cpti_conform_below(random, 2) == 0;
    if (!item->is_call) {
        item->kind =
            cpti_conform_below(random, 6) == 0 ? CPT_KIND_QUEUE : CPT_KIND_WORK;
        return true;
    }
    (void)snprintf(item->names[item->depth - 1], NAME_BYTES, "B%u: Get",
                   (unsigned)cpti_conform_below(random, 3));
    if (cpti_conform_below(random, 8) == 0) {
        item->nonce = cpti_conform_nonce(random, 3);
        return true; /* nothing came */
    }
    path = cpt_path_new(NULL);
    is_done = path != NULL &&
              make_reply(random, group == CPTI_CONFORM_STALE, item, path) &&
              (group != CPTI_CONFORM_HOSTILE || spoil(random, item));
    cpt_path_free(path);
    return is_done;
}

/* --- The path that must come of them --- */

static bool add_call(struct cpt_path *path, uint32_t frame, const struct item *item,
                     bool is_believed)
{
    struct cpt_splice splice = {.observed_ns = item->duration_ns,
                                .reason = CPT_REASON_UNSUPPORTED};
    struct cpt_metadata_summary summary = {0};
    struct cpt_path *callee = NULL;
    bool is_path = false;
    bool is_done = false;

    if (item->reply == NULL) {
        return cpt_path_splice(path, frame, NULL, &splice, NULL) == CPT_OK;
    }
    (void)cpt_metadata_peek(item->reply, item->reply_bytes, &summary, NULL);
    if (summary.nonce != 0 && summary.nonce != item->nonce) {
        splice.reason = CPT_REASON_CACHED;
        return cpt_path_splice(path, frame, NULL, &splice, NULL) == CPT_OK;
    }
    callee = cpt_path_new(NULL);
    if (callee == NULL) {
        return false;
    }
    is_path = cpt_metadata_decode(item->reply, item->reply_bytes, NULL, callee, NULL) ==
              CPT_OK;
    splice.reason = CPT_REASON_UNDECODABLE;
    splice.has_server_elapsed = summary.has_server_elapsed && (is_path || is_believed);
    splice.server_elapsed_ns = summary.server_elapsed_ns;
    is_done =
        cpt_path_splice(path, frame, is_path ? callee : NULL, &splice, NULL) == CPT_OK;
    cpt_path_free(callee);
    return is_done;
}

static bool add_item(struct cpt_path *path, const struct item *item, bool is_believed)
{
    uint32_t frame = CPT_FRAME_NONE;

    for (size_t i = 0; i < item->depth; i++) {
        if (cpt_path_frame_add(path, frame, cpt_bytes_of(item->names[i]),
                               i + 1 == item->depth ? item->kind : CPT_KIND_WORK,
                               &frame) != CPT_OK) {
            return false;
        }
    }
    return item->is_call ? add_call(path, frame, item, is_believed)
                         : cpt_path_append_ns(path, frame, item->duration_ns) == CPT_OK;
}

/* The bytes of the path, at most @bytes_max; 0 if nothing fits. False: no memory. */
static bool encode(const struct story *story, size_t bytes_max, bool is_believed,
                   unsigned char **data, size_t *bytes, uint64_t *sum_ns)
{
    struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                  .has_server_elapsed = 1,
                                                  .bytes_max = bytes_max,
                                                  .without_drags = 1,
                                                  .nonce = story->nonce};
    struct cpt_path *path = cpt_path_new(NULL);
    bool is_good = path != NULL;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < story->item_count && is_good; i++) {
        is_good = add_item(path, &story->items[i], is_believed);
    }
    if (is_good) {
        options.server_elapsed_ns = cpt_path_sum_ns(path);
        *sum_ns = options.server_elapsed_ns;
        status = cpt_metadata_encode(path, &options, data, bytes, NULL);
        is_good = status == CPT_OK || status == CPT_LIMIT;
    }
    cpt_path_free(path);
    return is_good;
}

/* The line of the answer for the budget, or NULL. */
static char *wanted_line(const struct story *story, size_t bytes_max, bool is_believed,
                         uint64_t *sum_ns)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    char *line = NULL;

    if (encode(story, bytes_max, is_believed, &data, &bytes, sum_ns)) {
        line = data != NULL ? cpti_conform_line(data, bytes) : strdup("none");
    }
    cpt_alloc_free(NULL, data);
    return line;
}

/* --- The case --- */

static void put_item(FILE *out, const struct item *item)
{
    (void)fprintf(out, " %" PRIu64 "@", item->duration_ns);
    for (size_t i = 0; i < item->depth; i++) {
        (void)fprintf(out, "%s%u:", i != 0 ? ";" : "",
                      i + 1 == item->depth ? item->kind : CPT_KIND_WORK);
        cpti_conform_put_base64(out, item->names[i], strlen(item->names[i]));
    }
    if (!item->is_call) {
        return;
    }
    (void)fputs(item->reply == NULL ? "@-" : "@", out);
    cpti_conform_put_base64(out, item->reply, item->reply_bytes);
    (void)fputc('@', out);
    cpti_conform_put_nonce(out, item->nonce);
}

static char *sent_line(const struct story *story, size_t bytes_max)
{
    struct cpti_memory_file memory;

    if (!cpti_memory_file_open(&memory)) {
        return NULL;
    }
    (void)fprintf(memory.file, "reply %zu ", bytes_max);
    cpti_conform_put_nonce(memory.file, story->nonce);
    for (size_t i = 0; i < story->item_count; i++) {
        put_item(memory.file, &story->items[i]);
    }
    return cpti_memory_file_close(&memory) ? memory.text : NULL;
}

/* A budget from nothing to all that the path takes. */
static size_t budget_of(struct cpti_conform_random *random, const struct story *story)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    uint64_t sum_ns = 0;

    (void)encode(story, WIDE_BYTES, false, &data, &bytes, &sum_ns);
    cpt_alloc_free(NULL, data);
    return 1 + (size_t)cpti_conform_below(random, bytes + 1);
}

static bool fill(struct cpti_conform_case *conform_case, const struct story *story)
{
    conform_case->sent = sent_line(story, conform_case->bytes_max);
    conform_case->wanted =
        wanted_line(story, conform_case->bytes_max, false, &conform_case->sum_ns);
    conform_case->wanted_too =
        wanted_line(story, conform_case->bytes_max, true, &conform_case->sum_ns);
    return conform_case->sent != NULL && conform_case->wanted != NULL &&
           conform_case->wanted_too != NULL;
}

bool cpti_conform_reply_case(struct cpti_conform_case *conform_case,
                             enum cpti_conform_group group, const char *name,
                             struct cpti_conform_random *random)
{
    struct story *story = calloc(1, sizeof *story);
    bool is_good = story != NULL;

    *conform_case = (struct cpti_conform_case){
        .group = group, .answer = CPTI_ANSWER_PATH, .bytes_max = WIDE_BYTES};
    (void)snprintf(conform_case->name, sizeof conform_case->name, "%s", name);
    if (is_good) {
        story->item_count = 1 + (size_t)cpti_conform_below(random, ITEMS_MAX);
        story->nonce = cpti_conform_nonce(random, 3);
        for (size_t i = 0; i < story->item_count && is_good; i++) {
            is_good = make_item(random, group, &story->items[i]);
        }
        if (is_good && group == CPTI_CONFORM_FOLDED) {
            conform_case->bytes_max = budget_of(random, story);
        }
        is_good = is_good && fill(conform_case, story);
        for (size_t i = 0; i < story->item_count; i++) {
            cpt_alloc_free(NULL, story->items[i].reply);
        }
    }
    free(story);
    return is_good;
}

/* --- Written by hand --- */

/* Fields of a path: a nonce of 7, of 8, of 0. */
#define SEVEN "99010700000000000000"
#define EIGHT "99010800000000000000"
#define ZERO  "99010000000000000000"

/* A call, what came back as hexadecimal digits, and the nonce that was sent. */
struct call {
    const char *name;
    uint64_t observed_ns;
    const char *digits;
    uint64_t nonce;
};

static const struct call replies[] = {
    {"a path of 0 ns", 12, "0801", 1},
    {"a path of 0 ns, with a frame", 12, "08012a04423a202f3201003a0101", 1},
    {"a path of 0 ns, and the time", 12, "0801100a", 1},
    {"a path of 0 ns, and a time of 0", 12, "08011000", 1},
    {"a path of 0 ns, and a time that is too long", 12, "0801101e", 1},
    {"the sum only, with its nonce", 12, "08011809" SEVEN, 7},
};

static const struct call stale[] = {
    {"the sum only, of another ask", 12, "08011809" SEVEN, 8},
    {"a path of another ask, and the time", 12, "0801100a1809" SEVEN, 8},
    {"a path of another ask, where no nonce was sent", 12, "08011809" SEVEN, 0},
    {"a path of 0 ns of another ask", 12, "0801" SEVEN, 8},
    {"a path of another ask that is too long", 12, "08011864" SEVEN, 8},
    {"an older callee", 12, "0801100a1809", 8},
    {"neither knows nonces", 12, "0801100a1809", 0},
    {"a nonce of 0 is none", 12, "0801100a1809" ZERO, 8},
    {"of two nonces the last counts, and is right", 12, "0801100a1809" EIGHT SEVEN, 7},
    {"of two nonces the last counts, and is another", 12, "0801100a1809" SEVEN EIGHT,
     7},
    {"the nonce with its bytes in the other order", 12,
     "0801100a1809990100000000000000"
     "07",
     7},
    {"a nonce that differs in its highest bit", 12, "0801100a180999010700000000000080",
     7},
};

/* Each is folded to every budget up to one that all fits. */
enum { FOLDED_BYTES_MIN = 20, FOLDED_BYTES_MAX = 180 };

static const struct call folded[] = {
    {"folded children that have children", 41,
     "0801182a2a04423a202f2a06423a206f6e652a06423a2074776f2a08423a2074687265652a07423a"
     "20666f75722a07423a2066697665320a000102010205010102043a0a010200030004000500064209"
     "0000060006000600064a0a03070801040906050002520a050304020603010907025a0a0000060000"
     "0001000002620a000002000200020000026a0a00000000050005000005",
     1},
    {"counts at their limit, and reasons that meet", 33,
     "0801181e2a04423a202f2a06423a206f6e652a06423a2074776f2a08423a20746872656532050001"
     "0202033a050102030400420500000000044a0901010202030404000452090503040404010102065a"
     "10fdffffff0f00feffffff0ffeffffff0f620500010000026a09050500000302030003",
     1},
};

#undef SEVEN
#undef EIGHT
#undef ZERO

static bool call_case(struct cpti_conform_case *conform_case,
                      enum cpti_conform_group group, const struct call *call,
                      size_t bytes_max)
{
    struct story *story = calloc(1, sizeof *story);
    unsigned char reply[256];
    bool is_good = false;

    *conform_case = (struct cpti_conform_case){
        .group = group, .answer = CPTI_ANSWER_PATH, .bytes_max = bytes_max};
    if (story == NULL) {
        return false;
    }
    story->nonce = 9;
    story->item_count = 2;
    story->items[0] = (struct item){.duration_ns = 5, .depth = 1, .names = {"A: /"}};
    story->items[1] = (struct item){
        .duration_ns = call->observed_ns,
        .depth = 2,
        .names = {"A: /", "B: /"},
        .is_call = true,
        .reply = reply,
        .reply_bytes = cpti_conform_digits(call->digits, reply, sizeof reply),
        .nonce = call->nonce};
    (void)snprintf(conform_case->name, sizeof conform_case->name, "%s, in %zu bytes",
                   call->name, bytes_max);
    is_good = fill(conform_case, story);
    free(story);
    return is_good;
}

/* Gives each of @count calls, in each budget. */
static bool give_calls(cpti_conform_take *take, void *context,
                       enum cpti_conform_group group, const struct call *calls,
                       size_t count)
{
    const bool is_folded = group == CPTI_CONFORM_FOLDED;
    const size_t last = is_folded ? FOLDED_BYTES_MAX : WIDE_BYTES;
    struct cpti_conform_case one;

    for (size_t i = 0; i < count; i++) {
        for (size_t bytes_max = is_folded ? FOLDED_BYTES_MIN : WIDE_BYTES;
             bytes_max <= last; bytes_max++) {
            if (!cpti_conform_give(take, context,
                                   call_case(&one, group, &calls[i], bytes_max),
                                   &one)) {
                return false;
            }
        }
    }
    return true;
}

bool cpti_conform_calls(cpti_conform_take *take, void *context)
{
    return give_calls(take, context, CPTI_CONFORM_REPLIES, replies,
                      sizeof replies / sizeof replies[0]) &&
           give_calls(take, context, CPTI_CONFORM_FOLDED, folded,
                      sizeof folded / sizeof folded[0]) &&
           give_calls(take, context, CPTI_CONFORM_STALE, stale,
                      sizeof stale / sizeof stale[0]);
}
