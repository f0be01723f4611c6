/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * settings.c - a file of settings: read, checked as a whole, taken; see cpt_settings.h
 *
 *      read --> same bytes as before? --> still? --> parsed --> all services --> notice
 *                      |                    |           |
 *                   nothing              later      refused: nothing changes, notice
 *
 * The file is read whole in each period, and compared: it is small, times of files are
 * coarse, and clocks are set back. Whether it is still being written: settings_file.h.
 *
 * What is missing in a file that was cut short must never switch tracing on: only a
 * line that says so does. Its opposite, the kill switch, waits for nothing.
 */
#include "framework/cpt_settings.h"

#include "cpt/base/now.h"
#include "cpt/base/text.h"
#include "framework/service/service.h"
#include "framework/service/settings_file.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PERIOD_DEFAULT_NS UINT64_C(1000000000)
/* A file that is never still within this time is told of. */
#define RESTLESS_NS UINT64_C(10000000000)

enum { VALUE_BYTES_MAX = 4096, PATH_BYTES_MAX = 4095 };

/* What the file says. */
struct wanted {
    bool is_enabled;
    double probability;
    struct cpti_networks networks;
    struct cpti_policy_rules *rules;           /* of the settings */
    struct cpti_experiment_wanted *experiment; /* likewise */
    bool has_enabled;
    bool has_probability;
    bool has_networks;
    uint32_t graph_every;
    double graph_rate;
    double drag_share;
    bool has_graph;
    bool has_graph_rate;
    bool has_drag;
};

/* What the program set. */
struct program {
    bool is_enabled;
    double probability;
    struct cpti_networks networks;
    uint32_t graph_every;
    double drag_share;
};

struct cpt_settings {
    struct cpt_settings_options options;
    char *path;
    struct cpt_service **services;
    struct program *programs; /* of each service */
    pthread_t thread;
    sem_t wake;          /* the only thing that a signal handler touches */
    atomic_bool is_over; /* release, acquire: with the semaphore */
    /* Of its thread, and of cpt_settings_new() before that: */
    struct cpti_settings_file file;
    int failure;                     /* errno of the last attempt; 0: it was read */
    bool has_taken;                  /* a file, once */
    bool is_restless;                /* it is not still, and that was told */
    struct cpti_policy_rules *rules; /* that hold */
    struct cpti_policy_rules *next_rules; /* read now */
    bool has_ended[CPTI_RULES_MAX];       /* those that hold no more, and it was told */
    uint64_t generation;
    struct cpti_experiment_wanted experiment; /* read now */
};

/* --- Parsing --- */

static struct cpt_bytes trim(struct cpt_bytes text)
{
    return cpti_text_trim(text, cpti_is_blank_of_file);
}

/* "10.0.0.0/8, ::1", or "none". */
static cpt_status read_networks(struct cpt_bytes text, struct cpti_networks *networks,
                                struct cpt_error *error)
{
    char copies[CPTI_NETWORKS_MAX][CPTI_TRUSTED_NAME_BYTES_MAX + 1];
    const char *texts[CPTI_NETWORKS_MAX + 1] = {NULL};
    size_t count = 0;

    networks->count = 0;
    if (cpti_text_is(text, "none")) {
        return CPT_OK;
    }
    do {
        const struct cpt_bytes part = trim(cpti_text_take(&text, ','));

        if (count == CPTI_NETWORKS_MAX) {
            return cpt_error_set(error, CPT_LIMIT, 0, "more than %d networks",
                                 CPTI_NETWORKS_MAX);
        }
        if (part.bytes == 0 || part.bytes >= sizeof copies[0] ||
            memchr(part.data, '\0', part.bytes) != NULL) {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 "it is not a list such as 10.0.0.0/8, dns:tools.shop");
        }
        memcpy(copies[count], part.data, part.bytes);
        copies[count][part.bytes] = '\0';
        texts[count] = copies[count];
        count++;
    } while (text.bytes > 0);
    return cpti_networks_read(networks, texts, error);
}

static cpt_status set_once(bool *has, const char *key, struct cpt_error *error)
{
    if (*has) {
        return cpt_error_set(error, CPT_INVALID, 0, "'%s' is there twice", key);
    }
    *has = true;
    return CPT_OK;
}

