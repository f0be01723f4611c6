/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * settings.c - flags and environment of a service
 *
 * A setting is one row of a table: its flag, its variable, what takes its value. The
 * variables are read first, so that the flags count more.
 */
#include "framework/program/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PORT_MAX = 65535,
    WORKERS_MAX = 4096,
    GRAPH_EVERY_MAX = 1000000000,
    UNREADY_SECONDS_MAX = 3600,
    KEEP_BYTES_MIN = 1 << 20,
    WHY_BYTES = 400
};

/* Of each log, unless --log-keep says otherwise: a service must not fill a disk. */
#define KEEP_BYTES_DEFAULT (UINT64_C(4) << 30)

/* All of them while they are read. */
struct reading {
    struct cpti_settings *settings;
    const struct cpt_main_options *options;
    char
        *why; /* WHY_BYTES: what a wrong value should have been, if the row says less */
};

struct setting {
    const char *flag;
    const char *variable;
    const char *value_name; /* NULL: the flag has no value */
    const char *help;
    /* false: @value is wrong. */
    bool (*take)(const struct reading *reading, const char *value);
    const char *wanted; /* what it should have been */
};

/* --- Values --- */

/* Decimal digits, up to @max. */
static bool take_number(const char *text, unsigned long max, unsigned long *number)
{
    char *end = NULL;

    errno = 0;
    *number = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
           *number <= max;
}

/* "HOST:PORT", "[HOST]:PORT" or "PORT". */
static bool take_address(const char *value, char own_host[SETTINGS_HOST_BYTES],
                         uint16_t *own_port)
{
    const char *colon = strrchr(value, ':');
    const char *host = colon != NULL ? value : "127.0.0.1";
    size_t bytes = colon != NULL ? (size_t)(colon - value) : strlen(host);
    unsigned long port = 0;

    if (bytes >= 2 && host[0] == '[' && host[bytes - 1] == ']') {
        host++;
        bytes -= 2;
    }
    if (bytes == 0 || bytes >= SETTINGS_HOST_BYTES ||
        !take_number(colon != NULL ? colon + 1 : value, PORT_MAX, &port)) {
        return false;
    }
    memcpy(own_host, host, bytes);
    own_host[bytes] = '\0';
    *own_port = (uint16_t)port;
    return true;
}

static bool take_listen(const struct reading *reading, const char *value)
{
    struct cpti_settings *settings = reading->settings;

    return take_address(value, settings->host, &settings->port);
}

static bool take_operators(const struct reading *reading, const char *value)
{
    struct cpti_settings *settings = reading->settings;

    return take_address(value, settings->operators_host, &settings->operators_port);
}

static bool take_file(const struct reading *reading, const char *value)
{
    reading->settings->file = value[0] != '\0' ? value : NULL;
    return true;
}

static bool take_unready(const struct reading *reading, const char *value)
{
    unsigned long seconds = 0;

    if (!take_number(value, UNREADY_SECONDS_MAX, &seconds)) {
        return false;
    }
    reading->settings->unready_ns = seconds * UINT64_C(1000000000);
    return true;
}

static bool take_probability(const struct reading *reading, const char *value)
{
    char *end = NULL;
    const double probability = strtod(value, &end);

    if (end == value || *end != '\0' || !(probability >= 0 && probability <= 1)) {
        return false;
    }
    reading->settings->probability = probability > 0 ? probability : -1;
    return true;
}

static bool take_workers(const struct reading *reading, const char *value)
{
    unsigned long count = 0;

    if (!take_number(value, WORKERS_MAX, &count) || count == 0) {
        return false;
    }
    reading->settings->worker_count = (unsigned)count;
    return true;
}

static bool take_log(const struct reading *reading, const char *value)
{
    reading->settings->log = value[0] != '\0' ? value : NULL;
    return true;
}

/* What follows a number of bytes, and by how many bits it is shifted. */
static const struct {
    const char *name;
    unsigned shift;
} size_units[] = {{"TiB", 40}, {"T", 40},   {"GiB", 30}, {"G", 30}, {"MiB", 20},
                  {"M", 20},   {"KiB", 10}, {"K", 10},   {"", 0}};

enum { SIZE_UNIT_COUNT = sizeof size_units / sizeof size_units[0] };

