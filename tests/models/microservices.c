/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * microservices.c - a random system of services with a known fault, as spans
 *
 *      microservices system=300 run=601 fault=cpu factor=1.5 out=new.json
 *
 * Prints the service and the operation at fault. Arguments are KEY=VALUE; see `keys`.
 */
#include "tests/models/simulation.h"

#include <string.h>

struct arguments {
    struct run_options run;
    struct fault fault;
    uint64_t system_seed;
    uint64_t fault_seed;
    const char *out;
};

static bool set_fault(struct fault *fault, const char *word)
{
#define FAULT_WORD_(name) #name,
    static const char *const words[] = {FAULT_MAP(FAULT_WORD_)};
#undef FAULT_WORD_

    for (unsigned i = 0; i < FAULT_KINDS; i++) {
        if (strcmp(word, words[i]) == 0) {
            fault->kind = i;
            return true;
        }
    }
    return false;
}

/* Sets what the number @value of @key says; whether the key is known. */
static bool set_number(struct arguments *arguments, const char *key, double value)
{
    struct run_options *run = &arguments->run;
    struct fault *fault = &arguments->fault;
    const struct {
        const char *key;
        double *real;
        uint64_t *seed;
        bool *flag;
        int *count;
    } keys[] = {
        {"system", NULL, &arguments->system_seed, NULL, NULL},
        {"run", NULL, &run->seed, NULL, NULL},
        {"place", NULL, &arguments->fault_seed, NULL, NULL}, /* of the fault */
        {"rate", &run->rate, NULL, NULL, NULL},
        {"cache", &run->cache, NULL, NULL, NULL},
        {"clients", NULL, NULL, &run->has_clients, NULL},
        {"hosts", NULL, NULL, &run->has_hosts, NULL},
        {"records", NULL, NULL, &run->has_records, NULL},
        {"keep", &run->keep, NULL, NULL, NULL},
        {"start", &run->start_s, NULL, NULL, NULL},
        {"tenants", NULL, NULL, NULL, &run->tenants},
        {"tenant_spread", &run->tenant_spread, NULL, NULL, NULL},
        {"mix", NULL, &run->mix_seed, NULL, NULL},
        {"arm", NULL, NULL, NULL, &run->arm},
        {"arms", NULL, &run->arm_seed, NULL, NULL},
        {"factor", &fault->factor, NULL, NULL, NULL},
        {"share", &fault->share, NULL, NULL, NULL},
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(key, keys[i].key) != 0) {
            continue;
        }
        if (keys[i].real != NULL) {
            *keys[i].real = value;
        } else if (keys[i].seed != NULL) {
            *keys[i].seed = (uint64_t)value;
        } else if (keys[i].flag != NULL) {
            *keys[i].flag = value != 0;
        } else {
            *keys[i].count = (int)value;
        }
        return true;
    }
    return false;
}

static bool set(struct arguments *arguments, char *argument)
{
    char *value = strchr(argument, '=');
    char *end = NULL;
    double number;

    if (value == NULL) {
        return false;
    }
    *value++ = '\0';
    if (strcmp(argument, "out") == 0) {
        arguments->out = value;
        return true;
    }
    if (strcmp(argument, "fault") == 0) {
        return set_fault(&arguments->fault, value);
    }
    number = strtod(value, &end);
    if (*end != '\0') {
        return false;
    }
    if (strcmp(argument, "requests") == 0) {
        arguments->run.request_count = (long)number;
        return number >= 0 && number < 1e6;
    }
    if (strcmp(argument, "delay_ms") == 0) {
        arguments->fault.delay_ns = number * 1e6;
        return true;
    }
    return set_number(arguments, argument, number);
}

int main(int argc, char **argv)
{
    static struct system system;
    struct arguments arguments = {.run = {.request_count = 400,
                                          .rate = 5,
                                          .cache = 1,
                                          .has_clients = true,
                                          .keep = 1,
                                          .tenants = 5},
                                  .fault = {.factor = 1, .share = 0.05}};
    FILE *file = stdout;

    for (int i = 1; i < argc; i++) {
        if (!set(&arguments, argv[i])) {
            fprintf(stderr, "microservices: argument %d is not known\n", i);
            return 2;
        }
    }
    if (arguments.run.tenants < 1 || arguments.run.tenants > TENANTS_MAX ||
        arguments.run.rate <= 0) {
        fputs("microservices: a number is out of range\n", stderr);
        return 2;
    }
    if (arguments.out != NULL) {
        file = fopen(arguments.out, "w");
        if (file == NULL) {
            perror(arguments.out);
            return 1;
        }
    }
    system_make(&system, arguments.system_seed);
    fault_place(&arguments.fault, &system, arguments.fault_seed);
    simulate(&system, &arguments.fault, &arguments.run, file);
    if (file != stdout) {
        printf("svc%d op%d_%d\n", arguments.fault.service, arguments.fault.operation,
               arguments.fault.service);
        if (fclose(file) != 0) {
            perror(arguments.out);
            return 1;
        }
    }
    return 0;
}
