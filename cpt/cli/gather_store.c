/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* gather_store.c - trees out of ClickHouse, requests into it; see gather_store.h */
#include "cpt/cli/gather_store.h"

#include "cpt/cli/log_walk.h"
#include "cpt/cli/output.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "cpt/store/store.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <string.h>

int cpti_is_store(const char *operand)
{
    return cpti_store_is_address(operand);
}

static int say(const char *address, cpt_status status, const struct cpt_error *error)
{
    if (status == CPT_OK) {
        return CPTI_EXIT_DONE;
    }
    return cpti_failed("%s: %s", cpti_quoted(address),
                       error->sentence[0] != '\0' ? error->sentence
                                                  : cpt_status_sentence(status));
}

static int open_store(const char *address, struct cpti_store **store)
{
    struct cpt_error error = {0};
    const cpt_status status = cpti_store_open(address, store, &error);

    return status == CPT_INVALID
               ? cpti_usage("%s: %s", cpti_quoted(address), error.sentence)
               : say(address, status, &error);
}

/* --- A selection as a question --- */

/* In the order of enum cpti_subject. */
static const unsigned char fields[] = {
    [CPTI_SUBJECT_SERVICE] = CPTI_STORE_SERVICE,
    [CPTI_SUBJECT_METHOD] = CPTI_STORE_METHOD,
    [CPTI_SUBJECT_ENTRY] = CPTI_STORE_ENTRY,
    [CPTI_SUBJECT_STATUS] = CPTI_STORE_STATUS,
    [CPTI_SUBJECT_FORCED] = CPTI_STORE_FORCED,
    [CPTI_SUBJECT_RANDOM] = CPTI_STORE_RANDOM,
    [CPTI_SUBJECT_FAILED] = CPTI_STORE_FAILED,
    [CPTI_SUBJECT_LOCAL_ROOT] = CPTI_STORE_LOCAL_ROOT,
    [CPTI_SUBJECT_TRACE_ID] = CPTI_STORE_TRACE_ID,
    [CPTI_SUBJECT_LATENCY] = CPTI_STORE_LATENCY,
    [CPTI_SUBJECT_START] = CPTI_STORE_START,
    [CPTI_SUBJECT_ATTRIBUTE] = CPTI_STORE_ATTRIBUTE,
};

static const signed char relations[] = {
    [CPTI_RELATION_EQUAL] = CPTI_STORE_EQUAL,
    [CPTI_RELATION_NOT_EQUAL] = -1,
    [CPTI_RELATION_LESS] = CPTI_STORE_LESS,
    [CPTI_RELATION_AT_MOST] = CPTI_STORE_AT_MOST,
    [CPTI_RELATION_GREATER] = CPTI_STORE_GREATER,
    [CPTI_RELATION_AT_LEAST] = CPTI_STORE_AT_LEAST,
    [CPTI_RELATION_IN] = -1,
    [CPTI_RELATION_NOT_IN] = -1,
    [CPTI_RELATION_HAS] = -1,
};

static struct cpti_store_value value_of(const struct cpti_expression *expression,
                                        const struct cpti_value *value)
{
    const int is_number = value->number != CPTI_NUMBER_NONE;

    return (struct cpti_store_value){
        .text = {expression->texts + value->text_at, value->text_bytes},
        .truth = value->truth,
        .is_integer = value->number == CPTI_NUMBER_INTEGER,
        .is_round = value->number == CPTI_NUMBER_REAL,
        .is_real = is_number,
        .integer = value->integer,
        .real = value->real,
        .ns = value->ns,
    };
}

/* Whether the database can be asked @test as exactly as a log: a plain comparison. A
 * number of the expression language also equals texts that read as it; that is no plain
 * one. */
