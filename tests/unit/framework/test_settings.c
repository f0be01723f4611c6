/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_settings.c - settings from a file: taken, refused, taken again */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"

#include "framework/cpt_rpc.h"
#include "framework/cpt_settings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HOUR_NS (UINT64_C(3600) * 1000000000)

static char folder[64];
static char path[128];

/* What was told; the callback runs on the thread of the settings, too. */
static struct {
    pthread_mutex_t lock;
    unsigned count;
    char reason[16];
    char sentence[512];
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note(void *context, const struct cpt_notice *notice)
{
    (void)context;
    (void)pthread_mutex_lock(&told.lock);
    told.count++;
    (void)snprintf(told.reason, sizeof told.reason, "%s", notice->reason);
    (void)snprintf(told.sentence, sizeof told.sentence, "%.*s",
                   (int)notice->sentence.bytes, notice->sentence.data);
    (void)pthread_mutex_unlock(&told.lock);
}

static unsigned told_count(void)
{
    unsigned count = 0;

    (void)pthread_mutex_lock(&told.lock);
    count = told.count;
    (void)pthread_mutex_unlock(&told.lock);
    return count;
}

static void make_folder(void)
{
    told.count = 0;
    told.reason[0] = '\0';
    (void)snprintf(folder, sizeof folder, "settings.XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/cpt.conf", folder);
}

static void remove_folder(void)
{
    (void)unlink(path);
    (void)rmdir(folder);
}

/* Replaces the file by one with @text, as an operator should. */
static void write_file(const char *text, size_t bytes)
{
    char next[160];
    FILE *file = NULL;

    (void)snprintf(next, sizeof next, "%s.next", path);
    file = fopen(next, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(text, 1, bytes, file), bytes);
    (void)fclose(file);
    CU_ASSERT_EQUAL(rename(next, path), 0);
}

static struct cpt_service *make_service(void)
{
    static const char *const trusted[] = {"192.0.2.1", NULL};
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "A",
                                                .probability = -1,
                                                .trusted_networks = trusted};
    struct cpt_service *service = cpt_service_new(&options, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(service);
    return service;
}

static struct cpt_settings *watch(struct cpt_service **service,
                                  const struct cpt_alloc *alloc)
{
    const struct cpt_settings_options options = {.struct_bytes = sizeof options,
                                                 .alloc = alloc,
                                                 .path = path,
                                                 .services = service,
                                                 .service_count = 1,
                                                 .period_ns = HOUR_NS,
                                                 .notify = note};

    return cpt_settings_new(&options, NULL);
}

/* Waits until one thing more than @before is told. */
static void wait_told(unsigned before, const char *reason, const char *sentence)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    while (told_count() == before) {
        (void)nanosleep(&pause, NULL);
    }
    CU_ASSERT_EQUAL(told_count(), before + 1);
    CU_ASSERT_STRING_EQUAL(told.reason, reason);
    CU_ASSERT_PTR_NOT_NULL(strstr(told.sentence, sentence));
}

/* Reads the file, and waits until that is told. */
static void check_told(struct cpt_settings *settings, const char *reason,
                       const char *sentence)
{
    const unsigned before = told_count();

    cpt_settings_check(settings);
    wait_told(before, reason, sentence);
}

static void ignore(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    (void)outbound;
}

static struct {
    const char *name;
    uint64_t value;
} wanted;

static void visit(void *context, const struct cpt_counter *counter)
{
    (void)context;
    if (strcmp(counter->name, wanted.name) == 0) {
        wanted.value = counter->value;
    }
}

static uint64_t counter(struct cpt_service *service, const char *name)
{
    wanted.name = name;
    cpt_service_counters(service, visit, NULL);
    return wanted.value;
}

static cpt_status answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("ok");
    return CPT_OK;
}

static const struct cpt_task_def row[] = {
    {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request),
                                       CPT_GIVES(rpc_reply), row, 1};

