/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * conform_cases.c - which cases there are
 *
 * First those written by hand, then the files, then random ones. Random cases of each
 * group have a generator of their own, seeded by the seed, the group and the number: so
 * a case stays what it is when others are added.
 */
#include "tests/interop/conform/conform_case.h"

#include "tool/base/command.h"
#include "tool/base/files.h"
#include "tool/base/memory_file.h"
#include "tool/base/output.h"
#include "tests/interop/conform/conform_random.h"
#include "tests/interop/conform/conform_vectors.h"
#include "wire/cpt_metadata.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGED_BYTES_MAX = 8192 };

/* --- Kind path --- */

bool cpti_conform_path_case(struct cpti_conform_case *conform_case,
                            enum cpti_conform_group group, const char *name,
                            struct cpt_bytes value)
{
    const bool is_empty = cpt_bytes_equal(value, cpt_bytes_of("-"));
    unsigned char *data = malloc(value.bytes + 1);
    const size_t sent_bytes = value.bytes + sizeof "path ";
    size_t bytes = 0;

    *conform_case = (struct cpti_conform_case){.group = group};
    (void)snprintf(conform_case->name, sizeof conform_case->name, "%s", name);
    conform_case->sent = malloc(sent_bytes);
    if (data != NULL && conform_case->sent != NULL) {
        (void)snprintf(conform_case->sent, sent_bytes, "path %.*s", (int)value.bytes,
                       value.data);
        conform_case->wanted = is_empty || cpt_base64_decode(value, data, value.bytes,
                                                             &bytes, NULL) == CPT_OK
                                   ? cpti_conform_line(data, bytes)
                                   : strdup("refused");
    }
    free(data);
    return conform_case->wanted != NULL;
}

bool cpti_conform_bytes_case(struct cpti_conform_case *conform_case,
                             enum cpti_conform_group group, const char *name,
                             const void *data, size_t bytes)
{
    struct cpti_memory_file memory;
    bool is_made = false;

    *conform_case = (struct cpti_conform_case){.group = group};
    if (!cpti_memory_file_open(&memory)) {
        return false;
    }
    cpti_conform_put_base64(memory.file, data, bytes);
    (void)fputs(bytes == 0 ? "-" : "", memory.file);
    if (cpti_memory_file_close(&memory)) {
        is_made = cpti_conform_path_case(conform_case, group, name,
                                         cpt_bytes_of(memory.text));
        free(memory.text);
    }
    return is_made;
}

/* --- All --- */

struct giving {
    const struct cpti_conform_options *options;
    const struct cpti_conform_vectors *vectors;
    cpti_conform_take *take;
    void *context;
};

static bool give(const struct giving *giving, bool is_made,
                 struct cpti_conform_case *conform_case)
{
    return cpti_conform_give(giving->take, giving->context, is_made, conform_case);
}

static bool give_vectors(const struct giving *giving)
{
    struct cpti_conform_case one;
    bool goes_on = true;

    for (size_t i = 0; goes_on && i < giving->vectors->count; i++) {
        const struct cpti_conform_vector *vector = &giving->vectors->all[i];
        const enum cpti_conform_group group = strncmp(vector->name, "bad/", 4) == 0
                                                  ? CPTI_CONFORM_REFUSED
                                                  : CPTI_CONFORM_PATHS;

        goes_on = give(giving,
                       cpti_conform_bytes_case(&one, group, vector->name, vector->data,
                                               vector->bytes),
                       &one);
    }
    return goes_on;
}

/* The generator of random case @number of @group. */
static struct cpti_conform_random
random_of(const struct giving *giving, enum cpti_conform_group group, uint64_t number)
{
    struct cpti_conform_random random = {giving->options->seed};

    random.state = cpti_conform_next(&random) + (uint64_t)group;
    random.state = cpti_conform_next(&random) + number;
    return random;
}

/* The bytes of a random path, in a block of @capacity; 0: there is no memory. */
static size_t random_bytes(struct cpti_conform_random *random, bool has_drags,
                           unsigned char *data, size_t capacity)
{
    const struct cpti_conform_shape shape = {60, 60, true, has_drags};
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options,
        .has_server_elapsed = (int)cpti_conform_below(random, 2),
        .server_elapsed_ns = cpti_conform_duration(random),
        .bytes_max = capacity,
        .nonce = cpti_conform_nonce(random, 2)};
    struct cpt_path *path = cpt_path_new(NULL);
    unsigned char *encoded = NULL;
    size_t bytes = 0;

    if (path != NULL && cpti_conform_path(random, &shape, path) &&
        cpt_metadata_encode(path, &options, &encoded, &bytes, NULL) == CPT_OK) {
        memcpy(data, encoded, bytes);
    }
    cpt_alloc_free(NULL, encoded);
    cpt_path_free(path);
    return bytes;
}

/* What the random cases of a group are called; NULL: it has none. */
static const char *const random_names[CPTI_CONFORM_GROUP_COUNT] = {
    [CPTI_CONFORM_RANDOM] = "random",   [CPTI_CONFORM_CHANGED] = "changed",
    [CPTI_CONFORM_REPLIES] = "reply",   [CPTI_CONFORM_FOLDED] = "folded",
    [CPTI_CONFORM_HOSTILE] = "hostile", [CPTI_CONFORM_ONWARD] = "random ask",
    [CPTI_CONFORM_DRAGS] = "drags",     [CPTI_CONFORM_STALE] = "stale"};

/* Whether @data has a label that was not there in the first version of the format: one
 * implementation knows and keeps it, another one skips it, and both are right. */