static int term_of(const struct cpti_expression *expression,
                   const struct cpti_test *test, struct cpti_store_term *term)
{
    const struct cpti_value *value = &expression->values[test->value];
    const int is_time =
        test->subject == CPTI_SUBJECT_LATENCY || test->subject == CPTI_SUBJECT_START;

    if (test->subject == CPTI_SUBJECT_PATH || relations[test->relation] < 0 ||
        test->value_count != 1 || value->percentile >= 0 ||
        (!is_time && (test->relation != CPTI_RELATION_EQUAL || value->is_number))) {
        return 0;
    }
    *term = (struct cpti_store_term){
        .field = fields[test->subject],
        .relation = (unsigned)relations[test->relation],
        .key = {expression->texts + test->key_at, test->key_bytes},
        .value = value_of(expression, value),
    };
    return 1;
}

/* All tests have to hold: that is so if each leads to the next or to the end where it
 * holds, and nowhere else. */
static int terms_of(const struct cpti_expression *expression,
                    struct cpti_store_term *terms, size_t *count)
{
    uint16_t at = expression->start;

    *count = 0;
    while (expression->test_count != 0 && at != CPTI_EXPRESSION_ACCEPT) {
        const struct cpti_test *test = &expression->tests[at];

        if (at == CPTI_EXPRESSION_REJECT || *count == CPTI_EXPRESSION_TERMS_MAX ||
            test->on_false != CPTI_EXPRESSION_REJECT ||
            !term_of(expression, test, &terms[*count])) {
            return 0;
        }
        ++*count;
        at = test->on_true;
    }
    return 1;
}

static int question_of(const char *address, const struct cpti_selection *selection,
                       struct cpti_store_term *terms,
                       struct cpti_store_question *question)
{
    *question = (struct cpti_store_question){
        .since_ns = selection->since_ns,
        .until_ns = selection->until_ns,
        .terms = terms,
        .includes_forced = selection->includes_forced,
        .includes_local_roots = selection->includes_local_roots,
        .weighs_all_one = selection->includes_forced && !selection->is_random_only,
    };
    if (selection->entry != NULL) {
        question->entry = cpt_bytes_of(selection->entry);
    }
    if (!terms_of(&selection->expression, terms, &question->term_count)) {
        return cpti_usage(
            "%s: a database is asked for KEY=VALUE, for latency and start "
            "compared with a time, and for several of these joined by "
            "'and'; aggregate the path logs for more",
            cpti_quoted(address));
    }
    return CPTI_EXIT_DONE;
}

/* --- Asking --- */

/* What the survey found. */
struct found {
    struct cpt_tree *tree;
    void (*service)(void *context, const char *name);
    void *context;
    char first[CPTI_TEXT_BYTES];
    int service_count; /* 0, 1, or 2 for several */
};

static cpt_status meet_service(void *context, const struct cpti_store_service *service)
{
    struct found *found = context;
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {{"records", service->record_count},
                  {"forced_excluded", service->forced_count},
                  {"local_root_excluded", service->local_root_count}};
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < 3 && status == CPT_OK; i++) {
        if (counts[i].count != 0) {
            status = cpt_tree_count_add(found->tree, counts[i].key, counts[i].count);
        }
    }
    if (status == CPT_OK && service->selected_count != 0) {
        const char *name = cpti_quoted_bytes(service->name);

        found->service(found->context, name);
        if (found->service_count == 0) {
            (void)snprintf(found->first, sizeof found->first, "%s", name);
            found->service_count = 1;
        } else if (strcmp(found->first, name) != 0) {
            found->service_count = 2;
        }
    }
    return status;
}

static int ask(const char *address, struct cpti_store *store,
               const struct cpti_store_question *question, struct found *found)
{
    struct cpt_error error = {0};
    struct cpt_tree *part = NULL;
    cpt_status status = cpti_store_survey(store, question, meet_service, found, &error);

    if (status != CPT_OK || found->service_count != 1) {
        return say(address, status, &error);
    }
    status = cpti_store_ask(store, question, &part, &error);
    if (status == CPT_OK) {
        status = cpt_tree_merge(found->tree, part);
    }
    cpt_tree_free(part);
    return say(address, status, &error);
}