/* What is kept beside the path. False: @key is none of it. */
static bool parse_kept(struct cpt_bytes key, struct cpt_bytes value,
                       struct wanted *wanted, cpt_status *status,
                       struct cpt_error *error)
{
    if (cpti_text_is(key, "graph")) {
        *status = set_once(&wanted->has_graph, "graph", error);
        if (*status == CPT_OK && !cpti_every_read(value, &wanted->graph_every)) {
            *status = cpt_error_set(error, CPT_INVALID, 0,
                                    "'graph' is no number K: one in K, or 0: none");
        }
    } else if (cpti_text_is(key, "graph_rate")) {
        *status = set_once(&wanted->has_graph_rate, "graph_rate", error);
        if (*status == CPT_OK && !cpti_clause_rate(value, &wanted->graph_rate)) {
            *status = cpt_error_set(error, CPT_INVALID, 0,
                                    "'graph_rate' is no rate such as 10/s");
        }
    } else if (cpti_text_is(key, "drag")) {
        *status = set_once(&wanted->has_drag, "drag", error);
        if (*status == CPT_OK && !cpti_clause_probability(value, &wanted->drag_share)) {
            *status =
                cpt_error_set(error, CPT_INVALID, 0, "'drag' is no number from 0 to 1");
        }
    } else {
        return false;
    }
    return true;
}

static cpt_status parse_pair(struct cpt_bytes key, struct cpt_bytes value,
                             struct wanted *wanted, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    if (cpti_text_is(key, "tracing")) {
        status = set_once(&wanted->has_enabled, "tracing", error);
        wanted->is_enabled = cpti_text_is(value, "on");
        return status != CPT_OK || wanted->is_enabled || cpti_text_is(value, "off")
                   ? status
                   : cpt_error_set(error, CPT_INVALID, 0,
                                   "'tracing' is neither on nor off");
    }
    if (cpti_text_is(key, "probability")) {
        status = set_once(&wanted->has_probability, "probability", error);
        return status != CPT_OK || cpti_clause_probability(value, &wanted->probability)
                   ? status
                   : cpt_error_set(error, CPT_INVALID, 0,
                                   "'probability' is no number from 0 to 1");
    }
    if (cpti_text_is(key, "trust")) {
        status = set_once(&wanted->has_networks, "trust", error);
        return status == CPT_OK ? read_networks(value, &wanted->networks, error)
                                : status;
    }
    if (cpti_text_is(key, "tenant")) {
        if (!cpti_is_header_name(value) || value.bytes > CPTI_RULE_NAME_BYTES ||
            wanted->rules->tenant_header[0] != '\0') {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 "'tenant' is the name of one header");
        }
        memcpy(wanted->rules->tenant_header, value.data, value.bytes);
        return CPT_OK;
    }
    if (parse_kept(key, value, wanted, &status, error)) {
        return status;
    }
    if (cpti_glance_read(wanted->rules, (struct cpt_bytes){key.data, key.bytes}, value,
                         &status, error)) {
        return status;
    }
    if (cpti_experiment_read(wanted->experiment,
                             (struct cpt_bytes){key.data, key.bytes}, value, &status,
                             error)) {
        return status;
    }
    if (key.bytes > 5 && memcmp(key.data, "rule ", 5) == 0) {
        key = trim((struct cpt_bytes){key.data + 5, key.bytes - 5});
        return cpti_rule_read(wanted->rules, (struct cpt_bytes){key.data, key.bytes},
                              value, error);
    }
    return cpt_error_set(error, CPT_INVALID, 0, "unknown setting '%.*s'",
                         (int)(key.bytes < 40 ? key.bytes : 40), key.data);
}

/* Some editors begin a text with a byte order mark. It is refused, but for one case. */
static struct cpt_bytes skip_mark(struct cpt_bytes text)
{
    static const char mark[] = {'\xef', '\xbb', '\xbf'};

    if (text.bytes >= sizeof mark && memcmp(text.data, mark, sizeof mark) == 0) {
        text.data += sizeof mark;
        text.bytes -= sizeof mark;
    }
    return text;
}

/* How many lines of @text are the kill switch, and how many are other settings. */
static unsigned count_off(struct cpt_bytes text, unsigned *others)
{
    unsigned count = 0;

    *others = 0;
    text = skip_mark(text);
    while (text.bytes > 0) {
        struct cpt_bytes line = cpti_text_take(&text, '\n');
        struct cpt_bytes key;

        line = trim(cpti_text_take(&line, '#'));
        if (line.bytes == 0) {
            continue;
        }
        key = trim(cpti_text_take(&line, '='));
        if (cpti_text_is(key, "tracing") && cpti_text_is(trim(line), "off")) {
            count++;
        } else {
            (*others)++;
        }
    }
    return count;
}

