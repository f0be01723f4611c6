/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * experiment_read.c - an experiment as text; see docs/experiments.md
 *
 *      experiment = delta 5ms; guard 250ms; frames A: A1, B: B2; each 60s; for 3600s
 *      experiment = off
 *      experiment_asked = delta 5ms; rate 100/s
 *
 * It is checked as a whole, with what no file can go beyond.
 */
#include "framework/service/rules/experiment.h"

#include "cpt/base/text.h"
#include "framework/run/delay.h"
#include "framework/service/rules/policy.h"

#include <string.h>

/* Which clauses came. */
enum {
    SAW_DELTA = 1,
    SAW_GUARD = 2,
    SAW_FRAMES = 4,
    SAW_SHARE = 8,
    SAW_EACH = 16,
    SAW_FOR = 32,
    SAW_ERRORS = 64,
    SAW_BURN = 128,
    SAW_RATE = 256
};

#define MS UINT64_C(1000000)

static bool read_delta(struct cpt_bytes text, uint64_t *ns)
{
    return cpti_clause_duration(text, ns) && *ns > 0 && *ns <= CPTI_DELAY_NS_MAX;
}

static bool has_frame(const struct cpti_experiment_wanted *wanted, const char *name)
{
    for (uint32_t i = 0; i < wanted->frame_count; i++) {
        if (strcmp(wanted->frames[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* "all", or "A: A1, B: B2". */
static bool read_frames(struct cpt_bytes text, struct cpti_experiment_wanted *wanted)
{
    wanted->is_all = cpti_text_is(text, "all");
    if (wanted->is_all) {
        return true;
    }
    do {
        const char *comma = text.bytes > 0 ? memchr(text.data, ',', text.bytes) : NULL;
        const struct cpt_bytes part = {
            text.data, comma != NULL ? (size_t)(comma - text.data) : text.bytes};
        const size_t gone = part.bytes + (comma != NULL);
        char name[CPT_NAME_BYTES_MAX + 1];

        if (wanted->frame_count == CPTI_EXPERIMENT_FRAMES_MAX ||
            !cpti_clause_text(part, name, CPT_NAME_BYTES_MAX) ||
            has_frame(wanted, name)) {
            return false;
        }
        memcpy(wanted->frames[wanted->frame_count++], name, strlen(name) + 1);
        text.data += gone;
        text.bytes -= gone;
        if (comma != NULL && text.bytes == 0) {
            return false;
        }
    } while (text.bytes > 0);
    return true;
}

/* What a clause says; its bit, 0: there is no such @word, -1: it is malformed. */
static int read_clause(struct cpt_bytes word, struct cpt_bytes text,
                       struct cpti_experiment_wanted *wanted)
{
    bool is_good = false;
    int bit = 0;

    if (cpti_text_is(word, "delta")) {
        bit = SAW_DELTA;
        is_good = read_delta(text, &wanted->delta_ns);
    } else if (cpti_text_is(word, "guard")) {
        bit = SAW_GUARD;
        is_good = cpti_clause_duration(text, &wanted->guard_ns) && wanted->guard_ns > 0;
    } else if (cpti_text_is(word, "frames")) {
        bit = SAW_FRAMES;
        is_good = read_frames(text, wanted);
    } else if (cpti_text_is(word, "share")) {
        bit = SAW_SHARE;
        is_good = cpti_clause_probability(text, &wanted->share) && wanted->share > 0 &&
                  wanted->share <= CPTI_EXPERIMENT_SHARE_MAX;
    } else if (cpti_text_is(word, "each")) {
        bit = SAW_EACH;
        is_good =
            cpti_clause_duration(text, &wanted->each_ns) && wanted->each_ns >= 10 * MS;
    } else if (cpti_text_is(word, "for")) {
        bit = SAW_FOR;
        is_good = cpti_clause_duration(text, &wanted->total_ns) &&
                  wanted->total_ns > 0 &&
                  wanted->total_ns <= CPTI_EXPERIMENT_TOTAL_NS_MAX;
    } else if (cpti_text_is(word, "errors")) {
        bit = SAW_ERRORS;
        is_good = cpti_clause_probability(text, &wanted->errors_max);
    } else if (cpti_text_is(word, "burn")) {
        bit = SAW_BURN;
        wanted->burns = true;
        is_good = text.bytes == 0;
    }
    return bit == 0 || is_good ? bit : -1;
}

static int read_asked_clause(struct cpt_bytes word, struct cpt_bytes text,
                             struct cpti_experiment_wanted *wanted)
{
    if (cpti_text_is(word, "delta")) {
        return read_delta(text, &wanted->asked_ns_max) ? SAW_DELTA : -1;
    }
    if (cpti_text_is(word, "rate")) {
        return cpti_clause_rate(text, &wanted->asked_rate) ? SAW_RATE : -1;
    }
    return 0;
}

typedef int (*clause_fn)(struct cpt_bytes word, struct cpt_bytes text,
                         struct cpti_experiment_wanted *wanted);

/* Reads all clauses of @name; *@saw says which. */
static cpt_status read_clauses(const char *name, struct cpt_bytes text, clause_fn read,
                               struct cpti_experiment_wanted *wanted, unsigned *saw,
                               struct cpt_error *error)
{
    struct cpt_bytes word;
    struct cpt_bytes said;

    *saw = 0;
    while (cpti_clause_take(&text, &word, &said)) {
        const int bit = read(word, said, wanted);
        const int shown = (int)(word.bytes < 40 ? word.bytes : 40);

        if (bit <= 0 || (*saw & (unsigned)bit) != 0) {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 bit == 0  ? "%s: there is no clause '%.*s'"
                                 : bit < 0 ? "%s: what '%.*s' says is malformed, or "
                                             "beyond what is allowed"
                                           : "%s: '%.*s' twice",
                                 name, shown, word.data);
        }
        *saw |= (unsigned)bit;
    }
    return CPT_OK;
}

/* Whether the clauses make an experiment; else why not. */
static const char *judge(const struct cpti_experiment_wanted *wanted, unsigned saw)
{
    if ((saw & SAW_DELTA) == 0) {
        return "'experiment' needs a delay of at most 100 ms: delta 5ms";
    }
    if ((saw & SAW_GUARD) == 0) {
        return "'experiment' needs a latency at which it stops: guard 250ms";
    }
    if ((saw & SAW_FRAMES) == 0) {
        return "'experiment' needs frames: all, or names";
    }
    if (wanted->guard_ns <= wanted->delta_ns) {
        return "'experiment' would stop at once: its guard is not above its delay";
    }
    return NULL;
}

static cpt_status read_own(struct cpti_experiment_wanted *wanted, struct cpt_bytes text,
                           struct cpt_error *error)
{
    const char *reason = NULL;
    unsigned saw = 0;
    cpt_status status = CPT_OK;

    if (wanted->saw_own) {
        return cpt_error_set(error, CPT_INVALID, 0, "'experiment' is there twice");
    }
    wanted->saw_own = true;
    if (cpti_text_is(text, "off")) {
        return CPT_OK;
    }
    wanted->is_on = true;
    wanted->share = CPTI_EXPERIMENT_SHARE_DEFAULT;
    wanted->errors_max = CPTI_EXPERIMENT_ERRORS_DEFAULT;
    wanted->each_ns = CPTI_EXPERIMENT_EACH_DEFAULT;
    wanted->total_ns = CPTI_EXPERIMENT_TOTAL_DEFAULT;
    status = read_clauses("experiment", text, read_clause, wanted, &saw, error);
    if (status != CPT_OK) {
        return status;
    }
    reason = judge(wanted, saw);
    return reason == NULL ? CPT_OK : cpt_error_set(error, CPT_INVALID, 0, "%s", reason);
}

static cpt_status read_asked(struct cpti_experiment_wanted *wanted,
                             struct cpt_bytes text, struct cpt_error *error)
{
    unsigned saw = 0;
    cpt_status status = CPT_OK;

    if (wanted->saw_asked) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "'experiment_asked' is there twice");
    }
    wanted->saw_asked = true;
    if (cpti_text_is(text, "off")) {
        return CPT_OK;
    }
    status =
        read_clauses("experiment_asked", text, read_asked_clause, wanted, &saw, error);
    if (status == CPT_OK && saw != (SAW_DELTA | SAW_RATE)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "'experiment_asked' needs what it obeys at most: delta "
                             "5ms; rate 100/s");
    }
    return status;
}

bool cpti_experiment_read(struct cpti_experiment_wanted *wanted, struct cpt_bytes key,
                          struct cpt_bytes text, cpt_status *status,
                          struct cpt_error *error)
{
    if (cpti_text_is(key, "experiment")) {
        *status = read_own(wanted, text, error);
    } else if (cpti_text_is(key, "experiment_asked")) {
        *status = read_asked(wanted, text, error);
    } else {
        return false;
    }
    return true;
}