int cpti_store_gather(const char *address, const struct cpti_selection *selection,
                      struct cpt_tree *tree,
                      void (*service)(void *context, const char *name), void *context)
{
    struct cpti_store_term terms[CPTI_EXPRESSION_TERMS_MAX];
    struct cpti_store_question question;
    struct found found = {.tree = tree, .service = service, .context = context};
    struct cpti_store *store = NULL;
    int status = question_of(address, selection, terms, &question);

    if (status == CPTI_EXIT_DONE) {
        status = open_store(address, &store);
    }
    if (status == CPTI_EXIT_DONE) {
        status = ask(address, store, &question, &found);
    }
    cpti_store_close(store);
    return status;
}

/* --- Loading --- */

struct loading {
    const char *address;
    struct cpti_store *store;
    uint64_t loaded_count;
    int has_failed; /* the database did not take something */
};

static int load_record(struct cpti_log_walk *walk, const struct cpt_record *record)
{
    struct loading *loading = walk->context;
    const uint64_t weight = cpt_weight_of_probability(record->probability);
    const struct cpt_path *path;
    struct cpt_error error = {0};
    cpt_status status;
    int failed;

    if (weight == 0 && !record->is_forced) {
        return cpti_log_skip(walk,
                             "its sampling probability is not above 0 and up to 1");
    }
    failed = cpti_log_path(walk, record, &path);
    if (path == NULL) {
        return failed;
    }
    if (cpt_path_sum_ns(path) > CPT_TREE_TIME_MAX) {
        return cpti_log_skip(walk, "it took longer than a tree can hold");
    }
    status = cpti_store_load_add(loading->store, cpti_input_name(walk->input), record,
                                 path, weight, walk->record_count, &error);
    loading->loaded_count += status == CPT_OK;
    loading->has_failed = status != CPT_OK;
    return say(loading->address, status, &error);
}

static int load_log(struct loading *loading, const struct cpti_store_load_how *how,
                    const char *path)
{
    struct cpti_input input;
    struct cpti_log_walk walk = {
        .input = &input,
        .stops_at_error = how->stops_at_error,
        .record = load_record,
        .context = loading,
    };
    int status = cpti_input_open(&input, path);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    status = cpti_log_expect(&input);
    if (status == CPTI_EXIT_DONE) {
        status = cpti_log_walk(&walk);
    }
    cpti_input_close(&input);
    return status;
}

static int load_logs(struct loading *loading, const struct cpti_store_load_how *how,
                     const char *const *paths, size_t path_count)
{
    struct cpt_error error = {0};
    int status =
        say(loading->address, cpti_store_create(loading->store, &error), &error);
    int failed;

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    for (size_t i = 0; i < path_count; i++) {
        failed = load_log(loading, how, paths[i]);
        status = failed != CPTI_EXIT_DONE ? failed : status;
        if (loading->has_failed) {
            return status;
        }
        if (status != CPTI_EXIT_DONE && how->stops_at_error) {
            break;
        }
    }
    failed = say(loading->address, cpti_store_load_end(loading->store, &error), &error);
    return failed != CPTI_EXIT_DONE ? failed : status;
}

int cpti_store_load(const char *address, const struct cpti_store_load_how *how,
                    const char *const *paths, size_t path_count)
{
    struct loading loading = {.address = address};
    int status = open_store(address, &loading.store);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    cpti_store_retry_for(loading.store, (unsigned)how->retry_seconds);
    cpti_store_batch_rows(loading.store, how->batch_rows);
    status = load_logs(&loading, how, paths, path_count);
    cpti_store_close(loading.store);
    if (status == CPTI_EXIT_DONE) {
        (void)printf("%" PRIu64 " requests\n", loading.loaded_count);
    }
    return status;
}