/* Whether @text has one setting, and that is the kill switch. Such a text is obeyed
 * even if it is half of what is being written: the whole would say so, too. */
static bool is_kill_switch(struct cpt_bytes text)
{
    unsigned others = 0;

    return count_off(text, &others) == 1 && others == 0;
}

/* What a text has that was cut short, or lost blocks when the machine stopped. */
static cpt_status check_whole(struct cpt_bytes text, uint64_t line_number,
                              struct cpt_error *error)
{
    if (text.bytes == 0) {
        return cpt_error_set(error, CPT_INVALID, 1, "the file is empty");
    }
    if (memchr(text.data, '\0', text.bytes) != NULL) {
        return cpt_error_set(error, CPT_INVALID, line_number, "it has a NUL byte");
    }
    if (text.data[text.bytes - 1] != '\n' && !is_kill_switch(text)) {
        return cpt_error_set(error, CPT_INVALID, line_number,
                             "the last line has no end: it may have been cut short");
    }
    return CPT_OK;
}

/* CPT_OK, or an error whose offset is the number of the line. */
static cpt_status parse(struct cpt_bytes whole, struct wanted *wanted,
                        struct cpt_error *error)
{
    struct cpt_bytes text = is_kill_switch(whole) ? skip_mark(whole) : whole;
    cpt_status status = CPT_OK;
    uint64_t line_number = 0;

    struct cpti_policy_rules *rules = wanted->rules;
    struct cpti_experiment_wanted *experiment = wanted->experiment;

    memset(rules, 0, sizeof *rules);
    memset(experiment, 0, sizeof *experiment);
    *wanted = (struct wanted){.rules = rules, .experiment = experiment};
    while (text.bytes > 0 && status == CPT_OK) {
        struct cpt_bytes line = cpti_text_take(&text, '\n');
        struct cpt_bytes key;

        line_number++;
        line = trim(cpti_text_take(&line, '#'));
        if (line.bytes == 0) {
            continue;
        }
        if (line.bytes > VALUE_BYTES_MAX ||
            memchr(line.data, '=', line.bytes) == NULL) {
            status = cpt_error_set(error, CPT_INVALID, 0, "it is not 'key = value'");
        } else {
            key = trim(cpti_text_take(&line, '='));
            status = parse_pair(key, trim(line), wanted, error);
        }
    }
    error->offset = line_number;
    return status == CPT_OK ? check_whole(whole, line_number, error) : status;
}

/* --- Telling --- */

static __attribute__((format(printf, 3, 4))) void
tell(struct cpt_settings *settings, bool is_taken, const char *format, ...)
{
    char sentence[CPT_ERROR_SENTENCE_BYTES + 256];
    struct cpt_notice notice = {.kind = CPT_NOTICE_SETTINGS,
                                .reason = is_taken ? "taken" : "refused",
                                .count = 1};
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < settings->options.service_count; i++) {
        struct cpti_counters *counters = &settings->services[i]->counters;

        if (is_taken) {
            CPTI_COUNT(counters, settings_taken);
        } else {
            CPTI_COUNT(counters, settings_refused);
        }
    }
    notice.sentence = cpt_bytes_of(sentence);
    settings->options.notify(settings->options.notify_context, &notice);
}

/* --- Taking --- */

static void take_settings(struct cpt_settings *settings, const struct wanted *wanted)
{
    for (size_t i = 0; i < settings->options.service_count; i++) {
        struct cpt_service *service = settings->services[i];
        const struct program *program = &settings->programs[i];

        cpti_sampling_set_probability(&service->sampling, wanted->has_probability
                                                              ? wanted->probability
                                                              : program->probability);
        cpti_sampling_trust(&service->sampling, wanted->has_networks
                                                    ? &wanted->networks
                                                    : &program->networks);
        cpti_sampling_set_graph_every(&service->sampling, wanted->has_graph
                                                              ? wanted->graph_every
                                                              : program->graph_every);
        cpti_sampling_set_drag_share(&service->sampling, wanted->has_drag
                                                             ? wanted->drag_share
                                                             : program->drag_share);
        cpti_sampling_set_graph_rate(&service->sampling,
                                     wanted->has_graph_rate
                                         ? wanted->graph_rate
                                         : service->options.graphs_per_second_max);
        /* A file that does not say it never switches tracing on. */
        if (wanted->has_enabled || !program->is_enabled) {
            cpt_service_enable(service, wanted->has_enabled && wanted->is_enabled);
        }
    }
}