/* "all", or "20GiB" */
static bool take_log_keep(const struct reading *reading, const char *value)
{
    char *unit = NULL;
    unsigned long long number = 0;

    if (strcmp(value, "all") == 0) {
        reading->settings->kept_bytes = 0;
        return true;
    }
    errno = 0;
    number = strtoull(value, &unit, 10);
    if (value[0] < '0' || value[0] > '9' || errno != 0) {
        return false;
    }
    for (size_t i = 0; i < SIZE_UNIT_COUNT; i++) {
        const unsigned shift = size_units[i].shift;

        if (strcmp(unit, size_units[i].name) == 0) {
            reading->settings->kept_bytes = (uint64_t)number << shift;
            return number <= (UINT64_MAX >> shift) >> 1 &&
                   reading->settings->kept_bytes >= KEEP_BYTES_MIN;
        }
    }
    return false;
}

void cpti_settings_size(uint64_t bytes, char text[SETTINGS_SIZE_BYTES])
{
    size_t i = 0;

    /* each second one: the long names */
    while (i + 2 < SIZE_UNIT_COUNT &&
           (bytes & ((UINT64_C(1) << size_units[i].shift) - 1)) != 0) {
        i += 2;
    }
    (void)snprintf(text, SETTINGS_SIZE_BYTES, "%llu %s",
                   (unsigned long long)(bytes >> size_units[i].shift),
                   size_units[i].shift != 0 ? size_units[i].name : "bytes");
}

static bool take_spans(const struct reading *reading, const char *value)
{
    reading->settings->spans = value[0] != '\0' ? value : NULL;
    return true;
}

static bool take_graph(const struct reading *reading, const char *value)
{
    unsigned long every = 0;

    if (!take_number(value, GRAPH_EVERY_MAX, &every)) {
        return false;
    }
    reading->settings->keeps_graphs = true;
    reading->settings->graph_every = (unsigned)every;
    return true;
}

static bool take_certificate(const struct reading *reading, const char *value)
{
    reading->settings->tls_certificate = value[0] != '\0' ? value : NULL;
    return true;
}

static bool take_key(const struct reading *reading, const char *value)
{
    reading->settings->tls_key = value[0] != '\0' ? value : NULL;
    return true;
}

static bool take_clients(const struct reading *reading, const char *value)
{
    reading->settings->tls_clients = value[0] != '\0' ? value : NULL;
    return true;
}

static bool take_clients_only(const struct reading *reading, const char *value)
{
    reading->settings->requires_clients = value == NULL || strcmp(value, "0") != 0;
    return true;
}

static bool take_ca(const struct reading *reading, const char *value)
{
    reading->settings->tls_ca = value[0] != '\0' ? value : NULL;
    return true;
}

static bool take_counters(const struct reading *reading, const char *value)
{
    reading->settings->serves_counters = value == NULL || strcmp(value, "0") != 0;
    return true;
}

/* Copies the list @value to @copy and cuts it at the commas. The parts follow each
 * other, the last one is empty. */
static bool cut_list(const char *value, char *copy)
{
    const size_t bytes = strlen(value);

    if (bytes + 2 > SETTINGS_LIST_BYTES) {
        return false;
    }
    memcpy(copy, value, bytes + 1);
    copy[bytes + 1] = '\0';
    for (size_t i = 0; i < bytes; i++) {
        if (copy[i] == ',') {
            copy[i] = '\0';
        }
    }
    return true;
}

static bool take_trust(const struct reading *reading, const char *value)
{
    struct cpti_settings *settings = reading->settings;
    size_t count = 0;

    if (!cut_list(value, settings->network_text)) {
        return false;
    }
    for (char *part = settings->network_text; *part != '\0'; part += strlen(part) + 1) {
        if (count == SETTINGS_NETWORKS_MAX) {
            return false;
        }
        settings->networks[count++] = part;
    }
    settings->networks[count] = NULL;
    return true;
}

/* The bytes of the service in the name of @stub, "stock" of "stock: /level"; all of a
 * name that has no ": ". */
static size_t service_bytes(const struct cpt_stub *stub)
{
    const char *colon = strstr(stub->name, ": ");

    return colon != NULL ? (size_t)(colon - stub->name) : strlen(stub->name);
}