static bool has_later_label(const unsigned char *data, size_t bytes)
{
    struct cpt_path *path = cpt_path_new(NULL);
    bool has = false;

    if (path != NULL && cpt_metadata_decode(data, bytes, NULL, path, NULL) == CPT_OK) {
        for (size_t i = 0; i < cpt_path_label_count(path); i++) {
            has = has || cpt_path_label(path, i)->key > CPT_LABEL_AGAIN;
        }
    }
    cpt_path_free(path);
    return has;
}

/* The bytes of a random case of kind path. */
static size_t path_bytes(const struct giving *giving, enum cpti_conform_group group,
                         uint64_t number, unsigned char *data)
{
    struct cpti_conform_random random = random_of(giving, group, number);
    size_t bytes = 0;

    if (group == CPTI_CONFORM_CHANGED && cpti_conform_below(&random, 2) == 0) {
        const struct cpti_conform_vector *vector =
            &giving->vectors->all[cpti_conform_below(&random, giving->vectors->count)];

        bytes = vector->bytes;
        bytes = bytes < CHANGED_BYTES_MAX / 2 ? bytes : CHANGED_BYTES_MAX / 2;
        memcpy(data, vector->data, bytes);
    } else {
        bytes = random_bytes(&random, group != CPTI_CONFORM_RANDOM, data,
                             CHANGED_BYTES_MAX / 2);
    }
    if (group == CPTI_CONFORM_CHANGED && bytes != 0) {
        bytes = cpti_conform_change(&random, data, bytes, CHANGED_BYTES_MAX);
    }
    return bytes;
}

/* A random case of kind path; @data is scratch. */
static bool path_case(const struct giving *giving, enum cpti_conform_group group,
                      uint64_t number, unsigned char *data,
                      struct cpti_conform_case *conform_case)
{
    enum { OTHERS_MAX = 8 }; /* cases in place of one that has more than one answer */
    size_t bytes = path_bytes(giving, group, number, data);
    char name[CPTI_CONFORM_NAME_BYTES];

    (void)snprintf(name, sizeof name, "%s %" PRIu64, random_names[group], number);
    for (uint64_t i = 1; i <= OTHERS_MAX && has_later_label(data, bytes); i++) {
        bytes = path_bytes(giving, group, number + (i << 32), data);
    }
    return cpti_conform_bytes_case(conform_case, group, name, data, bytes);
}

/* A random case of any kind. */
static bool random_case(const struct giving *giving, enum cpti_conform_group group,
                        uint64_t number, unsigned char *data,
                        struct cpti_conform_case *conform_case)
{
    struct cpti_conform_random random = random_of(giving, group, number);
    char name[CPTI_CONFORM_NAME_BYTES];

    if (group == CPTI_CONFORM_RANDOM || group == CPTI_CONFORM_CHANGED ||
        group == CPTI_CONFORM_DRAGS) {
        return path_case(giving, group, number, data, conform_case);
    }
    (void)snprintf(name, sizeof name, "%s %" PRIu64, random_names[group], number);
    return group == CPTI_CONFORM_ONWARD
               ? cpti_conform_onward_case(conform_case, name, &random)
               : cpti_conform_reply_case(conform_case, group, name, &random);
}

static bool give_random(const struct giving *giving, enum cpti_conform_group group,
                        unsigned char *data)
{
    struct cpti_conform_case one;

    for (uint64_t i = 0; i < giving->options->case_count; i++) {
        if (!give(giving, random_case(giving, group, i, data, &one), &one)) {
            return false;
        }
    }
    return true;
}

/* The bytes of the user's files. */
static int give_files(const struct giving *giving)
{
    struct cpti_conform_case one;

    for (size_t i = 0; i < giving->options->file_count; i++) {
        struct cpti_input input;
        unsigned char *data = NULL;
        size_t bytes = 0;
        bool goes_on = false;
        int status = cpti_input_open(&input, giving->options->files[i]);

        if (status == CPTI_EXIT_DONE) {
            status = cpti_input_slurp(&input, 1 << 18, &data, &bytes);
            cpti_input_close(&input);
        }
        if (status != CPTI_EXIT_DONE) {
            return status;
        }
        goes_on = give(giving,
                       cpti_conform_bytes_case(&one, CPTI_CONFORM_PATHS,
                                               cpti_quoted(giving->options->files[i]),
                                               data, bytes),
                       &one);
        free(data);
        if (!goes_on) {
            return CPTI_EXIT_DONE;
        }
    }
    return CPTI_EXIT_DONE;
}

int cpti_conform_cases(const struct cpti_conform_options *options,
                       cpti_conform_take *take, void *context)
{
    struct cpti_conform_vectors vectors = {NULL, 0};
    const struct giving giving = {options, &vectors, take, context};
    unsigned char *data = malloc(CHANGED_BYTES_MAX);
    int status = data != NULL
                     ? cpti_conform_vectors_read(&vectors, options->data_folder)
                     : cpti_failed("out of memory");

    if (status == CPTI_EXIT_DONE && cpti_conform_asks(take, context) &&
        cpti_conform_hand(take, context) && cpti_conform_calls(take, context) &&
        give_vectors(&giving) && cpti_conform_proxies(take, context)) {
        status = give_files(&giving);
        for (int group = 0;
             status == CPTI_EXIT_DONE && group < CPTI_CONFORM_GROUP_COUNT; group++) {
            if (random_names[group] != NULL &&
                !give_random(&giving, (enum cpti_conform_group)group, data)) {
                break;
            }
        }
    }
    free(data);
    cpti_conform_vectors_deinit(&vectors);
    return status;
}