/* Gives each service its own copy of the rules: rates are those of a service. */
static bool take_rules(struct cpt_settings *settings)
{
    bool is_whole = true;

    settings->generation++;
    for (size_t i = 0; i < settings->options.service_count; i++) {
        struct cpt_service *service = settings->services[i];
        struct cpti_policy *policy = NULL;

        if (settings->rules->count > 0) {
            policy = cpti_policy_new(settings->rules, settings->generation,
                                     service->options.alloc);
            if (policy == NULL) {
                is_whole = false;
                continue;
            }
        }
        cpti_sampling_set_policy(&service->sampling, policy);
    }
    return is_whole;
}

static void end_rule(struct cpt_settings *settings, size_t index)
{
    for (size_t i = 0; i < settings->options.service_count; i++) {
        struct cpti_policy *policy =
            cpti_sampling_policy(&settings->services[i]->sampling);

        if (policy != NULL && policy->generation == settings->generation) {
            atomic_store_explicit(&policy->is_over[index], true, memory_order_relaxed);
        }
        cpti_policy_release(policy);
    }
}

/* Rules whose last day is over hold no more, and that is told once. */
static void end_rules(struct cpt_settings *settings)
{
    const uint64_t now_ns = cpt_clock_unix_ns();

    for (size_t i = 0; i < settings->rules->count; i++) {
        const struct cpti_policy_rule *rule = &settings->rules->items[i];
        char sentence[CPT_ERROR_SENTENCE_BYTES + 256];
        struct cpt_notice notice = {
            .kind = CPT_NOTICE_SETTINGS, .reason = "ended", .count = 1};

        if (settings->has_ended[i] || rule->end_ns > now_ns) {
            continue;
        }
        settings->has_ended[i] = true;
        end_rule(settings, i);
        (void)snprintf(sentence, sizeof sentence,
                       "%.200s: rule '%s' of %s ended with %s: it is off",
                       settings->path, rule->name, rule->owner, rule->until);
        notice.sentence = cpt_bytes_of(sentence);
        settings->options.notify(settings->options.notify_context, &notice);
    }
}

/* What the file says of experiments; NULL: it is gone or bad, and they end. */
static void take_experiment(struct cpt_settings *settings,
                            const struct cpti_experiment_wanted *wanted)
{
    for (size_t i = 0; i < settings->options.service_count; i++) {
        if (!cpti_experiment_take(settings->services[i], wanted)) {
            tell(settings, false, "%s: no memory for its experiment: there is none",
                 settings->path);
        }
    }
}

/* Tells, once, that an experiment is over or was stopped. */
static void watch_experiments(struct cpt_settings *settings)
{
    for (size_t i = 0; i < settings->options.service_count; i++) {
        char sentence[CPTI_EXPERIMENT_SENTENCE_BYTES];
        struct cpt_notice notice = {
            .kind = CPT_NOTICE_SETTINGS, .reason = "experiment", .count = 1};

        if (cpti_experiment_tick(settings->services[i], sentence)) {
            notice.sentence = cpt_bytes_of(sentence);
            settings->options.notify(settings->options.notify_context, &notice);
        }
    }
}

/* What is told of a file that is not taken. */
static const char kept_before[] = "what was set before stays";
static const char off_at_first[] = "tracing is off until a file says 'tracing = on'";

/* Whether the file that is there when the process begins keeps tracing off, though it
 * is refused: nothing was set before it, and a restart must not lift the kill switch. A
 * line of it says so, or may have said so before it was cut short. */
static bool may_be_off(const struct cpti_settings_file *file)
{
    const struct cpt_bytes text = {file->judged, file->judged_bytes};
    unsigned others = 0;

    return check_whole(text, 0, NULL) != CPT_OK || count_off(text, &others) != 0;
}

/* Nothing was ever taken: what was set before is only what the program began with. */
static bool stop_at_first(struct cpt_settings *settings, bool may_stop)
{
    if (settings->has_taken || !may_stop) {
        return false;
    }
    for (size_t i = 0; i < settings->options.service_count; i++) {
        cpt_service_enable(settings->services[i], 0);
    }
    return true;
}

/* The file could not be read. A file that was never there is no mistake. */
static void note_unread(struct cpt_settings *settings, int failure)
{
    if (failure == settings->failure ||
        (failure == ENOENT && !settings->file.was_there)) {
        return;
    }
    settings->failure = failure;
    tell(settings, false, "%s: %s; %s", settings->path,
         failure == EINVAL ? "it is no regular file" : strerror(failure),
         stop_at_first(settings, failure != ENOENT) ? off_at_first : kept_before);
}