/* Whether @stub is of the service with the name of @bytes. */
static bool is_of(const struct cpt_stub *stub, const char *service, size_t bytes)
{
    return service_bytes(stub) == bytes && strncmp(stub->name, service, bytes) == 0;
}

/* Says which services there are, for a value that names another one. */
static void say_services(const struct reading *reading, const char *part, size_t bytes)
{
    struct cpt_stub *const *stubs = reading->options->stubs;
    size_t end = 0;

    (void)snprintf(reading->why, WHY_BYTES, "no stub is of the service '%.*s'%s",
                   bytes < 100 ? (int)bytes : 100, part,
                   stubs != NULL && stubs[0] != NULL ? "; there are" : "");
    for (size_t i = 0; stubs != NULL && stubs[i] != NULL; i++) {
        bool is_new = true;

        for (size_t before = 0; before < i; before++) {
            is_new = is_new &&
                     !is_of(stubs[before], stubs[i]->name, service_bytes(stubs[i]));
        }
        end = strlen(reading->why);
        if (is_new) {
            (void)snprintf(reading->why + end, WHY_BYTES - end, " '%.*s'",
                           (int)service_bytes(stubs[i]), stubs[i]->name);
        }
    }
}

static const char **target_of(struct cpt_stub *stub)
{
    return &stub->target;
}

static const char **operators_of(struct cpt_stub *stub)
{
    return &stub->operators;
}

/* "stock=http://127.0.0.1:8082"; further ones follow it in the text. Sets @field of the
 * stubs of that service. */
static bool aim(const struct reading *reading, const char *part,
                const char **(*field)(struct cpt_stub *stub))
{
    const char *equals = strchr(part, '=');
    struct cpt_stub *const *stub = reading->options->stubs;
    bool is_known = false;

    if (equals == NULL || equals == part || equals[1] == '\0') {
        return false;
    }
    for (; stub != NULL && *stub != NULL; stub++) {
        if (is_of(*stub, part, (size_t)(equals - part))) {
            *field(*stub) = equals + 1;
            is_known = true;
        }
    }
    if (!is_known) {
        say_services(reading, part, (size_t)(equals - part));
    }
    return is_known;
}

/* Takes a list for @field of stubs, which is kept in @kept. */
static bool aim_all(const struct reading *reading, const char *value,
                    char kept[SETTINGS_LIST_BYTES],
                    const char **(*field)(struct cpt_stub *stub))
{
    char *text = kept;

    /* Flags that are repeated are added: stubs point into what was read before. */
    while (*text != '\0') {
        text += strlen(text) + 1;
    }
    if ((size_t)(text - kept) + strlen(value) + 2 > SETTINGS_LIST_BYTES ||
        !cut_list(value, text)) {
        return false;
    }
    for (char *part = text; *part != '\0'; part += strlen(part) + 1) {
        if (part != text && strchr(part, '=') == NULL) {
            part[-1] = ','; /* one more of the service before it */
        } else if (!aim(reading, part, field)) {
            return false;
        }
    }
    return true;
}

static bool take_to(const struct reading *reading, const char *value)
{
    return aim_all(reading, value, reading->settings->to_text, target_of);
}

static bool take_operators_of(const struct reading *reading, const char *value)
{
    return aim_all(reading, value, reading->settings->operators_of_text, operators_of);
}