/* Whether a request from @peer that asks for its path is traced. */
static bool is_traced(struct cpt_service *service, const char *peer)
{
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/"),
                                        .critical_path = cpt_bytes_of("1"),
                                        .critical_path_count = 1,
                                        .peer_address = cpt_bytes_of(peer)};
    const uint64_t before = counter(service, "traced");

    cpt_service_serve(service, &inbound, ignore, NULL);
    return counter(service, "traced") != before;
}

static void test_taken(void)
{
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_service *service = make_service();
    struct cpt_settings *settings = NULL;

    make_folder();
    CU_ASSERT_EQUAL(cpt_service_method_add(service, "/", plan, NULL), CPT_OK);
    settings = watch(&service, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(settings);
    CU_ASSERT_EQUAL(told_count(), 0); /* no file is no mistake */
    CU_ASSERT_EQUAL(cpt_service_coin(service), CPT_COIN_MISSED);
    CU_ASSERT_TRUE(is_traced(service, "192.0.2.1"));
    CU_ASSERT_FALSE(is_traced(service, "10.1.2.3"));

    write_file("# all\n\n probability = 1 # always\r\ntrust=10.0.0.0/8, ::1\n", 55);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_EQUAL(cpt_service_coin(service), CPT_COIN_HIT);
    write_file("trust = 10.0.0.0/8", 18);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_EQUAL(cpt_service_coin(service), CPT_COIN_MISSED); /* the program's */
    CU_ASSERT_FALSE(is_traced(service, "192.0.2.1"));
    CU_ASSERT_TRUE(is_traced(service, "10.1.2.3"));
    write_file("tracing = off\nprobability = 0.5\n", 32);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_FALSE(cpt_service_is_enabled(service));
    CU_ASSERT_FALSE(is_traced(service, "192.0.2.1"));
    write_file("trust = none", 12);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_TRUE(cpt_service_is_enabled(service));
    CU_ASSERT_FALSE(is_traced(service, "192.0.2.1"));
    write_file("trust = issuer:Shop people, 10.0.0.0/8\n", 39);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_TRUE(is_traced(service, "10.1.2.3"));
    write_file("", 0);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_TRUE(is_traced(service, "192.0.2.1"));
    CU_ASSERT_EQUAL(counter(service, "settings_taken"), 6);
    CU_ASSERT_EQUAL(counter(service, "settings_refused"), 0);
    cpt_settings_free(settings);
    cpt_service_free(service);
    cpt_plan_free(plan);
    remove_folder();
}

static void test_refused(void)
{
    static const struct {
        const char *text;
        size_t bytes; /* 0: of the string */
        const char *sentence;
    } rows[] = {
        {"tracing = on\nprobability = 2\n", 0, "line 2: 'probability' is no number"},
        {"probability = 0,5\n", 0, "line 1: 'probability'"},
        {"probability = -1\n", 0, "line 1: 'probability'"},
        {"probability = nan\n", 0, "line 1: 'probability'"},
        {"probability = .\n", 0, "line 1: 'probability'"},
        {"probability =\n", 0, "line 1: 'probability'"},
        {"probability = 0.0000000000000001\n", 0, "line 1: 'probability'"},
        {"tracing = yes\n", 0, "line 1: 'tracing' is neither on nor off"},
        {"tracing = off\n\ntracing = off", 0, "line 3: 'tracing' is there twice"},
        {"probabilty = 1", 0, "line 1: unknown setting 'probabilty'"},
        {"tracing off\n", 0, "line 1: it is not 'key = value'"},
        {"trust = 10.0.0.0/33", 0, "line 1: trusted network"},
        {"trust = ", 0, "line 1: it is not a list"},
        {"trust = dns:", 0, "line 1: trusted network"},
        {"trust = ::1,,::1", 0, "line 1: it is not a list"},
        {"trust = a\0b", 11, "line 1: it is not a list"},
        {"\0\0", 2, "line 1: it is not 'key = value'"},
        {"= 1", 0, "line 1: unknown setting ''"},
    };
    struct cpt_service *service = make_service();
    struct cpt_settings *settings = NULL;
    unsigned before = 0;

    make_folder();
    write_file("tracing = off\nprobability = 1", 29);
    settings = watch(&service, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(settings);
    CU_ASSERT_EQUAL(told_count(), 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_file(rows[i].text,
                   rows[i].bytes != 0 ? rows[i].bytes : strlen(rows[i].text));
        check_told(settings, "refused", rows[i].sentence);
        CU_ASSERT_FALSE(cpt_service_is_enabled(service));
    }
    (void)unlink(path);
    check_told(settings, "refused", "No such file");
    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
    check_told(settings, "refused", "it is no regular file");
    CU_ASSERT_EQUAL(rmdir(path), 0);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    before = told_count();
    cpt_settings_check(settings); /* the same mistake: told once */
    CU_ASSERT_FALSE(cpt_service_is_enabled(service));
    write_file("probability = 1", 15); /* the thread sees this or that, never nothing */
    cpt_settings_check(settings);
    wait_told(before, "taken", "cpt.conf");
    CU_ASSERT_EQUAL(cpt_service_coin(service), CPT_COIN_HIT);
    cpt_settings_free(settings);
    cpt_service_free(service);
    remove_folder();
}

static void test_size(void)
{
    char *text = malloc(CPT_SETTINGS_BYTES_MAX + 1);
    struct cpt_service *service = make_service();
    struct cpt_settings *settings = NULL;

    make_folder();
    memset(text, '\n', CPT_SETTINGS_BYTES_MAX + 1);
    settings = watch(&service, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(settings);
    write_file(text, CPT_SETTINGS_BYTES_MAX - 1);
    check_told(settings, "taken", "cpt.conf");
    write_file(text, CPT_SETTINGS_BYTES_MAX);
    check_told(settings, "taken", "cpt.conf");
    write_file(text, CPT_SETTINGS_BYTES_MAX + 1);
    check_told(settings, "refused", "File too large");
    cpt_settings_free(settings);
    cpt_service_free(service);
    free(text);
    remove_folder();
}

static bool watch_once(const struct cpt_alloc *alloc)
{
    struct cpt_service *service = make_service();
    struct cpt_settings *settings = watch(&service, alloc);
    const bool is_there = settings != NULL;

    cpt_settings_free(settings);
    cpt_service_free(service);
    return is_there;
}

static void test_made(void)
{
    const struct cpt_settings_options none = {.struct_bytes = sizeof none};

    make_folder();
    each_allocation_failure(watch_once);
    CU_ASSERT_PTR_NULL(cpt_settings_new(&none, NULL));
    cpt_settings_free(NULL);
    remove_folder();
}

static void test_setters(void)
{
    static const char *const bad[] = {"10.0.0.0/8", "nonsense", NULL};
    static const double out_of_range[] = {-0.1, 1.1, 1e300};
    struct cpt_service *service = make_service();

    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(cpt_service_set_probability(service, out_of_range[i], NULL),
                        CPT_INVALID);
    }
    CU_ASSERT_EQUAL(cpt_service_coin(service), CPT_COIN_MISSED);
    CU_ASSERT_EQUAL(cpt_service_set_probability(service, 1, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_service_coin(service), CPT_COIN_HIT);
    CU_ASSERT_EQUAL(cpt_service_set_probability(service, 0, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_service_coin(service), CPT_COIN_MISSED);
    CU_ASSERT_EQUAL(cpt_service_set_trust(service, bad, NULL), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_service_set_trust(service, bad + 2, NULL), CPT_OK);
    cpt_service_free(service);
}

CU_TestInfo cpt_settings_tests[] = {
    {"a file is taken; what it does not set is as the program set it", test_taken},
    {"a bad file changes nothing, and says so", test_refused},
    {"a file has a largest size", test_size},
    {"without memory nothing is lost", test_made},
    {"what makes no sense is not set", test_setters},
    CU_TEST_INFO_NULL,
};