/* A file that is never still is not taken, and the operator should know. An experiment
 * does not outlast it. */
static void note_restless(struct cpt_settings *settings, uint64_t now_ns)
{
    if (!settings->is_restless && now_ns - settings->file.changes_ns >= RESTLESS_NS) {
        settings->is_restless = true;
        tell(settings, false,
             "%s: it is being changed again and again; what was set before stays until "
             "it is still for a second",
             settings->path);
        take_experiment(settings, NULL);
    }
}

/* Whether a service is off that the program had switched on, as @wanted does not say
 * that it is to go on. */
static bool stays_off(const struct cpt_settings *settings, const struct wanted *wanted)
{
    bool is_off = false;

    for (size_t i = 0; i < settings->options.service_count; i++) {
        is_off |= !wanted->has_enabled && settings->programs[i].is_enabled &&
                  !cpt_service_is_enabled(settings->services[i]);
    }
    return is_off;
}

/* Judges what was read: takes it, or refuses it. */
static void judge(struct cpt_settings *settings)
{
    const struct cpti_settings_file *file = &settings->file;
    struct cpt_error error = {0};
    struct wanted wanted = {.rules = settings->next_rules,
                            .experiment = &settings->experiment};

    cpti_settings_file_judge(&settings->file);
    settings->failure = 0;
    if (parse((struct cpt_bytes){file->judged, file->judged_bytes}, &wanted, &error) !=
        CPT_OK) {
        tell(settings, false, "%s: line %llu: %s; %s", settings->path,
             (unsigned long long)error.offset, error.sentence,
             stop_at_first(settings, may_be_off(file)) ? off_at_first : kept_before);
        take_experiment(settings, NULL);
        return;
    }
    settings->has_taken = true;
    take_settings(settings, &wanted);
    take_experiment(settings, wanted.experiment);
    settings->next_rules = settings->rules;
    settings->rules = wanted.rules;
    memset(settings->has_ended, 0, sizeof settings->has_ended);
    if (!take_rules(settings)) {
        tell(settings, false, "%s: no memory for its rules; those before stay",
             settings->path);
        return;
    }
    tell(settings, true, "%s%s", settings->path,
         stays_off(settings, &wanted)
             ? "; tracing stays off until it says 'tracing = on'"
             : "");
}

static void check_file(struct cpt_settings *settings)
{
    struct cpti_settings_file *file = &settings->file;
    const uint64_t now_ns = cpti_now_ns();
    const enum cpti_settings_look look = cpti_settings_file_look(file, now_ns);

    if (look == CPTI_SETTINGS_UNREAD) {
        note_unread(settings, errno);
        take_experiment(settings, NULL);
    } else if (look == CPTI_SETTINGS_NEW ||
               (look == CPTI_SETTINGS_CHANGING &&
                is_kill_switch((struct cpt_bytes){file->next, file->next_bytes}))) {
        judge(settings);
    } else if (look == CPTI_SETTINGS_CHANGING) {
        note_restless(settings, now_ns);
        return;
    }
    settings->is_restless = false;
}

static void check(struct cpt_settings *settings)
{
    check_file(settings);
    end_rules(settings);
    watch_experiments(settings);
}

/* --- The thread --- */

/* As long as until the next look. */
static uint64_t next_look_ns(const struct cpt_settings *settings)
{
    const uint64_t period_ns = settings->options.period_ns;

    return settings->file.since_ns != 0 && period_ns > CPTI_SETTINGS_STILL_NS
               ? CPTI_SETTINGS_STILL_NS
               : period_ns;
}

static void *run(void *context)
{
    struct cpt_settings *settings = context;

    while (!atomic_load_explicit(&settings->is_over, memory_order_acquire)) {
        const uint64_t wait_ns = next_look_ns(settings);
        struct timespec until;

        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += (time_t)(wait_ns / 1000000000);
        until.tv_nsec += (long)(wait_ns % 1000000000);
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        while (sem_clockwait(&settings->wake, CLOCK_MONOTONIC, &until) != 0 &&
               errno == EINTR) {
        }
        if (!atomic_load_explicit(&settings->is_over, memory_order_acquire)) {
            check(settings);
        }
    }
    return NULL;
}

