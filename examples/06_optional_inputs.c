/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * 06_optional_inputs.c - a page that wants ads and a greeting, and does without
 *
 *      index ------------- needed ----+
 *      ads (fails) ....... wanted ....+--> render
 *      user (fails) --> greeting . wanted .'        with a default
 *
 * render waits for all inputs that it wants. A failed one arrives as an error, or as
 * the default that its value declares; the request does not fail.
 */
#include <cpt/cpt_graph.h>
#include <cpt/cpt_path.h>
#include <cpt/cpt_runtime.h>

#include <stdio.h>

CPT_VALUE(query, int);
CPT_VALUE(matches, int);
CPT_VALUE(ads, int);
CPT_VALUE(user, const char *);
CPT_VALUE_OR(greeting, const char *, "hello, stranger");
CPT_VALUE(page, int);

static cpt_status find_matches(struct cpt_task *task)
{
    *cpt_output(task, matches) = *cpt_input(task, query) + 1;
    return CPT_OK;
}

static cpt_status find_ads(struct cpt_task *task)
{
    return cpt_fail(task, CPT_UNAVAILABLE, "the ad server is down");
}

static cpt_status find_user(struct cpt_task *task)
{
    return cpt_fail(task, CPT_FAILED, "no user is logged in");
}

static cpt_status greet(struct cpt_task *task)
{
    *cpt_output(task, greeting) = *cpt_input(task, user); /* not without a user */
    return CPT_OK;
}

static cpt_status render(struct cpt_task *task)
{
    const int *ads = cpt_input(task, ads);

    (void)printf("%s\n", *cpt_input(task, greeting));
    if (ads == NULL) {
        (void)printf("no ads: %s\n", cpt_status_sentence(cpt_input_status(task, ads)));
    }
    *cpt_output(task, page) = *cpt_input(task, matches) + (ads != NULL ? *ads : 0);
    return CPT_OK;
}

static const struct cpt_task_def tasks[] = {
    {"index", find_matches, CPT_GIVES(matches), CPT_NEEDS(query)},
    {"ads", find_ads, CPT_GIVES(ads), CPT_NEEDS(query)},
    {"user", find_user, CPT_GIVES(user), CPT_NEEDS_NOTHING},
    {"greeting", greet, CPT_GIVES(greeting), CPT_NEEDS(user)},
    {"render", render, CPT_GIVES(page), CPT_NEEDS(matches), CPT_WANTS(ads, greeting)},
};
static const struct cpt_graph search = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks,
                                        sizeof tasks / sizeof tasks[0]};

int main(void)
{
    struct cpt_error error = {0};
    struct cpt_plan *plan = cpt_plan_new(&search, NULL, &error);
    struct cpt_request_options request = {.struct_bytes = sizeof request};
    const int query = 41;
    int page = 0;
    cpt_status status = CPT_FAILED;

    if (plan != NULL) {
        request.plan = plan;
        request.input = &query;
        status = cpt_request_run(&request, &page, NULL, &error);
    }
    if (status == CPT_OK) {
        (void)printf("the page is %d\n", page);
    } else {
        (void)fprintf(stderr, "06_optional_inputs: %s\n", error.sentence);
    }
    cpt_plan_free(plan);
    return status == CPT_OK ? 0 : 1;
}
