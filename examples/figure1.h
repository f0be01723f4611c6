/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * figure1.h - what the three services of the demo share
 *
 *      browser --> A { A1, A2 }     A1 calls A2, B1, B2      A2 calls B2, C1, C2
 *                  B { B1, B2 }     B1 calls B2              B2 calls C1
 *                  C { C1, C2 }     C2 calls C1
 *
 * Each service is one process: figure1_a.c, figure1_b.c, figure1_c.c. A component
 * within the same service is a task that another task starts; one in another service is
 * called over HTTP. This file has only what a real service has in its main(): options,
 * a pool of workers, a port to listen on, a clean end at SIGTERM.
 *
 * The components only sleep, or compute (--compute); the page decides for how long, see
 * figure1_step(). The words of a request (arm=…, page=…) travel to callees in the body
 * of each call. With --jitter SIGMA the times are random, see figure1_jitter.h.
 */
#ifndef FIGURE1_H
#define FIGURE1_H

#include <cpt/cpt_graph.h>
#include <cpt/cpt_rpc.h>
#include <cpt/cpt_runtime.h>

/* The pages, as columns of each component's table of durations. */
enum figure1_page {
    FIGURE1_HOME,    /* B1 takes longest, as in Figure 2b of the article */
    FIGURE1_SEARCH,  /* A2 takes longest */
    FIGURE1_OVERLAP, /* A1 computes while B1 is called, as in Figure 2c */
    FIGURE1_PAGES
};

enum { FIGURE1_WORDS_BYTES = 512 };

/* The parts of a component's work. */
enum { FIGURE1_BEFORE, FIGURE1_AFTER, FIGURE1_MEANWHILE };

/* A component: its name and how long it works before it calls others, and after. */
struct figure1_component {
    const char *name;
    unsigned before_us[FIGURE1_PAGES];
    unsigned after_us[FIGURE1_PAGES];
};

/* A method and the graph that answers it. */
struct figure1_method {
    const char *method;
    const struct cpt_graph *graph;
};

/* A service, as its main() describes it. Both tables end with a row of NULL. */
struct figure1_service {
    const char *name;
    unsigned role; /* enum cpt_role */
    const struct figure1_method *methods;
    struct cpt_stub *const *stubs; /* its callees; target and transport are set */
};

/* Runs @service until SIGTERM or SIGINT; for `return` from main(). */
int figure1_main(int argc, char **argv, const struct figure1_service *service);

/* The words of the request that @task belongs to: "arm=control&page=home". */
struct cpt_bytes figure1_words(struct cpt_task *task);

/* The value of @key in @words; empty if it is not there. */
struct cpt_bytes figure1_word(struct cpt_bytes words, const char *key);

/* @words for call @index of @callee that @task makes: with --jitter they get a number
 * of their own. Others, and those that are too long for @room, stay as they are. */
struct cpt_bytes figure1_words_for(struct cpt_task *task, struct cpt_bytes words,
                                   const char *callee, unsigned index,
                                   char room[FIGURE1_WORDS_BYTES]);

/* Which page the request asks for. */
enum figure1_page figure1_page(struct cpt_task *task);

/* Works for @us microseconds. */
void figure1_work(unsigned us);

/* The same for part @part of component @name. With --jitter the time is lognormal with
 * this mean, and depends on the request's number, the name and the part. */
void figure1_step(struct cpt_task *task, const char *name, unsigned part, unsigned us);

/* The component's work before it calls others. In the treatment arm it takes longer if
 * the process was started with --slow for this component. */
void figure1_before(struct cpt_task *task, const struct figure1_component *component);

/* Its work afterwards. */
void figure1_after(struct cpt_task *task, const struct figure1_component *component);

/* What the components give each other, as a value or over HTTP. */
struct cpt_rpc_reply figure1_reply(const char *text);

#endif