/* Signals are for the threads of the program. */
static int start(struct cpt_settings *settings)
{
    sigset_t all;
    sigset_t before;
    int number = 0;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    number = pthread_create(&settings->thread, NULL, run, settings);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return number;
}

/* --- Making and freeing --- */

static cpt_status check_options(const struct cpt_settings_options *options,
                                struct cpt_error *error)
{
    if (options->path == NULL || options->path[0] == '\0' ||
        strlen(options->path) > PATH_BYTES_MAX || options->services == NULL ||
        options->service_count == 0) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "settings need a path and a service");
    }
    if (options->service_count > CPT_SETTINGS_SERVICES_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0, "settings of more than %d services",
                             CPT_SETTINGS_SERVICES_MAX);
    }
    return CPT_OK;
}

static void release(struct cpt_settings *settings)
{
    const struct cpt_alloc *alloc = settings->options.alloc;

    (void)sem_destroy(&settings->wake);
    cpt_alloc_free(alloc, settings->path);
    cpt_alloc_free(alloc, (void *)settings->services);
    cpt_alloc_free(alloc, settings->programs);
    cpti_settings_file_deinit(&settings->file);
    cpt_alloc_free(alloc, settings->rules);
    cpt_alloc_free(alloc, settings->next_rules);
    cpt_alloc_free(alloc, settings);
}

/* Copies what the options point to, and what the program has set. False: no memory. */
static bool fill(struct cpt_settings *settings,
                 const struct cpt_settings_options *options)
{
    const struct cpt_alloc *alloc = options->alloc;
    const size_t path_bytes = strlen(options->path) + 1;
    const size_t count = options->service_count;

    settings->path = cpt_alloc_zeroed(alloc, path_bytes);
    settings->services = cpt_alloc_zeroed(alloc, count * sizeof(struct cpt_service *));
    settings->programs = cpt_alloc_zeroed(alloc, count * sizeof(struct program));
    settings->rules = cpt_alloc_zeroed(alloc, sizeof *settings->rules);
    settings->next_rules = cpt_alloc_zeroed(alloc, sizeof *settings->next_rules);
    if (settings->rules == NULL || settings->next_rules == NULL ||
        settings->path == NULL || settings->services == NULL ||
        settings->programs == NULL ||
        cpti_settings_file_init(&settings->file, alloc, settings->path) != CPT_OK) {
        return false;
    }
    memcpy(settings->path, options->path, path_bytes);
    for (size_t i = 0; i < count; i++) {
        struct cpt_service *service = options->services[i];

        settings->services[i] = service;
        settings->programs[i] = (struct program){
            .is_enabled = cpt_service_is_enabled(service) != 0,
            .probability = atomic_load_explicit(&service->sampling.probability,
                                                memory_order_relaxed),
            .networks = service->sampling.networks,
            .graph_every = service->options.graph_every,
            .drag_share = service->options.drag_share,
        };
    }
    return true;
}

struct cpt_settings *cpt_settings_new(const struct cpt_settings_options *given,
                                      struct cpt_error *error)
{
    struct cpt_settings_options options;
    struct cpt_settings *settings = NULL;

    if (cpt_options_read(&options, sizeof options, given, error) != CPT_OK ||
        check_options(&options, error) != CPT_OK) {
        return NULL;
    }
    options.alloc = options.alloc != NULL ? options.alloc : cpt_alloc_default();
    options.period_ns = options.period_ns != 0 ? options.period_ns : PERIOD_DEFAULT_NS;
    options.notify = options.notify != NULL ? options.notify : cpt_notice_print;
    settings = cpt_alloc_zeroed(options.alloc, sizeof *settings);
    if (settings == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for settings");
        return NULL;
    }
    settings->options = options;
    (void)sem_init(&settings->wake, 0, 0);
    atomic_init(&settings->is_over, false);
    if (!fill(settings, &options)) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for settings");
        release(settings);
        return NULL;
    }
    check(settings);
    if (start(settings) != 0) {
        (void)cpt_error_set(error, CPT_IO, 0, "no thread for settings");
        release(settings);
        return NULL;
    }
    return settings;
}

void cpt_settings_check(struct cpt_settings *settings)
{
    const int saved = errno;

    (void)sem_post(&settings->wake);
    errno = saved;
}

void cpt_settings_free(struct cpt_settings *settings)
{
    if (settings == NULL) {
        return;
    }
    atomic_store_explicit(&settings->is_over, true, memory_order_release);
    cpt_settings_check(settings);
    (void)pthread_join(settings->thread, NULL);
    release(settings);
}