static const struct setting settings_of_all[] = {
    {"listen", "CPT_LISTEN", "HOST:PORT", "where it serves; port 0: any free one",
     take_listen, "HOST:PORT, with a numeric host, or a port"},
    {"to", "CPT_TO", "SERVICE=URL,...", "where a service that it calls is", take_to,
     "SERVICE=URL, of a service that it calls"},
    {"operators-of", "CPT_OPERATORS_OF", "SERVICE=HOST:PORT,...",
     "where that service tells operators of its requests, for cpt wait",
     take_operators_of,
     "SERVICE=HOST:PORT or SERVICE=:PORT, of a service that it calls"},
    {"probability", "CPT_PROBABILITY", "P", "of tracing a request, from 0 to 1",
     take_probability, "a number from 0 to 1"},
    {"log", "CPT_LOG", "DIRECTORY", "a directory for records of traced requests",
     take_log, "a directory"},
    {"spans", "CPT_SPANS", "DIRECTORY", "a directory for their spans, as lines of OTLP",
     take_spans, "a directory"},
    {"graph", "CPT_GRAPH", "K", "keeps whole graphs beside the log, of one in K; or 0",
     take_graph, "a number from 0 to 1000000000"},
    {"log-keep", "CPT_LOG_KEEP", "SIZE",
     "of each log: the oldest files are removed; or all; default: 4GiB", take_log_keep,
     "all, or a size of 1MiB and more, such as 4GiB"},
    {"trust", "CPT_TRUST", "NETWORK,...", "clients that may ask for a path", take_trust,
     "networks such as 10.0.0.0/8, at most 64"},
    {"workers", "CPT_WORKERS", "N", "threads; default: the processors", take_workers,
     "a number from 1 to 4096"},
    {"counters", "CPT_COUNTERS", NULL, "serves /cpt/counters and /cpt/metrics",
     take_counters, ""},
    {"operators", "CPT_OPERATORS", "HOST:PORT", "health, readiness, metrics",
     take_operators, "HOST:PORT, with a numeric host, or a port"},
    {"settings", "CPT_SETTINGS", "FILE", "is watched: probability, trust, tracing",
     take_file, "a file"},
    {"tls-certificate", "CPT_TLS_CERTIFICATE", "FILE",
     "serves by TLS; calls show it, too", take_certificate, "a file"},
    {"tls-key", "CPT_TLS_KEY", "FILE", "its key; default: in the same file", take_key,
     "a file"},
    {"tls-clients", "CPT_TLS_CLIENTS", "FILE",
     "asks clients for certificates that these sign", take_clients, "a file"},
    {"tls-clients-only", "CPT_TLS_CLIENTS_ONLY", NULL, "refuses clients without one",
     take_clients_only, ""},
    {"tls-ca", "CPT_TLS_CA", "FILE", "who signs certificates of services that it calls",
     take_ca, "a file"},
    {"unready", "CPT_UNREADY", "SECONDS", "not ready, before it stops", take_unready,
     "seconds, from 0 to 3600"},
};

enum { SETTING_COUNT = sizeof settings_of_all / sizeof settings_of_all[0] };

/* --- Help --- */

static void print_flag(const char *name, const char *value_name, const char *help,
                       const char *variable)
{
    char flag[80];

    (void)snprintf(flag, sizeof flag, "--%s%s%s", name, value_name != NULL ? " " : "",
                   value_name != NULL ? value_name : "");
    (void)printf("  %-24s %s%s%s%s\n", flag, help, variable != NULL ? " (" : "",
                 variable != NULL ? variable : "", variable != NULL ? ")" : "");
}

/* Whether the program has a flag @name itself, which then is its own matter. */
static bool has_own_flag(const struct cpt_main_options *options, const char *name)
{
    const struct cpt_main_flag *flag = options->flags;

    while (flag != NULL && flag->name != NULL) {
        if (strcmp(flag->name, name) == 0) {
            return true;
        }
        flag++;
    }
    return false;
}

/* "front 1.4 (cpt 0.1.0)", or "front (cpt 0.1.0)". */
static void print_version(const struct cpt_main_options *options)
{
    const char *version = options->version != NULL ? options->version : "";

    (void)printf("%s%s%s (cpt %s)\n", options->name, version[0] != '\0' ? " " : "",
                 version, CPTI_VERSION);
}

static void print_help(const struct cpt_main_options *options)
{
    (void)printf(
        "usage: %s [flags]\nServes until SIGTERM. SIGHUP begins another file of "
        "the log, and reads\nsettings and certificates. A flag counts more than its "
        "environment variable.\n",
        options->name);
    if (!has_own_flag(options, "version")) {
        print_flag("version", NULL, "prints its version, and that of cpt", NULL);
    }
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings_of_all[i];

        print_flag(setting->flag, setting->value_name, setting->help,
                   setting->variable);
    }
    for (const struct cpt_main_flag *flag = options->flags;
         flag != NULL && flag->name != NULL; flag++) {
        print_flag(flag->name, flag->value_name, flag->help, NULL);
    }
}

/* --- Reading --- */

static bool complain(const struct cpt_main_options *options, const char *what,
                     const char *name, const char *value)
{
    (void)fprintf(stderr, "%s: %s %s%s%s\n", options->name, what, name,
                  value != NULL ? ": " : "", value != NULL ? value : "");
    return false;
}

