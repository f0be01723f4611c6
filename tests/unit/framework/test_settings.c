/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_settings.c - settings from a file: taken, refused, taken again; cut short */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"

#include "cpt/base/now.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_settings.h"
#include "framework/service/settings_file.h"

#include <fcntl.h>
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

/* Writes the file in place, as an operator should not. */
static void write_in_place(const char *text)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    CU_ASSERT_TRUE_FATAL(file >= 0);
    CU_ASSERT_EQUAL(write(file, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(file);
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

    write_file("# all\n\n probability = 1 # always\r\ntrust=10.0.0.0/8, ::1\n", 56);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_EQUAL(cpt_service_coin(service), CPT_COIN_HIT);
    write_file("trust = 10.0.0.0/8\n", 19);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_EQUAL(cpt_service_coin(service), CPT_COIN_MISSED); /* the program's */
    CU_ASSERT_FALSE(is_traced(service, "192.0.2.1"));
    CU_ASSERT_TRUE(is_traced(service, "10.1.2.3"));
    write_file("tracing = off\nprobability = 0.5\n", 32);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_FALSE(cpt_service_is_enabled(service));
    CU_ASSERT_FALSE(is_traced(service, "192.0.2.1"));
    write_file("trust = none\n", 13);
    check_told(settings, "taken", "stays off until it says 'tracing = on'");
    CU_ASSERT_FALSE(cpt_service_is_enabled(service));
    write_file("tracing = on\ntrust = none\n", 26);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_TRUE(cpt_service_is_enabled(service));
    CU_ASSERT_FALSE(is_traced(service, "192.0.2.1"));
    write_file("trust = issuer:Shop people, 10.0.0.0/8\n", 39);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_TRUE(is_traced(service, "10.1.2.3"));
    write_file("\n", 1);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_TRUE(is_traced(service, "192.0.2.1"));
    CU_ASSERT_EQUAL(counter(service, "settings_taken"), 7);
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
        {"", 0, "line 1: the file is empty"},
        {"probability = 0.5", 0, "line 1: the last line has no end"},
        {"tracing = on", 0, "line 1: the last line has no end"},
        {"tracing = on\ntrust = none\n#", 0, "line 3: the last line has no end"},
        {"tracing = on\r", 0, "line 1: the last line has no end"},
        {"\n\n ", 0, "line 3: the last line has no end"},
        {"\xef\xbb\xbf", 0, "line 1: it is not 'key = value'"},
        {"tracing = on\n# a\0\0b\n", 19, "line 2: it has a NUL byte"},
        {"tracing = on\n\0\0\0\n", 17, "line 2: it is not 'key = value'"},
        {"t\0r\0a\0c\0=\0o\0n\0\n\0", 16, "line 1: unknown setting"},
    };
    struct cpt_service *service = make_service();
    struct cpt_settings *settings = NULL;
    unsigned before = 0;

    make_folder();
    write_file("tracing = off\nprobability = 1\n", 30);
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
    /* this or that is seen, never nothing */
    write_file("tracing = on\nprobability = 1\n", 29);
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

/* --- Files that are cut short, or still being written --- */

/* Files that must not switch tracing on. */
static const char *const cut_short[] = {"",
                                        "t",
                                        "tracing = o",
                                        "tracing = on",
                                        "trust = none\n",
                                        "\n",
                                        "# tracing = on\n",
                                        "probability = 1"};

static void expect_off(const struct cpt_service *service, const char *by)
{
    CU_ASSERT_FALSE(cpt_service_is_enabled(service));
    if (cpt_service_is_enabled(service)) {
        (void)fprintf(stderr, "tracing is on, by \"%s\"\n", by);
    }
}

static void test_kill_switch_stays(void)
{
    struct cpt_service *service = make_service();
    struct cpt_settings *settings = NULL;
    char *large = malloc(1 << 20);

    make_folder();
    write_file("tracing = off\nprobability = 1\n", 30);
    settings = watch(&service, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(settings);
    for (size_t i = 0; i < sizeof cut_short / sizeof cut_short[0]; i++) {
        const unsigned before = told_count();

        write_file(cut_short[i], strlen(cut_short[i]));
        cpt_settings_check(settings);
        wait_told(before, strchr(cut_short[i], '\n') != NULL ? "taken" : "refused",
                  "cpt.conf");
        expect_off(service, cut_short[i]);
    }
    memset(large, '\n', 1 << 20);
    memcpy(large, "tracing = on\n", 13);
    write_file(large, 1 << 20);
    check_told(settings, "refused", "File too large");
    expect_off(service, "1 MiB");
    (void)unlink(path);
    check_told(settings, "refused", "No such file");
    expect_off(service, "nothing");
    CU_ASSERT_EQUAL(symlink("nowhere", path), 0);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
    check_told(settings, "refused", "it is no regular file");
    CU_ASSERT_EQUAL(rmdir(path), 0);
    expect_off(service, "a folder");
    write_file("probability = 1\n", 16);
    check_told(settings, "taken", "stays off");
    expect_off(service, "a file without the line");
    write_file("tracing = on\n", 13);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_TRUE(cpt_service_is_enabled(service));
    cpt_settings_free(settings);
    cpt_service_free(service);
    free(large);
    remove_folder();
}

/* A file that is bad when the process begins: nothing was set before it. */
static void test_restart(void)
{
    static const char *const texts[] = {"tracing = off\nprobability = 0.0",
                                        "probability = 1\n tracing=off # now\nru",
                                        "tracing = off\nprobability = 2\n",
                                        "tracing = off\ntracing = off\n",
                                        "",
                                        "tracing = o",
                                        "probability = 0.1\ntracin"};
    struct cpt_service *service = NULL;
    struct cpt_settings *settings = NULL;

    make_folder();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        service = make_service();
        write_file(texts[i], strlen(texts[i]));
        settings = watch(&service, NULL);
        CU_ASSERT_STRING_EQUAL(told.reason, "refused");
        CU_ASSERT_PTR_NOT_NULL(strstr(told.sentence, "tracing is off until"));
        expect_off(service, texts[i]);
        write_file("trust = none\n", 13);
        check_told(settings, "taken", "stays off");
        write_file("tracing = on\n", 13);
        check_told(settings, "taken", "cpt.conf");
        write_file(texts[i], strlen(texts[i]));
        check_told(settings, "refused", "what was set before stays");
        CU_ASSERT_TRUE(cpt_service_is_enabled(service));
        cpt_settings_free(settings);
        cpt_service_free(service);
    }
    remove_folder();
}

/* The program's own switch is not lifted either, and what it switched off at first is
 * off again when the line is gone. */
static void test_program_switch(void)
{
    struct cpt_service *service = make_service();
    struct cpt_settings *settings = NULL;

    make_folder();
    write_file("trust = none\n", 13);
    settings = watch(&service, NULL);
    cpt_service_enable(service, 0);
    write_file("trust = ::1\n", 12);
    check_told(settings, "taken", "stays off");
    expect_off(service, "a file without the line");
    cpt_settings_free(settings);
    settings = watch(&service, NULL); /* the program has switched it off */
    write_file("tracing = on\n", 13);
    check_told(settings, "taken", "cpt.conf");
    CU_ASSERT_TRUE(cpt_service_is_enabled(service));
    write_file("trust = ::1\n", 12);
    check_told(settings, "taken", "cpt.conf");
    expect_off(service, "a file without the line");
    cpt_settings_free(settings);
    cpt_service_free(service);
    remove_folder();
}

/* Asks for looks until something is told, and returns how long that took since
 * @begin_ns. */
static uint64_t look_until_told(struct cpt_settings *settings, unsigned before,
                                uint64_t begin_ns)
{
    const struct timespec pause = {.tv_nsec = 5000000};

    while (told_count() == before) {
        cpt_settings_check(settings);
        (void)nanosleep(&pause, NULL);
    }
    return cpti_now_ns() - begin_ns;
}

static void test_changed_in_place(void)
{
    struct cpt_service *service = make_service();
    struct cpt_settings *settings = NULL;
    unsigned before = 0;
    uint64_t begin_ns = 0;
    bool was_whole = false;

    make_folder();
    write_file("tracing = on\nprobability = 1\n", 29);
    settings = watch(&service, NULL);
    before = told_count();
    begin_ns = cpti_now_ns();
    write_in_place("tracing = on\n"); /* half of it: the program's probability is 0 */
    for (int i = 0; i < 20; i++) {
        cpt_settings_check(settings);
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    was_whole = told_count() == before; /* unless this took a second */
    CU_ASSERT_TRUE(was_whole || cpti_now_ns() - begin_ns >= CPTI_SETTINGS_STILL_NS);
    if (was_whole) {
        CU_ASSERT_EQUAL(cpt_service_coin(service), CPT_COIN_HIT);
    }
    before = told_count();
    begin_ns = cpti_now_ns();
    write_in_place("tracing = on\nprobability = 1\ntrust = none\n");
    CU_ASSERT_TRUE(look_until_told(settings, before, begin_ns) >=
                   CPTI_SETTINGS_STILL_NS);
    CU_ASSERT_STRING_EQUAL(told.reason, "taken");
    CU_ASSERT_EQUAL(cpt_service_coin(service), CPT_COIN_HIT);
    before = told_count();
    begin_ns = cpti_now_ns();
    write_in_place(""); /* nothing is said of it before that either */
    CU_ASSERT_TRUE(look_until_told(settings, before, begin_ns) >=
                   CPTI_SETTINGS_STILL_NS);
    CU_ASSERT_STRING_EQUAL(told.reason, "refused");
    before = told_count();
    write_in_place("probability = 0\n"); /* the period is an hour: it looks by itself */
    cpt_settings_check(settings);
    wait_told(before, "taken", "cpt.conf");
    cpt_settings_free(settings);
    cpt_service_free(service);
    remove_folder();
}

/* Each way to write the one line. True: it was obeyed in less than a second. */
static bool is_obeyed_at_once(struct cpt_service *service,
                              struct cpt_settings *settings, const char *text)
{
    unsigned before = told_count();
    uint64_t begin_ns = 0;

    write_file("tracing = on\n", 13);
    cpt_settings_check(settings);
    wait_told(before, "taken", "cpt.conf");
    CU_ASSERT_TRUE(cpt_service_is_enabled(service));
    before = told_count();
    begin_ns = cpti_now_ns();
    write_in_place(text);
    cpt_settings_check(settings);
    wait_told(before, "taken", "cpt.conf");
    expect_off(service, text);
    return cpti_now_ns() - begin_ns < CPTI_SETTINGS_STILL_NS;
}

static void test_kill_switch_at_once(void)
{
    static const char *const texts[] = {"tracing = off",
                                        "tracing = off\n",
                                        "tracing=off",
                                        "tracing = off\r\n",
                                        "tracing = off\r",
                                        "\xef\xbb\xbftracing = off\r\n",
                                        "# incident 4711\n\n  tracing = off # now",
                                        "\ttracing\t=\toff\n\n# more"};
    struct cpt_service *service = make_service();
    struct cpt_settings *settings = NULL;

    make_folder();
    settings = watch(&service, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bool is_soon = false;

        for (int tries = 0; tries < 10 && !is_soon; tries++) { /* a busy machine */
            is_soon = is_obeyed_at_once(service, settings, texts[i]);
        }
        CU_ASSERT_TRUE(is_soon);
    }
    CU_ASSERT_EQUAL(counter(service, "settings_refused"), 0);
    cpt_settings_free(settings);
    cpt_service_free(service);
    remove_folder();
}

static void expect_look(struct cpti_settings_file *file, uint64_t now_ns,
                        enum cpti_settings_look look)
{
    const enum cpti_settings_look found = cpti_settings_file_look(file, now_ns);

    CU_ASSERT_EQUAL(found, look);
    if (found == CPTI_SETTINGS_NEW) {
        cpti_settings_file_judge(file);
    }
}

/* Looks at the file, at times of our own. */
static void test_looks(void)
{
    const uint64_t still_ns = CPTI_SETTINGS_STILL_NS;
    struct cpti_settings_file file;
    char other[160];

    make_folder();
    (void)snprintf(other, sizeof other, "%s.target", path);
    CU_ASSERT_EQUAL(cpti_settings_file_init(&file, cpt_alloc_default(), path), CPT_OK);
    expect_look(&file, 1, CPTI_SETTINGS_UNREAD);
    write_file("a\n", 2); /* where there was none: it may have been created here */
    expect_look(&file, 2, CPTI_SETTINGS_CHANGING);
    expect_look(&file, 1 + still_ns, CPTI_SETTINGS_CHANGING);
    expect_look(&file, 2 + still_ns, CPTI_SETTINGS_NEW);
    expect_look(&file, 3 + still_ns, CPTI_SETTINGS_SAME);
    write_file("b\n", 2); /* onto another one */
    expect_look(&file, 4 + still_ns, CPTI_SETTINGS_NEW);
    write_in_place("cc");
    expect_look(&file, 5 + still_ns, CPTI_SETTINGS_CHANGING);
    write_in_place("c\n");
    expect_look(&file, 5 + 2 * still_ns, CPTI_SETTINGS_CHANGING); /* another size */
    expect_look(&file, 4 + 3 * still_ns, CPTI_SETTINGS_CHANGING);
    write_file("d\n", 2); /* while one is being changed */
    expect_look(&file, 4 + 3 * still_ns, CPTI_SETTINGS_NEW);
    write_in_place("e\n");
    expect_look(&file, 5 + 3 * still_ns, CPTI_SETTINGS_CHANGING);
    write_in_place("d\n"); /* as it was */
    expect_look(&file, 6 + 3 * still_ns, CPTI_SETTINGS_SAME);
    expect_look(&file, 9 * still_ns, CPTI_SETTINGS_SAME);
    CU_ASSERT_EQUAL(rename(path, other), 0);
    CU_ASSERT_EQUAL(symlink("cpt.conf.target", path), 0); /* the same file */
    expect_look(&file, 9 * still_ns, CPTI_SETTINGS_SAME);
    write_in_place("f\n"); /* through the link */
    expect_look(&file, 10 * still_ns, CPTI_SETTINGS_CHANGING);
    expect_look(&file, 11 * still_ns, CPTI_SETTINGS_NEW);
    (void)unlink(path);
    expect_look(&file, 12 * still_ns, CPTI_SETTINGS_UNREAD);
    CU_ASSERT_EQUAL(symlink("cpt.conf.target", path), 0);
    expect_look(&file, 13 * still_ns, CPTI_SETTINGS_NEW); /* it was judged before */
    cpti_settings_file_deinit(&file);
    (void)unlink(other);
    remove_folder();
}

/* A file whose times go back, or ahead, is judged by whether they change. */
static void test_times(void)
{
    static const time_t times[] = {0, 4000000000};
    struct cpti_settings_file file;
    uint64_t now_ns = CPTI_SETTINGS_STILL_NS;

    make_folder();
    write_file("a\n", 2);
    CU_ASSERT_EQUAL(cpti_settings_file_init(&file, cpt_alloc_default(), path), CPT_OK);
    expect_look(&file, now_ns, CPTI_SETTINGS_NEW);
    for (size_t i = 0; i < 2; i++) {
        const struct timespec stamps[2] = {{.tv_sec = times[i]}, {.tv_sec = times[i]}};

        write_in_place(i == 0 ? "b\n" : "c\n");
        expect_look(&file, now_ns, CPTI_SETTINGS_CHANGING);
        now_ns += CPTI_SETTINGS_STILL_NS;
        CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path, stamps, 0), 0);
        expect_look(&file, now_ns, CPTI_SETTINGS_CHANGING);
        now_ns += CPTI_SETTINGS_STILL_NS;
        expect_look(&file, now_ns, CPTI_SETTINGS_NEW);
    }
    cpti_settings_file_deinit(&file);
    remove_folder();
}

CU_TestInfo cpt_settings_tests[] = {
    {"a file is taken; what it does not set is as the program set it", test_taken},
    {"a bad file changes nothing, and says so", test_refused},
    {"a file has a largest size", test_size},
    {"without memory nothing is lost", test_made},
    {"what makes no sense is not set", test_setters},
    {"once off, only a line switches tracing on", test_kill_switch_stays},
    {"what the program switched off stays off", test_program_switch},
    {"a restart does not lift the kill switch", test_restart},
    {"a file that is changed in place is read once it was still",
     test_changed_in_place},
    {"the kill switch is obeyed at once, also in place", test_kill_switch_at_once},
    {"a look tells a renamed file from one that is being written", test_looks},
    {"a clock that is set changes nothing", test_times},
    CU_TEST_INFO_NULL,
};