/* The same of a value, with what it should have been. */
static bool refuse(const struct reading *reading, const struct setting *setting,
                   const char *name, const char *value)
{
    (void)fprintf(stderr, "%s: wrong value of %s%s%s (%s)\n", reading->options->name,
                  name, value != NULL ? ": " : "", value != NULL ? value : "",
                  reading->why[0] != '\0' ? reading->why : setting->wanted);
    return false;
}

static bool read_environment(const struct reading *reading)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const char *value = getenv(settings_of_all[i].variable);

        if (value != NULL && value[0] != '\0' &&
            !settings_of_all[i].take(reading, value)) {
            return refuse(reading, &settings_of_all[i], settings_of_all[i].variable,
                          value);
        }
    }
    return true;
}

/* The value of the flag @name in argv[*i], which may be "--name=value"; NULL: it is
 * another flag, or the value is missing (*is_named). */
static const char *value_of(const char *name, int argc, char **argv, int *i,
                            bool *is_named)
{
    const char *flag = argv[*i] + 2;
    const size_t bytes = strlen(name);

    *is_named =
        strncmp(flag, name, bytes) == 0 && (flag[bytes] == '\0' || flag[bytes] == '=');
    if (!*is_named) {
        return NULL;
    }
    if (flag[bytes] == '=') {
        return flag + bytes + 1;
    }
    return *i + 1 < argc ? argv[++*i] : NULL;
}

/* Takes the flag in argv[*i], with its value. */
static bool take_flag(const struct reading *reading, int argc, char **argv, int *i)
{
    const struct cpt_main_options *options = reading->options;
    const char *flag = argv[*i];
    bool is_named = false;

    if (strncmp(flag, "--", 2) != 0) {
        return complain(options, "not a flag:", flag, NULL);
    }
    for (size_t n = 0; n < SETTING_COUNT; n++) {
        const struct setting *setting = &settings_of_all[n];
        const char *value = NULL;

        if (setting->value_name == NULL) {
            if (strcmp(flag + 2, setting->flag) == 0) {
                return setting->take(reading, NULL);
            }
            continue;
        }
        value = value_of(setting->flag, argc, argv, i, &is_named);
        if (is_named) {
            return (value != NULL && setting->take(reading, value)) ||
                   refuse(reading, setting, flag,
                          strchr(flag, '=') == NULL ? value : NULL);
        }
    }
    for (const struct cpt_main_flag *own = options->flags;
         own != NULL && own->name != NULL; own++) {
        const char *value = value_of(own->name, argc, argv, i, &is_named);

        if (is_named) {
            *own->value = value != NULL ? value : *own->value;
            return value != NULL || complain(options, "no value of", flag, NULL);
        }
    }
    return complain(options, "unknown flag", flag, NULL);
}

static bool check_stubs(const struct cpt_main_options *options)
{
    struct cpt_stub *const *stub = options->stubs;

    while (stub != NULL && *stub != NULL) {
        if ((*stub)->target == NULL) {
            (void)fprintf(stderr, "%s: it calls '%s': needs --to %.*s=URL\n",
                          options->name, (*stub)->name, (int)service_bytes(*stub),
                          (*stub)->name);
            return false;
        }
        stub++;
    }
    return true;
}

int cpti_settings_read(struct cpti_settings *settings, int argc, char **argv,
                       const struct cpt_main_options *options)
{
    char why[WHY_BYTES] = "";
    const struct reading reading = {settings, options, why};
    const char *listen = options->listen != NULL ? options->listen : "127.0.0.1:8080";

    if (!take_listen(&reading, listen)) {
        complain(options, "wrong value of", "listen", listen);
        return -1;
    }
    settings->kept_bytes = KEEP_BYTES_DEFAULT;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_help(options);
            return 0;
        }
        if (strcmp(argv[i], "--version") == 0 && !has_own_flag(options, "version")) {
            print_version(options);
            return 0;
        }
    }
    if (!read_environment(&reading)) {
        return -1;
    }
    for (int i = 1; i < argc; i++) {
        if (!take_flag(&reading, argc, argv, &i)) {
            return -1;
        }
    }
    return check_stubs(options) ? 1 : -1;
}
